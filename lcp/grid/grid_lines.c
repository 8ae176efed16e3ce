/* Phases on one line, compiled for both vector widths: chunks of a line, their bounds, sums over
 * lanes; lines of the five-point problem and of coarse levels; bilinear transfers; P'AP.
 *
 * Each call passes `varying` as a constant; 0: the inner nodes of a line have constant links and a
 * constant diagonal. */
#include "lcp/grid/grid_lines.h"
#include "base/host.h"
#include "lcp/grid/grid_galerkin.h"

#include <string.h>

/* CHUNK: number of nodes of a chunk; LANES: number of partial sums along a line, which divides
 * CHUNK */
enum { CHUNK = 256, LANES = 32 };

/* For lines outside a grid and for absent bounds. */
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

/* Appends zeros up to a multiple of LANES. */
CVTM_INLINE int64_t fill_lanes(double *value, int64_t count) {
  const int64_t padded = (count + LANES - 1) / LANES * LANES;
  for (int64_t i = count; i < padded; ++i) value[i] = 0;
  return padded;
}

CVTM_INLINE double sum_of_lanes(double lane[LANES]) {
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

/* --- the operator along a chunk --- */

/* x on a chunk of line j and on both neighbouring lines, and the operator there. */
typedef struct stencil {
  const double *line, *north, *south;
  double link, up, down, diagonal;    /* of a constant operator */
  const double *sums, *own_diagonals; /* of a varying operator: neighbour sums, diagonal entries */
} stencil;

/* True if the problem has constant stencils, that is, `varying` is 0. */
CVTM_INLINE int has_constant_stencil(const cvtm_grid_problem *p) {
  return !p->horizontal && !p->diagonal && p->constant > 0;
}

/* Computes neighbour sums and diagonal entries of `count` nodes with the given stride, beginning at
 * `first`. No node is at the left or right edge. */
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

/* The stencil of a chunk. sums, diagonals: buffers for a chunk, used if `varying`. */
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

/* Relaxes one colour. With stride 1 it also computes and drops the values of the other colour. That
 * costs less than skipping them, but reads nodes of this colour on the lines above and below.
 * Stride 2 is for lines beside which another thread writes these nodes at the same time. */
CVTM_INLINE void relax_varying(const cvtm_grid_problem *p, int64_t j, int colour, double omega,
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
    const double inverse = varying ? 0 : cvtm_relax_inverse(s.diagonal);
    for (int64_t i = 0; i < count; i += stride) {
      const double sum = b[i] + sum_at(&s, varying, i);
      const double relaxed =
          varying ? cvtm_relax(sum, diagonals[i], x[i]) : cvtm_relax_by_inverse(sum, inverse);
      value[i] = cvtm_relax_projected(x[i], relaxed, omega, limit.lower[i], limit.upper[i]);
    }
    for (int64_t i = 0; i < count; i += 2) x[i] = value[i];
  }
  if (w > 1 && ((w - 1) & 1) == odd)
    p->x[j * w + w - 1] = cvtm_grid_relaxed(p, p->x, w - 1, j, omega);
}

CVTM_INLINE void residual_varying(const cvtm_grid_problem *p, int64_t j, double *out, int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK];
  out[0] = cvtm_grid_residual(p, p->x, 0, j);
  out[w - 1] = cvtm_grid_residual(p, p->x, w - 1, j);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1);
    const stencil s = stencil_from(p, p->x, j, first, count, 1, varying, sums, diagonals);
    const double *b = p->b + j * w + first;
    for (int64_t i = 0; i < count; ++i) {
      const double sum = b[i] + sum_at(&s, varying, i);
      out[first + i] = cvtm_residual(sum, diagonal_at(&s, varying, i), s.line[i]);
    }
  }
}

