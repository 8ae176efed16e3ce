/* The public calls that minimise: a run from its start, a resumed run, reverse communication, and
 * data on the host. A run is a loop of rounds, driven by the host or by a CUDA graph; a round is an
 * evaluation followed by the phases of iteration.h. */
#include "base/clock.h"
#include "base/ranks.h"
#include "lbfgsb/lbfgsb_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  MAX_ROUNDS = 16, /* largest number of rounds between two polls of a CUDA device; well below the
                      capacity of the mailbox */
  TIMED_EVALUATIONS = 100
};

/* --- the states, between host and device ------------------------------------------------- */

void cvtm_lbfgsb_apply_options(const cvtm_lbfgsb *solver, cvtm_lbfgsb_state *state) {
  const cvtm_lbfgsb_options *options = &solver->options;
  state->max_iterations = options->max_iterations;
  state->max_evaluations = options->max_evaluations;
  state->gradient_tolerance = options->gradient_tolerance;
  state->decrease_tolerance = options->decrease_tolerance;
  state->measure_tolerance = options->measure_tolerance;
  state->search_options.decrease = options->search_decrease;
  state->search_options.curvature = options->search_curvature;
  state->search_options.width = options->search_width;
  state->search_options.evaluations = options->search_evaluations;
  state->history = options->history;
  state->exact = options->cauchy == CVTM_LBFGSB_CAUCHY_EXACT;
  state->monitored = options->monitor != NULL && solver->problems == 1;
  state->recorded = 0;
}

cvtm_status cvtm_lbfgsb_write_states(cvtm_lbfgsb *solver) {
  return cvtm_device_copy_in(solver->device, solver->arrays.state, solver->states,
                             (size_t)solver->problems * sizeof *solver->states);
}

cvtm_status cvtm_lbfgsb_read_states(cvtm_lbfgsb *solver) {
  return cvtm_device_copy_out(solver->device, solver->states, solver->arrays.state,
                              (size_t)solver->problems * sizeof *solver->states);
}

int64_t cvtm_lbfgsb_count_running(const cvtm_lbfgsb *solver) {
  int64_t count = 0;
  for (int64_t p = 0; p < solver->problems; ++p) count += solver->states[p].running != 0;
  return count;
}

/* True if the states, which take much memory in a batch, stay on the device until the run ends. */
static int keeps_states(const cvtm_lbfgsb *solver) {
  return solver->problems > 1 && !cvtm_lbfgsb_host_decides(solver);
}

