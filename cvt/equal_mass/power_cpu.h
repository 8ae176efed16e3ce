/* Inside equal_mass only: a power cell on the CPU, in memory that grows with its corners. */
#ifndef CVTMESH_CVT_EQUAL_MASS_POWER_CPU_H
#define CVTMESH_CVT_EQUAL_MASS_POWER_CPU_H

#include "cvt/equal_mass/power_cell.h"

/* As cvtm_cell_grow and cvtm_cell_release. */
int cvtm_power_cell_grow(cvtm_power_cell *cell, int32_t capacity);
void cvtm_power_cell_release(cvtm_power_cell *cell);

/* Clips the cell of the site at a place out of *start, a rectangle relative to the site, or out of
 * the domain if that is NULL. Returns 0 if memory ran out. */
int cvtm_power_cut_out(const cvtm_power_view *view, cvtm_domain domain, int64_t place,
                       const cvtm_cell_box *start, cvtm_power_cell *cell);

#endif
