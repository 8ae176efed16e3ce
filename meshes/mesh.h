/* Planar triangulations, Voronoi cells and their quality. Coordinates are in
 * pixels with y down throughout the library; only mesh files are written y up. */
#ifndef CVTMESH_MESHES_MESH_H
#define CVTMESH_MESHES_MESH_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays are malloc'd and owned by the mesh. */
typedef struct cvtm_mesh {
  int64_t vertex_count, triangle_count;
  double *points;     /* 2 * vertex_count: x, y */
  int32_t *triangles; /* 3 * triangle_count, counterclockwise as seen with y up */
  int64_t coincident_count; /* vertices that share another's place and so have no triangle */
  int64_t collinear;        /* nonzero: all points on one line, no triangle exists */
} cvtm_mesh;

void cvtm_mesh_free(cvtm_mesh *mesh);

/* Delaunay triangulation of count points (x, y; finite) by exact predicates. The
 * points are snapped to a grid of 2^30 steps (a power of two) over their bounding box,
 * and the mesh is exactly Delaunay for the snapped coordinates that it holds.
 * Every point is a vertex, in order. O(n log n). */
cvtm_status cvtm_delaunay(const double *points, int64_t count, cvtm_mesh *mesh, cvtm_error *error);

/* Voronoi cells of the mesh's vertices clipped to the domain's rectangle, one
 * convex polygon each: corners [start[i], start[i+1]) in corner[2 * k], counterclockwise as seen
 * with y up. Points outside the rectangle may have empty cells; of coincident
 * points the first owns the cell and the others' are empty. */
typedef struct cvtm_cells {
  int64_t count;
  int64_t *start;     /* count + 1 */
  double *corners;    /* 2 * start[count] */
  int32_t *neighbors; /* start[count]: site across the edge from corner k to the next, -1: border */
} cvtm_cells;

cvtm_status cvtm_cells_create(const cvtm_mesh *mesh, cvtm_domain domain, cvtm_cells *cells,
                              cvtm_error *error);
void cvtm_cells_free(cvtm_cells *cells);

enum { CVTM_ANGLE_BINS = 12 }; /* 5 degrees each, 0 to 60 */

/* Angles in degrees; q = 2 sqrt(3) S / (p h) of each triangle (Frey & Borouchaki 1999:
 * S area, p half-perimeter, h longest edge; 1 for an equilateral one). */
typedef struct cvtm_quality_figures {
  int64_t triangles;
  double min_angle, mean_min_angle;
  double min_q, mean_q;
  double min_area, max_area, mean_area;
  double max_aspect; /* longest edge over smallest height, scaled to 1 for equilateral */
  int64_t degenerate; /* triangles of zero area */
  int64_t angle_histogram[CVTM_ANGLE_BINS]; /* of the smallest angle */
} cvtm_quality_figures;

typedef struct cvtm_quality {
  cvtm_quality_figures inner; /* triangles whose circumcentre lies in the domain */
  cvtm_quality_figures all;
  int64_t vertices, interior_vertices;
  double degree6_share; /* of interior vertices; 0 if there is none */
  int64_t degree_histogram[16]; /* of interior vertices; the last bin counts 15 and more */
} cvtm_quality;

/* domain NULL: every triangle counts as inner. */
cvtm_status cvtm_quality_compute(const cvtm_mesh *mesh, const cvtm_domain *domain,
                                 cvtm_quality *quality, cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif
