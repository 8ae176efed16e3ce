/* The exact moments of a convex cell with few corners by segments that are computed independently,
 * so that the lanes of a warp can share a cell (see integral_pixel.h).
 *
 * The number of vertical and horizontal lines of the pixel grid that an edge crosses, and so the
 * number of its segments, follows from the pixels of its two corners. If an edge is steep, its
 * minor crossings are those of vertical lines, else those of horizontal lines. The number of minor
 * crossings among the first u crossings is the integer part of start + u * step in fixed point. In
 * spite of rounding this number increases by 0 or 1 with each crossing (for up to 1000 rows). So
 * the pixel of any segment can be computed without the segments before. A segment that enters a row
 * stores its column; the pixels between the columns of the two sides are added afterwards.
 *
 * Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "cvt/integral_pixel.h"

#include <string.h>

/* The pixel of a corner. */
typedef struct cvtm_segments_pixel {
  int32_t column, row;
} cvtm_segments_pixel;

/* An edge of the polygon, from its upper end to its lower end. Where columns would decrease, x and
 * columns are mirrored (x to -x). */
typedef struct cvtm_segments_edge {
  double x0, y0, x1, y1;
  double slope, inverse; /* dx / dy and dy / dx; 0 if too large */
  uint64_t step, start;  /* minor crossings per crossing; their offset; both in units of 2^-52 */
  cvtm_segments_pixel pixel; /* pixel of (x0, y0) */
  int32_t minor;             /* number of minor crossings */
  int32_t flags;             /* sum of the flags below */
} cvtm_segments_edge;
enum { CVTM_SEGMENTS_MIRRORED = INT32_MIN, CVTM_SEGMENTS_STEEP = 1, CVTM_SEGMENTS_OUTWARD = 2 };

/* A polygon in memory that its lanes share. Consecutive entries of each array are `stride` apart.
 * First come the edges of the left chain, from the top corner down, then those of the right chain,
 * also from the top corner down. */
typedef struct cvtm_segments {
  int32_t count, stride; /* count: number of corners */
  int32_t top, left;     /* the top corner; the number of edges of the left chain */
  int32_t first, last;   /* rows */
  double sx, sy, y_top, y_bottom;
  double wide;  /* 0 for a polygon with at most two columns, else 1 */
  double inner; /* cvtm_pixel_common_line for a polygon with at most two columns, else 0 */
  const double *x, *y;
  cvtm_segments_pixel *pixel;
  cvtm_segments_edge *edge;
  int32_t *base; /* count + 1: the first segment of each edge, and the number of segments */
} cvtm_segments;

/* Returns v in units of 2^-52, for 0 <= v <= 1. */
CVTM_HD uint64_t cvtm_segments_fixed(double v) {
  const double shifted = v + 1;
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  return bits - 0x3FF0000000000000U;
}

CVTM_HD int32_t cvtm_segments_within(int32_t k, int32_t size) {
  return k < 0 ? 0 : k < size ? k : size - 1;
}

CVTM_HD void cvtm_segments_set_pixel(cvtm_domain domain, const cvtm_segments *polygon, int32_t k) {
  const int32_t s = k * polygon->stride;
  cvtm_segments_pixel p = {cvtm_to_floor(polygon->sx + polygon->x[s]),
                           cvtm_to_floor(polygon->sy + polygon->y[s])};
  if (!domain.periodic) {
    p.column = cvtm_segments_within(p.column, domain.width);
    p.row = cvtm_segments_within(p.row, domain.height);
  }
  polygon->pixel[s] = p;
}

/* Sets the members from `top` to `inner`, except sx and sy, from the corners and their pixels. */
CVTM_HD void cvtm_segments_measure(cvtm_segments *polygon) {
  int32_t top = 0, bottom = 0, low = polygon->pixel[0].column, high = low;
  polygon->y_top = polygon->y_bottom = polygon->y[0];
  for (int32_t k = 1; k < polygon->count; ++k) {
    const double y = polygon->y[k * polygon->stride];
    const int32_t column = polygon->pixel[k * polygon->stride].column;
    if (y < polygon->y_top) {
      polygon->y_top = y;
      top = k;
    }
    if (y > polygon->y_bottom) {
      polygon->y_bottom = y;
      bottom = k;
    }
    low = column < low ? column : low;
    high = column > high ? column : high;
  }
  polygon->top = top;
  polygon->left = bottom - top < 0 ? bottom - top + polygon->count : bottom - top;
  polygon->first = polygon->pixel[top * polygon->stride].row;
  polygon->last = polygon->pixel[bottom * polygon->stride].row;
  polygon->wide = high - low > 1 ? 1 : 0;
  polygon->inner = polygon->wide != 0 ? 0 : cvtm_pixel_common_line(low, high, polygon->sx);
}

