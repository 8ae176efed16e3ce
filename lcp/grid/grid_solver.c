/* Multigrid for five-point complementarity problems that are never stored as matrices. */
#include "lcp/grid/grid_solver.h"

#include "base/table_select.h"
#include "base/primitives.h"
#include "lcp/grid/grid_cycle.h"

#include <stdlib.h>
#include <string.h>

enum {
  COARSEST = 3,              /* nodes per side of the coarsest grid */
  COARSEST_SWEEPS = 40,      /* of the nested start's first problem, */
  EARLY_SWEEPS = 4,          /* if the hierarchy ends there for its mass */
  NESTED_CYCLES = 1,         /* of tnnmg, per level; */
  NESTED_BOUNDED_CYCLES = 8, /* the others need the free boundary in its place */
  POLL = 4,                  /* iterations between two looks of the host, where it has a monitor */
};

/* Links below this share of the mass leave nothing to coarser levels. */
static const double negligible = 1.0 / 16;

/* Links along one side this many times as strong as the others: that side is halved first. */
static const double much = 3;

typedef struct cvtm_grid_solver {
  cvtm_lcp head;
  const cvtm_grid_table *table;
  int levels; /* coarse ones: level[1] .. level[levels] */
  int bottom; /* the last one that matters */
  cvtm_grid_level level[CVTM_GRID_MAX_LEVELS];
  cvtm_grid_problem shape[CVTM_GRID_MAX_LEVELS]; /* host copies of the device's problems */
  cvtm_grid_problem *problem;                    /* device memory, levels + 1 */
  cvtm_grid_level *coarse;                       /* likewise */
  cvtm_grid_top top[CVTM_GRID_MAX_LEVELS];
  cvtm_loop *loop[CVTM_GRID_MAX_LEVELS];
  struct cvtm_grid_body {
    struct cvtm_grid_solver *solver;
    int at;
  } body[CVTM_GRID_MAX_LEVELS];
  void *arena, *extra;   /* always there; once a grid has coefficients of its own */
  int ready;             /* set_grid has been called */
  int linked;            /* with links of their own, after which the levels are laid out */
  int kind;              /* of the grid that the loops were made for, */
  double constant, mass; /* and its numbers */
} cvtm_grid_solver;

static cvtm_grid_rules rules_of(const cvtm_lcp_options *options) {
  const cvtm_lcp_method method = options->method;
  cvtm_grid_rules rules = {
      .truncated = method == CVTM_LCP_TRUNCATED || method == CVTM_LCP_TNNMG,
      .bounded = method != CVTM_LCP_TNNMG,
      .averaged = method == CVTM_LCP_PROJECTED_MULTIGRID,
      .searched = method == CVTM_LCP_TNNMG,
      .pre = options->pre_smoothing,
      .post = options->post_smoothing,
      .omega = method == CVTM_LCP_PSOR ? options->omega : 1.0,
  };
  return rules;
}

/* --- memory --- */

/* Cuts arrays from one block; with base NULL it only counts. */
typedef struct cutter {
  char *base;
  size_t used;
} cutter;

static void *cut(cutter *c, int64_t count, size_t size) {
  void *at = c->base ? c->base + c->used : NULL;
  c->used += ((size_t)count * size + 255) / 256 * 256;
  return at;
}

static int truncates_levels(const cvtm_grid_solver *s) {
  return s->head.options.method == CVTM_LCP_TRUNCATED;
}

