/* Inside cvt only: the sums over many small cells at a time, on a CUDA device. */
#ifndef CVTMESH_CVT_CELL_SUMS_H
#define CVTMESH_CVT_CELL_SUMS_H

#include "cvt/cvt_kernels.h"

enum { CVTM_CELLS_MANY = 100000 }; /* that are cut out before any is summed */

/* Room for cells that are cut out: corner k of all of them side by side, `chunk` at most. */
typedef struct cvtm_cut_cells {
  double *x, *y;
  int32_t *count; /* corners; less than 3: nothing in it */
  int32_t chunk;
} cvtm_cut_cells;

/* Places of the cells that the quick way left, in no particular order. */
typedef struct cvtm_left_cells {
  int32_t *place, *count;
} cvtm_left_cells;

#ifdef __cplusplus
extern "C" {
#endif

/* Integrals over the cells of all sites in the tree, but for those left. cells: room if there are
 * CVTM_CELLS_MANY or more. */
cvtm_status cvtm_cell_sums_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                const cvtm_cut_cells *cells, const cvtm_left_cells *left);
/* The same of plain sums over pixel centres. */
cvtm_status cvtm_centre_sums_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                  const cvtm_left_cells *left);

#ifdef __cplusplus
}
#endif

#endif
