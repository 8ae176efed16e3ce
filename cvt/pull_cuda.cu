/* Derivatives by the density: a thread for each pixel, a block for each tile of them. */
#include "base/cuda_check.h"
#include "cvt/pull.h"

namespace {

enum { TILE_WIDTH = 16, TILE_HEIGHT = 8, THREADS = TILE_WIDTH * TILE_HEIGHT };

__global__ void __launch_bounds__(THREADS)
    pull_kernel(cvtm_site_tree_view tree, cvtm_domain domain, const double *phi, float *by_density,
                int32_t *crowded) {
  const int64_t across = (domain.width + TILE_WIDTH - 1) / TILE_WIDTH;
  const int64_t tiles = across * ((domain.height + TILE_HEIGHT - 1) / TILE_HEIGHT);
  const int32_t dx = static_cast<int32_t>(threadIdx.x) % TILE_WIDTH;
  const int32_t dy = static_cast<int32_t>(threadIdx.x) / TILE_WIDTH;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int32_t column = static_cast<int32_t>(tile % across) * TILE_WIDTH + dx;
    const int32_t row = static_cast<int32_t>(tile / across) * TILE_HEIGHT + dy;
    if (column >= domain.width || row >= domain.height) continue;
    double value = 0;
    if (!cvtm_pull_to_pixel(&tree, domain, column, row, phi, &value)) *crowded = 1;
    by_density[static_cast<int64_t>(row) * domain.width + column] = static_cast<float>(value);
  }
}

cvtm_status pull_cuda(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded) {
  const int64_t pixels = static_cast<int64_t>(cvt->domain.width) * cvt->domain.height;
  pull_kernel<<<cvtm_cuda_blocks(pixels, THREADS), THREADS, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvtm_site_tree_get_view(cvt->tree), cvt->domain, phi, by_density, crowded);
  return cvtm_cuda_launched(cvt->device, "pull_kernel");
}

}  // namespace

extern "C" const cvtm_pull_table cvtm_pull_cuda = {pull_cuda};
