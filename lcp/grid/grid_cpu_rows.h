/* Inside grid_cpu.c only: rows of nodes at a time, in a form that compilers turn into vector
 * code. Every value is that of the functions for one node, except that rows with a constant
 * diagonal, and coarse ones, are multiplied by its inverse. Compiled twice, for plain and for
 * wide vectors; no sum depends on which. */
#ifndef CVTMESH_LCP_GRID_GRID_CPU_ROWS_H
#define CVTMESH_LCP_GRID_GRID_CPU_ROWS_H

#include "base/vectors.h"
#include "lcp/grid/grid_cycle.h"

#include <string.h>

/* Nodes at a time, and partial sums of a row, which divide them. */
enum { CHUNK = 256, LANES = 32 };

/* Rows outside a grid, and bounds that are not there. */
static const double zeros[CHUNK] = {0};
static const double never[CHUNK + 1] = {[0 ... CHUNK] = (double)INFINITY};
static const double ever[CHUNK + 1] = {[0 ... CHUNK] = -(double)INFINITY};

CVTM_INLINE int64_t chunk_of(int64_t first, int64_t end) {
  return end - first < CHUNK ? end - first : CHUNK;
}

typedef struct bounds {
  const double *lower, *upper;
} bounds;

/* Those of the nodes of a chunk. */
CVTM_INLINE bounds bounds_from(const cvtm_grid_problem *p, int64_t k) {
  const bounds b = {p->lower ? p->lower + k : ever, p->upper ? p->upper + k : never};
  return b;
}

CVTM_INLINE double clip_at(bounds b, int64_t i, double value) {
  return cvtm_grid_clip(value, b.lower[i], b.upper[i]);
}

/* Is a node at a bound? */
CVTM_INLINE int is_held(bounds b, int64_t i, double value) {
  return (value <= b.lower[i]) | (value >= b.upper[i]);
}

/* --- the five-point operator --- */

/* A chunk of row j: values and those of the rows beside it, and what its operator consists of. */
typedef struct stencil {
  const double *row, *north, *south;
  double link, up, down, diagonal;    /* if links and diagonal are constant; */
  const double *sums, *own_diagonals; /* otherwise worked out beforehand */
} stencil;

/* Are links and diagonal of a row's inner nodes the same, and the diagonal above 0? */
CVTM_INLINE int is_plain(const cvtm_grid_problem *p) {
  return !p->horizontal && !p->diagonal && p->constant > 0;
}

/* Sums over the neighbours, and diagonals, of every `stride`-th of `count` nodes that do not lie at
 * the left or right edge. */
CVTM_INLINE void varying_body(const cvtm_grid_problem *p, const stencil *s, int64_t j,
                              int64_t first, int64_t count, int64_t stride, double *sums,
                              double *diagonals) {
  const int64_t w = p->width;
  const double *row = s->row, *north = s->north, *south = s->south;
  const double *own = p->diagonal ? p->diagonal + j * w + first : zeros;
  const double mass = p->diagonal ? 0.0 : p->mass;
  if (p->horizontal) {
    const double *h = p->horizontal + j * (w + 1) + first;
    const double *v = p->vertical + j * w + first, *u = v + w;
    for (int64_t i = 0; i < count; i += stride) {
      diagonals[i] = (own[i] + mass) + ((h[i] + h[i + 1]) + (v[i] + u[i]));
      sums[i] = (h[i] * row[i - 1] + h[i + 1] * row[i + 1]) + (v[i] * north[i] + u[i] * south[i]);
    }
    return;
  }
  for (int64_t i = 0; i < count; i += stride) {
    diagonals[i] = (own[i] + mass) + s->diagonal;
    sums[i] =
        (s->link * row[i - 1] + s->link * row[i + 1]) + (s->up * north[i] + s->down * south[i]);
  }
}

/* `varying` is known where a row function is compiled; the arrays of a chunk are used if it is
 * set. */
CVTM_INLINE stencil stencil_from(const cvtm_grid_problem *p, const double *x, int64_t j,
                                 int64_t first, int64_t count, int64_t stride, int varying,
                                 double *sums, double *diagonals) {
  const double c = p->constant, outer = p->neumann ? 0.0 : c;
  const double *row = x + j * p->width + first;
  stencil s = {.row = row,
               .north = j > 0 ? row - p->width : zeros,
               .south = j + 1 < p->height ? row + p->width : zeros,
               .link = c,
               .up = j > 0 ? c : outer,
               .down = j + 1 < p->height ? c : outer};
  s.diagonal = (c + c) + (s.up + s.down);
  if (varying) {
    varying_body(p, &s, j, first, count, stride, sums, diagonals);
    s.sums = sums;
    s.own_diagonals = diagonals;
  } else {
    s.diagonal = p->mass + s.diagonal;
  }
  return s;
}

CVTM_INLINE double sum_at(const stencil *s, int varying, int64_t i) {
  return varying ? s->sums[i]
                 : (s->link * s->row[i - 1] + s->link * s->row[i + 1]) +
                       (s->up * s->north[i] + s->down * s->south[i]);
}

