/* Asymmetric (expectile) smoothing: u minimises
 *
 *     sum of weights (u - rho)^2 / 2 + lambda/2 |grad u|^2,
 *
 * where a pixel above rho weighs 1 and one below (1 - p)/p if p <= 1/2, and a pixel above
 * p/(1 - p) and one below 1 if p > 1/2. p -> 0 is grading (from above), p = 1/2 plain smoothing,
 * p -> 1 its mirror image from below. With u = rho + z - w this is the HLCP
 *
 *     (lambda L + a) z - (lambda L + b) w = -lambda L rho,  z, w >= 0,  z'w = 0,
 *
 * which for p <= 1/2 satisfies Theorem 2 of the multisplitting paper with Omega = I. Its sweeps
 * need many iterations: 160, 1,240 and 11,920 at p = 0.1 and lambda = 1, 10 and 100. */
#ifndef CVTMESH_DENSITY_BIAS_H
#define CVTMESH_DENSITY_BIAS_H

#include "lcp/hlcp.h"

CVTM_API_BEGIN

typedef struct cvtm_bias_options {
  double p;                  /* 0 < p < 1 */
  double lambda;             /* > 0, square pixels */
  cvtm_hlcp_method method;   /* newton: its linear systems by multigrid; or sweeps */
  double tolerance;          /* on ||A z - B w - q||_2, absolute */
  int64_t max_sweeps;        /* 0: 1,000,000 */
  cvtm_hlcp_monitor monitor; /* of the sweeps */
  void *monitor_context;
  CVTM_RESERVED(5);
} cvtm_bias_options;

typedef struct cvtm_bias cvtm_bias;

/* Allocates all memory for pictures of one size; mask as for cvtm_grade_create. */
cvtm_status cvtm_bias_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                             const cvtm_bias_options *options, cvtm_bias **bias);
/* rho, u: width * height doubles in device memory; rho must be 0 outside the mask.
 * result->stop says whether it converged. */
cvtm_status cvtm_bias_solve(cvtm_bias *bias, const double *rho, double *u,
                            cvtm_hlcp_result *result);
void cvtm_bias_destroy(cvtm_bias *bias);

typedef struct cvtm_bias_forecast {
  int64_t sweeps; /* to the tolerance; -1: no number can be told */
  double factor;  /* by which a sweep lowers the residual in the end */
} cvtm_bias_forecast;

/* What mmgs would need for a picture: 400 of its sweeps on the middle 64 x 64 pixels, extrapolated.
 * rho as for cvtm_bias_solve; masks are left out. */
cvtm_status cvtm_bias_forecast_sweeps(cvtm_device *device, int width, int height,
                                      const cvtm_bias_options *options, const double *rho,
                                      cvtm_bias_forecast *forecast);

CVTM_API_END
#endif
