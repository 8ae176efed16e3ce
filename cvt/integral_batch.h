/* Inside cvt only, on the CPU: the exact moments of many convex polygons at a time (see
 * integral_pixel.h). Each lane of a vector walks down one edge, from one line of the pixel grid to
 * the next; an edge needs no data of the other edges of its polygon. The sums over the edges of a
 * polygon are added in the order of the edges, so that the result does not depend on the other
 * polygons of the batch. integral.h is for polygons with many corners or rows, and for polygons
 * that cross the border of a torus. */
#pragma once

#include "cvt/integral_pixel.h"

#include <stdlib.h>
#include <string.h>

/* CVTM_BATCH_LANES: the number of doubles in a vector of AVX2 on x86-64, else 2. The sums do not
 * depend on it, since each edge is walked in one lane.
 * CVTM_BATCH_DENSITIES: the density of one pixel for each lane.
 * CVTM_BATCH_ANY: nonzero if the mask is set in any lane. */
#ifndef __x86_64__
enum { CVTM_BATCH_LANES = 2 };
#define CVTM_BATCH_DENSITIES(value, pixel) \
  { (double)(value)[(pixel)[0]], (double)(value)[(pixel)[1]] }
#define CVTM_BATCH_ANY(mask) ((mask)[0] | (mask)[1])
#else
enum { CVTM_BATCH_LANES = 4 };
#define CVTM_BATCH_DENSITIES(value, pixel)                                                 \
  {                                                                                        \
    (double)(value)[(pixel)[0]], (double)(value)[(pixel)[1]], (double)(value)[(pixel)[2]], \
        (double)(value)[(pixel)[3]]                                                        \
  }
#define CVTM_BATCH_ANY(mask) ((mask)[0] | (mask)[1] | (mask)[2] | (mask)[3])
#endif

enum {
  CVTM_ROW_LANES = 4,      /* on every processor, since sums along a row depend on this number */
  CVTM_BATCH_CORNERS = 16, /* corners of a polygon, at most */
  CVTM_BATCH_ROWS = 64,    /* rows of a polygon, at most */
  CVTM_BATCH_CELLS = 16,   /* polygons of a batch, at most */
  CVTM_BATCH_EDGES = 128,  /* edges of a batch with its padding, at most */
  CVTM_BATCH_LINES = 1024  /* entries of line_of_row, at most */
};

typedef double cvtm_batch_lanes
    __attribute__((vector_size(CVTM_BATCH_LANES * sizeof(double)), may_alias));
typedef int64_t cvtm_batch_masks
    __attribute__((vector_size(CVTM_BATCH_LANES * sizeof(int64_t)), may_alias));

typedef double cvtm_row_lanes
    __attribute__((vector_size(CVTM_ROW_LANES * sizeof(double)), may_alias));
typedef int64_t cvtm_row_masks
    __attribute__((vector_size(CVTM_ROW_LANES * sizeof(int64_t)), may_alias));

CVTM_DEFINE_PIXEL_INTEGRALS(cvtm_batch, cvtm_batch_lanes)

/* One number for each edge of a batch. */
typedef double cvtm_batch_edges[CVTM_BATCH_EDGES] __attribute__((aligned(32)));

/* A polygon of the batch. Its first row begins at y_top; any other row j begins at y = j - sy.
 * left, right: the first entries of its left and of its right side in line_of_row; both are 0 for a
 * polygon in at most two columns, which needs no entries. */
typedef struct cvtm_batch_cell {
  double sx, sy, y_top, y_bottom;
  int32_t first_row, rows;
  int32_t first_edge, edges;
  int32_t left, right;
  int64_t slot; /* index of the moments in the caller's array */
} cvtm_batch_cell;

/* Polygons that are integrated together. Along each edge y increases; where x would decrease, x and
 * columns are mirrored (x to -x). */
