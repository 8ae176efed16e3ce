/* Hull construction: a Voronoi cell as a convex hull of poles, from the sites of the bins around
 * its site (see cell.h).
 *
 * The bisector with a site at n, relative to the site of the cell, is the line n v = |n|^2 / 2. Its
 * pole is the point 2 n / |n|^2. The bisectors that bound the cell are those whose poles are
 * corners of the convex hull of all poles. Two bisectors whose poles are neighbours on the hull
 * meet in a corner of the cell (polarity; Preparata & Shamos 1985, section 7.3). An edge of the
 * domain is the bisector with a mirror image of the site.
 *
 * Gift wrapping computes the hull in single precision, and decides only which bisectors meet. Each
 * corner is computed in double precision from its two bisectors, and tested against all other
 * bisectors; if a test fails, the cell is CVTM_CELL_UNDECIDED. Sites are gathered in rounds of
 * growing reach, until no site farther away can cut the cell. Compiles as C11 and inside CUDA
 * kernels, where several lanes share a cell. */
#pragma once

#include "jfa/hull_search.h"

#ifdef __CUDACC__
#include "jfa/hull_lanes_cuda.h"
#endif

#include <string.h>

/* --- the sites around ------------------------------------------------------------------------- */

/* Replaces sites first .. end - 1 by their poles. Pads the list to a multiple of CVTM_HULL_STEP
 * with the origin, which is never a corner of the hull. */
CVTM_INLINE void cvtm_hull_set_poles(const cvtm_hull_search *s, int32_t first, int32_t end,
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

/* For a tree that may lack sites: marks in its cover (site_query.h) the bins that the next
 * gathering needs. The tree has all sites of the coarse bin that holds the site, and of the coarse
 * bins beside that bin. The reach is at most 4/3 of the side of a bin of the level, and so stays
 * within these coarse bins if the level is finer than the coarse level. */
CVTM_HD void cvtm_hull_mark_cover(const cvtm_hull_search *s, int wanted, const cvtm_hull *hull) {
  const int far =
      s->bins.level <= cvtm_tree_coarse(s->tree->levels) || s->o.shift_x != 0 || s->o.shift_y != 0;
  if (hull->partial && wanted && far)
    cvtm_tree_want_around(s->tree->cover, s->tree->levels, s->domain, s->bins,
                          s->o.x + s->o.shift_x, s->o.y + s->o.shift_y, 1.000001 * s->reach);
}

/* cvtm_hull_gather on a torus, for all images. The reach is below a quarter of the shorter side. */
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
    cvtm_hull_mark_cover(s, wanted, hull);
    owned |= cvtm_hull_gather(s, wanted, cell, hull);
  }
  s->o.shift_x = s->o.shift_y = 0;
  return owned;
}

/* Adds those mirror images of the site that are at distances in the range to gather. */
CVTM_HD void cvtm_hull_add_edges(const cvtm_hull_search *s, cvtm_hull *hull) {
  const double near = 0.5000001 * s->reach;
  const int any = s->active && (s->edges.x0 > -near || s->edges.x1 < near || s->edges.y0 > -near ||
                                s->edges.y1 < near);
  if (!cvtm_lanes_any(any)) return;
  for (int32_t k = CVTM_HULL_FIRST_MIRROR; k < 0; k += s->lanes.count) {
    const int32_t slot = k + s->lanes.lane;
    double dx = 0, dy = 0;
    if (slot < 0) cvtm_hull_neighbor(s, slot, &dx, &dy);
    const float x = (float)dx, y = (float)dy, distance2 = x * x + y * y;
    const int take = any && slot < 0 && distance2 >= s->from && distance2 < s->to;
    cvtm_hull_add(s, take, x, y, slot, hull);
  }
}

/* --- the hull --------------------------------------------------------------------------------- */

/* Each lane of the cell passes a value and a number. Returns the number with the largest value;
 * the least number if values are equal. */
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

/* Lists the corners of the hull in hull->order, clockwise with y up. Returns their number; 0 if the
 * hull does not turn around the origin once; more than CVTM_HULL_SIDES if there are too many. */
