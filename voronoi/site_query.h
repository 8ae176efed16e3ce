/* Searching a site tree: exact nearest sites, on the CPU and inside CUDA kernels.
 *
 * Everything compares squared distances in double, computed by the one expression
 * of cvtm_distance2, so that every search, on every device, gives the same answer. The
 * gap to a box is rounded the same way and never exceeds the distance to a site in
 * it, so pruning loses nothing. Equal distances go to the lowest site index. */
#ifndef CVTMESH_VORONOI_SITE_QUERY_H
#define CVTMESH_VORONOI_SITE_QUERY_H

#include <math.h>

#include "base/portable.h"
#include "voronoi/site_tree.h"

enum { CVTM_TREE_STACK = 64 };

/* The lengths after which the plane repeats; 0 where it does not. */
typedef struct cvtm_metric {
  double period_x, period_y;
} cvtm_metric;

CVTM_HD cvtm_metric cvtm_metric_of(cvtm_domain domain) {
  cvtm_metric metric;
  metric.period_x = domain.periodic ? (double)domain.width : 0;
  metric.period_y = domain.periodic ? (double)domain.height : 0;
  return metric;
}

/* Steps of the Morton grid per pixel, as a power of two: the least power of two that
 * covers both sides has 2^32 of them. */
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

CVTM_HD uint32_t cvtm_quantize(double x, int side, int shift) {
  const double steps = (double)((uint64_t)1 << shift); /* exact: a power of two */
  if (!(x > 0)) return 0;
  if (x >= side) return (uint32_t)(((uint64_t)side << shift) - 1);
  return (uint32_t)(x * steps);
}

