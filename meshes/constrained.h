/* Constrained Delaunay triangulation of regions that are bounded by edges. */
#pragma once

#include "meshes/contour.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* Makes the constrained Delaunay triangulation (Sloan 1993; Lawson 1977) of count points, the first
 * of which are the vertices of the boundary. Every edge of the boundary is an edge of the mesh, and
 * the circumcircle of a triangle contains no vertex that is visible from inside the triangle.
 * Predicates are exact on the grid of cvtm_delaunay; triangles and corners have the order of
 * cvtm_delaunay within each region. `left` and `right` of the boundary's edges give the region of a
 * triangle. Triangles of region 0, the outside, are dropped, and so are points without triangles:
 * vertex v of the mesh was point source[v]. source is malloc'd. An edge that passes exactly through
 * a point is divided there. Fails with CVTM_ERROR_INPUT, naming the positions, if edges of the
 * boundary cross or their regions contradict each other; the outputs are then unchanged. */
cvtm_status cvtm_constrained_delaunay(const double *points, int64_t count,
                                      const cvtm_boundary *boundary, cvtm_mesh *mesh,
                                      cvtm_regions *regions, int32_t **source, cvtm_error *error);

/* Pairs the vertices and edges of a mesh on the periodic sides of its boundary (`twin`). source:
 * per vertex of the mesh the vertex of the boundary that it was; numbers beyond these, and -1,
 * stand for others. Pairs are sorted by the number of the translation, then along the side, upwards
 * or to the right. Curves on the sides are divided so that each is the copy of one other curve, and
 * edges are reordered accordingly, along the sides. To be called after cvtm_regions_group. Replaces
 * earlier pairs. Fails with CVTM_ERROR_MEMORY; then *regions is unchanged. */
cvtm_status cvtm_regions_pair(const cvtm_mesh *mesh, const cvtm_boundary *boundary,
                              const int32_t *source, cvtm_regions *regions, cvtm_error *error);

CVTM_API_END
