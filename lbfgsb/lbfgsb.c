/* The public calls that minimise: a run from its start, a resumed run, reverse communication, and
 * data on the host. A run is a loop of rounds (lbfgsb_run.c); a round is an evaluation followed by
 * the phases of iteration.h. */
#include "base/clock.h"
#include "lbfgsb/lbfgsb_private.h"

#include <stdlib.h>
#include <string.h>

/* --- a run's beginning and end --------------------------------------------------------------- */

/* Prepares a new run from x. */
static cvtm_status prepare_run(cvtm_lbfgsb *solver, const double *x) {
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  cvtm_device *device = solver->device;
  cvtm_lbfgsb_forget_run(solver);
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_apply_options(solver, solver->states + p);
    solver->states[p].running = 1;
  }
  cvtm_status status = cvtm_device_activate(device);
  if (status == CVTM_OK) status = cvtm_lbfgsb_write_states(solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_clear_signals(solver);
  if (status == CVTM_OK)
    status = cvtm_device_fill(device, arrays->w, 0, cvtm_lbfgsb_w_bytes(solver));
  if (status == CVTM_OK) {
    status =
        cvtm_device_fill(device, arrays->model, 0, (size_t)solver->problems * solver->model_bytes);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->values, 0, cvtm_lbfgsb_values_bytes(solver));
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy(device, arrays->x, x, (size_t)solver->total * sizeof *x);
  }
  if (status == CVTM_OK) status = solver->table->start(device, arrays, solver->options.history);
  if (status == CVTM_OK) status = cvtm_lbfgsb_read_states(solver);
  return status;
}

/* Prepares a stopped run to continue. Problems that have evaluated a point get a new direction. */
static cvtm_status prepare_resume(cvtm_lbfgsb *solver) {
  int stopped = 0;
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_state *state = solver->states + p;
    cvtm_lbfgsb_apply_options(solver, state);
    if (state->running) continue;
    ++stopped;
    state->running = 1;
    state->stop = (int)CVTM_STOP_NONE;
    if (state->phase != (int)CVTM_PHASE_START) state->phase = (int)CVTM_PHASE_RESUME;
  }
  cvtm_status status = cvtm_lbfgsb_write_states(solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_clear_signals(solver);
  if (status == CVTM_OK && stopped > 0) status = cvtm_lbfgsb_enqueue_round(solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_read_states(solver);
  return status;
}

static void fill_results(const cvtm_lbfgsb_run *current, cvtm_lbfgsb_result *results) {
  const cvtm_lbfgsb *solver = current->solver;
  for (int64_t p = 0; p < solver->problems; ++p) {
    const cvtm_lbfgsb_state *seen = solver->states + p;
    cvtm_lbfgsb_result *result = results + p;
    memset(result, 0, sizeof *result);
    result->stop = (cvtm_stop)seen->stop;
    result->iterations = seen->iteration;
    result->evaluations = seen->evaluations;
    result->f = seen->f;
    result->projected_gradient = seen->projected_gradient;
    result->active = seen->active;
    result->start_projected = seen->start_projected;
    result->restarts = seen->restarts;
    result->seconds = cvtm_clock() - current->start_time;
    result->evaluation_seconds = current->evaluation_seconds;
    result->captured = current->captured;
  }
}

/* Ends a call: x = the best point, also if an evaluation failed; the results; the status for the
 * caller, from the status of the loop. */
static cvtm_status finish_call(cvtm_lbfgsb_run *current, cvtm_status status, double *x,
                               cvtm_lbfgsb_result *results) {
  cvtm_lbfgsb *solver = current->solver;
  const cvtm_status copied =
      cvtm_device_copy(solver->device, x, solver->arrays.x, (size_t)solver->total * sizeof *x);
  if (status == CVTM_OK) status = copied;
  if (status == CVTM_OK) status = cvtm_device_synchronize(solver->device);
  if (status != CVTM_OK) return status;
  if (results) fill_results(current, results);
  if (current->objective && solver->options.time_evaluations && !cvtm_lbfgsb_on_cpu(solver)) {
    status = cvtm_lbfgsb_time_evaluations(current);
    if (status != CVTM_OK) return status;
    for (int64_t p = 0; results && p < solver->problems; ++p) {
      results[p].evaluation_seconds = current->evaluation_seconds;
    }
  }
  for (int64_t p = 0; p < solver->problems; ++p) {
    const cvtm_lbfgsb_state *seen = solver->states + p;
    if (seen->stop != (int)CVTM_STOP_NOT_FINITE || seen->phase != (int)CVTM_PHASE_START) continue;
    if (solver->problems > 1) {
      return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_EVALUATION,
                       "problem %lld: the objective or its gradient is not finite at the start",
                       (long long)p);
    }
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_EVALUATION,
                     "the objective or its gradient is not finite at the start");
  }
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_minimize(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                                 void *context, cvtm_lbfgsb_result *result) {
  cvtm_lbfgsb_run current = {.solver = solver, .objective = objective, .context = context};
  current.start_time = cvtm_clock();
  const cvtm_status status = prepare_run(solver, x);
  if (status != CVTM_OK) return status;
  return finish_call(&current, cvtm_lbfgsb_iterate(&current), x, result);
}

