#include "meshes/elements/twins.h"

#include <stdlib.h>

/* Half-edges (from; NULL: all) sorted by the vertex where they begin or end, without changing the
 * order of equals. Those of vertex v are to[start[v]] .. to[start[v + 1] - 1]. */
static void sort_halves(const int32_t *corners, int by_end, const int64_t *from, int64_t halves,
                        int64_t vertices, int64_t *start, int64_t *to) {
  for (int64_t v = 0; v < vertices + 2; ++v) start[v] = 0;
  for (int64_t h = 0; h < halves; ++h) ++start[corners[h] + 2];
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  for (int64_t k = 0; k < halves; ++k) {
    const int64_t h = from != NULL ? from[k] : k;
    to[start[corners[by_end ? cvtm_half_after(h) : h] + 1]++] = h;
  }
}

/* Of the half-edges leaving[low .. high - 1], in the order of their ends, the last that ends in
 * `end`; -1: none does. */
static int64_t last_ending(const int32_t *corners, const int64_t *leaving, int64_t low,
                           int64_t high, int32_t end) {
  const int64_t first = low;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (corners[cvtm_half_after(leaving[middle])] <= end) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const int64_t found = low > first ? leaving[low - 1] : -1;
  return found >= 0 && corners[cvtm_half_after(found)] == end ? found : -1;
}

/* The half-edges that leave each vertex are listed by their ends, and each edge looks up its
 * reverse: a vertex may have any number of triangles. */
cvtm_status cvtm_find_twins(const int32_t *corners, int64_t triangles, int64_t vertices,
                            int64_t *twin, int64_t *at, cvtm_error *error) {
  const int64_t halves = 3 * triangles;
  int64_t *start = malloc(((size_t)vertices + 2) * sizeof *start);
  int64_t *by_end = malloc(((size_t)halves + 1) * sizeof *by_end);
  int64_t *leaving = malloc(((size_t)halves + 1) * sizeof *leaving);
  cvtm_status status = CVTM_OK;
  if (start == NULL || by_end == NULL || leaving == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the edges of %lld triangles",
                       (long long)triangles);
  } else {
    sort_halves(corners, 1, NULL, halves, vertices, start, by_end);
    sort_halves(corners, 0, by_end, halves, vertices, start, leaving);
    for (int64_t v = 0; v < vertices; ++v) at[v] = -1;
    for (int64_t h = halves - 1; h >= 0; --h) at[corners[h]] = h;
    for (int64_t h = 0; h < halves; ++h) {
      const int32_t to = corners[cvtm_half_after(h)];
      twin[h] = last_ending(corners, leaving, start[to], start[to + 1], corners[h]);
    }
  }
  free(start);
  free(by_end);
  free(leaving);
  return status;
}
