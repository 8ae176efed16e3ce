/* Inside lcp/grid only: what a node adds to the natural residual, to the line search and to the
 * energy. One source for both devices, C11 and CUDA C++. */
#ifndef CVTMESH_LCP_GRID_GRID_MEASURE_H
#define CVTMESH_LCP_GRID_GRID_MEASURE_H

#include "lcp/grid/grid_operator.h"

/* The natural residual x - clip(x - (A x - b)) of a node, and the size of the terms that it is the
 * difference of, which its rounding error is proportional to. */
typedef struct cvtm_grid_natural_terms {
  double residual, size;
} cvtm_grid_natural_terms;

CVTM_HD cvtm_grid_natural_terms cvtm_grid_natural_residual(const cvtm_grid_problem *p,
                                                           const double *x, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  double link[4];
  const double diagonal = cvtm_grid_links(p, i, j, link);
  const double product = diagonal * x[k];
  const double f = product - (p->b[k] + cvtm_grid_neighbour_sum(p, x, i, j, link));
  cvtm_grid_natural_terms natural;
  natural.residual = x[k] - cvtm_lcp_clip(x[k] - f, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
  natural.size = fabs(p->b[k]) + 2 * fabs(product);
  return natural;
}

/* Adds the node's part of r'd and of d'Ad, the slope and the curvature of the energy along d. */
CVTM_HD void cvtm_grid_add_line_search(const cvtm_grid_problem *p, int64_t i, int64_t j,
                                       double *slope, double *curvature) {
  const int64_t k = j * p->width + i;
  const double d = p->d[k];
  double link[4];
  const double diagonal = cvtm_grid_links(p, i, j, link);
  *slope += d * ((p->b[k] + cvtm_grid_neighbour_sum(p, p->x, i, j, link)) - diagonal * p->x[k]);
  *curvature += d * (diagonal * d - cvtm_grid_neighbour_sum(p, p->d, i, j, link));
}

/* x of node k after a step along d, moved into its bounds. */
CVTM_HD double cvtm_grid_stepped(const cvtm_grid_problem *p, int64_t k, double step) {
  if (cvtm_grid_masked(p, k)) return 0.0;
  return cvtm_lcp_clip(p->x[k] + step * p->d[k], cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
}

/* The part of node (i, j) in the energy 1/2 x'Ax - b'x, by differences of neighbours, which do not
 * cancel as the entries of A x do. The two ends of a link inside the grid share its energy. */
CVTM_HD double cvtm_grid_node_energy(const cvtm_grid_problem *p, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  const int64_t next[4] = {k - 1, k + 1, k - p->width, k + p->width};
  const int inside[4] = {i > 0, i + 1 < p->width, j > 0, j + 1 < p->height};
  double link[4];
  double sum = 0;
  cvtm_grid_links(p, i, j, link);
  for (int side = 0; side < 4; ++side) {
    const int shared = inside[side] && !cvtm_grid_masked(p, next[side]);
    const double difference = p->x[k] - (shared ? p->x[next[side]] : 0.0);
    sum += (shared ? 0.25 : 0.5) * link[side] * difference * difference;
  }
  return sum + (0.5 * cvtm_grid_mass_at(p, k) * p->x[k] - p->b[k]) * p->x[k];
}

#endif
