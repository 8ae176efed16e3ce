/* What a segmentation starts from: the picture as a plane of shades, seeds that belong to the
 * object or do not, and the first curve. All in host memory, width * height each. */
#ifndef CVTMESH_DENSITY_SEEDS_H
#define CVTMESH_DENSITY_SEEDS_H

#include "base/status.h"
#include "density/density.h"

#include <stdint.h>

CVTM_API_BEGIN

/* Shades in [0, 1]: of pictures the sRGB value of their luminance, of data its values scaled
 * to its range. malloc'd. CVTM_ERROR_INPUT for a value that is not finite. */
cvtm_status cvtm_shades_of_image(const cvtm_image *image, double **shades, cvtm_error *error);
/* Gaussian smoothing in place, mirrored at the border; sigma in pixels, 0: none. */
cvtm_status cvtm_shades_blur(int width, int height, double sigma, double *shades,
                             cvtm_error *error);

typedef enum cvtm_seed { CVTM_SEED_NONE, CVTM_SEED_INSIDE, CVTM_SEED_OUTSIDE } cvtm_seed;

typedef struct cvtm_seeds {
  int width, height;
  uint8_t *mark; /* cvtm_seed per pixel */
} cvtm_seeds;

cvtm_status cvtm_seeds_create(int width, int height, cvtm_seeds *seeds, cvtm_error *error);
void cvtm_seeds_free(cvtm_seeds *seeds);
/* Marks a disc, at least the pixel of its centre. CVTM_ERROR_INPUT for a centre outside the image
 * and for pixels that are marked as the opposite. */
cvtm_status cvtm_seeds_add_disc(cvtm_seeds *seeds, double x, double y, double radius,
                                cvtm_seed seed, cvtm_error *error);
/* Marks from an image of the same size. Pictures: opaque pixels brighter than 3/4 are inside,
 * darker than 1/4 outside (of sRGB values). Data: positive inside, negative outside. */
cvtm_status cvtm_seeds_add_image(cvtm_seeds *seeds, const char *path, cvtm_error *error);
int64_t cvtm_seeds_count(const cvtm_seeds *seeds, cvtm_seed seed);

/* Upper bounds of -value where a seed is inside, lower bounds of value where it is outside,
 * infinite elsewhere. */
void cvtm_seeds_bounds(const cvtm_seeds *seeds, double value, double *lower, double *upper);

/* The pixels that a front reaches from the inside seeds before one reaches them from the outside
 * seeds (from the border of the image if there are none), both slowed by 1 + K |grad I|^2 on
 * the unit square. */
cvtm_status cvtm_seeds_grow(const cvtm_seeds *seeds, const double *shades, double k,
                            uint8_t *inside, cvtm_error *error);
/* Sets u to the signed distance to the boundary of a region on the unit square, negative inside.
 * CVTM_ERROR_INPUT if the region is empty or everything. */
cvtm_status cvtm_level_set_of_region(int width, int height, const uint8_t *inside, double *u,
                                     cvtm_error *error);
/* The same for a disc, exact at the pixel centres. */
cvtm_status cvtm_level_set_of_disc(int width, int height, double x, double y, double radius,
                                   double *u, cvtm_error *error);
/* The pixels with u < 0 that are connected, by sides, with a seed inside. */
cvtm_status cvtm_seeds_select(const cvtm_seeds *seeds, const double *u, uint8_t *inside,
                              cvtm_error *error);

CVTM_API_END
#endif
