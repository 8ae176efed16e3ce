/* The work of each pass on one variable, that is, on row i of the vectors and of W, for both
 * devices. The executors differ in how they traverse and add up the rows. sums: the entries of a
 * pass that belong to one thread or to one part of the rows. The passes on the CPU are also
 * compiled for wide vectors, so the functions in their inner loops are inlined. Arrays have x in
 * the caller's units; W, s, y and the gradient belong to the scaled variable x / scale. */
#pragma once

#include "base/host.h"
#include "lbfgsb/lbfgsb_state.h"

#include <float.h>
#include <math.h>

typedef struct cvtm_lbfgsb_variable {
  double x, lower, upper, scale;
  double g; /* gradient of the scaled variable */
} cvtm_lbfgsb_variable;

CVTM_HD cvtm_lbfgsb_variable cvtm_lbfgsb_get_variable(const cvtm_lbfgsb_arrays *arrays, int64_t i,
                                                      double x, double g) {
  cvtm_lbfgsb_variable row;
  row.x = x;
  row.lower = arrays->lower ? arrays->lower[i] : -HUGE_VAL;
  row.upper = arrays->upper ? arrays->upper[i] : HUGE_VAL;
  row.scale = arrays->scale ? arrays->scale[i] : 1.0;
  row.g = row.scale * g;
  return row;
}

/* g_i of the scaled variable. */
CVTM_HD double cvtm_lbfgsb_scaled_gradient(const cvtm_lbfgsb_arrays *arrays, int64_t i) {
  return (arrays->scale ? arrays->scale[i] : 1.0) * arrays->g[i];
}

/* value / scale. Does not divide without a scale: on a GPU the division costs more than all other
 * work on a row. */
CVTM_HD double cvtm_lbfgsb_unscaled(const cvtm_lbfgsb_arrays *arrays,
                                    const cvtm_lbfgsb_variable *row, double value) {
  return arrays->scale ? value / row->scale : value;
}

/* The distance from x to the bound that x - t g approaches; g must not be 0. */
CVTM_HD double cvtm_lbfgsb_slack(const cvtm_lbfgsb_variable *row) {
  return row->g < 0.0 ? row->upper - row->x : row->x - row->lower;
}

/* Nonzero if t_i > 0: the variable moves along the projected gradient path. */
CVTM_HD int cvtm_lbfgsb_is_free(const cvtm_lbfgsb_variable *row) {
  return !(row->g < 0.0 || row->g > 0.0) || cvtm_lbfgsb_slack(row) > 0.0;
}

/* t_i, where x - t g leaves the box (Fei et al. 2014, (3)); infinite if g = 0. */
CVTM_HD double cvtm_lbfgsb_breakpoint(const cvtm_lbfgsb_variable *row) {
  if (!(row->g < 0.0 || row->g > 0.0)) return HUGE_VAL;
  const double t = cvtm_lbfgsb_slack(row) / fabs(row->scale * row->g);
  /* the quotient may underflow, but a variable away from its bound has t_i > 0 */
  return t > 0.0 || !(cvtm_lbfgsb_slack(row) > 0.0) ? t : DBL_MIN;
}

/* Zero only if slack / speed is certainly not less than `least`. This saves divisions that cannot
 * lower a minimum. */
CVTM_HD int cvtm_lbfgsb_may_be_less(double slack, double speed, double least) {
  return !(slack > least * speed * (1.0 + 8.0 * DBL_EPSILON));
}

/* The nearer one of `nearest` and the breakpoint of row i, which must be free. */
CVTM_HD cvtm_lbfgsb_nearest cvtm_lbfgsb_add_breakpoint(const cvtm_lbfgsb_variable *row, int64_t i,
                                                       cvtm_lbfgsb_nearest nearest) {
  if (!cvtm_lbfgsb_may_be_less(cvtm_lbfgsb_slack(row), fabs(row->scale * row->g), nearest.t)) {
    return nearest;
  }
  const cvtm_lbfgsb_nearest own = {cvtm_lbfgsb_breakpoint(row), (double)i};
  return cvtm_lbfgsb_combine_nearest(nearest, own);
}

