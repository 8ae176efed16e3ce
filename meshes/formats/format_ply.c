/* Stanford PLY 1.0: text or little-endian (the default here). */
#include "meshes/formats/formats.h"

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
