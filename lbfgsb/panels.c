/* The phases of iteration.h for histories of more than CVTM_LBFGSB_SHORT pairs. The host decides;
 * panels_cpu.c and panels_cuda.cu pass over the rows. Sums over the free rows are those over all
 * rows, of which an iteration changes one column, less those over the fixed rows, which are summed
 * anew: O(n m) operations and O(m^2) for each fixed row. */
#define CVTM_LBFGSB_ORDER 128

#include "base/select.h"
#include "lbfgsb/panels.h"

#include <stdlib.h>
#include <string.h>

struct cvtm_panels {
  const cvtm_panels_table *table;
  void *own;
  void *block; /* host memory that the device sees */
  size_t bytes;
  double *gram, *wg, *row; /* [2m x 2m], [2m], [CVTM_PANELS_BATCH x (2m + 1)] */
  double *times;           /* [CVTM_PANELS_BATCH] */
  int32_t *numbers;        /* [CVTM_PANELS_BATCH] */
  cvtm_lbfgsb_list list;
  cvtm_status status; /* of the first pass that failed in this round */
};

typedef struct executor {
  const cvtm_lbfgsb_arrays *arrays; /* of the problem */
  cvtm_device *device;
} executor;

#include "lbfgsb/decisions_host.h"

_Static_assert((int)CVTM_LBFGSB_ORDER == (int)CVTM_LBFGSB_MAX_HISTORY, "room for every history");

/* --- passes -------------------------------------------------------------------------------- */

/* Ends the round after a pass that failed. */
static void check_pass(executor on, cvtm_status status) {
  cvtm_lbfgsb_state *state = on.arrays->state;
  if (status == CVTM_OK) return;
  if (on.arrays->panels->status == CVTM_OK) on.arrays->panels->status = status;
  state->running = state->due_breakpoints = state->due_restrict = state->due_step = 0;
}

static int has_failed(executor on) { return on.arrays->panels->status != CVTM_OK; }

/* The arrays with a state in which products over the free rows are not asked for. */
typedef struct pass_view {
  cvtm_lbfgsb_arrays arrays;
  cvtm_lbfgsb_state state;
} pass_view;

static const cvtm_lbfgsb_arrays *view_pass(executor on, pass_view *view) {
  view->arrays = *on.arrays;
  view->state = *on.arrays->state;
  view->state.bounded = 0;
  view->arrays.state = &view->state;
  return &view->arrays;
}

static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result) {
  pass_view view;
  const cvtm_panels *panels = on.arrays->panels;
  check_pass(on, panels->table->pass(on.device, panels->own, view_pass(on, &view), pass,
                                     on.arrays->model->q, entries, result));
}

/* Lists rows in panels->list and returns their number. */
static int64_t list_rows(executor on, cvtm_lbfgsb_rows which) {
  pass_view view;
  int64_t count = 0;
  check_pass(on, cvtm_lbfgsb_list_make(on.device, &on.arrays->panels->list, view_pass(on, &view),
                                       which, &count));
  return has_failed(on) ? 0 : count;
}

/* The products over the listed rows, in panels->gram and panels->wg. */
static void sum_listed(executor on, int64_t count) {
  pass_view view;
  const cvtm_panels *panels = on.arrays->panels;
  const size_t size = 2 * (size_t)on.arrays->state->count;
  if (count == 0) {
    memset(panels->gram, 0, size * size * sizeof(double));
    memset(panels->wg, 0, size * sizeof(double));
    return;
  }
  check_pass(on, panels->table->gram(on.device, panels->own, view_pass(on, &view),
                                     panels->list.rows, count, panels->gram, panels->wg));
}

static int request_of(executor on) {
  cvtm_lbfgsb_requests requests = {0, (int)CVTM_STOP_NONE};
  check_pass(on, cvtm_device_copy_out(on.device, &requests, on.arrays->requests, sizeof requests));
  return requests.stop;
}

static cvtm_lbfgsb_layout layout_of(const cvtm_lbfgsb_arrays *arrays, int bounded) {
  return cvtm_lbfgsb_get_layout(arrays->state->history, bounded);
}

/* --- phases of a round, see iteration.h ------------------------------------------------------ */

