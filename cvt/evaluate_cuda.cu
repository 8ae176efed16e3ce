/* An evaluation on a CUDA device. integral_cuda.cu computes the moments of the cells of ordinary
 * size, large_kernel and huge_kernel those of the deferred cells, and finish_kernel energy and
 * gradient. A deferred cell is computed by one thread block, or by all thread blocks if the cell
 * covers much of the image. All sums have a fixed order. */
#include "base/cuda_utils.h"
#include "base/ranks.h"
#include "cvt/evaluate_cuda.h"
#include "cvt/integral.h"
#include "jfa/cell_by_tree_warp_cuda.h"

#include <new>

namespace {

enum {
  WARP = CVTM_WARP,
  BLOCK_CORNERS = 1024, /* corners of a cell in the scratch memory of a block, at most */
  LARGE_THREADS = 128,
  CELLS_AT_ONCE = LARGE_THREADS / WARP, /* warps of a block; each constructs a cell */
  PARTS = 264,         /* thread blocks, at most; partial sums of a huge cell, and of the energy */
  HUGE_AREA = 1 << 20, /* pixels; all blocks share a cell that is larger */
};

/* The largest number of cells that are constructed before they are integrated. */
constexpr int64_t CHUNK = 1 << 20;

/* Indices of the counters in cuda_state.listed. They count: */
enum {
  LISTED_LARGE,  /* deferred cells */
  LISTED_HUGE,   /* deferred cells larger than HUGE_AREA */
  LISTED_GIANT,  /* deferred cells with more than BLOCK_CORNERS corners */
  LISTED_BLOCKS, /* blocks that have ended */
  LISTED_TAKEN,  /* items that blocks of large_kernel have taken */
  LISTED
};

struct cuda_state {
  cvtm_clipped_cells cells;
  int32_t *listed;           /* LISTED counters */
  int32_t *list;             /* the slots of the deferred cells, in no particular order */
  int32_t *huge, *giant;     /* the slots of the huge and of the giant cells */
  cvtm_cell_moments *part;   /* PARTS partial sums per huge cell */
  double *corners;           /* corners of a cell for each block */
  double *giant_corners;     /* corners of one giant cell */
  int64_t giant_capacity;    /* corners */
  double *energy, *distance; /* PARTS: energies and largest distances of the blocks' sites */
  int32_t listed_by_all;     /* number of deferred cells of all ranks */
};
enum { NOT_FINITE = -1, TOO_MANY_CORNERS = -2 }; /* in place of the number of corners of a cell */

__device__ double cell_area(const cvtm_cell &cell) {
  double twice = 0;
  for (int k = 1; k + 1 < cell.count; ++k)
    twice += fabs((cell.x[k] - cell.x[0]) * (cell.y[k + 1] - cell.y[0]) -
                  (cell.x[k + 1] - cell.x[0]) * (cell.y[k] - cell.y[0]));
  return 0.5 * twice;
}

/* The moments of rows first, first + step, first + 2 step, ... of a cell. The rows of the cell are
 * counted from 0. */
__device__ cvtm_cell_moments row_sum(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                     const cvtm_density_view &density, int64_t slot,
                                     const cvtm_cell &cell, int first, int step) {
  cvtm_pixel_sums mine = {0, 0, 0, 0};
  if (cell.count < 3) return cvtm_pixel_moments(&mine);
  cvtm_cell_walk rows;
  cvtm_cell_begin_walk(domain, tree.position[2 * slot], tree.position[2 * slot + 1], &cell, &rows);
  for (int32_t j = rows.first + first; j <= rows.last; j += step)
    cvtm_integral_add_rows(&density, &cell, &rows, j, j, &mine);
  return cvtm_pixel_moments(&mine);
}

/* The moments of part `block` of a cell's rows, which are divided into `blocks` parts. part: shared
 * memory, one element for each thread. */
__device__ cvtm_cell_moments share_sum(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                       const cvtm_density_view &density, int64_t slot,
                                       const cvtm_cell &cell, int block, int blocks,
                                       cvtm_cell_moments *part) {
  const int thread = static_cast<int>(threadIdx.x);
  part[thread] = row_sum(tree, domain, density, slot, cell, block * LARGE_THREADS + thread,
                         blocks * LARGE_THREADS);
  return cvtm_moments_sum_block(part, LARGE_THREADS);
}

/* An empty cell in scratch memory for n corners. */
__device__ cvtm_cell scratch_cell(double *corners, int64_t n) {
  const cvtm_cell cell = {
      0, static_cast<int32_t>(n), 1, corners, corners + n, corners + 2 * n, corners + 3 * n, 0};
  return cell;
}

__device__ cvtm_cell block_cell(const cuda_state &state) {
  return scratch_cell(state.corners + blockIdx.x * (4 * BLOCK_CORNERS), BLOCK_CORNERS);
}

/* Constructs a cell by tree clipping. All lanes of a warp call. */
__device__ void construct_cell(const cvtm_site_tree_view &tree, cvtm_domain domain, int64_t slot,
                               cvtm_cell *cell) {
  __shared__ cvtm_warp_queue queues[CELLS_AT_ONCE];
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  cell->count = NOT_FINITE;
  if (isfinite(tree.position[2 * slot]) && isfinite(tree.position[2 * slot + 1]) &&
      cvtm_warp_compute_cell(&tree, domain, slot, queues + threadIdx.x / WARP, lane, cell) !=
          CVTM_CELL_DONE)
    cell->count = TOO_MANY_CORNERS;
  for (int32_t k = lane; k < cell->count; k += WARP) cvtm_cell_set_slope(cell, k);
}

/* Constructs a cell by the first warp, and copies it to all threads of the block. */
__device__ void block_construct(const cvtm_site_tree_view &tree, cvtm_domain domain, int64_t slot,
                                cvtm_cell *cell, cvtm_cell *shared) {
  __syncthreads();
  if (threadIdx.x < WARP) construct_cell(tree, domain, slot, cell);
  if (threadIdx.x == 0) *shared = *cell;
  __syncthreads();
  *cell = *shared;
}

/* Constructs the listed cells first .. first + count - 1, each by a warp, in one of `shares` equal
 * parts of the block's scratch. */
__device__ void block_construct_several(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                        const cuda_state &state, int32_t first, int32_t count,
                                        int32_t shares, cvtm_cell *cells) {
  const int32_t own = static_cast<int32_t>(threadIdx.x) / WARP;
  __syncthreads();
  if (own < count) {
    const int64_t corners = BLOCK_CORNERS / shares;
    double *scratch = state.corners + blockIdx.x * (4 * BLOCK_CORNERS) + own * 4 * corners;
    cvtm_cell cell = scratch_cell(scratch, corners);
    construct_cell(tree, domain, state.list[first + own], &cell);
    if (threadIdx.x % WARP == 0) cells[own] = cell;
  }
  __syncthreads();
}

/* Takes the next item of large_kernel for this block, and returns its number. */
__device__ int32_t take_item(const cuda_state &state) {
  __shared__ int32_t item;
  __syncthreads();
  if (threadIdx.x == 0) item = atomicAdd(state.listed + LISTED_TAKEN, 1);
  __syncthreads();
  return item;
}

/* True if a constructed cell is huge or giant; then the thread with `lists` set lists the cell. */
__device__ bool is_listed(const cuda_state &state, int64_t slot, const cvtm_cell &cell,
                          bool lists) {
  const bool giant = cell.count == TOO_MANY_CORNERS;
  if (!giant && !(cell.count > 0 && cell_area(cell) > HUGE_AREA)) return false;
  int32_t *list = giant ? state.giant : state.huge;
  int32_t *count = state.listed + (giant ? LISTED_GIANT : LISTED_HUGE);
  if (lists) list[atomicAdd(count, 1)] = static_cast<int32_t>(slot);
  return true;
}

__device__ void store_sum(const cvtm_site_tree_view &tree, int64_t slot, const cvtm_cell &cell,
                          cvtm_cell_moments sum, cvtm_cell_moments *sums) {
  if (cell.count == NOT_FINITE) sum.mass = sum.x = sum.y = sum.second = NAN;
  sums[tree.index[slot]] = sum;
}

/* Sets the moments of a constructed cell, or lists the cell as huge or giant. */
__device__ void sum_or_list(const cvtm_site_tree_view &tree, cvtm_domain domain,
                            const cvtm_density_view &density, const cuda_state &state, int64_t slot,
                            const cvtm_cell &cell, cvtm_cell_moments *part,
                            cvtm_cell_moments *sums) {
  if (is_listed(state, slot, cell, threadIdx.x == 0)) return;
  const cvtm_cell_moments all = share_sum(tree, domain, density, slot, cell, 0, 1, part);
  if (threadIdx.x == 0) store_sum(tree, slot, cell, all, sums);
}

/* Does the work of sum_or_list by one warp. */
__device__ void sum_or_list_by_warp(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                    const cvtm_density_view &density, const cuda_state &state,
                                    int64_t slot, const cvtm_cell &cell, cvtm_cell_moments *sums) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  if (is_listed(state, slot, cell, lane == 0)) return;
  const cvtm_cell_moments all =
      cvtm_moments_sum_lanes<1>(row_sum(tree, domain, density, slot, cell, lane, WARP));
  if (lane == 0) store_sum(tree, slot, cell, all, sums);
}

