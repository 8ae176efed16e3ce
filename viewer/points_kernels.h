/* Inside viewer only: what points.c asks of CUDA. */
#ifndef CVTMESH_VIEWER_POINTS_KERNELS_H
#define CVTMESH_VIEWER_POINTS_KERNELS_H

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nonzero if the current OpenGL context draws on the device that is current in CUDA;
 * activates it for the calling thread. */
int cvtm_points_cuda_shared(cvtm_device *device);
/* to[k] = (float)from[k] for k < n, enqueued. */
cvtm_status cvtm_points_cuda_narrow(cvtm_device *device, const double *from, float *to, int64_t n);
cvtm_status cvtm_points_cuda_pin(cvtm_device *device, size_t bytes, void **memory);
void cvtm_points_cuda_unpin(void *memory);
/* For the drawing thread, which has a stream of its own. */
cvtm_status cvtm_points_cuda_stream(void **stream, cvtm_error *error);
void cvtm_points_cuda_stream_end(void *stream);
cvtm_status cvtm_points_cuda_register(unsigned buffer, void **resource, cvtm_error *error);
void cvtm_points_cuda_unregister(void *resource);
/* Device memory to the registered buffer. */
cvtm_status cvtm_points_cuda_copy(void *resource, void *stream, const float *from, size_t bytes,
                                  cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif
