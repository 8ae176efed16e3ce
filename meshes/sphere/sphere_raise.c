#include "base/host.h"
#include "meshes/sphere/sphere_mesh.h"

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
  cvtm_scratch memory = {0};
  enum { BLOCK = 1024 }; /* whose sums are added in order */
  const int64_t blocks = (mesh->triangle_count - 1) / BLOCK + 1;
  double *sum = cvtm_scratch_take(&memory, (size_t)blocks, sizeof *sum);
  unsigned char *degree = cvtm_scratch_zeros(&memory, (size_t)mesh->count, 1);
  if (memory.failed) {
    cvtm_scratch_free(&memory);
    return cvtm_no_memory(error, "the quality");
  }
  double min_angle = HUGE_VAL, max_angle = 0, min_arc = HUGE_VAL, max_arc = 0;
  int64_t obtuse = 0;
#pragma omp parallel for schedule(static) reduction(min : min_angle, min_arc) \
    reduction(max : max_angle, max_arc) reduction(+ : obtuse)
  for (int64_t block = 0; block < blocks; ++block) {
    sum[block] = 0;
    for (int64_t t = block * BLOCK; t < mesh->triangle_count && t < (block + 1) * BLOCK; ++t) {
      cvtm_vector p[3];
      double least, most;
      corners_of(mesh, t, p);
      find_angles(p[0], p[1], p[2], &least, &most);
      sum[block] += least;
      min_angle = fmin(min_angle, least);
      max_angle = fmax(max_angle, most);
      obtuse += most > 90;
      for (int k = 0; k < 3; ++k) {
        const double arc = cvtm_arc(p[k], p[(k + 1) % 3]);
        min_arc = fmin(min_arc, arc);
        max_arc = fmax(max_arc, arc);
      }
    }
  }
  double total = 0;
  for (int64_t block = 0; block < blocks; ++block) total += sum[block];
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h)
    if (degree[mesh->triangles[h]] < 15) ++degree[mesh->triangles[h]];
  quality->min_angle = min_angle;
  quality->max_angle = max_angle;
  quality->min_arc = min_arc;
  quality->max_arc = max_arc;
  quality->obtuse = obtuse;
  quality->mean_min_angle = total / (double)mesh->triangle_count;
  for (int64_t i = 0; i < mesh->count; ++i) ++quality->degree[degree[i]];
  quality->not_six = 1 - (double)quality->degree[6] / (double)mesh->count;
  cvtm_scratch_free(&memory);
  return CVTM_OK;
}

/* --- the raise -------------------------------------------------------------------------------- */

enum { ROUNDS = 12, SWEEPS = 6, RING = 24 };

/* A vertex and its neighbours, counterclockwise. */
typedef struct star {
  int count; /* 0: too many neighbours */
  int32_t site[RING];
  cvtm_vector at[RING], rim[RING]; /* rim: from a neighbour to the next */
  double rim_length[RING];
} star;

static void find_star(const cvtm_sphere_mesh *mesh, int32_t v, star *s) {
  int32_t h = mesh->leaves[v];
  s->count = 0;
  do {
    if (s->count == RING) {
      s->count = 0;
      return;
    }
    s->site[s->count] = cvtm_sphere_end(mesh, h);
    s->at[s->count] = cvtm_vector_load(mesh->points, s->site[s->count]);
    ++s->count;
    h = cvtm_sphere_around(mesh, h);
  } while (h != mesh->leaves[v]);
  for (int k = 0; k < s->count; ++k) {
    s->rim[k] = cvtm_vector_add(s->at[k + 1 < s->count ? k + 1 : 0], -1, s->at[k]);
    s->rim_length[k] = cvtm_vector_length(s->rim[k]);
  }
}

/* The least angle of the star's triangles, with the vertex at `at`, or 134 degrees less their
 * largest one if that is less: 45 where no angle is above 89. Turned triangles count as 0. */
