/* Inside power only: coarser and coarser versions of a matrix of couplings, for the preconditioner
 * of conjugate gradients. The unknowns of a level are aggregates of up to some six of the finer
 * one, made by matching strongly coupled pairs and then pairs of these (Notay 2010, "An
 * aggregation-based algebraic multigrid method"). Interpolation is constant on an aggregate, so
 * that the matrix of a level couples two aggregates by the sum of the couplings between them.
 * Corrections are stretched, because constants are too stiff (Braess 1995, "Towards algebraic
 * multigrid for elliptic problems of second order"). Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_POWER_HIERARCHY_H
#define CVTMESH_POWER_HIERARCHY_H

#include "base/device.h"
#include "base/portable.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_POWER_LEVELS = 16 };

/* A graph Laplacian. Row i has the couplings first[i] .. first[i] + degree[i] - 1. */
typedef struct cvtm_power_matrix {
  int64_t count;
  const int32_t *first, *degree, *neighbor;
  const double *coupling;
  const double *diagonal; /* the sum of a row's couplings */
} cvtm_power_matrix;

/* A level's system, matrix * correction = right, and how it hangs in the hierarchy. */
typedef struct cvtm_power_level {
  cvtm_power_matrix matrix;
  const int32_t *child_first, *child; /* the rows of the finer level in each row of this one: child
                                         child_first[i] .. child_first[i + 1] - 1 */
  const int32_t *parent;              /* of each row: its row of the coarser level; NULL: none */
  double *right, *correction;
} cvtm_power_level;

/* Level 0 is the caller's matrix. All pointers are to device memory. */
typedef struct cvtm_power_hierarchy {
  int32_t levels; /* 0: none has been built */
  cvtm_power_level level[CVTM_POWER_LEVELS];
  int32_t *indices; /* that the levels point into */
  double *values;
  int64_t index_capacity, value_capacity;
} cvtm_power_hierarchy;

/* Makes the levels below the given one, whose rows are visited in `order` (device memory: the place
 * of each row). Computed on the host, by one thread. On failure the hierarchy has no levels. */
cvtm_status cvtm_power_hierarchy_build(cvtm_device *device, const cvtm_power_level *finest,
                                       const int32_t *order, cvtm_power_hierarchy *hierarchy);
void cvtm_power_hierarchy_release(cvtm_device *device, cvtm_power_hierarchy *hierarchy);

#ifdef __cplusplus
}
#endif

/* The damping of Jacobi's method, and the factor by which corrections are stretched. */
#define CVTM_POWER_DAMPING 0.67
#define CVTM_POWER_STRETCH 1.8

/* Component i of a step of Jacobi's method from zero. */
CVTM_HD double cvtm_power_smoothed(const cvtm_power_level *level, int64_t i) {
  const double diagonal = level->matrix.diagonal[i];
  return diagonal > 0 ? CVTM_POWER_DAMPING * level->right[i] / diagonal : 0;
}

/* The same with the coarser level's correction. */
CVTM_HD double cvtm_power_interpolated(const cvtm_power_level *level, const double *coarse,
                                       int64_t i) {
  const double own = cvtm_power_smoothed(level, i);
  return coarse ? own + CVTM_POWER_STRETCH * coarse[level->parent[i]] : own;
}

/* Component i of right - matrix * x, where x is cvtm_power_interpolated. */
CVTM_HD double cvtm_power_remainder(const cvtm_power_level *level, const double *coarse,
                                    int64_t i) {
  const cvtm_power_matrix *a = &level->matrix;
  const int32_t first = a->first[i], last = first + a->degree[i];
  const double own = cvtm_power_interpolated(level, coarse, i);
  double sum = level->right[i];
  for (int32_t e = first; e < last; ++e)
    sum -= a->coupling[e] * (own - cvtm_power_interpolated(level, coarse, a->neighbor[e]));
  return sum;
}

/* Down: the right side of row i of the coarser level, after a step of Jacobi's method. */
CVTM_HD double cvtm_power_restricted(const cvtm_power_level *fine, const cvtm_power_level *coarse,
                                     int64_t i) {
  double sum = 0;
  for (int32_t k = coarse->child_first[i]; k < coarse->child_first[i + 1]; ++k)
    sum += cvtm_power_remainder(fine, NULL, coarse->child[k]);
  return sum;
}

/* Up: component i of the level's correction from the coarser one's, which is NULL on the coarsest
 * level; a step of Jacobi's method is the last. */
CVTM_HD double cvtm_power_corrected(const cvtm_power_level *level, const double *coarse,
                                    int64_t i) {
  const double diagonal = level->matrix.diagonal[i];
  if (!(diagonal > 0)) return 0;
  return cvtm_power_interpolated(level, coarse, i) +
         CVTM_POWER_DAMPING * cvtm_power_remainder(level, coarse, i) / diagonal;
}

#endif
