/* Planar straight-line graphs: segments that divide the plane into regions, as .poly files of
 * Triangle hold them. */
#ifndef CVTMESH_MESHES_PSLG_H
#define CVTMESH_MESHES_PSLG_H

#include "meshes/contour.h"

/* The largest area of triangles that a file asks for in a region. */
typedef struct cvtm_region_area {
  int32_t region;
  double area; /* > 0 */
} cvtm_region_area;

typedef struct cvtm_pslg {
  cvtm_boundary boundary; /* segments, divided where vertices lie on them; without what only samples
                             of a contour have. y is up. */
  int64_t area_count;
  cvtm_region_area *areas;
} cvtm_pslg;

void cvtm_pslg_free(cvtm_pslg *pslg);

/* Reads a .poly file whose segments bound several regions. *is_rings: nonzero if they are closed
 * rings of one region, which cvtm_polygons_read reads; then there is no graph. As in Triangle, what
 * is reached from outside without crossing a segment is outside, and so is every part of the plane
 * that has a point in the list of holes. A part with a point in the list of regions has the number
 * that is its attribute, if that is an integer from 1 on, else its place in the list; other parts
 * have numbers after these. Vertices without a segment are left out. CVTM_ERROR_INPUT if segments
 * cross, nothing is inside, or a point of a region is outside. */
cvtm_status cvtm_pslg_read(const char *path, cvtm_pslg *pslg, int *is_rings, cvtm_error *error);
/* The same from memory; `name` is used in messages. */
cvtm_status cvtm_pslg_read_bytes(const unsigned char *bytes, size_t size, const char *name,
                                 cvtm_pslg *pslg, int *is_rings, cvtm_error *error);

#endif
