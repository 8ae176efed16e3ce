/* L-BFGS-B on the CPU: the passes over the rows, also for divided variables and histories of any
 * length; then the phases of iteration.h for short histories, with a heap of breakpoints for the
 * exact Cauchy point. */
#include "base/host.h"
#include "lbfgsb/host_rounds.h"
#include "lbfgsb/lbfgsb_private.h"
#include "lbfgsb/variables.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = CVTM_LBFGSB_TILE, MAX_HISTORY = CVTM_LBFGSB_SHORT };

/* Four partial sums side by side, which are added at the end: the source fixes the order of
 * additions for every vector width of the machine. */
typedef double lanes __attribute__((vector_size(4 * sizeof(double)), may_alias));

int64_t cvtm_lbfgsb_cpu_parts(int64_t n) { return n <= 0 ? 1 : (n - 1) / CVTM_LBFGSB_CPU_PART + 1; }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* A pass over the rows first .. last - 1 of one part. It adds to `result`, whose entries at first
 * are the identities of their reductions. */
typedef void (*part_function)(const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first,
                              int64_t last, double *result);

/* Sets the results of one part to the identities of their reductions, then runs the pass over the
 * part. */
static void reduce_part(const cvtm_lbfgsb_arrays *arrays, const double *q, int entries,
                        part_function function, int64_t part) {
  double *own = arrays->partial + part * entries;
  for (int e = 0; e < entries; ++e) own[e] = cvtm_lbfgsb_identity(e);
  function(arrays, q, part * CVTM_LBFGSB_CPU_PART,
           smaller((part + 1) * CVTM_LBFGSB_CPU_PART, arrays->n), own);
}

/* Runs a pass. Parts of fixed size run in parallel. They are combined in the order of their
 * indices: first the parts of each block, in the memory of its first part, then the blocks. So the
 * result does not depend on the number of threads, or of ranks that have the blocks. nearest:
 * nonzero in pass A. Every reduction is made by this function. */
static void reduce(int threads, const cvtm_lbfgsb_arrays *arrays, const double *q, int entries,
                   part_function function, int nearest, double *result) {
  const int64_t parts = cvtm_lbfgsb_cpu_parts(arrays->n);
  const int64_t block_parts = arrays->block / CVTM_LBFGSB_CPU_PART;
  if (threads > parts) threads = (int)parts;
  if (threads > 1) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t part = 0; part < parts; ++part) reduce_part(arrays, q, entries, function, part);
  } else { /* a team of one thread would take a fifth of the time of a small problem */
    for (int64_t part = 0; part < parts; ++part) reduce_part(arrays, q, entries, function, part);
  }
  for (int64_t first = 0; first < parts; first += block_parts) {
    double *block = arrays->partial + first * entries;
    for (int64_t part = first + 1; part < smaller(first + block_parts, parts); ++part)
      cvtm_lbfgsb_combine_entries(block, arrays->partial + part * entries, entries, nearest);
    if (first == 0)
      memcpy(result, block, (size_t)entries * sizeof *result);
    else
      cvtm_lbfgsb_combine_entries(result, block, entries, nearest);
  }
}

/* --- rows ---------------------------------------------------------------------------- */

static void start_part(const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first,
                       int64_t last, double *result) {
  (void)q;
  for (int64_t i = first; i < last; ++i) cvtm_lbfgsb_start_row(arrays, i, result);
}

