/* Files of Shewchuk's Triangle: .node (vertices), .ele (triangles) and .poly (the
 * boundary, with a point in every hole and in every part of a region). Reads .node and .ele, and
 * the boundary of .poly. https://www.cs.cmu.edu/~quake/triangle.html */
#include "base/file.h"
#include "base/host.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char node_ending[] = ".node";

/* ---- writing ---- */

/* The marker of an edge's group. */
static int32_t group_marker(const cvtm_file_mesh *m, int32_t tag) {
  return tag > 0 && m->labels != NULL && m->labels->group != NULL ? m->labels->group[tag - 1] : tag;
}

/* Markers of point groups come after those of groups of edges. */
static int32_t node_marker(const cvtm_file_mesh *m, int64_t i) {
  const int32_t *given = m->labels != NULL && i < m->vertex_count ? m->labels->vertex : NULL;
  if (m->point != NULL && m->point[i] > 0) return m->regions->line_group_count + m->point[i];
  return given != NULL ? given[i] : group_marker(m, m->sets->marker[i]);
}

/* The number of the first vertex, triangle and so on. */
static int first_number(const cvtm_file_mesh *m) {
  return m->labels == NULL || !m->labels->from_zero;
}

static int64_t attribute_count(const cvtm_file_mesh *m) {
  return m->labels != NULL && m->labels->vertex_attribute != NULL
             ? m->labels->vertex_attribute_count
             : 0;
}

static char *put_attribute(char *to, const cvtm_file_mesh *m, int64_t t) {
  return m->labels != NULL && m->labels->attribute != NULL
             ? cvtm_text_number(to, m->labels->attribute[t])
             : cvtm_text_integer(to, m->regions->region[t]);
}

/* Writes node i with a number (from 0 on), its attributes, and its marker. */
static char *put_node(char *to, const cvtm_file_mesh *m, int64_t number, int64_t i) {
  const int64_t count = attribute_count(m);
  to = cvtm_text_word(cvtm_text_integer(to, number + first_number(m)), " ");
  to = cvtm_text_point(to, ' ', m->points + 2 * i);
  for (int64_t k = 0; k < count; ++k)
    to = cvtm_text_number(cvtm_text_word(to, " "), m->labels->vertex_attribute[count * i + k]);
  if (m->value != NULL)
    to = cvtm_text_number(cvtm_text_word(to, " "), i < m->vertex_count ? m->value[i] : 0);
  if (m->sets != NULL) to = cvtm_text_integer(cvtm_text_word(to, " "), node_marker(m, i));
  return cvtm_text_word(to, "\n");
}

static char *node_line(char *to, const void *context, int64_t i) {
  return put_node(to, context, i, i);
}

static void write_node_header(FILE *file, const cvtm_file_mesh *m, int64_t count) {
  fprintf(file, "%" PRId64 " 2 %" PRId64 " %d\n", count, attribute_count(m) + (m->value != NULL),
          m->sets != NULL);
}

/* Writes vertices with their values as attributes and the tags of boundary groups as markers. */
static void write_node(FILE *file, const cvtm_file_mesh *m) {
  write_node_header(file, m, m->node_count);
  cvtm_write_items(
      file, m->node_count,
      2 * CVTM_TEXT_INTEGER + (size_t)(3 + attribute_count(m)) * (CVTM_TEXT_NUMBER + 1) + 5,
      node_line, m);
}

/* Triangle numbers the nodes so that node 4 is opposite corner 1. */
static char *triangle_line(char *to, const void *context, int64_t t) {
  static const int order[6] = {0, 1, 2, 4, 5, 3};
  const cvtm_file_mesh *m = context;
  int32_t node[6];
  const int count = cvtm_triangle_nodes(m, t, node);
  to = cvtm_text_integer(to, t + first_number(m));
  for (int c = 0; c < count; ++c)
    to = cvtm_text_integer(cvtm_text_word(to, " "), (int64_t)node[order[c]] + first_number(m));
  if (m->regions != NULL) {
    *to++ = ' ';
    to = put_attribute(to, m, t);
  }
  *to++ = '\n';
  return to;
}

