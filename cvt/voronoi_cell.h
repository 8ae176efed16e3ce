/* The Voronoi cell of one site inside the domain: a rectangle cut by the bisectors
 * with the sites around, which the site tree yields near ones first. A subtree is
 * skipped when no corner of the cell is nearer to its box than to the site: then
 * no site in it can cut. So clusters and empty regions cost little: the corners are
 * tested one by one, not by one circle about the site. Compiles as C11 and
 * inside CUDA kernels. */
#ifndef CVTMESH_CVT_VORONOI_CELL_H
#define CVTMESH_CVT_VORONOI_CELL_H

#include "base/polygon.h"
#include "jfa/site_query.h"

/* A growing polygon in the caller's memory, relative to the site. */
typedef struct cvtm_cell {
  int32_t count, capacity;
  double *x, *y;
  int32_t *neighbor;
} cvtm_cell;

typedef enum cvtm_cell_status {
  CVTM_CELL_DONE,    /* perhaps empty: a coincident site of lower index owns the cell */
  CVTM_CELL_OVERFLOW /* more corners than the capacity on the way; begin again with more */
} cvtm_cell_status;

/* A box of the tree relative to the site: xmin, ymin, xmax, ymax. */
typedef struct cvtm_cell_box {
  double x0, y0, x1, y1;
} cvtm_cell_box;

CVTM_HD cvtm_cell_box cvtm_cell_relative_box(const cvtm_site_tree_view *tree, int64_t node,
                                             double ox, double oy) {
  const double *box = tree->box + 4 * node;
  cvtm_cell_box relative;
  relative.x0 = box[0] - ox;
  relative.y0 = box[1] - oy;
  relative.x1 = box[2] - ox;
  relative.y1 = box[3] - oy;
  return relative;
}

CVTM_HD double cvtm_cell_box_distance2(const cvtm_cell_box *box, double x, double y) {
  const double dx = cvtm_interval_gap(x, box->x0, box->x1);
  const double dy = cvtm_interval_gap(y, box->y0, box->y1);
  return dx * dx + dy * dy;
}

/* Can a site in the box, at this squared distance from the site, cut the cell? radius2: of its
 * farthest corner. */
CVTM_HD int cvtm_cell_box_cuts(const cvtm_cell *cell, double radius2, const cvtm_cell_box *box,
                               double distance2) {
  if (!(distance2 > 0)) return 1; /* coincident sites may be inside */
  if (distance2 >= 4 * radius2) return 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k], y = cell->y[k];
    if (cvtm_cell_box_distance2(box, x, y) < x * x + y * y) return 1;
  }
  return 0;
}

/* Clips by the sites of one leaf, as seen from the origin (ox, oy) with own index `index`. Returns
 * 0 when the cell is finished: empty, or *status says overflow. */
CVTM_HD int cvtm_cell_clip_leaf(const cvtm_site_tree_view *tree, int64_t leaf, double ox, double oy,
                                int32_t index, cvtm_cell *cell, double *radius2,
                                cvtm_cell_status *status) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  const int64_t last = first + CVTM_TREE_LEAF < tree->count ? first + CVTM_TREE_LEAF : tree->count;
  for (int64_t place = first; place < last; ++place) {
    const double dx = tree->position[2 * place] - ox, dy = tree->position[2 * place + 1] - oy;
    const double d2 = dx * dx + dy * dy;
    if (d2 >= 4 * *radius2) continue;
    const int32_t other = tree->index[place];
    if (other == index) continue;
    if (dx == 0 && dy == 0) {
      if (other > index) continue;
      cell->count = 0;
      return 0;
    }
    switch (cvtm_corners_clip_bisector(dx, dy, other, cell->capacity, &cell->count, cell->x,
                                       cell->y, cell->neighbor)) {
      case CVTM_CLIP_NONE:
        break;
      case CVTM_CLIP_CUT:
        *radius2 = cvtm_corners_radius2(cell->count, cell->x, cell->y);
        break;
      case CVTM_CLIP_EMPTY:
        return 0;
      case CVTM_CLIP_OVERFLOW:
        *status = CVTM_CELL_OVERFLOW;
        return 0;
    }
  }
  return 1;
}

/* Clips by all sites, as seen from the origin: depth first, the nearer child before the other. */
CVTM_HD int cvtm_cell_clip_tree(const cvtm_site_tree_view *tree, double ox, double oy,
                                int32_t index, cvtm_cell *cell, double *radius2,
                                cvtm_cell_status *status) {
  int32_t stack[CVTM_TREE_STACK];
  int top = 0;
  stack[top++] = 1;
  while (top > 0) {
    int64_t node = stack[--top];
    cvtm_cell_box box = cvtm_cell_relative_box(tree, node, ox, oy);
    double distance2 = cvtm_cell_box_distance2(&box, 0, 0);
    if (!cvtm_cell_box_cuts(cell, *radius2, &box, distance2)) continue;
    while (node < tree->leaf_count) {
      const cvtm_cell_box left = cvtm_cell_relative_box(tree, 2 * node, ox, oy);
      const cvtm_cell_box right = cvtm_cell_relative_box(tree, 2 * node + 1, ox, oy);
      const double left2 = cvtm_cell_box_distance2(&left, 0, 0);
      const double right2 = cvtm_cell_box_distance2(&right, 0, 0);
      const double far2 = left2 <= right2 ? right2 : left2;
      if (far2 < 4 * *radius2) stack[top++] = (int32_t)(2 * node + (left2 <= right2));
      node = 2 * node + !(left2 <= right2);
    }
    box = cvtm_cell_relative_box(tree, node, ox, oy);
    distance2 = cvtm_cell_box_distance2(&box, 0, 0);
    if (!cvtm_cell_box_cuts(cell, *radius2, &box, distance2)) continue;
    if (!cvtm_cell_clip_leaf(tree, node - tree->leaf_count, ox, oy, index, cell, radius2, status))
      return 0;
  }
  return 1;
}

/* The cell of the site at a sorted place. On a torus the rectangle is the site's own
 * period, and of every other site only the images one period away can reach it. */
CVTM_HD cvtm_cell_status cvtm_cell_compute(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                           int64_t place, cvtm_cell *cell) {
  const double sx = tree->position[2 * place], sy = tree->position[2 * place + 1];
  const double width = (double)domain.width, height = (double)domain.height;
  const int32_t index = tree->index[place];
  cvtm_cell_status status = CVTM_CELL_DONE;
  if (domain.periodic) {
    cvtm_corners_rectangle(-0.5 * width, -0.5 * height, 0.5 * width, 0.5 * height, &cell->count,
                           cell->x, cell->y, cell->neighbor);
  } else {
    cvtm_corners_rectangle(-sx, -sy, width - sx, height - sy, &cell->count, cell->x, cell->y,
                           cell->neighbor);
  }
  double radius2 = cvtm_corners_radius2(cell->count, cell->x, cell->y);
  if (!cvtm_cell_clip_tree(tree, sx, sy, index, cell, &radius2, &status)) return status;
  if (domain.periodic) {
    for (int image = 0; image < 9; ++image) {
      const int i = image % 3 - 1, j = image / 3 - 1;
      if (i == 0 && j == 0) continue;
      if (!cvtm_cell_clip_tree(tree, sx + i * width, sy + j * height, index, cell, &radius2,
                               &status)) {
        return status;
      }
    }
  }
  return status;
}

#endif