static double score_star(const star *s, cvtm_vector at) {
  cvtm_vector spoke[RING + 1];
  double length[RING + 1], most = -1, least = 1; /* cosines */
  for (int k = 0; k < s->count; ++k) {
    spoke[k] = cvtm_vector_add(s->at[k], -1, at);
    length[k] = cvtm_vector_length(spoke[k]);
  }
  spoke[s->count] = spoke[0];
  length[s->count] = length[0];
  for (int k = 0; k < s->count; ++k) {
    const cvtm_vector u = spoke[k], v = spoke[k + 1];
    if (cvtm_vector_dot(at, cvtm_vector_cross(u, v)) <= 0) return 0;
    const double a = cvtm_vector_dot(u, v) / (length[k] * length[k + 1]);
    const double b = -cvtm_vector_dot(u, s->rim[k]) / (length[k] * s->rim_length[k]);
    const double c = cvtm_vector_dot(v, s->rim[k]) / (length[k + 1] * s->rim_length[k]);
    most = fmax(most, fmax(a, fmax(b, c)));
    least = fmin(least, fmin(a, fmin(b, c)));
  }
  return fmin(acos(fmin(most, 1)), 134 * CVTM_PI / 180 - acos(fmax(least, -1))) * 180 / CVTM_PI;
}

/* Moves a vertex to raise the score of its star if that is less than `target`, by a search in eight
 * directions, which each sweep turns, with steps that become smaller. Returns whether it moved. */
static int raise_vertex(cvtm_sphere_mesh *mesh, int32_t v, double target, int sweep) {
  star s;
  find_star(mesh, v, &s);
  if (s.count == 0) return 0;
  cvtm_vector at = cvtm_vector_load(mesh->points, v), e1, e2;
  double score = score_star(&s, at), span = HUGE_VAL;
  int moved = 0;
  if (score >= target) return 0;
  for (int k = 0; k < s.count; ++k) span = fmin(span, sqrt(cvtm_chord2(at, s.at[k])));
  cvtm_tangents(at, &e1, &e2);
  for (double step = 0.16 * span; step > 0.004 * span; step *= 0.5) {
    for (int direction = 0; direction < 8; ++direction) {
      const double turn = (direction + 0.382 * sweep) * CVTM_PI / 4;
      const cvtm_vector aside = cvtm_vector_add(at, step * cos(turn), e1);
      const cvtm_vector to = cvtm_vector_unit(cvtm_vector_add(aside, step * sin(turn), e2));
      const double now = score_star(&s, to);
      if (now > score + 1e-6) {
        score = now;
        at = to;
        moved = 1;
      }
    }
  }
  cvtm_vector_store(mesh->points, v, at);
  return moved;
}

/* Places: sets of vertices around bad triangles. No two places are neighbours, so that threads may
 * move their vertices at the same time. */
typedef struct places {
  int64_t count;
  int64_t *first;       /* of each place in `vertex`, and the end */
  int32_t *vertex;      /* of all places */
  unsigned char *state; /* of each vertex, as below */
} places;

enum { IDLE, LOOK /* whether its triangles are bad */, PLACED, BAD /* and more: rings around */ };

/* Makes places of the vertices of bad triangles, among those that are to be looked at, with a
 * number of rings of vertices around them. */
static void find_places(const cvtm_sphere_mesh *mesh, double least, int rings, places *p) {
  unsigned char *state = p->state;
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t v = 0; v < mesh->count; ++v) {
    if (state[v] != LOOK) continue;
    star s;
    find_star(mesh, (int32_t)v, &s);
    const int is_bad = s.count > 0 && score_star(&s, cvtm_vector_load(mesh->points, v)) < least;
    state[v] = is_bad ? BAD : IDLE;
  }
  for (int ring = BAD; ring < BAD + rings; ++ring) {
    for (int64_t v = 0; v < mesh->count; ++v) {
      if (state[v] != ring) continue;
      int32_t h = mesh->leaves[v];
      do {
        unsigned char *beside = state + cvtm_sphere_end(mesh, h);
        if (*beside == IDLE) *beside = (unsigned char)(ring + 1);
        h = cvtm_sphere_around(mesh, h);
      } while (h != mesh->leaves[v]);
    }
  }
  int64_t end = 0;
  p->count = 0;
  for (int64_t v = 0; v < mesh->count; ++v) {
    if (state[v] != BAD) continue;
    int64_t at = p->first[p->count++] = end;
    p->vertex[end++] = (int32_t)v;
    state[v] = PLACED;
    for (; at < end; ++at) {
      const int32_t first = mesh->leaves[p->vertex[at]];
      int32_t h = first;
      do {
        const int32_t beside = cvtm_sphere_end(mesh, h);
        if (state[beside] >= BAD) {
          p->vertex[end++] = beside;
          state[beside] = PLACED;
        }
        h = cvtm_sphere_around(mesh, h);
      } while (h != first);
    }
  }
  p->first[p->count] = end;
}

