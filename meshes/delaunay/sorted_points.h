/* Distinct grid points along the Morton curve (cvtm_star_code), for the triangulation. */
#ifndef CVTMESH_MESHES_DELAUNAY_SORTED_POINTS_H
#define CVTMESH_MESHES_DELAUNAY_SORTED_POINTS_H

#include "base/status.h"
#include "meshes/delaunay/predicates.h"

typedef struct cvtm_sorted_points {
  int64_t count;
  cvtm_grid_point *place;
  int32_t *vertex; /* of each point; of coincident vertices the first */
} cvtm_sorted_points;

enum { CVTM_SORT_SPACE = 32 /* bytes a point */ };

/* space: count * CVTM_SORT_SPACE bytes, aligned as malloc does. Both arrays are malloc'd, even on
 * failure; cvtm_sorted_points_free frees them. */
cvtm_status cvtm_sort_distinct(const cvtm_grid_point *grid, int64_t count, void *space,
                               cvtm_sorted_points *sorted, cvtm_error *error);
void cvtm_sorted_points_free(cvtm_sorted_points *sorted);

#endif
