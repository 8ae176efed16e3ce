/* Inside lcp only: coarse unknowns for CSR matrices. On a grid of width x height nodes, line by
 * line: in a halved direction coarse node I is fine node 2 I + 1, and the others are interpolated.
 * Without a grid: aggregates of strongly joined unknowns (Vanek, Mandel & Brezina 1996, "Algebraic
 * multigrid by smoothed aggregation for second and fourth order elliptic problems"). */
#ifndef CVTMESH_LCP_SPARSE_COARSENING_H
#define CVTMESH_LCP_SPARSE_COARSENING_H

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

/* Interpolation from aggregates. The pattern of the matrix is symmetric. smoothed: a Jacobi step on
 * the piecewise constant interpolation, for corrections without bounds; else piecewise constant.
 * Rows without a strong link get empty rows. centre: the root row of each aggregate; the caller
 * frees. level: 0 for the finest; the limit for strong links falls from level to level. */
cvtm_status cvtm_aggregate(const cvtm_csr *matrix, int level, int smoothed, cvtm_csr *prolongation,
                           int32_t **centre, cvtm_error *error);

#endif