cvtm_status cvtm_lbfgsb_resume(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                               void *context, cvtm_lbfgsb_result *result) {
  cvtm_lbfgsb_run current = {.solver = solver, .objective = objective, .context = context};
  current.start_time = cvtm_clock();
  if (solver->states->history == 0) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "there is no run to resume");
  }
  const cvtm_status status = prepare_resume(solver);
  if (status != CVTM_OK) return status;
  return finish_call(&current, cvtm_lbfgsb_iterate(&current), x, result);
}

/* --- reverse communication ------------------------------------------------------------------ */

void cvtm_lbfgsb_start_reverse_run(cvtm_lbfgsb *solver, cvtm_lbfgsb_evaluation *at) {
  const cvtm_lbfgsb_run fresh = {.solver = solver, .start_time = cvtm_clock()};
  solver->reverse_run = fresh;
  if (!at) return;
  at->x = solver->arrays.trial_x;
  at->f = solver->arrays.values;
  at->g = solver->arrays.trial_g;
}

cvtm_status cvtm_lbfgsb_start(cvtm_lbfgsb *solver, const double *x, cvtm_lbfgsb_evaluation *at) {
  cvtm_lbfgsb_start_reverse_run(solver, at);
  return prepare_run(solver, x);
}

static cvtm_status check_reverse_run(const cvtm_lbfgsb *solver) {
  if (solver->reverse_run.solver && solver->states->history > 0) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "there is no run: start or restore one first");
}

