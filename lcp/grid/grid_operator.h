/* Inside lcp/grid only: the operators at a node, A x and b - A x, of the five-point problem and of
 * the nine-point coarse levels. One source for both devices, C11 and CUDA C++. */
#ifndef CVTMESH_LCP_GRID_GRID_OPERATOR_H
#define CVTMESH_LCP_GRID_GRID_OPERATOR_H

#include "lcp/grid/grid_types.h"

/* --- the five-point problem --- */

/* The part of the diagonal entry that the links do not make. */
CVTM_HD double cvtm_grid_mass_at(const cvtm_grid_problem *p, int64_t k) {
  return p->diagonal ? p->diagonal[k] : p->mass;
}

/* link: to the west, east, north and south of node (i, j). Returns the diagonal entry. */
CVTM_HD double cvtm_grid_links(const cvtm_grid_problem *p, int64_t i, int64_t j, double link[4]) {
  if (p->horizontal) {
    const double *h = p->horizontal + j * (p->width + 1) + i;
    const double *v = p->vertical + j * p->width + i;
    link[0] = h[0];
    link[1] = h[1];
    link[2] = v[0];
    link[3] = v[p->width];
  } else {
    const double outer = p->neumann ? 0.0 : p->constant;
    link[0] = i > 0 ? p->constant : outer;
    link[1] = i + 1 < p->width ? p->constant : outer;
    link[2] = j > 0 ? p->constant : outer;
    link[3] = j + 1 < p->height ? p->constant : outer;
  }
  return cvtm_grid_mass_at(p, j * p->width + i) + ((link[0] + link[1]) + (link[2] + link[3]));
}

/* Sum over the four neighbours of link times x; x is 0 outside the grid, and at masked nodes. */
CVTM_HD double cvtm_grid_neighbour_sum(const cvtm_grid_problem *p, const double *x, int64_t i,
                                       int64_t j, const double link[4]) {
  const int64_t k = j * p->width + i;
  const double west = i > 0 ? link[0] * x[k - 1] : 0.0;
  const double east = i + 1 < p->width ? link[1] * x[k + 1] : 0.0;
  const double north = j > 0 ? link[2] * x[k - p->width] : 0.0;
  const double south = j + 1 < p->height ? link[3] * x[k + p->width] : 0.0;
  return (west + east) + (north + south);
}

/* b - A x at (i, j). */
CVTM_HD double cvtm_grid_residual(const cvtm_grid_problem *p, const double *x, int64_t i,
                                  int64_t j) {
  double link[4];
  const int64_t k = j * p->width + i;
  const double diagonal = cvtm_grid_links(p, i, j, link);
  return (p->b[k] + cvtm_grid_neighbour_sum(p, x, i, j, link)) - diagonal * x[k];
}

/* --- coarse levels --- */

/* A stored link of node (x, y); 0 outside the grid. */
CVTM_HD double cvtm_grid_coarse_link(const cvtm_grid_level *c, int plane, int64_t x, int64_t y) {
  if (x < 0 || y < 0 || x >= c->width || y >= c->height) return 0.0;
  return c->coefficient[(plane * c->height + y) * c->width + x];
}

/* cvtm_grid_coarse_stencil of a node that has all eight neighbours. */
CVTM_HD void cvtm_grid_coarse_stencil_inside(const cvtm_grid_level *c, int64_t x, int64_t y,
                                             double link[3][3]) {
  const int64_t plane = c->width * c->height;
  const double *at = c->coefficient + y * c->width + x;
  const double *east = at + CVTM_GRID_EAST * plane, *south = at + CVTM_GRID_SOUTH * plane;
  const double *south_east = at + CVTM_GRID_SOUTH_EAST * plane;
  const double *south_west = at + CVTM_GRID_SOUTH_WEST * plane;
  link[0][0] = south_east[-c->width - 1];
  link[0][1] = south[-c->width];
  link[0][2] = south_west[-c->width + 1];
  link[1][0] = east[-1];
  link[1][1] = at[0];
  link[1][2] = east[0];
  link[2][0] = south_west[0];
  link[2][1] = south[0];
  link[2][2] = south_east[0];
}

