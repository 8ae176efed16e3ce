/* Inside meshes only: a stretch of a contour between two corners, and its cuts, where vertices are
 * put. */
#ifndef CVTMESH_MESHES_DOMAIN_STRETCH_H
#define CVTMESH_MESHES_DOMAIN_STRETCH_H

#include "meshes/contour.h"

static const double cvtm_largest_shift = 0.5; /* of a vertex off the curve, pixels */

/* Points of the stretch, at most half a pixel apart, with the arc length and the integral of
 * 1 / spacing up to each. */
typedef struct cvtm_track {
  double *points, *way, *measure;
  int64_t count, capacity;
} cvtm_track;

typedef struct cvtm_stretch {
  cvtm_spacing spacing; /* NULL: nothing is measured */
  const void *context;
  int keep_on_curve;
  cvtm_track track;
  int64_t *cuts; /* points of the track: part i is between cuts i and i + 1 */
  int64_t cut_capacity;
  cvtm_error *error;
} cvtm_stretch;

/* Lays the track along a polygon of `count` points. Errors of this and the next two functions:
 * CVTM_ERROR_MEMORY. */
cvtm_status cvtm_stretch_lay(cvtm_stretch *stretch, const double *p, int64_t count);
cvtm_status cvtm_stretch_add_point(cvtm_stretch *stretch, double x, double y, double measure);
/* Cuts the track into parts of equal measure; parts + 1 cuts, all different. */
cvtm_status cvtm_stretch_choose_cuts(cvtm_stretch *stretch, int64_t parts);
/* The place of cut i, moved across the curve so that the edges bound the contour's area. An end
 * that stays leaves its share to the other. */
void cvtm_stretch_place_cut(const cvtm_stretch *stretch, int64_t i, int64_t parts, int closed,
                            double place[2]);
/* The largest distance of part i of the curve from the edge a b, or, where the curve is kept, from
 * the parabola through the ends of the edge and a point of the curve between them. */
double cvtm_stretch_deviation(const cvtm_stretch *stretch, int64_t i, const double *a,
                              const double *b);
void cvtm_track_free(cvtm_track *track);
void cvtm_stretch_free(cvtm_stretch *stretch);

#endif
