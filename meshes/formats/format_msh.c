/* Gmsh MSH 4.1 and 2.2, text or binary. The curves and regions of a mesh become entities, its named
 * groups become physical groups. https://gmsh.info/doc/texinfo/gmsh.html#MSH-file-format */
#include "base/host.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

/* Element types. */
enum { LINE = 1, TRIANGLE = 2, LINE_OF_3 = 8, TRIANGLE_OF_6 = 9, POINT = 15 };

typedef struct node_tag {
  double tag;
  int32_t vertex;
} node_tag;

/* The tags of the nodes in a file. Vertices are numbered from 0 in the order of the file. */
typedef struct node_tags {
  node_tag *list; /* sorted by tag after sort_tags */
  int64_t count, capacity;
  int consecutive; /* nonzero: the tag of vertex k is that of vertex 0, plus k */
} node_tags;

static void add_tag(node_tags *tags, cvtm_source *source, int64_t tag) {
  if (tags->count == INT32_MAX) {
    cvtm_source_fail(source, "too many nodes");
  } else if (!cvtm_grow(&tags->list, sizeof *tags->list, &tags->capacity, tags->count + 1)) {
    cvtm_source_no_memory(source);
  } else {
    tags->list[tags->count] = (node_tag){(double)tag, (int32_t)tags->count};
    ++tags->count;
  }
}

/* Sorts the nodes by tag. Fails if two nodes have the same tag. */
static void sort_tags(node_tags *tags, cvtm_source *source) {
  int increasing = 1;
  tags->consecutive = 1;
  for (int64_t i = 1; i < tags->count; ++i) {
    increasing &= tags->list[i - 1].tag < tags->list[i].tag;
    tags->consecutive &= tags->list[i].tag - tags->list[0].tag == (double)i;
  }
  if (increasing) return;
  qsort(tags->list, (size_t)tags->count, sizeof *tags->list, cvtm_compare_doubles);
  for (int64_t i = 1; i < tags->count; ++i)
    if (tags->list[i - 1].tag == tags->list[i].tag)
      cvtm_source_fail(source, "two nodes have the same tag");
}

/* Finds the vertex with a tag among sorted tags; -1: none. */
static double vertex_of_tag(const node_tags *tags, double tag) {
  if (tags->count == 0) return -1;
  const double guess = tag - tags->list[0].tag; /* tags are mostly consecutive */
  if (tags->consecutive)
    return guess >= 0 && guess < (double)tags->count && guess == trunc(guess) ? guess : -1;
  if (guess >= 0 && guess < (double)tags->count && tags->list[(int64_t)guess].tag == tag)
    return tags->list[(int64_t)guess].vertex;
  const node_tag wanted = {tag, 0};
  const node_tag *found =
      bsearch(&wanted, tags->list, (size_t)tags->count, sizeof wanted, cvtm_compare_doubles);
  return found != NULL ? found->vertex : -1;
}

typedef struct reader {
  cvtm_source *source;
  cvtm_builder *builder;
  int binary;
  int old; /* nonzero: version 2 */
  node_tags nodes;
  int sorted, elements_seen;
} reader;

static int is_good(const reader *r) { return cvtm_source_is_good(r->source); }

static void read_place(reader *r) {
  double place[3];
  for (int k = 0; k < 3; ++k) place[k] = cvtm_source_value(r->source, CVTM_F64);
  cvtm_builder_vertices(r->builder, place, 1);
}

static int64_t read_count(reader *r, const char *what) {
  return cvtm_source_integer(r->source, CVTM_U64, 0, (int64_t)1 << 53, what);
}

static int64_t read_int(reader *r, int64_t low, int64_t high, const char *what) {
  return cvtm_source_integer(r->source, CVTM_I32, low, high, what);
}

static void skip_numbers(reader *r, int64_t count) {
  for (int64_t k = 0; k < count && is_good(r); ++k) (void)cvtm_source_value(r->source, CVTM_F64);
}

/* Reads the dimension of an entity, and skips its tag. */
static int64_t read_entity(reader *r) {
  const int64_t dimension = read_int(r, 0, 3, "dimension");
  (void)read_int(r, INT32_MIN, INT32_MAX, "entity");
  return dimension;
}

/* The header of a block: the dimension of the entity, the type of elements or whether nodes have
 * parameters, and the number of items. */
typedef struct block_head {
  int64_t dimension, type, count;
} block_head;

