#include "jfa/site_tree.h"

#include "base/primitives.h"
#include "jfa/site_tree_kernels.h"

#include <stdlib.h>

struct cvtm_site_tree {
  cvtm_device *device;
  const cvtm_site_tree_table *table;
  cvtm_domain domain;
  int64_t capacity;
  int64_t count;
  double *position;
  double *box;
  int32_t *index, *index_alt;
  uint64_t *keys, *keys_alt;
  void *workspace;
  size_t workspace_bytes;
};

static const cvtm_site_tree_table *choose_table(const cvtm_device *device) {
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) return &cvtm_site_tree_table_cuda;
#else
  (void)device;
#endif
  return &cvtm_site_tree_table_cpu;
}

static int64_t leaves_for(int64_t count) {
  int64_t leaves = 1;
  while (leaves * CVTM_TREE_LEAF < count) leaves *= 2;
  return leaves;
}

static cvtm_status allocate_all(cvtm_site_tree *tree) {
  cvtm_device *device = tree->device;
  const int64_t n = tree->capacity;
  cvtm_status status = cvtm_sort_workspace(device, n, &tree->workspace_bytes);
  const struct {
    int64_t count;
    size_t size;
    void **memory;
  } arrays[] = {
      {2 * n, sizeof(double), (void **)&tree->position},
      {8 * leaves_for(n), sizeof(double), (void **)&tree->box},
      {n, sizeof(int32_t), (void **)&tree->index},
      {n, sizeof(int32_t), (void **)&tree->index_alt},
      {n, sizeof(uint64_t), (void **)&tree->keys},
      {n, sizeof(uint64_t), (void **)&tree->keys_alt},
      {(int64_t)tree->workspace_bytes, 1, &tree->workspace},
  };
  for (size_t k = 0; status == CVTM_OK && k < sizeof arrays / sizeof *arrays; ++k)
    status = cvtm_device_allocate(device, arrays[k].count, arrays[k].size, arrays[k].memory);
  return status;
}

cvtm_status cvtm_site_tree_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                  cvtm_site_tree **result) {
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
  tree->table = choose_table(device);
  tree->domain = domain;
  tree->capacity = capacity;
  const cvtm_status status = allocate_all(tree);
  if (status != CVTM_OK) {
    cvtm_site_tree_destroy(tree);
    return status;
  }
  *result = tree;
  return CVTM_OK;
}

void cvtm_site_tree_destroy(cvtm_site_tree *tree) {
  if (!tree) return;
  cvtm_device *device = tree->device;
  cvtm_device_free(device, tree->position);
  cvtm_device_free(device, tree->box);
  cvtm_device_free(device, tree->index);
  cvtm_device_free(device, tree->index_alt);
  cvtm_device_free(device, tree->keys);
  cvtm_device_free(device, tree->keys_alt);
  cvtm_device_free(device, tree->workspace);
  free(tree);
}

cvtm_status cvtm_site_tree_build(cvtm_site_tree *tree, const double *sites, int64_t count) {
  cvtm_device *device = tree->device;
  if (count < 0 || count > tree->capacity)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "%lld sites do not fit a tree for %lld", (long long)count,
                     (long long)tree->capacity);
  cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK) return status;
  tree->count = count;
  if (count > 0) {
    status = tree->table->encode(device, tree->domain, sites, count, tree->keys, tree->index);
    if (status != CVTM_OK) return status;
    status = cvtm_sort_pairs(device, tree->keys, tree->index, tree->keys_alt, tree->index_alt,
                             count, 64, tree->workspace, tree->workspace_bytes);
    if (status != CVTM_OK) return status;
    status = tree->table->gather(device, tree->domain, sites, count, tree->index, tree->position);
    if (status != CVTM_OK) return status;
  }
  return tree->table->bound(device, count, leaves_for(count), tree->position, tree->box);
}

cvtm_site_tree_view cvtm_site_tree_get_view(const cvtm_site_tree *tree) {
  const cvtm_site_tree_view view = {
      .count = tree->count,
      .leaf_count = leaves_for(tree->count),
      .position = tree->position,
      .index = tree->index,
      .box = tree->box,
  };
  return view;
}
