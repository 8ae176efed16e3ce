#include "lcp/sparse_algebra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_status cvtm_csr_transpose(const cvtm_csr *matrix, cvtm_csr *transpose, cvtm_error *error) {
  const int64_t entries = matrix->row_start[matrix->rows];
  const cvtm_status status =
      cvtm_csr_create(matrix->columns, matrix->rows, entries, transpose, error);
  if (status != CVTM_OK) return status;
  int64_t *start = transpose->row_start;
  memset(start, 0, ((size_t)matrix->columns + 1) * sizeof *start);
  for (int64_t k = 0; k < entries; ++k) ++start[matrix->column[k] + 1];
  for (int64_t row = 0; row < matrix->columns; ++row) start[row + 1] += start[row];
  for (int64_t row = 0; row < matrix->rows; ++row) {
    for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; ++k) {
      const int64_t to = start[matrix->column[k]]++;
      transpose->column[to] = (int32_t)row;
      transpose->value[to] = matrix->value[k];
    }
  }
  for (int64_t row = matrix->columns; row > 0; --row) start[row] = start[row - 1];
  start[0] = 0;
  return CVTM_OK;
}

/* --- P' A P ------------------------------------------------------------------------- */

/* A row that is being put together: columns ascending. */
typedef struct gathered_row {
  int64_t count, room;
  int32_t *column;
  double *value;
} gathered_row;

static int grow(gathered_row *row) {
  const int64_t room = row->room > 0 ? 2 * row->room : 64;
  int32_t *column = realloc(row->column, (size_t)room * sizeof *column);
  if (column != NULL) row->column = column;
  double *value = realloc(row->value, (size_t)room * sizeof *value);
  if (value != NULL) row->value = value;
  if (column == NULL || value == NULL) return 0;
  row->room = room;
  return 1;
}

