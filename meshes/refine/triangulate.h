/* Inside meshes and the Python package: triangulations of vertices, segments, holes and regions in
 * arrays. The options are the switches of Shewchuk's program Triangle. */
#pragma once

#include "base/status.h"

#include <stdint.h>

/* The arrays are borrowed; NULL where the number is 0. Coordinates have y up. */
typedef struct cvtm_triangulate_input {
  int64_t vertex_count;
  const double *vertices;   /* 2 * vertex_count */
  int64_t attribute_count;  /* per vertex */
  const double *attributes; /* attribute_count * vertex_count */
  const int32_t *markers;   /* vertex_count, or NULL */
  int64_t segment_count;
  const int32_t *segments;        /* 2 * segment_count */
  const int32_t *segment_markers; /* segment_count, or NULL */
  int64_t hole_count;
  const double *holes; /* 2 * hole_count: a point in each hole */
  int64_t region_count;
  const double
      *regions; /* 4 * region_count: a point, its attribute, the largest area (<= 0: any) */
  int64_t triangle_count;
  const int32_t *triangles;         /* 3 * triangle_count */
  int64_t triangle_attribute_count; /* per triangle */
  const double *triangle_attributes;
  const double *triangle_areas; /* triangle_count (<= 0: any), or NULL */
} cvtm_triangulate_input;

/* The letters are Triangle's switches. */
typedef struct cvtm_triangulate_options {
  int takes_segments; /* p: otherwise segments, holes and regions are ignored */
  int refines;        /* r: refines the triangles given */
  int keeps_hull;     /* c */
  double min_angle;   /* q: degrees, 0 .. 40; 0: no bound */
  double max_area;    /* a with a number; 0: no bound */
  int has_areas;      /* a without a number: uses the areas of regions or triangles */
  int marks_regions;  /* A */
  int is_conforming;  /* D */
  int keeps_segments; /* Y: no new vertex on the border; 2 (YY): on no segment */
  int64_t most_added; /* S: largest number of new vertices; < 0: any number */
  int (*stop)(
      const void *context); /* if it returns nonzero, the call fails with CVTM_ERROR_INPUT */
  const void *stop_context;
} cvtm_triangulate_options;

/* Arrays are malloc'd and owned. */
typedef struct cvtm_triangulated {
  int64_t vertex_count; /* the given vertices in their order, then new ones */
  double *vertices, *attributes;
  int32_t *markers;
  int64_t triangle_count;
  int32_t *triangles, *neighbors; /* neighbors: the triangle opposite to each corner, or -1 */
  int64_t triangle_attribute_count;
  double *triangle_attributes;
  int64_t edge_count;
  int32_t *edges, *edge_markers;
  uint8_t *is_segment; /* per edge: nonzero if it is part of a segment */
} cvtm_triangulated;

void cvtm_triangulated_free(cvtm_triangulated *made);

/* Triangulates. Segments that cross are divided at the crossing. Of coincident vertices the first
 * counts; the others belong to no triangle. CVTM_ERROR_INPUT with the reason for every input that
 * has no triangulation. */
cvtm_status cvtm_triangulate(const cvtm_triangulate_input *input,
                             const cvtm_triangulate_options *options, cvtm_triangulated *made,
                             cvtm_error *error);
