/* Inside lcp only: levels of a hierarchy of sparse matrices, and what happens at one row
 * of each phase, written once for both devices. Rows of a level are ordered by colour. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_ROWS_H
#define CVTMESH_LCP_SPARSE_SPARSE_ROWS_H

#include "lcp/lcp_solver.h"
#include "lcp/stop.h"
#include "lcp/sparse/sparse_kernels.h"

/* Bits of cvtm_level.state. */
enum {
  CVTM_ROW_LOWER = 1,   /* x is held at the lower bound */
  CVTM_ROW_UPPER = 2,   /* x is held at the upper bound */
  CVTM_ROW_ACTIVE = 3,  /* either */
  CVTM_ROW_PENDING = 4, /* this row of `correction` has to be computed again */
  CVTM_ROW_RENEWED = 8  /* it has been, by the last Galerkin product */
};

enum { CVTM_LEVELS_MAX = 32 };

/* One level; a plain struct of borrowed pointers that kernels take by value. The problem is
 * A x = b with bounds: the user's, or its image on a coarser grid, or a correction's. */
typedef struct cvtm_level {
  int64_t rows;
  cvtm_sell matrix;
  /* The matrix that corrections see: the same structure with other values where active nodes
   * are cut off the basis functions, else the same arrays. */
  cvtm_sell correction;
  cvtm_sell prolongation; /* rows x rows of the next coarser level; none on the coarsest */
  /* Its transpose, rows in the user's order: neighbours then read neighbours. Row k belongs to row
   * place[k] of the coarser level. */
  cvtm_sell restriction;
  const int32_t *place;  /* of the user's rows of this level */
  const int32_t *centre; /* the row of the next finer level in the middle of this one's basis */
  double *x, *b, *lower, *upper;
  const uint8_t *has_bounds; /* device memory: 0 where no row has a lower, an upper bound; their
                                arrays are then not read */
  double *r;                 /* residuals and directions */
  uint8_t *state;
  const double *weight; /* powers of two: this level's rows times these are the user's, whose
                           residual is judged; NULL: they are the same */
  int64_t colours;
  const int64_t *colour_start;        /* host memory; colours + 1 */
  const int64_t *colour_start_device; /* the same in device memory */
} cvtm_level;

typedef enum cvtm_restrict_bounds {
  CVTM_BOUNDS_NONE,   /* linear corrections */
  CVTM_BOUNDS_INNER,  /* the tightest over the support: what a coarse basis may move at most */
  CVTM_BOUNDS_AVERAGE /* weighted means, as published for the projected multigrid */
} cvtm_restrict_bounds;

/* How a phase treats a level. */
typedef struct cvtm_passage {
  int correction; /* the operator is level.correction, else level.matrix */
  int bounded;    /* x is kept within the bounds */
  int masked;     /* active rows are left out */
  int residual;   /* a relaxed row leaves its residual in level.r */
} cvtm_passage;

CVTM_HD double cvtm_clip(double x, double lower, double upper) {
  const double raised = x < lower ? lower : x;
  return raised > upper ? upper : raised;
}

CVTM_HD double cvtm_lower_at(const cvtm_level *level, int64_t row) {
  return level->has_bounds[0] ? level->lower[row] : -(double)INFINITY;
}
CVTM_HD double cvtm_upper_at(const cvtm_level *level, int64_t row) {
  return level->has_bounds[1] ? level->upper[row] : (double)INFINITY;
}

/* A row times x, in two parts. */
typedef struct cvtm_split_product {
  double diagonal;
  double others; /* what the other columns add */
} cvtm_split_product;

CVTM_HD cvtm_split_product cvtm_split_row(const cvtm_sell *a, const double *x, int64_t row) {
  const int64_t end = cvtm_sell_end(a, row);
  cvtm_split_product product = {0, 0};
  for (int64_t k = cvtm_sell_first(a, row); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(a, row, k, end);
    double at[CVTM_SELL_BATCH];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) at[j] = x[batch.column[j]];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int is_own = batch.column[j] == row;
      product.diagonal += is_own ? batch.value[j] : 0;
      product.others += is_own ? 0 : batch.value[j] * at[j];
    }
  }
  return product;
}

/* What a row holds: read once, before anything is written. */
typedef struct cvtm_row {
  double x, b, lower, upper;
  double product, held; /* A x; the largest of its terms, which tells how it rounds */
} cvtm_row;

/* All but x and the product. */
CVTM_HD cvtm_row cvtm_read_row(const cvtm_level *level, int bounded, int64_t row) {
  cvtm_row here = {0, level->b[row], -(double)INFINITY, (double)INFINITY, 0, 0};
  if (bounded) {
    here.lower = cvtm_lower_at(level, row);
    here.upper = cvtm_upper_at(level, row);
  }
  return here;
}

