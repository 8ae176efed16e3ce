/* The line search between evaluations: accepts the trial point or chooses the next trial point.
 * more_thuente.h has the step lengths. */
#pragma once

#include "lbfgsb/limited_memory.h"
#include "lbfgsb/stopping.h"

/* Called if no step along d is acceptable. Drops the history and asks for a new direction; without
 * a history, stops the run. */
CVTM_HD void cvtm_lbfgsb_search_failed(cvtm_lbfgsb_state *state) {
  if (state->count == 0) {
    cvtm_lbfgsb_stop(state,
                     state->search_not_finite ? CVTM_STOP_NOT_FINITE : CVTM_STOP_LINE_SEARCH);
    return;
  }
  cvtm_lbfgsb_drop_history(state);
  state->restarts++;
  state->needs_direction = 1;
}

/* Nonzero if the evaluated point will probably be accepted: it is the first trial of a search, and
 * the last search accepted its first trial. CUDA then runs pass A together with the test. */
CVTM_HD int cvtm_lbfgsb_may_speculate(const cvtm_lbfgsb_state *state) {
  return state->speculative && state->phase == (int)CVTM_PHASE_SEARCH &&
         state->search_evaluations == 0;
}

/* Accepts the trial point. Stores the pair (s, y) if s'y > eps |g's|, as L-BFGS-B 3.0 does. */
CVTM_HD void cvtm_lbfgsb_accept(cvtm_lbfgsb_state *state, double trial_slope) {
  state->speculative = state->search_evaluations == 1 && !state->exact;
  state->decrease[state->iteration % CVTM_LBFGSB_WINDOW] =
      cvtm_relative_decrease(state->f, state->trial_f);
  state->iteration++;
  state->f = state->trial_f;
  state->measure = state->trial_measure;
  state->needs_update = 1;
  const double curvature = state->step * (trial_slope - state->slope);
  state->store_pair = curvature > DBL_EPSILON * state->step * -state->slope;
  if (state->store_pair) cvtm_lbfgsb_allocate_column(state);
}

/* Makes x + step d the next trial point. */
CVTM_HD void cvtm_lbfgsb_set_trial_step(cvtm_lbfgsb_state *state, double step) {
  state->step = step;
  state->needs_trial = 1;
}

/* Shortens the step after a trial whose value is not finite, which counts as an evaluation. */
CVTM_HD void cvtm_lbfgsb_search_shorten(cvtm_lbfgsb_state *state) {
  const double best = state->search.best_step;
  state->search_not_finite = 1;
  state->step_cap = state->step;
  cvtm_lbfgsb_set_trial_step(state, best + 0.25 * (state->step - best));
}

/* Continues after a trial whose value is finite. */
CVTM_HD void cvtm_lbfgsb_search_continue(cvtm_lbfgsb_state *state, double trial_slope) {
  double step = state->step;
  const int improved =
      state->trial_f < state->f || (state->trial_f <= state->f + cvtm_search_noise(state->f) &&
                                    fabs(trial_slope) < fabs(state->slope));
  const cvtm_search_outcome outcome = cvtm_search_advance(&state->search, &state->search_options,
                                                          state->trial_f, trial_slope, &step);
  if (outcome == CVTM_SEARCH_CONVERGED ||
      (improved && (outcome == CVTM_SEARCH_STUCK || state->search_forced))) {
    cvtm_lbfgsb_accept(state, trial_slope);
  } else if (outcome == CVTM_SEARCH_STUCK || state->search_forced) {
    cvtm_lbfgsb_search_failed(state);
  } else {
    const double best = state->search.best_step;
    if (step >= state->step_cap) step = best + 0.5 * (state->step_cap - best);
    cvtm_lbfgsb_set_trial_step(state, step);
  }
}

/* Called if a search reaches its limit of evaluations without an acceptable step. Takes the best
 * point of the search if its value is below that of the current point. tried: the last step. */
CVTM_HD void cvtm_lbfgsb_search_limit(cvtm_lbfgsb_state *state, int finite, double trial_slope,
                                      double tried) {
  const double best = state->search.best_step;
  if (!(best > 0.0 && state->search.best_f < state->f)) {
    state->needs_trial = 0;
    cvtm_lbfgsb_search_failed(state);
  } else if (finite && best == tried) {
    state->needs_trial = 0;
    state->step = tried;
    cvtm_lbfgsb_accept(state, trial_slope);
  } else {
    state->search_forced = 1;
    cvtm_lbfgsb_set_trial_step(state, best);
  }
}

