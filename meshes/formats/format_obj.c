/* Wavefront OBJ: lines of `v x y z` and `f a b c`, indices from 1, negative ones counted
 * from the last vertex. */
#include "meshes/formats/formats.h"

static char *vertex_line(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_word(to, "v ");
  to = cvtm_text_point(to, ' ', m->points + 2 * i);
  return cvtm_text_word(to, " 0\n");
}

static char *face_line(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_corners(cvtm_text_word(to, "f "), m->triangles + 3 * t, 1);
}

void cvtm_write_obj(FILE *file, const cvtm_file_mesh *m) {
  fputs("# cvtmesh\n", file);
  cvtm_write_items(file, m->vertex_count, CVTM_TEXT_POINT + 5, vertex_line, m);
  cvtm_write_items(file, m->triangle_count, CVTM_TEXT_CORNERS + 2, face_line, m);
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
