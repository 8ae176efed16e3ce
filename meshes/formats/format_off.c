/* Object File Format of Geomview: `OFF`, the counts, vertices, faces. */
#include "meshes/formats/formats.h"

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
