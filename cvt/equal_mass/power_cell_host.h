/* Inside power only: a power cell on the host, in memory that grows with its corners. */
#ifndef CVTMESH_CVT_EQUAL_MASS_POWER_CELL_HOST_H
#define CVTMESH_CVT_EQUAL_MASS_POWER_CELL_HOST_H

#include "cvt/cell_host.h"
#include "cvt/equal_mass/power_cell.h"

static inline void cvtm_power_cell_release(cvtm_power_cell *cell) {
  cvtm_cell_release(&cell->polygon);
  free(cell->other);
  cell->other = NULL;
}

static inline int cvtm_power_cell_grow(cvtm_power_cell *cell, int32_t capacity) {
  int32_t *other = malloc((size_t)capacity * sizeof *other);
  if (!other || !cvtm_cell_grow(&cell->polygon, capacity)) {
    free(other);
    return 0;
  }
  free(cell->other);
  cell->other = other;
  return 1;
}

/* Clips the cell of the site at a place out of *start, a rectangle relative to the site, or out of
 * the domain if that is NULL. Returns 0 if memory ran out. */
static inline int cvtm_power_cut_out(const cvtm_power_view *view, cvtm_domain domain, int64_t place,
                                     const cvtm_cell_box *start, cvtm_power_cell *cell) {
  cvtm_cell_box box;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, place, &box);
  if (start) box = *start;
  while (cvtm_power_cut_from(view, domain, &box, &o, cell) == CVTM_CELL_OVERFLOW) {
    const int32_t capacity = cell->polygon.capacity;
    if (capacity > INT32_MAX / 2 || !cvtm_power_cell_grow(cell, 2 * capacity)) return 0;
  }
  return 1;
}

#endif