static block_head read_block(reader *r) {
  block_head head;
  head.dimension = read_entity(r);
  head.type = read_int(r, 0, INT32_MAX, "type");
  head.count = read_count(r, "count");
  return head;
}

static void read_node_block(reader *r) {
  const block_head head = read_block(r);
  for (int64_t i = 0; i < head.count && is_good(r); ++i)
    add_tag(&r->nodes, r->source, read_count(r, "node tag"));
  for (int64_t i = 0; i < head.count && is_good(r); ++i) {
    read_place(r);
    if (head.type != 0) skip_numbers(r, head.dimension);
  }
}

/* Reads the header of a section: number of blocks, number of items, smallest and largest tag. */
static int64_t read_summary(reader *r) {
  const int64_t blocks = read_count(r, "number of blocks");
  for (int k = 0; k < 3; ++k) (void)read_count(r, "count");
  return blocks;
}

static void read_nodes(reader *r) {
  const int64_t blocks = read_summary(r);
  for (int64_t k = 0; k < blocks && is_good(r); ++k) read_node_block(r);
}

/* Reads the number of nodes or elements, which in version 2 is text even in a binary file. */
static int64_t read_count_2(reader *r, const char *what) {
  r->source->binary = 0;
  const int64_t count = read_count(r, what);
  r->source->binary = r->binary;
  if (r->binary && is_good(r)) cvtm_source_end_line(r->source);
  return count;
}

/* Reads the tag of a node or an element. */
static int64_t read_tag(reader *r, const char *what) {
  return r->old ? read_int(r, 0, INT32_MAX, what) : read_count(r, what);
}

/* In $ParametricNodes the dimension and tag of an entity follow the coordinates of each node, then
 * its parameters on a curve or surface. */
static void read_nodes_2(reader *r, int is_parametric) {
  const int64_t count = read_count_2(r, "number of nodes");
  for (int64_t i = 0; i < count && is_good(r); ++i) {
    add_tag(&r->nodes, r->source, read_tag(r, "node tag"));
    read_place(r);
    const int64_t dimension = is_parametric ? read_entity(r) : 0;
    skip_numbers(r, dimension < 3 ? dimension : 0);
  }
}

/* The number of nodes of an element; 0 for types that a planar triangle mesh cannot have. */
static int node_count_of(int64_t type) {
  return type == POINT           ? 1
         : type == LINE          ? 2
         : type == LINE_OF_3     ? 3
         : type == TRIANGLE      ? 3
         : type == TRIANGLE_OF_6 ? 6
                                 : 0;
}

/* Reads the nodes of an element; keeps triangles, and skips points and lines. */
static void read_element_nodes(reader *r, int64_t type) {
  const int count = node_count_of(type);
  double index[6] = {0};
  if (count == 0)
    cvtm_source_fail(r->source, "an element of type %" PRId64 " is not a triangle", type);
  for (int k = 0; k < count; ++k)
    index[k] = vertex_of_tag(&r->nodes, (double)read_tag(r, "node tag"));
  if (type == TRIANGLE || type == TRIANGLE_OF_6) cvtm_builder_triangle(r->builder, index, count);
}

static void read_elements(reader *r) {
  const int64_t blocks = read_summary(r);
  for (int64_t k = 0; k < blocks && is_good(r); ++k) {
    const block_head head = read_block(r);
    for (int64_t i = 0; i < head.count && is_good(r); ++i) {
      (void)read_count(r, "element tag");
      read_element_nodes(r, head.type);
    }
  }
}

/* Reads the elements. In a binary file elements of one type share a header. */
static void read_elements_2(reader *r) {
  const int64_t count = read_count_2(r, "number of elements");
  for (int64_t i = 0, alike = 1; i < count && is_good(r); i += alike) {
    if (!r->binary) (void)read_tag(r, "element tag");
    const int64_t type = read_int(r, 0, INT32_MAX, "type");
    if (r->binary) alike = read_int(r, 1, count - i, "number of elements");
    const int64_t tags = read_int(r, 0, INT32_MAX, "number of tags");
    for (int64_t k = 0; k < alike && is_good(r); ++k) {
      if (r->binary) (void)read_tag(r, "element tag");
      for (int64_t t = 0; t < tags && is_good(r); ++t)
        (void)read_int(r, INT32_MIN, INT32_MAX, "tag");
      read_element_nodes(r, type);
    }
  }
}

