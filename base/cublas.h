/* cuBLAS, loaded at run time, so that nothing links it and a program starts without it. */
#ifndef CVTMESH_BASE_CUBLAS_H
#define CVTMESH_BASE_CUBLAS_H

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_cublas cvtm_cublas;

/* Opens a handle on the stream of a CUDA device. CVTM_ERROR_UNSUPPORTED if the library is missing.
 */
cvtm_status cvtm_cublas_open(cvtm_device *device, cvtm_cublas **cublas);
void cvtm_cublas_close(cvtm_cublas *cublas);

/* All matrices are column-major, in device memory; the work is enqueued. */

/* C (m x n) = A' B + beta C; A is k x m, B is k x n. */
cvtm_status cvtm_cublas_multiply(cvtm_cublas *cublas, int m, int n, int k, const double *a, int lda,
                                 const double *b, int ldb, double beta, double *c, int ldc);
/* The upper triangle of C (n x n) = A' A + beta C; A is k x n. */
cvtm_status cvtm_cublas_square(cvtm_cublas *cublas, int n, int k, const double *a, int lda,
                               double beta, double *c, int ldc);
/* y = A x + beta y; A is m x n. */
cvtm_status cvtm_cublas_apply(cvtm_cublas *cublas, int m, int n, const double *a, int lda,
                              const double *x, double beta, double *y);

#ifdef __cplusplus
}
#endif
#endif
