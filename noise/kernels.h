/* Inside noise/: sums of Gaussian kernels of different widths.
 *
 * K(p, q) = 2 a b / (a^2 + b^2) exp(-|p - q|^2 / (2 (a^2 + b^2))) for places p, q of widths a, b:
 * the product of two Gaussians of the widths a and b and of equal norms, integrated over the plane.
 */
#ifndef CVTMESH_NOISE_KERNELS_H
#define CVTMESH_NOISE_KERNELS_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

/* What a sum runs over. Sources are sorted by octaves of their variances, then by cells. */
typedef struct cvtm_kernels cvtm_kernels;

typedef struct cvtm_kernel_source {
  double x, y; /* inside the domain */
  double width;
  double variance; /* width^2, or more for a source that is spread */
  double mass;
} cvtm_kernel_source;

/* Room for up to `capacity` sources. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_kernels_create(cvtm_domain domain, int64_t capacity, cvtm_kernels **made,
                                cvtm_error *error);
void cvtm_kernels_destroy(cvtm_kernels *kernels);
/* Replaces the sources; allocates nothing. */
void cvtm_kernels_set(cvtm_kernels *kernels, const cvtm_kernel_source *sources, int64_t count);
/* The number of the k-th source in the order in which they are stored. */
int32_t cvtm_kernels_order(const cvtm_kernels *kernels, int64_t k);

typedef struct cvtm_kernel_sum {
  double value;        /* sum of mass K */
  double by_x, by_y;   /* its derivatives by the place, */
  double by_log_width; /* and by the logarithm of the width */
} cvtm_kernel_sum;

/* The sum at (x, y) with this width; in a torus over all images. Kernels below 1e-7 are left out.
 * The bits depend on neither threads nor vectors. */
cvtm_kernel_sum cvtm_kernels_at(const cvtm_kernels *kernels, double x, double y, double width);

#endif
