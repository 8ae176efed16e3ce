/* Smooth curves between labels.
 *
 * A traced point is a crossing: it lies on the segment between the centres of two neighbouring
 * pixels of different labels. Every curve that leaves all centres on the side of their labels
 * crosses the same segments, so the smoothest of these curves is looked for: each arc becomes a
 * smoothing spline (Reinsch 1967) of its points, which stays within half a pixel of them, and the
 * crossings move to where the spline meets their segments, but for its ends. Junctions stay in
 * their squares between four centres. Hence no arcs cross, whatever the spline does: within a
 * square the arcs join points of its sides in the same order as before. */
#include "meshes/domain/area_fit.h"
#include "meshes/domain/contour_steps.h"

#include <stdlib.h>
#include <string.h>

enum {
  ROUNDS = 3,      /* of splines, after each of which the ends of arcs move */
  ITERATIONS = 40, /* for the bounds of a spline */
  REACH = 4        /* points, within which a spline meets the segment of a crossing */
};

static const double half_pixel = 0.5;     /* between a spline and the points that it smooths */
static const double crossing_reach = 0.4; /* from the middle of its segment to a crossing */
static const double fitted_reach = 0.45;  /* that the areas may ask for */
static const double junction_reach = 0.3; /* from its traced place to a junction */
static const double torus_step = 0x1p-30; /* of places on a torus (contour_trace.c) */
static const double side_room = 0.3;      /* crossings so near to a side stay where they are */

/* The workspace of one arc: `count` points, an arc without ends repeated at both. */
typedef struct spline {
  double *target, *points, *bounded, *excess; /* 2 per point */
  double *diagonal, *first, *second;          /* of the factors L D L' of a banded matrix */
  int64_t count;
} spline;

/* ---- Splines ---- */

/* Factors (1 + penalty) I + sigma^4 D' D for the points between the ends, with D the second
 * differences. */
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

/* Solves for the points, whose entries hold the right side; the ends hold their places. */
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

/* Minimises |p - target|^2 + sigma^4 |second differences|^2 with p within half a pixel of the
 * target in both coordinates (alternating directions; Boyd et al. 2011, section 5). */
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

/* The traced points of the arc, its ends where they are now. Returns the index of the first. */
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

/* The axis along which a crossing may move: the other coordinate is that of pixels' centres. */
static int moving_axis(const double *crossing) {
  return crossing[0] - floor(crossing[0]) == 0.5 ? 1 : 0;
}

/* Where the spline meets the line of a crossing's segment near its point k; its point k if it does
 * not. */
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
  return m->picture->border == CVTM_BORDER_PERIODIC ? rint(v / torus_step) * torus_step : v;
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

/* An end, by the traced place of the junction in the image. */
typedef struct arc_end {
  double x, y;
  int64_t point, next; /* of the contour: the end and the one beside it; -1: none but an end */
} arc_end;

static int compare_ends(const void *first, const void *second) {
  const arc_end *a = first, *b = second;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  if (a->y != b->y) return a->y < b->y ? -1 : 1;
  return (a->point > b->point) - (a->point < b->point);
}

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
      ends[count++] = (arc_end){x, y, point, k == 0 ? first + 1 : last - 1};
    }
  }
  qsort(ends, (size_t)count, sizeof *ends, compare_ends);
  return count;
}

/* Where an arc would continue from its crossing beside the end: to the side at x or y, for an end
 * on a side; else as far as the crossing is from the one before it, at most half a pixel. */
static void extrapolate(const smoother *m, const arc_end *end, double place[2]) {
  const double *p = m->contour->points + 2 * end->next;
  const double *q = p + (end->next > end->point ? 2 : -2);
  const double *from = m->contour->points + 2 * end->point;
  const int64_t way = end->next - end->point;
  const int64_t other = end->next + way;
  const int is_end = other < 0 || m->contour->corner[other];
  double dx = p[0] - q[0], dy = p[1] - q[1];
  if (is_end) { /* an arc of three points: straight to the other end */
    dx = from[0] - q[0];
    dy = from[1] - q[1];
  }
  const double length = hypot(dx, dy), step = length > 0 ? fmin(length, 0.5) / length : 0;
  place[0] = p[0] + step * dx;
  place[1] = p[1] + step * dy;
}

