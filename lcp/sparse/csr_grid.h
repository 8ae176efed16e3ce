/* Inside lcp only: coarser grids for matrices on a grid of width x height nodes, row by row.
 * Along a side, coarse node I sits on fine node 2 I + 1; between, values are interpolated. */
#ifndef CVTMESH_LCP_SPARSE_CSR_GRID_H
#define CVTMESH_LCP_SPARSE_CSR_GRID_H

#include "lcp/sparse.h"

/* The next coarser grid: sides above one node are halved, but where the links along one side
 * are much stronger than those along the other, that one alone. */
typedef struct cvtm_grid_coarsening {
  int64_t width, height;               /* of the fine grid */
  int64_t coarse_width, coarse_height; /* the same where a side is kept */
} cvtm_grid_coarsening;

cvtm_status cvtm_grid_coarsen(const cvtm_csr *matrix, int64_t width, int64_t height, int threads,
                              cvtm_grid_coarsening *grids, cvtm_error *error);

/* Interpolation from the coarse grid, rows and columns row by row, weighted as the equations of
 * the fine nodes have it (Dendy 1982, "Black box multigrid"): flat where little flows, bilinear for
 * constant coefficients and for rows of more than nine points. centre (the caller frees): the fine
 * node under each coarse one. */
cvtm_status cvtm_grid_prolongation(const cvtm_csr *matrix, cvtm_grid_coarsening grids, int threads,
                                   cvtm_csr *prolongation, int32_t **centre, cvtm_error *error);

#endif
