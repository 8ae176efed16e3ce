#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "lcp/sparse/sell_kernels.h"

namespace {

constexpr int block_size = 256;

__global__ void slice_sizes(cvtm_csr csr, cvtm_sell_order order, int64_t uniform, int32_t *sizes) {
  const int64_t slices = cvtm_sell_slices(csr.rows);
  for (int64_t slice = cvtm_first_thread(); slice < slices; slice += cvtm_thread_count())
    sizes[slice] = cvtm_sell_slice_size(&csr, &order, uniform, slice);
}

__global__ void fill_sell(cvtm_csr csr, cvtm_sell_order order, cvtm_sell sell, int64_t rows) {
  for (int64_t row = cvtm_first_thread(); row < rows; row += cvtm_thread_count())
    cvtm_sell_fill_row(&csr, &order, &sell, row);
}

__global__ void find_runs(cvtm_sell sell, int64_t groups) {
  for (int64_t group = cvtm_first_thread(); group < groups; group += cvtm_thread_count())
    sell.run[group] = cvtm_sell_run_at(&sell, group);
}

cvtm_status slice_sizes_cuda(cvtm_device *device, const cvtm_csr *csr, const cvtm_sell_order *order,
                             int64_t uniform, int32_t *sizes) {
  const unsigned blocks = cvtm_cuda_blocks(cvtm_sell_slices(csr->rows), block_size);
  slice_sizes<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*csr, *order, uniform, sizes);
  return cvtm_cuda_launched(device, "slice_sizes");
}

cvtm_status fill_sell_cuda(cvtm_device *device, const cvtm_csr *csr, const cvtm_sell_order *order,
                           const cvtm_sell *sell) {
  const int64_t rows = cvtm_sell_slices(csr->rows) * CVTM_SLICE_ROWS;
  const unsigned blocks = cvtm_cuda_blocks(rows, block_size);
  fill_sell<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*csr, *order, *sell, rows);
  return cvtm_cuda_launched(device, "fill_sell");
}

cvtm_status find_runs_cuda(cvtm_device *device, const cvtm_sell *sell) {
  const int64_t groups = sell->entries / CVTM_SLICE_ROWS;
  const unsigned blocks = cvtm_cuda_blocks(groups, block_size);
  find_runs<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*sell, groups);
  return cvtm_cuda_launched(device, "find_runs");
}

}  // namespace

extern "C" const cvtm_sell_table cvtm_sell_table_cuda = {slice_sizes_cuda, fill_sell_cuda,
                                                         find_runs_cuda};