typedef struct cvtm_batch {
  cvtm_density_view density;
  int32_t cells, edges, lines;
  cvtm_batch_edges x0, y0, x1, y1;
  cvtm_batch_edges sx, sy, y_bottom;
  cvtm_batch_edges column, row;   /* grid lines to the right of and below the first pixel */
  cvtm_batch_edges columns, rows; /* counts of such grid lines that the edge crosses */
  /* wide: 0 for a polygon in at most two columns, else 1. inner: x of the common inner line of a
   * polygon in at most two columns, mirrored like the edge, else 0. */
  cvtm_batch_edges wide, inner;
  cvtm_batch_edges outward; /* 1 if the polygon lies on the side of smaller x, else 0 */
  /* mirrored: -1 where x is mirrored, else 1. The inner line of the current pixel is grid line
   * mirrored * column + line. */
  cvtm_batch_edges mirrored, line;
  cvtm_batch_edges mass, x, y, second;
  cvtm_batch_edges mean, moment; /* set by cvtm_batch_integrate_with_means alone */
  int32_t upper[CVTM_BATCH_EDGES],
      lower[CVTM_BATCH_EDGES]; /* indices of the corners in the polygon */
  int64_t pixel[CVTM_BATCH_EDGES]
      __attribute__((aligned(32))); /* index of the first pixel in the density */
  int64_t row_index[CVTM_BATCH_EDGES]
      __attribute__((aligned(32))); /* index in line_of_row of the row of that pixel */
  /* For each row of a side, the inner line (integral_pixel.h) of the pixel in which the side enters
   * the row. Entry 0 is never read; lanes that enter no row write to it. */
  double line_of_row[CVTM_BATCH_LINES];
  cvtm_batch_cell cell[CVTM_BATCH_CELLS];
} cvtm_batch;

/* --- the polygons ------------------------------------------------------------------------ */

typedef struct cvtm_batch_corners {
  int32_t column[CVTM_BATCH_CORNERS], row[CVTM_BATCH_CORNERS];
  int32_t top, bottom, low, high; /* top, bottom: corners; low, high: least and largest column */
} cvtm_batch_corners;

/* Finds the pixels of the corners. Returns 0 for a polygon that integral.h must compute. */
CVTM_INLINE int cvtm_batch_find_pixels(cvtm_domain domain, const cvtm_cell *cell, double sx,
                                       double sy, cvtm_batch_corners *c) {
  if (cell->count > CVTM_BATCH_CORNERS) return 0;
  c->top = c->bottom = 0;
  c->low = INT32_MAX;
  c->high = INT32_MIN;
  for (int32_t k = 0; k < cell->count; ++k) {
    c->column[k] = cvtm_cell_pixel(sx + cell->x[k], domain.width, domain.periodic);
    c->row[k] = cvtm_cell_pixel(sy + cell->y[k], domain.height, domain.periodic);
    c->low = c->column[k] < c->low ? c->column[k] : c->low;
    c->high = c->column[k] > c->high ? c->column[k] : c->high;
    c->top = cell->y[k] < cell->y[c->top] ? k : c->top;
    c->bottom = cell->y[k] > cell->y[c->bottom] ? k : c->bottom;
  }
  return c->low >= 0 && c->high < domain.width && c->row[c->top] >= 0 &&
         c->row[c->bottom] < domain.height && c->row[c->bottom] - c->row[c->top] < CVTM_BATCH_ROWS;
}

