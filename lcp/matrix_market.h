/* Matrix Market files (NIST): `matrix coordinate real|integer|pattern general|symmetric|
 * skew-symmetric`, whose entries may come in any order, and `matrix array`, column by column,
 * except pattern. */
#pragma once

#include "lcp/sparse.h"

CVTM_API_BEGIN

/* Fills in the other triangle of symmetric files. Refuses, with the line, indices out of range, a
 * wrong count and values that are not finite. Entries that are given several times are added; zeros
 * of an array are not stored. The caller frees. */
cvtm_status cvtm_matrix_market_read(const char *path, cvtm_csr *matrix, cvtm_error *error);
/* The same from memory that ends in a zero byte beyond `size`; `name` is used in messages. */
cvtm_status cvtm_matrix_market_parse(const unsigned char *bytes, size_t size, const char *name,
                                     cvtm_csr *matrix, cvtm_error *error);
/* Writes `coordinate real general`, with the digits that reproduce the same doubles. */
cvtm_status cvtm_matrix_market_write(const char *path, const cvtm_csr *matrix, cvtm_error *error);

CVTM_API_END
