/* The phases of iteration.h on the CPU, and the exact Cauchy point's heap of breakpoints. */
#include "lbfgsb/lbfgsb_kernels.h"
#include "lbfgsb/passes_cpu.h"

/* The threads that share a problem. */
typedef struct executor {
  const cvtm_lbfgsb_arrays *arrays; /* of the problem */
  int threads;
} executor;

#include "lbfgsb/rounds_host.h"

/* --- phases of a round, see iteration.h ------------------------------------------------ */

static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result) {
  cvtm_lbfgsb_cpu_pass(on.threads, on.arrays, pass, on.arrays->model->q, entries, result);
}

static void test_trial_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  double slope = 0.0;
  if (arrays->state->phase != (int)CVTM_PHASE_RESUME) {
    run_pass(on, CVTM_PASS_SEARCH, CVTM_SUM_COLUMNS, arrays->reduced);
    slope = arrays->reduced[CVTM_SUM_SLOPE];
  }
  cvtm_lbfgsb_decide_search(arrays->state, arrays->values, slope, arrays->requests->stop);
}

static void restrict_row(executor on) {
  double w[CVTM_LBFGSB_PAIR + 1];
  cvtm_lbfgsb_cpu_read_row(on.arrays, on.arrays->state->nearest_row, w);
  restrict_to(on, w);
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
  double row[CVTM_LBFGSB_PAIR + 1];
  cvtm_lbfgsb_list_columns(single_lane, state, arrays->work);
  int64_t left = list_breakpoints(arrays);
  while (left > 0) {
    const double t = arrays->breakpoints[0];
    if (cvtm_lbfgsb_walk_minimum(single_lane, state, arrays->walk) <= t) break;
    cvtm_lbfgsb_cpu_read_row(arrays, arrays->breakpoint_rows[0], row);
    walk_past(on, t, row);
    --left;
    arrays->breakpoints[0] = arrays->breakpoints[left];
    arrays->breakpoint_rows[0] = arrays->breakpoint_rows[left];
    sift_down(arrays, 0, left);
  }
  end_window(on);
}

static void move_trial_point(executor on) { cvtm_lbfgsb_cpu_move(on.threads, on.arrays); }

/* --- the table ------------------------------------------------------------------------- */

static int64_t cpu_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)device;
  (void)problems;
  return cvtm_lbfgsb_cpu_parts(n);
}

static cvtm_status cpu_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const int threads = arrays->problems > 1 ? 1 : cvtm_device_threads(device);
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = cvtm_lbfgsb_problem_arrays(arrays, p, m);
    cvtm_lbfgsb_cpu_pass(threads, &one, CVTM_PASS_START, NULL, CVTM_SUM_COLUMNS, one.sums);
    cvtm_lbfgsb_init_state(one.state, one.sums);
  }
  return CVTM_OK;
}

static cvtm_status cpu_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
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
    const cvtm_lbfgsb_arrays one = cvtm_lbfgsb_problem_arrays(arrays, p, m);
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

/* --- bounds and scale ------------------------------------------------------------------ */

static cvtm_status check_inputs_cpu(cvtm_device *device, const double *lower, const double *upper,
                                    const double *scale, int64_t n, cvtm_lbfgsb_inputs *found) {
  (void)device;
  for (int64_t i = 0; i < n && found->bad == 0; ++i) {
    if (!cvtm_lbfgsb_input_is_valid(lower, upper, scale, i, &found->finite)) found->bad = n - i;
  }
  return CVTM_OK;
}

const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cpu = {check_inputs_cpu};
