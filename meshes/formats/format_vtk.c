/* Legacy VTK: text or big-endian binary. Written as an unstructured grid of version 3.0,
 * which every reader knows; read as that, with the offsets of version 5, or as polygons. */
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *append_value(char *to, const cvtm_file_mesh *m, cvtm_scalar type, double value,
                          char separator) {
  if (!m->ascii) return cvtm_text_scalar(to, type, 1, value);
  to = cvtm_text_number(to, value);
  *to++ = separator;
  return to;
}

static char *put_point(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = append_value(to, m, CVTM_F64, m->points[2 * i], ' ');
  to = append_value(to, m, CVTM_F64, m->points[2 * i + 1], ' ');
  return append_value(to, m, CVTM_F64, 0, '\n');
}

/* A mesh without triangles shows its vertices: several readers fail on a file without cells. */
static char *put_cell(char *to, const void *context, int64_t t) {
  const cvtm_file_mesh *m = context;
  int32_t node[6] = {(int32_t)t};
  const int corners = m->triangle_count > 0 ? cvtm_triangle_nodes(m, t, node) : 1;
  to = append_value(to, m, CVTM_I32, corners, ' ');
  for (int k = 0; k < corners; ++k)
    to = append_value(to, m, CVTM_I32, node[k], k + 1 < corners ? ' ' : '\n');
  return to;
}

static char *put_type(char *to, const void *context, int64_t t) {
  enum { VERTEX = 1, TRIANGLE = 5, QUADRATIC_TRIANGLE = 22 };
  const cvtm_file_mesh *m = context;
  (void)t;
  const int triangle = m->triangle_middle != NULL ? QUADRATIC_TRIANGLE : TRIANGLE;
  return append_value(to, m, CVTM_I32, m->triangle_count > 0 ? triangle : VERTEX, '\n');
}

static char *put_value(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  return append_value(to, m, CVTM_F64, i < m->vertex_count ? m->value[i] : 0, '\n');
}

void cvtm_write_vtk(FILE *file, const cvtm_file_mesh *m) {
  enum { MOST = CVTM_TEXT_NUMBER + 1 };
  const int64_t cells = m->triangle_count > 0 ? m->triangle_count : m->vertex_count;
  fprintf(file,
          "# vtk DataFile Version 3.0\ncvtmesh\n%s\nDATASET UNSTRUCTURED_GRID\nPOINTS %" PRId64
          " double\n",
          m->ascii ? "ASCII" : "BINARY", m->node_count);
  cvtm_write_items(file, m->node_count, 3 * MOST, put_point, m);
  fprintf(file, "\nCELLS %" PRId64 " %" PRId64 "\n", cells,
          (m->triangle_count == 0       ? 2
           : m->triangle_middle != NULL ? 7
                                        : 4) *
              cells);
  cvtm_write_items(file, cells, 7 * MOST, put_cell, m);
  fprintf(file, "\nCELL_TYPES %" PRId64 "\n", cells);
  cvtm_write_items(file, cells, MOST, put_type, m);
  if (m->value == NULL) return;
  fprintf(file, "\nPOINT_DATA %" PRId64 "\nSCALARS %s double 1\nLOOKUP_TABLE default\n",
          m->node_count, m->value_name);
  cvtm_write_items(file, m->node_count, MOST, put_value, m);
  fputc('\n', file);
}
