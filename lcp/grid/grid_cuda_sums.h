/* Inside grid_cuda.cu only: sums over all blocks in a fixed order. Every block leaves partial sums,
 * the last one to arrive adds them. */
#ifndef CVTMESH_LCP_GRID_GRID_CUDA_SUMS_H
#define CVTMESH_LCP_GRID_GRID_CUDA_SUMS_H

#include "lcp/grid/grid_kernels.h"
#include "lcp/launch_cuda.h"

namespace {

/* Blocks that leave partial sums: enough to fill any device several times. */
constexpr int64_t max_parts = 4096;

/* Sums (a maximum where is_max) over the block, in a fixed order; the result is thread 0's. */
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

/* True in all threads of the last block; its thread 0 then holds the sums over all blocks. */
template <int count>
__device__ bool reduce_grid(double (&value)[count], int maximum_at, double *partial,
                            cvtm_grid_state *state) {
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
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

} /* namespace */

#endif
