/* Inside meshes only: finds edges that cross, exactly, on the grid of the predicates. */
#pragma once

#include "base/status.h"

#include <stdint.h>

/* Two edges cross if they share a point that is an end of neither, or more than one point. */

/* Sets crossed[e] to 1 for every edge that crosses another, else 0; *found: the number of such
 * edges. edges: 2 * edge_count indices below count. Takes O((n + r) log n + r m) time for n edges,
 * of which the sweep finds r crossed, where a vertical line meets at most m edges. */
cvtm_status cvtm_find_crossed(const double *points, int64_t count, const int32_t *edges,
                              int64_t edge_count, uint8_t *crossed, int64_t *found,
                              cvtm_error *error);

/* Checks closed rings that bound an area by the even-odd rule. Ring k has the points start[k] ..
 * start[k + 1] - 1, at least three; edge k begins at point k. Edges of different rings may touch;
 * edges of one ring may touch only if they are consecutive. Rings must not cross, not even at
 * corners. pair: two edges that violate this rule, or -1 twice. If there is no such pair,
 * reversed[k] is 1 for every ring with the wrong direction: outer rings run counterclockwise as
 * seen with y up, holes clockwise. Takes O(n log n) time for n points. */
cvtm_status cvtm_check_rings(const double *points, const int64_t *start, int64_t ring_count,
                             uint8_t *reversed, int64_t pair[2], cvtm_error *error);

/* Finds two edges of such rings that cross, with the ends of each more than `depth` grid steps from
 * the line through the other; -1 twice: none found, although one may exist. O(n log n) time. */
cvtm_status cvtm_find_deep_crossing(const double *points, const int64_t *start, int64_t ring_count,
                                    double depth, int64_t pair[2], cvtm_error *error);
