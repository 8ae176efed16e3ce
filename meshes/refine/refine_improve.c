/* Moves and removals of vertices that leave no triangle bad. */
#include "base/host.h"
#include "base/geometry.h"
#include "base/portable.h"
#include "meshes/refine/refine_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 24, MOST_CORNERS = 80, CUTS = 16 };

/* ---- Good positions of a vertex ---- */

/* The triangles around a vertex. Link k is the edge opposite the vertex in triangle k, from (ax,
 * ay) to (bx, by), counterclockwise, in grid steps relative to the vertex. area: twice the largest
 * area allowed for the triangle. */
typedef struct star {
  int count;
  double ax[MOST_LINKS], ay[MOST_LINKS], bx[MOST_LINKS], by[MOST_LINKS], area[MOST_LINKS];
} star;

/* fmax and fmin for numbers that are not NaN, which compile to one instruction. */
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

static int find_star(const cvtm_refiner *r, int32_t v, star *s) {
  const cvtm_half_edges *m = &r->m;
  const cvtm_grid_point at = m->grid[v];
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  s->count = 0;
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    if (s->count == MOST_LINKS) return 0;
    const cvtm_grid_point a = m->grid[cvtm_end_of(m, h)], b = m->grid[cvtm_apex_of(m, h)];
    const int k = s->count++;
    s->ax[k] = (double)a.x - at.x;
    s->ay[k] = (double)a.y - at.y;
    s->bx[k] = (double)b.x - at.x;
    s->by[k] = (double)b.y - at.y;
    const double excess = cvtm_triangle_excess(r, h / 3);
    s->area[k] = excess > 0 ? (s->ax[k] * s->by[k] - s->ay[k] * s->bx[k]) / excess : INFINITY;
  }
  return 1;
}

/* A half-plane nx x + ny y <= offset. In the intersection of the half-planes of a link, the angles
 * at the link's ends have at most the cotangent, and the area is at most the cap. */
typedef struct half_plane {
  double nx, ny, offset;
} half_plane;

static int link_half_planes(const star *s, int k, double cotangent, half_plane planes[3]) {
  const double ux = s->bx[k] - s->ax[k], uy = s->by[k] - s->ay[k];
  /* cross (p) = u x (p - a), twice the area; at a: u . (p - a) <= cotangent * cross (p) */
  const double cx = -uy, cy = ux;
  const double ax = ux - cotangent * cx, ay = uy - cotangent * cy;
  const double bx = -ux - cotangent * cx, by = -uy - cotangent * cy;
  planes[0] = (half_plane){ax, ay, ax * s->ax[k] + ay * s->ay[k]};
  planes[1] = (half_plane){bx, by, bx * s->bx[k] + by * s->by[k]};
  if (!isfinite(s->area[k])) return 2;
  planes[2] = (half_plane){cx, cy, 0.999999 * s->area[k] + cx * s->ax[k] + cy * s->ay[k]};
  return 3;
}

/* (a - p) . (b - p) - cotangent * cross (p). The angle at p is good in the disc where this is <=
 * 0. */
static double disc_value(const star *s, int k, double cotangent, double x, double y) {
  const double px = s->ax[k] - x, py = s->ay[k] - y, qx = s->bx[k] - x, qy = s->by[k] - y;
  return px * qx + py * qy - cotangent * (px * qy - py * qx);
}

static void centroid_of(const cvtm_corners *c, double place[2]) {
  double twice = 0, x = 0, y = 0;
  for (int32_t k = 2; k < c->count; ++k) {
    const double ux = c->x[k - 1] - c->x[0], uy = c->y[k - 1] - c->y[0];
    const double vx = c->x[k] - c->x[0], vy = c->y[k] - c->y[0];
    const double cross = ux * vy - uy * vx;
    twice += cross;
    x += cross * (ux + vx);
    y += cross * (uy + vy);
  }
  place[0] = c->x[0] + (twice != 0 ? x / (3 * twice) : 0);
  place[1] = c->y[0] + (twice != 0 ? y / (3 * twice) : 0);
}

