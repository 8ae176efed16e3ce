/* Descents: steps of Lloyd's method (lloyd.c), then L-BFGS-B. The sites stay in device memory. */
#include "cvt/descent.h"

#include "base/clock.h"
#include "base/select.h"
#include "base/ranks.h"
#include "cvt/checkpoint.h"
#include "cvt/division.h"
#include "cvt/pyramid.h"
#include "cvt/site_updates.h"
#include "lbfgsb/lbfgsb_ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_cvt_defaults(cvtm_cvt_options *options) {
  *options = (cvtm_cvt_options){.method = CVTM_CVT_LBFGSB,
                                .energy = CVTM_CVT_EXACT,
                                .voronoi = CVTM_VORONOI_EXACT,
                                .max_iterations = 300,
                                .tolerance = 2e-6,
                                .history = 8,
                                .lloyd_steps = 5,
                                .effort = CVTM_CVT_EFFORT_NORMAL,
                                .start = CVTM_CVT_START_AUTO,
                                .seed = 1};
}

static size_t bytes_of(int64_t count) { return 2 * (size_t)count * sizeof(double); }

cvtm_status cvtm_descent_evaluate(cvtm_descent *d, const double *x, double *f, double *g) {
  const double start = d->timed ? cvtm_clock() : 0;
  const cvtm_status status = d->objective->evaluate(d->objective->context, x, f, g);
  if (d->timed) d->seconds += cvtm_clock() - start;
  ++d->enqueued;
  return status;
}

void cvtm_descent_report(cvtm_descent *d, const cvtm_cvt_record *record) {
  const cvtm_cvt_options *o = d->options;
  if (d->stop == CVTM_STOP_REQUEST) return;
  if (record->gradient_norm <= o->gradient_tolerance) d->stop = CVTM_STOP_GRADIENT;
  if (!o->monitor) return;
  int64_t asked = o->monitor(o->monitor_context, record) != 0;
  if (cvtm_ranks_agree(d->task->cvt->device, &asked) != CVTM_OK || asked)
    d->stop = CVTM_STOP_REQUEST;
}

int cvtm_cvt_relay(void *options, const cvtm_cvt_record *record) {
  const cvtm_cvt_options *o = options;
  cvtm_cvt_record unknown = *record;
  unknown.sites = 0;
  return o->monitor(o->monitor_context, &unknown);
}

double cvtm_cvt_deadline(const cvtm_cvt_options *options, double start) {
  return options->max_seconds > 0 ? start + options->max_seconds : INFINITY;
}

/* --- L-BFGS-B ---------------------------------------------------------------------- */

static cvtm_status evaluate_for_lbfgsb(void *context, const double *x, double *f, double *g,
                                       void *stream) {
  (void)stream; /* the device's own */
  return cvtm_descent_evaluate(context, x, f, g);
}

static int watch_lbfgsb(void *context, const cvtm_lbfgsb_progress *progress) {
  cvtm_descent *d = context;
  if (progress->iteration == 0) return 0; /* the last state of Lloyd's method, recorded already */
  const cvtm_cvt_record record = {d->task->count, d->iterations + progress->iteration, progress->f,
                                  progress->measure, progress->step};
  cvtm_descent_report(d, &record);
  return d->stop != CVTM_STOP_NONE;
}

/* The bounds are those of the domain; a torus where all sites move has none. */
static cvtm_status set_bounds(const cvtm_cvt_task *task) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_own_sites own = cvtm_division_own(task);
  void *memory = NULL;
  if (cvt->domain.periodic && task->fixed == 0)
    return cvtm_lbfgsb_set_bounds(cvt->solver, NULL, NULL);
  cvtm_status status = cvtm_device_scratch(cvt->device, 2 * bytes_of(own.count), &memory);
  if (status != CVTM_OK) return status;
  double *lower = memory, *upper = lower + 2 * own.count;
  status =
      cvt->updates->bounds(cvt->device, cvt->domain, own.sites, own.count, own.fixed, lower, upper);
  return status == CVTM_OK ? cvtm_lbfgsb_set_bounds(cvt->solver, lower, upper) : status;
}

