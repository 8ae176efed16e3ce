/* Inside draw/: the steps of cvtm_tour_create, on points of the unit square. */
#ifndef CVTMESH_DRAW_TOUR_STEPS_H
#define CVTMESH_DRAW_TOUR_STEPS_H

#include "draw/tour.h"

#include <stdint.h>

enum { CVTM_TOUR_DEGREE = 8 }; /* neighbours of a point in the lists */

/* Sets order[0 .. count) to a tour of greedy edges: the shortest edge is taken that neither closes
 * a circle nor gives a point a third edge. nearest: CVTM_TOUR_DEGREE * count, or fewer for fewer
 * points, from cvtm_nearest_lists. */
cvtm_status cvtm_tour_greedy(const double *points, int32_t count, const int32_t *nearest,
                             int degree, int threads, int32_t *order, cvtm_error *error);

/* Shortens the tour 0, 1, .. count - 1 and sets order[] to the result. stop: as for
 * cvtm_tour_create_until. */
cvtm_status cvtm_tour_improve(const double *points, int32_t count, const int32_t *nearest,
                              int degree, cvtm_tour_stop stop, void *context, int32_t *order,
                              cvtm_error *error);

#endif
