/* Tree clipping (see cell.h): cuts the rectangle of the domain by the bisectors with the sites of
 * squares of the Morton curve. Clusters and empty regions take little time. Compiles as C11 and
 * inside CUDA kernels. */
#pragma once

#include "jfa/cell.h"

/* --- squares ---------------------------------------------------------------------------------- */

/* The squares of the Morton curve are a binary tree over the sites of a site tree. Square 1 is the
 * Morton square. Squares 2 k and 2 k + 1 are the halves of square k, divided along y and x in turn,
 * so that "squares" of every second level are twice as wide as high. The sites of a square have
 * consecutive slots.
 *
 * The squares that a search visits, and their order, depend only on the sites near the cell. So a
 * tree that lacks distant sites (cvtm_tree_cover) gives the same bits. The boxes of the tree are
 * tighter, but the box of a node depends on all sites below the node. */

enum { CVTM_SQUARE_DEPTH = 2 * CVTM_TREE_DEPTH /* depth of the smallest squares */ };

CVTM_HD int cvtm_square_depth(uint64_t square) { return 63 - cvtm_leading_zeros(square); }

/* The code of the first step of the curve in a square. */
CVTM_HD uint64_t cvtm_square_code(uint64_t square) {
  const int depth = cvtm_square_depth(square);
  return depth == 0 ? 0 : square << (64 - depth);
}

/* The slots first .. last - 1 of the sites of a square. */
CVTM_HD void cvtm_square_slots(const cvtm_site_tree_view *tree, cvtm_domain domain, uint64_t square,
                               int32_t *first, int32_t *last) {
  const int depth = cvtm_square_depth(square), deeper = depth - 2 * tree->levels;
  const uint64_t bin = deeper > 0 ? (square >> deeper) - (UINT64_C(1) << 2 * tree->levels)
                                  : (square - (UINT64_C(1) << depth)) << -deeper;
  *first = tree->start[bin];
  *last = tree->start[deeper > 0 ? bin + 1 : bin + (UINT64_C(1) << -deeper)];
  if (deeper <= 0 || *first == *last) return;
  const uint64_t code = cvtm_square_code(square), next = code + (UINT64_C(1) << (64 - depth));
  *first = cvtm_first_with_code(tree, domain, code, *first, *last, *first);
  if (next != 0) *last = cvtm_first_with_code(tree, domain, next, *first, *last, *first);
}

/* The interval that contains the sites of a square along an axis, where the square has the steps
 * from .. from + steps of the curve. A site outside a domain that is not periodic belongs to a
 * square at the border, so the interval of such a square is unbounded on that side. */
CVTM_HD void cvtm_square_interval(const cvtm_site_tree_view *tree, uint32_t from, uint64_t steps,
                                  int32_t size, int32_t periodic, double *low, double *high) {
  const double pixels = 1 / (double)(UINT64_C(1) << tree->shift); /* exact: a power of two */
  *low = (double)from * pixels;
  *high = (double)(from + steps) * pixels;
  if (periodic) return;
  if (from == 0) *low = -HUGE_VAL;
  if (*high >= (double)size) *high = HUGE_VAL;
}

/* A box that contains the sites of the square, relative to the site of a cell. */
CVTM_HD cvtm_cell_box cvtm_square_relative_box(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                               uint64_t square, const cvtm_cell_origin *o) {
  const int depth = cvtm_square_depth(square);
  const uint64_t code = cvtm_square_code(square);
  cvtm_cell_box box;
  cvtm_square_interval(tree, cvtm_even_bits(code), UINT64_C(1) << (32 - depth / 2), domain.width,
                       domain.periodic, &box.x0, &box.x1);
  cvtm_square_interval(tree, cvtm_even_bits(code >> 1), UINT64_C(1) << (32 - (depth + 1) / 2),
                       domain.height, domain.periodic, &box.y0, &box.y1);
  box.x0 = (box.x0 - o->shift_x) - o->x;
  box.y0 = (box.y0 - o->shift_y) - o->y;
  box.x1 = (box.x1 - o->shift_x) - o->x;
  box.y1 = (box.y1 - o->shift_y) - o->y;
  return box;
}

