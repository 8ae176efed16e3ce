/* Inside jfa only: the phases of building a site tree that differ between devices. */
#ifndef CVTMESH_VORONOI_SITE_TREE_KERNELS_H
#define CVTMESH_VORONOI_SITE_TREE_KERNELS_H

#include "voronoi/site_query.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_TREE_TILE = 2048 /* bins that a block of CUDA threads counts together */ };

/* A tree's device memory, and what it is made for. */
typedef struct cvtm_site_tree_arrays {
  cvtm_domain domain;
  int64_t count, leaf_count;
  int32_t levels;
  double *position, *box;
  float *spacing;
  int32_t *index, *start;
  /* Scratch. On both devices: codes, and an order or chains of sites. */
  uint64_t *keys;
  int32_t *order;
  /* On the CPU: what a sort needs. */
  uint64_t *keys_alt;
  void *workspace;
  size_t workspace_bytes;
  /* On CUDA. Between sorts bin_head holds -1, all others 0. */
  int32_t *bin_count;   /* sites of each bin */
  int32_t *bin_head;    /* one of them */
  uint32_t *tile_count; /* of each tile of bins, one more than its sites */
  int32_t *taken;       /* items of work that blocks have taken, one number */
  int32_t *done;        /* items that are done */
  int32_t *ended;       /* blocks that have ended */
  int32_t *fullest;     /* sites of the fullest crowded bin */
} cvtm_site_tree_arrays;

typedef struct cvtm_site_tree_table {
  /* position, index, start and spacing of at least one site. */
  cvtm_status (*sort)(cvtm_device *device, const cvtm_site_tree_arrays *tree, const double *sites);
  /* The boxes of all leaves, then of the levels above, up to the root; wanted: NULL, or
   * pointing to 0 if they are not. */
  cvtm_status (*bound)(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                       const int32_t *wanted);
} cvtm_site_tree_table;

extern const cvtm_site_tree_table cvtm_site_tree_table_cpu, cvtm_site_tree_table_cuda;

#ifdef __cplusplus
}
#endif

/* The coordinates that the tree holds for a site. */
CVTM_HD void cvtm_canonical_site(cvtm_metric metric, const double *site, double *x, double *y) {
  if (!isfinite(site[0]) || !isfinite(site[1])) {
    *x = HUGE_VAL;
    *y = HUGE_VAL;
    return;
  }
  *x = cvtm_wrap(site[0], metric.period_x);
  *y = cvtm_wrap(site[1], metric.period_y);
}

/* The bin of a code, of 4^levels bins. */
CVTM_HD int32_t cvtm_bin_of(uint64_t code, int32_t levels) {
  return levels == 0 ? 0 : (int32_t)(code >> (64 - 2 * levels));
}

enum {
  CVTM_TREE_NEIGHBORS = 8, /* sites of the bin that tells how close they lie */
  CVTM_TREE_CROWD = 192,   /* a smallest bin that holds more sites is crowded */
  CVTM_TREE_AT_ONCE = 4    /* bins to look at before the first answer */
};

/* How many sites are in the bin that holds a smallest one, `up` levels above it. */
CVTM_HD int32_t cvtm_bin_count(const cvtm_site_tree_arrays *tree, int32_t bin, int32_t up) {
  const int32_t first = bin >> 2 * up << 2 * up;
  return tree->start[first + (1 << 2 * up)] - tree->start[first];
}

/* The side of a square of 4^-depth of the curve's square, in pixels. */
CVTM_HD float cvtm_tree_side(const cvtm_site_tree_arrays *tree, int32_t depth) {
  return ldexpf(1, 32 - cvtm_morton_shift(tree->domain) - depth);
}

/* How far apart the sites around a smallest bin are, by the least bin about it that holds enough to
 * tell; 0 if there are too many in it. */
