#include "base/host.h"
#include "base/portable.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>

enum {
  RAISES = 8,   /* rounds of moves for the smallest angles */
  POLISHES = 8, /* rounds of moves for their mean */
  REPAIRS = 3,  /* rounds of removals and additions */
  SETTLES = 4,  /* rounds of moves after each change */
  SLIDES = 4    /* rounds of moves along narrow edges */
};

/* Degrees. Vertices at angles below these move: first to raise the smallest angle, then the mean,
 * in which angles below mean_bound count more. Where an angle is still below repaired_to, vertices
 * are removed or added. Finally the smallest angles are raised again. */
static const double raised_to = 46, polished_to = 58, mean_bound = 45.2, repaired_to = 40,
                    kept_at = 45;
static const double shortest =
    0.45; /* least length of the halves of a side, relative to the wanted length */

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

/* The sum of the smallest angles of the star's triangles with the vertex moved by (x, y). The part
 * of an angle below the bound counts several times. */
static double sum_at(const cvtm_sized_star *s, double x, double y) {
  const double heavy = 8, bound = mean_bound * CVTM_PI / 180;
  double sum = 0;
  for (int k = 0; k < s->triangles; ++k) {
    const int next = k + 1 < s->count ? k + 1 : 0;
    const corner_values c = values_of(s->x[k] - x, s->y[k] - y, s->x[next] - x, s->y[next] - y);
    if (!(c.cross > 0)) return -INFINITY;
    const double angle = angle_of(c.cross / c.largest);
    sum += angle < bound ? bound - heavy * (bound - angle) : angle;
  }
  return sum;
}

static double negative_sum(const cvtm_sized_star *s, double x, double y) {
  return -sum_at(s, x, y);
}

/* Finds a position of a vertex close by where sum_at is larger; returns 0 if there is none. */
static int find_larger_sum(const cvtm_sizer *z, int32_t v, const cvtm_sized_star *s,
                           cvtm_grid_point *to) {
  const double start = sum_at(s, 0, 0), enough = 1e-4;
  double place[2] = {0, 0};
  const double best =
      -climb(s, negative_sum, -start, 0.06 * z->vertex[v].size, four_ways, 4, place);
  return best > start + enough && round_place(z, v, s, place, to);
}

