/* Inside meshes only: functions that the file formats share. A source is a file in memory with one
 * cursor for text and for binary numbers, because MSH mixes both; messages name the position of the
 * cursor. A source keeps its first error, so that a reader can look at it after many reads. A
 * builder collects the mesh that is being read. A file mesh is a mesh to write, in the coordinates
 * of the file. */
#pragma once

#include "meshes/format.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers as bytes ---- */

/* The type of a number in a file. The functions below are inline: for a constant type they are a
 * single move instruction. */
typedef enum cvtm_scalar {
  CVTM_I8,
  CVTM_U8,
  CVTM_I16,
  CVTM_U16,
  CVTM_I32,
  CVTM_U32,
  CVTM_I64,
  CVTM_U64,
  CVTM_F32,
  CVTM_F64
} cvtm_scalar;

static inline size_t cvtm_scalar_size(cvtm_scalar type) {
  static const unsigned char size[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return size[type];
}

/* 4 or 8 bytes in either order; compilers turn each line into one instruction. */
static inline uint32_t cvtm_bytes_to_32(int big, const unsigned char *b) {
  return big ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
             : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static inline uint64_t cvtm_bytes_to_64(int big, const unsigned char *b) {
  const uint64_t first = cvtm_bytes_to_32(big, b), second = cvtm_bytes_to_32(big, b + 4);
  return big ? first << 32 | second : second << 32 | first;
}

static inline void cvtm_bytes_of_32(int big, uint32_t bits, unsigned char *b) {
  for (int k = 0; k < 4; ++k) b[k] = (unsigned char)(bits >> (big ? 24 - 8 * k : 8 * k) & 255);
}

static inline void cvtm_bytes_of_64(int big, uint64_t bits, unsigned char *b) {
  for (int k = 0; k < 8; ++k) b[k] = (unsigned char)(bits >> (big ? 56 - 8 * k : 8 * k) & 255);
}

/* Converts bytes to a value and back. Integers above 2^53 lose bits, but no index is that large. */
static inline double cvtm_scalar_unpack(cvtm_scalar type, int big, const unsigned char *bytes) {
  const size_t size = cvtm_scalar_size(type);
  const uint32_t bits = size == 4   ? cvtm_bytes_to_32(big, bytes)
                        : size == 2 ? (uint32_t)(bytes[!big] << 8 | bytes[big != 0])
                                    : bytes[0];
  const uint64_t wide = size == 8 ? cvtm_bytes_to_64(big, bytes) : bits;
  float single;
  double value;
  memcpy(&single, &bits, sizeof single);
  memcpy(&value, &wide, sizeof value);
  if (type >= CVTM_F32) return type == CVTM_F32 ? (double)single : value;
  if (type % 2 != CVTM_I8 % 2) return (double)wide; /* without a sign */
  return size == 8   ? (double)(int64_t)wide
         : size == 4 ? (int32_t)bits
         : size == 2 ? (int16_t)bits
                     : (int8_t)bits;
}

static inline void cvtm_scalar_pack(cvtm_scalar type, int big, double value, unsigned char *bytes) {
  const size_t size = cvtm_scalar_size(type);
  uint64_t wide = 0;
  uint32_t bits;
  const float single = type == CVTM_F32 ? (float)value : 0;
  memcpy(&bits, &single, sizeof bits);
  if (type == CVTM_F64) memcpy(&wide, &value, sizeof wide);
  if (type < CVTM_F32) wide = (uint64_t)(int64_t)value;
  if (size == 8) {
    cvtm_bytes_of_64(big, wide, bytes);
  } else if (size == 4) {
    cvtm_bytes_of_32(big, type == CVTM_F32 ? bits : (uint32_t)wide, bytes);
  } else {
    for (size_t k = 0; k < size; ++k)
      bytes[big ? size - 1 - k : k] = (unsigned char)(wide >> (8 * k) & 255);
  }
}

/* Writes the bytes of a number; returns the end of the bytes. */
static inline char *cvtm_text_scalar(char *to, cvtm_scalar type, int big, double value) {
  cvtm_scalar_pack(type, big, value, (unsigned char *)to);
  return to + cvtm_scalar_size(type);
}

/* ---- numbers as text in memory, and files written item by item in parallel ---- */

/* Largest number of bytes of a number as text. */
enum { CVTM_TEXT_INTEGER = 20, CVTM_TEXT_NUMBER = 32, CVTM_TEXT_FIXED = 340 };

/* The next functions write at `to`, without a terminating zero, and return the end of the text. */

/* Writes a number as %.15g of printf if this gives back the same bits, else as %.17g. */
char *cvtm_text_number(char *to, double value);
/* Writes a number as %.*f of printf with 0 to 15 decimals, but without trailing zeros, and 0
 * instead of -0. */
char *cvtm_text_fixed(char *to, double value, int decimals);
char *cvtm_text_integer(char *to, int64_t value);
char *cvtm_text_word(char *to, const char *word);

/* Writes a number as text, followed by `end`, or as bytes. */
static inline char *cvtm_text_value(char *to, int is_text, cvtm_scalar type, int big, double value,
                                    char end) {
  if (!is_text) return cvtm_text_scalar(to, type, big, value);
  to = type < CVTM_F32 ? cvtm_text_integer(to, (int64_t)value) : cvtm_text_number(to, value);
  *to++ = end;
  return to;
}

/* Writes an item, which takes at most `most` bytes; called by several threads at the same time. */
typedef char *(*cvtm_item_writer)(char *to, const void *context, int64_t item);

enum { CVTM_MOST_ITEM_BYTES = 2048 };

/* Writes items 0 .. count - 1 in order. Errors set the stream's indicator, as for fwrite. */
void cvtm_write_items(FILE *file, int64_t count, size_t most, cvtm_item_writer writer,
                      const void *context);

/* ---- reading ---- */

typedef struct cvtm_source {
  const char *name;
  const unsigned char *data;
  size_t size, at;
  int64_t line;    /* line of the cursor, from 1; counted by the functions that read text */
  char comment;    /* character that starts a comment up to the end of the line; 0: none */
  int binary;      /* nonzero: values are bytes */
  int offsets;     /* nonzero: messages give the byte offset instead of the line */
  int big;         /* nonzero: binary values are big-endian */
  int64_t skipped; /* number of items that were ignored */
  cvtm_error *error;
  cvtm_status status; /* CVTM_OK until the first failure, after which nothing is read any more */
} cvtm_source;

/* Makes a source from a file in memory, and skips a UTF-8 byte order mark. */
cvtm_source cvtm_source_open(const char *name, const unsigned char *bytes, size_t size,
                             cvtm_error *error);

typedef struct cvtm_token {
  const char *text; /* not terminated */
  size_t length;    /* at least 1 */
} cvtm_token;

/* Fails with CVTM_ERROR_INPUT: "<name>: line 7: <reason>" or "<name>: byte 80: <reason>", or with
 * CVTM_ERROR_MEMORY. Does nothing after an earlier failure. Returns source->status. */
CVTM_PRINTF(2, 3)
cvtm_status cvtm_source_fail(cvtm_source *source, const char *format, ...);
cvtm_status cvtm_source_no_memory(cvtm_source *source);

static inline int cvtm_source_is_good(const cvtm_source *source) {
  return source->status == CVTM_OK;
}

/* Reads the next token, on any line or only on the current line; returns 0 if there is none, and
 * after a failure. */
int cvtm_source_token(cvtm_source *source, cvtm_token *token);
int cvtm_source_line_token(cvtm_source *source, cvtm_token *token);
/* Moves to the start of the next line. */
void cvtm_source_end_line(cvtm_source *source);
int cvtm_token_is(cvtm_token token, const char *word);
/* Parses a decimal number, or nan or inf with a sign; returns 0 if the token is not a number. */
int cvtm_token_number(cvtm_token token, double *value);
/* Reads a token and fails unless it is `word`. */
cvtm_status cvtm_source_expect(cvtm_source *source, const char *word);

/* Reads the next value: a token or, if source->binary is set, bytes of the type. Returns 0 on
 * failure. */
double cvtm_source_value(cvtm_source *source, cvtm_scalar type);
/* Reads an integer in [low, high] as cvtm_source_value does; `what` names it in the message.
 * Returns 0 on failure. */
int64_t cvtm_source_integer(cvtm_source *source, cvtm_scalar type, int64_t low, int64_t high,
                            const char *what);
/* Reads count values into malloc'd memory; fails before allocation if the rest of the file is too
 * short for count values. Returns NULL on failure. */
double *cvtm_source_values(cvtm_source *source, cvtm_scalar type, int64_t count);

/* Errors of a builder are those of its source. */
typedef struct cvtm_builder {
  cvtm_source *source;
  double *points; /* 2 * vertex_count, as in the file */
  int64_t vertex_count, vertex_capacity;
  int32_t *triangles;
  int64_t triangle_count, triangle_capacity;
  double z; /* z of the first vertex; all others must equal it */
  int wants_field;
  const char *field;     /* the name of the field to read; NULL: any */
  double *values;        /* of the field, per vertex; NULL: not found */
  unsigned char *middle; /* per vertex: 1 for a node in the middle of an edge; NULL: none */
} cvtm_builder;

/* place: x, y, z of each vertex. */
void cvtm_builder_vertices(cvtm_builder *builder, const double *place, int64_t count);
/* Adds a triangle. index: its corners, then, if there are 6 nodes, those in the middle of its
 * edges; from 0, below vertex_count. A node in the middle of an edge becomes a vertex of the mesh
 * only if some triangle has it as a corner. All vertices must be added before. */
void cvtm_builder_triangle(cvtm_builder *builder, const double *index, int nodes);

/* VTK's types of cells. */
enum {
  CVTM_VTK_VERTEX = 1,
  CVTM_VTK_LINE = 3,
  CVTM_VTK_POLY_LINE = 4,
  CVTM_VTK_TRIANGLE = 5,
  CVTM_VTK_POLYGON = 7,
  CVTM_VTK_QUADRATIC_EDGE = 21,
  CVTM_VTK_QUADRATIC_TRIANGLE = 22
};

/* Cell k has the corners connectivity[ends[k - 1]] .. connectivity[ends[k] - 1]. types are VTK's:
 * triangles are added, vertices and lines are skipped, other types are refused. */
void cvtm_builder_cells(cvtm_builder *builder, int64_t cells, const double *ends,
                        const double *connectivity, int64_t corners, const double *types);

/* Turns points from y up to y down: replaces y by max(y) - y, and returns max(y). */
double cvtm_flip_points(double *points, int64_t count);

/* The points of a file, and their classes if wanted and given in the file; malloc'd. */
typedef struct cvtm_point_list {
  int wants_classes;
  int y_up; /* nonzero: y is up in the file and in `points` */
  int64_t count;
  double *points;
  int32_t *classes; /* or NULL */
} cvtm_point_list;

/* cvtm_points_open, which leaves y as in the file. *y_up: nonzero for a format with y up. */
cvtm_status cvtm_points_open_as_is(const cvtm_input *source, double **points, int64_t *count,
                                   int *y_up, cvtm_error *error);

/* ---- XML documents, parsed by expat ---- */

/* Called for each element in the order of the document, with source->line at its tag. A failure of
 * the source ends the parse. */
typedef struct cvtm_xml_handlers {
  /* attributes: names and values in turn, NULL at the end. source->at: the first byte of the
   * content of the element. Set *stop = 1 to end parsing; the rest of the file need not be XML. */
  void (*start)(void *context, const char *name, const char **attributes, int *stop);
  void (*end)(void *context, const char *name);
} cvtm_xml_handlers;

/* Parses up to the end of the root element. The caller finds character data in the source, between
 * the positions of the calls. Fails with the line for a document that is not well-formed, for an
 * entity that refers to another or is longer than 1024 bytes, and for entities
 * that make the document much longer (expat's limit); external entities are not read. */
void cvtm_xml_parse(cvtm_source *source, const cvtm_xml_handlers *handlers, void *context);

/* The value of an attribute, NULL if it is absent. */
const char *cvtm_xml_attribute(const char **attributes, const char *name);

/* ---- vertices of Triangle's files (.node, .poly), text with # comments ---- */

enum {
  CVTM_VERTEX_ATTRIBUTES_MAX = 64
}; /* a line of a file is at most CVTM_MOST_ITEM_BYTES long */

/* The vertices of a file, numbered from 0 or from 1, in order. */
typedef struct cvtm_triangle_vertices {
  double *points;     /* 2 * count, malloc'd */
  int32_t *marker;    /* per vertex, 0 where the file has none; malloc'd */
  double *attributes; /* attribute_count per vertex, malloc'd */
  int64_t count, attribute_count;
  double first; /* the number of the first vertex */
} cvtm_triangle_vertices;

/* Reads a list of vertices: a header line, then a line for each vertex. On failure there is nothing
 * to free. */
void cvtm_triangle_read_vertices(cvtm_source *source, cvtm_triangle_vertices *vertices);
void cvtm_triangle_vertices_free(cvtm_triangle_vertices *vertices);

/* Reads the vertices and segments of a .poly file, or the vertices of its .node file and then the
 * segments. ends: 2 per segment, counted from 0; markers: one per segment, 0 where the file has
 * none. The caller frees the arrays, also on failure. */
void cvtm_triangle_read_graph(cvtm_source *source, cvtm_triangle_vertices *vertices, int32_t **ends,
                              int32_t **marker, int64_t *count);

/* ---- rings of polygon files ---- */

/* A segment of a line that the mesh is to keep, or a point: both ends are equal. */
typedef struct cvtm_kept_line {
  double from[2], to[2];
  int32_t shape;
} cvtm_kept_line;

/* The rings read so far, and the ring being read. */
typedef struct cvtm_ring_collector {
  cvtm_source *source; /* for messages */
  cvtm_polygons rings;
  int64_t ring_capacity, point_capacity;
  int64_t open;   /* number of points of the ring being read, after those of the finished rings */
  int64_t read;   /* number of points read, including dropped ones */
  int32_t *shape; /* per ring: its shape; -1: the format has no shapes */
  int64_t shape_capacity;
  char **name; /* per shape: NULL if it has no name */
  int64_t shape_count, name_capacity;
  int64_t curve_count, curve_capacity;
  double *curve;    /* 2 * curve_count: the points between chords of one curve */
  int names_divide; /* nonzero: shapes with names are regions even if they share no edges */
  int unnamed_cut;  /* nonzero: then shapes without names cut holes into those with names */
  cvtm_kept_line *lines;
  int64_t line_count, line_capacity;
} cvtm_ring_collector;

void cvtm_ring_collector_free(cvtm_ring_collector *collector);

/* Begins a shape; later rings belong to it. name: copied, or NULL. */
cvtm_status cvtm_ring_begin_shape(cvtm_ring_collector *collector, const char *name);

/* Adds a point, unless it equals the previous point. */
cvtm_status cvtm_ring_add_point(cvtm_ring_collector *collector, double x, double y);
/* cvtm_ring_add_point for a point between two chords of a curve. */
cvtm_status cvtm_ring_add_curve_point(cvtm_ring_collector *collector, double x, double y);
/* Ends the ring being read; drops it if it has no area. */
cvtm_status cvtm_ring_close(cvtm_ring_collector *collector);
/* Ends an open path: as a ring if its ends coincide, or if it is filled and has an area, else as a
 * line. */
cvtm_status cvtm_ring_end_path(cvtm_ring_collector *collector, int is_filled);
/* Takes the points of the ring being read as those of a line, or as a single point. */
cvtm_status cvtm_ring_end_line(cvtm_ring_collector *collector);

static inline int cvtm_is_letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

/* Makes rings that touch except for rounding touch exactly, as cvtm_polygons_read does. In
 * addition, edges get the corners of other rings that lie exactly on them. No ring is divided, and
 * corners may be repeated. */
cvtm_status cvtm_rings_touch(cvtm_polygons *rings, cvtm_error *error);

/* A place where an edge of a ring gets a corner. */
typedef struct cvtm_new_corner {
  int64_t edge; /* the edge that begins at this corner */
  double along; /* the distance from there, in any unit */
  double place[2];
  int64_t corner; /* orders places at the same distance */
} cvtm_new_corner;

/* Sorts the places, and inserts those that differ from the corner before. Returns 0 if memory runs
 * out. */
int cvtm_rings_insert(cvtm_polygons *rings, cvtm_new_corner *list, int64_t count);

/* Refuses rings that cross so deeply that joining cannot repair it. Without this test many long
 * edges that cross would take quadratic time. */
cvtm_status cvtm_rings_refuse_crossings(const cvtm_ring_collector *c, const char *name,
                                        cvtm_error *error);

/* Reads a polygon file into bytes (malloc'd), a .poly file together with its .node file. */
cvtm_status cvtm_polygons_load(const char *path, unsigned char **bytes, size_t *size,
                               cvtm_error *error);
/* Reads the rings of a file without changes. The caller frees the collector, also on failure. */
cvtm_status cvtm_rings_read(const char *extension, cvtm_source *source,
                            cvtm_ring_collector *collector);

/* Reads lines `x, y`; an empty line separates rings. */
cvtm_status cvtm_read_polygons_csv(cvtm_source *source, cvtm_ring_collector *collector);

/* ---- writing ---- */

/* Nodes and faces of the line groups of the regions. face[e] = 3 t + k: edge e runs from corner k
 * of triangle t, on its left, to the next corner. Group k (tag k + 1) has the nodes start[k] ..
 * start[k + 1] - 1, ascending. marker: per node the smallest tag of its groups; 0: none. seeds: one
 * triangle of every connected part of every region. number: one per vertex, scratch memory for the
 * writer. */
typedef struct cvtm_file_sets {
  int64_t *face;
  int64_t *start;
  int32_t *nodes;
  int32_t *marker, *number;
  int64_t seed_count;
  int64_t *seeds;
} cvtm_file_sets;

typedef struct cvtm_file_mesh {
  const double *points; /* 2 * node_count, y up, scaled; the vertices come first */
  int64_t vertex_count, node_count;
  const int32_t *triangles;
  int64_t triangle_count;
  const int32_t *triangle_middle; /* 3 per triangle: the nodes in the middle of its edges, the first
                                     between corners 0 and 1; NULL: triangles are straight */
  const int32_t
      *edge_middle; /* per edge of the regions: the node in its middle; NULL: edges are straight */
  const double *value; /* vertex_count values, or NULL */
  const char *value_name;
  const int32_t *point; /* node_count: the tag of its point group, 0: none; NULL: no such groups */
  const cvtm_regions *regions;        /* or NULL */
  const cvtm_triangle_labels *labels; /* or NULL */
  const cvtm_file_sets *sets;         /* of grouped regions, for formats that need them, or NULL */
  int ascii;                          /* nonzero: text where binary is the default */
  int binary;                         /* nonzero: binary where text is the default */
  cvtm_msh_version msh_version;
  cvtm_inp_elements inp_elements;
  cvtm_compression compression;
  int *no_memory;                      /* set to 1 by a writer if memory runs out */
  const struct cvtm_file_cells *cells; /* for OBJ and VTU, instead of all arrays above; or NULL */
  const cvtm_mesh *mesh;               /* in pixels, y down, in `domain` */
  cvtm_domain domain;
} cvtm_file_mesh;

/* Polygons in space: cell k has the corners from end[k - 1] (0 for the first) to end[k] - 1. */
typedef struct cvtm_file_cells {
  int64_t count, point_count;
  const double *points; /* 3 * point_count */
  const int64_t *end;   /* count */
  const int32_t *corners;
  const double *area; /* count */
} cvtm_file_cells;

/* The nodes of a triangle (3 or 6) or of an edge of the regions (2 or 3); returns their number. */
int cvtm_triangle_nodes(const cvtm_file_mesh *mesh, int64_t triangle, int32_t node[6]);
int cvtm_edge_nodes(const cvtm_file_mesh *mesh, int64_t edge, int32_t node[3]);

/* Writes 15 significant digits if these give back the same bits, else 17. */
void cvtm_put_number(FILE *file, double value);

/* Text in memory: x and y of a point; three vertices, numbered from `first`, and a newline. */
enum { CVTM_TEXT_POINT = 2 * CVTM_TEXT_NUMBER + 1, CVTM_TEXT_CORNERS = 3 * CVTM_TEXT_INTEGER + 3 };
char *cvtm_text_point(char *to, char separator, const double *p);
char *cvtm_text_corners(char *to, const int32_t *v, int first);

/* Points to write, sorted by class: those of class k are start[k] .. start[k + 1] - 1. */
typedef struct cvtm_point_set {
  const double *points;
  int64_t count;
  const int64_t *start; /* NULL: no classes */
  int classes;
  const int64_t *id; /* per point, instead of the class; NULL: none */
} cvtm_point_set;
