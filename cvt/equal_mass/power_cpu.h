/* Inside equal_mass only: a power cell on the CPU, in memory that grows with its corners, and the
 * state that a power diagram has on a CPU. */
#ifndef CVTMESH_CVT_EQUAL_MASS_POWER_CPU_H
#define CVTMESH_CVT_EQUAL_MASS_POWER_CPU_H

#include "cvt/equal_mass/power_cell.h"
#include "cvt/equal_mass/power_kernels.h"

/* As cvtm_cell_grow and cvtm_cell_release. */
int cvtm_power_cell_grow(cvtm_power_cell *cell, int32_t capacity);
void cvtm_power_cell_release(cvtm_power_cell *cell);

/* Clips the cell of the site at a place out of *start, a rectangle relative to the site, or out of
 * the domain if that is NULL. Returns 0 if memory ran out. */
int cvtm_power_cut_out(const cvtm_power_view *view, cvtm_domain domain, int64_t place,
                       const cvtm_cell_box *start, cvtm_power_cell *cell);

/* Arrays of one number per site, in the caller's order, and one polygon for each thread. */
typedef struct cvtm_power_state_cpu {
  int32_t *is_ring; /* 1: the row of couplings lists all neighbours of the cell around it */
  int32_t *cut;     /* the round in which the cell was cut out by the tree; 0: it was not */
  int threads;
  cvtm_power_cell cell[];
} cvtm_power_state_cpu;

/* Of cvtm_power_table. */
cvtm_status cvtm_power_cells_cpu(cvtm_power *power);

#endif
