#include "meshes/sphere.h"

#include "base/host.h"
#include "base/sphere.h"
#include "meshes/delaunay/grid.h"

#include <stdlib.h>
#include <string.h>

/* Points are inserted one by one into a convex hull that contains the centre. Half-edge h = 3 t + k
 * runs from corner k of triangle t to the next. */

typedef struct place {
  int64_t v[3];
} place;

typedef struct hull {
  const place *at;
  int32_t *corner, *twin, *leaves; /* leaves: for each vertex a half-edge from it, or -1 */
  int32_t *stack, *rim;            /* triangles to visit; half-edges around the removed ones */
  int32_t *unused;                 /* removed triangles */
  unsigned char *removed;
  int64_t triangles, unused_count, capacity;
} hull;

/* The determinant of u, v, w, whose coordinates are at most 2^40. */
static int sign_of_triple(const int64_t *u, const int64_t *v, const int64_t *w) {
  const double a = (double)u[0], b = (double)u[1], c = (double)u[2];
  const double p = (double)v[1] * (double)w[2], q = (double)v[2] * (double)w[1];
  const double r = (double)v[2] * (double)w[0], s = (double)v[0] * (double)w[2];
  const double t = (double)v[0] * (double)w[1], o = (double)v[1] * (double)w[0];
  const double det = a * (p - q) + b * (r - s) + c * (t - o);
  const double bound = 1e-15 * (fabs(a) * (fabs(p) + fabs(q)) + fabs(b) * (fabs(r) + fabs(s)) +
                                fabs(c) * (fabs(t) + fabs(o)));
  if (det > bound) return 1;
  if (det < -bound) return -1;
  const cvtm_int128 exact = u[0] * ((cvtm_int128)v[1] * w[2] - (cvtm_int128)v[2] * w[1]) +
                            u[1] * ((cvtm_int128)v[2] * w[0] - (cvtm_int128)v[0] * w[2]) +
                            u[2] * ((cvtm_int128)v[0] * w[1] - (cvtm_int128)v[1] * w[0]);
  return (exact > 0) - (exact < 0);
}

/* Positive if p is outside the plane of a, b, c, counterclockwise from outside. */
static int outside(const place *a, const place *b, const place *c, const place *p) {
  int64_t u[3], v[3], w[3];
  for (int k = 0; k < 3; ++k) {
    u[k] = b->v[k] - a->v[k];
    v[k] = c->v[k] - a->v[k];
    w[k] = p->v[k] - a->v[k];
  }
  return sign_of_triple(u, v, w);
}

static int32_t next_half(int32_t h) { return h % 3 == 2 ? h - 2 : h + 1; }

static int sees(const hull *m, int32_t t, int32_t p) {
  const int32_t *c = m->corner + 3 * (int64_t)t;
  return outside(&m->at[c[0]], &m->at[c[1]], &m->at[c[2]], &m->at[p]) > 0;
}

/* The triangle that the ray from the centre to p passes through. */
static int32_t find_triangle(const hull *m, int32_t t, int32_t p) {
  for (int32_t from = -1;;) {
    int32_t beyond = -1;
    for (int32_t k = 0; k < 3 && beyond < 0; ++k) {
      const int32_t h = 3 * t + k;
      if (h == from) continue;
      if (sign_of_triple(m->at[m->corner[h]].v, m->at[m->corner[next_half(h)]].v, m->at[p].v) < 0)
        beyond = h;
    }
    if (beyond < 0) return t;
    from = m->twin[beyond];
    t = from / 3;
  }
}

static void join(hull *m, int32_t h, int32_t g) {
  m->twin[h] = g;
  m->twin[g] = h;
}

/* Replaces the triangles that p sees by those between p and their rim. Returns 0 if it sees none.
 */
