#include "lcp/hlcp/grid.h"

#include "base/select.h"
#include "base/clock.h"
#include "base/primitives.h"
#include "lcp/lcp_solver.h"
#include "lcp/hlcp/hlcp_solver.h"
#include "lcp/stop.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 10 /* number of steps without progress that count as a stall */ };

struct cvtm_hlcp_grid {
  cvtm_device *device;
  const cvtm_hlcp_table *table;
  cvtm_lcp *linear;
  cvtm_hlcp_pixels pixels;
  double tolerance;
  int64_t limit;
  int64_t parts;      /* number of parts over which squares are summed */
  double *diagonal;   /* device memory */
  double *best, *sum; /* device memory: the best x so far; a sum */
};

static cvtm_arrays grid_arrays(cvtm_hlcp_grid *h) {
  const int64_t n = h->pixels.links.width * h->pixels.links.height;
  return (cvtm_arrays){{CVTM_ARRAY(h->diagonal, n), CVTM_ARRAY(h->best, n), CVTM_ARRAY(h->sum, 1),
                        CVTM_ARRAY(h->pixels.squares, 2 * h->parts)}};
}

cvtm_status cvtm_hlcp_grid_create(cvtm_device *device, int64_t width, int64_t height,
                                  double tolerance, int64_t max_iterations, cvtm_hlcp_grid **hlcp) {
  cvtm_error *error = cvtm_device_error(device);
  if (!(tolerance >= 0) || max_iterations < 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the tolerance or the limit is negative");
  cvtm_hlcp_grid *h = calloc(1, sizeof *h);
  if (h == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  h->device = device;
  h->table = CVTM_TABLE(device, cvtm_hlcp_table);
  h->tolerance = fmin(tolerance, DBL_MAX);
  h->limit = max_iterations;
  cvtm_lcp_options linear;
  cvtm_lcp_defaults(&linear);
  linear.nested = 0;
  cvtm_status status = cvtm_lcp_create_grid(device, width, height, &linear, &h->linear);
  if (status == CVTM_OK) {
    h->pixels.links.width = width;
    h->pixels.links.height = height;
    h->parts = h->table->pixel_parts(width, height);
    status = cvtm_device_allocate_arrays(device, grid_arrays(h));
  }
  if (status == CVTM_OK) status = cvtm_reduce_reserve(device, h->parts);
  if (status != CVTM_OK) {
    cvtm_hlcp_grid_destroy(h);
    return status;
  }
  *hlcp = h;
  return CVTM_OK;
}

void cvtm_hlcp_grid_destroy(cvtm_hlcp_grid *h) {
  if (h == NULL) return;
  cvtm_lcp_destroy(h->linear);
  cvtm_device_free_arrays(h->device, grid_arrays(h));
  free(h);
}

static cvtm_status sum_parts(cvtm_hlcp_grid *h, const double *part, double *sum) {
  CVTM_TRY(cvtm_reduce(h->device, CVTM_REDUCE_SUM, part, h->parts, h->sum));
  return cvtm_device_copy_out(h->device, sum, h->sum, sizeof *sum);
}

/* Sets the diagonal by the signs of x, and computes the norm of the residual and the sum of the
 * squared sizes of the terms of the residual. */
static cvtm_status evaluate_pixels(cvtm_hlcp_grid *h, double *residual, double *squares) {
  double *const sums = h->pixels.squares;
  CVTM_TRY(h->table->pixels(h->device, &h->pixels));
  CVTM_TRY(sum_parts(h, sums, residual));
  *residual = sqrt(*residual);
  return sum_parts(h, sums + h->parts, squares);
}

/* Sets the grid again. cvtm_lcp_set_grid may reallocate the levels and the array `changed`. */
static cvtm_status set_links(cvtm_hlcp_grid *h) {
  cvtm_lcp_grid grid = h->pixels.links;
  grid.diagonal = h->pixels.diagonal;
  grid.mass = fmin(h->pixels.a, h->pixels.b);
  const cvtm_status status = cvtm_lcp_set_grid(h->linear, &grid);
  h->pixels.changed = cvtm_grid_changes(h->linear);
  return status;
}

/* Runs a V-cycle on the linear system that the signs of x select. More cycles would be wasted while
 * the signs still change. With a mask or arrays of links, interpolation depends on the diagonal,
 * and is computed again. */
static cvtm_status newton_cycle(cvtm_hlcp_grid *h) {
  const int is_dependent =
      h->pixels.diagonal && (h->pixels.links.mask || h->pixels.links.horizontal);
  CVTM_TRY(is_dependent ? set_links(h) : CVTM_OK);
  return cvtm_grid_cycle(h->linear);
}

static cvtm_status newton_iterate(cvtm_hlcp_grid *h, int64_t n, double *x,
                                  cvtm_hlcp_result *result) {
  const size_t bytes = (size_t)n * sizeof *x;
  cvtm_iteration_state loop = {
      .target = h->tolerance, .limit = h->limit, .window = PATIENCE, .may_grow = 1};
  double residual, squares;
  CVTM_TRY(evaluate_pixels(h, &residual, &squares));
  if (!isfinite(residual))
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_INPUT,
                     "the residual at the start is not finite: q or x holds NaN, infinite or huge "
                     "numbers");
  CVTM_TRY(set_links(h));
  CVTM_TRY(cvtm_grid_begin_cycles(h->linear, h->pixels.q, x));
  for (;;) {
    const int is_best = loop.iteration == 0 || residual < loop.best;
    cvtm_iteration_check(&loop, residual, residual, cvtm_natural_rounding(squares));
    if (is_best) CVTM_TRY(cvtm_device_copy(h->device, h->best, x, bytes));
    if (!loop.go_on) break;
    CVTM_TRY(newton_cycle(h));
    ++loop.iteration;
    CVTM_TRY(evaluate_pixels(h, &residual, &squares));
  }
  result->stop = (cvtm_lcp_stop)loop.stop;
  result->residual = loop.best;
  result->linear_iterations = result->iterations = loop.iteration;
  return cvtm_device_copy(h->device, x, h->best, bytes);
}

cvtm_status cvtm_hlcp_grid_solve(cvtm_hlcp_grid *h, const cvtm_lcp_grid *links, double a, double b,
                                 const double *q, double *x, int warm, double *z, double *w,
                                 cvtm_hlcp_result *result) {
  memset(result, 0, sizeof *result);
  const double start = cvtm_clock();
  const int64_t width = h->pixels.links.width, height = h->pixels.links.height;
  if (links->width != width || links->height != height)
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_ARGUMENT,
                     "a grid of %lld x %lld where %lld x %lld was set up", (long long)links->width,
                     (long long)links->height, (long long)width, (long long)height);
  const int64_t n = width * height;
  h->pixels.links = *links;
  h->pixels.a = a;
  h->pixels.b = b;
  h->pixels.q = q;
  h->pixels.x = x;
  h->pixels.diagonal = a == b ? NULL : h->diagonal;
  h->pixels.changed = cvtm_grid_changes(h->linear);
  CVTM_TRY(cvtm_device_fill(h->device, h->diagonal, 0, (size_t)n * sizeof(double)));
  /* `changed` is NULL if an earlier solve found no memory for the new levels */
  if (h->pixels.changed == NULL) CVTM_TRY(set_links(h));
  if (!warm) CVTM_TRY(cvtm_device_fill(h->device, x, 0, (size_t)n * sizeof *x));
  CVTM_TRY(newton_iterate(h, n, x, result));
  /* with gamma = 2 and Omega = I, z = max(x, 0) and w = max(-x, 0) */
  cvtm_hlcp_arrays parts;
  memset(&parts, 0, sizeof parts);
  parts.n = n;
  parts.gamma = 2;
  parts.omega_number = 1;
  parts.x = x;
  parts.change = h->best;
  CVTM_TRY(h->table->finish(h->device, &parts, z, w));
  CVTM_TRY(cvtm_device_synchronize(h->device));
  result->seconds = cvtm_clock() - start;
  return CVTM_OK;
}
