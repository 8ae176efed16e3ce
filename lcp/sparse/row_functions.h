/* Inside lcp only: a level of a hierarchy of sparse matrices, and the functions of one row of it
 * for the kernels of both devices. The rows of a level are sorted by colour. Their order before
 * that sort is called the original order; on level 0 it is the user's order. cvtm_csr_galerkin
 * gives the structure of the Galerkin product P'AP. Cycles recompute only its values, in the rows
 * that a change of the active set affects. */
#pragma once

#include "lcp/relax.h"
#include "lcp/sparse/sell_kernels.h"
#include "lcp/stop.h"

#include <math.h>

/* Bits of cvtm_level.state. On the finest level of a cycle they tell at which bound x is held. On
 * coarser levels they tell whether a row of the Galerkin product is up to date. */
enum {
  CVTM_ROW_LOWER = 1,                                /* x is held at the lower bound */
  CVTM_ROW_UPPER = 2,                                /* x is held at the upper bound */
  CVTM_ROW_ACTIVE = CVTM_ROW_LOWER | CVTM_ROW_UPPER, /* mask of the two */
  CVTM_ROW_PENDING = 4,                              /* the row of `correction` is out of date */
  CVTM_ROW_RENEWED = 8                               /* the row was computed in this cycle */
};

enum { CVTM_LEVELS_MAX = 32 };

/* A struct of borrowed pointers that kernels take by value; the pointers are to device memory
 * unless a comment says otherwise. The problem is A x = b with bounds: the user's problem, this
 * problem on a coarser grid, or the problem of a correction. */
typedef struct cvtm_level {
  int64_t rows;
  cvtm_sell matrix;
  /* The matrix of corrections: A for coarse basis functions from which the active nodes are
   * truncated. On level 0 it has the arrays of `matrix`; on coarser levels it has the structure of
   * `matrix` and its own values. */
  cvtm_sell correction;
  cvtm_sell prolongation; /* rows x coarse rows; empty on the coarsest level */
  /* The transpose of the prolongation. Its rows are in the original order of the coarser level, so
   * that neighbouring threads read neighbouring entries. Row k belongs to row place[k] of the
   * coarser level, with the array `place` of that level. */
  cvtm_sell restriction;
  const int32_t *place;  /* the row of this level for each row in the original order */
  const int32_t *centre; /* the row of the finer level at the centre of each basis function */
  double *x, *b, *lower, *upper;
  const uint8_t *has_bounds; /* two flags: 0 if no row has a lower (upper) bound; that array is then
                                not read */
  double *r;                 /* residuals */
  uint8_t *state;
  const double *weight; /* powers of two: row i times weight[i] is the user's row, whose residual
                           decides when to stop. NULL: all 1 */
  int64_t colours;
  const int64_t *colour_start; /* colours + 1; host memory */
} cvtm_level;

/* How a kernel treats a level (nonzero: true). */
typedef struct cvtm_kernel_flags {
  int correction; /* the operator is level.correction instead of level.matrix */
  int bounded;    /* x is kept within the bounds */
  int masked;     /* active rows are skipped */
  int residual;   /* relaxation stores the residual of its rows in level.r */
} cvtm_kernel_flags;

CVTM_HD double cvtm_lower_at(const cvtm_level *level, int64_t row) {
  return level->has_bounds[0] ? level->lower[row] : -(double)INFINITY;
}
CVTM_HD double cvtm_upper_at(const cvtm_level *level, int64_t row) {
  return level->has_bounds[1] ? level->upper[row] : (double)INFINITY;
}
CVTM_HD double cvtm_clip_at(const cvtm_level *level, int64_t row, double x) {
  return cvtm_lcp_clip(x, cvtm_lower_at(level, row), cvtm_upper_at(level, row));
}
CVTM_HD int cvtm_is_active(const cvtm_level *level, int64_t row) {
  return (level->state[row] & CVTM_ROW_ACTIVE) != 0;
}

/* --- the active set --- */

/* Sets a row pending. Several threads may store the byte at once. */
CVTM_HD void cvtm_set_pending(uint8_t *state) {
#ifdef __CUDA_ARCH__
  *state = CVTM_ROW_PENDING;
#else
  __atomic_store_n(state, (uint8_t)CVTM_ROW_PENDING, __ATOMIC_RELAXED);
#endif
}