static void write_ele(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "%" PRId64 " %d %d\n", m->triangle_count, m->triangle_middle != NULL ? 6 : 3,
          m->regions != NULL);
  cvtm_write_items(file, m->triangle_count, 8 * (CVTM_TEXT_INTEGER + 1) + CVTM_TEXT_NUMBER,
                   triangle_line, m);
}

/* Finds a point outside the mesh next to edge e, which is not horizontal. The point lies on the
 * horizontal line through the midpoint of e, halfway to the next boundary edge. */
static void find_outside(const cvtm_file_mesh *m, int64_t e, double place[2]) {
  const cvtm_regions *r = m->regions;
  const double *a = m->points + 2 * (int64_t)r->edges[2 * e];
  const double *b = m->points + 2 * (int64_t)r->edges[2 * e + 1];
  const double x = (a[0] + b[0]) / 2, y = (a[1] + b[1]) / 2;
  const double way = b[1] > a[1] ? 1 : -1; /* the outside lies to the right of an edge */
  double least = HUGE_VAL;
  for (int64_t k = 0; k < r->edge_count; ++k) {
    const double *p = m->points + 2 * (int64_t)r->edges[2 * k];
    const double *q = m->points + 2 * (int64_t)r->edges[2 * k + 1];
    if (k == e || r->right[k] != 0 || (p[1] <= y) == (q[1] <= y)) continue;
    const double distance = way * (p[0] + (y - p[1]) / (q[1] - p[1]) * (q[0] - p[0]) - x);
    if (distance > 0) least = fmin(least, distance);
  }
  place[0] = x + way * least / 2;
  place[1] = y;
}

/* The edge of a hole with the largest difference in y; -1 if edges first .. end - 1, a curve, do
 * not surround a hole. A hole with edges of several groups has a name instead of a curve around it.
 */
static int64_t steepest_edge(const cvtm_file_mesh *m, int64_t first, int64_t end) {
  const cvtm_regions *r = m->regions;
  const double *o = m->points + 2 * (int64_t)r->edges[2 * first];
  int64_t best = -1, way = 0; /* way: 0 for a closed curve */
  double most = 0, area = 0;
  for (int64_t e = first; e < end; ++e) {
    const double *p = m->points + 2 * (int64_t)r->edges[2 * e],
                 *q = m->points + 2 * (int64_t)r->edges[2 * e + 1];
    way += r->edges[2 * e + 1] - r->edges[2 * e];
    area += (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
    if (fabs(q[1] - p[1]) > most) best = e;
    most = fmax(most, fabs(q[1] - p[1]));
  }
  const char *name = r->line_groups[r->group[first] - 1].name;
  const int is_hole = strncmp(name, "hole-", 5) == 0 || (way == 0 && area < 0);
  return r->right[first] == 0 && is_hole ? best : -1;
}

static void put_place(FILE *file, const double *place) {
  char text[CVTM_TEXT_POINT];
  fwrite(text, 1, (size_t)(cvtm_text_point(text, ' ', place) - text), file);
}

static void write_holes(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  int32_t holes = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) fprintf(file, "%" PRId32 "\n", holes);
    holes = 0;
    for (int64_t k = 0, end; k < r->edge_count; k = end) {
      for (end = k; end < r->edge_count && r->curve[end] == r->curve[k];) ++end;
      const int64_t e = steepest_edge(m, k, end);
      if (e < 0) continue;
      if (pass == 1) fprintf(file, "%" PRId32 " ", holes + first_number(m));
      ++holes;
      if (pass == 0) continue;
      double place[2];
      find_outside(m, e, place);
      put_place(file, place);
      fputc('\n', file);
    }
  }
}

static void write_seeds(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "%" PRId64 "\n", m->sets->seed_count);
  for (int64_t k = 0; k < m->sets->seed_count; ++k) {
    const int64_t t = m->sets->seeds[k];
    double place[2] = {0, 0};
    for (int c = 0; c < 3; ++c) {
      place[0] += m->points[2 * (int64_t)m->triangles[3 * t + c]] / 3;
      place[1] += m->points[2 * (int64_t)m->triangles[3 * t + c] + 1] / 3;
    }
    fprintf(file, "%" PRId64 " ", k + first_number(m));
    put_place(file, place);
    char text[CVTM_TEXT_NUMBER + CVTM_TEXT_INTEGER];
    fprintf(file, " %.*s -1\n", (int)(put_attribute(text, m, t) - text), text);
  }
}

