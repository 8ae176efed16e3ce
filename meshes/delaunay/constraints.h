/* Inside meshes only: segments that are forced into a triangulation and may cross. */
#ifndef CVTMESH_MESHES_DELAUNAY_CONSTRAINTS_H
#define CVTMESH_MESHES_DELAUNAY_CONSTRAINTS_H

#include "meshes/contour.h"
#include "meshes/delaunay/half_edges.h"

typedef struct cvtm_constraints {
  const int32_t *marker; /* of each segment; NULL: all 0. Where segments overlap, the first with a
                            marker counts */
  int32_t *crossed;      /* malloc'd: of each new vertex the two segments that cross in it */
  int64_t crossed_count, crossed_capacity;
} cvtm_constraints;

/* Makes the segments (the edges of a boundary, of which only these and the points are used) edges
 * of the triangulation, which becomes a constrained Delaunay triangulation. A segment through a
 * vertex is divided there; where two cross, they get a common vertex, as near to the crossing as
 * the grid allows. The segment of a half-edge is then the number of the one that it is a part of.
 * Of points in one place the first one counts. */
cvtm_status cvtm_constrain(cvtm_half_edges *m, cvtm_boundary *segments, cvtm_constraints *c,
                           cvtm_error *error);

/* The triangulation of cvtm_constrained_delaunay as half-edges. Vertex v is point v; those without
 * a triangle are not dropped. The segment of a half-edge is the edge of the boundary that it is a
 * part of. */
cvtm_status cvtm_constrained_half_edges(const double *points, int64_t count,
                                        const cvtm_boundary *boundary, cvtm_half_edges *m,
                                        cvtm_grid_frame *frame, cvtm_error *error);

#endif
