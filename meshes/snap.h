/* Inside meshes only: points on the grid of the exact predicates. */
#ifndef CVTMESH_MESHES_SNAP_H
#define CVTMESH_MESHES_SNAP_H

#include "base/status.h"
#include "meshes/predicates.h"

#include <stdint.h>

/* Rounds count >= 1 points (x, y) in place to multiples of a power of two, such that the longer
 * side of their bounding box is at most 2^30 steps, and gives their places on that grid with
 * y up. CVTM_ERROR_INPUT if a coordinate is not finite or beyond 1e300. */
cvtm_status cvtm_snap_points(double *points, int64_t count, cvtm_grid_point *grid,
                             cvtm_error *error);

/* Where a grid lies: (x, y) is the place of (0, 0), step the distance between its points. */
typedef struct cvtm_grid_frame {
  double x, y, step;
} cvtm_grid_frame;

/* The frame of points on their grid, as cvtm_snap_points leaves them: that of one of them. */
static inline cvtm_grid_frame cvtm_frame_of(const double *point, cvtm_grid_point at, double step) {
  return (cvtm_grid_frame){point[0] - at.x * step, point[1] + at.y * step, step};
}

/* As cvtm_snap_points; *step: the grid's. */
cvtm_status cvtm_snap_to_steps(double *points, int64_t count, cvtm_grid_point *grid, double *step,
                               cvtm_error *error);

#endif
