/* The exact integral of a density over a convex polygon, one pixel row after the other.
 *
 * There are three exact integrators, with the same result up to rounding. This one follows the two
 * sides of the polygon, and takes any number of corners. That of integral_batch.h follows edges of
 * several polygons side by side; it takes the cells with few corners and rows on a CPU. That of
 * integral_segments.h computes all segments of the sides independently, so that the lanes of a warp
 * share a cell; it takes the cells with few corners on a GPU.
 *
 * By Green's theorem the integral over a row is an integral of the density's antiderivative in x
 * along the row's two sides. The antiderivative is 0 at the pixel in which a side enters the row;
 * the whole pixels between the two sides are added row by row. Along a straight side within one
 * pixel the integrand is a cubic, whose coefficients change from pixel to pixel. Only pixels that
 * the cell touches enter, so that the result is accurate to the rounding of the corners for any
 * ratio of densities; prefix sums over the image would not be. Compiles as C11 and inside CUDA
 * kernels. */
#ifndef CVTMESH_CVT_INTEGRAL_H
#define CVTMESH_CVT_INTEGRAL_H

#include "cvt/density_row.h"

/* The integrals along a side, without their common factors. */
typedef struct cvtm_edge_integrals {
  double mass, x2, y, xx3, yy;
} cvtm_edge_integrals;

/* Adds the integrals of c0 + rho x, c1 + rho x^2, ... along the segment from (x, y) to (xt, yt), by
 * moments about its midpoint. */
CVTM_HD void cvtm_integral_add_segment(double x, double y, double xt, double yt, double rho,
                                       double c0, double c1, double c2, cvtm_edge_integrals *g) {
  const double xm = 0.5 * (x + xt), ym = 0.5 * (y + yt), dx = xt - x, dy = yt - y;
  const double rx = rho * xm, rxx = rx * xm, r0 = c0 + rx;
  const double slant = rho * dx * (1.0 / 12), xx = slant * dx, xy = slant * dy;
  const double ry = r0 * ym + xy;
  g->mass += dy * r0;
  g->x2 += dy * (c1 + (rxx + xx));
  g->y += dy * ry;
  g->xx3 += dy * (c2 + xm * (rxx + 3 * xx));
  g->yy += dy * (ym * (ry + xy) + r0 * (dy * dy * (1.0 / 12)));
}

/* The y at which row j of the cell begins and ends. */
CVTM_HD double cvtm_integral_row_top(const cvtm_cell_walk *rows, int32_t j) {
  return j == rows->first ? rows->y_top : (double)j - rows->sy;
}
CVTM_HD double cvtm_integral_row_bottom(const cvtm_cell_walk *rows, int32_t j) {
  return j == rows->last ? rows->y_bottom : (double)(j + 1) - rows->sy;
}

/* The grid line nearest to the cell's chord at y. */
CVTM_HD int32_t cvtm_integral_chord_line(const cvtm_cell_walk *rows, double y) {
  return cvtm_cell_floor(rows->sx + (rows->chord_x + (y - rows->y_top) * rows->chord_slope) + 0.5);
}

/* The grid line at which the antiderivatives are 0, for a side that enters a row at y in column k:
 * the pixel's inner edge, or the chord's line if that is nearer. The chord is inside the cell, so
 * that line is then an edge of the pixel. */
CVTM_HD int32_t cvtm_integral_origin_line(const cvtm_cell_walk *rows, double y, int32_t step,
                                          int32_t k) {
  const int32_t line = cvtm_integral_chord_line(rows, y);
  if (step > 0) return k < line ? k + 1 : line;
  return k < line ? line : k;
}

/* The same relative to the site. In a cell within one column any x of the column will do; the one
 * nearest to the site loses no accuracy where many cells share a pixel. */
CVTM_HD double cvtm_integral_origin(const cvtm_cell_walk *rows, double y, int32_t step, int32_t k) {
  if (rows->narrow) return cvtm_cell_clamp(0, (double)k - rows->sx, (double)(k + 1) - rows->sx);
  return (double)cvtm_integral_origin_line(rows, y, step, k) - rows->sx;
}

/* Moves to the edge of a side that enters the row at y; returns the column, and x in *at. */
CVTM_HD int32_t cvtm_integral_enter_row(const cvtm_density_view *density, const cvtm_cell *cell,
                                        const cvtm_cell_walk *rows, int32_t step, double y,
                                        cvtm_cell_edge *side, double *at) {
  cvtm_cell_advance_edge(cell, rows->bottom, step, y, side);
  *at = cvtm_cell_edge_x(side, y);
  return cvtm_cell_pixel(rows->sx + *at, density->width, density->periodic);
}

/* Adds the integrals along the left (step 1) or right (step -1) side in rows first .. last, from
 * one line of the pixel grid or corner to the next. */
