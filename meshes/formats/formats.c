#define _XOPEN_SOURCE 700

#include "meshes/formats/formats.h"

#include "base/csv.h"
#include "base/grow.h"
#include "base/numeric_locale.h"
#include "meshes/formats/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- source ---- */

cvtm_source cvtm_source_open(const char *name, const unsigned char *bytes, size_t size,
                             cvtm_error *error) {
  const size_t mark = cvtm_csv_byte_order_mark(bytes, size);
  return (cvtm_source){
      .name = name, .data = bytes + mark, .size = size - mark, .line = 1, .error = error};
}

cvtm_status cvtm_source_fail(cvtm_source *source, const char *format, ...) {
  char reason[256];
  va_list arguments;
  va_start(arguments, format);
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  vsnprintf(reason, sizeof reason, format, arguments);
  cvtm_numeric_locale_leave(locale);
  va_end(arguments);
  if (source->binary || source->offsets) {
    return cvtm_fail(source->error, CVTM_ERROR_INPUT, "%s: byte %zu: %s", source->name, source->at,
                     reason);
  }
  return cvtm_fail(source->error, CVTM_ERROR_INPUT, "%s: line %" PRId64 ": %s", source->name,
                   source->line, reason);
}

cvtm_status cvtm_source_no_memory(cvtm_source *source) {
  return cvtm_fail(source->error, CVTM_ERROR_MEMORY, "%s: out of memory", source->name);
}

static int is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }

int cvtm_source_line_token(cvtm_source *s, cvtm_token *token) {
  while (s->at < s->size && is_blank(s->data[s->at])) ++s->at;
  if (s->comment != 0 && s->at < s->size && s->data[s->at] == (unsigned char)s->comment) {
    while (s->at < s->size && s->data[s->at] != '\n') ++s->at;
  }
  size_t start = s->at;
  while (s->at < s->size && s->data[s->at] != '\n' && !is_blank(s->data[s->at]) &&
         (s->comment == 0 || s->data[s->at] != (unsigned char)s->comment)) {
    ++s->at;
  }
  token->text = (const char *)s->data + start;
  token->length = s->at - start;
  return token->length > 0;
}

void cvtm_source_end_line(cvtm_source *s) {
  while (s->at < s->size && s->data[s->at] != '\n') ++s->at;
  if (s->at < s->size) {
    ++s->at;
    ++s->line;
  }
}

int cvtm_source_token(cvtm_source *s, cvtm_token *token) {
  while (!cvtm_source_line_token(s, token)) {
    if (s->at >= s->size) return 0;
    cvtm_source_end_line(s);
  }
  return 1;
}

int cvtm_token_is(cvtm_token token, const char *word) {
  return token.length == strlen(word) && memcmp(token.text, word, token.length) == 0;
}

/* Case does not matter; the sign has been taken. */
static int is_nan_or_inf(const char *text) {
  static const char *const words[] = {"nan", "inf", "infinity"};
  for (size_t w = 0; w < sizeof words / sizeof words[0]; ++w) {
    size_t k = 0;
    while (words[w][k] != 0 && (text[k] | 32) == words[w][k]) ++k;
    if (words[w][k] == 0 && text[k] == 0) return 1;
  }
  return 0;
}

int cvtm_token_number(cvtm_token token, double *value) {
  char text[128];
  if (token.length >= sizeof text || token.length == 0) return 0;
  memcpy(text, token.text, token.length);
  text[token.length] = 0;
  if (strlen(text) != token.length) return 0;
  const char *unsigned_text = text + (text[0] == '+' || text[0] == '-');
  /* strtod knows more than decimal numbers: hexadecimal ones, and blanks before them. */
  if (unsigned_text[strspn(unsigned_text, "0123456789+-.eE")] != 0 &&
      !is_nan_or_inf(unsigned_text)) {
    return 0;
  }
  char *end;
  *value = cvtm_strtod(text, &end);
  return *end == 0 && end != text;
}

cvtm_status cvtm_source_expect(cvtm_source *s, const char *word) {
  cvtm_token token;
  if (cvtm_source_token(s, &token) && cvtm_token_is(token, word)) return CVTM_OK;
  return cvtm_source_fail(s, "expected '%s'", word);
}

