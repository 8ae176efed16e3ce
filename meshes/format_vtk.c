/* Legacy VTK: text or big-endian binary. Written as an unstructured grid of version 3.0,
 * which every reader knows; read as that, with the offsets of version 5, or as polygons. */
#include "meshes/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *append_value(char *to, const cvtm_file_mesh *m, cvtm_scalar type, double value,
                          char separator) {
  if (!m->ascii) return cvtm_text_scalar(to, type, 1, value);
  to = cvtm_text_number(to, value);
  *to++ = separator;
  return to;
}

static char *put_point(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = append_value(to, m, CVTM_F64, m->points[2 * i], ' ');
  to = append_value(to, m, CVTM_F64, m->points[2 * i + 1], ' ');
  return append_value(to, m, CVTM_F64, 0, '\n');
}

/* A mesh without triangles shows its vertices: several readers fail on a file without cells. */
static char *put_cell(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  int32_t node[6] = {(int32_t)t};
  const int corners = m->triangle_count > 0 ? cvtm_triangle_nodes(m, t, node) : 1;
  to = append_value(to, m, CVTM_I32, corners, ' ');
  for (int k = 0; k < corners; ++k)
    to = append_value(to, m, CVTM_I32, node[k], k + 1 < corners ? ' ' : '\n');
  return to;
}

static char *put_type(char *to, const void *context, int64_t t) {
  enum { VERTEX = 1, TRIANGLE = 5, QUADRATIC_TRIANGLE = 22 };
  const cvtm_file_mesh *m = context;
  (void)t;
  const int triangle = m->triangle_middle != NULL ? QUADRATIC_TRIANGLE : TRIANGLE;
  return append_value(to, m, CVTM_I32, m->triangle_count > 0 ? triangle : VERTEX, '\n');
}

static char *put_value(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return append_value(to, m, CVTM_F64, i < m->vertex_count ? m->value[i] : 0, '\n');
}

void cvtm_write_vtk(FILE *file, const cvtm_file_mesh *m) {
  enum { MOST = CVTM_TEXT_NUMBER + 1 };
  const int64_t cells = m->triangle_count > 0 ? m->triangle_count : m->vertex_count;
  fprintf(file,
          "# vtk DataFile Version 3.0\ncvtmesh\n%s\nDATASET UNSTRUCTURED_GRID\nPOINTS %" PRId64
          " double\n",
          m->ascii ? "ASCII" : "BINARY", m->node_count);
  cvtm_write_items(file, m->node_count, 3 * MOST, put_point, m);
  fprintf(file, "\nCELLS %" PRId64 " %" PRId64 "\n", cells,
          (m->triangle_count == 0       ? 2
           : m->triangle_middle != NULL ? 7
                                        : 4) *
              cells);
  cvtm_write_items(file, cells, 7 * MOST, put_cell, m);
  fprintf(file, "\nCELL_TYPES %" PRId64 "\n", cells);
  cvtm_write_items(file, cells, MOST, put_type, m);
  if (m->value == NULL) return;
  fprintf(file, "\nPOINT_DATA %" PRId64 "\nSCALARS %s double 1\nLOOKUP_TABLE default\n",
          m->node_count, m->value_name);
  cvtm_write_items(file, m->node_count, MOST, put_value, m);
  fputc('\n', file);
}

typedef struct grid {
  int binary, offsets; /* offsets: version 5 and later */
  int polygons;        /* the cells are polygons without types */
  int64_t cells, corners, types_count;
  double *ends, *connectivity, *types;
} grid;

static int parse_type(cvtm_token token, cvtm_scalar *type) {
  static const struct {
    const char *word;
    cvtm_scalar type;
  } types[] = {{"double", CVTM_F64},       {"float", CVTM_F32},
               {"int", CVTM_I32},          {"long", CVTM_I64},
               {"char", CVTM_I8},          {"unsigned_char", CVTM_U8},
               {"short", CVTM_I16},        {"unsigned_short", CVTM_U16},
               {"unsigned_int", CVTM_U32}, {"unsigned_long", CVTM_U64},
               {"vtktypeint64", CVTM_I64}, {"vtktypeint32", CVTM_I32},
               {"vtkIdType", CVTM_I32}};
  for (size_t k = 0; k < sizeof types / sizeof types[0]; ++k) {
    if (cvtm_token_is(token, types[k].word)) {
      *type = types[k].type;
      return 1;
    }
  }
  return 0;
}

static cvtm_status expect_type(cvtm_source *s, cvtm_scalar *type) {
  cvtm_token token;
  if (cvtm_source_line_token(s, &token) && parse_type(token, type)) return CVTM_OK;
  return cvtm_source_fail(s, "expected a data type");
}