/* Nonzero for a vertex of the boundary, and for one that has a marker. */
static int is_kept(const cvtm_file_mesh *m, int64_t v) {
  return m->sets->marker[v] > 0 || node_marker(m, v) != 0;
}

/* Writes only the vertices that a mesh keeps, so that Triangle can mesh the domain again. */
static void write_poly(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  const int first = first_number(m);
  char text[CVTM_MOST_ITEM_BYTES];
  int64_t count = 0;
  for (int64_t v = 0; v < m->vertex_count; ++v) count += is_kept(m, v);
  write_node_header(file, m, count);
  count = 0;
  for (int64_t v = 0; v < m->vertex_count; ++v) {
    if (!is_kept(m, v)) continue;
    m->sets->number[v] = (int32_t)count;
    fwrite(text, 1, (size_t)(put_node(text, m, count++, v) - text), file);
  }
  fprintf(file, "%" PRId64 " 1\n", r->edge_count);
  for (int64_t e = 0; e < r->edge_count; ++e)
    fprintf(file, "%" PRId64 " %" PRId32 " %" PRId32 " %" PRId32 "\n", e + first,
            m->sets->number[r->edges[2 * e]] + first, m->sets->number[r->edges[2 * e + 1]] + first,
            group_marker(m, r->group[e]));
  write_holes(file, m);
  write_seeds(file, m);
}

/* ---- reading ---- */

static int64_t read_count(cvtm_source *s, int64_t low, int64_t high, const char *what) {
  return cvtm_source_integer(s, CVTM_I64, low, high, what);
}

static double next_number(cvtm_source *s) { return cvtm_source_value(s, CVTM_F64); }

void cvtm_triangle_vertices_free(cvtm_triangle_vertices *vertices) {
  free(vertices->points);
  free(vertices->marker);
  free(vertices->attributes);
  *vertices = (cvtm_triangle_vertices){.first = vertices->first};
}

/* Reads a vertex of a file with or without markers. */
static void read_vertex(cvtm_source *s, int64_t i, int64_t markers,
                        cvtm_triangle_vertices *vertices) {
  const double number = next_number(s);
  const int64_t width = vertices->attribute_count;
  if (i == 0) vertices->first = number;
  if (number != vertices->first + (double)i || vertices->first < 0 || vertices->first > 1)
    cvtm_source_fail(s, "vertices are not numbered in order from 0 or 1");
  for (int k = 0; k < 2; ++k) {
    vertices->points[2 * i + k] = next_number(s);
    if (!isfinite(vertices->points[2 * i + k])) cvtm_source_fail(s, "a coordinate is not finite");
  }
  for (int64_t k = 0; k < width; ++k) vertices->attributes[width * i + k] = next_number(s);
  const double value = markers ? next_number(s) : 0;
  vertices->marker[i] = fabs(value) <= INT32_MAX ? (int32_t)value : 0;
}

void cvtm_triangle_read_vertices(cvtm_source *s, cvtm_triangle_vertices *vertices) {
  *vertices = (cvtm_triangle_vertices){0};
  s->comment = '#';
  const int64_t count = read_count(s, 0, INT32_MAX, "number of vertices");
  (void)read_count(s, 2, 2, "dimension");
  vertices->attribute_count = read_count(s, 0, CVTM_VERTEX_ATTRIBUTES_MAX, "number of attributes");
  const int64_t markers = read_count(s, 0, 1, "number of markers");
  if ((uint64_t)(count * (1 + vertices->attribute_count)) > s->size)
    cvtm_source_fail(s, "the header claims more vertices than the file can hold");
  if (!cvtm_source_is_good(s)) return;
  vertices->points = malloc(2 * (size_t)(count + 1) * sizeof *vertices->points);
  vertices->marker = malloc((size_t)(count + 1) * sizeof *vertices->marker);
  vertices->attributes =
      malloc((size_t)(count * vertices->attribute_count + 1) * sizeof *vertices->attributes);
  if (!vertices->points || !vertices->marker || !vertices->attributes) cvtm_source_no_memory(s);
  for (int64_t i = 0; i < count && cvtm_source_is_good(s); ++i)
    read_vertex(s, i, markers, vertices);
  if (cvtm_source_is_good(s))
    vertices->count = count;
  else
    cvtm_triangle_vertices_free(vertices);
}

