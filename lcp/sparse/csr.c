#include "lcp/sparse/csr.h"

#include "base/host.h"
#include "lcp/sparse/sell_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_status cvtm_csr_create(int64_t rows, int64_t columns, int64_t entries, cvtm_csr *matrix,
                            cvtm_error *error) {
  memset(matrix, 0, sizeof *matrix);
  if (rows < 0 || rows > INT32_MAX || columns < 0 || columns > INT32_MAX || entries < 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a matrix cannot be %lld x %lld with %lld entries",
                     (long long)rows, (long long)columns, (long long)entries);
  const size_t most = SIZE_MAX / sizeof(double) - 1;
  if ((uint64_t)entries > most)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld entries", (long long)entries);
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
  CVTM_TRY(cvtm_csr_create(matrix->rows, matrix->columns, entries, copy, error));
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
    if (column < 0 || column >= matrix->columns)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: column %lld is not within 1 .. %lld",
                       name, number, (long long)column + 1, (long long)matrix->columns);
    if (k > start && column <= matrix->column[k - 1])
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: column %lld %s", name, number,
                       (long long)column + 1,
                       column == matrix->column[k - 1] ? "appears twice" : "is out of order");
    if (!isfinite(matrix->value[k]))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: the value in column %lld is %g",
                       name, number, (long long)column + 1, matrix->value[k]);
  }
  return CVTM_OK;
}

#define ANY_DIAGONAL "; the methods lemke of lcp and newton of hlcp take any diagonal"

static cvtm_status check_diagonal_entry(const cvtm_csr *matrix, const char *name, int64_t row,
                                        cvtm_error *error) {
  int64_t k = matrix->row_start[row];
  const int64_t end = matrix->row_start[row + 1];
  while (k < end && matrix->column[k] < row) ++k;
  if (k == end || matrix->column[k] != row)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: row %lld: the diagonal entry is missing" ANY_DIAGONAL, name,
                     (long long)row + 1);
  if (matrix->value[k] > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: the diagonal entry is %s" ANY_DIAGONAL,
                   name, (long long)row + 1, matrix->value[k] < 0 ? "negative" : "zero");
}

typedef cvtm_status (*row_check)(const cvtm_csr *matrix, const char *name, int64_t row,
                                 cvtm_error *error);

/* Checks all rows, and reports the first row with an error. */
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
  if (matrix->row_start == NULL || matrix->row_start[0] != 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the first row does not start at 0", name);
  for (int64_t row = 0; row < matrix->rows; ++row) {
    if (matrix->row_start[row + 1] < matrix->row_start[row])
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: row %lld ends before it starts: row starts must not decrease", name,
                       (long long)row + 1);
  }
  if (matrix->row_start[matrix->rows] > 0 && (matrix->column == NULL || matrix->value == NULL))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no columns or values", name);
  return check_rows(matrix, name, threads, check_entries, error);
}

cvtm_status cvtm_csr_check(const cvtm_csr *matrix, const char *name, cvtm_error *error) {
  return check_structure(matrix, name, 1, error);
}

cvtm_status cvtm_csr_check_square(const cvtm_csr *matrix, const char *name, int threads,
                                  cvtm_error *error) {
  CVTM_TRY(check_structure(matrix, name, threads, error));
  if (matrix->rows != matrix->columns)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld rows and %lld columns: not square", name,
                     (long long)matrix->rows, (long long)matrix->columns);
  return check_rows(matrix, name, threads, check_diagonal_entry, error);
}

cvtm_status cvtm_csr_check_diagonal(const cvtm_csr *matrix, const char *name, cvtm_error *error) {
  return cvtm_csr_check_square(matrix, name, 1, error);
}

/* --- transposition ------------------------------------------------------------------------ */

/* Turns row lengths in row_start[1 ...] into row starts. */
static void add_lengths(int64_t *row_start, int64_t rows) {
  row_start[0] = 0;
  for (int64_t row = 0; row < rows; ++row) row_start[row + 1] += row_start[row];
}

/* Sorts the entries of a row by column. */
static void sort_row(int32_t *column, double *value, int64_t count) {
  if (count > CVTM_LONG_ROW) {
    cvtm_sort_long_row(column, value, 1, count);
    return;
  }
  for (int64_t k = 1; k < count; ++k)
    cvtm_insert_entry(column, value, 1, 0, k, column[k], value[k]);
}

void cvtm_csr_sort_rows(cvtm_csr *matrix, int threads) {
  const int64_t *start = matrix->row_start;
  (void)threads;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t row = 0; row < matrix->rows; ++row)
    sort_row(matrix->column + start[row], matrix->value + start[row], start[row + 1] - start[row]);
}