CVTM_INLINE double diagonal_at(const stencil *s, int varying, int64_t i) {
  return varying ? s->own_diagonals[i] : s->diagonal;
}

/* Zeros up to a whole number of lanes. */
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

/* One colour of row j. With a stride of 1 the values of the other colour are computed along with it
 * and dropped, which is cheaper than to take every second one out. That reads nodes of this colour
 * in the rows above and below: where another thread writes them, the stride is 2. */
CVTM_INLINE void relax_body(const cvtm_grid_problem *p, int64_t j, int colour, double omega,
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
    if (varying) { /* rows of zeros keep their values */
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

/* out = b - A x in row j. */
CVTM_INLINE void residual_body(const cvtm_grid_problem *p, int64_t j, double *out, int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK];
  out[0] = cvtm_grid_residual(p, p->x, 0, j);
  out[w - 1] = cvtm_grid_residual(p, p->x, w - 1, j);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1);
    const stencil s = stencil_from(p, p->x, j, first, count, 1, varying, sums, diagonals);
    const double *b = p->b + j * w + first;
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (b[i] + sum_at(&s, varying, i)) - diagonal_at(&s, varying, i) * s.row[i];
    }
  }
}

/* Marks the active nodes of row j: their residuals become 0, changed[i] says whether they or the
 * others are no longer what p->active says, which learns of it only if `store`. */
CVTM_INLINE void hold_body(const cvtm_grid_problem *p, int truncated, int64_t j, int store,
                           double *residual, uint8_t *changed) {
  const int64_t w = p->width;
  int64_t held[CHUNK];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const bounds limit = bounds_from(p, k);
    const double *x = p->x + k;
    double *r = residual + first;
    uint8_t *active = p->active + k, *out = changed + first;
    for (int64_t i = 0; i < count; ++i) held[i] = truncated && is_held(limit, i, x[i]);
    for (int64_t i = 0; i < count; ++i) r[i] = held[i] ? 0.0 : r[i];
    for (int64_t i = 0; i < count; ++i) out[i] = active[i] != (uint8_t)held[i];
    for (int64_t i = 0; i < count && store; ++i) active[i] = (uint8_t)held[i];
  }
}

typedef struct norms {
  double squares, maximum, rounding;
} norms;

CVTM_INLINE void add_natural(norms *sum, double residual, double size) {
  sum->squares += residual * residual;
  sum->rounding += size * size;
  if (!(fabs(residual) <= sum->maximum)) sum->maximum = fabs(residual);
}

CVTM_INLINE norms natural_body(const cvtm_grid_problem *p, const double *x, int64_t j,
                               int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK], residual[CHUNK], size[CHUNK];
  double squares[LANES] = {0}, maximum[LANES] = {0}, rounding[LANES] = {0};
  norms sum = {0, 0, 0};
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) {
    const cvtm_grid_natural n = cvtm_grid_natural_residual(p, x, i, j);
    add_natural(&sum, n.residual, n.size);
  }
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const stencil s = stencil_from(p, x, j, first, count, 1, varying, sums, diagonals);
    const bounds limit = bounds_from(p, k);
    const double *b = p->b + k;
    for (int64_t i = 0; i < count; ++i) {
      const double at = s.row[i], held = diagonal_at(&s, varying, i) * at;
      residual[i] = at - clip_at(limit, i, at - (held - (b[i] + sum_at(&s, varying, i))));
      size[i] = fabs(b[i]) + 2 * fabs(held);
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

/* x of row j moved along d, into its bounds. */
CVTM_INLINE void move_body(const cvtm_grid_problem *p, int64_t j, double step) {
  const int64_t w = p->width;
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const bounds limit = bounds_from(p, k);
    const double *d = p->d + k;
    double *x = p->x + k;
    for (int64_t i = 0; i < count; ++i) x[i] = clip_at(limit, i, x[i] + step * d[i]);
  }
}

/* Slope and bend of the correction in row j. */
CVTM_INLINE void search_body(const cvtm_grid_problem *p, int64_t j, double *slope, double *bend,
                             int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK], more[CHUNK], pull[CHUNK], push[CHUNK];
  double slopes[LANES] = {0}, bends[LANES] = {0};
  *slope = *bend = 0;
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) cvtm_grid_search(p, i, j, slope, bend);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const stencil s = stencil_from(p, p->x, j, first, count, 1, varying, sums, diagonals);
    const stencil t = stencil_from(p, p->d, j, first, count, 1, varying, more, diagonals);
    const double *b = p->b + k;
    for (int64_t i = 0; i < count; ++i) {
      const double d = t.row[i], diagonal = diagonal_at(&s, varying, i);
      pull[i] = d * ((b[i] + sum_at(&s, varying, i)) - diagonal * s.row[i]);
      push[i] = d * (diagonal * d - sum_at(&t, varying, i));
    }
    fill_lanes(push, count);
    const int64_t whole = fill_lanes(pull, count);
    for (int64_t i = 0; i < whole; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        slopes[l] += pull[i + l];
        bends[l] += push[i + l];
      }
    }
  }
  *slope += sum_of_lanes(slopes);
  *bend += sum_of_lanes(bends);
}

