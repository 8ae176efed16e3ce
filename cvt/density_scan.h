/* Inside cvt only: sums over a density on the host. */
#pragma once

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

typedef struct cvtm_density_sums {
  double mass, sqrt_integral; /* integrals of rho and of sqrt(rho) */
} cvtm_density_sums;

/* The side, in pixels, of the squares that cover the image; squares at the right and lower border
 * extend beyond the image. */
enum { CVTM_DENSITY_SQUARE = 8 };

static inline int64_t cvtm_density_squares(int64_t pixels) {
  return (pixels + CVTM_DENSITY_SQUARE - 1) / CVTM_DENSITY_SQUARE;
}

/* Integrates a density. sqrt_integral: NULL, or the integral of sqrt(rho) over each square, row by
 * row. The bits do not depend on the number of threads. CVTM_ERROR_ARGUMENT: a pixel, named in the
 * message, is negative or not finite, or the density is zero everywhere. */
cvtm_status cvtm_density_scan(cvtm_domain domain, const float *density, cvtm_density_sums *sums,
                              double *sqrt_integral, cvtm_error *error);
/* As cvtm_density_scan, but allocates *sqrt_integral, which the caller frees; NULL on failure. */
cvtm_status cvtm_density_scan_squares(cvtm_domain domain, const float *density,
                                      cvtm_density_sums *sums, double **sqrt_integral,
                                      cvtm_error *error);
