/* Inside lcp/grid only: the formulas at a node, for both devices, C11 and CUDA C++: operators,
 * smoother, norms, transfers, interpolation weights, and the problems of the nested start. */
#pragma once

#include "lcp/grid/grid_kernels.h"

/* --- the five-point problem --- */

/* The part of the diagonal entry that is not a sum of links. */
CVTM_HD double cvtm_grid_mass_at(const cvtm_grid_problem *p, int64_t k) {
  return p->diagonal ? p->diagonal[k] : p->mass;
}

/* Sets the links to west, east, north and south of (i, j). Returns the diagonal entry. */
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

/* The sum of link times x over the four neighbours. x is 0 outside the grid and at masked nodes. */
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
  return cvtm_residual(p->b[k] + cvtm_grid_neighbour_sum(p, x, i, j, link), diagonal, x[k]);
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

/* Sets link[dy + 1][dx + 1] for the neighbour at (dx, dy), and link[1][1] to the diagonal. */
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

/* The parts of a neighbour sum inside the grid. cvtm_grid_three_points: three nodes of the line
 * above or below, whose middle node has e[k]; cvtm_grid_two_points: the nodes to the west and east
 * of `e`; cvtm_grid_nine_point_sum adds the parts of all eight neighbours. */
CVTM_HD double cvtm_grid_three_points(double west, double middle, double east, const double *e,
                                      int k) {
  return (west * e[k - 1] + middle * e[k]) + east * e[k + 1];
}
CVTM_HD double cvtm_grid_two_points(double west, double east, const double *e) {
  return west * e[-1] + east * e[1];
}
CVTM_HD double cvtm_grid_nine_point_sum(double north, double beside, double south) {
  return (north + beside) + south;
}

/* The sum of link times e over the eight neighbours; links that leave the grid count as 0. */
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
  return cvtm_grid_nine_point_sum(row[0], row[1], row[2]);
}

/* r - A e at (x, y). */
CVTM_HD double cvtm_grid_coarse_residual(const cvtm_grid_level *c, int64_t x, int64_t y) {
  double link[3][3];
  const int64_t k = y * c->width + x;
  cvtm_grid_coarse_stencil(c, x, y, link);
  return cvtm_residual(c->r[k] + cvtm_grid_coarse_neighbour_sum(c, c->e, x, y, link), link[1][1],
                       c->e[k]);
}

/* --- a coarse level or a problem --- */

/* cvtm_grid_coarse_stencil for a coarse level or a five-point problem. */
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

/* --- the start, and active nodes --- */

CVTM_HD void cvtm_grid_clip_start(const cvtm_grid_problem *p, int warm, int into_d, int64_t i,
                                  int64_t j) {
  const int64_t k = j * p->width + i;
  double *out = into_d ? p->d : p->x;
  out[k] = cvtm_grid_clipped(p, k, warm ? p->x[k] : 0.0);
}

/* Sets the active flag of node (i, j). only_masked: nodes at a bound are not active. */
CVTM_HD void cvtm_grid_mark_active(const cvtm_grid_problem *p, int only_masked, int64_t i,
                                   int64_t j) {
  const int64_t k = j * p->width + i;
  p->active[k] = (uint8_t)(only_masked ? cvtm_grid_masked(p, k) : cvtm_grid_is_active(p, k));
}

/* --- the smoother: projected SOR on the five-point problem, Gauss-Seidel on coarse levels. Sweeps
 * run by colours: red-black on five points, four colours on nine --- */

/* The value that projected SOR gives to node (i, j). If the diagonal entry is 0, x is unchanged. */
CVTM_HD double cvtm_grid_relaxed(const cvtm_grid_problem *p, const double *x, int64_t i, int64_t j,
                                 double omega) {
  double link[4];
  const int64_t k = j * p->width + i;
  const double diagonal = cvtm_grid_links(p, i, j, link);
  const double sum = p->b[k] + cvtm_grid_neighbour_sum(p, x, i, j, link);
  const double old = !(diagonal > 0) || omega != 1.0 ? x[k] : 0.0; /* loaded only if used */
  return cvtm_relax_projected(old, cvtm_relax(sum, diagonal, old), omega, cvtm_grid_lower(p, k),
                              cvtm_grid_upper(p, k));
}

/* The value that Gauss-Seidel gives to coarse node (x, y); 0 if its basis function is truncated
 * entirely. */
