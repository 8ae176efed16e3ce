/* Inside grid_lines.c only: chunks of a line, their bounds, and sums over lanes. */
#ifndef CVTMESH_LCP_GRID_GRID_LINES_VECTORS_H
#define CVTMESH_LCP_GRID_GRID_LINES_VECTORS_H

#include "base/vectors.h"
#include "lcp/grid/grid_lines.h"

#include <string.h>

/* Nodes of a chunk; lanes of partial sums along a line, whose number divides them. */
enum { CHUNK = 256, LANES = 32 };

/* Lines outside a grid, and bounds that do not exist. */
static const double zeros[CHUNK] = {0};
static const double plus_infinity[CHUNK + 1] = {[0 ... CHUNK] = (double)INFINITY};
static const double minus_infinity[CHUNK + 1] = {[0 ... CHUNK] = -(double)INFINITY};

CVTM_INLINE int64_t chunk_of(int64_t first, int64_t end) {
  return end - first < CHUNK ? end - first : CHUNK;
}

/* The bounds of the nodes of a chunk. */
typedef struct bounds {
  const double *lower, *upper;
} bounds;

CVTM_INLINE bounds bounds_from(const cvtm_grid_problem *p, int64_t k) {
  const bounds b = {p->lower ? p->lower + k : minus_infinity,
                    p->upper ? p->upper + k : plus_infinity};
  return b;
}

CVTM_INLINE double clip_at(bounds b, int64_t i, double value) {
  return cvtm_lcp_clip(value, b.lower[i], b.upper[i]);
}

CVTM_INLINE int is_at_bound(bounds b, int64_t i, double value) {
  return (value <= b.lower[i]) | (value >= b.upper[i]);
}

/* Appends zeros up to a whole number of lanes. */
CVTM_INLINE int64_t fill_lanes(double *value, int64_t count) {
  const int64_t whole = (count + LANES - 1) / LANES * LANES;
  for (int64_t i = count; i < whole; ++i) value[i] = 0;
  return whole;
}

CVTM_INLINE double sum_of_lanes(double lane[LANES]) {
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

#endif
