/* Inside cell_by_hull.h only: the search for the sites that bound one cell, and the poles of those
 * that were found. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_JFA_HULL_SEARCH_H
#define CVTMESH_JFA_HULL_SEARCH_H

#include "base/vectors.h"
#include "jfa/cell.h"
#include "jfa/cell_lanes.h"

enum {
  CVTM_HULL_POLES = 16,       /* of a cell at a time, at most */
  CVTM_HULL_STEP = 4,         /* poles per unrolled step of gift wrapping */
  CVTM_HULL_SIDES = 10,       /* of a cell, at most */
  CVTM_HULL_PADDED = 12,      /* the same, in whole vectors */
  CVTM_HULL_MAX_ROUNDS = 8,   /* of gathering */
  CVTM_HULL_SCRATCH = 32,     /* numbers in cvtm_hull.scratch */
  CVTM_HULL_MAX_SCAN = 256,   /* sites that a lane tests in a round, at most */
  CVTM_HULL_ROUND_TESTS = 16, /* the cost of a round, in tests of one site */
  CVTM_HULL_FIRST_MIRROR = -4 /* -4 .. -1: places of the site's mirror images */
};

#define CVTM_HULL_REACH 1.7F /* spacings; most cells are done in one round */

#ifdef __CUDACC__
#define CVTM_HULL_ALIGNED __align__(8)
/* Its registers cost its callers none. */
#define CVTM_HULL_RARE static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define CVTM_HULL_ALIGNED
#define CVTM_HULL_RARE static inline
#endif

typedef struct CVTM_HULL_ALIGNED cvtm_hull_pole {
  float x, y;
} cvtm_hull_pole;

/* Pole k is pole[k * stride], its site at place[k * stride], up to `capacity`. order lists the
 * corners of the hull, and bit k of corners tells whether pole k is one. scratch holds the bins of
 * a round, then the corner after each pole. In memory that the cell's lanes share. */
typedef struct cvtm_hull {
  int32_t count, stride, capacity;
  float reach; /* of the first round, in spacings of the sites */
  uint32_t corners;
  cvtm_hull_pole *pole;
  int32_t *place, *order, *scratch;
  int32_t most_tests; /* of sites by a lane; then the cell is undecided; 0: any number */
  int32_t tests;      /* so far, by this lane */
  int32_t partial;    /* the tree may lack sites, which its cover is to be told */
} cvtm_hull;

/* A search for one cell; the same in all its lanes. */
typedef struct cvtm_hull_search {
  const cvtm_site_tree_view *tree;
  cvtm_domain domain;
  cvtm_lanes lanes;
  cvtm_cell_origin o;
  cvtm_cell_box edges; /* of the domain, relative to the site */
  cvtm_bin_level bins;
  int32_t finest; /* level of bins that may be used */
  float scale;    /* poles are multiples of this */
  float from, to; /* squared distances of the sites to gather: from <= d^2 < to */
  double reach;   /* root of `to` */
  int active;
} cvtm_hull_search;

/* Tells the cover that a search needs all sites of the bins within reach of (x, y). */
CVTM_HULL_RARE void cvtm_tree_want_around(const cvtm_tree_cover *cover, int32_t levels,
                                          cvtm_domain domain, cvtm_bin_level bins, double x,
                                          double y, double reach) {
  const int32_t deeper = bins.level > levels ? bins.level - levels : 0;
  const int32_t x0 = cvtm_bin_coordinate(&bins, x - reach, domain.width) >> deeper;
  const int32_t x1 = cvtm_bin_coordinate(&bins, x + reach, domain.width) >> deeper;
  const int32_t y0 = cvtm_bin_coordinate(&bins, y - reach, domain.height) >> deeper;
  const int32_t y1 = cvtm_bin_coordinate(&bins, y + reach, domain.height) >> deeper;
  for (int32_t by = y0; by <= y1; ++by)
    for (int32_t bx = x0; bx <= x1; ++bx)
      cvtm_tree_want(cover, levels, bins.level - deeper,
                     cvtm_spread_16_bits((uint32_t)bx) | cvtm_spread_16_bits((uint32_t)by) << 1);
}

