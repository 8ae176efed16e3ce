/* For .cu files only: the boxes of a site tree by blocks of THREADS threads, first those of all
 * subtrees of CVTM_TREE_SUBTREE_LEAVES leaves, then those above. */
#ifndef CVTMESH_JFA_SITE_TREE_BOXES_CUDA_H
#define CVTMESH_JFA_SITE_TREE_BOXES_CUDA_H

#include "jfa/site_tree_kernels.h"

enum { CVTM_TREE_SUBTREE_LEAVES = 512 /* of a subtree, at most */ };

CVTM_HD int64_t cvtm_tree_subtrees(int64_t leaf_count) {
  return leaf_count > CVTM_TREE_SUBTREE_LEAVES ? leaf_count / CVTM_TREE_SUBTREE_LEAVES : 1;
}

template <int THREADS>
__device__ void cvtm_tree_subtree_boxes(const double *position, int64_t count, int64_t leaf_count,
                                        int64_t subtree, double *box) {
  const int64_t first = subtree * CVTM_TREE_SUBTREE_LEAVES;
  int64_t width = leaf_count < CVTM_TREE_SUBTREE_LEAVES ? leaf_count : CVTM_TREE_SUBTREE_LEAVES;
  int64_t node = leaf_count + first;
  for (int64_t k = threadIdx.x; k < width; k += THREADS)
    cvtm_tree_leaf_box(position, count, first + k, box + 4 * (node + k));
  while (width > 1) {
    __syncthreads();
    width /= 2;
    node /= 2;
    for (int64_t k = threadIdx.x; k < width; k += THREADS) cvtm_tree_unite_children(node + k, box);
  }
}

template <int THREADS>
__device__ void cvtm_tree_upper_boxes(int64_t leaf_count, double *box) {
  for (int64_t level = cvtm_tree_subtrees(leaf_count) / 2; level >= 1; level /= 2) {
    for (int64_t k = threadIdx.x; k < level; k += THREADS) cvtm_tree_unite_children(level + k, box);
    __syncthreads();
  }
}

#endif