static void read_format(reader *r) {
  cvtm_source *s = r->source;
  cvtm_token version = {"", 0};
  cvtm_source_expect(s, "$MeshFormat");
  if (!cvtm_source_token(s, &version)) cvtm_source_fail(s, "no version");
  r->old = cvtm_token_is(version, "2.2") || cvtm_token_is(version, "2");
  if (!r->old && !cvtm_token_is(version, "4.1"))
    cvtm_source_fail(s, "only versions 4.1 and 2.2 are supported");
  r->binary = (int)read_int(r, 0, 1, "file type");
  const int64_t size = read_count(r, "data size");
  if (r->binary && size != 8) cvtm_source_fail(s, "the data size of a binary file must be 8");
  if (r->binary && is_good(r)) {
    cvtm_source_end_line(s);
    s->offsets = 1;
    s->binary = 1;
    const double one = cvtm_source_value(s, CVTM_I32);
    s->binary = 0;
    s->big = one != 1;
    if (one != 1 && one != 16777216) cvtm_source_fail(s, "unknown byte order");
  }
  cvtm_source_expect(s, "$EndMeshFormat");
}

/* Skips a section to after `$EndName`, which starts a line or directly follows binary data. */
static void skip_section(cvtm_source *s, cvtm_token name) {
  char end[64];
  int length = snprintf(end, sizeof end, "$End%.*s", (int)name.length - 1, name.text + 1);
  if (length < 0 || (size_t)length >= sizeof end) cvtm_source_fail(s, "unknown section");
  while (cvtm_source_is_good(s)) {
    const unsigned char *mark = memchr(s->data + s->at, '$', s->size - s->at);
    if (mark == NULL) {
      cvtm_source_fail(s, "a section does not end");
      return;
    }
    for (; s->data + s->at < mark; ++s->at) s->line += s->data[s->at] == '\n';
    size_t rest = s->size - s->at;
    if (rest >= (size_t)length && memcmp(mark, end, (size_t)length) == 0 &&
        (rest == (size_t)length || mark[length] == '\n' || mark[length] == '\r')) {
      s->at += (size_t)length;
      return;
    }
    ++s->at;
  }
}

/* Reads the name of a field from the next line that is not empty, without quotes. */
static cvtm_token read_name(cvtm_source *s) {
  cvtm_source_end_line(s);
  size_t first = s->at;
  while (s->at < s->size && s->data[s->at] != '\n') ++s->at;
  size_t end = s->at;
  while (end > first && s->data[end - 1] <= ' ') --end;
  while (first < end && s->data[first] <= ' ') ++first;
  if (end - first >= 2 && s->data[first] == '"' && s->data[end - 1] == '"') {
    ++first;
    --end;
  }
  return (cvtm_token){(const char *)s->data + first, end - first};
}

/* Reads the header of data: names, real numbers, and integers, which include the numbers of
 * components and nodes. Returns the first name. */
static cvtm_token read_data_header(reader *r, int64_t integer[3]) {
  cvtm_source *s = r->source;
  cvtm_token name = {"", 0};
  const int64_t names = read_count(r, "number of names");
  for (int64_t k = 0; k < names && k < 64; ++k) {
    const cvtm_token found = read_name(s);
    if (k == 0) name = found;
  }
  skip_numbers(r, read_count(r, "number of times"));
  const int64_t integers = read_count(r, "number of integers");
  if (integers < 3)
    cvtm_source_fail(s, "a section $NodeData or $ElementData without its number of values");
  for (int64_t k = 0; k < integers && is_good(r); ++k) {
    const int64_t value = read_int(r, 0, INT32_MAX, "integer");
    if (k < 3) integer[k] = value;
  }
  return name;
}

/* Reads the values of the wanted field; skips other data. */
static void read_node_data(reader *r, cvtm_token section) {
  cvtm_source *s = r->source;
  cvtm_builder *b = r->builder;
  int64_t integer[3] = {0, 0, 0};
  const cvtm_token name = read_data_header(r, integer);
  if (integer[1] != 1 || b->values != NULL ||
      (b->field != NULL && (name.length == 0 || !cvtm_token_is(name, b->field)))) {
    skip_section(s, section);
    return;
  }
  if (!r->sorted) cvtm_source_fail(s, "$NodeData before $Nodes");
  b->values = calloc((size_t)b->vertex_count + 1, sizeof *b->values);
  if (b->values == NULL) cvtm_source_no_memory(s);
  cvtm_source_end_line(s);
  s->binary = r->binary;
  for (int64_t k = 0; k < integer[2] && is_good(r); ++k) {
    const int64_t tag = read_int(r, 0, INT32_MAX, "node tag");
    const double value = cvtm_source_value(s, CVTM_F64);
    const double vertex = vertex_of_tag(&r->nodes, (double)tag);
    if (vertex < 0) cvtm_source_fail(s, "data of a node that does not exist");
    if (is_good(r)) b->values[(int64_t)vertex] = value;
  }
  s->binary = 0;
  cvtm_source_expect(s, "$EndNodeData");
}

