/* Inside plot and for drawings of graphs: few lines that pass along every edge once. */
#ifndef CVTMESH_DRAW_TRAILS_H
#define CVTMESH_DRAW_TRAILS_H

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* Trail k goes through vertices vertex[start[k]] .. vertex[start[k + 1] - 1]. Owned. */
typedef struct cvtm_trails {
  int64_t count;
  int64_t *start; /* count + 1 */
  int32_t *vertex;
} cvtm_trails;

/* Covers a graph by trails: each of `edge_count` edges (two different vertices below vertex_count,
 * listed once) lies on one of them, once. Trails begin at vertices of odd degree, whose number is
 * twice that of the fewest possible trails of a connected graph, then where edges are left; each
 * continues as long as it finds an edge. Deterministic, O(vertices + edges). Fails with
 * CVTM_ERROR_MEMORY; then *trails is empty. */
cvtm_status cvtm_trails_create(const int32_t *edges, int64_t edge_count, int64_t vertex_count,
                               cvtm_trails *trails, cvtm_error *error);
void cvtm_trails_free(cvtm_trails *trails);

CVTM_API_END
#endif
