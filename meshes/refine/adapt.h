/* Inside the library: metrics, which say how long an edge is to be in each direction: an edge e
 * from a to b has the length sqrt (e' M e), and is to have the length 1; and meshes of triangles
 * that are even in a metric. */
#ifndef CVTMESH_MESHES_REFINE_ADAPT_H
#define CVTMESH_MESHES_REFINE_ADAPT_H

#include "meshes/contour.h"
#include "meshes/mesh.h"

#include <math.h>

/* A symmetric matrix; positive definite as a metric. */
typedef struct cvtm_metric {
  double xx, xy, yy;
} cvtm_metric;

/* Eigenvalues, the larger one first, and the direction (c, s) of the first. */
typedef struct cvtm_metric_axes {
  double value[2], c, s;
} cvtm_metric_axes;

static inline cvtm_metric_axes cvtm_metric_axes_of(cvtm_metric m) {
  const double mean = 0.5 * (m.xx + m.yy), half = 0.5 * (m.xx - m.yy), apart = hypot(half, m.xy);
  const double angle = apart > 0 ? 0.5 * atan2(m.xy, half) : 0;
  return (cvtm_metric_axes){{mean + apart, mean - apart}, cos(angle), sin(angle)};
}

static inline cvtm_metric cvtm_metric_of_axes(cvtm_metric_axes a) {
  const double p = a.value[0], q = a.value[1];
  return (cvtm_metric){p * a.c * a.c + q * a.s * a.s, (p - q) * a.c * a.s,
                       p * a.s * a.s + q * a.c * a.c};
}

static inline double cvtm_metric_square(cvtm_metric m, double x, double y) {
  return m.xx * x * x + 2 * m.xy * x * y + m.yy * y * y;
}

static inline double cvtm_metric_determinant(cvtm_metric m) { return m.xx * m.yy - m.xy * m.xy; }

/* Logarithms of metrics at the centres of square cells, rows from the top: cell (i, j) is centred
 * at (left + (i + 0.5) step, upper + (j + 0.5) step), y down. */
typedef struct cvtm_metric_field {
  double left, upper, step;
  int width, height;
  cvtm_metric *log; /* width * height, malloc'd and owned */
} cvtm_metric_field;

void cvtm_metric_field_free(cvtm_metric_field *field);

/* Hessians (in field->log, per unit of length squared) become metrics in which triangles of equal
 * size minimise the interpolation error of linear elements in L2 for their number, up to a factor:
 * det (|H|)^(-1/6) |H| (Alauzet & Loseille 2010, p = 2). In no place an edge is to be longer than
 * `ratio` times a shorter one, nor than 32 times the mean. CVTM_ERROR_INPUT if all are zero. */
cvtm_status cvtm_metric_of_hessians(cvtm_metric_field *field, double ratio, cvtm_error *error);
/* Metrics (in field->log) become their logarithms, by the same ratio. CVTM_ERROR_INPUT if one is
 * not positive definite. */
cvtm_status cvtm_metric_of_given(cvtm_metric_field *field, double ratio, cvtm_error *error);

/* ---- Meshes ---- */

typedef struct cvtm_adapt_figures {
  int64_t divided, removed, flipped, moved;
  int rounds;
  double shortest, longest; /* edges, in the metric that the number of vertices leads to */
  double good_edges;        /* share of edges between 1 / sqrt (2) and sqrt (2) */
  double least_quality, mean_quality; /* of triangles in the metric; 1: equilateral */
} cvtm_adapt_figures;

/* Meshes the regions inside a boundary with about `wanted` vertices, such that edges have the
 * length 1 in a multiple of the metric: edges that are too long are divided, those that are too
 * short vanish with one of their ends, diagonals are exchanged and vertices moved where that makes
 * the worst triangle better (Frey & Alauzet 2005). Corners of the boundary stay; vertices on its
 * edges are within one grid step of them (2^-30 of the longer side of the bounding box). No
 * triangle is ever turned over: all tests of orientation are exact. Regions are not grouped.
 * stop: asked now and then, nonzero ends the work, the result being what has been reached; NULL:
 * nothing does. Fails as cvtm_constrained_delaunay. */
cvtm_status cvtm_adapt(const cvtm_boundary *boundary, const cvtm_metric_field *field,
                       int64_t wanted, int (*stop)(const void *context), const void *context,
                       cvtm_mesh *mesh, cvtm_regions *regions, cvtm_adapt_figures *figures,
                       cvtm_error *error);

#endif