CVTM_HD double cvtm_grid_coarse_relaxed(const cvtm_grid_level *c, int64_t x, int64_t y) {
  double link[3][3];
  const int64_t k = y * c->width + x;
  cvtm_grid_coarse_stencil(c, x, y, link);
  return cvtm_relax(c->r[k] + cvtm_grid_coarse_neighbour_sum(c, c->e, x, y, link), link[1][1], 0.0);
}

/* Numbers of sweeps on the coarsest level of cycles. BOTTOM: the level has at most 3 x 3 nodes.
 * MASS_DOMINATED: it is larger, but its mass dominates its links. */
enum { CVTM_GRID_BOTTOM_SWEEPS = 8, CVTM_GRID_MASS_DOMINATED_SWEEPS = 2 };

CVTM_HD int cvtm_grid_bottom_sweeps(const cvtm_grid_level *bottom) {
  return bottom->width <= 3 && bottom->height <= 3 ? CVTM_GRID_BOTTOM_SWEEPS
                                                   : CVTM_GRID_MASS_DOMINATED_SWEEPS;
}

/* --- the natural residual, the line search and the energy --- */

/* Norms of the natural residual over some nodes. */
typedef struct cvtm_grid_norms {
  double squares;
  double rounding; /* sum of squares of the sizes of the terms */
  double maximum;
} cvtm_grid_norms;

CVTM_HD void cvtm_grid_add_natural(cvtm_grid_norms *sum, double residual, double size) {
  sum->squares += residual * residual;
  sum->rounding += size * size;
  if (!(fabs(residual) <= sum->maximum)) sum->maximum = fabs(residual);
}

/* Adds the natural residual of node (i, j), unless the node is masked. */
CVTM_HD void cvtm_grid_add_node_natural(const cvtm_grid_problem *p, const double *x, int64_t i,
                                        int64_t j, cvtm_grid_norms *sum) {
  const int64_t k = j * p->width + i;
  double link[4];
  if (cvtm_grid_masked(p, k)) return;
  const double product = cvtm_grid_links(p, i, j, link) * x[k];
  const double right = p->b[k] + cvtm_grid_neighbour_sum(p, x, i, j, link);
  cvtm_grid_add_natural(
      sum,
      cvtm_natural_residual(product - right, x[k], cvtm_grid_lower(p, k), cvtm_grid_upper(p, k)),
      cvtm_natural_size(p->b[k], product));
}

/* Adds a node's terms of r'd and d'Ad, the slope and the curvature of the energy along d. */
CVTM_HD void cvtm_grid_add_line_search(const cvtm_grid_problem *p, int64_t i, int64_t j,
                                       double *slope, double *curvature) {
  const int64_t k = j * p->width + i;
  const double d = p->d[k];
  double link[4];
  const double diagonal = cvtm_grid_links(p, i, j, link);
  const double sum = p->b[k] + cvtm_grid_neighbour_sum(p, p->x, i, j, link);
  *slope += d * cvtm_residual(sum, diagonal, p->x[k]);
  *curvature += d * (diagonal * d - cvtm_grid_neighbour_sum(p, p->d, i, j, link));
}

/* x of node k after a step along d. */
CVTM_HD double cvtm_grid_stepped(const cvtm_grid_problem *p, int64_t k, double step) {
  return cvtm_grid_clipped(p, k, p->x[k] + step * p->d[k]);
}

/* The term of node (i, j) in the energy 1/2 x'Ax - b'x, from differences between neighbours, which
 * do not cancel as the terms of A x do. Each of the two nodes of a link counts half of the link's
 * energy. */
CVTM_HD double cvtm_grid_node_energy(const cvtm_grid_problem *p, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  const int64_t next[4] = {k - 1, k + 1, k - p->width, k + p->width};
  const int inside[4] = {i > 0, i + 1 < p->width, j > 0, j + 1 < p->height};
  double link[4];
  double sum = 0;
  cvtm_grid_links(p, i, j, link);
  for (int side = 0; side < 4; ++side) {
    const int shared = inside[side] && !cvtm_grid_masked(p, next[side]);
    const double difference = p->x[k] - (shared ? p->x[next[side]] : 0.0);
    sum += (shared ? 0.25 : 0.5) * link[side] * difference * difference;
  }
  return sum + (0.5 * cvtm_grid_mass_at(p, k) * p->x[k] - p->b[k]) * p->x[k];
}

