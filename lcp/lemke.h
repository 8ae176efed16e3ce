/* Inside lcp only: Lemke's method, for small problems with any matrix. */
#pragma once

#include "lcp/lcp_solver.h"

/* Up to this number of rows `auto` uses Lemke's method if the diagonal is not positive, or if the
 * chosen method finds no solution. */
enum { CVTM_LEMKE_ROWS = 2000 };

/* Copies the matrix, which may have any diagonal. A solve uses 8 (n + f)^2 bytes on the host, where
 * f is the number of variables without a bound. */
cvtm_status cvtm_lemke_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                              const cvtm_lcp_options *options, cvtm_lcp **lcp);