/* Marks all rows of the coarse product as pending whose basis functions contain `row` or one of its
 * neighbours. The pattern of A is symmetric. */
CVTM_HD void cvtm_invalidate_products(const cvtm_level *level, const cvtm_level *next,
                                      int64_t row) {
  const cvtm_sell *a = &level->matrix, *p = &level->prolongation;
  for (int64_t k = cvtm_sell_first(a, row); k < cvtm_sell_end(a, row); k += CVTM_SLICE_ROWS) {
    const int32_t j = a->column[k];
    for (int64_t l = cvtm_sell_first(p, j); l < cvtm_sell_end(p, j); l += CVTM_SLICE_ROWS)
      if (p->value[l] != 0) cvtm_set_pending(&next->state[p->column[l]]);
  }
}

/* Stores the bound at which x is held in this row: 0, CVTM_ROW_LOWER or CVTM_ROW_UPPER. Returns the
 * previous value. next: the coarser level, or NULL. */
CVTM_HD int cvtm_set_active_side(const cvtm_level *level, const cvtm_level *next, int side,
                                 int64_t row) {
  const int before = level->state[row];
  if (side == before) return before;
  level->state[row] = (uint8_t)side;
  if (next != NULL && (side == 0) != (before == 0)) cvtm_invalidate_products(level, next, row);
  return before;
}

/* Applies the primal-dual active set rule: a row is active at the bound that x - F / a_ii violates.
 * Returns true if the row changes its side. */
CVTM_HD int cvtm_active_set_row(const cvtm_level *level, const cvtm_level *next, int64_t row) {
  const cvtm_sell *a = &level->matrix;
  double product = 0, diagonal = 0;
  for (int64_t k = cvtm_sell_first(a, row); k < cvtm_sell_end(a, row); k += CVTM_SLICE_ROWS) {
    product += a->value[k] * level->x[a->column[k]];
    if (a->column[k] == row) diagonal += a->value[k];
  }
  const double guess = level->x[row] - (product - level->b[row]) / diagonal;
  int side = 0;
  if (guess < cvtm_lower_at(level, row))
    side = CVTM_ROW_LOWER;
  else if (guess > cvtm_upper_at(level, row))
    side = CVTM_ROW_UPPER;
  return cvtm_set_active_side(level, next, side, row) != side;
}

/* --- smoother and residual --- */

/* A row of A times a vector, without the diagonal term. */
typedef struct cvtm_split_product {
  double diagonal;
  double others; /* sum of a_ij x_j over j != i */
} cvtm_split_product;

/* Multiplies row `row` of A, without its diagonal entry, by x (`others`); `diagonal` is a_ii
 * itself. If `along` (a compile-time constant) is nonzero, x + step * direction replaces x in the
 * entries from `first` on. */
CVTM_HD cvtm_split_product cvtm_split_row(const cvtm_sell *a, const double *x, int along,
                                          const double *direction, double step, int64_t first,
                                          int64_t row) {
  const int64_t end = cvtm_sell_end(a, row);
  cvtm_split_product product = {0, 0};
  for (int64_t k = cvtm_sell_first(a, row); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(a, row, k, end);
    double at[CVTM_SELL_BATCH];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int32_t column = batch.column[j];
      at[j] = x[column];
      if (along && column >= first) at[j] += step * direction[column];
    }
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int is_own = batch.column[j] == row;
      product.diagonal += is_own ? batch.value[j] : 0;
      product.others += is_own ? 0 : batch.value[j] * at[j];
    }
  }
  return product;
}

/* The values of a row. All are loaded before x or r of the row is stored, so a pass that relaxes
 * the row and then sums its residual loads each of them once. */
typedef struct cvtm_row {
  double x, b, lower, upper;
  double product; /* (A x)_i */
  double largest; /* a_ii x_i, a measure of the rounding errors in the product */
} cvtm_row;

/* Reads b of a row and, if bounded, its bounds. Leaves x, product and largest 0. */
CVTM_HD cvtm_row cvtm_read_row(const cvtm_level *level, int bounded, int64_t row) {
  cvtm_row here = {0, level->b[row], -(double)INFINITY, (double)INFINITY, 0, 0};
  if (bounded) {
    here.lower = cvtm_lower_at(level, row);
    here.upper = cvtm_upper_at(level, row);
  }
  return here;
}

