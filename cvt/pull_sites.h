/* Inside cvt only: the derivative of L (pull.h) with respect to one site, where the phi_i are fixed
 * functions of x, which do not change with the sites. Then L changes only by the areas that the
 * moving edges sweep. The point x of the edge between V_i and V_j moves along the edge's normal
 * with the velocity ((x - x_i) . dx_i - (x - x_j) . dx_j) / |x_j - x_i| (Du, Faber & Gunzburger
 * 1999), so that
 *
 *     dL/dx_i = sum over the neighbours j of the integral over the common edge
 *               of rho (phi_i - phi_j) (x - x_i) / |x_j - x_i|.
 *
 * The neighbour across an edge of a Voronoi cell is at the mirror image of the cell's site.
 * Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "cvt/edge_midpoints.h"

enum {
  CVTM_PULL_BLOCKS = 256,   /* thread blocks that make cells by tree clipping */
  CVTM_PULL_CORNERS = 1024, /* corners of a cell by tree clipping, at most */
  CVTM_PULL_UNKNOWN = -1    /* an unknown neighbour */
};
/* crowded: 1 if a pixel has too many nearby sites, else 0; failed: 1 if a cell could not be
 * computed, else 0; deferred: the number of cells that are left to tree clipping. */
typedef struct cvtm_pull_flags {
  int32_t crowded, failed, deferred;
} cvtm_pull_flags;
/* Device memory of a call; on a CPU only `flags` is used. */
typedef struct cvtm_pull_memory {
  double corners[CVTM_PULL_BLOCKS][4 * CVTM_PULL_CORNERS];
  cvtm_pull_flags flags;
  int32_t slot[]; /* slots of the deferred cells */
} cvtm_pull_memory;

/* The data that are common to all edges of a diagram. */
typedef struct cvtm_pull_edges {
  cvtm_site_tree_view tree; /* with its boxes */
  cvtm_domain domain;       /* not periodic */
  const float *density;
  const double *phi; /* 4 for each site */
} cvtm_pull_edges;

/* An edge of a cell, from (x, y) to (x + dx, y + dy) relative to the cell's site. */
typedef struct cvtm_pull_edge {
  double site_x, site_y;
  double x, y, dx, dy;
  double other_x, other_y; /* the neighbour, relative to the site */
  const double *phi, *phi_other;
} cvtm_pull_edge;

/* A walk along an edge over its intersections with the vertical or with the horizontal grid
 * lines. */
typedef struct cvtm_pull_axis {
  double start, scale; /* start of the edge; 1 / extent of the edge */
  double line;         /* coordinate of the next line */
  double t;            /* parameter of the edge, from 0 to 1, at that line; >= 1: none is met */
  int32_t way, pixel;  /* direction, 1 or -1; the pixel before the line */
} cvtm_pull_axis;

CVTM_HD cvtm_pull_axis cvtm_pull_axis_of(double start, double extent) {
  const int32_t way = extent < 0 ? -1 : 1;
  const double line = way > 0 ? floor(start) + 1 : ceil(start) - 1, scale = 1 / extent;
  const cvtm_pull_axis axis = {start, scale,
                               line,  extent != 0 ? (line - start) * scale : 1,
                               way,   (int32_t)(way > 0 ? line - 1 : line)};
  return axis;
}

/* Moves to the next line if axis->t <= t. */
CVTM_HD void cvtm_pull_advance(cvtm_pull_axis *axis, double t) {
  if (axis->t > t) return;
  axis->pixel += axis->way;
  axis->line += axis->way;
  axis->t = (axis->line - axis->start) * axis->scale;
}

/* phi_i - phi_j along the edge, as the polynomial a + b t + c t^2. */
typedef struct cvtm_pull_jump {
  double a, b, c;
} cvtm_pull_jump;

CVTM_HD cvtm_pull_jump cvtm_pull_jump_of(const cvtm_pull_edge *e) {
  const double *p = e->phi, *q = e->phi_other;
  const double x = e->x - e->other_x, y = e->y - e->other_y, bend = p[3] - q[3];
  const cvtm_pull_jump jump = {
      p[0] + p[1] * e->x + p[2] * e->y + p[3] * (e->x * e->x + e->y * e->y) -
          (q[0] + q[1] * x + q[2] * y + q[3] * (x * x + y * y)),
      (p[1] - q[1]) * e->dx + (p[2] - q[2]) * e->dy +
          2 * (p[3] * (e->x * e->dx + e->y * e->dy) - q[3] * (x * e->dx + y * e->dy)),
      bend * (e->dx * e->dx + e->dy * e->dy)};
  return jump;
}

/* Adds the integrals over t of rho jump(t) to sum[0] and of rho jump(t) t to sum[1], along the
 * piece t0 .. t1 of an edge. The piece lies in one pixel, with the density rho. Gauss's rule with
 * two points is exact up to degree 3. */
