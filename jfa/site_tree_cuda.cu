/* The sites are sorted by counting. Most bins have few sites, which form a chain. The slot of a
 * site follows from a comparison with the other sites of its bin. The sites of crowded bins are
 * sorted by merging.
 *
 * CUB's radix sort, with the kernels that find bins and spacings, takes 4 to 5 times as long at
 * 4,000 and 60,000 sites, and 2.6 to 2.0 times at 10^6 to 10^7 sites in the order of an initial
 * placement (H200). For sites in random order CUB takes as long at 10^6 sites, and 0.4 times as
 * long at 10^7. If half of the sites lie in a millionth of the area, CUB takes 0.8 to 0.25 times as
 * long from 60,000 sites on. With CUB, whole evaluations take 1.15 to 1.25 times as long at 60,000
 * sites, and 0.94 to 1.06 times as long from 10^6 sites on. So CUB is clearly faster at no size. */
#include "base/cuda_utils.h"
#include "jfa/site_tree_kernels.h"

#include <cub/block/block_scan.cuh>

enum {
  BLOCK = 256,
  SHARE = CVTM_TREE_TILE / BLOCK, /* bins of a tile per thread */
  RUN = 32, /* sites in a run of a crowded bin, which order_run orders by counting */
  CROWD_BLOCKS = 1024,
  CROWD_ITEM = 2 * BLOCK /* slots that a block orders or merges at once */
};

/* Counts a site and adds it to the chain of its bin. Lanes whose sites are in the same bin link
 * their sites, and the last lane adds all these sites with one atomic operation: with an operation
 * per site, many sites of one bin would wait for each other. */
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

/* Counts the sites of each bin and chains them, in any order. */
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

/* The sum over all threads of the block; *before: the sum over the preceding threads. */
static __device__ int32_t block_sums(int32_t mine, int32_t *before) {
  typedef cub::BlockScan<int32_t, BLOCK> scan;
  __shared__ typename scan::TempStorage memory;
  int32_t total;
  __syncthreads(); /* sums of an earlier call have been read */
  scan(memory).ExclusiveSum(mine, *before, total);
  return total;
}

/* Takes the next tile of bins for this block. Blocks take tiles in order, so all earlier tiles
 * belong to blocks that are running or have ended. */
static __device__ int64_t take_tile(int32_t *taken) {
  __shared__ int32_t tile;
  __syncthreads(); /* all threads have read the previous tile */
  if (threadIdx.x == 0) tile = atomicAdd(taken, 1);
  __syncthreads();
  return tile;
}

/* The word that a block publishes about a tile: the number of sites of this tile or, with
 * `is_prefix`, of this and all earlier tiles. The word is never 0, which stands for a tile that has
 * not been counted. */
static __device__ unsigned long long tile_word(int32_t sites, bool is_prefix) {
  return static_cast<unsigned long long>(sites) << 2 | 2 | is_prefix;
}

/* The number of sites of all earlier tiles. Looks back, BLOCK tiles at a time, to the nearest tile
 * with a prefix (Merrill & Garland 2016, "Single-pass parallel prefix scan with decoupled
 * look-back"). */
static __device__ int32_t count_before(const cvtm_site_tree_arrays &tree, int64_t tile) {
  int32_t before = 0, prefixes = 0, nearer;
  for (int64_t last = tile - 1; last >= 0 && prefixes == 0; last -= BLOCK) {
    const int64_t k = last - threadIdx.x;
    const volatile unsigned long long *published = tree.tile_count + k;
    unsigned long long word = 0;
    while (k >= 0 && word == 0) word = *published;
    prefixes = block_sums(word & 1, &nearer);
    int32_t ignored;
    before += block_sums(nearer == 0 ? static_cast<int32_t>(word >> 2) : 0, &ignored);
  }
  return before;
}

