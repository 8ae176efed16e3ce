/* Regions of a picture: from images, from polygons, or from the alpha channel of the picture. */
#pragma once

#include "base/status.h"
#include "density/density.h"
#include "meshes/polygon_file.h"

#include <stdint.h>

CVTM_API_BEGIN

typedef struct cvtm_region {
  int width, height;
  uint8_t *inside;  /* width * height; 1 for pixels of the region */
  uint8_t *divided; /* width * height; 1 for pixels that an edge of a polygon crosses; NULL without
                       polygons */
  cvtm_polygons polygons; /* empty for images */
} cvtm_region;

void cvtm_region_free(cvtm_region *region);

/* Reads polygons (svg, geojson, csv), which may extend beyond the picture, or an image of the
 * picture's size. An image with an alpha channel gives the region of pixels with alpha above 1/2;
 * another picture gives the pixels with an sRGB value above 1/2; data gives the positive pixels.
 * Pixels without data are outside. */
cvtm_status cvtm_region_read(const char *path, int width, int height, cvtm_region *region,
                             cvtm_error *error);
/* cvtm_region_read for a file or an array, which is data. */
cvtm_status cvtm_region_open(const cvtm_input *source, int width, int height, cvtm_region *region,
                             cvtm_error *error);
/* Makes the region of the opaque pixels of a picture; CVTM_ERROR_INPUT without an alpha channel. */
cvtm_status cvtm_region_of_alpha(const cvtm_image *image, const char *name, cvtm_region *region,
                                 cvtm_error *error);
/* Nonzero if the region contains the point: by the even-odd rule for polygons, by its pixel for an
 * image. */
int cvtm_region_contains(const cvtm_region *region, double x, double y);
/* Sets `inside` for pixels whose centre is inside by the even-odd rule, and for the pixels that a
 * polygon crosses where it is so thin that it passes between the centres of a row or column. */
cvtm_status cvtm_region_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                    uint8_t *inside, cvtm_error *error);

CVTM_API_END
