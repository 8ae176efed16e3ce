/* Formats that are little more than lists of vertices and triangles; only OBJ is also read. */
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Wavefront OBJ ---- */

/* Lines of `v x y z` and `f a b c`, indices from 1, negative ones counted from the last vertex. */

static char *flat_vertex(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_word(cvtm_text_point(to, ' ', m->points + 2 * i), " 0\n");
}

static char *obj_vertex(char *to, const void *context, int64_t i) {
  return flat_vertex(cvtm_text_word(to, "v "), context, i);
}

static char *obj_face(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_corners(cvtm_text_word(to, "f "), m->triangles + 3 * t, 1);
}

static char *obj_corner_point(char *to, const void *context, int64_t i) {
  const double *p = ((const cvtm_file_cells *)context)->points + 3 * i;
  to = cvtm_text_point(cvtm_text_word(to, "v "), ' ', p);
  return cvtm_text_word(cvtm_text_number(cvtm_text_word(to, " "), p[2]), "\n");
}

static char *obj_cell(char *to, const void *context, int64_t i) {
  const cvtm_file_cells *cells = context;
  to = cvtm_text_word(to, "f");
  for (int64_t k = i > 0 ? cells->end[i - 1] : 0; k < cells->end[i]; ++k)
    to = cvtm_text_integer(cvtm_text_word(to, " "), cells->corners[k] + 1);
  return cvtm_text_word(to, "\n");
}

static void write_obj(FILE *file, const cvtm_file_mesh *m) {
  fputs("# cvtmesh\n", file);
  if (m->cells != NULL) {
    cvtm_write_items(file, m->cells->point_count, 3 * CVTM_TEXT_NUMBER + 8, obj_corner_point,
                     m->cells);
    cvtm_write_items(file, m->cells->count, CVTM_MOST_ITEM_BYTES, obj_cell, m->cells);
    return;
  }
  cvtm_write_items(file, m->vertex_count, CVTM_TEXT_POINT + 5, obj_vertex, m);
  cvtm_write_items(file, m->triangle_count, CVTM_TEXT_CORNERS + 2, obj_face, m);
}

static void read_obj_vertex(cvtm_source *s, cvtm_builder *b) {
  double place[3] = {0};
  cvtm_token token;
  for (int k = 0; k < 3; ++k)
    if (!cvtm_source_line_token(s, &token) || !cvtm_token_number(token, &place[k]))
      cvtm_source_fail(s, "a vertex needs three numbers");
  cvtm_builder_vertices(b, place, 1);
}

static void read_obj_face(cvtm_source *s, cvtm_builder *b) {
  double index[3] = {0};
  int corners = 0;
  cvtm_token token;
  for (; cvtm_source_line_token(s, &token) && corners < 3; ++corners) {
    size_t length = 0; /* ignore the texture or normal after a slash */
    while (length < token.length && token.text[length] != '/') ++length;
    token.length = length;
    if (!cvtm_token_number(token, &index[corners])) cvtm_source_fail(s, "malformed vertex index");
    index[corners] += index[corners] < 0 ? (double)b->vertex_count : -1;
  }
  if (corners < 3 || token.length > 0) cvtm_source_fail(s, "a face is not a triangle");
  cvtm_builder_triangle(b, index, 3);
}

static int is_ignored(cvtm_token token) {
  static const char *const words[] = {"vn", "vt", "vp", "o",      "g",     "s",
                                      "p",  "l",  "mg", "mtllib", "usemtl"};
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
    if (cvtm_token_is(token, words[k])) return 1;
  }
  return 0;
}

static cvtm_status read_obj(cvtm_source *s, cvtm_builder *b) {
  s->comment = '#';
  cvtm_token token;
  while (cvtm_source_token(s, &token)) {
    if (cvtm_token_is(token, "v"))
      read_obj_vertex(s, b);
    else if (cvtm_token_is(token, "f"))
      read_obj_face(s, b);
    else if (!is_ignored(token))
      cvtm_source_fail(s, "unknown keyword");
    cvtm_source_end_line(s);
  }
  return s->status;
}

