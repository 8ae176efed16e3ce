/* The state of a power diagram on a CUDA device, and the sums and couplings of the polygons of
 * power_polygons_cuda.cu. A warp computes CELLS cells. large_kernel computes the cells with more
 * than CVTM_POWER_CORNERS corners, one warp per cell; cells with more corners than the scratch
 * memory of a block holds are computed one after the other. All sums have a fixed order. */
#include "base/cuda_utils.h"
#include "cvt/equal_mass/power_cuda.h"
#include "cvt/evaluate_cuda.h"
#include "cvt/integral.h"

#include <new>

namespace {

/* --- the state ----------------------------------------------------------------------------- */

cvtm_arrays arrays_of(const cvtm_power *power, cvtm_power_state_cuda *s) {
  const int64_t corners = int64_t{CVTM_POWER_SCRATCH_BLOCKS} * CVTM_POWER_SCRATCH_CORNERS;
  const int64_t of_polygons = CVTM_POWER_CORNERS * power->count;
  return cvtm_arrays{{
      cvtm_array_of(&s->counter, CVTM_POWER_COUNTERS),
      cvtm_array_of(&s->large, power->count),
      cvtm_array_of(&s->giant, power->count),
      cvtm_array_of(&s->corners, 4 * corners),
      cvtm_array_of(&s->other, corners),
      cvtm_array_of(&s->giant_corners, 4 * s->giant_capacity),
      cvtm_array_of(&s->giant_other, s->giant_capacity),
      cvtm_array_of(&s->polygons.x, of_polygons),
      cvtm_array_of(&s->polygons.y, of_polygons),
      cvtm_array_of(&s->polygons.other, of_polygons),
      cvtm_array_of(&s->polygons.corners, power->count),
      cvtm_array_of(&s->polygons.round, power->count),
      cvtm_array_of(&s->plain, power->count),
      cvtm_array_of(&s->part, CVTM_POWER_FIGURES * CVTM_POWER_PARTS),
  }};
}

void destroy_state_cuda(cvtm_power *power) {
  cvtm_power_state_cuda *state = static_cast<cvtm_power_state_cuda *>(power->state);
  if (!state) return;
  cvtm_device_free_arrays(power->cvt->device, arrays_of(power, state));
  delete state;
  power->state = nullptr;
}

cvtm_status create_state_cuda(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  cvtm_power_state_cuda *state = new (std::nothrow) cvtm_power_state_cuda();
  if (!state) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  power->state = state;
  /* A site adds at most one corner to a cell. Several of its periodic images can each add a corner
   * only if there are few sites. */
  const int64_t n = power->count, most = CVTM_POWER_SCRATCH_CORNERS;
  state->giant_capacity = 4 + n + 8 * (n < most ? n : most);
  cvtm_status status = cvtm_device_allocate_arrays(device, arrays_of(power, state));
  if (status == CVTM_OK)
    status =
        cvtm_device_fill(device, state->counter, 0, CVTM_POWER_COUNTERS * sizeof *state->counter);
  if (status != CVTM_OK) destroy_state_cuda(power);
  return status;
}

/* --- the cells ----------------------------------------------------------------------------- */

enum {
  WARP = 32,
  CELLS = 8,        /* per warp */
  PLAIN_ROWS = 500, /* rows of a cell that is integrated by segments, at most (is_plain) */
};

struct warp_cells {
  double x[CVTM_POWER_SLOTS * CELLS], y[CVTM_POWER_SLOTS * CELLS], slope[CVTM_POWER_SLOTS * CELLS],
      inverse[CVTM_POWER_SLOTS * CELLS];
  int32_t other[CVTM_POWER_SLOTS * CELLS];
};

__device__ cvtm_power_cell warp_cell(warp_cells *memory, int c) {
  const int at = CVTM_POWER_SLOTS * c;
  const cvtm_power_cell cell = {{0, CVTM_POWER_CORNERS, 1, memory->x + at, memory->y + at,
                                 memory->slope + at, memory->inverse + at, 0},
                                memory->other + at};
  return cell;
}

/* Integrates over the rows of a cell that belong to `lane`, one of `lanes` lanes. The slopes of the
 * cell must be set. */
__device__ cvtm_cell_moments integrate_share(const cvtm_power_view &view, cvtm_domain domain,
                                             const cvtm_density_view &density, int64_t slot,
                                             const cvtm_cell &cell, int lane, int lanes) {
  cvtm_pixel_sums sums = {0, 0, 0, 0};
  if (cell.count < 3) return cvtm_pixel_moments(&sums);
  cvtm_cell_walk rows;
  cvtm_cell_begin_walk(domain, view.tree.position[2 * slot], view.tree.position[2 * slot + 1],
                       &cell, &rows);
  const int32_t share = (rows.last - rows.first + lanes) / lanes;
  const int32_t first = rows.first + lane * share;
  const int32_t last = first + share - 1 < rows.last ? first + share - 1 : rows.last;
  cvtm_integral_add_rows(&density, &cell, &rows, first, last, &sums);
  return cvtm_pixel_moments(&sums);
}

/* Stores edge k of the cell as an entry, and returns its coupling. An edge on the border couples
 * the cell with itself. */
__device__ double store_edge(const cvtm_power &power, const cvtm_power_view &view,
                             cvtm_domain domain, const cvtm_density_view &density, int64_t slot,
                             const cvtm_power_cell &cell, int32_t k, int32_t entry) {
  const cvtm_power_edge edge = cvtm_power_edge_of(&view, domain, &density, slot, &cell, k, nullptr,
                                                  power.target, power.regularisation);
  power.neighbor[entry] = edge.index < 0 ? view.tree.index[slot] : edge.index;
  power.coupling[entry] = edge.coupling;
  for (int a = 0; a < 4; ++a)
    power.edge_offset[4 * static_cast<int64_t>(entry) + a] = edge.offset[a];
  return edge.coupling;
}

/* Reserves entries for the edges of the cell of each lane, in the order of the lanes. Returns the
 * first entry of this lane. */
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

/* True if a cell has few enough corners and rows to be integrated by segments. */
__device__ bool is_plain(const cvtm_cell &cell) {
  double least = 0, most = 0;
  for (int32_t k = 0; k < cell.count; ++k) {
    least = k == 0 || cell.y[k] < least ? cell.y[k] : least;
    most = k == 0 || cell.y[k] > most ? cell.y[k] : most;
  }
  return cell.count <= CVTM_CLIPPED_CORNERS && most - least <= PLAIN_ROWS;
}

/* Integrates by rows over the cells of the lanes with `mine` set. */
__device__ void sum_by_rows(const cvtm_power_view &view, cvtm_domain domain,
                            const cvtm_density_view &density, int64_t slot, bool mine, int part,
                            cvtm_power_cell cell, cvtm_cell_moments *sums) {
  if (!mine) cell.polygon.count = 0;
  if (part == 0) cvtm_cell_set_slopes(&cell.polygon);
  __syncwarp();
  const cvtm_cell_moments sum = cvtm_moments_sum_lanes<CELLS>(
      integrate_share(view, domain, density, slot, cell.polygon, part, WARP / CELLS));
  if (mine && part == 0) sums[view.tree.index[slot]] = sum;
  __syncwarp();
}

/* Sets the couplings of all cells that are not large, and the moments of those that are not plain
 * (is_plain). count: the number of corners of a plain cell, else CVTM_CELL_DEFERRED. */
__global__ void __launch_bounds__(WARP)
    couple_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                  cvtm_density_view density, cvtm_power_polygons polygons, int32_t *count,
                  cvtm_cell_moments *sums) {
  __shared__ warp_cells memory;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS, part = lane / CELLS;
  const int64_t n = view.tree.count, slot = static_cast<int64_t>(blockIdx.x) * CELLS + c;
  cvtm_power_cell cell = warp_cell(&memory, c);
  const int32_t found = slot < n ? polygons.corners[slot] : CVTM_POWER_IS_LARGE;
  const bool mine = found != CVTM_POWER_IS_LARGE;
  const int32_t corners = mine ? found : 0;
  for (int32_t k = part; k < corners; k += WARP / CELLS) {
    cell.polygon.x[k] = polygons.x[k * n + slot];
    cell.polygon.y[k] = polygons.y[k * n + slot];
    cell.other[k] = polygons.other[k * n + slot];
  }
  __syncwarp();
  cell.polygon.count = corners;
  const bool plain = is_plain(cell.polygon);
  if (part == 0 && slot < n) count[slot] = mine && plain ? corners : CVTM_CELL_DEFERRED;
  if (__any_sync(0xFFFFFFFFu, !plain))
    sum_by_rows(view, domain, density, slot, !plain, part, cell, sums);
  const int32_t taken = reserve_edges(power, part == 0 ? corners : 0, lane);
  const int32_t first = __shfl_sync(0xFFFFFFFFu, taken, c);
  const bool fits = first <= power.edge_capacity - corners;
  for (int32_t k = part; fits && k < corners; k += WARP / CELLS)
    cell.polygon.slope[k] = store_edge(power, view, domain, density, slot, cell, k, first + k);
  __syncwarp();
  if (!mine || part != 0) return;
  const int32_t i = view.tree.index[slot];
  double diagonal = 0;
  for (int32_t k = 0; fits && k < corners; ++k) diagonal += cell.polygon.slope[k];
  power.empty[i] = corners < 3;
  power.first[i] = first;
  power.degree[i] = fits ? corners : 0;
  power.diagonal[i] = diagonal;
}

