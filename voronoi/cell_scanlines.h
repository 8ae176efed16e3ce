/* A cell's pixel rows: where its sides are in each, and which pixel centres it holds.
 * Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_VORONOI_CELL_SCANLINES_H
#define CVTMESH_VORONOI_CELL_SCANLINES_H

#include "voronoi/cell_by_tree.h"

/* The side of a polygon that a walk down it is on: from corner `at` to corner `next`,
 * x = x0 + (y - y0) slope. */
typedef struct cvtm_cell_edge {
  int32_t at, next;
  double x0, y0, x1, y1, slope, inverse;
} cvtm_cell_edge;

/* A polygon being walked down, row by row. (sx, sy) is its site in the domain. */
typedef struct cvtm_cell_walk {
  double sx, sy, y_top, y_bottom;
  int32_t top;                 /* corner */
  int32_t first, last;         /* rows; along a periodic axis perhaps outside the domain */
  int32_t bottom;              /* corner */
  int narrow;                  /* within one pixel column */
  double chord_x, chord_slope; /* from the top to the bottom corner */
  cvtm_cell_edge left, right;
} cvtm_cell_walk;

CVTM_HD int32_t cvtm_cell_floor(double v) {
#ifdef __CUDA_ARCH__
  return __double2int_rd(v); /* conversions are slow, so one and not two */
#else
  const int32_t k = (int32_t)v;
  return v < (double)k ? k - 1 : k;
#endif
}

/* v kept in [low, high]; NaN gives low. */
CVTM_HD double cvtm_cell_clamp(double v, double low, double high) {
  return !(v > low) ? low : v > high ? high : v;
}

CVTM_HD int32_t cvtm_cell_wrap(int32_t k, int32_t size) {
  while (k < 0) k += size;
  while (k >= size) k -= size;
  return k;
}

/* The pixel column or row of x, inside the domain unless that is periodic. */
CVTM_HD int32_t cvtm_cell_pixel(double x, int32_t size, int32_t periodic) {
  const int32_t k = cvtm_cell_floor(x);
  if (periodic) return k;
  return k < 0 ? 0 : k < size ? k : size - 1;
}

CVTM_HD int32_t cvtm_cell_next(const cvtm_cell *cell, int32_t k, int32_t step) {
  const int32_t next = k + step;
  return next < 0 ? cell->count - 1 : next < cell->count ? next : 0;
}

CVTM_HD void cvtm_cell_set_slope(cvtm_cell *cell, int32_t k) {
  const int32_t s = cell->stride, next = k + 1 < cell->count ? k + 1 : 0;
  const double dx = cell->x[next * s] - cell->x[k * s], dy = cell->y[next * s] - cell->y[k * s];
  cell->slope[k * s] = dx / dy;
  cell->inverse[k * s] = dy / dx;
}

CVTM_HD void cvtm_cell_set_slopes(cvtm_cell *cell) {
  for (int32_t k = 0; k < cell->count; ++k) cvtm_cell_set_slope(cell, k);
}

/* Goes on to the side that holds y, where the walk has come to. */
CVTM_HD void cvtm_cell_advance_edge(const cvtm_cell *cell, int32_t bottom, int32_t step, double y,
                                    cvtm_cell_edge *side) {
  if (side->next == bottom || (side->next != side->at && side->y1 > y)) return;
  do {
    side->at = side->next;
    side->next = cvtm_cell_next(cell, side->at, step);
    side->y1 = cell->y[side->next * cell->stride];
  } while (side->next != bottom && side->y1 <= y);
  side->x0 = cell->x[side->at * cell->stride];
  side->y0 = cell->y[side->at * cell->stride];
  side->x1 = cell->x[side->next * cell->stride];
  const int32_t edge = step > 0 ? side->at : side->next;
  side->slope = cell->slope[edge * cell->stride];
  side->inverse = cell->inverse[edge * cell->stride];
}

