#include "cvt/cell_mass.h"

#include "base/host.h"
#include "cvt/cell_host.h"

#include <stdlib.h>

cvtm_status cvtm_cells_add_moments(const cvtm_cells *cells, const double *points,
                                   cvtm_domain domain, const float *density,
                                   cvtm_cell_moments *sums, cvtm_error *error) {
  const cvtm_density_view view = {density, domain.width, domain.height, domain.periodic};
  int failed = 0;
#pragma omp parallel reduction(| : failed)
  {
    cvtm_cell cell = {0};
    failed |= !cvtm_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 64)
    for (int64_t i = 0; i < cells->count; ++i) {
      if (failed) continue;
      failed |= !cvtm_cell_copy(cells, i, points + 2 * i, &cell);
      if (failed) continue;
      const double *site = points + 2 * i;
      const cvtm_cell_moments own = cvtm_cell_integrate(&view, domain, site[0], site[1], &cell);
      cvtm_cell_moments_add(&sums[i], &own);
    }
    cvtm_cell_release(&cell);
  }
  return failed ? cvtm_no_memory(error, "the masses of cells") : CVTM_OK;
}

cvtm_status cvtm_cells_mass(const cvtm_cells *cells, const double *points, cvtm_domain domain,
                            const float *density, double *mass, cvtm_error *error) {
  cvtm_cell_moments *sums = calloc((size_t)cells->count + 1, sizeof *sums);
  const cvtm_status status =
      sums ? cvtm_cells_add_moments(cells, points, domain, density, sums, error)
           : cvtm_no_memory(error, "the masses of cells");
  for (int64_t i = 0; i < cells->count && status == CVTM_OK; ++i) mass[i] = fmax(sums[i].mass, 0);
  free(sums);
  return status;
}
