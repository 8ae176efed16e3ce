/* Inside lcp only: the Galerkin product P'AP of levels in device memory, for both devices. Its
 * structure is that of cvtm_csr_galerkin; only its values are computed again, in the rows that a
 * change of the active set affects. */
#ifndef CVTMESH_LCP_SPARSE_GALERKIN_H
#define CVTMESH_LCP_SPARSE_GALERKIN_H

#include "lcp/sparse/level.h"

/* True if the coarse row of row `from` of the restriction depends on anything that has changed. */
CVTM_HD int cvtm_galerkin_row_is_stale(const cvtm_level *fine, const cvtm_level *coarse, int is_top,
                                       int64_t from) {
  if (is_top) return coarse->state[coarse->place[from]] == CVTM_ROW_PENDING;
  const cvtm_sell *r = &fine->restriction;
  for (int64_t k = cvtm_sell_first(r, from); k < cvtm_sell_end(r, from); k += CVTM_SLICE_ROWS)
    if (fine->state[r->column[k]] == CVTM_ROW_RENEWED) return 1;
  return 0;
}

/* A row of the product under construction: entry k has its column and value at k * stride. */
typedef struct cvtm_row_sum {
  const int32_t *column;
  double *value;
  int64_t count, stride;
} cvtm_row_sum;

enum { CVTM_LOCAL_ROW = 32 }; /* rows of at most this many entries are summed in local memory */

CVTM_HD void cvtm_row_add(const cvtm_row_sum *row, int32_t column, double term) {
  for (int64_t k = 0; k < row->count * row->stride; k += row->stride) {
    if (row->column[k] == column) {
      row->value[k] += term;
      return;
    }
  }
}

/* Adds weight * (row i of A) * P. */
CVTM_HD void cvtm_galerkin_terms(const cvtm_level *fine, int is_top, int32_t i, double weight,
                                 const cvtm_row_sum *sum) {
  const cvtm_sell *a = is_top ? &fine->matrix : &fine->correction, *p = &fine->prolongation;
  for (int64_t m = cvtm_sell_first(a, i); m < cvtm_sell_end(a, i); m += CVTM_SLICE_ROWS) {
    const int32_t j = a->column[m];
    const double entry = weight * a->value[m];
    if (entry == 0 || (is_top && cvtm_is_active(fine, j))) continue;
    for (int64_t l = cvtm_sell_first(p, j); l < cvtm_sell_end(p, j); l += CVTM_SLICE_ROWS)
      if (p->value[l] != 0) cvtm_row_add(sum, p->column[l], entry * p->value[l]);
  }
}

/* Row coarse->place[from] of P'AP into coarse->correction, if it is stale. On the top level the
 * rows of P at active nodes count as zero. */
CVTM_HD void cvtm_galerkin_row(const cvtm_level *fine, const cvtm_level *coarse, int is_top,
                               int64_t from) {
  const int64_t row = coarse->place[from];
  if (!cvtm_galerkin_row_is_stale(fine, coarse, is_top, from)) {
    coarse->state[row] = 0;
    return;
  }
  coarse->state[row] = CVTM_ROW_RENEWED;
  const cvtm_sell *r = &fine->restriction, *product = &coarse->correction;
  const int64_t first = cvtm_sell_first(product, row);
  const int64_t count =
      (cvtm_sell_end(product, row) - first + CVTM_SLICE_ROWS - 1) / CVTM_SLICE_ROWS;
  int32_t column[CVTM_LOCAL_ROW];
  double value[CVTM_LOCAL_ROW];
  const int is_local = count <= CVTM_LOCAL_ROW;
  cvtm_row_sum sum = {product->column + first, product->value + first, count, CVTM_SLICE_ROWS};
  if (is_local) {
    sum.column = column;
    sum.value = value;
    sum.stride = 1;
  }
  for (int64_t k = 0; k < count; ++k) {
    if (is_local) column[k] = product->column[first + k * CVTM_SLICE_ROWS];
    sum.value[k * sum.stride] = 0;
  }
  for (int64_t k = cvtm_sell_first(r, from); k < cvtm_sell_end(r, from); k += CVTM_SLICE_ROWS) {
    const int32_t i = r->column[k];
    if (r->value[k] == 0 || (is_top && cvtm_is_active(fine, i))) continue;
    cvtm_galerkin_terms(fine, is_top, i, r->value[k], &sum);
  }
  for (int64_t k = 0; k < count && is_local; ++k)
    product->value[first + k * CVTM_SLICE_ROWS] = value[k];
}

#endif
