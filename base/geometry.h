/* Inside the library: geometry of the plane that several rooms share. */
#pragma once

#include "base/portable.h"

#include <math.h>
#include <stdint.h>

/* The cell of a site: a convex polygon that is clipped by half-planes. Coordinates are relative to
 * the site, so that cancellation does not lose digits far from the domain's corner. The corners
 * have clockwise order in the stored coordinates, where y is down. Edge k joins corner k to the
 * next corner. Compiles as C11 and inside CUDA kernels. */

enum { CVTM_POLYGON_BORDER = -1 /* neighbor of an edge of the rectangle */ };

typedef enum cvtm_clip {
  CVTM_CLIP_NONE,    /* the polygon lies inside the half-plane; unchanged */
  CVTM_CLIP_CUT,     /* a part was cut off; the new edge has the neighbor's id */
  CVTM_CLIP_EMPTY,   /* nothing is left; count is 0 */
  CVTM_CLIP_OVERFLOW /* the cut needs more corners than the capacity; unchanged */
} cvtm_clip;

/* Corners in the caller's memory: corner k is x[k * stride], y[k * stride]. neighbor: NULL, or
 * neighbor[k * stride] is the id of the half-plane whose border contains edge k. */
typedef struct cvtm_corners {
  int32_t count, capacity, stride; /* count: 0 if empty, else at least 3 */
  double *x, *y;
  int32_t *neighbor;
} cvtm_corners;

/* Sets the corners of the rectangle [x0, x1] x [y0, y1], x0 < x1, y0 < y1, in arrays of at least 4
 * elements with stride 1. */
CVTM_HD void cvtm_corners_rectangle(double x0, double y0, double x1, double y1, int32_t *count,
                                    double *x, double *y, int32_t *neighbor) {
  *count = 4;
  x[0] = x0;
  y[0] = y0;
  x[1] = x0;
  y[1] = y1;
  x[2] = x1;
  y[2] = y1;
  x[3] = x1;
  y[3] = y0;
  for (int k = 0; k < 4; ++k) neighbor[k] = CVTM_POLYGON_BORDER;
}

/* The distance by which corner k is beyond the line nx x + ny y = offset, times |(nx, ny)|. */
CVTM_HD double cvtm_corners_excess(const cvtm_corners *c, int32_t k, double nx, double ny,
                                   double offset) {
  return nx * c->x[k * c->stride] + ny * c->y[k * c->stride] - offset;
}

/* A run of corners that a line cuts off: `removed` corners, from `first` to `last` (cyclic). The
 * corners `before` and `after` the run are kept. s_first to s_after: cvtm_corners_excess of these
 * four corners. */
typedef struct cvtm_cut_run {
  int32_t first, last, before, after, removed;
  double s_first, s_last, s_before, s_after;
} cvtm_cut_run;

/* Extends *run, which has one corner, to all adjacent corners that are cut off. Returns 0 if the
 * line cuts off all corners. */
CVTM_HD int cvtm_corners_grow_run(const cvtm_corners *c, double nx, double ny, double offset,
                                  cvtm_cut_run *run) {
  const int32_t n = c->count;
  for (;;) {
    run->before = run->first > 0 ? run->first - 1 : n - 1;
    run->s_before = cvtm_corners_excess(c, run->before, nx, ny, offset);
    if (run->s_before < 0) break;
    if (++run->removed == n) return 0;
    run->first = run->before;
    run->s_first = run->s_before;
  }
  for (;;) {
    run->after = run->last + 1 < n ? run->last + 1 : 0;
    run->s_after = cvtm_corners_excess(c, run->after, nx, ny, offset);
    if (run->s_after < 0) return 1;
    ++run->removed; /* less than n: the corner `before` is kept */
    run->last = run->after;
    run->s_last = run->s_after;
  }
}

CVTM_HD void cvtm_corners_move(cvtm_corners *c, int32_t to, int32_t from) {
  c->x[to * c->stride] = c->x[from * c->stride];
  c->y[to * c->stride] = c->y[from * c->stride];
  if (c->neighbor) c->neighbor[to * c->stride] = c->neighbor[from * c->stride];
}

/* Replaces the corners of the run by two corners whose members the caller sets; returns the index
 * of the first of the two. */
