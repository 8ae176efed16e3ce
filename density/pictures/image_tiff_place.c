#include "base/status.h"

#if CVTMESH_HAVE_TIFF
#include <tiffio.h>
#include <tiffvers.h>
#endif

#if CVTMESH_HAVE_TIFF && TIFFLIB_VERSION >= 20221213

#include "density/pictures/image_tiff_place.h"

#include "base/numeric_locale.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* GeoTIFF 1.1 (OGC 19-008r4). */
enum {
  TAG_PIXEL_SCALE = 33550,
  TAG_TIEPOINT = 33922,
  TAG_KEYS = 34735,
  TAG_NODATA = 42113,
  KEY_MODEL = 1024,
  KEY_RASTER = 1025,
  KEY_LINEAR_UNITS = 3076,
  MODEL_PROJECTED = 1,
  RASTER_IS_POINT = 2,
  UNITS_METRE = 9001,
  UNITS_FOOT = 9002
};

/* The values of a tag that libtiff does not know, if they are of this type; else NULL. */
static const void *read_values(TIFF *tiff, uint32_t tag, TIFFDataType type, uint32_t *count) {
  const TIFFField *field = TIFFFindField(tiff, tag, TIFF_ANY);
  const void *values = NULL;
  if (field == NULL || TIFFFieldDataType(field) != type || !TIFFFieldPassCount(field) ||
      TIFFFieldReadCount(field) != TIFF_VARIABLE2)
    return NULL;
  return TIFFGetField(tiff, tag, count, &values) ? values : NULL;
}

/* The value of a short key of GeoTIFF; 0 if it is absent. */
static int read_key(TIFF *tiff, int wanted) {
  uint32_t count = 0;
  const uint16_t *keys = read_values(tiff, TAG_KEYS, TIFF_SHORT, &count);
  for (uint32_t k = 4; keys != NULL && k + 4 <= count; k += 4)
    if (keys[k] == wanted && keys[k + 1] == 0) return keys[k + 3];
  return 0;
}

static const char *read_geo_unit(TIFF *tiff) {
  const int unit = read_key(tiff, KEY_LINEAR_UNITS);
  if (unit == UNITS_FOOT) return "ft";
  if (unit == UNITS_METRE) return "m";
  return unit == 0 && read_key(tiff, KEY_MODEL) == MODEL_PROJECTED ? "m" : NULL;
}

static int set_by_geotiff(TIFF *tiff, cvtm_image_place *place) {
  uint32_t scales = 0, points = 0;
  const double *scale = read_values(tiff, TAG_PIXEL_SCALE, TIFF_DOUBLE, &scales);
  const double *tie = read_values(tiff, TAG_TIEPOINT, TIFF_DOUBLE, &points);
  if (scale == NULL || scales < 2 || !(scale[0] > 0) || !(scale[1] > 0) || !isfinite(scale[0]) ||
      !isfinite(scale[1]))
    return 0;
  place->pixel[0] = scale[0];
  place->pixel[1] = scale[1];
  place->unit = read_geo_unit(tiff);
  if (tie == NULL || points < 6) return 1;
  const double middle = read_key(tiff, KEY_RASTER) == RASTER_IS_POINT ? 0.5 : 0;
  place->left = tie[3] - (tie[0] + middle) * scale[0];
  place->top = tie[4] + (tie[1] + middle) * scale[1];
  place->has_origin = isfinite(place->left) && isfinite(place->top);
  return 1;
}

cvtm_image_place cvtm_tiff_place(TIFF *tiff) {
  const double inch = 25.4, centimetre = 10;
  cvtm_image_place place = {0};
  float across = 0, down = 0;
  uint16_t unit = RESUNIT_INCH;
  const char *text = NULL;
  if (set_by_geotiff(tiff, &place)) return place;
  TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &across);
  TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &down);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
  if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) && text != NULL &&
      cvtm_place_set_description(&place, text, (double)across, (double)down))
    return place;
  if (unit == RESUNIT_INCH || unit == RESUNIT_CENTIMETER)
    cvtm_place_set_resolution(&place, (double)across, (double)down,
                              unit == RESUNIT_INCH ? inch : centimetre);
  return place;
}

int cvtm_tiff_nodata(TIFF *tiff, double *nodata) {
  uint32_t count = 0;
  const char *value = read_values(tiff, TAG_NODATA, TIFF_ASCII, &count);
  char text[64] = "", *end;
  if (value == NULL || count >= sizeof text) return 0;
  memcpy(text, value, count);
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  *nodata = strtod(text, &end);
  cvtm_numeric_locale_leave(locale);
  return end != text;
}

#endif
