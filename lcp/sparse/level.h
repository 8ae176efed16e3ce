/* Inside lcp only: one level of a hierarchy of sparse matrices. The rows of a level are ordered by
 * colour. */
#ifndef CVTMESH_LCP_SPARSE_LEVEL_H
#define CVTMESH_LCP_SPARSE_LEVEL_H

#include "lcp/stop.h"
#include "lcp/sparse/sell_kernels.h"

#include <math.h>

/* Bits of cvtm_level.state. On the finest level of a cycle they say which bound holds x; on
 * coarser levels, whether a row of the Galerkin product is up to date. */
enum {
  CVTM_ROW_LOWER = 1,                                /* x is held at the lower bound */
  CVTM_ROW_UPPER = 2,                                /* x is held at the upper bound */
  CVTM_ROW_ACTIVE = CVTM_ROW_LOWER | CVTM_ROW_UPPER, /* mask: either of them */
  CVTM_ROW_PENDING = 4,                              /* the row of `correction` is out of date */
  CVTM_ROW_RENEWED = 8                               /* it was computed in this cycle */
};

enum { CVTM_LEVELS_MAX = 32 };

/* A plain struct of borrowed pointers, in device memory unless said otherwise, that kernels take by
 * value. The problem is A x = b with bounds: the user's, its image on a coarser grid, or that of a
 * correction. */
typedef struct cvtm_level {
  int64_t rows;
  cvtm_sell matrix;
  /* The matrix of corrections: the structure of `matrix` with separate values where active nodes
   * are truncated from the coarse basis functions, else the same arrays. */
  cvtm_sell correction;
  cvtm_sell prolongation; /* rows x rows of the next coarser level; empty on the coarsest */
  /* The transpose of the prolongation. Its rows are in the user's order, so that neighbouring
   * threads read neighbouring entries; row k belongs to row place[k] of the coarser level. */
  cvtm_sell restriction;
  const int32_t *place;  /* row of this level by the user's row */
  const int32_t *centre; /* by row: the finer level's node at the centre of its basis function */
  double *x, *b, *lower, *upper;
  const uint8_t *has_bounds; /* two flags: 0 where no row has a lower, an upper bound, whose array
                                is then not read */
  double *r;                 /* residuals and directions */
  uint8_t *state;
  const double *weight; /* powers of two; row i times weight[i] is the user's row, whose residual is
                           judged. NULL: all 1 */
  int64_t colours;
  const int64_t *colour_start;        /* colours + 1; host memory */
  const int64_t *colour_start_device; /* the same in device memory */
} cvtm_level;

/* How a kernel treats a level. */
typedef struct cvtm_kernel_flags {
  int correction; /* the operator is level.correction, else level.matrix */
  int bounded;    /* x is kept within the bounds */
  int masked;     /* active rows are left out */
  int residual;   /* relaxation stores the residual of its rows in level.r */
} cvtm_kernel_flags;

CVTM_HD double cvtm_lower_at(const cvtm_level *level, int64_t row) {
  return level->has_bounds[0] ? level->lower[row] : -(double)INFINITY;
}
CVTM_HD double cvtm_upper_at(const cvtm_level *level, int64_t row) {
  return level->has_bounds[1] ? level->upper[row] : (double)INFINITY;
}
CVTM_HD double cvtm_clip_at(const cvtm_level *level, int64_t row, double x) {
  return cvtm_lcp_clip(x, cvtm_lower_at(level, row), cvtm_upper_at(level, row));
}
CVTM_HD int cvtm_is_active(const cvtm_level *level, int64_t row) {
  return (level->state[row] & CVTM_ROW_ACTIVE) != 0;
}

#endif
