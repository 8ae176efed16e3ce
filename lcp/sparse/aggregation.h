/* Inside lcp only: coarse unknowns for matrices without a grid, as aggregates of strongly
 * joined unknowns (Vanek, Mandel & Brezina 1996, "Algebraic multigrid by smoothed aggregation
 * for second and fourth order elliptic problems"). */
#ifndef CVTMESH_LCP_SPARSE_AGGREGATION_H
#define CVTMESH_LCP_SPARSE_AGGREGATION_H

#include "lcp/sparse.h"

/* Interpolation from aggregates. The pattern of the matrix is symmetric. smoothed: a Jacobi step on
 * the piecewise constant interpolation, for corrections without bounds; else piecewise constant.
 * Rows without a strong link get empty rows. centre: the root row of each aggregate; the caller
 * frees. level: 0 for the finest; the limit for strong links falls from level to level. */
cvtm_status cvtm_aggregate(const cvtm_csr *matrix, int level, int smoothed, cvtm_csr *prolongation,
                           int32_t **centre, cvtm_error *error);

#endif
