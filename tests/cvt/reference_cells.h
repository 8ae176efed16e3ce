/* Cells cut and integrated in another way than the program does: every site against every other,
 * in long double, pixel by pixel. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/domain.h"
#include "tests/splitmix64.h"

typedef long double real;

enum { MOST = 600 };

typedef struct shape {
  int count;
  real x[MOST], y[MOST];
} shape;

/* Sutherland & Hodgman: keeps a x + b y <= c. */
static void cut(shape *p, real a, real b, real c) {
  static shape q;
  int cuts = 0;
  for (int k = 0; k < p->count; ++k) cuts |= a * p->x[k] + b * p->y[k] > c;
  if (!cuts) return; /* as most do */
  q.count = 0;
  for (int k = 0; k < p->count; ++k) {
    const int next = (k + 1) % p->count;
    const real s = a * p->x[k] + b * p->y[k] - c, t = a * p->x[next] + b * p->y[next] - c;
    if (s <= 0) {
      q.x[q.count] = p->x[k];
      q.y[q.count++] = p->y[k];
    }
    if ((s < 0 && t > 0) || (s > 0 && t < 0)) {
      const real r = s / (s - t);
      q.x[q.count] = p->x[k] + (p->x[next] - p->x[k]) * r;
      q.y[q.count++] = p->y[k] + (p->y[next] - p->y[k]) * r;
    }
  }
  *p = q;
}

static void set_rectangle(shape *p, real x0, real y0, real x1, real y1) {
  const shape r = {.count = 4, .x = {x0, x1, x1, x0}, .y = {y0, y0, y1, y1}};
  *p = r;
}

/* The squared distance of the farthest corner from the origin. */
static real radius2_of(const shape *p) {
  real most = 0;
  for (int k = 0; k < p->count; ++k) most = fmaxl(most, p->x[k] * p->x[k] + p->y[k] * p->y[k]);
  return most;
}

/* The power cell of site i, relative to it; the Voronoi cell without weights (NULL). Of sites in
 * one place with one weight the first has the cell. */
static void reference_cell(cvtm_domain d, const double *sites, const double *weights, int n, int i,
                           shape *cell) {
  const real sx = sites[2 * i], sy = sites[2 * i + 1], w = d.width, h = d.height;
  if (d.periodic)
    set_rectangle(cell, -w / 2, -h / 2, w / 2, h / 2);
  else
    set_rectangle(cell, -sx, -sy, w - sx, h - sy);
  real radius2 = radius2_of(cell);
  for (int j = 0; j < n; ++j) {
    const real lead = weights ? (real)weights[i] - (real)weights[j] : 0;
    for (int image = 0; image < 9; ++image) {
      if ((!d.periodic && image != 4) || j == i) continue;
      const real dx = sites[2 * j] - sx + (image % 3 - 1) * w;
      const real dy = sites[2 * j + 1] - sy + (image / 3 - 1) * h;
      if (!weights && dx * dx + dy * dy > 4 * radius2) continue; /* too far to cut */
      if (dx != 0 || dy != 0)
        cut(cell, dx, dy, (dx * dx + dy * dy + lead) / 2);
      else if (lead < 0 || (lead == 0 && j < i))
        cell->count = 0;
    }
    if (j % 64 == 0) radius2 = radius2_of(cell);
  }
}

/* Adds mass, first and second moments about the origin, by triangles from a corner. */
static void add_moments(const shape *p, real rho, real sums[4]) {
  for (int k = 1; k + 1 < p->count; ++k) {
    const real ax = p->x[0], ay = p->y[0], bx = p->x[k], by = p->y[k];
    const real cx = p->x[k + 1], cy = p->y[k + 1];
    const real area = fabsl((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) / 2;
    const real mx = (ax + bx + cx) / 3, my = (ay + by + cy) / 3;
    const real squares = ax * ax + bx * bx + cx * cx + ay * ay + by * by + cy * cy;
    sums[0] += rho * area;
    sums[1] += rho * area * mx;
    sums[2] += rho * area * my;
    sums[3] += rho * area * (squares / 12 + 0.75L * (mx * mx + my * my));
  }
}

/* The smallest rectangle of whole pixels around a shape relative to (sx, sy). */
typedef struct extent {
  int x0, y0, x1, y1; /* the first and last pixels */
} extent;

static extent extent_of(const shape *p, real sx, real sy) {
  real low_x = p->x[0], high_x = low_x, low_y = p->y[0], high_y = low_y;
  for (int k = 0; k < p->count; ++k) {
    low_x = fminl(low_x, p->x[k]);
    high_x = fmaxl(high_x, p->x[k]);
    low_y = fminl(low_y, p->y[k]);
    high_y = fmaxl(high_y, p->y[k]);
  }
  return (extent){(int)floorl(sx + low_x), (int)floorl(sy + low_y), (int)floorl(sx + high_x),
                  (int)floorl(sy + high_y)};
}

/* The part of a cell in a pixel. */
static void cut_pixel(const shape *cell, real sx, real sy, int column, int row, shape *part) {
  *part = *cell;
  cut(part, -1, 0, -(column - sx));
  cut(part, 1, 0, column + 1 - sx);
  cut(part, 0, -1, -(row - sy));
  cut(part, 0, 1, row + 1 - sy);
}

/* Mass, first and second moments of cell i about its site; then its squared radius and the largest
 * density that it touches. */
static inline void reference_sums(cvtm_domain d, const float *rho, const double *sites,
                                  const double *weights, int n, int i, real sums[6]) {
  static shape cell, part;
  const real sx = sites[2 * i], sy = sites[2 * i + 1];
  reference_cell(d, sites, weights, n, i, &cell);
  for (int k = 0; k < 6; ++k) sums[k] = 0;
  if (cell.count < 3) return;
  sums[4] = radius2_of(&cell);
  const extent e = extent_of(&cell, sx, sy);
  for (int j = e.y0; j <= e.y1; ++j) {
    for (int c = e.x0; c <= e.x1; ++c) {
      int row = j, column = c;
      if (d.periodic) {
        row = ((j % d.height) + d.height) % d.height;
        column = ((c % d.width) + d.width) % d.width;
      }
      if (row < 0 || row >= d.height || column < 0 || column >= d.width) continue;
      sums[5] = fmaxl(sums[5], (real)rho[row * d.width + column]);
      cut_pixel(&cell, sx, sy, c, j, &part);
      add_moments(&part, (real)rho[row * d.width + column], sums);
    }
  }
}

static uint64_t state;
static double uniform(void) { return congruential_unit(&state); }
