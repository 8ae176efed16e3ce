#include "density/condition.h"
#include "base/select.h"

#include "base/primitives.h"
#include "density/eikonal.h"
#include "density/field_kernels.h"

#include <math.h>

void cvtm_condition_defaults(cvtm_condition_options *options) {
  *options = (cvtm_condition_options){.bias = 0.5, .grade_max = (double)INFINITY};
}

int cvtm_condition_wanted(const cvtm_condition_options *options) {
  CVTM_DEFAULT_OPTIONS(cvtm_condition, options)
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
  double *rho, *u, *upper; /* device memory; rho is the caller's */
} work;

static cvtm_status at_least(const work *w, double least, const double *v, double *out) {
  const cvtm_field_table *table = CVTM_TABLE(w->device, cvtm_field_table);
  return table->at_least(w->device, (int64_t)w->width * w->height, least, v, out);
}

static cvtm_status smooth(work *w, cvtm_condition_result *result) {
  const cvtm_bias_options options = {
      .p = w->options->bias, .lambda = w->options->smooth, .tolerance = w->tolerance};
  cvtm_bias *bias = NULL;
  cvtm_status status = cvtm_bias_create(w->device, w->width, w->height, w->mask, &options, &bias);
  if (status == CVTM_OK) status = cvtm_bias_solve(bias, w->rho, w->u, &result->bias);
  cvtm_bias_destroy(bias);
  result->converged &= result->bias.stop == CVTM_LCP_CONVERGED;
  /* Rounding may leave the smallest value a little below zero. */
  return status == CVTM_OK ? at_least(w, 0, w->u, w->rho) : status;
}

static cvtm_status set_upper(work *w) {
  const cvtm_status status =
      cvtm_device_allocate(w->device, (int64_t)w->width * w->height, CVTM_TYPED(w->upper));
  return status == CVTM_OK ? at_least(w, w->options->grade_max, w->rho, w->upper) : status;
}

static cvtm_status grade(work *w, cvtm_condition_result *result) {
  const size_t bytes = (size_t)w->width * (size_t)w->height * sizeof *w->rho;
  cvtm_grade *made = NULL;
  cvtm_status status = CVTM_OK;
  if (isfinite(w->options->grade_max)) status = set_upper(w);
  if (status == CVTM_OK)
    status = cvtm_grade_create(w->device, w->width, w->height, w->mask, w->options->grade,
                               w->tolerance, &made);
  if (status == CVTM_OK) status = cvtm_grade_solve(made, w->rho, w->upper, w->u, &result->grade);
  cvtm_grade_destroy(made);
  result->converged &=
      result->grade.stop == CVTM_LCP_CONVERGED || result->grade.stop == CVTM_LCP_ROUNDING;
  return status == CVTM_OK ? cvtm_device_copy(w->device, w->rho, w->u, bytes) : status;
}

/* The largest of w->rho; w->u is used. */
static cvtm_status find_largest(const work *w, double *largest) {
  const int64_t count = (int64_t)w->width * w->height;
  size_t bytes = 0;
  void *workspace = NULL;
  cvtm_status status = cvtm_reduce_workspace(w->device, count, &bytes);
  if (status == CVTM_OK) status = cvtm_device_scratch(w->device, bytes, &workspace);
  if (status == CVTM_OK)
    status = cvtm_reduce(w->device, CVTM_REDUCE_MAX, w->rho, count, w->u, workspace, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_out(w->device, largest, w->u, sizeof *largest);
  return status;
}

cvtm_status cvtm_density_condition_on_device(cvtm_device *device, int width, int height,
                                             const uint8_t *mask,
                                             const cvtm_condition_options *options, double *density,
                                             cvtm_condition_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_condition, options)
  work w = {.device = device,
            .width = width,
            .height = height,
            .mask = mask,
            .options = options,
            .rho = density};
  double largest = 0;
  *result = (cvtm_condition_result){.converged = 1};
  if (options->grade_size > 0)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_UNSUPPORTED,
                     "the gradation of sizes is bounded on the host");
  cvtm_status status = cvtm_device_allocate(device, (int64_t)width * height, CVTM_TYPED(w.u));
  if (status == CVTM_OK) status = find_largest(&w, &largest);
  w.tolerance = 0.9e-8 * largest;
  if (status == CVTM_OK && largest > 0 && options->smooth > 0) status = smooth(&w, result);
  if (status == CVTM_OK && largest > 0 && options->grade > 0) status = grade(&w, result);
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  cvtm_device_free(device, w.u);
  cvtm_device_free(device, w.upper);
  return status;
}

/* The complementarity problems of a density on the host. */
static cvtm_status solve_problems(cvtm_device *device, int width, int height, const uint8_t *mask,
                                  cvtm_condition_options options, double *density,
                                  cvtm_condition_result *result) {
  const int64_t count = (int64_t)width * height;
  const size_t bytes = (size_t)count * sizeof *density;
  double *rho = NULL;
  options.grade_size = 0;
  cvtm_status status = cvtm_device_allocate(device, count, CVTM_TYPED(rho));
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, rho, density, bytes);
  if (status == CVTM_OK)
    status = cvtm_density_condition_on_device(device, width, height, mask, &options, rho, result);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, density, rho, bytes);
  cvtm_device_free(device, rho);
  return status;
}

cvtm_status cvtm_density_condition(cvtm_device *device, int width, int height, const uint8_t *mask,
                                   const cvtm_condition_options *options, double *density,
                                   cvtm_condition_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_condition, options)
  cvtm_status status = CVTM_OK;
  *result = (cvtm_condition_result){.converged = 1};
  if (options->smooth > 0 || options->grade > 0)
    status = solve_problems(device, width, height, mask, *options, density, result);
  if (status == CVTM_OK && options->grade_size > 0)
    cvtm_grade_size(width, height, mask, options->grade_size, density);
  return status;
}
