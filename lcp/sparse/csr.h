/* Inside lcp only: operations on CSR matrices in host memory for setups. The caller frees the
 * results; on failure nothing is left to free. No result depends on the number of threads. */
#pragma once

#include "lcp/sparse.h"

/* cvtm_csr_check_diagonal by several threads. */
cvtm_status cvtm_csr_check_square(const cvtm_csr *matrix, const char *name, int threads,
                                  cvtm_error *error);
cvtm_status cvtm_csr_copy(const cvtm_csr *matrix, cvtm_csr *copy, cvtm_error *error);
/* The entry at (row, column); 0 if none is stored. */
double cvtm_csr_entry(const cvtm_csr *matrix, int64_t row, int64_t column);
/* Sorts the entries of each row by column. */
void cvtm_csr_sort_rows(cvtm_csr *matrix, int threads);
cvtm_status cvtm_csr_transpose(const cvtm_csr *matrix, int threads, cvtm_csr *transpose,
                               cvtm_error *error);
/* Computes P'AP, with every entry that the patterns allow. restriction: the transpose P'. */
cvtm_status cvtm_csr_galerkin(const cvtm_csr *matrix, const cvtm_csr *prolongation,
                              const cvtm_csr *restriction, int threads, cvtm_csr *product,
                              cvtm_error *error);
/* Walks along row `row` of two matrices at once, by ascending columns, from entries *at_a and *at_b
 * on. Returns the next column, or -1 at the end. place: the positions of the column's entries in
 * the two matrices, or -1 where the matrix has none. */
int32_t cvtm_csr_next_column(const cvtm_csr *a, const cvtm_csr *b, int64_t row, int64_t *at_a,
                             int64_t *at_b, int64_t place[2]);
/* Copies A, and adds zeros where only A' has an entry, so that the pattern is symmetric. */
cvtm_status cvtm_csr_symmetric_pattern(const cvtm_csr *matrix, int threads, cvtm_csr *pattern,
                                       cvtm_error *error);
/* Copies a matrix with its rows divided by weight[row], the power of two that brings the diagonal
 * into [1, 2). */
cvtm_status cvtm_csr_equilibrate(const cvtm_csr *matrix, cvtm_csr *even, double *weight,
                                 cvtm_error *error);
/* The first row that differs from its column by more than rounding errors; -1 if there is none. */
int64_t cvtm_csr_asymmetric_row(const cvtm_csr *matrix, int threads);
