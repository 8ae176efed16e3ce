/* Inside grid_cpu.c only: rows of nodes at a time, in a form that compilers turn into vector
 * code. Every value is that of the functions for one node. Compiled twice, for plain and for
 * wide vectors; no sum depends on which. */
#ifndef CVTMESH_LCP_GRID_CPU_ROWS_H
#define CVTMESH_LCP_GRID_CPU_ROWS_H

#include "lcp/grid_cycle.h"

#if defined(__x86_64__)
#define INLINE static inline __attribute__((always_inline))
#define WIDE __attribute__((target("avx2")))
static int has_wide_vectors(void) { return __builtin_cpu_supports("avx2"); }
#else
#define INLINE static inline
#define WIDE
static int has_wide_vectors(void) { return 0; }
#endif

enum { CHUNK = 256, LANES = 4 };

static const double zeros[CHUNK + 2] = {0};

/* Diagonals, and sums over the neighbours, of `count` nodes of row j: first, first + step, ...;
 * none of them lies at the left or right edge. */
INLINE void around_body(const cvtm_grid_problem *p, const double *x, int64_t j, int64_t first,
                        int64_t step, int64_t count, double *around, double *diagonal) {
  const int64_t w = p->width;
  const double *row = x + j * w + first;
  const double *north = j > 0 ? row - w : zeros, *south = j + 1 < p->height ? row + w : zeros;
  const double *own = p->diagonal ? p->diagonal + j * w + first : zeros;
  const double mass = p->diagonal ? 0.0 : p->mass;
  if (p->horizontal) {
    const double *h = p->horizontal + j * (w + 1) + first;
    const double *v = p->vertical + j * w + first, *u = v + w;
    for (int64_t n = 0, i = 0; n < count; ++n, i += step) {
      diagonal[n] = (own[i] + mass) + ((h[i] + h[i + 1]) + (v[i] + u[i]));
      around[n] = (h[i] * row[i - 1] + h[i + 1] * row[i + 1]) + (v[i] * north[i] + u[i] * south[i]);
    }
    return;
  }
  const double c = p->constant, outer = p->neumann ? 0.0 : c;
  const double up = j > 0 ? c : outer, down = j + 1 < p->height ? c : outer;
  const double links = (c + c) + (up + down);
  for (int64_t n = 0, i = 0; n < count; ++n, i += step) {
    diagonal[n] = (own[i] + mass) + links;
    around[n] = (c * row[i - 1] + c * row[i + 1]) + (up * north[i] + down * south[i]);
  }
}

INLINE int64_t chunk_of(int64_t first, int64_t end) {
  return end - first < CHUNK ? end - first : CHUNK;
}

/* One colour of row j. */
INLINE void relax_body(const cvtm_grid_problem *p, int64_t j, int colour, double omega) {
  const int64_t w = p->width, odd = (j + colour) & 1;
  double value[CHUNK / 2], diagonal[CHUNK / 2];
  if (odd == 0) p->x[j * w] = cvtm_grid_relaxed(p, p->x, 0, j, omega);
  for (int64_t first = 2 - odd; first < w - 1; first += CHUNK) {
    const int64_t count = (chunk_of(first, w - 1) + 1) / 2, k = j * w + first;
    const double *b = p->b + k;
    double *x = p->x + k;
    around_body(p, p->x, j, first, 2, count, value, diagonal);
    int empty = 0; /* rows of zeros keep their values; a branch at each would hold back the rest */
    for (int64_t n = 0; n < count; ++n) value[n] = (b[2 * n] + value[n]) / diagonal[n];
    for (int64_t n = 0; n < count; ++n) empty |= !(diagonal[n] > 0);
    for (int64_t n = 0; n < count && empty; ++n) {
      if (!(diagonal[n] > 0)) value[n] = x[2 * n];
    }
    for (int64_t n = 0; n < count && omega != 1.0; ++n) {
      value[n] = x[2 * n] + omega * (value[n] - x[2 * n]);
    }
    if (p->lower) {
      const double *lower = p->lower + k;
      for (int64_t n = 0; n < count; ++n) {
        value[n] = value[n] < lower[2 * n] ? lower[2 * n] : value[n];
      }
    }
    if (p->upper) {
      const double *upper = p->upper + k;
      for (int64_t n = 0; n < count; ++n) {
        value[n] = value[n] > upper[2 * n] ? upper[2 * n] : value[n];
      }
    }
    for (int64_t n = 0; n < count; ++n) x[2 * n] = value[n];
  }
  if (w > 1 && ((w - 1) & 1) == odd) {
    p->x[j * w + w - 1] = cvtm_grid_relaxed(p, p->x, w - 1, j, omega);
  }
}

