#include "lcp/grid/grid_cpu_rows.h"

#include <omp.h>

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

/* The norms of row j, left for a sum. */
static void natural_row(const cvtm_grid_top *top, const row_table *rows, const double *x,
                        int64_t j) {
  const cvtm_grid_problem *p = top->problem;
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
  top->partial[3 * j] = row.squares;
  top->partial[3 * j + 1] = row.maximum;
  top->partial[3 * j + 2] = row.rounding;
}

/* Rows are summed one by one and then in order, whatever the number of threads. */
static norms sum_of_rows(const cvtm_grid_top *top) {
  const double *partial = top->partial;
  norms sum = {0, 0, 0};
  for (int64_t j = 0; j < top->shape->height; ++j) {
    sum.squares += partial[3 * j];
    if (!(partial[3 * j + 1] <= sum.maximum)) sum.maximum = partial[3 * j + 1];
    sum.rounding += partial[3 * j + 2];
  }
  return sum;
}

static norms natural_norms(const cvtm_grid_top *top, const double *x) {
  const row_table *rows = rows_of_machine();
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < top->shape->height; ++j) natural_row(top, rows, x, j);
  return sum_of_rows(top);
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
  top->state->loop.limit = limit;
  top->state->loop.go_on = 1;
  return CVTM_OK;
}

static void judge(const cvtm_grid_top *top, norms n, int counted) {
  cvtm_grid_judge(top->state, top->history, n.squares, n.maximum, n.rounding, counted);
}

static cvtm_status measure(const cvtm_grid_top *top, int counted) {
  judge(top, natural_norms(top, top->problem->x), counted);
  return CVTM_OK;
}