/* Sets the moments of the deferred cells, and lists huge and giant cells. If there are many
 * deferred cells, each warp of a block computes a cell, in a part of the block's scratch; a cell
 * with too many corners for that part is then constructed again, in all of the scratch. */
__global__ void __launch_bounds__(LARGE_THREADS)
    large_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                 cuda_state state, cvtm_cell_moments *sums) {
  __shared__ cvtm_cell_moments part[LARGE_THREADS];
  __shared__ cvtm_cell cells[CELLS_AT_ONCE], shared;
  const int32_t listed = state.listed[LISTED_LARGE], own = static_cast<int32_t>(threadIdx.x) / WARP;
  if (listed == 0) return;
  const int32_t at_once = min(max((max(listed, state.listed_by_all) + PARTS - 1) / PARTS, 1),
                              static_cast<int32_t>(CELLS_AT_ONCE));
  const int32_t items = (listed + at_once - 1) / at_once;
  for (int32_t k = take_item(state); k < items; k = take_item(state)) {
    const int32_t first = k * at_once, count = min(listed - first, at_once);
    block_construct_several(tree, domain, state, first, count, at_once, cells);
    if (at_once == 1)
      sum_or_list(tree, domain, density, state, state.list[first], cells[0], part, sums);
    else if (own < count && cells[own].count != TOO_MANY_CORNERS)
      sum_or_list_by_warp(tree, domain, density, state, state.list[first + own], cells[own], sums);
    for (int32_t c = 0; c < count; ++c) {
      if (cells[c].count != TOO_MANY_CORNERS || at_once == 1) continue;
      cvtm_cell cell = block_cell(state);
      block_construct(tree, domain, state.list[first + c], &cell, &shared);
      sum_or_list(tree, domain, density, state, state.list[first + c], cell, part, sums);
    }
  }
}