cvtm_status cvtm_csr_transpose(const cvtm_csr *matrix, int threads, cvtm_csr *transpose,
                               cvtm_error *error) {
  const int64_t entries = matrix->row_start[matrix->rows], rows = matrix->columns;
  CVTM_TRY(cvtm_csr_create(rows, matrix->rows, entries, transpose, error));
  int64_t *start = transpose->row_start;
  memset(start, 0, ((size_t)rows + 1) * sizeof *start);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t k = 0; k < entries; ++k) {
#pragma omp atomic
    ++start[matrix->column[k] + 1];
  }
  add_lengths(start, rows);
  /* threads fill a row in any order; rows are sorted afterwards */
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
  cvtm_csr_sort_rows(transpose, threads);
  return CVTM_OK;
}

/* --- symmetry -------------------------------------------------------------------------- */

int32_t cvtm_csr_next_column(const cvtm_csr *a, const cvtm_csr *b, int64_t row, int64_t *at_a,
                             int64_t *at_b, int64_t place[2]) {
  const int has_a = *at_a < a->row_start[row + 1], has_b = *at_b < b->row_start[row + 1];
  if (!has_a && !has_b) return -1;
  const int32_t column_a = has_a ? a->column[*at_a] : INT32_MAX;
  const int32_t column_b = has_b ? b->column[*at_b] : INT32_MAX;
  place[0] = has_a && column_a <= column_b ? (*at_a)++ : -1;
  place[1] = has_b && column_b <= column_a ? (*at_b)++ : -1;
  return column_a < column_b ? column_a : column_b;
}

/* Writes the entries of row `row` of the matrix to `pattern`, and zeros where only the transpose
 * has an entry. Returns the end of the row. If pattern->column is NULL, writes nothing and returns
 * the length of the row. */
static int64_t join_row(const cvtm_csr *matrix, const cvtm_csr *transpose, int64_t row,
                        cvtm_csr *pattern) {
  int64_t at_a = matrix->row_start[row], at_b = transpose->row_start[row], place[2];
  int64_t to = pattern->column != NULL ? pattern->row_start[row] : 0;
  int32_t column;
  for (; (column = cvtm_csr_next_column(matrix, transpose, row, &at_a, &at_b, place)) >= 0; ++to) {
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
  CVTM_TRY(cvtm_csr_copy(matrix, even, error));
  for (int64_t row = 0; row < matrix->rows; ++row) {
    weight[row] = ldexp(1, ilogb(cvtm_csr_entry(matrix, row, row)));
    for (int64_t k = even->row_start[row]; k < even->row_start[row + 1]; ++k)
      even->value[k] /= weight[row];
  }
  return CVTM_OK;
}

/* Rows first .. end - 1 of a matrix product. */
typedef struct product_part {
  int64_t first, end;
  int64_t row;             /* the row that is being computed */
  int64_t count, capacity; /* entries */
  int32_t *column;
  double *value;
  int32_t *place; /* for each column: 1 + the index of its entry in this row, or 0 */
} product_part;

static void part_free(product_part *part) {
  free(part->column);
  free(part->value);
  free(part->place);
}

/* Enlarges the memory to the size that the rows so far predict for the entire part, but at least to
 * double. Returns 0 if memory runs out. */
static int grow_part(product_part *part) {
  const double done = (double)(part->row - part->first + 1);
  const double guess = 1.05 * (double)part->count * (double)(part->end - part->first) / done;
  const int64_t least = 2 * part->count + 1024;
  const int64_t capacity = done > 256 && guess > (double)least ? (int64_t)guess : least;
  int32_t *column = cvtm_host_allocate((size_t)capacity * sizeof *column);
  double *value = cvtm_host_allocate((size_t)capacity * sizeof *value);
  if (column != NULL && value != NULL && part->count > 0) {
    memcpy(column, part->column, (size_t)part->count * sizeof *column);
    memcpy(value, part->value, (size_t)part->count * sizeof *value);
  }
  free(part->column);
  free(part->value);
  part->column = column;
  part->value = value;
  part->capacity = capacity;
  return column != NULL && value != NULL;
}

/* Adds a term to the row whose entries begin at `start`. Returns 0 if memory runs out. */
static int add_term(product_part *part, int64_t start, int32_t column, double term) {
  const int32_t place = part->place[column];
  if (place > 0) {
    part->value[start + place - 1] += term;
    return 1;
  }
  if (part->count == part->capacity && !grow_part(part)) return 0;
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

/* Computes the rows, and row_start[row + 1] = length of the row. Returns 0 if memory runs out. */
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
  CVTM_TRY(cvtm_csr_create(rows, rows, row_start[rows], product, error));
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
  const int has_memory = parts != NULL && row_start != NULL;
  int failed = !has_memory;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : failed)
  for (int t = 0; t < (has_memory ? threads : 0); ++t) {
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
