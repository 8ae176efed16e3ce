/* Planar triangulations, Voronoi cells and their quality. Coordinates are in
 * pixels with y down throughout the library; only mesh files are written y up. So the corners of a
 * triangle, counterclockwise in files, have a negative signed area in these coordinates. */
#ifndef CVTMESH_MESHES_MESH_H
#define CVTMESH_MESHES_MESH_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* All arrays are malloc'd and owned by the mesh. */
typedef struct cvtm_mesh {
  int64_t vertex_count, triangle_count;
  double *points;           /* 2 * vertex_count: x, y */
  int32_t *triangles;       /* 3 * triangle_count, counterclockwise as seen with y up */
  int64_t coincident_count; /* vertices that share another's place and so have no triangle */
  int64_t collinear;        /* nonzero: all points on one line, no triangle exists */
  double file_top;          /* of a mesh read from a file: y there is file_top - y; else 0 */
} cvtm_mesh;

void cvtm_mesh_free(cvtm_mesh *mesh);

/* Sets *edges to every edge once, two vertices each, the smaller first, in lexicographic order;
 * malloc'd. Fails with CVTM_ERROR_MEMORY; then nothing is set. */
cvtm_status cvtm_mesh_edges(const cvtm_mesh *mesh, int32_t **edges, int64_t *count,
                            cvtm_error *error);

/* What the triangles of a mesh belong to, and the edges between. region[t] >= 1 of triangle t;
 * triangles of one region stand together. Edge e runs from vertex edges[2 * e] to
 * edges[2 * e + 1] with the regions left[e] and right[e] beside it as seen with y up, 0: the
 * outside, which is never on the left; it belongs to curve[e], 1 .. curve_count: connected edges
 * between the same two regions, which stand together. All arrays are malloc'd and owned. */
typedef struct cvtm_regions {
  int64_t edge_count;
  int32_t curve_count;
  int32_t *region; /* triangle_count of the mesh */
  int32_t *edges, *left, *right, *curve;
  /* Set by cvtm_regions_group; until then 0 and NULL. */
  int32_t area_group_count, line_group_count;
  struct cvtm_group *area_groups, *line_groups; /* by ascending tag */
  int32_t *group;                               /* of each edge: the tag of its line group */
  /* Set by cvtm_regions_pair; until then 0 and NULL. */
  int64_t pair_count, unpaired; /* unpaired: vertices on a side without a copy */
  int32_t *pairs; /* 3 * pair_count: a vertex on the left or lower side, its copy on the right or
                     upper side, and the axis between them, 0 or 1 */
  int32_t *edge_copy; /* of each edge on the right or upper side: that on the other, else -1 */
} cvtm_regions;

void cvtm_regions_free(cvtm_regions *regions);

enum { CVTM_GROUP_NAME_BYTES = 80 }; /* with the zero byte */

/* A named set of triangles or of edges, for boundary conditions and materials. */
typedef struct cvtm_group {
  int32_t tag; /* >= 1; of triangles the number of the region */
  char name[CVTM_GROUP_NAME_BYTES];
} cvtm_group;

/* The name of one region; the strings are borrowed. */
typedef struct cvtm_region_name {
  int32_t region;
  const char *name;
} cvtm_region_name;

/* Groups the triangles by region and the edges by what they bound. A region without a given name is
 * called region-N. Edges: interface-A-B between two regions, A < B by number, with their names (N
 * alone of region-N); left, right, bottom and top on the sides of the image, as seen with y up
 * (within half a pixel of them, or exactly on them if the image is periodic);
 * hole-1, hole-2, ... around the holes; outer for the rest of the boundary. Curves are numbered
 * anew, so that each belongs to one group; edges change their order with them. Groups made before
 * are replaced. Fails with CVTM_ERROR_MEMORY; then *regions is as it was. */
cvtm_status cvtm_regions_group(const cvtm_mesh *mesh, cvtm_domain image,
                               const cvtm_region_name *names, int64_t name_count,
                               cvtm_regions *regions, cvtm_error *error);

/* Pairs the vertices on opposite sides of a rectangle (left, upper, right, lower; y down; NAN: no
 * such side), which the mesh does not leave, that are the same but for one coordinate, first from
 * left to right, then from bottom to top, in ascending order along the sides, and the edges between
 * them. Curves on the sides are divided, and edges change their order with them, so that each curve
 * is the copy of one. Call it after cvtm_regions_group. Pairs made before are replaced. Fails with
 * CVTM_ERROR_MEMORY; then *regions is as it was. */
