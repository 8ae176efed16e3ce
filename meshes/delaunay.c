/* Delaunay triangulation by divide and conquer (Guibas & Stolfi 1985) on grid points. */
#include "meshes/mesh.h"
#include "meshes/predicates.h"
#include "meshes/snap.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sorting ---- */

typedef struct keyed {
  uint64_t key; /* x, then y */
  int32_t index;
} keyed;

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Stable radix sort, so that of coincident points the first comes first. Returns the
 * array of the two that holds the result. */
static keyed *sort_keys(keyed *from, keyed *to, int64_t count) {
  static const int key_bits = 2 * (CVTM_GRID_BITS + 1);
  for (int shift = 0; shift < key_bits; shift += DIGIT_BITS) {
    int64_t start[DIGITS] = {0};
    for (int64_t i = 0; i < count; ++i) start[(from[i].key >> shift) % DIGITS]++;
    int64_t sum = 0;
    for (int d = 0; d < DIGITS; ++d) {
      const int64_t here = start[d];
      start[d] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < count; ++i) to[start[(from[i].key >> shift) % DIGITS]++] = from[i];
    keyed *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/* Distinct grid points from left to right (then upwards) and the vertex each stands for. */
typedef struct sorted_points {
  int64_t count;
  cvtm_grid_point *place;
  int32_t *vertex;
} sorted_points;

static void free_sorted(sorted_points *sorted) {
  free(sorted->place);
  free(sorted->vertex);
}

static cvtm_status sort_distinct(const cvtm_grid_point *grid, int64_t count, sorted_points *sorted,
                                 cvtm_error *error) {
  keyed *keys = malloc((size_t)count * sizeof *keys);
  keyed *other = malloc((size_t)count * sizeof *other);
  sorted->place = malloc((size_t)count * sizeof *sorted->place);
  sorted->vertex = malloc((size_t)count * sizeof *sorted->vertex);
  cvtm_status status = CVTM_OK;
  if (!keys || !other || !sorted->place || !sorted->vertex) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points",
                       (long long)count);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      keys[i].key = (uint64_t)grid[i].x << (CVTM_GRID_BITS + 1) | (uint64_t)grid[i].y;
      keys[i].index = (int32_t)i;
    }
    const keyed *order = sort_keys(keys, other, count);
    int64_t distinct = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0 && order[i].key == order[i - 1].key) continue;
      sorted->place[distinct] = grid[order[i].index];
      sorted->vertex[distinct++] = order[i].index;
    }
    sorted->count = distinct;
  }
  free(keys);
  free(other);
  return status;
}

/* ---- Edges ---- */

/* Directed edges in pairs (e and e ^ 1 are opposite), linked counterclockwise around
 * their origins. Of the quad-edge structure this is the half that lives on vertices. */
typedef uint32_t edge;

enum { NO_ORIGIN = -1 };
#define NO_EDGE UINT32_MAX

typedef struct edge_record {
  int32_t origin; /* position in sorted order; NO_ORIGIN: unused */
  edge next, previous;
} edge_record;

typedef struct edge_pool {
  const cvtm_grid_point *place;
  edge_record *records;
  edge used; /* records handed out so far */
  edge free; /* list of unused pairs, linked by next */
} edge_pool;

static inline edge opposite(edge e) { return e ^ 1U; }
static inline int32_t origin(const edge_pool *pool, edge e) { return pool->records[e].origin; }
static inline int32_t target(const edge_pool *pool, edge e) { return pool->records[e ^ 1U].origin; }
static inline edge next(const edge_pool *pool, edge e) { return pool->records[e].next; }
static inline edge previous(const edge_pool *pool, edge e) { return pool->records[e].previous; }
/* The edge after e around the face to its left. */
static inline edge left_next(const edge_pool *pool, edge e) {
  return pool->records[e ^ 1U].previous;
}
/* The edge before e around the face to its right. */
static inline edge right_previous(const edge_pool *pool, edge e) {
  return pool->records[e ^ 1U].next;
}

