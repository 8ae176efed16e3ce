/* Inside lcp only: the phases of the matrix-based solvers that differ between devices. Each
 * enqueues its work on the device's stream and returns no number. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_PHASES_H
#define CVTMESH_LCP_SPARSE_SPARSE_PHASES_H

#include "lcp/sparse/sparse_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is summed over the rows of a level. */
typedef enum cvtm_sum_kind {
  CVTM_SUM_MEASURE,  /* cvtm_measure_row */
  CVTM_SUM_EXAMINE,  /* cvtm_examine_row */
  CVTM_SUM_TRUNCATE, /* cvtm_examine_row, masked */
  CVTM_SUM_SEARCH,   /* cvtm_search_row along level.direction */
  CVTM_SUM_ACCOUNT,  /* cvtm_account_row */
  CVTM_SUM_CHOOSE    /* cvtm_choose_row: 0 counts the rows that change sides */
} cvtm_sum_kind;

/* What is made of the sums, in the same launch or right after it. */
typedef enum cvtm_sum_use {
  CVTM_USE_NOTHING,
  CVTM_USE_STEP, /* state.step = cvtm_search_step */
  CVTM_USE_JUDGE /* the next iteration begins, and cvtm_sweep_judge */
} cvtm_sum_use;

/* A linear or bounded V-cycle on the levels first .. last, b, bounds and start given. */
typedef struct cvtm_vcycle {
  int first, last;
  int pre, post, coarsest; /* sweeps */
  cvtm_restrict_bounds bounds;
  int products; /* also refresh the products of all these levels but the first beforehand */
} cvtm_vcycle;

/* A tridiagonal matrix in the user's order; device memory, as long as level 0 each. */
typedef struct cvtm_tridiagonal {
  const double *below, *diagonal, *above;
  const int32_t *place;  /* of the user's row on level 0 */
  double *ratio, *value; /* room for the elimination */
} cvtm_tridiagonal;

typedef struct cvtm_sparse_phases {
  /* Gauss-Seidel on one colour. */
  cvtm_status (*relax)(cvtm_device *device, const cvtm_level *level, cvtm_passage how, double omega,
                       int64_t colour);
  /* The same, projected, from x + state.step * direction. */
  cvtm_status (*relax_along)(cvtm_device *device, const cvtm_level *level, const double *direction,
                             const cvtm_sweep_state *state, int64_t colour);
  /* Of the rows below `end`. */
  cvtm_status (*residual)(cvtm_device *device, const cvtm_level *level, cvtm_passage how,
                          int64_t end);
  /* y = A x, 0 in active rows. */
  cvtm_status (*apply)(cvtm_device *device, const cvtm_level *level, const double *x, double *y);
  cvtm_status (*product)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                         int is_top);
  cvtm_status (*restriction)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                             cvtm_restrict_bounds bounds, int masked);
  cvtm_status (*prolong)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                         cvtm_passage how);
  cvtm_status (*direction)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                           double *direction);
  /* x += state.step * direction, kept within the bounds. */
  cvtm_status (*step)(cvtm_device *device, const cvtm_level *level, const double *direction,
                      const cvtm_sweep_state *state);
  cvtm_status (*coarsen)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse);
  cvtm_status (*refine)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse);
  /* next: the coarser level, NULL if there is none. partial: room for cvtm_sum_blocks(rows) + 1
   * cvtm_sums. Leaves the result in state.sums. last_omega > 0: the natural residual's sums first
   * relax the last colour, projected, which saves them another look at its rows. vector: the
   * direction of a search; else NULL, or two copies of x, of which the free one is written. */
  cvtm_status (*sum)(cvtm_device *device, const cvtm_level *level, const cvtm_level *next,
                     double *vector, cvtm_sum_kind kind, double last_omega, cvtm_sum_use use,
                     cvtm_sums *partial, cvtm_sweep_state *state);
  /* to[k] = from[order[k]]; and to[order[k]] = from[k]. */
  cvtm_status (*gather)(cvtm_device *device, const double *from, const int32_t *order,
                        int64_t count, double *to);
  cvtm_status (*scatter)(cvtm_device *device, const double *from, const int32_t *order,
                         int64_t count, double *to);
  /* Into the box: every row, or (masked) only the active ones, each to its bound. */
  cvtm_status (*clip)(cvtm_device *device, const cvtm_level *level, int masked);
  /* y = a x + c y. */
  cvtm_status (*combine)(cvtm_device *device, double a, const double *x, double c, double *y,
                         int64_t count);
  /* y = y / x, one by one. */
  cvtm_status (*divide)(cvtm_device *device, const double *x, double *y, int64_t count);
  /* Solves for the inactive rows of a tridiagonal system, b given, x of active rows given. */
  cvtm_status (*tridiagonal)(cvtm_device *device, const cvtm_level *level,
                             const cvtm_tridiagonal *matrix);
  /* verdict[0], [1] = the first index where b or a bound is not a number, where
   * lower > upper; count if there is none. */
  cvtm_status (*check)(cvtm_device *device, const double *b, const double *lower,
                       const double *upper, int64_t count, int64_t *verdict);
  /* Several levels that are too small to fill the device, in one launch; levels is in device
   * memory. NULL: the plain phases are used. */
  cvtm_status (*small)(cvtm_device *device, const cvtm_level *levels, const cvtm_vcycle *cycle);
  int64_t small_rows; /* most rows of a level for that */
} cvtm_sparse_phases;

extern const cvtm_sparse_phases cvtm_sparse_phases_cpu, cvtm_sparse_phases_cuda;

#ifdef __cplusplus
}
#endif

