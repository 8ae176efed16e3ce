#include "meshes/sphere.h"

#include "base/host.h"
#include "base/sphere.h"
#include "meshes/elements/twins.h"

#include <stdlib.h>
#include <string.h>

/* --- angles ----------------------------------------------------------------------------------- */

/* The angle at a of the triangle of chords, in degrees. */
static double angle_at(cvtm_vector a, cvtm_vector b, cvtm_vector c) {
  const cvtm_vector u = cvtm_vector_add(b, -1, a), v = cvtm_vector_add(c, -1, a);
  return atan2(cvtm_vector_length(cvtm_vector_cross(u, v)), cvtm_vector_dot(u, v)) * 180 / CVTM_PI;
}

static void find_angles(cvtm_vector a, cvtm_vector b, cvtm_vector c, double *least, double *most) {
  const double x = angle_at(a, b, c), y = angle_at(b, c, a), z = 180 - x - y;
  *least = fmin(x, fmin(y, z));
  *most = fmax(x, fmax(y, z));
}

static void corners_of(const cvtm_sphere_mesh *mesh, int64_t t, cvtm_vector corner[3]) {
  for (int k = 0; k < 3; ++k)
    corner[k] = cvtm_vector_load(mesh->points, mesh->triangles[3 * t + k]);
}

cvtm_status cvtm_sphere_quality_compute(const cvtm_sphere_mesh *mesh, cvtm_sphere_quality *quality,
                                        cvtm_error *error) {
  memset(quality, 0, sizeof *quality);
  quality->min_angle = quality->min_arc = HUGE_VAL;
  unsigned char *degree = calloc((size_t)mesh->count, 1);
  if (degree == NULL) return cvtm_no_memory(error, "the quality");
  double sum = 0;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    cvtm_vector p[3];
    double least, most;
    corners_of(mesh, t, p);
    find_angles(p[0], p[1], p[2], &least, &most);
    sum += least;
    quality->min_angle = fmin(quality->min_angle, least);
    quality->max_angle = fmax(quality->max_angle, most);
    quality->obtuse += most > 90;
    for (int k = 0; k < 3; ++k) {
      const double arc = cvtm_arc(p[k], p[(k + 1) % 3]);
      quality->min_arc = fmin(quality->min_arc, arc);
      quality->max_arc = fmax(quality->max_arc, arc);
      unsigned char *own = degree + mesh->triangles[3 * t + k];
      if (*own < 15) ++*own;
    }
  }
  quality->mean_min_angle = sum / (double)mesh->triangle_count;
  for (int64_t i = 0; i < mesh->count; ++i) ++quality->degree[degree[i]];
  quality->not_six = 1 - (double)quality->degree[6] / (double)mesh->count;
  free(degree);
  return CVTM_OK;
}

/* --- the raise -------------------------------------------------------------------------------- */

enum { ROUNDS = 12, SWEEPS = 6, RING = 24 };

typedef struct stars {
  const cvtm_sphere_mesh *mesh;
  int64_t *twin, *leaves; /* a half-edge from each vertex */
} stars;

/* The neighbours of a vertex, counterclockwise; 0 if there are too many. */
static int ring_of(const stars *s, int32_t v, int32_t ring[RING]) {
  int count = 0;
  int64_t h = s->leaves[v];
  do {
    if (count == RING) return 0;
    ring[count++] = s->mesh->triangles[cvtm_half_after(h)];
    h = s->twin[cvtm_half_before(h)];
  } while (h != s->leaves[v]);
  return count;
}

/* The least of the triangle's angles and 134 degrees less its largest one: 45 where no angle is
 * above 89. Turned triangles count as 0. */
static double score_triangle(cvtm_vector a, cvtm_vector b, cvtm_vector c) {
  const cvtm_vector ab = cvtm_vector_add(b, -1, a), ac = cvtm_vector_add(c, -1, a);
  if (cvtm_vector_dot(a, cvtm_vector_cross(ab, ac)) <= 0) return 0;
  double least, most;
  find_angles(a, b, c, &least, &most);
  return fmin(least, 134 - most);
}

static double score_star(const cvtm_sphere_mesh *mesh, cvtm_vector at, const int32_t *ring,
                         int count) {
  double score = HUGE_VAL;
  for (int k = 0; k < count && score > 0; ++k)
    score = fmin(score, score_triangle(at, cvtm_vector_load(mesh->points, ring[k]),
                                       cvtm_vector_load(mesh->points, ring[(k + 1) % count])));
  return score;
}

/* Moves a vertex to raise the score of its star, by a search in eight directions with steps that
 * become smaller. Returns whether it moved. */
static int raise_vertex(const stars *s, int32_t v) {
  int32_t ring[RING];
  const int count = ring_of(s, v, ring);
  if (count == 0) return 0;
  cvtm_vector at = cvtm_vector_load(s->mesh->points, v), e1, e2;
  double score = score_star(s->mesh, at, ring, count), span = HUGE_VAL;
  int moved = 0;
  for (int k = 0; k < count; ++k)
    span = fmin(span, sqrt(cvtm_chord2(at, cvtm_vector_load(s->mesh->points, ring[k]))));
  cvtm_tangents(at, &e1, &e2);
  for (double step = 0.16 * span; step > 0.004 * span; step *= 0.5) {
    for (int direction = 0; direction < 8; ++direction) {
      const double turn = direction * CVTM_PI / 4;
      const cvtm_vector aside = cvtm_vector_add(at, step * cos(turn), e1);
      const cvtm_vector to = cvtm_vector_unit(cvtm_vector_add(aside, step * sin(turn), e2));
      const double now = score_star(s->mesh, to, ring, count);
      if (now > score + 1e-6) {
        score = now;
        at = to;
        moved = 1;
      }
    }
  }
  cvtm_vector_store(s->mesh->points, v, at);
  return moved;
}

/* Marks the corners of bad triangles and, if `around`, of the triangles beside them. Returns the
 * number of bad triangles. */
static int64_t mark_bad(const stars *s, double least, unsigned char *marked) {
  const cvtm_sphere_mesh *mesh = s->mesh;
  int64_t bad = 0;
  memset(marked, 0, (size_t)mesh->count);
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    cvtm_vector p[3];
    corners_of(mesh, t, p);
    if (score_triangle(p[0], p[1], p[2]) >= least) continue;
    ++bad;
    for (int k = 0; k < 3; ++k) {
      int32_t ring[RING];
      const int32_t v = mesh->triangles[3 * t + k];
      const int count = ring_of(s, v, ring);
      marked[v] = 1;
      for (int i = 0; i < count; ++i) marked[ring[i]] = 1;
    }
  }
  return bad;
}

cvtm_status cvtm_sphere_raise(cvtm_sphere_mesh *mesh, int64_t fixed, double least,
                              cvtm_error *error) {
  const size_t n = (size_t)mesh->count, t = (size_t)mesh->triangle_count;
  cvtm_scratch memory = {0};
  stars s = {mesh, cvtm_scratch_take(&memory, 3 * t, sizeof(int64_t)),
             cvtm_scratch_take(&memory, n, sizeof(int64_t))};
  unsigned char *marked = cvtm_scratch_take(&memory, n, 1);
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the angles") : CVTM_OK;
  for (int round = 0, moved = 1; status == CVTM_OK && moved && round < ROUNDS; ++round) {
    status = cvtm_find_twins(mesh->triangles, mesh->triangle_count, mesh->count, s.twin, s.leaves,
                             error);
    if (status != CVTM_OK || mark_bad(&s, least, marked) == 0) break;
    moved = 0;
    for (int sweep = 0; sweep < SWEEPS; ++sweep)
      for (int64_t v = fixed; v < mesh->count; ++v)
        if (marked[v]) moved |= raise_vertex(&s, (int32_t)v);
    cvtm_sphere_mesh again;
    status = cvtm_sphere_delaunay(mesh->points, mesh->count, &again, error);
    if (status != CVTM_OK) break;
    cvtm_sphere_mesh_free(mesh);
    *mesh = again;
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* --- refinement ------------------------------------------------------------------------------- */

cvtm_status cvtm_sphere_refine(const cvtm_sphere_mesh *mesh, int64_t count, double **fine,
                               cvtm_error *error) {
  const int64_t n = mesh->count, edges = 3 * n - 6, wanted = count - n;
  if (wanted < 0 || wanted > edges)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "refinement makes %lld to %lld points",
                     (long long)n, (long long)(n + edges));
  double *points = malloc(3 * (size_t)count * sizeof *points);
  if (points == NULL) return cvtm_no_memory(error, "the finer points");
  memcpy(points, mesh->points, 3 * (size_t)n * sizeof *points);
  int64_t edge = 0, made = n;
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) {
    const int32_t a = mesh->triangles[h], b = mesh->triangles[cvtm_half_after(h)];
    if (a > b) continue;
    /* Takes `wanted` of the edges, evenly. */
    const int64_t before = edge * wanted / edges;
    if (++edge * wanted / edges == before) continue;
    const cvtm_vector p = cvtm_vector_load(mesh->points, a), q = cvtm_vector_load(mesh->points, b);
    cvtm_vector_store(points, made++, cvtm_vector_unit(cvtm_vector_add(p, 1, q)));
  }
  *fine = points;
  return CVTM_OK;
}
