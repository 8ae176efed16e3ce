#include "base/cuda_check.h"
#include "voronoi/cell_warp_cuda.h"
#include "jfa/jfa_kernels.h"

enum {
  PIXEL_BLOCK = 256,
  WARP = CVTM_WARP,
  WARPS = 4, /* of a block of the exact kernel; each labels one tile */
  TILE = 8,
  ROWS = WARP / TILE, /* of a tile that a warp covers at once */
  MAX_CANDIDATES = 128,
  CELL_WARPS = 2,     /* of a block of the cells kernel */
  CELL_BLOCKS = 8,    /* of them on a multiprocessor: what registers allow */
  CELL_PIXELS = 2048, /* of a cell, on average, up to which it is used */
  MAX_BLOCKS = 2048,  /* of the tiles kernel; they take further tiles in turn */
  FAN = 5,            /* levels of the tree that a warp descends at once */
  /* A visit takes one node from the stack and puts at most 32 there; there are at most 6
   * visits on a way down the 2^26 nodes above the buckets of 2^31 sites. */
  STACK = 6 * WARP
};

/* --- cell by cell -------------------------------------------- */

/* Labels the pixels of row j that belong to the site at a place; how many is returned. */
static __device__ int32_t label_row(const cvtm_flood *flood, int64_t place, const cvtm_cell *cell,
                                    double doubt, cvtm_cell_walk *rows, int32_t j,
                                    int32_t *labels) {
  const cvtm_domain domain = flood->domain;
  const int32_t index = flood->tree.index[place];
  const double y = (static_cast<double>(j) + 0.5) - rows->sy;
  const cvtm_cell_span span = cvtm_cell_row_span(domain, cell, doubt, rows, j);
  const int32_t wrapped = domain.periodic ? cvtm_cell_wrap(j, domain.height) : j;
  int32_t *row = labels + static_cast<int64_t>(wrapped) * domain.width;
  int32_t count = 0;
  for (int32_t k = span.first; k <= span.last; ++k) {
    const bool sure = k >= span.sure_first && k <= span.sure_last;
    if (!sure && !cvtm_cell_owns(&flood->tree, domain, place, k, j,
                                 (static_cast<double>(k) + 0.5) - rows->sx, y))
      continue;
    row[domain.periodic ? cvtm_cell_wrap(k, domain.width) : k] = index;
    ++count;
  }
  return count;
}

/* The cells of the sites at places base .. base + 31, a lane for each; how many pixels the lane has
 * labelled. */
static __device__ int32_t label_cells(const cvtm_flood &flood, int64_t base, int lane,
                                      cvtm_warp_cells<WARP> *memory, int32_t *labels) {
  cvtm_warp_cells_with_slopes(flood.tree, flood.domain, base, lane, memory);
  const cvtm_cell cell = cvtm_warp_cell(memory, lane);
  int32_t count = 0;
  if (cell.count >= 3) {
    const int64_t place = base + lane;
    cvtm_cell_walk rows;
    cvtm_cell_begin_walk(flood.domain, flood.tree.position[2 * place],
                         flood.tree.position[2 * place + 1], &cell, &rows);
    for (int32_t j = rows.first; j <= rows.last; ++j)
      count += label_row(&flood, place, &cell, memory->doubt[lane], &rows, j, labels);
  }
  __syncwarp(); /* before the memory serves the next cells */
  return count;
}

/* Labels the pixels of the cells; those of cells that a lane cannot do stay -1. */
static __global__ void __launch_bounds__(CELL_WARPS *WARP, CELL_BLOCKS)
    cells_kernel(cvtm_flood flood, int32_t *labels, int32_t *missing) {
  __shared__ cvtm_warp_cells<WARP> memories[CELL_WARPS];
  const int lane = static_cast<int>(threadIdx.x) % WARP,
            warp = static_cast<int>(threadIdx.x) / WARP;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * CELL_WARPS * WARP;
  int32_t count = 0;
  for (int64_t base = (static_cast<int64_t>(blockIdx.x) * CELL_WARPS + warp) * WARP;
       base < flood.tree.count; base += stride)
    count += label_cells(flood, base, lane, &memories[warp], labels);
  count = __reduce_add_sync(0xFFFFFFFFu, count);
  if (lane == 0) atomicSub(missing, count);
}

