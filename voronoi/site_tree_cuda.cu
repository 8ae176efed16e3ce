/* Sorting by counting: most bins hold few sites, so that a site's place in the order is found by
 * comparing with the others of its bin alone; these form a chain. The sites of crowded bins are
 * merged instead. */
#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "voronoi/site_tree_bound.h"

#include <cooperative_groups.h>

enum {
  BLOCK = 256,
  SHARE = CVTM_TREE_TILE / BLOCK, /* a thread's bins of a tile */
  RUN = 32,                       /* sites of a crowded bin that are ordered by counting */
  CROWD_BLOCKS = 128              /* all of them are resident at once */
};

/* Counts and chains a site. Lanes whose sites share a bin chain these among themselves, and the
 * last lane adds them all: many sites of one bin would wait for each other's atomic operations. */
static __device__ void count_site(const cvtm_site_tree_arrays &tree, int64_t i, int32_t bin,
                                  unsigned lanes) {
  const int lane = threadIdx.x % 32;
  const unsigned peers = __match_any_sync(lanes, bin), before = peers & ((1u << lane) - 1);
  const int last = 31 - __clz(peers);
  int32_t head = -1;
  if (lane == last) {
    head = atomicExch(tree.bin_head + bin, static_cast<int32_t>(i));
    atomicAdd(tree.bin_count + bin, __popc(peers));
  }
  head = __shfl_sync(lanes, head, last);
  const int previous = before == 0 ? lane : 31 - __clz(before);
  const int32_t other = __shfl_sync(lanes, static_cast<int32_t>(i), previous);
  tree.order[i] = before == 0 ? head : other;
}

/* Counts and chains the sites of each bin, in any order. */
static __global__ void count_kernel(cvtm_site_tree_arrays tree, const double *sites) {
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t i = cvtm_first_thread(); i - threadIdx.x % 32 < tree.count;
       i += cvtm_thread_count()) {
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, i < tree.count);
    if (i >= tree.count) continue;
    double x, y;
    cvtm_canonical_site(metric, sites + 2 * i, &x, &y);
    const uint64_t code = cvtm_morton_code(tree.domain, x, y);
    tree.keys[i] = code;
    count_site(tree, i, cvtm_bin_of(code, tree.levels), lanes);
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
  __syncthreads(); /* all have read the last one */
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
    start_kernel(cvtm_site_tree_arrays tree, int64_t bins, int64_t tiles) {
  for (int64_t tile = take_tile(tree.taken); tile < tiles; tile = take_tile(tree.taken)) {
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
}

/* Orders each bin by code, then index; the sites of a crowded bin get its places in any order.
 * Counts and chains are empty again for the next sort. */
static __global__ void order_kernel(cvtm_site_tree_arrays tree, int64_t tiles,
                                    const double *sites) {
  for (int64_t k = cvtm_first_thread(); k < tiles; k += cvtm_thread_count()) tree.tile_count[k] = 0;
  if (cvtm_first_thread() == 0) *tree.taken = 0;
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t i = cvtm_first_thread(); i < tree.count; i += cvtm_thread_count()) {
    const uint64_t code = tree.keys[i];
    const int32_t bin = cvtm_bin_of(code, tree.levels);
    const int32_t count = cvtm_bin_count(&tree, bin, 0);
    const bool crowded = count > CVTM_TREE_CROWD;
    int64_t place = tree.start[bin];
    for (int32_t other = crowded ? -1 : tree.bin_head[bin]; other >= 0; other = tree.order[other]) {
      const uint64_t other_code = tree.keys[other];
      place += other_code < code || (other_code == code && other < i);
    }
    const int32_t others = atomicSub(tree.bin_count + bin, 1) - 1; /* that have not come here */
    if (others == 0) tree.bin_head[bin] = -1;
    if (crowded) {
      tree.index[place + others] = static_cast<int32_t>(i);
      if (others == 0) atomicMax(tree.fullest, count);
      continue;
    }
    tree.index[place] = static_cast<int32_t>(i);
    tree.spacing[place] = cvtm_bin_spacing(&tree, bin);
    cvtm_canonical_site(metric, sites + 2 * i, &tree.position[2 * place],
                        &tree.position[2 * place + 1]);
  }
}

/* A site of a crowded bin, on the way to its place. */
struct crowded_site {
  int32_t i;           /* the caller's number */
  uint64_t code;       /* of the curve */
  int32_t first, last; /* places of the bin */
};

static __device__ bool is_crowded(const cvtm_site_tree_arrays &tree, int32_t i,
                                  crowded_site *site) {
  site->i = i;
  site->code = tree.keys[i];
  const int32_t bin = cvtm_bin_of(site->code, tree.levels);
  site->first = tree.start[bin];
  site->last = tree.start[bin + 1];
  return site->last - site->first > CVTM_TREE_CROWD;
}

static __device__ bool is_before(const cvtm_site_tree_arrays &tree, int32_t i,
                                 const crowded_site &site) {
  const uint64_t code = tree.keys[i];
  return code < site.code || (code == site.code && i < site.i);
}

