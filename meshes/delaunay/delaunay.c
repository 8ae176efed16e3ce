/* Delaunay triangulation of grid points by divide and conquer (Guibas & Stolfi 1985), with a data
 * structure of triangles and their neighbours (Shewchuk 1996) and alternating cuts along both axes
 * (Dwyer 1987). */
#include "base/host.h"
#include "base/primitives.h"
#include "meshes/delaunay/grid.h"
#include "meshes/delaunay/half_edges.h"
#include "meshes/delaunay/star.h"
#include "meshes/mesh.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static void *allocate_large(int64_t count, size_t size) {
  void *made = malloc((size_t)count * size);
  cvtm_prefer_large_pages(made, (size_t)count * size);
  return made;
}

/* ---- Sorting ---- */

typedef struct sorted_points {
  int64_t count;
  cvtm_grid_point *place;
  int32_t *vertex; /* the vertex of each point; of coincident vertices the first */
} sorted_points;

enum { SORT_SPACE = 24 /* bytes per point */, SORT_BLOCKS = 64, WORTH_BLOCKS = 1 << 15 };

static void sorted_points_free(sorted_points *sorted) {
  free(sorted->place);
  free(sorted->vertex);
}

/* Nonzero if key k differs from the one before. */
static int is_distinct(const uint64_t *keys, int64_t k) { return k == 0 || keys[k] != keys[k - 1]; }

static void keep_distinct(const uint64_t *keys, const int32_t *index, int64_t count,
                          sorted_points *sorted) {
  int64_t at[SORT_BLOCKS + 1] = {0};
#pragma omp parallel for schedule(static) if (count >= WORTH_BLOCKS)
  for (int b = 0; b < SORT_BLOCKS; ++b)
    for (int64_t k = count * b / SORT_BLOCKS; k < count * (b + 1) / SORT_BLOCKS; ++k)
      at[b + 1] += is_distinct(keys, k);
  for (int b = 0; b < SORT_BLOCKS; ++b) at[b + 1] += at[b];
  sorted->count = at[SORT_BLOCKS];
#pragma omp parallel for schedule(static) if (count >= WORTH_BLOCKS)
  for (int b = 0; b < SORT_BLOCKS; ++b) {
    int64_t to = at[b];
    for (int64_t k = count * b / SORT_BLOCKS; k < count * (b + 1) / SORT_BLOCKS; ++k) {
      if (!is_distinct(keys, k)) continue;
      sorted->place[to] = (cvtm_grid_point){(int32_t)cvtm_star_collect(keys[k]),
                                            (int32_t)cvtm_star_collect(keys[k] >> 1)};
      sorted->vertex[to++] = index[k];
    }
  }
}

static void sort_few(uint64_t *keys, int32_t *index, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const uint64_t key = keys[i];
    const int32_t moving = index[i];
    int64_t k = i;
    for (; k > 0 && keys[k - 1] > key; --k) {
      keys[k] = keys[k - 1];
      index[k] = index[k - 1];
    }
    keys[k] = key;
    index[k] = moving;
  }
}

/* Sorts keys; equal keys stay in order. For a hundred keys sort_few takes two thirds of the
 * time. */
static cvtm_status sort_keys(uint64_t *keys, int32_t *index, int64_t count, cvtm_error *error) {
  enum { FEW = 256 };
  if (count <= FEW) {
    sort_few(keys, index, count);
    return CVTM_OK;
  }
  cvtm_device *cpu = NULL;
  CVTM_TRY(cvtm_device_create("cpu", omp_get_max_threads(), &cpu, error));
  const cvtm_status status =
      cvtm_sort_pairs(cpu, keys, index, keys + count, index + count, count, CVTM_STAR_KEY_BITS);
  if (status != CVTM_OK) cvtm_fail(error, status, "no memory to sort points");
  cvtm_device_destroy(cpu);
  return status;
}

/* space: count * SORT_SPACE bytes, aligned as malloc does. Both arrays are malloc'd, even on
 * failure; sorted_points_free frees them. */