/* True if a search must visit the halves of a square; up to `few` sites are tested one by one.
 * Squares larger than the bins of a cover are always divided, since `sites` does not count the
 * sites that a tree lacks. */
CVTM_HD int cvtm_square_is_divided(const cvtm_site_tree_view *tree, int depth, int32_t sites,
                                   int32_t few) {
  return depth < CVTM_SQUARE_DEPTH && (sites > few || depth < 2 * cvtm_tree_coarse(tree->levels));
}

/* True if a search must visit a square, which has `sites` sites. Marks squares in the cover whose
 * sites the tree lacks. */
CVTM_HD int cvtm_square_is_wanted(const cvtm_site_tree_view *tree, uint64_t square, int32_t sites) {
  const int depth = cvtm_square_depth(square);
  if (tree->cover == NULL || sites > 0) return sites > 0;
  const int coarse = cvtm_tree_coarse(tree->levels), deeper = depth - 2 * coarse;
  if (deeper < 0) return 1;
  cvtm_tree_want(tree->cover, tree->levels, coarse,
                 (uint32_t)((square >> deeper) - (UINT64_C(1) << 2 * coarse)));
  return 0;
}

/* --- clipping --------------------------------------------------------------------------------- */

/* Clips by the site with the index `other` at (dx, dy), and updates *radius2. Returns 0 if the
 * clipping ends: the cell is empty, or *status is CVTM_CELL_OVERFLOW. */
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

/* Cuts the box by the square of side 2 reach around the site. Returns 0 if nothing is left. */
CVTM_HD int cvtm_cell_shrink_box(cvtm_cell_box *box, double reach) {
  if (box->x0 < -reach) box->x0 = -reach;
  if (box->y0 < -reach) box->y0 = -reach;
  if (box->x1 > reach) box->x1 = reach;
  if (box->y1 > reach) box->y1 = reach;
  return box->x0 < box->x1 && box->y0 < box->y1;
}

/* --- clipping by the squares ------------------------------------------------------------------ */

CVTM_HD double cvtm_cell_box_distance2(const cvtm_cell_box *box, double x, double y) {
  const double dx = cvtm_interval_gap(x, box->x0, box->x1);
  const double dy = cvtm_interval_gap(y, box->y0, box->y1);
  return dx * dx + dy * dy;
}

/* True if a site in the box can cut the cell. distance2: the squared distance from the site of the
 * cell to the box; radius2: cvtm_cell_radius2 of the cell. */
CVTM_HD int cvtm_cell_box_cuts(const cvtm_cell *cell, double radius2, const cvtm_cell_box *box,
                               double distance2) {
  if (!(distance2 > 0)) return 1; /* the box may hold coincident sites */
  if (distance2 >= 4 * radius2) return 0;
  for (int32_t k = 0; k < cell->count; ++k) {
    const double x = cell->x[k * cell->stride], y = cell->y[k * cell->stride];
    if (cvtm_cell_box_distance2(box, x, y) < x * x + y * y) return 1;
  }
  return 0;
}

/* The halves of a square, the nearer half first, and their squared distances from the site: the
 * distance of the half's box, or infinity if the half has no sites. (A tree with a cover may lack
 * sites of the half; then the distance is always that of the box.) */
typedef struct cvtm_cell_halves {
  uint64_t near, far;
  double near2, far2;
} cvtm_cell_halves;

CVTM_HD double cvtm_cell_square_distance2(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                          uint64_t square, const cvtm_cell_origin *o) {
  int32_t first, last;
  cvtm_square_slots(tree, domain, square, &first, &last);
  if (first == last && tree->cover == NULL) return HUGE_VAL;
  const cvtm_cell_box box = cvtm_square_relative_box(tree, domain, square, o);
  return cvtm_cell_box_distance2(&box, 0, 0);
}

CVTM_HD cvtm_cell_halves cvtm_cell_halves_of(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                             uint64_t square, const cvtm_cell_origin *o) {
  const double a2 = cvtm_cell_square_distance2(tree, domain, 2 * square, o);
  const double b2 = cvtm_cell_square_distance2(tree, domain, 2 * square + 1, o);
  const uint64_t a = 2 * square, b = a + 1;
  const cvtm_cell_halves a_first = {a, b, a2, b2}, b_first = {b, a, b2, a2};
  return a2 <= b2 ? a_first : b_first;
}

