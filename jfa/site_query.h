/* Queries of a site tree: distances, the Morton curve, exact nearest sites by boxes, sites by bins.
 * Compiles as C11 and inside CUDA kernels.
 *
 * Searches compare squared distances in double, always computed by cvtm_distance2, so every search
 * gives the same result on every device. The distance to a box is rounded in the same way, and
 * never exceeds the computed distance to a site in the box, so no nearest site is missed when a box
 * is skipped. Of equally near sites a search returns the site with the lowest index. */
#pragma once

#include <math.h>

#include "base/portable.h"
#include "jfa/site_tree.h"

enum { CVTM_TREE_STACK = 64 };

/* The periods along both axes; 0 if the plane is not periodic. */
typedef struct cvtm_metric {
  double period_x, period_y;
} cvtm_metric;

CVTM_HD cvtm_metric cvtm_metric_of(cvtm_domain domain) {
  cvtm_metric metric;
  metric.period_x = domain.periodic ? (double)domain.width : 0;
  metric.period_y = domain.periodic ? (double)domain.height : 0;
  return metric;
}

/* log2 of the steps of the Morton curve per pixel. The smallest power of two that is not less than
 * either side of the domain has 2^32 steps. */
CVTM_HD int cvtm_morton_shift(cvtm_domain domain) {
  const int side = domain.width > domain.height ? domain.width : domain.height;
#ifdef __CUDA_ARCH__
  return __clz(side - 1);
#else
  int bits = 0;
  while ((1 << bits) < side) ++bits;
  return 32 - bits;
#endif
}

/* x in steps of the Morton curve, rounded down and clamped to the domain. */
CVTM_HD uint32_t cvtm_quantize(double x, int side, int shift) {
  const double steps = (double)((uint64_t)1 << shift); /* exact: a power of two */
  if (!(x > 0)) return 0;
  if (x >= side) return (uint32_t)(((uint64_t)side << shift) - 1);
  return (uint32_t)(x * steps);
}