CVTM_HD void cvtm_set_product(cvtm_row *here, cvtm_split_product product) {
  here->largest = product.diagonal * here->x;
  here->product = product.others + here->largest;
}

/* Gauss-Seidel on one row, overrelaxed by omega. A row with a zero diagonal, whose basis function
 * is truncated entirely, is unchanged. Returns the row after relaxation. */
CVTM_HD cvtm_row cvtm_relax_row(const cvtm_level *level, cvtm_kernel_flags flags, double omega,
                                int64_t row) {
  cvtm_row here = cvtm_read_row(level, flags.bounded, row);
  if (flags.masked && cvtm_is_active(level, row)) return here;
  const cvtm_split_product product = cvtm_split_row(
      flags.correction ? &level->correction : &level->matrix, level->x, 0, NULL, 0, 0, row);
  if (product.diagonal > 0) {
    const double before = omega != 1 ? level->x[row] : 0;
    const double relaxed = cvtm_relax(here.b - product.others, product.diagonal, 0);
    here.x = flags.bounded ? cvtm_relax_projected(before, relaxed, omega, here.lower, here.upper)
                           : cvtm_overrelax(before, relaxed, omega);
    level->x[row] = here.x;
  } else {
    here.x = level->x[row];
  }
  cvtm_set_product(&here, product);
  if (flags.residual) level->r[row] = here.b - here.product;
  return here;
}

/* Sets r = b - A x, or 0 in active rows if masked. */
CVTM_HD void cvtm_residual_row(const cvtm_level *level, cvtm_kernel_flags flags, int64_t row) {
  const cvtm_sell *a = flags.correction ? &level->correction : &level->matrix;
  const int is_left_out = flags.masked && cvtm_is_active(level, row);
  level->r[row] = is_left_out ? 0 : level->b[row] - cvtm_sell_row_times(a, row, level->x);
}

/* Sets y = A x, or 0 in active rows. */
CVTM_HD void cvtm_apply_row(const cvtm_level *level, const double *x, double *y, int64_t row) {
  y[row] = cvtm_is_active(level, row) ? 0 : cvtm_sell_row_times(&level->matrix, row, x);
}

/* Clips every row or, if masked, sets active rows to their bound. */
CVTM_HD void cvtm_clip_row(const cvtm_level *level, int masked, int64_t row) {
  const int side = level->state[row] & CVTM_ROW_ACTIVE;
  if (!masked)
    level->x[row] = cvtm_clip_at(level, row, level->x[row]);
  else if (side != 0)
    level->x[row] = side == CVTM_ROW_LOWER ? cvtm_lower_at(level, row) : cvtm_upper_at(level, row);
}

/* --- sums over the rows; their order does not depend on the number of threads --- */

/* The sums over the rows of a level. */
typedef enum cvtm_sum_kind {
  CVTM_SUM_NORM,        /* cvtm_norm_sums */
  CVTM_SUM_RESIDUAL,    /* cvtm_residual_sums */
  CVTM_SUM_LINE_SEARCH, /* cvtm_line_search_sums */
  CVTM_SUM_ENERGY,      /* cvtm_energy_sums */
  CVTM_SUM_ACTIVE_SET   /* cvtm_active_set_row: sum 0 is the number of rows that change sides */
} cvtm_sum_kind;

/* What a pass does with its sums. */
typedef enum cvtm_sum_use {
  CVTM_USE_NOTHING,
  CVTM_USE_STEP, /* state.step = cvtm_line_search_step */
  CVTM_USE_CHECK /* counts the iteration and applies the stop rule: cvtm_sparse_state_check */
} cvtm_sum_use;

/* Rows are divided into blocks of CVTM_SUM_BLOCK. In a block, lane k adds rows k, k +
 * CVTM_SUM_LANES, ... and the lanes are added pairwise. The blocks are added in this way, too. */
enum {
  CVTM_SUM_LANES = 256,
  CVTM_SUM_BLOCK = 4096,
  CVTM_SUM_COUNT = 4 /* values that a pass computes */
};

/* Values 0, 1 and 3 are sums, value 2 is a maximum. */
typedef struct cvtm_sums {
  double at[CVTM_SUM_COUNT];
} cvtm_sums;

CVTM_HD int64_t cvtm_sum_blocks(int64_t rows) {
  return rows / CVTM_SUM_BLOCK + (rows % CVTM_SUM_BLOCK != 0);
}