CVTM_HD void cvtm_set_product(cvtm_row *here, cvtm_split_product product) {
  here->held = product.diagonal * here->x;
  here->product = product.others + here->held;
}

/* One row of Gauss-Seidel, overrelaxed by omega. A row whose diagonal has vanished (all of
 * its basis function is cut off) keeps its value. Returns the row as it is then. */
CVTM_HD cvtm_row cvtm_relax_row(const cvtm_level *level, cvtm_passage how, double omega,
                                int64_t row) {
  cvtm_row here = cvtm_read_row(level, how.bounded, row);
  if (how.masked && (level->state[row] & CVTM_ROW_ACTIVE) != 0) return here;
  const cvtm_split_product product =
      cvtm_split_row(how.correction ? &level->correction : &level->matrix, level->x, row);
  if (product.diagonal > 0) {
    double x = (here.b - product.others) / product.diagonal;
    if (omega != 1) x = level->x[row] + omega * (x - level->x[row]);
    here.x = how.bounded ? cvtm_clip(x, here.lower, here.upper) : x;
    level->x[row] = here.x;
  } else {
    here.x = level->x[row];
  }
  cvtm_set_product(&here, product);
  if (how.residual) level->r[row] = here.b - here.product;
  return here;
}

/* Projected Gauss-Seidel from x + step * direction, which is never written: colours below
 * colour_end are done, the others are still at x. */
CVTM_HD void cvtm_relax_along_row(const cvtm_level *level, const double *direction, double step,
                                  int64_t colour_end, int64_t row) {
  const cvtm_sell *a = &level->matrix;
  const int64_t end = cvtm_sell_end(a, row);
  double sum = 0, diagonal = 0;
  for (int64_t k = cvtm_sell_first(a, row); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(a, row, k, end);
    double at[CVTM_SELL_BATCH];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int32_t column = batch.column[j];
      at[j] = level->x[column];
      if (column >= colour_end) at[j] += step * direction[column];
    }
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int is_own = batch.column[j] == row;
      diagonal += is_own ? batch.value[j] : 0;
      sum += is_own ? 0 : batch.value[j] * at[j];
    }
  }
  const double x = (level->b[row] - sum) / diagonal;
  level->x[row] = cvtm_clip(x, cvtm_lower_at(level, row), cvtm_upper_at(level, row));
}

CVTM_HD void cvtm_residual_row(const cvtm_level *level, cvtm_passage how, int64_t row) {
  const cvtm_sell *a = how.correction ? &level->correction : &level->matrix;
  const int active = how.masked && (level->state[row] & CVTM_ROW_ACTIVE) != 0;
  level->r[row] = active ? 0 : level->b[row] - cvtm_sell_row_times(a, row, level->x);
}

/* Bytes of the state that several rows may write at once, all the same. */
CVTM_HD void cvtm_set_pending(uint8_t *state) {
#ifdef __CUDA_ARCH__
  *state = CVTM_ROW_PENDING;
#else
  __atomic_store_n(state, (uint8_t)CVTM_ROW_PENDING, __ATOMIC_RELAXED);
#endif
}

/* Row `row` of the top level became active or inactive: all rows of the coarse product that
 * contain it, or a neighbour of it, are out of date. The pattern of A is symmetric. */
CVTM_HD void cvtm_announce_row(const cvtm_level *level, const cvtm_level *next, int64_t row) {
  const cvtm_sell *a = &level->matrix, *p = &level->prolongation;
  for (int64_t k = cvtm_sell_first(a, row); k < cvtm_sell_end(a, row); k += CVTM_SLICE_ROWS) {
    const int32_t j = a->column[k];
    for (int64_t l = cvtm_sell_first(p, j); l < cvtm_sell_end(p, j); l += CVTM_SLICE_ROWS)
      if (p->value[l] != 0) cvtm_set_pending(&next->state[p->column[l]]);
  }
}

/* Records which bound holds x in this row: 0, CVTM_ROW_LOWER or CVTM_ROW_UPPER. Returns the
 * record before. next: the coarser level, NULL if there is none. */
CVTM_HD int cvtm_mark_row(const cvtm_level *level, const cvtm_level *next, int side, int64_t row) {
  const int before = level->state[row];
  if (side == before) return before;
  level->state[row] = (uint8_t)side;
  if (next != NULL && (side == 0) != (before == 0)) cvtm_announce_row(level, next, row);
  return before;
}

/* Whether the row of the coarse level's product that row `from` of the restriction belongs to
 * depends on anything that has changed. */
