#include "lcp/sparse/sparse_algebra.h"

#include "base/host_memory.h"
#include "lcp/sparse/sparse_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Row lengths in row_start[1 ...] become row starts. */
static void add_lengths(int64_t *row_start, int64_t rows) {
  row_start[0] = 0;
  for (int64_t row = 0; row < rows; ++row) row_start[row + 1] += row_start[row];
}

static void sort_row(int32_t *column, double *value, int64_t count) {
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
  add_lengths(start, rows);
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
    sort_row(transpose->column + start[row], transpose->value + start[row],
             start[row + 1] - start[row]);
  (void)threads;
  return CVTM_OK;
}

/* --- P' A P ------------------------------------------------------------------------- */

/* Rows first .. end - 1 of a product, one behind the other. */
typedef struct product_part {
  int64_t first, end;
  int64_t row; /* under way */
  int64_t count, room;
  int32_t *column;
  double *value;
  int32_t *place; /* by column: 1 + its place in the row under way, else 0 */
} product_part;

static void part_free(product_part *part) {
  free(part->column);
  free(part->value);
  free(part->place);
}

/* Room for the rest of the part if its rows are like those so far. 0: out of memory. */
static int grow(product_part *part) {
  const double done = (double)(part->row - part->first + 1);
  const double guess = 1.05 * (double)part->count * (double)(part->end - part->first) / done;
  const int64_t least = 2 * part->count + 1024;
  const int64_t room = done > 256 && guess > (double)least ? (int64_t)guess : least;
  int32_t *column = cvtm_host_allocate((size_t)room * sizeof *column);
  double *value = cvtm_host_allocate((size_t)room * sizeof *value);
  if (column != NULL && value != NULL && part->count > 0) {
    memcpy(column, part->column, (size_t)part->count * sizeof *column);
    memcpy(value, part->value, (size_t)part->count * sizeof *value);
  }
  free(part->column);
  free(part->value);
  part->column = column;
  part->value = value;
  part->room = room;
  return column != NULL && value != NULL;
}

/* Adds to the row that began at `start`. 0: out of memory. */
static int add_term(product_part *part, int64_t start, int32_t column, double term) {
  const int32_t place = part->place[column];
  if (place > 0) {
    part->value[start + place - 1] += term;
    return 1;
  }
  if (part->count == part->room && !grow(part)) return 0;
  part->column[part->count] = column;
  part->value[part->count] = term;
  part->place[column] = (int32_t)(++part->count - start);
  return 1;
}

static int add_product_row(const cvtm_csr *a, const cvtm_csr *p, const cvtm_csr *r, int64_t row,
                           product_part *part) {
  const int64_t start = part->count;
  for (int64_t k = r->row_start[row]; k < r->row_start[row + 1]; ++k) {
    const int32_t i = r->column[k];
    for (int64_t m = a->row_start[i]; m < a->row_start[i + 1]; ++m) {
      const int32_t j = a->column[m];
      const double weight = r->value[k] * a->value[m];
      for (int64_t l = p->row_start[j]; l < p->row_start[j + 1]; ++l)
        if (!add_term(part, start, p->column[l], weight * p->value[l])) return 0;
    }
  }
  for (int64_t k = start; k < part->count; ++k) part->place[part->column[k]] = 0;
  sort_row(part->column + start, part->value + start, part->count - start);
  return 1;
}

/* Also row_start[row + 1] = length of the row. 0: out of memory. */
static int multiply_part(const cvtm_csr *a, const cvtm_csr *p, const cvtm_csr *r,
                         int64_t *row_start, product_part *part) {
  part->place = calloc((size_t)p->columns + 1, sizeof *part->place);
  if (part->place == NULL) return 0;
  for (part->row = part->first; part->row < part->end; ++part->row) {
    const int64_t before = part->count;
    if (!add_product_row(a, p, r, part->row, part)) return 0;
    row_start[part->row + 1] = part->count - before;
  }
  return 1;
}

static cvtm_status join_parts(const product_part *parts, int count, const int64_t *row_start,
                              cvtm_csr *product, cvtm_error *error) {
  const int64_t rows = parts[count - 1].end;
  const cvtm_status status = cvtm_csr_create(rows, rows, row_start[rows], product, error);
  if (status != CVTM_OK) return status;
  memcpy(product->row_start, row_start, ((size_t)rows + 1) * sizeof *row_start);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int t = 0; t < count; ++t) {
    const product_part *part = &parts[t];
    const int64_t to = row_start[part->first];
    if (part->count == 0) continue;
    memcpy(product->column + to, part->column, (size_t)part->count * sizeof *part->column);
    memcpy(product->value + to, part->value, (size_t)part->count * sizeof *part->value);
  }
  return CVTM_OK;
}

cvtm_status cvtm_csr_galerkin(const cvtm_csr *matrix, const cvtm_csr *prolongation,
                              const cvtm_csr *restriction, int threads, cvtm_csr *product,
                              cvtm_error *error) {
  const int64_t rows = restriction->rows;
  product_part *parts = calloc((size_t)threads, sizeof *parts);
  int64_t *row_start = malloc(((size_t)rows + 1) * sizeof *row_start);
  const int has_room = parts != NULL && row_start != NULL;
  int failed = !has_room;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : failed)
  for (int t = 0; t < (has_room ? threads : 0); ++t) {
    parts[t].first = rows * t / threads;
    parts[t].end = rows * (t + 1) / threads;
    failed |= !multiply_part(matrix, prolongation, restriction, row_start, &parts[t]);
  }
  cvtm_status status = CVTM_OK;
  if (failed) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse matrix");
  } else {
    add_lengths(row_start, rows);
    status = join_parts(parts, threads, row_start, product, error);
  }
  for (int t = 0; t < threads && parts != NULL; ++t) part_free(&parts[t]);
  free(parts);
  free(row_start);
  return status;
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
    add_lengths(lengths.row_start, rows);
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

/* The value in that row and column, 0 where there is none. */
static double value_at(const cvtm_csr *matrix, int64_t row, int32_t column) {
  int64_t low = matrix->row_start[row];
  const int64_t end = matrix->row_start[row + 1];
  int64_t high = end;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (matrix->column[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low < end && matrix->column[low] == column ? matrix->value[low] : 0;
}

int64_t cvtm_csr_asymmetric_row(const cvtm_csr *matrix, int threads) {
  const double rounding = 1e-12;
  int64_t first = matrix->rows;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : first)
  for (int64_t i = 0; i < matrix->rows; ++i) {
    for (int64_t k = matrix->row_start[i]; k < matrix->row_start[i + 1]; ++k) {
      const int32_t j = matrix->column[k];
      const double a = matrix->value[k], b = j == i ? a : value_at(matrix, j, (int32_t)i);
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
    weight[row] = ldexp(1, ilogb(value_at(matrix, row, (int32_t)row)));
    for (int64_t k = start[row]; k < start[row + 1]; ++k) {
      even->column[k] = matrix->column[k];
      even->value[k] = matrix->value[k] / weight[row];
    }
    even->row_start[row + 1] = start[row + 1];
  }
  return CVTM_OK;
}
