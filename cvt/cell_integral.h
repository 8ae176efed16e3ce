/* Integrals of a density, constant on each pixel, over a convex polygon: mass, first
 * and second moments about the origin of the polygon's coordinates (its site). And
 * the plain sums over the pixel centres that it holds.
 *
 * The polygon is cut into pixel rows. In a row, Green's theorem turns the integral
 * over the region into one along its two sides, of the density's antiderivative in x; that is
 * counted from the pixel where each side begins, and the whole pixels between those two
 * are added row by row. Along a straight side within one pixel the integrand is a cubic, for which
 * two Gauss points are exact; the step to the next pixel changes its coefficients. So only
 * pixels that the cell touches enter, and the result is good to the rounding of
 * the corners for any ratio of densities, which prefix sums over the image would not
 * be. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_CVT_CELL_INTEGRAL_H
#define CVTMESH_CVT_CELL_INTEGRAL_H

#include "base/portable.h"
#include "cvt/voronoi_cell.h"

#include <stdint.h>

/* Integrals of rho, rho x, rho y and rho (x^2 + y^2). */
typedef struct cvtm_cell_sums {
  double mass, x, y, second;
} cvtm_cell_sums;

typedef struct cvtm_density_view {
  const float *value; /* width * height */
  int32_t width, height, periodic;
} cvtm_density_view;

/* The side of a polygon that a walk down it is on: from corner `at` to corner `next`,
 * x = x0 + (y - y0) slope. */
typedef struct cvtm_cell_side {
  int32_t at, next;
  double x0, y0, x1, y1, slope, inverse;
} cvtm_cell_side;

/* A polygon being walked down, row by row. (sx, sy) is its site in the domain. */
typedef struct cvtm_cell_rows {
  double sx, sy, y_top, y_bottom;
  int32_t first, last; /* rows; along a periodic axis perhaps outside the domain */
  int32_t bottom;      /* corner */
  cvtm_cell_side left, right;
} cvtm_cell_rows;

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

CVTM_HD double cvtm_cell_rho(const float *row, int32_t k, const cvtm_density_view *density) {
  return (double)row[density->periodic ? cvtm_cell_wrap(k, density->width) : k];
}

