#include "cvt/cell_host.h"
#include "cvt/site_updates.h"

static cvtm_status keep_best_cpu(cvtm_device *device, const double *sites, int64_t count,
                                 const double *value, double *least, double *best) {
  const int better = value[0] < least[0];
  least[1] = better ? value[0] : least[0];
  return better ? cvtm_device_copy(device, best, sites, 2 * (size_t)count * sizeof *best) : CVTM_OK;
}

static cvtm_status edge_midpoints_cpu(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints,
                                      int32_t *counts, int32_t *undecided) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  int failed = 0;
  (void)undecided;
#pragma omp parallel num_threads(cvtm_device_threads(cvt->device)) reduction(| : failed)
  {
    cvtm_cell cell = {0};
    failed = !cvtm_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 64)
    for (int64_t slot = 0; slot < tree.count; ++slot) {
      if (failed) continue;
      failed = !cvtm_cell_cut_out(&tree, cvt->domain, slot, &cell);
      cvtm_find_edge_midpoints(cvt->domain, &tree, slot, &cell, &midpoints[slot]);
      counts[slot] = midpoints[slot].count;
    }
    cvtm_cell_release(&cell);
  }
  if (!failed) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory to refine sites");
}

static cvtm_status transfer_cpu(cvtm_device *device, const cvtm_cvt_transfer *transfer,
                                int64_t *moved) {
  (void)device;
  int64_t k = 0;
  for (; cvtm_cvt_transfers(transfer, k); ++k) cvtm_cvt_transfer_site(transfer, k);
  *moved = k;
  return CVTM_OK;
}

CVTM_SITE_PHASES(CVTM_PHASE_CPU)

const cvtm_site_updates_table cvtm_site_updates_cpu = {.keep_best = keep_best_cpu,
                                                       .edge_midpoints = edge_midpoints_cpu,
                                                       .transfer = transfer_cpu,
                                                       CVTM_SITE_PHASES(CVTM_PHASE_CPU_NAME)};
