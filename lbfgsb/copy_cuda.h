/* For lbfgsb_cuda.cu and divided_cuda.cu only: asynchronous copies of tiles of W from device to
 * shared memory, STAGES tiles ahead where the device has the shared memory for it. An iteration of
 * the optimiser takes 1.24 times as long with ordinary loads at n = 10^6, and 1.36 times at 6.4 *
 * 10^7 (m = 8, H200). Bulk copies (TMA) took 0.99 to 1.05 times as long, and are not used. */
#ifndef CVTMESH_LBFGSB_COPY_CUDA_H
#define CVTMESH_LBFGSB_COPY_CUDA_H

#include "base/cuda_copies.h"
#include "lbfgsb/memory_cuda.h"

/* Tiles of a warp in shared memory, as stages_for says on the host. */
template <int WARPS>
static constexpr __device__ int device_stages() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return stages_for(WARPS, 0);
#else
  return stages_for(WARPS, 1);
#endif
}

/* Starts to load the columns of Y and S of a tile but column `missing` of both (-1: none), by all
 * lanes of a warp: lane l copies the 16-byte words l, l + 32, .. Each call begins a group of
 * copies, an empty one if `tile` is NULL. */
static __device__ void load_tile(int m, int missing, double *slot, const double *tile) {
  constexpr int words = TILE * sizeof(double) / sizeof(int4); /* of a column */
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int missing_s = missing < 0 ? -1 : m + missing;
  for (int i = lane; tile && i < 2 * m * words; i += WARP) {
    const int column = i / words;
    if (column == missing || column == missing_s) continue;
    int4 *const to = reinterpret_cast<int4 *>(slot) + i;
    const int4 *const from = reinterpret_cast<const int4 *>(tile) + i;
    cvtm_copy_start(to, from, sizeof *to);
  }
  cvtm_copy_group();
}

/* Waits for all groups but the last `later`, by all lanes of the warp that loaded them. */
template <int later>
static __device__ void wait_for_tile() {
  cvtm_copy_wait<later>();
  __syncwarp();
}

#endif
