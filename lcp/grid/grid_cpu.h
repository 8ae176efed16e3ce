/* Inside lcp/grid, CPU only: declarations that grid_cpu.c (the table), grid_cpu_top.c (phases of
 * the V-cycle on the five-point problem) and grid_cpu_coarse.c (those on coarse levels) share. */
#ifndef CVTMESH_LCP_GRID_GRID_CPU_H
#define CVTMESH_LCP_GRID_GRID_CPU_H

#include "lcp/grid/grid_kernels.h"
#include "lcp/grid/grid_lines.h"

enum { ONE_THREAD = 8192 }; /* nodes below which a second thread costs more than it gains */

/* Threads for loops over the nodes of the problem. */
static inline int threads_of(const cvtm_grid_top *top) {
  const int64_t nodes = top->shape->width * top->shape->height;
  return nodes < ONE_THREAD ? 1 : cvtm_device_threads(top->device);
}

/* Lines first .. end - 1 of a grid, which belong to one thread; on coarse levels, pairs of lines.
 */
typedef struct cvtm_grid_band {
  int64_t first, end;
} cvtm_grid_band;

/* The band of the calling thread of a parallel region, out of `lines`. */
cvtm_grid_band cvtm_grid_band_of_thread(int64_t lines);

/* True if interpolation is bilinear. */
static inline int bilinear(const cvtm_grid_level *coarse) {
  return !coarse->weight && coarse->halved_x && coarse->halved_y;
}

/* A band keeps few lines of residuals at a time: its first three, and the last three that it has
 * computed. slot_of: the slot of line j of a band that begins at `first`. */
enum { LINE_SLOTS = 6 };
static inline int64_t slot_of(int64_t first, int64_t j) {
  return j - first < 3 ? j - first : 3 + (j - first) % 3;
}

/* --- grid_cpu_top.c --- */

/* Norms at the values x, one line after the other whatever the number of threads. */
cvtm_grid_norms measure_lines(const cvtm_grid_top *top, const double *x);
/* Enters the norms of an iterate and applies the stop rule. */
void cvtm_grid_judge_norms(const cvtm_grid_top *top, cvtm_grid_norms n, int counted);
cvtm_status cvtm_grid_smooth_cpu(const cvtm_grid_top *top, int sweeps);
cvtm_status cvtm_grid_pre_smooth_and_restrict_cpu(const cvtm_grid_top *top,
                                                  const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_prolong_and_correct_cpu(const cvtm_grid_top *top,
                                              const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_post_smooth_and_measure_cpu(const cvtm_grid_top *top,
                                                  const cvtm_grid_level *coarse);

/* --- grid_cpu_coarse.c --- */

cvtm_status cvtm_grid_galerkin_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                   int first, int last, int all);
cvtm_status cvtm_grid_interpolation_weights_cpu(const cvtm_grid_top *top,
                                                const cvtm_grid_level *finer,
                                                const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_coarse_pre_smooth_and_restrict_cpu(const cvtm_grid_top *top,
                                                         const cvtm_grid_level *level,
                                                         const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_coarse_prolong_and_post_smooth_cpu(const cvtm_grid_top *top,
                                                         const cvtm_grid_level *level,
                                                         const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_tail_cycle_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                     int first, int last);

#endif
