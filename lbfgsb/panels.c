/* The phases of iteration.h for histories of more than CVTM_LBFGSB_SHORT pairs, and their passes on
 * the CPU; the passes on CUDA are in panels_cuda.cu. The host makes the decisions. A sum over the
 * free rows is the sum over all rows minus the sum over the fixed rows. An iteration changes one
 * column of the sums over all rows, in O(n m) operations, and recomputes the sums over the fixed
 * rows, in O(m^2) operations for each fixed row. */
#define CVTM_LBFGSB_ORDER 128

#include "base/host.h"
#include "base/select.h"
#include "lbfgsb/host_rounds.h"
#include "lbfgsb/panels.h"

#include <stdlib.h>
#include <string.h>

struct cvtm_panels {
  const cvtm_panels_table *table;
  void *own;
  void *block; /* host memory that the device can access */
  size_t bytes;
  double *gram, *wg, *row; /* [2m x 2m], [2m], [CVTM_PANELS_BATCH x (2m + 1)] */
  double *times;           /* [CVTM_PANELS_BATCH]: t_i of a batch of breakpoints */
  int32_t *numbers;        /* [CVTM_PANELS_BATCH]: the rows */
  cvtm_lbfgsb_list list;
};

_Static_assert((int)CVTM_LBFGSB_ORDER == (int)CVTM_LBFGSB_MAX_HISTORY, "room for every history");

/* --- passes -------------------------------------------------------------------------------- */

/* The arrays of a problem, with a state that asks for no products over the free rows. */
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

/* The layout of the products over all rows in pass A. */
static cvtm_lbfgsb_layout layout_of_all_rows(executor on) {
  return cvtm_lbfgsb_get_layout(on.arrays->state->history, 0);
}

/* Lists rows in panels->list and returns their number. */
static int64_t list_rows(executor on, cvtm_lbfgsb_rows which) {
  pass_view view;
  int64_t count = 0;
  check_pass(on,
             CVTM_TABLE(on.device, cvtm_lbfgsb_rows_table)
                 ->list(on.device, &on.arrays->panels->list, view_pass(on, &view), which, &count));
  return has_failed(on) ? 0 : count;
}

/* Computes the products over the listed rows, in panels->gram and panels->wg. */
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

/* Stores the products over the listed rows in the order of `layout`. */
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

static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result) {
  pass_view view;
  const cvtm_panels *panels = on.arrays->panels;
  if (pass == CVTM_PASS_RESTRICT) {
    const cvtm_lbfgsb_layout layout = layout_of(on);
    sum_listed(on, list_rows(on, CVTM_ROWS_LEAVING));
    if (!has_failed(on)) place_listed(on, &layout, result);
    return;
  }
  if (pass == CVTM_PASS_A) entries = layout_of_all_rows(on).entries;
  check_pass(on, panels->table->pass(on.device, panels->own, view_pass(on, &view), pass,
                                     on.arrays->model->q, entries, result));
}

static void read_rows(executor on, const int32_t *rows, int count, double *w) {
  const cvtm_panels *panels = on.arrays->panels;
  check_pass(on, panels->table->read_rows(on.device, panels->own, on.arrays, rows, count, w));
}

static void read_nearest_row(executor on, double *w) {
  const int32_t row = (int32_t)on.arrays->state->nearest_row;
  read_rows(on, &row, 1, w);
}

/* --- phases of a round, see iteration.h and host_rounds.h ------------------------------------- */

static void test_trial_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  double values[2] = {0.0, 0.0};
  const double slope = search_slope(on);
  check_pass(on, cvtm_device_copy_out(on.device, values, arrays->values, sizeof values));
  if (has_failed(on)) return;
  cvtm_lbfgsb_decide_search(arrays->state, values, slope, requested_stop(on));
}

/* Replaces the products of pass A over all rows by those for bounds, see cvtm_lbfgsb_layout. */
static void separate_fixed_rows(executor on) {
  const cvtm_lbfgsb_state *state = on.arrays->state;
  const cvtm_lbfgsb_model *model = on.arrays->model;
  const cvtm_lbfgsb_layout layout = layout_of(on);
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
  const cvtm_lbfgsb_layout layout = layout_of_all_rows(on);
  if (!arrays->state->needs_update || has_failed(on)) return;
  cvtm_lbfgsb_state all = *arrays->state;
  all.bounded = 0;
  cvtm_lbfgsb_update_model(single_lane, &all, arrays->model, &layout, arrays->sums);
  arrays->state->theta = all.theta;
  arrays->state->free_gg = all.free_gg;
  if (arrays->state->bounded) separate_fixed_rows(on);
}

static void list_window(executor on) {
  host_window *window = on.window;
  window->first = window->next = 0;
  check_pass(on, cvtm_lbfgsb_list_breakpoints(on.device, &on.arrays->panels->list, on.arrays,
                                              &window->count));
}

