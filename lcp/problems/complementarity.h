/* Complementarity problems for commands of the program, timings and tests, in host memory. */
#pragma once

#include "lcp/sparse.h"

CVTM_C_BEGIN

/* X(code, name)
 * membrane    a loaded membrane over a flat obstacle: b = -h^2, x >= -0.05
 * torsion     elastic-plastic torsion, c = 5: b = -5 h^2, x >= -distance to the boundary */
#define CVTM_MODEL_LIST(X)           \
  X(CVTM_MODEL_MEMBRANE, "membrane") \
  X(CVTM_MODEL_TORSION, "torsion")

typedef enum cvtm_model {
#define CVTM_MODEL_CODE(code, name) code,
  CVTM_MODEL_LIST(CVTM_MODEL_CODE)
#undef CVTM_MODEL_CODE
} cvtm_model;

/* A model problem on a grid. The longer side of the grid, including the boundary, has length 1; x =
 * 0 on the boundary. Rows of the five-point matrix are scaled by h^2, so that links are 1. */
typedef struct cvtm_model_problem {
  int64_t width, height; /* numbers of unknowns, x fastest */
  double spacing;
  cvtm_csr matrix;   /* has no rows if has_matrix is 0 */
  double *b, *lower; /* width * height; no upper bounds */
} cvtm_model_problem;

/* Creates a model problem; the caller frees it. has_matrix = 0: without the matrix. */
cvtm_status cvtm_model_problem_create(cvtm_model model, int64_t width, int64_t height,
                                      int has_matrix, cvtm_model_problem *problem,
                                      cvtm_error *error);
void cvtm_model_problem_free(cvtm_model_problem *problem);

typedef struct cvtm_hlcp_problem {
  cvtm_csr a, b;
  double *q; /* a.rows */
} cvtm_hlcp_problem;

/* Makes example 1, 2 or 3 of Mezzadri 2020, section 4.1, with n = size^2 and the solution z = (0,
 * 1, 0, 1, ...), w = (1, 0, 1, 0, ...). The caller frees it. */
cvtm_status cvtm_hlcp_example(int example, int64_t size, cvtm_hlcp_problem *problem,
                              cvtm_error *error);
/* Returns omega of Omega = omega I, which the paper uses for an example. */
double cvtm_hlcp_example_omega(int example);
void cvtm_hlcp_problem_free(cvtm_hlcp_problem *problem);

CVTM_C_END
