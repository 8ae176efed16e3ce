/* Inside lcp/grid only: restriction and interpolation at a node, and the interpolation weights. One
 * source for both devices, C11 and CUDA C++.
 *
 * Coarsening takes every second node of a direction: coarse node I lies on fine node 2 I + 1, and
 * fine node 2 I lies between coarse nodes I - 1 and I, for any number of nodes. A direction that is
 * not halved keeps its nodes. Interpolation between nodes of a constant five-point operator is
 * bilinear ("closed form": zero beyond a Dirichlet boundary, constant beyond a Neumann one). For
 * other operators the weights follow from the operator (Dendy, Black box multigrid, J. Comput.
 * Phys. 48, 1982), which keeps jumps and holes. */
#ifndef CVTMESH_LCP_GRID_GRID_TRANSFER_H
#define CVTMESH_LCP_GRID_GRID_TRANSFER_H

#include "lcp/grid/grid_operator.h"

/* --- interpolation --- */

/* The parents (coarse nodes interpolated from) of fine index i in one direction: *first and perhaps
 * the one after it. Returns how many. Parents may lie outside the coarse grid. */
CVTM_HD int cvtm_grid_parents(int halved, int64_t i, int64_t *first) {
  if (!halved) {
    *first = i;
    return 1;
  }
  const int between = (i & 1) == 0;
  *first = i / 2 - between;
  return 1 + between;
}

/* Closed form, one direction: the weight of each parent of a fine node with `count` parents from
 * `first` on. */
CVTM_HD double cvtm_grid_closed_form_weight(int neumann, int count, int64_t first,
                                            int64_t coarse_count) {
  if (count == 1) return 1.0;
  return neumann && (first < 0 || first + 1 >= coarse_count) ? 1.0 : 0.5;
}

/* Closed form, one direction: the weights of coarse index `coarse` at its three fine nodes. */
CVTM_HD void cvtm_grid_closed_form_weights(int neumann, int64_t coarse, int64_t count,
                                           double weight[3]) {
  weight[0] = neumann && coarse == 0 ? 1.0 : 0.5;
  weight[1] = 1;
  weight[2] = neumann && coarse + 1 == count ? 1.0 : 0.5;
}

/* The weight of the parent (first_x + kx, first_y + ky), inside the coarse grid, of fine node
 * (i, j). */
CVTM_HD double cvtm_grid_weight(const cvtm_grid_level *c, int64_t i, int64_t j, int count_x,
                                int count_y, int kx, int ky) {
  if (!c->weight) {
    return cvtm_grid_closed_form_weight(c->neumann, count_x, i / 2 - 1, c->width) *
           cvtm_grid_closed_form_weight(c->neumann, count_y, j / 2 - 1, c->height);
  }
  if (count_x == 1 && count_y == 1) return 1.0;
  const int64_t block = (c->halved_y ? j / 2 : j) * c->blocks_x + (c->halved_x ? i / 2 : i);
  const int plane = count_x == 2 ? (count_y == 2 ? 2 * ky + kx : 4 + kx) : 6 + ky;
  return (double)c->weight[plane * c->blocks_x * c->blocks_y + block];
}

/* The value interpolated at fine node (i, j) from coarse values e, of which line y begins at
 * e + y * pitch. */
CVTM_HD double cvtm_grid_interpolated_any(const cvtm_grid_level *c, const double *e, int64_t pitch,
                                          int64_t i, int64_t j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  double sum = 0;
  for (int ky = 0; ky < count_y; ++ky) {
    for (int kx = 0; kx < count_x; ++kx) {
      const int64_t x = x0 + kx, y = y0 + ky;
      if (x < 0 || x >= c->width || y < 0 || y >= c->height) continue;
      sum += cvtm_grid_weight(c, i, j, count_x, count_y, kx, ky) * e[y * pitch + x];
    }
  }
  return sum;
}

/* The value interpolated at fine node (i, j) from coarse values e. */
CVTM_HD double cvtm_grid_interpolated(const cvtm_grid_level *c, const double *e, int64_t i,
                                      int64_t j) {
  if (!c->weight && c->halved_x && c->halved_y) {
    const int64_t x = i / 2, y = j / 2, west = x - !(i & 1), north = y - !(j & 1);
    if (west >= 0 && north >= 0 && x < c->width && y < c->height) {
      /* The same sum without branches: a single parent counts twice, with weights 0 and 1. */
      const double wx = i & 1 ? 0.0 : 0.5, wy = j & 1 ? 0.0 : 0.5;
      const double *above = e + north * c->width, *below = e + y * c->width;
      return (((wx * wy) * above[west] + ((1 - wx) * wy) * above[x]) +
              (wx * (1 - wy)) * below[west]) +
             ((1 - wx) * (1 - wy)) * below[x];
    }
  }
  return cvtm_grid_interpolated_any(c, e, c->width, i, j);
}

/* --- restriction --- */

/* The support of coarse index `coarse`, the fine indices that it is a parent of: *first .. *last,
 * inside 0 .. count - 1. */
CVTM_HD void cvtm_grid_support(int halved, int64_t coarse, int64_t count, int64_t *first,
                               int64_t *last) {
  *first = halved ? 2 * coarse : coarse;
  *last = halved ? 2 * coarse + 2 : coarse;
  if (*last > count - 1) *last = count - 1;
}

/* The basis function of coarse node (x, y) at fine node (i, j) of its support. */
CVTM_HD double cvtm_grid_basis(const cvtm_grid_level *c, int64_t x, int64_t y, int64_t i,
                               int64_t j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  return cvtm_grid_weight(c, i, j, count_x, count_y, (int)(x - x0), (int)(y - y0));
}

