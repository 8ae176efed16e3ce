/* Input decks of Abaqus and CalculiX: the mesh part: plane stress triangles (CPS3, CPS6), an
 * element set for each region, and for each part of the boundary a set of nodes and a surface of
 * element edges, all with the names of the groups. CalculiX CrunchiX User's Manual, *NODE,
 * *ELEMENT, *NSET, *ELSET, *SURFACE. */
#include "meshes/formats/file_sets.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <string.h>

static char *node_line(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_word(cvtm_text_integer(to, i + 1), ", ");
  to = cvtm_text_word(cvtm_text_number(to, m->points[2 * i]), ", ");
  return cvtm_text_word(cvtm_text_number(to, m->points[2 * i + 1]), ", 0\n");
}

/* Elements from `first` on. */
typedef struct element_lines {
  const cvtm_file_mesh *mesh;
  int64_t first;
} element_lines;

static char *element_line(char *to, const void *context, int64_t k) {
  const element_lines *lines = context;
  int32_t node[6];
  const int count = cvtm_triangle_nodes(lines->mesh, lines->first + k, node);
  to = cvtm_text_integer(to, lines->first + k + 1);
  for (int c = 0; c < count; ++c)
    to = cvtm_text_integer(cvtm_text_word(to, ", "), (int64_t)node[c] + 1);
  *to++ = '\n';
  return to;
}

static void write_region(FILE *file, const cvtm_file_mesh *m, const char *name, int64_t first,
                         int64_t end) {
  const element_lines lines = {m, first};
  fprintf(file, "*ELEMENT, TYPE=%s, ELSET=%s\n", m->triangle_middle != NULL ? "CPS6" : "CPS3",
          name);
  cvtm_write_items(file, end - first, 7 * (CVTM_TEXT_INTEGER + 2), element_line, &lines);
}

static void write_regions(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  int64_t first = 0;
  if (r == NULL) write_region(file, m, "region-1", 0, m->triangle_count);
  for (int32_t g = 0; r != NULL && g < r->area_group_count; ++g) {
    int64_t end = first;
    while (end < m->triangle_count && r->region[end] == r->area_groups[g].tag) ++end;
    write_region(file, m, r->area_groups[g].name, first, end);
    first = end;
  }
}

static void write_boundary(FILE *file, const cvtm_file_mesh *m, int32_t g) {
  enum { IN_A_LINE = 12 };
  const cvtm_regions *r = m->regions;
  const cvtm_file_sets *sets = m->sets;
  fprintf(file, "*NSET, NSET=%s\n", r->line_groups[g].name);
  for (int64_t k = sets->start[g]; k < sets->start[g + 1]; ++k) {
    const int last =
        k + 1 == sets->start[g + 1] || (k - sets->start[g]) % IN_A_LINE == IN_A_LINE - 1;
    fprintf(file, "%" PRId64 "%s", (int64_t)sets->nodes[k] + 1, last ? "\n" : ", ");
  }
  fprintf(file, "*SURFACE, NAME=%s, TYPE=ELEMENT\n", r->line_groups[g].name);
  for (int64_t e = 0; e < r->edge_count; ++e) {
    if (r->group[e] != r->line_groups[g].tag) continue;
    fprintf(file, "%" PRId64 ", S%d\n", sets->face[e] / 3 + 1, (int)(sets->face[e] % 3) + 1);
  }
}

void cvtm_write_inp(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "*HEADING\nmesh of cvtmesh: %" PRId64 " nodes, %" PRId64 " triangles\n",
          m->node_count, m->triangle_count);
  fputs("*NODE, NSET=nodes\n", file);
  cvtm_write_items(file, m->node_count, CVTM_TEXT_INTEGER + CVTM_TEXT_POINT + 8, node_line, m);
  if (m->triangle_count > 0) write_regions(file, m);
  for (int32_t g = 0; m->sets != NULL && g < m->regions->line_group_count; ++g)
    write_boundary(file, m, g);
}
