#include "base/cuda_utils.h"
#include "cvt/sphere/sphere_phases.h"

namespace {
CVTM_SPHERE_PHASES(CVTM_PHASE_CUDA)
}  // namespace

extern "C" const cvtm_sphere_table cvtm_sphere_cuda = {CVTM_SPHERE_PHASES(CVTM_PHASE_CUDA_NAME)};
