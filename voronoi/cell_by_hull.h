/* Hull construction: a Voronoi cell as a convex hull of poles, from the sites of the bins around
 * (see cell.h).
 *
 * The bisector with a site at n, relative to the cell's own, is the line n v = |n|^2 / 2. Its pole
 * is the point 2 n / |n|^2. The bisectors that bound the cell are those whose poles are corners of
 * the convex hull of all poles, and two that are neighbours on the hull meet in a corner of the
 * cell (polarity; Preparata & Shamos 1985, section 7.3). An edge of the domain is the bisector with
 * the site's mirror image.
 *
 * The hull is computed in single precision by gift wrapping; it decides which bisectors meet, and
 * nothing else. Corners are computed in double, each from its two bisectors, and tested against all
 * others; if a test fails the cell is CVTM_CELL_UNDECIDED. Sites are gathered in rounds of growing
 * reach, until none farther away can cut the cell. Compiles as C11 and inside CUDA kernels, where
 * several lanes share a cell. */
#ifndef CVTMESH_VORONOI_CELL_BY_HULL_H
#define CVTMESH_VORONOI_CELL_BY_HULL_H

#include "voronoi/cell.h"
#include "voronoi/cell_lanes.h"

#include <string.h>

enum {
  CVTM_HULL_POLES = 16,       /* of a cell at a time, at most */
  CVTM_HULL_STEP = 4,         /* poles per unrolled step of gift wrapping */
  CVTM_HULL_SIDES = 10,       /* of a cell, at most */
  CVTM_HULL_MAX_ROUNDS = 8,   /* of gathering */
  CVTM_HULL_SCRATCH = 32,     /* numbers in cvtm_hull.scratch */
  CVTM_HULL_MAX_SCAN = 256,   /* sites that a lane tests, at most */
  CVTM_HULL_FIRST_MIRROR = -4 /* -4 .. -1: places of the site's mirror images */
};

#define CVTM_HULL_REACH 1.7F /* spacings; most cells are done in one round */

#ifdef __CUDACC__
#define CVTM_HULL_ALIGNED __align__(8)
#else
#define CVTM_HULL_ALIGNED
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

/* A walk over the sites of this lane's bins. */
typedef struct cvtm_hull_bin_walk {
  const int32_t *slot; /* of the next bin */
  int32_t next, end;   /* places */
} cvtm_hull_bin_walk;

/* --- the sites around ------------------------------------------------------------------ */

/* Stores the first place of each bin within reach that is not empty, and one past its last, for
 * this lane's share of the bins, at scratch[2 * (k * lanes + lane)]. Returns the number of sites in
 * them. There are at most 4 x 4 bins. */
