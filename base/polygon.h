/* Small convex polygons cut by half-planes: the cell of a site, edge by edge.
 * Coordinates are relative to the cell's own site, which sits at the origin, so that
 * nothing is lost to cancellation far from the domain's corner. Corners run
 * counterclockwise as seen with y up (clockwise in the stored, y-down numbers).
 * Edge k joins corner k to the next one and carries the site across it. Compiles
 * as C11 and inside CUDA kernels. */
#ifndef CVTMESH_BASE_POLYGON_H
#define CVTMESH_BASE_POLYGON_H

#include "base/portable.h"

#include <stdint.h>

enum {
  CVTM_POLYGON_CAPACITY = 32, /* corners of a cvtm_polygon */
  CVTM_POLYGON_BORDER = -1    /* neighbor of an edge that no site has cut */
};

typedef struct cvtm_polygon {
  int32_t count; /* 0: empty, else at least 3 */
  double x[CVTM_POLYGON_CAPACITY], y[CVTM_POLYGON_CAPACITY];
  int32_t neighbor[CVTM_POLYGON_CAPACITY];
} cvtm_polygon;

typedef enum cvtm_clip {
  CVTM_CLIP_NONE,    /* the polygon lies inside already; unchanged */
  CVTM_CLIP_CUT,     /* something was cut off; the new edge carries the neighbor's id */
  CVTM_CLIP_EMPTY,   /* nothing is left; count is 0 */
  CVTM_CLIP_OVERFLOW /* the cut needs more corners than the capacity; unchanged */
} cvtm_clip;

/* The rectangle [x0, x1] x [y0, y1] into arrays of at least 4; x0 < x1 and y0 < y1. */
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

/* Keeps the part where nx x + ny y <= offset. The corners cut off are the run
 * around the farthest one, so rounding can never tear the polygon in two and a cut adds one
 * corner at most. A corner exactly on the line is replaced, not doubled. */
CVTM_HD cvtm_clip cvtm_corners_clip(double nx, double ny, double offset, int32_t id,
                                    int32_t capacity, int32_t *count, double *x, double *y,
                                    int32_t *neighbor) {
  const int32_t n = *count;
  if (n == 0) return CVTM_CLIP_EMPTY;
  int32_t farthest = -1;
  double largest = 0;
  for (int32_t k = 0; k < n; ++k) {
    const double s = nx * x[k] + ny * y[k] - offset;
    if (s > largest) {
      largest = s;
      farthest = k;
    }
  }
  if (farthest < 0) return CVTM_CLIP_NONE;

  /* The run of corners to remove, first..last cyclically, with the signed values at
   * its ends and at the corners kept beside them. */
  int32_t first = farthest, last = farthest, removed = 1;
  double s_first = largest, s_last = largest, s_before = 0, s_after = 0;
  int32_t before = 0, after = 0;
  for (;;) {
    before = first > 0 ? first - 1 : n - 1;
    s_before = nx * x[before] + ny * y[before] - offset;
    if (s_before < 0) break;
    if (++removed == n) {
      *count = 0;
      return CVTM_CLIP_EMPTY;
    }
    first = before;
    s_first = s_before;
  }
  for (;;) {
    after = last + 1 < n ? last + 1 : 0;
    s_after = nx * x[after] + ny * y[after] - offset;
    if (s_after < 0) break;
    ++removed; /* cannot reach n: the corner `before` stays */
    last = after;
    s_last = s_after;
  }
  const int32_t left = n - removed + 2;
  if (left > capacity) return CVTM_CLIP_OVERFLOW;

  /* From the removed end, so that a corner on the line stays where it is. */
  const double t0 = s_first / (s_first - s_before);
  const double t1 = s_last / (s_last - s_after);
  const double px = x[first] + (x[before] - x[first]) * t0;
  const double py = y[first] + (y[before] - y[first]) * t0;
  const double qx = x[last] + (x[after] - x[last]) * t1;
  const double qy = y[last] + (y[after] - y[last]) * t1;
  const int32_t across_last = neighbor[last];

  int32_t at = first; /* where the two new corners go */
  if (first <= last) {
    const int32_t tail = last + 1; /* corners tail..n-1 move to first + 2 */
    const int32_t shift = first + 2 - tail;
    if (shift > 0) {
      for (int32_t k = n - 1; k >= tail; --k) {
        x[k + shift] = x[k];
        y[k + shift] = y[k];
        neighbor[k + shift] = neighbor[k];
      }
    } else if (shift < 0) {
      for (int32_t k = tail; k < n; ++k) {
        x[k + shift] = x[k];
        y[k + shift] = y[k];
        neighbor[k + shift] = neighbor[k];
      }
    }
  } else { /* the run wraps around: corners last+1..first-1 stay */
    at = n - removed;
    for (int32_t k = 0; k < at; ++k) {
      x[k] = x[last + 1 + k];
      y[k] = y[last + 1 + k];
      neighbor[k] = neighbor[last + 1 + k];
    }
  }
  x[at] = px;
  y[at] = py;
  neighbor[at] = id;
  x[at + 1] = qx;
  y[at + 1] = qy;
  neighbor[at + 1] = across_last;
  *count = left;
  return CVTM_CLIP_CUT;
}

