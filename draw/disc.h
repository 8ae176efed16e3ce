/* Discs in the plane: the part of a polygon that a disc covers, and the coverage of pixels by many
 * discs. */
#ifndef CVTMESH_DRAW_DISC_H
#define CVTMESH_DRAW_DISC_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* The area of the polygon (count corners x, y, in either orientation) within `radius` of the
 * centre. *arc: the angle of the part of the circle that lies in the polygon, so that the
 * derivative of the area by the radius is radius * arc. */
double cvtm_disc_polygon_area(const double *corners, int64_t count, const double *centre,
                              double radius, double *arc);

/* The radius at which a disc covers `area` of a convex polygon that contains the centre; the
 * distance of the farthest corner if the polygon is not larger than `area`, 0 if it has no corners
 * or `area` is not positive. */
double cvtm_disc_radius_for(const double *corners, int64_t count, const double *centre,
                            double area);

/* The pixels of a grid over the domain: squares of `side` pixels of the domain. The last column and
 * row are cut off by the border of the domain. */
typedef struct cvtm_disc_grid {
  cvtm_domain domain;
  int side, width, height; /* width, height: columns and rows of the grid */
} cvtm_disc_grid;

cvtm_disc_grid cvtm_disc_grid_make(cvtm_domain domain, int side);

/* coverage[j * width + i]: the share of pixel (i, j) of the grid that is covered by at least one of
 * the discs. centres: 2 * count. The union is exact along lines in x, and sampled by many lines in
 * each row; sums do not depend on the number of threads. */
cvtm_status cvtm_disc_coverage(const cvtm_disc_grid *grid, const double *centres,
                               const double *radii, int64_t count, float *coverage,
                               cvtm_error *error);

CVTM_API_END

#endif