/* Sets the ends of the edges of a chain (0: left, 1: right), and for each edge the number of
 * segments of the chain before the edge. Until cvtm_segments_set_edge, edge->minor and edge->flags
 * hold the differences in column and row from the upper to the lower end. Returns the number of
 * segments of the chain. */
CVTM_HD int32_t cvtm_segments_chain(const cvtm_segments *polygon, int chain) {
  const int32_t n = polygon->count, s = polygon->stride,
                edges = chain ? n - polygon->left : polygon->left;
  int32_t k = polygon->top, segments = 0;
  cvtm_segments_pixel p = polygon->pixel[k * s];
  for (int32_t e = 0; e < edges; ++e) {
    cvtm_segments_edge *edge = polygon->edge + ((chain ? polygon->left : 0) + e) * s;
    edge->x0 = polygon->x[k * s];
    edge->y0 = polygon->y[k * s];
    k = chain ? (k > 0 ? k - 1 : n - 1) : k + 1 < n ? k + 1 : 0;
    edge->x1 = polygon->x[k * s];
    edge->y1 = polygon->y[k * s];
    cvtm_segments_pixel q = polygon->pixel[k * s];
    q.row = q.row < p.row ? p.row : q.row; /* above only by rounding */
    edge->pixel = p;
    edge->minor = q.column - p.column;
    edge->flags = q.row - p.row;
    polygon->base[((chain ? polygon->left : 0) + e) * s] = segments;
    segments += 1 + edge->flags + (edge->minor < 0 ? -edge->minor : edge->minor);
    p = q;
  }
  return segments;
}

/* Returns -x if `sign` is INT32_MIN, and x if `sign` is 0. */
CVTM_HD double cvtm_segments_flip(double x, int32_t sign) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(__double2hiint(x) ^ sign, __double2loint(x));
#else
  return sign ? -x : x;
#endif
}

/* Sets the other members of edge e, and numbers the segments of the right chain after those of the
 * left chain. */
CVTM_HD void cvtm_segments_set_edge(const cvtm_segments *polygon, int32_t e,
                                    int32_t left_segments) {
  cvtm_segments_edge *edge = polygon->edge + e * polygon->stride;
  const int right = e >= polygon->left, mirrored = edge->minor < 0;
  const int32_t sign = mirrored ? CVTM_SEGMENTS_MIRRORED : 0;
  const int32_t columns = mirrored ? -edge->minor : edge->minor, rows = edge->flags;
  edge->x0 = cvtm_segments_flip(edge->x0, sign);
  edge->x1 = cvtm_segments_flip(edge->x1, sign);
  edge->pixel.column ^= -mirrored; /* if mirrored, -1 - column */
  const double dx = edge->x1 - edge->x0, dy = edge->y1 - edge->y0;
  const double width = fabs(dx), height = fabs(dy);
  const double huge = 1125899906842624.0; /* 2^50 */
  edge->slope = width < huge * height ? dx / dy : 0;
  edge->inverse = height < huge * width ? dy / dx : 0;
  const int steep = height >= width;
  const double along = /* within the pixel */
      (cvtm_segments_flip(polygon->sx, sign) + edge->x0) - cvtm_to_double(edge->pixel.column);
  const double down = (polygon->sy + edge->y0) - cvtm_to_double(edge->pixel.row);
  const double a = steep ? width : height, b = steep ? height : width, scale = 1 / (a + b);
  const double minor = steep ? along : down, major = steep ? down : along;
  const double start = ((1 - major) * a + minor * b) * scale;
  edge->step = cvtm_segments_fixed(a * scale);
  edge->start = cvtm_segments_fixed(cvtm_cell_clamp(start, 0, 1 - 0x1p-52));
  edge->minor = steep ? columns : rows;
  edge->flags =
      sign | (steep ? CVTM_SEGMENTS_STEEP : 0) | (right != mirrored ? CVTM_SEGMENTS_OUTWARD : 0);
  if (right) polygon->base[e * polygon->stride] += left_segments;
}

/* Returns the number of minor crossings among the first u crossings of an edge. sum: start + u *
 * step; left: the number of crossings after the first u. */
CVTM_HD int32_t cvtm_segments_minor(const cvtm_segments_edge *edge, int32_t left, uint64_t sum) {
  const int32_t least = edge->minor - left, n = (int32_t)((int64_t)sum >> 52);
  const int32_t above = n > least ? n : least;
  return above < edge->minor ? above : edge->minor;
}

