#include "cvt/cell_mass.h"

#include "cvt/cell_host.h"

/* Copies a cell, relative to its site. Returns 0 if memory ran out. */
static int copy_cell(const cvtm_cells *cells, int64_t i, const double *site, cvtm_cell *cell) {
  const int64_t first = cells->start[i], count = cells->start[i + 1] - first;
  if (count > INT32_MAX) return 0;
  if (count > cell->capacity && !cvtm_cell_grow(cell, (int32_t)count)) return 0;
  cell->count = (int32_t)count;
  for (int64_t k = 0; k < count; ++k) {
    cell->x[k] = cells->corners[2 * (first + k)] - site[0];
    cell->y[k] = cells->corners[2 * (first + k) + 1] - site[1];
  }
  return 1;
}

cvtm_status cvtm_cells_mass(const cvtm_cells *cells, const double *points, cvtm_domain domain,
                            const float *density, double *mass, cvtm_error *error) {
  const cvtm_density_view view = {density, domain.width, domain.height, domain.periodic};
  int failed = 0;
#pragma omp parallel reduction(| : failed)
  {
    cvtm_cell cell = {0};
    failed |= !cvtm_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 64)
    for (int64_t i = 0; i < cells->count; ++i) {
      if (failed) continue;
      failed |= !copy_cell(cells, i, points + 2 * i, &cell);
      if (failed) continue;
      const double *site = points + 2 * i;
      mass[i] = fmax(cvtm_cell_integrate(&view, domain, site[0], site[1], &cell).mass, 0);
    }
    cvtm_cell_release(&cell);
  }
  if (!failed) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the masses of %lld cells",
                   (long long)cells->count);
}
