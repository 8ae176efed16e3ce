/* Sparse matrices: compressed sparse rows (CSR) for people, sliced ELLPACK of 32 rows
 * (the grouping of the RgCSR format) for devices. Columns are 32-bit, so a side is below 2^31;
 * nonzeros are counted in 64 bits. */
#ifndef CVTMESH_LCP_SPARSE_H
#define CVTMESH_LCP_SPARSE_H

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix in host memory. Row i holds entries row_start[i] .. row_start[i + 1] - 1,
 * their columns ascending. */
typedef struct cvtm_csr {
  int64_t rows, columns;
  int64_t *row_start; /* rows + 1; row_start[0] = 0 */
  int32_t *column;
  double *value;
} cvtm_csr;

/* Uninitialised arrays for that many entries; the caller frees. */
cvtm_status cvtm_csr_create(int64_t rows, int64_t columns, int64_t entries, cvtm_csr *matrix,
                            cvtm_error *error);
void cvtm_csr_free(cvtm_csr *matrix);

/* Refuses, naming `name`, the row (counted from 1) and the reason: row starts that decrease,
 * columns out of range, unsorted or twice in a row, values that are not finite. */
cvtm_status cvtm_csr_check(const cvtm_csr *matrix, const char *name, cvtm_error *error);
/* Also refuses a matrix that is not square and a diagonal that is missing, zero or negative. */
cvtm_status cvtm_csr_check_diagonal(const cvtm_csr *matrix, const char *name, cvtm_error *error);

enum { CVTM_SLICE_ROWS = 32 };

/* A matrix in device memory: rows are taken 32 at a time, and entry k of row r lies at
 * slice_start[r / 32] + 32 * k + r % 32. Rows shorter than their slice are padded
 * with zeros in the column of the row itself (column 0 where that is none). Where that adds little,
 * all slices are as long as the longest one. */
typedef struct cvtm_sell {
  int64_t rows, columns;
  int64_t entries;      /* stored, padding included */
  int64_t uniform;      /* entries of every slice; 0: they differ */
  int64_t *slice_start; /* slices + 1 */
  int32_t *column;
  double *value;
  int32_t *run; /* entries / 32: the column in the first row of a slice where those of the others
                   follow it one by one, so that they need not be read; else -1. NULL: not known */
} cvtm_sell;

/* Converts on the device; the caller frees. */
cvtm_status cvtm_sell_create(cvtm_device *device, const cvtm_csr *matrix, cvtm_sell *sell);
void cvtm_sell_free(cvtm_device *device, cvtm_sell *sell);
/* Fills in sell.run: worth it where most rows are like the one before, as on grids. */
cvtm_status cvtm_sell_find_runs(cvtm_device *device, cvtm_sell *sell);

#ifdef __cplusplus
}
#endif
#endif
