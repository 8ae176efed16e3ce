/* The eight minimisation problems of MINPACK-2 as objectives of L-BFGS-B. The device evaluates
 * value and gradient in one pass, with sums in a fixed order. B. Averick, R. Carter, J. More &
 * G.-L. Xue 1992, "The MINPACK-2 test problem collection", Argonne report MCS-P153-0692. */
#pragma once

#include "lbfgsb/lbfgsb.h"

CVTM_C_BEGIN

/* X(code, name, title). Grids have nx x ny interior nodes; node (i, j) has index i + nx j. */
#define CVTM_MINPACK2_LIST(X)                                   \
  X(CVTM_MINPACK2_EPT, "ept", "elastic-plastic torsion")        \
  X(CVTM_MINPACK2_PJB, "pjb", "pressure in a journal bearing")  \
  X(CVTM_MINPACK2_MSA, "msa", "minimal surface area")           \
  X(CVTM_MINPACK2_ODC, "odc", "optimal design with composites") \
  X(CVTM_MINPACK2_GL1, "gl1", "1-D Ginzburg-Landau")            \
  X(CVTM_MINPACK2_LJ, "lj", "Lennard-Jones clusters")           \
  X(CVTM_MINPACK2_SSC, "ssc", "steady-state combustion")        \
  X(CVTM_MINPACK2_GL2, "gl2", "2-D Ginzburg-Landau")

typedef enum cvtm_minpack2_kind {
#define CVTM_MINPACK2_CODE(code, name, title) code,
  CVTM_MINPACK2_LIST(CVTM_MINPACK2_CODE)
#undef CVTM_MINPACK2_CODE
      CVTM_MINPACK2_COUNT
} cvtm_minpack2_kind;

/* The kind with this name; CVTM_MINPACK2_COUNT if there is none. */
cvtm_minpack2_kind cvtm_minpack2_find(const char *name);
const char *cvtm_minpack2_name(cvtm_minpack2_kind kind);
const char *cvtm_minpack2_title(cvtm_minpack2_kind kind);

enum { CVTM_MINPACK2_PARAMETERS = 2 };

/* A problem ignores the members that it does not use. */
typedef struct cvtm_minpack2_options {
  int64_t nx, ny;    /* ept pjb msa odc ssc: nx * ny variables; gl2: 4 * nx * ny */
  int64_t variables; /* gl1, at least 4 */
  int64_t atoms;     /* lj: dimension x atoms variables, atom by atom */
  int dimension;     /* lj: 2 or 3 */
  /* ept: c. pjb: e, b. odc: lambda. gl1: T. ssc: lambda. gl2: vortices, kappa. */
  double parameter[CVTM_MINPACK2_PARAMETERS];
} cvtm_minpack2_options;

/* Sets the sizes of Fei, Rong, Wang & Wang 2014, Table 1 (40,000 variables), and the collection's
 * parameters: c = 5; e = 0.1, b = 10; lambda = 0.008; T = 5; lambda = 1; 8 vortices, kappa = 5. */
void cvtm_minpack2_defaults(cvtm_minpack2_kind kind, cvtm_minpack2_options *options);
/* The name of parameter k, or NULL. */
const char *cvtm_minpack2_parameter_name(cvtm_minpack2_kind kind, int k);

typedef struct cvtm_minpack2 cvtm_minpack2;

/* Allocates the data of evaluations, freed by cvtm_minpack2_destroy. Fails with CVTM_ERROR_ARGUMENT
 * for sizes that are not positive or overflow and parameters out of range. options may be NULL. */
cvtm_status cvtm_minpack2_create(cvtm_device *device, cvtm_minpack2_kind kind,
                                 const cvtm_minpack2_options *options, cvtm_minpack2 **problem);
void cvtm_minpack2_destroy(cvtm_minpack2 *problem);

int64_t cvtm_minpack2_variables(const cvtm_minpack2 *problem);
/* Writes the standard start to x, n doubles in device memory; the same bits on every device. */
cvtm_status cvtm_minpack2_start(const cvtm_minpack2 *problem, double *x);
/* Writes the bounds of the problem (ept: the distance to the boundary; pjb: v >= 0), or infinities,
 * to n doubles each in device memory. */
cvtm_status cvtm_minpack2_bounds(const cvtm_minpack2 *problem, double *lower, double *upper);

/* A cvtm_objective whose context is the problem. Does not write f[1]. */
cvtm_status cvtm_minpack2_evaluate(void *problem, const double *x, double *f, double *g,
                                   void *stream);

CVTM_C_END