/* --- coarse rows --- */

/* A chunk of a coarse row that is at no edge, and the rows beside it. */
typedef struct coarse_stencil {
  const double *diagonal, *r;
  const double *row, *north, *below;
  const double *east, *south, *south_east, *south_west;
} coarse_stencil;

CVTM_INLINE coarse_stencil coarse_from(const cvtm_grid_level *c, int64_t y, int64_t first) {
  const int64_t w = c->width, plane = w * c->height, k = y * w + first;
  const double *at = c->coefficient + k;
  const coarse_stencil s = {.diagonal = at + CVTM_GRID_DIAGONAL * plane,
                            .r = c->r + k,
                            .row = c->e + k,
                            .north = c->e + k - w,
                            .below = c->e + k + w,
                            .east = at + CVTM_GRID_EAST * plane,
                            .south = at + CVTM_GRID_SOUTH * plane,
                            .south_east = at + CVTM_GRID_SOUTH_EAST * plane,
                            .south_west = at + CVTM_GRID_SOUTH_WEST * plane};
  return s;
}

/* Sums over the neighbours of node i: in the row above, beside it, in the row below. */
CVTM_INLINE double over_at(const coarse_stencil *s, int64_t w, int64_t i) {
  return (s->south_east[i - w - 1] * s->north[i - 1] + s->south[i - w] * s->north[i]) +
         s->south_west[i - w + 1] * s->north[i + 1];
}

CVTM_INLINE double beside_at(const coarse_stencil *s, int64_t i) {
  return s->east[i - 1] * s->row[i - 1] + s->east[i] * s->row[i + 1];
}

CVTM_INLINE double under_at(const coarse_stencil *s, int64_t i) {
  return (s->south_west[i] * s->below[i - 1] + s->south[i] * s->below[i]) +
         s->south_east[i] * s->below[i + 1];
}

CVTM_INLINE void coarse_relax_edge(const cvtm_grid_level *c, int bounded, int64_t y, int64_t x) {
  c->e[y * c->width + x] = cvtm_grid_coarse_relaxed(c, bounded, x, y);
}

/* Both colours of row y: even columns, then odd ones, chunk by chunk. What lies above and below
 * is the same for both. */
CVTM_INLINE void coarse_relax_body(const cvtm_grid_level *c, int bounded, int64_t y) {
  const int64_t w = c->width;
  double over[CHUNK], under[CHUNK], inverse[CHUNK], value[CHUNK];
  if (y == 0 || y + 1 == c->height || w < 3) {
    for (int64_t x = 0; x < w; x += 2) coarse_relax_edge(c, bounded, y, x);
    for (int64_t x = 1; x < w; x += 2) coarse_relax_edge(c, bounded, y, x);
    return;
  }
  coarse_relax_edge(c, bounded, y, 0);
  if (w % 2 == 1) coarse_relax_edge(c, bounded, y, w - 1);
  for (int64_t first = 1; first < w - 1; first += CHUNK) { /* odd; so chunks end with even ones */
    const int64_t count = chunk_of(first, w - 1), k = y * w + first;
    const coarse_stencil s = coarse_from(c, y, first);
    const double *lower = bounded ? c->lower + k : ever, *upper = bounded ? c->upper + k : never;
    double *e = c->e + k;
    for (int64_t i = 0; i < count; ++i) over[i] = over_at(&s, w, i);
    for (int64_t i = 0; i < count; ++i) under[i] = under_at(&s, i);
    for (int64_t i = 0; i < count; ++i) inverse[i] = 1 / s.diagonal[i];
    for (int64_t i = 0; i < count; ++i) inverse[i] = s.diagonal[i] > 0 ? inverse[i] : 0.0;
    for (int64_t odd = 1; odd >= 0; --odd) { /* the chunk's odd nodes are the row's even ones */
      for (int64_t i = 0; i < count; ++i) {
        const double sum = s.r[i] + ((over[i] + beside_at(&s, i)) + under[i]);
        value[i] = cvtm_grid_clip(sum * inverse[i], lower[i], upper[i]);
      }
      for (int64_t i = odd; i < count; i += 2) e[i] = value[i];
    }
  }
  if (w % 2 == 0) coarse_relax_edge(c, bounded, y, w - 1);
}

CVTM_INLINE void coarse_residual_body(const cvtm_grid_level *c, int64_t y, double *out) {
  const int64_t w = c->width;
  const int edge = y == 0 || y + 1 == c->height || w < 3;
  double around[CHUNK];
  for (int64_t x = 0; x < w; x += edge || w < 2 ? 1 : w - 1) {
    out[x] = cvtm_grid_coarse_residual(c, x, y);
  }
  for (int64_t first = 1; first < w - 1 && !edge; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1);
    const coarse_stencil s = coarse_from(c, y, first);
    for (int64_t i = 0; i < count; ++i) {
      around[i] = (over_at(&s, w, i) + beside_at(&s, i)) + under_at(&s, i);
    }
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (s.r[i] + around[i]) - s.diagonal[i] * s.row[i];
    }
  }
}

