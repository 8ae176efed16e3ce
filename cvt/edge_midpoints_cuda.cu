#include "base/cuda_utils.h"
#include "cvt/site_updates.h"
#include "jfa/cell_warp_cuda.h"

namespace {

enum { CELLS = 8 /* cells of a warp */ };

/* Finds the midpoints of all sites. *failed: the number of cells for which hull construction fails;
 * these get no midpoints. */
__global__ void __launch_bounds__(CVTM_WARP)
    edge_midpoints_kernel(cvtm_site_tree_view tree, cvtm_domain domain,
                          cvtm_edge_midpoints *midpoints, int32_t *counts, int32_t *failed) {
  __shared__ cvtm_warp_cells<CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * CELLS;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * CELLS; base < tree.count; base += stride) {
    cvtm_cell cell = {0, CVTM_HULL_SIDES, CELLS, memory.x + c, memory.y + c, nullptr, nullptr, 0};
    const bool done =
        cvtm_warp_cells_by_hull(tree, domain, base, tree.count, lane, 0, &memory.hulls, &cell);
    if (lane < CELLS && base + c < tree.count) {
      if (!done) atomicAdd(failed, 1);
      cvtm_find_edge_midpoints(domain, &tree, base + c, &cell, midpoints + base + c);
      counts[base + c] = midpoints[base + c].count;
    }
    __syncwarp(); /* the next cells use the same memory */
  }
}

}  // namespace

extern "C" cvtm_status cvtm_edge_midpoints_cuda(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints,
                                                int32_t *counts, int32_t *failed) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  return CVTM_LAUNCH(cvt->device, edge_midpoints_kernel, cvtm_cuda_blocks(tree.count, CELLS),
                     CVTM_WARP, tree, cvt->domain, midpoints, counts, failed);
}
