/* Inside grid_lines.c only: chunks of a line, their bounds, sums over lanes, and lines of the
 * five-point problem. `varying` is a constant of each call: 0: links and diagonal of the inner
 * nodes of a line are constant. */
#ifndef CVTMESH_LCP_GRID_GRID_LINES_PROBLEM_H
#define CVTMESH_LCP_GRID_GRID_LINES_PROBLEM_H

#include "base/host.h"
#include "lcp/grid/grid_lines.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_smoother.h"

#include <string.h>

/* Nodes of a chunk; lanes of partial sums along a line, whose number divides them. */
enum { CHUNK = 256, LANES = 32 };

/* Lines outside a grid, and bounds that do not exist. */
static const double zeros[CHUNK] = {0};
static const double plus_infinity[CHUNK + 1] = {[0 ... CHUNK] = (double)INFINITY};
static const double minus_infinity[CHUNK + 1] = {[0 ... CHUNK] = -(double)INFINITY};

CVTM_INLINE int64_t chunk_of(int64_t first, int64_t end) {
  return end - first < CHUNK ? end - first : CHUNK;
}

/* The bounds of the nodes of a chunk. */
typedef struct bounds {
  const double *lower, *upper;
} bounds;

CVTM_INLINE bounds bounds_from(const cvtm_grid_problem *p, int64_t k) {
  const bounds b = {p->lower ? p->lower + k : minus_infinity,
                    p->upper ? p->upper + k : plus_infinity};
  return b;
}

CVTM_INLINE double clip_at(bounds b, int64_t i, double value) {
  return cvtm_lcp_clip(value, b.lower[i], b.upper[i]);
}

CVTM_INLINE int is_at_bound(bounds b, int64_t i, double value) {
  return (value <= b.lower[i]) | (value >= b.upper[i]);
}

/* Appends zeros up to a whole number of lanes. */
CVTM_INLINE int64_t fill_lanes(double *value, int64_t count) {
  const int64_t whole = (count + LANES - 1) / LANES * LANES;
  for (int64_t i = count; i < whole; ++i) value[i] = 0;
  return whole;
}

