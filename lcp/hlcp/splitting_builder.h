/* Inside lcp/hlcp only: the systems of a sweep while they are built in host memory. */
#ifndef CVTMESH_LCP_HLCP_SPLITTING_BUILDER_H
#define CVTMESH_LCP_HLCP_SPLITTING_BUILDER_H

#include "lcp/hlcp/splitting.h"
#include "lcp/sparse/csr.h"

/* Members without a comment are as in cvtm_hlcp_systems. */
typedef struct cvtm_hlcp_builder {
  const cvtm_csr *a, *b; /* b: B Omega */
  const double *omega;
  const cvtm_hlcp_options *options;
  int64_t n, splits, unknowns;
  int64_t *block_first; /* splits + 1 */
  int32_t *row;         /* by unknown; NULL: the unknown itself */
  double *scale;        /* NULL: 1 */
  cvtm_csr lower, weights;
} cvtm_hlcp_builder;

cvtm_status cvtm_hlcp_no_memory(cvtm_error *error);
/* Refuses more unknowns than 32-bit columns can number. */
cvtm_status cvtm_hlcp_check_unknowns(const cvtm_hlcp_builder *s, cvtm_error *error);
int64_t cvtm_hlcp_first_of_block(const cvtm_hlcp_builder *s, int64_t k);

/* The AOR family (splitting_aor.c): the paper's blocks; weights e of the caller. */
cvtm_status cvtm_hlcp_build_even(cvtm_hlcp_builder *s, cvtm_error *error);
cvtm_status cvtm_hlcp_build_weighted(cvtm_hlcp_builder *s, const cvtm_csr *e, cvtm_error *error);

/* Splittings by the caller (splitting_given.c): matrices; a solver. e: the weights. */
cvtm_status cvtm_hlcp_build_given(cvtm_hlcp_builder *s, const cvtm_csr *e, cvtm_error *error);
cvtm_status cvtm_hlcp_build_for_solver(cvtm_hlcp_builder *s, const cvtm_csr *e, cvtm_error *error);

/* weights, n x (n + unknowns), from the E_k. unknown_of[t]: the unknown of entry t of e. */
cvtm_status cvtm_hlcp_build_weights(cvtm_hlcp_builder *s, const cvtm_csr *e,
                                    const int64_t *unknown_of, cvtm_error *error);

/* A level schedule (splitting_levels.c): the unknowns of a level depend only on earlier levels. */
typedef struct cvtm_hlcp_levels {
  int32_t *level; /* by unknown, within its block */
  int32_t *order;
  int64_t *level_first, *block_level;
  int64_t count, widest;
} cvtm_hlcp_levels;

cvtm_status cvtm_hlcp_build_levels(const cvtm_hlcp_builder *s, cvtm_hlcp_levels *l,
                                   cvtm_error *error);
void cvtm_hlcp_levels_free(cvtm_hlcp_levels *l);

/* --- the rows of two matrices together ------------------------------------------------------ */

/* Walks the strictly lower part of a row of two matrices, columns ascending. */
typedef struct cvtm_hlcp_merge {
  const cvtm_csr *a, *b;
  int64_t row, at_a, at_b, end_a, end_b;
} cvtm_hlcp_merge;

static inline cvtm_hlcp_merge cvtm_hlcp_merge_row(const cvtm_csr *a, const cvtm_csr *b,
                                                  int64_t row) {
  const cvtm_hlcp_merge m = {a,
                             b,
                             row,
                             a->row_start[row],
                             b->row_start[row],
                             a->row_start[row + 1],
                             b->row_start[row + 1]};
  return m;
}

/* Returns the next column with its entries in both matrices (0: none), or the row at the end. */
static inline int64_t cvtm_hlcp_merge_next(cvtm_hlcp_merge *m, double *a, double *b) {
  int64_t column = m->row;
  const int32_t *columns_a = m->a->column, *columns_b = m->b->column;
  if (m->at_a < m->end_a && columns_a[m->at_a] < column) column = columns_a[m->at_a];
  if (m->at_b < m->end_b && columns_b[m->at_b] < column) column = columns_b[m->at_b];
  *a = *b = 0;
  if (m->at_a < m->end_a && columns_a[m->at_a] == column) *a = m->a->value[m->at_a++];
  if (m->at_b < m->end_b && columns_b[m->at_b] == column) *b = m->b->value[m->at_b++];
  return column;
}

#endif
