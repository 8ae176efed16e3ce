#include "base/host.h"
#include "base/portable.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>

enum {
  RAISES = 8,   /* rounds of moves for the smallest angles */
  POLISHES = 8, /* rounds of moves for their mean and the lengths of edges */
  STARTS = 3,   /* such rounds before vertices are removed and added */
  MENDS = 2,    /* rounds of flips, removals and additions */
  SLIDES = 4    /* rounds of moves along narrow edges */
};

/* Degrees. Vertices at angles below these move: first for the mean of the smallest angles, in which
 * angles below mean_bound count more, in the end to raise the least ones. Vertices at angles below
 * mended_to are removed or added, even if all have the right number of triangles. */
static const double polished_to = 58, mean_bound = 45.2, mended_to = 42, kept_at = 45;
static const double usual = 54; /* a triangle less is better if its smallest angle is below this */

/* ---- Moves ---- */

/* The cross product of two sides of a triangle, and the largest dot product at a corner. Their
 * ratio is the tangent of the smallest angle. */
typedef struct corner_values {
  double cross, largest;
} corner_values;

/* u, v: two sides from one corner. */
static inline corner_values values_of(double ux, double uy, double vx, double vy) {
  const double wx = vx - ux, wy = vy - uy;
  const double at = ux * vx + uy * vy, first = -(ux * wx + uy * wy), second = vx * wx + vy * wy;
  const double larger = first > second ? first : second;
  return (corner_values){ux * vy - uy * vx, at > larger ? at : larger};
}

/* The largest cotangent of the angles in the star's triangles with the vertex moved by (x, y);
 * INFINITY if a triangle is not positive. */
static double worst_at(const cvtm_sized_star *s, double x, double y) {
  double worst = 0;
  for (int k = 0; k < s->triangles; ++k) {
    const int next = k + 1 < s->count ? k + 1 : 0;
    const corner_values c = values_of(s->x[k] - x, s->y[k] - y, s->x[next] - x, s->y[next] - y);
    if (!(c.cross > 0)) return INFINITY;
    if (c.largest > worst * c.cross) worst = c.largest / c.cross;
  }
  return worst;
}

