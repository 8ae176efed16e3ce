/* Inside lcp/hlcp only: the kernels at one row, unknown or pixel, for both devices. */
#ifndef CVTMESH_LCP_HLCP_ROW_FUNCTIONS_H
#define CVTMESH_LCP_HLCP_ROW_FUNCTIONS_H

#include "lcp/grid/grid_solver.h"
#include "lcp/hlcp/hlcp_kernels.h"
#include "lcp/sparse/sell_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Solves for d_e and adds it to x. */
CVTM_HD void cvtm_hlcp_solve_unknown(const cvtm_hlcp_arrays *s, int64_t e) {
  const double d = s->change[e] - cvtm_sell_row_times(&s->systems.lower, e, s->change);
  s->change[s->n + e] = d;
  s->x[e] += d;
}

CVTM_HD void cvtm_hlcp_finish_row(const cvtm_hlcp_arrays *s, int64_t i, double *z, double *w) {
  const double omega = s->omega != NULL ? s->omega[i] : s->omega_number;
  z[i] = cvtm_hlcp_z(s->x[i], s->gamma);
  w[i] = cvtm_hlcp_w(s->x[i], omega, s->gamma);
  s->change[i] = z[i] * w[i];
}

/* Row of the generalised Jacobian times v. */
CVTM_HD double cvtm_hlcp_jacobian_row(const cvtm_hlcp_arrays *s, int64_t row, const double *v) {
  double sum = 0;
  for (int positive = 1; positive >= 0; --positive) {
    const cvtm_sell *m = positive ? &s->a : &s->b;
    const int64_t end = cvtm_sell_end(m, row);
    for (int64_t k = cvtm_sell_first(m, row); k < end; k += CVTM_SLICE_ROWS) {
      const int32_t j = m->column[k];
      if ((s->x[j] > 0) == positive) sum += m->value[k] * v[j];
    }
  }
  return sum;
}

/* 1 / the diagonal entry of the generalised Jacobian, or 1 if that is 0. */
CVTM_HD double cvtm_hlcp_jacobian_inverse_diagonal(const cvtm_hlcp_arrays *s, int64_t row) {
  const cvtm_sell *m = s->x[row] > 0 ? &s->a : &s->b;
  const int64_t end = cvtm_sell_end(m, row);
  double sum = 0;
  for (int64_t k = cvtm_sell_first(m, row); k < end; k += CVTM_SLICE_ROWS) {
    if (m->column[k] == row) sum += m->value[k];
  }
  return sum != 0 ? 1 / sum : 1;
}

/* link (x_p - x_q) for the neighbour q; x_q = 0 beyond the boundary. */
CVTM_HD double cvtm_hlcp_link(const cvtm_hlcp_pixels *s, const double *links, int64_t place,
                              int inside, int64_t p, int64_t neighbour) {
  const cvtm_lcp_grid *grid = &s->links;
  const double constant = grid->neumann && !inside ? 0 : grid->constant;
  const double link = links != NULL ? links[place] : constant;
  const int has_unknown = inside && (grid->mask == NULL || grid->mask[neighbour] != 0);
  return link * (s->x[p] - (has_unknown ? s->x[neighbour] : 0));
}

/* The square of the residual at pixel (i, j). *changes: whether its diagonal must change. */
CVTM_HD double cvtm_hlcp_pixel_square(const cvtm_hlcp_pixels *s, int64_t i, int64_t j,
                                      int *changes) {
  const cvtm_lcp_grid *grid = &s->links;
  const int64_t width = grid->width, p = j * width + i;
  const double diagonal = s->x[p] > 0 ? s->a : s->b;
  *changes = s->diagonal != NULL && s->diagonal[p] != diagonal;
  if (grid->mask != NULL && grid->mask[p] == 0) return 0;
  double r = diagonal * s->x[p] - s->q[p];
  r += cvtm_hlcp_link(s, grid->horizontal, j * (width + 1) + i, i > 0, p, p - 1);
  r += cvtm_hlcp_link(s, grid->horizontal, j * (width + 1) + i + 1, i + 1 < width, p, p + 1);
  r += cvtm_hlcp_link(s, grid->vertical, p, j > 0, p, p - width);
  r += cvtm_hlcp_link(s, grid->vertical, p + width, j + 1 < grid->height, p, p + width);
  return r * r;
}

/* Sets the diagonal by the sign of x. */
CVTM_HD void cvtm_hlcp_set_diagonal(const cvtm_hlcp_pixels *s, int64_t p) {
  s->diagonal[p] = s->x[p] > 0 ? s->a : s->b;
  s->changed[p] = CVTM_GRID_CHANGED;
}

#ifdef __cplusplus
}
#endif
#endif