static void read_section(reader *r, cvtm_token name) {
  cvtm_source *s = r->source;
  const int is_parametric = r->old && cvtm_token_is(name, "$ParametricNodes");
  const int is_nodes = is_parametric || cvtm_token_is(name, "$Nodes");
  cvtm_source_end_line(s);
  s->binary = r->binary;
  if (is_nodes) {
    if (r->nodes.count > 0) cvtm_source_fail(s, "$Nodes appears twice");
    if (r->old)
      read_nodes_2(r, is_parametric);
    else
      read_nodes(r);
    sort_tags(&r->nodes, s);
    r->sorted = 1;
  } else {
    if (!r->sorted || r->elements_seen)
      cvtm_source_fail(s, "$Elements appears twice or before $Nodes");
    r->elements_seen = 1;
    if (r->old)
      read_elements_2(r);
    else
      read_elements(r);
  }
  s->binary = 0;
  cvtm_source_expect(s, is_parametric ? "$EndParametricNodes"
                        : is_nodes    ? "$EndNodes"
                                      : "$EndElements");
}

static cvtm_status read_msh(cvtm_source *s, cvtm_builder *b) {
  reader r = {.source = s, .builder = b};
  cvtm_token name;
  read_format(&r);
  while (cvtm_source_token(s, &name)) {
    if (name.text[0] != '$')
      cvtm_source_fail(s, "expected a section");
    else if (b->wants_field && cvtm_token_is(name, "$NodeData"))
      read_node_data(&r, name);
    else if (cvtm_token_is(name, "$Nodes") || cvtm_token_is(name, "$Elements") ||
             (r.old && cvtm_token_is(name, "$ParametricNodes")))
      read_section(&r, name);
    else
      skip_section(s, name);
  }
  if (!r.elements_seen) cvtm_source_fail(s, "no $Elements");
  free(r.nodes.list);
  return s->status;
}

/* ---- Writing ---- */

/* ---- single numbers ---- */

/* A line of numbers, as text or as bytes. */
typedef struct line {
  FILE *file;
  int binary, filled; /* filled: number of numbers in the line of text so far */
} line;

static void put_bytes(const line *l, cvtm_scalar type, double value) {
  unsigned char bytes[8];
  cvtm_scalar_pack(type, 0, value, bytes);
  fwrite(bytes, 1, cvtm_scalar_size(type), l->file);
}

static void put_integer(line *l, cvtm_scalar type, int64_t value) {
  if (l->binary)
    put_bytes(l, type, (double)value);
  else
    fprintf(l->file, "%s%" PRId64, l->filled++ > 0 ? " " : "", value);
}

static void end_line(line *l) {
  if (!l->binary) fputc('\n', l->file);
  l->filled = 0;
}

static void put_int(line *l, int64_t value) { put_integer(l, CVTM_I32, value); }
static void put_size(line *l, int64_t value) { put_integer(l, CVTM_U64, value); }

static void put_sizes(line *l, int count, const int64_t *values) {
  for (int k = 0; k < count; ++k) put_size(l, values[k]);
  end_line(l);
}

static void put_real(line *l, double value) {
  if (l->binary) {
    put_bytes(l, CVTM_F64, value);
  } else {
    if (l->filled++ > 0) fputc(' ', l->file);
    cvtm_put_number(l->file, value);
  }
}

static void end_section(line *l, const char *name) {
  if (l->binary) fputc('\n', l->file);
  fprintf(l->file, "$End%s\n", name);
}

/* ---- runs of one entity ---- */

/* The elements of an entity, triangles or edges first .. end - 1, and its tag. */
typedef struct run {
  int64_t first, end;
  int32_t tag;
} run;

/* The run of equal tags that begins at `first` among count items; tags NULL: all tags are 1. */
static run find_run(const int32_t *tags, int64_t first, int64_t count) {
  run r = {first, count, tags != NULL ? tags[first] : 1};
  for (int64_t k = first; tags != NULL && k < count; ++k) {
    if (tags[k] == r.tag) continue;
    r.end = k;
    break;
  }
  return r;
}

static const int32_t *surface_tags(const cvtm_file_mesh *m) {
  return m->regions != NULL ? m->regions->region : NULL;
}

