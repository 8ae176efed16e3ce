/* Smooth curves between labels.
 *
 * A traced point is a crossing: it lies on the segment between the centres of two neighbouring
 * pixels with different labels. Every curve that separates these centres crosses the same segments;
 * the smoothest such curve is wanted. Each arc is approximated by a smoothing spline (Reinsch 1967)
 * that stays within half a pixel of its points, and each crossing moves to the point where the
 * spline meets its segment, except near the ends of the segment. Junctions stay in their squares
 * between four centres. So no arcs cross, whatever the spline does: within a square the arcs join
 * points on its sides in the same order as before. */
#include "base/conjugate_gradients.h"
#include "base/geometry.h"
#include "meshes/domain/contour_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Regions of given areas ---- */

enum { FIT_ROUNDS = 60, FIT_ITERATIONS = 400 };

static const double area_tolerance = 1e-9;     /* relative error of an area */
static const double residual_reduction = 1e-6; /* reduction of the residual in a round */
static const double longest_step = 0.1; /* largest change of a coordinate in a round, pixels */
/* Added to the diagonal of the matrix, whose entries are the perimeters of the regions, so that a
 * region that cannot move does not affect the others. */
static const double damping = 1e-3;
static const double shortest_reach =
    1e-3; /* least length of edges at a point, pixels; bounds the weight of the point */

typedef struct fit {
  const cvtm_area_map *map;
  int64_t regions;
  int32_t *left,
      *right; /* per edge: the index of the region there; `regions` if that has no wanted area */
  double *weight;                           /* per coordinate: 0 if it does not move */
  double *move;                             /* per coordinate */
  double *error, *step, *direction, *image; /* per region, and one more */
} fit;

static int64_t find_region(const int32_t *regions, int64_t count, int32_t wanted) {
  const int64_t k = cvtm_lower_bound_32(regions, 0, count, wanted);
  return k < count && regions[k] == wanted ? k : count;
}

/* ---- Areas and their derivatives ---- */

/* Areas by Green's theorem; y is down, so the region on the left has the positive sign. */
static void find_areas(const fit *f, double *areas) {
  const double *p = f->map->points;
  for (int64_t r = 0; r <= f->regions; ++r) areas[r] = 0;
  for (int64_t e = 0; e < f->map->edge_count; ++e) {
    const double *a = p + 2 * (int64_t)f->map->edges[2 * e];
    const double *b = p + 2 * (int64_t)f->map->edges[2 * e + 1];
    const double part = 0.5 * (b[0] - a[0]) * (a[1] + b[1]);
    areas[f->left[e]] += part;
    areas[f->right[e]] -= part;
  }
}

/* Finds the movement for given multipliers of the areas. */
static void find_move(const fit *f, const double *multiplier) {
  const double *p = f->map->points;
  memset(f->move, 0, 2 * (size_t)f->map->point_count * sizeof *f->move);
  for (int64_t e = 0; e < f->map->edge_count; ++e) {
    const double difference = multiplier[f->left[e]] - multiplier[f->right[e]];
    if (difference == 0) continue;
    const int64_t u = f->map->edges[2 * e], v = f->map->edges[2 * e + 1];
    const double *a = p + 2 * u, *b = p + 2 * v;
    const double along_x = 0.5 * difference * (a[1] + b[1]);
    const double along_y = 0.5 * difference * (b[0] - a[0]);
    f->move[2 * u] -= along_x;
    f->move[2 * v] += along_x;
    f->move[2 * u + 1] += along_y;
    f->move[2 * v + 1] += along_y;
  }
  for (int64_t k = 0; k < 2 * f->map->point_count; ++k) f->move[k] *= f->weight[k];
}

/* Finds the changes of the areas by the movement, to first order. */
static void find_changes(const fit *f, double *changes) {
  const double *p = f->map->points;
  for (int64_t r = 0; r <= f->regions; ++r) changes[r] = 0;
  for (int64_t e = 0; e < f->map->edge_count; ++e) {
    const int64_t u = f->map->edges[2 * e], v = f->map->edges[2 * e + 1];
    const double *a = p + 2 * u, *b = p + 2 * v;
    const double part = 0.5 * ((f->move[2 * v] - f->move[2 * u]) * (a[1] + b[1]) +
                               (f->move[2 * u + 1] + f->move[2 * v + 1]) * (b[0] - a[0]));
    changes[f->left[e]] += part;
    changes[f->right[e]] -= part;
  }
  changes[f->regions] = 0;
}