CVTM_HD double cvtm_lbfgsb_projected_gradient(const cvtm_lbfgsb_arrays *arrays,
                                              const cvtm_lbfgsb_variable *row) {
  const double to = row->x - row->scale * row->g;
  if (to >= row->lower && to <= row->upper) return fabs(row->g);
  return cvtm_lbfgsb_unscaled(arrays, row, fabs(cvtm_clamp(to, row->lower, row->upper) - row->x));
}

/* --- pass A, and the rows that a phase selects ------------------------------------------------ */

/* The entries of the pair (s, y) in one row. */
typedef struct cvtm_lbfgsb_pair {
  double y, s;
} cvtm_lbfgsb_pair;

/* The pair (s, y) in a row. row, g: at the new point. g and old_g are in the caller's units. */
CVTM_HD cvtm_lbfgsb_pair cvtm_lbfgsb_make_pair(const cvtm_lbfgsb_arrays *arrays,
                                               const cvtm_lbfgsb_variable *row, double old_x,
                                               double g, double old_g) {
  cvtm_lbfgsb_pair pair;
  pair.s = cvtm_lbfgsb_unscaled(arrays, row, row->x - old_x);
  pair.y = (g - old_g) * row->scale;
  return pair;
}

/* Accepts the trial point in row i. Returns the new pair's entries; *row is at the new point. */
CVTM_INLINE cvtm_lbfgsb_pair cvtm_lbfgsb_accept_row(const cvtm_lbfgsb_arrays *arrays, int64_t i,
                                                    cvtm_lbfgsb_variable *row) {
  const double x = arrays->trial_x[i], g = arrays->trial_g[i];
  *row = cvtm_lbfgsb_get_variable(arrays, i, x, g);
  const cvtm_lbfgsb_pair pair = cvtm_lbfgsb_make_pair(arrays, row, arrays->x[i], g, arrays->g[i]);
  arrays->x[i] = x;
  arrays->g[i] = g;
  return pair;
}

/* Pass A: adds the terms of row i to the entries that need neither W nor the pair. */
CVTM_INLINE void cvtm_lbfgsb_add_point(const cvtm_lbfgsb_arrays *arrays,
                                       const cvtm_lbfgsb_variable *row, int64_t i, int is_free,
                                       double *sums) {
  sums[CVTM_MAX_GRADIENT] = cvtm_lbfgsb_combine(CVTM_MAX_GRADIENT, sums[CVTM_MAX_GRADIENT],
                                                cvtm_lbfgsb_projected_gradient(arrays, row));
  if (is_free) {
    const cvtm_lbfgsb_nearest before = {sums[CVTM_MIN_BREAKPOINT], sums[CVTM_NEAREST_ROW]};
    const cvtm_lbfgsb_nearest found = cvtm_lbfgsb_add_breakpoint(row, i, before);
    sums[CVTM_MIN_BREAKPOINT] = found.t;
    sums[CVTM_NEAREST_ROW] = found.row;
    sums[CVTM_SUM_FREE_GG] += row->g * row->g;
  }
  if (row->x == row->lower || row->x == row->upper) sums[CVTM_SUM_ACTIVE] += 1.0;
}

/* The rows that a phase selects. */
typedef enum cvtm_lbfgsb_rows {
  CVTM_ROWS_FIXED,   /* t_i = 0 */
  CVTM_ROWS_LEAVING, /* 0 < t_i <= t^c: rows that leave the free set at the Cauchy point */
  CVTM_ROWS_WINDOW   /* window_start < t_i <= window_end */
} cvtm_lbfgsb_rows;

/* Nonzero if `which` selects this row. *t: t_i, except for CVTM_ROWS_FIXED. */
CVTM_HD int cvtm_lbfgsb_selects(const cvtm_lbfgsb_state *state, cvtm_lbfgsb_rows which,
                                const cvtm_lbfgsb_variable *row, double *t) {
  if (which == CVTM_ROWS_FIXED) return !cvtm_lbfgsb_is_free(row);
  const double least = which == CVTM_ROWS_WINDOW ? state->window_start : 0.0;
  const double most = which == CVTM_ROWS_WINDOW ? state->window_end : state->cauchy;
  *t = cvtm_lbfgsb_breakpoint(row);
  return *t > least && *t <= most;
}

