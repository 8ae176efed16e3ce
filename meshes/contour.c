#include "meshes/contour.h"

#include "base/coverage.h"
#include "base/grow.h"
#include "base/portable.h"
#include "meshes/crossings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_contour_defaults(cvtm_contour_options *options) {
  options->corner_angle = 40;
  options->smallest = 1;
}

void cvtm_contour_free(cvtm_contour *contour) {
  free(contour->start);
  free(contour->points);
  free(contour->corner);
  free(contour->left);
  free(contour->right);
  *contour = (cvtm_contour){0};
}

static cvtm_status no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the contour");
}

/* ---- Marching squares ---- */

/* Between the places `a` and `b` (crossings, and junctions of squares) of the plane, with the
 * regions beside it on the way from a to b. */
typedef struct segment {
  int64_t a, b;
  int32_t left, right;
} segment;

typedef struct tracer {
  const float *coverage; /* or */
  const int32_t *labels;
  int width, height;
  double *points;
  int64_t point_count, point_capacity;
  segment *segments;
  int64_t segment_count, segment_capacity;
  int64_t *above, *below, *between; /* crossings of a row of squares: width + 2 each, -1: none */
  cvtm_error *error;
} tracer;

static double coverage_at(const tracer *t, int i, int j) {
  if (i < 0 || j < 0 || i >= t->width || j >= t->height) return 0;
  return (double)t->coverage[(int64_t)j * t->width + i];
}

static int32_t label_at(const tracer *t, int i, int j) {
  if (t->coverage != NULL) return coverage_at(t, i, j) >= 0.5;
  if (i < 0 || j < 0 || i >= t->width || j >= t->height) return 0;
  return t->labels[(int64_t)j * t->width + i];
}

static int64_t add_place(tracer *t, double x, double y) {
  if (!cvtm_grow(&t->points, 2 * sizeof *t->points, &t->point_capacity, t->point_count + 1))
    return -1;
  t->points[2 * t->point_count] = x;
  t->points[2 * t->point_count + 1] = y;
  return t->point_count++;
}

static cvtm_status add_segment(tracer *t, int64_t a, int64_t b, int32_t left, int32_t right) {
  if (!cvtm_grow(&t->segments, sizeof *t->segments, &t->segment_capacity, t->segment_count + 1))
    return no_memory(t->error);
  t->segments[t->segment_count++] = (segment){a, b, left, right};
  return CVTM_OK;
}

/* The crossing between the centres of two neighbouring pixels into *place, -1 if there is none. */
static cvtm_status cross(tracer *t, int i, int j, int di, int dj, int64_t *place) {
  *place = -1;
  if (label_at(t, i, j) == label_at(t, i + di, j + dj)) return CVTM_OK;
  double share = 0.5;
  if (t->coverage != NULL) {
    const double here = coverage_at(t, i, j), there = coverage_at(t, i + di, j + dj);
    share = (0.5 - here) / (there - here);
    /* Not on a centre, where up to four crossings would coincide; and a line of single pixels,
     * however faint, is half a pixel wide. */
    const double least = here >= 0.5 && !label_at(t, i - di, j - dj) ? 0.25 : 0.001;
    const double most = there >= 0.5 && !label_at(t, i + 2 * di, j + 2 * dj) ? 0.75 : 0.999;
    share = fmin(fmax(share, least), most);
  }
  *place = add_place(t, i + 0.5 + di * share, j + 0.5 + dj * share);
  return *place < 0 ? no_memory(t->error) : CVTM_OK;
}

/* Joins the crossings on the sides p < q of a square whose corners have these labels. */
static cvtm_status join(tracer *t, const int64_t *crossing, const int32_t *label, int p, int q) {
  return add_segment(t, crossing[p], crossing[q], label[p + 1], label[p]);
}

static double distance_to_stretch(const double *a, const double *b, double x, double y) {
  const double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
  const double along = length2 > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length2 : 0;
  const double t = fmin(fmax(along, 0), 1);
  return hypot(a[0] + t * dx - x, a[1] + t * dy - y);
}

/* Is the bridge narrower than half a pixel that is left of a square when its second and fourth
 * corners are cut off (`falling`), or its first and third? */
