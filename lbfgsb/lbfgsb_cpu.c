#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

#include <string.h>

enum { PART = 4096, TILE = CVTM_LBFGSB_TILE, MOST = CVTM_LBFGSB_MAX_HISTORY };

static int64_t cpu_parts(int64_t n) { return n <= 0 ? 1 : (n - 1) / PART + 1; }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* A pass over the rows first .. last - 1 of one part, into `figures`, already neutral. */
typedef void (*part_function)(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                              double *figures);

/* Every reduction goes through here: parts of fixed size in parallel, combined in the order
 * of their indices, so the result does not depend on the number of threads. */
static void reduce(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int entries,
                   part_function function, double *figures) {
  const int64_t parts = cpu_parts(arrays->n);
  int threads = cvtm_device_threads(device);
  if (threads > parts) threads = (int)parts;
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t part = 0; part < parts; ++part) {
    double *own = arrays->partial + part * entries;
    for (int e = 0; e < entries; ++e) own[e] = cvtm_lbfgsb_neutral(e);
    function(arrays, part * PART, smaller((part + 1) * PART, arrays->n), own);
  }
  memcpy(figures, arrays->partial, (size_t)entries * sizeof *figures);
  for (int64_t part = 1; part < parts; ++part) {
    const double *own = arrays->partial + part * entries;
    for (int e = 0; e < entries; ++e) figures[e] = cvtm_lbfgsb_combine(e, figures[e], own[e]);
  }
}

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

static cvtm_status cpu_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  reduce(device, arrays, CVTM_SUM_COLUMNS, start_part, arrays->sums);
  cvtm_lbfgsb_begin(arrays->state);
  return CVTM_OK;
}

static void search_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                        double *figures) {
  double sum = 0.0;
  for (int64_t i = first; i < last; ++i) sum += arrays->trial_g[i] * arrays->d[i];
  figures[CVTM_SUM_SLOPE] = sum;
}

static cvtm_status cpu_search(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  reduce(device, arrays, CVTM_SUM_COLUMNS, search_part, arrays->rows);
  cvtm_lbfgsb_decide_search(arrays->state, arrays->values, arrays->rows[CVTM_SUM_SLOPE],
                            *arrays->request);
  return CVTM_OK;
}

/* A tile of pass A: what its rows add, given which of them are free and which fixed. */
typedef struct tile_masks {
  double free[TILE], fixed[TILE]; /* 1 or 0 */
  int any_free, any_fixed, all_free;
} tile_masks;

