/* The squares of the Morton curve as a binary tree over the sites of a site tree. Square 1 is the
 * whole one; 2 k and 2 k + 1 are the halves of square k, divided along y and x in turn, so that
 * half of the "squares" are twice as high as wide. Their sites are consecutive in the tree's order.
 *
 * What a search through these squares meets, and in which order, depends on the sites near its goal
 * alone: a tree that lacks others far away (cvtm_tree_cover) leads to the same bits. The tree's
 * boxes are tighter, but those of many sites depend on all of them. Compiles as C11 and inside CUDA
 * kernels. */
#ifndef CVTMESH_JFA_SITE_SQUARES_H
#define CVTMESH_JFA_SITE_SQUARES_H

#include "jfa/cell.h"

enum { CVTM_SQUARE_DEPTH = 2 * CVTM_TREE_DEPTH /* of the smallest ones */ };

CVTM_HD int cvtm_square_depth(uint64_t square) { return 63 - cvtm_leading_zeros(square); }

/* The code of its first step. */
CVTM_HD uint64_t cvtm_square_code(uint64_t square) {
  const int depth = cvtm_square_depth(square);
  return depth == 0 ? 0 : square << (64 - depth);
}

/* The places first .. last - 1 of its sites. */
CVTM_HD void cvtm_square_places(const cvtm_site_tree_view *tree, cvtm_domain domain,
                                uint64_t square, int32_t *first, int32_t *last) {
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

/* The interval of a square's sites along an axis: `steps` of the curve from `from` on. The sites
 * outside a domain that is not periodic belong to the squares at its border. */
CVTM_HD void cvtm_square_interval(const cvtm_site_tree_view *tree, uint32_t from, uint64_t steps,
                                  int32_t size, int32_t periodic, double *low, double *high) {
  const double pixels = 1 / (double)(UINT64_C(1) << tree->shift); /* exact: a power of two */
  *low = (double)from * pixels;
  *high = (double)(from + steps) * pixels;
  if (periodic) return;
  if (from == 0) *low = -HUGE_VAL;
  if (*high >= (double)size) *high = HUGE_VAL;
}

/* The square as a box that holds its sites, relative to a cell's site. */
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

/* True if a search must go into the halves of a square that has `sites` sites: few sites are tested
 * one by one. What a tree lacks does not show in squares larger than those that it covers. */
CVTM_HD int cvtm_square_is_divided(const cvtm_site_tree_view *tree, int depth, int32_t sites,
                                   int32_t few) {
  return depth < CVTM_SQUARE_DEPTH && (sites > few || depth < 2 * cvtm_tree_coarse(tree->levels));
}

/* True if a search must visit a square that has `sites` sites and may hold what it looks for. Tells
 * the cover what the tree lacks. */
CVTM_HD int cvtm_square_is_wanted(const cvtm_site_tree_view *tree, uint64_t square, int32_t sites) {
  const int depth = cvtm_square_depth(square);
  if (tree->cover == NULL || sites > 0) return sites > 0;
  const int coarse = cvtm_tree_coarse(tree->levels), deeper = depth - 2 * coarse;
  if (deeper < 0) return 1;
  cvtm_tree_want(tree->cover, tree->levels, coarse,
                 (uint32_t)((square >> deeper) - (UINT64_C(1) << 2 * coarse)));
  return 0;
}

#endif