/* Sets the first slot of each bin. */
static __global__ void __launch_bounds__(BLOCK)
    start_kernel(cvtm_site_tree_arrays tree, int64_t bins, int64_t tiles) {
  for (int64_t tile = take_tile(tree.taken); tile < tiles; tile = take_tile(tree.taken)) {
    const int64_t first = tile * CVTM_TREE_TILE + threadIdx.x * SHARE;
    int32_t count[SHARE] = {0}, mine = 0, before;
    for (int k = 0; k < SHARE; ++k)
      if (first + k < bins) mine += count[k] = tree.bin_count[first + k];
    const int32_t total = block_sums(mine, &before);
    if (threadIdx.x == 0) atomicExch(tree.tile_count + tile, tile_word(total, tile == 0));
    const int32_t earlier = count_before(tree, tile);
    if (threadIdx.x == 0) atomicExch(tree.tile_count + tile, tile_word(earlier + total, true));
    int32_t slot = before + earlier;
    for (int k = 0; k < SHARE && first + k < bins; ++k) {
      tree.start[first + k] = slot;
      slot += count[k];
    }
    if (tile == 0 && threadIdx.x == 0) tree.start[bins] = static_cast<int32_t>(tree.count);
  }
}

/* The address of the code of the site at a slot of a crowded bin, while the bin is being sorted.
 * The two arrays of codes use the memory of the bin's positions, which are set later. */
static __device__ double *crowd_code(const cvtm_site_tree_arrays &tree, int32_t first, int32_t last,
                                     int array, int64_t slot) {
  return tree.position + first + (array == 0 ? 0 : last - first) + slot;
}

/* Decrements the count of a crowded bin for one site, and returns the previous count. Lanes whose
 * sites are in the same bin share one atomic operation. */
static __device__ int32_t count_off(int32_t *bin_count, int32_t bin) {
  const int lane = threadIdx.x % 32;
  const unsigned peers = __match_any_sync(__activemask(), bin);
  const int leader = __ffs(static_cast<int>(peers)) - 1;
  int32_t count = 0;
  if (lane == leader) count = atomicSub(bin_count + bin, __popc(peers));
  return __shfl_sync(peers, count, leader) - __popc(peers & ((1u << lane) - 1));
}

/* Sorts each bin that is not crowded by code, then index. The sites of a crowded bin get the slots
 * of the bin in any order, and negative spacings. Resets counts and chains for the next sort. */
static __global__ void order_kernel(cvtm_site_tree_arrays tree, int64_t tiles,
                                    const double *sites) {
  for (int64_t k = cvtm_first_thread(); k < tiles; k += cvtm_thread_count()) tree.tile_count[k] = 0;
  if (cvtm_first_thread() == 0) *tree.taken = 0;
  const cvtm_metric metric = cvtm_metric_of(tree.domain);
  for (int64_t i = cvtm_first_thread(); i < tree.count; i += cvtm_thread_count()) {
    const uint64_t code = tree.keys[i];
    const int32_t bin = cvtm_bin_of(code, tree.levels);
    const int32_t count = cvtm_bin_count(&tree, bin, 0);
    int64_t slot = tree.start[bin];
    if (count > CVTM_TREE_CROWDED_BIN) {
      const int32_t left = count_off(tree.bin_count, bin);
      const int32_t first = static_cast<int32_t>(slot), last = first + count;
      slot += left - 1;
      tree.index[slot] = static_cast<int32_t>(i);
      tree.spacing[slot] = -1;
      *crowd_code(tree, first, last, 0, slot) = __longlong_as_double(static_cast<int64_t>(code));
      if (left == 1) {
        tree.bin_head[bin] = -1;
        atomicMax(tree.fullest, count);
      }
      continue;
    }
    for (int32_t other = tree.bin_head[bin]; other >= 0; other = tree.order[other]) {
      const uint64_t other_code = tree.keys[other];
      slot += other_code < code || (other_code == code && other < i);
    }
    if (atomicSub(tree.bin_count + bin, 1) == 1) tree.bin_head[bin] = -1;
    tree.index[slot] = static_cast<int32_t>(i);
    tree.spacing[slot] = cvtm_bin_spacing(&tree, i, bin);
    cvtm_canonical_site(metric, sites + 2 * i, &tree.position[2 * slot],
                        &tree.position[2 * slot + 1]);
  }
}

/* A pass over the crowded bins, from one pair of arrays of sites and codes to the other pair. */
struct crowd_pass {
  cvtm_site_tree_arrays tree;
  const int32_t *from;
  int32_t *to;
  int array; /* index of the array of codes to read */
};

/* A site of a crowded bin. */
struct crowded_site {
  int32_t i;           /* the caller's index */
  uint64_t code;       /* Morton code */
  int32_t first, last; /* the bin has the slots first .. last - 1 */
};

static __device__ crowded_site read_crowded(const crowd_pass &pass, int64_t slot) {
  crowded_site site;
  site.i = pass.from[slot];
  site.code = pass.tree.keys[site.i];
  const int32_t bin = cvtm_bin_of(site.code, pass.tree.levels);
  site.first = pass.tree.start[bin];
  site.last = pass.tree.start[bin + 1];
  return site;
}

static __device__ void write_crowded(const crowd_pass &pass, const crowded_site &site,
                                     int64_t slot) {
  pass.to[slot] = site.i;
  *crowd_code(pass.tree, site.first, site.last, 1 - pass.array, slot) =
      __longlong_as_double(static_cast<int64_t>(site.code));
}

/* True if the site at a slot of the bin precedes this site. */
static __device__ bool is_before(const crowd_pass &pass, int64_t slot, const crowded_site &site) {
  const uint64_t code = static_cast<uint64_t>(
      __double_as_longlong(*crowd_code(pass.tree, site.first, site.last, pass.array, slot)));
  return code < site.code || (code == site.code && pass.from[slot] < site.i);
}

/* Sorts runs of RUN sites: finds the new slot of the site at `slot` in its run. */
static __device__ void order_run(const crowd_pass &pass, int64_t slot) {
  const crowded_site site = read_crowded(pass, slot);
  const int64_t begin = slot - (slot - site.first) % RUN;
  const int64_t end = begin + RUN < site.last ? begin + RUN : site.last;
  int64_t target = begin;
  for (int64_t k = begin; k < end; ++k) target += is_before(pass, k, site);
  write_crowded(pass, site, target);
}

/* Merges pairs of runs of `run` sites. The new place of a site in the pair is the number of sites
 * of both runs that precede the site. */
static __device__ void merge_run(const crowd_pass &pass, int64_t run, int64_t slot) {
  const crowded_site site = read_crowded(pass, slot);
  const int64_t inside = (slot - site.first) % (2 * run), pair = slot - inside;
  int64_t low = inside < run ? pair + run : pair;
  const int64_t begin = low < site.last ? low : site.last;
  int64_t high = begin + run < site.last ? begin + run : site.last;
  for (low = begin; low < high;) {
    const int64_t middle = low + (high - low) / 2;
    if (is_before(pass, middle, site))
      low = middle + 1;
    else
      high = middle;
  }
  write_crowded(pass, site, pair + inside % run + (low - begin));
}

/* Sets position and spacing of a sorted site; overwrites the codes of its bin. */
static __device__ void place_crowded(const crowd_pass &pass, const double *sites, int64_t slot) {
  cvtm_site_tree_arrays ordered = pass.tree;
  ordered.index = const_cast<int32_t *>(pass.from);
  const int32_t i = pass.from[slot];
  pass.tree.spacing[slot] = cvtm_crowded_spacing(&ordered, slot);
  if (pass.from != pass.tree.index) pass.tree.index[slot] = i;
  cvtm_canonical_site(cvtm_metric_of(pass.tree.domain), sites + 2 * static_cast<int64_t>(i),
                      &pass.tree.position[2 * slot], &pass.tree.position[2 * slot + 1]);
}

/* Sorts the crowded bins in stages: runs, merges, positions. Blocks take the items of all stages in
 * order, and wait only for items of the previous stage. Blocks that are running or have ended have
 * taken these, so the kernel works with any number of resident blocks. */
