/* The common part of the solvers for stored matrices, and two of the solvers: projected multicolour
 * SOR, and truncated nonsmooth Newton multigrid. */
#include "lcp/sparse/sparse_solver.h"

#include <stdlib.h>
#include <string.h>

enum { MONITOR_CHUNK = 8 };          /* number of iterations between polls for a monitor on a GPU */
static const double slow_rate = 0.7; /* residual factor of a cycle above which pdas takes over */

/* --- setup ------------------------------------------------------------------------------- */

static cvtm_status allocate_parts(cvtm_sparse_solver *s, const cvtm_csr *matrix,
                                  const cvtm_hierarchy_options *options) {
  cvtm_hierarchy *h = &s->hierarchy;
  s->is_symmetric = options->is_symmetric;
  CVTM_TRY(cvtm_hierarchy_create(s->head.device, matrix, options, h));
  return cvtm_hierarchy_allocate(
      h, (cvtm_arrays){
             {CVTM_ARRAY(s->state, 1), CVTM_ARRAY(s->partial, cvtm_sum_blocks(matrix->rows) + 1),
              CVTM_ARRAY(s->direction, matrix->rows), CVTM_ARRAY(s->best, 2 * matrix->rows)}});
}

cvtm_status cvtm_sparse_open(const cvtm_lcp_table *table, cvtm_device *device,
                             const cvtm_csr *matrix, const cvtm_hierarchy_options *hierarchy,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  cvtm_sparse_solver *s = calloc(1, sizeof *s);
  if (s == NULL)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a solver");
  *lcp = &s->head;
  CVTM_TRY(cvtm_lcp_open(&s->head, table, device, matrix->rows, options));
  return allocate_parts(s, matrix, hierarchy);
}

static cvtm_status sparse_loop_body(void *context) {
  const cvtm_sparse_loop *loop = context;
  CVTM_TRY(loop->solver->iteration(loop->solver, loop->top));
  return cvtm_sparse_check(loop->solver, loop->top, loop->solver->last_omega);
}

cvtm_status cvtm_sparse_record(cvtm_sparse_solver *s, cvtm_sparse_iteration iteration, int loops) {
  s->iteration = iteration;
  for (int top = 0; top < loops; ++top) {
    cvtm_sparse_loop *loop = &s->loop[top];
    loop->solver = s;
    loop->top = top;
    CVTM_TRY(cvtm_loop_create(s->head.device, sparse_loop_body, loop, &s->state->loop.go_on,
                              &loop->loop));
  }
  return CVTM_OK;
}

void cvtm_sparse_close(cvtm_lcp *lcp) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  for (int top = 0; top < CVTM_LEVELS_MAX; ++top)
    if (s->loop[top].loop != NULL) cvtm_loop_destroy(s->loop[top].loop);
  cvtm_krylov_destroy(s->krylov);
  free(s->own);
  cvtm_hierarchy_destroy(&s->hierarchy);
  cvtm_lcp_close(&s->head);
  free(s);
}

/* --- one solve ----------------------------------------------------------------------------- */

static cvtm_status read_sums(cvtm_sparse_solver *s, int level, cvtm_sum_kind kind,
                             cvtm_sums *sums) {
  const cvtm_hierarchy *h = &s->hierarchy;
  CVTM_TRY(h->table->sum(h->device, &h->level[level], NULL, NULL, kind, 0, CVTM_USE_NOTHING,
                         s->partial, s->state));
  return cvtm_device_copy_out(h->device, sums, &s->state->sums, sizeof *sums);
}

cvtm_status cvtm_sparse_norm(cvtm_sparse_solver *s, int level, double *norm) {
  cvtm_sums sums;
  CVTM_TRY(read_sums(s, level, CVTM_SUM_NORM, &sums));
  *norm = cvtm_norm_of(&sums, s->host.scale);
  return CVTM_OK;
}

static cvtm_status set_scale(cvtm_sparse_solver *s, double scale) {
  s->host.scale = scale;
  return cvtm_device_copy_in(s->head.device, &s->state->scale, &scale, sizeof scale);
}

/* Measures the 2-norm of the natural residual at clip(0). If its squares leave the range of
 * doubles, sets the scale. */
static cvtm_status measure_cold_norm(cvtm_sparse_solver *s, double *norm) {
  const double least = 1e-120, most = 1e120; /* their squares are in the range of doubles */
  cvtm_sums sums;
  cvtm_status status = set_scale(s, 1);
  if (status == CVTM_OK) status = cvtm_sparse_norm(s, 0, norm);
  if (status != CVTM_OK || (*norm > least && *norm < most)) return status;
  status = cvtm_device_copy_out(s->head.device, &sums, &s->state->sums, sizeof sums);
  if (status != CVTM_OK || !(sums.at[2] > 0) || !isfinite(sums.at[2])) return status;
  const int exponent = ilogb(sums.at[2]);
  status = set_scale(s, ldexp(1, exponent > -1000 ? -exponent : 1000));
  return status == CVTM_OK ? cvtm_sparse_norm(s, 0, norm) : status;
}

