/* Inside meshes only: the steps from a mask, labels or polygons to a contour. */
#ifndef CVTMESH_MESHES_CONTOUR_STEPS_H
#define CVTMESH_MESHES_CONTOUR_STEPS_H

#include "meshes/contour.h"

#include <math.h>

cvtm_status cvtm_contour_no_memory(cvtm_error *error);
/* Allocates the arrays for `arcs` arcs and `points` points; arc_count stays 0. On failure the
 * caller frees. */
cvtm_status cvtm_contour_allocate(int64_t arcs, int64_t points, cvtm_contour *contour,
                                  cvtm_error *error);
/* Removes the last arc if it is a closed curve around an area below `smallest`; *points is the
 * number of points of all arcs. */
void cvtm_contour_drop_small(cvtm_contour *contour, double smallest, int64_t *points);

/* Marching squares: the arcs between the regions of a mask (coverage) or of labels, the other being
 * NULL; without corners. On failure the caller frees the contour. */
cvtm_status cvtm_contour_trace(const float *coverage, const int32_t *labels, int width, int height,
                               double smallest, cvtm_contour *contour, cvtm_error *error);

/* Finds the corners of traced arcs and puts them where the lines beside them meet, unless curves
 * then cross. `angle`, in degrees: the least turn of a corner. */
cvtm_status cvtm_contour_find_corners(cvtm_contour *contour, int width, int height, double angle,
                                      cvtm_error *error);

static inline int cvtm_contour_is_closed(const cvtm_contour *c, int64_t arc) {
  const double *p = c->points + 2 * c->start[arc], *q = c->points + 2 * (c->start[arc + 1] - 1);
  return p[0] == q[0] && p[1] == q[1];
}

/* Cosine of the turn at b of the path a, b, c. */
static inline double cvtm_turn_cosine(const double *a, const double *b, const double *c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - b[0], vy = c[1] - b[1];
  return (ux * vx + uy * vy) / (hypot(ux, uy) * hypot(vx, vy));
}

#endif
