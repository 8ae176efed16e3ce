/* The power cell of a weighted site: the points of the domain where |x - x_i|^2 - w_i is least
 * (Aurenhammer 1987). With equal weights it is the Voronoi cell. A cell need not contain its site,
 * and may be empty. The rectangle of the domain is clipped by the sites of the tree. A subtree is
 * skipped if a site of its largest weight, anywhere in its box, would cut off no corner of the
 * cell. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "base/geometry.h"
#include "cvt/density_row.h"
#include "cvt/rings.h"
#include "jfa/cell_by_tree.h"

/* A tree with the weights of its sites. If slot_of is not NULL, site i has the neighbours
 * hint[hint_first[i]] .. hint[hint_first[i] + hint_degree[i] - 1] (the caller's indices) in a
 * similar diagram. */
typedef struct cvtm_power_view {
  cvtm_site_tree_view tree;
  const double *weight;     /* by slot */
  const double *max_weight; /* per node of the tree: the largest weight below it */
  const int32_t *slot_of;   /* the sorted index ("slot") of the caller's site i */
  const int32_t *hint_first, *hint_degree, *hint;
} cvtm_power_view;

/* A polygon of stride 1. other[k]: the cvtm_power_label of the site across the edge from corner k
 * to the next corner, or CVTM_POLYGON_BORDER. */
typedef struct cvtm_power_cell {
  cvtm_cell polygon;
  int32_t *other;
} cvtm_power_cell;

/* Sets the largest weight of a leaf. */
CVTM_HD void cvtm_power_max_of_leaf(const double *weight, int64_t count, int64_t leaf_count,
                                    int64_t leaf, double *max_weight) {
  const int64_t first = leaf * CVTM_TREE_LEAF;
  double most = -HUGE_VAL;
  for (int64_t slot = first; slot < first + CVTM_TREE_LEAF && slot < count; ++slot)
    if (weight[slot] > most) most = weight[slot];
  max_weight[leaf_count + leaf] = most;
}

CVTM_HD void cvtm_power_max_of_node(int64_t node, double *max_weight) {
  const double left = max_weight[2 * node], right = max_weight[2 * node + 1];
  max_weight[node] = left > right ? left : right;
}

/* Sets the largest weights of all nodes, on the host; max_weight: 2 * leaf_count. */
static inline void cvtm_power_set_max_weights(const double *weight, int64_t count,
                                              int64_t leaf_count, double *max_weight) {
  for (int64_t leaf = 0; leaf < leaf_count; ++leaf)
    cvtm_power_max_of_leaf(weight, count, leaf_count, leaf, max_weight);
  for (int64_t node = leaf_count - 1; node >= 1; --node) cvtm_power_max_of_node(node, max_weight);
}

/* Encodes in one number the site at a slot, and which of its 9 periodic images the shift of the
 * origin selects. There are fewer than 2^31 / 9 slots. */
CVTM_HD int32_t cvtm_power_label(int64_t slot, const cvtm_cell_origin *o) {
  const int32_t ix = (o->shift_x > 0) - (o->shift_x < 0) + 1;
  const int32_t iy = (o->shift_y > 0) - (o->shift_y < 0) + 1;
  return (int32_t)slot * 9 + iy * 3 + ix;
}

CVTM_HD int32_t cvtm_power_slot(int32_t label) { return label / 9; }

CVTM_HD void cvtm_power_shift_to(cvtm_domain domain, int32_t image, cvtm_cell_origin *o) {
  o->shift_x = (image % 3 - 1) * (double)domain.width;
  o->shift_y = (image / 3 - 1) * (double)domain.height;
}

/* --- searching the tree ---------------------------------------------------------------- */

/* The box of a node, relative to the site. */
CVTM_HD cvtm_cell_box cvtm_power_relative_box(const cvtm_site_tree_view *tree, int64_t node,
                                              const cvtm_cell_origin *o) {
  const double *box = tree->box + 4 * node;
  cvtm_cell_box relative;
  relative.x0 = (box[0] - o->shift_x) - o->x;
  relative.y0 = (box[1] - o->shift_y) - o->y;
  relative.x1 = (box[2] - o->shift_x) - o->x;
  relative.y1 = (box[3] - o->shift_y) - o->y;
  return relative;
}

/* True if no site j at a squared distance of distance2 or more can cut the cell of site i, which
 * lies in a circle of radius R = sqrt(radius2) about site i; w_i - w_j >= difference. With the
 * origin at site i, the cell is not cut if |x_j| R <= (|x_j|^2 + w_i - w_j) / 2. */
