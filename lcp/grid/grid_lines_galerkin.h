/* Inside grid_lines.c only: P'AP for the nodes of a line. Nodes whose 5 x 5 fine nodes are inside
 * the grid, between levels with bilinear interpolation, go through galerkin_inside: the sums of
 * cvtm_grid_galerkin, first over columns and then over lines, which compilers vectorise. */
#ifndef CVTMESH_LCP_GRID_GRID_LINES_GALERKIN_H
#define CVTMESH_LCP_GRID_GRID_LINES_GALERKIN_H

#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_lines_problem.h"

/* --- which stencils must be computed --- */

/* A stencil reaches over the supports of the neighbours. */
CVTM_INLINE void due_below_problem_body(const cvtm_grid_level *c, int64_t y, uint8_t *due) {
  const int64_t w = c->width;
  const uint8_t *line = c->support_changed + y * w, *north = y > 0 ? line - w : line;
  const uint8_t *south = y + 1 < c->height ? line + w : line;
  uint8_t column[CHUNK + 2];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), from = first > 0 ? -1 : 0;
    const int64_t to = first + count < w ? count + 1 : count;
    column[0] = column[count + 1] = 0;
    for (int64_t i = from; i < to; ++i) {
      column[i + 1] = north[first + i] | line[first + i] | south[first + i];
    }
    for (int64_t i = 0; i < count; ++i) {
      due[first + i] = column[i] | column[i + 1] | column[i + 2];
    }
  }
}

/* A stencil changes with the finer stencils in the support. */
CVTM_INLINE void due_below_level_body(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y,
                                      uint8_t *due) {
  const int64_t part = CHUNK / 2, bottom = 2 * y + 2 < f->height ? 2 * y + 2 : f->height - 1;
  uint8_t column[CHUNK + 1];
  for (int64_t first = 0; first < c->width; first += part) {
    const int64_t count = c->width - first < part ? c->width - first : part;
    const int64_t there = f->width - 2 * first, to = 2 * count + 1 < there ? 2 * count + 1 : there;
    for (int64_t i = 0; i < 2 * count + 1; ++i) column[i] = 0;
    for (int64_t j = 2 * y; j <= bottom; ++j) {
      const uint8_t *fresh = f->stencil_changed + j * f->width + 2 * first;
      for (int64_t i = 0; i < to; ++i) column[i] |= fresh[i];
    }
    for (int64_t x = 0; x < count; ++x) {
      const uint8_t *at = column + 2 * x;
      due[first + x] = (uint8_t)((at[0] | at[1] | at[2]) != 0);
    }
  }
}

/* --- w'A --- */

/* Adds weights times links of three nodes of a line to the nodes to the west of them, in their
 * column, and to the east. */
CVTM_INLINE void add_line_of_stencils(double q[5], const double weight[3], const double *west,
                                      const double *own, double sign, const double *east) {
  CVTM_UNROLL
  for (int s = 0; s < 3; ++s) {
    q[s] += weight[s] * west[s];
    q[s + 1] += weight[s] * (sign * own[s]);
    q[s + 2] += weight[s] * east[s];
  }
}

/* q = w'A of a basis function w whose support begins at node k of the finer grid: in the three
 * lines of the support and in the one south of it. */
CVTM_INLINE void add_coarse_stencils(const cvtm_grid_level *f, int64_t k, double weight[3][3],
                                     double q[4][5]) {
  const int64_t w = f->width, plane = w * f->height;
  const double *at = f->coefficient + k;
  const double *east = at + CVTM_GRID_EAST * plane, *south = at + CVTM_GRID_SOUTH * plane;
  const double *south_east = at + CVTM_GRID_SOUTH_EAST * plane;
  const double *south_west = at + CVTM_GRID_SOUTH_WEST * plane;
  CVTM_UNROLL
  for (int s = 0; s < 3; ++s) {
    const int64_t o = s * w;
    if (s > 0) {
      add_line_of_stencils(q[s - 1], weight[s], south_east + o - w - 1, south + o - w, 1,
                           south_west + o - w + 1);
    }
    add_line_of_stencils(q[s], weight[s], east + o - 1, at + o, -1, east + o);
    add_line_of_stencils(q[s + 1], weight[s], south_west + o, south + o, 1, south_east + o);
  }
}

/* The same below a five-point problem without stored links. */
CVTM_INLINE void add_problem_stencils(const cvtm_grid_problem *p, int64_t k, double weight[3][3],
                                      double q[4][5]) {
  const double c = p->constant;
  CVTM_UNROLL
  for (int s = 0; s < 3; ++s) {
    CVTM_UNROLL
    for (int t = 0; t < 3; ++t) {
      const double along = c * weight[s][t];
      const double diagonal = cvtm_grid_mass_at(p, k + s * p->width + t) + ((c + c) + (c + c));
      if (s > 0) q[s - 1][t + 1] += along;
      q[s][t] += along;
      q[s][t + 1] -= diagonal * weight[s][t];
      q[s][t + 2] += along;
      q[s + 1][t + 1] += along;
    }
  }
}