/* Finds the tangent of the most violated disc; returns 0 if none is violated. */
static int violated_disc(const star *s, double cotangent, const double place[2],
                         half_plane *tangent) {
  int worst = -1;
  double largest = 0;
  for (int k = 0; k < s->count; ++k) {
    const double length2 = (s->bx[k] - s->ax[k]) * (s->bx[k] - s->ax[k]) +
                           (s->by[k] - s->ay[k]) * (s->by[k] - s->ay[k]);
    const double value = disc_value(s, k, cotangent, place[0], place[1]) / length2;
    if (value <= largest) continue;
    largest = value;
    worst = k;
  }
  if (worst < 0) return 0;
  const double ux = s->bx[worst] - s->ax[worst], uy = s->by[worst] - s->ay[worst];
  const double value = disc_value(s, worst, cotangent, place[0], place[1]);
  tangent->nx = 2 * place[0] - s->ax[worst] - s->bx[worst] + cotangent * uy;
  tangent->ny = 2 * place[1] - s->ay[worst] - s->by[worst] - cotangent * ux;
  tangent->offset = tangent->nx * place[0] + tangent->ny * place[1] - value;
  return 1;
}

/* Nonzero if the corner of the star between links k and k + 1 is smaller than two good angles, so
 * that the vertex has no good position. */
static int is_narrow(const star *s, int k, double cotangent) {
  const int next = k + 1 < s->count ? k + 1 : 0;
  const double ux = s->ax[k] - s->bx[k], uy = s->ay[k] - s->by[k];
  const double vx = s->bx[next] - s->ax[next], vy = s->by[next] - s->ay[next];
  const double cross = vx * uy - vy * ux, dot = ux * vx + uy * vy;
  return cross > 0 && 2 * cotangent * dot > (cotangent * cotangent - 1) * (1 + 1e-9) * cross;
}

/* Finds the bounding rectangle of the intersection of the discs in which the angles over all links
 * are good; returns 0 if it is empty. */
static int bound_discs(const star *s, double cotangent, double low[2], double high[2]) {
  const double tall = sqrt(1 + cotangent * cotangent);
  low[0] = low[1] = -INFINITY;
  high[0] = high[1] = INFINITY;
  for (int k = 0; k < s->count; ++k) {
    const double ux = s->bx[k] - s->ax[k], uy = s->by[k] - s->ay[k];
    const double radius = 0.5 * tall * sqrt(ux * ux + uy * uy);
    const double x = 0.5 * (s->ax[k] + s->bx[k] - cotangent * uy);
    const double y = 0.5 * (s->ay[k] + s->by[k] + cotangent * ux);
    low[0] = larger(low[0], x - radius);
    low[1] = larger(low[1], y - radius);
    high[0] = smaller(high[0], x + radius);
    high[1] = smaller(high[1], y + radius);
  }
  return low[0] < high[0] && low[1] < high[1];
}

/* Finds a position of the vertex with which all triangles of a star are good, by the method of
 * centres of gravity; returns 0 if there is none. */
static int find_good_place(const star *s, double cotangent, double place[2]) {
  double x[MOST_CORNERS], y[MOST_CORNERS], low[2], high[2];
  int32_t at;
  cvtm_corners c = {4, MOST_CORNERS, 1, x, y, NULL};
  for (int k = 0; k < s->count; ++k)
    if (is_narrow(s, k, cotangent)) return 0;
  if (!bound_discs(s, cotangent, low, high)) return 0;
  for (int k = 0; k < 4; ++k) { /* clockwise with y up, as base/geometry.h expects */
    x[k] = k < 2 ? low[0] : high[0];
    y[k] = k == 1 || k == 2 ? high[1] : low[1];
  }
  for (int k = 0; k < s->count; ++k) {
    half_plane planes[3];
    const int count = link_half_planes(s, k, cotangent, planes);
    for (int i = 0; i < count; ++i) {
      const cvtm_clip clip =
          cvtm_corners_clip(&c, planes[i].nx, planes[i].ny, planes[i].offset, 0, &at);
      if (clip == CVTM_CLIP_EMPTY || clip == CVTM_CLIP_OVERFLOW) return 0;
    }
  }
  for (int cut = 0; cut < CUTS; ++cut) {
    half_plane tangent;
    centroid_of(&c, place);
    if (!violated_disc(s, cotangent, place, &tangent)) return 1;
    const cvtm_clip clip = cvtm_corners_clip(&c, tangent.nx, tangent.ny, tangent.offset, 0, &at);
    if (clip != CVTM_CLIP_CUT) return 0;
  }
  return 0;
}

/* find_good_place on the line t (dx, dy): finds the interval of t that satisfies all half-planes
 * and discs, and its middle. */
