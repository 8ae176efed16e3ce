/* Sums of a density over the pixel centres in a cell: of a polygon, or without a polygon from the
 * neighbouring sites, which are found in the bins around.
 *
 * Without a polygon: in a row of pixels, the bisector with a site at n, relative to the cell's
 * site, bounds x by (|n|^2 / 2 - n_y y) / n_x, from above or from below. The tightest bounds of all
 * bisectors leave the pixels of the row. They are computed in single precision together with their
 * error bound, so that a centre is certainly inside, certainly outside, or uncertain. An uncertain
 * centre is compared with the sites around. No site farther away than twice the cell's farthest
 * centre can own one of its centres. Rows are added from the site upwards and downwards until one
 * misses the cell, which is convex.
 *
 * Compiles as C11 and inside CUDA kernels, where several lanes share a cell. */
#ifndef CVTMESH_CVT_PIXEL_SUM_H
#define CVTMESH_CVT_PIXEL_SUM_H

#include "cvt/density_row.h"
#include "voronoi/cell_by_hull.h"

/* --- of a polygon ---------------------------------------------------------------------- */

CVTM_HD void cvtm_pixel_sum_add(const cvtm_density_view *density, const float *row, double x,
                                int32_t k, double y, cvtm_cell_moments *sums) {
  const double w = cvtm_density_at(row, k, density);
  sums->mass += w;
  sums->x += w * x;
  sums->y += w * y;
  sums->second += w * (x * x + y * y);
}

/* Adds the centres of row j that belong to the site at a place, whose cell is a polygon. */
CVTM_HD void cvtm_pixel_sum_polygon_row(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                        const cvtm_density_view *density, int64_t place,
                                        const cvtm_cell *cell, double tolerance,
                                        cvtm_cell_walk *rows, int32_t j, cvtm_cell_moments *sums) {
  const double y = ((double)j + 0.5) - rows->sy, sx = rows->sx;
  const float *row = cvtm_density_row(density, j);
  const cvtm_cell_span span = cvtm_cell_row_span(domain, cell, tolerance, rows, j);
  for (int32_t k = span.first; k <= span.last; ++k) {
    if (k == span.certain_first) {
      const cvtm_pixel_run run =
          cvtm_pixel_run_sum(density, row, sx, span.certain_first, span.certain_last + 1);
      sums->mass += run.s0;
      sums->x += run.s1;
      sums->y += run.s0 * y;
      sums->second += run.s2 + run.s0 * (y * y);
      k = span.certain_last;
    } else {
      const double x = ((double)k + 0.5) - sx;
      if (cvtm_cell_owns(tree, domain, place, k, j, x, y))
        cvtm_pixel_sum_add(density, row, x, k, y, sums);
    }
  }
}

/* --- of a site among its neighbours ----------------------------------------------------- */

enum {
  CVTM_PIXEL_STEP = 4,   /* bounds that are evaluated together */
  CVTM_PIXEL_SITES = 20, /* neighbours of a cell, at most: a multiple of CVTM_PIXEL_STEP */
  CVTM_PIXEL_ROWS = 512, /* of a cell, about */
  CVTM_PIXEL_ROUNDS = 8  /* of the search for neighbours, before it fails */
};

#ifdef __CUDACC__
#define CVTM_PIXEL_ALIGNED __align__(16)
#else
#define CVTM_PIXEL_ALIGNED
#endif

/* A bisector as a bound of x in row y: between slope * y + inner and slope * y + outer, of which
 * the second is farther from the cell. */
typedef struct CVTM_PIXEL_ALIGNED cvtm_pixel_bound {
  float slope, outer, inner;
  int32_t above; /* 1: an upper bound; 0: a lower bound */
} cvtm_pixel_bound;

/* A cell's bounds, in memory that its lanes share: bound k is bound[k * stride]. They are padded to
 * a multiple of CVTM_PIXEL_STEP by bounds at infinity. */
typedef struct cvtm_pixel_cell {
  int32_t count, stride;
  float reach;       /* half of the distance up to which all sites are listed */
  float left, right; /* of the domain; on a torus half a period away */
  double sx, sy;
  const cvtm_pixel_bound *bound;
} cvtm_pixel_cell;

/* The bisector with a site at (x, y), in rows |y| <= reach. grain: the rounding of coordinates. A
 * bisector that is nearly parallel to the rows gets a slope that crosses the cell within 1e-4 of
 * its height, with an error bound to match. */
CVTM_HD cvtm_pixel_bound cvtm_pixel_bound_of(float x, float y, float reach, float grain) {
  const float least = 1e-4F * fabsf(y);
  const int flat = !(fabsf(x) > least);
  const float across = flat ? (x < 0 ? -least : least) : x;
  const float inverse = 1 / across, half = 0.5F * (x * x + y * y);
  const float slope = -y * inverse, at = half * inverse, far = reach * fabsf(inverse);
  const float tolerance = 1e-6F * (fabsf(slope) * reach + fabsf(at) + 1) +
                          grain * (1 + fabsf(slope)) * (1 + far) + 1e-14F * reach * far +
                          (flat ? 3 * reach : 0);
  const int useful = tolerance < 1e30F;
  const float outward = useful ? (across > 0 ? tolerance : -tolerance) : 1e30F;
  const float middle = useful ? at : 0;
  const cvtm_pixel_bound bound = {useful ? slope : 0, middle + outward, middle - outward,
                                  outward > 0};
  return bound;
}