static const int32_t *curve_tags(const cvtm_file_mesh *m) {
  return m->regions != NULL ? m->regions->curve : NULL;
}

static int64_t edge_count(const cvtm_file_mesh *m) {
  return m->regions != NULL ? m->regions->edge_count : 0;
}

static int64_t point_count(const cvtm_file_mesh *m) {
  return m->regions != NULL ? m->regions->point_count : 0;
}

static int64_t count_runs(const int32_t *tags, int64_t count) {
  int64_t runs = 0;
  for (int64_t k = 0; k < count; k = find_run(tags, k, count).end) ++runs;
  return runs;
}

/* The tag of the physical group of an edge. */
static int32_t line_group(const cvtm_file_mesh *m, int64_t edge) {
  return m->regions->group != NULL ? m->regions->group[edge] : m->regions->curve[edge];
}

/* ---- sections before the nodes ---- */

static void write_physical_names(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  if (r == NULL || r->group == NULL) {
    if (r == NULL && m->triangle_count > 0)
      fputs("$PhysicalNames\n1\n2 1 \"region-1\"\n$EndPhysicalNames\n", file);
    return;
  }
  fprintf(file, "$PhysicalNames\n%" PRId64 "\n",
          (int64_t)r->point_group_count + r->line_group_count + r->area_group_count);
  for (int32_t k = 0; k < r->point_group_count; ++k)
    fprintf(file, "0 %" PRId32 " \"%s\"\n", r->point_groups[k].tag, r->point_groups[k].name);
  for (int32_t k = 0; k < r->line_group_count; ++k)
    fprintf(file, "1 %" PRId32 " \"%s\"\n", r->line_groups[k].tag, r->line_groups[k].name);
  for (int32_t k = 0; k < r->area_group_count; ++k)
    fprintf(file, "2 %" PRId32 " \"%s\"\n", r->area_groups[k].tag, r->area_groups[k].name);
  fputs("$EndPhysicalNames\n", file);
}

/* Writes the bounding box of the vertices in a list of corners; NULL: of all vertices. */
static void put_box(line *l, const cvtm_file_mesh *m, const int32_t *corners, int64_t count) {
  double low[2] = {0, 0}, high[2] = {0, 0};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = corners != NULL ? corners[i] : i;
    for (int k = 0; k < 2; ++k) {
      const double x = m->points[2 * v + k];
      if (i == 0 || x < low[k]) low[k] = x;
      if (i == 0 || x > high[k]) high[k] = x;
    }
  }
  const double *const end[2] = {low, high};
  for (int k = 0; k < 2; ++k) {
    put_real(l, end[k][0]);
    put_real(l, end[k][1]);
    put_real(l, 0);
  }
}

/* Each vertex of a point group is an entity. */
static void put_points(line *l, const cvtm_file_mesh *m) {
  for (int64_t k = 0; k < point_count(m); ++k) {
    const int32_t *point = m->regions->points + 2 * k;
    put_int(l, k + 1);
    put_real(l, m->points[2 * (int64_t)point[0]]);
    put_real(l, m->points[2 * (int64_t)point[0] + 1]);
    put_real(l, 0);
    put_size(l, 1);
    put_int(l, point[1]);
    end_line(l);
  }
}

static void put_curves(line *l, const cvtm_file_mesh *m) {
  const int64_t edges = edge_count(m);
  for (int64_t e = 0; e < edges;) {
    const run curve = find_run(curve_tags(m), e, edges);
    put_int(l, curve.tag);
    put_box(l, m, m->regions->edges + 2 * e, 2 * (curve.end - e));
    put_size(l, 1);
    put_int(l, line_group(m, e));
    put_size(l, 0);
    end_line(l);
    e = curve.end;
  }
}

/* Writes the curves around a region; a curve with the region on its right has a minus sign. */
static void put_bounding_curves(line *l, const cvtm_regions *r, int32_t region) {
  int64_t count = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t e = 0; e < r->edge_count; e = find_run(r->curve, e, r->edge_count).end) {
      if (r->left[e] != region && r->right[e] != region) continue;
      if (pass == 0) ++count;
      if (pass == 1) put_int(l, r->left[e] == region ? r->curve[e] : -r->curve[e]);
    }
    if (pass == 0) put_size(l, count);
  }
}

