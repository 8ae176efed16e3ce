/* The primal-dual active set method: choose the active rows, in which x is at a bound, solve the
 * linear system of the other rows, repeat (Hintermueller, Ito & Kunisch 2003, "The primal-dual
 * active set strategy as a semismooth Newton method"). Tridiagonal systems are solved by
 * elimination, other systems by BiCGStab with a truncated multigrid cycle as preconditioner. A need
 * not be symmetric. On tridiagonal matrices of 1,000 to 200,000 rows BiCGStab takes 3 to 200 times
 * as long as elimination (one thread of a CPU). */
#include "lcp/sparse/sparse_solver.h"

#include "lcp/sparse/csr.h"

#include <math.h>
#include <stdlib.h>

enum {
  PDAS_WINDOW = 100,      /* number of steps without progress that count as a stall */
  INNER_ITERATIONS = 200, /* largest number of iterations of BiCGStab in a step */
  PATIENCE = 20,          /* number of steps without progress before x is relaxed */
  RELAXATIONS = 6,        /* largest number of relaxations of x */
  SWEEPS = 100            /* number of sweeps in the first relaxation; doubles in each later one */
};

typedef struct pdas {
  double *residual;    /* residual of the linear system */
  double scale;        /* power of two that multiplies the residual before it is squared */
  double max_weight;   /* largest row weight */
  double goal;         /* tolerance of the 2-norm of the linear residual */
  double merit_target; /* target of the merit (see merit_of) */
  double best;         /* smallest merit so far */
  int idle;            /* number of iterations since the smallest merit */
  int relaxations;
  cvtm_tridiagonal band; /* diagonal NULL: A is not tridiagonal */
} pdas;

/* Sets `to` to the result of a V-cycle from 0 with right-hand side `from`, in the inactive rows. */
static cvtm_status precondition(const cvtm_sparse_solver *s, double *from, double *to) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const cvtm_kernel_flags flags = {.masked = 1};
  cvtm_level level = h->level[0];
  level.x = to;
  level.b = from;
  CVTM_TRY(cvtm_device_fill(h->device, to, 0, (size_t)level.rows * sizeof *to));
  CVTM_TRY(cvtm_hierarchy_sweep(h, &level, flags, 1, 1));
  if (h->count > 1) {
    CVTM_TRY(h->table->residual(h->device, &level, flags, level.rows));
    CVTM_TRY(h->table->restrict_problem(h->device, &level, &h->level[1]));
    CVTM_TRY(cvtm_hierarchy_cycle(h, 1));
    CVTM_TRY(h->table->prolong(h->device, &level, &h->level[1], 1));
  }
  return cvtm_hierarchy_sweep(h, &level, flags, 1, 1);
}

/* Applies the preconditioned operator on the inactive rows, as a cvtm_krylov_operator. */
static cvtm_status apply_preconditioned(void *context, double *direction, double *preconditioned,
                                        double *image) {
  const cvtm_sparse_solver *s = context;
  CVTM_TRY(precondition(s, direction, preconditioned));
  return s->hierarchy.table->apply(s->head.device, &s->hierarchy.level[0], preconditioned, image);
}

/* Sets residual = scale (b - A x) in the inactive rows. */
static cvtm_status find_residual(const cvtm_sparse_solver *s) {
  const pdas *in = s->own;
  const cvtm_kernel_flags flags = {.masked = 1};
  cvtm_level level = s->hierarchy.level[0];
  level.r = in->residual;
  const cvtm_status status =
      s->hierarchy.table->residual(s->head.device, &level, flags, level.rows);
  if (status != CVTM_OK || in->scale == 1) return status;
  return s->hierarchy.table->combine(s->head.device, in->scale, in->residual, 0, in->residual,
                                     s->head.rows);
}

/* Solves for x in the inactive rows, and keeps the best iterate, since BiCGStab may temporarily
 * amplify the residual, or never converge. */
