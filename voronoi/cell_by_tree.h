/* Tree clipping: the rectangle of the domain cut by the bisectors with the sites in the box tree
 * (see cell.h). Clusters and empty regions cost little. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_VORONOI_CELL_BY_TREE_H
#define CVTMESH_VORONOI_CELL_BY_TREE_H

#include "voronoi/cell.h"

/* Clips by the site of index `other` at (dx, dy) and updates *radius2. Returns 0 if there is
 * nothing more to clip: the cell is empty, or *status is CVTM_CELL_OVERFLOW. */
CVTM_HD int cvtm_cell_clip_site(double dx, double dy, int32_t other, const cvtm_cell_origin *o,
                                cvtm_cell *cell, double *radius2, cvtm_cell_status *status) {
  if (other == o->index) return 1;
  if (dx == 0 && dy == 0) {
    if (other > o->index) return 1;
    cell->count = 0;
    return 0;
  }
  switch (cvtm_cell_clip(cell, dx, dy, other)) {
    case CVTM_CLIP_NONE:
      return 1;
    case CVTM_CLIP_CUT:
      *radius2 = cvtm_cell_radius2(cell);
      return 1;
    case CVTM_CLIP_EMPTY:
      return 0;
    case CVTM_CLIP_OVERFLOW:
    default:
      *status = CVTM_CELL_OVERFLOW;
      return 0;
  }
}

/* Intersects the box with the square of side 2 reach about the site; returns 0 if nothing is left.
 */
CVTM_HD int cvtm_cell_shrink_box(cvtm_cell_box *box, double reach) {
  if (box->x0 < -reach) box->x0 = -reach;
  if (box->y0 < -reach) box->y0 = -reach;
  if (box->x1 > reach) box->x1 = reach;
  if (box->y1 > reach) box->y1 = reach;
  return box->x0 < box->x1 && box->y0 < box->y1;
}

/* --- clipping by the tree ----------------------------------------------------------------- */

CVTM_HD cvtm_cell_box cvtm_cell_relative_box(const cvtm_site_tree_view *tree, int64_t node,
                                             const cvtm_cell_origin *o) {
  const double *box = tree->box + 4 * node;
  cvtm_cell_box relative;
  relative.x0 = (box[0] - o->shift_x) - o->x;
  relative.y0 = (box[1] - o->shift_y) - o->y;
  relative.x1 = (box[2] - o->shift_x) - o->x;
  relative.y1 = (box[3] - o->shift_y) - o->y;
  return relative;
}

CVTM_HD double cvtm_cell_box_distance2(const cvtm_cell_box *box, double x, double y) {
  const double dx = cvtm_interval_gap(x, box->x0, box->x1);
  const double dy = cvtm_interval_gap(y, box->y0, box->y1);
  return dx * dx + dy * dy;
}

/* True if all sites of a box coincide. The first of them then stands for all: it has the lowest
 * index. */
CVTM_HD int cvtm_cell_box_is_point(const cvtm_cell_box *box) {
  return box->x0 == box->x1 && box->y0 == box->y1;
}

/* True if a site in the box can cut the cell. distance2: from the cell's site to the box; radius2:
 * cvtm_cell_radius2. */
CVTM_HD int cvtm_cell_box_cuts(const cvtm_cell *cell, double radius2, const cvtm_cell_box *box,
                               double distance2) {
  if (!(distance2 > 0)) return 1; /* it may hold coincident sites */
  if (distance2 >= 4 * radius2) return 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride], y = cell->y[k * cell->stride];
    if (cvtm_cell_box_distance2(box, x, y) < x * x + y * y) return 1;
  }
  return 0;
}

/* The children of a node, the nearer one first, and their squared distances from the site. */
typedef struct cvtm_cell_children {
  int32_t near, far;
  double near2, far2;
} cvtm_cell_children;

