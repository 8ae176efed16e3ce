/* Points in the order of x, then of y, then of their numbers: those in one place come together. */
#ifndef CVTMESH_BASE_POINT_ORDER_H
#define CVTMESH_BASE_POINT_ORDER_H

#include <stdint.h>

typedef struct cvtm_placed {
  double x, y;
  int64_t index;
} cvtm_placed;

/* For qsort. */
static inline int cvtm_compare_placed(const void *left, const void *right) {
  const cvtm_placed *a = (const cvtm_placed *)left, *b = (const cvtm_placed *)right;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  if (a->y != b->y) return a->y < b->y ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

#endif
