/* Complementarity problems with known solutions or published figures, as matrices and, on
 * grids, as coefficients of the five-point operator of lcp.h; all in host memory. */
#ifndef CVTMESH_LCP_MODEL_PROBLEMS_H
#define CVTMESH_LCP_MODEL_PROBLEMS_H

#include "lcp/sparse.h"

CVTM_API_BEGIN

/* code, name
 * membrane    a loaded membrane over a flat obstacle: b = -h^2, x >= -0.05
 * torsion     elastic-plastic torsion, c = 5: b = -5 h^2, x >= -distance to the boundary
 * hemisphere  an unloaded membrane over a hemisphere (Bueler, "PETSc for Partial Differential
 *             Equations"): -2 < x, y < 2, exact solution known
 * put         American put in ln(S/K), implicit Euler: not symmetric, one problem a step
 * pjb         pressure in a journal bearing (MINPACK-2), e = 0.1, b = 10, x >= 0 */
#define CVTM_MODEL_LIST(X)               \
  X(CVTM_MODEL_MEMBRANE, "membrane")     \
  X(CVTM_MODEL_TORSION, "torsion")       \
  X(CVTM_MODEL_HEMISPHERE, "hemisphere") \
  X(CVTM_MODEL_PUT, "put")               \
  X(CVTM_MODEL_PJB, "pjb")

typedef enum cvtm_model {
#define CVTM_MODEL_CODE(code, name) code,
  CVTM_MODEL_LIST(CVTM_MODEL_CODE)
#undef CVTM_MODEL_CODE
} cvtm_model;

/* An American put under the model of Black & Scholes, without dividends. */
typedef struct cvtm_put {
  double rate;       /* a year, continuous; 0.05 */
  double volatility; /* > 0, a year; 0.2 */
  double expiry;     /* > 0, years; 1 */
  double spot;       /* > 0, the price of the share; 100 */
  double strike;     /* > 0; 100 */
} cvtm_put;

/* Five-point rows are scaled by h^2, so that links are 1 (pjb: see horizontal, vertical). */
typedef struct cvtm_model_problem {
  cvtm_model model;
  cvtm_put put;          /* of that model */
  int64_t width, height; /* unknowns, x fastest; put: intervals - 1, 1 */
  double spacing;
  cvtm_csr matrix;               /* no rows where it has been left out */
  double *b, *lower;             /* width * height; no upper bounds */
  double *horizontal, *vertical; /* links as in cvtm_lcp_grid; NULL: all of them 1, or no grid */
} cvtm_model_problem;

/* The longer side of membrane, torsion and hemisphere spans the domain. put: `width` is the
 * number of intervals, `steps` that of time steps, height is ignored. The caller frees. */
cvtm_status cvtm_model_problem_create(cvtm_model model, int64_t width, int64_t height,
                                      int64_t steps, cvtm_model_problem *problem,
                                      cvtm_error *error);
/* The same without its matrix, for the five-point operator alone: any model but put. */
cvtm_status cvtm_model_problem_create_grid(cvtm_model model, int64_t width, int64_t height,
                                           cvtm_model_problem *problem, cvtm_error *error);
void cvtm_put_defaults(cvtm_put *put);
/* The model put with other figures. The domain are 10 standard deviations of the logarithm at
 * expiry to both sides of the strike; CVTM_ERROR_ARGUMENT if the spot is not inside. */
cvtm_status cvtm_model_put_create(const cvtm_put *put, int64_t intervals, int64_t steps,
                                  cvtm_model_problem *problem, cvtm_error *error);
void cvtm_model_problem_free(cvtm_model_problem *problem);

/* put: the right side of the next step from the values x of this one. */
void cvtm_model_put_next(cvtm_model_problem *problem, const double *x);
/* put: the price of the option now, at the spot: its value at a node, or the cubic through the four
 * nodes around the spot. */
double cvtm_model_put_price(const cvtm_model_problem *problem, const double *x);
/* hemisphere: largest difference from the exact solution. */
double cvtm_model_hemisphere_error(const cvtm_model_problem *problem, const double *x);

CVTM_API_END
#endif