static cvtm_status sort_distinct(const cvtm_grid_point *grid, int64_t count, void *space,
                                 sorted_points *sorted, cvtm_error *error) {
  uint64_t *keys = space;
  int32_t *index = (int32_t *)(keys + 2 * count);
  sorted->place = allocate_large(count, sizeof *sorted->place);
  sorted->vertex = allocate_large(count, sizeof *sorted->vertex);
  if (sorted->place == NULL || sorted->vertex == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points",
                     (long long)count);
#pragma omp parallel for schedule(static) if (count >= WORTH_BLOCKS)
  for (int64_t i = 0; i < count; ++i) {
    keys[i] = cvtm_star_code((uint32_t)grid[i].x, (uint32_t)grid[i].y);
    index[i] = (int32_t)i;
  }
  const cvtm_status status = sort_keys(keys, index, count, error);
  if (status == CVTM_OK) keep_distinct(keys, index, count, sorted);
  return status;
}

enum { WORTH_THREADS = 1 << 13 /* points */ };

/* ---- Triangles ---- */

/* Side 3 t + k of triangle t goes from its corner k to the next corner, counterclockwise. Each edge
 * of the hull also has an outer triangle, whose third corner is BEYOND. So n points always have 2 n
 * - 2 triangles; the triangles of the points low .. low + n - 1 are numbered from 2 low on. */
typedef uint32_t side;

enum { BEYOND = -1 };

typedef struct side_record {
  int32_t corner; /* the point where the side begins: its index in sorted_points */
  side twin;      /* the same side in the neighbouring triangle */
} side_record;

typedef struct triangulation {
  sorted_points points;
  side_record *sides;
} triangulation;

static inline side after(side s) { return s % 3 == 2 ? s - 2 : s + 1; }
static inline side before(side s) { return s % 3 == 0 ? s + 2 : s - 1; }
static inline side first_side(int32_t low) { return 6 * (side)low; }

static inline void join(side_record *sides, side a, side b) {
  sides[a].twin = b;
  sides[b].twin = a;
}

static inline void set_corners(side_record *sides, side s, int32_t from, int32_t to,
                               int32_t third) {
  sides[s].corner = from;
  sides[after(s)].corner = to;
  sides[before(s)].corner = third;
}

/* ---- Hulls ---- */

/* Order along an axis. 0: from left to right, then upwards. 1: the same rotated by a right angle,
 * upwards, then from right to left. */
static inline int precedes(int axis, cvtm_grid_point p, cvtm_grid_point q) {
  if (axis == 0) return cvtm_precedes(p, q);
  return p.y != q.y ? p.y < q.y : p.x > q.x;
}

/* A point of the hull. `out` is the side from it to BEYOND in the outer triangle of the hull's edge
 * that begins at the point, counterclockwise. */
typedef struct hull_point {
  int32_t point;
  side out;
} hull_point;

/* The first and the last point along each axis. */
typedef struct hull {
  hull_point end[2][2];
} hull;

/* Extreme points of the union of two parts, where `one` precedes `other` along `axis`. */
static hull join_ends(const triangulation *dt, const hull *one, const hull *other, int axis) {
  const int across = 1 - axis;
  hull both = *one;
  both.end[axis][1] = other->end[axis][1];
  for (int last = 0; last < 2; ++last) {
    const cvtm_grid_point p = dt->points.place[one->end[across][last].point];
    const cvtm_grid_point q = dt->points.place[other->end[across][last].point];
    if (precedes(across, p, q) == last) both.end[across][last] = other->end[across][last];
  }
  return both;
}

static hull hull_of_point(int32_t point, side out) {
  const hull_point p = {point, out};
  return (hull){{{p, p}, {p, p}}};
}

/* Triangulates the points low and low + 1, from left to right. */
static hull triangulate_two(const triangulation *dt, int32_t low) {
  const side a = first_side(low), b = a + 3;
  set_corners(dt->sides, a, low, low + 1, BEYOND);
  set_corners(dt->sides, b, low + 1, low, BEYOND);
  join(dt->sides, a, b);
  join(dt->sides, a + 1, b + 2);
  join(dt->sides, a + 2, b + 1);
  const hull first = hull_of_point(low, b + 1), second = hull_of_point(low + 1, a + 1);
  return join_ends(dt, &first, &second, 0);
}