/* Moves a vertex along its edge if sum_at is larger close by; returns 0 if it is not. */
static int slide(cvtm_sizer *z, int32_t v, const cvtm_sized_star *s) {
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

/* ---- Removals and additions ---- */

static double cotangent_of(const cvtm_half_edges *m, int64_t t) {
  const int32_t *c = m->corner + 3 * t;
  return cvtm_largest_cotangent(m->grid[c[0]], m->grid[c[1]], m->grid[c[2]]);
}

/* Lists the triangles that were changed since the last commit, some perhaps twice; returns their
 * largest cotangent. */
static double worst_changed(const cvtm_half_edges *m) {
  double worst = 0;
  for (int64_t k = 0; k < m->change_count; ++k) {
    const int64_t t = m->changes[k].index / 3;
    if (m->changes[k].kind != CVTM_CHANGED_CORNER || m->corner[3 * t] < 0) continue;
    worst = fmax(worst, cotangent_of(m, t));
  }
  return worst;
}

/* Moves the vertices of changed triangles with an angle below the bound. */
static void settle(cvtm_sizer *z, double most) {
  cvtm_half_edges *m = &z->m;
  cvtm_sized_star s;
  for (int round = 0; round < SETTLES; ++round) {
    const int64_t count = m->change_count;
    int moved = 0;
    for (int64_t k = 0; k < count && !m->out_of_memory; ++k) {
      const int64_t h = m->changes[k].index;
      if (m->changes[k].kind != CVTM_CHANGED_CORNER || m->corner[h] < z->fixed_count) continue;
      const int32_t v = m->corner[h];
      if (!cvtm_sized_find_star(m, v, m->at[v], &s)) continue;
      const double worst = worst_at(&s, 0, 0);
      cvtm_grid_point to;
      if (!(worst > most) || !find_better(z, v, &s, worst, &to)) continue;
      moved += cvtm_half_edges_move(m, v, to);
      cvtm_half_edges_restore(m);
    }
    if (moved == 0) return;
  }
}

/* Keeps the changes if all changed triangles are better than `worst`, else undoes them. */
static int keep_if_better(cvtm_sizer *z, int is_done, double worst, double most) {
  cvtm_half_edges *m = &z->m;
  if (is_done) {
    cvtm_half_edges_restore(m);
    settle(z, most);
  }
  const int is_better = is_done && !m->out_of_memory && worst_changed(m) < 0.97 * worst;
  if (!is_better) cvtm_half_edges_undo(m, 0);
  cvtm_half_edges_commit(m);
  return is_better;
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

/* Removes a corner of a triangle, or divides a side, if that raises the smallest angle. */
static int64_t repair_triangle(cvtm_sizer *z, int64_t t, double most) {
  cvtm_half_edges *m = &z->m;
  const double worst = cotangent_of(m, t);
  const int32_t corner[3] = {m->corner[3 * t], m->corner[3 * t + 1], m->corner[3 * t + 2]};
  for (int k = 0; k < 3; ++k) {
    if (corner[k] < z->fixed_count) continue;
    if (keep_if_better(z, cvtm_half_edges_remove(m, corner[k]), worst, most)) return 1;
  }
  for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
    if (m->segment[h] >= 0) continue;
    const cvtm_grid_point p = m->grid[m->corner[h]], q = m->grid[cvtm_end_of(m, h)];
    const cvtm_grid_point to = {(int32_t)(((int64_t)p.x + q.x) / 2),
                                (int32_t)(((int64_t)p.y + q.y) / 2)};
    const double size = cvtm_sizer_at(z, m->region[t], to.x, to.y);
    if (0.5 * cvtm_sized_distance(p, q) < shortest * size) continue;
    const int32_t v = cvtm_half_edges_insert_on(m, h, to);
    if (v >= 0 && cvtm_sizer_take_vertex(z, v, size) != CVTM_OK) m->out_of_memory = 1;
    if (keep_if_better(z, v >= 0, worst, most)) return 1;
  }
  return 0;
}

static int64_t repair_triangles(cvtm_sizer *z, double degrees) {
  const cvtm_half_edges *m = &z->m;
  const double most = 1 / tan(degrees * CVTM_PI / 180);
  int64_t changed = 0;
  z->m.records_changes = 1;
  for (int64_t t = 0; t < m->triangle_count && !m->out_of_memory; ++t) {
    if (m->corner[3 * t] < 0 || cotangent_of(m, t) < most || is_forced(m, t)) continue;
    changed += repair_triangle(z, t, most);
  }
  z->m.records_changes = 0;
  return changed;
}

/* ---- All steps ---- */

/* Moves vertices in rounds until none moves. */
static void settle_all(cvtm_sizer *z, int rounds, double degrees, int for_mean) {
  for (int64_t v = 0; v < z->m.vertex_count; ++v) z->vertex[v].is_still = 0;
  for (int k = 0; k < rounds && move_vertices(z, degrees, for_mean) > 0;) ++k;
}

cvtm_status cvtm_sizer_raise(cvtm_sizer *z) {
  settle_all(z, RAISES, raised_to, 0);
  settle_all(z, POLISHES, polished_to, 1);
  if (cvtm_sizer_slide(z, SLIDES) > 0) settle_all(z, POLISHES, polished_to, 1);
  for (int k = 0; k < REPAIRS && repair_triangles(z, repaired_to) > 0;) ++k;
  settle_all(z, RAISES, kept_at, 0);
  return z->m.out_of_memory ? cvtm_no_memory(z->error, "the mesh") : CVTM_OK;
}
