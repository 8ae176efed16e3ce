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

/* Diagonals, and sums over the neighbours, of nodes first .. first + count - 1 of row j; none of
 * them lies at the left or right edge. */
INLINE void around_body(const cvtm_grid_problem *p, const double *x, int64_t j, int64_t first,
                        int64_t count, double *around, double *diagonal) {
  const int64_t w = p->width;
  const double *row = x + j * w + first;
  const double *north = j > 0 ? row - w : zeros, *south = j + 1 < p->height ? row + w : zeros;
  const double *own = p->diagonal ? p->diagonal + j * w + first : zeros;
  const double mass = p->diagonal ? 0.0 : p->mass;
  if (p->horizontal) {
    const double *h = p->horizontal + j * (w + 1) + first;
    const double *v = p->vertical + j * w + first, *u = v + w;
    for (int64_t i = 0; i < count; ++i) {
      diagonal[i] = (own[i] + mass) + ((h[i] + h[i + 1]) + (v[i] + u[i]));
      around[i] = (h[i] * row[i - 1] + h[i + 1] * row[i + 1]) + (v[i] * north[i] + u[i] * south[i]);
    }
    return;
  }
  const double c = p->constant, outer = p->neumann ? 0.0 : c;
  const double up = j > 0 ? c : outer, down = j + 1 < p->height ? c : outer;
  const double links = (c + c) + (up + down);
  for (int64_t i = 0; i < count; ++i) {
    diagonal[i] = (own[i] + mass) + links;
    around[i] = (c * row[i - 1] + c * row[i + 1]) + (up * north[i] + down * south[i]);
  }
}

INLINE int64_t chunk_of(int64_t first, int64_t end) {
  return end - first < CHUNK ? end - first : CHUNK;
}

/* One colour of row j. */
INLINE void relax_body(const cvtm_grid_problem *p, int64_t j, int colour, double omega) {
  const int64_t w = p->width, odd = (j + colour) & 1;
  double around[CHUNK], diagonal[CHUNK];
  if (odd == 0) p->x[j * w] = cvtm_grid_relaxed(p, p->x, 0, j, omega);
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const double *b = p->b + k;
    double *x = p->x + k;
    around_body(p, p->x, j, first, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) {
      const double value = diagonal[i] > 0 ? (b[i] + around[i]) / diagonal[i] : x[i];
      around[i] = omega != 1.0 ? x[i] + omega * (value - x[i]) : value;
    }
    if (p->lower) {
      const double *lower = p->lower + k;
      for (int64_t i = 0; i < count; ++i) around[i] = around[i] < lower[i] ? lower[i] : around[i];
    }
    if (p->upper) {
      const double *upper = p->upper + k;
      for (int64_t i = 0; i < count; ++i) around[i] = around[i] > upper[i] ? upper[i] : around[i];
    }
    for (int64_t i = (first + odd) & 1; i < count; i += 2) x[i] = around[i];
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
    around_body(p, p->x, j, first, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) {
      out[first + i] = (p->b[k + i] + around[i]) - diagonal[i] * p->x[k + i];
    }
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
  norms sum = {0, 0, 0}, lane[LANES] = {{0, 0, 0}};
  for (int64_t i = 0; i<w; i += w> 1 ? w - 1 : 1) {
    const cvtm_grid_natural n = cvtm_grid_natural_residual(p, x, i, j);
    add_natural(&sum, n.residual, n.size);
  }
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = j * w + first;
    const double *b = p->b + k, *at = x + k;
    around_body(p, x, j, first, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) {
      const double held = diagonal[i] * at[i];
      around[i] = at[i] - (held - (b[i] + around[i]));
      size[i] = fabs(b[i]) + 2 * fabs(held);
    }
    if (p->lower) {
      const double *lower = p->lower + k;
      for (int64_t i = 0; i < count; ++i) around[i] = around[i] < lower[i] ? lower[i] : around[i];
    }
    if (p->upper) {
      const double *upper = p->upper + k;
      for (int64_t i = 0; i < count; ++i) around[i] = around[i] > upper[i] ? upper[i] : around[i];
    }
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
      for (int l = 0; l < LANES; ++l) {
        const double r = at[i + l] - around[i + l];
        lane[l].squares += r * r;
        lane[l].rounding += size[i + l] * size[i + l];
        lane[l].maximum = fabs(r) <= lane[l].maximum ? lane[l].maximum : fabs(r);
      }
    }
    for (; i < count; ++i) add_natural(&sum, at[i] - around[i], size[i]);
  }
  for (int l = 0; l < LANES; ++l) {
    sum.squares += lane[l].squares;
    sum.rounding += lane[l].rounding;
    if (!(lane[l].maximum <= sum.maximum)) sum.maximum = lane[l].maximum;
  }
  return sum;
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
    around_body(p, p->x, j, first, count, around, diagonal);
    for (int64_t i = 0; i < count; ++i) pull[i] = (b[i] + around[i]) - diagonal[i] * x[i];
    around_body(p, p->d, j, first, count, around, diagonal);
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