static int64_t orient(const triangulation *dt, int32_t a, int32_t b, int32_t c) {
  const cvtm_grid_point *place = dt->points.place;
  return cvtm_orient(place[a], place[b], place[c]);
}

/* Makes the outer triangles of the edges ring[0] ring[1], ring[1] ring[2], ..., around a part. */
static void surround(const triangulation *dt, side outer, const int32_t *ring, side count) {
  for (side k = 0; k < count; ++k) {
    const side next = k + 1 < count ? k + 1 : 0;
    set_corners(dt->sides, outer + 3 * k, ring[next], ring[k], BEYOND);
    join(dt->sides, outer + 3 * k + 2, outer + 3 * next + 1);
  }
}

/* Triangulates three points, from left to right. */
static hull triangulate_three(const triangulation *dt, int32_t low) {
  const int64_t turn = orient(dt, low, low + 1, low + 2);
  const side first = first_side(low), outer = turn == 0 ? first : first + 3;
  if (turn == 0) {
    const int32_t ring[4] = {low, low + 1, low + 2, low + 1};
    surround(dt, outer, ring, 4);
    join(dt->sides, outer, outer + 9);
    join(dt->sides, outer + 3, outer + 6);
  } else {
    const int32_t ring[3] = {low, turn > 0 ? low + 1 : low + 2, turn > 0 ? low + 2 : low + 1};
    surround(dt, outer, ring, 3);
    set_corners(dt->sides, first, ring[0], ring[1], ring[2]);
    for (side k = 0; k < 3; ++k) join(dt->sides, first + k, outer + 3 * k);
  }
  /* In the ring the point low + 1 is either at index 1 or after low + 2. */
  const hull a = hull_of_point(low, outer + 1);
  const hull b = hull_of_point(low + 1, outer + (turn >= 0 ? 4 : 7));
  const hull c = hull_of_point(low + 2, outer + (turn >= 0 ? 7 : 4));
  const hull ab = join_ends(dt, &a, &b, 0);
  return join_ends(dt, &ab, &c, 0);
}

/* ---- Merging ---- */

typedef struct vector {
  int64_t x, y;
} vector;

static inline vector from_to(cvtm_grid_point a, cvtm_grid_point b) {
  return (vector){(int64_t)b.x - a.x, (int64_t)b.y - a.y};
}
static inline int64_t cross(vector a, vector b) { return a.x * b.y - a.y * b.x; }
static inline int64_t square(vector a) { return a.x * a.x + a.y * a.y; }

/* A point relative to another. */
typedef struct seen_point {
  int32_t point; /* BEYOND: none */
  vector away;
  int64_t distance2;
} seen_point;

static inline seen_point seen_from(const triangulation *dt, int32_t from, int32_t point) {
  seen_point s = {.point = point};
  if (point == BEYOND) return s;
  s.away = from_to(dt->points.place[from], dt->points.place[point]);
  s.distance2 = square(s.away);
  return s;
}

/* The border of one of two parts towards the other. The base is the uppermost edge so far that
 * joins the parts; the chain begins at one end of the base. */
typedef struct chain {
  int32_t end; /* end of the base in this part */
  side outer;  /* side of the outer triangle at the gap: in the left part from `end` to BEYOND, in
                  the right part to `end` */
  seen_point near; /* from `end`: the third corner of that triangle */
  side edge;       /* the side of the inner triangle from `end` to `near` */
  seen_point far;  /* from `end`: the third corner of the triangle inside */
  int64_t turn;    /* cross product of near and far, positive away from the gap */
} chain;

/* The next side of a triangle in the direction of the merge, and against it. */
static inline side onward(int right, side s) { return right ? before(s) : after(s); }
static inline side backward(int right, side s) { return right ? after(s) : before(s); }

static inline void find_far(const triangulation *dt, int right, chain *c) {
  c->far = seen_from(dt, c->end, dt->sides[before(c->edge)].corner);
  const int64_t turn = cross(c->near.away, c->far.away);
  c->turn = right ? -turn : turn;
}

static inline chain chain_from(const triangulation *dt, int right, int32_t end, side outer) {
  chain c = {.end = end, .outer = outer};
  c.near = seen_from(dt, end, dt->sides[before(outer)].corner);
  c.edge = dt->sides[backward(right, outer)].twin;
  find_far(dt, right, &c);
  return c;
}

