/* Gmsh MSH 4.1, always written as text; read as text or binary, and text of version 2.2.
 * https://gmsh.info/doc/texinfo/gmsh.html#MSH-file-format */
#include "meshes/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_entities(FILE *file, const cvtm_image *m) {
  double low[2] = {0, 0}, high[2] = {0, 0};
  for (int64_t i = 0; i < m->vertex_count; ++i) {
    for (int k = 0; k < 2; ++k) {
      double x = m->points[2 * i + k];
      if (i == 0 || x < low[k]) low[k] = x;
      if (i == 0 || x > high[k]) high[k] = x;
    }
  }
  fputs("$Entities\n0 0 1 0\n1 ", file); /* one surface */
  cvtm_put_number(file, low[0]);
  fputc(' ', file);
  cvtm_put_number(file, low[1]);
  fputs(" 0 ", file);
  cvtm_put_number(file, high[0]);
  fputc(' ', file);
  cvtm_put_number(file, high[1]);
  fputs(" 0 0 0\n$EndEntities\n", file);
}

static void write_nodes(FILE *file, const cvtm_image *m) {
  int64_t n = m->vertex_count;
  fprintf(file, "$Nodes\n1 %" PRId64 " 1 %" PRId64 "\n2 1 0 %" PRId64 "\n", n, n, n);
  for (int64_t i = 1; i <= n; ++i) fprintf(file, "%" PRId64 "\n", i);
  for (int64_t i = 0; i < n; ++i) {
    cvtm_put_number(file, m->points[2 * i]);
    fputc(' ', file);
    cvtm_put_number(file, m->points[2 * i + 1]);
    fputs(" 0\n", file);
  }
  fputs("$EndNodes\n", file);
}

static void write_elements(FILE *file, const cvtm_image *m) {
  int64_t n = m->triangle_count;
  if (n == 0) {
    fputs("$Elements\n0 0 0 0\n$EndElements\n", file);
    return;
  }
  fprintf(file, "$Elements\n1 %" PRId64 " 1 %" PRId64 "\n2 1 2 %" PRId64 "\n", n, n, n);
  for (int64_t t = 0; t < n; ++t) {
    const int32_t *v = m->triangles + 3 * t;
    fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", t + 1, (int64_t)v[0] + 1,
            (int64_t)v[1] + 1, (int64_t)v[2] + 1);
  }
  fputs("$EndElements\n", file);
}

void cvtm_write_msh(FILE *file, const cvtm_image *m) {
  fputs("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", file);
  write_entities(file, m);
  write_nodes(file, m);
  write_elements(file, m);
  if (m->mass == NULL) return;
  /* One name, one time, three integers: step, components, values. */
  fprintf(file, "$NodeData\n1\n\"mass\"\n1\n0\n3\n0\n1\n%" PRId64 "\n", m->vertex_count);
  for (int64_t i = 0; i < m->vertex_count; ++i) {
    fprintf(file, "%" PRId64 " ", i + 1);
    cvtm_put_number(file, m->mass[i]);
    fputc('\n', file);
  }
  fputs("$EndNodeData\n", file);
}

enum { POINT = 15, LINE = 1, TRIANGLE = 2 };

typedef struct node {
  double tag;
  int32_t vertex;
} node;

typedef struct nodes {
  node *list; /* by tag once sorted */
  int64_t count, capacity;
} nodes;

typedef struct reader {
  cvtm_source *source;
  cvtm_builder *builder;
  int binary;
  int old; /* version 2 */
  nodes nodes;
  int sorted, elements_seen;
} reader;

static cvtm_status add_node(reader *r, double tag) {
  nodes *n = &r->nodes;
  if (n->count == n->capacity) {
    int64_t larger = n->capacity == 0 ? 1024 : 2 * n->capacity;
    node *moved = realloc(n->list, (size_t)larger * sizeof *moved);
    if (moved == NULL) return cvtm_source_no_memory(r->source);
    n->list = moved;
    n->capacity = larger;
  }
  if (n->count == INT32_MAX) return cvtm_source_fail(r->source, "too many nodes");
  n->list[n->count].tag = tag;
  n->list[n->count].vertex = (int32_t)n->count;
  ++n->count;
  return CVTM_OK;
}

static int compare_tags(const void *a, const void *b) {
  double p = ((const node *)a)->tag, q = ((const node *)b)->tag;
  return (p > q) - (p < q);
}

static cvtm_status sort_nodes(reader *r) {
  nodes *n = &r->nodes;
  int increasing = 1;
  for (int64_t i = 1; i < n->count; ++i) increasing &= n->list[i - 1].tag < n->list[i].tag;
  if (!increasing) {
    qsort(n->list, (size_t)n->count, sizeof *n->list, compare_tags);
    for (int64_t i = 1; i < n->count; ++i) {
      if (n->list[i - 1].tag == n->list[i].tag) {
        return cvtm_source_fail(r->source, "two nodes have the same tag");
      }
    }
  }
  r->sorted = 1;
  return CVTM_OK;
}

