/* What a pass does to one row; the same on the CPU and on CUDA. Arrays hold x in the
 * caller's units; W, s, y and the gradient are those of the scaled variable x / scale. */
#ifndef CVTMESH_LBFGSB_ROWS_H
#define CVTMESH_LBFGSB_ROWS_H

#include "lbfgsb/lbfgsb_state.h"

typedef struct cvtm_lbfgsb_row {
  double x, lower, upper, scale;
  double g; /* of the scaled variable */
} cvtm_lbfgsb_row;

/* Where the blocks of a kernel wait for each other, in lines of the cache of their own: how many
 * have arrived since the solver was made, the latest meeting that block 0 has ended, and the
 * number of meetings before this kernel. */
typedef struct cvtm_lbfgsb_barrier {
  unsigned arrived, unused_a[31], ended, unused_b[31], meetings, unused_c[31];
} cvtm_lbfgsb_barrier;

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
  int *flag;                    /* of the loop: problems that want another round */
  cvtm_lbfgsb_barrier *barrier; /* CUDA */
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

/* Divisions cost more than the rest of a row on a GPU, so one by a scale of 1 is left out. */
CVTM_HD double cvtm_lbfgsb_unscaled(const cvtm_lbfgsb_arrays *arrays, const cvtm_lbfgsb_row *row,
                                    double value) {
  return arrays->scale ? value / row->scale : value;
}

/* How far x - t g can go, t_i of Fei et al. (3) times |g|; not to be asked for g = 0. */
CVTM_HD double cvtm_lbfgsb_room(const cvtm_lbfgsb_row *row) {
  return row->g < 0.0 ? row->upper - row->x : row->x - row->lower;
}

/* t_i > 0: the variable moves along the projected gradient path. */
CVTM_HD int cvtm_lbfgsb_is_free(const cvtm_lbfgsb_row *row) {
  return !(row->g < 0.0 || row->g > 0.0) || cvtm_lbfgsb_room(row) > 0.0;
}

/* t_i: where x - t g leaves the box. */
CVTM_HD double cvtm_lbfgsb_breakpoint(const cvtm_lbfgsb_row *row) {
  if (!(row->g < 0.0 || row->g > 0.0)) return HUGE_VAL;
  const double t = cvtm_lbfgsb_room(row) / fabs(row->scale * row->g);
  /* A variable that is not at its bound has a breakpoint, however small the quotient. */
  return t > 0.0 || !(cvtm_lbfgsb_room(row) > 0.0) ? t : DBL_MIN;
}

/* room / speed may be less than least, a lower bound so far; where it is not, up to rounding,
 * the division can be spared. */
CVTM_HD int cvtm_lbfgsb_may_be_less(double room, double speed, double least) {
  return !(room > least * speed * (1.0 + 8.0 * DBL_EPSILON));
}

/* The first breakpoint so far, and that of row i, which is free. */
CVTM_HD cvtm_lbfgsb_first cvtm_lbfgsb_next_first(const cvtm_lbfgsb_row *row, int64_t i,
                                                 cvtm_lbfgsb_first first) {
  if (!cvtm_lbfgsb_may_be_less(cvtm_lbfgsb_room(row), fabs(row->scale * row->g), first.t)) {
    return first;
  }
  const cvtm_lbfgsb_first own = {cvtm_lbfgsb_breakpoint(row), (double)i};
  return cvtm_lbfgsb_combine_first(first, own);
}

CVTM_HD double cvtm_lbfgsb_projected_gradient(const cvtm_lbfgsb_arrays *arrays,
                                              const cvtm_lbfgsb_row *row) {
  const double to = row->x - row->scale * row->g;
  if (to >= row->lower && to <= row->upper) return fabs(row->g);
  return cvtm_lbfgsb_unscaled(arrays, row, fabs(cvtm_clamp(to, row->lower, row->upper) - row->x));
}

/* x + step d within the box; a step that reaches the bound but for rounding ends on it. */
CVTM_HD double cvtm_lbfgsb_trial(const cvtm_lbfgsb_row *row, double d, double step) {
  const double nearly = 1.0 - 4.0 * DBL_EPSILON;
  const double move = step * d;
  if (d > 0.0 && move >= (row->upper - row->x) * nearly) return row->upper;
  if (d < 0.0 && move <= (row->lower - row->x) * nearly) return row->lower;
  return cvtm_clamp(row->x + move, row->lower, row->upper);
}

/* The smaller of `least` and the largest step from x along d within the box. */
CVTM_HD double cvtm_lbfgsb_least_step(const cvtm_lbfgsb_row *row, double x, double d,
                                      double least) {
  if (!(d > 0.0 || d < 0.0)) return least;
  const double room = d > 0.0 ? row->upper - x : x - row->lower;
  if (!(room > 0.0)) return 0.0;
  if (!cvtm_lbfgsb_may_be_less(room, fabs(d), least)) return least;
  const double step = room / fabs(d);
  return step < least ? step : least;
}

/* d_i of pass B; wq is the row of W times q. *truncation is lowered to the largest factor of the
 * subspace step that stays in the box; `factor` is the one to take (1 in pass B itself, whose step
 * is projected; less in the fallback). */
CVTM_HD double cvtm_lbfgsb_direction(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_row *row,
                                     double wq, double factor, double *truncation) {
  if (!cvtm_lbfgsb_is_free(row)) return 0.0;
  if (state->cauchy >= state->first_breakpoint && cvtm_lbfgsb_breakpoint(row) <= state->cauchy) {
    return (row->g < 0.0 ? row->upper : row->lower) - row->x;
  }
  const double cauchy = row->x - state->cauchy * row->scale * row->g;
  const double move = row->scale * (state->gradient_factor * row->g + wq);
  *truncation = cvtm_lbfgsb_least_step(row, cauchy, move, *truncation);
  const double to = cvtm_clamp(cauchy + factor * move, row->lower, row->upper);
  return to - row->x;
}

#endif
