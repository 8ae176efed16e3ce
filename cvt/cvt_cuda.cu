/* Sums over cells in up to three kernels. cells: a lane cuts out each cell the quick way, then
 * the warp shares out the pixel rows of all its cells evenly. large: a block per cell
 * that the quick way left, or that has very many rows. huge: all blocks together for each
 * cell of a good part of the image. All sums have a fixed order. */
#include "base/cuda_check.h"
#include "cvt/cvt_kernels.h"

#include <new>

namespace {

enum {
  WARP = 32,
  WARPS = 4,    /* of a block of the first kernel */
  CORNERS = 14, /* of a cell there */
  SMALL_ROWS = 512,
  LARGE_THREADS = 128,
  LARGE_BLOCKS = 264, /* at once; each has a polygon in scratch */
  HUGE_AREA = 1 << 20,
  PIXEL_THREADS = 128,
};

/* list: places left to the large kernel, *listed of them, in no particular order; huge: of those,
 * the places left to the huge kernel, and each block's part of their sums. */
struct cuda_state {
  int32_t *listed; /* and the number of huge cells behind it */
  int32_t *list, *huge;
  cvtm_cell_sums *part; /* LARGE_BLOCKS per huge cell */
  double *corners;      /* x and y of a cell per block */
};

/* What one warp works on: CELLS neighbouring cells. */
template <int CELLS>
struct warp_memory {
  double x[CORNERS * CELLS], y[CORNERS * CELLS], doubt[CELLS];
  union {
    uint64_t entry[CVTM_CELL_LIST * CELLS];
    cvtm_cell_sums part[2 * WARP];
  };
  int32_t count[CELLS];
  int32_t row[CELLS + 1]; /* rows of the cells before */
};

/* Cuts out the cell; the number of its rows, 0 if it is left to the large kernel. */
template <int CELLS>
__device__ int32_t cut_cell(const cvtm_site_tree_view &tree, cvtm_domain domain,
                            const cvtm_density_view &density, const cuda_state &state,
                            int64_t place, int lane, warp_memory<CELLS> *memory) {
  cvtm_cell cell = {0, CORNERS, CELLS, memory->x + lane, memory->y + lane, 0};
  cvtm_cell_list list = {0, CELLS, 0, memory->entry + lane};
  const double sx = tree.position[2 * place], sy = tree.position[2 * place + 1];
  const bool quick = isfinite(sx) && isfinite(sy) &&
                     cvtm_cell_quick(&tree, domain, place, &list, &cell) == CVTM_CELL_DONE;
  memory->count[lane] = cell.count;
  if (quick && cell.count < 3) return 0;
  cvtm_cell_rows rows;
  if (quick) {
    cvtm_cell_begin_rows(&density, sx, sy, &cell, &rows);
    memory->doubt[lane] = cvtm_cell_doubt(domain, &cell);
  }
  if (quick && rows.last - rows.first < SMALL_ROWS) return rows.last - rows.first + 1;
  state.list[atomicAdd(state.listed, 1)] = static_cast<int32_t>(place);
  memory->count[lane] = -1;
  return 0;
}

template <bool PIXEL>
__device__ void add_row(const cvtm_site_tree_view &tree, cvtm_domain domain,
                        const cvtm_density_view &density, int64_t place, const cvtm_cell &cell,
                        double doubt, cvtm_cell_rows *rows, int32_t j, cvtm_cell_sums *sums) {
  if (PIXEL)
    cvtm_cell_add_centres(&tree, domain, &density, place, &cell, doubt, rows, j, sums);
  else
    cvtm_cell_add_row(&density, &cell, rows, j, sums);
}

template <int CELLS, bool PIXEL>
__global__ void __launch_bounds__(WARPS *WARP, 4)
    cells_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                 cuda_state state, cvtm_cell_sums *sums) {
  extern __shared__ __align__(16) unsigned char shared[];
  warp_memory<CELLS> *memory = reinterpret_cast<warp_memory<CELLS> *>(shared) + threadIdx.x / WARP;
  const int lane = threadIdx.x % WARP;
  const unsigned all = 0xFFFFFFFFu;
  const int64_t base = (static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP) * CELLS;
  if (base >= tree.count) return; /* whole warps */

  int32_t before = 0;
  if (lane < CELLS && base + lane < tree.count)
    before = cut_cell<CELLS>(tree, domain, density, state, base + lane, lane, memory);
  else if (lane < CELLS)
    memory->count[lane] = -1;
  for (int offset = 1; offset < CELLS; offset *= 2) {
    const int32_t other = __shfl_up_sync(all, before, offset);
    if (lane >= offset) before += other;
  }
  if (lane < CELLS) memory->row[lane + 1] = before;
  if (lane == 0) memory->row[0] = 0;
  __syncwarp();

  /* Lane l takes rows l * share .. ; its part of cell c goes to slot l + c, which is its alone. */
  const int32_t total = memory->row[CELLS], share = (total + WARP - 1) / WARP;
  int32_t row = lane * share;
  const int32_t end = row + share < total ? row + share : total;
  if (row < end) {
    int c = 0;
    for (int step = CELLS / 2; step > 0; step /= 2)
      if (memory->row[c + step] <= row) c += step;
    cvtm_cell cell = {0, CORNERS, CELLS, memory->x, memory->y, 0};
    cvtm_cell_rows rows;
    cvtm_cell_sums mine = {0, 0, 0, 0};
    int fresh = 1;
    for (; row < end; ++row) {
      if (row == memory->row[c + 1]) {
        memory->part[lane + c] = mine;
        mine.mass = mine.x = mine.y = mine.second = 0;
        while (row == memory->row[c + 1]) ++c;
        fresh = 1;
      }
      if (fresh) {
        cell.count = memory->count[c];
        cell.x = memory->x + c;
        cell.y = memory->y + c;
        cvtm_cell_begin_rows(&density, tree.position[2 * (base + c)],
                             tree.position[2 * (base + c) + 1], &cell, &rows);
        fresh = 0;
      }
      add_row<PIXEL>(tree, domain, density, base + c, cell, memory->doubt[c], &rows,
                     rows.first + (row - memory->row[c]), &mine);
    }
    memory->part[lane + c] = mine;
  }
  __syncwarp();
  if (lane >= CELLS || memory->count[lane] < 0) return;
  cvtm_cell_sums cell_sums = {0, 0, 0, 0};
  if (memory->row[lane] < memory->row[lane + 1]) {
    const int32_t last = (memory->row[lane + 1] - 1) / share;
    for (int32_t l = memory->row[lane] / share; l <= last; ++l) {
      const cvtm_cell_sums part = memory->part[l + lane];
      cell_sums.mass += part.mass;
      cell_sums.x += part.x;
      cell_sums.y += part.y;
      cell_sums.second += part.second;
    }
  }
  sums[tree.index[base + lane]] = cell_sums;
}

