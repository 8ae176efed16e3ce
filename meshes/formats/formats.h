/* Inside meshes only: what the file formats share. A source is a file in memory with one cursor for
 * text and for binary numbers, since some formats mix both (PLY, VTK, MSH); messages name its
 * position. A builder collects a mesh that is read. A file mesh has the coordinates of the file. */
#ifndef CVTMESH_MESHES_FORMATS_FORMATS_H
#define CVTMESH_MESHES_FORMATS_FORMATS_H

#include "meshes/mesh_file.h"
#include "meshes/formats/scalars.h"
#include "meshes/formats/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- reading ---- */

typedef struct cvtm_source {
  const char *name;
  const unsigned char *data;
  size_t size, at;
  int64_t line;    /* of the cursor, from 1; counted by the text functions */
  char comment;    /* text from here to the end of the line is skipped; 0: none */
  int binary;      /* nonzero: values are bytes */
  int offsets;     /* nonzero: lines mean nothing here, messages give the offset */
  int big;         /* nonzero: binary values are big-endian */
  int64_t skipped; /* items that mean nothing and are left out */
  cvtm_error *error;
} cvtm_source;

/* A source of a file in memory, without the UTF-8 byte order mark that text may begin with. */
cvtm_source cvtm_source_open(const char *name, const unsigned char *bytes, size_t size,
                             cvtm_error *error);

typedef struct cvtm_token {
  const char *text; /* not terminated */
  size_t length;    /* at least 1 */
} cvtm_token;

/* CVTM_ERROR_INPUT: "<name>: line 7: <reason>" or "<name>: byte 80: <reason>". */
CVTM_PRINTF(2, 3)
cvtm_status cvtm_source_fail(cvtm_source *source, const char *format, ...);
cvtm_status cvtm_source_no_memory(cvtm_source *source);

/* The next token on any line, or on this line only; 0: there is none. */
int cvtm_source_token(cvtm_source *source, cvtm_token *token);
int cvtm_source_line_token(cvtm_source *source, cvtm_token *token);
/* Moves to the start of the next line. */
void cvtm_source_end_line(cvtm_source *source);
int cvtm_token_is(cvtm_token token, const char *word);
/* A decimal number, or nan or inf with sign; 0: it is none. */
int cvtm_token_number(cvtm_token token, double *value);
/* The next token must be `word`. */
cvtm_status cvtm_source_expect(cvtm_source *source, const char *word);

/* The next value: a token, or bytes of the type where source->binary is set. */
cvtm_status cvtm_source_value(cvtm_source *source, cvtm_scalar type, double *value);
/* The same, an integer in [low, high]; `what` names it in the message. */
cvtm_status cvtm_source_integer(cvtm_source *source, cvtm_scalar type, int64_t low, int64_t high,
                                const char *what, int64_t *value);
/* count values into malloc'd memory; refused before allocating if the rest of the file
 * cannot hold them. */
cvtm_status cvtm_source_values(cvtm_source *source, cvtm_scalar type, int64_t count,
                               double **values);

typedef struct cvtm_builder {
  cvtm_source *source; /* for messages */
  double *points;      /* 2 * vertex_count, as in the file */
  int64_t vertex_count, vertex_capacity;
  int32_t *triangles;
  int64_t triangle_count, triangle_capacity;
  double z; /* of the first vertex; the others' must be equal */
  int wants_field;
  const char *field;     /* the name that is wanted; NULL: any */
  double *values;        /* of the field, per vertex; NULL: not found */
  unsigned char *middle; /* per vertex: 1: a node in the middle of an edge; NULL: there is none */
} cvtm_builder;

cvtm_status cvtm_builder_vertex(cvtm_builder *builder, double x, double y, double z);
/* place: x, y, z of each. */
cvtm_status cvtm_builder_vertices(cvtm_builder *builder, const double *place, int64_t count);
/* Indices from 0, below vertex_count. */
cvtm_status cvtm_builder_triangle(cvtm_builder *builder, const double index[3]);
/* A node that second-order triangles have in the middle of an edge: no vertex of the mesh unless
 * some triangle has it as a corner. All vertices must be known by then. */
cvtm_status cvtm_builder_middle(cvtm_builder *builder, double index);

