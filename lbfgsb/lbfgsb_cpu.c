#include "base/vectors.h"
#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { PART = 2048, TILE = CVTM_LBFGSB_TILE, MOST = CVTM_LBFGSB_MAX_HISTORY };

/* Four partial sums side by side, which are added up in the end: the order of additions is that
 * of the source whatever the width of the machine's vectors. */
typedef double lanes __attribute__((vector_size(4 * sizeof(double)), may_alias));

static const cvtm_team alone = {0, 1};

static int64_t part_count(int64_t n) { return n <= 0 ? 1 : (n - 1) / PART + 1; }

static int64_t cpu_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)device;
  (void)problems;
  return part_count(n);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* A pass over the rows first .. last - 1 of one part, into `figures`, already neutral. */
typedef void (*part_function)(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                              double *figures);

/* Every reduction goes through here: parts of fixed size in parallel, combined in the order
 * of their indices, so the result does not depend on the number of threads. */
static void reduce(int threads, const cvtm_lbfgsb_arrays *arrays, int entries,
                   part_function function, double *figures) {
  const int64_t parts = part_count(arrays->n);
  if (threads > parts) threads = (int)parts;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t part = 0; part < parts; ++part) {
    double *own = arrays->partial + part * arrays->entries;
    for (int e = 0; e < entries; ++e) own[e] = cvtm_lbfgsb_neutral(e);
    function(arrays, part * PART, smaller((part + 1) * PART, arrays->n), own);
  }
  memcpy(figures, arrays->partial, (size_t)entries * sizeof *figures);
  for (int64_t part = 1; part < parts; ++part) {
    const double *own = arrays->partial + part * arrays->entries;
    for (int e = 0; e < entries; ++e) figures[e] = cvtm_lbfgsb_combine(e, figures[e], own[e]);
  }
}

/* The first breakpoint of all parts of pass A. */
static void reduce_first(const cvtm_lbfgsb_arrays *arrays, double *figures) {
  cvtm_lbfgsb_first first = {HUGE_VAL, HUGE_VAL};
  for (int64_t part = 0; part < part_count(arrays->n); ++part) {
    const double *own = arrays->partial + part * arrays->entries;
    const cvtm_lbfgsb_first other = {own[CVTM_MIN_BREAKPOINT], own[CVTM_FIRST_ROW]};
    first = cvtm_lbfgsb_combine_first(first, other);
  }
  figures[CVTM_MIN_BREAKPOINT] = first.t;
  figures[CVTM_FIRST_ROW] = first.row;
}

/* --- rows ------------------------------------------------------------------------- */

static void start_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                       double *figures) {
  for (int64_t i = first; i < last; ++i) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], 0.0);
    const double x = cvtm_clamp(row.x, row.lower, row.upper);
    if (x != row.x) figures[CVTM_SUM_ACTIVE] += 1.0;
    arrays->x[i] = arrays->trial_x[i] = x;
    arrays->g[i] = arrays->d[i] = 0.0;
  }
}

static void search_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                        double *figures) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  int64_t i = first;
  for (; i + 4 <= last; i += 4) {
    for (int l = 0; l < 4; ++l) sum[l] += arrays->trial_g[i + l] * arrays->d[i + l];
  }
  for (; i < last; ++i) sum[0] += arrays->trial_g[i] * arrays->d[i];
  figures[CVTM_SUM_SLOPE] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* What the rows of a tile contribute; zero beyond the last row. */
typedef struct tile_rows {
  _Alignas(32) double s[TILE], y[TILE], g[TILE]; /* g scaled, zero where fixed */
  _Alignas(32) double free[TILE], fixed[TILE];   /* 1 or 0 */
  int any_free, any_fixed;
} tile_rows;

static void sort_row(tile_rows *rows, int r, int is_free, double g) {
  rows->free[r] = is_free ? 1.0 : 0.0;
  rows->fixed[r] = is_free ? 0.0 : 1.0;
  rows->g[r] = is_free ? g : 0.0;
  rows->any_free |= is_free;
  rows->any_fixed |= !is_free;
}