static void test_trial_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  double sums[CVTM_SUM_COLUMNS] = {0.0}, values[2] = {0.0, 0.0};
  if (arrays->state->phase != (int)CVTM_PHASE_RESUME) {
    run_pass(on, CVTM_PASS_SEARCH, CVTM_SUM_COLUMNS, sums);
    check_pass(on, cvtm_device_copy_out(on.device, values, arrays->values, sizeof values));
  }
  const int request = request_of(on);
  if (!has_failed(on))
    cvtm_lbfgsb_decide_search(arrays->state, values, sums[CVTM_SUM_SLOPE], request);
}

static void find_coefficients(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  if (arrays->state->due_update)
    run_pass(on, CVTM_PASS_A, layout_of(arrays, 0).entries, arrays->sums);
  if (!has_failed(on)) cvtm_lbfgsb_coefficients_from_sums(on);
}

static void take_point(executor on) {
  const int request = request_of(on);
  if (!has_failed(on))
    cvtm_lbfgsb_decide_point(on.arrays->state, on.arrays->sums, on.arrays->mailbox, request);
}

/* The products over the listed rows, as an entry of `layout` is placed. */
static void place_listed(executor on, const cvtm_lbfgsb_layout *layout, double *sums) {
  const cvtm_lbfgsb_state *state = on.arrays->state;
  const cvtm_panels *panels = on.arrays->panels;
  const int m = state->history, k = state->count;
  for (int p = 0; p < k; ++p) {
    sums[layout->wg + p] = panels->wg[p];
    sums[layout->wg + m + p] = panels->wg[k + p];
    for (int q = 0; q < k; ++q) {
      sums[layout->sy + p * m + q] = panels->gram[(k + p) * 2 * k + q];
      if (q > p) continue;
      sums[layout->yy + cvtm_lbfgsb_triangle(p, q)] = panels->gram[p * 2 * k + q];
      sums[layout->ss + cvtm_lbfgsb_triangle(p, q)] = panels->gram[(k + p) * 2 * k + k + q];
    }
  }
}

/* Replaces the products of pass A, over all rows, by those with bounds, see cvtm_lbfgsb_layout. */
static void separate_fixed_rows(executor on) {
  const cvtm_lbfgsb_state *state = on.arrays->state;
  const cvtm_lbfgsb_model *model = on.arrays->model;
  const cvtm_lbfgsb_layout layout = layout_of(on.arrays, 1);
  const int m = state->history, k = state->count, row = CVTM_LBFGSB_ORDER;
  double *sums = on.arrays->sums;
  sum_listed(on, state->active > 0 ? list_rows(on, CVTM_ROWS_FIXED) : 0);
  if (has_failed(on)) return;
  place_listed(on, &layout, sums);
  for (int p = 0; p < k; ++p) {
    sums[layout.wg + p] = model->wg[p];
    sums[layout.wg + m + p] = model->wg[m + p];
    for (int q = 0; q < k; ++q) {
      double *sy = sums + layout.sy + p * m + q, *yy = sums + layout.yy;
      if (cvtm_lbfgsb_age(state, p) <= cvtm_lbfgsb_age(state, q))
        *sy = model->sy[p * row + q] - *sy;
      if (q <= p)
        yy[cvtm_lbfgsb_triangle(p, q)] = model->yy[p * row + q] - yy[cvtm_lbfgsb_triangle(p, q)];
    }
  }
}

static void update_matrices(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(arrays, 0);
  if (!arrays->state->due_update || has_failed(on)) return;
  cvtm_lbfgsb_state all = *arrays->state;
  all.bounded = 0;
  cvtm_lbfgsb_update_model(single_lane, &all, arrays->model, &layout, arrays->sums);
  arrays->state->theta = all.theta;
  arrays->state->free_gg = all.free_gg;
  if (arrays->state->bounded) separate_fixed_rows(on);
}

static void read_rows(executor on, const int32_t *rows, int count) {
  const cvtm_panels *panels = on.arrays->panels;
  check_pass(on,
             panels->table->read_rows(on.device, panels->own, on.arrays, rows, count, panels->row));
}

