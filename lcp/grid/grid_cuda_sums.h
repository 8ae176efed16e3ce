/* For .cu files of lcp/grid only: sums over all blocks in a fixed order. Every block stores partial
 * sums; the last block to do so adds them up. */
#ifndef CVTMESH_LCP_GRID_GRID_CUDA_SUMS_H
#define CVTMESH_LCP_GRID_GRID_CUDA_SUMS_H

#include "lcp/grid/grid_cuda.h"

namespace {

/* The most blocks of a kernel of for_nodes with sums: enough to fill any device several times. */
constexpr int64_t max_parts = 4096;

/* Sums over the block in a fixed order, in thread 0; value[maximum_at] is a maximum (-1: none is).
 */
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

/* Sums over `blocks` blocks, of which this is number `block`: in thread 0 of the last block to
 * call, for which the function returns true. All threads of all blocks call once. */
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

/* The same over the blocks of one launch, and of a phase's launches. */
template <int count>
__device__ bool reduce_grid(double (&value)[count], int maximum_at, double *partial,
                            cvtm_grid_state *state) {
  return reduce_blocks(value, maximum_at, partial, state, blockIdx.y * gridDim.x + blockIdx.x,
                       gridDim.x * gridDim.y);
}

template <int count>
__device__ bool reduce_grid(double (&value)[count], int maximum_at, double *partial,
                            cvtm_grid_state *state, const launch_part &part) {
  return reduce_blocks(value, maximum_at, partial, state, static_cast<unsigned>(part.block()),
                       static_cast<unsigned>(part.count));
}

} /* namespace */

#endif
