#include "cvt/slide.h"

#include "base/clock.h"
#include "base/select.h"
#include "cvt/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  ROUNDS = 15,
  SLIDES = 5,     /* steps of the boundary in a round */
  ITERATIONS = 20 /* iterations of the descent in a round */
};

typedef struct slide {
  cvtm_cvt *cvt;
  const cvtm_contour *contour;
  const cvtm_cvt_options *options;
  cvtm_boundary *boundary;
  double *sites, *centroid; /* 2 * count */
  int64_t count;
  cvtm_cvt_result *result;
  cvtm_cvt_slides *slides;
  double *saved; /* copies of what a step changes (save_slide) */
  double deadline;
  double energy;
} slide;

static cvtm_status evaluate_energy(const slide *s, double *energy) {
  const cvtm_cvt_moments moments = {NULL, s->centroid, NULL};
  ++s->result->evaluations;
  return cvtm_cvt_evaluate(s->cvt, s->sites, s->count, s->options->energy, s->options->voronoi,
                           energy, &moments);
}

/* Copies the data that a step changes to s->saved, or copies the saved data back (back = 1). */
static void save_slide(const slide *s, int back) {
  const cvtm_boundary *b = s->boundary;
  const size_t n = (size_t)b->vertex_count;
  const struct {
    double *place;
    size_t count;
  } parts[] = {{b->points, 2 * n},
               {b->along, n},
               {b->deviation, (size_t)b->edge_count},
               {s->sites, 2 * n},
               {s->centroid, 2 * n}};
  double *copy = s->saved;
  for (size_t k = 0; k < sizeof parts / sizeof parts[0]; copy += parts[k++].count)
    memcpy(back ? parts[k].place : copy, back ? copy : parts[k].place,
           parts[k].count * sizeof *copy);
}

/* Moves all sites on the boundary by one step. If the energy does not decrease, undoes the step and
 * sets *lowered = 0. s->centroid always has the centroids of the current sites. */
static cvtm_status try_slide(slide *s, double share, int *lowered) {
  const cvtm_boundary *b = s->boundary;
  const cvtm_domain image = s->cvt->domain;
  double energy = 0;
  save_slide(s, 0);
  CVTM_TRY(cvtm_boundary_slide(s->contour, s->centroid, share, s->boundary,
                               cvtm_device_error(s->cvt->device)));
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    s->sites[2 * v] = fmin(fmax(b->points[2 * v], 0), image.width);
    s->sites[2 * v + 1] = fmin(fmax(b->points[2 * v + 1], 0), image.height);
  }
  cvtm_status status = evaluate_energy(s, &energy);
  *lowered = energy < s->energy;
  if (status == CVTM_OK && *lowered) {
    s->energy = energy;
    ++s->slides->count;
  } else if (status == CVTM_OK) {
    save_slide(s, 1);
  }
  return status;
}

/* Makes steps of decreasing length, since full steps of Lloyd's method tend to overshoot. *lowered:
 * the number of steps that lowered the energy. */
static cvtm_status slide_boundary(slide *s, int *lowered) {
  static const double shares[] = {1.6, 0.8, 0.2};
  cvtm_status status = evaluate_energy(s, &s->energy);
  *lowered = 0;
  for (int k = 0; *lowered < SLIDES && k < 3 && status == CVTM_OK;) {
    int better = 0;
    if (cvtm_clock() >= s->deadline) break;
    status = try_slide(s, shares[k], &better);
    *lowered += better;
    k += !better;
  }
  return status;
}

/* The limit on the iterations of a round, within max_iterations. */
static int64_t iterations_left(const slide *s) {
  const int64_t most = s->options->max_iterations, left = most - s->result->iterations;
  return most > 0 && left < ITERATIONS ? left : ITERATIONS;
}

static cvtm_status descend_inside(const slide *s) {
  cvtm_cvt_options options = *s->options;
  cvtm_cvt_result found;
  options.max_iterations = iterations_left(s);
  options.lloyd_steps = 0;
  options.monitor = NULL;
  options.live = 0;
  if (options.max_seconds > 0) options.max_seconds = fmax(s->deadline - cvtm_clock(), 1e-9);
  CVTM_TRY(cvtm_cvt_optimize(s->cvt, &options, s->sites, s->count, &found));
  s->result->iterations += found.iterations;
  s->result->evaluations += found.evaluations;
  s->result->objective = found.objective;
  s->result->gradient_norm = found.gradient_norm;
  return CVTM_OK;
}

/* Reports the round to the monitor. Returns 1 if the monitor asks to stop. */
static int monitor_stops(const slide *s) {
  const cvtm_cvt_options *o = s->options;
  const cvtm_cvt_record record = {s->count, s->result->iterations, s->result->objective,
                                  s->result->gradient_norm, 1};
  if (o->monitor == NULL || o->monitor(o->monitor_context, &record) == 0) return 0;
  s->result->stop = CVTM_STOP_REQUEST;
  return 1;
}

static cvtm_status run_rounds(slide *s) {
  const double start = cvtm_clock();
  s->deadline = cvtm_cvt_deadline(s->options, start - s->result->seconds);
  for (int round = 0; round < ROUNDS; ++round) {
    const double before = s->result->objective;
    int lowered = 0;
    if (iterations_left(s) <= 0 || cvtm_clock() >= s->deadline) break;
    cvtm_status status = slide_boundary(s, &lowered);
    if (status == CVTM_OK && lowered > 0) status = descend_inside(s);
    if (status != CVTM_OK) return status;
    if (lowered == 0 || monitor_stops(s)) break;
    if (before - s->result->objective <= 10 * s->options->tolerance * before) break;
  }
  const double end = cvtm_clock();
  s->result->seconds += end - start;
  if (s->result->stop != CVTM_STOP_REQUEST && end >= s->deadline) s->result->stop = CVTM_STOP_TIME;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_slide(cvtm_cvt *cvt, const cvtm_contour *contour,
                           const cvtm_cvt_options *options, cvtm_boundary *boundary, double *sites,
                           int64_t count, cvtm_cvt_result *result, cvtm_cvt_slides *slides) {
  CVTM_DEFAULT_OPTIONS(cvtm_cvt, options)
  cvtm_error *error = cvtm_device_error(cvt->device);
  const int64_t n = boundary->vertex_count;
  if (options->fixed != n || n > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%lld sites with %lld fixed do not fit %lld vertices on the boundary",
                     (long long)count, (long long)options->fixed, (long long)n);
  *slides = (cvtm_cvt_slides){0, result->objective};
  if (result->stop == CVTM_STOP_REQUEST) return CVTM_OK;
  double *memory = malloc((2 * (size_t)count + 7 * (size_t)n + (size_t)boundary->edge_count + 1) *
                          sizeof *memory);
  if (memory == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the boundary");
  slide s = {cvt,   contour, options, boundary,           sites,    memory,
             count, result,  slides,  memory + 2 * count, INFINITY, 0};
  const cvtm_status status = run_rounds(&s);
  free(memory);
  return status;
}