/* Four partial sums in fixed places, which compilers turn into vectors. */
static double dot_tile(const double *a, const double *b) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  for (int r = 0; r < TILE; r += 4) {
    for (int l = 0; l < 4; ++l) sum[l] += a[r + l] * b[r + l];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The columns times a mask; `copy` has room for them. */
static const double *mask_columns(const double *columns, int count, const double *mask,
                                  double *copy) {
  for (int c = 0; c < count; ++c) {
    for (int r = 0; r < TILE; ++r) copy[c * TILE + r] = columns[c * TILE + r] * mask[r];
  }
  return copy;
}

static int any_nonzero(const double *columns, int count) {
  for (int i = 0; i < count * TILE; ++i) {
    if (columns[i] != 0.0) return 1;
  }
  return 0;
}

/* The masked Gram matrix of a tile, see cvtm_lbfgsb_layout. Fixed rows rarely move, so their
 * part of S is mostly zero and skipped. */
static void gram_tile(const cvtm_lbfgsb_state *state, const double *tile, const tile_masks *masks,
                      const cvtm_lbfgsb_layout *layout, double *figures) {
  const int k = state->count, m = state->history;
  const double *y = tile, *s = tile + m * TILE;
  double copy[MOST * TILE];
  if (masks->any_free) {
    const double *free_y = masks->all_free ? y : mask_columns(y, k, masks->free, copy);
    for (int p = 0; p < k; ++p) {
      for (int q = 0; q <= p; ++q) {
        figures[layout->yy + cvtm_lbfgsb_triangle(p, q)] +=
            dot_tile(free_y + p * TILE, free_y + q * TILE);
      }
      for (int q = 0; q < k; ++q) {
        if (cvtm_lbfgsb_age(state, p) > cvtm_lbfgsb_age(state, q)) continue;
        figures[layout->sy + p * m + q] += dot_tile(s + p * TILE, free_y + q * TILE);
      }
    }
  }
  if (!masks->any_fixed) return;
  const double *fixed_s = mask_columns(s, k, masks->fixed, copy);
  if (!any_nonzero(fixed_s, k)) return;
  for (int p = 0; p < k; ++p) {
    for (int q = 0; q <= p; ++q) {
      figures[layout->ss + cvtm_lbfgsb_triangle(p, q)] +=
          dot_tile(fixed_s + p * TILE, fixed_s + q * TILE);
    }
    for (int q = 0; q < k; ++q) {
      if (cvtm_lbfgsb_age(state, p) <= cvtm_lbfgsb_age(state, q)) continue;
      figures[layout->sy + p * m + q] += dot_tile(fixed_s + p * TILE, y + q * TILE);
    }
  }
}

/* Takes the trial point over in the rows of a tile; s, y and the gradient go to local tiles,
 * zero beyond the last row. */
static void update_rows(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last, double *s,
                        double *y, double *free_g, tile_masks *masks, double *figures) {
  memset(masks, 0, sizeof *masks);
  memset(s, 0, TILE * sizeof *s);
  memset(y, 0, TILE * sizeof *y);
  memset(free_g, 0, TILE * sizeof *free_g);
  for (int64_t i = first; i < last; ++i) {
    const int r = (int)(i - first);
    const double x = arrays->trial_x[i], g = arrays->trial_g[i];
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, x, g);
    s[r] = (x - arrays->x[i]) / row.scale;
    y[r] = (g - arrays->g[i]) * row.scale;
    arrays->x[i] = x;
    arrays->g[i] = g;
    const double t = cvtm_lbfgsb_breakpoint(&row);
    const double gradient = cvtm_lbfgsb_projected_gradient(&row);
    figures[CVTM_MAX_GRADIENT] =
        cvtm_lbfgsb_combine(CVTM_MAX_GRADIENT, figures[CVTM_MAX_GRADIENT], gradient);
    if (x == row.lower || x == row.upper) figures[CVTM_SUM_ACTIVE] += 1.0;
    if (t > 0.0) {
      figures[CVTM_MIN_BREAKPOINT] =
          cvtm_lbfgsb_combine(CVTM_MIN_BREAKPOINT, figures[CVTM_MIN_BREAKPOINT], t);
      masks->free[r] = 1.0;
      masks->any_free = 1;
      free_g[r] = row.g;
    } else {
      masks->fixed[r] = 1.0;
      masks->any_fixed = 1;
    }
  }
  masks->all_free = !masks->any_fixed;
}

static void update_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                        double *figures) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history, k = state->count;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, state->bounded);
  double s[TILE], y[TILE], free_g[TILE];
  tile_masks masks;
  for (int64_t row = first; row < last; row += TILE) {
    update_rows(arrays, row, smaller(row + TILE, last), s, y, free_g, &masks, figures);
    figures[CVTM_SUM_FREE_GG] += dot_tile(free_g, free_g);
    if (k == 0) continue;
    double *tile = arrays->w + cvtm_lbfgsb_at(row, 0, m);
    if (state->store_pair) {
      memcpy(tile + state->newest * TILE, y, sizeof y);
      memcpy(tile + (m + state->newest) * TILE, s, sizeof s);
      figures[CVTM_SUM_YY] += dot_tile(y, y);
    }
    for (int p = 0; p < k; ++p) {
      const double *column_y = tile + p * TILE, *column_s = tile + (m + p) * TILE;
      figures[layout.wg + p] += dot_tile(column_y, free_g);
      figures[layout.wg + m + p] += dot_tile(column_s, free_g);
      if (!state->store_pair) continue;
      figures[layout.y_s + p] += dot_tile(column_y, s);
      figures[layout.s_s + p] += dot_tile(column_s, s);
      if (state->bounded) continue;
      figures[layout.y_y + p] += dot_tile(column_y, y);
      figures[layout.s_y + p] += dot_tile(column_s, y);
    }
    if (state->bounded) gram_tile(state, tile, &masks, &layout, figures);
  }
}

static cvtm_status cpu_update(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, arrays->state->bounded);
  if (arrays->state->running && arrays->state->due_update) {
    reduce(device, arrays, layout.entries, update_part, arrays->sums);
  }
  cvtm_lbfgsb_decide_direction(arrays->state, arrays->dense, &layout, arrays->sums,
                               *arrays->request);
  return CVTM_OK;
}

