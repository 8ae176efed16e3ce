/* L-BFGS-B on a function of your own that a CUDA kernel evaluates: sum of (x[i]^2 - t[i])^2 with
 * 0 <= x[i] <= 1, of 100,000 variables. x, the value and the gradient never leave the device.
 * nvcc minimize_cuda.cu $(pkg-config --cflags --libs cvtmesh) -o minimize_cuda */
#include <cvtmesh/cvtmesh.h>

#include <stdio.h>

enum { N = 100000, THREADS = 1024 };

/* One block: each thread sums every 1024th term, and the block adds the sums in a fixed order. */
static __global__ void evaluate(const double *x, double *f, double *g) {
  __shared__ double sum[THREADS];
  double own = 0;
  for (int i = threadIdx.x; i < N; i += THREADS) {
    const double away = x[i] * x[i] - (0.5 + 1.5 * (i + 0.5) / N); /* t grows from 1/2 to 2 */
    own += away * away;
    g[i] = 4 * x[i] * away;
  }
  sum[threadIdx.x] = own;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *f = sum[0];
}

static __global__ void fill(double *x, double value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) x[i] = value;
}

/* The kernel is enqueued and not waited for: the solver captures it into a graph. */
static cvtm_status objective(void *context, const double *x, double *f, double *g, void *stream) {
  cvtm_device *device = (cvtm_device *)context;
  evaluate<<<1, THREADS, 0, (cudaStream_t)stream>>>(x, f, g);
  if (cudaGetLastError() == cudaSuccess) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_EVALUATION, "the kernel was not started");
}

static cvtm_status minimize(cvtm_device *device, double *x, double *bounds,
                            cvtm_lbfgsb_result *result) {
  cudaStream_t stream = (cudaStream_t)cvtm_device_stream(device);
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_defaults(&options);
  options.gradient_tolerance = 1e-8;
  fill<<<(N + 255) / 256, 256, 0, stream>>>(x, 0.5);
  fill<<<(N + 255) / 256, 256, 0, stream>>>(bounds, 0);
  fill<<<(N + 255) / 256, 256, 0, stream>>>(bounds + N, 1);
  cvtm_status status = cvtm_lbfgsb_create(device, N, &options, &solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_bounds(solver, bounds, bounds + N);
  if (status == CVTM_OK) status = cvtm_lbfgsb_minimize(solver, x, objective, device, result);
  cvtm_lbfgsb_destroy(solver);
  return status;
}

int main(void) {
  cvtm_error error;
  cvtm_device *device = NULL;
  cvtm_lbfgsb_result result;
  void *x = NULL, *bounds = NULL;
  if (cvtm_device_create("cuda", 0, &device, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const int failed = cvtm_device_allocate(device, N, sizeof(double), &x) ||
                     cvtm_device_allocate(device, 2 * N, sizeof(double), &bounds) ||
                     minimize(device, (double *)x, (double *)bounds, &result);
  if (failed)
    fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  else
    printf("%s: f = %.9g after %lld iterations (%s), %lld variables at a bound\n",
           cvtm_device_name(device), result.f, (long long)result.iterations,
           cvtm_stop_name(result.stop), (long long)result.active);
  cvtm_device_free(device, bounds);
  cvtm_device_free(device, x);
  cvtm_device_destroy(device);
  return failed;
}
