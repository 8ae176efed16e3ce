/* The ring of a cell: the neighbours that it had in the last diagram, in their order around it.
 * From one diagram to the next most cells keep them. A cell is kept if its bisectors with them
 * bound a convex polygon inside the domain; any other is cut out by the tree, in round 1. A kept
 * cell that does not agree with a cell that was cut about a corner is cut in the next round, until
 * all agree. The cells at the border of the domain are always cut, and are right. Then no cell lies
 * over another: cells that agree about their corners cover the domain everywhere as often as they
 * cover its border, once. So kept cells are right, too: none lacks a part of the true cell, and
 * together they fill the domain. On a torus all cells are cut. Compiles as C11 and inside CUDA
 * kernels. */
#ifndef CVTMESH_CVT_EQUAL_MASS_RING_H
#define CVTMESH_CVT_EQUAL_MASS_RING_H

#include "cvt/equal_mass/power_cell.h"

enum {
  CVTM_POWER_RING = 16, /* neighbours, at most */
  CVTM_POWER_NOT_AROUND = 1 << CVTM_POWER_RING
};

/* Neighbours around a cell, by the caller's indices. */
typedef struct cvtm_power_row {
  const int32_t *index;
  int32_t count;
} cvtm_power_row;

/* A bisector, x X + y Y = offset relative to the cell's site. */
typedef struct cvtm_power_line {
  double x, y, offset;
} cvtm_power_line;

CVTM_HD cvtm_power_row cvtm_power_hints_of(const cvtm_power_view *view, int32_t i) {
  const cvtm_power_row row = {view->hint + view->hint_first[i], view->hint_degree[i]};
  return row;
}

CVTM_HD cvtm_power_line cvtm_power_bisector(const cvtm_power_view *view, const cvtm_cell_origin *o,
                                            int32_t other) {
  cvtm_power_line line;
  cvtm_cell_relative_site(&view->tree, other, o, &line.x, &line.y);
  line.offset =
      0.5 * (line.x * line.x + line.y * line.y + view->weight[o->place] - view->weight[other]);
  return line;
}

/* True if a line between the corners (ax, ay) and (bx, by) contributes an edge: the polygon turns
 * by less than half a circle where the next line follows, and the edge is longer than 0 and begins
 * in the domain. */
CVTM_HD int cvtm_power_has_edge(const cvtm_cell_box *domain, const cvtm_power_line *line,
                                const cvtm_power_line *next, double ax, double ay, double bx,
                                double by) {
  const double turn = line->y * next->x - line->x * next->y;
  const double length = (bx - ax) * line->y - (by - ay) * line->x;
  return turn > 0 && length > 0 && ax > domain->x0 && ax < domain->x1 && ay > domain->y0 &&
         ay < domain->y1;
}

/* Sets the polygon that the bisectors with the neighbours in the row, 3 to CVTM_POWER_RING, bound:
 * edge k with neighbour k. Corner k is x[k * stride], y[k * stride]. Returns the sum of 2^k over
 * the edges that are missing, and CVTM_POWER_NOT_AROUND if the neighbours do not go around once. */
CVTM_HD uint32_t cvtm_power_set_by_ring(const cvtm_power_view *view, cvtm_domain domain,
                                        int64_t place, cvtm_power_row row, double *x, double *y,
                                        int32_t *other, int64_t stride) {
  cvtm_cell_box box;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, place, &box);
  o.shift_x = o.shift_y = 0;
  cvtm_power_line line = cvtm_power_bisector(view, &o, view->place_of[row.index[row.count - 2]]);
  double ax = 0, ay = 0;
  uint32_t missing = 0;
  int32_t turns = 0;
  for (int32_t k = -1; k < row.count; ++k) {
    const int32_t last = k > 0 ? k - 1 : row.count - 1;
    const int32_t at = view->place_of[row.index[k < 0 ? row.count - 1 : k]];
    const cvtm_power_line next = cvtm_power_bisector(view, &o, at);
    const double inverse = 1 / (line.y * next.x - line.x * next.y);
    const double bx = (next.offset * line.y - line.offset * next.y) * inverse;
    const double by = (line.offset * next.x - next.offset * line.x) * inverse;
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

/* Where a row has site i, or -1. */
CVTM_HD int32_t cvtm_power_find_in_row(cvtm_power_row row, int32_t i) {
  for (int32_t k = 0; k < row.count; ++k)
    if (row.index[k] == i) return k;
  return -1;
}

/* True if the row, of a neighbour of cell i, has the edge with i between the same neighbours as i,
 * where they stand in the opposite order. */
CVTM_HD int cvtm_power_row_agrees(cvtm_power_row row, int32_t i, int32_t before, int32_t after) {
  const int32_t at = cvtm_power_find_in_row(row, i);
  return at >= 0 && row.index[at > 0 ? at - 1 : row.count - 1] == after &&
         row.index[at + 1 < row.count ? at + 1 : 0] == before;
}

#endif
