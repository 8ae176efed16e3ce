/* Planar triangulations, Voronoi cells and their quality. Coordinates are in pixels with y down
 * throughout the library; only mesh files are written y up. So the corners of a triangle,
 * counterclockwise in files, have a negative signed area in these coordinates. */
#pragma once

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* All arrays are malloc'd and owned by the mesh. */
typedef struct cvtm_mesh {
  int64_t vertex_count, triangle_count;
  double *points;     /* 2 * vertex_count: x, y */
  int32_t *triangles; /* 3 * triangle_count, counterclockwise as seen with y up */
  int64_t
      coincident_count; /* vertices without triangles, because they coincide with another vertex */
  int64_t collinear;    /* nonzero: all points lie on one line, and there are no triangles */
  double file_top;      /* for a mesh read from a file: y in the file is file_top - y; else 0 */
} cvtm_mesh;

void cvtm_mesh_free(cvtm_mesh *mesh);

/* Sets *edges (malloc'd) to the list of edges in lexicographic order. Each edge is listed once, as
 * two vertices, the smaller first. Fails with CVTM_ERROR_MEMORY; then the outputs are unchanged. */
cvtm_status cvtm_mesh_edges(const cvtm_mesh *mesh, int32_t **edges, int64_t *count,
                            cvtm_error *error);

/* The regions of a mesh, and the edges between regions. Triangle t has the region region[t] >= 1;
 * the triangles of a region are consecutive. Edge e runs from vertex edges[2 * e] to edges[2 * e +
 * 1]; seen with y up, region left[e] is on its left and right[e] on its right. The outside is 0 and
 * never on the left. A curve is a set of connected edges between the same two regions, which are
 * consecutive; edge e belongs to curve[e], 1 .. curve_count. All arrays are malloc'd and owned. */
typedef struct cvtm_regions {
  int64_t edge_count;
  int32_t curve_count;
  int32_t *region; /* triangle_count of the mesh */
  int32_t *edges, *left, *right, *curve;
  /* Set by cvtm_regions_group; until then 0 and NULL. */
  int32_t area_group_count, line_group_count;
  struct cvtm_group *area_groups, *line_groups; /* by ascending tag */
  int32_t *group;                               /* per edge: the tag of its line group */
  /* Set by cvtm_regions_pair; until then 0 and NULL. */
  int64_t pair_count, unpaired; /* unpaired: number of vertices on periodic sides without a copy */
  int32_t *pairs; /* 3 * pair_count: a vertex, its copy on the translated side, and the number of
                     the translation */
  int32_t *edge_copy; /* per edge that is a copy: the original; else -1 */
  /* Of an outline with named points; else 0 and NULL. */
  int64_t point_count;
  int32_t *points; /* 2 * point_count: a vertex and the tag of its point group, by ascending tag */
  int32_t point_group_count;
  struct cvtm_group *point_groups; /* by ascending tag, from 1 on */
} cvtm_regions;

void cvtm_regions_free(cvtm_regions *regions);

enum { CVTM_GROUP_NAME_BYTES = 80 }; /* with the zero byte */

/* A named set of triangles, of edges or of vertices, for boundary conditions and materials. */
typedef struct cvtm_group {
  int32_t tag; /* >= 1; for triangles the number of the region */
  char name[CVTM_GROUP_NAME_BYTES];
} cvtm_group;

/* The name of one region; the strings are borrowed. */
typedef struct cvtm_region_name {
  int32_t region;
  const char *name;
} cvtm_region_name;

/* Groups the triangles by region and the edges by what they bound. A region without a given name is
 * called region-N. The groups of edges are: interface-A-B between two regions, with their names in
 * the order of their numbers (N in place of region-N); left, right, bottom and top for edges on the
 * sides of the image, seen with y up, within half a pixel of a side or, if the image is periodic,
 * exactly on it; hole-1, hole-2, ... around holes; outer for the remaining boundary; where a region
 * has such a name, -side follows. Curves are renumbered so that each belongs to one group, and
 * edges are reordered accordingly. Replaces earlier groups. Fails with CVTM_ERROR_MEMORY; then
 * *regions is unchanged. */
cvtm_status cvtm_regions_group(const cvtm_mesh *mesh, cvtm_domain image,
                               const cvtm_region_name *names, int64_t name_count,
                               cvtm_regions *regions, cvtm_error *error);

