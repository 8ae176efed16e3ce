/* Integrals of a density, constant on each pixel, over a convex polygon: mass, first
 * and second moments about the origin of the polygon's coordinates (its site). And
 * the plain sums over the pixel centres that it holds.
 *
 * The polygon is cut into pixel rows. In a row, Green's theorem turns the integral
 * over the region into one along its two sides, of the density's antiderivative in x; that is
 * counted from the pixel where each side begins, and the whole pixels between those two
 * are added row by row. Along a straight side within one pixel the integrand is a cubic, for which
 * two Gauss points are exact; the step to the next pixel changes its coefficients. So only
 * pixels that the cell touches enter, and the result is good to the rounding of
 * the corners for any ratio of densities, which prefix sums over the image would not
 * be. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_CVT_CELL_INTEGRAL_H
#define CVTMESH_CVT_CELL_INTEGRAL_H

#include "base/portable.h"
#include "jfa/cell_rows.h"

#include <stdint.h>

/* Integrals of rho, rho x, rho y and rho (x^2 + y^2). */
typedef struct cvtm_cell_sums {
  double mass, x, y, second;
} cvtm_cell_sums;

typedef struct cvtm_density_view {
  const float *value; /* width * height */
  int32_t width, height, periodic;
} cvtm_density_view;

CVTM_HD double cvtm_cell_rho(const float *row, int32_t k, const cvtm_density_view *density) {
  return (double)row[density->periodic ? cvtm_cell_wrap(k, density->width) : k];
}

CVTM_HD const float *cvtm_cell_row(const cvtm_density_view *density, int32_t j) {
  const int32_t wrapped = density->periodic ? cvtm_cell_wrap(j, density->height) : j;
  return density->value + (int64_t)wrapped * density->width;
}

/* The integrals along a side, before what they have in common is divided out. */
typedef struct cvtm_cell_green {
  double mass, x2, y, xx3, yy;
} cvtm_cell_green;

/* Adds the integral from (x, y) to (xt, yt) of c0 + rho x and so on; weight: half the height. */
CVTM_HD void cvtm_cell_add_segment(double weight, double x, double y, double xt, double yt,
                                   double rho, double c0, double c1, double c2,
                                   cvtm_cell_green *g) {
  const double root = 0.28867513459481287; /* 1 / (2 sqrt 3): the Gauss points of a unit interval */
  const double xm = 0.5 * (x + xt), ym = 0.5 * (y + yt);
  const double dx = root * (xt - x), dy = root * (yt - y);
  const double xa = xm - dx, xb = xm + dx, ya = ym - dy, yb = ym + dy;
  const double ra = rho * xa, rb = rho * xb;
  const double rra = ra * xa, rrb = rb * xb;
  const double ga = c0 + ra, gb = c0 + rb;
  const double gya = ga * ya, gyb = gb * yb;
  g->mass += weight * (ga + gb);
  g->x2 += weight * ((c1 + rra) + (c1 + rrb));
  g->y += weight * (gya + gyb);
  g->xx3 += weight * ((c2 + rra * xa) + (c2 + rrb * xb));
  g->yy += weight * (gya * ya + gyb * yb);
}

/* The y at which row j of the cell begins and ends. */
CVTM_HD double cvtm_cell_row_top(const cvtm_cell_rows *rows, int32_t j) {
  return j == rows->first ? rows->y_top : (double)j - rows->sy;
}
CVTM_HD double cvtm_cell_row_bottom(const cvtm_cell_rows *rows, int32_t j) {
  return j == rows->last ? rows->y_bottom : (double)(j + 1) - rows->sy;
}

/* Up to CVTM_CELL_BATCH rows at a time: the columns in which the sides enter each, that of the
 * left one at column[2 r * stride], of the right one behind it. */
enum { CVTM_CELL_BATCH = 8 };
typedef struct cvtm_cell_columns {
  int32_t stride;
  int32_t *column;
} cvtm_cell_columns;

CVTM_HD void cvtm_cell_find_columns(const cvtm_density_view *density, const cvtm_cell *cell,
                                    cvtm_cell_rows *rows, int32_t first, int32_t last,
                                    const cvtm_cell_columns *columns) {
  for (int32_t j = first; j <= last; ++j) {
    const double y = cvtm_cell_row_top(rows, j);
    cvtm_cell_follow(cell, rows->bottom, 1, y, &rows->left);
    cvtm_cell_follow(cell, rows->bottom, -1, y, &rows->right);
    int32_t *column = columns->column + 2 * (j - first) * columns->stride;
    column[0] = cvtm_cell_pixel(rows->sx + cvtm_cell_side_at(&rows->left, y), density->width,
                                density->periodic);
    column[columns->stride] = cvtm_cell_pixel(rows->sx + cvtm_cell_side_at(&rows->right, y),
                                              density->width, density->periodic);
  }
}

