/* cvtmesh bench histories: iterations of L-BFGS-B with histories of 5 to 100 pairs, on the
 * MINPACK-2 problems and a CVT of random start. */
#include "bench/command/bench.h"
#include "bench/command/cvt_legs.h"
#include "bench/command/cvt_start.h"
#include "bench/problems/minpack2.h"
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  LENGTHS = 5,
  DEFAULT_ITERATIONS = 2000,
  SIDE = 2048,  /* of the CVT, in pixels */
  SITES = 20000 /* and its sites */
};

static const int lengths[LENGTHS] = {5, 8, 20, 50, 100};

/* f after each iteration of a run. */
typedef struct trace {
  double *f; /* [most + 1], the start first */
  int64_t count, most;
  double optimizer; /* milliseconds of an iteration without its evaluations */
} trace;

static void note(trace *t, int64_t iteration, double f) {
  if (iteration > t->most) return;
  t->f[iteration] = f;
  t->count = iteration + 1;
}

static int note_objective(void *context, const cvtm_lbfgsb_progress *progress) {
  note(context, progress->iteration, progress->f);
  return 0;
}

static int watch_cvt(void *context, const cvtm_cvt_record *record) {
  note(context, record->iteration, record->energy);
  return 0;
}

static double each_of(double seconds, int64_t iterations) {
  return 1e3 * fmax(seconds, 0) / (double)(iterations > 0 ? iterations : 1);
}

/* --- a table row ------------------------------------------------------------------------------ */

/* The first iteration with f <= limit, or -1. */
static int64_t find_iteration(const trace *t, double limit) {
  for (int64_t k = 0; k < t->count; ++k)
    if (t->f[k] <= limit) return k;
  return -1;
}

static void print_histories_row(const char *name, int64_t variables, const trace *traces) {
  int best = 0;
  for (int k = 1; k < LENGTHS; ++k)
    if (traces[k].f[traces[k].count - 1] < traces[best].f[traces[best].count - 1]) best = k;
  const double lowest = traces[best].f[traces[best].count - 1], start = traces[0].f[0];
  printf("| %s | %lld | %.12g (%d) |", name, (long long)variables, lowest, lengths[best]);
  for (int k = 0; k < LENGTHS; ++k) {
    const trace *t = traces + k;
    const int64_t iteration = find_iteration(t, lowest + 1e-6 * (start - lowest));
    if (iteration >= 0)
      printf(" %lld |", (long long)iteration);
    else
      printf(" %lld: %.0e above |", (long long)t->count - 1,
             (t->f[t->count - 1] - lowest) / (start - lowest));
  }
  for (int k = 0; k < LENGTHS; ++k) printf(" %.3g |", traces[k].optimizer);
  printf("\n");
  fflush(stdout);
}

static cvtm_status make_traces(cvtm_device *device, const cli_options *options, trace *traces) {
  const int64_t most =
      cli_option_given(options, "iterations") ? options->iterations : DEFAULT_ITERATIONS;
  for (int k = 0; k < LENGTHS; ++k) {
    traces[k].most = most;
    traces[k].f = calloc((size_t)most + 1, sizeof *traces[k].f);
    if (traces[k].f == NULL)
      return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  }
  return CVTM_OK;
}

static void free_traces(trace *traces) {
  for (int k = 0; k < LENGTHS; ++k) free(traces[k].f);
}

/* --- MINPACK-2 -------------------------------------------------------------------------------- */

/* A problem with its bounds, in device memory. */
typedef struct problem {
  cvtm_device *device;
  cvtm_minpack2 *objective;
  int64_t n;
  void *x, *lower, *upper;
} problem;

static cvtm_status open_problem(problem *p, const cli_options *options, cvtm_minpack2_kind kind) {
  cvtm_minpack2_options sizes;
  cvtm_minpack2_defaults(kind, &sizes);
  if (options->size_limit > 0) cvtm_minpack2_shrink(kind, options->size_limit, &sizes);
  cvtm_status status = cvtm_minpack2_create(p->device, kind, &sizes, &p->objective);
  if (status != CVTM_OK) return status;
  p->n = cvtm_minpack2_variables(p->objective);
  const cvtm_array arrays[] = {{&p->x, p->n, sizeof(double)},
                               {&p->lower, p->n, sizeof(double)},
                               {&p->upper, p->n, sizeof(double)}};
  status = cvtm_device_allocate_all(p->device, arrays, sizeof arrays / sizeof arrays[0]);
  return status == CVTM_OK ? cvtm_minpack2_bounds(p->objective, p->lower, p->upper) : status;
}

static void close_problem(problem *p) {
  void *const owned[] = {p->x, p->lower, p->upper};
  for (size_t k = 0; k < sizeof owned / sizeof owned[0]; ++k)
    if (owned[k] != NULL) cvtm_device_free(p->device, owned[k]);
  cvtm_minpack2_destroy(p->objective);
}

