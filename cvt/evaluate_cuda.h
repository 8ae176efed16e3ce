/* For *_cuda.cu of cvt only: launchers that compute the moments of cells of ordinary size,
 * a few cells per warp, and list the other cells for evaluate_cuda.cu. */
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

/* Integrals over the cells of the tree, or its own ones, except the deferred ones. cells: used if
 * there are CVTM_CHUNKED_CELLS sites or more. */
cvtm_status cvtm_integrate_cells_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                      const cvtm_clipped_cells *cells,
                                      const cvtm_deferred_cells *deferred);
/* Integrals over the constructed cells of all places, of at most 1000 rows each. */
cvtm_status cvtm_integrate_clipped_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                        const cvtm_clipped_cells *cells);
/* The entries pixel_keys and label_moments of the table. */
cvtm_status cvtm_pixel_keys_cuda(cvtm_cvt *cvt);
cvtm_status cvtm_label_moments_cuda(cvtm_cvt *cvt, const double *sites, int64_t count);

#endif
