/* For lbfgsb_cuda.cu and divided_cuda.cu only: sizes; the shared memory of a block; asynchronous
 * copies of tiles of W from device to shared memory, one tile ahead if the shared memory suffices.
 * With ordinary loads an iteration of the optimiser takes 1.24 times as long at n = 10^6, and 1.36
 * times at 6.4 * 10^7 (m = 8, H200). Bulk copies (TMA) are not used: with them an iteration took
 * 0.99 to 1.05 times as long. */
#pragma once

#include "base/cuda_utils.h"
#include "lbfgsb/stopping.h"

#include <cuda/atomic>

enum {
  WARP = 32,
  TILE = CVTM_LBFGSB_TILE,
  MAX_WARPS = 16,
  BATCH_WARPS = 4, /* warps of a block in a batch, where each block solves one problem */
  STAGES = 2,      /* tiles of a warp in shared memory; one of them is being loaded */
  COLUMNS = 8,     /* columns of a tensor-core fragment, which has 16 rows */
  FRAGMENT = 2 * COLUMNS * COLUMNS,
  FRAGMENTS_AT_ONCE = 3, /* fragments of a warp that are in its shared memory together */
  VECTORS = 3,           /* factors of W'V: g over free rows, s, y */
  LOADS_PER_THREAD = 14, /* loads in flight in a thread that combines blocks */
  LOADS_PER_LANE = 5,    /* loads in flight in a lane, if the lanes of a warp divide the blocks */
  SORT_CAPACITY = 2048,  /* largest number of breakpoints that are sorted in shared memory */
  BATCH_SORT_CAPACITY = 768 /* the same in a batch */
};

static_assert(TILE == WARP, "a lane has a row of a tile");

/* The number of warps of a thread block that shares a problem: as many as the registers allow.
 * column_blocks: the number of groups of 8 columns of Y. */
constexpr int warps_for(int column_blocks) { return column_blocks == 1 ? 16 : 8; }

/* The number of groups of 8 columns of Y. */
static inline int column_blocks(int m) { return (m - 1) / COLUMNS + 1; }

/* The number of tiles of a warp in shared memory. large: the device has as much shared memory as
 * one of compute capability 9.0. */
static constexpr __host__ __device__ int stages_for(int warps, int large) {
  return warps == BATCH_WARPS || !large ? 1 : STAGES;
}

/* Sets *stages to stages_for on the current device. */
static inline cudaError_t find_stages(int warps, int *stages) {
  int current = 0, major = 0;
  cudaError_t error = cudaGetDevice(&current);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current);
  *stages = stages_for(warps, major >= 9);
  return error;
}

struct shared_memory {
  cvtm_lbfgsb_arrays arrays; /* the arrays of this problem */
  cvtm_lbfgsb_state state;
  cvtm_lbfgsb_state if_accepted;       /* the state if the trial point is accepted */
  alignas(16) cvtm_lbfgsb_model model; /* complete in block 0; the other blocks have only q */
  alignas(16) double sums[CVTM_LBFGSB_MAX_ENTRIES + 1], reduced[CVTM_LBFGSB_MAX_ENTRIES + 1];
  double w[CVTM_LBFGSB_PAIR]; /* a row of W */
  double curvature;           /* f'' of the model */
  unsigned epochs;            /* number of epochs of the barrier between the blocks, so far */
  int solved;                 /* result of cvtm_lbfgsb_solve_subspace */
  /* During a pass: tiles and VECTORS vectors of each warp. After a pass: sums of the warps. During
   * a decision: the workspace of two warps, and breakpoints. */
  alignas(128) double buffer[1];
};

static_assert(sizeof(cvtm_lbfgsb_work) % sizeof(double) == 0, "a multiple of the word");

/* The largest number of breakpoints that a block can sort in shared memory. */
static __host__ __device__ int sort_capacity(const cvtm_lbfgsb_arrays *arrays) {
  return !arrays->breakpoints ? 0 : arrays->problems > 1 ? BATCH_SORT_CAPACITY : SORT_CAPACITY;
}

