/* For lbfgsb_cuda.cu and divided_cuda.cu only: sizes, what a block keeps in shared memory, and
 * asynchronous copies of tiles of W from device to shared memory, STAGES tiles ahead where the
 * device has the shared memory for it. An iteration of the optimiser takes 1.24 times as long with
 * ordinary loads at n = 10^6, and 1.36 times at 6.4 * 10^7 (m = 8, H200). Bulk copies (TMA) took
 * 0.99 to 1.05 times as long, and are not used. */
#ifndef CVTMESH_LBFGSB_MEMORY_CUDA_H
#define CVTMESH_LBFGSB_MEMORY_CUDA_H

#include "base/cuda_utils.h"
#include "lbfgsb/lbfgsb_arrays.h"

enum {
  WARP = 32,
  TILE = CVTM_LBFGSB_TILE,
  MAX_WARPS = 16,
  BATCH_WARPS = 4, /* of a block that has a whole problem */
  STAGES = 2,      /* tiles of a warp in shared memory, one of them being loaded */
  COLUMNS = 8,     /* of a fragment of the tensor cores, which has 16 rows */
  FRAGMENT = 2 * COLUMNS * COLUMNS,
  FRAGMENTS_AT_ONCE = 3, /* fragments of each warp that are in shared memory together */
  VECTORS = 3,           /* factors of W'V: g over free rows, s, y */
  LOADS_PER_THREAD = 14, /* loads in flight of a thread that combines blocks */
  LOADS_PER_LANE = 5,    /* the same if the lanes of a warp share the blocks */
  SORT_CAPACITY = 2048,  /* breakpoints that are sorted in shared memory */
  BATCH_SORT_CAPACITY = 768
};

static_assert(TILE == WARP, "a lane has a row of a tile");

/* Warps of a block that shares a problem, as many as the registers allow; column_blocks: blocks of
 * 8 columns of Y. */
constexpr int warps_for(int column_blocks) { return column_blocks == 1 ? 16 : 8; }

/* Blocks of 8 columns of Y. */
static inline int column_blocks(int m) { return (m - 1) / COLUMNS + 1; }

/* Tiles of a warp in shared memory; large: the device has the shared memory of compute capability
 * 9.0. */
static constexpr __host__ __device__ int stages_for(int warps, int large) {
  return warps == BATCH_WARPS || !large ? 1 : STAGES;
}

/* The same for the current device. */
static inline cudaError_t find_stages(int warps, int *stages) {
  int current = 0, major = 0;
  cudaError_t error = cudaGetDevice(&current);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current);
  *stages = stages_for(warps, major >= 9);
  return error;
}

struct shared_memory {
  cvtm_lbfgsb_arrays arrays; /* of this problem */
  cvtm_lbfgsb_state state;
  cvtm_lbfgsb_state if_accepted;       /* the state if the trial point is accepted */
  alignas(16) cvtm_lbfgsb_model model; /* of block 0; the other blocks have its q alone */
  alignas(16) double sums[CVTM_LBFGSB_MAX_ENTRIES + 1], reduced[CVTM_LBFGSB_MAX_ENTRIES + 1];
  double w[CVTM_LBFGSB_PAIR]; /* a row of W */
  double curvature;           /* f'' of the model */
  unsigned epochs;            /* of the barrier between the blocks, so far */
  int solved;                 /* result of cvtm_lbfgsb_solve_subspace */
  /* During a pass: tiles and VECTORS vectors of each warp. After a pass: sums of the warps. During
   * a decision: the work space of two warps, and breakpoints. */
  alignas(128) double buffer[1];
};

static_assert(sizeof(cvtm_lbfgsb_work) % sizeof(double) == 0, "whole words");

/* Breakpoints that a block can sort in shared memory. */
static __host__ __device__ int sort_capacity(const cvtm_lbfgsb_arrays *arrays) {
  return !arrays->breakpoints ? 0 : arrays->problems > 1 ? BATCH_SORT_CAPACITY : SORT_CAPACITY;
}

/* Bytes of dynamic shared memory of a block. */
static size_t shared_bytes(const cvtm_lbfgsb_arrays *all, int warps, int stages, int m) {
  const size_t columns = static_cast<size_t>(stages) * 2 * static_cast<size_t>(m) + VECTORS;
  const size_t pass = columns * sizeof(double) * TILE * static_cast<size_t>(warps);
  const size_t sums = static_cast<size_t>(warps) * FRAGMENTS_AT_ONCE * FRAGMENT * sizeof(double);
  const size_t decision =
      2 * sizeof(cvtm_lbfgsb_work) + static_cast<size_t>(sort_capacity(all)) * 2 * sizeof(double);
  const size_t larger = pass > sums ? pass : sums;
  return sizeof(shared_memory) + (larger > decision ? larger : decision);
}

/* The blocks that share a problem, and which of them this block is. */
struct block_group {
  int64_t block, blocks;
};

extern __shared__ __align__(128) double dynamic_memory[];

/* The block's shared memory. Not passed as a pointer, so that the compiler keeps shared-space
 * addressing. */
static __device__ __forceinline__ shared_memory *block_memory() {
  return reinterpret_cast<shared_memory *>(dynamic_memory);
}

/* The work space of a warp of block 0 during a decision. */
static __device__ __forceinline__ cvtm_lbfgsb_work *warp_work(int warp) {
  return reinterpret_cast<cvtm_lbfgsb_work *>(block_memory()->buffer) + warp;
}

/* Copies by all threads of the block. */
static __device__ void copy_doubles(double *to, const double *from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    to[i] = from[i];
  }
}

template <typename T>
static __device__ void copy_words(T *to, const T *from) {
  const int words = static_cast<int>(sizeof(T) / sizeof(int64_t));
  static_assert(sizeof(T) % sizeof(int64_t) == 0, "whole words");
  int64_t *target = reinterpret_cast<int64_t *>(to);
  const int64_t *source = reinterpret_cast<const int64_t *>(from);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) {
    target[i] = source[i];
  }
}

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
