#include "density/segment.h"

#include "base/select.h"
#include "base/clock.h"
#include "density/field_kernels.h"

#include <math.h>
#include <stdlib.h>

enum { REFRESH = 10 }; /* steps that share one set of transfer operators */

struct cvtm_segment {
  cvtm_device *device;
  const cvtm_field_table *table;
  cvtm_segment_options options;
  cvtm_level_set set;
  cvtm_lcp *lcp;
  double *memory; /* device memory of everything below and of the set */
  double *lower, *upper;
};

void cvtm_segment_defaults(cvtm_segment_options *options) {
  *options = (cvtm_segment_options){.k = 10,
                                    .epsilon = 1,
                                    .tau = 5e-3,
                                    .max_steps = 200,
                                    .tolerance = 5e-4,
                                    .step_tolerance = 3e-5};
}

const char *cvtm_segment_stop_name(cvtm_segment_stop stop) {
  static const char *const names[] = {
#define CVTM_SEGMENT_STOP_NAME(code, name) name,
      CVTM_SEGMENT_STOP_LIST(CVTM_SEGMENT_STOP_NAME)
#undef CVTM_SEGMENT_STOP_NAME
  };
  return names[stop];
}

/* --- setup --------------------------------------------------------------------------------- */

static cvtm_status check_segment_options(const cvtm_segment_options *o, cvtm_error *error) {
  if (!(o->k >= 0) || !isfinite(o->k))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "an edge constant K of %g", o->k);
  if (!(o->epsilon > 0) || !isfinite(o->epsilon))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "an epsilon of %g", o->epsilon);
  if (!(o->tau > 0) || !isfinite(o->tau))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "steps of %g in time", o->tau);
  if (o->max_steps < 0 || !(o->tolerance >= 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "at most %lld steps, a tolerance of %g",
                     (long long)o->max_steps, o->tolerance);
  return CVTM_OK;
}

static cvtm_status allocate_level_set(cvtm_segment *s) {
  cvtm_level_set *set = &s->set;
  const int64_t pixels = set->width * set->height;
  const int64_t across = (set->width + 1) * set->height, down = set->width * (set->height + 1);
  const struct {
    double **place;
    int64_t count;
  } parts[] = {{&set->image, pixels},
               {&set->u, pixels},
               {&set->before, pixels},
               {&set->next, pixels},
               {&set->diagonal, pixels},
               {&set->right, pixels},
               {&s->lower, pixels},
               {&s->upper, pixels},
               {&set->detector_horizontal, across},
               {&set->horizontal, across},
               {&set->detector_vertical, down},
               {&set->vertical, down},
               {&set->partial, CVTM_LEVEL_SUMS * set->height},
               {&set->sums, CVTM_LEVEL_SUMS}};
  const size_t count = sizeof parts / sizeof parts[0];
  int64_t total = 0;
  for (size_t k = 0; k < count; ++k) total += parts[k].count;
  const cvtm_status status = cvtm_device_allocate(s->device, total, CVTM_TYPED(s->memory));
  if (status != CVTM_OK) return status;
  double *next = s->memory;
  for (size_t k = 0; k < count; ++k) {
    *parts[k].place = next;
    next += parts[k].count;
  }
  return CVTM_OK;
}

cvtm_status cvtm_segment_create(cvtm_device *device, int width, int height,
                                const cvtm_segment_options *options, cvtm_segment **segment) {
  CVTM_DEFAULT_OPTIONS(cvtm_segment, options)
  cvtm_error *error = cvtm_device_error(device);
  *segment = NULL;
  cvtm_status status = check_segment_options(options, error);
  if (status != CVTM_OK) return status;
  cvtm_segment *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->device = device;
  s->table = CVTM_TABLE(device, cvtm_field_table);
  s->options = *options;
  s->set.width = width;
  s->set.height = height;
  const double longer = width > height ? width : height;
  s->set.h = 1 / longer;
  s->set.per_h2 = longer * longer;
  s->set.epsilon = options->epsilon;
  s->set.k = options->k;
  s->set.tau = options->tau;
  cvtm_lcp_options lcp_options;
  cvtm_lcp_defaults(&lcp_options);
  lcp_options.tolerance = options->step_tolerance;
  lcp_options.nested = 0; /* every step starts from the one before */
  status = cvtm_lcp_create_grid(device, width, height, &lcp_options, &s->lcp);
  if (status == CVTM_OK) status = allocate_level_set(s);
  if (status == CVTM_OK)
    *segment = s;
  else
    cvtm_segment_destroy(s);
  return status;
}

void cvtm_segment_destroy(cvtm_segment *s) {
  if (s == NULL) return;
  cvtm_lcp_destroy(s->lcp);
  cvtm_device_free(s->device, s->memory);
  free(s);
}

/* --- solving ------------------------------------------------------------------------------- */

static cvtm_status copy_field(cvtm_segment *s, double *to, const double *from) {
  if (from == NULL) return CVTM_OK;
  const size_t bytes = (size_t)(s->set.width * s->set.height) * sizeof *from;
  return cvtm_device_copy_in(s->device, to, from, bytes);
}

