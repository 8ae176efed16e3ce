/* Inside meshes only: places where edges must be shorter, and the sizes around them. */
#ifndef CVTMESH_MESHES_SIZED_SIZE_TREE_H
#define CVTMESH_MESHES_SIZED_SIZE_TREE_H

#include <stdint.h>

typedef struct cvtm_small_size {
  double x, y, size;
} cvtm_small_size;

typedef struct cvtm_size_node {
  double low[2], high[2], least; /* box and least size of its sources */
} cvtm_size_node;

/* Sources in the order of a balanced tree over their places. */
typedef struct cvtm_size_tree {
  int64_t count, capacity;
  cvtm_small_size *sources;
  int64_t built;         /* sources that the nodes know */
  int leaf_level;        /* level of the leaves; the root has level 0 */
  cvtm_size_node *nodes; /* children of node k: 2 k + 1, 2 k + 2 */
} cvtm_size_tree;

void cvtm_size_tree_free(cvtm_size_tree *tree);
/* Adds a source; returns 0 if there is no memory. */
int cvtm_size_tree_add(cvtm_size_tree *tree, double x, double y, double size);
/* Makes the nodes; returns 0 if there is no memory. */
int cvtm_size_tree_build(cvtm_size_tree *tree);
/* The least of `most` and, over all sources, size + growth * distance. *source (may be NULL): the
 * source that gives it, -1: `most`. */
double cvtm_size_tree_find(const cvtm_size_tree *tree, double growth, double x, double y,
                           double most, int64_t *source);

#endif
