/* Sorting by counting: a site's bin holds few others, so that its place in the order is
 * found by comparing with those alone. */
#include "base/cuda_check.h"
#include "base/primitives.h"
#include "jfa/site_tree_kernels.h"

enum { BLOCK = 256, SUBTREE = 512 /* leaves whose boxes one block makes */ };

static __device__ int64_t first_index(void) {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

static __device__ int64_t index_stride(void) {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

/* Counts the sites of each bin; a site's rank there is any. */
static __global__ void count_kernel(cvtm_site_tree_arrays tree, const double *sites) {
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t i = first_index(); i < tree.count; i += index_stride()) {
    double x, y;
    cvtm_canonical_site(metric, sites + 2 * i, &x, &y);
    const uint64_t code = cvtm_morton_code(tree.domain, x, y);
    tree.keys[i] = code;
    tree.rank[i] = atomicAdd(tree.bin_count + cvtm_bin_of(code, tree.levels), 1);
  }
}

/* Bins in order, each with its sites in any. The counts are zero again for the next time. */
static __global__ void scatter_kernel(cvtm_site_tree_arrays tree) {
  for (int64_t i = first_index(); i < tree.count; i += index_stride()) {
    const uint64_t code = tree.keys[i];
    const int32_t bin = cvtm_bin_of(code, tree.levels);
    const int32_t place = tree.start[bin] + tree.rank[i];
    tree.bin_count[bin] = 0;
    tree.keys_alt[place] = code;
    tree.order[place] = static_cast<int32_t>(i);
  }
}

/* Orders each bin by code, then index. */
static __global__ void order_kernel(cvtm_site_tree_arrays tree, const double *sites) {
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t k = first_index(); k < tree.count; k += index_stride()) {
    const uint64_t code = tree.keys_alt[k];
    const int32_t i = tree.order[k];
    const int32_t bin = cvtm_bin_of(code, tree.levels);
    const int32_t first = tree.start[bin], last = tree.start[bin + 1];
    int32_t place = first;
    for (int32_t other = first; other < last; ++other) {
      const uint64_t other_code = tree.keys_alt[other];
      place += other_code < code || (other_code == code && tree.order[other] < i);
    }
    tree.index[place] = i;
    cvtm_canonical_site(metric, sites + 2 * static_cast<int64_t>(i), &tree.position[2 * place],
                        &tree.position[2 * place + 1]);
  }
}

/* A block makes the boxes of a subtree of up to SUBTREE leaves. */
static __global__ void __launch_bounds__(BLOCK)
    bound_leaves_kernel(cvtm_site_tree_arrays tree, const int32_t *wanted) {
  if (wanted && !*wanted) return;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * SUBTREE;
  int64_t width = tree.leaf_count < SUBTREE ? tree.leaf_count : SUBTREE;
  int64_t node = tree.leaf_count + first;
  for (int64_t k = threadIdx.x; k < width; k += BLOCK)
    cvtm_bound_leaf(tree.position, tree.count, first + k, tree.box + 4 * (node + k));
  while (width > 1) {
    __syncthreads();
    width /= 2;
    node /= 2;
    for (int64_t k = threadIdx.x; k < width; k += BLOCK) cvtm_bound_children(node + k, tree.box);
  }
}

/* One block: the levels from `level` up to the root. */
static __global__ void bound_top_kernel(int64_t level, double *box, const int32_t *wanted) {
  if (wanted && !*wanted) return;
  for (; level >= 1; level /= 2) {
    for (int64_t k = threadIdx.x; k < level; k += blockDim.x) cvtm_bound_children(level + k, box);
    __syncthreads();
  }
}

static cvtm_status sort_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                             const double *sites) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const unsigned blocks = cvtm_cuda_blocks(tree->count, BLOCK);
  const int64_t bins = INT64_C(1) << 2 * tree->levels;
  count_kernel<<<blocks, BLOCK, 0, stream>>>(*tree, sites);
  cvtm_status status = cvtm_cuda_launched(device, "count_kernel");
  if (status == CVTM_OK)
    status = cvtm_scan_32(device, tree->bin_count, bins, tree->start, tree->workspace,
                          tree->workspace_bytes);
  if (status != CVTM_OK) return status;
  scatter_kernel<<<blocks, BLOCK, 0, stream>>>(*tree);
  status = cvtm_cuda_launched(device, "scatter_kernel");
  if (status != CVTM_OK) return status;
  order_kernel<<<blocks, BLOCK, 0, stream>>>(*tree, sites);
  return cvtm_cuda_launched(device, "order_kernel");
}

static cvtm_status bound_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                              const int32_t *wanted) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const int64_t subtrees = tree->leaf_count > SUBTREE ? tree->leaf_count / SUBTREE : 1;
  bound_leaves_kernel<<<static_cast<unsigned>(subtrees), BLOCK, 0, stream>>>(*tree, wanted);
  const cvtm_status status = cvtm_cuda_launched(device, "bound_leaves_kernel");
  if (status != CVTM_OK || subtrees == 1) return status;
  bound_top_kernel<<<1, 1024, 0, stream>>>(subtrees / 2, tree->box, wanted);
  return cvtm_cuda_launched(device, "bound_top_kernel");
}

extern "C" const cvtm_site_tree_table cvtm_site_tree_table_cuda = {sort_cuda, bound_cuda};
