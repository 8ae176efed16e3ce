#include "jfa/jfa_kernels.h"

#include <stddef.h>

enum {
  TILE_SIDE = 32,
  MAX_CANDIDATES = 256, /* of a tile; with more, it is split */
  SMALL_TILE = 16,      /* pixels; not split to shorten its list */
  SHORT_LIST = 3
};

typedef struct candidate {
  double x, y;
  int32_t index;
} candidate;

static candidate candidate_at(const cvtm_site_tree_view *tree, int64_t place) {
  const candidate site = {tree->position[2 * place], tree->position[2 * place + 1],
                          tree->index[place]};
  return site;
}

/* All sites within the reach of the tile, each position once; -1 if there are more than
 * MAX_CANDIDATES. */
static int gather_candidates(const cvtm_flood *flood, cvtm_tile tile, double reach2,
                             candidate *list) {
  const cvtm_site_tree_view *tree = &flood->tree;
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  int32_t stack[CVTM_TREE_STACK];
  int top = 0, found = 0;
  stack[top++] = 1;
  while (top > 0) {
    const int64_t node = stack[--top];
    const double *box = tree->box + 4 * node;
    if (!(cvtm_box_distance2(flood->metric, x, y, box) <= reach2)) continue;
    int64_t first = cvtm_node_first(tree, node), last = first;
    if (cvtm_box_is_point(box)) {
      last = first + 1;
    } else if (node >= tree->leaf_count) {
      last = first + CVTM_TREE_LEAF < tree->count ? first + CVTM_TREE_LEAF : tree->count;
    } else {
      stack[top++] = (int32_t)(2 * node + 1);
      stack[top++] = (int32_t)(2 * node);
    }
    for (int64_t place = first; place < last; ++place) {
      const candidate site = candidate_at(tree, place);
      if (!(cvtm_distance2(flood->metric, x, y, site.x, site.y) <= reach2) ||
          cvtm_is_duplicate(tree, place))
        continue;
      if (found == MAX_CANDIDATES) return -1;
      list[found++] = site;
    }
  }
  return found;
}

/* Splits across the longer side. */
static void split_tile(cvtm_tile tile, cvtm_tile half[2]) {
  half[0] = half[1] = tile;
  if (tile.width >= tile.height) {
    half[0].width = tile.width / 2;
    half[1].x = tile.x + half[0].width;
    half[1].width = tile.width - half[0].width;
  } else {
    half[0].height = tile.height / 2;
    half[1].y = tile.y + half[0].height;
    half[1].height = tile.height - half[0].height;
  }
}

static int32_t nearest_candidate(const cvtm_flood *flood, double x, double y, const candidate *list,
                                 int count) {
  double best = HUGE_VAL;
  int32_t index = INT32_MAX;
  for (int k = 0; k < count; ++k) {
    const double distance2 = cvtm_distance2(flood->metric, x, y, list[k].x, list[k].y);
    if (distance2 < best || (distance2 == best && list[k].index < index)) {
      best = distance2;
      index = list[k].index;
    }
  }
  return index;
}

/* The candidates that remain within reach of a part of their tile. */
static int filter_candidates(const cvtm_flood *flood, cvtm_tile tile, const candidate *list,
                             int count, candidate *kept) {
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  double distance2[MAX_CANDIDATES];
  double nearest2 = HUGE_VAL;
  for (int k = 0; k < count; ++k) {
    distance2[k] = cvtm_distance2(flood->metric, x, y, list[k].x, list[k].y);
    if (distance2[k] < nearest2) nearest2 = distance2[k];
  }
  const double reach2 = cvtm_tile_reach2(tile, nearest2);
  int found = 0;
  for (int k = 0; k < count; ++k)
    if (distance2[k] <= reach2) kept[found++] = list[k];
  return found;
}

static void assign_tile(const cvtm_flood *flood, cvtm_tile tile, const candidate *list, int count,
                        int32_t *labels) {
  if (count > SHORT_LIST && tile.width * tile.height > SMALL_TILE) {
    candidate kept[MAX_CANDIDATES];
    cvtm_tile half[2];
    split_tile(tile, half);
    for (int k = 0; k < 2; ++k) {
      const int found = filter_candidates(flood, half[k], list, count, kept);
      assign_tile(flood, half[k], kept, found, labels);
    }
    return;
  }
  for (int j = tile.y; j < tile.y + tile.height; ++j) {
    int32_t *row = labels + (int64_t)j * flood->domain.width;
    for (int i = tile.x; i < tile.x + tile.width; ++i)
      row[i] = count == 1 ? list[0].index : nearest_candidate(flood, i + 0.5, j + 0.5, list, count);
  }
}

/* guess: a place whose site is likely near; replaced by the one nearest to the centre. */
static void label_tile(const cvtm_flood *flood, cvtm_tile tile, int32_t *guess, int32_t *labels) {
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  cvtm_nearest best = cvtm_nearest_none();
  cvtm_nearest_consider(&flood->tree, flood->metric, x, y, *guess, &best);
  cvtm_search_node(&flood->tree, flood->metric, x, y, 1, &best);
  *guess = best.place;
  if (tile.width == 1 && tile.height == 1) {
    labels[(int64_t)tile.y * flood->domain.width + tile.x] = best.index;
    return;
  }
  candidate list[MAX_CANDIDATES];
  const int count = gather_candidates(flood, tile, cvtm_tile_reach2(tile, best.distance2), list);
  if (count >= 0) {
    assign_tile(flood, tile, list, count, labels);
    return;
  }
  cvtm_tile half[2];
  split_tile(tile, half);
  label_tile(flood, half[0], guess, labels);
  label_tile(flood, half[1], guess, labels);
}

static cvtm_status tiles_cpu(cvtm_device *device, const cvtm_flood *flood, int32_t *labels,
                             const int32_t *missing) {
  (void)missing; /* all of them */
  const int width = flood->domain.width, height = flood->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(dynamic)
  for (int y = 0; y < height; y += TILE_SIDE) {
    int32_t guess = 0;
    for (int x = 0; x < width; x += TILE_SIDE) {
      const cvtm_tile tile = {x, y, width - x < TILE_SIDE ? width - x : TILE_SIDE,
                              height - y < TILE_SIDE ? height - y : TILE_SIDE};
      label_tile(flood, tile, &guess, labels);
    }
  }
  return CVTM_OK;
}

static cvtm_status correct_cpu(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                               const int32_t *exact, int32_t *labels, uint64_t *wrong) {
  const int width = flood->domain.width, height = flood->domain.height;
  int64_t count = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) reduction(+ : count)
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const int64_t p = (int64_t)j * width + i;
      if (labels[p] == exact[p]) continue;
      count += cvtm_label_distance2(flood, sites, i, j, labels[p]) >
               cvtm_label_distance2(flood, sites, i, j, exact[p]);
      labels[p] = exact[p];
    }
  }
  *wrong += (uint64_t)count;
  return CVTM_OK;
}

const cvtm_voronoi_table cvtm_voronoi_table_cpu = {
    .cells = NULL,
    .tiles = tiles_cpu,
    .correct = correct_cpu,
};
