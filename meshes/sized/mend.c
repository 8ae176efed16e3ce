#include "base/host.h"
#include "base/portable.h"
#include "meshes/sized/moves.h"

#include <math.h>
#include <stdlib.h>

/* Degrees. Vertices at angles below mended_to are removed or added, even if all have the right
 * number of triangles. A triangle less is better if its smallest angle is below `usual`. */
static const double mended_to = 42, usual = 54;

/* ---- Patches ---- */

enum { PATCH = 128 };

/* Vertices near a change. The first `inner` may move; the triangles and edges at all of them are
 * compared before and after the change. */
typedef struct patch {
  int count, inner;
  int32_t vertex[PATCH];
  double t[PATCH]; /* of vertices on the boundary that move along their edges */
} patch;

static int take_into_patch(cvtm_sizer *z, patch *p, int32_t v) {
  if (z->vertex[v].in_patch) return 1;
  if (p->count == PATCH || cvtm_is_fenced_off(&z->m, v)) return 0;
  z->vertex[v].in_patch = 1;
  p->t[p->count] = z->vertex[v].place >= 0 ? z->places[z->vertex[v].place].t : 0;
  p->vertex[p->count++] = v;
  return 1;
}

/* Adds the neighbours of all its vertices; returns 0 if there are too many. */
static int widen_patch(cvtm_sizer *z, patch *p) {
  const cvtm_half_edges *m = &z->m;
  const int count = p->count;
  for (int k = 0; k < count; ++k) {
    const int64_t first = cvtm_first_of_fan(m, m->at[p->vertex[k]]);
    for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first))
      if (!take_into_patch(z, p, cvtm_end_of(m, h)) || !take_into_patch(z, p, cvtm_apex_of(m, h)))
        return 0;
  }
  return 1;
}

static void clear_patch(cvtm_sizer *z, const patch *p) {
  for (int k = 0; k < p->count; ++k) z->vertex[p->vertex[k]].in_patch = 0;
}

/* Makes the patch: the vertices, their neighbours, and the neighbours of the neighbours. Returns 0,
 * and an empty patch, if there are too many. */
static int make_patch(cvtm_sizer *z, const int32_t *vertex, int count, patch *p) {
  p->count = 0;
  for (int k = 0; k < count; ++k) (void)take_into_patch(z, p, vertex[k]);
  int is_good = widen_patch(z, p);
  p->inner = p->count;
  is_good = is_good && widen_patch(z, p) && p->count < PATCH;
  if (!is_good) clear_patch(z, p);
  return is_good;
}

/* The value of half-edge h and its triangle, unless another vertex of the patch counts
 * it. */
static double half_value(const cvtm_sizer *z, int64_t h) {
  const cvtm_half_edges *m = &z->m;
  const int32_t v = m->corner[h], a = cvtm_end_of(m, h), b = cvtm_apex_of(m, h);
  const int a_counts = z->vertex[a].in_patch && a < v, b_counts = z->vertex[b].in_patch && b < v;
  const double ux = (double)m->grid[a].x - m->grid[v].x, uy = (double)m->grid[a].y - m->grid[v].y;
  double value = 0;
  if (!a_counts || m->twin[h] < 0) {
    const double size = 0.5 * (z->vertex[v].size + z->vertex[a].size);
    value -= cvtm_sized_length_error((ux * ux + uy * uy) / (size * size));
  }
  if (a_counts || b_counts) return value;
  const cvtm_sized_corner c = cvtm_sized_values(ux, uy, (double)m->grid[b].x - m->grid[v].x,
                                                (double)m->grid[b].y - m->grid[v].y);
  return value + cvtm_sized_angle_value(cvtm_sized_angle_of(c.cross / c.largest)) -
         usual * CVTM_PI / 180;
}

static double patch_value(const cvtm_sizer *z, const patch *p) {
  const cvtm_half_edges *m = &z->m;
  double sum = 0;
  for (int k = 0; k < p->count; ++k) {
    const int32_t v = p->vertex[k];
    if (m->at[v] < 0) continue;
    const int64_t first = cvtm_first_of_fan(m, m->at[v]);
    for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) sum += half_value(z, h);
  }
  return sum;
}

/* The mean of the places where a vertex would make each of its triangles equilateral. */
static cvtm_grid_point mean_apex(const cvtm_half_edges *m, int32_t v) {
  const cvtm_grid_point at = m->grid[v];
  const double height = 0.5 * sqrt(3);
  double x = 0, y = 0;
  int count = 0;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    const cvtm_grid_point a = m->grid[cvtm_end_of(m, h)], b = m->grid[cvtm_apex_of(m, h)];
    const double dx = (double)b.x - a.x, dy = (double)b.y - a.y;
    x += 0.5 * ((double)a.x + b.x) - at.x - height * dy;
    y += 0.5 * ((double)a.y + b.y) - at.y + height * dx;
    ++count;
  }
  return (cvtm_grid_point){(int32_t)(at.x + rint(x / count)), (int32_t)(at.y + rint(y / count))};
}

