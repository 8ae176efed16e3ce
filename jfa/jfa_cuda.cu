/* In jump flooding a thread floods a chain of pixels in one column, `step` apart, and keeps three
 * rows of candidates in registers. So it reads three codes per pixel instead of nine. With one
 * pixel per thread, flooding takes 1.5 times as long at 2048^2 and 8192^2 (H200). */
#include "base/cuda_utils.h"
#include "jfa/cell_warp_cuda.h"
#include "jfa/jfa_kernels.h"
#include "jfa/cell_by_tree_warp_cuda.h"

enum { BLOCK = 256, WARP = 32, CHAIN = 8 /* pixels of a chain, at most */ };

/* The candidates of one row, in the order of tags: in the column of the pixel, `step` columns
 * before, and `step` columns after. */
struct candidate_row {
  uint32_t offset; /* index of the row's first pixel; there are at most 2^30 pixels */
  float x2[3], y[3];
};

template <bool PERIODIC>
static __device__ candidate_row read_candidates(const cvtm_diagram &diagram,
                                                const cvtm_flood_scale &scale,
                                                const uint32_t *__restrict__ from, int row,
                                                const int *column, float x) {
  candidate_row candidates;
  candidates.offset = static_cast<uint32_t>(row) * static_cast<uint32_t>(diagram.domain.width);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const uint32_t code = from[candidates.offset + column[c]];
    float seed_x;
    cvtm_code_position(code, &seed_x, &candidates.y[c]);
    candidates.x2[c] =
        cvtm_flood_x2(code, cvtm_flood_difference(x, seed_x, PERIODIC, scale.period_x));
  }
  return candidates;
}

/* The smallest key of a row of candidates. tag: the first tag of the row. */
template <bool PERIODIC>
static __device__ uint32_t least_key(const cvtm_flood_scale &scale, const candidate_row &row,
                                     float y, uint32_t tag) {
  uint32_t least = UINT32_MAX;
#pragma unroll
  for (uint32_t c = 0; c < 3; ++c) {
    const float dy = cvtm_flood_difference(y, row.y[c], PERIODIC, scale.period_y);
    least = min(least, cvtm_flood_key(cvtm_flood_distance2(row.x2[c], dy), tag + c));
  }
  return least;
}

/* Floods the pixels (i, j), (i, j + step), ... inside the domain, at most CHAIN. */
template <bool PERIODIC>
static __device__ void flood_chain(const cvtm_diagram &diagram, const cvtm_flood_scale &scale,
                                   int step, int i, int j, const uint32_t *__restrict__ from,
                                   uint32_t *__restrict__ to) {
  const int width = diagram.domain.width, height = diagram.domain.height;
  const int column[3] = {i, cvtm_step_along(i, -step, width, PERIODIC),
                         cvtm_step_along(i, step, width, PERIODIC)};
  const float x = scale.origin + static_cast<float>(i) * scale.step;
  candidate_row above = read_candidates<PERIODIC>(
      diagram, scale, from, cvtm_step_along(j, -step, height, PERIODIC), column, x);
  candidate_row own = read_candidates<PERIODIC>(diagram, scale, from, j, column, x);
#pragma unroll
  for (int k = 0; k < CHAIN; ++k, j += step) {
    if (j >= height) break;
    const candidate_row below = read_candidates<PERIODIC>(
        diagram, scale, from, cvtm_step_along(j, step, height, PERIODIC), column, x);
    const float y = scale.origin + static_cast<float>(j) * scale.step;
    const uint32_t least =
        min(least_key<PERIODIC>(scale, own, y, 0),
            min(least_key<PERIODIC>(scale, above, y, 4), least_key<PERIODIC>(scale, below, y, 8)));
    const uint32_t r = least & 12, c = least & 3;
    to[own.offset + i] = from[(r == 0   ? own.offset
                               : r == 4 ? above.offset
                                        : below.offset) +
                              (c == 0   ? column[0]
                               : c == 1 ? column[1]
                                        : column[2])];
    above = own;
    own = below; /* the row of the next j, unless that is outside the domain */
  }
}

