#include "base/cuda_utils.h"
#include "lbfgsb/lbfgsb_kernels.h"

enum { THREADS = 256 };

static constexpr unsigned MAX_BLOCKS = 1024;

/* Integers: the order in which threads and blocks add does not matter. */
static __global__ void check_inputs_kernel(const double *lower, const double *upper,
                                           const double *scale, int64_t n,
                                           cvtm_lbfgsb_inputs *found) {
  int64_t bad = 0, finite = 0;
  for (int64_t i = cvtm_first_thread(); i < n; i += cvtm_thread_count()) {
    if (!cvtm_lbfgsb_input_is_valid(lower, upper, scale, i, &finite) && bad == 0) bad = n - i;
  }
  if (bad != 0) atomicMax(reinterpret_cast<long long *>(&found->bad), static_cast<long long>(bad));
  const unsigned sum = __reduce_add_sync(0xffffffffu, static_cast<unsigned>(finite));
  if (threadIdx.x % 32 == 0 && sum > 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(&found->finite),
              static_cast<unsigned long long>(sum));
}

extern "C" {

static cvtm_status check_inputs_cuda(cvtm_device *device, const double *lower, const double *upper,
                                     const double *scale, int64_t n, cvtm_lbfgsb_inputs *found) {
  const unsigned needed = cvtm_cuda_blocks(n, THREADS);
  const unsigned blocks = needed < MAX_BLOCKS ? needed : MAX_BLOCKS;
  check_inputs_kernel<<<blocks, THREADS, 0, cvtm_cuda_stream(device)>>>(lower, upper, scale, n,
                                                                        found);
  return cvtm_cuda_launched(device, "check_inputs_kernel");
}

extern const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cuda = {check_inputs_cuda};

}  // extern "C"