CVTM_HD int cvtm_product_is_stale(const cvtm_level *fine, const cvtm_level *coarse, int is_top,
                                  int64_t from) {
  if (is_top) return coarse->state[coarse->place[from]] == CVTM_ROW_PENDING;
  const cvtm_sell *r = &fine->restriction;
  for (int64_t k = cvtm_sell_first(r, from); k < cvtm_sell_end(r, from); k += CVTM_SLICE_ROWS)
    if (fine->state[r->column[k]] == CVTM_ROW_RENEWED) return 1;
  return 0;
}

/* A row that is being added up: entry k has its column and value at k * stride. */
typedef struct cvtm_row_sum {
  const int32_t *column;
  double *value;
  int64_t count, stride;
} cvtm_row_sum;

enum { CVTM_LOCAL_ROW = 32 }; /* entries of a row that are added up beside the memory */

CVTM_HD void cvtm_row_add(const cvtm_row_sum *row, int32_t column, double term) {
  for (int64_t k = 0; k < row->count * row->stride; k += row->stride) {
    if (row->column[k] == column) {
      row->value[k] += term;
      return;
    }
  }
}

/* The terms of one fine row i, which enters with this weight. */
CVTM_HD void cvtm_product_terms(const cvtm_level *fine, int is_top, int32_t i, double weight,
                                const cvtm_row_sum *sum) {
  const cvtm_sell *a = is_top ? &fine->matrix : &fine->correction, *p = &fine->prolongation;
  for (int64_t m = cvtm_sell_first(a, i); m < cvtm_sell_end(a, i); m += CVTM_SLICE_ROWS) {
    const int32_t j = a->column[m];
    const double entry = weight * a->value[m];
    if (entry == 0 || (is_top && (fine->state[j] & CVTM_ROW_ACTIVE) != 0)) continue;
    for (int64_t l = cvtm_sell_first(p, j); l < cvtm_sell_end(p, j); l += CVTM_SLICE_ROWS)
      if (p->value[l] != 0) cvtm_row_add(sum, p->column[l], entry * p->value[l]);
  }
}

/* Row place[from] of P' A P, where the rows of P at active nodes count as zero on the top level. */
CVTM_HD void cvtm_product_row(const cvtm_level *fine, const cvtm_level *coarse, int is_top,
                              int64_t from) {
  const int64_t row = coarse->place[from];
  if (!cvtm_product_is_stale(fine, coarse, is_top, from)) {
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
    if (r->value[k] == 0 || (is_top && (fine->state[i] & CVTM_ROW_ACTIVE) != 0)) continue;
    cvtm_product_terms(fine, is_top, i, r->value[k], &sum);
  }
  for (int64_t k = 0; k < count && is_local; ++k)
    product->value[first + k * CVTM_SLICE_ROWS] = value[k];
}

/* The coarse problem for a correction of the fine x: right side P' r, start 0, bounds. */
CVTM_HD void cvtm_restrict_row(const cvtm_level *fine, const cvtm_level *coarse,
                               cvtm_restrict_bounds bounds, int masked, int64_t from) {
  const cvtm_sell *r = &fine->restriction;
  const int64_t row = coarse->place[from];
  double right = 0, weights = 0;
  double lower = bounds == CVTM_BOUNDS_AVERAGE ? 0 : -(double)INFINITY;
  double upper = bounds == CVTM_BOUNDS_AVERAGE ? 0 : (double)INFINITY;
  const int64_t end = cvtm_sell_end(r, from);
  for (int64_t k = cvtm_sell_first(r, from); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(r, from, k, end);
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
      const int32_t i = batch.column[j];
      const double weight = batch.value[j];
      right += weight * fine->r[i];
      if (weight == 0 || bounds == CVTM_BOUNDS_NONE ||
          (masked && (fine->state[i] & CVTM_ROW_ACTIVE) != 0))
        continue;
      const double below = cvtm_lower_at(fine, i) - fine->x[i],
                   above = cvtm_upper_at(fine, i) - fine->x[i];
      if (bounds == CVTM_BOUNDS_AVERAGE) {
        lower += weight * below;
        upper += weight * above;
        weights += weight;
      } else {
        if (below > lower) lower = below;
        if (above < upper) upper = above;
      }
    }
  }
  if (weights > 0) {
    lower /= weights;
    upper /= weights;
  }
  coarse->b[row] = right;
  coarse->x[row] = 0;
  if (bounds == CVTM_BOUNDS_NONE) return;
  /* A feasible start, whatever rounding has done. */
  if (coarse->has_bounds[0])
    coarse->lower[row] = bounds == CVTM_BOUNDS_INNER && lower > 0 ? 0 : lower;
  if (coarse->has_bounds[1])
    coarse->upper[row] = bounds == CVTM_BOUNDS_INNER && upper < 0 ? 0 : upper;
}