static cvtm_status solve_inactive(const cvtm_sparse_solver *s) {
  const pdas *in = s->own;
  int64_t iterations;
  CVTM_TRY(find_residual(s));
  return cvtm_krylov_solve(s->krylov, in->goal * in->scale, 1e-6, in->scale, INNER_ITERATIONS,
                           &iterations);
}

/* Chooses the active set, sets its rows to their bounds and solves for the other rows. *changes:
 * the number of rows that change their side (held at the lower bound, at the upper bound, or not
 * active). */
static cvtm_status pdas_step(cvtm_sparse_solver *s, double *changes) {
  const cvtm_hierarchy *h = &s->hierarchy;
  const pdas *in = s->own;
  const cvtm_level level = h->level[0];
  cvtm_status status =
      h->table->sum(h->device, &level, h->count > 1 ? &h->level[1] : NULL, NULL,
                    CVTM_SUM_ACTIVE_SET, 0, CVTM_USE_NOTHING, s->partial, s->state);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(h->device, changes, &s->state->sums.at[0], sizeof *changes);
  if (status == CVTM_OK) status = h->table->clip(h->device, &level, 1);
  if (in->band.diagonal != NULL)
    return status == CVTM_OK ? h->table->tridiagonal(h->device, &level, &in->band) : status;
  if (status == CVTM_OK) status = cvtm_hierarchy_update_galerkin(h, 0);
  return status == CVTM_OK ? solve_inactive(s) : status;
}

/* The merit, a norm that the steps reduce: the 1-norm of the natural residual of the equilibrated
 * rows; without weights the 2-norm of the natural residual. */
static double merit_of(const cvtm_sparse_solver *s) {
  const int is_weighted = s->hierarchy.level[0].weight != NULL;
  return is_weighted ? s->host.sums.at[3] : s->host.loop.norm;
}

/* Applies the stop rule with two additions. Rows of large weight dominate the natural residual, so
 * below the target the iteration continues while the merit falls. The iteration stalls if the
 * active set no longer changes (is_settled), and neither the linear system of this set nor sweeps
 * improve x. */
static int32_t pdas_stop(cvtm_sparse_solver *s, int is_settled) {
  pdas *in = s->own;
  const cvtm_iteration_state *loop = &s->host.loop;
  const double merit = merit_of(s);
  in->idle = merit < in->best ? 0 : in->idle + 1;
  if (in->idle == 0) in->best = merit;
  if (loop->stop == CVTM_LCP_CONVERGED && in->idle == 0 && merit > in->merit_target &&
      loop->iteration < loop->limit)
    return CVTM_UNDECIDED;
  if (loop->stop != CVTM_UNDECIDED) return loop->stop;
  if (loop->best <= loop->target && in->idle > 0) return CVTM_LCP_CONVERGED;
  if (is_settled &&
      (loop->norm <= loop->rounding || (in->idle > 0 && in->relaxations == RELAXATIONS)))
    return cvtm_stall_reason(loop);
  return CVTM_UNDECIDED;
}

/* Makes projected sweeps, which converge if A is an H-matrix. */
static cvtm_status relax_projected(cvtm_sparse_solver *s) {
  pdas *in = s->own;
  const cvtm_kernel_flags projected = {.bounded = 1};
  const int sweeps = SWEEPS << in->relaxations++;
  in->idle = 0;
  return cvtm_hierarchy_sweep(&s->hierarchy, &s->hierarchy.level[0], projected, 1, sweeps);
}

