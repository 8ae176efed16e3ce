#include "bench/problems/panel_kernels.h"

static const cvtm_panel_table *find_table(const cvtm_device *device) {
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) return &cvtm_panel_table_cuda;
#endif
  (void)device;
  return &cvtm_panel_table_cpu;
}

int64_t cvtm_panel_workspace(const cvtm_device *device, int64_t rows) {
  return CVTM_PANEL_ENTRIES * find_table(device)->parts(rows);
}

cvtm_status cvtm_panel_product(cvtm_device *device, int64_t rows, const double *a, const double *b,
                               double *product, double *workspace) {
  return find_table(device)->product(device, rows, a, b, product, workspace);
}
