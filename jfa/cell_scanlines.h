/* A walk down a cell, row by row of pixels, which finds the left and right edges of the cell in
 * each row, and the pixel centres inside. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "jfa/cell.h"

/* The current edge of a walk, from corner `at` to corner `next`: x = x0 + (y - y0) slope. */
typedef struct cvtm_cell_edge {
  int32_t at, next;
  double x0, y0, x1, y1, slope, inverse;
} cvtm_cell_edge;

/* A walk down a polygon whose site is at (sx, sy) in the domain. */
typedef struct cvtm_cell_walk {
  double sx, sy, y_top, y_bottom;
  int32_t bottom;      /* the lowest corner */
  int32_t first, last; /* rows; may be outside a periodic domain */
  int32_t low, high;   /* columns; may be outside a periodic domain */
  cvtm_cell_edge left, right;
} cvtm_cell_walk;

CVTM_HD int32_t cvtm_cell_floor(double v) {
#ifdef __CUDA_ARCH__
  return __double2int_rd(v); /* one conversion instead of two: they are slow */
#else
  const int32_t k = (int32_t)v;
  return v < (double)k ? k - 1 : k;
#endif
}

/* v clamped to [low, high]; NaN gives low. */
CVTM_HD double cvtm_cell_clamp(double v, double low, double high) {
  return !(v > low) ? low : v > high ? high : v;
}

CVTM_HD int32_t cvtm_cell_wrap(int32_t k, int32_t size) {
  while (k < 0) k += size;
  while (k >= size) k -= size;
  return k;
}

/* The pixel column or row of x, clamped to the domain unless the domain is periodic. */
CVTM_HD int32_t cvtm_cell_pixel(double x, int32_t size, int32_t periodic) {
  const int32_t k = cvtm_cell_floor(x);
  if (periodic) return k;
  return k < 0 ? 0 : k < size ? k : size - 1;
}

/* Sets the other members of an edge whose members at, next and y1 are set. */
CVTM_HD void cvtm_cell_set_edge(const cvtm_cell *cell, int32_t step, cvtm_cell_edge *edge) {
  edge->x0 = cell->x[edge->at * cell->stride];
  edge->y0 = cell->y[edge->at * cell->stride];
  edge->x1 = cell->x[edge->next * cell->stride];
  const int32_t k = step > 0 ? edge->at : edge->next;
  edge->slope = cell->slope[k * cell->stride];
  edge->inverse = cell->inverse[k * cell->stride];
}

CVTM_HD void cvtm_cell_step_edge(const cvtm_cell *cell, int32_t step, cvtm_cell_edge *edge) {
  edge->at = edge->next;
  edge->next = cvtm_cell_next(cell, edge->at, step);
  edge->y1 = cell->y[edge->next * cell->stride];
}

/* Moves to the next edge, perhaps horizontal. step: 1 down the left side, -1 down the right
 * side. */
CVTM_HD void cvtm_cell_next_edge(const cvtm_cell *cell, int32_t step, cvtm_cell_edge *edge) {
  cvtm_cell_step_edge(cell, step, edge);
  cvtm_cell_set_edge(cell, step, edge);
}

/* Advances to the edge whose interval of y contains y. step: as in cvtm_cell_next_edge. */
CVTM_HD void cvtm_cell_advance_edge(const cvtm_cell *cell, int32_t bottom, int32_t step, double y,
                                    cvtm_cell_edge *edge) {
  if (edge->next == bottom || (edge->next != edge->at && edge->y1 > y)) return;
  do {
    cvtm_cell_step_edge(cell, step, edge);
  } while (edge->next != bottom && edge->y1 <= y);
  cvtm_cell_set_edge(cell, step, edge);
}

/* x of an edge at y; for a horizontal edge, x of its second end. */
CVTM_HD double cvtm_cell_edge_x(const cvtm_cell_edge *edge, double y) {
  const double dx = (y - edge->y0) * edge->slope;
  return fabs(dx) <= fabs(edge->x1 - edge->x0) ? edge->x0 + dx : edge->x1;
}

/* An edge of length 0 at corner `at`, before the first edge of a walk. */
CVTM_HD cvtm_cell_edge cvtm_cell_edge_from(int32_t at) {
  const cvtm_cell_edge edge = {at, at, 0, 0, 0, 0, 0, 0};
  return edge;
}