/* cvtm_grid_truncate for row y; the residuals of active nodes become 0. marks: whether the level's
 * own marks are brought up to date, too, which one thread does for each row. */
CVTM_INLINE void coarse_hold_body(const cvtm_grid_level *c, int64_t y, int marks,
                                  double *residual) {
  int64_t held[CHUNK];
  for (int64_t first = 0; first < c->width; first += CHUNK) {
    const int64_t count = chunk_of(first, c->width), k = y * c->width + first;
    const bounds limit = {c->lower + k, c->upper + k};
    const double *e = c->e + k;
    double *r = residual + first;
    uint8_t *active = c->active + k, *fresh = c->fresh + k;
    for (int64_t i = 0; i < count; ++i) held[i] = is_held(limit, i, e[i]);
    for (int64_t i = 0; i < count; ++i) r[i] = held[i] ? 0.0 : r[i];
    if (!marks) continue;
    for (int64_t i = 0; i < count; ++i) {
      fresh[i] |= (uint8_t)(2 * (active[i] != (uint8_t)held[i]));
    }
    for (int64_t i = 0; i < count; ++i) active[i] = (uint8_t)held[i];
  }
}

/* --- bilinear transfers --- */

/* r of coarse row y from the residuals of its three fine rows (0 where active, a row of zeros
 * outside), for coarse nodes whose support keeps off the boundary; the others one by one. */
CVTM_INLINE void restrict_body(const cvtm_grid_level *c, int64_t fine_width, int64_t fine_height,
                               int64_t y, const double *const rows[3]) {
  const int64_t last = c->width - 1;
  double *r = c->r + y * c->width;
  for (int64_t x = 0; x <= last; ++x) {
    if (x > 0 && x < last && y > 0 && 2 * y + 3 < fine_height) {
      x = last - 1;
      continue;
    }
    double sum = 0;
    for (int dy = 0; dy < 3 && 2 * y + dy < fine_height; ++dy) {
      for (int dx = 0; dx < 3 && 2 * x + dx < fine_width; ++dx) {
        sum += cvtm_grid_basis(c, x, y, 2 * x + dx, 2 * y + dy) * rows[dy][2 * x + dx];
      }
    }
    r[x] = sum;
  }
  if (!(y > 0 && 2 * y + 3 < fine_height)) return;
  const double *a = rows[0], *b = rows[1], *d = rows[2];
  for (int64_t x = 1; x < last; ++x) {
    const double north = (0.25 * a[2 * x] + 0.5 * a[2 * x + 1]) + 0.25 * a[2 * x + 2];
    const double middle = ((north + 0.5 * b[2 * x]) + b[2 * x + 1]) + 0.5 * b[2 * x + 2];
    r[x] = ((middle + 0.25 * d[2 * x]) + 0.5 * d[2 * x + 1]) + 0.25 * d[2 * x + 2];
  }
}

/* What the bounds of corrections are gathered from: a grid's bounds (NULL: none) and values. */
typedef struct fine_values {
  int64_t width, height;
  const double *lower, *upper, *value;
} fine_values;

/* Bounds of coarse row y: the tightest in each support, where nodes at a bound do not count if
 * they are `truncated`. */
CVTM_INLINE void room_body(const cvtm_grid_level *c, const fine_values *f, int truncated,
                           int64_t y) {
  const int64_t w = c->width, part = CHUNK / 2;
  const double none = truncated ? 0.0 : (double)INFINITY;
  double low[CHUNK + 1], up[CHUNK + 1];
  for (int64_t first = 0; first < w; first += part) {
    const int64_t count = w - first < part ? w - first : part;
    const int64_t there = f->width - 2 * first; /* fine nodes from the first one on */
    const int64_t wide = 2 * count + 1 < there ? 2 * count + 1 : there;
    for (int64_t i = 0; i <= 2 * count; ++i) low[i] = -(double)INFINITY;
    for (int64_t i = 0; i <= 2 * count; ++i) up[i] = (double)INFINITY;
    for (int64_t j = 2 * y; j < 2 * y + 3 && j < f->height; ++j) {
      const int64_t k = j * f->width + 2 * first;
      const double *value = f->value + k;
      const double *fine_lower = f->lower ? f->lower + k : ever;
      const double *fine_upper = f->upper ? f->upper + k : never;
      for (int64_t i = 0; i < wide; ++i) {
        const double lower = fine_lower[i] - value[i], upper = fine_upper[i] - value[i];
        const int held = (lower >= none) | (upper <= -none);
        const double least = held ? -(double)INFINITY : lower;
        const double most = held ? (double)INFINITY : upper;
        low[i] = least > low[i] ? least : low[i];
        up[i] = most < up[i] ? most : up[i];
      }
    }
    double *lower = c->lower + y * w + first, *upper = c->upper + y * w + first;
    for (int64_t x = 0; x < count; ++x) {
      const double two = low[2 * x + 1] > low[2 * x] ? low[2 * x + 1] : low[2 * x];
      lower[x] = low[2 * x + 2] > two ? low[2 * x + 2] : two;
    }
    for (int64_t x = 0; x < count; ++x) {
      const double two = up[2 * x + 1] < up[2 * x] ? up[2 * x + 1] : up[2 * x];
      upper[x] = up[2 * x + 2] < two ? up[2 * x + 2] : two;
    }
  }
}