/* Keeps the part nearer to the origin than to (dx, dy), the site `id` relative to the cell's
 * own. A site at the origin itself cuts nothing. */
CVTM_HD cvtm_clip cvtm_corners_clip_bisector(double dx, double dy, int32_t id, int32_t capacity,
                                             int32_t *count, double *x, double *y,
                                             int32_t *neighbor) {
  return cvtm_corners_clip(dx, dy, 0.5 * (dx * dx + dy * dy), id, capacity, count, x, y, neighbor);
}

/* The largest squared distance of a corner from the origin, 0 if empty. A site farther
 * than twice its root cannot cut. */
CVTM_HD double cvtm_corners_radius2(int32_t count, const double *x, const double *y) {
  double largest = 0;
  for (int32_t k = 0; k < count; ++k) {
    const double r2 = x[k] * x[k] + y[k] * y[k];
    if (r2 > largest) largest = r2;
  }
  return largest;
}

/* Area; positive in the order of corners described above. */
CVTM_HD double cvtm_corners_area(int32_t count, const double *x, const double *y) {
  double twice = 0;
  for (int32_t k = 1; k + 1 < count; ++k) {
    const double ax = x[k] - x[0], ay = y[k] - y[0];
    const double bx = x[k + 1] - x[0], by = y[k + 1] - y[0];
    twice += bx * ay - ax * by;
  }
  return 0.5 * twice;
}

/* The same for a polygon of fixed capacity. */
CVTM_HD void cvtm_polygon_rectangle(cvtm_polygon *polygon, double x0, double y0, double x1,
                                    double y1) {
  cvtm_corners_rectangle(x0, y0, x1, y1, &polygon->count, polygon->x, polygon->y,
                         polygon->neighbor);
}

CVTM_HD cvtm_clip cvtm_polygon_clip(cvtm_polygon *polygon, double nx, double ny, double offset,
                                    int32_t id) {
  return cvtm_corners_clip(nx, ny, offset, id, CVTM_POLYGON_CAPACITY, &polygon->count, polygon->x,
                           polygon->y, polygon->neighbor);
}

CVTM_HD cvtm_clip cvtm_polygon_clip_bisector(cvtm_polygon *polygon, double dx, double dy,
                                             int32_t id) {
  return cvtm_corners_clip_bisector(dx, dy, id, CVTM_POLYGON_CAPACITY, &polygon->count, polygon->x,
                                    polygon->y, polygon->neighbor);
}

CVTM_HD double cvtm_polygon_radius2(const cvtm_polygon *polygon) {
  return cvtm_corners_radius2(polygon->count, polygon->x, polygon->y);
}

CVTM_HD double cvtm_polygon_area(const cvtm_polygon *polygon) {
  return cvtm_corners_area(polygon->count, polygon->x, polygon->y);
}

#endif