/* --- and tile by tile, what is not labelled yet: one warp per 8 x 8 pixels ------- *
 * The heap order of the tree makes it a 32-ary tree too: the descendants five
 * levels below a node are consecutive, one for each lane. Its lowest nodes here are
 * buckets of at most 32 sites, again one for each lane. */

typedef struct warp_memory {
  double stack_distance[STACK];
  double x[MAX_CANDIDATES], y[MAX_CANDIDATES];
  int32_t stack_node[STACK];
  int32_t index[MAX_CANDIDATES];
} warp_memory;

static __device__ int node_level(int64_t node) { return 31 - __clz(static_cast<int>(node)); }

/* The level of buckets: its first node, a power of two. */
static __device__ int64_t bucket_level(const cvtm_site_tree_view *tree) {
  return tree->leaf_count >= 4 ? tree->leaf_count / 4 : 1;
}

/* This lane's site of a bucket, or -1. */
static __device__ int64_t bucket_place(const cvtm_site_tree_view *tree, int64_t buckets,
                                       int64_t node, int lane) {
  const int64_t size = tree->leaf_count / buckets * CVTM_TREE_LEAF;
  const int64_t place = (node - buckets) * size + lane;
  return lane < size && place < tree->count ? place : -1;
}

/* This lane's descendant of a node above the buckets, or -1. */
static __device__ int64_t fan_node(int64_t buckets, int64_t node, int lane) {
  const int below = node_level(buckets) - node_level(node);
  const int levels = below < FAN ? below : FAN;
  return lane < 1 << levels ? (node << levels) + lane : -1;
}

static __device__ double warp_min(double value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    if (other < value) value = other;
  }
  return value;
}

/* Puts the nodes of the lanes that ask for it on the stack, one that is at the distance
 * `nearest` on top. */
static __device__ int push_nodes(warp_memory *memory, int top, bool wanted, int64_t node,
                                 double distance, double nearest, int lane) {
  const unsigned mask = __ballot_sync(0xFFFFFFFFu, wanted);
  const unsigned at_nearest = __ballot_sync(0xFFFFFFFFu, wanted && distance == nearest);
  const int last = __ffs(static_cast<int>(at_nearest)) - 1; /* -1: none */
  const int count = __popc(mask);
  if (wanted) {
    int slot = __popc(mask & ((1u << lane) - 1));
    if (lane == last)
      slot = count - 1;
    else if (last >= 0 && lane > last)
      --slot;
    memory->stack_node[top + slot] = static_cast<int32_t>(node);
    memory->stack_distance[top + slot] = distance;
  }
  __syncwarp();
  return top + count;
}

/* The squared distance from (x, y) to the nearest site, by the whole warp. */
static __device__ double warp_nearest2(const cvtm_flood *flood, warp_memory *memory, double x,
                                       double y, int lane) {
  const cvtm_site_tree_view *tree = &flood->tree;
  const int64_t buckets = bucket_level(tree);
  double best = HUGE_VAL;
  int top = 0;
  int64_t node = 1;
  for (;;) {
    if (node >= buckets) {
      const int64_t place = bucket_place(tree, buckets, node, lane);
      double distance2 = HUGE_VAL;
      if (place >= 0)
        distance2 = cvtm_distance2(flood->metric, x, y, tree->position[2 * place],
                                   tree->position[2 * place + 1]);
      distance2 = warp_min(distance2);
      if (distance2 < best) best = distance2;
    } else {
      const int64_t child = fan_node(buckets, node, lane);
      const double distance2 =
          child >= 0 ? cvtm_box_distance2(flood->metric, x, y, tree->box + 4 * child) : HUGE_VAL;
      top = push_nodes(memory, top, distance2 < best, child, distance2, warp_min(distance2), lane);
    }
    double distance2;
    do {
      if (top == 0) return best;
      --top;
      node = memory->stack_node[top];
      distance2 = memory->stack_distance[top];
    } while (!(distance2 < best));
    __syncwarp(); /* all have read the stack before anyone writes it */
  }
}