/* ---- The steps ---- */

/* Multiplies by the Laplacian of the graph of neighbouring regions, with `damping`. */
static void multiply_regions(const void *context, const double *x, double *y) {
  const fit *f = context;
  find_move(f, x);
  find_changes(f, y);
  for (int64_t r = 0; r < f->regions; ++r) y[r] += damping * x[r];
}

/* Solves for the multipliers whose movement removes the errors of the areas. */
static void solve_for_multipliers(const fit *f) {
  const int64_t n = f->regions;
  const cvtm_cg_system system = {
      .count = n, .threads = 1, .context = f, .multiply = multiply_regions};
  const cvtm_cg_vectors vectors = {
      .x = f->step, .r = f->error, .d = f->direction, .product = f->image};
  f->step[n] = f->direction[n] = 0;
  (void)cvtm_cg_solve(&system, &vectors, residual_reduction, FIT_ITERATIONS);
}

/* Moves the points; a coordinate that reaches its bound is fixed from then on. */
static void take_step(const fit *f) {
  const cvtm_area_map *m = f->map;
  find_move(f, f->step);
  for (int64_t k = 0; k < 2 * m->point_count; ++k) {
    if (f->weight[k] == 0) continue;
    const double wanted = m->points[k] + fmin(fmax(f->move[k], -longest_step), longest_step);
    m->points[k] = fmin(fmax(wanted, m->low[k]), m->high[k]);
    if (m->points[k] != wanted) f->weight[k] = 0;
  }
}

/* Weight of a coordinate that may move: 1 / half the total length of the point's edges. */
static void set_weights(const fit *f) {
  const cvtm_area_map *m = f->map;
  memset(f->weight, 0, 2 * (size_t)m->point_count * sizeof *f->weight);
  for (int64_t e = 0; e < m->edge_count; ++e) {
    const int64_t u = m->edges[2 * e], v = m->edges[2 * e + 1];
    const double *a = m->points + 2 * u, *b = m->points + 2 * v;
    const double half = 0.5 * hypot(b[0] - a[0], b[1] - a[1]);
    for (int axis = 0; axis < 2; ++axis) {
      f->weight[2 * u + axis] += half;
      f->weight[2 * v + axis] += half;
    }
  }
  for (int64_t k = 0; k < 2 * m->point_count; ++k)
    f->weight[k] = m->low[k] < m->high[k] ? 1 / fmax(f->weight[k], shortest_reach) : 0;
}

static double find_errors(const fit *f, const double *areas) {
  double worst = 0;
  find_areas(f, f->error);
  for (int64_t r = 0; r < f->regions; ++r) {
    f->error[r] = areas[r] - f->error[r];
    worst = fmax(worst, fabs(f->error[r]) / areas[r]);
  }
  f->error[f->regions] = 0;
  return worst;
}

cvtm_status cvtm_fit_areas(const cvtm_area_map *map, const int32_t *regions, const double *areas,
                           int64_t region_count, double *worst, cvtm_error *error) {
  const size_t n = (size_t)map->point_count, rows = (size_t)region_count + 1;
  double *memory = malloc((4 * n + 4 * rows) * sizeof *memory);
  int32_t *sides = malloc((2 * (size_t)map->edge_count + 1) * sizeof *sides);
  *worst = 0;
  cvtm_status status = CVTM_OK;
  if (memory == NULL || sides == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the areas of %lld regions",
                       (long long)region_count);
  } else {
    double *vectors = memory + 4 * n;
    fit f = {map,
             region_count,
             sides,
             sides + map->edge_count,
             memory,
             memory + 2 * n,
             vectors,
             vectors + rows,
             vectors + 2 * rows,
             vectors + 3 * rows};
    for (int64_t e = 0; e < map->edge_count; ++e) {
      f.left[e] = (int32_t)find_region(regions, region_count, map->left[e]);
      f.right[e] = (int32_t)find_region(regions, region_count, map->right[e]);
    }
    set_weights(&f);
    *worst = find_errors(&f, areas);
    for (int round = 0; round<FIT_ROUNDS && * worst> area_tolerance; ++round) {
      solve_for_multipliers(&f);
      take_step(&f);
      *worst = find_errors(&f, areas);
    }
  }
  free(memory);
  free(sides);
  return status;
}