/* out = b - A x in row j. */
INLINE void residual_body(const cvtm_grid_problem *p, int64_t j, double *out) {
  const int64_t w = p->width;
  double around[CHUNK], diagonal[CHUNK];
  out[0] = cvtm_grid_residual(p, p->x, 0, j);
  out[w - 1] = cvtm_grid_residual(p, p->x, w - 1, j);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    around_body(p, p->x, j, first, 1, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (p->b[k + i] + around[i]) - diagonal[i] * p->x[k + i];
    }
  }
}

/* Marks the active nodes of row j: their residuals become 0, changed[i] says whether they or the
 * others are no longer what p->active says, which learns of it only if `store`. */
INLINE void hold_body(const cvtm_grid_problem *p, int truncated, int64_t j, int store,
                      double *residual, uint8_t *changed) {
  const int64_t w = p->width;
  int64_t held[CHUNK];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const double *x = p->x + k;
    double *r = residual + first;
    uint8_t *active = p->active + k, *out = changed + first;
    for (int64_t i = 0; i < count; ++i) held[i] = 0;
    if (truncated && p->lower) {
      const double *lower = p->lower + k;
      for (int64_t i = 0; i < count; ++i) held[i] = x[i] <= lower[i];
    }
    if (truncated && p->upper) {
      const double *upper = p->upper + k;
      for (int64_t i = 0; i < count; ++i) held[i] |= x[i] >= upper[i];
    }
    for (int64_t i = 0; i < count; ++i) r[i] = held[i] ? 0.0 : r[i];
    for (int64_t i = 0; i < count; ++i) out[i] = active[i] != (uint8_t)held[i];
    for (int64_t i = 0; i < count && store; ++i) active[i] = (uint8_t)held[i];
  }
}

INLINE void clip_body(const cvtm_grid_problem *p, int64_t k, int64_t count, double *value) {
  if (p->lower) {
    const double *lower = p->lower + k;
    for (int64_t i = 0; i < count; ++i) value[i] = value[i] < lower[i] ? lower[i] : value[i];
  }
  if (p->upper) {
    const double *upper = p->upper + k;
    for (int64_t i = 0; i < count; ++i) value[i] = value[i] > upper[i] ? upper[i] : value[i];
  }
}

typedef struct norms {
  double squares, maximum, rounding;
} norms;

INLINE void add_natural(norms *sum, double residual, double size) {
  sum->squares += residual * residual;
  sum->rounding += size * size;
  if (!(fabs(residual) <= sum->maximum)) sum->maximum = fabs(residual);
}

INLINE norms natural_body(const cvtm_grid_problem *p, const double *x, int64_t j) {
  const int64_t w = p->width;
  double around[CHUNK], diagonal[CHUNK], size[CHUNK];
  double squares[LANES] = {0}, maximum[LANES] = {0}, rounding[LANES] = {0};
  norms sum = {0, 0, 0};
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) {
    const cvtm_grid_natural n = cvtm_grid_natural_residual(p, x, i, j);
    add_natural(&sum, n.residual, n.size);
  }
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const double *b = p->b + k, *at = x + k;
    around_body(p, x, j, first, 1, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) {
      const double held = diagonal[i] * at[i];
      around[i] = at[i] - (held - (b[i] + around[i]));
      size[i] = fabs(b[i]) + 2 * fabs(held);
    }
    clip_body(p, k, count, around);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        const double r = at[i + l] - around[i + l];
        squares[l] += r * r;
        rounding[l] += size[i + l] * size[i + l];
        maximum[l] = fabs(r) <= maximum[l] ? maximum[l] : fabs(r);
      }
    }
    for (; i < count; ++i) add_natural(&sum, at[i] - around[i], size[i]);
  }
  for (int l = 0; l < LANES; ++l) {
    sum.squares += squares[l];
    sum.rounding += rounding[l];
    if (!(maximum[l] <= sum.maximum)) sum.maximum = maximum[l];
  }
  return sum;
}

