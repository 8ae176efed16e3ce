#include "jfa/site_tree.h"

#include "base/primitives.h"
#include "base/select.h"
#include "jfa/site_tree_kernels.h"

#include <stdlib.h>

struct cvtm_site_tree {
  cvtm_device *device;
  const cvtm_site_tree_table *table;
  int64_t capacity;
  int64_t total; /* capacity, plus the sites of other ranks that this tree lacks */
  int has_boxes;
  cvtm_site_tree_arrays arrays;
};

static int64_t leaves_for(int64_t count) {
  int64_t leaves = 1;
  while (leaves * CVTM_TREE_LEAF < count) leaves *= 2;
  return leaves;
}

/* The number of levels of bins: the smallest with at least one bin in the domain for each site.
 * There are at most 13 levels. The Morton square, which can be much larger than a long and thin
 * domain, has fewer than 64 bins for each site. */
int32_t cvtm_site_tree_levels(cvtm_domain domain, int64_t count) {
  const double side = (double)((uint64_t)1 << (32 - cvtm_morton_shift(domain)));
  const double share = (double)domain.width * (double)domain.height / (side * side);
  int32_t levels = 0;
  double bins = 1;
  while (levels < 13 && bins * share < (double)count && bins < 16.0 * (double)count) {
    ++levels;
    bins *= 4;
  }
  return levels;
}

static int64_t bins_of(int32_t levels) { return (int64_t)1 << 2 * levels; }

static int on_cuda(const cvtm_site_tree *tree) {
  return cvtm_device_get_kind(tree->device) == CVTM_DEVICE_CUDA;
}

/* The number of bins of a tree with `total` sites, the largest that a sort can need. */
static int64_t most_bins(const cvtm_site_tree *tree) {
  return bins_of(cvtm_site_tree_levels(tree->arrays.domain, tree->total));
}

static int64_t most_tiles(const cvtm_site_tree *tree) {
  return most_bins(tree) / CVTM_TREE_TILE + 1;
}

static cvtm_arrays tree_arrays(cvtm_site_tree *tree) {
  cvtm_site_tree_arrays *a = &tree->arrays;
  const int cuda = on_cuda(tree);
  const int64_t n = tree->capacity, bins = most_bins(tree);
  const int64_t counts = cuda ? bins : 0, tiles = cuda ? most_tiles(tree) : 0;
  return (cvtm_arrays){{
      CVTM_ARRAY(a->position, 2 * n),
      CVTM_ARRAY(a->box, tree->has_boxes ? 8 * leaves_for(n) : 0),
      CVTM_ARRAY(a->spacing, n),
      CVTM_ARRAY(a->index, n),
      CVTM_ARRAY(a->order, n),
      CVTM_ARRAY(a->keys, n),
      CVTM_ARRAY(a->keys_alt, cuda ? 0 : n),
      CVTM_ARRAY(a->start, bins + 1),
      CVTM_ARRAY(a->bin_count, counts),
      CVTM_ARRAY(a->bin_head, counts),
      CVTM_ARRAY(a->tile_count, tiles),
      CVTM_ARRAY(a->taken, cuda),
      CVTM_ARRAY(a->done, cuda),
      CVTM_ARRAY(a->ended, cuda),
      CVTM_ARRAY(a->fullest, cuda),
  }};
}

static cvtm_status allocate_tree(cvtm_site_tree *tree) {
  cvtm_device *device = tree->device;
  cvtm_site_tree_arrays *a = &tree->arrays;
  const int cuda = on_cuda(tree);
  CVTM_TRY(cvtm_device_allocate_arrays(device, tree_arrays(tree)));
  if (!cuda) return cvtm_sort_reserve(device, tree->capacity);
  const size_t counts = (size_t)most_bins(tree), tiles = (size_t)most_tiles(tree);
  CVTM_TRY(cvtm_device_fill(device, a->bin_count, 0, counts * sizeof *a->bin_count));
  CVTM_TRY(cvtm_device_fill(device, a->bin_head, 0xFF, counts * sizeof *a->bin_head));
  CVTM_TRY(cvtm_device_fill(device, a->tile_count, 0, tiles * sizeof *a->tile_count));
  CVTM_TRY(cvtm_device_fill(device, a->taken, 0, sizeof *a->taken));
  CVTM_TRY(cvtm_device_fill(device, a->done, 0, sizeof *a->done));
  CVTM_TRY(cvtm_device_fill(device, a->ended, 0, sizeof *a->ended));
  return cvtm_device_fill(device, a->fullest, 0, sizeof *a->fullest);
}