static const double four_ways[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

/* Descends from `place` along the given directions by steps, which are halved down to about a
 * hundredth of the vertex's size. Returns the smallest value. */
static double climb(const cvtm_sized_star *s,
                    double (*value)(const cvtm_sized_star *, double, double), double best,
                    double step, const double (*way)[2], int ways, double place[2]) {
  for (int halvings = 0; halvings < 4 && step > 0.5;) {
    int found = -1;
    for (int k = 0; k < ways; ++k) {
      const double here = value(s, place[0] + step * way[k][0], place[1] + step * way[k][1]);
      if (!(here < best)) continue;
      best = here;
      found = k;
    }
    if (found < 0) {
      step *= 0.5;
      ++halvings;
      continue;
    }
    place[0] += step * way[found][0];
    place[1] += step * way[found][1];
  }
  return best;
}

/* Rounds a position to the grid; returns 0 if a triangle would not be positive. */
static int round_place(const cvtm_sizer *z, int32_t v, const cvtm_sized_star *s,
                       const double place[2], cvtm_grid_point *to) {
  const cvtm_grid_point at = z->m.grid[v];
  *to = (cvtm_grid_point){(int32_t)(at.x + rint(place[0])), (int32_t)(at.y + rint(place[1]))};
  return cvtm_sized_is_inside(&z->m, s, *to);
}

/* Finds a position of a vertex close by where the smallest angle around it is larger; returns 0 if
 * there is none. */
static int find_better(const cvtm_sizer *z, int32_t v, const cvtm_sized_star *s, double worst,
                       cvtm_grid_point *to) {
  double place[2] = {0, 0};
  const double best = climb(s, worst_at, worst, 0.1 * z->vertex[v].size, four_ways, 4, place);
  return best < 0.999 * worst && round_place(z, v, s, place, to);
}

/* The smallest angle of a triangle by its tangent, which is at most sqrt (3). Uses the series of
 * atan around 30 degrees, with an error below 10^-3. */
static double angle_of(double tangent) {
  const double root = 0.57735026918962576; /* sqrt (1 / 3) */
  const double u = (tangent - root) / (1 + root * tangent), u2 = u * u;
  return CVTM_PI / 6 + u * (1 - u2 * (1.0 / 3 - u2 * (1.0 / 5 - u2 / 7)));
}

static double value_of_angle(double angle) {
  const double heavy = 8, bound = mean_bound * CVTM_PI / 180;
  return angle < bound ? bound - heavy * (bound - angle) : angle;
}

/* The square of the logarithm of a length divided by the wanted one, if it is near zero. squared:
 * the square of that ratio. */
static double length_error(double squared) {
  const double x = (squared - 1) / (squared + 1);
  return x * x;
}

/* Finds, for each link, 1 / the square of its wanted length. */
static void find_scales(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s) {
  for (int k = 0; k < s->count; ++k) {
    const double h = z->vertex[v].size + z->vertex[s->vertex[k]].size;
    s->scale[k] = 4 / (h * h);
  }
}

/* The sum of the smallest angles of the star's triangles with the vertex moved by (x, y), less the
 * errors of the lengths of edges. The part of an angle below the bound counts several times. */
static double sum_at(const cvtm_sized_star *s, double x, double y) {
  double sum = 0;
  for (int k = 0; k < s->triangles; ++k) {
    const int next = k + 1 < s->count ? k + 1 : 0;
    const corner_values c = values_of(s->x[k] - x, s->y[k] - y, s->x[next] - x, s->y[next] - y);
    if (!(c.cross > 0)) return -INFINITY;
    sum += value_of_angle(angle_of(c.cross / c.largest));
  }
  for (int k = 0; k < s->count; ++k) {
    const double dx = s->x[k] - x, dy = s->y[k] - y;
    sum -= length_error((dx * dx + dy * dy) * s->scale[k]);
  }
  return sum;
}

static double negative_sum(const cvtm_sized_star *s, double x, double y) {
  return -sum_at(s, x, y);
}

/* Finds a position of a vertex close by where sum_at is larger; returns 0 if there is none. */
static int find_larger_sum(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s,
                           cvtm_grid_point *to) {
  find_scales(z, v, s);
  const double start = sum_at(s, 0, 0), enough = 1e-4;
  double place[2] = {0, 0};
  const double best =
      -climb(s, negative_sum, -start, 0.06 * z->vertex[v].size, four_ways, 4, place);
  return best > start + enough && round_place(z, v, s, place, to);
}

/* Moves a vertex along its edge if sum_at is larger close by; returns 0 if it is not. */
static int slide(cvtm_sizer *z, int32_t v, cvtm_sized_star *s) {
  find_scales(z, v, s);
  cvtm_sized_place *on = &z->places[v - z->given->vertex_count];
  const double start = sum_at(s, 0, 0), enough = 1e-4, before = on->t;
  double way[2], place[2] = {0, 0}, exact[2];
  cvtm_sizer_way(z, v, way);
  const double length = hypot(way[0], way[1]);
  const double both[2][2] = {{way[0] / length, way[1] / length},
                             {-way[0] / length, -way[1] / length}};
  const double best = -climb(s, negative_sum, -start, 0.1 * z->vertex[v].size, both, 2, place);
  const double kept = 1 / tan(kept_at * CVTM_PI / 180);
  if (!(best > start + enough) || worst_at(s, place[0], place[1]) > fmax(kept, worst_at(s, 0, 0)))
    return 0;
  on->t += (place[0] * both[0][0] + place[1] * both[0][1]) / length;
  cvtm_sizer_place(z, v, exact);
  const cvtm_grid_point to = cvtm_sizer_round(z, exact);
  if (on->t > 0 && on->t < 1 && cvtm_sized_is_inside(&z->m, s, to)) {
    z->m.grid[v] = to;
    return 1;
  }
  on->t = before;
  return 0;
}

/* Nonzero if the edges from an added vertex are short, so that they end on the other side of a
 * channel. */
static int is_in_channel(const cvtm_sizer *z, int32_t v, const cvtm_sized_star *s) {
  for (int k = 0; k < s->count; ++k)
    if (hypot(s->x[k], s->y[k]) > 2 * z->vertex[v].size) return 0;
  return 1;
}

int64_t cvtm_sizer_slide(cvtm_sizer *z, int rounds) {
  cvtm_half_edges *m = &z->m;
  const int recorded = m->records_changes;
  int64_t moved = z->options->twin == NULL, sum = 0;
  cvtm_sized_star s;
  m->records_changes = 0;
  for (int k = 0; k < rounds && moved > 0; ++k) {
    moved = 0;
    for (int32_t v = (int32_t)z->given->vertex_count; v < z->fixed_count; ++v) {
      if (m->at[v] < 0 || !z->is_narrow[z->places[v - z->given->vertex_count].edge] ||
          !cvtm_sized_find_star(m, v, cvtm_first_of_fan(m, m->at[v]), &s))
        continue;
      if (is_in_channel(z, v, &s)) moved += slide(z, v, &s);
    }
    if (moved > 0) cvtm_half_edges_restore_all(m);
    sum += moved;
  }
  m->records_changes = recorded;
  return sum;
}

static int move_vertex(cvtm_sizer *z, int32_t v, double most, int for_mean) {
  cvtm_sized_star s;
  cvtm_grid_point to;
  if (!cvtm_sized_find_star(&z->m, v, z->m.at[v], &s)) return 0;
  const double worst = worst_at(&s, 0, 0);
  z->vertex[v].is_still = 1;
  if (!(worst > most)) return 0;
  if (!(for_mean ? find_larger_sum(z, v, &s, &to) : find_better(z, v, &s, worst, &to))) return 0;
  z->m.grid[v] = to;
  z->vertex[v].is_still = 0;
  for (int k = 0; k < s.count; ++k) {
    uint8_t *is_still = &z->vertex[s.vertex[k]].is_still;
#pragma omp atomic write
    *is_still = 0; /* other threads may do the same */
  }
  return 1;
}

/* Moves vertices whose triangles have an angle below `degrees`. A move raises the smallest angle
 * around the vertex or, with for_mean, sum_at. A vertex that has not moved is tried again only
 * after a neighbour has moved. Returns the number of moved vertices. */
static int64_t move_vertices(cvtm_sizer *z, double degrees, int for_mean) {
  const double most = 1 / tan(degrees * CVTM_PI / 180);
  int64_t moved = 0;
  if (!cvtm_sizer_colour(z, 0)) return 0;
  for (int k = 0; k < CVTM_SIZED_COLOURS; ++k) {
    const int64_t begin = z->colours.first[k], end = z->colours.first[k + 1];
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : moved) \
    if (end - begin >= CVTM_WORTH_THREADS / 8)
    for (int64_t i = begin; i < end; ++i)
      moved += move_vertex(z, z->colours.list[i], most, for_mean);
  }
  cvtm_half_edges_restore_all(&z->m);
  return moved;
}

