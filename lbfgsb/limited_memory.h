/* The limited-memory matrix B = theta I - W P W', W = [Y S]: products of the stored pairs, and the
 * small matrices formed from them. Byrd, Lu, Nocedal & Zhu 1995, section 3, write M for P, and use
 * W = [Y theta S]. */
#pragma once

#include "lbfgsb/lbfgsb_state.h"

#include <float.h>
#include <math.h>

/* --- algebra of the small matrices ------------------------------------------------------------ */

/* Matrices of order k have rows of k entries; k <= CVTM_LBFGSB_SHORT on CUDA. The lanes of a group
 * share the work: one lane on the CPU, the lanes of a warp on CUDA. All lanes call with the same
 * arguments, which point to memory that all of them access. One lane computes each entry, in an
 * order of operations that does not depend on the size of the group. */

typedef struct cvtm_lane_group {
  int lane, lanes;
} cvtm_lane_group;

/* Waits until each lane sees what the other lanes wrote before. */
CVTM_HD void cvtm_lanes_sync(void) {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

/* 1/sqrt(x), x > 0. On CUDA the hardware computes 20 bits; a step of third order adds the rest. */
CVTM_HD double cvtm_inverse_sqrt(double x) {
#ifdef __CUDA_ARCH__
  double root;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(x));
  const double error = fma(-(x * root), root, 1.0);
  return fma(root * error, fma(0.375, error, 0.5), root);
#else
  return 1.0 / sqrt(x);
#endif
}

/* Returns to every lane the sum over all lanes. */
CVTM_HD double cvtm_lanes_sum(double value) {
#ifdef __CUDA_ARCH__
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
#endif
  return value;
}

/* Nonzero if a pivot of an elimination is positive and does not consist of rounding errors. before:
 * this entry of the diagonal before the elimination. */
CVTM_HD int cvtm_pivot_is_good(double pivot, double before) { return pivot > DBL_EPSILON * before; }

#ifdef __CUDACC__
/* cvtm_small_factor by one warp, k <= K. Lane i has row i in registers and reads other rows by
 * shuffles. The registers shift by one column per step instead of the loop being unrolled: a single
 * warp waits longer for instructions than for operands, and short code stays in the cache. */
template <int K>
static __device__ __forceinline__ int cvtm_warp_factor(int lane, double *a, int k, double *x,
                                                       int rows) {
  double row[K], other[K];
  int positive = 1;
  const double before = lane < k ? a[lane * k + lane] : 1.0;
#pragma unroll
  for (int j = 0; j < K; ++j) {
    row[j] = lane < k && j <= lane ? a[lane * k + j] : 0.0;
    other[j] = lane < rows && j < k ? x[lane * k + j] : 0.0;
  }
  __syncwarp();
#pragma unroll 1
  for (int j = 0; j < k; ++j) {
    const double pivot = __shfl_sync(0xffffffffu, row[0], j);
    const double diagonal = __shfl_sync(0xffffffffu, before, j);
    const double inverse = cvtm_pivot_is_good(pivot, diagonal) ? cvtm_inverse_sqrt(pivot) : -1.0;
    const double own = row[0] * inverse, scaled = other[0] * inverse;
    positive = positive && inverse > 0.0;
    if (lane >= j && lane < k) a[lane * k + j] = lane == j ? inverse : own;
    if (lane < rows) x[lane * k + j] = scaled;
#pragma unroll
    for (int c = 1; c < K; ++c) {
      const double by = __shfl_sync(0xffffffffu, own, (j + c) % 32);
      row[c - 1] = row[c] - own * by;
      other[c - 1] = other[c] - scaled * by;
    }
  }
  __syncwarp();
  return positive;
}

/* cvtm_small_solve_upper by one warp; lane i has entry i. */
static __device__ __forceinline__ void cvtm_warp_solve_upper(int lane, const double *c, int k,
                                                             double *x) {
  double own = lane < k ? x[lane] : 0.0;
  double next = lane < k ? c[(k - 1) * k + lane] : 0.0;
#pragma unroll 1
  for (int j = k - 1; j >= 0; --j) {
    const double entry = next;
    next = j > 0 && lane < j ? c[(j - 1) * k + lane] : 0.0;
    const double solved = __shfl_sync(0xffffffffu, own * entry, j);
    own = lane == j ? solved : lane < j ? own - entry * solved : own;
  }
  __syncwarp();
  if (lane < k) x[lane] = own;
  __syncwarp();
}
#endif

#ifndef __CUDA_ARCH__
/* For `count` rows of k entries, subtracts from row[j] the dot product of row[0 .. j - 1] and
 * pivot[0 .. j - 1]. Takes four rows at once, whose additions do not wait for each other. */
CVTM_HD void cvtm_small_eliminate(const double *pivot, int j, double *rows, int k, int count) {
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    double *const r0 = rows + i * k, *const r1 = r0 + k, *const r2 = r1 + k, *const r3 = r2 + k;
    double s0 = r0[j], s1 = r1[j], s2 = r2[j], s3 = r3[j];
    for (int l = 0; l < j; ++l) {
      const double by = pivot[l];
      s0 -= r0[l] * by;
      s1 -= r1[l] * by;
      s2 -= r2[l] * by;
      s3 -= r3[l] * by;
    }
    r0[j] = s0;
    r1[j] = s1;
    r2[j] = s2;
    r3[j] = s3;
  }
  for (; i < count; ++i) {
    for (int l = 0; l < j; ++l) rows[i * k + j] -= rows[i * k + l] * pivot[l];
  }
}
#endif

/* The Cholesky factorisation a = C C'. C replaces the lower triangle of a, with the inverse of its
 * diagonal. x has `rows` <= k + 1 rows r of k entries; each becomes C^-1 r. Returns 0 if a is not
 * positive definite up to rounding. */