static void restrict_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                          double *figures) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history, k = state->count;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, 1);
  for (int64_t begin = first; begin < last; begin += TILE) {
    tile_masks masks;
    double g[TILE];
    memset(&masks, 0, sizeof masks);
    memset(g, 0, sizeof g);
    for (int64_t i = begin; i < smaller(begin + TILE, last); ++i) {
      const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], arrays->g[i]);
      const double t = cvtm_lbfgsb_breakpoint(&row);
      if (!(t > 0.0 && t <= state->cauchy)) continue;
      const int r = (int)(i - begin);
      g[r] = row.g;
      masks.free[r] = masks.fixed[r] = 1.0;
      masks.any_free = masks.any_fixed = 1;
    }
    if (!masks.any_free) continue;
    const double *tile = arrays->w + cvtm_lbfgsb_at(begin, 0, m);
    for (int p = 0; p < k; ++p) {
      figures[layout.wg + p] += dot_tile(tile + p * TILE, g);
      figures[layout.wg + m + p] += dot_tile(tile + (m + p) * TILE, g);
    }
    gram_tile(state, tile, &masks, &layout, figures);
  }
}

static cvtm_status cpu_restrict(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  if (!arrays->state->running || !arrays->state->due_restrict) return CVTM_OK;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, 1);
  reduce(device, arrays, layout.entries, restrict_part, arrays->rows);
  cvtm_lbfgsb_decide_restrict(arrays->state, arrays->dense, &layout, arrays->sums, arrays->rows);
  return CVTM_OK;
}

static void step_part(const cvtm_lbfgsb_arrays *arrays, int64_t first, int64_t last,
                      double *figures) {
  const cvtm_lbfgsb_state *state = arrays->state;
  const int m = state->history, k = state->count;
  const double *q = arrays->dense->q;
  const double factor = state->due_fallback ? state->truncation : 1.0;
  for (int64_t begin = first; begin < last; begin += TILE) {
    const double *tile = arrays->w + cvtm_lbfgsb_at(begin, 0, m);
    double wq[TILE];
    memset(wq, 0, sizeof wq);
    for (int p = 0; p < k; ++p) {
      const double *y = tile + p * TILE, *s = tile + (m + p) * TILE;
      for (int r = 0; r < TILE; ++r) wq[r] += y[r] * q[p] + s[r] * q[m + p];
    }
    for (int64_t i = begin; i < smaller(begin + TILE, last); ++i) {
      const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], arrays->g[i]);
      double truncation;
      const double d = cvtm_lbfgsb_direction(state, &row, wq[i - begin], factor, &truncation);
      const double largest = cvtm_lbfgsb_largest_step(&row, row.x, d);
      arrays->d[i] = d;
      arrays->trial_x[i] = cvtm_lbfgsb_trial(&row, d, 1.0);
      figures[CVTM_MIN_STEP] = cvtm_lbfgsb_combine(CVTM_MIN_STEP, figures[CVTM_MIN_STEP], largest);
      figures[CVTM_MIN_TRUNCATION] =
          cvtm_lbfgsb_combine(CVTM_MIN_TRUNCATION, figures[CVTM_MIN_TRUNCATION], truncation);
      figures[CVTM_SUM_SLOPE] += arrays->g[i] * d;
      figures[CVTM_SUM_DD] += (d / row.scale) * (d / row.scale);
    }
  }
}

static cvtm_status cpu_step(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  if (!arrays->state->running || !arrays->state->due_step) return CVTM_OK;
  reduce(device, arrays, CVTM_SUM_COLUMNS, step_part, arrays->rows);
  cvtm_lbfgsb_decide_step(arrays->state, arrays->rows);
  return CVTM_OK;
}

static cvtm_status cpu_fall_back(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  if (!arrays->state->running || !arrays->state->due_fallback) return CVTM_OK;
  reduce(device, arrays, CVTM_SUM_COLUMNS, step_part, arrays->rows);
  cvtm_lbfgsb_decide_fallback(arrays->state, arrays->rows);
  return CVTM_OK;
}

static cvtm_status cpu_trial(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  if (!arrays->state->running || !arrays->state->due_trial) return CVTM_OK;
  const int64_t n = arrays->n;
  const double step = arrays->state->step;
  const int threads = cvtm_device_threads(device);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (n > PART)
  for (int64_t i = 0; i < n; ++i) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(arrays, i, arrays->x[i], 0.0);
    arrays->trial_x[i] = cvtm_lbfgsb_trial(&row, arrays->d[i], step);
  }
  return CVTM_OK;
}

const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu = {
    .parts = cpu_parts,
    .start = cpu_start,
    .search = cpu_search,
    .update = cpu_update,
    .restrict_rows = cpu_restrict,
    .step = cpu_step,
    .fall_back = cpu_fall_back,
    .trial = cpu_trial,
};