/* Writes the entities. Each region is a surface; a mesh without regions is one surface. */
static void write_entities(FILE *file, const cvtm_file_mesh *m) {
  line l = {file, m->binary, 0};
  const int64_t curves = m->regions != NULL ? m->regions->curve_count : 0;
  const int64_t surfaces = m->regions != NULL ? count_runs(surface_tags(m), m->triangle_count) : 1;
  fputs("$Entities\n", file);
  put_sizes(&l, 4, (const int64_t[]){point_count(m), curves, surfaces, 0});
  put_points(&l, m);
  put_curves(&l, m);
  if (m->regions == NULL) {
    put_int(&l, 1);
    put_box(&l, m, NULL, m->vertex_count);
    put_size(&l, m->triangle_count > 0);
    if (m->triangle_count > 0) put_int(&l, 1);
    put_size(&l, 0);
    end_line(&l);
  }
  for (int64_t t = 0; m->regions != NULL && t < m->triangle_count;) {
    const run triangles = find_run(surface_tags(m), t, m->triangle_count);
    put_int(&l, triangles.tag);
    put_box(&l, m, m->triangles + 3 * t, 3 * (triangles.end - t));
    put_size(&l, 1);
    put_int(&l, triangles.tag);
    put_bounding_curves(&l, m->regions, triangles.tag);
    end_line(&l);
    t = triangles.end;
  }
  end_section(&l, "Entities");
}

/* ---- nodes ---- */

static char *tag_item(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_value(to, !m->binary, CVTM_U64, 0, (double)(i + 1), '\n');
}

static char *place_item(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_value(to, !m->binary, CVTM_F64, 0, m->points[2 * i], ' ');
  to = cvtm_text_value(to, !m->binary, CVTM_F64, 0, m->points[2 * i + 1], ' ');
  return cvtm_text_value(to, !m->binary, CVTM_F64, 0, 0, '\n');
}

static void write_nodes(FILE *file, const cvtm_file_mesh *m) {
  line l = {file, m->binary, 0};
  const int64_t n = m->node_count;
  fputs("$Nodes\n", file);
  put_sizes(&l, 4, (const int64_t[]){1, n, 1, n});
  put_int(&l, 2);
  put_int(&l, m->triangle_count > 0 && m->regions != NULL ? m->regions->region[0] : 1);
  put_int(&l, 0);
  put_size(&l, n);
  end_line(&l);
  cvtm_write_items(file, n, CVTM_TEXT_INTEGER + 1, tag_item, m);
  cvtm_write_items(file, n, CVTM_TEXT_POINT + 3, place_item, m);
  end_section(&l, "Nodes");
}

static char *node_item_2(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_value(to, !m->binary, CVTM_I32, 0, (double)(i + 1), ' ');
  return place_item(to, context, i);
}

static void write_nodes_2(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "$Nodes\n%" PRId64 "\n", m->node_count);
  cvtm_write_items(file, m->node_count, CVTM_TEXT_INTEGER + CVTM_TEXT_POINT + 4, node_item_2, m);
  fputs(m->binary ? "\n$EndNodes\n" : "$EndNodes\n", file);
}

/* ---- elements ---- */

/* Elements of one entity and one type. */
typedef struct element_block {
  const cvtm_file_mesh *mesh;
  int dimension;
  run items;
  int64_t tag; /* tag of the element before the first one */
} element_block;

static int element_type(const element_block *block) {
  if (block->dimension == 0) return POINT;
  if (block->mesh->triangle_middle == NULL) return block->dimension == 1 ? LINE : TRIANGLE;
  return block->dimension == 1 ? LINE_OF_3 : TRIANGLE_OF_6;
}

static int element_nodes(const element_block *block, int64_t k, int32_t *node) {
  if (block->dimension == 0) *node = block->mesh->regions->points[2 * block->items.first];
  if (block->dimension == 0) return 1;
  return block->dimension == 1 ? cvtm_edge_nodes(block->mesh, block->items.first + k, node)
                               : cvtm_triangle_nodes(block->mesh, block->items.first + k, node);
}

static char *put_nodes(char *to, const element_block *block, cvtm_scalar type, int64_t k) {
  int32_t node[6];
  const int count = element_nodes(block, k, node);
  for (int c = 0; c < count; ++c)
    to = cvtm_text_value(to, !block->mesh->binary, type, 0, (double)node[c] + 1,
                         c + 1 < count ? ' ' : '\n');
  return to;
}

static char *element_item(char *to, const void *context, int64_t k) {
  const element_block *block = context;
  const double tag = (double)(block->tag + k + 1);
  to = cvtm_text_value(to, !block->mesh->binary, CVTM_U64, 0, tag, ' ');
  return put_nodes(to, block, CVTM_U64, k);
}

