#include "base/host.h"
#include "meshes/sized/moves.h"

#include <math.h>
#include <stdlib.h>

enum {
  SIDE = 32,  /* largest number of tiles along an axis */
  SPARED = 4, /* least number: else one thread makes the changes */
  EDGES = 16, /* least side of a tile, in lengths of the longest edge */
  WORTH = 256 /* items */
};

/* Square tiles of the grid. The changes in one tile stay inside its fence, a quarter of a side
 * around it. So no triangle reaches the fences of two tiles of one colour, which are at least a
 * side apart, and threads can change these together. */
typedef struct tiling {
  cvtm_sizer *z;
  const int64_t *item;
  cvtm_sizer_mender mend;
  int64_t along; /* tiles along an axis */
  double side;
  int64_t *start, *list;    /* as for cvtm_list_by_key */
  int64_t vertex, triangle; /* the first that is reserved for new ones */
  uint8_t *is_late; /* per item: it is changed at last, because that would leave the fence */
  int64_t changed[SIDE * SIDE];
  cvtm_half_edges left[SIDE * SIDE]; /* triangles that are still unused */
} tiling;

/* The length of the longest edge; 0 if vertices of the boundary may move or be added. */
static double longest_edge(const cvtm_sizer *z) {
  const cvtm_half_edges *m = &z->m;
  double longest = 0;
  for (int64_t e = 0; e < z->given->edge_count; ++e)
    if (z->is_narrow[e]) return 0;
#pragma omp parallel for schedule(static) reduction(max : longest)
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    if (m->corner[h] >= 0)
      longest = fmax(longest, cvtm_length2(m->grid[m->corner[h]], m->grid[cvtm_end_of(m, h)]));
  return sqrt(longest);
}

/* Makes room for as many vertices as items, and for their triangles. */
static int reserve(tiling *t, int64_t count) {
  cvtm_sizer *z = t->z;
  cvtm_half_edges *m = &z->m;
  const int64_t vertices = m->vertex_count + count,
                triangles = m->triangle_count + 2 * (count + t->along * t->along);
  const cvtm_growing by_vertex[] = {{&m->grid, sizeof *m->grid}, {&m->at, sizeof *m->at}},
                     by_triangle[] = {{&m->corner, 3 * sizeof *m->corner},
                                      {&m->twin, 3 * sizeof *m->twin},
                                      {&m->segment, 3 * sizeof *m->segment},
                                      {&m->region, sizeof *m->region}};
  if (!cvtm_grow_all(by_vertex, 2, &m->vertex_capacity, vertices) ||
      !cvtm_grow_all(by_triangle, 4, &m->triangle_capacity, triangles) ||
      !cvtm_grow(&z->vertex, sizeof *z->vertex, &z->vertex_capacity, vertices))
    return 0;
  t->vertex = m->vertex_count;
  t->triangle = m->triangle_count;
  while (m->vertex_count < vertices) {
    z->vertex[m->vertex_count] = (cvtm_sized_vertex){.place = -1};
    m->grid[m->vertex_count] = (cvtm_grid_point){0, 0};
    m->at[m->vertex_count++] = -1;
  }
  for (; m->triangle_count < triangles; ++m->triangle_count) {
    for (int64_t h = 3 * m->triangle_count; h < 3 * m->triangle_count + 3; ++h) {
      m->corner[h] = m->segment[h] = -1;
      m->twin[h] = -1;
    }
    m->region[m->triangle_count] = 0;
  }
  return 1;
}