/* link[dy + 1][dx + 1]: the link to the neighbour at (dx, dy); in the middle, the diagonal entry.
 */
CVTM_HD void cvtm_grid_coarse_stencil(const cvtm_grid_level *c, int64_t x, int64_t y,
                                      double link[3][3]) {
  if (x > 0 && y > 0 && x + 1 < c->width && y + 1 < c->height) {
    cvtm_grid_coarse_stencil_inside(c, x, y, link);
    return;
  }
  link[0][0] = cvtm_grid_coarse_link(c, CVTM_GRID_SOUTH_EAST, x - 1, y - 1);
  link[0][1] = cvtm_grid_coarse_link(c, CVTM_GRID_SOUTH, x, y - 1);
  link[0][2] = cvtm_grid_coarse_link(c, CVTM_GRID_SOUTH_WEST, x + 1, y - 1);
  link[1][0] = cvtm_grid_coarse_link(c, CVTM_GRID_EAST, x - 1, y);
  link[1][1] = cvtm_grid_coarse_link(c, CVTM_GRID_DIAGONAL, x, y);
  link[1][2] = cvtm_grid_coarse_link(c, CVTM_GRID_EAST, x, y);
  link[2][0] = cvtm_grid_coarse_link(c, CVTM_GRID_SOUTH_WEST, x, y);
  link[2][1] = cvtm_grid_coarse_link(c, CVTM_GRID_SOUTH, x, y);
  link[2][2] = cvtm_grid_coarse_link(c, CVTM_GRID_SOUTH_EAST, x, y);
}

/* Sum over the eight neighbours of link times e; links that leave the grid count as 0. */
CVTM_HD double cvtm_grid_coarse_neighbour_sum(const cvtm_grid_level *c, const double *e, int64_t x,
                                              int64_t y, double link[3][3]) {
  double row[3];
  CVTM_UNROLL
  for (int64_t dy = -1; dy <= 1; ++dy) {
    row[dy + 1] = 0;
    CVTM_UNROLL
    for (int64_t dx = -1; dx <= 1; ++dx) {
      const int64_t nx = x + dx, ny = y + dy;
      if ((dx == 0 && dy == 0) || nx < 0 || ny < 0 || nx >= c->width || ny >= c->height) continue;
      row[dy + 1] += link[dy + 1][dx + 1] * e[ny * c->width + nx];
    }
  }
  return (row[0] + row[1]) + row[2];
}

/* r - A e at (x, y). */
CVTM_HD double cvtm_grid_coarse_residual(const cvtm_grid_level *c, int64_t x, int64_t y) {
  double link[3][3];
  const int64_t k = y * c->width + x;
  cvtm_grid_coarse_stencil(c, x, y, link);
  return (c->r[k] + cvtm_grid_coarse_neighbour_sum(c, c->e, x, y, link)) - link[1][1] * c->e[k];
}

/* --- either --- */

/* As cvtm_grid_coarse_stencil, for a five-point problem as well. */
CVTM_HD void cvtm_grid_finer_stencil(const cvtm_grid_finer *f, int64_t i, int64_t j,
                                     double link[3][3]) {
  if (!f->problem) {
    cvtm_grid_coarse_stencil(f->level, i, j, link);
    return;
  }
  double four[4];
  link[0][0] = link[0][2] = link[2][0] = link[2][2] = 0;
  link[1][1] = cvtm_grid_links(f->problem, i, j, four);
  link[1][0] = four[0];
  link[1][2] = four[1];
  link[0][1] = four[2];
  link[2][1] = four[3];
}

/* A nine-point stencil with constant coefficients: the diagonal entry, the link to each side and
 * the link to each corner. */
typedef struct cvtm_grid_constant_stencil {
  double diagonal, side, corner;
} cvtm_grid_constant_stencil;

/* The stencil of a five-point problem whose coefficients are constants. */
CVTM_HD cvtm_grid_constant_stencil cvtm_grid_constant_stencil_of(const cvtm_grid_problem *p) {
  cvtm_grid_constant_stencil a;
  a.diagonal = 4 * p->constant + p->mass;
  a.side = p->constant;
  a.corner = 0;
  return a;
}

#endif
