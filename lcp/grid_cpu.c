#include "lcp/grid_cpu_rows.h"

#include <omp.h>
#include <string.h>

enum { ONE_THREAD = 8192 }; /* nodes below which waking others costs more than it gains */

static int threads_of(const cvtm_grid_top *top) {
  const int64_t nodes = top->shape->width * top->shape->height;
  return nodes < ONE_THREAD ? 1 : cvtm_device_threads(top->device);
}

static int64_t partials(int64_t width, int64_t height) {
  (void)width;
  return CVTM_GRID_SUMS * height;
}

static cvtm_status start(const cvtm_grid_top *top, int warm, int into_d) {
  const cvtm_grid_problem *p = top->problem;
  double *out = into_d ? p->d : p->x;
  const int64_t count = p->width * p->height;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < count; ++k) {
    const double value = warm ? p->x[k] : 0.0;
    out[k] = cvtm_grid_masked(p, k)
                 ? 0.0
                 : cvtm_grid_clip(value, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
  }
  return CVTM_OK;
}

/* Rows are summed one by one and then in order, whatever the number of threads. */
static norms natural_norms(const cvtm_grid_top *top, const double *x) {
  const cvtm_grid_problem *p = top->problem;
  const row_table *rows = rows_of_machine();
  double *partial = top->partial;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    norms row = {0, 0, 0};
    if (!p->mask) {
      row = rows->natural(p, x, j);
    } else {
      for (int64_t i = 0; i < p->width; ++i) {
        if (cvtm_grid_masked(p, j * p->width + i)) continue;
        const cvtm_grid_natural n = cvtm_grid_natural_residual(p, x, i, j);
        add_natural(&row, n.residual, n.size);
      }
    }
    partial[3 * j] = row.squares;
    partial[3 * j + 1] = row.maximum;
    partial[3 * j + 2] = row.rounding;
  }
  norms sum = {0, 0, 0};
  for (int64_t j = 0; j < p->height; ++j) {
    sum.squares += partial[3 * j];
    if (!(partial[3 * j + 1] <= sum.maximum)) sum.maximum = partial[3 * j + 1];
    sum.rounding += partial[3 * j + 2];
  }
  return sum;
}

static cvtm_status measure_cold(const cvtm_grid_top *top) {
  top->state->cold = sqrt(natural_norms(top, top->problem->d).squares);
  return CVTM_OK;
}

static cvtm_status begin(const cvtm_grid_top *top, const cvtm_grid_course *course) {
  cvtm_grid_begin(top->state, course);
  return CVTM_OK;
}

static cvtm_status resume(const cvtm_grid_top *top, int64_t limit) {
  top->state->course.limit = limit;
  top->state->course.go_on = 1;
  return CVTM_OK;
}

static cvtm_status measure(const cvtm_grid_top *top, int counted) {
  const norms n = natural_norms(top, top->problem->x);
  cvtm_grid_judge(top->state, top->history, n.squares, n.maximum, n.rounding, counted);
  return CVTM_OK;
}

/* One colour of row j. */
static void smooth_row(const cvtm_grid_problem *p, const row_table *rows, int64_t j, int colour,
                       double omega) {
  if (!p->mask) {
    rows->relax(p, j, colour, omega);
    return;
  }
  for (int64_t i = (j + colour) & 1; i < p->width; i += 2) {
    const int64_t k = j * p->width + i;
    if (!cvtm_grid_masked(p, k)) p->x[k] = cvtm_grid_relaxed(p, p->x, i, j, omega);
  }
}

/* The rows of one thread's part. */
static void band_of(int thread, int threads, int64_t rows, int64_t *first, int64_t *end) {
  *first = rows * thread / threads;
  *end = rows * (thread + 1) / threads;
}

/* Both colours in one pass through memory: black follows red one row behind. A part's outer
 * rows turn red first, so that black finds its neighbours in other parts red, too. */
static cvtm_status smooth(const cvtm_grid_top *top, int sweeps) {
  const cvtm_grid_problem *p = top->problem;
  const row_table *rows = rows_of_machine();
  const double omega = top->rules.omega;
  const int threads = p->height < 64 ? 1 : threads_of(top);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      int64_t first, end;
      band_of(omp_get_thread_num(), omp_get_num_threads(), p->height, &first, &end);
      if (first < end) smooth_row(p, rows, first, 0, omega);
      if (first < end - 1) smooth_row(p, rows, end - 1, 0, omega);
#pragma omp barrier
      for (int64_t j = first + 1; j < end; ++j) {
        if (j < end - 1) smooth_row(p, rows, j, 0, omega);
        smooth_row(p, rows, j - 1, 1, omega);
      }
      if (first < end) smooth_row(p, rows, end - 1, 1, omega);
    }
  }
  return CVTM_OK;
}

