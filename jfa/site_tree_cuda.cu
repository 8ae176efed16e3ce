/* Sorting by counting: a site's bin holds few others, so that its place in the order is
 * found by comparing with those alone. The sites of a bin form a chain. */
#include "base/cuda_check.h"
#include "jfa/site_tree_bound.h"

enum {
  BLOCK = 256,
  SHARE = CVTM_TREE_TILE / BLOCK /* a thread's bins of a tile */
};

static __device__ int64_t first_index(void) {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

static __device__ int64_t index_stride(void) {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

/* Counts and chains the sites of each bin, in any order. */
static __global__ void count_kernel(cvtm_site_tree_arrays tree, const double *sites) {
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t i = first_index(); i < tree.count; i += index_stride()) {
    double x, y;
    cvtm_canonical_site(metric, sites + 2 * i, &x, &y);
    const uint64_t code = cvtm_morton_code(tree.domain, x, y);
    const int32_t bin = cvtm_bin_of(code, tree.levels);
    tree.keys[i] = code;
    tree.order[i] = atomicExch(tree.bin_head + bin, static_cast<int32_t>(i));
    atomicAdd(tree.bin_count + bin, 1);
  }
}

/* The sum of a number of each thread of the warps, and in *before that of the threads before. */
static __device__ int32_t block_sums(int32_t mine, int32_t *before) {
  __shared__ int32_t warp_sum[BLOCK / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int32_t sum = mine;
  for (int apart = 1; apart < 32; apart *= 2) {
    const int32_t other = __shfl_up_sync(0xFFFFFFFFu, sum, apart);
    if (lane >= apart) sum += other;
  }
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  int32_t total = 0;
  *before = sum - mine;
  for (int k = 0; k < BLOCK / 32; ++k) {
    if (k < warp) *before += warp_sum[k];
    total += warp_sum[k];
  }
  __syncthreads();
  return total;
}

/* The tile of bins that this block is to do: the blocks take them in turn, so that those before are
 * done or being done. */
static __device__ int64_t take_tile(int32_t *taken) {
  __shared__ int32_t tile;
  if (threadIdx.x == 0) tile = atomicAdd(taken, 1);
  __syncthreads();
  return tile;
}

/* How many sites there are in the tiles before, as soon as their blocks have said so: a tile's
 * number is one more than its sites. */
static __device__ int32_t count_before(const cvtm_site_tree_arrays &tree, int64_t tile) {
  int32_t mine = 0, before;
  for (int64_t k = threadIdx.x; k < tile; k += BLOCK) {
    const volatile uint32_t *told = tree.tile_count + k;
    uint32_t said = *told;
    while (said == 0) said = *told;
    mine += static_cast<int32_t>(said - 1);
  }
  return block_sums(mine, &before);
}

/* Where the bins of a tile begin: behind the tiles before, one after the other. */
static __global__ void __launch_bounds__(BLOCK)
    start_kernel(cvtm_site_tree_arrays tree, int64_t bins) {
  const int64_t tile = take_tile(tree.taken);
  const int64_t first = tile * CVTM_TREE_TILE + threadIdx.x * SHARE;
  int32_t count[SHARE] = {0}, mine = 0, before;
  for (int k = 0; k < SHARE; ++k)
    if (first + k < bins) mine += count[k] = tree.bin_count[first + k];
  const int32_t total = block_sums(mine, &before);
  if (threadIdx.x == 0) atomicExch(tree.tile_count + tile, static_cast<uint32_t>(total) + 1);
  int32_t place = before + count_before(tree, tile);
  for (int k = 0; k < SHARE && first + k < bins; ++k) {
    tree.start[first + k] = place;
    place += count[k];
  }
  if (tile == 0 && threadIdx.x == 0) tree.start[bins] = static_cast<int32_t>(tree.count);
}

/* Orders each bin by code, then index. Counts and chains are empty again for the next time. */
static __global__ void order_kernel(cvtm_site_tree_arrays tree, int64_t tiles,
                                    const double *sites) {
  for (int64_t k = first_index(); k < tiles; k += index_stride()) tree.tile_count[k] = 0;
  if (first_index() == 0) *tree.taken = 0;
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t i = first_index(); i < tree.count; i += index_stride()) {
    const uint64_t code = tree.keys[i];
    const int32_t bin = cvtm_bin_of(code, tree.levels);
    int64_t place = tree.start[bin];
    for (int32_t other = tree.bin_head[bin]; other >= 0; other = tree.order[other]) {
      const uint64_t other_code = tree.keys[other];
      place += other_code < code || (other_code == code && other < i);
    }
    tree.index[place] = static_cast<int32_t>(i);
    tree.spacing[place] = cvtm_tree_spacing(&tree, bin);
    cvtm_canonical_site(metric, sites + 2 * i, &tree.position[2 * place],
                        &tree.position[2 * place + 1]);
    if (atomicSub(tree.bin_count + bin, 1) == 1) tree.bin_head[bin] = -1; /* the last of them */
  }
}

/* A block makes the boxes of a subtree; the last to end, those above. */
static __global__ void __launch_bounds__(BLOCK)
    bound_kernel(cvtm_site_tree_arrays tree, const int32_t *wanted) {
  __shared__ bool last;
  if (wanted && !*wanted) return;
  cvtm_bound_subtree<BLOCK>(tree.position, tree.count, tree.leaf_count, blockIdx.x, tree.box);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(tree.ended, 1) + 1 == static_cast<int32_t>(gridDim.x);
    if (last) *tree.ended = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  cvtm_bound_above<BLOCK>(tree.leaf_count, tree.box);
}

static cvtm_status sort_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                             const double *sites) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const unsigned blocks = cvtm_cuda_blocks(tree->count, BLOCK);
  const int64_t bins = INT64_C(1) << 2 * tree->levels;
  const int64_t tiles = (bins + CVTM_TREE_TILE - 1) / CVTM_TREE_TILE;
  count_kernel<<<blocks, BLOCK, 0, stream>>>(*tree, sites);
  cvtm_status status = cvtm_cuda_launched(device, "count_kernel");
  if (status != CVTM_OK) return status;
  start_kernel<<<static_cast<unsigned>(tiles), BLOCK, 0, stream>>>(*tree, bins);
  status = cvtm_cuda_launched(device, "start_kernel");
  if (status != CVTM_OK) return status;
  order_kernel<<<blocks, BLOCK, 0, stream>>>(*tree, tiles, sites);
  return cvtm_cuda_launched(device, "order_kernel");
}

static cvtm_status bound_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                              const int32_t *wanted) {
  const int64_t subtrees = cvtm_bound_subtrees(tree->leaf_count);
  bound_kernel<<<static_cast<unsigned>(subtrees), BLOCK, 0, cvtm_cuda_stream(device)>>>(*tree,
                                                                                        wanted);
  return cvtm_cuda_launched(device, "bound_kernel");
}

extern "C" const cvtm_site_tree_table cvtm_site_tree_table_cuda = {sort_cuda, bound_cuda};
