/* Inside lcp only: the Gauss-Seidel smoother and the residual of a level, row by row, for both
 * devices. */
#ifndef CVTMESH_LCP_SPARSE_SMOOTHER_H
#define CVTMESH_LCP_SPARSE_SMOOTHER_H

#include "lcp/sparse/level.h"

/* A row times x, the diagonal apart. */
typedef struct cvtm_split_product {
  double diagonal;
  double others; /* sum of a_ij x_j over j != i */
} cvtm_split_product;

CVTM_HD cvtm_split_product cvtm_split_row(const cvtm_sell *a, const double *x, int64_t row) {
  const int64_t end = cvtm_sell_end(a, row);
  cvtm_split_product product = {0, 0};
  for (int64_t k = cvtm_sell_first(a, row); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(a, row, k, end);
    double at[CVTM_SELL_BATCH];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) at[j] = x[batch.column[j]];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int is_own = batch.column[j] == row;
      product.diagonal += is_own ? batch.value[j] : 0;
      product.others += is_own ? 0 : batch.value[j] * at[j];
    }
  }
  return product;
}

/* The numbers of a row, read once before anything is written. */
typedef struct cvtm_row {
  double x, b, lower, upper;
  double product; /* (A x)_i */
  double largest; /* a_ii x_i, a measure of the rounding errors in the product */
} cvtm_row;

/* Reads all of a row but x, product and largest. */
CVTM_HD cvtm_row cvtm_read_row(const cvtm_level *level, int bounded, int64_t row) {
  cvtm_row here = {0, level->b[row], -(double)INFINITY, (double)INFINITY, 0, 0};
  if (bounded) {
    here.lower = cvtm_lower_at(level, row);
    here.upper = cvtm_upper_at(level, row);
  }
  return here;
}

CVTM_HD void cvtm_set_product(cvtm_row *here, cvtm_split_product product) {
  here->largest = product.diagonal * here->x;
  here->product = product.others + here->largest;
}

/* Gauss-Seidel on one row, overrelaxed by omega. A row without a diagonal (its basis function is
 * truncated entirely) keeps its value. Returns the row after relaxation. */
CVTM_HD cvtm_row cvtm_relax_row(const cvtm_level *level, cvtm_kernel_flags flags, double omega,
                                int64_t row) {
  cvtm_row here = cvtm_read_row(level, flags.bounded, row);
  if (flags.masked && cvtm_is_active(level, row)) return here;
  const cvtm_split_product product =
      cvtm_split_row(flags.correction ? &level->correction : &level->matrix, level->x, row);
  if (product.diagonal > 0) {
    double x = (here.b - product.others) / product.diagonal;
    if (omega != 1) x = level->x[row] + omega * (x - level->x[row]);
    here.x = flags.bounded ? cvtm_lcp_clip(x, here.lower, here.upper) : x;
    level->x[row] = here.x;
  } else {
    here.x = level->x[row];
  }
  cvtm_set_product(&here, product);
  if (flags.residual) level->r[row] = here.b - here.product;
  return here;
}

/* Projected Gauss-Seidel from x + step * direction without storing that vector: rows below
 * colour_end are relaxed already, the others still hold x. */
CVTM_HD void cvtm_relax_along_row(const cvtm_level *level, const double *direction, double step,
                                  int64_t colour_end, int64_t row) {
  const cvtm_sell *a = &level->matrix;
  const int64_t end = cvtm_sell_end(a, row);
  double sum = 0, diagonal = 0;
  for (int64_t k = cvtm_sell_first(a, row); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(a, row, k, end);
    double at[CVTM_SELL_BATCH];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int32_t column = batch.column[j];
      at[j] = level->x[column];
      if (column >= colour_end) at[j] += step * direction[column];
    }
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int is_own = batch.column[j] == row;
      diagonal += is_own ? batch.value[j] : 0;
      sum += is_own ? 0 : batch.value[j] * at[j];
    }
  }
  level->x[row] = cvtm_clip_at(level, row, (level->b[row] - sum) / diagonal);
}

/* r = b - A x, 0 in active rows if masked. */
CVTM_HD void cvtm_residual_row(const cvtm_level *level, cvtm_kernel_flags flags, int64_t row) {
  const cvtm_sell *a = flags.correction ? &level->correction : &level->matrix;
  const int is_left_out = flags.masked && cvtm_is_active(level, row);
  level->r[row] = is_left_out ? 0 : level->b[row] - cvtm_sell_row_times(a, row, level->x);
}

/* y = A x, 0 in active rows. */
CVTM_HD void cvtm_apply_row(const cvtm_level *level, const double *x, double *y, int64_t row) {
  y[row] = cvtm_is_active(level, row) ? 0 : cvtm_sell_row_times(&level->matrix, row, x);
}

/* Clips every row; or, if masked, sets active rows to their bound. */
CVTM_HD void cvtm_clip_row(const cvtm_level *level, int masked, int64_t row) {
  const int side = level->state[row] & CVTM_ROW_ACTIVE;
  if (!masked)
    level->x[row] = cvtm_clip_at(level, row, level->x[row]);
  else if (side != 0)
    level->x[row] = side == CVTM_ROW_LOWER ? cvtm_lower_at(level, row) : cvtm_upper_at(level, row);
}

#endif
