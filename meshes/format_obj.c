/* Wavefront OBJ: lines of `v x y z` and `f a b c`, indices from 1, negative ones counted
 * from the last vertex. */
#include "meshes/formats.h"

#include <inttypes.h>

void cvtm_write_obj(FILE *file, const cvtm_file_mesh *m) {
  fputs("# cvtmesh\n", file);
  for (int64_t i = 0; i < m->vertex_count; ++i) {
    fputs("v ", file);
    cvtm_put_number(file, m->points[2 * i]);
    fputc(' ', file);
    cvtm_put_number(file, m->points[2 * i + 1]);
    fputs(" 0\n", file);
  }
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    const int32_t *v = m->triangles + 3 * t;
    fprintf(file, "f %" PRId64 " %" PRId64 " %" PRId64 "\n", (int64_t)v[0] + 1, (int64_t)v[1] + 1,
            (int64_t)v[2] + 1);
  }
}

static cvtm_status read_vertex(cvtm_source *s, cvtm_builder *b) {
  double v[3];
  for (int k = 0; k < 3; ++k) {
    cvtm_token token;
    if (!cvtm_source_line_token(s, &token) || !cvtm_token_number(token, &v[k])) {
      return cvtm_source_fail(s, "a vertex needs three numbers");
    }
  }
  return cvtm_builder_vertex(b, v[0], v[1], v[2]);
}

static cvtm_status read_face(cvtm_source *s, cvtm_builder *b) {
  double index[3];
  int corners = 0;
  cvtm_token token;
  while (cvtm_source_line_token(s, &token)) {
    if (corners == 3) return cvtm_source_fail(s, "a face is not a triangle");
    size_t length = 0; /* what follows a slash is a texture or a normal */
    while (length < token.length && token.text[length] != '/') ++length;
    token.length = length;
    if (!cvtm_token_number(token, &index[corners])) {
      return cvtm_source_fail(s, "malformed vertex index");
    }
    index[corners] += index[corners] < 0 ? (double)b->vertex_count : -1;
    ++corners;
  }
  if (corners != 3) return cvtm_source_fail(s, "a face is not a triangle");
  return cvtm_builder_triangle(b, index);
}

static int is_ignored(cvtm_token token) {
  static const char *const words[] = {"vn", "vt", "vp", "o",      "g",     "s",
                                      "p",  "l",  "mg", "mtllib", "usemtl"};
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
    if (cvtm_token_is(token, words[k])) return 1;
  }
  return 0;
}

cvtm_status cvtm_read_obj(cvtm_source *s, cvtm_builder *b) {
  s->comment = '#';
  cvtm_token token;
  while (cvtm_source_token(s, &token)) {
    cvtm_status status = CVTM_OK;
    if (cvtm_token_is(token, "v")) {
      status = read_vertex(s, b);
    } else if (cvtm_token_is(token, "f")) {
      status = read_face(s, b);
    } else if (!is_ignored(token)) {
      status = cvtm_source_fail(s, "unknown keyword");
    }
    if (status != CVTM_OK) return status;
    cvtm_source_end_line(s);
  }
  return CVTM_OK;
}
