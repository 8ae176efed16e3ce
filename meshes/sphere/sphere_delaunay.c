#include "base/host.h"
#include "meshes/delaunay/grid.h"
#include "meshes/mesh.h"
#include "meshes/sphere/sphere_mesh.h"

#include <stdlib.h>
#include <string.h>

void cvtm_sphere_mesh_free(cvtm_sphere_mesh *mesh) {
  void *const all[] = {mesh->points, mesh->triangles, mesh->twins, mesh->leaves};
  for (size_t k = 0; k < sizeof all / sizeof *all; ++k) free(all[k]);
  memset(mesh, 0, sizeof *mesh);
}

static cvtm_status make_mesh(const double *points, int64_t count, cvtm_sphere_mesh *mesh,
                             cvtm_error *error) {
  if (count < 4 || count > 300000000)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a sphere takes 4 to 300000000 points");
  for (int64_t k = 0; k < 3 * count; ++k)
    if (!(fabs(points[k]) <= 1.0000001))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld is not on the unit sphere",
                       (long long)(k / 3) + 1);
  const size_t n = (size_t)count, t = 2 * n - 4;
  cvtm_sphere_mesh m = {count,
                        (int64_t)t,
                        malloc(3 * n * sizeof *m.points),
                        malloc(3 * t * sizeof *m.triangles),
                        malloc(3 * t * sizeof *m.twins),
                        malloc(n * sizeof *m.leaves)};
  if (m.points == NULL || m.triangles == NULL || m.twins == NULL || m.leaves == NULL) {
    cvtm_sphere_mesh_free(&m);
    return cvtm_no_memory(error, "the triangulation");
  }
  memcpy(m.points, points, 3 * n * sizeof *points);
  *mesh = m;
  return CVTM_OK;
}

/* --- predicates ------------------------------------------------------------------------------- */

typedef struct place {
  int64_t v[3];
} place;

static place rounded(const cvtm_sphere_mesh *m, int32_t i) {
  place at;
  for (int k = 0; k < 3; ++k) at.v[k] = llrint(m->points[3 * (int64_t)i + k] * 549755813888.0);
  return at;
}

/* The sign of the determinant of u, v, w, with coordinates of at most 2^40. */
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

/* Positive if p is above the plane of a, b, c, which are counterclockwise from outside. */
static int outside(const place *a, const place *b, const place *c, const place *p) {
  int64_t u[3], v[3], w[3];
  for (int k = 0; k < 3; ++k) {
    u[k] = b->v[k] - a->v[k];
    v[k] = c->v[k] - a->v[k];
    w[k] = p->v[k] - a->v[k];
  }
  return sign_of_triple(u, v, w);
}

/* True if the triangle is counterclockwise from outside. */
static int is_upright(const cvtm_sphere_mesh *m, int64_t t) {
  place p[3];
  for (int k = 0; k < 3; ++k) p[k] = rounded(m, m->triangles[3 * t + k]);
  return sign_of_triple(p[0].v, p[1].v, p[2].v) > 0;
}

/* True if the edge is not Delaunay and its quadrilateral is convex. Of cocircular points the one
 * with the smallest number is a corner of all their triangles, which makes the triangulation
 * unique. */
static int wants_flip(const cvtm_sphere_mesh *m, int32_t h) {
  const int32_t g = m->twins[h], a = m->triangles[h], b = m->triangles[g];
  const int32_t c = m->triangles[cvtm_half_before(h)], d = m->triangles[cvtm_half_before(g)];
  const place at = rounded(m, a), bt = rounded(m, b), ct = rounded(m, c), dt = rounded(m, d);
  const int side = outside(&at, &bt, &ct, &dt);
  if (side < 0 || (side == 0 && (c < d ? c : d) > (a < b ? a : b))) return 0;
  return sign_of_triple(ct.v, at.v, dt.v) > 0 && sign_of_triple(dt.v, bt.v, ct.v) > 0;
}

