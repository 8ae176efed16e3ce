#include "base/cuda_utils.h"
#include "cvt/site_updates.h"

namespace {

enum { THREADS = 256 };

/* If *value < *least, copies the sites to `best`. n: the number of coordinates. */
__global__ void keep_best_kernel(const double *sites, int64_t n, const double *value, double *least,
                                 double *best) {
  const double before = least[0], now = value[0];
  const bool better = now < before;
  if (cvtm_first_thread() == 0) least[1] = better ? now : before;
  if (!better) return;
  for (int64_t k = cvtm_first_thread(); k < n; k += cvtm_thread_count()) best[k] = sites[k];
}

/* No site belongs to two pairs. The thread of the last pair that is transferred sets *moved. */
__global__ void transfer_kernel(cvtm_cvt_transfer transfer, int64_t *moved) {
  for (int64_t k = cvtm_first_thread(); cvtm_cvt_transfers(&transfer, k);
       k += cvtm_thread_count()) {
    cvtm_cvt_transfer_site(&transfer, k);
    if (!cvtm_cvt_transfers(&transfer, k + 1)) *moved = k + 1;
  }
}

cvtm_status keep_best_cuda(cvtm_device *device, const double *sites, int64_t count,
                           const double *value, double *least, double *best) {
  return CVTM_LAUNCH(device, keep_best_kernel, cvtm_cuda_blocks(2 * count, THREADS), THREADS, sites,
                     2 * count, value, least, best);
}

cvtm_status transfer_cuda(cvtm_device *device, const cvtm_cvt_transfer *transfer, int64_t *moved) {
  const int64_t half = transfer->movable / 2;
  const int64_t most = transfer->most < half ? transfer->most : half;
  return CVTM_LAUNCH(device, transfer_kernel, cvtm_cuda_blocks(most, THREADS), THREADS, *transfer,
                     moved);
}

CVTM_SITE_PHASES(CVTM_PHASE_CUDA)

}  // namespace

extern "C" const cvtm_site_updates_table cvtm_site_updates_cuda = {
    keep_best_cuda, cvtm_edge_midpoints_cuda, transfer_cuda,
    CVTM_SITE_PHASES(CVTM_PHASE_CUDA_NAME)};
