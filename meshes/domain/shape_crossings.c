#include "meshes/domain/shape_crossings.h"

#include "base/host.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/formats/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An edge that crosses others, from its corner to the next corner of the ring. */
typedef struct crossed_edge {
  double low, high; /* smallest and largest x */
  const double *from, *to;
  int64_t corner;
  int32_t shape;
} crossed_edge;

typedef struct crosser {
  cvtm_polygons *rings;
  crossed_edge *edges;
  int64_t edge_count;
  cvtm_new_corner *made;
  int64_t count, capacity;
} crosser;

/* For qsort. */
static int compare_crossed(const void *left, const void *right) {
  const crossed_edge *a = left, *b = right;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  return (a->corner > b->corner) - (a->corner < b->corner);
}

static double side_of(const double *a, const double *b, const double *p) {
  return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
}

/* If two edges cross, adds a new corner to both. Returns 0 if memory runs out. */
static int cross(crosser *c, const crossed_edge *e, const crossed_edge *f) {
  const double p = side_of(e->from, e->to, f->from), q = side_of(e->from, e->to, f->to);
  const double r = side_of(f->from, f->to, e->from), s = side_of(f->from, f->to, e->to);
  if (!((p < 0 && q > 0) || (p > 0 && q < 0)) || !((r < 0 && s > 0) || (r > 0 && s < 0))) return 1;
  const double t = r / (r - s), u = p / (p - q);
  const double x = e->from[0] + t * (e->to[0] - e->from[0]),
               y = e->from[1] + t * (e->to[1] - e->from[1]);
  if (!cvtm_grow(&c->made, sizeof *c->made, &c->capacity, c->count + 2)) return 0;
  c->made[c->count++] = (cvtm_new_corner){e->corner, t, {x, y}, 0};
  c->made[c->count++] = (cvtm_new_corner){f->corner, u, {x, y}, 0};
  return 1;
}

/* Crosses all pairs of edges of different shapes, unless there are so many edges that this would
 * take more than a second; the caller then refuses them. Returns 0 if memory runs out. */
static int cross_all(crosser *c) {
  const int64_t most = 30000;
  int is_good = 1;
  if (c->edge_count > most) return 1;
  qsort(c->edges, (size_t)c->edge_count, sizeof *c->edges, compare_crossed);
  for (int64_t i = 0; i < c->edge_count && is_good; ++i) {
    for (int64_t k = i + 1; k < c->edge_count && c->edges[k].low <= c->edges[i].high && is_good;
         ++k)
      if (c->edges[i].shape != c->edges[k].shape) is_good = cross(c, &c->edges[i], &c->edges[k]);
  }
  return is_good;
}

/* Lists the edges that cross others. */
static cvtm_status list_crossed(crosser *c, const int32_t *shape, cvtm_error *error) {
  const cvtm_polygons *rings = c->rings;
  const size_t n = (size_t)rings->start[rings->ring_count];
  int32_t *ends = malloc((2 * n + 1) * sizeof *ends), *of = malloc((n + 1) * sizeof *of);
  uint8_t *crossed = malloc(n + 1);
  c->edges = malloc((n + 1) * sizeof *c->edges);
  cvtm_status status = ends && of && crossed && c->edges ? CVTM_OK : cvtm_no_memory(error, "rings");
  int64_t found = 0, count = 0;
  for (int64_t r = 0; r < rings->ring_count && status == CVTM_OK; ++r) {
    const int64_t first = rings->start[r], end = rings->start[r + 1];
    for (int64_t v = first; v < (end - first < 3 ? end - 1 : end); ++v) {
      ends[2 * count] = (int32_t)v;
      ends[2 * count + 1] = (int32_t)(v + 1 < end ? v + 1 : first);
      of[count++] = shape[r];
    }
  }
  if (status == CVTM_OK)
    status = cvtm_find_crossed(rings->points, (int64_t)n, ends, count, crossed, &found, error);
  for (int64_t e = 0; e < count && status == CVTM_OK; ++e) {
    const double *p = rings->points + 2 * (int64_t)ends[2 * e],
                 *q = rings->points + 2 * (int64_t)ends[2 * e + 1];
    if (crossed[e])
      c->edges[c->edge_count++] =
          (crossed_edge){fmin(p[0], q[0]), fmax(p[0], q[0]), p, q, ends[2 * e], of[e]};
  }
  free(ends);
  free(of);
  free(crossed);
  return status;
}

cvtm_status cvtm_shapes_cross(cvtm_polygons *rings, const int32_t *shape, int64_t *found,
                              cvtm_error *error) {
  crosser c = {.rings = rings};
  cvtm_status status = list_crossed(&c, shape, error);
  if (status == CVTM_OK &&
      !(cross_all(&c) && (c.count == 0 || cvtm_rings_insert(rings, c.made, c.count))))
    status = cvtm_no_memory(error, "the rings");
  *found = c.count / 2;
  free(c.edges);
  free(c.made);
  return status;
}