/* d of row j: what the bounds leave of a correction, nothing at active nodes. */
INLINE void limit_body(const cvtm_grid_problem *p, int64_t j) {
  const int64_t w = p->width;
  double moved[CHUNK];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const double *x = p->x + k;
    const uint8_t *active = p->active + k;
    double *d = p->d + k;
    for (int64_t i = 0; i < count; ++i) moved[i] = x[i] + d[i];
    clip_body(p, k, count, moved);
    for (int64_t i = 0; i < count; ++i) moved[i] -= x[i];
    for (int64_t i = 0; i < count; ++i) d[i] = active[i] ? 0.0 : moved[i];
  }
}

/* x of row j moved along d, into its bounds. */
INLINE void move_body(const cvtm_grid_problem *p, int64_t j, double step) {
  const int64_t w = p->width;
  double moved[CHUNK];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const double *d = p->d + k;
    double *x = p->x + k;
    for (int64_t i = 0; i < count; ++i) moved[i] = x[i] + step * d[i];
    clip_body(p, k, count, moved);
    for (int64_t i = 0; i < count; ++i) x[i] = moved[i];
  }
}

/* Slope and bend of the correction in row j. */
INLINE void search_body(const cvtm_grid_problem *p, int64_t j, double *slope, double *bend) {
  const int64_t w = p->width;
  double around[CHUNK], diagonal[CHUNK], pull[CHUNK], lane[2][LANES] = {{0}};
  *slope = *bend = 0;
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) cvtm_grid_search(p, i, j, slope, bend);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const double *b = p->b + k, *x = p->x + k, *d = p->d + k;
    around_body(p, p->x, j, first, 1, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) pull[i] = (b[i] + around[i]) - diagonal[i] * x[i];
    around_body(p, p->d, j, first, 1, count, around, diagonal);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        lane[0][l] += d[i + l] * pull[i + l];
        lane[1][l] += d[i + l] * (diagonal[i + l] * d[i + l] - around[i + l]);
      }
    }
    for (; i < count; ++i) {
      *slope += d[i] * pull[i];
      *bend += d[i] * (diagonal[i] * d[i] - around[i]);
    }
  }
  for (int l = 0; l < LANES; ++l) {
    *slope += lane[0][l];
    *bend += lane[1][l];
  }
}

/* --- coarse rows --- */

/* Sums over the eight neighbours of `count` nodes: first, first + step, ...; none at an edge. */
INLINE void coarse_around_body(const cvtm_grid_level *c, int64_t y, int64_t first, int64_t step,
                               int64_t count, double *around) {
  const int64_t w = c->width, plane = w * c->height, k = y * w + first;
  const double *east = c->coefficient + CVTM_GRID_EAST * plane + k;
  const double *south = c->coefficient + CVTM_GRID_SOUTH * plane + k;
  const double *south_east = c->coefficient + CVTM_GRID_SOUTH_EAST * plane + k;
  const double *south_west = c->coefficient + CVTM_GRID_SOUTH_WEST * plane + k;
  const double *row = c->e + k, *north = row - w, *below = row + w;
  for (int64_t n = 0, i = 0; n < count; ++n, i += step) {
    const double over = (south_east[i - w - 1] * north[i - 1] + south[i - w] * north[i]) +
                        south_west[i - w + 1] * north[i + 1];
    const double beside = east[i - 1] * row[i - 1] + east[i] * row[i + 1];
    const double under =
        (south_west[i] * below[i - 1] + south[i] * below[i]) + south_east[i] * below[i + 1];
    around[n] = (over + beside) + under;
  }
}

/* Columns of parity `odd` in row y. */
INLINE void coarse_relax_body(const cvtm_grid_level *c, int bounded, int64_t y, int64_t odd) {
  const int64_t w = c->width;
  const int edge = y == 0 || y + 1 == c->height || w < 3;
  double value[CHUNK / 2];
  for (int64_t x = odd; x < w; x += 2) {
    if (!edge && x > 0 && x < w - 2) x = ((w - 1 - odd) & ~INT64_C(1)) + odd; /* on to the last */
    if (edge || x == 0 || x == w - 1) c->e[y * w + x] = cvtm_grid_coarse_relaxed(c, bounded, x, y);
  }
  if (edge) return;
  for (int64_t first = 2 - odd; first < w - 1; first += CHUNK) {
    const int64_t count = (chunk_of(first, w - 1) + 1) / 2, k = y * w + first;
    const double *diagonal = c->coefficient + k, *r = c->r + k;
    double *e = c->e + k;
    coarse_around_body(c, y, first, 2, count, value);
    for (int64_t n = 0; n < count; ++n) {
      value[n] = (r[2 * n] + value[n]) / diagonal[2 * n];
    }
    if (bounded) {
      const double *lower = c->lower + k, *upper = c->upper + k;
      for (int64_t n = 0; n < count; ++n) {
        value[n] = cvtm_grid_clip(value[n], lower[2 * n], upper[2 * n]);
      }
    }
    for (int64_t n = 0; n < count; ++n) value[n] = diagonal[2 * n] > 0 ? value[n] : 0.0;
    for (int64_t n = 0; n < count; ++n) e[2 * n] = value[n];
  }
}

