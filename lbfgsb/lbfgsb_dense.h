/* Small dense algebra of the decisions: matrices of order k <= 20 with row length k. A team of
 * lanes shares the work: one lane on the CPU, the lanes of a warp on CUDA. All lanes call with the
 * same arguments, which every lane sees; each entry is made by one lane, in the same order of
 * operations whatever the size of the team. */
#ifndef CVTMESH_LBFGSB_DENSE_H
#define CVTMESH_LBFGSB_DENSE_H

#include "base/portable.h"

#include <float.h>
#include <math.h>

enum { CVTM_DENSE_MOST = 20 };

typedef struct cvtm_team {
  int lane, lanes;
} cvtm_team;

/* What the lanes wrote is seen by all of them. */
CVTM_HD void cvtm_team_sync(void) {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

/* 1/sqrt(x), x > 0. On CUDA from the hardware's 20 bits by one step of third order. */
CVTM_HD double cvtm_inverse_root(double x) {
#ifdef __CUDA_ARCH__
  double root;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(x));
  const double error = fma(-(x * root), root, 1.0);
  return fma(root * error, fma(0.375, error, 0.5), root);
#else
  return 1.0 / sqrt(x);
#endif
}

/* The sum over the lanes, in all of them. */
CVTM_HD double cvtm_team_sum(double value) {
#ifdef __CUDA_ARCH__
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
#endif
  return value;
}

#ifdef __CUDACC__
/* The same by the lanes of a warp: lane i has row i in registers and hears from the others by
 * shuffles; k <= K. Every step is the same code, since the registers move on by one column: a
 * warp that runs alone waits for its instructions more than for its operands. */
template <int K>
static __device__ __forceinline__ int cvtm_warp_factor(int lane, double *a, int k, double *x,
                                                       int rows) {
  double row[K], other[K];
  int good = 1;
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
    const double whole = __shfl_sync(0xffffffffu, before, j);
    const double inverse = pivot > DBL_EPSILON * whole ? cvtm_inverse_root(pivot) : -1.0;
    const double mine = row[0] * inverse, rest = other[0] * inverse;
    good = good && inverse > 0.0;
    if (lane >= j && lane < k) a[lane * k + j] = lane == j ? inverse : mine;
    if (lane < rows) x[lane * k + j] = rest;
#pragma unroll
    for (int c = 1; c < K; ++c) {
      const double by = __shfl_sync(0xffffffffu, mine, (j + c) % 32);
      row[c - 1] = row[c] - mine * by;
      other[c - 1] = other[c] - rest * by;
    }
  }
  __syncwarp();
  return good;
}

static __device__ __forceinline__ void cvtm_warp_solve_upper(int lane, const double *c, int k,
                                                             double *x) {
  double mine = lane < k ? x[lane] : 0.0;
  double next = lane < k ? c[(k - 1) * k + lane] : 0.0;
#pragma unroll 1
  for (int j = k - 1; j >= 0; --j) {
    const double entry = next;
    next = j > 0 && lane < j ? c[(j - 1) * k + lane] : 0.0;
    const double solved = __shfl_sync(0xffffffffu, mine * entry, j);
    mine = lane == j ? solved : lane < j ? mine - entry * solved : mine;
  }
  __syncwarp();
  if (lane < k) x[lane] = mine;
  __syncwarp();
}
#endif

/* a = C C' in the lower triangle of a, the diagonal of C inverted, and each of the rows of x
 * (rows <= k + 1, of length k) becomes C^-1 times it; 0 if a is not positive definite enough. */
CVTM_HD int cvtm_dense_factor(cvtm_team team, double *a, int k, double *x, int rows) {
#ifdef __CUDA_ARCH__
  return k <= 8 ? cvtm_warp_factor<8>(team.lane, a, k, x, rows)
                : cvtm_warp_factor<CVTM_DENSE_MOST>(team.lane, a, k, x, rows);
#else
  int good = 1;
  (void)team;
  for (int j = 0; j < k; ++j) {
    const double before = a[j * k + j];
    for (int i = j; i < k + rows; ++i) {
      double *row = i < k ? a + i * k : x + (i - k) * k;
      for (int l = 0; l < j; ++l) row[j] -= row[l] * a[j * k + l];
    }
    const double pivot = a[j * k + j];
    const double inverse = pivot > DBL_EPSILON * before ? cvtm_inverse_root(pivot) : -1.0;
    good = good && inverse > 0.0;
    a[j * k + j] = inverse;
    for (int i = j + 1; i < k + rows; ++i) {
      double *row = i < k ? a + i * k : x + (i - k) * k;
      row[j] *= inverse;
    }
  }
  return good;
#endif
}

/* x = C^-T x */
CVTM_HD void cvtm_dense_solve_upper(cvtm_team team, const double *c, int k, double *x) {
#ifdef __CUDA_ARCH__
  cvtm_warp_solve_upper(team.lane, c, k, x);
#else
  (void)team;
  for (int j = k - 1; j >= 0; --j) {
    x[j] *= c[j * k + j];
    for (int i = 0; i < j; ++i) x[i] -= c[j * k + i] * x[j];
  }
#endif
}

/* Entry e of a loop over a matrix of order k, its rows cut from a power of two: where it lies is
 * found without a division. */
CVTM_HD int cvtm_dense_shift(int k) { return k <= 8 ? 3 : k <= 16 ? 4 : 5; }

CVTM_HD double cvtm_dense_dot(const double *a, const double *b, int k) {
  double sum = 0.0;
  for (int l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

#endif
