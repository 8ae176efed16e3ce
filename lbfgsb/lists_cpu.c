#include "lbfgsb/lists.h"

static cvtm_status cpu_make(cvtm_device *device, const cvtm_lbfgsb_list *list,
                            const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_rows which,
                            int64_t *count) {
  (void)device;
  *count = 0;
  for (int64_t i = 0; i < arrays->n; ++i) {
    double t;
    if (!cvtm_lbfgsb_selects(arrays, arrays->state, which, i, &t)) continue;
    if (which == CVTM_ROWS_WINDOW) arrays->breakpoints[*count] = t;
    list->rows[(*count)++] = (int32_t)i;
  }
  return CVTM_OK;
}

const cvtm_lbfgsb_list_table cvtm_lbfgsb_list_table_cpu = {.make = cpu_make};
