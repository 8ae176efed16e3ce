#include "lcp/sparse/sell_kernels.h"

#include "base/primitives.h"
#include "base/select.h"

#include <string.h>

/* A CSR matrix in device memory and the workspace of its conversion. */
typedef struct conversion {
  cvtm_csr csr;
  int is_borrowed; /* its arrays are the caller's */
  int32_t *counts;
  void *workspace;
  size_t workspace_bytes;
} conversion;

static cvtm_status conversion_open(cvtm_device *device, int64_t rows, int64_t columns,
                                   conversion *work) {
  memset(work, 0, sizeof *work);
  work->csr.rows = rows;
  work->csr.columns = columns;
  cvtm_status status = cvtm_device_allocate(device, rows + 1, CVTM_TYPED(work->counts));
  if (status == CVTM_OK) status = cvtm_scan_workspace(device, rows, &work->workspace_bytes);
  if (status == CVTM_OK) {
    status = cvtm_device_allocate(device, (int64_t)work->workspace_bytes, 1, &work->workspace);
  }
  return status;
}

static cvtm_status conversion_entries(cvtm_device *device, int64_t entries, conversion *work) {
  const cvtm_status status = cvtm_device_allocate(device, entries, CVTM_TYPED(work->csr.column));
  if (status != CVTM_OK) return status;
  return cvtm_device_allocate(device, entries, CVTM_TYPED(work->csr.value));
}

static void conversion_close(cvtm_device *device, conversion *work) {
  if (!work->is_borrowed) {
    cvtm_device_free(device, work->csr.row_start);
    cvtm_device_free(device, work->csr.column);
    cvtm_device_free(device, work->csr.value);
  }
  cvtm_device_free(device, work->counts);
  cvtm_device_free(device, work->workspace);
}

static cvtm_status copy_csr_in(cvtm_device *device, const cvtm_csr *matrix, conversion *work) {
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CPU) {
    work->csr = *matrix;
    work->is_borrowed = 1;
    return CVTM_OK;
  }
  const size_t entries = (size_t)matrix->row_start[matrix->rows];
  cvtm_status status =
      cvtm_device_allocate(device, matrix->rows + 1, CVTM_TYPED(work->csr.row_start));
  if (status == CVTM_OK) status = conversion_entries(device, (int64_t)entries, work);
  if (status == CVTM_OK) {
    status = cvtm_device_copy_in(device, work->csr.row_start, matrix->row_start,
                                 ((size_t)matrix->rows + 1) * sizeof *matrix->row_start);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_in(device, work->csr.column, matrix->column,
                                 entries * sizeof *matrix->column);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_in(device, work->csr.value, matrix->value,
                                 entries * sizeof *matrix->value);
  }
  return status;
}

static cvtm_status fill_sell(cvtm_device *device, const cvtm_sell_order *order, conversion *work,
                             cvtm_sell *sell) {
  const int64_t slices = cvtm_sell_slices(sell->rows);
  const cvtm_sell_table *table = CVTM_TABLE(device, cvtm_sell_table);
  cvtm_status status = cvtm_device_allocate(device, slices + 1, CVTM_TYPED(sell->slice_start));
  if (status == CVTM_OK)
    status = table->slice_sizes(device, &work->csr, order, sell->uniform, work->counts);
  if (status == CVTM_OK) {
    status = cvtm_scan_64(device, work->counts, slices, sell->slice_start, work->workspace,
                          work->workspace_bytes);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(device, &sell->entries, sell->slice_start + slices,
                                  sizeof sell->entries);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_allocate(device, sell->entries, CVTM_TYPED(sell->column));
  }
  if (status == CVTM_OK) {
    status = cvtm_device_allocate(device, sell->entries, CVTM_TYPED(sell->value));
  }
  if (status == CVTM_OK) status = table->fill_sell(device, &work->csr, order, sell);
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  return status;
}

/* *uniform: entries of every slice if that adds at most 1/32 of padding, else 0. Refuses rows whose
 * slice would have more entries than 32 bits count. */
