/* A box tree over sites in Morton order, for exact nearest-site and neighbour
 * queries on clustered and graded sites alike. The sites are sorted along the
 * Morton curve and divided into leaves of CVTM_TREE_LEAF consecutive ones; a perfect
 * binary tree of bounding boxes is above them. site_query.h searches it.
 *
 * The curve runs over a square whose side is the least power of two that covers
 * the domain, cut into 2^32 steps along each axis: so the sites of one pixel are
 * consecutive, and coincident ones are too. Sites outside a domain that is not
 * periodic get the code of the nearest point of it, and keep their coordinates. A
 * site that is not finite lies infinitely far away: its coordinates are infinite.
 *
 * The order comes with 2^levels x 2^levels bins over the same square, numbered along the
 * curve: about two bins per site, so that a search whose radius is known roughly needs no
 * boxes. A coarser bin consists of 4^k consecutive finest ones. */
#ifndef CVTMESH_JFA_SITE_TREE_H
#define CVTMESH_JFA_SITE_TREE_H

#include "base/device.h"
#include "base/domain.h"

CVTM_API_BEGIN

enum {
  CVTM_TREE_LEAF = 8,
  CVTM_TREE_CROWDED_SPACING = 16, /* spacings along the side of a crowded bin, at least */
  CVTM_TREE_DEPTH = 31            /* levels of squares that a search by codes can use */
};

/* Pointers into the tree's device memory, to be passed to kernels by value.
 * Nodes are numbered as in a heap: root 1, children 2k and 2k+1, leaf l at
 * leaf_count + l, covering sorted sites [8 l, min(8 l + 8, count)). */
typedef struct cvtm_site_tree_view {
  int64_t count;          /* sites */
  int64_t leaf_count;     /* a power of two, at least 1 */
  const double *position; /* 2 * count: x, y in sorted order, wrapped into a periodic domain */
  const int32_t
      *index;        /* count: sorted place -> the caller's index; equal codes keep index order */
  const double *box; /* 4 per node: xmin, ymin, xmax, ymax; an empty node has xmin > xmax */
  const int32_t *start; /* 4^levels + 1: the sorted sites of bin b are start[b] .. start[b+1] - 1 */
  int32_t levels;
  int32_t shift; /* steps of the curve in a pixel, as a power of two */
  /* count: estimated spacing of the sites around each; in a crowded bin at most the side of a
   * finest bin divided by CVTM_TREE_CROWDED_SPACING; 0 if there is no estimate */
  const float *spacing;
  const struct cvtm_tree_cover *cover; /* of a tree that lacks some sites; else NULL */
} cvtm_site_tree_view;

typedef struct cvtm_site_tree cvtm_site_tree;

cvtm_status cvtm_site_tree_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                  cvtm_site_tree **tree);
void cvtm_site_tree_destroy(cvtm_site_tree *tree);
/* sites: 2 * count doubles in device memory. Enqueued; allocates nothing, and can
 * be captured in a graph. count must not exceed the capacity. */
cvtm_status cvtm_site_tree_build(cvtm_site_tree *tree, const double *sites, int64_t count);
/* The two parts of cvtm_site_tree_build: the order and the bins; then the boxes, which are skipped
 * if *wanted (device memory; NULL counts as 1) is 0 when the device gets there. */
cvtm_status cvtm_site_tree_sort(cvtm_site_tree *tree, const double *sites, int64_t count);
cvtm_status cvtm_site_tree_build_boxes(cvtm_site_tree *tree, const int32_t *wanted);
/* Valid until the next build or destroy; its pointers never change for one tree and count. */
cvtm_site_tree_view cvtm_site_tree_get_view(const cvtm_site_tree *tree);

CVTM_API_END
#endif
