/* Descents: steps of Lloyd's method, which move every movable site to the centroid of its cell,
 * then L-BFGS-B. The sites are in device memory. */
#include "cvt/descent.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "base/ranks.h"
#include "base/select.h"
#include "cvt/levels.h"
#include "cvt/site_updates.h"
#include "lbfgsb/lbfgsb_ranks.h"
#include "lbfgsb/stopping.h"

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

/* Evaluates the objective; measures the time of timed evaluations. */
static cvtm_status evaluate_objective(cvtm_descent *d, const double *x, double *f, double *g) {
  const double start = d->timed ? cvtm_clock() : 0;
  const cvtm_status status = d->objective->evaluate(d->objective->context, x, f, g);
  if (d->timed) d->state.seconds += cvtm_clock() - start;
  ++d->state.enqueued;
  return status;
}

/* Passes a record to the monitor. Sets d->stop if the monitor asks. */
static void report(cvtm_descent *d, const cvtm_cvt_record *record) {
  const cvtm_cvt_options *o = d->options;
  if (d->stop == CVTM_STOP_REQUEST || !o->monitor) return;
  int64_t asked = o->monitor(o->monitor_context, record) != 0;
  if (cvtm_ranks_agree(d->task->cvt->device, &asked) != CVTM_OK || asked)
    d->stop = CVTM_STOP_REQUEST;
}

/* Lets the caller save the state, unless the descent has ended. */
static cvtm_status pause_descent(const cvtm_descent *d) {
  const cvtm_descent_pauses *p = d->pauses;
  return p && d->stop == CVTM_STOP_NONE ? p->pause(p->context, d) : CVTM_OK;
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

/* --- Lloyd's method --------------------------------------------------------------------------- */

static cvtm_status step_by_lloyd(cvtm_cvt *cvt, const cvtm_own_sites *own) {
  return cvt->table->lloyd(cvt, cvt->evaluator->moments(cvt), own->count, own->fixed, own->sites);
}

cvtm_status cvtm_cvt_enqueue_lloyd(const cvtm_cvt_task *task, int steps) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_evaluator *e = cvt->evaluator;
  CVTM_TRY(e->begin(task, 0));
  const cvtm_own_sites own = e->own(task);
  cvtm_status status = e->evaluate(task, own.sites, cvt->value, NULL);
  for (int k = 0; status == CVTM_OK && k < steps; ++k) {
    status = step_by_lloyd(cvt, &own);
    if (status == CVTM_OK) status = e->evaluate(task, own.sites, cvt->value, NULL);
  }
  return status == CVTM_OK ? e->end(task) : status;
}

static int is_late(const cvtm_descent *d) {
  int64_t late = cvtm_clock() >= d->deadline;
  if (!(d->deadline < INFINITY)) return 0;
  return cvtm_ranks_agree(d->task->cvt->device, &late) != CVTM_OK || late;
}

/* Decides whether Lloyd's method stops, by the rules of L-BFGS-B (lbfgsb/stopping.h). */
static void decide_stop(cvtm_descent *d, const double value[2]) {
  const cvtm_cvt_options *o = d->options;
  double *decrease = d->state.decrease;
  if (d->state.iterations > 0)
    decrease[d->state.iterations % CVTM_LBFGSB_WINDOW] =
        cvtm_relative_decrease(d->state.last[0], value[0]);
  if (d->stop != CVTM_STOP_NONE) return;
  if (cvtm_gradient_is_small(value[1], o->gradient_tolerance))
    d->stop = CVTM_STOP_GRADIENT;
  else if (cvtm_decrease_is_small(decrease, d->state.iterations, o->tolerance))
    d->stop = CVTM_STOP_DECREASE;
  else if (o->max_iterations > 0 && d->state.iterations >= o->max_iterations)
    d->stop = CVTM_STOP_ITERATIONS;
  else if (is_late(d))
    d->stop = CVTM_STOP_TIME;
}

static cvtm_status record_evaluation(cvtm_descent *d, const double value[2]) {
  if (!isfinite(value[0]))
    return cvtm_fail(cvtm_device_error(d->task->cvt->device), CVTM_ERROR_EVALUATION,
                     "%s after %lld iterations", d->objective->undefined,
                     (long long)d->state.iterations);
  const cvtm_cvt_record record = {d->task->count, d->state.iterations, value[0], value[1],
                                  d->state.iterations > 0 ? 1 : 0};
  d->state.best = fmin(d->state.best, value[0]);
  report(d, &record);
  decide_stop(d, value);
  memcpy(d->state.last, value, sizeof d->state.last);
  d->state.evaluated = 1;
  return CVTM_OK;
}

