/* Inside cvt only, on the CPU: the derivatives of pull.h where the cells are given as polygons.
 * They may be those of a power diagram, where the cell of site i has the points with the least |x -
 * x_i|^2 - w_i; a Voronoi cell is one of weight 0. Where a weight changes, the edge between V_i and
 * V_j moves with the velocity (dw_i - dw_j) / (2 |x_j - x_i|) along its normal. Any number of cells
 * may meet a pixel, and all is in double precision. */
#ifndef CVTMESH_CVT_PULL_CELLS_H
#define CVTMESH_CVT_PULL_CELLS_H

#include "base/domain.h"
#include "meshes/mesh.h"

typedef struct cvtm_pull_cells {
  cvtm_domain domain;      /* not periodic */
  const cvtm_cells *cells; /* convex */
  const double *sites;     /* 2 for each cell */
  /* The density is the sum of two, by which it has the precision of a double; rest may be NULL. */
  const float *density, *rest;
} cvtm_pull_cells;

/* by_density: one number for each pixel. threads: 0: all. Returns 0 if memory ran out. */
int cvtm_pull_cells_to_density(const cvtm_pull_cells *c, const double *phi, int threads,
                               double *by_density);

/* by_sites: 2 for each cell, where the phi stay as functions of x; by_weights: 1. Either may be
 * NULL. */
void cvtm_pull_cells_to_sites(const cvtm_pull_cells *c, const double *phi, double *by_sites,
                              double *by_weights);

/* coupling: one number for each edge of the cells: the integral of rho over the edge over
 * 2 |x_j - x_i|, 0 on the border. Minus that is the derivative of the mass of cell i by w_j; so
 * these are the entries of the graph Laplacian of the diagram. */
void cvtm_pull_cells_couplings(const cvtm_pull_cells *c, double *coupling);

#endif