/* Sets the slots *first .. *last - 1 of the sites of a square. Returns 1 if the halves of the
 * square are to be visited, and 0 if its sites are to be tested one by one. */
CVTM_HD int cvtm_cell_visit_square(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                   uint64_t square, int32_t *first, int32_t *last) {
  cvtm_square_slots(tree, domain, square, first, last);
  const int32_t sites = *last - *first;
  return cvtm_square_is_wanted(tree, square, sites) &&
         cvtm_square_is_divided(tree, cvtm_square_depth(square), sites, CVTM_TREE_LEAF);
}

/* The nearest sites, by which the cell is clipped first. Then the cell is so small that few other
 * sites are tested. */
enum { CVTM_NEAREST_CAPACITY = 6 };
typedef struct cvtm_nearest_list {
  int32_t count;
  double distance2[CVTM_NEAREST_CAPACITY];
  int32_t slot[CVTM_NEAREST_CAPACITY];
} cvtm_nearest_list;

CVTM_HD void cvtm_nearest_list_add(cvtm_nearest_list *list, double distance2, int32_t slot) {
  int32_t k = list->count;
  if (k < CVTM_NEAREST_CAPACITY) {
    ++list->count;
  } else {
    if (distance2 >= list->distance2[k - 1]) return;
    --k;
  }
  for (; k > 0 && list->distance2[k - 1] > distance2; --k) {
    list->distance2[k] = list->distance2[k - 1];
    list->slot[k] = list->slot[k - 1];
  }
  list->distance2[k] = distance2;
  list->slot[k] = slot;
}

/* Lists the nearest sites that do not coincide with the site of the cell. Returns 0 if a coincident
 * site has a lower index; that site owns the cell. */
CVTM_HD int cvtm_cell_nearest_sites(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                    const cvtm_cell_origin *o, cvtm_nearest_list *list) {
  uint64_t stack[CVTM_TREE_STACK], square = 1;
  double stack_distance2[CVTM_TREE_STACK], distance2 = 0;
  int top = 0;
  list->count = 0;
  for (;;) {
    if (list->count < CVTM_NEAREST_CAPACITY ||
        distance2 < list->distance2[CVTM_NEAREST_CAPACITY - 1]) {
      int32_t first, last;
      if (cvtm_cell_visit_square(tree, domain, square, &first, &last)) {
        const cvtm_cell_halves halves = cvtm_cell_halves_of(tree, domain, square, o);
        if (halves.far2 < HUGE_VAL) {
          stack[top] = halves.far;
          stack_distance2[top++] = halves.far2;
        }
        square = halves.near;
        distance2 = halves.near2;
        continue;
      }
      for (int32_t slot = first; slot < last; ++slot) {
        double dx, dy;
        cvtm_cell_relative_site(tree, slot, o, &dx, &dy);
        const double d2 = dx * dx + dy * dy;
        if (d2 > 0) {
          cvtm_nearest_list_add(list, d2, slot);
        } else if (dx == 0 && dy == 0 && tree->index[slot] < o->index) {
          return 0;
        }
      }
    }
    if (top == 0) return 1;
    square = stack[--top];
    distance2 = stack_distance2[top];
  }
}

/* True if a site of the square can cut the cell. */
CVTM_HD int cvtm_cell_square_cuts(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                  uint64_t square, const cvtm_cell_origin *o, const cvtm_cell *cell,
                                  double radius2) {
  const cvtm_cell_box box = cvtm_square_relative_box(tree, domain, square, o);
  return cvtm_cell_box_cuts(cell, radius2, &box, cvtm_cell_box_distance2(&box, 0, 0));
}

/* Clips by the sites at slots first .. last - 1 that are close enough to cut the cell. Returns 0 if
 * the clipping ends, as cvtm_cell_clip_site does. */
