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
 * solved by a semismooth Newton method whose linear systems multigrid solves. */
#ifndef CVTMESH_DENSITY_BIAS_H
#define CVTMESH_DENSITY_BIAS_H

#include "lcp/hlcp.h"

CVTM_API_BEGIN

typedef struct cvtm_bias_options {
  double p;         /* 0 < p < 1 */
  double lambda;    /* > 0, square pixels */
  double tolerance; /* on ||A z - B w - q||_2, absolute */
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

CVTM_API_END
#endif
