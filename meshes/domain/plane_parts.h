/* Inside meshes only: the parts into which segments divide the plane. */
#ifndef CVTMESH_MESHES_DOMAIN_PLANE_PARTS_H
#define CVTMESH_MESHES_DOMAIN_PLANE_PARTS_H

#include "meshes/contour.h"
#include "meshes/mesh.h"

/* The constrained triangulation of the convex hull, and the parts that its segments bound. */
typedef struct cvtm_plane_parts {
  cvtm_mesh mesh;      /* y is taken to be up, so that it is one in a mirror */
  cvtm_regions edges;  /* the segments */
  int32_t *source;     /* per vertex: the point that it was */
  int64_t *twin, *at;  /* as cvtm_find_twins gives them */
  int64_t *face;       /* per segment: its half-edge */
  int64_t *stack;      /* as long as there are half-edges */
  uint8_t *is_segment; /* per half-edge */
  int32_t *part;       /* per triangle: from 0 on */
  int32_t *region;     /* per part: 0 if the hull is reached without crossing a segment; else -1,
                          for the caller to replace */
  int32_t part_count;
} cvtm_plane_parts;

/* Segments, 2 * segment_count points, may meet in their ends and in points; CVTM_ERROR_INPUT if
 * they cross. The caller frees, on failure too. */
cvtm_status cvtm_plane_parts_create(double *points, int64_t count, int32_t *segments,
                                    int64_t segment_count, cvtm_plane_parts *parts,
                                    cvtm_error *error);
void cvtm_plane_parts_free(cvtm_plane_parts *parts);

/* The segments with a region other than 0 beside them, and their ends, all of them corners.
 * with_cracks: those with the same region on both sides, too. */
cvtm_status cvtm_plane_parts_boundary(const double *points, const cvtm_plane_parts *parts,
                                      int with_cracks, cvtm_boundary *boundary, cvtm_error *error);

#endif