static int find_good_share(const star *s, double cotangent, double dx, double dy, double *t) {
  double low = -1, high = 1;
  for (int k = 0; k < s->count; ++k) {
    half_plane planes[3];
    const int count = link_half_planes(s, k, cotangent, planes);
    for (int i = 0; i < count; ++i) {
      const double slope = planes[i].nx * dx + planes[i].ny * dy;
      if (slope > 0) high = smaller(high, planes[i].offset / slope);
      if (slope < 0) low = larger(low, planes[i].offset / slope);
      if (slope == 0 && planes[i].offset < 0) return 0;
    }
    /* the value at t = t^2 d.d + t g + the value at 0 */
    const double ux = s->bx[k] - s->ax[k], uy = s->by[k] - s->ay[k];
    const double gx = -s->ax[k] - s->bx[k] + cotangent * uy,
                 gy = -s->ay[k] - s->by[k] - cotangent * ux;
    const double a = dx * dx + dy * dy, b = gx * dx + gy * dy,
                 c = disc_value(s, k, cotangent, 0, 0);
    const double root2 = b * b - 4 * a * c;
    if (root2 < 0) return 0;
    low = fmax(low, (-b - sqrt(root2)) / (2 * a));
    high = fmin(high, (-b + sqrt(root2)) / (2 * a));
  }
  *t = 0.5 * (low + high);
  return low <= high;
}

/* Nonzero if a triangle below the bound is excused: a small angle of the boundary forces it, and no
 * angle of the triangle is smaller than that angle. */
static int is_forced(const cvtm_refiner *r, int64_t t, double cotangent) {
  double of_corner = 0;
  return cvtm_small_corner_of(r, t, &of_corner) >= 0 && cotangent <= of_corner * (1 + 1e-9);
}

/* Nonzero if a triangle at the vertex is below the bound and excused. */
static int is_at_forced(const cvtm_refiner *r, int32_t v) {
  const cvtm_half_edges *m = &r->m;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    const double cotangent = cvtm_triangle_cotangent(r, h / 3);
    if (cotangent > r->cotangent && is_forced(r, h / 3, cotangent)) return 1;
  }
  return 0;
}

/* Finds a position of vertex v with no cotangent above the bound; returns 0 if there is none or v
 * must not move. */
static int find_move(const cvtm_refiner *r, int32_t v, double cotangent, cvtm_grid_point *to) {
  const cvtm_refine_vertex *vertex = &r->vertex[v];
  star s;
  if (vertex->kind == CVTM_VERTEX_GIVEN || vertex->copy >= 0 || !find_star(r, v, &s)) return 0;
  const cvtm_grid_point at = r->m.grid[v];
  if (vertex->kind == CVTM_VERTEX_ON_SEGMENT) {
    if (is_at_forced(r, v)) return 0; /* v must keep its power-of-two distance */
    const cvtm_grid_point a = r->m.grid[r->ends[2 * (int64_t)vertex->segment]],
                          b = r->m.grid[r->ends[2 * (int64_t)vertex->segment + 1]];
    double t;
    if (!find_good_share(&s, cotangent, (double)b.x - a.x, (double)b.y - a.y, &t)) return 0;
    const double from = cvtm_segment_parameter(r, vertex->segment, at);
    *to = cvtm_segment_place(r, vertex->segment, from + t, 1e-3 * fabs(t));
    return 1;
  }
  double place[2];
  if (!find_good_place(&s, cotangent, place)) return 0;
  *to = (cvtm_grid_point){(int32_t)(at.x + llround(place[0])), (int32_t)(at.y + llround(place[1]))};
  return 1;
}

/* ---- Moves that improve the worst triangle ---- */

/* The badness of a triangle; 0 if it is good. */
static double badness(const cvtm_refiner *r, int64_t t) {
  const double cotangent = cvtm_triangle_cotangent(r, t), excess = cvtm_triangle_excess(r, t);
  const double sharp =
      cotangent > r->cotangent && !is_forced(r, t, cotangent) ? cotangent / r->cotangent : 0;
  return fmax(sharp, excess > 1 ? excess : 0);
}

/* Finds the worst triangle changed after the first `mark` changes; -1 if all are good. */
static cvtm_status find_worst(cvtm_refiner *r, int64_t mark, int64_t *triangle, double *worst) {
  const cvtm_status status = cvtm_list_changed(r, mark);
  *triangle = -1;
  *worst = 0;
  for (int64_t k = 0; k < r->changed_count && status == CVTM_OK; ++k) {
    const double found = badness(r, r->changed[k]);
    if (found <= *worst) continue;
    *worst = found;
    *triangle = r->changed[k];
  }
  return status;
}

/* Moves a vertex. *worst: the badness of the worst triangle changed after the first `mark` changes;
 * INFINITY if the vertex cannot be moved. */