/* Which coarse nodes of row y have changes in their support; NULL: a row outside. */
CVTM_INLINE void mark_body(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
                           const uint8_t *const rows[3]) {
  const int64_t w = c->width, whole = 2 * w < fine_width ? w : w - 1;
  const uint8_t *a = rows[0], *b = rows[1], *d = rows[2] ? rows[2] : b;
  uint8_t *marked = c->marked + y * w;
  for (int64_t x = 0; x < whole; ++x) {
    const uint8_t west = a[2 * x] | b[2 * x] | d[2 * x];
    const uint8_t amid = a[2 * x + 1] | b[2 * x + 1] | d[2 * x + 1];
    marked[x] = west | amid | a[2 * x + 2] | b[2 * x + 2] | d[2 * x + 2];
  }
  for (int64_t x = whole; x < w; ++x) {
    marked[x] = a[2 * x] | b[2 * x] | d[2 * x] | a[2 * x + 1] | b[2 * x + 1] | d[2 * x + 1];
  }
}

/* Which rows of the operator right below a five-point problem must be computed again: those with
 * a mark in one of the supports that their entries reach. */
CVTM_INLINE void due_body(const cvtm_grid_level *c, int64_t y, uint8_t *due) {
  const int64_t w = c->width;
  const uint8_t *row = c->marked + y * w, *north = y > 0 ? row - w : row;
  const uint8_t *south = y + 1 < c->height ? row + w : row;
  uint8_t column[CHUNK + 2];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), from = first > 0 ? -1 : 0;
    const int64_t to = first + count < w ? count + 1 : count;
    column[0] = column[count + 1] = 0;
    for (int64_t i = from; i < to; ++i) {
      column[i + 1] = north[first + i] | row[first + i] | south[first + i];
    }
    for (int64_t i = 0; i < count; ++i) {
      due[first + i] = column[i] | column[i + 1] | column[i + 2];
    }
  }
}

/* Interpolated values of nodes first, first + 1, ... of fine row j: whole pairs, of which the first
 * begins at an even index, or nodes near the left and right boundary. */
CVTM_INLINE void prolong_body(const cvtm_grid_level *c, int64_t j, int64_t first, int64_t count,
                              double *out) {
  const int64_t w = c->width, x = first / 2;
  int64_t y;
  const int parents = cvtm_grid_parents(1, j, &y);
  if (first < 2 || first >= 2 * w || y < 0 || y + parents > c->height) {
    for (int64_t i = 0; i < count; ++i) out[i] = cvtm_grid_prolonged(c, c->e, first + i, j);
    return;
  }
  const double *a = c->e + y * w + x, *b = a + w;
  if (parents == 1) {
    for (int64_t n = 0; n < count / 2; ++n) {
      out[2 * n] = 0.5 * a[n - 1] + 0.5 * a[n];
      out[2 * n + 1] = a[n];
    }
  } else {
    for (int64_t n = 0; n < count / 2; ++n) {
      out[2 * n] = ((0.25 * a[n - 1] + 0.25 * a[n]) + 0.25 * b[n - 1]) + 0.25 * b[n];
      out[2 * n + 1] = 0.5 * a[n] + 0.5 * b[n];
    }
  }
}

/* Nodes from `first` on that prolong_body takes together. */
CVTM_INLINE int64_t prolonged_count(const cvtm_grid_level *c, int64_t fine_width, int64_t first) {
  if (first == 0) return 2;
  return first < 2 * c->width ? chunk_of(first, 2 * c->width) : fine_width - first;
}

/* e of row y of a level moved by the correction from the next one, but for active nodes. */
CVTM_INLINE void lift_body(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y) {
  double more[CHUNK];
  for (int64_t first = 0, count; first < f->width; first += count) {
    count = prolonged_count(c, f->width, first);
    double *e = f->e + y * f->width + first;
    prolong_body(c, y, first, count, more);
    if (f->active) {
      const uint8_t *active = f->active + y * f->width + first;
      for (int64_t i = 0; i < count; ++i) more[i] = active[i] ? 0.0 : more[i];
    }
    for (int64_t i = 0; i < count; ++i) e[i] += more[i];
  }
}

/* The correction of row j: x moved into its bounds, or d = the move; nothing where nodes are at a
 * bound and `truncated`. */
