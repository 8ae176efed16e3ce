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

#endif
