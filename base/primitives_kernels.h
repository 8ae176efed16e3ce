/* Inside base only: the table of a device's functions for base/primitives.h, and the arithmetic
 * that both devices share. primitives.c has checked the arguments. */
#pragma once

#include "base/phases.h"
#include "base/portable.h"
#include "base/primitives.h"

#include <math.h>

CVTM_C_BEGIN

enum { CVTM_REDUCE_BLOCK = 4096, CVTM_REDUCE_LANES = 256 };

/* The result for no elements. */
CVTM_HD double cvtm_reduce_identity(cvtm_reduction reduction) {
  switch (reduction) {
    case CVTM_REDUCE_MIN:
      return (double)INFINITY;
    case CVTM_REDUCE_MAX:
      return -(double)INFINITY;
    default:
      return 0.0;
  }
}

/* Joins two values; for CVTM_REDUCE_MAX_ABS both are magnitudes. A NaN in a or b gives NaN. */
CVTM_HD double cvtm_reduce_join(cvtm_reduction reduction, double a, double b) {
  switch (reduction) {
    case CVTM_REDUCE_SUM:
      return a + b;
    case CVTM_REDUCE_MIN:
      return a < b || a != a ? a : b;
    default:
      return a > b || a != a ? a : b;
  }
}

CVTM_HD void cvtm_fill_entry(double *x, double value, int64_t i) { x[i] = value; }

CVTM_HD void cvtm_axpy_entry(double a, const double *x, double *y, int64_t i) { y[i] += a * x[i]; }

/* A list of phases (base/phases.h). */
#define CVTM_VECTOR_PHASES(X)                                                                  \
  X(fill, (cvtm_device * device, double *x, double value, int64_t count), device, count,       \
    cvtm_fill_entry, x, value)                                                                 \
  X(axpy, (cvtm_device * device, double a, const double *x, double *y, int64_t count), device, \
    count, cvtm_axpy_entry, a, x, y)

typedef struct cvtm_primitives_table {
  cvtm_status (*sort_workspace)(cvtm_device *device, int64_t count, size_t *bytes);
  cvtm_status (*sort_pairs)(cvtm_device *device, uint64_t *keys, int32_t *values,
                            uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits,
                            void *workspace, size_t bytes);
  cvtm_status (*scan_workspace)(cvtm_device *device, int64_t count, size_t *bytes);
  cvtm_status (*scan_64)(cvtm_device *device, const int32_t *counts, int64_t count, int64_t *sums,
                         void *workspace, size_t bytes);
  /* partial[b] = the reduction of block b of x, or of the products x[i] y[i] unless y is NULL.
   * There is at least one block, which is empty if count is 0. */
  cvtm_status (*reduce_blocks)(cvtm_device *device, cvtm_reduction reduction, const double *x,
                               const double *y, int64_t count, double *partial);
  CVTM_VECTOR_PHASES(CVTM_PHASE_FIELD)
} cvtm_primitives_table;

extern const cvtm_primitives_table cvtm_primitives_table_cpu, cvtm_primitives_table_cuda;

CVTM_C_END
