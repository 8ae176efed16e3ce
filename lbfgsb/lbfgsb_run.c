/* The loop of a run, by the host or as a CUDA graph, and the data that host and device exchange
 * during it: states, records for the monitor, requests to stop. */
#include "base/clock.h"
#include "base/ranks.h"
#include "lbfgsb/lbfgsb_private.h"

#include <time.h>

enum {
  MAX_ROUNDS = 16, /* enqueued between two polls of a CUDA device; well below the mailbox's ring */
  TIMED_EVALUATIONS = 100
};

/* --- the states, between host and device ------------------------------------------------- */

void cvtm_lbfgsb_apply_options(const cvtm_lbfgsb *solver, cvtm_lbfgsb_state *state) {
  const cvtm_lbfgsb_options *options = &solver->options;
  state->max_iterations = options->max_iterations;
  state->max_evaluations = options->max_evaluations;
  state->gradient_tolerance = options->gradient_tolerance;
  state->decrease_tolerance = options->decrease_tolerance;
  state->search_options.decrease = options->search_decrease;
  state->search_options.curvature = options->search_curvature;
  state->search_options.width = options->search_width;
  state->search_options.evaluations = options->search_evaluations;
  state->history = options->history;
  state->bounded = solver->finite_bounds > 0;
  state->boxed = state->bounded && solver->finite_bounds == 2 * solver->everywhere;
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

int cvtm_lbfgsb_count_running(const cvtm_lbfgsb *solver) {
  int count = 0;
  for (int64_t p = 0; p < solver->problems; ++p) count += solver->states[p].running != 0;
  return count;
}

cvtm_status cvtm_lbfgsb_clear_signals(cvtm_lbfgsb *solver) {
  const cvtm_lbfgsb_requests requests = {0, (int)CVTM_STOP_NONE};
  const int flag = cvtm_lbfgsb_count_running(solver);
  solver->mailbox->recorded = 0;
  const cvtm_status status =
      cvtm_device_copy_in(solver->device, solver->arrays.requests, &requests, sizeof requests);
  if (status != CVTM_OK) return status;
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

cvtm_status cvtm_lbfgsb_enqueue_round(const cvtm_lbfgsb *solver) {
  return solver->table->round(solver->device, &solver->arrays, solver->options.history);
}

/* A round: an evaluation and the phases of iteration.h. */
static cvtm_status enqueue_whole_round(void *context) {
  cvtm_lbfgsb_run *current = context;
  const cvtm_status status = enqueue_evaluation(current);
  return status == CVTM_OK ? cvtm_lbfgsb_enqueue_round(current->solver) : status;
}

/* --- records and requests ------------------------------------------------------------------ */

static cvtm_status request_stop(cvtm_lbfgsb_run *current, cvtm_stop stop) {
  const int code = (int)stop;
  if (current->requested) return CVTM_OK;
  current->requested = 1;
  return cvtm_device_post(current->solver->device, &current->solver->arrays.requests->stop, &code,
                          sizeof code);
}

cvtm_status cvtm_lbfgsb_deliver(cvtm_lbfgsb_run *current) {
  cvtm_lbfgsb *solver = current->solver;
  const cvtm_lbfgsb_options *options = &solver->options;
  const int64_t recorded = __atomic_load_n(&solver->mailbox->recorded, __ATOMIC_ACQUIRE);
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

/* The number of rounds to enqueue before the next poll of the device, from the `seconds` that the
 * last `rounds` took: about 20 ms, since rounds enqueued after the end of a run are wasted. */
static int next_rounds(const cvtm_lbfgsb_options *options, int rounds, double seconds) {
  const int limit = options->host_rounds;
  const int most = limit > 0 && limit < MAX_ROUNDS ? limit : MAX_ROUNDS;
  const double each = seconds / rounds;
  int next = 2 * rounds;
  while (next > 1 && next * each > 0.02) next /= 2;
  return next < most ? next : most;
}

/* The loop of a run, each round enqueued by the host. Ranks, whose clocks differ, enqueue one at a
 * time. */
static cvtm_status loop_by_host(cvtm_lbfgsb_run *current) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_status status = CVTM_OK;
  int rounds = 1;
  while (status == CVTM_OK && cvtm_lbfgsb_count_running(solver) > 0) {
    const double before = cvtm_clock();
    for (int round = 0; status == CVTM_OK && round < rounds; ++round) {
      status = enqueue_whole_round(current);
    }
    if (status == CVTM_OK) status = cvtm_lbfgsb_read_states(solver);
    if (status == CVTM_OK) status = cvtm_lbfgsb_deliver(current);
    if (!cvtm_lbfgsb_on_cpu(solver) && !cvtm_lbfgsb_host_decides(solver) &&
        !cvtm_device_ranks(solver->device))
      rounds = next_rounds(&solver->options, rounds, cvtm_clock() - before);
  }
  return status;
}

static void pause_before_poll(void) {
  const struct timespec pause = {0, 50000};
  (void)nanosleep(&pause, NULL);
}

/* The loop of a run as a graph, which ends with the run or when the mailbox is full. */
static cvtm_status loop_by_graph(cvtm_lbfgsb_run *current, cvtm_loop *loop) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_status status = CVTM_OK;
  for (;;) {
    int idle = 0;
    status = cvtm_loop_run(loop);
    while (status == CVTM_OK && !idle) {
      status = cvtm_device_query(solver->device, &idle);
      if (status == CVTM_OK) status = cvtm_lbfgsb_deliver(current);
      if (status == CVTM_OK && !idle) pause_before_poll();
    }
    if (status != CVTM_OK) break;
    status = cvtm_lbfgsb_read_states(solver);
    const int running = cvtm_lbfgsb_count_running(solver);
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

cvtm_status cvtm_lbfgsb_iterate(cvtm_lbfgsb_run *current) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_loop *loop = NULL;
  if (cvtm_lbfgsb_count_running(solver) == 0) return CVTM_OK;
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

cvtm_status cvtm_lbfgsb_time_evaluations(cvtm_lbfgsb_run *current) {
  const cvtm_lbfgsb *solver = current->solver;
  const int64_t evaluations = max_evaluations_of_problems(solver);
  const int64_t repeated = evaluations < TIMED_EVALUATIONS ? evaluations : TIMED_EVALUATIONS;
  if (repeated == 0) return CVTM_OK;
  const double before = cvtm_clock();
  cvtm_status status = CVTM_OK;
  for (int64_t i = 0; status == CVTM_OK && i < repeated; ++i) status = enqueue_evaluation(current);
  if (status == CVTM_OK) status = cvtm_device_synchronize(solver->device);
  current->evaluation_seconds = (cvtm_clock() - before) / (double)repeated * (double)evaluations;
  return status;
}
