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

/* Arrays of n doubles in device memory; lower or upper may be NULL. Enqueued. */
typedef struct cvtm_lbfgsb_inputs_table {
  cvtm_status (*check_bounds)(cvtm_device *device, const double *lower, const double *upper,
                              int64_t n, cvtm_lbfgsb_inputs *found);
  cvtm_status (*check_scale)(cvtm_device *device, const double *scale, int64_t n,
                             cvtm_lbfgsb_inputs *found);
} cvtm_lbfgsb_inputs_table;

extern const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cpu, cvtm_lbfgsb_inputs_table_cuda;

#ifdef __cplusplus
}
#endif

/* True if a finite value lies between the bounds. */
CVTM_HD int cvtm_lbfgsb_bounds_are_valid(double low, double high) {
  return low <= high && low < HUGE_VAL && high > -HUGE_VAL;
}

CVTM_HD int cvtm_lbfgsb_scale_is_valid(double scale) {
  return scale > 0.0 && cvtm_is_finite(scale);
}

/* Reads the bounds of variable i; returns how many of them are finite. */
CVTM_HD int cvtm_lbfgsb_read_bounds(const double *lower, const double *upper, int64_t i,
                                    double bounds[2]) {
  bounds[0] = lower ? lower[i] : -HUGE_VAL;
  bounds[1] = upper ? upper[i] : HUGE_VAL;
  return cvtm_is_finite(bounds[0]) + cvtm_is_finite(bounds[1]);
}

#endif