/* One colour of row j; `shared` as in row_table. */
static void smooth_row(const cvtm_grid_problem *p, const row_table *rows, int64_t j, int colour,
                       double omega, int shared) {
  if (!p->mask) {
    rows->relax(p, j, colour, omega, shared);
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

/* A pass through the rows of a grid, and what it does besides smoothing. */
typedef struct pass {
  const cvtm_grid_top *top;
  const row_table *rows;
  int smooths;        /* both colours */
  const double *step; /* before that, x moves along d by this step; NULL: it stays */
  /* Afterwards, for rows whose neighbours have their last values too; a thread's part begins at
   * row `first`. */
  void (*settled)(const struct pass *pass, int64_t first, int64_t j);
  const cvtm_grid_level *coarse; /* for `settled` */
} pass;

static void move_row(const pass *s, int64_t j) {
  const cvtm_grid_problem *p = s->top->problem;
  if (!p->mask) {
    s->rows->move(p, j, *s->step);
    return;
  }
  for (int64_t k = j * p->width; k < (j + 1) * p->width; ++k) {
    p->x[k] = cvtm_grid_moved(p, k, *s->step);
  }
}

/* Is there another part beside row j of the part first .. end - 1? */
static int is_shared(const cvtm_grid_problem *p, int64_t first, int64_t end, int64_t j) {
  return (j == first && first > 0) || (j == end - 1 && end < p->height);
}

/* All of it in one march down each thread's part: black follows red one row behind, and so on.
 * What parts need of each other, their outer rows, is done before and after. */
static void march(const pass *s, int64_t first, int64_t end) {
  const cvtm_grid_problem *p = s->top->problem;
  const double omega = s->top->rules.omega;
  if (s->step) {
    for (int64_t j = first; j < end; ++j) {
      if (j == first + 2 && j < end - 2) j = end - 2; /* the others follow in the march */
      move_row(s, j);
    }
#pragma omp barrier
  }
  if (s->smooths) {
    if (first < end) smooth_row(p, s->rows, first, 0, omega, is_shared(p, first, end, first));
    if (first < end - 1)
      smooth_row(p, s->rows, end - 1, 0, omega, is_shared(p, first, end, end - 1));
#pragma omp barrier
  }
  for (int64_t j = first + 1; j <= end && first < end; ++j) {
    if (s->step && j + 1 < end - 2) move_row(s, j + 1);
    if (s->smooths && j < end - 1) smooth_row(p, s->rows, j, 0, omega, 0);
    if (s->smooths) smooth_row(p, s->rows, j - 1, 1, omega, is_shared(p, first, end, j - 1));
    if (s->settled && j - 2 > first) s->settled(s, first, j - 2);
  }
}

/* Threads for parts of enough rows to march in. */
static int marching_threads(const cvtm_grid_top *top) {
  const int64_t most = top->shape->height / 32;
  const int threads = threads_of(top);
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

static cvtm_status smooth(const cvtm_grid_top *top, int sweeps) {
  const pass s = {.top = top, .rows = rows_of_machine(), .smooths = 1};
  const int threads = marching_threads(top);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      int64_t first, end;
      band_of(omp_get_thread_num(), omp_get_num_threads(), top->shape->height, &first, &end);
      march(&s, first, end);
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

/* Do residuals and bounds go to the coarser level row by row? */
static int by_rows(const cvtm_grid_rules *rules, const cvtm_grid_level *coarse) {
  return bilinear(coarse) && !rules->averaged;
}

/* Residuals and changes of few rows are needed at a time: a part keeps its first three, and the
 * last three that have come by, in the first rows of its d. */
enum { KEPT_ROWS = 6, MARCH_ROWS = 16 /* a grid that is worth it */ };

static int64_t place_of(int64_t first, int64_t j) {
  return j - first < 3 ? j - first : 3 + (j - first) % 3;
}

static double *kept_residual(const cvtm_grid_problem *p, int64_t first, int64_t j) {
  return p->d + (first + place_of(first, j)) * p->width;
}

static uint8_t *kept_changes(const cvtm_grid_problem *p, int64_t first, int64_t j) {
  return (uint8_t *)(p->d + (first + KEPT_ROWS) * p->width) + place_of(first, j) * p->width;
}

/* Residuals of row j, 0 where active, and where the active nodes changed. */
static void take_residual(const pass *s, int64_t first, int64_t j, int store) {
  const cvtm_grid_problem *p = s->top->problem;
  double *residual = kept_residual(p, first, j);
  s->rows->residual(p, j, residual);
  s->rows->hold(p, s->top->rules.truncated, j, store, residual, kept_changes(p, first, j));
}

static void take_restriction(const pass *s, int64_t first, int64_t y) {
  const cvtm_grid_problem *p = s->top->problem;
  const double *residual[3] = {NULL, NULL, NULL};
  const uint8_t *changed[3] = {NULL, NULL, NULL};
  for (int64_t dy = 0; dy < 3 && 2 * y + dy < p->height; ++dy) {
    residual[dy] = kept_residual(p, first, 2 * y + dy);
    changed[dy] = kept_changes(p, first, 2 * y + dy);
  }
  s->rows->restrict_rows(s->coarse, p->width, p->height, y, residual);
  if (s->top->rules.bounded) {
    const fine_values fine = {p->width, p->height, p->lower, p->upper, p->x};
    s->rows->room(s->coarse, &fine, s->top->rules.truncated, y);
  }
  s->rows->mark(s->coarse, p->width, y, changed);
}

/* The descent of row j, which may be the last one that a coarse row waits for. */
static void settle_residual(const pass *s, int64_t first, int64_t j) {
  take_residual(s, first, j, j > first);
  if (j % 2 == 0 && j >= first + 4) take_restriction(s, first, j / 2 - 1);
}

/* The descent without masks, by rows. */
static void descend_rows(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const int threads = marching_threads(top);
  const pass s = {.top = top,
                  .rows = rows_of_machine(),
                  .smooths = top->rules.pre > 0,
                  .settled = settle_residual,
                  .coarse = coarse};
  if (top->rules.pre > 1) smooth(top, top->rules.pre - 1);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    int64_t upper, lower; /* coarse rows */
    band_of(omp_get_thread_num(), omp_get_num_threads(), coarse->height, &upper, &lower);
    const int64_t first = 2 * upper, end = lower < coarse->height ? 2 * lower : p->height;
    march(&s, first, end);
#pragma omp barrier
    settle_residual(&s, first, first);
    take_restriction(&s, first, upper);
    settle_residual(&s, first, end - 1);
    if (end % 2 == 0) {
      if (end < p->height) take_residual(&s, first, end, 0);
      take_restriction(&s, first, lower - 1);
    }
    /* The part above has compared its results with the marks of last time. */
#pragma omp barrier
    for (int64_t k = first * p->width; k < (first + 1) * p->width; ++k) {
      p->active[k] = (uint8_t)cvtm_grid_now_active(p, top->rules.truncated, k);
    }
  }
}

static cvtm_status descend(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  if (by_rows(&top->rules, coarse) && !p->mask && p->height >= MARCH_ROWS) {
    descend_rows(top, coarse);
    return CVTM_OK;
  }
  smooth(top, top->rules.pre);
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

/* Threads for a coarse level, whose parts have enough rows to march in. */
static int level_threads(const cvtm_grid_top *top, const cvtm_grid_level *level) {
  const int64_t most = level->width * level->height < ONE_THREAD ? 1 : level->height / 16;
  const int threads = cvtm_device_threads(top->device);
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

/* Which rows of the operator of coarse row y are computed again, if not all of them. */
static void find_due(const row_table *rows, const cvtm_grid_finer *f, const cvtm_grid_level *coarse,
                     int64_t y, uint8_t *due) {
  if (f->problem) {
    rows->due(coarse, y, due);
  } else if (coarse->halved_x && coarse->halved_y) {
    rows->due_below(f->level, coarse, y, due);
  } else {
    for (int64_t x = 0; x < coarse->width; ++x) {
      due[x] = (uint8_t)cvtm_grid_due(f, coarse, x, y, 0);
    }
  }
}

static void galerkin(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                     const cvtm_grid_level *coarse, int all) {
  const row_table *rows = rows_of_machine();
  const cvtm_grid_finer f = finer_of(top, finer);
  const int threads = level_threads(top, coarse);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < coarse->height; ++y) {
    uint8_t *due = coarse->fresh + y * coarse->width;
    if (all) {
      memset(due, 1, (size_t)coarse->width);
    } else {
      find_due(rows, &f, coarse, y, due);
    }
    rows->galerkin(&f, coarse, y, due);
  }
}

static cvtm_status operators(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                             int last, int all) {
  for (int l = first; l <= last; ++l) {
    galerkin(top, l == top->number + 1 ? NULL : &levels[l - 1], &levels[l], all);
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

static void clear_rows(const cvtm_grid_level *level, int64_t first, int64_t end) {
  memset(level->e + first * level->width, 0,
         (size_t)((end - first) * level->width) * sizeof *level->e);
}

/* Residuals of few rows are needed at a time, as on the finest grid. */
static double *kept_rest(const cvtm_grid_level *level, int64_t first, int64_t j) {
  return level->half + (first + place_of(first, j)) * level->width;
}

/* marks: of the rows of the part itself. */
static void take_rest(const cvtm_grid_level *level, const row_table *rows, int64_t first, int64_t j,
                      int marks) {
  if (j < level->height) rows->coarse_residual(level, j, marks, kept_rest(level, first, j));
}

/* `first` is the part's first pair. */
static void restrict_rest(const cvtm_grid_top *top, const cvtm_grid_level *level,
                          const cvtm_grid_level *coarse, int64_t first, int64_t y) {
  const row_table *rows = rows_of_machine();
  if (y >= coarse->height) return;
  const double *fine[3] = {NULL, NULL, NULL};
  for (int64_t dy = 0; dy < 3 && 2 * y + dy < level->height; ++dy) {
    fine[dy] = kept_rest(level, 2 * first, 2 * y + dy);
  }
  rows->restrict_rows(coarse, level->width, level->height, y, fine);
  if (!top->rules.bounded) return;
  const fine_values values = {level->width, level->height, level->lower, level->upper, level->e};
  rows->room(coarse, &values, top->rules.truncated, y);
}

/* A sweep of all four colours, if it `smooths`, down pairs of rows first .. end - 1: an even row,
 * then the odd row before it. A part's first row is done beforehand for the sake of the part
 * above. With `coarse`, residuals and their restriction follow, but for the part's first row and
 * its first and last coarse rows. */
static void sweep(const cvtm_grid_top *top, const cvtm_grid_level *level,
                  const cvtm_grid_level *coarse, int smooths, int64_t first, int64_t end) {
  const row_table *rows = rows_of_machine();
  const int bounded = top->rules.bounded;
  if (smooths) rows->coarse_relax(level, bounded, 2 * first);
#pragma omp barrier
  for (int64_t pair = first + 1; pair <= end; ++pair) {
    const int64_t odd = 2 * pair - 1;
    if (smooths && pair < end) rows->coarse_relax(level, bounded, odd + 1);
    if (smooths && odd < level->height) rows->coarse_relax(level, bounded, odd);
    if (!coarse) continue;
    if (pair > first + 1) take_rest(level, rows, 2 * first, odd - 1, 1);
    if (pair > first + 2) restrict_rest(top, level, coarse, first, pair - 2);
    take_rest(level, rows, 2 * first, odd, 1);
  }
#pragma omp barrier
}

/* e = 0, sweeps, residual and bounds for the next level, by rows. */
static void down_rows(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse) {
  const row_table *rows = rows_of_machine();
  const int threads = level_threads(top, level), last = top->rules.pre > 0 ? top->rules.pre : 1;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    int64_t first, end; /* pairs of rows */
    band_of(omp_get_thread_num(), omp_get_num_threads(), (level->height + 1) / 2, &first, &end);
    const int64_t stop = 2 * end < level->height ? 2 * end : level->height;
    clear_rows(level, 2 * first, stop);
#pragma omp barrier
    for (int k = 1; k <= last; ++k) {
      sweep(top, level, k == last ? coarse : NULL, top->rules.pre > 0, first, end);
    }
    take_rest(level, rows, 2 * first, 2 * first, 1);
    take_rest(level, rows, 2 * first, 2 * end, 0);
    restrict_rest(top, level, coarse, first, first);
    if (end - 1 > first) restrict_rest(top, level, coarse, first, end - 1);
  }
}

static void relax(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  const int threads = level_threads(top, level);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    int64_t first, end;
    band_of(omp_get_thread_num(), omp_get_num_threads(), (level->height + 1) / 2, &first, &end);
    for (int k = 0; k < sweeps; ++k) sweep(top, level, NULL, 1, first, end);
  }
}

static cvtm_status down(const cvtm_grid_top *top, const cvtm_grid_level *level,
                        const cvtm_grid_level *coarse) {
  if (by_rows(&top->rules, coarse)) {
    down_rows(top, level, coarse);
    return CVTM_OK;
  }
  const int threads = level_threads(top, level);
  clear_rows(level, 0, level->height);
  relax(top, level, top->rules.pre);
  if (level->active) {
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t k = 0; k < level->width * level->height; ++k) {
      cvtm_grid_truncate(level, k, level->e[k]);
    }
  }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_down(level, coarse, &top->rules, x, y);
  }
  return CVTM_OK;
}

static cvtm_status up(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse) {
  const row_table *rows = rows_of_machine();
  const int threads = level_threads(top, level);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < level->height; ++y) {
    if (bilinear(coarse)) {
      rows->lift(level, coarse, y);
      continue;
    }
    for (int64_t x = 0; x < level->width; ++x) {
      level->e[y * level->width + x] = cvtm_grid_lifted(level, coarse, x, y);
    }
  }
  relax(top, level, top->rules.post);
  return CVTM_OK;
}

static cvtm_status tail(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                        int last) {
  (void)first; /* the last one is all there is */
  clear_rows(&levels[last], 0, levels[last].height);
  relax(top, &levels[last], cvtm_grid_bottom_sweeps(&levels[last]));
  return CVTM_OK;
}

/* x moved by the correction, or d = the move. */
static void correct_row(const cvtm_grid_top *top, const cvtm_grid_level *coarse,
                        const row_table *rows, int64_t j) {
  const cvtm_grid_problem *p = top->problem;
  if (bilinear(coarse) && !p->mask) {
    rows->correct(p, coarse, top->rules.truncated, top->rules.searched, j);
    return;
  }
  for (int64_t i = 0; i < p->width; ++i) {
    const int64_t k = j * p->width + i;
    const double moved = cvtm_grid_corrected(p, coarse, i, j);
    if (top->rules.searched) {
      p->d[k] = moved - p->x[k];
    } else {
      p->x[k] = moved;
    }
  }
}

static cvtm_status correct(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const row_table *rows = rows_of_machine();
  const int searched = top->rules.searched && top->state->search, threads = marching_threads(top);
  double *partial = top->partial;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    int64_t first, end; /* slope and bend follow one row behind */
    band_of(omp_get_thread_num(), omp_get_num_threads(), p->height, &first, &end);
    for (int64_t j = first; j < end; ++j) {
      correct_row(top, coarse, rows, j);
      const int64_t i = j - 1;
      if (searched && i > first) rows->search(p, i, &partial[2 * i], &partial[2 * i + 1]);
    }
#pragma omp barrier
    if (searched) {
      rows->search(p, first, &partial[2 * first], &partial[2 * first + 1]);
      rows->search(p, end - 1, &partial[2 * end - 2], &partial[2 * end - 1]);
    }
  }
  if (!searched) return CVTM_OK;
  top->state->slope = top->state->bend = 0;
  for (int64_t j = 0; j < p->height; ++j) {
    top->state->slope += partial[2 * j];
    top->state->bend += partial[2 * j + 1];
  }
  return CVTM_OK;
}