const cvtm_format cvtm_format_obj = {.extension = "obj",
                                     .help = "Wavefront OBJ: 3D programs",
                                     .write_mesh = write_obj,
                                     .read_mesh = read_obj};

/* ---- OFF ---- */

/* Object File Format of Geomview: `OFF`, the counts, vertices, faces. */

static char *off_face(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_corners(cvtm_text_word(to, "3 "), m->triangles + 3 * t, 0);
}

static void write_off(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "OFF\n%" PRId64 " %" PRId64 " 0\n", m->vertex_count, m->triangle_count);
  cvtm_write_items(file, m->vertex_count, CVTM_TEXT_POINT + 3, flat_vertex, m);
  cvtm_write_items(file, m->triangle_count, CVTM_TEXT_CORNERS + 2, off_face, m);
}

const cvtm_format cvtm_format_off = {
    .extension = "off", .help = "Object File Format: Geomview, CGAL", .write_mesh = write_off};

/* ---- PLY ---- */

/* Stanford PLY 1.0: text or little-endian (the default here). */

static char *ply_vertex(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  const double value[4] = {m->points[2 * i], m->points[2 * i + 1], 0,
                           m->value != NULL ? m->value[i] : 0};
  const int values = m->value != NULL ? 4 : 3;
  for (int k = 0; k < values; ++k)
    to = cvtm_text_value(to, m->ascii, CVTM_F64, 0, value[k], k + 1 < values ? ' ' : '\n');
  return to;
}

static char *ply_face(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  const int32_t *v = m->triangles + 3 * t;
  if (m->ascii) return cvtm_text_corners(cvtm_text_word(to, "3 "), v, 0);
  to = cvtm_text_scalar(to, CVTM_U8, 0, 3);
  for (int k = 0; k < 3; ++k) to = cvtm_text_scalar(to, CVTM_I32, 0, v[k]);
  return to;
}

static void write_ply(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file,
          "ply\nformat %s 1.0\ncomment cvtmesh\nelement vertex %" PRId64
          "\nproperty double x\nproperty double y\nproperty double z\n%s%s%selement face %" PRId64
          "\nproperty list uchar int vertex_indices\nend_header\n",
          m->ascii ? "ascii" : "binary_little_endian", m->vertex_count,
          m->value != NULL ? "property double " : "", m->value != NULL ? m->value_name : "",
          m->value != NULL ? "\n" : "", m->triangle_count);
  cvtm_write_items(file, m->vertex_count, 4 * (CVTM_TEXT_NUMBER + 1), ply_vertex, m);
  cvtm_write_items(file, m->triangle_count, CVTM_TEXT_CORNERS + 2, ply_face, m);
}

const cvtm_format cvtm_format_ply = {.extension = "ply",
                                     .help = "Stanford PLY: 3D programs",
                                     .properties = CVTM_HOLDS_VALUES | CVTM_TEXT_OR_BINARY,
                                     .write_mesh = write_ply};

/* ---- STL ---- */

/* Triangles without shared vertices, in single precision (binary) or text, flat at z = 0, with
 * normals up. If the mesh is so far from the origin that edges would bend in a binary file,
 * the file's origin is the lower left corner of the mesh, rounded down to integers; the header
 * names this origin. */

enum { HEADER = 80, PREFIX = 84, FACET = 50 };

static char *text_facet(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_word(to, "facet normal 0 0 1\nouter loop\n");
  for (int k = 0; k < 3; ++k) {
    to = cvtm_text_word(to, "vertex ");
    to = cvtm_text_point(to, ' ', m->points + 2 * (int64_t)m->triangles[3 * t + k]);
    to = cvtm_text_word(to, " 0\n");
  }
  return cvtm_text_word(to, "endloop\nendfacet\n");
}