CVTM_HD int cvtm_power_too_far(double distance2, double difference, double radius2) {
  const double offset = distance2 + difference;
  return distance2 >= radius2 && offset > 0 && offset * offset > 4.000001 * distance2 * radius2;
}

/* False if no site in the box, of weight at most `max_weight`, can cut the cell of a site of weight
 * `weight`. radius2: the squared distance of the cell's farthest corner from its site. */
CVTM_HD int cvtm_power_box_cuts(const cvtm_cell *cell, double radius2, const cvtm_cell_box *box,
                                double max_weight, double weight) {
  const double difference = weight - max_weight;
  if (cvtm_power_too_far(cvtm_cell_box_distance2(box, 0, 0), difference, radius2)) return 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k], y = cell->y[k];
    if (cvtm_cell_box_distance2(box, x, y) + difference < x * x + y * y) return 1;
  }
  return 0;
}

/* Clips by the site at a slot. Returns 0 if the cell is empty or *status is CVTM_CELL_OVERFLOW. Of
 * coincident sites the site of largest weight owns the cell; if the weights are equal, the site at
 * the first slot, which has the lowest index. */
CVTM_HD int cvtm_power_clip_site(const cvtm_power_view *view, int64_t slot,
                                 const cvtm_cell_origin *o, cvtm_power_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  double dx, dy;
  cvtm_cell_relative_site(&view->tree, slot, o, &dx, &dy);
  const double difference = view->weight[o->slot] - view->weight[slot];
  if (dx == 0 && dy == 0) {
    if (difference > 0 || (difference == 0 && slot >= o->slot)) return 1;
    cell->polygon.count = 0;
    return 0;
  }
  const double distance2 = dx * dx + dy * dy, offset = 0.5 * (distance2 + difference);
  if (cvtm_power_too_far(distance2, difference, *radius2)) return 1;
  cvtm_corners corners = {cell->polygon.count, cell->polygon.capacity, 1,
                          cell->polygon.x,     cell->polygon.y,        cell->other};
  int32_t at = 0;
  const cvtm_clip cut = cvtm_corners_clip(&corners, dx, dy, offset, cvtm_power_label(slot, o), &at);
  cell->polygon.count = corners.count;
  if (cut == CVTM_CLIP_OVERFLOW) *status = CVTM_CELL_OVERFLOW;
  if (cut == CVTM_CLIP_OVERFLOW || cut == CVTM_CLIP_EMPTY) return 0;
  if (cut == CVTM_CLIP_CUT) *radius2 = cvtm_cell_radius2(&cell->polygon);
  return 1;
}

/* The slots of the sites by which a cell has been clipped. A second clip by a site could leave
 * slivers, by rounding errors. */
enum { CVTM_POWER_CLIPPED = 12 };
typedef struct cvtm_power_clipped {
  int32_t count, slot[CVTM_POWER_CLIPPED];
} cvtm_power_clipped;

/* Clips by the sites of one leaf; returns 0 as cvtm_power_clip_site does. */
CVTM_HD int cvtm_power_clip_leaf(const cvtm_power_view *view, int64_t leaf,
                                 const cvtm_cell_origin *o, const cvtm_power_clipped *clipped,
                                 cvtm_power_cell *cell, double *radius2, cvtm_cell_status *status) {
  const int64_t first = leaf * CVTM_TREE_LEAF, count = view->tree.count;
  const int64_t last = first + CVTM_TREE_LEAF < count ? first + CVTM_TREE_LEAF : count;
  for (int64_t slot = first; slot < last; ++slot) {
    int is_clipped = 0;
    for (int32_t k = 0; k < clipped->count; ++k) is_clipped |= clipped->slot[k] == slot;
    if (!is_clipped && !cvtm_power_clip_site(view, slot, o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* Finds the sites that clip first, so that few other sites can still cut the cell: the hints, or
 * without hints the nearest sites. */
CVTM_HD void cvtm_power_find_candidates(const cvtm_power_view *view, cvtm_domain domain,
                                        const cvtm_cell_origin *o, cvtm_power_clipped *clipped) {
  clipped->count = 0;
  if (view->slot_of && view->hint_degree[o->index] > 0) {
    const int32_t first = view->hint_first[o->index], degree = view->hint_degree[o->index];
    for (int32_t k = 0; k < degree && clipped->count < CVTM_POWER_CLIPPED; ++k) {
      const int32_t i = view->hint[first + k];
      if (i != o->index) clipped->slot[clipped->count++] = view->slot_of[i];
    }
    return;
  }
  cvtm_nearest_list nearest;
  (void)cvtm_cell_nearest_sites(&view->tree, domain, o, &nearest);
  for (int32_t k = 0; k < nearest.count; ++k) clipped->slot[clipped->count++] = nearest.slot[k];
}

/* Clips by the sites below a node. Returns 0 as cvtm_power_clip_site does. */
CVTM_HD int cvtm_power_clip_subtree(const cvtm_power_view *view, int64_t root,
                                    const cvtm_cell_origin *o, const cvtm_power_clipped *clipped,
                                    cvtm_power_cell *cell, double *radius2,
                                    cvtm_cell_status *status) {
  const cvtm_site_tree_view *tree = &view->tree;
  const double weight = view->weight[o->slot];
  int32_t stack[CVTM_TREE_STACK];
  int top = 0;
  stack[top++] = (int32_t)root;
  while (top > 0) {
    const int64_t node = stack[--top];
    const cvtm_cell_box box = cvtm_power_relative_box(tree, node, o);
    if (!cvtm_power_box_cuts(&cell->polygon, *radius2, &box, view->max_weight[node], weight))
      continue;
    if (node < tree->leaf_count) {
      stack[top++] = (int32_t)(2 * node + 1);
      stack[top++] = (int32_t)(2 * node);
    } else if (!cvtm_power_clip_leaf(view, node - tree->leaf_count, o, clipped, cell, radius2,
                                     status)) {
      return 0;
    }
  }
  return 1;
}

/* Clips by all sites, shifted by the shift of the origin. Without a shift the leaf of the site
 * comes first, then ever larger subtrees beside it. Returns 0 as cvtm_power_clip_site does. */
CVTM_HD int cvtm_power_clip_tree(const cvtm_power_view *view, const cvtm_cell_origin *o,
                                 const cvtm_power_clipped *clipped, cvtm_power_cell *cell,
                                 double *radius2, cvtm_cell_status *status) {
  if (o->shift_x != 0 || o->shift_y != 0)
    return cvtm_power_clip_subtree(view, 1, o, clipped, cell, radius2, status);
  const int64_t leaf = o->slot / CVTM_TREE_LEAF;
  if (!cvtm_power_clip_leaf(view, leaf, o, clipped, cell, radius2, status)) return 0;
  for (int64_t node = view->tree.leaf_count + leaf; node > 1; node /= 2)
    if (!cvtm_power_clip_subtree(view, node ^ 1, o, clipped, cell, radius2, status)) return 0;
  return 1;
}

/* Clips the rectangle by the candidates, and lists the candidates in *clipped. Returns 0 as
 * cvtm_power_clip_site does. */
CVTM_HD int cvtm_power_begin_cell(const cvtm_power_view *view, cvtm_domain domain,
                                  const cvtm_cell_box *start, const cvtm_cell_origin *o,
                                  cvtm_power_clipped *clipped, cvtm_power_cell *cell,
                                  double *radius2, cvtm_cell_status *status) {
  cvtm_corners_rectangle(start->x0, start->y0, start->x1, start->y1, &cell->polygon.count,
                         cell->polygon.x, cell->polygon.y, cell->other);
  *radius2 = cvtm_cell_radius2(&cell->polygon);
  cvtm_power_find_candidates(view, domain, o, clipped);
  for (int32_t k = 0; k < clipped->count; ++k)
    if (!cvtm_power_clip_site(view, clipped->slot[k], o, cell, radius2, status)) return 0;
  return 1;
}

/* Clips the rectangle by all sites, on a torus also by the images of the sites one period away. */
CVTM_HD cvtm_cell_status cvtm_power_cut_from(const cvtm_power_view *view, cvtm_domain domain,
                                             const cvtm_cell_box *start, cvtm_cell_origin *o,
                                             cvtm_power_cell *cell) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_power_clipped clipped;
  double radius2;
  o->shift_x = o->shift_y = 0;
  if (!cvtm_power_begin_cell(view, domain, start, o, &clipped, cell, &radius2, &status))
    return status;
  for (int round = 0; round < (domain.periodic ? 9 : 1); ++round) {
    cvtm_power_shift_to(domain, (round + 4) % 9, o); /* the sites, then their images */
    if (!cvtm_power_clip_tree(view, o, &clipped, cell, &radius2, &status)) break;
    clipped.count = 0;
  }
  return status;
}

/* --- kept cells (rings.h) ------------------------------------------------------------------ */

enum {
  CVTM_POWER_RING = 16, /* neighbours, at most */
  CVTM_POWER_NOT_AROUND = 1 << CVTM_POWER_RING
};

/* A bisector: the points p, relative to the cell's site, where (x, y) . p = offset. */
typedef struct cvtm_power_line {
  double x, y, offset;
} cvtm_power_line;

CVTM_HD cvtm_ring cvtm_power_hints_of(const cvtm_power_view *view, int32_t i) {
  const cvtm_ring row = {view->hint + view->hint_first[i], view->hint_degree[i]};
  return row;
}

CVTM_HD cvtm_power_line cvtm_power_bisector(const cvtm_power_view *view, const cvtm_cell_origin *o,
                                            int32_t other) {
  cvtm_power_line line;
  cvtm_cell_relative_site(&view->tree, other, o, &line.x, &line.y);
  line.offset =
      0.5 * (line.x * line.x + line.y * line.y + view->weight[o->slot] - view->weight[other]);
  return line;
}

/* True if a line has an edge between the corners (ax, ay) and (bx, by): the polygon turns by less
 * than half a circle where the next line follows, and the edge is longer than 0 and begins inside
 * the domain. */
CVTM_HD int cvtm_power_has_edge(const cvtm_cell_box *domain, const cvtm_power_line *line,
                                const cvtm_power_line *next, double ax, double ay, double bx,
                                double by) {
  const double turn = line->y * next->x - line->x * next->y;
  const double length = (bx - ax) * line->y - (by - ay) * line->x;
  return turn > 0 && length > 0 && ax > domain->x0 && ax < domain->x1 && ay > domain->y0 &&
         ay < domain->y1;
}

/* Sets the polygon whose edge k is on the bisector with neighbour k of the ring `row`, which has 3
 * to CVTM_POWER_RING neighbours. Corner k is (x[k * stride], y[k * stride]). Returns the sum of 2^k
 * over the edges that are missing, plus CVTM_POWER_NOT_AROUND if the neighbours do not go around
 * the site exactly once. */
CVTM_HD uint32_t cvtm_power_set_by_ring(const cvtm_power_view *view, cvtm_domain domain,
                                        int64_t slot, cvtm_ring row, double *x, double *y,
                                        int32_t *other, int64_t stride) {
  cvtm_cell_box box;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, slot, &box);
  o.shift_x = o.shift_y = 0;
  cvtm_power_line line = cvtm_power_bisector(view, &o, view->slot_of[row.site[row.count - 2]]);
  double ax = 0, ay = 0;
  uint32_t missing = 0;
  int32_t turns = 0;
  for (int32_t k = -1; k < row.count; ++k) {
    const int32_t last = k > 0 ? k - 1 : row.count - 1;
    const int32_t at = view->slot_of[row.site[k < 0 ? row.count - 1 : k]];
    const cvtm_power_line next = cvtm_power_bisector(view, &o, at);
    const double scale = CVTM_CORNER_SCALE(line.x, line.y, next.x, next.y);
    const double bx = CVTM_CORNER_X(line.y, line.offset, next.y, next.offset, scale);
    const double by = CVTM_CORNER_Y(line.x, line.offset, next.x, next.offset, scale);
    if (k >= 0) {
      if (!cvtm_power_has_edge(&box, &line, &next, ax, ay, bx, by)) missing |= 1U << last;
      turns += line.x < 0 && next.x >= 0;
      x[k * stride] = bx;
      y[k * stride] = by;
      other[k * stride] = cvtm_power_label(at, &o);
    }
    line = next;
    ax = bx;
    ay = by;
  }
  return turns == 1 ? missing : missing | CVTM_POWER_NOT_AROUND;
}

/* --- edges ----------------------------------------------------------------------------- */

/* The mean of the density along a segment, and the mean of the density times t, where t goes from
 * -1/2 to 1/2. */
typedef struct cvtm_power_mean {
  double density, moment;
} cvtm_power_mean;

/* Computes the means along the segment from (ax, ay) to (bx, by), pixel by pixel. */
CVTM_HD cvtm_power_mean cvtm_power_mean_along(const cvtm_density_view *density, double ax,
                                              double ay, double bx, double by) {
  const double dx = bx - ax, dy = by - ay;
  const double inverse_x = 1 / dx, inverse_y = 1 / dy;
  const int32_t step_x = dx > 0 ? 1 : -1, step_y = dy > 0 ? 1 : -1;
  int32_t column = cvtm_cell_floor(ax), row = cvtm_cell_floor(ay);
  double t = 0, sum = 0, first = 0;
  for (;;) {
    const double next_x = dx != 0 ? ((double)(column + (dx > 0)) - ax) * inverse_x : HUGE_VAL;
    const double next_y = dy != 0 ? ((double)(row + (dy > 0)) - ay) * inverse_y : HUGE_VAL;
    const double next = next_x < next_y ? next_x : next_y;
    const double end = next < 1 ? next : 1;
    if (end > t) {
      const int32_t k = cvtm_cell_pixel((double)column, density->width, density->periodic);
      const int32_t j = cvtm_cell_pixel((double)row, density->height, density->periodic);
      const double part = (end - t) * cvtm_density_at(cvtm_density_row(density, j), k, density);
      sum += part;
      first += 0.5 * part * (t + end - 1);
      t = end;
    }
    if (!(next < 1)) break;
    if (next_x <= next) column += step_x;
    if (next_y <= next) row += step_y;
  }
  const cvtm_power_mean mean = {sum, first};
  return mean;
}

/* The coupling of two cells: the mass that crosses the common edge per change of a weight, that is,
 * the integral of rho / (2 |x_i - x_j|) (Kitagawa, Merigot & Thibert 2019, theorem 1.3). A constant
 * density of `regularisation` times the mass per cell is added, so that cells are also coupled
 * where the density is 0. */
CVTM_HD double cvtm_power_coupling(double mean, double length, double distance, double mass,
                                   double regularisation) {
  const double wide = length > distance ? length : distance;
  return (mean / (2 * distance) + regularisation * mass / (3 * wide * wide * distance)) * length;
}

/* An edge of a cell: the caller's index of the site across, the coupling, and the offset of the
 * edge's centre of mass from the site of the cell and from the site across. Where the density is 0
 * the midpoint of the edge is used instead of the centre of mass. */
typedef struct cvtm_power_edge {
  int32_t index; /* -1: none */
  double coupling;
  double offset[4]; /* x, y from the cell's site; x, y from the site across */
} cvtm_power_edge;

/* Describes edge k of a cell that is not empty, from corner k to the next. known: the means along
 * the edge; NULL: the function computes the means. */
CVTM_HD cvtm_power_edge cvtm_power_edge_of(const cvtm_power_view *view, cvtm_domain domain,
                                           const cvtm_density_view *density, int64_t slot,
                                           const cvtm_power_cell *cell, int32_t k,
                                           const cvtm_power_mean *known, double mass,
                                           double regularisation) {
  const cvtm_cell *polygon = &cell->polygon;
  const int32_t next = k + 1 < polygon->count ? k + 1 : 0, label = cell->other[k];
  const int32_t other = label < 0 ? -1 : cvtm_power_slot(label);
  const double ax = polygon->x[k], ay = polygon->y[k];
  const double bx = polygon->x[next], by = polygon->y[next];
  const double ex = bx - ax, ey = by - ay;
  const double length = sqrt(ex * ex + ey * ey);
  cvtm_power_edge edge = {-1, 0, {0, 0, 0, 0}};
  if (other < 0 || other == slot || !(length > 0)) return edge;
  cvtm_cell_box unused;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, slot, &unused);
  double dx, dy;
  cvtm_power_shift_to(domain, label % 9, &o);
  cvtm_cell_relative_site(&view->tree, other, &o, &dx, &dy);
  const cvtm_power_mean mean =
      known ? *known : cvtm_power_mean_along(density, o.x + ax, o.y + ay, o.x + bx, o.y + by);
  const double t = 0.5 + (mean.density > 0 ? mean.moment / mean.density : 0);
  edge.index = view->tree.index[other];
  edge.coupling =
      cvtm_power_coupling(mean.density, length, sqrt(dx * dx + dy * dy), mass, regularisation);
  edge.offset[0] = ax + t * ex;
  edge.offset[1] = ay + t * ey;
  edge.offset[2] = edge.offset[0] - dx;
  edge.offset[3] = edge.offset[1] - dy;
  return edge;
}
