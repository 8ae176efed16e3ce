/* For .cu files only: device functions that kernels of several rooms share. */
#ifndef CVTMESH_BASE_CUDA_UTILS_H
#define CVTMESH_BASE_CUDA_UTILS_H

#include <stdint.h>

/* A kernel of a one-dimensional grid of any size takes element cvtm_first_thread() and every
 * cvtm_thread_count()-th one after it. */
static __device__ inline int64_t cvtm_first_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
static __device__ inline int64_t cvtm_thread_count() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

/* The sum over the 32 lanes of a warp, in lane 0. Order: lane k adds that of lane k + 16, then of
 * k + 8, k + 4, k + 2, k + 1. All lanes call. */
static __device__ inline double cvtm_warp_sum(double value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xFFFFFFFFu, value, offset);
  }
  return value;
}

/* The sum over a block of THREADS threads, in thread 0; 0 in the others. Order: the sum of each
 * warp, then these from the first warp to the last. All threads call. */
template <int THREADS>
static __device__ double cvtm_block_sum(double value) {
  __shared__ double sums[THREADS / 32];
  value = cvtm_warp_sum(value);
  __syncthreads(); /* an earlier call has read its sums */
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x != 0) return 0.0;
  for (int w = 1; w < THREADS / 32; ++w) value += sums[w];
  return value;
}

/* True in all threads of the block that calls this last; it sees what all other blocks wrote before
 * their call. *ended (0 before the kernel) is 0 afterwards. One call per block of a one-dimensional
 * grid. */
static __device__ inline bool cvtm_last_block(int32_t *ended) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    unsigned *const counter = reinterpret_cast<unsigned *>(ended);
    last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1; /* wraps to 0 */
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

#endif
