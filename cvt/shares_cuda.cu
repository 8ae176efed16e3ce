#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "cvt/shares.h"

namespace {

enum { THREADS = 256 };

__global__ void pack_kernel(const cvtm_cell_moments *moments, const int32_t *index, int64_t first,
                            int64_t end, double *packed) {
  for (int64_t p = first + cvtm_first_thread(); p < end; p += cvtm_thread_count())
    cvtm_shares_pack(&moments[index[p]], packed + 4 * p);
}

__global__ void unpack_kernel(const double *packed, const int32_t *index, int64_t first,
                              int64_t end, int64_t count, cvtm_cell_moments *moments) {
  for (int64_t p = cvtm_first_thread(); p < count; p += cvtm_thread_count())
    if (p < first || p >= end) cvtm_shares_unpack(packed + 4 * p, &moments[index[p]]);
}

cvtm_status pack(cvtm_device *device, const cvtm_cell_moments *moments, const int32_t *index,
                 int64_t first, int64_t end, double *packed) {
  pack_kernel<<<cvtm_cuda_blocks(end - first, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      moments, index, first, end, packed);
  return cvtm_cuda_launched(device, "pack_kernel");
}

cvtm_status unpack(cvtm_device *device, const double *packed, const int32_t *index, int64_t first,
                   int64_t end, int64_t count, cvtm_cell_moments *moments) {
  unpack_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      packed, index, first, end, count, moments);
  return cvtm_cuda_launched(device, "unpack_kernel");
}

}  // namespace

extern "C" const cvtm_shares_table cvtm_shares_cuda = {pack, unpack};