static edge make_edge(edge_pool *pool, int32_t from, int32_t to) {
  edge e = pool->free;
  if (e != NO_EDGE) {
    pool->free = pool->records[e].next;
  } else {
    e = pool->used;
    pool->used += 2;
  }
  pool->records[e] = (edge_record){from, e, e};
  pool->records[e ^ 1U] = (edge_record){to, e ^ 1U, e ^ 1U};
  return e;
}

/* Joins or parts the rings of a and b, which have the same origin. */
static void splice(edge_pool *pool, edge a, edge b) {
  const edge after_a = next(pool, a), after_b = next(pool, b);
  pool->records[a].next = after_b;
  pool->records[b].next = after_a;
  pool->records[after_b].previous = a;
  pool->records[after_a].previous = b;
}

/* A new edge from a's target to b's origin, with the same left face as both. */
static edge connect(edge_pool *pool, edge a, edge b) {
  const edge e = make_edge(pool, target(pool, a), origin(pool, b));
  splice(pool, e, left_next(pool, a));
  splice(pool, opposite(e), b);
  return e;
}

static void delete_edge(edge_pool *pool, edge e) {
  e &= ~1U;
  splice(pool, e, previous(pool, e));
  splice(pool, e ^ 1U, previous(pool, e ^ 1U));
  pool->records[e].origin = pool->records[e ^ 1U].origin = NO_ORIGIN;
  pool->records[e].next = pool->free;
  pool->free = e;
}

static int64_t orient(const edge_pool *pool, int32_t a, int32_t b, int32_t c) {
  return cvtm_orient(pool->place[a], pool->place[b], pool->place[c]);
}

static int in_circle(const edge_pool *pool, int32_t a, int32_t b, int32_t c, int32_t d) {
  return cvtm_in_circle(pool->place[a], pool->place[b], pool->place[c], pool->place[d]);
}

static int left_of(const edge_pool *pool, int32_t point, edge e) {
  return orient(pool, point, origin(pool, e), target(pool, e)) > 0;
}

static int right_of(const edge_pool *pool, int32_t point, edge e) {
  return orient(pool, point, target(pool, e), origin(pool, e)) > 0;
}

/* ---- Divide and conquer ---- */

/* The hull's edges at a part's ends: counterclockwise out of the leftmost point, and
 * clockwise out of the rightmost one. */
typedef struct hull_ends {
  edge left, right;
} hull_ends;

static hull_ends triangulate_two(edge_pool *pool, int32_t low) {
  const edge a = make_edge(pool, low, low + 1);
  return (hull_ends){a, opposite(a)};
}

static hull_ends triangulate_three(edge_pool *pool, int32_t low) {
  const edge a = make_edge(pool, low, low + 1);
  const edge b = make_edge(pool, low + 1, low + 2);
  splice(pool, opposite(a), b);
  const int64_t turn = orient(pool, low, low + 1, low + 2);
  if (turn == 0) return (hull_ends){a, opposite(b)};
  const edge c = connect(pool, b, a);
  if (turn > 0) return (hull_ends){a, opposite(b)};
  return (hull_ends){opposite(c), c};
}

/* The next edge to the left part above the base; deletes edges whose triangle holds a point. */
static edge left_candidate(edge_pool *pool, edge base) {
  edge candidate = next(pool, opposite(base));
  const int32_t b0 = origin(pool, base), b1 = target(pool, base);
  if (!right_of(pool, target(pool, candidate), base)) return NO_EDGE;
  for (;;) {
    const edge beyond = next(pool, candidate);
    if (!in_circle(pool, b1, b0, target(pool, candidate), target(pool, beyond))) return candidate;
    delete_edge(pool, candidate);
    candidate = beyond;
  }
}

