/* Model problems: the paper's three examples and a journal bearing with cavitation. */
#ifndef CVTMESH_LCP_HLCP_PROBLEMS_H
#define CVTMESH_LCP_HLCP_PROBLEMS_H

#include "lcp/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_hlcp_problem {
  cvtm_csr a, b;
  double *q; /* a.rows */
} cvtm_hlcp_problem;

/* Example 1, 2 or 3 of Mezzadri 2020, section 4.1, n = size^2; its solution is
 * z = (0, 1, 0, 1, ...), w = (1, 0, 1, 0, ...). mu and nu are added to the diagonals of A
 * and B in examples 2 and 3. Host memory; the caller frees. */
cvtm_status cvtm_hlcp_example(int example, int64_t size, double mu, double nu,
                              cvtm_hlcp_problem *problem, cvtm_error *error);
/* The Omega (a multiple of I) that the paper uses for an example. */
double cvtm_hlcp_example_omega(int example);

/* Mass-conserving cavitation (Jakobsson, Floberg, Olsson) in a journal bearing of the
 * given eccentricity with `size` nodes around it: z is the pressure, w the void fraction, and
 * the gap is open to `supply` pressure at both ends. */
cvtm_status cvtm_hlcp_bearing(int64_t size, double eccentricity, double supply,
                              cvtm_hlcp_problem *problem, cvtm_error *error);

/* The same over a rectangle of width x height nodes, the longer way from x = 0 to 2 pi,
 * with the thickness of the film given at the nodes (host, > 0): div(h^3 grad p) = ((1 - w) h)_x.
 * Films enter full at the left; beyond all sides the pressure is `supply`. With height 1 there is
 * no flow across, as in cvtm_hlcp_bearing, which has thicknesses between the nodes. thickness: x
 * fastest; the unknowns: cvtm_hlcp_film_unknown, so that the band is no wider than the shorter
 * side.
 */
cvtm_status cvtm_hlcp_film(int64_t width, int64_t height, const float *thickness, double supply,
                           cvtm_hlcp_problem *problem, cvtm_error *error);

/* The unknown of node (i, j): the shorter direction is the faster one. */
static inline int64_t cvtm_hlcp_film_unknown(int64_t width, int64_t height, int64_t i, int64_t j) {
  return width <= height ? j * width + i : i * height + j;
}

void cvtm_hlcp_problem_free(cvtm_hlcp_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