/* Moves the vertices of a patch to those places, or along their edges. */
static void spread_patch(cvtm_sizer *z, patch *p) {
  cvtm_half_edges *m = &z->m;
  for (int k = 0; k < p->inner; ++k) {
    const int32_t v = p->vertex[k];
    if (m->at[v] < 0 || !cvtm_sizer_moves(z, v)) continue;
    cvtm_grid_point to = mean_apex(m, v);
    double t = 0;
    const int is_on_edge = z->vertex[v].place >= 0;
    if (is_on_edge &&
        !cvtm_sizer_drop(z, v, (double)to.x - m->grid[v].x, (double)to.y - m->grid[v].y, &t, &to))
      continue;
    if (cvtm_half_edges_move(m, v, to) && is_on_edge) p->t[k] = t;
  }
}

/* Moves them to where the sum of their values is larger. */
static void settle_patch(cvtm_sizer *z, patch *p) {
  cvtm_half_edges *m = &z->m;
  cvtm_sized_star s;
  for (int k = 0; k < p->inner; ++k) {
    const int32_t v = p->vertex[k];
    cvtm_grid_point to;
    double t = 0;
    if (m->at[v] < 0 || !cvtm_sizer_moves(z, v) ||
        !cvtm_sized_find_star(m, v, cvtm_first_of_fan(m, m->at[v]), &s))
      continue;
    const int is_on_edge = z->vertex[v].place >= 0;
    if (is_on_edge ? !cvtm_sizer_find_slide(z, v, &s, 1, &t, &to)
                   : !cvtm_sizer_find_move(z, v, &s, &to))
      continue;
    if (cvtm_half_edges_move(m, v, to) && is_on_edge) p->t[k] = t;
  }
}

/* Moves the vertices near a change, and keeps all if the patch has become better. Most changes are
 * given up after the first moves, which cost little. */
static int keep_if_better(cvtm_sizer *z, int is_done, patch *p, double before) {
  const double gain = 0.01, hope = 1; /* radians */
  cvtm_half_edges *m = &z->m;
  int is_better = 0;
  if (is_done) {
    spread_patch(z, p);
    cvtm_half_edges_restore(m);
    for (int k = 0; k < 2; ++k) spread_patch(z, p);
    cvtm_half_edges_restore(m);
    if (patch_value(z, p) > before - hope) {
      settle_patch(z, p);
      cvtm_half_edges_restore(m);
      is_better = !m->out_of_memory && !(m->fence != NULL && m->fence->is_left) &&
                  patch_value(z, p) > before + gain;
    }
  }
  cvtm_half_edges_end(m, is_better);
  for (int k = 0; k < p->count && is_better; ++k) {
    const int32_t place = z->vertex[p->vertex[k]].place;
    if (place >= 0) z->places[place].t = p->t[k];
    z->vertex[p->vertex[k]].is_still = 0;
  }
  clear_patch(z, p);
  return is_better;
}

/* ---- Flips, removals and additions ---- */

/* By how many triangles a vertex has more than it should. */
static int degree_error(const cvtm_sizer *z, int32_t v) {
  const cvtm_half_edges *m = &z->m;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  int count = 0;
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) ++count;
  return count - z->vertex[v].degree;
}

/* Flips an edge between vertices with too many triangles, or opposite to those with too few. */
static int try_flip(cvtm_sizer *z, int64_t h) {
  const int least_surplus = 2;
  cvtm_half_edges *m = &z->m;
  const int64_t g = m->twin[h];
  if (g < 0 || m->segment[h] >= 0) return 0;
  const int32_t v[4] = {m->corner[h], cvtm_end_of(m, h), cvtm_apex_of(m, h), cvtm_apex_of(m, g)};
  const int surplus =
      degree_error(z, v[0]) + degree_error(z, v[1]) - degree_error(z, v[2]) - degree_error(z, v[3]);
  patch p;
  if (surplus < least_surplus || cvtm_orient_of(m, v[0], v[3], v[2]) <= 0 ||
      cvtm_orient_of(m, v[3], v[1], v[2]) <= 0 || !make_patch(z, v, 4, &p))
    return 0;
  const double before = patch_value(z, &p);
  cvtm_half_edges_flip(m, h);
  cvtm_half_edges_push(m, h);
  return keep_if_better(z, 1, &p, before);
}

static int try_remove(cvtm_sizer *z, int32_t v) {
  patch p;
  if (!cvtm_sizer_moves(z, v) || !make_patch(z, &v, 1, &p)) return 0;
  const double before = patch_value(z, &p);
  return keep_if_better(z, cvtm_half_edges_remove(&z->m, v), &p, before);
}

/* Inserts a vertex at the midpoint of an edge. Returns -1 if that is impossible, or the edge is of
 * the boundary, and it is not to be divided. */
static int32_t insert_between(cvtm_sizer *z, int64_t h, double *t) {
  cvtm_half_edges *m = &z->m;
  const cvtm_grid_point a = m->grid[m->corner[h]], b = m->grid[cvtm_end_of(m, h)];
  cvtm_grid_point to = {(int32_t)(((int64_t)a.x + b.x) / 2), (int32_t)(((int64_t)a.y + b.y) / 2)};
  int32_t edge = -1;
  if (m->segment[h] >= 0) {
    double point[2];
    edge = z->part_edge[m->segment[h]];
    if (!z->is_narrow[edge] || z->given->twin != NULL) return -1;
    *t = cvtm_sizer_fraction(z, edge, to.x, to.y);
    if (!(*t > 0 && *t < 1)) return -1;
    cvtm_sizer_point_on(z, edge, *t, point);
    to = cvtm_sizer_round(z, point);
  }
  const double size = cvtm_sizer_at(z, m->region[h / 3], to.x, to.y);
  const int32_t made = cvtm_half_edges_insert_on(m, h, to);
  if (made < 0) return -1;
  if (cvtm_sizer_take_vertex(z, made, size) != CVTM_OK ||
      (edge >= 0 &&
       !cvtm_grow(&z->places, sizeof *z->places, &z->place_capacity, z->place_count + 1))) {
    m->out_of_memory = 1;
    return -1;
  }
  if (edge >= 0) {
    z->vertex[made].place = (int32_t)z->place_count;
    z->vertex[made].degree = 3;
    z->places[z->place_count++] = (cvtm_sized_place){edge, *t};
  }
  return made;
}

/* Divides an edge that is longer than `least` wanted lengths. */
static int try_divide(cvtm_sizer *z, int64_t h, double least) {
  cvtm_half_edges *m = &z->m;
  const int is_of_boundary = m->segment[h] >= 0;
  if (!is_of_boundary && m->twin[h] < 0) return 0;
  const int32_t v[4] = {m->corner[h], cvtm_end_of(m, h), cvtm_apex_of(m, h),
                        m->twin[h] >= 0 ? cvtm_apex_of(m, m->twin[h]) : -1};
  const cvtm_grid_point a = m->grid[v[0]], b = m->grid[v[1]];
  const double mean = 0.5 * (z->vertex[v[0]].size + z->vertex[v[1]].size);
  const int64_t place_count = z->place_count;
  patch p;
  double t = 0;
  if (cvtm_sized_distance(a, b) < least * mean || !make_patch(z, v, v[3] >= 0 ? 4 : 3, &p))
    return 0;
  const double before = patch_value(z, &p);
  const int32_t made = insert_between(z, h, &t);
  if (made >= 0 && !m->out_of_memory) {
    p.vertex[p.count] = p.vertex[p.inner];
    p.t[p.count++] = p.t[p.inner];
    p.vertex[p.inner] = made;
    p.t[p.inner++] = t;
    z->vertex[made].in_patch = 1;
  }
  const int is_kept = keep_if_better(z, made >= 0, &p, before);
  if (!is_kept) z->place_count = place_count;
  return is_kept;
}

/* Nonzero if the smallest angle of a triangle is between two parts of the boundary. */
static int is_forced(const cvtm_half_edges *m, int64_t t) {
  int64_t side = 3 * t;
  double least = INFINITY;
  for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
    const double length = cvtm_sized_distance(m->grid[m->corner[h]], m->grid[cvtm_end_of(m, h)]);
    if (length < least) side = h;
    least = fmin(least, length);
  }
  return m->segment[cvtm_half_after(side)] >= 0 && m->segment[cvtm_half_before(side)] >= 0;
}

/* Nonzero for a triangle with a small angle that changes may raise. */
static int is_sharp(const cvtm_half_edges *m, int64_t t) {
  const int32_t *c = m->corner + 3 * t;
  const double most = 1 / tan(mended_to * CVTM_PI / 180);
  return c[0] >= 0 && cvtm_largest_cotangent(m->grid[c[0]], m->grid[c[1]], m->grid[c[2]]) >= most &&
         !is_forced(m, t);
}

/* Removes a corner of a triangle, or divides a side. */
static int mend_triangle(cvtm_sizer *z, int64_t t) {
  const double least = 0.9;
  for (int k = 0; k < 3; ++k)
    if (try_remove(z, z->m.corner[3 * t + k])) return 1;
  for (int k = 0; k < 3; ++k)
    if (try_divide(z, 3 * t + k, least)) return 1;
  return 0;
}