/* Adds b to a. A NaN remains in the maximum. */
CVTM_HD void cvtm_sums_join(cvtm_sums *a, const cvtm_sums *b) {
  a->at[0] += b->at[0];
  a->at[1] += b->at[1];
  a->at[2] = a->at[2] > b->at[2] || a->at[2] != a->at[2] ? a->at[2] : b->at[2];
  a->at[3] += b->at[3];
}

CVTM_HD double cvtm_row_natural(const cvtm_row *at) {
  return cvtm_natural_residual(at->product - at->b, at->x, at->lower, at->upper);
}

/* The sums of the natural residual r. 0: (scale r)^2; 1: (scale t)^2, where t is the size of the
 * terms that give r its rounding errors; 2: |r|. */
CVTM_HD cvtm_sums cvtm_natural_sums(const cvtm_row *at, double scale) {
  const double r = cvtm_row_natural(at);
  const double scaled = scale * r;
  const double size = scale * cvtm_natural_size(at->b, at->largest);
  const cvtm_sums sums = {{scaled * scaled, size * size, fabs(r), 0}};
  return sums;
}

/* cvtm_natural_sums of the user's row; 3: the absolute natural residual of this level's row. */
CVTM_HD cvtm_sums cvtm_norm_sums(const cvtm_level *level, const cvtm_row *at, double scale,
                                 int64_t row) {
  cvtm_row given = *at;
  if (level->weight != NULL) {
    given.product *= level->weight[row];
    given.largest *= level->weight[row];
    given.b *= level->weight[row];
  }
  cvtm_sums sums = cvtm_natural_sums(&given, scale);
  sums.at[3] = fabs(cvtm_row_natural(at));
  return sums;
}

/* The natural residual, and level.r = b - A x. Rows at a bound become active; r is 0 there. */
CVTM_HD cvtm_sums cvtm_residual_sums(const cvtm_level *level, const cvtm_level *next,
                                     const cvtm_row *at, double scale, int64_t row) {
  int side = 0;
  if (at->x <= at->lower)
    side = CVTM_ROW_LOWER;
  else if (at->x >= at->upper)
    side = CVTM_ROW_UPPER;
  cvtm_set_active_side(level, next, side, row);
  level->r[row] = side != 0 ? 0 : at->b - at->product;
  return cvtm_natural_sums(at, scale);
}

/* The terms of a line search along d. 0: scale r'd; 1: scale d'Ad; 2: the inverse of the largest
 * feasible step. */
CVTM_HD cvtm_sums cvtm_line_search_sums(const cvtm_level *level, const double *direction,
                                        double scale, int64_t row) {
  const double d = direction[row];
  cvtm_sums sums = {{0, 0, 0, 0}};
  if (d == 0) return sums;
  const double to_bound =
      d < 0 ? cvtm_lower_at(level, row) - level->x[row] : cvtm_upper_at(level, row) - level->x[row];
  sums.at[0] = scale * level->r[row] * d;
  sums.at[1] = d * (scale * cvtm_sell_row_times(&level->matrix, row, direction));
  sums.at[2] = d / to_bound;
  return sums;
}

/* The step to the exact minimiser along the direction, or to the first bound before that. */
CVTM_HD double cvtm_line_search_step(const cvtm_sums *sums) {
  if (!(sums->at[0] > 0)) return 0;
  const double step = sums->at[1] > 0 ? sums->at[0] / sums->at[1] : 1;
  return step * sums->at[2] > 1 ? 1 / sums->at[2] : step;
}

/* The contribution of a row to the sums: at[0]: the energy 1/2 x'Ax - b'x; at[1], at[3]: the
 * counts of rows at the lower and at the upper bound. */
CVTM_HD cvtm_sums cvtm_energy_sums(const cvtm_level *level, int64_t row) {
  const double x = level->x[row];
  const double product = cvtm_sell_row_times(&level->matrix, row, level->x);
  const int lower = x <= cvtm_lower_at(level, row);
  const cvtm_sums sums = {{x * (0.5 * product - level->b[row]), lower ? 1.0 : 0.0, 0,
                           !lower && x >= cvtm_upper_at(level, row) ? 1.0 : 0.0}};
  return sums;
}

/* --- the state of a solve --- */

enum { CVTM_HISTORY_LENGTH = 256 }; /* largest number of iterations between two polls by the host */

