/* Planar straight-line graphs: segments that divide the plane into regions, as .poly files of
 * Triangle hold them, and as the shapes of other polygon files with common edges do. */
#ifndef CVTMESH_MESHES_DOMAIN_PSLG_H
#define CVTMESH_MESHES_DOMAIN_PSLG_H

#include "meshes/contour.h"
#include "meshes/mesh.h"

/* The largest area of triangles that a file asks for in a region. */
typedef struct cvtm_region_area {
  int32_t region;
  double area; /* > 0 */
} cvtm_region_area;

typedef struct cvtm_pslg {
  cvtm_boundary boundary; /* segments, divided where vertices lie on them; without what only samples
                             of a contour have. y is taken to be up. */
  int64_t area_count;
  cvtm_region_area *areas;
  int64_t name_count;
  cvtm_region_name *names; /* of regions that have one in the file */
  char **text;             /* name_count: what the names point to */
  int64_t skipped;         /* segments of the file with equal ends, which are left out */
} cvtm_pslg;

void cvtm_pslg_free(cvtm_pslg *pslg);

/* What has been read becomes y down, as everywhere in the library. y_up: the file's y is up; then
 * it is counted from `height` downwards. */
void cvtm_pslg_turn(cvtm_pslg *pslg, int y_up, int height);

/* The boundary as arcs, as cvtm_contour_of_polygons makes them of rings; y down. */
cvtm_status cvtm_contour_of_pslg(const cvtm_pslg *pslg, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error);

/* Reads a polygon file (meshes/polygon_file.h) whose segments bound several regions. *is_rings:
 * nonzero if they are closed rings of one region, which cvtm_polygons_read reads; then there is no
 * graph, but `skipped` is set.
 * .poly: as in Triangle, what is reached from outside without crossing a segment is outside, and so
 * is every part of the plane that has a point in the list of holes. A part with a point in the list
 * of regions has the number that is its attribute, if that is an integer from 1 on, else its place
 * in the list; other parts have numbers after these. Vertices without a segment are left out.
 * Others: if edges of two shapes (GeoJSON: features, or geometries outside of features; SVG:
 * elements; CSV: rings) run along each other, or features have names, each shape is a region, by
 * the even-odd rule; where shapes overlap, the last one counts. Shapes of one name are one region.
 * Names: of the first property that a feature has of `name`, `material`, `label`, `region` and
 * `class` in any case, else its `id`; of SVG the attribute inkscape:label or id. Letters, digits, _
 * and - stay; all else becomes _.
 * CVTM_ERROR_INPUT if segments cross, nothing is inside, or a point of a region is outside. */
cvtm_status cvtm_pslg_read(const char *path, cvtm_pslg *pslg, int *is_rings, cvtm_error *error);
/* The same from memory; `name` is used in messages. */
cvtm_status cvtm_pslg_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_pslg *pslg, int *is_rings,
                                 cvtm_error *error);

#endif
