/* The Hessian: a warp for a few cells, of which each lane takes edges. Conjugate gradients in one
 * cooperative kernel: a row for each thread, two barriers of the grid for each product. */
#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "cvt/newton.h"
#include "voronoi/cell_by_tree_warp_cuda.h"
#include "voronoi/cell_warp_cuda.h"

#include <cooperative_groups.h>

namespace {

enum { CELLS = 8 /* of a warp, by hull construction */, THREADS = 128 };

/* --- the Hessian ------------------------------------------------------------------------------ */

/* Sets the row of a cell, whose edges the lanes k, k + APART, k + 2 APART ... of a warp share; lane
 * k ends it. `wanted` is false in lanes without a cell. All lanes call. */
template <int APART>
__device__ void set_row(const cvtm_hessian &h, const cvtm_hessian_cells &cells, int64_t place,
                        const cvtm_cell &cell, int lane, bool wanted) {
  const unsigned all = 0xFFFFFFFFu;
  const int32_t sides = wanted ? cell.count : 0;
  int32_t first = lane < APART && wanted ? atomicAdd(h.used, sides) : 0;
  first = __shfl_sync(all, first, lane % APART);
  const bool fits = static_cast<int64_t>(first) + sides <= h.capacity;
  double diagonal[3] = {0, 0, 0};
  for (int32_t k = lane / APART; fits && k < sides; k += CVTM_WARP / APART) {
    const int64_t at = static_cast<int64_t>(first) + k;
    h.neighbor[at] = cvtm_hessian_side(&cells, place, &cell, k, h.block + 4 * at, diagonal);
  }
  for (double &sum : diagonal)
    for (int offset = CVTM_WARP / 2; offset >= APART; offset /= 2)
      sum += __shfl_down_sync(all, sum, offset);
  if (lane >= APART || !wanted) return;
  const int64_t i = cells.tree.index[place];
  if (!fits) h.used[1] = 1;
  h.first[i] = first;
  h.degree[i] = fits ? sides : 0;
  cvtm_hessian_end_row(&h, &cells.moments[i], i, diagonal);
}

/* The cells that hull construction decides; lists the others. */
__global__ void __launch_bounds__(CVTM_WARP)
    rows_kernel(cvtm_hessian h, cvtm_hessian_cells cells, int32_t *deferred) {
  __shared__ cvtm_warp_cells<CELLS> memory;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS;
  const int64_t count = cells.tree.count, stride = static_cast<int64_t>(gridDim.x) * CELLS;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * CELLS; base < count; base += stride) {
    cvtm_cell cell = {0, CVTM_HULL_SIDES, CELLS, memory.x + c, memory.y + c, nullptr, nullptr, 0};
    const bool done = cvtm_warp_cells_by_hull(cells.tree, cells.domain, base, count, lane, 0,
                                              &memory.hulls, &cell);
    const bool inside = base + c < count;
    if (lane < CELLS && inside && !done)
      deferred[1 + atomicAdd(deferred, 1)] = static_cast<int32_t>(base + c);
    set_row<CELLS>(h, cells, base + c, cell, lane, inside && done);
    __syncwarp(); /* the next cells use the same memory */
  }
}

/* The listed cells, a warp for each. */
__global__ void __launch_bounds__(CVTM_WARP)
    listed_rows_kernel(cvtm_hessian h, cvtm_hessian_cells cells, const int32_t *deferred,
                       double *corners) {
  __shared__ cvtm_warp_queue queue;
  const int lane = static_cast<int>(threadIdx.x);
  const int32_t n = CVTM_PULL_CORNERS;
  double *own = corners + static_cast<int64_t>(blockIdx.x) * 4 * n;
  for (int32_t k = static_cast<int32_t>(blockIdx.x); k < deferred[0];
       k += static_cast<int32_t>(gridDim.x)) {
    const int64_t place = deferred[1 + k];
    cvtm_cell cell = {0, n, 1, own, own + n, own + 2 * n, own + 3 * n, 0};
    const bool done = cvtm_warp_compute_cell(&cells.tree, cells.domain, place, &queue, lane,
                                             &cell) == CVTM_CELL_DONE;
    if (!done) {
      h.used[1] = 1;
      cell.count = 0;
    }
    set_row<1>(h, cells, place, cell, lane, true);
    __syncwarp(); /* the next cell uses the same memory */
  }
}

