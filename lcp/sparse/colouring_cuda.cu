#include "lcp/launch_cuda.h"
#include "lcp/sparse/colouring_kernels.h"

namespace {

constexpr int block_size = 256;

/* All threads that write *left write the same number. */
__device__ void colour_row(const cvtm_sell *graph, const int32_t *from, int32_t *to, int32_t *left,
                           int64_t row) {
  to[row] = cvtm_colour_row(graph, row, from);
  if (to[row] < 0) *left = 1;
}

cvtm_status round_cuda(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                       int32_t *to, int32_t *left) {
  return launch_rows<colour_row, block_size>(device, "colour_rows", 0, graph->rows, *graph, from,
                                             to, left);
}

}  // namespace

extern "C" const cvtm_colouring_table cvtm_colouring_table_cuda = {round_cuda};
