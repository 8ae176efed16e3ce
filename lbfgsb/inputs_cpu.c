#include "lbfgsb/inputs_kernels.h"

static cvtm_status check_inputs_cpu(cvtm_device *device, const double *lower, const double *upper,
                                    const double *scale, int64_t n, cvtm_lbfgsb_inputs *found) {
  (void)device;
  for (int64_t i = 0; i < n && found->bad == 0; ++i) {
    if (!cvtm_lbfgsb_input_is_valid(lower, upper, scale, i, &found->finite)) found->bad = n - i;
  }
  return CVTM_OK;
}

const cvtm_lbfgsb_inputs_table cvtm_lbfgsb_inputs_table_cpu = {check_inputs_cpu};
