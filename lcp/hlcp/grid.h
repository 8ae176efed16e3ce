/* HLCPs on a grid of pixels, with two matrices that differ only in their diagonals:
 *
 *     (L + a I) z - (L + b I) w = q,  z, w >= 0,  z'w = 0.
 *
 * L is the five-point operator of a cvtm_lcp_grid, whose `diagonal` and `mass` are not used, and a,
 * b >= 0. The method is semismooth Newton on x = z - w. The system of each step is symmetric: its
 * matrix is L plus a diagonal, with a where x > 0 and b elsewhere. One multigrid cycle solves it
 * approximately. */
#pragma once

#include "lcp/hlcp.h"
#include "lcp/lcp.h"

CVTM_C_BEGIN

typedef struct cvtm_hlcp_grid cvtm_hlcp_grid;

/* Allocates memory for grids of one size. tolerance: on the 2-norm of the residual; absolute. */
cvtm_status cvtm_hlcp_grid_create(cvtm_device *device, int64_t width, int64_t height,
                                  double tolerance, int64_t max_iterations, cvtm_hlcp_grid **hlcp);
void cvtm_hlcp_grid_destroy(cvtm_hlcp_grid *hlcp);

/* q, x, z, w: width * height doubles in device memory. x = z - w: the start if warm; on return the
 * best iterate. result->iterations counts Newton steps, linear_iterations multigrid cycles. */
cvtm_status cvtm_hlcp_grid_solve(cvtm_hlcp_grid *hlcp, const cvtm_lcp_grid *links, double a,
                                 double b, const double *q, double *x, int warm, double *z,
                                 double *w, cvtm_hlcp_result *result);

CVTM_C_END
