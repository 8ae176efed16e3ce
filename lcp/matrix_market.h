/* Matrix Market files (NIST): `matrix coordinate real|integer|pattern general|symmetric|
 * skew-symmetric`. Entries of a file may come in any order. */
#ifndef CVTMESH_LCP_MATRIX_MARKET_H
#define CVTMESH_LCP_MATRIX_MARKET_H

#include "lcp/sparse.h"

CVTM_API_BEGIN

/* The other triangle of symmetric files is filled in; indices out of range,
 * a wrong count and values that are not finite are refused with the line, entries given twice
 * with row and column. The caller frees. */
cvtm_status cvtm_matrix_market_read(const char *path, cvtm_csr *matrix, cvtm_error *error);
/* The same from memory that ends in a zero byte beyond `size`; `name` is used in messages. */
cvtm_status cvtm_matrix_market_parse(const unsigned char *bytes, size_t size, const char *name,
                                     cvtm_csr *matrix, cvtm_error *error);
/* Written as `coordinate real general`, with the digits that give the same doubles back. */
cvtm_status cvtm_matrix_market_write(const char *path, const cvtm_csr *matrix, cvtm_error *error);

CVTM_API_END
#endif
