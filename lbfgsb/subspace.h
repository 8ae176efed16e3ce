/* Subspace minimisation: the model is minimised over the variables that are free at the Cauchy
 * point (Byrd et al. 1995, section 5.1, the direct primal method). */
#pragma once

#include "lbfgsb/limited_memory.h"

/* Removes the rows with 0 < t_i <= t^c, which are fixed at the Cauchy point, from the free set.
 * sums: the result of pass A, with the free rows t_i > 0. rows: on entry the same sums over only
 * the rows that leave the free set; on return the sums with the remaining free rows. */
CVTM_HD void cvtm_lbfgsb_restrict_sums(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                       const cvtm_lbfgsb_layout *layout, const double *sums,
                                       double *rows) {
  const int m = state->history, k = state->count;
  for (int p = group.lane; p < 2 * m; p += group.lanes) {
    rows[layout->wg + p] = sums[layout->wg + p] - rows[layout->wg + p];
  }
  for (int e = group.lane; e < k * k; e += group.lanes) {
    const int p = e / k, q = e % k;
    const int pair = cvtm_lbfgsb_triangle(p, q), entry = layout->sy + p * m + q;
    const int over_free = cvtm_lbfgsb_age(state, p) <= cvtm_lbfgsb_age(state, q);
    rows[entry] = over_free ? sums[entry] - rows[entry] : sums[entry] + rows[entry];
    if (q > p) continue;
    rows[layout->yy + pair] = sums[layout->yy + pair] - rows[layout->yy + pair];
    rows[layout->ss + pair] += sums[layout->ss + pair];
  }
  cvtm_lanes_sync();
}

/* cvtm_lbfgsb_restrict_sums for a single row with gradient g and row w of W, without a pass. */
CVTM_HD void cvtm_lbfgsb_restrict_row(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                      const cvtm_lbfgsb_layout *layout, const double *sums,
                                      double *rows, const double *w, double g) {
  const int m = state->history, k = state->count;
  for (int p = group.lane; p < 2 * m; p += group.lanes) rows[layout->wg + p] = g * w[p];
  for (int e = group.lane; e < k * k; e += group.lanes) {
    const int p = e / k, q = e % k;
    rows[layout->sy + p * m + q] = w[m + p] * w[q];
    if (q > p) continue;
    rows[layout->yy + cvtm_lbfgsb_triangle(p, q)] = w[p] * w[q];
    rows[layout->ss + cvtm_lbfgsb_triangle(p, q)] = w[m + p] * w[m + q];
  }
  cvtm_lanes_sync();
  cvtm_lbfgsb_restrict_sums(group, state, layout, sums, rows);
}

/* The coefficients q of the subspace step. With r the reduced gradient at the Cauchy point,
 * -B_F^-1 r = gradient_factor g + W q on the free rows F, and by Sherman-Morrison-Woodbury
 *   N q = -(W_F'g (1/theta - t^c) - W'(x^c - x)) / theta,  N = P^-1 - W_F'W_F / theta,
 * where W_F has the rows with t_i > t^c. The blocks
 *   N = [-D - Y_F'Y_F/theta, X'; X, S_A'S_A/theta],  X = (L_A - R_F)/theta
 * use s_i'y_j over the fixed rows A where i is younger than j and over F elsewhere (Byrd et al.,
 * section 5.1), which avoids cancellation. `sums` is the result of pass A, over F. On the first
 * segment of the path W'(x^c - x) = -t^c W_F'g, and t^c is not used (first_segment != 0).
 * Returns 0 if N is numerically singular or has the wrong inertia, or if q is not finite. */