static char *binary_facet(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  for (int k = 0; k < 3; ++k) to = cvtm_text_scalar(to, CVTM_F32, 0, k == 2);
  for (int k = 0; k < 3; ++k) {
    const double *p = m->points + 2 * (int64_t)m->triangles[3 * t + k];
    to = cvtm_text_scalar(to, CVTM_F32, 0, p[0]);
    to = cvtm_text_scalar(to, CVTM_F32, 0, p[1]);
    to = cvtm_text_scalar(to, CVTM_F32, 0, 0);
  }
  return cvtm_text_scalar(to, CVTM_U16, 0, 0);
}

/* Nonzero if single precision changes an edge by more than a thousandth of its length. */
static int stl_bends(const cvtm_file_mesh *m) {
  const double most = 1e-3;
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    for (int k = 0; k < 3; ++k) {
      const double *p = m->points + 2 * (int64_t)m->triangles[3 * t + k],
                   *q = m->points + 2 * (int64_t)m->triangles[3 * t + (k + 1) % 3];
      const double x = q[0] - p[0], y = q[1] - p[1];
      const double dx = (double)(float)q[0] - (float)p[0], dy = (double)(float)q[1] - (float)p[1];
      if (!(hypot(dx - x, dy - y) <= most * hypot(x, y))) return 1;
    }
  }
  return 0;
}

/* The points relative to the lower left corner of their box, if the box is so far from the origin
 * that single precision needs this; else, or if memory runs out, NULL. */
static double *stl_moved_points(const cvtm_file_mesh *m, double origin[2]) {
  const size_t n = (size_t)m->vertex_count;
  double high[2] = {-INFINITY, -INFINITY};
  origin[0] = origin[1] = INFINITY;
  for (size_t i = 0; i < 2 * n; ++i) {
    origin[i % 2] = fmin(origin[i % 2], m->points[i]);
    high[i % 2] = fmax(high[i % 2], m->points[i]);
  }
  const double side = fmax(high[0] - origin[0], high[1] - origin[1]);
  const int is_far = fmax(fabs(origin[0]), fabs(origin[1])) > side;
  double *moved = is_far && stl_bends(m) ? malloc(2 * n * sizeof *moved) : NULL;
  if (moved == NULL) return NULL;
  for (int k = 0; k < 2; ++k) origin[k] = floor(origin[k]);
  for (size_t i = 0; i < 2 * n; ++i) moved[i] = m->points[i] - origin[i % 2];
  return moved;
}

static void write_stl(FILE *file, const cvtm_file_mesh *m) {
  if (m->ascii) {
    fputs("solid cvtmesh\n", file);
    cvtm_write_items(file, m->triangle_count, 3 * CVTM_TEXT_POINT + 100, text_facet, m);
    fputs("endsolid cvtmesh\n", file);
    return;
  }
  char header[PREFIX] = "cvtmesh: binary STL"; /* must not start with `solid` */
  double origin[2];
  double *moved = stl_moved_points(m, origin);
  cvtm_file_mesh placed = *m;
  if (moved != NULL) {
    placed.points = moved;
    snprintf(header, HEADER, "cvtmesh: binary STL, origin at %.17g %.17g", origin[0], origin[1]);
  }
  (void)cvtm_text_scalar(header + HEADER, CVTM_U32, 0, (double)m->triangle_count);
  fwrite(header, 1, sizeof header, file);
  cvtm_write_items(file, m->triangle_count, FACET, binary_facet, &placed);
  free(moved);
}

const cvtm_format cvtm_format_stl = {.extension = "stl",
                                     .help = "STL, in single precision: 3D printers",
                                     .properties = CVTM_TEXT_OR_BINARY,
                                     .write_mesh = write_stl};

/* ---- Legacy VTK ---- */

/* Legacy VTK: an unstructured grid of version 3.0, which every reader supports, as text or
 * big-endian binary. */

static char *append_vtk(char *to, const cvtm_file_mesh *m, cvtm_scalar type, double value,
                        char separator) {
  return cvtm_text_value(to, m->ascii, type, 1, value, separator);
}