/* The number of chains that cover a column. */
static __host__ __device__ int chains_of(int height, int step) {
  return (height + CHAIN * step - 1) / (CHAIN * step) * step;
}

static __global__ void __launch_bounds__(BLOCK)
    pass_kernel(cvtm_diagram diagram, int step, const uint32_t *__restrict__ from,
                uint32_t *__restrict__ to) {
  const cvtm_flood_scale scale = cvtm_flood_scale_of(&diagram);
  const int width = diagram.domain.width, periodic = diagram.domain.periodic;
  const int64_t chains = static_cast<int64_t>(width) * chains_of(diagram.domain.height, step);
  for (int64_t p = cvtm_first_thread(); p < chains; p += cvtm_thread_count()) {
    const int i = static_cast<int>(p % width), chain = static_cast<int>(p / width);
    const int j = chain / step * CHAIN * step + chain % step;
    if (j >= diagram.domain.height) continue;
    if (periodic)
      flood_chain<true>(diagram, scale, step, i, j, from, to);
    else
      flood_chain<false>(diagram, scale, step, i, j, from, to);
  }
}

static __device__ void set_slot(const cvtm_diagram *diagram, uint32_t *codes, int64_t p) {
  codes[p] = cvtm_slot_of_code(diagram, codes[p]);
}

/* Not launch_rows: without the restricted pointers, labels take 1.05 times as long (H200). */
static __global__ void __launch_bounds__(BLOCK)
    final_label_kernel(cvtm_diagram diagram, const uint32_t *__restrict__ slots,
                       int32_t *__restrict__ labels) {
  const int width = diagram.domain.width;
  const int64_t pixels = static_cast<int64_t>(width) * diagram.domain.height;
  for (int64_t p = cvtm_first_thread(); p < pixels; p += cvtm_thread_count())
    labels[p] =
        cvtm_final_label(&diagram, static_cast<int>(p) % width, static_cast<int>(p) / width, slots);
}

/* --- launchers -------------------------------------------------------------------------------- */

static cvtm_status pass_cuda(cvtm_device *device, const cvtm_diagram *diagram, int step,
                             const uint32_t *from, uint32_t *to) {
  const int64_t chains =
      static_cast<int64_t>(diagram->domain.width) * chains_of(diagram->domain.height, step);
  return CVTM_LAUNCH(device, pass_kernel, cvtm_cuda_blocks(chains, BLOCK), BLOCK, *diagram, step,
                     from, to);
}

static cvtm_status final_pass_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                   uint32_t *codes, int32_t *labels) {
  const int64_t pixels = static_cast<int64_t>(diagram->domain.width) * diagram->domain.height;
  const cvtm_status status =
      launch_rows<set_slot, BLOCK>(device, "set_slot", 0, pixels, *diagram, codes);
  return status == CVTM_OK
             ? CVTM_LAUNCH(device, final_label_kernel, cvtm_cuda_blocks(pixels, BLOCK), BLOCK,
                           *diagram, codes, labels)
             : status;
}

namespace {
CVTM_JFA_PHASES(CVTM_PHASE_CUDA)
}  // namespace

extern "C" const cvtm_jfa_table cvtm_jfa_table_cuda = {pass_cuda, final_pass_cuda,
                                                       CVTM_JFA_PHASES(CVTM_PHASE_CUDA_NAME)};

/* --- exact labels ----------------------------------------------------------------------------- */

/* label_cells_kernel computes the polygon of each site and labels the pixel centres inside; for
 * centres within rounding errors of an edge it compares distances. label_tiles_kernel labels the
 * other pixels, in cells with very many corners or that cover a large part of the image: it gathers
 * the sites near each tile of pixels. */

