/* Inside meshes only: the steps from a mask, labels or polygons to a contour. */
#ifndef CVTMESH_MESHES_DOMAIN_CONTOUR_STEPS_H
#define CVTMESH_MESHES_DOMAIN_CONTOUR_STEPS_H

#include "base/host.h"
#include "meshes/contour.h"

#include <math.h>

/* Allocates the arrays for `arcs` arcs and `points` points; arc_count stays 0. On failure the
 * caller frees. */
cvtm_status cvtm_contour_allocate(int64_t arcs, int64_t points, cvtm_contour *contour,
                                  cvtm_error *error);
/* Removes the last arc if it is a closed curve around an area below `smallest`; *points is the
 * number of points of all arcs. */
void cvtm_contour_drop_small(cvtm_contour *contour, double smallest, int64_t *points);

/* A mask (coverage) or labels, the other being NULL: width * height. */
typedef struct cvtm_contour_picture {
  const float *coverage;
  const int32_t *labels;
  int width, height;
  cvtm_border border;
} cvtm_contour_picture;

/* The region of a pixel: 1 or 0 of a mask. */
static inline int32_t cvtm_contour_label(const cvtm_contour_picture *picture, int i, int j) {
  const int64_t pixel = (int64_t)j * picture->width + i;
  return picture->labels != NULL ? picture->labels[pixel] : picture->coverage[pixel] >= 0.5F;
}

/* Marching squares: the arcs between the regions; corners are the ends of arcs in junctions alone,
 * and none of an empty border. At a flat border arcs end on it. On a torus, the image with a
 * periodic border, arcs continue beyond the image, and an arc without a junction ends at its begin
 * or at an image of that. On failure the caller frees the contour. */
cvtm_status cvtm_contour_trace(const cvtm_contour_picture *picture, double smallest,
                               cvtm_contour *contour, cvtm_error *error);

/* Smooth labels, see contour_smooth.c: counts the pixels of the regions into contour->region_area;
 * drops closed arcs around fewer pixels than `smallest`, for which the areas change; moves the
 * points of traced arcs; and, when the sides have been added, moves them to the areas. */
cvtm_status cvtm_contour_count_areas(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                     cvtm_error *error);
void cvtm_contour_drop_specks(cvtm_contour *contour, double smallest);
cvtm_status cvtm_contour_smooth(const cvtm_contour_picture *picture, double sigma,
                                cvtm_contour *contour, cvtm_error *error);
cvtm_status cvtm_contour_fit(const cvtm_contour_picture *picture, cvtm_contour *contour,
                             cvtm_error *error);

/* Adds the sides of the image to arcs traced with a flat or periodic border: straight arcs between
 * the corners of the image and the ends of arcs, where a region lies beside them. Arcs on a torus
 * are cut along the sides first; points within a quarter of a pixel of a side are put on it, or
 * beside the outside that far into the region. */
cvtm_status cvtm_contour_add_sides(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                   cvtm_error *error);

/* Finds the corners of traced arcs and puts them where the lines beside them meet, unless curves
 * then cross or, with any but an empty border, a corner came to a side of the image. `angle`, in
 * degrees: the least turn of a corner. */
cvtm_status cvtm_contour_find_corners(cvtm_contour *contour, const cvtm_contour_picture *picture,
                                      double angle, cvtm_error *error);

/* A planar map. Coordinate k of the points may move between low[k] and high[k]. */
typedef struct cvtm_area_map {
  double *points; /* 2 * point_count, y down */
  int64_t point_count;
  const double *low, *high;    /* 2 * point_count */
  const int32_t *edges;        /* 2 * edge_count */
  const int32_t *left, *right; /* regions of each edge, as seen with y up */
  int64_t edge_count;
} cvtm_area_map;

/* Moves the points so that the regions (ascending, > 0) have the areas wanted, as far as the bounds
 * allow. All other regions may have any area. The movement is along the normals, the same along a
 * boundary but for the bounds, and the smallest one: Newton's method for the areas, with steps of
 * least squares weighted by the lengths of the edges. *worst: the largest relative error left. */
cvtm_status cvtm_fit_areas(const cvtm_area_map *map, const int32_t *regions, const double *areas,
                           int64_t region_count, double *worst, cvtm_error *error);

/* The most points of an arc. */
static inline int64_t cvtm_contour_longest(const cvtm_contour *c) {
  int64_t longest = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc)
    if (c->start[arc + 1] - c->start[arc] > longest) longest = c->start[arc + 1] - c->start[arc];
  return longest;
}

static inline int cvtm_contour_is_closed(const cvtm_contour *c, int64_t arc) {
  const double *p = c->points + 2 * c->start[arc], *q = c->points + 2 * (c->start[arc + 1] - 1);
  return p[0] == q[0] && p[1] == q[1];
}

/* Cosine of the turn at b of the path a, b, c. */
static inline double cvtm_turn_cosine(const double *a, const double *b, const double *c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - b[0], vy = c[1] - b[1];
  return (ux * vx + uy * vy) / (hypot(ux, uy) * hypot(vx, vy));
}

#endif
