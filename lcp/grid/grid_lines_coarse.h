/* Inside grid_lines.c only: lines of coarse levels, and bilinear transfers between two levels. */
#ifndef CVTMESH_LCP_GRID_GRID_LINES_COARSE_H
#define CVTMESH_LCP_GRID_GRID_LINES_COARSE_H

#include "lcp/grid/grid_lines_problem.h"
#include "lcp/grid/grid_smoother.h"
#include "lcp/grid/grid_transfer.h"

/* --- the operator along a chunk --- */

/* A chunk of a coarse line, off all edges of the grid, and the lines beside it. */
typedef struct coarse_stencil {
  const double *diagonal, *r;
  const double *line, *north, *below;
  const double *east, *south, *south_east, *south_west;
} coarse_stencil;

CVTM_INLINE coarse_stencil coarse_stencil_from(const cvtm_grid_level *c, int64_t y, int64_t first) {
  const int64_t w = c->width, plane = w * c->height, k = y * w + first;
  const double *at = c->coefficient + k;
  const coarse_stencil s = {.diagonal = at + CVTM_GRID_DIAGONAL * plane,
                            .r = c->r + k,
                            .line = c->e + k,
                            .north = c->e + k - w,
                            .below = c->e + k + w,
                            .east = at + CVTM_GRID_EAST * plane,
                            .south = at + CVTM_GRID_SOUTH * plane,
                            .south_east = at + CVTM_GRID_SOUTH_EAST * plane,
                            .south_west = at + CVTM_GRID_SOUTH_WEST * plane};
  return s;
}

/* Sums of link times e over the neighbours of node i on the line above, its own, the line below. */
CVTM_INLINE double north_sum(const coarse_stencil *s, int64_t w, int64_t i) {
  return (s->south_east[i - w - 1] * s->north[i - 1] + s->south[i - w] * s->north[i]) +
         s->south_west[i - w + 1] * s->north[i + 1];
}

CVTM_INLINE double beside_sum(const coarse_stencil *s, int64_t i) {
  return s->east[i - 1] * s->line[i - 1] + s->east[i] * s->line[i + 1];
}

CVTM_INLINE double south_sum(const coarse_stencil *s, int64_t i) {
  return (s->south_west[i] * s->below[i - 1] + s->south[i] * s->below[i]) +
         s->south_east[i] * s->below[i + 1];
}

/* --- smoothing and residuals --- */

CVTM_INLINE void relax_coarse_node(const cvtm_grid_level *c, int64_t y, int64_t x) {
  c->e[y * c->width + x] = cvtm_grid_coarse_relaxed(c, x, y);
}

/* Even columns, then odd ones, chunk by chunk. The lines above and below add the same to both. */
CVTM_INLINE void relax_coarse_line_body(const cvtm_grid_level *c, int64_t y) {
  const int64_t w = c->width;
  double over[CHUNK], under[CHUNK], inverse[CHUNK], value[CHUNK];
  if (y == 0 || y + 1 == c->height || w < 3) {
    for (int64_t x = 0; x < w; x += 2) relax_coarse_node(c, y, x);
    for (int64_t x = 1; x < w; x += 2) relax_coarse_node(c, y, x);
    return;
  }
  relax_coarse_node(c, y, 0);
  if (w % 2 == 1) relax_coarse_node(c, y, w - 1);
  for (int64_t first = 1; first < w - 1; first += CHUNK) { /* odd; so chunks end with even ones */
    const int64_t count = chunk_of(first, w - 1), k = y * w + first;
    const coarse_stencil s = coarse_stencil_from(c, y, first);
    double *e = c->e + k;
    for (int64_t i = 0; i < count; ++i) over[i] = north_sum(&s, w, i);
    for (int64_t i = 0; i < count; ++i) under[i] = south_sum(&s, i);
    for (int64_t i = 0; i < count; ++i) inverse[i] = 1 / s.diagonal[i];
    for (int64_t i = 0; i < count; ++i) inverse[i] = s.diagonal[i] > 0 ? inverse[i] : 0.0;
    for (int64_t odd = 1; odd >= 0; --odd) { /* the chunk's odd nodes are the line's even ones */
      for (int64_t i = 0; i < count; ++i) {
        const double sum = s.r[i] + ((over[i] + beside_sum(&s, i)) + under[i]);
        value[i] = sum * inverse[i];
      }
      for (int64_t i = odd; i < count; i += 2) e[i] = value[i];
    }
  }
  if (w % 2 == 0) relax_coarse_node(c, y, w - 1);
}