static cvtm_status try_place(cvtm_refiner *r, int32_t v, cvtm_grid_point to, int64_t mark,
                             double *worst) {
  int64_t triangle;
  *worst = INFINITY;
  if (!cvtm_half_edges_move(&r->m, v, to)) return CVTM_OK;
  cvtm_half_edges_restore(&r->m);
  return find_worst(r, mark, &triangle, worst);
}

static double worst_around(const cvtm_refiner *r, int32_t v) {
  const cvtm_half_edges *m = &r->m;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  double worst = 0;
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first))
    worst = larger(worst, badness(r, h / 3));
  return worst;
}

/* Moves a vertex so that its worst triangle improves. *better: nonzero if the vertex moved. */
static cvtm_status improve_vertex(cvtm_refiner *r, int32_t v, int *better) {
  static const double shares[] = {1, 0.5, 0.2};
  cvtm_half_edges *m = &r->m;
  const double before = worst_around(r, v);
  *better = 0;
  if (r->vertex[v].kind == CVTM_VERTEX_GIVEN) return CVTM_OK;
  for (int k = 0; k < 3 && !*better; ++k) {
    const double wanted = fmax(before, 1);
    const double cotangent = 0.99999 * r->cotangent * (wanted - shares[k] * (wanted - 1));
    const int64_t mark = m->change_count;
    cvtm_grid_point to;
    if (before <= 1 && k > 0) break;
    if (!find_move(r, v, cotangent, &to)) continue;
    double after;
    CVTM_TRY(try_place(r, v, to, mark, &after));
    *better = after < 0.999 * before;
    if (!*better) cvtm_half_edges_undo(m, mark);
  }
  return CVTM_OK;
}

/* After `moves` moves an attempt continues only if the worst triangle is at most as bad as this. Of
 * the attempts with a worse triangle less than one in a hundred succeeds. */
static double largest_badness(int moves) {
  static const double limit[] = {INFINITY, 2.4, 1.7, 1.45, 1.28, 1.2, 1.14, 1.09, 1.05, 1.03, 1.02};
  const int last = (int)(sizeof limit / sizeof *limit) - 1;
  return limit[moves < last ? moves : last];
}

/* Moves one corner of a triangle so that the worst triangle around it improves. */
static cvtm_status improve_corners(cvtm_refiner *r, int64_t t, int *better) {
  const int32_t corner[3] = {r->m.corner[3 * t], r->m.corner[3 * t + 1], r->m.corner[3 * t + 2]};
  *better = 0;
  for (int k = 0; k < 3 && !*better; ++k) CVTM_TRY(improve_vertex(r, corner[k], better));
  return CVTM_OK;
}

/* Moves corners of the worst changed triangles until all are good or success is unlikely. */
static cvtm_status improve_changed(cvtm_refiner *r, int rounds, int *good) {
  *good = 0;
  for (int round = 0; round < rounds; ++round) {
    int64_t t;
    double worst;
    CVTM_TRY(find_worst(r, 0, &t, &worst));
    *good = t < 0;
    if (*good || worst > largest_badness(round)) return CVTM_OK;
    int better;
    cvtm_status status = improve_corners(r, t, &better);
    if (status != CVTM_OK || !better) return status;
  }
  return CVTM_OK;
}

cvtm_status cvtm_refine_relocate(cvtm_refiner *r, int64_t t, int *done) {
  cvtm_half_edges *m = &r->m;
  const int32_t corner[3] = {m->corner[3 * t], m->corner[3 * t + 1], m->corner[3 * t + 2]};
  *done = 0;
  for (int k = 0; k < 3 && !*done; ++k) {
    cvtm_grid_point to;
    if (!find_move(r, corner[k], r->cotangent, &to)) continue;
    double after;
    CVTM_TRY(try_place(r, corner[k], to, 0, &after));
    *done = after == 0;
    cvtm_half_edges_end(m, *done);
  }
  return CVTM_OK;
}

/* ---- Improvement of triangles ---- */

static int is_free(const cvtm_refiner *r, int32_t v) {
  return r->vertex[v].kind == CVTM_VERTEX_SITE || r->vertex[v].kind == CVTM_VERTEX_FREE;
}

/* Removes a vertex and its copy on the opposite side, if all triangles are then good. */
static cvtm_status try_without(cvtm_refiner *r, int32_t v, int *removed) {
  cvtm_half_edges *m = &r->m;
  const int32_t copy = r->vertex[v].copy;
  cvtm_status status = CVTM_OK;
  *removed = 0;
  if (cvtm_half_edges_remove(m, v) && (copy < 0 || cvtm_half_edges_remove(m, copy))) {
    cvtm_half_edges_restore(m);
    status = improve_changed(r, 12, removed);
  }
  cvtm_half_edges_end(m, *removed);
  return status;
}

