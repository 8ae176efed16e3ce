/* Setup of a solver on a grid: the levels, their memory, and their coefficients. */
#include "base/primitives.h"
#include "lcp/grid/grid_hierarchy.h"

#include <string.h>

enum { COARSEST = 3 }; /* nodes per side of the coarsest grid */

/* With links below this share of the mass a sweep solves the problem: no coarser level is used. */
static const double negligible_links = 1.0 / 16;

/* Only the direction with the stronger links is halved if they are stronger by this factor. */
static const double semicoarsening_ratio = 3;

/* --- memory --- */

/* Places arrays one after the other in a block of memory; with base NULL it only counts bytes. */
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
  s->coarse = bump(c, s->levels + 1, sizeof *s->coarse);
  s->top[0].state = bump(c, 1, sizeof(cvtm_grid_state));
  s->top[0].partial = bump(c, partials, sizeof(double));
  if (s->head.options.monitor) {
    s->top[0].history = bump(c, 2 * (s->head.options.max_iterations + 1), sizeof(double));
  }
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
    level->support_changed = bump(c, count + 1, 1); /* the last one: whether any is set */
    s->top[l - 1].changed = level->support_changed + count;
    level->stencil_changed = bump(c, count, 1);
    level->kind = bump(c, count, 1);
    /* While the problem of a level is solved, the level corrects no finer one. */
    p->x = level->e;
    p->b = level->r;
    p->d = level->coefficient;
  }
}

/* Zeros the memory that is read before a cycle has written it: the state; the flags of active
 * nodes, of which CUDA copies whole words with the padding behind the last one; and the operators
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
  const cvtm_status status =
      cvtm_device_allocate(s->head.device, (int64_t)count.used, 1, &s->arena);
  if (status != CVTM_OK) return status;
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
 * uses. */
static cvtm_status lay_out_extra(cvtm_grid_solver *s, int weights, const cvtm_lcp_grid *grid) {
  if (!s->extra) {
    bump_allocator count = {NULL, 0};
    place_extra(s, &count, weights, grid);
    const cvtm_status status =
        cvtm_device_allocate(s->head.device, (int64_t)count.used, 1, &s->extra);
    if (status != CVTM_OK) return status;
  }
  bump_allocator give = {s->extra, 0};
  place_extra(s, &give, weights, grid);
  return CVTM_OK;
}

/* --- levels --- */

/* A direction with weak links is not halved until the links along the other direction are about as
 * strong: each halving makes these four times weaker against the links along this direction. */