static void read_triangle(cvtm_source *s, cvtm_builder *b, double first, int nodes,
                          int64_t attributes) {
  double index[6];
  (void)next_number(s);
  for (int k = 0; k < nodes; ++k) index[k] = next_number(s) - first;
  cvtm_builder_triangle(b, index, nodes);
  for (int64_t k = 0; k < attributes; ++k) (void)next_number(s);
}

/* Reads the vertices, as in a .node file, and then the triangles. */
static cvtm_status read_ele(cvtm_source *s, cvtm_builder *b) {
  cvtm_triangle_vertices vertices;
  cvtm_triangle_read_vertices(s, &vertices);
  for (int64_t i = 0; i < vertices.count; ++i)
    cvtm_builder_vertices(
        b, (const double[3]){vertices.points[2 * i], vertices.points[2 * i + 1], 0}, 1);
  cvtm_triangle_vertices_free(&vertices);
  const int64_t count = read_count(s, 0, INT32_MAX, "number of triangles");
  const int nodes = (int)read_count(s, 3, 6, "nodes of a triangle");
  const int64_t attributes = read_count(s, 0, 1000, "number of attributes");
  if (nodes != 3 && nodes != 6) cvtm_source_fail(s, "triangles have 3 or 6 nodes");
  for (int64_t t = 0; t < count && cvtm_source_is_good(s); ++t)
    read_triangle(s, b, vertices.first, nodes, attributes);
  return s->status;
}

