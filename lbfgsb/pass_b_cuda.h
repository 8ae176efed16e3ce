/* For lbfgsb_cuda.cu and divided_cuda.cu only: pass B and the passes that need no products with W.
 */
#ifndef CVTMESH_LBFGSB_PASS_B_CUDA_H
#define CVTMESH_LBFGSB_PASS_B_CUDA_H

#include "lbfgsb/pass_a_cuda.h"

/* x = trial_x = x projected onto the box, g = d = 0. */
static __device__ void pass_start(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  thread_sums own = empty_sums();
  for (int64_t i = first_index(on); i < arrays.n; i += index_stride(on)) {
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], 0.0);
    const double x = cvtm_clamp(row.x, row.lower, row.upper);
    if (x != row.x) own.value[CVTM_SUM_ACTIVE] += 1.0;
    arrays.x[i] = x;
    arrays.trial_x[i] = x;
    arrays.g[i] = 0.0;
    arrays.d[i] = 0.0;
  }
  write_block_sums(on, own, 0);
}

/* The line search: g'd at the trial point. */
static __device__ void pass_search(block_group on) {
  thread_sums own = empty_sums();
  for (int64_t i = first_index(on); i < block_memory()->arrays.n; i += index_stride(on)) {
    own.value[CVTM_SUM_SLOPE] += block_memory()->arrays.trial_g[i] * block_memory()->arrays.d[i];
  }
  write_block_sums(on, own, 0);
}

/* Writes x, g and the new pair of row i from the trial point, after a speculative pass A. */
static __device__ pair_entry commit_row(const cvtm_lbfgsb_arrays &arrays, int64_t i, int m,
                                        int newest) {
  const double x = arrays.trial_x[i], g = arrays.trial_g[i];
  const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, x, g);
  const pair_entry pair = make_pair(arrays, row, arrays.x[i], g, arrays.g[i]);
  double *w = arrays.w;
  w[cvtm_lbfgsb_at(i, newest, m)] = pair.y;
  w[cvtm_lbfgsb_at(i, m + newest, m)] = pair.s;
  arrays.x[i] = x;
  arrays.g[i] = g;
  return pair;
}

/* Writes what a speculative pass A did not, if no pass B follows that does. */
static __device__ void pass_commit(block_group on) {
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  for (int64_t i = first_index(on); i < block_memory()->arrays.n; i += index_stride(on)) {
    commit_row(block_memory()->arrays, i, state->history, state->newest);
  }
}

/* Pass B: d and the trial point of step 1, with the truncated step if that is due; commit: it also
 * writes what a speculative pass A did not. From the last row to the first, since the rows that
 * pass A read last are still in the cache. */
static __device__ __noinline__ void pass_b(block_group on, int commit) {
  const cvtm_lbfgsb_arrays arrays = block_memory()->arrays;
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  const int m = state->history, k = state->count, newest = commit ? state->newest : -1;
  const double factor = state->due_fallback ? state->truncation : 1.0;
  const double *q = block_memory()->model.q;
  const double *point = commit ? arrays.trial_x : arrays.x;
  const double *gradient = commit ? arrays.trial_g : arrays.g;
  const int64_t stride = index_stride(on), end = (arrays.n + WARP - 1) / WARP * WARP;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  thread_sums own = empty_sums();
  for (int64_t i = end - WARP - first_index(on) + 2 * lane; i >= 0; i -= stride) {
    if (i >= arrays.n) continue;
    const double *w = arrays.w + cvtm_lbfgsb_at(i, 0, m);
    const double g = gradient[i];
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, point[i], g);
    pair_entry pair = {0, 0};
    if (commit) pair = make_pair(arrays, row, arrays.x[i], g, arrays.g[i]);
    double wq = 0.0;
#pragma unroll 8
    for (int p = 0; p < k; ++p) {
      const double y = p == newest ? pair.y : w[p * TILE];
      const double s = p == newest ? pair.s : w[(m + p) * TILE];
      wq += static_cast<double>(y) * q[p] + static_cast<double>(s) * q[m + p];
    }
    const double d =
        cvtm_lbfgsb_direction(state, &row, wq, factor, &own.value[CVTM_MIN_TRUNCATION]);
    const double scaled = cvtm_lbfgsb_unscaled(&arrays, &row, d);
    if (commit) {
      double *to = arrays.w + cvtm_lbfgsb_at(i, 0, m);
      to[newest * TILE] = pair.y;
      to[(m + newest) * TILE] = pair.s;
      arrays.x[i] = row.x;
      arrays.g[i] = g;
    }
    arrays.d[i] = d;
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, d, 1.0);
    own.value[CVTM_MIN_STEP] = cvtm_lbfgsb_least_step(&row, row.x, d, own.value[CVTM_MIN_STEP]);
    own.value[CVTM_SUM_SLOPE] += g * d;
    own.value[CVTM_SUM_DD] += scaled * scaled;
  }
  write_block_sums(on, own, 0);
}

/* The trial point of a step other than 1. */
static __device__ void pass_trial(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  const double step = block_memory()->state.step;
  for (int64_t i = first_index(on); i < arrays.n; i += index_stride(on)) {
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], 0.0);
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, arrays.d[i], step);
  }
}

#endif