/* Lane 0 clips a cell in scratch memory; all lanes get the result. Returns false if the cell has
 * too many corners. */
__device__ bool warp_cut(const cvtm_power_view &view, cvtm_domain domain, int64_t slot, int lane,
                         cvtm_power_cell *cell) {
  int32_t count = 0;
  if (lane == 0) {
    cvtm_cell_box start;
    cvtm_cell_origin o = cvtm_cell_origin_at(&view.tree, domain, slot, &start);
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
                               cvtm_domain domain, const cvtm_density_view &density, int64_t slot,
                               int lane, const cvtm_power_cell &cell, cvtm_cell_moments *sums) {
  const int32_t i = view.tree.index[slot], corners = cell.polygon.count;
  cvtm_cell_moments sum = integrate_share(view, domain, density, slot, cell.polygon, lane, WARP);
  sum = cvtm_moments_sum_lanes<1>(sum);
  const int32_t own = reserve_edges(power, lane == 0 ? corners : 0, lane);
  const int32_t first = __shfl_sync(0xFFFFFFFFu, own, 0);
  const bool fits = first <= power.edge_capacity - corners;
  double diagonal = 0;
  for (int32_t k = lane; fits && k < corners; k += WARP)
    diagonal += store_edge(power, view, domain, density, slot, cell, k, first + k);
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

/* Computes the giant cells one after the other, by one warp. */
__device__ void sum_giant(const cvtm_power &power, const cvtm_power_view &view, cvtm_domain domain,
                          const cvtm_density_view &density, const cvtm_power_state_cuda &state,
                          int lane, cvtm_cell_moments *sums) {
  cvtm_power_cell cell = scratch_cell(state.giant_corners, state.giant_other, state.giant_capacity);
  const int32_t listed = __ldcg(state.counter + CVTM_POWER_GIANT);
  for (int32_t entry = 0; entry < listed; ++entry) {
    const int64_t slot = __ldcg(state.giant + entry);
    (void)warp_cut(view, domain, slot, lane, &cell);
    warp_integrate(power, view, domain, density, slot, lane, cell, sums);
    __syncwarp();
  }
}

/* Computes the large cells that a round has found; the last thread block computes the giant
 * cells. */
__global__ void __launch_bounds__(WARP)
    large_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cvtm_power_state_cuda state, cvtm_cell_moments *sums) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t block = blockIdx.x;
  cvtm_power_cell cell =
      scratch_cell(state.corners + block * (4 * CVTM_POWER_SCRATCH_CORNERS),
                   state.other + block * CVTM_POWER_SCRATCH_CORNERS, CVTM_POWER_SCRATCH_CORNERS);
  const int32_t listed = state.counter[CVTM_POWER_LARGE];
  if (listed == 0) return;
  for (int32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const int64_t slot = state.large[entry];
    if (warp_cut(view, domain, slot, lane, &cell))
      warp_integrate(power, view, domain, density, slot, lane, cell, sums);
    else if (lane == 0)
      state.giant[atomicAdd(state.counter + CVTM_POWER_GIANT, 1)] = static_cast<int32_t>(slot);
    __syncwarp();
  }
  if (!cvtm_last_block(state.counter + CVTM_POWER_ENDED)) return;
  sum_giant(power, view, domain, density, state, lane, sums);
  if (lane == 0) state.counter[CVTM_POWER_LARGE] = state.counter[CVTM_POWER_GIANT] = 0;
}

