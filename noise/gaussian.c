#include "noise/gaussian.h"

#include "base/clock.h"
#include "noise/kernels.h"
#include "noise/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct blue_noise {
  cvtm_domain domain;
  int64_t count;
  int threads;
  cvtm_target target;
  cvtm_kernels *kernels;
  cvtm_kernel_source *source;
  cvtm_target_value *local;
  double *term; /* of each point's share of the energy */
} blue_noise;

void cvtm_gaussian_defaults(cvtm_gaussian_options *options) {
  memset(options, 0, sizeof *options);
  options->width = 0.9;
  options->max_iterations = 150;
}

static double into_domain(double x, double side, int periodic) {
  if (periodic) {
    x -= side * floor(x / side);
    return x < side ? x : 0;
  }
  return fmin(fmax(x, 0), side);
}

/* Kernels of all points where they are, of the widths that the target has there. */
static void place_kernels(blue_noise *b, const double *x) {
#pragma omp parallel for schedule(static) num_threads(b->threads)
  for (int64_t i = 0; i < b->count; ++i) {
    const double px = into_domain(x[2 * i], b->domain.width, b->domain.periodic);
    const double py = into_domain(x[2 * i + 1], b->domain.height, b->domain.periodic);
    b->local[i] = cvtm_target_at(&b->target, px, py);
    const double width = exp(b->local[i].log_width);
    b->source[i] = (cvtm_kernel_source){px, py, width, width * width, 1};
  }
  cvtm_kernels_set(b->kernels, b->source, b->count);
}

/* A cvtm_objective. Each kernel with itself adds 1/2 and no force. */
static cvtm_status evaluate(void *context, const double *x, double *f, double *g, void *stream) {
  blue_noise *b = context;
  (void)stream;
  place_kernels(b, x);
#pragma omp parallel for schedule(dynamic, 128) num_threads(b->threads)
  for (int64_t k = 0; k < b->count; ++k) {
    const int64_t i = cvtm_kernels_order(b->kernels, k);
    const cvtm_kernel_source *p = &b->source[i];
    const cvtm_target_value *at = &b->local[i];
    const cvtm_kernel_sum sum = cvtm_kernels_at(b->kernels, p->x, p->y, p->width);
    b->term[i] = 0.5 * (sum.value - 1) - at->potential;
    g[2 * i] = sum.by_x + sum.by_log_width * at->width_by[0] - at->potential_by[0];
    g[2 * i + 1] = sum.by_y + sum.by_log_width * at->width_by[1] - at->potential_by[1];
  }
  double energy = 0;
  for (int64_t i = 0; i < b->count; ++i) energy += b->term[i];
  f[0] = energy;
  return CVTM_OK;
}

/* The scale of a variable is the width of its point's kernel at the start; fixed points, and the
 * border of a rectangle, are bounds. */
static cvtm_status prepare_solver(cvtm_lbfgsb *solver, const blue_noise *b,
                                  const cvtm_gaussian_options *options, const double *points) {
  const size_t n = 2 * (size_t)b->count;
  double *lower = malloc(n * sizeof *lower), *upper = malloc(n * sizeof *upper);
  double *scale = malloc(n * sizeof *scale);
  cvtm_status status = lower && upper && scale ? CVTM_OK : CVTM_ERROR_MEMORY;
  for (size_t k = 0; k < n && status == CVTM_OK; ++k) {
    const int is_fixed = (int64_t)k < 2 * options->fixed, free = b->domain.periodic;
    const double side = k % 2 ? b->domain.height : b->domain.width;
    lower[k] = is_fixed ? points[k] : free ? -INFINITY : 0;
    upper[k] = is_fixed ? points[k] : free ? INFINITY : side;
    scale[k] = b->source[k / 2].width;
  }
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_bounds(solver, lower, upper);
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_scaling(solver, scale);
  free(lower);
  free(upper);
  free(scale);
  return status;
}

/* start: of the whole, by cvtm_clock. */
static cvtm_status descend(cvtm_device *device, blue_noise *b, const cvtm_gaussian_options *options,
                           double start, double *points, cvtm_lbfgsb_result *result) {
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_options settings;
  cvtm_lbfgsb_defaults(&settings);
  settings.max_iterations = options->max_iterations;
  settings.decrease_tolerance = options->tolerance;
  if (options->max_seconds > 0)
    settings.max_seconds = fmax(options->max_seconds - (cvtm_clock() - start), 1e-9);
  settings.monitor = options->monitor;
  settings.monitor_context = options->monitor_context;
  cvtm_status status = cvtm_lbfgsb_create(device, 2 * b->count, &settings, &solver);
  if (status == CVTM_OK) place_kernels(b, points);
  if (status == CVTM_OK) status = prepare_solver(solver, b, options, points);
  if (status == CVTM_OK) status = cvtm_lbfgsb_minimize(solver, points, evaluate, b, result);
  cvtm_lbfgsb_destroy(solver);
  return status;
}

static cvtm_status prepare(blue_noise *b, const float *density,
                           const cvtm_gaussian_options *options, cvtm_error *error) {
  const size_t n = (size_t)b->count;
  b->source = malloc(n * sizeof *b->source);
  b->local = malloc(n * sizeof *b->local);
  b->term = malloc(n * sizeof *b->term);
  if (!b->source || !b->local || !b->term)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)b->count);
  const cvtm_status status = cvtm_kernels_create(b->domain, b->count, &b->kernels, error);
  if (status != CVTM_OK) return status;
  return cvtm_target_create(b->domain, density, b->count, options->width / sqrt(2.0), 1, b->threads,
                            &b->target, error);
}

cvtm_status cvtm_gaussian_noise(cvtm_domain domain, const float *density,
                                const cvtm_gaussian_options *options, double *points, int64_t count,
                                cvtm_lbfgsb_result *result, cvtm_error *error) {
  const double start = cvtm_clock();
  cvtm_device *device = NULL;
  cvtm_status status = cvtm_device_create("cpu", options->threads, &device, error);
  if (status != CVTM_OK) return status;
  blue_noise b = {.domain = domain, .count = count, .threads = cvtm_device_threads(device)};
  double *moved = malloc(2 * (size_t)count * sizeof *moved);
  if (moved == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for points");
  if (status == CVTM_OK) status = prepare(&b, density, options, error);
  if (status == CVTM_OK) {
    memcpy(moved, points, 2 * (size_t)count * sizeof *moved);
    status = descend(device, &b, options, start, moved, result);
    if (status != CVTM_OK) cvtm_fail(error, status, "%s", cvtm_device_error(device)->message);
  }
  for (int64_t k = 2 * options->fixed; k < 2 * count && status == CVTM_OK; ++k)
    points[k] = into_domain(moved[k], k % 2 ? domain.height : domain.width, domain.periodic);
  cvtm_kernels_destroy(b.kernels);
  cvtm_target_free(&b.target);
  free(b.source);
  free(b.local);
  free(b.term);
  free(moved);
  cvtm_device_destroy(device);
  return status;
}