CVTM_INLINE void correct_body(const cvtm_grid_problem *p, const cvtm_grid_level *c, int truncated,
                              int searched, int64_t j) {
  double moved[CHUNK];
  for (int64_t first = 0, count; first < p->width; first += count) {
    count = prolonged_count(c, p->width, first);
    const int64_t k = j * p->width + first;
    const bounds limit = bounds_from(p, k);
    double *x = p->x + k, *d = p->d + k;
    prolong_body(c, j, first, count, moved);
    for (int64_t i = 0; i < count; ++i) {
      const int held = truncated & is_held(limit, i, x[i]);
      const double next = clip_at(limit, i, x[i] + moved[i]);
      moved[i] = held ? x[i] : next;
    }
    for (int64_t i = 0; i < count && searched; ++i) d[i] = moved[i] - x[i];
    for (int64_t i = 0; i < count && !searched; ++i) x[i] = moved[i];
  }
}

/* Which rows of the operator below a coarse level must be computed again: those with a fresh row
 * of the finer operator in their support, or beside it if an entry may end at a node cut off. */
CVTM_INLINE void due_below_body(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y,
                                uint8_t *due) {
  const int64_t part = CHUNK / 2, reach = f->active != NULL;
  const int64_t top = 2 * y - reach > 0 ? 2 * y - reach : 0;
  const int64_t bottom = 2 * y + 2 + reach < f->height ? 2 * y + 2 + reach : f->height - 1;
  uint8_t column[CHUNK + 3]; /* from the node before the first support on */
  for (int64_t first = 0; first < c->width; first += part) {
    const int64_t count = c->width - first < part ? c->width - first : part;
    const int64_t from = first > 0 ? -1 : 0, there = f->width - 2 * first;
    const int64_t to = 2 * count + 2 < there ? 2 * count + 2 : there;
    for (int64_t i = 0; i < 2 * count + 3; ++i) column[i] = 0;
    for (int64_t j = top; j <= bottom; ++j) {
      const uint8_t *fresh = f->fresh + j * f->width + 2 * first;
      for (int64_t i = from; i < to; ++i) column[i + 1] |= fresh[i];
    }
    for (int64_t x = 0; x < count; ++x) {
      const uint8_t *at = column + 2 * x;
      const int beside = reach ? at[0] | at[4] : 0;
      due[first + x] = (uint8_t)((at[1] | at[2] | at[3] | beside) != 0);
    }
  }
}

/* Adds weights times links of three nodes in a row to the nodes west of them, above or below them
 * or themselves, and east of them. */
CVTM_INLINE void spread_row(double q[5], const double weight[3], const double *west,
                            const double *own, double sign, const double *east) {
  CVTM_UNROLL
  for (int s = 0; s < 3; ++s) {
    q[s] += weight[s] * west[s];
    q[s + 1] += weight[s] * (sign * own[s]);
    q[s + 2] += weight[s] * east[s];
  }
}

/* q = w A for a basis function w, in the three rows of its support, which begins at node k of the
 * finer grid, and in the row south of it. */
CVTM_INLINE void spread_coarse(const cvtm_grid_level *f, int64_t k, double weight[3][3],
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
      spread_row(q[s - 1], weight[s], south_east + o - w - 1, south + o - w, 1,
                 south_west + o - w + 1);
    }
    spread_row(q[s], weight[s], east + o - 1, at + o, -1, east + o);
    spread_row(q[s + 1], weight[s], south_west + o, south + o, 1, south_east + o);
  }
}

CVTM_INLINE void spread_problem(const cvtm_grid_problem *p, int64_t k, double weight[3][3],
                                double q[4][5]) {
  const double c = p->constant;
  CVTM_UNROLL
  for (int s = 0; s < 3; ++s) {
    CVTM_UNROLL
    for (int t = 0; t < 3; ++t) {
      const double along = c * weight[s][t];
      const double diagonal = cvtm_grid_own(p, k + s * p->width + t) + ((c + c) + (c + c));
      if (s > 0) q[s - 1][t + 1] += along;
      q[s][t] += along;
      q[s][t + 1] -= diagonal * weight[s][t];
      q[s][t + 2] += along;
      q[s + 1][t + 1] += along;
    }
  }
}

/* What is left of the 5 x 5 nodes around a support: 0 where a node was cut away, else 1. */
typedef struct kept_nodes {
  const double *row[5];
  int any; /* cut away */
} kept_nodes;

/* cvtm_grid_galerkin between grids with bilinear interpolation, for a node whose support keeps off
 * the boundary; kept = NULL: nothing is cut away. */