cvtm_status cvtm_sparse_load(cvtm_sparse_solver *s, const double *b, const double *lower,
                             const double *upper, const double *x, int warm, double *target) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_level *level = &h->level[0];
  double cold = 0;
  cvtm_status (*const gather)(cvtm_device *, const double *, const int32_t *, int64_t, double *) =
      h->table->gather;
  const uint8_t has_bounds[2] = {lower != NULL, upper != NULL};
  CVTM_TRY(cvtm_device_copy_in(h->device, h->has_bounds, has_bounds, sizeof has_bounds));
  CVTM_TRY(gather(h->device, b, h->order, level->rows, level->b));
  if (level->weight != NULL)
    CVTM_TRY(h->table->divide(h->device, level->weight, level->b, level->rows));
  if (lower != NULL) CVTM_TRY(gather(h->device, lower, h->order, level->rows, level->lower));
  if (upper != NULL) CVTM_TRY(gather(h->device, upper, h->order, level->rows, level->upper));
  CVTM_TRY(cvtm_device_fill(h->device, level->x, 0, (size_t)level->rows * sizeof(double)));
  CVTM_TRY(h->table->clip(h->device, level, 0));
  CVTM_TRY(measure_cold_norm(s, &cold));
  if (warm) {
    CVTM_TRY(gather(h->device, x, h->order, level->rows, level->x));
    CVTM_TRY(h->table->clip(h->device, level, 0));
  }
  s->host.loop.cold = cold;
  const double relative = s->head.options.tolerance * cold;
  const double absolute = s->head.options.absolute_tolerance;
  *target = relative > absolute ? relative : absolute;
  return CVTM_OK;
}

cvtm_status cvtm_sparse_check(cvtm_sparse_solver *s, int top, double last_omega) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_level *level = &h->level[top];
  const cvtm_level *next = top + 1 < h->count ? level + 1 : NULL;
  return h->table->sum(h->device, level, next, s->best, s->checked_by, last_omega, CVTM_USE_CHECK,
                       s->partial, s->state);
}

static int64_t poll_interval(const cvtm_sparse_solver *s, int top) {
  if (top > 0) return CVTM_HISTORY_LENGTH;
  if (s->head.options.monitor != NULL)
    return cvtm_device_get_kind(s->head.device) == CVTM_DEVICE_CPU ? 1 : MONITOR_CHUNK;
  return s->falls_back_to_pdas ? CVTM_LCP_WINDOW : CVTM_HISTORY_LENGTH;
}

/* True if pdas has to take over because cycles are slow. Never without the option `nested`: then
 * cycles are slow because the free boundary is far from its final position, and pdas would be slow,
 * too. */
static int is_slow(const cvtm_sparse_solver *s) {
  const cvtm_iteration_state *loop = &s->host.loop;
  return s->falls_back_to_pdas && s->head.options.nested &&
         loop->iteration >= 2 * CVTM_LCP_WINDOW && cvtm_iteration_rate(loop) > slow_rate;
}

cvtm_status cvtm_sparse_begin(cvtm_sparse_solver *s, int top, double target, int64_t limit,
                              int64_t window, double last_omega) {
  const double scale = s->host.scale, cold = s->host.loop.cold;
  memset(&s->host, 0, sizeof s->host);
  s->host.scale = scale;
  s->host.loop.cold = cold;
  s->host.loop.target = target;
  s->host.loop.limit = limit;
  s->host.loop.window = window;
  s->host.loop.may_grow = s->iteration == NULL; /* pdas */
  s->host.loop.iteration = -1;
  s->host.loop.stop = CVTM_UNDECIDED;
  s->host.pause_at = poll_interval(s, top);
  s->reported = -1;
  CVTM_TRY(cvtm_device_copy_in(s->head.device, s->state, &s->host, sizeof s->host));
  return cvtm_sparse_check(s, top, last_omega);
}

static int call_monitor(cvtm_sparse_solver *s) {
  const cvtm_lcp_options *options = &s->head.options;
  int stop = 0;
  while (s->reported < s->host.loop.iteration) {
    const int64_t k = ++s->reported;
    const cvtm_lcp_progress progress = {k, s->host.norm[k % CVTM_HISTORY_LENGTH],
                                        s->host.maximum[k % CVTM_HISTORY_LENGTH]};
    stop |= options->monitor(options->monitor_context, &progress);
  }
  return stop;
}

