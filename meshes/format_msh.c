/* Gmsh MSH 4.1, always written as text; read as text or binary, and text of version 2.2.
 * https://gmsh.info/doc/texinfo/gmsh.html#MSH-file-format */
#include "meshes/formats.h"

#include "base/grow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements of one entity: first .. end - 1 of the triangles or of the edges, and its tag. */
typedef struct run {
  int64_t first, end;
  int32_t tag;
} run;

/* The run that begins at `first` among count tagged items; tags NULL: all are 1. */
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

static int64_t count_runs(const int32_t *tags, int64_t count) {
  int64_t runs = 0;
  for (int64_t k = 0; k < count; k = find_run(tags, k, count).end) ++runs;
  return runs;
}

/* The box around the vertices of a list of corners; NULL: all vertices. */
static void write_box(FILE *file, const cvtm_file_mesh *m, const int32_t *corners, int64_t count) {
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
    fputc(' ', file);
    cvtm_put_number(file, end[k][0]);
    fputc(' ', file);
    cvtm_put_number(file, end[k][1]);
    fputs(" 0", file);
  }
}

static void write_physical_names(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  if (r == NULL) return;
  fprintf(file, "$PhysicalNames\n%" PRId64 "\n",
          r->curve_count + count_runs(r->region, m->triangle_count));
  for (int64_t e = 0; e < r->edge_count; e = find_run(r->curve, e, r->edge_count).end) {
    fprintf(file, "1 %" PRId32 " \"curve %" PRId32 ": region %" PRId32, r->curve[e], r->curve[e],
            r->left[e]);
    if (r->right[e] > 0) {
      fprintf(file, ", region %" PRId32 "\"\n", r->right[e]);
    } else {
      fputs(", outside\"\n", file);
    }
  }
  for (int64_t t = 0; t < m->triangle_count; t = find_run(r->region, t, m->triangle_count).end) {
    fprintf(file, "2 %" PRId32 " \"region %" PRId32 "\"\n", r->region[t], r->region[t]);
  }
  fputs("$EndPhysicalNames\n", file);
}

static void write_curves(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  for (int64_t e = 0; r != NULL && e < r->edge_count;) {
    const run edges = find_run(r->curve, e, r->edge_count);
    fprintf(file, "%" PRId32, edges.tag);
    write_box(file, m, r->edges + 2 * e, 2 * (edges.end - e));
    fprintf(file, " 1 %" PRId32 " 0\n", edges.tag);
    e = edges.end;
  }
}

/* The curves around a region: with a minus sign those that have it on their right. */
static void write_bounding_curves(FILE *file, const cvtm_regions *r, int32_t region) {
  int64_t count = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t e = 0; e < r->edge_count; e = find_run(r->curve, e, r->edge_count).end) {
      if (r->left[e] != region && r->right[e] != region) continue;
      if (pass == 0) ++count;
      if (pass == 1) fprintf(file, " %s%" PRId32, r->left[e] == region ? "" : "-", r->curve[e]);
    }
    if (pass == 0) fprintf(file, " %" PRId64, count);
  }
}

/* Surfaces are the regions; of a mesh without any there is one. */
static void write_entities(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  if (r == NULL) {
    fputs("$Entities\n0 0 1 0\n1", file);
    write_box(file, m, NULL, m->vertex_count);
    fputs(" 0 0\n$EndEntities\n", file);
    return;
  }
  fprintf(file, "$Entities\n0 %" PRId32 " %" PRId64 " 0\n", r->curve_count,
          count_runs(r->region, m->triangle_count));
  write_curves(file, m);
  for (int64_t t = 0; t < m->triangle_count;) {
    const run triangles = find_run(r->region, t, m->triangle_count);
    fprintf(file, "%" PRId32, triangles.tag);
    write_box(file, m, m->triangles + 3 * t, 3 * (triangles.end - t));
    fprintf(file, " 1 %" PRId32, triangles.tag);
    write_bounding_curves(file, r, triangles.tag);
    fputc('\n', file);
    t = triangles.end;
  }
  fputs("$EndEntities\n", file);
}