CVTM_HD void cvtm_apply_row(const cvtm_level *level, const double *x, double *y, int64_t row) {
  const int active = (level->state[row] & CVTM_ROW_ACTIVE) != 0;
  y[row] = active ? 0 : cvtm_sell_row_times(&level->matrix, row, x);
}

/* Elimination from the first row to the last, and back (Thomas). */
CVTM_HD void cvtm_solve_tridiagonal(const cvtm_level *level, const cvtm_tridiagonal *a) {
  double ratio = 0, value = 0;
  for (int64_t i = 0; i < level->rows; ++i) {
    const int32_t row = a->place[i];
    if ((level->state[row] & CVTM_ROW_ACTIVE) != 0) {
      ratio = 0;
      value = level->x[row];
    } else {
      const double pivot = a->diagonal[i] - a->below[i] * ratio;
      value = (level->b[row] - a->below[i] * value) / pivot;
      ratio = a->above[i] / pivot;
    }
    a->ratio[i] = ratio;
    a->value[i] = value;
  }
  double x = 0;
  for (int64_t i = level->rows - 1; i >= 0; --i) {
    x = a->value[i] - a->ratio[i] * x;
    level->x[a->place[i]] = x;
  }
}

CVTM_HD void cvtm_clip_row(const cvtm_level *level, int masked, int64_t row) {
  const int side = level->state[row] & CVTM_ROW_ACTIVE;
  if (!masked)
    level->x[row] = cvtm_clip(level->x[row], cvtm_lower_at(level, row), cvtm_upper_at(level, row));
  else if (side != 0)
    level->x[row] = side == CVTM_ROW_LOWER ? cvtm_lower_at(level, row) : cvtm_upper_at(level, row);
}

CVTM_HD void cvtm_step_row(const cvtm_level *level, const double *direction, double step,
                           int64_t row) {
  const double x = level->x[row] + step * direction[row];
  level->x[row] = cvtm_clip(x, cvtm_lower_at(level, row), cvtm_upper_at(level, row));
}

/* 1: b or a bound is not a number, or b infinite; 2: lower > upper; 0: neither. */
CVTM_HD int cvtm_check_entry(const double *b, const double *lower, const double *upper, int64_t i) {
  const double low = lower != NULL ? lower[i] : -(double)INFINITY;
  const double high = upper != NULL ? upper[i] : (double)INFINITY;
  if (!(b[i] - b[i] == 0) || low != low || high != high) return 1;
  return low > high || low == (double)INFINITY || high == -(double)INFINITY ? 2 : 0;
}

CVTM_HD void cvtm_use_sums(cvtm_sweep_state *state, cvtm_sum_use use) {
  if (use == CVTM_USE_STEP) state->step = cvtm_search_step(&state->sums);
  if (use == CVTM_USE_JUDGE) {
    ++state->loop.iteration;
    cvtm_sweep_judge(state);
  }
}

/* The primal-dual choice at one row: where x - F / a_ii leaves the box, the bound holds.
 * Returns whether the row changes sides. */
CVTM_HD int cvtm_choose_row(const cvtm_level *level, const cvtm_level *next, int64_t row) {
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
  return cvtm_mark_row(level, next, side, row) != side;
}

/* The rows of a sum in the order in which they are taken: part 0 is the last colour where that
 * is relaxed first, else empty; part 1 is the rest. */
CVTM_HD int64_t cvtm_sum_part(const cvtm_level *level, double last_omega, int part,
                              int64_t *first) {
  const int64_t split = last_omega > 0 ? level->colour_start[level->colours - 1] : level->rows;
  *first = part == 0 ? split : 0;
  return part == 0 ? level->rows : split;
}

/* Where a sum finds its direction or leaves its copy of x. */
CVTM_HD double *cvtm_sum_vector(const cvtm_level *level, const cvtm_sweep_state *state,
                                cvtm_sum_kind kind, double *vector) {
  const int copies = vector != NULL && kind != CVTM_SUM_SEARCH && state->kept == 0;
  return copies ? vector + level->rows : vector;
}

/* omega > 0: the row is relaxed first. */
CVTM_HD cvtm_row cvtm_judged_row(const cvtm_level *level, double omega, int64_t row) {
  const cvtm_passage projected = {0, 1, 0, 0};
  if (omega > 0) return cvtm_relax_row(level, projected, omega, row);
  cvtm_row here = cvtm_read_row(level, 1, row);
  here.x = level->x[row];
  cvtm_set_product(&here, cvtm_split_row(&level->matrix, level->x, row));
  return here;
}

CVTM_HD cvtm_sums cvtm_sum_row(const cvtm_level *level, const cvtm_level *next, double *vector,
                               cvtm_sum_kind kind, double omega, double scale, int64_t row) {
  switch (kind) {
    case CVTM_SUM_MEASURE:
    case CVTM_SUM_EXAMINE:
    case CVTM_SUM_TRUNCATE: {
      const cvtm_row here = cvtm_judged_row(level, omega, row);
      if (vector != NULL) vector[row] = here.x;
      if (kind == CVTM_SUM_MEASURE) return cvtm_measure_row(level, &here, scale, row);
      return cvtm_examine_row(level, next, kind == CVTM_SUM_TRUNCATE, &here, scale, row);
    }
    case CVTM_SUM_SEARCH:
      return cvtm_search_row(level, vector, scale, row);
    case CVTM_SUM_ACCOUNT:
      return cvtm_account_row(level, row);
    default: {
      const cvtm_sums changes = {{cvtm_choose_row(level, next, row) ? 1.0 : 0.0, 0, 0, 0}};
      return changes;
    }
  }
}

#endif