cvtm_status cvtm_sparse_poll(cvtm_sparse_solver *s, int top) {
  const cvtm_status status =
      cvtm_device_copy_out(s->head.device, &s->host, s->state, sizeof s->host);
  if (status != CVTM_OK || top > 0 || s->head.options.monitor == NULL) return status;
  const int32_t stop = s->host.loop.stop;
  if (call_monitor(s) && (stop == CVTM_UNDECIDED || stop == CVTM_LCP_ITERATIONS))
    s->host.loop.stop = CVTM_LCP_INTERRUPTED;
  return CVTM_OK;
}

cvtm_status cvtm_sparse_run(cvtm_sparse_solver *s, int top) {
  for (;;) {
    CVTM_TRY(cvtm_loop_run(s->loop[top].loop));
    CVTM_TRY(cvtm_sparse_poll(s, top));
    if (s->host.loop.stop != CVTM_UNDECIDED || (top == 0 && is_slow(s))) return CVTM_OK;
    s->host.pause_at += poll_interval(s, top);
    s->host.loop.go_on = 1;
    CVTM_TRY(cvtm_device_copy_in(s->head.device, s->state, &s->host, sizeof s->host));
  }
}

cvtm_status cvtm_sparse_unload(cvtm_sparse_solver *s, double *x, cvtm_lcp_result *result) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_level *level = &h->level[0];
  const cvtm_iteration_state loop = s->host.loop;
  cvtm_sums norms, energy;
  CVTM_TRY(cvtm_device_copy(h->device, level->x, s->best + s->host.kept * level->rows,
                            (size_t)level->rows * sizeof(double)));
  if (!isfinite(loop.best)) { /* no iterate had a finite residual */
    CVTM_TRY(cvtm_device_fill(h->device, level->x, 0, (size_t)level->rows * sizeof(double)));
    CVTM_TRY(h->table->clip(h->device, level, 0));
  }
  CVTM_TRY(h->table->scatter(h->device, level->x, h->order, level->rows, x));
  CVTM_TRY(read_sums(s, 0, CVTM_SUM_NORM, &norms));
  CVTM_TRY(read_sums(s, 0, CVTM_SUM_ENERGY, &energy));
  result->stop = (cvtm_lcp_stop)loop.stop;
  result->iterations = loop.iteration;
  result->natural_residual = cvtm_norm_of(&norms, s->host.scale);
  result->natural_residual_max = norms.at[2];
  result->energy = s->is_symmetric ? energy.at[0] : (double)NAN;
  result->active_lower = (int64_t)energy.at[1];
  result->active_upper = (int64_t)energy.at[3];
  result->rate = cvtm_iteration_rate(&loop);
  return CVTM_OK;
}

/* ------ projected multicolour SOR ------ */

/* Sweeps without progress that count as a stall; a single sweep gains little. */
enum { PSOR_WINDOW = 5000 };

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
  CVTM_TRY(cvtm_sparse_load(s, b, lower, upper, x, warm, &target));
  CVTM_TRY(cvtm_sparse_begin(s, 0, target, lcp->options.max_iterations, PSOR_WINDOW, 0));
  CVTM_TRY(cvtm_sparse_run(s, 0));
  return cvtm_sparse_unload(s, x, result);
}

cvtm_status cvtm_psor_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {psor_solve, cvtm_sparse_close};
  const cvtm_hierarchy_options one_level = {0, 0, 1, is_symmetric};
  CVTM_TRY(cvtm_sparse_open(&table, device, matrix, &one_level, options, lcp));
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)*lcp;
  s->last_omega = options->omega;
  return cvtm_sparse_record(s, psor_sweep, 1);
}

/* ------ truncated nonsmooth Newton multigrid ------ */

enum {
  WINDOW = 10,     /* number of cycles without progress that count as a stall */
  FAR_WINDOW = 40, /* WINDOW without a nested start: first cycles may only move the boundary */
  FIRST_NESTED_ROWS = 9, /* a nested start begins on the coarsest level with more rows than this */
  NESTED_CYCLES = 30 /* largest number of cycles on each level of a nested start but the finest */
};

/* Searches along the projected linear correction. Computes only the step length; the next sweep
 * starts from x + step * direction. */
static cvtm_status search_along_correction(cvtm_sparse_solver *s, const cvtm_level *level) {
  const cvtm_hierarchy *h = &s->hierarchy;
  CVTM_TRY(h->table->direction(h->device, level, level + 1, s->direction));
  return h->table->sum(h->device, level, NULL, s->direction, CVTM_SUM_LINE_SEARCH, 0, CVTM_USE_STEP,
                       s->partial, s->state);
}

/* Corrects x by the levels below `top`, for the given residual and active rows: first the line
 * search, then a sweep from x + step * direction. */
