/* Planar straight-line graphs: segments that divide the plane into regions, from Triangle's .poly
 * files, or from other polygon files whose shapes share edges. */
#pragma once

#include "meshes/contour.h"
#include "meshes/elements/marks.h"
#include "meshes/formats/formats.h"
#include "meshes/mesh.h"

/* The largest area of triangles in a region, as given in a file. */
typedef struct cvtm_region_area {
  int32_t region;
  double area; /* > 0 */
} cvtm_region_area;

/* An attribute that a file gives to a region. */
typedef struct cvtm_region_attribute {
  int32_t region;
  double value;
} cvtm_region_attribute;

typedef struct cvtm_pslg {
  cvtm_boundary boundary; /* segments, divided where vertices lie on them, with y up; fields that
                             only cvtm_boundary_sample sets are empty */
  int64_t area_count;
  cvtm_region_area *areas;
  int64_t name_count;
  cvtm_region_name *names; /* of regions that have one in the file */
  char **text;             /* name_count: the memory of the names */
  int64_t curve_count;
  double *curve;    /* 2 * curve_count, as in the file: corners between chords of curves */
  cvtm_marks marks; /* all segments of a .poly file with other markers than 0 and 1; lines and
                       points with names; else empty */
  int64_t attribute_count;
  cvtm_region_attribute *attributes; /* of the points of a .poly file that mark regions */
  cvtm_triangle_vertices
      file; /* the vertices of a .poly file, with the markers that they have there
               or get from segments, then crossings of segments; else empty */
  struct cvtm_file_triangles *triangles; /* of these; NULL: they have no attributes */
  int64_t skipped; /* number of segments dropped because their ends are equal */
} cvtm_pslg;

void cvtm_pslg_free(cvtm_pslg *pslg);

/* Converts a graph to y down. y_up: nonzero if y is up in the file; y then becomes height - y. */
void cvtm_pslg_turn(cvtm_pslg *pslg, int y_up, int height);

/* Sets the attributes of a .poly file at `count` places in the coordinates of the boundary. They
 * are linear in the triangles between its vertices and segments. values: file.attribute_count per
 * place. */
void cvtm_pslg_interpolate(const cvtm_pslg *pslg, const double *places, int64_t count,
                           double *values);

/* Converts the boundary to arcs like those of cvtm_contour_of_polygons; y down. */
cvtm_status cvtm_contour_of_pslg(const cvtm_pslg *pslg, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error);

/* Reads a polygon file (meshes/polygon_file.h) whose segments bound several regions. *is_rings is
 * nonzero if the file has only closed rings of one region, which cvtm_polygons_read reads; then the
 * graph is empty except `skipped` and `curve`. CVTM_ERROR_INPUT if shapes cross, nothing is
 * inside, or a point of a region is outside.
 *
 * .poly files, which are never rings: as in Triangle, segments that cross are divided there, and a
 * part of the plane is outside if it is unbounded or has a point in the list of holes. A part with
 * a point in the list of regions has the region number given by the point's attribute, if that is a
 * positive integer, else by its position in the list or, if that number is taken, one that follows.
 * The other parts have the numbers after these. Vertices inside that belong to no segment are part
 * of the boundary, without edges.
 *
 * Other files: if two shapes (GeoJSON: features, or geometries outside features; SVG: elements;
 * CSV: rings) share part of an edge, or shapes have names, each shape is a region, by the even-odd
 * rule; if shapes of an SVG have names, those without cut holes into them. Where shapes overlap,
 * the last one counts; edges of shapes with names may cross. Shapes with the same name are one
 * region. The name of a GeoJSON feature is the first of its properties `name`, `material`, `label`,
 * `region` and `class`, in upper or lower case, else its `id`; the name of an SVG element is
 * inkscape:label or an id that no editor made (as rect12, path7-3), unless it is hole, hole-2 and
 * so on. Characters other than letters, digits, _ and - become _. Lines (GeoJSON: LineString,
 * MultiLineString; SVG: line, polyline, open paths without fill or area) and points (Point,
 * MultiPoint) inside stay as segments with the same region on both sides, and as vertices; lines
 * may cross edges and each other. If lines reach as far as all rings and farther, closed chains of
 * them are rings. */
cvtm_status cvtm_pslg_read(const char *path, cvtm_pslg *pslg, int *is_rings, cvtm_error *error);
/* cvtm_pslg_read from memory; `name` is used in messages. */
cvtm_status cvtm_pslg_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_pslg *pslg, int *is_rings,
                                 cvtm_error *error);