CVTM_INLINE void coarse_residual_line_body(const cvtm_grid_level *c, int64_t y, double *out) {
  const int64_t w = c->width;
  const int edge = y == 0 || y + 1 == c->height || w < 3;
  double around[CHUNK];
  for (int64_t x = 0; x < w; x += edge || w < 2 ? 1 : w - 1) {
    out[x] = cvtm_grid_coarse_residual(c, x, y);
  }
  for (int64_t first = 1; first < w - 1 && !edge; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1);
    const coarse_stencil s = coarse_stencil_from(c, y, first);
    for (int64_t i = 0; i < count; ++i) {
      around[i] = (north_sum(&s, w, i) + beside_sum(&s, i)) + south_sum(&s, i);
    }
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (s.r[i] + around[i]) - s.diagonal[i] * s.line[i];
    }
  }
}

/* --- restriction --- */

/* Coarse nodes whose support keeps off the boundary together, the others one by one. */
CVTM_INLINE void restrict_line_body(const cvtm_grid_level *c, int64_t fine_width,
                                    int64_t fine_height, int64_t y, const double *const lines[3]) {
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
        sum += cvtm_grid_basis(c, x, y, 2 * x + dx, 2 * y + dy) * lines[dy][2 * x + dx];
      }
    }
    r[x] = sum;
  }
  if (!(y > 0 && 2 * y + 3 < fine_height)) return;
  const double *a = lines[0], *b = lines[1], *d = lines[2];
  for (int64_t x = 1; x < last; ++x) {
    const double north = (0.25 * a[2 * x] + 0.5 * a[2 * x + 1]) + 0.25 * a[2 * x + 2];
    const double middle = ((north + 0.5 * b[2 * x]) + b[2 * x + 1]) + 0.5 * b[2 * x + 2];
    r[x] = ((middle + 0.25 * d[2 * x]) + 0.5 * d[2 * x + 1]) + 0.25 * d[2 * x + 2];
  }
}

CVTM_INLINE void mark_changes_body(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
                                   const uint8_t *const lines[3]) {
  const int64_t w = c->width, whole = 2 * w < fine_width ? w : w - 1;
  const uint8_t *a = lines[0], *b = lines[1], *d = lines[2] ? lines[2] : b;
  uint8_t *marked = c->support_changed + y * w;
  for (int64_t x = 0; x < whole; ++x) {
    const uint8_t west = a[2 * x] | b[2 * x] | d[2 * x];
    const uint8_t amid = a[2 * x + 1] | b[2 * x + 1] | d[2 * x + 1];
    marked[x] = west | amid | a[2 * x + 2] | b[2 * x + 2] | d[2 * x + 2];
  }
  for (int64_t x = whole; x < w; ++x) {
    marked[x] = a[2 * x] | b[2 * x] | d[2 * x] | a[2 * x + 1] | b[2 * x + 1] | d[2 * x + 1];
  }
}

/* --- interpolation --- */

/* Interpolated values of nodes first .. first + count - 1 of fine line j: whole pairs from an even
 * index on, or nodes near the left and right boundary. */
CVTM_INLINE void interpolate_chunk(const cvtm_grid_level *c, int64_t j, int64_t first,
                                   int64_t count, double *out) {
  const int64_t w = c->width, x = first / 2;
  int64_t y;
  const int parents = cvtm_grid_parents(1, j, &y);
  if (first < 2 || first >= 2 * w || y < 0 || y + parents > c->height) {
    for (int64_t i = 0; i < count; ++i) out[i] = cvtm_grid_interpolated(c, c->e, first + i, j);
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

/* How many nodes from `first` on interpolate_chunk takes together. */
CVTM_INLINE int64_t interpolated_count(const cvtm_grid_level *c, int64_t fine_width,
                                       int64_t first) {
  if (first == 0) return 2;
  return first < 2 * c->width ? chunk_of(first, 2 * c->width) : fine_width - first;
}

CVTM_INLINE void prolong_line_body(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y) {
  double more[CHUNK];
  for (int64_t first = 0, count; first < f->width; first += count) {
    count = interpolated_count(c, f->width, first);
    double *e = f->e + y * f->width + first;
    interpolate_chunk(c, y, first, count, more);
    for (int64_t i = 0; i < count; ++i) e[i] += more[i];
  }
}

/* Active nodes do not move. */
CVTM_INLINE void correct_line_body(const cvtm_grid_problem *p, const cvtm_grid_level *c,
                                   int64_t j) {
  double moved[CHUNK];
  for (int64_t first = 0, count; first < p->width; first += count) {
    count = interpolated_count(c, p->width, first);
    const int64_t k = j * p->width + first;
    const bounds limit = bounds_from(p, k);
    const double *x = p->x + k;
    double *d = p->d + k;
    interpolate_chunk(c, j, first, count, moved);
    for (int64_t i = 0; i < count; ++i) {
      const int at_bound = is_at_bound(limit, i, x[i]);
      const double next = clip_at(limit, i, x[i] + moved[i]);
      moved[i] = at_bound ? x[i] : next;
    }
    for (int64_t i = 0; i < count; ++i) d[i] = moved[i] - x[i];
  }
}

#endif