CVTM_INLINE void truncate_body(const cvtm_grid_problem *p, int64_t j, int store, double *residual,
                               uint8_t *changed) {
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

CVTM_INLINE void measure_varying(const cvtm_grid_problem *p, const double *x, int64_t j,
                                 cvtm_grid_norms *sum, int varying) {
  const int64_t w = p->width;
  double sums[CHUNK], diagonals[CHUNK], residual[CHUNK], size[CHUNK];
  double squares[LANES] = {0}, maximum[LANES] = {0}, rounding[LANES] = {0};
  const cvtm_grid_norms none = {0, 0, 0};
  *sum = none;
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) cvtm_grid_add_node_natural(p, x, i, j, sum);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const stencil s = stencil_from(p, x, j, first, count, 1, varying, sums, diagonals);
    const bounds limit = bounds_from(p, k);
    const double *b = p->b + k;
    for (int64_t i = 0; i < count; ++i) {
      const double product = diagonal_at(&s, varying, i) * s.line[i];
      residual[i] = cvtm_natural_residual(product - (b[i] + sum_at(&s, varying, i)), s.line[i],
                                          limit.lower[i], limit.upper[i]);
      size[i] = cvtm_natural_size(b[i], product);
    }
    fill_lanes(size, count);
    const int64_t padded = fill_lanes(residual, count);
    for (int64_t i = 0; i < padded; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        const double r = fabs(residual[i + l]);
        squares[l] += r * r;
        rounding[l] += size[i + l] * size[i + l];
        maximum[l] = r <= maximum[l] ? maximum[l] : r;
      }
    }
  }
  for (int l = 0; l < LANES; ++l) {
    if (!(maximum[l] <= sum->maximum)) sum->maximum = maximum[l];
  }
  sum->squares += sum_of_lanes(squares);
  sum->rounding += sum_of_lanes(rounding);
}

CVTM_INLINE void step_body(const cvtm_grid_problem *p, int64_t j, double step) {
  const int64_t w = p->width;
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), k = j * w + first;
    const bounds limit = bounds_from(p, k);
    const double *d = p->d + k;
    double *x = p->x + k;
    for (int64_t i = 0; i < count; ++i) x[i] = clip_at(limit, i, x[i] + step * d[i]);
  }
}

CVTM_INLINE void line_search_varying(const cvtm_grid_problem *p, int64_t j, double *slope,
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
      slope_terms[i] = d * cvtm_residual(b[i] + sum_at(&s, varying, i), diagonal, s.line[i]);
      curvature_terms[i] = d * (diagonal * d - sum_at(&t, varying, i));
    }
    fill_lanes(curvature_terms, count);
    const int64_t padded = fill_lanes(slope_terms, count);
    for (int64_t i = 0; i < padded; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        slopes[l] += slope_terms[i + l];
        curvatures[l] += curvature_terms[i + l];
      }
    }
  }
  *slope += sum_of_lanes(slopes);
  *curvature += sum_of_lanes(curvatures);
}

/* Calls relax_varying with a constant stride and a constant `varying`, so that the compiler makes a
 * function for each combination. The functions below do the same for `varying`. */
CVTM_INLINE void relax_body(const cvtm_grid_problem *p, int64_t j, int colour, double omega,
                            int shared) {
  if (has_constant_stencil(p)) {
    if (shared) relax_varying(p, j, colour, omega, 2, 0);
    if (!shared) relax_varying(p, j, colour, omega, 1, 0);
  } else {
    if (shared) relax_varying(p, j, colour, omega, 2, 1);
    if (!shared) relax_varying(p, j, colour, omega, 1, 1);
  }
}

CVTM_INLINE void residual_body(const cvtm_grid_problem *p, int64_t j, double *out) {
  if (has_constant_stencil(p)) residual_varying(p, j, out, 0);
  if (!has_constant_stencil(p)) residual_varying(p, j, out, 1);
}

CVTM_INLINE void measure_body(const cvtm_grid_problem *p, const double *x, int64_t j,
                              cvtm_grid_norms *sum) {
  if (has_constant_stencil(p)) measure_varying(p, x, j, sum, 0);
  if (!has_constant_stencil(p)) measure_varying(p, x, j, sum, 1);
}