CVTM_HD int32_t cvtm_corners_replace_run(cvtm_corners *c, const cvtm_cut_run *run) {
  const int32_t n = c->count;
  c->count = n - run->removed + 2;
  if (run->first > run->last) { /* the run wraps around: keeps last + 1 .. first - 1 */
    const int32_t kept = n - run->removed;
    for (int32_t k = 0; k < kept; ++k) cvtm_corners_move(c, k, run->last + 1 + k);
    return kept;
  }
  const int32_t tail = run->last + 1, shift = run->first + 2 - tail; /* of corners tail .. n - 1 */
  if (shift > 0) {
    for (int32_t k = n - 1; k >= tail; --k) cvtm_corners_move(c, k + shift, k);
  } else if (shift < 0) {
    for (int32_t k = tail; k < n; ++k) cvtm_corners_move(c, k + shift, k);
  }
  return run->first;
}

/* Keeps the part where nx x + ny y <= offset. The new edge begins at corner *at and gets the
 * neighbor `id`. Only the run of corners around the farthest corner is cut off, so rounding cannot
 * split the polygon in two, and a cut adds at most one corner. A corner exactly on the line is
 * replaced, not doubled. */
CVTM_HD cvtm_clip cvtm_corners_clip(cvtm_corners *c, double nx, double ny, double offset,
                                    int32_t id, int32_t *at) {
  if (c->count == 0) return CVTM_CLIP_EMPTY;
  int32_t farthest = -1;
  double largest = 0;
  for (int32_t k = 0; k < c->count; ++k) {
    const double s = cvtm_corners_excess(c, k, nx, ny, offset);
    if (s > largest) {
      largest = s;
      farthest = k;
    }
  }
  if (farthest < 0) return CVTM_CLIP_NONE;
  cvtm_cut_run run = {farthest, farthest, 0, 0, 1, largest, largest, 0, 0};
  if (!cvtm_corners_grow_run(c, nx, ny, offset, &run)) {
    c->count = 0;
    return CVTM_CLIP_EMPTY;
  }
  if (c->count - run.removed + 2 > c->capacity) return CVTM_CLIP_OVERFLOW;

  /* Interpolates from the removed corner, so that a removed corner on the line does not move. */
  const int32_t s = c->stride;
  const double t0 = run.s_first / (run.s_first - run.s_before);
  const double t1 = run.s_last / (run.s_last - run.s_after);
  const double fx = c->x[run.first * s], fy = c->y[run.first * s];
  const double lx = c->x[run.last * s], ly = c->y[run.last * s];
  const double px = fx + (c->x[run.before * s] - fx) * t0;
  const double py = fy + (c->y[run.before * s] - fy) * t0;
  const double qx = lx + (c->x[run.after * s] - lx) * t1;
  const double qy = ly + (c->y[run.after * s] - ly) * t1;
  const int32_t last_neighbor = c->neighbor ? c->neighbor[run.last * s] : 0;
  const int32_t k = cvtm_corners_replace_run(c, &run);
  c->x[k * s] = px;
  c->y[k * s] = py;
  c->x[(k + 1) * s] = qx;
  c->y[(k + 1) * s] = qy;
  if (c->neighbor) {
    c->neighbor[k * s] = id;
    c->neighbor[(k + 1) * s] = last_neighbor;
  }
  *at = k;
  return CVTM_CLIP_CUT;
}

/* Keeps the part that is closer to the origin, the cell's site, than to the site at (dx, dy). A
 * site at the origin cuts nothing. */
CVTM_HD cvtm_clip cvtm_corners_clip_bisector(cvtm_corners *c, double dx, double dy, int32_t id,
                                             int32_t *at) {
  return cvtm_corners_clip(c, dx, dy, 0.5 * (dx * dx + dy * dy), id, at);
}

/* The functions below compute the exact area of each pixel that a polygon covers. Each edge adds
 * changes of coverage to an accumulator; the running sum along a row of pixels is then the (signed)
 * coverage. */

/* Pixels [x0, x1) x [y0, y1), at least one. */
typedef struct cvtm_pixel_box {
  int x0, y0, x1, y1;
} cvtm_pixel_box;

/* Adds `change` to pixel (x, y) of the accumulator, x0 <= x <= x1. */
typedef void (*cvtm_add_coverage)(void *accumulator, int x, int y, double change);