/* Iterates from the current x of level 0. */
static cvtm_status pdas_iterate(cvtm_sparse_solver *s) {
  pdas *in = s->own;
  cvtm_iteration_state *loop = &s->host.loop;
  double changes = 1;
  in->best = merit_of(s);
  in->idle = in->relaxations = 0;
  for (int64_t k = 0; loop->stop == CVTM_UNDECIDED; ++k) {
    const int is_stuck = in->idle >= PATIENCE || (in->idle > 0 && changes == 0);
    const int relaxes = is_stuck && in->relaxations < RELAXATIONS;
    changes = 1;
    CVTM_TRY(relaxes ? relax_projected(s) : pdas_step(s, &changes));
    CVTM_TRY(cvtm_sparse_check(s, 0, 0));
    CVTM_TRY(cvtm_sparse_poll(s, 0));
    if (k == 0) changes = 1; /* no active set precedes the first */
    loop->stop = pdas_stop(s, changes == 0);
    CVTM_TRY(
        cvtm_device_copy_in(s->head.device, &s->state->loop.stop, &loop->stop, sizeof loop->stop));
  }
  return CVTM_OK;
}

/* Sets the targets of iteration and linear systems; state->sums are those of the cold start. */
static cvtm_status set_goals(cvtm_sparse_solver *s, double target) {
  pdas *in = s->own;
  in->scale = s->host.scale;
  in->goal = 0.1 * target;
  in->merit_target = (double)INFINITY;
  if (s->hierarchy.level[0].weight == NULL) return CVTM_OK;
  cvtm_sums cold;
  const cvtm_status status =
      cvtm_device_copy_out(s->head.device, &cold, &s->state->sums, sizeof cold);
  const double relative = s->host.loop.cold > 0 ? target / s->host.loop.cold : 0;
  in->merit_target = relative * cold.at[3];
  in->goal = 0.1 * fmin(in->merit_target / sqrt((double)s->head.rows), target / in->max_weight);
  in->scale = 1;
  if (cold.at[3] > 0 && isfinite(cold.at[3])) in->scale = ldexp(1, -ilogb(cold.at[3]));
  return status;
}

cvtm_status cvtm_pdas_continue(cvtm_sparse_solver *s, double target) {
  const cvtm_sum_kind checked_by = s->checked_by;
  s->host.loop.window = PDAS_WINDOW;
  s->host.loop.may_grow = 1;
  s->host.loop.stop = CVTM_UNDECIDED;
  cvtm_status status = cvtm_device_copy_in(s->head.device, s->state, &s->host, sizeof s->host);
  s->checked_by = CVTM_SUM_NORM;
  if (status == CVTM_OK) status = set_goals(s, target);
  if (status == CVTM_OK) status = pdas_iterate(s);
  s->checked_by = checked_by;
  return status;
}

static cvtm_status pdas_solve(cvtm_lcp *lcp, const double *b, const double *lower,
                              const double *upper, double *x, int warm, cvtm_lcp_result *result) {
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)lcp;
  double target = 0;
  CVTM_TRY(cvtm_sparse_load(s, b, lower, upper, x, warm, &target));
  CVTM_TRY(set_goals(s, target));
  CVTM_TRY(cvtm_hierarchy_reset(&s->hierarchy, 0));
  CVTM_TRY(cvtm_sparse_begin(s, 0, target, lcp->options.max_iterations, PDAS_WINDOW, 0));
  CVTM_TRY(cvtm_sparse_poll(s, 0));
  CVTM_TRY(pdas_iterate(s));
  return cvtm_sparse_unload(s, x, result);
}

cvtm_status cvtm_pdas_prepare(cvtm_sparse_solver *s, int is_band) {
  const cvtm_hierarchy *h = &s->hierarchy;
  pdas *in = calloc(1, sizeof *in);
  if (in == NULL)
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "no memory for a solver");
  s->own = in;
  in->residual = s->direction;
  if (is_band) return CVTM_OK;
  const cvtm_krylov_setup setup = {.n = s->head.rows,
                                   .solution = h->level[0].x,
                                   .residual = in->residual,
                                   .apply = apply_preconditioned,
                                   .context = s,
                                   .keeps_best = 1};
  return cvtm_krylov_create(h->device, &setup, &s->krylov);
}

static int is_tridiagonal(const cvtm_csr *a) {
  for (int64_t row = 0; row < a->rows; ++row) {
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (a->column[k] < row - 1 || a->column[k] > row + 1) return 0;
  }
  return 1;
}

