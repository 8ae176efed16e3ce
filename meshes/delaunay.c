/* Delaunay triangulation by divide and conquer (Guibas & Stolfi 1985) on grid points. */
#include "base/large_pages.h"
#include "meshes/mesh.h"
#include "meshes/predicates.h"
#include "meshes/snap.h"
#include "meshes/sorted_points.h"

#include <stdlib.h>
#include <string.h>

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

/* Records of the points of one leaf of the recursion; those before `used` are handed out. */
typedef struct edge_range {
  edge first, used, end;
} edge_range;

/* The edges of a part: those of its leaves, which stand together. n points have at most 3 n edges,
 * so that six records for each of its points are always enough. */
typedef struct edge_pool {
  const cvtm_grid_point *place;
  edge_record *records;
  edge_range *range;    /* of the first leaf that may have records left */
  edge free, free_last; /* list of deleted pairs, linked by next; NO_EDGE if empty */
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
    while (pool->range->used == pool->range->end) ++pool->range;
    e = pool->range->used;
    pool->range->used += 2;
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
  if (pool->free == NO_EDGE) pool->free_last = e;
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
static hull_ends triangulate_range(edge_pool *pool, int32_t low, int32_t count) {
  if (count == 2) return triangulate_two(pool, low);
  if (count == 3) return triangulate_three(pool, low);
  const int32_t half = count / 2;
  const hull_ends left = triangulate_range(pool, low, half);
  const hull_ends right = triangulate_range(pool, low + half, count - half);
  return merge(pool, left, right);
}

/* ---- Parts ---- */

/* The upper levels of the recursion, whose parts threads share: a part has the children 2 k and
 * 2 k + 1. How many levels there are depends on the points' number alone. */
enum { MOST_LEVELS = 6, SMALLEST_PART = 4096, MOST_LEAVES = 1 << MOST_LEVELS };

typedef struct part {
  int32_t low, count;
  edge_pool pool;
  hull_ends ends;
} part;

static int choose_levels(int64_t count) {
  int levels = 0;
  while (levels < MOST_LEVELS && count >> (levels + 1) >= SMALLEST_PART) ++levels;
  return levels;
}

static void merge_children(part *parts, int k) {
  const part *left = &parts[2 * k], *right = &parts[2 * k + 1];
  edge_pool *pool = &parts[k].pool;
  *pool = left->pool;
  if (pool->free == NO_EDGE) {
    pool->free = right->pool.free;
    pool->free_last = right->pool.free_last;
  } else if (right->pool.free != NO_EDGE) {
    pool->records[pool->free_last].next = right->pool.free;
    pool->free_last = right->pool.free_last;
  }
  parts[k].ends = merge(pool, left->ends, right->ends);
}

/* Triangulates all points. The edges are in `leaves` ranges then. */
static void triangulate_parts(const cvtm_sorted_points *sorted, edge_record *records, int levels,
                              edge_range *range) {
  part parts[2 * MOST_LEAVES];
  const int leaves = 1 << levels;
  parts[1] = (part){.low = 0, .count = (int32_t)sorted->count};
  for (int k = 1; k < leaves; ++k) {
    const int32_t low = parts[k].low, count = parts[k].count, half = count / 2;
    parts[2 * k] = (part){.low = low, .count = half};
    parts[2 * k + 1] = (part){.low = low + half, .count = count - half};
  }
#pragma omp parallel for schedule(dynamic) if (leaves > 1)
  for (int leaf = 0; leaf < leaves; ++leaf) {
    part *p = &parts[leaves + leaf];
    const edge first = 6 * (edge)p->low;
    range[leaf] = (edge_range){first, first, first + 6 * (edge)p->count};
    p->pool = (edge_pool){sorted->place, records, &range[leaf], NO_EDGE, NO_EDGE};
    p->ends = triangulate_range(&p->pool, p->low, p->count);
  }
  for (int first = leaves / 2; first > 0; first /= 2) {
#pragma omp parallel for schedule(dynamic) if (first > 1)
    for (int k = first; k < 2 * first; ++k) merge_children(parts, k);
  }
}

/* ---- Triangles ---- */

typedef struct triangle_corners {
  int32_t first, second, third;
} triangle_corners;

/* Returns start[k], and adds `count` to it. */
static int64_t take_places(int64_t *start, int64_t k, int64_t count) {
  int64_t at;
#pragma omp atomic capture
  {
    at = start[k];
    start[k] += count;
  }
  return at;
}

/* The number of triangles with the same smallest vertex from found[t] on. Threads add such a
 * stretch at once, since a vertex may have most of all triangles. */
static int64_t length_of_stretch(const triangle_corners *found, int64_t t, int64_t count) {
  int64_t end = t + 1;
  while (end < count && found[end].first == found[t].first) ++end;
  return end - t;
}

/* Collects the triangles to the left of the edges of one range, each from its smallest vertex (so
 * that each is found once); adds them to their vertex's number in start[vertex + 2]. Returns how
 * many there are; `found` has room for half of the range. */
static int64_t find_triangles(const cvtm_sorted_points *sorted, const edge_record *records,
                              edge_range range, triangle_corners *found, int64_t *start) {
  int64_t count = 0;
  for (edge e = range.first; e < range.used; ++e) {
    const int32_t a = records[e].origin;
    if (a == NO_ORIGIN) continue;
    const int32_t b = records[e ^ 1U].origin, first = sorted->vertex[a];
    const int32_t second = sorted->vertex[b];
    if (second < first) continue;
    const edge f = records[e ^ 1U].previous, g = records[f ^ 1U].previous;
    const int32_t c = records[g].origin, third = sorted->vertex[c];
    if (third < first || records[g ^ 1U].previous != e) continue;
    if (cvtm_orient(sorted->place[a], sorted->place[b], sorted->place[c]) <= 0) continue;
    found[count++] = (triangle_corners){first, second, third};
  }
  for (int64_t t = 0, length = 0; t < count; t += length) {
    length = length_of_stretch(found, t, count);
    (void)take_places(start, found[t].first + 2, length);
  }
  return count;
}

typedef struct two_corners {
  int32_t second, third;
} two_corners;

static int compare_corners(const void *left, const void *right) {
  const two_corners *a = left, *b = right;
  return (a->second > b->second) - (a->second < b->second);
}

/* Sorts a fan whose second corners, which all differ, lie close together. Returns 0 if they do not,
 * or without memory. */
static int sort_dense_fan(two_corners *fan, int64_t count) {
  enum { MOST_GAPS = 4 /* places for each corner */ };
  int32_t least = fan[0].second, most = fan[0].second;
  for (int64_t t = 1; t < count; ++t) {
    if (fan[t].second < least) least = fan[t].second;
    if (fan[t].second > most) most = fan[t].second;
  }
  const int64_t places = (int64_t)most - least + 1;
  int32_t *third = places <= MOST_GAPS * count ? malloc((size_t)places * sizeof *third) : NULL;
  if (third == NULL) return 0;
  memset(third, 0xFF, (size_t)places * sizeof *third);
  for (int64_t t = 0; t < count; ++t) third[fan[t].second - least] = fan[t].third;
  for (int64_t k = 0, t = 0; k < places; ++k)
    if (third[k] >= 0) fan[t++] = (two_corners){(int32_t)(least + k), third[k]};
  free(third);
  return 1;
}

/* Sorts the triangles that share a smallest vertex by the second one. */
static void sort_fan(two_corners *fan, int64_t count) {
  if (count > 32) {
    if (!sort_dense_fan(fan, count)) qsort(fan, (size_t)count, sizeof *fan, compare_corners);
    return;
  }
  for (int64_t i = 1; i < count; ++i) {
    const two_corners moving = fan[i];
    int64_t k = i;
    for (; k > 0 && fan[k - 1].second > moving.second; --k) fan[k] = fan[k - 1];
    fan[k] = moving;
  }
}

/* The triangles that were found in the leaves' ranges, in any order, to the fans of their smallest
 * vertices: start[v + 1] moves to the end of v's fan, so that start[v] ends up as its beginning. */
static void spread_fans(const triangle_corners *found, int64_t count, int64_t *start,
                        two_corners *fans) {
  int64_t length = 0;
  for (int64_t t = 0; t < count; t += length) {
    length = length_of_stretch(found, t, count);
    const int64_t at = take_places(start, found[t].first + 1, length);
    for (int64_t k = 0; k < length; ++k)
      fans[at + k] = (two_corners){found[t + k].second, found[t + k].third};
  }
}

static void write_fans(two_corners *fans, const int64_t *start, cvtm_mesh *mesh) {
#pragma omp parallel for schedule(static) if (mesh->vertex_count >= 2 * SMALLEST_PART)
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    sort_fan(fans + start[v], start[v + 1] - start[v]);
    for (int64_t t = start[v]; t < start[v + 1]; ++t) {
      mesh->triangles[3 * t] = (int32_t)v;
      mesh->triangles[3 * t + 1] = fans[t].second;
      mesh->triangles[3 * t + 2] = fans[t].third;
    }
  }
}