CVTM_INLINE void line_search_body(const cvtm_grid_problem *p, int64_t j, double *slope,
                                  double *curvature) {
  if (has_constant_stencil(p)) line_search_varying(p, j, slope, curvature, 0);
  if (!has_constant_stencil(p)) line_search_varying(p, j, slope, curvature, 1);
}

/* ------ coarse levels ------ */

/* --- the operator along a chunk --- */

/* A chunk of a coarse line, away from the edges of the grid, and both neighbouring lines. */
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

/* Sums of link times e over the neighbours of node i on the line above, on its line, and below. */
CVTM_INLINE double north_sum(const coarse_stencil *s, int64_t w, int64_t i) {
  return cvtm_grid_three_points(s->south_east[i - w - 1], s->south[i - w], s->south_west[i - w + 1],
                                s->north + i, 0);
}

CVTM_INLINE double beside_sum(const coarse_stencil *s, int64_t i) {
  return cvtm_grid_two_points(s->east[i - 1], s->east[i], s->line + i);
}

CVTM_INLINE double south_sum(const coarse_stencil *s, int64_t i) {
  return cvtm_grid_three_points(s->south_west[i], s->south[i], s->south_east[i], s->below + i, 0);
}

/* --- smoothing and residuals --- */

CVTM_INLINE void relax_coarse_node(const cvtm_grid_level *c, int64_t y, int64_t x) {
  c->e[y * c->width + x] = cvtm_grid_coarse_relaxed(c, x, y);
}

/* Relaxes even columns, then odd ones, with the same sums over the neighbouring lines. */
CVTM_INLINE void relax_coarse_body(const cvtm_grid_level *c, int64_t y) {
  const int64_t w = c->width;
  double over[CHUNK], under[CHUNK], inverse[CHUNK], value[CHUNK];
  if (y == 0 || y + 1 == c->height || w < 3) {
    for (int64_t x = 0; x < w; x += 2) relax_coarse_node(c, y, x);
    for (int64_t x = 1; x < w; x += 2) relax_coarse_node(c, y, x);
    return;
  }
  relax_coarse_node(c, y, 0);
  if (w % 2 == 1) relax_coarse_node(c, y, w - 1);
  for (int64_t first = 1; first < w - 1; first += CHUNK) { /* `first` is odd, the last node even */
    const int64_t count = chunk_of(first, w - 1), k = y * w + first;
    const coarse_stencil s = coarse_stencil_from(c, y, first);
    double *e = c->e + k;
    for (int64_t i = 0; i < count; ++i) over[i] = north_sum(&s, w, i);
    for (int64_t i = 0; i < count; ++i) under[i] = south_sum(&s, i);
    for (int64_t i = 0; i < count; ++i) inverse[i] = cvtm_relax_inverse(s.diagonal[i]);
    for (int64_t odd = 1; odd >= 0; --odd) { /* odd nodes of the chunk are even nodes of the line */
      for (int64_t i = 0; i < count; ++i) {
        const double sum = s.r[i] + cvtm_grid_nine_point_sum(over[i], beside_sum(&s, i), under[i]);
        value[i] = cvtm_relax_by_inverse(sum, inverse[i]);
      }
      for (int64_t i = odd; i < count; i += 2) e[i] = value[i];
    }
  }
  if (w % 2 == 0) relax_coarse_node(c, y, w - 1);
}

