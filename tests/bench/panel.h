/* The product A'B of two panels, that is, matrices of eight columns and any number of rows, on a
 * CUDA device. The optimiser forms such products within pass A; here they stand alone, for
 * comparison with a general matrix product (Fei, Rong, Wang & Wang 2014, section 4.3). */
#pragma once

#include "base/device.h"

CVTM_C_BEGIN

enum { CVTM_PANEL_COLUMNS = 8 };

/* The length of cvtm_panel_product's workspace in doubles. */
int64_t cvtm_panel_workspace(int64_t rows);
/* product[8 p + q] = sum over r of a[p rows + r] b[q rows + r], in a fixed order; all arrays in
 * device memory, rows >= 1. Enqueued, nothing is allocated. */
cvtm_status cvtm_panel_product(cvtm_device *device, int64_t rows, const double *a, const double *b,
                               double *product, double *workspace);

CVTM_C_END
