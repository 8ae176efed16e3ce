/* Discs in the plane: the area of a polygon that a disc covers, and the coverage of pixels by many
 * discs or strokes. */
#pragma once

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* The area of the part of the polygon (count corners x, y, in either orientation) within `radius`
 * of the centre. *arc: the angle of the part of the circle inside the polygon; the derivative of
 * the area with respect to the radius is radius * arc. */
double cvtm_disc_polygon_area(const double *corners, int64_t count, const double *centre,
                              double radius, double *arc);

/* The radius of the disc about the centre that covers `area` of a convex polygon containing the
 * centre. Returns the distance to the farthest corner if the polygon is not larger than `area`, and
 * 0 if the polygon has no corners or `area` is not positive. */
double cvtm_disc_radius_for(const double *corners, int64_t count, const double *centre,
                            double area);

/* A grid over the domain whose pixels are squares of `side` pixels of the domain. The border of the
 * domain cuts the last column and row. */
typedef struct cvtm_disc_grid {
  cvtm_domain domain;
  int side, width, height; /* width, height: columns and rows of the grid */
} cvtm_disc_grid;

cvtm_disc_grid cvtm_disc_grid_make(cvtm_domain domain, int side);

/* coverage[j * width + i]: the fraction of pixel (i, j) of the grid that at least one of the discs
 * covers. centres: 2 * count. The union of the discs is computed exactly on several lines parallel
 * to x in each row. The result does not depend on the number of threads. */
cvtm_status cvtm_disc_coverage(const cvtm_disc_grid *grid, const double *centres,
                               const double *radii, int64_t count, float *coverage,
                               cvtm_error *error);

/* cvtm_disc_coverage for strokes with round ends: the points within radii[i] of the segment from
 * from[i] to to[i] (both 2 * count). */
cvtm_status cvtm_stroke_coverage(const cvtm_disc_grid *grid, const double *from, const double *to,
                                 const double *radii, int64_t count, float *coverage,
                                 cvtm_error *error);

CVTM_API_END
