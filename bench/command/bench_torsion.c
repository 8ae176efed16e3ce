/* cvtmesh bench table4 and figure9: elastic-plastic torsion from 400 to 4,000,000 variables. */
#include "base/clock.h"
#include "bench/command/bench.h"
#include "cli/cli.h"
#include "bench/problems/minpack2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 13 };

/* What the paper prints: mean Cauchy steps, iterations, milliseconds. */
typedef struct paper_row {
  int side;
  double evaluation, exact_step;
  int exact_iterations;
  double exact_time, step;
  int iterations;
  double time, copies, difference;
} paper_row;

static const paper_row rows[SIZES] = {
    {20, 0.02, 0.26, 52, 0.20, 0.25, 49, 1.17, 0.04, -9.99e-15},
    {40, 0.06, 0.26, 133, 0.93, 0.26, 105, 1.41, 0.05, -9.99e-16},
    {60, 0.14, 0.26, 144, 1.34, 0.27, 155, 1.50, 0.08, 1.20e-14},
    {80, 0.25, 0.26, 193, 2.29, 0.26, 199, 1.60, 0.08, -6.90e-14},
    {100, 0.39, 0.26, 241, 3.59, 0.26, 237, 1.92, 0.19, 3.00e-14},
    {200, 1.53, 0.24, 549, 15.09, 0.24, 464, 3.27, 0.20, -1.91e-13},
    {400, 5.91, 0.17, 921, 117.74, 0.18, 1035, 8.17, 0.63, -1.85e-12},
    {600, 13.11, 0.08, 1272, 220.40, 0.09, 1315, 15.27, 1.57, 2.44e-12},
    {800, 23.12, 0.07, 1685, 427.75, 0.08, 1793, 24.23, 2.70, 3.98e-12},
    {1000, 36.07, 0.08, 2310, 782.62, 0.08, 1907, 36.61, 4.30, 7.86e-12},
    {1200, 51.29, 0.07, 2915, 1473.86, 0.09, 2636, 51.50, 6.45, 8.78e-12},
    {1500, 79.62, 0.09, 2917, 2200.41, 0.10, 3213, 78.58, 9.97, -4.52e-12},
    {2000, 141.09, 0.09, 4197, 3351.68, 0.10, 3971, 137.16, 17.92, 5.88e-11},
};

/* One run, up to the first iteration in which f did not decrease. */
typedef struct outcome {
  double step; /* sum, then mean */
  int64_t iterations;
  double f, evaluation, optimizer; /* milliseconds of one evaluation, of one iteration */
  int over;                        /* f did not decrease */
  int at_limit;                    /* ended by a limit of iterations or time */
} outcome;

static int note_iteration(void *context, const cvtm_lbfgsb_progress *progress) {
  outcome *o = context;
  if (o->over) return 1;
  if (progress->iteration > 0) {
    o->over = progress->f >= o->f;
    o->iterations = progress->iteration;
    o->step += progress->cauchy;
  }
  o->f = progress->f;
  return o->over;
}

typedef struct torsion {
  cvtm_device *device;
  cvtm_minpack2 *problem;
  int64_t n;
  void *x, *lower, *upper; /* device memory */
} torsion;

static cvtm_status make_torsion(torsion *t, int side) {
  cvtm_minpack2_options sizes;
  cvtm_minpack2_defaults(CVTM_MINPACK2_EPT, &sizes);
  sizes.nx = sizes.ny = side;
  cvtm_status status = cvtm_minpack2_create(t->device, CVTM_MINPACK2_EPT, &sizes, &t->problem);
  if (status != CVTM_OK) return status;
  t->n = cvtm_minpack2_variables(t->problem);
  void **const arrays[] = {&t->x, &t->lower, &t->upper};
  for (int k = 0; k < 3 && status == CVTM_OK; ++k)
    status = cvtm_device_allocate(t->device, t->n, sizeof(double), arrays[k]);
  return status == CVTM_OK ? cvtm_minpack2_bounds(t->problem, t->lower, t->upper) : status;
}

