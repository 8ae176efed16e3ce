#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "lcp/krylov.h"

namespace {

constexpr int block_size = 128;

__global__ void krylov_scalars(cvtm_krylov_state *state, cvtm_krylov_pass pass) {
  cvtm_krylov_decide(state, pass);
}

__global__ void krylov_vectors(cvtm_krylov_view view, cvtm_krylov_pass pass) {
  for (int64_t i = cvtm_first_thread(); i < view.n; i += cvtm_thread_count()) {
    cvtm_krylov_element(&view, pass, i);
  }
}

cvtm_status krylov_pass_cuda(cvtm_device *device, const cvtm_krylov_view *view,
                             cvtm_krylov_pass pass) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  if (cvtm_krylov_is_scalar(pass)) {
    krylov_scalars<<<1, 1, 0, stream>>>(view->state, pass);
    return cvtm_cuda_launched(device, "krylov_scalars");
  }
  krylov_vectors<<<cvtm_cuda_blocks(view->n, block_size), block_size, 0, stream>>>(*view, pass);
  return cvtm_cuda_launched(device, "krylov_vectors");
}

}  // namespace

const cvtm_krylov_table cvtm_krylov_table_cuda = {krylov_pass_cuda};