/* Reads the next breakpoints and their rows of W, up to one batch. */
static void read_batch(executor on) {
  const cvtm_panels *panels = on.arrays->panels;
  const host_window *window = on.window;
  const int64_t left = window->count - window->first;
  const int count = left < CVTM_PANELS_BATCH ? (int)left : CVTM_PANELS_BATCH;
  check_pass(on,
             cvtm_device_copy_out(on.device, panels->times, on.arrays->breakpoints + window->first,
                                  (size_t)count * sizeof(double)));
  check_pass(on, cvtm_device_copy_out(on.device, panels->numbers, panels->list.rows + window->first,
                                      (size_t)count * sizeof(int32_t)));
  read_rows(on, panels->numbers, count, panels->row);
}

static int next_breakpoint(executor on, double *t) {
  const cvtm_panels *panels = on.arrays->panels;
  host_window *window = on.window;
  if (window->next == CVTM_PANELS_BATCH) {
    window->first += CVTM_PANELS_BATCH;
    window->next = 0;
  }
  if (window->first + window->next >= window->count) return 0;
  if (window->next == 0) read_batch(on);
  if (has_failed(on)) return 0;
  window->row = panels->row + (size_t)window->next * (size_t)(2 * on.arrays->state->history + 1);
  *t = panels->times[window->next++];
  return 1;
}

static void move_trial_point(executor on) {
  const cvtm_panels *panels = on.arrays->panels;
  check_pass(on, panels->table->move(on.device, panels->own, on.arrays));
}

/* --- the functions of the table --------------------------------------------------------------- */

size_t cvtm_panels_model_bytes(void) { return sizeof(cvtm_lbfgsb_model); }

static cvtm_lbfgsb_arrays problem_arrays(const cvtm_lbfgsb_arrays *arrays, int64_t p, int m) {
  cvtm_lbfgsb_arrays one = cvtm_lbfgsb_problem_arrays(arrays, p, m);
  one.partial = arrays->partial; /* the problems use it one after another */
  return one;
}

cvtm_status cvtm_panels_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              const cvtm_lbfgsb_state *first) {
  /* waits until the device has zeroed `model`, which the host uses from here on */
  cvtm_status status = cvtm_device_synchronize(device);
  for (int64_t p = 0; status == CVTM_OK && p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = problem_arrays(arrays, p, m);
    const executor on = {&one, device, 0, &status, NULL};
    *one.state = *first;
    run_pass(on, CVTM_PASS_START, CVTM_SUM_COLUMNS, one.sums);
    if (status == CVTM_OK) cvtm_lbfgsb_init_state(one.state, one.sums);
  }
  return status;
}

cvtm_status cvtm_panels_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  cvtm_status status = CVTM_OK;
  host_window window;
  for (int64_t p = 0; status == CVTM_OK && p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = problem_arrays(arrays, p, m);
    const executor on = {&one, device, 0, &status, &window};
    if (one.state->running) cvtm_lbfgsb_round(on);
  }
  return status;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Takes `bytes` from the block at *at; without a block, only counts. */
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
  arrays->requests = take(panels, &at, sizeof *arrays->requests);
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

/* --- the passes on the CPU -------------------------------------------------------------------- */

/* W is stored in the tiles of cvtm_lbfgsb_at, as for short histories, so that both can use the same
 * passes over all rows. No library multiplies the panels, since the order of its sums would depend
 * on the processor and on the number of threads (docs/design.md, rule 4). */
enum {
  BLOCK = 128,       /* listed rows that are multiplied together */
  PART = 32 * BLOCK, /* listed rows in a part */
  MOST = 2 * CVTM_LBFGSB_MAX_HISTORY
};

typedef double lanes __attribute__((vector_size(4 * sizeof(double)), may_alias));

typedef struct panels_cpu {
  double *partial; /* the products of each part of the listed rows, then a block of columns for each
                      part */
  size_t capacity; /* in doubles; grows with the number of listed rows */
} panels_cpu;

static cvtm_status cpu_open(cvtm_device *device, int64_t n, int m, void **own) {
  (void)n;
  (void)m;
  *own = calloc(1, sizeof(panels_cpu));
  if (*own) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
}

static void cpu_close(cvtm_device *device, void *own) {
  (void)device;
  free(((panels_cpu *)own)->partial);
  free(own);
}

static cvtm_status cpu_pass(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                            cvtm_lbfgsb_pass pass, const double *q, int entries, double *result) {
  (void)own;
  cvtm_lbfgsb_cpu_pass(cvtm_device_threads(device), arrays, pass, q, entries, result);
  return CVTM_OK;
}

static cvtm_status cpu_move(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays) {
  (void)own;
  cvtm_lbfgsb_cpu_move(cvtm_device_threads(device), arrays);
  return CVTM_OK;
}

/* The column of W that is column c of [Y S], where Y and S have only the k stored pairs. */
static int column_of(int c, int k, int m) { return c < k ? c : m + c - k; }