/* --- flips ------------------------------------------------------------------------------------ */

void cvtm_sphere_push(cvtm_sphere_stack *s, int32_t half) {
  if (cvtm_grow(&s->half, sizeof *s->half, &s->capacity, s->depth + 1))
    s->half[s->depth++] = half;
  else
    s->out_of_memory = 1;
}

static void join(cvtm_sphere_mesh *m, int32_t h, int32_t g) {
  m->twins[h] = g;
  m->twins[g] = h;
}

void cvtm_sphere_flip(cvtm_sphere_mesh *m, cvtm_sphere_stack *s, unsigned char *marked) {
  while (s->depth > 0) {
    const int32_t h = s->half[--s->depth];
    if (!wants_flip(m, h)) continue;
    /* Triangles (a, b, c) of h and (b, a, d) of g become (d, b, c) and (c, a, d). */
    const int32_t g = m->twins[h];
    const int32_t h1 = (int32_t)cvtm_half_after(h), h2 = (int32_t)cvtm_half_before(h);
    const int32_t g1 = (int32_t)cvtm_half_after(g), g2 = (int32_t)cvtm_half_before(g);
    const int32_t a = m->triangles[h], b = m->triangles[g];
    const int32_t c = m->triangles[h2], d = m->triangles[g2];
    const int32_t beyond_ca = m->twins[h2], beyond_db = m->twins[g2];
    m->triangles[h] = d;
    m->triangles[g] = c;
    join(m, h, beyond_db);
    join(m, g, beyond_ca);
    join(m, h2, g2);
    m->leaves[a] = g1;
    m->leaves[b] = h1;
    m->leaves[c] = g;
    m->leaves[d] = h;
    const int32_t rim[4] = {h, h1, g, g1}, corner[4] = {a, b, c, d};
    for (int k = 0; k < 4; ++k) {
      cvtm_sphere_push(s, rim[k]);
      if (marked != NULL) marked[corner[k]] = 1;
    }
  }
}

/* Flips edges until the triangulation is Delaunay. Fails if the result is no triangulation. */
static cvtm_status flip_all(cvtm_sphere_mesh *m, cvtm_error *error) {
  cvtm_sphere_stack stack = {NULL, 0, 0, 0};
#pragma omp parallel for schedule(static)
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->twins[h] < h || !wants_flip(m, (int32_t)h)) continue;
#pragma omp critical /* whose order does not matter; a name would be an exported symbol */
    cvtm_sphere_push(&stack, (int32_t)h);
  }
  cvtm_sphere_flip(m, &stack, NULL);
  free(stack.half);
  if (stack.out_of_memory) return cvtm_no_memory(error, "the triangulation");
  int64_t turned = 0;
#pragma omp parallel for schedule(static) reduction(+ : turned)
  for (int64_t t = 0; t < m->triangle_count; ++t) turned += !is_upright(m, t);
  if (turned > 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "points of the sphere are too near to each other, or do not surround its "
                     "centre");
  return CVTM_OK;
}

/* --- the order of triangles ------------------------------------------------------------------- */

int64_t cvtm_sphere_number(int64_t count, int32_t *number) {
  enum { BLOCKS = 256 };
  int64_t first[BLOCKS + 1] = {0};
#pragma omp parallel for schedule(static)
  for (int block = 0; block < BLOCKS; ++block)
    for (int64_t k = count * block / BLOCKS; k < count * (block + 1) / BLOCKS; ++k)
      first[block + 1] += number[k] >= 0;
  for (int block = 0; block < BLOCKS; ++block) first[block + 1] += first[block];
#pragma omp parallel for schedule(static)
  for (int block = 0; block < BLOCKS; ++block) {
    int32_t next = (int32_t)first[block];
    for (int64_t k = count * block / BLOCKS; k < count * (block + 1) / BLOCKS; ++k)
      if (number[k] >= 0) number[k] = next++;
  }
  return first[BLOCKS];
}

