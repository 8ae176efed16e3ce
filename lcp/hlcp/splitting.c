/* From matrices to the triangular systems of a sweep: the strictly lower parts of the blocks, times
 * beta. */
#include "lcp/hlcp/hlcp_solver.h"

#include "lcp/sparse/csr.h"

#include <stdlib.h>
#include <string.h>

static cvtm_status no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to set up a multisplitting");
}

/* --- Omega -------------------------------------------------------------------------------- */

static cvtm_status omega_row(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *options,
                             int64_t row, double *omega, cvtm_error *error) {
  double value = options->omega;
  if (options->scaling == CVTM_HLCP_OMEGA_VECTOR) value = options->omega_vector[row];
  if (options->scaling == CVTM_HLCP_OMEGA_RATIO) {
    value *= cvtm_csr_entry(a, row, row) / cvtm_csr_entry(b, row, row);
  }
  *omega = value;
  if (value > 0 && isfinite(value)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "Omega: row %lld: %g is not positive",
                   (long long)row + 1, value);
}

cvtm_status cvtm_hlcp_omega(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *options,
                            double **omega, cvtm_error *error) {
  double *values = malloc(((size_t)a->rows + 1) * sizeof *values);
  if (values == NULL) return no_memory(error);
  cvtm_status status = CVTM_OK;
  for (int64_t row = 0; row < a->rows && status == CVTM_OK; ++row) {
    status = omega_row(a, b, options, row, &values[row], error);
  }
  if (status != CVTM_OK) free(values);
  if (status == CVTM_OK) *omega = values;
  return status;
}

cvtm_status cvtm_hlcp_scale_columns(const cvtm_csr *b, const double *omega, cvtm_csr *scaled,
                                    cvtm_error *error) {
  const int64_t entries = b->row_start[b->rows];
  const cvtm_status status = cvtm_csr_create(b->rows, b->columns, entries, scaled, error);
  if (status != CVTM_OK) return status;
  memcpy(scaled->row_start, b->row_start, ((size_t)b->rows + 1) * sizeof *b->row_start);
  memcpy(scaled->column, b->column, (size_t)entries * sizeof *b->column);
  for (int64_t k = 0; k < entries; ++k) scaled->value[k] = b->value[k] * omega[b->column[k]];
  return CVTM_OK;
}

/* --- the systems in host memory ------------------------------------------------------------ */

/* Walks the strictly lower part of a row of two matrices, columns ascending. */
typedef struct merged_row {
  const cvtm_csr *a, *b;
  int64_t row, at_a, at_b;
} merged_row;

/* Returns the next column with its entries in both matrices (0: none), or the row at the end. */
static int64_t next_column(merged_row *m, double *a, double *b) {
  int64_t column = m->row;
  const int64_t end_a = m->a->row_start[m->row + 1], end_b = m->b->row_start[m->row + 1];
  const int32_t *columns_a = m->a->column, *columns_b = m->b->column;
  if (m->at_a < end_a && columns_a[m->at_a] < column) column = columns_a[m->at_a];
  if (m->at_b < end_b && columns_b[m->at_b] < column) column = columns_b[m->at_b];
  *a = *b = 0;
  if (m->at_a < end_a && columns_a[m->at_a] == column) *a = m->a->value[m->at_a++];
  if (m->at_b < end_b && columns_b[m->at_b] == column) *b = m->b->value[m->at_b++];
  return column;
}

/* Row i of beta / M_ii times the strictly lower part of its block, which has the rows from `first`
 * on, written from entry `at` of csr on (NULL: not written). Returns the number of entries. */
static int64_t put_lower_row(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *o,
                             int64_t i, int64_t first, int64_t at, cvtm_csr *csr) {
  const int a_only = o->split == CVTM_HLCP_SPLIT_A_ONLY;
  const double diagonal =
      cvtm_csr_entry(a, i, i) + (a_only ? o->alpha : 1) * cvtm_csr_entry(b, i, i);
  merged_row m = {a, b, i, a->row_start[i], b->row_start[i]};
  int64_t count = 0;
  double of_a = 0, of_b = 0;
  if (o->beta == 0) return 0;
  for (int64_t j = next_column(&m, &of_a, &of_b); j < i; j = next_column(&m, &of_a, &of_b)) {
    const double value = a_only ? of_a : of_a + of_b;
    if (value == 0 || (j < first && o->rule == CVTM_HLCP_BLOCK)) continue;
    if (csr != NULL) {
      csr->column[at + count] = (int32_t)(j < first ? j : a->rows + j);
      csr->value[at + count] = o->beta * value / diagonal;
    }
    ++count;
  }
  return count;
}

static cvtm_status build_lower(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *o,
                               int64_t splits, cvtm_csr *lower, cvtm_error *error) {
  const int64_t n = a->rows;
  if (n > INT32_MAX / 2)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld unknowns are too many", (long long)n);
  int64_t entries = 0;
  /* First pass: count; second pass: fill. */
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      const cvtm_status status = cvtm_csr_create(n, 2 * n, entries, lower, error);
      if (status != CVTM_OK) return status;
    }
    for (int64_t k = 0; k < splits; ++k) {
      const int64_t first = cvtm_hlcp_block_start(n, splits, k);
      const int64_t end = cvtm_hlcp_block_start(n, splits, k + 1);
      for (int64_t i = first; i < end; ++i) {
        const int64_t start = pass == 1 ? lower->row_start[i] : 0;
        const int64_t count = put_lower_row(a, b, o, i, first, start, pass == 1 ? lower : NULL);
        if (pass == 1) lower->row_start[i + 1] = start + count;
        entries += count;
      }
    }
  }
  return CVTM_OK;
}

/* --- to the device ------------------------------------------------------------------------- */

/* True if some unknown depends on another. */
static int is_chained(const cvtm_csr *lower) {
  for (int64_t t = 0; t < lower->row_start[lower->rows]; ++t) {
    if (lower->column[t] >= lower->rows) return 1;
  }
  return 0;
}

cvtm_status cvtm_hlcp_systems_create(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                                     const cvtm_hlcp_options *options, int64_t splits,
                                     cvtm_hlcp_systems *systems) {
  cvtm_csr lower = {0, 0, NULL, NULL, NULL};
  memset(systems, 0, sizeof *systems);
  cvtm_status status = build_lower(a, b, options, splits, &lower, cvtm_device_error(device));
  if (status == CVTM_OK) {
    systems->blocks = splits;
    systems->chained = is_chained(&lower);
    systems->largest = cvtm_hlcp_block_start(a->rows, splits, 1); /* the first is the largest */
    systems->block_threads = options->block_threads;
    status = cvtm_sell_create(device, &lower, &systems->lower);
  }
  cvtm_csr_free(&lower);
  if (status != CVTM_OK) cvtm_hlcp_systems_free(device, systems);
  return status;
}

void cvtm_hlcp_systems_free(cvtm_device *device, cvtm_hlcp_systems *systems) {
  cvtm_sell_free(device, &systems->lower);
  memset(systems, 0, sizeof *systems);
}
