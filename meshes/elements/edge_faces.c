#include "meshes/elements/edge_faces.h"

#include "meshes/elements/twins.h"

#include <stdlib.h>

/* An edge by its ends, in its direction. */
typedef struct directed_edge {
  int32_t from, to, edge;
} directed_edge;

static int compare_edges(const void *first, const void *second) {
  const directed_edge *a = first, *b = second;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

int cvtm_find_edge_faces(const int32_t *triangles, int64_t triangle_count, int64_t vertex_count,
                         const cvtm_regions *r, int64_t *face) {
  directed_edge *list = malloc((size_t)(r->edge_count + 1) * sizeof *list);
  char *begins = calloc((size_t)vertex_count + 1, 1);
  for (int64_t e = 0; list != NULL && begins != NULL && e < r->edge_count; ++e) {
    list[e] = (directed_edge){r->edges[2 * e], r->edges[2 * e + 1], (int32_t)e};
    begins[r->edges[2 * e]] = 1;
    face[e] = 0;
  }
  const int ready = list != NULL && begins != NULL;
  if (ready) qsort(list, (size_t)r->edge_count, sizeof *list, compare_edges);
  for (int64_t h = 0; ready && h < 3 * triangle_count; ++h) {
    if (!begins[triangles[h]]) continue;
    const directed_edge side = {triangles[h], triangles[cvtm_half_after(h)], 0};
    const directed_edge *found =
        bsearch(&side, list, (size_t)r->edge_count, sizeof *list, compare_edges);
    if (found != NULL) face[found->edge] = h;
  }
  free(list);
  free(begins);
  return ready;
}
