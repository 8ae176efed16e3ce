/* Corners of traced arcs: pixels blunt a corner, so it is moved to where the lines fitted to both
 * sides meet. */
#include "base/portable.h"
#include "base/segment.h"
#include "meshes/domain/contour_steps.h"
#include "meshes/delaunay/crossings.h"

#include <stdlib.h>
#include <string.h>

/* Lengths in pixels. */
static const double line_tolerance = 0.6;  /* of lines to the curve: a blunt corner is 0.5 off */
static const double largest_shift = 0.5;   /* of a corner from the traced curve */
static const double farthest_meeting = 1;  /* of a corner from the point that it replaces */
static const double least_distance = 1.25; /* between corners: what an edge needs */
static const double wide_reach = 4;        /* steps of pixels turn at close range only */
/* A corner turns by this share of the angle at the wide reach, too. */
static const double wide_share = 0.75;
/* The cosine that the way over a corner may turn more sharply than its lines. */
static const double turn_slack = 0.3;
/* Lines of at least LONG_LINE points are fitted without END_POINTS at each end, which may lie on
 * the blunt corner. */
enum { END_POINTS = 2, LONG_LINE = 8 };

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
 * `tolerance`; the ends are marked already. stack: one entry per point. */
static void simplify(const double *p, int64_t first, int64_t last, double tolerance, uint8_t *mark,
                     int64_t *stack) {
  int64_t depth = 0;
  stack[depth++] = last;
  while (depth > 0) {
    const int64_t end = stack[depth - 1];
    int64_t farthest = -1;
    double largest = tolerance;
    for (int64_t k = first + 1; k < end; ++k) {
      const double d = cvtm_segment_distance(p + 2 * first, p + 2 * end, p[2 * k], p[2 * k + 1]);
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
static void rotate_points(double *p, int64_t count, int64_t first, double *copy) {
  const int64_t n = count - 1;
  memcpy(copy, p, (size_t)n * 2 * sizeof *p);
  for (int64_t k = 0; k < n; ++k) memcpy(p + 2 * k, copy + 2 * ((k + first) % n), 2 * sizeof *p);
  memcpy(p + 2 * n, p, 2 * sizeof *p);
}

static void rotate_flags(uint8_t *flags, int64_t count, int64_t first, uint8_t *copy) {
  const int64_t n = count - 1;
  memcpy(copy, flags, (size_t)n);
  for (int64_t k = 0; k < n; ++k) flags[k] = copy[(k + first) % n];
  flags[n] = flags[0];
}

/* Where two lines meet, if that is within half a pixel of the curve's stretch around point k and
 * the curve does not turn back there. */
static int meet(line l, line m, const double *p, int64_t before, int64_t k, int64_t after,
                double place[2], double *shift) {
  const double sine = l.dx * m.dy - l.dy * m.dx;
  const double t = ((m.x - l.x) * m.dy - (m.y - l.y) * m.dx) / sine;
  place[0] = l.x + t * l.dx;
  place[1] = l.y + t * l.dy;
  *shift = fmin(cvtm_segment_distance(p + 2 * before, p + 2 * k, place[0], place[1]),
                cvtm_segment_distance(p + 2 * k, p + 2 * after, place[0], place[1]));
  const int turns_back = cvtm_turn_cosine(p + 2 * before, place, p + 2 * after) <
                         l.dx * m.dx + l.dy * m.dy - turn_slack;
  return !turns_back && *shift <= largest_shift &&
         hypot(place[0] - p[2 * k], place[1] - p[2 * k + 1]) <= farthest_meeting;
}

/* A point of the blunt corner that is now behind the sharp one. */
static void straighten(const double *corner, double *point, const double *beyond) {
  if (!(cvtm_turn_cosine(corner, point, beyond) < 0)) return;
  point[0] = 0.5 * (corner[0] + beyond[0]);
  point[1] = 0.5 * (corner[1] + beyond[1]);
}

/* Cosine of the turn at point k, seen from the points about four pixels before and behind (nearer
 * ones at the ends of an open arc): steps of pixels turn at close range only. */
static double wide_turn(const double *p, int64_t count, int closed, int64_t k) {
  double way[2][2] = {{0, 0}, {0, 0}};
  for (int side = 0; side < 2; ++side) {
    int64_t at = k;
    for (int64_t step = 1; step < count / 3; ++step) {
      at += side == 0 ? -1 : 1;
      if (closed) at = (at + count - 1) % (count - 1);
      if (at < 0 || at >= count) break;
      way[side][0] = p[2 * at] - p[2 * k];
      way[side][1] = p[2 * at + 1] - p[2 * k + 1];
      if (hypot(way[side][0], way[side][1]) >= wide_reach) break;
    }
  }
  const double lengths = hypot(way[0][0], way[0][1]) * hypot(way[1][0], way[1][1]);
  return lengths > 0 ? -(way[0][0] * way[1][0] + way[0][1] * way[1][1]) / lengths : -1;
}

typedef struct corner_workspace {
  uint8_t *mark;
  int64_t *stack, *kept;
  double *copy;   /* 2 per point */
  double *cosine; /* of the turn at a corner */
  line *lines;
} corner_workspace;

/* Of two corners closer than an edge may be, the sharper one stays (of equals the first); the ends
 * of an open arc, given with a cosine of -2, stay in any case. On a closed arc the last corner is
 * next to the first. */
static void thin_corners(const double *p, const double *cosine, int64_t count, int closed,
                         uint8_t *corner) {
  int64_t last = -1;
  for (int64_t step = 0; step < count + (closed ? count : 0); ++step) {
    const int64_t k = step % count;
    if (!corner[k] || k == last) continue;
    if (last >= 0 && fmax(cosine[k], cosine[last]) > -2 &&
        hypot(p[2 * k] - p[2 * last], p[2 * k + 1] - p[2 * last + 1]) < least_distance) {
      const int64_t blunter = cosine[k] >= cosine[last] ? k : last;
      corner[blunter] = 0;
      if (blunter == k) continue;
    }
    last = k;
  }
}

/* Cuts the arc's count points into pieces that are nearly straight: piece s has the points kept[s]
 * .. kept[s + 1] and the line lines[s]. Returns the number of pieces. */
static int64_t fit_lines(const double *p, int64_t count, int closed, corner_workspace *work) {
  memset(work->mark, 0, (size_t)count);
  const int64_t middle = closed ? farthest_from(p, count, p[0], p[1]) : 0;
  work->mark[0] = work->mark[middle] = work->mark[count - 1] = 1;
  if (middle > 0) simplify(p, 0, middle, line_tolerance, work->mark, work->stack);
  simplify(p, middle, count - 1, line_tolerance, work->mark, work->stack);
  int64_t kept = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (work->mark[k]) work->kept[kept++] = k;
  }
  for (int64_t s = 0; s + 1 < kept; ++s) {
    const int64_t off = work->kept[s + 1] - work->kept[s] >= LONG_LINE ? END_POINTS : 0;
    const int64_t begin = work->kept[s] + off, end = work->kept[s + 1] - off;
    work->lines[s] = fit_line(p + 2 * begin, end - begin + 1);
  }
  return kept - 1;
}

/* Marks and moves the corners between the pieces. Returns how far one was moved at most. */
static double place_corners(double *p, int64_t count, int closed, int64_t pieces, double angle,
                            uint8_t *corner, corner_workspace *work) {
  const double sharp = cos(angle * CVTM_PI / 180);
  const double wide_sharp = cos(wide_share * angle * CVTM_PI / 180);
  double largest = 0;
  memcpy(work->copy, p, (size_t)count * 2 * sizeof *p);
  for (int64_t s = 0; s < pieces; ++s) {
    if (s == 0 && !closed) continue;
    const int64_t k = work->kept[s];
    const line before = work->lines[s > 0 ? s - 1 : pieces - 1], after = work->lines[s];
    work->cosine[k] = before.dx * after.dx + before.dy * after.dy;
    if (work->cosine[k] > sharp || wide_turn(work->copy, count, closed, k) > wide_sharp) continue;
    corner[k] = 1;
    double place[2], shift;
    const int64_t one_before = k > 0 ? k - 1 : count - 2;
    if (!meet(before, after, work->copy, one_before, k, k + 1, place, &shift)) continue;
    p[2 * k] = place[0];
    p[2 * k + 1] = place[1];
    largest = fmax(largest, shift);
    if (k > 1) straighten(p + 2 * k, p + 2 * k - 2, p + 2 * k - 4);
    if (k + 2 < count) straighten(p + 2 * k, p + 2 * k + 2, p + 2 * k + 4);
  }
  return largest;
}

/* Finds the corners of an arc; a closed arc that has corners begins at one of them afterwards. */
static void find_corners(cvtm_contour *c, double *traced, int64_t arc, double angle,
                         corner_workspace *work) {
  double *p = c->points + 2 * c->start[arc], *raw = traced + 2 * c->start[arc];
  uint8_t *corner = c->corner + c->start[arc];
  const int64_t count = c->start[arc + 1] - c->start[arc];
  const int closed = cvtm_contour_is_closed(c, arc) && !corner[0];
  if (!closed && count < LONG_LINE && c->region_count > 0) { /* smooth, and too short for lines */
    corner[0] = corner[count - 1] = 1;
    return;
  }
  if (closed) {
    rotate_points(p, count, farthest_from(p, count - 1, p[0], p[1]), work->copy);
    memcpy(raw, p, (size_t)count * 2 * sizeof *p);
  }
  const int64_t pieces = fit_lines(p, count, closed, work);
  const double shift = place_corners(p, count, closed, pieces, angle, corner, work);
  c->corner_shift = fmax(c->corner_shift, shift);
  if (!closed) {
    corner[0] = corner[count - 1] = 1;
    work->cosine[0] = work->cosine[count - 1] = -2;
  }
  thin_corners(p, work->cosine, count - closed, closed, corner);
  if (!closed) return;
  memcpy(p + 2 * (count - 1), p, 2 * sizeof *p);
  corner[count - 1] = corner[0];
  int64_t first = 0;
  while (first < count - 1 && !corner[first]) ++first;
  if (first == 0 || first == count - 1) return;
  rotate_points(p, count, first, work->copy);
  rotate_points(raw, count, first, work->copy);
  rotate_flags(corner, count, first, (uint8_t *)work->copy);
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
  corner_workspace work = {malloc(n),
                           malloc(n * sizeof *work.stack),
                           malloc(n * sizeof *work.kept),
                           malloc(2 * n * sizeof *work.copy),
                           malloc(n * sizeof *work.cosine),
                           malloc(n * sizeof *work.lines)};
  cvtm_status status = CVTM_OK;
  if (!work.mark || !work.stack || !work.kept || !work.copy || !work.cosine || !work.lines) {
    status = cvtm_contour_no_memory(error);
  } else {
    for (int64_t arc = 0; arc < c->arc_count; ++arc) find_corners(c, traced, arc, angle, &work);
  }
  free(work.mark);
  free(work.stack);
  free(work.kept);
  free(work.copy);
  free(work.cosine);
  free(work.lines);
  return status;
}

/* Moved corners can make curves cross that are less than a pixel apart: then the ends of what
 * crosses go back to where they were traced. */
static int64_t move_back(cvtm_contour *c, const double *traced, const uint8_t *crossed) {
  int64_t moved = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
    const int around = cvtm_contour_is_closed(c, arc) && (crossed[first] || crossed[last - 1]);
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
  cvtm_status status = edges != NULL && crossed != NULL ? CVTM_OK : cvtm_contour_no_memory(error);
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

/* Corners that came too close to a side of the image, where the sides' vertices are, go back. */
static void leave_sides(cvtm_contour *c, const double *traced,
                        const cvtm_contour_picture *picture) {
  const double room = 0.2; /* pixels */
  for (int64_t k = 0; k < c->start[c->arc_count]; ++k) {
    double *p = c->points + 2 * k;
    const double depth =
        fmin(fmin(p[0], picture->width - p[0]), fmin(p[1], picture->height - p[1]));
    if (depth < room) memcpy(p, traced + 2 * k, 2 * sizeof *p);
  }
}

cvtm_status cvtm_contour_find_corners(cvtm_contour *c, const cvtm_contour_picture *picture,
                                      double angle, cvtm_error *error) {
  const int64_t points = c->start[c->arc_count];
  double *traced = malloc(2 * (size_t)points * sizeof *traced);
  if (traced == NULL) return cvtm_contour_no_memory(error);
  memcpy(traced, c->points, 2 * (size_t)points * sizeof *traced);
  cvtm_status status = find_all_corners(c, traced, angle, error);
  if (status == CVTM_OK && picture->border != CVTM_BORDER_EMPTY) leave_sides(c, traced, picture);
  /* A corner that was moved may have left the image. */
  for (int64_t k = 0; status == CVTM_OK && k < points; ++k) {
    c->points[2 * k] = fmin(fmax(c->points[2 * k], 0), picture->width);
    c->points[2 * k + 1] = fmin(fmax(c->points[2 * k + 1], 0), picture->height);
  }
  if (status == CVTM_OK) status = untangle_corners(c, traced, error);
  free(traced);
  return status;
}
