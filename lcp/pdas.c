/* The primal-dual active set method: guess which rows are held by a bound, solve the linear
 * system of the others, guess again (Hintermueller, Ito & Kunisch 2003, "The primal-dual active
 * set strategy as a semismooth Newton method"). The systems are solved by elimination where A is
 * tridiagonal, else by BiCGStab, preconditioned by a truncated multigrid cycle; A need not be
 * symmetric. */
#include "lcp/sparse_solver.h"

#include "base/primitives.h"

#include <stdlib.h>

enum {
  PDAS_WINDOW = 100,     /* steps without progress that count as a stall */
  INNER_ITERATIONS = 200 /* of BiCGStab in one step, at most */
};

enum { SHADOW, SEARCH, IMAGE, FOUND, APPLIED, VECTORS };

typedef struct inner {
  double *vector[VECTORS]; /* as long as level 0 */
  double *start;           /* the right side of the system, then its residual */
  double *scalar;
  cvtm_tridiagonal band; /* diagonal NULL: A is not tridiagonal */
  void *workspace;
  size_t workspace_bytes;
} inner;

static cvtm_status dot(const cvtm_sparse_solver *s, const double *x, const double *y,
                       double *result) {
  const inner *in = s->own;
  const cvtm_status status =
      cvtm_dot(s->head.device, x, y, s->head.rows, in->scalar, in->workspace, in->workspace_bytes);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(s->head.device, result, in->scalar, sizeof *result);
}

/* y = a x + c y. */
static cvtm_status combine(const cvtm_sparse_solver *s, double a, const double *x, double c,
                           double *y) {
  return s->hierarchy.phases->combine(s->head.device, a, x, c, y, s->head.rows);
}

/* to = one cycle from zero for the right side `from` in the inactive rows. */
static cvtm_status precondition(const cvtm_sparse_solver *s, double *from, double *to) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_lcp_options *options = &s->head.options;
  const cvtm_passage how = {.masked = 1};
  cvtm_level level = h->level[0];
  level.x = to;
  level.b = from;
  cvtm_status status = cvtm_device_fill(h->device, to, 0, (size_t)level.rows * sizeof *to);
  if (status == CVTM_OK) status = cvtm_hierarchy_sweep(h, &level, how, 1, options->pre_smoothing);
  if (status == CVTM_OK && h->count > 1) {
    status = h->phases->residual(h->device, &level, how, level.rows);
    if (status == CVTM_OK) {
      status = h->phases->restriction(h->device, &level, &h->level[1], CVTM_BOUNDS_NONE, 1);
    }
    if (status == CVTM_OK) {
      status = cvtm_hierarchy_correct(h, 1, CVTM_BOUNDS_NONE, options->pre_smoothing,
                                      options->post_smoothing);
    }
    if (status == CVTM_OK) status = h->phases->prolong(h->device, &level, &h->level[1], how);
  }
  if (status == CVTM_OK) status = cvtm_hierarchy_sweep(h, &level, how, 1, options->post_smoothing);
  return status;
}

/* found = the preconditioned direction, applied = A found; both in inactive rows. */
static cvtm_status try_direction(const cvtm_sparse_solver *s, double *direction, double *applied) {
  const inner *in = s->own;
  const cvtm_level *level = &s->hierarchy.level[0];
  const cvtm_status status = precondition(s, direction, in->vector[FOUND]);
  if (status != CVTM_OK) return status;
  return s->hierarchy.phases->apply(s->head.device, level, in->vector[FOUND], applied);
}

/* One step of BiCGStab (van der Vorst 1992) on x and the scaled residual in->start; *rho is
 * shadow' residual. *go_on = 0 where it breaks down. */
static cvtm_status krylov_step(const cvtm_sparse_solver *s, double *rho, int *go_on) {
  const inner *in = s->own;
  double *x = s->hierarchy.level[0].x, *r = in->start;
  double *search = in->vector[SEARCH], *image = in->vector[IMAGE], *applied = in->vector[APPLIED];
  double shadow_image = 0, along = 0, length = 0, next = 0;
  cvtm_status status = try_direction(s, search, image);
  if (status == CVTM_OK) status = dot(s, in->vector[SHADOW], image, &shadow_image);
  *go_on = status == CVTM_OK && shadow_image != 0 && isfinite(*rho / shadow_image);
  if (!*go_on) return status;
  const double alpha = *rho / shadow_image;
  status = combine(s, alpha / s->host.scale, in->vector[FOUND], 1, x);
  if (status == CVTM_OK) status = combine(s, -alpha, image, 1, r);
  if (status == CVTM_OK) status = try_direction(s, r, applied);
  if (status == CVTM_OK) status = dot(s, applied, r, &along);
  if (status == CVTM_OK) status = dot(s, applied, applied, &length);
  *go_on = status == CVTM_OK && length > 0 && along != 0;
  if (!*go_on) return status;
  const double omega = along / length;
  status = combine(s, omega / s->host.scale, in->vector[FOUND], 1, x);
  if (status == CVTM_OK) status = combine(s, -omega, applied, 1, r);
  if (status == CVTM_OK) status = dot(s, in->vector[SHADOW], r, &next);
  if (status == CVTM_OK) status = combine(s, -omega, image, 1, search);
  const double beta = next / *rho * (alpha / omega);
  *go_on = isfinite(beta) && next != 0;
  *rho = next;
  return status == CVTM_OK ? combine(s, 1, r, beta, search) : status;
}

