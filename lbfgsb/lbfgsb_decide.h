/* What each phase decides, from the figures that it reduced. The CPU calls these
 * functions; on CUDA a controller kernel does. */
#ifndef CVTMESH_LBFGSB_DECIDE_H
#define CVTMESH_LBFGSB_DECIDE_H

#include "lbfgsb/lbfgsb_dense.h"
#include "lbfgsb/lbfgsb_state.h"

CVTM_HD void cvtm_lbfgsb_stop(cvtm_lbfgsb_state *state, cvtm_stop stop) {
  state->running = 0;
  state->stop = (int)stop;
}

/* Ready for the evaluation of the start. */
CVTM_HD void cvtm_lbfgsb_begin(cvtm_lbfgsb_state *state, const double *figures) {
  state->start_projected = (int64_t)figures[CVTM_SUM_ACTIVE];
  state->running = 1;
  state->stop = (int)CVTM_STOP_NONE;
  state->phase = (int)CVTM_PHASE_START;
  state->theta = 1.0;
}

/* Of a state that comes from outside: whatever serves as an index is one. */
CVTM_HD int cvtm_lbfgsb_state_is_sound(const cvtm_lbfgsb_state *state, int history, int64_t n) {
  return state->history == history && state->count >= 0 && state->count <= history &&
         state->oldest >= 0 && state->oldest < history && state->newest >= 0 &&
         state->newest < history && state->first_row < n && state->iteration >= 0 &&
         state->recorded >= 0;
}

/* The direction is that of steepest descent again. */
CVTM_HD void cvtm_lbfgsb_drop_history(cvtm_lbfgsb_state *state) {
  state->count = 0;
  state->oldest = 0;
  state->theta = 1.0;
}

/* No acceptable step along d: once more without history, then it is over. */
CVTM_HD void cvtm_lbfgsb_search_failed(cvtm_lbfgsb_state *state) {
  if (state->count == 0) {
    cvtm_lbfgsb_stop(state,
                     state->search_not_finite ? CVTM_STOP_NOT_FINITE : CVTM_STOP_LINE_SEARCH);
    return;
  }
  cvtm_lbfgsb_drop_history(state);
  state->restarts++;
  state->due_direction = 1;
}

/* A column for a new pair, in the place of the oldest where there is no room. */
CVTM_HD void cvtm_lbfgsb_make_room(cvtm_lbfgsb_state *state) {
  if (state->count < state->history) {
    state->newest = state->count++;
  } else {
    state->newest = state->oldest;
    state->oldest = state->oldest + 1 < state->history ? state->oldest + 1 : 0;
  }
}

/* The evaluated point is likely to be the next one. */
CVTM_HD int cvtm_lbfgsb_is_eager(const cvtm_lbfgsb_state *state) {
  return state->eager && state->phase == (int)CVTM_PHASE_SEARCH && state->search_evaluations == 0;
}

/* Takes the trial point over. The pair (s, y) enters the history if s'y is positive
 * enough, as in L-BFGS-B 3.0. */
CVTM_HD void cvtm_lbfgsb_accept(cvtm_lbfgsb_state *state, double trial_slope) {
  const double larger =
      fabs(state->f) > fabs(state->trial_f) ? fabs(state->f) : fabs(state->trial_f);
  state->eager = state->search_evaluations == 1 && !state->exact;
  state->decrease[state->iteration % CVTM_LBFGSB_WINDOW] =
      larger > 0.0 ? (state->f - state->trial_f) / larger : 0.0;
  state->iteration++;
  state->f = state->trial_f;
  state->measure = state->trial_measure;
  state->due_update = 1;
  const double curvature = state->step * (trial_slope - state->slope);
  state->store_pair = curvature > DBL_EPSILON * state->step * -state->slope;
  if (state->store_pair) cvtm_lbfgsb_make_room(state);
}

/* The trial of the search that comes next. */
CVTM_HD void cvtm_lbfgsb_try(cvtm_lbfgsb_state *state, double step) {
  state->step = step;
  state->due_trial = 1;
}

