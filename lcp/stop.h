/* Inside lcp only: the natural residual of an LCP, and the stop rule of all iterations for LCPs and
 * HLCPs, on both devices. */
#pragma once

#include "base/portable.h"
#include "lcp/lcp.h"
#include "lcp/relax.h"

#include <math.h>

/* The natural residual x - clip(x - f) of an unknown, f = A x - b, computed without the difference
 * x - f, in which a small f would be lost. NaN if x or f is. */
CVTM_HD double cvtm_natural_residual(double f, double x, double lower, double upper) {
  return cvtm_lcp_clip(f, x - upper, x - lower);
}

/* The size of the terms of f; the natural residual has the rounding errors of these terms. product:
 * a_ii x_i, which the sum of the other terms of A x nearly cancels. */
CVTM_HD double cvtm_natural_size(double b, double product) { return fabs(b) + 2 * fabs(product); }

/* The size of the rounding errors in the 2-norm of the natural residual: 16 roundings of 2^-53 a
 * row. squares: the sum of the squared sizes of the terms. */
CVTM_HD double cvtm_natural_rounding(double squares) { return 0x1p-49 * sqrt(squares); }

enum { CVTM_UNDECIDED = -1 }; /* no cvtm_lcp_stop: the iteration continues */

/* Applies the rule to an iterate whose residual has the norm `norm`. largest: a greater norm counts
 * as divergence; may be infinite. A target that is not finite has overflowed and is never
 * reached. */
CVTM_HD int32_t cvtm_stop_of(double norm, double target, double largest, int is_last) {
  if (norm <= target && isfinite(target)) return CVTM_LCP_CONVERGED;
  if (!isfinite(norm) || norm > largest) return CVTM_LCP_DIVERGED;
  return is_last ? (int32_t)CVTM_LCP_ITERATIONS : (int32_t)CVTM_UNDECIDED;
}

enum { CVTM_LCP_WINDOW = 10 }; /* number of iterations whose norms are kept */

/* The state of an LCP iteration, in the memory of the device that runs the loop. */
typedef struct cvtm_iteration_state {
  double target;                  /* target of the 2-norm of the natural residual */
  double cold;                    /* 2-norm at clip(0); 0: unknown */
  double first;                   /* 2-norm at the start of this solve */
  double norm, maximum;           /* 2-norm and maximum norm at the last iterate */
  double best;                    /* smallest 2-norm so far */
  double rounding;                /* size of the rounding errors in `best` */
  double marker;                  /* `best` at the end of the last window */
  double recent[CVTM_LCP_WINDOW]; /* 2-norms, by iteration modulo CVTM_LCP_WINDOW */
  int64_t iteration, limit;
  int64_t window;   /* number of iterations without progress that count as a stall */
  int32_t may_grow; /* nonzero: growth is no divergence, since iterates may leave the box */
  int32_t go_on;    /* nonzero: the loop continues */
  int32_t improved; /* nonzero: the last iterate is the best so far, up to rounding */
  int32_t stop;     /* a cvtm_lcp_stop once go_on is 0 */
} cvtm_iteration_state;

/* True if the residual is falling: no norm of the last CVTM_LCP_WINDOW iterations is below the
 * current one, and the largest exceeds it by more than 1 %. Cycles that move a free boundary
 * increase the residual at first, so an iteration can make progress although `best` is old. */
CVTM_HD int cvtm_residual_is_falling(const cvtm_iteration_state *state) {
  const int64_t most = CVTM_LCP_WINDOW;
  const int64_t count = state->iteration < most ? state->iteration + 1 : most;
  double largest = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (state->recent[k] < state->norm) return 0;
    if (state->recent[k] > largest) largest = state->recent[k];
  }
  return state->norm < 0.99 * largest;
}

/* True if the rounding errors of the best residual are not small beside the residual of the cold
 * start. This happens where a problem has no solution and its iterates grow. A small residual then
 * says nothing. */
CVTM_HD int cvtm_is_doubtful(const cvtm_iteration_state *state) {
  return state->cold > 0 && state->rounding > 1e-2 * state->cold;
}

/* The reason to stop without progress: `rounding` if the best residual is within its rounding
 * errors, unless it is doubtful; else `stalled`. */
CVTM_HD int32_t cvtm_stall_reason(const cvtm_iteration_state *state) {
  return state->best <= state->rounding && !cvtm_is_doubtful(state) ? CVTM_LCP_ROUNDING
                                                                    : CVTM_LCP_STALLED;
}

/* Records the norms of iterate `iteration` (0: the start) and decides whether to continue.
 * rounding: the size of the rounding errors in the 2-norm. */
CVTM_HD void cvtm_iteration_check(cvtm_iteration_state *state, double norm, double maximum,
                                  double rounding) {
  state->norm = norm;
  state->maximum = maximum;
  if (state->iteration == 0) {
    state->first = state->best = state->marker = norm;
    state->rounding = rounding;
  }
  state->improved = norm < state->best || norm <= state->rounding || state->iteration == 0;
  state->recent[state->iteration % CVTM_LCP_WINDOW] = norm;
  if (norm < state->best) {
    state->best = norm;
    state->rounding = rounding;
  }
  const double largest = state->may_grow ? (double)INFINITY : 1e6 * state->first + rounding;
  int32_t stop = cvtm_stop_of(norm, state->target, largest, state->iteration >= state->limit);
  if (stop == CVTM_LCP_CONVERGED && norm == state->best && cvtm_is_doubtful(state))
    stop = CVTM_LCP_STALLED;
  state->go_on = stop == CVTM_UNDECIDED;
  if (!state->go_on) state->stop = stop;
  if (stop == CVTM_LCP_CONVERGED || stop == CVTM_LCP_DIVERGED || stop == CVTM_LCP_STALLED) return;
  if (state->iteration > 0 && state->iteration % state->window == 0) {
    /* Below its rounding errors the residual must be halved: rounding alone can gain 1 %. */
    const int as_good = state->best <= state->rounding;
    if (state->best > (as_good ? 0.5 : 0.99) * state->marker &&
        (as_good || !cvtm_residual_is_falling(state))) {
      state->go_on = 0;
      state->stop = cvtm_stall_reason(state);
    }
    state->marker = state->best;
  }
}

/* The geometric mean of the last reductions of the residual, at most CVTM_LCP_WINDOW - 1 of them;
 * NaN if there are none. */
CVTM_HD double cvtm_iteration_rate(const cvtm_iteration_state *state) {
  const int64_t steps = state->iteration < CVTM_LCP_WINDOW ? state->iteration : CVTM_LCP_WINDOW - 1;
  if (steps == 0) return (double)NAN;
  const double before = state->recent[(state->iteration - steps) % CVTM_LCP_WINDOW];
  return before > 0 ? pow(state->norm / before, 1.0 / (double)steps) : 0;
}