/* Removes the edge from `end` to `near`. Its two triangles become the outer triangles of the edges
 * `end`-`far` and `far`-`near`. */
static inline void open_edge(const triangulation *dt, int right, chain *c) {
  side_record *sides = dt->sides;
  const side up = onward(right, c->outer);
  const side near_far = onward(right, c->edge), far_end = backward(right, c->edge);
  const side inside = sides[far_end].twin;
  join(sides, far_end, sides[near_far].twin);
  join(sides, near_far, sides[up].twin);
  join(sides, c->outer, inside);
  const int32_t near = c->near.point, far = c->far.point;
  set_corners(sides, up, right ? BEYOND : c->end, right ? c->end : BEYOND, far);
  set_corners(sides, near_far, right ? near : BEYOND, right ? BEYOND : near, far);
  c->outer = up;
  c->near = c->far;
  c->edge = inside;
  find_far(dt, right, c);
}

static inline int is_first(const triangulation *dt, int32_t p, int32_t a, int32_t b, int32_t c) {
  const cvtm_grid_point *place = dt->points.place;
  return cvtm_precedes(place[p], place[a]) && cvtm_precedes(place[p], place[b]) &&
         cvtm_precedes(place[p], place[c]);
}

/* Negative if q lies in the circle through p and the ends of the base; uses the heights of p and q
 * above the base. */
static inline cvtm_int128 circle(int64_t base2, int64_t turn, const seen_point *p, int64_t p_height,
                                 const seen_point *q, int64_t q_height) {
  return (cvtm_int128)base2 * turn - (cvtm_int128)p->distance2 * q_height +
         (cvtm_int128)q->distance2 * p_height;
}

/* Removes edges while the circle of their triangle with the base contains a point of this part.
 * Returns the height of `near` above the base (from left to right); 0 if it is not above. */
static inline int64_t clear_chain(const triangulation *dt, int right, vector base, int64_t base2,
                                  int32_t other_end, chain *c) {
  int64_t height = cross(base, c->near.away);
  if (height <= 0) return 0;
  while (c->far.point != BEYOND) {
    const int64_t far_height = cross(base, c->far.away);
    const cvtm_int128 sign = circle(base2, c->turn, &c->near, height, &c->far, far_height);
    if (sign > 0) break;
    if (sign == 0 && !is_first(dt, c->far.point, c->end, other_end, c->near.point) &&
        !is_first(dt, other_end, c->end, c->near.point, c->far.point))
      break;
    open_edge(dt, right, c);
    height = far_height;
  }
  return height;
}

/* Nonzero if the next triangle is that of the base and the right chain's `near`. */
static inline int right_wins(const triangulation *dt, int64_t base2, const chain *left,
                             int64_t left_height, const chain *right, int64_t right_height) {
  if (left_height == 0 || right_height == 0) return left_height == 0;
  const int32_t a = left->end, b = right->end, p = left->near.point;
  const seen_point q = seen_from(dt, a, right->near.point);
  const int64_t turn = cross(left->near.away, q.away);
  const cvtm_int128 sign = circle(base2, turn, &left->near, left_height, &q, right_height);
  if (sign != 0) return sign < 0;
  return is_first(dt, q.point, a, b, p) ||
         (turn < 0 ? is_first(dt, a, b, p, q.point) : is_first(dt, b, a, p, q.point));
}

/* Merges two parts, where `left` precedes `right` along the axis, from their lower common tangent
 * upwards. The two triangles at `spare` become the outer triangles of the tangents. */