/* 0: out of memory. */
static int add_term(gathered_row *row, int32_t column, double term) {
  int64_t low = 0, high = row->count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (row->column[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < row->count && row->column[low] == column) {
    row->value[low] += term;
    return 1;
  }
  if (row->count == row->room && !grow(row)) return 0;
  const size_t behind = (size_t)(row->count - low);
  memmove(row->column + low + 1, row->column + low, behind * sizeof *row->column);
  memmove(row->value + low + 1, row->value + low, behind * sizeof *row->value);
  row->column[low] = column;
  row->value[low] = term;
  ++row->count;
  return 1;
}

static int gather_product_row(const cvtm_csr *a, const cvtm_csr *p, const cvtm_csr *r, int64_t row,
                              gathered_row *out) {
  out->count = 0;
  for (int64_t k = r->row_start[row]; k < r->row_start[row + 1]; ++k) {
    const int32_t i = r->column[k];
    for (int64_t m = a->row_start[i]; m < a->row_start[i + 1]; ++m) {
      const int32_t j = a->column[m];
      const double weight = r->value[k] * a->value[m];
      for (int64_t l = p->row_start[j]; l < p->row_start[j + 1]; ++l)
        if (!add_term(out, p->column[l], weight * p->value[l])) return 0;
    }
  }
  return 1;
}

typedef struct product_job {
  const cvtm_csr *a, *p, *r;
  cvtm_csr *product;
  int is_fill; /* else only row_start[row + 1] = length of the row */
} product_job;

/* Returns 0 if memory ran out. */
static int product_pass(const product_job *job, int threads) {
  int failed = 0;
  cvtm_csr *product = job->product;
#pragma omp parallel num_threads(threads) reduction(max : failed)
  {
    gathered_row row = {0, 0, NULL, NULL};
#pragma omp for schedule(static)
    for (int64_t i = 0; i < job->r->rows; ++i) {
      if (!gather_product_row(job->a, job->p, job->r, i, &row)) failed = 1;
      if (job->is_fill) {
        const int64_t start = product->row_start[i];
        const size_t count = (size_t)(product->row_start[i + 1] - start);
        if ((int64_t)count != row.count || count == 0) continue;
        memcpy(product->column + start, row.column, count * sizeof *row.column);
        memcpy(product->value + start, row.value, count * sizeof *row.value);
      } else {
        product->row_start[i + 1] = row.count;
      }
    }
    free(row.column);
    free(row.value);
  }
  (void)threads;
  return !failed;
}

cvtm_status cvtm_csr_galerkin(const cvtm_csr *matrix, const cvtm_csr *prolongation,
                              const cvtm_csr *restriction, int threads, cvtm_csr *product,
                              cvtm_error *error) {
  const int64_t rows = restriction->rows;
  cvtm_csr lengths;
  cvtm_status status = cvtm_csr_create(rows, rows, 0, &lengths, error);
  if (status != CVTM_OK) return status;
  product_job job = {matrix, prolongation, restriction, &lengths, 0};
  int is_whole = product_pass(&job, threads);
  for (int64_t row = 0; row < rows; ++row) lengths.row_start[row + 1] += lengths.row_start[row];
  status = cvtm_csr_create(rows, rows, lengths.row_start[rows], product, error);
  if (status == CVTM_OK) {
    memcpy(product->row_start, lengths.row_start, ((size_t)rows + 1) * sizeof *product->row_start);
    job.product = product;
    job.is_fill = 1;
    is_whole &= product_pass(&job, threads);
    if (!is_whole) {
      cvtm_csr_free(product);
      status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse matrix");
    }
  }
  cvtm_csr_free(&lengths);
  return status;
}

/* --- order and symmetry -------------------------------------------------------------- */

/* By insertion: rows are short, and mostly in order. */
static void sort_row(int32_t *column, double *value, int64_t count) {
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

cvtm_status cvtm_csr_permute(const cvtm_csr *matrix, const int32_t *row_order,
                             const int32_t *column_place, cvtm_csr *permuted, cvtm_error *error) {
  const cvtm_status status = cvtm_csr_create(matrix->rows, matrix->columns,
                                             matrix->row_start[matrix->rows], permuted, error);
  if (status != CVTM_OK) return status;
  for (int64_t row = 0; row < matrix->rows; ++row) {
    const int64_t from = row_order[row];
    const int64_t start = permuted->row_start[row], from_start = matrix->row_start[from];
    const int64_t count = matrix->row_start[from + 1] - from_start;
    for (int64_t k = 0; k < count; ++k) {
      permuted->column[start + k] = column_place[matrix->column[from_start + k]];
      permuted->value[start + k] = matrix->value[from_start + k];
    }
    sort_row(permuted->column + start, permuted->value + start, count);
    permuted->row_start[row + 1] = start + count;
  }
  return CVTM_OK;
}

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

cvtm_status cvtm_csr_symmetric_pattern(const cvtm_csr *matrix, cvtm_csr *pattern,
                                       cvtm_error *error) {
  cvtm_csr transpose;
  cvtm_status status = cvtm_csr_transpose(matrix, &transpose, error);
  if (status != CVTM_OK) return status;
  status = cvtm_csr_create(matrix->rows, matrix->rows, 2 * matrix->row_start[matrix->rows], pattern,
                           error);
  if (status == CVTM_OK) {
    int64_t count = 0, at_a = 0, at_b = 0, place[2];
    for (int64_t row = 0; row < matrix->rows; ++row) {
      int32_t column;
      while ((column = next_column(matrix, &transpose, row, &at_a, &at_b, place)) >= 0) {
        pattern->column[count] = column;
        pattern->value[count++] = place[0] >= 0 ? matrix->value[place[0]] : 0;
      }
      pattern->row_start[row + 1] = count;
    }
  }
  cvtm_csr_free(&transpose);
  return status;
}

cvtm_status cvtm_csr_asymmetric_row(const cvtm_csr *matrix, int64_t *row, cvtm_error *error) {
  const double rounding = 1e-12;
  cvtm_csr transpose;
  const cvtm_status status = cvtm_csr_transpose(matrix, &transpose, error);
  if (status != CVTM_OK) return status;
  int64_t at_a = 0, at_b = 0, place[2];
  *row = -1;
  for (int64_t i = 0; i < matrix->rows && *row < 0; ++i) {
    while (next_column(matrix, &transpose, i, &at_a, &at_b, place) >= 0) {
      const double a = place[0] >= 0 ? matrix->value[place[0]] : 0;
      const double b = place[1] >= 0 ? transpose.value[place[1]] : 0;
      if (*row < 0 && fabs(a - b) > rounding * (fabs(a) + fabs(b))) *row = i;
    }
  }
  cvtm_csr_free(&transpose);
  return CVTM_OK;
}
