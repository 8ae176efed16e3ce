/* Inside meshes only: which of many edges meet, decided exactly on the grid of the predicates. */
#ifndef CVTMESH_MESHES_DELAUNAY_CROSSINGS_H
#define CVTMESH_MESHES_DELAUNAY_CROSSINGS_H

#include "base/status.h"

#include <stdint.h>

/* Two edges cross if they share a point that is an end of neither, or more than one point. */

/* crossed[e] = 1 for every edge that crosses another, else 0; *found: how many do. edges:
 * 2 * edge_count indices below count. O((n + r) log n) time for n edges, and beyond that
 * O(r m) if r of them are found crossed in the sweep and a vertical line meets at most m. */
cvtm_status cvtm_find_crossed(const double *points, int64_t count, const int32_t *edges,
                              int64_t edge_count, uint8_t *crossed, int64_t *found,
                              cvtm_error *error);

/* Closed rings that bound an area by the even-odd rule: ring k has the points start[k] ..
 * start[k + 1] - 1, three or more; edge k begins at point k. Edges of different rings may touch,
 * edges of one ring only where one follows the other, and none may cross, in
 * corners neither. pair: two edges that
 * meet against this rule, or -1 twice. Without such a pair, reversed[k] = 1 for every ring that
 * runs the wrong way: outer rings run counterclockwise as seen with y up, holes clockwise.
 * O(n log n) time for n points. */
cvtm_status cvtm_check_rings(const double *points, const int64_t *start, int64_t ring_count,
                             uint8_t *reversed, int64_t pair[2], cvtm_error *error);

/* Two edges of such rings that cross, each with both ends more than `depth` steps of the grid of
 * the predicates from the other's line, or -1 twice: then there may still be one. O(n log n). */
cvtm_status cvtm_find_deep_crossing(const double *points, const int64_t *start, int64_t ring_count,
                                    double depth, int64_t pair[2], cvtm_error *error);

#endif
