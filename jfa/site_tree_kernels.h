/* Inside the library: the phases of building a site tree that differ between devices, and the
 * functions that both devices share. */
#pragma once

#include "jfa/site_query.h"

CVTM_C_BEGIN

enum { CVTM_TREE_TILE = 2048 /* bins that a block of CUDA threads counts together */ };

/* A tree's device memory, its domain, and the counts of the last sort. */
typedef struct cvtm_site_tree_arrays {
  cvtm_domain domain;
  int64_t count, leaf_count;
  int32_t levels;
  double *position, *box;
  float *spacing;
  int32_t *index, *start;
  const cvtm_tree_cover *cover; /* of a tree that lacks some sites; else NULL */
  /* Scratch of both devices. keys: codes; order: an array of the sort, or chains of sites. */
  uint64_t *keys;
  int32_t *order;
  uint64_t *keys_alt; /* scratch of the CPU's radix sort */
  /* Scratch of CUDA. Between sorts all entries of bin_head are -1, and all entries of the other
   * arrays are 0. */
  int32_t *bin_count;             /* sites of each bin */
  int32_t *bin_head;              /* the first site of the chain of each bin */
  unsigned long long *tile_count; /* of each tile of bins: tile_word of site_tree_cuda.cu, or 0 */
  int32_t *taken;                 /* items of work that blocks have taken; one number */
  int32_t *done;                  /* items that are done */
  int32_t *ended;                 /* blocks that have ended */
  int32_t *fullest;               /* sites of the fullest crowded bin */
} cvtm_site_tree_arrays;

typedef struct cvtm_site_tree_table {
  /* Sets position, index, start and spacing. There is at least one site. */
  cvtm_status (*sort)(cvtm_device *device, const cvtm_site_tree_arrays *tree, const double *sites);
  /* Sets the boxes of all nodes, unless wanted is not NULL and *wanted is 0. */
  cvtm_status (*bound)(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                       const int32_t *wanted);
} cvtm_site_tree_table;

extern const cvtm_site_tree_table cvtm_site_tree_table_cpu, cvtm_site_tree_table_cuda;

/* --- a site tree that lacks some sites (cvtm_tree_cover in site_query.h) ---------------------- */

/* A tree that lacks some sites has the bins and levels of the tree of all sites, so that a search
 * gives the same result. */

/* The number of levels of bins of a tree of `count` sites. */
int32_t cvtm_site_tree_levels(cvtm_domain domain, int64_t count);
/* Creates a tree without boxes for `capacity` of at most `total` sites. */
cvtm_status cvtm_site_tree_create_part(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                       int64_t total, cvtm_site_tree **tree);
/* Sets the domain of the next sorts: the domain of the tree's creation, in larger units. */
void cvtm_site_tree_set_domain(cvtm_site_tree *tree, cvtm_domain domain);
/* cvtm_site_tree_sort for `count` of `total` sites. cover: in device memory, borrowed until the
 * next sort; the sort marks the bins that the spacings of own sites need. Sites with equal codes
 * must be in the order that they have among all sites. */
cvtm_status cvtm_site_tree_sort_part(cvtm_site_tree *tree, const double *sites, int64_t count,
                                     int64_t total, const cvtm_tree_cover *cover);

CVTM_C_END

/* The bin of a code, among 4^levels bins. */
CVTM_HD int32_t cvtm_bin_of(uint64_t code, int32_t levels) {
  return levels == 0 ? 0 : (int32_t)(code >> (64 - 2 * levels));
}

enum {
  CVTM_TREE_NEIGHBORS = 8,     /* a spacing is estimated from at least this number of sites */
  CVTM_TREE_CROWDED_BIN = 192, /* a finest bin with more sites is crowded */
  CVTM_TREE_AT_ONCE = 4        /* counts of bins that are read before the first is used */
};

/* The number of sites in the bin that contains the finest bin `bin` and is `up` levels above it. */
CVTM_HD int32_t cvtm_bin_count(const cvtm_site_tree_arrays *tree, int32_t bin, int32_t up) {
  const int32_t first = bin >> 2 * up << 2 * up;
  return tree->start[first + (1 << 2 * up)] - tree->start[first];
}

/* 2^-depth times the side of the Morton square, in pixels. */
CVTM_HD float cvtm_tree_side(const cvtm_site_tree_arrays *tree, int32_t depth) {
  return ldexpf(1, 32 - cvtm_morton_shift(tree->domain) - depth);
}

/* True if site i is not an own site (cvtm_tree_cover). */
CVTM_HD int cvtm_tree_is_foreign(const cvtm_site_tree_arrays *tree, int64_t i) {
  return tree->cover != NULL && (i < tree->cover->first || i >= tree->cover->end);
}