static edge right_candidate(edge_pool *pool, edge base) {
  edge candidate = previous(pool, base);
  const int32_t b0 = origin(pool, base), b1 = target(pool, base);
  if (!right_of(pool, target(pool, candidate), base)) return NO_EDGE;
  for (;;) {
    const edge beyond = previous(pool, candidate);
    if (!in_circle(pool, b1, b0, target(pool, candidate), target(pool, beyond))) return candidate;
    delete_edge(pool, candidate);
    candidate = beyond;
  }
}

/* Sews two neighbouring parts together from the lower common tangent upwards. */
static hull_ends merge(edge_pool *pool, hull_ends left, hull_ends right) {
  edge ldi = left.right, rdi = right.left;
  for (;;) {
    if (left_of(pool, origin(pool, rdi), ldi)) {
      ldi = left_next(pool, ldi);
    } else if (right_of(pool, origin(pool, ldi), rdi)) {
      rdi = right_previous(pool, rdi);
    } else {
      break;
    }
  }
  edge base = connect(pool, opposite(rdi), ldi);
  if (origin(pool, ldi) == origin(pool, left.left)) left.left = opposite(base);
  if (origin(pool, rdi) == origin(pool, right.right)) right.right = base;
  for (;;) {
    const edge l = left_candidate(pool, base), r = right_candidate(pool, base);
    if (l == NO_EDGE && r == NO_EDGE) break;
    const int take_right =
        l == NO_EDGE || (r != NO_EDGE && in_circle(pool, target(pool, l), origin(pool, l),
                                                   origin(pool, r), target(pool, r)));
    base =
        take_right ? connect(pool, r, opposite(base)) : connect(pool, opposite(base), opposite(l));
  }
  return (hull_ends){left.left, right.right};
}

/* Triangulates sorted points low .. low + count - 1, count >= 2; recursion is log2 deep. */
static hull_ends triangulate(edge_pool *pool, int32_t low, int32_t count) {
  if (count == 2) return triangulate_two(pool, low);
  if (count == 3) return triangulate_three(pool, low);
  const int32_t half = count / 2;
  const hull_ends left = triangulate(pool, low, half);
  const hull_ends right = triangulate(pool, low + half, count - half);
  return merge(pool, left, right);
}

/* ---- Triangles ---- */

/* The triangle to the left of e as vertices, if there is one and its first vertex is its
 * smallest (so that each triangle is found once). */
static int triangle_from(const edge_pool *pool, const int32_t *vertex, edge e, int32_t *corners) {
  const int32_t a = origin(pool, e);
  if (a == NO_ORIGIN) return 0;
  const edge f = left_next(pool, e), g = left_next(pool, f);
  if (left_next(pool, g) != e) return 0;
  const int32_t b = origin(pool, f), c = origin(pool, g);
  corners[0] = vertex[a];
  corners[1] = vertex[b];
  corners[2] = vertex[c];
  if (corners[0] > corners[1] || corners[0] > corners[2]) return 0;
  return orient(pool, a, b, c) > 0;
}

typedef struct two_corners {
  int32_t second, third;
} two_corners;

static int compare_corners(const void *left, const void *right) {
  const two_corners *a = left, *b = right;
  return (a->second > b->second) - (a->second < b->second);
}

/* Sorts the triangles that share a smallest vertex by the second one. */
static void sort_fan(two_corners *fan, int64_t count) {
  if (count > 32) {
    qsort(fan, (size_t)count, sizeof *fan, compare_corners);
    return;
  }
  for (int64_t i = 1; i < count; ++i) {
    const two_corners moving = fan[i];
    int64_t k = i;
    for (; k > 0 && fan[k - 1].second > moving.second; --k) fan[k] = fan[k - 1];
    fan[k] = moving;
  }
}

