/* The phases of iteration.h for short histories where the host decides. The includer defines
 * `executor` as for decisions_host.h, and then run_pass and the phases that are not here. */
#ifndef CVTMESH_LBFGSB_ROUNDS_HOST_H
#define CVTMESH_LBFGSB_ROUNDS_HOST_H

#include "lbfgsb/decisions_host.h"
#include "lbfgsb/passes_cpu.h"

/* A pass over the rows; result[0 .. entries - 1]: what it reduces to. If it fails, the problem is
 * not running afterwards. */
static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result);

static cvtm_lbfgsb_layout layout_of(executor on) {
  return cvtm_lbfgsb_get_layout(on.arrays->state->history, on.arrays->state->bounded);
}

static void find_coefficients(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  if (state->due_update && !state->due_commit)
    run_pass(on, CVTM_PASS_A, layout_of(on).entries, arrays->sums);
  if (state->running) cvtm_lbfgsb_coefficients_from_sums(on);
}

static void take_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_decide_point(arrays->state, arrays->sums, arrays->mailbox, arrays->requests->stop);
}

static void update_matrices(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
  if (!arrays->state->due_update) return;
  cvtm_lbfgsb_update_model(single_lane, arrays->state, arrays->model, &layout, arrays->sums);
}

/* w: the row that leaves the free set, as cvtm_lbfgsb_cpu_read_row has it. */
static void restrict_to(executor on, const double *w) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
  cvtm_lbfgsb_restrict_row(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced, w,
                           w[2 * arrays->state->history]);
}

/* The subspace step from `sums`, which are those of the rows with t_i > t^c. */
static void solve_from_sums(executor on, const double *sums, int first_segment) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(on);
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
  if (!arrays->state->running) return;
  cvtm_lbfgsb_restrict_sums(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced);
  solve_from_sums(on, arrays->reduced, 0);
}

/* Walks to the breakpoint t of a row, as cvtm_lbfgsb_cpu_read_row has it. */
static void walk_past(executor on, double t, const double *row) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  double w[CVTM_LBFGSB_PAIR];
  for (int r = 0; r < 2 * state->count; ++r)
    w[r] = row[cvtm_lbfgsb_w_column(state, arrays->work, r)];
  cvtm_lbfgsb_walk_to(single_lane, arrays->state, arrays->walk, t, row[2 * state->history], w);
}

static void end_window(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  cvtm_lbfgsb_end_window(single_lane, arrays->state, arrays->model, arrays->work, arrays->walk);
  if (!state->due_breakpoints && !state->due_restrict) solve_from_sums(on, arrays->sums, 0);
}

static void compute_direction(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  run_pass(on, CVTM_PASS_B, CVTM_SUM_COLUMNS, arrays->reduced);
  cvtm_lbfgsb_decide_step(arrays->state, arrays->reduced);
}

static void truncate_direction(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  run_pass(on, CVTM_PASS_B, CVTM_SUM_COLUMNS, arrays->reduced);
  cvtm_lbfgsb_decide_fallback(arrays->state, arrays->reduced);
}

#endif
