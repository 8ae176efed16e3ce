/* Inside the project only: segmentation by a level set (density/segment.h) on the vertices of a
 * triangulation. Linear elements; the first term is lumped at the vertices:
 *
 *     M(1/Q) u + tau K(g/Q) u <= M(1/Q) u^n,  lower <= u <= upper,
 *
 * with g and Q = sqrt(eps^2 + |grad u^n|^2) constant on a triangle. Each step is one LCP with a
 * stored matrix, solved by multigrid over aggregates of vertices. */
#ifndef CVTMESH_DENSITY_SEGMENT_MESH_H
#define CVTMESH_DENSITY_SEGMENT_MESH_H

#include "density/segment.h"
#include "meshes/mesh.h"

/* unit: the length of 1 in the mesh's coordinates. image, lower, upper, u: a number for each
 * vertex, host memory; u: the start (clipped to the bounds) and the result. Areas are shares of the
 * triangles', whole; the change is a root mean square. The options method and go_on are not used.
 * CVTM_ERROR_INPUT for a triangle without area. The message is in the device. */
cvtm_status cvtm_segment_on_mesh(cvtm_device *device, const cvtm_mesh *mesh, double unit,
                                 const cvtm_segment_options *options, const double *image,
                                 const double *lower, const double *upper, double *u,
                                 cvtm_segment_result *result);

#endif
