/* Object File Format of Geomview: `OFF`, the counts, vertices, faces. What follows a
 * face's corners on its line (a colour) is ignored. */
#include "meshes/formats.h"

#include <inttypes.h>

static char *vertex_line(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_word(cvtm_text_point(to, ' ', m->points + 2 * i), " 0\n");
}

static char *face_line(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  return cvtm_text_corners(cvtm_text_word(to, "3 "), m->triangles + 3 * t, 0);
}

void cvtm_write_off(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "OFF\n%" PRId64 " %" PRId64 " 0\n", m->vertex_count, m->triangle_count);
  cvtm_write_items(file, m->vertex_count, CVTM_TEXT_POINT + 3, vertex_line, m);
  cvtm_write_items(file, m->triangle_count, CVTM_TEXT_CORNERS + 2, face_line, m);
}

static cvtm_status read_vertices(cvtm_source *s, cvtm_builder *b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double v[3];
    for (int k = 0; k < 3; ++k) {
      cvtm_status status = cvtm_source_value(s, CVTM_F64, &v[k]);
      if (status != CVTM_OK) return status;
    }
    cvtm_status status = cvtm_builder_vertex(b, v[0], v[1], v[2]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

static cvtm_status read_face(cvtm_source *s, cvtm_builder *b) {
  double corners, index[3];
  cvtm_status status = cvtm_source_value(s, CVTM_I32, &corners);
  if (status != CVTM_OK) return status;
  if (corners != 3) return cvtm_source_fail(s, "a face is not a triangle");
  for (int k = 0; k < 3; ++k) {
    status = cvtm_source_value(s, CVTM_I32, &index[k]);
    if (status != CVTM_OK) return status;
  }
  status = cvtm_builder_triangle(b, index);
  cvtm_source_end_line(s);
  return status;
}

cvtm_status cvtm_read_off(cvtm_source *s, cvtm_builder *b) {
  s->comment = '#';
  int64_t vertices = 0, faces = 0, edges;
  cvtm_status status = cvtm_source_expect(s, "OFF");
  if (status == CVTM_OK) {
    status = cvtm_source_integer(s, CVTM_I64, 0, INT32_MAX, "number of vertices", &vertices);
  }
  if (status == CVTM_OK) {
    status = cvtm_source_integer(s, CVTM_I64, 0, UINT32_MAX, "number of faces", &faces);
  }
  if (status == CVTM_OK) {
    status = cvtm_source_integer(s, CVTM_I64, 0, INT64_MAX, "number of edges", &edges);
  }
  if (status == CVTM_OK) status = read_vertices(s, b, vertices);
  for (int64_t t = 0; t < faces && status == CVTM_OK; ++t) status = read_face(s, b);
  if (status != CVTM_OK) return status;
  cvtm_token token;
  if (cvtm_source_token(s, &token)) return cvtm_source_fail(s, "text after the last face");
  return CVTM_OK;
}
