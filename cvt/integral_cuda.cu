/* Moments of the cells of a Voronoi diagram: hull construction, then the integral by segments. The
 * lanes of a warp share a few neighbouring cells. For few cells one kernel does both steps; for
 * many cells there is a kernel for each step. All sums have a fixed order. */
#include "base/cuda_utils.h"
#include "cvt/evaluate_cuda.h"
#include "cvt/integral_segments.h"
#include "jfa/cell_warp_cuda.h"

namespace {

enum {
  WARP = CVTM_WARP,
  BLOCKS = 20,       /* blocks of one warp per multiprocessor; bounds the registers */
  SHORT_BLOCKS = 24, /* as BLOCKS, for the kernels of a single step */
  CLIP_CELLS = 16,   /* cells that a warp of clip_kernel constructs at a time */
  MOST_TESTS = 48    /* sites that a lane tests per cell of its warp, at most; cells that need
                      * more are deferred */
};

/* Constructs the cells at slots first .. last - 1. PARTIAL: the tree may lack some sites
 * (cvtm_tree_cover in site_query.h); only the cells of its own sites are constructed. */
template <bool PARTIAL>
__global__ void __launch_bounds__(WARP, SHORT_BLOCKS)
    clip_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_clipped_cells cells,
                cvtm_deferred_cells deferred, int64_t first, int64_t last) {
  __shared__ cvtm_warp_hulls<CLIP_CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t begin = cvtm_first_cell<CLIP_CELLS>(); first + begin < last;
       begin += cvtm_cell_stride<CLIP_CELLS>()) {
    const int64_t k = begin + lane % CLIP_CELLS;
    cvtm_cell cell = {0,           CVTM_HULL_SIDES, cells.chunk, cells.x + k,
                      cells.y + k, nullptr,         nullptr,     0};
    const bool done = cvtm_warp_cells_by_hull<CLIP_CELLS, PARTIAL>(
        tree, domain, first + begin, last, lane, CLIP_CELLS * MOST_TESTS, &memory, &cell);
    if (lane < CLIP_CELLS && first + k < last) {
      cells.count[k] = done ? cell.count : static_cast<int32_t>(CVTM_CELL_DEFERRED);
      if (!done) cvtm_defer_cell(tree, deferred, first + k);
    }
    __syncwarp(); /* the next cells use the same memory */
  }
}

/* A cell, in the registers of its lanes. count: number of corners, or CVTM_CELL_DEFERRED. */
struct warp_cell {
  int32_t count, index;
  double sx, sy;
};

/* Shared memory of a warp for its cells. */
template <int CELLS>
struct warp_segments {
  static constexpr int rows = 256 / CELLS; /* rows of a cell that are summed at a time */
  union {
    cvtm_warp_hulls<CELLS> hulls; /* in use before `edge` */
    cvtm_segments_edge edge[CVTM_HULL_SIDES * CELLS];
  };
  union {
    struct { /* in use before `entry` */
      double x[CVTM_HULL_SIDES * CELLS], y[CVTM_HULL_SIDES * CELLS];
      cvtm_segments_pixel pixel[CVTM_HULL_SIDES * CELLS];
    };
    int32_t entry[2][rows * CELLS];
  };
  int32_t base[(CVTM_HULL_SIDES + 1) * CELLS];
};

/* Reads cell k, whose site is at `slot`, if slot < last. own: number of this lane among the lanes
 * of the cell. All reads are issued before the first value is used, so that their latencies
 * overlap. */
template <int CELLS>
__device__ warp_cell read_cell(const cvtm_site_tree_view &tree, const cvtm_clipped_cells &cells,
                               int64_t k, int64_t slot, int64_t last, int own, double *x,
                               double *y) {
  constexpr int lanes = WARP / CELLS, rounds = (CVTM_HULL_SIDES + lanes - 1) / lanes;
  warp_cell cell = {CVTM_CELL_DEFERRED, 0, 0, 0};
  if (slot >= last) return cell;
  cell.count = cells.count[k];
  cell.index = tree.index[slot];
  cell.sx = tree.position[2 * slot];
  cell.sy = tree.position[2 * slot + 1];
  double corner_x[rounds], corner_y[rounds];
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    const int64_t s = min(own + r * lanes, CVTM_HULL_SIDES - 1);
    corner_x[r] = cells.x[s * cells.chunk + k];
    corner_y[r] = cells.y[s * cells.chunk + k];
  }
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    const int s = own + r * lanes;
    if (s >= cell.count) break;
    x[s * CELLS] = corner_x[r];
    y[s * CELLS] = corner_y[r];
  }
  return cell;
}

