/* Small dense algebra of the controller: matrices of order k <= 20 with row length k. */
#ifndef CVTMESH_LBFGSB_DENSE_H
#define CVTMESH_LBFGSB_DENSE_H

#include "base/portable.h"

#include <float.h>
#include <math.h>

/* a = C C' in the lower triangle of a; 0 if a is not positive definite enough. */
CVTM_HD int cvtm_dense_cholesky(double *a, int k) {
  for (int j = 0; j < k; ++j) {
    const double diagonal = a[j * k + j];
    double pivot = diagonal;
    for (int l = 0; l < j; ++l) pivot -= a[j * k + l] * a[j * k + l];
    if (!(pivot > DBL_EPSILON * diagonal)) return 0;
    pivot = sqrt(pivot);
    a[j * k + j] = pivot;
    for (int i = j + 1; i < k; ++i) {
      double sum = a[i * k + j];
      for (int l = 0; l < j; ++l) sum -= a[i * k + l] * a[j * k + l];
      a[i * k + j] = sum / pivot;
    }
  }
  return 1;
}

/* x = C^-1 x */
CVTM_HD void cvtm_dense_solve_lower(const double *c, int k, double *x) {
  for (int i = 0; i < k; ++i) {
    double sum = x[i];
    for (int l = 0; l < i; ++l) sum -= c[i * k + l] * x[l];
    x[i] = sum / c[i * k + i];
  }
}

/* x = C^-T x */
CVTM_HD void cvtm_dense_solve_upper(const double *c, int k, double *x) {
  for (int i = k - 1; i >= 0; --i) {
    double sum = x[i];
    for (int l = i + 1; l < k; ++l) sum -= c[l * k + i] * x[l];
    x[i] = sum / c[i * k + i];
  }
}

CVTM_HD double cvtm_dense_dot(const double *a, const double *b, int k) {
  double sum = 0.0;
  for (int l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

#endif
