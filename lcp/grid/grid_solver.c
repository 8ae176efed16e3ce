/* The solver of cvtm_lcp_create_grid: multigrid for five-point complementarity problems that are
 * never stored as matrices. Setup of levels, memory and coefficients; the V-cycle, the iteration,
 * and the nested start; create and solve. */
#include "base/select.h"
#include "base/primitives.h"
#include "lcp/grid/grid_node.h"

#include <stdlib.h>
#include <string.h>

typedef struct cvtm_grid_solver {
  cvtm_lcp head;
  const cvtm_grid_table *table;
  int levels; /* number of coarse levels: level[1] .. level[levels] */
  int bottom; /* the coarsest level that cycles use */
  cvtm_grid_level level[CVTM_GRID_MAX_LEVELS];
  cvtm_grid_problem shape[CVTM_GRID_MAX_LEVELS]; /* host copies of `problem` */
  cvtm_grid_problem *problem;                    /* device memory, levels + 1 */
  cvtm_grid_top top[CVTM_GRID_MAX_LEVELS];
  cvtm_loop *loop[CVTM_GRID_MAX_LEVELS]; /* the iteration on the problem of each level */
  struct cvtm_grid_body {
    struct cvtm_grid_solver *solver;
    int at;
  } body[CVTM_GRID_MAX_LEVELS]; /* argument of each loop */
  void *arena, *extra; /* device memory: arena for every problem, extra for varying coefficients */
  int ready;           /* nonzero: the coefficients have been set */
  int linked;          /* nonzero: the levels have been laid out for arrays of links */
  int kind;            /* kind of the coefficients for which the loops were recorded; 0: none */
  double constant, mass; /* the values of constant coefficients */
} cvtm_grid_solver;

/* ------ setup: the levels, their memory, and their coefficients ------ */

enum { COARSEST = 3 }; /* largest number of nodes per side of the coarsest grid */

/* If the links are at most this fraction of the mass, a level needs no coarser level. */
static const double negligible_links = 1.0 / 16;

/* --- memory --- */

static void drop_loops(cvtm_grid_solver *s) {
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_loop_destroy(s->loop[l]);
    s->loop[l] = NULL;
  }
}

/* Places arrays consecutively in a block of memory. With base NULL it only counts bytes. */
typedef struct bump_allocator {
  char *base;
  size_t used;
} bump_allocator;

static size_t padded(int64_t count, size_t size) {
  return ((size_t)count * size + 255) / 256 * 256;
}

static void *bump(bump_allocator *c, int64_t count, size_t size) {
  void *at = c->base ? c->base + c->used : NULL;
  c->used += padded(count, size);
  return at;
}

static void place_arena(cvtm_grid_solver *s, bump_allocator *c) {
  const cvtm_grid_problem *fine = &s->shape[0];
  const int64_t partials = s->table->partial_doubles(fine->width, fine->height);
  s->problem = bump(c, s->levels + 1, sizeof *s->problem);
  s->top[0].state = bump(c, 1, sizeof(cvtm_grid_state));
  s->top[0].partial = bump(c, partials, sizeof(double));
  if (s->head.options.monitor)
    s->top[0].history = bump(c, 2 * (s->head.options.max_iterations + 1), sizeof(double));
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_grid_problem *p = &s->shape[l];
    const int64_t count = p->width * p->height;
    p->active = bump(c, count, 1);
    if (l == 0) {
      p->d = bump(c, count, sizeof(double));
      continue;
    }
    cvtm_grid_level *level = &s->level[l];
    level->coefficient = bump(c, CVTM_GRID_PLANES * count, sizeof(double));
    level->e = bump(c, count, sizeof(double));
    level->scratch = bump(c, count, sizeof(double));
    level->r = bump(c, count, sizeof(double));
    level->lower = bump(c, count, sizeof(double));
    level->upper = bump(c, count, sizeof(double));
    level->support_changed = bump(c, count + 1, 1); /* last: is any flag set? */
    s->top[l - 1].changed = level->support_changed + count;
    level->stencil_changed = bump(c, count, 1);
    level->kind = bump(c, count, 1);
    /* The problem of a level uses arrays of the level: while the problem is solved, the level does
     * not correct a finer level. */
    p->x = level->e;
    p->b = level->r;
    p->d = level->coefficient;
  }
}

