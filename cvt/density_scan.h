/* Inside cvt only: sums over a density on the host. */
#ifndef CVTMESH_CVT_DENSITY_SCAN_H
#define CVTMESH_CVT_DENSITY_SCAN_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

typedef struct cvtm_density_sums {
  double mass, root; /* integrals of rho and of sqrt(rho) */
} cvtm_density_sums;

/* The same bits for any number of threads. Refuses a density that is negative or not finite
 * somewhere, with the pixel, or zero everywhere. */
cvtm_status cvtm_density_scan(cvtm_domain domain, const float *density, cvtm_density_sums *sums,
                              cvtm_error *error);

#endif
