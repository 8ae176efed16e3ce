/* Integrals of a density, constant on each pixel, over a convex polygon: mass, first
 * and second moments about the origin of the polygon's coordinates (its site).
 *
 * The polygon is cut into pieces, each inside one pixel row and between two straight
 * sides. A side crosses a run of pixel columns: in each of them the region is a
 * trapezoid and perhaps a rectangle, whose moments have closed forms (the two-point
 * Gauss rule over y is exact for them). What lies between the sides is whole
 * pixels. Only positive terms of the cell's own size are added, so the result
 * is good to rounding for any ratio of densities, which prefix sums over the
 * image would not be. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_CVT_CELL_INTEGRAL_H
#define CVTMESH_CVT_CELL_INTEGRAL_H

#include "base/portable.h"

#include <stdint.h>

/* Integrals of rho, rho x, rho y and rho (x^2 + y^2). */
typedef struct cvtm_cell_sums {
  double mass, x, y, second;
} cvtm_cell_sums;

typedef struct cvtm_density_view {
  const float *value; /* width * height */
  int32_t width, height, periodic;
} cvtm_density_view;

/* Which rows and columns a caller adds up: rows row, row + rows, ... of the polygon
 * and columns column, column + columns, ... of each run. {0, 1, 0, 1} is everything. */
typedef struct cvtm_cell_lane {
  int32_t row, rows, column, columns;
} cvtm_cell_lane;

/* A polygon's side over the rows it spans: x = x0 + (y - y0) slope, kept in [low, high]. */
typedef struct cvtm_cell_side {
  double x0, y0, slope, inverse, low, high;
} cvtm_cell_side;

/* One row's worth of a polygon between y = a and b; left side from la to lb, right from ra to rb.
 */
typedef struct cvtm_cell_piece {
  double a, b, la, lb, ra, rb;
} cvtm_cell_piece;

