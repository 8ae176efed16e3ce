#include "base/cuda_check.h"
#include "jfa/site_tree_kernels.h"

enum { BLOCK = 256, TOP_LEVELS = 1024 };

static __device__ int64_t first_index(void) {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

static __device__ int64_t index_stride(void) {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

static __global__ void encode_kernel(cvtm_domain domain, const double *sites, int64_t count,
                                     uint64_t *keys, int32_t *order) {
  const cvtm_metric metric = cvtm_metric_of(domain);
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    double x, y;
    cvtm_canonical_site(metric, sites + 2 * i, &x, &y);
    keys[i] = cvtm_morton_code(domain, x, y);
    order[i] = static_cast<int32_t>(i);
  }
}

static __global__ void gather_kernel(cvtm_domain domain, const double *sites, int64_t count,
                                     const int32_t *order, double *position) {
  const cvtm_metric metric = cvtm_metric_of(domain);
  for (int64_t place = first_index(); place < count; place += index_stride())
    cvtm_canonical_site(metric, sites + 2 * static_cast<int64_t>(order[place]),
                        &position[2 * place], &position[2 * place + 1]);
}

static __global__ void bound_leaves_kernel(int64_t count, int64_t leaf_count,
                                           const double *position, double *box) {
  for (int64_t leaf = first_index(); leaf < leaf_count; leaf += index_stride())
    cvtm_bound_leaf(position, count, leaf, box + 4 * (leaf_count + leaf));
}

/* The nodes level .. 2 level - 1. */
static __global__ void bound_level_kernel(int64_t level, double *box) {
  for (int64_t k = first_index(); k < level; k += index_stride())
    cvtm_bound_children(level + k, box);
}

/* One block: the levels from `level` up to the root. */
static __global__ void bound_top_kernel(int64_t level, double *box) {
  for (; level >= 1; level /= 2) {
    for (int64_t k = threadIdx.x; k < level; k += blockDim.x) cvtm_bound_children(level + k, box);
    __syncthreads();
  }
}

static cvtm_status encode_cuda(cvtm_device *device, cvtm_domain domain, const double *sites,
                               int64_t count, uint64_t *keys, int32_t *order) {
  encode_kernel<<<cvtm_cuda_blocks(count, BLOCK), BLOCK, 0, cvtm_cuda_stream(device)>>>(
      domain, sites, count, keys, order);
  return cvtm_cuda_launched(device, "encode_kernel");
}

static cvtm_status gather_cuda(cvtm_device *device, cvtm_domain domain, const double *sites,
                               int64_t count, const int32_t *order, double *position) {
  gather_kernel<<<cvtm_cuda_blocks(count, BLOCK), BLOCK, 0, cvtm_cuda_stream(device)>>>(
      domain, sites, count, order, position);
  return cvtm_cuda_launched(device, "gather_kernel");
}

static cvtm_status bound_cuda(cvtm_device *device, int64_t count, int64_t leaf_count,
                              const double *position, double *box) {
  cudaStream_t stream = cvtm_cuda_stream(device);
  bound_leaves_kernel<<<cvtm_cuda_blocks(leaf_count, BLOCK), BLOCK, 0, stream>>>(count, leaf_count,
                                                                                 position, box);
  cvtm_status status = cvtm_cuda_launched(device, "bound_leaves_kernel");
  int64_t level = leaf_count / 2;
  for (; status == CVTM_OK && level > TOP_LEVELS; level /= 2) {
    bound_level_kernel<<<cvtm_cuda_blocks(level, BLOCK), BLOCK, 0, stream>>>(level, box);
    status = cvtm_cuda_launched(device, "bound_level_kernel");
  }
  if (status != CVTM_OK || level < 1) return status;
  bound_top_kernel<<<1, TOP_LEVELS, 0, stream>>>(level, box);
  return cvtm_cuda_launched(device, "bound_top_kernel");
}

extern "C" const cvtm_site_tree_table cvtm_site_tree_table_cuda = {
    encode_cuda,
    gather_cuda,
    bound_cuda,
};