/* Takes the trial point over in the rows of a tile. */
static void update_rows(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                        tile_rows *rows, double *figures) {
  cvtm_lbfgsb_first found = {figures[CVTM_MIN_BREAKPOINT], figures[CVTM_FIRST_ROW]};
  memset(rows, 0, sizeof *rows);
  for (int64_t i = first; i < last; ++i) {
    const int r = (int)(i - first);
    const double x = arrays->trial_x[i], g = arrays->trial_g[i];
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, x, g);
    rows->s[r] = cvtm_lbfgsb_unscaled(arrays, &row, x - arrays->x[i]);
    rows->y[r] = (g - arrays->g[i]) * row.scale;
    arrays->x[i] = x;
    arrays->g[i] = g;
    const double gradient = cvtm_lbfgsb_projected_gradient(arrays, &row);
    figures[CVTM_MAX_GRADIENT] =
        cvtm_lbfgsb_combine(CVTM_MAX_GRADIENT, figures[CVTM_MAX_GRADIENT], gradient);
    if (x == row.lower || x == row.upper) figures[CVTM_SUM_ACTIVE] += 1.0;
    const int is_free = cvtm_lbfgsb_is_free(&row);
    if (is_free) found = cvtm_lbfgsb_next_first(&row, i, found);
    sort_row(rows, r, is_free, row.g);
  }
  figures[CVTM_MIN_BREAKPOINT] = found.t;
  figures[CVTM_FIRST_ROW] = found.row;
}

/* Of a tile only the rows with 0 < t_i <= t^c, both free and fixed; 0 if there are none. */
static int restrict_rows(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                         tile_rows *rows) {
  memset(rows, 0, sizeof *rows);
  for (int64_t i = first; i < last; ++i) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], arrays->g[i]);
    const double t = cvtm_lbfgsb_breakpoint(&row);
    if (!(t > 0.0 && t <= arrays->state->cauchy)) continue;
    const int r = (int)(i - first);
    rows->g[r] = row.g;
    rows->free[r] = rows->fixed[r] = 1.0;
    rows->any_free = rows->any_fixed = 1;
  }
  return rows->any_free;
}

/* --- tiles of the history ------------------------------------------------------------ */

/* Rounds to what the history can hold. */
static void round_tile(double *values) {
  for (int r = 0; r < TILE; ++r) values[r] = (double)(float)values[r];
}

/* The columns of the tile at row `first`, Y before S: in place, or unpacked into `copy`. */
static const double *view_tile(const cvtm_lbfgsb_arrays *arrays, int64_t first, double *copy) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history;
  const int64_t at = cvtm_lbfgsb_at(first, 0, m);
  if (!state->single) return (const double *)arrays->w + at;
  const float *from = (const float *)arrays->w + at;
  for (int e = 0; e < 2 * m * TILE; ++e) copy[e] = (double)from[e];
  return copy;
}

static void store_column(const cvtm_lbfgsb_arrays *arrays, int64_t first, int column,
                         const double *values) {
  const int64_t at = cvtm_lbfgsb_at(first, column, arrays->state->history);
  if (arrays->state->single) {
    float *to = (float *)arrays->w + at;
    for (int r = 0; r < TILE; ++r) to[r] = (float)values[r];
  } else {
    memcpy((double *)arrays->w + at, values, TILE * sizeof *values);
  }
}

/* sums[q] += a'b_q, q < count; b_q is column q of b. */
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

/* The columns times a mask; `copy` has room for them. */
CVTM_INLINE const double *mask_columns(const double *columns, int count, const double *mask,
                                       double *copy) {
  for (int c = 0; c < count; ++c) {
    const lanes *from = (const lanes *)(columns + c * TILE), *by = (const lanes *)mask;
    lanes *to = (lanes *)(copy + c * TILE);
    for (int r = 0; r < TILE / 4; ++r) to[r] = from[r] * by[r];
  }
  return copy;
}

static int any_nonzero(const double *columns, int count) {
  for (int c = 0; c < count; ++c) {
    double sum = 0.0;
    for (int r = 0; r < TILE; ++r) sum += fabs(columns[c * TILE + r]);
    if (sum != 0.0) return 1;
  }
  return 0;
}

/* The masked Gram matrix of a tile, see cvtm_lbfgsb_layout. Fixed rows rarely move, so their
 * part of S is mostly zero and skipped. What S'Y takes over free rows and what over fixed ones
 * is told apart by age: of the columns q >= p in age, and of q < p. */