/* Finds the number of running problems. */
static cvtm_status read_running(cvtm_lbfgsb *solver, int *running) {
  if (keeps_states(solver))
    return cvtm_device_copy_out(solver->device, running, solver->arrays.flag, sizeof *running);
  CVTM_TRY(cvtm_lbfgsb_read_states(solver));
  *running = (int)cvtm_lbfgsb_count_running(solver);
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_clear_signals(cvtm_lbfgsb *solver, int64_t running) {
  const cvtm_lbfgsb_requests requests = {0, (int)CVTM_STOP_NONE};
  const int flag = (int)running;
  if (solver->mailbox) solver->mailbox->recorded = 0;
  CVTM_TRY(
      cvtm_device_copy_in(solver->device, solver->arrays.requests, &requests, sizeof requests));
  return cvtm_device_copy_in(solver->device, solver->arrays.flag, &flag, sizeof flag);
}

/* --- a round ------------------------------------------------------------------------------- */

static cvtm_status enqueue_evaluation(cvtm_lbfgsb_run *current) {
  const cvtm_lbfgsb_arrays *arrays = &current->solver->arrays;
  const int timed = cvtm_lbfgsb_on_cpu(current->solver);
  const double before = timed ? cvtm_clock() : 0.0;
  const cvtm_status status =
      current->objective(current->context, arrays->trial_x, arrays->values, arrays->trial_g,
                         cvtm_device_stream(current->solver->device));
  if (timed) current->evaluation_seconds += cvtm_clock() - before;
  return status;
}

static cvtm_status enqueue_round(const cvtm_lbfgsb *solver) {
  return solver->table->round(solver->device, &solver->arrays, solver->options.history);
}

/* Enqueues a round: an evaluation and the phases of iteration.h. */
static cvtm_status enqueue_whole_round(void *context) {
  cvtm_lbfgsb_run *current = context;
  CVTM_TRY(enqueue_evaluation(current));
  return enqueue_round(current->solver);
}

/* --- records and requests ------------------------------------------------------------------ */

static cvtm_status request_stop(cvtm_lbfgsb_run *current, cvtm_stop stop) {
  const int code = (int)stop;
  if (current->requested) return CVTM_OK;
  current->requested = 1;
  return cvtm_device_post(current->solver->device, &current->solver->arrays.requests->stop, &code,
                          sizeof code);
}

static cvtm_status deliver_records(cvtm_lbfgsb_run *current) {
  cvtm_lbfgsb *solver = current->solver;
  const cvtm_lbfgsb_options *options = &solver->options;
  const int64_t recorded =
      solver->mailbox ? __atomic_load_n(&solver->mailbox->recorded, __ATOMIC_ACQUIRE) : 0;
  const int limited = options->max_seconds > 0.0;
  int64_t stop = CVTM_STOP_NONE;
  cvtm_status status = CVTM_OK;
  for (; current->reported < recorded; ++current->reported) {
    const cvtm_lbfgsb_progress record = solver->mailbox->ring[current->reported % CVTM_LBFGSB_RING];
    if (options->monitor(options->monitor_context, &record)) stop = CVTM_STOP_REQUEST;
  }
  if (current->reported - current->records_read >= CVTM_LBFGSB_RING / 4) {
    current->records_read = current->reported;
    status = cvtm_device_post(solver->device, &solver->arrays.requests->records_read,
                              &current->records_read, sizeof current->records_read);
  }
  if (stop == CVTM_STOP_NONE && limited &&
      cvtm_clock() - current->start_time >= options->max_seconds)
    stop = CVTM_STOP_TIME;
  if (status == CVTM_OK && (limited || (solver->arrays.divided && options->monitor)))
    status = cvtm_ranks_agree(solver->device, &stop);
  if (status != CVTM_OK || stop == CVTM_STOP_NONE) return status;
  return request_stop(current, (cvtm_stop)stop);
}

/* --- the loop ------------------------------------------------------------------------------ */

/* The number of rounds to enqueue before the next poll: about 20 ms of rounds, estimated from the
 * `seconds` of the last `rounds`. Rounds enqueued after the end of a run are wasted. */
static int next_rounds(const cvtm_lbfgsb_options *options, int rounds, double seconds) {
  const int limit = options->host_rounds;
  const int most = limit > 0 && limit < MAX_ROUNDS ? limit : MAX_ROUNDS;
  const double each = seconds / rounds;
  int next = 2 * rounds;
  while (next > 1 && next * each > 0.02) next /= 2;
  return next < most ? next : most;
}

/* Runs the loop if the host enqueues each round. Ranks enqueue one round at a time, since their
 * clocks differ. */
static cvtm_status loop_by_host(cvtm_lbfgsb_run *current) {
  cvtm_lbfgsb *solver = current->solver;
  int rounds = 1, running = 1;
  while (running > 0) {
    const double before = cvtm_clock();
    for (int round = 0; round < rounds; ++round) CVTM_TRY(enqueue_whole_round(current));
    CVTM_TRY(read_running(solver, &running));
    CVTM_TRY(deliver_records(current));
    if (!cvtm_lbfgsb_on_cpu(solver) && !cvtm_lbfgsb_host_decides(solver) &&
        !cvtm_device_ranks(solver->device))
      rounds = next_rounds(&solver->options, rounds, cvtm_clock() - before);
  }
  return cvtm_lbfgsb_read_states(solver);
}

static void pause_before_poll(void) {
  const struct timespec pause = {0, 50000};
  (void)nanosleep(&pause, NULL);
}

/* Runs the loop as a CUDA graph. The graph ends with the run, or when the mailbox is full. */
static cvtm_status loop_by_graph(cvtm_lbfgsb_run *current, cvtm_loop *loop) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_status status = CVTM_OK;
  for (;;) {
    int idle = 0;
    status = cvtm_loop_run(loop);
    while (status == CVTM_OK && !idle) {
      status = cvtm_device_query(solver->device, &idle);
      if (status == CVTM_OK) status = deliver_records(current);
      if (status == CVTM_OK && !idle) pause_before_poll();
    }
    if (status != CVTM_OK) break;
    status = cvtm_lbfgsb_read_states(solver);
    const int running = (int)cvtm_lbfgsb_count_running(solver);
    if (status != CVTM_OK || running == 0) break;
    current->records_read = current->reported;
    status = cvtm_device_copy_in(solver->device, &solver->arrays.requests->records_read,
                                 &current->records_read, sizeof current->records_read);
    if (status != CVTM_OK) break;
    status = cvtm_device_copy_in(solver->device, solver->arrays.flag, &running, sizeof running);
    if (status != CVTM_OK) break;
  }
  if (status != CVTM_OK) (void)cvtm_device_synchronize(solver->device);
  return status;
}