/* The trial was not finite: a shorter step, counted as an evaluation. */
CVTM_HD void cvtm_lbfgsb_search_shorten(cvtm_lbfgsb_state *state) {
  const double best = state->search.best_step;
  state->search_not_finite = 1;
  state->step_cap = state->step;
  cvtm_lbfgsb_try(state, best + 0.25 * (state->step - best));
}

/* A finite trial of the line search. */
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
    cvtm_lbfgsb_try(state, step);
  }
}

/* The limit of evaluations of one search is reached without an acceptable step: its
 * best point will do if it is lower than the start. */
CVTM_HD void cvtm_lbfgsb_search_limit(cvtm_lbfgsb_state *state, int finite, double trial_slope,
                                      double tried) {
  const double best = state->search.best_step;
  if (!(best > 0.0 && state->search.best_f < state->f)) {
    state->due_trial = 0;
    cvtm_lbfgsb_search_failed(state);
  } else if (finite && best == tried) {
    state->due_trial = 0;
    state->step = tried;
    cvtm_lbfgsb_accept(state, trial_slope);
  } else {
    state->search_forced = 1;
    cvtm_lbfgsb_try(state, best);
  }
}

CVTM_HD cvtm_stop cvtm_lbfgsb_interruption(const cvtm_lbfgsb_state *state, int request) {
  if (request != (int)CVTM_STOP_NONE) return (cvtm_stop)request;
  if (state->max_evaluations > 0 && state->evaluations >= state->max_evaluations) {
    return CVTM_STOP_EVALUATIONS;
  }
  return CVTM_STOP_NONE;
}

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
  if (state->running && state->due_trial && !state->search_forced &&
      state->search_evaluations >= state->search_options.evaluations) {
    cvtm_lbfgsb_search_limit(state, finite, trial_slope, tried);
  }
  const cvtm_stop stop = cvtm_lbfgsb_interruption(state, request);
  if (!state->running || state->due_update || stop == CVTM_STOP_NONE) return;
  if (finite && state->trial_f < state->f) {
    /* Stopped in the middle of a search at a better point: keep it. */
    state->due_trial = state->due_direction = 0;
    state->step = tried;
    cvtm_lbfgsb_accept(state, trial_slope);
  } else {
    cvtm_lbfgsb_stop(state, stop);
  }
}

/* After an evaluation: values[0..1] are f[0..1], trial_slope is the trial gradient times d
 * (not finite if an entry of the gradient is not). */
CVTM_HD void cvtm_lbfgsb_decide_search(cvtm_lbfgsb_state *state, const double *values,
                                       double trial_slope, int request) {
  state->due_update = state->due_commit = state->store_pair = state->due_direction = 0;
  state->due_restrict = state->due_step = state->due_fallback = state->due_trial = 0;
  state->due_breakpoints = 0;
  if (!state->running) return;
  if (state->phase == (int)CVTM_PHASE_RESUME) {
    state->due_direction = 1;
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
    state->due_update = 1;
  } else if (state->phase == (int)CVTM_PHASE_AGAIN) {
    state->due_direction = 1;
  } else {
    cvtm_lbfgsb_decide_trial(state, finite, trial_slope, request);
  }
}

/* The record goes to the host's side of the mailbox; `recorded` follows it. */
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

/* The next record might overwrite one that the host has not read. */
CVTM_HD int cvtm_lbfgsb_mailbox_full(const cvtm_lbfgsb_state *state, int64_t taken) {
  return state->monitored && state->recorded - taken >= CVTM_LBFGSB_RING;
}

/* At the end of an iteration. */
CVTM_HD cvtm_stop cvtm_lbfgsb_find_stop(const cvtm_lbfgsb_state *state, int request) {
  if (state->projected_gradient <= state->gradient_tolerance) return CVTM_STOP_GRADIENT;
  if (state->iteration >= CVTM_LBFGSB_WINDOW) {
    double sum = 0.0;
    for (int i = 0; i < CVTM_LBFGSB_WINDOW; ++i) sum += state->decrease[i];
    /* Without a tolerance, only where nothing gets better any more. */
    const int64_t since = state->iteration - state->least_gradient_iteration;
    const int over = state->decrease_tolerance > 0.0 || since >= CVTM_LBFGSB_WINDOW;
    if (over && sum / CVTM_LBFGSB_WINDOW <= state->decrease_tolerance) return CVTM_STOP_DECREASE;
  }
  if (state->max_iterations > 0 && state->iteration >= state->max_iterations) {
    return CVTM_STOP_ITERATIONS;
  }
  return cvtm_lbfgsb_interruption(state, request);
}