static cvtm_status free_active(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) {
    p->active[k] = (uint8_t)cvtm_grid_masked(p, k);
  }
  return CVTM_OK;
}

/* Is interpolation bilinear in both directions? */
static int bilinear(const cvtm_grid_level *coarse) {
  return !coarse->weight && coarse->halved_x && coarse->halved_y;
}

/* Residuals of row j into d, 0 where active; returns whether the active nodes changed. */
static int residual_row(const cvtm_grid_problem *p, const row_table *rows, int truncated,
                        int64_t j) {
  const int64_t k = j * p->width;
  const double *x = p->x + k;
  double *out = p->d + k;
  int changed = 0;
  rows->residual(p, j, out);
  for (int64_t i = 0; i < p->width; ++i) {
    const int active = truncated && ((p->lower && x[i] <= p->lower[k + i]) ||
                                     (p->upper && x[i] >= p->upper[k + i]));
    changed |= active != p->active[k + i];
    out[i] = active ? 0.0 : out[i];
  }
  return changed;
}

static void mark_row(const cvtm_grid_problem *p, const cvtm_grid_level *coarse, int truncated,
                     int64_t y) {
  for (int64_t x = 0; x < coarse->width; ++x) {
    int marked = 0;
    for (int64_t j = 2 * y; j < 2 * y + 3 && j < p->height; ++j) {
      for (int64_t i = 2 * x; i < 2 * x + 3 && i < p->width; ++i) {
        const int64_t k = j * p->width + i;
        marked |= cvtm_grid_now_active(p, truncated, k) != p->active[k];
      }
    }
    coarse->marked[y * coarse->width + x] = (uint8_t)marked;
  }
}

/* The descent without bounds and masks, by rows. */
static void descend_rows(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const row_table *rows = rows_of_machine();
  const int64_t w = p->width;
  double *changed = top->partial; /* 1 for rows whose active nodes changed */
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    changed[j] = residual_row(p, rows, top->rules.truncated, j);
  }
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    const double *fine[3];
    int any = 0;
    for (int64_t dy = 0; dy < 3; ++dy) {
      const int inside = 2 * y + dy < p->height;
      fine[dy] = inside ? p->d + (2 * y + dy) * w : NULL;
      any |= inside && changed[2 * y + dy] != 0;
    }
    rows->restrict_rows(coarse, w, p->height, y, fine);
    if (any) {
      mark_row(p, coarse, top->rules.truncated, y);
    } else {
      memset(coarse->marked + y * coarse->width, 0, (size_t)coarse->width);
    }
  }
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    for (int64_t k = j * w; k < (j + 1) * w && changed[j] != 0; ++k) {
      p->active[k] = (uint8_t)cvtm_grid_now_active(p, top->rules.truncated, k);
    }
  }
}

static cvtm_status descend(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  smooth(top, top->rules.pre);
  if (bilinear(coarse) && !p->mask && !top->rules.bounded) {
    descend_rows(top, coarse);
    return CVTM_OK;
  }
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_descend(p, coarse, &top->rules, x, y);
  }
  /* The marks of last time are compared before they are replaced. */
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) {
    p->active[k] = (uint8_t)cvtm_grid_now_active(p, top->rules.truncated, k);
  }
  return CVTM_OK;
}

static cvtm_grid_finer finer_of(const cvtm_grid_top *top, const cvtm_grid_level *finer) {
  const cvtm_grid_finer f = {finer ? NULL : top->problem, finer};
  return f;
}

/* May any row of the operator near coarse row y have changed? */
static int row_due(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y) {
  const uint8_t *flags = f->problem ? c->marked : f->level->fresh;
  const int64_t width = f->problem ? c->width : f->level->width;
  const int64_t height = f->problem ? c->height : f->level->height;
  const int reach = f->problem || f->level->active;
  const int64_t first = f->problem || !c->halved_y ? y : 2 * y;
  const int64_t last = f->problem || !c->halved_y ? y : 2 * y + 2;
  for (int64_t j = first < reach ? 0 : first - reach; j <= last + reach && j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      if (flags[j * width + i]) return 1;
    }
  }
  return 0;
}