/* Zeroes memory that is read before a cycle has written it: the state; the flags of active nodes,
 * of which CUDA copies complete words including the padding after the last flag; and the operators
 * of small levels, which the tail of the V-cycle on CUDA loads before it knows whether they have
 * changed. */
static cvtm_status clear_arena(const cvtm_grid_solver *s) {
  cvtm_status status =
      cvtm_device_fill(s->head.device, s->top[0].state, 0, sizeof *s->top[0].state);
  for (int l = 0; l <= s->levels && status == CVTM_OK; ++l) {
    const cvtm_grid_problem *p = &s->shape[l];
    const size_t bytes = padded(p->width * p->height, 1);
    status = cvtm_device_fill(s->head.device, p->active, 0, bytes);
    if (l == 0 || status != CVTM_OK || p->width * p->height > CVTM_GRID_TAIL_NODES) continue;
    const size_t planes = CVTM_GRID_PLANES * (size_t)(p->width * p->height);
    status = cvtm_device_fill(s->head.device, s->level[l].coefficient, 0, planes * sizeof(double));
  }
  return status;
}

static cvtm_status allocate_arena(cvtm_grid_solver *s) {
  bump_allocator count = {NULL, 0};
  place_arena(s, &count);
  CVTM_TRY(cvtm_device_allocate(s->head.device, (int64_t)count.used, 1, &s->arena));
  bump_allocator give = {s->arena, 0};
  place_arena(s, &give);
  return clear_arena(s);
}