static char *vtk_point(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = append_vtk(to, m, CVTM_F64, m->points[2 * i], ' ');
  to = append_vtk(to, m, CVTM_F64, m->points[2 * i + 1], ' ');
  return append_vtk(to, m, CVTM_F64, 0, '\n');
}

/* A mesh without triangles has its vertices as cells, because several readers fail on a file
 * without cells. */
static char *vtk_cell(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  int32_t node[6] = {(int32_t)t};
  const int corners = m->triangle_count > 0 ? cvtm_triangle_nodes(m, t, node) : 1;
  to = append_vtk(to, m, CVTM_I32, corners, ' ');
  for (int k = 0; k < corners; ++k)
    to = append_vtk(to, m, CVTM_I32, node[k], k + 1 < corners ? ' ' : '\n');
  return to;
}

static char *vtk_type(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  (void)t;
  const int triangle = m->triangle_middle != NULL ? CVTM_VTK_QUADRATIC_TRIANGLE : CVTM_VTK_TRIANGLE;
  return append_vtk(to, m, CVTM_I32, m->triangle_count > 0 ? triangle : CVTM_VTK_VERTEX, '\n');
}

static char *vtk_value(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return append_vtk(to, m, CVTM_F64, i < m->vertex_count ? m->value[i] : 0, '\n');
}

static void write_vtk(FILE *file, const cvtm_file_mesh *m) {
  enum { MOST = CVTM_TEXT_NUMBER + 1 };
  const int64_t cells = m->triangle_count > 0 ? m->triangle_count : m->vertex_count;
  fprintf(file,
          "# vtk DataFile Version 3.0\ncvtmesh\n%s\nDATASET UNSTRUCTURED_GRID\nPOINTS %" PRId64
          " double\n",
          m->ascii ? "ASCII" : "BINARY", m->node_count);
  cvtm_write_items(file, m->node_count, 3 * MOST, vtk_point, m);
  fprintf(file, "\nCELLS %" PRId64 " %" PRId64 "\n", cells,
          (m->triangle_count == 0       ? 2
           : m->triangle_middle != NULL ? 7
                                        : 4) *
              cells);
  cvtm_write_items(file, cells, 7 * MOST, vtk_cell, m);
  fprintf(file, "\nCELL_TYPES %" PRId64 "\n", cells);
  cvtm_write_items(file, cells, MOST, vtk_type, m);
  if (m->value == NULL) return;
  fprintf(file, "\nPOINT_DATA %" PRId64 "\nSCALARS %s double 1\nLOOKUP_TABLE default\n",
          m->node_count, m->value_name);
  cvtm_write_items(file, m->node_count, MOST, vtk_value, m);
  fputc('\n', file);
}

const cvtm_format cvtm_format_vtk = {
    .extension = "vtk",
    .help = "the older format of VTK: ParaView",
    .properties = CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES | CVTM_TEXT_OR_BINARY,
    .write_mesh = write_vtk};

/* ---- Abaqus and CalculiX ---- */

/* The mesh part of input decks for Abaqus and CalculiX: plane stress triangles (CPS3, CPS6), an
 * element set for each region, and a node set and a surface of element edges for each part of the
 * boundary, with the names of the groups. CalculiX CrunchiX User's Manual, *NODE, *ELEMENT, *NSET,
 * *ELSET, *SURFACE. */

static char *inp_node(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_word(cvtm_text_integer(to, i + 1), ", ");
  to = cvtm_text_word(cvtm_text_number(to, m->points[2 * i]), ", ");
  return cvtm_text_word(cvtm_text_number(to, m->points[2 * i + 1]), ", 0\n");
}

/* Lines of elements, numbered from `first`. */
typedef struct element_lines {
  const cvtm_file_mesh *mesh;
  int64_t first;
} element_lines;