static char *tag_line(char *to, const void *context, int64_t i) {
  (void)context;
  return cvtm_text_word(cvtm_text_integer(to, i + 1), "\n");
}

static char *node_line(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_word(cvtm_text_point(to, ' ', m->points + 2 * i), " 0\n");
}

static void write_nodes(FILE *file, const cvtm_file_mesh *m) {
  int64_t n = m->vertex_count;
  const int32_t *tags = m->triangle_count > 0 ? surface_tags(m) : NULL;
  fprintf(file, "$Nodes\n1 %" PRId64 " 1 %" PRId64 "\n2 %" PRId32 " 0 %" PRId64 "\n", n, n,
          tags != NULL ? tags[0] : 1, n);
  cvtm_write_items(file, n, CVTM_TEXT_INTEGER + 1, tag_line, NULL);
  cvtm_write_items(file, n, CVTM_TEXT_POINT + 3, node_line, m);
  fputs("$EndNodes\n", file);
}

typedef struct element_block {
  int corners; /* of each element */
  const int32_t *vertices;
  int64_t tag; /* of the element before the first one */
} element_block;

static char *element_line(char *to, const void *context, int64_t k) {
  const element_block *block = context;
  to = cvtm_text_integer(to, block->tag + k + 1);
  for (int c = 0; c < block->corners; ++c) {
    *to++ = ' ';
    to = cvtm_text_integer(to, (int64_t)block->vertices[block->corners * k + c] + 1);
  }
  *to++ = '\n';
  return to;
}

/* One block of elements with `corners` vertices each; *tag counts all of them. */
static void write_block(FILE *file, int corners, run r, const int32_t *vertices, int64_t *tag) {
  fprintf(file, "%d %" PRId32 " %d %" PRId64 "\n", corners - 1, r.tag, corners - 1,
          r.end - r.first);
  const element_block block = {corners, vertices + corners * r.first, *tag};
  cvtm_write_items(file, r.end - r.first, 4 * (CVTM_TEXT_INTEGER + 1), element_line, &block);
  *tag += r.end - r.first;
}

static void write_elements(FILE *file, const cvtm_file_mesh *m) {
  const int64_t triangles = m->triangle_count;
  if (triangles == 0) {
    fputs("$Elements\n0 0 0 0\n$EndElements\n", file);
    return;
  }
  const int64_t edges = m->regions != NULL ? m->regions->edge_count : 0;
  const int32_t *curves = m->regions != NULL ? m->regions->curve : NULL;
  const int32_t *surfaces = surface_tags(m);
  int64_t tag = 0;
  fprintf(file, "$Elements\n%" PRId64 " %" PRId64 " 1 %" PRId64 "\n",
          count_runs(curves, edges) + count_runs(surfaces, triangles), edges + triangles,
          edges + triangles);
  for (int64_t k = 0; k < edges;) {
    const run r = find_run(curves, k, edges);
    write_block(file, 2, r, m->regions->edges, &tag);
    k = r.end;
  }
  for (int64_t k = 0; k < triangles;) {
    const run r = find_run(surfaces, k, triangles);
    write_block(file, 3, r, m->triangles, &tag);
    k = r.end;
  }
  fputs("$EndElements\n", file);
}

static char *mass_line(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_word(cvtm_text_integer(to, i + 1), " ");
  return cvtm_text_word(cvtm_text_number(to, m->mass[i]), "\n");
}

void cvtm_write_msh(FILE *file, const cvtm_file_mesh *m) {
  fputs("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", file);
  write_physical_names(file, m);
  write_entities(file, m);
  write_nodes(file, m);
  write_elements(file, m);
  if (m->mass == NULL) return;
  /* One name, one time, three integers: step, components, values. */
  fprintf(file, "$NodeData\n1\n\"mass\"\n1\n0\n3\n0\n1\n%" PRId64 "\n", m->vertex_count);
  cvtm_write_items(file, m->vertex_count, CVTM_TEXT_INTEGER + CVTM_TEXT_NUMBER + 2, mass_line, m);
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
  if (!cvtm_grow(&n->list, sizeof *n->list, &n->capacity, n->count + 1))
    return cvtm_source_no_memory(r->source);
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
