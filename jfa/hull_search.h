/* Inside cell_by_hull.h only: the search for the sites that bound one cell, and their poles.
 * Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "base/host.h"
#include "jfa/cell.h"
#include "jfa/cell_lanes.h"

enum {
  CVTM_HULL_POLES = 16,       /* poles of a cell at a time, at most */
  CVTM_HULL_STEP = 4,         /* poles per unrolled step of gift wrapping */
  CVTM_HULL_SIDES = 10,       /* sides of a cell, at most */
  CVTM_HULL_PADDED = 12,      /* CVTM_HULL_SIDES rounded up to full vectors */
  CVTM_HULL_MAX_ROUNDS = 8,   /* rounds of gathering, at most */
  CVTM_HULL_SCRATCH = 32,     /* length of cvtm_hull.scratch */
  CVTM_HULL_MAX_SCAN = 256,   /* sites that a lane tests in a round, at most */
  CVTM_HULL_ROUND_TESTS = 16, /* the cost of a round, in tests of a site */
  CVTM_HULL_FIRST_MIRROR = -4 /* mirror images of the site have the slots -4 .. -1 */
};

/* The reach of the first round, in spacings of the sites. Most cells are done in one round. */
#define CVTM_HULL_REACH 1.7F

#ifdef __CUDACC__
#define CVTM_HULL_ALIGNED __align__(8)
/* Not inlined, so that its registers do not add to those of its callers. */
#define CVTM_HULL_RARE static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define CVTM_HULL_ALIGNED
#define CVTM_HULL_RARE static inline
#endif

typedef struct CVTM_HULL_ALIGNED cvtm_hull_pole {
  float x, y;
} cvtm_hull_pole;

/* Pole k < count is pole[k * stride], and belongs to the site at slot[k * stride]. There is room
 * for `capacity` poles. order: the corners of the hull; corners: bit k is set if pole k is a
 * corner; scratch: the bins of a round, then the next corner after each pole. The lanes of the cell
 * share the arrays. */
typedef struct cvtm_hull {
  int32_t count, stride, capacity;
  float reach; /* reach of the first round, in spacings of the sites */
  uint32_t corners;
  cvtm_hull_pole *pole;
  int32_t *slot, *order, *scratch;
  int32_t most_tests; /* limit on `tests`; a cell that needs more is undecided; 0: no limit */
  int32_t tests;      /* tests of sites by this lane */
  int32_t partial;    /* 1: the tree may lack sites; the search marks the bins that it needs */
} cvtm_hull;

/* A search for one cell; all lanes of the cell have the same values except in `lanes`. */
typedef struct cvtm_hull_search {
  const cvtm_site_tree_view *tree;
  cvtm_domain domain;
  cvtm_lanes lanes;
  cvtm_cell_origin o;
  cvtm_cell_box edges; /* the domain, relative to the site */
  cvtm_bin_level bins;
  int32_t finest; /* the finest level of bins that may be used */
  float scale;    /* factor of the poles */
  float from, to; /* squared distances of the sites to gather: from <= d^2 < to */
  double reach;   /* square root of `to` */
  int active;
} cvtm_hull_search;

/* Marks in the cover that a search needs all sites of the bins within `reach` of (x, y). */
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

/* Finds the bins of this lane, among the at most 4 x 4 bins within reach, that are not empty.
 * Stores the first slot of bin k of the lane, and one past the last slot of this bin, from
 * scratch[2 * (k * lanes + lane)] on. Returns the number of sites in the bins of this lane. */