/* The spacing of the sites around site i, which is in the finest bin `bin`: estimated from the
 * smallest bin that contains site i and has CVTM_TREE_NEIGHBORS sites. 0 if that bin is crowded, or
 * if the site is not an own site. */
CVTM_HD float cvtm_bin_spacing(const cvtm_site_tree_arrays *tree, int64_t i, int32_t bin) {
  if (cvtm_tree_is_foreign(tree, i)) return 0;
  int32_t counts[CVTM_TREE_AT_ONCE], up = 0, count = 0;
  for (int32_t k = 0; k < CVTM_TREE_AT_ONCE; ++k)
    counts[k] = cvtm_bin_count(tree, bin, k < tree->levels ? k : tree->levels);
  for (int32_t k = 0; k < CVTM_TREE_AT_ONCE && count < CVTM_TREE_NEIGHBORS; ++k) {
    count = counts[k];
    up = k < tree->levels ? k : tree->levels;
  }
  while (count < CVTM_TREE_NEIGHBORS && up < tree->levels) {
    count = cvtm_bin_count(tree, bin, ++up);
    if (tree->cover != NULL && up > CVTM_TREE_COARSE)
      cvtm_tree_want(tree->cover, tree->levels, tree->levels - up, (uint32_t)(bin >> 2 * up));
  }
  const float side = cvtm_tree_side(tree, tree->levels - up);
  return count > CVTM_TREE_CROWDED_BIN ? 0 : side / sqrtf((float)count);
}

/* The Morton code of the site at a slot, while the tree is built. */
CVTM_HD uint64_t cvtm_tree_code(const cvtm_site_tree_arrays *tree, int64_t slot) {
#ifdef __CUDA_ARCH__
  return tree->keys[tree->index[slot]];
#else
  return tree->keys[slot];
#endif
}

/* The spacing of the sites around a slot in a crowded bin: estimated from the smallest square of
 * the Morton curve that contains the site and CVTM_TREE_NEIGHBORS - 1 others, but at most the limit
 * of cvtm_hull_is_crowded. 0 if the site is not an own site. */
CVTM_HD float cvtm_crowded_spacing(const cvtm_site_tree_arrays *tree, int64_t slot) {
  enum { OTHERS = CVTM_TREE_NEIGHBORS - 1 };
  if (cvtm_tree_is_foreign(tree, tree->index[slot])) return 0;
  const int32_t bin = cvtm_bin_of(cvtm_tree_code(tree, slot), tree->levels);
  const int64_t first = tree->start[bin], last = tree->start[bin + 1];
  int32_t depth = tree->levels;
  for (int64_t k = slot - OTHERS > first ? slot - OTHERS : first; k <= slot && k + OTHERS < last;
       ++k) {
    const uint64_t differ = cvtm_tree_code(tree, k) ^ cvtm_tree_code(tree, k + OTHERS);
    const int32_t common = cvtm_leading_zeros(differ) / 2;
    if (common > depth) depth = common;
  }
  const float side = cvtm_tree_side(tree, depth < CVTM_TREE_DEPTH ? depth : CVTM_TREE_DEPTH);
  const float most = cvtm_tree_side(tree, tree->levels) / CVTM_TREE_CROWDED_SPACING;
  return fminf(side / sqrtf((float)CVTM_TREE_NEIGHBORS), most);
}

/* The box of the sites at slots first .. last - 1; if there are none, the lower bounds are +inf and
 * the upper bounds -inf. */
CVTM_HD void cvtm_tree_sites_box(const double *position, int64_t first, int64_t last, double *box) {
  double x0 = HUGE_VAL, y0 = HUGE_VAL, x1 = -HUGE_VAL, y1 = -HUGE_VAL;
  for (int64_t slot = first; slot < last; ++slot) {
    const double x = position[2 * slot], y = position[2 * slot + 1];
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

/* The box of the sites of a leaf. */
CVTM_HD void cvtm_tree_leaf_box(const double *position, int64_t count, int64_t leaf, double *box) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  const int64_t last = first + CVTM_TREE_LEAF < count ? first + CVTM_TREE_LEAF : count;
  cvtm_tree_sites_box(position, first, last, box);
}

/* Sets the box of a node from the boxes of its two children. box: the array of all boxes. */
CVTM_HD void cvtm_tree_unite_children(int64_t node, double *box) {
  const double *a = box + 8 * node;
  const double *b = a + 4;
  double *united = box + 4 * node;
  united[0] = a[0] < b[0] ? a[0] : b[0];
  united[1] = a[1] < b[1] ? a[1] : b[1];
  united[2] = a[2] > b[2] ? a[2] : b[2];
  united[3] = a[3] > b[3] ? a[3] : b[3];
}