/* x of a side where it is at y; at its end where it has no height. */
CVTM_HD double cvtm_cell_edge_x(const cvtm_cell_edge *side, double y) {
  const double dx = (y - side->y0) * side->slope;
  return fabs(dx) <= fabs(side->x1 - side->x0) ? side->x0 + dx : side->x1;
}

/* A walk that has come to corner `at`, and is on no side yet. */
CVTM_HD cvtm_cell_edge cvtm_cell_edge_from(int32_t at) {
  const cvtm_cell_edge side = {at, at, 0, 0, 0, 0, 0, 0};
  return side;
}

/* Before the first row, of a cell with at least 3 corners whose slopes are set. */
CVTM_HD void cvtm_cell_begin_walk(cvtm_domain domain, double sx, double sy, const cvtm_cell *cell,
                                  cvtm_cell_walk *rows) {
  int32_t top = 0;
  rows->sx = sx;
  rows->sy = sy;
  rows->bottom = 0;
  rows->y_top = rows->y_bottom = cell->y[0];
  double x0 = cell->x[0], x1 = x0;
  for (int32_t k = 1; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride], y = cell->y[k * cell->stride];
    x0 = x < x0 ? x : x0;
    x1 = x > x1 ? x : x1;
    if (y < rows->y_top) {
      rows->y_top = y;
      top = k;
    }
    if (y > rows->y_bottom) {
      rows->y_bottom = y;
      rows->bottom = k;
    }
  }
  rows->first = cvtm_cell_pixel(sy + rows->y_top, domain.height, domain.periodic);
  rows->last = cvtm_cell_pixel(sy + rows->y_bottom, domain.height, domain.periodic);
  rows->narrow = cvtm_cell_floor(sx + x0) == cvtm_cell_floor(sx + x1);
  rows->chord_x = cell->x[top * cell->stride];
  rows->chord_slope =
      rows->y_bottom > rows->y_top
          ? (cell->x[rows->bottom * cell->stride] - rows->chord_x) / (rows->y_bottom - rows->y_top)
          : 0;
  rows->top = top;
  rows->left = rows->right = cvtm_cell_edge_from(top);
}

/* --- the pixel centres of a cell ------------------------------------------------------ */

/* Whether the pixel centre is nearer to the site at `place` than to all others, or as near to one
 * of higher index: exactly what labels say. (x, y): the centre as the cell sees it; of two images
 * half a period away one counts. */
CVTM_HD int cvtm_cell_owns(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t place,
                           int32_t column, int32_t row, double x, double y) {
  if (domain.periodic && !(2 * x >= -domain.width && 2 * x < domain.width &&
                           2 * y >= -domain.height && 2 * y < domain.height))
    return 0;
  const cvtm_metric metric = cvtm_metric_of(domain);
  cvtm_cell_origin o;
  o.x = (double)(domain.periodic ? cvtm_cell_wrap(column, domain.width) : column) + 0.5;
  o.y = (double)(domain.periodic ? cvtm_cell_wrap(row, domain.height) : row) + 0.5;
  const double own2 =
      cvtm_distance2(metric, o.x, o.y, tree->position[2 * place], tree->position[2 * place + 1]);
  const double reach = sqrt(own2) * (1 + 1e-9);
  const int32_t index = tree->index[place];
  cvtm_bin_level bins = cvtm_bin_level_for(tree, domain, reach);
  for (int image = 0; image < 9; ++image) {
    if (image != 4 && !domain.periodic) continue;
    const double image_x = o.x + (image % 3 - 1) * (double)domain.width;
    const double image_y = o.y + (image / 3 - 1) * (double)domain.height;
    const int32_t x0 = cvtm_bin_coordinate(&bins, image_x - reach, domain.width);
    const int32_t x1 = cvtm_bin_coordinate(&bins, image_x + reach, domain.width);
    const int32_t y0 = cvtm_bin_coordinate(&bins, image_y - reach, domain.height);
    const int32_t y1 = cvtm_bin_coordinate(&bins, image_y + reach, domain.height);
    for (int32_t by = y0; by <= y1; ++by) {
      for (int32_t bx = x0; bx <= x1; ++bx) {
        int32_t first, last;
        cvtm_bin_sites(tree, bins.level, bx, by, &first, &last);
        for (int32_t other = first; other < last; ++other) {
          const double d2 = cvtm_distance2(metric, o.x, o.y, tree->position[2 * other],
                                           tree->position[2 * other + 1]);
          if (d2 < own2 || (d2 == own2 && tree->index[other] < index)) return 0;
        }
      }
    }
  }
  return 1;
}