/* x += the solution of scale A d = start in the inactive rows, to a residual of `tolerance`. */
static cvtm_status solve_inactive(const cvtm_sparse_solver *s, double tolerance) {
  const inner *in = s->own;
  const size_t bytes = (size_t)s->head.rows * sizeof(double);
  double norm2 = 0, rho = 0;
  int go_on = 0;
  cvtm_status status = dot(s, in->start, in->start, &norm2);
  const double goal = fmax(tolerance, 1e-6 * sqrt(norm2));
  for (int k = 0; k < INNER_ITERATIONS && status == CVTM_OK && norm2 > goal * goal; ++k) {
    if (!go_on) { /* the beginning, or a breakdown: start afresh from the residual */
      status = cvtm_device_copy(s->head.device, in->vector[SHADOW], in->start, bytes);
      if (status == CVTM_OK) {
        status = cvtm_device_copy(s->head.device, in->vector[SEARCH], in->start, bytes);
      }
      rho = norm2;
    }
    if (status == CVTM_OK) status = krylov_step(s, &rho, &go_on);
    if (status == CVTM_OK) status = dot(s, in->start, in->start, &norm2);
  }
  return status;
}

/* A new active set, its bounds taken, and the others solved for; *changes: rows that changed
 * sides. */
static cvtm_status step(cvtm_sparse_solver *s, double target, double *changes) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const inner *in = s->own;
  const cvtm_passage how = {.masked = 1};
  cvtm_level level = h->level[0];
  cvtm_status status = h->phases->sum(h->device, &level, h->count > 1 ? &h->level[1] : NULL, NULL,
                                      CVTM_SUM_CHOOSE, 0, CVTM_USE_NOTHING, s->partial, s->state);
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(h->device, changes, &s->state->sums.at[0], sizeof *changes);
  }
  if (status == CVTM_OK) status = h->phases->clip(h->device, &level, 1);
  if (in->band.diagonal != NULL)
    return status == CVTM_OK ? h->phases->tridiagonal(h->device, &level, &in->band) : status;
  if (status == CVTM_OK) status = cvtm_hierarchy_products(h, 0);
  level.r = in->start;
  if (status == CVTM_OK) status = h->phases->residual(h->device, &level, how, level.rows);
  const double scale = s->host.scale;
  if (status == CVTM_OK && scale != 1) status = combine(s, scale, in->start, 0, in->start);
  return status == CVTM_OK ? solve_inactive(s, 0.1 * target * scale) : status;
}

/* The same active set again without a better solution of its system: this is all there is. */
static void give_up(cvtm_sparse_solver *s) {
  cvtm_lcp_course *course = &s->host.course;
  const double rounding = cvtm_rounding_of(&s->host);
  if (course->stop != CVTM_UNDECIDED || (course->improved && course->norm > rounding)) return;
  course->stop = cvtm_lcp_reason_to_give_up(course, rounding);
}

static cvtm_status iterate(cvtm_sparse_solver *s, double target) {
  cvtm_status status = CVTM_OK;
  for (int64_t k = 0; status == CVTM_OK && s->host.course.stop == CVTM_UNDECIDED; ++k) {
    double changes = 0;
    status = step(s, target, &changes);
    if (status == CVTM_OK) status = cvtm_sparse_judge(s, 0, 0);
    if (status == CVTM_OK) status = cvtm_sparse_look(s, 0);
    if (status == CVTM_OK && k > 0 && changes == 0) give_up(s);
  }
  return status;
}

cvtm_status cvtm_pdas_go_on(cvtm_sparse_solver *s, double target) {
  const cvtm_sum_kind judged_by = s->judged_by;
  s->host.course.window = PDAS_WINDOW;
  s->host.course.roams = 1;
  s->host.course.stop = CVTM_UNDECIDED;
  cvtm_status status = cvtm_device_copy_in(s->head.device, s->state, &s->host, sizeof s->host);
  s->judged_by = CVTM_SUM_MEASURE;
  if (status == CVTM_OK) status = iterate(s, target);
  s->judged_by = judged_by;
  return status;
}

