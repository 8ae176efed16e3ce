#include "lcp/sparse/aggregation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Instead of an aggregate: a row without strong links; one that has not been assigned yet. */
enum { ISOLATED = -2, FREE = -1 };

typedef struct aggregates {
  const cvtm_csr *matrix;
  double limit; /* a link is strong if |a_ij| > limit sqrt|a_ii a_jj| */
  double *diagonal;
  int32_t *member; /* aggregate of each row, or FREE or ISOLATED */
  int32_t *root;   /* of each aggregate */
  int64_t count;
} aggregates;

static int is_strong(const aggregates *work, int64_t row, int64_t k) {
  const int32_t column = work->matrix->column[k];
  const double value = work->matrix->value[k];
  return column != row && fabs(value) > work->limit * sqrt(fabs(work->diagonal[row])) *
                                            sqrt(fabs(work->diagonal[column]));
}

static void read_diagonal(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    work->diagonal[row] = 0;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (a->column[k] == row) work->diagonal[row] = a->value[k];
  }
}

static void mark_isolated_rows(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    work->member[row] = ISOLATED;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (is_strong(work, row, k)) work->member[row] = FREE;
  }
}

/* A new aggregate of a row and its free strong neighbours. */
static void start_aggregate(aggregates *work, int64_t row) {
  const cvtm_csr *a = work->matrix;
  const int32_t mine = (int32_t)work->count++;
  work->root[mine] = (int32_t)row;
  work->member[row] = mine;
  for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
    if (is_strong(work, row, k) && work->member[a->column[k]] == FREE)
      work->member[a->column[k]] = mine;
}

/* First pass: rows whose strong neighbours are all free start aggregates. */
static void start_from_free_neighbourhoods(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    int whole = work->member[row] == FREE;
    for (int64_t k = a->row_start[row]; whole && k < a->row_start[row + 1]; ++k)
      whole = !is_strong(work, row, k) || work->member[a->column[k]] < 0;
    if (whole) start_aggregate(work, row);
  }
}

/* Second pass: each free row joins the aggregate of its strongest link among those of the first
 * pass. */
static void join_strongest_link(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    if (work->member[row] != FREE) continue;
    double strongest = 0;
    int32_t chosen = FREE;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
      const int32_t other = work->member[a->column[k]];
      if (!is_strong(work, row, k) || other < 0 || fabs(a->value[k]) <= strongest) continue;
      strongest = fabs(a->value[k]);
      chosen = other;
    }
    if (chosen >= 0)
      work->member[row] = (int32_t)(-3 - chosen); /* encoded: not an aggregate of the first pass */
  }
  for (int64_t row = 0; row < a->rows; ++row)
    if (work->member[row] < ISOLATED) work->member[row] = -3 - work->member[row];
}

/* Third pass, in the loop: rows still free start aggregates. */
static void aggregate_rows(aggregates *work) {
  read_diagonal(work);
  mark_isolated_rows(work);
  start_from_free_neighbourhoods(work);
  join_strongest_link(work);
  for (int64_t row = 0; row < work->matrix->rows; ++row)
    if (work->member[row] == FREE) start_aggregate(work, row);
}

/* Piecewise constant interpolation: 1 in the column of each row's aggregate. */
static cvtm_status build_piecewise_constant(const aggregates *work, cvtm_csr *p,
                                            cvtm_error *error) {
  const int64_t rows = work->matrix->rows;
  const cvtm_status status = cvtm_csr_create(rows, work->count, rows, p, error);
  if (status != CVTM_OK) return status;
  int64_t k = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (work->member[row] >= 0) {
      p->column[k] = work->member[row];
      p->value[k++] = 1;
    }
    p->row_start[row + 1] = k;
  }
  return CVTM_OK;
}

/* Adds to the sorted entries start .. *end - 1 of a row. */
static void add_entry(cvtm_csr *p, int64_t start, int64_t *end, int32_t column, double term) {
  int64_t k = *end;
  while (k > start && p->column[k - 1] > column) --k;
  if (k > start && p->column[k - 1] == column) {
    p->value[k - 1] += term;
    return;
  }
  for (int64_t m = (*end)++; m > k; --m) {
    p->column[m] = p->column[m - 1];
    p->value[m] = p->value[m - 1];
  }
  p->column[k] = column;
  p->value[k] = term;
}

/* (I - 2/3 D^-1 A_F) times the piecewise constant interpolation. A_F is A with its weak links added
 * to the diagonal, which is D. */
static cvtm_status build_smoothed(const aggregates *work, cvtm_csr *p, cvtm_error *error) {
  const cvtm_csr *a = work->matrix;
  const double damping = 2.0 / 3.0;
  const cvtm_status status = cvtm_csr_create(a->rows, work->count, a->row_start[a->rows], p, error);
  if (status != CVTM_OK) return status;
  int64_t end = 0;
  for (int64_t row = 0; row < a->rows; ++row) {
    const int64_t start = end;
    double filtered = work->diagonal[row];
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (a->column[k] != row && !is_strong(work, row, k)) filtered += a->value[k];
    if (!(filtered > 0)) filtered = work->diagonal[row];
    if (work->member[row] >= 0) add_entry(p, start, &end, work->member[row], 1 - damping);
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
      const int32_t other = work->member[a->column[k]];
      if (work->member[row] >= 0 && is_strong(work, row, k) && other >= 0)
        add_entry(p, start, &end, other, -damping * a->value[k] / filtered);
    }
    p->row_start[row + 1] = end;
  }
  return CVTM_OK;
}

cvtm_status cvtm_aggregate(const cvtm_csr *matrix, int level, int smoothed, cvtm_csr *prolongation,
                           int32_t **centre, cvtm_error *error) {
  const size_t rows = (size_t)matrix->rows;
  aggregates work = {matrix,
                     0.08 * pow(0.5, level),
                     malloc((rows + 1) * sizeof(double)),
                     malloc((rows + 1) * sizeof(int32_t)),
                     malloc((rows + 1) * sizeof(int32_t)),
                     0};
  cvtm_status status = CVTM_OK;
  if (work.diagonal == NULL || work.member == NULL || work.root == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for aggregates");
  } else {
    aggregate_rows(&work);
    status = smoothed ? build_smoothed(&work, prolongation, error)
                      : build_piecewise_constant(&work, prolongation, error);
  }
  *centre = status == CVTM_OK ? work.root : NULL;
  if (status != CVTM_OK) free(work.root);
  free(work.diagonal);
  free(work.member);
  return status;
}