static cvtm_status read_count(cvtm_source *s, int64_t *count) {
  return cvtm_source_integer(s, CVTM_I64, 0, INT64_MAX / 8, "count", count);
}

/* Values start on the next line. */
static cvtm_status read_values(cvtm_source *s, const grid *g, cvtm_scalar type, int64_t count,
                               double **values) {
  cvtm_source_end_line(s);
  s->binary = g->binary;
  cvtm_status status = cvtm_source_values(s, type, count, values);
  s->binary = 0;
  return status;
}

static cvtm_status skip_values(cvtm_source *s, const grid *g, cvtm_scalar type, int64_t count) {
  double *values;
  cvtm_status status = read_values(s, g, type, count, &values);
  free(values);
  return status;
}

static cvtm_status read_points(cvtm_source *s, const grid *g, cvtm_builder *b) {
  int64_t count = 0;
  cvtm_scalar type = CVTM_F64;
  double *values;
  cvtm_status status = read_count(s, &count);
  if (status == CVTM_OK) status = expect_type(s, &type);
  if (status != CVTM_OK) return status;
  if (b->vertex_count > 0) return cvtm_source_fail(s, "POINTS appears twice");
  status = read_values(s, g, type, 3 * count, &values);
  if (status == CVTM_OK) status = cvtm_builder_vertices(b, values, count);
  free(values);
  return status;
}

/* Up to version 4: each cell is its number of corners and the corners. */
static cvtm_status read_classic_cells(cvtm_source *s, grid *g) {
  int64_t size = 0;
  double *list;
  cvtm_status status = read_count(s, &g->cells);
  if (status == CVTM_OK) status = read_count(s, &size);
  if (status != CVTM_OK) return status;
  if (g->cells > size) return cvtm_source_fail(s, "the cells do not fit the size of their list");
  status = read_values(s, g, CVTM_I32, size, &list);
  if (status != CVTM_OK) return status;
  g->connectivity = list; /* packed in place below */
  g->ends = malloc(((size_t)g->cells + 1) * sizeof *g->ends);
  if (g->ends == NULL) return cvtm_source_no_memory(s);
  int64_t at = 0, packed = 0;
  for (int64_t k = 0; k < g->cells; ++k) {
    double corners = at < size ? list[at++] : -1;
    if (!(corners >= 0 && corners <= (double)(size - at))) {
      return cvtm_source_fail(s, "the cells do not fit the size of their list");
    }
    for (int64_t c = 0; c < (int64_t)corners; ++c) list[packed++] = list[at++];
    g->ends[k] = (double)packed;
  }
  if (at != size) return cvtm_source_fail(s, "the cells do not fit the size of their list");
  g->corners = packed;
  return CVTM_OK;
}

static cvtm_status read_offset_cells(cvtm_source *s, grid *g) {
  int64_t offsets = 0;
  cvtm_scalar type = CVTM_I64;
  cvtm_status status = read_count(s, &offsets);
  if (status == CVTM_OK) status = read_count(s, &g->corners);
  if (status == CVTM_OK) status = cvtm_source_expect(s, "OFFSETS");
  if (status == CVTM_OK) status = expect_type(s, &type);
  if (status == CVTM_OK) status = read_values(s, g, type, offsets, &g->ends);
  if (status == CVTM_OK) status = cvtm_source_expect(s, "CONNECTIVITY");
  if (status == CVTM_OK) status = expect_type(s, &type);
  if (status == CVTM_OK) status = read_values(s, g, type, g->corners, &g->connectivity);
  if (status != CVTM_OK) return status;
  if (offsets > 0 && g->ends[0] != 0) return cvtm_source_fail(s, "the first offset is not 0");
  g->cells = offsets > 0 ? offsets - 1 : 0;
  if (offsets > 0) memmove(g->ends, g->ends + 1, (size_t)g->cells * sizeof *g->ends);
  return CVTM_OK;
}

static cvtm_status read_cells(cvtm_source *s, grid *g) {
  if (g->ends != NULL) return cvtm_source_fail(s, "the cells appear twice");
  return g->offsets ? read_offset_cells(s, g) : read_classic_cells(s, g);
}

/* Vertices and lines of polygonal data. */
static cvtm_status skip_cells(cvtm_source *s, const grid *g) {
  grid skipped = {.binary = g->binary, .offsets = g->offsets};
  cvtm_status status = read_cells(s, &skipped);
  free(skipped.ends);
  free(skipped.connectivity);
  return status;
}

static cvtm_status read_types(cvtm_source *s, grid *g) {
  if (g->types != NULL) return cvtm_source_fail(s, "CELL_TYPES appears twice");
  cvtm_status status = read_count(s, &g->types_count);
  if (status != CVTM_OK) return status;
  return read_values(s, g, CVTM_I32, g->types_count, &g->types);
}