/* --- transfers ---
 *
 * Coarsening takes every second node of a direction: coarse node I lies on fine node 2 I + 1, and
 * fine node 2 I lies between coarse nodes I - 1 and I, for any number of nodes. A direction that is
 * not halved keeps its nodes. Interpolation between nodes of a constant five-point operator is
 * bilinear ("closed form": zero beyond a Dirichlet boundary, constant beyond a Neumann boundary).
 * For other operators the weights follow from the operator (Dendy, Black box multigrid, J. Comput.
 * Phys. 48, 1982), so that jumps and holes of the coefficients are respected. */

/* A direction is halved unless its links are weaker by more than this factor than the links in the
 * other direction (semicoarsening). Each halving of the other direction divides the ratio by
 * four. */
enum { CVTM_GRID_SEMICOARSENING = 3 };

CVTM_HD int cvtm_grid_is_halved(int64_t side, int64_t other_side, double along, double across) {
  return side > 1 && (other_side == 1 || CVTM_GRID_SEMICOARSENING * along >= across);
}

/* --- interpolation --- */

/* The parents of fine index i in one direction, the coarse nodes that it depends on: *first and
 * perhaps the next. Returns their number. A parent may lie outside the coarse grid. */
CVTM_HD int cvtm_grid_parents(int halved, int64_t i, int64_t *first) {
  if (!halved) {
    *first = i;
    return 1;
  }
  const int between = (i & 1) == 0;
  *first = i / 2 - between;
  return 1 + between;
}

/* Closed form in one direction: the weight of each parent of a fine node with `count` parents
 * beginning at `first`. */
CVTM_HD double cvtm_grid_closed_form_weight(int neumann, int count, int64_t first,
                                            int64_t coarse_count) {
  if (count == 1) return 1.0;
  return neumann && (first < 0 || first + 1 >= coarse_count) ? 1.0 : 0.5;
}

/* Closed form in one direction: the weights of coarse index `coarse` at its three fine nodes. */
CVTM_HD void cvtm_grid_closed_form_weights(int neumann, int64_t coarse, int64_t count,
                                           double weight[3]) {
  weight[0] = neumann && coarse == 0 ? 1.0 : 0.5;
  weight[1] = 1;
  weight[2] = neumann && coarse + 1 == count ? 1.0 : 0.5;
}

/* Closed form, both directions halved: the value at fine node (i, j) from coarse nodes (x - 1, y -
 * 1), (x, y - 1), (x - 1, y) and (x, y), where x = i / 2 and y = j / 2. The parities odd_x and
 * odd_y of i and j determine which of the four are used. */
CVTM_HD double cvtm_grid_bilinear(int odd_x, int odd_y, double north_west, double north,
                                  double west, double here) {
  if (odd_x && odd_y) return here;
  if (odd_x) return 0.5 * (north + here);
  if (odd_y) return 0.5 * (west + here);
  return 0.25 * (((north_west + north) + west) + here);
}

/* The weight of a parent at fine node (i, j). Of the count_x x count_y parents of this node it is
 * number kx in x and number ky in y. The parent must be inside the coarse grid. */
CVTM_HD double cvtm_grid_weight(const cvtm_grid_level *c, int64_t i, int64_t j, int count_x,
                                int count_y, int kx, int ky) {
  if (!c->weight)
    return cvtm_grid_closed_form_weight(c->neumann, count_x, i / 2 - 1, c->width) *
           cvtm_grid_closed_form_weight(c->neumann, count_y, j / 2 - 1, c->height);
  if (count_x == 1 && count_y == 1) return 1.0;
  const int64_t block = (c->halved_y ? j / 2 : j) * c->blocks_x + (c->halved_x ? i / 2 : i);
  const int plane = count_x == 2 ? (count_y == 2 ? 2 * ky + kx : 4 + kx) : 6 + ky;
  return (double)c->weight[plane * c->blocks_x * c->blocks_y + block];
}

/* The value interpolated at fine node (i, j) from coarse values e. */
CVTM_HD double cvtm_grid_interpolated(const cvtm_grid_level *c, const double *e, int64_t i,
                                      int64_t j) {
  if (!c->weight && c->halved_x && c->halved_y) {
    const int64_t x = i / 2, y = j / 2, west = x - !(i & 1), north = y - !(j & 1);
    if (west >= 0 && north >= 0 && x < c->width && y < c->height) {
      const double *above = e + north * c->width, *below = e + y * c->width;
      return cvtm_grid_bilinear(i & 1, j & 1, above[west], above[x], below[west], below[x]);
    }
  }
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  double sum = 0;
  for (int ky = 0; ky < count_y; ++ky) {
    for (int kx = 0; kx < count_x; ++kx) {
      const int64_t x = x0 + kx, y = y0 + ky;
      if (x < 0 || x >= c->width || y < 0 || y >= c->height) continue;
      sum += cvtm_grid_weight(c, i, j, count_x, count_y, kx, ky) * e[y * c->width + x];
    }
  }
  return sum;
}

