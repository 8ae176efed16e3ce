#include "jfa/jfa_kernels.h"

/* The rows of codes with the candidates of a row of pixels, in the order of tags. */
typedef struct candidate_rows {
  const uint32_t *row[3];
  float y; /* y of the pixel centres */
} candidate_rows;

/* The code of pixel i after a pass. `periodic` is a constant in each call. */
static inline uint32_t flood_pixel(const cvtm_diagram *diagram, const cvtm_flood_scale *scale,
                                   int periodic, const candidate_rows *rows, int i, int step) {
  const int width = diagram->domain.width;
  const int column[3] = {i, cvtm_step_along(i, -step, width, periodic),
                         cvtm_step_along(i, step, width, periodic)};
  const float x = scale->origin + (float)i * scale->step;
  uint32_t least = UINT32_MAX;
  for (uint32_t tag = 0; tag < 11; ++tag) {
    if (tag % 4 == 3) continue;
    const uint32_t code = rows->row[tag / 4][column[tag % 4]];
    float seed_x, seed_y;
    cvtm_code_position(code, &seed_x, &seed_y);
    const float dx = cvtm_flood_difference(x, seed_x, periodic, scale->period_x);
    const float dy = cvtm_flood_difference(rows->y, seed_y, periodic, scale->period_y);
    const uint32_t key = cvtm_flood_key(cvtm_flood_distance2(cvtm_flood_x2(code, dx), dy), tag);
    least = key < least ? key : least;
  }
  return rows->row[(least & 15U) / 4][column[least % 4]];
}

static cvtm_status pass_cpu(cvtm_device *device, const cvtm_diagram *diagram, int step,
                            const uint32_t *from, uint32_t *to) {
  const cvtm_flood_scale scale = cvtm_flood_scale_of(diagram);
  const int64_t width = diagram->domain.width;
  const int height = diagram->domain.height, periodic = diagram->domain.periodic;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int j = 0; j < height; ++j) {
    const candidate_rows rows = {
        {from + j * width, from + cvtm_step_along(j, -step, height, periodic) * width,
         from + cvtm_step_along(j, step, height, periodic) * width},
        scale.origin + (float)j * scale.step};
    uint32_t *row = to + j * width;
    for (int i = 0; i < width; ++i)
      row[i] = periodic ? flood_pixel(diagram, &scale, 1, &rows, i, step)
                        : flood_pixel(diagram, &scale, 0, &rows, i, step);
  }
  return CVTM_OK;
}

/* Replaces the codes of a row by slots. Neighbouring pixels mostly have the same code. */
static void find_slots(const cvtm_diagram *diagram, uint32_t *codes) {
  uint32_t code = codes[0], slot = cvtm_slot_of_code(diagram, code);
  for (int i = 0; i < diagram->domain.width; ++i) {
    if (codes[i] != code) {
      code = codes[i];
      slot = cvtm_slot_of_code(diagram, code);
    }
    codes[i] = slot;
  }
}

static cvtm_status final_pass_cpu(cvtm_device *device, const cvtm_diagram *diagram, uint32_t *codes,
                                  int32_t *labels) {
  const int64_t width = diagram->domain.width;
  const int height = diagram->domain.height;
#pragma omp parallel num_threads(cvtm_device_threads(device))
  {
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j) find_slots(diagram, codes + j * width);
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i)
        labels[j * width + i] = cvtm_final_label(diagram, i, j, codes);
  }
  return CVTM_OK;
}

CVTM_JFA_PHASES(CVTM_PHASE_CPU)

const cvtm_jfa_table cvtm_jfa_table_cpu = {
    .pass = pass_cpu, .final_pass = final_pass_cpu, CVTM_JFA_PHASES(CVTM_PHASE_CPU_NAME)};

/* --- exact labels ----------------------------------------------------------------------------- */

/* Labels tile by tile: gathers the sites that can be nearest to a pixel of the tile from the tree,
 * and shortens their list each time that the tile is split. */

enum {
  TILE_SIDE = 32,
  MAX_CANDIDATES = 256, /* candidates of a tile, at most; with more, the tile is split */
  SMALL_TILE = 16,      /* pixels of a tile that is too small to be split for a shorter list */
  SHORT_LIST = 3        /* candidates of a tile that need no shorter list */
};

typedef struct candidate {
  double x, y;
  int32_t index;
} candidate;

static candidate candidate_at(const cvtm_site_tree_view *tree, int64_t slot) {
  const candidate site = {tree->position[2 * slot], tree->position[2 * slot + 1],
                          tree->index[slot]};
  return site;
}

/* Lists the sites whose squared distance from the centre of the tile is at most reach2; of
 * coincident sites, only the first. Returns the number of listed sites, or -1 if there are more
 * than MAX_CANDIDATES. */
static int gather_candidates(const cvtm_diagram *diagram, cvtm_tile tile, double reach2,
                             candidate *list) {
  const cvtm_site_tree_view *tree = &diagram->tree;
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  int32_t stack[CVTM_TREE_STACK];
  int top = 0, found = 0;
  stack[top++] = 1;
  while (top > 0) {
    const int64_t node = stack[--top];
    const double *box = tree->box + 4 * node;
    if (!(cvtm_box_distance2(diagram->metric, x, y, box) <= reach2)) continue;
    int64_t first = cvtm_node_first(tree, node), last = first;
    if (cvtm_box_is_point(box)) {
      last = first + 1;
    } else if (node >= tree->leaf_count) {
      last = first + CVTM_TREE_LEAF < tree->count ? first + CVTM_TREE_LEAF : tree->count;
    } else {
      stack[top++] = (int32_t)(2 * node + 1);
      stack[top++] = (int32_t)(2 * node);
    }
    for (int64_t slot = first; slot < last; ++slot) {
      const candidate site = candidate_at(tree, slot);
      if (!(cvtm_distance2(diagram->metric, x, y, site.x, site.y) <= reach2) ||
          cvtm_is_duplicate(tree, slot))
        continue;
      if (found == MAX_CANDIDATES) return -1;
      list[found++] = site;
    }
  }
  return found;
}

