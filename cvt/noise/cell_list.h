/* Inside noise/: points sorted into square cells, for those near a place. */
#ifndef CVTMESH_CVT_NOISE_CELL_LIST_H
#define CVTMESH_CVT_NOISE_CELL_LIST_H

#include "base/domain.h"
#include "base/status.h"

#include <math.h>
#include <stdint.h>

typedef struct cvtm_cell_list {
  cvtm_domain domain;
  int columns, rows;
  double width, height; /* of a cell */
  int64_t *start;       /* columns * rows + 1 */
  int32_t *order; /* points of cell c: order[start[c]] .. order[start[c + 1] - 1], ascending */
} cvtm_cell_list;

/* Cells of about `side` pixels, at most 4 for a point. Points outside the domain count to the
 * nearest cell. Frees nothing of *list; on failure (CVTM_ERROR_MEMORY) it is empty. */
cvtm_status cvtm_cell_list_create(cvtm_domain domain, const double *points, int64_t count,
                                  double side, cvtm_cell_list *list, cvtm_error *error);
void cvtm_cell_list_free(cvtm_cell_list *list);

static inline int cvtm_cell_on_axis(double x, double side, int cells) {
  const double k = floor(x / side);
  return k < 0 ? 0 : k >= cells ? cells - 1 : (int)k;
}

/* The cells first .. last of an axis that hold all points up to `radius` from x; in a torus they
 * may lie outside 0 .. cells - 1 and are then the ones a turn away. */
static inline void cvtm_cells_near(double x, double radius, double side, int cells, int periodic,
                                   int *first, int *last) {
  const double low = floor((x - radius) / side), high = floor((x + radius) / side);
  if (periodic && high - low + 1 >= cells) {
    *first = 0;
    *last = cells - 1;
  } else {
    *first = periodic ? (int)low : (int)fmax(low, 0);
    *last = periodic ? (int)high : (int)fmin(high, cells - 1);
    if (!periodic && *first > cells - 1) *first = cells - 1;
    if (!periodic && *last < 0) *last = 0;
  }
}

/* The difference of two coordinates; in a torus the one of the nearest images. */
static inline double cvtm_difference(double a, double b, double side, int periodic) {
  double d = a - b;
  if (periodic) {
    if (d > 0.5 * side) d -= side;
    if (d < -0.5 * side) d += side;
  }
  return d;
}

#endif
