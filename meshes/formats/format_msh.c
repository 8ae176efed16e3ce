/* Gmsh MSH 4.1 and 2.2, text or binary: reading. The writer is format_msh_write.c.
 * https://gmsh.info/doc/texinfo/gmsh.html#MSH-file-format */
#include "base/grow.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1, TRIANGLE = 2, LINE_OF_3 = 8, TRIANGLE_OF_6 = 9, POINT = 15 };

typedef struct node_tag {
  double tag;
  int32_t vertex;
} node_tag;

/* Numbers that nodes have in the file. Vertices are numbered from 0 as they are added. */
typedef struct node_tags {
  node_tag *list; /* by tag once sorted */
  int64_t count, capacity;
  int consecutive; /* vertex k has the tag of vertex 0 plus k */
} node_tags;

static cvtm_status add_tag(node_tags *tags, cvtm_source *source, double tag) {
  if (!cvtm_grow(&tags->list, sizeof *tags->list, &tags->capacity, tags->count + 1))
    return cvtm_source_no_memory(source);
  if (tags->count == INT32_MAX) return cvtm_source_fail(source, "too many nodes");
  tags->list[tags->count] = (node_tag){tag, (int32_t)tags->count};
  ++tags->count;
  return CVTM_OK;
}

static int compare_tags(const void *a, const void *b) {
  const double p = ((const node_tag *)a)->tag, q = ((const node_tag *)b)->tag;
  return (p > q) - (p < q);
}

/* Fails if two nodes have the same tag. */
static cvtm_status sort_tags(node_tags *tags, cvtm_source *source) {
  int increasing = 1;
  tags->consecutive = 1;
  for (int64_t i = 1; i < tags->count; ++i) {
    increasing &= tags->list[i - 1].tag < tags->list[i].tag;
    tags->consecutive &= tags->list[i].tag - tags->list[0].tag == (double)i;
  }
  if (increasing) return CVTM_OK;
  qsort(tags->list, (size_t)tags->count, sizeof *tags->list, compare_tags);
  for (int64_t i = 1; i < tags->count; ++i) {
    if (tags->list[i - 1].tag == tags->list[i].tag)
      return cvtm_source_fail(source, "two nodes have the same tag");
  }
  return CVTM_OK;
}

/* The vertex of a tag, -1 if there is none; the tags are sorted. */
static double vertex_of_tag(const node_tags *tags, double tag) {
  if (tags->count == 0) return -1;
  const double guess = tag - tags->list[0].tag; /* tags are mostly consecutive */
  if (tags->consecutive)
    return guess >= 0 && guess < (double)tags->count && guess == trunc(guess) ? guess : -1;
  if (guess >= 0 && guess < (double)tags->count && tags->list[(int64_t)guess].tag == tag)
    return tags->list[(int64_t)guess].vertex;
  int64_t low = 0, high = tags->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (tags->list[middle].tag < tag) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < tags->count && tags->list[low].tag == tag ? tags->list[low].vertex : -1;
}

typedef struct reader {
  cvtm_source *source;
  cvtm_builder *builder;
  int binary;
  int old; /* version 2 */
  node_tags nodes;
  int sorted, elements_seen;
} reader;

static cvtm_status read_place(reader *r) {
  double v[3];
  for (int k = 0; k < 3; ++k) {
    cvtm_status status = cvtm_source_value(r->source, CVTM_F64, &v[k]);
    if (status != CVTM_OK) return status;
  }
  return cvtm_builder_vertex(r->builder, v[0], v[1], v[2]);
}

static cvtm_status read_count(reader *r, const char *what, int64_t *size) {
  return cvtm_source_integer(r->source, CVTM_U64, 0, (int64_t)1 << 53, what, size);
}

static cvtm_status read_int(reader *r, int64_t low, int64_t high, const char *what,
                            int64_t *value) {
  return cvtm_source_integer(r->source, CVTM_I32, low, high, what, value);
}

/* Dimension, tag and a third integer of an entity, and the number of its items. */
static cvtm_status read_block(reader *r, int64_t *dimension, int64_t *third, int64_t *count) {
  int64_t tag;
  cvtm_status status = read_int(r, 0, 3, "dimension", dimension);
  if (status == CVTM_OK) status = read_int(r, INT32_MIN, INT32_MAX, "entity", &tag);
  if (status == CVTM_OK) status = read_int(r, 0, INT32_MAX, "type", third);
  if (status == CVTM_OK) status = read_count(r, "count", count);
  return status;
}