static void search_part(const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first,
                        int64_t last, double *result) {
  (void)q;
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  int64_t i = first;
  for (; i + 4 <= last; i += 4) {
    for (int l = 0; l < 4; ++l) sum[l] += arrays->trial_g[i + l] * arrays->d[i + l];
  }
  for (; i < last; ++i) sum[0] += arrays->trial_g[i] * arrays->d[i];
  result[CVTM_SUM_SLOPE] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The rows of a tile in pass A; 0 beyond the last row. */
typedef struct tile_rows {
  _Alignas(32) double s[TILE], y[TILE], g[TILE]; /* g: of the scaled variables; 0 where fixed */
  _Alignas(32) double free[TILE], fixed[TILE];   /* 1 or 0 */
  int any_free, any_fixed;
} tile_rows;

static void classify_row(tile_rows *rows, int r, int is_free, double g) {
  rows->free[r] = is_free ? 1.0 : 0.0;
  rows->fixed[r] = is_free ? 0.0 : 1.0;
  rows->g[r] = is_free ? g : 0.0;
  rows->any_free |= is_free;
  rows->any_fixed |= !is_free;
}

/* Makes the trial point the current point, in the rows of a tile. */
static void update_rows(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                        tile_rows *rows, double *result) {
  double sums[CVTM_SUM_COLUMNS];
  memcpy(sums, result, sizeof sums);
  memset(rows, 0, sizeof *rows);
  for (int64_t i = first; i < last; ++i) {
    const int r = (int)(i - first);
    cvtm_lbfgsb_variable row;
    const cvtm_lbfgsb_pair pair = cvtm_lbfgsb_accept_row(arrays, i, &row);
    const int is_free = cvtm_lbfgsb_is_free(&row);
    rows->s[r] = pair.s;
    rows->y[r] = pair.y;
    cvtm_lbfgsb_add_point(arrays, &row, i, is_free, sums);
    classify_row(rows, r, is_free, row.g);
  }
  sums[CVTM_SUM_FREE_GG] = result[CVTM_SUM_FREE_GG]; /* added by sum_tile */
  memcpy(result, sums, sizeof sums);
}

/* Selects the rows of a tile with 0 < t_i <= t^c, both as free and as fixed rows: their products
 * are moved from the sums over free rows to those over fixed rows. Returns 0 if there are none. */
static int select_restricted_rows(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                                  tile_rows *rows) {
  memset(rows, 0, sizeof *rows);
  for (int64_t i = first; i < last; ++i) {
    const cvtm_lbfgsb_variable row =
        cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], arrays->g[i]);
    double t;
    if (!cvtm_lbfgsb_selects(arrays->state, CVTM_ROWS_LEAVING, &row, &t)) continue;
    const int r = (int)(i - first);
    rows->g[r] = row.g;
    rows->free[r] = rows->fixed[r] = 1.0;
    rows->any_free = rows->any_fixed = 1;
  }
  return rows->any_free;
}

/* --- tiles of W ---------------------------------------------------------------------- */

/* A column of the tile that begins at row `first`. */
static double *tile_column(const cvtm_lbfgsb_arrays *arrays, int64_t first, int column) {
  return arrays->w + cvtm_lbfgsb_at(first, column, arrays->state->history);
}

/* Adds a'b_q to sums[q] for q < count, where b_q is column q of b. */
CVTM_INLINE void add_products(lanes *sums, const double *a, const double *b, int count) {
  const lanes *av = (const lanes *)a;
  int q = 0;
  for (; q + 4 <= count; q += 4) {
    const lanes *b0 = (const lanes *)(b + q * TILE), *b1 = b0 + TILE / 4;
    const lanes *b2 = b1 + TILE / 4, *b3 = b2 + TILE / 4;
    lanes s0 = sums[q], s1 = sums[q + 1], s2 = sums[q + 2], s3 = sums[q + 3];
    for (int r = 0; r < TILE / 4; ++r) {
      const lanes v = av[r];
      s0 += v * b0[r];
      s1 += v * b1[r];
      s2 += v * b2[r];
      s3 += v * b3[r];
    }
    sums[q] = s0;
    sums[q + 1] = s1;
    sums[q + 2] = s2;
    sums[q + 3] = s3;
  }
  for (; q < count; ++q) {
    const lanes *bv = (const lanes *)(b + q * TILE);
    lanes sum = sums[q];
    for (int r = 0; r < TILE / 4; ++r) sum += av[r] * bv[r];
    sums[q] = sum;
  }
}

/* Multiplies the columns by a mask; the result is in `copy`. */
CVTM_INLINE const double *mask_columns(const double *columns, int count, const double *mask,
                                       double *copy) {
  for (int c = 0; c < count; ++c) {
    const lanes *from = (const lanes *)(columns + c * TILE), *by = (const lanes *)mask;
    lanes *to = (lanes *)(copy + c * TILE);
    for (int r = 0; r < TILE / 4; ++r) to[r] = from[r] * by[r];
  }
  return copy;
}

