/* Tessellations whose cells all have the same mass (capacity-constrained CVT). The cells are power
 * cells: the cell of site i consists of the points where |x - x_i|^2 - w_i is less than for other
 * sites. The weights w are chosen such that each of the n cells has the mass M / n, where M is the
 * integral of rho; then the cells have the least transport cost, sum_i integral over cell i of
 * rho |x - x_i|^2 (Aurenhammer, Hoffmann & Aronov 1998). The sites move to lower cost (de Goes,
 * Breeden, Ostromoukhov & Desbrun 2012), and end at the centroids of their cells. The local density
 * of the sites is proportional to rho, not to its square root as in a CVT without weights. */
#pragma once

#include "cvt/cvt.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

typedef struct cvtm_equal_mass_result {
  cvtm_cvt_result descent;  /* the objective is the transport cost */
  int64_t start_iterations; /* iterations of the CVT without weights from which the sites start */
  double target;            /* mass of a cell */
  double deviation;         /* largest |mass - target| / target */
  double deviation_rms;     /* root of the mean square of (mass - target) / target */
  int converged;            /* deviation <= the tolerance */
  int64_t newton_steps, diagrams, solver_iterations; /* for the weights, over the whole run */
  double seconds_start, seconds_diagrams, seconds_solver;
  CVTM_RESERVED(8);
} cvtm_equal_mass_result;

/* 5 / (18 sqrt 3) M A / count, where A is the area with rho > 0: for many sites, the transport cost
 * of regular hexagons of equal mass. */
double cvtm_equal_mass_bound(cvtm_domain domain, const float *density, int64_t count);

/* cvtm_cvt_sample with a local density of the sites proportional to rho. */
cvtm_status cvtm_equal_mass_sample(cvtm_domain domain, const float *density, int64_t count,
                                   uint64_t seed, cvtm_cvt_start start, double *sites,
                                   cvtm_error *error);

/* Computes the weights (host, count, with mean 0) with which the power cells of the sites (host,
 * 2 * count, inside the domain) have equal masses, to a relative tolerance > 0. CVTM_ERROR_INPUT:
 * two sites coincide. If rounding errors are larger than the tolerance, the weights are the best
 * found, and result->converged is 0. moments: those of the power cells; may be NULL. */
cvtm_status cvtm_equal_mass_weights(cvtm_cvt *cvt, const double *sites, int64_t count,
                                    double tolerance, double *weights,
                                    const cvtm_cvt_moments *moments,
                                    cvtm_equal_mass_result *result);

/* Places and optimises sites and weights, as cvtm_cvt_solve with the same options, with the exact
 * energy. Sites that are not given begin as a CVT of rho^2 without weights, whose cells have nearly
 * equal masses of rho; the monitor gets the iterations of that CVT as records of 0 sites. */
cvtm_status cvtm_equal_mass_solve(cvtm_cvt *cvt, const cvtm_cvt_options *options, double tolerance,
                                  int64_t given, double *sites, double *weights, int64_t count,
                                  const cvtm_cvt_moments *moments, cvtm_equal_mass_result *result);

/* Computes the power cells in the domain, and the regular triangulation of the sites, the dual of
 * their power diagram in the plane (cvtm_regular_triangulation); cells or mesh may be NULL. The
 * sites must be inside the domain. threads: the number of threads on the host; 0: all. */
cvtm_status cvtm_power_diagram(cvtm_domain domain, const double *sites, const double *weights,
                               int64_t count, int threads, cvtm_cells *cells, cvtm_mesh *mesh,
                               cvtm_error *error);

CVTM_API_END
