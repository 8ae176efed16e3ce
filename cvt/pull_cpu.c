#include "base/host.h"
#include "cvt/cell_host.h"
#include "cvt/equal_mass/power_cpu.h"
#include "cvt/pull.h"
#include "cvt/pull_cells.h"

#include <stdlib.h>
#include <string.h>

/* Computes the derivatives with respect to the density from the polygons of the cells, for diagrams
 * where too many cells meet a pixel. sites: scratch, 2 for each site. */
static cvtm_status pull_polygons(cvtm_cvt *cvt, const double *phi, double *sites,
                                 double *by_density) {
  cvtm_cells cells = {0};
  cvtm_status status = cvtm_site_tree_build_boxes(cvt->tree, NULL);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  for (int64_t slot = 0; slot < tree.count; ++slot)
    memcpy(sites + 2 * (int64_t)tree.index[slot], tree.position + 2 * slot, 2 * sizeof *sites);
  if (status == CVTM_OK) status = cvtm_power_cells(cvt->device, &tree, cvt->domain, NULL, &cells);
  const cvtm_pull_cells c = {cvt->domain, &cells, sites, NULL, NULL};
  if (status == CVTM_OK &&
      !cvtm_pull_cells_to_density(&c, phi, cvtm_device_threads(cvt->device), by_density))
    status = cvtm_no_memory(cvtm_device_error(cvt->device), "derivatives");
  cvtm_cells_free(&cells);
  return status;
}

static cvtm_status pull_crowded(cvtm_cvt *cvt, const double *phi, cvtm_pull_result by_density) {
  const int64_t pixels = (int64_t)cvt->domain.width * cvt->domain.height;
  double *sites = malloc(2 * (size_t)cvtm_site_tree_get_view(cvt->tree).count * sizeof *sites);
  double *values =
      by_density.precise ? by_density.precise : malloc((size_t)pixels * sizeof *values);
  const cvtm_status status = sites && values
                                 ? pull_polygons(cvt, phi, sites, values)
                                 : cvtm_no_memory(cvtm_device_error(cvt->device), "derivatives");
  if (values != by_density.precise) {
    for (int64_t p = 0; p < pixels && status == CVTM_OK; ++p)
      by_density.single[p] = (float)values[p];
    free(values);
  }
  free(sites);
  return status;
}

static cvtm_status pull_cpu(cvtm_cvt *cvt, const double *phi, cvtm_pull_result by_density,
                            int32_t *crowded) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const cvtm_domain domain = cvt->domain;
  const cvtm_lanes lanes = {0, 1};
  int good = 1;
  (void)crowded;
#pragma omp parallel for schedule(dynamic, 1) num_threads(cvtm_device_threads(cvt->device)) \
    reduction(&& : good)
  for (int32_t row = 0; row < domain.height; row += CVTM_PULL_HEIGHT) {
    cvtm_pull_near near;
    for (int32_t column = 0; column < domain.width && good; column += CVTM_PULL_WIDTH)
      good = cvtm_pull_to_tile(&tree, domain, lanes, column, row, phi, &near, by_density);
  }
  return good ? CVTM_OK : pull_crowded(cvt, phi, by_density);
}

static int pull_cell(const cvtm_pull_edges *edges, int64_t slot, cvtm_cell *cell,
                     double *by_sites) {
  double sum[3] = {0, 0, 0};
  if (!cvtm_cell_cut_out(&edges->tree, edges->domain, slot, cell)) return 0;
  for (int32_t k = 0; k < cell->count; ++k)
    cvtm_pull_add_side(edges, slot, cell, k, CVTM_PULL_UNKNOWN, sum);
  memcpy(by_sites + 2 * (int64_t)edges->tree.index[slot], sum, 2 * sizeof *sum);
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
    for (int64_t slot = 0; slot < edges.tree.count; ++slot)
      good = good && pull_cell(&edges, slot, &cell, by_sites);
    cvtm_cell_release(&cell);
  }
  if (!good) memory->flags.failed = 1;
  return CVTM_OK;
}

const cvtm_pull_table cvtm_pull_cpu = {pull_cpu, pull_to_sites_cpu};