CVTM_HD int cvtm_lbfgsb_solve_subspace(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                       cvtm_lbfgsb_model *model, cvtm_lbfgsb_work *work,
                                       const cvtm_lbfgsb_layout *layout, const double *sums,
                                       int first_segment) {
  const int k = state->count, m = state->history, row = CVTM_LBFGSB_ORDER;
  const int shift = cvtm_small_shift(k);
  const double inverse = 1.0 / state->theta;
  double *e = work->a, *x = work->b, *schur = work->c, *ry = x + k * k, *rs = work->u;
  for (int at = group.lane; at < k << shift; at += group.lanes) {
    const int i = at >> shift, j = at & ((1 << shift) - 1), entry = i * k + j;
    if (j >= k) continue;
    const int p = work->column[i], q = work->column[j];
    const int pair = cvtm_lbfgsb_triangle(p, q);
    const double yy = state->bounded ? sums[layout->yy + pair] : model->yy[p * row + q];
    e[entry] = yy * inverse + (i == j ? model->sy[p * row + p] : 0.0);
    schur[entry] = state->bounded ? sums[layout->ss + pair] * inverse : 0.0;
    const double sy = state->bounded ? sums[layout->sy + p * m + q] : model->sy[p * row + q];
    x[entry] = i > j ? (state->bounded ? sy * inverse : 0.0) : -sy * inverse;
  }
  for (int i = group.lane; i < k; i += group.lanes) {
    const int p = work->column[i];
    const double y = sums[layout->wg + p], s = sums[layout->wg + m + p];
    const double moved_y = first_segment ? 0.0 : state->cauchy * y + model->wc[p];
    const double moved_s = first_segment ? 0.0 : state->cauchy * s + model->wc[m + p];
    ry[i] = -(y * inverse - moved_y) * inverse;
    rs[i] = -(s * inverse - moved_s) * inverse;
  }
  cvtm_lanes_sync();
  /* with e = C C', the rows of x become (C^-1 X')'; the Schur complement of -e must be positive
   * definite */
  if (!cvtm_small_factor(group, e, k, x, k + 1)) return 0;
  cvtm_small_add_square(group, x, k, schur);
  for (int i = group.lane; i < k; i += group.lanes) rs[i] += cvtm_small_dot(x + i * k, ry, k);
  cvtm_lanes_sync();
  if (!cvtm_small_factor(group, schur, k, rs, 1)) return 0;
  cvtm_small_solve_upper(group, schur, k, rs);
  for (int j = group.lane; j < k; j += group.lanes) {
    double sum = -ry[j];
    for (int i = 0; i < k; ++i) sum += x[i * k + j] * rs[i];
    ry[j] = sum;
  }
  cvtm_lanes_sync();
  cvtm_small_solve_upper(group, e, k, ry);
  double zero = 0.0; /* NaN if an entry of q is not finite */
  for (int i = group.lane; i < k; i += group.lanes) {
    model->q[work->column[i]] = ry[i];
    model->q[m + work->column[i]] = rs[i];
    zero += 0.0 * ry[i] + 0.0 * rs[i];
  }
  return cvtm_lanes_sum(zero) == 0.0;
}

/* Asks for pass B: with the subspace step if `solved`, else with steepest descent and an empty
 * history. Called by one lane. */
CVTM_HD void cvtm_lbfgsb_ask_for_step(cvtm_lbfgsb_state *state, int solved) {
  if (!solved && state->count > 0) {
    cvtm_lbfgsb_drop_history(state);
    state->restarts++;
  }
  state->gradient_factor = -(1.0 - state->theta * state->cauchy) / state->theta;
  if (state->count == 0) {
    /* without pairs the model does not determine a step length: d = P(x - g) - x */
    state->cauchy = 0.0;
    state->gradient_factor = -1.0;
  }
  state->needs_restriction = state->needs_breakpoints = 0;
  state->needs_step = 1;
}

CVTM_HD void cvtm_lbfgsb_decide_subspace(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                         int solved) {
  cvtm_lanes_sync();
  if (group.lane == 0) cvtm_lbfgsb_ask_for_step(state, solved);
  cvtm_lanes_sync();
}