static int has_nonzero(const double *columns, int count) {
  for (int c = 0; c < count; ++c) {
    double sum = 0.0;
    for (int r = 0; r < TILE; ++r) sum += fabs(columns[c * TILE + r]);
    if (sum != 0.0) return 1;
  }
  return 0;
}

/* Adds the products of a tile to Y'Y over free rows, S'S over fixed rows, and S'Y. Entry (p, q) of
 * S'Y is over fixed rows if q is older than p, else over free rows; see cvtm_lbfgsb_layout. Fixed
 * rows rarely move, so most entries of their S are zero and skipped. */
CVTM_INLINE void gram_tile(const cvtm_lbfgsb_state *state, const double *tile,
                           const tile_rows *rows, const cvtm_lbfgsb_layout *layout, lanes *sums) {
  const int k = state->count, m = state->history;
  const double *y = tile, *s = tile + m * TILE;
  _Alignas(32) double copy[MAX_HISTORY * TILE];
  if (rows->any_free) {
    const double *free_y = rows->any_fixed ? mask_columns(y, k, rows->free, copy) : y;
    for (int p = 0; p < k; ++p) {
      add_products(sums + layout->yy + cvtm_lbfgsb_triangle(p, 0), y + p * TILE, free_y, p + 1);
      /* columns not older than p: p to the last, and those before `oldest` if p >= oldest */
      const int end = p >= state->oldest ? k : state->oldest;
      lanes *row = sums + layout->sy + p * m;
      add_products(row + p, s + p * TILE, free_y + p * TILE, end - p);
      if (p >= state->oldest) add_products(row, s + p * TILE, free_y, state->oldest);
    }
  }
  if (!rows->any_fixed) return;
  const double *fixed_s = mask_columns(s, k, rows->fixed, copy);
  if (!has_nonzero(fixed_s, k)) return;
  for (int p = 0; p < k; ++p) {
    add_products(sums + layout->ss + cvtm_lbfgsb_triangle(p, 0), s + p * TILE, fixed_s, p + 1);
    lanes *row = sums + layout->sy + p * m;
    if (p < state->oldest) add_products(row, fixed_s + p * TILE, y, p);
    const int begin = state->oldest;
    const int end = p >= state->oldest ? p : k;
    add_products(row + begin, fixed_s + p * TILE, y + begin * TILE, end - begin);
  }
}

/* Adds a tile to the sums of pass A. */
CVTM_INLINE void sum_tile(const cvtm_lbfgsb_state *state, const double *tile, const tile_rows *rows,
                          int store, const cvtm_lbfgsb_layout *layout, lanes *sums) {
  const int k = state->count, m = state->history;
  const double *y = tile, *s = tile + m * TILE;
  add_products(sums + layout->wg, rows->g, y, k);
  add_products(sums + layout->wg + m, rows->g, s, k);
  if (store) {
    add_products(sums + layout->y_s, rows->s, y, k);
    add_products(sums + layout->s_s, rows->s, s, k);
    if (!state->bounded) {
      add_products(sums + layout->y_y, rows->y, y, k);
      add_products(sums + layout->s_y, rows->y, s, k);
    }
  }
  if (state->bounded) gram_tile(state, tile, rows, layout, sums);
}

CVTM_INLINE void add_lanes(const lanes *sums, int entries, double *result) {
  for (int e = 0; e < entries; ++e)
    result[e] += (sums[e][0] + sums[e][1]) + (sums[e][2] + sums[e][3]);
}

CVTM_INLINE void update_part(const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first,
                             int64_t last, double *result) {
  (void)q;
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, state->bounded);
  lanes sums[CVTM_LBFGSB_MAX_ENTRIES];
  tile_rows rows;
  memset(sums, 0, (size_t)layout.entries * sizeof *sums);
  for (int64_t row = first; row < last; row += TILE) {
    update_rows(arrays, row, smaller(row + TILE, last), &rows, result);
    add_products(sums + CVTM_SUM_FREE_GG, rows.g, rows.g, 1);
    if (state->count == 0) continue;
    if (state->store_pair) {
      memcpy(tile_column(arrays, row, state->newest), rows.y, sizeof rows.y);
      memcpy(tile_column(arrays, row, m + state->newest), rows.s, sizeof rows.s);
      add_products(sums + CVTM_SUM_YY, rows.y, rows.y, 1);
    }
    sum_tile(state, tile_column(arrays, row, 0), &rows, state->store_pair, &layout, sums);
  }
  add_lanes(sums, layout.entries, result);
}