/* --- restriction --- */

/* The support of coarse index `coarse`: the fine indices *first .. *last, within 0 .. count - 1, of
 * which it is a parent. */
CVTM_HD void cvtm_grid_support(int halved, int64_t coarse, int64_t count, int64_t *first,
                               int64_t *last) {
  *first = halved ? 2 * coarse : coarse;
  *last = halved ? 2 * coarse + 2 : coarse;
  if (*last > count - 1) *last = count - 1;
}

/* The value of the basis function of coarse node (x, y) at fine node (i, j) of its support. */
CVTM_HD double cvtm_grid_basis(const cvtm_grid_level *c, int64_t x, int64_t y, int64_t i,
                               int64_t j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  return cvtm_grid_weight(c, i, j, count_x, count_y, (int)(x - x0), (int)(y - y0));
}

/* Restricts the residual to coarse node (x, y), without truncated nodes. Next to a five-point
 * problem it also sets c->support_changed: 1 if active nodes of the support differ from
 * f->problem->active, else 0. */
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

/* Sets d at node (i, j) to the move of x by the interpolated correction, as far as the bounds
 * allow. Active nodes do not move. */
CVTM_HD void cvtm_grid_correct(const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t i,
                               int64_t j) {
  const int64_t k = j * p->width + i;
  p->d[k] = p->active[k] ? 0.0
                         : cvtm_lcp_clip(p->x[k] + cvtm_grid_interpolated(c, c->e, i, j),
                                         cvtm_grid_lower(p, k), cvtm_grid_upper(p, k)) -
                               p->x[k];
}

/* Corrects a coarse level: adds the interpolated e of the next coarser level to e. */
CVTM_HD void cvtm_grid_prolong(const cvtm_grid_level *level, const cvtm_grid_level *c, int64_t x,
                               int64_t y) {
  level->e[y * level->width + x] += cvtm_grid_interpolated(c, c->e, x, y);
}

/* --- interpolation weights from the operator --- */

CVTM_HD double cvtm_grid_positive(double value) { return value > 0 ? value : 0.0; }

/* In this section link[dy + 1][dx + 1] is the link to the neighbour at (dx, dy), or 0 if there is
 * no neighbour or it is active. link[1][1] is the diagonal entry. The excess of the diagonal over
 * the links acts as a link to the value 0. */

/* The weights of the two parents of a node that lies between them in x (in y if `vertical`), from
 * the node's stencil summed over the other direction. */
CVTM_HD void cvtm_grid_line_weights(const double link[3][3], int vertical, double weight[2]) {
  double excess = link[1][1], side[3] = {0, 0, 0};
  for (int dy = 0; dy < 3; ++dy) {
    for (int dx = 0; dx < 3; ++dx) {
      if (dx == 1 && dy == 1) continue;
      excess -= link[dy][dx];
      side[vertical ? dy : dx] += link[dy][dx];
    }
  }
  side[0] = cvtm_grid_positive(side[0]);
  side[2] = cvtm_grid_positive(side[2]);
  const double total = side[0] + side[2] + cvtm_grid_positive(excess);
  weight[0] = total > 0 ? side[0] / total : 0.0;
  weight[1] = total > 0 ? side[2] / total : 0.0;
}

/* The weights of the four parents of a node amid them. They follow from the node's equation, in
 * which each neighbour between two parents is interpolated with its weights: north, south, west,
 * east. */
CVTM_HD void cvtm_grid_amid_weights(const double stencil[3][3], const double north[2],
                                    const double south[2], const double west[2],
                                    const double east[2], double amid[4]) {
  double link[3][3], excess = stencil[1][1];
  for (int dy = 0; dy < 3; ++dy) {
    for (int dx = 0; dx < 3; ++dx) {
      if (dx != 1 || dy != 1) excess -= stencil[dy][dx];
      link[dy][dx] = cvtm_grid_positive(stencil[dy][dx]);
    }
  }
  const double total = ((link[0][0] + link[0][1] + link[0][2]) + (link[1][0] + link[1][2])) +
                       (link[2][0] + link[2][1] + link[2][2]) + cvtm_grid_positive(excess);
  amid[0] = amid[1] = amid[2] = amid[3] = 0;
  if (!(total > 0)) return;
  amid[0] = (link[0][0] + link[0][1] * north[0] + link[1][0] * west[0]) / total;
  amid[1] = (link[0][2] + link[0][1] * north[1] + link[1][2] * east[0]) / total;
  amid[2] = (link[2][0] + link[2][1] * south[0] + link[1][0] * west[1]) / total;
  amid[3] = (link[2][2] + link[2][1] * south[1] + link[1][2] * east[1]) / total;
}

