/* An evaluation in four kernels, of which the middle two mostly find nothing to do. cells: a
 * lane cuts out each cell the quick way, then all lanes of the warp add up its rows.
 * large: a block per cell that the quick way left, or that has very many rows. huge: all blocks
 * together for each cell of a good part of the image. finish: energy and gradient.
 * All sums have a fixed order. */
#include "base/cuda_check.h"
#include "cvt/cvt_kernels.h"
#include "jfa/cell_warp.h"

#include <new>

namespace {

enum {
  WARP = CVTM_WARP,
  WARPS = 1,            /* of a block of the first kernel, so that as many as possible fit in */
  BLOCKS = 15,          /* of them on a multiprocessor: what shared memory allows */
  PIXEL_BLOCKS = 16,    /* the same of the pixel sums: what registers allow */
  BLOCK_CORNERS = 1024, /* of a cell in a block's scratch */
  LARGE_THREADS = 128,
  LARGE_BLOCKS = 264, /* at once; each has a polygon in scratch */
  HUGE_AREA = 1 << 20,
  PIXEL_THREADS = 128,
  FINISH_THREADS = 256,
  FINISH_BLOCKS = 264,
};

/* listed: how many cells the large kernel has to do, how many are huge, how many of more corners
 * than a block's scratch holds, and how many blocks of the huge and of the finish kernel have
 * ended. list: places left to the large kernel, in no particular order; huge and giant: of
 * those, the ones left to the huge kernel, and each block's part of a huge cell's sums;
 * energy, distance: each block's part. */
struct cuda_state {
  int32_t *listed;
  int32_t *list, *huge, *giant;
  cvtm_cell_sums *part;   /* LARGE_BLOCKS per huge cell */
  double *corners;        /* of a cell per block */
  double *giant_corners;  /* of one cell with any number of corners */
  int64_t giant_capacity; /* corners */
  double *energy, *distance;
};
enum { LISTED_LARGE, LISTED_HUGE, LISTED_GIANT, LISTED_HUGE_BLOCKS, LISTED_FINISH_BLOCKS, LISTED };
enum { NOT_FINITE = -1, TOO_MANY_CORNERS = -2 }; /* as a cell's count */

template <int CELLS, bool PIXEL>
using warp_cells = cvtm_warp_cells<CELLS, PIXEL ? 2 : 2 * CVTM_CELL_BATCH * WARP>;

/* Adds rows first .. last of a cell. */
template <bool PIXEL>
__device__ void add_rows(const cvtm_site_tree_view &tree, cvtm_domain domain,
                         const cvtm_density_view &density, int64_t place, const cvtm_cell &cell,
                         double doubt, cvtm_cell_rows *rows, int32_t first, int32_t last,
                         const cvtm_cell_columns &columns, cvtm_cell_sums *sums) {
  if (PIXEL) {
    for (int32_t j = first; j <= last; ++j)
      cvtm_cell_add_centres(&tree, domain, &density, place, &cell, doubt, rows, j, sums);
  } else {
    cvtm_cell_add_rows(&density, &cell, rows, first, last, &columns, sums);
  }
}

__device__ void add_sums(cvtm_cell_sums *to, const cvtm_cell_sums &from) {
  to->mass += from.mass;
  to->x += from.x;
  to->y += from.y;
  to->second += from.second;
}

/* The sums of the lane `offset` further on. */
__device__ cvtm_cell_sums shift_sums(const cvtm_cell_sums &sums, int offset) {
  const unsigned all = 0xFFFFFFFFu;
  const cvtm_cell_sums other = {
      __shfl_down_sync(all, sums.mass, offset), __shfl_down_sync(all, sums.x, offset),
      __shfl_down_sync(all, sums.y, offset), __shfl_down_sync(all, sums.second, offset)};
  return other;
}

template <int CELLS, bool PIXEL>
__global__ void __launch_bounds__(WARPS *WARP, PIXEL ? PIXEL_BLOCKS : BLOCKS)
    cells_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                 cuda_state state, cvtm_cell_sums *sums) {
  extern __shared__ __align__(16) unsigned char shared[];
  warp_cells<CELLS, PIXEL> *memory =
      reinterpret_cast<warp_cells<CELLS, PIXEL> *>(shared) + threadIdx.x / WARP;
  const int lane = threadIdx.x % WARP, c = lane % CELLS;
  const int64_t base = (static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP) * CELLS;
  const int64_t place = base + c;
  if (base >= tree.count) return; /* whole warps */

  const bool done = cvtm_warp_cut(tree, domain, base, lane, memory);
  if (!done && lane < CELLS && place < tree.count)
    state.list[atomicAdd(state.listed + LISTED_LARGE, 1)] = static_cast<int32_t>(place);
  const cvtm_cell cell = cvtm_warp_cell(memory, c);
  cvtm_cell_sums part = {0, 0, 0, 0};
  if (cell.count >= 3) {
    /* The rows of a cell, shared out evenly among its lanes. */
    const cvtm_cell_columns columns = {WARP, memory->extra + (PIXEL ? 0 : lane)};
    cvtm_cell_rows rows;
    cvtm_cell_begin_rows(domain, tree.position[2 * place], tree.position[2 * place + 1], &cell,
                         &rows);
    const int32_t share = (rows.last - rows.first + WARP / CELLS) / (WARP / CELLS);
    const int32_t first = rows.first + lane / CELLS * share;
    const int32_t last = first + share - 1 < rows.last ? first + share - 1 : rows.last;
    add_rows<PIXEL>(tree, domain, density, place, cell, memory->doubt[c], &rows, first, last,
                    columns, &part);
  }
  __syncwarp();
  for (int offset = WARP / 2; offset >= CELLS; offset /= 2)
    add_sums(&part, shift_sums(part, offset));
  if (done) sums[tree.index[place]] = part;
}

