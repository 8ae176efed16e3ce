/* The Voronoi cell of a site on the sphere. In the central projection from the centre of the sphere
 * to the tangent plane of the site, great circles are straight lines, so a cell is a convex polygon
 * that is clipped by lines (base/geometry.h). Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "base/geometry.h"
#include "base/host.h"
#include "base/sphere.h"

/* --- the tree of sites ------------------------------------------------------------------------ */

enum {
  CVTM_SPHERE_LEVELS = 10,
  CVTM_SPHERE_BRANCH_BITS = 3, /* 8 sites in a leaf, 8 children of a node */
  CVTM_SPHERE_SIDES = 32,      /* corners of a cell, at most */
  CVTM_SPHERE_HINTS = 12       /* neighbours kept for the next evaluation, at most */
};

/* A ball around the sites of a node. */
typedef struct cvtm_sphere_ball {
  cvtm_vector centre;
  double radius;
} cvtm_sphere_ball;

/* Sites in the order of a Morton curve; node k of level l has the sites k 8^(l+1) ..
 * (k+1) 8^(l+1) - 1. While the sites move, the order is unchanged; only the balls follow. */
typedef struct cvtm_sphere_tree {
  int64_t count;
  const double *sites; /* 3 * count, unit vectors */
  int32_t levels;
  cvtm_sphere_ball *balls[CVTM_SPHERE_LEVELS];
} cvtm_sphere_tree;

CVTM_INLINE int64_t cvtm_sphere_span(int32_t level) {
  return (int64_t)1 << (CVTM_SPHERE_BRANCH_BITS * (level + 1));
}

/* Makes ball k of a level from the level below, or from the sites. */
CVTM_INLINE void cvtm_sphere_make_ball(const cvtm_sphere_tree *tree, int32_t level, int64_t k) {
  const int64_t below =
      level == 0 ? tree->count : (tree->count - 1) / cvtm_sphere_span(level - 1) + 1;
  const int64_t first = k << CVTM_SPHERE_BRANCH_BITS;
  const int64_t most = first + (1 << CVTM_SPHERE_BRANCH_BITS), end = most < below ? most : below;
  cvtm_vector sum = cvtm_vector_of(0, 0, 0);
  for (int64_t i = first; i < end; ++i)
    sum = cvtm_vector_add(
        sum, 1, level == 0 ? cvtm_vector_load(tree->sites, i) : tree->balls[level - 1][i].centre);
  const double share = 1 / (double)(end - first);
  cvtm_sphere_ball ball = {cvtm_vector_of(share * sum.x, share * sum.y, share * sum.z), 0};
  for (int64_t i = first; i < end; ++i) {
    const cvtm_vector at =
        level == 0 ? cvtm_vector_load(tree->sites, i) : tree->balls[level - 1][i].centre;
    const double reach =
        sqrt(cvtm_chord2(at, ball.centre)) + (level == 0 ? 0 : tree->balls[level - 1][i].radius);
    if (reach > ball.radius) ball.radius = reach;
  }
  ball.radius *= 1 + 1e-14;
  tree->balls[level][k] = ball;
}

/* --- the cell --------------------------------------------------------------------------------- */

typedef struct cvtm_sphere_cell {
  cvtm_vector site, e1, e2; /* corner k is in the direction site + x[k] e1 + y[k] e2 */
  cvtm_corners corners;
  double x[CVTM_SPHERE_SIDES], y[CVTM_SPHERE_SIDES];
  int32_t neighbor[CVTM_SPHERE_SIDES];
  double radius2; /* squared distance of the farthest corner from the site, in the plane */
} cvtm_sphere_cell;

typedef enum cvtm_sphere_outcome {
  CVTM_SPHERE_DONE,
  CVTM_SPHERE_OPEN, /* the cell reaches farther than 83 degrees, or has too many corners */
} cvtm_sphere_outcome;

CVTM_INLINE void cvtm_sphere_cell_start(cvtm_vector site, cvtm_sphere_cell *cell) {
  const double far = 8;
  cell->site = site;
  cvtm_tangents(site, &cell->e1, &cell->e2);
  cell->corners.capacity = CVTM_SPHERE_SIDES;
  cell->corners.stride = 1;
  cell->corners.x = cell->x;
  cell->corners.y = cell->y;
  cell->corners.neighbor = cell->neighbor;
  cvtm_corners_rectangle(-far, -far, far, far, &cell->corners.count, cell->x, cell->y,
                         cell->neighbor);
  cell->radius2 = 2 * far * far;
}

/* Cuts the cell of s by the bisector with site j, which is at t. A point s + x e1 + y e2 is nearer
 * to s than to t if x t.e1 + y t.e2 <= |s - t|^2 / 2. Sites beyond twice the cell's radius do not
 * cut. */
CVTM_INLINE void cvtm_sphere_cell_cut(cvtm_sphere_cell *cell, cvtm_vector t, int32_t j) {
  const double chord2 = cvtm_chord2(cell->site, t);
  if (chord2 * (1 + cell->radius2) > 4 * cell->radius2 || chord2 == 0) return;
  int32_t at;
  if (cvtm_corners_clip(&cell->corners, cvtm_vector_dot(t, cell->e1), cvtm_vector_dot(t, cell->e2),
                        0.5 * chord2, j, &at) != CVTM_CLIP_CUT)
    return;
  double farthest = 0;
  for (int32_t k = 0; k < cell->corners.count; ++k) {
    const double r2 = cell->x[k] * cell->x[k] + cell->y[k] * cell->y[k];
    farthest = r2 > farthest ? r2 : farthest;
  }
  cell->radius2 = farthest;
}