/* Adds the edge from corner a down to corner b. right: 0: on the left side, 1: on the right. */
CVTM_INLINE void cvtm_batch_add_edge(cvtm_batch *batch, const cvtm_cell *cell,
                                     const cvtm_batch_cell *of, cvtm_batch_corners *c, int32_t a,
                                     int32_t b, int right) {
  const int32_t e = batch->edges++;
  /* Only rounding can put b above a. Then b counts as in the row of a, also for the next edge: if a
   * side entered a row twice, the pixels between the two columns would be lost. */
  c->row[b] = c->row[b] < c->row[a] ? c->row[a] : c->row[b];
  const int32_t ka = c->column[a], kb = c->column[b], ja = c->row[a], jb = c->row[b];
  const int mirrored = kb < ka;
  const double sign = mirrored ? -1 : 1;
  const int wide = of->left != 0;
  batch->upper[e] = a;
  batch->lower[e] = b;
  batch->x0[e] = sign * cell->x[a];
  batch->y0[e] = cell->y[a];
  batch->x1[e] = sign * cell->x[b];
  batch->y1[e] = cell->y[b];
  batch->sx[e] = sign * of->sx;
  batch->sy[e] = of->sy;
  batch->y_bottom[e] = of->y_bottom;
  batch->column[e] = (double)(mirrored ? -ka : ka + 1);
  batch->row[e] = (double)(ja + 1);
  batch->columns[e] = (double)(mirrored ? ka - kb : kb - ka);
  batch->rows[e] = (double)(jb - ja);
  batch->wide[e] = wide;
  batch->inner[e] = 0;
  batch->outward[e] = right != mirrored;
  batch->mirrored[e] = sign;
  batch->line[e] = (double)(mirrored - right);
  batch->pixel[e] = (int64_t)ja * batch->density.width + ka;
  batch->row_index[e] = wide ? (right ? of->right : of->left) + (ja - of->first_row) : 0;
}

/* Adds a polygon with at least 3 corners, relative to a site at (sx, sy). The batch must not be
 * full. Returns 0, and adds nothing, if integral.h must compute the polygon. */
CVTM_INLINE int cvtm_batch_add(cvtm_batch *batch, cvtm_domain domain, const cvtm_cell *cell,
                               double sx, double sy, int64_t slot) {
  cvtm_batch_corners c;
  if (!cvtm_batch_find_pixels(domain, cell, sx, sy, &c)) return 0;
  cvtm_batch_cell *of = &batch->cell[batch->cells++];
  const int32_t rows = c.row[c.bottom] - c.row[c.top] + 1;
  *of = (cvtm_batch_cell){.sx = sx,
                          .sy = sy,
                          .y_top = cell->y[c.top],
                          .y_bottom = cell->y[c.bottom],
                          .first_row = c.row[c.top],
                          .rows = rows,
                          .first_edge = batch->edges,
                          .edges = cell->count,
                          .slot = slot};
  if (c.high - c.low > 1) {
    of->left = batch->lines;
    of->right = batch->lines + rows;
    batch->lines += 2 * rows;
    batch->line_of_row[of->left] = (double)(c.column[c.top] + 1);
    batch->line_of_row[of->right] = (double)c.column[c.top];
  }
  for (int32_t k = c.top; k != c.bottom;) {
    const int32_t next = k + 1 < cell->count ? k + 1 : 0;
    cvtm_batch_add_edge(batch, cell, of, &c, k, next, 0);
    k = next;
  }
  for (int32_t k = c.top; k != c.bottom;) {
    const int32_t next = k > 0 ? k - 1 : cell->count - 1;
    cvtm_batch_add_edge(batch, cell, of, &c, k, next, 1);
    k = next;
  }
  if (of->left != 0) return 1;
  const double inner = cvtm_pixel_common_line(c.low, c.high, sx);
  for (int32_t e = of->first_edge; e < batch->edges; ++e)
    batch->inner[e] = batch->mirrored[e] * inner;
  return 1;
}

CVTM_INLINE int cvtm_batch_is_full(const cvtm_batch *batch) {
  return batch->cells == CVTM_BATCH_CELLS ||
         batch->edges + CVTM_BATCH_CORNERS + CVTM_BATCH_LANES > CVTM_BATCH_EDGES ||
         batch->lines + 2 * CVTM_BATCH_ROWS > CVTM_BATCH_LINES;
}

CVTM_INLINE void cvtm_batch_clear(cvtm_batch *batch) {
  batch->cells = batch->edges = 0;
  batch->lines = 1;
}

/* --- the edges --------------------------------------------------------------------------- */

/* Macros, since functions would pass vectors in ways that depend on the processor.
 * CVTM_BATCH_SELECT: the lanes of `yes` where the mask is set, else those of `no`.
 * CVTM_BATCH_WHERE: the lanes of `yes` where the mask is set, else 0.
 * CVTM_BATCH_SIZE: the absolute values. */
