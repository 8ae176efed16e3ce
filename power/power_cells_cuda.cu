/* The diagram on a CUDA device. First come the largest weights of the tree's nodes, level by level;
 * then the cells. One lane clips a cell, and all lanes of its warp share the integral and the
 * edges. large_kernel computes the cells with more corners than shared memory holds, a warp each,
 * and giant_kernel those with more than a block's scratch holds. All sums have a fixed order. */
#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "cvt/integral.h"
#include "cvt/moments_cuda.h"
#include "power/power_cuda.h"

namespace {

enum {
  WARP = 32,
  CORNERS = 18,    /* of a cell in shared memory */
  SLOTS = 19,      /* numbers from one cell to the next there: odd, to spread over the banks */
  TOP_NODES = 1024 /* of the largest level that one block computes together with all levels above */
};

/* --- weights ------------------------------------------------------------------------------- */

__global__ void max_of_leaves_kernel(cvtm_site_tree_view tree, const double *weight, double *sorted,
                                     int32_t *place_of, double *max_weight) {
  for (int64_t leaf = cvtm_first_thread(); leaf < tree.leaf_count; leaf += cvtm_thread_count()) {
    const int64_t first = leaf * CVTM_TREE_LEAF;
    for (int64_t place = first; place < first + CVTM_TREE_LEAF && place < tree.count; ++place) {
      sorted[place] = weight[tree.index[place]];
      place_of[tree.index[place]] = static_cast<int32_t>(place);
    }
    cvtm_power_max_of_leaf(sorted, tree.count, tree.leaf_count, leaf, max_weight);
  }
}

/* The nodes first .. 2 * first - 1 of one level. */
__global__ void max_of_level_kernel(int64_t first, double *max_weight) {
  for (int64_t node = first + cvtm_first_thread(); node < 2 * first; node += cvtm_thread_count())
    cvtm_power_max_of_node(node, max_weight);
}

/* One block: the same level, and all levels above. */
__global__ void max_of_top_kernel(int64_t first, double *max_weight) {
  for (; first >= 1; first /= 2) {
    for (int64_t node = first + threadIdx.x; node < 2 * first; node += blockDim.x)
      cvtm_power_max_of_node(node, max_weight);
    __syncthreads();
  }
}

/* --- cells --------------------------------------------------------------------------------- */

template <int CELLS>
struct warp_cells {
  double x[SLOTS * CELLS], y[SLOTS * CELLS], slope[SLOTS * CELLS], inverse[SLOTS * CELLS];
  int32_t other[SLOTS * CELLS];
  int32_t stack[CVTM_TREE_STACK];
};

template <int CELLS>
__device__ cvtm_power_cell warp_cell(warp_cells<CELLS> *memory, int c) {
  const int at = SLOTS * c;
  const cvtm_power_cell cell = {
      {0, CORNERS, 1, memory->x + at, memory->y + at, memory->slope + at, memory->inverse + at, 0},
      memory->other + at};
  return cell;
}

/* The integral over the rows that are the share of one of `lanes` lanes. The slopes are set. */
__device__ cvtm_cell_moments integrate_share(const cvtm_power_view &view, cvtm_domain domain,
                                             const cvtm_density_view &density, int64_t place,
                                             const cvtm_cell &cell, int lane, int lanes) {
  cvtm_cell_moments sums = {0, 0, 0, 0};
  if (cell.count < 3) return sums;
  cvtm_cell_walk rows;
  cvtm_cell_begin_walk(domain, view.tree.position[2 * place], view.tree.position[2 * place + 1],
                       &cell, &rows);
  const int32_t share = (rows.last - rows.first + lanes) / lanes;
  const int32_t first = rows.first + lane * share;
  const int32_t last = first + share - 1 < rows.last ? first + share - 1 : rows.last;
  cvtm_integral_add_rows(&density, &cell, &rows, first, last, &sums);
  return sums;
}

/* Stores edge k of the cell as an entry; returns its coupling. An edge on the border couples the
 * cell with itself. */
__device__ double store_edge(const cvtm_power &power, const cvtm_power_view &view,
                             cvtm_domain domain, const cvtm_density_view &density, int64_t place,
                             const cvtm_power_cell &cell, int32_t k, int32_t entry) {
  const cvtm_power_edge edge = cvtm_power_edge_of(&view, domain, &density, place, &cell, k, nullptr,
                                                  power.target, power.regularisation);
  power.neighbor[entry] = edge.index < 0 ? view.tree.index[place] : edge.index;
  power.coupling[entry] = edge.coupling;
  for (int a = 0; a < 4; ++a)
    power.edge_offset[4 * static_cast<int64_t>(entry) + a] = edge.offset[a];
  return edge.coupling;
}

/* Reserves entries for the edges of each lane's cell, in the order of the lanes; returns the first.
 */
__device__ int32_t reserve_edges(const cvtm_power &power, int32_t corners, int lane) {
  int32_t end = corners;
  for (int offset = 1; offset < WARP; offset *= 2) {
    const int32_t before = __shfl_up_sync(0xFFFFFFFFu, end, offset);
    if (lane >= offset) end += before;
  }
  int32_t base = 0;
  if (lane == WARP - 1) base = atomicAdd(power.edges, end);
  return __shfl_sync(0xFFFFFFFFu, base, WARP - 1) + end - corners;
}

/* Clips the cells of the lanes that are `cutting` by the sites of one leaf. */
__device__ void cut_by_leaf(const cvtm_power_view &view, int64_t leaf, const cvtm_cell_origin &o,
                            const cvtm_power_clipped &clipped, bool *cutting, cvtm_power_cell *cell,
                            double *radius2, cvtm_cell_status *status) {
  if (*cutting)
    *cutting = cvtm_power_clip_leaf(&view, leaf, &o, &clipped, cell, radius2, status) != 0;
}

/* Clips the lanes' cells, which are neighbours, together: all lanes visit a node of the tree if the
 * cell of one needs it. `stack` is shared by the warp. */
__device__ void warp_cut_by_tree(const cvtm_power_view &view, const cvtm_cell_origin &o,
                                 const cvtm_power_clipped &clipped, int lane, int32_t *stack,
                                 bool *cutting, cvtm_power_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  const cvtm_site_tree_view &tree = view.tree;
  const double weight = *cutting ? view.weight[o.place] : 0;
  int top = 0;
  if (lane == 0) stack[top] = 1;
  ++top;
  __syncwarp();
  while (top > 0) {
    const int64_t node = stack[--top];
    const bool wanted = *cutting && [&] {
      const cvtm_cell_box box = cvtm_power_relative_box(&tree, node, &o);
      return cvtm_power_box_cuts(&cell->polygon, *radius2, &box, view.max_weight[node], weight) !=
             0;
    }();
    __syncwarp();
    if (!__any_sync(0xFFFFFFFFu, wanted)) continue;
    if (node >= tree.leaf_count) {
      bool mine = wanted;
      cut_by_leaf(view, node - tree.leaf_count, o, clipped, &mine, cell, radius2, status);
      if (wanted) *cutting = mine;
    } else {
      if (lane == 0) {
        stack[top] = static_cast<int32_t>(2 * node + 1);
        stack[top + 1] = static_cast<int32_t>(2 * node);
      }
      top += 2;
    }
    __syncwarp();
  }
}

/* cvtm_power_cut_from for each lane that has a cell; true if this lane's cell is complete. */
__device__ bool warp_cut_cells(const cvtm_power_view &view, cvtm_domain domain, int64_t place,
                               bool mine, int lane, int32_t *stack, cvtm_power_cell *cell) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_cell_origin o = {0, 0, 0, 0, -1, -1};
  cvtm_power_clipped clipped = {0, {0}};
  double radius2 = 0;
  bool cutting = mine;
  if (mine) {
    cvtm_cell_box start;
    o = cvtm_cell_origin_at(&view.tree, domain, place, &start);
    cutting =
        cvtm_power_begin_cell(&view, domain, &start, &o, &clipped, cell, &radius2, &status) != 0;
  }
  for (int round = 0; round < (domain.periodic ? 9 : 1); ++round) {
    cvtm_power_shift_to(domain, (round + 4) % 9, &o);
    warp_cut_by_tree(view, o, clipped, lane, stack, &cutting, cell, &radius2, &status);
    clipped.count = 0;
  }
  return mine && status == CVTM_CELL_DONE;
}

