/* Inside the library: the vertices of a mesh that lie on the edges of its boundary. */
#pragma once

#include "meshes/contour.h"
#include "meshes/mesh.h"

/* The vertices on edge e of a boundary, from its first end to its second, are vertex[start[e]] ..
 * vertex[start[e + 1] - 1]; none for an edge that the mesh divides at another given vertex. Arrays
 * are malloc'd and owned. */
typedef struct cvtm_chains {
  int64_t *start;
  int32_t *vertex;
} cvtm_chains;

/* source: per vertex of the mesh the vertex of the boundary that it was; numbers beyond these, and
 * -1, stand for others. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_chains_find(const cvtm_boundary *boundary, const cvtm_mesh *mesh,
                             const cvtm_regions *regions, const int32_t *source,
                             cvtm_chains *chains, cvtm_error *error);
void cvtm_chains_free(cvtm_chains *chains);