static cvtm_status read_node_block(reader *r) {
  int64_t dimension = 0, parametric = 0, count = 0, tag;
  cvtm_status status = read_block(r, &dimension, &parametric, &count);
  for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
    status = read_count(r, "node tag", &tag);
    if (status == CVTM_OK) status = add_tag(&r->nodes, r->source, (double)tag);
  }
  for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
    status = read_place(r);
    for (int64_t k = 0; k < dimension && parametric && status == CVTM_OK; ++k) {
      double ignored;
      status = cvtm_source_value(r->source, CVTM_F64, &ignored);
    }
  }
  return status;
}

/* Blocks, items, smallest and largest tag. */
static cvtm_status read_summary(reader *r, int64_t *blocks) {
  int64_t ignored;
  cvtm_status status = read_count(r, "number of blocks", blocks);
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) status = read_count(r, "count", &ignored);
  return status;
}

static cvtm_status read_nodes(reader *r) {
  int64_t blocks = 0;
  cvtm_status status = read_summary(r, &blocks);
  for (int64_t k = 0; k < blocks && status == CVTM_OK; ++k) status = read_node_block(r);
  return status;
}

/* Version 2 writes the number of nodes or elements as text even in a binary file. */
static cvtm_status read_count_2(reader *r, const char *what, int64_t *count) {
  r->source->binary = 0;
  const cvtm_status status = read_count(r, what, count);
  r->source->binary = r->binary;
  if (status == CVTM_OK && r->binary) cvtm_source_end_line(r->source);
  return status;
}

/* The tag of a node or an element. */
static cvtm_status read_tag(reader *r, const char *what, int64_t *tag) {
  return r->old ? read_int(r, 0, INT32_MAX, what, tag) : read_count(r, what, tag);
}

/* After the place of a node of $ParametricNodes: the dimension and the tag of its entity, and its
 * parameters on a curve or a surface. */
static cvtm_status skip_parameters(reader *r) {
  int64_t dimension = 0, tag;
  cvtm_status status = read_int(r, 0, 3, "dimension", &dimension);
  if (status == CVTM_OK) status = read_int(r, INT32_MIN, INT32_MAX, "entity", &tag);
  for (int64_t k = 0; k < dimension && dimension < 3 && status == CVTM_OK; ++k) {
    double ignored;
    status = cvtm_source_value(r->source, CVTM_F64, &ignored);
  }
  return status;
}

static cvtm_status read_nodes_2(reader *r, int is_parametric) {
  int64_t count = 0, tag;
  cvtm_status status = read_count_2(r, "number of nodes", &count);
  for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
    status = read_tag(r, "node tag", &tag);
    if (status == CVTM_OK) status = add_tag(&r->nodes, r->source, (double)tag);
    if (status == CVTM_OK) status = read_place(r);
    if (status == CVTM_OK && is_parametric) status = skip_parameters(r);
  }
  return status;
}

/* The number of nodes of an element; 0: it is none of a planar mesh of triangles. */
static int node_count_of(int64_t type) {
  return type == POINT           ? 1
         : type == LINE          ? 2
         : type == LINE_OF_3     ? 3
         : type == TRIANGLE      ? 3
         : type == TRIANGLE_OF_6 ? 6
                                 : 0;
}

/* The nodes of an element: the corners of a triangle are kept, points and lines are skipped. */
static cvtm_status read_element_nodes(reader *r, int64_t type) {
  const int count = node_count_of(type);
  double index[6];
  if (count == 0) {
    return cvtm_source_fail(r->source, "an element of type %" PRId64 " is not a triangle", type);
  }
  for (int k = 0; k < count; ++k) {
    int64_t tag;
    cvtm_status status = read_tag(r, "node tag", &tag);
    if (status != CVTM_OK) return status;
    index[k] = vertex_of_tag(&r->nodes, (double)tag);
  }
  if (type != TRIANGLE && type != TRIANGLE_OF_6) return CVTM_OK;
  cvtm_status status = cvtm_builder_triangle(r->builder, index);
  for (int k = 3; k < count && status == CVTM_OK; ++k)
    status = cvtm_builder_middle(r->builder, index[k]);
  return status;
}