CVTM_INLINE void restrict_part(const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first,
                               int64_t last, double *result) {
  (void)q;
  const cvtm_lbfgsb_state *state = arrays->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, 1);
  lanes sums[CVTM_LBFGSB_MAX_ENTRIES];
  tile_rows rows;
  memset(sums, 0, (size_t)layout.entries * sizeof *sums);
  for (int64_t row = first; row < last; row += TILE) {
    if (!select_restricted_rows(arrays, row, smaller(row + TILE, last), &rows)) continue;
    sum_tile(state, tile_column(arrays, row, 0), &rows, 0, &layout, sums);
  }
  add_lanes(sums, layout.entries, result);
}

CVTM_INLINE void step_part(const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first,
                           int64_t last, double *result) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history, k = state->count;
  const double factor = state->needs_fallback ? state->truncation : 1.0;
  double sums[CVTM_SUM_COLUMNS];
  memcpy(sums, result, sizeof sums);
  for (int64_t begin = first; begin < last; begin += TILE) {
    const double *tile = tile_column(arrays, begin, 0);
    _Alignas(32) double wq[TILE];
    memset(wq, 0, sizeof wq);
    for (int p = 0; p < k; ++p) {
      const double *y = tile + p * TILE, *s = tile + (m + p) * TILE;
      const double qy = q[p], qs = q[m + p];
      for (int r = 0; r < TILE; ++r) wq[r] += y[r] * qy + s[r] * qs;
    }
    for (int64_t i = begin; i < smaller(begin + TILE, last); ++i) {
      const cvtm_lbfgsb_variable row =
          cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], arrays->g[i]);
      cvtm_lbfgsb_step_row(arrays, state, &row, i, arrays->g[i], wq[i - begin], factor, sums);
    }
  }
  memcpy(result, sums, sizeof sums);
}

/* A pass for both widths, which give the same bits. */
#define DEFINE_PASS(name)                                                               \
  CVTM_DEFINE_WIDTHS(void, name,                                                        \
                     (const cvtm_lbfgsb_arrays *arrays, const double *q, int64_t first, \
                      int64_t last, double *result),                                    \
                     (arrays, q, first, last, result))

DEFINE_PASS(update_part)
DEFINE_PASS(restrict_part)
DEFINE_PASS(step_part)

void cvtm_lbfgsb_cpu_pass(int threads, const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_pass pass,
                          const double *q, int entries, double *result) {
  static const struct {
    part_function baseline, wide;
  } functions[] = {[CVTM_PASS_START] = {start_part, start_part},
                   [CVTM_PASS_SEARCH] = {search_part, search_part},
                   [CVTM_PASS_A] = {update_part_baseline, update_part_wide},
                   [CVTM_PASS_RESTRICT] = {restrict_part_baseline, restrict_part_wide},
                   [CVTM_PASS_B] = {step_part_baseline, step_part_wide}};
  reduce(threads, arrays, q, entries,
         cvtm_has_wide_vectors() ? functions[pass].wide : functions[pass].baseline,
         pass == CVTM_PASS_A, result);
}

void cvtm_lbfgsb_cpu_move(int threads, const cvtm_lbfgsb_arrays *arrays) {
  const int64_t n = arrays->n;
  const double step = arrays->state->step;
  if (threads > 1 && n > CVTM_LBFGSB_CPU_PART) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < n; ++i) cvtm_lbfgsb_move_row(arrays, i, step);
  } else {
    for (int64_t i = 0; i < n; ++i) cvtm_lbfgsb_move_row(arrays, i, step);
  }
}

void cvtm_lbfgsb_cpu_read_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double *w) {
  const int m = arrays->state->history;
  for (int c = 0; c < 2 * m; ++c) w[c] = arrays->w[cvtm_lbfgsb_at(i, c, m)];
  w[2 * m] = cvtm_lbfgsb_scaled_gradient(arrays, i);
}

