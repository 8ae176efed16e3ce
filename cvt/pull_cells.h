/* Inside cvt only, on the CPU: the derivatives of pull.h for cells that are given as polygons. They
 * may be the cells of a power diagram: cell i has the points x where |x - x_i|^2 - w_i is less than
 * for all other sites. If all weights w_i are 0, it is a Voronoi cell. If weights change, the edge
 * between V_i and V_j moves with the velocity (dw_i - dw_j) / (2 |x_j - x_i|) along its normal. Any
 * number of cells may meet a pixel, and all computations are in double precision. */
#pragma once

#include "base/domain.h"
#include "meshes/mesh.h"

typedef struct cvtm_pull_cells {
  cvtm_domain domain;      /* not periodic */
  const cvtm_cells *cells; /* convex */
  const double *sites;     /* 2 for each cell */
  /* The density in double precision is the sum of `density` and `rest`. `rest` may be NULL. */
  const float *density, *rest;
} cvtm_pull_cells;

/* Computes the derivatives with respect to the density, one number for each pixel. phi: 4 for each
 * cell, as in cvtm_cvt_pull_back. threads: 0: all. Returns 0 if memory runs out. */
int cvtm_pull_cells_to_density(const cvtm_pull_cells *c, const double *phi, int threads,
                               double *by_density);

/* Computes the derivatives with respect to the sites, 2 for each cell, and to the weights, 1 for
 * each cell. The phi_i are fixed functions of x, which do not change with the sites. by_sites or
 * by_weights may be NULL. */
void cvtm_pull_cells_to_sites(const cvtm_pull_cells *c, const double *phi, double *by_sites,
                              double *by_weights);

/* Computes one number for each edge of the cells: the integral of rho along the edge, divided by 2
 * |x_j - x_i|; 0 on the border. This is minus the derivative of the mass of cell i with respect to
 * w_j, so the couplings are the weights of the graph Laplacian of the diagram. */
void cvtm_pull_cells_couplings(const cvtm_pull_cells *c, double *coupling);
