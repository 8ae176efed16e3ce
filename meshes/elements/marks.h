/* Inside meshes and the program: segments of outlines whose markers or names make groups of edges,
 * and points with names. */
#pragma once

#include "meshes/mesh.h"

typedef struct cvtm_mark {
  double from[2], to[2]; /* equal: a point, which names no edges */
  int32_t marker;        /* 0, 1: none; the same for all with one name */
  char name[32];         /* of the group; "": marker-N */
} cvtm_mark;

typedef struct cvtm_marks {
  int64_t count;
  cvtm_mark *mark;        /* malloc'd */
  const int32_t *of_edge; /* per edge of the regions to be grouped: its mark, whatever lies there;
                             -1: by its place; borrowed; NULL: all by their places */
} cvtm_marks;

/* The index of the segment within `slack` of both points, searched from `first` on; -1: none. */
int64_t cvtm_mark_find(const cvtm_marks *marks, int64_t first, const double *p, const double *q,
                       double slack);

/* cvtm_regions_group, where edges on a segment with a marker N other than 0 and 1 form the group
 * marker-N, or of its name. Both ends of such an edge are within `slack` of the segment. marks may
 * be NULL. */
cvtm_status cvtm_regions_group_marked(const cvtm_mesh *mesh, cvtm_domain image,
                                      const cvtm_region_name *names, int64_t name_count,
                                      const cvtm_marks *marks, double slack, cvtm_regions *regions,
                                      cvtm_error *error);