/* Ends on a side move along it, to where the way on meets it. */
static void move_side_end(const smoother *m, const arc_end *end) {
  double *p = m->contour->points + 2 * end->point;
  const double *q = m->contour->points + 2 * end->next;
  const int across = end->x == 0 || end->x == m->picture->width ? 0 : 1;
  double on[2];
  extrapolate(m, end, on);
  const double rise = on[across] - q[across];
  const double t = rise != 0 ? (p[across] - q[across]) / rise : 0;
  const double met = q[!across] + t * (on[!across] - q[!across]);
  const double traced = m->traced[2 * end->point + !across];
  if (isfinite(met)) p[!across] = fmin(fmax(met, traced - crossing_reach), traced + crossing_reach);
}

/* The count ends of a junction go to the mean of where their arcs lead. */
static void move_junction(const smoother *m, const arc_end *ends, int64_t count) {
  double mean[2] = {0, 0};
  for (int64_t k = 0; k < count; ++k) {
    double place[2];
    extrapolate(m, &ends[k], place);
    for (int axis = 0; axis < 2; ++axis)
      mean[axis] += (place[axis] - m->traced[2 * ends[k].point + axis]) / (double)count;
  }
  for (int axis = 0; axis < 2; ++axis) {
    const double move = round_place(m, fmin(fmax(mean[axis], -junction_reach), junction_reach));
    for (int64_t k = 0; k < count; ++k)
      m->contour->points[2 * ends[k].point + axis] = m->traced[2 * ends[k].point + axis] + move;
  }
}