/* The stencil of node (i, j) of a level for these weights; all 0 if the node is active or outside
 * the grid. */
CVTM_HD void cvtm_grid_weights_stencil(const cvtm_grid_finer *f, int64_t i, int64_t j,
                                       double link[3][3]) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  const int has_node =
      i >= 0 && j >= 0 && i < width && j < height && !cvtm_grid_finer_active(f, i, j);
  if (has_node) cvtm_grid_finer_stencil(f, i, j, link);
  for (int dy = 0; dy < 3; ++dy) {
    for (int dx = 0; dx < 3; ++dx) {
      const int64_t ni = i + dx - 1, nj = j + dy - 1;
      const int inside = ni >= 0 && nj >= 0 && ni < width && nj < height;
      if (!has_node || !inside || cvtm_grid_finer_active(f, ni, nj)) link[dy][dx] = 0;
    }
  }
}

CVTM_HD void cvtm_grid_line_weights_at(const cvtm_grid_finer *f, int64_t i, int64_t j, int vertical,
                                       double weight[2]) {
  double link[3][3];
  cvtm_grid_weights_stencil(f, i, j, link);
  cvtm_grid_line_weights(link, vertical, weight);
}

/* Stores all weights of block (x, y) (see CVTM_GRID_WEIGHTS). Those of the fine nodes between two
 * parents are computed first, and from them those of the node amid four parents. below_problem: the
 * finer level is p instead of `level`. */
CVTM_HD void cvtm_grid_compute_weights(const cvtm_grid_problem *p, const cvtm_grid_level *level,
                                       int below_problem, const cvtm_grid_level *c, int64_t x,
                                       int64_t y) {
  const cvtm_grid_finer f = {below_problem ? p : NULL, level};
  const int64_t i = c->halved_x ? 2 * x : x, j = c->halved_y ? 2 * y : y;
  double south[2], east[2], amid[4] = {0, 0, 0, 0};
  cvtm_grid_line_weights_at(&f, i, j + c->halved_y, 0, south);
  cvtm_grid_line_weights_at(&f, i + c->halved_x, j, 1, east);
  if (c->halved_x && c->halved_y) {
    double link[3][3], west[2], north[2];
    cvtm_grid_line_weights_at(&f, i - 1, j, 1, west);
    cvtm_grid_line_weights_at(&f, i, j - 1, 0, north);
    cvtm_grid_weights_stencil(&f, i, j, link);
    cvtm_grid_amid_weights(link, north, south, west, east, amid);
  }
  const int64_t plane = c->blocks_x * c->blocks_y, k = y * c->blocks_x + x;
  for (int a = 0; a < 4; ++a) c->weight[a * plane + k] = (float)amid[a];
  for (int a = 0; a < 2; ++a) {
    c->weight[(4 + a) * plane + k] = (float)south[a];
    c->weight[(6 + a) * plane + k] = (float)east[a];
  }
}

/* --- the nested start: coarser problems in finite volumes, and the start from the solution of a
 * coarser problem --- */

/* Sets b and bounds of node (x, y) of problem c, the next coarser problem than f. b is restricted
 * like a residual; the bounds are those of the fine node at this point. c owns its arrays: `const`
 * in a problem only means that a solve does not write them. */
CVTM_HD void cvtm_grid_coarsen_data(const cvtm_grid_problem *f, const cvtm_grid_problem *c,
                                    const cvtm_grid_level *level, int64_t x, int64_t y) {
  double sum = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(level->halved_x, x, f->width, &i0, &i1);
  cvtm_grid_support(level->halved_y, y, f->height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      const int64_t k = j * f->width + i;
      if (!cvtm_grid_masked(f, k)) sum += cvtm_grid_basis(level, x, y, i, j) * f->b[k];
    }
  }
  const int64_t k = y * c->width + x;
  const int64_t same =
      (y + (level->halved_y ? y + 1 : 0)) * f->width + (x + (level->halved_x ? x + 1 : 0));
  ((double *)c->b)[k] = sum;
  if (c->lower) ((double *)c->lower)[k] = f->lower[same];
  if (c->upper) ((double *)c->upper)[k] = f->upper[same];
}

