#include "jfa/site_tree_kernels.h"

static cvtm_status encode_cpu(cvtm_device *device, cvtm_domain domain, const double *sites,
                              int64_t count, uint64_t *keys, int32_t *order) {
  const cvtm_metric metric = cvtm_metric_of(domain);
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    double x, y;
    cvtm_canonical_site(metric, sites + 2 * i, &x, &y);
    keys[i] = cvtm_morton_code(domain, x, y);
    order[i] = (int32_t)i;
  }
  return CVTM_OK;
}

static cvtm_status gather_cpu(cvtm_device *device, cvtm_domain domain, const double *sites,
                              int64_t count, const int32_t *order, double *position) {
  const cvtm_metric metric = cvtm_metric_of(domain);
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t place = 0; place < count; ++place)
    cvtm_canonical_site(metric, sites + 2 * (int64_t)order[place], &position[2 * place],
                        &position[2 * place + 1]);
  return CVTM_OK;
}

static cvtm_status bound_cpu(cvtm_device *device, int64_t count, int64_t leaf_count,
                             const double *position, double *box) {
  const int threads = cvtm_device_threads(device);
#pragma omp parallel for num_threads(threads) schedule(static) if (leaf_count > 1024)
  for (int64_t leaf = 0; leaf < leaf_count; ++leaf)
    cvtm_bound_leaf(position, count, leaf, box + 4 * (leaf_count + leaf));
  for (int64_t level = leaf_count / 2; level >= 1; level /= 2) {
#pragma omp parallel for num_threads(threads) schedule(static) if (level > 1024)
    for (int64_t node = level; node < 2 * level; ++node) cvtm_bound_children(node, box);
  }
  return CVTM_OK;
}

const cvtm_site_tree_table cvtm_site_tree_table_cpu = {
    .encode = encode_cpu,
    .gather = gather_cpu,
    .bound = bound_cpu,
};