/* Moves the vertices of places; all of them are to be looked at again. target: of raise_vertex. */
static void raise_places(cvtm_sphere_mesh *mesh, int64_t fixed, double target, const places *p) {
#pragma omp parallel for schedule(dynamic, 8)
  for (int64_t k = 0; k < p->count; ++k)
    for (int sweep = 0; sweep < SWEEPS; ++sweep)
      for (int64_t i = p->first[k]; i < p->first[k + 1]; ++i)
        if (p->vertex[i] >= fixed) raise_vertex(mesh, p->vertex[i], target, sweep);
  for (int64_t i = 0; i < p->first[p->count]; ++i) p->state[p->vertex[i]] = LOOK;
}

cvtm_status cvtm_sphere_raise(cvtm_sphere_mesh *mesh, int64_t fixed, double least,
                              cvtm_error *error) {
  const size_t n = (size_t)mesh->count;
  cvtm_scratch memory = {0};
  places p = {0, cvtm_scratch_take(&memory, n + 1, sizeof *p.first),
              cvtm_scratch_take(&memory, n, sizeof *p.vertex), cvtm_scratch_take(&memory, n, 1)};
  cvtm_sphere_stack stack = {NULL, 0, 0, 0};
  if (memory.failed) {
    cvtm_scratch_free(&memory);
    return cvtm_no_memory(error, "the angles");
  }
  memset(p.state, LOOK, n);
  for (int round = 0; round < ROUNDS && !stack.out_of_memory; ++round) {
    const int rings = round / 2; /* more room for places that are still bad */
    find_places(mesh, least, rings, &p);
    if (p.count == 0) break;
    raise_places(mesh, fixed, rings > 0 ? HUGE_VAL : least, &p);
    for (int64_t i = 0; i < p.first[p.count]; ++i) {
      const int32_t first = mesh->leaves[p.vertex[i]];
      int32_t h = first;
      do {
        cvtm_sphere_push(&stack, h);
        cvtm_sphere_push(&stack, (int32_t)cvtm_half_after(h));
        p.state[cvtm_sphere_end(mesh, h)] = LOOK;
        h = cvtm_sphere_around(mesh, h);
      } while (h != first);
    }
    cvtm_sphere_flip(mesh, &stack, p.state);
  }
  cvtm_scratch_free(&memory);
  free(stack.half);
  if (stack.out_of_memory) return cvtm_no_memory(error, "the angles");
  return cvtm_sphere_order(mesh, error);
}

/* --- refinement ------------------------------------------------------------------------------- */

cvtm_status cvtm_sphere_refine(const cvtm_sphere_mesh *mesh, int64_t count, double **fine,
                               cvtm_error *error) {
  const int64_t n = mesh->count, edges = 3 * n - 6, wanted = count - n;
  if (wanted < 0 || wanted > edges)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "refinement makes %lld to %lld points",
                     (long long)n, (long long)(n + edges));
  double *points = malloc(3 * (size_t)count * sizeof *points);
  int32_t *edge = malloc(3 * (size_t)mesh->triangle_count * sizeof *edge);
  if (points == NULL || edge == NULL) {
    free(points);
    free(edge);
    return cvtm_no_memory(error, "the finer points");
  }
  memcpy(points, mesh->points, 3 * (size_t)n * sizeof *points);
  cvtm_sphere_number_edges(mesh, NULL, edge);
#pragma omp parallel for schedule(static)
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) {
    const int32_t a = mesh->triangles[h], b = cvtm_sphere_end(mesh, (int32_t)h);
    const int64_t before = edge[h] * wanted / edges;
    if (a > b || (edge[h] + 1) * wanted / edges == before) continue; /* an even choice of edges */
    const cvtm_vector p = cvtm_vector_load(mesh->points, a), q = cvtm_vector_load(mesh->points, b);
    cvtm_vector_store(points, n + before, cvtm_vector_unit(cvtm_vector_add(p, 1, q)));
  }
  free(edge);
  *fine = points;
  return CVTM_OK;
}