cvtm_status cvtm_source_value(cvtm_source *s, cvtm_scalar type, double *value) {
  if (s->binary) {
    size_t size = cvtm_scalar_size(type);
    if (s->size - s->at < size) return cvtm_source_fail(s, "the file ends too early");
    *value = cvtm_scalar_unpack(type, s->big, s->data + s->at);
    s->at += size;
    return CVTM_OK;
  }
  cvtm_token token;
  if (!cvtm_source_token(s, &token)) return cvtm_source_fail(s, "the file ends too early");
  if (!cvtm_token_number(token, value)) return cvtm_source_fail(s, "expected a number");
  return CVTM_OK;
}

cvtm_status cvtm_source_integer(cvtm_source *s, cvtm_scalar type, int64_t low, int64_t high,
                                const char *what, int64_t *value) {
  double v;
  cvtm_status status = cvtm_source_value(s, type, &v);
  if (status != CVTM_OK) return status;
  if (!(v >= (double)low && v <= (double)high && fabs(v) < 0x1p62) || v != (double)(int64_t)v) {
    return cvtm_source_fail(s, "%s out of range", what);
  }
  *value = (int64_t)v;
  return CVTM_OK;
}

/* The usual types have loops of their own, in which the type is known. */
static void unpack_values(cvtm_scalar type, int big, const unsigned char *bytes, int64_t count,
                          double *to) {
  const size_t size = cvtm_scalar_size(type);
  if (type == CVTM_F64) {
    for (int64_t i = 0; i < count; ++i) to[i] = cvtm_scalar_unpack(CVTM_F64, big, bytes + 8 * i);
  } else if (type == CVTM_I32) {
    for (int64_t i = 0; i < count; ++i) to[i] = cvtm_scalar_unpack(CVTM_I32, big, bytes + 4 * i);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = cvtm_scalar_unpack(type, big, bytes + size * (size_t)i);
  }
}

cvtm_status cvtm_source_values(cvtm_source *s, cvtm_scalar type, int64_t count, double **values) {
  *values = NULL;
  size_t rest = s->size - s->at;
  /* In text a value takes a digit and a blank, but the last needs no blank. */
  size_t most = s->binary ? rest / cvtm_scalar_size(type) : (rest + 1) / 2;
  if (count < 0 || (uint64_t)count > most) {
    return cvtm_source_fail(s, "%" PRId64 " values are claimed but the file is too short for them",
                            count);
  }
  double *v = malloc(((size_t)count + 1) * sizeof *v);
  if (v == NULL) return cvtm_source_no_memory(s);
  if (s->binary) {
    unpack_values(type, s->big, s->data + s->at, count, v);
    s->at += cvtm_scalar_size(type) * (size_t)count;
  }
  for (int64_t i = 0; i < count && !s->binary; ++i) {
    cvtm_status status = cvtm_source_value(s, type, &v[i]);
    if (status != CVTM_OK) {
      free(v);
      return status;
    }
  }
  *values = v;
  return CVTM_OK;
}

/* ---- builder ---- */

cvtm_status cvtm_builder_vertices(cvtm_builder *b, const double *place, int64_t count) {
  if (count > INT32_MAX - b->vertex_count) return cvtm_source_fail(b->source, "too many vertices");
  if (!cvtm_grow(&b->points, 2 * sizeof *b->points, &b->vertex_capacity, b->vertex_count + count))
    return cvtm_source_no_memory(b->source);
  if (b->vertex_count == 0 && count > 0) b->z = place[2];
  double *to = b->points + 2 * b->vertex_count;
  for (int64_t i = 0; i < count; ++i, place += 3) {
    if (!isfinite(place[0]) || !isfinite(place[1]) || !isfinite(place[2]))
      return cvtm_source_fail(b->source, "a coordinate is not finite");
    if (place[2] != b->z) return cvtm_source_fail(b->source, "the mesh is not planar: z varies");
    to[2 * i] = place[0];
    to[2 * i + 1] = place[1];
  }
  b->vertex_count += count;
  return CVTM_OK;
}

cvtm_status cvtm_builder_vertex(cvtm_builder *b, double x, double y, double z) {
  return cvtm_builder_vertices(b, (const double[3]){x, y, z}, 1);
}