static cvtm_status minimize(const problem *p, const cli_options *options, int history, trace *t) {
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_options settings;
  cvtm_lbfgsb_result result;
  cvtm_lbfgsb_defaults(&settings);
  settings.history = history;
  settings.max_iterations = t->most;
  settings.max_seconds = options->time_limit;
  settings.time_evaluations = 1;
  settings.monitor = note_objective;
  settings.monitor_context = t;
  cvtm_status status = cvtm_minpack2_start(p->objective, p->x);
  if (status == CVTM_OK) status = cvtm_lbfgsb_create(p->device, p->n, &settings, &solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_bounds(solver, p->lower, p->upper);
  if (status == CVTM_OK)
    status = cvtm_lbfgsb_minimize(solver, p->x, cvtm_minpack2_evaluate, p->objective, &result);
  cvtm_lbfgsb_destroy(solver);
  if (status == CVTM_OK)
    t->optimizer = each_of(result.seconds - result.evaluation_seconds, result.iterations);
  return status;
}

static cvtm_status study_problem(cvtm_device *device, const cli_options *options,
                                 cvtm_minpack2_kind kind) {
  problem p = {.device = device};
  trace traces[LENGTHS] = {{.count = 0}};
  cvtm_status status = make_traces(device, options, traces);
  if (status == CVTM_OK) status = open_problem(&p, options, kind);
  for (int k = 0; k < LENGTHS && status == CVTM_OK; ++k)
    status = minimize(&p, options, lengths[k], traces + k);
  if (status == CVTM_OK) print_histories_row(cvtm_minpack2_name(kind), p.n, traces);
  close_problem(&p);
  free_traces(traces);
  return status;
}

/* --- a CVT -------------------------------------------------------------------------------------
 */

static cvtm_status descend_with_history(cvtm_cvt *cvt, const cli_options *options, int history,
                                        const double *start, double *sites, int64_t count,
                                        trace *t) {
  cvtm_cvt_options settings;
  cvtm_cvt_result result;
  cvtm_cvt_defaults(&settings);
  settings.history = history;
  settings.max_iterations = t->most;
  settings.max_seconds = options->time_limit;
  settings.tolerance = 0;
  settings.lloyd_steps = 0;
  settings.monitor = watch_cvt;
  settings.monitor_context = t;
  memcpy(sites, start, 2 * (size_t)count * sizeof *sites);
  const cvtm_cvt_task task = {cvt, count, 0, settings.energy, settings.voronoi};
  const int is_cuda = cvtm_device_get_kind(cvt->device) == CVTM_DEVICE_CUDA;
  cvtm_status status = cvtm_cvt_optimize(cvt, &settings, sites, count, &result);
  double each = result.seconds_evaluation / (double)result.evaluations;
  if (status == CVTM_OK && is_cuda) status = cli_time_evaluation(&task, &each);
  if (status != CVTM_OK) return status;
  const double seconds = result.seconds_evaluation + result.seconds_optimizer;
  t->optimizer = each_of(seconds - each * (double)result.evaluations, result.iterations);
  return CVTM_OK;
}

static cvtm_status study_cvt(cvtm_device *device, const cli_options *options) {
  const int64_t limit = options->size_limit;
  const int64_t count = limit > 0 && limit < 2 * SITES ? (limit + 1) / 2 : SITES;
  cvtm_cvt *cvt = NULL;
  trace traces[LENGTHS] = {{.count = 0}};
  double *start = malloc(4 * (size_t)count * sizeof *start);
  cvtm_status status = make_traces(device, options, traces);
  if (start == NULL)
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) status = cli_cvt_start(device, options, SIDE, count, start, NULL, &cvt);
  for (int k = 0; k < LENGTHS && status == CVTM_OK; ++k)
    status =
        descend_with_history(cvt, options, lengths[k], start, start + 2 * count, count, traces + k);
  if (status == CVTM_OK) print_histories_row("CVT", 2 * count, traces);
  cvtm_cvt_destroy(cvt);
  free(start);
  free_traces(traces);
  return status;
}

cvtm_status cli_bench_histories(cvtm_device *device, const cli_options *options) {
  cvtm_status status = CVTM_OK;
  printf("| problem | variables | lowest f (m) |");
  for (int k = 0; k < LENGTHS; ++k) printf(" m = %d |", lengths[k]);
  for (int k = 0; k < LENGTHS; ++k) printf(" ms, m = %d |", lengths[k]);
  printf("\n|---|---|---|");
  for (int k = 0; k < 2 * LENGTHS; ++k) printf("---|");
  printf("\n");
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT && status == CVTM_OK; ++kind)
    status = study_problem(device, options, (cvtm_minpack2_kind)kind);
  if (status == CVTM_OK) status = study_cvt(device, options);
  printf(
      "\nIterations to the lowest f of the row but 1e-6 of the decrease to it; of a run that ended "
      "higher all\nits iterations, and how much of the decrease is missing. ms: the optimiser in "
      "an "
      "iteration.\n");
  return status;
}
