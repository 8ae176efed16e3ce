/* For lbfgsb_cuda.cu only: the exact Cauchy point, a window of breakpoints at a time. */
#ifndef CVTMESH_LBFGSB_WALK_CUDA_H
#define CVTMESH_LBFGSB_WALK_CUDA_H

#include "lbfgsb/decisions_cuda.h"

/* Lists the breakpoints of the window, in an order that varies from run to run. */
static __device__ void list_breakpoints(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  const double start = block_memory()->state.window_start, end = block_memory()->state.window_end;
  for (int64_t i = first_index(on); i < arrays.n; i += index_stride(on)) {
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], arrays.g[i]);
    const double t = cvtm_lbfgsb_breakpoint(&row);
    if (!(t > start && t <= end)) continue;
    const unsigned long long at =
        atomicAdd(reinterpret_cast<unsigned long long *>(arrays.breakpoint_count), 1ull);
    arrays.breakpoints[at] = t;
    arrays.breakpoint_rows[at] = i;
  }
}

/* One stage of Batcher's odd-even merge sort by (t, row): the sorted order does not depend on that
 * of the list. A thread compares places first, first + stride, .. */
static __device__ void sort_stage(double *t, int64_t *rows, int64_t count, int64_t p, int64_t k,
                                  int64_t first, int64_t stride) {
  const int64_t begin = k % p;
  for (int64_t a = first; a + k < count; a += stride) {
    const int64_t b = a + k;
    if (a < begin || (a - begin) % (2 * k) >= k || a / (2 * p) != b / (2 * p)) continue;
    const double ta = t[a], tb = t[b];
    const int64_t ra = rows[a], rb = rows[b];
    if (ta < tb || (ta == tb && ra < rb)) continue;
    t[a] = tb;
    t[b] = ta;
    rows[a] = rb;
    rows[b] = ra;
  }
}

/* Walks past the sorted breakpoints of the window while the model decreases; by one warp. */
static __device__ void walk(block_group on, const double *t, const int64_t *rows, int64_t count,
                            cvtm_lane_group lanes) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_work *work = warp_work(0);
  cvtm_lbfgsb_list_columns(lanes, &shared->state, work);
  for (int64_t b = 0; b < count; ++b) {
    const double minimum = cvtm_lbfgsb_walk_minimum(lanes, &shared->state, arrays.walk);
    if (minimum <= t[b]) break;
    const int64_t i = rows[b];
    const double g = (arrays.scale ? arrays.scale[i] : 1.0) * arrays.g[i];
    for (int r = lanes.lane; r < 2 * shared->state.count; r += lanes.lanes) {
      shared->w[r] =
          read_row(arrays, shared->state, i, cvtm_lbfgsb_w_column(&shared->state, work, r), 0);
    }
    cvtm_lanes_sync();
    cvtm_lbfgsb_walk_to(lanes, &shared->state, arrays.walk, t[b], g, shared->w);
  }
}

/* walk_breakpoints of iteration.h. Few breakpoints are sorted in the shared memory of block 0, more
 * by all blocks in device memory. */
static __device__ __noinline__ void walk_window(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  shared_memory *shared = block_memory();
  list_breakpoints(on);
  sync_blocks(on);
  const int64_t count = *static_cast<volatile int64_t *>(arrays.breakpoint_count);
  const int in_shared = count <= sort_capacity(&arrays);
  if (!in_shared) {
    for (int64_t p = 1; p < count; p *= 2) {
      for (int64_t k = p; k >= 1; k /= 2) {
        sort_stage(arrays.breakpoints, arrays.breakpoint_rows, count, p, k, first_index(on),
                   index_stride(on));
        sync_blocks(on);
      }
    }
  }
  decide_in_block_0(on, 0, [&] {
    double *t = arrays.breakpoints;
    int64_t *rows = arrays.breakpoint_rows;
    if (in_shared) {
      t = reinterpret_cast<double *>(warp_work(2));
      rows = reinterpret_cast<int64_t *>(t + count);
      for (int64_t e = threadIdx.x; e < count; e += blockDim.x) {
        t[e] = arrays.breakpoints[e];
        rows[e] = arrays.breakpoint_rows[e];
      }
      for (int64_t p = 1; p < count; p *= 2) {
        for (int64_t k = p; k >= 1; k /= 2) {
          __syncthreads();
          sort_stage(t, rows, count, p, k, threadIdx.x, blockDim.x);
        }
      }
    }
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x), WARP};
    walk(on, t, rows, count, lanes);
    cvtm_lbfgsb_end_window(lanes, &shared->state, &shared->model, warp_work(0), arrays.walk);
    if (!shared->state.due_breakpoints && !shared->state.due_restrict) {
      warp_solve_subspace(NOW, 0);
      cvtm_lbfgsb_decide_subspace(lanes, &shared->state, shared->solved);
    }
    if (lanes.lane == 0) *arrays.breakpoint_count = 0;
  });
}

#endif
