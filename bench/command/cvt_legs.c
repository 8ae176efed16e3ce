#include "bench/command/cvt_legs.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "bench/command/cvt_start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, WARMING = 3 };

struct cli_legs {
  cvtm_device *device, *cpu;
  cvtm_cvt *cvt;
  int side;
  int64_t sites, max_iterations;
  double max_seconds;                        /* 0: no limit */
  double *start, *x, *lower, *upper, *scale; /* 2 * sites each, host; start owns all */
  double *device_x, *gradient;               /* 2 * sites each, device memory */
  double bound;                              /* cvtm_cvt_energy_bound */
};

/* --- memory ----------------------------------------------------------------------------- */

static cvtm_status allocate_legs(cli_legs *l) {
  const int64_t n = 2 * l->sites;
  const cvtm_array arrays[] = {CVTM_ARRAY(l->device_x, n), CVTM_ARRAY(l->gradient, n)};
  l->start = calloc(5 * (size_t)n, sizeof *l->start);
  if (l->start == NULL)
    return cvtm_fail(cvtm_device_error(l->device), CVTM_ERROR_MEMORY, "out of memory");
  l->x = l->start + n;
  l->lower = l->x + n;
  l->upper = l->lower + n;
  l->scale = l->upper + n;
  for (int64_t k = 0; k < n; ++k) l->upper[k] = l->side;
  return cvtm_device_allocate_all(l->device, arrays, sizeof arrays / sizeof arrays[0]);
}

cvtm_status cli_legs_open(cvtm_device *device, const cli_options *options, int side, int64_t sites,
                          cli_legs **legs) {
  const int64_t wanted = cli_option_given(options, "iterations") ? options->iterations : 0;
  cli_legs *l = calloc(1, sizeof *l);
  *legs = l;
  if (l == NULL) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  l->device = device;
  l->side = side;
  l->sites = sites;
  l->max_iterations = wanted > 0 && wanted < CLI_LEG_ITERATIONS ? wanted : CLI_LEG_ITERATIONS;
  l->max_seconds = options->time_limit;
  cvtm_status status =
      cvtm_device_create("cpu", (int)options->threads, &l->cpu, cvtm_device_error(device));
  if (status == CVTM_OK) status = allocate_legs(l);
  if (status == CVTM_OK)
    status = cli_cvt_start(device, options, side, sites, l->start, &l->bound, &l->cvt);
  return status;
}

double cli_legs_bound(const cli_legs *l) { return l->bound; }

void cli_legs_close(cli_legs *l) {
  if (l == NULL) return;
  cvtm_device_free(l->device, l->device_x);
  cvtm_device_free(l->device, l->gradient);
  cvtm_cvt_destroy(l->cvt);
  cvtm_device_destroy(l->cpu);
  free(l->start);
  free(l);
}

static double deadline_of(const cli_legs *l) {
  return l->max_seconds > 0 ? cvtm_clock() + l->max_seconds : HUGE_VAL;
}

/* --- what monitors see -------------------------------------------------------------------- */

typedef struct watcher {
  cli_leg *leg;
  double deadline;
  int over, ended; /* the energy did not fall; that, or the time is over */
} watcher;

/* Returns true when the run is to end. */
static int record(watcher *w, int64_t iteration, double energy) {
  cli_leg *leg = w->leg;
  if (w->ended || iteration > CLI_LEG_ITERATIONS) return 1;
  leg->energy[iteration] = energy;
  leg->iterations = iteration;
  w->over = iteration > 0 && energy >= leg->energy[iteration - 1];
  w->ended = w->over || cvtm_clock() >= w->deadline;
  return w->ended;
}

static int watch_optimizer(void *context, const cvtm_lbfgsb_progress *progress) {
  return record(context, progress->iteration, progress->f);
}

static int watch_device(void *context, const cvtm_cvt_record *r) {
  return record(context, r->iteration, r->energy);
}