CVTM_HD void cvtm_pull_add_piece(const cvtm_pull_jump *jump, double t0, double t1, double rho,
                                 double *sum) {
  const double half = 0.5 * (t1 - t0), middle = 0.5 * (t0 + t1), weight = half * rho;
  for (int k = -1; k <= 1; k += 2) {
    const double t = CVTM_FMA(k * half, 0.57735026918962576451, middle);
    const double value = weight * CVTM_FMA(CVTM_FMA(jump->c, t, jump->b), t, jump->a);
    sum[0] += value;
    sum[1] = CVTM_FMA(value, t, sum[1]);
  }
}

CVTM_HD int32_t cvtm_pull_clamp(int32_t pixel, int32_t size) {
  return pixel < 0 ? 0 : pixel < size ? pixel : size - 1;
}

/* Adds two integrals along an edge: that of f (x - x_i) to sum[0] and sum[1], and that of f to
 * sum[2], where f = rho (phi_i - phi_j) / |x_j - x_i|. */
CVTM_HD void cvtm_pull_add_edge(cvtm_domain domain, const float *density, const cvtm_pull_edge *e,
                                double sum[3]) {
  const double scale =
      sqrt((e->dx * e->dx + e->dy * e->dy) / (e->other_x * e->other_x + e->other_y * e->other_y));
  const cvtm_pull_jump jump = cvtm_pull_jump_of(e);
  cvtm_pull_axis x = cvtm_pull_axis_of(e->site_x + e->x, e->dx);
  cvtm_pull_axis y = cvtm_pull_axis_of(e->site_y + e->y, e->dy);
  double own[2] = {0, 0};
  for (double t = 0; t < 1;) {
    const double next = fmin(fmin(x.t, y.t), 1);
    const int64_t row = cvtm_pull_clamp(y.pixel, domain.height);
    const int32_t column = cvtm_pull_clamp(x.pixel, domain.width);
    cvtm_pull_add_piece(&jump, t, next, (double)density[row * domain.width + column], own);
    cvtm_pull_advance(&x, next);
    cvtm_pull_advance(&y, next);
    t = next;
  }
  sum[0] += scale * (e->x * own[0] + e->dx * own[1]);
  sum[1] += scale * (e->y * own[0] + e->dy * own[1]);
  sum[2] += scale * own[0];
}

/* Returns the slot of the site nearest to a point of the domain where a site is expected, up to
 * rounding. expected: a slot that is tried before a search; negative: none. */
CVTM_HD int32_t cvtm_pull_site_at(const cvtm_site_tree_view *tree, cvtm_metric metric,
                                  int32_t expected, double x, double y) {
  const double near = 1e-12 * (1 + x * x + y * y); /* tolerance of squared distances */
  if (expected >= 0) {
    double there_x, there_y;
    cvtm_tree_position(tree, expected, &there_x, &there_y);
    const double dx = there_x - x, dy = there_y - y;
    if (dx * dx + dy * dy < near) return expected;
  }
  cvtm_nearest best = cvtm_nearest_none();
  best.distance2 = near;
  cvtm_search_node(tree, metric, x, y, 1, &best);
  return best.slot >= 0 ? best.slot : cvtm_site_tree_nearest(tree, metric, x, y).slot;
}

/* Adds the contribution of the edge from corner k of a cell to the next corner. slot: slot of the
 * cell's site; across: slot of the neighbour. If `across` is CVTM_PULL_UNKNOWN or wrong, the
 * neighbour is searched for. */
CVTM_HD void cvtm_pull_add_side(const cvtm_pull_edges *edges, int64_t slot, const cvtm_cell *cell,
                                int32_t k, int32_t across, double sum[3]) {
  cvtm_cell_box box;
  const cvtm_cell_origin o = cvtm_cell_origin_at(&edges->tree, edges->domain, slot, &box);
  const int32_t at = k * cell->stride, next = (k + 1 < cell->count ? k + 1 : 0) * cell->stride;
  const double ax = cell->x[at], ay = cell->y[at], bx = cell->x[next], by = cell->y[next];
  cvtm_pull_edge e = {o.x, o.y, ax, ay, bx - ax, by - ay, 0, 0, NULL, NULL};
  const double length2 = e.dx * e.dx + e.dy * e.dy;
  if (!(length2 > 0) || cvtm_is_border(&box, ax, ay, bx, by)) return;
  const double twice = 2 * (ax * e.dy - ay * e.dx) / length2;
  const int32_t other = cvtm_pull_site_at(&edges->tree, cvtm_metric_of(edges->domain), across,
                                          o.x + twice * e.dy, o.y - twice * e.dx);
  cvtm_cell_relative_site(&edges->tree, other, &o, &e.other_x, &e.other_y);
  if (e.other_x == 0 && e.other_y == 0) return; /* the edge has the length of a rounding error */
  e.phi = edges->phi + 4 * (int64_t)o.index;
  e.phi_other = edges->phi + 4 * (int64_t)edges->tree.index[other];
  cvtm_pull_add_edge(edges->domain, edges->density, &e, sum);
}