CVTM_HD int cvtm_cell_clip_sites(const cvtm_site_tree_view *tree, int32_t first, int32_t last,
                                 const cvtm_cell_origin *o, cvtm_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  for (int32_t slot = first; slot < last; ++slot) {
    double dx, dy;
    cvtm_cell_relative_site(tree, slot, o, &dx, &dy);
    if (dx * dx + dy * dy >= 4 * *radius2) continue;
    if (!cvtm_cell_clip_site(dx, dy, tree->index[slot], o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* Clips by all sites. Visits the squares depth first, the nearer half before the farther half.
 * Returns 0 if the clipping ends, as cvtm_cell_clip_site does. */
CVTM_HD int cvtm_cell_clip_tree(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                const cvtm_cell_origin *o, cvtm_cell *cell, double *radius2,
                                cvtm_cell_status *status) {
  uint64_t stack[CVTM_TREE_STACK];
  int top = 0;
  stack[top++] = 1;
  while (top > 0) {
    uint64_t square = stack[--top];
    int32_t first, last;
    if (!cvtm_cell_square_cuts(tree, domain, square, o, cell, *radius2)) continue;
    while (cvtm_cell_visit_square(tree, domain, square, &first, &last)) {
      const cvtm_cell_halves halves = cvtm_cell_halves_of(tree, domain, square, o);
      if (halves.far2 < 4 * *radius2) stack[top++] = halves.far;
      first = last;
      if (!(halves.near2 < 4 * *radius2)) break;
      square = halves.near;
    }
    if (first == last || !cvtm_cell_square_cuts(tree, domain, square, o, cell, *radius2)) continue;
    if (!cvtm_cell_clip_sites(tree, first, last, o, cell, radius2, status)) return 0;
  }
  return 1;
}

/* Clips the rectangle *start, relative to the site, by all sites; on a torus also by their images
 * one period away. Other images cannot cut the rectangle. */
CVTM_HD cvtm_cell_status cvtm_cell_cut_from(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                            const cvtm_cell_box *start, cvtm_cell_origin *o,
                                            cvtm_cell *cell, double *radius2) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_cell_set_rectangle(cell, start);
  *radius2 = cvtm_cell_radius2(cell);
  o->shift_x = 0;
  o->shift_y = 0;
  cvtm_nearest_list list;
  if (!cvtm_cell_nearest_sites(tree, domain, o, &list)) {
    cell->count = 0;
    return status;
  }
  cell->nearest2 = list.count > 0 ? list.distance2[0] : HUGE_VAL;
  for (int32_t k = 0; k < list.count; ++k) {
    double dx, dy;
    cvtm_cell_relative_site(tree, list.slot[k], o, &dx, &dy);
    if (!cvtm_cell_clip_site(dx, dy, tree->index[list.slot[k]], o, cell, radius2, &status))
      return status;
  }
  if (!cvtm_cell_clip_tree(tree, domain, o, cell, radius2, &status) || !domain.periodic)
    return status;
  for (int image = 0; image < 9; ++image) {
    if (image == 4) continue;
    o->shift_x = (image % 3 - 1) * (double)domain.width;
    o->shift_y = (image / 3 - 1) * (double)domain.height;
    if (!cvtm_cell_clip_tree(tree, domain, o, cell, radius2, &status)) return status;
  }
  return status;
}

/* Makes the cell of the site at a slot; returns CVTM_CELL_DONE or CVTM_CELL_OVERFLOW. The rounding
 * errors of the corners are proportional to the size of the first polygon. So a cell that is much
 * smaller than the domain is clipped a second time, from a square that just contains the cell. */
CVTM_HD cvtm_cell_status cvtm_cell_by_tree(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                           int64_t slot, cvtm_cell *cell) {
  cvtm_cell_box start;
  cvtm_cell_origin o = cvtm_cell_origin_at(tree, domain, slot, &start);
  double radius2 = 0;
  const cvtm_cell_status status = cvtm_cell_cut_from(tree, domain, &start, &o, cell, &radius2);
  if (status != CVTM_CELL_DONE || cell->count == 0) return status;
  const double reach = 2 * sqrt(radius2);
  const double size = (double)(domain.width > domain.height ? domain.width : domain.height);
  if (reach > 1e-3 * size || !cvtm_cell_shrink_box(&start, reach)) return status;
  return cvtm_cell_cut_from(tree, domain, &start, &o, cell, &radius2);
}
