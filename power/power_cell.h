/* The power cell of a weighted site: where |x - x_i|^2 - w_i is least (Aurenhammer 1987), inside
 * the domain. With all weights equal it is the Voronoi cell. A cell need not hold its own site,
 * and may be empty. It is cut out of the domain's rectangle by the sites that the box tree
 * offers; a subtree is skipped when, with its largest weight, no corner of the cell is nearer to
 * its box than to the site. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_POWER_POWER_CELL_H
#define CVTMESH_POWER_POWER_CELL_H

#include "base/polygon.h"
#include "cvt/cell_integral.h"

/* A tree with the weights of its sites. The hints, if place_of is not NULL, are the neighbours of
 * each cell in a similar diagram, by the caller's numbers: hint[hint_first[i]] and so on. */
typedef struct cvtm_power_view {
  cvtm_site_tree_view tree;
  const double *weight;    /* in sorted order */
  const double *heaviest;  /* per node of the tree: the largest weight below it */
  const int32_t *place_of; /* the sorted place of the caller's site i */
  const int32_t *hint_first, *hint_degree, *hint;
} cvtm_power_view;

/* A polygon, its stride 1, and what lies across its edges: other[k], across the edge from corner
 * k to the next, is cvtm_power_label of a site or CVTM_POLYGON_BORDER. */
typedef struct cvtm_power_cell {
  cvtm_cell polygon;
  int32_t *other;
} cvtm_power_cell;

/* Leaf l of the tree: its largest weight. */
CVTM_HD void cvtm_power_weigh_leaf(const double *weight, int64_t count, int64_t leaf_count,
                                   int64_t leaf, double *heaviest) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  double most = -HUGE_VAL;
  for (int64_t place = first; place < first + CVTM_TREE_LEAF && place < count; ++place)
    if (weight[place] > most) most = weight[place];
  heaviest[leaf_count + leaf] = most;
}

CVTM_HD void cvtm_power_weigh_node(int64_t node, double *heaviest) {
  const double left = heaviest[2 * node], right = heaviest[2 * node + 1];
  heaviest[node] = left > right ? left : right;
}

/* All of them on the host, in order; heaviest has room for 2 * leaf_count. */
static inline void cvtm_power_weigh(const double *weight, int64_t count, int64_t leaf_count,
                                    double *heaviest) {
  for (int64_t leaf = 0; leaf < leaf_count; ++leaf)
    cvtm_power_weigh_leaf(weight, count, leaf_count, leaf, heaviest);
  for (int64_t node = leaf_count - 1; node >= 1; --node) cvtm_power_weigh_node(node, heaviest);
}

/* The site at a sorted place, in the image of it that the origin sees, as one number: places are
 * fewer than 2^31 / 9. */
CVTM_HD int32_t cvtm_power_label(int64_t place, const cvtm_cell_origin *o) {
  const int32_t ix = (o->shift_x > 0) - (o->shift_x < 0) + 1;
  const int32_t iy = (o->shift_y > 0) - (o->shift_y < 0) + 1;
  return (int32_t)place * 9 + iy * 3 + ix;
}

CVTM_HD int32_t cvtm_power_place(int32_t label) { return label / 9; }

CVTM_HD void cvtm_power_shift_to(cvtm_domain domain, int32_t image, cvtm_cell_origin *o) {
  o->shift_x = (image % 3 - 1) * (double)domain.width;
  o->shift_y = (image / 3 - 1) * (double)domain.height;
}

/* --- searching the tree ---------------------------------------------------------------- */

/* Sites at a squared distance of distance2 or more, no heavier than by -lighter, cannot cut a cell
 * inside a circle about its site: |x_j| R <= (|x_j|^2 + w_i - w_j) / 2 holds there and beyond. */
CVTM_HD int cvtm_power_too_far(double distance2, double lighter, double radius2) {
  const double offset = distance2 + lighter;
  return distance2 >= radius2 && offset > 0 && offset * offset > 4.000001 * distance2 * radius2;
}

