/* Inside meshes/sized only: what vertices gain by moves, and single moves (raise.c), which changes
 * of the triangulation try, too (mend.c). */
#pragma once

#include "base/portable.h"
#include "meshes/sized/sized_state.h"

#include <math.h>

/* The cross product of two sides of a triangle, and the largest dot product at a corner. Their
 * ratio is the tangent of the smallest angle. */
typedef struct cvtm_sized_corner {
  double cross, largest;
} cvtm_sized_corner;

/* u, v: two sides from one corner. */
static inline cvtm_sized_corner cvtm_sized_values(double ux, double uy, double vx, double vy) {
  const double wx = vx - ux, wy = vy - uy;
  const double at = ux * vx + uy * vy, first = -(ux * wx + uy * wy), second = vx * wx + vy * wy;
  const double larger = first > second ? first : second;
  return (cvtm_sized_corner){ux * vy - uy * vx, at > larger ? at : larger};
}

/* tan 30 degrees; the angle below which angles count several times; how many times; the weight of
 * lengths beside angles in radians. raise.c has the following formulas for four triangles at once.
 */
static const double cvtm_sized_root = 0.57735026918962576;
static const double cvtm_sized_bound = 45.2 * CVTM_PI / 180, cvtm_sized_heavy = 8;
static const double cvtm_sized_length_weight = 0.75;

/* The smallest angle of a triangle by its tangent, which is at most sqrt (3). Uses the series of
 * atan around 30 degrees, with an error below 10^-3. */
static inline double cvtm_sized_angle_of(double tangent) {
  const double root = cvtm_sized_root;
  const double u = (tangent - root) / (1 + root * tangent), u2 = u * u;
  return CVTM_PI / 6 + u * (1 - u2 * (1.0 / 3 - u2 * (1.0 / 5 - u2 / 7)));
}

static inline double cvtm_sized_angle_value(double angle) {
  const double heavy = cvtm_sized_heavy, bound = cvtm_sized_bound;
  return angle < bound ? bound - heavy * (bound - angle) : angle;
}

/* The weight, times the square of the logarithm of a length divided by the wanted one, if that is
 * near zero. squared: the square of that ratio. */
static inline double cvtm_sized_length_error(double squared) {
  const double x = (squared - 1) / (squared + 1);
  return cvtm_sized_length_weight * x * x;
}

/* Nonzero for a vertex of the boundary that may move along its edge, or be removed: one beside a
 * narrow part of the outline. */
static inline int cvtm_sizer_slides(const cvtm_sizer *z, int32_t v) {
  const int32_t place = z->vertex[v].place;
  return place >= 0 && z->is_narrow[z->places[place].edge] && z->given->twin == NULL;
}

/* Nonzero for such a vertex, and for a vertex inside. */
static inline int cvtm_sizer_moves(const cvtm_sizer *z, int32_t v) {
  return (v >= z->fixed_count && z->vertex[v].place < 0) || cvtm_sizer_slides(z, v);
}

/* Changes the mesh at an item, a vertex or a triangle; returns 1 if it has. An item gets at most
 * one vertex more. The changes stay inside the fence of the mesh. */
typedef int (*cvtm_sizer_mender)(cvtm_sizer *z, int64_t item);
/* Does so at all items, by threads where meshes are large; returns the number of changes. at: the
 * places of the items. */
int64_t cvtm_sizer_mend_items(cvtm_sizer *z, const int64_t *item, const cvtm_grid_point *at,
                              int64_t count, cvtm_sizer_mender mend);

/* Finds a position of a vertex inside, close by, where the sum of the values around it is larger;
 * returns 0 if there is none. */
int cvtm_sizer_find_move(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s, cvtm_grid_point *to);
/* Finds a place of a vertex on its edge close by, at the fraction *t, where that sum or, unless
 * for_mean, the smallest angle is larger; returns 0 if there is none. */
int cvtm_sizer_find_slide(const cvtm_sizer *z, int32_t v, cvtm_sized_star *s, int for_mean,
                          double *t, cvtm_grid_point *to);
/* The point of a vertex's edge that is closest to (x, y) relative to the vertex, and its fraction.
 * Returns 0 if the point is an end of the edge. */
int cvtm_sizer_drop(const cvtm_sizer *z, int32_t v, double x, double y, double *t,
                    cvtm_grid_point *to);
