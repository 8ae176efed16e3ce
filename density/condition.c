#include "density/condition.h"

#include "density/eikonal.h"

#include <math.h>
#include <stdlib.h>

void cvtm_condition_defaults(cvtm_condition_options *options) {
  *options = (cvtm_condition_options){
      .bias = 0.5, .bias_method = CVTM_HLCP_NEWTON, .grade_max = (double)INFINITY};
}

int cvtm_condition_wanted(const cvtm_condition_options *options) {
  return options->smooth > 0 || options->grade > 0 || options->grade_size > 0;
}

void cvtm_grade_size(int width, int height, const uint8_t *mask, double slope, double *density) {
  const int64_t count = (int64_t)width * height;
  const double up = 1 + 0x1p-49; /* no density falls: 13 roundings of 2^-53 */
  for (int64_t p = 0; p < count; ++p) density[p] = 1 / sqrt(sqrt(density[p]));
  cvtm_eikonal(width, height, mask, NULL, slope, density);
  for (int64_t p = 0; p < count; ++p) {
    const double squared = density[p] * density[p];
    density[p] = mask != NULL && !mask[p] ? 0 : up / (squared * squared);
  }
}

typedef struct work {
  cvtm_device *device;
  int width, height;
  const uint8_t *mask;
  const cvtm_condition_options *options;
  double tolerance;
  double *rho, *u, *upper; /* device memory */
} work;

static cvtm_status smooth(work *w, cvtm_condition_result *result) {
  const cvtm_bias_options options = {.p = w->options->bias,
                                     .lambda = w->options->smooth,
                                     .method = w->options->bias_method,
                                     .tolerance = w->tolerance};
  cvtm_bias *bias = NULL;
  cvtm_status status = cvtm_bias_create(w->device, w->width, w->height, w->mask, &options, &bias);
  if (status == CVTM_OK) status = cvtm_bias_solve(bias, w->rho, w->u, &result->bias);
  cvtm_bias_destroy(bias);
  if (status == CVTM_OK && w->options->forecast && options.method == CVTM_HLCP_NEWTON)
    status = cvtm_bias_forecast_sweeps(w->device, w->width, w->height, &options, w->rho,
                                       &result->sweeps);
  result->converged &= result->bias.stop == CVTM_LCP_CONVERGED;
  return status;
}

/* density: the values in w->rho, on the host. */
static cvtm_status set_upper(work *w, const double *density) {
  const size_t count = (size_t)w->width * (size_t)w->height, bytes = count * sizeof(double);
  double *upper = malloc(bytes);
  if (upper == NULL)
    return cvtm_fail(cvtm_device_error(w->device), CVTM_ERROR_MEMORY, "out of memory");
  for (size_t p = 0; p < count; ++p) upper[p] = fmax(w->options->grade_max, density[p]);
  cvtm_status status = cvtm_device_allocate(w->device, (int64_t)count, CVTM_TYPED(w->upper));
  if (status == CVTM_OK) status = cvtm_device_copy_in(w->device, w->upper, upper, bytes);
  free(upper);
  return status;
}

static cvtm_status grade(work *w, const double *density, cvtm_condition_result *result) {
  cvtm_grade *made = NULL;
  cvtm_status status = CVTM_OK;
  if (isfinite(w->options->grade_max)) status = set_upper(w, density);
  if (status == CVTM_OK)
    status = cvtm_grade_create(w->device, w->width, w->height, w->mask, w->options->grade,
                               w->tolerance, &made);
  if (status == CVTM_OK) status = cvtm_grade_solve(made, w->rho, w->upper, w->u, &result->grade);
  cvtm_grade_destroy(made);
  result->converged &=
      result->grade.stop == CVTM_LCP_CONVERGED || result->grade.stop == CVTM_LCP_ROUNDING;
  return status;
}

/* The complementarity problems, in device memory. */
static cvtm_status solve_problems(work *w, double *density, cvtm_condition_result *result) {
  const int64_t count = (int64_t)w->width * w->height;
  const size_t bytes = (size_t)count * sizeof *density;
  cvtm_status status = cvtm_device_allocate(w->device, count, CVTM_TYPED(w->rho));
  if (status == CVTM_OK) status = cvtm_device_allocate(w->device, count, CVTM_TYPED(w->u));
  if (status == CVTM_OK) status = cvtm_device_copy_in(w->device, w->rho, density, bytes);
  if (status == CVTM_OK && w->options->smooth > 0) {
    status = smooth(w, result);
    if (status == CVTM_OK) status = cvtm_device_copy_out(w->device, density, w->u, bytes);
    /* Rounding may leave the smallest value a little below zero. */
    for (int64_t p = 0; p < count; ++p) density[p] = fmax(density[p], 0);
    if (status == CVTM_OK) status = cvtm_device_copy_in(w->device, w->rho, density, bytes);
  }
  if (status == CVTM_OK && w->options->grade > 0) {
    status = grade(w, density, result);
    if (status == CVTM_OK) status = cvtm_device_copy_out(w->device, density, w->u, bytes);
  }
  return status;
}

cvtm_status cvtm_density_condition(cvtm_device *device, int width, int height, const uint8_t *mask,
                                   const cvtm_condition_options *options, double *density,
                                   cvtm_condition_result *result) {
  double largest = 0;
  for (int64_t p = 0; p < (int64_t)width * height; ++p) largest = fmax(largest, density[p]);
  work w = {.device = device,
            .width = width,
            .height = height,
            .mask = mask,
            .options = options,
            .tolerance = 0.9e-8 * largest};
  *result = (cvtm_condition_result){.converged = 1};
  cvtm_status status = CVTM_OK;
  if (largest > 0 && (options->smooth > 0 || options->grade > 0))
    status = solve_problems(&w, density, result);
  cvtm_device_free(device, w.rho);
  cvtm_device_free(device, w.u);
  cvtm_device_free(device, w.upper);
  if (status == CVTM_OK && options->grade_size > 0)
    cvtm_grade_size(width, height, mask, options->grade_size, density);
  return status;
}
