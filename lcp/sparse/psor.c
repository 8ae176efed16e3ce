#include "lcp/sparse/sparse_solver.h"

/* Sweeps are cheap and gain little each: progress is judged over many. */
enum { PSOR_WINDOW = 5000 };

static cvtm_status sweep(cvtm_sparse_solver *s, int top) {
  const cvtm_passage how = {.bounded = 1};
  const cvtm_level *level = &s->hierarchy.level[top];
  return cvtm_hierarchy_relax(&s->hierarchy, level, how, s->head.options.omega, level->colours - 1);
}

static cvtm_status solve(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                         double *x, int warm, cvtm_lcp_result *result) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  double target = 0;
  cvtm_status status = cvtm_sparse_load(s, b, lower, upper, x, warm, &target);
  if (status == CVTM_OK)
    status = cvtm_sparse_begin(s, 0, target, lcp->options.max_iterations, PSOR_WINDOW, 0);
  if (status == CVTM_OK) status = cvtm_sparse_run(s, 0);
  return status == CVTM_OK ? cvtm_sparse_unload(s, x, result) : status;
}

static void destroy(cvtm_lcp *lcp) { cvtm_sparse_close((cvtm_sparse_solver *)lcp); }

cvtm_status cvtm_psor_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {solve, destroy};
  const cvtm_hierarchy_options one_level = {0, 0, 1, 0, is_symmetric, 1};
  cvtm_sparse_solver *s = NULL;
  cvtm_status status = cvtm_sparse_open(&table, device, matrix, &one_level, options, &s);
  if (status != CVTM_OK) return status;
  s->last_omega = options->omega;
  status = cvtm_sparse_record(s, sweep, 1);
  if (status != CVTM_OK) {
    cvtm_sparse_close(s);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}