CVTM_HD int cvtm_small_factor(cvtm_lane_group group, double *a, int k, double *x, int rows) {
#ifdef __CUDA_ARCH__
  return k <= 8 ? cvtm_warp_factor<8>(group.lane, a, k, x, rows)
                : cvtm_warp_factor<CVTM_LBFGSB_SHORT>(group.lane, a, k, x, rows);
#else
  int positive = 1;
  (void)group;
  for (int j = 0; j < k; ++j) {
    const double before = a[j * k + j];
    cvtm_small_eliminate(a + j * k, j, a + j * k, k, k - j);
    cvtm_small_eliminate(a + j * k, j, x, k, rows);
    const double pivot = a[j * k + j];
    const double inverse = cvtm_pivot_is_good(pivot, before) ? cvtm_inverse_sqrt(pivot) : -1.0;
    positive = positive && inverse > 0.0;
    a[j * k + j] = inverse;
    for (int i = j + 1; i < k + rows; ++i) {
      double *row = i < k ? a + i * k : x + (i - k) * k;
      row[j] *= inverse;
    }
  }
  return positive;
#endif
}

/* Solves C' x_new = x in place, where cvtm_small_factor has computed C. */
CVTM_HD void cvtm_small_solve_upper(cvtm_lane_group group, const double *c, int k, double *x) {
#ifdef __CUDA_ARCH__
  cvtm_warp_solve_upper(group.lane, c, k, x);
#else
  (void)group;
  for (int j = k - 1; j >= 0; --j) {
    x[j] *= c[j * k + j];
    for (int i = 0; i < j; ++i) x[i] -= c[j * k + i] * x[j];
  }
#endif
}

/* The binary logarithm of a power of two >= k, used as the length of padded rows: a loop over their
 * entries e finds the row as e >> shift and the column as the lower bits, without a division. */
CVTM_HD int cvtm_small_shift(int k) { return k <= 8 ? 3 : k <= 16 ? 4 : k <= 32 ? 5 : 7; }

CVTM_HD double cvtm_small_dot(const double *a, const double *b, int k) {
  double sum = 0.0;
  for (int l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

/* Adds x x' to the lower triangle of a; a has order k, x has k rows. */
CVTM_HD void cvtm_small_add_square(cvtm_lane_group group, const double *x, int k, double *a) {
#ifdef __CUDA_ARCH__
  const int shift = cvtm_small_shift(k);
  for (int at = group.lane; at < k << shift; at += group.lanes) {
    const int i = at >> shift, j = at & ((1 << shift) - 1);
    if (j <= i) a[i * k + j] += cvtm_small_dot(x + i * k, x + j * k, k);
  }
#else
  (void)group;
  for (int i = 0; i < k; ++i) {
    const double *own = x + i * k;
    int j = 0;
    for (; j + 4 <= i + 1; j += 4) {
      const double *b0 = x + j * k, *b1 = b0 + k, *b2 = b1 + k, *b3 = b2 + k;
      double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
      for (int l = 0; l < k; ++l) {
        s0 += own[l] * b0[l];
        s1 += own[l] * b1[l];
        s2 += own[l] * b2[l];
        s3 += own[l] * b3[l];
      }
      a[i * k + j] += s0;
      a[i * k + j + 1] += s1;
      a[i * k + j + 2] += s2;
      a[i * k + j + 3] += s3;
    }
    for (; j <= i; ++j) a[i * k + j] += cvtm_small_dot(own, x + j * k, k);
  }
#endif
}

/* --- the limited-memory matrix ---------------------------------------------------------------- */

/* Resets B to the identity, so that the next direction is steepest descent. */
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

/* Lists the columns of Y (or S) by age, the oldest first. */
CVTM_HD void cvtm_lbfgsb_list_columns(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                      cvtm_lbfgsb_work *work) {
  for (int i = group.lane; i < state->count; i += group.lanes) {
    work->column[i] = cvtm_lbfgsb_column(state, i);
  }
  cvtm_lanes_sync();
}

/* Column r of W, if Y precedes S and the columns of both are in order of age. */
CVTM_HD int cvtm_lbfgsb_w_column(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_work *work,
                                 int r) {
  const int k = state->count;
  return r < k ? work->column[r] : state->history + work->column[r - k];
}

/* Stores the products of the new pair in S'S, S'Y and Y'Y, and sets theta = y'y / s'y. sums: the
 * result of pass A. */
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

/* Copies W'g and g'g over free rows, and the products of a new pair, from the sums of pass A. */
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

/* s_i'y_j for the pairs of ages i and j. The entries with i > j form L of Byrd et al. (3.5). */
CVTM_HD double cvtm_lbfgsb_sy(const cvtm_lbfgsb_model *model, const cvtm_lbfgsb_work *work, int i,
                              int j) {
  return model->sy[work->column[i] * CVTM_LBFGSB_ORDER + work->column[j]];
}

/* f'' along the projected gradient before the first breakpoint: theta g'g - v'Pv, where v = W'g
 * over the rows with t_i > 0. With P^-1 = [-D, L'/theta; L/theta, S'S/theta] and the Cholesky
 * factorisation C C' = T = S'S + L D^-1 L'/theta,
 *   v'Pv = theta |C^-1 (v_s + L D^-1 v_y / theta)|^2 - v_y' D^-1 v_y.
 * Stores C in work->a and L D^-1 in work->b. Returns a negative number if T is not positive
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

/* Sets x to column j of P, with rows in order of age, Y before S. `work` must contain C and L D^-1
 * of cvtm_lbfgsb_model_curvature. Called by one lane for each column. P^-1 x = (a, b) has the
 * solution T x_s = theta b + L D^-1 a, x_y = D^-1 (L' x_s / theta - a). */
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
