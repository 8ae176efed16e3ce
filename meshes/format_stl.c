/* STL: triangles without shared vertices, in single precision (binary) or text. Flat
 * at z = 0, normals up. On reading, corners at equal places become one vertex. */
#include "meshes/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void cvtm_write_stl(FILE *file, const cvtm_file_mesh *m) {
  if (m->ascii) {
    fputs("solid cvtmesh\n", file);
    cvtm_write_items(file, m->triangle_count, 3 * CVTM_TEXT_POINT + 100, text_facet, m);
    fputs("endsolid cvtmesh\n", file);
    return;
  }
  char header[PREFIX] = "cvtmesh: binary STL"; /* must not start with `solid` */
  (void)cvtm_text_scalar(header + HEADER, CVTM_U32, 0, (double)m->triangle_count);
  fwrite(header, 1, sizeof header, file);
  cvtm_write_items(file, m->triangle_count, FACET, binary_facet, m);
}

/* Vertices by place: open addressing, slots hold vertex + 1. */
typedef struct merger {
  cvtm_builder *builder;
  int32_t *slots;
  uint64_t capacity; /* a power of two */
} merger;

static uint64_t hash_place(double x, double y) {
  uint64_t a, b;
  memcpy(&a, &x, sizeof a);
  memcpy(&b, &y, sizeof b);
  uint64_t h =
      a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x7f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
  h ^= h >> 31;
  h *= UINT64_C(0x94d049bb133111eb);
  return h ^ h >> 29;
}

/* The slot of this place, or the empty one where it belongs. */
static int32_t *find_slot(const merger *m, double x, double y) {
  uint64_t k = hash_place(x, y) & (m->capacity - 1);
  while (m->slots[k] != 0) {
    const double *p = m->builder->points + 2 * (int64_t)(m->slots[k] - 1);
    if (p[0] == x && p[1] == y) break;
    k = (k + 1) & (m->capacity - 1);
  }
  return &m->slots[k];
}

static int enlarge(merger *m) {
  merger larger = {m->builder, NULL, m->capacity == 0 ? 1024 : 2 * m->capacity};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (larger.slots == NULL) return 0;
  for (int64_t v = 0; v < m->builder->vertex_count; ++v) {
    const double *p = m->builder->points + 2 * v;
    *find_slot(&larger, p[0], p[1]) = (int32_t)(v + 1);
  }
  free(m->slots);
  *m = larger;
  return 1;
}

/* *index: the vertex at this place, made if it is new. */
static cvtm_status merge_vertex(merger *m, const double place[3], double *index) {
  double x = place[0] + 0.0, y = place[1] + 0.0; /* -0 is 0 */
  if (2 * (uint64_t)m->builder->vertex_count >= m->capacity && !enlarge(m)) {
    return cvtm_source_no_memory(m->builder->source);
  }
  int32_t *slot = find_slot(m, x, y);
  if (*slot == 0 || place[2] != m->builder->z) { /* a wrong z is the builder's to refuse */
    cvtm_status status = cvtm_builder_vertex(m->builder, x, y, place[2]);
    if (status != CVTM_OK) return status;
    *slot = (int32_t)m->builder->vertex_count;
  }
  *index = *slot - 1;
  return CVTM_OK;
}

static cvtm_status read_values(cvtm_source *s, cvtm_scalar type, double value[3]) {
  for (int k = 0; k < 3; ++k) {
    cvtm_status status = cvtm_source_value(s, type, &value[k]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

static cvtm_status read_binary(cvtm_source *s, merger *m, int64_t count) {
  s->binary = 1;
  s->big = 0;
  s->at = PREFIX;
  for (int64_t t = 0; t < count; ++t) {
    double place[3], index[3];
    cvtm_status status = read_values(s, CVTM_F32, place); /* the normal */
    for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
      status = read_values(s, CVTM_F32, place);
      if (status == CVTM_OK) status = merge_vertex(m, place, &index[k]);
    }
    if (status == CVTM_OK) status = cvtm_builder_triangle(m->builder, index);
    if (status != CVTM_OK) return status;
    s->at += 2;
  }
  return CVTM_OK;
}

static cvtm_status read_facet(cvtm_source *s, merger *m) {
  double place[3], index[3];
  cvtm_status status = cvtm_source_expect(s, "normal");
  if (status == CVTM_OK) status = read_values(s, CVTM_F64, place);
  if (status == CVTM_OK) status = cvtm_source_expect(s, "outer");
  if (status == CVTM_OK) status = cvtm_source_expect(s, "loop");
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    status = cvtm_source_expect(s, "vertex");
    if (status == CVTM_OK) status = read_values(s, CVTM_F64, place);
    if (status == CVTM_OK) status = merge_vertex(m, place, &index[k]);
  }
  if (status == CVTM_OK) status = cvtm_source_expect(s, "endloop");
  if (status == CVTM_OK) status = cvtm_source_expect(s, "endfacet");
  if (status == CVTM_OK) status = cvtm_builder_triangle(m->builder, index);
  return status;
}

static cvtm_status read_ascii(cvtm_source *s, merger *m) {
  cvtm_token token;
  int inside = 0, solids = 0;
  while (cvtm_source_token(s, &token)) {
    cvtm_status status = CVTM_OK;
    if (!inside && cvtm_token_is(token, "solid")) {
      inside = 1;
      ++solids;
      cvtm_source_end_line(s); /* the rest is a name */
    } else if (inside && cvtm_token_is(token, "facet")) {
      status = read_facet(s, m);
    } else if (inside && cvtm_token_is(token, "endsolid")) {
      inside = 0;
      cvtm_source_end_line(s);
    } else {
      status = cvtm_source_fail(s, inside ? "expected 'facet' or 'endsolid'" : "expected 'solid'");
    }
    if (status != CVTM_OK) return status;
  }
  if (inside || solids == 0) return cvtm_source_fail(s, "the file ends too early");
  return CVTM_OK;
}

cvtm_status cvtm_read_stl(cvtm_source *s, cvtm_builder *b) {
  merger m = {b, NULL, 0};
  cvtm_status status;
  int64_t count = -1;
  if (s->size >= PREFIX) {
    count = (int64_t)cvtm_scalar_unpack(CVTM_U32, 0, s->data + HEADER);
  }
  /* Some binary files start with `solid` too; their length gives them away. */
  if (count >= 0 && (uint64_t)s->size == PREFIX + (uint64_t)count * FACET) {
    status = read_binary(s, &m, count);
  } else if (s->size >= 5 && memcmp(s->data, "solid", 5) == 0) {
    status = read_ascii(s, &m);
  } else {
    s->binary = 1;
    status = cvtm_source_fail(s, "neither text nor a binary STL of the length that it claims");
  }
  free(m.slots);
  return status;
}