/* Adds up the parts of a block's threads; the result is thread 0's. */
__device__ cvtm_cell_sums block_sum(cvtm_cell_sums *part, int threads) {
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half)) {
      add_sums(part + threadIdx.x, part[threadIdx.x + half]);
    }
  }
  __syncthreads();
  return part[0];
}

__device__ double cell_area(const cvtm_cell &cell) {
  double twice = 0;
  for (int k = 1; k + 1 < cell.count; ++k)
    twice += fabs((cell.x[k] - cell.x[0]) * (cell.y[k + 1] - cell.y[0]) -
                  (cell.x[k + 1] - cell.x[0]) * (cell.y[k] - cell.y[0]));
  return 0.5 * twice;
}

/* This block's share of a cell's rows, in every block of `blocks`. */
template <bool PIXEL>
__device__ cvtm_cell_sums share_sum(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                    const cvtm_density_view &density, int64_t place,
                                    const cvtm_cell &cell, int block, int blocks,
                                    cvtm_cell_sums *part) {
  cvtm_cell_sums mine = {0, 0, 0, 0};
  int32_t column[2 * CVTM_CELL_BATCH];
  const cvtm_cell_columns columns = {1, column};
  if (cell.count >= 3) {
    cvtm_cell_rows rows;
    cvtm_cell_begin_rows(domain, tree.position[2 * place], tree.position[2 * place + 1], &cell,
                         &rows);
    const double doubt = cvtm_cell_doubt(domain, &cell);
    for (int32_t j = rows.first + block * LARGE_THREADS + static_cast<int32_t>(threadIdx.x);
         j <= rows.last; j += blocks * LARGE_THREADS)
      add_rows<PIXEL>(tree, domain, density, place, cell, doubt, &rows, j, j, columns, &mine);
  }
  part[threadIdx.x] = mine;
  return block_sum(part, LARGE_THREADS);
}

/* A cell in scratch with room for n corners. */
__device__ cvtm_cell scratch_cell(double *corners, int64_t n) {
  const cvtm_cell cell = {
      0, static_cast<int32_t>(n), 1, corners, corners + n, corners + 2 * n, corners + 3 * n, 0};
  return cell;
}

