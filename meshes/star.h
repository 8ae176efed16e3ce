/* Inside meshes only, for both devices: the triangles of the Delaunay triangulation around one
 * point, found and proved by that point alone. All decisions are made in integers.
 *
 * The edge from a point o to its nearest neighbour q is Delaunay. The triangle on one side of a
 * Delaunay edge oq has as its third corner the point c whose circle through o and q reaches least
 * far to that side: with cross = q x c > 0, the one of least t = c.(c - q) / cross. From edge to
 * edge the triangles close around o, or end at the hull. Points that could be better than the best
 * so far lie inside its circle, so that squares of a quadtree outside it need no look.
 *
 * Ties: of cocircular points, divide and conquer (delaunay.c) joins the parts of its recursion from
 * the bottom up and prefers the left part's candidate. cvtm_star_diagonal gives its choice for four
 * points; a triangle of more cocircular points is in that triangulation exactly if it is for each
 * fourth point alone. So the result is the same, triangle for triangle. */
#ifndef CVTMESH_MESHES_STAR_H
#define CVTMESH_MESHES_STAR_H

#include "base/portable.h"
#include "meshes/predicates.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The quadtree ---- */

/* Distinct points along the Morton curve. A square of level l has the side 2^(30 - l); points at
 * 2^30 belong to the last square of their row or column. */
typedef struct cvtm_star_tree {
  int64_t count;
  const uint64_t *key;          /* ascending; cvtm_star_key */
  const cvtm_grid_point *place; /* of each */
  const int32_t *vertex;        /* which each stands for */
  const int32_t *rank;          /* its number from left to right, then upwards; NULL: not known */
  const int32_t *start;         /* 4^levels + 1: the first point of each square of that level */
  int32_t levels;
  cvtm_grid_point most; /* the largest coordinates */
} cvtm_star_tree;

enum {
  CVTM_STAR_KEY_BITS = 2 * CVTM_GRID_BITS + 2,
  CVTM_STAR_FEW = 12,      /* points in the block of 3 x 3 squares around a point, at least */
  CVTM_STAR_MANY = 72,     /* and at most, as far as there are levels */
  CVTM_STAR_CROWDED = 256, /* points that are not looked at one by one */
  CVTM_STAR_SIDE = 8,      /* squares along a side of what is searched square by square */
  CVTM_STAR_LEAF = 8,      /* points in a square that is not divided further */
  CVTM_STAR_STACK = 3 * CVTM_GRID_BITS + 4
};

/* The lower 31 bits of v at the even places. */
CVTM_HD uint64_t cvtm_star_spread(uint32_t v) {
  uint64_t x = v;
  x = (x | x << 16) & 0x0000FFFF0000FFFFu;
  x = (x | x << 8) & 0x00FF00FF00FF00FFu;
  x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
  x = (x | x << 2) & 0x3333333333333333u;
  return (x | x << 1) & 0x5555555555555555u;
}

/* The even places of x. */
CVTM_HD uint32_t cvtm_star_collect(uint64_t x) {
  x &= 0x5555555555555555u;
  x = (x | x >> 1) & 0x3333333333333333u;
  x = (x | x >> 2) & 0x0F0F0F0F0F0F0F0Fu;
  x = (x | x >> 4) & 0x00FF00FF00FF00FFu;
  x = (x | x >> 8) & 0x0000FFFF0000FFFFu;
  return (uint32_t)(x | x >> 16);
}

CVTM_HD uint64_t cvtm_star_code(uint32_t i, uint32_t j) {
  return cvtm_star_spread(i) | cvtm_star_spread(j) << 1;
}

/* The code of the square of level 30, then two bits that tell 2^30 from 2^30 - 1. */
CVTM_HD uint64_t cvtm_star_key(cvtm_grid_point p) {
  const uint32_t right = (uint32_t)p.x >> CVTM_GRID_BITS, top = (uint32_t)p.y >> CVTM_GRID_BITS;
  return cvtm_star_code((uint32_t)p.x - right, (uint32_t)p.y - top) << 2 | top << 1 | right;
}

CVTM_HD cvtm_grid_point cvtm_star_place(uint64_t key) {
  const cvtm_grid_point p = {(int32_t)(cvtm_star_collect(key >> 2) + (key & 1)),
                             (int32_t)(cvtm_star_collect(key >> 3) + (key >> 1 & 1))};
  return p;
}

/* The first of keys[low .. high - 1] that is not below `key`; high if there is none. */
CVTM_HD int64_t cvtm_star_lower(const uint64_t *keys, int64_t low, int64_t high, uint64_t key) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
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
  *first = (int32_t)cvtm_star_lower(tree->key, low, high, code << shift);
  *last = (int32_t)cvtm_star_lower(tree->key, *first, high, (code + 1) << shift);
}