/* All triangles, each from its smallest vertex, in lexicographic order. */
static cvtm_status collect_triangles(const edge_pool *pool, const int32_t *vertex, cvtm_mesh *mesh,
                                     cvtm_error *error) {
  const int64_t vertices = mesh->vertex_count;
  int64_t *start = calloc((size_t)vertices + 2, sizeof *start);
  two_corners *fans = NULL;
  cvtm_status status = CVTM_OK;
  int64_t triangles = 0;
  if (!start) goto no_memory;
  int32_t corners[3];
  for (edge e = 0; e < pool->used; ++e) {
    if (triangle_from(pool, vertex, e, corners)) start[corners[0] + 2]++;
  }
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  triangles = start[vertices + 1];
  fans = malloc((size_t)(triangles + 1) * sizeof *fans);
  mesh->triangles = malloc((size_t)(triangles + 1) * 3 * sizeof *mesh->triangles);
  if (!fans || !mesh->triangles) goto no_memory;
  /* start[v + 1] moves to the end of v's fan, so that start[v] ends up as its beginning. */
  for (edge e = 0; e < pool->used; ++e) {
    if (!triangle_from(pool, vertex, e, corners)) continue;
    fans[start[corners[0] + 1]++] = (two_corners){corners[1], corners[2]};
  }
  for (int64_t v = 0; v < vertices; ++v) {
    sort_fan(fans + start[v], start[v + 1] - start[v]);
    for (int64_t t = start[v]; t < start[v + 1]; ++t) {
      mesh->triangles[3 * t] = (int32_t)v;
      mesh->triangles[3 * t + 1] = fans[t].second;
      mesh->triangles[3 * t + 2] = fans[t].third;
    }
  }
  mesh->triangle_count = triangles;
  goto done;
no_memory:
  status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the triangles of %lld points",
                     (long long)vertices);
done:
  free(start);
  free(fans);
  return status;
}

/* Three edges a point at most, two directions each, counted in 32 bits. */
static const int64_t largest_count = (int64_t)(UINT32_MAX / 6);

static cvtm_status triangulate_sorted(const sorted_points *sorted, cvtm_mesh *mesh,
                                      cvtm_error *error) {
  edge_pool pool = {.place = sorted->place, .free = NO_EDGE};
  pool.records = malloc((size_t)sorted->count * 6 * sizeof *pool.records);
  if (!pool.records) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the edges of %lld points",
                     (long long)sorted->count);
  }
  if (sorted->count >= 2) (void)triangulate(&pool, 0, (int32_t)sorted->count);
  const cvtm_status status = collect_triangles(&pool, sorted->vertex, mesh, error);
  free(pool.records);
  return status;
}

cvtm_status cvtm_delaunay(const double *points, int64_t count, cvtm_mesh *mesh, cvtm_error *error) {
  if (!points || !mesh) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no points or no mesh");
  if (count < 1) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no point to triangulate");
  if (count > largest_count) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld points; the most is %lld", (long long)count,
                     (long long)largest_count);
  }
  cvtm_mesh made = {.vertex_count = count};
  sorted_points sorted = {0};
  cvtm_grid_point *grid = malloc((size_t)count * sizeof *grid);
  made.points = malloc((size_t)count * 2 * sizeof *made.points);
  cvtm_status status = CVTM_OK;
  if (!grid || !made.points) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points",
                       (long long)count);
  } else {
    memcpy(made.points, points, (size_t)count * 2 * sizeof *points);
    status = cvtm_snap_points(made.points, count, grid, error);
  }
  if (status == CVTM_OK) status = sort_distinct(grid, count, &sorted, error);
  free(grid);
  if (status == CVTM_OK) {
    made.coincident_count = count - sorted.count;
    status = triangulate_sorted(&sorted, &made, error);
  }
  free_sorted(&sorted);
  if (status != CVTM_OK) {
    cvtm_mesh_free(&made);
    return status;
  }
  made.collinear = made.triangle_count == 0;
  *mesh = made;
  return CVTM_OK;
}
