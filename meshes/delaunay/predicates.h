/* Exact geometric predicates on grid points. Coordinates span at most 2^30 steps, so
 * that an orientation fits 64 bits and an in-circle determinant 128 bits; a
 * floating-point filter decides the easy in-circle tests (Shewchuk 1997). */
#ifndef CVTMESH_MESHES_DELAUNAY_PREDICATES_H
#define CVTMESH_MESHES_DELAUNAY_PREDICATES_H

#include "base/portable.h"

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
 * triangles: as if the squares of points, which in-circle tests lift them to, were less by amounts
 * that vanish the sooner the later the point comes (Edelsbrunner & Muecke 1990). */
CVTM_HD int cvtm_precedes(cvtm_grid_point p, cvtm_grid_point q) {
  return p.x != q.x ? p.x < q.x : p.y < q.y;
}

/* Twice the signed area of abc: positive if counterclockwise. */
static inline int64_t cvtm_orient(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c) {
  const int64_t abx = (int64_t)b.x - a.x, aby = (int64_t)b.y - a.y;
  const int64_t acx = (int64_t)c.x - a.x, acy = (int64_t)c.y - a.y;
  return abx * acy - aby * acx;
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

#endif
