/* For lbfgsb_cuda.cu and divided_cuda.cu only: the blocks that share a problem. One cooperative
 * kernel does a round: all blocks pass over the rows, and block 0 decides between two passes while
 * the others wait. Every reduction has a fixed order, since n and the number of blocks alone
 * determine which warp has which tiles, and blocks are combined in the order of their indices. In a
 * batch each problem has one block, which waits for no other. */
#ifndef CVTMESH_LBFGSB_BLOCKS_CUDA_H
#define CVTMESH_LBFGSB_BLOCKS_CUDA_H

#include "lbfgsb/memory_cuda.h"

#include <cuda/atomic>

/* --- the barrier ----------------------------------------------------------------------------- */

using device_counter = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

/* Waits until *count reaches `goal`, modulo 2^32. */
static __device__ void wait_for_count(unsigned *count, unsigned goal) {
  while (static_cast<int>(device_counter(*count).load(cuda::memory_order_acquire) - goal) < 0) {
  }
}

/* By thread 0, after a __syncthreads: makes what the block wrote visible to the blocks that wait.
 * Returns the number of the epoch. */
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

/* Where a block writes entry `entry` of a pass. The entries of pass A (all != 0) are contiguous; of
 * the other passes the same entries of all blocks are. */
static __device__ double *block_sum_at(block_group on, int all, int64_t block, int entry) {
  const int64_t at =
      all ? block * block_memory()->arrays.entries + entry : entry * on.blocks + block;
  return block_memory()->arrays.partial + at;
}

/* Combines entries 0 .. CVTM_SUM_COLUMNS - 1 of the blocks into `reduced`. Here as in combine_all
 * several loads are in flight before the first is used, to hide their latency. */
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

/* The nearest breakpoint of pass A, by one warp. */
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

/* Combines all entries of pass A into `reduced`. A thread has two neighbouring entries; if there
 * are threads enough, several have the same pair and share the blocks round-robin; the last warp,
 * which has the least to add, finds the nearest breakpoint. */
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
          /* Entry 0 is a maximum of values >= 0; 1 and 2 are left to combine_nearest. */
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

/* Ends a pass: block 0 combines the entries into `reduced` (entries = 0: there are none) and calls
 * decide() by all its threads; then all blocks continue with the new state. */
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

/* Ends a pass with few entries: every block combines them and makes the same decision. */
template <typename Decide>
static __device__ void decide_in_every_block(block_group on, Decide decide) {
  sync_blocks(on);
  combine_columns(on);
  if (threadIdx.x == 0) decide();
  __syncthreads();
}

/* --- reduction within a block ----------------------------------------------------------------- */

/* The first entries of a pass, of one thread. */
struct thread_sums {
  double value[CVTM_SUM_COLUMNS];
};

/* Reduces the entries of the block's threads, a warp for each entry, and writes them for the other
 * blocks; all: see block_sum_at. */
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

/* A thread's rows in a pass are first_index, first_index + index_stride, .. */
static __device__ int64_t first_index(block_group on) {
  return on.block * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

static __device__ int64_t index_stride(block_group on) {
  return on.blocks * static_cast<int64_t>(blockDim.x);
}

#endif
