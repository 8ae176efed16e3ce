#define _POSIX_C_SOURCE 200809L

#include "base/cuda_libraries.h"
#include "base/shared_library.h"

#include <stdlib.h>
#include <string.h>

/* --- cuBLAS ----------------------------------------------------------------------------------- */

/* UPPER is a value of cublasFillMode_t, PLAIN and TRANSPOSED are values of cublasOperation_t. */
enum { UPPER = 1, PLAIN = 0, TRANSPOSED = 1 };

/* Functions of cuBLAS, declared as in cublas_api.h. */
struct cvtm_cublas {
  cvtm_device *device;
  void *handle, *library;
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*dgemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
               const double *alpha, const double *a, int lda, const double *b, int ldb,
               const double *beta, double *c, int ldc);
  int (*dsyrk)(void *handle, int fill, int transpose, int n, int k, const double *alpha,
               const double *a, int lda, const double *beta, double *c, int ldc);
  int (*dgemv)(void *handle, int transpose, int m, int n, const double *alpha, const double *a,
               int lda, const double *x, int incx, const double *beta, double *y, int incy);
};

static int load_cublas(cvtm_cublas *c) {
  return cvtm_library_load(
             "libcublas.so.13\0libcublas.so.12\0libcublas.so\0"
             "/usr/local/cuda/lib64/libcublas.so\0",
             "cublasCreate_v2\0cublasDestroy_v2\0cublasSetStream_v2\0"
             "cublasDgemm_v2\0cublasDsyrk_v2\0cublasDgemv_v2\0",
             &c->library) == NULL;
}

static cvtm_status check_cublas(const cvtm_cublas *c, int code, const char *call) {
  if (code == 0) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(c->device), CVTM_ERROR_DEVICE, "%s: status %d", call, code);
}

cvtm_status cvtm_cublas_open(cvtm_device *device, cvtm_cublas **cublas) {
  cvtm_error *error = cvtm_device_error(device);
  if (cvtm_device_get_kind(device) != CVTM_DEVICE_CUDA)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "cuBLAS needs a CUDA device");
  cvtm_cublas *made = calloc(1, sizeof *made);
  if (!made) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  made->device = device;
  cvtm_status status = CVTM_OK;
  if (!load_cublas(made))
    status = cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "the library cuBLAS was not found");
  if (status == CVTM_OK) status = cvtm_device_activate(device);
  if (status == CVTM_OK) status = check_cublas(made, made->create(&made->handle), "cublasCreate");
  if (status == CVTM_OK)
    status = check_cublas(made, made->set_stream(made->handle, cvtm_device_stream(device)),
                          "cublasSetStream");
  if (status != CVTM_OK) {
    cvtm_cublas_close(made);
    return status;
  }
  *cublas = made;
  return CVTM_OK;
}

/* cuBLAS stays loaded: unloading it while the CUDA runtime is in use fails. */
void cvtm_cublas_close(cvtm_cublas *cublas) {
  if (!cublas) return;
  if (cublas->handle) cublas->destroy(cublas->handle);
  free(cublas);
}

cvtm_status cvtm_cublas_multiply(cvtm_cublas *cublas, int m, int n, int k, const double *a, int lda,
                                 const double *b, int ldb, double beta, double *c, int ldc) {
  const double one = 1.0;
  return check_cublas(cublas,
                      cublas->dgemm(cublas->handle, TRANSPOSED, PLAIN, m, n, k, &one, a, lda, b,
                                    ldb, &beta, c, ldc),
                      "cublasDgemm");
}

cvtm_status cvtm_cublas_square(cvtm_cublas *cublas, int n, int k, const double *a, int lda,
                               double beta, double *c, int ldc) {
  const double one = 1.0;
  return check_cublas(
      cublas, cublas->dsyrk(cublas->handle, UPPER, TRANSPOSED, n, k, &one, a, lda, &beta, c, ldc),
      "cublasDsyrk");
}

cvtm_status cvtm_cublas_apply(cvtm_cublas *cublas, int m, int n, const double *a, int lda,
                              const double *x, double beta, double *y) {
  const double one = 1.0;
  return check_cublas(cublas,
                      cublas->dgemv(cublas->handle, PLAIN, m, n, &one, a, lda, x, 1, &beta, y, 1),
                      "cublasDgemv");
}

/* --- NCCL ------------------------------------------------------------------------------------- */

enum { DOUBLE = 8 /* ncclDouble */ };

/* ncclUniqueId, which is passed by value. */
typedef struct unique_id {
  char internal[CVTM_NCCL_ID_BYTES];
} unique_id;