/* Begins a walk down a cell of at least 3 corners whose slopes are set. */
CVTM_HD void cvtm_cell_begin_walk(cvtm_domain domain, double sx, double sy, const cvtm_cell *cell,
                                  cvtm_cell_walk *walk) {
  int32_t top = 0;
  walk->sx = sx;
  walk->sy = sy;
  walk->bottom = 0;
  walk->y_top = walk->y_bottom = cell->y[0];
  double x0 = cell->x[0], x1 = x0;
  for (int32_t k = 1; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride], y = cell->y[k * cell->stride];
    x0 = x < x0 ? x : x0;
    x1 = x > x1 ? x : x1;
    if (y < walk->y_top) {
      walk->y_top = y;
      top = k;
    }
    if (y > walk->y_bottom) {
      walk->y_bottom = y;
      walk->bottom = k;
    }
  }
  walk->first = cvtm_cell_pixel(sy + walk->y_top, domain.height, domain.periodic);
  walk->last = cvtm_cell_pixel(sy + walk->y_bottom, domain.height, domain.periodic);
  walk->low = cvtm_cell_pixel(sx + x0, domain.width, domain.periodic);
  walk->high = cvtm_cell_pixel(sx + x1, domain.width, domain.periodic);
  walk->left = walk->right = cvtm_cell_edge_from(top);
}

/* --- the pixel centres of a cell ------------------------------------------------------ */

/* True if the label of pixel (column, row) is the site at `slot`: no other site is closer to the
 * centre, or equally close with a lower index. (x, y): the centre relative to the site. If two
 * images of the site are half a period away along an axis of a torus, only one of the two counts.
 */
CVTM_HD int cvtm_cell_owns(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t slot,
                           int32_t column, int32_t row, double x, double y) {
  if (domain.periodic && !(2 * x >= -domain.width && 2 * x < domain.width &&
                           2 * y >= -domain.height && 2 * y < domain.height))
    return 0;
  const cvtm_metric metric = cvtm_metric_of(domain);
  cvtm_cell_origin o;
  o.x = (double)(domain.periodic ? cvtm_cell_wrap(column, domain.width) : column) + 0.5;
  o.y = (double)(domain.periodic ? cvtm_cell_wrap(row, domain.height) : row) + 0.5;
  const double own2 =
      cvtm_distance2(metric, o.x, o.y, tree->position[2 * slot], tree->position[2 * slot + 1]);
  const double reach = sqrt(own2) * (1 + 1e-9);
  const int32_t index = tree->index[slot];
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

/* The distance from an edge of the cell within which cvtm_cell_owns must decide about a pixel
 * centre. Covers the rounding errors of the corners, and of the comparison of two squared
 * distances. */
CVTM_HD double cvtm_cell_tolerance(cvtm_domain domain, const cvtm_cell *cell) {
  return 1e-12 * (double)(domain.width + domain.height) +
         1e-14 * cvtm_cell_radius2(cell) / sqrt(cell->nearest2);
}

/* Columns of a row. first .. last: may have their centres in the cell; certain_first ..
 * certain_last: have their centres in the cell. A range may be empty (last < first). */
typedef struct cvtm_cell_span {
  int32_t first, last, certain_first, certain_last;
} cvtm_cell_span;

/* The span of row j. A walk needs calls with ascending j. */
CVTM_HD cvtm_cell_span cvtm_cell_row_span(cvtm_domain domain, const cvtm_cell *cell,
                                          double tolerance, cvtm_cell_walk *walk, int32_t j) {
  const double y = ((double)j + 0.5) - walk->sy, sx = walk->sx;
  cvtm_cell_span span = {0, -1, 1, 0};
  if (y < walk->y_top - tolerance || y > walk->y_bottom + tolerance) return span;
  double x0 = HUGE_VAL, x1 = -HUGE_VAL, tolerance0 = 0, tolerance1 = 0;
  int at_corner = 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride];
    if (fabs(cell->y[k * cell->stride] - y) <= tolerance) at_corner = 1;
    if (x < x0) x0 = x;
    if (x > x1) x1 = x;
  }
  if (at_corner) { /* all columns of the cell are uncertain */
    tolerance0 = tolerance1 = x1 - x0 + tolerance;
  } else {
    cvtm_cell_advance_edge(cell, walk->bottom, 1, y, &walk->left);
    cvtm_cell_advance_edge(cell, walk->bottom, -1, y, &walk->right);
    x0 = cvtm_cell_edge_x(&walk->left, y);
    x1 = cvtm_cell_edge_x(&walk->right, y);
    tolerance0 = tolerance * (1 + fabs(walk->left.slope));
    tolerance1 = tolerance * (1 + fabs(walk->right.slope));
  }
  span.first = cvtm_cell_floor(sx + (x0 - tolerance0) - 0.5) + 1;
  span.last = cvtm_cell_floor(sx + (x1 + tolerance1) - 0.5);
  span.certain_first = cvtm_cell_floor(sx + (x0 + tolerance0) - 0.5) + 1;
  span.certain_last = cvtm_cell_floor(sx + (x1 - tolerance1) - 0.5);
  if (!domain.periodic) {
    if (span.first < 0) span.first = 0;
    if (span.certain_first < 0) span.certain_first = 0;
    if (span.last >= domain.width) span.last = domain.width - 1;
    if (span.certain_last >= domain.width) span.certain_last = domain.width - 1;
  }
  if (span.certain_first > span.certain_last) span.certain_first = span.last + 1; /* none */
  return span;
}