CVTM_HD void cvtm_integral_add_chain(const cvtm_density_view *density, const cvtm_cell *cell,
                                     const cvtm_cell_walk *rows, int32_t step, int32_t first,
                                     int32_t last, cvtm_cell_moments *sums) {
  cvtm_cell_edge side = cvtm_cell_edge_from(rows->top);
  cvtm_edge_integrals g = {0, 0, 0, 0, 0};
  const double sx = rows->sx, sign = step > 0 ? -1 : 1;
  int32_t j = first;
  double x, y = cvtm_integral_row_top(rows, j), end = cvtm_integral_row_bottom(rows, j);
  double below = (double)(j + 1); /* the row's lower line; incremented, as conversions are slow */
  int32_t k = cvtm_integral_enter_row(density, cell, rows, step, y, &side, &x);
  const float *row = cvtm_density_row(density, j);
  double zero = cvtm_integral_origin(rows, y, step, k);
  double rho = cvtm_density_at(row, k, density);
  double c0 = -rho * zero, c1 = c0 * zero, c2 = c1 * zero;
  for (;;) {
    const int corner = side.y1 < end;
    double yt = corner ? side.y1 : end;
    double xt = corner ? side.x1 : cvtm_cell_edge_x(&side, end);
    const int right = xt > x;
    const int32_t column = right ? k + 1 : k - 1;
    double line = (double)(k + right) - sx;
    const int crossing = (right ? xt > line : xt < line) &&
                         (density->periodic || (column >= 0 && column < density->width));
    if (crossing) {
      xt = line;
      yt = cvtm_cell_clamp(side.y0 + (line - side.x0) * side.inverse, y, yt);
    }
    cvtm_integral_add_segment(x, y, xt, yt, rho, c0, c1, c2, &g);
    x = xt;
    y = yt;
    if (corner && !crossing) {
      if (side.next == rows->bottom) break;
      cvtm_cell_next_edge(cell, step, &side); /* a horizontal one crosses columns too */
      continue;
    }
    double before = rho;
    if (crossing) {
      k = column;
    } else {
      if (j == last) break;
      ++j;
      below += 1;
      end = j == rows->last ? rows->y_bottom : below - rows->sy;
      row = cvtm_density_row(density, j);
      if (side.y1 <= y && side.next != rows->bottom) {
        cvtm_cell_advance_edge(cell, rows->bottom, step, y, &side);
        x = cvtm_cell_edge_x(&side, y);
      }
      k = cvtm_cell_pixel(sx + x, density->width, density->periodic);
      line = cvtm_integral_origin(rows, y, step, k);
      before = c0 = c1 = c2 = 0;
    }
    rho = cvtm_density_at(row, k, density);
    const double d0 = (before - rho) * line, d1 = d0 * line;
    c0 += d0;
    c1 += d1;
    c2 += d1 * line;
  }
  sums->mass += sign * g.mass;
  sums->x += sign * (0.5 * g.x2);
  sums->y += sign * g.y;
  sums->second += sign * ((1.0 / 3) * g.xx3 + g.yy);
}

/* Adds the whole pixels of rows first .. last between the lines of the two sides. Calls for one
 * cell are made in the order of its rows. */
CVTM_HD void cvtm_integral_add_pixels(const cvtm_density_view *density, const cvtm_cell *cell,
                                      cvtm_cell_walk *rows, int32_t first, int32_t last,
                                      cvtm_cell_moments *sums) {
  for (int32_t j = first; j <= last; ++j) {
    const double a = cvtm_integral_row_top(rows, j), b = cvtm_integral_row_bottom(rows, j);
    double x;
    const int32_t k0 = cvtm_integral_enter_row(density, cell, rows, 1, a, &rows->left, &x);
    const int32_t k1 = cvtm_integral_enter_row(density, cell, rows, -1, a, &rows->right, &x);
    const double h = b - a, y = 0.5 * (a + b);
    const cvtm_pixel_run run = cvtm_pixel_run_sum(density, cvtm_density_row(density, j), rows->sx,
                                                  cvtm_integral_origin_line(rows, a, 1, k0),
                                                  cvtm_integral_origin_line(rows, a, -1, k1));
    sums->mass += h * run.s0;
    sums->x += h * run.s1;
    sums->y += h * y * run.s0;
    sums->second += h * (run.s2 + run.s0 * (y * y + (1 + h * h) * (1.0 / 12)));
  }
}

/* Adds rows first .. last of the cell. Calls for one cell are made in the order of its rows. */
CVTM_HD void cvtm_integral_add_rows(const cvtm_density_view *density, const cvtm_cell *cell,
                                    cvtm_cell_walk *rows, int32_t first, int32_t last,
                                    cvtm_cell_moments *sums) {
  if (first > last) return;
  cvtm_integral_add_pixels(density, cell, rows, first, last, sums);
  cvtm_integral_add_chain(density, cell, rows, 1, first, last, sums);
  cvtm_integral_add_chain(density, cell, rows, -1, first, last, sums);
}

#endif