/* Restricts the residual to coarse node (x, y), without truncated nodes. Below a five-point
 * problem, also compares the active nodes of the support with f->problem->active:
 * c->support_changed. */
CVTM_HD void cvtm_grid_restrict(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                                int64_t y) {
  const cvtm_grid_problem *p = f->problem;
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  double sum = 0;
  int changed = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      const int64_t k = j * width + i;
      const int active = p && cvtm_grid_is_active(p, k);
      if (p) changed |= active != p->active[k];
      if (active) continue;
      const double weight = cvtm_grid_basis(c, x, y, i, j);
      if (!(weight > 0)) continue;
      sum += weight *
             (p ? cvtm_grid_residual(p, p->x, i, j) : cvtm_grid_coarse_residual(f->level, i, j));
    }
  }
  c->r[y * c->width + x] = sum;
  if (p) c->support_changed[y * c->width + x] = (uint8_t)changed;
}

/* --- corrections --- */

/* x at node (i, j) after the interpolated correction, moved into its bounds; active nodes keep
 * theirs. */
CVTM_HD double cvtm_grid_corrected(const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t i,
                                   int64_t j) {
  const int64_t k = j * p->width + i;
  if (p->active[k]) return p->x[k];
  return cvtm_lcp_clip(p->x[k] + cvtm_grid_interpolated(c, c->e, i, j), cvtm_grid_lower(p, k),
                       cvtm_grid_upper(p, k));
}

/* --- interpolation weights from the operator --- */

CVTM_HD double cvtm_grid_positive(double value) { return value > 0 ? value : 0.0; }

/* Weights of the two parents of fine node (i, j), which lies between them in x (or y if
 * `vertical`): the operator's stencil summed over the other direction. Links to active nodes count
 * as links to 0. */
CVTM_HD void cvtm_grid_line_weights(const cvtm_grid_finer *f, int64_t i, int64_t j, int vertical,
                                    double weight[2]) {
  double link[3][3], total = 0, side[3] = {0, 0, 0};
  weight[0] = weight[1] = 0;
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  if (i < 0 || j < 0 || i >= width || j >= height || cvtm_grid_finer_active(f, i, j)) return;
  cvtm_grid_finer_stencil(f, i, j, link);
  double excess = link[1][1];
  for (int dy = 0; dy < 3; ++dy) {
    for (int dx = 0; dx < 3; ++dx) {
      const int64_t ni = i + dx - 1, nj = j + dy - 1;
      if ((dx == 1 && dy == 1) || ni < 0 || nj < 0 || ni >= width || nj >= height) continue;
      if (cvtm_grid_finer_active(f, ni, nj)) continue;
      excess -= link[dy][dx];
      side[vertical ? dy : dx] += link[dy][dx];
    }
  }
  side[0] = cvtm_grid_positive(side[0]);
  side[2] = cvtm_grid_positive(side[2]);
  total = side[0] + side[2] + cvtm_grid_positive(excess);
  if (!(total > 0)) return;
  weight[0] = side[0] / total;
  weight[1] = side[2] / total;
}

/* Stores all weights of block (x, y): of the fine nodes between two parents, then of the one amid
 * four, which takes those of its neighbours. */
CVTM_HD void cvtm_grid_compute_weights(const cvtm_grid_finer *f, const cvtm_grid_level *c,
                                       int64_t x, int64_t y) {
  const int64_t i = c->halved_x ? 2 * x : x, j = c->halved_y ? 2 * y : y;
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  double row[2], column[2], amid[4] = {0, 0, 0, 0};
  cvtm_grid_line_weights(f, i, j + c->halved_y, 0, row);
  cvtm_grid_line_weights(f, i + c->halved_x, j, 1, column);
  if (c->halved_x && c->halved_y && i < width && j < height && !cvtm_grid_finer_active(f, i, j)) {
    double link[3][3], west[2], north[2];
    cvtm_grid_line_weights(f, i - 1, j, 1, west);
    cvtm_grid_line_weights(f, i, j - 1, 0, north);
    cvtm_grid_finer_stencil(f, i, j, link);
    double excess = link[1][1];
    for (int dy = 0; dy < 3; ++dy) {
      for (int dx = 0; dx < 3; ++dx) {
        const int64_t ni = i + dx - 1, nj = j + dy - 1;
        if (dx == 1 && dy == 1) continue;
        const int inside = ni >= 0 && nj >= 0 && ni < width && nj < height;
        if (!inside || cvtm_grid_finer_active(f, ni, nj)) link[dy][dx] = 0;
        excess -= link[dy][dx];
        link[dy][dx] = cvtm_grid_positive(link[dy][dx]);
      }
    }
    const double *east = column, *south = row;
    const double total = ((link[0][0] + link[0][1] + link[0][2]) + (link[1][0] + link[1][2])) +
                         (link[2][0] + link[2][1] + link[2][2]) + cvtm_grid_positive(excess);
    if (total > 0) {
      amid[0] = (link[0][0] + link[0][1] * north[0] + link[1][0] * west[0]) / total;
      amid[1] = (link[0][2] + link[0][1] * north[1] + link[1][2] * east[0]) / total;
      amid[2] = (link[2][0] + link[2][1] * south[0] + link[1][0] * west[1]) / total;
      amid[3] = (link[2][2] + link[2][1] * south[1] + link[1][2] * east[1]) / total;
    }
  }
  const int64_t plane = c->blocks_x * c->blocks_y, k = y * c->blocks_x + x;
  for (int a = 0; a < 4; ++a) c->weight[a * plane + k] = (float)amid[a];
  for (int a = 0; a < 2; ++a) {
    c->weight[(4 + a) * plane + k] = (float)row[a];
    c->weight[(6 + a) * plane + k] = (float)column[a];
  }
}

#endif
