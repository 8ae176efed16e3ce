/* Inside draw/: lists of nearest points. */
#pragma once

#include "base/status.h"

#include <stdint.h>

/* Finds the `degree` other points nearest to each of `count` points (x, y; finite), by a k-d tree
 * (Bentley 1975). nearest: degree * count; row i holds the neighbours of point i by distance, then
 * by index. degree < count; degree <= CVTM_NEAREST_MAX. threads: number of CPU threads; 0: one per
 * core; the result does not depend on it. Fails with CVTM_ERROR_MEMORY. */
enum { CVTM_NEAREST_MAX = 16 };
cvtm_status cvtm_nearest_lists(const double *points, int32_t count, int degree, int threads,
                               int32_t *nearest, cvtm_error *error);
