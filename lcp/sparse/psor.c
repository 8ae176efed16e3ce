/* Projected multicolour SOR. */
#include "lcp/sparse/sparse_solver.h"

enum { PSOR_WINDOW = 5000 }; /* sweeps without progress that count as a stall: one gains little */

static cvtm_status psor_sweep(cvtm_sparse_solver *s, int top) {
  const cvtm_kernel_flags flags = {.bounded = 1};
  const cvtm_level *level = &s->hierarchy.level[top];
  return cvtm_hierarchy_relax(&s->hierarchy, level, flags, s->head.options.omega,
                              level->colours - 1);
}

static cvtm_status psor_solve(cvtm_lcp *lcp, const double *b, const double *lower,
                              const double *upper, double *x, int warm, cvtm_lcp_result *result) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  double target = 0;
  cvtm_status status = cvtm_sparse_load(s, b, lower, upper, x, warm, &target);
  if (status == CVTM_OK)
    status = cvtm_sparse_begin(s, 0, target, lcp->options.max_iterations, PSOR_WINDOW, 0);
  if (status == CVTM_OK) status = cvtm_sparse_run(s, 0);
  return status == CVTM_OK ? cvtm_sparse_unload(s, x, result) : status;
}

static void psor_destroy(cvtm_lcp *lcp) { cvtm_sparse_close((cvtm_sparse_solver *)lcp); }

cvtm_status cvtm_psor_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {psor_solve, psor_destroy};
  const cvtm_hierarchy_options one_level = {0, 0, 1, is_symmetric};
  cvtm_sparse_solver *s = NULL;
  cvtm_status status = cvtm_sparse_open(&table, device, matrix, &one_level, options, &s);
  if (status != CVTM_OK) return status;
  s->last_omega = options->omega;
  status = cvtm_sparse_record(s, psor_sweep, 1);
  if (status != CVTM_OK) {
    cvtm_sparse_close(s);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}
