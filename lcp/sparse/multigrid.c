/* Truncated nonsmooth Newton multigrid for stored matrices. */
#include "lcp/sparse/sparse_solver.h"

enum {
  WINDOW = 10,     /* cycles without progress that count as a stall */
  FAR_WINDOW = 40, /* cycles without progress from a cold start, whose first cycles only move the
                      free boundary */
  FIRST_NESTED_ROWS = 9, /* a nested start begins on the coarsest level with more rows */
  NESTED_CYCLES = 30     /* at most, on each level of a nested start but the finest */
};

/* Line search along the projected linear correction. It finds the step alone; the sweep that
 * follows starts from x + step * direction. */
static cvtm_status search_along_correction(cvtm_sparse_solver *s, const cvtm_level *level) {
  const cvtm_hierarchy *h = &s->hierarchy;
  cvtm_status status = h->table->direction(h->device, level, level + 1, s->direction);
  if (status == CVTM_OK) {
    status = h->table->sum(h->device, level, NULL, s->direction, CVTM_SUM_LINE_SEARCH, 0,
                           CVTM_USE_STEP, s->partial, s->state);
  }
  return status;
}

/* The correction of x from the levels below `top`, from the residual and the active rows: x + step
 * * direction, and the sweep after it. */
static cvtm_status correct(cvtm_sparse_solver *s, int top) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_level *level = &h->level[top];
  cvtm_status status = cvtm_hierarchy_update_galerkin(h, top);
  if (status == CVTM_OK) status = h->table->restrict_problem(h->device, level, level + 1);
  if (status == CVTM_OK) status = cvtm_hierarchy_cycle(h, top + 1);
  if (status == CVTM_OK) status = search_along_correction(s, level);
  for (int64_t colour = 0; colour < level->colours && status == CVTM_OK; ++colour)
    status = h->table->relax_along(h->device, level, s->direction, s->state, colour);
  return status;
}

/* The sweep before a correction, except its last colour: cvtm_sparse_judge relaxes it in the pass
 * that finds the residual. */
static cvtm_status pre_smooth(cvtm_sparse_solver *s, int top) {
  const cvtm_kernel_flags projected = {.bounded = 1};
  const cvtm_level *level = &s->hierarchy.level[top];
  return cvtm_hierarchy_relax(&s->hierarchy, level, projected, 1, level->colours - 1);
}

/* A cycle from residual to residual: correction, post-smoothing, and the pre-smoothing of the next
 * cycle. The residual at its end serves the stop rule and the next correction. */
static cvtm_status multigrid_cycle(cvtm_sparse_solver *s, int top) {
  const cvtm_kernel_flags projected = {.bounded = 1};
  const cvtm_level *level = &s->hierarchy.level[top];
  const cvtm_status status = top + 1 < s->hierarchy.count
                                 ? correct(s, top)
                                 : cvtm_hierarchy_sweep(&s->hierarchy, level, projected, 1, 1);
  return status == CVTM_OK ? pre_smooth(s, top) : status;
}

static cvtm_status run_level(cvtm_sparse_solver *s, int top, double target, int64_t limit,
                             int64_t window) {
  cvtm_status status = cvtm_hierarchy_reset(&s->hierarchy, top);
  if (status == CVTM_OK) status = pre_smooth(s, top);
  if (status == CVTM_OK) status = cvtm_sparse_begin(s, top, target, limit, window, s->last_omega);
  return status == CVTM_OK ? cvtm_sparse_run(s, top) : status;
}

/* The level on which a nested start begins. */
static int first_nested_level(const cvtm_hierarchy *h) {
  int l = h->count - 1;
  while (l > 0 && h->level[l].rows <= FIRST_NESTED_ROWS) --l;
  return l;
}

/* Restricts the problem to all levels, then solves each from the solution of the one below. */
static cvtm_status start_nested(cvtm_sparse_solver *s) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const int first = first_nested_level(h);
  cvtm_status status = CVTM_OK;
  for (int l = 0; l < first && status == CVTM_OK; ++l)
    status = h->table->coarsen(h->device, &h->level[l], &h->level[l + 1]);
  for (int l = first; l > 0 && status == CVTM_OK; --l) {
    double norm = 0;
    status = cvtm_sparse_norm(s, l, &norm);
    if (status == CVTM_OK) {
      status = run_level(s, l, s->head.options.tolerance * norm, NESTED_CYCLES, WINDOW);
    }
    if (status == CVTM_OK) {
      status = h->table->refine(h->device, &h->level[l - 1], &h->level[l]);
    }
  }
  return status;
}

static cvtm_status multigrid_solve(cvtm_lcp *lcp, const double *b, const double *lower,
                                   const double *upper, double *x, int warm,
                                   cvtm_lcp_result *result) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  double target = 0;
  cvtm_status status = cvtm_sparse_load(s, b, lower, upper, x, warm, &target);
  const int is_nested = lcp->options.nested && !warm;
  if (status == CVTM_OK && is_nested) status = start_nested(s);
  if (status == CVTM_OK) {
    status = run_level(s, 0, target, lcp->options.max_iterations, is_nested ? WINDOW : FAR_WINDOW);
  }
  const int stop = s->host.loop.stop;
  if (status == CVTM_OK && (stop == CVTM_UNDECIDED || stop == CVTM_LCP_STALLED))
    status = cvtm_pdas_continue(s, target);
  return status == CVTM_OK ? cvtm_sparse_unload(s, x, result) : status;
}

static void multigrid_destroy(cvtm_lcp *lcp) { cvtm_sparse_close((cvtm_sparse_solver *)lcp); }

cvtm_status cvtm_sparse_multigrid_create(cvtm_device *device, const cvtm_csr *matrix,
                                         int is_symmetric, int64_t width, int64_t height,
                                         const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {multigrid_solve, multigrid_destroy};
  const cvtm_hierarchy_options levels = {width, height, CVTM_LEVELS_MAX, is_symmetric};
  cvtm_sparse_solver *s = NULL;
  cvtm_status status = cvtm_sparse_open(&table, device, matrix, &levels, options, &s);
  if (status != CVTM_OK) return status;
  s->judged_by = CVTM_SUM_RESIDUAL;
  s->last_omega = 1;
  status = cvtm_sparse_record(s, multigrid_cycle,
                              options->nested ? first_nested_level(&s->hierarchy) + 1 : 1);
  s->falls_back_to_pdas = 1;
  if (status == CVTM_OK) status = cvtm_pdas_prepare(s);
  if (status != CVTM_OK) {
    cvtm_sparse_close(s);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}
