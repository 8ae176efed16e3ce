#include "bench/problems/panel_kernels.h"

#include "base/table_select.h"

int64_t cvtm_panel_workspace(const cvtm_device *device, int64_t rows) {
  return CVTM_PANEL_ENTRIES * CVTM_TABLE(device, cvtm_panel_table)->parts(rows);
}

cvtm_status cvtm_panel_product(cvtm_device *device, int64_t rows, const double *a, const double *b,
                               double *product, double *workspace) {
  return CVTM_TABLE(device, cvtm_panel_table)->product(device, rows, a, b, product, workspace);
}