__device__ cvtm_cell block_cell(const cuda_state &state) {
  return scratch_cell(state.corners + blockIdx.x * (4 * BLOCK_CORNERS), BLOCK_CORNERS);
}

/* Thread 0 cuts out a cell the other way; all threads have it then. */
__device__ void block_cut(const cvtm_site_tree_view &tree, cvtm_domain domain, int64_t place,
                          cvtm_cell *cell, cvtm_cell *shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    cell->count = NOT_FINITE;
    if (isfinite(tree.position[2 * place]) && isfinite(tree.position[2 * place + 1]) &&
        cvtm_cell_compute(&tree, domain, place, cell) != CVTM_CELL_DONE)
      cell->count = TOO_MANY_CORNERS;
    cvtm_cell_set_slopes(cell);
    *shared = *cell;
  }
  __syncthreads();
  *cell = *shared;
}

template <bool PIXEL>
__global__ void __launch_bounds__(LARGE_THREADS)
    large_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                 cuda_state state, cvtm_cell_sums *sums) {
  __shared__ cvtm_cell_sums part[LARGE_THREADS];
  __shared__ cvtm_cell shared;
  cvtm_cell cell = block_cell(state);
  const int32_t listed = state.listed[LISTED_LARGE];
  for (int32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const int64_t place = state.list[entry];
    block_cut(tree, domain, place, &cell, &shared);
    const bool giant = cell.count == TOO_MANY_CORNERS;
    if (giant || (cell.count > 0 && cell_area(cell) > HUGE_AREA)) {
      int32_t *list = giant ? state.giant : state.huge;
      int32_t *count = state.listed + (giant ? LISTED_GIANT : LISTED_HUGE);
      if (threadIdx.x == 0) list[atomicAdd(count, 1)] = static_cast<int32_t>(place);
      continue;
    }
    cvtm_cell_sums all = share_sum<PIXEL>(tree, domain, density, place, cell, 0, 1, part);
    if (cell.count == NOT_FINITE) all.mass = all.x = all.y = all.second = NAN;
    if (threadIdx.x == 0) sums[tree.index[place]] = all;
  }
}

/* Whether this block is the last to come here; what the others wrote is seen then. */
__device__ bool last_block(int32_t *ended) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ended, 1) + 1 == static_cast<int32_t>(gridDim.x);
    if (last) *ended = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/* LARGE_BLOCKS blocks; the last to end adds up the parts. The first sums the giants besides. */
template <bool PIXEL>
__global__ void __launch_bounds__(LARGE_THREADS)
    huge_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                cuda_state state, cvtm_cell_sums *sums) {
  __shared__ cvtm_cell_sums part[LARGE_THREADS];
  __shared__ cvtm_cell shared;
  const int32_t huge = state.listed[LISTED_HUGE];
  const int32_t giants = blockIdx.x == 0 ? state.listed[LISTED_GIANT] : 0;
  for (int32_t entry = 0; entry < giants; ++entry) {
    const int64_t place = state.giant[entry];
    cvtm_cell cell = scratch_cell(state.giant_corners, state.giant_capacity);
    block_cut(tree, domain, place, &cell, &shared);
    const cvtm_cell_sums all = share_sum<PIXEL>(tree, domain, density, place, cell, 0, 1, part);
    if (threadIdx.x == 0) sums[tree.index[place]] = all;
  }
  if (huge == 0) return;
  cvtm_cell cell = block_cell(state);
  for (int32_t entry = 0; entry < huge; ++entry) {
    const int64_t place = state.huge[entry];
    block_cut(tree, domain, place, &cell, &shared);
    const cvtm_cell_sums mine = share_sum<PIXEL>(tree, domain, density, place, cell,
                                                 static_cast<int>(blockIdx.x), LARGE_BLOCKS, part);
    if (threadIdx.x == 0) state.part[entry * LARGE_BLOCKS + blockIdx.x] = mine;
  }
  if (!last_block(state.listed + LISTED_HUGE_BLOCKS)) return;
  for (int32_t entry = threadIdx.x; entry < huge; entry += LARGE_THREADS) {
    cvtm_cell_sums all = {0, 0, 0, 0};
    for (int b = 0; b < LARGE_BLOCKS; ++b) add_sums(&all, state.part[entry * LARGE_BLOCKS + b]);
    sums[tree.index[state.huge[entry]]] = all;
  }
}