cvtm_status sum_large(cvtm_power *power, const cvtm_power_view &view) {
  cvtm_cvt *cvt = power->cvt;
  const cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  return CVTM_LAUNCH(cvt->device, large_kernel, cvtm_cuda_cap(CVTM_POWER_SCRATCH_BLOCKS), WARP,
                     *power, view, cvt->domain, cvt->density, state, cvt->moments);
}

cvtm_status sum_others(cvtm_power *power, const cvtm_power_view &view) {
  cvtm_cvt *cvt = power->cvt;
  const cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  const cvtm_power_polygons p = state.polygons;
  const cvtm_clipped_cells cells = {p.x, p.y, state.plain, static_cast<int32_t>(power->count)};
  const cvtm_status status =
      CVTM_LAUNCH(cvt->device, couple_kernel, cvtm_cuda_blocks(power->count, CELLS), WARP, *power,
                  view, cvt->domain, cvt->density, p, state.plain, cvt->moments);
  return status == CVTM_OK ? cvtm_integrate_clipped_cuda(cvt, &view.tree, &cells) : status;
}

CVTM_POWER_PHASES(CVTM_PHASE_CUDA)

}  // namespace

cvtm_status cvtm_power_cells_cuda(cvtm_power *power) {
  const cvtm_power_view view = cvtm_power_view_of(power);
  cvtm_status status = cvtm_power_keep_cuda(power);
  for (int32_t round = 1; status == CVTM_OK && round <= CVTM_POWER_ROUNDS + 1; ++round) {
    status = cvtm_power_cut_cuda(power, round);
    if (status == CVTM_OK) status = sum_large(power, view);
    if (status == CVTM_OK && round <= CVTM_POWER_ROUNDS)
      status = cvtm_power_agree_cuda(power, round);
  }
  return status == CVTM_OK ? sum_others(power, view) : status;
}

extern "C" const cvtm_power_table cvtm_power_table_cuda = {create_state_cuda,
                                                           destroy_state_cuda,
                                                           cvtm_power_set_weights_cuda,
                                                           cvtm_power_cells_cuda,
                                                           cvtm_power_figures_cuda,
                                                           cvtm_power_solve_cuda,
                                                           CVTM_POWER_PHASES(CVTM_PHASE_CUDA_NAME)};