/* Can a site in the box, of at most `heaviest`, cut the cell of a site that weighs `weight`?
 * radius2: of its farthest corner. */
CVTM_HD int cvtm_power_box_cuts(const cvtm_cell *cell, double radius2, const cvtm_cell_box *box,
                                double heaviest, double weight) {
  const double lighter = weight - heaviest;
  if (cvtm_power_too_far(cvtm_cell_box_distance2(box, 0, 0), lighter, radius2)) return 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k], y = cell->y[k];
    if (cvtm_cell_box_distance2(box, x, y) + lighter < x * x + y * y) return 1;
  }
  return 0;
}

/* Clips by the site at a sorted place. Returns 0 when the cell is finished: empty, or *status says
 * overflow. Of coincident sites the heaviest owns the cell, of equal ones the first on the curve,
 * which has the lowest index. */
CVTM_HD int cvtm_power_clip_site(const cvtm_power_view *view, int64_t place,
                                 const cvtm_cell_origin *o, cvtm_power_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  double dx, dy;
  cvtm_cell_relative_site(&view->tree, place, o, &dx, &dy);
  const double lighter = view->weight[o->place] - view->weight[place];
  if (dx == 0 && dy == 0) {
    if (lighter > 0 || (lighter == 0 && place >= o->place)) return 1;
    cell->polygon.count = 0;
    return 0;
  }
  const double distance2 = dx * dx + dy * dy, offset = 0.5 * (distance2 + lighter);
  if (cvtm_power_too_far(distance2, lighter, *radius2)) return 1;
  const cvtm_clip cut =
      cvtm_corners_clip(dx, dy, offset, cvtm_power_label(place, o), cell->polygon.capacity,
                        &cell->polygon.count, cell->polygon.x, cell->polygon.y, cell->other);
  if (cut == CVTM_CLIP_OVERFLOW) *status = CVTM_CELL_OVERFLOW;
  if (cut == CVTM_CLIP_OVERFLOW || cut == CVTM_CLIP_EMPTY) return 0;
  if (cut == CVTM_CLIP_CUT) *radius2 = cvtm_cell_radius2(&cell->polygon);
  return 1;
}

/* Places of sites that have cut already: again they would leave slivers of rounding. */
enum { CVTM_POWER_KNOWN = 12 };
typedef struct cvtm_power_known {
  int32_t count, place[CVTM_POWER_KNOWN];
} cvtm_power_known;