CVTM_HD double cvtm_prolonged(const cvtm_level *fine, const cvtm_level *coarse, int masked,
                              int64_t row) {
  if (masked && (fine->state[row] & CVTM_ROW_ACTIVE) != 0) return 0;
  return cvtm_sell_row_times(&fine->prolongation, row, coarse->x);
}

CVTM_HD void cvtm_prolong_row(const cvtm_level *fine, const cvtm_level *coarse, cvtm_passage how,
                              int64_t row) {
  const double x = fine->x[row] + cvtm_prolonged(fine, coarse, how.masked, row);
  fine->x[row] = how.bounded ? cvtm_clip(x, cvtm_lower_at(fine, row), cvtm_upper_at(fine, row)) : x;
}

/* direction = what is left of the prolonged correction after projection into the box. */
CVTM_HD void cvtm_direction_row(const cvtm_level *fine, const cvtm_level *coarse, double *direction,
                                int64_t row) {
  const double x = fine->x[row];
  const double to = x + cvtm_prolonged(fine, coarse, 1, row);
  direction[row] = cvtm_clip(to, cvtm_lower_at(fine, row), cvtm_upper_at(fine, row)) - x;
}

/* A level's own problem, from the next finer one: b by P', bounds at the centres. */
CVTM_HD void cvtm_coarsen_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t from) {
  const int64_t row = coarse->place[from];
  coarse->b[row] = cvtm_sell_row_times(&fine->restriction, from, fine->b);
  const double lower = cvtm_lower_at(fine, coarse->centre[row]);
  const double upper = cvtm_upper_at(fine, coarse->centre[row]);
  if (coarse->has_bounds[0]) coarse->lower[row] = lower;
  if (coarse->has_bounds[1]) coarse->upper[row] = upper;
  coarse->x[row] = cvtm_clip(0, lower, upper);
}

/* A start on the fine level from the solution on the coarse one. */
CVTM_HD void cvtm_refine_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t row) {
  const double x = cvtm_sell_row_times(&fine->prolongation, row, coarse->x);
  fine->x[row] = cvtm_clip(x, cvtm_lower_at(fine, row), cvtm_upper_at(fine, row));
}

/* --- sums over rows: blocks of rows, in each a fixed tree over lanes ---------------- */

enum {
  CVTM_SUM_LANES = 256,
  CVTM_SUM_BLOCK = 4096, /* rows of a block; lane k takes rows k, k + 256, ... */
  CVTM_SUM_COUNT = 4     /* numbers that one pass adds up */
};

/* Sums of 0 and 1, maximum of 2, sum of 3. */
typedef struct cvtm_sums {
  double at[CVTM_SUM_COUNT];
} cvtm_sums;

CVTM_HD int64_t cvtm_sum_blocks(int64_t rows) {
  return rows / CVTM_SUM_BLOCK + (rows % CVTM_SUM_BLOCK != 0);
}

CVTM_HD void cvtm_sums_join(cvtm_sums *a, const cvtm_sums *b) {
  a->at[0] += b->at[0];
  a->at[1] += b->at[1];
  a->at[2] = a->at[2] > b->at[2] || a->at[2] != a->at[2] ? a->at[2] : b->at[2];
  a->at[3] += b->at[3];
}

/* Natural residual: its square, the square of what rounds in it, its size. The squares are those
 * of `scale` times the numbers. */
CVTM_HD cvtm_sums cvtm_natural_residual(const cvtm_row *at, double scale) {
  /* x - clip(x - F), without a difference in which a small F would be lost. */
  const double r = cvtm_clip(at->product - at->b, at->x - at->upper, at->x - at->lower);
  const double scaled = scale * r;
  const double size = scale * (2 * fabs(at->held) + fabs(at->b));
  const cvtm_sums sums = {{scaled * scaled, size * size, fabs(r), 0}};
  return sums;
}

/* The user's rows; and the absolute value of this level's own residual. */
CVTM_HD cvtm_sums cvtm_measure_row(const cvtm_level *level, const cvtm_row *at, double scale,
                                   int64_t row) {
  const double own = cvtm_clip(at->product - at->b, at->x - at->upper, at->x - at->lower);
  cvtm_row given = *at;
  if (level->weight != NULL) {
    given.product *= level->weight[row];
    given.held *= level->weight[row];
    given.b *= level->weight[row];
  }
  cvtm_sums sums = cvtm_natural_residual(&given, scale);
  sums.at[3] = fabs(own);
  return sums;
}

