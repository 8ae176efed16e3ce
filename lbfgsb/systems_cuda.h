/* For lbfgsb_cuda.cu only: the subspace problem and the curvature of a history of at most
 * SYSTEM_PAIRS pairs, each by a warp. Both are made of a symmetric matrix with a negative definite
 * first half and a positive definite Schur complement, so that elimination needs no interchanges.
 * The pivots are the squares of those of the Cholesky factorisations in subspace.h and
 * limited_memory.h, which longer histories take. With these an iteration takes 1.15 times as long
 * at n = 10^4 and at 10^5 (H200). */
#ifndef CVTMESH_LBFGSB_SYSTEMS_CUDA_H
#define CVTMESH_LBFGSB_SYSTEMS_CUDA_H

#include "lbfgsb/memory_cuda.h"
#include "lbfgsb/subspace.h"

enum { SYSTEM_PAIRS = 8 };

/* A system in the registers of a warp. Rows and columns 0 .. 7 belong to Y, 8 .. 15 to S, each in
 * order of age. Lane r has columns 0 .. 7 of row r, lane r + 16 has columns 8 .. 15. */
struct warp_system {
  double a[SYSTEM_PAIRS];
  double diagonal, b; /* of the row, in both lanes; b: the right side */
  double inverse;     /* 1 / pivot of the row, after the elimination */
};

/* The entries of a system: of_yy yy_pq - d_p (d_p on the diagonal alone) in the block of Y and Y,
 * of_ss ss_pq in that of S and S. That of s_p and y_q is of_younger sy_pq if p is younger than q,
 * else of_older sy_pq. What has the factor 0 need not be a number. */
struct system_entries {
  const double *yy, *ss, *sy; /* sy: row length `row` */
  const double *d;            /* the square matrix with d on its diagonal */
  int packed, row;            /* packed: yy and ss are triangles, else squares */
  double of_yy, of_ss, of_younger, of_older;
};

/* Loads the matrix. Rows and columns without a pair are those of the identity, negative in the
 * first half. */
static __device__ __forceinline__ void load_system(const cvtm_lbfgsb_state *state,
                                                   const system_entries &from,
                                                   warp_system &system) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, k = state->count;
  const int i = lane % SYSTEM_PAIRS, of_s = lane / SYSTEM_PAIRS % 2,
            right = lane / (2 * SYSTEM_PAIRS);
  const int mixed = of_s != right, p = cvtm_lbfgsb_column(state, i);
  const double *const block = mixed ? from.sy : of_s ? from.ss : from.yy;
  const double rest = mixed ? from.of_older : of_s ? from.of_ss : from.of_yy;
  const double added = i >= k ? (of_s ? 1.0 : -1.0)
                       : of_s ? 0.0
                              : -from.d[p * CVTM_LBFGSB_ORDER + p];
  double diagonal = 0.0;
#pragma unroll
  for (int j = 0; j < SYSTEM_PAIRS; ++j) {
    const int q = cvtm_lbfgsb_column(state, j), is_pair = i < k && j < k;
    const int younger = of_s ? i > j : j > i; /* s is younger than y */
    const int at = mixed         ? (of_s ? p * from.row + q : q * from.row + p)
                   : from.packed ? cvtm_lbfgsb_triangle(p, q)
                                 : p * CVTM_LBFGSB_ORDER + q;
    const double factor = mixed && younger ? from.of_younger : rest;
    double value = is_pair && factor != 0.0 ? factor * block[at] : 0.0;
    if (!mixed && i == j) diagonal = value += added;
    system.a[j] = value;
  }
  system.diagonal = __shfl_sync(0xffffffffu, diagonal, lane % 16 + 16 * of_s);
}

/* 1/x, by a step of third order from the hardware's approximation of 20 bits. */
static __device__ double reciprocal(double x) {
  double inverse;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(x));
  const double error = fma(-x, inverse, 1.0);
  return fma(inverse, fma(error, error, error), inverse);
}

/* Eliminates the entries below the diagonal. Returns 0 if a pivot has the wrong sign or is
 * rounding, as in cvtm_small_factor. The diagonal is also kept apart, so that the inverse of the
 * next pivot is found while the other columns are eliminated. The registers rotate by one column
 * per step, so that the loop is not unrolled: a single warp waits for instructions more than for
 * operands, and short code stays in the cache. */
