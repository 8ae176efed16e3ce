#include "cvt/pull_cells.h"

#include "cvt/cell_host.h"
#include "cvt/pull_sites.h"

#include <omp.h>
#include <string.h>

/* --- by the density: cells are cut by pixels ------------------------------------------------- */

/* A cell, its part in a row of pixels, and its part in one pixel, all relative to the site. */
typedef struct parts {
  cvtm_cell cell, row, pixel;
} parts;

/* Sets *to to the part of `from` where low <= coordinate <= high; the coordinate is y if is_y, else
 * x. Returns 0 if memory runs out. */
static int cut_between(const cvtm_cell *from, int is_y, double low, double high, cvtm_cell *to) {
  const size_t bytes = (size_t)from->count * sizeof *from->x;
  int32_t at;
  if (to->capacity < from->count + 2 && !cvtm_cell_grow(to, from->capacity + 2)) return 0;
  memcpy(to->x, from->x, bytes);
  memcpy(to->y, from->y, bytes);
  cvtm_corners corners = {from->count, to->capacity, 1, to->x, to->y, NULL};
  (void)cvtm_corners_clip(&corners, is_y - 1, -is_y, -low, 0, &at);
  (void)cvtm_corners_clip(&corners, 1 - is_y, is_y, high, 0, &at);
  to->count = corners.count;
  return 1;
}

/* The columns or rows first .. last; none if last < first. */
typedef struct pixel_range {
  int32_t first, last;
} pixel_range;

/* Finds the columns or rows of `all` that meet the interval from the least to the largest of the
 * values, moved by `origin`. */
static pixel_range range_of(const double *values, int32_t count, double origin, pixel_range all) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int32_t k = 0; k < count; ++k) {
    least = fmin(least, values[k]);
    most = fmax(most, values[k]);
  }
  return (pixel_range){(int32_t)fmin(fmax(floor(least + origin), all.first), all.last + 1),
                       (int32_t)fmin(fmax(ceil(most + origin) - 1, all.first - 1), all.last)};
}

/* Returns the integral of a polynomial (4 coefficients, as in pull.h) over a polygon, whose corners
 * are clockwise if y is drawn upwards. */
static double integral_of(const double *phi, const cvtm_cell *p) {
  double sum = 0;
  for (int32_t k = 0; k < p->count; ++k) {
    const int32_t next = k + 1 < p->count ? k + 1 : 0;
    const double x0 = p->x[k], y0 = p->y[k], x1 = p->x[next], y1 = p->y[next];
    const double squares = x0 * x0 + x0 * x1 + x1 * x1 + y0 * y0 + y0 * y1 + y1 * y1;
    sum += (x1 * y0 - x0 * y1) *
           (phi[0] / 2 + (phi[1] * (x0 + x1) + phi[2] * (y0 + y1)) / 6 + phi[3] * squares / 12);
  }
  return sum;
}

/* Adds to by_density the integrals of phi over the parts of cell i in the pixels of `rows`. Returns
 * 0 if memory runs out. */
static int pull_cell(const cvtm_pull_cells *c, int64_t i, const double *phi, pixel_range rows,
                     parts *p, double *by_density) {
  const double x = c->sites[2 * i], y = c->sites[2 * i + 1];
  const pixel_range all = {0, c->domain.width - 1};
  if (!cvtm_cell_copy(c->cells, i, c->sites + 2 * i, &p->cell)) return 0;
  rows = range_of(p->cell.y, p->cell.count, y, rows);
  for (int32_t j = rows.first; j <= rows.last; ++j) {
    if (!cut_between(&p->cell, 1, j - y, j + 1 - y, &p->row)) return 0;
    const pixel_range columns = range_of(p->row.x, p->row.count, x, all);
    for (int32_t k = columns.first; k <= columns.last; ++k) {
      if (!cut_between(&p->row, 0, k - x, k + 1 - x, &p->pixel)) return 0;
      by_density[(int64_t)j * c->domain.width + k] += integral_of(phi, &p->pixel);
    }
  }
  return 1;
}

/* Each thread computes bands of rows. In each band it adds the cells in their order, so that the
 * bits do not depend on the number of threads. */
int cvtm_pull_cells_to_density(const cvtm_pull_cells *c, const double *phi, int threads,
                               double *by_density) {
  enum { ROWS = 32 };
  const int32_t height = c->domain.height;
  int good = 1;
  memset(by_density, 0, (size_t)c->domain.width * (size_t)height * sizeof *by_density);
#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_max_threads()) reduction(&& : good)
  {
    parts p = {0};
#pragma omp for schedule(dynamic, 1)
    for (int32_t from = 0; from < height; from += ROWS) {
      const pixel_range rows = {from, from + ROWS < height ? from + ROWS - 1 : height - 1};
      for (int64_t i = 0; good && i < c->cells->count; ++i)
        good = pull_cell(c, i, phi + 4 * i, rows, &p, by_density);
    }
    cvtm_cell_release(&p.cell);
    cvtm_cell_release(&p.row);
    cvtm_cell_release(&p.pixel);
  }
  return good;
}

/* --- by sites and weights: edges move --------------------------------------------------------- */

/* Adds the contributions of edge k of cell i, which is not on the border: to sum[0] and sum[1]
 * those to the derivatives with respect to the coordinates of the site, to sum[2] twice that to the
 * derivative with respect to the weight of the site. */
static void add_edge(const cvtm_pull_cells *c, int64_t i, int64_t k, const double *phi,
                     const double *phi_other, double sum[3]) {
  const cvtm_cells *cells = c->cells;
  const int64_t next = k + 1 < cells->start[i + 1] ? k + 1 : cells->start[i];
  const double *site = c->sites + 2 * i, *other = c->sites + 2 * (int64_t)cells->neighbors[k];
  const double *a = cells->corners + 2 * k, *b = cells->corners + 2 * next;
  const cvtm_pull_edge e = {site[0],     site[1],     a[0] - site[0],     a[1] - site[1],
                            b[0] - a[0], b[1] - a[1], other[0] - site[0], other[1] - site[1],
                            phi,         phi_other};
  cvtm_pull_add_edge(c->domain, c->density, &e, sum);
  if (c->rest) cvtm_pull_add_edge(c->domain, c->rest, &e, sum);
}

void cvtm_pull_cells_to_sites(const cvtm_pull_cells *c, const double *phi, double *by_sites,
                              double *by_weights) {
  const cvtm_cells *cells = c->cells;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < cells->count; ++i) {
    double sum[3] = {0, 0, 0};
    for (int64_t k = cells->start[i]; k < cells->start[i + 1]; ++k)
      if (cells->neighbors[k] >= 0)
        add_edge(c, i, k, phi + 4 * i, phi + 4 * (int64_t)cells->neighbors[k], sum);
    if (by_sites) memcpy(by_sites + 2 * i, sum, 2 * sizeof *sum);
    if (by_weights) by_weights[i] = 0.5 * sum[2];
  }
}

void cvtm_pull_cells_couplings(const cvtm_pull_cells *c, double *coupling) {
  static const double one[4] = {1, 0, 0, 0}, none[4] = {0, 0, 0, 0};
  const cvtm_cells *cells = c->cells;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < cells->count; ++i)
    for (int64_t k = cells->start[i]; k < cells->start[i + 1]; ++k) {
      double sum[3] = {0, 0, 0};
      if (cells->neighbors[k] >= 0) add_edge(c, i, k, one, none, sum);
      coupling[k] = 0.5 * sum[2];
    }
}