/* Orders runs of RUN sites of the crowded bins; other bins are copied. */
static __device__ void order_runs(const cvtm_site_tree_arrays &tree, const int32_t *from,
                                  int32_t *to) {
  for (int64_t place = cvtm_first_thread(); place < tree.count; place += cvtm_thread_count()) {
    crowded_site site;
    int64_t target = place;
    if (is_crowded(tree, from[place], &site)) {
      target -= (place - site.first) % RUN;
      const int64_t end = target + RUN < site.last ? target + RUN : site.last;
      for (int64_t k = target; k < end; ++k) target += is_before(tree, from[k], site);
    }
    to[target] = from[place];
  }
}

/* Merges each two runs of `run` sites of a crowded bin: a site's place is the number of sites
 * before it in its own run and in the other. */
static __device__ void merge_runs(const cvtm_site_tree_arrays &tree, int64_t run,
                                  const int32_t *from, int32_t *to) {
  for (int64_t place = cvtm_first_thread(); place < tree.count; place += cvtm_thread_count()) {
    crowded_site site;
    if (!is_crowded(tree, from[place], &site)) continue;
    const int64_t inside = (place - site.first) % (2 * run), pair = place - inside;
    int64_t low = inside < run ? pair + run : pair;
    const int64_t begin = low < site.last ? low : site.last;
    int64_t high = begin + run < site.last ? begin + run : site.last;
    for (low = begin; low < high;) {
      const int64_t middle = low + (high - low) / 2;
      if (is_before(tree, from[middle], site))
        low = middle + 1;
      else
        high = middle;
    }
    to[pair + inside % run + (low - begin)] = site.i;
  }
}

/* Orders the crowded bins, whose places hold their sites in any order. */
static __global__ void __launch_bounds__(BLOCK)
    crowd_kernel(cvtm_site_tree_arrays tree, const double *sites) {
  const int32_t fullest = *tree.fullest;
  if (fullest == 0) return;
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  int32_t *from = tree.index, *to = tree.order;
  order_runs(tree, from, to);
  grid.sync();
  for (int64_t run = RUN; run < fullest; run *= 2) {
    int32_t *const swap = from;
    from = to;
    to = swap;
    merge_runs(tree, run, from, to);
    grid.sync();
  }
  if (cvtm_first_thread() == 0) *tree.fullest = 0;
  if (to != tree.index) {
    for (int64_t place = cvtm_first_thread(); place < tree.count; place += cvtm_thread_count())
      tree.index[place] = to[place];
    grid.sync();
  }
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t place = cvtm_first_thread(); place < tree.count; place += cvtm_thread_count()) {
    crowded_site site;
    if (!is_crowded(tree, tree.index[place], &site)) continue;
    tree.spacing[place] = cvtm_crowd_spacing(&tree, place);
    cvtm_canonical_site(metric, sites + 2 * static_cast<int64_t>(site.i), &tree.position[2 * place],
                        &tree.position[2 * place + 1]);
  }
}

/* Each block makes the boxes of subtrees; the last to end, those above. */
static __global__ void __launch_bounds__(BLOCK)
    bound_kernel(cvtm_site_tree_arrays tree, const int32_t *wanted, int64_t subtrees) {
  if (wanted && !*wanted) return;
  for (int64_t k = blockIdx.x; k < subtrees; k += gridDim.x) {
    cvtm_bound_subtree<BLOCK>(tree.position, tree.count, tree.leaf_count, k, tree.box);
    __syncthreads();
  }
  if (!cvtm_last_block(tree.ended)) return;
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
  start_kernel<<<cvtm_cuda_blocks(tiles, 1), BLOCK, 0, stream>>>(*tree, bins, tiles);
  status = cvtm_cuda_launched(device, "start_kernel");
  if (status != CVTM_OK) return status;
  order_kernel<<<blocks, BLOCK, 0, stream>>>(*tree, tiles, sites);
  status = cvtm_cuda_launched(device, "order_kernel");
  if (status != CVTM_OK) return status;
  cvtm_site_tree_arrays arrays = *tree;
  void *arguments[] = {&arrays, &sites};
  CVTM_CUDA_TRY(device, cudaLaunchCooperativeKernel(crowd_kernel, dim3(cvtm_cuda_cap(CROWD_BLOCKS)),
                                                    dim3(BLOCK), arguments, 0, stream));
  return CVTM_OK;
}

static cvtm_status bound_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                              const int32_t *wanted) {
  const int64_t subtrees = cvtm_bound_subtrees(tree->leaf_count);
  bound_kernel<<<cvtm_cuda_blocks(subtrees, 1), BLOCK, 0, cvtm_cuda_stream(device)>>>(*tree, wanted,
                                                                                      subtrees);
  return cvtm_cuda_launched(device, "bound_kernel");
}

extern "C" const cvtm_site_tree_table cvtm_site_tree_table_cuda = {sort_cuda, bound_cuda};