/* How far from the polygon's sides a pixel centre is in doubt: the rounding of the
 * corners, and of the comparison of two squared distances. */
CVTM_HD double cvtm_cell_tolerance(cvtm_domain domain, const cvtm_cell *cell) {
  return 1e-12 * (double)(domain.width + domain.height) +
         1e-14 * cvtm_cell_radius2(cell) / sqrt(cell->nearest2);
}

/* Columns of a row whose centres are perhaps in a cell, and among them those that surely are;
 * empty where the last is before the first. */
typedef struct cvtm_cell_span {
  int32_t first, last, certain_first, certain_last;
} cvtm_cell_span;

/* The span of row j; a walk down the cell asks for its rows in ascending order. */
CVTM_HD cvtm_cell_span cvtm_cell_row_span(cvtm_domain domain, const cvtm_cell *cell, double doubt,
                                          cvtm_cell_walk *rows, int32_t j) {
  const double y = ((double)j + 0.5) - rows->sy, sx = rows->sx;
  cvtm_cell_span span = {0, -1, 1, 0};
  if (y < rows->y_top - doubt || y > rows->y_bottom + doubt) return span;
  double x0 = HUGE_VAL, x1 = -HUGE_VAL, doubt0 = 0, doubt1 = 0;
  int at_corner = 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride];
    if (fabs(cell->y[k * cell->stride] - y) <= doubt) at_corner = 1;
    if (x < x0) x0 = x;
    if (x > x1) x1 = x;
  }
  if (at_corner) { /* all that the cell could have here */
    doubt0 = doubt1 = x1 - x0 + doubt;
  } else {
    cvtm_cell_advance_edge(cell, rows->bottom, 1, y, &rows->left);
    cvtm_cell_advance_edge(cell, rows->bottom, -1, y, &rows->right);
    x0 = cvtm_cell_edge_x(&rows->left, y);
    x1 = cvtm_cell_edge_x(&rows->right, y);
    doubt0 = doubt * (1 + fabs(rows->left.slope));
    doubt1 = doubt * (1 + fabs(rows->right.slope));
  }
  span.first = cvtm_cell_floor(sx + (x0 - doubt0) - 0.5) + 1;
  span.last = cvtm_cell_floor(sx + (x1 + doubt1) - 0.5);
  span.certain_first = cvtm_cell_floor(sx + (x0 + doubt0) - 0.5) + 1;
  span.certain_last = cvtm_cell_floor(sx + (x1 - doubt1) - 0.5);
  if (!domain.periodic) {
    if (span.first < 0) span.first = 0;
    if (span.certain_first < 0) span.certain_first = 0;
    if (span.last >= domain.width) span.last = domain.width - 1;
    if (span.certain_last >= domain.width) span.certain_last = domain.width - 1;
  }
  if (span.certain_first > span.certain_last) span.certain_first = span.last + 1; /* none */
  return span;
}

/* The former names, until every caller has the new ones. */
#define cvtm_cell_rows cvtm_cell_walk
#define cvtm_cell_begin_rows cvtm_cell_begin_walk
#define cvtm_cell_doubt cvtm_cell_tolerance
#define cvtm_cell_compute cvtm_cell_by_tree

#endif
