/* The CPU's table of phases.
 *
 * On the five-point problem a thread passes once down its band of consecutive lines in each phase:
 * black nodes are relaxed one line behind red nodes, and residuals and norms are computed behind
 * black nodes, so that a line is still in the cache when it is read again. On coarse levels the
 * threads do so with pairs of lines. grid_lines.c has the work on one line. */
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_lines.h"
#include "lcp/grid/grid_node.h"

#include <omp.h>
#include <string.h>

enum { MIN_PASS_LINES = 16 }; /* grids with fewer lines are restricted node by node */
enum { ONE_THREAD = 8192 };   /* number of nodes below which a second thread does not pay */

/* The number of threads for loops over the nodes of the problem. */
static int threads_of(const cvtm_grid_top *top) {
  const int64_t nodes = top->shape->width * top->shape->height;
  return nodes < ONE_THREAD ? 1 : cvtm_device_threads(top->device);
}

/* Runs the statement for every node (i, j) of a grid, by lines in parallel. */
#define FOR_NODES(threads, width, height, statement)                                           \
  do {                                                                                         \
    const int64_t width_ = (width), height_ = (height);                                        \
    const int threads_ = (threads);                                                            \
    _Pragma("omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)") for ( \
        int64_t j = 0; j < height_; ++j) {                                                     \
      for (int64_t i = 0; i < width_; ++i) {                                                   \
        statement;                                                                             \
      }                                                                                        \
    }                                                                                          \
  } while (0)

/* Lines first .. end - 1 of a grid or, on coarse levels, pairs of lines, which belong to one
 * thread. */
typedef struct band {
  int64_t first, end;
} band;

/* The band of the calling thread of a parallel region, out of `lines` lines. */
static band band_of_thread(int64_t lines) {
  const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
  const band own = {lines * thread / threads, lines * (thread + 1) / threads};
  return own;
}

