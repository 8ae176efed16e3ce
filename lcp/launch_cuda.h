/* For .cu files only: launches with programmatic dependent launch (PDL) and thread block clusters,
 * which devices from compute capability 9.0 on have. A kernel launched so may start before the
 * kernel ahead of it on the stream has ended; it calls pdl_wait before it reads or writes memory
 * that earlier kernels use. */
#ifndef CVTMESH_LCP_LAUNCH_CUDA_H
#define CVTMESH_LCP_LAUNCH_CUDA_H

#include "base/cuda_check.h"

namespace {

/* Lets the next kernel of the stream start. */
__device__ inline void pdl_trigger() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Returns when all earlier kernels of the stream have ended and their writes are visible. */
__device__ inline void pdl_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void pdl_trigger_and_wait() {
  pdl_trigger();
  pdl_wait();
}

inline cvtm_status has_pdl_and_clusters(cvtm_device *device, bool *out) {
  int number = 0, major = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&number));
  CVTM_CUDA_TRY(device, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number));
  *out = major >= 9;
  return CVTM_OK;
}

/* Launches with PDL and, if cluster_size > 1, in clusters of that many blocks; with neither on
 * devices without them. */
template <int cluster_size = 1, typename... Parameters, typename... Arguments>
cvtm_status launch_pdl(cvtm_device *device, const char *name, void (*kernel)(Parameters...),
                       dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
  if (shared > 0) {
    CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared)));
  }
  bool is_supported = false;
  const cvtm_status status = has_pdl_and_clusters(device, &is_supported);
  if (status != CVTM_OK) return status;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = static_cast<unsigned>(cluster_size);
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = grid;
  launch.blockDim = block;
  launch.dynamicSmemBytes = shared;
  launch.stream = cvtm_cuda_stream(device);
  launch.attrs = attributes;
  launch.numAttrs = is_supported ? (cluster_size > 1 ? 2U : 1U) : 0U;
  return cvtm_cuda_check(
      device, cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...), name);
}

} /* namespace */

#endif
