/* Inside cvt only, on the CPU: a power cell whose memory grows, and all power cells of a tree. */
#pragma once

#include "base/device.h"
#include "cvt/equal_mass/power_cell.h"
#include "meshes/mesh.h"

/* As cvtm_cell_grow and cvtm_cell_release. */
int cvtm_power_cell_grow(cvtm_power_cell *cell, int32_t capacity);
void cvtm_power_cell_release(cvtm_power_cell *cell);

/* Makes the cell of the site at a slot by clipping the rectangle *start, which is relative to the
 * site, or the domain if start is NULL. Returns 0 if memory runs out. */
int cvtm_power_cut_out(const cvtm_power_view *view, cvtm_domain domain, int64_t slot,
                       const cvtm_cell_box *start, cvtm_power_cell *cell);

/* Computes the cells of the sites of a tree with boxes. weights: in the caller's order; NULL: all
 * are 0. The sites may be outside the domain, which is not periodic. Sets the device's error on
 * failure; else the caller frees *cells. */
cvtm_status cvtm_power_cells(cvtm_device *device, const cvtm_site_tree_view *tree,
                             cvtm_domain domain, const double *weights, cvtm_cells *cells);
