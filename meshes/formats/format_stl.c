/* STL: triangles without shared vertices, in single precision (binary) or text. Flat
 * at z = 0, normals up. */
#include "meshes/formats/formats.h"

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
