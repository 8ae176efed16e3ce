/* Private to this room: which of many edges meet, decided exactly on the grid of the predicates. */
#ifndef CVTMESH_MESHES_CROSSINGS_H
#define CVTMESH_MESHES_CROSSINGS_H

#include "base/status.h"

#include <stdint.h>

/* Edges e and f meet: in one point of which at least one is an end, or, `crossing`, between
 * their ends or along a stretch. Nonzero stops. */
typedef int (*cvtm_meeting_visitor)(void *context, int64_t e, int64_t f, int crossing);

/* Visits every pair once; edges that share a vertex meet. edges: 2 * edge_count indices below
 * count. Two edges are compared if a vertical line meets both. */
cvtm_status cvtm_visit_meetings(const double *points, int64_t count, const int32_t *edges,
                                int64_t edge_count, cvtm_meeting_visitor visit, void *context,
                                cvtm_error *error);

/* crossed[e] = 1 for every edge that crosses another, else 0; *found: how many do. */
cvtm_status cvtm_find_crossed(const double *points, int64_t count, const int32_t *edges,
                              int64_t edge_count, uint8_t *crossed, int64_t *found,
                              cvtm_error *error);

#endif