/* Enters the new pair's products into the small matrices. */
CVTM_HD void cvtm_lbfgsb_absorb_pair(cvtm_team team, cvtm_lbfgsb_state *state,
                                     cvtm_lbfgsb_dense *dense, const cvtm_lbfgsb_layout *layout,
                                     const double *sums) {
  const int row = CVTM_LBFGSB_MAX_HISTORY, new_column = state->newest;
  for (int p = team.lane; p < state->count; p += team.lanes) {
    dense->sy[new_column * row + p] = sums[layout->y_s + p];
    dense->ss[new_column * row + p] = dense->ss[p * row + new_column] = sums[layout->s_s + p];
    if (!state->bounded) {
      dense->yy[new_column * row + p] = dense->yy[p * row + new_column] = sums[layout->y_y + p];
      if (p != new_column) dense->sy[p * row + new_column] = sums[layout->s_y + p];
    }
  }
  if (team.lane == 0) state->theta = sums[CVTM_SUM_YY] / sums[layout->y_s + new_column];
}

/* s_i'y_j of columns of ages i and j; with i > j it is L of Byrd et al. (3.5). */
CVTM_HD double cvtm_lbfgsb_sy(const cvtm_lbfgsb_dense *dense, const cvtm_lbfgsb_work *work, int i,
                              int j) {
  return dense->sy[work->column[i] * CVTM_LBFGSB_MAX_HISTORY + work->column[j]];
}

/* f'' along the projected gradient up to the first breakpoint, theta g'g - v'Pv for v = W'g over
 * the rows with t_i > 0. With B = theta I - W P W', W = [Y S], P^-1 = [-D, L'/theta; L/theta,
 * S'S/theta] and C C' = T = S'S + L D^-1 L'/theta,
 *   v'Pv = theta |C^-1 (v_s + L D^-1 v_y / theta)|^2 - v_y' D^-1 v_y.
 * Leaves C in work->a and L D^-1 in work->b. Negative if there is no C. */
CVTM_HD double cvtm_lbfgsb_model_curvature(cvtm_team team, const cvtm_lbfgsb_state *state,
                                           const cvtm_lbfgsb_dense *dense, cvtm_lbfgsb_work *work) {
  const int k = state->count, m = state->history;
  const double inverse_theta = 1.0 / state->theta;
  const int shift = cvtm_dense_shift(k);
  double *l_over_d = work->b, *vs = work->u;
  int good = 1;
  for (int j = 0; j < k; ++j) good = good && cvtm_lbfgsb_sy(dense, work, j, j) > 0.0;
  if (!good) return -1.0;
  for (int j = team.lane; j < k; j += team.lanes) {
    work->inverse_d[j] = 1.0 / cvtm_lbfgsb_sy(dense, work, j, j);
  }
  cvtm_team_sync();
  for (int e = team.lane; e < k << shift; e += team.lanes) {
    const int i = e >> shift, j = e & ((1 << shift) - 1);
    if (j >= k) continue;
    l_over_d[i * k + j] = i > j ? cvtm_lbfgsb_sy(dense, work, i, j) * work->inverse_d[j] : 0.0;
  }
  cvtm_team_sync();
  for (int e = team.lane; e < k << shift; e += team.lanes) {
    const int i = e >> shift, j = e & ((1 << shift) - 1);
    if (j > i) continue;
    double sum = 0.0;
    for (int l = 0; l < j; ++l) sum += cvtm_lbfgsb_sy(dense, work, i, l) * l_over_d[j * k + l];
    work->a[i * k + j] = dense->ss[work->column[i] * CVTM_LBFGSB_MAX_HISTORY + work->column[j]] +
                         sum * inverse_theta;
  }
  double negative = 0.0;
  for (int i = team.lane; i < k; i += team.lanes) {
    double sum = 0.0;
    for (int j = 0; j < i; ++j) sum += l_over_d[i * k + j] * dense->wg[work->column[j]];
    vs[i] = dense->wg[m + work->column[i]] + sum * inverse_theta;
    const double vy = dense->wg[work->column[i]];
    negative += vy * vy * work->inverse_d[i];
  }
  negative = cvtm_team_sum(negative);
  cvtm_team_sync();
  if (!cvtm_dense_factor(team, work->a, k, vs, 1)) return -1.0;
  return state->theta * state->free_gg - (state->theta * cvtm_dense_dot(vs, vs, k) - negative);
}

