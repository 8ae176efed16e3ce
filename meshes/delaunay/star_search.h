/* Inside meshes only, for both devices: the search for the third corner of a triangle (star.h).
 * `weighted` is a constant in every call, so that the compiler makes one search with and one
 * without weights. */
#pragma once

#include "base/portable.h"
#include "meshes/delaunay/grid.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* ---- A quadtree of grid points ---- */

/* Distinct points along the Morton curve. The "place" of a point is its index in this order. A
 * square of level l has the side 2^(30 - l); points at 2^30 belong to the last square of their row
 * or column. */
typedef struct cvtm_star_tree {
  int64_t count;
  const uint64_t *key;          /* ascending; cvtm_star_key */
  const cvtm_grid_point *place; /* per point */
  const int32_t *vertex;        /* per point */
  const int32_t *start;         /* 4^levels + 1: the first point of each square of level `levels` */
  int32_t levels;
  cvtm_grid_point most; /* the largest coordinates */
  /* With weights; else NULL. */
  const int64_t *weight;   /* per point, in units of the squared grid step: 0 .. 2^61 */
  const int64_t *heaviest; /* largest weight in each square from level 0 to `levels` */
  int32_t *link;           /* per point: the place of a neighbour; -1: unknown */
} cvtm_star_tree;

/* Index of the first square of a level in `heaviest`. */
CVTM_HD int64_t cvtm_star_first_of_level(int32_t level) {
  return (((int64_t)1 << 2 * level) - 1) / 3;
}

/* The largest weight in a square, or an upper bound if the square is smaller than a bin. */
CVTM_HD int64_t cvtm_star_heaviest(const cvtm_star_tree *tree, int32_t level, int32_t i,
                                   int32_t j) {
  const int32_t up = level > tree->levels ? level - tree->levels : 0;
  const uint64_t code = cvtm_star_code((uint32_t)(i >> up), (uint32_t)(j >> up));
  return tree->heaviest[cvtm_star_first_of_level(level - up) + (int64_t)code];
}

/* The points of a square: *first .. *last - 1. */
CVTM_HD void cvtm_star_range(const cvtm_star_tree *tree, int32_t level, uint64_t code,
                             int32_t *first, int32_t *last) {
  if (level <= tree->levels) {
    const int32_t up = 2 * (tree->levels - level);
    *first = tree->start[code << up];
    *last = tree->start[(code + 1) << up];
    return;
  }
  const uint64_t bin = code >> 2 * (level - tree->levels);
  const int32_t low = tree->start[bin], high = tree->start[bin + 1];
  const int32_t shift = 2 * (CVTM_GRID_BITS - level) + 2;
  *first = (int32_t)cvtm_lower_bound_64(tree->key, low, high, code << shift);
  *last = (int32_t)cvtm_lower_bound_64(tree->key, *first, high, (code + 1) << shift);
}

/* ---- The search ---- */

enum {
  CVTM_STAR_BLOCK = 4,  /* squares along a side of the block around a point */
  CVTM_STAR_FEW = 12,   /* least number of points in a block */
  CVTM_STAR_MANY = 128, /* largest number of points in a block */
  CVTM_STAR_CROWDED =
      64,             /* a square with this many points is divided, not searched point by point */
  CVTM_STAR_SIDE = 8, /* squares along a side of the area that is searched square by square */
  CVTM_STAR_LEAF = 8, /* points in a square that is not divided further */
  CVTM_STAR_STACK = 3 * CVTM_GRID_BITS + 4
};

typedef struct cvtm_star_node {
  int32_t level, i, j;
} cvtm_star_node;

/* How far the search for a star may go. A positive number is the number of squares that it may
 * visit, from the root of the tree. */
enum {
  CVTM_STAR_NEAR = -1 /* the block alone */,
  CVTM_STAR_AROUND = 0 /* squares around the block */
};