/* Appends the sites of the lanes that ask for it; -1 if they do not fit. */
static __device__ int push_candidates(const cvtm_site_tree_view *tree, warp_memory *memory,
                                      int found, bool wanted, int64_t place, int lane) {
  const unsigned mask = __ballot_sync(0xFFFFFFFFu, wanted);
  if (found + __popc(mask) > MAX_CANDIDATES) return -1;
  if (wanted) {
    const int slot = found + __popc(mask & ((1u << lane) - 1));
    memory->x[slot] = tree->position[2 * place];
    memory->y[slot] = tree->position[2 * place + 1];
    memory->index[slot] = tree->index[place];
  }
  __syncwarp();
  return found + __popc(mask);
}

/* All sites within the reach, each position once, into the memory; -1 if they are too many. */
static __device__ int warp_gather(const cvtm_flood *flood, warp_memory *memory, double x, double y,
                                  double reach2, int lane) {
  const cvtm_site_tree_view *tree = &flood->tree;
  const int64_t buckets = bucket_level(tree);
  int top = 0, found = 0;
  int64_t node = 1;
  for (;;) {
    if (node >= buckets) {
      const int64_t place = bucket_place(tree, buckets, node, lane);
      const bool wanted = place >= 0 &&
                          cvtm_distance2(flood->metric, x, y, tree->position[2 * place],
                                         tree->position[2 * place + 1]) <= reach2 &&
                          !cvtm_is_duplicate(tree, place);
      found = push_candidates(tree, memory, found, wanted, place, lane);
    } else {
      const int64_t child = fan_node(buckets, node, lane);
      const double *box = tree->box + 4 * child;
      const double distance2 = child >= 0 ? cvtm_box_distance2(flood->metric, x, y, box) : HUGE_VAL;
      const bool within = child >= 0 && distance2 <= reach2;
      /* A pile of coincident sites needs no visit: its first site stands for all. */
      const bool pile = within && cvtm_box_is_point(box);
      const int64_t place = pile ? cvtm_node_first(tree, child) : -1;
      found = push_candidates(tree, memory, found, pile && !cvtm_is_duplicate(tree, place), place,
                              lane);
      top = push_nodes(memory, top, within && !pile, child, distance2, -1, lane);
    }
    if (found < 0 || top == 0) return found;
    node = memory->stack_node[--top];
    __syncwarp();
  }
}

static __device__ void label_pixel(const cvtm_flood *flood, const warp_memory *memory, int found,
                                   int i, int j, int32_t *labels) {
  const double x = i + 0.5, y = j + 0.5;
  int32_t label = INT32_MAX;
  if (found < 0) {
    label = cvtm_site_tree_nearest(&flood->tree, flood->metric, x, y).index;
  } else {
    double best = HUGE_VAL;
    for (int k = 0; k < found; ++k) {
      const double distance2 = cvtm_distance2(flood->metric, x, y, memory->x[k], memory->y[k]);
      if (distance2 < best || (distance2 == best && memory->index[k] < label)) {
        best = distance2;
        label = memory->index[k];
      }
    }
  }
  labels[static_cast<int64_t>(j) * flood->domain.width + i] = label;
}

/* The pixels of a tile that have no label yet. */
static __device__ void label_tile(const cvtm_flood *flood, warp_memory *memory, cvtm_tile tile,
                                  int lane, int32_t *labels) {
  bool missing = false;
  for (int row = lane / TILE; row < tile.height; row += ROWS)
    if (lane % TILE < tile.width)
      missing |=
          labels[static_cast<int64_t>(tile.y + row) * flood->domain.width + tile.x + lane % TILE] <
          0;
  if (!__any_sync(0xFFFFFFFFu, missing)) return;
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  const double nearest2 = warp_nearest2(flood, memory, x, y, lane);
  const int found = warp_gather(flood, memory, x, y, cvtm_tile_reach2(tile, nearest2), lane);
  for (int row = lane / TILE; row < tile.height; row += ROWS)
    if (lane % TILE < tile.width)
      label_pixel(flood, memory, found, tile.x + lane % TILE, tile.y + row, labels);
  __syncwarp(); /* before the memory serves the next tile */
}