cvtm_status cvtm_lbfgsb_cpu_read_rows(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                                      const int32_t *rows, int count, double *w) {
  (void)device;
  for (int r = 0; r < count; ++r, w += 2 * arrays->state->history + 1)
    cvtm_lbfgsb_cpu_read_row(arrays, rows[r], w);
  return CVTM_OK;
}

/* --- phases of a round, see iteration.h ------------------------------------------------ */

static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result) {
  cvtm_lbfgsb_cpu_pass(on.threads, on.arrays, pass, on.arrays->model->q, entries, result);
}

static void test_trial_point(executor on) {
  const double slope = search_slope(on);
  cvtm_lbfgsb_decide_search(on.arrays->state, on.arrays->values, slope, requested_stop(on));
}

static void update_matrices(executor on) { update_from_sums(on); }

static void read_nearest_row(executor on, double *w) {
  cvtm_lbfgsb_cpu_read_row(on.arrays, on.arrays->state->nearest_row, w);
}

/* Nonzero if breakpoint i of the window precedes breakpoint j, in the order of (t, row). */
static int comes_before(const cvtm_lbfgsb_arrays *a, int64_t i, int64_t j) {
  return a->breakpoints[i] < a->breakpoints[j] ||
         (a->breakpoints[i] == a->breakpoints[j] && a->breakpoint_rows[i] < a->breakpoint_rows[j]);
}

/* Restores the heap below position `at`. The first element is the first breakpoint. */
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

static void list_window(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  int64_t count = 0;
  for (int64_t i = 0; i < arrays->n; ++i) {
    const cvtm_lbfgsb_variable row =
        cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], arrays->g[i]);
    double t;
    if (!cvtm_lbfgsb_selects(arrays->state, CVTM_ROWS_WINDOW, &row, &t)) continue;
    arrays->breakpoints[count] = t;
    arrays->breakpoint_rows[count++] = i;
  }
  for (int64_t at = count / 2; at-- > 0;) sift_down(arrays, at, count);
  on.window->count = count;
}

static int next_breakpoint(executor on, double *t) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  host_window *window = on.window;
  if (window->count == 0) return 0;
  *t = arrays->breakpoints[0];
  cvtm_lbfgsb_cpu_read_row(arrays, arrays->breakpoint_rows[0], window->memory);
  window->row = window->memory;
  const int64_t left = --window->count;
  arrays->breakpoints[0] = arrays->breakpoints[left];
  arrays->breakpoint_rows[0] = arrays->breakpoint_rows[left];
  sift_down(arrays, 0, left);
  return 1;
}

static void move_trial_point(executor on) { cvtm_lbfgsb_cpu_move(on.threads, on.arrays); }

/* --- the table ------------------------------------------------------------------------- */

static int64_t cpu_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)device;
  (void)problems;
  return cvtm_lbfgsb_cpu_parts(n);
}

static cvtm_status cpu_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                             const cvtm_lbfgsb_state *first) {
  const int threads = arrays->problems > 1 ? 1 : cvtm_device_threads(device);
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = cvtm_lbfgsb_problem_arrays(arrays, p, m);
    *one.state = *first;
    cvtm_lbfgsb_cpu_pass(threads, &one, CVTM_PASS_START, NULL, CVTM_SUM_COLUMNS, one.sums);
    cvtm_lbfgsb_init_state(one.state, one.sums);
  }
  return CVTM_OK;
}

/* Runs a round. Returns 1 if the problem needs another round. */
static int run_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int threads) {
  cvtm_status status = CVTM_OK;
  host_window window;
  const executor on = {arrays, device, threads, &status, &window};
  if (arrays->state->running) cvtm_lbfgsb_round(on);
  return arrays->state->running;
}

static cvtm_status cpu_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const int threads = cvtm_device_threads(device);
  int running = 0;
  if (arrays->problems == 1) {
    *arrays->flag = run_round(device, arrays, threads);
    return CVTM_OK;
  }
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) reduction(+ : running)
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one = cvtm_lbfgsb_problem_arrays(arrays, p, m);
    running += run_round(device, &one, 1);
  }
  *arrays->flag = running;
  return CVTM_OK;
}

const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu = {
    .parts = cpu_parts,
    .start = cpu_start,
    .round = cpu_round,
};
