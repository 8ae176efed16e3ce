/* Matrix Market files (NIST): `matrix coordinate real|integer|pattern
 * general|symmetric|skew-symmetric`, with entries in any order; and `matrix array`, column by
 * column, without `pattern`. */
#pragma once

#include "lcp/sparse.h"

CVTM_API_BEGIN

/* Reads a matrix, with both triangles of symmetric files. Fails, and names the line, for indices
 * out of range, a wrong count and values that are not finite. Repeated entries are added; zeros of
 * an array are not stored. The caller frees the matrix. */
cvtm_status cvtm_matrix_market_read(const char *path, cvtm_csr *matrix, cvtm_error *error);
/* cvtm_matrix_market_read from memory with a zero byte after `size` bytes. `name`: for messages. */
cvtm_status cvtm_matrix_market_parse(const unsigned char *bytes, size_t size, const char *name,
                                     cvtm_csr *matrix, cvtm_error *error);
/* Writes `coordinate real general`, with enough digits to read the same doubles. */
cvtm_status cvtm_matrix_market_write(const char *path, const cvtm_csr *matrix, cvtm_error *error);

CVTM_API_END
