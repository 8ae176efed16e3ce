/* Polygons with holes, and their files. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

/* Closed rings that bound an area: ring k has the points start[k] .. start[k + 1] - 1, three or
 * more, the first not repeated at its end; no two neighbours are equal. Rings may touch at points
 * but neither cross nor share part of an edge. Outer rings run counterclockwise as seen with y up,
 * holes clockwise, and islands in holes counterclockwise again, so the even-odd rule and the
 * winding number agree. Arrays are malloc'd and owned. */
typedef struct cvtm_polygons {
  int64_t ring_count;
  int64_t *start; /* ring_count + 1 */
  double *points; /* 2 * start[ring_count]: x, y in pixels, y down */
  int y_up; /* nonzero: y is up as in the file, so the caller has to call cvtm_polygons_turn */
} cvtm_polygons;

/* Converts polygons with y up to y down in an image of this height; changes no others. */
void cvtm_polygons_turn(cvtm_polygons *polygons, int height);

/* A file with more corners, including the ends of chords of curves, is refused. */
enum { CVTM_POLYGON_CORNERS_MAX = 10000000 };

void cvtm_polygons_free(cvtm_polygons *polygons);

/* Reads svg, geojson (or json) and csv files, in pixels, y down, and poly files, with y up as in
 * mesh files (y_up is set). SVG: paths, polygons, circles, ellipses and rectangles, with the
 * `transform` attributes of the element and its ancestors applied. Curves become chords within 0.02
 * px of the curve, or within 1/140 of the extent of a curve smaller than 3 px. Styles, viewBox and
 * `use` are ignored, and the contents of defs, clipPath, mask, symbol, pattern and marker are
 * skipped. Entities that are long or refer to others are refused. GeoJSON: Polygon and
 * MultiPolygon, alone, in features or in collections; lines and points are no rings. CSV: lines `x,
 * y`; an empty line separates rings; `#` starts a comment. POLY (Triangle's): segments that form
 * closed rings; the vertices may be in the .node file of the same name (in memory: before it). The
 * even-odd rule decides what is inside; the direction of rings in the file does not matter.
 * Repeated points and rings without area are dropped; a ring that touches itself at a corner
 * becomes two rings. CVTM_ERROR_INPUT with the line, or with the two edges that cross. */
int cvtm_polygon_format_known(const char *path);
cvtm_status cvtm_polygons_read(const char *path, cvtm_polygons *polygons, cvtm_error *error);
/* cvtm_polygons_read from memory; `name` is used in messages. */
cvtm_status cvtm_polygons_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                     const char *name, cvtm_polygons *polygons, cvtm_error *error);

/* Finds the length of a user unit of an SVG in millimetres, by width, height and viewBox of its
 * outermost element; 0 if these have no unit of length. */
cvtm_status cvtm_svg_unit(const char *path, double *mm, cvtm_error *error);

/* Signed area of one ring: positive if it runs counterclockwise as seen with y up. */
double cvtm_ring_area(const double *points, int64_t count);

CVTM_API_END