static void cut_arena(cvtm_grid_solver *s, cutter *c) {
  const cvtm_grid_problem *fine = &s->shape[0];
  const int64_t parts = s->table->partials(fine->width, fine->height);
  s->problem = cut(c, s->levels + 1, sizeof *s->problem);
  s->coarse = cut(c, s->levels + 1, sizeof *s->coarse);
  s->top[0].state = cut(c, 1, sizeof(cvtm_grid_state));
  s->top[0].partial = cut(c, parts, sizeof(double));
  if (s->head.options.monitor) {
    s->top[0].history = cut(c, 2 * (s->head.options.max_iterations + 1), sizeof(double));
  }
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_grid_problem *p = &s->shape[l];
    const int64_t count = p->width * p->height;
    p->active = cut(c, count, 1);
    p->other = cut(c, count, 1);
    if (l == 0) {
      p->d = cut(c, count, sizeof(double));
      continue;
    }
    cvtm_grid_level *level = &s->level[l];
    level->coefficient = cut(c, CVTM_GRID_PLANES * count, sizeof(double));
    level->e = cut(c, count, sizeof(double));
    level->half = cut(c, count, sizeof(double));
    level->r = cut(c, count, sizeof(double));
    level->lower = cut(c, count, sizeof(double));
    level->upper = cut(c, count, sizeof(double));
    if (truncates_levels(s)) level->active = cut(c, count, 1);
    level->marked = cut(c, count + 1, 1);
    if (!truncates_levels(s)) s->top[l - 1].changed = level->marked + count;
    level->fresh = cut(c, count, 1);
    level->kind = cut(c, count, 1);
    /* While a level's own problem is solved, it corrects no other one. */
    p->x = level->e;
    p->b = level->r;
    p->d = level->coefficient;
  }
}

static void cut_extra(cvtm_grid_solver *s, cutter *c, int weights, const cvtm_lcp_grid *grid) {
  for (int l = 1; l <= s->levels; ++l) {
    cvtm_grid_problem *p = &s->shape[l];
    cvtm_grid_level *level = &s->level[l];
    const int64_t count = p->width * p->height;
    float *weight = cut(c, CVTM_GRID_WEIGHTS * level->blocks_x * level->blocks_y, sizeof(float));
    double *horizontal = cut(c, (p->width + 1) * p->height, sizeof(double));
    double *vertical = cut(c, p->width * (p->height + 1), sizeof(double));
    double *diagonal = cut(c, count, sizeof(double));
    uint8_t *mask = cut(c, count, 1);
    if (!c->base) continue;
    const int constant = !s->shape[l - 1].horizontal && !grid->mask && !grid->neumann &&
                         s->shape[l - 1].width % 2 == 1 && s->shape[l - 1].height % 2 == 1 &&
                         level->halved_x && level->halved_y;
    level->weight = weights ? weight : NULL;
    p->horizontal = constant ? NULL : horizontal;
    p->vertical = constant ? NULL : vertical;
    p->diagonal = grid->diagonal || grid->mass > 0 ? diagonal : NULL;
    p->mask = grid->mask ? mask : NULL;
  }
}

static cvtm_status allocate_arena(cvtm_grid_solver *s) {
  cutter count = {NULL, 0};
  cut_arena(s, &count);
  const cvtm_status status =
      cvtm_device_allocate(s->head.device, (int64_t)count.used, 1, &s->arena);
  if (status != CVTM_OK) return status;
  cutter give = {s->arena, 0};
  cut_arena(s, &give);
  return cvtm_device_fill(s->head.device, s->top[0].state, 0, sizeof *s->top[0].state);
}

static void drop_loops(cvtm_grid_solver *s) {
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_loop_destroy(s->loop[l]);
    s->loop[l] = NULL;
  }
}

static void destroy(cvtm_lcp *lcp) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  drop_loops(s);
  cvtm_device_free(s->head.device, s->arena);
  cvtm_device_free(s->head.device, s->extra);
  cvtm_lcp_close(lcp);
  free(s);
}

/* --- cycles --- */

static int nested_cycles(const cvtm_grid_top *top) {
  return top->rules.bounded ? NESTED_BOUNDED_CYCLES : NESTED_CYCLES;
}