/* Reads a tridiagonal matrix. diagonals: below the main diagonal, the main diagonal, above it, n
 * entries each. order: the user's row of each row of level 0; place: its inverse. */
static void read_band(const cvtm_csr *a, const int32_t *order, double *diagonals, int32_t *place) {
  for (int64_t row = 0; row < a->rows; ++row) {
    place[order[row]] = (int32_t)row;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      diagonals[(a->column[k] - row + 1) * a->rows + row] = a->value[k];
  }
}

static cvtm_status allocate_band(cvtm_sparse_solver *s, const cvtm_csr *matrix) {
  cvtm_hierarchy *h = &s->hierarchy;
  pdas *in = s->own;
  const size_t n = (size_t)matrix->rows;
  double *diagonals = calloc(3 * n, sizeof *diagonals), *on_device = NULL;
  int32_t *order = malloc(2 * n * sizeof *order), *place = NULL;
  cvtm_status status = CVTM_OK;
  if (diagonals == NULL || order == NULL)
    status = cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "no memory for a solver");
  if (status == CVTM_OK)
    status = cvtm_hierarchy_allocate(h, (cvtm_arrays){{CVTM_ARRAY(on_device, 5 * matrix->rows),
                                                       CVTM_ARRAY(place, matrix->rows)}});
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

/* Stores the weights of level 0, in its order of rows. */
static cvtm_status set_weights(cvtm_sparse_solver *s, const double *weight) {
  cvtm_hierarchy *h = &s->hierarchy;
  pdas *in = s->own;
  const int64_t rows = s->head.rows;
  double *sorted = NULL;
  CVTM_TRY(cvtm_hierarchy_allocate(h, (cvtm_arrays){{CVTM_ARRAY(sorted, rows)}}));
  CVTM_TRY(cvtm_device_copy_in(h->device, in->residual, weight, (size_t)rows * sizeof *weight));
  CVTM_TRY(h->table->gather(h->device, in->residual, h->order, rows, sorted));
  CVTM_TRY(cvtm_device_synchronize(h->device));
  for (int64_t row = 0; row < rows; ++row) in->max_weight = fmax(in->max_weight, weight[row]);
  h->level[0].weight = sorted;
  return CVTM_OK;
}

/* Creates the solver. weight: as in cvtm_level, in the user's order, or NULL. */
static cvtm_status create_weighted(cvtm_device *device, const cvtm_csr *matrix,
                                   const double *weight, const cvtm_hierarchy_options *levels,
                                   const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {pdas_solve, cvtm_sparse_close};
  CVTM_TRY(cvtm_sparse_open(&table, device, matrix, levels, options, lcp));
  cvtm_sparse_solver *s = (cvtm_sparse_solver *)*lcp;
  CVTM_TRY(cvtm_pdas_prepare(s, levels->levels == 1));
  if (weight != NULL) CVTM_TRY(set_weights(s, weight));
  return levels->levels == 1 ? allocate_band(s, matrix) : CVTM_OK;
}

/* Creates the solver. Equilibrates an asymmetric matrix, whose rows may have any scale. */
cvtm_status cvtm_pdas_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             int64_t width, int64_t height, const cvtm_lcp_options *options,
                             cvtm_lcp **lcp) {
  const int is_band = is_tridiagonal(matrix);
  const cvtm_hierarchy_options levels = {width, height, is_band ? 1 : CVTM_LEVELS_MAX,
                                         is_symmetric};
  if (is_symmetric) return create_weighted(device, matrix, NULL, &levels, options, lcp);
  cvtm_error *error = cvtm_device_error(device);
  cvtm_csr even;
  double *weight = malloc((size_t)matrix->rows * sizeof *weight);
  if (weight == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a solver");
  cvtm_status status = cvtm_csr_equilibrate(matrix, &even, weight, error);
  if (status == CVTM_OK) {
    status = create_weighted(device, &even, weight, &levels, options, lcp);
    cvtm_csr_free(&even);
  }
  free(weight);
  return status;
}