/* ---- Flips, removals and additions ---- */

enum { PATCH = 128 };

/* Vertices near a change. The first `inner` may move; the triangles and edges at all of them are
 * compared before and after the change. */
typedef struct patch {
  int count, inner;
  int32_t vertex[PATCH];
} patch;

static int take_into_patch(cvtm_sizer *z, patch *p, int32_t v) {
  if (z->vertex[v].in_patch) return 1;
  if (p->count == PATCH) return 0;
  z->vertex[v].in_patch = 1;
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

/* What sum_at counts for half-edge h and its triangle, unless another vertex of the patch counts
 * it. */
static double half_value(const cvtm_sizer *z, int64_t h) {
  const cvtm_half_edges *m = &z->m;
  const int32_t v = m->corner[h], a = cvtm_end_of(m, h), b = cvtm_apex_of(m, h);
  const int a_counts = z->vertex[a].in_patch && a < v, b_counts = z->vertex[b].in_patch && b < v;
  const double ux = (double)m->grid[a].x - m->grid[v].x, uy = (double)m->grid[a].y - m->grid[v].y;
  double value = 0;
  if (!a_counts && m->segment[h] < 0) {
    const double size = 0.5 * (z->vertex[v].size + z->vertex[a].size);
    value -= length_error((ux * ux + uy * uy) / (size * size));
  }
  if (a_counts || b_counts) return value;
  const corner_values c =
      values_of(ux, uy, (double)m->grid[b].x - m->grid[v].x, (double)m->grid[b].y - m->grid[v].y);
  return value + value_of_angle(angle_of(c.cross / c.largest)) - usual * CVTM_PI / 180;
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
  int64_t h = m->at[v];
  do {
    const cvtm_grid_point a = m->grid[cvtm_end_of(m, h)], b = m->grid[cvtm_apex_of(m, h)];
    const double dx = (double)b.x - a.x, dy = (double)b.y - a.y;
    x += 0.5 * ((double)a.x + b.x) - at.x - height * dy;
    y += 0.5 * ((double)a.y + b.y) - at.y + height * dx;
    ++count;
    h = cvtm_turn_left(m, h);
  } while (h != m->at[v]);
  return (cvtm_grid_point){(int32_t)(at.x + rint(x / count)), (int32_t)(at.y + rint(y / count))};
}

/* Moves the free vertices of a patch to those places. */
static void spread_patch(cvtm_sizer *z, const patch *p) {
  cvtm_half_edges *m = &z->m;
  for (int k = 0; k < p->inner; ++k) {
    const int32_t v = p->vertex[k];
    if (v >= z->fixed_count && m->at[v] >= 0) (void)cvtm_half_edges_move(m, v, mean_apex(m, v));
  }
}

/* Moves them to where sum_at is larger. */
static void settle_patch(cvtm_sizer *z, const patch *p) {
  cvtm_half_edges *m = &z->m;
  cvtm_sized_star s;
  for (int k = 0; k < p->inner; ++k) {
    const int32_t v = p->vertex[k];
    cvtm_grid_point to;
    if (v < z->fixed_count || m->at[v] < 0 || !cvtm_sized_find_star(m, v, m->at[v], &s)) continue;
    if (find_larger_sum(z, v, &s, &to)) (void)cvtm_half_edges_move(m, v, to);
  }
}

/* Moves the vertices near a change, and keeps all if the patch has become better. Most changes are
 * given up after the first moves, which cost little. */
static int keep_if_better(cvtm_sizer *z, int is_done, const patch *p, double before) {
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
      is_better = !m->out_of_memory && patch_value(z, p) > before + gain;
    }
  }
  cvtm_half_edges_end(m, is_better);
  for (int k = 0; k < p->count && is_better; ++k) z->vertex[p->vertex[k]].is_still = 0;
  clear_patch(z, p);
  return is_better;
}

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
  if (v < z->fixed_count || !make_patch(z, &v, 1, &p)) return 0;
  const double before = patch_value(z, &p);
  return keep_if_better(z, cvtm_half_edges_remove(&z->m, v), &p, before);
}

