/* The polygons of a power diagram on a CUDA device. First the largest weights of the tree's nodes
 * are found, level by level. Then each cell is set by its ring (cvt/rings.h). Cells that cannot be
 * kept are cut out, one per lane, in CVTM_POWER_ROUNDS rounds. If a kept cell still disagrees with
 * a cell that was cut, all kept cells are cut, too. A warp always takes the same slots, so that the
 * bits do not depend on the order of the warps. */
#include "base/cuda_utils.h"
#include "cvt/equal_mass/power_cuda.h"

namespace {

enum {
  WARP = 32,
  ROUNDS = CVTM_POWER_ROUNDS,
  SEGMENT = 256,   /* slots that a warp takes, at most */
  WARPS = 1600,    /* the least number of warps if a warp takes more than WARP slots */
  TOP_NODES = 1024 /* nodes of the largest level that one thread block computes together with all
                    * levels above */
};

/* --- weights ------------------------------------------------------------------------------- */

__device__ void max_of_leaf(const cvtm_site_tree_view *tree, const double *weight, double *sorted,
                            int32_t *slot_of, double *max_weight, int64_t leaf) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  for (int64_t slot = first; slot < first + CVTM_TREE_LEAF && slot < tree->count; ++slot) {
    sorted[slot] = weight[tree->index[slot]];
    slot_of[tree->index[slot]] = static_cast<int32_t>(slot);
  }
  cvtm_power_max_of_leaf(sorted, tree->count, tree->leaf_count, leaf, max_weight);
}

__device__ void max_of_node(double *max_weight, int64_t node) {
  cvtm_power_max_of_node(node, max_weight);
}

/* Sets the level that begins with node `first`, and all levels above, by one block. */
__global__ void max_of_top_kernel(int64_t first, double *max_weight) {
  for (; first >= 1; first /= 2) {
    for (int64_t node = first + threadIdx.x; node < 2 * first; node += blockDim.x)
      cvtm_power_max_of_node(node, max_weight);
    __syncthreads();
  }
}

/* --- cells that are kept ------------------------------------------------------------------ */

__device__ bool is_ring(cvtm_domain domain, cvtm_ring row, int32_t i) {
  return !domain.periodic && row.count > 2 && row.count <= CVTM_POWER_RING &&
         cvtm_ring_find(row, i) < 0;
}

/* Sets the polygons of all cells that have a ring, and marks the cells to cut: those without a
 * ring, and the four cells that meet at each edge that has vanished. */
__global__ void ring_kernel(cvtm_power_view view, cvtm_domain domain,
                            cvtm_power_polygons polygons) {
  for (int64_t slot = cvtm_first_thread(); slot < view.tree.count; slot += cvtm_thread_count()) {
    const int32_t i = view.tree.index[slot];
    const cvtm_ring row = cvtm_power_hints_of(&view, i);
    if (!is_ring(domain, row, i)) {
      polygons.round[i] = 1;
      continue;
    }
    const uint32_t missing =
        cvtm_power_set_by_ring(&view, domain, slot, row, polygons.x + slot, polygons.y + slot,
                               polygons.other + slot, view.tree.count);
    polygons.corners[slot] = row.count;
    if (missing != 0) polygons.round[i] = 1;
    cvtm_ring_mark_gone(row, missing, polygons.round);
  }
}

/* --- cells that are cut ------------------------------------------------------------------- */

template <int CELLS>
struct cut_cells {
  double x[CVTM_POWER_SLOTS * CELLS], y[CVTM_POWER_SLOTS * CELLS];
  int32_t other[CVTM_POWER_SLOTS * CELLS];
  int32_t stack[CVTM_TREE_STACK];
  int32_t slot[SEGMENT]; /* the slots of the cells to cut */
};

/* Clips the cell of each lane whose *cutting is set by the sites of one leaf. */
__device__ void cut_by_leaf(const cvtm_power_view &view, int64_t leaf, const cvtm_cell_origin &o,
                            const cvtm_power_clipped &clipped, bool *cutting, cvtm_power_cell *cell,
                            double *radius2, cvtm_cell_status *status) {
  if (*cutting)
    *cutting = cvtm_power_clip_leaf(&view, leaf, &o, &clipped, cell, radius2, status) != 0;
}

/* Clips the cells of all lanes together, because they are neighbours: all lanes visit a node of the
 * tree if the cell of one lane needs it. The warp shares `stack`. */