static void place_extra(cvtm_grid_solver *s, bump_allocator *c, int weights,
                        const cvtm_lcp_grid *grid) {
  for (int l = 1; l <= s->levels; ++l) {
    cvtm_grid_problem *p = &s->shape[l];
    cvtm_grid_level *level = &s->level[l];
    const int64_t count = p->width * p->height;
    float *weight = bump(c, CVTM_GRID_WEIGHTS * level->blocks_x * level->blocks_y, sizeof(float));
    double *horizontal = bump(c, (p->width + 1) * p->height, sizeof(double));
    double *vertical = bump(c, p->width * (p->height + 1), sizeof(double));
    double *diagonal = bump(c, count, sizeof(double));
    uint8_t *mask = bump(c, count, 1);
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

/* Allocates memory for the coefficients of all levels once, and assigns the part that this grid
 * needs. */
static cvtm_status lay_out_extra(cvtm_grid_solver *s, int weights, const cvtm_lcp_grid *grid) {
  if (!s->extra) {
    bump_allocator count = {NULL, 0};
    place_extra(s, &count, weights, grid);
    CVTM_TRY(cvtm_device_allocate(s->head.device, (int64_t)count.used, 1, &s->extra));
  }
  bump_allocator give = {s->extra, 0};
  place_extra(s, &give, weights, grid);
  return CVTM_OK;
}

/* --- levels --- */

static void plan_levels(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect) {
  s->levels = 0;
  s->shape[0].width = width;
  s->shape[0].height = height;
  while (width > COARSEST || height > COARSEST) {
    cvtm_grid_level *level = &s->level[++s->levels];
    memset(level, 0, sizeof *level);
    level->halved_x = cvtm_grid_is_halved(width, height, aspect, 1);
    level->halved_y = cvtm_grid_is_halved(height, width, 1, aspect);
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

/* Lays out levels, their memory and their loops, and replaces the previous ones. aspect: links
 * along x over links along y. On failure the solver has no memory, and may be laid out again. */
static cvtm_status lay_out(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect) {
  drop_loops(s);
  s->kind = 0;
  cvtm_device_free(s->head.device, s->extra);
  cvtm_device_free(s->head.device, s->arena);
  s->extra = s->arena = NULL;
  plan_levels(s, width, height, aspect);
  CVTM_TRY(allocate_arena(s));
  for (int l = 0; l <= s->levels; ++l) {
    cvtm_grid_top *top = &s->top[l];
    top->device = s->head.device;
    top->omega = s->head.options.method == CVTM_LCP_PSOR ? s->head.options.omega : 1;
    top->problem = s->problem + l;
    top->shape = &s->shape[l];
    top->state = s->top[0].state;
    top->partial = s->top[0].partial;
    top->number = l;
    s->body[l].solver = s;
    s->body[l].at = l;
  }
  return CVTM_OK;
}

/* ------ the V-cycle, the iteration around it, and the nested start ------ */

enum {
  COARSEST_SWEEPS = 40,     /* sweeps on the coarsest problem of the nested start */
  MASS_COARSEST_SWEEPS = 4, /* the same if the mass of that problem dominates the links */
  NESTED_CYCLES = 1,        /* cycles on each level of the nested start */
};

/* --- the V-cycle --- */

/* Runs the V-cycle of the coarse levels l .. last. */
static cvtm_status coarse_cycle(const cvtm_grid_solver *s, const cvtm_grid_top *top, int l,
                                int last) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_level *level = &s->level[l], *coarse = level + 1;
  if (l == last || (table->is_tail && table->is_tail(top, s->level, l, last)))
    return table->tail_cycle(top, s->level, l, last);
  CVTM_TRY(table->coarse_pre_smooth_and_restrict(top, level, coarse));
  CVTM_TRY(coarse_cycle(s, top, l + 1, last));
  return table->coarse_prolong_and_post_smooth(top, level, coarse);
}

/* Runs a V-cycle on the problem of level `at`. */
static cvtm_status v_cycle(const cvtm_grid_solver *s, int at) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_top *top = &s->top[at];
  const cvtm_grid_level *coarse = &s->level[at + 1];
  const int last = s->bottom > at ? s->bottom : at + 1;
  CVTM_TRY(table->pre_smooth_and_restrict(top, coarse));
  CVTM_TRY(table->galerkin(top, s->level, at + 1, last, 0));
  CVTM_TRY(coarse_cycle(s, top, at + 1, last));
  CVTM_TRY(table->prolong_and_correct(top, coarse));
  return table->post_smooth_and_measure(top, coarse);
}

/* --- the iteration --- */

/* Runs an iteration on a level: one sweep for PSOR, several sweeps on the coarsest level, else a
 * V-cycle. */
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

static cvtm_status make_loops(cvtm_grid_solver *s) {
  drop_loops(s);
  const int nested = s->head.options.nested && s->head.options.method != CVTM_LCP_PSOR;
  for (int l = 0; l <= (nested ? s->levels : 0); ++l) {
    CVTM_TRY(cvtm_loop_create(s->head.device, iteration, &s->body[l], &s->top[0].state->loop.go_on,
                              &s->loop[l]));
  }
  return CVTM_OK;
}

/* Stores b and the bounds in the problem; the arrays are borrowed until the solve ends. */
static cvtm_status set_problem(cvtm_grid_solver *s, const double *b, const double *lower,
                               const double *upper, double *x) {
  if (!s->ready)
    return cvtm_fail(cvtm_device_error(s->head.device), CVTM_ERROR_ARGUMENT,
                     "the grid's coefficients have not been set");
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

/* Marks the activity of all nodes as changed, so that the first cycle computes P'AP everywhere. */
static cvtm_status forget_active(const cvtm_grid_top *top) {
  const size_t nodes = (size_t)(top->shape->width * top->shape->height);
  return cvtm_device_fill(top->device, top->shape->active, CVTM_GRID_CHANGED, nodes);
}

/* Iterates from the given x on the problem of level `at` until it converges or reaches `limit`. */
static cvtm_status iterate(const cvtm_grid_solver *s, int at, int64_t limit) {
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
  CVTM_TRY(forget_active(top));
  CVTM_TRY(table->begin_iteration(top, &rule));
  /* a cycle of the nested start does not need the norms at its start */
  if (at == 0) CVTM_TRY(table->measure(top, 0));
  return cvtm_loop_run(s->loop[at]);
}

/* --- the nested start --- */

/* Computes the initial x from the solutions of the coarser problems. */
static cvtm_status start_nested(const cvtm_grid_solver *s) {
  const cvtm_grid_table *table = s->table;
  const cvtm_grid_top *top = s->top;
  const int first = s->bottom;
  const int sweeps = first < s->levels ? MASS_COARSEST_SWEEPS : COARSEST_SWEEPS;
  for (int l = 1; l <= first; ++l)
    CVTM_TRY(table->coarsen_data(&top[l - 1], &top[l], &s->level[l]));
  CVTM_TRY(table->clip_start(&top[first], 0, 0));
  CVTM_TRY(table->smooth(&top[first], sweeps));
  for (int l = first - 1; l >= 0; --l) {
    CVTM_TRY(table->prolong_solution(&top[l], &top[l + 1], &s->level[l + 1]));
    if (l == 0) break;
    CVTM_TRY(iterate(s, l, NESTED_CYCLES));
  }
  return CVTM_OK;
}

/* --- single cycles --- */

cvtm_status cvtm_grid_begin_cycles(cvtm_lcp *lcp, const double *b, double *x) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  const cvtm_grid_stop_rule rule = {.limit = INT64_MAX, .window = INT64_MAX};
  CVTM_TRY(set_problem(s, b, NULL, NULL, x));
  CVTM_TRY(forget_active(&s->top[0]));
  return s->table->begin_iteration(&s->top[0], &rule);
}

uint8_t *cvtm_grid_changes(cvtm_lcp *lcp) {
  const cvtm_grid_solver *s = (const cvtm_grid_solver *)lcp;
  return s->arena ? s->shape[0].active : NULL;
}

cvtm_status cvtm_grid_cycle(cvtm_lcp *lcp) {
  const cvtm_grid_solver *s = (const cvtm_grid_solver *)lcp;
  return s->levels > 0 ? v_cycle(s, 0) : iteration((void *)&s->body[0]);
}

/* --- coefficients --- */

static cvtm_status check_grid(cvtm_error *error, const cvtm_grid_solver *s,
                              const cvtm_lcp_grid *grid) {
  if (grid->width != s->shape[0].width || grid->height != s->shape[0].height)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the coefficients have %lld x %lld nodes, but the solver has %lld x %lld",
                     (long long)grid->width, (long long)grid->height, (long long)s->shape[0].width,
                     (long long)s->shape[0].height);
  if (!grid->horizontal != !grid->vertical)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "horizontal and vertical links go together");
  if (!grid->horizontal && !(grid->constant >= 0 && isfinite(grid->constant)))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the weight of links must be 0 or more and finite, not %g", grid->constant);
  if (!(grid->mass >= 0 && isfinite(grid->mass)))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the mass cannot be %g", grid->mass);
  return CVTM_OK;
}