/* Column j of P, rows in order of age, Y before S, by one lane; behind factor_model. With the
 * right side (a, b): T x_s = theta b + L D^-1 a, x_y = D^-1 (L' x_s / theta - a). */
CVTM_HD void cvtm_lbfgsb_model_column(const cvtm_lbfgsb_state *state,
                                      const cvtm_lbfgsb_dense *dense, const cvtm_lbfgsb_work *work,
                                      int j, double *x) {
  const int k = state->count;
  const double *c = work->a;
  double *xs = x + k;
  for (int i = 0; i < k; ++i) {
    double sum = j < k ? (i > j ? work->b[i * k + j] : 0.0) : (i == j - k ? state->theta : 0.0);
    for (int l = 0; l < i; ++l) sum -= c[i * k + l] * xs[l];
    xs[i] = sum * c[i * k + i];
  }
  for (int i = k - 1; i >= 0; --i) {
    double sum = xs[i];
    for (int l = i + 1; l < k; ++l) sum -= c[l * k + i] * xs[l];
    xs[i] = sum * c[i * k + i];
  }
  for (int i = 0; i < k; ++i) {
    double sum = 0.0;
    for (int l = i + 1; l < k; ++l) sum += work->b[l * k + i] * xs[l];
    const double one = i == j ? 1.0 / cvtm_lbfgsb_sy(dense, work, i, i) : 0.0;
    x[i] = sum / state->theta - one;
  }
}

/* The column of W that is number r in order of age, Y before S. */
CVTM_HD int cvtm_lbfgsb_w_column(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_work *work,
                                 int r) {
  const int k = state->count;
  return r < k ? work->column[r] : state->history + work->column[r - k];
}

/* The coefficients of the subspace step. With r the reduced gradient at the Cauchy point,
 * -B_F^-1 r = gradient_factor g + W q on the free rows, and by Sherman-Morrison-Woodbury
 *   N q = -(W_F'g (1/theta - t^c) - W'(x^c - x)) / theta,  N = P^-1 - W_F'W_F / theta,
 * where W_F has the rows with t_i > t^c. The blocks
 *   N = [-D - Y_F'Y_F/theta, X'; X, S_A'S_A/theta],  X = (L_A - R_F)/theta
 * take s_i'y_j over fixed rows where i is younger than j and over free rows elsewhere
 * (Byrd et al., section 5.1): nothing cancels. `sums` is pass A's, restricted to F. On the
 * first segment of the path W'(x^c - x) = -t^c W_F'g, and t^c need not be known (on_first).
 * 0 if N has not the inertia it should have. */
