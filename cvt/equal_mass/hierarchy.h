/* Inside equal_mass only: aggregation-based algebraic multigrid for a matrix of couplings, the
 * preconditioner of conjugate gradients. An unknown of a level is an aggregate of up to about six
 * unknowns of the finer level, made by matching strongly coupled pairs and then pairs of these
 * (Notay 2010). Interpolation is constant on an aggregate, so that the matrix of a level couples
 * two aggregates by the sum of the couplings between them. Corrections are multiplied by a factor
 * above 1, because the energy of piecewise constant functions is too large (Braess 1995). Compiles
 * as C11 and inside CUDA kernels. */
#pragma once

#include "base/device.h"
#include "base/portable.h"

CVTM_C_BEGIN

enum { CVTM_POWER_LEVELS = 16 };

/* A graph Laplacian. Row i has the couplings first[i] .. first[i] + degree[i] - 1. */
typedef struct cvtm_power_matrix {
  int64_t count;
  const int32_t *first, *degree, *neighbor;
  const double *coupling;
  const double *diagonal; /* the sum of the couplings of each row */
} cvtm_power_matrix;

/* The system of a level, matrix * correction = right, and its aggregates. */
typedef struct cvtm_power_level {
  cvtm_power_matrix matrix;
  const int32_t *child_first, *child; /* row i joins the finer level's rows child[k] for k =
                                         child_first[i] .. child_first[i + 1] - 1 */
  double *right, *correction;
  double *scratch; /* going down: the residual; going up: the sum of the corrections */
} cvtm_power_level;

/* Level 0 is the caller's matrix. All pointers are to device memory. */
typedef struct cvtm_power_hierarchy {
  int32_t levels; /* 0: none has been built */
  cvtm_power_level level[CVTM_POWER_LEVELS];
  const double *inverse; /* the inverse of the coarsest level's matrix, row by row; NULL if the
                            matrix has too many rows, or is the finest */
  int32_t *indices;      /* the memory of the levels' arrays */
  double *values;
  int64_t index_capacity, value_capacity;
} cvtm_power_hierarchy;

/* Makes the levels that are coarser than the finest, on the host. order (device memory): the slot
 * of each row of the finest level; the rows are visited in the order of their slots. On failure the
 * hierarchy has no levels. */
cvtm_status cvtm_power_hierarchy_build(cvtm_device *device, const cvtm_power_level *finest,
                                       const int32_t *order, cvtm_power_hierarchy *hierarchy);
void cvtm_power_hierarchy_release(cvtm_device *device, cvtm_power_hierarchy *hierarchy);

CVTM_C_END

/* The damping of Jacobi's method, and the factor by which corrections are multiplied. */
#define CVTM_POWER_DAMPING 0.67
#define CVTM_POWER_STRETCH 1.8

/* A V-cycle consists of phases. A phase calls one of the functions below for all rows of a level,
 * and starts when the phase before has ended. The first phase is cvtm_power_begin_cycle for the
 * finest level. Going down, cvtm_power_set_residual for a level is followed by cvtm_power_restrict
 * for the next coarser level. The coarsest level is solved by its inverse, if there is one. Going
 * up, cvtm_power_correct_level is called for each level that has not been solved by an inverse. */

/* Does a step of Jacobi's method from zero in row i. */
CVTM_HD void cvtm_power_begin_cycle(const cvtm_power_level *level, int64_t i) {
  const double diagonal = level->matrix.diagonal[i];
  const double x = diagonal > 0 ? CVTM_POWER_DAMPING * level->right[i] / diagonal : 0;
  level->correction[i] = level->scratch[i] = x;
}

/* right - matrix * x, row i. */
CVTM_HD double cvtm_power_residual(const cvtm_power_level *level, const double *x, int64_t i) {
  const cvtm_power_matrix *a = &level->matrix;
  const int32_t first = a->first[i], last = first + a->degree[i];
  const double own = x[i];
  double sum = level->right[i];
  for (int32_t e = first; e < last; ++e) sum -= a->coupling[e] * (own - x[a->neighbor[e]]);
  return sum;
}

CVTM_HD void cvtm_power_set_residual(const cvtm_power_level *level, int64_t i) {
  level->scratch[i] = cvtm_power_residual(level, level->correction, i);
}

/* Sets the right side of row i of the coarse level, and does the row's first step of Jacobi's
 * method. */
CVTM_HD void cvtm_power_restrict(const cvtm_power_level *fine, const cvtm_power_level *coarse,
                                 int64_t i) {
  double sum = 0;
  for (int32_t k = coarse->child_first[i]; k < coarse->child_first[i + 1]; ++k)
    sum += fine->scratch[coarse->child[k]];
  coarse->right[i] = sum;
  cvtm_power_begin_cycle(coarse, i);
}

/* Sets the correction of row i, and corrects the rows of `finer` that aggregate i consists of
 * (NULL: there is no finer level). */
CVTM_HD void cvtm_power_set_correction(const cvtm_power_level *level, const cvtm_power_level *finer,
                                       int64_t i, double x) {
  level->correction[i] = x;
  if (!finer) return;
  for (int32_t k = level->child_first[i]; k < level->child_first[i + 1]; ++k) {
    const int32_t j = level->child[k];
    finer->scratch[j] = finer->correction[j] + CVTM_POWER_STRETCH * x;
  }
}

/* Does the last step of Jacobi's method in row i. */
CVTM_HD void cvtm_power_correct_level(const cvtm_power_level *level, const cvtm_power_level *finer,
                                      int64_t i) {
  const double diagonal = level->matrix.diagonal[i];
  const double own = level->scratch[i];
  const double x = diagonal > 0 ? own + CVTM_POWER_DAMPING *
                                            cvtm_power_residual(level, level->scratch, i) / diagonal
                                : own;
  cvtm_power_set_correction(level, finer, i, x);
}