/* Sets *aspect to the root mean square of the horizontal links over that of the vertical links; to
 * 1 if the quotient is not a positive number. */
static cvtm_status find_aspect(const cvtm_grid_solver *s, const cvtm_lcp_grid *grid,
                               double *aspect) {
  const int64_t across = (grid->width + 1) * grid->height, down = grid->width * (grid->height + 1);
  cvtm_device *device = s->head.device;
  double squares[2] = {0, 0}, *result = NULL;
  *aspect = 1;
  cvtm_status status = cvtm_device_allocate(device, 2, CVTM_TYPED(result));
  if (status == CVTM_OK)
    status = cvtm_dot(device, grid->horizontal, grid->horizontal, across, result);
  if (status == CVTM_OK)
    status = cvtm_dot(device, grid->vertical, grid->vertical, down, result + 1);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, squares, result, sizeof squares);
  cvtm_device_free(device, result);
  const double found = sqrt(squares[0] / (double)across) / sqrt(squares[1] / (double)down);
  if (found > 0 && isfinite(found)) *aspect = found;
  return status;
}

/* Computes operator-dependent weights on all levels, from the operator without active nodes. */
static cvtm_status compute_weights(const cvtm_grid_solver *s) {
  CVTM_TRY(s->table->mark_masked(&s->top[0]));
  for (int l = 1; l <= s->levels; ++l) {
    const cvtm_grid_level *finer = l == 1 ? NULL : &s->level[l - 1];
    CVTM_TRY(s->table->interpolation_weights(&s->top[0], finer, &s->level[l]));
    CVTM_TRY(s->table->galerkin(&s->top[0], s->level, l, l, 1));
  }
  return CVTM_OK;
}

/* The coarsest level that cycles use. With constant links, each level has the links of the next
 * finer level and four times its mass, so that the mass soon dominates. */
static int find_bottom(const cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  double mass = grid->horizontal ? 0 : grid->mass;
  int level = 0;
  while (level < s->levels && !(mass > 0 && grid->constant <= negligible_links * mass)) {
    mass *= 4;
    ++level;
  }
  return level;
}