static void restrict_row(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(arrays, 1);
  const int32_t row = (int32_t)arrays->state->nearest_row;
  const double *w = arrays->panels->row;
  read_rows(on, &row, 1);
  if (has_failed(on)) return;
  cvtm_lbfgsb_restrict_row(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced, w,
                           w[2 * arrays->state->history]);
}

/* The subspace step from `sums`, which are those of the rows with t_i > t^c. */
static void solve_from_sums(executor on, const double *sums, int first_segment) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_layout layout = layout_of(arrays, arrays->state->bounded);
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
  const cvtm_lbfgsb_layout layout = layout_of(arrays, 1);
  sum_listed(on, list_rows(on, CVTM_ROWS_LEAVING));
  if (has_failed(on)) return;
  place_listed(on, &layout, arrays->reduced);
  cvtm_lbfgsb_restrict_sums(single_lane, arrays->state, &layout, arrays->sums, arrays->reduced);
  solve_from_sums(on, arrays->reduced, 0);
}

/* --- the exact Cauchy point ------------------------------------------------------------------ */

/* Reads breakpoints first .. first + count - 1 and their rows of W. */
static void read_breakpoints(executor on, int64_t first, int count) {
  const cvtm_panels *panels = on.arrays->panels;
  check_pass(on, cvtm_device_copy_out(on.device, panels->times, on.arrays->breakpoints + first,
                                      (size_t)count * sizeof(double)));
  check_pass(on, cvtm_device_copy_out(on.device, panels->numbers, panels->list.rows + first,
                                      (size_t)count * sizeof(int32_t)));
  read_rows(on, panels->numbers, count);
}

/* Walks past breakpoint b of those that were read; 0 if the minimiser comes before it. */
static int walk_past(executor on, int b) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history;
  const double *row = arrays->panels->row + (size_t)b * (size_t)(2 * m + 1);
  const double t = arrays->panels->times[b];
  double w[CVTM_LBFGSB_PAIR];
  if (cvtm_lbfgsb_walk_minimum(single_lane, state, arrays->walk) <= t) return 0;
  for (int r = 0; r < 2 * state->count; ++r)
    w[r] = row[cvtm_lbfgsb_w_column(state, arrays->work, r)];
  cvtm_lbfgsb_walk_to(single_lane, state, arrays->walk, t, row[2 * m], w);
  return 1;
}

static void walk_breakpoints(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_state *state = arrays->state;
  cvtm_lbfgsb_list_columns(single_lane, state, arrays->work);
  int64_t count = 0;
  check_pass(on, cvtm_lbfgsb_list_breakpoints(on.device, &arrays->panels->list, arrays, &count));
  int more = 1;
  for (int64_t first = 0; more && first < count && !has_failed(on); first += CVTM_PANELS_BATCH) {
    const int64_t left = count - first;
    const int batch = left < CVTM_PANELS_BATCH ? (int)left : CVTM_PANELS_BATCH;
    read_breakpoints(on, first, batch);
    for (int b = 0; more && b < batch && !has_failed(on); ++b) more = walk_past(on, b);
  }
  if (has_failed(on)) return;
  cvtm_lbfgsb_end_window(single_lane, state, arrays->model, arrays->work, arrays->walk);
  if (!state->due_breakpoints && !state->due_restrict) solve_from_sums(on, arrays->sums, 0);
}

/* --- the step -------------------------------------------------------------------------------- */

static void compute_direction(executor on) {
  run_pass(on, CVTM_PASS_B, CVTM_SUM_COLUMNS, on.arrays->reduced);
  if (!has_failed(on)) cvtm_lbfgsb_decide_step(on.arrays->state, on.arrays->reduced);
}

static void truncate_direction(executor on) {
  run_pass(on, CVTM_PASS_B, CVTM_SUM_COLUMNS, on.arrays->reduced);
  if (!has_failed(on)) cvtm_lbfgsb_decide_fallback(on.arrays->state, on.arrays->reduced);
}

static void move_trial_point(executor on) {
  const cvtm_panels *panels = on.arrays->panels;
  check_pass(on, panels->table->move(on.device, panels->own, on.arrays));
}

/* --- the functions of the table --------------------------------------------------------------- */

