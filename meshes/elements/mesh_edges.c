#include "base/large_pages.h"
#include "meshes/mesh.h"

#include <stdlib.h>

static int compare_vertices(const void *a, const void *b) {
  const int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
  return (p > q) - (p < q);
}

static void sort_vertices(int32_t *v, int64_t count) {
  if (count > 32) {
    qsort(v, (size_t)count, sizeof *v, compare_vertices);
    return;
  }
  for (int64_t i = 1; i < count; ++i) {
    const int32_t moving = v[i];
    int64_t k = i;
    for (; k > 0 && v[k - 1] > moving; --k) v[k] = v[k - 1];
    v[k] = moving;
  }
}

/* The lower and the higher end of a side of a triangle. */
typedef struct side {
  int32_t low, high;
} side;

static inline side side_of(const int32_t *corners, int k) {
  const int32_t one = corners[k], other = corners[k < 2 ? k + 1 : 0];
  return one < other ? (side){one, other} : (side){other, one};
}

/* Sets pairs to the edges, sorted by the lower and then the higher vertex. start: vertex_count + 2
 * zeros; higher: room for three vertices of each triangle. Returns the number of edges. */
static int64_t list_edges(const cvtm_mesh *mesh, int64_t *start, int32_t *higher, int32_t *pairs) {
  const int64_t vertices = mesh->vertex_count;
  for (int64_t t = 0; t < mesh->triangle_count; ++t)
    for (int k = 0; k < 3; ++k) start[side_of(mesh->triangles + 3 * t, k).low + 2]++;
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    for (int k = 0; k < 3; ++k) {
      const side s = side_of(mesh->triangles + 3 * t, k);
      higher[start[s.low + 1]++] = s.high;
    }
  }
  int64_t kept = 0;
  for (int64_t v = 0; v < vertices; ++v) {
    sort_vertices(higher + start[v], start[v + 1] - start[v]);
    for (int64_t k = start[v]; k < start[v + 1]; ++k) {
      if (k > start[v] && higher[k] == higher[k - 1]) continue; /* two triangles share the side */
      pairs[2 * kept] = (int32_t)v;
      pairs[2 * kept + 1] = higher[k];
      ++kept;
    }
  }
  return kept;
}

cvtm_status cvtm_mesh_edges(const cvtm_mesh *mesh, int32_t **edges, int64_t *count,
                            cvtm_error *error) {
  const size_t sides = 3 * (size_t)mesh->triangle_count + 1;
  int32_t *higher = malloc(sides * sizeof *higher), *pairs = malloc(2 * sides * sizeof *pairs);
  int64_t *start = calloc((size_t)mesh->vertex_count + 2, sizeof *start);
  cvtm_prefer_large_pages(higher, sides * sizeof *higher);
  cvtm_prefer_large_pages(pairs, 2 * sides * sizeof *pairs);
  const int good = higher != NULL && start != NULL && pairs != NULL;
  if (good) {
    *count = list_edges(mesh, start, higher, pairs);
    *edges = pairs;
  } else {
    free(pairs);
  }
  free(higher);
  free(start);
  if (good) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the edges of a mesh");
}
