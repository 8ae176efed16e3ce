/* Lloyd's method: every movable site goes to the centroid of its cell. */
#include "base/clock.h"
#include "cvt/descent.h"
#include "cvt/site_updates.h"

#include <math.h>
#include <string.h>

static cvtm_status step_by_lloyd(cvtm_cvt *cvt, const cvtm_own_sites *own) {
  return cvt->table->lloyd(cvt, cvt->evaluator->moments(cvt), own->count, own->fixed, own->sites);
}

cvtm_status cvtm_cvt_enqueue_lloyd(const cvtm_cvt_task *task, int steps) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_evaluator *e = cvt->evaluator;
  cvtm_status status = e->begin(task, 0);
  if (status != CVTM_OK) return status;
  const cvtm_own_sites own = e->own(task);
  status = e->evaluate(task, own.sites, cvt->value, NULL);
  for (int k = 0; status == CVTM_OK && k < steps; ++k) {
    status = step_by_lloyd(cvt, &own);
    if (status == CVTM_OK) status = e->evaluate(task, own.sites, cvt->value, NULL);
  }
  return status == CVTM_OK ? e->end(task) : status;
}

static double mean_decrease(const cvtm_descent *d) {
  double sum = 0;
  for (int k = 0; k < CVTM_CVT_WINDOW; ++k) sum += d->state.decrease[k];
  return sum / CVTM_CVT_WINDOW;
}

static int is_late(const cvtm_descent *d) {
  int64_t late = cvtm_clock() >= d->deadline;
  if (!(d->deadline < INFINITY)) return 0;
  return d->task->cvt->evaluator->agree(d->task->cvt, &late) != CVTM_OK || late;
}

static void decide_stop(cvtm_descent *d, double energy) {
  const cvtm_cvt_options *o = d->options;
  if (d->state.iterations > 0) {
    const double before = d->state.last[0], larger = fmax(fabs(before), fabs(energy));
    d->state.decrease[d->state.iterations % CVTM_CVT_WINDOW] =
        larger > 0 ? (before - energy) / larger : 0;
  }
  if (d->stop != CVTM_STOP_NONE) return;
  if (o->tolerance > 0 && d->state.iterations >= CVTM_CVT_WINDOW &&
      mean_decrease(d) <= o->tolerance)
    d->stop = CVTM_STOP_DECREASE;
  else if (o->max_iterations > 0 && d->state.iterations >= o->max_iterations)
    d->stop = CVTM_STOP_ITERATIONS;
  else if (is_late(d))
    d->stop = CVTM_STOP_TIME;
}

static cvtm_status record_evaluation(cvtm_descent *d, const double value[2]) {
  if (!isfinite(value[0])) {
    return cvtm_fail(cvtm_device_error(d->task->cvt->device), CVTM_ERROR_EVALUATION,
                     "%s after %lld iterations", d->objective->undefined,
                     (long long)d->state.iterations);
  }
  const cvtm_cvt_record record = {d->task->count, d->state.iterations, value[0], value[1],
                                  d->state.iterations > 0 ? 1 : 0};
  d->state.best = fmin(d->state.best, value[0]);
  cvtm_descent_report(d, &record);
  decide_stop(d, value[0]);
  memcpy(d->state.last, value, sizeof d->state.last);
  d->state.evaluated = 1;
  return CVTM_OK;
}

/* The number of steps before the energies are read: a window of them where evaluations are
 * asynchronous, unless time is limited. Stops other than the limit of iterations may thus come some
 * steps late. */
static int64_t steps_before_reading(const cvtm_descent *d, int64_t steps) {
  const int64_t most = d->options->max_iterations;
  const int single =
      d->timed || d->objective->synchronous || d->deadline < INFINITY || d->options->live;
  int64_t window = single ? 1 : CVTM_CVT_WINDOW;
  if (steps >= 0 && window > steps - d->state.iterations) window = steps - d->state.iterations;
  if (most > 0 && window > most - d->state.iterations) window = most - d->state.iterations;
  return window;
}

/* Enqueues `steps` steps, each followed by an evaluation, or for `steps` = 0 only the evaluation of
 * the start; then reads their values. Keeps the best sites. */
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
    if (status == CVTM_OK) status = cvtm_descent_evaluate(d, own.sites, value, NULL);
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

/* After a pause of Lloyd's method only the moments are missing. */
static cvtm_status evaluate_start(cvtm_descent *d) {
  const cvtm_cvt *cvt = d->task->cvt;
  if (d->state.stage == CVTM_DESCENT_START) return do_steps(d, 0);
  return cvtm_descent_evaluate(d, cvt->evaluator->own(d->task).sites, cvt->value, NULL);
}

cvtm_status cvtm_descent_run_lloyd(cvtm_descent *d, int64_t steps) {
  cvtm_status status = evaluate_start(d);
  d->state.stage = CVTM_DESCENT_LLOYD;
  while (status == CVTM_OK && d->stop == CVTM_STOP_NONE && d->state.iterations != steps) {
    status = do_steps(d, steps_before_reading(d, steps));
    if (status == CVTM_OK) status = cvtm_descent_pause(d);
  }
  return status;
}