/* Sets the moments of a giant cell. */
__device__ void sum_giant(const cvtm_site_tree_view &tree, cvtm_domain domain,
                          const cvtm_density_view &density, const cuda_state &state, int64_t slot,
                          cvtm_cell_moments *part, cvtm_cell *shared, cvtm_cell_moments *sums) {
  cvtm_cell cell = scratch_cell(state.giant_corners, state.giant_capacity);
  block_construct(tree, domain, slot, &cell, shared);
  const cvtm_cell_moments all = share_sum(tree, domain, density, slot, cell, 0, 1, part);
  if (threadIdx.x == 0) sums[tree.index[slot]] = all;
}

__device__ cvtm_cell_moments read_sums(const cvtm_cell_moments *sums) {
  const cvtm_cell_moments s = {__ldcg(&sums->mass), __ldcg(&sums->x), __ldcg(&sums->y),
                               __ldcg(&sums->second)};
  return s;
}

/* Computes the huge cells in parts, and the giant cells, all by the first block, since there is
 * scratch memory for only one giant cell. The last block to end adds the parts. */
__global__ void __launch_bounds__(LARGE_THREADS)
    huge_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                cuda_state state, cvtm_cell_moments *sums) {
  __shared__ cvtm_cell_moments part[LARGE_THREADS];
  __shared__ cvtm_cell shared;
  const int32_t huge = state.listed[LISTED_HUGE], giants = state.listed[LISTED_GIANT];
  const int32_t blocks = static_cast<int32_t>(gridDim.x), block = static_cast<int32_t>(blockIdx.x);
  if (huge + giants == 0) return;
  for (int32_t entry = 0; block == 0 && entry < giants; ++entry)
    sum_giant(tree, domain, density, state, state.giant[entry], part, &shared, sums);
  cvtm_cell cell = block_cell(state);
  int32_t constructed = -1;
  for (int32_t k = block; k < huge * PARTS; k += blocks) {
    const int32_t entry = k / PARTS, p = k % PARTS;
    const int64_t slot = state.huge[entry];
    if (constructed != entry) block_construct(tree, domain, slot, &cell, &shared);
    constructed = entry;
    const cvtm_cell_moments mine = share_sum(tree, domain, density, slot, cell, p, PARTS, part);
    if (threadIdx.x == 0) state.part[k] = mine;
    __syncthreads();
  }
  if (!cvtm_last_block(state.listed + LISTED_BLOCKS)) return;
  for (int32_t k = static_cast<int32_t>(threadIdx.x); k < huge; k += LARGE_THREADS) {
    cvtm_cell_moments all = {0, 0, 0, 0};
    for (int p = 0; p < PARTS; ++p) {
      const cvtm_cell_moments one = read_sums(state.part + k * PARTS + p);
      cvtm_cell_moments_add(&all, &one);
    }
    sums[tree.index[state.huge[k]]] = all;
  }
}