CVTM_HD int32_t cvtm_hull_find_bins(const cvtm_hull_search *s, cvtm_hull *hull) {
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

/* Replaces sites first .. end - 1 by their poles, and appends the origin, which is a corner of no
 * hull, up to a multiple of CVTM_HULL_STEP. */
CVTM_HD void cvtm_hull_set_poles(const cvtm_hull_search *s, int32_t first, int32_t end,
                                 cvtm_hull *hull) {
  for (int32_t k = first + s->lanes.lane; k < end; k += s->lanes.count) {
    cvtm_hull_pole *pole = hull->pole + k * hull->stride;
#ifdef __CUDA_ARCH__
    const float t = __fdividef(s->scale, pole->x * pole->x + pole->y * pole->y);
#else
    const float t = s->scale / (pole->x * pole->x + pole->y * pole->y);
#endif
    pole->x *= t;
    pole->y *= t;
  }
  const int32_t padded = (end + CVTM_HULL_STEP - 1) & -CVTM_HULL_STEP;
  for (int32_t k = end + s->lanes.lane; k < padded; k += s->lanes.count) {
    hull->pole[k * hull->stride].x = 0;
    hull->pole[k * hull->stride].y = 0;
  }
}

/* The place of this lane's next site; the cell's own site if there is none. */
CVTM_HD int32_t cvtm_hull_next_site(const cvtm_hull_search *s, const cvtm_hull *hull, int more,
                                    cvtm_hull_bin_walk *walk) {
  if (!more) return s->o.place;
  if (walk->next == walk->end) {
    walk->next = walk->slot[0];
    walk->end = walk->slot[hull->stride];
    walk->slot += 2 * s->lanes.count * hull->stride;
  }
  return walk->next++;
}

/* Adds the sites to gather that can cut the cell. Returns 1 if the cell belongs to another,
 * coincident site. The position of the next site is loaded before the current one is used. */
CVTM_HD int cvtm_hull_gather(const cvtm_hull_search *s, int wanted, const cvtm_cell *cell,
                             cvtm_hull *hull) {
  const int32_t found = wanted ? cvtm_hull_find_bins(s, hull) : 0;
  const int crowded = found > CVTM_HULL_MAX_SCAN;
  const int32_t sites = crowded ? 0 : found, most = cvtm_lanes_most(sites);
  cvtm_hull_bin_walk walk = {hull->scratch + 2 * s->lanes.lane * hull->stride, 0, 0};
  int owned = 0;
  double x, y, next_x, next_y;
  int32_t place = cvtm_hull_next_site(s, hull, sites > 0, &walk);
  cvtm_tree_position(s->tree, place, &next_x, &next_y);
  for (int32_t k = 1; k <= most; ++k) {
    const int32_t current = place;
    x = next_x;
    y = next_y;
    place = cvtm_hull_next_site(s, hull, k < sites, &walk);
    cvtm_tree_position(s->tree, place, &next_x, &next_y);
    const double dx = (x - s->o.shift_x) - s->o.x, dy = (y - s->o.shift_y) - s->o.y;
    const float near_x = (float)dx, near_y = (float)dy;
    const float distance2 = near_x * near_x + near_y * near_y;
    int take = distance2 >= s->from && distance2 < s->to;
    if (!(distance2 > 0) && take) {
      const int same = dx == 0 && dy == 0;
      owned |=
          same && current < s->o.place; /* of coincident sites the first has the lowest index */
      take = !same && current != s->o.place;
    }
    if (cell->count > 0) take = take && cvtm_hull_cuts(cell, dx, dy);
    cvtm_hull_add(s, take, near_x, near_y, current, hull);
  }
  cvtm_lanes_sync();
  if (crowded) hull->count = 2 * hull->capacity;
  return owned;
}

/* cvtm_hull_gather on a torus, for a reach of less than a quarter of its shorter side. */
CVTM_HD int cvtm_hull_gather_images(cvtm_hull_search *s, const cvtm_cell *cell, cvtm_hull *hull) {
  const double width = (double)s->domain.width, height = (double)s->domain.height;
  const double reach = 1.000001 * s->reach;
  int owned = 0;
  for (int image = 0; image < 9; ++image) {
    const int ix = image % 3 - 1, iy = image / 3 - 1;
    const int wanted = s->active &&
                       (ix == 0 || (ix > 0 ? s->o.x < reach : s->o.x >= width - reach)) &&
                       (iy == 0 || (iy > 0 ? s->o.y < reach : s->o.y >= height - reach));
    if (!cvtm_lanes_any(wanted)) continue;
    s->o.shift_x = ix * width;
    s->o.shift_y = iy * height;
    owned |= cvtm_hull_gather(s, wanted, cell, hull);
  }
  s->o.shift_x = s->o.shift_y = 0;
  return owned;
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

/* Adds the mirror images that are as far away as the sites to gather. */
CVTM_HD void cvtm_hull_add_edges(const cvtm_hull_search *s, cvtm_hull *hull) {
  const double near = 0.5000001 * s->reach;
  const int any = s->active && (s->edges.x0 > -near || s->edges.x1 < near || s->edges.y0 > -near ||
                                s->edges.y1 < near);
  if (!cvtm_lanes_any(any)) return;
  for (int32_t k = CVTM_HULL_FIRST_MIRROR; k < 0; k += s->lanes.count) {
    const int32_t place = k + s->lanes.lane;
    double dx = 0, dy = 0;
    if (place < 0) cvtm_hull_neighbor(s, place, &dx, &dy);
    const float x = (float)dx, y = (float)dy, distance2 = x * x + y * y;
    const int take = any && place < 0 && distance2 >= s->from && distance2 < s->to;
    cvtm_hull_add(s, take, x, y, place, hull);
  }
}

/* --- the hull -------------------------------------------------------------------------- */

/* A candidate for the next corner of the hull: the components of the step to it along the current
 * corner and across, and its number. */
typedef struct cvtm_hull_step {
  float out, across;
  int32_t pole;
} cvtm_hull_step;

/* True if b is the better next corner. */
CVTM_HD int cvtm_hull_better(const cvtm_hull_step *a, const cvtm_hull_step *b) {
  return b->out * a->across > a->out * b->across;
}

enum { CVTM_HULL_NONE = 64, CVTM_HULL_TURN = 128 };

/* The corner after corner `at`: no pole is to the left of the line through both, and the origin is
 * to its right. CVTM_HULL_NONE if there is none. CVTM_HULL_TURN is added if the step there goes
 * from y < 0 to y >= 0. */
CVTM_HD int32_t cvtm_hull_next(const cvtm_hull *hull, int32_t at, int32_t count) {
  const cvtm_hull_pole p = hull->pole[at * hull->stride];
  cvtm_hull_step best = {-1, 0, -1}; /* worse than every candidate */
  for (int32_t first = 0; first < count; first += CVTM_HULL_STEP) {
    for (int32_t k = first; k < first + CVTM_HULL_STEP; ++k) {
      const cvtm_hull_pole q = hull->pole[k * hull->stride];
      const float dx = q.x - p.x, dy = q.y - p.y;
      const cvtm_hull_step step = {CVTM_FMAF(p.x, dx, p.y * dy), p.y * dx - p.x * dy, k};
      if (step.across > 0 && cvtm_hull_better(&best, &step)) best = step;
    }
  }
  if (best.pole < 0) return CVTM_HULL_NONE;
  const int turn = p.y < 0 && !(hull->pole[best.pole * hull->stride].y < 0);
  return best.pole | (turn ? CVTM_HULL_TURN : 0);
}

/* The number that belongs to the largest value of the cell's lanes; of equal values the least. */
CVTM_HD int32_t cvtm_hull_farthest(cvtm_lanes lanes, float value, int32_t number) {
#ifdef __CUDA_ARCH__
  for (int apart = CVTM_WARP / lanes.count; apart < CVTM_WARP; apart *= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFu, value, apart);
    const int32_t other_number = __shfl_xor_sync(0xFFFFFFFFu, number, apart);
    if (other > value || (other == value && other_number < number)) {
      value = other;
      number = other_number;
    }
  }
#else
  (void)lanes;
  (void)value;
#endif
  return number;
}

/* Lists the corners of the hull in hull->order, clockwise as seen with y up. Returns their number:
 * 0 if the hull does not go around the origin once, more than CVTM_HULL_SIDES if there are too
 * many. */
CVTM_HD int32_t cvtm_hull_wrap(cvtm_lanes lanes, cvtm_hull *hull, int active) {
  const int32_t count = active && hull->count >= 3 ? hull->count : 0;
  float farthest = -1;
  int32_t start = 0, sides = 0;
  for (int32_t k = lanes.lane; k < count; k += lanes.count) {
    const cvtm_hull_pole p = hull->pole[k * hull->stride];
    const float out = p.x * p.x + p.y * p.y;
    start = out > farthest ? k : start;
    farthest = out > farthest ? out : farthest;
    hull->scratch[k * hull->stride] = cvtm_hull_next(hull, k, count);
  }
  start = cvtm_hull_farthest(lanes, farthest, start);
  cvtm_lanes_sync();
  int32_t at = start, turns = 0;
  hull->corners = 0;
  while (at < CVTM_HULL_NONE && sides < count && sides < CVTM_HULL_SIDES) {
    if (lanes.lane == 0) hull->order[sides * hull->stride] = at;
    hull->corners |= 1u << at;
    ++sides;
    const int32_t next = hull->scratch[at * hull->stride];
    turns += next >= CVTM_HULL_TURN;
    at = next & (CVTM_HULL_TURN - 1);
    if (at == start) return turns == 1 ? sides : 0;
  }
  return at == CVTM_HULL_NONE || count == 0 ? 0 : CVTM_HULL_SIDES + 1;
}

/* --- the cell -------------------------------------------------------------------------- */

/* The point where two bisectors meet. One parallel to an axis gets its coordinate exactly. */
CVTM_HD void cvtm_hull_corner(double ax, double ay, double bx, double by, double *x, double *y) {
  const double a = 0.5 * (ax * ax + ay * ay), b = 0.5 * (bx * bx + by * by);
  const double t = 1 / (ax * by - ay * bx);
  *x = ay == 0 ? 0.5 * ax : by == 0 ? 0.5 * bx : (a * by - b * ay) * t;
  *y = ax == 0 ? 0.5 * ay : bx == 0 ? 0.5 * by : (ax * b - bx * a) * t;
}

/* True if value <= 0 or within rounding of 0; scale2: squared magnitude of its terms. */
CVTM_HD int cvtm_within_rounding(double value, double scale2) {
  return value <= 0 || value * value <= 1.6e-23 * scale2;
}

/* True if (x, y) is within rounding of the bisector with (dx, dy). */
CVTM_HD int cvtm_hull_on_bisector(double dx, double dy, double x, double y) {
  const double d2 = dx * dx + dy * dy;
  return cvtm_within_rounding(fabs(dx * x + dy * y - 0.5 * d2), d2 * (x * x + y * y));
}

/* Computes the cell's corners. Returns the squared distance of the farthest; infinite unless each
 * bisector turns in the same sense from the one before. *good: each of this lane's corners is
 * within rounding of its two bisectors. */
CVTM_HD double cvtm_hull_set_corners(const cvtm_hull_search *s, const cvtm_hull *hull,
                                     int32_t sides, cvtm_cell *cell, int *good) {
  double largest = 0;
  *good = 1;
  for (int32_t k = s->lanes.lane; k < sides; k += s->lanes.count) {
    const int32_t next = k + 1 < sides ? k + 1 : 0;
    double ax, ay, bx, by, x, y;
    cvtm_hull_neighbor(s, hull->place[hull->order[k * hull->stride] * hull->stride], &ax, &ay);
    cvtm_hull_neighbor(s, hull->place[hull->order[next * hull->stride] * hull->stride], &bx, &by);
    cvtm_hull_corner(ax, ay, bx, by, &x, &y);
    cell->x[k * cell->stride] = x;
    cell->y[k * cell->stride] = y;
    const double r2 = x * x + y * y;
    if (!(r2 < HUGE_VAL && ax * by < ay * bx)) largest = HUGE_VAL;
    if (r2 > largest) largest = r2;
    *good &= cvtm_hull_on_bisector(ax, ay, x, y) & cvtm_hull_on_bisector(bx, by, x, y);
  }
  cell->count = sides;
  return cvtm_lanes_largest(s->lanes, largest);
}

/* True if no corner is beyond a bisector by more than rounding, given that the corners are on their
 * own two. Hull bisectors need no test against all corners: consecutive corners must advance along
 * each edge, at a right angle to the direction of its pole. Others are tested against every corner.
 */
CVTM_HD int cvtm_hull_verify(const cvtm_hull_search *s, const cvtm_hull *hull,
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
    cvtm_hull_neighbor(s, hull->place[cvtm_lowest_bit(inside) * hull->stride], &dx, &dy);
    const double d2 = dx * dx + dy * dy;
    for (int32_t c = s->lanes.lane; c < cell->count; c += s->lanes.count)
      good &= cvtm_within_rounding(cvtm_cell_excess(cell, c, dx, dy, 0.5 * d2), d2 * radius2);
  }
  return good;
}

/* Removes the poles that are not corners of the hull. */
CVTM_HD void cvtm_hull_compact(cvtm_lanes lanes, cvtm_hull *hull, int wanted) {
  int32_t kept = 0;
  for (int32_t first = 0; first < CVTM_HULL_POLES; first += lanes.count) {
    const int32_t k = first + lanes.lane;
    const int keep = wanted && k < CVTM_HULL_POLES && (hull->corners >> k & 1);
    const cvtm_hull_pole pole = hull->pole[(keep ? k : 0) * hull->stride];
    const int32_t place = hull->place[(keep ? k : 0) * hull->stride];
    const int32_t at = cvtm_lanes_number(lanes, keep, &kept);
    cvtm_lanes_sync();
    if (keep) {
      hull->pole[at * hull->stride] = pole;
      hull->place[at * hull->stride] = place;
    }
    cvtm_lanes_sync();
  }
  if (wanted) hull->count = kept;
}

/* The reach of the first round; 0 for a site outside the domain or not finite. */
CVTM_HD double cvtm_hull_first_reach(const cvtm_hull_search *s, float spacings) {
  const cvtm_cell_box *e = &s->edges;
  if (!isfinite(s->o.x) || !isfinite(s->o.y)) return 0;
  if (!s->domain.periodic && !(e->x0 < 0 && e->y0 < 0 && e->x1 > 0 && e->y1 > 0)) return 0;
  return (double)spacings * (double)s->tree->spacing[s->o.place];
}