/* `FIELD name arrays`, then `name components tuples type` and values for each. */
static cvtm_status skip_field(cvtm_source *s, const grid *g) {
  cvtm_token token;
  int64_t arrays = 0;
  if (!cvtm_source_line_token(s, &token)) return cvtm_source_fail(s, "malformed FIELD");
  cvtm_status status = read_count(s, &arrays);
  for (int64_t k = 0; k < arrays && status == CVTM_OK; ++k) {
    int64_t components = 0, tuples = 0;
    cvtm_scalar type = CVTM_F64;
    if (!cvtm_source_token(s, &token)) return cvtm_source_fail(s, "malformed FIELD");
    status = cvtm_source_integer(s, CVTM_I64, 0, 1 << 20, "number of components", &components);
    if (status == CVTM_OK) {
      status = cvtm_source_integer(s, CVTM_I64, 0, INT64_MAX >> 24, "number of tuples", &tuples);
    }
    if (status == CVTM_OK) status = expect_type(s, &type);
    if (status == CVTM_OK) status = skip_values(s, g, type, components * tuples);
  }
  return status;
}

static void skip_metadata(cvtm_source *s) {
  cvtm_token token;
  do cvtm_source_end_line(s);
  while (cvtm_source_line_token(s, &token)); /* it ends at an empty line */
}

static cvtm_status read_vtk_header(cvtm_source *s, grid *g) {
  static const char magic[] = "# vtk DataFile Version ";
  const size_t length = sizeof magic - 1;
  if (s->size < length + 1 || memcmp(s->data, magic, length) != 0) {
    return cvtm_source_fail(s, "not a legacy VTK file");
  }
  g->offsets = s->data[length] >= '5';
  cvtm_source_end_line(s);
  cvtm_source_end_line(s); /* the title */
  cvtm_token token;
  if (!cvtm_source_token(s, &token)) return cvtm_source_fail(s, "expected ASCII or BINARY");
  g->binary = cvtm_token_is(token, "BINARY");
  if (!g->binary && !cvtm_token_is(token, "ASCII")) {
    return cvtm_source_fail(s, "expected ASCII or BINARY");
  }
  s->big = 1;
  s->offsets = g->binary;
  cvtm_status status = cvtm_source_expect(s, "DATASET");
  if (status != CVTM_OK) return status;
  if (!cvtm_source_token(s, &token)) return cvtm_source_fail(s, "expected a kind of data set");
  g->polygons = cvtm_token_is(token, "POLYDATA");
  if (!g->polygons && !cvtm_token_is(token, "UNSTRUCTURED_GRID")) {
    return cvtm_source_fail(s, "the data set is neither UNSTRUCTURED_GRID nor POLYDATA");
  }
  return CVTM_OK;
}

static cvtm_status read_sections(cvtm_source *s, grid *g, cvtm_builder *b) {
  cvtm_token token;
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && cvtm_source_token(s, &token)) {
    if (cvtm_token_is(token, "POINT_DATA") || cvtm_token_is(token, "CELL_DATA")) break;
    if (cvtm_token_is(token, "POINTS")) {
      status = read_points(s, g, b);
    } else if (cvtm_token_is(token, g->polygons ? "POLYGONS" : "CELLS")) {
      status = read_cells(s, g);
    } else if (!g->polygons && cvtm_token_is(token, "CELL_TYPES")) {
      status = read_types(s, g);
    } else if (g->polygons && (cvtm_token_is(token, "VERTICES") || cvtm_token_is(token, "LINES"))) {
      status = skip_cells(s, g);
    } else if (cvtm_token_is(token, "FIELD")) {
      status = skip_field(s, g);
    } else if (cvtm_token_is(token, "METADATA")) {
      skip_metadata(s);
    } else {
      status = cvtm_source_fail(s, "unknown section");
    }
  }
  return status;
}

cvtm_status cvtm_read_vtk(cvtm_source *s, cvtm_builder *b) {
  grid g;
  memset(&g, 0, sizeof g);
  cvtm_status status = read_vtk_header(s, &g);
  if (status == CVTM_OK) status = read_sections(s, &g, b);
  if (status == CVTM_OK && !g.polygons && g.ends == NULL) {
    status = cvtm_source_fail(s, "no CELLS");
  }
  if (status == CVTM_OK && !g.polygons && g.types_count != g.cells) {
    status = cvtm_source_fail(s, "CELL_TYPES does not match CELLS");
  }
  if (status == CVTM_OK && g.cells > 0) {
    status = cvtm_builder_cells(b, g.cells, g.ends, g.connectivity, g.corners, g.types);
  }
  free(g.ends);
  free(g.connectivity);
  free(g.types);
  return status;
}
