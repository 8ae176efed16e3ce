/* Inside meshes only: points on the grid of the exact predicates. Coordinates span at most 2^30
 * steps, so that an orientation fits 64 bits and an in-circle determinant 128 bits; a
 * floating-point filter decides the easy in-circle tests (Shewchuk 1997). */
#pragma once

#include "base/portable.h"
#include "base/status.h"

#include <math.h>
#include <stdint.h>

enum { CVTM_GRID_BITS = 30 };

__extension__ typedef __int128 cvtm_int128;
__extension__ typedef unsigned __int128 cvtm_uint128;

/* 0 .. 2^30 in both coordinates, y up. */
typedef struct cvtm_grid_point {
  int32_t x, y;
} cvtm_grid_point;

/* Order from left to right, then upwards. Of points on one circle the first is a corner of all
 * their triangles. This is a symbolic perturbation of the lifted points, larger for earlier points
 * (Edelsbrunner & Muecke 1990). */
CVTM_HD int cvtm_precedes(cvtm_grid_point p, cvtm_grid_point q) {
  return p.x != q.x ? p.x < q.x : p.y < q.y;
}

/* Twice the signed area of abc: positive if counterclockwise. */
static inline int64_t cvtm_orient(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c) {
  const int64_t abx = (int64_t)b.x - a.x, aby = (int64_t)b.y - a.y;
  const int64_t acx = (int64_t)c.x - a.x, acy = (int64_t)c.y - a.y;
  return abx * acy - aby * acx;
}

static inline double cvtm_length2(cvtm_grid_point a, cvtm_grid_point b) {
  const double x = (double)a.x - b.x, y = (double)a.y - b.y;
  return x * x + y * y;
}

/* The cosine of the angle at a from b to c, times the lengths of both sides. */
static inline double cvtm_dot_at(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c) {
  return (double)(((int64_t)b.x - a.x) * ((int64_t)c.x - a.x) +
                  ((int64_t)b.y - a.y) * ((int64_t)c.y - a.y));
}

/* The cotangent of the smallest angle of a positively oriented triangle. */
static inline double cvtm_largest_cotangent(cvtm_grid_point a, cvtm_grid_point b,
                                            cvtm_grid_point c) {
  const double cross = (double)cvtm_orient(a, b, c);
  const double of_a = cvtm_dot_at(a, b, c), of_b = cvtm_dot_at(b, c, a),
               of_c = cvtm_dot_at(c, a, b);
  const double of_ab = of_a > of_b ? of_a : of_b;
  return (of_ab > of_c ? of_ab : of_c) / cross;
}

static inline int cvtm_in_circle_exact(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c,
                                       cvtm_grid_point d) {
  const int64_t ax = (int64_t)a.x - d.x, ay = (int64_t)a.y - d.y;
  const int64_t bx = (int64_t)b.x - d.x, by = (int64_t)b.y - d.y;
  const int64_t cx = (int64_t)c.x - d.x, cy = (int64_t)c.y - d.y;
  const cvtm_int128 determinant = (cvtm_int128)(ax * ax + ay * ay) * (bx * cy - by * cx) +
                                  (cvtm_int128)(bx * bx + by * by) * (cx * ay - cy * ax) +
                                  (cvtm_int128)(cx * cx + cy * cy) * (ax * by - ay * bx);
  return determinant > 0;
}

/* Nonzero if d lies strictly inside the circle through a, b, c (counterclockwise). */
static inline int cvtm_in_circle(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c,
                                 cvtm_grid_point d) {
  const double ax = (double)(a.x - d.x), ay = (double)(a.y - d.y);
  const double bx = (double)(b.x - d.x), by = (double)(b.y - d.y);
  const double cx = (double)(c.x - d.x), cy = (double)(c.y - d.y);
  const double bxcy = bx * cy, bycx = by * cx;
  const double cxay = cx * ay, cyax = cy * ax;
  const double axby = ax * by, aybx = ay * bx;
  const double a2 = ax * ax + ay * ay, b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  const double determinant = a2 * (bxcy - bycx) + b2 * (cxay - cyax) + c2 * (axby - aybx);
  const double permanent = a2 * (fabs(bxcy) + fabs(bycx)) + b2 * (fabs(cxay) + fabs(cyax)) +
                           c2 * (fabs(axby) + fabs(aybx));
  const double bound = 1.2e-15 * permanent; /* (10 + 96 eps) eps, eps = 2^-53, rounded up */
  if (determinant > bound) return 1;
  if (determinant < -bound) return 0;
  return cvtm_in_circle_exact(a, b, c, d);
}

/* ---- Codes along the Morton curve, on both devices ---- */

enum { CVTM_STAR_KEY_BITS = 2 * CVTM_GRID_BITS + 2 };

/* Moves the lower 31 bits of v to the even bit positions. */
CVTM_HD uint64_t cvtm_star_spread(uint32_t v) {
  uint64_t x = v;
  x = (x | x << 16) & 0x0000FFFF0000FFFFu;
  x = (x | x << 8) & 0x00FF00FF00FF00FFu;
  x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
  x = (x | x << 2) & 0x3333333333333333u;
  return (x | x << 1) & 0x5555555555555555u;
}

