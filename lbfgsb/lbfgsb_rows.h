/* What a pass does to one row; the same on the CPU and on CUDA. Arrays hold x in the
 * caller's units; W, s, y and the gradient are those of the scaled variable x / scale. */
#ifndef CVTMESH_LBFGSB_ROWS_H
#define CVTMESH_LBFGSB_ROWS_H

#include "lbfgsb/lbfgsb_state.h"

typedef struct cvtm_lbfgsb_row {
  double x, lower, upper, scale;
  double g; /* of the scaled variable */
} cvtm_lbfgsb_row;

/* The arrays of a solver, all in device memory; those of a batch one problem after the other. */
typedef struct cvtm_lbfgsb_arrays {
  int64_t n, problems;
  double *x, *g;                       /* the current point and its gradient */
  double *trial_x, *trial_g;           /* what the objective reads and writes */
  double *values;                      /* f[0..1] */
  double *d;                           /* the direction of the line search */
  void *w;                             /* the history, see cvtm_lbfgsb_at: double or float */
  const double *lower, *upper, *scale; /* NULL: none */
  double *partial;                     /* figures of the parts of a pass */
  int64_t parts, entries;              /* its size: of one problem */
  double *sums, *rows;                 /* [entries]: of pass A, of the others */
  double *breakpoints;                 /* t_i and, at the same place, i: of the exact Cauchy */
  int64_t *breakpoint_rows;            /* point; NULL otherwise */
  int64_t *breakpoint_count;
  cvtm_lbfgsb_state *state;
  cvtm_lbfgsb_dense *dense;
  cvtm_lbfgsb_walk *walk; /* NULL unless the Cauchy point is exact */
  cvtm_lbfgsb_work *work; /* CPU */
  cvtm_lbfgsb_mailbox *mailbox;
  const cvtm_lbfgsb_orders *orders;
  int *flag;         /* of the loop: problems that want another round */
  unsigned *barrier; /* CUDA: arrivals, generation */
} cvtm_lbfgsb_arrays;

/* Elements of W of one problem. */
CVTM_HD int64_t cvtm_lbfgsb_w_count(int64_t n, int m) {
  return (n + CVTM_LBFGSB_TILE - 1) / CVTM_LBFGSB_TILE * CVTM_LBFGSB_TILE * 2 * m;
}

/* The arrays of problem p alone. */
CVTM_HD cvtm_lbfgsb_arrays cvtm_lbfgsb_of_problem(const cvtm_lbfgsb_arrays *arrays, int64_t p,
                                                  int m, size_t real) {
  cvtm_lbfgsb_arrays one = *arrays;
  const int64_t n = arrays->n;
  one.problems = 1;
  one.x += p * n;
  one.g += p * n;
  one.trial_x += p * n;
  one.trial_g += p * n;
  one.values += 2 * p;
  one.d += p * n;
  one.w = (char *)one.w + (size_t)(p * cvtm_lbfgsb_w_count(n, m)) * real;
  if (one.lower) one.lower += p * n;
  if (one.upper) one.upper += p * n;
  if (one.scale) one.scale += p * n;
  one.partial += p * arrays->parts * arrays->entries;
  one.sums += p * arrays->entries;
  one.rows += p * arrays->entries;
  if (one.breakpoints) {
    one.breakpoints += p * n;
    one.breakpoint_rows += p * n;
    one.breakpoint_count += p;
  }
  one.state += p;
  one.dense += p;
  if (one.walk) one.walk += p;
  if (one.work) one.work += p;
  return one;
}

CVTM_HD cvtm_lbfgsb_row cvtm_lbfgsb_get_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double x,
                                            double g) {
  cvtm_lbfgsb_row row;
  row.x = x;
  row.lower = arrays->lower ? arrays->lower[i] : -HUGE_VAL;
  row.upper = arrays->upper ? arrays->upper[i] : HUGE_VAL;
  row.scale = arrays->scale ? arrays->scale[i] : 1.0;
  row.g = row.scale * g;
  return row;
}

/* t_i of Fei et al. (3): where x - t g leaves the box. */
CVTM_HD double cvtm_lbfgsb_breakpoint(const cvtm_lbfgsb_row *row) {
  if (row->g < 0.0) return (row->x - row->upper) / (row->scale * row->g);
  if (row->g > 0.0) return (row->x - row->lower) / (row->scale * row->g);
  return HUGE_VAL;
}

CVTM_HD double cvtm_lbfgsb_projected_gradient(const cvtm_lbfgsb_row *row) {
  const double to = cvtm_clamp(row->x - row->scale * row->g, row->lower, row->upper);
  if (to == row->x - row->scale * row->g) return fabs(row->g);
  return fabs(to - row->x) / row->scale;
}

/* x + step d within the box; a step that reaches the bound but for rounding ends on it. */
CVTM_HD double cvtm_lbfgsb_trial(const cvtm_lbfgsb_row *row, double d, double step) {
  const double nearly = 1.0 - 4.0 * DBL_EPSILON;
  const double move = step * d;
  if (d > 0.0 && move >= (row->upper - row->x) * nearly) return row->upper;
  if (d < 0.0 && move <= (row->lower - row->x) * nearly) return row->lower;
  return cvtm_clamp(row->x + move, row->lower, row->upper);
}

/* The largest step along d within the box. */
CVTM_HD double cvtm_lbfgsb_largest_step(const cvtm_lbfgsb_row *row, double x, double d) {
  double step = HUGE_VAL;
  if (d > 0.0) step = (row->upper - x) / d;
  if (d < 0.0) step = (row->lower - x) / d;
  return step > 0.0 ? step : 0.0;
}

/* d_i of pass B; wq is the row of W times q. *truncation: the largest factor of the subspace
 * step that stays in the box, `factor` the one to take (1 in pass B itself, whose step is
 * projected; less in the fallback). */
CVTM_HD double cvtm_lbfgsb_direction(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_row *row,
                                     double wq, double factor, double *truncation) {
  *truncation = HUGE_VAL;
  const double t = cvtm_lbfgsb_breakpoint(row);
  if (!(t > 0.0)) return 0.0;
  if (t <= state->cauchy) return (row->g < 0.0 ? row->upper : row->lower) - row->x;
  const double cauchy = row->x - state->cauchy * row->scale * row->g;
  const double move = row->scale * (state->gradient_factor * row->g + wq);
  *truncation = cvtm_lbfgsb_largest_step(row, cauchy, move);
  const double to = cvtm_clamp(cauchy + factor * move, row->lower, row->upper);
  return to - row->x;
}

#endif