int64_t cvtm_sphere_number_edges(const cvtm_sphere_mesh *m, const unsigned char *keep,
                                 int32_t *edge) {
  const int64_t halves = 3 * m->triangle_count;
#pragma omp parallel for schedule(static)
  for (int64_t h = 0; h < halves; ++h) {
    const int32_t a = m->triangles[h], b = cvtm_sphere_end(m, (int32_t)h);
    edge[h] = a < b && (keep == NULL || keep[a] || keep[b]) ? 0 : -1;
  }
  const int64_t count = cvtm_sphere_number(halves, edge);
#pragma omp parallel for schedule(static)
  for (int64_t h = 0; h < halves; ++h)
    if (m->triangles[h] > cvtm_sphere_end(m, (int32_t)h)) edge[h] = edge[m->twins[h]];
  return count;
}

/* Sorts triangles by their smallest vertex, then counterclockwise from its smallest neighbour. */
cvtm_status cvtm_sphere_order(cvtm_sphere_mesh *m, cvtm_error *error) {
  const int64_t n = m->count, halves = 3 * m->triangle_count;
  cvtm_scratch memory = {0};
  int64_t *start = cvtm_scratch_take(&memory, (size_t)n + 1, sizeof *start);
  int32_t *now = cvtm_scratch_take(&memory, (size_t)halves, sizeof *now);
  int32_t *corner = malloc((size_t)halves * sizeof *corner);
  int32_t *twin = malloc((size_t)halves * sizeof *twin);
  if (memory.failed || corner == NULL || twin == NULL) {
    free(corner);
    free(twin);
    cvtm_scratch_free(&memory);
    return cvtm_no_memory(error, "the triangulation");
  }
  for (int pass = 0; pass < 2; ++pass) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t first = m->leaves[i];
      int32_t h = first, least = first;
      int64_t own = pass == 0 ? 0 : start[i];
      do {
        if (cvtm_sphere_end(m, h) < cvtm_sphere_end(m, least)) least = h;
        h = cvtm_sphere_around(m, h);
      } while (h != first);
      m->leaves[i] = h = least;
      do {
        const int32_t h1 = (int32_t)cvtm_half_after(h), h2 = (int32_t)cvtm_half_before(h);
        if (i < m->triangles[h1] && i < m->triangles[h2]) {
          if (pass == 1) {
            now[h] = (int32_t)(3 * own);
            now[h1] = (int32_t)(3 * own + 1);
            now[h2] = (int32_t)(3 * own + 2);
          }
          ++own;
        }
        h = cvtm_sphere_around(m, h);
      } while (h != least);
      if (pass == 0) start[i + 1] = own;
    }
    start[0] = 0;
    for (int64_t i = 0; pass == 0 && i < n; ++i) start[i + 1] += start[i];
  }
#pragma omp parallel for schedule(static)
  for (int64_t h = 0; h < halves; ++h) {
    corner[now[h]] = m->triangles[h];
    twin[now[h]] = now[m->twins[h]];
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; ++i) m->leaves[i] = now[m->leaves[i]];
  free(m->triangles);
  free(m->twins);
  m->triangles = corner;
  m->twins = twin;
  cvtm_scratch_free(&memory);
  return CVTM_OK;
}

/* --- from the plane --------------------------------------------------------------------------- */

/* Returns, of eight points, the one whose nearest neighbour is farthest. */
static int64_t find_lonely(const double *points, int64_t count) {
  double most = -1;
  int64_t lonely = 0;
  for (int k = 0; k < 8; ++k) {
    const int64_t i = count * k / 8;
    const cvtm_vector at = cvtm_vector_load(points, i);
    double nearest = 4;
#pragma omp parallel for schedule(static) reduction(min : nearest)
    for (int64_t j = 0; j < count; ++j)
      if (j != i) nearest = fmin(nearest, cvtm_chord2(at, cvtm_vector_load(points, j)));
    if (nearest > most) lonely = i;
    most = fmax(most, nearest);
  }
  return lonely;
}

