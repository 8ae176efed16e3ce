/* The new iterate of an iteration: its sums from pass A, its record for the monitor, and the
 * stopping tests. Lloyd's method (cvt/descent.c) stops by the same tests. */
#pragma once

#include "lbfgsb/lbfgsb_state.h"

#include <float.h>

/* The decrease of a function from `before` to `after`, relative to the larger absolute value. */
CVTM_HD double cvtm_relative_decrease(double before, double after) {
  const double larger = fabs(before) > fabs(after) ? fabs(before) : fabs(after);
  return larger > 0.0 ? (before - after) / larger : 0.0;
}

/* The mean relative decrease over CVTM_LBFGSB_WINDOW iterations, in any order. */
CVTM_HD double cvtm_mean_decrease(const double decrease[CVTM_LBFGSB_WINDOW]) {
  double mean = 0.0;
  for (int i = 0; i < CVTM_LBFGSB_WINDOW; ++i) mean += decrease[i] / CVTM_LBFGSB_WINDOW;
  return mean;
}

/* Nonzero if a norm of the gradient is at most the tolerance. A norm of 0 always is. */
CVTM_HD int cvtm_gradient_is_small(double norm, double tolerance) { return norm <= tolerance; }

/* Nonzero if tolerance > 0, and the mean decrease over the last CVTM_LBFGSB_WINDOW iterations is at
 * most the tolerance. */
CVTM_HD int cvtm_decrease_is_small(const double decrease[CVTM_LBFGSB_WINDOW], int64_t iterations,
                                   double tolerance) {
  return tolerance > 0.0 && iterations >= CVTM_LBFGSB_WINDOW &&
         cvtm_mean_decrease(decrease) <= tolerance;
}

/* Ends the run of the problem. */
CVTM_HD void cvtm_lbfgsb_stop(cvtm_lbfgsb_state *state, cvtm_stop stop) {
  state->running = 0;
  state->stop = (int)stop;
}

/* Sets the state before the first evaluation. sums: the result of the start pass. */
CVTM_HD void cvtm_lbfgsb_init_state(cvtm_lbfgsb_state *state, const double *sums) {
  state->start_projected = (int64_t)sums[CVTM_SUM_ACTIVE];
  state->bounded = sums[CVTM_SUM_FINITE] > 0.0;
  state->boxed = state->bounded && sums[CVTM_SUM_FINITE] == sums[CVTM_SUM_BOUNDS];
  state->running = 1;
  state->stop = (int)CVTM_STOP_NONE;
  state->phase = (int)CVTM_PHASE_START;
  state->theta = 1.0;
}

/* Nonzero if every index in a restored state is within its array. history: m; n: the number of
 * variables. */
CVTM_HD int cvtm_lbfgsb_state_is_valid(const cvtm_lbfgsb_state *state, int history, int64_t n) {
  return state->history == history && state->count >= 0 && state->count <= history &&
         state->oldest >= 0 && state->oldest < history && state->newest >= 0 &&
         state->newest < history && state->nearest_row < n && state->iteration >= 0 &&
         state->recorded >= 0;
}

/* A stop not due to an iterate: `request` by the host, or the limit of evaluations. */
CVTM_HD cvtm_stop cvtm_lbfgsb_find_interruption(const cvtm_lbfgsb_state *state, int request) {
  if (request != (int)CVTM_STOP_NONE) return (cvtm_stop)request;
  if (state->max_evaluations > 0 && state->evaluations >= state->max_evaluations) {
    return CVTM_STOP_EVALUATIONS;
  }
  return CVTM_STOP_NONE;
}

/* Nonzero if f no longer decreases. Called after at least CVTM_LBFGSB_WINDOW iterations. With a
 * tolerance of the decrease, the mean relative decrease must be at most this tolerance. With only a
 * gradient tolerance, the mean must be at most 0, and the least projected gradient must be at least
 * CVTM_LBFGSB_WINDOW iterations old. Without any tolerance, the mean must be within rounding
 * errors. */