static void *allocate_large(int64_t count, size_t size) {
  void *made = malloc((size_t)count * size);
  cvtm_prefer_large_pages(made, (size_t)count * size);
  return made;
}

/* All triangles, each from its smallest vertex, in lexicographic order. */
static cvtm_status collect_triangles(const cvtm_sorted_points *sorted, const edge_record *records,
                                     const edge_range *range, int leaves, cvtm_mesh *mesh,
                                     cvtm_error *error) {
  const int64_t vertices = mesh->vertex_count;
  int64_t *start = calloc((size_t)vertices + 2, sizeof *start);
  /* Of two opposite edges one starts at the smaller vertex; three pairs belong to a point. */
  triangle_corners *found = allocate_large(3 * sorted->count, sizeof *found);
  two_corners *fans = NULL;
  cvtm_status status = CVTM_OK;
  int64_t count[MOST_LEAVES], triangles = 0;
  if (!start || !found) goto no_memory;
#pragma omp parallel for schedule(dynamic) if (leaves > 1)
  for (int leaf = 0; leaf < leaves; ++leaf)
    count[leaf] =
        find_triangles(sorted, records, range[leaf], found + range[leaf].first / 2, start);
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  triangles = start[vertices + 1];
  fans = allocate_large(triangles + 1, sizeof *fans);
  mesh->triangles = allocate_large(3 * (triangles + 1), sizeof *mesh->triangles);
  if (!fans || !mesh->triangles) goto no_memory;
#pragma omp parallel for schedule(dynamic) if (leaves > 1)
  for (int leaf = 0; leaf < leaves; ++leaf)
    spread_fans(found + range[leaf].first / 2, count[leaf], start, fans);
  write_fans(fans, start, mesh);
  mesh->triangle_count = triangles;
  goto done;
no_memory:
  status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the triangles of %lld points",
                     (long long)vertices);
