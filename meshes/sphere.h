/* Triangulations of the unit sphere, their dual, and its files. */
#pragma once

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

typedef struct cvtm_sphere_mesh {
  int64_t count, triangle_count;
  double *points;     /* 3 * count, unit vectors; arrays are malloc'd */
  int32_t *triangles; /* 3 * triangle_count, counterclockwise from outside */
  /* Half-edge 3 t + k runs from corner k of triangle t to the next corner. */
  int32_t *twins;  /* 3 * triangle_count: the same edge in the neighbouring triangle */
  int32_t *leaves; /* count: the half-edge from each point to its smallest neighbour */
} cvtm_sphere_mesh;

void cvtm_sphere_mesh_free(cvtm_sphere_mesh *mesh);

/* Makes the Delaunay triangulation of the sphere: the convex hull of the points, which are rounded
 * to multiples of 2^-39 for the predicates. The predicates are exact, so the result is always a
 * closed surface with 2 count - 4 triangles. Of points on one circle the one with the smallest
 * number is a corner of all their triangles. Triangles start at their smallest vertex and are
 * sorted by it, then counterclockwise from its smallest neighbour. Fails with CVTM_ERROR_INPUT if
 * the points do not surround the centre, or are so close together (about 4e-6) that the rounded
 * sphere is flat there. */
cvtm_status cvtm_sphere_delaunay(const double *points, int64_t count, cvtm_sphere_mesh *mesh,
                                 cvtm_error *error);

/* cvtm_sphere_delaunay from the neighbours of each point in the order of the edges of its Voronoi
 * cell, clockwise: `most` entries per point, -1 after the last. Neighbours may disagree, because
 * cells were rounded or have more than `most` edges; this only costs time. */
cvtm_status cvtm_sphere_join(const double *points, int64_t count, const int32_t *neighbors,
                             int32_t most, cvtm_sphere_mesh *mesh, cvtm_error *error);

typedef struct cvtm_sphere_quality {
  double min_angle, mean_min_angle, max_angle; /* of the chordal triangles, in degrees */
  int64_t obtuse;                              /* triangles */
  int64_t degree[16];      /* vertices by the number of neighbours; the last counts 15 and more */
  double not_six;          /* fraction of vertices without six neighbours */
  double min_arc, max_arc; /* edges, in radians */
} cvtm_sphere_quality;

cvtm_status cvtm_sphere_quality_compute(const cvtm_sphere_mesh *mesh, cvtm_sphere_quality *quality,
                                        cvtm_error *error);

/* Moves points where triangles have an angle below `least` or above 134 - `least` degrees, and
 * flips edges, until there is no such triangle or no move helps. If moves do not help a point with
 * four neighbours, the point is removed; for a point with eight, one of its neighbours is. The last
 * points get the numbers of the removed ones. The first `fixed` points do not move. */
cvtm_status cvtm_sphere_raise(cvtm_sphere_mesh *mesh, int64_t fixed, double least,
                              cvtm_error *error);

/* Doubles the resolution: *fine = the points and the midpoints of edges, `count` in all, malloc'd.
 * count: at most 4 mesh->count - 6; midpoints are left out evenly. */
cvtm_status cvtm_sphere_refine(const cvtm_sphere_mesh *mesh, int64_t count, double **fine,
                               cvtm_error *error);

/* The C-grid of MPAS on the dual of a triangulation, with its names, orders and signs, on the unit
 * sphere. Indices count from 0; -1: none. Cells are the Voronoi cells of points, vertices the
 * circumcentres of triangles. Arrays of edges, cells and vertices on a cell have max_edges for
 * each. Angles and lengths are arcs. The area of a triangle is that of its kites. */
typedef struct cvtm_sphere_grid {
  int64_t cells, edges, vertices;
  int32_t max_edges;
  double *cell_point, *edge_point, *vertex_point; /* 3 each */
  int32_t *edges_on_cell, *cells_on_cell, *vertices_on_cell, *edge_count_on_cell;
  int32_t *cells_on_edge, *vertices_on_edge;  /* 2 each */
  int32_t *cells_on_vertex, *edges_on_vertex; /* 3 each */
  double *dc, *dv, *angle; /* between cells, between vertices; of the normal to the east */
  double *cell_area, *triangle_area, *kite_area; /* kite_area: 3 per vertex */
  int32_t *cell_parent;                          /* the point of each cell */
} cvtm_sphere_grid;

void cvtm_sphere_grid_free(cvtm_sphere_grid *grid);

/* Makes the grid, whose arrays are malloc'd; cvtm_sphere_grid_free frees them. keep: NULL, or
 * mesh->count bytes, nonzero for each cell that the grid has: then vertices without a cell and
 * edges without a cell are left out, and the others numbered anew, as MPAS culls. Fails with
 * CVTM_ERROR_INPUT if `keep` leaves no cell, and with CVTM_ERROR_MEMORY; then *grid is unchanged.
 */
cvtm_status cvtm_sphere_grid_create(const cvtm_sphere_mesh *mesh, const unsigned char *keep,
                                    cvtm_sphere_grid *grid, cvtm_error *error);

/* The other edges of the two cells of an edge, and the weights with which their normal velocities
 * make its tangential velocity (Ringler et al. 2010): 2 * max_edges each, -1 and 0 after the last;
 * NULL: not wanted. Returns the number of these edges. */
int32_t cvtm_sphere_grid_weights(const cvtm_sphere_grid *grid, int64_t edge, int32_t *edges,
                                 double *weights);

/* True if the build has libnetcdf, which reads maps. */
int cvtm_netcdf_known(void);

/* Values on a grid of latitudes and longitudes, in degrees. */
typedef struct cvtm_geographic_grid {
  int64_t rows, columns;
  double south, west, row_step, column_step; /* of row 0 and column 0; steps are positive */
  float *value;                              /* malloc'd, rows * columns, from the south */
} cvtm_geographic_grid;

/* Reads the first variable of a NetCDF file with two dimensions whose coordinates are latitude and
 * longitude, in this order and in even steps. */
cvtm_status cvtm_geographic_grid_read(const char *path, cvtm_geographic_grid *grid,
                                      cvtm_error *error);

/* Contents of the files in addition to the grid. */
typedef struct cvtm_sphere_labels {
  double radius;         /* of the sphere, in metres; 1: the unit sphere */
  const double *density; /* of each cell, relative to the largest; NULL: 1 */
  const char *source;    /* the program and its version; NULL: none */
  const int32_t *zone;   /* of each cell, bdyMaskCell of limited-area models; NULL: none */
  int64_t wide; /* NetCDF has 64-bit data (CDF-5) if a variable has as many bytes, otherwise 64-bit
                 * offsets (CDF-2); 0: 2 GiB */
} cvtm_sphere_labels;

/* Writes grid.nc (MPAS), NAME.ugrid.nc (UGRID 1.0), .vtu or .obj (the cells), .info (the graph of
 * METIS), by the extension. */
cvtm_status cvtm_sphere_grid_write(const cvtm_sphere_grid *grid, const cvtm_sphere_labels *labels,
                                   const char *path, cvtm_error *error);

CVTM_API_END
