/* The Galerkin product P'AP of matrices in host memory: structure and values. Threads make parts of
 * rows, which are then joined. */
#include "lcp/sparse/csr.h"

#include "base/host_memory.h"

#include <stdlib.h>
#include <string.h>

/* Rows first .. end - 1 of a product. */
typedef struct product_part {
  int64_t first, end;
  int64_t row;             /* the row that is computed */
  int64_t count, capacity; /* entries */
  int32_t *column;
  double *value;
  int32_t *place; /* by column: 1 + the index of its entry in this row, 0 if it has none */
} product_part;

static void part_free(product_part *part) {
  free(part->column);
  free(part->value);
  free(part->place);
}

/* Capacity for the whole part, as estimated from the rows so far. Returns 0 if out of memory. */
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

/* Adds to the row whose entries begin at `start`. Returns 0 if out of memory. */
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
  cvtm_csr_sort_row(part->column + start, part->value + start, part->count - start);
  return 1;
}

/* Computes the part, and row_start[row + 1] = length of each row. Returns 0 if out of memory. */
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
    cvtm_csr_add_lengths(row_start, rows);
    status = join_parts(parts, threads, row_start, product, error);
  }
  for (int t = 0; t < threads && parts != NULL; ++t) part_free(&parts[t]);
  free(parts);
  free(row_start);
  return status;
}
