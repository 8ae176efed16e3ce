/* Sparse matrices: compressed sparse rows (CSR) in host memory, sliced ELLPACK with slices of 32
 * rows (as in the RgCSR format) in device memory. Columns are 32-bit numbers, so a side is below
 * 2^31; nonzeros are counted in 64 bits. */
#pragma once

#include "base/device.h"

CVTM_API_BEGIN

/* A matrix in host memory. Row i has the entries row_start[i] .. row_start[i + 1] - 1, and columns
 * ascend within a row. */
typedef struct cvtm_csr {
  int64_t rows, columns;
  int64_t *row_start; /* rows + 1; row_start[0] = 0 */
  int32_t *column;
  double *value;
} cvtm_csr;

/* Allocates uninitialised arrays for `entries` entries, which the caller frees. */
cvtm_status cvtm_csr_create(int64_t rows, int64_t columns, int64_t entries, cvtm_csr *matrix,
                            cvtm_error *error);
void cvtm_csr_free(cvtm_csr *matrix);

/* Fails for row starts that decrease, columns out of range, unsorted or repeated in a row, and
 * values that are not finite. The message gives `name`, the row (counted from 1) and the reason. */
cvtm_status cvtm_csr_check(const cvtm_csr *matrix, const char *name, cvtm_error *error);
/* cvtm_csr_check; also fails for a matrix that is not square, or diagonal entries not above 0. */
cvtm_status cvtm_csr_check_diagonal(const cvtm_csr *matrix, const char *name, cvtm_error *error);

enum { CVTM_SLICE_ROWS = 32 };

/* A matrix in device memory in slices of 32 rows. Entry k of row r has index slice_start[r / 32] +
 * 32 * k + r % 32. Rows shorter than the longest row of their slice are padded with zeros in column
 * r, or in column 0 if there is no column r. All slices are as large as the largest slice if this
 * adds little padding. */
typedef struct cvtm_sell {
  int64_t rows, columns;
  int64_t entries;      /* number of stored entries, padding included */
  int64_t uniform;      /* number of entries of every slice, if equal; else 0 */
  int64_t *slice_start; /* slices + 1 */
  int32_t *column;
  double *value;
  int32_t *run; /* entries / 32 numbers, one for each entry k of the 32 rows of a slice. If the
                   columns of these 32 entries are consecutive: the first column; the columns are
                   then not read. Else -1. NULL: not computed */
} cvtm_sell;

/* Converts the matrix on the device; the caller frees the result. */
cvtm_status cvtm_sell_create(cvtm_device *device, const cvtm_csr *matrix, cvtm_sell *sell);
void cvtm_sell_free(cvtm_device *device, cvtm_sell *sell);
/* Computes sell.run. This pays if most rows repeat the pattern of the previous row, as on grids. */
cvtm_status cvtm_sell_find_runs(cvtm_device *device, cvtm_sell *sell);

CVTM_API_END