/* Cell k has the corners connectivity[ends[k - 1]] .. connectivity[ends[k] - 1]. types are
 * VTK's: triangles are taken, vertices and lines skipped, all else refused. */
cvtm_status cvtm_builder_cells(cvtm_builder *builder, int64_t cells, const double *ends,
                               const double *connectivity, int64_t corners, const double *types);

cvtm_status cvtm_read_obj(cvtm_source *source, cvtm_builder *builder);
cvtm_status cvtm_read_vtu(cvtm_source *source, cvtm_builder *builder);
cvtm_status cvtm_read_msh(cvtm_source *source, cvtm_builder *builder);
cvtm_status cvtm_read_ele(cvtm_source *source, cvtm_builder *builder);

/* ---- files beside ---- */

/* What stands in place of the extension in the names of files that belong to another one. */
#define CVTM_TRIANGLE_NODES ".node"
#define CVTM_XDMF_HEAVY ".h5"
#define CVTM_XDMF_BOUNDARY "_boundary.xdmf"
#define CVTM_XDMF_BOUNDARY_HEAVY "_boundary.h5"
enum { CVTM_FILES_BESIDE = 3 };

/* The path of such a file, malloc'd; NULL without memory. */
char *cvtm_path_beside(const char *path, const char *ending);
/* The endings of the files that are written with the mesh `path`; returns how many. grouped: the
 * mesh has groups. */
int cvtm_mesh_written_beside(const char *path, int ascii, int grouped,
                             const char *ending[CVTM_FILES_BESIDE]);
/* The ending of the file that is read with the mesh or polygon `path`; NULL: none. */
const char *cvtm_mesh_read_beside(const char *path);

/* ---- writing ---- */

typedef struct cvtm_file_sets cvtm_file_sets; /* meshes/formats/file_sets.h */

typedef struct cvtm_file_mesh {
  const double *points; /* 2 * node_count, y up, scaled; first the vertices */
  int64_t vertex_count, node_count;
  const int32_t *triangles;
  int64_t triangle_count;
  const int32_t *triangle_middle; /* 3 per triangle: the nodes in the middle of its edges, the first
                                     between corners 0 and 1; NULL: triangles are straight */
  const int32_t *edge_middle;     /* the same of each edge of the regions */
  const double *value;            /* of each vertex: vertex_count, or NULL */
  const char *value_name;
  const cvtm_regions *regions; /* or NULL */
  const cvtm_file_sets *sets;  /* of grouped regions, for formats that need them, or NULL */
  int ascii;                   /* text where bytes are the default */
  int binary;                  /* bytes where text is the default */
  cvtm_msh_version msh_version;
  cvtm_compression compression;
  int *no_memory; /* a writer that has not the memory it needs sets it to 1 */
} cvtm_file_mesh;

/* The nodes of a triangle (3 or 6) or of an edge of the regions (2 or 3); returns how many. */
int cvtm_triangle_nodes(const cvtm_file_mesh *mesh, int64_t triangle, int32_t node[6]);
int cvtm_edge_nodes(const cvtm_file_mesh *mesh, int64_t edge, int32_t node[3]);

/* 15 significant digits if they read back to the same bits, else 17. */
void cvtm_put_number(FILE *file, double value);

/* In memory, as the functions of meshes/formats/text.h do: x and y; three vertices counted from
 * `first` and the end of the line. */
enum { CVTM_TEXT_POINT = 2 * CVTM_TEXT_NUMBER + 1, CVTM_TEXT_CORNERS = 3 * CVTM_TEXT_INTEGER + 3 };
char *cvtm_text_point(char *to, char separator, const double *p);
char *cvtm_text_corners(char *to, const int32_t *v, int first);

/* Errors of the stream are found when it is closed. */
void cvtm_write_obj(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_off(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_ply(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_stl(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_vtk(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_vtu(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_msh(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_inp(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_node(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_ele(FILE *file, const cvtm_file_mesh *mesh);
void cvtm_write_poly(FILE *file, const cvtm_file_mesh *mesh);
/* Writes several files. */
cvtm_status cvtm_write_xdmf(const char *path, const cvtm_file_mesh *mesh, cvtm_error *error);

#endif
