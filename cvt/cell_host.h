/* Inside cvt and power: a cell on the host, in memory that grows with its corners. */
#ifndef CVTMESH_CVT_CELL_HOST_H
#define CVTMESH_CVT_CELL_HOST_H

#include "jfa/cell_by_hull.h"
#include "jfa/cell_by_tree.h"

#include <stdlib.h>

enum { CVTM_CELL_CORNERS = 64 }; /* at first: enough for most cells */

static inline void cvtm_cell_release(cvtm_cell *cell) {
  free(cell->x); /* the other arrays follow in the same memory */
  *cell = (cvtm_cell){0};
}

static inline int cvtm_cell_grow(cvtm_cell *cell, int32_t capacity) {
  cvtm_cell grown = {.capacity = capacity, .stride = 1};
  grown.x = malloc((size_t)capacity * (4 * sizeof *grown.x + sizeof *grown.neighbor));
  if (!grown.x) return 0;
  grown.y = grown.x + capacity;
  grown.slope = grown.y + capacity;
  grown.inverse = grown.slope + capacity;
  grown.neighbor = (int32_t *)(void *)(grown.inverse + capacity);
  cvtm_cell_release(cell);
  *cell = grown;
  return 1;
}

/* The cell of the site at a place, by tree clipping. Returns 0 if memory ran out. */
static inline int cvtm_cell_cut_out_by_tree(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                            int64_t place, cvtm_cell *cell) {
  while (cvtm_cell_by_tree(tree, domain, place, cell) == CVTM_CELL_OVERFLOW) {
    if (cell->capacity > INT32_MAX / 2 || !cvtm_cell_grow(cell, 2 * cell->capacity)) return 0;
  }
  return 1;
}

/* A hull in the caller's memory: CVTM_HULL_POLES, CVTM_HULL_SIDES, CVTM_HULL_SCRATCH. */
CVTM_INLINE cvtm_hull cvtm_hull_in(const cvtm_site_tree_view *tree, cvtm_hull_pole *poles,
                                   int32_t *places, int32_t *order, int32_t *scratch) {
  const cvtm_hull hull = {.stride = 1,
                          .capacity = CVTM_HULL_POLES,
                          .reach = CVTM_HULL_REACH,
                          .pole = poles,
                          .place = places,
                          .order = order,
                          .scratch = scratch,
                          .partial = tree->cover != NULL};
  return hull;
}

/* The same by hull construction, or by tree clipping where that fails. */
CVTM_INLINE int cvtm_cell_cut_out(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                  int64_t place, cvtm_cell *cell) {
  cvtm_hull_pole poles[CVTM_HULL_POLES];
  int32_t places[CVTM_HULL_POLES], order[CVTM_HULL_SIDES], scratch[CVTM_HULL_SCRATCH];
  cvtm_hull hull = cvtm_hull_in(tree, poles, places, order, scratch);
  const cvtm_lanes one = {.lane = 0, .count = 1};
  double radius2;
  if (cvtm_cell_by_hull(tree, domain, place, 1, one, &hull, cell, &radius2) == CVTM_CELL_DONE)
    return 1;
  return cvtm_cell_cut_out_by_tree(tree, domain, place, cell);
}

#endif