/* The solver has memory for any number of sites of the plan, or for the own ones of a rank. */
static cvtm_status create_solver(const cvtm_cvt_task *task, const cvtm_lbfgsb_options *options) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_own_sites own = cvtm_division_own(task);
  const cvtm_lbfgsb_share share = {2 * own.first, 2 * own.count, 2 * task->count};
  cvtm_lbfgsb_destroy(cvt->solver);
  cvt->solver = NULL;
  cvt->solver_count = 0;
  cvt->solver_history = options->history;
  return cvt->division ? cvtm_lbfgsb_create_divided(cvt->device, &share, options, &cvt->solver)
                       : cvtm_lbfgsb_create(cvt->device, 2 * cvt->capacity, options, &cvt->solver);
}

cvtm_status cvtm_cvt_set_scale(const cvtm_cvt_task *task, int keeps_masses) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_own_sites own = cvtm_division_own(task);
  const double n = (double)task->count, root = keeps_masses ? 0 : cvt->root / n;
  return cvt->updates->scale(cvt->device, cvtm_division_moments(cvt), own.count, cvt->mass / n,
                             root, own.scale);
}

/* Keeps the solver of the last descent, and its bounds too if the number of sites is the same and
 * none is fixed; a rank's solver is of one number of sites. The variables are scaled by the masses
 * that the cells will have; a checkpoint has the scale. */
static cvtm_status prepare_solver(const cvtm_descent *d, const cvtm_lbfgsb_options *options) {
  const cvtm_cvt_task *task = d->task;
  cvtm_cvt *cvt = task->cvt;
  const int keeps = cvt->solver && cvt->solver_history == options->history &&
                    (!cvt->division || cvt->solver_count == task->count);
  cvtm_status status =
      keeps ? cvtm_lbfgsb_set_options(cvt->solver, options) : create_solver(task, options);
  const int fits = cvt->solver_count == task->count;
  if (status == CVTM_OK && !fits && !cvt->division)
    status = cvtm_lbfgsb_set_size(cvt->solver, 2 * task->count);
  if (status == CVTM_OK && (!fits || task->fixed > 0 || cvt->solver_fixed > 0))
    status = set_bounds(task);
  cvt->solver_fixed = task->fixed;
  cvt->solver_count = status == CVTM_OK ? task->count : 0;
  if (status == CVTM_OK && !d->continued)
    status = cvtm_cvt_set_scale(task, d->objective->keeps_masses);
  return status == CVTM_OK ? cvtm_lbfgsb_set_scaling(cvt->solver, cvtm_division_own(task).scale)
                           : status;
}

/* The limits less what Lloyd's method has used of them, and less the time of the evaluation that
 * follows the descent. */
static cvtm_lbfgsb_options remaining_options(cvtm_descent *d) {
  const cvtm_cvt_options *o = d->options;
  const double evaluation = d->enqueued > 0 ? d->seconds / (double)d->enqueued : 0;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.history = o->history;
  options.max_iterations = o->max_iterations > 0 ? o->max_iterations - d->iterations : 0;
  options.max_seconds =
      d->deadline < INFINITY ? fmax(d->deadline - evaluation - cvtm_clock(), 1e-9) : 0;
  options.decrease_tolerance = o->tolerance;
  if (o->monitor || o->gradient_tolerance > 0) options.monitor = watch_lbfgsb;
  options.monitor_context = d;
  options.host_rounds = o->live || d->objective->synchronous;
  return options;
}

/* With checkpoints a run is divided into legs that end by a limit of iterations, which leaves the
 * iterates as they are, bit for bit. */
