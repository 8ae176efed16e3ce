/* Sites of several classes, for example the dots of several inks, such that the sites of each class
 * and all sites together are well spaced (as in Wei 2010, "Multi-class blue noise sampling"). The
 * solver minimises
 *
 *   F(X) = sum_k F_k(X_k) + w F_u(X).
 *
 * F_k is the CVT energy of the sites X_k of class k for the density rho_k = s_k^2, and F_u that of
 * their union X for rho_u = (sum_k s_k)^2, where s_k is the wanted number of sites of class k per
 * unit of area. Optimal tessellations for rho_k and rho_u have the asymptotic densities s_k and
 * sum_k s_k. (Where s_k varies within a cell, one factor of the square is its mean over a cell, so
 * that the number of sites follows the mean.) So F_k and F_u ask for the same local numbers of
 * sites, and the energy of every cell is about 5 / (18 sqrt 3).
 *
 * Each site i of class k has two cells: one among the sites of its class, with the mass m_k and the
 * centroid c_k, and one in the union, with m_u and c_u. The gradient is dF/dx_i = 2 m_k
 * (x_i - c_k) + 2 w m_u (x_i - c_u). */
#pragma once

#include "cvt/cvt.h"

CVTM_API_BEGIN

enum { CVTM_CLASSES_MAX = 64 };

/* Comments end with the default value, if it is not 0 or NULL; the defaults of `cvt` are those of
 * cvtm_cvt_defaults. */
typedef struct cvtm_classes_options {
  double union_weight;  /* w >= 0; with 0 each class is placed alone; 0.5 */
  cvtm_cvt_options cvt; /* for all descents; fixed must be 0, and the energy CVTM_CVT_EXACT */
  cvtm_cvt **plan;      /* NULL, or for monitors: *plan is the plan of all sites during the descent
                           of F, else NULL */
  CVTM_RESERVED(7);
} cvtm_classes_options;

void cvtm_classes_defaults(cvtm_classes_options *options);

typedef struct cvtm_classes_result {
  cvtm_cvt_result descent; /* the descent of F */
  /* Energies divided by cvtm_cvt_energy_bound. ratio[k]: F_k, or 0 if class k has no sites;
   * union_ratio: F_u. */
  double ratio[CVTM_CLASSES_MAX], union_ratio;
  CVTM_RESERVED(8);
} cvtm_classes_result;

/* Divides `count` sites among the classes in proportion to amount[k] >= 0. Class k gets the sites
 * start[k] .. start[k + 1] - 1; start: classes + 1. CVTM_ERROR_ARGUMENT: the amounts are all zero
 * or not finite, or there are too many classes. */
cvtm_status cvtm_classes_share(const double *amount, int classes, int64_t count, int64_t *start,
                               cvtm_error *error);

/* Places the sites (host, 2 * start[classes]); class k has the sites start[k] .. start[k + 1] - 1.
 * intensity[k]: width * height floats, finite and >= 0, proportional to s_k, and not all zero if
 * the class has sites. The solver begins with a tessellation of each class alone. The same seed
 * gives the same bits for any number of threads. Fails with CVTM_ERROR_ARGUMENT for invalid
 * options, intensities or numbers of sites, and with the errors of cvtm_cvt_solve. Device memory:
 * that of a plan (cvtm_cvt_create) of the union, and of a plan of each class. */
cvtm_status cvtm_classes_solve(cvtm_device *device, cvtm_domain domain,
                               const float *const *intensity, int classes, const int64_t *start,
                               const cvtm_classes_options *options, double *sites,
                               cvtm_classes_result *result);

CVTM_API_END
