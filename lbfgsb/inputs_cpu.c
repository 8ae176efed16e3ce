#include "lbfgsb/inputs_kernels.h"

static cvtm_status check_bounds(cvtm_device *device, const double *lower, const double *upper,
                                int64_t n, cvtm_lbfgsb_inputs *found) {
  (void)device;
  for (int64_t i = 0; i < n && found->bad == 0; ++i) {
    double bounds[2];
    found->finite += cvtm_lbfgsb_read_bounds(lower, upper, i, bounds);
    if (!cvtm_lbfgsb_bounds_are_valid(bounds[0], bounds[1])) found->bad = n - i;
  }
  return CVTM_OK;
}

static cvtm_status check_scale(cvtm_device *device, const double *scale, int64_t n,
                               cvtm_lbfgsb_inputs *found) {
  (void)device;
  for (int64_t i = 0; i < n && found->bad == 0; ++i)
    if (!cvtm_lbfgsb_scale_is_valid(scale[i])) found->bad = n - i;
  return CVTM_OK;
}

const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cpu = {check_bounds, check_scale};