/* Changes the edges at a vertex that has too few triangles, or too many. */
static int mend_vertex(cvtm_sizer *z, int32_t v) {
  const double least = 1.25;
  cvtm_sized_star s;
  const int error = degree_error(z, v);
  if (error == 0 || !cvtm_sized_find_star(&z->m, v, cvtm_first_of_fan(&z->m, z->m.at[v]), &s))
    return 0;
  if (error < 0 && try_remove(z, v)) return 1;
  for (int k = 0; k < s.triangles; ++k)
    if (try_flip(z, error < 0 ? cvtm_half_after(s.half[k]) : s.half[k])) return 1;
  for (int k = 0; k < s.triangles && error > 0; ++k)
    if (try_divide(z, s.half[k], least)) return 1;
  return 0;
}

/* Finds how many triangles the vertices of the boundary should have: their angle by 60 degrees. */
static void find_degrees(cvtm_sizer *z) {
  const cvtm_half_edges *m = &z->m;
  for (int64_t v = 0; v < z->fixed_count; ++v) {
    if (m->at[v] < 0) continue;
    const int64_t first = cvtm_first_of_fan(m, m->at[v]);
    double sum = 0;
    for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first))
      sum += cvtm_sized_angle(m->grid[v], m->grid[cvtm_end_of(m, h)], m->grid[cvtm_apex_of(m, h)]);
    z->vertex[v].degree = (uint8_t)fmax(1, rint(sum * 3 / CVTM_PI));
  }
}

/* ---- All changes ---- */

static int mend_if_sharp(cvtm_sizer *z, int64_t t) {
  return is_sharp(&z->m, t) && mend_triangle(z, t);
}

static int mend_if_restless(cvtm_sizer *z, int64_t v) {
  if (z->m.at[v] < 0) return 0;
  z->vertex[v].is_still = 1; /* until a change wakes it */
  return mend_vertex(z, (int32_t)v);
}

/* Changes the mesh at the items 0 .. n - 1 that have a mark: vertices, or else triangles. */
static int64_t mend_marked(cvtm_sizer *z, const uint8_t *mark, int64_t n, int is_vertex,
                           cvtm_sizer_mender mend) {
  cvtm_half_edges *m = &z->m;
  int64_t *item = NULL, count = 0, capacity = 0;
  cvtm_grid_point *at = NULL;
  const cvtm_growing arrays[] = {{&item, sizeof *item}, {&at, sizeof *at}};
  for (int64_t i = 0; i < n && !m->out_of_memory; ++i) {
    if (!mark[i]) continue;
    m->out_of_memory = !cvtm_grow_all(arrays, 2, &capacity, count + 1);
    if (m->out_of_memory) break;
    at[count] = m->grid[is_vertex ? i : m->corner[3 * i]];
    item[count++] = i;
  }
  const int64_t changed = m->out_of_memory ? 0 : cvtm_sizer_mend_items(z, item, at, count, mend);
  free(item);
  free(at);
  return changed;
}

int64_t cvtm_sizer_mend_triangles(cvtm_sizer *z) {
  cvtm_half_edges *m = &z->m;
  const int64_t n = m->triangle_count;
  uint8_t *mark = malloc((size_t)n + 1);
  m->out_of_memory |= mark == NULL;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t t = 0; t < (mark != NULL ? n : 0); ++t) mark[t] = (uint8_t)is_sharp(m, t);
  const int64_t changed = mend_marked(z, mark, n, 0, mend_if_sharp);
  free(mark);
  return changed;
}

/* Changes wake vertices, at which more are tried in the next round. */
int64_t cvtm_sizer_mend(cvtm_sizer *z) {
  cvtm_half_edges *m = &z->m;
  const int rounds = 4;
  int64_t changed = 0, now = 1;
  find_degrees(z);
  for (int k = 0; k < rounds && now > 0; ++k) {
    const int64_t n = m->vertex_count;
    uint8_t *mark = malloc((size_t)n + 1);
    m->out_of_memory |= mark == NULL;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
    for (int64_t v = 0; v < (mark != NULL ? n : 0); ++v) {
      if (m->at[v] >= 0 && degree_error(z, (int32_t)v) == 0) z->vertex[v].is_still = 1;
      mark[v] = m->at[v] >= 0 && !z->vertex[v].is_still && cvtm_sizer_moves(z, (int32_t)v);
    }
    now = mend_marked(z, mark, n, 1, mend_if_restless);
    changed += now;
    free(mark);
  }
  return changed + cvtm_sizer_mend_triangles(z);
}
