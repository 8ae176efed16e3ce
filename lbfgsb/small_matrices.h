/* Algebra of the small matrices: order k, row length k; k <= 20 on CUDA. The lanes of a group share
 * the work: one lane on the CPU, the lanes of a warp on CUDA. All lanes of a group call with the
 * same arguments, in memory that all of them see. Each entry is computed by one lane, in an order
 * of operations that does not depend on the size of the group. */
#ifndef CVTMESH_LBFGSB_SMALL_MATRICES_H
#define CVTMESH_LBFGSB_SMALL_MATRICES_H

#include "base/portable.h"

#include <float.h>
#include <math.h>

enum { CVTM_SMALL_MAX_ORDER = 20 };

typedef struct cvtm_lane_group {
  int lane, lanes;
} cvtm_lane_group;

/* After it each lane sees what the others wrote before it. */
CVTM_HD void cvtm_lanes_sync(void) {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

/* 1/sqrt(x), x > 0. On CUDA one step of third order from the hardware's approximation of 20 bits.
 */
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

/* Returns the sum over the lanes to all of them. */
CVTM_HD double cvtm_lanes_sum(double value) {
#ifdef __CUDA_ARCH__
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
#endif
  return value;
}

#ifdef __CUDACC__
/* cvtm_small_factor by a warp, k <= K: lane i has row i in registers and reads the others by
 * shuffles. The registers shift by one column per step, so that the loop is not unrolled: a single
 * warp waits for instructions more than for operands, and short code stays in the cache. */
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
    const double inverse = pivot > DBL_EPSILON * diagonal ? cvtm_inverse_sqrt(pivot) : -1.0;
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

/* cvtm_small_solve_upper by a warp; lane i has entry i. */
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
/* row[j] -= the dot product of row[0 .. j - 1] and pivot[0 .. j - 1], for `count` rows of length k:
 * four rows at once, whose additions do not wait for each other. */
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

/* The Cholesky factorisation a = C C'. The lower triangle of a becomes that of C with the diagonal
 * inverted; each of the `rows` <= k + 1 rows r of x, of length k, becomes C^-1 r. Returns 0 if a is
 * not positive definite up to rounding. */
CVTM_HD int cvtm_small_factor(cvtm_lane_group group, double *a, int k, double *x, int rows) {
#ifdef __CUDA_ARCH__
  return k <= 8 ? cvtm_warp_factor<8>(group.lane, a, k, x, rows)
                : cvtm_warp_factor<CVTM_SMALL_MAX_ORDER>(group.lane, a, k, x, rows);
#else
  int positive = 1;
  (void)group;
  for (int j = 0; j < k; ++j) {
    const double before = a[j * k + j];
    cvtm_small_eliminate(a + j * k, j, a + j * k, k, k - j);
    cvtm_small_eliminate(a + j * k, j, x, k, rows);
    const double pivot = a[j * k + j];
    const double inverse = pivot > DBL_EPSILON * before ? cvtm_inverse_sqrt(pivot) : -1.0;
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

/* x = C^-T x, with C as cvtm_small_factor leaves it. */
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

/* The binary logarithm of a row length >= k, a power of two: in a loop over padded rows, row and
 * column of entry e are e >> shift and the bits below, without a division. */
CVTM_HD int cvtm_small_shift(int k) { return k <= 8 ? 3 : k <= 16 ? 4 : k <= 32 ? 5 : 7; }

CVTM_HD double cvtm_small_dot(const double *a, const double *b, int k) {
  double sum = 0.0;
  for (int l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

/* The lower triangle of a += x x', of order k; x has k rows. */
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

#endif