static hull merge(const triangulation *dt, const hull *left, const hull *right, int axis,
                  side spare) {
  side_record *sides = dt->sides;
  const side bottom = spare, top = spare + 3;
  side l = sides[left->end[axis][1].out].twin, r = right->end[axis][0].out;
  int32_t l_end = left->end[axis][1].point, r_end = right->end[axis][0].point;
  for (;;) {
    const int32_t l_next = sides[before(l)].corner, r_next = sides[before(r)].corner;
    if (orient(dt, l_end, l_next, r_end) > 0) {
      l = sides[before(l)].twin;
      l_end = l_next;
    } else if (orient(dt, r_next, r_end, l_end) > 0) {
      r = sides[after(r)].twin;
      r_end = r_next;
    } else {
      break;
    }
  }
  const int32_t lowest = l_end;
  chain left_chain = chain_from(dt, 0, l_end, sides[l].twin),
        right_chain = chain_from(dt, 1, r_end, sides[r].twin);
  set_corners(sides, bottom, l_end, BEYOND, r_end);
  join(sides, bottom, l);
  join(sides, bottom + 1, r);
  side gap = bottom + 2; /* the side of the base in the triangle below the gap */
  for (;;) {
    const vector base =
        from_to(dt->points.place[left_chain.end], dt->points.place[right_chain.end]);
    const int64_t base2 = square(base);
    const int64_t lh = clear_chain(dt, 0, base, base2, right_chain.end, &left_chain);
    const int64_t rh = clear_chain(dt, 1, base, base2, left_chain.end, &right_chain);
    if (lh == 0 && rh == 0) break;
    if (right_wins(dt, base2, &left_chain, lh, &right_chain, rh)) {
      sides[right_chain.outer].corner = left_chain.end;
      join(sides, gap, right_chain.outer);
      gap = before(right_chain.outer);
      right_chain = chain_from(dt, 1, right_chain.near.point, sides[gap].twin);
    } else {
      sides[after(left_chain.outer)].corner = right_chain.end;
      join(sides, gap, left_chain.outer);
      gap = after(left_chain.outer);
      left_chain = chain_from(dt, 0, left_chain.near.point, sides[gap].twin);
    }
  }
  set_corners(sides, top, left_chain.end, right_chain.end, BEYOND);
  join(sides, top, gap);
  join(sides, top + 1, right_chain.outer);
  join(sides, top + 2, left_chain.outer);
  hull both = join_ends(dt, left, right, axis);
  for (int k = 0; k < 4; ++k) {
    hull_point *p = &both.end[k / 2][k % 2];
    if (p->point == lowest) p->out = bottom;
    if (p->point == right_chain.end) p->out = top + 1;
  }
  return both;
}

/* ---- Division ---- */

/* Moves the point at index `from` to index `to`, and shifts the points between by one index. */
static void move_point(const sorted_points *p, int64_t from, int64_t to) {
  const cvtm_grid_point place = p->place[from];
  const int32_t vertex = p->vertex[from];
  const int64_t count = from < to ? to - from : from - to;
  const int64_t source = from < to ? from + 1 : to, target = from < to ? from : to + 1;
  memmove(p->place + target, p->place + source, (size_t)count * sizeof *p->place);
  memmove(p->vertex + target, p->vertex + source, (size_t)count * sizeof *p->vertex);
  p->place[to] = place;
  p->vertex[to] = vertex;
}

/* Returns the first or the last of the points low .. end - 1 along an axis. */
static int64_t find_end(const sorted_points *p, int64_t low, int64_t end, int axis, int last) {
  int64_t best = low;
  for (int64_t k = low + 1; k < end; ++k)
    if (precedes(axis, p->place[k], p->place[best]) != last) best = k;
  return best;
}

static inline int32_t along(int axis, cvtm_grid_point p) { return axis == 0 ? p.x : p.y; }

/* Divides points at the middle of the smallest square of the Morton curve that contains them, so
 * that one part precedes the other along *axis. If a part has a single point, it also gets the
 * nearest point of the other part. Returns the index where the second part begins. */
static int32_t divide(const sorted_points *p, int32_t low, int32_t count, int *axis) {
  const int32_t last = low + count - 1;
  const int32_t x = p->place[low].x ^ p->place[last].x, y = p->place[low].y ^ p->place[last].y;
  *axis = y >= x || y > (x ^ y); /* the highest bit of the Morton code is a bit of y */
  int32_t bit = 1 << CVTM_GRID_BITS, first = low, end = last;
  while (!((*axis == 0 ? x : y) & bit)) bit /= 2;
  while (first < end) {
    const int32_t middle = first + (end - first) / 2;
    if (along(*axis, p->place[middle]) & bit)
      end = middle;
    else
      first = middle + 1;
  }
  if (first == low + 1) {
    move_point(p, find_end(p, first, last + 1, *axis, 0), first);
    return low + 2;
  }
  if (first == last) {
    move_point(p, find_end(p, low, last, *axis, 1), last - 1);
    return last - 1;
  }
  return first;
}

