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
CVTM_HD void cvtm_lbfgsb_begin(cvtm_lbfgsb_state *state) {
  state->running = 1;
  state->stop = (int)CVTM_STOP_NONE;
  state->phase = (int)CVTM_PHASE_START;
  state->theta = 1.0;
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

/* Takes the trial point over. The pair (s, y) enters the history if s'y is positive
 * enough, as in L-BFGS-B 3.0, and takes the place of the oldest where there is no room. */
CVTM_HD void cvtm_lbfgsb_accept(cvtm_lbfgsb_state *state, double trial_slope) {
  const double larger =
      fabs(state->f) > fabs(state->trial_f) ? fabs(state->f) : fabs(state->trial_f);
  state->decrease[state->iteration % CVTM_LBFGSB_WINDOW] =
      larger > 0.0 ? (state->f - state->trial_f) / larger : 0.0;
  state->iteration++;
  state->f = state->trial_f;
  state->measure = state->trial_measure;
  state->due_update = 1;
  const double curvature = state->step * (trial_slope - state->slope);
  state->store_pair = curvature > DBL_EPSILON * state->step * -state->slope;
  if (!state->store_pair) return;
  if (state->count < state->history) {
    state->newest = state->count++;
  } else {
    state->newest = state->oldest;
    state->oldest = (state->oldest + 1) % state->history;
  }
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
  state->due_update = state->store_pair = state->due_direction = 0;
  state->due_restrict = state->due_step = state->due_fallback = state->due_trial = 0;
  if (!state->running) return;
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

CVTM_HD void cvtm_lbfgsb_record(cvtm_lbfgsb_state *state) {
  cvtm_lbfgsb_progress *record = &state->ring[state->recorded % CVTM_LBFGSB_RING];
  record->iteration = state->iteration;
  record->evaluations = state->evaluations;
  record->f = state->f;
  record->measure = state->measure;
  record->projected_gradient = state->projected_gradient;
  record->step = state->iteration == 0 ? 0.0 : state->step;
  record->cauchy = state->cauchy;
  record->active = state->active;
  state->recorded++;
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
CVTM_HD void cvtm_lbfgsb_absorb_pair(cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense,
                                     const cvtm_lbfgsb_layout *layout, const double *sums) {
  const int row = CVTM_LBFGSB_MAX_HISTORY, new_column = state->newest;
  for (int p = 0; p < state->count; ++p) {
    dense->sy[new_column * row + p] = sums[layout->y_s + p];
    dense->ss[new_column * row + p] = dense->ss[p * row + new_column] = sums[layout->s_s + p];
    if (!state->bounded) {
      dense->yy[new_column * row + p] = dense->yy[p * row + new_column] = sums[layout->y_y + p];
      dense->sy[p * row + new_column] = sums[layout->s_y + p];
    }
  }
  state->theta = sums[CVTM_SUM_YY] / dense->sy[new_column * row + new_column];
}

/* L of Byrd et al. (3.5): s_i'y_j for i younger than j; ages. */
CVTM_HD double cvtm_lbfgsb_l(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_dense *dense, int i,
                             int j) {
  return dense
      ->sy[cvtm_lbfgsb_column(state, i) * CVTM_LBFGSB_MAX_HISTORY + cvtm_lbfgsb_column(state, j)];
}

/* v'Pv with B = theta I - W P W', W = [Y S], v = W'g over free rows:
 *   P^-1 = [-D, L'/theta; L/theta, S'S/theta],
 * by the Cholesky factor of S'S + L D^-1 L'/theta. Negative if there is none. */
CVTM_HD double cvtm_lbfgsb_curvature(const cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense) {
  const int k = state->count, m = state->history;
  double *t = dense->a, *vy = dense->u, *vs = dense->u + k;
  for (int i = 0; i < k; ++i) {
    const int p = cvtm_lbfgsb_column(state, i);
    if (!(cvtm_lbfgsb_l(state, dense, i, i) > 0.0)) return -1.0;
    for (int j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (int l = 0; l < j; ++l) {
        sum += cvtm_lbfgsb_l(state, dense, i, l) * cvtm_lbfgsb_l(state, dense, j, l) /
               cvtm_lbfgsb_l(state, dense, l, l);
      }
      t[i * k + j] = dense->ss[p * CVTM_LBFGSB_MAX_HISTORY + cvtm_lbfgsb_column(state, j)] +
                     sum / state->theta;
    }
    vy[i] = dense->wg[p];
    vs[i] = dense->wg[m + p];
  }
  if (!cvtm_dense_cholesky(t, k)) return -1.0;
  /* v'Pv = theta |C^-1 (vs + L D^-1 vy / theta)|^2 - vy' D^-1 vy */
  double negative = 0.0;
  for (int i = 0; i < k; ++i) {
    double sum = 0.0;
    for (int j = 0; j < i; ++j) {
      sum += cvtm_lbfgsb_l(state, dense, i, j) / cvtm_lbfgsb_l(state, dense, j, j) * vy[j];
    }
    vs[i] += sum / state->theta;
    negative += vy[i] * vy[i] / cvtm_lbfgsb_l(state, dense, i, i);
  }
  cvtm_dense_solve_lower(t, k, vs);
  const double positive = state->theta * cvtm_dense_dot(vs, vs, k);
  /* f'' = theta g'g - v'Pv must be positive; the caller sees so. */
  return state->theta * state->free_gg - (positive - negative);
}

/* t^c = min(t*, t^1), the approximate Cauchy point of Fei et al. (section 4.1), with t^1 the
 * smallest positive breakpoint. */
CVTM_HD void cvtm_lbfgsb_decide_cauchy(cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense) {
  double second = state->free_gg;
  if (state->count > 0) {
    second = cvtm_lbfgsb_curvature(state, dense);
    if (!(second > 0.0) || !cvtm_is_finite(state->theta)) {
      cvtm_lbfgsb_drop_history(state);
      state->restarts++;
      second = state->free_gg;
    }
  }
  double t = second > 0.0 ? state->free_gg / second : 1.0;
  if (!(t < state->first_breakpoint)) t = state->first_breakpoint;
  state->cauchy = t;
  state->due_restrict = state->bounded && state->count > 0 && t == state->first_breakpoint;
}

/* The coefficients of the subspace step. With r the reduced gradient at the Cauchy point,
 * -B_F^-1 r = gradient_factor g + W q on the free rows, and by Sherman-Morrison-Woodbury
 *   N q = -(W_F'g / theta^2 + t^c (W_0'g - W_F'g) / theta),  N = P^-1 - W_F'W_F / theta,
 * where W_0 has the rows with t_i > 0 and W_F those with t_i > t^c. The blocks
 *   N = [-D - Y_F'Y_F/theta, X'; X, S_A'S_A/theta],  X = (L_A - R_F)/theta
 * take s_i'y_j over fixed rows where i is younger than j and over free rows elsewhere
 * (Byrd et al., section 5.1): nothing cancels. 0 if N has not the inertia it should have. */
CVTM_HD int cvtm_lbfgsb_solve_subspace(const cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense,
                                       const cvtm_lbfgsb_layout *layout, const double *sums) {
  const int k = state->count, m = state->history, row = CVTM_LBFGSB_MAX_HISTORY;
  const double theta = state->theta, t = state->cauchy;
  double *e = dense->a, *x = dense->b, *schur = dense->c, *ry = dense->u, *rs = dense->u + k;
  for (int i = 0; i < k; ++i) {
    const int p = cvtm_lbfgsb_column(state, i);
    for (int j = 0; j < k; ++j) {
      const int q = cvtm_lbfgsb_column(state, j);
      const int pair = cvtm_lbfgsb_triangle(p, q);
      const double yy = state->bounded ? sums[layout->yy + pair] : dense->yy[p * row + q];
      e[i * k + j] = yy / theta + (i == j ? dense->sy[p * row + p] : 0.0);
      schur[i * k + j] = state->bounded ? sums[layout->ss + pair] / theta : 0.0;
      const double sy = state->bounded ? sums[layout->sy + p * m + q] : dense->sy[p * row + q];
      x[i * k + j] = i > j ? (state->bounded ? sy / theta : 0.0) : -sy / theta;
    }
    const double *free_wg = sums + layout->wg;
    ry[i] = -(free_wg[p] / theta + t * (dense->wg[p] - free_wg[p])) / theta;
    rs[i] = -(free_wg[m + p] / theta + t * (dense->wg[m + p] - free_wg[m + p])) / theta;
  }
  /* With e = C C': rows of x become (C^-1 X')', and the Schur complement of -e is positive. */
  if (!cvtm_dense_cholesky(e, k)) return 0;
  cvtm_dense_solve_lower(e, k, ry);
  for (int i = 0; i < k; ++i) {
    cvtm_dense_solve_lower(e, k, x + i * k);
    rs[i] += cvtm_dense_dot(x + i * k, ry, k);
    for (int j = 0; j <= i; ++j) {
      schur[i * k + j] += cvtm_dense_dot(x + i * k, x + j * k, k);
    }
  }
  if (!cvtm_dense_cholesky(schur, k)) return 0;
  cvtm_dense_solve_lower(schur, k, rs);
  cvtm_dense_solve_upper(schur, k, rs);
  for (int j = 0; j < k; ++j) {
    double sum = -ry[j];
    for (int i = 0; i < k; ++i) sum += x[i * k + j] * rs[i];
    ry[j] = sum;
  }
  cvtm_dense_solve_upper(e, k, ry);
  int finite = 1;
  for (int i = 0; i < k; ++i) {
    const int p = cvtm_lbfgsb_column(state, i);
    dense->q[p] = ry[i];
    dense->q[m + p] = rs[i];
    finite = finite && cvtm_is_finite(ry[i]) && cvtm_is_finite(rs[i]);
  }
  return finite;
}

/* Pass B is next, with the subspace step or, without history, with steepest descent. */
CVTM_HD void cvtm_lbfgsb_decide_subspace(cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense,
                                         const cvtm_lbfgsb_layout *layout, const double *sums) {
  if (state->count > 0 && !cvtm_lbfgsb_solve_subspace(state, dense, layout, sums)) {
    cvtm_lbfgsb_drop_history(state);
    state->restarts++;
  }
  state->gradient_factor = -(1.0 - state->theta * state->cauchy) / state->theta;
  if (state->count == 0) {
    /* No model of the curvature: x^c is not a point to stay at, so all the way to x - g. */
    state->cauchy = 0.0;
    state->gradient_factor = -1.0;
  }
  state->due_restrict = 0;
  state->due_step = 1;
}

/* After pass A (or where a new direction is wanted without it). */
CVTM_HD void cvtm_lbfgsb_decide_direction(cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense,
                                          const cvtm_lbfgsb_layout *layout, const double *sums,
                                          int request) {
  if (!state->running) return;
  if (state->due_update) {
    state->projected_gradient = sums[CVTM_MAX_GRADIENT];
    if (state->iteration == 0 || state->projected_gradient < state->least_gradient) {
      state->least_gradient = state->projected_gradient;
      state->least_gradient_iteration = state->iteration;
    }
    state->first_breakpoint = sums[CVTM_MIN_BREAKPOINT];
    state->free_gg = sums[CVTM_SUM_FREE_GG];
    state->active = (int64_t)sums[CVTM_SUM_ACTIVE];
    for (int p = 0; p < 2 * state->history; ++p) dense->wg[p] = sums[layout->wg + p];
    if (state->store_pair) cvtm_lbfgsb_absorb_pair(state, dense, layout, sums);
    cvtm_lbfgsb_record(state);
    const cvtm_stop stop = cvtm_lbfgsb_find_stop(state, request);
    if (stop != CVTM_STOP_NONE) {
      cvtm_lbfgsb_stop(state, stop);
      return;
    }
  } else if (!state->due_direction) {
    return;
  }
  cvtm_lbfgsb_decide_cauchy(state, dense);
  if (!state->due_restrict) cvtm_lbfgsb_decide_subspace(state, dense, layout, sums);
}

/* Moves the rows with 0 < t_i <= t^c from the free to the fixed ones; `rows` has their
 * sums in pass A's layout. */
CVTM_HD void cvtm_lbfgsb_decide_restrict(cvtm_lbfgsb_state *state, cvtm_lbfgsb_dense *dense,
                                         const cvtm_lbfgsb_layout *layout, double *sums,
                                         const double *rows) {
  if (!state->running || !state->due_restrict) return;
  const int m = state->history, k = state->count;
  for (int p = 0; p < 2 * m; ++p) sums[layout->wg + p] -= rows[layout->wg + p];
  for (int p = 0; p < k; ++p) {
    for (int q = 0; q < k; ++q) {
      const int pair = cvtm_lbfgsb_triangle(p, q), entry = layout->sy + p * m + q;
      const int over_free = cvtm_lbfgsb_age(state, p) <= cvtm_lbfgsb_age(state, q);
      sums[entry] += over_free ? -rows[entry] : rows[entry];
      if (q > p) continue;
      sums[layout->yy + pair] -= rows[layout->yy + pair];
      sums[layout->ss + pair] += rows[layout->ss + pair];
    }
  }
  cvtm_lbfgsb_decide_subspace(state, dense, layout, sums);
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
