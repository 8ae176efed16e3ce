/* Inside viewer only: the CUDA functions of points.c. */
#pragma once

#include "base/device.h"

CVTM_C_BEGIN

/* Makes the device current in CUDA for the calling thread. Returns nonzero if the current OpenGL
 * context draws on this device. */
int cvtm_points_cuda_shared(cvtm_device *device);
/* Enqueues to[k] = (float)from[k] for k < n. */
cvtm_status cvtm_points_cuda_narrow(cvtm_device *device, const double *from, float *to, int64_t n);
cvtm_status cvtm_points_cuda_pin(cvtm_device *device, size_t bytes, void **memory);
void cvtm_points_cuda_unpin(void *memory);
/* Creates the stream of the drawing thread. */
cvtm_status cvtm_points_cuda_stream(void **stream, cvtm_error *error);
void cvtm_points_cuda_stream_end(void *stream);
cvtm_status cvtm_points_cuda_register(unsigned buffer, void **resource, cvtm_error *error);
void cvtm_points_cuda_unregister(void *resource);
/* Copies device memory to the registered buffer. */
cvtm_status cvtm_points_cuda_copy(void *resource, void *stream, const float *from, size_t bytes,
                                  cvtm_error *error);

CVTM_C_END