enum {
  PIXEL_BLOCK = 256,
  TILE_WARPS = 4,       /* warps of a block of label_tiles_kernel; each labels one tile at a time */
  TILE = 8,             /* pixels along a side */
  ROWS = WARP / TILE,   /* rows of a tile that a warp labels at once */
  MAX_CANDIDATES = 128, /* sites of a tile, at most; with more, each pixel searches the tree */
  CELL_WARPS = 2,       /* warps of a block of label_cells_kernel */
  CELL_BLOCKS = 8,      /* blocks per multiprocessor that registers allow */
  CELL_PIXELS = 2048,   /* with more pixels per site, label_cells_kernel is not run */
  MAX_BLOCKS = 2048,    /* blocks of label_tiles_kernel, at most; warps take tiles round-robin */
  /* A visit pops one node and pushes at most 32, since it descends 5 levels. A tree of 2^31 sites
     has at most 2^26 buckets, so a path down to a bucket has at most 6 visits. */
  STACK = 6 * WARP
};

/* --- cell by cell ----------------------------------------------------------------------------- */

/* Labels the pixels of row j that belong to the site at a slot, and returns their number. */
static __device__ int32_t label_row(const cvtm_diagram *diagram, int64_t slot,
                                    const cvtm_cell *cell, double tolerance, cvtm_cell_walk *walk,
                                    int32_t j, int32_t *labels) {
  const cvtm_domain domain = diagram->domain;
  const int32_t index = diagram->tree.index[slot];
  const double y = (static_cast<double>(j) + 0.5) - walk->sy;
  const cvtm_cell_span span = cvtm_cell_row_span(domain, cell, tolerance, walk, j);
  const int32_t wrapped = domain.periodic ? cvtm_cell_wrap(j, domain.height) : j;
  int32_t *row = labels + static_cast<int64_t>(wrapped) * domain.width;
  int32_t count = 0;
  for (int32_t k = span.first; k <= span.last; ++k) {
    const bool certain = k >= span.certain_first && k <= span.certain_last;
    if (!certain && !cvtm_cell_owns(&diagram->tree, domain, slot, k, j,
                                    (static_cast<double>(k) + 0.5) - walk->sx, y))
      continue;
    row[domain.periodic ? cvtm_cell_wrap(k, domain.width) : k] = index;
    ++count;
  }
  return count;
}

/* Labels the pixels of the cells of the sites at slots base .. base + 31, one lane for each cell.
 * Returns the number of pixels that this lane labels. */
static __device__ int32_t label_cells(const cvtm_diagram &diagram, int64_t base, int lane,
                                      cvtm_warp_cells<WARP> *memory, int32_t *labels) {
  cvtm_warp_cells_with_slopes(diagram.tree, diagram.domain, base, lane, memory);
  const cvtm_cell cell = cvtm_warp_cell(memory, lane);
  int32_t count = 0;
  if (cell.count >= 3) {
    const int64_t slot = base + lane;
    cvtm_cell_walk walk;
    cvtm_cell_begin_walk(diagram.domain, diagram.tree.position[2 * slot],
                         diagram.tree.position[2 * slot + 1], &cell, &walk);
    for (int32_t j = walk.first; j <= walk.last; ++j)
      count += label_row(&diagram, slot, &cell, memory->tolerance[lane], &walk, j, labels);
  }
  __syncwarp(); /* the next cells overwrite the memory */
  return count;
}

/* Labels the pixels of the cells that hull construction can make, and subtracts their number from
 * *unlabelled. The labels of the other pixels remain -1. */
static __global__ void __launch_bounds__(CELL_WARPS *WARP, CELL_BLOCKS)
    label_cells_kernel(cvtm_diagram diagram, int32_t *labels, int32_t *unlabelled) {
  __shared__ cvtm_warp_cells<WARP> memories[CELL_WARPS];
  const int lane = static_cast<int>(threadIdx.x) % WARP,
            warp = static_cast<int>(threadIdx.x) / WARP;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * CELL_WARPS * WARP;
  int32_t count = 0;
  for (int64_t base = (static_cast<int64_t>(blockIdx.x) * CELL_WARPS + warp) * WARP;
       base < diagram.tree.count; base += stride)
    count += label_cells(diagram, base, lane, &memories[warp], labels);
  count = __reduce_add_sync(0xFFFFFFFFu, count);
  if (lane == 0) atomicSub(unlabelled, count);
}