static cvtm_status iterate(cvtm_lbfgsb_run *current) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_loop *loop = NULL;
  if (cvtm_lbfgsb_on_cpu(solver) || solver->options.host_rounds || cvtm_lbfgsb_host_decides(solver))
    return loop_by_host(current);
  cvtm_status status = cvtm_loop_try(solver->device, enqueue_whole_round, current);
  if (status == CVTM_ERROR_UNSUPPORTED) return loop_by_host(current);
  if (status == CVTM_OK)
    status =
        cvtm_loop_create(solver->device, enqueue_whole_round, current, solver->arrays.flag, &loop);
  if (status != CVTM_OK) return status;
  current->captured = 1;
  status = loop_by_graph(current, loop);
  cvtm_loop_destroy(loop);
  return status;
}

static int64_t max_evaluations_of_problems(const cvtm_lbfgsb *solver) {
  int64_t most = 0;
  for (int64_t p = 0; p < solver->problems; ++p) {
    if (solver->states[p].evaluations > most) most = solver->states[p].evaluations;
  }
  return most;
}

static cvtm_status time_evaluations(cvtm_lbfgsb_run *current) {
  const cvtm_lbfgsb *solver = current->solver;
  const int64_t evaluations = max_evaluations_of_problems(solver);
  const int64_t repeated = evaluations < TIMED_EVALUATIONS ? evaluations : TIMED_EVALUATIONS;
  if (repeated == 0) return CVTM_OK;
  const double before = cvtm_clock();
  for (int64_t i = 0; i < repeated; ++i) CVTM_TRY(enqueue_evaluation(current));
  CVTM_TRY(cvtm_device_synchronize(solver->device));
  current->evaluation_seconds = (cvtm_clock() - before) / (double)repeated * (double)evaluations;
  return CVTM_OK;
}

/* --- a run's beginning and end --------------------------------------------------------------- */

/* Prepares a new run from x. */
static cvtm_status prepare_run(cvtm_lbfgsb *solver, const double *x) {
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  cvtm_device *device = solver->device;
  cvtm_lbfgsb_forget_run(solver);
  cvtm_lbfgsb_apply_options(solver, solver->states);
  CVTM_TRY(cvtm_device_activate(device));
  CVTM_TRY(cvtm_lbfgsb_clear_signals(solver, solver->problems));
  CVTM_TRY(cvtm_device_fill(device, arrays->w, 0, cvtm_lbfgsb_w_bytes(solver)));
  CVTM_TRY(
      cvtm_device_fill(device, arrays->model, 0, (size_t)solver->problems * solver->model_bytes));
  CVTM_TRY(cvtm_device_fill(device, arrays->values, 0, cvtm_lbfgsb_values_bytes(solver)));
  CVTM_TRY(cvtm_device_copy(device, arrays->x, x, (size_t)solver->total * sizeof *x));
  CVTM_TRY(solver->table->start(device, arrays, solver->options.history, solver->states));
  return !keeps_states(solver) ? cvtm_lbfgsb_read_states(solver) : CVTM_OK;
}

