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

/* A box of the tree relative to the site. */
typedef struct cvtm_cell_box {
  double x0, y0, x1, y1;
} cvtm_cell_box;

/* Where the cell's site is, and by how much the others are shifted back: in this
 * order nothing is lost between a site and images of others that are very near to it. */
typedef struct cvtm_cell_origin {
  double x, y, shift_x, shift_y;
  int32_t index; /* the caller's number of the site */
} cvtm_cell_origin;

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

/* Clips by the site at (dx, dy) and keeps *radius2. Returns 0 when the cell is finished:
 * empty, or *status says overflow. */
CVTM_HD int cvtm_cell_clip_site(double dx, double dy, int32_t other, const cvtm_cell_origin *o,
                                cvtm_cell *cell, double *radius2, cvtm_cell_status *status) {
  if (other == o->index) return 1;
  if (dx == 0 && dy == 0) {
    if (other > o->index) return 1;
    cell->count = 0;
    return 0;
  }
  switch (cvtm_corners_clip_bisector(dx, dy, other, cell->capacity, &cell->count, cell->x, cell->y,
                                     cell->neighbor)) {
    case CVTM_CLIP_NONE:
      return 1;
    case CVTM_CLIP_CUT:
      *radius2 = cvtm_corners_radius2(cell->count, cell->x, cell->y);
      return 1;
    case CVTM_CLIP_EMPTY:
      return 0;
    case CVTM_CLIP_OVERFLOW:
    default:
      *status = CVTM_CELL_OVERFLOW;
      return 0;
  }
}

/* Position of a sorted site as the cell sees it. */
CVTM_HD void cvtm_cell_relative_site(const cvtm_site_tree_view *tree, int64_t place,
                                     const cvtm_cell_origin *o, double *dx, double *dy) {
  *dx = (tree->position[2 * place] - o->shift_x) - o->x;
  *dy = (tree->position[2 * place + 1] - o->shift_y) - o->y;
}

/* The sites to begin with, nearest first: they leave a cell so small that few others
 * need a look. */
enum { CVTM_CELL_FIRST = 6 };
typedef struct cvtm_cell_nearest {
  int32_t count;
  double distance2[CVTM_CELL_FIRST];
  int32_t place[CVTM_CELL_FIRST];
} cvtm_cell_nearest;

