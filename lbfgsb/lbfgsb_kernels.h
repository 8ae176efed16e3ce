/* Inside lbfgsb only: the phases that differ between devices. Each enqueues its work
 * on the device's stream and returns no number. */
#ifndef CVTMESH_LBFGSB_KERNELS_H
#define CVTMESH_LBFGSB_KERNELS_H

#include "lbfgsb/lbfgsb_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_lbfgsb_table {
  /* Parts into which a pass over n rows is cut: the same for every run on a kind of device. */
  int64_t (*parts)(cvtm_device *device, int64_t n, int64_t problems);
  /* trial_x = x moved into the box, d = 0; sums[CVTM_SUM_ACTIVE] = how many were moved; the
   * states become those before the first evaluation. */
  cvtm_status (*start)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m, int single);
  /* Everything that follows from an evaluation, up to the next trial point: the line search;
   * pass A; the Cauchy point; rows with 0 < t_i <= t^c leave the free set; pass B, truncated
   * where that is due. What is not due does nothing. Lowers *arrays->flag where the loop ends. */
  cvtm_status (*round)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m, int single);
} cvtm_lbfgsb_table;

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu, cvtm_lbfgsb_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