/* Bit k of x to bit 2 k. */
CVTM_HD uint64_t cvtm_spread_bits(uint32_t x) {
  uint64_t bits = x;
  bits = (bits | bits << 16) & UINT64_C(0x0000FFFF0000FFFF);
  bits = (bits | bits << 8) & UINT64_C(0x00FF00FF00FF00FF);
  bits = (bits | bits << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
  bits = (bits | bits << 2) & UINT64_C(0x3333333333333333);
  bits = (bits | bits << 1) & UINT64_C(0x5555555555555555);
  return bits;
}

/* Bit k of x to bit 2 k, for k < 16; x has no others. */
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

/* x moved into [0, period); unchanged where period is 0. */
CVTM_HD double cvtm_wrap(double x, double period) {
  if (!(period > 0) || (x >= 0 && x < period)) return x;
  const double wrapped = x - period * floor(x / period);
  return wrapped >= 0 && wrapped < period ? wrapped : 0;
}

/* |p - s| along one axis, on a torus to the nearest image; p and s in [0, period) there. */
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

/* Distance from p to the interval [low, high]; infinite if that is empty. */
CVTM_HD double cvtm_interval_gap(double p, double low, double high) {
  const double before = low - p, after = p - high;
  const double gap = before > after ? before : after;
  return gap > 0 ? gap : 0;
}

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

/* Squared distance from a point to a box of the tree: a lower bound of the computed
 * squared distances to the sites in it. */
CVTM_HD double cvtm_box_distance2(cvtm_metric metric, double x, double y, const double *box) {
  const double dx = cvtm_axis_gap(x, box[0], box[2], metric.period_x);
  const double dy = cvtm_axis_gap(y, box[1], box[3], metric.period_y);
  return dx * dx + dy * dy;
}

/* Where the site at a sorted place is. */
CVTM_HD void cvtm_tree_position(const cvtm_site_tree_view *view, int64_t place, double *x,
                                double *y) {
#ifdef __CUDA_ARCH__
  const double2 both = reinterpret_cast<const double2 *>(view->position)[place]; /* one load */
  *x = both.x;
  *y = both.y;
#else
  *x = view->position[2 * place];
  *y = view->position[2 * place + 1];
#endif
}

/* The best site found so far. */
typedef struct cvtm_nearest {
  double distance2;
  int32_t place; /* in sorted order; -1: none yet */
  int32_t index; /* the caller's number */
} cvtm_nearest;

CVTM_HD cvtm_nearest cvtm_nearest_none(void) {
  cvtm_nearest none;
  none.distance2 = HUGE_VAL;
  none.place = -1;
  none.index = INT32_MAX;
  return none;
}

CVTM_HD void cvtm_nearest_consider(const cvtm_site_tree_view *view, cvtm_metric metric, double x,
                                   double y, int64_t place, cvtm_nearest *best) {
  const double distance2 =
      cvtm_distance2(metric, x, y, view->position[2 * place], view->position[2 * place + 1]);
  if (distance2 > best->distance2) return;
  const int32_t index = view->index[place];
  if (distance2 == best->distance2 && index >= best->index) return;
  best->distance2 = distance2;
  best->place = (int32_t)place;
  best->index = index;
}

/* The first sorted place below a node; may be count or more if the node is empty. */
CVTM_HD int64_t cvtm_node_first(const cvtm_site_tree_view *view, int64_t node) {
  while (node < view->leaf_count) node *= 2;
  return (node - view->leaf_count) * CVTM_TREE_LEAF;
}

CVTM_HD int cvtm_box_is_point(const double *box) { return box[0] == box[2] && box[1] == box[3]; }

/* Improves *best by the sites below `node` (1: all of them). The point must lie in
 * [0, period) along a periodic axis. *best may come from an earlier search or a guess. */
CVTM_HD void cvtm_search_node(const cvtm_site_tree_view *view, cvtm_metric metric, double x,
                              double y, int64_t node, cvtm_nearest *best) {
  int32_t stack_node[CVTM_TREE_STACK];
  double stack_distance[CVTM_TREE_STACK];
  int top = 0;
  double distance = cvtm_box_distance2(metric, x, y, view->box + 4 * node);
  for (;;) {
    if (distance <= best->distance2) {
      if (distance == best->distance2 && cvtm_box_is_point(view->box + 4 * node)) {
        /* A pile of coincident sites: the first has the lowest index. */
        cvtm_nearest_consider(view, metric, x, y, cvtm_node_first(view, node), best);
      } else if (node >= view->leaf_count) {
        const int64_t first = (node - view->leaf_count) * CVTM_TREE_LEAF;
        const int64_t last =
            first + CVTM_TREE_LEAF < view->count ? first + CVTM_TREE_LEAF : view->count;
        for (int64_t place = first; place < last; ++place)
          cvtm_nearest_consider(view, metric, x, y, place, best);
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

/* Improves *best by the sites at the sorted places first .. last - 1. */
CVTM_HD void cvtm_search_range(const cvtm_site_tree_view *view, cvtm_metric metric, double x,
                               double y, int64_t first, int64_t last, cvtm_nearest *best) {
  int64_t low = (first + CVTM_TREE_LEAF - 1) / CVTM_TREE_LEAF; /* the whole leaves inside */
  int64_t high = last / CVTM_TREE_LEAF;
  if (low >= high) {
    for (int64_t place = first; place < last; ++place)
      cvtm_nearest_consider(view, metric, x, y, place, best);
    return;
  }
  for (int64_t place = first; place < low * CVTM_TREE_LEAF; ++place)
    cvtm_nearest_consider(view, metric, x, y, place, best);
  for (int64_t place = high * CVTM_TREE_LEAF; place < last; ++place)
    cvtm_nearest_consider(view, metric, x, y, place, best);
  low += view->leaf_count;
  high += view->leaf_count;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2) cvtm_search_node(view, metric, x, y, low++, best);
    if (high % 2) cvtm_search_node(view, metric, x, y, --high, best);
  }
}

/* The site nearest to any point (wrapped if periodic); place and index tell which. With no sites
 * place is -1. */
CVTM_HD cvtm_nearest cvtm_site_tree_nearest(const cvtm_site_tree_view *view, cvtm_metric metric,
                                            double x, double y) {
  cvtm_nearest best = cvtm_nearest_none();
  if (view->count > 0)
    cvtm_search_node(view, metric, cvtm_wrap(x, metric.period_x), cvtm_wrap(y, metric.period_y), 1,
                     &best);
  return best;
}

#endif
