/* Inside meshes only: points on the grid of the exact predicates. */
#ifndef CVTMESH_MESHES_DELAUNAY_SNAP_H
#define CVTMESH_MESHES_DELAUNAY_SNAP_H

#include "base/portable.h"
#include "base/status.h"
#include "meshes/delaunay/predicates.h"

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rounds count >= 1 points (x, y) in place to multiples of a power of two, such that the longer
 * side of their bounding box is at most 2^30 steps, and gives their places on that grid with
 * y up. CVTM_ERROR_INPUT if a coordinate is not finite or beyond 1e300. */
cvtm_status cvtm_snap_points(double *points, int64_t count, cvtm_grid_point *grid,
                             cvtm_error *error);

/* Where a grid lies: (x, y) is the place of (0, 0), step the distance between its points. */
typedef struct cvtm_grid_frame {
  double x, y, step;
} cvtm_grid_frame;

/* The frame of the grid of cvtm_snap_points, from one of the points that it moved. */
static inline cvtm_grid_frame cvtm_frame_of(const double *point, cvtm_grid_point at, double step) {
  const cvtm_grid_frame frame = {point[0] - at.x * step, point[1] + at.y * step, step};
  return frame;
}

/* As cvtm_snap_points; *step: the grid's. */
cvtm_status cvtm_snap_to_steps(double *points, int64_t count, cvtm_grid_point *grid, double *step,
                               cvtm_error *error);

/* The parts of cvtm_snap_points, for both devices. */

/* The least and largest coordinates; usable is 0 if one is not finite or beyond 1e300. */
typedef struct cvtm_bounds {
  double low[2], high[2];
  int32_t usable;
} cvtm_bounds;

/* How the coordinates of one axis become steps of 2^exponent above the lowest; with `flip`, below
 * the highest. */
typedef struct cvtm_snap_axis {
  double first, last;
  int32_t exponent, flip;
  int32_t already; /* all are multiples of the step, and could overflow if counted in steps */
} cvtm_snap_axis;

typedef struct cvtm_snapping {
  cvtm_snap_axis x, y;
} cvtm_snapping;

/* Coordinates beyond this could overflow when rounded to the grid. */
#define CVTM_LARGEST_COORDINATE 1e300

/* The exponent of the step: the longer side of the box is 2^29 to 2^30 steps. Points that are on
 * their grid already stay where they are. */
int cvtm_snap_exponent(const cvtm_bounds *bounds);
cvtm_snapping cvtm_snapping_for(const cvtm_bounds *bounds, int exponent);

/* Rounds a coordinate in place; returns its place on the axis. */
CVTM_HD int32_t cvtm_snap_coordinate(const cvtm_snap_axis *axis, double *v) {
  const double steps = axis->already ? *v : rint(ldexp(*v, -axis->exponent));
  const double offset = axis->flip ? axis->last - steps : steps - axis->first;
  if (axis->already) return (int32_t)ldexp(offset, -axis->exponent);
  *v = ldexp(steps, axis->exponent) + 0.0; /* no negative zero */
  return (int32_t)offset;
}

#ifdef __cplusplus
}
#endif
#endif
