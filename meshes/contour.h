/* The boundary of a domain in an image: curves with sub-pixel places, corners and the regions on
 * their two sides, and their sampling by a size field. */
#ifndef CVTMESH_MESHES_CONTOUR_H
#define CVTMESH_MESHES_CONTOUR_H

#include "base/status.h"
#include "meshes/polygon_file.h"

#include <stdint.h>

CVTM_API_BEGIN

/* Arcs: polylines that end in junctions, where three regions or more meet, or are closed, the
 * first point repeated at the end. Arc k has the points start[k] .. start[k + 1] - 1, in
 * pixels with y down. left and right, as seen with y up along the arc: the regions beside it,
 * 0 for the outside. Arrays are malloc'd and owned. */
typedef struct cvtm_contour {
  int64_t arc_count;
  int64_t *start;
  double *points;
  uint8_t *corner; /* per point: keeps its place as a vertex; ends of open arcs are corners */
  int32_t *left, *right;
  int64_t *twin; /* per arc: the earlier arc that it equals, on the opposite side of a periodic
                    image, or -1; NULL: the image is not periodic */
  /* With smoothed labels: the regions, ascending, and the areas of their pixels, which boundaries
   * keep, and the sides of the image; else 0 and NULL. */
  int64_t region_count;
  int32_t *region;
  double *region_area, size[2];
  double area;         /* of all regions */
  double corner_shift; /* farthest that a corner was moved from the traced curve */
  int64_t dropped;     /* closed curves around less than the smallest area */
  int keep_on_curve;   /* set by the caller: samples of the boundary lie on the curve */
} cvtm_contour;

void cvtm_contour_free(cvtm_contour *contour);

/* What the sides of the image are to a domain that reaches them. empty: beyond them there is
 * nothing. flat: the domain ends exactly there. periodic: that, too, but regions continue at the
 * opposite side, whose points are the same but for one coordinate. */
typedef enum cvtm_border { CVTM_BORDER_EMPTY, CVTM_BORDER_FLAT, CVTM_BORDER_PERIODIC } cvtm_border;

typedef struct cvtm_contour_options {
  double corner_angle; /* degrees; a turn at least so sharp is a corner; 40 (polygons: 10) */
  double smallest;     /* square pixels: closed curves around less are dropped; 1 */
  cvtm_border border;  /* empty; rings of polygons may be periodic */
  double smooth;       /* of labels: the scale on which curves are smoothed, pixels; 0: not */
  CVTM_RESERVED(8);
} cvtm_contour_options;

void cvtm_contour_defaults(cvtm_contour_options *options);

/* Marching squares (Lorensen & Cline 1987, in the plane) between the pixels' centres at half
 * coverage. What touches the border of the image ends there, or continues at the opposite side. Of
 * pixels that meet in a corner alone the brighter diagonal is joined. The regions are 1, and 0.
 * coverage: width * height in [0, 1]. A corner is where the straight lines fitted to both sides
 * turn by corner_angle or more; it is put where they meet, at most half a pixel from the curve
 * (pixels have blunt corners). A single pixel is a diamond of half its area and is dropped by
 * default. CVTM_ERROR_INPUT if nothing is left. */
cvtm_status cvtm_contour_of_mask(const float *coverage, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error);
/* The same between labels >= 0, half way between the centres; 0 is the outside. With
 * options->smooth > 0 the curves between junctions become smoothing splines that cross the segments
 * between the same centres, so that no curve crosses another and no region is lost; they are moved
 * along their normals until each region has the area of its pixels, if that is possible within half
 * a pixel. The border is flat then if it is empty, and `smallest` counts pixels. */
cvtm_status cvtm_contour_of_labels(const int32_t *labels, int width, int height,
                                   const cvtm_contour_options *options, cvtm_contour *contour,
                                   cvtm_error *error);
/* The whole image, one region, with a flat or periodic border. */
cvtm_status cvtm_contour_of_frame(int width, int height, const cvtm_contour_options *options,
                                  cvtm_contour *contour, cvtm_error *error);
/* The rings as they are; CVTM_ERROR_INPUT if one leaves the image, or, with a periodic border, if
 * edges along opposite sides are not alike (sides without any equal edges need not be). */
cvtm_status cvtm_contour_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                     const cvtm_contour_options *options, cvtm_contour *contour,
                                     cvtm_error *error);

/* coverage (width * height): the share of each pixel that belongs to regions. */
cvtm_status cvtm_contour_coverage(const cvtm_contour *contour, int width, int height,
                                  float *coverage, cvtm_error *error);

/* The spacing wanted at a place, > 0, in pixels. */
typedef double (*cvtm_spacing)(const void *context, double x, double y);

/* Vertices on the contour and the edges between neighbours. */
typedef struct cvtm_boundary {
  int64_t vertex_count, edge_count;
  double *points;        /* 2 * vertex_count */
  uint8_t *corner;       /* per vertex */
  int32_t *edges;        /* 2 * edge_count, in the direction of the arc */
  int32_t *left, *right; /* per edge */
  double *deviation; /* per edge: largest distance between it (of second order where vertices are
                        kept on the curve) and its stretch of the contour */
  double *along;     /* per vertex: the arc length from the corner before it; 0 at corners */
  double *home;      /* per vertex: `along` when the vertex was sampled */
  int32_t *pairs; /* 2 * pair_count: vertices on the left or upper side of a periodic image that are
                     no ends of arcs, and the same on the opposite side */
  int64_t pair_count;
} cvtm_boundary;

void cvtm_boundary_free(cvtm_boundary *boundary);
/* The largest deviation of all edges. */
double cvtm_boundary_deviation(const cvtm_boundary *boundary);

/* Every corner is a vertex; between corners the vertices divide the integral of 1 / spacing
 * evenly. They then move across the curve, as far as makes the area beside each edge that of
 * the contour (at most half a pixel, and a fifth of the shorter edge), unless
 * contour->keep_on_curve is set: edges of second order bend with the curve. */
cvtm_status cvtm_boundary_sample(const cvtm_contour *contour, cvtm_spacing spacing,
                                 const void *context, cvtm_boundary *boundary, cvtm_error *error);

/* Moves vertices that are on no side of the image until each region has the contour's region_area,
 * in at most three passes of half a pixel and a fifth of their shortest edge; corners half as far,
 * and only with move_corners. What would make edges cross stays. Does nothing if the contour has no
 * areas. */
cvtm_status cvtm_boundary_fit(const cvtm_contour *contour, int move_corners,
                              cvtm_boundary *boundary, cvtm_error *error);

/* Moves the vertices of a sampled boundary along the contour: all but corners, and one of every
 * curve without any, go `share` of the way to the place nearest to their wish (2 * vertex_count)
 * within a stretch of their own, a third of the way to the neighbours as sampled, so that their
 * order stays; and then across the curve as above. What would leave the contour by more than half
 * a pixel (or more than before), or cross another edge, stays where it was. On failure nothing
 * has moved. */
cvtm_status cvtm_boundary_slide(const cvtm_contour *contour, const double *wish, double share,
                                cvtm_boundary *boundary, cvtm_error *error);

CVTM_API_END
#endif
