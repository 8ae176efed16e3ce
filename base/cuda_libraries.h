/* Inside the library: cuBLAS and NCCL. They are loaded at run time and not linked, so a program
 * also starts on machines without them. */
#pragma once

#include "base/device.h"

CVTM_C_BEGIN

/* --- cuBLAS ----------------------------------------------------------------------------------- */

typedef struct cvtm_cublas cvtm_cublas;

/* Opens a handle for the device's stream. CVTM_ERROR_UNSUPPORTED: no CUDA device, or no cuBLAS. */
cvtm_status cvtm_cublas_open(cvtm_device *device, cvtm_cublas **cublas);
void cvtm_cublas_close(cvtm_cublas *cublas);

/* All matrices are column-major, in device memory; the functions only enqueue the products. */

/* C (m x n) = A' B + beta C; A is k x m, B is k x n. */
cvtm_status cvtm_cublas_multiply(cvtm_cublas *cublas, int m, int n, int k, const double *a, int lda,
                                 const double *b, int ldb, double beta, double *c, int ldc);
/* The upper triangle of C (n x n) = A' A + beta C; A is k x n. */
cvtm_status cvtm_cublas_square(cvtm_cublas *cublas, int n, int k, const double *a, int lda,
                               double beta, double *c, int ldc);
/* y = A x + beta y; A is m x n. */
cvtm_status cvtm_cublas_apply(cvtm_cublas *cublas, int m, int n, const double *a, int lda,
                              const double *x, double beta, double *y);

/* --- NCCL ------------------------------------------------------------------------------------- */

/* A communicator of NCCL, which copies arrays between CUDA devices of different processes. Unless
 * the environment sets NCCL_NVLS_ENABLE, NCCL_MAX_NCHANNELS and NCCL_MAX_P2P_NCHANNELS, NCCL uses
 * at most 4 channels, and no multicast over NVLink. */
typedef struct cvtm_nccl cvtm_nccl;

enum { CVTM_NCCL_ID_BYTES = 128 };

/* Loads NCCL. CVTM_ERROR_UNSUPPORTED: no CUDA device, or no NCCL. */
cvtm_status cvtm_nccl_load(cvtm_device *device, cvtm_nccl **nccl);
/* Makes the identifier of a group of ranks; one rank calls this, all ranks join with this id. */
cvtm_status cvtm_nccl_make_id(cvtm_nccl *nccl, char id[CVTM_NCCL_ID_BYTES]);
/* Collective: this process becomes rank `rank` of `size`. */
cvtm_status cvtm_nccl_join(cvtm_nccl *nccl, const char id[CVTM_NCCL_ID_BYTES], int rank, int size);
/* Does what cvtm_ranks.gather does, for an array in device memory. Enqueued on the device's
 * stream. */
cvtm_status cvtm_nccl_gather(cvtm_nccl *nccl, double *all, const int64_t *counts);
/* Does what cvtm_ranks_exchange does. Enqueued on the device's stream. */
cvtm_status cvtm_nccl_exchange(cvtm_nccl *nccl, const double *from, const int64_t *counts, int rank,
                               double *to, int64_t gap);
/* NULL is allowed. */
void cvtm_nccl_close(cvtm_nccl *nccl);

CVTM_C_END
