#include "run/line.h"

#include "base/clock.h"
#include "base/host.h"
#include "cvt/cvt.h"
#include "draw/likeness.h"
#include "run/colours.h"
#include "run/page.h"
#include "run/stipples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The planes consist of squares about a third of the mean spacing wide. */
typedef struct line {
  cvtm_run_options *options;
  cvtm_domain domain, squares;
  int side;            /* of a square, in pixels */
  cvtm_ink ink, piece; /* the same, with an area in pixels and in squares */
  float *tone;         /* the wanted ink */
  float *share;        /* the factor by which the line is asked for more ink */
  float *work;
  cvtm_scratch memory;
} line;

static int64_t count_squares(const line *l) {
  return (int64_t)l->squares.width * l->squares.height;
}

static cvtm_status make_planes(line *l, const float *tone, cvtm_error *error) {
  enum { PARTS = 3 };
  const double pixels = (double)l->domain.width * l->domain.height;
  l->side = (int)fmax(floor(sqrt(pixels / (double)l->options->points) / PARTS), 1);
  l->squares = (cvtm_domain){(l->domain.width + l->side - 1) / l->side,
                             (l->domain.height + l->side - 1) / l->side, 0};
  const size_t squares = (size_t)count_squares(l);
  float **plane[] = {&l->tone, &l->share, &l->work};
  for (int k = 0; k < 3; ++k) *plane[k] = cvtm_scratch_take(&l->memory, squares, sizeof **plane[k]);
  if (l->memory.failed) return cvtm_no_memory(error, "the tone of a line");
  l->piece = (cvtm_ink){l->ink.kind, l->ink.area * (double)squares / pixels};
  cvtm_plane_shrink(tone, l->domain.width, l->domain.height, l->side, l->tone);
  for (size_t k = 0; k < squares; ++k) l->share[k] = 1;
  return CVTM_OK;
}

/* Places points as the run will, though by at most 60 iterations, and orders them along a tour.
 * Works on a CPU, since the device of the run may be at work on another picture. */
static cvtm_status place(const line *l, const float *rho, double *sites, cvtm_error *error) {
  enum { ITERATIONS = 60 };
  const cvtm_run_options *o = l->options;
  const double deadline = o->time_limit > 0 ? cvtm_clock() + o->time_limit : 0;
  cvtm_device *device = NULL;
  cvtm_cvt *plan = NULL;
  cvtm_cvt_options how;
  run_point_order order = {0};
  cvtm_cvt_defaults(&how);
  how.effort = o->effort < CVTM_CVT_EFFORT_NORMAL ? o->effort : CVTM_CVT_EFFORT_NORMAL;
  how.max_iterations = o->iterations < ITERATIONS ? o->iterations : ITERATIONS;
  how.tolerance = o->tolerance;
  how.max_seconds = 0.3 * o->time_limit;
  how.start = o->start;
  how.seed = (uint64_t)o->seed;
  CVTM_TRY(cvtm_device_create("cpu", (int)o->threads, &device, error));
  cvtm_status status = cvtm_cvt_create_borrowed(device, l->domain, rho, NULL, o->points, &plan);
  if (status == CVTM_OK) status = cvtm_cvt_solve(plan, &how, 0, sites, o->points, NULL);
  if (status != CVTM_OK) (void)cvtm_fail(error, status, "%s", cvtm_device_error(device)->message);
  cvtm_cvt_destroy(plan);
  cvtm_device_destroy(device);
  if (status == CVTM_OK) status = run_order_find(o, sites, o->points, deadline, &order, error);
  if (status == CVTM_OK) status = run_order_apply(&order, o->points, 2, sites, error);
  run_order_free(&order);
  return status;
}

/* Plots a tour through points of the density, and sets the share. */
static cvtm_status measure(line *l, const float *density, cvtm_error *error) {
  const double spacings = 2; /* the reach of the blur, about that of the likeness */
  const cvtm_run_options *o = l->options;
  const int columns = l->squares.width, rows = l->squares.height;
  const size_t pixels = (size_t)l->domain.width * (size_t)l->domain.height;
  const double reach = spacings * sqrt((double)count_squares(l) / (double)o->points);
  float *rho = cvtm_scratch_take(&l->memory, pixels, sizeof *rho), *drawn = NULL;
  double *sites = cvtm_scratch_take(&l->memory, 2 * (size_t)o->points, sizeof *sites);
  const run_scene scene = {
      .options = o, .domain = l->domain, .sites = sites, .count = o->points, .is_simulated = 1};
  if (l->memory.failed) return cvtm_no_memory(error, "the tone of a line");
  memcpy(rho, density, pixels * sizeof *rho);
  CVTM_TRY(cvtm_density_of_local_mean(l->domain, (double)o->points, &l->ink, rho, error));
  CVTM_TRY(place(l, rho, sites, error));
  cvtm_status status = run_page_simulate(&scene, CVTM_SVG_PATH, 1, l->domain, &drawn, error);
  if (status == CVTM_OK)
    cvtm_plane_shrink(drawn, l->domain.width, l->domain.height, l->side, l->work);
  free(drawn);
  memcpy(l->share, l->tone, (size_t)count_squares(l) * sizeof *l->share);
  if (status == CVTM_OK) status = cvtm_plane_blur(l->work, columns, rows, reach, error);
  if (status == CVTM_OK) status = cvtm_plane_blur(l->share, columns, rows, reach, error);
  for (int64_t k = 0; k < count_squares(l); ++k)
    l->share[k] = l->work[k] > 0 ? fminf(fmaxf(l->share[k] / l->work[k], 0.5F), 2) : 1;
  return status;
}