static char *element_item_2(char *to, const void *context, int64_t k) {
  const element_block *block = context;
  const cvtm_file_mesh *m = block->mesh;
  const int64_t entity = block->items.tag;
  const int64_t first = block->items.first;
  const int64_t group = block->dimension == 0   ? m->regions->points[2 * first + 1]
                        : block->dimension == 1 ? line_group(m, first)
                                                : entity;
  const int64_t head[5] = {block->tag + k + 1, element_type(block), 2, group, entity};
  for (int c = 0; c < 5; ++c) /* binary blocks have a header with the type and the number of tags */
    if (!m->binary || (c != 1 && c != 2))
      to = cvtm_text_value(to, !m->binary, CVTM_I32, 0, (double)head[c], ' ');
  return put_nodes(to, block, CVTM_I32, k);
}

enum { MOST_ELEMENT_BYTES = 11 * (CVTM_TEXT_INTEGER + 1) };

static void write_block(FILE *file, const element_block *block) {
  line l = {file, block->mesh->binary, 0};
  const int64_t count = block->items.end - block->items.first;
  put_int(&l, block->dimension);
  put_int(&l, block->items.tag);
  put_int(&l, element_type(block));
  put_size(&l, count);
  end_line(&l);
  cvtm_write_items(file, count, MOST_ELEMENT_BYTES, element_item, block);
}

static void write_block_2(FILE *file, const element_block *block) {
  line l = {file, 1, 0};
  const int64_t count = block->items.end - block->items.first;
  if (block->mesh->binary) {
    put_int(&l, element_type(block));
    put_int(&l, count);
    put_int(&l, 2);
  }
  cvtm_write_items(file, count, MOST_ELEMENT_BYTES, element_item_2, block);
}

/* Calls `write` for named points, the edges of every curve and the triangles of every region. */
static void write_blocks(FILE *file, const cvtm_file_mesh *m,
                         void (*write)(FILE *file, const element_block *block)) {
  int64_t tag = 0;
  for (; tag < point_count(m); ++tag) {
    const element_block block = {m, 0, {tag, tag + 1, (int32_t)tag + 1}, tag};
    write(file, &block);
  }
  for (int dimension = 1; dimension <= 2; ++dimension) {
    const int32_t *tags = dimension == 1 ? curve_tags(m) : surface_tags(m);
    const int64_t count = dimension == 1 ? edge_count(m) : m->triangle_count;
    for (int64_t k = 0; k < count;) {
      const element_block block = {m, dimension, find_run(tags, k, count), tag};
      write(file, &block);
      tag += block.items.end - k;
      k = block.items.end;
    }
  }
}

static void write_elements(FILE *file, const cvtm_file_mesh *m) {
  const int64_t triangles = m->triangle_count, edges = edge_count(m), points = point_count(m),
                all = points + edges + triangles;
  line l = {file, m->binary, 0};
  const int64_t blocks = triangles > 0 ? points + count_runs(curve_tags(m), edges) +
                                             count_runs(surface_tags(m), triangles)
                                       : 0;
  fputs("$Elements\n", file);
  put_sizes(&l, 4, (const int64_t[]){blocks, all, all > 0, all});
  if (triangles > 0) write_blocks(file, m, write_block);
  end_section(&l, "Elements");
}

static void write_elements_2(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "$Elements\n%" PRId64 "\n", point_count(m) + edge_count(m) + m->triangle_count);
  write_blocks(file, m, write_block_2);
  fputs(m->binary ? "\n$EndElements\n" : "$EndElements\n", file);
}

/* ---- periodic curves ---- */

static void put_copy(line *l, int64_t copy, int64_t original) {
  put_sizes(l, 2, (const int64_t[]){copy + 1, original + 1});
}

/* Writes the vertices of a curve with their originals, or only counts them if l is NULL.
 * Consecutive edges have a vertex in common. */
static int64_t put_copies(line *l, const cvtm_file_mesh *m, run edges) {
  const cvtm_regions *r = m->regions;
  int64_t count = 0;
  for (int64_t e = edges.first; e < edges.end; ++e) {
    const int32_t *copy = r->edges + 2 * e, *original = r->edges + 2 * (int64_t)r->edge_copy[e];
    for (int k = 0; k < 2; ++k) {
      if (e > edges.first && (copy[k] == copy[-1] || copy[k] == copy[-2])) continue;
      if (l != NULL) put_copy(l, copy[k], original[!k]); /* copies run in opposite directions */
      ++count;
    }
    if (m->edge_middle == NULL) continue;
    if (l != NULL) put_copy(l, m->edge_middle[e], m->edge_middle[r->edge_copy[e]]);
    ++count;
  }
  return count;
}

