#include "base/cublas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* cublasFillMode_t and cublasOperation_t. */
enum { UPPER = 1, PLAIN = 0, TRANSPOSED = 1 };

/* Functions of cuBLAS, declared as in cublas_api.h. */
struct cvtm_cublas {
  cvtm_device *device;
  void *library, *handle;
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

/* ISO C has no conversion from an object pointer to one to a function. */
static int find_symbol(void *library, const char *name, void *function) {
  void *const symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

static int load(cvtm_cublas *c) {
  const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                               "/usr/local/cuda/lib64/libcublas.so"};
  for (size_t k = 0; k < sizeof names / sizeof names[0] && c->library == NULL; ++k)
    c->library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
  return c->library != NULL && find_symbol(c->library, "cublasCreate_v2", &c->create) &&
         find_symbol(c->library, "cublasDestroy_v2", &c->destroy) &&
         find_symbol(c->library, "cublasSetStream_v2", &c->set_stream) &&
         find_symbol(c->library, "cublasDgemm_v2", &c->dgemm) &&
         find_symbol(c->library, "cublasDsyrk_v2", &c->dsyrk) &&
         find_symbol(c->library, "cublasDgemv_v2", &c->dgemv);
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
  if (!load(made))
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

/* The library stays loaded: it does not bear to be unloaded while the CUDA runtime is in use. */
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