CVTM_HD int cvtm_lbfgsb_solve_subspace(cvtm_team team, const cvtm_lbfgsb_state *state,
                                       cvtm_lbfgsb_dense *dense, cvtm_lbfgsb_work *work,
                                       const cvtm_lbfgsb_layout *layout, const double *sums,
                                       int on_first) {
  const int k = state->count, m = state->history, row = CVTM_LBFGSB_MAX_HISTORY;
  const int shift = cvtm_dense_shift(k);
  const double inverse = 1.0 / state->theta;
  double *e = work->a, *x = work->b, *schur = work->c, *ry = x + k * k, *rs = work->u;
  for (int at = team.lane; at < k << shift; at += team.lanes) {
    const int i = at >> shift, j = at & ((1 << shift) - 1), entry = i * k + j;
    if (j >= k) continue;
    const int p = work->column[i], q = work->column[j];
    const int pair = cvtm_lbfgsb_triangle(p, q);
    const double yy = state->bounded ? sums[layout->yy + pair] : dense->yy[p * row + q];
    e[entry] = yy * inverse + (i == j ? dense->sy[p * row + p] : 0.0);
    schur[entry] = state->bounded ? sums[layout->ss + pair] * inverse : 0.0;
    const double sy = state->bounded ? sums[layout->sy + p * m + q] : dense->sy[p * row + q];
    x[entry] = i > j ? (state->bounded ? sy * inverse : 0.0) : -sy * inverse;
  }
  for (int i = team.lane; i < k; i += team.lanes) {
    const int p = work->column[i];
    const double y = sums[layout->wg + p], s = sums[layout->wg + m + p];
    const double moved_y = on_first ? 0.0 : state->cauchy * y + dense->wc[p];
    const double moved_s = on_first ? 0.0 : state->cauchy * s + dense->wc[m + p];
    ry[i] = -(y * inverse - moved_y) * inverse;
    rs[i] = -(s * inverse - moved_s) * inverse;
  }
  cvtm_team_sync();
  /* With e = C C': rows of x become (C^-1 X')', and the Schur complement of -e is positive. */
  if (!cvtm_dense_factor(team, e, k, x, k + 1)) return 0;
  for (int at = team.lane; at < k << shift; at += team.lanes) {
    const int i = at >> shift, j = at & ((1 << shift) - 1);
    if (j <= i) schur[i * k + j] += cvtm_dense_dot(x + i * k, x + j * k, k);
  }
  for (int i = team.lane; i < k; i += team.lanes) rs[i] += cvtm_dense_dot(x + i * k, ry, k);
  cvtm_team_sync();
  if (!cvtm_dense_factor(team, schur, k, rs, 1)) return 0;
  cvtm_dense_solve_upper(team, schur, k, rs);
  for (int j = team.lane; j < k; j += team.lanes) {
    double sum = -ry[j];
    for (int i = 0; i < k; ++i) sum += x[i * k + j] * rs[i];
    ry[j] = sum;
  }
  cvtm_team_sync();
  cvtm_dense_solve_upper(team, e, k, ry);
  double zero = 0.0; /* unless something is not finite */
  for (int i = team.lane; i < k; i += team.lanes) {
    dense->q[work->column[i]] = ry[i];
    dense->q[m + work->column[i]] = rs[i];
    zero += 0.0 * ry[i] + 0.0 * rs[i];
  }
  return cvtm_team_sum(zero) == 0.0;
}

/* Pass B is next, with the subspace step (solved) or, without history, with steepest descent. */
CVTM_HD void cvtm_lbfgsb_decide_subspace(cvtm_team team, cvtm_lbfgsb_state *state, int solved) {
  cvtm_team_sync();
  if (team.lane == 0) {
    if (!solved && state->count > 0) {
      cvtm_lbfgsb_drop_history(state);
      state->restarts++;
    }
    state->gradient_factor = -(1.0 - state->theta * state->cauchy) / state->theta;
    if (state->count == 0) {
      /* No model of the curvature: x^c is not a point to stay at, so all the way to x - g. */
      state->cauchy = 0.0;
      state->gradient_factor = -1.0;
    }
    state->due_restrict = state->due_breakpoints = 0;
    state->due_step = 1;
  }
  cvtm_team_sync();
}

/* The columns in order of age. */
CVTM_HD void cvtm_lbfgsb_list_columns(cvtm_team team, const cvtm_lbfgsb_state *state,
                                      cvtm_lbfgsb_work *work) {
  for (int i = team.lane; i < state->count; i += team.lanes) {
    work->column[i] = cvtm_lbfgsb_column(state, i);
  }
  cvtm_team_sync();
}

/* The walk starts at x, at t = 0; with the factor of the model in `work`. */
CVTM_HD void cvtm_lbfgsb_start_walk(cvtm_team team, cvtm_lbfgsb_state *state,
                                    const cvtm_lbfgsb_dense *dense, const cvtm_lbfgsb_work *work,
                                    cvtm_lbfgsb_walk *walk, double first_minimum) {
  const int size = 2 * state->count;
  for (int r = team.lane; r < size; r += team.lanes) {
    cvtm_lbfgsb_model_column(state, dense, work, r, walk->p + r * size); /* P is symmetric */
    walk->wd[r] = -dense->wg[cvtm_lbfgsb_w_column(state, work, r)];
    walk->wc[r] = walk->pwc[r] = 0.0;
  }
  cvtm_team_sync();
  for (int r = team.lane; r < size; r += team.lanes) {
    walk->pwd[r] = cvtm_dense_dot(walk->p + r * size, walk->wd, size);
  }
  if (team.lane == 0) {
    state->walk_t = 0.0;
    state->walk_dd = state->free_gg;
    state->window_start = 0.0;
    state->window_end = 2.0 * first_minimum;
    state->due_breakpoints = 1;
  }
  cvtm_team_sync();
}