/* The stereographic projection from a point maps circles to circles. So the triangulation in the
 * plane has all triangles of the sphere except those of the point itself, which lie between the
 * point and the border of the plane's triangulation. */
static cvtm_status triangulate_plane(cvtm_sphere_mesh *m, cvtm_error *error) {
  const int64_t n = m->count, eye = find_lonely(m->points, n);
  const cvtm_vector from = cvtm_vector_load(m->points, eye);
  cvtm_vector e1, e2;
  cvtm_tangents(from, &e1, &e2);
  cvtm_scratch memory = {0};
  double *flat = cvtm_scratch_take(&memory, 2 * (size_t)n, sizeof *flat);
  int64_t *twin = cvtm_scratch_take(&memory, 3 * (size_t)m->triangle_count, sizeof *twin);
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the triangulation") : CVTM_OK;
  cvtm_mesh plane = {0};
  for (int64_t i = 0; status == CVTM_OK && i < n; ++i) {
    const cvtm_vector p = cvtm_vector_load(m->points, i);
    const double f = 1 / cvtm_chord2(p, from);
    const int64_t at = 2 * (i - (i > eye));
    if (i == eye) continue;
    if (!(f < 1e30))
      status = cvtm_fail(error, CVTM_ERROR_INPUT,
                         "point %lld is too near to another point of the sphere", (long long)i + 1);
    flat[at] = f * cvtm_vector_dot(p, e1);
    flat[at + 1] = f * cvtm_vector_dot(p, e2); /* y down, as if seen from outside */
  }
  if (status == CVTM_OK) status = cvtm_delaunay(flat, n - 1, &plane, error);
  const int64_t flat_halves = 3 * plane.triangle_count;
  if (status == CVTM_OK && plane.collinear)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the points do not surround the sphere's centre");
  for (int64_t i = 0; i < n; ++i) m->leaves[i] = i == eye ? 0 : -1;
  for (int64_t h = 0; h < flat_halves; ++h) {
    m->triangles[h] = plane.triangles[h] + (plane.triangles[h] >= eye);
    m->leaves[m->triangles[h]] = (int32_t)h;
  }
  for (int64_t i = 0; status == CVTM_OK && i < n; ++i)
    if (m->leaves[i] < 0)
      status = cvtm_fail(error, CVTM_ERROR_INPUT,
                         "point %lld is too near to another point of the sphere", (long long)i + 1);
  if (status == CVTM_OK)
    status = cvtm_find_twins(plane.triangles, plane.triangle_count, n, twin, NULL, error);
  for (int64_t h = 0, made = flat_halves; status == CVTM_OK && h < flat_halves; ++h) {
    if (twin[h] >= 0) continue;
    m->triangles[made++] = m->triangles[cvtm_half_after(h)];
    m->triangles[made++] = m->triangles[h];
    m->triangles[made++] = (int32_t)eye;
  }
  if (status == CVTM_OK)
    status = cvtm_find_twins(m->triangles, m->triangle_count, n, twin, NULL, error);
  for (int64_t h = 0; status == CVTM_OK && h < 3 * m->triangle_count; ++h) {
    m->twins[h] = (int32_t)twin[h];
    m->leaves[m->triangles[h]] = (int32_t)h;
  }
  cvtm_mesh_free(&plane);
  cvtm_scratch_free(&memory);
  return status;
}

/* Flips and orders the triangulation, and sets *mesh; frees m on failure. */
static cvtm_status finish(cvtm_status status, cvtm_sphere_mesh *m, cvtm_sphere_mesh *mesh,
                          cvtm_error *error) {
  if (status == CVTM_OK) status = flip_all(m, error);
  if (status == CVTM_OK) status = cvtm_sphere_order(m, error);
  if (status == CVTM_OK)
    *mesh = *m;
  else
    cvtm_sphere_mesh_free(m);
  return status;
}