/* The number of steps before the energies are read. It is above 1 only if evaluations are
 * asynchronous and not timed, there is no deadline, and the monitor is not live. Then the descent
 * may stop some steps late, but not after max_iterations. */
static int64_t steps_before_reading(const cvtm_descent *d, int64_t steps) {
  const int64_t most = d->options->max_iterations;
  const int single =
      d->timed || d->objective->synchronous || d->deadline < INFINITY || d->options->live;
  int64_t window = single ? 1 : CVTM_CVT_WINDOW;
  if (steps >= 0 && window > steps - d->state.iterations) window = steps - d->state.iterations;
  if (most > 0 && window > most - d->state.iterations) window = most - d->state.iterations;
  return window;
}

/* Enqueues `steps` steps, each followed by an evaluation, or only the evaluation of the start if
 * `steps` is 0; then reads the values. Keeps the best sites. */
static cvtm_status do_steps(cvtm_descent *d, int64_t steps) {
  cvtm_cvt *cvt = d->task->cvt;
  const cvtm_own_sites own = cvt->evaluator->own(d->task);
  const int64_t evaluations = steps > 0 ? steps : 1;
  double values[2 * CVTM_CVT_WINDOW];
  cvtm_status status =
      cvtm_device_copy_in(cvt->device, cvt->least, &d->state.best, sizeof d->state.best);
  for (int64_t k = 0; status == CVTM_OK && k < evaluations; ++k) {
    double *value = cvt->value + 2 * k, *least = cvt->least + k;
    if (steps > 0) status = step_by_lloyd(cvt, &own);
    if (status == CVTM_OK) status = evaluate_objective(d, own.sites, value, NULL);
    if (status == CVTM_OK)
      status = cvt->updates->keep_best(cvt->device, own.sites, own.count, value, least, own.best);
  }
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, values, cvt->value,
                                  2 * (size_t)evaluations * sizeof *values);
  for (int64_t k = 0; status == CVTM_OK && k < evaluations; ++k) {
    d->state.iterations += steps > 0;
    ++d->state.evaluations;
    status = record_evaluation(d, values + 2 * k);
  }
  return status;
}

/* Evaluates the start. After a pause of Lloyd's method only the moments must be computed again. */
static cvtm_status evaluate_start(cvtm_descent *d) {
  const cvtm_cvt *cvt = d->task->cvt;
  if (d->state.stage == CVTM_DESCENT_START) return do_steps(d, 0);
  return evaluate_objective(d, cvt->evaluator->own(d->task).sites, cvt->value, NULL);
}

/* Does at most `steps` steps, each followed by an evaluation; a negative number means no limit. */
static cvtm_status run_lloyd(cvtm_descent *d, int64_t steps) {
  cvtm_status status = evaluate_start(d);
  d->state.stage = CVTM_DESCENT_LLOYD;
  while (status == CVTM_OK && d->stop == CVTM_STOP_NONE && d->state.iterations != steps) {
    status = do_steps(d, steps_before_reading(d, steps));
    if (status == CVTM_OK) status = pause_descent(d);
  }
  return status;
}

/* --- L-BFGS-B ---------------------------------------------------------------------- */

static cvtm_status evaluate_for_lbfgsb(void *context, const double *x, double *f, double *g,
                                       void *stream) {
  (void)stream; /* the stream of the device */
  return evaluate_objective(context, x, f, g);
}

static int watch_lbfgsb(void *context, const cvtm_lbfgsb_progress *progress) {
  cvtm_descent *d = context;
  if (progress->iteration == 0) return 0; /* Lloyd's method has recorded this state */
  const cvtm_cvt_record record = {d->task->count, d->state.iterations + progress->iteration,
                                  progress->f, progress->measure, progress->step};
  report(d, &record);
  return d->stop != CVTM_STOP_NONE;
}

/* Sets the bounds of the variables: the domain, or none on a torus; for fixed sites their
 * positions. On a torus without fixed sites the solver gets no bounds. */
static cvtm_status set_bounds(const cvtm_cvt_task *task) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_own_sites own = cvt->evaluator->own(task);
  void *memory = NULL;
  if (cvt->domain.periodic && task->fixed == 0)
    return cvtm_lbfgsb_set_bounds(cvt->solver, NULL, NULL);
  CVTM_TRY(cvtm_device_scratch(cvt->device, 2 * cvtm_site_bytes(own.count), &memory));
  double *lower = memory, *upper = lower + 2 * own.count;
  cvtm_status status =
      cvt->updates->bounds(cvt->device, cvt->domain, own.sites, own.count, own.fixed, lower, upper);
  return status == CVTM_OK ? cvtm_lbfgsb_set_bounds(cvt->solver, lower, upper) : status;
}