/* --- pass B, and steps along d ---------------------------------------------------------------- */

/* x + step d within the box. A step that reaches a bound up to rounding ends on the bound. */
CVTM_HD double cvtm_lbfgsb_trial(const cvtm_lbfgsb_variable *row, double d, double step) {
  const double nearly = 1.0 - 4.0 * DBL_EPSILON;
  const double move = step * d;
  if (d > 0.0 && move >= (row->upper - row->x) * nearly) return row->upper;
  if (d < 0.0 && move <= (row->lower - row->x) * nearly) return row->lower;
  return cvtm_clamp(row->x + move, row->lower, row->upper);
}

/* The minimum of `least` and the largest step from x along d that stays in the box. */
CVTM_HD double cvtm_lbfgsb_least_step(const cvtm_lbfgsb_variable *row, double x, double d,
                                      double least) {
  if (!(d > 0.0 || d < 0.0)) return least;
  const double slack = d > 0.0 ? row->upper - x : x - row->lower;
  if (!(slack > 0.0)) return 0.0;
  if (!cvtm_lbfgsb_may_be_less(slack, fabs(d), least)) return least;
  const double step = slack / fabs(d);
  return step < least ? step : least;
}

/* d_i: from x to the Cauchy point plus `factor` times the subspace step, projected onto the box.
 * factor: 1, or less if the step is truncated. wq: the row of W times q. Lowers *truncation to the
 * largest factor for which the unprojected step stays in the box. */
CVTM_HD double cvtm_lbfgsb_direction(const cvtm_lbfgsb_state *state,
                                     const cvtm_lbfgsb_variable *row, double wq, double factor,
                                     double *truncation) {
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

/* Pass B: computes d_i and the trial point of step 1, and adds their terms to the sums. g is in the
 * caller's units; wq and factor are as in cvtm_lbfgsb_direction. */
CVTM_INLINE void cvtm_lbfgsb_step_row(const cvtm_lbfgsb_arrays *arrays,
                                      const cvtm_lbfgsb_state *state,
                                      const cvtm_lbfgsb_variable *row, int64_t i, double g,
                                      double wq, double factor, double *sums) {
  const double d = cvtm_lbfgsb_direction(state, row, wq, factor, &sums[CVTM_MIN_TRUNCATION]);
  const double scaled = cvtm_lbfgsb_unscaled(arrays, row, d);
  arrays->d[i] = d;
  arrays->trial_x[i] = cvtm_lbfgsb_trial(row, d, 1.0);
  sums[CVTM_MIN_STEP] = cvtm_lbfgsb_least_step(row, row->x, d, sums[CVTM_MIN_STEP]);
  sums[CVTM_SUM_SLOPE] += g * d;
  sums[CVTM_SUM_DD] += scaled * scaled;
}

/* Computes the trial point for another step. */
CVTM_HD void cvtm_lbfgsb_move_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double step) {
  const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], 0.0);
  arrays->trial_x[i] = cvtm_lbfgsb_trial(&row, arrays->d[i], step);
}

/* Line search: adds the term of the row to g'd at the trial point. */
CVTM_HD void cvtm_lbfgsb_search_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double *sums) {
  sums[CVTM_SUM_SLOPE] += arrays->trial_g[i] * arrays->d[i];
}

/* The start: sets x = trial_x = x projected onto the box, and g = d = 0. */
CVTM_HD void cvtm_lbfgsb_start_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double *sums) {
  const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], 0.0);
  const double x = cvtm_clamp(row.x, row.lower, row.upper);
  if (x != row.x) sums[CVTM_SUM_ACTIVE] += 1.0;
  sums[CVTM_SUM_FINITE] += (double)((row.lower > -HUGE_VAL) + (row.upper < HUGE_VAL));
  sums[CVTM_SUM_BOUNDS] += 2.0;
  arrays->x[i] = x;
  arrays->trial_x[i] = x;
  arrays->g[i] = 0.0;
  arrays->d[i] = 0.0;
}