/* Sets the distance up to which sites are gathered, and the level of bins whose side is above 3/4
 * of it and at most 3/2, as far as there is one. */
CVTM_HD void cvtm_hull_set_reach(cvtm_hull_search *s, double reach) {
  const float most = (float)(1.5 * reach);
  uint32_t bits;
  memcpy(&bits, &most, sizeof bits);
  const int32_t exponent = (int32_t)(bits >> 23) - 127;
  const int32_t level = 32 - s->tree->shift - exponent;
  s->reach = reach;
  s->to = (float)(reach * reach);
  s->bins.level = level < 0 ? 0 : level < s->finest ? level : s->finest;
}

/* True if the site's finest bin is crowded, so that the search needs smaller squares. */
CVTM_HD int cvtm_hull_is_crowded(const cvtm_hull_search *s, double spacing) {
  const int32_t exponent = 32 - s->tree->shift - s->tree->levels; /* of a finest bin's side */
  return spacing > 0 && spacing * CVTM_TREE_CROWDED_SPACING <= ldexp(1, exponent);
}

/* True if the site before this one in the tree's order coincides with it. The cell is then that
 * one's. */
CVTM_HD int cvtm_hull_is_repeated(const cvtm_hull_search *s) {
  if (s->o.place == 0) return 0;
  double x, y;
  cvtm_tree_position(s->tree, s->o.place - 1, &x, &y);
  return x == s->o.x && y == s->o.y;
}