/* Divides an edge that is longer than `least` wanted lengths. */
static int try_divide(cvtm_sizer *z, int64_t h, double least) {
  cvtm_half_edges *m = &z->m;
  if (m->segment[h] >= 0 || m->twin[h] < 0) return 0;
  const int32_t v[4] = {m->corner[h], cvtm_end_of(m, h), cvtm_apex_of(m, h),
                        cvtm_apex_of(m, m->twin[h])};
  const cvtm_grid_point a = m->grid[v[0]], b = m->grid[v[1]];
  const double mean = 0.5 * (z->vertex[v[0]].size + z->vertex[v[1]].size);
  patch p;
  if (cvtm_sized_distance(a, b) < least * mean || !make_patch(z, v, 4, &p)) return 0;
  const double before = patch_value(z, &p);
  const cvtm_grid_point to = {(int32_t)(((int64_t)a.x + b.x) / 2),
                              (int32_t)(((int64_t)a.y + b.y) / 2)};
  const double size = cvtm_sizer_at(z, m->region[h / 3], to.x, to.y);
  const int32_t made = cvtm_half_edges_insert_on(m, h, to);
  if (made >= 0 && cvtm_sizer_take_vertex(z, made, size) != CVTM_OK) m->out_of_memory = 1;
  if (made >= 0 && !m->out_of_memory) {
    p.vertex[p.count++] = p.vertex[p.inner];
    p.vertex[p.inner++] = made;
    z->vertex[made].in_patch = 1;
  }
  return keep_if_better(z, made >= 0, &p, before);
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

/* Removes a corner of a triangle with a small angle, or divides a side. */
static int mend_triangle(cvtm_sizer *z, int64_t t) {
  const double least = 0.9;
  const cvtm_half_edges *m = &z->m;
  const int32_t *c = m->corner + 3 * t;
  const double most = 1 / tan(mended_to * CVTM_PI / 180);
  if (cvtm_largest_cotangent(m->grid[c[0]], m->grid[c[1]], m->grid[c[2]]) < most || is_forced(m, t))
    return 0;
  for (int k = 0; k < 3; ++k)
    if (try_remove(z, m->corner[3 * t + k])) return 1;
  for (int k = 0; k < 3; ++k)
    if (try_divide(z, 3 * t + k, least)) return 1;
  return 0;
}

/* Changes the edges at a vertex that has too few triangles, or too many. */
static int mend_vertex(cvtm_sizer *z, int32_t v) {
  const double least = 1.25;
  cvtm_sized_star s;
  const int error = degree_error(z, v);
  if (error == 0 || !cvtm_sized_find_star(&z->m, v, z->m.at[v], &s)) return 0;
  if (error < 0 && try_remove(z, v)) return 1;
  for (int k = 0; k < s.count; ++k)
    if (try_flip(z, error < 0 ? cvtm_half_after(s.half[k]) : s.half[k])) return 1;
  for (int k = 0; k < s.count && error > 0; ++k)
    if (try_divide(z, s.half[k], least)) return 1;
  return 0;
}

/* Flips edges, removes and adds vertices where that is better. A vertex is tried again only if a
 * change near it has been kept. Returns the number of changes. */
static int64_t mend(cvtm_sizer *z) {
  cvtm_half_edges *m = &z->m;
  int64_t changed = 0;
  m->records_changes = 1;
  for (int64_t v = z->fixed_count; v < m->vertex_count && !m->out_of_memory; ++v) {
    if (m->at[v] < 0 || z->vertex[v].is_still) continue;
    z->vertex[v].is_still = 1;
    changed += mend_vertex(z, (int32_t)v);
  }
  for (int64_t t = 0; t < m->triangle_count && !m->out_of_memory; ++t)
    if (m->corner[3 * t] >= 0) changed += mend_triangle(z, t);
  m->records_changes = 0;
  return changed;
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

/* ---- All steps ---- */

static void wake_all(cvtm_sizer *z) {
  for (int64_t v = 0; v < z->m.vertex_count; ++v) z->vertex[v].is_still = 0;
}

/* Moves vertices in rounds until none moves. */
static void settle_all(cvtm_sizer *z, int rounds, double degrees, int for_mean) {
  wake_all(z);
  for (int k = 0; k < rounds && move_vertices(z, degrees, for_mean) > 0;) ++k;
}

cvtm_status cvtm_sizer_raise(cvtm_sizer *z) {
  settle_all(z, STARTS, polished_to, 1);
  if (cvtm_sizer_slide(z, SLIDES) > 0) settle_all(z, POLISHES, polished_to, 1);
  find_degrees(z);
  wake_all(z);
  for (int k = 0; k < MENDS && mend(z) > 0;) ++k;
  settle_all(z, POLISHES, polished_to, 1);
  settle_all(z, RAISES, kept_at, 0);
  return z->m.out_of_memory ? cvtm_no_memory(z->error, "the mesh") : CVTM_OK;
}
