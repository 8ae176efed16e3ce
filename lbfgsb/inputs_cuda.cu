#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "lbfgsb/inputs_kernels.h"

enum { THREADS = 256 };

static constexpr unsigned MAX_BLOCKS = 1024;

/* Adds to *found by all threads of a block. Integers: the order of blocks does not matter. */
static __device__ void add_found(int64_t bad, int finite, cvtm_lbfgsb_inputs *found) {
  if (bad != 0) atomicMax(reinterpret_cast<long long *>(&found->bad), static_cast<long long>(bad));
  finite = static_cast<int>(__reduce_add_sync(0xffffffffu, static_cast<unsigned>(finite)));
  if (threadIdx.x % 32 == 0 && finite > 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(&found->finite),
              static_cast<unsigned long long>(finite));
}

static __global__ void bounds_kernel(const double *lower, const double *upper, int64_t n,
                                     cvtm_lbfgsb_inputs *found) {
  int64_t bad = 0;
  int finite = 0;
  for (int64_t i = cvtm_first_thread(); i < n; i += cvtm_thread_count()) {
    double bounds[2];
    finite += cvtm_lbfgsb_read_bounds(lower, upper, i, bounds);
    if (bad == 0 && !cvtm_lbfgsb_bounds_are_valid(bounds[0], bounds[1])) bad = n - i;
  }
  add_found(bad, finite, found);
}

static __global__ void scale_kernel(const double *scale, int64_t n, cvtm_lbfgsb_inputs *found) {
  int64_t bad = 0;
  for (int64_t i = cvtm_first_thread(); i < n; i += cvtm_thread_count())
    if (bad == 0 && !cvtm_lbfgsb_scale_is_valid(scale[i])) bad = n - i;
  add_found(bad, 0, found);
}

static unsigned blocks_for(int64_t n) {
  const unsigned blocks = cvtm_cuda_blocks(n, THREADS);
  return blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS;
}

extern "C" {

static cvtm_status check_bounds(cvtm_device *device, const double *lower, const double *upper,
                                int64_t n, cvtm_lbfgsb_inputs *found) {
  bounds_kernel<<<blocks_for(n), THREADS, 0, cvtm_cuda_stream(device)>>>(lower, upper, n, found);
  return cvtm_cuda_launched(device, "bounds_kernel");
}

static cvtm_status check_scale(cvtm_device *device, const double *scale, int64_t n,
                               cvtm_lbfgsb_inputs *found) {
  scale_kernel<<<blocks_for(n), THREADS, 0, cvtm_cuda_stream(device)>>>(scale, n, found);
  return cvtm_cuda_launched(device, "scale_kernel");
}

extern const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cuda = {check_bounds, check_scale};

}  // extern "C"