/* Begins a search for the cell of the site at a place. Returns the squared distance that it must
 * stay below. */
CVTM_HD float cvtm_hull_begin(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t place,
                              int wanted, cvtm_lanes lanes, float spacings, cvtm_hull_search *s) {
  s->tree = tree;
  s->domain = domain;
  s->lanes = lanes;
  s->o = cvtm_cell_origin_at(tree, domain, wanted ? place : 0, &s->edges);
  s->bins.shift = tree->shift;
  s->bins.side = 0;
  const double reach = wanted ? cvtm_hull_first_reach(s, spacings) : 0;
  s->finest = cvtm_hull_is_crowded(s, reach / (double)spacings) ? CVTM_TREE_DEPTH : tree->levels;
  const double most =
      domain.periodic ? 0.25 * fmin((double)domain.width, (double)domain.height) : HUGE_VAL;
  s->active = reach > 0 && reach < most;
  s->scale = (float)(reach * reach);
  s->from = 0;
  cvtm_hull_set_reach(s, reach);
  return (float)(most * most);
}

/* Adds the sites to gather, with all their images. Returns 1 if the cell belongs to another,
 * coincident site. */
CVTM_HD int cvtm_hull_collect(cvtm_hull_search *s, const cvtm_cell *cell, cvtm_hull *hull) {
  const int owned = s->domain.periodic ? cvtm_hull_gather_images(s, cell, hull)
                                       : cvtm_hull_gather(s, s->active, cell, hull);
  return cvtm_lanes_vote(s->lanes, owned) != 0;
}