/* Adds up the parts of a block's threads; the result is thread 0's. */
__device__ cvtm_cell_sums block_sum(cvtm_cell_sums *part, int threads) {
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half)) {
      cvtm_cell_sums &a = part[threadIdx.x];
      const cvtm_cell_sums &b = part[threadIdx.x + half];
      a.mass += b.mass;
      a.x += b.x;
      a.y += b.y;
      a.second += b.second;
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
  if (cell.count >= 3) {
    cvtm_cell_rows rows;
    cvtm_cell_begin_rows(&density, tree.position[2 * place], tree.position[2 * place + 1], &cell,
                         &rows);
    const double doubt = cvtm_cell_doubt(domain, &cell);
    for (int32_t j = rows.first + block * LARGE_THREADS + static_cast<int32_t>(threadIdx.x);
         j <= rows.last; j += blocks * LARGE_THREADS)
      add_row<PIXEL>(tree, domain, density, place, cell, doubt, &rows, j, &mine);
  }
  part[threadIdx.x] = mine;
  return block_sum(part, LARGE_THREADS);
}

/* Thread 0 cuts out a cell the other way; all threads have it then. */
__device__ void block_cut(const cvtm_site_tree_view &tree, cvtm_domain domain, int64_t place,
                          cvtm_cell *cell, cvtm_cell *shared, int *failed) {
  __syncthreads();
  if (threadIdx.x == 0) {
    cell->count = -1;
    if (isfinite(tree.position[2 * place]) && isfinite(tree.position[2 * place + 1]) &&
        cvtm_cell_compute(&tree, domain, place, cell) != CVTM_CELL_DONE) {
      cell->count = -1;
      *failed = 1;
    }
    *shared = *cell;
  }
  __syncthreads();
  *cell = *shared;
}

template <bool PIXEL>
__global__ void __launch_bounds__(LARGE_THREADS)
    large_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                 cuda_state state, cvtm_cell_sums *sums, int *failed) {
  __shared__ cvtm_cell_sums part[LARGE_THREADS];
  __shared__ cvtm_cell shared;
  double *x = state.corners + static_cast<int64_t>(blockIdx.x) * 2 * CVTM_CVT_MAX_CORNERS;
  cvtm_cell cell = {0, CVTM_CVT_MAX_CORNERS, 1, x, x + CVTM_CVT_MAX_CORNERS, 0};
  const int32_t listed = *state.listed;
  for (int32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const int64_t place = state.list[entry];
    block_cut(tree, domain, place, &cell, &shared, failed);
    if (cell.count > 0 && cell_area(cell) > HUGE_AREA) {
      if (threadIdx.x == 0)
        state.huge[atomicAdd(state.listed + 1, 1)] = static_cast<int32_t>(place);
      continue;
    }
    cvtm_cell_sums all = share_sum<PIXEL>(tree, domain, density, place, cell, 0, 1, part);
    if (cell.count < 0) all.mass = all.x = all.y = all.second = NAN;
    if (threadIdx.x == 0) sums[tree.index[place]] = all;
  }
}

