/* The Delaunay triangulation of points on a torus. */
#pragma once

#include "base/device.h"
#include "meshes/mesh.h"

/* A triangulation of a torus, unrolled in the plane. n distinct points have 2 n triangles, each
 * listed once. The vertices of the mesh are the points, followed by copies of points, shifted by
 * one width to the right, one height up, or both: triangles that cross a side end at copies. The
 * triangles fill a tile whose translations by the width and the height fill the plane. */
typedef struct cvtm_torus_mesh {
  cvtm_mesh mesh;
  int64_t copy_count;
  int32_t *copies; /* 3 * copy_count; for vertex n + k: the point that it is a copy of, and its
                      shift to the right and up in widths and heights, 0 or 1 */
} cvtm_torus_mesh;

void cvtm_torus_mesh_free(cvtm_torus_mesh *torus);

/* Triangulates count points, each of which is first moved into the domain by multiples of the width
 * and height. Points are rounded to a grid whose step divides width and height. The grid also
 * covers a margin around the domain, in which copies of the points are triangulated; its longer
 * side has at most 2^30 steps. The mesh is exactly Delaunay for the infinitely repeated rounded
 * points. Of points on one circle the leftmost (if there are two, the lower) is a corner of all
 * their triangles. The order of triangles, and coincident points, are as in cvtm_delaunay. device:
 * a CUDA device computes the triangulation in the plane; NULL: the host. Errors as for
 * cvtm_delaunay; then *torus is unchanged. */
cvtm_status cvtm_delaunay_torus(cvtm_device *device, const double *points, int64_t count,
                                cvtm_domain domain, cvtm_torus_mesh *torus, cvtm_error *error);