/* --- tile by tile: one warp for 8 x 8 pixels -------------------------------------------------- */

typedef struct warp_memory {
  double stack_distance[STACK];
  double x[MAX_CANDIDATES], y[MAX_CANDIDATES];
  int32_t stack_node[STACK];
  int32_t index[MAX_CANDIDATES];
} warp_memory;

/* Pushes the nodes of the lanes with `wanted` set, last a node with the distance `nearest`, if
 * there is one. Returns the new top. */
static __device__ int push_nodes(warp_memory *memory, int top, bool wanted, int64_t node,
                                 double distance, double nearest, int lane) {
  const unsigned mask = __ballot_sync(0xFFFFFFFFu, wanted);
  const unsigned at_nearest = __ballot_sync(0xFFFFFFFFu, wanted && distance == nearest);
  const int last = __ffs(static_cast<int>(at_nearest)) - 1; /* -1 if none */
  const int count = __popc(mask);
  if (wanted) {
    int item = __popc(mask & ((1u << lane) - 1));
    if (lane == last)
      item = count - 1;
    else if (last >= 0 && lane > last)
      --item;
    memory->stack_node[top + item] = static_cast<int32_t>(node);
    memory->stack_distance[top + item] = distance;
  }
  __syncwarp();
  return top + count;
}

/* The squared distance from (x, y) to the nearest site. All lanes call. */
static __device__ double warp_nearest2(const cvtm_diagram *diagram, warp_memory *memory, double x,
                                       double y, int lane) {
  const cvtm_site_tree_view *tree = &diagram->tree;
  const int64_t buckets = cvtm_walk_buckets(tree);
  double best = HUGE_VAL;
  int top = 0;
  int64_t node = 1;
  for (;;) {
    if (node >= buckets) {
      const int64_t slot = cvtm_walk_slot(tree, buckets, node, lane);
      double distance2 = HUGE_VAL;
      if (slot >= 0)
        distance2 = cvtm_distance2(diagram->metric, x, y, tree->position[2 * slot],
                                   tree->position[2 * slot + 1]);
      distance2 = cvtm_warp_min(distance2);
      if (distance2 < best) best = distance2;
    } else {
      const int64_t child = cvtm_walk_child(buckets, node, lane);
      const double distance2 =
          child >= 0 ? cvtm_box_distance2(diagram->metric, x, y, tree->box + 4 * child) : HUGE_VAL;
      top = push_nodes(memory, top, distance2 < best, child, distance2, cvtm_warp_min(distance2),
                       lane);
    }
    double distance2;
    do {
      if (top == 0) return best;
      --top;
      node = memory->stack_node[top];
      distance2 = memory->stack_distance[top];
    } while (!(distance2 < best));
    __syncwarp(); /* all lanes have read the stack before one writes it */
  }
}

/* Appends the sites of the lanes with `wanted` set. Returns the new number of candidates, or -1 if
 * there are more than MAX_CANDIDATES. */
static __device__ int push_candidates(const cvtm_site_tree_view *tree, warp_memory *memory,
                                      int found, bool wanted, int64_t slot, int lane) {
  const unsigned mask = __ballot_sync(0xFFFFFFFFu, wanted);
  if (found + __popc(mask) > MAX_CANDIDATES) return -1;
  if (wanted) {
    const int item = found + __popc(mask & ((1u << lane) - 1));
    memory->x[item] = tree->position[2 * slot];
    memory->y[item] = tree->position[2 * slot + 1];
    memory->index[item] = tree->index[slot];
  }
  __syncwarp();
  return found + __popc(mask);
}

/* Lists the sites whose squared distance from (x, y) is at most reach2; of coincident sites, only
 * the first. Returns the number of listed sites, or -1 if there are more than MAX_CANDIDATES. */