static int is_narrow(const tracer *t, const int64_t *crossing, int falling) {
  const double *end[4];
  for (int k = 0; k < 4; ++k) end[k] = t->points + 2 * crossing[(k + !falling) % 4];
  double width = INFINITY;
  for (int k = 0; k < 2; ++k) {
    width = fmin(width, distance_to_stretch(end[0], end[1], end[2 + k][0], end[2 + k][1]));
    width = fmin(width, distance_to_stretch(end[2], end[3], end[k][0], end[k][1]));
  }
  return width < 0.5;
}

/* Side k of a square lies between its corners k and k + 1: upper left, upper right, lower right,
 * lower left. */
static cvtm_status trace_square(tracer *t, int i, int j, const int64_t *crossing,
                                const int32_t *label) {
  int sides[4], count = 0;
  for (int k = 0; k < 4; ++k) {
    if (crossing[k] >= 0) sides[count++] = k;
  }
  if (count == 0) return CVTM_OK;
  if (count == 2) return join(t, crossing, label, sides[0], sides[1]);
  int falling = label[0] == label[2], rising = label[1] == label[3];
  if (falling && rising) {
    const double mean = t->coverage == NULL
                            ? 0
                            : coverage_at(t, i, j) + coverage_at(t, i + 1, j) +
                                  coverage_at(t, i, j + 1) + coverage_at(t, i + 1, j + 1);
    const int32_t wins =
        t->coverage == NULL ? (label[0] > label[1] ? label[0] : label[1]) : (mean >= 2);
    falling = wins == label[0];
    rising = !falling;
  }
  if (t->coverage != NULL && falling == (label[0] != 0) && is_narrow(t, crossing, falling)) {
    falling = !falling;
    rising = !rising;
  }
  if (count == 4 && (falling || rising)) {
    /* Two corners are cut off: the second and fourth, or the first and third. */
    const int p = falling ? 0 : 1, q = falling ? 1 : 2;
    const cvtm_status status = join(t, crossing, label, p, q);
    if (status != CVTM_OK) return status;
    if (falling) return join(t, crossing, label, 2, 3);
    return add_segment(t, crossing[3], crossing[0], label[0], label[3]);
  }
  double x = 0, y = 0;
  for (int k = 0; k < count; ++k) {
    x += t->points[2 * crossing[sides[k]]] / count;
    y += t->points[2 * crossing[sides[k]] + 1] / count;
  }
  const int64_t junction = add_place(t, x, y);
  if (junction < 0) return no_memory(t->error);
  for (int k = 0; k < count; ++k) {
    const int side = sides[k];
    const cvtm_status status =
        add_segment(t, crossing[side], junction, label[(side + 1) % 4], label[side]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* The squares between the rows j and j + 1 of centres. `above` is known. */
static cvtm_status trace_row(tracer *t, int j) {
  cvtm_status status = CVTM_OK;
  for (int i = -1; i <= t->width && status == CVTM_OK; ++i) {
    status = cross(t, i, j, 0, 1, &t->between[i + 1]);
    if (status == CVTM_OK) status = cross(t, i, j + 1, 1, 0, &t->below[i + 1]);
  }
  for (int i = -1; i < t->width && status == CVTM_OK; ++i) {
    const int64_t crossing[4] = {t->above[i + 1], t->between[i + 2], t->below[i + 1],
                                 t->between[i + 1]};
    if (crossing[0] < 0 && crossing[1] < 0 && crossing[2] < 0 && crossing[3] < 0) continue;
    const int32_t label[5] = {label_at(t, i, j), label_at(t, i + 1, j), label_at(t, i + 1, j + 1),
                              label_at(t, i, j + 1), label_at(t, i, j)};
    status = trace_square(t, i, j, crossing, label);
  }
  int64_t *swap = t->above;
  t->above = t->below;
  t->below = swap;
  return status;
}

static cvtm_status trace_squares(tracer *t) {
  const size_t row = (size_t)t->width + 2;
  int64_t *rows = malloc(3 * row * sizeof *rows);
  if (rows == NULL) return no_memory(t->error);
  t->above = rows;
  t->below = rows + row;
  t->between = rows + 2 * row;
  for (size_t k = 0; k < row; ++k) t->above[k] = -1;
  cvtm_status status = CVTM_OK;
  for (int j = -1; j < t->height && status == CVTM_OK; ++j) status = trace_row(t, j);
  free(rows);
  return status;
}

/* ---- Arcs ---- */

/* The segments at each place: `at` lists them place by place. */
typedef struct incidence {
  int64_t *start, *at;
  uint8_t *used; /* per segment */
} incidence;

static void free_incidence(incidence *n) {
  free(n->start);
  free(n->at);
  free(n->used);
}

static cvtm_status find_incidence(const tracer *t, incidence *n) {
  n->start = calloc((size_t)t->point_count + 2, sizeof *n->start);
  n->at = malloc((2 * (size_t)t->segment_count + 1) * sizeof *n->at);
  n->used = calloc((size_t)t->segment_count + 1, 1);
  if (n->start == NULL || n->at == NULL || n->used == NULL) return no_memory(t->error);
  for (int64_t s = 0; s < t->segment_count; ++s) {
    ++n->start[t->segments[s].a + 2];
    ++n->start[t->segments[s].b + 2];
  }
  for (int64_t p = 0; p < t->point_count; ++p) n->start[p + 2] += n->start[p + 1];
  for (int64_t s = 0; s < t->segment_count; ++s) {
    n->at[n->start[t->segments[s].a + 1]++] = s;
    n->at[n->start[t->segments[s].b + 1]++] = s;
  }
  return CVTM_OK;
}

static int is_junction(const incidence *n, int64_t place) {
  return n->start[place + 1] - n->start[place] != 2;
}

/* Follows unused segments from `place` along `first` to the next junction or back. */
static void follow(const tracer *t, incidence *n, int64_t place, int64_t first, cvtm_contour *made,
                   int64_t *points) {
  const int64_t arc = made->arc_count++, begin = place;
  made->start[arc] = *points;
  made->left[arc] =
      t->segments[first].a == place ? t->segments[first].left : t->segments[first].right;
  made->right[arc] =
      t->segments[first].a == place ? t->segments[first].right : t->segments[first].left;
  memcpy(made->points + 2 * (*points)++, t->points + 2 * place, 2 * sizeof(double));
  for (int64_t s = first; s >= 0;) {
    n->used[s] = 1;
    place = t->segments[s].a == place ? t->segments[s].b : t->segments[s].a;
    memcpy(made->points + 2 * (*points)++, t->points + 2 * place, 2 * sizeof(double));
    s = -1;
    if (is_junction(n, place) || place == begin) break;
    for (int64_t k = n->start[place]; k < n->start[place + 1]; ++k) {
      if (!n->used[n->at[k]]) s = n->at[k];
    }
  }
  made->start[made->arc_count] = *points;
}

static int is_closed(const cvtm_contour *c, int64_t arc) {
  const double *p = c->points + 2 * c->start[arc], *q = c->points + 2 * (c->start[arc + 1] - 1);
  return p[0] == q[0] && p[1] == q[1];
}

static double arc_area(const cvtm_contour *c, int64_t arc) {
  return cvtm_ring_area(c->points + 2 * c->start[arc], c->start[arc + 1] - c->start[arc]);
}

/* Removes the arc made last if it is a closed curve around too little. */
static void drop_small(cvtm_contour *made, double smallest, int64_t *points) {
  const int64_t arc = made->arc_count - 1;
  if (!is_closed(made, arc) || fabs(arc_area(made, arc)) >= smallest) return;
  *points = made->start[arc];
  --made->arc_count;
  ++made->dropped;
}

static cvtm_status allocate_contour(int64_t arcs, int64_t points, cvtm_contour *made,
                                    cvtm_error *error) {
  made->start = calloc((size_t)arcs + 1, sizeof *made->start);
  made->left = malloc(((size_t)arcs + 1) * sizeof *made->left);
  made->right = malloc(((size_t)arcs + 1) * sizeof *made->right);
  made->points = malloc(((size_t)points + 1) * 2 * sizeof *made->points);
  made->corner = calloc((size_t)points + 1, 1);
  const int all = made->start && made->left && made->right && made->points && made->corner;
  return all ? CVTM_OK : no_memory(error);
}

/* From junction to junction first, then the closed curves. */
static cvtm_status collect_arcs(const tracer *t, double smallest, cvtm_contour *made) {
  incidence n = {0};
  cvtm_status status = find_incidence(t, &n);
  if (status == CVTM_OK) {
    status = allocate_contour(t->segment_count, 2 * t->segment_count, made, t->error);
  }
  int64_t points = 0;
  for (int closed = 0; closed < 2 && status == CVTM_OK; ++closed) {
    for (int64_t s = 0; s < t->segment_count; ++s) {
      const int64_t a = t->segments[s].a, b = t->segments[s].b;
      if (n.used[s] || !(closed || is_junction(&n, a) || is_junction(&n, b))) continue;
      follow(t, &n, closed || is_junction(&n, a) ? a : b, s, made, &points);
      drop_small(made, smallest, &points);
    }
  }
  free_incidence(&n);
  return status;
}

/* ---- Corners ---- */

typedef struct line {
  double x, y, dx, dy; /* through (x, y) along the unit vector (dx, dy) */
} line;

/* The line of least squared distances from count points, in their direction. */
static line fit_line(const double *p, int64_t count) {
  line l = {0, 0, 1, 0};
  double xx = 0, xy = 0, yy = 0;
  for (int64_t k = 0; k < count; ++k) {
    l.x += p[2 * k] / (double)count;
    l.y += p[2 * k + 1] / (double)count;
  }
  for (int64_t k = 0; k < count; ++k) {
    const double x = p[2 * k] - l.x, y = p[2 * k + 1] - l.y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const double angle = 0.5 * atan2(2 * xy, xx - yy);
  l.dx = cos(angle);
  l.dy = sin(angle);
  const double ex = p[2 * count - 2] - p[0], ey = p[2 * count - 1] - p[1];
  if (l.dx * ex + l.dy * ey < 0) {
    l.dx = -l.dx;
    l.dy = -l.dy;
  }
  return l;
}

/* Douglas & Peucker 1973: marks the points of first .. last that keep the polyline within
 * `tolerance`; the ends are marked already. stack: room for all points. */
static void simplify(const double *p, int64_t first, int64_t last, double tolerance, uint8_t *mark,
                     int64_t *stack) {
  int64_t depth = 0;
  stack[depth++] = last;
  while (depth > 0) {
    const int64_t end = stack[depth - 1];
    int64_t farthest = -1;
    double largest = tolerance;
    for (int64_t k = first + 1; k < end; ++k) {
      const double d = distance_to_stretch(p + 2 * first, p + 2 * end, p[2 * k], p[2 * k + 1]);
      if (d <= largest) continue;
      largest = d;
      farthest = k;
    }
    if (farthest >= 0) {
      mark[farthest] = 1;
      stack[depth++] = farthest;
    } else {
      first = end;
      --depth;
    }
  }
}

static int64_t farthest_from(const double *p, int64_t count, double x, double y) {
  int64_t best = 0;
  double largest = -1;
  for (int64_t k = 0; k < count; ++k) {
    const double d = hypot(p[2 * k] - x, p[2 * k + 1] - y);
    if (d <= largest) continue;
    largest = d;
    best = k;
  }
  return best;
}

/* Turns a closed arc of count points (the last repeats the first) so that it begins at `first`. */
static void rotate_points(double *p, int64_t count, int64_t first, double *room) {
  const int64_t n = count - 1;
  memcpy(room, p, (size_t)n * 2 * sizeof *p);
  for (int64_t k = 0; k < n; ++k) memcpy(p + 2 * k, room + 2 * ((k + first) % n), 2 * sizeof *p);
  memcpy(p + 2 * n, p, 2 * sizeof *p);
}

static void rotate_flags(uint8_t *flags, int64_t count, int64_t first, uint8_t *room) {
  const int64_t n = count - 1;
  memcpy(room, flags, (size_t)n);
  for (int64_t k = 0; k < n; ++k) flags[k] = room[(k + first) % n];
  flags[n] = flags[0];
}

static double turn_cosine(const double *a, const double *b, const double *c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - b[0], vy = c[1] - b[1];
  return (ux * vx + uy * vy) / (hypot(ux, uy) * hypot(vx, vy));
}

/* Where two lines meet, if that is within half a pixel of the curve's stretch around point k and
 * the curve does not turn back there. */
static int meet(line l, line m, const double *p, int64_t before, int64_t k, int64_t after,
                double place[2], double *shift) {
  const double sine = l.dx * m.dy - l.dy * m.dx;
  const double t = ((m.x - l.x) * m.dy - (m.y - l.y) * m.dx) / sine;
  place[0] = l.x + t * l.dx;
  place[1] = l.y + t * l.dy;
  *shift = fmin(distance_to_stretch(p + 2 * before, p + 2 * k, place[0], place[1]),
                distance_to_stretch(p + 2 * k, p + 2 * after, place[0], place[1]));
  const int turns_back =
      turn_cosine(p + 2 * before, place, p + 2 * after) < l.dx * m.dx + l.dy * m.dy - 0.3;
  return !turns_back && *shift <= 0.5 && hypot(place[0] - p[2 * k], place[1] - p[2 * k + 1]) <= 1;
}

/* A point of the blunt corner that is now behind the sharp one. */
static void straighten(const double *corner, double *point, const double *beyond) {
  if (!(turn_cosine(corner, point, beyond) < 0)) return;
  point[0] = 0.5 * (corner[0] + beyond[0]);
  point[1] = 0.5 * (corner[1] + beyond[1]);
}

/* Cosine of the turn at point k, seen from the points about four pixels before and behind (nearer
 * ones at the ends of an open arc): steps of pixels turn at close range only. */
static double wide_turn(const double *p, int64_t count, int closed, int64_t k) {
  const double arm = 4;
  double way[2][2] = {{0, 0}, {0, 0}};
  for (int side = 0; side < 2; ++side) {
    int64_t at = k;
    for (int64_t step = 1; step < count / 3; ++step) {
      at += side == 0 ? -1 : 1;
      if (closed) at = (at + count - 1) % (count - 1);
      if (at < 0 || at >= count) break;
      way[side][0] = p[2 * at] - p[2 * k];
      way[side][1] = p[2 * at + 1] - p[2 * k + 1];
      if (hypot(way[side][0], way[side][1]) >= arm) break;
    }
  }
  const double lengths = hypot(way[0][0], way[0][1]) * hypot(way[1][0], way[1][1]);
  return lengths > 0 ? -(way[0][0] * way[1][0] + way[0][1] * way[1][1]) / lengths : -1;
}

typedef struct corner_room {
  uint8_t *mark;
  int64_t *stack, *kept;
  double *copy;   /* 2 per point */
  double *cosine; /* of the turn at a corner */
  line *lines;
} corner_room;

/* Of two corners closer than an edge may be, the sharper one stays (of equals the first); the ends
 * of an open arc, given with a cosine of -2, stay in any case. On a closed arc the last corner is
 * next to the first. */
static void thin_corners(const double *p, const double *cosine, int64_t count, int closed,
                         uint8_t *corner) {
  const double least = 1.25;
  int64_t last = -1;
  for (int64_t step = 0; step < count + (closed ? count : 0); ++step) {
    const int64_t k = step % count;
    if (!corner[k] || k == last) continue;
    if (last >= 0 && fmax(cosine[k], cosine[last]) > -2 &&
        hypot(p[2 * k] - p[2 * last], p[2 * k + 1] - p[2 * last + 1]) < least) {
      const int64_t blunter = cosine[k] >= cosine[last] ? k : last;
      corner[blunter] = 0;
      if (blunter == k) continue;
    }
    last = k;
  }
}

/* Corners of one arc of a traced contour. */
static void find_corners(cvtm_contour *c, double *traced, int64_t arc, double angle,
                         corner_room *room) {
  const double tolerance = 0.6; /* a blunt pixel corner is half a pixel off */
  const double sharp = cos(angle * CVTM_PI / 180), nearly = cos(0.75 * angle * CVTM_PI / 180);
  double *p = c->points + 2 * c->start[arc], *raw = traced + 2 * c->start[arc];
  uint8_t *corner = c->corner + c->start[arc];
  const int64_t count = c->start[arc + 1] - c->start[arc];
  const int closed = is_closed(c, arc);
  if (closed) {
    rotate_points(p, count, farthest_from(p, count - 1, p[0], p[1]), room->copy);
    memcpy(raw, p, (size_t)count * 2 * sizeof *p);
  }
  memset(room->mark, 0, (size_t)count);
  const int64_t middle = closed ? farthest_from(p, count, p[0], p[1]) : 0;
  room->mark[0] = room->mark[middle] = room->mark[count - 1] = 1;
  if (middle > 0) simplify(p, 0, middle, tolerance, room->mark, room->stack);
  simplify(p, middle, count - 1, tolerance, room->mark, room->stack);

  int64_t kept = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (room->mark[k]) room->kept[kept++] = k;
  }
  const int64_t pieces = kept - 1;
  for (int64_t s = 0; s < pieces; ++s) {
    /* The ends may lie on the blunt corner. */
    const int64_t long_enough = room->kept[s + 1] - room->kept[s] >= 8 ? 2 : 0;
    const int64_t begin = room->kept[s] + long_enough, end = room->kept[s + 1] - long_enough;
    room->lines[s] = fit_line(p + 2 * begin, end - begin + 1);
  }
  memcpy(room->copy, p, (size_t)count * 2 * sizeof *p);
  for (int64_t s = 0; s < pieces; ++s) {
    if (s == 0 && !closed) continue;
    const int64_t k = room->kept[s];
    const line before = room->lines[s > 0 ? s - 1 : pieces - 1], after = room->lines[s];
    room->cosine[k] = before.dx * after.dx + before.dy * after.dy;
    if (room->cosine[k] > sharp || wide_turn(room->copy, count, closed, k) > nearly) continue;
    corner[k] = 1;
    double place[2], shift;
    const int64_t one_before = k > 0 ? k - 1 : count - 2;
    if (!meet(before, after, room->copy, one_before, k, k + 1, place, &shift)) continue;
    p[2 * k] = place[0];
    p[2 * k + 1] = place[1];
    c->corner_shift = fmax(c->corner_shift, shift);
    if (k > 1) straighten(p + 2 * k, p + 2 * k - 2, p + 2 * k - 4);
    if (k + 2 < count) straighten(p + 2 * k, p + 2 * k + 2, p + 2 * k + 4);
  }
  if (!closed) {
    corner[0] = corner[count - 1] = 1;
    room->cosine[0] = room->cosine[count - 1] = -2;
  }
  thin_corners(p, room->cosine, count - closed, closed, corner);
  if (!closed) return;
  memcpy(p + 2 * (count - 1), p, 2 * sizeof *p);
  corner[count - 1] = corner[0];
  int64_t first = 0;
  while (first < count - 1 && !corner[first]) ++first;
  if (first == 0 || first == count - 1) return;
  rotate_points(p, count, first, room->copy);
  rotate_points(raw, count, first, room->copy);
  rotate_flags(corner, count, first, (uint8_t *)room->copy);
}

/* traced: a copy of the points, turned with them and not moved. */
static cvtm_status find_all_corners(cvtm_contour *c, double *traced, double angle,
                                    cvtm_error *error) {
  int64_t longest = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t count = c->start[arc + 1] - c->start[arc];
    if (count > longest) longest = count;
  }
  const size_t n = (size_t)longest + 1;
  corner_room room = {malloc(n),
                      malloc(n * sizeof *room.stack),
                      malloc(n * sizeof *room.kept),
                      malloc(2 * n * sizeof *room.copy),
                      malloc(n * sizeof *room.cosine),
                      malloc(n * sizeof *room.lines)};
  cvtm_status status = CVTM_OK;
  if (!room.mark || !room.stack || !room.kept || !room.copy || !room.cosine || !room.lines) {
    status = no_memory(error);
  } else {
    for (int64_t arc = 0; arc < c->arc_count; ++arc) find_corners(c, traced, arc, angle, &room);
  }
  free(room.mark);
  free(room.stack);
  free(room.kept);
  free(room.copy);
  free(room.cosine);
  free(room.lines);
  return status;
}

/* Moved corners can make curves cross that are less than a pixel apart: then the ends of what
 * crosses go back to where they were traced. */
static int64_t move_back(cvtm_contour *c, const double *traced, const uint8_t *crossed) {
  int64_t moved = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
    const int around = is_closed(c, arc) && (crossed[first] || crossed[last - 1]);
    for (int64_t k = first; k <= last; ++k) {
      const int end = around && (k == first || k == last);
      if (!end && !(k > first && crossed[k - 1]) && !(k < last && crossed[k])) continue;
      double *p = c->points + 2 * k;
      moved += p[0] != traced[2 * k] || p[1] != traced[2 * k + 1];
      memcpy(p, traced + 2 * k, 2 * sizeof *p);
    }
  }
  return moved;
}

static cvtm_status untangle_corners(cvtm_contour *c, const double *traced, cvtm_error *error) {
  const int64_t points = c->start[c->arc_count];
  if (points > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a contour of %lld points; the most is %ld",
                     (long long)points, (long)INT32_MAX);
  }
  int32_t *edges = malloc((size_t)points * 2 * sizeof *edges);
  uint8_t *crossed = calloc((size_t)points + 1, 1);
  cvtm_status status = edges != NULL && crossed != NULL ? CVTM_OK : no_memory(error);
  if (status == CVTM_OK) {
    /* Edge k begins at point k; behind an arc's last point there is none. */
    for (int64_t k = 0; k < points; ++k) edges[2 * k] = edges[2 * k + 1] = (int32_t)k;
    for (int64_t arc = 0; arc < c->arc_count; ++arc) {
      for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1]; ++k) ++edges[2 * k + 1];
    }
  }
  int64_t found = 1, moved = 1;
  while (status == CVTM_OK && found > 0 && moved > 0) {
    status = cvtm_find_crossed(c->points, points, edges, points, crossed, &found, error);
    if (status == CVTM_OK && found > 0) moved = move_back(c, traced, crossed);
  }
  free(edges);
  free(crossed);
  return status;
}