static int insert_point(hull *m, int32_t start, int32_t p) {
  const int32_t first = find_triangle(m, start, p);
  if (!sees(m, first, p)) return 0;
  int64_t depth = 0, rim = 0;
  m->stack[depth++] = first;
  m->removed[first] = 1;
  while (depth > 0) {
    const int32_t t = m->stack[--depth];
    m->unused[m->unused_count++] = t;
    for (int32_t k = 0; k < 3; ++k) {
      const int32_t g = m->twin[3 * t + k], beside = g / 3;
      if (m->removed[beside]) continue;
      if (sees(m, beside, p)) {
        m->removed[beside] = 1;
        m->stack[depth++] = beside;
      } else {
        m->rim[rim++] = g; /* runs backwards along the rim */
      }
    }
  }
  for (int64_t k = 0; k < rim; ++k) {
    const int32_t g = m->rim[k], from = m->corner[next_half(g)], to = m->corner[g];
    const int32_t t = m->unused_count > 0 ? m->unused[--m->unused_count] : (int32_t)m->triangles++;
    m->removed[t] = 0;
    m->corner[3 * t] = from;
    m->corner[3 * t + 1] = to;
    m->corner[3 * t + 2] = p;
    join(m, 3 * t, g);
    m->leaves[from] = 3 * t;
  }
  for (int64_t k = 0; k < rim; ++k) { /* the side from `to` to p lies beside the triangle of `to` */
    const int32_t h = m->twin[m->rim[k]], next = m->leaves[m->corner[h + 1]];
    join(m, h + 1, next + 2);
  }
  m->leaves[p] = m->leaves[m->corner[m->rim[0]]] + 2;
  return 1;
}

/* A small tetrahedron around the centre, of four vertices behind the points. It vanishes inside the
 * hull of points that surround it. */
static void begin_hull(hull *m, place *at, int64_t count) {
  static const int corner[4][3] = {{1, 1, 1}, {-1, -1, 1}, {-1, 1, -1}, {1, -1, -1}};
  static const int face[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  for (int k = 0; k < 4; ++k)
    for (int axis = 0; axis < 3; ++axis) at[count + k].v[axis] = 1024 * (int64_t)corner[k][axis];
  for (int h = 0; h < 12; ++h) m->corner[h] = (int32_t)count + face[h / 3][h % 3];
  m->triangles = 4;
  for (int32_t h = 0; h < 12; ++h) {
    m->leaves[m->corner[h]] = h;
    for (int32_t g = 0; g < 12; ++g)
      if (m->corner[g] == m->corner[next_half(h)] && m->corner[next_half(g)] == m->corner[h])
        m->twin[h] = g;
  }
}

/* Every point is a vertex, and no other is. */
static cvtm_status check_hull(const hull *m, int64_t count, cvtm_error *error) {
  for (int64_t h = 0; h < 3 * m->triangles; ++h)
    if (m->corner[h] >= count && !m->removed[h / 3])
      return cvtm_fail(error, CVTM_ERROR_INPUT, "the points do not surround the sphere's centre");
  if (m->triangles - m->unused_count != 2 * count - 4)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "points of the sphere are too near to each other");
  return CVTM_OK;
}

typedef struct keyed {
  uint64_t key;
  int64_t index;
} keyed;

