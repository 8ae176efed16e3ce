/* Inside meshes only: what the files adapt*.c share. */
#ifndef CVTMESH_MESHES_REFINE_ADAPT_STATE_H
#define CVTMESH_MESHES_REFINE_ADAPT_STATE_H

#include "meshes/refine/adapt.h"
#include "meshes/delaunay/half_edges.h"
#include "meshes/delaunay/snap.h"

/* What is no segment. */
enum { CVTM_ADAPT_INSIDE = -1, CVTM_ADAPT_CORNER = -2 };

typedef struct cvtm_adapter {
  cvtm_half_edges m;
  cvtm_grid_frame frame;
  const cvtm_metric_field *field;
  double scale;             /* of the field */
  cvtm_metric *metric;      /* per vertex, scaled, per grid step squared */
  int32_t *on;              /* per vertex: the segment that it may move along, or CVTM_ADAPT_... */
  int64_t capacity;         /* of both */
  int64_t live;             /* vertices that are left */
  double longest, shortest; /* an edge with a larger, smaller length is divided, removed */
  cvtm_regions given;       /* of the first triangulation; its edges are the segments */
  int (*stop)(const void *context);
  const void *stop_context;
  int64_t polls;
  int stopped;
  cvtm_adapt_figures *figures;
  cvtm_error *error;
} cvtm_adapter;

/* Triangulates the boundary. The caller calls cvtm_adapt_end, on failure too. */
cvtm_status cvtm_adapt_begin(cvtm_adapter *a, const cvtm_boundary *boundary, int64_t wanted);
void cvtm_adapt_end(cvtm_adapter *a);
int cvtm_adapt_is_over(cvtm_adapter *a);

/* Sets what a new vertex is. */
cvtm_status cvtm_adapt_describe(cvtm_adapter *a, int32_t v, int32_t segment);
/* The length of an edge: the mean of those by the metrics of its ends. */
double cvtm_adapt_length(const cvtm_adapter *a, int32_t u, int32_t v);
/* The same by the metrics at places between the ends, too, if the edge passes over many cells of
 * the field. */
double cvtm_adapt_length_along(const cvtm_adapter *a, int32_t u, int32_t v);
/* Of the triangle of three places with metrics: 1 if it is equilateral in the mean metric, <= 0 if
 * it is not positively oriented. */
double cvtm_adapt_shape(const cvtm_grid_point p[3], const cvtm_metric *const metric[3]);
double cvtm_adapt_quality(const cvtm_adapter *a, int32_t u, int32_t v, int32_t w);
/* The place on a segment nearest to (x, y), in grid steps. */
cvtm_grid_point cvtm_adapt_place_on(const cvtm_adapter *a, int32_t segment, double x, double y);
/* Moves each vertex once towards where its edges have the length 1, if no triangle around it
 * becomes worse than the worst. Diagonals are not exchanged. */
cvtm_status cvtm_adapt_smooth(cvtm_adapter *a);
/* The mesh, and what came out. */
cvtm_status cvtm_adapt_extract(const cvtm_adapter *a, cvtm_mesh *mesh, cvtm_regions *regions);

#endif
