/* Inside meshes only: segments that are forced into a triangulation and may cross. */
#pragma once

#include "meshes/contour.h"
#include "meshes/delaunay/half_edges.h"

typedef struct cvtm_constraints {
  const int32_t *marker; /* marker of each segment; NULL: all 0. Where segments overlap, the first
                            that has a marker counts */
  int32_t *crossed;      /* malloc'd: for each new vertex the two segments that cross there */
  int64_t crossed_count, crossed_capacity;
} cvtm_constraints;

/* Makes segments edges of the triangulation, which becomes a constrained Delaunay triangulation. Of
 * the boundary that gives them only the edges and points are used. A segment through a vertex is
 * divided there; two segments that cross get a common vertex, as close to the crossing as the grid
 * allows. Each half-edge is then labelled with the segment that it is a part of. Of coincident
 * points the first counts. */
cvtm_status cvtm_constrain(cvtm_half_edges *m, cvtm_boundary *segments, cvtm_constraints *c,
                           cvtm_error *error);

/* Computes where the lines of two segments cross; `at` instead, the new vertex on the grid, if that
 * is farther than a step away. ends: 2 per segment. */
void cvtm_place_crossing(const double *points, const int32_t *ends, const int32_t crossed[2],
                         const cvtm_grid_frame *frame, cvtm_grid_point at, double place[2]);

/* Makes the triangulation of cvtm_constrained_delaunay as half-edges. Vertex v is point v; vertices
 * without a triangle are not dropped. The segment of a half-edge is the edge of the boundary that
 * it is a part of. */
cvtm_status cvtm_constrained_half_edges(const double *points, int64_t count,
                                        const cvtm_boundary *boundary, cvtm_half_edges *m,
                                        cvtm_grid_frame *frame, cvtm_error *error);