/* ---- The three ways in ---- */

/* Area of the regions: by Green's theorem, arc by arc. */
static double regions_area(const cvtm_contour *c) {
  double twice = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int side = (c->left[arc] != 0) - (c->right[arc] != 0);
    for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1] && side != 0; ++k) {
      const double *a = c->points + 2 * k, *b = a + 2;
      twice += side * ((b[0] - a[0]) * (a[1] + b[1])); /* y down: left is positive */
    }
  }
  return 0.5 * twice;
}

static cvtm_status check_size(int width, int height, const cvtm_contour_options *options,
                              cvtm_error *error) {
  if (width < 1 || height < 1 || !options || !(options->corner_angle > 0) ||
      !(options->smallest >= 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no contour of %d x %d pixels", width, height);
  }
  return CVTM_OK;
}

static cvtm_status trace(tracer *t, const cvtm_contour_options *options, cvtm_contour *contour) {
  cvtm_contour made = {0};
  cvtm_status status = trace_squares(t);
  if (status == CVTM_OK) status = collect_arcs(t, options->smallest, &made);
  if (status == CVTM_OK && made.arc_count == 0) {
    status = cvtm_fail(t->error, CVTM_ERROR_INPUT,
                       made.dropped > 0 ? "the domain is empty: nothing in it is larger than %g "
                                          "square pixels"
                                        : "the domain is empty: no pixel is at least half covered",
                       options->smallest);
  }
  double *traced = NULL;
  if (status == CVTM_OK) {
    const size_t bytes = 2 * (size_t)made.start[made.arc_count] * sizeof *traced;
    traced = malloc(bytes);
    if (traced == NULL) status = no_memory(t->error);
    if (traced != NULL) memcpy(traced, made.points, bytes);
  }
  if (status == CVTM_OK) {
    made.area = regions_area(&made);
    status = find_all_corners(&made, traced, options->corner_angle, t->error);
  }
  /* A corner that was moved may have left the image. */
  for (int64_t k = 0; status == CVTM_OK && k < made.start[made.arc_count]; ++k) {
    made.points[2 * k] = fmin(fmax(made.points[2 * k], 0), t->width);
    made.points[2 * k + 1] = fmin(fmax(made.points[2 * k + 1], 0), t->height);
  }
  if (status == CVTM_OK) status = untangle_corners(&made, traced, t->error);
  free(traced);
  free(t->points);
  free(t->segments);
  if (status != CVTM_OK) {
    cvtm_contour_free(&made);
    return status;
  }
  *contour = made;
  return CVTM_OK;
}

cvtm_status cvtm_contour_of_mask(const float *coverage, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error) {
  cvtm_status status = check_size(width, height, options, error);
  for (int64_t p = 0; p < (int64_t)width * height && status == CVTM_OK; ++p) {
    if (coverage[p] >= 0 && coverage[p] <= 1) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "coverage at pixel (%d, %d) is %g",
                       (int)(p % width), (int)(p / width), (double)coverage[p]);
  }
  tracer t = {.coverage = coverage, .width = width, .height = height, .error = error};
  return status == CVTM_OK ? trace(&t, options, contour) : status;
}

