/* Inside lcp only: coarse unknowns for matrices without a grid, as aggregates of strongly
 * joined unknowns (Vanek, Mandel & Brezina 1996, "Algebraic multigrid by smoothed aggregation
 * for second and fourth order elliptic problems"). */
#ifndef CVTMESH_LCP_SPARSE_AGGREGATION_H
#define CVTMESH_LCP_SPARSE_AGGREGATION_H

#include "lcp/sparse.h"

/* The pattern of matrix is symmetric. smoothed: one Jacobi step on the piecewise constant
 * interpolation, for linear corrections; bounds need the plain one. Rows without a strong
 * link are left out (rows of zeros). centre: the root of each aggregate; the caller frees.
 * level: 0 for the finest; links count as strong from a lower limit on coarser ones. */
cvtm_status cvtm_aggregate(const cvtm_csr *matrix, int level, int smoothed, cvtm_csr *prolongation,
                           int32_t **centre, cvtm_error *error);

#endif
