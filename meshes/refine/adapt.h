/* Meshes of triangles that are even in a metric. */
#ifndef CVTMESH_MESHES_REFINE_ADAPT_H
#define CVTMESH_MESHES_REFINE_ADAPT_H

#include "meshes/contour.h"
#include "meshes/mesh.h"
#include "meshes/refine/metric.h"

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