/* Moves bit k of x to bit 2 k. */
CVTM_HD uint64_t cvtm_spread_bits(uint32_t x) {
  uint64_t bits = x;
  bits = (bits | bits << 16) & UINT64_C(0x0000FFFF0000FFFF);
  bits = (bits | bits << 8) & UINT64_C(0x00FF00FF00FF00FF);
  bits = (bits | bits << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
  bits = (bits | bits << 2) & UINT64_C(0x3333333333333333);
  bits = (bits | bits << 1) & UINT64_C(0x5555555555555555);
  return bits;
}

/* Bits 0, 2, 4 ... of a code. */
CVTM_HD uint32_t cvtm_even_bits(uint64_t code) {
  uint64_t bits = code & UINT64_C(0x5555555555555555);
  bits = (bits | bits >> 1) & UINT64_C(0x3333333333333333);
  bits = (bits | bits >> 2) & UINT64_C(0x0F0F0F0F0F0F0F0F);
  bits = (bits | bits >> 4) & UINT64_C(0x00FF00FF00FF00FF);
  bits = (bits | bits >> 8) & UINT64_C(0x0000FFFF0000FFFF);
  return (uint32_t)(bits | bits >> 16);
}

/* Moves bit k of x to bit 2 k; x < 2^16. */
CVTM_HD uint32_t cvtm_spread_16_bits(uint32_t x) {
  x = (x | x << 8) & 0x00FF00FFu;
  x = (x | x << 4) & 0x0F0F0F0Fu;
  x = (x | x << 2) & 0x33333333u;
  x = (x | x << 1) & 0x55555555u;
  return x;
}

CVTM_HD uint64_t cvtm_morton_code(cvtm_domain domain, double x, double y) {
  const int shift = cvtm_morton_shift(domain);
  return cvtm_spread_bits(cvtm_quantize(x, domain.width, shift)) |
         cvtm_spread_bits(cvtm_quantize(y, domain.height, shift)) << 1;
}

/* x shifted by a multiple of the period into [0, period); unchanged if period is 0. */
CVTM_HD double cvtm_wrap(double x, double period) {
  if (!(period > 0) || (x >= 0 && x < period)) return x;
  const double wrapped = x - period * floor(x / period);
  return wrapped >= 0 && wrapped < period ? wrapped : 0;
}

/* The coordinates that the tree stores for a site: wrapped into a periodic domain, infinite for a
 * site that is not finite. */
CVTM_HD void cvtm_canonical_site(cvtm_metric metric, const double *site, double *x, double *y) {
  if (!isfinite(site[0]) || !isfinite(site[1])) {
    *x = HUGE_VAL;
    *y = HUGE_VAL;
    return;
  }
  *x = cvtm_wrap(site[0], metric.period_x);
  *y = cvtm_wrap(site[1], metric.period_y);
}

/* |p - s| along one axis; on a torus the distance to the nearest image, p and s in [0, period). */
CVTM_HD double cvtm_axis_distance(double p, double s, double period) {
  double distance = fabs(p - s);
  if (period > 0) {
    const double before = fabs((p - period) - s);
    const double after = fabs((p + period) - s);
    if (before < distance) distance = before;
    if (after < distance) distance = after;
  }
  return distance;
}

CVTM_HD double cvtm_distance2(cvtm_metric metric, double x, double y, double sx, double sy) {
  const double dx = cvtm_axis_distance(x, sx, metric.period_x);
  const double dy = cvtm_axis_distance(y, sy, metric.period_y);
  return dx * dx + dy * dy;
}

/* The distance from p to the interval [low, high]; infinite for the interval of an empty box,
 * [infinity, -infinity]. */
CVTM_HD double cvtm_interval_gap(double p, double low, double high) {
  const double before = low - p, after = p - high;
  const double gap = before > after ? before : after;
  return gap > 0 ? gap : 0;
}

/* cvtm_interval_gap along an axis that may be periodic. */
CVTM_HD double cvtm_axis_gap(double p, double low, double high, double period) {
  double gap = cvtm_interval_gap(p, low, high);
  if (period > 0 && gap > 0) {
    const double before = cvtm_interval_gap(p - period, low, high);
    const double after = cvtm_interval_gap(p + period, low, high);
    if (before < gap) gap = before;
    if (after < gap) gap = after;
  }
  return gap;
}

/* The squared distance from a point to a box of the tree, a lower bound of the computed squared
 * distances to the sites in the box. */
CVTM_HD double cvtm_box_distance2(cvtm_metric metric, double x, double y, const double *box) {
  const double dx = cvtm_axis_gap(x, box[0], box[2], metric.period_x);
  const double dy = cvtm_axis_gap(y, box[1], box[3], metric.period_y);
  return dx * dx + dy * dy;
}

/* The position of the site at a slot. */
CVTM_HD void cvtm_tree_position(const cvtm_site_tree_view *view, int64_t slot, double *x,
                                double *y) {
#ifdef __CUDA_ARCH__
  const double2 both = reinterpret_cast<const double2 *>(view->position)[slot]; /* one load */
  *x = both.x;
  *y = both.y;
#else
  *x = view->position[2 * slot];
  *y = view->position[2 * slot + 1];
#endif
}

/* The nearest site found so far. */
typedef struct cvtm_nearest {
  double distance2;
  int32_t slot;  /* -1 if no site has been found */
  int32_t index; /* the caller's index */
} cvtm_nearest;

CVTM_HD cvtm_nearest cvtm_nearest_none(void) {
  cvtm_nearest none;
  none.distance2 = HUGE_VAL;
  none.slot = -1;
  none.index = INT32_MAX;
  return none;
}

/* Replaces *best by the site at a slot if that is nearer. */
CVTM_HD void cvtm_nearest_consider(const cvtm_site_tree_view *view, cvtm_metric metric, double x,
                                   double y, int64_t slot, cvtm_nearest *best) {
  const double distance2 =
      cvtm_distance2(metric, x, y, view->position[2 * slot], view->position[2 * slot + 1]);
  if (distance2 > best->distance2) return;
  const int32_t index = view->index[slot];
  if (distance2 == best->distance2 && index >= best->index) return;
  best->distance2 = distance2;
  best->slot = (int32_t)slot;
  best->index = index;
}

/* The first slot below a node; count or more if the node is empty. */
CVTM_HD int64_t cvtm_node_first(const cvtm_site_tree_view *view, int64_t node) {
  while (node < view->leaf_count) node *= 2;
  return (node - view->leaf_count) * CVTM_TREE_LEAF;
}

/* True if all sites of a box coincide. */
CVTM_HD int cvtm_box_is_point(const double *box) { return box[0] == box[2] && box[1] == box[3]; }

/* Replaces *best by the nearest site below `node` (1: all sites) if that is nearer. Along a
 * periodic axis the point must lie in [0, period). *best may come from an earlier search or a
 * guess. */
CVTM_HD void cvtm_search_node(const cvtm_site_tree_view *view, cvtm_metric metric, double x,
                              double y, int64_t node, cvtm_nearest *best) {
  int32_t stack_node[CVTM_TREE_STACK];
  double stack_distance[CVTM_TREE_STACK];
  int top = 0;
  double distance = cvtm_box_distance2(metric, x, y, view->box + 4 * node);
  for (;;) {
    if (distance <= best->distance2) {
      if (distance == best->distance2 && cvtm_box_is_point(view->box + 4 * node)) {
        /* Of coincident sites the first has the lowest index. */
        cvtm_nearest_consider(view, metric, x, y, cvtm_node_first(view, node), best);
      } else if (node >= view->leaf_count) {
        const int64_t first = (node - view->leaf_count) * CVTM_TREE_LEAF;
        const int64_t last =
            first + CVTM_TREE_LEAF < view->count ? first + CVTM_TREE_LEAF : view->count;
        for (int64_t slot = first; slot < last; ++slot)
          cvtm_nearest_consider(view, metric, x, y, slot, best);
      } else {
        int64_t near = 2 * node, far = 2 * node + 1;
        double near_distance = cvtm_box_distance2(metric, x, y, view->box + 4 * near);
        double far_distance = cvtm_box_distance2(metric, x, y, view->box + 4 * far);
        if (far_distance < near_distance) {
          const double swap = near_distance;
          near_distance = far_distance;
          far_distance = swap;
          near = 2 * node + 1;
          far = 2 * node;
        }
        if (far_distance <= best->distance2) {
          stack_node[top] = (int32_t)far;
          stack_distance[top++] = far_distance;
        }
        node = near;
        distance = near_distance;
        continue;
      }
    }
    if (top == 0) return;
    node = stack_node[--top];
    distance = stack_distance[top];
  }
}

/* cvtm_search_node for the sites at slots first .. last - 1. */
CVTM_HD void cvtm_search_range(const cvtm_site_tree_view *view, cvtm_metric metric, double x,
                               double y, int64_t first, int64_t last, cvtm_nearest *best) {
  int64_t low =
      (first + CVTM_TREE_LEAF - 1) / CVTM_TREE_LEAF; /* leaves low .. high - 1 lie inside */
  int64_t high = last / CVTM_TREE_LEAF;
  if (low >= high) {
    for (int64_t slot = first; slot < last; ++slot)
      cvtm_nearest_consider(view, metric, x, y, slot, best);
    return;
  }
  for (int64_t slot = first; slot < low * CVTM_TREE_LEAF; ++slot)
    cvtm_nearest_consider(view, metric, x, y, slot, best);
  for (int64_t slot = high * CVTM_TREE_LEAF; slot < last; ++slot)
    cvtm_nearest_consider(view, metric, x, y, slot, best);
  low += view->leaf_count;
  high += view->leaf_count;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2) cvtm_search_node(view, metric, x, y, low++, best);
    if (high % 2) cvtm_search_node(view, metric, x, y, --high, best);
  }
}

