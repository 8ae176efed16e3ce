/* Inside the library: metrics, and triangle meshes with edges of length 1 in a metric. The length
 * of an edge e in the metric M is sqrt (e' M e). */
#pragma once

#include "meshes/contour.h"
#include "meshes/mesh.h"

#include <math.h>

/* A symmetric matrix; a metric is positive definite. */
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

/* Logarithms of metrics at the centres of square cells, in rows from the top. Cell (i, j) is
 * centred at (left + (i + 0.5) step, upper + (j + 0.5) step), y down. */
typedef struct cvtm_metric_field {
  double left, upper, step;
  int width, height;
  cvtm_metric *log; /* width * height, malloc'd and owned */
} cvtm_metric_field;

void cvtm_metric_field_free(cvtm_metric_field *field);

/* Replaces Hessians in field->log, per unit of length squared, by the logarithms of metrics: det
 * (|H|)^(-1/6) |H| up to a factor. For a given number of triangles such a metric minimises the L2
 * interpolation error of linear elements (Alauzet & Loseille 2010, p = 2). At each point the
 * longest wanted edge is at most `ratio` times the shortest, and at most 32 times the mean.
 * CVTM_ERROR_INPUT if all Hessians are zero. */
cvtm_status cvtm_metric_of_hessians(cvtm_metric_field *field, double ratio, cvtm_error *error);
/* Replaces metrics in field->log by their logarithms, with `ratio` limiting them in this way.
 * CVTM_ERROR_INPUT if a metric is not positive definite. */
cvtm_status cvtm_metric_of_given(cvtm_metric_field *field, double ratio, cvtm_error *error);

/* ---- Meshes ---- */

typedef struct cvtm_adapt_figures {
  int64_t divided, removed, flipped, moved;
  int rounds;
  double shortest, longest; /* lengths of edges, in the metric scaled for the number of vertices */
  double good_edges;        /* fraction of edges between 1 / sqrt (2) and sqrt (2) */
  double least_quality, mean_quality; /* of triangles in the metric; 1: equilateral */
} cvtm_adapt_figures;

/* Meshes the regions inside a boundary with about `wanted` vertices, such that edges have length 1
 * in a multiple of the metric: long edges are divided, short edges collapsed, edges flipped and
 * vertices moved where that improves the worst triangle (Frey & Alauzet 2005). Corners of the
 * boundary do not move; vertices on its edges are within one grid step of the edge (2^-30 of the
 * longer side of the bounding box). No triangle is inverted: orientation tests are exact. Regions
 * are not grouped. stop: called from time to time; if it returns nonzero, the work ends, and the
 * result is the mesh so far; NULL: never called. Fails as cvtm_constrained_delaunay. */
cvtm_status cvtm_adapt(const cvtm_boundary *boundary, const cvtm_metric_field *field,
                       int64_t wanted, int (*stop)(const void *context), const void *context,
                       cvtm_mesh *mesh, cvtm_regions *regions, cvtm_adapt_figures *figures,
                       cvtm_error *error);