/* Are the cycles on a level's problem chained? One by itself need not be. */
static int chained(const cvtm_grid_solver *s, int at) {
  const cvtm_grid_top *top = &s->top[at];
  return (at == 0 || nested_cycles(top) > 1) && s->head.options.method != CVTM_LCP_PSOR &&
         at < s->levels && s->table->chains(top, &s->level[at + 1]);
}

/* One V-cycle on the problem of level `at`; with a chain, `descend` has been done. */
static cvtm_status cycle(const cvtm_grid_solver *s, int at, int chain) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_top *top = &s->top[at];
  const cvtm_grid_level *level = s->level;
  const int last = s->bottom > at ? s->bottom : at + 1;
  int small = at + 1; /* the first level of the tail */
  while (small < last && level[small].width * level[small].height > table->tail_nodes) ++small;
  cvtm_status status = chain ? CVTM_OK : table->descend(top, &level[at + 1]);
  int known = at; /* operators are, down to this level */
  for (int l = at + 1; l <= small && !status; ++l) {
    if (l > known) { /* a truncated level on its way down decides on the operator below it */
      known = level[l].active ? l : last;
      status = table->operators(top, level, l, known, 0);
    }
    if (!status && l < small) status = table->down(top, &level[l], &level[l + 1]);
  }
  if (!status) status = table->tail(top, level, small, last);
  for (int l = small - 1; l > at && !status; --l) {
    status = table->up(top, &level[l], &level[l + 1]);
  }
  if (!status) status = table->correct(top, &level[at + 1]);
  if (!status) status = (chain ? table->turn : table->ascend)(top, &level[at + 1]);
  if (!status && top->rules.averaged && at == 0) status = table->keep_best(top, 0);
  return status;
}

static cvtm_status body(void *context) {
  const struct cvtm_grid_body *b = context;
  const cvtm_grid_solver *s = b->solver;
  const cvtm_grid_top *top = &s->top[b->at];
  if (b->at < s->levels && s->head.options.method != CVTM_LCP_PSOR) {
    return cycle(s, b->at, chained(s, b->at));
  }
  const int sweeps = s->head.options.method == CVTM_LCP_PSOR ? 1 : CVTM_GRID_BOTTOM_SWEEPS;
  const cvtm_status status = s->table->smooth(top, sweeps);
  return status ? status : s->table->measure(top, 1);
}