#define CVTM_BATCH_SELECT(where, yes, no) \
  ((cvtm_batch_lanes)(((where) & (cvtm_batch_masks)(yes)) | (~(where) & (cvtm_batch_masks)(no))))
#define CVTM_BATCH_WHERE(where, yes) ((cvtm_batch_lanes)((where) & (cvtm_batch_masks)(yes)))
#define CVTM_BATCH_READ(from) (*(const cvtm_batch_lanes *)(const void *)(from))
#define CVTM_BATCH_READ_INTEGERS(from) (*(const cvtm_batch_masks *)(const void *)(from))
#define CVTM_BATCH_WRITE(to, value) (*(cvtm_batch_lanes *)(void *)(to) = (value))
#define CVTM_BATCH_SIZE(value) ((cvtm_batch_lanes)((cvtm_batch_masks)(value)&INT64_MAX))

/* a / b, or 0 where the quotient would be too large. */
CVTM_INLINE void cvtm_batch_slope(const cvtm_batch_lanes *a, const cvtm_batch_lanes *b,
                                  cvtm_batch_lanes *slope) {
  const double huge = 1125899906842624.0; /* 2^50 */
  *slope = CVTM_BATCH_WHERE(CVTM_BATCH_SIZE(*a) < huge * CVTM_BATCH_SIZE(*b), *a / *b);
}

/* The walk of each lane down an edge: the current point, and the grid lines still to cross. */
typedef struct cvtm_batch_walk {
  /* (x, y): the current point; column, row: the next grid lines to the right and below; columns,
   * rows: the counts of such grid lines that are still to be crossed. */
  cvtm_batch_lanes x, y, column, row, columns, rows;
  cvtm_batch_lanes side; /* the factor of rho: 1 outward, -1 inward, 0 after the end of the edge */
  /* by_column, by_row: set if the segment begins on a line between columns or between rows. */
  cvtm_batch_masks by_column, by_row;
  cvtm_batch_masks pixel, row_index;
  cvtm_batch_sums sums;
  cvtm_batch_lanes line, turn; /* integrals of cvtm_batch_add_line */
} cvtm_batch_walk;

CVTM_INLINE void cvtm_batch_begin_walk(const cvtm_batch *b, int32_t e, cvtm_batch_walk *w) {
  const cvtm_batch_lanes none = {0};
  w->x = CVTM_BATCH_READ(b->x0 + e);
  w->y = CVTM_BATCH_READ(b->y0 + e);
  w->column = CVTM_BATCH_READ(b->column + e);
  w->row = CVTM_BATCH_READ(b->row + e);
  w->columns = CVTM_BATCH_READ(b->columns + e);
  w->rows = CVTM_BATCH_READ(b->rows + e);
  w->side = 2 * CVTM_BATCH_READ(b->outward + e) - 1;
  w->by_column = w->by_row = (cvtm_batch_masks)none;
  w->pixel = CVTM_BATCH_READ_INTEGERS(b->pixel + e);
  w->row_index = CVTM_BATCH_READ_INTEGERS(b->row_index + e);
  w->sums.mass = w->sums.x = w->sums.y = w->sums.second = w->line = w->turn = none;
}

/* Adds the integrals of rho and 2 rho s over s along a segment, where s = y + forth x - middle is 0
 * at the midpoint of the edge. forth is -1 where x decreases, else 1, so that s increases in
 * proportion to the length. */
CVTM_INLINE void cvtm_batch_add_line(const cvtm_batch_lanes *rho, const cvtm_batch_lanes *forth,
                                     const cvtm_batch_lanes *middle, const cvtm_batch_lanes *xt,
                                     const cvtm_batch_lanes *yt, cvtm_batch_walk *w) {
  const cvtm_batch_lanes from = *forth * w->x + w->y - *middle, to = *forth * *xt + *yt - *middle;
  const cvtm_batch_lanes part = *rho * (to - from);
  w->line += part;
  w->turn += part * (from + to);
}