static cvtm_status galerkin(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                            const cvtm_grid_level *coarse, int all) {
  const cvtm_grid_finer f = finer_of(top, finer);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    uint8_t *fresh = coarse->fresh + y * coarse->width;
    memset(fresh, 0, (size_t)coarse->width);
    if (!all && !row_due(&f, coarse, y)) continue;
    for (int64_t x = 0; x < coarse->width; ++x) {
      if (!cvtm_grid_due(&f, coarse, x, y, all)) continue;
      fresh[x] = 1;
      cvtm_grid_galerkin(&f, coarse, x, y);
    }
  }
  return CVTM_OK;
}

static cvtm_status weights(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                           const cvtm_grid_level *coarse) {
  const cvtm_grid_finer f = finer_of(top, finer);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->blocks_y; ++y) {
    for (int64_t x = 0; x < coarse->blocks_x; ++x) cvtm_grid_weights(&f, coarse, x, y);
  }
  return CVTM_OK;
}

/* All four colours in one pass: two of an even row, then two of the odd row before it. A part
 * begins at an even row, which is done first for the sake of the part above. */
static void relax(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  const row_table *rows = rows_of_machine();
  const int threads = level->height < 64 ? 1 : threads_of(top), bounded = top->rules.bounded;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      int64_t first, end;
      band_of(omp_get_thread_num(), omp_get_num_threads(), (level->height + 1) / 2, &first, &end);
      for (int64_t pair = first; pair <= end; ++pair) {
        for (int colour = 0; colour < 2 && pair < end; ++colour) {
          rows->coarse_relax(level, bounded, 2 * pair, colour);
        }
        if (pair == first) {
#pragma omp barrier
          continue;
        }
        for (int colour = 0; colour < 2 && 2 * pair - 1 < level->height; ++colour) {
          rows->coarse_relax(level, bounded, 2 * pair - 1, colour);
        }
      }
    }
  }
}

static void clear(const cvtm_grid_level *level) {
  memset(level->e, 0, (size_t)(level->width * level->height) * sizeof *level->e);
}

static void truncate_level(const cvtm_grid_top *top, const cvtm_grid_level *level) {
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) if (level->height > 32)
  for (int64_t k = 0; k < level->width * level->height; ++k) {
    cvtm_grid_truncate(level, k, level->e[k]);
  }
}

static cvtm_status down(const cvtm_grid_top *top, const cvtm_grid_level *level,
                        const cvtm_grid_level *coarse) {
  const row_table *rows = rows_of_machine();
  const int by_rows = bilinear(coarse) && !top->rules.bounded;
  clear(level);
  relax(top, level, top->rules.pre);
  if (level->active) truncate_level(top, level);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) if (level->height > 32)
  for (int64_t y = 0; y < (by_rows ? level->height : 0); ++y) {
    rows->coarse_residual(level, y, level->half + y * level->width);
  }
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) if (level->height > 32)
  for (int64_t y = 0; y < coarse->height; ++y) {
    if (by_rows) {
      const double *fine[3];
      for (int64_t dy = 0; dy < 3; ++dy) {
        fine[dy] = 2 * y + dy < level->height ? level->half + (2 * y + dy) * level->width : NULL;
      }
      rows->restrict_rows(coarse, level->width, level->height, y, fine);
      continue;
    }
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_down(level, coarse, &top->rules, x, y);
  }
  return CVTM_OK;
}

static cvtm_status up(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse) {
  const row_table *rows = rows_of_machine();
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) if (level->height > 32)
  for (int64_t y = 0; y < level->height; ++y) {
    double *e = level->e + y * level->width, *more = level->half + y * level->width;
    if (bilinear(coarse) && !level->active) {
      rows->prolong(coarse, coarse->e, level->width, y, more);
      for (int64_t x = 0; x < level->width; ++x) e[x] += more[x];
    } else {
      for (int64_t x = 0; x < level->width; ++x) {
        e[x] = cvtm_grid_lifted(level, coarse, x, y);
      }
    }
  }
  relax(top, level, top->rules.post);
  return CVTM_OK;
}

static cvtm_status tail(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                        const cvtm_grid_level *levels, int first, int last) {
  for (int l = first; l <= last; ++l) {
    galerkin(top, l == first ? finer : &levels[l - 1], &levels[l], 0);
    if (l < last) down(top, &levels[l], &levels[l + 1]);
  }
  clear(&levels[last]);
  relax(top, &levels[last], CVTM_GRID_BOTTOM_SWEEPS);
  for (int l = last - 1; l >= first; --l) up(top, &levels[l], &levels[l + 1]);
  return CVTM_OK;
}

