/* A round of L-BFGS-B, from an evaluation of f and g at the trial point to the next trial point. A
 * round that accepts its trial point ends an iteration and begins the next. Only this file
 * determines the order of the phases. The phases declared below are defined in host_rounds.h and
 * its includers where the host decides; for CUDA kernels in small_cuda.cu, or else in
 * lbfgsb_cuda.cu, blocks_cuda.h and decisions_cuda.h.
 *
 * Algorithm L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995, section 6) and its phases here:
 *
 *   4, 5  line search along d; f and g at the new point  test_trial_point
 *   6, 7  update of W = [Y S] and of the small matrices  find_coefficients (pass A),
 *                                                        update_matrices
 *   1     projected gradient, stopping tests             find_coefficients (pass A), take_point
 *   2     generalised Cauchy point x^c                   find_curvature, find_cauchy_point,
 *                                                        walk_breakpoints (exact)
 *   3     subspace minimisation over the variables free  restrict_row, restrict_rows,
 *         at x^c; d = its minimiser, projected, minus x  solve_subspace, compute_direction (pass
 *                                                        B), truncate_direction
 *   4     first trial point of the next line search      compute_direction, move_trial_point
 *
 * With the approximate Cauchy point (Fei, Rong, Wang & Wang 2014) t^c = min(t*, t^1), step 2 needs
 * no search, and steps 6, 7 and 1 are one pass over the rows, pass A, whose sums the Cauchy point
 * and the subspace problem share. Pass B is the second pass of an iteration.
 *
 * `executor` stands for the threads that carry out a phase: the CPU threads or the CUDA blocks that
 * have the problem. Phases read and set the needs_ flags of the state. */
#pragma once

#include "lbfgsb/cauchy_point.h"
#include "lbfgsb/line_search.h"
#include "lbfgsb/subspace.h"
#include "lbfgsb/variables.h"

/* `executor` is a type of the includer in C, a template parameter in CUDA. */
#ifdef __CUDACC__
#define CVTM_PHASE             \
  template <typename executor> \
  static __device__
#define CVTM_PHASE_CALLED CVTM_PHASE __noinline__
#else
#define CVTM_PHASE static
#define CVTM_PHASE_CALLED static
#endif

/* --- phases that pass over the rows ---------------------------------------------------------- */

CVTM_PHASE cvtm_lbfgsb_state *executor_state(executor on);
/* Line search: accepts the trial point, or chooses the next trial point. On CUDA this phase may
 * also run pass A and make the decisions after it; then it sets needs_update to 0. */
CVTM_PHASE void test_trial_point(executor on);
/* If the trial point was accepted, runs pass A: x and g become those of the trial point, and the
 * pass sums projected gradient, t^1, the new columns of W and the products with W. Then
 * cvtm_lbfgsb_coefficients_from_sums finds t^c and q. */
CVTM_PHASE void find_coefficients(executor on);
/* Walks past the breakpoints t_i with window_start < t_i <= window_end on the projected gradient
 * path. Then finds the exact Cauchy point and the subspace minimiser, or asks for another such
 * window. */
CVTM_PHASE void walk_breakpoints(executor on);
/* Called if there are several rows with 0 < t_i <= t^c. Removes them from the sums by a pass over
 * these rows, and solves the subspace problem. */
CVTM_PHASE void restrict_rows(executor on);
/* Pass B: computes d from t^c and q, and the trial point x + d. Starts the line search if d is a
 * descent direction; else asks for truncate_direction or, without a history, stops. */
CVTM_PHASE void compute_direction(executor on);
/* Pass B with the truncated instead of the projected subspace step. */
CVTM_PHASE void truncate_direction(executor on);
/* Sets the trial point to x + step d, projected onto the box. */
CVTM_PHASE void move_trial_point(executor on);

/* --- decisions between two passes: by one thread on the CPU, by block 0 on CUDA -------------- */

/* Nonzero for the threads that make the serial decisions: warp 0 of block 0, or the thread on the
 * CPU. */
