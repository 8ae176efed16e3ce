/* The V-cycle's phases on the five-point problem, on the CPU. In each phase a
 * thread passes once down its band of lines: black follows red one line behind, residuals and norms
 * follow black, so that a line is still in the cache when it is read again. */
#include "lcp/grid/grid_cpu.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_smoother.h"
#include "lcp/grid/grid_transfer.h"

#include <omp.h>

enum { MIN_PASS_LINES = 16 }; /* of a grid whose restriction goes by lines */

cvtm_grid_band cvtm_grid_band_of_thread(int64_t lines) {
  const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
  const cvtm_grid_band band = {lines * thread / threads, lines * (thread + 1) / threads};
  return band;
}

/* Threads whose bands have enough lines. */
static int band_threads(const cvtm_grid_top *top) {
  const int64_t most = top->shape->height / 32;
  const int threads = threads_of(top);
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

/* --- norms --- */

/* Stores the norms of line j in top->partial. */
static void measure_line(const cvtm_grid_top *top, const double *x, int64_t j) {
  const cvtm_grid_problem *p = top->problem;
  cvtm_grid_norms sum = {0, 0, 0};
  if (!p->mask) {
    sum = cvtm_grid_lines_of_machine()->measure(p, x, j);
  } else {
    for (int64_t i = 0; i < p->width; ++i) {
      if (cvtm_grid_masked(p, j * p->width + i)) continue;
      const cvtm_grid_natural_terms n = cvtm_grid_natural_residual(p, x, i, j);
      sum.squares += n.residual * n.residual;
      sum.rounding += n.size * n.size;
      if (!(fabs(n.residual) <= sum.maximum)) sum.maximum = fabs(n.residual);
    }
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

cvtm_grid_norms measure_lines(const cvtm_grid_top *top, const double *x) {
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < top->shape->height; ++j) measure_line(top, x, j);
  return sum_of_partials(top);
}

void cvtm_grid_judge_norms(const cvtm_grid_top *top, cvtm_grid_norms n, int counted) {
  cvtm_grid_judge(top->state, top->history, n.squares, n.maximum, n.rounding, counted);
}

/* --- a pass down a band --- */

typedef struct pass {
  const cvtm_grid_top *top;
  const cvtm_grid_lines *lines;
  const double *step; /* before the sweep x moves along d by this step; NULL: it does not */
  /* Called with each line once x is final on it and on the lines beside it; NULL: nothing. */
  void (*finished)(const struct pass *pass, int64_t first, int64_t j);
  const cvtm_grid_level *coarse; /* for `finished` */
} pass;

/* One colour of line j; `shared` as in cvtm_grid_lines. */
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
  for (int64_t k = j * p->width; k < (j + 1) * p->width; ++k) {
    p->x[k] = cvtm_grid_stepped(p, k, *s->step);
  }
}

/* True if line j of the band first .. end - 1 is next to another band. */
static int is_shared(const cvtm_grid_problem *p, int64_t first, int64_t end, int64_t j) {
  return (j == first && first > 0) || (j == end - 1 && end < p->height);
}

/* The pass, by all threads of a parallel region. Bands read the first and last lines of each other:
 * these are relaxed before the pass, and finished after it by the caller. */
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

cvtm_status cvtm_grid_smooth_cpu(const cvtm_grid_top *top, int sweeps) {
  const pass s = {.top = top, .lines = cvtm_grid_lines_of_machine()};
  const int threads = band_threads(top);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      const cvtm_grid_band band = cvtm_grid_band_of_thread(top->shape->height);
      sweep_band(&s, band.first, band.end);
    }
  }
  return CVTM_OK;
}

/* --- pre-smoothing and restriction --- */

/* The slots of line j, in the part of d that belongs to the band from line `first` on. */
static double *residual_slot(const cvtm_grid_problem *p, int64_t first, int64_t j) {
  return p->d + (first + slot_of(first, j)) * p->width;
}