static __device__ int warp_gather(const cvtm_diagram *diagram, warp_memory *memory, double x,
                                  double y, double reach2, int lane) {
  const cvtm_site_tree_view *tree = &diagram->tree;
  const int64_t buckets = cvtm_walk_buckets(tree);
  int top = 0, found = 0;
  int64_t node = 1;
  for (;;) {
    if (node >= buckets) {
      const int64_t slot = cvtm_walk_slot(tree, buckets, node, lane);
      const bool wanted = slot >= 0 &&
                          cvtm_distance2(diagram->metric, x, y, tree->position[2 * slot],
                                         tree->position[2 * slot + 1]) <= reach2 &&
                          !cvtm_is_duplicate(tree, slot);
      found = push_candidates(tree, memory, found, wanted, slot, lane);
    } else {
      const int64_t child = cvtm_walk_child(buckets, node, lane);
      const double *box = tree->box + 4 * child;
      const double distance2 =
          child >= 0 ? cvtm_box_distance2(diagram->metric, x, y, box) : HUGE_VAL;
      const bool within = child >= 0 && distance2 <= reach2;
      /* A box that is a point has only coincident sites. The first has the lowest index and is all
       * that is listed, so the box needs no visit. */
      const bool coincident = within && cvtm_box_is_point(box);
      const int64_t slot = coincident ? cvtm_node_first(tree, child) : -1;
      found = push_candidates(tree, memory, found, coincident && !cvtm_is_duplicate(tree, slot),
                              slot, lane);
      top = push_nodes(memory, top, within && !coincident, child, distance2, -1, lane);
    }
    if (found < 0 || top == 0) return found;
    node = memory->stack_node[--top];
    __syncwarp();
  }
}

/* Labels a pixel from the `found` candidates of its tile; if found < 0, by a search of the tree. */
static __device__ void label_pixel(const cvtm_diagram *diagram, const warp_memory *memory,
                                   int found, int i, int j, int32_t *labels) {
  const double x = i + 0.5, y = j + 0.5;
  int32_t label = INT32_MAX;
  if (found < 0) {
    label = cvtm_site_tree_nearest(&diagram->tree, diagram->metric, x, y).index;
  } else {
    double best = HUGE_VAL;
    for (int k = 0; k < found; ++k) {
      const double distance2 = cvtm_distance2(diagram->metric, x, y, memory->x[k], memory->y[k]);
      if (distance2 < best || (distance2 == best && memory->index[k] < label)) {
        best = distance2;
        label = memory->index[k];
      }
    }
  }
  labels[static_cast<int64_t>(j) * diagram->domain.width + i] = label;
}

/* Labels all pixels of a tile that has an unlabelled pixel; the labels of the other pixels do not
 * change. */
static __device__ void label_tile(const cvtm_diagram *diagram, warp_memory *memory, cvtm_tile tile,
                                  int lane, int32_t *labels) {
  bool unlabelled = false;
  for (int row = lane / TILE; row < tile.height; row += ROWS)
    if (lane % TILE < tile.width)
      unlabelled |= labels[static_cast<int64_t>(tile.y + row) * diagram->domain.width + tile.x +
                           lane % TILE] < 0;
  if (!__any_sync(0xFFFFFFFFu, unlabelled)) return;
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  const double nearest2 = warp_nearest2(diagram, memory, x, y, lane);
  const int found = warp_gather(diagram, memory, x, y, cvtm_tile_reach2(tile, nearest2), lane);
  for (int row = lane / TILE; row < tile.height; row += ROWS)
    if (lane % TILE < tile.width)
      label_pixel(diagram, memory, found, tile.x + lane % TILE, tile.y + row, labels);
  __syncwarp(); /* the next tile overwrites the memory */
}

