#include "cvt/gaussian.h"

#include "base/clock.h"
#include "base/select.h"
#include "cvt/noise/blue_noise.h"
#include "cvt/noise/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_gaussian_defaults(cvtm_gaussian_options *options) {
  memset(options, 0, sizeof *options);
  options->width = 0.9;
  options->max_iterations = 150;
}

/* Arrays of coordinates have 2 * count elements. */
typedef struct descent {
  cvtm_device *device;
  cvtm_domain domain;
  const cvtm_gaussian_options *options;
  int64_t count;
  cvtm_blue_noise *noise;
  cvtm_lbfgsb *solver;
  double *lower, *upper, *scale;                          /* on the host, one block of memory */
  double *x, *device_lower, *device_upper, *device_scale; /* on the device, one block of memory */
} descent;

static cvtm_status allocate_descent(descent *d) {
  const int64_t n = 2 * d->count;
  void *there = NULL;
  d->lower = malloc(3 * (size_t)n * sizeof *d->lower);
  if (d->lower == NULL)
    return cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_MEMORY, "no memory for %lld points",
                     (long long)d->count);
  d->upper = d->lower + n;
  d->scale = d->upper + n;
  CVTM_TRY(cvtm_device_allocate(d->device, 4 * n, sizeof *d->x, &there));
  d->x = there;
  d->device_lower = d->x + n;
  d->device_upper = d->device_lower + n;
  d->device_scale = d->device_upper + n;
  return CVTM_OK;
}

static void free_descent(descent *d) {
  cvtm_lbfgsb_destroy(d->solver);
  cvtm_blue_noise_destroy(d->noise);
  cvtm_device_free(d->device, d->x);
  free(d->lower);
}

/* Creates the solver. start: the time of cvtm_clock at the start of the run. */
static cvtm_status create_solver(descent *d, double start) {
  const cvtm_gaussian_options *options = d->options;
  cvtm_lbfgsb_options settings;
  cvtm_lbfgsb_defaults(&settings);
  settings.max_iterations = options->max_iterations;
  settings.decrease_tolerance = options->tolerance;
  if (options->max_seconds > 0)
    settings.max_seconds = fmax(options->max_seconds - (cvtm_clock() - start), 1e-9);
  settings.monitor = options->monitor;
  settings.monitor_context = options->monitor_context;
  return cvtm_lbfgsb_create(d->device, 2 * d->count, &settings, &d->solver);
}

/* Sets the scale of each variable to the width of its point's kernel at the initial position d->x.
 * Sets the bounds: fixed points do not move, and others stay in the domain, unless it is a
 * torus. */
static cvtm_status prepare_solver(descent *d, const double *points) {
  const int64_t n = 2 * d->count;
  CVTM_TRY(cvtm_blue_noise_widths(d->noise, d->x, d->scale));
  for (int64_t k = n - 1; k >= 0; --k) { /* from the end, because scale[k / 2] still holds a point's
                                          * width */
    const int is_fixed = k < 2 * d->options->fixed, free = d->domain.periodic;
    const double side = k % 2 ? d->domain.height : d->domain.width;
    d->lower[k] = is_fixed ? points[k] : free ? -INFINITY : 0;
    d->upper[k] = is_fixed ? points[k] : free ? INFINITY : side;
    d->scale[k] = d->scale[k / 2];
  }
  CVTM_TRY(
      cvtm_device_copy_in(d->device, d->device_lower, d->lower, 3 * (size_t)n * sizeof *d->lower));
  CVTM_TRY(cvtm_lbfgsb_set_bounds(d->solver, d->device_lower, d->device_upper));
  return cvtm_lbfgsb_set_scaling(d->solver, d->device_scale);
}

/* Minimises the energy. Changes the points (host) only on success. */
static cvtm_status descend_noise(descent *d, double start, double *points,
                                 cvtm_lbfgsb_result *result) {
  const size_t bytes = 2 * (size_t)d->count * sizeof *points;
  double *const moved = d->lower; /* the bounds are no longer needed */
  cvtm_status status = create_solver(d, start);
  if (status == CVTM_OK) status = cvtm_device_copy_in(d->device, d->x, points, bytes);
  if (status == CVTM_OK) status = prepare_solver(d, points);
  if (status == CVTM_OK)
    status = cvtm_lbfgsb_minimize(d->solver, d->x, cvtm_blue_noise_evaluate, d->noise, result);
  if (status == CVTM_OK) status = cvtm_device_copy_out(d->device, moved, d->x, bytes);
  for (int64_t k = 2 * d->options->fixed; k < 2 * d->count && status == CVTM_OK; ++k)
    points[k] =
        cvtm_into_domain(moved[k], k % 2 ? d->domain.height : d->domain.width, d->domain.periodic);
  return status;
}

cvtm_status cvtm_gaussian_noise(cvtm_device *device, cvtm_domain domain, const float *density,
                                const cvtm_gaussian_options *options, double *points, int64_t count,
                                cvtm_lbfgsb_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_gaussian, options)
  const double start = cvtm_clock();
  descent d = {.device = device, .domain = domain, .options = options, .count = count};
  cvtm_status status = cvtm_device_activate(device);
  if (status == CVTM_OK)
    status = cvtm_blue_noise_create(device, domain, density, options->width, count, &d.noise);
  if (status == CVTM_OK) status = allocate_descent(&d);
  if (status == CVTM_OK) status = descend_noise(&d, start, points, result);
  free_descent(&d);
  return status;
}