static cvtm_status make_loops(cvtm_grid_solver *s) {
  drop_loops(s);
  const int nested = s->head.options.nested && s->head.options.method != CVTM_LCP_PSOR;
  for (int l = 0; l <= (nested ? s->levels : 0); ++l) {
    const cvtm_status status = cvtm_loop_create(s->head.device, body, &s->body[l],
                                                &s->top[0].state->loop.go_on, &s->loop[l]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* All active nodes count as changed. */
static cvtm_status forget_active(const cvtm_grid_top *top) {
  const size_t nodes = (size_t)(top->shape->width * top->shape->height);
  return cvtm_device_fill(top->device, top->shape->active, CVTM_GRID_CHANGED, nodes);
}

/* Iterates on one level's x, which holds the start. */
static cvtm_status iterate(const cvtm_grid_solver *s, int at, int64_t limit) {
  const cvtm_lcp_options *options = &s->head.options;
  const cvtm_grid_top *top = &s->top[at];
  const int psor = options->method == CVTM_LCP_PSOR;
  const cvtm_grid_course course = {
      .relative = at == 0 ? options->tolerance : 0,
      .absolute = at == 0 ? options->absolute_tolerance : 0,
      .limit = limit,
      .window = psor                  ? 1000
                : top->rules.averaged ? 10
                                      : 40,
  };
  cvtm_status status = forget_active(top);
  if (!status) status = s->table->begin(top, &course);
  /* A single cycle of the nested start needs no verdict on where it begins. */
  if (!status && (at == 0 || limit > 1)) status = s->table->measure(top, 0);
  if (!status && top->rules.averaged && at == 0) status = s->table->keep_best(top, 0);
  if (!status && chained(s, at)) status = s->table->descend(top, &s->level[at + 1]);
  return status ? status : cvtm_loop_run(s->loop[at]);
}

/* The iterate, once no cycle is to follow. */
static cvtm_status settle(const cvtm_grid_solver *s, int at) {
  return chained(s, at) ? s->table->settle(&s->top[at], &s->level[at + 1]) : CVTM_OK;
}

static cvtm_status nested_start(const cvtm_grid_solver *s) {
  const cvtm_grid_top *top = s->top;
  const int cycles = nested_cycles(top);
  const int first = s->bottom, sweeps = first < s->levels ? EARLY_SWEEPS : COARSEST_SWEEPS;
  cvtm_status status = CVTM_OK;
  for (int l = 1; l <= first && !status; ++l) {
    status = s->table->coarsen_data(&top[l - 1], &top[l], &s->level[l]);
  }
  if (!status) status = s->table->start(&top[first], 0, 0);
  if (!status) status = s->table->smooth(&top[first], sweeps);
  for (int l = first - 1; l >= 0 && !status; --l) {
    status = s->table->prolong_start(&top[l], &top[l + 1], &s->level[l + 1]);
    if (!status && l > 0) status = iterate(s, l, cycles);
    if (!status && l > 0) status = settle(s, l);
  }
  return status;
}

/* Tells the monitor what it has not heard yet; nonzero: it asks to stop. */
static cvtm_status tell(const cvtm_grid_solver *s, int64_t *told, int64_t iteration, int *stop) {
  const cvtm_lcp_options *options = &s->head.options;
  double norms[2 * (POLL + 1)];
  const int64_t count = iteration + 1 - *told;
  const cvtm_status status = cvtm_device_copy_out(
      s->head.device, norms, s->top[0].history + 2 * *told, (size_t)(2 * count) * sizeof *norms);
  for (int64_t k = 0; k < count && !status; ++k) {
    const cvtm_lcp_progress progress = {*told + k, norms[2 * k], norms[2 * k + 1]};
    if (options->monitor(options->monitor_context, &progress)) *stop = 1;
  }
  *told = iteration + 1;
  return status;
}

static cvtm_status run(const cvtm_grid_solver *s, cvtm_grid_state *state) {
  const cvtm_lcp_options *options = &s->head.options;
  const int64_t stride = options->monitor ? POLL : options->max_iterations;
  int64_t told = 0, limit = stride < options->max_iterations ? stride : options->max_iterations;
  int stop = 0;
  cvtm_status status = iterate(s, 0, limit);
  for (;;) {
    if (!status) {
      status = cvtm_device_copy_out(s->head.device, state, s->top[0].state, sizeof *state);
    }
    if (!status && options->monitor) status = tell(s, &told, state->loop.iteration, &stop);
    if (status || stop || state->loop.stop != CVTM_LCP_ITERATIONS ||
        limit >= options->max_iterations) {
      if (stop && state->loop.stop == CVTM_LCP_ITERATIONS) state->loop.stop = CVTM_LCP_INTERRUPTED;
      return status ? status : settle(s, 0);
    }
    limit = limit + stride < options->max_iterations ? limit + stride : options->max_iterations;
    status = s->table->resume(&s->top[0], limit);
    if (!status) status = cvtm_loop_run(s->loop[0]);
  }
}

/* The problem that is to be solved, on the finest grid and as the others will see it. */
static cvtm_status take_problem(cvtm_grid_solver *s, const double *b, const double *lower,
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

static cvtm_status solve(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                         double *x, int warm, cvtm_lcp_result *result) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  const cvtm_grid_top *top = &s->top[0];
  cvtm_status status = take_problem(s, b, lower, upper, x);
  if (lcp->options.tolerance > 0) {
    if (!status) status = s->table->start(top, 0, 1);
    if (!status) status = s->table->measure_cold(top);
  }
  const int nested =
      !warm && lcp->options.nested && s->levels > 0 && lcp->options.method != CVTM_LCP_PSOR;
  if (!status) status = nested ? nested_start(s) : s->table->start(top, warm, 0);
  cvtm_grid_state state;
  memset(&state, 0, sizeof state);
  if (!status) status = run(s, &state);
  const cvtm_iteration_state *loop = &state.loop;
  if (!status && top->rules.averaged && loop->stop != CVTM_LCP_CONVERGED) {
    status = s->table->keep_best(top, 1);
    if (!status) status = s->table->measure(top, 0);
  }
  if (!status) status = s->table->finish(top);
  cvtm_grid_state final;
  if (!status) status = cvtm_device_copy_out(lcp->device, &final, top->state, sizeof final);
  if (status) return status;
  result->stop = (cvtm_lcp_stop)loop->stop;
  result->iterations = loop->iteration;
  result->natural_residual = final.loop.norm;
  result->natural_residual_max = final.loop.maximum;
  result->active_lower = final.active_lower;
  result->active_upper = final.active_upper;
  result->energy = final.energy;
  result->rate = cvtm_iteration_rate(loop);
  return CVTM_OK;
}

/* --- single cycles --- */

cvtm_status cvtm_grid_begin_cycles(cvtm_lcp *lcp, const double *b, double *x) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  const cvtm_grid_course course = {.limit = INT64_MAX, .window = INT64_MAX};
  cvtm_status status = take_problem(s, b, NULL, NULL, x);
  if (!status) status = forget_active(&s->top[0]);
  return status ? status : s->table->begin(&s->top[0], &course);
}

uint8_t *cvtm_grid_changes(cvtm_lcp *lcp) {
  const cvtm_grid_solver *s = (const cvtm_grid_solver *)lcp;
  return s->arena ? s->shape[0].active : NULL;
}

cvtm_status cvtm_grid_cycle(cvtm_lcp *lcp) {
  const cvtm_grid_solver *s = (const cvtm_grid_solver *)lcp;
  return s->levels > 0 ? cycle(s, 0, 0) : body((void *)&s->body[0]);
}

/* --- setup --- */

/* aspect: links across over links down. A side with weak links waits until those along the other
 * one, four times as weak against them after each step, are about alike. */
static void plan_levels(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect) {
  s->levels = 0;
  s->shape[0].width = width;
  s->shape[0].height = height;
  while (width > COARSEST || height > COARSEST) {
    cvtm_grid_level *level = &s->level[++s->levels];
    memset(level, 0, sizeof *level);
    level->halved_x = width > 1 && (height == 1 || much * aspect >= 1);
    level->halved_y = height > 1 && (width == 1 || much >= aspect);
    level->blocks_x = level->halved_x ? (width + 1) / 2 : width;
    level->blocks_y = level->halved_y ? (height + 1) / 2 : height;
    if (level->halved_x) width /= 2;
    if (level->halved_y) height /= 2;
    if (!level->halved_x) aspect *= 4;
    if (!level->halved_y) aspect /= 4;
    level->width = s->shape[s->levels].width = width;
    level->height = s->shape[s->levels].height = height;
  }
}

/* Levels and their memory, instead of what there was. Loops and what set_grid allocated belonged to
 * the levels before. */
static cvtm_status lay_out(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect) {
  drop_loops(s);
  s->kind = 0;
  cvtm_device_free(s->head.device, s->extra);
  cvtm_device_free(s->head.device, s->arena);
  s->extra = s->arena = NULL;
  plan_levels(s, width, height, aspect);
  const cvtm_status status = allocate_arena(s);
  if (status != CVTM_OK) return status;
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_grid_top *top = &s->top[l];
    top->device = s->head.device;
    top->rules = rules_of(&s->head.options);
    top->problem = s->problem + l;
    top->shape = &s->shape[l];
    top->state = s->top[0].state;
    top->partial = s->top[0].partial;
    top->levels = s->coarse;
    top->number = l;
    s->body[l].solver = s;
    s->body[l].at = l;
  }
  return CVTM_OK;
}

cvtm_status cvtm_lcp_create_grid(cvtm_device *device, int64_t width, int64_t height,
                                 const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table dispatch = {solve, destroy};
  if (!device) return CVTM_ERROR_ARGUMENT;
  cvtm_error *error = cvtm_device_error(device);
  if (!options || !lcp) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no options or no result");
  if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a grid of %lld x %lld nodes", (long long)width,
                     (long long)height);
  }
  cvtm_lcp_options chosen = *options;
  if (chosen.method == CVTM_LCP_AUTO) chosen.method = CVTM_LCP_TNNMG;
  if (chosen.method == CVTM_LCP_PDAS) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "pdas needs a matrix, not a grid");
  }
  cvtm_grid_solver *s = calloc(1, sizeof *s);
  if (!s) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = cvtm_lcp_open(&s->head, &dispatch, device, width * height, &chosen);
  if (status != CVTM_OK) {
    free(s);
    return status;
  }
  s->table = CVTM_TABLE(device, cvtm_grid_table);
  status = lay_out(s, width, height, 1);
  if (status != CVTM_OK) {
    destroy(&s->head);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}

