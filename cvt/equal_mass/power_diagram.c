/* Power cells on the host, and their dual, the regular triangulation of the sites. */
#include "cvt/cell_host.h"
#include "cvt/equal_mass.h"
#include "cvt/equal_mass/power_cpu.h"
#include "meshes/device_delaunay.h"

#include <math.h>
#include <stdlib.h>

typedef struct diagram {
  cvtm_device *device; /* the CPU */
  cvtm_domain domain;  /* not periodic */
  cvtm_power_view view;
} diagram;

/* Clips all cells. If cells->corners is NULL, stores the number of corners of cell i in
 * cells->start[i + 1], else its corners from cells->start[i] on. Returns 0 if memory runs out. */
static int cut_all(const diagram *d, cvtm_cells *cells) {
  const cvtm_site_tree_view *tree = &d->view.tree;
  const double width = (double)d->domain.width, height = (double)d->domain.height;
  int failed = 0;
#pragma omp parallel num_threads(cvtm_device_threads(d->device)) reduction(| : failed)
  {
    cvtm_power_cell cell = {0};
    failed = !cvtm_power_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 32)
    for (int64_t slot = 0; slot < tree->count; ++slot) {
      const double x = tree->position[2 * slot], y = tree->position[2 * slot + 1];
      const cvtm_cell_box box = {0 - x, 0 - y, width - x, height - y};
      const int32_t i = tree->index[slot];
      if (failed || !cvtm_power_cut_out(&d->view, d->domain, slot, &box, &cell)) {
        failed = 1;
        continue;
      }
      const int32_t corners = cell.polygon.count;
      if (!cells->corners) {
        cells->start[i + 1] = corners;
        continue;
      }
      for (int32_t k = 0; k < corners; ++k) {
        const int64_t at = cells->start[i] + k;
        cells->corners[2 * at] = fmin(fmax(x + cell.polygon.x[k], 0), width);
        cells->corners[2 * at + 1] = fmin(fmax(y + cell.polygon.y[k], 0), height);
        cells->neighbors[at] = cell.other[k] < 0 ? -1 : tree->index[cvtm_power_slot(cell.other[k])];
      }
    }
    cvtm_power_cell_release(&cell);
  }
  return !failed;
}

/* Counts the corners of all cells, then stores the cells. Returns 0 if memory runs out. */
static int make_cells(const diagram *d, cvtm_cells *cells) {
  const int64_t count = d->view.tree.count;
  cells->count = count;
  cells->start = calloc((size_t)count + 1, sizeof *cells->start);
  if (!cells->start || !cut_all(d, cells)) return 0;
  for (int64_t i = 0; i < count; ++i) cells->start[i + 1] += cells->start[i];
  const size_t corners = (size_t)cells->start[count] + 1;
  cells->corners = malloc(2 * corners * sizeof *cells->corners);
  cells->neighbors = malloc(corners * sizeof *cells->neighbors);
  return cells->corners && cells->neighbors && cut_all(d, cells);
}

cvtm_status cvtm_power_cells(cvtm_device *device, const cvtm_site_tree_view *tree,
                             cvtm_domain domain, const double *weights, cvtm_cells *cells) {
  double *weight = calloc((size_t)tree->count, sizeof *weight);
  double *max_weight = malloc(2 * (size_t)tree->leaf_count * sizeof *max_weight);
  const diagram d = {device, domain, {.tree = *tree, .weight = weight, .max_weight = max_weight}};
  int good = weight && max_weight;
  if (good) {
    for (int64_t slot = 0; slot < tree->count && weights; ++slot)
      weight[slot] = weights[tree->index[slot]];
    cvtm_power_set_max_weights(weight, tree->count, tree->leaf_count, max_weight);
    good = make_cells(&d, cells);
  }
  free(weight);
  free(max_weight);
  if (good) return CVTM_OK;
  cvtm_cells_free(cells);
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a power diagram");
}

cvtm_status cvtm_power_diagram(cvtm_domain domain, const double *sites, const double *weights,
                               int64_t count, int threads, cvtm_cells *cells, cvtm_mesh *mesh,
                               cvtm_error *error) {
  const cvtm_domain plane = {domain.width, domain.height, 0};
  if (count < 1 || count > INT32_MAX / 11)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a power diagram of %lld sites is not possible",
                     (long long)count);
  for (int64_t i = 0; i < count; ++i) {
    const double x = sites[2 * i], y = sites[2 * i + 1];
    if (x >= 0 && x <= domain.width && y >= 0 && y <= domain.height && isfinite(weights[i]))
      continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "site %lld at (%g, %g) with the weight %g is out of range", (long long)i, x, y,
                     weights[i]);
  }
  cvtm_device *device = NULL;
  cvtm_site_tree *tree = NULL;
  cvtm_cells made = {0};
  CVTM_TRY(cvtm_device_create("cpu", threads, &device, error));
  cvtm_status status = cvtm_site_tree_create(device, plane, count, &tree);
  if (status == CVTM_OK) status = cvtm_site_tree_build(tree, sites, count);
  if (status == CVTM_OK && cells) {
    const cvtm_site_tree_view view = cvtm_site_tree_get_view(tree);
    status = cvtm_power_cells(device, &view, plane, weights, &made);
  }
  if (status != CVTM_OK && error) *error = *cvtm_device_error(device);
  if (status == CVTM_OK && mesh)
    status = cvtm_regular_triangulation(device, sites, weights, count, mesh, NULL, error);
  cvtm_site_tree_destroy(tree);
  cvtm_device_destroy(device);
  if (status != CVTM_OK)
    cvtm_cells_free(&made);
  else if (cells)
    *cells = made;
  return status;
}
