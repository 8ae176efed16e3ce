/* Asymmetric smoothing, grading, and the bound on the gradation of sizes, in this order: the last
 * steps of density/pipeline.h. */
#ifndef CVTMESH_DENSITY_CONDITION_H
#define CVTMESH_DENSITY_CONDITION_H

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
 * where a pixel above rho weighs 1 and one below (1 - p)/p if p <= 1/2, and a pixel above
 * p/(1 - p) and one below 1 if p > 1/2. p -> 0 is grading (from above), p = 1/2 plain smoothing,
 * p -> 1 its mirror image from below. With u = rho + z - w this is the HLCP
 *
 *     (lambda L + a) z - (lambda L + b) w = -lambda L rho,  z, w >= 0,  z'w = 0,
 *
 * solved by a semismooth Newton method whose linear systems multigrid solves. */

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

/* --- grading ---------------------------------------------------------------------------------- */

/* Grading: a smooth density that is nowhere below that of the picture. u minimises
 *
 *     1/2 |u - rho|^2 + lambda/2 |grad u|^2  with  u >= rho  (and u <= upper),
 *
 * an obstacle problem: with L the five-point Laplacian between pixels of the mask (Neumann), the
 * LCP of A = lambda L + I, b = rho and the lower bound rho. */

typedef struct cvtm_grade cvtm_grade;

/* Allocates all memory for pictures of one size. mask: width * height in host memory, 0 where u is
 * to be 0; NULL: nowhere. lambda > 0 in square pixels. tolerance: absolute, on the 2-norm of the
 * natural residual. */
cvtm_status cvtm_grade_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double lambda, double tolerance, cvtm_grade **grade);
/* rho, upper (NULL: none), u: width * height doubles in device memory; rho must be 0 outside the
 * mask. CVTM_ERROR_INPUT if upper < rho anywhere. result->stop says whether it converged. */
cvtm_status cvtm_grade_solve(cvtm_grade *grade, const double *rho, const double *upper, double *u,
                             cvtm_lcp_result *result);
void cvtm_grade_destroy(cvtm_grade *grade);

/* --- fast sweeping ---------------------------------------------------------------------------- */

/* Sizes with a bounded gradation, and distances around obstacles, by fast sweeping (Zhao 2005,
 * with Godunov's upwind differences). On the CPU alone: the sweeps are fast because every pixel
 * uses those just before it, and a picture needs them once. */

/* The largest field with |grad v| <= slowness that is nowhere above `value`, in place: away
 * from obstacles min over y of value(y) + slowness |x - y|, up to the first-order error of the
 * differences. value: width * height, infinite where nothing is known; slowness: per pixel, or NULL
 * for `constant`; mask: 0 where no path goes (values there stay), NULL: everywhere. */
void cvtm_eikonal(int width, int height, const uint8_t *mask, const double *slowness,
                  double constant, double *value);

/* Distance of every pixel to the boundary between inside (nonzero) and outside, in pixels, half
 * a pixel beside it, negative inside. Infinite where there is no boundary. */
void cvtm_signed_distance(int width, int height, const uint8_t *inside, double *distance);

/* --- all of these ----------------------------------------------------------------------------- */

typedef struct cvtm_condition_options {
  double bias;       /* p of the asymmetric smoothing; 0.5 */
  double smooth;     /* its lambda; 0: none */
  double grade;      /* lambda of grading; 0: none */
  double grade_max;  /* upper bound of grading, where the density is not larger; infinite */
  double grade_size; /* largest slope of the size density^(-1/4); 0: any */
  CVTM_RESERVED(7);
} cvtm_condition_options;

void cvtm_condition_defaults(cvtm_condition_options *options);
/* Nonzero if the options change anything. */
int cvtm_condition_wanted(const cvtm_condition_options *options);

typedef struct cvtm_condition_result {
  cvtm_hlcp_result bias; /* of the steps that the options ask for */
  cvtm_lcp_result grade;
  int converged;
  CVTM_RESERVED(6);
} cvtm_condition_result;

/* Changes density (host, width * height, >= 0, 0 where mask is 0) in place. mask: width * height,
 * or NULL; outside it the density stays 0. The residuals of the complementarity problems end below
 * 1e-8 times the largest density (2-norm), or at rounding. */
cvtm_status cvtm_density_condition(cvtm_device *device, int width, int height, const uint8_t *mask,
                                   const cvtm_condition_options *options, double *density,
                                   cvtm_condition_result *result);

/* The same of a density in device memory. Waits for the device. CVTM_ERROR_UNSUPPORTED with a
 * grade_size, which is computed on the host. */
cvtm_status cvtm_density_condition_on_device(cvtm_device *device, int width, int height,
                                             const uint8_t *mask,
                                             const cvtm_condition_options *options, double *density,
                                             cvtm_condition_result *result);

/* density = h^-4 for the largest sizes h <= density^(-1/4) with |grad h| <= slope; paths along
 * which the slope counts stay in the mask. */
void cvtm_grade_size(int width, int height, const uint8_t *mask, double slope, double *density);

CVTM_API_END
#endif