/* Prepares a stopped run to continue. A problem that has evaluated a point gets a new direction. */
static cvtm_status prepare_resume(cvtm_lbfgsb *solver) {
  int stopped = 0;
  CVTM_TRY(cvtm_lbfgsb_read_states(solver));
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_state *state = solver->states + p;
    cvtm_lbfgsb_apply_options(solver, state);
    if (state->running) continue;
    ++stopped;
    state->running = 1;
    state->stop = (int)CVTM_STOP_NONE;
    if (state->phase != (int)CVTM_PHASE_START) state->phase = (int)CVTM_PHASE_RESUME;
  }
  CVTM_TRY(cvtm_lbfgsb_write_states(solver));
  CVTM_TRY(cvtm_lbfgsb_clear_signals(solver, solver->problems));
  if (stopped > 0) CVTM_TRY(enqueue_round(solver));
  return cvtm_lbfgsb_read_states(solver);
}

static void fill_results(const cvtm_lbfgsb_run *current, cvtm_lbfgsb_result *results) {
  const cvtm_lbfgsb *solver = current->solver;
  const double seconds = cvtm_clock() - current->start_time;
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
    result->seconds = seconds;
    result->evaluation_seconds = current->evaluation_seconds;
    result->captured = current->captured;
  }
}

/* Ends a call: sets x to the best point, even if an evaluation failed, and sets the results.
 * Returns the status for the caller, which depends on the status of the loop. */
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
    status = time_evaluations(current);
    if (status != CVTM_OK) return status;
    for (int64_t p = 0; results && p < solver->problems; ++p)
      results[p].evaluation_seconds = current->evaluation_seconds;
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
  CVTM_TRY(prepare_run(solver, x));
  return finish_call(&current, iterate(&current), x, result);
}

cvtm_status cvtm_lbfgsb_resume(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                               void *context, cvtm_lbfgsb_result *result) {
  cvtm_lbfgsb_run current = {.solver = solver, .objective = objective, .context = context};
  current.start_time = cvtm_clock();
  if (solver->states->history == 0) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "there is no run to resume");
  }
  cvtm_status status = prepare_resume(solver);
  if (status != CVTM_OK) return status;
  if (cvtm_lbfgsb_count_running(solver) > 0) status = iterate(&current);
  return finish_call(&current, status, x, result);
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
  CVTM_TRY(check_reverse_run(solver));
  CVTM_TRY(cvtm_device_activate(solver->device));
  CVTM_TRY(enqueue_round(solver));
  return running != NULL ? cvtm_lbfgsb_poll(solver, running) : CVTM_OK;
}

cvtm_status cvtm_lbfgsb_poll(cvtm_lbfgsb *solver, int *running) {
  int count = 0;
  CVTM_TRY(check_reverse_run(solver));
  CVTM_TRY(read_running(solver, &count));
  CVTM_TRY(deliver_records(&solver->reverse_run));
  *running = count > 0;
  return CVTM_OK;
}

const int *cvtm_lbfgsb_running(const cvtm_lbfgsb *solver, int64_t *stride) {
  *stride = (int64_t)(sizeof *solver->states / sizeof(int));
  return &solver->arrays.state->running;
}

cvtm_status cvtm_lbfgsb_finish(cvtm_lbfgsb *solver, double *x, cvtm_lbfgsb_result *result) {
  cvtm_status status = check_reverse_run(solver);
  int running = 1;
  if (status == CVTM_OK && result == NULL && keeps_states(solver))
    status = read_running(solver, &running);
  if (status == CVTM_OK && running == 0)
    return cvtm_device_copy(solver->device, x, solver->arrays.x, (size_t)solver->total * sizeof *x);
  if (status == CVTM_OK) status = cvtm_lbfgsb_read_states(solver);
  if (status != CVTM_OK) return status;
  const int64_t stopped = cvtm_lbfgsb_count_running(solver);
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_state *state = solver->states + p;
    if (!state->running) continue;
    state->running = 0;
    state->stop = (int)CVTM_STOP_REQUEST;
  }
  if (stopped > 0) status = cvtm_lbfgsb_write_states(solver);
  return finish_call(&solver->reverse_run, status, x, result);
}

