/* Inside lcp only: coarser grids for matrices on a grid of width x height nodes, row by row.
 * Along a side, coarse node I sits on fine node 2 I + 1; between, values are interpolated. */
#ifndef CVTMESH_LCP_GEOMETRIC_H
#define CVTMESH_LCP_GEOMETRIC_H

#include "lcp/sparse.h"

/* What lies beyond the four sides: 0 where x is 0 one node further on (Dirichlet), 1 where
 * nothing flows (Neumann), so that a coarse value goes on as it is. */
typedef struct cvtm_grid_sides {
  int left, right, top, bottom;
} cvtm_grid_sides;

/* Told from the row sums at the sides of a matrix. */
cvtm_grid_sides cvtm_grid_sides_of(const cvtm_csr *matrix, int64_t width, int64_t height);

/* The next coarser grid: sides above one node are halved, but where the links along one side
 * are much stronger than those along the other, that one alone. */
typedef struct cvtm_grid_coarsening {
  int64_t width, height;               /* of the fine grid */
  int64_t coarse_width, coarse_height; /* the same where a side is kept */
} cvtm_grid_coarsening;

cvtm_status cvtm_grid_coarsen(const cvtm_csr *matrix, int64_t width, int64_t height, int threads,
                              cvtm_grid_coarsening *grids, cvtm_error *error);

/* Bilinear interpolation from the coarse grid, rows and columns row by row; centre (the
 * caller frees): the fine node under each coarse one. */
cvtm_status cvtm_grid_prolongation(cvtm_grid_coarsening grids, cvtm_grid_sides sides, int threads,
                                   cvtm_csr *prolongation, int32_t **centre, cvtm_error *error);

#endif
