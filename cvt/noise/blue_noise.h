/* Inside noise/: the energy of Gaussian blue noise (gaussian.h) and its gradient, on a device. */
#ifndef CVTMESH_CVT_NOISE_BLUE_NOISE_H
#define CVTMESH_CVT_NOISE_BLUE_NOISE_H

#include "base/device.h"
#include "base/domain.h"

typedef struct cvtm_blue_noise cvtm_blue_noise;

/* The energy of `count` points. density: in host memory, as for cvtm_gaussian_noise; width: of the
 * kernels. On failure the message is the device's error. */
cvtm_status cvtm_blue_noise_create(cvtm_device *device, cvtm_domain domain, const float *density,
                                   double width, int64_t count, cvtm_blue_noise **noise);
void cvtm_blue_noise_destroy(cvtm_blue_noise *noise);
/* A cvtm_objective of 2 * count variables; context: the cvtm_blue_noise. */
cvtm_status cvtm_blue_noise_evaluate(void *context, const double *x, double *f, double *g,
                                     void *stream);
/* The widths (host, count) of the kernels of points at x (device memory). */
cvtm_status cvtm_blue_noise_widths(const cvtm_blue_noise *noise, const double *x, double *width);

#endif