/* --- data on the host ------------------------------------------------------------------------- */

/* A run with the objective on the host, by a solver in reverse communication. */
typedef struct host_run {
  cvtm_device *device;
  cvtm_lbfgsb *solver;
  double *on_device;   /* [2n] in device memory: x, or both bounds */
  double *at_x, *at_g; /* [n] on the host: x and g of an evaluation */
} host_run;

static cvtm_status evaluate_on_host(const host_run *host, const cvtm_lbfgsb_evaluation *at,
                                    cvtm_host_objective objective, void *context) {
  const size_t bytes = (size_t)host->solver->n * sizeof(double);
  double *x = host->at_x, *g = host->at_g;
  CVTM_TRY(cvtm_device_copy_out(host->device, x, at->x, bytes));
  const double before = cvtm_clock();
  const double f = objective(context, x, g);
  host->solver->reverse_run.evaluation_seconds += cvtm_clock() - before;
  CVTM_TRY(cvtm_device_copy_in(host->device, at->f, &f, sizeof f));
  return cvtm_device_copy_in(host->device, at->g, g, bytes);
}

static cvtm_status set_host_bounds(const host_run *host, const double *lower, const double *upper) {
  const int64_t n = host->solver->n;
  const size_t bytes = (size_t)n * sizeof(double);
  if (lower) CVTM_TRY(cvtm_device_copy_in(host->device, host->on_device, lower, bytes));
  if (upper) CVTM_TRY(cvtm_device_copy_in(host->device, host->on_device + n, upper, bytes));
  return cvtm_lbfgsb_set_bounds(host->solver, lower ? host->on_device : NULL,
                                upper ? host->on_device + n : NULL);
}

static cvtm_status solve_on_host(const host_run *host, double *x, cvtm_host_objective objective,
                                 void *context, cvtm_lbfgsb_result *result) {
  const size_t bytes = (size_t)host->solver->n * sizeof(double);
  cvtm_lbfgsb_evaluation at = {NULL, NULL, NULL};
  int running = 1;
  CVTM_TRY(cvtm_device_copy_in(host->device, host->on_device, x, bytes));
  CVTM_TRY(cvtm_lbfgsb_start(host->solver, host->on_device, &at));
  while (running) {
    CVTM_TRY(evaluate_on_host(host, &at, objective, context));
    CVTM_TRY(cvtm_lbfgsb_advance(host->solver, &running));
  }
  CVTM_TRY(cvtm_lbfgsb_finish(host->solver, host->on_device, result));
  return cvtm_device_copy_out(host->device, x, host->on_device, bytes);
}

cvtm_status cvtm_lbfgsb_minimize_host(cvtm_device *device, int64_t n, const double *lower,
                                      const double *upper, double *x, cvtm_host_objective objective,
                                      void *context, const cvtm_lbfgsb_options *options,
                                      cvtm_lbfgsb_result *result) {
  host_run host = {.device = device};
  cvtm_status status = cvtm_lbfgsb_create(device, n, options, &host.solver);
  if (status != CVTM_OK) return status;
  host.at_x = malloc((size_t)(n > 0 ? n : 1) * sizeof *host.at_x);
  host.at_g = malloc((size_t)(n > 0 ? n : 1) * sizeof *host.at_g);
  if (host.at_x && host.at_g)
    status = cvtm_device_allocate(device, 2 * n, CVTM_TYPED(host.on_device));
  else
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) status = set_host_bounds(&host, lower, upper);
  if (status == CVTM_OK) status = solve_on_host(&host, x, objective, context, result);
  cvtm_device_free(device, host.on_device);
  free(host.at_x);
  free(host.at_g);
  cvtm_lbfgsb_destroy(host.solver);
  return status;
}
