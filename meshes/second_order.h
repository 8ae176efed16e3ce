/* Triangles of second order: nodes in the middle of edges, on the boundary's curves. */
#ifndef CVTMESH_MESHES_SECOND_ORDER_H
#define CVTMESH_MESHES_SECOND_ORDER_H

#include "meshes/contour.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* One node for every edge of a mesh; they are numbered from the mesh's vertex_count on. All arrays
 * are malloc'd and owned. */
typedef struct cvtm_second_order {
  int64_t count;
  double *points;       /* 2 * count, pixels, y down */
  int32_t *triangle;    /* 3 per triangle: between corners 0 and 1, 1 and 2, 2 and 0 */
  int32_t *edge;        /* of each edge of the regions; NULL without regions */
  int64_t curved;       /* edges whose node is off their middle */
  int64_t straightened; /* edges that were to be curved, but would have turned a triangle over */
} cvtm_second_order;

void cvtm_second_order_free(cvtm_second_order *second);

/* Nodes stand in the middle of edges; those of boundary edges where the perpendicular bisector
 * meets the contour between the same regions, at most half an edge away. A triangle whose Jacobian
 * is not proved positive by its Bernstein coefficients (Johnen, Remacle & Geuzaine 2013), each of
 * which must be at least 1/20 of that of the straight triangle, gets straight edges again. regions
 * and contour may be NULL: then all edges are straight. */
cvtm_status cvtm_second_order_create(const cvtm_mesh *mesh, const cvtm_regions *regions,
                                     const cvtm_contour *contour, cvtm_second_order *second,
                                     cvtm_error *error);

CVTM_API_END
#endif