/* A run that no monitor ended has either used its iterations or cannot go lower. */
static void set_end(const watcher *w, cvtm_stop stop) {
  w->leg->at_limit = !w->over && (stop == CVTM_STOP_ITERATIONS || stop == CVTM_STOP_REQUEST ||
                                  stop == CVTM_STOP_TIME);
}

/* --- the optimiser on the CPU ---------------------------------------------------------------- */

/* The scale that the descent of `cvtmesh run` from this start would have. */
static cvtm_status find_scale(const cli_legs *l, const cvtm_cvt_task *task) {
  const size_t bytes = 2 * (size_t)l->sites * sizeof(double);
  cvtm_status status = cvtm_cvt_put_sites(l->cvt, l->start, l->sites);
  if (status == CVTM_OK) status = cvtm_cvt_enqueue(task, l->cvt->sites, l->cvt->value, NULL);
  if (status == CVTM_OK) status = cvtm_cvt_set_scale(task, 0);
  return status == CVTM_OK ? cvtm_device_copy_out(l->device, l->scale, l->cvt->scale, bytes)
                           : status;
}

/* Energy and gradient on the host, and the seconds that took. */
static cvtm_status evaluate_leg(const cli_legs *l, const cvtm_cvt_task *task,
                                const cvtm_lbfgsb_evaluation *at, cli_leg *leg) {
  const size_t bytes = 2 * (size_t)l->sites * sizeof(double);
  const double start = cvtm_clock();
  cvtm_status status = cvtm_device_copy_in(l->device, l->device_x, at->x, bytes);
  const double copied = cvtm_clock();
  if (status == CVTM_OK) status = cvtm_cvt_enqueue(task, l->device_x, l->cvt->value, l->gradient);
  if (status == CVTM_OK) status = cvtm_device_synchronize(l->device);
  const double evaluated = cvtm_clock();
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(l->device, at->f, l->cvt->value, 2 * sizeof *at->f);
  if (status == CVTM_OK) status = cvtm_device_copy_out(l->device, at->g, l->gradient, bytes);
  leg->evaluation += evaluated - copied;
  leg->io += cvtm_clock() - evaluated + copied - start;
  ++leg->evaluations;
  return status;
}

static cvtm_status run_rounds(const cli_legs *l, const cvtm_cvt_task *task, cvtm_lbfgsb *solver,
                              cli_leg *leg) {
  cvtm_lbfgsb_evaluation at;
  int running = 1;
  cvtm_status status = cvtm_lbfgsb_set_bounds(solver, l->lower, l->upper);
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_scaling(solver, l->scale);
  if (status == CVTM_OK) status = cvtm_lbfgsb_start(solver, l->start, &at);
  while (status == CVTM_OK && running) {
    status = evaluate_leg(l, task, &at, leg);
    if (status == CVTM_OK) status = cvtm_lbfgsb_advance(solver, &running);
  }
  return status;
}

cvtm_status cli_legs_on_cpu(cli_legs *l, cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                            cli_leg *leg) {
  const cvtm_cvt_task task = {l->cvt, l->sites, 0, energy, voronoi};
  watcher w = {leg, deadline_of(l), 0, 0};
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_result result;
  cvtm_lbfgsb *solver = NULL;
  memset(leg, 0, sizeof *leg);
  cvtm_lbfgsb_defaults(&options);
  options.max_iterations = l->max_iterations;
  options.monitor = watch_optimizer;
  options.monitor_context = &w;
  cvtm_status status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK) status = find_scale(l, &task);
  if (status == CVTM_OK) status = cvtm_lbfgsb_create(l->cpu, 2 * l->sites, &options, &solver);
  const double start = cvtm_clock();
  if (status == CVTM_OK) status = run_rounds(l, &task, solver, leg);
  leg->optimizer = cvtm_clock() - start - leg->evaluation - leg->io;
  if (status == CVTM_OK) status = cvtm_lbfgsb_finish(solver, l->x, &result);
  cvtm_lbfgsb_destroy(solver);
  if (status != CVTM_OK) return status;
  leg->ran = result.iterations;
  set_end(&w, result.stop);
  return CVTM_OK;
}