CVTM_INLINE void residual_coarse_body(const cvtm_grid_level *c, int64_t y, double *out) {
  const int64_t w = c->width;
  const int edge = y == 0 || y + 1 == c->height || w < 3;
  double around[CHUNK];
  for (int64_t x = 0; x < w; x += edge || w < 2 ? 1 : w - 1)
    out[x] = cvtm_grid_coarse_residual(c, x, y);
  for (int64_t first = 1; first < w - 1 && !edge; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1);
    const coarse_stencil s = coarse_stencil_from(c, y, first);
    for (int64_t i = 0; i < count; ++i)
      around[i] =
          cvtm_grid_nine_point_sum(north_sum(&s, w, i), beside_sum(&s, i), south_sum(&s, i));
    for (int64_t i = 0; i < count; ++i)
      out[first + i] = cvtm_residual(s.r[i] + around[i], s.diagonal[i], s.line[i]);
  }
}

/* --- restriction --- */

/* Restricts coarse nodes whose support does not touch the boundary together, the others singly. */
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
      for (int dx = 0; dx < 3 && 2 * x + dx < fine_width; ++dx)
        sum += cvtm_grid_basis(c, x, y, 2 * x + dx, 2 * y + dy) * lines[dy][2 * x + dx];
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
  const int64_t w = c->width, covered = 2 * w < fine_width ? w : w - 1;
  const uint8_t *a = lines[0], *b = lines[1], *d = lines[2] ? lines[2] : b;
  uint8_t *marked = c->support_changed + y * w;
  for (int64_t x = 0; x < covered; ++x) {
    const uint8_t west = a[2 * x] | b[2 * x] | d[2 * x];
    const uint8_t amid = a[2 * x + 1] | b[2 * x + 1] | d[2 * x + 1];
    marked[x] = west | amid | a[2 * x + 2] | b[2 * x + 2] | d[2 * x + 2];
  }
  for (int64_t x = covered; x < w; ++x)
    marked[x] = a[2 * x] | b[2 * x] | d[2 * x] | a[2 * x + 1] | b[2 * x + 1] | d[2 * x + 1];
}

/* --- interpolation --- */

/* Interpolates to nodes first .. first + count - 1 of fine line j: to pairs that begin at an even
 * index, or to nodes near the left and right boundary. */
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
      out[2 * n] = cvtm_grid_bilinear(0, 1, 0, 0, a[n - 1], a[n]);
      out[2 * n + 1] = cvtm_grid_bilinear(1, 1, 0, 0, 0, a[n]);
    }
  } else {
    for (int64_t n = 0; n < count / 2; ++n) {
      out[2 * n] = cvtm_grid_bilinear(0, 0, a[n - 1], a[n], b[n - 1], b[n]);
      out[2 * n + 1] = cvtm_grid_bilinear(1, 0, 0, a[n], 0, b[n]);
    }
  }
}

/* The number of nodes, from `first` on, for one call of interpolate_chunk. */
CVTM_INLINE int64_t interpolated_count(const cvtm_grid_level *c, int64_t fine_width,
                                       int64_t first) {
  if (first == 0) return 2;
  return first < 2 * c->width ? chunk_of(first, 2 * c->width) : fine_width - first;
}

CVTM_INLINE void prolong_body(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y) {
  double more[CHUNK];
  for (int64_t first = 0, count; first < f->width; first += count) {
    count = interpolated_count(c, f->width, first);
    double *e = f->e + y * f->width + first;
    interpolate_chunk(c, y, first, count, more);
    for (int64_t i = 0; i < count; ++i) e[i] += more[i];
  }
}

