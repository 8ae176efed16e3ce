/* The boundary of a domain in an image: curves with sub-pixel coordinates, their corners and the
 * regions on both sides, and the sampling of the curves by a size field. */
#pragma once

#include "base/status.h"
#include "meshes/polygon_file.h"

#include <stdint.h>

CVTM_API_BEGIN

/* A contour consists of arcs. An arc is a polyline that ends in junctions, where three regions or
 * more meet, or is closed and repeats its first point at the end. Arc k has the points start[k] ..
 * start[k + 1] - 1, in pixels, y down. left and right are the regions on the two sides of the arc,
 * seen with y up; 0 is the outside. Arrays are malloc'd and owned. */
typedef struct cvtm_contour {
  int64_t arc_count;
  int64_t *start;
  double *points;
  uint8_t *corner; /* per point: nonzero for a corner, which becomes a vertex at this position; ends
                      of open arcs are corners */
  int32_t *left, *right;
  int64_t *twin; /* per arc: an earlier arc on the opposite side of a periodic image of which it is
                    a copy, or -1; NULL: the image is not periodic */
  /* Set for smoothed labels, else 0 and NULL: the regions in ascending order, the areas of their
   * pixels, which the boundaries keep, and width and height of the image. */
  int64_t region_count;
  int32_t *region;
  double *region_area, size[2];
  double area;         /* of all regions */
  double corner_shift; /* largest distance of a corner from the traced curve */
  int64_t dropped;     /* number of closed curves dropped because of their small area */
  int keep_on_curve;   /* set by the caller, nonzero: vertices of the boundary stay on the curve */
} cvtm_contour;

void cvtm_contour_free(cvtm_contour *contour);

/* How a domain that reaches the sides of the image is bounded there. EMPTY: pixels beyond the sides
 * count as outside. FLAT: the domain ends exactly on the sides. PERIODIC: as FLAT, but regions
 * continue at the opposite side, and each vertex on one side has a copy on the opposite side. */
typedef enum cvtm_border { CVTM_BORDER_EMPTY, CVTM_BORDER_FLAT, CVTM_BORDER_PERIODIC } cvtm_border;

/* A comment ends with the default; where it names none, the default is 0 or NULL. */
typedef struct cvtm_contour_options {
  double corner_angle; /* degrees; a turn by at least this is a corner; 40 (polygons: 10) */
  double smallest;     /* square pixels; closed curves around a smaller area are dropped; 1 */
  cvtm_border border;  /* EMPTY; PERIODIC is also possible for polygons */
  double smooth;       /* for labels: the scale of the smoothing of curves, pixels; 0: none */
  CVTM_RESERVED(8);
} cvtm_contour_options;

void cvtm_contour_defaults(cvtm_contour_options *options);

/* Traces the contour of half coverage by marching squares (Lorensen & Cline 1987, in the plane)
 * between the centres of pixels. coverage: width * height in [0, 1]. The inside is region 1. Curves
 * at the border of the image follow options->border. Where four pixels meet of which only two
 * diagonal ones are inside, the brighter diagonal is connected. There is a corner where the
 * straight lines fitted on both sides turn by corner_angle or more. The corner is moved to the
 * intersection of these lines, at most half a pixel from the curve, because pixels blunt corners.
 * The contour of a single pixel is a diamond with half the pixel's area, which is dropped by
 * default. CVTM_ERROR_INPUT if no curve is left. */
cvtm_status cvtm_contour_of_mask(const float *coverage, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error);
/* cvtm_contour_of_mask for labels >= 0, with curves half way between the centres; 0 is the
 * outside. With options->smooth > 0 the curves between junctions become smoothing splines that
 * cross the segments between the same centres, so no curves cross and no region is lost. They
 * are then moved along their normals until each region has the area of its pixels, if that is
 * possible within half a pixel. With smoothing an empty border is treated as flat, and
 * `smallest` is a number of pixels. */
cvtm_status cvtm_contour_of_labels(const int32_t *labels, int width, int height,
                                   const cvtm_contour_options *options, cvtm_contour *contour,
                                   cvtm_error *error);
