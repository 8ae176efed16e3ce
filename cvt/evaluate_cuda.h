/* Inside cvt only: the sums over many small cells at a time, on a CUDA device. */
#ifndef CVTMESH_CVT_EVALUATE_CUDA_H
#define CVTMESH_CVT_EVALUATE_CUDA_H

#include "cvt/evaluate_kernels.h"

enum { CVTM_CHUNKED_CELLS = 100000 }; /* that are cut out before any is summed */

/* Room for cells that are cut out: corner k of all of them side by side, `chunk` at most. */
typedef struct cvtm_clipped_cells {
  double *x, *y;
  int32_t *count; /* corners; less than 3: nothing in it */
  int32_t chunk;
} cvtm_clipped_cells;

/* Places of the cells that the quick way left, in no particular order. */
typedef struct cvtm_deferred_cells {
  int32_t *place, *count;
} cvtm_deferred_cells;

/* Appends a cell. */
static __device__ inline void cvtm_defer_cell(const cvtm_deferred_cells &deferred, int64_t place) {
  deferred.place[atomicAdd(deferred.count, 1)] = static_cast<int32_t>(place);
}

/* A block of one warp does the cells from cvtm_first_cell() on, CELLS at a time, and continues
 * cvtm_cell_stride() cells later. */
template <int CELLS>
static __device__ int64_t cvtm_first_cell() {
  return static_cast<int64_t>(blockIdx.x) * CELLS;
}
template <int CELLS>
static __device__ int64_t cvtm_cell_stride() {
  return static_cast<int64_t>(gridDim.x) * CELLS;
}

/* Integrals over the cells of all sites in the tree, but for those left. cells: room if there are
 * CVTM_CHUNKED_CELLS or more. */
cvtm_status cvtm_integrate_cells_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                      const cvtm_clipped_cells *cells,
                                      const cvtm_deferred_cells *left);
/* The same of plain sums over pixel centres. */
cvtm_status cvtm_sum_pixels_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                 const cvtm_deferred_cells *left);

#endif