/* Reads the .node file with the name of `path`, then `path`, into one array. */
static cvtm_status read_pair(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                             cvtm_error *error) {
  unsigned char *nodes = NULL, *rest = NULL, *both = NULL;
  size_t node_size = 0, rest_size = 0;
  char *beside = cvtm_path_beside(path, node_ending);
  if (beside == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_status status = cvtm_file_read(beside, limit, &nodes, &node_size, error);
  if (status == CVTM_OK) status = cvtm_file_read(path, limit, &rest, &rest_size, error);
  if (status == CVTM_OK) {
    both = malloc(node_size + 1 + rest_size);
    if (both == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  }
  if (status == CVTM_OK) {
    memcpy(both, nodes, node_size);
    both[node_size] = '\n';
    const cvtm_source text = cvtm_source_open(path, rest, rest_size, error);
    memcpy(both + node_size + 1, text.data, text.size);
    *bytes = both;
    *size = node_size + 1 + text.size;
  }
  free(beside);
  free(nodes);
  free(rest);
  return status;
}

/* Nonzero for a .poly file without vertices, which refers to a .node file. */
static int refers_to_nodes(const unsigned char *bytes, size_t size) {
  cvtm_source source = cvtm_source_open("", bytes, size, NULL);
  cvtm_token count;
  source.comment = '#';
  return cvtm_source_token(&source, &count) && cvtm_token_is(count, "0");
}

/* Nonzero if the file, on disk or in memory, is complete and has no vertices. */
static int has_no_nodes(const char *path) {
  struct stat found;
  unsigned char *bytes = NULL;
  size_t size = 0;
  if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
    return 0; /* a pipe can be read only once */
  const int has_none = cvtm_file_read(path, (size_t)1 << 31, &bytes, &size, NULL) == CVTM_OK &&
                       refers_to_nodes(bytes, size);
  free(bytes);
  return has_none;
}

static cvtm_status load_poly(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                             cvtm_error *error) {
  const cvtm_status status = cvtm_file_read(path, limit, bytes, size, error);
  if (status != CVTM_OK || !refers_to_nodes(*bytes, *size)) return status;
  free(*bytes);
  return read_pair(path, limit, bytes, size, error);
}

/* ---- Rings of a .poly file ---- */

/* The boundary in a .poly file of Shewchuk's Triangle: vertices and segments. The even-odd rule
 * decides what is inside, so the points in holes are not needed. */

typedef struct segments {
  cvtm_source *source;
  int64_t count;
  int32_t *end;    /* 2 per segment */
  int64_t *start;  /* per vertex and one more: its first entry in `beside` */
  int64_t *beside; /* the ends of segments, 2 per segment, by vertex */
  uint8_t *used;   /* per segment */
} segments;

/* Reads the ends of segments, and leaves out segments with equal ends, as Triangle does. */
static void read_ends(cvtm_source *s, const cvtm_triangle_vertices *vertices, int64_t markers,
                      int64_t *count, int32_t *end, int32_t *marker) {
  const int64_t listed = *count;
  *count = 0;
  for (int64_t k = 0; k < listed && cvtm_source_is_good(s); ++k) {
    double value[4] = {0, 0, 0, 0};
    for (int64_t c = 0; c < 3 + markers; ++c) value[c] = next_number(s);
    for (int c = 0; c < 2; ++c) {
      const double v = value[c + 1] - vertices->first;
      const int exists = v >= 0 && v < (double)vertices->count && v == (double)(int64_t)v;
      if (!exists) cvtm_source_fail(s, "a segment refers to a vertex that does not exist");
      end[2 * *count + c] = exists ? (int32_t)v : 0;
    }
    const int is_integer = fabs(value[3]) <= INT32_MAX && value[3] == (double)(int32_t)value[3];
    if (!is_integer) cvtm_source_fail(s, "the marker of a segment is not an integer of 32 bits");
    marker[*count] = is_integer ? (int32_t)value[3] : 0;
    if (end[2 * *count] != end[2 * *count + 1]) ++*count;
  }
  s->skipped = listed - *count;
}

static void list_segments(segments *g, const cvtm_triangle_vertices *vertices) {
  cvtm_list_by_key(g->end, 2 * g->count, vertices->count, g->start, g->beside);
  for (int64_t v = 0; v < vertices->count; ++v) {
    const int64_t count = g->start[v + 1] - g->start[v];
    if (count % 2 != 0)
      cvtm_source_fail(g->source,
                       "the segments do not form closed rings: the number of segments at vertex "
                       "%" PRId64 " has %" PRId64,
                       v + (int64_t)vertices->first, count);
  }
}

/* Returns an unused segment at vertex v; -1: none. */
static int64_t next_segment(const segments *g, int32_t v) {
  for (int64_t k = g->start[v]; k < g->start[v + 1]; ++k)
    if (!g->used[g->beside[k] / 2]) return g->beside[k] / 2;
  return -1;
}

/* Walks from `first` along unused segments until no unused segment starts at the current vertex. */
static void walk_rings(segments *g, int32_t first, const double *points, cvtm_ring_collector *c) {
  int64_t segment;
  int32_t v = first;
  while ((segment = next_segment(g, v)) >= 0) {
    cvtm_ring_add_point(c, points[2 * (int64_t)v], points[2 * (int64_t)v + 1]);
    const int32_t *end = g->end + 2 * segment;
    g->used[segment] = 1;
    v = end[0] == v ? end[1] : end[0];
  }
  cvtm_ring_close(c);
}

static void find_rings(segments *g, const cvtm_triangle_vertices *vertices,
                       cvtm_ring_collector *c) {
  const size_t segment_count = (size_t)g->count;
  cvtm_scratch memory = {0};
  g->start = cvtm_scratch_zeros(&memory, (size_t)vertices->count + 2, sizeof *g->start);
  g->beside = cvtm_scratch_take(&memory, segment_count, 2 * sizeof *g->beside);
  g->used = cvtm_scratch_zeros(&memory, segment_count, 1);
  if (memory.failed)
    cvtm_source_no_memory(g->source);
  else
    list_segments(g, vertices);
  for (int64_t k = 0; k < g->count && cvtm_source_is_good(g->source); ++k)
    if (!g->used[k]) walk_rings(g, g->end[2 * k], vertices->points, c);
  cvtm_scratch_free(&memory);
}

/* Counts the numbers on the next line that is not empty. */
static int count_on_line(cvtm_source s) {
  cvtm_token token;
  int count = 0;
  if (!cvtm_source_token(&s, &token)) return 0;
  do ++count;
  while (cvtm_source_line_token(&s, &token));
  return count;
}

static void read_segments(cvtm_source *s, const cvtm_triangle_vertices *vertices, int32_t **ends,
                          int32_t **marker, int64_t *count) {
  *count = read_count(s, 0, INT32_MAX / 2, "number of segments");
  const int64_t markers = read_count(s, 0, 1, "markers");
  if ((uint64_t)*count > s->size)
    cvtm_source_fail(s, "the header claims more segments than the file can hold");
  if (!cvtm_source_is_good(s)) return;
  *ends = malloc(2 * ((size_t)*count + 1) * sizeof **ends);
  *marker = malloc(((size_t)*count + 1) * sizeof **marker);
  if (*ends == NULL || *marker == NULL) cvtm_source_no_memory(s);
  read_ends(s, vertices, markers, count, *ends, *marker);
}

void cvtm_triangle_read_graph(cvtm_source *s, cvtm_triangle_vertices *vertices, int32_t **ends,
                              int32_t **marker, int64_t *count) {
  cvtm_triangle_vertices none;
  *ends = *marker = NULL;
  cvtm_triangle_read_vertices(s, vertices);
  /* after the vertices of a .node file, skip the empty vertex list of the .poly file */
  if (count_on_line(*s) > 2) {
    cvtm_triangle_read_vertices(s, &none);
    if (none.count > 0) cvtm_source_fail(s, "vertices are listed twice");
    cvtm_triangle_vertices_free(&none);
  }
  read_segments(s, vertices, ends, marker, count);
}

static cvtm_status read_polygons(cvtm_source *s, cvtm_ring_collector *c) {
  cvtm_triangle_vertices vertices;
  segments g = {.source = s};
  int32_t *marker;
  cvtm_triangle_read_graph(s, &vertices, &g.end, &marker, &g.count);
  if (cvtm_source_is_good(s)) find_rings(&g, &vertices, c);
  free(g.end);
  free(marker);
  cvtm_triangle_vertices_free(&vertices);
  return s->status;
}

/* ---- Points of a .node file ---- */

static cvtm_status read_points(cvtm_source *source, cvtm_point_list *list) {
  cvtm_triangle_vertices found;
  cvtm_triangle_read_vertices(source, &found);
  free(found.marker);
  free(found.attributes);
  *list = (cvtm_point_list){.y_up = 1, .count = found.count, .points = found.points};
  return source->status;
}

const cvtm_format cvtm_format_node = {
    .extension = "node",
    .help = "Triangle: vertices, with boundary markers",
    .manual =
        "Markers are the tags of boundary groups, as in MSH, then those of named points. A .poly "
        "file that is meshed gives its "
        "markers and attributes, linear between its vertices, and numbers from 0 or 1.",
    .properties = CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES | CVTM_USES_SETS,
    .write_mesh = write_node,
    .read_points = read_points};
const cvtm_format cvtm_format_ele = {
    .extension = "ele",
    .help = "Triangle: triangles; the vertices are in the .node file",
    .manual =
        "Attributes are the numbers of regions, or those that a .poly file gives them (0: none).",
    .properties = CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER,
    .write_mesh = write_ele,
    .read_mesh = read_ele,
    .read_beside = node_ending,
    .load = read_pair};
const cvtm_format cvtm_format_poly = {
    .extension = "poly",
    .help = "Triangle: the boundary of a --domain",
    .manual = "It has a point in each hole and in each part of a region.",
    .properties = CVTM_HOLDS_REGIONS | CVTM_USES_SETS | CVTM_NEEDS_GROUPS,
    .write_mesh = write_poly,
    .read_polygons = read_polygons,
    .read_beside = node_ending,
    .reads_beside = has_no_nodes,
    .load = load_poly};