/* ---- The search ---- */

typedef struct cvtm_star_search {
  const cvtm_star_tree *tree;
  cvtm_grid_point o;
  int32_t self;
  int32_t visits_left; /* of squares, from the root down; none: the star is left undone */
  int32_t undone;      /* nonzero: without a result; see cvtm_star_outcome */
  /* The block of squares around o, and the distance below which it holds all points. */
  int32_t level, i, j;
  int32_t first[9], last[9];
  double cover;
  /* The edge from o to q, the side looked at, and the best third corner. */
  cvtm_grid_point q; /* less o, as all that follow */
  int32_t q_place, sense;
  int32_t best; /* -1: none */
  cvtm_grid_point c;
  int64_t dot, cross;
  double x, y, radius2; /* its circle; infinite if there is none */
} cvtm_star_search;

typedef enum cvtm_star_outcome {
  CVTM_STAR_DONE,
  CVTM_STAR_FAR, /* more squares would have to be visited than allowed */
  CVTM_STAR_TIED /* the ranks are needed */
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

/* The block: that of the bins' level, or larger or smaller squares where it holds few or many
 * points. */
CVTM_HD int32_t cvtm_star_count_block(cvtm_star_search *s, int32_t level) {
  const int32_t side = (int32_t)1 << level, shift = CVTM_GRID_BITS - level;
  const int32_t i = s->o.x >> shift, j = s->o.y >> shift;
  s->level = level;
  s->i = i < side ? i : side - 1;
  s->j = j < side ? j : side - 1;
  int32_t total = 0;
  for (int32_t k = 0; k < 9; ++k) {
    const int32_t a = s->i + k % 3 - 1, b = s->j + k / 3 - 1;
    s->first[k] = s->last[k] = 0;
    if (a < 0 || b < 0 || a >= side || b >= side) continue;
    cvtm_star_range(s->tree, level, cvtm_star_code((uint32_t)a, (uint32_t)b), &s->first[k],
                    &s->last[k]);
    total += s->last[k] - s->first[k];
  }
  return total;
}

CVTM_HD void cvtm_star_set_block(cvtm_star_search *s) {
  int32_t level = s->tree->levels;
  int32_t total = cvtm_star_count_block(s, level);
  while (total > CVTM_STAR_MANY && level < CVTM_GRID_BITS)
    total = cvtm_star_count_block(s, ++level);
  while (total < CVTM_STAR_FEW && level > 0) {
    total = cvtm_star_count_block(s, level - 1);
    if (total > CVTM_STAR_CROWDED) {
      cvtm_star_count_block(s, level);
      break;
    }
    --level;
  }
  const double side = (double)((int32_t)1 << (CVTM_GRID_BITS - level));
  const int32_t last = ((int32_t)1 << level) - 1;
  double cover = HUGE_VAL;
  if (s->i > 1) cover = fmin(cover, s->o.x - (s->i - 1) * side);
  if (s->j > 1) cover = fmin(cover, s->o.y - (s->j - 1) * side);
  if (s->i + 1 < last) cover = fmin(cover, (s->i + 2) * side - s->o.x);
  if (s->j + 1 < last) cover = fmin(cover, (s->j + 2) * side - s->o.y);
  s->cover = cover;
}

/* ---- Candidates for the third corner ---- */

/* Which diagonal divide and conquer gives four cocircular points, by their ranks counterclockwise:
 * 0 that of a[0] and a[2], 1 that of a[1] and a[3]. The part of the recursion that divides them
 * decides. A point alone on one side is cut off; of two and two the diagonal goes from the left
 * side's upper point to the right side's lower one. */
CVTM_HD int cvtm_star_diagonal(int64_t count, const int32_t a[4]) {
  int64_t low = 0;
  uint32_t right = 0;
  for (;;) {
    const int64_t half = count / 2;
    right = 0;
    for (int k = 0; k < 4; ++k) right |= (uint32_t)(a[k] >= low + half) << k;
    if (right != 0 && right != 15) break;
    if (right == 15) low += half;
    count = right == 15 ? count - half : half;
  }
  for (int k = 0; k < 4; ++k)
    if (right == 1U << k || (right ^ 15) == 1U << k) return (k + 1) % 2;
  /* Two of the left are neighbours; the upper of them comes first, as does the lower of the right.
   */
  return (int)((right ^ right >> 1) & 1);
}

/* True if c rather than the best corner so far makes the triangle, given that they and the edge are
 * cocircular. */
CVTM_HD int cvtm_star_wins_tie(cvtm_star_search *s, int32_t place, cvtm_grid_point c) {
  const int32_t *rank = s->tree->rank;
  if (rank == NULL) {
    s->undone = CVTM_STAR_TIED;
    return 0;
  }
  /* From q on around the circle: u, then v, then o. */
  const int best_first = (cvtm_star_cross(s->c, c) > 0) == (s->sense > 0);
  const int32_t u = best_first ? s->best : place, v = best_first ? place : s->best;
  const int32_t ccw[4] = {rank[s->self], rank[s->sense > 0 ? s->q_place : v], rank[u],
                          rank[s->sense > 0 ? v : s->q_place]};
  const int u_wins = cvtm_star_diagonal(s->tree->count, ccw) == 0;
  return u_wins != best_first;
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

/* Takes the point if it is better than the best so far. Returns nonzero if so. */
CVTM_HD int cvtm_star_offer(cvtm_star_search *s, int32_t place) {
  const cvtm_grid_point c = cvtm_star_from(s, place);
  const int64_t cross = s->sense * cvtm_star_cross(s->q, c);
  if (cross <= 0) return 0;
  const int64_t dot = (int64_t)c.x * (c.x - s->q.x) + (int64_t)c.y * (c.y - s->q.y);
  if (s->best >= 0) {
    if (place == s->best) return 0;
    const int sign = cvtm_star_compare(dot, cross, s->dot, s->cross);
    if (sign > 0 || (sign == 0 && !cvtm_star_wins_tie(s, place, c))) return 0;
  }
  s->best = place;
  s->c = c;
  s->dot = dot;
  s->cross = cross;
  return 1;
}

CVTM_HD void cvtm_star_set_circle(cvtm_star_search *s) {
  s->x = s->y = 0;
  s->radius2 = HUGE_VAL;
  if (s->best < 0) return;
  const double along = 0.5 * s->sense * (double)s->dot / (double)s->cross;
  s->x = 0.5 * s->q.x - along * s->q.y;
  s->y = 0.5 * s->q.y + along * s->q.x;
  s->radius2 = s->x * s->x + s->y * s->y;
}

/* A square less o, cut to where points can be. */
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

/* True unless no point of the box can be better than the best corner: all lie on the wrong side of
 * the edge, or outside its circle by more than rounding. */
CVTM_HD int cvtm_star_may_hold(const cvtm_star_search *s, const cvtm_star_box *box) {
  const int32_t qx = s->sense * s->q.x, qy = s->sense * s->q.y;
  const int64_t most =
      (int64_t)qx * (qx > 0 ? box->y1 : box->y0) - (int64_t)qy * (qy > 0 ? box->x0 : box->x1);
  if (most <= 0) return 0;
  return s->best < 0 || !(cvtm_star_distance2(box, s->x, s->y) > s->radius2 * (1 + 1e-14) + 4);
}

/* ---- Squares ---- */

typedef struct cvtm_star_node {
  int32_t level, i, j;
} cvtm_star_node;

/* Offers the points of a square. */
CVTM_HD void cvtm_star_offer_range(cvtm_star_search *s, int32_t first, int32_t last) {
  int better = 0;
  for (int32_t k = first; k < last; ++k) better |= cvtm_star_offer(s, k);
  if (better) cvtm_star_set_circle(s);
}

/* Puts the children of a node on the stack, that nearest to o last. */
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

/* Offers all points that may be better, from the root down. */
CVTM_HD void cvtm_star_descend(cvtm_star_search *s) {
  cvtm_star_node stack[CVTM_STAR_STACK];
  const cvtm_star_node root = {0, 0, 0};
  int32_t top = 0;
  stack[top++] = root;
  while (top > 0 && !s->undone) {
    const cvtm_star_node node = stack[--top];
    if (--s->visits_left < 0) {
      s->undone = CVTM_STAR_FAR;
      return;
    }
    int32_t first, last;
    cvtm_star_range(s->tree, node.level, cvtm_star_code((uint32_t)node.i, (uint32_t)node.j), &first,
                    &last);
    if (first == last) continue;
    const cvtm_star_box box = cvtm_star_box_of(s, node.level, node.i, node.j);
    if (!cvtm_star_may_hold(s, &box)) continue;
    if (last - first <= CVTM_STAR_LEAF || node.level == CVTM_GRID_BITS) {
      cvtm_star_offer_range(s, first, last);
    } else {
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

/* Offers the points of the squares around the best corner's circle beyond the block. Returns 0 if
 * these are many. */
CVTM_HD int cvtm_star_search_squares(cvtm_star_search *s) {
  if (s->best < 0) return 0;
  const double r = sqrt(s->radius2) * (1 + 1e-9) + 2;
  const int32_t i0 = cvtm_star_square(s->o.x + s->x - r, s->level);
  const int32_t i1 = cvtm_star_square(s->o.x + s->x + r, s->level);
  const int32_t j0 = cvtm_star_square(s->o.y + s->y - r, s->level);
  const int32_t j1 = cvtm_star_square(s->o.y + s->y + r, s->level);
  if (i1 - i0 >= CVTM_STAR_SIDE || j1 - j0 >= CVTM_STAR_SIDE) return 0;
  for (int32_t j = j0; j <= j1; ++j) {
    for (int32_t i = i0; i <= i1; ++i) {
      if (i - s->i <= 1 && s->i - i <= 1 && j - s->j <= 1 && s->j - j <= 1) continue;
      const cvtm_star_box box = cvtm_star_box_of(s, s->level, i, j);
      if (!cvtm_star_may_hold(s, &box)) continue;
      int32_t first, last;
      cvtm_star_range(s->tree, s->level, cvtm_star_code((uint32_t)i, (uint32_t)j), &first, &last);
      if (last - first > CVTM_STAR_CROWDED) return 0;
      cvtm_star_offer_range(s, first, last);
    }
  }
  return 1;
}

/* Finds the third corner of the triangle on the side `sense` of the edge to q: s->best, -1 at the
 * hull. */
CVTM_HD void cvtm_star_find(cvtm_star_search *s, int32_t q_place, int32_t sense) {
  s->q_place = q_place;
  s->q = cvtm_star_from(s, q_place);
  s->sense = sense;
  s->best = -1;
  for (int k = 0; k < 9; ++k) {
    for (int32_t p = s->first[k]; p < s->last[k]; ++p) cvtm_star_offer(s, p);
  }
  cvtm_star_set_circle(s);
  const double reach = 2 * sqrt(s->radius2) * (1 + 1e-9) + 2;
  if (reach < s->cover || s->undone || cvtm_star_search_squares(s)) return;
  if (s->cover < HUGE_VAL) cvtm_star_descend(s);
}

/* ---- The nearest neighbour ---- */

CVTM_HD void cvtm_star_offer_nearest(cvtm_star_search *s, int32_t place, int64_t *least) {
  const cvtm_grid_point c = cvtm_star_from(s, place);
  const int64_t distance2 = (int64_t)c.x * c.x + (int64_t)c.y * c.y;
  if (place == s->self || (s->best >= 0 && distance2 >= *least)) return;
  s->best = place;
  *least = distance2;
}

/* s->best: a nearest other point; -1 if there is none. */
CVTM_HD void cvtm_star_find_nearest(cvtm_star_search *s) {
  int64_t least = 0;
  s->best = -1;
  for (int k = 0; k < 9; ++k) {
    for (int32_t p = s->first[k]; p < s->last[k]; ++p) cvtm_star_offer_nearest(s, p, &least);
  }
  if (!(s->cover < HUGE_VAL)) return;
  if (s->best >= 0 && (double)least * (1 + 1e-9) < s->cover * s->cover) return;
  cvtm_star_node stack[CVTM_STAR_STACK];
  const cvtm_star_node root = {0, 0, 0};
  int32_t top = 0;
  stack[top++] = root;
  while (top > 0) {
    const cvtm_star_node node = stack[--top];
    if (--s->visits_left < 0) {
      s->undone = CVTM_STAR_FAR;
      return;
    }
    int32_t first, last;
    cvtm_star_range(s->tree, node.level, cvtm_star_code((uint32_t)node.i, (uint32_t)node.j), &first,
                    &last);
    if (first == last) continue;
    const cvtm_star_box box = cvtm_star_box_of(s, node.level, node.i, node.j);
    if (s->best >= 0 && cvtm_star_distance2(&box, 0, 0) > (double)least * (1 + 1e-9)) continue;
    if (last - first <= CVTM_STAR_LEAF || node.level == CVTM_GRID_BITS) {
      for (int32_t k = first; k < last; ++k) cvtm_star_offer_nearest(s, k, &least);
    } else {
      top = cvtm_star_push_children(node, &box, stack, top);
    }
  }
}

/* ---- The star ---- */

/* The corners of a triangle, counterclockwise from the first vertex. */
typedef struct cvtm_star_corners {
  int32_t first, second, third;
} cvtm_star_corners;

/* Triangles around a point: those of which it is the first vertex; or, if some points are left
 * undecided, those of which it is the first among the others, but not of all. Triangles beyond
 * `room` are counted alone. */
typedef struct cvtm_star_fan {
  cvtm_star_corners *triangles;
  int32_t room, count;
  const int32_t *undecided; /* nonzero for such vertices; NULL: the first vertex counts */
  int32_t open;             /* the point lies on the hull */
  int32_t end[2];           /* the places of its neighbours there */
} cvtm_star_fan;

CVTM_HD cvtm_star_fan cvtm_star_fan_in(cvtm_star_corners *triangles, int32_t room,
                                       const int32_t *undecided) {
  const cvtm_star_fan fan = {triangles, room, 0, undecided, 0, {-1, -1}};
  return fan;
}

/* Is the triangle of the vertices a, b and c one for the fan of a? */
CVTM_HD int cvtm_star_belongs(const cvtm_star_fan *fan, int32_t a, int32_t b, int32_t c) {
  if (fan->undecided == NULL) return a < b && a < c;
  if (a < b && a < c) return 0;
  return (a < b || fan->undecided[b]) && (a < c || fan->undecided[c]);
}

CVTM_HD void cvtm_star_add(const cvtm_star_search *s, int32_t q, int32_t r, cvtm_star_fan *fan) {
  const int32_t *vertex = s->tree->vertex;
  const int32_t a = vertex[s->self], b = vertex[q], c = vertex[r];
  if (!cvtm_star_belongs(fan, a, b, c)) return;
  if (fan->count < fan->room) {
    const cvtm_star_corners abc = {a, b, c}, bca = {b, c, a}, cab = {c, a, b};
    fan->triangles[fan->count] = a < b && a < c ? abc : b < c ? bca : cab;
  }
  fan->count++;
}

/* Goes around the point from the edge to `start` in one sense. Returns nonzero if it comes back to
 * that edge. */
CVTM_HD int cvtm_star_sweep(cvtm_star_search *s, int32_t start, int32_t sense, cvtm_star_fan *fan) {
  int32_t at = start;
  for (;;) {
    cvtm_star_find(s, at, sense);
    if (s->undone) return 0;
    if (s->best < 0) {
      fan->end[sense > 0] = at;
      return 0;
    }
    const int32_t next = s->best;
    cvtm_star_add(s, sense > 0 ? at : next, sense > 0 ? next : at, fan);
    if (next == start) return 1;
    at = next;
  }
}

/* The fan of the point at a place, in no particular order. `visits`: squares that may be visited
 * from the root down. */
CVTM_HD cvtm_star_outcome cvtm_star_make(const cvtm_star_tree *tree, int32_t place, int32_t visits,
                                         cvtm_star_fan *fan) {
  cvtm_star_search s;
  s.tree = tree;
  s.self = place;
  s.o = tree->place[place];
  s.visits_left = visits;
  s.undone = CVTM_STAR_DONE;
  fan->count = 0;
  cvtm_star_set_block(&s);
  cvtm_star_find_nearest(&s);
  if (s.undone || s.best < 0) return (cvtm_star_outcome)s.undone;
  const int32_t start = s.best;
  if (!cvtm_star_sweep(&s, start, 1, fan) && !s.undone) {
    fan->open = 1;
    cvtm_star_sweep(&s, start, -1, fan);
  }
  return (cvtm_star_outcome)s.undone;
}

/* Sorts a fan by the second corner: heapsort, so that a long one takes no room. */
CVTM_HD void cvtm_star_sift(cvtm_star_corners *fan, int32_t at, int32_t count) {
  const cvtm_star_corners moving = fan[at];
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && fan[child].second < fan[child + 1].second) ++child;
    if (fan[child].second < moving.second) break;
    fan[at] = fan[child];
    at = child;
  }
  fan[at] = moving;
}

CVTM_HD void cvtm_star_sort(cvtm_star_corners *fan, int32_t count) {
  if (count <= 16) {
    for (int32_t i = 1; i < count; ++i) {
      const cvtm_star_corners moving = fan[i];
      int32_t k = i;
      for (; k > 0 && fan[k - 1].second > moving.second; --k) fan[k] = fan[k - 1];
      fan[k] = moving;
    }
    return;
  }
  for (int32_t i = count / 2 - 1; i >= 0; --i) cvtm_star_sift(fan, i, count);
  for (int32_t last = count - 1; last > 0; --last) {
    const cvtm_star_corners largest = fan[0];
    fan[0] = fan[last];
    fan[last] = largest;
    cvtm_star_sift(fan, 0, last);
  }
}

#endif