/* The size of the dynamic shared memory of a block in bytes. */
static inline size_t shared_bytes(const cvtm_lbfgsb_arrays *all, int warps, int stages, int m) {
  const size_t columns = static_cast<size_t>(stages) * 2 * static_cast<size_t>(m) + VECTORS;
  const size_t pass = columns * sizeof(double) * TILE * static_cast<size_t>(warps);
  const size_t sums = static_cast<size_t>(warps) * FRAGMENTS_AT_ONCE * FRAGMENT * sizeof(double);
  const size_t decision =
      2 * sizeof(cvtm_lbfgsb_work) + static_cast<size_t>(sort_capacity(all)) * 2 * sizeof(double);
  const size_t larger = pass > sums ? pass : sums;
  return sizeof(shared_memory) + (larger > decision ? larger : decision);
}

/* The thread blocks that share a problem, and the index of this block among them. */
struct block_group {
  int64_t block, blocks;
};

extern __shared__ __align__(128) double dynamic_memory[];

/* The shared memory of the block. No function gets it as a pointer, so that the compiler knows the
 * address space. */
static __device__ __forceinline__ shared_memory *block_memory() {
  return reinterpret_cast<shared_memory *>(dynamic_memory);
}

/* The workspace of a warp of block 0 during a decision. */
static __device__ __forceinline__ cvtm_lbfgsb_work *warp_work(int warp) {
  return reinterpret_cast<cvtm_lbfgsb_work *>(block_memory()->buffer) + warp;
}

/* Copies an array; called by all threads of the block. */
static __device__ void copy_doubles(double *to, const double *from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    to[i] = from[i];
  }
}

template <typename T>
static __device__ void copy_words(T *to, const T *from) {
  const int words = static_cast<int>(sizeof(T) / sizeof(int64_t));
  static_assert(sizeof(T) % sizeof(int64_t) == 0, "a multiple of the word");
  int64_t *target = reinterpret_cast<int64_t *>(to);
  const int64_t *source = reinterpret_cast<const int64_t *>(from);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) {
    target[i] = source[i];
  }
}

/* The number of tiles of a warp in shared memory; equals stages_for on the host. */
template <int WARPS>
static constexpr __device__ int device_stages() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return stages_for(WARPS, 0);
#else
  return stages_for(WARPS, 1);
#endif
}

/* Starts to load the columns of Y and S of a tile except column `missing` of both (-1: loads all).
 * Called by all lanes of a warp; lane l copies the 16-byte words l, l + 32, .. Each call begins a
 * group of copies, which is empty if `tile` is NULL. */
static __device__ void load_tile(int m, int missing, double *slot, const double *tile) {
  constexpr int words = TILE * sizeof(double) / sizeof(int4); /* in a column */
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

/* Waits for all groups of copies but the last `later`. All lanes of the loading warp call. */
template <int later>
static __device__ void wait_for_tile() {
  cvtm_copy_wait<later>();
  __syncwarp();
}

/* The thread blocks that share a problem. A cooperative kernel does a round: all blocks pass over
 * the rows, and block 0 decides between two passes while the others wait. Every reduction has a
 * fixed order: n and the number of blocks alone determine which warp has which tiles, and blocks
 * are combined in the order of their indices. In a batch each problem has one block, which waits
 * for no other. */

/* --- the barrier ----------------------------------------------------------------------------- */

using device_counter = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

/* Waits until *count reaches `goal`, modulo 2^32. */
static __device__ void wait_for_count(unsigned *count, unsigned goal) {
  while (static_cast<int>(device_counter(*count).load(cuda::memory_order_acquire) - goal) < 0) {
  }
}

/* Arrives at the barrier; called by thread 0 after a __syncthreads. Makes the writes of the block
 * visible to blocks that wait. Returns the number of the epoch. */
static __device__ unsigned arrive(block_group on) {
  device_counter(block_memory()->arrays.barrier->arrived).fetch_add(1, cuda::memory_order_release);
  return ++block_memory()->epochs;
}

static __device__ void wait_for_blocks(block_group on, unsigned epoch) {
  wait_for_count(&block_memory()->arrays.barrier->arrived,
                 epoch * static_cast<unsigned>(on.blocks));
}

/* A barrier over the blocks that share the problem. */
static __device__ void sync_blocks(block_group on) {
  __syncthreads();
  if (on.blocks > 1 && threadIdx.x == 0) wait_for_blocks(on, arrive(on));
  __syncthreads();
}

/* --- reduction over the blocks ---------------------------------------------------------------- */

static __device__ double warp_combine(int entry, double value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = cvtm_lbfgsb_combine(entry, value, other);
  }
  return value;
}

