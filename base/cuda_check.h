/* For .cu files only: a cudaError_t becomes a cvtm_status with the message in the
 * device's error, and what every launcher needs besides. */
#ifndef CVTMESH_BASE_CUDA_CHECK_H
#define CVTMESH_BASE_CUDA_CHECK_H

#include "base/device.h"

#include <cuda_runtime.h>

static inline cudaStream_t cvtm_cuda_stream(const cvtm_device *device) {
  return static_cast<cudaStream_t>(cvtm_device_stream(device));
}

static inline cvtm_status cvtm_cuda_status_of(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return CVTM_OK;
    case cudaErrorMemoryAllocation:
      return CVTM_ERROR_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return CVTM_ERROR_DEVICE_UNAVAILABLE;
    default:
      return CVTM_ERROR_DEVICE;
  }
}

/* `what` names the call or kernel in the message. The runtime's last error is cleared, so
 * that a later check does not find this one again. */
static inline cvtm_status cvtm_cuda_check(cvtm_device *device, cudaError_t code, const char *what) {
  if (code == cudaSuccess) return CVTM_OK;
  (void)cudaGetLastError();
  return cvtm_fail(cvtm_device_error(device), cvtm_cuda_status_of(code), "%s: %s: %s",
                   cvtm_device_name(device), what, cudaGetErrorString(code));
}

/* To be called right after a launch: was it accepted? Faults while it runs are
 * reported by the next call that waits. */
static inline cvtm_status cvtm_cuda_launched(cvtm_device *device, const char *kernel) {
  return cvtm_cuda_check(device, cudaGetLastError(), kernel);
}

/* Returns from the calling function if the call fails. */
#define CVTM_CUDA_TRY(device, call)                                              \
  do {                                                                           \
    const cvtm_status cvtm_cuda_try_ = cvtm_cuda_check((device), (call), #call); \
    if (cvtm_cuda_try_ != CVTM_OK) return cvtm_cuda_try_;                        \
  } while (0)

/* Blocks for `count` elements, at least one; kernels stride over what is beyond the cap. */
static inline unsigned cvtm_cuda_blocks(int64_t count, int block_size) {
  const int64_t blocks = count / block_size + (count % block_size != 0);
  const int64_t cap = INT64_C(1) << 20;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > cap ? cap : blocks);
}

#endif
