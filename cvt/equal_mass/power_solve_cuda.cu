/* Two kernels: figures_kernel computes the cvtm_power_figures of a diagram, and solve_kernel, a
 * cooperative kernel, solves the system of the diagram's couplings by conjugate gradients with
 * V-cycles. All sums have a fixed order. */
#include "base/cuda_utils.h"
#include "cvt/equal_mass/power_cuda.h"

#include <cooperative_groups.h>

namespace {

enum {
  WARP = 32,
  THREADS = 512,
  BLOCKS = CVTM_POWER_PARTS,
  LEAST_BLOCKS = 16 /* the least number of blocks of solve_kernel, so that the coarsest level has
                     * enough warps */
};

/* --- reductions ---------------------------------------------------------------------------- */

struct sum_of {
  __device__ static double join(double a, double b) { return a + b; }
};
struct largest_of {
  __device__ static double join(double a, double b) { return cvtm_cvt_larger(a, b); }
};

/* Joins the values of a warp's lanes; the result is in lane 0. */
template <typename Op>
__device__ double join_warp(double value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    value = Op::join(value, __shfl_down_sync(0xFFFFFFFFu, value, offset));
  return value;
}

/* Joins the values of a block's threads; all threads get the result. For largest_of no value may be
 * negative. */
template <typename Op>
__device__ double join_block(double value, double *memory) {
  const unsigned lane = threadIdx.x % WARP;
  value = join_warp<Op>(value);
  if (lane == 0) memory[threadIdx.x / WARP] = value;
  __syncthreads();
  value = join_warp<Op>(lane < THREADS / WARP ? memory[lane] : 0);
  __syncthreads();
  return __shfl_sync(0xFFFFFFFFu, value, 0);
}

/* Joins the parts of figure f of all blocks. */
template <typename Op>
__device__ double join_parts(const double *part, int f, double *memory) {
  double value = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
    value = Op::join(value, part[f * BLOCKS + b]);
  return join_block<Op>(value, memory);
}

__global__ void __launch_bounds__(THREADS)
    figures_kernel(cvtm_power power, const cvtm_cell_moments *sums, const double *weight,
                   cvtm_power_state_cuda state) {
  __shared__ double memory[THREADS / WARP];
  double dual = 0, energy = 0, deviation = 0, square = 0, empty = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < power.count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const double deficit = power.target - sums[i].mass;
    power.deficit[i] = deficit;
    dual += sums[i].second + weight[i] * deficit;
    energy += sums[i].second;
    deviation = cvtm_cvt_larger(deviation, fabs(deficit));
    square += deficit * deficit;
    empty += power.empty[i];
  }
  dual = join_block<sum_of>(dual, memory);
  energy = join_block<sum_of>(energy, memory);
  deviation = join_block<largest_of>(deviation, memory);
  square = join_block<sum_of>(square, memory);
  empty = join_block<sum_of>(empty, memory);
  if (threadIdx.x == 0) {
    double *part = state.part + blockIdx.x;
    part[0] = dual;
    part[BLOCKS] = energy;
    part[2 * BLOCKS] = deviation;
    part[3 * BLOCKS] = square;
    part[4 * BLOCKS] = empty;
  }
  if (!cvtm_last_block(state.counter + CVTM_POWER_ENDED)) return;
  dual = join_parts<sum_of>(state.part, 0, memory);
  energy = join_parts<sum_of>(state.part, 1, memory);
  deviation = join_parts<largest_of>(state.part, 2, memory);
  square = join_parts<sum_of>(state.part, 3, memory);
  empty = join_parts<sum_of>(state.part, 4, memory);
  if (threadIdx.x != 0) return;
  power.figures[0] = dual;
  power.figures[1] = energy;
  power.figures[2] = deviation;
  power.figures[3] = square;
  power.figures[4] = empty;
  power.figures[5] = *power.edges;
}

/* --- conjugate gradients -------------------------------------------------------------------- */

/* Returns the sum of the values of all threads of the grid in every thread. slot: 0 and 1 in turn
 * from call to call, because other thread blocks may still read the parts of the call before. */
__device__ double grid_sum(double value, int slot, const cvtm_power_state_cuda &state,
                           double *memory) {
  const double block_sum = join_block<sum_of>(value, memory);
  double *part = state.part + slot * BLOCKS;
  if (threadIdx.x == 0) part[blockIdx.x] = block_sum;
  cooperative_groups::this_grid().sync();
  double total = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) total += part[b];
  return join_block<sum_of>(total, memory);
}

/* Does the work of cvtm_power_apply_row for x_i = own and x_j = z_j + beta * last_j, where z is the
 * preconditioned residual. */
__device__ double multiply_next(const cvtm_power &power, const double *last, double beta,
                                double own, int64_t i) {
  const int32_t first = power.first[i], end = first + power.degree[i];
  double sum = 0;
  for (int32_t e = first; e < end; ++e) {
    const int32_t j = power.neighbor[e];
    sum += power.coupling[e] * (own - (power.preconditioned[j] + beta * last[j]));
  }
  return sum;
}

/* The phases of a V-cycle, for the rows begin, begin + step, ... of level l. */
__device__ void set_residuals(const cvtm_power_hierarchy &h, int32_t l, int64_t begin,
                              int64_t step) {
  for (int64_t i = begin; i < h.level[l].matrix.count; i += step)
    cvtm_power_set_residual(&h.level[l], i);
}

__device__ void restrict_to(const cvtm_power_hierarchy &h, int32_t l, int64_t begin, int64_t step) {
  for (int64_t i = begin; i < h.level[l].matrix.count; i += step)
    cvtm_power_restrict(&h.level[l - 1], &h.level[l], i);
}