/* d of row j: what is left of the interpolated correction within the bounds. */
static void correct_row(const cvtm_grid_problem *p, const cvtm_grid_level *coarse,
                        const row_table *rows, int64_t j) {
  const int64_t k = j * p->width;
  const double *x = p->x + k;
  double *d = p->d + k;
  rows->prolong(coarse, coarse->e, p->width, j, d);
  for (int64_t i = 0; i < p->width; ++i) {
    const double moved =
        cvtm_grid_clip(x[i] + d[i], cvtm_grid_lower(p, k + i), cvtm_grid_upper(p, k + i));
    d[i] = p->active[k + i] ? 0.0 : moved - x[i];
  }
}

static cvtm_status correct(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const row_table *rows = rows_of_machine();
  const int searched = top->rules.searched;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    if (searched && bilinear(coarse)) {
      correct_row(p, coarse, rows, j);
      continue;
    }
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      const double moved = cvtm_grid_corrected(p, coarse, i, j);
      if (searched) {
        p->d[k] = moved - p->x[k];
      } else {
        p->x[k] = moved;
      }
    }
  }
  if (!searched) return CVTM_OK;
  double *partial = top->partial;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    rows->search(p, j, &partial[2 * j], &partial[2 * j + 1]);
  }
  top->state->slope = top->state->bend = 0;
  for (int64_t j = 0; j < p->height; ++j) {
    top->state->slope += partial[2 * j];
    top->state->bend += partial[2 * j + 1];
  }
  return CVTM_OK;
}

static cvtm_status ascend(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  (void)coarse;
  const cvtm_grid_problem *p = top->problem;
  if (top->rules.searched) {
    const double step = cvtm_grid_step(top->state);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
    for (int64_t k = 0; k < p->width * p->height; ++k) p->x[k] = cvtm_grid_moved(p, k, step);
  }
  smooth(top, top->rules.post);
  return measure(top, 1);
}

static cvtm_status coarsen_data(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                const cvtm_grid_level *level) {
  const cvtm_grid_problem *c = coarse->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < c->height; ++y) {
    for (int64_t x = 0; x < c->width; ++x) cvtm_grid_coarsen_data(top->problem, c, level, x, y);
  }
  return CVTM_OK;
}

static cvtm_status coarsen_links(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                 const cvtm_grid_level *level) {
  const cvtm_grid_problem *c = coarse->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y <= c->height; ++y) {
    for (int64_t x = 0; x <= c->width; ++x) cvtm_grid_coarsen_links(top->problem, c, level, x, y);
  }
  return CVTM_OK;
}

static cvtm_status prolong_start(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                 const cvtm_grid_level *level) {
  const cvtm_grid_problem *p = top->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    for (int64_t i = 0; i < p->width; ++i) {
      p->x[j * p->width + i] = cvtm_grid_started(p, level, coarse->problem->x, i, j);
    }
  }
  return CVTM_OK;
}

static cvtm_status keep_best(const cvtm_grid_top *top, int back) {
  const cvtm_grid_problem *p = top->problem;
  const int wanted = back ? !top->state->course.improved : top->state->course.improved;
  if (!wanted) return CVTM_OK;
  const double *from = back ? p->d : p->x;
  double *to = back ? p->x : p->d;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) to[k] = from[k];
  return CVTM_OK;
}

static cvtm_status finish(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
  double *partial = top->partial;
  int64_t lower = 0, upper = 0;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) reduction(+ : lower, upper)
  for (int64_t j = 0; j < p->height; ++j) {
    partial[j] = 0;
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      if (cvtm_grid_masked(p, k)) continue;
      partial[j] += cvtm_grid_energy(p, i, j);
      lower += p->x[k] <= cvtm_grid_lower(p, k);
      upper += p->x[k] >= cvtm_grid_upper(p, k);
    }
  }
  top->state->energy = 0;
  for (int64_t j = 0; j < p->height; ++j) top->state->energy += partial[j];
  top->state->active_lower = lower;
  top->state->active_upper = upper;
  return CVTM_OK;
}

const cvtm_grid_table cvtm_grid_table_cpu = {
    .partials = partials,
    .start = start,
    .measure_cold = measure_cold,
    .begin = begin,
    .resume = resume,
    .measure = measure,
    .smooth = smooth,
    .free_active = free_active,
    .descend = descend,
    .galerkin = galerkin,
    .weights = weights,
    .down = down,
    .up = up,
    .tail_nodes = 0,
    .tail = tail,
    .correct = correct,
    .ascend = ascend,
    .coarsen_data = coarsen_data,
    .coarsen_links = coarsen_links,
    .prolong_start = prolong_start,
    .keep_best = keep_best,
    .finish = finish,
};
