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

/* a = C C' in the lower triangle of a, the diagonal of C inverted; 0 if a is not positive
 * definite enough. */
CVTM_HD_CALLED int cvtm_dense_cholesky(cvtm_team team, double *a, int k) {
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
}

/* x = C^-1 x */
CVTM_HD_CALLED void cvtm_dense_solve_lower(cvtm_team team, const double *c, int k, double *x) {
  for (int j = 0; j < k; ++j) {
    if (team.lane == 0) x[j] *= c[j * k + j];
    cvtm_team_sync();
    for (int i = j + 1 + team.lane; i < k; i += team.lanes) x[i] -= c[i * k + j] * x[j];
    cvtm_team_sync();
  }
}

/* x = C^-T x */
CVTM_HD_CALLED void cvtm_dense_solve_upper(cvtm_team team, const double *c, int k, double *x) {
  for (int j = k - 1; j >= 0; --j) {
    if (team.lane == 0) x[j] *= c[j * k + j];
    cvtm_team_sync();
    for (int i = team.lane; i < j; i += team.lanes) x[i] -= c[j * k + i] * x[j];
    cvtm_team_sync();
  }
}

/* Every row of x (k x k) becomes C^-1 times it, one lane a row. */
CVTM_HD_CALLED void cvtm_dense_solve_rows(cvtm_team team, const double *c, int k, double *x) {
  for (int r = team.lane; r < k; r += team.lanes) {
    double *row = x + r * k;
    for (int i = 0; i < k; ++i) {
      double sum = row[i];
      for (int l = 0; l < i; ++l) sum -= c[i * k + l] * row[l];
      row[i] = sum * c[i * k + i];
    }
  }
  cvtm_team_sync();
}

CVTM_HD double cvtm_dense_dot(const double *a, const double *b, int k) {
  double sum = 0.0;
  for (int l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

#endif