cvtm_status cvtm_contour_of_labels(const int32_t *labels, int width, int height,
                                   const cvtm_contour_options *options, cvtm_contour *contour,
                                   cvtm_error *error) {
  cvtm_status status = check_size(width, height, options, error);
  for (int64_t p = 0; p < (int64_t)width * height && status == CVTM_OK; ++p) {
    if (labels[p] >= 0) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the label of pixel (%d, %d) is %" PRId32,
                       (int)(p % width), (int)(p / width), labels[p]);
  }
  tracer t = {.labels = labels, .width = width, .height = height, .error = error};
  return status == CVTM_OK ? trace(&t, options, contour) : status;
}

/* One ring, begun at a corner if it has any. */
static void add_ring(const double *p, int64_t n, double sharp, cvtm_contour *made,
                     int64_t *points) {
  const int64_t arc = made->arc_count++;
  int64_t first = 0;
  for (int64_t k = n - 1; k >= 0; --k) {
    const double *a = p + 2 * ((k + n - 1) % n), *b = p + 2 * k, *c = p + 2 * ((k + 1) % n);
    if (turn_cosine(a, b, c) <= sharp) first = k;
  }
  for (int64_t k = 0; k <= n; ++k) {
    const int64_t at = (first + k) % n;
    const double *a = p + 2 * ((at + n - 1) % n), *b = p + 2 * at, *c = p + 2 * ((at + 1) % n);
    made->corner[*points] = turn_cosine(a, b, c) <= sharp;
    memcpy(made->points + 2 * (*points)++, b, 2 * sizeof *b);
  }
  made->left[arc] = 1; /* outer rings run counterclockwise, holes clockwise */
  made->right[arc] = 0;
  made->start[arc + 1] = *points;
}

