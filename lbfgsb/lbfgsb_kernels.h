/* Inside lbfgsb only: what differs between devices. Each function enqueues its work on the device's
 * stream. m is the history. */
#ifndef CVTMESH_LBFGSB_KERNELS_H
#define CVTMESH_LBFGSB_KERNELS_H

#include "lbfgsb/lbfgsb_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_lbfgsb_table {
  /* The parts into which a pass over n rows is divided. The number fixes the order of sums; it
   * depends on n, problems and the device alone. */
  int64_t (*parts)(cvtm_device *device, int64_t n, int64_t problems);
  /* x = trial_x = x projected onto the box, g = d = 0; the states become those before the first
   * evaluation. */
  cvtm_status (*start)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
  /* The phases of iteration.h for every problem that is running. *arrays->flag becomes 0 when the
   * loop is to end. */
  cvtm_status (*round)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
} cvtm_lbfgsb_table;

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu, cvtm_lbfgsb_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
