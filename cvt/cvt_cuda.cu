/* The exact energy in three kernels. cut: one thread per site computes its cell in
 * local memory and stores it if it is small. sum: eight lanes per site integrate the
 * stored cells. large: a block per site does the rest, cells of many corners or pixels, with room
 * for CVTM_CVT_MAX_CORNERS corners. All sums have a fixed order. */
#include "base/cuda_check.h"
#include "cvt/cvt_kernels.h"

#include <new>

namespace {

enum {
  CUT_THREADS = 128,
  CORNERS = 20,  /* of a cell that is stored */
  SUM_LANES = 8, /* per site */
  SUM_THREADS = 128,
  LARGE_THREADS = 256,
  LARGE_BLOCKS = 264, /* at once; each has a polygon in scratch */
  PIXEL_THREADS = 128,
};
const double large_area = 1 << 15; /* pixels from which a block sums a cell */

/* count: corners of each cell, by sorted place; x, y: corner k of place p at k * stride + p.
 * list: places left to the third kernel, *listed of them, in no particular order. */
struct cuda_state {
  int64_t stride;
  int32_t *count;
  double *x, *y;
  int32_t *list;
  int32_t *listed;
  double *large_x, *large_y;
  int32_t *large_neighbor;
};

__device__ double box_area(const cvtm_cell &cell) {
  double x0 = cell.x[0], x1 = x0, y0 = cell.y[0], y1 = y0;
  for (int k = 1; k < cell.count; ++k) {
    x0 = fmin(x0, cell.x[k]);
    x1 = fmax(x1, cell.x[k]);
    y0 = fmin(y0, cell.y[k]);
    y1 = fmax(y1, cell.y[k]);
  }
  return (x1 - x0) * (y1 - y0);
}

__global__ void __launch_bounds__(CUT_THREADS)
    cut_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cuda_state state) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t place = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       place < tree.count; place += step) {
    double x[CVTM_POLYGON_CAPACITY], y[CVTM_POLYGON_CAPACITY];
    int32_t neighbor[CVTM_POLYGON_CAPACITY];
    cvtm_cell cell = {0, CVTM_POLYGON_CAPACITY, x, y, neighbor};
    const bool finite =
        isfinite(tree.position[2 * place]) && isfinite(tree.position[2 * place + 1]);
    const bool done = finite && cvtm_cell_compute(&tree, domain, place, &cell) == CVTM_CELL_DONE;
    if (!done || cell.count > CORNERS || (cell.count > 0 && box_area(cell) > large_area)) {
      state.count[place] = -1;
      state.list[atomicAdd(state.listed, 1)] = static_cast<int32_t>(place);
      continue;
    }
    state.count[place] = cell.count;
    for (int k = 0; k < cell.count; ++k) {
      state.x[k * state.stride + place] = x[k];
      state.y[k * state.stride + place] = y[k];
    }
  }
}

__device__ double lanes_sum(double v, unsigned mask) {
  for (int offset = SUM_LANES / 2; offset > 0; offset /= 2)
    v += __shfl_down_sync(mask, v, offset, SUM_LANES);
  return v;
}