/* --- everything on the device ----------------------------------------------------------------- */

/* Evaluations that are left to do, and the number 1; both in `left`, device memory. */
typedef struct rounds {
  const cvtm_cvt_task *task;
  double *gradient, *left;
} rounds;

static cvtm_status evaluate_round(void *context) {
  const rounds *r = context;
  cvtm_cvt *cvt = r->task->cvt;
  const cvtm_status status = cvtm_cvt_enqueue(r->task, cvt->sites, cvt->value, r->gradient);
  return status == CVTM_OK ? cvtm_vector_axpy(cvt->device, -1, r->left + 1, r->left, 1) : status;
}

static cvtm_status time_rounds(rounds *r, double *seconds) {
  cvtm_device *device = r->task->cvt->device;
  /* The upper half of a small whole number is 0 only when it is 0. */
  const int *flag = (const int *)r->left + 1;
  const double counts[2] = {ROUNDS, 1};
  cvtm_loop *loop = NULL;
  cvtm_status status = cvtm_loop_create(device, evaluate_round, r, flag, &loop);
  *seconds = HUGE_VAL;
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    status = cvtm_device_copy_in(device, r->left, counts, sizeof counts);
    const double start = cvtm_clock();
    if (status == CVTM_OK) status = cvtm_loop_run(loop);
    if (status == CVTM_OK) status = cvtm_device_synchronize(device);
    *seconds = fmin(*seconds, (cvtm_clock() - start) / ROUNDS);
  }
  cvtm_loop_destroy(loop);
  return status;
}

cvtm_status cli_time_evaluation(const cvtm_cvt_task *task, double *seconds) {
  cvtm_device *device = task->cvt->device;
  rounds r = {.task = task};
  const cvtm_array arrays[] = {CVTM_ARRAY(r.gradient, 2 * task->count), CVTM_ARRAY(r.left, 2)};
  const size_t count = sizeof arrays / sizeof arrays[0];
  cvtm_status status = cvtm_device_allocate_all(device, arrays, count);
  if (status == CVTM_OK) status = time_rounds(&r, seconds);
  cvtm_device_free_all(device, arrays, count);
  return status;
}

static cvtm_status descend_leg(cli_legs *l, const cvtm_cvt_task *task, int64_t iterations,
                               watcher *w, cvtm_cvt_result *result) {
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.energy = task->energy;
  options.voronoi = task->voronoi;
  options.tolerance = 0;
  options.lloyd_steps = 0;
  options.max_iterations = iterations;
  options.monitor = watch_device;
  options.monitor_context = w;
  memset(w->leg, 0, sizeof *w->leg);
  memcpy(l->x, l->start, 2 * (size_t)l->sites * sizeof *l->x);
  return cvtm_cvt_optimize(l->cvt, &options, l->x, l->sites, result);
}

cvtm_status cli_legs_on_device(cli_legs *l, cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                               cli_leg *leg) {
  const cvtm_cvt_task task = {l->cvt, l->sites, 0, energy, voronoi};
  const int is_cuda = cvtm_device_get_kind(l->device) == CVTM_DEVICE_CUDA;
  watcher w = {leg, HUGE_VAL, 0, 0};
  cvtm_cvt_result result;
  cvtm_status status = is_cuda ? descend_leg(l, &task, WARMING, &w, &result) : CVTM_OK;
  w = (watcher){leg, deadline_of(l), 0, 0};
  if (status == CVTM_OK) status = descend_leg(l, &task, l->max_iterations, &w, &result);
  if (status != CVTM_OK) return status;
  const double seconds = result.seconds_evaluation + result.seconds_optimizer;
  double each = result.seconds_evaluation / (double)result.evaluations;
  if (is_cuda) status = cli_time_evaluation(&task, &each);
  leg->ran = result.iterations;
  leg->evaluations = result.evaluations;
  leg->evaluation = fmin(each * (double)result.evaluations, seconds);
  leg->optimizer = seconds - leg->evaluation;
  set_end(&w, result.stop);
  return status;
}
