/* For derivatives with respect to the density a warp computes a tile of pixels. For derivatives
 * with respect to the sites a warp computes a few cells, and its lanes divide the edges among
 * them. */
#include "base/cuda_utils.h"
#include "cvt/pull.h"
#include "jfa/cell_by_tree_warp_cuda.h"
#include "jfa/cell_warp_cuda.h"

namespace {

enum { WARPS = 4, CELLS = 8 /* cells that a warp computes at a time */ };

__device__ cvtm_pull_result result_in(float *memory) { return {memory, nullptr}; }
__device__ cvtm_pull_result result_in(double *memory) { return {nullptr, memory}; }

template <typename Number>
__global__ void __launch_bounds__(WARPS *CVTM_WARP, 7)
    pull_kernel(cvtm_site_tree_view tree, cvtm_domain domain, const double *phi, Number *by_density,
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
    if (!cvtm_pull_to_tile(&tree, domain, lanes, column, row, phi, near + warp,
                           result_in(by_density)))
      *crowded = 1;
  }
}

template <typename Number>
cvtm_status launch_pull(cvtm_cvt *cvt, const double *phi, Number *by_density, int32_t *crowded) {
  const int64_t across = (cvt->domain.width + CVTM_PULL_WIDTH - 1) / CVTM_PULL_WIDTH;
  const int64_t tiles = across * ((cvt->domain.height + CVTM_PULL_HEIGHT - 1) / CVTM_PULL_HEIGHT);
  return CVTM_LAUNCH(cvt->device, pull_kernel, cvtm_cuda_blocks(tiles, WARPS), WARPS * CVTM_WARP,
                     cvtm_site_tree_get_view(cvt->tree), cvt->domain, phi, by_density, crowded);
}

cvtm_status pull_cuda(cvtm_cvt *cvt, const double *phi, cvtm_pull_result by_density,
                      int32_t *crowded) {
  if (by_density.precise) return launch_pull(cvt, phi, by_density.precise, crowded);
  return launch_pull(cvt, phi, by_density.single, crowded);
}

/* Returns the slot of the site across the edge from corner k of a cell to the next corner; it is
 * negative on the border. hull: the hull whose poles (cell_by_hull.h) bound the cell; if NULL,
 * returns CVTM_PULL_UNKNOWN. After hull->order was set, the poles that are no corners of the hull
 * may have been removed. They have been removed if hull->count is the number of corners; then the
 * new number of a pole is the number of corners before it. */
__device__ int32_t across(const cvtm_hull *hull, const cvtm_cell &cell, int32_t k) {
  if (hull == nullptr) return CVTM_PULL_UNKNOWN;
  int32_t pole = hull->order[(k + 1 < cell.count ? k + 1 : 0) * hull->stride];
  if (hull->count == __popc(hull->corners)) pole = __popc(hull->corners & ((1u << pole) - 1));
  return hull->slot[pole * hull->stride];
}

/* Computes the derivatives with respect to the site of a cell. Lanes k, k + APART, k + 2 APART, ...
 * of a warp divide the edges of the cell among them, and lane k stores the sum. hull: the hull of
 * the cell, or NULL. All lanes must call. */
template <int APART>
__device__ void pull_cell(const cvtm_pull_edges &edges, int64_t slot, const cvtm_cell &cell,
                          const cvtm_hull *hull, int lane, double *by_sites) {
  const unsigned all = 0xFFFFFFFFu;
  double sum[3] = {0, 0, 0};
  for (int32_t k = lane / APART; k < cell.count; k += CVTM_WARP / APART)
    cvtm_pull_add_side(&edges, slot, &cell, k, across(hull, cell, k), sum);
  for (int offset = CVTM_WARP / 2; offset >= APART; offset /= 2) {
    sum[0] += __shfl_down_sync(all, sum[0], offset);
    sum[1] += __shfl_down_sync(all, sum[1], offset);
  }
  if (lane >= APART || slot >= edges.tree.count) return;
  by_sites[2 * static_cast<int64_t>(edges.tree.index[slot])] = sum[0];
  by_sites[2 * static_cast<int64_t>(edges.tree.index[slot]) + 1] = sum[1];
}

/* Computes the derivatives with respect to the sites whose cells hull construction can make, and
 * lists the other sites. */
__global__ void __launch_bounds__(CVTM_WARP)
    pull_sites_kernel(cvtm_pull_edges edges, double *by_sites, cvtm_pull_memory *list) {
  __shared__ cvtm_warp_cells<CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * CELLS;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * CELLS; base < edges.tree.count;
       base += stride) {
    cvtm_cell cell = {0, CVTM_HULL_SIDES, CELLS, memory.x + c, memory.y + c, nullptr, nullptr, 0};
    cvtm_hull hull;
    const bool done = cvtm_warp_cells_by_hull(edges.tree, edges.domain, base, edges.tree.count,
                                              lane, 0, &memory.hulls, &cell, &hull);
    if (lane < CELLS && base + c < edges.tree.count && !done)
      list->slot[atomicAdd(&list->flags.deferred, 1)] = static_cast<int32_t>(base + c);
    pull_cell<CELLS>(edges, base + c, cell, &hull, lane, by_sites);
    __syncwarp(); /* the next cells use the same memory */
  }
}

/* Computes the derivatives with respect to the listed sites, by a warp for each site. */
__global__ void __launch_bounds__(CVTM_WARP)
    pull_listed_sites_kernel(cvtm_pull_edges edges, double *by_sites, cvtm_pull_memory *list) {
  __shared__ cvtm_warp_queue queue;
  const int lane = static_cast<int>(threadIdx.x);
  const int32_t n = CVTM_PULL_CORNERS;
  double *corners = list->corners[blockIdx.x];
  for (int32_t k = static_cast<int32_t>(blockIdx.x); k < list->flags.deferred;
       k += static_cast<int32_t>(gridDim.x)) {
    const int64_t slot = list->slot[k];
    cvtm_cell cell = {0, n, 1, corners, corners + n, corners + 2 * n, corners + 3 * n, 0};
    if (cvtm_warp_compute_cell(&edges.tree, edges.domain, slot, &queue, lane, &cell) !=
        CVTM_CELL_DONE) {
      list->flags.failed = 1;
      continue;
    }
    pull_cell<1>(edges, slot, cell, nullptr, lane, by_sites);
    __syncwarp(); /* the next cell uses the same memory */
  }
}

cvtm_status pull_to_sites_cuda(cvtm_cvt *cvt, const double *phi, double *by_sites,
                               cvtm_pull_memory *memory) {
  const cvtm_pull_edges edges = {cvtm_site_tree_get_view(cvt->tree), cvt->domain,
                                 cvt->density.value, phi};
  CVTM_TRY(CVTM_LAUNCH(cvt->device, pull_sites_kernel, cvtm_cuda_blocks(edges.tree.count, CELLS),
                       CVTM_WARP, edges, by_sites, memory));
  return CVTM_LAUNCH(cvt->device, pull_listed_sites_kernel, CVTM_PULL_BLOCKS, CVTM_WARP, edges,
                     by_sites, memory);
}

}  // namespace

extern "C" const cvtm_pull_table cvtm_pull_cuda = {pull_cuda, pull_to_sites_cuda};