/* improve_corners, which also commits the changes. */
static cvtm_status improve_triangle(cvtm_refiner *r, int64_t t, int *better) {
  const cvtm_status status = improve_corners(r, t, better);
  cvtm_half_edges_commit(&r->m);
  return status;
}

/* Moves a corner of a bad triangle, or removes an interior vertex and moves its neighbours. */
static cvtm_status repair_triangle(cvtm_refiner *r, int64_t t, int *better) {
  const int32_t corner[3] = {r->m.corner[3 * t], r->m.corner[3 * t + 1], r->m.corner[3 * t + 2]};
  cvtm_status status = improve_triangle(r, t, better);
  r->figures->moved += *better;
  for (int k = 0; k < 3 && !*better && status == CVTM_OK; ++k) {
    if (!is_free(r, corner[k])) continue;
    status = try_without(r, corner[k], better);
    r->figures->removed += *better;
  }
  return status;
}

/* Moves or removes vertices of bad triangles; no triangle becomes worse. With a list, repairs only
 * the triangles of the list, and removes no vertex. */
static cvtm_status repair(cvtm_refiner *r, const int64_t *list, int64_t count, int64_t *repaired) {
  enum { ROUNDS = 4 };
  int64_t changed = 1;
  for (int round = 0; round < ROUNDS && changed > 0; ++round) {
    changed = 0;
    for (int64_t k = 0; k < (list ? count : r->m.triangle_count) && !cvtm_refine_is_over(r); ++k) {
      const int64_t t = list ? list[k] : k;
      int better = 0;
      if (r->m.corner[3 * t] < 0 || !(badness(r, t) > 0)) continue;
      CVTM_TRY(list ? improve_triangle(r, t, &better) : repair_triangle(r, t, &better));
      changed += better;
    }
    *repaired += changed;
  }
  return CVTM_OK;
}

cvtm_status cvtm_refine_repair(cvtm_refiner *r) {
  int64_t repaired = 0;
  return repair(r, NULL, 0, &repaired);
}

/* Marks the vertices around those marked `rings`: each edge between lowers the mark by one. */
static void spread_marks(const cvtm_half_edges *m, uint8_t *near, uint8_t rings) {
  for (uint8_t ring = rings; ring > 1; --ring) {
    for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
      const int32_t from = m->corner[h], to = from < 0 ? -1 : cvtm_end_of(m, h);
      if (from < 0 || (near[from] != ring && near[to] != ring)) continue;
      if (near[to] == 0) near[to] = (uint8_t)(ring - 1);
      if (near[from] == 0) near[from] = (uint8_t)(ring - 1);
    }
  }
}

/* Marks the vertices within RINGS edges of a triangle that was changed. */
static void mark_changed(const cvtm_refiner *r, uint8_t *near) {
  enum { RINGS = 4 };
  const cvtm_half_edges *m = &r->m;
  memset(near, 0, (size_t)m->vertex_count);
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    if (m->corner[h] >= 0 && h / 3 < r->stamp_capacity && r->stamp[h / 3] > 0)
      near[m->corner[h]] = RINGS;
  spread_marks(m, near, RINGS);
}

/* Moves a vertex towards its target, unless a triangle would become worse. */
static cvtm_status approach_target(cvtm_refiner *r, int32_t v, const double *target,
                                   int64_t *moved) {
  static const double shares[] = {1, 0.5, 0.25};
  const cvtm_grid_point at = r->m.grid[v];
  const double dx = target[0] - at.x, dy = target[1] - at.y, before = worst_around(r, v);
  double after = INFINITY;
  for (int k = 0; k < 3 && after > before; ++k) {
    const cvtm_grid_point to = {(int32_t)llround(at.x + shares[k] * dx),
                                (int32_t)llround(at.y + shares[k] * dy)};
    CVTM_TRY(try_place(r, v, to, 0, &after));
    cvtm_half_edges_end(&r->m, after <= before);
    *moved += after <= before;
  }
  return CVTM_OK;
}

cvtm_status cvtm_refine_approach(cvtm_refiner *r, const double *target, int64_t *moved) {
  const cvtm_half_edges *m = &r->m;
  if (r->near == NULL) {
    r->near = malloc((size_t)m->vertex_count + 1);
    if (r->near == NULL) return cvtm_no_memory(r->error, "the refinement");
    mark_changed(r, r->near);
  }
  for (int32_t v = 0; v < m->vertex_count && !cvtm_refine_is_over(r); ++v)
    if (r->near[v] > 0 && m->at[v] >= 0 && is_free(r, v))
      CVTM_TRY(approach_target(r, v, target + 2 * (int64_t)v, moved));
  return CVTM_OK;
}