typedef struct cvtm_star_search {
  const cvtm_star_tree *tree;
  cvtm_grid_point o;
  int32_t self;
  int32_t visits;        /* remaining visits, counted as above */
  int32_t undone;        /* nonzero: the search had no result; see cvtm_star_outcome */
  cvtm_star_node *stack; /* memory that the threads of a warp share; NULL: one thread searches */
  /* The block of squares around o, whose first square is (i, j). near: the points in the block
   * except o; cover: the distance from o up to which the block contains all points. */
  int32_t level, i, j, near_count;
  int32_t near[CVTM_STAR_MANY];
  double cover;
  /* The edge from o to q, the side to search, and the best third corner so far. */
  cvtm_grid_point q; /* relative to o, like all points below */
  int32_t q_place, sense;
  int32_t best; /* -1: none */
  cvtm_grid_point c;
  int64_t dot, cross;
  int64_t distance2; /* of the best first neighbour */
  int64_t weight, bisector,
      q_bisector;       /* with weights: weight of o; cvtm_star_bisector of c and q */
  double x, y, radius2; /* circle of the best corner; infinite if there is none */
} cvtm_star_search;

typedef enum cvtm_star_outcome {
  CVTM_STAR_DONE,
  CVTM_STAR_FAR,     /* more squares would have to be visited than allowed */
  CVTM_STAR_UNLINKED /* no neighbour is known */
} cvtm_star_outcome;

CVTM_HD int64_t cvtm_star_cross(cvtm_grid_point a, cvtm_grid_point b) {
  return (int64_t)a.x * b.y - (int64_t)a.y * b.x;
}

CVTM_HD cvtm_grid_point cvtm_star_from(const cvtm_star_search *s, int32_t place) {
#ifdef __CUDA_ARCH__
  const int2 p = reinterpret_cast<const int2 *>(s->tree->place)[place]; /* one load */
#else
  const cvtm_grid_point p = s->tree->place[place];
#endif
  const cvtm_grid_point step = {p.x - s->o.x, p.y - s->o.y};
  return step;
}

/* The first of CVTM_STAR_BLOCK squares along an axis, such that v is near their middle. */
CVTM_HD int32_t cvtm_star_first_square(int32_t v, int32_t level) {
  const int32_t shift = CVTM_GRID_BITS - level;
  const int32_t half = shift > 0 ? v >> (shift - 1) : 2 * v;
  return (half >> 1) + (half & 1) - CVTM_STAR_BLOCK / 2;
}

/* Sets the block to squares of a level. Returns 0 if it holds too many points. */
CVTM_HD int cvtm_star_gather(cvtm_star_search *s, int32_t level) {
  const int32_t side = (int32_t)1 << level;
  s->level = level;
  s->i = cvtm_star_first_square(s->o.x, level);
  s->j = cvtm_star_first_square(s->o.y, level);
  s->near_count = 0;
  for (int32_t k = 0; k < CVTM_STAR_BLOCK * CVTM_STAR_BLOCK; ++k) {
    const int32_t i = s->i + k % CVTM_STAR_BLOCK, j = s->j + k / CVTM_STAR_BLOCK;
    int32_t first, last;
    if (i < 0 || j < 0 || i >= side || j >= side) continue;
    cvtm_star_range(s->tree, level, cvtm_star_code((uint32_t)i, (uint32_t)j), &first, &last);
    if (last - first > CVTM_STAR_MANY - s->near_count) return 0;
    for (int32_t p = first; p < last; ++p) {
      s->near[s->near_count] = p;
      s->near_count += p != s->self;
    }
  }
  return 1;
}

/* Distance of a coordinate from the edge of the block; infinite towards sides without points. */
CVTM_HD double cvtm_star_cover_along(int32_t v, int32_t level) {
  const double side = (double)((int32_t)1 << (CVTM_GRID_BITS - level));
  const int32_t first = cvtm_star_first_square(v, level);
  const int32_t end = first + CVTM_STAR_BLOCK, squares = (int32_t)1 << level;
  const double below = first > 0 ? v - first * side : HUGE_VAL;
  const double above = end < squares ? end * side - v : HUGE_VAL;
  return fmin(below, above);
}

CVTM_HD double cvtm_star_cover(const cvtm_star_search *s, int32_t level) {
  return fmin(cvtm_star_cover_along(s->o.x, level), cvtm_star_cover_along(s->o.y, level));
}

/* Weight of the heaviest point of a square minus the weight of o. */
CVTM_HD double cvtm_star_gain(const cvtm_star_search *s, int32_t level, int32_t i, int32_t j) {
  return (double)(cvtm_star_heaviest(s->tree, level, i, j) - s->weight);
}

