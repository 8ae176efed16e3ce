/* Inside cvt only: the derivative of a sum of integrals over Voronoi cells by one site, where the
 * polynomials phi of differential.h stay as functions of x:
 *
 *     dL/dx_i = sum over the neighbours j of the integral over the common edge
 *               of rho (phi_i - phi_j) (x - x_i) / |x_j - x_i|.
 *
 * The neighbour across an edge is the site at the mirror image of the cell's own. Compiles as C11
 * and inside CUDA kernels. */
#ifndef CVTMESH_CVT_PULL_SITES_H
#define CVTMESH_CVT_PULL_SITES_H

#include "cvt/edge_midpoints.h"

/* Memory of a call: 1 in `failed` if a cell could not be done, and what the CUDA side needs. */
enum {
  CVTM_PULL_BLOCKS = 256,   /* that cut out cells by tree clipping */
  CVTM_PULL_CORNERS = 1024, /* of such a cell, at most */
  CVTM_PULL_UNKNOWN = -1    /* a neighbour */
};
typedef struct cvtm_pull_memory {
  double corners[CVTM_PULL_BLOCKS][4 * CVTM_PULL_CORNERS];
  int32_t failed, deferred;
  int32_t place[]; /* of the deferred cells */
} cvtm_pull_memory;

/* What all edges of a diagram need. */
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
  double other_x, other_y; /* of the neighbour, relative to the site */
  const double *phi, *phi_other;
} cvtm_pull_edge;

CVTM_HD double cvtm_pull_value(const double *phi, double x, double y) {
  return phi[0] + phi[1] * x + phi[2] * y + phi[3] * (x * x + y * y);
}

/* Adds the integral over the piece of an edge in one pixel, of density rho, by Gauss's two points,
 * which are exact up to degree 3. */
CVTM_HD void cvtm_pull_add_piece(const cvtm_pull_edge *e, double t0, double t1, double rho,
                                 double *sum) {
  const double half = 0.5 * (t1 - t0), middle = 0.5 * (t0 + t1);
  for (int k = -1; k <= 1; k += 2) {
    const double t = middle + k * half * 0.57735026918962576451;
    const double x = e->x + t * e->dx, y = e->y + t * e->dy;
    const double jump = cvtm_pull_value(e->phi, x, y) -
                        cvtm_pull_value(e->phi_other, x - e->other_x, y - e->other_y);
    sum[0] += half * rho * jump * x;
    sum[1] += half * rho * jump * y;
  }
}

/* The next t > `t` at which p + t step is an integer; 1 if there is none before. */
CVTM_HD double cvtm_pull_crossing(double p, double step, double t) {
  if (step == 0) return 1;
  const double here = p + t * step, one = step > 0 ? 1 : -1;
  double line = step > 0 ? floor(here) + 1 : ceil(here) - 1;
  double next = (line - p) / step;
  while (next <= t) next = ((line += one) - p) / step;
  return next < 1 ? next : 1;
}

CVTM_HD void cvtm_pull_add_edge(const cvtm_pull_edges *edges, const cvtm_pull_edge *e,
                                double *sum) {
  const double x = e->site_x + e->x, y = e->site_y + e->y;
  const double right = (double)edges->domain.width - 1, last = (double)edges->domain.height - 1;
  const double scale =
      sqrt((e->dx * e->dx + e->dy * e->dy) / (e->other_x * e->other_x + e->other_y * e->other_y));
  double own[2] = {0, 0};
  for (double t = 0; t < 1;) {
    const double next = fmin(cvtm_pull_crossing(x, e->dx, t), cvtm_pull_crossing(y, e->dy, t));
    const double middle = 0.5 * (t + next);
    const int64_t column = (int64_t)fmin(fmax(floor(x + middle * e->dx), 0), right);
    const int64_t row = (int64_t)fmin(fmax(floor(y + middle * e->dy), 0), last);
    cvtm_pull_add_piece(e, t, next, (double)edges->density[row * edges->domain.width + column],
                        own);
    t = next;
  }
  sum[0] += scale * own[0];
  sum[1] += scale * own[1];
}

/* The place of the site at a point of the domain, up to rounding: `expected` if that is there. */
CVTM_HD int32_t cvtm_pull_site_at(const cvtm_site_tree_view *tree, cvtm_metric metric,
                                  int32_t expected, double x, double y) {
  const double near = 1e-12 * (1 + x * x + y * y); /* of squared distances */
  if (expected >= 0) {
    double there_x, there_y;
    cvtm_tree_position(tree, expected, &there_x, &there_y);
    const double dx = there_x - x, dy = there_y - y;
    if (dx * dx + dy * dy < near) return expected;
  }
  cvtm_nearest best = cvtm_nearest_none();
  best.distance2 = near;
  cvtm_search_node(tree, metric, x, y, 1, &best);
  return best.place >= 0 ? best.place : cvtm_site_tree_nearest(tree, metric, x, y).place;
}

/* Adds the share of the edge from corner k to the next. across: the place of the neighbour there,
 * CVTM_PULL_UNKNOWN or that of another site: it is searched for. */
CVTM_HD void cvtm_pull_add_side(const cvtm_pull_edges *edges, int64_t place, const cvtm_cell *cell,
                                int32_t k, int32_t across, double *sum) {
  cvtm_cell_box box;
  const cvtm_cell_origin o = cvtm_cell_origin_at(&edges->tree, edges->domain, place, &box);
  const int32_t at = k * cell->stride, next = (k + 1 < cell->count ? k + 1 : 0) * cell->stride;
  const double ax = cell->x[at], ay = cell->y[at], bx = cell->x[next], by = cell->y[next];
  cvtm_pull_edge e = {o.x, o.y, ax, ay, bx - ax, by - ay, 0, 0, NULL, NULL};
  const double length2 = e.dx * e.dx + e.dy * e.dy;
  if (!(length2 > 0) || cvtm_is_border(&box, ax, ay, bx, by)) return;
  const double twice = 2 * (ax * e.dy - ay * e.dx) / length2;
  const int32_t other = cvtm_pull_site_at(&edges->tree, cvtm_metric_of(edges->domain), across,
                                          o.x + twice * e.dy, o.y - twice * e.dx);
  cvtm_cell_relative_site(&edges->tree, other, &o, &e.other_x, &e.other_y);
  if (e.other_x == 0 && e.other_y == 0) return; /* an edge as short as rounding */
  e.phi = edges->phi + 4 * (int64_t)o.index;
  e.phi_other = edges->phi + 4 * (int64_t)edges->tree.index[other];
  cvtm_pull_add_edge(edges, &e, sum);
}

#endif