cvtm_status cvtm_regions_pair(const cvtm_mesh *mesh, const double sides[4], cvtm_regions *regions,
                              cvtm_error *error);

/* Delaunay triangulation of count points (x, y; finite) by exact predicates. The
 * points are snapped to a grid of at most 2^30 steps (each a power of two) along the longer
 * side of their bounding box, and the mesh is exactly Delaunay for the snapped coordinates that
 * it holds; triangulating those again gives the same mesh. Every point is a vertex, in order;
 * of points that share a place the first has the triangles. Triangles start at their
 * smallest vertex and come in lexicographic order; of points on one
 * circle the leftmost one (of these the lowest, with the largest y) is a corner of all triangles.
 * O(n log n).
 * Fails with CVTM_ERROR_INPUT if a coordinate is not finite or beyond 1e300, with
 * CVTM_ERROR_ARGUMENT for count < 1 or count > CVTM_DELAUNAY_MOST; then *mesh is untouched. */
enum { CVTM_DELAUNAY_MOST = 715827882 };
cvtm_status cvtm_delaunay(const double *points, int64_t count, cvtm_mesh *mesh, cvtm_error *error);

/* Voronoi cells of the vertices of a Delaunay mesh, clipped to the domain's rectangle
 * (glued or not), one convex polygon each: corner k in [start[i], start[i+1]) is
 * (corners[2 * k], corners[2 * k + 1]), counterclockwise as seen with y up. Points outside
 * the rectangle may have empty cells; of coincident points the first owns the cell
 * and the others' are empty. Where more than three cells meet, edges of (nearly)
 * zero length may remain. O(n), but for the sorting of each vertex's neighbours. */
typedef struct cvtm_cells {
  int64_t count;
  int64_t *start;     /* count + 1 */
  double *corners;    /* 2 * start[count] */
  int32_t *neighbors; /* start[count]: site across the edge from corner k to the next, -1: border */
} cvtm_cells;

cvtm_status cvtm_cells_create(const cvtm_mesh *mesh, cvtm_domain domain, cvtm_cells *cells,
                              cvtm_error *error);
/* Cells of the vertices of a mesh that fills a domain, bounded by its border instead: polygons
 * through the circumcentres of the triangles around a vertex (the middle of a border edge where
 * the centre is behind it) and, on the border, the vertex itself and the middles of its edges; not
 * convex where the border is not. They fill the domain. */
cvtm_status cvtm_cells_of_domain(const cvtm_mesh *mesh, cvtm_cells *cells, cvtm_error *error);
void cvtm_cells_free(cvtm_cells *cells);

enum { CVTM_ANGLE_BINS = 12 }; /* 5 degrees each, 0 to 60 */

/* Angles in degrees; q = 2 sqrt(3) S / (p h) of each triangle (Frey & Borouchaki 1999:
 * S area, p half-perimeter, h longest edge; 1 for an equilateral one). */
typedef struct cvtm_quality_figures {
  int64_t triangles;
  double min_angle, mean_min_angle;
  double min_q, mean_q;
  double min_area, max_area, mean_area;
  /* Longest edge over smallest height, scaled to 1 for equilateral; without degenerate ones. */
  double max_aspect;
  int64_t degenerate; /* triangles of zero area; their angle and q count as 0 */
  int64_t angle_histogram[CVTM_ANGLE_BINS]; /* of the smallest angle */
} cvtm_quality_figures;

/* A vertex is interior if its triangles close around it (it is not on the mesh's border)
 * and all of them are inner. Its degree is the number of its triangles. */
typedef struct cvtm_quality {
  cvtm_quality_figures inner; /* triangles whose circumcentre lies in the domain */
  cvtm_quality_figures all;
  int64_t vertices, interior_vertices;
  double degree6_share;         /* of interior vertices; 0 if there is none */
  int64_t degree_histogram[16]; /* of interior vertices; the last bin counts 15 and more */
} cvtm_quality;

/* Any triangulation, of either orientation. domain NULL: every triangle counts as inner. */
cvtm_status cvtm_quality_compute(const cvtm_mesh *mesh, const cvtm_domain *domain,
                                 cvtm_quality *quality, cvtm_error *error);

CVTM_API_END
#endif
