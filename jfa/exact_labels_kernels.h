/* Inside voronoi only: the phases of exact labels that differ between devices, and what both sides
 * share. */
#ifndef CVTMESH_JFA_EXACT_LABELS_KERNELS_H
#define CVTMESH_JFA_EXACT_LABELS_KERNELS_H

#include "jfa/exact_labels.h"
#include "jfa/site_tree_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_exact_labels_table {
  /* NULL, or: labels the pixels of those cells that hull construction can cut out; needs no boxes
   * of the tree. *unlabelled (device memory) becomes the number of the other pixels, whose label is
   * -1. */
  cvtm_status (*label_cells)(cvtm_device *device, const cvtm_diagram *diagram, int32_t *labels,
                             int32_t *unlabelled);
  /* Labels all pixels; or, unless unlabelled is NULL, those without a label, and none if
   * *unlabelled is 0. Needs the tree's boxes. */
  cvtm_status (*label_tiles)(cvtm_device *device, const cvtm_diagram *diagram, int32_t *labels,
                             const int32_t *unlabelled);
  /* Replaces labels by the exact ones; adds to *wrong (device memory) the number of those whose
   * site was farther than the nearest. */
  cvtm_status (*correct)(cvtm_device *device, const cvtm_diagram *diagram, const double *sites,
                         const int32_t *exact, int32_t *labels, uint64_t *wrong);
} cvtm_exact_labels_table;

extern const cvtm_exact_labels_table cvtm_exact_labels_table_cpu, cvtm_exact_labels_table_cuda;

#ifdef __cplusplus
}
#endif

/* The squared distance from the centre of pixel (i, j) to the site of its label; infinite for a
 * label that is no index. */
CVTM_HD double cvtm_label_distance2(const cvtm_diagram *diagram, const double *sites, int i, int j,
                                    int32_t label) {
  if (label < 0 || label >= diagram->tree.count) return HUGE_VAL;
  double x, y;
  cvtm_canonical_site(diagram->metric, sites + 2 * (int64_t)label, &x, &y);
  return cvtm_distance2(diagram->metric, i + 0.5, j + 0.5, x, y);
}

/* The pixels [x, x + width) x [y, y + height). */
typedef struct cvtm_tile {
  int x, y, width, height;
} cvtm_tile;

CVTM_HD double cvtm_tile_center_x(cvtm_tile tile) { return tile.x + 0.5 * tile.width; }
CVTM_HD double cvtm_tile_center_y(cvtm_tile tile) { return tile.y + 0.5 * tile.height; }

/* The squared distance from the tile's centre beyond which no site is nearest to a pixel centre of
 * the tile. nearest2: the squared distance of the nearest site. A pixel centre is at most r from
 * the tile's centre, so the site nearest to it is at most nearest + 2 r from there. The factor
 * covers rounding. */
CVTM_HD double cvtm_tile_reach2(cvtm_tile tile, double nearest2) {
  const double dx = 0.5 * (tile.width - 1), dy = 0.5 * (tile.height - 1);
  const double reach = sqrt(nearest2) + 2 * sqrt(dx * dx + dy * dy);
  return reach * reach * (1 + 1e-12);
}

/* True if the site at a place coincides with the one before it. That one has the lower index, so
 * this one is nearest to no pixel. */
CVTM_HD int cvtm_is_duplicate(const cvtm_site_tree_view *tree, int64_t place) {
  return place > 0 && tree->position[2 * place] == tree->position[2 * place - 2] &&
         tree->position[2 * place + 1] == tree->position[2 * place - 1];
}

#endif