/* The number of threads such that the band of each has at least 32 lines. */
static int band_threads(const cvtm_grid_top *top) {
  const int64_t most = top->shape->height / 32;
  const int threads = threads_of(top);
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

/* The number of threads on a coarse level such that the band of each has at least 16 lines. */
static int level_threads(const cvtm_grid_top *top, const cvtm_grid_level *level) {
  const int64_t most = level->width * level->height < ONE_THREAD ? 1 : level->height / 16;
  const int threads = cvtm_device_threads(top->device);
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

/* True if interpolation is bilinear. */
static int bilinear(const cvtm_grid_level *coarse) {
  return !coarse->weight && coarse->halved_x && coarse->halved_y;
}

/* A band stores few lines of residuals at a time: its first three, and the last three that it has
 * computed. slot_of: the slot of line j of a band that begins at `first`. */
enum { LINE_SLOTS = 6 };
static int64_t slot_of(int64_t first, int64_t j) {
  return j - first < 3 ? j - first : 3 + (j - first) % 3;
}

/* ------ the five-point problem ------ */

/* --- norms --- */

/* Stores the norms of line j in top->partial. */
static void measure_line(const cvtm_grid_top *top, const double *x, int64_t j) {
  const cvtm_grid_problem *p = top->problem;
  cvtm_grid_norms sum = {0, 0, 0};
  if (!p->mask) {
    cvtm_grid_lines_of_machine()->measure(p, x, j, &sum);
  } else {
    for (int64_t i = 0; i < p->width; ++i) cvtm_grid_add_node_natural(p, x, i, j, &sum);
  }
  top->partial[3 * j] = sum.squares;
  top->partial[3 * j + 1] = sum.maximum;
  top->partial[3 * j + 2] = sum.rounding;
}

static cvtm_grid_norms sum_of_partials(const cvtm_grid_top *top) {
  const double *partial = top->partial;
  cvtm_grid_norms sum = {0, 0, 0};
  for (int64_t j = 0; j < top->shape->height; ++j) {
    sum.squares += partial[3 * j];
    if (!(partial[3 * j + 1] <= sum.maximum)) sum.maximum = partial[3 * j + 1];
    sum.rounding += partial[3 * j + 2];
  }
  return sum;
}

static cvtm_grid_norms measure_lines(const cvtm_grid_top *top, const double *x) {
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < top->shape->height; ++j) measure_line(top, x, j);
  return sum_of_partials(top);
}

static void check_norms(const cvtm_grid_top *top, cvtm_grid_norms n, int counted) {
  cvtm_grid_check(top->state, top->history, n.squares, n.maximum, n.rounding, counted);
}

/* --- a pass down a band --- */

typedef struct pass {
  const cvtm_grid_top *top;
  const cvtm_grid_lines *lines;
  const double *step; /* if not NULL, the step by which x moves along d before the sweep */
  /* if not NULL, called for each line once x is final there and on both neighbouring lines */
  void (*finished)(const struct pass *pass, int64_t first, int64_t j);
  const cvtm_grid_level *coarse; /* for `finished` */
} pass;

/* Relaxes one colour of line j; `shared` as in cvtm_grid_lines. */
static void relax_line(const pass *s, int64_t j, int colour, int shared) {
  const cvtm_grid_problem *p = s->top->problem;
  const double omega = s->top->omega;
  if (!p->mask) {
    s->lines->relax(p, j, colour, omega, shared);
    return;
  }
  for (int64_t i = (j + colour) & 1; i < p->width; i += 2) {
    const int64_t k = j * p->width + i;
    if (!cvtm_grid_masked(p, k)) p->x[k] = cvtm_grid_relaxed(p, p->x, i, j, omega);
  }
}

static void step_line(const pass *s, int64_t j) {
  const cvtm_grid_problem *p = s->top->problem;
  if (!p->mask) {
    s->lines->step(p, j, *s->step);
    return;
  }
  for (int64_t k = j * p->width; k < (j + 1) * p->width; ++k)
    p->x[k] = cvtm_grid_stepped(p, k, *s->step);
}

/* True if line j is next to a band other than first .. end - 1. */
static int is_shared(const cvtm_grid_problem *p, int64_t first, int64_t end, int64_t j) {
  return (j == first && first > 0) || (j == end - 1 && end < p->height);
}

/* The pass of one band, called by all threads. A band reads the nearest line of each neighbouring
 * band. Red nodes on the first and last lines of all bands are therefore relaxed before the pass,
 * and the caller calls `finished` for these lines after it. */
static void sweep_band(const pass *s, int64_t first, int64_t end) {
  const cvtm_grid_problem *p = s->top->problem;
  if (s->step) {
    for (int64_t j = first; j < end; ++j) {
      if (j == first + 2 && j < end - 2) j = end - 2; /* the pass moves the lines between */
      step_line(s, j);
    }
#pragma omp barrier
  }
  if (first < end) relax_line(s, first, 0, is_shared(p, first, end, first));
  if (first < end - 1) relax_line(s, end - 1, 0, is_shared(p, first, end, end - 1));
#pragma omp barrier
  for (int64_t j = first + 1; j <= end && first < end; ++j) {
    if (s->step && j + 1 < end - 2) step_line(s, j + 1);
    if (j < end - 1) relax_line(s, j, 0, 0);
    relax_line(s, j - 1, 1, is_shared(p, first, end, j - 1));
    if (s->finished && j - 2 > first) s->finished(s, first, j - 2);
  }
}

static cvtm_status smooth_cpu(const cvtm_grid_top *top, int sweeps) {
  const pass s = {.top = top, .lines = cvtm_grid_lines_of_machine()};
  const int threads = band_threads(top);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      const band own = band_of_thread(top->shape->height);
      sweep_band(&s, own.first, own.end);
    }
  }
  return CVTM_OK;
}

/* --- pre-smoothing and restriction --- */

/* The slot for the residuals of line j. The slots of a band are in the lines of d that the band
 * has. first: the first line of the band. */
static double *residual_slot(const cvtm_grid_problem *p, int64_t first, int64_t j) {
  return p->d + (first + slot_of(first, j)) * p->width;
}