/* Changes the mesh at the items of a tile, by lists of changes and of triangles of its own. */
static void mend_tile(tiling *t, int64_t tile) {
  const int64_t begin = t->start[tile], end = t->start[tile + 1];
  if (begin == end) return;
  const double x = (double)(tile % t->along), y = (double)(tile / t->along);
  cvtm_fence fence = {{(int32_t)((x - 0.25) * t->side), (int32_t)((y - 0.25) * t->side)},
                      {(int32_t)fmin((x + 1.25) * t->side, INT32_MAX),
                       (int32_t)fmin((y + 1.25) * t->side, INT32_MAX)},
                      0};
  cvtm_sizer own = *t->z;
  cvtm_half_edges *m = &own.m;
  m->fence = &fence;
  m->unused = m->stack = NULL;
  m->changes = NULL;
  m->unused_count = m->unused_capacity = m->change_count = m->change_capacity = 0;
  m->depth = m->stack_capacity = 0;
  m->vertex_count = t->vertex + begin;
  m->vertex_capacity = t->vertex + end;
  const int64_t triangles = 2 * (end - begin + 1);
  if (!cvtm_grow(&m->unused, sizeof *m->unused, &m->unused_capacity, triangles))
    m->out_of_memory = 1;
  for (int64_t k = 0; k < triangles && !m->out_of_memory; ++k)
    m->unused[m->unused_count++] = t->triangle + 2 * (begin + tile) + k;
  for (int64_t k = begin; k < end && !m->out_of_memory; ++k) {
    const int64_t i = t->list[k];
    fence.is_left = 0;
    const int is_changed = t->mend(&own, t->item[i]);
    t->changed[tile] += is_changed;
    t->is_late[i] = !is_changed && fence.is_left;
  }
  free(m->changes);
  free(m->stack);
  t->left[tile] = own.m;
}

static void mend_tiles(tiling *t) {
  cvtm_half_edges *m = &t->z->m;
  const int64_t tiles = t->along * t->along;
  for (int colour = 0; colour < 4; ++colour)
#pragma omp parallel for schedule(dynamic)
    for (int64_t k = 0; k < tiles; ++k)
      if (k / t->along % 2 * 2 + k % t->along % 2 == colour) mend_tile(t, k);
  for (int64_t k = 0; k < tiles; ++k) {
    cvtm_half_edges *left = &t->left[k];
    m->out_of_memory |= left->out_of_memory;
    if (!cvtm_grow(&m->unused, sizeof *m->unused, &m->unused_capacity,
                   m->unused_count + left->unused_count))
      m->out_of_memory = 1;
    else
      while (left->unused_count > 0)
        m->unused[m->unused_count++] = left->unused[--left->unused_count];
    free(left->unused);
  }
}

/* Divides the items among tiles. Returns 0 if memory runs out. */
static int divide_items(tiling *t, const cvtm_grid_point *at, int64_t count) {
  const int64_t tiles = t->along * t->along;
  int32_t *key = malloc(((size_t)count + 1) * sizeof *key);
  t->start = calloc((size_t)tiles + 2, sizeof *t->start);
  t->list = malloc(((size_t)count + 1) * sizeof *t->list);
  t->is_late = calloc((size_t)count + 1, 1);
  const int is_good = key && t->start && t->list && t->is_late && reserve(t, count);
  for (int64_t i = 0; i < (is_good ? count : 0); ++i)
    key[i] = (int32_t)((int64_t)(at[i].y / t->side) * t->along + (int64_t)(at[i].x / t->side));
  if (is_good) cvtm_list_by_key(key, count, tiles, t->start, t->list);
  free(key);
  return is_good;
}

int64_t cvtm_sizer_mend_items(cvtm_sizer *z, const int64_t *item, const cvtm_grid_point *at,
                              int64_t count, cvtm_sizer_mender mend) {
  const double longest = count < WORTH ? 0 : longest_edge(z), extent = (1 << CVTM_GRID_BITS) + 1.0;
  tiling *t = NULL;
  int64_t changed = 0;
  const int64_t along = longest > 0 ? (int64_t)fmin(SIDE, floor(extent / (EDGES * longest))) : 0;
  z->m.records_changes = 1;
  if (along >= SPARED && (t = calloc(1, sizeof *t)) != NULL) {
    t->z = z;
    t->item = item;
    t->mend = mend;
    t->along = along;
    t->side = extent / (double)along;
    if (divide_items(t, at, count))
      mend_tiles(t);
    else
      z->m.out_of_memory = 1;
    for (int64_t k = 0; k < along * along; ++k) changed += t->changed[k];
  }
  for (int64_t i = 0; i < count && !z->m.out_of_memory; ++i)
    if (t == NULL || t->is_late[i]) changed += mend(z, item[i]);
  z->m.records_changes = 0;
  if (t != NULL) {
    free(t->start);
    free(t->list);
    free(t->is_late);
  }
  free(t);
  return changed;
}
