#include "density/pictures/image_place.h"

#include "base/numeric_locale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_size(double value) { return isfinite(value) && value > 0; }

static void set_pixel(cvtm_image_place *place, double width, double height, const char *unit) {
  if (!is_size(width) || !is_size(height)) return;
  place->pixel[0] = width;
  place->pixel[1] = height;
  place->unit = unit;
}

void cvtm_place_set_resolution(cvtm_image_place *place, double across, double down,
                               double unit_mm) {
  if (is_size(across) && is_size(down)) set_pixel(place, unit_mm / across, unit_mm / down, "mm");
}

/* The program's name of a unit that a file names; NULL if it is not known. The sign for micro is
 * written in UTF-8 (two characters look alike), in Latin-1, or as ImageJ's escape. */
static const char *find_unit(const char *text, size_t length) {
  static const char *const known[][2] = {
      {"nm", "nm"},         {"um", "um"},       {"\xc2\xb5m", "um"},  {"\xce\xbcm", "um"},
      {"\xb5m", "um"},      {"\\u00B5m", "um"}, {"micron", "um"},     {"microns", "um"},
      {"micrometer", "um"}, {"mm", "mm"},       {"millimeter", "mm"}, {"cm", "cm"},
      {"centimeter", "cm"}, {"m", "m"},         {"meter", "m"},       {"inch", "in"},
      {"inches", "in"},     {"in", "in"},       {"ft", "ft"}};
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
    if (strlen(known[k][0]) == length && strncmp(known[k][0], text, length) == 0)
      return known[k][1];
  return NULL;
}

/* The value of an attribute of XML, without its quotes; NULL if there is none. */
static const char *find_attribute(const char *text, const char *name, size_t *length) {
  const size_t size = strlen(name);
  for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
    const char *value = at + size;
    if (at == text || (at[-1] != ' ' && at[-1] != '\n' && at[-1] != '\t')) continue;
    if (value[0] != '=' || (value[1] != '"' && value[1] != '\'')) continue;
    const char *end = strchr(value + 2, value[1]);
    if (end == NULL) return NULL;
    *length = (size_t)(end - value - 2);
    return value + 2;
  }
  return NULL;
}

static double read_length(const char *text, const char *name) {
  size_t length;
  const char *value = find_attribute(text, name, &length);
  char *end = NULL;
  const double size = value != NULL ? cvtm_strtod(value, &end) : 0;
  return value != NULL && end == value + length ? size : 0;
}

/* The unit of an attribute that may be absent, and then is the micrometre. */
static const char *read_unit(const char *text, const char *name) {
  size_t length;
  const char *value = find_attribute(text, name, &length);
  return value != NULL ? find_unit(value, length) : "um";
}

/* OME-XML (Schindelin et al.; schema 2016-06, element Pixels). */
static int set_by_ome(cvtm_image_place *place, const char *text) {
  const double width = read_length(text, "PhysicalSizeX"),
               height = read_length(text, "PhysicalSizeY");
  const char *unit = read_unit(text, "PhysicalSizeXUnit");
  if (!is_size(width) || !is_size(height) || unit == NULL) return 0;
  if (unit != read_unit(text, "PhysicalSizeYUnit")) return 0;
  set_pixel(place, width, height, unit);
  return 1;
}

static int set_by_imagej(cvtm_image_place *place, const char *text, double across, double down) {
  const char *line = strstr(text, "\nunit=");
  if (line == NULL || !is_size(across) || !is_size(down)) return 0;
  line += strlen("\nunit=");
  const char *unit = find_unit(line, strcspn(line, "\r\n"));
  if (unit == NULL) return 0;
  set_pixel(place, 1 / across, 1 / down, unit);
  return 1;
}

int cvtm_place_set_description(cvtm_image_place *place, const char *text, double across,
                               double down) {
  const int is_imagej = strncmp(text, "ImageJ=", 7) == 0;
  return is_imagej ? set_by_imagej(place, text, across, down)
                   : strstr(text, "<OME") != NULL && set_by_ome(place, text);
}

void cvtm_place_orient(cvtm_image_place *place, int orientation) {
  if (orientation < 2 || orientation > 8) return;
  place->has_origin = 0;
  if (orientation < 5) return;
  const double width = place->pixel[0];
  place->pixel[0] = place->pixel[1];
  place->pixel[1] = width;
}
