/* Inside the library: metrics, which say how long an edge is to be in each
 * direction: an edge e from a to b has the length sqrt (e' M e), and is to have the length 1. */
#ifndef CVTMESH_MESHES_REFINE_METRIC_H
#define CVTMESH_MESHES_REFINE_METRIC_H

#include "base/status.h"

#include <math.h>
#include <stdint.h>

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

/* The metric at a place, the logarithms interpolated linearly (Arsigny et al. 2006). */
cvtm_metric cvtm_metric_at(const cvtm_metric_field *field, double x, double y);
/* The mean over the field of sqrt (det M), the density of triangles. */
double cvtm_metric_mean_density(const cvtm_metric_field *field);

#endif