/* One round: adds the sites to gather, and constructs the cell of all so far. */
CVTM_HD cvtm_cell_status cvtm_hull_round(cvtm_hull_search *s, cvtm_hull *hull, cvtm_cell *cell,
                                         double *radius2) {
  const int32_t before = hull->count;
  const int owned = cvtm_hull_collect(s, cell, hull);
  if (!s->domain.periodic) cvtm_hull_add_edges(s, hull);
  const int crowded = cvtm_lanes_vote(s->lanes, hull->count > hull->capacity) != 0;
  const int changed = s->active && hull->count > before && !crowded && !owned;
  int good = 1;
  cvtm_lanes_sync();
  if (cvtm_lanes_any(changed)) {
    cvtm_hull_set_poles(s, before, changed ? hull->count : 0, hull);
    cvtm_lanes_sync();
    const int32_t sides = cvtm_hull_wrap(s->lanes, hull, changed);
    cvtm_lanes_sync();
    const int fits = changed && sides > 0 && sides <= CVTM_HULL_SIDES;
    cvtm_cell found = *cell;
    int on = 1;
    const double r2 = cvtm_hull_set_corners(s, hull, fits ? sides : 0, &found, &on);
    cvtm_lanes_sync();
    if (!(r2 < 1e4 * (double)s->to)) found.count = 0; /* effectively unbounded */
    good = cvtm_hull_verify(s, hull, &found, r2) & (on | (found.count == 0));
    good = cvtm_lanes_vote(s->lanes, !good) == 0 && sides <= CVTM_HULL_SIDES;
    if (changed) {
      cell->count = found.count;
      *radius2 = found.count > 0 ? r2 : HUGE_VAL;
    }
    if (changed && found.count > 0)
      cell->nearest2 = cvtm_hull_distance2(s, hull->place[hull->order[0] * hull->stride]);
    const int more = changed && good && found.count > 0 && 4.000004 * r2 > (double)s->to;
    if (cvtm_lanes_any(more)) cvtm_hull_compact(s->lanes, hull, more);
  }
  if (owned) {
    cell->count = 0;
    *radius2 = 0;
    return CVTM_CELL_DONE;
  }
  if (crowded) {
    hull->count = before;
    return CVTM_CELL_OVERFLOW;
  }
  if (!good) return CVTM_CELL_UNDECIDED;
  return CVTM_CELL_DONE;
}

/* The cell of the site at a place, with at most CVTM_HULL_SIDES corners, and *radius2, the squared
 * distance of the farthest. All lanes of a warp call; wanted is 0 in those without a cell to do.
 * CVTM_CELL_DONE or CVTM_CELL_UNDECIDED. Slopes are not set. */
CVTM_HD cvtm_cell_status cvtm_cell_by_hull(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                           int64_t place, int wanted, cvtm_lanes lanes,
                                           cvtm_hull *hull, cvtm_cell *cell, double *radius2) {
  cvtm_hull_search s;
  const float most = cvtm_hull_begin(tree, domain, place, wanted, lanes, hull->reach, &s);
  *radius2 = HUGE_VAL;
  cvtm_cell_status result = CVTM_CELL_UNDECIDED;
  hull->count = 0;
  cell->count = 0;
  cell->nearest2 = HUGE_VAL;
  if (s.active && s.finest > tree->levels && cvtm_hull_is_repeated(&s)) {
    *radius2 = 0;
    result = CVTM_CELL_DONE;
    s.active = 0;
  }
  for (int round = 0; round < CVTM_HULL_MAX_ROUNDS && cvtm_lanes_any(s.active); ++round) {
    const cvtm_cell_status status = cvtm_hull_round(&s, hull, cell, radius2);
    if (!s.active) continue;
    if (status == CVTM_CELL_OVERFLOW) {
      cvtm_hull_set_reach(&s, sqrt((double)(s.from + 0.5F * (s.to - s.from))));
    } else if (status == CVTM_CELL_UNDECIDED) {
      s.active = 0;
    } else if (4.000004 * *radius2 <= (double)s.to) {
      result = CVTM_CELL_DONE;
      s.active = 0;
    } else {
      const double farther = 2.25 * (double)s.to, needed = 4.00001 * *radius2;
      s.from = s.to;
      cvtm_hull_set_reach(&s, sqrt(needed < farther ? needed : farther));
    }
    if (!(s.to < most)) s.active = 0;
  }
  return result;
}

#endif