/* Decides after a trial of the line search. request: a stop requested by the host. */
CVTM_HD void cvtm_lbfgsb_decide_trial(cvtm_lbfgsb_state *state, int finite, double trial_slope,
                                      int request) {
  const double tried = state->step;
  state->search_evaluations++;
  if (finite) {
    cvtm_lbfgsb_search_continue(state, trial_slope);
  } else if (state->search_forced) {
    cvtm_lbfgsb_search_failed(state);
  } else {
    cvtm_lbfgsb_search_shorten(state);
  }
  if (state->running && state->needs_trial && !state->search_forced &&
      state->search_evaluations >= state->search_options.evaluations) {
    cvtm_lbfgsb_search_limit(state, finite, trial_slope, tried);
  }
  const cvtm_stop stop = cvtm_lbfgsb_find_interruption(state, request);
  if (!state->running || state->needs_update || stop == CVTM_STOP_NONE) return;
  if (finite && state->trial_f < state->f) {
    /* a stop in the middle of a search accepts a point whose value is below the current one */
    state->needs_trial = state->needs_direction = 0;
    state->step = tried;
    cvtm_lbfgsb_accept(state, trial_slope);
  } else {
    cvtm_lbfgsb_stop(state, stop);
  }
}

/* Decides after an evaluation. values: f[0..1]. trial_slope: g'd at the trial point, not finite if
 * an entry of g is not. Clears all needs_ flags and sets those of this round. */
CVTM_HD void cvtm_lbfgsb_decide_search(cvtm_lbfgsb_state *state, const double *values,
                                       double trial_slope, int request) {
  state->needs_update = state->needs_commit = state->store_pair = state->needs_direction = 0;
  state->needs_restriction = state->needs_step = state->needs_fallback = state->needs_trial = 0;
  state->needs_breakpoints = 0;
  if (!state->running) return;
  if (state->phase == (int)CVTM_PHASE_RESUME) {
    state->needs_direction = 1;
    return;
  }
  state->evaluations++;
  state->trial_f = values[0];
  state->trial_measure = values[1];
  const int finite = cvtm_is_finite(values[0]) && cvtm_is_finite(trial_slope);
  if (state->phase == (int)CVTM_PHASE_START) {
    if (!finite) {
      cvtm_lbfgsb_stop(state, CVTM_STOP_NOT_FINITE);
      return;
    }
    state->f = state->trial_f;
    state->measure = state->trial_measure;
    state->needs_update = 1;
  } else if (state->phase == (int)CVTM_PHASE_AGAIN) {
    state->needs_direction = 1;
  } else {
    cvtm_lbfgsb_decide_trial(state, finite, trial_slope, request);
  }
}

/* Starts a line search along d with the first trial of L-BFGS-B 3.0: step 1, whose trial point pass
 * B has written. In the first search of a run, unless all bounds are finite, the step has length
 * |step d| = 1 instead; but it is at most `largest`, and at most 1 if a bound is finite. slope:
 * g'd; dd: d'd; largest: the largest step within the box. */
CVTM_HD void cvtm_lbfgsb_start_search(cvtm_lbfgsb_state *state, double slope, double dd,
                                      double largest) {
  const double unlimited = 1e10, inverse = 1.0 / sqrt(dd);
  const int first = state->iteration == 0;
  double limit = largest < unlimited ? largest : unlimited;
  /* x + d is in the box, so a limit below 1 is a rounding error */
  if ((first && state->bounded) || limit < 1.0) limit = 1.0;
  const double step = !first || state->boxed ? 1.0 : inverse < limit ? inverse : limit;
  state->phase = (int)CVTM_PHASE_SEARCH;
  state->slope = slope;
  state->step = step;
  state->step_cap = HUGE_VAL;
  state->search_evaluations = state->search_forced = state->search_not_finite = 0;
  cvtm_search_start(&state->search, state->f, slope, step, limit);
  state->needs_trial = step != 1.0;
}

/* Decides after pass B. If d is not a descent direction, asks to truncate the subspace step instead
 * of projecting it (Morales & Nocedal 2011). */
CVTM_HD void cvtm_lbfgsb_decide_step(cvtm_lbfgsb_state *state, const double *sums) {
  if (!state->running || !state->needs_step) return;
  const double slope = sums[CVTM_SUM_SLOPE];
  if (slope < 0.0) {
    cvtm_lbfgsb_start_search(state, slope, sums[CVTM_SUM_DD], sums[CVTM_MIN_STEP]);
  } else if (state->count > 0) {
    const double limit = sums[CVTM_MIN_TRUNCATION];
    state->truncation = limit < 1.0 ? limit : 1.0;
    state->needs_fallback = 1;
  } else {
    cvtm_lbfgsb_stop(state, CVTM_STOP_LINE_SEARCH);
  }
}

/* Decides after pass B with the truncated step. If d is still not a descent direction, drops the
 * history; then the current point is evaluated again, and steepest descent follows. This is too
 * rare for a phase of its own. */
CVTM_HD void cvtm_lbfgsb_decide_fallback(cvtm_lbfgsb_state *state, const double *sums) {
  if (!state->running || !state->needs_fallback) return;
  const double slope = sums[CVTM_SUM_SLOPE];
  if (slope < 0.0) {
    cvtm_lbfgsb_start_search(state, slope, sums[CVTM_SUM_DD], sums[CVTM_MIN_STEP]);
    return;
  }
  cvtm_lbfgsb_drop_history(state);
  state->restarts++;
  state->phase = (int)CVTM_PHASE_AGAIN;
  cvtm_lbfgsb_set_trial_step(state, 0.0);
}