size_t cvtm_panels_model_bytes(void) { return sizeof(cvtm_lbfgsb_model); }

static cvtm_lbfgsb_arrays problem_arrays(const cvtm_lbfgsb_arrays *arrays, int64_t p, int m) {
  cvtm_lbfgsb_arrays one = cvtm_lbfgsb_problem_arrays(arrays, p, m);
  one.partial = arrays->partial; /* the problems take turns */
  return one;
}

cvtm_status cvtm_panels_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  cvtm_status status = cvtm_device_synchronize(device); /* the state has been written */
  arrays->panels->status = CVTM_OK;
  for (int64_t p = 0; status == CVTM_OK && p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = problem_arrays(arrays, p, m);
    const executor on = {&one, device};
    run_pass(on, CVTM_PASS_START, CVTM_SUM_COLUMNS, one.sums);
    status = arrays->panels->status;
    if (status == CVTM_OK) cvtm_lbfgsb_init_state(one.state, one.sums);
  }
  return status;
}

cvtm_status cvtm_panels_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  arrays->panels->status = CVTM_OK;
  for (int64_t p = 0; arrays->panels->status == CVTM_OK && p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = problem_arrays(arrays, p, m);
    const executor on = {&one, device};
    if (one.state->running) cvtm_lbfgsb_round(on);
  }
  return arrays->panels->status;
}

/* --- memory ------------------------------------------------------------------------------------
 */

/* Takes `bytes` from the block at *at; only counts while there is no block. */
static void *take(const cvtm_panels *panels, size_t *at, size_t bytes) {
  void *memory = panels->block ? (char *)panels->block + *at : NULL;
  *at += (bytes + 63) / 64 * 64;
  return memory;
}

static void divide_block(cvtm_panels *panels, cvtm_lbfgsb_arrays *arrays, int m, int exact) {
  const size_t problems = (size_t)arrays->problems, columns = 2 * (size_t)m;
  const size_t figures = problems * (size_t)arrays->entries * sizeof(double);
  size_t at = 0;
  arrays->state = take(panels, &at, problems * sizeof *arrays->state);
  arrays->model = take(panels, &at, problems * sizeof *arrays->model);
  arrays->work = take(panels, &at, problems * sizeof *arrays->work);
  if (exact) arrays->walk = take(panels, &at, problems * sizeof *arrays->walk);
  arrays->sums = take(panels, &at, figures);
  arrays->reduced = take(panels, &at, figures);
  panels->gram = take(panels, &at, columns * columns * sizeof(double));
  panels->wg = take(panels, &at, columns * sizeof(double));
  panels->row = take(panels, &at, CVTM_PANELS_BATCH * (columns + 1) * sizeof(double));
  panels->times = take(panels, &at, CVTM_PANELS_BATCH * sizeof(double));
  panels->numbers = take(panels, &at, CVTM_PANELS_BATCH * sizeof(int32_t));
  panels->bytes = at;
}

cvtm_status cvtm_panels_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int m, int exact,
                               cvtm_panels **panels) {
  cvtm_error *error = cvtm_device_error(device);
  void *mapped = NULL;
  cvtm_panels *made = calloc(1, sizeof *made);
  if (!made) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  made->table = CVTM_TABLE(device, cvtm_panels_table);
  divide_block(made, arrays, m, exact);
  cvtm_status status = cvtm_device_allocate_mapped(device, made->bytes, &made->block, &mapped);
  if (status == CVTM_OK) divide_block(made, arrays, m, exact);
  if (status == CVTM_OK) status = cvtm_lbfgsb_list_create(device, arrays->n, exact, &made->list);
  if (status == CVTM_OK) status = made->table->open(device, arrays->n, m, &made->own);
  if (status != CVTM_OK) {
    cvtm_panels_destroy(device, made);
    return status;
  }
  *panels = made;
  return CVTM_OK;
}

void cvtm_panels_destroy(cvtm_device *device, cvtm_panels *panels) {
  if (!panels) return;
  if (panels->own) panels->table->close(device, panels->own);
  cvtm_lbfgsb_list_destroy(device, &panels->list);
  cvtm_device_free_mapped(device, panels->block);
  free(panels);
}
