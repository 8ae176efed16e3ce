/* The Voronoi cell of one site inside the domain: a convex polygon, and its two constructions.
 *
 * Hull construction (cell_by_hull.h) gathers the sites of the bins around the site, and finds the
 * bisectors that bound the cell as the corners of a convex hull in the dual plane. A cell takes
 * some hundred instructions, which lanes of a warp can share. The method suits sites whose
 * neighbours are about as close as the sites around are to each other. For a cell with many
 * corners, or with corners that are uncertain by rounding, the result is CVTM_CELL_UNDECIDED.
 *
 * Tree clipping (cell_by_tree.h) cuts the rectangle of the domain by one bisector after the other.
 * A square of sites is skipped if no corner of the cell is closer to the square than to the site,
 * since then no site of the square can cut the cell. The method works for every site, if the memory
 * has room for the corners.
 *
 * Both compile as C11 and inside CUDA kernels, as does cell_scanlines.h, which walks down a cell
 * row by row of pixels. */
#pragma once

#include "base/geometry.h"
#include "jfa/site_query.h"

/* A convex polygon relative to its site, in the memory of the caller: corner k is x[k * stride],
 * y[k * stride]. The order of corners is down the left side, then up the right side; y points down.
 * slope, inverse: dx / dy and dy / dx of the edge from corner k to the next corner, as set by
 * cvtm_cell_set_slopes. */
typedef struct cvtm_cell {
  int32_t count, capacity, stride;
  double *x, *y, *slope, *inverse;
  double nearest2;   /* squared distance to the nearest site that does not coincide, or infinity */
  int32_t *neighbor; /* NULL, or (by tree clipping on a host) the index of the site across the edge
                        from corner k to the next corner, or CVTM_POLYGON_BORDER */
} cvtm_cell;

typedef enum cvtm_cell_status {
  CVTM_CELL_DONE,     /* the cell is empty if a site with a lower index coincides with its site */
  CVTM_CELL_OVERFLOW, /* the cell has more corners than the capacity; needs more memory */
  CVTM_CELL_UNDECIDED /* hull construction failed; clip by the tree */
} cvtm_cell_status;

/* A box relative to the site. */
typedef struct cvtm_cell_box {
  double x0, y0, x1, y1;
} cvtm_cell_box;

/* The site of the cell, and a shift by periods. A position relative to the site is (position -
 * shift) - site; this order of the differences loses no digits where a periodic image of another
 * site is very close. */
typedef struct cvtm_cell_origin {
  double x, y, shift_x, shift_y;
  int32_t index; /* the caller's index of the site */
  int32_t slot;  /* slot of the site in the tree */
} cvtm_cell_origin;

/* A corner of a cell is the point where two bisectors meet, the lines ax x + ay y = a and
 * bx x + by y = b relative to the site of the cell. The bisector with a site at n has (ax, ay) = n
 * and a = (|n|^2 + w - w_n) / 2, where w and w_n are the weights of the two sites; a Voronoi cell
 * is a power cell with weights 0. The macros take doubles or vectors of doubles. scale:
 * CVTM_CORNER_SCALE. */
#define CVTM_CORNER_SCALE(ax, ay, bx, by) (1 / ((ay) * (bx) - (ax) * (by)))
#define CVTM_CORNER_X(ay, a, by, b, scale) (((b) * (ay) - (a) * (by)) * (scale))
#define CVTM_CORNER_Y(ax, a, bx, b, scale) (((a) * (bx) - (b) * (ax)) * (scale))

/* cell->neighbor; NULL on CUDA. */
CVTM_HD int32_t *cvtm_cell_neighbors(const cvtm_cell *cell) {
#ifdef __CUDA_ARCH__
  (void)cell;
  return NULL;
#else
  return cell->neighbor;
#endif
}

