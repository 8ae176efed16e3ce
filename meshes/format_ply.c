/* Stanford PLY 1.0: text, little-endian (the default here) or big-endian (read only). */
#include "meshes/formats.h"

#include <inttypes.h>
#include <string.h>

static char *put_vertex(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  const double value[4] = {m->points[2 * i], m->points[2 * i + 1], 0,
                           m->value != NULL ? m->value[i] : 0};
  const int values = m->value != NULL ? 4 : 3;
  for (int k = 0; k < values; ++k) {
    if (m->ascii) {
      to = cvtm_text_number(to, value[k]);
      *to++ = k + 1 < values ? ' ' : '\n';
    } else {
      to = cvtm_text_scalar(to, CVTM_F64, 0, value[k]);
    }
  }
  return to;
}

static char *put_face(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  const int32_t *v = m->triangles + 3 * t;
  if (m->ascii) return cvtm_text_corners(cvtm_text_word(to, "3 "), v, 0);
  to = cvtm_text_scalar(to, CVTM_U8, 0, 3);
  for (int k = 0; k < 3; ++k) to = cvtm_text_scalar(to, CVTM_I32, 0, v[k]);
  return to;
}

void cvtm_write_ply(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file,
          "ply\nformat %s 1.0\ncomment cvtmesh\nelement vertex %" PRId64
          "\nproperty double x\nproperty double y\nproperty double z\n%s%s%selement face %" PRId64
          "\nproperty list uchar int vertex_indices\nend_header\n",
          m->ascii ? "ascii" : "binary_little_endian", m->vertex_count,
          m->value != NULL ? "property double " : "", m->value != NULL ? m->value_name : "",
          m->value != NULL ? "\n" : "", m->triangle_count);
  cvtm_write_items(file, m->vertex_count, 4 * (CVTM_TEXT_NUMBER + 1), put_vertex, m);
  cvtm_write_items(file, m->triangle_count, CVTM_TEXT_CORNERS + 2, put_face, m);
}

/* What a property of a vertex or a face is used for; the others are skipped. */
typedef enum role { ROLE_NONE, ROLE_X, ROLE_Y, ROLE_Z, ROLE_CORNERS } role;

typedef struct property {
  int list;
  cvtm_scalar count_type, type;
  role use;
} property;

typedef enum element_kind { ELEMENT_OTHER, ELEMENT_VERTEX, ELEMENT_FACE } element_kind;

enum { MAX_ELEMENTS = 16, MAX_PROPERTIES = 64 };

typedef struct element {
  element_kind kind;
  int64_t count;
  int property_count;
  property properties[MAX_PROPERTIES];
} element;

typedef struct header {
  int element_count;
  element elements[MAX_ELEMENTS];
} header;

static int parse_type(cvtm_token token, cvtm_scalar *type) {
  static const struct {
    const char *word;
    cvtm_scalar type;
  } types[] = {{"char", CVTM_I8},     {"int8", CVTM_I8},    {"uchar", CVTM_U8},
               {"uint8", CVTM_U8},    {"short", CVTM_I16},  {"int16", CVTM_I16},
               {"ushort", CVTM_U16},  {"uint16", CVTM_U16}, {"int", CVTM_I32},
               {"int32", CVTM_I32},   {"uint", CVTM_U32},   {"uint32", CVTM_U32},
               {"int64", CVTM_I64},   {"uint64", CVTM_U64}, {"float", CVTM_F32},
               {"float32", CVTM_F32}, {"double", CVTM_F64}, {"float64", CVTM_F64}};
  for (size_t k = 0; k < sizeof types / sizeof types[0]; ++k) {
    if (cvtm_token_is(token, types[k].word)) {
      *type = types[k].type;
      return 1;
    }
  }
  return 0;
}

static role find_role(element_kind kind, int list, cvtm_token name) {
  if (kind == ELEMENT_VERTEX && !list) {
    if (cvtm_token_is(name, "x")) return ROLE_X;
    if (cvtm_token_is(name, "y")) return ROLE_Y;
    if (cvtm_token_is(name, "z")) return ROLE_Z;
  }
  if (kind == ELEMENT_FACE && list &&
      (cvtm_token_is(name, "vertex_indices") || cvtm_token_is(name, "vertex_index"))) {
    return ROLE_CORNERS;
  }
  return ROLE_NONE;
}

static int has_role(const element *e, role use) {
  for (int k = 0; k < e->property_count; ++k) {
    if (e->properties[k].use == use) return 1;
  }
  return 0;
}

static cvtm_status parse_format(cvtm_source *s, int *binary) {
  cvtm_token token;
  if (!cvtm_source_line_token(s, &token)) return cvtm_source_fail(s, "malformed format line");
  *binary = !cvtm_token_is(token, "ascii");
  s->big = cvtm_token_is(token, "binary_big_endian");
  if (*binary && !s->big && !cvtm_token_is(token, "binary_little_endian")) {
    return cvtm_source_fail(s, "unknown PLY format");
  }
  if (!cvtm_source_line_token(s, &token) || !cvtm_token_is(token, "1.0")) {
    return cvtm_source_fail(s, "unknown PLY version");
  }
  return CVTM_OK;
}

