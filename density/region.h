/* Regions of a picture: from images, from polygons, or from a picture's own alpha channel. */
#ifndef CVTMESH_DENSITY_REGION_H
#define CVTMESH_DENSITY_REGION_H

#include "base/status.h"
#include "density/density.h"
#include "meshes/polygon_file.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* inside: width * height, malloc'd; 1 where the pixel belongs to the region. Polygons (svg,
 * geojson, csv): pixels whose centre is inside; they may leave the picture. Images, of the
 * picture's size: of one with an alpha channel the pixels that are more than half opaque, of others
 * those brighter than half (of sRGB values), of data those that are positive. */
cvtm_status cvtm_region_read(const char *path, int width, int height, uint8_t **inside,
                             cvtm_error *error);
/* The opaque pixels of a picture; CVTM_ERROR_INPUT if it has no alpha channel. */
cvtm_status cvtm_region_of_alpha(const cvtm_image *image, const char *name, uint8_t **inside,
                                 cvtm_error *error);
/* The pixels whose centre is inside by the even-odd rule. */
cvtm_status cvtm_region_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                    uint8_t *inside, cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif
