#include "lcp/sparse/sparse_kernels.h"

#include "base/table_select.h"
#include "base/host_memory.h"
#include "base/primitives.h"
#include "lcp/sparse/sparse_algebra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- in host memory ----------------------------------------------------------------- */

cvtm_status cvtm_csr_create(int64_t rows, int64_t columns, int64_t entries, cvtm_csr *matrix,
                            cvtm_error *error) {
  memset(matrix, 0, sizeof *matrix);
  if (rows < 0 || rows > INT32_MAX || columns < 0 || columns > INT32_MAX || entries < 0) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a matrix of %lld x %lld with %lld entries",
                     (long long)rows, (long long)columns, (long long)entries);
  }
  const size_t most = SIZE_MAX / sizeof(double) - 1;
  if ((uint64_t)entries > most) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld entries", (long long)entries);
  }
  matrix->rows = rows;
  matrix->columns = columns;
  matrix->row_start = cvtm_host_allocate(((size_t)rows + 1) * sizeof *matrix->row_start);
  matrix->column = cvtm_host_allocate((size_t)entries * sizeof *matrix->column);
  matrix->value = cvtm_host_allocate((size_t)entries * sizeof *matrix->value);
  if (matrix->row_start == NULL || matrix->column == NULL || matrix->value == NULL) {
    cvtm_csr_free(matrix);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a matrix of %lld rows, %lld entries",
                     (long long)rows, (long long)entries);
  }
  matrix->row_start[0] = 0;
  return CVTM_OK;
}

void cvtm_csr_free(cvtm_csr *matrix) {
  free(matrix->row_start);
  free(matrix->column);
  free(matrix->value);
  memset(matrix, 0, sizeof *matrix);
}

static cvtm_status check_entries(const cvtm_csr *matrix, const char *name, int64_t row,
                                 cvtm_error *error) {
  const long long number = row + 1;
  const int64_t start = matrix->row_start[row], end = matrix->row_start[row + 1];
  for (int64_t k = start; k < end; ++k) {
    const int32_t column = matrix->column[k];
    if (column < 0 || column >= matrix->columns) {
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: column %lld is not within 1 .. %lld",
                       name, number, (long long)column + 1, (long long)matrix->columns);
    }
    if (k > start && column <= matrix->column[k - 1]) {
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: column %lld %s", name, number,
                       (long long)column + 1,
                       column == matrix->column[k - 1] ? "appears twice" : "is out of order");
    }
    if (!isfinite(matrix->value[k])) {
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: the value in column %lld is %g",
                       name, number, (long long)column + 1, matrix->value[k]);
    }
  }
  return CVTM_OK;
}

static cvtm_status check_diagonal_entry(const cvtm_csr *matrix, const char *name, int64_t row,
                                        cvtm_error *error) {
  int64_t k = matrix->row_start[row];
  const int64_t end = matrix->row_start[row + 1];
  while (k < end && matrix->column[k] < row) ++k;
  if (k == end || matrix->column[k] != row) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: the diagonal entry is missing", name,
                     (long long)row + 1);
  }
  if (matrix->value[k] > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: the diagonal entry is %s", name,
                   (long long)row + 1, matrix->value[k] < 0 ? "negative" : "zero");
}

typedef cvtm_status (*row_check)(const cvtm_csr *matrix, const char *name, int64_t row,
                                 cvtm_error *error);

/* The complaint about the first row that has one. */
static cvtm_status check_rows(const cvtm_csr *matrix, const char *name, int threads,
                              row_check check, cvtm_error *error) {
  int64_t first = matrix->rows;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : first)
  for (int64_t row = 0; row < matrix->rows; ++row)
    if (row < first && check(matrix, name, row, NULL) != CVTM_OK) first = row;
  (void)threads;
  return first < matrix->rows ? check(matrix, name, first, error) : CVTM_OK;
}

static cvtm_status check_structure(const cvtm_csr *matrix, const char *name, int threads,
                                   cvtm_error *error) {
  if (matrix->rows < 0 || matrix->rows > INT32_MAX || matrix->columns < 0 ||
      matrix->columns > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld x %lld is not a size of a matrix", name,
                     (long long)matrix->rows, (long long)matrix->columns);
  }
  if (matrix->row_start == NULL || matrix->row_start[0] != 0) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the first row does not start at 0", name);
  }
  for (int64_t row = 0; row < matrix->rows; ++row) {
    if (matrix->row_start[row + 1] < matrix->row_start[row]) {
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: the row starts decrease", name,
                       (long long)row + 1);
    }
  }
  if (matrix->row_start[matrix->rows] > 0 && (matrix->column == NULL || matrix->value == NULL)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no columns or values", name);
  }
  return check_rows(matrix, name, threads, check_entries, error);
}

cvtm_status cvtm_csr_check(const cvtm_csr *matrix, const char *name, cvtm_error *error) {
  return check_structure(matrix, name, 1, error);
}

cvtm_status cvtm_csr_check_all(const cvtm_csr *matrix, const char *name, int threads,
                               cvtm_error *error) {
  const cvtm_status status = check_structure(matrix, name, threads, error);
  if (status != CVTM_OK) return status;
  if (matrix->rows != matrix->columns) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld rows and %lld columns: not square", name,
                     (long long)matrix->rows, (long long)matrix->columns);
  }
  return check_rows(matrix, name, threads, check_diagonal_entry, error);
}

