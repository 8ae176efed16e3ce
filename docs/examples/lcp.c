/* A linear complementarity problem from CSR arrays: a string under load above an obstacle.
 *     x >= 0.1,  F = A x - b,  F >= 0 where x = 0.1,  F = 0 elsewhere,  A = tridiag(-1, 2, -1).
 * cc lcp.c $(pkg-config --cflags --libs cvtmesh) -o lcp */
#include <cvtmesh/cvtmesh.h>

#include <stdio.h>

enum { N = 999 };

/* The solver's vectors are in device memory. */
static cvtm_status solve(cvtm_device *device, const cvtm_csr *matrix, const double *b,
                         const double *lower, double *x, cvtm_lcp_result *result) {
  const size_t bytes = N * sizeof *x;
  void *on_device[3] = {NULL, NULL, NULL};
  cvtm_lcp_options options;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_defaults(&options);
  cvtm_status status = cvtm_lcp_create(device, matrix, 0, 0, &options, &lcp);
  for (int k = 0; k < 3 && status == CVTM_OK; ++k)
    status = cvtm_device_allocate(device, N, sizeof *x, &on_device[k]);
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, on_device[0], b, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, on_device[1], lower, bytes);
  if (status == CVTM_OK)
    status = cvtm_lcp_solve(lcp, on_device[0], on_device[1], NULL, on_device[2], 0, result);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, x, on_device[2], bytes);
  for (int k = 0; k < 3; ++k) cvtm_device_free(device, on_device[k]);
  cvtm_lcp_destroy(lcp);
  return status;
}

int main(void) {
  static int64_t row_start[N + 1];
  static int32_t column[3 * N];
  static double value[3 * N], b[N], lower[N], x[N];
  int64_t entries = 0;
  const double h = 1.0 / (N + 1);
  for (int i = 0; i < N; ++i) {
    for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; ++j) {
      column[entries] = j;
      value[entries++] = i == j ? 2 : -1;
    }
    row_start[i + 1] = entries;
    b[i] = 8 * h * h * (i < N / 2 ? 1 : -1);
    lower[i] = i == N / 2 ? 0.1 : -1;
  }
  const cvtm_csr matrix = {N, N, row_start, column, value};
  cvtm_error error;
  cvtm_device *device = NULL;
  cvtm_lcp_result result;
  if (cvtm_device_create("auto", 0, &device, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const int failed = solve(device, &matrix, b, lower, x, &result) != CVTM_OK;
  if (failed)
    fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  else
    printf("%s: %s after %lld iterations, residual %.1e; x in the middle %.6f, %lld at the bound\n",
           cvtm_lcp_method_name(result.method), cvtm_lcp_stop_name(result.stop),
           (long long)result.iterations, result.natural_residual, x[N / 2],
           (long long)result.active_lower);
  cvtm_device_destroy(device);
  return failed;
}
