#include "lcp/sparse/csr.h"

#include "base/host_memory.h"
#include "base/search.h"
#include "lcp/sparse/sell_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

cvtm_status cvtm_csr_copy(const cvtm_csr *matrix, cvtm_csr *copy, cvtm_error *error) {
  const int64_t entries = matrix->row_start[matrix->rows];
  const cvtm_status status = cvtm_csr_create(matrix->rows, matrix->columns, entries, copy, error);
  if (status != CVTM_OK) return status;
  memcpy(copy->row_start, matrix->row_start, ((size_t)matrix->rows + 1) * sizeof *copy->row_start);
  memcpy(copy->column, matrix->column, (size_t)entries * sizeof *copy->column);
  memcpy(copy->value, matrix->value, (size_t)entries * sizeof *copy->value);
  return CVTM_OK;
}

double cvtm_csr_entry(const cvtm_csr *matrix, int64_t row, int64_t column) {
  const int64_t start = matrix->row_start[row], end = matrix->row_start[row + 1];
  if (column < 0 || column >= matrix->columns) return 0;
  const int64_t k = cvtm_lower_bound_32(matrix->column, start, end, (int32_t)column);
  return k < end && matrix->column[k] == column ? matrix->value[k] : 0;
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

cvtm_status cvtm_csr_check_square(const cvtm_csr *matrix, const char *name, int threads,
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
  return cvtm_csr_check_square(matrix, name, 1, error);
}

/* --- transposition ------------------------------------------------------------------------ */

/* Row lengths in row_start[1 ...] become row starts. */
void cvtm_csr_add_lengths(int64_t *row_start, int64_t rows) {
  row_start[0] = 0;
  for (int64_t row = 0; row < rows; ++row) row_start[row + 1] += row_start[row];
}

void cvtm_csr_sort_row(int32_t *column, double *value, int64_t count) {
  if (count > CVTM_LONG_ROW) {
    cvtm_sort_long_row(column, value, 1, count);
    return;
  }
  for (int64_t k = 1; k < count; ++k) {
    const int32_t c = column[k];
    const double v = value[k];
    int64_t to = k;
    for (; to > 0 && column[to - 1] > c; --to) {
      column[to] = column[to - 1];
      value[to] = value[to - 1];
    }
    column[to] = c;
    value[to] = v;
  }
}

cvtm_status cvtm_csr_transpose(const cvtm_csr *matrix, int threads, cvtm_csr *transpose,
                               cvtm_error *error) {
  const int64_t entries = matrix->row_start[matrix->rows], rows = matrix->columns;
  cvtm_status status = cvtm_csr_create(rows, matrix->rows, entries, transpose, error);
  if (status != CVTM_OK) return status;
  int64_t *start = transpose->row_start;
  memset(start, 0, ((size_t)rows + 1) * sizeof *start);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t k = 0; k < entries; ++k) {
#pragma omp atomic
    ++start[matrix->column[k] + 1];
  }
  cvtm_csr_add_lengths(start, rows);
  /* Threads fill a row in any order; sorting makes it the same every time. */
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t row = 0; row < matrix->rows; ++row) {
    for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; ++k) {
      int64_t to;
#pragma omp atomic capture
      to = start[matrix->column[k]]++;
      transpose->column[to] = (int32_t)row;
      transpose->value[to] = matrix->value[k];
    }
  }
  memmove(start + 1, start, (size_t)rows * sizeof *start);
  start[0] = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t row = 0; row < rows; ++row)
    cvtm_csr_sort_row(transpose->column + start[row], transpose->value + start[row],
                      start[row + 1] - start[row]);
  (void)threads;
  return CVTM_OK;
}

/* --- symmetry -------------------------------------------------------------------------- */

/* Walks row `row` of both matrices, columns ascending; returns the next column, with the
 * places of its entries (-1: none), or -1 at the end. */
