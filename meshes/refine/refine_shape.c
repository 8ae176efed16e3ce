/* Shapes of triangles, and what the boundary's small angles excuse. */
#include "meshes/refine/refine_state.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

double cvtm_largest_cotangent(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c) {
  const double cross = (double)cvtm_orient(a, b, c);
  const double of_a = cvtm_dot_at(a, b, c), of_b = cvtm_dot_at(b, c, a),
               of_c = cvtm_dot_at(c, a, b);
  const double of_ab = of_a > of_b ? of_a : of_b;
  return (of_ab > of_c ? of_ab : of_c) / cross;
}

static cvtm_grid_point corner_place(const cvtm_refiner *r, int64_t t, int k) {
  return r->m.grid[r->m.corner[3 * t + k]];
}

double cvtm_triangle_cotangent(const cvtm_refiner *r, int64_t t) {
  return cvtm_largest_cotangent(corner_place(r, t, 0), corner_place(r, t, 1),
                                corner_place(r, t, 2));
}

int64_t cvtm_shortest_side(const cvtm_refiner *r, int64_t t) {
  int shortest = 0;
  double length[3];
  for (int k = 0; k < 3; ++k) {
    length[k] = cvtm_length2(corner_place(r, t, k), corner_place(r, t, (k + 1) % 3));
    if (length[k] < length[shortest]) shortest = k;
  }
  return 3 * t + shortest;
}

double cvtm_triangle_excess(const cvtm_refiner *r, int64_t t) {
  if (r->options->area == NULL) return 0;
  const cvtm_grid_point a = corner_place(r, t, 0), b = corner_place(r, t, 1),
                        c = corner_place(r, t, 2);
  const double step = r->frame.step, area = 0.5 * (double)cvtm_orient(a, b, c) * step * step;
  const double x = ((double)a.x + b.x + c.x) / 3, y = ((double)a.y + b.y + c.y) / 3;
  return area / r->options->area(r->options->area_context, r->m.region[t], r->frame.x + x * step,
                                 r->frame.y - y * step);
}

/* ---- Small angles ---- */

static int is_given(const cvtm_refiner *r, int32_t v) {
  return r->vertex[v].kind == CVTM_VERTEX_GIVEN;
}

/* The segments that a vertex is on: *count of them. */
static const int32_t *segments_of(const cvtm_refiner *r, int32_t v, int64_t *count) {
  if (is_given(r, v)) {
    *count = r->meeting[v + 1] - r->meeting[v];
    return r->met + r->meeting[v];
  }
  *count = r->vertex[v].segment >= 0;
  return &r->vertex[v].segment;
}

static int32_t common_end(const cvtm_refiner *r, int32_t s, int32_t t) {
  const int32_t *p = r->ends + 2 * (int64_t)s, *q = r->ends + 2 * (int64_t)t;
  if (p[0] == q[0] || p[0] == q[1]) return p[0];
  return p[1] == q[0] || p[1] == q[1] ? p[1] : -1;
}

/* The common end c of the segments s and t, if u on s and w on t are equally far from it and the
 * angle between them, *cotangent, is below 60 degrees; else -1. */
static int32_t shared_shell(const cvtm_refiner *r, int32_t s, int32_t t, int32_t u, int32_t w,
                            double *cotangent) {
  const int32_t c = s == t ? -1 : common_end(r, s, t);
  if (c < 0 || is_given(r, u) || is_given(r, w)) return -1;
  const cvtm_grid_point at = r->m.grid[c], p = r->m.grid[u], q = r->m.grid[w];
  const double pp = cvtm_length2(at, p), qq = cvtm_length2(at, q), pq = cvtm_dot_at(at, p, q);
  if (fabs(pp - qq) > 2e-3 * pp) return -1;
  *cotangent = pq / fabs((double)cvtm_orient(at, p, q));
  return pq > 0 && pq * pq > 0.2501 * pp * qq ? c : -1;
}

/* The given vertex at which the triangle has its smallest angle, between two segments. */
static int32_t corner_within(const cvtm_refiner *r, int64_t t, double *cotangent) {
  const cvtm_half_edges *m = &r->m;
  const int64_t before = cvtm_half_after(cvtm_shortest_side(r, t)), h = cvtm_half_after(before);
  const int32_t v = m->corner[h];
  if (m->segment[h] < 0 || m->segment[before] < 0 || !is_given(r, v)) return -1;
  *cotangent = cvtm_triangle_cotangent(r, t);
  return v;
}