/* The state of a solve, in device memory. */
typedef struct cvtm_sparse_state {
  cvtm_iteration_state loop;
  int64_t pause_at; /* the loop pauses after this iteration */
  double scale;   /* multiplies residuals before they are squared: 1, or the power of two that keeps
                     the squares of very large or small residuals in range */
  double step;    /* step length of the line search */
  int64_t kept;   /* 0 or 1: which of two copies is the best iterate; the other is free */
  cvtm_sums sums; /* the results of the last pass */
  double norm[CVTM_HISTORY_LENGTH], maximum[CVTM_HISTORY_LENGTH]; /* by iteration modulo length */
} cvtm_sparse_state;

/* The 2-norm of the natural residual. If the squares overflow, the maximum norm replaces it. */
CVTM_HD double cvtm_norm_of(const cvtm_sums *sums, double scale) {
  const double norm = sqrt(sums->at[0]) / scale;
  return norm == (double)INFINITY ? sums->at[2] : norm;
}

/* Applies the stop rule to the iterate whose natural residual is in state->sums. */
CVTM_HD void cvtm_sparse_state_check(cvtm_sparse_state *state) {
  const cvtm_sums *sums = &state->sums;
  const double norm = cvtm_norm_of(sums, state->scale);
  state->norm[state->loop.iteration % CVTM_HISTORY_LENGTH] = norm;
  state->maximum[state->loop.iteration % CVTM_HISTORY_LENGTH] = sums->at[2];
  cvtm_iteration_check(&state->loop, norm, sums->at[2],
                       cvtm_natural_rounding(sums->at[1]) / state->scale);
  if (state->loop.improved) state->kept = 1 - state->kept;
  if (state->loop.iteration >= state->pause_at) state->loop.go_on = 0;
}

CVTM_HD void cvtm_use_sums(cvtm_sparse_state *state, cvtm_sum_use use) {
  if (use == CVTM_USE_STEP) state->step = cvtm_line_search_step(&state->sums);
  if (use == CVTM_USE_CHECK) {
    ++state->loop.iteration;
    cvtm_sparse_state_check(state);
  }
}

/* --- a pass over the rows --- */

/* A pass processes the rows in two parts. Part 0 is the last colour if last_omega > 0, else empty;
 * part 1 is all other rows. Sets *first to the first row of a part and returns the end of the part.
 */
CVTM_HD int64_t cvtm_sum_part(const cvtm_level *level, double last_omega, int part,
                              int64_t *first) {
  const int64_t split = last_omega > 0 ? level->colour_start[level->colours - 1] : level->rows;
  *first = part == 0 ? split : 0;
  return part == 0 ? level->rows : split;
}

/* The vector of a pass: the direction that it reads, or the copy of x that it writes. */
CVTM_HD double *cvtm_sum_vector(const cvtm_level *level, const cvtm_sparse_state *state,
                                cvtm_sum_kind kind, double *vector) {
  const int copies = vector != NULL && kind != CVTM_SUM_LINE_SEARCH && state->kept == 0;
  return copies ? vector + level->rows : vector;
}

/* The row for the residual, after a relaxation by projected SOR if omega > 0. */
CVTM_HD cvtm_row cvtm_checked_row(const cvtm_level *level, double omega, int64_t row) {
  const cvtm_kernel_flags projected = {0, 1, 0, 0};
  if (omega > 0) return cvtm_relax_row(level, projected, omega, row);
  cvtm_row here = cvtm_read_row(level, 1, row);
  here.x = level->x[row];
  cvtm_set_product(&here, cvtm_split_row(&level->matrix, level->x, 0, NULL, 0, 0, row));
  return here;
}

CVTM_HD cvtm_sums cvtm_sum_row(const cvtm_level *level, const cvtm_level *next, double *vector,
                               cvtm_sum_kind kind, double omega, double scale, int64_t row) {
  switch (kind) {
    case CVTM_SUM_NORM:
    case CVTM_SUM_RESIDUAL: {
      const cvtm_row here = cvtm_checked_row(level, omega, row);
      if (vector != NULL) vector[row] = here.x;
      if (kind == CVTM_SUM_NORM) return cvtm_norm_sums(level, &here, scale, row);
      return cvtm_residual_sums(level, next, &here, scale, row);
    }
    case CVTM_SUM_LINE_SEARCH:
      return cvtm_line_search_sums(level, vector, scale, row);
    case CVTM_SUM_ENERGY:
      return cvtm_energy_sums(level, row);
    default: {
      const cvtm_sums changes = {{cvtm_active_set_row(level, next, row) ? 1.0 : 0.0, 0, 0, 0}};
      return changes;
    }
  }
}

