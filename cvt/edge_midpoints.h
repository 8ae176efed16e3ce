/* Inside cvt only: the midpoints between a site and its Delaunay neighbours, which refine a
 * tessellation. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "cvt/evaluate_kernels.h"
#include "jfa/cell_by_tree.h"

#include <math.h>

/* The largest number of midpoints of one site; further midpoints, which few sites have, are lost.
 * The midpoint of two neighbours is assigned to one of both, so that hexagons have three. */
enum { CVTM_MAX_EDGE_MIDPOINTS = 6 };

typedef struct cvtm_edge_midpoints {
  int32_t count;
  double x[CVTM_MAX_EDGE_MIDPOINTS], y[CVTM_MAX_EDGE_MIDPOINTS];
} cvtm_edge_midpoints;

/* True if an edge lies on the border of the domain. */
CVTM_HD int cvtm_is_border(const cvtm_cell_box *box, double ax, double ay, double bx, double by) {
  return (ax == bx && (ax == box->x0 || ax == box->x1)) ||
         (ay == by && (ay == box->y0 || ay == box->y1));
}

/* Finds the midpoints of the site at slot `place`. The midpoint of two neighbours is the foot of
 * the perpendicular from the site to the line of their common edge, and is assigned to the upper of
 * the two sites or, at equal height, to the left one. */
CVTM_HD void cvtm_find_edge_midpoints(cvtm_domain domain, const cvtm_site_tree_view *tree,
                                      int64_t place, const cvtm_cell *cell,
                                      cvtm_edge_midpoints *midpoints) {
  const double level = 1e-9; /* far above rounding errors */
  cvtm_cell_box box;
  const cvtm_cell_origin o = cvtm_cell_origin_at(tree, domain, place, &box);
  int32_t found = 0;
  for (int32_t k = 0; k < cell->count && found < CVTM_MAX_EDGE_MIDPOINTS; ++k) {
    const int32_t at = k * cell->stride, next = (k + 1 < cell->count ? k + 1 : 0) * cell->stride;
    const double ax = cell->x[at], ay = cell->y[at], bx = cell->x[next], by = cell->y[next];
    const double ex = bx - ax, ey = by - ay, length2 = ex * ex + ey * ey;
    if (!(length2 > 1e-18 * (ax * ax + ay * ay)) || cvtm_is_border(&box, ax, ay, bx, by)) continue;
    const double t = (ax * ey - ay * ex) / length2;
    const double x = t * ey, y = -t * ex;
    if (fabs(y) > level * fabs(x) ? y < 0 : x < 0) continue;
    midpoints->x[found] = cvtm_cvt_inside(o.x + x, domain.width, domain.periodic);
    midpoints->y[found] = cvtm_cvt_inside(o.y + y, domain.height, domain.periodic);
    ++found;
  }
  midpoints->count = found;
}

/* The number of chosen items among the first i, if `chosen` of `count` are chosen evenly. */
CVTM_HD int64_t cvtm_chosen_before(int64_t i, int64_t count, int64_t chosen) {
  const double share = (double)chosen / (double)count;
  return count <= chosen ? i : (int64_t)floor((double)i * share);
}

/* Writes midpoints of a site to `fine`, which has room for `room` sites: an evenly distributed
 * choice among the `total` midpoints of all sites. before: number of midpoints of earlier sites. */
CVTM_HD void cvtm_place_midpoints(const cvtm_edge_midpoints *midpoints, int64_t before,
                                  int64_t total, int64_t room, double *fine) {
  int64_t at = cvtm_chosen_before(before, total, room);
  for (int32_t m = 0; m < midpoints->count; ++m) {
    const int64_t next = cvtm_chosen_before(before + m + 1, total, room);
    if (next == at) continue;
    fine[2 * at] = midpoints->x[m];
    fine[2 * at + 1] = midpoints->y[m];
    at = next;
  }
}

/* Adds site have + k to the first `have` sites of the list `fine`, which will have `count` sites.
 * The new site lies between a site of the list and the next site. These pairs are evenly
 * distributed over the list. */
CVTM_HD void cvtm_fill_up(double *fine, int64_t have, int64_t count, int64_t k) {
  const int64_t i = k * have / (count - have) % have, j = (i + 1) % have;
  fine[2 * (have + k)] = 0.75 * fine[2 * i] + 0.25 * fine[2 * j];
  fine[2 * (have + k) + 1] = 0.75 * fine[2 * i + 1] + 0.25 * fine[2 * j + 1];
}
