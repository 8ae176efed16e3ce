/* Inside lcp/grid only: P'AP, the Galerkin operator of a coarse level, one stencil at a time. One
 * source for both devices, C11 and CUDA C++.
 *
 * The stencil of coarse node g is w'A P with w the basis function of g: first q = w'A over the 5 x
 * 5 fine nodes around the support, then the sums of q over the basis functions of g and its
 * neighbours. Truncated nodes count neither in w nor in P. `sum` has the entries as links: [1][1]
 * is minus the diagonal entry. Of the others it has only those that are stored: east, south,
 * south-east and south-west.
 *
 * cvtm_grid_galerkin chooses among these functions:
 *   _constant  a constant operator and no truncated node: three numbers in closed form;
 *   _halved    both directions halved;
 *   _any       any coarsening. */
#pragma once

#include "lcp/grid/grid_node.h"

/* --- which stencils must be computed --- */

/* True if the stencil of coarse node (x, y) may have changed since the last cycle, or if `all`. */
CVTM_HD int cvtm_grid_needs_galerkin(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                                     int64_t y, int all) {
  if (all) return 1;
  int any = 0;      /* no early exit: without branches between them the loads overlap */
  if (f->problem) { /* a stencil also depends on the supports of the neighbours */
    for (int64_t ny = y > 0 ? y - 1 : 0; ny <= y + 1 && ny < c->height; ++ny) {
      for (int64_t nx = x > 0 ? x - 1 : 0; nx <= x + 1 && nx < c->width; ++nx)
        any |= c->support_changed[ny * c->width + nx];
    }
    return any != 0;
  }
  int64_t i0, i1, j0, j1;
  const int64_t width = f->level->width, height = f->level->height;
  cvtm_grid_support(c->halved_x, x, width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) any |= f->level->stencil_changed[j * width + i];
  }
  return any != 0;
}

/* --- constant operators --- */

/* The Galerkin operator of a constant operator. In each direction, the inner products of a bilinear
 * basis function with itself shifted by 0, 1 and 2 nodes are 3/2, 1 and 1/4. */
CVTM_HD cvtm_grid_constant_stencil cvtm_grid_galerkin_constant(cvtm_grid_constant_stencil a) {
  cvtm_grid_constant_stencil c;
  c.diagonal = 2.25 * a.diagonal - (6 * a.side + 4 * a.corner);
  c.side = 2 * (a.side + a.corner) - 0.375 * a.diagonal;
  c.corner = (0.5 * a.side + a.corner) - 0.0625 * a.diagonal;
  return c;
}

/* True if the 5 x 5 fine nodes around the support of (x, y) are in the grid, not at its boundary,
 * and have constant stencils. Then *below is the stencil of (x, y) unless a node is truncated. */
CVTM_HD int cvtm_grid_galerkin_is_constant(const cvtm_grid_finer *f, int64_t x, int64_t y,
                                           cvtm_grid_constant_stencil *below) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  if (x < 1 || y < 1 || 2 * x + 4 >= width || 2 * y + 4 >= height) return 0;
  if (f->problem) {
    *below = cvtm_grid_galerkin_constant(cvtm_grid_constant_stencil_of(f->problem));
    return !f->problem->diagonal;
  }
  const uint8_t *kind = f->level->kind + (2 * y - 1) * width + 2 * x - 1;
  int other = 0;
  if (kind[2 * width + 2] != CVTM_GRID_CONSTANT) return 0;
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) other |= kind[ty * width + tx] != CVTM_GRID_CONSTANT;
  }
  const double *middle = f->level->coefficient + (2 * y + 1) * width + 2 * x + 1;
  const int64_t plane = width * height;
  cvtm_grid_constant_stencil a;
  a.diagonal = middle[CVTM_GRID_DIAGONAL * plane];
  a.side = middle[CVTM_GRID_EAST * plane];
  a.corner = middle[CVTM_GRID_SOUTH_EAST * plane];
  *below = cvtm_grid_galerkin_constant(a);
  return !other;
}

CVTM_HD void cvtm_grid_constant_entries(cvtm_grid_constant_stencil a, double sum[3][3]) {
  sum[1][1] = -a.diagonal;
  sum[1][2] = sum[2][1] = a.side;
  sum[2][2] = sum[2][0] = a.corner;
}

/* --- both directions halved --- */

/* A bit mask of the 5 x 5 fine nodes around the support of (x, y): bit 5 ty + tx is set if the node
 * is truncated or outside the grid. */
CVTM_HD uint32_t cvtm_grid_truncated_nodes(const cvtm_grid_finer *f, int64_t x, int64_t y) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  const uint8_t *flags = cvtm_grid_finer_flags(f);
  uint32_t truncated = 0;
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) {
      const int64_t i = 2 * x - 1 + tx, j = 2 * y - 1 + ty;
      const int inside = i >= 0 && j >= 0 && i < width && j < height;
      const uint32_t is_truncated = !inside || (flags && flags[j * width + i]);
      truncated |= is_truncated << (5 * ty + tx);
    }
  }
  return truncated;
}

/* Adds to q = w'A, which has values at 5 x 5 nodes, the contribution of node (dx, dy) of the
 * support: its weight `own` times its stencil `link`. Negates link[1][1]. */
CVTM_HD void cvtm_grid_add_stencil(double own, int dx, int dy, double link[3][3], double q[5][5]) {
  link[1][1] = -link[1][1];
  CVTM_UNROLL
  for (int ny = 0; ny < 3; ++ny) {
    CVTM_UNROLL
    for (int nx = 0; nx < 3; ++nx) q[dy + ny][dx + nx] += own * link[ny][nx];
  }
}

/* Adds the contribution of fine node (tx, ty) to the entries of `sum` that belong to its parents:
 * the diagonal entry, east, south, south-east and south-west. stored: `part` is q of the node, and
 * is multiplied here by the weight of each parent. Otherwise `part` is q times the weight, which is
 * equal for all parents. */
CVTM_HD void cvtm_grid_add_to_parents(const cvtm_grid_level *c, int64_t x, int64_t y, int tx,
                                      int ty, int stored, double part, double sum[3][3]) {
  const int has_west = x > 0, has_east = x + 1 < c->width, has_south = y + 1 < c->height;
  CVTM_UNROLL
  for (int py = ty / 2; py <= (ty + 1) / 2; ++py) { /* 0: y - 1, 1: y, 2: y + 1 */
    CVTM_UNROLL
    for (int px = tx / 2; px <= (tx + 1) / 2; ++px) {
      if (py == 0 || (py == 1 && px == 0) || (py == 2 && !has_south)) continue;
      if ((px == 0 && !has_west) || (px == 2 && !has_east)) continue;
      sum[py][px] += stored
                         ? part * cvtm_grid_weight(c, 2 * x - 1 + tx, 2 * y - 1 + ty, 1 + (tx & 1),
                                                   1 + (ty & 1), px - tx / 2, py - ty / 2)
                         : part;
    }
  }
}

/* Adds q to the entries of all parents, without truncated nodes. across, along: the weights of
 * cvtm_grid_closed_form_weights in x and y, used unless weights are stored. */
CVTM_HD void cvtm_grid_add_all_to_parents(const cvtm_grid_level *c, int64_t x, int64_t y,
                                          const double across[3], const double along[3],
                                          uint32_t truncated, int stored, double q[5][5],
                                          double sum[3][3]) {
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) {
      const int is_truncated = truncated >> (5 * ty + tx) & 1;
      if (stored && is_truncated) continue; /* outside the grid no weights are stored */
      const double share = (ty & 1 ? along[ty - 1] : 1.0) * (tx & 1 ? across[tx - 1] : 1.0);
      const double part = is_truncated ? 0.0 : share * q[ty][tx];
      cvtm_grid_add_to_parents(c, x, y, tx, ty, stored, stored ? q[ty][tx] : part, sum);
    }
  }
}

/* cvtm_grid_galerkin if both directions are halved. stored: c->weight != NULL, as a compile-time
 * constant. */
CVTM_HD void cvtm_grid_galerkin_halved(const cvtm_grid_finer *f, const cvtm_grid_level *c,
                                       int64_t x, int64_t y, uint32_t truncated, int stored,
                                       double sum[3][3]) {
  double across[3], along[3], q[5][5] = {{0}};
  cvtm_grid_closed_form_weights(c->neumann, x, c->width, across);
  cvtm_grid_closed_form_weights(c->neumann, y, c->height, along);
  CVTM_UNROLL
  for (int dy = 0; dy < 3; ++dy) {
    CVTM_UNROLL
    for (int dx = 0; dx < 3; ++dx) {
      if (truncated >> (5 * dy + dx + 6) & 1) continue;
      const int64_t i = 2 * x + dx, j = 2 * y + dy;
      const double own = stored ? cvtm_grid_basis(c, x, y, i, j) : along[dy] * across[dx];
      double link[3][3];
      cvtm_grid_finer_stencil(f, i, j, link);
      cvtm_grid_add_stencil(own, dx, dy, link, q);
    }
  }
  cvtm_grid_add_all_to_parents(c, x, y, across, along, truncated, stored, q, sum);
}