/* Moves several vertices to make a bad triangle good. *done: nonzero if it became good. */
static cvtm_status move_several(cvtm_refiner *r, int64_t t, int *done) {
  enum { MOVES = 24 };
  const int32_t corner[3] = {r->m.corner[3 * t], r->m.corner[3 * t + 1], r->m.corner[3 * t + 2]};
  cvtm_status status = CVTM_OK;
  *done = 0;
  for (int k = 0; k < 3 && !*done && status == CVTM_OK; ++k) {
    int better = 0;
    status = improve_vertex(r, corner[k], &better);
    if (status == CVTM_OK && better) status = improve_changed(r, MOVES, done);
    cvtm_half_edges_end(&r->m, *done);
  }
  return status;
}

/* Moves corners of bad triangles while that helps. *left: the number of remaining bad triangles. */
static cvtm_status relocate_all(cvtm_refiner *r, int64_t *left) {
  enum { ROUNDS = 4 };
  int64_t before = INT64_MAX;
  *left = INT64_MAX - 1;
  for (int round = 0; round<ROUNDS && * left> 0 && *left < before; ++round) {
    before = *left;
    *left = 0;
    for (int64_t t = 0; t < r->m.triangle_count && !cvtm_refine_is_over(r); ++t) {
      int done = 0;
      if (r->m.corner[3 * t] < 0 || !(badness(r, t) > 0)) continue;
      CVTM_TRY(cvtm_refine_relocate(r, t, &done));
      if (!done) CVTM_TRY(move_several(r, t, &done));
      r->figures->moved += done;
      *left += !done;
    }
  }
  return CVTM_OK;
}

cvtm_status cvtm_refine_raise(cvtm_refiner *r, double bound) {
  const double given = r->cotangent;
  int64_t left = 0;
  for (double more = 0.02; more < 3 && left == 0; more *= 1.5) {
    r->cotangent = 1 / tan((bound + more) * CVTM_PI / 180);
    CVTM_TRY(relocate_all(r, &left));
  }
  r->cotangent = given;
  return CVTM_OK;
}

/* ---- Removal ---- */

/* Per vertex: the last change of a triangle around it, and the last attempt to remove it, numbered
 * by attempts. */
typedef struct trial {
  int64_t changed, tried;
} trial;

/* Nonzero if triangles around the vertex or its neighbours have changed since the last attempt. */
static int is_worth_trying(const cvtm_refiner *r, const trial *trials, int32_t v) {
  const cvtm_half_edges *m = &r->m;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  if (trials[v].tried == 0) return 1;
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first))
    if (trials[cvtm_end_of(m, h)].changed > trials[v].tried) return 1;
  return trials[v].changed > trials[v].tried;
}

/* Tries once to remove each vertex that was not tried before, or around which or around whose
 * neighbours triangles have changed since. */
static cvtm_status remove_some(cvtm_refiner *r, trial *trials, int64_t *tries, int64_t *removed) {
  *removed = 0;
  for (int32_t v = 0; v < r->m.vertex_count && !cvtm_refine_is_over(r); ++v) {
    const int kind = r->vertex[v].kind;
    int done = 0;
    if (r->m.at[v] < 0 || (kind != CVTM_VERTEX_FREE && kind != CVTM_VERTEX_ON_SEGMENT)) continue;
    if (!is_worth_trying(r, trials, v)) continue;
    CVTM_TRY(try_without(r, v, &done));
    trials[v].tried = ++*tries;
    for (int64_t k = 0; k < r->changed_count && done; ++k)
      for (int i = 0; i < 3; ++i) trials[r->m.corner[3 * r->changed[k] + i]].changed = *tries;
    *removed += done;
  }
  return CVTM_OK;
}

cvtm_status cvtm_refine_simplify(cvtm_refiner *r) {
  enum { PASSES = 12 };
  int64_t removed = r->m.vertex_count, tries = 0;
  trial *trials = calloc((size_t)r->m.vertex_count, sizeof *trials);
  if (trials == NULL) return cvtm_no_memory(r->error, "the refinement");
  cvtm_status status = CVTM_OK;
  /* After a pass that removes few vertices, another pass takes more time than it is worth. */
  for (int pass = 0; pass < PASSES && 200 * removed >= r->m.vertex_count; ++pass) {
    status = remove_some(r, trials, &tries, &removed);
    if (status != CVTM_OK) break;
    r->figures->removed += removed;
  }
  free(trials);
  return status;
}

/* ---- Smallest angles beside the boundary ---- */

