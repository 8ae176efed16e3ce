/* Derivatives by the density: a warp for each tile of pixels. */
#include "base/cuda_check.h"
#include "cvt/pull.h"

namespace {

enum { WARPS = 4 };

__global__ void __launch_bounds__(WARPS *CVTM_WARP, 7)
    pull_kernel(cvtm_site_tree_view tree, cvtm_domain domain, const double *phi, float *by_density,
                int32_t *crowded) {
  __shared__ cvtm_pull_near near[WARPS];
  const int32_t warp = static_cast<int32_t>(threadIdx.x) / CVTM_WARP;
  const cvtm_lanes lanes = {static_cast<int32_t>(threadIdx.x) % CVTM_WARP, CVTM_WARP};
  const int64_t across = (domain.width + CVTM_PULL_WIDTH - 1) / CVTM_PULL_WIDTH;
  const int64_t tiles = across * ((domain.height + CVTM_PULL_HEIGHT - 1) / CVTM_PULL_HEIGHT);
  for (int64_t tile = static_cast<int64_t>(blockIdx.x) * WARPS + warp; tile < tiles;
       tile += static_cast<int64_t>(gridDim.x) * WARPS) {
    const int32_t column = static_cast<int32_t>(tile % across) * CVTM_PULL_WIDTH;
    const int32_t row = static_cast<int32_t>(tile / across) * CVTM_PULL_HEIGHT;
    if (!cvtm_pull_to_tile(&tree, domain, lanes, column, row, phi, near + warp, by_density))
      *crowded = 1;
  }
}

cvtm_status pull_cuda(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded) {
  const int64_t across = (cvt->domain.width + CVTM_PULL_WIDTH - 1) / CVTM_PULL_WIDTH;
  const int64_t tiles = across * ((cvt->domain.height + CVTM_PULL_HEIGHT - 1) / CVTM_PULL_HEIGHT);
  pull_kernel<<<cvtm_cuda_blocks(tiles, WARPS), WARPS * CVTM_WARP, 0,
                cvtm_cuda_stream(cvt->device)>>>(cvtm_site_tree_get_view(cvt->tree), cvt->domain,
                                                 phi, by_density, crowded);
  return cvtm_cuda_launched(cvt->device, "pull_kernel");
}

}  // namespace

extern "C" const cvtm_pull_table cvtm_pull_cuda = {pull_cuda};