/* The number of rows of a colour. */
CVTM_HD int64_t cvtm_colour_rows(const cvtm_level *level, int64_t colour) {
  return level->colour_start[colour + 1] - level->colour_start[colour];
}

/* cvtm_relax_row for row k of the colour that begins at row `first`. */
CVTM_HD void cvtm_relax_colour_row(const cvtm_level *level, cvtm_kernel_flags flags, double omega,
                                   int64_t first, int64_t k) {
  (void)cvtm_relax_row(level, flags, omega, first + k);
}

/* Projected Gauss-Seidel on the vector x + step * direction, which is not stored, for row k of the
 * colour first .. end - 1. x holds the new values in rows below `end`, and the old x in the other
 * rows. */
CVTM_HD void cvtm_relax_along_row(const cvtm_level *level, const double *direction,
                                  const cvtm_sparse_state *state, int64_t first, int64_t end,
                                  int64_t k) {
  const int64_t row = first + k;
  const cvtm_split_product product =
      cvtm_split_row(&level->matrix, level->x, 1, direction, state->step, end, row);
  const double relaxed = cvtm_relax(level->b[row] - product.others, product.diagonal, 0);
  level->x[row] = cvtm_clip_at(level, row, relaxed);
}

/* --- restriction and prolongation --- */

/* Makes the coarse problem of a correction: right-hand side P'r, start 0. */
CVTM_HD void cvtm_restrict_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t from) {
  const int64_t row = coarse->place[from];
  coarse->b[row] = cvtm_sell_row_times(&fine->restriction, from, fine->r);
  coarse->x[row] = 0;
}

/* A row of P times the coarse x; 0 in active rows if masked. */
CVTM_HD double cvtm_prolonged_correction(const cvtm_level *fine, const cvtm_level *coarse,
                                         int masked, int64_t row) {
  if (masked && cvtm_is_active(fine, row)) return 0;
  return cvtm_sell_row_times(&fine->prolongation, row, coarse->x);
}

CVTM_HD void cvtm_prolong_row(const cvtm_level *fine, const cvtm_level *coarse, int masked,
                              int64_t row) {
  fine->x[row] += cvtm_prolonged_correction(fine, coarse, masked, row);
}

/* Sets direction = clip(x + prolonged correction) - x. */
CVTM_HD void cvtm_direction_row(const cvtm_level *fine, const cvtm_level *coarse, double *direction,
                                int64_t row) {
  const double x = fine->x[row];
  direction[row] = cvtm_clip_at(fine, row, x + cvtm_prolonged_correction(fine, coarse, 1, row)) - x;
}

/* Nested start: makes the problem on the coarse level. b is restricted by P'; the bounds are those
 * at the centres of the basis functions; the initial x is clip(0). */
CVTM_HD void cvtm_coarsen_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t from) {
  const int64_t row = coarse->place[from];
  coarse->b[row] = cvtm_sell_row_times(&fine->restriction, from, fine->b);
  const double lower = cvtm_lower_at(fine, coarse->centre[row]);
  const double upper = cvtm_upper_at(fine, coarse->centre[row]);
  if (coarse->has_bounds[0]) coarse->lower[row] = lower;
  if (coarse->has_bounds[1]) coarse->upper[row] = upper;
  coarse->x[row] = cvtm_lcp_clip(0, lower, upper);
}

/* Nested start: sets the fine start clip(P x) from the coarse solution x. */
CVTM_HD void cvtm_refine_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t row) {
  const double x = cvtm_sell_row_times(&fine->prolongation, row, coarse->x);
  fine->x[row] = cvtm_clip_at(fine, row, x);
}

/* --- vectors --- */

CVTM_HD void cvtm_gather_row(const double *from, const int32_t *order, double *to, int64_t k) {
  to[k] = from[order[k]];
}
CVTM_HD void cvtm_scatter_row(const double *from, const int32_t *order, double *to, int64_t k) {
  to[order[k]] = from[k];
}
CVTM_HD void cvtm_combine_row(double a, const double *x, double c, double *y, int64_t k) {
  y[k] = a * x[k] + c * y[k];
}
CVTM_HD void cvtm_divide_row(const double *x, double *y, int64_t k) { y[k] /= x[k]; }