static __device__ cvtm_lbfgsb_nearest warp_combine_nearest(cvtm_lbfgsb_nearest value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const cvtm_lbfgsb_nearest other = {__shfl_xor_sync(0xffffffffu, value.t, offset),
                                       __shfl_xor_sync(0xffffffffu, value.row, offset)};
    value = cvtm_lbfgsb_combine_nearest(value, other);
  }
  return value;
}

/* The address to which a block writes entry `entry` of a pass. In pass A (all != 0) each block
 * stores its entries contiguously. Other passes store each entry contiguously over the blocks. */
static __device__ double *block_sum_at(block_group on, int all, int64_t block, int entry) {
  const int64_t at =
      all ? block * block_memory()->arrays.entries + entry : entry * on.blocks + block;
  return block_memory()->arrays.partial + at;
}

/* Combines entries 0 .. CVTM_SUM_COLUMNS - 1 of the blocks into `reduced`. Several loads are in
 * flight before the first value is used, which hides their latency. */
static __device__ __noinline__ void combine_columns(block_group on) {
  const int warp = static_cast<int>(threadIdx.x) / WARP,
            lane = static_cast<int>(threadIdx.x) % WARP;
  const int blocks = static_cast<int>(on.blocks);
  for (int e = warp; e < CVTM_SUM_COLUMNS; e += static_cast<int>(blockDim.x) / WARP) {
    const double *from = block_sum_at(on, 0, 0, e);
    double value = cvtm_lbfgsb_identity(e);
    for (int first = lane; first < blocks; first += LOADS_PER_LANE * WARP) {
      double loaded[LOADS_PER_LANE];
#pragma unroll
      for (int l = 0; l < LOADS_PER_LANE; ++l) {
        const int b = first + l * WARP;
        loaded[l] = b < blocks ? from[b] : cvtm_lbfgsb_identity(e);
      }
#pragma unroll
      for (int l = 0; l < LOADS_PER_LANE; ++l) value = cvtm_lbfgsb_combine(e, value, loaded[l]);
    }
    value = warp_combine(e, value);
    if (lane == 0) block_memory()->reduced[e] = value;
  }
  __syncthreads();
}

/* Finds the nearest breakpoint of pass A; called by one warp. */
static __device__ cvtm_lbfgsb_nearest combine_nearest(block_group on) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, blocks = static_cast<int>(on.blocks);
  const int stride = static_cast<int>(block_memory()->arrays.entries);
  const double *from = block_memory()->arrays.partial;
  cvtm_lbfgsb_nearest found = {HUGE_VAL, HUGE_VAL};
  for (int first = lane; first < blocks; first += LOADS_PER_LANE * WARP) {
    cvtm_lbfgsb_nearest loaded[LOADS_PER_LANE];
#pragma unroll
    for (int l = 0; l < LOADS_PER_LANE; ++l) {
      const int b = first + l * WARP;
      loaded[l].t = b < blocks ? from[b * stride + CVTM_MIN_BREAKPOINT] : HUGE_VAL;
      loaded[l].row = b < blocks ? from[b * stride + CVTM_NEAREST_ROW] : HUGE_VAL;
    }
#pragma unroll
    for (int l = 0; l < LOADS_PER_LANE; ++l) found = cvtm_lbfgsb_combine_nearest(found, loaded[l]);
  }
  return warp_combine_nearest(found);
}

