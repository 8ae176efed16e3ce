/* Inside noise/: sums of Gaussian kernels of different widths, and the energy of Gaussian blue
 * noise (gaussian.h) and its gradient, on a device.
 *
 * K(p, q) = 2 a b / (a^2 + b^2) exp(-|p - q|^2 / (2 (a^2 + b^2))) is the integral over the plane
 * of the product of two Gaussians of equal norm, with centres p, q and widths a, b. */
#pragma once

#include "base/device.h"
#include "base/domain.h"

CVTM_C_BEGIN

/* The sources of a sum, sorted by octaves of their variances, then by cells. */
typedef struct cvtm_kernels cvtm_kernels;

typedef struct cvtm_kernel_source {
  double x, y; /* inside the domain */
  double width;
  double variance; /* width^2; larger for a source that represents an area */
  double mass;
} cvtm_kernel_source;

typedef struct cvtm_kernel_sum {
  double value;        /* sum of mass times K */
  double by_x, by_y;   /* derivatives of the value with respect to the point's position */
  double by_log_width; /* derivative with respect to the logarithm of the point's width */
} cvtm_kernel_sum;

/* Allocates memory for up to `capacity` sources. Sets the device's error on failure. */
cvtm_status cvtm_kernels_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_kernels **kernels);
void cvtm_kernels_destroy(cvtm_kernels *kernels);
/* Enqueues the replacement of the sources by `count` others in device memory. Allocates nothing. */
cvtm_status cvtm_kernels_set(cvtm_kernels *kernels, const cvtm_kernel_source *sources,
                             int64_t count);
/* Enqueues the computation of the sum at each of the `places`, of which x, y and width are used; on
 * a torus over all periodic images. Neglects only kernels below 1e-7. Arrays are in device memory.
 * Allocates nothing. The bits of the sums depend on neither threads nor vectors. */
cvtm_status cvtm_kernels_sum(const cvtm_kernels *kernels, const cvtm_kernel_source *places,
                             int64_t count, cvtm_kernel_sum *sums);

typedef struct cvtm_blue_noise cvtm_blue_noise;

/* Creates the energy of `count` points. density: in host memory, as for cvtm_gaussian_noise; width:
 * the width of the kernels, in local spacings. Sets the device's error on failure. */
cvtm_status cvtm_blue_noise_create(cvtm_device *device, cvtm_domain domain, const float *density,
                                   double width, int64_t count, cvtm_blue_noise **noise);
void cvtm_blue_noise_destroy(cvtm_blue_noise *noise);
/* The energy as a cvtm_objective of 2 * count variables. context: the cvtm_blue_noise. */
cvtm_status cvtm_blue_noise_evaluate(void *context, const double *x, double *f, double *g,
                                     void *stream);
/* Computes the widths (host, count) of the kernels of points at x (device memory). */
cvtm_status cvtm_blue_noise_widths(const cvtm_blue_noise *noise, const double *x, double *width);

CVTM_C_END
