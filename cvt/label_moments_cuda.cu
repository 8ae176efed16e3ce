/* Sums over the pixels of each label. All sums have a fixed order. */
#include "base/cuda_utils.h"
#include "base/portable.h"
#include "cvt/evaluate_cuda.h"
#include "cvt/moments_cuda.h"

namespace {

enum { PIXEL_THREADS = 128 };

__global__ void keys_kernel(const int32_t *labels, int64_t area, uint64_t *keys, int32_t *pixels) {
  for (int64_t p = cvtm_first_thread(); p < area; p += cvtm_thread_count()) {
    keys[p] = static_cast<uint32_t>(labels[p]);
    pixels[p] = static_cast<int32_t>(p);
  }
}

/* A block sums the pixels of one label. */
__global__ void __launch_bounds__(PIXEL_THREADS)
    pixel_kernel(cvtm_density_view density, const uint64_t *keys, const int32_t *pixels,
                 const double *sites, int64_t count, cvtm_cell_moments *sums) {
  __shared__ cvtm_cell_moments part[PIXEL_THREADS];
  const int64_t area = static_cast<int64_t>(density.width) * density.height;
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const int64_t first = cvtm_lower_bound_64(keys, 0, area, static_cast<uint64_t>(i));
    const int64_t last = cvtm_lower_bound_64(keys, 0, area, static_cast<uint64_t>(i) + 1);
    cvtm_cell_moments mine = {0, 0, 0, 0};
    for (int64_t k = first + threadIdx.x; k < last; k += PIXEL_THREADS)
      cvtm_cvt_add_pixel(&density, pixels[k], sites[2 * i], sites[2 * i + 1], &mine);
    part[threadIdx.x] = mine;
    const cvtm_cell_moments all = cvtm_moments_sum_block(part, PIXEL_THREADS);
    if (threadIdx.x == 0) {
      sums[i] = cvtm_cvt_no_pixels(sites + 2 * i);
      cvtm_cell_moments_add(&sums[i], &all);
    }
    __syncthreads();
  }
}

}  // namespace

cvtm_status cvtm_pixel_keys_cuda(cvtm_cvt *cvt) {
  const int64_t area = static_cast<int64_t>(cvt->domain.width) * cvt->domain.height;
  keys_kernel<<<cvtm_cuda_blocks(area, 256), 256, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->labels, area, cvt->keys, cvt->pixels);
  return cvtm_cuda_launched(cvt->device, "keys_kernel");
}

cvtm_status cvtm_label_moments_cuda(cvtm_cvt *cvt, const double *sites, int64_t count) {
  pixel_kernel<<<cvtm_cuda_blocks(count, 1), PIXEL_THREADS, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->density, cvt->keys, cvt->pixels, sites, count, cvt->moments);
  return cvtm_cuda_launched(cvt->device, "pixel_kernel");
}
