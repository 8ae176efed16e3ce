/* Inside lcp only: the base of every solver of a cvtm_lcp. A solver has struct cvtm_lcp as its
 * first member. */
#pragma once

#include "lcp/lcp.h"

CVTM_C_BEGIN

typedef struct cvtm_lcp_table {
  /* Solves. Arguments as in cvtm_lcp_solve; pointers, b and the bounds have been checked. Fills in
   * all of the result except `method`, `seconds` and `setup_seconds`. */
  cvtm_status (*solve)(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                       double *x, int warm, cvtm_lcp_result *result);
  /* Frees the solver, including the base. */
  void (*destroy)(cvtm_lcp *lcp);
} cvtm_lcp_table;

struct cvtm_lcp {
  const cvtm_lcp_table *table;
  cvtm_device *device;
  int64_t rows;
  cvtm_lcp_options options; /* checked; method is never auto */
  int has_limit;            /* nonzero: the caller limits the iterations */
  double setup_seconds;
  cvtm_lcp *fallback; /* for auto: lemke, used if the method finds no solution */
  int64_t *verdict;   /* device memory: 2 indices, the result of the check of b and the bounds */
};

/* Fills in the base: checks and copies the options and allocates `verdict`. On failure nothing is
 * left to free. The solver's destroy calls cvtm_lcp_close. */
cvtm_status cvtm_lcp_open(cvtm_lcp *lcp, const cvtm_lcp_table *table, cvtm_device *device,
                          int64_t rows, const cvtm_lcp_options *options);
void cvtm_lcp_close(cvtm_lcp *lcp);

/* --- linear systems on a grid, solved one cycle at a time; the caller changes the diagonal between
 * cycles: grid_solver.c --- */

/* Prepares cycles on A x = b, the first of which recomputes the coarse operators. The solver must
 * be from cvtm_lcp_create_grid and have coefficients. No solve may follow. */
cvtm_status cvtm_grid_begin_cycles(cvtm_lcp *lcp, const double *b, double *x);
/* Returns width * height bytes in device memory. The caller sets a byte to CVTM_GRID_CHANGED if the
 * diagonal has changed there since the last cycle. The first cvtm_lcp_set_grid with links may
 * reallocate the array; if it runs out of memory, the result is NULL. */
enum { CVTM_GRID_CHANGED = 0xff };
uint8_t *cvtm_grid_changes(cvtm_lcp *lcp);
/* Enqueues a V-cycle. */
cvtm_status cvtm_grid_cycle(cvtm_lcp *lcp);

CVTM_C_END