/* There the triangles of least energy have the smallest angles, because the vertices of the
 * boundary do not move. */

/* Refinement puts vertices on edges to within one grid step (cvtm_refine), plus rounding. */
static const double steps_off_edge = 1.5;

/* near[v]: 2 on the boundary, 1 beside it, else 0. */
static void mark_near(const cvtm_refiner *r, uint8_t *near) {
  for (int64_t v = 0; v < r->m.vertex_count; ++v) near[v] = cvtm_is_on_boundary(r, v) ? 2 : 0;
  spread_marks(&r->m, near, 2);
}

/* ---- Straight edges of the boundary ---- */

/* Returns the other end of a segment that ends at v. */
static int32_t end_beyond(const cvtm_refiner *r, int32_t segment, int32_t v) {
  const int32_t *ends = r->ends + 2 * (int64_t)segment;
  return ends[ends[0] == v];
}

/* The distance of p from the line through a and b, grid steps. */
static double distance_from_line(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point p) {
  return fabs((double)cvtm_orient(a, b, p)) / sqrt(cvtm_length2(a, b));
}

/* Nonzero if a vertex only divides a straight edge that has no copy on the opposite side. */
static int divides_edge(const cvtm_refiner *r, const uint8_t *corner, int32_t v) {
  const int32_t *met = r->met + r->meeting[v];
  if (corner[v] || r->meeting[v + 1] - r->meeting[v] != 2) return 0;
  if (r->twin[met[0]] >= 0 || r->twin[met[1]] >= 0) return 0;
  const cvtm_grid_point at = r->m.grid[v], a = r->m.grid[end_beyond(r, met[0], v)],
                        b = r->m.grid[end_beyond(r, met[1], v)];
  return cvtm_dot_at(at, a, b) < 0 && distance_from_line(a, b, at) <= steps_off_edge;
}

/* Follows segments from v up to the next vertex that does more than divide an edge, *last. Lists
 * these segments, and returns their number; 0 for a ring. */
static int64_t follow_line(const cvtm_refiner *r, const uint8_t *divides, int32_t v,
                           int32_t segment, int32_t *list, int32_t *last) {
  const int32_t first = v;
  int64_t count = 0;
  for (;;) {
    list[count++] = segment;
    v = end_beyond(r, segment, v);
    if (v == first) return 0;
    if (!divides[v]) break;
    const int32_t *met = r->met + r->meeting[v];
    segment = met[met[0] == segment];
  }
  *last = v;
  return count;
}

/* Joins `count` segments from `first` to `last` into the first segment of the list, if all vertices
 * between are on the line. joined: the segment into which each segment is joined. */
static void join_segments(cvtm_refiner *r, int32_t first, int32_t last, const int32_t *list,
                          int64_t count, int32_t *joined) {
  const cvtm_grid_point a = r->m.grid[first], b = r->m.grid[last];
  int32_t v = first;
  for (int64_t k = 0; k + 1 < count; ++k) {
    v = end_beyond(r, list[k], v);
    if (distance_from_line(a, b, r->m.grid[v]) > steps_off_edge) return;
  }
  v = first;
  for (int64_t k = 0; k + 1 < count; ++k) {
    v = end_beyond(r, list[k], v);
    joined[list[k + 1]] = list[0];
    r->vertex[v].kind = CVTM_VERTEX_ON_SEGMENT;
    r->vertex[v].segment = list[0];
  }
  int32_t *ends = r->ends + 2 * (int64_t)list[0];
  ends[ends[0] == first] = last;
}

/* Replaces the segments of half-edges and vertices by the joined ones. */
static void rename_segments(cvtm_refiner *r, const int32_t *joined) {
  for (int64_t v = 0; v < r->m.vertex_count; ++v)
    if (r->vertex[v].segment >= 0) r->vertex[v].segment = joined[r->vertex[v].segment];
  for (int64_t v = 0; v < r->given_count; ++v)
    for (int64_t k = r->meeting[v]; k < r->meeting[v + 1]; ++k) r->met[k] = joined[r->met[k]];
  for (int64_t h = 0; h < 3 * r->m.triangle_count; ++h)
    if (r->m.segment[h] >= 0) r->m.segment[h] = joined[r->m.segment[h]];
}

