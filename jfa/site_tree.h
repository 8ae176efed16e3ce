/* A tree of boxes over sites in Morton order, for exact queries of nearest sites and neighbours,
 * also of clustered and graded sites. The sites are sorted along the Morton curve; the slot of a
 * site is its index in this order. Leaves of the tree are CVTM_TREE_LEAF consecutive sites, and the
 * nodes above are a perfect binary tree of bounding boxes. site_query.h has the searches.
 *
 * The curve fills the Morton square. The side of this square is the smallest power of two that is
 * not less than either side of the domain, and is divided into 2^32 steps. So the sites of one
 * pixel are consecutive, as are coincident sites. A site outside a domain that is not periodic gets
 * the code of the nearest point of the domain, and keeps its coordinates. A site that is not finite
 * gets infinite coordinates.
 *
 * The tree has 2^levels x 2^levels bins over the Morton square, numbered along the curve: at least
 * one for each site, in most domains. A search with a roughly known radius needs only the bins, not
 * the boxes. A bin of a coarser level consists of 4^k consecutive finest bins. */
#pragma once

#include "base/device.h"
#include "base/domain.h"

CVTM_API_BEGIN

enum {
  CVTM_TREE_LEAF = 8,
  CVTM_TREE_CROWDED_SPACING = 16, /* in a crowded finest bin, an estimated spacing is at most the
                                     side of the bin divided by this */
  CVTM_TREE_DEPTH = 31            /* levels of squares for a search by codes */
};

/* Pointers into the device memory of the tree; kernels take the struct by value. Nodes are numbered
 * as in a heap: the root is 1, the children of k are 2 k and 2 k + 1, and leaf l is leaf_count + l.
 * Leaf l has the slots 8 l .. min(8 l + 8, count) - 1. */
typedef struct cvtm_site_tree_view {
  int64_t count;          /* sites */
  int64_t leaf_count;     /* a power of two, at least 1 */
  const double *position; /* 2 * count: x, y by slot; wrapped into the domain if it is periodic */
  const int32_t *index;   /* count: the caller's index by slot, ascending where codes are equal */
  const double *box;      /* 4 per node: xmin, ymin, xmax, ymax; an empty node has xmin > xmax */
  const int32_t *start;   /* 4^levels + 1: bin b has the slots start[b] .. start[b + 1] - 1 */
  int32_t levels;
  int32_t shift; /* log2 of the steps of the curve per pixel */
  /* count: the estimated spacing of the sites around the site at each slot, or 0 if there is no
   * estimate; in a crowded bin at most the side of a finest bin / CVTM_TREE_CROWDED_SPACING. */
  const float *spacing;
  const struct cvtm_tree_cover *cover; /* of a tree that lacks some sites; else NULL */
} cvtm_site_tree_view;

typedef struct cvtm_site_tree cvtm_site_tree;

cvtm_status cvtm_site_tree_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                  cvtm_site_tree **tree);
void cvtm_site_tree_destroy(cvtm_site_tree *tree);
/* Builds the tree of sites (2 * count doubles in device memory). Enqueued; allocates nothing, and
 * can be captured in a graph. CVTM_ERROR_ARGUMENT: count is above the capacity. */
cvtm_status cvtm_site_tree_build(cvtm_site_tree *tree, const double *sites, int64_t count);
/* The two parts of cvtm_site_tree_build: the first sorts the sites and makes the bins, the second
 * builds the boxes. wanted: NULL, or a number in device memory; the boxes are not built if *wanted
 * is 0 when the device begins this work. */
cvtm_status cvtm_site_tree_sort(cvtm_site_tree *tree, const double *sites, int64_t count);
cvtm_status cvtm_site_tree_build_boxes(cvtm_site_tree *tree, const int32_t *wanted);
/* The view is valid until the next build or destroy. Builds of equal counts give equal pointers. */
cvtm_site_tree_view cvtm_site_tree_get_view(const cvtm_site_tree *tree);

CVTM_API_END