/* Combines all entries of pass A into `reduced`. A thread combines a pair of adjacent entries. If
 * there are more threads than pairs, several threads share a pair and divide the blocks
 * round-robin. The last warp, which has the least to add, finds the nearest breakpoint. */
static __device__ __noinline__ void combine_all(block_group on, int entries) {
  double2 *buffer = reinterpret_cast<double2 *>(block_memory()->buffer);
  double *result = block_memory()->reduced;
  const double *partial = block_memory()->arrays.partial;
  const int stride = static_cast<int>(block_memory()->arrays.entries);
  const int blocks = static_cast<int>(on.blocks);
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int pairs = (entries + 1) / 2, width = pairs < threads ? pairs : threads;
  const int groups = threads / width, group = thread / width, place = thread - group * width;
  cvtm_lbfgsb_nearest nearest = {HUGE_VAL, HUGE_VAL};
  if (thread >= threads - WARP) nearest = combine_nearest(on);
  for (int first = 0; first < pairs; first += width) {
    const int e = 2 * (first + place);
    const int is_used = group < groups && e < entries;
    double2 value = {0.0, 0.0};
    if (is_used) {
      const double *from = partial + e;
      for (int b = group; b < blocks; b += LOADS_PER_THREAD * groups) {
        double2 loaded[LOADS_PER_THREAD];
#pragma unroll
        for (int l = 0; l < LOADS_PER_THREAD; ++l) {
          const int at = b + l * groups;
          loaded[l] = {0.0, 0.0};
          if (at < blocks) loaded[l] = *reinterpret_cast<const double2 *>(from + at * stride);
        }
#pragma unroll
        for (int l = 0; l < LOADS_PER_THREAD; ++l) {
          /* entry 0 is a maximum of values >= 0; combine_nearest computes entries 1 and 2 */
          value.x = e > 0 ? value.x + loaded[l].x : cvtm_lbfgsb_combine(0, value.x, loaded[l].x);
          value.y += loaded[l].y;
        }
      }
      buffer[thread] = value;
    }
    __syncthreads();
    if (is_used && group == 0) {
      for (int g = 1; g < groups; ++g) {
        const double2 other = buffer[g * width + thread];
        value.x = e > 0 ? value.x + other.x : cvtm_lbfgsb_combine(0, value.x, other.x);
        value.y += other.y;
      }
      result[e] = value.x;
      result[e + 1] = value.y;
    }
    __syncthreads();
  }
  if (thread == threads - 1) {
    result[CVTM_MIN_BREAKPOINT] = nearest.t;
    result[CVTM_NEAREST_ROW] = nearest.row;
  }
  __syncthreads();
}

/* Ends a pass. Block 0 combines the entries into `reduced` (unless entries = 0), and all its
 * threads call decide(). Then all blocks continue with the new state. */
template <typename Decide>
static __device__ void decide_in_block_0(block_group on, int entries, Decide decide) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_barrier *barrier = block_memory()->arrays.barrier;
  unsigned epoch = 0;
  __syncthreads();
  if (on.block != 0) {
    if (threadIdx.x == 0) wait_for_count(&barrier->ended, arrive(on));
    __syncthreads();
    copy_words(&shared->state, block_memory()->arrays.state);
    copy_doubles(shared->model.q, block_memory()->arrays.model->q, CVTM_LBFGSB_PAIR);
    __syncthreads();
    return;
  }
  if (on.blocks > 1 && threadIdx.x == 0) {
    epoch = arrive(on);
    wait_for_blocks(on, epoch);
  }
  __syncthreads();
  if (entries > CVTM_SUM_COLUMNS) {
    combine_all(on, entries);
  } else if (entries > 0) {
    combine_columns(on);
  }
  decide();
  __syncthreads();
  if (on.blocks == 1) return;
  copy_words(block_memory()->arrays.state, &shared->state);
  copy_doubles(block_memory()->arrays.model->q, shared->model.q, CVTM_LBFGSB_PAIR);
  __syncthreads();
  if (threadIdx.x == 0) device_counter(barrier->ended).store(epoch, cuda::memory_order_release);
}