/* Sum of energies and largest distance of the threads; the result is thread 0's. */
__device__ void join_block(double *energy, double *distance) {
  __shared__ double energies[FINISH_THREADS], distances[FINISH_THREADS];
  energies[threadIdx.x] = *energy;
  distances[threadIdx.x] = *distance;
  for (int half = FINISH_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= static_cast<unsigned>(half)) continue;
    energies[threadIdx.x] += energies[threadIdx.x + half];
    distances[threadIdx.x] = cvtm_cvt_larger(distances[threadIdx.x], distances[threadIdx.x + half]);
  }
  __syncthreads();
  *energy = energies[0];
  *distance = distances[0];
  __syncthreads();
}

/* Gradient, energy and largest distance; the last block joins the parts of all, and leaves
 * the counts as the next evaluation wants them. */
__global__ void __launch_bounds__(FINISH_THREADS)
    finish_kernel(const cvtm_cell_sums *sums, int64_t count, int64_t fixed, cuda_state state,
                  double *gradient, double *value) {
  double energy = 0, distance = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * FINISH_THREADS + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * FINISH_THREADS) {
    const cvtm_cell_sums s = sums[i];
    energy += s.second;
    distance = cvtm_cvt_larger(distance, cvtm_cvt_finish_site(&s, i, fixed, gradient));
  }
  join_block(&energy, &distance);
  if (threadIdx.x == 0) {
    state.energy[blockIdx.x] = energy;
    state.distance[blockIdx.x] = distance;
  }
  if (!last_block(state.listed + LISTED_FINISH_BLOCKS)) return;
  energy = distance = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += FINISH_THREADS) {
    energy += state.energy[b];
    distance = cvtm_cvt_larger(distance, state.distance[b]);
  }
  join_block(&energy, &distance);
  if (threadIdx.x == 0) {
    value[0] = energy;
    value[1] = distance;
    state.listed[LISTED_LARGE] = state.listed[LISTED_HUGE] = state.listed[LISTED_GIANT] = 0;
  }
}

__global__ void keys_kernel(const int32_t *labels, int64_t area, uint64_t *keys, int32_t *pixels) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; p < area;
       p += step) {
    keys[p] = static_cast<uint32_t>(labels[p]);
    pixels[p] = static_cast<int32_t>(p);
  }
}

/* A block per site. */
__global__ void __launch_bounds__(PIXEL_THREADS)
    pixel_kernel(cvtm_density_view density, const uint64_t *keys, const int32_t *pixels,
                 const double *sites, int64_t count, cvtm_cell_sums *sums) {
  __shared__ cvtm_cell_sums part[PIXEL_THREADS];
  const int64_t area = static_cast<int64_t>(density.width) * density.height;
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const int64_t first = cvtm_cvt_lower_bound(keys, area, static_cast<uint64_t>(i));
    const int64_t last = cvtm_cvt_lower_bound(keys, area, static_cast<uint64_t>(i) + 1);
    cvtm_cell_sums mine = {0, 0, 0, 0};
    for (int64_t k = first + threadIdx.x; k < last; k += PIXEL_THREADS)
      cvtm_cvt_add_pixel(&density, pixels[k], sites[2 * i], sites[2 * i + 1], &mine);
    part[threadIdx.x] = mine;
    const cvtm_cell_sums all = block_sum(part, PIXEL_THREADS);
    if (threadIdx.x == 0) sums[i] = all;
    __syncthreads();
  }
}