/* Halves the tile across its longer side. */
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

static int32_t nearest_candidate(const cvtm_diagram *diagram, double x, double y,
                                 const candidate *list, int count) {
  double best = HUGE_VAL;
  int32_t index = INT32_MAX;
  for (int k = 0; k < count; ++k) {
    const double distance2 = cvtm_distance2(diagram->metric, x, y, list[k].x, list[k].y);
    if (distance2 < best || (distance2 == best && list[k].index < index)) {
      best = distance2;
      index = list[k].index;
    }
  }
  return index;
}

/* Keeps the candidates that can be nearest to a pixel centre of the tile, and returns their number.
 * The tile is a part of the tile for which the candidates were gathered. */
static int filter_candidates(const cvtm_diagram *diagram, cvtm_tile tile, const candidate *list,
                             int count, candidate *kept) {
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  double distance2[MAX_CANDIDATES];
  double nearest2 = HUGE_VAL;
  for (int k = 0; k < count; ++k) {
    distance2[k] = cvtm_distance2(diagram->metric, x, y, list[k].x, list[k].y);
    if (distance2[k] < nearest2) nearest2 = distance2[k];
  }
  const double reach2 = cvtm_tile_reach2(tile, nearest2);
  int found = 0;
  for (int k = 0; k < count; ++k)
    if (distance2[k] <= reach2) kept[found++] = list[k];
  return found;
}

/* Labels a tile from its candidates. */
static void assign_tile(const cvtm_diagram *diagram, cvtm_tile tile, const candidate *list,
                        int count, int32_t *labels) {
  if (count > SHORT_LIST && tile.width * tile.height > SMALL_TILE) {
    candidate kept[MAX_CANDIDATES];
    cvtm_tile half[2];
    split_tile(tile, half);
    for (int k = 0; k < 2; ++k) {
      const int found = filter_candidates(diagram, half[k], list, count, kept);
      assign_tile(diagram, half[k], kept, found, labels);
    }
    return;
  }
  for (int j = tile.y; j < tile.y + tile.height; ++j) {
    int32_t *row = labels + (int64_t)j * diagram->domain.width;
    for (int i = tile.x; i < tile.x + tile.width; ++i)
      row[i] =
          count == 1 ? list[0].index : nearest_candidate(diagram, i + 0.5, j + 0.5, list, count);
  }
}

/* Labels a tile. *guess: the slot of a site that is probably near; on return, the slot of the site
 * nearest to the centre of the tile. */
static void label_tile(const cvtm_diagram *diagram, cvtm_tile tile, int32_t *guess,
                       int32_t *labels) {
  const double x = cvtm_tile_center_x(tile), y = cvtm_tile_center_y(tile);
  cvtm_nearest best = cvtm_nearest_none();
  cvtm_nearest_consider(&diagram->tree, diagram->metric, x, y, *guess, &best);
  cvtm_search_node(&diagram->tree, diagram->metric, x, y, 1, &best);
  *guess = best.slot;
  if (tile.width == 1 && tile.height == 1) {
    labels[(int64_t)tile.y * diagram->domain.width + tile.x] = best.index;
    return;
  }
  candidate list[MAX_CANDIDATES];
  const int count = gather_candidates(diagram, tile, cvtm_tile_reach2(tile, best.distance2), list);
  if (count >= 0) {
    assign_tile(diagram, tile, list, count, labels);
    return;
  }
  cvtm_tile half[2];
  split_tile(tile, half);
  label_tile(diagram, half[0], guess, labels);
  label_tile(diagram, half[1], guess, labels);
}

static cvtm_status label_tiles_cpu(cvtm_device *device, const cvtm_diagram *diagram,
                                   int32_t *labels, const int32_t *unlabelled) {
  (void)unlabelled; /* NULL, since there is no label_cells */
  const int width = diagram->domain.width, height = diagram->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(dynamic)
  for (int y = 0; y < height; y += TILE_SIDE) {
    int32_t guess = 0;
    for (int x = 0; x < width; x += TILE_SIDE) {
      const cvtm_tile tile = {x, y, width - x < TILE_SIDE ? width - x : TILE_SIDE,
                              height - y < TILE_SIDE ? height - y : TILE_SIDE};
      label_tile(diagram, tile, &guess, labels);
    }
  }
  return CVTM_OK;
}

static cvtm_status correct_labels_cpu(cvtm_device *device, const cvtm_diagram *diagram,
                                      const double *sites, const int32_t *exact, int32_t *labels,
                                      uint64_t *wrong) {
  const int width = diagram->domain.width, height = diagram->domain.height;
  int64_t count = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) reduction(+ : count)
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const int64_t p = (int64_t)j * width + i;
      if (labels[p] == exact[p]) continue;
      count += cvtm_label_distance2(diagram, sites, i, j, labels[p]) >
               cvtm_label_distance2(diagram, sites, i, j, exact[p]);
      labels[p] = exact[p];
    }
  }
  *wrong += (uint64_t)count;
  return CVTM_OK;
}

const cvtm_exact_labels_table cvtm_exact_labels_table_cpu = {
    .label_cells = NULL,
    .label_tiles = label_tiles_cpu,
    .correct = correct_labels_cpu,
};