CVTM_INLINE void galerkin_body(const cvtm_grid_finer *f, int64_t x, int64_t y,
                               const kept_nodes *kept, double sum[3][3]) {
  const int64_t k = 2 * y * cvtm_grid_finer_width(f) + 2 * x;
  double q[4][5] = {{0}};
  double weight[3][3] = {{0.25, 0.5, 0.25}, {0.5, 1, 0.5}, {0.25, 0.5, 0.25}};
  if (kept) {
    CVTM_UNROLL
    for (int t = 0; t < 3; ++t) {
      CVTM_UNROLL
      for (int s = 0; s < 3; ++s) weight[t][s] *= kept->row[t + 1][s + 1];
    }
  }
  if (f->problem) {
    spread_problem(f->problem, k, weight, q);
  } else {
    spread_coarse(f->level, k, weight, q);
  }
  if (kept) {
    CVTM_UNROLL
    for (int t = 0; t < 4; ++t) {
      CVTM_UNROLL
      for (int s = 0; s < 5; ++s) q[t][s] *= kept->row[t + 1][s];
    }
  }
  double west[4], middle[4], east[4]; /* rows of q taken to the coarse columns */
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

/* Nodes first .. end - 1 of row y, whose supports keep off the boundary. */
CVTM_INLINE void galerkin_run(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t first,
                              int64_t end, int64_t y) {
  const int64_t width = cvtm_grid_finer_width(f), fine = 2 * (end - first) + 3;
  const uint8_t *flags = cvtm_grid_finer_flags(f);
  double keep[5][CHUNK + 3];
  uint8_t column[CHUNK + 3];
  for (int64_t i = 0; i < fine; ++i) column[i] = 0;
  for (int t = 0; t < 5 && flags; ++t) {
    const uint8_t *row = flags + (2 * y - 1 + t) * width + 2 * first - 1;
    for (int64_t i = 0; i < fine; ++i) column[i] |= row[i];
    for (int64_t i = 0; i < fine; ++i) keep[t][i] = (double)(1 - row[i]);
  }
  for (int64_t x = first; x < end; ++x) {
    const int64_t o = 2 * (x - first);
    const kept_nodes kept = {
        {keep[0] + o, keep[1] + o, keep[2] + o, keep[3] + o, keep[4] + o},
        column[o] | column[o + 1] | column[o + 2] | column[o + 3] | column[o + 4]};
    double sum[3][3];
    cvtm_grid_plain plain;
    const int constant = !kept.any && cvtm_grid_becomes_plain(f, x, y, &plain);
    if (constant) {
      cvtm_grid_plain_row(plain, sum);
    } else if (kept.any) {
      galerkin_body(f, x, y, &kept, sum);
    } else {
      galerkin_body(f, x, y, NULL, sum);
    }
    cvtm_grid_store_row(c, x, y, sum, constant);
  }
}

/* The rows of the operator at the nodes x of row y with due[x] = 1. */
CVTM_INLINE void galerkin_row_body(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y,
                                   const uint8_t *due) {
  const int64_t width = cvtm_grid_finer_width(f), height = cvtm_grid_finer_height(f);
  const int inside = !c->weight && c->halved_x && c->halved_y && y > 0 && 2 * y + 4 < height;
  const uint8_t *next = due;
  while ((next = memchr(next, 1, (size_t)(due + c->width - next)))) {
    const int64_t x = next - due;
    int64_t end = x + 1;
    if (inside && x > 0 && 2 * x + 4 < width) {
      while (end - x < CHUNK / 2 && 2 * end + 4 < width && due[end]) ++end;
      galerkin_run(f, c, x, end, y);
    } else {
      cvtm_grid_galerkin(f, c, x, y);
    }
    next = due + end;
  }
}

/* --- both widths --- */

#define ROWS(suffix, attribute)                                                                   \
  attribute static void relax_##suffix(const cvtm_grid_problem *p, int64_t j, int colour,         \
                                       double omega, int shared) {                                \
    if (is_plain(p)) {                                                                            \
      if (shared) relax_body(p, j, colour, omega, 2, 0);                                          \
      if (!shared) relax_body(p, j, colour, omega, 1, 0);                                         \
    } else {                                                                                      \
      if (shared) relax_body(p, j, colour, omega, 2, 1);                                          \
      if (!shared) relax_body(p, j, colour, omega, 1, 1);                                         \
    }                                                                                             \
  }                                                                                               \
  attribute static void residual_##suffix(const cvtm_grid_problem *p, int64_t j, double *out) {   \
    if (is_plain(p)) {                                                                            \
      residual_body(p, j, out, 0);                                                                \
    } else {                                                                                      \
      residual_body(p, j, out, 1);                                                                \
    }                                                                                             \
  }                                                                                               \
  attribute static norms natural_##suffix(const cvtm_grid_problem *p, const double *x,            \
                                          int64_t j) {                                            \
    return is_plain(p) ? natural_body(p, x, j, 0) : natural_body(p, x, j, 1);                     \
  }                                                                                               \
  attribute static void search_##suffix(const cvtm_grid_problem *p, int64_t j, double *slope,     \
                                        double *bend) {                                           \
    if (is_plain(p)) {                                                                            \
      search_body(p, j, slope, bend, 0);                                                          \
    } else {                                                                                      \
      search_body(p, j, slope, bend, 1);                                                          \
    }                                                                                             \
  }                                                                                               \
  attribute static void hold_##suffix(const cvtm_grid_problem *p, int truncated, int64_t j,       \
                                      int store, double *residual, uint8_t *changed) {            \
    hold_body(p, truncated, j, store, residual, changed);                                         \
  }                                                                                               \
  attribute static void correct_##suffix(const cvtm_grid_problem *p, const cvtm_grid_level *c,    \
                                         int truncated, int searched, int64_t j) {                \
    correct_body(p, c, truncated, searched, j);                                                   \
  }                                                                                               \
  attribute static void move_##suffix(const cvtm_grid_problem *p, int64_t j, double step) {       \
    move_body(p, j, step);                                                                        \
  }                                                                                               \
  attribute static void coarse_relax_##suffix(const cvtm_grid_level *c, int bounded, int64_t y) { \
    coarse_relax_body(c, bounded, y);                                                             \
  }                                                                                               \
  attribute static void coarse_residual_##suffix(const cvtm_grid_level *c, int64_t y, int marks,  \
                                                 double *out) {                                   \
    coarse_residual_body(c, y, out);                                                              \
    if (c->active) coarse_hold_body(c, y, marks, out);                                            \
  }                                                                                               \
  attribute static void restrict_##suffix(const cvtm_grid_level *c, int64_t fine_width,           \
                                          int64_t fine_height, int64_t y,                         \
                                          const double *const rows[3]) {                          \
    restrict_body(c, fine_width, fine_height, y, rows);                                           \
  }                                                                                               \
  attribute static void room_##suffix(const cvtm_grid_level *c, const fine_values *f,             \
                                      int truncated, int64_t y) {                                 \
    room_body(c, f, truncated, y);                                                                \
  }                                                                                               \
  attribute static void mark_##suffix(const cvtm_grid_level *c, int64_t fine_width, int64_t y,    \
                                      const uint8_t *const rows[3]) {                             \
    mark_body(c, fine_width, y, rows);                                                            \
  }                                                                                               \
  attribute static void due_##suffix(const cvtm_grid_level *c, int64_t y, uint8_t *due) {         \
    due_body(c, y, due);                                                                          \
  }                                                                                               \
  attribute static void lift_##suffix(const cvtm_grid_level *f, const cvtm_grid_level *c,         \
                                      int64_t y) {                                                \
    lift_body(f, c, y);                                                                           \
  }                                                                                               \
  attribute static void due_below_##suffix(const cvtm_grid_level *f, const cvtm_grid_level *c,    \
                                           int64_t y, uint8_t *due) {                             \
    due_below_body(f, c, y, due);                                                                 \
  }                                                                                               \
  attribute static void galerkin_##suffix(const cvtm_grid_finer *f, const cvtm_grid_level *c,     \
                                          int64_t y, const uint8_t *due) {                        \
    galerkin_row_body(f, c, y, due);                                                              \
  }                                                                                               \
  static const row_table rows_##suffix = {                                                        \
      relax_##suffix,    residual_##suffix,     natural_##suffix,                                 \
      search_##suffix,   hold_##suffix,         correct_##suffix,                                 \
      move_##suffix,     coarse_relax_##suffix, coarse_residual_##suffix,                         \
      restrict_##suffix, room_##suffix,         mark_##suffix,                                    \
      due_##suffix,      due_below_##suffix,    galerkin_##suffix,                                \
      lift_##suffix};

