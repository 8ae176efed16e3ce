/* The limited-memory matrix B = theta I - W P W', W = [Y S] (Byrd, Lu, Nocedal & Zhu 1995, section
 * 3; there M stands for P and W = [Y theta S]): products of the stored pairs, and the small
 * matrices made of them. */
#ifndef CVTMESH_LBFGSB_LIMITED_MEMORY_H
#define CVTMESH_LBFGSB_LIMITED_MEMORY_H

#include "lbfgsb/lbfgsb_state.h"
#include "lbfgsb/small_matrices.h"

/* Resets B to the identity: the next direction is that of steepest descent. */
CVTM_HD void cvtm_lbfgsb_drop_history(cvtm_lbfgsb_state *state) {
  state->count = 0;
  state->oldest = 0;
  state->theta = 1.0;
}

/* Finds the column of a new pair: a free one, or the column of the oldest pair. */
CVTM_HD void cvtm_lbfgsb_allocate_column(cvtm_lbfgsb_state *state) {
  if (state->count < state->history) {
    state->newest = state->count++;
  } else {
    state->newest = state->oldest;
    state->oldest = state->oldest + 1 < state->history ? state->oldest + 1 : 0;
  }
}

/* Lists the columns of Y (or S) in order of age, the oldest first. */
CVTM_HD void cvtm_lbfgsb_list_columns(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                      cvtm_lbfgsb_work *work) {
  for (int i = group.lane; i < state->count; i += group.lanes) {
    work->column[i] = cvtm_lbfgsb_column(state, i);
  }
  cvtm_lanes_sync();
}

/* The column of W that is number r when Y precedes S and the columns of each are ordered by age. */
CVTM_HD int cvtm_lbfgsb_w_column(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_work *work,
                                 int r) {
  const int k = state->count;
  return r < k ? work->column[r] : state->history + work->column[r - k];
}

/* Enters the products of the new pair into S'S, S'Y and Y'Y, and sets theta = y'y / s'y. `sums`
 * is the result of pass A. */
CVTM_HD void cvtm_lbfgsb_update_products(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                         cvtm_lbfgsb_model *model, const cvtm_lbfgsb_layout *layout,
                                         const double *sums) {
  const int row = CVTM_LBFGSB_ORDER, new_column = state->newest;
  for (int p = group.lane; p < state->count; p += group.lanes) {
    model->sy[new_column * row + p] = sums[layout->y_s + p];
    model->ss[new_column * row + p] = model->ss[p * row + new_column] = sums[layout->s_s + p];
    if (!state->bounded) {
      model->yy[new_column * row + p] = model->yy[p * row + new_column] = sums[layout->y_y + p];
      if (p != new_column) model->sy[p * row + new_column] = sums[layout->s_y + p];
    }
  }
  if (group.lane == 0) state->theta = sums[CVTM_SUM_YY] / sums[layout->y_s + new_column];
}

/* Takes W'g and g'g over the free rows, and the products of a new pair, from the sums of pass A. */
CVTM_HD void cvtm_lbfgsb_update_model(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                      cvtm_lbfgsb_model *model, const cvtm_lbfgsb_layout *layout,
                                      const double *sums) {
  for (int p = group.lane; p < 2 * state->history; p += group.lanes) {
    model->wg[p] = sums[layout->wg + p];
  }
  if (state->store_pair) cvtm_lbfgsb_update_products(group, state, model, layout, sums);
  if (group.lane == 0) state->free_gg = sums[CVTM_SUM_FREE_GG];
  cvtm_lanes_sync();
}

/* s_i'y_j of the pairs of ages i and j. Those with i > j are L of Byrd et al. (3.5). */
CVTM_HD double cvtm_lbfgsb_sy(const cvtm_lbfgsb_model *model, const cvtm_lbfgsb_work *work, int i,
                              int j) {
  return model->sy[work->column[i] * CVTM_LBFGSB_ORDER + work->column[j]];
}

/* f'' along the projected gradient before the first breakpoint: theta g'g - v'Pv with v = W'g over
 * the rows with t_i > 0. With P^-1 = [-D, L'/theta; L/theta, S'S/theta] and the Cholesky
 * factorisation C C' = T = S'S + L D^-1 L'/theta,
 *   v'Pv = theta |C^-1 (v_s + L D^-1 v_y / theta)|^2 - v_y' D^-1 v_y.
 * Leaves C in work->a and L D^-1 in work->b. Returns a negative number if T is not positive
 * definite. */
CVTM_HD double cvtm_lbfgsb_model_curvature(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                           const cvtm_lbfgsb_model *model, cvtm_lbfgsb_work *work) {
  const int k = state->count, m = state->history;
  const double inverse_theta = 1.0 / state->theta;
  const int shift = cvtm_small_shift(k);
  double *l_over_d = work->b, *vs = work->u;
  int good = 1;
  for (int j = 0; j < k; ++j) good = good && cvtm_lbfgsb_sy(model, work, j, j) > 0.0;
  if (!good) return -1.0;
  for (int j = group.lane; j < k; j += group.lanes) {
    work->inverse_d[j] = 1.0 / cvtm_lbfgsb_sy(model, work, j, j);
  }
  cvtm_lanes_sync();
  for (int e = group.lane; e < k << shift; e += group.lanes) {
    const int i = e >> shift, j = e & ((1 << shift) - 1);
    if (j >= k) continue;
    l_over_d[i * k + j] = i > j ? cvtm_lbfgsb_sy(model, work, i, j) * work->inverse_d[j] : 0.0;
  }
  cvtm_lanes_sync();
  for (int e = group.lane; e < k << shift; e += group.lanes) {
    const int i = e >> shift, j = e & ((1 << shift) - 1);
    if (j > i) continue;
    double sum = 0.0;
    for (int l = 0; l < j; ++l) sum += cvtm_lbfgsb_sy(model, work, i, l) * l_over_d[j * k + l];
    work->a[i * k + j] =
        model->ss[work->column[i] * CVTM_LBFGSB_ORDER + work->column[j]] + sum * inverse_theta;
  }
  double negative = 0.0;
  for (int i = group.lane; i < k; i += group.lanes) {
    double sum = 0.0;
    for (int j = 0; j < i; ++j) sum += l_over_d[i * k + j] * model->wg[work->column[j]];
    vs[i] = model->wg[m + work->column[i]] + sum * inverse_theta;
    const double vy = model->wg[work->column[i]];
    negative += vy * vy * work->inverse_d[i];
  }
  negative = cvtm_lanes_sum(negative);
  cvtm_lanes_sync();
  if (!cvtm_small_factor(group, work->a, k, vs, 1)) return -1.0;
  return state->theta * state->free_gg - (state->theta * cvtm_small_dot(vs, vs, k) - negative);
}

/* x = column j of P, rows in order of age, Y before S. Needs C and L D^-1 in `work` from
 * cvtm_lbfgsb_model_curvature; one lane computes the whole column. P^-1 x = (a, b) has the solution
 * T x_s = theta b + L D^-1 a, x_y = D^-1 (L' x_s / theta - a). */
CVTM_HD void cvtm_lbfgsb_model_column(const cvtm_lbfgsb_state *state,
                                      const cvtm_lbfgsb_model *model, const cvtm_lbfgsb_work *work,
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
    const double one = i == j ? 1.0 / cvtm_lbfgsb_sy(model, work, i, i) : 0.0;
    x[i] = sum / state->theta - one;
  }
}

#endif
