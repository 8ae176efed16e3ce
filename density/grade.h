/* Grading: a smooth density that is nowhere below that of the picture. u minimises
 *
 *     1/2 |u - rho|^2 + lambda/2 |grad u|^2  with  u >= rho  (and u <= upper),
 *
 * an obstacle problem: with L the five-point Laplacian between pixels of the mask (Neumann), the
 * LCP of A = lambda L + I, b = rho and the lower bound rho. */
#ifndef CVTMESH_DENSITY_GRADE_H
#define CVTMESH_DENSITY_GRADE_H

#include "lcp/lcp.h"

CVTM_API_BEGIN

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

CVTM_API_END
#endif
