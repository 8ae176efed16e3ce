/* Inside cvt only: the Hessian of the exact energy F in blocks of 2 x 2 (Liu et al. 2009, "On
 * centroidal Voronoi tessellation"). With m_i the mass of cell i, e the common edge of the cells i
 * and j, and d = |x_j - x_i|,
 *
 *     d2F / dx_i dx_j = 2 / d * integral over e of rho (x - x_i)(x - x_j)',
 *     d2F / dx_i dx_i = 2 m_i I - sum over j of 2 / d * integral over e of rho (x - x_i)(x - x_i)'.
 *
 * Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_CVT_HESSIAN_H
#define CVTMESH_CVT_HESSIAN_H

#include "cvt/pull_sites.h"

/* Rows and columns belong to sites in the caller's order. Pointers are to device memory. */
typedef struct cvtm_hessian {
  int64_t count, fixed;    /* the rows of the first `fixed` sites are 0 */
  int64_t capacity;        /* of blocks */
  int32_t *first, *degree; /* row i has the blocks first[i] to first[i] + degree[i] - 1 */
  int32_t *neighbor;       /* the column of each block; the row itself: the block is 0 */
  double *block;           /* 4 each: xx, xy, yx, yy */
  double *diagonal;        /* 3 each: xx, xy, yy */
  double *inverse;         /* 1 / (2 m_i); 0 if the site is fixed or its cell has no mass */
  int32_t *used;           /* used[0]: the number of blocks; used[1]: 1 if a row has no room */
} cvtm_hessian;

/* What all cells of a diagram need. */
typedef struct cvtm_hessian_cells {
  cvtm_site_tree_view tree; /* with its boxes */
  cvtm_domain domain;
  const float *density;
  const cvtm_cell_moments *moments;
} cvtm_hessian_cells;

/* The pixel of coordinate x; on a torus that of its periodic image. */
CVTM_HD int64_t cvtm_hessian_pixel(double x, int32_t size, int32_t periodic) {
  const double inside = cvtm_cvt_inside(x, size, periodic);
  return inside < (double)size ? (int64_t)inside : size - 1;
}

/* Adds the integrals over the piece of an edge in one pixel, of density rho, by Gauss's two points,
 * which are exact up to degree 3: of (x - x_i)(x - x_i)' to sum[0] .. sum[2], of (x - x_i)(x -
 * x_j)' to sum[3] .. sum[6]. */
CVTM_HD void cvtm_hessian_add_piece(const cvtm_pull_edge *e, double t0, double t1, double rho,
                                    double *sum) {
  const double half = 0.5 * (t1 - t0), middle = 0.5 * (t0 + t1), weight = half * rho;
  for (int k = -1; k <= 1; k += 2) {
    const double t = middle + k * half * 0.57735026918962576451;
    const double x = e->x + t * e->dx, y = e->y + t * e->dy;
    const double other_x = x - e->other_x, other_y = y - e->other_y;
    sum[0] += weight * x * x;
    sum[1] += weight * x * y;
    sum[2] += weight * y * y;
    sum[3] += weight * x * other_x;
    sum[4] += weight * x * other_y;
    sum[5] += weight * y * other_x;
    sum[6] += weight * y * other_y;
  }
}

CVTM_HD void cvtm_hessian_add_edge(const cvtm_hessian_cells *cells, const cvtm_pull_edge *e,
                                   double *sum) {
  const cvtm_domain domain = cells->domain;
  cvtm_pull_axis x = cvtm_pull_axis_of(e->site_x + e->x, e->dx);
  cvtm_pull_axis y = cvtm_pull_axis_of(e->site_y + e->y, e->dy);
  for (double t = 0; t < 1;) {
    const double next = fmin(fmin(x.t, y.t), 1), middle = 0.5 * (t + next);
    const int64_t column =
        cvtm_hessian_pixel(x.start + middle * e->dx, domain.width, domain.periodic);
    const int64_t row =
        cvtm_hessian_pixel(y.start + middle * e->dy, domain.height, domain.periodic);
    cvtm_hessian_add_piece(e, t, next, (double)cells->density[row * domain.width + column], sum);
    cvtm_pull_advance(&x, next);
    cvtm_pull_advance(&y, next);
    t = next;
  }
}

/* The block of the edge from corner k to the next, and its share of the diagonal, which is added to
 * diagonal (3). Returns the column. */
CVTM_HD int32_t cvtm_hessian_side(const cvtm_hessian_cells *cells, int64_t place,
                                  const cvtm_cell *cell, int32_t k, double *block,
                                  double *diagonal) {
  const cvtm_domain domain = cells->domain;
  cvtm_cell_box box;
  const cvtm_cell_origin o = cvtm_cell_origin_at(&cells->tree, domain, place, &box);
  const int32_t at = k * cell->stride, next = (k + 1 < cell->count ? k + 1 : 0) * cell->stride;
  const double ax = cell->x[at], ay = cell->y[at], bx = cell->x[next], by = cell->y[next];
  cvtm_pull_edge e = {o.x, o.y, ax, ay, bx - ax, by - ay, 0, 0, NULL, NULL};
  const double length2 = e.dx * e.dx + e.dy * e.dy;
  double sum[7] = {0, 0, 0, 0, 0, 0, 0};
  for (int c = 0; c < 4; ++c) block[c] = 0;
  if (!(length2 > 0) || (!domain.periodic && cvtm_is_border(&box, ax, ay, bx, by))) return o.index;
  const double twice = 2 * (ax * e.dy - ay * e.dx) / length2;
  e.other_x = twice * e.dy;
  e.other_y = -twice * e.dx;
  const double distance2 = e.other_x * e.other_x + e.other_y * e.other_y;
  if (!(distance2 > 0)) return o.index; /* an edge as short as rounding */
  const int32_t other =
      cvtm_pull_site_at(&cells->tree, cvtm_metric_of(domain), CVTM_PULL_UNKNOWN,
                        cvtm_cvt_inside(o.x + e.other_x, domain.width, domain.periodic),
                        cvtm_cvt_inside(o.y + e.other_y, domain.height, domain.periodic));
  const double scale = 2 * sqrt(length2 / distance2);
  cvtm_hessian_add_edge(cells, &e, sum);
  for (int c = 0; c < 3; ++c) diagonal[c] -= scale * sum[c];
  for (int c = 0; c < 4; ++c) block[c] = scale * sum[3 + c];
  return cells->tree.index[other];
}

/* Ends row i, of which diagonal (3) has the shares of all edges. */
CVTM_HD void cvtm_hessian_end_row(const cvtm_hessian *h, const cvtm_cell_moments *cell, int64_t i,
                                  const double *diagonal) {
  const double twice = 2 * cell->mass;
  h->diagonal[3 * i] = diagonal[0] + twice;
  h->diagonal[3 * i + 1] = diagonal[1];
  h->diagonal[3 * i + 2] = diagonal[2] + twice;
  h->inverse[i] = i >= h->fixed && twice > 0 ? 1 / twice : 0;
}

#endif
