/* Distances between points and their nearest neighbours. */
#pragma once

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

typedef struct cvtm_nearest_distances {
  int64_t points;
  double least, mean; /* pixels; NaN if there are fewer than two points */
} cvtm_nearest_distances;

/* Measures the distances between points (2 * count, finite) and their nearest neighbours. threads:
 * 0: all; the result does not depend on their number. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_nearest_distances_measure(cvtm_domain domain, const double *points, int64_t count,
                                           int threads, cvtm_nearest_distances *distances,
                                           cvtm_error *error);

CVTM_API_END