/* Stores the first place of each bin within reach that is not empty, and one past its last, for
 * this lane's share of the bins, at scratch[2 * (k * lanes + lane)]. Returns the number of sites in
 * them. There are at most 4 x 4 bins. */
CVTM_INLINE int32_t cvtm_hull_find_bins(const cvtm_hull_search *s, cvtm_hull *hull) {
  const double reach = 1.000001 * s->reach;
  const double x = s->o.x + s->o.shift_x, y = s->o.y + s->o.shift_y;
  const int32_t x0 = cvtm_bin_coordinate(&s->bins, x - reach, s->domain.width);
  const int32_t x1 = cvtm_bin_coordinate(&s->bins, x + reach, s->domain.width);
  const int32_t y0 = cvtm_bin_coordinate(&s->bins, y - reach, s->domain.height);
  const int32_t y1 = cvtm_bin_coordinate(&s->bins, y + reach, s->domain.height);
  int32_t *slot = hull->scratch + 2 * s->lanes.lane * hull->stride;
  int32_t sites = 0;
  for (int32_t bx = x0 + s->lanes.lane, by = y0; by <= y1; bx += s->lanes.count) {
    while (bx > x1) {
      bx -= x1 - x0 + 1;
      ++by;
    }
    if (by > y1) break;
    int32_t first, last;
    if (s->bins.level > s->tree->levels)
      cvtm_square_sites(s->tree, s->domain, s->bins.level, bx, by, s->o.place, &first, &last);
    else
      cvtm_bin_sites(s->tree, s->bins.level, bx, by, &first, &last);
    if (first == last) continue;
    slot[0] = first;
    slot[hull->stride] = last;
    slot += 2 * s->lanes.count * hull->stride;
    sites += last - first;
  }
  return sites;
}

/* True if the bisector with (dx, dy) can cut the cell. */
CVTM_HD int cvtm_hull_cuts(const cvtm_cell *cell, double dx, double dy) {
  const double offset = 0.5 * (dx * dx + dy * dy) * (1 - 1e-12);
  for (int32_t k = 0; k < cell->count; ++k)
    if (cvtm_cell_excess(cell, k, dx, dy, offset) > 0) return 1;
  return cell->count == 0;
}

/* Adds a site, stored in place of its pole, for each lane with `take` set. hull->count may come to
 * exceed the capacity. */
CVTM_HD void cvtm_hull_add(const cvtm_hull_search *s, int take, float x, float y, int32_t place,
                           cvtm_hull *hull) {
  const int32_t at = cvtm_lanes_number(s->lanes, take, &hull->count);
  if (!take || at >= hull->capacity) return;
  hull->pole[at * hull->stride].x = x;
  hull->pole[at * hull->stride].y = y;
  hull->place[at * hull->stride] = place;
}

enum { CVTM_HULL_NONE = 64, CVTM_HULL_TURN = 128 };

/* True if value <= 0 or within rounding of 0; scale2: squared magnitude of its terms. */
CVTM_HD int cvtm_within_rounding(double value, double scale2) {
  return value <= 0 || value * value <= 1.6e-23 * scale2;
}

/* The position relative to the cell's site of a mirror image (place < 0) or of the site at a place,
 * on a torus of its nearest image. */
CVTM_HD void cvtm_hull_neighbor(const cvtm_hull_search *s, int32_t place, double *dx, double *dy) {
  if (place < 0) {
    *dx = place == -4 ? 2 * s->edges.x0 : place == -3 ? 2 * s->edges.x1 : 0;
    *dy = place == -2 ? 2 * s->edges.y0 : place == -1 ? 2 * s->edges.y1 : 0;
    return;
  }
  double x, y;
  cvtm_tree_position(s->tree, place, &x, &y);
  *dx = x - s->o.x;
  *dy = y - s->o.y;
  if (s->domain.periodic) {
    *dx = cvtm_cell_nearest_image(x, s->o.x, (double)s->domain.width);
    *dy = cvtm_cell_nearest_image(y, s->o.y, (double)s->domain.height);
  }
}

CVTM_HD double cvtm_hull_distance2(const cvtm_hull_search *s, int32_t place) {
  double dx, dy;
  cvtm_hull_neighbor(s, place, &dx, &dy);
  return dx * dx + dy * dy;
}

#endif
