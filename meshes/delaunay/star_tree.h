/* Inside meshes only, for both devices: a quadtree of grid points, for star.h. */
#ifndef CVTMESH_MESHES_DELAUNAY_STAR_TREE_H
#define CVTMESH_MESHES_DELAUNAY_STAR_TREE_H

#include "base/search.h"
#include "meshes/delaunay/predicates.h"

#include <stdint.h>

/* Distinct points along the Morton curve. A square of level l has the side 2^(30 - l); points at
 * 2^30 belong to the last square of their row or column. */
typedef struct cvtm_star_tree {
  int64_t count;
  const uint64_t *key;          /* ascending; cvtm_star_key */
  const cvtm_grid_point *place; /* of each */
  const int32_t *vertex;        /* which each stands for */
  const int32_t *start;         /* 4^levels + 1: the first point of each square of that level */
  int32_t levels;
  cvtm_grid_point most; /* the largest coordinates */
  /* Of weighted points; else NULL. */
  const int64_t *weight;   /* of each, in squares of the grid's step: 0 .. 2^61 */
  const int64_t *heaviest; /* of each square from level 0 to `levels`, the largest weight in it */
  int32_t *link;           /* of each, the place of a neighbour; -1: none is known */
} cvtm_star_tree;

enum { CVTM_STAR_KEY_BITS = 2 * CVTM_GRID_BITS + 2 };

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

/* Where the squares of a level begin in `heaviest`. */
CVTM_HD int64_t cvtm_star_first_of_level(int32_t level) {
  return (((int64_t)1 << 2 * level) - 1) / 3;
}

/* The largest weight in a square, or more than that if it is smaller than a bin. */
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

#endif