CVTM_INLINE void gram_tile(const cvtm_lbfgsb_state *state, const double *tile,
                           const tile_rows *rows, const cvtm_lbfgsb_layout *layout, lanes *sums) {
  const int k = state->count, m = state->history;
  const double *y = tile, *s = tile + m * TILE;
  _Alignas(32) double copy[MOST * TILE];
  if (rows->any_free) {
    const double *free_y = rows->any_fixed ? mask_columns(y, k, rows->free, copy) : y;
    for (int p = 0; p < k; ++p) {
      add_products(sums + layout->yy + cvtm_lbfgsb_triangle(p, 0), y + p * TILE, free_y, p + 1);
      /* Not older than p: from p up to the newest, which may lie before the wrap. */
      const int end = p >= state->oldest ? k : state->oldest;
      lanes *row = sums + layout->sy + p * m;
      add_products(row + p, s + p * TILE, free_y + p * TILE, end - p);
      if (p >= state->oldest) add_products(row, s + p * TILE, free_y, state->oldest);
    }
  }
  if (!rows->any_fixed) return;
  const double *fixed_s = mask_columns(s, k, rows->fixed, copy);
  if (!any_nonzero(fixed_s, k)) return;
  for (int p = 0; p < k; ++p) {
    add_products(sums + layout->ss + cvtm_lbfgsb_triangle(p, 0), s + p * TILE, fixed_s, p + 1);
    lanes *row = sums + layout->sy + p * m;
    if (p < state->oldest) add_products(row, fixed_s + p * TILE, y, p);
    const int begin = state->oldest;
    const int end = p >= state->oldest ? p : k;
    add_products(row + begin, fixed_s + p * TILE, y + begin * TILE, end - begin);
  }
}

/* Pass A's sums over one tile. */
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

CVTM_INLINE void add_lanes(const lanes *sums, int entries, double *figures) {
  for (int e = 0; e < entries; ++e) {
    figures[e] += (sums[e][0] + sums[e][1]) + (sums[e][2] + sums[e][3]);
  }
}

CVTM_INLINE void update_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                             double *figures) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, state->bounded);
  _Alignas(32) double copy[2 * MOST * TILE];
  lanes sums[CVTM_LBFGSB_MAX_ENTRIES];
  tile_rows rows;
  memset(sums, 0, (size_t)layout.entries * sizeof *sums);
  for (int64_t row = first; row < last; row += TILE) {
    update_rows(arrays, row, smaller(row + TILE, last), &rows, figures);
    add_products(sums + CVTM_SUM_FREE_GG, rows.g, rows.g, 1);
    if (state->count == 0) continue;
    if (state->store_pair) {
      if (state->single) {
        round_tile(rows.y);
        round_tile(rows.s);
      }
      store_column(arrays, row, state->newest, rows.y);
      store_column(arrays, row, m + state->newest, rows.s);
      add_products(sums + CVTM_SUM_YY, rows.y, rows.y, 1);
    }
    sum_tile(state, view_tile(arrays, row, copy), &rows, state->store_pair, &layout, sums);
  }
  add_lanes(sums, layout.entries, figures);
}

CVTM_INLINE void restrict_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                               double *figures) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, 1);
  _Alignas(32) double copy[2 * MOST * TILE];
  lanes sums[CVTM_LBFGSB_MAX_ENTRIES];
  tile_rows rows;
  memset(sums, 0, (size_t)layout.entries * sizeof *sums);
  for (int64_t row = first; row < last; row += TILE) {
    if (!restrict_rows(arrays, row, smaller(row + TILE, last), &rows)) continue;
    sum_tile(state, view_tile(arrays, row, copy), &rows, 0, &layout, sums);
  }
  add_lanes(sums, layout.entries, figures);
}

CVTM_INLINE void step_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                           double *figures) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history, k = state->count;
  const double *q = arrays->dense->q;
  const double factor = state->due_fallback ? state->truncation : 1.0;
  _Alignas(32) double copy[2 * MOST * TILE];
  double slope = 0.0, dd = 0.0, largest = HUGE_VAL, truncation = HUGE_VAL;
  for (int64_t begin = first; begin < last; begin += TILE) {
    const double *tile = view_tile(arrays, begin, copy);
    _Alignas(32) double wq[TILE];
    memset(wq, 0, sizeof wq);
    for (int p = 0; p < k; ++p) {
      const double *y = tile + p * TILE, *s = tile + (m + p) * TILE;
      const double qy = q[p], qs = q[m + p];
      for (int r = 0; r < TILE; ++r) wq[r] += y[r] * qy + s[r] * qs;
    }
    for (int64_t i = begin; i < smaller(begin + TILE, last); ++i) {
      const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], arrays->g[i]);
      const double d = cvtm_lbfgsb_direction(state, &row, wq[i - begin], factor, &truncation);
      const double scaled = cvtm_lbfgsb_unscaled(arrays, &row, d);
      arrays->d[i] = d;
      arrays->trial_x[i] = cvtm_lbfgsb_trial(&row, d, 1.0);
      largest = cvtm_lbfgsb_least_step(&row, row.x, d, largest);
      slope += arrays->g[i] * d;
      dd += scaled * scaled;
    }
  }
  figures[CVTM_MIN_STEP] = largest;
  figures[CVTM_MIN_TRUNCATION] = truncation;
  figures[CVTM_SUM_SLOPE] = slope;
  figures[CVTM_SUM_DD] = dd;
}