/* A warp computes the cells at places base .. base + CELLS - 1. */
template <int CELLS>
__device__ void sum_cells(const cvtm_power &power, const cvtm_power_view &view, cvtm_domain domain,
                          const cvtm_density_view &density, const cvtm_power_state_cuda &state,
                          int64_t base, warp_cells<CELLS> *memory, cvtm_cell_moments *sums) {
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS, part = lane / CELLS;
  const int64_t place = base + c;
  const bool mine = part == 0 && place < view.tree.count;
  cvtm_power_cell cell = warp_cell(memory, c);
  const bool done = warp_cut_cells(view, domain, place, mine, lane, memory->stack, &cell);
  if (done) cvtm_cell_set_slopes(&cell.polygon);
  if (mine && !done)
    state.large[atomicAdd(state.counter + CVTM_POWER_LARGE, 1)] = static_cast<int32_t>(place);
  __syncwarp();
  const int32_t corners = __shfl_sync(0xFFFFFFFFu, done ? cell.polygon.count : 0, c);
  cell.polygon.count = corners;
  cvtm_cell_moments sum =
      integrate_share(view, domain, density, place, cell.polygon, part, WARP / CELLS);
  sum = cvtm_moments_sum_lanes<CELLS>(sum);
  const int32_t taken = reserve_edges(power, part == 0 ? corners : 0, lane);
  const int32_t first = __shfl_sync(0xFFFFFFFFu, taken, c);
  const bool fits = first <= power.edge_capacity - corners;
  __syncwarp(); /* all lanes have used the slopes, whose memory now takes the couplings */
  for (int32_t k = part; fits && k < corners; k += WARP / CELLS)
    cell.polygon.slope[k] = store_edge(power, view, domain, density, place, cell, k, first + k);
  __syncwarp();
  if (!done) return;
  const int32_t i = view.tree.index[place];
  double diagonal = 0;
  for (int32_t k = 0; k < corners; ++k) diagonal += cell.polygon.slope[k];
  sums[i] = sum;
  power.empty[i] = corners < 3;
  power.first[i] = first;
  power.degree[i] = fits ? corners : 0;
  power.diagonal[i] = fits ? diagonal : 0;
}

