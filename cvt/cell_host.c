#include "cvt/cell_host.h"

#include "cvt/integral.h"
#include "jfa/cell_by_tree.h"

#include <stdlib.h>

void cvtm_cell_release(cvtm_cell *cell) {
  free(cell->x); /* the other arrays follow in the same memory */
  *cell = (cvtm_cell){0};
}

int cvtm_cell_grow(cvtm_cell *cell, int32_t capacity) {
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

int cvtm_cell_copy(const cvtm_cells *cells, int64_t i, const double *site, cvtm_cell *cell) {
  const int64_t first = cells->start[i], count = cells->start[i + 1] - first;
  if (count > INT32_MAX) return 0;
  if (count > cell->capacity && !cvtm_cell_grow(cell, (int32_t)count)) return 0;
  cell->count = (int32_t)count;
  for (int64_t k = 0; k < count; ++k) {
    cell->x[k] = cells->corners[2 * (first + k)] - site[0];
    cell->y[k] = cells->corners[2 * (first + k) + 1] - site[1];
  }
  return 1;
}

int cvtm_cell_cut_out_by_tree(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t slot,
                              cvtm_cell *cell) {
  while (cvtm_cell_by_tree(tree, domain, slot, cell) == CVTM_CELL_OVERFLOW) {
    if (cell->capacity > INT32_MAX / 2 || !cvtm_cell_grow(cell, 2 * cell->capacity)) return 0;
  }
  return 1;
}

int cvtm_cell_cut_out(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t slot,
                      cvtm_cell *cell) {
  cvtm_hull_pole poles[CVTM_HULL_POLES];
  int32_t slots[CVTM_HULL_POLES], order[CVTM_HULL_SIDES], scratch[CVTM_HULL_SCRATCH];
  cvtm_hull hull = cvtm_hull_in(tree, poles, slots, order, scratch);
  const cvtm_lanes one = {.lane = 0, .count = 1};
  double radius2;
  if (cvtm_cell_by_hull(tree, domain, slot, 1, one, &hull, cell, &radius2) == CVTM_CELL_DONE)
    return 1;
  return cvtm_cell_cut_out_by_tree(tree, domain, slot, cell);
}

cvtm_cell_moments cvtm_cell_integrate(const cvtm_density_view *density, cvtm_domain domain,
                                      double sx, double sy, cvtm_cell *cell) {
  cvtm_pixel_sums sums = {0, 0, 0, 0};
  cvtm_cell_walk rows;
  if (cell->count < 3) return cvtm_pixel_moments(&sums);
  cvtm_cell_set_slopes(cell);
  cvtm_cell_begin_walk(domain, sx, sy, cell, &rows);
  cvtm_integral_add_rows(density, cell, &rows, rows.first, rows.last, &sums);
  return cvtm_pixel_moments(&sums);
}