/* Twice the least distance from o to the bisector of a point at a distance of at least d from o
 * that is heavier by at most `gain`. */
CVTM_HD double cvtm_star_least_reach(double d, double gain) { return gain > 0 ? d - gain / d : d; }

/* The cover with weights: half of it is a lower bound of the distance from o to the bisectors of
 * all points beyond the block, found in ever larger blocks. */
CVTM_HD double cvtm_star_weighted_cover(const cvtm_star_search *s) {
  double cover = HUGE_VAL;
  int32_t level = s->level;
  for (;;) {
    const double d = cvtm_star_cover(s, level);
    if (!(d < HUGE_VAL)) return cover;
    level = level > 2 ? level - 2 : 0;
    const int32_t side = (int32_t)1 << level;
    const int32_t i0 = cvtm_star_first_square(s->o.x, level);
    const int32_t j0 = cvtm_star_first_square(s->o.y, level);
    double gain = 0;
    for (int32_t k = 0; k < CVTM_STAR_BLOCK * CVTM_STAR_BLOCK; ++k) {
      const int32_t i = i0 + k % CVTM_STAR_BLOCK, j = j0 + k / CVTM_STAR_BLOCK;
      if (i < 0 || j < 0 || i >= side || j >= side) continue;
      gain = fmax(gain, cvtm_star_gain(s, level, i, j));
    }
    cover = fmin(cover, cvtm_star_least_reach(d, gain));
  }
}

/* Chooses the block: squares of the level of the bins, or larger or smaller ones if the block has
 * few or many points. */
CVTM_HD void cvtm_star_set_block(cvtm_star_search *s, int weighted) {
  int32_t level = s->tree->levels;
  while (!cvtm_star_gather(s, level) && level < CVTM_GRID_BITS) ++level;
  while (s->near_count < CVTM_STAR_FEW && level > 0) {
    if (!cvtm_star_gather(s, level - 1)) {
      (void)cvtm_star_gather(s, level);
      break;
    }
    --level;
  }
  s->cover = weighted ? cvtm_star_weighted_cover(s) : cvtm_star_cover(s, level);
}

/* ---- Candidates for the third corner ---- */

/* For c on the circle through the ends of the edge and the best corner so far: nonzero if c is the
 * third corner of the triangle. */
CVTM_HD int cvtm_star_wins_tie(const cvtm_star_search *s, cvtm_grid_point c) {
  /* In the order around the circle from q: u, then v, then o. */
  const int best_first = (cvtm_star_cross(s->c, c) > 0) == (s->sense > 0);
  const cvtm_grid_point o = {0, 0}, u = best_first ? s->c : c, v = best_first ? c : s->c;
  const cvtm_grid_point one = cvtm_precedes(u, o) ? u : o;
  const cvtm_grid_point other = cvtm_precedes(v, s->q) ? v : s->q;
  return cvtm_precedes(one, other) != best_first;
}

/* -1, 0, 1: the sign of a / b - c / d for b, d > 0. */
CVTM_HD int cvtm_star_compare(int64_t a, int64_t b, int64_t c, int64_t d) {
  const double left = (double)a * (double)d, right = (double)c * (double)b;
  const double bound = 1e-15 * (fabs(left) + fabs(right));
  if (left - right > bound) return 1;
  if (left - right < -bound) return -1;
  const cvtm_int128 exact = (cvtm_int128)a * d - (cvtm_int128)c * b;
  return (exact > 0) - (exact < 0);
}

/* The points y with 2 y.c = bisector have equal powers to o and to the point at c. */
CVTM_HD int64_t cvtm_star_bisector(const cvtm_star_search *s, int32_t place, cvtm_grid_point c) {
  return (int64_t)c.x * c.x + (int64_t)c.y * c.y + s->weight - s->tree->weight[place];
}

/* Returns -1, 0 or 1 if the point c is better than the best corner, equal or worse: the sign of
 * bisector - 2 y.c at the power centre y of the best corner. Bisectors are below 2^62, cross
 * products at most 2^60. */