cvtm_status cvtm_lbfgsb_advance(cvtm_lbfgsb *solver, int *running) {
  cvtm_status status = check_reverse_run(solver);
  if (status == CVTM_OK) status = cvtm_device_activate(solver->device);
  if (status == CVTM_OK) status = cvtm_lbfgsb_enqueue_round(solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_read_states(solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_deliver(&solver->reverse_run);
  if (status == CVTM_OK) *running = cvtm_lbfgsb_count_running(solver) > 0;
  return status;
}

cvtm_status cvtm_lbfgsb_finish(cvtm_lbfgsb *solver, double *x, cvtm_lbfgsb_result *result) {
  cvtm_status status = check_reverse_run(solver);
  if (status != CVTM_OK) return status;
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_state *state = solver->states + p;
    if (!state->running) continue;
    state->running = 0;
    state->stop = (int)CVTM_STOP_REQUEST;
  }
  status = cvtm_lbfgsb_write_states(solver);
  return finish_call(&solver->reverse_run, status, x, result);
}

/* --- data on the host ------------------------------------------------------------------------- */

/* A run for data on the host: a solver in reverse communication. */
typedef struct host_run {
  cvtm_device *device;
  cvtm_lbfgsb *solver;
  double *on_device;   /* [2n] in device memory: x, or the bounds */
  double *at_x, *at_g; /* [n] on the host: x and g of an evaluation */
} host_run;

static cvtm_status evaluate_on_host(const host_run *host, const cvtm_lbfgsb_evaluation *at,
                                    cvtm_host_objective objective, void *context) {
  const size_t bytes = (size_t)host->solver->n * sizeof(double);
  double *x = host->at_x, *g = host->at_g;
  cvtm_status status = cvtm_device_copy_out(host->device, x, at->x, bytes);
  if (status != CVTM_OK) return status;
  const double before = cvtm_clock();
  const double f = objective(context, x, g);
  host->solver->reverse_run.evaluation_seconds += cvtm_clock() - before;
  status = cvtm_device_copy_in(host->device, at->f, &f, sizeof f);
  return status == CVTM_OK ? cvtm_device_copy_in(host->device, at->g, g, bytes) : status;
}

static cvtm_status set_host_bounds(const host_run *host, const double *lower, const double *upper) {
  const int64_t n = host->solver->n;
  const size_t bytes = (size_t)n * sizeof(double);
  cvtm_status status = CVTM_OK;
  if (lower) status = cvtm_device_copy_in(host->device, host->on_device, lower, bytes);
  if (status == CVTM_OK && upper) {
    status = cvtm_device_copy_in(host->device, host->on_device + n, upper, bytes);
  }
  if (status != CVTM_OK) return status;
  return cvtm_lbfgsb_set_bounds(host->solver, lower ? host->on_device : NULL,
                                upper ? host->on_device + n : NULL);
}

static cvtm_status solve_on_host(const host_run *host, double *x, cvtm_host_objective objective,
                                 void *context, cvtm_lbfgsb_result *result) {
  const size_t bytes = (size_t)host->solver->n * sizeof(double);
  cvtm_lbfgsb_evaluation at = {NULL, NULL, NULL};
  int running = 1;
  cvtm_status status = cvtm_device_copy_in(host->device, host->on_device, x, bytes);
  if (status == CVTM_OK) status = cvtm_lbfgsb_start(host->solver, host->on_device, &at);
  while (status == CVTM_OK && running) {
    status = evaluate_on_host(host, &at, objective, context);
    if (status == CVTM_OK) status = cvtm_lbfgsb_advance(host->solver, &running);
  }
  if (status == CVTM_OK) status = cvtm_lbfgsb_finish(host->solver, host->on_device, result);
  const cvtm_status copied = cvtm_device_copy_out(host->device, x, host->on_device, bytes);
  return status == CVTM_OK ? copied : status;
}

cvtm_status cvtm_lbfgsb_minimize_host(cvtm_device *device, int64_t n, const double *lower,
                                      const double *upper, double *x, cvtm_host_objective objective,
                                      void *context, const cvtm_lbfgsb_options *options,
                                      cvtm_lbfgsb_result *result) {
  host_run host = {.device = device};
  cvtm_status status = cvtm_lbfgsb_create(device, n, options, &host.solver);
  if (status != CVTM_OK) return status;
  void *memory = NULL;
  host.at_x = malloc((size_t)(n > 0 ? n : 1) * sizeof *host.at_x);
  host.at_g = malloc((size_t)(n > 0 ? n : 1) * sizeof *host.at_g);
  if (host.at_x && host.at_g) {
    status = cvtm_device_allocate(device, 2 * n, sizeof(double), &memory);
  } else {
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  }
  host.on_device = memory;
  if (status == CVTM_OK) status = set_host_bounds(&host, lower, upper);
  if (status == CVTM_OK) status = solve_on_host(&host, x, objective, context, result);
  cvtm_device_free(device, memory);
  free(host.at_x);
  free(host.at_g);
  cvtm_lbfgsb_destroy(host.solver);
  return status;
}