/* Writes the translation from the original to the copy as a 4 x 4 matrix. */
static void put_translation(line *l, const cvtm_file_mesh *m, int64_t e) {
  const int32_t *edges = m->regions->edges;
  const double *to = m->points + 2 * (int64_t)edges[2 * e];
  const double *from = m->points + 2 * (int64_t)edges[2 * (int64_t)m->regions->edge_copy[e] + 1];
  for (int k = 0; k < 16; ++k) put_real(l, k == 3 || k == 7 ? to[k / 4] - from[k / 4] : k % 5 == 0);
}

static int64_t count_links(const cvtm_file_mesh *m) {
  int64_t links = 0;
  for (int64_t e = 0; e < edge_count(m); e = find_run(curve_tags(m), e, edge_count(m)).end)
    links += m->regions->edge_copy[e] >= 0;
  return links;
}

/* Writes the pairs of periodic curves. In version 2.2 they are text even in binary files. */
static void write_periodic(FILE *file, const cvtm_file_mesh *m) {
  if (m->regions == NULL || m->regions->edge_copy == NULL || count_links(m) == 0) return;
  const int old = m->msh_version == CVTM_MSH_2_2;
  line l = {file, m->binary && !old, 0};
  fputs("$Periodic\n", file);
  put_size(&l, count_links(m));
  end_line(&l);
  for (int64_t e = 0; e < edge_count(m);) {
    const run edges = find_run(curve_tags(m), e, edge_count(m));
    e = edges.end;
    if (m->regions->edge_copy[edges.first] < 0) continue;
    put_int(&l, 1);
    put_int(&l, edges.tag);
    put_int(&l, m->regions->curve[m->regions->edge_copy[edges.first]]);
    end_line(&l);
    if (old) fputs("Affine ", file);
    if (!old) put_size(&l, 16);
    put_translation(&l, m, edges.first);
    end_line(&l);
    put_size(&l, put_copies(NULL, m, edges));
    end_line(&l);
    (void)put_copies(&l, m, edges);
  }
  end_section(&l, "Periodic");
}

/* ---- data and files ---- */

static char *value_item(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  const double value = i < m->vertex_count ? m->value[i] : 0;
  to = cvtm_text_value(to, !m->binary, CVTM_I32, 0, (double)(i + 1), ' ');
  return cvtm_text_value(to, !m->binary, CVTM_F64, 0, value, '\n');
}

static void write_values(FILE *file, const cvtm_file_mesh *m) {
  /* one name, one time, three integers: step, components, number of values */
  fprintf(file, "$NodeData\n1\n\"%s\"\n1\n0\n3\n0\n1\n%" PRId64 "\n", m->value_name, m->node_count);
  cvtm_write_items(file, m->node_count, CVTM_TEXT_INTEGER + CVTM_TEXT_NUMBER + 2, value_item, m);
  fputs(m->binary ? "\n$EndNodeData\n" : "$EndNodeData\n", file);
}

static void write_format(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "$MeshFormat\n%s %d 8\n", m->msh_version == CVTM_MSH_2_2 ? "2.2" : "4.1",
          m->binary);
  if (m->binary) {
    const line l = {file, 1, 0};
    put_bytes(&l, CVTM_I32, 1);
    fputc('\n', file);
  }
  fputs("$EndMeshFormat\n", file);
}

static void write_msh(FILE *file, const cvtm_file_mesh *m) {
  write_format(file, m);
  write_physical_names(file, m);
  if (m->msh_version == CVTM_MSH_2_2) {
    write_nodes_2(file, m);
    write_elements_2(file, m);
  } else {
    write_entities(file, m);
    write_nodes(file, m);
    write_elements(file, m);
  }
  write_periodic(file, m);
  if (m->value != NULL) write_values(file, m);
}

const cvtm_format cvtm_format_msh = {
    .extension = "msh",
    .help = "Gmsh: meshio, FEniCS, scikit-fem, MFEM; physical groups, with names",
    .manual = "Version 4.1, or 2.2 by `--format msh2`, as text or, by `--format binary`, binary.",
    .properties = CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES |
                  CVTM_TEXT_OR_BINARY | CVTM_READS_FIELDS,
    .write_mesh = write_msh,
    .read_mesh = read_msh};