/* ---- Curves between labels ---- */

enum {
  ROUNDS = 3,      /* rounds of splines; after each round the ends of arcs move */
  ITERATIONS = 40, /* iterations for the bounds of a spline */
  REACH = 4        /* the spline meets the segment of a crossing within this many points */
};

static const double half_pixel = 0.5; /* largest distance of a spline from its points */
static const double crossing_reach =
    0.4; /* largest distance of a crossing from the middle of its segment */
static const double fitted_reach = 0.45; /* as crossing_reach, when areas are fitted */
static const double junction_reach =
    0.3;                             /* largest distance of a junction from its traced position */
static const double side_room = 0.3; /* crossings closer to a side do not move */

/* Workspace for an arc of `count` points, some of them repeated at both ends of a closed arc. */
typedef struct spline {
  double *target, *points, *bounded, *excess; /* 2 per point */
  double *diagonal, *first, *second;          /* entries of the factors L D L' of a banded matrix */
  int64_t count;
} spline;

/* ---- Splines ---- */

/* Factorises (1 + penalty) I + sigma^4 D' D for the points between the ends, where D is the matrix
 * of second differences. */
static void factor(spline *s, double sigma, double penalty) {
  const double bend = pow(sigma, 4);
  const int64_t last = s->count - 2;
  for (int64_t k = 1; k <= last; ++k) {
    double d = 1 + penalty + bend * (4 + (k > 1) + (k < last));
    double one = k < last ? -4 * bend : 0;
    const double two = k + 1 < last ? bend : 0;
    if (k > 1) {
      d -= s->first[k - 1] * s->first[k - 1] * s->diagonal[k - 1];
      one -= s->first[k - 1] * s->second[k - 1] * s->diagonal[k - 1];
    }
    if (k > 2) d -= s->second[k - 2] * s->second[k - 2] * s->diagonal[k - 2];
    s->diagonal[k] = d;
    s->first[k] = one / d;
    s->second[k] = two / d;
  }
}

/* Solves the system. On input the points hold the right side and, at both ends, positions. */
static void substitute(const spline *s, double sigma) {
  const double bend = pow(sigma, 4);
  const int64_t last = s->count - 2;
  for (int axis = 0; axis < 2; ++axis) {
    double *p = s->points + axis;
    p[2] += 2 * bend * p[0];
    p[2 * last] += 2 * bend * p[2 * last + 2];
    if (last > 1) {
      p[4] -= bend * p[0];
      p[2 * last - 2] -= bend * p[2 * last + 2];
    }
    for (int64_t k = 1; k <= last; ++k) {
      if (k > 1) p[2 * k] -= s->first[k - 1] * p[2 * k - 2];
      if (k > 2) p[2 * k] -= s->second[k - 2] * p[2 * k - 4];
    }
    for (int64_t k = last; k >= 1; --k) {
      p[2 * k] /= s->diagonal[k];
      if (k < last) p[2 * k] -= s->first[k] * p[2 * k + 2];
      if (k + 1 < last) p[2 * k] -= s->second[k] * p[2 * k + 4];
    }
  }
}

/* Minimises |p - target|^2 + sigma^4 |D p|^2 with p within half a pixel of the target in both
 * coordinates (alternating directions; Boyd et al. 2011, section 5). */
static void fit_spline(spline *s, double sigma) {
  const double penalty = 1;
  const int64_t numbers = 2 * s->count;
  memcpy(s->points, s->target, (size_t)numbers * sizeof *s->points);
  if (s->count < 3) return;
  factor(s, sigma, penalty);
  memcpy(s->bounded, s->target, (size_t)numbers * sizeof *s->bounded);
  memset(s->excess, 0, (size_t)numbers * sizeof *s->excess);
  for (int round = 0; round < ITERATIONS; ++round) {
    for (int64_t k = 2; k < numbers - 2; ++k)
      s->points[k] = s->target[k] + penalty * (s->bounded[k] - s->excess[k]);
    substitute(s, sigma);
    for (int64_t k = 2; k < numbers - 2; ++k) {
      const double wanted = s->points[k] + s->excess[k];
      s->bounded[k] = fmin(fmax(wanted, s->target[k] - half_pixel), s->target[k] + half_pixel);
      s->excess[k] = wanted - s->bounded[k];
    }
  }
}

