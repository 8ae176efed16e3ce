/* Refinement: each pair of neighbours of a coarse tessellation gets a site between them. Hexagons
 * of the coarse level become hexagons of the fine one; the number of defects stays, so that they
 * become rare. */
#include "cvt/refine.h"

#include "cvt/cell_host.h"

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

/* Of the first i of `count` items, those that an even choice of `chosen` takes. */
static int64_t chosen_before(int64_t i, int64_t count, int64_t chosen) {
  const double share = (double)chosen / (double)count;
  return count <= chosen ? i : (int64_t)floor((double)i * share);
}

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
    int64_t k = before[c], to = chosen_before(k, total, room);
    for (int64_t i = sites * c / CHUNKS; i < sites * (c + 1) / CHUNKS; ++i) {
      for (int32_t m = 0; m < midpoints[i].count; ++m) {
        const int64_t next = chosen_before(++k, total, room);
        if (next == to) continue;
        fine[2 * (placed + to)] = midpoints[i].x[m];
        fine[2 * (placed + to) + 1] = midpoints[i].y[m];
        to = next;
      }
    }
  }
  return placed + chosen_before(total, total, room);
}

/* Adds sites, each between an evenly chosen site and the next in the list. */
static void fill_up(double *fine, int64_t have, int64_t count) {
  for (int64_t k = 0; have + k < count; ++k) {
    const int64_t i = k * have / (count - have) % have, j = (i + 1) % have;
    fine[2 * (have + k)] = 0.75 * fine[2 * i] + 0.25 * fine[2 * j];
    fine[2 * (have + k) + 1] = 0.75 * fine[2 * i + 1] + 0.25 * fine[2 * j + 1];
  }
}

void cvtm_cvt_place_midpoints(const double *coarse, int64_t coarse_count,
                              const cvtm_edge_midpoints *midpoints, double *fine, int64_t count) {
  memcpy(fine, coarse, 2 * (size_t)coarse_count * sizeof *fine);
  fill_up(fine, add_midpoints(midpoints, coarse_count, fine, count), count);
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
    cvtm_cvt_place_midpoints(coarse, coarse_count, midpoints, fine, count);
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
