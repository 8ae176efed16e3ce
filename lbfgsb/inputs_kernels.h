/* Inside lbfgsb only: checks of bounds and scale. */
#ifndef CVTMESH_LBFGSB_INPUTS_KERNELS_H
#define CVTMESH_LBFGSB_INPUTS_KERNELS_H

#include "base/device.h"
#include "lbfgsb/more_thuente.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

/* True if a finite value lies between the bounds of variable i and its scale is positive and
 * finite. Adds the number of its finite bounds to *finite. */
CVTM_HD int cvtm_lbfgsb_input_is_valid(const double *lower, const double *upper,
                                       const double *scale, int64_t i, int64_t *finite) {
  const double low = lower ? lower[i] : -HUGE_VAL, high = upper ? upper[i] : HUGE_VAL;
  *finite += cvtm_is_finite(low) + cvtm_is_finite(high);
  const int has_scale = !scale || (scale[i] > 0.0 && cvtm_is_finite(scale[i]));
  return low <= high && low < HUGE_VAL && high > -HUGE_VAL && has_scale;
}

#endif
