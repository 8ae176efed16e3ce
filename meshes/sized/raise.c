#include "base/host.h"
#include "base/portable.h"
#include "meshes/sized/moves.h"

#include <math.h>
#include <stdlib.h>

enum {
  RAISES = 8,   /* rounds of moves for the smallest angles */
  POLISHES = 8, /* rounds of moves for their mean and the lengths of edges */
  SMOOTHS = 3,  /* such rounds at first, and for minima of each sharpness */
  MENDS = 2,    /* rounds of flips, removals and additions */
  SLIDES = 4    /* rounds of moves along narrow edges */
};

/* Degrees. Vertices at angles below these move: first for the mean of the smallest angles, in the
 * end to raise the least ones. */
static const double polished_to = 59.5, kept_at = 45;
static const double enough = 1e-4; /* a smaller gain of the sum is not worth a move */
/* Sharpness of smooth minima. Where the smallest of three angles changes, no vertex alone may find
 * a move that raises the sum. With smooth minima vertices come closer to the largest sum. At last
 * the minima are plain ones. */
static const double sharpnesses[] = {20, 60, 0};
static const double smooth_width = 1; /* degrees on both sides of the bound */

/* ---- Moves ---- */

/* Moves are tried in four directions at once, one per lane of a vector. */
enum { WAYS = 4 };
typedef double lanes __attribute__((vector_size(WAYS * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(WAYS * sizeof(int64_t))));

static const lanes zero = {0, 0, 0, 0};
static const lanes infinite = {INFINITY, INFINITY, INFINITY, INFINITY};

/* Per lane: a where the mask is set, b elsewhere. */
#define CHOOSE(mask, a, b) ((lanes)(((mask) & (masks)(a)) | (~(mask) & (masks)(b))))

typedef struct positions {
  lanes x, y;
} positions;

/* cvtm_sized_values of triangle k of a star, for each position of the vertex; dot: the products at
 * the corners. */
CVTM_INLINE void find_values(const cvtm_sized_star *s, int k, const positions *at, lanes *cross,
                             lanes dot[3], lanes *largest) {
  const int next = k + 1 < s->count ? k + 1 : 0;
  const lanes ux = s->x[k] - at->x, uy = s->y[k] - at->y;
  const lanes vx = s->x[next] - at->x, vy = s->y[next] - at->y, wx = vx - ux, wy = vy - uy;
  dot[0] = ux * vx + uy * vy;
  dot[1] = -(ux * wx + uy * wy);
  dot[2] = vx * wx + vy * wy;
  const lanes larger = CHOOSE(dot[1] > dot[2], dot[1], dot[2]);
  *cross = ux * vy - uy * vx;
  *largest = CHOOSE(dot[0] > larger, dot[0], larger);
}

/* Finds, for each position, the largest cotangent of the angles in the star's triangles; INFINITY
 * if a triangle is not positive. */
CVTM_INLINE void find_worst(const cvtm_sized_star *s, const positions *at, lanes *worst) {
  *worst = zero;
  for (int k = 0; k < s->triangles; ++k) {
    lanes cross, dot[3], largest;
    find_values(s, k, at, &cross, dot, &largest);
    const lanes here = CHOOSE(cross > 0, largest / cross, infinite);
    *worst = CHOOSE(here > *worst, here, *worst);
  }
}

/* Finds the tangent that belongs to a smooth maximum of a triangle's cotangents: the logarithm of
 * the sum of their exponentials. Powers and a series are close to these. */
CVTM_INLINE void find_smooth_tangent(double sharpness, const lanes *cross, const lanes dot[3],
                                     const lanes *largest, lanes *tangent) {
  const lanes scale = sharpness / 16 / *cross;
  lanes sum = zero;
  for (int k = 0; k < 3; ++k) {
    const lanes linear = 1 - scale * (*largest - dot[k]), y = CHOOSE(linear > 0, linear, zero);
    const lanes y2 = y * y, y4 = y2 * y2, y8 = y4 * y4;
    sum += y8 * y8;
  }
  const lanes u = (sum - 1) / (sum + 1), u2 = u * u;
  const lanes logarithm =
      2 * u * (1 + u2 * (1.0 / 3 + u2 * (1.0 / 5 + u2 * (1.0 / 7 + u2 * (1.0 / 9)))));
  *tangent = *cross / (*largest + *cross * logarithm / sharpness);
}

/* Finds, for each position, the errors of the lengths of edges less the sum of the smallest angles
 * of the star's triangles, by the formulas of moves.h. is_smooth: with smooth minima, and a
 * parabola around the kink at the bound. */
CVTM_INLINE void add_values(const cvtm_sized_star *s, const positions *at, int is_smooth,
                            lanes *sum) {
  const double root = cvtm_sized_root, heavy = cvtm_sized_heavy, bound = cvtm_sized_bound;
  const double width = is_smooth ? smooth_width * CVTM_PI / 180 : 0;
  const double bend = is_smooth ? (heavy - 1) / (4 * width) : 0;
  *sum = zero;
  for (int k = 0; k < s->triangles; ++k) {
    lanes cross, dot[3], largest;
    find_values(s, k, at, &cross, dot, &largest);
    lanes tangent = cross / largest;
    if (is_smooth) find_smooth_tangent(s->sharpness, &cross, dot, &largest, &tangent);
    const lanes u = (tangent - root) / (1 + root * tangent), u2 = u * u;
    const lanes angle = CVTM_PI / 6 + u * (1 - u2 * (1.0 / 3 - u2 * (1.0 / 5 - u2 / 7)));
    lanes value = CHOOSE(angle < bound, bound - heavy * (bound - angle), angle);
    if (is_smooth) {
      const lanes way = bound + width - angle, below = CHOOSE(way > 0, way, zero);
      const lanes bent = CHOOSE(below < 2 * width, below, zero + 2 * width);
      value = angle - bend * bent * (2 * below - bent);
    }
    *sum -= CHOOSE(cross > 0, value, -infinite);
  }
  for (int k = 0; k < s->count; ++k) {
    const lanes dx = s->x[k] - at->x, dy = s->y[k] - at->y;
    const lanes squared = (dx * dx + dy * dy) * s->scale[k], x = (squared - 1) / (squared + 1);
    *sum += cvtm_sized_length_weight * x * x;
  }
}

CVTM_INLINE void find_sums(const cvtm_sized_star *s, const positions *at, lanes *sum) {
  add_values(s, at, 0, sum);
}

CVTM_INLINE void find_smooth(const cvtm_sized_star *s, const positions *at, lanes *sum) {
  add_values(s, at, 1, sum);
}

/* Values that are to be small. */
typedef void (*values)(const cvtm_sized_star *s, const positions *at, lanes *value);
CVTM_DEFINE_WIDTHS(void, find_worst, (const cvtm_sized_star *s, const positions *at, lanes *worst),
                   (s, at, worst))
CVTM_DEFINE_WIDTHS(void, find_sums, (const cvtm_sized_star *s, const positions *at, lanes *sum),
                   (s, at, sum))
CVTM_DEFINE_WIDTHS(void, find_smooth, (const cvtm_sized_star *s, const positions *at, lanes *sum),
                   (s, at, sum))

static values worst_values(void) {
  return cvtm_has_wide_vectors() ? find_worst_wide : find_worst_baseline;
}

static values sum_values(void) {
  return cvtm_has_wide_vectors() ? find_sums_wide : find_sums_baseline;
}

static values smooth_values(void) {
  return cvtm_has_wide_vectors() ? find_smooth_wide : find_smooth_baseline;
}

/* The largest cotangent with the vertex moved by (x, y). */
static double worst_at(const cvtm_sized_star *s, double x, double y) {
  double worst = 0;
  for (int k = 0; k < s->triangles; ++k) {
    const int next = k + 1 < s->count ? k + 1 : 0;
    const cvtm_sized_corner c =
        cvtm_sized_values(s->x[k] - x, s->y[k] - y, s->x[next] - x, s->y[next] - y);
    if (!(c.cross > 0)) return INFINITY;
    if (c.largest > worst * c.cross) worst = c.largest / c.cross;
  }
  return worst;
}

/* Descends from the vertex's position along the given directions by steps, which are halved down to
 * about a hundredth of the vertex's size. Returns by how much the value is smaller at `place`. */
static double climb(const cvtm_sized_star *s, values value, double step, const double way[WAYS][2],
                    double place[2]) {
  lanes there;
  positions at = {zero, zero};
  value(s, &at, &there);
  const double start = there[0];
  double best = start;
  place[0] = place[1] = 0;
  for (int halvings = 0; halvings < 4 && step > 0.5;) {
    int found = -1;
    for (int k = 0; k < WAYS; ++k) {
      at.x[k] = place[0] + step * way[k][0];
      at.y[k] = place[1] + step * way[k][1];
    }
    value(s, &at, &there);
    for (int k = 0; k < WAYS; ++k) {
      if (!(there[k] < best)) continue;
      best = there[k];
      found = k;
    }
    if (found < 0) {
      step *= 0.5;
      ++halvings;
      continue;
    }
    place[0] = at.x[found];
    place[1] = at.y[found];
  }
  return start - best;
}

/* Steps down the gradient of the smooth values, by at most `step`. Returns by how much the value is
 * smaller at `place`. */
static double glide(const cvtm_sized_star *s, double step, double place[2]) {
  const values value = smooth_values();
  const double aside = 0.05 * step;
  positions at = {{0, aside, 0, 0}, {0, 0, aside, 0}};
  lanes there;
  value(s, &at, &there);
  const double start = there[0], x = there[1] - start, y = there[2] - start,
               length = sqrt(x * x + y * y);
  double best = start;
  place[0] = place[1] = 0;
  if (!(length > 0 && length < INFINITY)) return 0;
  for (int k = 0; k < WAYS; ++k, step *= 0.5) {
    at.x[k] = -step * x / length;
    at.y[k] = -step * y / length;
  }
  value(s, &at, &there);
  for (int k = 0; k < WAYS; ++k) {
    if (!(there[k] < best)) continue;
    best = there[k];
    place[0] = at.x[k];
    place[1] = at.y[k];
  }
  return start - best;
}

static const double four_ways[WAYS][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

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
  double place[2];
  const double gain = climb(s, worst_values(), 0.1 * z->vertex[v].size, four_ways, place);
  return gain > 0.001 * worst && round_place(z, v, s, place, to);
}

/* Finds, for each link, 1 / the square of its wanted length. */
static void find_scales(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s) {
  for (int k = 0; k < s->count; ++k) {
    const double h = z->vertex[v].size + z->vertex[s->vertex[k]].size;
    s->scale[k] = 4 / (h * h);
  }
}

int cvtm_sizer_find_move(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s, cvtm_grid_point *to) {
  double place[2];
  const double size = z->vertex[v].size;
  find_scales(z, v, s);
  s->sharpness = z->sharpness;
  const double gain = s->sharpness > 0 ? glide(s, 0.05 * size, place)
                                       : climb(s, sum_values(), 0.06 * size, four_ways, place);
  return gain > enough && round_place(z, v, s, place, to);
}

int cvtm_sizer_drop(const cvtm_sizer *z, int32_t v, double x, double y, double *t,
                    cvtm_grid_point *to) {
  const int32_t edge = z->places[z->vertex[v].place].edge;
  double point[2];
  *t = cvtm_sizer_fraction(z, edge, z->m.grid[v].x + x, z->m.grid[v].y + y);
  if (!(*t > 0 && *t < 1)) return 0;
  cvtm_sizer_point_on(z, edge, *t, point);
  *to = cvtm_sizer_round(z, point);
  return 1;
}

int cvtm_sizer_find_slide(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s, int for_mean,
                          double *t, cvtm_grid_point *to) {
  const double worst = worst_at(s, 0, 0), kept = 1 / tan(kept_at * CVTM_PI / 180);
  double way[2], place[2];
  if (!for_mean && !(worst > kept)) return 0;
  find_scales(z, v, s);
  cvtm_sizer_way(z, z->places[z->vertex[v].place].edge, way);
  const double length = hypot(way[0], way[1]), step = 0.1 * z->vertex[v].size;
  const double both[WAYS][2] = {{way[0] / length, way[1] / length},
                                {-way[0] / length, -way[1] / length}}; /* and no move */
  const double gain = climb(s, for_mean ? sum_values() : worst_values(), step, both, place);
  if (for_mean ? !(gain > enough) || worst_at(s, place[0], place[1]) > fmax(kept, worst)
               : !(gain > 0.001 * worst))
    return 0;
  return cvtm_sizer_drop(z, v, place[0], place[1], t, to);
}

/* Nonzero if the edges from an added vertex are short, so that they end on the other side of a
 * channel. */
static int is_in_channel(const cvtm_sizer *z, int32_t v, const cvtm_sized_star *s) {
  for (int k = 0; k < s->count; ++k)
    if (hypot(s->x[k], s->y[k]) > 2 * z->vertex[v].size) return 0;
  return 1;
}

int64_t cvtm_sizer_slide(cvtm_sizer *z, int rounds, int for_mean) {
  cvtm_half_edges *m = &z->m;
  const int recorded = m->records_changes;
  const int is_empty = m->vertex_count == z->fixed_count;
  int64_t moved = 1, sum = 0;
  cvtm_sized_star s;
  m->records_changes = 0;
  for (int k = 0; k < rounds && moved > 0; ++k) {
    moved = 0;
    for (int64_t i = 0; i < m->vertex_count; ++i) {
      const int32_t v = (int32_t)i;
      double t;
      cvtm_grid_point to;
      if (m->at[v] < 0 || !cvtm_sizer_slides(z, v) ||
          !cvtm_sized_find_star(m, v, cvtm_first_of_fan(m, m->at[v]), &s) ||
          (is_empty && !is_in_channel(z, v, &s)) ||
          !cvtm_sizer_find_slide(z, v, &s, for_mean, &t, &to) || !cvtm_sized_is_inside(m, &s, to))
        continue;
      m->grid[v] = to;
      z->places[z->vertex[v].place].t = t;
      ++moved;
    }
    if (moved > 0) cvtm_half_edges_restore_all(m, NULL);
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
  if (!(for_mean ? cvtm_sizer_find_move(z, v, &s, &to) : find_better(z, v, &s, worst, &to)))
    return 0;
  z->m.grid[v] = to;
  z->colours.has_moved[v] = 1;
  z->vertex[v].is_still = 0;
  cvtm_sizer_wake(z, &s);
  return 1;
}

/* Moves vertices whose triangles have an angle below `degrees`. A move raises the smallest angle
 * around the vertex or, with for_mean, lowers find_sums. A vertex that has not moved is tried
 * again only after a neighbour has moved. Returns the number of moved vertices. */
static int64_t move_vertices(cvtm_sizer *z, double degrees, int for_mean) {
  const double most = 1 / tan(degrees * CVTM_PI / 180);
  int64_t moved = 0;
  if (!cvtm_sizer_colour(z)) return 0;
  for (int k = 0; k < CVTM_SIZED_COLOURS; ++k) {
    const int64_t begin = z->colours.first[k], end = z->colours.first[k + 1];
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : moved) \
    if (end - begin >= CVTM_WORTH_THREADS / 64)
    for (int64_t i = begin; i < end; ++i)
      moved += move_vertex(z, z->colours.list[i], most, for_mean);
  }
  cvtm_half_edges_restore_all(&z->m, z->colours.has_moved);
  return moved;
}

/* ---- All steps ---- */

static void wake_all(cvtm_sizer *z) {
  for (int64_t v = 0; v < z->m.vertex_count; ++v) z->vertex[v].is_still = 0;
}

/* Moves vertices in rounds until none moves, at first those that are not still. */
static void settle(cvtm_sizer *z, int rounds, double degrees, int for_mean) {
  for (int k = 0; k < rounds; ++k) {
    const int64_t slid = for_mean ? 0 : cvtm_sizer_slide(z, 1, 0);
    if (move_vertices(z, degrees, for_mean) + slid == 0) break;
  }
}

static void settle_all(cvtm_sizer *z, int rounds, double degrees, int for_mean) {
  wake_all(z);
  settle(z, rounds, degrees, for_mean);
}

/* Moves vertices for smooth minima, which become sharper, and at last for the angles. */
static void polish(cvtm_sizer *z) {
  for (size_t k = 0; k < sizeof sharpnesses / sizeof *sharpnesses; ++k) {
    z->sharpness = sharpnesses[k];
    settle_all(z, SMOOTHS, polished_to, 1);
  }
}

cvtm_status cvtm_sizer_raise(cvtm_sizer *z) {
  settle_all(z, SMOOTHS, polished_to, 1);
  if (cvtm_sizer_slide(z, SLIDES, 1) > 0) settle_all(z, POLISHES, polished_to, 1);
  wake_all(z);
  for (int k = 0; k < MENDS && cvtm_sizer_mend(z) > 0;) ++k;
  polish(z);
  settle_all(z, RAISES, kept_at, 0);
  for (int k = 0; k < MENDS && cvtm_sizer_mend_triangles(z) > 0; ++k) {
    settle(z, POLISHES, polished_to, 1); /* the vertices near changes */
    settle_all(z, RAISES, kept_at, 0);
  }
  return z->m.out_of_memory ? cvtm_no_memory(z->error, "the mesh") : CVTM_OK;
}