/* The site nearest to a point, which is wrapped into a periodic domain. No sites: slot is -1. */
CVTM_HD cvtm_nearest cvtm_site_tree_nearest(const cvtm_site_tree_view *view, cvtm_metric metric,
                                            double x, double y) {
  cvtm_nearest best = cvtm_nearest_none();
  if (view->count > 0)
    cvtm_search_node(view, metric, cvtm_wrap(x, metric.period_x), cvtm_wrap(y, metric.period_y), 1,
                     &best);
  return best;
}

/* --- trees that lack sites ------------------------------------------------------------------- */

/* A tree may lack the sites of some coarse bins. The coarse bins are those of the level
 * CVTM_TREE_COARSE levels above the finest level, or of level 0 if there is no such level. The tree
 * has all sites of the bins that it covers, and no sites of other bins. A search that needs the
 * sites of an uncovered bin sets the bit of the bin in `wanted`, and sets *missed; its result is
 * then invalid.
 *
 * The own sites of the tree have the indices first .. end - 1; only their cells are computed. The
 * tree covers the bins of its own sites and the bins beside those. */
enum { CVTM_TREE_COARSE = 3 };

typedef struct cvtm_tree_cover {
  const uint32_t *covered; /* a bit for each coarse bin */
  uint32_t *wanted;        /* a bit for each coarse bin */
  uint32_t *missed;
  int32_t first, end;
} cvtm_tree_cover;

CVTM_HD int32_t cvtm_tree_coarse(int32_t levels) {
  return levels > CVTM_TREE_COARSE ? levels - CVTM_TREE_COARSE : 0;
}

/* The number of 32-bit words of a cover's bits. */
CVTM_HD int64_t cvtm_tree_cover_words(int32_t levels) {
  return (((int64_t)1 << 2 * cvtm_tree_coarse(levels)) + 31) / 32;
}