static inline int cvtm_clamp_pixel(double value, int low, int high) {
  if (!(value > low)) return low;
  return value < high ? (int)value : high;
}

/* Adds the part of an edge in row y. The part lies between x = low and high, low <= high, and its
 * extent in y is `height`. last_pixel: the last column of the box. */
static inline void cvtm_cover_row(double low, double high, double height, int y, int last_pixel,
                                  cvtm_add_coverage add, void *accumulator) {
  const int first = (int)fmin(floor(low), last_pixel), last = (int)fmin(floor(high), last_pixel);
  const double slope = high > low ? 1 / (high - low) : 0;
  double before = 0; /* fraction of the edge's height in the pixels before pixel i */
  double done = 0;
  for (int i = first; i <= last; ++i) {
    const double right = i == last ? high : i + 1.0;
    const double left = i == first ? low : (double)i;
    const double share = i == last ? 1 - before : (right - left) * slope;
    /* Per unit of height, the part of the edge in pixel i covers the pixel from the part's midpoint
     * to the right, and the earlier parts cover all of the pixel. */
    const double inside = share * (i + 1 - 0.5 * (left + right)) + before;
    add(accumulator, i, y, height * (inside - done));
    done = inside;
    before += share;
  }
  add(accumulator, last + 1, y, height * (1 - done));
}

/* Adds `weight` times the area to the right of the edge from p to q, negative where y decreases
 * from p to q. Parts of the edge left or right of the box count as if they lay on that side of the
 * box. */
static inline void cvtm_cover_edge(const double *p, const double *q, double weight,
                                   cvtm_pixel_box box, cvtm_add_coverage add, void *accumulator) {
  if (p[1] == q[1]) return;
  const double *upper = p[1] < q[1] ? p : q, *lower = p[1] < q[1] ? q : p;
  const double sign = p[1] < q[1] ? weight : -weight;
  const double slope = (lower[0] - upper[0]) / (lower[1] - upper[1]);
  const int first = cvtm_clamp_pixel(floor(upper[1]), box.y0, box.y1);
  const int end = cvtm_clamp_pixel(ceil(lower[1]), box.y0, box.y1);
  for (int y = first; y < end; ++y) {
    const double from = fmax(upper[1], y), to = fmin(lower[1], y + 1.0);
    const double a = upper[0] + (from - upper[1]) * slope, b = upper[0] + (to - upper[1]) * slope;
    const double x = fmin(fmax(a, box.x0), box.x1), z = fmin(fmax(b, box.x0), box.x1);
    cvtm_cover_row(fmin(x, z), fmax(x, z), sign * (to - from), y, box.x1 - 1, add, accumulator);
  }
}

/* The distance from (x, y) to the segment from a to b, which may be one point. */
static inline double cvtm_segment_distance(const double *a, const double *b, double x, double y) {
  const double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
  const double along = length2 > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length2 : 0;
  const double t = fmin(fmax(along, 0), 1);
  return hypot(a[0] + t * dx - x, a[1] + t * dy - y);
}

/* A bounding box: at first empty (cvtm_empty_box), extended by cvtm_box_add. */
typedef struct cvtm_box {
  double low[2], high[2];
} cvtm_box;

static inline cvtm_box cvtm_empty_box(void) {
  const cvtm_box box = {{HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL}};
  return box;
}

static inline void cvtm_box_add(cvtm_box *box, const double *point) {
  for (int axis = 0; axis < 2; ++axis) {
    box->low[axis] = fmin(box->low[axis], point[axis]);
    box->high[axis] = fmax(box->high[axis], point[axis]);
  }
}

/* A point that cvtm_compare_placed sorts by x, then by y, then by index, so that coincident points
 * are consecutive. */
typedef struct cvtm_placed {
  double x, y;
  int64_t index;
} cvtm_placed;

/* For qsort and bsearch: compares points, or structs that begin with one, by x, then by y. */
static inline int cvtm_compare_points(const void *left, const void *right) {
  const double *a = (const double *)left, *b = (const double *)right;
  if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
  return (a[1] > b[1]) - (a[1] < b[1]);
}

static inline int cvtm_compare_placed(const void *left, const void *right) {
  const cvtm_placed *a = (const cvtm_placed *)left, *b = (const cvtm_placed *)right;
  const int order = cvtm_compare_points(left, right);
  return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}
