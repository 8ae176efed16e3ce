/* Refinement: each pair of neighbours of a coarse tessellation gets a site between them. Hexagons
 * of the coarse level become hexagons of the fine one; the number of defects stays, so that they
 * become rare. */
#include "cvt/refine.h"

#include "base/primitives.h"
#include "cvt/cell_host.h"
#include "cvt/site_updates.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers of sites ------------------------------------------------------------- */

double cvtm_cvt_border_share(cvtm_domain domain, const float *density, double root) {
  if (domain.periodic) return 0;
  const int64_t width = domain.width, height = domain.height;
  double border = 0;
  for (int64_t j = 0; j < height; ++j) {
    border += pow((double)density[j * width], 0.25);
    border += pow((double)density[j * width + width - 1], 0.25);
  }
  for (int64_t i = 0; i < width; ++i) {
    border += pow((double)density[i], 0.25);
    border += pow((double)density[(height - 1) * width + i], 0.25);
  }
  return 1.07 * border / sqrt(root); /* a row of hexagons is narrower than its height */
}

/* The solution v of 4 v - c sqrt(v) - 3 = count, by Euler's formula. */
int64_t cvtm_cvt_coarse_count(double border_share, int64_t count) {
  const double c = border_share;
  const double root = (c + sqrt(c * c + 16 * ((double)count + 3))) / 8;
  return (int64_t)fmin(ceil(root * root), (double)count);
}

/* --- refinement ------------------------------------------------------------------- */

static cvtm_status find_all_midpoints(cvtm_device *cpu, cvtm_domain domain,
                                      const cvtm_site_tree_view *tree,
                                      cvtm_edge_midpoints *midpoints) {
  int failed = 0;
#pragma omp parallel num_threads(cvtm_device_threads(cpu)) reduction(| : failed)
  {
    cvtm_cell cell = {0};
    failed = !cvtm_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 64)
    for (int64_t place = 0; place < tree->count; ++place) {
      if (failed) continue;
      failed = !cvtm_cell_cut_out(tree, domain, place, &cell);
      cvtm_find_edge_midpoints(domain, tree, place, &cell, &midpoints[place]);
    }
    cvtm_cell_release(&cell);
  }
  if (!failed) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(cpu), CVTM_ERROR_MEMORY, "no memory to refine sites");
}

enum { CHUNKS = 256, WORTH_THREADS = 1 << 17 /* sites */ };

/* Appends as many midpoints to the `placed` sites of fine as `count` allows, evenly chosen. Returns
 * the number of sites then. */
static int64_t add_midpoints(const cvtm_edge_midpoints *midpoints, int64_t placed, double *fine,
                             int64_t count) {
  const int64_t sites = placed, room = count - placed;
  int64_t before[CHUNKS + 1] = {0}; /* midpoints before each chunk */
#pragma omp parallel for schedule(static) if (sites >= WORTH_THREADS)
  for (int64_t c = 0; c < CHUNKS; ++c)
    for (int64_t i = sites * c / CHUNKS; i < sites * (c + 1) / CHUNKS; ++i)
      before[c + 1] += midpoints[i].count;
  for (int64_t c = 0; c < CHUNKS; ++c) before[c + 1] += before[c];
  const int64_t total = before[CHUNKS];
#pragma omp parallel for schedule(static) if (sites >= WORTH_THREADS)
  for (int64_t c = 0; c < CHUNKS; ++c) {
    int64_t k = before[c];
    for (int64_t i = sites * c / CHUNKS; i < sites * (c + 1) / CHUNKS; ++i) {
      cvtm_place_midpoints(&midpoints[i], k, total, room, fine + 2 * placed);
      k += midpoints[i].count;
    }
  }
  return placed + cvtm_chosen_before(total, total, room);
}

enum { CELLS_OF_THREAD = 1000 /* the least number for which a thread pays */ };

static cvtm_status refine_on(cvtm_device *cpu, cvtm_domain domain, const double *coarse,
                             int64_t coarse_count, double *fine, int64_t count) {
  cvtm_site_tree *tree = NULL;
  cvtm_edge_midpoints *midpoints = malloc((size_t)coarse_count * sizeof *midpoints);
  cvtm_status status = cvtm_site_tree_create(cpu, domain, coarse_count, &tree);
  if (!midpoints)
    status = cvtm_fail(cvtm_device_error(cpu), CVTM_ERROR_MEMORY, "no memory to refine sites");
  if (status == CVTM_OK) status = cvtm_site_tree_sort(tree, coarse, coarse_count);
  if (status == CVTM_OK) {
    const cvtm_site_tree_view view = cvtm_site_tree_get_view(tree);
    status = find_all_midpoints(cpu, domain, &view, midpoints);
  }
  if (status == CVTM_OK) {
    memcpy(fine, coarse, 2 * (size_t)coarse_count * sizeof *fine);
    const int64_t have = add_midpoints(midpoints, coarse_count, fine, count);
    for (int64_t k = 0; have + k < count; ++k) cvtm_fill_up(fine, have, count, k);
  }
  cvtm_site_tree_destroy(tree);
  free(midpoints);
  return status;
}

cvtm_status cvtm_cvt_refine(cvtm_domain domain, int threads, const double *coarse,
                            int64_t coarse_count, double *fine, int64_t count, cvtm_error *error) {
  cvtm_device *cpu = NULL;
  const int most = threads > 0 ? threads : omp_get_max_threads();
  const int64_t worth = coarse_count / CELLS_OF_THREAD + 1;
  cvtm_status status = cvtm_device_create("cpu", worth < most ? (int)worth : most, &cpu, error);
  if (status != CVTM_OK) return status;
  status = refine_on(cpu, domain, coarse, coarse_count, fine, count);
  if (status != CVTM_OK && error) *error = *cvtm_device_error(cpu);
  cvtm_device_destroy(cpu);
  return status;
}

cvtm_status cvtm_cvt_refine_on_device(cvtm_cvt *cvt, int64_t from, int64_t to, int32_t *failed) {
  cvtm_device *device = cvt->device;
  size_t bytes = 0;
  void *memory = NULL;
  cvtm_status status = cvtm_scan_workspace(device, from, &bytes);
  const size_t workspace = (bytes + 7) / 8 * 8;
  const size_t midpoints = (size_t)from * sizeof(cvtm_edge_midpoints);
  const size_t counts = (size_t)(from + 1) * (sizeof(int64_t) + sizeof(int32_t));
  if (status == CVTM_OK)
    status = cvtm_device_scratch(device, workspace + midpoints + counts, &memory);
  if (status == CVTM_OK) status = cvtm_site_tree_sort(cvt->tree, cvt->sites, from);
  if (status != CVTM_OK) return status;
  cvtm_edge_midpoints *found = (void *)((char *)memory + workspace);
  int64_t *before = (int64_t *)(void *)(found + from);
  int32_t *count = (int32_t *)(void *)(before + from + 1), *undone = count + from;
  status = cvtm_device_fill(device, undone, 0, sizeof *undone);
  if (status == CVTM_OK) status = cvt->updates->edge_midpoints(cvt, found, count, undone);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, failed, undone, sizeof *failed);
  if (status != CVTM_OK || *failed > 0) return status;
  status = cvtm_scan_64(device, count, from, before, memory, bytes);
  return status == CVTM_OK ? cvt->updates->place_midpoints(cvt, found, before, from, to) : status;
}