/* Nonzero if fewer than two corners of a triangle are on the boundary. */
static int is_within(const cvtm_refiner *r, int64_t t) {
  int inside = 0;
  for (int k = 0; k < 3; ++k) {
    const int kind = r->vertex[r->m.corner[3 * t + k]].kind;
    inside += kind == CVTM_VERTEX_SITE || kind == CVTM_VERTEX_FREE;
  }
  return inside >= 2;
}

int32_t cvtm_small_corner_of(const cvtm_refiner *r, int64_t t, double *cotangent) {
  if (is_within(r, t)) return -1;
  const int64_t side = cvtm_shortest_side(r, t);
  const int32_t u = r->m.corner[side], w = cvtm_end_of(&r->m, side);
  int64_t of_u, of_w;
  int32_t corner = corner_within(r, t, cotangent);
  const int32_t *s = segments_of(r, u, &of_u), *q = segments_of(r, w, &of_w);
  for (int64_t i = 0; i < of_u && corner < 0; ++i) {
    for (int64_t k = 0; k < of_w && corner < 0; ++k)
      corner = shared_shell(r, s[i], q[k], u, w, cotangent);
  }
  return corner;
}

/* ---- Places on segments ---- */

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

double cvtm_segment_parameter(const cvtm_refiner *r, int32_t segment, cvtm_grid_point p) {
  const cvtm_grid_point a = r->m.grid[r->ends[2 * (int64_t)segment]],
                        b = r->m.grid[r->ends[2 * (int64_t)segment + 1]];
  return cvtm_dot_at(a, b, p) / cvtm_length2(a, b);
}

cvtm_grid_point cvtm_segment_place(const cvtm_refiner *r, int32_t segment, double s,
                                   double tolerance) {
  const cvtm_grid_point a = r->m.grid[r->ends[2 * (int64_t)segment]],
                        b = r->m.grid[r->ends[2 * (int64_t)segment + 1]];
  const int64_t dx = (int64_t)b.x - a.x, dy = (int64_t)b.y - a.y;
  const int64_t parts = common_divisor(dx < 0 ? -dx : dx, dy < 0 ? -dy : dy);
  const int64_t k = llround(s * (double)parts);
  if (fabs((double)k / (double)parts - s) <= tolerance)
    return (cvtm_grid_point){(int32_t)(a.x + dx / parts * k), (int32_t)(a.y + dy / parts * k)};
  cvtm_grid_point place = {(int32_t)(a.x + llround(s * (double)dx)),
                           (int32_t)(a.y + llround(s * (double)dy))};
  if (r->keeps_inside && r->borders_outside[segment] && cvtm_orient(a, b, place) < 0) {
    if (llabs(dx) >= llabs(dy))
      place.y += dx > 0 ? 1 : -1;
    else
      place.x -= dy > 0 ? 1 : -1;
  }
  return place;
}

/* ---- Changes ---- */

int cvtm_refine_is_over(cvtm_refiner *r) {
  enum { STEPS = 64 }; /* between two questions */
  if (r->stopped || r->options->stop == NULL || r->polls++ % STEPS != 0) return r->stopped;
  return r->stopped = r->options->stop(r->options->stop_context) != 0;
}

cvtm_status cvtm_list_changed(cvtm_refiner *r, int64_t mark) {
  const cvtm_half_edges *m = &r->m;
  const int64_t known = r->stamp_capacity;
  if (!cvtm_grow(&r->stamp, sizeof *r->stamp, &r->stamp_capacity, m->triangle_count) ||
      m->out_of_memory)
    return cvtm_fail(r->error, CVTM_ERROR_MEMORY, "no memory for the refinement");
  for (int64_t t = known; t < r->stamp_capacity; ++t) r->stamp[t] = 0;
  ++r->round;
  r->changed_count = 0;
  for (int64_t k = mark; k < m->change_count; ++k) {
    const int64_t t = m->changes[k].index / 3;
    if (m->changes[k].kind != CVTM_CHANGED_CORNER || m->corner[3 * t] < 0) continue;
    if (r->stamp[t] == r->round) continue;
    if (!cvtm_grow(&r->changed, sizeof *r->changed, &r->changed_capacity, r->changed_count + 1))
      return cvtm_fail(r->error, CVTM_ERROR_MEMORY, "no memory for the refinement");
    r->stamp[t] = r->round;
    r->changed[r->changed_count++] = t;
  }
  return CVTM_OK;
}
