#include "lcp/launch_cuda.h"
#include "lcp/sparse/sell_kernels.h"

namespace {

constexpr int block_size = 256;

__device__ void size_slice(const cvtm_csr *csr, const cvtm_sell_order *order, int64_t uniform,
                           int32_t *sizes, int64_t slice) {
  sizes[slice] = cvtm_sell_slice_size(csr, order, uniform, slice);
}

__device__ void find_run(const cvtm_sell *sell, int64_t group) {
  sell->run[group] = cvtm_sell_run_at(sell, group);
}

cvtm_status slice_sizes_cuda(cvtm_device *device, const cvtm_csr *csr, const cvtm_sell_order *order,
                             int64_t uniform, int32_t *sizes) {
  return launch_rows<size_slice, block_size>(device, "slice_sizes", 0, cvtm_sell_slices(csr->rows),
                                             *csr, *order, uniform, sizes);
}

cvtm_status fill_sell_cuda(cvtm_device *device, const cvtm_csr *csr, const cvtm_sell_order *order,
                           const cvtm_sell *sell) {
  const int64_t rows = cvtm_sell_slices(csr->rows) * CVTM_SLICE_ROWS;
  return launch_rows<cvtm_sell_fill_row, block_size>(device, "fill_sell", 0, rows, *csr, *order,
                                                     *sell);
}

cvtm_status find_runs_cuda(cvtm_device *device, const cvtm_sell *sell) {
  return launch_rows<find_run, block_size>(device, "find_runs", 0, sell->entries / CVTM_SLICE_ROWS,
                                           *sell);
}

}  // namespace

extern "C" const cvtm_sell_table cvtm_sell_table_cuda = {slice_sizes_cuda, fill_sell_cuda,
                                                         find_runs_cuda};