cvtm_status cvtm_sphere_delaunay(const double *points, int64_t count, cvtm_sphere_mesh *mesh,
                                 cvtm_error *error) {
  cvtm_sphere_mesh m;
  const cvtm_status status = make_mesh(points, count, &m, error);
  return status != CVTM_OK ? status : finish(triangulate_plane(&m, error), &m, mesh, error);
}

/* --- from rings ------------------------------------------------------------------------------- */

/* Counts the triangles of which site i is the smallest vertex, and stores them at `corner` unless
 * it is NULL. */
static int64_t own_triangles(const int32_t *ring, int32_t most, int32_t i, int32_t *corner) {
  int32_t count = 0;
  int64_t own = 0;
  while (count < most && ring[count] >= 0) ++count;
  for (int32_t k = 0; k < count; ++k) {
    const int32_t b = ring[k], c = ring[k > 0 ? k - 1 : count - 1];
    if (i >= b || i >= c) continue;
    if (corner != NULL) {
      corner[3 * own] = i;
      corner[3 * own + 1] = b;
      corner[3 * own + 2] = c;
    }
    ++own;
  }
  return own;
}

/* Returns the half-edge from a to b, in the triangle of a, b and the site before b in the ring of
 * a; -1: none. start: the first triangle of each smallest vertex. */
static int64_t find_half(const cvtm_sphere_mesh *m, const int32_t *ring, int32_t most,
                         const int64_t *start, int32_t a, int32_t b) {
  const int32_t *own = ring + (int64_t)a * most;
  int32_t at = 0, end = 0;
  while (at < most && own[at] >= 0 && own[at] != b) ++at;
  if (at == most || own[at] < 0) return -1;
  for (end = at; end < most && own[end] >= 0;) ++end;
  const int32_t before = own[at > 0 ? at - 1 : end - 1];
  const int32_t c = before < b ? before : b, first = c < a ? c : a;
  for (int64_t h = 3 * start[first]; h < 3 * start[first + 1]; ++h)
    if (m->triangles[h] == a && cvtm_sphere_end(m, (int32_t)h) == b) return h;
  return -1;
}

/* Makes the triangles; returns 0 if the rings are not those of one triangulation. */
static int join_rings(cvtm_sphere_mesh *m, const int32_t *ring, int32_t most, int64_t *start) {
  int64_t wrong = 0;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < m->count; ++i)
    start[i + 1] = own_triangles(ring + i * most, most, (int32_t)i, NULL);
  start[0] = 0;
  for (int64_t i = 0; i < m->count; ++i) start[i + 1] += start[i];
  if (start[m->count] != m->triangle_count) return 0;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < m->count; ++i) {
    own_triangles(ring + i * most, most, (int32_t)i, m->triangles + 3 * start[i]);
    m->leaves[i] = -1;
  }
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int64_t twin =
        find_half(m, ring, most, start, cvtm_sphere_end(m, (int32_t)h), m->triangles[h]);
    m->twins[h] = (int32_t)twin;
    wrong += twin < 0;
  }
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t i = 0; i < m->count; ++i) {
    m->leaves[i] = (int32_t)find_half(m, ring, most, start, (int32_t)i, ring[i * most]);
    wrong += m->leaves[i] < 0;
  }
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    wrong += m->twins[h] >= 0 && m->twins[m->twins[h]] != h;
  return wrong == 0;
}

cvtm_status cvtm_sphere_join(const double *points, int64_t count, const int32_t *ring, int32_t most,
                             cvtm_sphere_mesh *mesh, cvtm_error *error) {
  cvtm_sphere_mesh m;
  cvtm_status status = make_mesh(points, count, &m, error);
  if (status != CVTM_OK) return status;
  int64_t *start = malloc(((size_t)count + 1) * sizeof *start);
  if (start == NULL)
    status = cvtm_no_memory(error, "the triangulation");
  else if (!join_rings(&m, ring, most, start))
    status = triangulate_plane(&m, error);
  free(start);
  return finish(status, &m, mesh, error);
}