static uint8_t *changes_slot(const cvtm_grid_problem *p, int64_t first, int64_t j) {
  return (uint8_t *)(p->d + (first + LINE_SLOTS) * p->width) + slot_of(first, j) * p->width;
}

/* Computes the residuals of line j, 0 at active nodes; flags nodes that have become active or
 * inactive. */
static void compute_residual(const pass *s, int64_t first, int64_t j, int store) {
  const cvtm_grid_problem *p = s->top->problem;
  double *residual = residual_slot(p, first, j);
  s->lines->residual(p, j, residual);
  s->lines->truncate(p, j, store, residual, changes_slot(p, first, j));
}

/* Restricts the residuals and changes in the slots to coarse line y. */
static void restrict_line(const pass *s, int64_t first, int64_t y) {
  const cvtm_grid_problem *p = s->top->problem;
  const double *residual[3] = {NULL, NULL, NULL};
  const uint8_t *changed[3] = {NULL, NULL, NULL};
  for (int64_t dy = 0; dy < 3 && 2 * y + dy < p->height; ++dy) {
    residual[dy] = residual_slot(p, first, 2 * y + dy);
    changed[dy] = changes_slot(p, first, 2 * y + dy);
  }
  s->lines->restrict_line(s->coarse, p->width, p->height, y, residual);
  s->lines->mark_changes(s->coarse, p->width, y, changed);
}

/* Computes the residual of line j. If j completes the support of a coarse line, restricts to that
 * line. */
static void restrict_finished_line(const pass *s, int64_t first, int64_t j) {
  compute_residual(s, first, j, j > first);
  if (j % 2 == 0 && j >= first + 4) restrict_line(s, first, j / 2 - 1);
}

/* Restricts line by line; the grid has no mask. A band begins at an even line, so that no two bands
 * share a coarse line. */
static void pre_smooth_and_restrict_lines(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const int threads = band_threads(top);
  const pass s = {.top = top,
                  .lines = cvtm_grid_lines_of_machine(),
                  .finished = restrict_finished_line,
                  .coarse = coarse};
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const band own = band_of_thread(coarse->height);
    const int64_t first = 2 * own.first, end = own.end < coarse->height ? 2 * own.end : p->height;
    sweep_band(&s, first, end);
#pragma omp barrier
    restrict_finished_line(&s, first, first);
    restrict_line(&s, first, own.first);
    restrict_finished_line(&s, first, end - 1);
    if (end % 2 == 0) {
      if (end < p->height) compute_residual(&s, first, end, 0);
      restrict_line(&s, first, own.end - 1);
    }
    /* before this barrier the band above has read which nodes of line `first` were active in the
     * previous cycle */
#pragma omp barrier
    for (int64_t i = 0; i < p->width; ++i) cvtm_grid_mark_active(p, 0, i, first);
  }
}

static cvtm_status pre_smooth_and_restrict_cpu(const cvtm_grid_top *top,
                                               const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  if (bilinear(coarse) && !p->mask && p->height >= MIN_PASS_LINES) {
    pre_smooth_and_restrict_lines(top, coarse);
    return CVTM_OK;
  }
  const cvtm_grid_finer f = {p, NULL};
  smooth_cpu(top, 1);
  FOR_NODES(threads_of(top), coarse->width, coarse->height, cvtm_grid_restrict(&f, coarse, i, j));
  /* marked after cvtm_grid_restrict, which still compares with the active nodes of the previous
   * cycle */
  FOR_NODES(threads_of(top), p->width, p->height, cvtm_grid_mark_active(p, 0, i, j));
  return CVTM_OK;
}

/* --- correction and line search --- */

/* Sets d to the move of line j by the interpolated correction. */
static void correct_line(const cvtm_grid_top *top, const cvtm_grid_level *coarse, int64_t j) {
  const cvtm_grid_problem *p = top->problem;
  if (bilinear(coarse) && !p->mask) {
    cvtm_grid_lines_of_machine()->correct(p, coarse, j);
    return;
  }
  for (int64_t i = 0; i < p->width; ++i) cvtm_grid_correct(p, coarse, i, j);
}