/* The outermost and the innermost bounds of x in a row. */
typedef struct cvtm_pixel_span {
  float left, right, left_inner, right_inner;
} cvtm_pixel_span;

CVTM_HD cvtm_pixel_span cvtm_pixel_find_span(const cvtm_pixel_cell *cell, float y) {
  cvtm_pixel_span span = {cell->left, cell->right, cell->left, cell->right};
  for (int32_t first = 0; first < cell->count; first += CVTM_PIXEL_STEP) {
    for (int32_t k = first; k < first + CVTM_PIXEL_STEP; ++k) {
      const cvtm_pixel_bound b = cell->bound[k * cell->stride];
      const float outer = CVTM_FMAF(b.slope, y, b.outer), inner = CVTM_FMAF(b.slope, y, b.inner);
      if (b.above) {
        span.right = fminf(span.right, outer);
        span.right_inner = fminf(span.right_inner, inner);
      } else {
        span.left = fmaxf(span.left, outer);
        span.left_inner = fmaxf(span.left_inner, inner);
      }
    }
  }
  span.left_inner = fminf(span.left_inner, cell->right);
  span.right_inner = fmaxf(span.right_inner, cell->left);
  return span;
}

/* The largest integer that is not above v, for |v| < 2^21. */
CVTM_HD int32_t cvtm_pixel_floor(float v) {
#ifdef __CUDA_ARCH__
  return __float_as_int(__fadd_rd(v, 12582912.0F)) - 0x4B400000; /* conversions are slow */
#else
  const int32_t k = (int32_t)v;
  return v < (float)k ? k - 1 : k;
#endif
}

/* The columns of a row whose centres may be in a cell, and those whose centres certainly are. */
typedef struct cvtm_pixel_columns {
  int32_t first, last, sure_first, sure_last;
} cvtm_pixel_columns;

/* shift: the offset of the centre of column 0 from the site. */
CVTM_HD cvtm_pixel_columns cvtm_pixel_find_columns(const cvtm_pixel_span *span, float shift) {
  const cvtm_pixel_columns columns = {
      -cvtm_pixel_floor(shift - span->left), cvtm_pixel_floor(span->right - shift),
      -cvtm_pixel_floor(shift - span->left_inner), cvtm_pixel_floor(span->right_inner - shift)};
  return columns;
}

/* Adds the uncertain centres of row j that belong to the site at a place. */
CVTM_HD void cvtm_pixel_add_uncertain(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                      const cvtm_density_view *density, const cvtm_pixel_cell *cell,
                                      int64_t place, int32_t j, int32_t column,
                                      const cvtm_pixel_columns *c, cvtm_cell_moments *sums) {
  const double y = ((double)j + 0.5) - cell->sy;
  for (int32_t k = c->first; k <= c->last; ++k) {
    if (k >= c->sure_first && k <= c->sure_last) continue;
    const double x = ((double)(column + k) + 0.5) - cell->sx;
    if (cvtm_cell_owns(tree, domain, place, column + k, j, x, y))
      cvtm_pixel_sum_add(density, cvtm_density_row(density, j), x, column + k, y, sums);
  }
}

/* Adds row j. */
CVTM_HD void cvtm_pixel_add_row(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                const cvtm_density_view *density, const cvtm_pixel_cell *cell,
                                int64_t place, int32_t j, int32_t column,
                                const cvtm_pixel_columns *c, cvtm_cell_moments *sums) {
  if (c->first != c->sure_first || c->last != c->sure_last)
    cvtm_pixel_add_uncertain(tree, domain, density, cell, place, j, column, c, sums);
  if (c->sure_first > c->sure_last) return;
  const cvtm_pixel_run run = cvtm_pixel_run_sum(density, cvtm_density_row(density, j), cell->sx,
                                                column + c->sure_first, column + c->sure_last + 1);
  const double y = cvtm_to_double(j) + 0.5 - cell->sy;
  sums->mass += run.s0;
  sums->x += run.s1;
  sums->y = CVTM_FMA(y, run.s0, sums->y);
  sums->second += CVTM_FMA(y * y, run.s0, run.s2);
}

/* Adds this lane's share of the rows above or below the site. Returns the squared distance of their
 * farthest point that may be in the cell; stops at the first row with such a point beyond the
 * reach. */
