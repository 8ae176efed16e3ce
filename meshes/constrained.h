/* Constrained Delaunay triangulation of regions that are bounded by edges. */
#ifndef CVTMESH_MESHES_CONSTRAINED_H
#define CVTMESH_MESHES_CONSTRAINED_H

#include "meshes/contour.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* The constrained Delaunay triangulation of count points with the boundary's edges (its vertices
 * are the first points) as edges: no vertex that a triangle's inside can see, past no
 * constraint, lies in its circumcircle. Decided by exact predicates on the grid of
 * cvtm_delaunay, whose order of triangles and corners it keeps within each region. A triangle
 * belongs to the region that the edges' sides name; those of region 0, the outside, are dropped,
 * and so are points without a triangle: source[v] is the point that vertex v was. An edge that
 * passes exactly through a point is divided there. Edges of the boundary that cross, or whose sides
 * contradict each other, are CVTM_ERROR_INPUT with the places; then the outputs are
 * untouched. source is malloc'd. (Sloan 1993; Lawson 1977.) */
cvtm_status cvtm_constrained_delaunay(const double *points, int64_t count,
                                      const cvtm_boundary *boundary, cvtm_mesh *mesh,
                                      cvtm_regions *regions, int32_t **source, cvtm_error *error);

CVTM_API_END
#endif
