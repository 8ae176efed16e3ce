/* The V-cycle, the iteration around it, and the nested start. */
#include "lcp/grid/grid_hierarchy.h"
#include "lcp/grid/grid_smoother.h"
#include "lcp/grid/grid_solver.h"

enum {
  COARSEST_SWEEPS = 40,     /* on the first problem of the nested start */
  MASS_COARSEST_SWEEPS = 4, /* on it if its mass dominates its links */
  NESTED_CYCLES = 1,        /* on each level of the nested start */
};

/* --- the V-cycle --- */

/* The V-cycle of the coarse levels l .. last. */
static cvtm_status coarse_cycle(const cvtm_grid_solver *s, const cvtm_grid_top *top, int l,
                                int last) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_level *level = &s->level[l], *coarse = level + 1;
  if (l == last || table->is_tail(top, s->level, l, last)) {
    return table->tail_cycle(top, s->level, l, last);
  }
  cvtm_status status = table->coarse_pre_smooth_and_restrict(top, level, coarse);
  if (status == CVTM_OK) status = coarse_cycle(s, top, l + 1, last);
  if (status == CVTM_OK) status = table->coarse_prolong_and_post_smooth(top, level, coarse);
  return status;
}

/* One V-cycle on the problem of level `at`. */
static cvtm_status v_cycle(const cvtm_grid_solver *s, int at) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_top *top = &s->top[at];
  const cvtm_grid_level *coarse = &s->level[at + 1];
  const int last = s->bottom > at ? s->bottom : at + 1;
  cvtm_status status = table->pre_smooth_and_restrict(top, coarse);
  if (status == CVTM_OK) status = table->galerkin(top, s->level, at + 1, last, 0);
  if (status == CVTM_OK) status = coarse_cycle(s, top, at + 1, last);
  if (status == CVTM_OK) status = table->prolong_and_correct(top, coarse);
  return status == CVTM_OK ? table->post_smooth_and_measure(top, coarse) : status;
}

/* --- the iteration --- */

/* One iteration: a V-cycle, or sweeps where there is no coarse level. */
static cvtm_status iteration(void *context) {
  const struct cvtm_grid_body *body = context;
  const cvtm_grid_solver *s = body->solver;
  const cvtm_grid_top *top = &s->top[body->at];
  const int psor = s->head.options.method == CVTM_LCP_PSOR;
  if (psor || body->at == s->levels) {
    const cvtm_status status = s->table->smooth(top, psor ? 1 : CVTM_GRID_BOTTOM_SWEEPS);
    return status == CVTM_OK ? s->table->measure(top, 1) : status;
  }
  return v_cycle(s, body->at);
}

void cvtm_grid_drop_loops(cvtm_grid_solver *s) {
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_loop_destroy(s->loop[l]);
    s->loop[l] = NULL;
  }
}

cvtm_status cvtm_grid_make_loops(cvtm_grid_solver *s) {
  cvtm_grid_drop_loops(s);
  const int nested = s->head.options.nested && s->head.options.method != CVTM_LCP_PSOR;
  for (int l = 0; l <= (nested ? s->levels : 0); ++l) {
    const cvtm_status status = cvtm_loop_create(s->head.device, iteration, &s->body[l],
                                                &s->top[0].state->loop.go_on, &s->loop[l]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

cvtm_status cvtm_grid_set_problem(cvtm_grid_solver *s, const double *b, const double *lower,
                                  const double *upper, double *x) {
  if (!s->ready) {
    return cvtm_fail(cvtm_device_error(s->head.device), CVTM_ERROR_ARGUMENT,
                     "the grid's coefficients have not been set");
  }
  s->shape[0].b = b;
  s->shape[0].x = x;
  s->shape[0].lower = lower;
  s->shape[0].upper = upper;
  for (int l = 1; l <= s->levels; ++l) {
    s->shape[l].lower = lower ? s->level[l].lower : NULL;
    s->shape[l].upper = upper ? s->level[l].upper : NULL;
  }
  return cvtm_device_copy_in(s->head.device, s->problem, s->shape,
                             (size_t)(s->levels + 1) * sizeof *s->problem);
}

/* Lets all active nodes count as changed, so that the first cycle computes all of P'AP. */
static cvtm_status forget_active(const cvtm_grid_top *top) {
  const size_t nodes = (size_t)(top->shape->width * top->shape->height);
  return cvtm_device_fill(top->device, top->shape->active, CVTM_GRID_CHANGED, nodes);
}

cvtm_status cvtm_grid_iterate(const cvtm_grid_solver *s, int at, int64_t limit) {
  const cvtm_lcp_options *options = &s->head.options;
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_top *top = &s->top[at];
  const int psor = options->method == CVTM_LCP_PSOR;
  const cvtm_grid_stop_rule rule = {
      .relative = at == 0 ? options->tolerance : 0,
      .absolute = at == 0 ? options->absolute_tolerance : 0,
      .limit = limit,
      .window = psor ? 1000 : 40,
  };
  cvtm_status status = forget_active(top);
  if (status == CVTM_OK) status = table->begin_iteration(top, &rule);
  /* The cycle of a nested start needs no norms of its start. */
  if (status == CVTM_OK && at == 0) status = table->measure(top, 0);
  return status == CVTM_OK ? cvtm_loop_run(s->loop[at]) : status;
}

/* --- the nested start --- */

cvtm_status cvtm_grid_nested_start(const cvtm_grid_solver *s) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_top *top = s->top;
  const int first = s->bottom;
  const int sweeps = first < s->levels ? MASS_COARSEST_SWEEPS : COARSEST_SWEEPS;
  cvtm_status status = CVTM_OK;
  for (int l = 1; l <= first && status == CVTM_OK; ++l) {
    status = table->coarsen_data(&top[l - 1], &top[l], &s->level[l]);
  }
  if (status == CVTM_OK) status = table->clip_start(&top[first], 0, 0);
  if (status == CVTM_OK) status = table->smooth(&top[first], sweeps);
  for (int l = first - 1; l >= 0 && status == CVTM_OK; --l) {
    status = table->prolong_solution(&top[l], &top[l + 1], &s->level[l + 1]);
    if (l == 0) break;
    if (status == CVTM_OK) status = cvtm_grid_iterate(s, l, NESTED_CYCLES);
  }
  return status;
}

/* --- single cycles --- */

cvtm_status cvtm_grid_begin_cycles(cvtm_lcp *lcp, const double *b, double *x) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  const cvtm_grid_stop_rule rule = {.limit = INT64_MAX, .window = INT64_MAX};
  cvtm_status status = cvtm_grid_set_problem(s, b, NULL, NULL, x);
  if (status == CVTM_OK) status = forget_active(&s->top[0]);
  return status == CVTM_OK ? s->table->begin_iteration(&s->top[0], &rule) : status;
}

uint8_t *cvtm_grid_changes(cvtm_lcp *lcp) {
  const cvtm_grid_solver *s = (const cvtm_grid_solver *)lcp;
  return s->arena ? s->shape[0].active : NULL;
}

cvtm_status cvtm_grid_cycle(cvtm_lcp *lcp) {
  const cvtm_grid_solver *s = (const cvtm_grid_solver *)lcp;
  return s->levels > 0 ? v_cycle(s, 0) : iteration((void *)&s->body[0]);
}
