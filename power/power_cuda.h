/* For power/ *_cuda.cu only: the state that a power diagram has on a CUDA device, and the launchers
 * of its table. */
#ifndef CVTMESH_POWER_POWER_CUDA_H
#define CVTMESH_POWER_POWER_CUDA_H

#include "power/power_kernels.h"

enum {
  CVTM_POWER_SCRATCH_BLOCKS = 128,   /* that clip a cell in scratch at a time */
  CVTM_POWER_SCRATCH_CORNERS = 4096, /* of a cell in a block's scratch */
  CVTM_POWER_PARTS = 264             /* blocks of a reduction, at most */
};

/* Counters: cells with too many corners for shared memory, of these cells with too many for a
 * block's scratch, and blocks of a reduction that have ended. */
enum { CVTM_POWER_LARGE, CVTM_POWER_GIANT, CVTM_POWER_ENDED, CVTM_POWER_COUNTERS };

/* Arrays in device memory. */
typedef struct cvtm_power_state_cuda {
  int32_t *counter;       /* CVTM_POWER_COUNTERS */
  int32_t *large, *giant; /* the places of those cells, in no particular order */
  double *corners, *giant_corners;
  int32_t *other, *giant_other;
  int64_t giant_capacity; /* corners */
  double *part;           /* CVTM_POWER_FIGURES * CVTM_POWER_PARTS partial results of reductions */
} cvtm_power_state_cuda;

static inline cvtm_power_state_cuda cvtm_power_get_state_cuda(const cvtm_power *power) {
  return *static_cast<const cvtm_power_state_cuda *>(power->state);
}

/* Of cvtm_power_table: */
cvtm_status cvtm_power_set_weights_cuda(cvtm_power *power, const double *weight);
cvtm_status cvtm_power_cells_cuda(cvtm_power *power);
cvtm_status cvtm_power_figures_cuda(cvtm_power *power, const double *weight);
cvtm_status cvtm_power_predict_cuda(cvtm_power *power, const double *sites);
cvtm_status cvtm_power_correct_cuda(cvtm_power *power, int64_t fixed, double *gradient);
cvtm_status cvtm_power_solve_cuda(cvtm_power *power, double tolerance, int32_t max_iterations);

#endif