CVTM_HD int cvtm_star_compare_weighted(const cvtm_star_search *s, cvtm_grid_point c, int64_t cross,
                                       int64_t bisector) {
  const int64_t turn = s->sense * cvtm_star_cross(c, s->c);
  const double left = (double)bisector * (double)s->cross;
  const double right = (double)s->bisector * (double)cross;
  const double edge = (double)s->q_bisector * (double)turn;
  const double sum = left - right - edge, bound = 1e-15 * (fabs(left) + fabs(right) + fabs(edge));
  if (sum > bound) return 1;
  if (sum < -bound) return -1;
  const cvtm_int128 exact = (cvtm_int128)bisector * s->cross - (cvtm_int128)s->bisector * cross -
                            (cvtm_int128)s->q_bisector * turn;
  return (exact > 0) - (exact < 0);
}

/* Makes the point the best corner if it is better than the best so far; returns nonzero if so. */
CVTM_HD int cvtm_star_offer(cvtm_star_search *s, int32_t place, int weighted) {
  const cvtm_grid_point c = cvtm_star_from(s, place);
  const int64_t cross = s->sense * cvtm_star_cross(s->q, c);
  if (cross <= 0) return 0;
  const int64_t dot = (int64_t)c.x * (c.x - s->q.x) + (int64_t)c.y * (c.y - s->q.y);
  const int64_t bisector = weighted ? cvtm_star_bisector(s, place, c) : 0;
  if (s->best >= 0) {
    if (place == s->best) return 0;
    int sign = weighted ? cvtm_star_compare_weighted(s, c, cross, bisector) : 0;
    if (sign == 0) sign = cvtm_star_compare(dot, cross, s->dot, s->cross);
    if (sign > 0 || (sign == 0 && !cvtm_star_wins_tie(s, c))) return 0;
  }
  s->best = place;
  s->c = c;
  s->dot = dot;
  s->cross = cross;
  s->bisector = bisector;
  return 1;
}

/* a / b for b > 0, rounded. a is an exact difference, so the quotient has no cancellation error. */
CVTM_HD double cvtm_star_quotient(cvtm_int128 a, double b) {
  const cvtm_int128 size = a < 0 ? -a : a;
  const double value = (double)(int64_t)(size >> 64) * 0x1p64 + (double)(uint64_t)size;
  return (a < 0 ? -value : value) / b;
}

/* Sets the circle of the best corner: the point with equal powers to o, q and c, and its squared
 * distance from o. */
CVTM_HD void cvtm_star_set_circle(cvtm_star_search *s, int weighted) {
  s->x = s->y = 0;
  s->radius2 = HUGE_VAL;
  if (s->best < 0) return;
  double middle = 0.5, along = 0.5 * s->sense;
  if (weighted) {
    const int64_t q2 = (int64_t)s->q.x * s->q.x + (int64_t)s->q.y * s->q.y;
    const int64_t qc = (int64_t)s->q.x * s->c.x + (int64_t)s->q.y * s->c.y;
    middle *= (double)s->q_bisector / (double)q2;
    along *= cvtm_star_quotient((cvtm_int128)s->bisector * q2 - (cvtm_int128)s->q_bisector * qc,
                                (double)q2 * (double)s->cross);
  } else {
    along = along * (double)s->dot / (double)s->cross;
  }
  s->x = middle * s->q.x - along * s->q.y;
  s->y = middle * s->q.y + along * s->q.x;
  s->radius2 = s->x * s->x + s->y * s->y;
}

/* A square relative to o, clipped to the region that contains points. */
typedef struct cvtm_star_box {
  int32_t x0, y0, x1, y1;
} cvtm_star_box;

CVTM_HD cvtm_star_box cvtm_star_box_of(const cvtm_star_search *s, int32_t level, int32_t i,
                                       int32_t j) {
  const int64_t side = (int64_t)1 << (CVTM_GRID_BITS - level);
  const int64_t x1 = (i + 1) * side, y1 = (j + 1) * side;
  const cvtm_grid_point most = s->tree->most;
  const cvtm_star_box box = {(int32_t)(i * side - s->o.x), (int32_t)(j * side - s->o.y),
                             (int32_t)(x1 < most.x ? x1 : most.x) - s->o.x,
                             (int32_t)(y1 < most.y ? y1 : most.y) - s->o.y};
  return box;
}