done:
  free(start);
  free(found);
  free(fans);
  return status;
}

/* Three edges a point at most, two directions each, counted in 32 bits. */
_Static_assert(CVTM_DELAUNAY_MOST == UINT32_MAX / 6, "edges are counted in 32 bits");

static cvtm_status triangulate_sorted(const cvtm_sorted_points *sorted, cvtm_mesh *mesh,
                                      cvtm_error *error) {
  edge_record *records = allocate_large(sorted->count * 6, sizeof *records);
  if (!records) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the edges of %lld points",
                     (long long)sorted->count);
  }
  const int levels = choose_levels(sorted->count);
  edge_range range[MOST_LEAVES] = {{0, 0, 0}};
  if (sorted->count >= 2) triangulate_parts(sorted, records, levels, range);
  const cvtm_status status = collect_triangles(sorted, records, range, 1 << levels, mesh, error);
  free(records);
  return status;
}

cvtm_status cvtm_delaunay(const double *points, int64_t count, cvtm_mesh *mesh, cvtm_error *error) {
  if (!points || !mesh) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no points or no mesh");
  if (count < 1) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no point to triangulate");
  if (count > CVTM_DELAUNAY_MOST) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld points; the most is %d", (long long)count,
                     CVTM_DELAUNAY_MOST);
  }
  cvtm_mesh made = {.vertex_count = count};
  cvtm_sorted_points sorted = {0};
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
  if (status == CVTM_OK) status = cvtm_sort_distinct(grid, count, &sorted, error);
  free(grid);
  if (status == CVTM_OK) {
    made.coincident_count = count - sorted.count;
    status = triangulate_sorted(&sorted, &made, error);
  }
  cvtm_sorted_points_free(&sorted);
  if (status != CVTM_OK) {
    cvtm_mesh_free(&made);
    return status;
  }
  made.collinear = made.triangle_count == 0;
  *mesh = made;
  return CVTM_OK;
}