CVTM_INLINE double sum_of_lanes(double lane[LANES]) {
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

/* --- the operator along a chunk --- */

/* A chunk of line j: x there and on the lines beside it, and its operator. */
typedef struct stencil {
  const double *line, *north, *south;
  double link, up, down, diagonal;    /* of a constant operator */
  const double *sums, *own_diagonals; /* of a varying one: neighbour sums, diagonal entries */
} stencil;

/* True if `varying` is 0 for this problem. */
CVTM_INLINE int has_constant_stencil(const cvtm_grid_problem *p) {
  return !p->horizontal && !p->diagonal && p->constant > 0;
}

/* Neighbour sums and diagonal entries of every `stride`-th of `count` nodes from `first` on, none
 * of them at the left or right edge. */
CVTM_INLINE void varying_stencil(const cvtm_grid_problem *p, const stencil *s, int64_t j,
                                 int64_t first, int64_t count, int64_t stride, double *sums,
                                 double *diagonals) {
  const int64_t w = p->width;
  const double *line = s->line, *north = s->north, *south = s->south;
  const double *own = p->diagonal ? p->diagonal + j * w + first : zeros;
  const double mass = p->diagonal ? 0.0 : p->mass;
  if (p->horizontal) {
    const double *h = p->horizontal + j * (w + 1) + first;
    const double *v = p->vertical + j * w + first, *u = v + w;
    for (int64_t i = 0; i < count; i += stride) {
      diagonals[i] = (own[i] + mass) + ((h[i] + h[i + 1]) + (v[i] + u[i]));
      sums[i] = (h[i] * line[i - 1] + h[i + 1] * line[i + 1]) + (v[i] * north[i] + u[i] * south[i]);
    }
    return;
  }
  for (int64_t i = 0; i < count; i += stride) {
    diagonals[i] = (own[i] + mass) + s->diagonal;
    sums[i] =
        (s->link * line[i - 1] + s->link * line[i + 1]) + (s->up * north[i] + s->down * south[i]);
  }
}

/* sums, diagonals: chunks to work in if `varying`. */
CVTM_INLINE stencil stencil_from(const cvtm_grid_problem *p, const double *x, int64_t j,
                                 int64_t first, int64_t count, int64_t stride, int varying,
                                 double *sums, double *diagonals) {
  const double c = p->constant, outer = p->neumann ? 0.0 : c;
  const double *line = x + j * p->width + first;
  stencil s = {.line = line,
               .north = j > 0 ? line - p->width : zeros,
               .south = j + 1 < p->height ? line + p->width : zeros,
               .link = c,
               .up = j > 0 ? c : outer,
               .down = j + 1 < p->height ? c : outer};
  s.diagonal = (c + c) + (s.up + s.down);
  if (varying) {
    varying_stencil(p, &s, j, first, count, stride, sums, diagonals);
    s.sums = sums;
    s.own_diagonals = diagonals;
  } else {
    s.diagonal = p->mass + s.diagonal;
  }
  return s;
}

CVTM_INLINE double sum_at(const stencil *s, int varying, int64_t i) {
  return varying ? s->sums[i]
                 : (s->link * s->line[i - 1] + s->link * s->line[i + 1]) +
                       (s->up * s->north[i] + s->down * s->south[i]);
}

CVTM_INLINE double diagonal_at(const stencil *s, int varying, int64_t i) {
  return varying ? s->own_diagonals[i] : s->diagonal;
}

/* --- phases --- */

/* With a stride of 1, the values of the other colour are computed too and dropped, which is cheaper
 * than to skip them. That reads nodes of this colour on the lines above and below: where another
 * thread writes those, the stride is 2. */
CVTM_INLINE void relax_line_body(const cvtm_grid_problem *p, int64_t j, int colour, double omega,
                                 int64_t stride, int varying) {
  const int64_t w = p->width, odd = (j + colour) & 1;
  double sums[CHUNK], diagonals[CHUNK], value[CHUNK];
  if (odd == 0) p->x[j * w] = cvtm_grid_relaxed(p, p->x, 0, j, omega);
  for (int64_t first = 2 - odd; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const stencil s = stencil_from(p, p->x, j, first, count, stride, varying, sums, diagonals);
    const bounds limit = bounds_from(p, k);
    const double *b = p->b + k;
    double *x = p->x + k;
    if (varying) { /* where the diagonal entry is 0, x stays */
      for (int64_t i = 0; i < count; i += stride) value[i] = (b[i] + sums[i]) / diagonals[i];
      for (int64_t i = 0; i < count; i += stride) value[i] = diagonals[i] > 0 ? value[i] : x[i];
    } else {
      const double inverse = 1 / s.diagonal;
      for (int64_t i = 0; i < count; i += stride) {
        const double relaxed = (b[i] + sum_at(&s, 0, i)) * inverse;
        value[i] = omega == 1.0 ? clip_at(limit, i, relaxed) : relaxed;
      }
    }
    for (int64_t i = 0; i < count && omega != 1.0; i += stride) {
      value[i] = x[i] + omega * (value[i] - x[i]);
    }
    for (int64_t i = 0; i < count && (varying || omega != 1.0); i += stride) {
      value[i] = clip_at(limit, i, value[i]);
    }
    for (int64_t i = 0; i < count; i += 2) x[i] = value[i];
  }
  if (w > 1 && ((w - 1) & 1) == odd) {
    p->x[j * w + w - 1] = cvtm_grid_relaxed(p, p->x, w - 1, j, omega);
  }
}

CVTM_INLINE void residual_line_body(const cvtm_grid_problem *p, int64_t j, double *out,
                                    int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK];
  out[0] = cvtm_grid_residual(p, p->x, 0, j);
  out[w - 1] = cvtm_grid_residual(p, p->x, w - 1, j);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1);
    const stencil s = stencil_from(p, p->x, j, first, count, 1, varying, sums, diagonals);
    const double *b = p->b + j * w + first;
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (b[i] + sum_at(&s, varying, i)) - diagonal_at(&s, varying, i) * s.line[i];
    }
  }
}