/* The natural residual, and r = b - A x; with is_masked, active rows are recorded and r is 0 there.
 */
CVTM_HD cvtm_sums cvtm_examine_row(const cvtm_level *level, const cvtm_level *next, int is_masked,
                                   const cvtm_row *at, double scale, int64_t row) {
  int side = 0;
  if (is_masked) {
    if (at->x <= at->lower)
      side = CVTM_ROW_LOWER;
    else if (at->x >= at->upper)
      side = CVTM_ROW_UPPER;
    cvtm_mark_row(level, next, side, row);
  }
  level->r[row] = side != 0 ? 0 : at->b - at->product;
  return cvtm_natural_residual(at, scale);
}

/* Line search along d from x: r'd and d'Ad, both times `scale`, and 1 / the largest feasible
 * step. */
CVTM_HD cvtm_sums cvtm_search_row(const cvtm_level *level, const double *direction, double scale,
                                  int64_t row) {
  const double d = direction[row];
  cvtm_sums sums = {{0, 0, 0, 0}};
  if (d == 0) return sums;
  const double room =
      d < 0 ? cvtm_lower_at(level, row) - level->x[row] : cvtm_upper_at(level, row) - level->x[row];
  sums.at[0] = scale * level->r[row] * d;
  sums.at[1] = d * (scale * cvtm_sell_row_times(&level->matrix, row, direction));
  sums.at[2] = d / room;
  return sums;
}

/* The exact minimiser along the direction, as far as the box allows. */
CVTM_HD double cvtm_search_step(const cvtm_sums *sums) {
  if (!(sums->at[0] > 0)) return 0;
  const double step = sums->at[1] > 0 ? sums->at[0] / sums->at[1] : 1;
  return step * sums->at[2] > 1 ? 1 / sums->at[2] : step;
}

/* The energy 1/2 x'Ax - b'x, and how many rows are at each bound. */
CVTM_HD cvtm_sums cvtm_account_row(const cvtm_level *level, int64_t row) {
  const double x = level->x[row];
  const double product = cvtm_sell_row_times(&level->matrix, row, level->x);
  const int lower = x <= cvtm_lower_at(level, row);
  const cvtm_sums sums = {{x * (0.5 * product - level->b[row]), lower ? 1.0 : 0.0, 0,
                           !lower && x >= cvtm_upper_at(level, row) ? 1.0 : 0.0}};
  return sums;
}

/* --- the course of a solve, in device memory ------------------------------------------ */

enum { CVTM_COURSE_CHUNK = 256 }; /* iterations between two looks of the host, at most */

typedef struct cvtm_sweep_state {
  cvtm_iteration_state loop;
  int64_t pause_at; /* the loop is left after this iteration */
  double scale;   /* of residuals before they are squared: a power of two that keeps the squares of
                     very large and very small ones within range; 1 for all others */
  double step;    /* of the line search */
  int64_t kept;   /* 0, 1: which of two copies is the best iterate; the other one is free */
  cvtm_sums sums; /* of the last pass */
  double norm[CVTM_COURSE_CHUNK], maximum[CVTM_COURSE_CHUNK]; /* by iteration modulo chunk */
} cvtm_sweep_state;

/* 2-norm of the natural residual: where its squares overflow, by 1e150 times the start, the largest
 * entry has to do. */
CVTM_HD double cvtm_norm_of(const cvtm_sums *sums, double scale) {
  const double norm = sqrt(sums->at[0]) / scale;
  return norm == (double)INFINITY ? sums->at[2] : norm;
}

/* What rounding alone may leave of the natural residual's 2-norm. */
CVTM_HD double cvtm_rounding_of(const cvtm_sweep_state *state) {
  const double epsilon = 2.220446049250313e-16;
  return 8 * epsilon * sqrt(state->sums.at[1]) / state->scale;
}

/* After the natural residual has been summed over all rows. */
CVTM_HD void cvtm_sweep_judge(cvtm_sweep_state *state) {
  const cvtm_sums *sums = &state->sums;
  const double norm = cvtm_norm_of(sums, state->scale);
  state->norm[state->loop.iteration % CVTM_COURSE_CHUNK] = norm;
  state->maximum[state->loop.iteration % CVTM_COURSE_CHUNK] = sums->at[2];
  cvtm_iteration_judge(&state->loop, norm, sums->at[2], cvtm_rounding_of(state));
  if (state->loop.improved) state->kept = 1 - state->kept;
  if (state->loop.iteration >= state->pause_at) state->loop.go_on = 0;
}

#endif