__device__ void warp_cut_by_tree(const cvtm_power_view &view, const cvtm_cell_origin &o,
                                 const cvtm_power_clipped &clipped, int lane, int32_t *stack,
                                 bool *cutting, cvtm_power_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  const cvtm_site_tree_view &tree = view.tree;
  const double weight = *cutting ? view.weight[o.slot] : 0;
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

/* Does cvtm_power_cut_from for the cells of all lanes with `mine` set, together. Returns true if
 * this lane's cell is complete. */
__device__ bool warp_cut_cells(const cvtm_power_view &view, cvtm_domain domain, int64_t slot,
                               bool mine, int lane, int32_t *stack, cvtm_power_cell *cell) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_cell_origin o = {0, 0, 0, 0, -1, -1};
  cvtm_power_clipped clipped = {0, {0}};
  double radius2 = 0;
  bool cutting = mine;
  if (mine) {
    cvtm_cell_box start;
    o = cvtm_cell_origin_at(&view.tree, domain, slot, &start);
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

/* True if cells may be marked for the round; in round 1 always. */
__device__ bool has_marks(const cvtm_power_state_cuda &state, int32_t round) {
  return round == 1 || state.counter[CVTM_POWER_MARKED + round] > 0;
}

/* Lists the slots in base .. end - 1 whose cells have to be cut; returns their number. */
__device__ int32_t list_slots(const cvtm_power_view &view, const cvtm_power_polygons &polygons,
                              int32_t round, int64_t base, int64_t end, int lane, int32_t *list) {
  const bool all = round > ROUNDS;
  int32_t count = 0;
  for (int64_t at = base; at < end; at += WARP) {
    const int64_t slot = at + lane;
    const int32_t marked = slot < end ? polygons.round[view.tree.index[slot]] : -1;
    const bool mine = marked == round || (all && marked == 0);
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, mine);
    if (mine) list[count + __popc(lanes & ((1U << lane) - 1))] = static_cast<int32_t>(slot);
    count += __popc(lanes);
  }
  __syncwarp();
  return count;
}

/* Each warp takes `segment` consecutive slots and cuts those of their cells that belong to the
 * round, CELLS at a time. */
template <int CELLS>
__global__ void __launch_bounds__(WARP)
    cut_kernel(cvtm_power_view view, cvtm_domain domain, cvtm_power_polygons polygons,
               cvtm_power_state_cuda state, int32_t round, int32_t segment) {
  extern __shared__ __align__(16) unsigned char shared[];
  cut_cells<CELLS> *memory = reinterpret_cast<cut_cells<CELLS> *>(shared);
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t n = view.tree.count, base = static_cast<int64_t>(blockIdx.x) * segment;
  if (!has_marks(state, round)) return;
  const int64_t end = base + segment < n ? base + segment : n;
  const int32_t listed = list_slots(view, polygons, round, base, end, lane, memory->slot);
  for (int32_t first = 0; first < listed; first += CELLS) {
    const bool mine = lane < CELLS && first + lane < listed;
    const int64_t slot = mine ? memory->slot[first + lane] : 0;
    const int at = CVTM_POWER_SLOTS * (lane % CELLS);
    cvtm_power_cell cell = {
        {0, CVTM_POWER_CORNERS, 1, memory->x + at, memory->y + at, nullptr, nullptr, 0},
        memory->other + at};
    const bool done = warp_cut_cells(view, domain, slot, mine, lane, memory->stack, &cell);
    if (done) {
      polygons.corners[slot] = cell.polygon.count;
      for (int32_t k = 0; k < cell.polygon.count; ++k) {
        polygons.x[k * n + slot] = cell.polygon.x[k];
        polygons.y[k * n + slot] = cell.polygon.y[k];
        polygons.other[k * n + slot] = cell.other[k];
      }
    } else if (mine) {
      polygons.corners[slot] = CVTM_POWER_IS_LARGE;
      state.large[atomicAdd(state.counter + CVTM_POWER_LARGE, 1)] = static_cast<int32_t>(slot);
    }
    __syncwarp();
  }
}

/* --- agreement ------------------------------------------------------------------------------ */

/* The neighbours of a cell that was cut, with the cell's own index for an edge on the border. */
struct cut_row {
  const int32_t *index, *label;
  const int32_t *index_of;
  int64_t stride;
  int32_t count, own;
  __device__ int32_t operator[](int32_t k) const {
    if (index) return index[k];
    const int32_t of = label[k * stride];
    return of < 0 ? own : index_of[cvtm_power_slot(of)];
  }
};

__device__ cut_row row_of_cut(const cvtm_power &power, const cvtm_power_view &view,
                              const cvtm_power_polygons &polygons, int32_t i) {
  const int64_t slot = power.slot_of[i];
  const int32_t corners = polygons.corners[slot];
  cut_row row = {nullptr, polygons.other + slot, view.tree.index, view.tree.count, corners, i};
  if (corners == CVTM_POWER_IS_LARGE) {
    row.index = power.neighbor + power.first[i];
    row.count = power.degree[i];
  }
  return row;
}

__device__ void mark_kept(const cvtm_power_polygons &polygons, int32_t j, int32_t round,
                          int32_t *marked) {
  if (atomicCAS(polygons.round + j, 0, round) == 0) atomicAdd(marked, 1);
}

/* Finds the kept cells that do not agree with a cell that was cut in this round, and marks them for
 * the next round. */
__global__ void agree_kernel(cvtm_power power, cvtm_power_view view, cvtm_power_polygons polygons,
                             cvtm_power_state_cuda state, int32_t round) {
  int32_t *next = state.counter + CVTM_POWER_MARKED + round + 1;
  if (!has_marks(state, round)) return;
  for (int64_t at = cvtm_first_thread(); at < power.count; at += cvtm_thread_count()) {
    const int32_t i = static_cast<int32_t>(at);
    if (polygons.round[i] != round) continue;
    const cut_row row = row_of_cut(power, view, polygons, i);
    const cvtm_ring old = cvtm_power_hints_of(&view, i);
    for (int32_t k = 0; k < row.count; ++k) {
      const int32_t j = row[k];
      if (j == i || polygons.round[j] != 0) continue;
      if (!cvtm_ring_agrees(cvtm_power_hints_of(&view, j), i, row[k > 0 ? k - 1 : row.count - 1],
                            row[k + 1 < row.count ? k + 1 : 0]))
        mark_kept(polygons, j, round + 1, next);
    }
    for (int32_t k = 0; k < old.count; ++k) {
      const int32_t j = old.site[k];
      bool found = polygons.round[j] != 0;
      for (int32_t l = 0; l < row.count && !found; ++l) found = row[l] == j;
      if (!found) mark_kept(polygons, j, round + 1, next);
    }
  }
}

template <int CELLS>
cvtm_status launch_cut(const cvtm_power *power, const cvtm_power_view &view, int32_t round) {
  cvtm_device *device = power->cvt->device;
  const cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  const int bytes = sizeof(cut_cells<CELLS>);
  const int64_t share = power->count / (int64_t{WARPS} * WARP), most = SEGMENT / WARP;
  const auto segment = static_cast<int32_t>(WARP * (share < 1 ? 1 : share < most ? share : most));
  cut_kernel<CELLS>
      <<<cvtm_cuda_blocks(power->count, segment), WARP, bytes, cvtm_cuda_stream(device)>>>(
          view, power->cvt->domain, state.polygons, state, round, segment);
  return cvtm_cuda_launched(device, "cut_kernel");
}

}  // namespace