CVTM_INLINE int32_t cvtm_hull_find_bins(const cvtm_hull_search *s, cvtm_hull *hull) {
  const double reach = 1.000001 * s->reach;
  const double x = s->o.x + s->o.shift_x, y = s->o.y + s->o.shift_y;
  const int32_t x0 = cvtm_bin_coordinate(&s->bins, x - reach, s->domain.width);
  const int32_t x1 = cvtm_bin_coordinate(&s->bins, x + reach, s->domain.width);
  const int32_t y0 = cvtm_bin_coordinate(&s->bins, y - reach, s->domain.height);
  const int32_t y1 = cvtm_bin_coordinate(&s->bins, y + reach, s->domain.height);
  int32_t *range = hull->scratch + 2 * s->lanes.lane * hull->stride;
  int32_t sites = 0;
  for (int32_t bx = x0 + s->lanes.lane, by = y0; by <= y1; bx += s->lanes.count) {
    while (bx > x1) {
      bx -= x1 - x0 + 1;
      ++by;
    }
    if (by > y1) break;
    int32_t first, last;
    if (s->bins.level > s->tree->levels)
      cvtm_square_sites(s->tree, s->domain, s->bins.level, bx, by, s->o.slot, &first, &last);
    else
      cvtm_bin_sites(s->tree, s->bins.level, bx, by, &first, &last);
    if (first == last) continue;
    range[0] = first;
    range[hull->stride] = last;
    range += 2 * s->lanes.count * hull->stride;
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

/* Adds a site for each lane with `take` set. hull->pole gets the position of the site, which
 * cvtm_hull_set_poles replaces by the pole. Sites beyond the capacity are counted in hull->count
 * but not stored. */
CVTM_HD void cvtm_hull_add(const cvtm_hull_search *s, int take, float x, float y, int32_t slot,
                           cvtm_hull *hull) {
  const int32_t at = cvtm_lanes_number(s->lanes, take, &hull->count);
  if (!take || at >= hull->capacity) return;
  hull->pole[at * hull->stride].x = x;
  hull->pole[at * hull->stride].y = y;
  hull->slot[at * hull->stride] = slot;
}

enum { CVTM_HULL_NONE = 64, CVTM_HULL_TURN = 128 };

/* True if the value is at most 0, or within rounding of 0. scale2: the squared magnitude of the
 * terms of the value. */
CVTM_HD int cvtm_within_rounding(double value, double scale2) {
  return value <= 0 || value * value <= 1.6e-23 * scale2;
}

/* The position, relative to the site of the cell, of a mirror image (slot < 0) or of the site at a
 * slot; on a torus of the nearest image of that site. */
CVTM_HD void cvtm_hull_neighbor(const cvtm_hull_search *s, int32_t slot, double *dx, double *dy) {
  if (slot < 0) {
    *dx = slot == -4 ? 2 * s->edges.x0 : slot == -3 ? 2 * s->edges.x1 : 0;
    *dy = slot == -2 ? 2 * s->edges.y0 : slot == -1 ? 2 * s->edges.y1 : 0;
    return;
  }
  double x, y;
  cvtm_tree_position(s->tree, slot, &x, &y);
  *dx = x - s->o.x;
  *dy = y - s->o.y;
  if (s->domain.periodic) {
    *dx = cvtm_cell_nearest_image(x, s->o.x, (double)s->domain.width);
    *dy = cvtm_cell_nearest_image(y, s->o.y, (double)s->domain.height);
  }
}

CVTM_HD double cvtm_hull_distance2(const cvtm_hull_search *s, int32_t slot) {
  double dx, dy;
  cvtm_hull_neighbor(s, slot, &dx, &dy);
  return dx * dx + dy * dy;
}

/* A walk through the sites of the bins of this lane. */
typedef struct cvtm_hull_bin_walk {
  const int32_t *range; /* the slots of the next bin, in cvtm_hull.scratch */
  int32_t next, end;    /* slots */
} cvtm_hull_bin_walk;

/* The slot of the next site of this lane, or of the site of the cell if there is none. */
CVTM_HD int32_t cvtm_hull_next_site(const cvtm_hull_search *s, const cvtm_hull *hull, int more,
                                    cvtm_hull_bin_walk *walk) {
  if (!more) return s->o.slot;
  if (walk->next == walk->end) {
    walk->next = walk->range[0];
    walk->end = walk->range[hull->stride];
    walk->range += 2 * s->lanes.count * hull->stride;
  }
  return walk->next++;
}

/* Gathers sites, and adds to the hull those that can cut the cell. Returns 1 if a coincident site
 * owns the cell. The position of the next site is loaded before the current position is used. */
CVTM_INLINE int cvtm_hull_gather(const cvtm_hull_search *s, int wanted, const cvtm_cell *cell,
                                 cvtm_hull *hull) {
  const int32_t found = wanted ? cvtm_hull_find_bins(s, hull) : 0;
  const int crowded = found > CVTM_HULL_MAX_SCAN;
  const int32_t sites = crowded ? 0 : found, most = cvtm_lanes_most(sites);
  cvtm_hull_bin_walk walk = {hull->scratch + 2 * s->lanes.lane * hull->stride, 0, 0};
  int owned = 0;
  double x, y, next_x, next_y;
  int32_t slot = cvtm_hull_next_site(s, hull, sites > 0, &walk);
  cvtm_tree_position(s->tree, slot, &next_x, &next_y);
  for (int32_t k = 1; k <= most; ++k) {
    const int32_t current = slot;
    x = next_x;
    y = next_y;
    slot = cvtm_hull_next_site(s, hull, k < sites, &walk);
    cvtm_tree_position(s->tree, slot, &next_x, &next_y);
    const double dx = (x - s->o.shift_x) - s->o.x, dy = (y - s->o.shift_y) - s->o.y;
    const float near_x = (float)dx, near_y = (float)dy;
    const float distance2 = near_x * near_x + near_y * near_y;
    int take = distance2 >= s->from && distance2 < s->to;
    if (!(distance2 > 0) && take) {
      const int same = dx == 0 && dy == 0;
      owned |= same && current < s->o.slot; /* of coincident sites the first has the lowest index */
      take = !same && current != s->o.slot;
    }
    if (cell->count > 0) take = take && cvtm_hull_cuts(cell, dx, dy);
    cvtm_hull_add(s, take, near_x, near_y, current, hull);
  }
  cvtm_lanes_sync();
  if (crowded) hull->count = 2 * hull->capacity;
  hull->tests += sites;
  return owned;
}

/* True if no corner is beyond a bisector by more than rounding. For the bisectors of the hull it is
 * enough that consecutive corners advance along each edge, perpendicular to the direction of its
 * pole, since cvtm_hull_set_corners tests that each corner is on its two bisectors. Each other
 * bisector is tested against every corner. */
CVTM_INLINE int cvtm_hull_verify(const cvtm_hull_search *s, const cvtm_hull *hull,
                                 const cvtm_cell *cell, double radius2) {
  const int32_t stride = cell->stride;
  int good = 1;
  for (int32_t k = s->lanes.lane; k < cell->count; k += s->lanes.count) {
    const int32_t from = (k > 0 ? k : cell->count) - 1;
    const cvtm_hull_pole pole = hull->pole[hull->order[k * hull->stride] * hull->stride];
    const double dx = (double)pole.x, dy = (double)pole.y;
    const double back = (cell->y[k * stride] - cell->y[from * stride]) * dx -
                        (cell->x[k * stride] - cell->x[from * stride]) * dy;
    good &= cvtm_within_rounding(back, (dx * dx + dy * dy) * radius2);
  }
  uint32_t inside = cell->count > 0 ? ((1u << hull->count) - 1) & ~hull->corners : 0;
  for (; inside > 0; inside &= inside - 1) {
    double dx, dy;
    cvtm_hull_neighbor(s, hull->slot[cvtm_lowest_bit(inside) * hull->stride], &dx, &dy);
    const double d2 = dx * dx + dy * dy;
    for (int32_t c = s->lanes.lane; c < cell->count; c += s->lanes.count)
      good &= cvtm_within_rounding(cvtm_cell_excess(cell, c, dx, dy, 0.5 * d2), d2 * radius2);
  }
  return good;
}

/* --- on the CPU ------------------------------------------------------------------------------- */

#ifndef __CUDACC__
/* The vectors compute the next corner of the hull for several poles at once, by the comparisons of
 * cvtm_hull_next (hull_lanes_cuda.h) in the same order, but without branches, which no processor
 * can predict. With cvtm_hull_next a cell takes 11 to 15 % more instructions. */

enum { CVTM_HULL_LANES = 8 };

typedef float cvtm_hull_floats __attribute__((vector_size(CVTM_HULL_LANES * sizeof(float))));
typedef int32_t cvtm_hull_integers __attribute__((vector_size(CVTM_HULL_LANES * sizeof(int32_t))));

#define CVTM_HULL_SELECT(type, where, yes, no) \
  ((type)(((where) & (cvtm_hull_integers)(yes)) | (~(where) & (cvtm_hull_integers)(no))))

/* Sets next[k] to the next corner after pole k, or -1 if there is none, for k = first .. first + 7,
 * among the poles (x[j], y[j]), j < count. */
CVTM_INLINE void cvtm_hull_next_lanes(const float *x, const float *y, int32_t first, int32_t count,
                                      int32_t *next) {
  cvtm_hull_floats px, py, best_out = (cvtm_hull_floats){0} - 1, best_across = {0};
  cvtm_hull_integers best = (cvtm_hull_integers){0} - 1;
  for (int k = 0; k < CVTM_HULL_LANES; ++k) {
    px[k] = x[first + k];
    py[k] = y[first + k];
  }
  for (int32_t j = 0; j < count; ++j) {
    const cvtm_hull_floats dx = x[j] - px, dy = y[j] - py;
    const cvtm_hull_floats out = px * dx + py * dy, across = py * dx - px * dy;
    const cvtm_hull_integers better = (across > 0) & (out * best_across > best_out * across);
    best_out = CVTM_HULL_SELECT(cvtm_hull_floats, better, out, best_out);
    best_across = CVTM_HULL_SELECT(cvtm_hull_floats, better, across, best_across);
    best = CVTM_HULL_SELECT(cvtm_hull_integers, better, (cvtm_hull_integers){0} + j, best);
  }
  for (int k = 0; k < CVTM_HULL_LANES; ++k) next[first + k] = best[k];
}

enum { CVTM_SIDE_LANES = 4 };

typedef double cvtm_side_lanes
    __attribute__((vector_size(CVTM_SIDE_LANES * sizeof(double)), may_alias, aligned(8)));
typedef int64_t cvtm_side_masks __attribute__((vector_size(CVTM_SIDE_LANES * sizeof(int64_t))));

#define CVTM_SIDE_READ(from) (*(const cvtm_side_lanes *)(const void *)(from))
#define CVTM_SIDE_WRITE(to, value) (*(cvtm_side_lanes *)(void *)(to) = (value))
#define CVTM_SIDE_SELECT(where, yes, no) \
  ((cvtm_side_lanes)(((where) & (cvtm_side_masks)(yes)) | (~(where) & (cvtm_side_masks)(no))))

/* Sets corner x[k], y[k], k < sides, to the point where the bisector with (nx[k], ny[k]) meets the
 * next bisector. The first corners are repeated up to a multiple of CVTM_SIDE_LANES; nx and ny have
 * their first entries repeated up to one entry more. Returns the squared distance of the farthest
 * corner, or infinity if consecutive bisectors do not all turn in the same sense. Sets *good to 1
 * if each corner is within rounding of its two bisectors. */
CVTM_INLINE double cvtm_hull_corner_lanes(const double *nx, const double *ny, int32_t sides,
                                          double *x, double *y, int *good) {
  cvtm_side_lanes largest = {0};
  cvtm_side_masks on = ~(cvtm_side_masks){0};
  for (int32_t k = 0; k < sides; k += CVTM_SIDE_LANES) {
    const cvtm_side_lanes ax = CVTM_SIDE_READ(nx + k), ay = CVTM_SIDE_READ(ny + k);
    const cvtm_side_lanes bx = CVTM_SIDE_READ(nx + k + 1), by = CVTM_SIDE_READ(ny + k + 1);
    const cvtm_side_lanes a2 = ax * ax + ay * ay, b2 = bx * bx + by * by, a = 0.5 * a2;
    const cvtm_side_lanes b = 0.5 * b2, scale = CVTM_CORNER_SCALE(ax, ay, bx, by);
    const cvtm_side_lanes any_x =
        CVTM_SIDE_SELECT(by == 0, 0.5 * bx, CVTM_CORNER_X(ay, a, by, b, scale));
    const cvtm_side_lanes any_y =
        CVTM_SIDE_SELECT(bx == 0, 0.5 * by, CVTM_CORNER_Y(ax, a, bx, b, scale));
    const cvtm_side_lanes cx = CVTM_SIDE_SELECT(ay == 0, 0.5 * ax, any_x);
    const cvtm_side_lanes cy = CVTM_SIDE_SELECT(ax == 0, 0.5 * ay, any_y);
    const cvtm_side_lanes r2 = cx * cx + cy * cy;
    const cvtm_side_lanes off_a = ax * cx + ay * cy - a, off_b = bx * cx + by * cy - b;
    const cvtm_side_masks turns = (ax * by < ay * bx) & (r2 < HUGE_VAL);
    const cvtm_side_lanes reach = CVTM_SIDE_SELECT(turns, r2, HUGE_VAL + (cvtm_side_lanes){0});
    largest = CVTM_SIDE_SELECT(reach > largest, reach, largest);
    on &= (off_a * off_a <= 1.6e-23 * (a2 * r2)) & (off_b * off_b <= 1.6e-23 * (b2 * r2));
    CVTM_SIDE_WRITE(x + k, cx);
    CVTM_SIDE_WRITE(y + k, cy);
  }
  *good = (on[0] & on[1] & on[2] & on[3]) != 0;
  return fmax(fmax(largest[0], largest[1]), fmax(largest[2], largest[3]));
}

/* Sets scratch[k] to the next corner after pole k. */
CVTM_INLINE void cvtm_hull_find_next(cvtm_lanes lanes, cvtm_hull *hull, int32_t count) {
  float x[CVTM_HULL_POLES] = {0}, y[CVTM_HULL_POLES] = {0};
  int32_t next[CVTM_HULL_POLES];
  (void)lanes;
  for (int32_t k = 0; k < count; ++k) {
    x[k] = hull->pole[k * hull->stride].x;
    y[k] = hull->pole[k * hull->stride].y;
  }
  for (int32_t k = 0; k < count; k += CVTM_HULL_LANES) cvtm_hull_next_lanes(x, y, k, count, next);
  for (int32_t k = 0; k < count; ++k) {
    const int turn = next[k] >= 0 && y[k] < 0 && !(y[next[k]] < 0);
    hull->scratch[k * hull->stride] =
        next[k] < 0 ? CVTM_HULL_NONE : next[k] | (turn ? CVTM_HULL_TURN : 0);
  }
}

/* Computes the corners of the cell; the results are those of cvtm_hull_corner_lanes. */
CVTM_INLINE double cvtm_hull_set_corners(const cvtm_hull_search *s, const cvtm_hull *hull,
                                         int32_t sides, cvtm_cell *cell, int *good) {
  double nx[CVTM_HULL_PADDED + 1], ny[CVTM_HULL_PADDED + 1];
  const int32_t padded = (sides + CVTM_SIDE_LANES - 1) & -CVTM_SIDE_LANES;
  cell->count = sides;
  *good = 1;
  if (sides == 0) return 0;
  for (int32_t k = 0; k < sides; ++k)
    cvtm_hull_neighbor(s, hull->slot[hull->order[k * hull->stride] * hull->stride], nx + k, ny + k);
  for (int32_t k = sides; k <= padded; ++k) {
    nx[k] = nx[k - sides];
    ny[k] = ny[k - sides];
  }
  return cvtm_hull_corner_lanes(nx, ny, sides, cell->x, cell->y, good);
}

#endif