/* Where the model has its minimum behind walk_t if no breakpoint comes before, Byrd et al. (4.4)
 * and (4.5): f' = -d'd (1 - theta t) - d'W P W'(x(t) - x), f'' = theta d'd - d'W P W'd. */
CVTM_HD double cvtm_lbfgsb_walk_minimum(cvtm_team team, const cvtm_lbfgsb_state *state,
                                        const cvtm_lbfgsb_walk *walk) {
  double first = 0.0, second = 0.0;
  for (int r = team.lane; r < 2 * state->count; r += team.lanes) {
    first += walk->wd[r] * walk->pwc[r];
    second += walk->wd[r] * walk->pwd[r];
  }
  first = -state->walk_dd * (1.0 - state->theta * state->walk_t) - cvtm_team_sum(first);
  second = state->theta * state->walk_dd - cvtm_team_sum(second);
  /* What rounding leaves of f'' when hardly a variable moves any more. */
  const double least = DBL_EPSILON * state->walk_second;
  if (!(second > least)) second = least;
  if (!(first < 0.0) || !(state->walk_dd > DBL_EPSILON * state->free_gg)) return state->walk_t;
  return state->walk_t - first / second;
}

/* Goes on from walk_t to t; then the variable with gradient g and row w of W (in order of age)
 * stops; g = 0: none does. */
CVTM_HD void cvtm_lbfgsb_walk_to(cvtm_team team, cvtm_lbfgsb_state *state, cvtm_lbfgsb_walk *walk,
                                 double t, double g, const double *w) {
  const int size = 2 * state->count;
  const double by = t - state->walk_t;
  for (int r = team.lane; r < size; r += team.lanes) {
    walk->wc[r] += by * walk->wd[r];
    walk->pwc[r] += by * walk->pwd[r];
    if (g == 0.0) continue;
    walk->pwd[r] += g * cvtm_dense_dot(walk->p + r * size, w, size);
    walk->wd[r] += g * w[r];
  }
  cvtm_team_sync();
  if (team.lane == 0) {
    state->walk_t = t;
    state->walk_dd -= g * g;
  }
  cvtm_team_sync();
}

/* All breakpoints of the window lie behind: the Cauchy point, or another window. */
CVTM_HD void cvtm_lbfgsb_end_window(cvtm_team team, cvtm_lbfgsb_state *state,
                                    cvtm_lbfgsb_dense *dense, const cvtm_lbfgsb_work *work,
                                    cvtm_lbfgsb_walk *walk) {
  const double minimum = cvtm_lbfgsb_walk_minimum(team, state, walk);
  const int more = minimum > state->window_end;
  cvtm_team_sync();
  if (more) {
    if (team.lane == 0) {
      state->window_start = state->window_end;
      state->window_end = 2.0 * minimum;
    }
    cvtm_team_sync();
    return;
  }
  cvtm_lbfgsb_walk_to(team, state, walk, minimum, 0.0, NULL);
  for (int r = team.lane; r < 2 * state->count; r += team.lanes) {
    dense->wc[cvtm_lbfgsb_w_column(state, work, r)] = walk->wc[r];
  }
  if (team.lane == 0) {
    state->cauchy = minimum;
    state->due_breakpoints = 0;
    state->due_restrict = minimum >= state->first_breakpoint;
  }
  cvtm_team_sync();
}

/* t^c = min(t*, t^1), the approximate Cauchy point of Fei et al. (section 4.1), with t^1 the
 * smallest positive breakpoint; or the start of the walk to the exact one. `second` is f'', not
 * positive if the model is worthless; `work` is that of model_curvature. */
