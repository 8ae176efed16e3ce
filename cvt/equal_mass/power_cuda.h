/* For *_cuda.cu of this folder only: the state that a power diagram has on a CUDA device, and the
 * launchers of its table. */
#pragma once

#include "cvt/equal_mass/power_kernels.h"

enum {
  CVTM_POWER_SCRATCH_BLOCKS = 128,   /* thread blocks with scratch memory for a cell */
  CVTM_POWER_SCRATCH_CORNERS = 4096, /* corners of a cell in a block's scratch memory, at most */
  CVTM_POWER_CORNERS = 16,           /* corners of a polygon, at most */
  CVTM_POWER_SLOTS = 17,             /* stride in shared memory: odd, so that cells spread over
                                        the memory banks */
  CVTM_POWER_IS_LARGE = -1, /* stored instead of a number of corners above CVTM_POWER_CORNERS */
  CVTM_POWER_ROUNDS = 2,    /* rounds that cut marked cells, before all cells are cut */
  CVTM_POWER_PARTS = 264    /* thread blocks of a reduction, at most */
};

/* Indices of the counters of large cells (too many corners for a polygon), giant cells (too many
 * for the scratch memory of a thread block), ended thread blocks of a kernel, and cells marked for
 * each round. */
enum {
  CVTM_POWER_LARGE,
  CVTM_POWER_GIANT,
  CVTM_POWER_ENDED,
  CVTM_POWER_MARKED,
  CVTM_POWER_COUNTERS = CVTM_POWER_MARKED + CVTM_POWER_ROUNDS + 2
};

/* Corner k of the cell at a slot, and the neighbour across the edge that begins there
 * (cvtm_power_label), have the index k * count + slot. */
typedef struct cvtm_power_polygons {
  double *x, *y;
  int32_t *other;
  int32_t *corners; /* the number of corners of the cell at each slot */
  int32_t *round;   /* per site, by the caller's index: the round in which its cell is cut; 0:
                     * kept */
} cvtm_power_polygons;

/* Arrays in device memory. */
typedef struct cvtm_power_state_cuda {
  int32_t *counter;       /* CVTM_POWER_COUNTERS */
  int32_t *large, *giant; /* the slots of the large and of the giant cells, in any order */
  double *corners, *giant_corners;
  int32_t *other, *giant_other;
  int64_t giant_capacity; /* corners */
  cvtm_power_polygons polygons;
  int32_t *plain; /* per slot: `count` of couple_kernel */
  double *part;   /* CVTM_POWER_FIGURES * CVTM_POWER_PARTS partial results of reductions */
} cvtm_power_state_cuda;

static inline cvtm_power_state_cuda cvtm_power_get_state_cuda(const cvtm_power *power) {
  return *static_cast<const cvtm_power_state_cuda *>(power->state);
}

/* Enqueue the steps of a diagram. cvtm_power_keep_cuda sets the cells that have a ring, and marks
 * cells to cut. cvtm_power_cut_cuda cuts the cells that are marked for a round; in round
 * CVTM_POWER_ROUNDS + 1, if a cell is marked, it cuts all cells that have not been cut. It lists
 * cells of more than CVTM_POWER_CORNERS corners as large. cvtm_power_agree_cuda marks for the next
 * round the kept cells that disagree with a cell that was cut. */
cvtm_status cvtm_power_keep_cuda(cvtm_power *power);
cvtm_status cvtm_power_cut_cuda(cvtm_power *power, int32_t round);
cvtm_status cvtm_power_agree_cuda(cvtm_power *power, int32_t round);
/* Functions of cvtm_power_table: */
cvtm_status cvtm_power_set_weights_cuda(cvtm_power *power, const double *weight);
cvtm_status cvtm_power_cells_cuda(cvtm_power *power);
cvtm_status cvtm_power_figures_cuda(cvtm_power *power, const double *weight);
cvtm_status cvtm_power_solve_cuda(cvtm_power *power, double tolerance, int32_t max_iterations);