static void free_torsion(torsion *t) {
  void *const owned[] = {t->x, t->lower, t->upper};
  for (int k = 0; k < 3; ++k)
    if (owned[k] != NULL) cvtm_device_free(t->device, owned[k]);
  cvtm_minpack2_destroy(t->problem);
}

static cvtm_status solve_torsion(const torsion *t, const cli_options *options,
                                 cvtm_lbfgsb_cauchy cauchy, outcome *o) {
  cvtm_lbfgsb_options how;
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_result result;
  memset(o, 0, sizeof *o);
  cvtm_lbfgsb_defaults(&how);
  how.max_iterations = options->iterations;
  how.max_seconds = options->time_limit;
  how.cauchy = cauchy;
  how.time_evaluations = 1;
  how.monitor = note_iteration;
  how.monitor_context = o;
  cvtm_status status = cvtm_minpack2_start(t->problem, t->x);
  if (status == CVTM_OK) status = cvtm_lbfgsb_create(t->device, t->n, &how, &solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_bounds(solver, t->lower, t->upper);
  if (status == CVTM_OK)
    status = cvtm_lbfgsb_minimize(solver, t->x, cvtm_minpack2_evaluate, t->problem, &result);
  cvtm_lbfgsb_destroy(solver);
  if (status != CVTM_OK) return status;
  const double ms = 1000, run = (double)(result.iterations > 0 ? result.iterations : 1);
  o->at_limit = !o->over && (result.stop == CVTM_STOP_ITERATIONS || result.stop == CVTM_STOP_TIME);
  o->step /= (double)(o->iterations > 0 ? o->iterations : 1);
  o->evaluation = ms * result.evaluation_seconds / (double)result.evaluations;
  o->optimizer = ms * (result.seconds - result.evaluation_seconds) / run;
  return CVTM_OK;
}

/* Measures the milliseconds of copying x to the host and a gradient back. */
static cvtm_status time_copies(const torsion *t, double *milliseconds) {
  const size_t bytes = (size_t)t->n * sizeof(double);
  enum { REPEATS = 10 };
  double *host = malloc(bytes);
  if (host == NULL)
    return cvtm_fail(cvtm_device_error(t->device), CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = cvtm_device_copy_out(t->device, host, t->x, bytes);
  const double start = cvtm_clock();
  for (int k = 0; k < REPEATS && status == CVTM_OK; ++k) {
    status = cvtm_device_copy_out(t->device, host, t->x, bytes);
    if (status == CVTM_OK) status = cvtm_device_copy_in(t->device, t->x, host, bytes);
  }
  *milliseconds = 1000 * (cvtm_clock() - start) / REPEATS;
  free(host);
  return status;
}

/* Both ways at one size, and milliseconds of the copies that an iteration would need. */
typedef struct measured {
  outcome exact, approximate;
  double copies;
} measured;

static cvtm_status measure_torsion(cvtm_device *device, const cli_options *options, int side,
                                   measured *m) {
  torsion t = {.device = device};
  cvtm_status status = make_torsion(&t, side);
  if (status == CVTM_OK) status = solve_torsion(&t, options, CVTM_LBFGSB_CAUCHY_EXACT, &m->exact);
  if (status == CVTM_OK)
    status = solve_torsion(&t, options, CVTM_LBFGSB_CAUCHY_APPROXIMATE, &m->approximate);
  if (status == CVTM_OK) status = time_copies(&t, &m->copies);
  free_torsion(&t);
  return status;
}

static const char *mark_of_outcome(const outcome *o) { return o->at_limit ? "+" : ""; }

static void print_torsion_row(const paper_row *row, const measured *m) {
  const outcome *exact = &m->exact, *own = &m->approximate;
  printf("| %d | %.4f (%.2f) |", row->side * row->side, own->evaluation, row->evaluation);
  printf(" %.2f (%.2f) | %lld%s (%d) | %.4f (%.2f) |", exact->step, row->exact_step,
         (long long)exact->iterations, mark_of_outcome(exact), row->exact_iterations,
         exact->optimizer, row->exact_time);
  printf(" %.2f (%.2f) | %lld%s (%d) | %.4f (%.2f) |", own->step, row->step,
         (long long)own->iterations, mark_of_outcome(own), row->iterations, own->optimizer,
         row->time);
  printf(" 0, else %.4f (%.2f) | %.15g | %.1e (%.1e) |\n", m->copies, row->copies, own->f,
         own->f - exact->f, row->difference);
  fflush(stdout);
}

static int skipped(const cli_options *options, int side) {
  return options->size_limit > 0 && side * side > options->size_limit;
}

cvtm_status cli_bench_table4(cvtm_device *device, const cli_options *options) {
  printf(
      "| size | evaluation | t* | itr | L-BFGS-B, exact | t^c | itr | L-BFGS-B, approximate | I/O "
      "| f "
      "| difference |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < SIZES && !skipped(options, rows[k].side); ++k) {
    measured m;
    status = measure_torsion(device, options, rows[k].side, &m);
    if (status != CVTM_OK) return status;
    print_torsion_row(&rows[k], &m);
  }
  printf(
      "\nMilliseconds, of an evaluation and of the optimiser in an iteration; in brackets the\n"
      "paper's: t* on its CPU, t^c on its GTX 580, evaluations on its CPU. I/O: nothing crosses "
      "the\n"
      "bus here; else: what copying x and the gradient would take. +: stopped at the limit of\n"
      "iterations or time; the others went on until f did not decrease, as the paper's.\n");
  return status;
}

/* --- Figure 9 --------------------------------------------------------------------------- */

enum { CURVES = 4 };
typedef struct figure {
  double size[SIZES], time[CURVES][SIZES];
  int count;
} figure;

static cvtm_status draw_times(const char *path, const figure *f, cvtm_error *error) {
  static const char *const names[CURVES] = {"exact Cauchy point", "approximate Cauchy point",
                                            "paper: CPU, exact", "paper: GTX 580"};
  cvtm_chart_curve curves[CURVES];
  for (int c = 0; c < CURVES; ++c)
    curves[c] = (cvtm_chart_curve){.name = names[c],
                                   .x = f->size,
                                   .y = f->time[c],
                                   .count = f->count,
                                   .dashed = c > 1,
                                   .marked = 1};
  const cvtm_chart chart = {"Fei et al., Figure 9: L-BFGS-B in an iteration of torsion",
                            {"variables", 1},
                            {"milliseconds", 1},
                            curves,
                            CURVES};
  return cvtm_chart_write_svg(path, &chart, error);
}

cvtm_status cli_bench_figure9(cvtm_device *device, const cli_options *options) {
  figure f = {.count = 0};
  printf(
      "| size | exact Cauchy point | approximate | paper: CPU | paper: GTX 580 |\n"
      "|---|---|---|---|---|\n");
  for (int k = 0; k < SIZES && !skipped(options, rows[k].side); ++k) {
    measured m;
    const cvtm_status status = measure_torsion(device, options, rows[k].side, &m);
    if (status != CVTM_OK) return status;
    const double time[CURVES] = {m.exact.optimizer, m.approximate.optimizer, rows[k].exact_time,
                                 rows[k].time};
    for (int c = 0; c < CURVES; ++c) f.time[c][k] = time[c];
    f.size[f.count++] = rows[k].side * rows[k].side;
    printf("| %d | %.4f | %.4f | %.2f | %.2f |\n", rows[k].side * rows[k].side, time[0], time[1],
           time[2], time[3]);
    fflush(stdout);
  }
  printf("\nMilliseconds of L-BFGS-B in an iteration.\n");
  return options->figure != NULL ? draw_times(options->figure, &f, cvtm_device_error(device))
                                 : CVTM_OK;
}
