/* The phases of iteration.h on the CPU, and the exact Cauchy point's heap of breakpoints. */
#include "lbfgsb/lbfgsb_kernels.h"
#include "lbfgsb/passes_cpu.h"

/* The threads that share a problem. */
typedef struct executor {
  const cvtm_lbfgsb_arrays *arrays; /* of the problem */
  int threads;
} executor;

#include "lbfgsb/decisions_host.h"

/* --- phases of a round, see iteration.h ------------------------------------------------ */

static cvtm_lbfgsb_layout layout_of(const cvtm_lbfgsb_arrays *arrays) {
  return cvtm_lbfgsb_get_layout(arrays->state->history, arrays->state->bounded);
}

static void test_trial_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  double slope = 0.0;
  if (arrays->state->phase != (int)CVTM_PHASE_RESUME) {
    cvtm_lbfgsb_cpu_pass(on.threads, arrays, CVTM_PASS_SEARCH, NULL, CVTM_SUM_COLUMNS,
                         arrays->reduced);
    slope = arrays->reduced[CVTM_SUM_SLOPE];
  }
  cvtm_lbfgsb_decide_search(arrays->state, arrays->values, slope, arrays->requests->stop);
}

static void find_coefficients(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  if (arrays->state->due_update) {
    cvtm_lbfgsb_cpu_pass(on.threads, arrays, CVTM_PASS_A, NULL, layout_of(arrays).entries,
                         arrays->sums);
  }
  cvtm_lbfgsb_coefficients_from_sums(on);
}

static void take_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_decide_point(arrays->state, arrays->sums, arrays->mailbox, arrays->requests->stop);
}

static void update_matrices(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(arrays);
  if (!arrays->state->due_update) return;
  cvtm_lbfgsb_update_model(single_lane, arrays->state, arrays->model, &layout, arrays->sums);
}

/* Row i of column c of W. */
static double read_w(const cvtm_lbfgsb_arrays *arrays, int64_t i, int c) {
  const int64_t at = cvtm_lbfgsb_at(i, c, arrays->state->history);
  return arrays->state->single ? (double)((const float *)arrays->w)[at]
                               : ((const double *)arrays->w)[at];
}

static void restrict_row(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  const cvtm_lbfgsb_layout layout = layout_of(arrays);
  const int64_t i = state->nearest_row;
  double w[CVTM_LBFGSB_PAIR];
  for (int c = 0; c < 2 * state->history; ++c) w[c] = read_w(arrays, i, c);
  const double scale = arrays->scale ? arrays->scale[i] : 1.0;
  cvtm_lbfgsb_restrict_row(single_lane, state, &layout, arrays->sums, arrays->reduced, w,
                           scale * arrays->g[i]);
}

/* The subspace step from `sums`, which are those of the rows with t_i > t^c. */
static void solve_from_sums(const cvtm_lbfgsb_arrays *arrays, const double *sums,
                            int first_segment) {
  const cvtm_lbfgsb_layout layout = layout_of(arrays);
  cvtm_lbfgsb_list_columns(single_lane, arrays->state, arrays->work);
  const int solved = cvtm_lbfgsb_solve_subspace(single_lane, arrays->state, arrays->model,
                                                arrays->work, &layout, sums, first_segment);
  cvtm_lbfgsb_decide_subspace(single_lane, arrays->state, solved);
}

static void solve_subspace(executor on, int restricted) {
  solve_from_sums(on.arrays, restricted ? on.arrays->reduced : on.arrays->sums, !restricted);
}

static void restrict_rows(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(arrays);
  cvtm_lbfgsb_cpu_pass(on.threads, arrays, CVTM_PASS_RESTRICT, NULL, layout.entries,
                       arrays->reduced);
  cvtm_lbfgsb_restrict_sums(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced);
  solve_from_sums(arrays, arrays->reduced, 0);
}

/* True if breakpoint i of the window comes before breakpoint j, in the order of (t, row). */
static int comes_before(const cvtm_lbfgsb_arrays *a, int64_t i, int64_t j) {
  return a->breakpoints[i] < a->breakpoints[j] ||
         (a->breakpoints[i] == a->breakpoints[j] && a->breakpoint_rows[i] < a->breakpoint_rows[j]);
}

/* Restores the heap below place `at`, where the first breakpoint is on top. */
static void sift_down(const cvtm_lbfgsb_arrays *a, int64_t at, int64_t count) {
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= count) return;
    if (child + 1 < count && comes_before(a, child + 1, child)) ++child;
    if (!comes_before(a, child, at)) return;
    const double t = a->breakpoints[at];
    const int64_t row = a->breakpoint_rows[at];
    a->breakpoints[at] = a->breakpoints[child];
    a->breakpoint_rows[at] = a->breakpoint_rows[child];
    a->breakpoints[child] = t;
    a->breakpoint_rows[child] = row;
    at = child;
  }
}