/* Triangulates two or three points. */
static hull triangulate_few(const triangulation *dt, int32_t low, int32_t count) {
  for (int32_t k = 0; k + 1 < count; ++k)
    move_point(&dt->points, find_end(&dt->points, low + k, low + count, 0, 0), low + k);
  return count == 2 ? triangulate_two(dt, low) : triangulate_three(dt, low);
}

static hull triangulate_part(const triangulation *dt, int32_t low, int32_t count) {
  if (count <= 3) return triangulate_few(dt, low, count);
  int axis;
  const int32_t middle = divide(&dt->points, low, count, &axis);
  const hull left = triangulate_part(dt, low, middle - low);
  const hull right = triangulate_part(dt, middle, low + count - middle);
  return merge(dt, &left, &right, axis, first_side(middle) - 6);
}

/* triangulate_part by several threads. */
static hull triangulate_shared(const triangulation *dt, int32_t low, int32_t count) {
  enum { WORTH_TASK = 4096 };
  if (count < 2 * WORTH_TASK) return triangulate_part(dt, low, count);
  int axis;
  const int32_t middle = divide(&dt->points, low, count, &axis);
  hull left;
#pragma omp task shared(left) firstprivate(dt, low, middle)
  left = triangulate_shared(dt, low, middle - low);
  const hull right = triangulate_shared(dt, middle, low + count - middle);
#pragma omp taskwait
  return merge(dt, &left, &right, axis, first_side(middle) - 6);
}

/* ---- Triangles of the mesh ---- */

/* Adds `count` to start[k] and returns its old value. */
static uint32_t take_places(uint32_t *start, int64_t k, int64_t count, int shared) {
  uint32_t at;
  if (!shared) {
    at = start[k];
    start[k] += (uint32_t)count;
    return at;
  }
#pragma omp atomic capture
  {
    at = start[k];
    start[k] += (uint32_t)count;
  }
  return at;
}

/* The number of consecutive triangles with the same smallest vertex from found[t] on. Threads add
 * them with one operation, because one vertex may have nearly all triangles. */
static int64_t length_of_stretch(const cvtm_star_corners *found, int64_t t, int64_t count) {
  int64_t end = t + 1;
  while (end < count && found[end].first == found[t].first) ++end;
  return end - t;
}

/* Triangles first .. end - 1 of the triangulation. found: the `count` of them that belong to the
 * mesh, which overwrite the sides. */
typedef struct block {
  int64_t first, end, count;
  cvtm_star_corners *found;
} block;

/* Finds the triangles of a block; counts those of smallest vertex v in start[v + 2]. */
static void find_triangles(const triangulation *dt, block *b, uint32_t *start, int shared) {
  const int32_t *vertex = dt->points.vertex;
  b->found = (cvtm_star_corners *)(dt->sides + 3 * b->first);
  b->count = 0;
  for (int64_t t = b->first; t < b->end; ++t) {
    const side_record *s = dt->sides + 3 * t;
    if (s[0].corner == BEYOND || s[1].corner == BEYOND || s[2].corner == BEYOND) continue;
    const int32_t x = vertex[s[0].corner], y = vertex[s[1].corner], z = vertex[s[2].corner];
    const cvtm_star_corners xyz = {x, y, z}, yzx = {y, z, x}, zxy = {z, x, y};
    b->found[b->count++] = x < y && x < z ? xyz : y < z ? yzx : zxy;
  }
  for (int64_t t = 0, length = 0; t < b->count; t += length) {
    length = length_of_stretch(b->found, t, b->count);
    (void)take_places(start, b->found[t].first + 2, length, shared);
  }
}

/* Moves triangles to the fans of their smallest vertices. start[v + 1] advances to the end of the
 * fan of v, so that finally start[v] is its begin. */
static void spread_triangles(const block *b, uint32_t *start, cvtm_star_corners *fans, int shared) {
  for (int64_t t = 0, length = 0; t < b->count; t += length) {
    length = length_of_stretch(b->found, t, b->count);
    const uint32_t at = take_places(start, b->found[t].first + 1, length, shared);
    memcpy(fans + at, b->found + t, (size_t)length * sizeof *fans);
  }
}