/* --- w'AP --- */

/* The 5 x 5 nodes around a support: 0 where a node is truncated, else 1. */
typedef struct kept_nodes {
  const double *line[5];
  int any; /* a node is truncated */
} kept_nodes;

/* kept = NULL: no node is truncated. */
CVTM_INLINE void galerkin_inside(const cvtm_grid_finer *f, int64_t x, int64_t y,
                                 const kept_nodes *kept, double sum[3][3]) {
  const int64_t k = 2 * y * cvtm_grid_finer_width(f) + 2 * x;
  double q[4][5] = {{0}};
  double weight[3][3] = {{0.25, 0.5, 0.25}, {0.5, 1, 0.5}, {0.25, 0.5, 0.25}};
  if (kept) {
    CVTM_UNROLL
    for (int t = 0; t < 3; ++t) {
      CVTM_UNROLL
      for (int s = 0; s < 3; ++s) weight[t][s] *= kept->line[t + 1][s + 1];
    }
  }
  if (f->problem) {
    add_problem_stencils(f->problem, k, weight, q);
  } else {
    add_coarse_stencils(f->level, k, weight, q);
  }
  if (kept) {
    CVTM_UNROLL
    for (int t = 0; t < 4; ++t) {
      CVTM_UNROLL
      for (int s = 0; s < 5; ++s) q[t][s] *= kept->line[t + 1][s];
    }
  }
  double west[4], middle[4], east[4]; /* lines of q taken to the coarse columns */
  CVTM_UNROLL
  for (int t = 0; t < 4; ++t) {
    west[t] = q[t][0] + 0.5 * q[t][1];
    middle[t] = (0.5 * q[t][1] + q[t][2]) + 0.5 * q[t][3];
    east[t] = 0.5 * q[t][3] + q[t][4];
  }
  sum[1][1] = (0.5 * middle[0] + middle[1]) + 0.5 * middle[2];
  sum[1][2] = (0.5 * east[0] + east[1]) + 0.5 * east[2];
  sum[2][0] = 0.5 * west[2] + west[3];
  sum[2][1] = 0.5 * middle[2] + middle[3];
  sum[2][2] = 0.5 * east[2] + east[3];
}

/* Nodes first .. end - 1 of line y, whose 5 x 5 fine nodes are inside the grid. */
CVTM_INLINE void galerkin_chunk(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t first,
                                int64_t end, int64_t y) {
  const int64_t width = cvtm_grid_finer_width(f), fine = 2 * (end - first) + 3;
  const uint8_t *flags = cvtm_grid_finer_flags(f);
  double keep[5][CHUNK + 3];
  uint8_t column[CHUNK + 3];
  for (int64_t i = 0; i < fine; ++i) column[i] = 0;
  for (int t = 0; t < 5 && flags; ++t) {
    const uint8_t *line = flags + (2 * y - 1 + t) * width + 2 * first - 1;
    for (int64_t i = 0; i < fine; ++i) column[i] |= line[i];
    for (int64_t i = 0; i < fine; ++i) keep[t][i] = (double)(1 - line[i]);
  }
  for (int64_t x = first; x < end; ++x) {
    const int64_t o = 2 * (x - first);
    const kept_nodes kept = {
        {keep[0] + o, keep[1] + o, keep[2] + o, keep[3] + o, keep[4] + o},
        column[o] | column[o + 1] | column[o + 2] | column[o + 3] | column[o + 4]};
    double sum[3][3];
    cvtm_grid_constant_stencil constant;
    const int is_constant = !kept.any && cvtm_grid_galerkin_is_constant(f, x, y, &constant);
    if (is_constant) {
      cvtm_grid_constant_entries(constant, sum);
    } else if (kept.any) {
      galerkin_inside(f, x, y, &kept, sum);
    } else {
      galerkin_inside(f, x, y, NULL, sum);
    }
    cvtm_grid_store_stencil(c, x, y, sum, is_constant);
  }
}

CVTM_INLINE void galerkin_line_body(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y,
                                    const uint8_t *due) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  const int inside = !c->weight && c->halved_x && c->halved_y && y > 0 && 2 * y + 4 < height;
  const uint8_t *next = due;
  while ((next = memchr(next, 1, (size_t)(due + c->width - next)))) {
    const int64_t x = next - due;
    int64_t end = x + 1;
    if (inside && x > 0 && 2 * x + 4 < width) {
      while (end - x < CHUNK / 2 && 2 * end + 4 < width && due[end]) ++end;
      galerkin_chunk(f, c, x, end, y);
    } else {
      cvtm_grid_galerkin(f, c, x, y);
    }
    next = due + end;
  }
}

#endif