CVTM_HD int32_t cvtm_cell_floor(double v) {
  const int32_t k = (int32_t)v;
  return v < (double)k ? k - 1 : k;
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

CVTM_HD float cvtm_cell_rho(const float *row, int32_t k, const cvtm_density_view *density) {
  return row[density->periodic ? cvtm_cell_wrap(k, density->width) : k];
}

/* Adds the trapezoid between (l0, y0), (r0, y0), (r1, y1), (l1, y1); y0 and y1 in any order. */
CVTM_HD void cvtm_cell_trapezoid(double rho, double y0, double y1, double l0, double l1, double r0,
                                 double r1, cvtm_cell_sums *sums) {
  const double root = 0.28867513459481287; /* 1 / (2 sqrt 3): the Gauss points of a unit interval */
  const double h = y1 - y0, w0 = r0 - l0, w1 = r1 - l1;
  const double w = 0.5 * (w0 + w1), x = 0.25 * ((l0 + r0) + (l1 + r1)), y = 0.5 * (y0 + y1);
  const double dw = root * (w1 - w0), dx = 0.5 * root * ((l1 + r1) - (l0 + r0)), dy = root * h;
  const double q = rho * (h < 0 ? -h : h);
  sums->mass += q * w;
  sums->x += q * (w * x + dw * dx);
  sums->y += q * (w * y + dw * dy);
  sums->second += q * (w * (x * x + dx * dx + (y * y + dy * dy)) + 2 * dw * (x * dx + y * dy) +
                       w * (w * w + 3 * dw * dw) * (1.0 / 12));
}

/* Adds [l, r] x [y0, y1]; y0 and y1 in any order. */
CVTM_HD void cvtm_cell_rectangle(double rho, double y0, double y1, double l, double r,
                                 cvtm_cell_sums *sums) {
  const double h = y1 - y0, w = r - l, x = 0.5 * (l + r), y = 0.5 * (y0 + y1);
  const double q = rho * (h < 0 ? -h : h) * w;
  sums->mass += q;
  sums->x += q * x;
  sums->y += q * y;
  sums->second += q * (x * x + y * y + (w * w + h * h) * (1.0 / 12));
}

/* Columns first..last, crossed by the left side alone, out of those c0..c1 that it
 * crosses. Walks from the side's leftmost end: a column is full where the side has
 * passed it already. */
CVTM_HD void cvtm_cell_left(const cvtm_density_view *density, const float *row, double sx,
                            const cvtm_cell_piece *p, const cvtm_cell_side *side, int32_t c0,
                            int32_t c1, int32_t last, const cvtm_cell_lane *lane,
                            cvtm_cell_sums *sums) {
  const int down = p->la <= p->lb;
  const double y_start = down ? p->a : p->b, y_end = down ? p->b : p->a;
  const double l_start = down ? p->la : p->lb, l_end = down ? p->lb : p->la;
  for (int32_t k = c0 + lane->column; k <= last; k += lane->columns) {
    const double rho = (double)cvtm_cell_rho(row, k, density);
    const double x0 = (double)k - sx, x1 = (double)(k + 1) - sx;
    double l_in = l_start, y_in = y_start, l_out = l_end, y_out = y_end;
    if (k != c0) {
      l_in = x0;
      y_in = cvtm_cell_clamp(side->y0 + (x0 - side->x0) * side->inverse, p->a, p->b);
      cvtm_cell_rectangle(rho, y_start, y_in, x0, x1, sums);
    }
    if (k != c1) {
      l_out = x1;
      y_out = cvtm_cell_clamp(side->y0 + (x1 - side->x0) * side->inverse, p->a, p->b);
    }
    cvtm_cell_trapezoid(rho, y_in, y_out, l_in, l_out, x1, x1, sums);
  }
}

/* The mirror image: columns first..c1 out of c0..c1. */
CVTM_HD void cvtm_cell_right(const cvtm_density_view *density, const float *row, double sx,
                             const cvtm_cell_piece *p, const cvtm_cell_side *side, int32_t c0,
                             int32_t c1, int32_t first, const cvtm_cell_lane *lane,
                             cvtm_cell_sums *sums) {
  const int down = p->ra >= p->rb;
  const double y_start = down ? p->a : p->b, y_end = down ? p->b : p->a;
  const double r_start = down ? p->ra : p->rb, r_end = down ? p->rb : p->ra;
  for (int32_t k = first + lane->column; k <= c1; k += lane->columns) {
    const double rho = (double)cvtm_cell_rho(row, k, density);
    const double x0 = (double)k - sx, x1 = (double)(k + 1) - sx;
    double r_in = r_start, y_in = y_start, r_out = r_end, y_out = y_end;
    if (k != c1) {
      r_in = x1;
      y_in = cvtm_cell_clamp(side->y0 + (x1 - side->x0) * side->inverse, p->a, p->b);
      cvtm_cell_rectangle(rho, y_start, y_in, x0, x1, sums);
    }
    if (k != c0) {
      r_out = x0;
      y_out = cvtm_cell_clamp(side->y0 + (x0 - side->x0) * side->inverse, p->a, p->b);
    }
    cvtm_cell_trapezoid(rho, y_in, y_out, x0, x0, r_in, r_out, sums);
  }
}

CVTM_HD double cvtm_cell_side_at(const cvtm_cell_side *side, double y) {
  return cvtm_cell_clamp(side->x0 + (y - side->y0) * side->slope, side->low, side->high);
}

/* A column [x0, x1] that both sides cross: cut where either enters or leaves it. */
CVTM_HD void cvtm_cell_both(double rho, double x0, double x1, const cvtm_cell_piece *p,
                            const cvtm_cell_side *left, const cvtm_cell_side *right,
                            cvtm_cell_sums *sums) {
  double cut[5];
  const double at[4] = {
      left->y0 + (x0 - left->x0) * left->inverse, left->y0 + (x1 - left->x0) * left->inverse,
      right->y0 + (x0 - right->x0) * right->inverse, right->y0 + (x1 - right->x0) * right->inverse};
  int cuts = 0;
  for (int e = 0; e < 4; ++e) {
    if (!(at[e] > p->a && at[e] < p->b)) continue;
    int i = cuts++;
    for (; i > 0 && cut[i - 1] > at[e]; --i) cut[i] = cut[i - 1];
    cut[i] = at[e];
  }
  cut[cuts] = p->b;
  double y0 = p->a, l0 = cvtm_cell_clamp(p->la, x0, x1), r0 = cvtm_cell_clamp(p->ra, x0, x1);
  for (int e = 0; e <= cuts; ++e) {
    const int end = e == cuts;
    const double y1 = cut[e];
    const double l1 = cvtm_cell_clamp(end ? p->lb : cvtm_cell_side_at(left, y1), x0, x1);
    double r1 = cvtm_cell_clamp(end ? p->rb : cvtm_cell_side_at(right, y1), x0, x1);
    if (r1 < l1) r1 = l1;
    cvtm_cell_trapezoid(rho, y0, y1, l0, l1, r0, r1, sums);
    y0 = y1;
    l0 = l1;
    r0 = r1;
  }
}

/* Whole pixels first..last of a row, height b - a. */
CVTM_HD void cvtm_cell_run(const cvtm_density_view *density, const float *row, double sx, double a,
                           double b, int32_t first, int32_t last, const cvtm_cell_lane *lane,
                           cvtm_cell_sums *sums) {
  double s0 = 0, s1 = 0, s2 = 0;
  const double shift = 0.5 - sx;
  int32_t k = first;
  while (k <= last) { /* one round per period of the image */
    const int32_t wrapped = density->periodic ? cvtm_cell_wrap(k, density->width) : k;
    const float *pixel = row + wrapped;
    const int32_t room = density->width - wrapped, left = last - k + 1;
    const int32_t n = left < room ? left : room;
    int32_t i = lane->column;
#ifndef __CUDA_ARCH__
    if (lane->columns == 1 && n >= 4) { /* two chains, so that additions overlap */
      double t0 = 0, t1 = 0, t2 = 0;
      for (; i + 1 < n; i += 2) {
        const double w = (double)pixel[i], x = (double)(k + i) + shift;
        const double v = (double)pixel[i + 1], z = (double)(k + i + 1) + shift;
        const double wx = w * x, vz = v * z;
        s0 += w;
        t0 += v;
        s1 += wx;
        t1 += vz;
        s2 += wx * x;
        t2 += vz * z;
      }
      s0 += t0;
      s1 += t1;
      s2 += t2;
    }
#endif
    for (; i < n; i += lane->columns) {
      const double w = (double)pixel[i], x = (double)(k + i) + shift, wx = w * x;
      s0 += w;
      s1 += wx;
      s2 += wx * x;
    }
    k += n;
  }
  const double h = b - a, y = 0.5 * (a + b);
  sums->mass += h * s0;
  sums->x += h * s1;
  sums->y += h * y * s0;
  sums->second += h * (s2 + s0 * (y * y + (1 + h * h) * (1.0 / 12)));
}

CVTM_HD int32_t cvtm_cell_column(double x, const cvtm_density_view *density) {
  const int32_t k = cvtm_cell_floor(x);
  if (density->periodic) return k;
  return k < 0 ? 0 : k < density->width ? k : density->width - 1;
}

CVTM_HD void cvtm_cell_add_piece(const cvtm_density_view *density, const float *row, double sx,
                                 const cvtm_cell_piece *p, const cvtm_cell_side *left,
                                 const cvtm_cell_side *right, const cvtm_cell_lane *lane,
                                 cvtm_cell_sums *sums) {
  const int l_down = p->la <= p->lb, r_down = p->ra <= p->rb;
  const int32_t l0 = cvtm_cell_column(sx + (l_down ? p->la : p->lb), density);
  const int32_t r1 = cvtm_cell_column(sx + (r_down ? p->rb : p->ra), density);
  if (l0 == r1) { /* all in one pixel */
    if (lane->column == 0) {
      cvtm_cell_trapezoid((double)cvtm_cell_rho(row, l0, density), p->a, p->b, p->la, p->lb, p->ra,
                          p->rb, sums);
    }
    return;
  }
  const int32_t l1 = cvtm_cell_column(sx + (l_down ? p->lb : p->la), density);
  const int32_t r0 = cvtm_cell_column(sx + (r_down ? p->ra : p->rb), density);
  cvtm_cell_left(density, row, sx, p, left, l0, l1, l1 < r0 ? l1 : r0 - 1, lane, sums);
  if (l1 + 1 < r0) cvtm_cell_run(density, row, sx, p->a, p->b, l1 + 1, r0 - 1, lane, sums);
  for (int32_t k = r0 + lane->column; k <= l1; k += lane->columns) {
    cvtm_cell_both((double)cvtm_cell_rho(row, k, density), (double)k - sx, (double)(k + 1) - sx, p,
                   left, right, sums);
  }
  cvtm_cell_right(density, row, sx, p, right, r0, r1, l1 < r0 ? r0 : l1 + 1, lane, sums);
}

CVTM_HD void cvtm_cell_set_side(cvtm_cell_side *side, double x0, double y0, double x1, double y1) {
  side->x0 = x0;
  side->y0 = y0;
  side->slope = (x1 - x0) / (y1 - y0);
  side->inverse = (y1 - y0) / (x1 - x0);
  side->low = x0 < x1 ? x0 : x1;
  side->high = x0 < x1 ? x1 : x0;
}

/* Adds to *sums. (sx, sy): the site in the domain; x, y: the corners relative to it,
 * running down the left side (clockwise in y-down numbers, as base/polygon.h has them),
 * inside the domain or, if it is periodic, anywhere. Adds nothing for count = 0. */
CVTM_HD void cvtm_cell_integrate(const cvtm_density_view *density, double sx, double sy,
                                 int32_t count, const double *x, const double *y,
                                 const cvtm_cell_lane *lane, cvtm_cell_sums *sums) {
  if (count < 3) return;
  int32_t top = 0, bottom = 0;
  for (int32_t k = 1; k < count; ++k) {
    if (y[k] < y[top]) top = k;
    if (y[k] > y[bottom]) bottom = k;
  }
  const double y_top = y[top], y_bottom = y[bottom];
  int32_t j0 = cvtm_cell_floor(sy + y_top), j1 = cvtm_cell_floor(sy + y_bottom);
  if (!density->periodic) {
    const int32_t end = density->height - 1;
    j0 = j0 < 0 ? 0 : j0 > end ? end : j0;
    j1 = j1 < 0 ? 0 : j1 > end ? end : j1;
  }
  int32_t il = top, ir = top; /* upper ends of the sides that the walk is on */
  int32_t il_next = top, ir_next = top;
  cvtm_cell_side left = {0, 0, 0, 0, 0, 0}, right = {0, 0, 0, 0, 0, 0};
  for (int32_t j = j0 + lane->row; j <= j1; j += lane->rows) {
    const int32_t jw = density->periodic ? cvtm_cell_wrap(j, density->height) : j;
    const float *row = density->value + (int64_t)jw * density->width;
    const double end = j == j1 ? y_bottom : (double)(j + 1) - sy;
    cvtm_cell_piece p;
    cvtm_cell_sums part = {0, 0, 0, 0};
    p.a = j == j0 ? y_top : (double)j - sy;
    while (p.a < end) {
      int moved = 0;
      while (il_next != bottom && (il_next == il || y[il_next] <= p.a)) {
        il = il_next;
        il_next = il + 1 < count ? il + 1 : 0;
        moved = 1;
      }
      if (moved) cvtm_cell_set_side(&left, x[il], y[il], x[il_next], y[il_next]);
      moved = 0;
      while (ir_next != bottom && (ir_next == ir || y[ir_next] <= p.a)) {
        ir = ir_next;
        ir_next = ir > 0 ? ir - 1 : count - 1;
        moved = 1;
      }
      if (moved) cvtm_cell_set_side(&right, x[ir], y[ir], x[ir_next], y[ir_next]);
      p.b = end;
      if (y[il_next] < p.b) p.b = y[il_next];
      if (y[ir_next] < p.b) p.b = y[ir_next];
      if (!(p.b > p.a)) break;
      p.la = cvtm_cell_side_at(&left, p.a);
      p.lb = cvtm_cell_side_at(&left, p.b);
      p.ra = cvtm_cell_side_at(&right, p.a);
      p.rb = cvtm_cell_side_at(&right, p.b);
      if (p.ra < p.la) p.ra = p.la;
      if (p.rb < p.lb) p.rb = p.lb;
      cvtm_cell_add_piece(density, row, sx, &p, &left, &right, lane, &part);
      p.a = p.b;
    }
    sums->mass += part.mass;
    sums->x += part.x;
    sums->y += part.y;
    sums->second += part.second;
  }
}

#endif
