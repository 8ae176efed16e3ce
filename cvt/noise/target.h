/* Inside noise/: a wanted density of points, as the optimiser of Gaussian blue noise sees it: the
 * width of the kernel at each place, and the potential of the density, the sum over it of kernels.
 * target_value.h has the values between the nodes. */
#ifndef CVTMESH_CVT_NOISE_TARGET_H
#define CVTMESH_CVT_NOISE_TARGET_H

#include "base/device.h"
#include "base/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values at nodes, of which `margin` rows and columns lie outside the domain on each side. */
typedef struct cvtm_target {
  cvtm_domain domain;
  int columns, rows; /* with the margins */
  double step[2];    /* between nodes, pixels; node 0 lies (margin - 1/2) steps outside */
  double *log_width; /* coefficients of a cubic B-spline */
  double *potential; /* values, for Keys' cubic convolution (1981) */
} cvtm_target;

enum { CVTM_TARGET_MARGIN = 2 };

/* Divides the domain into cells[0] x cells[1] cells, as small as the largest density wants, and
 * sets *mass (malloc'd) to the number of points wanted in each, `count` in all. */
cvtm_status cvtm_target_masses(cvtm_domain domain, const float *density, int64_t count,
                               int cells[2], double **mass, cvtm_error *error);

/* density: width * height, >= 0, finite, not all 0, proportional to the wanted density of `count`
 * points. width: of the kernels in units of the local spacing, the root of one over that density.
 * The local density is its mean with Gaussian weights of the kernel's own width, so that a place
 * without density has a finite width. The potential is 0. *target is empty on failure
 * (CVTM_ERROR_MEMORY); else cvtm_target_free frees it. masses, unless NULL, receives those of
 * cvtm_target_masses, which the caller frees. */
cvtm_status cvtm_target_create(cvtm_domain domain, const float *density, int64_t count,
                               double width, int threads, cvtm_target *target, double **masses,
                               cvtm_error *error);
/* Computes the potential of these masses on the device. Fails with the device's error. */
cvtm_status cvtm_target_add_potential(cvtm_device *device, const double *masses,
                                      cvtm_target *target);
void cvtm_target_free(cvtm_target *target);

#ifdef __cplusplus
}
#endif

#endif