/* Checks the bounds and the start, and clips the start to the bounds. */
static cvtm_status prepare_bounds(cvtm_segment *s, const double *lower, const double *upper,
                                  double *u) {
  cvtm_error *error = cvtm_device_error(s->device);
  for (int64_t p = 0; p < s->set.width * s->set.height; ++p) {
    const double low = lower ? lower[p] : -(double)INFINITY;
    const double high = upper ? upper[p] : (double)INFINITY;
    if (!(low <= high)) {
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "pixel (%lld, %lld) would be inside and outside at once",
                       (long long)(p % s->set.width), (long long)(p / s->set.width));
    }
    if (!isfinite(u[p])) {
      return cvtm_fail(error, CVTM_ERROR_INPUT, "the start is not finite at pixel (%lld, %lld)",
                       (long long)(p % s->set.width), (long long)(p / s->set.width));
    }
    u[p] = u[p] < low ? low : u[p] > high ? high : u[p];
  }
  return CVTM_OK;
}

/* Sets the LCP of the next step, and reads the figures of the last one. */
static cvtm_status prepare_step(cvtm_segment *s, cvtm_segment_progress *progress) {
  const double h = s->set.h, pixels = (double)s->set.width * (double)s->set.height;
  double sums[CVTM_LEVEL_SUMS];
  cvtm_status status = s->table->advance(s->device, &s->set);
  if (status == CVTM_OK) status = cvtm_device_copy_out(s->device, sums, s->set.sums, sizeof sums);
  if (status != CVTM_OK) return status;
  progress->change = h * sqrt(sums[CVTM_LEVEL_CHANGE]);
  progress->area = sums[CVTM_LEVEL_INSIDE] / pixels;
  progress->energy = h * h * sums[CVTM_LEVEL_ENERGY];
  return CVTM_OK;
}

/* The coefficients, and so the transfer operators, change little from one step to the next. */
static cvtm_status refresh_operators(cvtm_segment *s, int64_t step) {
  const cvtm_lcp_grid grid = {.width = s->set.width,
                              .height = s->set.height,
                              .diagonal = s->set.diagonal,
                              .horizontal = s->set.horizontal,
                              .vertical = s->set.vertical};
  return step % REFRESH == 0 ? cvtm_lcp_set_grid(s->lcp, &grid) : CVTM_OK;
}

static cvtm_status step_level_set(cvtm_segment *s, int has_lower, int has_upper,
                                  cvtm_segment_progress *progress) {
  const double *lower = has_lower ? s->lower : NULL, *upper = has_upper ? s->upper : NULL;
  cvtm_lcp_result result;
  cvtm_status status = refresh_operators(s, progress->step);
  double *const last = s->set.u;
  s->set.u = s->set.next;
  s->set.next = last;
  if (status == CVTM_OK)
    status = cvtm_lcp_solve(s->lcp, s->set.right, lower, upper, s->set.u, 1, &result);
  if (status != CVTM_OK) return status;
  progress->stalled = result.stop != CVTM_LCP_CONVERGED && result.stop != CVTM_LCP_ROUNDING;
  ++progress->step;
  progress->cycles = result.iterations;
  return prepare_step(s, progress);
}

static int monitor_stops(const cvtm_segment *s, const cvtm_segment_progress *progress) {
  return s->options.monitor != NULL && s->options.monitor(s->options.monitor_context, progress);
}

static cvtm_status run_steps(cvtm_segment *s, int has_lower, int has_upper,
                             cvtm_segment_result *result) {
  cvtm_segment_progress progress = {0};
  cvtm_status status = prepare_step(s, &progress);
  if (status != CVTM_OK) return status;
  result->stop = monitor_stops(s, &progress) ? CVTM_SEGMENT_INTERRUPTED : CVTM_SEGMENT_STEPS;
  while (result->stop == CVTM_SEGMENT_STEPS && progress.step < s->options.max_steps) {
    status = step_level_set(s, has_lower, has_upper, &progress);
    if (status != CVTM_OK) return status;
    result->cycles += progress.cycles;
    if (monitor_stops(s, &progress)) result->stop = CVTM_SEGMENT_INTERRUPTED;
    if (progress.change < s->options.tolerance) result->stop = CVTM_SEGMENT_CONVERGED;
    if (progress.stalled) result->stop = CVTM_SEGMENT_STEP_FAILED;
  }
  result->steps = progress.step;
  result->change = progress.change;
  result->area = progress.area;
  result->energy = progress.energy;
  return CVTM_OK;
}

cvtm_status cvtm_segment_solve(cvtm_segment *s, const double *image, const double *lower,
                               const double *upper, double *u, cvtm_segment_result *result) {
  const double start = cvtm_clock();
  const size_t bytes = (size_t)(s->set.width * s->set.height) * sizeof *u;
  cvtm_segment_result found = {0};
  cvtm_status status = prepare_bounds(s, lower, upper, u);
  if (status == CVTM_OK) status = copy_field(s, s->set.image, image);
  if (status == CVTM_OK) status = copy_field(s, s->lower, lower);
  if (status == CVTM_OK) status = copy_field(s, s->upper, upper);
  if (status == CVTM_OK) status = copy_field(s, s->set.u, u);
  if (status == CVTM_OK) status = copy_field(s, s->set.before, u);
  if (status == CVTM_OK) status = s->table->detector(s->device, &s->set);
  if (status == CVTM_OK) status = run_steps(s, lower != NULL, upper != NULL, &found);
  if (status == CVTM_OK) status = cvtm_device_copy_out(s->device, u, s->set.u, bytes);
  if (status != CVTM_OK) return status;
  found.seconds = cvtm_clock() - start;
  *result = found;
  return CVTM_OK;
}
