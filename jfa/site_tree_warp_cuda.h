/* For .cu files only: a warp's walk through a site tree. The heap order of the tree makes it a
 * 32-ary tree too: the descendants five levels below a node are consecutive, one for each lane. The
 * lowest nodes of the walk are buckets of at most 32 sites, again one for each lane. */
#ifndef CVTMESH_JFA_SITE_TREE_WARP_CUDA_H
#define CVTMESH_JFA_SITE_TREE_WARP_CUDA_H

#include "jfa/site_query.h"

enum {
  CVTM_WALK_LANES = 32,
  CVTM_WALK_LEVELS = 5 /* of the tree that a warp descends at once */
};

/* The level of buckets: its first node, a power of two. */
static __device__ inline int64_t cvtm_walk_buckets(const cvtm_site_tree_view *tree) {
  return tree->leaf_count >= 4 ? tree->leaf_count / 4 : 1;
}

/* This lane's site of a bucket, or -1. */
static __device__ inline int64_t cvtm_walk_place(const cvtm_site_tree_view *tree, int64_t buckets,
                                                 int64_t node, int lane) {
  const int64_t size = tree->leaf_count / buckets * CVTM_TREE_LEAF;
  const int64_t place = (node - buckets) * size + lane;
  return lane < size && place < tree->count ? place : -1;
}

/* This lane's descendant of a node above the buckets, or -1. */
static __device__ inline int64_t cvtm_walk_child(int64_t buckets, int64_t node, int lane) {
  const int below = __clz(static_cast<int>(node)) - __clz(static_cast<int>(buckets));
  const int levels = below < CVTM_WALK_LEVELS ? below : CVTM_WALK_LEVELS;
  return lane < 1 << levels ? (node << levels) + lane : -1;
}

static __device__ inline double cvtm_warp_min(double value) {
  for (int offset = CVTM_WALK_LANES / 2; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    if (other < value) value = other;
  }
  return value;
}

#endif
