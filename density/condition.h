/* The last steps of density/pipeline.h, in this order: asymmetric smoothing, grading, and the bound
 * on the gradation of sizes. */
#pragma once

#include "base/api.h"
#include "base/device.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"

#include <stdint.h>

CVTM_API_BEGIN

/* --- asymmetric smoothing --------------------------------------------------------------------- */

/* Asymmetric (expectile) smoothing: u minimises
 *
 *     sum of weights (u - rho)^2 / 2 + lambda/2 |grad u|^2,
 *
 * where the weight of a pixel is a if u > rho and b if u < rho: a = 1, b = (1 - p)/p for p <= 1/2,
 * and a = p/(1 - p), b = 1 for p > 1/2. p -> 0 is grading (u >= rho), p = 1/2 is plain smoothing,
 * and p -> 1 gives u <= rho. With u = rho + z - w this is the HLCP
 *
 *     (lambda L + a) z - (lambda L + b) w = -lambda L rho,  z, w >= 0,  z'w = 0,
 *
 * where L is the five-point Laplacian. A semismooth Newton method solves it; multigrid solves its
 * linear systems. */

typedef struct cvtm_bias_options {
  double p;         /* 0 < p < 1 */
  double lambda;    /* > 0, square pixels */
  double tolerance; /* on ||A z - B w - q||_2, absolute */
  CVTM_RESERVED(5);
} cvtm_bias_options;

typedef struct cvtm_bias cvtm_bias;

/* Allocates all memory for pictures of width * height pixels; mask as for cvtm_grade_create. */
cvtm_status cvtm_bias_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                             const cvtm_bias_options *options, cvtm_bias **bias);
/* rho, u: width * height doubles in device memory; rho must be 0 outside the mask. result->stop
 * tells whether u has converged. */
cvtm_status cvtm_bias_solve(cvtm_bias *bias, const double *rho, double *u,
                            cvtm_hlcp_result *result);
void cvtm_bias_destroy(cvtm_bias *bias);

/* --- grading ---------------------------------------------------------------------------------- */

/* Grading makes the smoothest density that is nowhere below rho: u minimises
 *
 *     1/2 |u - rho|^2 + lambda/2 |grad u|^2  with  u >= rho  (and u <= upper),
 *
 * This obstacle problem is the LCP with A = lambda L + I, b = rho and the lower bound rho, where L
 * is the five-point Laplacian on the pixels of the mask with Neumann boundary conditions. */

typedef struct cvtm_grade cvtm_grade;

/* Allocates all memory for pictures of width * height pixels. mask: width * height in host memory,
 * 0 where u is fixed to 0; NULL: no pixel is fixed. lambda > 0 in square pixels. tolerance:
 * absolute, on the 2-norm of the natural residual. */
cvtm_status cvtm_grade_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double lambda, double tolerance, cvtm_grade **grade);
/* rho, upper (NULL: none), u: width * height doubles in device memory; rho must be 0 outside the
 * mask. CVTM_ERROR_INPUT if upper < rho anywhere. result->stop tells whether u has converged. */
cvtm_status cvtm_grade_solve(cvtm_grade *grade, const double *rho, const double *upper, double *u,
                             cvtm_lcp_result *result);
void cvtm_grade_destroy(cvtm_grade *grade);

/* --- fast sweeping ---------------------------------------------------------------------------- */

/* Fast sweeping (Zhao 2005, with Godunov's upwind differences) computes sizes with a bounded
 * gradation, and distances around obstacles. Runs only on the CPU: a sweep is fast because each
 * pixel uses the values just computed, and a picture needs only one solve. */

/* Replaces `value` by the largest field v <= value with |grad v| <= slowness. Without obstacles
 * v(x) is the minimum over y of value(y) + slowness |x - y|, up to the first-order error of the
 * differences. value: width * height, infinite where there is no bound. slowness: one per pixel;
 * NULL: `constant` everywhere. mask: 0 for obstacles, which no path crosses and whose values do not
 * change; NULL: no obstacles. */
void cvtm_eikonal(int width, int height, const uint8_t *mask, const double *slowness,
                  double constant, double *value);

/* Sets the signed distance of every pixel to the boundary between inside (nonzero) and outside, in
 * pixels, negative inside. A pixel next to the boundary has a distance of 1/2. All distances are
 * infinite if there is no boundary. */
void cvtm_signed_distance(int width, int height, const uint8_t *inside, double *distance);

/* --- all steps -------------------------------------------------------------------------------- */

/* Each comment ends with the default. */
typedef struct cvtm_condition_options {
  double bias;       /* p of the asymmetric smoothing; 0.5 */
  double smooth;     /* lambda of the asymmetric smoothing; 0: no smoothing */
  double grade;      /* lambda of grading; 0: no grading */
  double grade_max;  /* upper bound of u; where rho is larger, rho is the bound; infinite */
  double grade_size; /* largest slope of the size density^(-1/4); 0: no bound */
  CVTM_RESERVED(7);
} cvtm_condition_options;

void cvtm_condition_defaults(cvtm_condition_options *options);
/* Nonzero if the options change the density. */
int cvtm_condition_wanted(const cvtm_condition_options *options);

typedef struct cvtm_condition_result {
  /* Zero if the options omit the step: */
  cvtm_hlcp_result bias;
  cvtm_lcp_result grade;
  int converged;
  CVTM_RESERVED(6);
} cvtm_condition_result;

/* Changes density (host, width * height, >= 0) in place. mask: width * height, or NULL; where it is
 * 0 the density must be 0 and remains 0. The complementarity problems are solved until the 2-norm
 * of the residual is below 1e-8 times the largest density, or rounding prevents a decrease. */
cvtm_status cvtm_density_condition(cvtm_device *device, int width, int height, const uint8_t *mask,
                                   const cvtm_condition_options *options, double *density,
                                   cvtm_condition_result *result);

/* cvtm_density_condition for a density in device memory. Waits for the device. Fails with
 * CVTM_ERROR_UNSUPPORTED if grade_size is set, because that step runs on the host. */
cvtm_status cvtm_density_condition_on_device(cvtm_device *device, int width, int height,
                                             const uint8_t *mask,
                                             const cvtm_condition_options *options, double *density,
                                             cvtm_condition_result *result);

/* Sets density = h^-4, where h is the largest field of sizes with h <= density^(-1/4) and |grad h|
 * <= slope. The slope is not bounded across pixels where mask is 0. */
void cvtm_grade_size(int width, int height, const uint8_t *mask, double slope, double *density);

CVTM_API_END