/* The vertex of a node's tag, -1 if there is none. */
static double find_vertex(const reader *r, double tag) {
  const nodes *n = &r->nodes;
  int64_t low = 0, high = n->count;
  if (n->count == 0) return -1;
  double guess = tag - n->list[0].tag; /* tags are mostly consecutive */
  if (guess >= 0 && guess < (double)n->count && n->list[(int64_t)guess].tag == tag) {
    return n->list[(int64_t)guess].vertex;
  }
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (n->list[middle].tag < tag) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < n->count && n->list[low].tag == tag ? n->list[low].vertex : -1;
}

static cvtm_status read_place(reader *r) {
  double v[3];
  for (int k = 0; k < 3; ++k) {
    cvtm_status status = cvtm_source_value(r->source, CVTM_F64, &v[k]);
    if (status != CVTM_OK) return status;
  }
  return cvtm_builder_vertex(r->builder, v[0], v[1], v[2]);
}

static cvtm_status read_size(reader *r, const char *what, int64_t *size) {
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
  if (status == CVTM_OK) status = read_size(r, "count", count);
  return status;
}

static cvtm_status read_node_block(reader *r) {
  int64_t dimension = 0, parametric = 0, count = 0, tag;
  cvtm_status status = read_block(r, &dimension, &parametric, &count);
  for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
    status = read_size(r, "node tag", &tag);
    if (status == CVTM_OK) status = add_node(r, (double)tag);
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
  cvtm_status status = read_size(r, "number of blocks", blocks);
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) status = read_size(r, "count", &ignored);
  return status;
}

static cvtm_status read_nodes(reader *r) {
  int64_t blocks = 0;
  cvtm_status status = read_summary(r, &blocks);
  for (int64_t k = 0; k < blocks && status == CVTM_OK; ++k) status = read_node_block(r);
  return status;
}

static cvtm_status read_nodes_2(reader *r) {
  int64_t count = 0, tag;
  cvtm_status status = read_size(r, "number of nodes", &count);
  for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
    status = read_size(r, "node tag", &tag);
    if (status == CVTM_OK) status = add_node(r, (double)tag);
    if (status == CVTM_OK) status = read_place(r);
  }
  return status;
}

/* The corners of an element: a triangle is kept, points and lines are skipped. */
static cvtm_status read_corners(reader *r, int64_t type) {
  int corners = type == TRIANGLE ? 3 : type == LINE ? 2 : type == POINT ? 1 : 0;
  double index[3];
  if (corners == 0) {
    return cvtm_source_fail(r->source, "an element of type %" PRId64 " is not a triangle", type);
  }
  for (int k = 0; k < corners; ++k) {
    int64_t tag;
    cvtm_status status = read_size(r, "node tag", &tag);
    if (status != CVTM_OK) return status;
    index[k] = find_vertex(r, (double)tag);
  }
  return type == TRIANGLE ? cvtm_builder_triangle(r->builder, index) : CVTM_OK;
}

static cvtm_status read_elements(reader *r) {
  int64_t blocks = 0;
  cvtm_status status = read_summary(r, &blocks);
  for (int64_t k = 0; k < blocks && status == CVTM_OK; ++k) {
    int64_t dimension = 0, type = 0, count = 0, tag;
    status = read_block(r, &dimension, &type, &count);
    for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
      status = read_size(r, "element tag", &tag);
      if (status == CVTM_OK) status = read_corners(r, type);
    }
  }
  return status;
}

static cvtm_status read_elements_2(reader *r) {
  int64_t count;
  cvtm_status status = read_size(r, "number of elements", &count);
  for (int64_t i = 0; i < count && status == CVTM_OK; ++i) {
    int64_t tag = 0, type = 0, tags = 0;
    status = read_size(r, "element tag", &tag);
    if (status == CVTM_OK) status = read_int(r, 0, INT32_MAX, "type", &type);
    if (status == CVTM_OK) status = read_int(r, 0, INT32_MAX, "number of tags", &tags);
    for (int64_t k = 0; k < tags && status == CVTM_OK; ++k) {
      status = read_int(r, INT32_MIN, INT32_MAX, "tag", &tag);
    }
    if (status == CVTM_OK) status = read_corners(r, type);
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
  if (status == CVTM_OK) status = read_size(r, "data size", &size);
  if (status != CVTM_OK) return status;
  if (binary && (r->old || size != 8)) {
    return cvtm_source_fail(s, "binary files must be of version 4.1 with data size 8");
  }
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

static cvtm_status read_section(reader *r, cvtm_token name) {
  cvtm_source *s = r->source;
  cvtm_status status;
  int is_nodes = cvtm_token_is(name, "$Nodes");
  if (!is_nodes && !cvtm_token_is(name, "$Elements")) return skip_section(s, name);
  cvtm_source_end_line(s);
  s->binary = r->binary;
  if (is_nodes) {
    if (r->nodes.count > 0) return cvtm_source_fail(s, "$Nodes appears twice");
    status = r->old ? read_nodes_2(r) : read_nodes(r);
    if (status == CVTM_OK) status = sort_nodes(r);
  } else {
    if (!r->sorted || r->elements_seen) {
      return cvtm_source_fail(s, "$Elements appears twice or before $Nodes");
    }
    r->elements_seen = 1;
    status = r->old ? read_elements_2(r) : read_elements(r);
  }
  s->binary = 0;
  if (status != CVTM_OK) return status;
  return cvtm_source_expect(s, is_nodes ? "$EndNodes" : "$EndElements");
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
