/* Sums over the pixel centres of cells, a few neighbouring cells by the lanes of a warp together.
 * All sums have a fixed order. */
#include "base/cuda_check.h"
#include "cvt/evaluate_cuda.h"
#include "cvt/moments_cuda.h"
#include "cvt/pixel_sum.h"
#include "voronoi/cell_warp_cuda.h"

namespace {

enum { WARP = CVTM_WARP, BLOCKS = 20 /* of a warp, on a multiprocessor: what registers allow */ };

/* Shared memory of a warp for its cells. */
template <int CELLS>
struct warp_neighbours {
  cvtm_hull_pole pole[CVTM_PIXEL_SITES * CELLS];
  int32_t place[CVTM_PIXEL_SITES * CELLS];
  union {
    int32_t scratch[CVTM_HULL_SCRATCH * CELLS];
    cvtm_pixel_bound bound[CVTM_PIXEL_SITES * CELLS];
  };
};

/* PARTIAL: of a tree with a cover. */
template <int CELLS, bool PARTIAL>
__global__ void __launch_bounds__(WARP, BLOCKS)
    pixel_sum_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                     cvtm_deferred_cells deferred, cvtm_cell_moments *sums) {
  __shared__ __align__(16) warp_neighbours<CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS, own = lane / CELLS;
  const cvtm_lanes lanes = {own, WARP / CELLS};
  for (int64_t base = cvtm_first_cell<CELLS>(); base < tree.count;
       base += cvtm_cell_stride<CELLS>()) {
    const int64_t place = base + c;
    const bool wanted = place < tree.count;
    cvtm_hull hull = {0,
                      CELLS,
                      CVTM_PIXEL_SITES,
                      CVTM_HULL_REACH,
                      0,
                      memory.pole + c,
                      memory.place + c,
                      nullptr,
                      memory.scratch + c};
    hull.partial = PARTIAL;
    cvtm_cell_moments part;
    const bool done = cvtm_pixel_sum(&tree, domain, &density, place, wanted, lanes, &hull,
                                     memory.bound + c, &part) == CVTM_CELL_DONE;
    part = cvtm_moments_sum_lanes<CELLS>(part);
    if (own == 0 && wanted) {
      if (done)
        sums[tree.index[place]] = part;
      else
        cvtm_defer_cell(tree, deferred, place);
    }
    __syncwarp(); /* the next cells use the same memory */
  }
}

template <int CELLS>
cvtm_status launch_pixel_sum(cvtm_cvt *cvt, const cvtm_site_tree_view &tree,
                             const cvtm_deferred_cells &deferred) {
  const auto kernel =
      tree.cover == nullptr ? pixel_sum_kernel<CELLS, false> : pixel_sum_kernel<CELLS, true>;
  kernel<<<cvtm_cuda_blocks(tree.count, CELLS), WARP, 0, cvtm_cuda_stream(cvt->device)>>>(
      tree, cvt->domain, cvt->density, deferred, cvt->moments);
  return cvtm_cuda_launched(cvt->device, "pixel_sum_kernel");
}

}  // namespace

cvtm_status cvtm_sum_pixels_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                 const cvtm_deferred_cells *deferred) {
  const int64_t count = cvt->whole > 0 ? cvt->whole : tree->count; /* of all ranks */
  if (count < 6000) return launch_pixel_sum<2>(cvt, *tree, *deferred);
  if (count < 16000) return launch_pixel_sum<4>(cvt, *tree, *deferred);
  if (count < CVTM_CHUNKED_CELLS) return launch_pixel_sum<8>(cvt, *tree, *deferred);
  return launch_pixel_sum<16>(cvt, *tree, *deferred);
}