static void plan_levels(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect) {
  s->levels = 0;
  s->shape[0].width = width;
  s->shape[0].height = height;
  while (width > COARSEST || height > COARSEST) {
    cvtm_grid_level *level = &s->level[++s->levels];
    memset(level, 0, sizeof *level);
    level->halved_x = width > 1 && (height == 1 || semicoarsening_ratio * aspect >= 1);
    level->halved_y = height > 1 && (width == 1 || semicoarsening_ratio >= aspect);
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

cvtm_status cvtm_grid_lay_out(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect) {
  cvtm_grid_drop_loops(s);
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
    top->omega = s->head.options.method == CVTM_LCP_PSOR ? s->head.options.omega : 1;
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

/* --- coefficients --- */

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

/* *aspect: the root mean square of the horizontal links over that of the vertical ones; 1 where
 * that is no positive number. */
static cvtm_status find_aspect(const cvtm_grid_solver *s, const cvtm_lcp_grid *grid,
                               double *aspect) {
  const int64_t across = (grid->width + 1) * grid->height, down = grid->width * (grid->height + 1);
  cvtm_device *device = s->head.device;
  double squares[2] = {0, 0}, *result = NULL;
  void *workspace = NULL;
  size_t bytes = 0;
  *aspect = 1;
  cvtm_status status = cvtm_reduce_workspace(device, across > down ? across : down, &bytes);
  if (status == CVTM_OK) status = cvtm_device_allocate(device, (int64_t)bytes, 1, &workspace);
  if (status == CVTM_OK) status = cvtm_device_allocate(device, 2, CVTM_TYPED(result));
  if (status == CVTM_OK)
    status = cvtm_dot(device, grid->horizontal, grid->horizontal, across, result, workspace, bytes);
  if (status == CVTM_OK)
    status = cvtm_dot(device, grid->vertical, grid->vertical, down, result + 1, workspace, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, squares, result, sizeof squares);
  cvtm_device_free(device, result);
  cvtm_device_free(device, workspace);
  const double found = sqrt(squares[0] / (double)across) / sqrt(squares[1] / (double)down);
  if (found > 0 && isfinite(found)) *aspect = found;
  return status;
}

/* Operator-dependent weights on all levels, from the operator without active nodes. */
static cvtm_status compute_weights(const cvtm_grid_solver *s) {
  cvtm_status status = s->table->mark_masked(&s->top[0]);
  for (int l = 1; l <= s->levels && status == CVTM_OK; ++l) {
    const cvtm_grid_level *finer = l == 1 ? NULL : &s->level[l - 1];
    status = s->table->interpolation_weights(&s->top[0], finer, &s->level[l]);
    if (status == CVTM_OK) status = s->table->galerkin(&s->top[0], s->level, l, l, 1);
  }
  return status;
}

/* The coarsest level that cycles use. With constant links each level has the links of the one above
 * and four times its mass: soon the mass dominates. */
static int find_bottom(const cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  double mass = grid->horizontal ? 0 : grid->mass;
  int level = 0;
  while (level < s->levels && !(mass > 0 && grid->constant <= negligible_links * mass)) {
    mass *= 4;
    ++level;
  }
  return level;
}

/* The loops, unless those there are were made for such coefficients. */
static cvtm_status renew_loops(cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  const int kind =
      1 + !!grid->diagonal + 2 * !!grid->horizontal + 4 * !!grid->mask + 8 * !!grid->neumann;
  if (kind == s->kind && grid->constant == s->constant && grid->mass == s->mass) return CVTM_OK;
  const cvtm_status status = cvtm_grid_make_loops(s);
  s->kind = status == CVTM_OK ? kind : 0;
  s->constant = grid->constant;
  s->mass = grid->mass;
  return status;
}

/* Stores the given coefficients, and decides which arrays the levels below have. */
static cvtm_status place_coefficients(cvtm_grid_solver *s, const cvtm_lcp_grid *grid, int weights) {
  cvtm_grid_problem *p = &s->shape[0];
  p->diagonal = grid->diagonal;
  p->mass = grid->mass;
  p->horizontal = grid->horizontal;
  p->vertical = grid->vertical;
  p->mask = grid->mask;
  cvtm_status status = lay_out_extra(s, weights, grid);
  if (status != CVTM_OK) return status;
  for (int l = 0; l <= s->levels; ++l) {
    s->shape[l].constant = grid->constant;
    s->shape[l].neumann = s->level[l].neumann = grid->neumann;
  }
  const size_t count = (size_t)(s->levels + 1);
  status = cvtm_device_copy_in(s->head.device, s->problem, s->shape, count * sizeof *s->problem);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_in(s->head.device, s->coarse, s->level, count * sizeof *s->coarse);
}

cvtm_status cvtm_grid_set_coefficients(cvtm_grid_solver *s, const cvtm_lcp_grid *grid) {
  const cvtm_lcp_options *options = &s->head.options;
  const int weights = grid->horizontal || grid->mask;
  double aspect = 1;
  cvtm_status status = check_grid(cvtm_device_error(s->head.device), s, grid);
  if (status != CVTM_OK) return status;
  s->ready = 0;
  if (!s->linked && grid->horizontal) status = find_aspect(s, grid, &aspect);
  const int is_stretched = aspect > semicoarsening_ratio || semicoarsening_ratio * aspect < 1;
  if (status == CVTM_OK && (!s->arena || is_stretched)) {
    status = cvtm_grid_lay_out(s, grid->width, grid->height, aspect);
  }
  if (status != CVTM_OK) return status;
  if (grid->horizontal) s->linked = 1;
  status = place_coefficients(s, grid, weights);
  if (status == CVTM_OK && weights && options->method != CVTM_LCP_PSOR) status = compute_weights(s);
  s->bottom = find_bottom(s, grid);
  for (int l = 1; l <= s->bottom && status == CVTM_OK && options->nested; ++l) {
    status = s->table->coarsen_links(&s->top[l - 1], &s->top[l], &s->level[l]);
  }
  if (status == CVTM_OK) status = renew_loops(s, grid);
  s->ready = status == CVTM_OK;
  return status;
}
