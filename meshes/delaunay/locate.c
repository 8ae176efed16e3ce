#include "meshes/delaunay/locate.h"

#include "base/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_locator_free(cvtm_locator *l) {
  free(l->grid);
  free(l->corner);
  free(l->twin);
}

cvtm_status cvtm_locator_keep(const cvtm_half_edges *m, cvtm_locator *l, cvtm_error *error) {
  const size_t halves = 3 * (size_t)m->triangle_count, n = (size_t)m->vertex_count;
  *l = (cvtm_locator){.triangle_count = m->triangle_count,
                      .grid = malloc((n + 1) * sizeof *l->grid),
                      .corner = malloc((halves + 1) * sizeof *l->corner),
                      .twin = malloc((halves + 1) * sizeof *l->twin)};
  if (!l->grid || !l->corner || !l->twin) return cvtm_no_memory(error, "the triangulation");
  memcpy(l->grid, m->grid, n * sizeof *l->grid);
  memcpy(l->corner, m->corner, halves * sizeof *l->corner);
  memcpy(l->twin, m->twin, halves * sizeof *l->twin);
  return CVTM_OK;
}

/* How far a point is inside a triangle: the smallest cvtm_side_of of the three sides. */
static double depth_in(const cvtm_locator *l, int64_t t, double x, double y) {
  const int32_t *c = l->corner + 3 * t;
  double least = INFINITY;
  for (int k = 0; k < 3; ++k)
    least = fmin(least, cvtm_side_of(l->grid[c[k]], l->grid[c[(k + 1) % 3]], x, y));
  return least;
}

static int64_t walk_from(const cvtm_locator *l, int64_t t, double x, double y) {
  for (int64_t steps = 0; steps < l->triangle_count; ++steps) {
    int64_t out = -1;
    for (int64_t k = 0; k < 3 && out < 0;
         ++k) { /* the first side tested varies, which prevents endless cycles */
      const int64_t h = 3 * t + (k + steps) % 3;
      const cvtm_grid_point from = l->grid[l->corner[h]],
                            to = l->grid[l->corner[cvtm_half_after(h)]];
      if (cvtm_side_of(from, to, x, y) < 0) out = h;
    }
    if (out < 0) return t;
    if (l->twin[out] < 0) return -1;
    t = l->twin[out] / 3;
  }
  return -1;
}

int64_t cvtm_walk(cvtm_locator *l, double x, double y) {
  const int64_t found = l->corner[3 * l->last] < 0 ? -1 : walk_from(l, l->last, x, y);
  if (found >= 0) l->last = found;
  return found;
}

/* Of every k-th triangle, returns the one with the nearest corner; -1: all these are removed. */
static int64_t nearest_sample(const cvtm_locator *l, double x, double y) {
  const int64_t step = 1 + (int64_t)cbrt((double)l->triangle_count * (double)l->triangle_count);
  double best = INFINITY;
  int64_t found = -1;
  for (int64_t t = 0; t < l->triangle_count; t += step) {
    if (l->corner[3 * t] < 0) continue;
    const cvtm_grid_point at = l->grid[l->corner[3 * t]];
    const double distance = hypot(at.x - x, at.y - y);
    if (distance >= best) continue;
    best = distance;
    found = t;
  }
  return found;
}

static int64_t deepest(const cvtm_locator *l, double x, double y) {
  double best = -INFINITY;
  int64_t found = l->last;
  for (int64_t t = 0; t < l->triangle_count && best < 0; ++t) {
    const double depth = l->corner[3 * t] < 0 ? -INFINITY : depth_in(l, t, x, y);
    if (depth <= best) continue;
    best = depth;
    found = t;
  }
  return found;
}

int64_t cvtm_locate(cvtm_locator *l, double x, double y) {
  int64_t found = cvtm_walk(l, x, y);
  const int64_t start = found >= 0 ? -1 : nearest_sample(l, x, y);
  if (start >= 0) found = walk_from(l, start, x, y);
  return l->last = found >= 0 ? found : deepest(l, x, y);
}

void cvtm_interpolate(cvtm_locator *l, const cvtm_grid_frame *frame, const double place[2],
                      const double *given, int64_t count, double *values) {
  const double x = (place[0] - frame->x) / frame->step, y = (frame->y - place[1]) / frame->step;
  const int32_t *c = l->corner + 3 * cvtm_locate(l, x, y);
  double weight[3], sum = 0;
  for (int k = 0; k < 3; ++k) {
    weight[k] = fmax(cvtm_side_of(l->grid[c[(k + 1) % 3]], l->grid[c[(k + 2) % 3]], x, y), 0);
    sum += weight[k];
  }
  for (int64_t i = 0; i < count; ++i) {
    values[i] = 0;
    for (int k = 0; k < 3; ++k) values[i] += weight[k] / sum * given[count * c[k] + i];
  }
}