template <int CELLS>
__global__ void __launch_bounds__(WARP)
    cells_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cvtm_power_state_cuda state, cvtm_cell_moments *sums) {
  extern __shared__ __align__(16) unsigned char shared[];
  warp_cells<CELLS> *memory = reinterpret_cast<warp_cells<CELLS> *>(shared);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * CELLS;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * CELLS; base < view.tree.count;
       base += stride) {
    sum_cells<CELLS>(power, view, domain, density, state, base, memory, sums);
    __syncwarp(); /* before the memory serves the next cells */
  }
}

/* Lane 0 clips a cell in scratch; all lanes get it. False if it has too many corners. */
__device__ bool warp_cut(const cvtm_power_view &view, cvtm_domain domain, int64_t place, int lane,
                         cvtm_power_cell *cell) {
  int32_t count = 0;
  if (lane == 0) {
    cvtm_cell_box start;
    cvtm_cell_origin o = cvtm_cell_origin_at(&view.tree, domain, place, &start);
    const cvtm_cell_status status = cvtm_power_cut_from(&view, domain, &start, &o, cell);
    count = status == CVTM_CELL_DONE ? cell->polygon.count : -1;
    if (count >= 3) cvtm_cell_set_slopes(&cell->polygon);
  }
  __syncwarp();
  count = __shfl_sync(0xFFFFFFFFu, count, 0);
  cell->polygon.count = count;
  return count >= 0;
}

__device__ void warp_integrate(const cvtm_power &power, const cvtm_power_view &view,
                               cvtm_domain domain, const cvtm_density_view &density, int64_t place,
                               int lane, const cvtm_power_cell &cell, cvtm_cell_moments *sums) {
  const int32_t i = view.tree.index[place], corners = cell.polygon.count;
  cvtm_cell_moments sum = integrate_share(view, domain, density, place, cell.polygon, lane, WARP);
  sum = cvtm_moments_sum_lanes<1>(sum);
  const int32_t own = reserve_edges(power, lane == 0 ? corners : 0, lane);
  const int32_t first = __shfl_sync(0xFFFFFFFFu, own, 0);
  const bool fits = first <= power.edge_capacity - corners;
  double diagonal = 0;
  for (int32_t k = lane; fits && k < corners; k += WARP)
    diagonal += store_edge(power, view, domain, density, place, cell, k, first + k);
  diagonal = cvtm_warp_sum(diagonal);
  if (lane != 0) return;
  sums[i] = sum;
  power.empty[i] = corners < 3;
  power.first[i] = first;
  power.degree[i] = fits ? corners : 0;
  power.diagonal[i] = diagonal;
}

__device__ cvtm_power_cell scratch_cell(double *corners, int32_t *other, int64_t n) {
  const cvtm_power_cell cell = {
      {0, static_cast<int32_t>(n), 1, corners, corners + n, corners + 2 * n, corners + 3 * n, 0},
      other};
  return cell;
}

