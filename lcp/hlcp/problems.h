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

void cvtm_hlcp_problem_free(cvtm_hlcp_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
