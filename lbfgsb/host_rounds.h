/* The phases of iteration.h if the host decides: for lbfgsb_cpu.c, panels.c and divided.c. After
 * including this header, these files define the functions for passes that it declares, and the
 * phases test_trial_point, update_matrices and move_trial_point. */
#pragma once

#include "base/device.h"
#include "lbfgsb/lbfgsb_state.h"
#include "lbfgsb/rows.h"

/* Where next_breakpoint stands in the breakpoints of the window (window_start, window_end], which
 * it takes in the order of (t, row). panels.c and divided.c read the breakpoints and their rows in
 * batches; lbfgsb_cpu.c keeps the breakpoints in a heap. */
typedef struct host_window {
  /* number of breakpoints of this process; in lbfgsb_cpu.c only of those in the heap */
  int64_t count;
  int64_t first; /* index of the first breakpoint of the batch */
  int next;      /* index in the batch */
  /* Row i of the last breakpoint: 2m entries of W, then g_i of the scaled variable. */
  const double *row;
  double memory[CVTM_LBFGSB_PAIR + 1];
} host_window;

/* A problem, and what its passes need. */
typedef struct executor {
  const cvtm_lbfgsb_arrays *arrays; /* the arrays of the problem */
  cvtm_device *device;
  int threads;         /* CPU: the number of threads that share the problem */
  cvtm_status *status; /* status of the first failed pass of this round */
  host_window *window;
} executor;

#include "lbfgsb/iteration.h"

static const cvtm_lane_group single_lane = {0, 1};

/* Runs a pass over the rows; result[0 .. entries - 1]: its reductions. */
static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result);
/* Sets w[0 .. 2m - 1] to the row of W that has the smallest positive breakpoint, and w[2m] to g_i
 * of the scaled variable. */
static void read_nearest_row(executor on, double *w);
/* Lists the breakpoints of the window for next_breakpoint. */
static void list_window(executor on);

/* The requested stop, or CVTM_STOP_NONE. */
static int requested_stop(executor on) { return on.arrays->requests->stop; }

static inline int has_failed(executor on) { return *on.status != CVTM_OK; }

/* Ends the round if a pass has failed. */
static inline void check_pass(executor on, cvtm_status status) {
  cvtm_lbfgsb_state *state = on.arrays->state;
  if (status == CVTM_OK) return;
  if (*on.status == CVTM_OK) *on.status = status;
  state->running = state->needs_breakpoints = state->needs_restriction = state->needs_step = 0;
}

static cvtm_lbfgsb_layout layout_of(executor on) {
  return cvtm_lbfgsb_get_layout(on.arrays->state->history, on.arrays->state->bounded);
}

/* --- phases, see iteration.h ------------------------------------------------------------------ */

static cvtm_lbfgsb_state *executor_state(executor on) { return on.arrays->state; }

static int is_decider(executor on) {
  (void)on;
  return 1;
}

/* Computes g'd at the trial point; 0 if a stopped run resumes, which has no trial point. */
static double search_slope(executor on) {
  double *sums = on.arrays->reduced;
  if (on.arrays->state->phase == (int)CVTM_PHASE_RESUME) return 0.0;
  run_pass(on, CVTM_PASS_SEARCH, CVTM_SUM_COLUMNS, sums);
  return sums[CVTM_SUM_SLOPE];
}

static void find_coefficients(executor on) {
  const cvtm_lbfgsb_state *state = on.arrays->state;
  if (state->needs_update && !state->needs_commit)
    run_pass(on, CVTM_PASS_A, layout_of(on).entries, on.arrays->sums);
  if (!has_failed(on)) cvtm_lbfgsb_coefficients_from_sums(on);
}

static void take_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_decide_point(arrays->state, arrays->sums, arrays->mailbox, requested_stop(on));
}

/* update_matrices, if pass A has formed the products that bounds need. */
static inline void update_from_sums(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
  if (!arrays->state->needs_update) return;
  cvtm_lbfgsb_update_model(single_lane, arrays->state, arrays->model, &layout, arrays->sums);
}

static void find_curvature(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  cvtm_lbfgsb_work *work = arrays->work;
  cvtm_lbfgsb_list_columns(single_lane, state, work);
  work->curvature = state->count > 0
                        ? cvtm_lbfgsb_model_curvature(single_lane, state, arrays->model, work)
                        : state->free_gg;
}

static void find_cauchy_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_decide_cauchy(single_lane, arrays->state, arrays->model, arrays->work, arrays->walk,
                            arrays->work->curvature);
}

static void restrict_row(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
  double w[CVTM_LBFGSB_PAIR + 1];
  read_nearest_row(on, w);
  if (has_failed(on)) return;
  cvtm_lbfgsb_restrict_row(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced, w,
                           w[2 * arrays->state->history]);
}

/* Computes the subspace step from `sums` over the rows with t_i > t^c. */
static void solve_from_sums(executor on, const double *sums, int first_segment) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
  if (has_failed(on)) return;
  cvtm_lbfgsb_list_columns(single_lane, arrays->state, arrays->work);
  const int solved = cvtm_lbfgsb_solve_subspace(single_lane, arrays->state, arrays->model,
                                                arrays->work, &layout, sums, first_segment);
  cvtm_lbfgsb_decide_subspace(single_lane, arrays->state, solved);
}

static void solve_subspace(executor on, int restricted) {
  solve_from_sums(on, restricted ? on.arrays->reduced : on.arrays->sums, !restricted);
}

static void restrict_rows(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
  run_pass(on, CVTM_PASS_RESTRICT, layout.entries, arrays->reduced);
  if (has_failed(on)) return;
  cvtm_lbfgsb_restrict_sums(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced);
  solve_from_sums(on, arrays->reduced, 0);
}

static double breakpoint_column(executor on, int column) { return on.window->row[column]; }

static void walk_breakpoints(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  double w[CVTM_LBFGSB_PAIR];
  list_window(on);
  if (!has_failed(on)) cvtm_lbfgsb_walk_window(on, single_lane, arrays->work, arrays->walk, w);
  if (has_failed(on)) return;
  cvtm_lbfgsb_end_window(single_lane, arrays->state, arrays->model, arrays->work, arrays->walk);
  if (!state->needs_breakpoints && !state->needs_restriction) solve_from_sums(on, arrays->sums, 0);
}

static void compute_direction(executor on) {
  run_pass(on, CVTM_PASS_B, CVTM_SUM_COLUMNS, on.arrays->reduced);
  if (!has_failed(on)) cvtm_lbfgsb_decide_step(on.arrays->state, on.arrays->reduced);
}

static void truncate_direction(executor on) {
  run_pass(on, CVTM_PASS_B, CVTM_SUM_COLUMNS, on.arrays->reduced);
  if (!has_failed(on)) cvtm_lbfgsb_decide_fallback(on.arrays->state, on.arrays->reduced);
}