static cvtm_status prolong_and_correct_cpu(const cvtm_grid_top *top,
                                           const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const cvtm_grid_lines *lines = cvtm_grid_lines_of_machine();
  const int searched = top->state->line_search_due, threads = band_threads(top);
  double *partial = top->partial;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const band own = band_of_thread(p->height);
    const int64_t first = own.first, end = own.end;
    for (int64_t j = first; j < end; ++j) {
      correct_line(top, coarse, j);
      const int64_t i = j - 1; /* slope and curvature are added one line behind */
      if (searched && i > first) lines->line_search(p, i, &partial[2 * i], &partial[2 * i + 1]);
    }
#pragma omp barrier
    if (searched) {
      lines->line_search(p, first, &partial[2 * first], &partial[2 * first + 1]);
      lines->line_search(p, end - 1, &partial[2 * end - 2], &partial[2 * end - 1]);
    }
  }
  if (!searched) return CVTM_OK;
  top->state->slope = top->state->curvature = 0;
  for (int64_t j = 0; j < p->height; ++j) {
    top->state->slope += partial[2 * j];
    top->state->curvature += partial[2 * j + 1];
  }
  return CVTM_OK;
}

/* --- post-smoothing and norms --- */

static void measure_finished_line(const pass *s, int64_t first, int64_t j) {
  (void)first;
  measure_line(s->top, s->top->problem->x, j);
}

static cvtm_status post_smooth_and_measure_cpu(const cvtm_grid_top *top,
                                               const cvtm_grid_level *coarse) {
  (void)coarse;
  const int threads = band_threads(top);
  const double step = cvtm_grid_line_search_step(top->state);
  const pass s = {.top = top,
                  .lines = cvtm_grid_lines_of_machine(),
                  .step = &step,
                  .finished = measure_finished_line};
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const band own = band_of_thread(top->shape->height);
    sweep_band(&s, own.first, own.end);
#pragma omp barrier
    s.finished(&s, own.first, own.first);
    if (own.first < own.end - 1) s.finished(&s, own.first, own.end - 1);
  }
  check_norms(top, sum_of_partials(top), 1);
  return CVTM_OK;
}

/* ------ coarse levels ------ */

/* --- P'AP --- */

/* Sets due[x] to 1 where the stencil of (x, y) may have changed. */
static void find_due(const cvtm_grid_lines *lines, const cvtm_grid_finer *f,
                     const cvtm_grid_level *coarse, int64_t y, uint8_t *due) {
  if (f->problem) {
    lines->due_below_problem(coarse, y, due);
  } else if (coarse->halved_x && coarse->halved_y) {
    lines->due_below_level(f->level, coarse, y, due);
  } else {
    for (int64_t x = 0; x < coarse->width; ++x)
      due[x] = (uint8_t)cvtm_grid_needs_galerkin(f, coarse, x, y, 0);
  }
}

static void galerkin_level(const cvtm_grid_top *top, const cvtm_grid_finer *f,
                           const cvtm_grid_level *coarse, int all) {
  const cvtm_grid_lines *lines = cvtm_grid_lines_of_machine();
  const int threads = level_threads(top, coarse);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < coarse->height; ++y) {
    uint8_t *due = coarse->stencil_changed + y * coarse->width;
    if (all)
      memset(due, 1, (size_t)coarse->width);
    else
      find_due(lines, f, coarse, y, due);
    lines->galerkin(f, coarse, y, due);
  }
}

static cvtm_status galerkin_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                                int last, int all) {
  for (int l = first; l <= last; ++l) {
    const int below_problem = l == top->number + 1;
    const cvtm_grid_finer f = {below_problem ? top->problem : NULL,
                               below_problem ? NULL : &levels[l - 1]};
    galerkin_level(top, &f, &levels[l], all);
  }
  return CVTM_OK;
}

/* --- smoothing and restriction --- */