CVTM_HD float cvtm_segments_value(const cvtm_density_view *density, int32_t j, int32_t k) {
  if (density->periodic) {
    j = cvtm_cell_wrap(j, density->height);
    k = cvtm_cell_wrap(k, density->width);
  }
  return density->value[(int64_t)j * density->width + k];
}

/* Adds segment u of an edge, if the segment lies in rows first_row .. end_row - 1. left: the number
 * of segments of the edge after segment u. If the segment enters its row j from the row above,
 * stores its column in entry[(j - first_row) * polygon->stride]. */
CVTM_HD void cvtm_segments_add_segment(const cvtm_density_view *density,
                                       const cvtm_segments *polygon, const cvtm_segments_edge *edge,
                                       int32_t u, int32_t left, int32_t first_row, int32_t end_row,
                                       int32_t *entry, cvtm_pixel_sums *sums) {
  const uint64_t sum = edge->start + (uint64_t)(uint32_t)u * edge->step;
  const int32_t at = cvtm_segments_minor(edge, left, sum), flags = edge->flags;
  const int steep = (flags & CVTM_SEGMENTS_STEEP) != 0;
  const int32_t rows = steep ? u - at : at;
  const int32_t j = edge->pixel.row + rows, k = edge->pixel.column + (u - rows);
  const int32_t column = k ^ (flags >> 31); /* -1 - k where mirrored */
  if (j < first_row || j >= end_row) return;
  const float value = cvtm_segments_value(density, j, column); /* early, to hide the latency */
  const int32_t before = cvtm_segments_minor(edge, left + 1, sum - edge->step);
  const int32_t after = cvtm_segments_minor(edge, left - 1, sum + edge->step);
  /* by_row, to_row: true if the segment begins or ends on a line between rows; without meaning at
   * the ends of the edge (u = 0, left = 0). by_column, to_column: likewise on a line between
   * columns, and 0 at the ends of the edge. */
  const int by_row = (before != at) != steep, to_row = (after != at) != steep;
  const int by_column = u > 0 && !by_row, to_column = left > 0 && !to_row;
  if (u > 0 && by_row) entry[(j - first_row) * polygon->stride] = column;

  const int32_t sign = flags & CVTM_SEGMENTS_MIRRORED;
  const double left_x = cvtm_to_double(k) - cvtm_segments_flip(polygon->sx, sign),
               right_x = left_x + 1;
  const double top_y = cvtm_to_double(j) - polygon->sy, bottom_y = top_y + 1;
  const double x0 = edge->x0, y0 = edge->y0, slope = edge->slope, inverse = edge->inverse;
  const double begin_y = u > 0 ? top_y : y0;
  const double begin_x = CVTM_FMA(begin_y - y0, slope, x0);
  const double enter_y = CVTM_FMA(left_x - x0, inverse, y0);
  const double end_x = CVTM_FMA(bottom_y - y0, slope, x0);
  const double leave_y = CVTM_FMA(right_x - x0, inverse, y0);
  const double xa = by_column ? left_x : begin_x, ya = by_column ? enter_y : begin_y;
  double xb = to_column ? right_x : end_x, yb = to_column ? leave_y : bottom_y;
  if (left == 0) {
    xb = edge->x1;
    yb = edge->y1;
  }

  const int outward = flags & CVTM_SEGMENTS_OUTWARD;
  const double inner =
      CVTM_FMA(polygon->wide, outward ? left_x : right_x, cvtm_segments_flip(polygon->inner, sign));
  const double from_x = xa - inner, to_x = xb - inner;
  cvtm_pixel_part part;
  cvtm_pixel_set_strip(&from_x, &ya, &to_x, &yb, &part);
  if (polygon->wide != 0 && (outward ? to_column : by_column)) {
    const double from = outward ? yb : ya, end = j == polygon->last ? polygon->y_bottom : bottom_y;
    const double height = end - from, sum_y = from + end, twelve = outward ? 12 : -12;
    cvtm_pixel_add_column(&height, &sum_y, &twelve, &part);
  }
  const double rho = (double)(outward ? value : -value), rho_x = cvtm_segments_flip(rho, sign);
  cvtm_pixel_add_part(&part, &rho, &rho_x, &inner, sums);
}

/* Adds the pixels between the columns in which the two sides enter row j. */
CVTM_HD void cvtm_segments_add_run(const cvtm_density_view *density, const cvtm_segments *polygon,
                                   int32_t j, int32_t left, int32_t right, cvtm_pixel_sums *sums) {
  const double top = cvtm_to_double(j) - polygon->sy;
  cvtm_pixel_add_row(density, polygon->sx, j, j == polygon->first ? polygon->y_top : top,
                     j == polygon->last ? polygon->y_bottom : top + 1, left, right, sums);
}