static void move_ends(const smoother *m, const arc_end *ends, int64_t count) {
  const int flat = m->picture->border == CVTM_BORDER_FLAT;
  for (int64_t first = 0, end; first < count; first = end) {
    for (end = first + 1;
         end < count && ends[end].x == ends[first].x && ends[end].y == ends[first].y; ++end) {
    }
    const double x = ends[first].x, y = ends[first].y;
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
  int64_t longest = 0;
  for (int64_t arc = 0; arc < contour->arc_count; ++arc) {
    const int64_t count = contour->start[arc + 1] - contour->start[arc];
    if (count > longest) longest = count;
  }
  const size_t points = (size_t)contour->start[contour->arc_count];
  const size_t n = (size_t)(longest + 2 * padding(sigma) + 4);
  double *traced = malloc((2 * points + 1) * sizeof *traced);
  double *memory = malloc(11 * n * sizeof *memory);
  arc_end *ends = malloc((2 * (size_t)contour->arc_count + 1) * sizeof *ends);
  cvtm_status status = CVTM_OK;
  if (traced == NULL || memory == NULL || ends == NULL) {
    status = cvtm_contour_no_memory(error);
  } else {
    memcpy(traced, contour->points, 2 * points * sizeof *traced);
    smoother m = {picture,
                  contour,
                  traced,
                  sigma,
                  {memory, memory + 2 * n, memory + 4 * n, memory + 6 * n, memory + 8 * n,
                   memory + 9 * n, memory + 10 * n, 0}};
    const int64_t count = list_ends(&m, ends);
    for (int round = 0; round < ROUNDS; ++round) {
      for (int64_t arc = 0; arc < contour->arc_count; ++arc) smooth_arc(&m, arc);
      if (round + 1 < ROUNDS) move_ends(&m, ends, count);
    }
  }
  free(traced);
  free(memory);
  free(ends);
  return status;
}

/* ---- Areas ---- */

static int compare_labels(const void *first, const void *second) {
  const int32_t a = *(const int32_t *)first, b = *(const int32_t *)second;
  return (a > b) - (a < b);
}

cvtm_status cvtm_contour_count_areas(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                     cvtm_error *error) {
  const int64_t pixels = (int64_t)picture->width * picture->height;
  int32_t *sorted = malloc((size_t)pixels * sizeof *sorted);
  if (sorted == NULL) return cvtm_contour_no_memory(error);
  memcpy(sorted, picture->labels, (size_t)pixels * sizeof *sorted);
  qsort(sorted, (size_t)pixels, sizeof *sorted, compare_labels);
  int64_t regions = 0;
  for (int64_t k = 0; k < pixels; ++k)
    regions += sorted[k] != 0 && (k == 0 || sorted[k] != sorted[k - 1]);
  contour->size[0] = picture->width;
  contour->size[1] = picture->height;
  contour->region = malloc(((size_t)regions + 1) * sizeof *contour->region);
  contour->region_area = malloc(((size_t)regions + 1) * sizeof *contour->region_area);
  if (contour->region != NULL && contour->region_area != NULL) {
    for (int64_t k = 0; k < pixels; ++k) {
      if (sorted[k] == 0) continue;
      if (k == 0 || sorted[k] != sorted[k - 1]) {
        contour->region[contour->region_count] = sorted[k];
        contour->region_area[contour->region_count++] = 0;
      }
      contour->region_area[contour->region_count - 1] += 1;
    }
  }
  free(sorted);
  return contour->region_area != NULL && contour->region != NULL ? CVTM_OK
                                                                 : cvtm_contour_no_memory(error);
}

/* Adds `change` to the area of a region; a region without any is forgotten. */
static void change_area(cvtm_contour *c, int32_t region, double change) {
  for (int64_t r = 0; r < c->region_count; ++r) {
    if (c->region[r] != region) continue;
    c->region_area[r] += change;
    if (c->region_area[r] > 0.5) return;
    --c->region_count;
    const size_t rest = (size_t)(c->region_count - r);
    memmove(c->region + r, c->region + r + 1, rest * sizeof *c->region);
    memmove(c->region_area + r, c->region_area + r + 1, rest * sizeof *c->region_area);
    return;
  }
}

/* A curve that cuts off the corners of pixels encloses half a pixel less than their outline, which
 * has four more corners than notches. */
void cvtm_contour_drop_specks(cvtm_contour *c, double smallest) {
  int64_t arcs = 0, points = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
    const double *p = c->points + 2 * first;
    const double area = cvtm_ring_area(p, count), pixels = rint(fabs(area) + 0.5);
    if (is_joined(c, arc) && cvtm_contour_is_closed(c, arc) && pixels < smallest) {
      change_area(c, area > 0 ? c->left[arc] : c->right[arc], -pixels);
      change_area(c, area > 0 ? c->right[arc] : c->left[arc], pixels);
      ++c->dropped;
      continue;
    }
    memmove(c->points + 2 * points, p, 2 * (size_t)count * sizeof *p);
    memmove(c->corner + points, c->corner + first, (size_t)count);
    c->left[arcs] = c->left[arc];
    c->right[arcs] = c->right[arc];
    c->start[arcs++] = points;
    points += count;
  }
  c->start[arcs] = points;
  c->arc_count = arcs;
}

/* Keeps what lies between `from` and its bounds on one side of a line, and `side_room` away. */
static void stay_beside(double line, double from, double *low, double *high) {
  if (from > line) *low = fmax(*low, fmin(line + side_room, from));
  if (from < line) *high = fmin(*high, fmax(line - side_room, from));
}

/* The bounds of crossings that are no ends and not beside a side; other points stay. */
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
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "a contour of %lld points", (long long)points);
  else if (bounds == NULL || edges == NULL)
    status = cvtm_contour_no_memory(error);
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