CVTM_HD int cvtm_lbfgsb_has_stalled(const cvtm_lbfgsb_state *state) {
  if (state->decrease_tolerance > 0.0)
    return cvtm_decrease_is_small(state->decrease, state->iteration, state->decrease_tolerance);
  const double mean = cvtm_mean_decrease(state->decrease);
  if (!(state->gradient_tolerance > 0.0)) return mean <= 8.0 * DBL_EPSILON;
  return mean <= 0.0 && state->iteration - state->least_gradient_iteration >= CVTM_LBFGSB_WINDOW;
}

/* Applies the stopping tests at the end of an iteration. */
CVTM_HD cvtm_stop cvtm_lbfgsb_find_stop(const cvtm_lbfgsb_state *state, int request) {
  if (cvtm_gradient_is_small(state->projected_gradient, state->gradient_tolerance))
    return CVTM_STOP_GRADIENT;
  if (state->measure_tolerance > 0 &&
      cvtm_gradient_is_small(state->measure, state->measure_tolerance))
    return CVTM_STOP_GRADIENT;
  if (state->iteration >= CVTM_LBFGSB_WINDOW && cvtm_lbfgsb_has_stalled(state))
    return CVTM_STOP_DECREASE;
  if (state->max_iterations > 0 && state->iteration >= state->max_iterations) {
    return CVTM_STOP_ITERATIONS;
  }
  return cvtm_lbfgsb_find_interruption(state, request);
}

/* Writes the record of the iteration to the mailbox. `mailbox->recorded` is stored last, so that
 * the host never reads an incomplete record. */
CVTM_HD void cvtm_lbfgsb_record(cvtm_lbfgsb_state *state, cvtm_lbfgsb_mailbox *mailbox) {
  if (!state->monitored) return;
  cvtm_lbfgsb_progress *record = &mailbox->ring[state->recorded % CVTM_LBFGSB_RING];
  record->iteration = state->iteration;
  record->evaluations = state->evaluations;
  record->f = state->f;
  record->measure = state->measure;
  record->projected_gradient = state->projected_gradient;
  record->step = state->iteration == 0 ? 0.0 : state->step;
  record->cauchy = state->cauchy;
  record->active = state->active;
  state->recorded++;
#ifdef __CUDA_ARCH__
  __threadfence_system();
#endif
  *(volatile int64_t *)&mailbox->recorded = state->recorded;
}

/* Nonzero if the next record would overwrite a record that the host has not read. */
CVTM_HD int cvtm_lbfgsb_mailbox_full(const cvtm_lbfgsb_state *state, int64_t records_read) {
  return state->monitored && state->recorded - records_read >= CVTM_LBFGSB_RING;
}

/* Copies the results of pass A for the new iterate to the state. */
CVTM_HD void cvtm_lbfgsb_store_point(cvtm_lbfgsb_state *state, const double *sums) {
  state->projected_gradient = sums[CVTM_MAX_GRADIENT];
  if (state->iteration == 0 || state->projected_gradient < state->least_gradient) {
    state->least_gradient = state->projected_gradient;
    state->least_gradient_iteration = state->iteration;
  }
  state->first_breakpoint = sums[CVTM_MIN_BREAKPOINT];
  state->nearest_row = sums[CVTM_NEAREST_ROW] < HUGE_VAL ? (int64_t)sums[CVTM_NEAREST_ROW] : -1;
  state->active = (int64_t)sums[CVTM_SUM_ACTIVE];
}

/* Records the new iterate after pass A, and applies the stopping tests. Without pass A, as in a
 * resumed run, only applies the tests. */
CVTM_HD void cvtm_lbfgsb_decide_point(cvtm_lbfgsb_state *state, const double *sums,
                                      cvtm_lbfgsb_mailbox *mailbox, int request) {
  const int resuming = state->phase == (int)CVTM_PHASE_RESUME;
  if (state->needs_update) {
    cvtm_lbfgsb_store_point(state, sums);
    cvtm_lbfgsb_record(state, mailbox);
  }
  const cvtm_stop stop =
      state->needs_update || resuming ? cvtm_lbfgsb_find_stop(state, request) : CVTM_STOP_NONE;
  if (stop != CVTM_STOP_NONE) cvtm_lbfgsb_stop(state, stop);
}
