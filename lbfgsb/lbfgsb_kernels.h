/* Inside lbfgsb only: what differs between devices. Each function enqueues its work on the device's
 * stream. */
#ifndef CVTMESH_LBFGSB_LBFGSB_KERNELS_H
#define CVTMESH_LBFGSB_LBFGSB_KERNELS_H

#include "base/device.h"
#include "lbfgsb/lbfgsb_arrays.h"
#include "lbfgsb/more_thuente.h"

#include <math.h>

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

/* The result of a check; all zero before it. */
typedef struct cvtm_lbfgsb_inputs {
  int64_t bad;    /* n - i for the first invalid variable i; 0: all are valid */
  int64_t finite; /* bounds that are finite */
} cvtm_lbfgsb_inputs;

typedef struct cvtm_lbfgsb_inputs_table {
  /* Checks n variables. lower, upper, scale: n doubles in device memory, or NULL. Enqueued. */
  cvtm_status (*check)(cvtm_device *device, const double *lower, const double *upper,
                       const double *scale, int64_t n, cvtm_lbfgsb_inputs *found);
} cvtm_lbfgsb_inputs_table;

extern const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cpu, cvtm_lbfgsb_inputs_table_cuda;

/* True if a finite value lies between the bounds of variable i and its scale is positive and
 * finite. Adds the number of its finite bounds to *finite. */
CVTM_HD int cvtm_lbfgsb_input_is_valid(const double *lower, const double *upper,
                                       const double *scale, int64_t i, int64_t *finite) {
  const double low = lower ? lower[i] : -HUGE_VAL, high = upper ? upper[i] : HUGE_VAL;
  *finite += cvtm_is_finite(low) + cvtm_is_finite(high);
  const int has_scale = !scale || (scale[i] > 0.0 && cvtm_is_finite(scale[i]));
  return low <= high && low < HUGE_VAL && high > -HUGE_VAL && has_scale;
}

#ifdef __cplusplus
}
#endif

#endif