/* Phases of rows; those that take a problem need one without a mask. */
typedef struct row_table {
  /* shared: another thread relaxes the same colour of a row beside this one at the same time. */
  void (*relax)(const cvtm_grid_problem *p, int64_t j, int colour, double omega, int shared);
  void (*residual)(const cvtm_grid_problem *p, int64_t j, double *out);
  norms (*natural)(const cvtm_grid_problem *p, const double *x, int64_t j);
  void (*search)(const cvtm_grid_problem *p, int64_t j, double *slope, double *bend);
  void (*hold)(const cvtm_grid_problem *p, int truncated, int64_t j, int store, double *residual,
               uint8_t *changed);
  void (*correct)(const cvtm_grid_problem *p, const cvtm_grid_level *c, int truncated, int searched,
                  int64_t j);
  void (*move)(const cvtm_grid_problem *p, int64_t j, double step);
  void (*coarse_relax)(const cvtm_grid_level *c, int bounded, int64_t y);
  void (*coarse_residual)(const cvtm_grid_level *c, int64_t y, int marks, double *out);
  void (*restrict_rows)(const cvtm_grid_level *c, int64_t fine_width, int64_t fine_height,
                        int64_t y, const double *const rows[3]);
  void (*room)(const cvtm_grid_level *c, const fine_values *f, int truncated, int64_t y);
  void (*mark)(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
               const uint8_t *const rows[3]);
  void (*due)(const cvtm_grid_level *c, int64_t y, uint8_t *due);
  void (*due_below)(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y, uint8_t *due);
  void (*galerkin)(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y,
                   const uint8_t *due);
  void (*lift)(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y);
} row_table;

ROWS(plain, )
ROWS(wide, CVTM_WIDE)

static const row_table *rows_of_machine(void) {
  return cvtm_has_wide_vectors() ? &rows_wide : &rows_plain;
}

#endif