static uint8_t *changes_slot(const cvtm_grid_problem *p, int64_t first, int64_t j) {
  return (uint8_t *)(p->d + (first + LINE_SLOTS) * p->width) + slot_of(first, j) * p->width;
}

/* Residuals of line j, 0 where nodes are active, and where active nodes changed. */
static void compute_residual(const pass *s, int64_t first, int64_t j, int store) {
  const cvtm_grid_problem *p = s->top->problem;
  double *residual = residual_slot(p, first, j);
  s->lines->residual(p, j, residual);
  s->lines->truncate(p, j, store, residual, changes_slot(p, first, j));
}

/* Coarse line y, from residuals and changes in the slots. */
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

/* Line j may be the last one that a coarse line waits for. */
static void restrict_finished_line(const pass *s, int64_t first, int64_t j) {
  compute_residual(s, first, j, j > first);
  if (j % 2 == 0 && j >= first + 4) restrict_line(s, first, j / 2 - 1);
}

/* Without masks, line by line. Bands begin at even lines, so that no two bands share a coarse line.
 */
static void pre_smooth_and_restrict_lines(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const int threads = band_threads(top);
  const pass s = {.top = top,
                  .lines = cvtm_grid_lines_of_machine(),
                  .finished = restrict_finished_line,
                  .coarse = coarse};
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const cvtm_grid_band own = cvtm_grid_band_of_thread(coarse->height);
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
    /* The band above has compared its residuals with the active nodes of the cycle before. */
#pragma omp barrier
    for (int64_t k = first * p->width; k < (first + 1) * p->width; ++k) {
      p->active[k] = (uint8_t)cvtm_grid_is_active(p, k);
    }
  }
}

cvtm_status cvtm_grid_pre_smooth_and_restrict_cpu(const cvtm_grid_top *top,
                                                  const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  if (bilinear(coarse) && !p->mask && p->height >= MIN_PASS_LINES) {
    pre_smooth_and_restrict_lines(top, coarse);
    return CVTM_OK;
  }
  const cvtm_grid_finer f = {p, NULL};
  cvtm_grid_smooth_cpu(top, 1);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_restrict(&f, coarse, x, y);
  }
  /* After cvtm_grid_restrict, which compares with the active nodes of the cycle before. */
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) {
    p->active[k] = (uint8_t)cvtm_grid_is_active(p, k);
  }
  return CVTM_OK;
}

/* --- correction and line search --- */

/* d = the move of line j by the interpolated correction. */
static void correct_line(const cvtm_grid_top *top, const cvtm_grid_level *coarse, int64_t j) {
  const cvtm_grid_problem *p = top->problem;
  if (bilinear(coarse) && !p->mask) {
    cvtm_grid_lines_of_machine()->correct(p, coarse, j);
    return;
  }
  for (int64_t i = 0; i < p->width; ++i) {
    const int64_t k = j * p->width + i;
    p->d[k] = cvtm_grid_corrected(p, coarse, i, j) - p->x[k];
  }
}

cvtm_status cvtm_grid_prolong_and_correct_cpu(const cvtm_grid_top *top,
                                              const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  const cvtm_grid_lines *lines = cvtm_grid_lines_of_machine();
  const int searched = top->state->line_search_due, threads = band_threads(top);
  double *partial = top->partial;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const cvtm_grid_band band = cvtm_grid_band_of_thread(p->height);
    const int64_t first = band.first, end = band.end;
    for (int64_t j = first; j < end; ++j) {
      correct_line(top, coarse, j);
      const int64_t i = j - 1; /* slope and curvature follow one line behind */
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

cvtm_status cvtm_grid_post_smooth_and_measure_cpu(const cvtm_grid_top *top,
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
    const cvtm_grid_band band = cvtm_grid_band_of_thread(top->shape->height);
    sweep_band(&s, band.first, band.end);
#pragma omp barrier
    s.finished(&s, band.first, band.first);
    if (band.first < band.end - 1) s.finished(&s, band.first, band.end - 1);
  }
  cvtm_grid_judge_norms(top, sum_of_partials(top), 1);
  return CVTM_OK;
}