/* Ends a pass with few entries: every block combines them and makes the same decision itself. */
template <typename Decide>
static __device__ void decide_in_every_block(block_group on, Decide decide) {
  sync_blocks(on);
  combine_columns(on);
  if (threadIdx.x == 0) decide();
  __syncthreads();
}

/* --- reduction within a block ----------------------------------------------------------------- */

/* The first entries of a pass, summed by one thread. */
struct thread_sums {
  double value[CVTM_SUM_COLUMNS];
};

/* Reduces the entries over the threads of the block, one warp per entry, and writes them for the
 * other blocks. all: see block_sum_at. */
static __device__ __noinline__ void write_block_sums(block_group on, thread_sums own, int all) {
  double *buffer = block_memory()->buffer;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % WARP;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) buffer[e * threads + thread] = own.value[e];
  __syncthreads();
  for (int e = thread / WARP; e < CVTM_SUM_COLUMNS; e += threads / WARP) {
    const double *from = buffer + e * threads;
    double value = from[lane];
    if (all && e == CVTM_NEAREST_ROW) {
      const double *t = buffer + CVTM_MIN_BREAKPOINT * threads;
      cvtm_lbfgsb_nearest found = {t[lane], value};
      for (int i = lane + WARP; i < threads; i += WARP) {
        const cvtm_lbfgsb_nearest other = {t[i], from[i]};
        found = cvtm_lbfgsb_combine_nearest(found, other);
      }
      value = warp_combine_nearest(found).row;
    } else {
#pragma unroll 4
      for (int i = lane + WARP; i < threads; i += WARP) {
        value = cvtm_lbfgsb_combine(e, value, from[i]);
      }
      value = warp_combine(e, value);
    }
    if (lane == 0) *block_sum_at(on, all, on.block, e) = value;
  }
  __syncthreads();
}

static __device__ thread_sums empty_sums() {
  thread_sums own;
#pragma unroll
  for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) own.value[e] = cvtm_lbfgsb_identity(e);
  return own;
}

/* Records whether the loop has to continue; called by one thread of each problem. claimed: the loop
 * is a graph, whose condition this kernel sets. */
static __device__ void signal_loop(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_arrays &all,
                                   int was_running, int claimed,
                                   cudaGraphConditionalHandle handle) {
  if (all.problems > 1) {
    if (was_running && !state->running) atomicSub(all.flag, 1);
    return;
  }
  int more = state->running;
  if (state->monitored) {
    const int64_t records_read =
        *static_cast<const volatile int64_t *>(&all.requests->records_read);
    more = more && !cvtm_lbfgsb_mailbox_full(state, records_read);
  }
  *all.flag = more;
  if (claimed) cudaGraphSetConditional(handle, more ? 1u : 0u);
}

/* Phases of iteration.h that are a single pass of an executor. */
template <typename executor>
static __device__ void test_trial_point(executor on) {
  pass_test(on);
}

template <typename executor>
static __device__ void move_trial_point(executor on) {
  pass_trial(on);
}

/* The rows of a thread in a pass are first_index, first_index + index_stride, .. */
static __device__ int64_t first_index(block_group on) {
  return on.block * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

static __device__ int64_t index_stride(block_group on) {
  return on.blocks * static_cast<int64_t>(blockDim.x);
}