cvtm_status assemble_cuda(cvtm_newton *newton) {
  cvtm_cvt *cvt = newton->cvt;
  const cvtm_hessian_cells cells = {cvtm_site_tree_get_view(cvt->tree), cvt->domain,
                                    cvt->density.value, cvt->moments};
  const cudaStream_t stream = cvtm_cuda_stream(cvt->device);
  cvtm_status status = cvtm_device_fill(cvt->device, newton->deferred, 0, sizeof(int32_t));
  if (status != CVTM_OK) return status;
  rows_kernel<<<cvtm_cuda_blocks(newton->count, CELLS), CVTM_WARP, 0, stream>>>(
      newton->hessian, cells, newton->deferred);
  status = cvtm_cuda_launched(cvt->device, "rows_kernel");
  if (status != CVTM_OK) return status;
  listed_rows_kernel<<<CVTM_PULL_BLOCKS, CVTM_WARP, 0, stream>>>(newton->hessian, cells,
                                                                 newton->deferred, newton->corners);
  return cvtm_cuda_launched(cvt->device, "listed_rows_kernel");
}

/* --- conjugate gradients -------------------------------------------------------------------- */

/* The sum of all threads' values, the same in every thread. `slot` alternates from call to call. */
__device__ double grid_sum(double value, int slot, double *part) {
  __shared__ double total;
  double *own = part + slot * CVTM_NEWTON_PARTS;
  value = cvtm_block_sum<THREADS>(value);
  if (threadIdx.x == 0) own[blockIdx.x] = value;
  cooperative_groups::this_grid().sync();
  value = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) value += own[b];
  value = cvtm_block_sum<THREADS>(value);
  if (threadIdx.x == 0) total = value;
  __syncthreads();
  return total; /* which the next call changes after a barrier */
}

__global__ void __launch_bounds__(THREADS)
    solve_kernel(const __grid_constant__ cvtm_newton n, double tolerance, int32_t max_products) {
  const int64_t begin = cvtm_first_thread(), step = cvtm_thread_count();
  double *last = n.direction, *next = n.next_direction;
  double sum = 0;
  for (int64_t i = begin; i < n.count; i += step) sum += cvtm_newton_begin_row(&n, i);
  cvtm_cg cg = cvtm_cg_begin(grid_sum(sum, 0, n.part), tolerance, max_products);
  while (cg.running) {
    sum = 0;
    for (int64_t i = begin; i < n.count; i += step)
      sum += cvtm_newton_multiply_row(&n, last, cg.beta, next, i);
    cvtm_newton_set_alpha(&cg, grid_sum(sum, 1, n.part));
    sum = 0;
    for (int64_t i = begin; i < n.count; i += step)
      sum += cvtm_newton_move_row(&n, next, cg.alpha, i);
    cvtm_cg_set_beta(&cg, grid_sum(sum, 0, n.part));
    double *swap = last;
    last = next;
    next = swap;
  }
  if (begin == 0) n.figures[CVTM_NEWTON_PRODUCTS] = cg.iteration;
}

__global__ void lengths_kernel(const __grid_constant__ cvtm_newton n,
                               const cvtm_cell_moments *moments) {
  for (int64_t i = cvtm_first_thread(); i < n.count; i += cvtm_thread_count())
    n.row[i] = cvtm_newton_row_length(&n, &moments[i], i);
}

__global__ void advance_kernel(const __grid_constant__ cvtm_newton n, cvtm_domain domain,
                               const double *sites, double length) {
  for (int64_t i = cvtm_first_thread(); i < n.count; i += cvtm_thread_count())
    cvtm_newton_advance_row(&n, domain, sites, length, i);
}

cvtm_status solve_cuda(cvtm_newton *newton, double tolerance, int32_t max_products) {
  cvtm_device *device = newton->cvt->device;
  unsigned blocks = cvtm_cuda_blocks(newton->count, THREADS), resident = 0;
  const cvtm_status status = cvtm_cuda_resident_blocks(device, solve_kernel, THREADS, &resident);
  if (status != CVTM_OK) return status;
  if (blocks > CVTM_NEWTON_PARTS) blocks = CVTM_NEWTON_PARTS;
  if (blocks > resident) blocks = resident;
  void *arguments[] = {newton, &tolerance, &max_products};
  CVTM_CUDA_TRY(device, cudaLaunchCooperativeKernel(solve_kernel, dim3(blocks), dim3(THREADS),
                                                    arguments, 0, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

cvtm_status lengths_cuda(cvtm_newton *newton) {
  cvtm_device *device = newton->cvt->device;
  lengths_kernel<<<cvtm_cuda_blocks(newton->count, THREADS), THREADS, 0,
                   cvtm_cuda_stream(device)>>>(*newton, newton->cvt->moments);
  return cvtm_cuda_launched(device, "lengths_kernel");
}

cvtm_status advance_cuda(cvtm_newton *newton, double length) {
  cvtm_cvt *cvt = newton->cvt;
  advance_kernel<<<cvtm_cuda_blocks(newton->count, THREADS), THREADS, 0,
                   cvtm_cuda_stream(cvt->device)>>>(*newton, cvt->domain, cvt->sites, length);
  return cvtm_cuda_launched(cvt->device, "advance_kernel");
}

}  // namespace

extern "C" const cvtm_newton_table cvtm_newton_cuda = {assemble_cuda, solve_cuda, lengths_cuda,
                                                       advance_cuda};