CVTM_PHASE int is_decider(executor on);
/* Stores the results of pass A, records the new point, applies the stopping tests. */
CVTM_PHASE void take_point(executor on);
/* Stores the products of a new pair in S'S, S'Y and, without bounds, Y'Y, and sets theta. Stores
 * W'g and g'g over the free rows. */
CVTM_PHASE void update_matrices(executor on);
/* Computes f'' of the model along the projected gradient. CUDA solves at the same time the subspace
 * problem for a Cauchy point on the first segment of the path. */
CVTM_PHASE void find_curvature(executor on);
/* Sets t^c, or starts the walk to the exact Cauchy point. */
CVTM_PHASE void find_cauchy_point(executor on);
/* Removes the only row with 0 < t_i <= t^c from the sums, without a pass. */
CVTM_PHASE void restrict_row(executor on);
/* Computes q, the coefficients of the subspace step. restricted: restrict_row ran before. */
CVTM_PHASE void solve_subspace(executor on, int restricted);

/* Finds the next breakpoint of the window in the order of (t, row). Returns 0 if none is left. */
CVTM_PHASE int next_breakpoint(executor on, double *t);
/* Column `column` of W in the row of this breakpoint. Column 2m is g_i of the scaled variable. */
CVTM_PHASE double breakpoint_column(executor on, int column);

/* --- the order -------------------------------------------------------------------------------- */

/* Steps 2 and 3 after find_curvature; called by the threads of is_decider. The CUDA kernel calls it
 * twice, and is smaller if it is not inlined. */
CVTM_PHASE_CALLED void cvtm_lbfgsb_cauchy_and_subspace(executor on) {
  const cvtm_lbfgsb_state *state = executor_state(on);
  find_cauchy_point(on);
  if (state->needs_breakpoints) return;                           /* walk_breakpoints continues */
  if (state->needs_restriction && state->nearest_row < 0) return; /* restrict_rows continues */
  if (state->needs_restriction) restrict_row(on);
  solve_subspace(on, state->needs_restriction);
}

/* Steps 1, 2, 3, 6 and 7 after pass A or, without pass A, for a new direction from the current
 * point. */
CVTM_PHASE void cvtm_lbfgsb_coefficients_from_sums(executor on) {
  take_point(on);
  update_matrices(on);
  if (!executor_state(on)->running) return;
  find_curvature(on);
  if (is_decider(on)) cvtm_lbfgsb_cauchy_and_subspace(on);
}

/* Walks past the breakpoints of the window while the model decreases. w: room for a row of W. */
CVTM_PHASE void cvtm_lbfgsb_walk_window(executor on, cvtm_lane_group lanes, cvtm_lbfgsb_work *work,
                                        cvtm_lbfgsb_walk *walk, double *w) {
  cvtm_lbfgsb_state *state = executor_state(on);
  double t;
  cvtm_lbfgsb_list_columns(lanes, state, work);
  while (next_breakpoint(on, &t)) {
    if (cvtm_lbfgsb_walk_minimum(lanes, state, walk) <= t) return;
    const double g = breakpoint_column(on, 2 * state->history);
    for (int r = lanes.lane; r < 2 * state->count; r += lanes.lanes)
      w[r] = breakpoint_column(on, cvtm_lbfgsb_w_column(state, work, r));
    cvtm_lanes_sync();
    cvtm_lbfgsb_walk_to(lanes, state, walk, t, g, w);
  }
}

/* Runs a round. The problem must be running. */
CVTM_PHASE void cvtm_lbfgsb_round(executor on) {
  const cvtm_lbfgsb_state *state = executor_state(on);
  test_trial_point(on);
  if (state->running && (state->needs_update || state->needs_direction)) find_coefficients(on);
  if (!state->running) return;
  while (state->needs_breakpoints) walk_breakpoints(on);
  if (state->needs_restriction) restrict_rows(on);
  if (state->needs_step) compute_direction(on);
  if (state->running && state->needs_fallback) truncate_direction(on);
  if (state->running && state->needs_trial) move_trial_point(on);
}
