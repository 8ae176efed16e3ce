/* Inside lcp only: what happens at one node of a grid, as C11 and as CUDA C++, so that both
 * devices compute the same values. Level 0 is the given grid. On every level lives a
 * five-point problem (the nested start solves those of the coarser levels), and from level 1
 * on a nine-point coarse operator that corrects the five-point problem above it.
 *
 * Coarsening takes every second node: coarse I lies on fine 2I + 1, fine 2I lies between
 * coarse I - 1 and I, for any number of nodes; a direction with one node keeps it. Between
 * nodes of a constant five-point operator interpolation is bilinear (zero beyond a Dirichlet
 * boundary, constant beyond a Neumann one); otherwise its weights follow from the operator
 * (Dendy, Black box multigrid, J. Comput. Phys. 48, 1982), which keeps jumps and holes. */
#ifndef CVTMESH_LCP_GRID_GRID_ROWS_H
#define CVTMESH_LCP_GRID_GRID_ROWS_H

#include "base/portable.h"

#include <math.h>
#include <stdint.h>

/* Loops of few rounds, whose indices should be known when they are compiled. */
#if defined(__CUDACC__)
#ifdef __CUDA_ARCH__
#define CVTM_UNROLL _Pragma("unroll")
#else
#define CVTM_UNROLL
#endif
#elif defined(__clang__)
#define CVTM_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__OPTIMIZE__) /* gcc warns of annotations that it ignores */
#define CVTM_UNROLL _Pragma("GCC unroll 8")
#else
#define CVTM_UNROLL
#endif

/* Planes of a coarse operator: the diagonal, and the links (negated entries) to the east,
 * south, south-east and south-west; the other four are their neighbours'. */
enum {
  CVTM_GRID_DIAGONAL,
  CVTM_GRID_EAST,
  CVTM_GRID_SOUTH,
  CVTM_GRID_SOUTH_EAST,
  CVTM_GRID_SOUTH_WEST,
  CVTM_GRID_PLANES
};
/* Planes of stored interpolation weights: 0-3 of a node amid four coarse nodes (2 ky + kx),
 * 4-5 between two in a row, 6-7 between two in a column. */
enum { CVTM_GRID_WEIGHTS = 8 };

typedef struct cvtm_grid_problem {
  int64_t width, height;
  const double *diagonal, *horizontal, *vertical; /* as in cvtm_lcp_grid, */
  double constant, mass;                          /* and these */
  int neumann;
  const uint8_t *mask;
  const double *b, *lower, *upper;
  double *x;
  double *d;       /* the correction before its line search */
  uint8_t *active; /* 1: masked out, or held at a bound and cut from the coarse bases */
  uint8_t *other;  /* the same for the next cycle, on devices that chain cycles */
} cvtm_grid_problem;

/* Rows of a coarse operator known without a look at their coefficients: those of a constant
 * operator far from all that disturbs it, and those of bases that have been cut away. */
enum cvtm_grid_kind { CVTM_GRID_ANY, CVTM_GRID_PLAIN, CVTM_GRID_EMPTY };

typedef struct cvtm_grid_level {
  int64_t width, height;
  int halved_x, halved_y; /* against the finer level */
  int neumann;            /* closed-form weights are constant beyond the boundary */
  double *coefficient;    /* CVTM_GRID_PLANES planes */
  double *e, *r, *lower, *upper;
  double *half;    /* e before the coarser levels' correction, where a phase cannot work in place */
  uint8_t *active; /* 1: at a bound of its own and cut from the next level's bases; NULL: none */
  uint8_t *marked; /* 1: active nodes changed in the support, right below a five-point problem */
  uint8_t *fresh;  /* bits: 1: this cycle's row may differ from the last one's; 2: `active` does */
  uint8_t *kind;   /* cvtm_grid_kind of each row */
  float *weight;   /* CVTM_GRID_WEIGHTS planes of blocks of the finer level; NULL: closed form */
  int64_t blocks_x, blocks_y;
} cvtm_grid_level;

/* --- the five-point problem --- */

/* What the diagonal holds beside the links. */
CVTM_HD double cvtm_grid_own(const cvtm_grid_problem *p, int64_t k) {
  return p->diagonal ? p->diagonal[k] : p->mass;
}