static cvtm_status run_in_legs(cvtm_descent *d, cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb_result *result) {
  cvtm_cvt *cvt = d->task->cvt;
  const int64_t most = options->max_iterations, sites = d->task->count;
  double *x = cvtm_division_own(d->task).sites;
  int64_t done = 0, leg = cvtm_checkpoint_leg(cvt, sites, 0, 0);
  cvtm_status status = d->continued ? cvtm_checkpoint_restore_solver(d, &done) : CVTM_OK;
  if (status == CVTM_OK) status = cvtm_ranks_agree(cvt->device, &leg);
  for (int resume = d->continued; status == CVTM_OK; resume = 1) {
    const double before = cvtm_clock();
    const int64_t limit = most > 0 && most < done + leg ? most : done + leg;
    *options = remaining_options(d);
    options->max_iterations = limit;
    status = cvtm_lbfgsb_set_options(cvt->solver, options);
    if (status == CVTM_OK)
      status = (resume ? cvtm_lbfgsb_resume : cvtm_lbfgsb_minimize)(cvt->solver, x,
                                                                    evaluate_for_lbfgsb, d, result);
    if (status != CVTM_OK || d->stop != CVTM_STOP_NONE) break;
    if (result->stop != CVTM_STOP_ITERATIONS || limit == most) break;
    leg = cvtm_checkpoint_leg(cvt, sites, result->iterations - done, cvtm_clock() - before);
    done = result->iterations;
    status = cvtm_ranks_agree(cvt->device, &leg);
    if (status == CVTM_OK) status = cvtm_checkpoint_visit(d, done);
  }
  return status;
}

static cvtm_status run_lbfgsb(cvtm_descent *d) {
  cvtm_cvt *cvt = d->task->cvt;
  cvtm_lbfgsb_options options = remaining_options(d);
  cvtm_lbfgsb_result result = {0};
  cvtm_status status = prepare_solver(d, &options);
  if (status != CVTM_OK) return status;
  cvt->solver_runs = 1;
  d->evaluated = 0;
  status = cvt->checkpoint ? run_in_legs(d, &options, &result)
                           : cvtm_lbfgsb_minimize(cvt->solver, cvtm_division_own(d->task).sites,
                                                  evaluate_for_lbfgsb, d, &result);
  cvt->solver_runs = 0;
  if (status != CVTM_OK) return status;
  if (d->stop == CVTM_STOP_NONE) d->stop = result.stop;
  d->iterations += result.iterations;
  d->evaluations += result.evaluations;
  return CVTM_OK;
}

const double *cvtm_cvt_current_sites(const cvtm_cvt *cvt) {
  const double *sites = cvt->solver_runs ? cvtm_lbfgsb_point(cvt->solver) : cvt->sites;
  return cvt->pyramid ? cvtm_pyramid_show(cvt->pyramid, sites) : sites;
}

cvtm_status cvtm_descent_run(cvtm_descent *d) {
  const int lbfgsb = d->options->method != CVTM_CVT_LLOYD;
  int in_lbfgsb = 0;
  cvtm_status status = CVTM_OK;
  d->continued = cvtm_checkpoint_continues(d->task->cvt);
  status = d->continued ? cvtm_division_reserve(d->task)
                        : cvtm_division_begin(d->task, d->task->cvt->sites);
  if (status == CVTM_OK && d->continued) status = cvtm_checkpoint_restore(d, &in_lbfgsb);
  if (status == CVTM_OK && in_lbfgsb) return run_lbfgsb(d);
  if (status == CVTM_OK) status = cvtm_descent_run_lloyd(d, lbfgsb ? d->options->lloyd_steps : -1);
  d->continued = 0; /* L-BFGS-B starts as ever */
  return status == CVTM_OK && lbfgsb && d->stop == CVTM_STOP_NONE ? run_lbfgsb(d) : status;
}

/* --- the descent of the plan's energy ------------------------------------------------ */

static cvtm_status evaluate_energy(void *task, const double *x, double *f, double *g) {
  return cvtm_division_evaluate(task, x, f, g);
}

static cvtm_status evaluate_final(cvtm_descent *d, double value[2]) {
  cvtm_cvt *cvt = d->task->cvt;
  ++d->evaluations;
  const cvtm_status status =
      cvtm_descent_evaluate(d, cvtm_division_own(d->task).sites, cvt->value, NULL);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(cvt->device, value, cvt->value, 2 * sizeof *value);
}

/* Evaluates the final sites, or the best of Lloyd's method if those were better: a diagram that is
 * not exact can mislead a descent. Where evaluations are not timed, each is taken to last as long
 * as this one; where they are, one that has been done already is not repeated. */