/* Clips by the sites of one leaf. */
CVTM_HD int cvtm_power_clip_leaf(const cvtm_power_view *view, int64_t leaf,
                                 const cvtm_cell_origin *o, const cvtm_power_known *known,
                                 cvtm_power_cell *cell, double *radius2, cvtm_cell_status *status) {
  const int64_t first = leaf * CVTM_TREE_LEAF, count = view->tree.count;
  const int64_t last = first + CVTM_TREE_LEAF < count ? first + CVTM_TREE_LEAF : count;
  for (int64_t place = first; place < last; ++place) {
    int is_known = 0;
    for (int32_t k = 0; k < known->count; ++k) is_known |= known->place[k] == place;
    if (!is_known && !cvtm_power_clip_site(view, place, o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* The sites to begin with, which leave a cell so small that few others need a look: the hints, or
 * else the nearest ones. */
CVTM_HD void cvtm_power_find_first(const cvtm_power_view *view, const cvtm_cell_origin *o,
                                   cvtm_power_known *known) {
  known->count = 0;
  if (view->place_of && view->hint_degree[o->index] > 0) {
    const int32_t first = view->hint_first[o->index], degree = view->hint_degree[o->index];
    for (int32_t k = 0; k < degree && known->count < CVTM_POWER_KNOWN; ++k) {
      const int32_t i = view->hint[first + k];
      if (i != o->index) known->place[known->count++] = view->place_of[i];
    }
    return;
  }
  cvtm_nearest_list nearest;
  (void)cvtm_cell_nearest_sites(&view->tree, o, &nearest);
  for (int32_t k = 0; k < nearest.count; ++k) known->place[known->count++] = nearest.place[k];
}

/* Clips by all sites, shifted as the origin says: depth first, the nearer child first. */
CVTM_HD int cvtm_power_clip_tree(const cvtm_power_view *view, const cvtm_cell_origin *o,
                                 const cvtm_power_known *known, cvtm_power_cell *cell,
                                 double *radius2, cvtm_cell_status *status) {
  const cvtm_site_tree_view *tree = &view->tree;
  const double weight = view->weight[o->place];
  int32_t stack[CVTM_TREE_STACK];
  int top = 0;
  stack[top++] = 1;
  while (top > 0) {
    int64_t node = stack[--top];
    cvtm_cell_box box = cvtm_cell_relative_box(tree, node, o);
    if (!cvtm_power_box_cuts(&cell->polygon, *radius2, &box, view->heaviest[node], weight))
      continue;
    while (node < tree->leaf_count) {
      const cvtm_cell_box left = cvtm_cell_relative_box(tree, 2 * node, o);
      const cvtm_cell_box right = cvtm_cell_relative_box(tree, 2 * node + 1, o);
      const double left2 = cvtm_cell_box_distance2(&left, 0, 0) - view->heaviest[2 * node];
      const double right2 = cvtm_cell_box_distance2(&right, 0, 0) - view->heaviest[2 * node + 1];
      const int left_first = left2 <= right2;
      stack[top++] = (int32_t)(2 * node + left_first);
      node = 2 * node + !left_first;
    }
    box = cvtm_cell_relative_box(tree, node, o);
    if (!cvtm_power_box_cuts(&cell->polygon, *radius2, &box, view->heaviest[node], weight))
      continue;
    if (!cvtm_power_clip_leaf(view, node - tree->leaf_count, o, known, cell, radius2, status))
      return 0;
  }
  return 1;
}

/* The rectangle cut by the sites to begin with; returns 0 if the cell is finished. */
CVTM_HD int cvtm_power_begin_cell(const cvtm_power_view *view, const cvtm_cell_box *start,
                                  const cvtm_cell_origin *o, cvtm_power_known *known,
                                  cvtm_power_cell *cell, double *radius2,
                                  cvtm_cell_status *status) {
  cvtm_corners_rectangle(start->x0, start->y0, start->x1, start->y1, &cell->polygon.count,
                         cell->polygon.x, cell->polygon.y, cell->other);
  *radius2 = cvtm_cell_radius2(&cell->polygon);
  cvtm_power_find_first(view, o, known);
  for (int32_t k = 0; k < known->count; ++k)
    if (!cvtm_power_clip_site(view, known->place[k], o, cell, radius2, status)) return 0;
  return 1;
}

/* The rectangle cut by all sites; on a torus by their images one period away, too. */
CVTM_HD cvtm_cell_status cvtm_power_cut_from(const cvtm_power_view *view, cvtm_domain domain,
                                             const cvtm_cell_box *start, cvtm_cell_origin *o,
                                             cvtm_power_cell *cell) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_power_known known;
  double radius2;
  o->shift_x = o->shift_y = 0;
  if (!cvtm_power_begin_cell(view, start, o, &known, cell, &radius2, &status)) return status;
  for (int round = 0; round < (domain.periodic ? 9 : 1); ++round) {
    cvtm_power_shift_to(domain, (round + 4) % 9, o); /* the sites, then their images */
    if (!cvtm_power_clip_tree(view, o, &known, cell, &radius2, &status)) break;
    known.count = 0;
  }
  return status;
}

/* --- edges ----------------------------------------------------------------------------- */

/* The mean of the density along the segment from (ax, ay) to (bx, by), pixel by pixel. */
CVTM_HD double cvtm_power_mean_density(const cvtm_density_view *density, double ax, double ay,
                                       double bx, double by) {
  const double dx = bx - ax, dy = by - ay;
  const double inverse_x = 1 / dx, inverse_y = 1 / dy;
  const int32_t step_x = dx > 0 ? 1 : -1, step_y = dy > 0 ? 1 : -1;
  int32_t column = cvtm_cell_floor(ax), row = cvtm_cell_floor(ay);
  double t = 0, sum = 0;
  for (;;) {
    const double next_x = dx != 0 ? ((double)(column + (dx > 0)) - ax) * inverse_x : HUGE_VAL;
    const double next_y = dy != 0 ? ((double)(row + (dy > 0)) - ay) * inverse_y : HUGE_VAL;
    const double next = next_x < next_y ? next_x : next_y;
    const double end = next < 1 ? next : 1;
    if (end > t) {
      const int32_t k = cvtm_cell_pixel((double)column, density->width, density->periodic);
      const int32_t j = cvtm_cell_pixel((double)row, density->height, density->periodic);
      sum += (end - t) * cvtm_cell_rho(cvtm_cell_row(density, j), k, density);
      t = end;
    }
    if (!(next < 1)) return sum;
    if (next_x <= next) column += step_x;
    if (next_y <= next) row += step_y;
  }
}

/* What couples two cells: the mass that passes from one to the other across their common edge
 * when a weight grows by one, integral of rho / (2 |x_i - x_j|) (Kitagawa, Merigot & Thibert
 * 2019, theorem 1.3). bridge * a cell's mass, spread evenly, is added to the density, so that
 * cells are coupled across places without any. */
CVTM_HD double cvtm_power_coupling(double mean, double length, double distance, double mass,
                                   double bridge) {
  const double wide = length > distance ? length : distance;
  return (mean / (2 * distance) + bridge * mass / (3 * wide * wide * distance)) * length;
}

/* What lies across an edge: the site by the caller's number, its coupling, and the way to the
 * middle of the edge from the cell's site and from that one. */
typedef struct cvtm_power_link {
  int32_t index; /* -1: nothing */
  double coupling;
  double arm[4]; /* x, y from the cell's site; x, y from the other */
} cvtm_power_link;

/* Edge k of a cell that is not empty. */
CVTM_HD cvtm_power_link cvtm_power_edge(const cvtm_power_view *view, cvtm_domain domain,
                                        const cvtm_density_view *density, int64_t place,
                                        const cvtm_power_cell *cell, int32_t k, double mass,
                                        double bridge) {
  const cvtm_cell *polygon = &cell->polygon;
  const int32_t next = k + 1 < polygon->count ? k + 1 : 0, label = cell->other[k];
  const int32_t other = label < 0 ? -1 : cvtm_power_place(label);
  const double ax = polygon->x[k], ay = polygon->y[k];
  const double bx = polygon->x[next], by = polygon->y[next];
  const double ex = bx - ax, ey = by - ay;
  const double length = sqrt(ex * ex + ey * ey);
  cvtm_power_link link = {-1, 0, {0.5 * (ax + bx), 0.5 * (ay + by), 0, 0}};
  if (other < 0 || other == place || !(length > 0)) return link;
  cvtm_cell_box unused;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, place, &unused);
  double dx, dy;
  cvtm_power_shift_to(domain, label % 9, &o);
  cvtm_cell_relative_site(&view->tree, other, &o, &dx, &dy);
  const double mean = cvtm_power_mean_density(density, o.x + ax, o.y + ay, o.x + bx, o.y + by);
  link.index = view->tree.index[other];
  link.coupling = cvtm_power_coupling(mean, length, sqrt(dx * dx + dy * dy), mass, bridge);
  link.arm[2] = link.arm[0] - dx;
  link.arm[3] = link.arm[1] - dy;
  return link;
}

#endif