/* ---- Arcs ---- */

typedef struct smoother {
  const cvtm_contour_picture *picture;
  cvtm_contour *contour;
  double *traced; /* 2 per point of the contour */
  double sigma;
  spline work;
} smoother;

static int64_t padding(double sigma) { return (int64_t)ceil(6 * sigma) + 8; }

static int is_joined(const cvtm_contour *c, int64_t arc) { return !c->corner[c->start[arc]]; }

/* Loads the traced points of an arc, with its ends at their current positions. Returns the index of
 * the first point. */
static int64_t load_arc(smoother *m, int64_t arc) {
  const cvtm_contour *c = m->contour;
  const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
  const double *p = m->traced + 2 * first, *now = c->points + 2 * first;
  double *to = m->work.target;
  if (!is_joined(c, arc)) {
    memcpy(to, p, 2 * (size_t)count * sizeof *to);
    memcpy(to, now, 2 * sizeof *to);
    memcpy(to + 2 * (count - 1), now + 2 * (count - 1), 2 * sizeof *to);
    m->work.count = count;
    return 0;
  }
  const int64_t period = count - 1, pad = padding(m->sigma);
  const double turn[2] = {p[2 * period] - p[0], p[2 * period + 1] - p[1]};
  for (int64_t k = -pad; k < count + pad; ++k) {
    const int64_t turns = (k >= 0 ? k : k - period + 1) / period, at = k - turns * period;
    for (int axis = 0; axis < 2; ++axis)
      to[2 * (k + pad) + axis] = p[2 * at + axis] + (double)turns * turn[axis];
  }
  m->work.count = count + 2 * pad;
  return pad;
}

/* The axis along which a crossing may move; on the other axis it is at pixel centres. */
static int moving_axis(const double *crossing) {
  return crossing[0] - floor(crossing[0]) == 0.5 ? 1 : 0;
}

/* The coordinate where the spline meets the line of the crossing's segment near point k; the
 * coordinate of point k if they do not meet. */
static double meet(const spline *s, int64_t k, int fixed, double at) {
  for (int64_t step = 0; step < 2 * REACH; ++step) {
    const int64_t i = k + (step % 2 == 0 ? -1 - step / 2 : step / 2);
    if (i < 0 || i + 1 >= s->count) continue;
    const double a = s->points[2 * i + fixed] - at, b = s->points[2 * i + 2 + fixed] - at;
    if (a * b > 0 || a == b) continue;
    const double t = a / (a - b);
    const double from = s->points[2 * i + !fixed], to = s->points[2 * i + 2 + !fixed];
    return from + t * (to - from);
  }
  return s->points[2 * k + !fixed];
}

static double round_place(const smoother *m, double v) {
  return m->picture->border == CVTM_BORDER_PERIODIC ? cvtm_round_on_torus(v) : v;
}

/* Moves the crossings of an arc to its spline. */
static void smooth_arc(smoother *m, int64_t arc) {
  cvtm_contour *c = m->contour;
  const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
  const int joined = is_joined(c, arc);
  const int64_t offset = load_arc(m, arc);
  fit_spline(&m->work, m->sigma);
  for (int64_t k = joined ? 0 : 1; k < count - 1; ++k) {
    const double *traced = m->traced + 2 * (first + k);
    const int axis = moving_axis(traced);
    const double met = meet(&m->work, k + offset, !axis, traced[!axis]);
    const double least = traced[axis] - crossing_reach, most = traced[axis] + crossing_reach;
    c->points[2 * (first + k) + axis] = round_place(m, fmin(fmax(met, least), most));
  }
  if (!joined) return;
  for (int axis = 0; axis < 2; ++axis)
    c->points[2 * (first + count - 1) + axis] = c->points[2 * first + axis] +
                                                m->traced[2 * (first + count - 1) + axis] -
                                                m->traced[2 * first + axis];
}

/* ---- Ends of arcs ---- */

/* An end of an arc: the traced position of its junction in the image, and its index among the
 * points of the contour. */
typedef struct arc_end {
  cvtm_placed at;
  int64_t next; /* the index of the neighbouring point on the arc */
} arc_end;

