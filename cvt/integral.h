/* The exact moments of a convex cell with any number of corners, row by row of pixels, by a walk
 * down its two sides (see integral_pixel.h). Lanes can share the rows. Compiles as C11 and inside
 * CUDA kernels. */
#pragma once

#include "cvt/integral_pixel.h"

/* Advances a side to the edge at which it enters the row that begins at y. *at = x of the point
 * where it enters. Returns the column of that point. */
CVTM_HD int32_t cvtm_integral_enter_row(const cvtm_cell *cell, const cvtm_cell_walk *rows,
                                        int32_t step, double y, cvtm_cell_edge *side, double *at) {
  cvtm_cell_advance_edge(cell, rows->bottom, step, y, side);
  *at = cvtm_cell_edge_x(side, y);
  const int32_t k = cvtm_to_floor(rows->sx + *at);
  return k < rows->low ? rows->low : k < rows->high ? k : rows->high; /* outside by rounding */
}

/* Adds the segments of the left (step 1) or right (step -1) side in a row of pixels, from (x, y) in
 * column k to y = bottom or to the end of the side. inner: the common inner line of a cell with at
 * most two columns. */
CVTM_HD void cvtm_integral_add_side(const cvtm_density_view *density, const cvtm_cell *cell,
                                    const cvtm_cell_walk *rows, const float *row, int32_t step,
                                    double x, double y, double bottom, int32_t k, double inner,
                                    cvtm_cell_edge *side, cvtm_pixel_sums *sums) {
  const int wide = rows->high - rows->low > 1;
  const double sign = step > 0 ? -1 : 1, twelve = 12 * sign;
  int came_inward = 0; /* 1: the segment begins on the outer line of its pixel */
  for (;;) {
    const double rho = sign * cvtm_density_at(row, k, density);
    const int corner = side->y1 < bottom;
    double yt = corner ? side->y1 : bottom;
    double xt = corner ? side->x1 : cvtm_cell_edge_x(side, bottom);
    const int right = xt > x, outward = right == (step < 0);
    const int32_t column = right ? k + 1 : k - 1;
    const double line = cvtm_to_double(k + right) - rows->sx;
    const int crossing = (right ? xt > line : xt < line) && column >= rows->low &&
                         column <= rows->high; /* outside by rounding */
    if (crossing) {
      xt = line;
      yt = cvtm_cell_clamp(side->y0 + (line - side->x0) * side->inverse, y, yt);
    }
    if (wide) inner = cvtm_to_double(k + (step > 0)) - rows->sx;
    const double xa = x - inner, xb = xt - inner;
    cvtm_pixel_part part;
    cvtm_pixel_set_strip(&xa, &y, &xb, &yt, &part);
    if (wide && (outward ? crossing : came_inward)) {
      const double from = outward ? yt : y, sum_y = from + bottom;
      const double height = outward == (step < 0) ? bottom - from : from - bottom;
      cvtm_pixel_add_column(&height, &sum_y, &twelve, &part);
    }
    cvtm_pixel_add_part(&part, &rho, &rho, &inner, sums);
    x = xt;
    y = yt;
    came_inward = crossing && !outward;
    if (crossing)
      k = column;
    else if (!corner || side->next == rows->bottom)
      return;
    else
      cvtm_cell_next_edge(cell, step, side); /* a horizontal edge also crosses columns */
  }
}

/* Adds rows first .. last of the cell. Successive calls for a cell must go down its rows. */
CVTM_HD void cvtm_integral_add_rows(const cvtm_density_view *density, const cvtm_cell *cell,
                                    cvtm_cell_walk *rows, int32_t first, int32_t last,
                                    cvtm_pixel_sums *sums) {
  const double inner = cvtm_pixel_common_line(rows->low, rows->high, rows->sx);
  for (int32_t j = first; j <= last; ++j) {
    const double above = cvtm_to_double(j) - rows->sy;
    const double below = cvtm_to_double(j + 1) - rows->sy;
    const double top = j == rows->first ? rows->y_top : above;
    const double bottom = j == rows->last ? rows->y_bottom : below;
    const float *row = cvtm_density_row(density, j);
    double x;
    const int32_t left = cvtm_integral_enter_row(cell, rows, 1, top, &rows->left, &x);
    cvtm_integral_add_side(density, cell, rows, row, 1, x, top, bottom, left, inner, &rows->left,
                           sums);
    const int32_t right = cvtm_integral_enter_row(cell, rows, -1, top, &rows->right, &x);
    cvtm_integral_add_side(density, cell, rows, row, -1, x, top, bottom, right, inner, &rows->right,
                           sums);
    if (rows->high - rows->low > 1)
      cvtm_pixel_add_row(density, rows->sx, j, top, bottom, left, right, sums);
  }
}
