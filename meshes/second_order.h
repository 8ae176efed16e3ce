/* Triangles of second order, with nodes in the middle of edges or, on the boundary, on its
 * curves. */
#pragma once

#include "meshes/contour.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* One node for every edge of a mesh, numbered from the mesh's vertex_count on. All arrays are
 * malloc'd and owned. */
typedef struct cvtm_second_order {
  int64_t count;
  double *points;       /* 2 * count, pixels, y down */
  int32_t *triangle;    /* 3 per triangle: between corners 0 and 1, 1 and 2, 2 and 0 */
  int32_t *edge;        /* per edge of the regions: its node; NULL without regions */
  int64_t curved;       /* number of edges whose node is not their midpoint */
  int64_t straightened; /* number of boundary edges kept straight, because a curve would invert a
                           triangle */
} cvtm_second_order;

void cvtm_second_order_free(cvtm_second_order *second);

/* Makes the nodes. A node is the midpoint of its edge or, for a boundary edge, the point where the
 * perpendicular bisector meets the contour between the same regions, at most half an edge away. If
 * a Bernstein coefficient of the Jacobian of a triangle (Johnen, Remacle & Geuzaine 2013) is less
 * than 1/20 of the Jacobian of the straight triangle, the edges of this triangle become straight
 * again: this proves every Jacobian positive. regions and contour may be NULL: then edges are
 * straight. */
cvtm_status cvtm_second_order_create(const cvtm_mesh *mesh, const cvtm_regions *regions,
                                     const cvtm_contour *contour, cvtm_second_order *second,
                                     cvtm_error *error);

CVTM_API_END
