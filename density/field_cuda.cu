#include "base/cuda_utils.h"
#include "density/field_kernels.h"

namespace {

enum { block_size = 256, tile_x = 64, tile_y = 4 };

/* Calls body(i, j) for each pixel; works for any size of image and of launch grid. */
template <typename body_type>
__device__ void for_pixels(int64_t width, int64_t height, body_type body) {
  const int64_t step_x = static_cast<int64_t>(gridDim.x) * tile_x;
  const int64_t step_y = static_cast<int64_t>(gridDim.y) * tile_y;
  for (int64_t j = static_cast<int64_t>(blockIdx.y) * tile_y + threadIdx.y; j < height; j += step_y)
    for (int64_t i = cvtm_first_thread(); i < width; i += step_x) body(i, j);
}

dim3 tiles(int64_t width, int64_t height) {
  return dim3(cvtm_cuda_blocks(width, tile_x), cvtm_cuda_rows(height, tile_y));
}

__global__ void laplacian(cvtm_lcp_grid grid, double sign, const double *v, double *out) {
  for_pixels(grid.width, grid.height, [&](int64_t i, int64_t j) {
    out[j * grid.width + i] = cvtm_field_laplacian(&grid, sign, v, i, j);
  });
}

__global__ void detector_kernel(cvtm_level_set set) {
  for_pixels(set.width + 1, set.height + 1,
             [&](int64_t i, int64_t j) { cvtm_level_detector(&set, i, j); });
}

/* Adds the sums of the block's threads in a fixed order to `sum` of the first thread. */
__device__ void sum_block(double sum[CVTM_LEVEL_SUMS]) {
  __shared__ double lanes[CVTM_LEVEL_SUMS][block_size];
  for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) lanes[k][threadIdx.x] = sum[k];
  for (unsigned half = block_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) lanes[k][threadIdx.x] += lanes[k][threadIdx.x + half];
  }
  if (threadIdx.x > 0) return;
  for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) sum[k] = lanes[k][0];
}

/* Each block processes one row of pixels after another. */
__global__ void __launch_bounds__(block_size, 4) advance_kernel(cvtm_level_set set) {
  for (int64_t j = blockIdx.x; j < set.height; j += gridDim.x) {
    double sum[CVTM_LEVEL_SUMS] = {0};
    for (int64_t i = threadIdx.x; i < set.width; i += block_size)
      cvtm_level_advance(&set, i, j, sum);
    sum_block(sum);
    for (int k = 0; threadIdx.x == 0 && k < CVTM_LEVEL_SUMS; ++k)
      set.partial[CVTM_LEVEL_SUMS * j + k] = sum[k];
    __syncthreads(); /* before the next row reuses shared memory */
  }
}

/* One block adds the sums of all rows. */
__global__ void add_rows(cvtm_level_set set) {
  double sum[CVTM_LEVEL_SUMS] = {0};
  for (int64_t j = threadIdx.x; j < set.height; j += block_size) {
    for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) sum[k] += set.partial[CVTM_LEVEL_SUMS * j + k];
  }
  sum_block(sum);
  if (threadIdx.x > 0) return;
  for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) set.sums[k] = sum[k];
}

cvtm_status cuda_laplacian(cvtm_device *device, const cvtm_lcp_grid *grid, double sign,
                           const double *v, double *out) {
  return CVTM_LAUNCH(device, laplacian, tiles(grid->width, grid->height), dim3(tile_x, tile_y),
                     *grid, sign, v, out);
}

cvtm_status cuda_detector(cvtm_device *device, const cvtm_level_set *set) {
  return CVTM_LAUNCH(device, detector_kernel, tiles(set->width + 1, set->height + 1),
                     dim3(tile_x, tile_y), *set);
}

cvtm_status cuda_advance(cvtm_device *device, const cvtm_level_set *set) {
  const cvtm_status status =
      CVTM_LAUNCH(device, advance_kernel, cvtm_cuda_blocks(set->height, 1), block_size, *set);
  return status == CVTM_OK ? CVTM_LAUNCH(device, add_rows, 1, block_size, *set) : status;
}

CVTM_FIELD_PHASES(CVTM_PHASE_CUDA)

}  // namespace

const cvtm_field_table cvtm_field_table_cuda = {cuda_laplacian, cuda_detector, cuda_advance,
                                                CVTM_FIELD_PHASES(CVTM_PHASE_CUDA_NAME)};