/* Links of node (i, j) to the west, east, north and south; returns the diagonal entry. */
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
  return cvtm_grid_own(p, j * p->width + i) + ((link[0] + link[1]) + (link[2] + link[3]));
}

CVTM_HD double cvtm_grid_lower(const cvtm_grid_problem *p, int64_t k) {
  return p->lower ? p->lower[k] : -(double)INFINITY;
}

CVTM_HD double cvtm_grid_upper(const cvtm_grid_problem *p, int64_t k) {
  return p->upper ? p->upper[k] : (double)INFINITY;
}

CVTM_HD double cvtm_grid_clip(double value, double lower, double upper) {
  const double low = value < lower ? lower : value;
  return low > upper ? upper : low;
}

CVTM_HD int cvtm_grid_masked(const cvtm_grid_problem *p, int64_t k) {
  return p->mask && !p->mask[k];
}

/* Sum of link times value over the four neighbours of values `x`, 0 outside. Masked nodes
 * hold x = 0. */
CVTM_HD double cvtm_grid_around(const cvtm_grid_problem *p, const double *x, int64_t i, int64_t j,
                                const double link[4]) {
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
  return (p->b[k] + cvtm_grid_around(p, x, i, j, link)) - diagonal * x[k];
}

/* The value that projected SOR gives to node (i, j). A row of zeros keeps its value. */
CVTM_HD double cvtm_grid_relaxed(const cvtm_grid_problem *p, const double *x, int64_t i, int64_t j,
                                 double omega) {
  double link[4];
  const int64_t k = j * p->width + i;
  const double diagonal = cvtm_grid_links(p, i, j, link);
  const double sum = p->b[k] + cvtm_grid_around(p, x, i, j, link);
  double value = diagonal > 0 ? sum / diagonal : x[k];
  if (omega != 1.0) value = x[k] + omega * (value - x[k]);
  return cvtm_grid_clip(value, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
}

/* --- transfers --- */

/* The coarse neighbours of fine index i in one direction: from *first on, one or two (a fine
 * node between two coarse ones). They may lie outside the coarse grid. */
CVTM_HD int cvtm_grid_parents(int halved, int64_t i, int64_t *first) {
  if (!halved) {
    *first = i;
    return 1;
  }
  const int between = (i & 1) == 0;
  *first = i / 2 - between;
  return 1 + between;
}

/* Closed form, one direction: the weight of parent I of a node with `count` parents. */
CVTM_HD double cvtm_grid_weight_1d(int neumann, int count, int64_t first, int64_t coarse_count) {
  if (count == 1) return 1.0;
  return neumann && (first < 0 || first + 1 >= coarse_count) ? 1.0 : 0.5;
}

/* Interpolation weight of the parent (first_x + kx, first_y + ky), inside the coarse grid, of
 * fine node (i, j). */
CVTM_HD double cvtm_grid_weight(const cvtm_grid_level *c, int64_t i, int64_t j, int count_x,
                                int count_y, int kx, int ky) {
  if (!c->weight) {
    return cvtm_grid_weight_1d(c->neumann, count_x, i / 2 - 1, c->width) *
           cvtm_grid_weight_1d(c->neumann, count_y, j / 2 - 1, c->height);
  }
  if (count_x == 1 && count_y == 1) return 1.0;
  const int64_t block = (c->halved_y ? j / 2 : j) * c->blocks_x + (c->halved_x ? i / 2 : i);
  const int plane = count_x == 2 ? (count_y == 2 ? 2 * ky + kx : 4 + kx) : 6 + ky;
  return (double)c->weight[plane * c->blocks_x * c->blocks_y + block];
}

/* The value that coarse values e give to fine node (i, j). */
CVTM_HD double cvtm_grid_prolonged(const cvtm_grid_level *c, const double *e, int64_t i,
                                   int64_t j) {
  if (!c->weight && c->halved_x && c->halved_y) {
    const int64_t x = i / 2, y = j / 2, west = x - !(i & 1), north = y - !(j & 1);
    if (west >= 0 && north >= 0 && x < c->width && y < c->height) {
      /* The same sum without a branch: a single parent counts twice, with weights 0 and 1. */
      const double wx = i & 1 ? 0.0 : 0.5, wy = j & 1 ? 0.0 : 0.5;
      const double *above = e + north * c->width, *below = e + y * c->width;
      return (((wx * wy) * above[west] + ((1 - wx) * wy) * above[x]) +
              (wx * (1 - wy)) * below[west]) +
             ((1 - wx) * (1 - wy)) * below[x];
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

/* Fine indices whose parents include coarse index I: *first .. *last, inside 0 .. count - 1. */
CVTM_HD void cvtm_grid_support(int halved, int64_t coarse, int64_t count, int64_t *first,
                               int64_t *last) {
  *first = halved ? 2 * coarse : coarse;
  *last = halved ? 2 * coarse + 2 : coarse;
  if (*last > count - 1) *last = count - 1;
}

/* The weight of coarse node (x, y) at fine node (i, j) of its support. */
CVTM_HD double cvtm_grid_basis(const cvtm_grid_level *c, int64_t x, int64_t y, int64_t i,
                               int64_t j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  return cvtm_grid_weight(c, i, j, count_x, count_y, (int)(x - x0), (int)(y - y0));
}

/* --- coarse operators --- */

CVTM_HD double cvtm_grid_coarse_link(const cvtm_grid_level *c, int plane, int64_t x, int64_t y) {
  if (x < 0 || y < 0 || x >= c->width || y >= c->height) return 0.0;
  return c->coefficient[(plane * c->height + y) * c->width + x];
}

/* cvtm_grid_coarse_row of a node with all eight neighbours. */
CVTM_HD void cvtm_grid_coarse_row_inside(const cvtm_grid_level *c, int64_t x, int64_t y,
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

/* The nine links of a coarse row, link[dy + 1][dx + 1]; the middle one is the diagonal. */
CVTM_HD void cvtm_grid_coarse_row(const cvtm_grid_level *c, int64_t x, int64_t y,
                                  double link[3][3]) {
  if (x > 0 && y > 0 && x + 1 < c->width && y + 1 < c->height) {
    cvtm_grid_coarse_row_inside(c, x, y, link);
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

/* Sum of link times e over the eight neighbours; links that leave the grid are 0. */
CVTM_HD double cvtm_grid_coarse_around(const cvtm_grid_level *c, const double *e, int64_t x,
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

/* The value that Gauss-Seidel gives to coarse node (x, y), moved into its bounds where it has
 * any. A node whose basis function was cut away entirely keeps 0. */
CVTM_HD double cvtm_grid_coarse_relaxed(const cvtm_grid_level *c, int bounded, int64_t x,
                                        int64_t y) {
  double link[3][3];
  const int64_t k = y * c->width + x;
  cvtm_grid_coarse_row(c, x, y, link);
  if (!(link[1][1] > 0)) return 0.0;
  const double value = (c->r[k] + cvtm_grid_coarse_around(c, c->e, x, y, link)) / link[1][1];
  return bounded ? cvtm_grid_clip(value, c->lower[k], c->upper[k]) : value;
}

CVTM_HD double cvtm_grid_coarse_residual(const cvtm_grid_level *c, int64_t x, int64_t y) {
  double link[3][3];
  const int64_t k = y * c->width + x;
  cvtm_grid_coarse_row(c, x, y, link);
  return (c->r[k] + cvtm_grid_coarse_around(c, c->e, x, y, link)) - link[1][1] * c->e[k];
}

/* What the coarse levels correct: the five-point problem of the level above, or a coarse level. */
typedef struct cvtm_grid_finer {
  const cvtm_grid_problem *problem; /* or NULL */
  const cvtm_grid_level *level;
} cvtm_grid_finer;

CVTM_HD int64_t cvtm_grid_finer_width(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->width : f->level->width;
}

CVTM_HD int64_t cvtm_grid_finer_height(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->height : f->level->height;
}

CVTM_HD void cvtm_grid_finer_row(const cvtm_grid_finer *f, int64_t i, int64_t j,
                                 double link[3][3]) {
  if (!f->problem) {
    cvtm_grid_coarse_row(f->level, i, j, link);
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

CVTM_HD int cvtm_grid_finer_active(const cvtm_grid_finer *f, int64_t i, int64_t j) {
  if (f->problem) return f->problem->active[j * f->problem->width + i];
  return f->level->active && f->level->active[j * f->level->width + i];
}

/* Adds q A e_g for one fine node g = (2 x - 1 + tx, 2 y - 1 + ty) to the entries of row (x, y)
 * that are stored: its parents among the neighbours, at offsets below. */
CVTM_HD void cvtm_grid_spread(const cvtm_grid_level *c, int64_t x, int64_t y, int tx, int ty,
                              double q, double sum[3][3]) {
  const int64_t i = 2 * x - 1 + tx, j = 2 * y - 1 + ty;
  const int count_x = 1 + (tx & 1), count_y = 1 + (ty & 1);
  CVTM_UNROLL
  for (int ky = 0; ky < count_y; ++ky) {
    CVTM_UNROLL
    for (int kx = 0; kx < count_x; ++kx) {
      const int px = tx / 2 + kx, py = ty / 2 + ky; /* 0: x - 1, 1: x, 2: x + 1 */
      if (py == 0 || (py == 1 && px == 0)) continue;
      const int64_t cx = x + px - 1, cy = y + py - 1;
      if (cx < 0 || cx >= c->width || cy >= c->height) continue;
      sum[py][px] += q * cvtm_grid_weight(c, i, j, count_x, count_y, kx, ky);
    }
  }
}

/* The nodes cut from the bases among those that a flag array marks; NULL: none. */
CVTM_HD const uint8_t *cvtm_grid_finer_flags(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->active : f->level->active;
}

/* A constant operator: its diagonal, and its links to a side and to a corner. */
typedef struct cvtm_grid_plain {
  double diagonal, side, corner;
} cvtm_grid_plain;

/* Its Galerkin operator: interpolation meets itself with 3/2, 1 and 1/4 in each direction when
 * moved by 0, 1 and 2 nodes. */
CVTM_HD cvtm_grid_plain cvtm_grid_plain_below(cvtm_grid_plain a) {
  cvtm_grid_plain c;
  c.diagonal = 2.25 * a.diagonal - (6 * a.side + 4 * a.corner);
  c.side = 2 * (a.side + a.corner) - 0.375 * a.diagonal;
  c.corner = (0.5 * a.side + a.corner) - 0.0625 * a.diagonal;
  return c;
}

/* That of a five-point problem without coefficients of its own. */
CVTM_HD cvtm_grid_plain cvtm_grid_plain_of(const cvtm_grid_problem *p) {
  cvtm_grid_plain a;
  a.diagonal = 4 * p->constant + p->mass;
  a.side = p->constant;
  a.corner = 0;
  return a;
}

/* Are the 5 x 5 fine nodes around a support inside the grid, and their rows those of a constant
 * operator? Then *below is the one that results. */
CVTM_HD int cvtm_grid_becomes_plain(const cvtm_grid_finer *f, int64_t x, int64_t y,
                                    cvtm_grid_plain *below) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  if (x < 1 || y < 1 || 2 * x + 4 >= width || 2 * y + 4 >= height) return 0;
  if (f->problem) {
    *below = cvtm_grid_plain_below(cvtm_grid_plain_of(f->problem));
    return !f->problem->diagonal;
  }
  const uint8_t *kind = f->level->kind + (2 * y - 1) * width + 2 * x - 1;
  int other = 0;
  if (kind[2 * width + 2] != CVTM_GRID_PLAIN) return 0;
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) other |= kind[ty * width + tx] != CVTM_GRID_PLAIN;
  }
  const double *middle = f->level->coefficient + (2 * y + 1) * width + 2 * x + 1;
  const int64_t plane = width * height;
  cvtm_grid_plain plain;
  plain.diagonal = middle[CVTM_GRID_DIAGONAL * plane];
  plain.side = middle[CVTM_GRID_EAST * plane];
  plain.corner = middle[CVTM_GRID_SOUTH_EAST * plane];
  *below = cvtm_grid_plain_below(plain);
  return !other;
}

/* Of the 5 x 5 fine nodes around a support, bit 5 ty + tx: those cut from the bases or outside the
 * grid. */
CVTM_HD uint32_t cvtm_grid_cuts(const cvtm_grid_finer *f, int64_t x, int64_t y) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  const uint8_t *flags = cvtm_grid_finer_flags(f);
  uint32_t cuts = 0;
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) {
      const int64_t i = 2 * x - 1 + tx, j = 2 * y - 1 + ty;
      const int inside = i >= 0 && j >= 0 && i < width && j < height;
      const uint32_t cut = !inside || (flags && flags[j * width + i]);
      cuts |= cut << (5 * ty + tx);
    }
  }
  return cuts;
}

/* Closed-form weights of coarse index I at its three fine nodes, in one direction. */
CVTM_HD void cvtm_grid_weights_1d(int neumann, int64_t coarse, int64_t count, double weight[3]) {
  weight[0] = neumann && coarse == 0 ? 1.0 : 0.5;
  weight[1] = 1;
  weight[2] = neumann && coarse + 1 == count ? 1.0 : 0.5;
}

/* Adds a part of w A at node (tx, ty) of the 5 x 5 to the entries of row (x, y) that are stored:
 * its parents among the neighbours. */
CVTM_HD void cvtm_grid_spread_bilinear(const cvtm_grid_level *c, int64_t x, int64_t y, int tx,
                                       int ty, double part, double sum[3][3]) {
  const int has_west = x > 0, has_east = x + 1 < c->width, has_south = y + 1 < c->height;
  CVTM_UNROLL
  for (int py = ty / 2; py <= (ty + 1) / 2; ++py) { /* 0: y - 1, 1: y, 2: y + 1 */
    CVTM_UNROLL
    for (int px = tx / 2; px <= (tx + 1) / 2; ++px) {
      if (py == 0 || (py == 1 && px == 0) || (py == 2 && !has_south)) continue;
      if ((px == 0 && !has_west) || (px == 2 && !has_east)) continue;
      sum[py][px] += part;
    }
  }
}

/* The same for w A at all of the 5 x 5, without the nodes that are cut; `across` and `along` as
 * cvtm_grid_weights_1d gives them. */
CVTM_HD void cvtm_grid_spread_all(const cvtm_grid_level *c, int64_t x, int64_t y,
                                  const double across[3], const double along[3], uint32_t cuts,
                                  double q[5][5], double sum[3][3]) {
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) {
      const double share = (ty & 1 ? along[ty - 1] : 1.0) * (tx & 1 ? across[tx - 1] : 1.0);
      const double part = cuts >> (5 * ty + tx) & 1 ? 0.0 : share * q[ty][tx];
      cvtm_grid_spread_bilinear(c, x, y, tx, ty, part, sum);
    }
  }
}

/* Adds a row of links (the middle one is the diagonal), `own` times, to w A over the 5 x 5: that of
 * node (dx, dy) of the support. */
CVTM_HD void cvtm_grid_add_row(double own, int dx, int dy, double link[3][3], double q[5][5]) {
  link[1][1] = -link[1][1];
  CVTM_UNROLL
  for (int ny = 0; ny < 3; ++ny) {
    CVTM_UNROLL
    for (int nx = 0; nx < 3; ++nx) q[dy + ny][dx + nx] += own * link[ny][nx];
  }
}

/* cvtm_grid_galerkin_bilinear right below a five-point problem without links of its own. */
CVTM_HD void cvtm_grid_galerkin_five(const cvtm_grid_problem *p, const cvtm_grid_level *c,
                                     int64_t x, int64_t y, uint32_t cuts, double sum[3][3]) {
  const double link = p->constant, outer = p->neumann ? 0.0 : link;
  double across[3], along[3], own[3][3];
  cvtm_grid_weights_1d(c->neumann, x, c->width, across);
  cvtm_grid_weights_1d(c->neumann, y, c->height, along);
  CVTM_UNROLL
  for (int dy = 0; dy < 3; ++dy) {
    CVTM_UNROLL
    for (int dx = 0; dx < 3; ++dx) {
      own[dy][dx] = cuts >> (5 * dy + dx + 6) & 1 ? 0.0 : along[dy] * across[dx];
    }
  }
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) {
      const int row = ty > 0 && ty<4, column = tx> 0 && tx < 4;
      if (!row && !column) continue;
      double q = 0;
      if (column && ty >= 2) q += own[ty - 2][tx - 1] * link;
      if (row && tx >= 2) q += own[ty - 1][tx - 2] * link;
      if (row && column) {
        const int64_t i = 2 * x - 1 + tx, j = 2 * y - 1 + ty;
        const double beside = (i > 0 ? link : outer) + (i + 1 < p->width ? link : outer);
        const double above = (j > 0 ? link : outer) + (j + 1 < p->height ? link : outer);
        const int cut = cuts >> (5 * ty + tx) & 1;
        const double held = cut ? 0.0 : cvtm_grid_own(p, j * p->width + i);
        q -= own[ty - 1][tx - 1] * (held + (beside + above));
      }
      if (row && tx <= 2) q += own[ty - 1][tx] * link;
      if (column && ty <= 2) q += own[ty][tx - 1] * link;
      const double share = (ty & 1 ? along[ty - 1] : 1.0) * (tx & 1 ? across[tx - 1] : 1.0);
      const double part = cuts >> (5 * ty + tx) & 1 ? 0.0 : share * q;
      cvtm_grid_spread_bilinear(c, x, y, tx, ty, part, sum);
    }
  }
}