/* Each block computes gradient, energy and largest distance of its sites. The last block joins the
 * parts, and zeroes the counters for the next evaluation. */
__global__ void __launch_bounds__(LARGE_THREADS)
    finish_kernel(cuda_state state, const cvtm_cell_moments *sums, int64_t count, int64_t fixed,
                  double *gradient, double *value) {
  double energy = 0, distance = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * LARGE_THREADS + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * LARGE_THREADS) {
    const cvtm_cell_moments s = sums[i];
    energy += s.second;
    distance = cvtm_cvt_larger(distance, cvtm_cvt_finish_site(&s, i, fixed, gradient));
  }
  cvtm_cvt_join_block<LARGE_THREADS>(&energy, &distance);
  if (threadIdx.x == 0) {
    state.energy[blockIdx.x] = energy;
    state.distance[blockIdx.x] = distance;
  }
  if (!cvtm_last_block(state.listed + LISTED_BLOCKS)) return;
  energy = distance = 0;
  for (unsigned p = threadIdx.x; p < gridDim.x; p += LARGE_THREADS) {
    energy += __ldcg(state.energy + p);
    distance = cvtm_cvt_larger(distance, __ldcg(state.distance + p));
  }
  cvtm_cvt_join_block<LARGE_THREADS>(&energy, &distance);
  if (threadIdx.x == 0) {
    value[0] = energy;
    value[1] = distance;
  }
  if (threadIdx.x < LISTED) state.listed[threadIdx.x] = 0;
}

enum { PIXEL_THREADS = 128 };

