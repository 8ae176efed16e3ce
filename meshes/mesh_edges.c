#include "meshes/mesh.h"

#include <stdlib.h>

/* An edge from vertex `low` to the larger vertex `high`. */
typedef struct edge {
  int32_t low, high;
} edge;

static int compare_edges(const void *a, const void *b) {
  const int32_t p = ((const edge *)a)->high, q = ((const edge *)b)->high;
  return (p > q) - (p < q);
}

/* Sorts the edges of one lower vertex by the other. */
static void sort_edges(edge *e, int64_t count) {
  if (count > 32) {
    qsort(e, (size_t)count, sizeof *e, compare_edges);
    return;
  }
  for (int64_t i = 1; i < count; ++i) {
    const edge moving = e[i];
    int64_t k = i;
    for (; k > 0 && e[k - 1].high > moving.high; --k) e[k] = e[k - 1];
    e[k] = moving;
  }
}

static edge edge_of(const cvtm_mesh *mesh, int64_t corner) {
  const int32_t a = mesh->triangles[corner];
  const int32_t b = mesh->triangles[corner % 3 == 2 ? corner - 2 : corner + 1];
  return a < b ? (edge){a, b} : (edge){b, a};
}

/* Sets e[] to the edges, by their lower vertices; start: vertex_count + 2 zeros. Returns how many
 * are left without those that were there twice. */
static int64_t list_edges(const cvtm_mesh *mesh, int64_t *start, edge *e) {
  const int64_t all = 3 * mesh->triangle_count, vertices = mesh->vertex_count;
  for (int64_t k = 0; k < all; ++k) start[edge_of(mesh, k).low + 2]++;
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  for (int64_t k = 0; k < all; ++k) {
    const edge next = edge_of(mesh, k);
    e[start[next.low + 1]++] = next;
  }
  int64_t kept = 0;
  for (int64_t v = 0; v < vertices; ++v) {
    sort_edges(e + start[v], start[v + 1] - start[v]);
    for (int64_t k = start[v]; k < start[v + 1]; ++k) {
      if (kept > 0 && e[kept - 1].low == v && e[kept - 1].high == e[k].high) continue;
      e[kept++] = e[k];
    }
  }
  return kept;
}

cvtm_status cvtm_mesh_edges(const cvtm_mesh *mesh, int32_t **edges, int64_t *count,
                            cvtm_error *error) {
  edge *e = malloc((3 * (size_t)mesh->triangle_count + 1) * sizeof *e);
  int64_t *start = calloc((size_t)mesh->vertex_count + 2, sizeof *start);
  int32_t *pairs = malloc((6 * (size_t)mesh->triangle_count + 1) * sizeof *pairs);
  if (e == NULL || start == NULL || pairs == NULL) {
    free(e);
    free(start);
    free(pairs);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the edges of a mesh");
  }
  *count = list_edges(mesh, start, e);
  for (int64_t k = 0; k < *count; ++k) {
    pairs[2 * k] = e[k].low;
    pairs[2 * k + 1] = e[k].high;
  }
  *edges = pairs;
  free(e);
  free(start);
  return CVTM_OK;
}