/* Constructs the cells at slots base .. base + CELLS - 1, with their corners in *memory, and defers
 * those that hull construction cannot decide. Returns the cell of this lane. */
template <int CELLS, bool PARTIAL>
__device__ warp_cell construct_cell(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                    int64_t base, int lane, const cvtm_deferred_cells &deferred,
                                    warp_segments<CELLS> *memory) {
  const int c = lane % CELLS;
  const int64_t slot = base + c;
  warp_cell cell = {CVTM_CELL_DEFERRED, 0, 0, 0};
  cvtm_cell polygon = {0,       CVTM_HULL_SIDES, CELLS, memory->x + c, memory->y + c,
                       nullptr, nullptr,         0};
  const bool done = cvtm_warp_cells_by_hull<CELLS, PARTIAL>(
      tree, domain, base, tree.count, lane, CELLS * MOST_TESTS, &memory->hulls, &polygon);
  if (slot >= tree.count) return cell;
  if (!done) {
    if (lane < CELLS) cvtm_defer_cell(tree, deferred, slot);
    return cell;
  }
  cell.count = polygon.count;
  cell.index = tree.index[slot];
  cell.sx = tree.position[2 * slot];
  cell.sy = tree.position[2 * slot + 1];
  return cell;
}

/* Integrates over the warp's cells, whose corners are in *memory. */
template <int CELLS>
__device__ void integrate(cvtm_domain domain, const cvtm_density_view &density,
                          const warp_cell &cell, int lane, warp_segments<CELLS> *memory,
                          cvtm_cell_moments *sums) {
  constexpr int lanes = WARP / CELLS, window = warp_segments<CELLS>::rows;
  const unsigned all = 0xFFFFFFFFu;
  const int c = lane % CELLS, own = lane / CELLS;
  cvtm_segments polygon;
  polygon.count = cell.count >= 3 ? cell.count : 0;
  polygon.stride = CELLS;
  polygon.x = memory->x + c;
  polygon.y = memory->y + c;
  polygon.pixel = memory->pixel + c;
  polygon.edge = memory->edge + c;
  polygon.base = memory->base + c;
  polygon.sx = cell.sx;
  polygon.sy = cell.sy;
  for (int s = own; s < polygon.count; s += lanes) cvtm_segments_set_pixel(domain, &polygon, s);
  __syncwarp();
  int32_t segments = 0, column = 0;
  polygon.first = 0;
  polygon.last = -1;
  polygon.wide = 0;
  if (polygon.count > 0) {
    cvtm_segments_measure(&polygon);
    if (own < 2) segments = cvtm_segments_chain(&polygon, own);
    column = polygon.pixel[polygon.top * CELLS].column;
  }
  __syncwarp();
  const int32_t left = __shfl_sync(all, segments, c);
  segments = left + __shfl_sync(all, segments, CELLS + c);
  for (int s = own; s < polygon.count; s += lanes) cvtm_segments_set_edge(&polygon, s, left);
  if (own == 0) polygon.base[polygon.count * CELLS] = segments;
  if (own < 2) memory->entry[own][c] = column;
  __syncwarp();
  cvtm_pixel_sums part = {0, 0, 0, 0};
  for (int32_t from = polygon.first; __any_sync(all, from <= polygon.last); from += window) {
    const int32_t end = from + window;
    int e = -1;
    int32_t base = 0, next = 0;
    for (int32_t t = own; from <= polygon.last && t < segments; t += lanes) {
      while (t >= next) {
        ++e;
        base = next;
        next = polygon.base[(e + 1) * CELLS];
      }
      cvtm_segments_add_segment(&density, &polygon, polygon.edge + e * CELLS, t - base,
                                next - 1 - t, from, end, memory->entry[e >= polygon.left] + c,
                                &part);
    }
    __syncwarp();
    const int32_t stop = polygon.wide != 0 ? min(end, polygon.last + 1) : from;
    for (int32_t j = from + own; j < stop; j += lanes) {
      const int32_t at = (j - from) * CELLS + c;
      cvtm_segments_add_run(&density, &polygon, j, memory->entry[0][at], memory->entry[1][at],
                            &part);
    }
    __syncwarp();
  }
  const cvtm_cell_moments mine = cvtm_moments_sum_lanes<CELLS>(cvtm_pixel_moments(&part));
  if (own == 0 && cell.count != CVTM_CELL_DEFERRED) sums[cell.index] = mine;
}