/* The squared distance from (x, y) to a box. */
CVTM_HD double cvtm_star_distance2(const cvtm_star_box *box, double x, double y) {
  const double dx = fmax(fmax(box->x0 - x, x - box->x1), 0);
  const double dy = fmax(fmax(box->y0 - y, y - box->y1), 0);
  return dx * dx + dy * dy;
}

/* Zero if no point of a square can be better than the best corner, because all of them lie on the
 * wrong side of the edge, or outside the circle by more than rounding. */
CVTM_HD int cvtm_star_may_hold(const cvtm_star_search *s, cvtm_star_node node,
                               const cvtm_star_box *box, int weighted) {
  const int32_t qx = s->sense * s->q.x, qy = s->sense * s->q.y;
  const int64_t most =
      (int64_t)qx * (qx > 0 ? box->y1 : box->y0) - (int64_t)qy * (qy > 0 ? box->x0 : box->x1);
  if (most <= 0) return 0;
  if (s->best < 0) return 1;
  double reach2 = s->radius2 * (1 + 1e-14) + 4;
  if (weighted) {
    const double gain = cvtm_star_gain(s, node.level, node.i, node.j);
    reach2 += gain + 1e-14 * fabs(gain);
  }
  return !(cvtm_star_distance2(box, s->x, s->y) > reach2);
}

/* ---- Squares ---- */

/* Compares the points of a square with the best corner. */
CVTM_HD void cvtm_star_offer_range(cvtm_star_search *s, int32_t first, int32_t last, int weighted) {
  int better = 0;
  for (int32_t k = first; k < last; ++k) better |= cvtm_star_offer(s, k, weighted);
  if (better) cvtm_star_set_circle(s, weighted);
}

/* Puts the children of a node on the stack, the one nearest to o last. */
CVTM_HD int32_t cvtm_star_push_children(cvtm_star_node node, const cvtm_star_box *box,
                                        cvtm_star_node *stack, int32_t top) {
  const int nearest = (box->x0 + box->x1 < 0) | (box->y0 + box->y1 < 0) << 1;
  for (int k = 3; k >= 0; --k) {
    const int child = k ^ nearest;
    const cvtm_star_node below = {node.level + 1, 2 * node.i + (child & 1),
                                  2 * node.j + (child >> 1)};
    stack[top++] = below;
  }
  return top;
}

/* Visits a node. Returns nonzero if its children are to be visited. */
CVTM_HD int cvtm_star_visit(cvtm_star_search *s, cvtm_star_node node, cvtm_star_box *box,
                            int weighted) {
  int32_t first, last;
  cvtm_star_range(s->tree, node.level, cvtm_star_code((uint32_t)node.i, (uint32_t)node.j), &first,
                  &last);
  if (first == last) return 0;
  *box = cvtm_star_box_of(s, node.level, node.i, node.j);
  if (!cvtm_star_may_hold(s, node, box, weighted)) return 0;
  if (last - first > CVTM_STAR_LEAF && node.level < CVTM_GRID_BITS) return 1;
  cvtm_star_offer_range(s, first, last, weighted);
  return 0;
}

#ifdef __CUDACC__
enum {
  CVTM_STAR_SHARED =
      1024 /* with more nodes than this on the stack of a warp, one node is taken at a time */
};

/* Sets the best corner of all lanes to the best of any lane. */
static __device__ inline void cvtm_star_agree(cvtm_star_search *s, int weighted) {
  for (int apart = 16; apart > 0; apart /= 2) {
    const int32_t other = __shfl_xor_sync(0xFFFFFFFFu, s->best, apart);
    if (other >= 0 && other != s->best) (void)cvtm_star_offer(s, other, weighted);
  }
  cvtm_star_set_circle(s, weighted);
}