__global__ void lloyd_kernel(const cvtm_cell_sums *sums, cvtm_domain domain, int64_t count,
                             int64_t fixed, double *sites) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = fixed + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const cvtm_cell_sums s = sums[i];
    if (!(s.mass > 0)) continue;
    sites[2 * i] =
        cvtm_cvt_lloyd_coordinate(sites[2 * i], s.x, s.mass, domain.width, domain.periodic);
    sites[2 * i + 1] =
        cvtm_cvt_lloyd_coordinate(sites[2 * i + 1], s.y, s.mass, domain.height, domain.periodic);
  }
}

void destroy_state_cuda(cvtm_cvt *cvt) {
  cuda_state *state = static_cast<cuda_state *>(cvt->state);
  if (!state) return;
  void *arrays[] = {state->listed,        state->list,   state->huge,
                    state->giant,         state->part,   state->corners,
                    state->giant_corners, state->energy, state->distance};
  for (void *array : arrays) cvtm_device_free(cvt->device, array);
  delete state;
  cvt->state = nullptr;
}

template <typename T>
cvtm_status allocate(cvtm_cvt *cvt, int64_t count, T **array) {
  void *memory = nullptr;
  const cvtm_status status = cvtm_device_allocate(cvt->device, count, sizeof(T), &memory);
  *array = static_cast<T *>(memory);
  return status;
}

cvtm_status create_state_cuda(cvtm_cvt *cvt) {
  cuda_state *state = new (std::nothrow) cuda_state();
  if (!state) return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory");
  cvt->state = state;
  /* Cells do not overlap, so that no more than this can be huge. */
  const int64_t huge = static_cast<int64_t>(cvt->domain.width) * cvt->domain.height / HUGE_AREA + 1;
  cvtm_status status = allocate(cvt, LISTED, &state->listed);
  if (status == CVTM_OK)
    status = cvtm_device_fill(cvt->device, state->listed, 0, LISTED * sizeof *state->listed);
  if (status == CVTM_OK) status = allocate(cvt, FINISH_BLOCKS, &state->energy);
  if (status == CVTM_OK) status = allocate(cvt, FINISH_BLOCKS, &state->distance);
  if (status == CVTM_OK) status = allocate(cvt, cvt->capacity, &state->list);
  if (status == CVTM_OK) status = allocate(cvt, huge, &state->huge);
  if (status == CVTM_OK) status = allocate(cvt, huge * LARGE_BLOCKS, &state->part);
  if (status == CVTM_OK)
    status = allocate(cvt, static_cast<int64_t>(LARGE_BLOCKS) * 4 * BLOCK_CORNERS, &state->corners);
  /* A site adds a corner at most. Several of its images do only where there are few sites. Together
   * the cells have 6 corners a site. */
  const int64_t n = cvt->capacity, most = BLOCK_CORNERS, few = n < most ? n : most;
  state->giant_capacity = 4 + n + 8 * few;
  if (status == CVTM_OK) status = allocate(cvt, 6 * n / BLOCK_CORNERS + 1, &state->giant);
  if (status == CVTM_OK) status = allocate(cvt, 4 * state->giant_capacity, &state->giant_corners);
  if (status != CVTM_OK) destroy_state_cuda(cvt);
  return status;
}