INLINE void coarse_residual_body(const cvtm_grid_level *c, int64_t y, double *out) {
  const int64_t w = c->width;
  const int edge = y == 0 || y + 1 == c->height || w < 3;
  double around[CHUNK];
  for (int64_t x = 0; x < w; x += edge || w < 2 ? 1 : w - 1) {
    out[x] = cvtm_grid_coarse_residual(c, x, y);
  }
  for (int64_t first = 1; first < w - 1 && !edge; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = y * w + first;
    coarse_around_body(c, y, first, 1, count, around);
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (c->r[k + i] + around[i]) - c->coefficient[k + i] * c->e[k + i];
    }
  }
}

/* --- bilinear transfers --- */

/* r of coarse row y from the residuals of its three fine rows (0 where active, a row of zeros
 * outside), for coarse nodes whose support keeps off the boundary; the others one by one. */
INLINE void restrict_body(const cvtm_grid_level *c, int64_t fine_width, int64_t fine_height,
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

/* Bounds of coarse row y: the tightest in each support. */
INLINE void room_body(const cvtm_grid_level *c, const fine_values *f, int64_t y) {
  const int64_t w = c->width, part = CHUNK / 2;
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
      for (int64_t i = 0; i < wide && f->lower; ++i) {
        const double lower = f->lower[k + i] - value[i];
        low[i] = lower > low[i] ? lower : low[i];
      }
      for (int64_t i = 0; i < wide && f->upper; ++i) {
        const double upper = f->upper[k + i] - value[i];
        up[i] = upper < up[i] ? upper : up[i];
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
INLINE void mark_body(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
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
INLINE void due_body(const cvtm_grid_level *c, int64_t y, uint8_t *due) {
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

/* Interpolated values of fine row j; those near the left and right boundary one by one. */
INLINE void prolong_body(const cvtm_grid_level *c, const double *e, int64_t fine_width, int64_t j,
                         double *out) {
  const int64_t w = c->width, safe = 2 * (w - 1); /* fine nodes 2 .. safe + 1 have all parents */
  int64_t y0;
  const int count_y = cvtm_grid_parents(1, j, &y0);
  const int inside = y0 >= 0 && y0 + count_y <= c->height;
  for (int64_t i = 0; i < fine_width; ++i) {
    if (inside && i >= 2 && i <= safe) {
      i = safe;
      continue;
    }
    out[i] = cvtm_grid_prolonged(c, e, i, j);
  }
  if (!inside) return;
  const double *a = e + y0 * w, *b = a + w;
  if (count_y == 1) {
    for (int64_t x = 1; x < w; ++x) out[2 * x] = 0.5 * a[x - 1] + 0.5 * a[x];
    for (int64_t x = 2; x < w; ++x) out[2 * x - 1] = a[x - 1];
  } else {
    for (int64_t x = 1; x < w; ++x) {
      out[2 * x] = ((0.25 * a[x - 1] + 0.25 * a[x]) + 0.25 * b[x - 1]) + 0.25 * b[x];
    }
    for (int64_t x = 2; x < w; ++x) out[2 * x - 1] = 0.5 * a[x - 1] + 0.5 * b[x - 1];
  }
}

/* --- both widths --- */

#define ROWS(suffix, attribute)                                                                    \
  attribute static void relax_##suffix(const cvtm_grid_problem *p, int64_t j, int colour,          \
                                       double omega) {                                             \
    relax_body(p, j, colour, omega);                                                               \
  }                                                                                                \
  attribute static void residual_##suffix(const cvtm_grid_problem *p, int64_t j, double *out) {    \
    residual_body(p, j, out);                                                                      \
  }                                                                                                \
  attribute static norms natural_##suffix(const cvtm_grid_problem *p, const double *x,             \
                                          int64_t j) {                                             \
    return natural_body(p, x, j);                                                                  \
  }                                                                                                \
  attribute static void search_##suffix(const cvtm_grid_problem *p, int64_t j, double *slope,      \
                                        double *bend) {                                            \
    search_body(p, j, slope, bend);                                                                \
  }                                                                                                \
  attribute static void coarse_relax_##suffix(const cvtm_grid_level *c, int bounded, int64_t y,    \
                                              int64_t odd) {                                       \
    coarse_relax_body(c, bounded, y, odd);                                                         \
  }                                                                                                \
  attribute static void coarse_residual_##suffix(const cvtm_grid_level *c, int64_t y,              \
                                                 double *out) {                                    \
    coarse_residual_body(c, y, out);                                                               \
  }                                                                                                \
  attribute static void restrict_##suffix(const cvtm_grid_level *c, int64_t fine_width,            \
                                          int64_t fine_height, int64_t y,                          \
                                          const double *const rows[3]) {                           \
    restrict_body(c, fine_width, fine_height, y, rows);                                            \
  }                                                                                                \
  attribute static void prolong_##suffix(const cvtm_grid_level *c, const double *e,                \
                                         int64_t fine_width, int64_t j, double *out) {             \
    prolong_body(c, e, fine_width, j, out);                                                        \
  }                                                                                                \
  attribute static void hold_##suffix(const cvtm_grid_problem *p, int truncated, int64_t j,        \
                                      int store, double *residual, uint8_t *changed) {             \
    hold_body(p, truncated, j, store, residual, changed);                                          \
  }                                                                                                \
  attribute static void mark_##suffix(const cvtm_grid_level *c, int64_t fine_width, int64_t y,     \
                                      const uint8_t *const rows[3]) {                              \
    mark_body(c, fine_width, y, rows);                                                             \
  }                                                                                                \
  attribute static void due_##suffix(const cvtm_grid_level *c, int64_t y, uint8_t *due) {          \
    due_body(c, y, due);                                                                           \
  }                                                                                                \
  attribute static void room_##suffix(const cvtm_grid_level *c, const fine_values *f, int64_t y) { \
    room_body(c, f, y);                                                                            \
  }                                                                                                \
  attribute static void limit_##suffix(const cvtm_grid_problem *p, int64_t j) {                    \
    limit_body(p, j);                                                                              \
  }                                                                                                \
  attribute static void move_##suffix(const cvtm_grid_problem *p, int64_t j, double step) {        \
    move_body(p, j, step);                                                                         \
  }                                                                                                \
  static const row_table rows_##suffix = {                                                         \
      relax_##suffix,    residual_##suffix,     natural_##suffix,                                  \
      search_##suffix,   coarse_relax_##suffix, coarse_residual_##suffix,                          \
      restrict_##suffix, prolong_##suffix,      hold_##suffix,                                     \
      mark_##suffix,     due_##suffix,          limit_##suffix,                                    \
      move_##suffix,     room_##suffix};

