/* Inside the library: vectors and points of the unit sphere. Compiles as C11 and inside CUDA
 * kernels. */
#pragma once

#include "base/portable.h"

#include <math.h>
#include <stdint.h>

typedef struct cvtm_vector {
  double x, y, z;
} cvtm_vector;

CVTM_HD cvtm_vector cvtm_vector_of(double x, double y, double z) {
  const cvtm_vector v = {x, y, z};
  return v;
}

CVTM_HD cvtm_vector cvtm_vector_load(const double *points, int64_t i) {
  return cvtm_vector_of(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
}

CVTM_HD void cvtm_vector_store(double *points, int64_t i, cvtm_vector v) {
  points[3 * i] = v.x;
  points[3 * i + 1] = v.y;
  points[3 * i + 2] = v.z;
}

CVTM_HD double cvtm_vector_dot(cvtm_vector a, cvtm_vector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

CVTM_HD cvtm_vector cvtm_vector_cross(cvtm_vector a, cvtm_vector b) {
  return cvtm_vector_of(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* a + f b. */
CVTM_HD cvtm_vector cvtm_vector_add(cvtm_vector a, double f, cvtm_vector b) {
  return cvtm_vector_of(a.x + f * b.x, a.y + f * b.y, a.z + f * b.z);
}

CVTM_HD double cvtm_vector_length(cvtm_vector a) { return sqrt(cvtm_vector_dot(a, a)); }

/* a / |a|; a must not be 0. */
CVTM_HD cvtm_vector cvtm_vector_unit(cvtm_vector a) {
  const double f = 1 / cvtm_vector_length(a);
  return cvtm_vector_of(f * a.x, f * a.y, f * a.z);
}

/* The square of the chord. */
CVTM_HD double cvtm_chord2(cvtm_vector a, cvtm_vector b) {
  const cvtm_vector d = cvtm_vector_add(a, -1, b);
  return cvtm_vector_dot(d, d);
}

/* The length of the arc between two points of the unit sphere, accurate for every length. */
CVTM_HD double cvtm_arc(cvtm_vector a, cvtm_vector b) {
  return 2 * atan2(cvtm_vector_length(cvtm_vector_add(a, -1, b)),
                   cvtm_vector_length(cvtm_vector_add(a, 1, b)));
}

/* The signed area of a spherical triangle, positive if the corners are counterclockwise from
 * outside (Van Oosterom & Strackee 1983). The triple product of differences has little
 * cancellation. */
CVTM_HD double cvtm_triangle_area(cvtm_vector a, cvtm_vector b, cvtm_vector c) {
  const cvtm_vector ab = cvtm_vector_add(b, -1, a), ac = cvtm_vector_add(c, -1, a);
  const double triple = cvtm_vector_dot(a, cvtm_vector_cross(ab, ac));
  return 2 *
         atan2(triple, 1 + cvtm_vector_dot(a, b) + cvtm_vector_dot(b, c) + cvtm_vector_dot(c, a));
}

/* The centre, on the sphere, of the circle through three points, counterclockwise from outside. */
CVTM_HD cvtm_vector cvtm_circumcentre(cvtm_vector a, cvtm_vector b, cvtm_vector c) {
  return cvtm_vector_unit(cvtm_vector_cross(cvtm_vector_add(b, -1, a), cvtm_vector_add(c, -1, a)));
}

/* Two unit vectors with e1 x e2 = s, for s on the unit sphere (Duff et al. 2017). */
CVTM_HD void cvtm_tangents(cvtm_vector s, cvtm_vector *e1, cvtm_vector *e2) {
  const double sign = s.z < 0 ? -1.0 : 1.0, a = -1 / (sign + s.z), b = s.x * s.y * a;
  *e1 = cvtm_vector_of(1 + sign * s.x * s.x * a, sign * b, -sign * s.x);
  *e2 = cvtm_vector_of(b, sign + s.y * s.y * a, -s.y);
}
