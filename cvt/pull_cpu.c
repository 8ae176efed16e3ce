#include "cvt/cell_host.h"
#include "cvt/pull.h"

#include <stdlib.h>

static cvtm_status pull_cpu(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const cvtm_domain domain = cvt->domain;
  const cvtm_lanes lanes = {0, 1};
  int good = 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(cvtm_device_threads(cvt->device)) \
    reduction(&& : good)
  for (int32_t row = 0; row < domain.height; row += CVTM_PULL_HEIGHT) {
    cvtm_pull_near near;
    for (int32_t column = 0; column < domain.width && good; column += CVTM_PULL_WIDTH)
      good = cvtm_pull_to_tile(&tree, domain, lanes, column, row, phi, &near, by_density);
  }
  if (!good) *crowded = 1;
  return CVTM_OK;
}

static int pull_cell(const cvtm_pull_edges *edges, int64_t place, cvtm_cell *cell,
                     double *by_sites) {
  double *sum = by_sites + 2 * (int64_t)edges->tree.index[place];
  sum[0] = sum[1] = 0;
  if (!cvtm_cell_cut_out(&edges->tree, edges->domain, place, cell)) return 0;
  for (int32_t k = 0; k < cell->count; ++k)
    cvtm_pull_add_side(edges, place, cell, k, CVTM_PULL_UNKNOWN, sum);
  return 1;
}

static cvtm_status pull_to_sites_cpu(cvtm_cvt *cvt, const double *phi, double *by_sites,
                                     cvtm_pull_memory *memory) {
  const cvtm_pull_edges edges = {cvtm_site_tree_get_view(cvt->tree), cvt->domain,
                                 cvt->density.value, phi};
  int good = 1;
#pragma omp parallel num_threads(cvtm_device_threads(cvt->device)) reduction(&& : good)
  {
    cvtm_cell cell = {0};
    good = cvtm_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 256)
    for (int64_t place = 0; place < edges.tree.count; ++place)
      good = good && pull_cell(&edges, place, &cell, by_sites);
    cvtm_cell_release(&cell);
  }
  if (!good) memory->flags.failed = 1;
  return CVTM_OK;
}

const cvtm_pull_table cvtm_pull_cpu = {pull_cpu, pull_to_sites_cpu};