/* Enqueues the computation of the scale of the variables of this process's sites, from the masses
 * that the cells will have at the end or, if keeps_masses, have in the last evaluation. */
static cvtm_status set_scale(const cvtm_cvt_task *task, int keeps_masses) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_own_sites own = cvt->evaluator->own(task);
  const double n = (double)task->count, sqrt_integral = keeps_masses ? 0 : cvt->sqrt_integral / n;
  return cvt->updates->scale(cvt->device, cvt->evaluator->moments(cvt), own.count, cvt->mass / n,
                             sqrt_integral, own.scale);
}

/* Prepares the solver. The solver of the last descent is used again if possible. It keeps its
 * bounds if the number of sites is the same and neither descent has fixed sites. Scales the
 * variables; a restored descent already has the scale. */
static cvtm_status prepare_solver(const cvtm_descent *d, const cvtm_lbfgsb_options *options) {
  const cvtm_cvt_task *task = d->task;
  cvtm_cvt *cvt = task->cvt;
  const int keeps = cvt->solver && cvt->solver_history == options->history &&
                    (cvt->evaluator->solver_resizes || cvt->solver_count == task->count);
  if (!keeps) {
    cvtm_lbfgsb_destroy(cvt->solver);
    cvt->solver = NULL;
    cvt->solver_count = 0;
    cvt->solver_history = options->history;
  }
  cvtm_status status = keeps ? cvtm_lbfgsb_set_options(cvt->solver, options)
                             : cvt->evaluator->create_solver(task, options, &cvt->solver);
  const int fits = cvt->solver_count == task->count;
  if (status == CVTM_OK && !fits && cvt->evaluator->solver_resizes)
    status = cvtm_lbfgsb_set_size(cvt->solver, 2 * task->count);
  if (status == CVTM_OK && (!fits || task->fixed > 0 || cvt->solver_fixed > 0))
    status = set_bounds(task);
  cvt->solver_fixed = task->fixed;
  cvt->solver_count = status == CVTM_OK ? task->count : 0;
  if (status == CVTM_OK && d->state.stage != CVTM_DESCENT_LBFGSB)
    status = set_scale(task, d->objective->keeps_masses);
  return status == CVTM_OK ? cvtm_lbfgsb_set_scaling(cvt->solver, cvt->evaluator->own(task).scale)
                           : status;
}

/* The options of L-BFGS-B, whose limits are reduced by what Lloyd's method has used and by the time
 * of the evaluation after the descent. */
static cvtm_lbfgsb_options remaining_options(cvtm_descent *d) {
  const cvtm_cvt_options *o = d->options;
  const double evaluation =
      d->state.enqueued > 0 ? d->state.seconds / (double)d->state.enqueued : 0;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.history = o->history;
  options.max_iterations = o->max_iterations > 0 ? o->max_iterations - d->state.iterations : 0;
  options.max_seconds =
      d->deadline < INFINITY ? fmax(d->deadline - evaluation - cvtm_clock(), 1e-9) : 0;
  options.decrease_tolerance = o->tolerance;
  options.measure_tolerance = o->gradient_tolerance;
  if (o->monitor) options.monitor = watch_lbfgsb;
  options.monitor_context = d;
  options.host_rounds = o->live || d->objective->synchronous;
  return options;
}

size_t cvtm_descent_save_bytes(const cvtm_cvt_task *task, int in_solver) {
  const cvtm_cvt *cvt = task->cvt;
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  const int64_t solver_bytes = in_solver ? cvtm_lbfgsb_save_pieces(cvt->solver, pieces) : 0;
  return cvt->evaluator->array_bytes(task, in_solver) + (size_t)solver_bytes;
}

/* Restores the state that the solver had at the last pause. */
static cvtm_status restore_solver(const cvtm_descent *d) {
  const cvtm_evaluator *e = d->task->cvt->evaluator;
  if (d->saved_bytes != cvtm_descent_save_bytes(d->task, 1))
    return cvtm_fail(cvtm_device_error(d->task->cvt->device), CVTM_ERROR_INPUT,
                     "the checkpoint is damaged");
  return e->restore_solver(d->task->cvt, d->saved + e->array_bytes(d->task, 1));
}

/* *iterations = the number of iterations of the next leg, at most `most`. The first leg of a
 * descent uses the pace of the previous descent, because legs should not be short: on CUDA each leg
 * needs a graph of its own, which takes a few milliseconds to build. */