/* --- any coarsening --- */

CVTM_HD void cvtm_grid_galerkin_any(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                                    int64_t y, double sum[3][3]) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      if (cvtm_grid_finer_active(f, i, j)) continue;
      double link[3][3];
      const double own = cvtm_grid_basis(c, x, y, i, j);
      cvtm_grid_finer_stencil(f, i, j, link);
      link[1][1] = -link[1][1];
      for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
          const int64_t ni = i + dx - 1, nj = j + dy - 1;
          const double factor = own * link[dy][dx];
          if (factor == 0 || ni < 0 || nj < 0 || ni >= width || nj >= height) continue;
          if (cvtm_grid_finer_active(f, ni, nj)) continue;
          int64_t x0, y0;
          const int count_x = cvtm_grid_parents(c->halved_x, ni, &x0);
          const int count_y = cvtm_grid_parents(c->halved_y, nj, &y0);
          for (int ky = 0; ky < count_y; ++ky) {
            for (int kx = 0; kx < count_x; ++kx) {
              const int64_t px = x0 + kx, py = y0 + ky;
              if (px < 0 || py < 0 || px >= c->width || py >= c->height) continue;
              sum[py - y + 1][px - x + 1] +=
                  factor * cvtm_grid_weight(c, ni, nj, count_x, count_y, kx, ky);
            }
          }
        }
      }
    }
  }
}

/* --- all --- */

CVTM_HD void cvtm_grid_store_stencil(const cvtm_grid_level *c, int64_t x, int64_t y,
                                     double sum[3][3], int is_constant) {
  double *out = c->coefficient + y * c->width + x;
  const int64_t plane = c->width * c->height;
  out[CVTM_GRID_DIAGONAL * plane] = -sum[1][1];
  out[CVTM_GRID_EAST * plane] = sum[1][2];
  out[CVTM_GRID_SOUTH * plane] = sum[2][1];
  out[CVTM_GRID_SOUTH_EAST * plane] = sum[2][2];
  out[CVTM_GRID_SOUTH_WEST * plane] = sum[2][0];
  c->kind[y * c->width + x] = is_constant     ? CVTM_GRID_CONSTANT
                              : sum[1][1] < 0 ? CVTM_GRID_VARYING
                                              : CVTM_GRID_EMPTY;
}

/* Computes and stores the stencil of coarse node (x, y). */
CVTM_HD void cvtm_grid_galerkin(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                                int64_t y) {
  double sum[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  cvtm_grid_constant_stencil constant;
  int is_constant = 0;
  if (!c->halved_x || !c->halved_y) {
    cvtm_grid_galerkin_any(f, c, x, y, sum);
  } else {
    const uint32_t truncated = cvtm_grid_truncated_nodes(f, x, y);
    is_constant =
        !c->weight && truncated == 0 && cvtm_grid_galerkin_is_constant(f, x, y, &constant);
    if (c->weight) {
      cvtm_grid_galerkin_halved(f, c, x, y, truncated, 1, sum);
    } else if (is_constant) {
      cvtm_grid_constant_entries(constant, sum);
    } else {
      cvtm_grid_galerkin_halved(f, c, x, y, truncated, 0, sum);
    }
  }
  cvtm_grid_store_stencil(c, x, y, sum, is_constant);
}

/* Calls cvtm_grid_galerkin if the stencil may have changed, or if `all`. Sets c->stencil_changed to
 * whether it does. */
CVTM_HD void cvtm_grid_update_galerkin(const cvtm_grid_finer *f, const cvtm_grid_level *c,
                                       int64_t x, int64_t y, int all) {
  const int due = cvtm_grid_needs_galerkin(f, c, x, y, all);
  c->stencil_changed[y * c->width + x] = (uint8_t)due;
  if (due) cvtm_grid_galerkin(f, c, x, y);
}
