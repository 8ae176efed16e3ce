/* For .cu files only: kernels that get ready while the one before them on the stream ends. They
 * wait for it themselves, before they look at anything that it may write. */
#ifndef CVTMESH_LCP_LAUNCH_CUDA_H
#define CVTMESH_LCP_LAUNCH_CUDA_H

#include "base/cuda_check.h"

namespace {

/* The next kernel may get ready. */
__device__ inline void let_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* From here on the work of the kernel before is done, and so that of all before it. */
__device__ inline void await_last() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* What most of them begin with. */
__device__ inline void await_before() {
  let_next();
  await_last();
}

/* Does the device start kernels beside the one before them, and blocks in clusters? */
inline cvtm_status overlaps(cvtm_device *device, bool *out) {
  int number = 0, major = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&number));
  CVTM_CUDA_TRY(device, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number));
  *out = major >= 9;
  return CVTM_OK;
}

/* Launches such a kernel; `team` blocks make a cluster. */
template <int team = 1, typename... Parameters, typename... Arguments>
cvtm_status launch_beside(cvtm_device *device, const char *name, void (*kernel)(Parameters...),
                          dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
  if (shared > 0) {
    CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared)));
  }
  bool has_overlap = false;
  const cvtm_status status = overlaps(device, &has_overlap);
  if (status != CVTM_OK) return status;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = static_cast<unsigned>(team);
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = grid;
  launch.blockDim = block;
  launch.dynamicSmemBytes = shared;
  launch.stream = cvtm_cuda_stream(device);
  launch.attrs = attributes;
  launch.numAttrs = has_overlap ? (team > 1 ? 2U : 1U) : 0U;
  return cvtm_cuda_check(
      device, cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...), name);
}

} /* namespace */

#endif