cvtm_status cvtm_csr_check_diagonal(const cvtm_csr *matrix, const char *name, cvtm_error *error) {
  return cvtm_csr_check_all(matrix, name, 1, error);
}

/* --- in device memory --------------------------------------------------------------- */

/* A CSR matrix in device memory and what a conversion needs besides. */
typedef struct conversion {
  cvtm_csr csr;
  int is_borrowed; /* its arrays */
  int32_t *counts;
  void *workspace;
  size_t workspace_bytes;
} conversion;

static cvtm_status allocate(cvtm_device *device, int64_t count, size_t size, void **memory) {
  return cvtm_device_allocate(device, count, size, memory);
}

static cvtm_status conversion_open(cvtm_device *device, int64_t rows, int64_t columns,
                                   conversion *work) {
  memset(work, 0, sizeof *work);
  work->csr.rows = rows;
  work->csr.columns = columns;
  cvtm_status status = allocate(device, rows + 1, sizeof(int32_t), (void **)&work->counts);
  if (status == CVTM_OK) status = cvtm_scan_workspace(device, rows, &work->workspace_bytes);
  if (status == CVTM_OK) {
    status = allocate(device, (int64_t)work->workspace_bytes, 1, &work->workspace);
  }
  return status;
}

static cvtm_status conversion_entries(cvtm_device *device, int64_t entries, conversion *work) {
  const cvtm_status status = allocate(device, entries, sizeof(int32_t), (void **)&work->csr.column);
  if (status != CVTM_OK) return status;
  return allocate(device, entries, sizeof(double), (void **)&work->csr.value);
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
      allocate(device, matrix->rows + 1, sizeof(int64_t), (void **)&work->csr.row_start);
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
  const cvtm_sparse_table *table = CVTM_TABLE(device, cvtm_sparse_table);
  cvtm_status status = allocate(device, slices + 1, sizeof(int64_t), (void **)&sell->slice_start);
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
    status = allocate(device, sell->entries, sizeof(int32_t), (void **)&sell->column);
  }
  if (status == CVTM_OK) {
    status = allocate(device, sell->entries, sizeof(double), (void **)&sell->value);
  }
  if (status == CVTM_OK) status = table->fill_sell(device, &work->csr, order, sell);
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  return status;
}

/* The length of all slices where they can be equally long. A slice counts its entries in 32 bits.
 */
static cvtm_status measure_rows(cvtm_device *device, const cvtm_csr *matrix, int64_t *uniform) {
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
  const cvtm_status checked = measure_rows(device, matrix, &sell->uniform);
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
  const cvtm_sell_order as_it_is = {NULL, NULL};
  return cvtm_sell_create_ordered(device, matrix, &as_it_is, sell);
}

static cvtm_status fill_csr(cvtm_device *device, const cvtm_sell *sell, conversion *work,
                            cvtm_csr *matrix) {
  const cvtm_sparse_table *table = CVTM_TABLE(device, cvtm_sparse_table);
  int64_t entries = 0;
  cvtm_status status =
      allocate(device, sell->rows + 1, sizeof(int64_t), (void **)&work->csr.row_start);
  if (status == CVTM_OK) status = table->row_sizes(device, sell, work->counts);
  if (status == CVTM_OK) {
    status = cvtm_scan_64(device, work->counts, sell->rows, work->csr.row_start, work->workspace,
                          work->workspace_bytes);
  }
  if (status == CVTM_OK) {
    status =
        cvtm_device_copy_out(device, &entries, work->csr.row_start + sell->rows, sizeof entries);
  }
  if (status == CVTM_OK) status = conversion_entries(device, entries, work);
  if (status == CVTM_OK) status = table->fill_csr(device, sell, &work->csr);
  if (status == CVTM_OK) {
    status = cvtm_csr_create(sell->rows, sell->columns, entries, matrix, cvtm_device_error(device));
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(device, matrix->row_start, work->csr.row_start,
                                  ((size_t)sell->rows + 1) * sizeof *matrix->row_start);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(device, matrix->column, work->csr.column,
                                  (size_t)entries * sizeof *matrix->column);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(device, matrix->value, work->csr.value,
                                  (size_t)entries * sizeof *matrix->value);
  }
  return status;
}

cvtm_status cvtm_sell_to_csr(cvtm_device *device, const cvtm_sell *sell, cvtm_csr *matrix) {
  memset(matrix, 0, sizeof *matrix);
  conversion work;
  cvtm_status status = conversion_open(device, sell->rows, sell->columns, &work);
  if (status == CVTM_OK) status = fill_csr(device, sell, &work, matrix);
  conversion_close(device, &work);
  if (status != CVTM_OK) cvtm_csr_free(matrix);
  return status;
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
      allocate(device, sell->entries / CVTM_SLICE_ROWS, sizeof *sell->run, (void **)&sell->run);
  return status == CVTM_OK ? CVTM_TABLE(device, cvtm_sparse_table)->find_runs(device, sell)
                           : status;
}

cvtm_status cvtm_sell_multiply(cvtm_device *device, const cvtm_sell *matrix, const double *x,
                               double *y) {
  if (matrix->rows == 0) return CVTM_OK;
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK) return status;
  return CVTM_TABLE(device, cvtm_sparse_table)->multiply(device, matrix, x, y);
}