/* The number of points for the ink tone^exponent * share. */
static cvtm_status count_points(const line *l, double exponent, double *count, cvtm_error *error) {
  for (int64_t k = 0; k < count_squares(l); ++k)
    l->work[k] = (float)fmin(pow((double)l->tone[k], exponent) * (double)l->share[k], 1);
  return cvtm_ink_count(l->squares, l->work, &l->piece, count, error);
}

/* Finds the exponent for which the tone needs the points of -n, by the secant method. It stays as
 * it is where the number of points does not depend on it, as in black and white. */
static cvtm_status find_exponent(const line *l, double *exponent, cvtm_error *error) {
  enum { STEPS = 6 };
  const double close = 1e-3;
  double slope = -3, last = 0, last_miss = 0, at = 0, count; /* at: the logarithm of the exponent */
  for (int k = 0; k < STEPS; ++k) {
    CVTM_TRY(count_points(l, exp(at), &count, error));
    const double miss = log(count / (double)l->options->points);
    if (k > 0 && at != last) slope = (miss - last_miss) / (at - last);
    if (!(fabs(miss) > close && slope < -0.1)) break;
    last = at;
    last_miss = miss;
    at = fmin(fmax(at - miss / slope, -1), 1);
  }
  *exponent = exp(at);
  return CVTM_OK;
}

/* Changes the gamma of the tones, and with it the tone and the density, to the points of -n. */
static cvtm_status adapt_gamma(line *l, float *tone, float *density, cvtm_error *error) {
  cvtm_run_options *o = l->options;
  const int64_t pixels = (int64_t)l->domain.width * l->domain.height;
  double exponent = 1;
  CVTM_TRY(find_exponent(l, &exponent, error));
  const double gamma = round(1e3 * o->gamma * exponent) / 1e3;
  const double power = gamma / o->gamma;
  o->gamma = gamma;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    tone[p] = (float)pow((double)tone[p], power);
    density[p] = (float)pow((double)density[p], power);
  }
  cvtm_plane_shrink(tone, l->domain.width, l->domain.height, l->side, l->tone);
  return CVTM_OK;
}

static void ask_for_ink(const line *l, float *density) {
  const double side = l->side;
#pragma omp parallel for schedule(static)
  for (int j = 0; j < l->domain.height; ++j) {
    for (int i = 0; i < l->domain.width; ++i) {
      const double share = cvtm_plane_at(l->share, l->squares.width, l->squares.height,
                                         (i + 0.5) / side - 0.5, (j + 0.5) / side - 0.5);
      float *rho = density + (int64_t)j * l->domain.width + i;
      *rho = (float)fmin((double)*rho * share * share, 1);
    }
  }
}

static cvtm_status correct(line *l, run_dot_count *dots, float *tone, float *density,
                           cvtm_error *error) {
  cvtm_run_options *o = l->options;
  const int counts = dots->count > 0;
  const int adapts = !counts && o->tone == CVTM_RUN_TONE_CHOSEN && !run_colours_wanted(o);
  double count;
  CVTM_TRY(make_planes(l, tone, error));
  if (adapts) CVTM_TRY(adapt_gamma(l, tone, density, error));
  CVTM_TRY(measure(l, density, error));
  if (adapts) CVTM_TRY(adapt_gamma(l, tone, density, error));
  if (counts) {
    CVTM_TRY(count_points(l, 1, &count, error));
    if (o->preview.asked > 0) /* a preview has fewer points, and a wider pen */
      o->preview.asked = (int64_t)((double)o->preview.asked * count / (double)o->points);
    else
      o->points = (int64_t)fmax(round(count), 1);
    dots->count = fmax((double)o->preview.asked, (double)o->points);
  }
  ask_for_ink(l, density);
  return CVTM_OK;
}

cvtm_status run_line_correct(cvtm_run_options *options, cvtm_domain domain, run_dot_count *dots,
                             float *tone, float *density, cvtm_error *error) {
  line l = {.options = options, .domain = domain};
  int is_even;
  if (!run_page_shows_line(options) || options->points < 1) return CVTM_OK;
  CVTM_TRY(run_ink_find(options, domain, &l.ink, &is_even, error));
  const cvtm_status status = correct(&l, dots, tone, density, error);
  cvtm_scratch_free(&l.memory);
  return status;
}
