/* Inside cvt only, on the CPU: the derivatives of pull.h for cells that are given as polygons. The
 * cells may be those of a power diagram: cell i has the points where |x - x_i|^2 - w_i is smallest.
 * With all weights 0 these are Voronoi cells. If weights change, the edge between V_i and V_j moves
 * with the velocity (dw_i - dw_j) / (2 |x_j - x_i|) along its normal. Any number of cells may meet
 * a pixel, and all computations are in double precision. */
#pragma once

#include "base/domain.h"
#include "meshes/mesh.h"

typedef struct cvtm_pull_cells {
  cvtm_domain domain;      /* not periodic */
  const cvtm_cells *cells; /* convex */
  const double *sites;     /* 2 for each cell */
  /* The sum of both is the density in double precision. rest may be NULL. */
  const float *density, *rest;
} cvtm_pull_cells;

/* by_density: one number for each pixel. threads: 0 means all. Returns 0 without memory. */
int cvtm_pull_cells_to_density(const cvtm_pull_cells *c, const double *phi, int threads,
                               double *by_density);

/* by_sites: 2 for each cell, for phi that do not change as functions of x. by_weights: 1 for each
 * cell. Either may be NULL. */
void cvtm_pull_cells_to_sites(const cvtm_pull_cells *c, const double *phi, double *by_sites,
                              double *by_weights);

/* coupling: one number for each edge of the cells: the integral of rho over the edge, divided by 2
 * |x_j - x_i|; 0 on the border. Its negative is the derivative of the mass of cell i by w_j, so the
 * couplings are the weights of the graph Laplacian of the diagram. */
void cvtm_pull_cells_couplings(const cvtm_pull_cells *c, double *coupling);