static cvtm_status plan_leg(const cvtm_descent *d, int64_t most, int64_t *iterations) {
  const cvtm_cvt *cvt = d->task->cvt;
  const cvtm_descent_pauses *p = d->pauses;
  const double leg = p->pace > 0 ? p->seconds / (p->pace * (double)d->task->count) : 1;
  *iterations = leg < 1 ? 1 : (int64_t)fmin(leg, (double)most);
  return cvtm_ranks_agree(cvt->device, iterations);
}

/* Runs L-BFGS-B in legs with pauses between. A leg is ended by a limit on the iterations, which
 * does not change the bits of the iterates. */
static cvtm_status run_legs(cvtm_descent *d, cvtm_lbfgsb_options *options,
                            cvtm_lbfgsb_result *result) {
  cvtm_cvt *cvt = d->task->cvt;
  double *x = cvt->evaluator->own(d->task).sites;
  const int64_t most = options->max_iterations;
  int resume = d->state.stage == CVTM_DESCENT_LBFGSB;
  int64_t leg = 0;
  cvtm_status status = resume ? restore_solver(d) : CVTM_OK;
  d->state.stage = CVTM_DESCENT_LBFGSB;
  if (status == CVTM_OK && d->pauses) status = plan_leg(d, 1000000, &leg);
  for (; status == CVTM_OK; resume = 1) {
    const double before = cvtm_clock();
    const int64_t done = d->state.solver_iterations, end = done + leg;
    const int last = !d->pauses || (most > 0 && most <= end);
    if (d->pauses) {
      *options = remaining_options(d);
      options->max_iterations = last ? most : end;
      status = cvtm_lbfgsb_set_options(cvt->solver, options);
    }
    if (status == CVTM_OK)
      status = (resume ? cvtm_lbfgsb_resume : cvtm_lbfgsb_minimize)(cvt->solver, x,
                                                                    evaluate_for_lbfgsb, d, result);
    if (status != CVTM_OK || last || d->stop != CVTM_STOP_NONE) break;
    if (result->stop != CVTM_STOP_ITERATIONS) break;
    const int64_t iterations = result->iterations - done;
    d->state.solver_iterations = result->iterations;
    d->pauses->pace = (cvtm_clock() - before) / ((double)iterations * (double)d->task->count);
    status = plan_leg(d, 8 * iterations, &leg);
    if (status == CVTM_OK) status = pause_descent(d);
  }
  return status;
}

static cvtm_status run_lbfgsb(cvtm_descent *d) {
  cvtm_cvt *cvt = d->task->cvt;
  cvtm_lbfgsb_options options = remaining_options(d);
  cvtm_lbfgsb_result result = {0};
  CVTM_TRY(prepare_solver(d, &options));
  cvt->solver_runs = 1;
  d->state.evaluated = 0;
  cvtm_status status = run_legs(d, &options, &result);
  cvt->solver_runs = 0;
  if (status != CVTM_OK) return status;
  if (d->stop == CVTM_STOP_NONE) d->stop = result.stop;
  d->state.iterations += result.iterations;
  d->state.evaluations += result.evaluations;
  return CVTM_OK;
}

const double *cvtm_cvt_current_sites(const cvtm_cvt *cvt) {
  const double *sites = cvt->solver_runs ? cvtm_lbfgsb_point(cvt->solver) : cvt->sites;
  return cvt->pyramid ? cvtm_pyramid_show(cvt->pyramid, sites) : sites;
}

cvtm_status cvtm_descent_run(cvtm_descent *d) {
  const int64_t stage = d->state.stage;
  const cvtm_evaluator *e = d->task->cvt->evaluator;
  const int lbfgsb = d->options->method != CVTM_CVT_LLOYD;
  cvtm_status status = e->begin(d->task, stage != CVTM_DESCENT_START);
  if (stage == CVTM_DESCENT_START) d->state.best = INFINITY;
  if (status == CVTM_OK && stage != CVTM_DESCENT_START)
    status = e->restore(d->task, stage == CVTM_DESCENT_LBFGSB, d->saved);
  if (status == CVTM_OK && stage == CVTM_DESCENT_LBFGSB) return run_lbfgsb(d);
  if (status == CVTM_OK) status = run_lloyd(d, lbfgsb ? d->options->lloyd_steps : -1);
  return status == CVTM_OK && lbfgsb && d->stop == CVTM_STOP_NONE ? run_lbfgsb(d) : status;
}

