/* Regions of a picture: from images, from polygons, or from the alpha channel of the picture. */
#ifndef CVTMESH_DENSITY_REGION_H
#define CVTMESH_DENSITY_REGION_H

#include "base/status.h"
#include "density/density.h"
#include "meshes/polygon_file.h"

#include <stdint.h>

CVTM_API_BEGIN

typedef struct cvtm_region {
  int width, height;
  uint8_t *inside;        /* width * height; 1 where the pixel belongs to the region */
  uint8_t *divided;       /* likewise: an edge of a polygon passes through; NULL without polygons */
  cvtm_polygons polygons; /* empty for images */
} cvtm_region;

void cvtm_region_free(cvtm_region *region);

/* Reads polygons (svg, geojson, csv), which may extend beyond the picture, or an image of the
 * picture's size. An image with an alpha channel marks its pixels that are more than half opaque,
 * another one those brighter than half (of sRGB values), data those that are positive. Pixels
 * without data are outside. */
cvtm_status cvtm_region_read(const char *path, int width, int height, cvtm_region *region,
                             cvtm_error *error);
/* The opaque pixels of a picture; CVTM_ERROR_INPUT if it has no alpha channel. */
cvtm_status cvtm_region_of_alpha(const cvtm_image *image, const char *name, cvtm_region *region,
                                 cvtm_error *error);
/* True if a place in the picture belongs to the region: within the polygons by the even-odd rule,
 * or in a pixel that the image marks. */
int cvtm_region_contains(const cvtm_region *region, double x, double y);
/* Sets `inside` for the pixels whose centre is inside by the even-odd rule, and where a polygon is
 * so thin that it passes between the centres of a row or a column, for the pixels that it passes.
 */
cvtm_status cvtm_region_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                    uint8_t *inside, cvtm_error *error);

CVTM_API_END
#endif
