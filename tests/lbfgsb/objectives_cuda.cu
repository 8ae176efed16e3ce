#include "objectives.h"

#include <cuda_runtime.h>

enum { THREADS = 256 };

/* One block: the tests are small, and its sum has a fixed order. */
static __global__ void evaluate(problem p, const double *x, double *f, double *g) {
  __shared__ double values[THREADS], largest[THREADS];
  const int thread = (int)threadIdx.x;
  double value = 0.0, most = 0.0;
  for (int64_t i = thread; i < p.n; i += THREADS) {
    value += problem_row(&p, x, i, g + i);
    most = fmax(most, fabs(x[i]));
  }
  values[thread] = value;
  largest[thread] = most;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) {
      values[thread] += values[thread + half];
      largest[thread] = fmax(largest[thread], largest[thread + half]);
    }
  }
  if (thread == 0) {
    f[0] = values[0];
    f[1] = largest[0];
  }
}

extern "C" cvtm_status problem_evaluate_cuda(void *context, const double *x, double *f, double *g,
                                             void *stream) {
  const problem *p = static_cast<const problem *>(context);
  evaluate<<<1, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(*p, x, f, g);
  cudaError_t code = cudaGetLastError();
  if (code == cudaSuccess && p->waits) {
    code = cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
    (void)cudaGetLastError();
  }
  return code == cudaSuccess ? CVTM_OK : CVTM_ERROR_DEVICE;
}
