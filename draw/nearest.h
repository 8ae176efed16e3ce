/* Inside draw/: lists of nearest points, and the ranges of a k-d tree. */
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

/* Splits the range [first, end) of `order`, indices of points, for a k-d tree: reorders it such
 * that along the longer side of the bounding box, whose axis is returned, no point before the
 * middle, first + (end - first) / 2, lies after the point there, and no point after it before. */
int cvtm_split_points(const double *points, int32_t *order, int32_t first, int32_t end);
