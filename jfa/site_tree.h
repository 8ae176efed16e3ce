/* A tree of boxes over sites in Morton order, for exact queries of nearest sites and neighbours. It
 * serves clustered and graded sites as well as even ones. The sites are sorted along the Morton
 * curve and divided into leaves of CVTM_TREE_LEAF consecutive sites. A perfect binary tree of
 * bounding boxes stands above the leaves. site_query.h searches it. The slot of a site is its
 * number in the sorted order.
 *
 * The curve runs over a square whose side is the least power of two that covers the domain. Each
 * side of the square has 2^32 steps. So the sites of one pixel are consecutive, and so are
 * coincident sites. A site outside a domain that is not periodic gets the code of the nearest point
 * of the domain, and keeps its coordinates. A site that is not finite lies infinitely far away: its
 * coordinates are infinite.
 *
 * The tree has 2^levels x 2^levels bins over the same square, numbered along the curve. There are
 * about two bins for each site, so that a search whose radius is known roughly needs no boxes. A
 * coarser bin consists of 4^k consecutive finest bins. */
#ifndef CVTMESH_JFA_SITE_TREE_H
#define CVTMESH_JFA_SITE_TREE_H

#include "base/device.h"
#include "base/domain.h"

CVTM_API_BEGIN

enum {
  CVTM_TREE_LEAF = 8,
  CVTM_TREE_CROWDED_SPACING = 16, /* least spacings along the side of a crowded finest bin */
  CVTM_TREE_DEPTH = 31            /* levels of squares for a search by codes */
};

/* Pointers into the device memory of the tree; kernels take them by value. Nodes are numbered as in
 * a heap: the root is 1, the children of k are 2 k and 2 k + 1, and leaf l is leaf_count + l. Leaf
 * l has the slots 8 l .. min(8 l + 8, count) - 1. */
typedef struct cvtm_site_tree_view {
  int64_t count;          /* sites */
  int64_t leaf_count;     /* a power of two, at least 1 */
  const double *position; /* 2 * count: x, y by slot, wrapped into a periodic domain */
  const int32_t *index;   /* count: the caller's index by slot; equal codes keep index order */
  const double *box;      /* 4 per node: xmin, ymin, xmax, ymax; an empty node has xmin > xmax */
  const int32_t *start;   /* 4^levels + 1: bin b has the slots start[b] .. start[b + 1] - 1 */
  int32_t levels;
  int32_t shift; /* log2 of the steps of the curve in a pixel */
  /* count: the estimated spacing of the sites around the site at each slot, or 0 without an
   * estimate. In a crowded bin it is at most the side of a finest bin divided by
   * CVTM_TREE_CROWDED_SPACING. */
  const float *spacing;
  const struct cvtm_tree_cover *cover; /* of a tree that lacks some sites; else NULL */
} cvtm_site_tree_view;

typedef struct cvtm_site_tree cvtm_site_tree;

cvtm_status cvtm_site_tree_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                  cvtm_site_tree **tree);
void cvtm_site_tree_destroy(cvtm_site_tree *tree);
/* sites: 2 * count doubles in device memory. Enqueued; allocates nothing, and can be captured in a
 * graph. count must not exceed the capacity. */
cvtm_status cvtm_site_tree_build(cvtm_site_tree *tree, const double *sites, int64_t count);
/* The two parts of cvtm_site_tree_build: the order and the bins; then the boxes. wanted: NULL, or a
 * number in device memory; if it is 0 when the device reaches this work, the boxes are not built.
 */
cvtm_status cvtm_site_tree_sort(cvtm_site_tree *tree, const double *sites, int64_t count);
cvtm_status cvtm_site_tree_build_boxes(cvtm_site_tree *tree, const int32_t *wanted);
/* Valid until the next build or destroy. The pointers stay the same for a tree and a count. */
cvtm_site_tree_view cvtm_site_tree_get_view(const cvtm_site_tree *tree);

CVTM_API_END
#endif