CVTM_HD const float *cvtm_cell_row(const cvtm_density_view *density, int32_t j) {
  const int32_t wrapped = density->periodic ? cvtm_cell_wrap(j, density->height) : j;
  return density->value + (int64_t)wrapped * density->width;
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

/* Goes on to the side that holds y, where the walk has come to. */
CVTM_HD void cvtm_cell_follow(const cvtm_cell *cell, int32_t bottom, int32_t step, double y,
                              cvtm_cell_side *side) {
  if (side->next == bottom || (side->next != side->at && side->y1 > y)) return;
  do {
    side->at = side->next;
    side->next = cvtm_cell_next(cell, side->at, step);
    side->y1 = cell->y[side->next * cell->stride];
  } while (side->next != bottom && side->y1 <= y);
  side->x0 = cell->x[side->at * cell->stride];
  side->y0 = cell->y[side->at * cell->stride];
  side->x1 = cell->x[side->next * cell->stride];
  side->slope = (side->x1 - side->x0) / (side->y1 - side->y0);
  side->inverse = (side->y1 - side->y0) / (side->x1 - side->x0);
}

CVTM_HD double cvtm_cell_side_at(const cvtm_cell_side *side, double y) {
  const double x = side->x0 + (y - side->y0) * side->slope;
  return side->x0 < side->x1 ? cvtm_cell_clamp(x, side->x0, side->x1)
                             : cvtm_cell_clamp(x, side->x1, side->x0);
}

/* Before the first row, of a cell with at least 3 corners. */
CVTM_HD void cvtm_cell_begin_rows(const cvtm_density_view *density, double sx, double sy,
                                  const cvtm_cell *cell, cvtm_cell_rows *rows) {
  int32_t top = 0;
  rows->sx = sx;
  rows->sy = sy;
  rows->bottom = 0;
  rows->y_top = rows->y_bottom = cell->y[0];
  for (int32_t k = 1; k < cell->count; ++k) {
    const double y = cell->y[k * cell->stride];
    if (y < rows->y_top) {
      rows->y_top = y;
      top = k;
    }
    if (y > rows->y_bottom) {
      rows->y_bottom = y;
      rows->bottom = k;
    }
  }
  rows->first = cvtm_cell_pixel(sy + rows->y_top, density->height, density->periodic);
  rows->last = cvtm_cell_pixel(sy + rows->y_bottom, density->height, density->periodic);
  const cvtm_cell_side above = {top, top, 0, 0, 0, rows->y_top, 0, 0};
  rows->left = rows->right = above;
}

/* The integrals along a side, before what they have in common is divided out. */
typedef struct cvtm_cell_green {
  double mass, x2, y, xx3, yy;
} cvtm_cell_green;

/* Adds the integral from (x, y) to (xt, yt) of c0 + rho x and so on; weight: half the height. */
CVTM_HD void cvtm_cell_add_segment(double weight, double x, double y, double xt, double yt,
                                   double rho, double c0, double c1, double c2,
                                   cvtm_cell_green *g) {
  const double root = 0.28867513459481287; /* 1 / (2 sqrt 3): the Gauss points of a unit interval */
  const double xm = 0.5 * (x + xt), ym = 0.5 * (y + yt);
  const double dx = root * (xt - x), dy = root * (yt - y);
  const double xa = xm - dx, xb = xm + dx, ya = ym - dy, yb = ym + dy;
  const double ra = rho * xa, rb = rho * xb;
  const double rra = ra * xa, rrb = rb * xb;
  const double ga = c0 + ra, gb = c0 + rb;
  const double gya = ga * ya, gyb = gb * yb;
  g->mass += weight * (ga + gb);
  g->x2 += weight * ((c1 + rra) + (c1 + rrb));
  g->y += weight * (gya + gyb);
  g->xx3 += weight * ((c2 + rra * xa) + (c2 + rrb * xb));
  g->yy += weight * (gya * ya + gyb * yb);
}

/* Where a side enters a row. */
typedef struct cvtm_cell_entry_point {
  double x;
  int32_t column;
} cvtm_cell_entry_point;

CVTM_HD cvtm_cell_entry_point cvtm_cell_enter_row(const cvtm_density_view *density, double sx,
                                                  const cvtm_cell *cell, int32_t bottom,
                                                  int32_t step, double y, cvtm_cell_side *side) {
  cvtm_cell_entry_point p;
  cvtm_cell_follow(cell, bottom, step, y, side);
  p.x = cvtm_cell_side_at(side, y);
  p.column = cvtm_cell_pixel(sx + p.x, density->width, density->periodic);
  return p;
}

/* Walks the left (step 1) or right (step -1) side of a row from y = a down to b. The
 * antiderivatives are 0 at x = zero, in the pixel where the side begins. */
CVTM_HD void cvtm_cell_walk_side(const cvtm_density_view *density, const float *row, double sx,
                                 const cvtm_cell *cell, int32_t bottom, int32_t step,
                                 cvtm_cell_entry_point p, double zero, double a, double b,
                                 cvtm_cell_side *side, cvtm_cell_green *g) {
  double x = p.x, y = a;
  int32_t k = p.column;
  const double half = step > 0 ? -0.5 : 0.5;
  double rho = cvtm_cell_rho(row, k, density);
  double c0 = -rho * zero, c1 = c0 * zero, c2 = c1 * zero;
  while (y < b) {
    const int corner = side->y1 < b;
    double yt = corner ? side->y1 : b;
    double xt = corner ? side->x1 : cvtm_cell_side_at(side, b);
    const int right = xt > x;
    const double line = (double)(k + right) - sx;
    const int32_t column = right ? k + 1 : k - 1;
    const int crossing = (right ? xt > line : xt < line) &&
                         (density->periodic || (column >= 0 && column < density->width));
    if (crossing) {
      xt = line;
      yt = cvtm_cell_clamp(side->y0 + (line - side->x0) * side->inverse, y, yt);
    }
    cvtm_cell_add_segment(half * (yt - y), x, y, xt, yt, rho, c0, c1, c2, g);
    x = xt;
    y = yt;
    if (crossing) {
      const double next = cvtm_cell_rho(row, column, density);
      const double d0 = (rho - next) * line, d1 = d0 * line;
      c0 += d0;
      c1 += d1;
      c2 += d1 * line;
      rho = next;
      k = column;
    } else if (corner) {
      if (side->next == bottom) break;
      cvtm_cell_follow(cell, bottom, step, y, side);
      x = side->x0;
    }
  }
}

/* Sums of rho, rho x and rho x^2 at the centres of columns first .. last - 1 of a row. */
typedef struct cvtm_cell_run {
  double s0, s1, s2;
} cvtm_cell_run;

CVTM_HD cvtm_cell_run cvtm_cell_sum_run(const cvtm_density_view *density, const float *row,
                                        double sx, int32_t first, int32_t last) {
  cvtm_cell_run run = {0, 0, 0};
  const double shift = 0.5 - sx;
  int32_t k = first;
  while (k < last) { /* one round per period of the image */
    const int32_t wrapped = density->periodic ? cvtm_cell_wrap(k, density->width) : k;
    const int32_t room = density->width - wrapped, left = last - k;
    const int32_t n = left < room ? left : room;
    const float *pixel = row + wrapped;
    for (int32_t i = 0; i < n; ++i) {
      const double w = (double)pixel[i], x = (double)(k + i) + shift, wx = w * x;
      run.s0 += w;
      run.s1 += wx;
      run.s2 += wx * x;
    }
    k += n;
  }
  return run;
}

/* Adds row j; the rows of a cell come in ascending order, not necessarily from the first on. */
CVTM_HD void cvtm_cell_add_row(const cvtm_density_view *density, const cvtm_cell *cell,
                               cvtm_cell_rows *rows, int32_t j, cvtm_cell_sums *sums) {
  const double a = j == rows->first ? rows->y_top : (double)j - rows->sy;
  const double b = j == rows->last ? rows->y_bottom : (double)(j + 1) - rows->sy;
  if (!(a < b)) return;
  const float *row = cvtm_cell_row(density, j);
  cvtm_cell_green g = {0, 0, 0, 0, 0};
  const cvtm_cell_entry_point left =
      cvtm_cell_enter_row(density, rows->sx, cell, rows->bottom, 1, a, &rows->left);
  const cvtm_cell_entry_point right =
      cvtm_cell_enter_row(density, rows->sx, cell, rows->bottom, -1, a, &rows->right);
  /* Of the pixels where the sides begin, whole ones lie between these edges. */
  const int apart = left.column < right.column;
  const double zero0 = apart ? (double)(left.column + 1) - rows->sx : left.x;
  const double zero1 = apart ? (double)right.column - rows->sx : left.x;
  cvtm_cell_walk_side(density, row, rows->sx, cell, rows->bottom, 1, left, zero0, a, b, &rows->left,
                      &g);
  cvtm_cell_walk_side(density, row, rows->sx, cell, rows->bottom, -1, right, zero1, a, b,
                      &rows->right, &g);
  const cvtm_cell_run run =
      cvtm_cell_sum_run(density, row, rows->sx, left.column + 1, right.column);
  const double h = b - a, y = 0.5 * (a + b);
  sums->mass += g.mass + h * run.s0;
  sums->x += 0.5 * g.x2 + h * run.s1;
  sums->y += g.y + h * y * run.s0;
  sums->second +=
      ((1.0 / 3) * g.xx3 + g.yy) + h * (run.s2 + run.s0 * (y * y + (1 + h * h) * (1.0 / 12)));
}

/* --- the plain sum over pixel centres ------------------------------------------------- */

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
  cvtm_cell_bins bins = cvtm_cell_bins_for(tree, domain, reach);
  for (int image = 0; image < 9; ++image) {
    if (image != 4 && !domain.periodic) continue;
    const double image_x = o.x + (image % 3 - 1) * (double)domain.width;
    const double image_y = o.y + (image / 3 - 1) * (double)domain.height;
    const int32_t x0 = cvtm_cell_bin_along(&bins, image_x - reach, domain.width);
    const int32_t x1 = cvtm_cell_bin_along(&bins, image_x + reach, domain.width);
    const int32_t y0 = cvtm_cell_bin_along(&bins, image_y - reach, domain.height);
    const int32_t y1 = cvtm_cell_bin_along(&bins, image_y + reach, domain.height);
    for (int32_t by = y0; by <= y1; ++by) {
      for (int32_t bx = x0; bx <= x1; ++bx) {
        int32_t first, last;
        cvtm_cell_bin_sites(tree, bins.level, bx, by, &first, &last);
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
CVTM_HD double cvtm_cell_doubt(cvtm_domain domain, const cvtm_cell *cell) {
  return 1e-12 * (double)(domain.width + domain.height) +
         1e-14 * cvtm_cell_radius2(cell) / sqrt(cell->nearest2);
}

CVTM_HD void cvtm_cell_add_centre(const cvtm_density_view *density, const float *row, double x,
                                  int32_t k, double y, cvtm_cell_sums *sums) {
  const double w = cvtm_cell_rho(row, k, density);
  sums->mass += w;
  sums->x += w * x;
  sums->y += w * y;
  sums->second += w * (x * x + y * y);
}

/* Adds the pixel centres of row j that belong to the site at `place`. */
CVTM_HD void cvtm_cell_add_centres(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                   const cvtm_density_view *density, int64_t place,
                                   const cvtm_cell *cell, double doubt, cvtm_cell_rows *rows,
                                   int32_t j, cvtm_cell_sums *sums) {
  const double y = ((double)j + 0.5) - rows->sy, sx = rows->sx;
  if (y < rows->y_top - doubt || y > rows->y_bottom + doubt) return;
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
    cvtm_cell_follow(cell, rows->bottom, 1, y, &rows->left);
    cvtm_cell_follow(cell, rows->bottom, -1, y, &rows->right);
    x0 = cvtm_cell_side_at(&rows->left, y);
    x1 = cvtm_cell_side_at(&rows->right, y);
    doubt0 = doubt * (1 + fabs(rows->left.slope));
    doubt1 = doubt * (1 + fabs(rows->right.slope));
  }
  /* Centres of columns first .. last are perhaps the cell's, sure0 .. sure1 are. */
  int32_t first = cvtm_cell_floor(sx + (x0 - doubt0) - 0.5) + 1;
  int32_t last = cvtm_cell_floor(sx + (x1 + doubt1) - 0.5);
  int32_t sure0 = cvtm_cell_floor(sx + (x0 + doubt0) - 0.5) + 1;
  int32_t sure1 = cvtm_cell_floor(sx + (x1 - doubt1) - 0.5);
  if (!density->periodic) {
    if (first < 0) first = 0;
    if (sure0 < 0) sure0 = 0;
    if (last >= density->width) last = density->width - 1;
    if (sure1 >= density->width) sure1 = density->width - 1;
  }
  if (sure0 > sure1) sure0 = sure1 = last + 1; /* none is */
  const float *row = cvtm_cell_row(density, j);
  for (int32_t k = first; k <= last; ++k) {
    if (k == sure0 && sure0 <= sure1 && sure1 <= last) {
      const cvtm_cell_run run = cvtm_cell_sum_run(density, row, sx, sure0, sure1 + 1);
      sums->mass += run.s0;
      sums->x += run.s1;
      sums->y += run.s0 * y;
      sums->second += run.s2 + run.s0 * (y * y);
      k = sure1;
    } else {
      const double x = ((double)k + 0.5) - sx;
      if (cvtm_cell_owns(tree, domain, place, k, j, x, y))
        cvtm_cell_add_centre(density, row, x, k, y, sums);
    }
  }
}

/* --- a whole cell --------------------------------------------------------------------- */

CVTM_HD void cvtm_cell_integrate(const cvtm_density_view *density, double sx, double sy,
                                 const cvtm_cell *cell, cvtm_cell_sums *sums) {
  if (cell->count < 3) return;
  cvtm_cell_rows rows;
  cvtm_cell_begin_rows(density, sx, sy, cell, &rows);
  for (int32_t j = rows.first; j <= rows.last; ++j)
    cvtm_cell_add_row(density, cell, &rows, j, sums);
}

#endif
