#include "base/cuda_utils.h"
#include "cvt/sphere/sphere_phases.h"

namespace {

cvtm_status cells_cuda(cvtm_device *device, const cvtm_sphere_work *work, const double *x,
                       double *gradient) {
  return launch_rows<cvtm_sphere_evaluate_site, 128>(device, "sphere_cells", 0, work->tree.count,
                                                     *work, x, gradient);
}

CVTM_SPHERE_PHASES(CVTM_PHASE_CUDA)

}  // namespace

extern "C" const cvtm_sphere_table cvtm_sphere_cuda = {cells_cuda,
                                                       CVTM_SPHERE_PHASES(CVTM_PHASE_CUDA_NAME)};