static cvtm_status choose_slice_size(cvtm_device *device, const cvtm_csr *matrix,
                                     int64_t *uniform) {
  int64_t longest = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static) \
    reduction(max                                                                  \
              : longest)
  for (int64_t row = 0; row < matrix->rows; ++row) {
    const int64_t length = matrix->row_start[row + 1] - matrix->row_start[row];
    longest = length > longest ? length : longest;
  }
  if (longest > INT32_MAX / CVTM_SLICE_ROWS) {
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_INPUT,
                     "a row of %lld entries is too long for a sliced matrix", (long long)longest);
  }
  const int64_t entries = matrix->row_start[matrix->rows];
  *uniform = longest * matrix->rows <= entries + entries / 32 ? longest * CVTM_SLICE_ROWS : 0;
  return CVTM_OK;
}

cvtm_status cvtm_sell_create_ordered(cvtm_device *device, const cvtm_csr *matrix,
                                     const cvtm_sell_order *order, cvtm_sell *sell) {
  memset(sell, 0, sizeof *sell);
  const cvtm_status checked = choose_slice_size(device, matrix, &sell->uniform);
  if (checked != CVTM_OK) return checked;
  sell->rows = matrix->rows;
  sell->columns = matrix->columns;
  conversion work;
  cvtm_status status = conversion_open(device, matrix->rows, matrix->columns, &work);
  if (status == CVTM_OK) status = copy_csr_in(device, matrix, &work);
  if (status == CVTM_OK) status = fill_sell(device, order, &work, sell);
  conversion_close(device, &work);
  if (status != CVTM_OK) cvtm_sell_free(device, sell);
  return status;
}

cvtm_status cvtm_sell_create(cvtm_device *device, const cvtm_csr *matrix, cvtm_sell *sell) {
  const cvtm_sell_order identity = {NULL, NULL};
  return cvtm_sell_create_ordered(device, matrix, &identity, sell);
}

void cvtm_sell_free(cvtm_device *device, cvtm_sell *sell) {
  cvtm_device_free(device, sell->slice_start);
  cvtm_device_free(device, sell->column);
  cvtm_device_free(device, sell->value);
  cvtm_device_free(device, sell->run);
  memset(sell, 0, sizeof *sell);
}

cvtm_status cvtm_sell_find_runs(cvtm_device *device, cvtm_sell *sell) {
  const cvtm_status status =
      cvtm_device_allocate(device, sell->entries / CVTM_SLICE_ROWS, CVTM_TYPED(sell->run));
  return status == CVTM_OK ? CVTM_TABLE(device, cvtm_sell_table)->find_runs(device, sell) : status;
}

static cvtm_status slice_sizes_cpu(cvtm_device *device, const cvtm_csr *csr,
                                   const cvtm_sell_order *order, int64_t uniform, int32_t *sizes) {
  const int64_t slices = cvtm_sell_slices(csr->rows);
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t slice = 0; slice < slices; ++slice)
    sizes[slice] = cvtm_sell_slice_size(csr, order, uniform, slice);
  return CVTM_OK;
}

static cvtm_status fill_sell_cpu(cvtm_device *device, const cvtm_csr *csr,
                                 const cvtm_sell_order *order, const cvtm_sell *sell) {
  const int64_t rows = cvtm_sell_slices(csr->rows) * CVTM_SLICE_ROWS;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t row = 0; row < rows; ++row) cvtm_sell_fill_row(csr, order, sell, row);
  return CVTM_OK;
}

static cvtm_status find_runs_cpu(cvtm_device *device, const cvtm_sell *sell) {
  const int64_t groups = sell->entries / CVTM_SLICE_ROWS;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t group = 0; group < groups; ++group) sell->run[group] = cvtm_sell_run_at(sell, group);
  return CVTM_OK;
}

const cvtm_sell_table cvtm_sell_table_cpu = {slice_sizes_cpu, fill_sell_cpu, find_runs_cpu};
