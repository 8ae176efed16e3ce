/* Small dense algebra of the decisions: matrices of order k <= 20 with row length k. A team of
 * lanes shares the work: one lane on the CPU, the lanes of a warp on CUDA. All lanes call with the
 * same arguments, which every lane sees; each entry is made by one lane, in the same order of
 * operations whatever the size of the team. */
#ifndef CVTMESH_LBFGSB_DENSE_H
#define CVTMESH_LBFGSB_DENSE_H

#include "base/portable.h"

#include <float.h>
#include <math.h>

/* A function that a kernel calls: inlined everywhere, the decisions would not fit the device's
 * instruction cache. */
#ifdef __CUDACC__
#define CVTM_HD_CALLED static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define CVTM_HD_CALLED static inline
#endif

typedef struct cvtm_team {
  int lane, lanes;
} cvtm_team;

/* What the lanes wrote is seen by all of them. */
CVTM_HD void cvtm_team_sync(void) {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

/* 1/sqrt(x), x > 0. */
CVTM_HD double cvtm_inverse_root(double x) {
#ifdef __CUDA_ARCH__
  return rsqrt(x);
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
/* The same operations in the same order by the lanes of a warp: lane i has row i in registers and
 * hears from the others by shuffles; k <= K. Rows and columns beyond k are those of the identity.
 */
static __device__ __forceinline__ double cvtm_warp_from(double value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}

/* Row `lane` of the lower triangle. */
template <int K>
static __device__ __forceinline__ void cvtm_warp_load(const double *c, int k, int lane,
                                                      double (&row)[K]) {
#pragma unroll
  for (int j = 0; j < K; ++j)
    row[j] = lane < k && j <= lane ? c[lane * k + j] : (double)(j == lane);
}

template <int K>
static __device__ __noinline__ int cvtm_warp_cholesky(int lane, double *a, int k) {
  double row[K];
  int good = 1;
  cvtm_warp_load(a, k, lane, row);
#pragma unroll
  for (int j = 0; j < K; ++j) {
    double sum = row[j];
#pragma unroll
    for (int l = 0; l < j; ++l) sum -= row[l] * cvtm_warp_from(row[l], j);
    const double pivot = cvtm_warp_from(sum, j), before = cvtm_warp_from(row[j], j);
    const double inverse = pivot > DBL_EPSILON * before ? rsqrt(pivot) : -1.0;
    good = good && inverse > 0.0;
    row[j] = lane == j ? inverse : sum * inverse;
  }
  __syncwarp();
#pragma unroll
  for (int j = 0; j < K; ++j)
    if (lane < k && j <= lane) a[lane * k + j] = row[j];
  __syncwarp();
  return good;
}

template <int K>
static __device__ __noinline__ void cvtm_warp_solve_lower(int lane, const double *c, int k,
                                                          double *x) {
  double row[K], mine = lane < k ? x[lane] : 0.0;
  cvtm_warp_load(c, k, lane, row);
#pragma unroll
  for (int j = 0; j < K; ++j) {
    const double solved = cvtm_warp_from(mine * row[j], j);
    mine = lane == j ? solved : lane > j ? mine - row[j] * solved : mine;
  }
  __syncwarp();
  if (lane < k) x[lane] = mine;
  __syncwarp();
}

template <int K>
static __device__ __noinline__ void cvtm_warp_solve_upper(int lane, const double *c, int k,
                                                          double *x) {
  double column[K], mine = lane < k ? x[lane] : 0.0;
#pragma unroll
  for (int j = 0; j < K; ++j)
    column[j] = j < k && lane <= j ? c[j * k + lane] : (double)(j == lane);
#pragma unroll
  for (int j = K - 1; j >= 0; --j) {
    const double solved = cvtm_warp_from(mine * column[j], j);
    mine = lane == j ? solved : lane < j ? mine - column[j] * solved : mine;
  }
  __syncwarp();
  if (lane < k) x[lane] = mine;
  __syncwarp();
}

template <int K>
static __device__ __noinline__ void cvtm_warp_solve_rows(int lane, const double *c, int k,
                                                         double *x) {
  double row[K];
#pragma unroll
  for (int i = 0; i < K; ++i) row[i] = lane < k && i < k ? x[lane * k + i] : 0.0;
#pragma unroll
  for (int i = 0; i < K; ++i) {
    if (i >= k) break;
    double sum = row[i];
#pragma unroll
    for (int l = 0; l < i; ++l) sum -= c[i * k + l] * row[l];
    row[i] = sum * c[i * k + i];
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < K; ++i)
    if (lane < k && i < k) x[lane * k + i] = row[i];
  __syncwarp();
}

#endif

/* Calls function<K> with the K that k needs, where a warp runs. */
#ifdef __CUDA_ARCH__
#define CVTM_WARP_CALL(function, ...)               \
  (k <= 8    ? function<8>(team.lane, __VA_ARGS__)  \
   : k <= 16 ? function<16>(team.lane, __VA_ARGS__) \
             : function<20>(team.lane, __VA_ARGS__))
#endif

/* a = C C' in the lower triangle of a, the diagonal of C inverted; 0 if a is not positive
 * definite enough. */
CVTM_HD_CALLED int cvtm_dense_cholesky(cvtm_team team, double *a, int k) {
#ifdef __CUDA_ARCH__
  return CVTM_WARP_CALL(cvtm_warp_cholesky, a, k);
#else
  int good = 1;
  for (int j = 0; j < k; ++j) {
    for (int i = j + team.lane; i < k; i += team.lanes) {
      double sum = a[i * k + j];
      for (int l = 0; l < j; ++l) sum -= a[i * k + l] * a[j * k + l];
      if (i == j) sum = sum > DBL_EPSILON * a[j * k + j] ? cvtm_inverse_root(sum) : -1.0;
      a[i * k + j] = sum;
    }
    cvtm_team_sync();
    const double inverse = a[j * k + j];
    good = good && inverse > 0.0;
    for (int i = j + team.lane; i < k; i += team.lanes) {
      if (i != j) a[i * k + j] *= inverse;
    }
    cvtm_team_sync();
  }
  return good;
#endif
}

/* x = C^-1 x */
CVTM_HD_CALLED void cvtm_dense_solve_lower(cvtm_team team, const double *c, int k, double *x) {
#ifdef __CUDA_ARCH__
  CVTM_WARP_CALL(cvtm_warp_solve_lower, c, k, x);
#else
  for (int j = 0; j < k; ++j) {
    if (team.lane == 0) x[j] *= c[j * k + j];
    cvtm_team_sync();
    for (int i = j + 1 + team.lane; i < k; i += team.lanes) x[i] -= c[i * k + j] * x[j];
    cvtm_team_sync();
  }
#endif
}

/* x = C^-T x */
CVTM_HD_CALLED void cvtm_dense_solve_upper(cvtm_team team, const double *c, int k, double *x) {
#ifdef __CUDA_ARCH__
  CVTM_WARP_CALL(cvtm_warp_solve_upper, c, k, x);
#else
  for (int j = k - 1; j >= 0; --j) {
    if (team.lane == 0) x[j] *= c[j * k + j];
    cvtm_team_sync();
    for (int i = team.lane; i < j; i += team.lanes) x[i] -= c[j * k + i] * x[j];
    cvtm_team_sync();
  }
#endif
}

/* Every row of x (k x k) becomes C^-1 times it, one lane a row. */
CVTM_HD_CALLED void cvtm_dense_solve_rows(cvtm_team team, const double *c, int k, double *x) {
#ifdef __CUDA_ARCH__
  CVTM_WARP_CALL(cvtm_warp_solve_rows, c, k, x);
#else
  for (int r = team.lane; r < k; r += team.lanes) {
    double *row = x + r * k;
    for (int i = 0; i < k; ++i) {
      double sum = row[i];
      for (int l = 0; l < i; ++l) sum -= c[i * k + l] * row[l];
      row[i] = sum * c[i * k + i];
    }
  }
  cvtm_team_sync();
#endif
}

CVTM_HD double cvtm_dense_dot(const double *a, const double *b, int k) {
  double sum = 0.0;
  for (int l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

#endif
