#include "base/cuda_utils.h"
#include "cvt/site_updates.h"
#include "jfa/cell_warp_cuda.h"

namespace {

enum { CELLS = 8 /* cells of a warp */, THREADS = 256 };

/* failed: the number of cells that hull construction cannot decide; they get no midpoints. */
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

__device__ void place_site(cvtm_domain domain, const cvtm_edge_midpoints *midpoints,
                           const int64_t *before, int64_t from, int64_t to, double *sites,
                           int64_t i) {
  double *site = sites + 2 * i;
  site[0] = cvtm_cvt_inside(site[0], domain.width, domain.periodic);
  site[1] = cvtm_cvt_inside(site[1], domain.height, domain.periodic);
  cvtm_place_midpoints(midpoints + i, before[i], before[from], to - from, sites + 2 * from);
}

__global__ void fill_up_kernel(const int64_t *before, int64_t from, int64_t to, double *sites) {
  const int64_t total = before[from], have = from + cvtm_chosen_before(total, total, to - from);
  for (int64_t k = cvtm_first_thread(); have + k < to; k += cvtm_thread_count())
    cvtm_fill_up(sites, have, to, k);
}

}  // namespace

extern "C" cvtm_status cvtm_edge_midpoints_cuda(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints,
                                                int32_t *counts, int32_t *failed) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  return CVTM_LAUNCH(cvt->device, edge_midpoints_kernel, cvtm_cuda_blocks(tree.count, CELLS),
                     CVTM_WARP, tree, cvt->domain, midpoints, counts, failed);
}

extern "C" cvtm_status cvtm_place_midpoints_cuda(cvtm_cvt *cvt,
                                                 const cvtm_edge_midpoints *midpoints,
                                                 const int64_t *before, int64_t from, int64_t to) {
  const cvtm_status status = launch_rows<place_site, THREADS>(
      cvt->device, "place_site", 0, from, cvt->domain, midpoints, before, from, to, cvt->sites);
  if (status != CVTM_OK) return status;
  return CVTM_LAUNCH(cvt->device, fill_up_kernel, cvtm_cuda_blocks(to - from, THREADS), THREADS,
                     before, from, to, cvt->sites);
}
