/* For *_cuda.cu of cvt only: launchers that compute the moments of cells of ordinary size, a few
 * cells per warp, and list the other cells for evaluate_cuda.cu; sums of moments over lanes and
 * blocks, in a fixed order. */
#ifndef CVTMESH_CVT_EVALUATE_CUDA_H
#define CVTMESH_CVT_EVALUATE_CUDA_H

#include "cvt/evaluate_kernels.h"
#include "jfa/hull_search.h"

/* From this number of cells on, a chunk of them is constructed before it is integrated. */
enum { CVTM_CHUNKED_CELLS = 100000 };

enum {
  CVTM_CLIPPED_CORNERS = CVTM_HULL_SIDES, /* of a constructed cell, at most */
  CVTM_CELL_DEFERRED = -3                 /* as a number of corners: left to others */
};

/* Memory for `chunk` constructed cells; corner k of all cells is contiguous. */
typedef struct cvtm_clipped_cells {
  double *x, *y;
  int32_t *count; /* corners; fewer than 3: an empty cell */
  int32_t chunk;
} cvtm_clipped_cells;

/* Places of the cells that the hull construction cannot decide, in no particular order. */
typedef struct cvtm_deferred_cells {
  int32_t *place, *count;
} cvtm_deferred_cells;

/* Appends a cell, if it is asked for. */
static __device__ inline void cvtm_defer_cell(const cvtm_site_tree_view &tree,
                                              const cvtm_deferred_cells &deferred, int64_t place) {
  if (!cvtm_tree_is_own(&tree, place)) return;
  deferred.place[atomicAdd(deferred.count, 1)] = static_cast<int32_t>(place);
}

/* A block of one warp takes CELLS cells from cvtm_first_cell() on, and the next ones
 * cvtm_cell_stride() cells later. */
template <int CELLS>
static __device__ int64_t cvtm_first_cell() {
  return static_cast<int64_t>(blockIdx.x) * CELLS;
}
template <int CELLS>
static __device__ int64_t cvtm_cell_stride() {
  return static_cast<int64_t>(gridDim.x) * CELLS;
}

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

/* Integrals over the cells of the tree, or its own ones, except the deferred ones. cells: used if
 * there are CVTM_CHUNKED_CELLS sites or more. */
cvtm_status cvtm_integrate_cells_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                      const cvtm_clipped_cells *cells,
                                      const cvtm_deferred_cells *deferred);
/* Integrals over the constructed cells of all places, of at most 1000 rows each. */
cvtm_status cvtm_integrate_clipped_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                        const cvtm_clipped_cells *cells);

#endif
