#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "lcp/sparse/colouring_kernels.h"

namespace {

constexpr int block_size = 256;

/* All threads that write *left write the same number. */
__global__ void colour_rows(cvtm_sell graph, const int32_t *from, int32_t *to, int32_t *left) {
  for (int64_t row = cvtm_first_thread(); row < graph.rows; row += cvtm_thread_count()) {
    to[row] = cvtm_colour_row(&graph, row, from);
    if (to[row] < 0) *left = 1;
  }
}

cvtm_status round_cuda(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                       int32_t *to, int32_t *left) {
  const unsigned blocks = cvtm_cuda_blocks(graph->rows, block_size);
  colour_rows<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*graph, from, to, left);
  return cvtm_cuda_launched(device, "colour_rows");
}

}  // namespace

extern "C" const cvtm_colouring_table cvtm_colouring_table_cuda = {round_cuda};