/* cvtm_grid_galerkin_bilinear between coarse levels, where the 5 x 5 fine nodes are inside the grid
 * and none of them is cut. */
CVTM_HD void cvtm_grid_galerkin_nine(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t x,
                                     int64_t y, double sum[3][3]) {
  const double half[3] = {0.5, 1, 0.5};
  double q[5][5] = {{0}};
  CVTM_UNROLL
  for (int dy = 0; dy < 3; ++dy) {
    CVTM_UNROLL
    for (int dx = 0; dx < 3; ++dx) {
      double link[3][3];
      cvtm_grid_coarse_row_inside(f, 2 * x + dx, 2 * y + dy, link);
      cvtm_grid_add_row(half[dy] * half[dx], dx, dy, link, q);
    }
  }
  cvtm_grid_spread_all(c, x, y, half, half, 0, q, sum);
}

/* The row of a constant operator. */
CVTM_HD void cvtm_grid_plain_row(cvtm_grid_plain plain, double sum[3][3]) {
  sum[1][1] = -plain.diagonal;
  sum[1][2] = sum[2][1] = plain.side;
  sum[2][2] = sum[2][0] = plain.corner;
}

/* cvtm_grid_galerkin where interpolation is in closed form and both directions are halved: first
 * w A over the 5 x 5 fine nodes around the support, then their parents. Returns whether the row
 * is that of a constant operator. */
