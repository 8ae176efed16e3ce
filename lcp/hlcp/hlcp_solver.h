/* Inside lcp/hlcp only: the solver, and functions for several of its files. */
#pragma once

#include "lcp/hlcp/hlcp_kernels.h"

typedef struct cvtm_hlcp_newton cvtm_hlcp_newton;

struct cvtm_hlcp {
  cvtm_device *device;
  const cvtm_hlcp_table *table;
  cvtm_hlcp_options options; /* checked; its pointers are cleared */
  int64_t splits;
  cvtm_hlcp_arrays arrays;
  cvtm_loop *loop;
  cvtm_hlcp_newton *newton; /* NULL for the multisplitting methods */
  double *own_x, *q, *omega, *reduced;
  cvtm_hlcp_state *host_state; /* copy in host memory, as of the last poll */
  double setup_seconds;
};

/* Sets host_state to the state before the first iteration, with the limits of the options. */
void cvtm_hlcp_reset_state(cvtm_hlcp *hlcp);

/* Sets up the semismooth Newton method. A must be in hlcp->arrays. */
cvtm_status cvtm_hlcp_newton_set_up(cvtm_hlcp *hlcp, const cvtm_csr *a, const cvtm_csr *b);
/* Creates the Krylov solver, unless the linear systems are banded. Called once all arrays are
 * allocated. */
cvtm_status cvtm_hlcp_newton_create_krylov(cvtm_hlcp *hlcp);
void cvtm_hlcp_newton_destroy(cvtm_hlcp *hlcp);
/* Solves by Newton's method; the start and the result are in hlcp->own_x. */
cvtm_status cvtm_hlcp_newton_solve(cvtm_hlcp *hlcp, cvtm_hlcp_result *result);