/* Records the loops, unless they were recorded for these coefficients. */
static cvtm_status renew_loops(cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  const int kind =
      1 + !!grid->diagonal + 2 * !!grid->horizontal + 4 * !!grid->mask + 8 * !!grid->neumann;
  if (kind == s->kind && grid->constant == s->constant && grid->mass == s->mass) return CVTM_OK;
  const cvtm_status status = make_loops(s);
  s->kind = status == CVTM_OK ? kind : 0;
  s->constant = grid->constant;
  s->mass = grid->mass;
  return status;
}

/* Stores the given coefficients, and decides which arrays the coarser levels need. */
static cvtm_status place_coefficients(cvtm_grid_solver *s, const cvtm_lcp_grid *grid, int weights) {
  cvtm_grid_problem *p = &s->shape[0];
  p->diagonal = grid->diagonal;
  p->mass = grid->mass;
  p->horizontal = grid->horizontal;
  p->vertical = grid->vertical;
  p->mask = grid->mask;
  CVTM_TRY(lay_out_extra(s, weights, grid));
  for (int l = 0; l <= s->levels; ++l) {
    s->shape[l].constant = grid->constant;
    s->shape[l].neumann = s->level[l].neumann = grid->neumann;
  }
  return cvtm_device_copy_in(s->head.device, s->problem, s->shape,
                             (size_t)(s->levels + 1) * sizeof *s->problem);
}

static cvtm_status set_coefficients(cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  const cvtm_lcp_options *options = &s->head.options;
  const int weights = grid->horizontal || grid->mask;
  double aspect = 1;
  CVTM_TRY(check_grid(cvtm_device_error(s->head.device), s, grid));
  s->ready = 0;
  if (!s->linked && grid->horizontal) CVTM_TRY(find_aspect(s, grid, &aspect));
  const int is_stretched =
      aspect > CVTM_GRID_SEMICOARSENING || CVTM_GRID_SEMICOARSENING * aspect < 1;
  if (!s->arena || is_stretched) CVTM_TRY(lay_out(s, grid->width, grid->height, aspect));
  if (grid->horizontal) s->linked = 1;
  CVTM_TRY(place_coefficients(s, grid, weights));
  if (weights && options->method != CVTM_LCP_PSOR) CVTM_TRY(compute_weights(s));
  s->bottom = find_bottom(s, grid);
  for (int l = 1; l <= s->bottom && options->nested; ++l)
    CVTM_TRY(s->table->coarsen_links(&s->top[l - 1], &s->top[l], &s->level[l]));
  CVTM_TRY(renew_loops(s, grid));
  s->ready = 1;
  return CVTM_OK;
}

/* ------ the solver ------ */

enum { MONITOR_STRIDE = 4 }; /* with a monitor, the host polls after this many iterations */

static void destroy_grid_solver(cvtm_lcp *lcp) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  drop_loops(s);
  cvtm_device_free(s->head.device, s->arena);
  cvtm_device_free(s->head.device, s->extra);
  cvtm_lcp_close(lcp);
  free(s);
}

/* Reports iterations from *reported on to the monitor. *stop: 1 if the monitor asks to stop. */
static cvtm_status report_iterations(const cvtm_grid_solver *s, int64_t *reported,
                                     int64_t iteration, int *stop) {
  const cvtm_lcp_options *options = &s->head.options;
  double norms[2 * (MONITOR_STRIDE + 1)];
  const int64_t count = iteration + 1 - *reported;
  CVTM_TRY(cvtm_device_copy_out(s->head.device, norms, s->top[0].history + 2 * *reported,
                                (size_t)(2 * count) * sizeof *norms));
  for (int64_t k = 0; k < count; ++k) {
    const cvtm_lcp_progress progress = {*reported + k, norms[2 * k], norms[2 * k + 1]};
    if (options->monitor(options->monitor_context, &progress)) *stop = 1;
  }
  *reported = iteration + 1;
  return CVTM_OK;
}

