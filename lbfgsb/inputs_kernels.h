/* Inside lbfgsb only: are bounds and scale what they should be? */
#ifndef CVTMESH_LBFGSB_INPUTS_KERNELS_H
#define CVTMESH_LBFGSB_INPUTS_KERNELS_H

#include "base/device.h"
#include "lbfgsb/lbfgsb_search.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was found, zero before. */
typedef struct cvtm_lbfgsb_inputs {
  int64_t bad;    /* n - i for the first variable i that is refused; 0: none is */
  int64_t finite; /* bounds */
} cvtm_lbfgsb_inputs;

/* Arrays of n in device memory; a bound may be NULL for none. Enqueued. */
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

/* They leave a finite value. */
CVTM_HD int cvtm_lbfgsb_bounds_are_good(double low, double high) {
  return low <= high && low < HUGE_VAL && high > -HUGE_VAL;
}

CVTM_HD int cvtm_lbfgsb_scale_is_good(double scale) { return scale > 0.0 && cvtm_is_finite(scale); }

/* The bounds of variable i; how many of them are finite. */
CVTM_HD int cvtm_lbfgsb_read_bounds(const double *lower, const double *upper, int64_t i,
                                    double bounds[2]) {
  bounds[0] = lower ? lower[i] : -HUGE_VAL;
  bounds[1] = upper ? upper[i] : HUGE_VAL;
  return cvtm_is_finite(bounds[0]) + cvtm_is_finite(bounds[1]);
}

#endif
