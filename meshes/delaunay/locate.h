/* Inside meshes only: the triangle of a triangulation that contains a point. */
#pragma once

#include "meshes/delaunay/half_edges.h"

/* A triangulation by half-edges. corner[3 * t] is -1 for a removed triangle. */
typedef struct cvtm_locator {
  int64_t triangle_count;
  cvtm_grid_point *grid;
  int32_t *corner;
  int64_t *twin;
  int64_t last; /* the triangle found last, where the next search begins */
} cvtm_locator;

/* Copies the arrays of a triangulation, so that the triangulation may change afterwards. */
cvtm_status cvtm_locator_keep(const cvtm_half_edges *m, cvtm_locator *l, cvtm_error *error);
void cvtm_locator_free(cvtm_locator *l);

/* Twice the signed area of a, b and (x, y), in grid steps: positive on the left. */
static inline double cvtm_side_of(cvtm_grid_point a, cvtm_grid_point b, double x, double y) {
  return ((double)b.x - a.x) * (y - a.y) - ((double)b.y - a.y) * (x - a.x);
}

/* Walks to the triangle that contains a point, in grid steps, and returns it. -1: the walk left the
 * triangulation; if this is convex, the point is outside. */
int64_t cvtm_walk(cvtm_locator *l, double x, double y);

/* Returns the triangle that contains a point, or else is closest to containing it. */
int64_t cvtm_locate(cvtm_locator *l, double x, double y);

/* Sets values (count) at a place. They are linear in the triangle that contains it; given: count
 * values per vertex. */
void cvtm_interpolate(cvtm_locator *l, const cvtm_grid_frame *frame, const double place[2],
                      const double *given, int64_t count, double *values);
