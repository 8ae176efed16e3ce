/* Inside lcp only: sums over the rows of a level (norms, line search, energy, active set) in an
 * order that no number of threads changes, and the state of a solve that is made of them. */
#ifndef CVTMESH_LCP_SPARSE_SUMS_H
#define CVTMESH_LCP_SPARSE_SUMS_H

#include "lcp/sparse/active_set.h"
#include "lcp/sparse/smoother.h"
#include "lcp/stop.h"

/* What is summed over the rows of a level. */
typedef enum cvtm_sum_kind {
  CVTM_SUM_NORM,        /* cvtm_norm_sums */
  CVTM_SUM_RESIDUAL,    /* cvtm_residual_sums */
  CVTM_SUM_LINE_SEARCH, /* cvtm_line_search_sums */
  CVTM_SUM_ENERGY,      /* cvtm_energy_sums */
  CVTM_SUM_ACTIVE_SET   /* cvtm_active_set_row: sum 0 counts the rows that change sides */
} cvtm_sum_kind;

/* What follows a sum, in the same launch or right after it. */
typedef enum cvtm_sum_use {
  CVTM_USE_NOTHING,
  CVTM_USE_STEP, /* state.step = cvtm_line_search_step */
  CVTM_USE_JUDGE /* the iteration is counted and judged: cvtm_sparse_state_judge */
} cvtm_sum_use;

/* Rows are cut into blocks of CVTM_SUM_BLOCK. In a block, lane k adds rows k, k + CVTM_SUM_LANES,
 * ... in turn; the lanes are added by halving. So are the sums of the blocks. */
enum {
  CVTM_SUM_LANES = 256,
  CVTM_SUM_BLOCK = 4096,
  CVTM_SUM_COUNT = 4 /* numbers of one pass */
};

/* Numbers 0, 1 and 3 are sums, number 2 is a maximum. */
typedef struct cvtm_sums {
  double at[CVTM_SUM_COUNT];
} cvtm_sums;

CVTM_HD int64_t cvtm_sum_blocks(int64_t rows) {
  return rows / CVTM_SUM_BLOCK + (rows % CVTM_SUM_BLOCK != 0);
}

/* a += b. A NaN stays in the maximum. */
CVTM_HD void cvtm_sums_join(cvtm_sums *a, const cvtm_sums *b) {
  a->at[0] += b->at[0];
  a->at[1] += b->at[1];
  a->at[2] = a->at[2] > b->at[2] || a->at[2] != a->at[2] ? a->at[2] : b->at[2];
  a->at[3] += b->at[3];
}

/* x - clip(x - F), computed without a difference in which a small F would be lost. */
CVTM_HD double cvtm_natural_residual(const cvtm_row *at) {
  return cvtm_lcp_clip(at->product - at->b, at->x - at->upper, at->x - at->lower);
}

/* Sums of the natural residual r: 0: (scale r)^2, 1: the square of scale times the terms whose
 * rounding errors r has, 2: |r|. */
CVTM_HD cvtm_sums cvtm_natural_sums(const cvtm_row *at, double scale) {
  const double r = cvtm_natural_residual(at);
  const double scaled = scale * r;
  const double size = scale * (2 * fabs(at->largest) + fabs(at->b));
  const cvtm_sums sums = {{scaled * scaled, size * size, fabs(r), 0}};
  return sums;
}

/* The natural residual of the user's row, and 3: its absolute value in this level's row. */
CVTM_HD cvtm_sums cvtm_norm_sums(const cvtm_level *level, const cvtm_row *at, double scale,
                                 int64_t row) {
  cvtm_row given = *at;
  if (level->weight != NULL) {
    given.product *= level->weight[row];
    given.largest *= level->weight[row];
    given.b *= level->weight[row];
  }
  cvtm_sums sums = cvtm_natural_sums(&given, scale);
  sums.at[3] = fabs(cvtm_natural_residual(at));
  return sums;
}

/* The natural residual, and level.r = b - A x. Rows at a bound become active, and r is 0 there. */
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

/* Line search along d: 0: r'd, 1: d'Ad, both times scale; 2: 1 / the largest feasible step. */
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

/* The step to the exact minimiser along the direction, or to the first bound before it. */
CVTM_HD double cvtm_line_search_step(const cvtm_sums *sums) {
  if (!(sums->at[0] > 0)) return 0;
  const double step = sums->at[1] > 0 ? sums->at[0] / sums->at[1] : 1;
  return step * sums->at[2] > 1 ? 1 / sums->at[2] : step;
}

