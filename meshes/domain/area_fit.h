/* Inside meshes only: points of boundaries are moved until regions have given areas. */
#ifndef CVTMESH_MESHES_DOMAIN_AREA_FIT_H
#define CVTMESH_MESHES_DOMAIN_AREA_FIT_H

#include "base/status.h"

#include <stdint.h>

/* A planar map. Coordinate k of the points may move between low[k] and high[k]. */
typedef struct cvtm_area_map {
  double *points; /* 2 * point_count, y down */
  int64_t point_count;
  const double *low, *high;    /* 2 * point_count */
  const int32_t *edges;        /* 2 * edge_count */
  const int32_t *left, *right; /* regions of each edge, as seen with y up */
  int64_t edge_count;
} cvtm_area_map;

/* Moves the points so that the regions (ascending, > 0) have the areas wanted, as far as the bounds
 * allow. All other regions may have any area. The movement is along the normals, the same along a
 * boundary but for the bounds, and the smallest one: Newton's method for the areas, with steps of
 * least squares weighted by the lengths of the edges. *worst: the largest relative error left. */
cvtm_status cvtm_fit_areas(const cvtm_area_map *map, const int32_t *regions, const double *areas,
                           int64_t region_count, double *worst, cvtm_error *error);

#endif