/* Lists the breakpoints of the window as a heap and returns their number. */
static int64_t list_breakpoints(const cvtm_lbfgsb_arrays *arrays) {
  const cvtm_lbfgsb_state *state = arrays->state;
  int64_t count = 0;
  for (int64_t i = 0; i < arrays->n; ++i) {
    const cvtm_lbfgsb_variable row =
        cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], arrays->g[i]);
    const double t = cvtm_lbfgsb_breakpoint(&row);
    if (!(t > state->window_start && t <= state->window_end)) continue;
    arrays->breakpoints[count] = t;
    arrays->breakpoint_rows[count++] = i;
  }
  for (int64_t at = count / 2; at-- > 0;) sift_down(arrays, at, count);
  return count;
}

static void walk_breakpoints(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_state *state = arrays->state;
  double w[CVTM_LBFGSB_PAIR];
  cvtm_lbfgsb_list_columns(single_lane, state, arrays->work);
  int64_t left = list_breakpoints(arrays);
  while (left > 0) {
    const double t = arrays->breakpoints[0];
    const int64_t i = arrays->breakpoint_rows[0];
    if (cvtm_lbfgsb_walk_minimum(single_lane, state, arrays->walk) <= t) break;
    const double scale = arrays->scale ? arrays->scale[i] : 1.0;
    for (int r = 0; r < 2 * state->count; ++r) {
      w[r] = read_w(arrays, i, cvtm_lbfgsb_w_column(state, arrays->work, r));
    }
    cvtm_lbfgsb_walk_to(single_lane, state, arrays->walk, t, scale * arrays->g[i], w);
    --left;
    arrays->breakpoints[0] = arrays->breakpoints[left];
    arrays->breakpoint_rows[0] = arrays->breakpoint_rows[left];
    sift_down(arrays, 0, left);
  }
  cvtm_lbfgsb_end_window(single_lane, state, arrays->model, arrays->work, arrays->walk);
  if (!state->due_breakpoints && !state->due_restrict) solve_from_sums(arrays, arrays->sums, 0);
}

static void compute_direction(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_cpu_pass(on.threads, arrays, CVTM_PASS_B, arrays->model->q, CVTM_SUM_COLUMNS,
                       arrays->reduced);
  cvtm_lbfgsb_decide_step(arrays->state, arrays->reduced);
}

static void truncate_direction(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_cpu_pass(on.threads, arrays, CVTM_PASS_B, arrays->model->q, CVTM_SUM_COLUMNS,
                       arrays->reduced);
  cvtm_lbfgsb_decide_fallback(arrays->state, arrays->reduced);
}

static void move_trial_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const int64_t n = arrays->n;
  const int threads = on.threads;
  const double step = arrays->state->step;
  (void)threads;
#pragma omp parallel for schedule(static) \
    num_threads(threads) if (threads > 1 && n > CVTM_LBFGSB_CPU_PART)
  for (int64_t i = 0; i < n; ++i) {
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], 0.0);
    arrays->trial_x[i] = cvtm_lbfgsb_trial(&row, arrays->d[i], step);
  }
}

/* --- the table ------------------------------------------------------------------------- */

static int64_t cpu_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)device;
  (void)problems;
  return cvtm_lbfgsb_cpu_parts(n);
}

static cvtm_status cpu_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                             int single) {
  const int threads = arrays->problems > 1 ? 1 : cvtm_device_threads(device);
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one =
        cvtm_lbfgsb_problem_arrays(arrays, p, m, single ? sizeof(float) : sizeof(double));
    cvtm_lbfgsb_cpu_pass(threads, &one, CVTM_PASS_START, NULL, CVTM_SUM_COLUMNS, one.sums);
    cvtm_lbfgsb_init_state(one.state, one.sums);
  }
  return CVTM_OK;
}

static cvtm_status cpu_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                             int single) {
  const int threads = cvtm_device_threads(device);
  int running = 0;
  if (arrays->problems == 1) {
    const executor on = {arrays, threads};
    if (arrays->state->running) cvtm_lbfgsb_round(on);
    *arrays->flag = arrays->state->running;
    return CVTM_OK;
  }
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) reduction(+ : running)
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one =
        cvtm_lbfgsb_problem_arrays(arrays, p, m, single ? sizeof(float) : sizeof(double));
    const executor on = {&one, 1};
    if (one.state->running) cvtm_lbfgsb_round(on);
    running += one.state->running;
  }
  *arrays->flag = running;
  return CVTM_OK;
}

const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu = {
    .parts = cpu_parts,
    .start = cpu_start,
    .round = cpu_round,
};
