/* Inside lcp only: what setups do with sparse matrices in host memory. Results are the
 * caller's to free; on failure nothing is left. Nothing depends on the number of threads. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_ALGEBRA_H
#define CVTMESH_LCP_SPARSE_SPARSE_ALGEBRA_H

#include "lcp/sparse.h"

/* As cvtm_csr_check_diagonal. */
cvtm_status cvtm_csr_check_all(const cvtm_csr *matrix, const char *name, int threads,
                               cvtm_error *error);
cvtm_status cvtm_csr_transpose(const cvtm_csr *matrix, int threads, cvtm_csr *transpose,
                               cvtm_error *error);
/* transpose' of P given: P' A P with every entry that the patterns allow. */
cvtm_status cvtm_csr_galerkin(const cvtm_csr *matrix, const cvtm_csr *prolongation,
                              const cvtm_csr *restriction, int threads, cvtm_csr *product,
                              cvtm_error *error);
/* A + A' with the values of A where A has them: a symmetric pattern. */
cvtm_status cvtm_csr_symmetric_pattern(const cvtm_csr *matrix, int threads, cvtm_csr *pattern,
                                       cvtm_error *error);
/* A copy, each row divided by a power of two, weight[row], that takes its diagonal to 1 .. 2. */
cvtm_status cvtm_csr_equilibrate(const cvtm_csr *matrix, cvtm_csr *even, double *weight,
                                 cvtm_error *error);
/* -1, or the first row that differs from its column by more than rounding. */
int64_t cvtm_csr_asymmetric_row(const cvtm_csr *matrix, int threads);

#endif