/* cvtm_star_descend by the threads of a warp, which share one search. */
static __device__ inline void cvtm_star_descend_together(cvtm_star_search *s, int weighted) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int32_t top = 1;
  __syncwarp();
  if (lane == 0) s->stack[0] = {0, 0, 0};
  __syncwarp();
  while (top > 0 && !s->undone) {
    const int32_t room = (CVTM_STAR_SHARED - top) / 3, least = top < 32 ? top : 32;
    const int32_t take = room < 1 ? 1 : room < least ? room : least;
    s->visits -= take;
    if (s->visits < 0) s->undone = CVTM_STAR_FAR;
    if (s->undone) return;
    cvtm_star_box box = {0, 0, 0, 0};
    cvtm_star_node node = {0, 0, 0};
    const int32_t before = s->best;
    int parent = 0;
    if (lane < take) {
      node = s->stack[top - 1 - lane];
      parent = cvtm_star_visit(s, node, &box, weighted);
    }
    __syncwarp();
    top -= take;
    const unsigned parents = __ballot_sync(0xFFFFFFFFu, parent);
    /* The first lane has the nearest node, so its children go on top of the stack. */
    const int32_t above = __popc(lane < 31 ? parents >> (lane + 1) : 0);
    if (parent) cvtm_star_push_children(node, &box, s->stack, top + 4 * above);
    top += 4 * __popc(parents);
    if (__any_sync(0xFFFFFFFFu, s->best != before)) cvtm_star_agree(s, weighted);
    __syncwarp();
  }
}
#endif

/* Searches all points that may be better than the best corner, from the root of the tree down. */
CVTM_HD void cvtm_star_descend(cvtm_star_search *s, int weighted) {
#ifdef __CUDA_ARCH__
  if (s->stack != NULL) {
    cvtm_star_descend_together(s, weighted);
    return;
  }
#endif
  cvtm_star_node stack[CVTM_STAR_STACK];
  const cvtm_star_node root = {0, 0, 0};
  int32_t top = 0;
  stack[top++] = root;
  while (top > 0 && !s->undone) {
    const cvtm_star_node node = stack[--top];
    cvtm_star_box box;
    if (--s->visits < 0) {
      s->undone = CVTM_STAR_FAR;
    } else if (cvtm_star_visit(s, node, &box, weighted)) {
      top = cvtm_star_push_children(node, &box, stack, top);
    }
  }
}

/* The number of a square along an axis that holds a coordinate, limited to 0 .. 2^level - 1. */
CVTM_HD int32_t cvtm_star_square(double v, int32_t level) {
  const double side = (double)((int32_t)1 << (CVTM_GRID_BITS - level));
  const double k = floor(v / side), most = (double)(((int32_t)1 << level) - 1);
  return (int32_t)fmin(fmax(k, 0), most);
}

/* Searches the squares outside the block that meet the circle of the best corner. Returns 0 if
 * there is no best corner, if there are too many squares, or if a square has too many points. */
CVTM_HD int cvtm_star_search_squares(cvtm_star_search *s, int weighted) {
  if (s->best < 0) return 0;
  const double gain = weighted ? cvtm_star_gain(s, 0, 0, 0) : 0;
  const double r = sqrt(s->radius2 + gain) * (1 + 1e-9) + 2;
  const int32_t i0 = cvtm_star_square(s->o.x + s->x - r, s->level);
  const int32_t i1 = cvtm_star_square(s->o.x + s->x + r, s->level);
  const int32_t j0 = cvtm_star_square(s->o.y + s->y - r, s->level);
  const int32_t j1 = cvtm_star_square(s->o.y + s->y + r, s->level);
  if (i1 - i0 >= CVTM_STAR_SIDE || j1 - j0 >= CVTM_STAR_SIDE) return 0;
  for (int32_t j = j0; j <= j1; ++j) {
    for (int32_t i = i0; i <= i1; ++i) {
      if (i >= s->i && j >= s->j && i < s->i + CVTM_STAR_BLOCK && j < s->j + CVTM_STAR_BLOCK)
        continue;
      const cvtm_star_box box = cvtm_star_box_of(s, s->level, i, j);
      const cvtm_star_node node = {s->level, i, j};
      if (!cvtm_star_may_hold(s, node, &box, weighted)) continue;
      int32_t first, last;
      cvtm_star_range(s->tree, s->level, cvtm_star_code((uint32_t)i, (uint32_t)j), &first, &last);
      if (last - first > CVTM_STAR_CROWDED) return 0;
      cvtm_star_offer_range(s, first, last, weighted);
    }
  }
  return 1;
}