/* Collects the even bits of x; the inverse of cvtm_star_spread. */
CVTM_HD uint32_t cvtm_star_collect(uint64_t x) {
  x &= 0x5555555555555555u;
  x = (x | x >> 1) & 0x3333333333333333u;
  x = (x | x >> 2) & 0x0F0F0F0F0F0F0F0Fu;
  x = (x | x >> 4) & 0x00FF00FF00FF00FFu;
  x = (x | x >> 8) & 0x0000FFFF0000FFFFu;
  return (uint32_t)(x | x >> 16);
}

CVTM_HD uint64_t cvtm_star_code(uint32_t i, uint32_t j) {
  return cvtm_star_spread(i) | cvtm_star_spread(j) << 1;
}

/* The code of the point's square of side 1, then two bits that distinguish 2^30 from 2^30 - 1. */
CVTM_HD uint64_t cvtm_star_key(cvtm_grid_point p) {
  const uint32_t right = (uint32_t)p.x >> CVTM_GRID_BITS, top = (uint32_t)p.y >> CVTM_GRID_BITS;
  return cvtm_star_code((uint32_t)p.x - right, (uint32_t)p.y - top) << 2 | top << 1 | right;
}

CVTM_HD cvtm_grid_point cvtm_star_place(uint64_t key) {
  const cvtm_grid_point p = {(int32_t)(cvtm_star_collect(key >> 2) + (key & 1)),
                             (int32_t)(cvtm_star_collect(key >> 3) + (key >> 1 & 1))};
  return p;
}

/* ---- Snapping ---- */

CVTM_C_BEGIN

/* Rounds count >= 1 points (x, y) in place to multiples of a power of two, such that the longer
 * side of their bounding box is at most 2^30 steps, and returns their coordinates on that grid,
 * with y up. CVTM_ERROR_INPUT if a coordinate is not finite or its magnitude exceeds 1e300. */
cvtm_status cvtm_snap_points(double *points, int64_t count, cvtm_grid_point *grid,
                             cvtm_error *error);

/* Computes the coordinates of cvtm_snap_points without changing the points. */
cvtm_status cvtm_grid_of_points(const double *points, int64_t count, cvtm_grid_point *grid,
                                cvtm_error *error);

/* The position of a grid: (x, y) belongs to grid point (0, 0), step is the grid's step. */
typedef struct cvtm_grid_frame {
  double x, y, step;
} cvtm_grid_frame;

/* The frame of the grid of cvtm_snap_points, computed from one of the rounded points. */
static inline cvtm_grid_frame cvtm_frame_of(const double *point, cvtm_grid_point at, double step) {
  const cvtm_grid_frame frame = {point[0] - at.x * step, point[1] + at.y * step, step};
  return frame;
}

static inline void cvtm_grid_place(const cvtm_grid_frame *frame, cvtm_grid_point at,
                                   double place[2]) {
  place[0] = frame->x + at.x * frame->step;
  place[1] = frame->y - at.y * frame->step;
}

/* cvtm_snap_points, which also returns the step of the grid. */
cvtm_status cvtm_snap_to_steps(double *points, int64_t count, cvtm_grid_point *grid, double *step,
                               cvtm_error *error);

/* The steps of cvtm_snap_points, for both devices. */

/* The bounding box; usable is 0 if a coordinate is not finite or its magnitude exceeds 1e300. */
typedef struct cvtm_bounds {
  double low[2], high[2];
  int32_t usable;
} cvtm_bounds;

/* Converts coordinates on an axis to steps of 2^exponent above the lowest; `flip`: below the
 * highest. */
typedef struct cvtm_snap_axis {
  double first, last;
  int32_t exponent, flip;
  int32_t already; /* nonzero: all coordinates are multiples of the step; rounding is skipped, since
                      it could overflow */
} cvtm_snap_axis;

typedef struct cvtm_snapping {
  cvtm_snap_axis x, y;
} cvtm_snapping;

/* Coordinates beyond this could overflow when rounded to the grid. */
#define CVTM_LARGEST_COORDINATE 1e300

/* The exponent of the step, with which the longer side of the box has 2^29 to 2^30 steps. Points
 * that are already on such a grid do not move. */
int cvtm_snap_exponent(const cvtm_bounds *bounds);
cvtm_snapping cvtm_snapping_for(const cvtm_bounds *bounds, int exponent);

/* Rounds a coordinate in place, and returns it in grid steps. */
CVTM_HD int32_t cvtm_snap_coordinate(const cvtm_snap_axis *axis, double *v) {
  const double steps = axis->already ? *v : rint(ldexp(*v, -axis->exponent));
  const double offset = axis->flip ? axis->last - steps : steps - axis->first;
  if (axis->already) return (int32_t)ldexp(offset, -axis->exponent);
  *v = ldexp(steps, axis->exponent) + 0.0; /* no negative zero */
  return (int32_t)offset;
}

CVTM_C_END
