#include "bench/problems/rgcsr_kernels.h"

#include "base/table_select.h"

cvtm_status cvtm_rgcsr_sweep(cvtm_device *device, const cvtm_rgcsr *matrix, cvtm_rgcsr_kind kind) {
  const cvtm_rgcsr_table *table = CVTM_TABLE(device, cvtm_rgcsr_table);
  const cvtm_status status = table->half_sweep(device, matrix, kind, 0);
  return status == CVTM_OK ? table->half_sweep(device, matrix, kind, 1) : status;
}

static cvtm_status cpu_half_sweep(cvtm_device *device, const cvtm_rgcsr *matrix,
                                  cvtm_rgcsr_kind kind, int colour) {
  const int64_t side = matrix->side, count = side * side / 2;
  const int threads = cvtm_device_threads(device);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t t = 0; t < count; ++t)
    cvtm_rgcsr_relax(matrix, kind, cvtm_rgcsr_node(side, colour, t));
  return CVTM_OK;
}

const cvtm_rgcsr_table cvtm_rgcsr_table_cpu = {.half_sweep = cpu_half_sweep};
