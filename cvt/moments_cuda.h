/* For .cu files only: sums of cvtm_cell_moments over lanes and blocks, in a fixed order. */
#ifndef CVTMESH_CVT_MOMENTS_CUDA_H
#define CVTMESH_CVT_MOMENTS_CUDA_H

#include "cvt/density_row.h"

/* Adds up the parts of the lanes k, k + CELLS, k + 2 CELLS ... of a warp; lane k < CELLS gets the
 * result. All lanes call. */
template <int CELLS>
static __device__ cvtm_cell_moments cvtm_moments_sum_lanes(cvtm_cell_moments part) {
  const unsigned all = 0xFFFFFFFFu;
  for (int offset = 16; offset >= CELLS; offset /= 2) {
    const cvtm_cell_moments other = {
        __shfl_down_sync(all, part.mass, offset), __shfl_down_sync(all, part.x, offset),
        __shfl_down_sync(all, part.y, offset), __shfl_down_sync(all, part.second, offset)};
    cvtm_cell_moments_add(&part, &other);
  }
  return part;
}

/* Adds up the parts of a block's threads, in shared memory, and returns the sum. threads: of the
 * block, a power of 2. All threads call. */
static __device__ inline cvtm_cell_moments cvtm_moments_sum_block(cvtm_cell_moments *part,
                                                                  int threads) {
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half)) {
      cvtm_cell_moments_add(part + threadIdx.x, part + threadIdx.x + half);
    }
  }
  __syncthreads();
  return part[0];
}

#endif
