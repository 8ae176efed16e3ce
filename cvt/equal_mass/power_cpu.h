/* For *_cpu.c of this folder only: the state that a power diagram has on a CPU. */
#ifndef CVTMESH_CVT_EQUAL_MASS_POWER_CPU_H
#define CVTMESH_CVT_EQUAL_MASS_POWER_CPU_H

#include "cvt/equal_mass/power_cell_host.h"
#include "cvt/equal_mass/power_kernels.h"

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