/* --- the Galerkin product --- */

/* True if row `from` of the restriction belongs to a coarse row that is out of date. */
CVTM_HD int cvtm_galerkin_row_is_stale(const cvtm_level *fine, const cvtm_level *coarse, int is_top,
                                       int64_t from) {
  if (is_top) return coarse->state[coarse->place[from]] == CVTM_ROW_PENDING;
  const cvtm_sell *r = &fine->restriction;
  for (int64_t k = cvtm_sell_first(r, from); k < cvtm_sell_end(r, from); k += CVTM_SLICE_ROWS)
    if (fine->state[r->column[k]] == CVTM_ROW_RENEWED) return 1;
  return 0;
}

/* A row of the product that is being computed. Entry k has its column and value at k * stride. */
typedef struct cvtm_row_sum {
  const int32_t *column;
  double *value;
  int64_t count, stride;
} cvtm_row_sum;

enum { CVTM_LOCAL_ROW = 32 }; /* largest number of entries of a row summed in local memory */

CVTM_HD void cvtm_row_add(const cvtm_row_sum *row, int32_t column, double term) {
  for (int64_t k = 0; k < row->count * row->stride; k += row->stride) {
    if (row->column[k] == column) {
      row->value[k] += term;
      return;
    }
  }
}

/* Adds weight * (row i of A) * P. */
CVTM_HD void cvtm_galerkin_terms(const cvtm_level *fine, int is_top, int32_t i, double weight,
                                 const cvtm_row_sum *sum) {
  const cvtm_sell *a = is_top ? &fine->matrix : &fine->correction, *p = &fine->prolongation;
  for (int64_t m = cvtm_sell_first(a, i); m < cvtm_sell_end(a, i); m += CVTM_SLICE_ROWS) {
    const int32_t j = a->column[m];
    const double entry = weight * a->value[m];
    if (entry == 0 || (is_top && cvtm_is_active(fine, j))) continue;
    for (int64_t l = cvtm_sell_first(p, j); l < cvtm_sell_end(p, j); l += CVTM_SLICE_ROWS)
      if (p->value[l] != 0) cvtm_row_add(sum, p->column[l], entry * p->value[l]);
  }
}

/* Computes row coarse->place[from] of P'AP, and stores it in coarse->correction, if it was out of
 * date. On the top level the rows of P at active nodes count as zero. */
CVTM_HD void cvtm_galerkin_row(const cvtm_level *fine, const cvtm_level *coarse, int is_top,
                               int64_t from) {
  const int64_t row = coarse->place[from];
  if (!cvtm_galerkin_row_is_stale(fine, coarse, is_top, from)) {
    coarse->state[row] = 0;
    return;
  }
  coarse->state[row] = CVTM_ROW_RENEWED;
  const cvtm_sell *r = &fine->restriction, *product = &coarse->correction;
  const int64_t first = cvtm_sell_first(product, row);
  const int64_t count =
      (cvtm_sell_end(product, row) - first + CVTM_SLICE_ROWS - 1) / CVTM_SLICE_ROWS;
  int32_t column[CVTM_LOCAL_ROW];
  double value[CVTM_LOCAL_ROW];
  const int is_local = count <= CVTM_LOCAL_ROW;
  cvtm_row_sum sum = {product->column + first, product->value + first, count, CVTM_SLICE_ROWS};
  if (is_local) {
    sum.column = column;
    sum.value = value;
    sum.stride = 1;
  }
  for (int64_t k = 0; k < count; ++k) {
    if (is_local) column[k] = product->column[first + k * CVTM_SLICE_ROWS];
    sum.value[k * sum.stride] = 0;
  }
  for (int64_t k = cvtm_sell_first(r, from); k < cvtm_sell_end(r, from); k += CVTM_SLICE_ROWS) {
    const int32_t i = r->column[k];
    if (r->value[k] == 0 || (is_top && cvtm_is_active(fine, i))) continue;
    cvtm_galerkin_terms(fine, is_top, i, r->value[k], &sum);
  }
  for (int64_t k = 0; k < count && is_local; ++k)
    product->value[first + k * CVTM_SLICE_ROWS] = value[k];
}
