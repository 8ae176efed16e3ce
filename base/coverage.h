/* The exact area that a polygon covers of each pixel, edge by edge. Edges add changes of coverage
 * to an accumulator; the running sum along a row of pixels is then the (signed) coverage. */
#ifndef CVTMESH_BASE_COVERAGE_H
#define CVTMESH_BASE_COVERAGE_H

#include <math.h>

/* Pixels [x0, x1) x [y0, y1), at least one. */
typedef struct cvtm_pixel_box {
  int x0, y0, x1, y1;
} cvtm_pixel_box;

/* Adds `change` to pixel (x, y) of the accumulator, x0 <= x <= x1 + 1. */
typedef void (*cvtm_add_coverage)(void *accumulator, int x, int y, double change);

static inline int cvtm_clamp_pixel(double value, int low, int high) {
  if (!(value > low)) return low;
  return value < high ? (int)value : high;
}

/* Within row y the edge lies between x = low and high, low <= high, and crosses `height` of it. */
static inline void cvtm_cover_row(double low, double high, double height, int y, int last_pixel,
                                  cvtm_add_coverage add, void *accumulator) {
  const int first = (int)fmin(floor(low), last_pixel), last = (int)fmin(floor(high), last_pixel);
  const double slope = high > low ? 1 / (high - low) : 0;
  double before = 0; /* share of the edge's height that lies left of the pixel's right side */
  double done = 0;
  for (int i = first; i <= last; ++i) {
    const double right = i == last ? high : i + 1.0;
    const double left = i == first ? low : (double)i;
    const double share = i == last ? 1 - before : (right - left) * slope;
    /* Of pixel i this part covers what lies right of its middle; of the pixels beyond, all. */
    const double inside = share * (i + 1 - 0.5 * (left + right)) + before;
    add(accumulator, i, y, height * (inside - done));
    done = inside;
    before += share;
  }
  add(accumulator, last + 1, y, height * (1 - done));
}

/* Adds weight times the area right of the edge from p to q, negative where the edge rises (y is
 * down). What lies left or right of the box counts as on its border. */
static inline void cvtm_cover_edge(const double *p, const double *q, double weight,
                                   cvtm_pixel_box box, cvtm_add_coverage add, void *accumulator) {
  if (p[1] == q[1]) return;
  const double *upper = p[1] < q[1] ? p : q, *lower = p[1] < q[1] ? q : p;
  const double sign = p[1] < q[1] ? weight : -weight;
  const double slope = (lower[0] - upper[0]) / (lower[1] - upper[1]);
  const int first = cvtm_clamp_pixel(floor(upper[1]), box.y0, box.y1);
  const int end = cvtm_clamp_pixel(ceil(lower[1]), box.y0, box.y1);
  for (int y = first; y < end; ++y) {
    const double from = fmax(upper[1], y), to = fmin(lower[1], y + 1.0);
    const double a = upper[0] + (from - upper[1]) * slope, b = upper[0] + (to - upper[1]) * slope;
    const double x = fmin(fmax(a, box.x0), box.x1), z = fmin(fmax(b, box.x0), box.x1);
    cvtm_cover_row(fmin(x, z), fmax(x, z), sign * (to - from), y, box.x1 - 1, add, accumulator);
  }
}

#endif
