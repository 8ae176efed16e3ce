#include "base/primitives.h"
#include "jfa/site_tree_kernels.h"

static void encode(const cvtm_site_tree_arrays *tree, int threads, const double *sites) {
  const cvtm_metric metric = cvtm_metric_of(tree->domain);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < tree->count; ++i) {
    double x, y;
    cvtm_canonical_site(metric, sites + 2 * i, &x, &y);
    tree->keys[i] = cvtm_morton_code(tree->domain, x, y);
    tree->index[i] = (int32_t)i;
  }
}

static void gather_sites(const cvtm_site_tree_arrays *tree, int threads, const double *sites) {
  const cvtm_metric metric = cvtm_metric_of(tree->domain);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t slot = 0; slot < tree->count; ++slot)
    cvtm_canonical_site(metric, sites + 2 * (int64_t)tree->index[slot], &tree->position[2 * slot],
                        &tree->position[2 * slot + 1]);
}

/* Sets start[b] to the first slot whose bin is b or later. */
static void find_starts(const cvtm_site_tree_arrays *tree, int threads) {
  const int32_t bins = (int32_t)1 << 2 * tree->levels;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t slot = 0; slot <= tree->count; ++slot) {
    const int32_t before = slot > 0 ? cvtm_bin_of(tree->keys[slot - 1], tree->levels) : -1;
    const int32_t here = slot < tree->count ? cvtm_bin_of(tree->keys[slot], tree->levels) : bins;
    for (int32_t b = before + 1; b <= here; ++b) tree->start[b] = (int32_t)slot;
  }
}

static void find_spacings(const cvtm_site_tree_arrays *tree, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t slot = 0; slot < tree->count; ++slot) {
    const int32_t bin = cvtm_bin_of(tree->keys[slot], tree->levels);
    tree->spacing[slot] = cvtm_bin_count(tree, bin, 0) > CVTM_TREE_CROWDED_BIN
                              ? cvtm_crowded_spacing(tree, slot)
                              : cvtm_bin_spacing(tree, tree->index[slot], bin);
  }
}

static cvtm_status sort_cpu(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                            const double *sites) {
  const int threads = cvtm_device_threads(device);
  encode(tree, threads, sites);
  CVTM_TRY(cvtm_sort_pairs(device, tree->keys, tree->index, tree->keys_alt, tree->order,
                           tree->count, 64));
  gather_sites(tree, threads, sites);
  find_starts(tree, threads);
  find_spacings(tree, threads);
  return CVTM_OK;
}

static cvtm_status bound_cpu(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                             const int32_t *wanted) {
  const int threads = cvtm_device_threads(device);
  if (wanted && !*wanted) return CVTM_OK;
#pragma omp parallel for num_threads(threads) schedule(static) if (tree->leaf_count > 1024)
  for (int64_t leaf = 0; leaf < tree->leaf_count; ++leaf)
    cvtm_tree_leaf_box(tree->position, tree->count, leaf,
                       tree->box + 4 * (tree->leaf_count + leaf));
  for (int64_t level = tree->leaf_count / 2; level >= 1; level /= 2) {
#pragma omp parallel for num_threads(threads) schedule(static) if (level > 1024)
    for (int64_t node = level; node < 2 * level; ++node) cvtm_tree_unite_children(node, tree->box);
  }
  return CVTM_OK;
}

const cvtm_site_tree_table cvtm_site_tree_table_cpu = {
    .sort = sort_cpu,
    .bound = bound_cpu,
};