static __global__ void __launch_bounds__(TILE_WARPS *WARP)
    label_tiles_kernel(cvtm_diagram diagram, int64_t tiles_x, int64_t tiles, int32_t *labels,
                       const int32_t *unlabelled) {
  __shared__ warp_memory memories[TILE_WARPS];
  if (!*unlabelled) return;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * TILE_WARPS;
  for (int64_t number = static_cast<int64_t>(blockIdx.x) * TILE_WARPS + threadIdx.x / WARP;
       number < tiles; number += stride) {
    cvtm_tile tile;
    tile.x = static_cast<int>(number % tiles_x) * TILE;
    tile.y = static_cast<int>(number / tiles_x) * TILE;
    tile.width = diagram.domain.width - tile.x < TILE ? diagram.domain.width - tile.x : TILE;
    tile.height = diagram.domain.height - tile.y < TILE ? diagram.domain.height - tile.y : TILE;
    label_tile(&diagram, &memories[threadIdx.x / WARP], tile, lane, labels);
  }
}

static __global__ void __launch_bounds__(PIXEL_BLOCK)
    correct_labels_kernel(cvtm_diagram diagram, const double *sites, const int32_t *exact,
                          int32_t *labels, unsigned long long *wrong) {
  const int64_t pixels = static_cast<int64_t>(diagram.domain.width) * diagram.domain.height;
  unsigned count = 0;
  for (int64_t p = cvtm_first_thread(); p < pixels; p += cvtm_thread_count()) {
    if (labels[p] == exact[p]) continue;
    const int i = static_cast<int>(p % diagram.domain.width);
    const int j = static_cast<int>(p / diagram.domain.width);
    count += cvtm_label_distance2(&diagram, sites, i, j, labels[p]) >
             cvtm_label_distance2(&diagram, sites, i, j, exact[p]);
    labels[p] = exact[p];
  }
  if (count > 0) atomicAdd(wrong, static_cast<unsigned long long>(count));
}

/* --- launchers -------------------------------------------------------------------------------- */

static __global__ void set_number_kernel(int32_t value, int32_t *number) { *number = value; }

static cvtm_status label_cells_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                    int32_t *labels, int32_t *unlabelled) {
  const int64_t area = static_cast<int64_t>(diagram->domain.width) * diagram->domain.height;
  cvtm_status status =
      cvtm_device_fill(device, labels, 0xFF, static_cast<size_t>(area) * sizeof *labels);
  if (status == CVTM_OK)
    status = CVTM_LAUNCH(device, set_number_kernel, 1, 1, static_cast<int32_t>(area), unlabelled);
  if (status != CVTM_OK || area / diagram->tree.count > CELL_PIXELS) return status;
  return CVTM_LAUNCH(device, label_cells_kernel,
                     cvtm_cuda_blocks(diagram->tree.count, CELL_WARPS * WARP), CELL_WARPS * WARP,
                     *diagram, labels, unlabelled);
}

static cvtm_status label_tiles_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                    int32_t *labels, const int32_t *unlabelled) {
  const int64_t tiles_x = (diagram->domain.width + TILE - 1) / TILE;
  const int64_t tiles_y = (diagram->domain.height + TILE - 1) / TILE;
  const int64_t tiles = tiles_x * tiles_y;
  const unsigned needed = cvtm_cuda_blocks(tiles, TILE_WARPS), most = MAX_BLOCKS;
  const unsigned blocks = needed < most ? needed : most;
  return CVTM_LAUNCH(device, label_tiles_kernel, blocks, TILE_WARPS * WARP, *diagram, tiles_x,
                     tiles, labels, unlabelled);
}

static cvtm_status correct_labels_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                       const double *sites, const int32_t *exact, int32_t *labels,
                                       uint64_t *wrong) {
  const int64_t pixels = static_cast<int64_t>(diagram->domain.width) * diagram->domain.height;
  return CVTM_LAUNCH(device, correct_labels_kernel, cvtm_cuda_blocks(pixels, PIXEL_BLOCK),
                     PIXEL_BLOCK, *diagram, sites, exact, labels,
                     reinterpret_cast<unsigned long long *>(wrong));
}

extern "C" const cvtm_exact_labels_table cvtm_exact_labels_table_cuda = {
    label_cells_cuda,
    label_tiles_cuda,
    correct_labels_cuda,
};