static cvtm_status check_grid(cvtm_error *error, const cvtm_grid_solver *s,
                              const cvtm_lcp_grid *grid) {
  if (grid->width != s->shape[0].width || grid->height != s->shape[0].height) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "coefficients of %lld x %lld nodes for a solver of %lld x %lld",
                     (long long)grid->width, (long long)grid->height, (long long)s->shape[0].width,
                     (long long)s->shape[0].height);
  }
  if (!grid->horizontal != !grid->vertical) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "horizontal links without vertical ones");
  }
  if (!grid->horizontal && !(grid->constant >= 0 && isfinite(grid->constant))) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "links of %g", grid->constant);
  }
  if (!(grid->mass >= 0 && isfinite(grid->mass))) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a mass of %g", grid->mass);
  }
  return CVTM_OK;
}

/* Links across over links down, by their root mean squares; 1 where that says nothing. */
static cvtm_status find_aspect(const cvtm_grid_solver *s, const cvtm_lcp_grid *grid,
                               double *aspect) {
  const int64_t across = (grid->width + 1) * grid->height, down = grid->width * (grid->height + 1);
  cvtm_device *device = s->head.device;
  double squares[2] = {0, 0}, *result = NULL;
  void *workspace = NULL;
  size_t bytes = 0;
  *aspect = 1;
  cvtm_status status = cvtm_reduce_workspace(device, across > down ? across : down, &bytes);
  if (!status) status = cvtm_device_allocate(device, (int64_t)bytes, 1, &workspace);
  if (!status) status = cvtm_device_allocate(device, 2, sizeof *result, (void **)&result);
  if (!status)
    status = cvtm_dot(device, grid->horizontal, grid->horizontal, across, result, workspace, bytes);
  if (!status)
    status = cvtm_dot(device, grid->vertical, grid->vertical, down, result + 1, workspace, bytes);
  if (!status) status = cvtm_device_copy_out(device, squares, result, sizeof squares);
  cvtm_device_free(device, result);
  cvtm_device_free(device, workspace);
  const double found = sqrt(squares[0] / (double)across) / sqrt(squares[1] / (double)down);
  if (found > 0 && isfinite(found)) *aspect = found;
  return status;
}