cvtm_status cvtm_contour_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                     const cvtm_contour_options *options, cvtm_contour *contour,
                                     cvtm_error *error) {
  cvtm_status status = check_size(width, height, options, error);
  if (status != CVTM_OK) return status;
  const int64_t rings = polygons->ring_count, total = polygons->start[rings];
  for (int64_t k = 0; k < total; ++k) {
    const double x = polygons->points[2 * k], y = polygons->points[2 * k + 1];
    if (x >= 0 && y >= 0 && x <= width && y <= height) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the polygon's corner at (%g, %g) is outside the image of %d x %d pixels", x,
                     y, width, height);
  }
  cvtm_contour made = {0};
  status = allocate_contour(rings, total + rings, &made, error);
  int64_t points = 0;
  for (int64_t r = 0; r < rings && status == CVTM_OK; ++r) {
    const int64_t first = polygons->start[r];
    add_ring(polygons->points + 2 * first, polygons->start[r + 1] - first,
             cos(options->corner_angle * CVTM_PI / 180), &made, &points);
    drop_small(&made, options->smallest, &points);
  }
  if (status == CVTM_OK && made.arc_count == 0) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "the domain is empty: nothing in it is larger than %g square pixels",
                       options->smallest);
  }
  if (status != CVTM_OK) {
    cvtm_contour_free(&made);
    return status;
  }
  made.area = regions_area(&made);
  *contour = made;
  return CVTM_OK;
}