typedef struct row_table {
  void (*relax)(const cvtm_grid_problem *p, int64_t j, int colour, double omega);
  void (*residual)(const cvtm_grid_problem *p, int64_t j, double *out);
  norms (*natural)(const cvtm_grid_problem *p, const double *x, int64_t j);
  void (*search)(const cvtm_grid_problem *p, int64_t j, double *slope, double *bend);
  void (*coarse_relax)(const cvtm_grid_level *c, int bounded, int64_t y, int64_t odd);
  void (*coarse_residual)(const cvtm_grid_level *c, int64_t y, double *out);
  void (*restrict_rows)(const cvtm_grid_level *c, int64_t fine_width, int64_t fine_height,
                        int64_t y, const double *const rows[3]);
  void (*prolong)(const cvtm_grid_level *c, const double *e, int64_t fine_width, int64_t j,
                  double *out);
  void (*hold)(const cvtm_grid_problem *p, int truncated, int64_t j, int store, double *residual,
               uint8_t *changed);
  void (*mark)(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
               const uint8_t *const rows[3]);
  void (*due)(const cvtm_grid_level *c, int64_t y, uint8_t *due);
  void (*limit)(const cvtm_grid_problem *p, int64_t j);
  void (*move)(const cvtm_grid_problem *p, int64_t j, double step);
  void (*room)(const cvtm_grid_level *c, const fine_values *f, int64_t y);
} row_table;

ROWS(plain, )
ROWS(wide, WIDE)

static const row_table *rows_of_machine(void) {
  return has_wide_vectors() ? &rows_wide : &rows_plain;
}

#endif