/* Each block sums the pixels of one label at a time. */
__global__ void __launch_bounds__(PIXEL_THREADS)
    pixel_kernel(cvtm_density_view density, const uint64_t *keys, const int32_t *pixels,
                 const double *sites, int64_t count, cvtm_cell_moments *sums) {
  __shared__ cvtm_cell_moments part[PIXEL_THREADS];
  const int64_t area = static_cast<int64_t>(density.width) * density.height;
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const int64_t first = cvtm_lower_bound_64(keys, 0, area, static_cast<uint64_t>(i));
    const int64_t last = cvtm_lower_bound_64(keys, 0, area, static_cast<uint64_t>(i) + 1);
    cvtm_cell_moments mine = {0, 0, 0, 0};
    for (int64_t k = first + threadIdx.x; k < last; k += PIXEL_THREADS)
      cvtm_cvt_add_pixel(&density, pixels[k], sites[2 * i], sites[2 * i + 1], &mine);
    part[threadIdx.x] = mine;
    const cvtm_cell_moments all = cvtm_moments_sum_block(part, PIXEL_THREADS);
    if (threadIdx.x == 0) {
      sums[i] = cvtm_cvt_no_pixels(sites + 2 * i);
      cvtm_cell_moments_add(&sums[i], &all);
    }
    __syncthreads();
  }
}

cvtm_arrays arrays_of(const cvtm_cvt *cvt, cuda_state *s) {
  const int64_t n = cvt->capacity, corners = int64_t{s->cells.chunk} * CVTM_HULL_SIDES;
  /* Cells do not overlap, which limits the number of huge cells. */
  const int64_t huge = static_cast<int64_t>(cvt->domain.width) * cvt->domain.height / HUGE_AREA + 1;
  return cvtm_arrays{{
      cvtm_array_of(&s->cells.x, corners),
      cvtm_array_of(&s->cells.y, corners),
      cvtm_array_of(&s->cells.count, s->cells.chunk),
      cvtm_array_of(&s->listed, LISTED),
      cvtm_array_of(&s->list, n),
      cvtm_array_of(&s->huge, huge),
      cvtm_array_of(&s->giant, 6 * n / BLOCK_CORNERS + 1), /* cells have 6 corners in the mean */
      cvtm_array_of(&s->part, huge * PARTS),
      cvtm_array_of(&s->corners, int64_t{PARTS} * 4 * BLOCK_CORNERS),
      cvtm_array_of(&s->giant_corners, 4 * s->giant_capacity),
      cvtm_array_of(&s->energy, PARTS),
      cvtm_array_of(&s->distance, PARTS),
  }};
}

void destroy_state_cuda(cvtm_cvt *cvt) {
  cuda_state *state = static_cast<cuda_state *>(cvt->state);
  if (!state) return;
  cvtm_device_free_arrays(cvt->device, arrays_of(cvt, state));
  delete state;
  cvt->state = nullptr;
}

cvtm_status create_state_cuda(cvtm_cvt *cvt) {
  cuda_state *state = new (std::nothrow) cuda_state();
  if (!state) return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory");
  cvt->state = state;
  const int64_t n = cvt->capacity, all = cvt->global_count > 0 ? cvt->global_count : n;
  const int64_t needed = all < CVTM_CHUNKED_CELLS ? 0 : n;
  state->cells.chunk = static_cast<int32_t>(needed < CHUNK ? needed : CHUNK);
  /* A site adds at most one corner to a cell; only if there are few sites, each of several periodic
   * images of a site adds a corner. */
  state->giant_capacity = 4 + n + 8 * (n < BLOCK_CORNERS ? n : int64_t{BLOCK_CORNERS});
  cvtm_status status = cvtm_device_allocate_arrays(cvt->device, arrays_of(cvt, state));
  if (status == CVTM_OK)
    status = cvtm_device_fill(cvt->device, state->listed, 0, LISTED * sizeof *state->listed);
  if (status != CVTM_OK) destroy_state_cuda(cvt);
  return status;
}

/* Computes the moments of the deferred cells. */
cvtm_status sum_deferred(cvtm_cvt *cvt, const cuda_state &state) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const unsigned blocks = cvtm_cuda_cap(PARTS);
  CVTM_TRY(CVTM_LAUNCH(cvt->device, large_kernel, blocks, LARGE_THREADS, tree, cvt->domain,
                       cvt->density, state, cvt->moments));
  return CVTM_LAUNCH(cvt->device, huge_kernel, blocks, LARGE_THREADS, tree, cvt->domain,
                     cvt->density, state, cvt->moments);
}