/* The fraction of fine index `fine` that belongs to its coarse control volume, in one direction: a
 * half for a node between two volumes, 1 for a node at a Neumann boundary. */
CVTM_HD double cvtm_grid_control_volume_share(const cvtm_grid_level *level, int halved,
                                              int64_t coarse_count, int64_t fine) {
  int64_t first;
  const int count = cvtm_grid_parents(halved, fine, &first);
  return cvtm_grid_closed_form_weight(level->neumann, count, first, coarse_count);
}

/* Link `index` of line `line` of the finer problem; link 0 lies before node 0. Lines run down if
 * `vertical`. */
CVTM_HD double cvtm_grid_line_link(const cvtm_grid_problem *f, int vertical, int64_t index,
                                   int64_t line) {
  double link[4];
  const int64_t count = vertical ? f->height : f->width;
  const int beyond = index == count; /* the link is seen from the last node */
  const int64_t at = index - beyond;
  cvtm_grid_links(f, vertical ? line : at, vertical ? at : line, link);
  return link[2 * vertical + beyond];
}

/* Link `index` of line `line` of the coarser problem: two fine links in series if this direction is
 * halved, summed over the fine lines with their control-volume shares. */
CVTM_HD double cvtm_grid_coarse_volume_link(const cvtm_grid_problem *f,
                                            const cvtm_grid_level *level, int vertical,
                                            int64_t index, int64_t line) {
  const int along = vertical ? level->halved_y : level->halved_x;
  const int across = vertical ? level->halved_x : level->halved_y;
  const int64_t count = vertical ? f->height : f->width;
  const int64_t lines = vertical ? f->width : f->height;
  const int64_t coarse_lines = vertical ? level->width : level->height;
  int64_t first, last;
  cvtm_grid_support(across, line, lines, &first, &last);
  double sum = 0;
  for (int64_t l = first; l <= last; ++l) {
    double link = cvtm_grid_line_link(f, vertical, along ? 2 * index : index, l);
    if (along && 2 * index < count) {
      const double next = cvtm_grid_line_link(f, vertical, 2 * index + 1, l);
      link = link + next > 0 ? link * next / (link + next) : 0.0;
    }
    sum += cvtm_grid_control_volume_share(level, across, coarse_lines, l) * link;
  }
  return sum;
}

/* Sets links, diagonal and mask of node (x, y) of problem c, the next coarser problem than f. x =
 * width and y = height stand for the last links. */
CVTM_HD void cvtm_grid_coarsen_links(const cvtm_grid_problem *f, const cvtm_grid_problem *c,
                                     const cvtm_grid_level *level, int64_t x, int64_t y) {
  if (c->horizontal && y < c->height)
    ((double *)c->horizontal)[y * (c->width + 1) + x] =
        cvtm_grid_coarse_volume_link(f, level, 0, x, y);
  if (c->vertical && x < c->width)
    ((double *)c->vertical)[y * c->width + x] = cvtm_grid_coarse_volume_link(f, level, 1, y, x);
  if (x >= c->width || y >= c->height) return;
  const int64_t k = y * c->width + x;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(level->halved_x, x, f->width, &i0, &i1);
  cvtm_grid_support(level->halved_y, y, f->height, &j0, &j1);
  if (c->diagonal) {
    double sum = 0;
    for (int64_t j = j0; j <= j1; ++j) {
      for (int64_t i = i0; i <= i1; ++i) {
        if (cvtm_grid_masked(f, j * f->width + i)) continue;
        sum += cvtm_grid_control_volume_share(level, level->halved_x, c->width, i) *
               cvtm_grid_control_volume_share(level, level->halved_y, c->height, j) *
               cvtm_grid_mass_at(f, j * f->width + i);
      }
    }
    ((double *)c->diagonal)[k] = sum;
  }
  if (c->mask) {
    const int64_t i = level->halved_x ? 2 * x + 1 : x, j = level->halved_y ? 2 * y + 1 : y;
    ((uint8_t *)c->mask)[k] = f->mask[j * f->width + i];
  }
}

/* Sets x of node (i, j) by interpolation from the solution of the coarser problem. */
CVTM_HD void cvtm_grid_prolong_solution(const cvtm_grid_problem *p, const cvtm_grid_problem *c,
                                        const cvtm_grid_level *level, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  p->x[k] = cvtm_grid_clipped(p, k, cvtm_grid_interpolated(level, c->x, i, j));
}