cvtm_status cvtm_refine_join_segments(cvtm_refiner *r, const uint8_t *corner) {
  const size_t n = (size_t)r->segment_count;
  cvtm_scratch memory = {0};
  int32_t *joined = cvtm_scratch_take(&memory, n, sizeof *joined);
  int32_t *list = cvtm_scratch_take(&memory, n, sizeof *list);
  uint8_t *divides = cvtm_scratch_take(&memory, (size_t)r->given_count, 1);
  if (memory.failed) {
    cvtm_scratch_free(&memory);
    return cvtm_no_memory(r->error, "the refinement");
  }
  for (int32_t s = 0; s < r->segment_count; ++s) joined[s] = s;
  for (int32_t v = 0; v < r->given_count; ++v) divides[v] = (uint8_t)divides_edge(r, corner, v);
  for (int32_t v = 0; v < r->given_count; ++v) {
    for (int64_t k = r->meeting[v]; k < r->meeting[v + 1] && !divides[v]; ++k) {
      int32_t last = v;
      if (joined[r->met[k]] != r->met[k]) continue; /* already found from the other end */
      const int64_t count = follow_line(r, divides, v, r->met[k], list, &last);
      if (count > 1 && v != last) join_segments(r, v, last, list, count, joined);
    }
  }
  rename_segments(r, joined);
  cvtm_scratch_free(&memory);
  return CVTM_OK;
}

/* ---- Angles ---- */

/* Nonzero if near[v] is nonzero for a corner v. */
static int is_near(const uint8_t *near, const int32_t *corner) {
  return near[corner[0]] || near[corner[1]] || near[corner[2]];
}

static int64_t list_near(const cvtm_refiner *r, const uint8_t *near, int64_t *list) {
  int64_t count = 0;
  for (int64_t t = 0; t < r->m.triangle_count; ++t)
    if (r->m.corner[3 * t] >= 0 && is_near(near, r->m.corner + 3 * t)) list[count++] = t;
  return count;
}

static double degrees(double cotangent) { return atan2(1, cotangent) * 180 / CVTM_PI; }

/* Measures angles of triangles beside the boundary, or of the others. list: one per triangle. */
static cvtm_smallest_angles measure_angles(const cvtm_refiner *r, const uint8_t *near, int beside,
                                           double *list) {
  int64_t count = 0;
  for (int64_t t = 0; t < r->m.triangle_count; ++t)
    if (r->m.corner[3 * t] >= 0 && is_near(near, r->m.corner + 3 * t) == beside)
      list[count++] = cvtm_triangle_cotangent(r, t);
  if (count == 0) return (cvtm_smallest_angles){0};
  qsort(list, (size_t)count, sizeof *list, cvtm_compare_doubles);
  const double *largest = list + count - 1;
  return (cvtm_smallest_angles){count, degrees(largest[0]), degrees(largest[-(count / 20)]),
                                degrees(largest[-(count / 2)])};
}

/* The smallest angle of the triangles that are not below the bound. */
static double least_kept(const cvtm_refiner *r) {
  double largest = -INFINITY;
  for (int64_t t = 0; t < r->m.triangle_count; ++t) {
    if (r->m.corner[3 * t] < 0) continue;
    const double cotangent = cvtm_triangle_cotangent(r, t);
    if (cotangent <= r->cotangent) largest = fmax(largest, cotangent);
  }
  return isfinite(largest) ? degrees(largest) : 0;
}

cvtm_status cvtm_refine_raise_at_boundary(cvtm_refiner *r, cvtm_boundary_angles *figures) {
  static const double bounds[] = {36, 40, 44, 48}; /* degrees; the largest possible bound is 60 */
  const double given = r->cotangent;
  const size_t triangles = (size_t)r->m.triangle_count + 1;
  uint8_t *near = malloc((size_t)r->m.vertex_count + 1);
  double *cotangent = malloc(triangles * sizeof *cotangent);
  int64_t *list = malloc(triangles * sizeof *list);
  cvtm_status status =
      near && cotangent && list ? CVTM_OK : cvtm_no_memory(r->error, "the refinement");
  *figures = (cvtm_boundary_angles){0};
  if (status == CVTM_OK) {
    mark_near(r, near);
    figures->before = measure_angles(r, near, 1, cotangent);
  }
  for (int k = 0; k < 4 && status == CVTM_OK; ++k) {
    if (bounds[k] <= r->options->min_angle) continue;
    r->cotangent = 1 / tan(bounds[k] * CVTM_PI / 180);
    status = repair(r, list, list_near(r, near, list), &figures->moved);
  }
  r->cotangent = given;
  if (status == CVTM_OK) {
    mark_near(r, near);
    figures->after = measure_angles(r, near, 1, cotangent);
    figures->inside = measure_angles(r, near, 0, cotangent);
    figures->least_kept = least_kept(r);
  }
  free(near);
  free(cotangent);
  free(list);
  return status;
}
