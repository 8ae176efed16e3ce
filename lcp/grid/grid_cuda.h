/* For .cu files of lcp/grid only: loops over nodes, launches, sums over all blocks, and the phases
 * that several files use.
 *
 *   grid_cuda.cu         plain kernels for all phases, P'AP, the table that selects the kernels
 *   grid_march_cuda.cu   phases on the five-point problem: a warp for each strip of the grid
 *   grid_levels_cuda.cu  phases on coarse levels: a block for each tile or for all small levels */
#pragma once

#include "base/cuda_utils.h"
#include "lcp/grid/grid_node.h"
#include "lcp/launch_cuda.h"

#include <type_traits>

/* --- loops over nodes, by blocks of tile_x x tile_y threads --- */

enum { tile_x = 32, tile_y = 8 };

static inline dim3 tile_threads_xy() { return dim3(tile_x, tile_y); }

/* Calls work(i, j) for each node of a grid, with any number of blocks in x and y. */
template <typename Work>
static __device__ void for_nodes(int64_t width, int64_t height, Work work) {
  const int64_t first_x = blockIdx.x * static_cast<int64_t>(tile_x) + threadIdx.x;
  const int64_t first_y = blockIdx.y * static_cast<int64_t>(tile_y) + threadIdx.y;
  const int64_t step_x = static_cast<int64_t>(gridDim.x) * tile_x;
  const int64_t step_y = static_cast<int64_t>(gridDim.y) * tile_y;
  for (int64_t j = first_y; j < height; j += step_y)
    for (int64_t i = first_x; i < width; i += step_x) work(i, j);
}

/* The numbers of thread blocks in x and y for for_nodes. */
static inline dim3 blocks_for_nodes(int64_t width, int64_t height) {
  return dim3(cvtm_cuda_blocks(width, tile_x), cvtm_cuda_rows(height, tile_y));
}

static inline dim3 blocks_for_nodes(const cvtm_grid_top *top) {
  return blocks_for_nodes(top->shape->width, top->shape->height);
}

/* --- launches --- */

static inline cudaStream_t stream_of(const cvtm_grid_top *top) {
  return cvtm_cuda_stream(top->device);
}

/* The part of a phase that one launch computes: the thread blocks from `first` on, of all `count`
 * blocks of the phase. */
struct launch_part {
  int first, count;
  __device__ int block() const { return first + static_cast<int>(blockIdx.x); }
};

/* An argument of a node function. A problem is in device memory; its copy shows the compiler that
 * no store changes its pointers. */
template <typename T>
struct node_argument : row_argument<T> {};
template <>
struct node_argument<const cvtm_grid_problem *> {
  const cvtm_grid_problem copy;
  __device__ node_argument(const cvtm_grid_problem *problem) : copy(*problem) {}
  __device__ operator const cvtm_grid_problem *() const { return &copy; }
};

template <auto function, typename... Held>
__device__ void call_for_nodes(int64_t width, int64_t height, const Held &...held) {
  for_nodes(width, height, [&](int64_t i, int64_t j) { function(held..., i, j); });
}

template <auto function, int resident, typename... Arguments>
__global__ void __launch_bounds__(tile_x *tile_y, resident)
    nodes_kernel(int64_t width, int64_t height, const __grid_constant__ Arguments... arguments) {
  call_for_nodes<function>(width, height, node_argument<Arguments>{arguments}...);
}

/* The argument of a kernel: a level, which is in host memory, is passed by value. */
static inline cvtm_grid_level kernel_argument(const cvtm_grid_level *level) { return *level; }
static inline const cvtm_grid_problem *kernel_argument(cvtm_grid_problem *problem) {
  return problem;
}
template <typename T>
T kernel_argument(T value) {
  return value;
}

/* Calls function(arguments, i, j) for all nodes of a grid. resident: as in for_rows. */
template <auto function, int resident = 0, typename... Arguments>
cvtm_status launch_nodes(const cvtm_grid_top *top, const char *name, int64_t width, int64_t height,
                         Arguments... arguments) {
  nodes_kernel<function, resident>
      <<<blocks_for_nodes(width, height), tile_threads_xy(), 0, stream_of(top)>>>(
          width, height, kernel_argument(arguments)...);
  return cvtm_cuda_launched(top->device, name);
}

/* Launches kernel(arguments, launch_part), in several parts if the phase has more blocks than a
 * launch can have. A loop over blocks in the kernels would cost registers. */
template <typename... Parameters, typename... Arguments>
cvtm_status launch_phase(const cvtm_grid_top *top, const char *name, void (*kernel)(Parameters...),
                         int blocks, dim3 block, size_t shared, Arguments... arguments) {
  cvtm_status status = CVTM_OK;
  for (int first = 0; first < blocks && status == CVTM_OK;) {
    const unsigned count = cvtm_cuda_cap(blocks - first);
    status = launch_pdl(top->device, name, kernel, dim3(count), block, shared, arguments...,
                        launch_part{first, blocks});
    first += static_cast<int>(count);
  }
  return status;
}

/* Calls launch with std::true_type or std::false_type, for a template argument of a kernel. */
template <typename Launch>
void with_flag(bool flag, Launch launch) {
  flag ? launch(std::true_type()) : launch(std::false_type());
}

/* True if plain kernels replace the kernels with this name, or all kernels. */
static inline bool uses_plain(const char *name) {
  return cvtm_uses_plain(name) || cvtm_uses_plain("grid");
}

/* True if marches and tiles support the transfers: both directions must be halved. */
static inline bool is_specialised(const cvtm_grid_level *coarse) {
  return coarse->halved_x && coarse->halved_y;
}

/* --- sums over all blocks in a fixed order: every block stores its partial sums, and the last
 * block to store them adds all --- */