__global__ void __launch_bounds__(WARP)
    large_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cvtm_power_state_cuda state, cvtm_cell_moments *sums) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t block = blockIdx.x;
  cvtm_power_cell cell =
      scratch_cell(state.corners + block * (4 * CVTM_POWER_SCRATCH_CORNERS),
                   state.other + block * CVTM_POWER_SCRATCH_CORNERS, CVTM_POWER_SCRATCH_CORNERS);
  const int32_t listed = state.counter[CVTM_POWER_LARGE];
  for (int32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const int64_t place = state.large[entry];
    if (warp_cut(view, domain, place, lane, &cell))
      warp_integrate(power, view, domain, density, place, lane, cell, sums);
    else if (lane == 0)
      state.giant[atomicAdd(state.counter + CVTM_POWER_GIANT, 1)] = static_cast<int32_t>(place);
    __syncwarp();
  }
}

/* One warp computes the cells with the most corners, one after the other. */
__global__ void __launch_bounds__(WARP)
    giant_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cvtm_power_state_cuda state, cvtm_cell_moments *sums) {
  const int lane = static_cast<int>(threadIdx.x);
  cvtm_power_cell cell = scratch_cell(state.giant_corners, state.giant_other, state.giant_capacity);
  const int32_t listed = state.counter[CVTM_POWER_GIANT];
  for (int32_t entry = 0; entry < listed; ++entry) {
    (void)warp_cut(view, domain, state.giant[entry], lane, &cell);
    warp_integrate(power, view, domain, density, state.giant[entry], lane, cell, sums);
    __syncwarp();
  }
  if (lane == 0) state.counter[CVTM_POWER_LARGE] = state.counter[CVTM_POWER_GIANT] = 0;
}

template <int CELLS>
cvtm_status launch_cells(cvtm_power *power, const cvtm_power_view &view,
                         const cvtm_power_state_cuda &state) {
  cvtm_cvt *cvt = power->cvt;
  const int bytes = sizeof(warp_cells<CELLS>);
  CVTM_CUDA_TRY(cvt->device,
                cudaFuncSetAttribute(cells_kernel<CELLS>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned blocks = cvtm_cuda_blocks(view.tree.count, CELLS);
  cells_kernel<CELLS><<<blocks, WARP, bytes, cvtm_cuda_stream(cvt->device)>>>(
      *power, view, cvt->domain, cvt->density, state, cvt->moments);
  return cvtm_cuda_launched(cvt->device, "cells_kernel");
}

}  // namespace

cvtm_status cvtm_power_set_weights_cuda(cvtm_power *power, const double *weight) {
  cvtm_device *device = power->cvt->device;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(power->cvt->tree);
  max_of_leaves_kernel<<<cvtm_cuda_blocks(tree.leaf_count, 128), 128, 0, stream>>>(
      tree, weight, power->sorted_weight, power->place_of, power->max_weight);
  cvtm_status status = cvtm_cuda_launched(device, "max_of_leaves_kernel");
  int64_t level = tree.leaf_count / 2;
  for (; status == CVTM_OK && level > TOP_NODES; level /= 2) {
    max_of_level_kernel<<<cvtm_cuda_blocks(level, 256), 256, 0, stream>>>(level, power->max_weight);
    status = cvtm_cuda_launched(device, "max_of_level_kernel");
  }
  if (status != CVTM_OK || level < 1) return status;
  max_of_top_kernel<<<1, TOP_NODES, 0, stream>>>(level, power->max_weight);
  return cvtm_cuda_launched(device, "max_of_top_kernel");
}

cvtm_status cvtm_power_cells_cuda(cvtm_power *power) {
  cvtm_cvt *cvt = power->cvt;
  const cudaStream_t stream = cvtm_cuda_stream(cvt->device);
  const cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  const cvtm_power_view view = cvtm_power_view_of(power);
  /* Fewer cells per warp where there are few, so that all multiprocessors have warps. */
  cvtm_status status = view.tree.count < 16000   ? launch_cells<4>(power, view, state)
                       : view.tree.count < 40000 ? launch_cells<8>(power, view, state)
                                                 : launch_cells<16>(power, view, state);
  if (status != CVTM_OK) return status;
  large_kernel<<<cvtm_cuda_cap(CVTM_POWER_SCRATCH_BLOCKS), WARP, 0, stream>>>(
      *power, view, cvt->domain, cvt->density, state, cvt->moments);
  status = cvtm_cuda_launched(cvt->device, "large_kernel");
  if (status != CVTM_OK) return status;
  giant_kernel<<<1, WARP, 0, stream>>>(*power, view, cvt->domain, cvt->density, state,
                                       cvt->moments);
  return cvtm_cuda_launched(cvt->device, "giant_kernel");
}