/* Sorts a fan by counting if its second corners, which are distinct, are in a small range. Returns
 * 0 if the range is too large or memory runs out. */
static int sort_dense_fan(cvtm_star_corners *fan, int64_t count) {
  enum { MOST_GAPS = 4 /* entries per corner */ };
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
    if (third[k] >= 0) fan[t++] = (cvtm_star_corners){fan[0].first, (int32_t)(least + k), third[k]};
  free(third);
  return 1;
}

/* Sorts the triangles that share a smallest vertex by the second one. */
static void sort_fan(cvtm_star_corners *fan, int64_t count) {
  enum { FEW = 32 };
  if (count <= FEW || !sort_dense_fan(fan, count)) cvtm_star_sort(fan, (int32_t)count);
}

/* Writes all triangles, each from its smallest vertex, in lexicographic order. */
static cvtm_status collect_triangles(const triangulation *dt, cvtm_mesh *mesh, cvtm_error *error) {
  enum { BLOCKS = 64 };
  const int64_t vertices = mesh->vertex_count, all = 2 * dt->points.count - 2;
  const int shared = vertices >= WORTH_THREADS && omp_get_max_threads() > 1;
  uint32_t *start = calloc((size_t)vertices + 2, sizeof *start);
  cvtm_star_corners *fans = NULL;
  block blocks[BLOCKS];
  if (!start) goto no_memory;
#pragma omp parallel for schedule(dynamic) if (shared)
  for (int k = 0; k < BLOCKS; ++k) {
    blocks[k] = (block){.first = all * k / BLOCKS, .end = all * (k + 1) / BLOCKS};
    find_triangles(dt, &blocks[k], start, shared);
  }
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  mesh->triangle_count = start[vertices + 1];
  fans = allocate_large(mesh->triangle_count + 1, sizeof *fans);
  if (!fans) goto no_memory;
#pragma omp parallel for schedule(dynamic) if (shared)
  for (int k = 0; k < BLOCKS; ++k) spread_triangles(&blocks[k], start, fans, shared);
#pragma omp parallel for schedule(static) if (shared)
  for (int64_t v = 0; v < vertices; ++v) sort_fan(fans + start[v], start[v + 1] - start[v]);
  mesh->triangles = (int32_t *)fans;
  free(start);
  return CVTM_OK;
no_memory:
  free(start);
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the triangles of %lld points",
                   (long long)vertices);
}

/* Two triangles per point with three sides each must be countable in 32 bits. */
_Static_assert(CVTM_DELAUNAY_MOST == UINT32_MAX / 6, "sides are counted in 32 bits");

/* The points are sorted in the memory of the sides. */
_Static_assert(6 * sizeof(side_record) >= SORT_SPACE + sizeof(cvtm_grid_point),
               "six sides have room for the sorting of a point");

/* Triangulates points, which are rounded in place. grid: their grid points; *step: its step. */
static cvtm_status triangulate_points(double *points, int64_t n, cvtm_grid_point *grid,
                                      double *step, triangulation *dt, cvtm_error *error) {
  CVTM_TRY(cvtm_snap_to_steps(points, n, grid, step, error));
  CVTM_TRY(sort_distinct(grid, n, dt->sides, &dt->points, error));
#pragma omp parallel if (n >= WORTH_THREADS)
#pragma omp single
  if (dt->points.count > 1) triangulate_shared(dt, 0, (int32_t)dt->points.count);
  return CVTM_OK;
}

static cvtm_status triangulate_mesh(cvtm_mesh *mesh, side_record *sides, cvtm_error *error) {
  const int64_t n = mesh->vertex_count;
  triangulation dt = {.sides = sides};
  double step;
  cvtm_grid_point *grid = (cvtm_grid_point *)((char *)sides + n * SORT_SPACE);
  cvtm_status status = triangulate_points(mesh->points, n, grid, &step, &dt, error);
  if (status == CVTM_OK) {
    mesh->coincident_count = n - dt.points.count;
    status = collect_triangles(&dt, mesh, error);
  }
  sorted_points_free(&dt.points);
  return status;
}