template <int CELLS, bool PIXEL>
cvtm_status launch_cells(cvtm_cvt *cvt, const cvtm_site_tree_view &tree, const cuda_state &state) {
  const int bytes = WARPS * sizeof(warp_cells<CELLS, PIXEL>);
  CVTM_CUDA_TRY(cvt->device,
                cudaFuncSetAttribute(cells_kernel<CELLS, PIXEL>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  cells_kernel<CELLS, PIXEL>
      <<<cvtm_cuda_blocks(tree.count, WARPS * CELLS), WARPS * WARP, bytes,
         cvtm_cuda_stream(cvt->device)>>>(tree, cvt->domain, cvt->density, state, cvt->sums);
  return cvtm_cuda_launched(cvt->device, "cells_kernel");
}

template <bool PIXEL>
cvtm_status enqueue_cells(cvtm_cvt *cvt, int64_t count) {
  cvtm_device *device = cvt->device;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const cuda_state state = *static_cast<const cuda_state *>(cvt->state);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  cvtm_status status = CVTM_OK;
  /* Enough warps for the device. */
  const int cells = count < 8000 ? 4 : count < 16000 ? 8 : count < 40000 ? 16 : 32;
  if (cells == 4)
    status = launch_cells<4, PIXEL>(cvt, tree, state);
  else if (cells == 8)
    status = launch_cells<8, PIXEL>(cvt, tree, state);
  else if (cells == 16)
    status = launch_cells<16, PIXEL>(cvt, tree, state);
  else
    status = launch_cells<32, PIXEL>(cvt, tree, state);
  if (status == CVTM_OK) status = cvtm_site_tree_bound(cvt->tree, state.listed + LISTED_LARGE);
  if (status != CVTM_OK) return status;
  large_kernel<PIXEL><<<LARGE_BLOCKS, LARGE_THREADS, 0, stream>>>(tree, cvt->domain, cvt->density,
                                                                  state, cvt->sums);
  status = cvtm_cuda_launched(device, "large_kernel");
  if (status != CVTM_OK) return status;
  huge_kernel<PIXEL><<<LARGE_BLOCKS, LARGE_THREADS, 0, stream>>>(tree, cvt->domain, cvt->density,
                                                                 state, cvt->sums);
  return cvtm_cuda_launched(device, "huge_kernel");
}

cvtm_status cell_sums_cuda(cvtm_cvt *cvt, int64_t count, cvtm_cvt_energy energy) {
  return energy == CVTM_CVT_EXACT ? enqueue_cells<false>(cvt, count)
                                  : enqueue_cells<true>(cvt, count);
}

cvtm_status pixel_keys_cuda(cvtm_cvt *cvt) {
  const int64_t area = static_cast<int64_t>(cvt->domain.width) * cvt->domain.height;
  keys_kernel<<<cvtm_cuda_blocks(area, 256), 256, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->labels, area, cvt->keys, cvt->pixels);
  return cvtm_cuda_launched(cvt->device, "keys_kernel");
}

cvtm_status pixel_sums_cuda(cvtm_cvt *cvt, const double *sites, int64_t count) {
  pixel_kernel<<<cvtm_cuda_blocks(count, 1), PIXEL_THREADS, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->density, cvt->keys, cvt->pixels, sites, count, cvt->sums);
  return cvtm_cuda_launched(cvt->device, "pixel_kernel");
}

cvtm_status finish_cuda(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *value,
                        double *gradient) {
  const unsigned needed = cvtm_cuda_blocks(count, FINISH_THREADS);
  const unsigned most = FINISH_BLOCKS;
  const unsigned blocks = needed < most ? needed : most;
  finish_kernel<<<blocks, FINISH_THREADS, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->sums, count, fixed, *static_cast<const cuda_state *>(cvt->state), gradient, value);
  return cvtm_cuda_launched(cvt->device, "finish_kernel");
}

cvtm_status lloyd_cuda(cvtm_cvt *cvt, double *sites, int64_t count, int64_t fixed) {
  if (fixed >= count) return CVTM_OK;
  lloyd_kernel<<<cvtm_cuda_blocks(count - fixed, 256), 256, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->sums, cvt->domain, count, fixed, sites);
  return cvtm_cuda_launched(cvt->device, "lloyd_kernel");
}

}  // namespace

extern "C" const cvtm_cvt_table cvtm_cvt_table_cuda = {
    create_state_cuda, destroy_state_cuda, cell_sums_cuda, pixel_keys_cuda,
    pixel_sums_cuda,   finish_cuda,        lloyd_cuda,
};
