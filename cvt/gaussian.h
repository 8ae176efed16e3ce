/* Gaussian blue noise (Ahmed, Ren & Wonka 2022): points that are irregular and isotropic, with
 * hardly any power at low frequencies. They minimise the energy
 *
 *   E = sum over pairs of K(x_i, x_j) - sum over points of U(x_i), U(x) = integral of K(x, y) q(y).
 *
 * Up to a constant, E is half the squared distance of the points from the wanted density q in the
 * norm of the kernel K (a maximum mean discrepancy; Graef, Potts & Steidl 2012). At each position K
 * (noise/blue_noise.h) has the width `width` / sqrt 2 times the local spacing 1 / sqrt q. On a
 * torus with a constant density, U is constant and E is the energy of Ahmed et al.; otherwise U
 * makes the points follow the density, also at its edges and at the border of the domain. */
#pragma once

#include "base/domain.h"
#include "lbfgsb/lbfgsb.h"

CVTM_API_BEGIN

/* A value of 0 disables a tolerance or limit. Comments end with the default value. */
typedef struct cvtm_gaussian_options {
  double width; /* width of K(x_i, x_j) as a function of x_i - x_j, in local spacings; 0.9 */
  int64_t max_iterations; /* with far more than 150 the points become more regular; 150 */
  double tolerance;       /* mean relative decrease of E over 10 iterations; 0 */
  double max_seconds;     /* limit for the call, which makes at least one evaluation; 0 */
  int64_t fixed;          /* the first `fixed` points do not move; 0 */
  cvtm_lbfgsb_monitor monitor;
  void *monitor_context;
  CVTM_RESERVED(8);
} cvtm_gaussian_options;

void cvtm_gaussian_defaults(cvtm_gaussian_options *options);

/* Moves points (host, 2 * count, inside the domain) to minimise E. density: width * height floats
 * on the host, >= 0, finite, not all zero, proportional to the wanted density of the points. Device
 * memory: about 600 bytes per point, and 140 for each of up to 8 nodes per point. On failure the
 * points are unchanged. The energy and its gradient differ between devices by rounding errors; so
 * optimisations on different devices end at different points of equal quality. */
cvtm_status cvtm_gaussian_noise(cvtm_device *device, cvtm_domain domain, const float *density,
                                const cvtm_gaussian_options *options, double *points, int64_t count,
                                cvtm_lbfgsb_result *result);

CVTM_API_END