template <bool PIXEL>
__global__ void __launch_bounds__(LARGE_THREADS)
    huge_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                cuda_state state, int *failed) {
  __shared__ cvtm_cell_sums part[LARGE_THREADS];
  __shared__ cvtm_cell shared;
  double *x = state.corners + static_cast<int64_t>(blockIdx.x) * 2 * CVTM_CVT_MAX_CORNERS;
  cvtm_cell cell = {0, CVTM_CVT_MAX_CORNERS, 1, x, x + CVTM_CVT_MAX_CORNERS, 0};
  const int32_t huge = state.listed[1];
  for (int32_t entry = 0; entry < huge; ++entry) {
    const int64_t place = state.huge[entry];
    block_cut(tree, domain, place, &cell, &shared, failed);
    const cvtm_cell_sums mine = share_sum<PIXEL>(tree, domain, density, place, cell,
                                                 static_cast<int>(blockIdx.x), LARGE_BLOCKS, part);
    if (threadIdx.x == 0) state.part[entry * LARGE_BLOCKS + blockIdx.x] = mine;
  }
}

__global__ void __launch_bounds__(WARP)
    join_kernel(cvtm_site_tree_view tree, cuda_state state, cvtm_cell_sums *sums) {
  const int32_t huge = state.listed[1];
  for (int32_t entry = threadIdx.x; entry < huge; entry += WARP) {
    cvtm_cell_sums all = {0, 0, 0, 0};
    for (int b = 0; b < LARGE_BLOCKS; ++b) {
      const cvtm_cell_sums &part = state.part[entry * LARGE_BLOCKS + b];
      all.mass += part.mass;
      all.x += part.x;
      all.y += part.y;
      all.second += part.second;
    }
    sums[tree.index[state.huge[entry]]] = all;
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

__global__ void gradient_kernel(const cvtm_cell_sums *sums, int64_t count, int64_t fixed,
                                double *second, double *distance, double *gradient) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    cvtm_cvt_finish_site(&sums[i], i, fixed, second, distance, gradient);
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
  void *arrays[] = {state->listed, state->list, state->huge, state->part, state->corners};
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
  cvtm_status status = allocate(cvt, 2, &state->listed);
  if (status == CVTM_OK) status = allocate(cvt, cvt->capacity, &state->list);
  if (status == CVTM_OK) status = allocate(cvt, huge, &state->huge);
  if (status == CVTM_OK) status = allocate(cvt, huge * LARGE_BLOCKS, &state->part);
  if (status == CVTM_OK)
    status = allocate(cvt, static_cast<int64_t>(LARGE_BLOCKS) * 2 * CVTM_CVT_MAX_CORNERS,
                      &state->corners);
  if (status != CVTM_OK) destroy_state_cuda(cvt);
  return status;
}

template <int CELLS, bool PIXEL>
cvtm_status launch_cells(cvtm_cvt *cvt, const cvtm_site_tree_view &tree, const cuda_state &state) {
  const int bytes = WARPS * sizeof(warp_memory<CELLS>);
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
  cvtm_status status = cvtm_device_fill(device, state.listed, 0, 2 * sizeof *state.listed);
  if (status != CVTM_OK) return status;
  const int cells = count < 8000 ? 4 : count < 30000 ? 8 : 32; /* enough warps for the device */
  if (cells == 4)
    status = launch_cells<4, PIXEL>(cvt, tree, state);
  else if (cells == 8)
    status = launch_cells<8, PIXEL>(cvt, tree, state);
  else if (cells == 16)
    status = launch_cells<16, PIXEL>(cvt, tree, state);
  else
    status = launch_cells<32, PIXEL>(cvt, tree, state);
  if (status == CVTM_OK) status = cvtm_site_tree_bound(cvt->tree, state.listed);
  if (status != CVTM_OK) return status;
  large_kernel<PIXEL><<<LARGE_BLOCKS, LARGE_THREADS, 0, stream>>>(tree, cvt->domain, cvt->density,
                                                                  state, cvt->sums, cvt->failed);
  status = cvtm_cuda_launched(device, "large_kernel");
  if (status != CVTM_OK) return status;
  huge_kernel<PIXEL><<<LARGE_BLOCKS, LARGE_THREADS, 0, stream>>>(tree, cvt->domain, cvt->density,
                                                                 state, cvt->failed);
  status = cvtm_cuda_launched(device, "huge_kernel");
  if (status != CVTM_OK) return status;
  join_kernel<<<1, WARP, 0, stream>>>(tree, state, cvt->sums);
  return cvtm_cuda_launched(device, "join_kernel");
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

cvtm_status gradient_cuda(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *gradient) {
  gradient_kernel<<<cvtm_cuda_blocks(count, 256), 256, 0, cvtm_cuda_stream(cvt->device)>>>(
      cvt->sums, count, fixed, cvt->second, cvt->distance, gradient);
  return cvtm_cuda_launched(cvt->device, "gradient_kernel");
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
    pixel_sums_cuda,   gradient_cuda,      lloyd_cuda,
};
