/* Inside meshes/sphere only: triangulations whose edges are flipped. */
#pragma once

#include "base/sphere.h"
#include "meshes/elements/twins.h"
#include "meshes/sphere.h"

/* A stack of half-edges that may have to be flipped; not shared between threads. */
typedef struct cvtm_sphere_stack {
  int32_t *half;
  int64_t depth, capacity;
  int out_of_memory;
} cvtm_sphere_stack;

void cvtm_sphere_push(cvtm_sphere_stack *stack, int32_t half);

/* Flips the half-edges of the stack, and those around flipped ones, until all are Delaunay. Sets
 * marked[v] (count entries, or NULL) for the corners of both triangles of flipped edges. The order
 * of triangles is lost until cvtm_sphere_order. */
void cvtm_sphere_flip(cvtm_sphere_mesh *mesh, cvtm_sphere_stack *stack, unsigned char *marked);

/* Brings triangles into the order of cvtm_sphere_mesh. */
cvtm_status cvtm_sphere_order(cvtm_sphere_mesh *mesh, cvtm_error *error);

/* Replaces each entry >= 0 by the number of such entries before it; entries -1 are kept. Returns
 * the number of such entries. */
int64_t cvtm_sphere_number(int64_t count, int32_t *number);

/* Numbers the edges between vertices, a half-edge and its twin alike, in the order of the
 * half-edges that end at the larger vertex. keep: nonzero for each vertex that is kept; edges
 * without one have number -1; NULL: all vertices are kept. edge: 3 * triangle_count. Returns the
 * number of kept edges. */
int64_t cvtm_sphere_number_edges(const cvtm_sphere_mesh *mesh, const unsigned char *keep,
                                 int32_t *edge);

/* The next half-edge, counterclockwise, around the vertex that h leaves. */
static inline int32_t cvtm_sphere_around(const cvtm_sphere_mesh *mesh, int32_t h) {
  return mesh->twins[cvtm_half_before(h)];
}

static inline int32_t cvtm_sphere_end(const cvtm_sphere_mesh *mesh, int32_t h) {
  return mesh->triangles[cvtm_half_after(h)];
}

/* The number of neighbours of vertex v. */
static inline int32_t cvtm_sphere_degree(const cvtm_sphere_mesh *mesh, int64_t v) {
  int32_t degree = 0, h = mesh->leaves[v];
  do {
    ++degree;
    h = cvtm_sphere_around(mesh, h);
  } while (h != mesh->leaves[v]);
  return degree;
}