CVTM_HD float cvtm_bin_spacing(const cvtm_site_tree_arrays *tree, int32_t bin) {
  int32_t counts[CVTM_TREE_AT_ONCE], up = 0, count = 0;
  for (int32_t k = 0; k < CVTM_TREE_AT_ONCE; ++k)
    counts[k] = cvtm_bin_count(tree, bin, k < tree->levels ? k : tree->levels);
  for (int32_t k = 0; k < CVTM_TREE_AT_ONCE && count < CVTM_TREE_NEIGHBORS; ++k) {
    count = counts[k];
    up = k < tree->levels ? k : tree->levels;
  }
  while (count < CVTM_TREE_NEIGHBORS && up < tree->levels) count = cvtm_bin_count(tree, bin, ++up);
  const float side = cvtm_tree_side(tree, tree->levels - up);
  return count > CVTM_TREE_CROWD ? 0 : side / sqrtf((float)count);
}

/* The code of the site at a place, while the tree is built. */
CVTM_HD uint64_t cvtm_tree_code(const cvtm_site_tree_arrays *tree, int64_t place) {
#ifdef __CUDA_ARCH__
  return tree->keys[tree->index[place]];
#else
  return tree->keys[place];
#endif
}

/* How far apart the sites around a place in a crowded bin are, by the smallest square of the curve
 * that holds the site and enough others. At most cvtm_hull_is_crowded's limit. */
CVTM_HD float cvtm_crowd_spacing(const cvtm_site_tree_arrays *tree, int64_t place) {
  enum { OTHERS = CVTM_TREE_NEIGHBORS - 1 };
  const int32_t bin = cvtm_bin_of(cvtm_tree_code(tree, place), tree->levels);
  const int64_t first = tree->start[bin], last = tree->start[bin + 1];
  int32_t depth = tree->levels;
  for (int64_t k = place - OTHERS > first ? place - OTHERS : first; k <= place && k + OTHERS < last;
       ++k) {
    const uint64_t differ = cvtm_tree_code(tree, k) ^ cvtm_tree_code(tree, k + OTHERS);
    const int32_t common = cvtm_leading_zeros(differ) / 2;
    if (common > depth) depth = common;
  }
  const float side = cvtm_tree_side(tree, depth < CVTM_TREE_DEPTH ? depth : CVTM_TREE_DEPTH);
  const float most = cvtm_tree_side(tree, tree->levels) / CVTM_TREE_CROWDED;
  return fminf(side / sqrtf((float)CVTM_TREE_NEIGHBORS), most);
}

/* Box of the sorted sites first .. last - 1; an empty one is infinite inside out. */
CVTM_HD void cvtm_bound_sites(const double *position, int64_t first, int64_t last, double *box) {
  double x0 = HUGE_VAL, y0 = HUGE_VAL, x1 = -HUGE_VAL, y1 = -HUGE_VAL;
  for (int64_t place = first; place < last; ++place) {
    const double x = position[2 * place], y = position[2 * place + 1];
    if (x < x0) x0 = x;
    if (y < y0) y0 = y;
    if (x > x1) x1 = x;
    if (y > y1) y1 = y;
  }
  box[0] = x0;
  box[1] = y0;
  box[2] = x1;
  box[3] = y1;
}

/* The sites of leaf l. */
CVTM_HD void cvtm_bound_leaf(const double *position, int64_t count, int64_t leaf, double *box) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  const int64_t last = first + CVTM_TREE_LEAF < count ? first + CVTM_TREE_LEAF : count;
  cvtm_bound_sites(position, first, last, box);
}

/* The union of a node's two children; box is the whole tree's array. */
CVTM_HD void cvtm_bound_children(int64_t node, double *box) {
  const double *a = box + 8 * node;
  const double *b = a + 4;
  double *united = box + 4 * node;
  united[0] = a[0] < b[0] ? a[0] : b[0];
  united[1] = a[1] < b[1] ? a[1] : b[1];
  united[2] = a[2] > b[2] ? a[2] : b[2];
  united[3] = a[3] > b[3] ? a[3] : b[3];
}

#endif
