/* Inside jfa only: the phases that differ between devices, and what happens at one
 * pixel, written once for both.
 *
 * While labels are flooded they name places in the tree's order, not sites:
 *   -1          nothing yet
 *   p >= 0      the site at place p, alone in its pixel
 *   -2 - p      the sites at places p .. group_end[p] - 1, which share a pixel */
#ifndef CVTMESH_JFA_JFA_KERNELS_H
#define CVTMESH_JFA_JFA_KERNELS_H

#include "jfa/site_query.h"
#include "jfa/site_tree_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_flood {
  cvtm_site_tree_view tree;
  cvtm_domain domain;
  cvtm_metric metric;
  int32_t *group_end; /* per place; set where a group of several sites begins */
  uint64_t *labelled; /* one number: pixels that cells have labelled so far */
} cvtm_flood;

typedef struct cvtm_voronoi_table {
  /* Labels the pixels that hold sites; the others stay as they are. */
  cvtm_status (*seed)(cvtm_device *device, const cvtm_flood *flood, int32_t *labels);
  /* One pass from one label array to another. */
  cvtm_status (*pass)(cvtm_device *device, const cvtm_flood *flood, int step, const int32_t *from,
                      int32_t *to);
  /* Replaces places by site indices. */
  cvtm_status (*resolve)(cvtm_device *device, const cvtm_flood *flood, int32_t *labels);
  /* The exact diagram of at least one site. */
  cvtm_status (*exact)(cvtm_device *device, const cvtm_flood *flood, int32_t *labels);
} cvtm_voronoi_table;

extern const cvtm_voronoi_table cvtm_voronoi_table_cpu;
#if CVTMESH_HAVE_CUDA
extern const cvtm_voronoi_table cvtm_voronoi_table_cuda;
#endif

#ifdef __cplusplus
}
#endif

/* The pixel that the site at a place seeds, as an offset into the labels. */
CVTM_HD int64_t cvtm_seed_pixel(const cvtm_flood *flood, int64_t place) {
  const int shift = cvtm_morton_shift(flood->domain);
  const uint64_t x = cvtm_quantize(flood->tree.position[2 * place], flood->domain.width, shift);
  const uint64_t y =
      cvtm_quantize(flood->tree.position[2 * place + 1], flood->domain.height, shift);
  return (int64_t)(y >> shift) * flood->domain.width + (int64_t)(x >> shift);
}

/* One past the last place of the group that begins at `head`, by doubling and halving. */
CVTM_HD int64_t cvtm_find_group_end(const cvtm_flood *flood, int64_t head, int64_t pixel) {
  const int64_t count = flood->tree.count;
  int64_t inside = head, stride = 1;
  while (inside + stride < count && cvtm_seed_pixel(flood, inside + stride) == pixel) {
    inside += stride;
    stride *= 2;
  }
  int64_t outside = inside + stride < count ? inside + stride : count;
  while (outside - inside > 1) {
    const int64_t middle = inside + (outside - inside) / 2;
    if (cvtm_seed_pixel(flood, middle) == pixel)
      inside = middle;
    else
      outside = middle;
  }
  return outside;
}

/* Labels the pixel of the group that begins at `place`, if one does. */
CVTM_HD void cvtm_seed_place(const cvtm_flood *flood, int64_t place, int32_t *labels) {
  const int64_t pixel = cvtm_seed_pixel(flood, place);
  if (place > 0 && cvtm_seed_pixel(flood, place - 1) == pixel) return;
  const int64_t end = cvtm_find_group_end(flood, place, pixel);
  if (end - place == 1) {
    labels[pixel] = (int32_t)place;
  } else {
    flood->group_end[place] = (int32_t)end;
    labels[pixel] = (int32_t)(-2 - place);
  }
}

/* Improves *best by the site or the group that a label names. */
CVTM_HD void cvtm_consider_label(const cvtm_flood *flood, double x, double y, int32_t label,
                                 cvtm_nearest *best) {
  if (label >= 0) {
    cvtm_nearest_consider(&flood->tree, flood->metric, x, y, label, best);
  } else if (label < -1) {
    const int64_t head = -2 - (int64_t)label;
    cvtm_search_range(&flood->tree, flood->metric, x, y, head, flood->group_end[head], best);
  }
}

/* i + step brought into [0, side) on a torus; else -1 where it leaves the domain. */
CVTM_HD int cvtm_step_along(int i, int step, int side, int periodic) {
  int k = i + step;
  if (k >= 0 && k < side) return k;
  if (!periodic) return -1;
  k %= side;
  return k < 0 ? k + side : k;
}

/* The label of pixel (i, j) after a pass. */
CVTM_HD int32_t cvtm_flood_pixel(const cvtm_flood *flood, int i, int j, int step,
                                 const int32_t *from) {
  const cvtm_domain domain = flood->domain;
  const double x = i + 0.5, y = j + 0.5;
  int32_t label = from[(int64_t)j * domain.width + i];
  cvtm_nearest best = cvtm_nearest_none();
  cvtm_consider_label(flood, x, y, label, &best);
  for (int dj = -1; dj <= 1; ++dj) {
    const int row = cvtm_step_along(j, dj * step, domain.height, domain.periodic);
    if (row < 0) continue;
    for (int di = -1; di <= 1; ++di) {
      const int column = cvtm_step_along(i, di * step, domain.width, domain.periodic);
      if (column < 0) continue;
      const int32_t heard = from[(int64_t)row * domain.width + column];
      if (heard == -1 || heard == label) continue;
      const int32_t before = best.place;
      cvtm_consider_label(flood, x, y, heard, &best);
      if (best.place != before) label = heard;
    }
  }
  return label;
}

/* The site that a label stands for at pixel (i, j). */
CVTM_HD int32_t cvtm_resolve_pixel(const cvtm_flood *flood, int i, int j, int32_t label) {
  if (label == -1) return -1;
  if (label >= 0) return flood->tree.index[label];
  cvtm_nearest best = cvtm_nearest_none();
  cvtm_consider_label(flood, i + 0.5, j + 0.5, label, &best);
  return best.index;
}

/* A rectangle of pixels [x, x + width) x [y, y + height). */
typedef struct cvtm_tile {
  int x, y, width, height;
} cvtm_tile;

CVTM_HD double cvtm_tile_center_x(cvtm_tile tile) { return tile.x + 0.5 * tile.width; }
CVTM_HD double cvtm_tile_center_y(cvtm_tile tile) { return tile.y + 0.5 * tile.height; }

/* Only sites whose squared distance from the centre of the tile is at most this can be
 * nearest to a pixel centre in it, if nearest2 is that of the nearest one: a pixel
 * centre is within r of the tile's, so the site nearest to it is within nearest + 2 r of the
 * tile's. The last factor covers rounding. */
CVTM_HD double cvtm_tile_reach2(cvtm_tile tile, double nearest2) {
  const double dx = 0.5 * (tile.width - 1), dy = 0.5 * (tile.height - 1);
  const double reach = sqrt(nearest2) + 2 * sqrt(dx * dx + dy * dy);
  return reach * reach * (1 + 1e-12);
}

/* Whether the site at a place lies on the one before it, and so is nearest to nothing. */
CVTM_HD int cvtm_is_duplicate(const cvtm_site_tree_view *tree, int64_t place) {
  return place > 0 && tree->position[2 * place] == tree->position[2 * place - 2] &&
         tree->position[2 * place + 1] == tree->position[2 * place - 1];
}

#endif