/* --- the descent of the plan's energy --------------------------------------------------------- */

static cvtm_status evaluate_energy(void *context, const double *x, double *f, double *g) {
  const cvtm_cvt_task *task = context;
  return task->cvt->evaluator->evaluate(task, x, f, g);
}

static cvtm_status evaluate_final(cvtm_descent *d, double value[2]) {
  cvtm_cvt *cvt = d->task->cvt;
  ++d->state.evaluations;
  CVTM_TRY(evaluate_objective(d, cvt->evaluator->own(d->task).sites, cvt->value, NULL));
  return cvtm_device_copy_out(cvt->device, value, cvt->value, 2 * sizeof *value);
}

/* Evaluates the final sites. If earlier sites of Lloyd's method were better, takes and evaluates
 * those: a diagram that is not exact can mislead a descent. With timed evaluations, final sites
 * that have been evaluated are not evaluated again. Without, the time of the final evaluation is
 * the estimate for each evaluation. */
static cvtm_status finish_descent(cvtm_descent *d, double start, cvtm_cvt_result *result) {
  cvtm_cvt *cvt = d->task->cvt;
  const cvtm_own_sites own = cvt->evaluator->own(d->task);
  const double before = cvtm_clock();
  double value[2] = {d->state.last[0], d->state.last[1]}, seconds = 0;
  cvtm_status status = d->timed && d->state.evaluated ? CVTM_OK : evaluate_final(d, value);
  seconds = cvtm_clock() - before;
  if (status == CVTM_OK && !(value[0] <= d->state.best)) {
    status = cvtm_device_copy(cvt->device, own.sites, own.best, cvtm_site_bytes(own.count));
    if (status == CVTM_OK) status = evaluate_final(d, value);
  }
  if (status == CVTM_OK) status = cvt->evaluator->end(d->task);
  if (status != CVTM_OK) return status;
  result->stop = d->stop;
  result->iterations = d->state.iterations;
  result->evaluations = d->state.evaluations;
  result->objective = value[0];
  result->gradient_norm = value[1];
  result->seconds = cvtm_clock() - start;
  result->seconds_evaluation =
      fmin(d->timed ? d->state.seconds : seconds * (double)d->state.evaluations, result->seconds);
  result->seconds_optimizer = result->seconds - result->seconds_evaluation;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_descend(cvtm_descent *d, cvtm_cvt_result *result) {
  const double start = cvtm_clock();
  const cvtm_cvt *cvt = d->task->cvt;
  cvtm_cvt_task task = *d->task;
  const cvtm_cvt_objective energy = {
      .evaluate = evaluate_energy, .context = &task, .undefined = "the energy is not finite"};
  d->objective = &energy;
  d->timed = cvtm_device_get_kind(cvt->device) == CVTM_DEVICE_CPU || cvt->evaluator->waits;
  CVTM_TRY(cvtm_descent_run(d));
  return finish_descent(d, start, result);
}

cvtm_status cvtm_cvt_count_empty(cvtm_cvt *cvt, int64_t count, int64_t *empty) {
  double total = 0;
  CVTM_TRY(cvt->updates->mark_empty(cvt->device, cvt->moments, count, cvt->distance));
  CVTM_TRY(cvtm_reduce(cvt->device, CVTM_REDUCE_SUM, cvt->distance, count, cvt->least));
  CVTM_TRY(cvtm_device_copy_out(cvt->device, &total, cvt->least, sizeof total));
  *empty = (int64_t)total;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_check_options(cvtm_cvt *cvt, const cvtm_cvt_options *o, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (!(cvt->mass > 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the plan has no density of its own");
  if (o->method != CVTM_CVT_LLOYD && o->method != CVTM_CVT_LBFGSB)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown method %d", (int)o->method);
  if (o->history < 1 || o->history > CVTM_LBFGSB_MAX_HISTORY)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "history is %d, not 1 to %d", o->history,
                     CVTM_LBFGSB_MAX_HISTORY);
  if (o->fixed < 0 || o->fixed > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld of %lld sites cannot be fixed",
                     (long long)o->fixed, (long long)count);
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
  cvtm_descent descent = {
      .task = &task, .options = options, .deadline = cvtm_cvt_deadline(options, start)};
  cvtm_cvt_result found = {0};
  cvtm_status status = cvtm_cvt_check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_cvt_check_options(cvt, options, count);
  if (status == CVTM_OK) status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_cvt_descend(&descent, &found);
  if (status == CVTM_OK && result) status = cvtm_cvt_count_empty(cvt, count, &found.empty_cells);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  found.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = found;
  return status;
}
