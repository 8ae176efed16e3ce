/* Polygons with holes, and the files that hold them. */
#ifndef CVTMESH_MESHES_POLYGON_FILE_H
#define CVTMESH_MESHES_POLYGON_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

/* Closed rings that bound an area: ring k has the points start[k] .. start[k + 1] - 1, three
 * or more, the first not repeated at its end; no two neighbours are equal. Rings may touch
 * in points but neither cross nor run along each other, so that even-odd and winding number
 * agree: outer rings run counterclockwise as seen with y up, holes clockwise, islands in
 * holes counterclockwise again. Arrays are malloc'd and owned. */
typedef struct cvtm_polygons {
  int64_t ring_count;
  int64_t *start; /* ring_count + 1 */
  double *points; /* 2 * start[ring_count]: x, y in pixels, y down */
  int y_up;       /* nonzero: as read, y is up, and cvtm_polygons_turn is still to be called */
} cvtm_polygons;

/* Polygons with y up become such with y down in an image of that height; others stay. */
void cvtm_polygons_turn(cvtm_polygons *polygons, int height);

/* A file with more corners is refused; chords of curves count. */
enum { CVTM_POLYGON_CORNERS_MAX = 10000000 };

void cvtm_polygons_free(cvtm_polygons *polygons);

/* svg, geojson (or json) and csv, in pixels with y down as everywhere in the library; poly, with y
 * up as in mesh files (y_up is set).
 * SVG: the `d` of every path and the `points` of every polygon, circles, ellipses and rectangles,
 * moved by the `transform` attributes of the element and of those around it. Curves become chords
 * within 0.02 px, those shorter than 3 px within 1/140 of their extent. A style, a viewBox and
 * `use` change nothing, and what stands in defs, clipPath, mask, symbol, pattern or marker is
 * skipped. An entity that is long or names another is refused. GeoJSON: Polygon and MultiPolygon,
 * alone, in features or in collections. CSV: lines `x, y`, an empty line between rings, `#` starts
 * a comment. POLY (of Triangle): segments that make closed rings; its vertices may stand in the
 * .node file beside it (in memory: before it). What is inside follows the even-odd rule; the rings'
 * own directions do not matter. Repeated points and rings without area are dropped; a ring that
 * meets itself in a corner becomes two. CVTM_ERROR_INPUT with the line, or the two edges that
 * cross. */
int cvtm_polygon_format_known(const char *path);
cvtm_status cvtm_polygons_read(const char *path, cvtm_polygons *polygons, cvtm_error *error);
/* The same from memory; `name` is used in messages. */
cvtm_status cvtm_polygons_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                     const char *name, cvtm_polygons *polygons, cvtm_error *error);

/* Signed area of one ring: positive if it runs counterclockwise as seen with y up. */
double cvtm_ring_area(const double *points, int64_t count);

CVTM_API_END
#endif