namespace {

/* The largest number of thread blocks of a for_nodes kernel that forms sums; enough to fill any
 * device. */
constexpr int64_t max_parts = 4096;

/* Sums over the block in a fixed order; thread 0 gets the result. value[maximum_at] is a maximum
 * instead of a sum (-1: none). */
template <int count>
__device__ void reduce_block(double (&value)[count], int maximum_at) {
  __shared__ double shared[count][32];
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int lane = thread & 31, warp = thread >> 5;
  const int warps = static_cast<int>(blockDim.x * blockDim.y + 31) / 32;
  for (int c = 0; c < count; ++c) {
    for (int step = 16; step > 0; step >>= 1) {
      const double other = __shfl_down_sync(0xffffffffU, value[c], step);
      if (c != maximum_at) {
        value[c] += other;
      } else if (!(other <= value[c])) {
        value[c] = other;
      }
    }
    if (lane == 0) shared[c][warp] = value[c];
  }
  __syncthreads();
  if (thread == 0) {
    for (int c = 0; c < count; ++c) {
      for (int w = 1; w < warps; ++w) {
        if (c != maximum_at) {
          value[c] += shared[c][w];
        } else if (!(shared[c][w] <= value[c])) {
          value[c] = shared[c][w];
        }
      }
    }
  }
  __syncthreads();
}

/* Sums over `blocks` thread blocks; the caller is block number `block`. All threads of all blocks
 * call once. Returns true in thread 0 of the last block to call, which has the sums. */
template <int count>
__device__ bool reduce_blocks(double (&value)[count], int maximum_at, double *partial,
                              cvtm_grid_state *state, unsigned block, unsigned blocks) {
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  reduce_block(value, maximum_at);
  if (thread == 0) {
    for (int c = 0; c < count; ++c) partial[block * count + c] = value[c];
    __threadfence();
    last = atomicAdd(&state->blocks_arrived, 1U) == blocks - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  for (int c = 0; c < count; ++c) value[c] = 0;
  for (unsigned b = static_cast<unsigned>(thread); b < blocks; b += blockDim.x * blockDim.y) {
    for (int c = 0; c < count; ++c) {
      const double other = __ldcg(partial + b * count + c);
      if (c != maximum_at) {
        value[c] += other;
      } else if (!(other <= value[c])) {
        value[c] = other;
      }
    }
  }
  reduce_block(value, maximum_at);
  if (thread == 0) state->blocks_arrived = 0;
  return true;
}

/* reduce_blocks over the blocks of one launch. */
template <int count>
__device__ bool reduce_grid(double (&value)[count], int maximum_at, double *partial,
                            cvtm_grid_state *state) {
  return reduce_blocks(value, maximum_at, partial, state, blockIdx.y * gridDim.x + blockIdx.x,
                       gridDim.x * gridDim.y);
}

/* Reduces norms over `blocks` blocks; the calling block is number `block`. See reduce_blocks. */
__device__ bool reduce_norms(cvtm_grid_norms *norms, double *partial, cvtm_grid_state *state,
                             unsigned block, unsigned blocks) {
  double sum[3] = {norms->squares, norms->rounding, norms->maximum};
  const bool is_last = reduce_blocks(sum, 2, partial, state, block, blocks);
  norms->squares = sum[0];
  norms->rounding = sum[1];
  norms->maximum = sum[2];
  return is_last;
}

} /* namespace */

/* e of coarse node (x, y). Beyond the grid e is constant at a Neumann boundary, and 0 otherwise. */
static __device__ inline double coarse_value(const cvtm_grid_level *c, int x, int y) {
  const int width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  const int i = x < 0 ? 0 : x < width ? x : width - 1, j = y < 0 ? 0 : y < height ? y : height - 1;
  return c->neumann || (i == x && j == y) ? c->e[j * c->width + i] : 0.0;
}

/* The purpose of a measurement of norms. */
enum cvtm_grid_measured { MEASURE_COLD_START, MEASURE_START, MEASURE_ITERATION };

static __device__ inline void enter_norms(const cvtm_grid_norms &norms, cvtm_grid_measured what,
                                          cvtm_grid_state *state, double *history) {
  if (what == MEASURE_COLD_START) {
    state->cold_norm = sqrt(norms.squares);
  } else {
    cvtm_grid_check(state, history, norms.squares, norms.maximum, norms.rounding,
                    what == MEASURE_ITERATION);
  }
}

/* Returns the address of the blocks' partial sums in top->partial. */
double *cvtm_grid_sums_of(const cvtm_grid_top *top);

/* --- grid_march_cuda.cu --- */

/* True for constant links without a mask; if the diagonal varies, the boundary must be Neumann. */
bool cvtm_grid_can_march(const cvtm_grid_problem *shape);
int64_t cvtm_grid_partial_doubles_cuda(int64_t width, int64_t height);
cvtm_status cvtm_grid_measure_march(const cvtm_grid_top *top, cvtm_grid_measured what);
cvtm_status cvtm_grid_pre_smooth_and_restrict_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse);
/* Only searches along the line; post_smooth_and_measure prolongs and corrects. */
cvtm_status cvtm_grid_line_search_march(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_post_smooth_and_measure_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse);

/* --- grid_levels_cuda.cu --- */

cvtm_status cvtm_grid_pre_smooth_and_restrict_tiles(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *level,
                                                    const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_prolong_and_post_smooth_tiles(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *level,
                                                    const cvtm_grid_level *coarse);
int cvtm_grid_is_tail_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                           int last);
cvtm_status cvtm_grid_tail_cycle_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                      int first, int last);
/* The last of levels first .. last for which the tail does not compute P'AP. */
int cvtm_grid_last_before_tail(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                               int last);