CVTM_HD cvtm_cell_children cvtm_cell_children_of(const cvtm_site_tree_view *tree, int64_t node,
                                                 const cvtm_cell_origin *o) {
  const cvtm_cell_box left = cvtm_cell_relative_box(tree, 2 * node, o);
  const cvtm_cell_box right = cvtm_cell_relative_box(tree, 2 * node + 1, o);
  const double left2 = cvtm_cell_box_distance2(&left, 0, 0);
  const double right2 = cvtm_cell_box_distance2(&right, 0, 0);
  const int left_first = left2 <= right2;
  const cvtm_cell_children children = {(int32_t)(2 * node + !left_first),
                                       (int32_t)(2 * node + left_first),
                                       left_first ? left2 : right2, left_first ? right2 : left2};
  return children;
}

/* The sites that clip first, nearest first: they leave a cell so small that few others are tested.
 */
enum { CVTM_NEAREST_CAPACITY = 6 };
typedef struct cvtm_nearest_list {
  int32_t count;
  double distance2[CVTM_NEAREST_CAPACITY];
  int32_t place[CVTM_NEAREST_CAPACITY];
} cvtm_nearest_list;

CVTM_HD void cvtm_nearest_list_add(cvtm_nearest_list *list, double distance2, int32_t place) {
  int32_t k = list->count;
  if (k < CVTM_NEAREST_CAPACITY) {
    ++list->count;
  } else {
    if (distance2 >= list->distance2[k - 1]) return;
    --k;
  }
  for (; k > 0 && list->distance2[k - 1] > distance2; --k) {
    list->distance2[k] = list->distance2[k - 1];
    list->place[k] = list->place[k - 1];
  }
  list->distance2[k] = distance2;
  list->place[k] = place;
}

/* Lists the nearest sites that do not coincide with the cell's own. Returns 0 if one that does has
 * a lower index: then that one owns the cell. */
CVTM_HD int cvtm_cell_nearest_sites(const cvtm_site_tree_view *tree, const cvtm_cell_origin *o,
                                    cvtm_nearest_list *list) {
  int32_t stack[CVTM_TREE_STACK];
  double stack_distance2[CVTM_TREE_STACK];
  int top = 0;
  int64_t node = 1;
  double distance2 = 0;
  list->count = 0;
  for (;;) {
    if (list->count < CVTM_NEAREST_CAPACITY ||
        distance2 < list->distance2[CVTM_NEAREST_CAPACITY - 1]) {
      const cvtm_cell_box box = cvtm_cell_relative_box(tree, node, o);
      const int is_point = cvtm_cell_box_is_point(&box);
      if (node < tree->leaf_count && !is_point) {
        const cvtm_cell_children children = cvtm_cell_children_of(tree, node, o);
        stack[top] = children.far;
        stack_distance2[top++] = children.far2;
        node = children.near;
        distance2 = children.near2;
        continue;
      }
      const int64_t first = cvtm_node_first(tree, node);
      const int64_t end = first + (is_point ? 1 : CVTM_TREE_LEAF);
      const int64_t last = end < tree->count ? end : tree->count;
      for (int64_t place = first; place < last; ++place) {
        double dx, dy;
        cvtm_cell_relative_site(tree, place, o, &dx, &dy);
        const double d2 = dx * dx + dy * dy;
        if (d2 > 0) {
          cvtm_nearest_list_add(list, d2, (int32_t)place);
        } else if (dx == 0 && dy == 0 && tree->index[place] < o->index) {
          return 0;
        }
      }
    }
    if (top == 0) return 1;
    node = stack[--top];
    distance2 = stack_distance2[top];
  }
}

/* Clips by the sites at places first .. first + count - 1, as far as they exist and are near
 * enough. Returns 0 as cvtm_cell_clip_site does. */
