/* Inside meshes only: shapes that overlap. */
#pragma once

#include "meshes/polygon_file.h"

/* Makes corners where edges of different shapes cross. shape: the shape of each ring. *found: the
 * number of crossings. */
cvtm_status cvtm_shapes_cross(cvtm_polygons *rings, const int32_t *shape, int64_t *found,
                              cvtm_error *error);