static void clear_lines(const cvtm_grid_level *level, int64_t first, int64_t end) {
  memset(level->e + first * level->width, 0,
         (size_t)((end - first) * level->width) * sizeof *level->e);
}

/* The slot for the residuals of line j. The slots of a band are in the lines of `scratch` that the
 * band has. first: the first line of the band. */
static double *coarse_residual_slot(const cvtm_grid_level *level, int64_t first, int64_t j) {
  return level->scratch + (first + slot_of(first, j)) * level->width;
}

static void compute_coarse_residual(const cvtm_grid_level *level, int64_t first, int64_t j) {
  if (j >= level->height) return;
  cvtm_grid_lines_of_machine()->residual_coarse(level, j, coarse_residual_slot(level, first, j));
}

/* Restricts residuals to coarse line y, in the band whose first pair of lines is `first`. */
static void restrict_coarse_line(const cvtm_grid_level *level, const cvtm_grid_level *coarse,
                                 int64_t first, int64_t y) {
  if (y >= coarse->height) return;
  const double *fine[3] = {NULL, NULL, NULL};
  for (int64_t dy = 0; dy < 3 && 2 * y + dy < level->height; ++dy)
    fine[dy] = coarse_residual_slot(level, 2 * first, 2 * y + dy);
  cvtm_grid_lines_of_machine()->restrict_line(coarse, level->width, level->height, y, fine);
}

/* Relaxes all four colours on pairs of lines first .. end - 1, in each pair the even line, then the
 * preceding odd line. The first line is relaxed before the pass, since the band above reads it.
 * With `coarse`, the pass also computes and restricts residuals. It leaves to the caller the
 * residual of the band's first line, and the restriction to its first and last coarse lines. */
static void sweep_pairs(const cvtm_grid_level *level, const cvtm_grid_level *coarse, int64_t first,
                        int64_t end) {
  const cvtm_grid_lines *lines = cvtm_grid_lines_of_machine();
  lines->relax_coarse(level, 2 * first);
#pragma omp barrier
  for (int64_t pair = first + 1; pair <= end; ++pair) {
    const int64_t odd = 2 * pair - 1;
    if (pair < end) lines->relax_coarse(level, odd + 1);
    if (odd < level->height) lines->relax_coarse(level, odd);
    if (!coarse) continue;
    if (pair > first + 1) compute_coarse_residual(level, 2 * first, odd - 1);
    if (pair > first + 2) restrict_coarse_line(level, coarse, first, pair - 2);
    compute_coarse_residual(level, 2 * first, odd);
  }
#pragma omp barrier
}

/* coarse_pre_smooth_and_restrict line by line. */
static void pre_smooth_and_restrict_pairs(const cvtm_grid_top *top, const cvtm_grid_level *level,
                                          const cvtm_grid_level *coarse) {
  const int threads = level_threads(top, level);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const band pairs = band_of_thread((level->height + 1) / 2);
    const int64_t first = pairs.first, end = pairs.end;
    const int64_t stop = 2 * end < level->height ? 2 * end : level->height;
    clear_lines(level, 2 * first, stop);
#pragma omp barrier
    sweep_pairs(level, coarse, first, end);
    compute_coarse_residual(level, 2 * first, 2 * first);
    compute_coarse_residual(level, 2 * first, 2 * end);
    restrict_coarse_line(level, coarse, first, first);
    if (end - 1 > first) restrict_coarse_line(level, coarse, first, end - 1);
  }
}

static void relax_level(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  const int threads = level_threads(top, level);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const band pairs = band_of_thread((level->height + 1) / 2);
    for (int k = 0; k < sweeps; ++k) sweep_pairs(level, NULL, pairs.first, pairs.end);
  }
}

static cvtm_status coarse_pre_smooth_and_restrict_cpu(const cvtm_grid_top *top,
                                                      const cvtm_grid_level *level,
                                                      const cvtm_grid_level *coarse) {
  if (bilinear(coarse)) {
    pre_smooth_and_restrict_pairs(top, level, coarse);
    return CVTM_OK;
  }
  const cvtm_grid_finer f = {NULL, level};
  clear_lines(level, 0, level->height);
  relax_level(top, level, 1);
  FOR_NODES(level_threads(top, level), coarse->width, coarse->height,
            cvtm_grid_restrict(&f, coarse, i, j));
  return CVTM_OK;
}