/* Integrates over cells that clip_kernel has constructed. */
template <int CELLS>
__global__ void __launch_bounds__(WARP, SHORT_BLOCKS)
    integral_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                    cvtm_clipped_cells cells, int64_t first, int64_t last,
                    cvtm_cell_moments *sums) {
  __shared__ __align__(16) warp_segments<CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS;
  for (int64_t begin = cvtm_first_cell<CELLS>(); first + begin < last;
       begin += cvtm_cell_stride<CELLS>()) {
    const int64_t k = begin + c;
    const warp_cell cell =
        read_cell<CELLS>(tree, cells, k, first + k, last, lane / CELLS, memory.x + c, memory.y + c);
    integrate<CELLS>(domain, density, cell, lane, &memory, sums);
    __syncwarp(); /* the next cells use the same memory */
  }
}

/* Constructs all cells and integrates over them. */
template <int CELLS, bool PARTIAL>
__global__ void __launch_bounds__(WARP, BLOCKS)
    cell_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                cvtm_deferred_cells deferred, cvtm_cell_moments *sums) {
  __shared__ __align__(16) warp_segments<CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t base = cvtm_first_cell<CELLS>(); base < tree.count;
       base += cvtm_cell_stride<CELLS>()) {
    const warp_cell cell =
        construct_cell<CELLS, PARTIAL>(tree, domain, base, lane, deferred, &memory);
    integrate<CELLS>(domain, density, cell, lane, &memory, sums);
    __syncwarp(); /* the next cells use the same memory */
  }
}

template <int CELLS>
cvtm_status launch_integral(cvtm_cvt *cvt, const cvtm_site_tree_view &tree,
                            const cvtm_clipped_cells &cells, int64_t first, int64_t last) {
  integral_kernel<CELLS>
      <<<cvtm_cuda_blocks(last - first, CELLS), WARP, 0, cvtm_cuda_stream(cvt->device)>>>(
          tree, cvt->domain, cvt->density, cells, first, last, cvt->moments);
  return cvtm_cuda_launched(cvt->device, "integral_kernel");
}

template <int CELLS>
cvtm_status launch_cells(cvtm_cvt *cvt, const cvtm_site_tree_view &tree,
                         const cvtm_deferred_cells &deferred) {
  const auto kernel = tree.cover == nullptr ? cell_kernel<CELLS, false> : cell_kernel<CELLS, true>;
  kernel<<<cvtm_cuda_blocks(tree.count, CELLS), WARP, 0, cvtm_cuda_stream(cvt->device)>>>(
      tree, cvt->domain, cvt->density, deferred, cvt->moments);
  return cvtm_cuda_launched(cvt->device, "cell_kernel");
}

/* Sets the moments of the cells at slots first .. last - 1; last - first <= cells.chunk. */
cvtm_status launch_chunk(cvtm_cvt *cvt, const cvtm_site_tree_view &tree,
                         const cvtm_clipped_cells &cells, const cvtm_deferred_cells &deferred,
                         int64_t first, int64_t last) {
  const cudaStream_t stream = cvtm_cuda_stream(cvt->device);
  const auto clip = tree.cover == nullptr ? clip_kernel<false> : clip_kernel<true>;
  clip<<<cvtm_cuda_blocks(last - first, CLIP_CELLS), WARP, 0, stream>>>(tree, cvt->domain, cells,
                                                                        deferred, first, last);
  CVTM_TRY(cvtm_cuda_launched(cvt->device, "clip_kernel"));
  return launch_integral<8>(cvt, tree, cells, first, last);
}

}  // namespace

/* If there are few cells, a cell gets more lanes, so that all multiprocessors have work. With
 * domain decomposition the number of lanes depends on the number of cells of all ranks, so that the
 * bits of a cell do not depend on the decomposition. */
cvtm_status cvtm_integrate_cells_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                      const cvtm_clipped_cells *cells,
                                      const cvtm_deferred_cells *deferred) {
  const int64_t count = cvt->global_count > 0 ? cvt->global_count : tree->count;
  if (count < 6000) return launch_cells<2>(cvt, *tree, *deferred);
  if (count < 16000) return launch_cells<4>(cvt, *tree, *deferred);
  if (count < CVTM_CHUNKED_CELLS) return launch_cells<8>(cvt, *tree, *deferred);
  cvtm_status status = CVTM_OK;
  for (int64_t at = 0; status == CVTM_OK && at < tree->count; at += cells->chunk) {
    const int64_t most = at + cells->chunk;
    status =
        launch_chunk(cvt, *tree, *cells, *deferred, at, most < tree->count ? most : tree->count);
  }
  return status;
}

cvtm_status cvtm_integrate_clipped_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                        const cvtm_clipped_cells *cells) {
  return tree->count < 16000 ? launch_integral<4>(cvt, *tree, *cells, 0, tree->count)
                             : launch_integral<8>(cvt, *tree, *cells, 0, tree->count);
}
