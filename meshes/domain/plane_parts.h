/* Inside meshes/domain only: the parts into which segments divide the plane. */
#pragma once

#include "base/host.h"
#include "meshes/contour.h"
#include "meshes/mesh.h"

/* The constrained triangulation of the convex hull, and the parts into which segments divide it. */
typedef struct cvtm_plane_parts {
  cvtm_mesh mesh;      /* mirrored, because y is up here */
  cvtm_regions edges;  /* the segments */
  int32_t *source;     /* per vertex: the point that it was */
  cvtm_scratch memory; /* owns the next arrays */
  int64_t *twin;       /* as cvtm_find_twins gives them */
  int64_t *face;       /* per segment: its half-edge */
  int64_t *stack;      /* memory for all half-edges */
  int32_t *segment;    /* per half-edge: its segment; -1: none */
  int32_t *part;       /* per triangle: the number of its part */
  int32_t *region; /* per part: 0 if it extends to the hull without crossing a segment; else -1, to
                      be replaced by the caller */
  int32_t part_count;
} cvtm_plane_parts;

/* Triangulates segments (2 * segment_count points), which may share end points or touch, but not
 * cross (CVTM_ERROR_INPUT). The caller frees the result, also on failure. */
cvtm_status cvtm_plane_parts_create(double *points, int64_t count, int32_t *segments,
                                    int64_t segment_count, cvtm_plane_parts *p, cvtm_error *error);
void cvtm_plane_parts_free(cvtm_plane_parts *p);

/* Nonzero for a segment between two points that stays although the same region is on both sides. */
typedef int (*cvtm_crack_test)(const void *context, int32_t a, int32_t b);

/* Lists the segments beside a region other than 0, and their ends in the given order, all corners.
 * is_crack: NULL: no segments with the same region on both sides, and no points inside that are on
 * no segment. */
cvtm_status cvtm_plane_parts_boundary(const double *points, const cvtm_plane_parts *p,
                                      cvtm_crack_test is_crack, const void *context,
                                      cvtm_boundary *b, cvtm_error *error);