__device__ void defer_cell(cvtm_site_tree_view tree, cvtm_deferred_cells deferred, int64_t slot) {
  cvtm_defer_cell(tree, deferred, slot);
}

/* Computes the moments of all cells except the deferred cells, which it lists. */
cvtm_status sum_cells(cvtm_cvt *cvt, const cuda_state &state) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const cvtm_deferred_cells deferred = {state.list, state.listed + LISTED_LARGE};
  if (cvt->tree_clipping)
    return launch_rows<defer_cell, 256>(cvt->device, "defer_cell", 0, tree.count, tree, deferred);
  return cvtm_integrate_cells_cuda(cvt, &tree, &state.cells, &deferred);
}

cvtm_status cell_moments_cuda(cvtm_cvt *cvt, int64_t count) {
  (void)count; /* the number of sites in the tree */
  const cuda_state &state = *static_cast<const cuda_state *>(cvt->state);
  CVTM_TRY(sum_cells(cvt, state));
  return sum_deferred(cvt, state);
}

/* Waits for the other ranks before it computes the deferred cells, since the method depends on the
 * number of deferred cells of all ranks. */
cvtm_status part_moments_cuda(cvtm_cvt *cvt, int64_t count, const uint32_t *missed,
                              int64_t *lacking) {
  cuda_state *state = static_cast<cuda_state *>(cvt->state);
  int32_t listed = 0;
  uint32_t found = 0;
  cvtm_status status =
      cvtm_device_fill(cvt->device, state->listed, 0, LISTED * sizeof *state->listed);
  if (status == CVTM_OK && count > 0) status = sum_cells(cvt, *state);
  if (status == CVTM_OK)
    status =
        cvtm_device_copy_out(cvt->device, &listed, state->listed + LISTED_LARGE, sizeof listed);
  if (status == CVTM_OK) status = cvtm_device_copy_out(cvt->device, &found, missed, sizeof found);
  int64_t sums[] = {found != 0, listed};
  if (status == CVTM_OK) status = cvtm_ranks_sum(cvt->device, sums, 2);
  *lacking = sums[0];
  if (status != CVTM_OK || sums[0] > 0 || sums[1] == 0) return status;
  state->listed_by_all = static_cast<int32_t>(sums[1] < INT32_MAX ? sums[1] : INT32_MAX);
  status = sum_deferred(cvt, *state);
  if (status == CVTM_OK) status = cvtm_device_copy_out(cvt->device, &found, missed, sizeof found);
  *lacking = found != 0;
  return status == CVTM_OK ? cvtm_ranks_sum(cvt->device, lacking, 1) : status;
}

cvtm_status label_moments_cuda(cvtm_cvt *cvt, const double *sites, int64_t count) {
  return CVTM_LAUNCH(cvt->device, pixel_kernel, cvtm_cuda_blocks(count, 1), PIXEL_THREADS,
                     cvt->density, cvt->keys, cvt->pixels, sites, count, cvt->moments);
}

cvtm_status finish_cuda(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *value,
                        double *gradient) {
  const cuda_state &state = *static_cast<const cuda_state *>(cvt->state);
  return CVTM_LAUNCH(cvt->device, finish_kernel, cvtm_cuda_cap(PARTS), LARGE_THREADS, state,
                     cvt->moments, count, fixed, gradient, value);
}

CVTM_CVT_PHASES(CVTM_PHASE_CUDA)

}  // namespace

extern "C" const cvtm_cvt_table cvtm_cvt_table_cuda = {create_state_cuda,
                                                       destroy_state_cuda,
                                                       cell_moments_cuda,
                                                       part_moments_cuda,
                                                       label_moments_cuda,
                                                       finish_cuda,
                                                       CVTM_CVT_PHASES(CVTM_PHASE_CUDA_NAME)};