/* --- interpolation and smoothing --- */

static cvtm_status coarse_prolong_and_post_smooth_cpu(const cvtm_grid_top *top,
                                                      const cvtm_grid_level *level,
                                                      const cvtm_grid_level *coarse) {
  const cvtm_grid_lines *lines = cvtm_grid_lines_of_machine();
  const int threads = level_threads(top, level);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < level->height; ++y) {
    if (bilinear(coarse)) {
      lines->prolong(level, coarse, y);
      continue;
    }
    for (int64_t x = 0; x < level->width; ++x) cvtm_grid_prolong(level, coarse, x, y);
  }
  relax_level(top, level, 1);
  return CVTM_OK;
}

static cvtm_status tail_cycle_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                  int first, int last) {
  (void)first; /* the tail is the last level */
  clear_lines(&levels[last], 0, levels[last].height);
  relax_level(top, &levels[last], cvtm_grid_bottom_sweeps(&levels[last]));
  return CVTM_OK;
}

/* ------ phases that go node by node, and the table ------ */

static int64_t partial_doubles_cpu(int64_t width, int64_t height) {
  (void)width;
  return CVTM_GRID_SUMS * height;
}

static cvtm_status measure_cold_start_cpu(const cvtm_grid_top *top) {
  top->state->cold_norm = sqrt(measure_lines(top, top->problem->d).squares);
  return CVTM_OK;
}

static cvtm_status begin_iteration_cpu(const cvtm_grid_top *top, const cvtm_grid_stop_rule *rule) {
  cvtm_grid_begin(top->state, rule);
  return CVTM_OK;
}

static cvtm_status raise_limit_cpu(const cvtm_grid_top *top, int64_t limit) {
  top->state->loop.limit = limit;
  top->state->loop.go_on = 1;
  return CVTM_OK;
}

static cvtm_status measure_cpu(const cvtm_grid_top *top, int counted) {
  check_norms(top, measure_lines(top, top->problem->x), counted);
  return CVTM_OK;
}

static cvtm_status measure_energy_cpu(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
  double *partial = top->partial;
  int64_t lower = 0, upper = 0;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) reduction(+ : lower, upper)
  for (int64_t j = 0; j < p->height; ++j) {
    partial[j] = 0;
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      if (cvtm_grid_masked(p, k)) continue;
      partial[j] += cvtm_grid_node_energy(p, i, j);
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

#define NODE_PHASE(name, parameters, width, height, function, ...)          \
  static cvtm_status name##_cpu parameters {                                \
    FOR_NODES(threads_of(top), width, height, function(__VA_ARGS__, i, j)); \
    return CVTM_OK;                                                         \
  }
CVTM_GRID_NODE_PHASES(NODE_PHASE)

const cvtm_grid_table cvtm_grid_table_cpu = {
    .partial_doubles = partial_doubles_cpu,
    .measure_cold_start = measure_cold_start_cpu,
    .begin_iteration = begin_iteration_cpu,
    .raise_limit = raise_limit_cpu,
    .measure = measure_cpu,
    .smooth = smooth_cpu,
    .measure_energy = measure_energy_cpu,
    .pre_smooth_and_restrict = pre_smooth_and_restrict_cpu,
    .galerkin = galerkin_cpu,
    .coarse_pre_smooth_and_restrict = coarse_pre_smooth_and_restrict_cpu,
    .tail_cycle = tail_cycle_cpu,
    .coarse_prolong_and_post_smooth = coarse_prolong_and_post_smooth_cpu,
    .prolong_and_correct = prolong_and_correct_cpu,
    .post_smooth_and_measure = post_smooth_and_measure_cpu,
    CVTM_GRID_NODE_PHASES(CVTM_PHASE_CPU_NAME)};