static int64_t list_ends(const smoother *m, arc_end *ends) {
  const cvtm_contour *c = m->contour;
  const int torus = m->picture->border == CVTM_BORDER_PERIODIC;
  int64_t count = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
    if (is_joined(c, arc)) continue;
    for (int k = 0; k < 2; ++k) {
      const int64_t point = k == 0 ? first : last;
      double x = m->traced[2 * point], y = m->traced[2 * point + 1];
      if (torus) {
        x -= floor(x / m->picture->width) * m->picture->width;
        y -= floor(y / m->picture->height) * m->picture->height;
      }
      ends[count++] = (arc_end){{x, y, point}, k == 0 ? first + 1 : last - 1};
    }
  }
  qsort(ends, (size_t)count, sizeof *ends, cvtm_compare_placed); /* orders by the first field */
  return count;
}

/* Extrapolates an arc beyond its last crossing: to the side for an end on a side, else by the
 * distance between the last two crossings, at most half a pixel. */
static void extrapolate(const smoother *m, const arc_end *end, double place[2]) {
  const double *p = m->contour->points + 2 * end->next;
  const double *q = p + (end->next > end->at.index ? 2 : -2);
  const double *from = m->contour->points + 2 * end->at.index;
  const int64_t step = end->next - end->at.index;
  const int64_t other = end->next + step;
  const int is_end = other < 0 || m->contour->corner[other];
  double dx = p[0] - q[0], dy = p[1] - q[1];
  if (is_end) { /* for an arc of three points, use the line to the other end */
    dx = from[0] - q[0];
    dy = from[1] - q[1];
  }
  const double length = hypot(dx, dy), share = length > 0 ? fmin(length, 0.5) / length : 0;
  place[0] = p[0] + share * dx;
  place[1] = p[1] + share * dy;
}

/* Moves an end on a side along the side, to the extrapolated point. */
static void move_side_end(const smoother *m, const arc_end *end) {
  double *p = m->contour->points + 2 * end->at.index;
  const double *q = m->contour->points + 2 * end->next;
  const int across = end->at.x == 0 || end->at.x == m->picture->width ? 0 : 1;
  double on[2];
  extrapolate(m, end, on);
  const double rise = on[across] - q[across];
  const double t = rise != 0 ? (p[across] - q[across]) / rise : 0;
  const double met = q[!across] + t * (on[!across] - q[!across]);
  const double traced = m->traced[2 * end->at.index + !across];
  if (isfinite(met)) p[!across] = fmin(fmax(met, traced - crossing_reach), traced + crossing_reach);
}

/* Moves the `count` arc ends of a junction to the mean of the extrapolated points. */
static void move_junction(const smoother *m, const arc_end *ends, int64_t count) {
  double mean[2] = {0, 0};
  for (int64_t k = 0; k < count; ++k) {
    double place[2];
    extrapolate(m, &ends[k], place);
    for (int axis = 0; axis < 2; ++axis)
      mean[axis] += (place[axis] - m->traced[2 * ends[k].at.index + axis]) / (double)count;
  }
  for (int axis = 0; axis < 2; ++axis) {
    const double move = round_place(m, fmin(fmax(mean[axis], -junction_reach), junction_reach));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t coordinate = 2 * ends[k].at.index + axis;
      m->contour->points[coordinate] = m->traced[coordinate] + move;
    }
  }
}

static void move_ends(const smoother *m, const arc_end *ends, int64_t count) {
  const int flat = m->picture->border == CVTM_BORDER_FLAT;
  for (int64_t first = 0, end; first < count; first = end) {
    const double x = ends[first].at.x, y = ends[first].at.y;
    end = first + 1;
    while (end < count && ends[end].at.x == x && ends[end].at.y == y) ++end;
    const int on_side = x == 0 || y == 0 || x == m->picture->width || y == m->picture->height;
    if (flat && on_side) {
      for (int64_t k = first; k < end; ++k) move_side_end(m, &ends[k]);
    } else {
      move_junction(m, ends + first, end - first);
    }
  }
}

