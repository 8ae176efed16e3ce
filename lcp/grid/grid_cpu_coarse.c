/* The V-cycle's phases on coarse levels, on the CPU: P'AP, smoothing, transfers. */
#include "lcp/grid/grid_cpu.h"
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_smoother.h"
#include "lcp/grid/grid_transfer.h"

#include <string.h>

/* Threads for a coarse level, whose bands have enough lines. */
static int level_threads(const cvtm_grid_top *top, const cvtm_grid_level *level) {
  const int64_t most = level->width * level->height < ONE_THREAD ? 1 : level->height / 16;
  const int threads = cvtm_device_threads(top->device);
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

/* --- P'AP --- */

/* due[x] = 1: the stencil of (x, y) may have changed. */
static void find_due(const cvtm_grid_lines *lines, const cvtm_grid_finer *f,
                     const cvtm_grid_level *coarse, int64_t y, uint8_t *due) {
  if (f->problem) {
    lines->due_below_problem(coarse, y, due);
  } else if (coarse->halved_x && coarse->halved_y) {
    lines->due_below_level(f->level, coarse, y, due);
  } else {
    for (int64_t x = 0; x < coarse->width; ++x) {
      due[x] = (uint8_t)cvtm_grid_needs_galerkin(f, coarse, x, y, 0);
    }
  }
}

static void galerkin_level(const cvtm_grid_top *top, const cvtm_grid_finer *f,
                           const cvtm_grid_level *coarse, int all) {
  const cvtm_grid_lines *lines = cvtm_grid_lines_of_machine();
  const int threads = level_threads(top, coarse);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < coarse->height; ++y) {
    uint8_t *due = coarse->stencil_changed + y * coarse->width;
    if (all) {
      memset(due, 1, (size_t)coarse->width);
    } else {
      find_due(lines, f, coarse, y, due);
    }
    lines->galerkin(f, coarse, y, due);
  }
}

cvtm_status cvtm_grid_galerkin_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                   int first, int last, int all) {
  for (int l = first; l <= last; ++l) {
    const int below_problem = l == top->number + 1;
    const cvtm_grid_finer f = {below_problem ? top->problem : NULL,
                               below_problem ? NULL : &levels[l - 1]};
    galerkin_level(top, &f, &levels[l], all);
  }
  return CVTM_OK;
}

cvtm_status cvtm_grid_interpolation_weights_cpu(const cvtm_grid_top *top,
                                                const cvtm_grid_level *finer,
                                                const cvtm_grid_level *coarse) {
  const cvtm_grid_finer f = {finer ? NULL : top->problem, finer};
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->blocks_y; ++y) {
    for (int64_t x = 0; x < coarse->blocks_x; ++x) cvtm_grid_compute_weights(&f, coarse, x, y);
  }
  return CVTM_OK;
}

/* --- smoothing and restriction --- */

static void clear_lines(const cvtm_grid_level *level, int64_t first, int64_t end) {
  memset(level->e + first * level->width, 0,
         (size_t)((end - first) * level->width) * sizeof *level->e);
}

/* The slot of line j, in the part of `scratch` that belongs to the band from line `first` on. */
static double *coarse_residual_slot(const cvtm_grid_level *level, int64_t first, int64_t j) {
  return level->scratch + (first + slot_of(first, j)) * level->width;
}

static void compute_coarse_residual(const cvtm_grid_level *level, int64_t first, int64_t j) {
  if (j >= level->height) return;
  cvtm_grid_lines_of_machine()->residual_coarse(level, j, coarse_residual_slot(level, first, j));
}

/* Coarse line y, from the residuals in the slots of the band whose first pair of lines is `first`.
 */
static void restrict_coarse_line(const cvtm_grid_level *level, const cvtm_grid_level *coarse,
                                 int64_t first, int64_t y) {
  if (y >= coarse->height) return;
  const double *fine[3] = {NULL, NULL, NULL};
  for (int64_t dy = 0; dy < 3 && 2 * y + dy < level->height; ++dy) {
    fine[dy] = coarse_residual_slot(level, 2 * first, 2 * y + dy);
  }
  cvtm_grid_lines_of_machine()->restrict_line(coarse, level->width, level->height, y, fine);
}

/* A sweep of all four colours down pairs of lines first .. end - 1: an even line,
 * then the odd line before it. A band's first line comes before the pass, since the band above
 * needs it. With `coarse`, residuals and their restriction follow, but for the band's first line
 * and for its first and last coarse lines. */
static void sweep_band(const cvtm_grid_level *level, const cvtm_grid_level *coarse, int64_t first,
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

/* coarse_pre_smooth_and_restrict, line by line. */
static void pre_smooth_and_restrict_lines(const cvtm_grid_top *top, const cvtm_grid_level *level,
                                          const cvtm_grid_level *coarse) {
  const int threads = level_threads(top, level);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const cvtm_grid_band pairs = cvtm_grid_band_of_thread((level->height + 1) / 2);
    const int64_t first = pairs.first, end = pairs.end;
    const int64_t stop = 2 * end < level->height ? 2 * end : level->height;
    clear_lines(level, 2 * first, stop);
#pragma omp barrier
    sweep_band(level, coarse, first, end);
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
    const cvtm_grid_band pairs = cvtm_grid_band_of_thread((level->height + 1) / 2);
    for (int k = 0; k < sweeps; ++k) sweep_band(level, NULL, pairs.first, pairs.end);
  }
}

cvtm_status cvtm_grid_coarse_pre_smooth_and_restrict_cpu(const cvtm_grid_top *top,
                                                         const cvtm_grid_level *level,
                                                         const cvtm_grid_level *coarse) {
  if (bilinear(coarse)) {
    pre_smooth_and_restrict_lines(top, level, coarse);
    return CVTM_OK;
  }
  const cvtm_grid_finer f = {NULL, level};
  const int threads = level_threads(top, level);
  clear_lines(level, 0, level->height);
  relax_level(top, level, 1);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_restrict(&f, coarse, x, y);
  }
  return CVTM_OK;
}

/* --- interpolation and smoothing --- */

cvtm_status cvtm_grid_coarse_prolong_and_post_smooth_cpu(const cvtm_grid_top *top,
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
    for (int64_t x = 0; x < level->width; ++x) {
      level->e[y * level->width + x] += cvtm_grid_interpolated(coarse, coarse->e, x, y);
    }
  }
  relax_level(top, level, 1);
  return CVTM_OK;
}

cvtm_status cvtm_grid_tail_cycle_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                     int first, int last) {
  (void)first; /* the tail is the last level */
  clear_lines(&levels[last], 0, levels[last].height);
  relax_level(top, &levels[last], cvtm_grid_bottom_sweeps(&levels[last]));
  return CVTM_OK;
}