cvtm_status cvtm_power_set_weights_cuda(cvtm_power *power, const double *weight) {
  cvtm_device *device = power->cvt->device;
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(power->cvt->tree);
  cvtm_status status =
      launch_rows<max_of_leaf, 128>(device, "max_of_leaf", 0, tree.leaf_count, tree, weight,
                                    power->sorted_weight, power->slot_of, power->max_weight);
  int64_t level = tree.leaf_count / 2;
  for (; status == CVTM_OK && level > TOP_NODES; level /= 2)
    status =
        launch_rows<max_of_node, 256>(device, "max_of_node", level, 2 * level, power->max_weight);
  if (status != CVTM_OK || level < 1) return status;
  return CVTM_LAUNCH(device, max_of_top_kernel, 1, TOP_NODES, level, power->max_weight);
}

cvtm_status cvtm_power_keep_cuda(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  const cvtm_power_view view = cvtm_power_view_of(power);
  const cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  CVTM_TRY(cvtm_device_fill(device, state.counter, 0, CVTM_POWER_COUNTERS * sizeof *state.counter));
  CVTM_TRY(cvtm_device_fill(device, state.polygons.round, 0,
                            static_cast<size_t>(power->count) * sizeof *state.polygons.round));
  return CVTM_LAUNCH(device, ring_kernel, cvtm_cuda_blocks(power->count, 128), 128, view,
                     power->cvt->domain, state.polygons);
}

cvtm_status cvtm_power_cut_cuda(cvtm_power *power, int32_t round) {
  const cvtm_power_view view = cvtm_power_view_of(power);
  /* With few cells, each warp takes fewer cells, so that all multiprocessors have warps. */
  return power->count < 16000   ? launch_cut<4>(power, view, round)
         : power->count < 40000 ? launch_cut<8>(power, view, round)
                                : launch_cut<16>(power, view, round);
}

cvtm_status cvtm_power_agree_cuda(cvtm_power *power, int32_t round) {
  const cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  return CVTM_LAUNCH(power->cvt->device, agree_kernel, cvtm_cuda_blocks(power->count, 128), 128,
                     *power, cvtm_power_view_of(power), state.polygons, state, round);
}