CVTM_INLINE void truncate_line_body(const cvtm_grid_problem *p, int64_t j, int store,
                                    double *residual, uint8_t *changed) {
  const int64_t w = p->width;
  int64_t at_bound[CHUNK];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const bounds limit = bounds_from(p, k);
    const double *x = p->x + k;
    double *r = residual + first;
    uint8_t *active = p->active + k, *out = changed + first;
    for (int64_t i = 0; i < count; ++i) at_bound[i] = is_at_bound(limit, i, x[i]);
    for (int64_t i = 0; i < count; ++i) r[i] = at_bound[i] ? 0.0 : r[i];
    for (int64_t i = 0; i < count; ++i) out[i] = active[i] != (uint8_t)at_bound[i];
    for (int64_t i = 0; i < count && store; ++i) active[i] = (uint8_t)at_bound[i];
  }
}

CVTM_INLINE void add_natural(cvtm_grid_norms *sum, double residual, double size) {
  sum->squares += residual * residual;
  sum->rounding += size * size;
  if (!(fabs(residual) <= sum->maximum)) sum->maximum = fabs(residual);
}

CVTM_INLINE cvtm_grid_norms measure_line_body(const cvtm_grid_problem *p, const double *x,
                                              int64_t j, int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK], residual[CHUNK], size[CHUNK];
  double squares[LANES] = {0}, maximum[LANES] = {0}, rounding[LANES] = {0};
  cvtm_grid_norms sum = {0, 0, 0};
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) {
    const cvtm_grid_natural_terms n = cvtm_grid_natural_residual(p, x, i, j);
    add_natural(&sum, n.residual, n.size);
  }
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const stencil s = stencil_from(p, x, j, first, count, 1, varying, sums, diagonals);
    const bounds limit = bounds_from(p, k);
    const double *b = p->b + k;
    for (int64_t i = 0; i < count; ++i) {
      const double x_i = s.line[i], product = diagonal_at(&s, varying, i) * x_i;
      residual[i] = x_i - clip_at(limit, i, x_i - (product - (b[i] + sum_at(&s, varying, i))));
      size[i] = fabs(b[i]) + 2 * fabs(product);
    }
    fill_lanes(size, count);
    const int64_t whole = fill_lanes(residual, count);
    for (int64_t i = 0; i < whole; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        const double r = fabs(residual[i + l]);
        squares[l] += r * r;
        rounding[l] += size[i + l] * size[i + l];
        maximum[l] = r <= maximum[l] ? maximum[l] : r;
      }
    }
  }
  for (int l = 0; l < LANES; ++l) {
    if (!(maximum[l] <= sum.maximum)) sum.maximum = maximum[l];
  }
  sum.squares += sum_of_lanes(squares);
  sum.rounding += sum_of_lanes(rounding);
  return sum;
}

CVTM_INLINE void step_line_body(const cvtm_grid_problem *p, int64_t j, double step) {
  const int64_t w = p->width;
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const bounds limit = bounds_from(p, k);
    const double *d = p->d + k;
    double *x = p->x + k;
    for (int64_t i = 0; i < count; ++i) x[i] = clip_at(limit, i, x[i] + step * d[i]);
  }
}

CVTM_INLINE void line_search_body(const cvtm_grid_problem *p, int64_t j, double *slope,
                                  double *curvature, int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK], sums_of_d[CHUNK];
  double slope_terms[CHUNK], curvature_terms[CHUNK];
  double slopes[LANES] = {0}, curvatures[LANES] = {0};
  *slope = *curvature = 0;
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1)
    cvtm_grid_add_line_search(p, i, j, slope, curvature);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const stencil s = stencil_from(p, p->x, j, first, count, 1, varying, sums, diagonals);
    const stencil t = stencil_from(p, p->d, j, first, count, 1, varying, sums_of_d, diagonals);
    const double *b = p->b + k;
    for (int64_t i = 0; i < count; ++i) {
      const double d = t.line[i], diagonal = diagonal_at(&s, varying, i);
      slope_terms[i] = d * ((b[i] + sum_at(&s, varying, i)) - diagonal * s.line[i]);
      curvature_terms[i] = d * (diagonal * d - sum_at(&t, varying, i));
    }
    fill_lanes(curvature_terms, count);
    const int64_t whole = fill_lanes(slope_terms, count);
    for (int64_t i = 0; i < whole; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        slopes[l] += slope_terms[i + l];
        curvatures[l] += curvature_terms[i + l];
      }
    }
  }
  *slope += sum_of_lanes(slopes);
  *curvature += sum_of_lanes(curvatures);
}

#endif
