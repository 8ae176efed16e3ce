/* For *_cuda.cu of cvt only. Launchers compute the moments of cells of ordinary size, a few cells
 * per warp, and list the other cells for evaluate_cuda.cu. Functions sum moments over lanes and
 * thread blocks in a fixed order. */
#pragma once

#include "base/cuda_utils.h"
#include "cvt/evaluate_kernels.h"
#include "jfa/hull_search.h"

/* With at least this number of sites, a kernel constructs a chunk of cells, and another kernel
 * integrates over them. With fewer sites one kernel does both for each cell. */
enum { CVTM_CHUNKED_CELLS = 100000 };

enum {
  CVTM_CLIPPED_CORNERS = CVTM_HULL_SIDES, /* corners of a constructed cell, at most */
  CVTM_CELL_DEFERRED = -3 /* value of cvtm_clipped_cells.count for a deferred cell */
};

/* Memory for `chunk` constructed cells. Corner k of cell c is (x[k * chunk + c], y[k * chunk +
 * c]). */
typedef struct cvtm_clipped_cells {
  double *x, *y;
  int32_t *count; /* number of corners; an empty cell has fewer than 3 */
  int32_t chunk;
} cvtm_clipped_cells;

/* The deferred cells, which hull construction cannot decide: the slots of their sites, in any
 * order, and their number. */
typedef struct cvtm_deferred_cells {
  int32_t *slot, *count;
} cvtm_deferred_cells;

/* Appends a cell to the deferred cells if its site is an own site (cvtm_tree_is_own). */
static __device__ inline void cvtm_defer_cell(const cvtm_site_tree_view &tree,
                                              const cvtm_deferred_cells &deferred, int64_t slot) {
  if (!cvtm_tree_is_own(&tree, slot)) return;
  deferred.slot[atomicAdd(deferred.count, 1)] = static_cast<int32_t>(slot);
}

/* Thread 0 gets the sum of the energies and the largest distance over a block of THREADS threads.
 * All threads must call. */
template <int THREADS>
static __device__ void cvtm_cvt_join_block(double *energy, double *distance) {
  __shared__ double distances[THREADS / 32];
  *energy = cvtm_block_sum<THREADS>(*energy);
  for (int offset = 16; offset > 0; offset /= 2)
    *distance = cvtm_cvt_larger(*distance, __shfl_down_sync(0xFFFFFFFFu, *distance, offset));
  if (threadIdx.x % 32 == 0) distances[threadIdx.x / 32] = *distance;
  __syncthreads();
  for (int w = 1; threadIdx.x == 0 && w < THREADS / 32; ++w)
    *distance = cvtm_cvt_larger(*distance, distances[w]);
}

/* A block has one warp, which takes CELLS cells from cvtm_first_cell() on, then CELLS cells that
 * are cvtm_cell_stride() cells later, and so on. */
template <int CELLS>
static __device__ int64_t cvtm_first_cell() {
  return static_cast<int64_t>(blockIdx.x) * CELLS;
}
template <int CELLS>
static __device__ int64_t cvtm_cell_stride() {
  return static_cast<int64_t>(gridDim.x) * CELLS;
}

/* Lane k < CELLS gets the sum of the parts of the lanes k, k + CELLS, k + 2 CELLS, ... of a warp.
 * All lanes must call. */
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

/* Returns the sum of the parts of all threads of a block. part: the part of each thread, in shared
 * memory; overwritten. threads: the number of threads, a power of 2. All threads must call. */
static __device__ inline cvtm_cell_moments cvtm_moments_sum_block(cvtm_cell_moments *part,
                                                                  int threads) {
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half))
      cvtm_cell_moments_add(part + threadIdx.x, part + threadIdx.x + half);
  }
  __syncthreads();
  return part[0];
}

/* Sets the moments of the cells of all sites of the tree, and lists the deferred cells. If the tree
 * lacks some sites (cvtm_tree_cover in site_query.h), only the cells of its own sites are done.
 * cells: memory, used with CVTM_CHUNKED_CELLS sites or more. */
cvtm_status cvtm_integrate_cells_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                      const cvtm_clipped_cells *cells,
                                      const cvtm_deferred_cells *deferred);
/* Sets the moments of the constructed cells of all slots. Each cell has at most 1000 rows. */
cvtm_status cvtm_integrate_clipped_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                        const cvtm_clipped_cells *cells);