CVTM_HD float cvtm_pixel_add_rows(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                  const cvtm_density_view *density, const cvtm_pixel_cell *cell,
                                  int64_t place, cvtm_lanes lanes, cvtm_cell_moments *sums) {
  const int32_t column = cvtm_to_floor(cell->sx), middle = cvtm_to_floor(cell->sy + 0.5);
  const float shift_x = (float)(cvtm_to_double(column) + 0.5 - cell->sx); /* of centres */
  const float shift_y = (float)(cvtm_to_double(middle) + 0.5 - cell->sy);
  const int walks = lanes.count > 1 ? 1 : 2; /* directions of this lane */
  float farthest = 0;
  for (int walk = 0; walk < walks; ++walk) {
    const int up = walks == 1 ? lanes.lane & 1 : walk;
    const int32_t from = lanes.lane >> 1, apart = walks == 1 ? lanes.count / 2 : 1;
    const int32_t step = up ? -apart : apart;
    for (int32_t k = up ? -1 - from : from;; k += step) {
      const int32_t j = middle + k;
      if (!domain.periodic && (j < 0 || j >= domain.height)) break;
      const float y = shift_y + (float)k;
      const cvtm_pixel_span span = cvtm_pixel_find_span(cell, y);
      if (!(span.left <= span.right)) break;
      const float x2 = fmaxf(span.left * span.left, span.right * span.right);
      farthest = fmaxf(farthest, CVTM_FMAF(y, y, x2));
      if (farthest > cell->reach * cell->reach) return farthest;
      const cvtm_pixel_columns columns = cvtm_pixel_find_columns(&span, shift_x);
      if (columns.first <= columns.last)
        cvtm_pixel_add_row(tree, domain, density, cell, place, j, column, &columns, sums);
    }
  }
  return farthest;
}

/* Sets the bounds by the first `count` sites, and the padding. */
CVTM_HD void cvtm_pixel_set_bounds(const cvtm_hull *hull, cvtm_lanes lanes, float reach,
                                   float grain, int32_t count, cvtm_pixel_bound *bound) {
  const cvtm_pixel_bound none = {0, HUGE_VALF, HUGE_VALF, 1};
  for (int32_t k = lanes.lane; k < count; k += lanes.count) {
    const cvtm_hull_pole at = hull->pole[k * hull->stride];
    bound[k * hull->stride] = cvtm_pixel_bound_of(at.x, at.y, reach, grain);
  }
  const int32_t padded = (count + CVTM_PIXEL_STEP - 1) & -CVTM_PIXEL_STEP;
  for (int32_t k = count + lanes.lane; k < padded; k += lanes.count) bound[k * hull->stride] = none;
}

/* This lane's part of the sums over the pixel centres in the cell of the site at a place. wanted: 0
 * if the lane has no cell. Returns CVTM_CELL_DONE or CVTM_CELL_UNDECIDED. */
CVTM_HD cvtm_cell_status cvtm_pixel_sum(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                        const cvtm_density_view *density, int64_t place, int wanted,
                                        cvtm_lanes lanes, cvtm_hull *hull, cvtm_pixel_bound *bound,
                                        cvtm_cell_moments *sums) {
  const cvtm_cell_moments none = {0, 0, 0, 0};
  const cvtm_cell any = {0,    0,    0, NULL, NULL,
                         NULL, NULL, 0, NULL}; /* no corners yet: any site may cut it */
  const float grain = 1e-12F * (float)(domain.width + domain.height);
  cvtm_hull_search s;
  const float most = fminf(cvtm_hull_begin(tree, domain, place, wanted, lanes, hull->reach, &s),
                           (float)CVTM_PIXEL_ROWS * CVTM_PIXEL_ROWS);
  cvtm_pixel_cell cell = {0,     hull->stride, 0,    (float)s.edges.x0, (float)s.edges.x1,
                          s.o.x, s.o.y,        bound};
  cvtm_cell_status result = CVTM_CELL_UNDECIDED;
  hull->count = 0;
  *sums = none;
  for (int round = 0; round < CVTM_PIXEL_ROUNDS && cvtm_lanes_any(s.active); ++round) {
    const int32_t before = hull->count;
    if (!(s.to < most)) s.active = 0;
    const int owned = cvtm_hull_collect(&s, &any, hull);
    const int overflow = cvtm_lanes_vote(lanes, hull->count > hull->capacity) != 0;
    cvtm_lanes_sync();
    cell.reach = (float)(0.5 * s.reach);
    float farthest = 0;
    cell.count = s.active && !overflow && !owned ? hull->count : 0;
    cvtm_pixel_set_bounds(hull, lanes, cell.reach, grain, cell.count, bound);
    cvtm_lanes_sync();
    if (s.active && !overflow && !owned) {
      farthest = cvtm_pixel_add_rows(tree, domain, density, &cell, place, lanes, sums);
    }
    const int near = cvtm_lanes_vote(lanes, !(4.00001F * farthest <= s.to)) == 0;
    cvtm_lanes_sync();
    if (!s.active) continue;
    if (overflow) {
      hull->count = before;
      cvtm_hull_set_reach(&s, sqrt((double)(s.from + 0.5F * (s.to - s.from))));
    } else if (owned || near) {
      result = CVTM_CELL_DONE;
      s.active = 0;
    } else {
      *sums = none;
      s.from = s.to;
      cvtm_hull_set_reach(&s, 1.3 * s.reach);
    }
  }
  return result;
}

#endif
