#include "meshes/twins.h"

#include <stdlib.h>

/* The half-edges that leave each vertex are listed, and each edge looks up its reverse. */
cvtm_status cvtm_find_twins(const int32_t *corners, int64_t triangles, int64_t vertices,
                            int64_t *twin, int64_t *at, cvtm_error *error) {
  const int64_t halves = 3 * triangles;
  int64_t *start = calloc((size_t)vertices + 2, sizeof *start);
  int64_t *leaving = malloc(((size_t)halves + 1) * sizeof *leaving);
  if (start == NULL || leaving == NULL) {
    free(start);
    free(leaving);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the edges of %lld triangles",
                     (long long)triangles);
  }
  for (int64_t h = 0; h < halves; ++h) ++start[corners[h] + 2];
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  for (int64_t h = 0; h < halves; ++h) leaving[start[corners[h] + 1]++] = h;
  for (int64_t v = 0; v < vertices; ++v) at[v] = start[v] < start[v + 1] ? leaving[start[v]] : -1;
  for (int64_t h = 0; h < halves; ++h) {
    const int32_t from = corners[h], to = corners[cvtm_half_after(h)];
    twin[h] = -1;
    for (int64_t k = start[to]; k < start[to + 1]; ++k) {
      if (corners[cvtm_half_after(leaving[k])] == from) twin[h] = leaving[k];
    }
  }
  free(start);
  free(leaving);
  return CVTM_OK;
}