static cvtm_status check_count(int64_t count, cvtm_error *error) {
  if (count < 1) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no point to triangulate");
  if (count <= CVTM_DELAUNAY_MOST) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld points; at most %d are possible",
                   (long long)count, CVTM_DELAUNAY_MOST);
}

cvtm_status cvtm_delaunay(const double *points, int64_t count, cvtm_mesh *mesh, cvtm_error *error) {
  if (!points || !mesh) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no points or no mesh");
  cvtm_status status = check_count(count, error);
  if (status != CVTM_OK) return status;
  cvtm_mesh made = {.vertex_count = count};
  side_record *sides = allocate_large(6 * count, sizeof *sides);
  made.points = allocate_large(2 * count, sizeof *made.points);
  if (!sides || !made.points) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points",
                       (long long)count);
  } else {
    memcpy(made.points, points, (size_t)count * 2 * sizeof *points);
    status = triangulate_mesh(&made, sides, error);
  }
  free(sides);
  if (status != CVTM_OK) {
    cvtm_mesh_free(&made);
    return status;
  }
  made.collinear = made.triangle_count == 0;
  *mesh = made;
  return CVTM_OK;
}

/* ---- Half-edges ---- */

/* Leaves out the outer triangles. The others keep their order, along the Morton curve. */
static void take_half_edges(const triangulation *dt, cvtm_half_edges *m) {
  const int64_t all = 2 * dt->points.count - 2;
  int32_t *number = m->region; /* per triangle; -1: an outer triangle */
  for (int64_t t = 0; t < all; ++t) {
    const side_record *s = dt->sides + 3 * t;
    const int is_outer = s[0].corner == BEYOND || s[1].corner == BEYOND || s[2].corner == BEYOND;
    number[t] = is_outer ? -1 : (int32_t)m->triangle_count++;
  }
  for (int64_t v = 0; v < m->vertex_count; ++v) m->at[v] = -1;
  for (int64_t t = 0; t < all; ++t) {
    if (number[t] < 0) continue;
    for (side s = 3 * (side)t; s < 3 * (side)t + 3; ++s) {
      const side_record *record = dt->sides + s;
      const int64_t h = 3 * (int64_t)number[t] + s % 3, beyond = number[record->twin / 3];
      m->corner[h] = dt->points.vertex[record->corner];
      m->twin[h] = beyond < 0 ? -1 : 3 * beyond + record->twin % 3;
      m->segment[h] = -1;
      m->at[m->corner[h]] = h;
    }
  }
  for (int64_t t = 0; t < all; ++t) number[t] = -1;
}

cvtm_status cvtm_delaunay_half_edges(const double *points, int64_t count, cvtm_half_edges *m,
                                     cvtm_grid_frame *frame, cvtm_error *error) {
  cvtm_status status = check_count(count, error);
  if (status != CVTM_OK) return status;
  const int64_t all = 2 * count;
  triangulation dt = {.sides = allocate_large(6 * count, sizeof *dt.sides)};
  double *rounded = allocate_large(2 * count, sizeof *rounded), step;
  cvtm_half_edges made = {.vertex_count = count,
                          .vertex_capacity = count,
                          .triangle_capacity = all,
                          .grid = allocate_large(count, sizeof *made.grid),
                          .at = allocate_large(count, sizeof *made.at),
                          .corner = allocate_large(3 * all, sizeof *made.corner),
                          .twin = allocate_large(3 * all, sizeof *made.twin),
                          .segment = allocate_large(3 * all, sizeof *made.segment),
                          .region = allocate_large(all, sizeof *made.region)};
  if (!dt.sides || !rounded || !made.grid || !made.at || !made.corner || !made.twin ||
      !made.segment || !made.region) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points",
                       (long long)count);
  } else {
    memcpy(rounded, points, (size_t)count * 2 * sizeof *points);
    status = triangulate_points(rounded, count, made.grid, &step, &dt, error);
  }
  if (status == CVTM_OK) {
    take_half_edges(&dt, &made);
    *frame = cvtm_frame_of(rounded, made.grid[0], step);
    *m = made;
  } else {
    cvtm_half_edges_free(&made);
  }
  sorted_points_free(&dt.points);
  free(dt.sides);
  free(rounded);
  return status;
}