static cvtm_status create_tree(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                               int64_t total, int has_boxes, cvtm_site_tree **result) {
  if (domain.width < 1 || domain.height < 1 || domain.width > CVTM_MAX_SIDE ||
      domain.height > CVTM_MAX_SIDE)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "a domain of %d x %d pixels: each side must be 1 to %d", domain.width,
                     domain.height, CVTM_MAX_SIDE);
  if (capacity < 0 || capacity > INT32_MAX)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "room for %lld sites: it must be 0 to %ld", (long long)capacity,
                     (long)INT32_MAX);
  cvtm_site_tree *tree = calloc(1, sizeof *tree);
  if (!tree) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  tree->device = device;
  tree->table = CVTM_TABLE(device, cvtm_site_tree_table);
  tree->arrays.domain = domain;
  tree->capacity = capacity;
  tree->total = total;
  tree->has_boxes = has_boxes;
  const cvtm_status status = allocate_tree(tree);
  if (status != CVTM_OK) {
    cvtm_site_tree_destroy(tree);
    return status;
  }
  *result = tree;
  return CVTM_OK;
}

cvtm_status cvtm_site_tree_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                  cvtm_site_tree **tree) {
  return create_tree(device, domain, capacity, capacity, 1, tree);
}

cvtm_status cvtm_site_tree_create_part(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                       int64_t total, cvtm_site_tree **tree) {
  return create_tree(device, domain, capacity, total, 0, tree);
}

void cvtm_site_tree_destroy(cvtm_site_tree *tree) {
  if (!tree) return;
  cvtm_device_free_arrays(tree->device, tree_arrays(tree));
  free(tree);
}

cvtm_status cvtm_site_tree_sort_part(cvtm_site_tree *tree, const double *sites, int64_t count,
                                     int64_t total, const cvtm_tree_cover *cover) {
  cvtm_device *device = tree->device;
  cvtm_site_tree_arrays *a = &tree->arrays;
  if (count < 0 || count > tree->capacity)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "%lld sites do not fit a tree for %lld", (long long)count,
                     (long long)tree->capacity);
  CVTM_TRY(cvtm_device_activate(device));
  a->count = count;
  a->leaf_count = leaves_for(count);
  a->levels = cvtm_site_tree_levels(a->domain, total);
  a->cover = cover;
  if (count == 0)
    return cvtm_device_fill(device, a->start, 0,
                            (size_t)(bins_of(a->levels) + 1) * sizeof *a->start);
  return tree->table->sort(device, a, sites);
}

void cvtm_site_tree_set_domain(cvtm_site_tree *tree, cvtm_domain domain) {
  tree->arrays.domain = domain;
}

cvtm_status cvtm_site_tree_sort(cvtm_site_tree *tree, const double *sites, int64_t count) {
  return cvtm_site_tree_sort_part(tree, sites, count, count, NULL);
}

cvtm_status cvtm_site_tree_build_boxes(cvtm_site_tree *tree, const int32_t *wanted) {
  return tree->table->bound(tree->device, &tree->arrays, wanted);
}

cvtm_status cvtm_site_tree_build(cvtm_site_tree *tree, const double *sites, int64_t count) {
  CVTM_TRY(cvtm_site_tree_sort(tree, sites, count));
  return cvtm_site_tree_build_boxes(tree, NULL);
}

cvtm_site_tree_view cvtm_site_tree_get_view(const cvtm_site_tree *tree) {
  const cvtm_site_tree_arrays *a = &tree->arrays;
  const cvtm_site_tree_view view = {
      .count = a->count,
      .leaf_count = leaves_for(a->count),
      .position = a->position,
      .index = a->index,
      .box = a->box,
      .start = a->start,
      .levels = a->levels,
      .shift = cvtm_morton_shift(a->domain),
      .spacing = a->spacing,
      .cover = a->cover,
  };
  return view;
}
