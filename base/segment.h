/* The distance of a point from a segment of the plane. */
#ifndef CVTMESH_BASE_SEGMENT_H
#define CVTMESH_BASE_SEGMENT_H

#include <math.h>

/* The distance from (x, y) to the segment from a to b, which may be one point. */
static inline double cvtm_segment_distance(const double *a, const double *b, double x, double y) {
  const double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
  const double along = length2 > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length2 : 0;
  const double t = fmin(fmax(along, 0), 1);
  return hypot(a[0] + t * dx - x, a[1] + t * dy - y);
}

#endif
