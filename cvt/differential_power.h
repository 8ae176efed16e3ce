/* Inside the library: cvtm_differential of a power diagram, and derivatives by its weights w. The
 * cell of site i is where |x - x_i|^2 - w_i is least. Where a weight changes, the point of the edge
 * between V_i and V_j moves with the normal velocity (dw_i - dw_j) / (2 |x_j - x_i|). */
#ifndef CVTMESH_CVT_DIFFERENTIAL_POWER_H
#define CVTMESH_CVT_DIFFERENTIAL_POWER_H

#include "cvt/differential.h"
#include "meshes/mesh.h"

/* sites, 2 * count, and weights, count, are copied. cells: the power cells in the domain, which is
 * not periodic, with their neighbours; read in this call only. Their corners are computed anew. */
cvtm_status cvtm_differential_create_power(cvtm_domain domain, const double *sites,
                                           const double *weights, const cvtm_cells *cells,
                                           cvtm_differential **made, cvtm_error *error);

/* by_weights: count. density and phi as of cvtm_differential_pull_back. */
void cvtm_differential_pull_to_weights(const cvtm_differential *d, const double *density,
                                       const double *phi, double *by_weights);

/* The graph Laplacian of the diagram. Row i has the couplings start[i] .. start[i + 1] - 1, each to
 * the site in neighbor: the integral of rho over the common edge over 2 |x_j - x_i|. Minus that is
 * the derivative of the mass of cell i by w_j, and their sum that by w_i. */
typedef struct cvtm_laplacian {
  int64_t count;
  int64_t *start;
  int32_t *neighbor;
  double *coupling;
} cvtm_laplacian;

cvtm_status cvtm_differential_laplacian(const cvtm_differential *d, const double *density,
                                        cvtm_laplacian *made, cvtm_error *error);
void cvtm_laplacian_free(cvtm_laplacian *laplacian);

#endif
