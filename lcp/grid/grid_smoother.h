/* Inside lcp/grid only: the smoother at a node, projected SOR on the five-point problem and
 * Gauss-Seidel on coarse levels. Sweeps run by colours: red-black on five points, four
 * colours on nine. */
#ifndef CVTMESH_LCP_GRID_GRID_SMOOTHER_H
#define CVTMESH_LCP_GRID_GRID_SMOOTHER_H

#include "lcp/grid/grid_operator.h"

/* The value that projected SOR gives to node (i, j). Where the diagonal entry is 0, x stays. */
CVTM_HD double cvtm_grid_relaxed(const cvtm_grid_problem *p, const double *x, int64_t i, int64_t j,
                                 double omega) {
  double link[4];
  const int64_t k = j * p->width + i;
  const double diagonal = cvtm_grid_links(p, i, j, link);
  const double sum = p->b[k] + cvtm_grid_neighbour_sum(p, x, i, j, link);
  double value = diagonal > 0 ? sum / diagonal : x[k];
  if (omega != 1.0) value = x[k] + omega * (value - x[k]);
  return cvtm_lcp_clip(value, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
}

/* The value that Gauss-Seidel gives to coarse node (x, y); 0 where the basis function is truncated
 * altogether. */
CVTM_HD double cvtm_grid_coarse_relaxed(const cvtm_grid_level *c, int64_t x, int64_t y) {
  double link[3][3];
  const int64_t k = y * c->width + x;
  cvtm_grid_coarse_stencil(c, x, y, link);
  if (!(link[1][1] > 0)) return 0.0;
  return (c->r[k] + cvtm_grid_coarse_neighbour_sum(c, c->e, x, y, link)) / link[1][1];
}

/* Sweeps on the coarsest level: it has at most 3 x 3 nodes, or its mass dominates its links. */
enum { CVTM_GRID_BOTTOM_SWEEPS = 8, CVTM_GRID_MASS_DOMINATED_SWEEPS = 2 };

CVTM_HD int cvtm_grid_bottom_sweeps(const cvtm_grid_level *bottom) {
  return bottom->width <= 3 && bottom->height <= 3 ? CVTM_GRID_BOTTOM_SWEEPS
                                                   : CVTM_GRID_MASS_DOMINATED_SWEEPS;
}

#endif