CVTM_HD void cvtm_lbfgsb_decide_cauchy(cvtm_team team, cvtm_lbfgsb_state *state,
                                       cvtm_lbfgsb_dense *dense, const cvtm_lbfgsb_work *work,
                                       cvtm_lbfgsb_walk *walk, double second) {
  const int good = second > 0.0 && cvtm_is_finite(state->theta);
  if (team.lane == 0) {
    if (!good && state->count > 0) {
      cvtm_lbfgsb_drop_history(state);
      state->restarts++;
      second = state->free_gg;
    }
    const double t = second > 0.0 ? state->free_gg / second : 1.0;
    const int first_segment = t < state->first_breakpoint;
    state->walk_second = second;
    state->cauchy = first_segment ? t : state->first_breakpoint;
    state->due_restrict = state->bounded && state->count > 0 && !first_segment;
  }
  cvtm_team_sync();
  for (int p = team.lane; p < 2 * state->history; p += team.lanes) {
    dense->wc[p] = -state->cauchy * dense->wg[p];
  }
  cvtm_team_sync();
  if (state->exact && state->due_restrict) {
    cvtm_team_sync();
    if (team.lane == 0) state->due_restrict = 0;
    cvtm_lbfgsb_start_walk(team, state, dense, work, walk, state->free_gg / state->walk_second);
  }
}

/* What a new point means: the figures of pass A, the record, the end. */
CVTM_HD void cvtm_lbfgsb_take_point(cvtm_lbfgsb_state *state, const double *sums) {
  state->projected_gradient = sums[CVTM_MAX_GRADIENT];
  if (state->iteration == 0 || state->projected_gradient < state->least_gradient) {
    state->least_gradient = state->projected_gradient;
    state->least_gradient_iteration = state->iteration;
  }
  state->first_breakpoint = sums[CVTM_MIN_BREAKPOINT];
  state->first_row = sums[CVTM_FIRST_ROW] < HUGE_VAL ? (int64_t)sums[CVTM_FIRST_ROW] : -1;
  state->active = (int64_t)sums[CVTM_SUM_ACTIVE];
}

/* After pass A (or where a new direction is wanted without it): the new point, or the end. */
CVTM_HD void cvtm_lbfgsb_decide_point(cvtm_lbfgsb_state *state, const double *sums,
                                      cvtm_lbfgsb_mailbox *mailbox, int request) {
  const int resuming = state->phase == (int)CVTM_PHASE_RESUME;
  if (state->due_update) {
    cvtm_lbfgsb_take_point(state, sums);
    cvtm_lbfgsb_record(state, mailbox);
  }
  const cvtm_stop stop =
      state->due_update || resuming ? cvtm_lbfgsb_find_stop(state, request) : CVTM_STOP_NONE;
  if (stop != CVTM_STOP_NONE) cvtm_lbfgsb_stop(state, stop);
}

/* What pass A found out about the model. */
CVTM_HD void cvtm_lbfgsb_absorb(cvtm_team team, cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense,
                                const cvtm_lbfgsb_layout *layout, const double *sums) {
  for (int p = team.lane; p < 2 * state->history; p += team.lanes) {
    dense->wg[p] = sums[layout->wg + p];
  }
  if (state->store_pair) cvtm_lbfgsb_absorb_pair(team, state, dense, layout, sums);
  if (team.lane == 0) state->free_gg = sums[CVTM_SUM_FREE_GG];
  cvtm_team_sync();
}

/* Moves the rows with 0 < t_i <= t^c from the free to the fixed ones: `rows` has their
 * sums in pass A's layout and receives those of the rest. */
CVTM_HD void cvtm_lbfgsb_restrict_sums(cvtm_team team, const cvtm_lbfgsb_state *state,
                                       const cvtm_lbfgsb_layout *layout, const double *sums,
                                       double *rows) {
  const int m = state->history, k = state->count;
  for (int p = team.lane; p < 2 * m; p += team.lanes) {
    rows[layout->wg + p] = sums[layout->wg + p] - rows[layout->wg + p];
  }
  for (int e = team.lane; e < k * k; e += team.lanes) {
    const int p = e / k, q = e % k;
    const int pair = cvtm_lbfgsb_triangle(p, q), entry = layout->sy + p * m + q;
    const int over_free = cvtm_lbfgsb_age(state, p) <= cvtm_lbfgsb_age(state, q);
    rows[entry] = over_free ? sums[entry] - rows[entry] : sums[entry] + rows[entry];
    if (q > p) continue;
    rows[layout->yy + pair] = sums[layout->yy + pair] - rows[layout->yy + pair];
    rows[layout->ss + pair] += sums[layout->ss + pair];
  }
  cvtm_team_sync();
}

