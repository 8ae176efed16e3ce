/* Inside meshes only: shapes that overlap. */
#ifndef CVTMESH_MESHES_DOMAIN_SHAPE_CROSSINGS_H
#define CVTMESH_MESHES_DOMAIN_SHAPE_CROSSINGS_H

#include "meshes/polygon_file.h"

/* Makes corners where edges of different shapes cross. shape: the shape of each ring. *found: the
 * number of crossings. */
cvtm_status cvtm_shapes_cross(cvtm_polygons *rings, const int32_t *shape, int64_t *found,
                              cvtm_error *error);

#endif