static int32_t next_column(const cvtm_csr *a, const cvtm_csr *b, int64_t row, int64_t *at_a,
                           int64_t *at_b, int64_t place[2]) {
  const int has_a = *at_a < a->row_start[row + 1], has_b = *at_b < b->row_start[row + 1];
  if (!has_a && !has_b) return -1;
  const int32_t column_a = has_a ? a->column[*at_a] : INT32_MAX;
  const int32_t column_b = has_b ? b->column[*at_b] : INT32_MAX;
  place[0] = has_a && column_a <= column_b ? (*at_a)++ : -1;
  place[1] = has_b && column_b <= column_a ? (*at_b)++ : -1;
  return column_a < column_b ? column_a : column_b;
}

/* The row of a pattern that joins a matrix and its transpose; pattern->column NULL: only its
 * length is counted. */
static int64_t join_row(const cvtm_csr *matrix, const cvtm_csr *transpose, int64_t row,
                        cvtm_csr *pattern) {
  int64_t at_a = matrix->row_start[row], at_b = transpose->row_start[row], place[2];
  int64_t to = pattern->column != NULL ? pattern->row_start[row] : 0;
  int32_t column;
  for (; (column = next_column(matrix, transpose, row, &at_a, &at_b, place)) >= 0; ++to) {
    if (pattern->column == NULL) continue;
    pattern->column[to] = column;
    pattern->value[to] = place[0] >= 0 ? matrix->value[place[0]] : 0;
  }
  return to;
}

cvtm_status cvtm_csr_symmetric_pattern(const cvtm_csr *matrix, int threads, cvtm_csr *pattern,
                                       cvtm_error *error) {
  const int64_t rows = matrix->rows;
  cvtm_csr transpose;
  cvtm_csr lengths = {rows, rows, malloc(((size_t)rows + 1) * sizeof(int64_t)), NULL, NULL};
  if (lengths.row_start == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a symmetric pattern");
  cvtm_status status = cvtm_csr_transpose(matrix, threads, &transpose, error);
  if (status == CVTM_OK) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < rows; ++row)
      lengths.row_start[row + 1] = join_row(matrix, &transpose, row, &lengths);
    cvtm_csr_add_lengths(lengths.row_start, rows);
    status = cvtm_csr_create(rows, rows, lengths.row_start[rows], pattern, error);
  }
  if (status == CVTM_OK) {
    memcpy(pattern->row_start, lengths.row_start, ((size_t)rows + 1) * sizeof(int64_t));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < rows; ++row) (void)join_row(matrix, &transpose, row, pattern);
  }
  cvtm_csr_free(&transpose);
  free(lengths.row_start);
  return status;
}

int64_t cvtm_csr_asymmetric_row(const cvtm_csr *matrix, int threads) {
  const double rounding = 1e-12;
  int64_t first = matrix->rows;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : first)
  for (int64_t i = 0; i < matrix->rows; ++i) {
    for (int64_t k = matrix->row_start[i]; k < matrix->row_start[i + 1]; ++k) {
      const int32_t j = matrix->column[k];
      const double a = matrix->value[k], b = j == i ? a : cvtm_csr_entry(matrix, j, i);
      const int64_t row = i < j ? i : j;
      if (fabs(a - b) > rounding * (fabs(a) + fabs(b)) && row < first) first = row;
    }
  }
  (void)threads;
  return first < matrix->rows ? first : -1;
}

cvtm_status cvtm_csr_equilibrate(const cvtm_csr *matrix, cvtm_csr *even, double *weight,
                                 cvtm_error *error) {
  const int64_t *start = matrix->row_start;
  const cvtm_status status =
      cvtm_csr_create(matrix->rows, matrix->columns, start[matrix->rows], even, error);
  if (status != CVTM_OK) return status;
  even->row_start[0] = 0;
  for (int64_t row = 0; row < matrix->rows; ++row) {
    weight[row] = ldexp(1, ilogb(cvtm_csr_entry(matrix, row, row)));
    for (int64_t k = start[row]; k < start[row + 1]; ++k) {
      even->column[k] = matrix->column[k];
      even->value[k] = matrix->value[k] / weight[row];
    }
    even->row_start[row + 1] = start[row + 1];
  }
  return CVTM_OK;
}