/* The same where only one row has t_i = t^c, with gradient g and row w of W. */
CVTM_HD void cvtm_lbfgsb_restrict_row(cvtm_team team, const cvtm_lbfgsb_state *state,
                                      const cvtm_lbfgsb_layout *layout, const double *sums,
                                      double *rows, const double *w, double g) {
  const int m = state->history, k = state->count;
  for (int p = team.lane; p < 2 * m; p += team.lanes) rows[layout->wg + p] = g * w[p];
  for (int e = team.lane; e < k * k; e += team.lanes) {
    const int p = e / k, q = e % k;
    rows[layout->sy + p * m + q] = w[m + p] * w[q];
    if (q > p) continue;
    rows[layout->yy + cvtm_lbfgsb_triangle(p, q)] = w[p] * w[q];
    rows[layout->ss + cvtm_lbfgsb_triangle(p, q)] = w[m + p] * w[m + q];
  }
  cvtm_team_sync();
  cvtm_lbfgsb_restrict_sums(team, state, layout, sums, rows);
}

/* The first trial of a search, as in L-BFGS-B 3.0: the whole step, or one of length 1
 * while nothing is known about the curvature. Pass B wrote the trial point of step 1. */
CVTM_HD void cvtm_lbfgsb_start_search(cvtm_lbfgsb_state *state, double slope, double dd,
                                      double largest) {
  const double unlimited = 1e10;
  double limit = largest < unlimited ? largest : unlimited;
  double step = 1.0;
  if (state->count == 0) {
    if (state->bounded) limit = 1.0;
    const double inverse = 1.0 / sqrt(dd);
    if (!state->boxed) step = inverse < limit ? inverse : limit;
  } else if (limit < 1.0) {
    limit = 1.0; /* x + d is in the box; only rounding says otherwise */
  }
  state->phase = (int)CVTM_PHASE_SEARCH;
  state->slope = slope;
  state->step = step;
  state->step_cap = HUGE_VAL;
  state->search_evaluations = state->search_forced = state->search_not_finite = 0;
  cvtm_search_start(&state->search, state->f, slope, step, limit);
  state->due_trial = step != 1.0;
}

/* After pass B: a direction of descent, or the truncated step of Morales & Nocedal. */
CVTM_HD void cvtm_lbfgsb_decide_step(cvtm_lbfgsb_state *state, const double *figures) {
  if (!state->running || !state->due_step) return;
  const double slope = figures[CVTM_SUM_SLOPE];
  if (slope < 0.0) {
    cvtm_lbfgsb_start_search(state, slope, figures[CVTM_SUM_DD], figures[CVTM_MIN_STEP]);
  } else if (state->count > 0) {
    const double limit = figures[CVTM_MIN_TRUNCATION];
    state->truncation = limit < 1.0 ? limit : 1.0;
    state->due_fallback = 1;
  } else {
    cvtm_lbfgsb_stop(state, CVTM_STOP_LINE_SEARCH);
  }
}

/* After the truncated pass B. If that is no direction of descent either, the history is
 * worthless; the next evaluation is spent on the current point, and then comes steepest
 * descent: this never happens often enough to earn a phase of its own. */
CVTM_HD void cvtm_lbfgsb_decide_fallback(cvtm_lbfgsb_state *state, const double *figures) {
  if (!state->running || !state->due_fallback) return;
  const double slope = figures[CVTM_SUM_SLOPE];
  if (slope < 0.0) {
    cvtm_lbfgsb_start_search(state, slope, figures[CVTM_SUM_DD], figures[CVTM_MIN_STEP]);
    return;
  }
  cvtm_lbfgsb_drop_history(state);
  state->restarts++;
  state->phase = (int)CVTM_PHASE_AGAIN;
  cvtm_lbfgsb_try(state, 0.0);
}

#endif