static char *inp_element(char *to, const void *context, int64_t k) {
  const element_lines *lines = context;
  int32_t node[6];
  const int count = cvtm_triangle_nodes(lines->mesh, lines->first + k, node);
  to = cvtm_text_integer(to, lines->first + k + 1);
  for (int c = 0; c < count; ++c)
    to = cvtm_text_integer(cvtm_text_word(to, ", "), (int64_t)node[c] + 1);
  *to++ = '\n';
  return to;
}

static void write_region(FILE *file, const cvtm_file_mesh *m, const char *name, int64_t first,
                         int64_t end) {
  static const char *const kinds[] = {"CPS", "CPE", "S"};
  const element_lines lines = {m, first};
  fprintf(file, "*ELEMENT, TYPE=%s%d, ELSET=%s\n", kinds[m->inp_elements],
          m->triangle_middle != NULL ? 6 : 3, name);
  cvtm_write_items(file, end - first, 7 * (CVTM_TEXT_INTEGER + 2), inp_element, &lines);
}

static void write_regions(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  int64_t first = 0;
  if (r == NULL) write_region(file, m, "region-1", 0, m->triangle_count);
  for (int32_t g = 0; r != NULL && g < r->area_group_count; ++g) {
    int64_t end = first;
    while (end < m->triangle_count && r->region[end] == r->area_groups[g].tag) ++end;
    write_region(file, m, r->area_groups[g].name, first, end);
    first = end;
  }
}

static void write_boundary(FILE *file, const cvtm_file_mesh *m, int32_t g) {
  enum { IN_A_LINE = 12 };
  const cvtm_regions *r = m->regions;
  const cvtm_file_sets *sets = m->sets;
  fprintf(file, "*NSET, NSET=%s\n", r->line_groups[g].name);
  for (int64_t k = sets->start[g]; k < sets->start[g + 1]; ++k) {
    const int last =
        k + 1 == sets->start[g + 1] || (k - sets->start[g]) % IN_A_LINE == IN_A_LINE - 1;
    fprintf(file, "%" PRId64 "%s", (int64_t)sets->nodes[k] + 1, last ? "\n" : ", ");
  }
  fprintf(file, "*SURFACE, NAME=%s, TYPE=ELEMENT\n", r->line_groups[g].name);
  for (int64_t e = 0; e < r->edge_count; ++e) {
    if (r->group[e] != r->line_groups[g].tag) continue;
    fprintf(file, "%" PRId64 ", S%d\n", sets->face[e] / 3 + 1, (int)(sets->face[e] % 3) + 1);
  }
}

static void write_inp(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "*HEADING\nmesh of cvtmesh: %" PRId64 " nodes, %" PRId64 " triangles\n",
          m->node_count, m->triangle_count);
  fputs("*NODE, NSET=nodes\n", file);
  cvtm_write_items(file, m->node_count, CVTM_TEXT_INTEGER + CVTM_TEXT_POINT + 8, inp_node, m);
  if (m->triangle_count > 0) write_regions(file, m);
  for (int32_t g = 0; m->sets != NULL && g < m->regions->line_group_count; ++g)
    write_boundary(file, m, g);
  for (int64_t k = 0; m->regions != NULL && k < m->regions->point_count; ++k) {
    const int32_t *point = m->regions->points + 2 * k;
    if (k == 0 || point[1] != point[-1])
      fprintf(file, "*NSET, NSET=%s\n", m->regions->point_groups[point[1] - 1].name);
    fprintf(file, "%" PRId32 "\n", point[0] + 1);
  }
}

const cvtm_format cvtm_format_inp = {
    .extension = "inp",
    .help = "input of Abaqus and CalculiX: element sets, node sets, surfaces",
    .manual =
        "Triangles are plane stress elements, CPS3, or CPS6 with --element-order 2; with --format "
        "cpe plane "
        "strain, CPE3, with --format shell S3.",
    .properties = CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER | CVTM_USES_SETS,
    .write_mesh = write_inp};
