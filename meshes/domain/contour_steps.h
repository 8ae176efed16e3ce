/* Inside meshes only: the steps from a mask, labels or polygons to a contour. */
#pragma once

#include "base/host.h"
#include "meshes/contour.h"

#include <math.h>

/* A contour to which arcs are appended. Initialised to {0}, except has_twins: nonzero: made.twin is
 * set, to -1. If memory runs out, `failed` is set, and nothing is appended any more; the caller
 * frees `made`. */
typedef struct cvtm_contour_builder {
  cvtm_contour made;
  int64_t points, arc_capacity, point_capacity; /* points: of all arcs */
  int has_twins, failed;
} cvtm_contour_builder;

void cvtm_contour_begin_arc(cvtm_contour_builder *builder, int32_t left, int32_t right);
/* Appends a point to the last arc. */
void cvtm_contour_add_point(cvtm_contour_builder *builder, const double *place, int corner);
/* Removes the last arc if it is a closed curve around an area below `smallest`. */
void cvtm_contour_drop_small(cvtm_contour_builder *builder, double smallest);

/* A mask (coverage) or labels, of width * height pixels; the other pointer is NULL. Both NULL: a
 * frame, all of label 1. */
typedef struct cvtm_contour_picture {
  const float *coverage;
  const int32_t *labels;
  int width, height;
  cvtm_border border;
} cvtm_contour_picture;

/* The region of a pixel; for a mask 1 or 0. */
static inline int32_t cvtm_contour_label(const cvtm_contour_picture *picture, int i, int j) {
  const int64_t pixel = (int64_t)j * picture->width + i;
  if (picture->labels != NULL) return picture->labels[pixel];
  return picture->coverage == NULL || picture->coverage[pixel] >= 0.5F;
}

/* Coordinates on a torus are multiples of 2^-30: shifts by its width and height are exact. */
static inline double cvtm_round_on_torus(double v) { return rint(v / 0x1p-30) * 0x1p-30; }

/* Traces the arcs between the regions by marching squares. The only corners are the ends of arcs at
 * junctions. With a flat border, arcs end on the border. With a periodic border the image is a
 * torus: arcs continue beyond the image, and an arc without a junction ends at its first point or
 * at a periodic copy of that point. On failure the caller frees the contour. */
cvtm_status cvtm_contour_trace(const cvtm_contour_picture *picture, double smallest,
                               cvtm_contour *contour, cvtm_error *error);

/* The steps of smoothing labels (contour_smooth.c), in this order: count the pixels of the regions
 * into contour->region_area; drop closed arcs around fewer pixels than `smallest`, and correct the
 * areas; move the points of traced arcs; after the sides have been added, move the points until
 * each region has its counted area. */
cvtm_status cvtm_contour_count_areas(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                     cvtm_error *error);
void cvtm_contour_drop_specks(cvtm_contour *contour, double smallest);
cvtm_status cvtm_contour_smooth(const cvtm_contour_picture *picture, double sigma,
                                cvtm_contour *contour, cvtm_error *error);
cvtm_status cvtm_contour_fit(const cvtm_contour_picture *picture, cvtm_contour *contour,
                             cvtm_error *error);

/* Adds the sides of the image to arcs traced with a flat or periodic border: straight arcs between
 * the corners of the image and the ends of arcs, wherever a region touches the side. Arcs on a
 * torus are first cut at the sides. There, points close to a side (0.45 pixels, or 0.25 if one side
 * of the arc is outside) are moved onto the side or, if the arc would then have the outside along a
 * side, a quarter of a pixel into the region. */
cvtm_status cvtm_contour_add_sides(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                   cvtm_error *error);

/* Finds the corners of traced arcs, and moves each to the intersection of the lines on its two
 * sides. A corner is not moved if curves would then cross or, with a flat or periodic border, the
 * corner would be close to a side of the image. angle: the least turn of a corner, degrees. */
cvtm_status cvtm_contour_find_corners(cvtm_contour *contour, const cvtm_contour_picture *picture,
                                      double angle, cvtm_error *error);

/* A planar map. Coordinate k of the points may move between low[k] and high[k]. */
typedef struct cvtm_area_map {
  double *points; /* 2 * point_count, y down */
  int64_t point_count;
  const double *low, *high;    /* 2 * point_count */
  const int32_t *edges;        /* 2 * edge_count */
  const int32_t *left, *right; /* regions on both sides of each edge, as seen with y up */
  int64_t edge_count;
} cvtm_area_map;

/* Moves the points so that the regions (ascending, > 0) have the wanted areas, as far as the bounds
 * allow; other regions may have any area. The movement is the smallest one along the normals found
 * by Newton's method by least-squares steps weighted by the lengths of the edges. *worst: the
 * largest remaining relative error. */
cvtm_status cvtm_fit_areas(const cvtm_area_map *map, const int32_t *regions, const double *areas,
                           int64_t region_count, double *worst, cvtm_error *error);

/* A straight edge along a side of a periodic image, in increasing coordinates. */
typedef struct cvtm_side_edge {
  int axis; /* perpendicular to the side: the axis of the coordinate that is constant */
  int is_far;
  double low, high;
  int64_t number;
} cvtm_side_edge;

/* For qsort; edges that are copies of each other become neighbours. */
static inline int cvtm_compare_side_edges(const void *left, const void *right) {
  const cvtm_side_edge *a = left, *b = right;
  if (a->axis != b->axis) return a->axis - b->axis;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return a->is_far - b->is_far;
}

static inline int cvtm_are_copies(const cvtm_side_edge *a, const cvtm_side_edge *b) {
  return a->axis == b->axis && a->low == b->low && a->high == b->high && a->is_far != b->is_far;
}

/* The largest number of points of an arc. */
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