/* Computes d from the interpolated correction; active nodes do not move. */
CVTM_INLINE void correct_body(const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t j) {
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

/* ------ P'AP ------
 *
 * Nodes whose 5 x 5 fine nodes are inside the grid, between levels with bilinear interpolation, use
 * galerkin_inside: the sums of cvtm_grid_galerkin, first over columns and then over lines, which
 * compilers vectorise. */

/* --- which stencils must be computed --- */

/* Finds stencils that may have changed: a stencil depends on the supports of its node and of the
 * eight neighbours. */
CVTM_INLINE void due_below_problem_body(const cvtm_grid_level *c, int64_t y, uint8_t *due) {
  const int64_t w = c->width;
  const uint8_t *line = c->support_changed + y * w, *north = y > 0 ? line - w : line;
  const uint8_t *south = y + 1 < c->height ? line + w : line;
  uint8_t column[CHUNK + 2];
  for (int64_t first = 0; first < w; first += CHUNK) {
    const int64_t count = chunk_of(first, w), from = first > 0 ? -1 : 0;
    const int64_t to = first + count < w ? count + 1 : count;
    column[0] = column[count + 1] = 0;
    for (int64_t i = from; i < to; ++i)
      column[i + 1] = north[first + i] | line[first + i] | south[first + i];
    for (int64_t i = 0; i < count; ++i) due[first + i] = column[i] | column[i + 1] | column[i + 2];
  }
}

/* Finds stencils that may have changed: a stencil depends on the finer stencils in its support. */
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

/* Multiplies the links of three nodes of a line by weights, and adds them to the columns west of,
 * at, and east of the nodes. */
CVTM_INLINE void add_line_of_stencils(double q[5], const double weight[3], const double *west,
                                      const double *own, double sign, const double *east) {
  CVTM_UNROLL
  for (int s = 0; s < 3; ++s) {
    q[s] += weight[s] * west[s];
    q[s + 1] += weight[s] * (sign * own[s]);
    q[s + 2] += weight[s] * east[s];
  }
}

/* Computes q = w'A, where the support of the basis function w begins at node k of the finer grid.
 * The three lines of the support and the line south of it contribute. */
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
    if (s > 0)
      add_line_of_stencils(q[s - 1], weight[s], south_east + o - w - 1, south + o - w, 1,
                           south_west + o - w + 1);
    add_line_of_stencils(q[s], weight[s], east + o - 1, at + o, -1, east + o);
    add_line_of_stencils(q[s + 1], weight[s], south_west + o, south + o, 1, south_east + o);
  }
}

/* add_coarse_stencils below a five-point problem without stored links. */
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

/* For the 5 x 5 nodes around a support: 0 if the node is truncated, else 1. */
typedef struct kept_nodes {
  const double *line[5];
  int any; /* nonzero: a node is truncated */
} kept_nodes;

/* Computes a stencil. kept: NULL: no node is truncated. */
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
  if (f->problem)
    add_problem_stencils(f->problem, k, weight, q);
  else
    add_coarse_stencils(f->level, k, weight, q);
  if (kept) {
    CVTM_UNROLL
    for (int t = 0; t < 4; ++t) {
      CVTM_UNROLL
      for (int s = 0; s < 5; ++s) q[t][s] *= kept->line[t + 1][s];
    }
  }
  /* Sums over each line of q, with the weights of one coarse column: */
  double west[4], middle[4], east[4];
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

/* Computes stencils first .. end - 1 of line y, whose 5 x 5 fine nodes are in the grid. */
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
    if (is_constant)
      cvtm_grid_constant_entries(constant, sum);
    else if (kept.any)
      galerkin_inside(f, x, y, &kept, sum);
    else
      galerkin_inside(f, x, y, NULL, sum);
    cvtm_grid_store_stencil(c, x, y, sum, is_constant);
  }
}

CVTM_INLINE void galerkin_body(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y,
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

/* --- both widths --- */

#define LINE_FUNCTIONS(name, parameters, arguments) \
  CVTM_DEFINE_WIDTHS(void, name##_body, parameters, arguments)
CVTM_GRID_LINE_PHASES(LINE_FUNCTIONS)

#define BASELINE(name, parameters, arguments) .name = name##_body_baseline,
#define WIDE(name, parameters, arguments) .name = name##_body_wide,
static const cvtm_grid_lines baseline = {CVTM_GRID_LINE_PHASES(BASELINE)};
static const cvtm_grid_lines wide = {CVTM_GRID_LINE_PHASES(WIDE)};

const cvtm_grid_lines *cvtm_grid_lines_of_machine(void) {
  return cvtm_has_wide_vectors() ? &wide : &baseline;
}
