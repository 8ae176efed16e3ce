#include "base/host.h"
#include "meshes/sized/sized_state.h"

#include <stdlib.h>

typedef struct ordering {
  const int32_t *vertex; /* per vertex: its new number */
  int64_t *triangle;     /* per triangle: its new number; -1: dropped */
  int64_t *first; /* per vertex, and after the last: first triangle with this largest corner */
} ordering;

/* The largest new number of a corner. */
static int32_t last_corner(const cvtm_half_edges *m, const ordering *o, int64_t t) {
  int32_t last = 0;
  for (int k = 0; k < 3; ++k) {
    const int32_t v = o->vertex[m->corner[3 * t + k]];
    last = v > last ? v : last;
  }
  return last;
}

/* Returns the number of triangles. */
static int64_t order_triangles(const cvtm_half_edges *m, ordering *o) {
  for (int64_t t = 0; t < m->triangle_count; ++t)
    if (m->corner[3 * t] >= 0) ++o->first[last_corner(m, o, t) + 1];
  for (int64_t v = 0; v < m->vertex_count; ++v) o->first[v + 1] += o->first[v];
  const int64_t count = o->first[m->vertex_count];
  for (int64_t t = 0; t < m->triangle_count; ++t)
    o->triangle[t] = m->corner[3 * t] >= 0 ? o->first[last_corner(m, o, t)]++ : -1;
  return count;
}

/* The new number of a half-edge; -1: it is dropped, or there is none. */
static int64_t move_half(const ordering *o, int64_t h) {
  const int64_t t = h < 0 ? -1 : o->triangle[h / 3];
  return t < 0 ? -1 : 3 * t + h % 3;
}

/* Copies everything to its new place. If memory runs out, the mesh can only be freed. */
static cvtm_status apply_order(cvtm_sizer *z, const ordering *o, int64_t triangles) {
  cvtm_half_edges *m = &z->m, from = *m;
  cvtm_sized_vertex *vertex = z->vertex;
  const int64_t n = m->vertex_count;
  z->vertex = malloc((size_t)z->vertex_capacity * sizeof *vertex);
  m->grid = malloc((size_t)m->vertex_capacity * sizeof *m->grid);
  m->at = malloc((size_t)m->vertex_capacity * sizeof *m->at);
  m->corner = malloc(3 * (size_t)m->triangle_capacity * sizeof *m->corner);
  m->twin = malloc(3 * (size_t)m->triangle_capacity * sizeof *m->twin);
  m->segment = malloc(3 * (size_t)m->triangle_capacity * sizeof *m->segment);
  m->region = malloc((size_t)m->triangle_capacity * sizeof *m->region);
  const int is_good =
      z->vertex && m->grid && m->at && m->corner && m->twin && m->segment && m->region;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t v = 0; v < (is_good ? n : 0); ++v) {
    const int32_t k = o->vertex[v];
    m->grid[k] = from.grid[v];
    m->at[k] = move_half(o, from.at[v]);
    z->vertex[k] = vertex[v];
  }
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t h = 0; h < (is_good ? 3 * from.triangle_count : 0); ++h) {
    const int64_t k = move_half(o, h);
    if (k < 0) continue;
    m->corner[k] = o->vertex[from.corner[h]];
    m->twin[k] = move_half(o, from.twin[h]);
    m->segment[k] = from.segment[h];
    if (h % 3 == 0) m->region[k / 3] = from.region[h / 3];
  }
  m->triangle_count = triangles;
  m->unused_count = 0;
  from.unused = NULL; /* the lists of m */
  from.changes = NULL;
  from.stack = NULL;
  cvtm_half_edges_free(&from);
  free(vertex);
  return is_good ? CVTM_OK : cvtm_no_memory(z->error, "the mesh");
}

cvtm_status cvtm_sizer_order(cvtm_sizer *z, const int32_t *number) {
  const size_t n = (size_t)z->m.vertex_count, triangles = (size_t)z->m.triangle_count;
  ordering o = {number, malloc((triangles + 1) * sizeof *o.triangle),
                calloc(n + 2, sizeof *o.first)};
  cvtm_status status =
      o.triangle != NULL && o.first != NULL ? CVTM_OK : cvtm_no_memory(z->error, "the mesh");
  if (status == CVTM_OK) status = apply_order(z, &o, order_triangles(&z->m, &o));
  free(o.triangle);
  free(o.first);
  return status;
}