static void settle_norms(const pass *s, int64_t first, int64_t j) {
  (void)first;
  natural_row(s->top, s->rows, s->top->problem->x, j);
}

static cvtm_status ascend(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  (void)coarse;
  const int sweeps = top->rules.post, last = sweeps > 1 ? sweeps - 1 : 0;
  const int threads = marching_threads(top);
  const double step = top->rules.searched ? cvtm_grid_step(top->state) : 0.0;
  for (int sweep = 0; sweep <= last; ++sweep) {
    const pass s = {.top = top,
                    .rows = rows_of_machine(),
                    .smooths = sweeps > 0,
                    .step = top->rules.searched && sweep == 0 ? &step : NULL,
                    .settled = sweep == last ? settle_norms : NULL};
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      int64_t first, end;
      band_of(omp_get_thread_num(), omp_get_num_threads(), top->shape->height, &first, &end);
      march(&s, first, end);
      if (s.settled) {
#pragma omp barrier
        s.settled(&s, first, first);
        if (first < end - 1) s.settled(&s, first, end - 1);
      }
    }
  }
  judge(top, sum_of_rows(top), 1);
  return CVTM_OK;
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
  const int wanted = back ? !top->state->loop.improved : top->state->loop.improved;
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

static int chains(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  (void)top;
  (void)coarse;
  return 0;
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
    .operators = operators,
    .weights = weights,
    .down = down,
    .up = up,
    .tail_nodes = 0,
    .tail = tail,
    .correct = correct,
    .ascend = ascend,
    .chains = chains,
    .coarsen_data = coarsen_data,
    .coarsen_links = coarsen_links,
    .prolong_start = prolong_start,
    .keep_best = keep_best,
    .finish = finish,
};
