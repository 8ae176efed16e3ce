/* Inside meshes only: half-edges and corners of a triangle mesh. */
#pragma once

#include "meshes/mesh.h"

#include <stdint.h>

/* Finds the twins of half-edges. Half-edge h = 3 t + k runs from corner k of triangle t to the next
 * corner; its twin is the same edge in the neighbouring triangle, -1 on the border. corners, twin:
 * 3 * triangles. at: for each vertex a half-edge that leaves it, or -1; may be NULL. */
cvtm_status cvtm_find_twins(const int32_t *corners, int64_t triangles, int64_t vertices,
                            int64_t *twin, int64_t *at, cvtm_error *error);

/* CVTM_ERROR_ARGUMENT if a corner of a triangle is not the index of a vertex. */
cvtm_status cvtm_check_corners(const cvtm_mesh *mesh, cvtm_error *error);

/* Finds the triangle on the left of each edge of the regions. face[e] = 3 t + k: edge e runs from
 * corner k of triangle t to the next corner. Returns 0 if memory runs out. */
int cvtm_find_edge_faces(const int32_t *triangles, int64_t triangle_count, int64_t vertex_count,
                         const cvtm_regions *regions, int64_t *face);

/* Numbers the parts into which segments divide a mesh, from 0 on, in the order of their first
 * triangles; returns the number of parts. segment: per half-edge, -1: none. part, stack: per
 * triangle. is_open: per part (room for one per triangle): nonzero if the part extends to the
 * border without crossing a segment. */
int32_t cvtm_find_parts(int64_t triangles, const int64_t *twin, const int32_t *segment,
                        int32_t *part, uint8_t *is_open, int64_t *stack);

static inline int64_t cvtm_half_after(int64_t h) { return h % 3 == 2 ? h - 2 : h + 1; }
static inline int64_t cvtm_half_before(int64_t h) { return h % 3 == 0 ? h + 2 : h - 1; }
