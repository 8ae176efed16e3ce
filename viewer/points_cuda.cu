#include "viewer/points_kernels.h"

#include "base/cuda_utils.h"

#include <cuda_gl_interop.h>

static cvtm_status check_cuda(cudaError_t code, const char *what, cvtm_error *error) {
  if (code == cudaSuccess) return CVTM_OK;
  (void)cudaGetLastError();
  return cvtm_fail(error, cvtm_cuda_status_of(code), "%s: %s", what, cudaGetErrorString(code));
}

extern "C" int cvtm_points_cuda_shared(cvtm_device *device) {
  if (cvtm_device_activate(device) != CVTM_OK) return 0;
  enum { MOST = 16 };
  unsigned count = 0;
  int found[MOST], current = -1;
  const cudaError_t code = cudaGLGetDevices(&count, found, MOST, cudaGLDeviceListAll);
  if (code != cudaSuccess || cudaGetDevice(&current) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  for (unsigned k = 0; k < count && k < MOST; ++k)
    if (found[k] == current) return 1;
  return 0;
}

static __device__ void narrow(const double *from, float *to, int64_t k) {
  to[k] = static_cast<float>(from[k]);
}

extern "C" cvtm_status cvtm_points_cuda_narrow(cvtm_device *device, const double *from, float *to,
                                               int64_t n) {
  const cvtm_status status = cvtm_device_activate(device);
  return status == CVTM_OK ? launch_rows<narrow, 256>(device, "narrow", 0, n, from, to) : status;
}

extern "C" cvtm_status cvtm_points_cuda_pin(cvtm_device *device, size_t bytes, void **memory) {
  CVTM_CUDA_TRY(device, cudaHostAlloc(memory, bytes, cudaHostAllocPortable));
  return CVTM_OK;
}

extern "C" void cvtm_points_cuda_unpin(void *memory) { (void)cudaFreeHost(memory); }

extern "C" cvtm_status cvtm_points_cuda_stream(void **stream, cvtm_error *error) {
  cudaStream_t made = nullptr;
  const cvtm_status status = check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
                                        "cudaStreamCreateWithFlags", error);
  *stream = made;
  return status;
}

extern "C" void cvtm_points_cuda_stream_end(void *stream) {
  if (stream != nullptr) (void)cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}

extern "C" cvtm_status cvtm_points_cuda_register(unsigned buffer, void **resource,
                                                 cvtm_error *error) {
  cudaGraphicsResource_t made = nullptr;
  const cvtm_status status =
      check_cuda(cudaGraphicsGLRegisterBuffer(&made, buffer, cudaGraphicsRegisterFlagsWriteDiscard),
                 "cudaGraphicsGLRegisterBuffer", error);
  *resource = made;
  return status;
}

extern "C" void cvtm_points_cuda_unregister(void *resource) {
  if (resource != nullptr)
    (void)cudaGraphicsUnregisterResource(static_cast<cudaGraphicsResource_t>(resource));
}

extern "C" cvtm_status cvtm_points_cuda_copy(void *resource, void *stream, const float *from,
                                             size_t bytes, cvtm_error *error) {
  cudaGraphicsResource_t mapped = static_cast<cudaGraphicsResource_t>(resource);
  const cudaStream_t order = static_cast<cudaStream_t>(stream);
  void *to = nullptr;
  size_t mapped_bytes = 0;
  CVTM_TRY(
      check_cuda(cudaGraphicsMapResources(1, &mapped, order), "cudaGraphicsMapResources", error));
  cvtm_status status = check_cuda(cudaGraphicsResourceGetMappedPointer(&to, &mapped_bytes, mapped),
                                  "cudaGraphicsResourceGetMappedPointer", error);
  if (status == CVTM_OK && mapped_bytes < bytes)
    status = cvtm_fail(error, CVTM_ERROR_INTERNAL,
                       "the OpenGL buffer has %zu bytes, but %zu are needed", mapped_bytes, bytes);
  if (status == CVTM_OK)
    status = check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, order),
                        "cudaMemcpyAsync", error);
  const cvtm_status unmapped = check_cuda(cudaGraphicsUnmapResources(1, &mapped, order),
                                          "cudaGraphicsUnmapResources", error);
  if (status == CVTM_OK) status = unmapped;
  /* the slot can be overwritten as soon as the reader returns it */
  if (status == CVTM_OK)
    status = check_cuda(cudaStreamSynchronize(order), "cudaStreamSynchronize", error);
  return status;
}
