#include "lbfgsb/divided.h"

#include <string.h>

/* The row of W with the block's nearest breakpoint, whose number is then that over all ranks. */
static void add_row(const cvtm_lbfgsb_arrays *arrays, const cvtm_divided_pass *pass,
                    double *record) {
  double *row = record + pass->entries + 2;
  const double nearest = record[CVTM_NEAREST_ROW];
  if (nearest >= 0.0 && nearest < HUGE_VAL) {
    cvtm_lbfgsb_cpu_read_row(arrays, (int64_t)nearest, row);
    record[CVTM_NEAREST_ROW] += (double)pass->first;
  } else {
    memset(row, 0, (size_t)(2 * arrays->state->history + 1) * sizeof *row);
  }
}

static cvtm_status cpu_pass(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                            const cvtm_divided_pass *pass, double *records) {
  const int64_t of_block = pass->block / CVTM_LBFGSB_CPU_PART;
  double all[CVTM_LBFGSB_MAX_ENTRIES];
  cvtm_lbfgsb_cpu_pass(cvtm_device_threads(device), arrays, pass->pass, arrays->model->q,
                       pass->entries, all);
  for (int64_t b = 0; b < pass->own_blocks; ++b, records += pass->stride) {
    memcpy(records, arrays->partial + b * of_block * pass->entries,
           (size_t)pass->entries * sizeof *records);
    memcpy(records + pass->entries, arrays->values + 2 * b, 2 * sizeof *records);
    if (pass->has_row) add_row(arrays, pass, records);
  }
  return CVTM_OK;
}

static cvtm_status cpu_combine(cvtm_device *device, const cvtm_divided_pass *pass,
                               const double *records, double *total) {
  (void)device;
  memcpy(total, records, (size_t)pass->stride * sizeof *total);
  for (int64_t b = 1; b < pass->blocks; ++b) {
    const double *record = records + b * pass->stride;
    cvtm_lbfgsb_combine_entries(total, record, pass->entries, pass->pass == CVTM_PASS_A);
    cvtm_divided_combine_values(total + pass->entries, record + pass->entries);
  }
  const double nearest = total[CVTM_NEAREST_ROW];
  if (!pass->has_row || !(nearest >= 0.0 && nearest < HUGE_VAL)) return CVTM_OK;
  const int row = pass->entries + 2;
  memcpy(total + row, records + (int64_t)nearest / pass->block * pass->stride + row,
         (size_t)(pass->stride - row) * sizeof *total);
  return CVTM_OK;
}

static cvtm_status cpu_move(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays) {
  cvtm_lbfgsb_cpu_move(cvtm_device_threads(device), arrays);
  return CVTM_OK;
}

static cvtm_status cpu_read_rows(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                                 const int32_t *rows, int count, double *w) {
  (void)device;
  for (int r = 0; r < count; ++r, w += 2 * arrays->state->history + 1)
    cvtm_lbfgsb_cpu_read_row(arrays, rows[r], w);
  return CVTM_OK;
}

const cvtm_divided_table cvtm_divided_table_cpu = {
    .parts = cvtm_lbfgsb_cpu_parts,
    .pass = cpu_pass,
    .combine = cpu_combine,
    .move = cpu_move,
    .read_rows = cpu_read_rows,
};