/* Makes the entire image one region, with a flat or periodic border. */
cvtm_status cvtm_contour_of_frame(int width, int height, const cvtm_contour_options *options,
                                  cvtm_contour *contour, cvtm_error *error);
/* Makes a contour of the unchanged rings. CVTM_ERROR_INPUT if a ring leaves the image or, with a
 * periodic border, if only some edges along a side, or none, have copies on the opposite side. */
cvtm_status cvtm_contour_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                     const cvtm_contour_options *options, cvtm_contour *contour,
                                     cvtm_error *error);

/* Sets coverage (width * height) to the fraction of each pixel that lies in regions > 0. */
cvtm_status cvtm_contour_coverage(const cvtm_contour *contour, int width, int height,
                                  float *coverage, cvtm_error *error);

/* The wanted spacing at (x, y), > 0, in pixels. */
typedef double (*cvtm_spacing)(const void *context, double x, double y);

/* Vertices on the contour and the edges between neighbours. */
typedef struct cvtm_boundary {
  int64_t vertex_count, edge_count;
  double *points;        /* 2 * vertex_count */
  uint8_t *corner;       /* per vertex */
  int32_t *edges;        /* 2 * edge_count, in the direction of the arc */
  int32_t *left, *right; /* per edge */
  double *deviation;     /* per edge: largest distance between the edge and its part of the contour;
                            with keep_on_curve the edge is of second order */
  double *along;         /* per vertex: the arc length from the corner before it; 0 at corners */
  double *home;          /* per vertex: `along` when it was sampled */
  /* NULL without periodic sides. Per edge: the edge that is its translated copy, or -1; and the
   * number k of the translation, from 0 on, of an original, ~k of its copy. The outside is on one
   * side of an edge and on the opposite side of its copy. */
  int32_t *twin, *period;
} cvtm_boundary;

/* Nonzero if an edge and its twin run in opposite directions. */
static inline int cvtm_twin_is_turned(const cvtm_boundary *b, int64_t e) {
  return (b->left[e] == 0) == (b->left[b->twin[e]] == 0);
}

void cvtm_boundary_free(cvtm_boundary *boundary);
/* The largest deviation of all edges. */
double cvtm_boundary_deviation(const cvtm_boundary *boundary);

/* Samples the contour: every corner becomes a vertex, and between corners the vertices divide the
 * integral of 1 / spacing into equal parts. The vertices then move perpendicularly to the curve so
 * that the edges bound the same area as the contour, by at most half a pixel and a fifth of the
 * shorter edge. With contour->keep_on_curve they do not move, because edges of second order bend
 * with the curve. */
cvtm_status cvtm_boundary_sample(const cvtm_contour *contour, cvtm_spacing spacing,
                                 const void *context, cvtm_boundary *boundary, cvtm_error *error);

/* Moves vertices until each region has the area in contour->region_area. Vertices on the sides of
 * the image do not move. There are at most three passes; in each a vertex moves by at most half a
 * pixel and a fifth of its shortest edge. Corners move only with move_corners, and half as far. A
 * vertex does not move if edges would then cross. Does nothing if the contour has no areas. */
cvtm_status cvtm_boundary_fit(const cvtm_contour *contour, int move_corners,
                              cvtm_boundary *boundary, cvtm_error *error);

/* Moves the vertices of a sampled boundary along the contour, except corners and one vertex of
 * every curve without corners. A vertex moves by the fraction `share` towards the point of the
 * contour nearest to its target (2 * vertex_count). It remains within a third of the arc to its
 * neighbours as sampled, so that the order of vertices does not change. It then moves
 * perpendicularly to the curve as in cvtm_boundary_sample. A vertex does not move if an edge would
 * then cross another one, or deviate from the contour by more than half a pixel and more than
 * before. If the function fails, no vertex has moved. */
cvtm_status cvtm_boundary_slide(const cvtm_contour *contour, const double *target, double share,
                                cvtm_boundary *boundary, cvtm_error *error);

CVTM_API_END