/* Makes the Delaunay triangulation of count points (x, y; finite) by exact predicates. The points
 * are rounded to a grid of at most 2^30 steps along the longer side of their bounding box, where
 * the step is a power of two. The mesh holds the rounded coordinates and is exactly Delaunay for
 * the rounded points, whose triangulation is the same mesh. Every point is a vertex, in the given
 * order; of coincident points the first has the triangles. Triangles start at their smallest vertex
 * and are in lexicographic order. Of points on one circle the leftmost one (if there are two, the
 * lower one, with the larger y) is a corner of all their triangles. Takes O(n log n) time. Fails
 * with CVTM_ERROR_INPUT if a coordinate is not finite or its magnitude exceeds 1e300, and with
 * CVTM_ERROR_ARGUMENT for count < 1 or count > CVTM_DELAUNAY_MOST; then *mesh is unchanged. */
enum { CVTM_DELAUNAY_MOST = 715827882 };
cvtm_status cvtm_delaunay(const double *points, int64_t count, cvtm_mesh *mesh, cvtm_error *error);

/* Voronoi cells of the vertices of a Delaunay mesh, clipped to the rectangle of the domain,
 * periodic or not. Each cell is a convex polygon: the corners of cell i are (corners[2 * k],
 * corners[2 * k + 1]) for k in [start[i], start[i+1]), counterclockwise as seen with y up. Points
 * outside the rectangle may have empty cells. Of coincident points the first has the cell; the
 * cells of the others are empty. Where more than three cells meet, edges of (nearly) zero length
 * may remain. Takes O(n) time, except for sorting the neighbours of each vertex. All arrays are
 * malloc'd and owned. */
typedef struct cvtm_cells {
  int64_t count;
  int64_t *start;     /* count + 1 */
  double *corners;    /* 2 * start[count] */
  int32_t *neighbors; /* start[count]: the site on the other side of the edge from corner k to the
                         next corner; -1: border */
} cvtm_cells;

/* Fails with CVTM_ERROR_ARGUMENT for a mesh without vertices and an empty domain, and with
 * CVTM_ERROR_MEMORY; then *cells is unchanged. */
cvtm_status cvtm_cells_create(const cvtm_mesh *mesh, cvtm_domain domain, cvtm_cells *cells,
                              cvtm_error *error);
/* Makes cells of the vertices of a mesh, bounded by the border of the mesh; the cells fill the
 * mesh. Each cell is the polygon through the circumcentres of the triangles around the vertex; a
 * circumcentre beyond a border edge is replaced by the midpoint of that edge. The cell of a border
 * vertex also has the vertex itself and the midpoints of its border edges as corners, and may not
 * be convex. Errors as for cvtm_cells_create. */
cvtm_status cvtm_cells_of_domain(const cvtm_mesh *mesh, cvtm_cells *cells, cvtm_error *error);
void cvtm_cells_free(cvtm_cells *cells);

enum { CVTM_ANGLE_BINS = 12 }; /* 5 degrees each, from 0 to 60 */

/* Angles in degrees; q = 2 sqrt(3) S / (p h) of each triangle (Frey & Borouchaki 1999:
 * S area, p half-perimeter, h longest edge; 1 for an equilateral one). */
typedef struct cvtm_quality_figures {
  int64_t triangles;
  double min_angle, mean_min_angle;
  double min_q, mean_q;
  double min_area, max_area, mean_area;
  /* Largest ratio of longest edge to smallest height, scaled to 1 for equilateral triangles;
   * degenerate triangles are not counted. */
  double max_aspect;
  int64_t degenerate; /* triangles of zero area; their angle and q count as 0 */
  int64_t angle_histogram[CVTM_ANGLE_BINS]; /* of the smallest angles of triangles */
} cvtm_quality_figures;

/* A vertex is interior if it is not on the border of the mesh and all of its triangles are inner.
 * Its degree is the number of its triangles. */
typedef struct cvtm_quality {
  cvtm_quality_figures inner; /* triangles whose circumcentre lies in the domain */
  cvtm_quality_figures all;
  int64_t vertices, interior_vertices;
  double
      degree6_share; /* fraction of interior vertices with degree 6; 0 without interior vertices */
  int64_t degree_histogram[16]; /* of interior vertices; the last bin counts 15 and more */
} cvtm_quality;

/* Measures triangles of either orientation. domain NULL: every triangle counts as inner. */
cvtm_status cvtm_quality_compute(const cvtm_mesh *mesh, const cvtm_domain *domain,
                                 cvtm_quality *quality, cvtm_error *error);

CVTM_API_END