static int compare_keyed(const void *left, const void *right) {
  const keyed *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static uint64_t key_of(const place *at) {
  uint64_t key = 0;
  for (int bit = 39; bit >= 19; --bit)
    for (int axis = 0; axis < 3; ++axis)
      key = key << 1 | ((uint64_t)(at->v[axis] + ((int64_t)1 << 39)) >> bit & 1);
  return key;
}

/* Every fourth, then every other one of those that remain and so on, each round along the curve. */
static cvtm_status insert_all(hull *m, keyed *order, int64_t count, cvtm_error *error) {
  int64_t stride = 1;
  while (stride * 4 < count) stride *= 4;
  for (int32_t at = 0; stride > 0; stride /= 4) {
    for (int64_t i = 0; i < count; i += stride) {
      const int32_t p = (int32_t)order[i].index;
      if (m->leaves[p] < 0 && !insert_point(m, at, p))
        return cvtm_fail(error, CVTM_ERROR_INPUT,
                         "point %lld is too near to another point of the sphere", (long long)p + 1);
      at = m->leaves[p] / 3;
    }
  }
  return CVTM_OK;
}

/* Lists the triangles of each vertex of which it is the smallest, counterclockwise. */
static void list_triangles(const hull *m, int64_t count, int32_t *triangles) {
  for (int64_t i = 0; i < count; ++i) {
    int32_t first = m->leaves[i], least = first, h = first;
    do { /* begins at the smallest neighbour, so that the list is that of the triangulation */
      if (m->corner[next_half(h)] < m->corner[next_half(least)]) least = h;
      h = m->twin[next_half(next_half(h))];
    } while (h != first);
    h = first = least;
    do {
      const int32_t b = m->corner[next_half(h)], c = m->corner[next_half(next_half(h))];
      if (i < b && i < c) {
        *triangles++ = (int32_t)i;
        *triangles++ = b;
        *triangles++ = c;
      }
      h = m->twin[next_half(next_half(h))];
    } while (h != first);
  }
}

void cvtm_sphere_mesh_free(cvtm_sphere_mesh *mesh) {
  free(mesh->points);
  free(mesh->triangles);
  memset(mesh, 0, sizeof *mesh);
}

cvtm_status cvtm_sphere_delaunay(const double *points, int64_t count, cvtm_sphere_mesh *mesh,
                                 cvtm_error *error) {
  if (count < 4 || count > 300000000)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a sphere takes 4 to 300000000 points");
  for (int64_t k = 0; k < 3 * count; ++k)
    if (!(fabs(points[k]) <= 1.0000001))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld is not on the unit sphere",
                       (long long)(k / 3) + 1);
  const size_t n = (size_t)count, most = 2 * n + 64;
  cvtm_scratch memory = {0};
  hull m = {0};
  place *at = cvtm_scratch_take(&memory, n + 4, sizeof *at);
  keyed *order = cvtm_scratch_take(&memory, n, sizeof *order);
  m.corner = cvtm_scratch_take(&memory, 3 * most, sizeof *m.corner);
  m.twin = cvtm_scratch_take(&memory, 3 * most, sizeof *m.twin);
  m.leaves = cvtm_scratch_take(&memory, n + 4, sizeof *m.leaves);
  m.stack = cvtm_scratch_take(&memory, most, sizeof *m.stack);
  m.rim = cvtm_scratch_take(&memory, 3 * most, sizeof *m.rim);
  m.unused = cvtm_scratch_take(&memory, most, sizeof *m.unused);
  m.removed = cvtm_scratch_zeros(&memory, most, sizeof *m.removed);
  cvtm_sphere_mesh made = {count, 2 * count - 4, malloc(3 * n * sizeof *made.points),
                           malloc(3 * (2 * n - 4) * sizeof *made.triangles)};
  cvtm_status status = CVTM_OK;
  if (memory.failed || made.points == NULL || made.triangles == NULL)
    status = cvtm_no_memory(error, "the triangulation");
  if (status == CVTM_OK) {
    m.at = at;
    for (int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < 3; ++k) at[i].v[k] = llrint(points[3 * i + k] * 549755813888.0);
      order[i] = (keyed){key_of(&at[i]), i};
      m.leaves[i] = -1;
    }
    qsort(order, n, sizeof *order, compare_keyed);
    begin_hull(&m, at, count);
    status = insert_all(&m, order, count, error);
  }
  if (status == CVTM_OK) status = check_hull(&m, count, error);
  if (status == CVTM_OK) {
    memcpy(made.points, points, 3 * n * sizeof *points);
    list_triangles(&m, count, made.triangles);
    *mesh = made;
  } else {
    cvtm_sphere_mesh_free(&made);
  }
  cvtm_scratch_free(&memory);
  return status;
}