static inline int names_vertex(const cvtm_builder *b, double index) {
  return index >= 0 && index < (double)b->vertex_count && index == (double)(int32_t)index;
}

cvtm_status cvtm_builder_triangle(cvtm_builder *b, const double index[3]) {
  for (int k = 0; k < 3; ++k) {
    if (!names_vertex(b, index[k]))
      return cvtm_source_fail(b->source, "a triangle names a vertex that does not exist");
  }
  if (!cvtm_grow(&b->triangles, 3 * sizeof *b->triangles, &b->triangle_capacity,
                 b->triangle_count + 1))
    return cvtm_source_no_memory(b->source);
  for (int k = 0; k < 3; ++k) b->triangles[3 * b->triangle_count + k] = (int32_t)index[k];
  ++b->triangle_count;
  return CVTM_OK;
}

cvtm_status cvtm_builder_middle(cvtm_builder *b, double index) {
  if (!names_vertex(b, index))
    return cvtm_source_fail(b->source, "a triangle names a node that does not exist");
  if (b->middle == NULL) b->middle = calloc((size_t)b->vertex_count, 1);
  if (b->middle == NULL) return cvtm_source_no_memory(b->source);
  b->middle[(int64_t)index] = 1;
  return CVTM_OK;
}

cvtm_status cvtm_builder_cells(cvtm_builder *b, int64_t cells, const double *ends,
                               const double *connectivity, int64_t corners, const double *types) {
  enum {
    VERTEX = 1,
    POLY_LINE = 4,
    TRIANGLE = 5,
    POLYGON = 7,
    QUADRATIC_EDGE = 21,
    QUADRATIC_TRIANGLE = 22
  };
  double start = 0;
  for (int64_t k = 0; k < cells; ++k) {
    double type = types[k];
    if (!(ends[k] >= start && ends[k] <= (double)corners) || ends[k] != (double)(int64_t)ends[k])
      return cvtm_source_fail(b->source, "the offsets of the cells are out of order");
    const int nodes = type == QUADRATIC_TRIANGLE ? 6 : 3;
    const double *node = connectivity + (int64_t)start;
    if ((type == TRIANGLE || type == POLYGON || type == QUADRATIC_TRIANGLE) &&
        ends[k] - start == nodes) {
      cvtm_status status = cvtm_builder_triangle(b, node);
      for (int c = 3; c < nodes && status == CVTM_OK; ++c) status = cvtm_builder_middle(b, node[c]);
      if (status != CVTM_OK) return status;
    } else if (!(type >= VERTEX && type <= POLY_LINE) && type != QUADRATIC_EDGE) {
      return cvtm_source_fail(b->source, "a cell is not a triangle");
    }
    start = ends[k];
  }
  return CVTM_OK;
}

/* ---- numbers in text ---- */

void cvtm_put_number(FILE *file, double value) {
  char text[CVTM_TEXT_NUMBER];
  fwrite(text, 1, (size_t)(cvtm_text_number(text, value) - text), file);
}

char *cvtm_text_point(char *to, char separator, const double *p) {
  to = cvtm_text_number(to, p[0]);
  *to++ = separator;
  return cvtm_text_number(to, p[1]);
}

char *cvtm_text_corners(char *to, const int32_t *v, int first) {
  for (int k = 0; k < 3; ++k) {
    if (k > 0) *to++ = ' ';
    to = cvtm_text_integer(to, (int64_t)v[k] + first);
  }
  *to++ = '\n';
  return to;
}

int cvtm_triangle_nodes(const cvtm_file_mesh *mesh, int64_t triangle, int32_t node[6]) {
  memcpy(node, mesh->triangles + 3 * triangle, 3 * sizeof *node);
  if (mesh->triangle_middle == NULL) return 3;
  memcpy(node + 3, mesh->triangle_middle + 3 * triangle, 3 * sizeof *node);
  return 6;
}

int cvtm_edge_nodes(const cvtm_file_mesh *mesh, int64_t edge, int32_t node[3]) {
  memcpy(node, mesh->regions->edges + 2 * edge, 2 * sizeof *node);
  if (mesh->edge_middle == NULL) return 2;
  node[2] = mesh->edge_middle[edge];
  return 3;
}
