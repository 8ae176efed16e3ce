/* Inside lcp only: which rows of a level are held by a bound, and which rows of the coarse
 * operators a change of that makes out of date. */
#ifndef CVTMESH_LCP_SPARSE_ACTIVE_SET_H
#define CVTMESH_LCP_SPARSE_ACTIVE_SET_H

#include "lcp/sparse/level.h"

/* Several rows may store the same byte at once. */
CVTM_HD void cvtm_set_pending(uint8_t *state) {
#ifdef __CUDA_ARCH__
  *state = CVTM_ROW_PENDING;
#else
  __atomic_store_n(state, (uint8_t)CVTM_ROW_PENDING, __ATOMIC_RELAXED);
#endif
}

/* Marks all rows of the coarse product whose basis functions contain `row` or a neighbour of it.
 * The pattern of A is symmetric. */
CVTM_HD void cvtm_invalidate_products(const cvtm_level *level, const cvtm_level *next,
                                      int64_t row) {
  const cvtm_sell *a = &level->matrix, *p = &level->prolongation;
  for (int64_t k = cvtm_sell_first(a, row); k < cvtm_sell_end(a, row); k += CVTM_SLICE_ROWS) {
    const int32_t j = a->column[k];
    for (int64_t l = cvtm_sell_first(p, j); l < cvtm_sell_end(p, j); l += CVTM_SLICE_ROWS)
      if (p->value[l] != 0) cvtm_set_pending(&next->state[p->column[l]]);
  }
}

/* Stores which bound holds x in this row: 0, CVTM_ROW_LOWER or CVTM_ROW_UPPER. Returns the value
 * before. next: the coarser level, NULL if there is none. */
CVTM_HD int cvtm_set_active_side(const cvtm_level *level, const cvtm_level *next, int side,
                                 int64_t row) {
  const int before = level->state[row];
  if (side == before) return before;
  level->state[row] = (uint8_t)side;
  if (next != NULL && (side == 0) != (before == 0)) cvtm_invalidate_products(level, next, row);
  return before;
}

/* The choice of the primal-dual active set method: a bound holds the row where x - F / a_ii lies
 * beyond it. Returns true if the row changes sides. */
CVTM_HD int cvtm_active_set_row(const cvtm_level *level, const cvtm_level *next, int64_t row) {
  const cvtm_sell *a = &level->matrix;
  double product = 0, diagonal = 0;
  for (int64_t k = cvtm_sell_first(a, row); k < cvtm_sell_end(a, row); k += CVTM_SLICE_ROWS) {
    product += a->value[k] * level->x[a->column[k]];
    if (a->column[k] == row) diagonal += a->value[k];
  }
  const double guess = level->x[row] - (product - level->b[row]) / diagonal;
  int side = 0;
  if (guess < cvtm_lower_at(level, row))
    side = CVTM_ROW_LOWER;
  else if (guess > cvtm_upper_at(level, row))
    side = CVTM_ROW_UPPER;
  return cvtm_set_active_side(level, next, side, row) != side;
}

#endif