CVTM_HD int cvtm_grid_galerkin_bilinear(const cvtm_grid_finer *f, const cvtm_grid_level *c,
                                        int64_t x, int64_t y, double sum[3][3]) {
  const uint32_t cuts = cvtm_grid_cuts(f, x, y);
  cvtm_grid_plain plain;
  if (cuts == 0 && cvtm_grid_becomes_plain(f, x, y, &plain)) {
    cvtm_grid_plain_row(plain, sum);
    return 1;
  }
  if (cuts == 0 && !f->problem) {
    cvtm_grid_galerkin_nine(f->level, c, x, y, sum);
    return 0;
  }
  if (f->problem && !f->problem->horizontal) {
    cvtm_grid_galerkin_five(f->problem, c, x, y, cuts, sum);
    return 0;
  }
  double across[3], along[3], q[5][5] = {{0}};
  cvtm_grid_weights_1d(c->neumann, x, c->width, across);
  cvtm_grid_weights_1d(c->neumann, y, c->height, along);
  CVTM_UNROLL
  for (int dy = 0; dy < 3; ++dy) {
    CVTM_UNROLL
    for (int dx = 0; dx < 3; ++dx) {
      if (cuts >> (5 * dy + dx + 6) & 1) continue;
      double link[3][3];
      cvtm_grid_finer_row(f, 2 * x + dx, 2 * y + dy, link);
      cvtm_grid_add_row(along[dy] * across[dx], dx, dy, link, q);
    }
  }
  cvtm_grid_spread_all(c, x, y, across, along, cuts, q, sum);
  return 0;
}