/* Functions of NCCL, declared as in nccl.h. */
struct cvtm_nccl {
  cvtm_device *device;
  void *communicator;
  int size;
  void *library;
  int (*get_unique_id)(unique_id *id);
  int (*init_rank)(void **communicator, int size, unique_id id, int rank);
  int (*destroy)(void *communicator);
  int (*broadcast)(const void *from, void *to, size_t count, int type, int root, void *communicator,
                   void *stream);
  int (*send)(const void *from, size_t count, int type, int peer, void *communicator, void *stream);
  int (*receive)(void *to, size_t count, int type, int peer, void *communicator, void *stream);
  int (*group_start)(void);
  int (*group_end)(void);
  const char *(*error_text)(int code);
};

static int load_nccl(cvtm_nccl *n) {
  (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
  /* A channel takes time and memory to open; the arrays are too small to gain from more than 4. */
  (void)setenv("NCCL_MAX_NCHANNELS", "4", 0);
  (void)setenv("NCCL_MAX_P2P_NCHANNELS", "4", 0);
  return cvtm_library_load("libnccl.so.2\0/usr/local/cuda/lib64/libnccl.so.2\0",
                           "ncclGetUniqueId\0ncclCommInitRank\0ncclCommDestroy\0ncclBroadcast\0"
                           "ncclSend\0ncclRecv\0ncclGroupStart\0ncclGroupEnd\0"
                           "ncclGetErrorString\0",
                           &n->library) == NULL;
}

static cvtm_status check_nccl(const cvtm_nccl *n, int code, const char *call) {
  if (code == 0) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(n->device), CVTM_ERROR_DEVICE, "%s: %s", call,
                   n->error_text(code));
}

cvtm_status cvtm_nccl_load(cvtm_device *device, cvtm_nccl **nccl) {
  cvtm_error *error = cvtm_device_error(device);
  if (cvtm_device_get_kind(device) != CVTM_DEVICE_CUDA)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "NCCL needs a CUDA device");
  cvtm_nccl *made = calloc(1, sizeof *made);
  if (!made) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  made->device = device;
  if (!load_nccl(made)) {
    cvtm_nccl_close(made);
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "the library NCCL was not found");
  }
  *nccl = made;
  return CVTM_OK;
}

cvtm_status cvtm_nccl_make_id(cvtm_nccl *n, char id[CVTM_NCCL_ID_BYTES]) {
  unique_id made;
  CVTM_TRY(check_nccl(n, n->get_unique_id(&made), "ncclGetUniqueId"));
  memcpy(id, made.internal, sizeof made.internal);
  return CVTM_OK;
}

cvtm_status cvtm_nccl_join(cvtm_nccl *n, const char id[CVTM_NCCL_ID_BYTES], int rank, int size) {
  unique_id common;
  memcpy(common.internal, id, sizeof common.internal);
  n->size = size;
  CVTM_TRY(cvtm_device_activate(n->device));
  return check_nccl(n, n->init_rank(&n->communicator, size, common, rank), "ncclCommInitRank");
}

static cvtm_status begin_group(cvtm_nccl *n) {
  CVTM_TRY(cvtm_device_activate(n->device));
  return check_nccl(n, n->group_start(), "ncclGroupStart");
}

/* Ends the group, even if `status` is a failure, because NCCL would add later calls of this thread
 * to an open group. Returns the first failure. */
static cvtm_status end_group(cvtm_nccl *n, cvtm_status status) {
  const int ended = n->group_end();
  return status == CVTM_OK ? check_nccl(n, ended, "ncclGroupEnd") : status;
}

cvtm_status cvtm_nccl_gather(cvtm_nccl *n, double *all, const int64_t *counts) {
  void *const stream = cvtm_device_stream(n->device);
  cvtm_status status = begin_group(n);
  if (status != CVTM_OK) return status;
  for (int r = 0; status == CVTM_OK && r < n->size; all += counts[r++])
    status =
        check_nccl(n, n->broadcast(all, all, (size_t)counts[r], DOUBLE, r, n->communicator, stream),
                   "ncclBroadcast");
  return end_group(n, status);
}

cvtm_status cvtm_nccl_exchange(cvtm_nccl *n, const double *from, const int64_t *counts, int rank,
                               double *to, int64_t gap) {
  void *const stream = cvtm_device_stream(n->device);
  cvtm_status status = begin_group(n);
  if (status != CVTM_OK) return status;
  for (int r = 0; status == CVTM_OK && r < n->size; ++r) {
    const int64_t sent = counts[rank * n->size + r], received = counts[r * n->size + rank];
    if (r == rank) {
      to += gap;
      continue;
    }
    if (sent > 0)
      status = check_nccl(n, n->send(from, (size_t)sent, DOUBLE, r, n->communicator, stream),
                          "ncclSend");
    if (status == CVTM_OK && received > 0)
      status = check_nccl(n, n->receive(to, (size_t)received, DOUBLE, r, n->communicator, stream),
                          "ncclRecv");
    from += sent;
    to += received;
  }
  return end_group(n, status);
}

/* NCCL stays loaded, as cuBLAS does. */
void cvtm_nccl_close(cvtm_nccl *n) {
  if (!n) return;
  if (n->communicator) (void)n->destroy(n->communicator);
  free(n);
}