/* Iterates until the stop rule ends the loop; with a monitor, in strides of MONITOR_STRIDE. */
static cvtm_status run_iterations(const cvtm_grid_solver *s, cvtm_grid_state *state) {
  const cvtm_lcp_options *options = &s->head.options;
  const int64_t most = options->max_iterations, stride = options->monitor ? MONITOR_STRIDE : most;
  int64_t reported = 0, limit = stride < most ? stride : most;
  int stop = 0;
  cvtm_status status = iterate(s, 0, limit);
  while (status == CVTM_OK) {
    status = cvtm_device_copy_out(s->head.device, state, s->top[0].state, sizeof *state);
    if (status == CVTM_OK && options->monitor)
      status = report_iterations(s, &reported, state->loop.iteration, &stop);
    if (status != CVTM_OK) break;
    if (stop || state->loop.stop != CVTM_LCP_ITERATIONS || limit >= most) {
      if (stop && state->loop.stop == CVTM_LCP_ITERATIONS) state->loop.stop = CVTM_LCP_INTERRUPTED;
      return CVTM_OK;
    }
    limit = limit + stride < most ? limit + stride : most;
    status = s->table->raise_limit(&s->top[0], limit);
    if (status == CVTM_OK) status = cvtm_loop_run(s->loop[0]);
  }
  return status;
}

/* Sets the initial x, and the reference norm of the tolerance. */
static cvtm_status set_start(const cvtm_grid_solver *s, int warm) {
  const cvtm_lcp_options *options = &s->head.options;
  const cvtm_grid_top *top = &s->top[0];
  if (options->tolerance > 0) {
    CVTM_TRY(s->table->clip_start(top, 0, 1));
    CVTM_TRY(s->table->measure_cold_start(top));
  }
  const int nested = !warm && options->nested && s->levels > 0 && options->method != CVTM_LCP_PSOR;
  return nested ? start_nested(s) : s->table->clip_start(top, warm, 0);
}

static cvtm_status solve_on_grid(cvtm_lcp *lcp, const double *b, const double *lower,
                                 const double *upper, double *x, int warm,
                                 cvtm_lcp_result *result) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  const cvtm_grid_top *top = &s->top[0];
  cvtm_grid_state state, final;
  memset(&state, 0, sizeof state);
  CVTM_TRY(set_problem(s, b, lower, upper, x));
  CVTM_TRY(set_start(s, warm));
  CVTM_TRY(run_iterations(s, &state));
  const cvtm_iteration_state *loop = &state.loop;
  CVTM_TRY(s->table->measure_energy(top));
  CVTM_TRY(cvtm_device_copy_out(lcp->device, &final, top->state, sizeof final));
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

cvtm_status cvtm_lcp_create_grid(cvtm_device *device, int64_t width, int64_t height,
                                 const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  CVTM_DEFAULT_OPTIONS(cvtm_lcp, options)
  static const cvtm_lcp_table dispatch = {solve_on_grid, destroy_grid_solver};
  if (!device) return CVTM_ERROR_ARGUMENT;
  cvtm_error *error = cvtm_device_error(device);
  if (!options || !lcp) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "options or result is NULL");
  if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a grid cannot have %lld x %lld nodes",
                     (long long)width, (long long)height);
  if (height > INT32_MAX / width)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "a grid of %lld x %lld nodes: the solvers take at most 2^31 - 1",
                     (long long)width, (long long)height);
  cvtm_lcp_options chosen = *options;
  if (chosen.method == CVTM_LCP_AUTO) chosen.method = CVTM_LCP_TNNMG;
  if (chosen.method == CVTM_LCP_PDAS)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "pdas needs a matrix, not a grid");
  cvtm_grid_solver *s = calloc(1, sizeof *s);
  if (!s) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->table = CVTM_TABLE(device, cvtm_grid_table);
  cvtm_status status = cvtm_lcp_open(&s->head, &dispatch, device, width * height, &chosen);
  if (status == CVTM_OK) status = lay_out(s, width, height, 1);
  if (status != CVTM_OK) {
    destroy_grid_solver(&s->head);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}

cvtm_status cvtm_lcp_set_grid(cvtm_lcp *lcp, const cvtm_lcp_grid *grid) {
  if (!lcp) return CVTM_ERROR_ARGUMENT;
  if (!grid || lcp->table->solve != solve_on_grid)
    return cvtm_fail(cvtm_device_error(lcp->device), CVTM_ERROR_ARGUMENT,
                     "no coefficients were given, or the solver was not made for a grid");
  return set_coefficients((cvtm_grid_solver *)lcp, grid);
}