CVTM_HD void cvtm_set_bits(uint32_t *word, uint32_t bits) {
#ifdef __CUDA_ARCH__
  atomicOr(word, bits);
#else
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

/* Marks in the cover that a search needs all sites of bin `bin` of a level. */
CVTM_HD void cvtm_tree_want(const cvtm_tree_cover *cover, int32_t levels, int32_t level,
                            uint32_t bin) {
  const int32_t coarse = cvtm_tree_coarse(levels), up = level - coarse;
  const uint32_t first = up > 0 ? bin >> 2 * up : bin << -2 * up;
  const uint32_t count = up > 0 ? 1 : (uint32_t)1 << -2 * up;
  const uint32_t mask = count < 32 ? ((uint32_t)1 << count) - 1 : ~(uint32_t)0;
  for (uint32_t k = first; k < first + count; k += 32) {
    const uint32_t lacking = ~cover->covered[k / 32] & mask << k % 32;
    if (lacking == 0) continue;
    cvtm_set_bits(cover->wanted + k / 32, lacking);
    cvtm_set_bits(cover->missed, 1);
  }
}

/* True if the site at a slot is an own site, as all are without a cover. */
CVTM_HD int cvtm_tree_is_own(const cvtm_site_tree_view *tree, int64_t slot) {
  return tree->cover == NULL ||
         (tree->index[slot] >= tree->cover->first && tree->index[slot] < tree->cover->end);
}

/* --- bins ------------------------------------------------------------------------------- */

/* The bins of one level: 2^level along each axis of the Morton square. */
typedef struct cvtm_bin_level {
  int32_t level, shift; /* log2 of Morton steps per pixel */
  double side;          /* pixels */
} cvtm_bin_level;

/* The coarsest level whose bins have sides of at most `reach`, or the finest level. */
CVTM_HD cvtm_bin_level cvtm_bin_level_for(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                          double reach) {
  cvtm_bin_level bins;
  bins.shift = cvtm_morton_shift(domain);
  bins.level = 0;
  bins.side = (double)((uint64_t)1 << (32 - bins.shift));
  while (bins.level < tree->levels && bins.side > reach) {
    ++bins.level;
    bins.side *= 0.5;
  }
  return bins;
}

/* The index along an axis of the bin that contains x, clamped to the domain. */
CVTM_HD int32_t cvtm_bin_coordinate(const cvtm_bin_level *bins, double x, int size) {
  if (bins->level == 0) return 0;
  return (int32_t)(cvtm_quantize(x, size, bins->shift) >> (32 - bins->level));
}

CVTM_HD int cvtm_is_before_code(const cvtm_site_tree_view *tree, cvtm_domain domain, int32_t slot,
                                uint64_t code) {
  double x, y;
  cvtm_tree_position(tree, slot, &x, &y);
  return cvtm_morton_code(domain, x, y) < code;
}

/* The first of the slots first .. last - 1 whose code is not below `code`, or last if there is
 * none. The search begins at `guess`, which is one of these slots or last, and takes steps of
 * doubling length until two of them enclose the result. */
CVTM_HD int32_t cvtm_first_with_code(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                     uint64_t code, int32_t first, int32_t last, int32_t guess) {
  if (guess < last && cvtm_is_before_code(tree, domain, guess, code)) {
    first = guess + 1;
    for (int32_t step = 1; step < last - first; step *= 2) {
      if (!cvtm_is_before_code(tree, domain, first + step, code)) {
        last = first + step;
        break;
      }
      first += step + 1;
    }
  } else {
    last = guess;
    for (int32_t step = 1; step < last - first; step *= 2) {
      if (cvtm_is_before_code(tree, domain, last - 1 - step, code)) {
        first = last - step;
        break;
      }
      last -= step + 1;
    }
  }
  while (first < last) {
    const int32_t middle = first + (last - first) / 2;
    if (cvtm_is_before_code(tree, domain, middle, code))
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

/* The slots first .. last - 1 of the sites of a square (bx, by) of a level finer than the bins. The
 * search begins at `slot`. */
CVTM_HD void cvtm_square_sites(const cvtm_site_tree_view *tree, cvtm_domain domain, int32_t level,
                               int32_t bx, int32_t by, int32_t slot, int32_t *first,
                               int32_t *last) {
  const uint64_t square = cvtm_spread_bits((uint32_t)bx) | cvtm_spread_bits((uint32_t)by) << 1;
  const uint64_t bin = square >> 2 * (level - tree->levels);
  const uint64_t code = square << (64 - 2 * level), next = (square + 1) << (64 - 2 * level);
  const int32_t begin = tree->start[bin], end = tree->start[bin + 1];
  const int32_t guess = slot < begin ? begin : slot < end ? slot : end;
  *first = cvtm_first_with_code(tree, domain, code, begin, end, guess);
  *last = next == 0 ? end : cvtm_first_with_code(tree, domain, next, *first, end, *first);
}

/* The slots first .. last - 1 of the sites in a bin. */
CVTM_HD void cvtm_bin_sites(const cvtm_site_tree_view *tree, int32_t level, int32_t bx, int32_t by,
                            int32_t *first, int32_t *last) {
  const int down = 2 * (tree->levels - level);
  const uint32_t bin = cvtm_spread_16_bits((uint32_t)bx) | cvtm_spread_16_bits((uint32_t)by) << 1;
  *first = tree->start[bin << down];
  *last = tree->start[(bin + 1) << down];
}