static cvtm_status finish_descent(cvtm_descent *d, double start, cvtm_cvt_result *result) {
  cvtm_cvt *cvt = d->task->cvt;
  const cvtm_own_sites own = cvtm_division_own(d->task);
  const double before = cvtm_clock();
  double value[2] = {d->last[0], d->last[1]}, seconds = 0;
  cvtm_status status = d->timed && d->evaluated ? CVTM_OK : evaluate_final(d, value);
  seconds = cvtm_clock() - before;
  if (status == CVTM_OK && !(value[0] <= d->best)) {
    status = cvtm_device_copy(cvt->device, own.sites, own.best, bytes_of(own.count));
    if (status == CVTM_OK) status = evaluate_final(d, value);
  }
  if (status == CVTM_OK) status = cvtm_division_end(d->task);
  if (status != CVTM_OK) return status;
  result->stop = d->stop;
  result->iterations = d->iterations;
  result->evaluations = d->evaluations;
  result->objective = value[0];
  result->gradient_norm = value[1];
  result->seconds = cvtm_clock() - start;
  result->seconds_evaluation =
      fmin(d->timed ? d->seconds : seconds * (double)d->evaluations, result->seconds);
  result->seconds_optimizer = result->seconds - result->seconds_evaluation;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_descend(const cvtm_cvt_task *task, const cvtm_cvt_options *options,
                             double deadline, cvtm_cvt_result *result) {
  const double start = cvtm_clock();
  cvtm_cvt_task evaluated = *task;
  const cvtm_cvt_objective energy = {
      .evaluate = evaluate_energy, .context = &evaluated, .undefined = "the energy is not finite"};
  cvtm_descent d = {.task = task,
                    .objective = &energy,
                    .options = options,
                    .deadline = deadline,
                    .stop = CVTM_STOP_NONE,
                    .best = INFINITY,
                    .timed = cvtm_device_get_kind(task->cvt->device) == CVTM_DEVICE_CPU ||
                             task->cvt->division != NULL};
  const cvtm_status status = cvtm_descent_run(&d);
  return status == CVTM_OK ? finish_descent(&d, start, result) : status;
}

enum { WORTH_THREADS = 1 << 17 /* sites */ };

cvtm_status cvtm_cvt_count_empty(cvtm_cvt *cvt, int64_t count, int64_t *empty) {
  cvtm_cell_moments *sums = NULL;
  const cvtm_status status = cvtm_cvt_read_cell_moments(cvt, count, &sums);
  if (status != CVTM_OK) return status;
  int64_t found = 0;
#pragma omp parallel for schedule(static) reduction(+ : found) if (count >= WORTH_THREADS)
  for (int64_t i = 0; i < count; ++i) found += !(sums[i].mass > 0);
  free(sums);
  *empty = found;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_check_options(cvtm_cvt *cvt, const cvtm_cvt_options *o, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (!(cvt->mass > 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the plan has no density of its own");
  if (o->method != CVTM_CVT_LLOYD && o->method != CVTM_CVT_LBFGSB)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown method %d", (int)o->method);
  if (o->history < 1 || o->history > CVTM_LBFGSB_MAX_HISTORY)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a history of %d; 1 to %d", o->history,
                     CVTM_LBFGSB_MAX_HISTORY);
  if (o->fixed < 0 || o->fixed > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld fixed sites of %lld", (long long)o->fixed,
                     (long long)count);
  if (o->lloyd_steps < 0 || o->max_iterations < 0 || !(o->tolerance >= 0) ||
      !(o->gradient_tolerance >= 0) || !(o->max_seconds >= 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a limit or tolerance is negative");
  return CVTM_OK;
}

cvtm_status cvtm_cvt_optimize(cvtm_cvt *cvt, const cvtm_cvt_options *options, double *sites,
                              int64_t count, cvtm_cvt_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_cvt, options)
  const cvtm_cvt_task task = {cvt, count, options->fixed, options->energy, options->voronoi};
  const double start = cvtm_clock();
  cvtm_cvt_result found = {0};
  cvtm_status status = cvtm_cvt_check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_cvt_check_options(cvt, options, count);
  if (status == CVTM_OK) status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, sites, count);
  if (status == CVTM_OK)
    status = cvtm_cvt_descend(&task, options, cvtm_cvt_deadline(options, start), &found);
  if (status == CVTM_OK && result) status = cvtm_cvt_count_empty(cvt, count, &found.empty_cells);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  found.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = found;
  return status;
}