/* A candidate in single precision: dot and cross, and the sums of magnitudes that bound their
 * rounding errors. With weights, dot is bisector - (q_bisector / |q|^2) (q.c). */
typedef struct cvtm_star_rough {
  float dot, cross, dots, crosses;
} cvtm_star_rough;

/* Compares a candidate of the block with the best so far: 1 if it is better, -1 if worse or no
 * candidate, 0 if rounding could change the answer. Products of four coordinates are below
 * 2^126. */
CVTM_HD int cvtm_star_rank(const cvtm_star_search *s, float qx, float qy, float share,
                           int32_t place, const cvtm_star_rough *best, cvtm_star_rough *here,
                           int weighted) {
  const cvtm_grid_point c = cvtm_star_from(s, place);
  const float x = (float)c.x, y = (float)c.y, sense = (float)s->sense;
  const float c0 = qx * y, c1 = qy * x, d0 = qx * x, d1 = qy * y, square = x * x + y * y;
  here->cross = sense * (c0 - c1);
  here->crosses = fabsf(c0) + fabsf(c1);
  here->dot = square - (d0 + d1);
  here->dots = square + fabsf(d0) + fabsf(d1);
  if (weighted) {
    const float lighter = (float)(s->weight - s->tree->weight[place]);
    here->dot = square + lighter - share * (d0 + d1);
    here->dots = square + fabsf(lighter) + fabsf(share) * (fabsf(d0) + fabsf(d1));
  }
  const float apart = here->dot * best->cross - best->dot * here->cross;
  const float bound = 2e-6F * (here->dots * best->crosses + best->dots * here->crosses);
  const int aside = here->cross > 2e-6F * here->crosses;
  const int behind = here->cross < -2e-6F * here->crosses;
  if (behind || place == s->q_place) return -1;
  if (!aside) return 0;
  return apart < -bound ? 1 : -(apart > bound);
}

/* Searches the points of the block. */
CVTM_HD void cvtm_star_offer_near(cvtm_star_search *s, int weighted) {
  const float qx = (float)s->q.x, qy = (float)s->q.y;
  const double q2 = (double)s->q.x * s->q.x + (double)s->q.y * s->q.y;
  const float share = weighted ? (float)((double)s->q_bisector / q2) : 1;
  cvtm_star_rough best = {1, 0, 0, 0}; /* infinitely far: worse than every candidate */
  int32_t found = -1, close = 0;
  for (int32_t k = 0; k < s->near_count; ++k) {
    cvtm_star_rough here;
    const int sign = cvtm_star_rank(s, qx, qy, share, s->near[k], &best, &here, weighted);
    close |= sign == 0;
    if (sign > 0) best = here;
    if (sign > 0) found = s->near[k];
  }
  if (found >= 0 && !close) (void)cvtm_star_offer(s, found, weighted);
  for (int32_t k = 0; close && k < s->near_count; ++k) {
    cvtm_star_rough here;
    if (s->near[k] == found ||
        cvtm_star_rank(s, qx, qy, share, s->near[k], &best, &here, weighted) >= 0)
      (void)cvtm_star_offer(s, s->near[k], weighted);
  }
}

/* Finds the third corner of the triangle on the side `sense` of the edge to q, and sets s->best to
 * it; -1 at the hull. */
CVTM_HD void cvtm_star_find(cvtm_star_search *s, int32_t q_place, int32_t sense, int weighted) {
  s->q_place = q_place;
  s->q = cvtm_star_from(s, q_place);
  s->sense = sense;
  s->best = -1;
  if (weighted) s->q_bisector = cvtm_star_bisector(s, q_place, s->q);
  cvtm_star_offer_near(s, weighted);
  cvtm_star_set_circle(s, weighted);
  const double reach = 2 * sqrt(s->radius2) * (1 + 1e-9) + 2;
  if (reach < s->cover || s->undone) return;
  if (s->visits == CVTM_STAR_NEAR) {
    if (s->cover < HUGE_VAL) s->undone = CVTM_STAR_FAR;
  } else if (!cvtm_star_search_squares(s, weighted) && s->cover < HUGE_VAL) {
    cvtm_star_descend(s, weighted);
  }
}
