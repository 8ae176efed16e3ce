/* For .cu files only: what the host code of launchers shares. A cudaError_t becomes a cvtm_status
 * with the message in the device's error. */
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

/* For tests: the n-th call from now on fails instead of being made (a launch is made, and then
 * reported as failed); 0: none does. CVTMESH_FAIL_CUDA=n of the environment does the same from the
 * start of the program. */
extern "C" void cvtm_cuda_fail_call(int64_t n);
/* Counts a call. Returns nonzero if it is the one to fail. */
extern "C" int cvtm_cuda_call_fails(void);
/* The most blocks of a launch: 2^20, or CVTMESH_TEST_MAX_BLOCKS of the environment. */
extern "C" int64_t cvtm_cuda_most_blocks(void);

/* A status; `call` is made unless a test lets it fail. */
#define CVTM_CUDA_CALL(device, call) \
  cvtm_cuda_check((device), cvtm_cuda_call_fails() ? cudaErrorUnknown : (call), #call)

/* To be called right after a launch: was it accepted? Faults while it runs are
 * reported by the next call that waits. */
static inline cvtm_status cvtm_cuda_launched(cvtm_device *device, const char *kernel) {
  const cudaError_t code = cudaGetLastError();
  return cvtm_cuda_check(device, cvtm_cuda_call_fails() ? cudaErrorUnknown : code, kernel);
}

/* Returns from the calling function if the call fails. */
#define CVTM_CUDA_TRY(device, call)                                    \
  do {                                                                 \
    const cvtm_status cvtm_cuda_try_ = CVTM_CUDA_CALL((device), call); \
    if (cvtm_cuda_try_ != CVTM_OK) return cvtm_cuda_try_;              \
  } while (0)

/* Parts of a sum that is partitioned alike on every device: the multiprocessors of an H100 or H200,
 * so that these get one each. */
enum { CVTM_CUDA_PARTS = 132 };

/* `blocks`, but no more than a launch may have. The kernel must work with any number of blocks. */
static inline unsigned cvtm_cuda_cap(int64_t blocks) {
  const int64_t most = cvtm_cuda_most_blocks();
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

/* Blocks for `count` elements, at least one; kernels stride over the elements beyond the cap. */
static inline unsigned cvtm_cuda_blocks(int64_t count, int block_size) {
  const int64_t blocks = count / block_size + (count % block_size != 0);
  return cvtm_cuda_cap(blocks < 1 ? 1 : blocks);
}

/* The same along y or z, where a launch has fewer blocks. */
static inline unsigned cvtm_cuda_rows(int64_t count, int block_size) {
  const unsigned blocks = cvtm_cuda_blocks(count, block_size), most = 65535;
  return blocks < most ? blocks : most;
}

/* As many blocks as the device runs at once, which a cooperative launch must not exceed. */
template <typename Kernel>
static inline cvtm_status cvtm_cuda_resident_blocks(cvtm_device *device, Kernel kernel, int threads,
                                                    unsigned *blocks) {
  int each = 0, number = 0, processors = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&number));
  CVTM_CUDA_TRY(device,
                cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number));
  CVTM_CUDA_TRY(device, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
  *blocks = static_cast<unsigned>(each) * static_cast<unsigned>(processors);
  return CVTM_OK;
}

/* An entry of a list for cvtm_device_allocate_all. */
template <typename T>
static inline cvtm_array cvtm_array_of(T **memory, int64_t count) {
  return {reinterpret_cast<void **>(memory), count, sizeof(T)};
}

#endif
