/* Inside cvt only, on the CPU: a cell in memory that grows with the number of its corners, and the
 * construction and the moments of such a cell. evaluate_cpu.c compiles the hull construction into
 * its own loop; all other callers share the copy in cell_host.c. */
#pragma once

#include "cvt/density_row.h"
#include "jfa/cell_by_hull.h"
#include "meshes/mesh.h"

enum { CVTM_CELL_CORNERS = 64 }; /* first capacity, enough for most cells */

/* Makes room for `capacity` corners; the old corners are lost. Returns 0, and changes nothing, if
 * memory runs out. */
int cvtm_cell_grow(cvtm_cell *cell, int32_t capacity);
void cvtm_cell_release(cvtm_cell *cell);

/* Copies cell i of a diagram, relative to its site. Returns 0 if memory runs out. */
int cvtm_cell_copy(const cvtm_cells *cells, int64_t i, const double *site, cvtm_cell *cell);

/* Makes the cell of the site at a slot, by hull construction or, if that fails, by tree clipping.
 * Returns 0 if memory runs out. */
int cvtm_cell_cut_out(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t slot,
                      cvtm_cell *cell);
/* cvtm_cell_cut_out by tree clipping alone. */
int cvtm_cell_cut_out_by_tree(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t slot,
                              cvtm_cell *cell);

/* A hull in the memory of the caller. poles, slots: CVTM_HULL_POLES; order: CVTM_HULL_SIDES;
 * scratch: CVTM_HULL_SCRATCH. */
CVTM_INLINE cvtm_hull cvtm_hull_in(const cvtm_site_tree_view *tree, cvtm_hull_pole *poles,
                                   int32_t *slots, int32_t *order, int32_t *scratch) {
  const cvtm_hull hull = {.stride = 1,
                          .capacity = CVTM_HULL_POLES,
                          .reach = CVTM_HULL_REACH,
                          .pole = poles,
                          .slot = slots,
                          .order = order,
                          .scratch = scratch,
                          .partial = tree->cover != NULL};
  return hull;
}

/* Returns the moments (integral.h) of a cell with any number of corners, whose site is at (sx, sy).
 * Sets the slopes of its edges. */
cvtm_cell_moments cvtm_cell_integrate(const cvtm_density_view *density, cvtm_domain domain,
                                      double sx, double sy, cvtm_cell *cell);

/* Adds the moments of polygonal cells to `sums` (count). Arguments as in cvtm_cells_mass. */
cvtm_status cvtm_cells_add_moments(const cvtm_cells *cells, const double *points,
                                   cvtm_domain domain, const float *density,
                                   cvtm_cell_moments *sums, cvtm_error *error);