__global__ void __launch_bounds__(SUM_THREADS)
    sum_kernel(cvtm_site_tree_view tree, cvtm_density_view density, cuda_state state,
               cvtm_cell_sums *sums) {
  enum { GROUPS = SUM_THREADS / SUM_LANES };
  __shared__ double x[GROUPS][CORNERS], y[GROUPS][CORNERS];
  const int group = threadIdx.x / SUM_LANES, lane = threadIdx.x % SUM_LANES;
  const unsigned mask = ((1u << SUM_LANES) - 1) << (threadIdx.x % 32 / SUM_LANES * SUM_LANES);
  const int64_t step = static_cast<int64_t>(gridDim.x) * GROUPS;
  for (int64_t place = static_cast<int64_t>(blockIdx.x) * GROUPS + group; place < tree.count;
       place += step) {
    const int32_t corners = state.count[place];
    if (corners < 0) continue;
    for (int k = lane; k < corners; k += SUM_LANES) {
      x[group][k] = state.x[k * state.stride + place];
      y[group][k] = state.y[k * state.stride + place];
    }
    __syncwarp(mask);
    const cvtm_cell_lane share = {lane, SUM_LANES, 0, 1};
    cvtm_cell_sums part = {0, 0, 0, 0};
    cvtm_cell_integrate(&density, tree.position[2 * place], tree.position[2 * place + 1], corners,
                        x[group], y[group], &share, &part);
    __syncwarp(mask);
    part.mass = lanes_sum(part.mass, mask);
    part.x = lanes_sum(part.x, mask);
    part.y = lanes_sum(part.y, mask);
    part.second = lanes_sum(part.second, mask);
    if (lane == 0) sums[tree.index[place]] = part;
  }
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

__global__ void __launch_bounds__(LARGE_THREADS)
    large_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                 cuda_state state, cvtm_cell_sums *sums, int *failed) {
  __shared__ cvtm_cell_sums part[LARGE_THREADS];
  __shared__ int32_t corners;
  const int64_t base = static_cast<int64_t>(blockIdx.x) * CVTM_CVT_MAX_CORNERS;
  double *x = state.large_x + base, *y = state.large_y + base;
  const int32_t listed = *state.listed;
  for (int32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const int64_t place = state.list[entry];
    const double sx = tree.position[2 * place], sy = tree.position[2 * place + 1];
    if (threadIdx.x == 0) {
      cvtm_cell cell = {0, CVTM_CVT_MAX_CORNERS, x, y, state.large_neighbor + base};
      if (!isfinite(sx) || !isfinite(sy)) {
        corners = -1;
      } else if (cvtm_cell_compute(&tree, domain, place, &cell) == CVTM_CELL_DONE) {
        corners = cell.count;
      } else {
        corners = -1;
        *failed = 1;
      }
    }
    __syncthreads(); /* also makes x and y of thread 0 visible to the block */
    cvtm_cell_sums mine = {0, 0, 0, 0};
    const cvtm_cell_lane share = {static_cast<int32_t>(threadIdx.x / 32), LARGE_THREADS / 32,
                                  static_cast<int32_t>(threadIdx.x % 32), 32};
    if (corners > 0) cvtm_cell_integrate(&density, sx, sy, corners, x, y, &share, &mine);
    part[threadIdx.x] = mine;
    const cvtm_cell_sums all = block_sum(part, LARGE_THREADS);
    if (threadIdx.x == 0) {
      const cvtm_cell_sums none = {NAN, NAN, NAN, NAN};
      sums[tree.index[place]] = corners < 0 ? none : all;
    }
    __syncthreads();
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
  void *arrays[] = {state->count,  state->x,       state->y,       state->list,
                    state->listed, state->large_x, state->large_y, state->large_neighbor};
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
  const int64_t n = cvt->capacity;
  const int64_t large = static_cast<int64_t>(LARGE_BLOCKS) * CVTM_CVT_MAX_CORNERS;
  state->stride = n;
  cvtm_status status = allocate(cvt, n, &state->count);
  if (status == CVTM_OK) status = allocate(cvt, n * CORNERS, &state->x);
  if (status == CVTM_OK) status = allocate(cvt, n * CORNERS, &state->y);
  if (status == CVTM_OK) status = allocate(cvt, n, &state->list);
  if (status == CVTM_OK) status = allocate(cvt, 1, &state->listed);
  if (status == CVTM_OK) status = allocate(cvt, large, &state->large_x);
  if (status == CVTM_OK) status = allocate(cvt, large, &state->large_y);
  if (status == CVTM_OK) status = allocate(cvt, large, &state->large_neighbor);
  if (status != CVTM_OK) destroy_state_cuda(cvt);
  return status;
}

cvtm_status exact_sums_cuda(cvtm_cvt *cvt, int64_t count) {
  cvtm_device *device = cvt->device;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const cuda_state state = *static_cast<const cuda_state *>(cvt->state);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  CVTM_CUDA_TRY(device, cudaMemsetAsync(state.listed, 0, sizeof *state.listed, stream));
  cut_kernel<<<cvtm_cuda_blocks(count, CUT_THREADS), CUT_THREADS, 0, stream>>>(tree, cvt->domain,
                                                                               state);
  cvtm_status status = cvtm_cuda_launched(device, "cut_kernel");
  if (status != CVTM_OK) return status;
  sum_kernel<<<cvtm_cuda_blocks(count, SUM_THREADS / SUM_LANES), SUM_THREADS, 0, stream>>>(
      tree, cvt->density, state, cvt->sums);
  status = cvtm_cuda_launched(device, "sum_kernel");
  if (status != CVTM_OK) return status;
  large_kernel<<<LARGE_BLOCKS, LARGE_THREADS, 0, stream>>>(tree, cvt->domain, cvt->density, state,
                                                           cvt->sums, cvt->failed);
  return cvtm_cuda_launched(device, "large_kernel");
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
    create_state_cuda, destroy_state_cuda, exact_sums_cuda, pixel_keys_cuda,
    pixel_sums_cuda,   gradient_cuda,      lloyd_cuda,
};