static __global__ void __launch_bounds__(BLOCK)
    crowd_kernel(cvtm_site_tree_arrays tree, const double *sites) {
  const int32_t fullest = *tree.fullest;
  if (fullest == 0) return;
  int32_t merges = 0;
  while (static_cast<int64_t>(RUN) << merges < fullest) ++merges;
  const int64_t items = (tree.count + CROWD_ITEM - 1) / CROWD_ITEM;
  for (int64_t item = take_tile(tree.taken); item < (merges + 2) * items;
       item = take_tile(tree.taken)) {
    const int32_t stage = static_cast<int32_t>(item / items);
    if (threadIdx.x == 0)
      while (atomicAdd(tree.done, 0) < stage * items) __nanosleep(100);
    __syncthreads();
    __threadfence();
    const crowd_pass pass = {tree, stage % 2 == 0 ? tree.index : tree.order,
                             stage % 2 == 0 ? tree.order : tree.index, stage % 2};
    const int64_t begin = item % items * CROWD_ITEM;
    for (int64_t slot = begin + threadIdx.x; slot < begin + CROWD_ITEM && slot < tree.count;
         slot += BLOCK) {
      if (!(tree.spacing[slot] < 0)) continue;
      if (stage == 0)
        order_run(pass, slot);
      else if (stage <= merges)
        merge_run(pass, static_cast<int64_t>(RUN) << (stage - 1), slot);
      else
        place_crowded(pass, sites, slot);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(tree.done, 1);
  }
  if (threadIdx.x == 0 && atomicAdd(tree.ended, 1) + 1 == static_cast<int32_t>(gridDim.x))
    *tree.taken = *tree.done = *tree.ended = *tree.fullest = 0;
}

/* --- boxes ------------------------------------------------------------------------------------ */

enum { CVTM_TREE_SUBTREE_LEAVES = 512 /* leaves of a subtree, at most */ };

CVTM_HD int64_t cvtm_tree_subtrees(int64_t leaf_count) {
  return leaf_count > CVTM_TREE_SUBTREE_LEAVES ? leaf_count / CVTM_TREE_SUBTREE_LEAVES : 1;
}

template <int THREADS>
__device__ void cvtm_tree_subtree_boxes(const double *position, int64_t count, int64_t leaf_count,
                                        int64_t subtree, double *box) {
  const int64_t first = subtree * CVTM_TREE_SUBTREE_LEAVES;
  int64_t width = leaf_count < CVTM_TREE_SUBTREE_LEAVES ? leaf_count : CVTM_TREE_SUBTREE_LEAVES;
  int64_t node = leaf_count + first;
  for (int64_t k = threadIdx.x; k < width; k += THREADS)
    cvtm_tree_leaf_box(position, count, first + k, box + 4 * (node + k));
  while (width > 1) {
    __syncthreads();
    width /= 2;
    node /= 2;
    for (int64_t k = threadIdx.x; k < width; k += THREADS) cvtm_tree_unite_children(node + k, box);
  }
}

template <int THREADS>
__device__ void cvtm_tree_upper_boxes(int64_t leaf_count, double *box) {
  for (int64_t level = cvtm_tree_subtrees(leaf_count) / 2; level >= 1; level /= 2) {
    for (int64_t k = threadIdx.x; k < level; k += THREADS) cvtm_tree_unite_children(level + k, box);
    __syncthreads();
  }
}

/* Each block computes the boxes of some subtrees; the last block computes the boxes above. */
static __global__ void __launch_bounds__(BLOCK)
    bound_kernel(cvtm_site_tree_arrays tree, const int32_t *wanted, int64_t subtrees) {
  if (wanted && !*wanted) return;
  for (int64_t k = blockIdx.x; k < subtrees; k += gridDim.x) {
    cvtm_tree_subtree_boxes<BLOCK>(tree.position, tree.count, tree.leaf_count, k, tree.box);
    __syncthreads();
  }
  if (!cvtm_last_block(tree.ended)) return;
  cvtm_tree_upper_boxes<BLOCK>(tree.leaf_count, tree.box);
}

static cvtm_status sort_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                             const double *sites) {
  const unsigned blocks = cvtm_cuda_blocks(tree->count, BLOCK);
  const int64_t bins = INT64_C(1) << 2 * tree->levels;
  const int64_t tiles = (bins + CVTM_TREE_TILE - 1) / CVTM_TREE_TILE;
  CVTM_TRY(CVTM_LAUNCH(device, count_kernel, blocks, BLOCK, *tree, sites));
  CVTM_TRY(
      CVTM_LAUNCH(device, start_kernel, cvtm_cuda_blocks(tiles, 1), BLOCK, *tree, bins, tiles));
  CVTM_TRY(CVTM_LAUNCH(device, order_kernel, blocks, BLOCK, *tree, tiles, sites));
  const unsigned needed = cvtm_cuda_blocks(tree->count, CROWD_ITEM), most = CROWD_BLOCKS;
  return CVTM_LAUNCH(device, crowd_kernel, needed < most ? needed : most, BLOCK, *tree, sites);
}

static cvtm_status bound_cuda(cvtm_device *device, const cvtm_site_tree_arrays *tree,
                              const int32_t *wanted) {
  const int64_t subtrees = cvtm_tree_subtrees(tree->leaf_count);
  return CVTM_LAUNCH(device, bound_kernel, cvtm_cuda_blocks(subtrees, 1), BLOCK, *tree, wanted,
                     subtrees);
}

extern "C" const cvtm_site_tree_table cvtm_site_tree_table_cuda = {sort_cuda, bound_cuda};
