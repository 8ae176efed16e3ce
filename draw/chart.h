/* Charts of curves with axes and a legend, as SVG. */
#ifndef CVTMESH_DRAW_CHART_H
#define CVTMESH_DRAW_CHART_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The points are joined in their order. One that is not finite, or not positive on a logarithmic
 * axis, interrupts the curve. */
typedef struct cvtm_chart_curve {
  const char *name; /* of the legend */
  const double *x, *y;
  int64_t count;
  int dashed, marked; /* marked: every point has a dot */
} cvtm_chart_curve;

typedef struct cvtm_chart_axis {
  const char *title;
  int logarithmic;
} cvtm_chart_axis;

typedef struct cvtm_chart {
  const char *title;
  cvtm_chart_axis x, y;
  const cvtm_chart_curve *curves; /* borrowed */
  int count;
} cvtm_chart;

/* Writes the chart; both axes cover all points. Fails with CVTM_ERROR_INPUT if the file cannot be
 * written, and with CVTM_ERROR_ARGUMENT if no point can be shown; then there is no file. */
cvtm_status cvtm_chart_write_svg(const char *path, const cvtm_chart *chart, cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif
