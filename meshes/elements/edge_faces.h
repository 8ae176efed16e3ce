/* Inside meshes only: where the edges of regions lie in the triangles. */
#ifndef CVTMESH_MESHES_ELEMENTS_EDGE_FACES_H
#define CVTMESH_MESHES_ELEMENTS_EDGE_FACES_H

#include "meshes/mesh.h"

/* face[e] = 3 t + k: edge e runs from corner k of triangle t, on its left, to the next one. 0: no
 * memory. */
int cvtm_find_edge_faces(const int32_t *triangles, int64_t triangle_count, int64_t vertex_count,
                         const cvtm_regions *regions, int64_t *face);

#endif