/* No coarse node is at a bound. */
static cvtm_status release_levels(const cvtm_grid_solver *s) {
  cvtm_status status = CVTM_OK;
  for (int l = 1; l <= s->levels && !status; ++l) {
    const cvtm_grid_level *level = &s->level[l];
    if (!level->active) continue;
    status =
        cvtm_device_fill(s->head.device, level->active, 0, (size_t)(level->width * level->height));
  }
  return status;
}

/* Operator-dependent weights on all levels, from the operator without active nodes. */
static cvtm_status set_weights(const cvtm_grid_solver *s) {
  cvtm_status status = s->table->free_active(&s->top[0]);
  for (int l = 1; l <= s->levels && !status; ++l) {
    const cvtm_grid_level *finer = l == 1 ? NULL : &s->level[l - 1];
    status = s->table->weights(&s->top[0], finer, &s->level[l]);
    if (!status) status = s->table->operators(&s->top[0], s->level, l, l, 1);
  }
  return status;
}

/* Where links are constant, each level has the same ones and four times the mass of the one above:
 * soon nodes hardly know of each other. */
static int find_bottom(const cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  double mass = grid->horizontal ? 0 : grid->mass;
  int level = 0;
  while (level < s->levels && !(mass > 0 && grid->constant <= negligible * mass)) {
    mass *= 4;
    ++level;
  }
  return level;
}