CVTM_HD int cvtm_cell_clip_sites(const cvtm_site_tree_view *tree, int64_t first, int64_t count,
                                 const cvtm_cell_origin *o, cvtm_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  const int64_t last = first + count < tree->count ? first + count : tree->count;
  for (int64_t place = first; place < last; ++place) {
    double dx, dy;
    cvtm_cell_relative_site(tree, place, o, &dx, &dy);
    if (dx * dx + dy * dy >= 4 * *radius2) continue;
    if (!cvtm_cell_clip_site(dx, dy, tree->index[place], o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* Clips by all sites: depth first, the nearer child before the farther one. Returns 0 as
 * cvtm_cell_clip_site does. */
CVTM_HD int cvtm_cell_clip_tree(const cvtm_site_tree_view *tree, const cvtm_cell_origin *o,
                                cvtm_cell *cell, double *radius2, cvtm_cell_status *status) {
  int32_t stack[CVTM_TREE_STACK];
  int top = 0;
  stack[top++] = 1;
  while (top > 0) {
    int64_t node = stack[--top];
    cvtm_cell_box box = cvtm_cell_relative_box(tree, node, o);
    double distance2 = cvtm_cell_box_distance2(&box, 0, 0);
    if (!cvtm_cell_box_cuts(cell, *radius2, &box, distance2)) continue;
    if (cvtm_cell_box_is_point(&box)) {
      if (!cvtm_cell_clip_sites(tree, cvtm_node_first(tree, node), 1, o, cell, radius2, status))
        return 0;
      continue;
    }
    while (node < tree->leaf_count) {
      const cvtm_cell_children children = cvtm_cell_children_of(tree, node, o);
      if (children.far2 < 4 * *radius2) stack[top++] = children.far;
      node = children.near;
    }
    box = cvtm_cell_relative_box(tree, node, o);
    distance2 = cvtm_cell_box_distance2(&box, 0, 0);
    if (!cvtm_cell_box_cuts(cell, *radius2, &box, distance2)) continue;
    if (!cvtm_cell_clip_sites(tree, cvtm_node_first(tree, node), CVTM_TREE_LEAF, o, cell, radius2,
                              status))
      return 0;
  }
  return 1;
}

/* Clips the rectangle *start, relative to the site, by all sites; on a torus also by their images
 * one period away, which are the only ones that can reach it. */
CVTM_HD cvtm_cell_status cvtm_cell_cut_from(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                            const cvtm_cell_box *start, cvtm_cell_origin *o,
                                            cvtm_cell *cell, double *radius2) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_cell_set_rectangle(cell, start);
  *radius2 = cvtm_cell_radius2(cell);
  o->shift_x = 0;
  o->shift_y = 0;
  cvtm_nearest_list list;
  if (!cvtm_cell_nearest_sites(tree, o, &list)) {
    cell->count = 0;
    return status;
  }
  cell->nearest2 = list.count > 0 ? list.distance2[0] : HUGE_VAL;
  for (int32_t k = 0; k < list.count; ++k) {
    double dx, dy;
    cvtm_cell_relative_site(tree, list.place[k], o, &dx, &dy);
    if (!cvtm_cell_clip_site(dx, dy, tree->index[list.place[k]], o, cell, radius2, &status))
      return status;
  }
  if (!cvtm_cell_clip_tree(tree, o, cell, radius2, &status) || !domain.periodic) return status;
  for (int image = 0; image < 9; ++image) {
    if (image == 4) continue;
    o->shift_x = (image % 3 - 1) * (double)domain.width;
    o->shift_y = (image / 3 - 1) * (double)domain.height;
    if (!cvtm_cell_clip_tree(tree, o, cell, radius2, &status)) return status;
  }
  return status;
}

/* The cell of the site at a place: CVTM_CELL_DONE or CVTM_CELL_OVERFLOW. Corners carry the rounding
 * of the largest polygon clipped, so a cell very much smaller than the domain is clipped a second
 * time, from a square that just holds it. */
CVTM_HD cvtm_cell_status cvtm_cell_by_tree(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                           int64_t place, cvtm_cell *cell) {
  cvtm_cell_box start;
  cvtm_cell_origin o = cvtm_cell_origin_at(tree, domain, place, &start);
  double radius2 = 0;
  const cvtm_cell_status status = cvtm_cell_cut_from(tree, domain, &start, &o, cell, &radius2);
  if (status != CVTM_CELL_DONE || cell->count == 0) return status;
  const double reach = 2 * sqrt(radius2);
  const double size = (double)(domain.width > domain.height ? domain.width : domain.height);
  if (reach > 1e-3 * size || !cvtm_cell_shrink_box(&start, reach)) return status;
  return cvtm_cell_cut_from(tree, domain, &start, &o, cell, &radius2);
}

#endif
