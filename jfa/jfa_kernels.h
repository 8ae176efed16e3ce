/* Inside jfa only: the exact diagram's phases that differ between devices, and what they
 * share. */
#ifndef CVTMESH_JFA_JFA_KERNELS_H
#define CVTMESH_JFA_JFA_KERNELS_H

#include "jfa/flood.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_voronoi_table {
  /* NULL, or: labels what it can, at no more than the cost of `tiles`, without the tree's boxes.
   * *missing (device memory): how many pixels are left, with label -1. */
  cvtm_status (*cells)(cvtm_device *device, const cvtm_flood *flood, int32_t *labels,
                       int32_t *missing);
  /* Labels all pixels, or those that *missing counts. */
  cvtm_status (*tiles)(cvtm_device *device, const cvtm_flood *flood, int32_t *labels,
                       const int32_t *missing);
  /* Replaces labels by the exact ones; adds to *wrong (device memory) those that had a
   * farther site. */
  cvtm_status (*correct)(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                         const int32_t *exact, int32_t *labels, uint64_t *wrong);
} cvtm_voronoi_table;

extern const cvtm_voronoi_table cvtm_voronoi_table_cpu, cvtm_voronoi_table_cuda;

#ifdef __cplusplus
}
#endif

/* The squared distance that a label means at pixel (i, j); infinite for a label that is none. */
CVTM_HD double cvtm_label_distance2(const cvtm_flood *flood, const double *sites, int i, int j,
                                    int32_t label) {
  if (label < 0 || label >= flood->tree.count) return HUGE_VAL;
  double x, y;
  cvtm_canonical_site(flood->metric, sites + 2 * (int64_t)label, &x, &y);
  return cvtm_distance2(flood->metric, i + 0.5, j + 0.5, x, y);
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