static __device__ __forceinline__ int eliminate(warp_system &system) {
  const unsigned all = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % WARP, r = lane % 16, right = lane / 16;
  double diagonal = system.diagonal, b = system.b, least = DBL_EPSILON * diagonal;
  double inverse = reciprocal(__shfl_sync(all, diagonal, 0));
  int good = 1;
#pragma unroll 1
  for (int j = 0; j < 2 * SYSTEM_PAIRS; ++j) {
    const double own = __shfl_sync(all, system.a[0], j < SYSTEM_PAIRS ? r : r + 16);
    const double factor = r > j ? own * inverse : 0.0, top = __shfl_sync(all, b, j);
    if (r == j) {
      system.inverse = inverse;
      good = j < SYSTEM_PAIRS ? diagonal < least : diagonal > least;
    }
    diagonal = fma(-own, factor, diagonal);
    if (j == SYSTEM_PAIRS - 1) least = DBL_EPSILON * diagonal;      /* of the Schur complement */
    inverse = reciprocal(__shfl_sync(all, diagonal, (j + 1) % 16)); /* of the next pivot */
    b = fma(-top, factor, b);
    const double last =
        fma(-__shfl_sync(all, own, j % SYSTEM_PAIRS + SYSTEM_PAIRS * right), factor, system.a[0]);
#pragma unroll
    for (int c = 1; c < SYSTEM_PAIRS; ++c) {
      const double by = __shfl_sync(all, own, (j + c) % SYSTEM_PAIRS + SYSTEM_PAIRS * right);
      system.a[c - 1] = fma(-by, factor, system.a[c]);
    }
    system.a[SYSTEM_PAIRS - 1] = last;
  }
  system.b = b;
  return __all_sync(all, good);
}

/* After the elimination: lane r < 16 gets entry r of the solution. */
static __device__ __forceinline__ double substitute(const warp_system &system) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, r = lane % 16;
  double x = system.b * system.inverse, scaled[SYSTEM_PAIRS];
#pragma unroll
  for (int c = 0; c < SYSTEM_PAIRS; ++c) scaled[c] = system.a[c] * system.inverse;
#pragma unroll
  for (int j = 2 * SYSTEM_PAIRS - 1; j >= 0; --j) {
    if (j == SYSTEM_PAIRS - 1) x = __shfl_sync(0xffffffffu, x, r + 16);
    const double solved = __shfl_sync(0xffffffffu, x, j < SYSTEM_PAIRS ? j : j + 16);
    if (r < j) x = fma(-scaled[j % SYSTEM_PAIRS], solved, x);
  }
  return x;
}

/* Where lane r < 16 has its entry in W'g and q; negative: the row has no pair. */
static __device__ __forceinline__ int find_entry(const cvtm_lbfgsb_state *state) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, i = lane % SYSTEM_PAIRS;
  const int column = cvtm_lbfgsb_column(state, i);
  return i < state->count ? lane / SYSTEM_PAIRS % 2 * state->history + column : -1;
}

/* cvtm_lbfgsb_solve_subspace (subspace.h) of such a history. */
static __device__ __forceinline__ int eliminate_subspace(const cvtm_lbfgsb_state *state,
                                                         cvtm_lbfgsb_model *model,
                                                         const cvtm_lbfgsb_layout &layout,
                                                         const double *sums, int first_segment) {
  const int bounded = state->bounded, entry = find_entry(state);
  const double inverse = 1.0 / state->theta;
  system_entries from = {model->yy,         model->ss, model->sy, model->sy, 0,
                         CVTM_LBFGSB_ORDER, -inverse,  0.0,       0.0,       -inverse};
  if (bounded) {
    from = {sums + layout.yy, sums + layout.ss, sums + layout.sy, model->sy, 1,
            state->history,   -inverse,         inverse,          inverse,   -inverse};
  }
  warp_system system;
  load_system(state, from, system);
  system.b = 0.0;
  if (entry >= 0) {
    const double g = sums[layout.wg + entry];
    const double moved = first_segment ? 0.0 : state->cauchy * g + model->wc[entry];
    system.b = -(g * inverse - moved) * inverse;
  }
  int good = eliminate(system);
  const double x = substitute(system);
  if (entry >= 0 && threadIdx.x % WARP < 16) {
    model->q[entry] = x;
    good = good && isfinite(x);
  }
  return __all_sync(0xffffffffu, good);
}

/* cvtm_lbfgsb_model_curvature (limited_memory.h) of such a history, without what the exact Cauchy
 * point needs: P^-1 = L diag(pivots) L', so v'Pv is the sum of (L^-1 v)_r^2 / pivot_r. */
static __device__ __forceinline__ double eliminate_curvature(const cvtm_lbfgsb_state *state,
                                                             const cvtm_lbfgsb_model *model) {
  const int entry = find_entry(state);
  const double inverse = 1.0 / state->theta;
  const system_entries from = {model->ss,         model->ss, model->sy, model->sy, 0,
                               CVTM_LBFGSB_ORDER, 0.0,       inverse,   inverse,   0.0};
  warp_system system;
  load_system(state, from, system);
  system.b = entry >= 0 ? model->wg[entry] : 0.0;
  if (!eliminate(system)) return -1.0;
  const int counts = threadIdx.x % WARP < 16;
  const double square = counts ? system.b * system.b * system.inverse : 0.0;
  return state->theta * state->free_gg - cvtm_lanes_sum(square);
}

#endif