/* Integrates along the edges from e on, one in each lane, and stores in line_of_row the inner lines
 * of the pixels in which the edges enter rows. with_means is a constant in each call. */
CVTM_INLINE void cvtm_batch_walk_edges(cvtm_batch *b, int32_t e, int with_means) {
  const cvtm_batch_lanes x0 = CVTM_BATCH_READ(b->x0 + e), y0 = CVTM_BATCH_READ(b->y0 + e);
  const cvtm_batch_lanes x1 = CVTM_BATCH_READ(b->x1 + e), y1 = CVTM_BATCH_READ(b->y1 + e);
  const cvtm_batch_lanes sx = CVTM_BATCH_READ(b->sx + e), sy = CVTM_BATCH_READ(b->sy + e);
  const cvtm_batch_lanes dx = x1 - x0, dy = y1 - y0;
  cvtm_batch_lanes slope, inverse;
  cvtm_batch_slope(&dx, &dy, &slope);
  cvtm_batch_slope(&dy, &dx, &inverse);
  const cvtm_batch_lanes y_bottom = CVTM_BATCH_READ(b->y_bottom + e);
  const cvtm_batch_lanes wide = CVTM_BATCH_READ(b->wide + e),
                         common = CVTM_BATCH_READ(b->inner + e);
  const cvtm_batch_lanes out = CVTM_BATCH_READ(b->outward + e), twelve = 24 * out - 12;
  const cvtm_batch_lanes mirrored = CVTM_BATCH_READ(b->mirrored + e);
  const cvtm_batch_lanes line = CVTM_BATCH_READ(b->line + e);
  const cvtm_batch_masks outward = out > 0, inward = ~outward, is_wide = wide > 0;
  const cvtm_batch_masks across = (cvtm_batch_masks)(mirrored > 0) * 2; /* -2 or 0 */
  const int64_t width = b->density.width;
  const float *value = b->density.value;
  const cvtm_batch_lanes one = 1 + (cvtm_batch_lanes){0},
                         forth = CVTM_BATCH_SELECT(dx < 0, -one, one);
  const cvtm_batch_lanes middle = 0.5 * (forth * (x0 + x1) + (y0 + y1));
  cvtm_batch_walk w;
  cvtm_batch_begin_walk(b, e, &w);
  for (;;) {
    const cvtm_batch_lanes right = w.column - sx, below = w.row - sy;
    const cvtm_batch_lanes rho = CVTM_BATCH_DENSITIES(value, w.pixel);
    const cvtm_batch_lanes leave_y = (right - x0) * inverse + y0;
    const cvtm_batch_lanes end_x = (below - y0) * slope + x0;
    const cvtm_batch_masks more_columns = w.columns > 0, more_rows = w.rows > 0;
    const cvtm_batch_masks row_first = ~(leave_y < below);
    const cvtm_batch_masks to_column = more_columns & ~(more_rows & row_first);
    const cvtm_batch_masks to_row = more_rows & ~to_column, to_line = to_column | to_row;
    const cvtm_batch_lanes xt =
        CVTM_BATCH_SELECT(to_column, right, CVTM_BATCH_SELECT(to_row, end_x, x1));
    const cvtm_batch_lanes yt =
        CVTM_BATCH_SELECT(to_column, leave_y, CVTM_BATCH_SELECT(to_row, below, y1));
    const cvtm_batch_masks has_column = is_wide & ((outward & to_column) | (inward & w.by_column));
    const cvtm_batch_lanes from = CVTM_BATCH_SELECT(outward, yt, w.y);
    const cvtm_batch_lanes end = CVTM_BATCH_SELECT(below < y_bottom, below, y_bottom);
    const cvtm_batch_lanes height = CVTM_BATCH_WHERE(has_column, end - from), sum_y = from + end;
    const cvtm_batch_lanes signed_rho = rho * w.side, inner = wide * (right - out) + common;
    const cvtm_batch_lanes entry = mirrored * w.column + line;
    const cvtm_batch_masks row_index = w.row_index & w.by_row;
    for (int k = 0; k < CVTM_BATCH_LANES; ++k) b->line_of_row[row_index[k]] = entry[k];
    const cvtm_batch_lanes from_x = w.x - inner, to_x = xt - inner;
    cvtm_batch_part part;
    cvtm_batch_set_strip(&from_x, &w.y, &to_x, &yt, &part);
    cvtm_batch_add_column(&height, &sum_y, &twelve, &part);
    cvtm_batch_add_part(&part, &signed_rho, &signed_rho, &inner, &w.sums);
    if (with_means) cvtm_batch_add_line(&rho, &forth, &middle, &xt, &yt, &w);
    w.x = xt;
    w.y = yt;
    w.by_column = to_column;
    /* polygons in at most two columns have no entries in line_of_row */
    w.by_row = to_row & is_wide;
    w.column += CVTM_BATCH_WHERE(to_column, 1 + (cvtm_batch_lanes){0});
    w.columns -= CVTM_BATCH_WHERE(to_column, 1 + (cvtm_batch_lanes){0});
    w.row += CVTM_BATCH_WHERE(to_row, 1 + (cvtm_batch_lanes){0});
    w.rows -= CVTM_BATCH_WHERE(to_row, 1 + (cvtm_batch_lanes){0});
    w.side = CVTM_BATCH_WHERE(to_line, w.side);
    w.pixel += (to_column & (-1 - across)) + (to_row & width);
    w.row_index -= to_row;
    if (!CVTM_BATCH_ANY(to_line)) break;
  }
  CVTM_BATCH_WRITE(b->mass + e, 0.5 * w.sums.mass);
  CVTM_BATCH_WRITE(b->x + e, (1.0 / 24) * (mirrored * w.sums.x));
  CVTM_BATCH_WRITE(b->y + e, (1.0 / 12) * w.sums.y);
  CVTM_BATCH_WRITE(b->second + e, (1.0 / 24) * w.sums.second);
  if (!with_means) return;
  const cvtm_batch_lanes length = forth * dx + dy;
  const cvtm_batch_lanes inverse_length = CVTM_BATCH_WHERE(length > 0, 1 / length);
  CVTM_BATCH_WRITE(b->mean + e, w.line * inverse_length);
  CVTM_BATCH_WRITE(b->moment + e, 0.5 * w.turn * inverse_length * inverse_length);
}

