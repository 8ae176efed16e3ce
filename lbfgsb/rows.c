#include "lbfgsb/rows.h"

#include "base/primitives.h"
#include "base/select.h"

static cvtm_arrays arrays_of(cvtm_lbfgsb_list *list, int64_t n, int sorts, int on_cuda) {
  const int64_t sorted = sorts ? n : 0, flagged = on_cuda ? n : 0;
  return (cvtm_arrays){{CVTM_ARRAY(list->rows, n), CVTM_ARRAY(list->flags, flagged),
                        CVTM_ARRAY(list->places, flagged + 1), CVTM_ARRAY(list->other_rows, sorted),
                        CVTM_ARRAY(list->other_keys, sorted)}};
}

cvtm_status cvtm_lbfgsb_list_create(cvtm_device *device, int64_t n, int sorts,
                                    cvtm_lbfgsb_list *list) {
  const int on_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  if (n > INT32_MAX)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "a process has %lld variables; its lists hold at most %d", (long long)n,
                     INT32_MAX);
  if (sorts) CVTM_TRY(cvtm_sort_reserve(device, n));
  if (on_cuda) CVTM_TRY(cvtm_scan_reserve(device, n));
  return cvtm_device_allocate_arrays(device, arrays_of(list, n, sorts, on_cuda));
}

void cvtm_lbfgsb_list_destroy(cvtm_device *device, cvtm_lbfgsb_list *list) {
  cvtm_device_free_arrays(device, arrays_of(list, 0, 0, 0));
}

cvtm_status cvtm_lbfgsb_list_breakpoints(cvtm_device *device, const cvtm_lbfgsb_list *list,
                                         const cvtm_lbfgsb_arrays *arrays, int64_t *count) {
  const cvtm_status status = CVTM_TABLE(device, cvtm_lbfgsb_rows_table)
                                 ->list(device, list, arrays, CVTM_ROWS_WINDOW, count);
  if (status != CVTM_OK || *count < 2) return status;
  /* positive doubles sort correctly by their bits as integers; the rows are ascending and the sort
   * is stable, so equal t keep the order of rows */
  return cvtm_sort_pairs(device, (uint64_t *)(void *)arrays->breakpoints, list->rows,
                         list->other_keys, list->other_rows, *count, 64);
}

static cvtm_status check_rows(cvtm_device *device, const double *lower, const double *upper,
                              const double *scale, int64_t n, cvtm_lbfgsb_inputs *found) {
  (void)device;
  for (int64_t i = 0; i < n && found->bad == 0; ++i) {
    if (!cvtm_lbfgsb_input_is_valid(lower, upper, scale, i, &found->finite)) found->bad = n - i;
  }
  return CVTM_OK;
}

static cvtm_status list_rows(cvtm_device *device, const cvtm_lbfgsb_list *list,
                             const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_rows which,
                             int64_t *count) {
  (void)device;
  *count = 0;
  for (int64_t i = 0; i < arrays->n; ++i) {
    const cvtm_lbfgsb_variable row =
        cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], arrays->g[i]);
    double t;
    if (!cvtm_lbfgsb_selects(arrays->state, which, &row, &t)) continue;
    if (which == CVTM_ROWS_WINDOW) arrays->breakpoints[*count] = t;
    list->rows[(*count)++] = (int32_t)i;
  }
  return CVTM_OK;
}

const cvtm_lbfgsb_rows_table cvtm_lbfgsb_rows_table_cpu = {.check = check_rows, .list = list_rows};