CVTM_HD void cvtm_cell_nearest_add(cvtm_cell_nearest *list, double distance2, int32_t place) {
  int32_t k = list->count;
  if (k < CVTM_CELL_FIRST) {
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

/* Finds them, those that coincide with the cell's own left out. Returns 0 if one of these has a
 * lower index: then it owns the cell. */
CVTM_HD int cvtm_cell_find_nearest(const cvtm_site_tree_view *tree, const cvtm_cell_origin *o,
                                   cvtm_cell_nearest *list) {
  int32_t stack[CVTM_TREE_STACK];
  double stack_distance2[CVTM_TREE_STACK];
  int top = 0;
  int64_t node = 1;
  double distance2 = 0;
  list->count = 0;
  for (;;) {
    if (list->count < CVTM_CELL_FIRST || distance2 < list->distance2[CVTM_CELL_FIRST - 1]) {
      if (node < tree->leaf_count) {
        const cvtm_cell_box left = cvtm_cell_relative_box(tree, 2 * node, o);
        const cvtm_cell_box right = cvtm_cell_relative_box(tree, 2 * node + 1, o);
        const double left2 = cvtm_cell_box_distance2(&left, 0, 0);
        const double right2 = cvtm_cell_box_distance2(&right, 0, 0);
        const int nearer_left = left2 <= right2;
        stack[top] = (int32_t)(2 * node + nearer_left);
        stack_distance2[top++] = nearer_left ? right2 : left2;
        node = 2 * node + !nearer_left;
        distance2 = nearer_left ? left2 : right2;
        continue;
      }
      const int64_t first = (node - tree->leaf_count) * CVTM_TREE_LEAF;
      const int64_t last =
          first + CVTM_TREE_LEAF < tree->count ? first + CVTM_TREE_LEAF : tree->count;
      for (int64_t place = first; place < last; ++place) {
        double dx, dy;
        cvtm_cell_relative_site(tree, place, o, &dx, &dy);
        const double d2 = dx * dx + dy * dy;
        if (d2 > 0) {
          cvtm_cell_nearest_add(list, d2, (int32_t)place);
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

/* Clips by the sites of one leaf that are near enough. */
CVTM_HD int cvtm_cell_clip_leaf(const cvtm_site_tree_view *tree, int64_t leaf,
                                const cvtm_cell_origin *o, cvtm_cell *cell, double *radius2,
                                cvtm_cell_status *status) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  const int64_t last = first + CVTM_TREE_LEAF < tree->count ? first + CVTM_TREE_LEAF : tree->count;
  for (int64_t place = first; place < last; ++place) {
    double dx, dy;
    cvtm_cell_relative_site(tree, place, o, &dx, &dy);
    if (dx * dx + dy * dy >= 4 * *radius2) continue;
    if (!cvtm_cell_clip_site(dx, dy, tree->index[place], o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* Clips by all sites: depth first, the nearer child before the other. */
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
    while (node < tree->leaf_count) {
      const cvtm_cell_box left = cvtm_cell_relative_box(tree, 2 * node, o);
      const cvtm_cell_box right = cvtm_cell_relative_box(tree, 2 * node + 1, o);
      const double left2 = cvtm_cell_box_distance2(&left, 0, 0);
      const double right2 = cvtm_cell_box_distance2(&right, 0, 0);
      const double far2 = left2 <= right2 ? right2 : left2;
      if (far2 < 4 * *radius2) stack[top++] = (int32_t)(2 * node + (left2 <= right2));
      node = 2 * node + !(left2 <= right2);
    }
    box = cvtm_cell_relative_box(tree, node, o);
    distance2 = cvtm_cell_box_distance2(&box, 0, 0);
    if (!cvtm_cell_box_cuts(cell, *radius2, &box, distance2)) continue;
    if (!cvtm_cell_clip_leaf(tree, node - tree->leaf_count, o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* Clips the rectangle [x0, x1] x [y0, y1] about the site by all sites; of those on a
 * torus only the images one period away can reach it. */
CVTM_HD cvtm_cell_status cvtm_cell_cut_out(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                           const cvtm_cell_box *start, cvtm_cell_origin *o,
                                           cvtm_cell *cell, double *radius2) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_corners_rectangle(start->x0, start->y0, start->x1, start->y1, &cell->count, cell->x, cell->y,
                         cell->neighbor);
  *radius2 = cvtm_corners_radius2(cell->count, cell->x, cell->y);
  o->shift_x = 0;
  o->shift_y = 0;
  cvtm_cell_nearest list;
  if (!cvtm_cell_find_nearest(tree, o, &list)) {
    cell->count = 0;
    return status;
  }
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

/* The cell of the site at a sorted place. Corners carry the rounding of the largest
 * polygon on the way, so a cell very much smaller than the domain is cut out a second
 * time, from a square that just holds it. */
CVTM_HD cvtm_cell_status cvtm_cell_compute(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                           int64_t place, cvtm_cell *cell) {
  const double width = (double)domain.width, height = (double)domain.height;
  cvtm_cell_origin o;
  o.x = tree->position[2 * place];
  o.y = tree->position[2 * place + 1];
  o.index = tree->index[place];
  cvtm_cell_box start;
  start.x0 = domain.periodic ? -0.5 * width : -o.x;
  start.y0 = domain.periodic ? -0.5 * height : -o.y;
  start.x1 = domain.periodic ? 0.5 * width : width - o.x;
  start.y1 = domain.periodic ? 0.5 * height : height - o.y;
  double radius2 = 0;
  const cvtm_cell_status status = cvtm_cell_cut_out(tree, domain, &start, &o, cell, &radius2);
  if (status != CVTM_CELL_DONE || cell->count == 0) return status;
  const double reach = 2 * sqrt(radius2);
  const double size = width > height ? width : height;
  if (reach > 1e-3 * size) return status;
  if (start.x0 < -reach) start.x0 = -reach;
  if (start.y0 < -reach) start.y0 = -reach;
  if (start.x1 > reach) start.x1 = reach;
  if (start.y1 > reach) start.y1 = reach;
  if (!(start.x0 < start.x1 && start.y0 < start.y1)) return status;
  return cvtm_cell_cut_out(tree, domain, &start, &o, cell, &radius2);
}

#endif