/* Sets columns[c][r] to the listed rows of the 2k columns, and of g; to 0 for r >= count. */
static void gather_panel(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int count,
                         double *columns) {
  const int m = arrays->state->history, k = arrays->state->count;
  const double *w = arrays->w;
  int64_t first[BLOCK];
  for (int r = 0; r < count; ++r) first[r] = cvtm_lbfgsb_at(rows[r], 0, m);
  for (int c = 0; c < 2 * k; ++c) {
    const double *column = w + column_of(c, k, m) * CVTM_LBFGSB_TILE;
    for (int r = 0; r < count; ++r) columns[c * BLOCK + r] = column[first[r]];
  }
  for (int r = 0; r < count; ++r)
    columns[2 * k * BLOCK + r] = cvtm_lbfgsb_scaled_gradient(arrays, rows[r]);
  for (int c = 0; c <= 2 * k && count < BLOCK; ++c)
    memset(columns + c * BLOCK + count, 0, (size_t)(BLOCK - count) * sizeof *columns);
}

/* Adds a'b_b to products[b] for b < count, over a block. Column b_b is at columns + b * BLOCK. */
CVTM_INLINE void add_block(const double *a, const double *columns, int count, double *products) {
  const lanes *av = (const lanes *)a;
  for (int b = 0; b < count; b += 4) {
    const int c1 = b + 1 < count ? b + 1 : b, c2 = b + 2 < count ? b + 2 : b,
              c3 = b + 3 < count ? b + 3 : b;
    const lanes *b0 = (const lanes *)(columns + b * BLOCK),
                *b1 = (const lanes *)(columns + c1 * BLOCK),
                *b2 = (const lanes *)(columns + c2 * BLOCK),
                *b3 = (const lanes *)(columns + c3 * BLOCK);
    lanes s[4] = {{0.0}, {0.0}, {0.0}, {0.0}};
    for (int r = 0; r < BLOCK / 4; ++r) {
      s[0] += av[r] * b0[r];
      s[1] += av[r] * b1[r];
      s[2] += av[r] * b2[r];
      s[3] += av[r] * b3[r];
    }
    for (int c = 0; c < 4 && b + c < count; ++c)
      products[b + c] += (s[c][0] + s[c][1]) + (s[c][2] + s[c][3]);
  }
}

CVTM_INLINE void sum_part(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int64_t count,
                          double *columns, double *products) {
  const int size = 2 * arrays->state->count;
  memset(products, 0, (size_t)(size * size + size) * sizeof *products);
  for (int64_t first = 0; first < count; first += BLOCK) {
    const int64_t left = count - first;
    gather_panel(arrays, rows + first, left < BLOCK ? (int)left : BLOCK, columns);
    for (int a = 0; a < size; ++a)
      add_block(columns + a * BLOCK, columns, a + 1, products + a * size);
    add_block(columns + size * BLOCK, columns, size, products + size * size);
  }
}

typedef void (*part_function)(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int64_t count,
                              double *columns, double *products);

CVTM_DEFINE_WIDTHS(void, sum_part,
                   (const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int64_t count,
                    double *columns, double *products),
                   (arrays, rows, count, columns, products))

static cvtm_status grow(cvtm_device *device, panels_cpu *own, size_t count) {
  if (count <= own->capacity) return CVTM_OK;
  free(own->partial);
  own->partial = aligned_alloc(64, (count * sizeof *own->partial + 63) / 64 * 64);
  own->capacity = own->partial ? count : 0;
  if (own->partial) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
}

/* Adds parts of fixed size in order, and so gives the same bits for any number of threads. */
static cvtm_status cpu_gram(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                            const int32_t *rows, int64_t count, double *gram, double *wg) {
  panels_cpu *panels = own;
  const size_t size = 2 * (size_t)arrays->state->count, each = (size * size + size + 7) / 8 * 8;
  const int64_t parts = (count - 1) / PART + 1;
  const int wanted = cvtm_device_threads(device);
  const int threads = wanted < parts ? wanted : (int)parts;
  const size_t space = (size_t)(MOST + 1) * BLOCK;
  const part_function function = cvtm_has_wide_vectors() ? sum_part_wide : sum_part_baseline;
  CVTM_TRY(grow(device, panels, (size_t)parts * each + (size_t)parts * space));
  double *columns = panels->partial + (size_t)parts * each;
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t left = count - part * PART;
    function(arrays, rows + part * PART, left < PART ? left : PART, columns + (size_t)part * space,
             panels->partial + (size_t)part * each);
  }
  memset(gram, 0, size * size * sizeof *gram);
  memset(wg, 0, size * sizeof *wg);
  for (int64_t part = 0; part < parts; ++part) {
    const double *products = panels->partial + (size_t)part * each;
    for (size_t e = 0; e < size * size; ++e) gram[e] += products[e];
    for (size_t e = 0; e < size; ++e) wg[e] += products[size * size + e];
  }
  return CVTM_OK;
}

static cvtm_status cpu_read_rows(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                                 const int32_t *rows, int count, double *w) {
  (void)own;
  return cvtm_lbfgsb_cpu_read_rows(device, arrays, rows, count, w);
}

const cvtm_panels_table cvtm_panels_table_cpu = {
    .open = cpu_open,
    .close = cpu_close,
    .pass = cpu_pass,
    .move = cpu_move,
    .gram = cpu_gram,
    .read_rows = cpu_read_rows,
};
