/* Sizes with a bounded gradation, and distances around obstacles, by fast sweeping (Zhao 2005,
 * with Godunov's upwind differences). On the CPU alone: the sweeps are fast because every pixel
 * uses those just before it, and a picture needs them once. */
#ifndef CVTMESH_DENSITY_EIKONAL_H
#define CVTMESH_DENSITY_EIKONAL_H

#include "base/api.h"

#include <stdint.h>

CVTM_API_BEGIN

/* The largest field with |grad v| <= slowness that is nowhere above `value`, in place: away
 * from obstacles min over y of value(y) + slowness |x - y|, up to the first-order error of the
 * differences. value: width * height, infinite where nothing is known; slowness: per pixel, or NULL
 * for `constant`; mask: 0 where no path goes (values there stay), NULL: everywhere. */
void cvtm_eikonal(int width, int height, const uint8_t *mask, const double *slowness,
                  double constant, double *value);

/* Distance of every pixel to the boundary between inside (nonzero) and outside, in pixels, half
 * a pixel beside it, negative inside. Infinite where there is no boundary. */
void cvtm_signed_distance(int width, int height, const uint8_t *inside, double *distance);

CVTM_API_END
#endif
