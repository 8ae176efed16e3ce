/* For *_cuda.cu of this folder only: the state that a power diagram has on a CUDA device, and the
 * launchers of its table. */
#ifndef CVTMESH_CVT_EQUAL_MASS_POWER_CUDA_H
#define CVTMESH_CVT_EQUAL_MASS_POWER_CUDA_H

#include "cvt/equal_mass/power_kernels.h"

enum {
  CVTM_POWER_SCRATCH_BLOCKS = 128,   /* that clip a cell in scratch at a time */
  CVTM_POWER_SCRATCH_CORNERS = 4096, /* of a cell in a block's scratch */
  CVTM_POWER_CORNERS = 16,           /* of a polygon */
  CVTM_POWER_SLOTS = 17, /* numbers from one to the next in shared memory: odd, to spread over the
                            banks */
  CVTM_POWER_IS_LARGE = -1, /* as a number of corners: more than CVTM_POWER_CORNERS */
  CVTM_POWER_ROUNDS = 2,    /* of cells that are cut, before all are */
  CVTM_POWER_PARTS = 264    /* blocks of a reduction, at most */
};

/* Counters: cells with too many corners for a polygon, of these cells with too many for a block's
 * scratch, blocks of a reduction that have ended, and cells marked for each round. */
enum {
  CVTM_POWER_LARGE,
  CVTM_POWER_GIANT,
  CVTM_POWER_ENDED,
  CVTM_POWER_MARKED,
  CVTM_POWER_COUNTERS = CVTM_POWER_MARKED + CVTM_POWER_ROUNDS + 2
};

/* The cell at a place has corner k and what lies across the edge from it (cvtm_power_label) at
 * k * count + place. */
typedef struct cvtm_power_polygons {
  double *x, *y;
  int32_t *other;
  int32_t *corners; /* of the cell at each place */
  int32_t *round;   /* in which the cell of each site, by the caller's index, is cut; 0: kept */
} cvtm_power_polygons;

/* Arrays in device memory. */
typedef struct cvtm_power_state_cuda {
  int32_t *counter;       /* CVTM_POWER_COUNTERS */
  int32_t *large, *giant; /* the places of those cells, in no particular order */
  double *corners, *giant_corners;
  int32_t *other, *giant_other;
  int64_t giant_capacity; /* corners */
  cvtm_power_polygons polygons;
  int32_t *plain; /* at each place: of couple_kernel */
  double *part;   /* CVTM_POWER_FIGURES * CVTM_POWER_PARTS partial results of reductions */
} cvtm_power_state_cuda;

static inline cvtm_power_state_cuda cvtm_power_get_state_cuda(const cvtm_power *power) {
  return *static_cast<const cvtm_power_state_cuda *>(power->state);
}

/* The steps of a diagram: sets the cells that have a ring and marks those to be cut; cuts those
 * that are marked for a round, in round CVTM_POWER_ROUNDS + 1 all if any is; marks for the next
 * round the kept cells that do not agree with those that were cut. Cells of more than
 * CVTM_POWER_CORNERS corners are listed as large. */
cvtm_status cvtm_power_keep_cuda(cvtm_power *power);
cvtm_status cvtm_power_cut_cuda(cvtm_power *power, int32_t round);
cvtm_status cvtm_power_agree_cuda(cvtm_power *power, int32_t round);
/* Of cvtm_power_table: */
cvtm_status cvtm_power_set_weights_cuda(cvtm_power *power, const double *weight);
cvtm_status cvtm_power_cells_cuda(cvtm_power *power);
cvtm_status cvtm_power_figures_cuda(cvtm_power *power, const double *weight);
cvtm_status cvtm_power_predict_cuda(cvtm_power *power, const double *sites);
cvtm_status cvtm_power_correct_cuda(cvtm_power *power, int64_t fixed, double *gradient);
cvtm_status cvtm_power_solve_cuda(cvtm_power *power, double tolerance, int32_t max_iterations);

#endif
