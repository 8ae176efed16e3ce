/* Inside lcp only: coarse grids for CSR matrices whose rows are the nodes of a grid of width x
 * height, grid line by grid line. In a halved direction coarse node I is fine node 2 I + 1, and the
 * others are interpolated. */
#ifndef CVTMESH_LCP_SPARSE_CSR_GRID_H
#define CVTMESH_LCP_SPARSE_CSR_GRID_H

#include "lcp/sparse.h"

/* The next coarser grid. Sides above one node are halved; if the links in one direction are more
 * than three times as strong as in the other, only that side (semicoarsening). */
typedef struct cvtm_csr_coarsening {
  int64_t width, height;               /* of the fine grid */
  int64_t coarse_width, coarse_height; /* equal to the fine side if it is kept */
} cvtm_csr_coarsening;

cvtm_status cvtm_csr_grid_coarsen(const cvtm_csr *matrix, int64_t width, int64_t height,
                                  int threads, cvtm_csr_coarsening *grids, cvtm_error *error);

/* Operator-dependent interpolation from the coarse grid (Dendy 1982, "Black box multigrid"):
 * bilinear for constant coefficients and for rows of more than nine points. centre (the caller
 * frees): the fine node of each coarse one. */
cvtm_status cvtm_csr_grid_prolongation(const cvtm_csr *matrix, cvtm_csr_coarsening grids,
                                       int threads, cvtm_csr *prolongation, int32_t **centre,
                                       cvtm_error *error);

#endif