cvtm_status cvtm_contour_smooth(const cvtm_contour_picture *picture, double sigma,
                                cvtm_contour *contour, cvtm_error *error) {
  const size_t points = (size_t)contour->start[contour->arc_count];
  const size_t n = (size_t)(cvtm_contour_longest(contour) + 2 * padding(sigma) + 4);
  cvtm_scratch memory = {0};
  double *traced = cvtm_scratch_take(&memory, points, 2 * sizeof *traced);
  double *work = cvtm_scratch_take(&memory, n, 11 * sizeof *work);
  arc_end *ends = cvtm_scratch_take(&memory, (size_t)contour->arc_count, 2 * sizeof *ends);
  const cvtm_status status = memory.failed ? cvtm_no_memory(error, "the contour") : CVTM_OK;
  if (status == CVTM_OK) {
    memcpy(traced, contour->points, 2 * points * sizeof *traced);
    smoother m = {picture,
                  contour,
                  traced,
                  sigma,
                  {work, work + 2 * n, work + 4 * n, work + 6 * n, work + 8 * n, work + 9 * n,
                   work + 10 * n, 0}};
    const int64_t count = list_ends(&m, ends);
    for (int round = 0; round < ROUNDS; ++round) {
      for (int64_t arc = 0; arc < contour->arc_count; ++arc) smooth_arc(&m, arc);
      if (round + 1 < ROUNDS) move_ends(&m, ends, count);
    }
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- Areas ---- */

/* Restricts bounds to the point's side of a line, at least `side_room` away from the line. */
static void stay_beside(double line, double from, double *low, double *high) {
  if (from > line) *low = fmax(*low, fmin(line + side_room, from));
  if (from < line) *high = fmin(*high, fmax(line - side_room, from));
}

/* Sets the bounds of crossings that are neither ends nor beside a side; others do not move. */
static void bound_crossings(const cvtm_contour *c, const cvtm_contour_picture *picture, double *low,
                            double *high) {
  const double size[2] = {picture->width, picture->height};
  for (int64_t k = 0; k < c->start[c->arc_count]; ++k) {
    const double *p = c->points + 2 * k;
    const int axis = moving_axis(p);
    for (int a = 0; a < 2; ++a) low[2 * k + a] = high[2 * k + a] = p[a];
    const int crossing = p[!axis] - floor(p[!axis]) == 0.5;
    if (!crossing || c->corner[k] || fmin(p[axis], size[axis] - p[axis]) < side_room) continue;
    low[2 * k + axis] = rint(p[axis]) - fitted_reach;
    high[2 * k + axis] = rint(p[axis]) + fitted_reach;
    stay_beside(0, p[axis], &low[2 * k + axis], &high[2 * k + axis]);
    stay_beside(size[axis], p[axis], &low[2 * k + axis], &high[2 * k + axis]);
  }
}

cvtm_status cvtm_contour_fit(const cvtm_contour_picture *picture, cvtm_contour *c,
                             cvtm_error *error) {
  const int64_t points = c->start[c->arc_count];
  double *bounds = malloc((4 * (size_t)points + 1) * sizeof *bounds), worst;
  int32_t *edges = malloc((4 * (size_t)points + 1) * sizeof *edges);
  cvtm_status status = CVTM_OK;
  if (points > INT32_MAX / 2)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the contour has too many points: %lld",
                       (long long)points);
  else if (bounds == NULL || edges == NULL)
    status = cvtm_no_memory(error, "the contour");
  if (status == CVTM_OK) {
    int32_t *left = edges + 2 * points, *right = edges + 3 * points;
    int64_t count = 0;
    bound_crossings(c, picture, bounds, bounds + 2 * points);
    for (int64_t arc = 0; arc < c->arc_count; ++arc) {
      const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
      const int closed = cvtm_contour_is_closed(c, arc) && !c->corner[first];
      for (int64_t k = first; k < last; ++k) {
        edges[2 * count] = (int32_t)k;
        edges[2 * count + 1] = (int32_t)(closed && k + 1 == last ? first : k + 1);
        left[count] = c->left[arc];
        right[count++] = c->right[arc];
      }
    }
    const cvtm_area_map map = {c->points, points, bounds, bounds + 2 * points,
                               edges,     left,   right,  count};
    status = cvtm_fit_areas(&map, c->region, c->region_area, c->region_count, &worst, error);
  }
  for (int64_t arc = 0; status == CVTM_OK && arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
    if (!c->corner[first]) memcpy(c->points + 2 * last, c->points + 2 * first, 2 * sizeof(double));
  }
  free(bounds);
  free(edges);
  return status;
}