/* --- the rows ---------------------------------------------------------------------------- */

typedef struct cvtm_row_sums {
  cvtm_row_lanes mass, x, y, second;
} cvtm_row_sums;

/* Adds parts of `count` pixels, with height h and centre y, to the sums. The first pixel has its
 * centre at x. turning: the second moment about the site, divided by the mass, of a part with the
 * centre x = 0. Does not read past `end`. */
CVTM_INLINE void cvtm_batch_add_pixels(const float *pixel, const float *end, int32_t count,
                                       double x, double y, double h, double turning,
                                       cvtm_row_sums *sums) {
  const cvtm_row_lanes steps = {0, 1, 2, 3};
  const cvtm_row_masks number = {0, 1, 2, 3};
  for (int32_t i = 0; i < count; i += CVTM_ROW_LANES) {
    float four[CVTM_ROW_LANES] = {0, 0, 0, 0};
    if (pixel + i + CVTM_ROW_LANES <= end)
      memcpy(four, pixel + i, sizeof four);
    else
      memcpy(four, pixel + i, (size_t)(count - i) * sizeof four[0]);
    const cvtm_row_lanes rho = {(double)four[0], (double)four[1], (double)four[2], (double)four[3]};
    const cvtm_row_lanes at = steps + (x + (double)i);
    const cvtm_row_lanes mass =
        (cvtm_row_lanes)((number < (int64_t)(count - i)) & (cvtm_row_masks)(h * rho));
    sums->mass += mass;
    sums->x += mass * at;
    sums->y += mass * y;
    sums->second += mass * (at * at + turning);
  }
}

