#include "lcp/krylov.h"
#include "lcp/launch_cuda.h"

namespace {

constexpr int block_size = 128;

__global__ void krylov_scalars(cvtm_krylov_state *state, cvtm_krylov_pass pass) {
  cvtm_krylov_decide(state, pass);
}

cvtm_status krylov_pass_cuda(cvtm_device *device, const cvtm_krylov_view *view,
                             cvtm_krylov_pass pass) {
  if (cvtm_krylov_is_scalar(pass)) {
    krylov_scalars<<<1, 1, 0, cvtm_cuda_stream(device)>>>(view->state, pass);
    return cvtm_cuda_launched(device, "krylov_scalars");
  }
  return launch_rows<cvtm_krylov_element, block_size>(device, "krylov_vectors", 0, view->n, *view,
                                                      pass);
}

}  // namespace

const cvtm_krylov_table cvtm_krylov_table_cuda = {krylov_pass_cuda};