CVTM_HD void cvtm_cell_set_rectangle(cvtm_cell *cell, const cvtm_cell_box *box) {
  const int32_t s = cell->stride;
  int32_t *neighbor = cvtm_cell_neighbors(cell);
  for (int32_t k = 0; neighbor && k < 4; ++k) neighbor[k * s] = CVTM_POLYGON_BORDER;
  cell->count = 4;
  cell->x[0] = box->x0;
  cell->y[0] = box->y0;
  cell->x[s] = box->x0;
  cell->y[s] = box->y1;
  cell->x[2 * s] = box->x1;
  cell->y[2 * s] = box->y1;
  cell->x[3 * s] = box->x1;
  cell->y[3 * s] = box->y0;
}

/* The squared distance of the farthest corner from the site; 0 if the cell is empty. A site at more
 * than twice the distance of that corner cannot cut the cell. */
CVTM_HD double cvtm_cell_radius2(const cvtm_cell *cell) {
  double largest = 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride], y = cell->y[k * cell->stride];
    const double r2 = x * x + y * y;
    if (r2 > largest) largest = r2;
  }
  return largest;
}

/* The distance by which corner k is beyond the line dx x + dy y = offset, times |(dx, dy)|. */
CVTM_HD double cvtm_cell_excess(const cvtm_cell *cell, int32_t k, double dx, double dy,
                                double offset) {
  return dx * cell->x[k * cell->stride] + dy * cell->y[k * cell->stride] - offset;
}

/* Keeps the part of the cell that is closer to the origin than to the site with the index `other`,
 * which is at (dx, dy). Returns the result of cvtm_corners_clip. */
CVTM_HD cvtm_clip cvtm_cell_clip(cvtm_cell *cell, double dx, double dy, int32_t other) {
  const int32_t s = cell->stride;
  cvtm_corners corners = {cell->count, cell->capacity, s,
                          cell->x,     cell->y,        cvtm_cell_neighbors(cell)};
  int32_t at = 0;
  const cvtm_clip clip = cvtm_corners_clip_bisector(&corners, dx, dy, other, &at);
  cell->count = corners.count;
  if (clip != CVTM_CLIP_CUT) return clip;
  /* Makes the new corners exact on a bisector parallel to an axis, which may lie on pixel edges. */
  if (dy == 0) cell->x[at * s] = cell->x[(at + 1) * s] = 0.5 * dx;
  if (dx == 0) cell->y[at * s] = cell->y[(at + 1) * s] = 0.5 * dy;
  return clip;
}

/* The position of the site at a slot, relative to the site of the cell. */
CVTM_HD void cvtm_cell_relative_site(const cvtm_site_tree_view *tree, int64_t slot,
                                     const cvtm_cell_origin *o, double *dx, double *dy) {
  double x, y;
  cvtm_tree_position(tree, slot, &x, &y);
  *dx = (x - o->shift_x) - o->x;
  *dy = (y - o->shift_y) - o->y;
}

/* The origin of the cell of the site at a slot. Sets *start to the domain relative to the site; on
 * a torus, to a rectangle with the size of the domain and the site at its centre. */
CVTM_HD cvtm_cell_origin cvtm_cell_origin_at(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                             int64_t slot, cvtm_cell_box *start) {
  const double width = (double)domain.width, height = (double)domain.height;
  cvtm_cell_origin o;
  o.x = tree->position[2 * slot];
  o.y = tree->position[2 * slot + 1];
  o.shift_x = o.shift_y = 0;
  o.index = tree->index[slot];
  o.slot = (int32_t)slot;
  start->x0 = domain.periodic ? -0.5 * width : -o.x;
  start->y0 = domain.periodic ? -0.5 * height : -o.y;
  start->x1 = domain.periodic ? 0.5 * width : width - o.x;
  start->y1 = domain.periodic ? 0.5 * height : height - o.y;
  return o;
}

/* position - origin for the nearest periodic image, rounded as by cvtm_cell_relative_site. */
CVTM_HD double cvtm_cell_nearest_image(double position, double origin, double period) {
  const double d = position - origin;
  if (d > 0.5 * period) return (position - period) - origin;
  if (d < -0.5 * period) return (position + period) - origin;
  return d;
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