CVTM_INLINE double cvtm_batch_total(const cvtm_row_lanes *lanes) {
  return ((*lanes)[0] + (*lanes)[2]) + ((*lanes)[1] + (*lanes)[3]);
}

/* Adds the pixels between the lines at which the two sides enter each row. */
CVTM_INLINE void cvtm_batch_add_rows(const cvtm_batch *b, const cvtm_batch_cell *cell,
                                     cvtm_cell_moments *moments) {
  cvtm_row_sums sums = {{0}, {0}, {0}, {0}};
  const int64_t width = b->density.width;
  const float *image_end = b->density.value + width * b->density.height;
  for (int32_t k = 0; k < cell->rows; ++k) {
    const int32_t j = cell->first_row + k;
    const double above = k == 0 ? cell->y_top : (double)j - cell->sy;
    const double below = k == cell->rows - 1 ? cell->y_bottom : (double)(j + 1) - cell->sy;
    const int32_t left = (int32_t)b->line_of_row[cell->left + k];
    const int32_t right = (int32_t)b->line_of_row[cell->right + k];
    const int32_t first = left < right ? left : right, count = abs(right - left);
    const double height = below - above, y = 0.5 * (above + below);
    cvtm_batch_add_pixels(b->density.value + j * width + first, image_end, count,
                          (double)first + 0.5 - cell->sx, y, left < right ? height : -height,
                          y * y + (1 + height * height) * (1.0 / 12), &sums);
  }
  moments->mass += cvtm_batch_total(&sums.mass);
  moments->x += cvtm_batch_total(&sums.x);
  moments->y += cvtm_batch_total(&sums.y);
  moments->second += cvtm_batch_total(&sums.second);
}

/* --- the batch --------------------------------------------------------------------------- */

/* Pads the edges with edges of length 0 to a multiple of CVTM_BATCH_LANES. */
CVTM_INLINE void cvtm_batch_pad(cvtm_batch *b) {
  for (int32_t e = b->edges; e % CVTM_BATCH_LANES != 0; ++e) {
    b->x0[e] = b->y0[e] = b->x1[e] = b->y1[e] = 0;
    b->sx[e] = b->sy[e] = b->y_bottom[e] = b->column[e] = b->row[e] = 0;
    b->columns[e] = b->rows[e] = b->wide[e] = b->inner[e] = 0;
    b->outward[e] = b->mirrored[e] = b->line[e] = 0;
    b->pixel[e] = b->row_index[e] = 0;
  }
}

CVTM_INLINE void cvtm_batch_sum(cvtm_batch *b, int with_means, cvtm_cell_moments *moments) {
  cvtm_batch_pad(b);
  for (int32_t e = 0; e < b->edges; e += CVTM_BATCH_LANES) cvtm_batch_walk_edges(b, e, with_means);
  for (int32_t k = 0; k < b->cells; ++k) {
    const cvtm_batch_cell *cell = &b->cell[k];
    cvtm_cell_moments sums = {0, 0, 0, 0};
    for (int32_t e = cell->first_edge; e < cell->first_edge + cell->edges; ++e) {
      const cvtm_cell_moments edge = {b->mass[e], b->x[e], b->y[e], b->second[e]};
      cvtm_cell_moments_add(&sums, &edge);
    }
    if (cell->left != 0) cvtm_batch_add_rows(b, cell, &sums);
    moments[cell->slot] = sums;
  }
}

/* Sets moments[slot] for every polygon, and clears the batch. */
CVTM_INLINE void cvtm_batch_integrate(cvtm_batch *b, cvtm_cell_moments *moments) {
  cvtm_batch_sum(b, 0, moments);
  cvtm_batch_clear(b);
}

/* Sets moments[slot] for every polygon, and does not clear the batch. Also sets, for every edge,
 * `mean` to the mean of the density along the edge, and `moment` to the mean of the density times
 * t, where t goes from -1/2 at the upper end to 1/2 at the lower end. */
CVTM_INLINE void cvtm_batch_integrate_with_means(cvtm_batch *b, cvtm_cell_moments *moments) {
  cvtm_batch_sum(b, 1, moments);
}