static cvtm_status solve(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                         double *x, int warm, cvtm_lcp_result *result) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  double target = 0;
  cvtm_status status = cvtm_sparse_load(s, b, lower, upper, x, warm, &target);
  if (status == CVTM_OK) status = cvtm_hierarchy_reset(&s->hierarchy, 0);
  if (status == CVTM_OK)
    status = cvtm_sparse_begin(s, 0, target, lcp->options.max_iterations, PDAS_WINDOW, 0);
  if (status == CVTM_OK) status = cvtm_sparse_look(s, 0);
  if (status == CVTM_OK) status = iterate(s, target);
  return status == CVTM_OK ? cvtm_sparse_unload(s, x, result) : status;
}

static void destroy(cvtm_lcp *lcp) { cvtm_sparse_close((cvtm_sparse_solver *)lcp); }

cvtm_status cvtm_pdas_prepare(cvtm_sparse_solver *s) {
  cvtm_hierarchy *h = &s->hierarchy;
  inner *in = calloc(1, sizeof *in);
  if (in == NULL) {
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "no memory for a solver");
  }
  s->own = in;
  in->start = s->direction;
  cvtm_status status = cvtm_reduce_workspace(h->device, s->head.rows, &in->workspace_bytes);
  for (int k = 0; k < VECTORS && status == CVTM_OK; ++k)
    status = cvtm_hierarchy_allocate(h, s->head.rows, sizeof(double), (void **)&in->vector[k]);
  if (status == CVTM_OK)
    status = cvtm_hierarchy_allocate(h, 1, sizeof(double), (void **)&in->scalar);
  if (status == CVTM_OK)
    status = cvtm_hierarchy_allocate(h, (int64_t)in->workspace_bytes, 1, &in->workspace);
  return status;
}

static int is_tridiagonal(const cvtm_csr *a) {
  for (int64_t row = 0; row < a->rows; ++row) {
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (a->column[k] < row - 1 || a->column[k] > row + 1) return 0;
  }
  return 1;
}

/* diagonals: below, diagonal, above, n each; order: the user's row of each place. */
static void read_band(const cvtm_csr *a, const int32_t *order, double *diagonals, int32_t *place) {
  for (int64_t row = 0; row < a->rows; ++row) {
    place[order[row]] = (int32_t)row;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      diagonals[(a->column[k] - row + 1) * a->rows + row] = a->value[k];
  }
}

static cvtm_status allocate_band(cvtm_sparse_solver *s, const cvtm_csr *matrix) {
  cvtm_hierarchy *h = &s->hierarchy;
  inner *in = s->own;
  const size_t n = (size_t)matrix->rows;
  double *diagonals = calloc(3 * n, sizeof *diagonals), *on_device = NULL;
  int32_t *order = malloc(2 * n * sizeof *order), *place = NULL;
  cvtm_status status = CVTM_OK;
  if (diagonals == NULL || order == NULL)
    status = cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "no memory for a solver");
  if (status == CVTM_OK)
    status = cvtm_hierarchy_allocate(h, 5 * matrix->rows, sizeof(double), (void **)&on_device);
  if (status == CVTM_OK)
    status = cvtm_hierarchy_allocate(h, matrix->rows, sizeof *place, (void **)&place);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(h->device, order, h->order, n * sizeof *order);
  if (status == CVTM_OK) {
    read_band(matrix, order, diagonals, order + n);
    status = cvtm_device_copy_in(h->device, on_device, diagonals, 3 * n * sizeof *diagonals);
  }
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(h->device, place, order + n, n * sizeof *place);
  free(diagonals);
  free(order);
  if (status != CVTM_OK) return status;
  in->band = (cvtm_tridiagonal){on_device, on_device + n,     on_device + 2 * n,
                                place,     on_device + 3 * n, on_device + 4 * n};
  return CVTM_OK;
}

cvtm_status cvtm_pdas_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             int64_t width, int64_t height, const cvtm_lcp_options *options,
                             cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {solve, destroy};
  const int is_band = is_tridiagonal(matrix);
  const cvtm_hierarchy_options levels = {width,    height,       is_band ? 1 : CVTM_LEVELS_MAX,
                                         !is_band, is_symmetric, 0};
  cvtm_sparse_solver *s = NULL;
  cvtm_status status = cvtm_sparse_open(&table, device, matrix, &levels, options, &s);
  if (status != CVTM_OK) return status;
  status = cvtm_pdas_prepare(s);
  if (status == CVTM_OK && is_band) status = allocate_band(s, matrix);
  if (status != CVTM_OK) {
    destroy(&s->head);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}
