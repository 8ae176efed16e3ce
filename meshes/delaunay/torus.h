/* The Delaunay triangulation of points on a torus. */
#ifndef CVTMESH_MESHES_DELAUNAY_TORUS_H
#define CVTMESH_MESHES_DELAUNAY_TORUS_H

#include "base/device.h"
#include "meshes/mesh.h"

/* A triangulation of the torus, laid out in the plane: each of its triangles once, 2 n of n
 * distinct points. The vertices of the mesh are the points, and behind them the copies of points,
 * one width to the right, one height above or both, to which triangles across a side go. The
 * triangles fill a tile whose translations by the width and the height fill the plane. */
typedef struct cvtm_torus_mesh {
  cvtm_mesh mesh;
  int64_t copy_count;
  int32_t *copies; /* 3 * copy_count; of vertex n + k: the point that it is a copy of, and how many
                      widths it lies to the right and how many heights above that, 0 or 1 */
} cvtm_torus_mesh;

void cvtm_torus_mesh_free(cvtm_torus_mesh *torus);

/* The triangulation of count points, each of which is moved into the domain by multiples of its
 * width and height. Points are snapped to a grid that divides width and height, of at most 2^30
 * steps along the longer side and its surroundings; the mesh is exactly Delaunay for these, on the
 * infinitely repeated points. Of points on one circle the leftmost (of these the lowest) is a
 * corner of all triangles. Order of the triangles and coincident points: as in cvtm_delaunay. A
 * CUDA device triangulates the plane; NULL: the host. Errors: as cvtm_delaunay; then *torus is
 * untouched. */
cvtm_status cvtm_delaunay_torus(cvtm_device *device, const double *points, int64_t count,
                                cvtm_domain domain, cvtm_torus_mesh *torus, cvtm_error *error);

#endif