static cvtm_status parse_element(cvtm_source *s, header *h) {
  cvtm_token name;
  if (h->element_count == MAX_ELEMENTS) return cvtm_source_fail(s, "too many elements");
  if (!cvtm_source_line_token(s, &name)) return cvtm_source_fail(s, "malformed element line");
  element *e = &h->elements[h->element_count++];
  e->kind = cvtm_token_is(name, "vertex") ? ELEMENT_VERTEX
            : cvtm_token_is(name, "face") ? ELEMENT_FACE
                                          : ELEMENT_OTHER;
  return cvtm_source_integer(s, CVTM_I64, 0, INT64_MAX, "number of elements", &e->count);
}

static cvtm_status parse_property(cvtm_source *s, header *h) {
  if (h->element_count == 0) return cvtm_source_fail(s, "a property without an element");
  element *e = &h->elements[h->element_count - 1];
  if (e->property_count == MAX_PROPERTIES) return cvtm_source_fail(s, "too many properties");
  property *p = &e->properties[e->property_count];
  cvtm_token token;
  int ok = cvtm_source_line_token(s, &token);
  if (ok && cvtm_token_is(token, "list")) {
    p->list = 1;
    ok = cvtm_source_line_token(s, &token) && parse_type(token, &p->count_type) &&
         cvtm_source_line_token(s, &token);
  }
  ok = ok && parse_type(token, &p->type) && cvtm_source_line_token(s, &token);
  if (!ok) return cvtm_source_fail(s, "malformed property line");
  p->use = find_role(e->kind, p->list, token);
  if (p->use != ROLE_NONE && has_role(e, p->use)) {
    return cvtm_source_fail(s, "a property appears twice");
  }
  ++e->property_count;
  return CVTM_OK;
}

static cvtm_status parse_header(cvtm_source *s, header *h, int *binary) {
  int format_seen = 0;
  cvtm_status status = cvtm_source_expect(s, "ply");
  while (status == CVTM_OK) {
    cvtm_source_end_line(s);
    cvtm_token token;
    if (!cvtm_source_token(s, &token)) return cvtm_source_fail(s, "the header has no end");
    if (cvtm_token_is(token, "end_header")) break;
    if (cvtm_token_is(token, "format")) {
      status = parse_format(s, binary);
      format_seen = 1;
    } else if (cvtm_token_is(token, "element")) {
      status = parse_element(s, h);
    } else if (cvtm_token_is(token, "property")) {
      status = parse_property(s, h);
    } else if (!cvtm_token_is(token, "comment") && !cvtm_token_is(token, "obj_info")) {
      status = cvtm_source_fail(s, "unknown header line");
    }
  }
  if (status == CVTM_OK && !format_seen) status = cvtm_source_fail(s, "no format line");
  return status;
}

/* One vertex, face or other element. */
static cvtm_status read_item(cvtm_source *s, cvtm_builder *b, const element *e) {
  double place[3] = {0, 0, 0};
  double corner[3] = {0, 0, 0};
  for (int k = 0; k < e->property_count; ++k) {
    const property *p = &e->properties[k];
    int64_t values = 1;
    cvtm_status status = CVTM_OK;
    if (p->list) {
      status = cvtm_source_integer(s, p->count_type, 0, INT64_MAX, "length of a list", &values);
    }
    if (status != CVTM_OK) return status;
    if (p->use == ROLE_CORNERS && values != 3) {
      return cvtm_source_fail(s, "a face is not a triangle");
    }
    for (int64_t i = 0; i < values; ++i) {
      double value;
      status = cvtm_source_value(s, p->type, &value);
      if (status != CVTM_OK) return status;
      if (p->use == ROLE_CORNERS) corner[i] = value;
      if (p->use == ROLE_X) place[0] = value;
      if (p->use == ROLE_Y) place[1] = value;
      if (p->use == ROLE_Z) place[2] = value;
    }
  }
  if (e->kind == ELEMENT_VERTEX) return cvtm_builder_vertex(b, place[0], place[1], place[2]);
  if (e->kind == ELEMENT_FACE) return cvtm_builder_triangle(b, corner);
  return CVTM_OK;
}

static cvtm_status check_header(cvtm_source *s, const header *h) {
  int vertices = 0, faces = 0;
  for (int k = 0; k < h->element_count; ++k) {
    const element *e = &h->elements[k];
    if (e->kind == ELEMENT_VERTEX) {
      if (!has_role(e, ROLE_X) || !has_role(e, ROLE_Y)) {
        return cvtm_source_fail(s, "the vertices have no x and y");
      }
      ++vertices;
    } else if (e->kind == ELEMENT_FACE) {
      if (!has_role(e, ROLE_CORNERS)) {
        return cvtm_source_fail(s, "the faces have no vertex_indices");
      }
      if (vertices == 0) return cvtm_source_fail(s, "faces before vertices");
      ++faces;
    }
  }
  if (vertices != 1 || faces > 1) {
    return cvtm_source_fail(s, "expected one vertex element and at most one face element");
  }
  return CVTM_OK;
}

cvtm_status cvtm_read_ply(cvtm_source *s, cvtm_builder *b) {
  header h;
  memset(&h, 0, sizeof h);
  int binary = 0;
  cvtm_status status = parse_header(s, &h, &binary);
  if (status == CVTM_OK) status = check_header(s, &h);
  if (status != CVTM_OK) return status;
  cvtm_source_end_line(s);
  s->binary = binary;
  for (int k = 0; k < h.element_count; ++k) {
    const element *e = &h.elements[k];
    if (e->property_count == 0) continue; /* nothing in the file stands for it */
    for (int64_t i = 0; i < e->count; ++i) {
      status = read_item(s, b, e);
      if (status != CVTM_OK) return status;
    }
  }
  return CVTM_OK;
}