/* Sums over the eight neighbours of nodes first .. first + count - 1, none at an edge. */
INLINE void coarse_around_body(const cvtm_grid_level *c, int64_t y, int64_t first, int64_t count,
                               double *around) {
  const int64_t w = c->width, plane = w * c->height, k = y * w + first;
  const double *east = c->coefficient + CVTM_GRID_EAST * plane + k;
  const double *south = c->coefficient + CVTM_GRID_SOUTH * plane + k;
  const double *south_east = c->coefficient + CVTM_GRID_SOUTH_EAST * plane + k;
  const double *south_west = c->coefficient + CVTM_GRID_SOUTH_WEST * plane + k;
  const double *row = c->e + k, *north = row - w, *below = row + w;
  for (int64_t i = 0; i < count; ++i) {
    const double over = (south_east[i - w - 1] * north[i - 1] + south[i - w] * north[i]) +
                        south_west[i - w + 1] * north[i + 1];
    const double beside = east[i - 1] * row[i - 1] + east[i] * row[i + 1];
    const double under =
        (south_west[i] * below[i - 1] + south[i] * below[i]) + south_east[i] * below[i + 1];
    around[i] = (over + beside) + under;
  }
}

/* Columns of parity `odd` in row y. */
INLINE void coarse_relax_body(const cvtm_grid_level *c, int bounded, int64_t y, int64_t odd) {
  const int64_t w = c->width;
  const int edge = y == 0 || y + 1 == c->height || w < 3;
  double around[CHUNK];
  for (int64_t x = odd; x < w; x += 2) {
    if (!edge && x > 0 && x < w - 2) x = ((w - 1 - odd) & ~INT64_C(1)) + odd; /* on to the last */
    if (edge || x == 0 || x == w - 1) c->e[y * w + x] = cvtm_grid_coarse_relaxed(c, bounded, x, y);
  }
  if (edge) return;
  for (int64_t first = 1; first < w - 1; first += CHUNK) {
    const int64_t count = chunk_of(first, w - 1), k = y * w + first;
    const double *diagonal = c->coefficient + k, *r = c->r + k;
    coarse_around_body(c, y, first, count, around);
    for (int64_t i = 0; i < count; ++i) {
      around[i] = diagonal[i] > 0 ? (r[i] + around[i]) / diagonal[i] : 0.0;
    }
    if (bounded) {
      for (int64_t i = 0; i < count; ++i) {
        around[i] =
            diagonal[i] > 0 ? cvtm_grid_clip(around[i], c->lower[k + i], c->upper[k + i]) : 0.0;
      }
    }
    for (int64_t i = (first + odd) & 1; i < count; i += 2) c->e[k + i] = around[i];
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
    coarse_around_body(c, y, first, count, around);
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

#define ROWS(suffix, attribute)                                                                 \
  attribute static void relax_##suffix(const cvtm_grid_problem *p, int64_t j, int colour,       \
                                       double omega) {                                          \
    relax_body(p, j, colour, omega);                                                            \
  }                                                                                             \
  attribute static void residual_##suffix(const cvtm_grid_problem *p, int64_t j, double *out) { \
    residual_body(p, j, out);                                                                   \
  }                                                                                             \
  attribute static norms natural_##suffix(const cvtm_grid_problem *p, const double *x,          \
                                          int64_t j) {                                          \
    return natural_body(p, x, j);                                                               \
  }                                                                                             \
  attribute static void search_##suffix(const cvtm_grid_problem *p, int64_t j, double *slope,   \
                                        double *bend) {                                         \
    search_body(p, j, slope, bend);                                                             \
  }                                                                                             \
  attribute static void coarse_relax_##suffix(const cvtm_grid_level *c, int bounded, int64_t y, \
                                              int64_t odd) {                                    \
    coarse_relax_body(c, bounded, y, odd);                                                      \
  }                                                                                             \
  attribute static void coarse_residual_##suffix(const cvtm_grid_level *c, int64_t y,           \
                                                 double *out) {                                 \
    coarse_residual_body(c, y, out);                                                            \
  }                                                                                             \
  attribute static void restrict_##suffix(const cvtm_grid_level *c, int64_t fine_width,         \
                                          int64_t fine_height, int64_t y,                       \
                                          const double *const rows[3]) {                        \
    restrict_body(c, fine_width, fine_height, y, rows);                                         \
  }                                                                                             \
  attribute static void prolong_##suffix(const cvtm_grid_level *c, const double *e,             \
                                         int64_t fine_width, int64_t j, double *out) {          \
    prolong_body(c, e, fine_width, j, out);                                                     \
  }                                                                                             \
  static const row_table rows_##suffix = {                                                      \
      relax_##suffix,        residual_##suffix,        natural_##suffix,  search_##suffix,      \
      coarse_relax_##suffix, coarse_residual_##suffix, restrict_##suffix, prolong_##suffix};

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
} row_table;

ROWS(plain, )
ROWS(wide, WIDE)

static const row_table *rows_of_machine(void) {
  return has_wide_vectors() ? &rows_wide : &rows_plain;
}

#endif
