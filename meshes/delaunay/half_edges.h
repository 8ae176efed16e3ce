/* Inside meshes only: a triangulation whose vertices can be inserted, removed and moved one at a
 * time. Such changes can be undone. Half-edges as in meshes/elements/twins.h, counterclockwise. */
#pragma once

#include "base/status.h"
#include "meshes/delaunay/grid.h"
#include "meshes/elements/twins.h"

#include <stddef.h>
#include <stdint.h>

enum { CVTM_WORTH_THREADS = 1 << 13 }; /* vertices or half-edges, for a loop over all */

typedef enum cvtm_change_kind {
  CVTM_CHANGED_CORNER,
  CVTM_CHANGED_TWIN,
  CVTM_CHANGED_SEGMENT,
  CVTM_CHANGED_REGION,
  CVTM_CHANGED_AT,
  CVTM_CHANGED_PLACE,
  CVTM_TAKEN_TRIANGLE,
  CVTM_DROPPED_TRIANGLE,
  CVTM_ADDED_VERTEX
} cvtm_change_kind;

typedef struct cvtm_change {
  int64_t index, old;
  cvtm_change_kind kind;
} cvtm_change;

/* A rectangle that flips may not leave. is_left: nonzero after a flip that would have. */
typedef struct cvtm_fence {
  cvtm_grid_point low, high;
  int is_left;
} cvtm_fence;

/* Triangles and vertices keep their numbers; corner[3 * t] is -1 for a removed triangle, and at[v]
 * for a removed vertex. A half-edge with segment >= 0 is never flipped. Every function below except
 * cvtm_half_edges_flip keeps the triangles positively oriented. */
typedef struct cvtm_half_edges {
  int64_t vertex_count, vertex_capacity, triangle_count, triangle_capacity;
  cvtm_grid_point *grid; /* per vertex */
  int64_t *at;           /* per vertex: a half-edge that leaves it */
  int32_t *corner;       /* per half-edge: its origin */
  int64_t *twin;         /* per half-edge; -1 on the border */
  int32_t *segment;      /* per half-edge: the segment that it is a part of, or -1 */
  int32_t *region;       /* per triangle */
  int records_changes;   /* nonzero: the functions below record their changes */
  int64_t *unused;       /* dropped triangles, to be reused */
  int64_t unused_count, unused_capacity;
  cvtm_change *changes; /* since the last commit */
  int64_t change_count, change_capacity;
  int64_t *stack; /* half-edges that may have to be flipped */
  int64_t depth, stack_capacity;
  cvtm_fence *fence; /* NULL: none */
  int out_of_memory; /* nonzero: the triangulation is invalid and can only be freed */
} cvtm_half_edges;

/* Copies count points and `triangles` triangles; no half-edge is part of a segment yet. region
 * NULL: all regions are -1, and no change is recorded. */
cvtm_status cvtm_half_edges_create(const cvtm_grid_point *grid, int64_t count,
                                   const int32_t *corners, const int32_t *region, int64_t triangles,
                                   cvtm_half_edges *m, cvtm_error *error);
void cvtm_half_edges_free(cvtm_half_edges *m);

/* Makes the Delaunay triangulation of points by the rules of cvtm_delaunay. Vertex v is point v, of
 * coincident points only the first has triangles, and all regions are -1. Records no changes. */
cvtm_status cvtm_delaunay_half_edges(const double *points, int64_t count, cvtm_half_edges *m,
                                     cvtm_grid_frame *frame, cvtm_error *error);

/* Removes the triangles of regions <= 0, and renumbers the others. */
cvtm_status cvtm_half_edges_drop_outside(cvtm_half_edges *m, cvtm_error *error);

/* The half-edge from one vertex to another or, if there is only its reverse, the reverse; -1:
 * none. */
int64_t cvtm_half_edges_find(const cvtm_half_edges *m, int32_t from, int32_t to);

/* Makes both halves of an edge parts of a segment. */
void cvtm_half_edges_mark(cvtm_half_edges *m, int64_t h, int32_t segment);

/* Inserts a vertex strictly inside triangle t, or on half-edge h and its twin. A vertex on an edge
 * may lie beside the edge if all new triangles are positively oriented. The two parts of an edge of
 * a segment belong to the segment, too. Returns the vertex; -1 if it cannot be inserted there. */
int32_t cvtm_half_edges_insert_inside(cvtm_half_edges *m, int64_t t, cvtm_grid_point place);
int32_t cvtm_half_edges_insert_on(cvtm_half_edges *m, int64_t h, cvtm_grid_point place);

typedef struct cvtm_cavity_edge {
  int64_t half, twin;
  int32_t corner, segment;
} cvtm_cavity_edge;

/* What a new vertex replaces in a constrained Delaunay triangulation: triangles whose circumcircles
 * contain it, and the edges around them, counterclockwise. Initialised to {0}; the caller frees
 * triangle and edge. */
typedef struct cvtm_cavity {
  int64_t *triangle;
  cvtm_cavity_edge *edge;
  int64_t triangle_count, edge_count, triangle_capacity, edge_capacity;
} cvtm_cavity;

/* Finds the cavity of a point that is inside triangle t or on an edge of it that is part of no
 * segment. Returns 0 if the point cannot be inserted there. */
int cvtm_half_edges_find_cavity(cvtm_half_edges *m, int64_t t, cvtm_grid_point place,
                                cvtm_cavity *cavity);