/* Each pass over the history for any machine, and for one with wide vectors: same bits. */
#define BOTH_WIDTHS(name)                                                                          \
  static void name##_narrow(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,         \
                            double *figures) {                                                     \
    name(arrays, first, last, figures);                                                            \
  }                                                                                                \
  CVTM_WIDE static void name##_wide(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last, \
                                    double *figures) {                                             \
    name(arrays, first, last, figures);                                                            \
  }                                                                                                \
  static part_function choose_##name(void) {                                                       \
    return cvtm_has_wide_vectors() ? name##_wide : name##_narrow;                                  \
  }

BOTH_WIDTHS(update_part)
BOTH_WIDTHS(restrict_part)
BOTH_WIDTHS(step_part)

/* --- phases ------------------------------------------------------------------------- */

static void search(int threads, const cvtm_lbfgsb_arrays *arrays) {
  double slope = 0.0;
  if (arrays->state->running && arrays->state->phase != (int)CVTM_PHASE_RESUME) {
    reduce(threads, arrays, CVTM_SUM_COLUMNS, search_part, arrays->rows);
    slope = arrays->rows[CVTM_SUM_SLOPE];
  }
  cvtm_lbfgsb_decide_search(arrays->state, arrays->values, slope, arrays->orders->stop);
}

/* Row i of column c of W. */
static double read_w(const cvtm_lbfgsb_arrays *arrays, int64_t i, int c) {
  const int64_t at = cvtm_lbfgsb_at(i, c, arrays->state->history);
  return arrays->state->single ? (double)((const float *)arrays->w)[at]
                               : ((const double *)arrays->w)[at];
}

/* The subspace step from `sums`, those of the rows with t_i > t^c. */
static void solve(const cvtm_lbfgsb_arrays *arrays, const cvtm_lbfgsb_layout *layout,
                  const double *sums, int on_first) {
  cvtm_lbfgsb_list_columns(alone, arrays->state, arrays->work);
  const int solved = cvtm_lbfgsb_solve_subspace(alone, arrays->state, arrays->dense, arrays->work,
                                                layout, sums, on_first);
  cvtm_lbfgsb_decide_subspace(alone, arrays->state, solved);
}

/* The row that alone has t_i = t^c leaves the free set. */
static void restrict_first(const cvtm_lbfgsb_arrays *arrays, const cvtm_lbfgsb_layout *layout) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int64_t i = state->first_row;
  double w[2 * MOST];
  for (int c = 0; c < 2 * state->history; ++c) w[c] = read_w(arrays, i, c);
  const double scale = arrays->scale ? arrays->scale[i] : 1.0;
  cvtm_lbfgsb_restrict_row(alone, state, layout, arrays->sums, arrays->rows, w,
                           scale * arrays->g[i]);
  solve(arrays, layout, arrays->rows, 0);
}

static void update(int threads, const cvtm_lbfgsb_arrays *arrays,
                   const cvtm_lbfgsb_layout *layout) {
  cvtm_lbfgsb_state *state = arrays->state;
  cvtm_lbfgsb_dense *dense = arrays->dense;
  cvtm_lbfgsb_work *work = arrays->work;
  if (!state->running || !(state->due_update || state->due_direction)) return;
  if (state->due_update) {
    reduce(threads, arrays, layout->entries, choose_update_part(), arrays->sums);
    reduce_first(arrays, arrays->sums);
  }
  cvtm_lbfgsb_decide_point(state, arrays->sums, arrays->mailbox, arrays->orders->stop);
  if (state->due_update) cvtm_lbfgsb_absorb(alone, state, dense, layout, arrays->sums);
  if (!state->running) return;
  cvtm_lbfgsb_list_columns(alone, state, work);
  const double second =
      state->count > 0 ? cvtm_lbfgsb_model_curvature(alone, state, dense, work) : state->free_gg;
  cvtm_lbfgsb_decide_cauchy(alone, state, dense, work, arrays->walk, second);
  if (state->due_breakpoints) return;
  if (!state->due_restrict) {
    solve(arrays, layout, arrays->sums, 1);
  } else if (state->first_row >= 0) {
    restrict_first(arrays, layout);
  }
}

/* The breakpoints of the window as a heap, the smallest (t, row) first. */
static int comes_before(const cvtm_lbfgsb_arrays *a, int64_t i, int64_t j) {
  return a->breakpoints[i] < a->breakpoints[j] ||
         (a->breakpoints[i] == a->breakpoints[j] && a->breakpoint_rows[i] < a->breakpoint_rows[j]);
}

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