/* Where in a row the antiderivatives along a side are 0: at the inner edge of the pixel in
 * which the side begins; or, if both begin in one, somewhere in it, near to the cell. */
CVTM_HD double cvtm_cell_zero(const cvtm_cell_columns *columns, int32_t row, int32_t step,
                              double sx) {
  const int32_t left = columns->column[2 * row * columns->stride];
  const int32_t right = columns->column[(2 * row + 1) * columns->stride];
  if (left < right) return (double)(step > 0 ? left + 1 : right) - sx;
  return cvtm_cell_clamp(0, (double)left - sx, (double)(left + 1) - sx);
}

/* Walks down the left (step 1) or right (step -1) side through rows first .. last, from one line of
 * the pixel grid or corner to the next. at: a corner from which on the side holds the first row. */
CVTM_HD void cvtm_cell_walk_side(const cvtm_density_view *density, const cvtm_cell *cell,
                                 const cvtm_cell_rows *rows, int32_t step, int32_t first,
                                 int32_t last, const cvtm_cell_columns *columns, int32_t at,
                                 cvtm_cell_green *g) {
  cvtm_cell_side side = cvtm_cell_side_from(at);
  const double sx = rows->sx, half = step > 0 ? -0.5 : 0.5;
  const int right_side = step < 0;
  int32_t j = first, k = columns->column[right_side * columns->stride];
  double y = cvtm_cell_row_top(rows, j), end = cvtm_cell_row_bottom(rows, j);
  cvtm_cell_follow(cell, rows->bottom, step, y, &side);
  double x = cvtm_cell_side_at(&side, y);
  const float *row = cvtm_cell_row(density, j);
  const double zero = cvtm_cell_zero(columns, 0, step, sx);
  double rho = cvtm_cell_rho(row, k, density);
  double c0 = -rho * zero, c1 = c0 * zero, c2 = c1 * zero;
  for (;;) {
    const int corner = side.y1 < end;
    double yt = corner ? side.y1 : end;
    double xt = corner ? side.x1 : cvtm_cell_side_at(&side, end);
    const int right = xt > x;
    const int32_t column = right ? k + 1 : k - 1;
    double line = (double)(k + right) - sx;
    const int crossing = (right ? xt > line : xt < line) &&
                         (density->periodic || (column >= 0 && column < density->width));
    if (crossing) {
      xt = line;
      yt = cvtm_cell_clamp(side.y0 + (line - side.x0) * side.inverse, y, yt);
    }
    cvtm_cell_add_segment(half * (yt - y), x, y, xt, yt, rho, c0, c1, c2, g);
    x = xt;
    y = yt;
    if (corner && !crossing) {
      if (side.next == rows->bottom) return;
      cvtm_cell_follow(cell, rows->bottom, step, y, &side);
      x = side.x0;
      continue;
    }
    double before = rho;
    if (crossing) {
      k = column;
    } else {
      if (j == last) return;
      ++j;
      end = cvtm_cell_row_bottom(rows, j);
      row = cvtm_cell_row(density, j);
      k = columns->column[(2 * (j - first) + right_side) * columns->stride];
      line = cvtm_cell_zero(columns, j - first, step, sx);
      before = c0 = c1 = c2 = 0;
    }
    rho = cvtm_cell_rho(row, k, density);
    const double d0 = (before - rho) * line, d1 = d0 * line;
    c0 += d0;
    c1 += d1;
    c2 += d1 * line;
  }
}

/* Sums of rho, rho x and rho x^2 at the centres of columns first .. last - 1 of a row. */
typedef struct cvtm_cell_run {
  double s0, s1, s2;
} cvtm_cell_run;

CVTM_HD cvtm_cell_run cvtm_cell_sum_run(const cvtm_density_view *density, const float *row,
                                        double sx, int32_t first, int32_t last) {
  cvtm_cell_run run = {0, 0, 0};
  const double shift = 0.5 - sx;
  int32_t k = first;
  while (k < last) { /* one round per period of the image */
    const int32_t wrapped = density->periodic ? cvtm_cell_wrap(k, density->width) : k;
    const int32_t room = density->width - wrapped, left = last - k;
    const int32_t n = left < room ? left : room;
    const float *pixel = row + wrapped;
    for (int32_t i = 0; i < n; ++i) {
      const double w = (double)pixel[i], x = (double)(k + i) + shift, wx = w * x;
      run.s0 += w;
      run.s1 += wx;
      run.s2 += wx * x;
    }
    k += n;
  }
  return run;
}