/* Inserts the vertex; the triangulation stays constrained Delaunay. Changes are not recorded.
 * Returns the vertex, or -1 if memory runs out. */
int32_t cvtm_half_edges_fill_cavity(cvtm_half_edges *m, const cvtm_cavity *cavity,
                                    cvtm_grid_point place);

/* Removes an interior vertex, or a vertex between two parts of a segment, which become one part.
 * Returns 0 if that is impossible; the caller then undoes the changes. */
int cvtm_half_edges_remove(cvtm_half_edges *m, int32_t v);

/* Moves a vertex. Returns 0, without a move, if a triangle around the vertex would be inverted. */
int cvtm_half_edges_move(cvtm_half_edges *m, int32_t v, cvtm_grid_point place);

/* Flips edge h: replaces it by the other diagonal of the quadrilateral of its two triangles. h is
 * then that diagonal. */
void cvtm_half_edges_flip(cvtm_half_edges *m, int64_t h);

/* Restores the constrained Delaunay property after the functions above, by Lawson's flips. */
void cvtm_half_edges_restore(cvtm_half_edges *m);
/* Lists an edge, or all edges, as possibly to be flipped. */
void cvtm_half_edges_push(cvtm_half_edges *m, int64_t h);
static inline void cvtm_half_edges_push_all(cvtm_half_edges *m) {
  m->depth = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    if (m->twin[h] > h) cvtm_half_edges_push(m, h);
}
/* Restores the constrained Delaunay property by testing every edge or, with has_moved, the edges of
 * triangles with a vertex for which it is nonzero. */
void cvtm_half_edges_restore_all(cvtm_half_edges *m, const uint8_t *has_moved);

/* Makes a mesh of all triangles and the parts of segments. number: the number of each vertex in the
 * mesh, which has count vertices. Each triangle begins with its smallest vertex; triangles are
 * sorted by region and then by vertices. The outside is never on the left of a part. The caller
 * sets mesh->points (2 * count, malloc'd). */
cvtm_status cvtm_half_edges_extract(const cvtm_half_edges *m, const int32_t *number, int64_t count,
                                    cvtm_mesh *mesh, cvtm_regions *regions, cvtm_error *error);

/* Undoes all changes after the first `mark`. */
void cvtm_half_edges_undo(cvtm_half_edges *m, int64_t mark);
/* Forgets the recorded changes, which can then not be undone. */
void cvtm_half_edges_commit(cvtm_half_edges *m);

/* Keeps all changes, or undoes them. */
static inline void cvtm_half_edges_end(cvtm_half_edges *m, int keeps) {
  if (keeps)
    cvtm_half_edges_commit(m);
  else
    cvtm_half_edges_undo(m, 0);
}

/* The next half-edge that leaves the same vertex, counterclockwise; -1 at the border. */
static inline int64_t cvtm_turn_left(const cvtm_half_edges *m, int64_t h) {
  return m->twin[cvtm_half_before(h)];
}

static inline int64_t cvtm_turn_right(const cvtm_half_edges *m, int64_t h) {
  return m->twin[h] < 0 ? -1 : cvtm_half_after(m->twin[h]);
}

/* The first half-edge of the fan of a vertex; cvtm_next_in_fan gives the others. */
static inline int64_t cvtm_first_of_fan(const cvtm_half_edges *m, int64_t begin) {
  int64_t h = begin;
  for (;;) {
    const int64_t further = cvtm_turn_right(m, h);
    if (further < 0 || further == begin) return further < 0 ? h : begin;
    h = further;
  }
}

/* The half-edge after h, counterclockwise, in the fan that begins at `first`; -1: none. */
static inline int64_t cvtm_next_in_fan(const cvtm_half_edges *m, int64_t h, int64_t first) {
  const int64_t next = cvtm_turn_left(m, h);
  return next == first ? -1 : next;
}

static inline int32_t cvtm_end_of(const cvtm_half_edges *m, int64_t h) {
  return m->corner[cvtm_half_after(h)];
}

/* The corner opposite to a half-edge. */
static inline int32_t cvtm_apex_of(const cvtm_half_edges *m, int64_t h) {
  return m->corner[cvtm_half_before(h)];
}

/* Nonzero if a vertex is outside of the fence. */
static inline int cvtm_is_fenced_off(const cvtm_half_edges *m, int32_t v) {
  cvtm_fence *f = m->fence;
  const cvtm_grid_point p = m->grid[v];
  if (f == NULL || (p.x >= f->low.x && p.y >= f->low.y && p.x <= f->high.x && p.y <= f->high.y))
    return 0;
  f->is_left = 1;
  return 1;
}

static inline int cvtm_flip_is_fenced_off(const cvtm_half_edges *m, int64_t h) {
  return cvtm_is_fenced_off(m, m->corner[h]) || cvtm_is_fenced_off(m, cvtm_end_of(m, h)) ||
         cvtm_is_fenced_off(m, cvtm_apex_of(m, h)) ||
         cvtm_is_fenced_off(m, cvtm_apex_of(m, m->twin[h]));
}

static inline int64_t cvtm_orient_of(const cvtm_half_edges *m, int32_t a, int32_t b, int32_t c) {
  return cvtm_orient(m->grid[a], m->grid[b], m->grid[c]);
}