/* ---- Coverage ---- */

/* (width + 1) * height, so that a row has room for what follows its last pixel. */
typedef struct accumulator {
  double *change;
  int width;
} accumulator;

static void add_change(void *context, int x, int y, double change) {
  const accumulator *to = context;
  to->change[(int64_t)y * (to->width + 1) + x] += change;
}

cvtm_status cvtm_contour_coverage(const cvtm_contour *contour, int width, int height,
                                  float *coverage, cvtm_error *error) {
  double *rows = calloc((size_t)(width + 1) * (size_t)height, sizeof *rows);
  if (rows == NULL) return no_memory(error);
  const cvtm_pixel_box all = {0, 0, width, height};
  accumulator to = {rows, width};
  for (int64_t arc = 0; arc < contour->arc_count; ++arc) {
    const int side = (contour->left[arc] != 0) - (contour->right[arc] != 0);
    for (int64_t k = contour->start[arc]; k + 1 < contour->start[arc + 1] && side != 0; ++k) {
      cvtm_cover_edge(contour->points + 2 * k, contour->points + 2 * k + 2, side, all, add_change,
                      &to);
    }
  }
  for (int j = 0; j < height; ++j) {
    double sum = 0;
    for (int i = 0; i < width; ++i) {
      sum += rows[(int64_t)j * (width + 1) + i];
      /* Rounding leaves crumbs beyond both ends. */
      const double share = sum < 1e-6 ? 0 : sum > 1 - 1e-6 ? 1 : sum;
      coverage[(int64_t)j * width + i] = (float)share;
    }
  }
  free(rows);
  return CVTM_OK;
}
