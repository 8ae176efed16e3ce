/* Derivatives of integrals over Voronoi cells, exact up to rounding, in double precision on the
 * host. With rho constant on each pixel, V_i the cell of site x_i within the domain, and
 * polynomials
 *
 *     phi_i(x) = a_i + b_i . (x - x_i) + c_i |x - x_i|^2,
 *
 * L = sum_i integral over V_i of rho phi_i is linear in rho: its derivative by a pixel's density is
 * the sum of the integrals of phi_i over the parts of the pixel. Where the phi_i stay and a site
 * moves, L changes by what the cells' boundaries sweep: the point x of the edge between V_i and V_j
 * moves with the normal velocity ((x - x_i) . dx_i - (x - x_j) . dx_j) / |x_j - x_i| (Du, Faber &
 * Gunzburger 1999). Energy, mass and centroid follow by the chain rule. */
#ifndef CVTMESH_CVT_DIFFERENTIAL_H
#define CVTMESH_CVT_DIFFERENTIAL_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* The polygons of the cells. */
typedef struct cvtm_differential cvtm_differential;

/* sites: 2 * count, copied. The domain must not be periodic (CVTM_ERROR_UNSUPPORTED). Fails as
 * cvtm_delaunay does. */
cvtm_status cvtm_differential_create(cvtm_domain domain, const double *sites, int64_t count,
                                     cvtm_differential **made, cvtm_error *error);
void cvtm_differential_destroy(cvtm_differential *d);

/* density: width * height. mass: count; first: 2 * count, integrals of rho (x - x_i); second:
 * count, of rho |x - x_i|^2. */
void cvtm_differential_moments(const cvtm_differential *d, const double *density, double *mass,
                               double *first, double *second);

/* phi: a, b (2), c of each cell. by_density: width * height; by_sites: 2 * count, where the phi
 * stay as functions of x. Either may be NULL. The sums do not depend on the number of threads. */
void cvtm_differential_pull_back(const cvtm_differential *d, const double *density,
                                 const double *phi, double *by_density, double *by_sites);

CVTM_API_END
#endif