/* Cuts the cell of site i by the sites of the tree that can cut it, except the hints. Only sites at
 * chords of lengths `from` .. `to` are considered. */
CVTM_INLINE void cvtm_sphere_cell_cut_ring(const cvtm_sphere_tree *tree, int64_t i,
                                           const int32_t *hints, int32_t hint_count, double from,
                                           double to, cvtm_sphere_cell *cell) {
  const cvtm_vector s = cell->site;
  const int32_t top = tree->levels - 1;
  int64_t first[CVTM_SPHERE_LEVELS]; /* nodes to visit: first + k for each bit k of near_nodes */
  uint32_t near_nodes[CVTM_SPHERE_LEVELS];
  double reach = fmin(to, 2 * sqrt(cell->radius2 / (1 + cell->radius2)));
  first[top] = 0;
  near_nodes[top] = 1; /* the root */
  for (int32_t level = top; level <= top;) {
    if (near_nodes[level] == 0) {
      ++level;
      continue;
    }
    int64_t node = first[level];
    for (uint32_t bits = near_nodes[level]; (bits & 1) == 0; bits >>= 1) ++node;
    near_nodes[level] &= near_nodes[level] - 1;
    const int64_t begin = node << CVTM_SPHERE_BRANCH_BITS;
    uint32_t found = 0;
    if (level > 0) {
      const int64_t last = (tree->count - 1) >>
                           (CVTM_SPHERE_BRANCH_BITS * level); /* the last node of the level below */
      const cvtm_sphere_ball *balls = tree->balls[level - 1] + begin;
      const int32_t children = (int32_t)(last - begin < 7 ? last - begin + 1 : 8);
      for (int32_t k = 0; k < children;
           ++k) { /* without branches, because the processor could not predict them */
        const double near = reach + balls[k].radius;
        found |= (uint32_t)(cvtm_chord2(s, balls[k].centre) <= near * near) << k;
      }
      --level;
      first[level] = begin;
      near_nodes[level] = found;
      continue;
    }
    const int32_t own = (int32_t)(tree->count - begin < 8 ? tree->count - begin : 8);
    for (int32_t k = 0; k < own; ++k) {
      const double chord2 = cvtm_chord2(s, cvtm_vector_load(tree->sites, begin + k));
      found |= (uint32_t)((chord2 <= reach * reach) & (chord2 >= from * from) & (begin + k != i))
               << k;
    }
    for (int32_t k = 0; found >> k != 0; ++k) {
      if ((found >> k & 1) == 0) continue;
      const int32_t j = (int32_t)begin + k;
      int32_t known = 0;
      while (known < hint_count && hints[known] != j) ++known;
      if (known < hint_count) continue; /* its bisector has cut already */
      cvtm_sphere_cell_cut(cell, cvtm_vector_load(tree->sites, j), j);
      reach = fmin(to, 2 * sqrt(cell->radius2 / (1 + cell->radius2)));
    }
  }
}

/* Makes cell i. hints: the neighbours of the last evaluation, then -1; replaced by the new ones. */
CVTM_INLINE cvtm_sphere_outcome cvtm_sphere_cell_make(const cvtm_sphere_tree *tree, int64_t i,
                                                      int32_t *hints, cvtm_sphere_cell *cell) {
  const cvtm_vector s = cvtm_vector_load(tree->sites, i);
  cvtm_sphere_cell_start(s, cell);
  int32_t hint_count = 0;
  double nearest2 = 4;
  for (; hint_count < CVTM_SPHERE_HINTS && hints[hint_count] >= 0; ++hint_count) {
    const cvtm_vector t = cvtm_vector_load(tree->sites, hints[hint_count]);
    nearest2 = fmin(nearest2, cvtm_chord2(s, t));
    cvtm_sphere_cell_cut(cell, t, hints[hint_count]);
  }
  /* In rings of growing distance, because far sites would cut in vain before near sites do. */
  double from = 0, to = 3 * sqrt(nearest2);
  if (!(to > 1e-9)) to = 1e-9;
  for (;;) {
    cvtm_sphere_cell_cut_ring(tree, i, hints, hint_count, from, to, cell);
    if (4 * cell->radius2 <= to * to * (1 + cell->radius2) || to > 2) break;
    from = to * (1 + 1e-15);
    to *= 2;
  }
  int32_t open = cell->corners.count < 3 || cell->corners.count == CVTM_SPHERE_SIDES;
  for (int32_t k = 0; k < cell->corners.count; ++k) {
    open |= cell->neighbor[k] < 0;
    if (k < CVTM_SPHERE_HINTS) hints[k] = cell->neighbor[k];
  }
  if (cell->corners.count < CVTM_SPHERE_HINTS) hints[cell->corners.count] = -1;
  return open ? CVTM_SPHERE_OPEN : CVTM_SPHERE_DONE;
}
