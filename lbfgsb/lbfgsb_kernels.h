/* Inside lbfgsb only: the phases that differ between devices. Each enqueues its work
 * on the device's stream, reads from the state whether it is due, and returns no number. */
#ifndef CVTMESH_LBFGSB_KERNELS_H
#define CVTMESH_LBFGSB_KERNELS_H

#include "lbfgsb/lbfgsb_rows.h"

#ifndef CVTMESH_HAVE_CUDA
#define CVTMESH_HAVE_CUDA 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_lbfgsb_table {
  /* Parts into which a pass over n rows is cut: n alone decides, never the machine. */
  int64_t (*parts)(int64_t n);
  /* trial_x = x moved into the box, d = 0; sums[CVTM_SUM_ACTIVE] = how many were moved. */
  cvtm_status (*start)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* After an evaluation: g'd at the trial point, and what the line search makes of it. */
  cvtm_status (*search)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* Pass A and the Cauchy point. */
  cvtm_status (*update)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* The rows with 0 < t_i <= t^c leave the free set. */
  cvtm_status (*restrict_rows)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* Pass B: the direction, the trial point of step 1, the start of a line search. */
  cvtm_status (*step)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* Pass B with the truncated subspace step. */
  cvtm_status (*fall_back)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* trial_x = x + step d. */
  cvtm_status (*trial)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
} cvtm_lbfgsb_table;

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu;
#if CVTMESH_HAVE_CUDA
extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cuda;
#endif

#ifdef __cplusplus
}
#endif
#endif
