/* Inside cvt only: the sums over many small cells at a time, on a CUDA device. */
#ifndef CVTMESH_CVT_CELL_SUMS_H
#define CVTMESH_CVT_CELL_SUMS_H

#include "cvt/cvt_kernels.h"

/* Cells that are cut out: corner k of all of them side by side, `chunk` at most. */
typedef struct cvtm_cut_cells {
  const double *x, *y, *nearest2;
  const int32_t *count; /* CVTM_CELL_LEFT: none of ours; less than 3 corners: nothing in it */
  int32_t chunk;
} cvtm_cut_cells;

enum { CVTM_CELL_LEFT = -3 };

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the cells of places first .. last - 1 in the tree, the first of which is cell 0:
 * integrals, or plain sums over pixel centres. */
cvtm_status cvtm_cell_sums_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                const cvtm_cut_cells *cells, int64_t first, int64_t last,
                                cvtm_cvt_energy energy);

#ifdef __cplusplus
}
#endif

#endif