/* The same with weights of the operator's own: first w A over the 5 x 5
 * fine nodes around the support, then their parents. */
CVTM_HD void cvtm_grid_galerkin_halved(const cvtm_grid_finer *f, const cvtm_grid_level *c,
                                       int64_t x, int64_t y, double sum[3][3]) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  double q[5][5] = {{0}};
  CVTM_UNROLL
  for (int dy = 0; dy < 3; ++dy) {
    CVTM_UNROLL
    for (int dx = 0; dx < 3; ++dx) {
      const int64_t i = 2 * x + dx, j = 2 * y + dy;
      if (i >= width || j >= height || cvtm_grid_finer_active(f, i, j)) continue;
      double link[3][3];
      const double own = cvtm_grid_basis(c, x, y, i, j);
      cvtm_grid_finer_row(f, i, j, link);
      link[1][1] = -link[1][1];
      CVTM_UNROLL
      for (int ny = 0; ny < 3; ++ny) {
        CVTM_UNROLL
        for (int nx = 0; nx < 3; ++nx) q[dy + ny][dx + nx] += own * link[ny][nx];
      }
    }
  }
  CVTM_UNROLL
  for (int ty = 0; ty < 5; ++ty) {
    CVTM_UNROLL
    for (int tx = 0; tx < 5; ++tx) {
      const int64_t i = 2 * x - 1 + tx, j = 2 * y - 1 + ty;
      if (i < 0 || j < 0 || i >= width || j >= height) continue;
      if (cvtm_grid_finer_active(f, i, j)) continue;
      cvtm_grid_spread(c, x, y, tx, ty, q[ty][tx], sum);
    }
  }
}

