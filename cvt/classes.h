/* Sites of several classes, dots of several inks for example, placed so that the sites of each
 * class and all sites together are well spaced (the aim of Wei 2010, "Multi-class blue noise
 * sampling"). Minimised is
 *
 *   F(X) = sum_k F_k(X_k) + w F_u(X),
 *
 * the CVT energy of the sites X_k of each class k by the density rho_k = s_k^2, and that of their
 * union X by rho_u = (sum_k s_k)^2. The wanted numbers of sites in a unit of area, s_k, are the
 * asymptotic densities of optimal tessellations by rho_k and rho_u, so both terms ask for the same
 * local numbers, and every cell of either has an energy near 5 / (18 sqrt 3). The gradient of site
 * i in class k is 2 m_k (x_i - c_k) + 2 w m_u (x_i - c_u) by the masses and centroids of its two
 * cells. */
#ifndef CVTMESH_CVT_CLASSES_H
#define CVTMESH_CVT_CLASSES_H

#include "cvt/cvt.h"

CVTM_API_BEGIN

enum { CVTM_CLASSES_MAX = 64 };

typedef struct cvtm_classes_options {
  double union_weight;  /* w >= 0; 0: each class is placed alone; 0.5 */
  cvtm_cvt_options cvt; /* of all descents; no site is fixed, and the energy is the exact one */
  CVTM_RESERVED(8);
} cvtm_classes_options;

void cvtm_classes_defaults(cvtm_classes_options *options);

typedef struct cvtm_classes_result {
  cvtm_cvt_result descent; /* of F */
  /* Energies over the bound of cvtm_cvt_energy_bound: of each class, 0 if it has no sites, and of
   * the union by rho_u. */
  double ratio[CVTM_CLASSES_MAX], union_ratio;
  CVTM_RESERVED(8);
} cvtm_classes_result;

/* Shares `count` sites: class k, of the sites start[k] .. start[k + 1) - 1, gets a number
 * proportional to amount[k] >= 0. Fails with CVTM_ERROR_ARGUMENT if all amounts are zero. */
cvtm_status cvtm_classes_share(const double *amount, int classes, int64_t count, int64_t *start,
                               cvtm_error *error);

/* Places the sites (host, 2 * start[classes]); those of class k are start[k] .. start[k + 1) - 1.
 * intensity[k]: width * height floats >= 0, finite, proportional to s_k, and not all zero if the
 * class has sites. The start is a tessellation of each class alone. The same seed gives the same
 * bits for any number of threads. Device memory: that of cvtm_cvt_create for all sites, and as much
 * again for the sites and pixels of the classes. */
cvtm_status cvtm_classes_solve(cvtm_device *device, cvtm_domain domain,
                               const float *const *intensity, int classes, const int64_t *start,
                               const cvtm_classes_options *options, double *sites,
                               cvtm_classes_result *result);

CVTM_API_END
#endif
