/* Inside meshes only: the vertices of Triangle's files (.node, .poly), text with # comments.
 * https://www.cs.cmu.edu/~quake/triangle.html */
#ifndef CVTMESH_MESHES_FORMATS_TRIANGLE_TEXT_H
#define CVTMESH_MESHES_FORMATS_TRIANGLE_TEXT_H

#include "meshes/formats/formats.h"

/* Vertices are numbered from 0 or from 1, in order. */
typedef struct cvtm_triangle_vertices {
  double *points; /* 2 * count, malloc'd */
  int64_t count;
  double first; /* the number of the first one */
} cvtm_triangle_vertices;

/* Reads a list of vertices: its first line, and a line for each. On failure nothing is held. */
cvtm_status cvtm_triangle_read_vertices(cvtm_source *source, cvtm_triangle_vertices *vertices);

/* Reads the vertices and segments of a .poly file, which may follow those of its .node file. ends:
 * 2 per segment, counted from 0; the caller frees both, on failure too. */
cvtm_status cvtm_triangle_read_graph(cvtm_source *source, cvtm_triangle_vertices *vertices,
                                     int32_t **ends, int64_t *count);

/* A .poly file, after its .node file if that has the vertices. bytes: malloc'd. */
cvtm_status cvtm_triangle_load_poly(const char *path, unsigned char **bytes, size_t *size,
                                    cvtm_error *error);

/* True if the .poly file `path`, one on the disk or in memory, is whole and has no vertices. */
int cvtm_poly_has_no_nodes(const char *path);

/* The file `path` and, before it, the .node file beside it, as cvtm_mesh_read and
 * cvtm_polygons_read take them. bytes: malloc'd. */
cvtm_status cvtm_triangle_read_pair(const char *path, size_t limit, unsigned char **bytes,
                                    size_t *size, cvtm_error *error);

#endif