static int64_t list_breakpoints(const cvtm_lbfgsb_arrays *arrays) {
  const cvtm_lbfgsb_state *state = arrays->state;
  int64_t count = 0;
  for (int64_t i = 0; i < arrays->n; ++i) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], arrays->g[i]);
    const double t = cvtm_lbfgsb_breakpoint(&row);
    if (!(t > state->window_start && t <= state->window_end)) continue;
    arrays->breakpoints[count] = t;
    arrays->breakpoint_rows[count++] = i;
  }
  for (int64_t at = count / 2; at-- > 0;) sift_down(arrays, at, count);
  return count;
}

static void walk(const cvtm_lbfgsb_arrays *arrays, const cvtm_lbfgsb_layout *layout) {
  cvtm_lbfgsb_state *state = arrays->state;
  double w[2 * MOST];
  while (state->running && state->due_breakpoints) {
    cvtm_lbfgsb_list_columns(alone, state, arrays->work);
    int64_t left = list_breakpoints(arrays);
    while (left > 0) {
      const double t = arrays->breakpoints[0];
      const int64_t i = arrays->breakpoint_rows[0];
      if (cvtm_lbfgsb_walk_minimum(alone, state, arrays->walk) <= t) break;
      const double scale = arrays->scale ? arrays->scale[i] : 1.0;
      for (int r = 0; r < 2 * state->count; ++r) {
        w[r] = read_w(arrays, i, cvtm_lbfgsb_w_column(state, arrays->work, r));
      }
      cvtm_lbfgsb_walk_to(alone, state, arrays->walk, t, scale * arrays->g[i], w);
      --left;
      arrays->breakpoints[0] = arrays->breakpoints[left];
      arrays->breakpoint_rows[0] = arrays->breakpoint_rows[left];
      sift_down(arrays, 0, left);
    }
    cvtm_lbfgsb_end_window(alone, state, arrays->dense, arrays->work, arrays->walk);
    if (!state->due_breakpoints && !state->due_restrict) solve(arrays, layout, arrays->sums, 0);
  }
}

static void move_trial(int threads, const cvtm_lbfgsb_arrays *arrays) {
  const int64_t n = arrays->n;
  const double step = arrays->state->step;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n > PART)
  for (int64_t i = 0; i < n; ++i) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], 0.0);
    arrays->trial_x[i] = cvtm_lbfgsb_trial(&row, arrays->d[i], step);
  }
}

static void run_round(int threads, const cvtm_lbfgsb_arrays *arrays) {
  cvtm_lbfgsb_state *state = arrays->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  if (!state->running) return;
  search(threads, arrays);
  update(threads, arrays, &layout);
  walk(arrays, &layout);
  if (state->running && state->due_restrict) {
    reduce(threads, arrays, layout.entries, choose_restrict_part(), arrays->rows);
    cvtm_lbfgsb_restrict_sums(alone, state, &layout, arrays->sums, arrays->rows);
    solve(arrays, &layout, arrays->rows, 0);
  }
  if (state->running && state->due_step) {
    reduce(threads, arrays, CVTM_SUM_COLUMNS, choose_step_part(), arrays->rows);
    cvtm_lbfgsb_decide_step(state, arrays->rows);
  }
  if (state->running && state->due_fallback) {
    reduce(threads, arrays, CVTM_SUM_COLUMNS, choose_step_part(), arrays->rows);
    cvtm_lbfgsb_decide_fallback(state, arrays->rows);
  }
  if (state->running && state->due_trial) move_trial(threads, arrays);
}

static cvtm_status cpu_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                             int single) {
  const int threads = arrays->problems > 1 ? 1 : cvtm_device_threads(device);
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one =
        cvtm_lbfgsb_of_problem(arrays, p, m, single ? sizeof(float) : sizeof(double));
    reduce(threads, &one, CVTM_SUM_COLUMNS, start_part, one.sums);
    cvtm_lbfgsb_begin(one.state, one.sums);
  }
  return CVTM_OK;
}

static cvtm_status cpu_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                             int single) {
  const int threads = cvtm_device_threads(device);
  int running = 0;
  if (arrays->problems == 1) {
    run_round(threads, arrays);
    *arrays->flag = arrays->state->running;
    return CVTM_OK;
  }
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) reduction(+ : running)
  for (int64_t p = 0; p < arrays->problems; ++p) {
    const cvtm_lbfgsb_arrays one =
        cvtm_lbfgsb_of_problem(arrays, p, m, single ? sizeof(float) : sizeof(double));
    run_round(1, &one);
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
