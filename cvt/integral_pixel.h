/* The contributions of pixels to the exact moments of a convex cell. Three integrators add the
 * contributions in different orders, and agree up to rounding:
 *
 * integral.h           walks down the two sides of any cell, over any range of its rows.
 * integral_batch.h     walks down 2 or 4 edges of several cells at a time, on a CPU. Takes 0.5
 *                      times as long as integral.h for cells of 30 or more pixels, 0.7 times for 3
 *                      pixels.
 * integral_segments.h  computes all segments independently, so that the lanes of a warp can share a
 *                      cell with few corners.
 *
 * A segment is the part of an edge within one pixel. A side of a cell goes down from the top corner
 * to the bottom corner. On the left side of the cell, the inner line of a pixel is its right
 * vertical line and the outer line its left one; on the right side, the reverse. The contributions
 * to a row of pixels are:
 *
 * - the area between each segment and the inner line of its pixel;
 * - the pixels between the two pixels in which the sides enter the row, over the height of the row;
 * - a pixel that a side leaves through its outer line, from the crossing down to the end of the
 *   row;
 * - minus a pixel that a side enters through its outer line, from the crossing down to the end of
 *   the row.
 *
 * In a cell with at most two columns all segments have a common inner line, and the only
 * contributions are the areas between the segments and that line.
 *
 * Only pixels that the cell touches contribute. So the errors of the result are those of the
 * rounded corners, for any ratio of densities, unlike with prefix sums over the image. Compiles as
 * C11 and inside CUDA kernels. */
#pragma once

#include "base/host.h"
#include "cvt/density_row.h"

/* Defines types and functions for one segment (`lanes` is double) or for several segments (`lanes`
 * is a vector of doubles). Vectors are passed by address, since how they are passed by value
 * depends on the processor.
 *
 * prefix_sums        Multiples of the moments of a cell: 2 mass, 24 x, 12 y, 24 second.
 * prefix_part        The integrals of 1, x, x^2, y and y^2 over a part of a pixel, times 2, 24, 24,
 *                    12 and 24. x is relative to the inner line.
 * prefix_set_strip   Sets a part to the area between the inner line and the segment from (xa, ya)
 *                    to (xb, yb).
 * prefix_add_column  Adds a part that is as wide as the pixel, with the given height. sum_y: twice
 *                    the y of the centre of this part; twelve: 12 if the pixel is to the right of
 *                    the inner line, else -12.
 * prefix_add_part    Adds a part times the density to the sums. inner: x of the inner line; rho_x:
 *                    rho, or -rho where x is mirrored. */
#define CVTM_DEFINE_PIXEL_INTEGRALS(prefix, lanes)                                        \
  typedef struct prefix##_sums {                                                          \
    lanes mass, x, y, second;                                                             \
  } prefix##_sums;                                                                        \
  typedef struct prefix##_part {                                                          \
    lanes mass, x, xx, y, yy;                                                             \
  } prefix##_part;                                                                        \
                                                                                          \
  CVTM_INLINE void prefix##_set_strip(const lanes *xa, const lanes *ya, const lanes *xb,  \
                                      const lanes *yb, prefix##_part *part) {             \
    const lanes h = *yb - *ya, s = *xa + *xb, t = *ya + *yb, dx = *xb - *xa;              \
    const lanes ss = s * s, dd = dx * dx, hh = h * h, skew = hh * dx;                     \
    part->mass = h * s;                                                                   \
    part->x = h * CVTM_FMA(3, ss, dd);                                                    \
    part->xx = part->mass * (ss + dd);                                                    \
    part->y = CVTM_FMA(3 * part->mass, t, skew);                                          \
    part->yy = CVTM_FMA(t, part->y + skew, part->mass * hh);                              \
  }                                                                                       \
                                                                                          \
  CVTM_INLINE void prefix##_add_column(const lanes *height, const lanes *sum_y,           \
                                       const lanes *twelve, prefix##_part *part) {        \
    const lanes h = *height, moment = 6 * h * *sum_y;                                     \
    part->mass = CVTM_FMA(2, h, part->mass);                                              \
    part->x = CVTM_FMA(*twelve, h, part->x);                                              \
    part->xx = CVTM_FMA(8, h, part->xx);                                                  \
    part->y += moment;                                                                    \
    part->yy += CVTM_FMA(moment, *sum_y, 2 * h * (h * h));                                \
  }                                                                                       \
                                                                                          \
  CVTM_INLINE void prefix##_add_part(const prefix##_part *part, const lanes *rho,         \
                                     const lanes *rho_x, const lanes *inner,              \
                                     prefix##_sums *sums) {                               \
    const lanes x = CVTM_FMA(12 * *inner, part->mass, part->x);                           \
    sums->mass = CVTM_FMA(*rho, part->mass, sums->mass);                                  \
    sums->x = CVTM_FMA(*rho_x, x, sums->x);                                               \
    sums->y = CVTM_FMA(*rho, part->y, sums->y);                                           \
    sums->second =                                                                        \
        CVTM_FMA(*rho, CVTM_FMA(*inner, x + part->x, part->xx + part->yy), sums->second); \
  }

CVTM_DEFINE_PIXEL_INTEGRALS(cvtm_pixel, double)

CVTM_HD cvtm_cell_moments cvtm_pixel_moments(const cvtm_pixel_sums *sums) {
  const cvtm_cell_moments of = {0.5 * sums->mass, (1.0 / 24) * sums->x, (1.0 / 12) * sums->y,
                                (1.0 / 24) * sums->second};
  return of;
}

/* x of the common inner line of a cell in one column, or in the two columns low and high. For two
 * columns this is the line between them. In one column any x would do; the x nearest to the site
 * keeps the accuracy where many cells share a pixel. */
CVTM_HD double cvtm_pixel_common_line(int32_t low, int32_t high, double sx) {
  const double line = cvtm_to_double(high) - sx;
  return high > low ? line : cvtm_cell_clamp(0, line, line + 1);
}

/* Adds the pixels between the columns `left` and `right` in which the two sides enter row j, from
 * y = top to `bottom`. If right <= left, subtracts the pixels right .. left. */
CVTM_HD void cvtm_pixel_add_row(const cvtm_density_view *density, double sx, int32_t j, double top,
                                double bottom, int32_t left, int32_t right, cvtm_pixel_sums *sums) {
  const int back = right <= left;
  const int32_t first = back ? right : left + 1, end = back ? left + 1 : right;
  const double span = bottom - top, h = back ? -span : span, y = 0.5 * (top + bottom);
  const cvtm_pixel_run run =
      cvtm_pixel_run_sum(density, cvtm_density_row(density, j), sx, first, end);
  const double moment = CVTM_FMA(2 * span, span, CVTM_FMA(24 * y, y, 2)), h12 = 12 * h;
  sums->mass = CVTM_FMA(2 * h, run.s0, sums->mass);
  sums->x = CVTM_FMA(2 * h12, run.s1, sums->x);
  sums->y = CVTM_FMA(h12 * y, run.s0, sums->y);
  sums->second = CVTM_FMA(h, CVTM_FMA(run.s0, moment, 24 * run.s2), sums->second);
}
