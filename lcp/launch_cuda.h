/* For .cu files only: launches of one thread per row, and launches with programmatic dependent
 * launch (PDL). */
#ifndef CVTMESH_LCP_LAUNCH_CUDA_H
#define CVTMESH_LCP_LAUNCH_CUDA_H

#include "base/cuda_utils.h"
#include "base/select.h"

namespace {

/* --- one thread per row --- */

/* An argument of a row function: a value, or an address if the function takes a pointer. */
template <typename T>
struct row_argument {
  const T &value;
  __device__ operator const T &() const { return value; }
  __device__ operator const T *() const { return &value; }
};

/* Calls function(arguments, row) for rows first .. end - 1. resident: the number of blocks that
 * must fit a multiprocessor, which limits the registers; 0: no limit. */
template <auto function, int block, int resident, typename... Arguments>
__global__ void __launch_bounds__(block, resident)
    for_rows(int64_t first, int64_t end, const __grid_constant__ Arguments... arguments) {
  const int64_t stride = gridDim.x * static_cast<int64_t>(block);
  for (int64_t row = first + blockIdx.x * static_cast<int64_t>(block) + threadIdx.x; row < end;
       row += stride) {
    function(row_argument<Arguments>{arguments}..., row);
  }
}

/* Launches for_rows; structs are copied into the arguments of the kernel. */
template <auto function, int block, int resident = 0, typename... Arguments>
cvtm_status launch_rows(cvtm_device *device, const char *name, int64_t first, int64_t end,
                        Arguments... arguments) {
  for_rows<function, block, resident>
      <<<cvtm_cuda_blocks(end - first, block), block, 0, cvtm_cuda_stream(device)>>>(first, end,
                                                                                     arguments...);
  return cvtm_cuda_launched(device, name);
}

/* --- PDL, from compute capability 9.0 on --- */

/* A kernel launched with PDL may start before the kernel ahead of it on the stream has ended. It
 * calls pdl_wait before it reads or writes memory that earlier kernels use. With ordinary launches
 * cycles of multigrid on grids take 1.1 to 1.3 times as long at 1024 x 1024, and 1.03 to 1.08 times
 * at 4096 x 4096 (H200). */

/* Lets the next kernel of the stream start. */
__device__ inline void pdl_trigger() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Returns when all earlier kernels of the stream have ended and their writes are visible. */
__device__ inline void pdl_wait() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

__device__ inline void pdl_trigger_and_wait() {
  pdl_trigger();
  pdl_wait();
}

inline cvtm_status has_pdl(cvtm_device *device, bool *out) {
  int number = 0, major = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&number));
  CVTM_CUDA_TRY(device, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number));
  *out = major >= 9;
  return CVTM_OK;
}

/* Launches with PDL; on devices without PDL, as usual. */
template <typename... Parameters, typename... Arguments>
cvtm_status launch_pdl(cvtm_device *device, const char *name, void (*kernel)(Parameters...),
                       dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
  if (shared > 0) {
    CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared)));
  }
  bool is_supported = false;
  const cvtm_status status = has_pdl(device, &is_supported);
  if (status != CVTM_OK) return status;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = grid;
  launch.blockDim = block;
  launch.dynamicSmemBytes = shared;
  launch.stream = cvtm_cuda_stream(device);
  launch.attrs = &attribute;
  launch.numAttrs = is_supported && !cvtm_uses_plain("pdl") && !cvtm_uses_plain("grid");
  return cvtm_cuda_check(
      device, cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...), name);
}

} /* namespace */

#endif