/* 0: the energy 1/2 x'Ax - b'x; 1, 3: rows at the lower, at the upper bound. */
CVTM_HD cvtm_sums cvtm_energy_sums(const cvtm_level *level, int64_t row) {
  const double x = level->x[row];
  const double product = cvtm_sell_row_times(&level->matrix, row, level->x);
  const int lower = x <= cvtm_lower_at(level, row);
  const cvtm_sums sums = {{x * (0.5 * product - level->b[row]), lower ? 1.0 : 0.0, 0,
                           !lower && x >= cvtm_upper_at(level, row) ? 1.0 : 0.0}};
  return sums;
}

/* --- the state of a solve --------------------------------------------------------------- */

enum { CVTM_HISTORY_LENGTH = 256 }; /* iterations between two polls by the host, at most */

/* In device memory. */
typedef struct cvtm_sparse_state {
  cvtm_iteration_state loop;
  int64_t pause_at; /* the loop is left after this iteration */
  double scale;   /* power of two by which residuals are multiplied before they are squared, so that
                     the squares of very large and very small ones stay in range; 1 for all others */
  double step;    /* of the line search */
  int64_t kept;   /* 0, 1: which of two copies is the best iterate; the other one is free */
  cvtm_sums sums; /* of the last pass */
  double norm[CVTM_HISTORY_LENGTH], maximum[CVTM_HISTORY_LENGTH]; /* by iteration modulo length */
} cvtm_sparse_state;

/* 2-norm of the natural residual. Where its squares overflow (from 1e150 times the start on), the
 * maximum norm stands in. */
CVTM_HD double cvtm_norm_of(const cvtm_sums *sums, double scale) {
  const double norm = sqrt(sums->at[0]) / scale;
  return norm == (double)INFINITY ? sums->at[2] : norm;
}

/* Bound of the rounding errors in the 2-norm of the natural residual. */
CVTM_HD double cvtm_rounding_of(const cvtm_sparse_state *state) {
  const double epsilon = 2.220446049250313e-16;
  return 8 * epsilon * sqrt(state->sums.at[1]) / state->scale;
}

/* Judges the iterate whose natural residual is in state->sums. */
CVTM_HD void cvtm_sparse_state_judge(cvtm_sparse_state *state) {
  const cvtm_sums *sums = &state->sums;
  const double norm = cvtm_norm_of(sums, state->scale);
  state->norm[state->loop.iteration % CVTM_HISTORY_LENGTH] = norm;
  state->maximum[state->loop.iteration % CVTM_HISTORY_LENGTH] = sums->at[2];
  cvtm_iteration_judge(&state->loop, norm, sums->at[2], cvtm_rounding_of(state));
  if (state->loop.improved) state->kept = 1 - state->kept;
  if (state->loop.iteration >= state->pause_at) state->loop.go_on = 0;
}

CVTM_HD void cvtm_use_sums(cvtm_sparse_state *state, cvtm_sum_use use) {
  if (use == CVTM_USE_STEP) state->step = cvtm_line_search_step(&state->sums);
  if (use == CVTM_USE_JUDGE) {
    ++state->loop.iteration;
    cvtm_sparse_state_judge(state);
  }
}

/* --- a pass over the rows --------------------------------------------------------------- */

/* The rows of a pass in two parts, in the order in which they are taken. Part 0 is the last colour
 * if last_omega > 0, else empty; part 1 is all others. Returns the end of the part. */
CVTM_HD int64_t cvtm_sum_part(const cvtm_level *level, double last_omega, int part,
                              int64_t *first) {
  const int64_t split = last_omega > 0 ? level->colour_start[level->colours - 1] : level->rows;
  *first = part == 0 ? split : 0;
  return part == 0 ? level->rows : split;
}

/* Where a pass finds its direction or leaves its copy of x. */
CVTM_HD double *cvtm_sum_vector(const cvtm_level *level, const cvtm_sparse_state *state,
                                cvtm_sum_kind kind, double *vector) {
  const int copies = vector != NULL && kind != CVTM_SUM_LINE_SEARCH && state->kept == 0;
  return copies ? vector + level->rows : vector;
}

/* The row for a residual. omega > 0: it is relaxed first, projected. */
CVTM_HD cvtm_row cvtm_judged_row(const cvtm_level *level, double omega, int64_t row) {
  const cvtm_kernel_flags projected = {0, 1, 0, 0};
  if (omega > 0) return cvtm_relax_row(level, projected, omega, row);
  cvtm_row here = cvtm_read_row(level, 1, row);
  here.x = level->x[row];
  cvtm_set_product(&here, cvtm_split_row(&level->matrix, level->x, row));
  return here;
}

CVTM_HD cvtm_sums cvtm_sum_row(const cvtm_level *level, const cvtm_level *next, double *vector,
                               cvtm_sum_kind kind, double omega, double scale, int64_t row) {
  switch (kind) {
    case CVTM_SUM_NORM:
    case CVTM_SUM_RESIDUAL: {
      const cvtm_row here = cvtm_judged_row(level, omega, row);
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

#endif
