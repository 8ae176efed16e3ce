/* The boundary in a .poly file of Shewchuk's Triangle: vertices and segments; what is inside
 * follows the even-odd rule, so that the points in holes say nothing new. */
#include "meshes/formats/polygon_rings.h"
#include "meshes/formats/triangle_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct segments {
  cvtm_source *source;
  int64_t count;
  int32_t *end;    /* 2 per segment */
  int64_t *start;  /* per vertex and one more: its first entry in `beside` */
  int32_t *beside; /* segments by vertex */
  uint8_t *used;   /* per segment */
} segments;

/* A segment with equal ends is left out, as in Triangle. */
static cvtm_status read_ends(cvtm_source *s, const cvtm_triangle_vertices *vertices,
                             int64_t markers, int64_t *count, int32_t *end) {
  const int64_t listed = *count;
  cvtm_status status = CVTM_OK;
  *count = 0;
  for (int64_t k = 0; k < listed && status == CVTM_OK; ++k) {
    double value[4];
    for (int64_t c = 0; c < 3 + markers && status == CVTM_OK; ++c)
      status = cvtm_source_value(s, CVTM_F64, &value[c]);
    for (int c = 0; c < 2 && status == CVTM_OK; ++c) {
      const double v = value[c + 1] - vertices->first;
      if (!(v >= 0 && v < (double)vertices->count) || v != (double)(int64_t)v)
        return cvtm_source_fail(s, "a segment names a vertex that does not exist");
      end[2 * *count + c] = (int32_t)v;
    }
    if (status == CVTM_OK && end[2 * *count] != end[2 * *count + 1]) ++*count;
  }
  s->skipped = listed - *count;
  return status;
}

static cvtm_status list_segments(segments *g, const cvtm_triangle_vertices *vertices) {
  const int64_t n = vertices->count;
  for (int64_t k = 0; k < 2 * g->count; ++k) ++g->start[g->end[k] + 1];
  for (int64_t v = 0; v < n; ++v) {
    if (g->start[v + 1] % 2 != 0) {
      return cvtm_source_fail(g->source,
                              "the segments are no closed rings: vertex %" PRId64 " has %" PRId64,
                              v + (int64_t)vertices->first, g->start[v + 1]);
    }
    g->start[v + 1] += g->start[v];
  }
  for (int64_t k = 2 * g->count - 1; k >= 0; --k) /* start[v + 1] moves down to its first entry */
    g->beside[--g->start[g->end[k] + 1]] = (int32_t)(k / 2);
  for (int64_t v = 0; v < n; ++v) g->start[v] = g->start[v + 1];
  g->start[n] = 2 * g->count;
  return CVTM_OK;
}

/* An unused segment at vertex v; -1: there is none. */
static int32_t next_segment(const segments *g, int32_t v) {
  for (int64_t k = g->start[v]; k < g->start[v + 1]; ++k)
    if (!g->used[g->beside[k]]) return g->beside[k];
  return -1;
}

/* Walks from `first` along unused segments until it is there again and none is left. */
static cvtm_status walk_rings(segments *g, int32_t first, const double *points,
                              cvtm_ring_collector *c) {
  int32_t segment, v = first;
  while ((segment = next_segment(g, v)) >= 0) {
    const cvtm_status status =
        cvtm_ring_add_point(c, points[2 * (int64_t)v], points[2 * (int64_t)v + 1]);
    if (status != CVTM_OK) return status;
    const int32_t *end = g->end + 2 * (int64_t)segment;
    g->used[segment] = 1;
    v = end[0] == v ? end[1] : end[0];
  }
  return cvtm_ring_close(c);
}

static cvtm_status find_rings(segments *g, const cvtm_triangle_vertices *vertices,
                              cvtm_ring_collector *c) {
  const size_t n = (size_t)vertices->count + 2, m = (size_t)g->count + 1;
  g->start = calloc(n, sizeof *g->start);
  g->beside = malloc(2 * m * sizeof *g->beside);
  g->used = calloc(m, 1);
  cvtm_status status = CVTM_OK;
  if (!g->start || !g->beside || !g->used) {
    status = cvtm_source_no_memory(g->source);
  } else {
    status = list_segments(g, vertices);
    for (int64_t k = 0; k < g->count && status == CVTM_OK; ++k)
      if (!g->used[k]) status = walk_rings(g, g->end[2 * k], vertices->points, c);
  }
  free(g->start);
  free(g->beside);
  free(g->used);
  return status;
}

/* Numbers that follow on the next line that has any. */
static int count_on_line(cvtm_source s) {
  cvtm_token token;
  int count = 0;
  if (!cvtm_source_token(&s, &token)) return 0;
  do ++count;
  while (cvtm_source_line_token(&s, &token));
  return count;
}

static cvtm_status read_segments(cvtm_source *s, const cvtm_triangle_vertices *vertices,
                                 int32_t **ends, int64_t *count) {
  int64_t markers = 0;
  cvtm_status status =
      cvtm_source_integer(s, CVTM_I64, 0, INT32_MAX / 2, "number of segments", count);
  if (status == CVTM_OK) status = cvtm_source_integer(s, CVTM_I64, 0, 1, "markers", &markers);
  if (status != CVTM_OK) return status;
  if ((uint64_t)*count > s->size)
    return cvtm_source_fail(s, "more segments are claimed than the file can hold");
  *ends = malloc(2 * ((size_t)*count + 1) * sizeof **ends);
  if (*ends == NULL) return cvtm_source_no_memory(s);
  return read_ends(s, vertices, markers, count, *ends);
}

cvtm_status cvtm_triangle_read_graph(cvtm_source *s, cvtm_triangle_vertices *vertices,
                                     int32_t **ends, int64_t *count) {
  cvtm_triangle_vertices none;
  *ends = NULL;
  cvtm_status status = cvtm_triangle_read_vertices(s, vertices);
  if (status != CVTM_OK) return status;
  /* After the vertices of a .node file, the empty list that refers to them. */
  if (count_on_line(*s) > 2) {
    status = cvtm_triangle_read_vertices(s, &none);
    if (status == CVTM_OK && none.count > 0)
      status = cvtm_source_fail(s, "vertices are listed twice");
    free(none.points);
  }
  return status == CVTM_OK ? read_segments(s, vertices, ends, count) : status;
}

cvtm_status cvtm_read_polygons_poly(cvtm_source *s, cvtm_ring_collector *c) {
  cvtm_triangle_vertices vertices;
  segments g = {.source = s};
  cvtm_status status = cvtm_triangle_read_graph(s, &vertices, &g.end, &g.count);
  if (status == CVTM_OK) status = find_rings(&g, &vertices, c);
  free(g.end);
  free(vertices.points);
  return status;
}
