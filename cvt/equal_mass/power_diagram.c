/* Power cells on the host, and their dual, the regular triangulation of the sites. */
#include "cvt/cell_host.h"
#include "cvt/equal_mass.h"
#include "cvt/equal_mass/power_cpu.h"
#include "meshes/device_delaunay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

typedef struct diagram {
  cvtm_device *device; /* the CPU */
  cvtm_domain domain;  /* not periodic */
  cvtm_site_tree *tree;
  cvtm_power_view view;
  double *weight, *max_weight;
  cvtm_error *error;
} diagram;

static void destroy_diagram(diagram *d) {
  cvtm_site_tree_destroy(d->tree);
  cvtm_device_destroy(d->device);
  free(d->weight);
  free(d->max_weight);
}

static cvtm_status out_of_memory(const diagram *d) {
  cvtm_fail(d->error, CVTM_ERROR_MEMORY, "no memory for a power diagram");
  return CVTM_ERROR_MEMORY;
}

static cvtm_status build_diagram(diagram *d, const double *sites, const double *weights,
                                 int64_t count, int threads) {
  cvtm_status status = cvtm_device_create("cpu", threads, &d->device, d->error);
  if (status != CVTM_OK) return status;
  status = cvtm_site_tree_create(d->device, d->domain, count, &d->tree);
  if (status == CVTM_OK) status = cvtm_site_tree_build(d->tree, sites, count);
  if (status != CVTM_OK) {
    if (d->error) *d->error = *cvtm_device_error(d->device);
    return status;
  }
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(d->tree);
  d->weight = malloc((size_t)count * sizeof *d->weight);
  d->max_weight = malloc(2 * (size_t)tree.leaf_count * sizeof *d->max_weight);
  if (!d->weight || !d->max_weight) return out_of_memory(d);
  for (int64_t place = 0; place < count; ++place) d->weight[place] = weights[tree.index[place]];
  cvtm_power_set_max_weights(d->weight, count, tree.leaf_count, d->max_weight);
  d->view = (cvtm_power_view){.tree = tree, .weight = d->weight, .max_weight = d->max_weight};
  return CVTM_OK;
}

/* Clips all cells. If cells->corners is NULL, stores the number of corners of cell i in
 * cells->start[i + 1], else its corners from cells->start[i] on. */
static int cut_all(const diagram *d, cvtm_cells *cells) {
  const cvtm_site_tree_view *tree = &d->view.tree;
  const double width = (double)d->domain.width, height = (double)d->domain.height;
  int failed = 0;
#pragma omp parallel num_threads(cvtm_device_threads(d->device)) reduction(| : failed)
  {
    cvtm_power_cell cell = {0};
    failed = !cvtm_power_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 32)
    for (int64_t place = 0; place < tree->count; ++place) {
      const double x = tree->position[2 * place], y = tree->position[2 * place + 1];
      const cvtm_cell_box box = {0 - x, 0 - y, width - x, height - y};
      const int32_t i = tree->index[place];
      if (failed || !cvtm_power_cut_out(&d->view, d->domain, place, &box, &cell)) {
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
        cells->neighbors[at] =
            cell.other[k] < 0 ? -1 : tree->index[cvtm_power_place(cell.other[k])];
      }
    }
    cvtm_power_cell_release(&cell);
  }
  return !failed;
}

static cvtm_status make_cells(const diagram *d, cvtm_cells *cells) {
  const int64_t count = d->view.tree.count;
  cells->count = count;
  cells->start = calloc((size_t)count + 1, sizeof *cells->start);
  if (!cells->start || !cut_all(d, cells)) return out_of_memory(d);
  for (int64_t i = 0; i < count; ++i) cells->start[i + 1] += cells->start[i];
  const size_t corners = (size_t)cells->start[count] + 1;
  cells->corners = malloc(2 * corners * sizeof *cells->corners);
  cells->neighbors = malloc(corners * sizeof *cells->neighbors);
  if (!cells->corners || !cells->neighbors || !cut_all(d, cells)) return out_of_memory(d);
  return CVTM_OK;
}

cvtm_status cvtm_power_diagram(cvtm_domain domain, const double *sites, const double *weights,
                               int64_t count, int threads, cvtm_cells *cells, cvtm_mesh *mesh,
                               cvtm_error *error) {
  diagram d = {.domain = {domain.width, domain.height, 0}, .error = error};
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
  cvtm_cells made = {0};
  cvtm_status status = build_diagram(&d, sites, weights, count, threads);
  if (status == CVTM_OK && cells) status = make_cells(&d, &made);
  if (status == CVTM_OK && mesh)
    status = cvtm_regular_triangulation(d.device, sites, weights, count, mesh, NULL, error);
  destroy_diagram(&d);
  if (status != CVTM_OK) {
    cvtm_cells_free(&made);
    return status;
  }
  if (cells) *cells = made;
  return CVTM_OK;
}
