#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "bench/problems/rgcsr_kernels.h"

enum { THREADS = 256 };

template <cvtm_rgcsr_kind KIND>
static __global__ void half_sweep_kernel(cvtm_rgcsr matrix, int colour) {
  const int64_t count = matrix.side * matrix.side / 2;
  for (int64_t t = cvtm_first_thread(); t < count; t += cvtm_thread_count()) {
    cvtm_rgcsr_relax(&matrix, KIND, cvtm_rgcsr_node(matrix.side, colour, t));
  }
}

extern "C" {

static cvtm_status cuda_half_sweep(cvtm_device *device, const cvtm_rgcsr *matrix,
                                   cvtm_rgcsr_kind kind, int colour) {
  const unsigned blocks = cvtm_cuda_blocks(matrix->side * matrix->side / 2, THREADS);
  const cudaStream_t stream = cvtm_cuda_stream(device);
  if (kind == CVTM_RGCSR_BRANCH) {
    half_sweep_kernel<CVTM_RGCSR_BRANCH><<<blocks, THREADS, 0, stream>>>(*matrix, colour);
  } else if (kind == CVTM_RGCSR_SELECT) {
    half_sweep_kernel<CVTM_RGCSR_SELECT><<<blocks, THREADS, 0, stream>>>(*matrix, colour);
  } else {
    half_sweep_kernel<CVTM_RGCSR_FIRST><<<blocks, THREADS, 0, stream>>>(*matrix, colour);
  }
  return cvtm_cuda_launched(device, "half_sweep_kernel");
}

extern const cvtm_rgcsr_table cvtm_rgcsr_table_cuda = {cuda_half_sweep};

}  // extern "C"
