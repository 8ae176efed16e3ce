/* Inside bench/problems only: the product of two panels on both devices. */
#ifndef CVTMESH_BENCH_PROBLEMS_PANEL_KERNELS_H
#define CVTMESH_BENCH_PROBLEMS_PANEL_KERNELS_H

#include "bench/problems/panel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_PANEL_ENTRIES = CVTM_PANEL_COLUMNS * CVTM_PANEL_COLUMNS };

typedef struct cvtm_panel_table {
  /* Parts into which the rows are cut: their number alone decides. */
  int64_t (*parts)(int64_t rows);
  /* partial: 64 doubles for each part. */
  cvtm_status (*product)(cvtm_device *device, int64_t rows, const double *a, const double *b,
                         double *product, double *partial);
} cvtm_panel_table;

extern const cvtm_panel_table cvtm_panel_table_cpu, cvtm_panel_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
