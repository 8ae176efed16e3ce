#include "lcp/sparse/colouring_kernels.h"

static cvtm_status round_cpu(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                             int32_t *to, int32_t *left) {
  int32_t any = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static) \
    reduction(|                                                                    \
              : any)
  for (int64_t row = 0; row < graph->rows; ++row) {
    to[row] = cvtm_colour_row(graph, row, from);
    any |= to[row] < 0;
  }
  *left |= any;
  return CVTM_OK;
}

const cvtm_colouring_table cvtm_colouring_table_cpu = {round_cpu};
