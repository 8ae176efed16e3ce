/* Where a TIFF lies in the world, and where it has no data. Include it after tiffio.h. */
#ifndef CVTMESH_DENSITY_PICTURES_IMAGE_TIFF_PLACE_H
#define CVTMESH_DENSITY_PICTURES_IMAGE_TIFF_PLACE_H

#include "density/pictures/image_place.h"

/* The first that is there: GeoTIFF's tags, OME-XML or ImageJ's text, the resolution. Metres and
 * feet are the units of GeoTIFF; others, and degrees, are not named. */
cvtm_image_place cvtm_tiff_place(TIFF *tiff);

/* The number by which samples say that there are no data, which may be NaN: GDAL's tag, a text.
 * Returns 0 if there is none. */
int cvtm_tiff_nodata(TIFF *tiff, double *nodata);

#endif