static cvtm_status read_elements(reader *r) {
  int64_t blocks = 0;
  cvtm_status status = read_summary(r, &blocks);
  for (int64_t k = 0; k < blocks && status == CVTM_OK; ++k) {
    int64_t dimension = 0, type = 0, count = 0, tag;
    status = read_block(r, &dimension, &type, &count);
    for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
      status = read_count(r, "element tag", &tag);
      if (status == CVTM_OK) status = read_element_nodes(r, type);
    }
  }
  return status;
}

/* Reads the integers of one element after its type: `tags` of them, and its nodes. */
static cvtm_status read_element_2(reader *r, int64_t type, int64_t tags) {
  cvtm_status status = CVTM_OK;
  for (int64_t k = 0, ignored; k < tags && status == CVTM_OK; ++k)
    status = read_int(r, INT32_MIN, INT32_MAX, "tag", &ignored);
  return status == CVTM_OK ? read_element_nodes(r, type) : status;
}

/* In a binary file elements of one type share a header. */
static cvtm_status read_elements_2(reader *r) {
  int64_t count = 0;
  cvtm_status status = read_count_2(r, "number of elements", &count);
  for (int64_t i = 0; i < count && status == CVTM_OK;) {
    int64_t tag = 0, type = 0, tags = 0, alike = 1;
    if (!r->binary) status = read_tag(r, "element tag", &tag);
    if (status == CVTM_OK) status = read_int(r, 0, INT32_MAX, "type", &type);
    if (status == CVTM_OK && r->binary)
      status = read_int(r, 1, count - i, "number of elements", &alike);
    if (status == CVTM_OK) status = read_int(r, 0, INT32_MAX, "number of tags", &tags);
    for (int64_t k = 0; k < alike && status == CVTM_OK; ++k) {
      if (r->binary) status = read_tag(r, "element tag", &tag);
      if (status == CVTM_OK) status = read_element_2(r, type, tags);
    }
    i += alike;
  }
  return status;
}

static cvtm_status read_format(reader *r) {
  cvtm_source *s = r->source;
  cvtm_token version;
  int64_t binary, size;
  cvtm_status status = cvtm_source_expect(s, "$MeshFormat");
  if (status != CVTM_OK) return status;
  if (!cvtm_source_token(s, &version)) return cvtm_source_fail(s, "no version");
  r->old = cvtm_token_is(version, "2.2") || cvtm_token_is(version, "2");
  if (!r->old && !cvtm_token_is(version, "4.1")) {
    return cvtm_source_fail(s, "only versions 4.1 and 2.2 are supported");
  }
  status = read_int(r, 0, 1, "file type", &binary);
  if (status == CVTM_OK) status = read_count(r, "data size", &size);
  if (status != CVTM_OK) return status;
  if (binary && size != 8) return cvtm_source_fail(s, "the data size of a binary file must be 8");
  r->binary = (int)binary;
  if (binary) {
    cvtm_source_end_line(s);
    s->offsets = 1;
    s->binary = 1;
    double one;
    status = cvtm_source_value(s, CVTM_I32, &one);
    if (status != CVTM_OK) return status;
    s->binary = 0;
    if (one != 1) s->big = 1;
    if (one != 1 && one != 16777216) return cvtm_source_fail(s, "unknown byte order");
  }
  return cvtm_source_expect(s, "$EndMeshFormat");
}

/* Moves past `$EndName`, which starts a line or, after binary data, follows them. */
static cvtm_status skip_section(cvtm_source *s, cvtm_token name) {
  char end[64];
  int length = snprintf(end, sizeof end, "$End%.*s", (int)name.length - 1, name.text + 1);
  if (length < 0 || (size_t)length >= sizeof end) return cvtm_source_fail(s, "unknown section");
  for (;;) {
    const unsigned char *mark = memchr(s->data + s->at, '$', s->size - s->at);
    if (mark == NULL) return cvtm_source_fail(s, "a section does not end");
    for (; s->data + s->at < mark; ++s->at) s->line += s->data[s->at] == '\n';
    size_t rest = s->size - s->at;
    if (rest >= (size_t)length && memcmp(mark, end, (size_t)length) == 0 &&
        (rest == (size_t)length || mark[length] == '\n' || mark[length] == '\r')) {
      s->at += (size_t)length;
      return CVTM_OK;
    }
    ++s->at;
  }
}

/* The name of a field on the next line that is not empty, without its quotes. */
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

/* Text before the values: names, real numbers, and integers with components and nodes. */
static cvtm_status read_data_header(reader *r, cvtm_token *name, int64_t integer[3]) {
  cvtm_source *s = r->source;
  int64_t count = 0, ignored;
  cvtm_status status = read_count(r, "number of names", &count);
  for (int64_t k = 0; k < count && k < 64 && status == CVTM_OK; ++k) {
    const cvtm_token found = read_name(s);
    if (k == 0) *name = found;
  }
  if (status == CVTM_OK) status = read_count(r, "number of times", &count);
  for (int64_t k = 0; k < count && status == CVTM_OK; ++k) {
    double time;
    status = cvtm_source_value(s, CVTM_F64, &time);
  }
  if (status == CVTM_OK) status = read_count(r, "number of integers", &count);
  if (status == CVTM_OK && count < 3) status = cvtm_source_fail(s, "data without its size");
  for (int64_t k = 0; k < count && status == CVTM_OK; ++k)
    status = read_int(r, 0, INT32_MAX, "integer", k < 3 ? &integer[k] : &ignored);
  return status;
}

/* The values of the field that is wanted; other data are skipped. */
static cvtm_status read_node_data(reader *r, cvtm_token section) {
  cvtm_source *s = r->source;
  cvtm_builder *b = r->builder;
  cvtm_token name = {"", 0};
  int64_t integer[3] = {0, 0, 0};
  cvtm_status status = read_data_header(r, &name, integer);
  if (status != CVTM_OK) return status;
  if (integer[1] != 1 || b->values != NULL ||
      (b->field != NULL && (name.length == 0 || !cvtm_token_is(name, b->field))))
    return skip_section(s, section);
  if (!r->sorted) return cvtm_source_fail(s, "$NodeData before $Nodes");
  b->values = calloc((size_t)b->vertex_count + 1, sizeof *b->values);
  if (b->values == NULL) return cvtm_source_no_memory(s);
  cvtm_source_end_line(s);
  s->binary = r->binary;
  for (int64_t k = 0; k < integer[2] && status == CVTM_OK; ++k) {
    int64_t tag = 0;
    double value = 0;
    status = read_int(r, 0, INT32_MAX, "node tag", &tag);
    if (status == CVTM_OK) status = cvtm_source_value(s, CVTM_F64, &value);
    const double vertex = vertex_of_tag(&r->nodes, (double)tag);
    if (status == CVTM_OK && vertex < 0)
      status = cvtm_source_fail(s, "data of a node that does not exist");
    if (status == CVTM_OK) b->values[(int64_t)vertex] = value;
  }
  s->binary = 0;
  return status == CVTM_OK ? cvtm_source_expect(s, "$EndNodeData") : status;
}

static cvtm_status read_section(reader *r, cvtm_token name) {
  cvtm_source *s = r->source;
  cvtm_status status;
  const int is_parametric = r->old && cvtm_token_is(name, "$ParametricNodes");
  const int is_nodes = is_parametric || cvtm_token_is(name, "$Nodes");
  if (r->builder->wants_field && cvtm_token_is(name, "$NodeData")) return read_node_data(r, name);
  if (!is_nodes && !cvtm_token_is(name, "$Elements")) return skip_section(s, name);
  cvtm_source_end_line(s);
  s->binary = r->binary;
  if (is_nodes) {
    if (r->nodes.count > 0) return cvtm_source_fail(s, "$Nodes appears twice");
    status = r->old ? read_nodes_2(r, is_parametric) : read_nodes(r);
    if (status == CVTM_OK) status = sort_tags(&r->nodes, s);
    r->sorted = 1;
  } else {
    if (!r->sorted || r->elements_seen) {
      return cvtm_source_fail(s, "$Elements appears twice or before $Nodes");
    }
    r->elements_seen = 1;
    status = r->old ? read_elements_2(r) : read_elements(r);
  }
  s->binary = 0;
  if (status != CVTM_OK) return status;
  return cvtm_source_expect(s, is_parametric ? "$EndParametricNodes"
                               : is_nodes    ? "$EndNodes"
                                             : "$EndElements");
}

cvtm_status cvtm_read_msh(cvtm_source *s, cvtm_builder *b) {
  reader r = {.source = s, .builder = b};
  cvtm_status status = read_format(&r);
  cvtm_token token;
  while (status == CVTM_OK && cvtm_source_token(s, &token)) {
    if (token.text[0] != '$') {
      status = cvtm_source_fail(s, "expected a section");
    } else {
      status = read_section(&r, token);
    }
  }
  if (status == CVTM_OK && !r.elements_seen) status = cvtm_source_fail(s, "no $Elements");
  free(r.nodes.list);
  return status;
}