/* Adds the whole pixels of row j between those in which the sides enter it. */
CVTM_HD void cvtm_cell_add_run(const cvtm_density_view *density, const cvtm_cell_rows *rows,
                               int32_t j, int32_t first, int32_t last, cvtm_cell_sums *sums) {
  const double a = cvtm_cell_row_top(rows, j), b = cvtm_cell_row_bottom(rows, j);
  const double h = b - a, y = 0.5 * (a + b);
  const cvtm_cell_run run =
      cvtm_cell_sum_run(density, cvtm_cell_row(density, j), rows->sx, first, last);
  sums->mass += h * run.s0;
  sums->x += h * run.s1;
  sums->y += h * y * run.s0;
  sums->second += h * (run.s2 + run.s0 * (y * y + (1 + h * h) * (1.0 / 12)));
}

/* Adds rows first .. last of the cell; calls for one cell go down it. */
CVTM_HD void cvtm_cell_add_rows(const cvtm_density_view *density, const cvtm_cell *cell,
                                cvtm_cell_rows *rows, int32_t first, int32_t last,
                                const cvtm_cell_columns *columns, cvtm_cell_sums *sums) {
  for (; first <= last; first += CVTM_CELL_BATCH) {
    const int32_t end = last - first < CVTM_CELL_BATCH ? last : first + CVTM_CELL_BATCH - 1;
    const int32_t left = rows->left.at, right = rows->right.at;
    cvtm_cell_green g = {0, 0, 0, 0, 0};
    cvtm_cell_find_columns(density, cell, rows, first, end, columns);
    /* What is not kept is one corner's loads away, and registers are dear. */
    rows->left = cvtm_cell_side_from(rows->left.at);
    rows->right = cvtm_cell_side_from(rows->right.at);
    for (int32_t j = first; j <= end; ++j) {
      const int32_t *column = columns->column + 2 * (j - first) * columns->stride;
      cvtm_cell_add_run(density, rows, j, column[0] + 1, column[columns->stride], sums);
    }
    cvtm_cell_walk_side(density, cell, rows, 1, first, end, columns, left, &g);
    cvtm_cell_walk_side(density, cell, rows, -1, first, end, columns, right, &g);
    sums->mass += g.mass;
    sums->x += 0.5 * g.x2;
    sums->y += g.y;
    sums->second += (1.0 / 3) * g.xx3 + g.yy;
  }
}

/* --- the plain sum over pixel centres ------------------------------------------------- */

CVTM_HD void cvtm_cell_add_centre(const cvtm_density_view *density, const float *row, double x,
                                  int32_t k, double y, cvtm_cell_sums *sums) {
  const double w = cvtm_cell_rho(row, k, density);
  sums->mass += w;
  sums->x += w * x;
  sums->y += w * y;
  sums->second += w * (x * x + y * y);
}

/* Adds the pixel centres of row j that belong to the site at `place`. */
CVTM_HD void cvtm_cell_add_centres(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                   const cvtm_density_view *density, int64_t place,
                                   const cvtm_cell *cell, double doubt, cvtm_cell_rows *rows,
                                   int32_t j, cvtm_cell_sums *sums) {
  const double y = ((double)j + 0.5) - rows->sy, sx = rows->sx;
  const float *row = cvtm_cell_row(density, j);
  const cvtm_cell_span span = cvtm_cell_find_span(domain, cell, doubt, rows, j);
  for (int32_t k = span.first; k <= span.last; ++k) {
    if (k == span.sure_first) {
      const cvtm_cell_run run =
          cvtm_cell_sum_run(density, row, sx, span.sure_first, span.sure_last + 1);
      sums->mass += run.s0;
      sums->x += run.s1;
      sums->y += run.s0 * y;
      sums->second += run.s2 + run.s0 * (y * y);
      k = span.sure_last;
    } else {
      const double x = ((double)k + 0.5) - sx;
      if (cvtm_cell_owns(tree, domain, place, k, j, x, y))
        cvtm_cell_add_centre(density, row, x, k, y, sums);
    }
  }
}

#endif