/* The same for any coarsening. */
CVTM_HD void cvtm_grid_galerkin_thin(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
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
      cvtm_grid_finer_row(f, i, j, link);
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

CVTM_HD void cvtm_grid_store_row(const cvtm_grid_level *c, int64_t x, int64_t y, double sum[3][3],
                                 int plain) {
  double *out = c->coefficient + y * c->width + x;
  const int64_t plane = c->width * c->height;
  out[CVTM_GRID_DIAGONAL * plane] = -sum[1][1];
  out[CVTM_GRID_EAST * plane] = sum[1][2];
  out[CVTM_GRID_SOUTH * plane] = sum[2][1];
  out[CVTM_GRID_SOUTH_EAST * plane] = sum[2][2];
  out[CVTM_GRID_SOUTH_WEST * plane] = sum[2][0];
  c->kind[y * c->width + x] = plain           ? CVTM_GRID_PLAIN
                              : sum[1][1] < 0 ? CVTM_GRID_ANY
                                              : CVTM_GRID_EMPTY;
}

/* Row (x, y) of the Galerkin operator: sum over the support of w_f A_fg w_g, without the
 * active nodes. */
CVTM_HD void cvtm_grid_galerkin(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                                int64_t y) {
  double sum[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  int plain = 0;
  if (c->halved_x && c->halved_y && !c->weight) {
    plain = cvtm_grid_galerkin_bilinear(f, c, x, y, sum);
  } else if (c->halved_x && c->halved_y) {
    cvtm_grid_galerkin_halved(f, c, x, y, sum);
  } else {
    cvtm_grid_galerkin_thin(f, c, x, y, sum);
  }
  cvtm_grid_store_row(c, x, y, sum, plain);
}

CVTM_HD double cvtm_grid_positive(double value) { return value > 0 ? value : 0.0; }

/* Weights of the two parents of a node between them: the operator's row, summed over the other
 * direction. Links to active nodes count as links to 0. */
CVTM_HD void cvtm_grid_weights_line(const cvtm_grid_finer *f, int64_t i, int64_t j, int vertical,
                                    double weight[2]) {
  double link[3][3], total = 0, side[3] = {0, 0, 0};
  weight[0] = weight[1] = 0;
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  if (i < 0 || j < 0 || i >= width || j >= height || cvtm_grid_finer_active(f, i, j)) return;
  cvtm_grid_finer_row(f, i, j, link);
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

/* All weights of block (x, y): its nodes between two parents, then the one amid four. */
CVTM_HD void cvtm_grid_weights(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                               int64_t y) {
  const int64_t i = c->halved_x ? 2 * x : x, j = c->halved_y ? 2 * y : y;
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  double row[2], column[2], amid[4] = {0, 0, 0, 0};
  cvtm_grid_weights_line(f, i, j + c->halved_y, 0, row);
  cvtm_grid_weights_line(f, i + c->halved_x, j, 1, column);
  if (c->halved_x && c->halved_y && i < width && j < height && !cvtm_grid_finer_active(f, i, j)) {
    double link[3][3], west[2], north[2];
    cvtm_grid_weights_line(f, i - 1, j, 1, west);
    cvtm_grid_weights_line(f, i, j - 1, 0, north);
    cvtm_grid_finer_row(f, i, j, link);
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
