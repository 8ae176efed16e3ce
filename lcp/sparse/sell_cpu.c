#include "lcp/sparse/sell_kernels.h"

static cvtm_status slice_sizes_cpu(cvtm_device *device, const cvtm_csr *csr,
                                   const cvtm_sell_order *order, int64_t uniform, int32_t *sizes) {
  const int64_t slices = cvtm_sell_slices(csr->rows);
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t slice = 0; slice < slices; ++slice)
    sizes[slice] = cvtm_sell_slice_size(csr, order, uniform, slice);
  return CVTM_OK;
}

static cvtm_status fill_sell_cpu(cvtm_device *device, const cvtm_csr *csr,
                                 const cvtm_sell_order *order, const cvtm_sell *sell) {
  const int64_t rows = cvtm_sell_slices(csr->rows) * CVTM_SLICE_ROWS;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t row = 0; row < rows; ++row) cvtm_sell_fill_row(csr, order, sell, row);
  return CVTM_OK;
}

static cvtm_status find_runs_cpu(cvtm_device *device, const cvtm_sell *sell) {
  const int64_t groups = sell->entries / CVTM_SLICE_ROWS;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t group = 0; group < groups; ++group) sell->run[group] = cvtm_sell_run_at(sell, group);
  return CVTM_OK;
}

const cvtm_sell_table cvtm_sell_table_cpu = {slice_sizes_cpu, fill_sell_cpu, find_runs_cpu};