static __global__ void __launch_bounds__(WARPS *WARP)
    tiles_kernel(cvtm_flood flood, int64_t tiles_x, int64_t tiles, int32_t *labels,
                 const int32_t *missing) {
  __shared__ warp_memory memories[WARPS];
  if (!*missing) return;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * WARPS;
  for (int64_t number = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
       number < tiles; number += stride) { /* whole warps */
    cvtm_tile tile;
    tile.x = static_cast<int>(number % tiles_x) * TILE;
    tile.y = static_cast<int>(number / tiles_x) * TILE;
    tile.width = flood.domain.width - tile.x < TILE ? flood.domain.width - tile.x : TILE;
    tile.height = flood.domain.height - tile.y < TILE ? flood.domain.height - tile.y : TILE;
    label_tile(&flood, &memories[threadIdx.x / WARP], tile, lane, labels);
  }
}

static __global__ void __launch_bounds__(PIXEL_BLOCK)
    correct_kernel(cvtm_flood flood, const double *sites, const int32_t *exact, int32_t *labels,
                   unsigned long long *wrong) {
  const int64_t pixels = static_cast<int64_t>(flood.domain.width) * flood.domain.height;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * PIXEL_BLOCK;
  unsigned count = 0;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * PIXEL_BLOCK + threadIdx.x; p < pixels;
       p += stride) {
    if (labels[p] == exact[p]) continue;
    const int i = static_cast<int>(p % flood.domain.width);
    const int j = static_cast<int>(p / flood.domain.width);
    count += cvtm_label_distance2(&flood, sites, i, j, labels[p]) >
             cvtm_label_distance2(&flood, sites, i, j, exact[p]);
    labels[p] = exact[p];
  }
  if (count > 0) atomicAdd(wrong, static_cast<unsigned long long>(count));
}

/* --- launchers ------------------------------------------------------------------- */

static __global__ void set_kernel(int32_t value, int32_t *number) { *number = value; }

static cvtm_status cells_cuda(cvtm_device *device, const cvtm_flood *flood, int32_t *labels,
                              int32_t *missing) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const int64_t area = static_cast<int64_t>(flood->domain.width) * flood->domain.height;
  cvtm_status status =
      cvtm_device_fill(device, labels, 0xFF, static_cast<size_t>(area) * sizeof *labels);
  if (status != CVTM_OK) return status;
  set_kernel<<<1, 1, 0, stream>>>(static_cast<int32_t>(area), missing);
  status = cvtm_cuda_launched(device, "set_kernel");
  if (status != CVTM_OK || area / flood->tree.count > CELL_PIXELS) return status;
  cells_kernel<<<cvtm_cuda_blocks(flood->tree.count, CELL_WARPS * WARP), CELL_WARPS * WARP, 0,
                 stream>>>(*flood, labels, missing);
  return cvtm_cuda_launched(device, "cells_kernel");
}

static cvtm_status tiles_cuda(cvtm_device *device, const cvtm_flood *flood, int32_t *labels,
                              const int32_t *missing) {
  const int64_t tiles_x = (flood->domain.width + TILE - 1) / TILE;
  const int64_t tiles_y = (flood->domain.height + TILE - 1) / TILE;
  const int64_t tiles = tiles_x * tiles_y;
  const unsigned needed = cvtm_cuda_blocks(tiles, WARPS), most = MAX_BLOCKS;
  const unsigned blocks = needed < most ? needed : most;
  tiles_kernel<<<blocks, WARPS * WARP, 0, cvtm_cuda_stream(device)>>>(*flood, tiles_x, tiles,
                                                                      labels, missing);
  return cvtm_cuda_launched(device, "tiles_kernel");
}

static cvtm_status correct_cuda(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                                const int32_t *exact, int32_t *labels, uint64_t *wrong) {
  const int64_t pixels = static_cast<int64_t>(flood->domain.width) * flood->domain.height;
  correct_kernel<<<cvtm_cuda_blocks(pixels, PIXEL_BLOCK), PIXEL_BLOCK, 0,
                   cvtm_cuda_stream(device)>>>(*flood, sites, exact, labels,
                                               reinterpret_cast<unsigned long long *>(wrong));
  return cvtm_cuda_launched(device, "correct_kernel");
}

extern "C" const cvtm_voronoi_table cvtm_voronoi_table_cuda = {
    cells_cuda,
    tiles_cuda,
    correct_cuda,
};