cvtm_status cvtm_lcp_set_grid(cvtm_lcp *lcp, const cvtm_lcp_grid *grid) {
  if (!lcp) return CVTM_ERROR_ARGUMENT;
  cvtm_error *error = cvtm_device_error(lcp->device);
  if (!grid || lcp->table->solve != solve) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no coefficients, or not a solver on a grid");
  }
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  cvtm_status status = check_grid(error, s, grid);
  if (status != CVTM_OK) return status;
  s->ready = 0;
  double aspect = 1;
  if (!s->linked && grid->horizontal) status = find_aspect(s, grid, &aspect);
  if (!status && (!s->arena || aspect > much || much * aspect < 1))
    status = lay_out(s, grid->width, grid->height, aspect);
  if (status != CVTM_OK) return status;
  if (grid->horizontal) s->linked = 1;

  cvtm_grid_problem *p = &s->shape[0];
  p->diagonal = grid->diagonal;
  p->mass = grid->mass;
  p->horizontal = grid->horizontal;
  p->vertical = grid->vertical;
  p->mask = grid->mask;
  const int weights = grid->horizontal || grid->mask;
  if (!s->extra) {
    cutter count = {NULL, 0};
    cut_extra(s, &count, weights, grid);
    status = cvtm_device_allocate(lcp->device, (int64_t)count.used, 1, &s->extra);
    if (status != CVTM_OK) return status;
  }
  cutter give = {s->extra, 0};
  cut_extra(s, &give, weights, grid);
  for (int l = 0; l <= s->levels; ++l) {
    s->shape[l].constant = grid->constant;
    s->shape[l].neumann = s->level[l].neumann = grid->neumann;
  }
  status = cvtm_device_copy_in(lcp->device, s->problem, s->shape,
                               (size_t)(s->levels + 1) * sizeof *s->problem);
  if (!status) {
    status = cvtm_device_copy_in(lcp->device, s->coarse, s->level,
                                 (size_t)(s->levels + 1) * sizeof *s->coarse);
  }
  if (!status) status = release_levels(s);
  if (!status && weights && lcp->options.method != CVTM_LCP_PSOR) status = set_weights(s);
  s->bottom = find_bottom(s, grid);
  for (int l = 1; l <= s->bottom && !status && lcp->options.nested; ++l) {
    status = s->table->coarsen_links(&s->top[l - 1], &s->top[l], &s->level[l]);
  }
  const int kind =
      1 + !!grid->diagonal + 2 * !!grid->horizontal + 4 * !!grid->mask + 8 * !!grid->neumann;
  if (!status && (kind != s->kind || grid->constant != s->constant || grid->mass != s->mass)) {
    status = make_loops(s);
    s->kind = status ? 0 : kind;
    s->constant = grid->constant;
    s->mass = grid->mass;
  }
  s->ready = status == CVTM_OK;
  return status;
}