CVTM_INLINE int32_t cvtm_hull_wrap(cvtm_lanes lanes, cvtm_hull *hull, int active) {
  const int32_t count = active && hull->count >= 3 ? hull->count : 0;
  float farthest = -1;
  int32_t start = 0, sides = 0;
  for (int32_t k = lanes.lane; k < count; k += lanes.count) {
    const cvtm_hull_pole p = hull->pole[k * hull->stride];
    const float out = p.x * p.x + p.y * p.y;
    start = out > farthest ? k : start;
    farthest = out > farthest ? out : farthest;
  }
  cvtm_hull_find_next(lanes, hull, count);
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

/* --- the cell --------------------------------------------------------------------------------- */

/* Removes the poles that are not corners of the hull. */
CVTM_HD void cvtm_hull_compact(cvtm_lanes lanes, cvtm_hull *hull, int wanted) {
  int32_t kept = 0;
  for (int32_t first = 0; first < CVTM_HULL_POLES; first += lanes.count) {
    const int32_t k = first + lanes.lane;
    const int keep = wanted && k < CVTM_HULL_POLES && (hull->corners >> k & 1);
    const cvtm_hull_pole pole = hull->pole[(keep ? k : 0) * hull->stride];
    const int32_t slot = hull->slot[(keep ? k : 0) * hull->stride];
    const int32_t at = cvtm_lanes_number(lanes, keep, &kept);
    cvtm_lanes_sync();
    if (keep) {
      hull->pole[at * hull->stride] = pole;
      hull->slot[at * hull->stride] = slot;
    }
    cvtm_lanes_sync();
  }
  if (wanted) hull->count = kept;
}

/* The reach of the first round; 0 if the site is outside the domain or not finite. */
CVTM_HD double cvtm_hull_first_reach(const cvtm_hull_search *s, float spacings) {
  const cvtm_cell_box *e = &s->edges;
  if (!isfinite(s->o.x) || !isfinite(s->o.y)) return 0;
  if (!s->domain.periodic && !(e->x0 < 0 && e->y0 < 0 && e->x1 > 0 && e->y1 > 0)) return 0;
  return (double)spacings * (double)s->tree->spacing[s->o.slot];
}

/* Sets the distance up to which sites are gathered, and the level of bins whose side is between 3/4
 * and 3/2 of that distance, or else the coarsest or finest level. */
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

/* True if the finest bin of the site is crowded, so that the search needs smaller squares. */
CVTM_HD int cvtm_hull_is_crowded(const cvtm_hull_search *s, double spacing) {
  const int32_t exponent = 32 - s->tree->shift - s->tree->levels; /* log2 of a finest bin's side */
  return spacing > 0 && spacing * CVTM_TREE_CROWDED_SPACING <= ldexp(1, exponent);
}

/* True if the site at the preceding slot coincides with this site, and so owns the cell. */
CVTM_HD int cvtm_hull_is_repeated(const cvtm_hull_search *s) {
  if (s->o.slot == 0) return 0;
  double x, y;
  cvtm_tree_position(s->tree, s->o.slot - 1, &x, &y);
  return x == s->o.x && y == s->o.y;
}

/* Begins a search of the cell of a slot's site. Returns the largest allowed reach, squared. */
CVTM_HD float cvtm_hull_begin(const cvtm_site_tree_view *tree, cvtm_domain domain, int64_t slot,
                              int wanted, cvtm_lanes lanes, float spacings, cvtm_hull_search *s) {
  s->tree = tree;
  s->domain = domain;
  s->lanes = lanes;
  s->o = cvtm_cell_origin_at(tree, domain, wanted ? slot : 0, &s->edges);
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

/* Adds the sites to gather, with all their images. Returns 1 if a coincident site owns the cell. */
CVTM_INLINE int cvtm_hull_collect(cvtm_hull_search *s, const cvtm_cell *cell, cvtm_hull *hull) {
  if (!s->domain.periodic) cvtm_hull_mark_cover(s, s->active, hull);
  const int owned = s->domain.periodic ? cvtm_hull_gather_images(s, cell, hull)
                                       : cvtm_hull_gather(s, s->active, cell, hull);
  return cvtm_lanes_vote(s->lanes, owned) != 0;
}

/* One round: adds the sites to gather, and constructs the cell of all sites so far. */
CVTM_INLINE cvtm_cell_status cvtm_hull_round(cvtm_hull_search *s, cvtm_hull *hull, cvtm_cell *cell,
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
      cell->nearest2 = cvtm_hull_distance2(s, hull->slot[hull->order[0] * hull->stride]);
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

/* Counts a round; true if a lane has exceeded hull->most_tests. All lanes of the warp call. */
CVTM_HD int cvtm_hull_exceeds_tests(cvtm_lanes lanes, cvtm_hull *hull) {
  hull->tests += CVTM_HULL_ROUND_TESTS;
  return cvtm_lanes_vote(lanes, hull->most_tests > 0 && hull->tests > hull->most_tests) != 0;
}

/* Makes the cell of the site at a slot, with at most CVTM_HULL_SIDES corners, and sets *radius2 to
 * the squared distance of the farthest corner. All lanes of a warp call; wanted is 0 in lanes
 * without a cell. Returns CVTM_CELL_DONE or CVTM_CELL_UNDECIDED. Does not set slopes. On the CPU
 * the cell has room for CVTM_HULL_PADDED corners, and its stride is 1. */
CVTM_INLINE cvtm_cell_status cvtm_cell_by_hull(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                               int64_t slot, int wanted, cvtm_lanes lanes,
                                               cvtm_hull *hull, cvtm_cell *cell, double *radius2) {
  cvtm_hull_search s;
  const float most = cvtm_hull_begin(tree, domain, slot, wanted, lanes, hull->reach, &s);
  *radius2 = HUGE_VAL;
  cvtm_cell_status result = CVTM_CELL_UNDECIDED;
  hull->count = hull->tests = 0;
  cell->count = 0;
  cell->nearest2 = HUGE_VAL;
  if (s.active && s.finest > tree->levels && cvtm_hull_is_repeated(&s)) {
    *radius2 = 0;
    result = CVTM_CELL_DONE;
    s.active = 0;
  }
  for (int round = 0; round < CVTM_HULL_MAX_ROUNDS && cvtm_lanes_any(s.active); ++round) {
    const cvtm_cell_status status = cvtm_hull_round(&s, hull, cell, radius2);
    const int exceeded = cvtm_hull_exceeds_tests(lanes, hull);
    if (!s.active) continue;
    if (status == CVTM_CELL_DONE && 4.000004 * *radius2 <= (double)s.to) {
      result = CVTM_CELL_DONE;
      s.active = 0;
    } else if (status == CVTM_CELL_UNDECIDED || exceeded) {
      s.active = 0;
    } else if (status == CVTM_CELL_OVERFLOW) {
      cvtm_hull_set_reach(&s, sqrt((double)(s.from + 0.5F * (s.to - s.from))));
    } else {
      const double farther = 2.25 * (double)s.to, needed = 4.00001 * *radius2;
      s.from = s.to;
      cvtm_hull_set_reach(&s, sqrt(needed < farther ? needed : farther));
    }
    if (!(s.to < most)) s.active = 0;
  }
  return result;
}
