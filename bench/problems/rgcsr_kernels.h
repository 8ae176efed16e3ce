/* Inside bench/problems only: a row of RgCSR on both devices. */
#ifndef CVTMESH_BENCH_PROBLEMS_RGCSR_KERNELS_H
#define CVTMESH_BENCH_PROBLEMS_RGCSR_KERNELS_H

#include "base/portable.h"
#include "bench/problems/rgcsr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_rgcsr_table {
  /* The nodes of one colour, 0 or 1. */
  cvtm_status (*half_sweep)(cvtm_device *device, const cvtm_rgcsr *matrix, cvtm_rgcsr_kind kind,
                            int colour);
} cvtm_rgcsr_table;

extern const cvtm_rgcsr_table cvtm_rgcsr_table_cpu, cvtm_rgcsr_table_cuda;

#ifdef __cplusplus
}
#endif

/* Node t of a colour, in the order of the rows. */
CVTM_HD int64_t cvtm_rgcsr_node(int64_t side, int colour, int64_t t) {
  const int64_t half = side / 2, j = t / half;
  return j * side + 2 * (t % half) + ((j + colour) & 1);
}

CVTM_HD void cvtm_rgcsr_relax(const cvtm_rgcsr *m, cvtm_rgcsr_kind kind, int64_t row) {
  const int64_t first =
      row / CVTM_RGCSR_SLICE * (CVTM_RGCSR_SLICE * CVTM_RGCSR_WIDTH) + row % CVTM_RGCSR_SLICE;
  double diagonal = kind == CVTM_RGCSR_FIRST ? m->value[first] : 0.0, sum = 0.0;
  for (int k = kind == CVTM_RGCSR_FIRST; k < CVTM_RGCSR_WIDTH; ++k) {
    const int64_t at = first + k * CVTM_RGCSR_SLICE;
    const int32_t column = m->column[at];
    const double value = m->value[at], x = m->x[column];
    if (kind == CVTM_RGCSR_SELECT) {
      diagonal += column == row ? value : 0.0;
      sum += column == row ? 0.0 : value * x;
    } else if (kind == CVTM_RGCSR_BRANCH && column == row) {
      diagonal = value;
    } else {
      sum += value * x;
    }
  }
  const double to = (m->b[row] - sum) / diagonal, lower = m->lower[row];
  m->x[row] = to > lower ? to : lower;
}

#endif