__device__ void correct_level(const cvtm_power_hierarchy &h, int32_t l, int64_t begin,
                              int64_t step) {
  for (int64_t i = begin; i < h.level[l].matrix.count; i += step)
    cvtm_power_correct_level(&h.level[l], &h.level[l - 1], i);
}

/* Solves the coarsest level, one warp per row. */
__device__ void solve_coarsest(const cvtm_power_hierarchy &h, int64_t begin, int64_t step) {
  const cvtm_power_level &level = h.level[h.levels - 1];
  const int64_t n = level.matrix.count;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  for (int64_t i = begin / WARP; i < n; i += step / WARP) {
    double sum = 0;
    for (int64_t j = lane; j < n; j += WARP) sum += h.inverse[i * n + j] * level.right[j];
    sum = cvtm_warp_sum(sum);
    if (lane == 0) cvtm_power_set_correction(&level, &level - 1, i, sum);
  }
}

/* Does a V-cycle; all threads have called cvtm_power_begin_cycle and passed a barrier. Returns this
 * thread's part of r'z. */
__device__ double precondition(const cvtm_power_hierarchy &h, int64_t begin, int64_t step) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  int32_t l = 0;
  for (; l + 1 < h.levels; ++l) {
    set_residuals(h, l, begin, step);
    grid.sync();
    restrict_to(h, l + 1, begin, step);
    grid.sync();
  }
  if (h.inverse) {
    solve_coarsest(h, begin, step);
    grid.sync();
    --l;
  }
  for (; l > 0; --l) {
    correct_level(h, l, begin, step);
    grid.sync();
  }
  double sum = 0;
  for (int64_t i = begin; i < h.level[0].matrix.count; i += step) {
    cvtm_power_correct_level(&h.level[0], nullptr, i);
    sum += h.level[0].right[i] * h.level[0].correction[i];
  }
  return sum;
}

/* Does conjugate gradients, by all blocks of a cooperative grid. The thread of a row computes the
 * next direction in the row and in its neighbours while it multiplies, because other threads may
 * not have set the neighbours' entries yet. */
__global__ void __launch_bounds__(THREADS, 2)
    solve_kernel(const __grid_constant__ cvtm_power power, double tolerance, int32_t max_iterations,
                 cvtm_power_state_cuda state) {
  __shared__ double memory[THREADS / WARP];
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
  double *last = power.direction, *next = power.next_direction;
  double sum = 0;
  for (int64_t i = begin; i < power.count; i += step) sum += power.deficit[i];
  const double mean = grid_sum(sum, 1, state, memory) / static_cast<double>(power.count);
  for (int64_t i = begin; i < power.count; i += step) {
    power.step[i] = last[i] = 0;
    power.residual[i] = power.deficit[i] - mean;
    cvtm_power_begin_cycle(&power.hierarchy.level[0], i);
  }
  grid.sync();
  sum = precondition(power.hierarchy, begin, step);
  cvtm_cg cg = cvtm_cg_begin(grid_sum(sum, 0, state, memory), tolerance, max_iterations);
  while (cg.running) {
    sum = 0;
    for (int64_t i = begin; i < power.count; i += step) {
      next[i] = power.preconditioned[i] + cg.beta * last[i];
      power.product[i] = multiply_next(power, last, cg.beta, next[i], i);
      sum += next[i] * power.product[i];
    }
    cvtm_cg_set_alpha(&cg, grid_sum(sum, 1, state, memory));
    for (int64_t i = begin; i < power.count; i += step) {
      power.step[i] += cg.alpha * next[i];
      power.residual[i] -= cg.alpha * power.product[i];
      cvtm_power_begin_cycle(&power.hierarchy.level[0], i);
    }
    grid.sync();
    sum = precondition(power.hierarchy, begin, step);
    cvtm_cg_set_beta(&cg, grid_sum(sum, 0, state, memory));
    double *swap = last;
    last = next;
    next = swap;
  }
  if (begin == 0) *power.iterations = cg.iteration;
}

/* --- launchers ---------------------------------------------------------------------------- */

unsigned reduction_blocks(const cvtm_power *power) {
  const unsigned needed = cvtm_cuda_blocks(power->count, THREADS), most = BLOCKS;
  return needed < most ? needed : most;
}

}  // namespace

cvtm_status cvtm_power_figures_cuda(cvtm_power *power, const double *weight) {
  cvtm_device *device = power->cvt->device;
  figures_kernel<<<reduction_blocks(power), THREADS, 0, cvtm_cuda_stream(device)>>>(
      *power, power->cvt->moments, weight, cvtm_power_get_state_cuda(power));
  return cvtm_cuda_launched(device, "figures_kernel");
}

cvtm_status cvtm_power_solve_cuda(cvtm_power *power, double tolerance, int32_t max_iterations) {
  cvtm_device *device = power->cvt->device;
  cvtm_power_state_cuda state = cvtm_power_get_state_cuda(power);
  cvtm_power argument = *power;
  unsigned blocks = reduction_blocks(power), resident = 0;
  if (blocks < LEAST_BLOCKS) blocks = LEAST_BLOCKS;
  CVTM_TRY(cvtm_cuda_resident_blocks(device, solve_kernel, THREADS, &resident));
  if (blocks > resident) blocks = resident;
  void *arguments[] = {&argument, &tolerance, &max_iterations, &state};
  CVTM_CUDA_TRY(device, cudaLaunchCooperativeKernel(solve_kernel, dim3(blocks), dim3(THREADS),
                                                    arguments, 0, cvtm_cuda_stream(device)));
  return CVTM_OK;
}
