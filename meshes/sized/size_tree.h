/* Inside meshes only: points where edges must be shorter (sources), and the sizes around them. */
#ifndef CVTMESH_MESHES_SIZED_SIZE_TREE_H
#define CVTMESH_MESHES_SIZED_SIZE_TREE_H

#include <stdint.h>

typedef struct cvtm_small_size {
  double x, y, size;
} cvtm_small_size;

typedef struct cvtm_size_node {
  double low[2], high[2], least; /* box and least size of its sources */
} cvtm_size_node;

/* Sources in the order of a balanced tree over their positions. */
typedef struct cvtm_size_tree {
  int64_t count, capacity;
  cvtm_small_size *sources;
  int64_t built;         /* number of sources when the nodes were made */
  int leaf_level;        /* level of the leaves; the root has level 0 */
  cvtm_size_node *nodes; /* children of node k: 2 k + 1, 2 k + 2 */
} cvtm_size_tree;

void cvtm_size_tree_free(cvtm_size_tree *tree);
/* Adds a source; returns 0 if memory runs out. */
int cvtm_size_tree_add(cvtm_size_tree *tree, double x, double y, double size);
/* Makes the nodes; returns 0 if memory runs out. */
int cvtm_size_tree_build(cvtm_size_tree *tree);
/* The smallest of `most` and, over all sources, size + growth * distance. *source (may be NULL):
 * the source that gives the result, or -1 for `most`. */
double cvtm_size_tree_find(const cvtm_size_tree *tree, double growth, double x, double y,
                           double most, int64_t *source);

#endif