static cvtm_status correct(cvtm_sparse_solver *s, int top) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_level *level = &h->level[top];
  CVTM_TRY(cvtm_hierarchy_update_galerkin(h, top));
  CVTM_TRY(h->table->restrict_problem(h->device, level, level + 1));
  CVTM_TRY(cvtm_hierarchy_cycle(h, top + 1));
  CVTM_TRY(search_along_correction(s, level));
  for (int64_t colour = 0; colour < level->colours; ++colour)
    CVTM_TRY(h->table->relax_along(h->device, level, s->direction, s->state, colour));
  return CVTM_OK;
}

/* Makes the sweep before a correction, without its last colour: cvtm_sparse_check relaxes this
 * colour in the pass that computes the residual. */
static cvtm_status pre_smooth(cvtm_sparse_solver *s, int top) {
  const cvtm_kernel_flags projected = {.bounded = 1};
  const cvtm_level *level = &s->hierarchy.level[top];
  return cvtm_hierarchy_relax(&s->hierarchy, level, projected, 1, level->colours - 1);
}

/* Runs a cycle from one residual to the next: correction, post-smoothing, and the pre-smoothing of
 * the next cycle. The stop rule and the next correction use the residual at the end. */
static cvtm_status multigrid_cycle(cvtm_sparse_solver *s, int top) {
  const cvtm_kernel_flags projected = {.bounded = 1};
  const cvtm_level *level = &s->hierarchy.level[top];
  CVTM_TRY(top + 1 < s->hierarchy.count
               ? correct(s, top)
               : cvtm_hierarchy_sweep(&s->hierarchy, level, projected, 1, 1));
  return pre_smooth(s, top);
}

static cvtm_status run_level(cvtm_sparse_solver *s, int top, double target, int64_t limit,
                             int64_t window) {
  CVTM_TRY(cvtm_hierarchy_reset(&s->hierarchy, top));
  CVTM_TRY(pre_smooth(s, top));
  CVTM_TRY(cvtm_sparse_begin(s, top, target, limit, window, s->last_omega));
  return cvtm_sparse_run(s, top);
}

/* The level on which a nested start begins. */
static int first_nested_level(const cvtm_hierarchy *h) {
  int l = h->count - 1;
  while (l > 0 && h->level[l].rows <= FIRST_NESTED_ROWS) --l;
  return l;
}

/* Solves the problem on coarse levels, each from the solution of the next coarser level. */
static cvtm_status start_nested(cvtm_sparse_solver *s) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const int first = first_nested_level(h);
  for (int l = 0; l < first; ++l)
    CVTM_TRY(h->table->coarsen(h->device, &h->level[l], &h->level[l + 1]));
  for (int l = first; l > 0; --l) {
    double norm = 0;
    CVTM_TRY(cvtm_sparse_norm(s, l, &norm));
    CVTM_TRY(run_level(s, l, s->head.options.tolerance * norm, NESTED_CYCLES, WINDOW));
    CVTM_TRY(h->table->refine(h->device, &h->level[l - 1], &h->level[l]));
  }
  return CVTM_OK;
}

static cvtm_status multigrid_solve(cvtm_lcp *lcp, const double *b, const double *lower,
                                   const double *upper, double *x, int warm,
                                   cvtm_lcp_result *result) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  double target = 0;
  CVTM_TRY(cvtm_sparse_load(s, b, lower, upper, x, warm, &target));
  const int is_nested = lcp->options.nested && !warm;
  if (is_nested) CVTM_TRY(start_nested(s));
  CVTM_TRY(run_level(s, 0, target, lcp->options.max_iterations, is_nested ? WINDOW : FAR_WINDOW));
  const int stop = s->host.loop.stop;
  if (stop == CVTM_UNDECIDED || stop == CVTM_LCP_STALLED) CVTM_TRY(cvtm_pdas_continue(s, target));
  return cvtm_sparse_unload(s, x, result);
}

cvtm_status cvtm_sparse_multigrid_create(cvtm_device *device, const cvtm_csr *matrix,
                                         int is_symmetric, int64_t width, int64_t height,
                                         const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {multigrid_solve, cvtm_sparse_close};
  const cvtm_hierarchy_options levels = {width, height, CVTM_LEVELS_MAX, is_symmetric};
  CVTM_TRY(cvtm_sparse_open(&table, device, matrix, &levels, options, lcp));
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)*lcp;
  s->checked_by = CVTM_SUM_RESIDUAL;
  s->last_omega = 1;
  cvtm_status status = cvtm_sparse_record(
      s, multigrid_cycle, options->nested ? first_nested_level(&s->hierarchy) + 1 : 1);
  s->falls_back_to_pdas = 1;
  return status == CVTM_OK ? cvtm_pdas_prepare(s, 0) : status;
}
