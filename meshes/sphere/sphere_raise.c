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
  enum { BLOCK = 1024 }; /* triangles in a block; the sums of blocks are added in order */
  const int64_t blocks = (mesh->triangle_count - 1) / BLOCK + 1;
  double *sum = malloc((size_t)blocks * sizeof *sum);
  if (sum == NULL) return cvtm_no_memory(error, "the quality");
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
  quality->min_angle = min_angle;
  quality->max_angle = max_angle;
  quality->min_arc = min_arc;
  quality->max_arc = max_arc;
  quality->obtuse = obtuse;
  quality->mean_min_angle = total / (double)mesh->triangle_count;
  for (int64_t i = 0; i < mesh->count; ++i) {
    const int32_t degree = cvtm_sphere_degree(mesh, i);
    ++quality->degree[degree < 15 ? degree : 15];
  }
  quality->not_six = 1 - (double)quality->degree[6] / (double)mesh->count;
  free(sum);
  return CVTM_OK;
}

/* --- the raise -------------------------------------------------------------------------------- */

enum { ROUNDS = 16, SWEEPS = 6, RING = 24 };

/* A vertex and its neighbours, counterclockwise. */
typedef struct star {
  int count; /* 0: too many neighbours */
  int32_t site[RING];
  cvtm_vector at[RING], rim[RING]; /* rim: the vector from a neighbour to the next */
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

/* The smallest angle of the star's triangles with the vertex at `at`, or 134 degrees less their
 * largest angle if that is smaller: 45 where no angle is above 89. Turned triangles count as 0. */
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

/* Raises the score of a vertex's star if it is less than `target`, by a search in eight directions
 * with steps that become smaller; each sweep rotates these. Nonzero if the vertex moved. */
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

/* The state of a vertex. BAD: it has a bad triangle; BAD + k: it is k rings away from one. Vertices
 * to be moved then get BAD + colour, where no neighbour has the same colour. */
enum { IDLE, LOOK /* test whether its triangles are bad */, MOVES, BAD, COLOURS = 32 };

typedef struct moves {
  int64_t first[COLOURS + 1]; /* where each colour begins in `vertex` */
  int32_t *vertex, *unsorted;
  unsigned char *state;
} moves;

/* Marks, among the vertices to be looked at, those of bad triangles, and a number of rings around
 * them. Returns the number of vertices of bad triangles. */
static int64_t mark_bad(const cvtm_sphere_mesh *mesh, double least, int rings,
                        unsigned char *state) {
  int64_t bad = 0;
#pragma omp parallel for schedule(dynamic, 4096) reduction(+ : bad)
  for (int64_t v = 0; v < mesh->count; ++v) {
    if (state[v] != LOOK) continue;
    star s;
    find_star(mesh, (int32_t)v, &s);
    const int is_bad = s.count > 0 && score_star(&s, cvtm_vector_load(mesh->points, v)) < least;
    state[v] = is_bad ? BAD : IDLE;
    bad += is_bad;
  }
  for (int ring = BAD; bad > 0 && ring < BAD + rings; ++ring) {
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
  return bad;
}

/* Sorts the marked vertices by colours. A vertex beside too many colours does not move. */
static void colour_marked(const cvtm_sphere_mesh *mesh, int64_t fixed, moves *m) {
  int64_t count = 0;
  for (int64_t v = 0; v < mesh->count; ++v) {
    if (m->state[v] < BAD) continue;
    m->state[v] = v < fixed ? IDLE : MOVES;
    if (v >= fixed) m->unsorted[count++] = (int32_t)v;
  }
  memset(m->first, 0, sizeof m->first);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t v = m->unsorted[i];
    uint32_t taken = 0;
    int32_t h = mesh->leaves[v], colour = 0;
    do {
      const int beside = m->state[cvtm_sphere_end(mesh, h)] - BAD;
      if (beside >= 0) taken |= 1U << beside;
      h = cvtm_sphere_around(mesh, h);
    } while (h != mesh->leaves[v]);
    while (colour < COLOURS && (taken >> colour & 1)) ++colour;
    m->state[v] = (unsigned char)(colour < COLOURS ? BAD + colour : IDLE);
    if (colour < COLOURS) ++m->first[colour + 1];
  }
  int64_t next[COLOURS];
  for (int c = 0; c < COLOURS; ++c) {
    m->first[c + 1] += m->first[c];
    next[c] = m->first[c];
  }
  for (int64_t i = 0; i < count; ++i) {
    const int colour = m->state[m->unsorted[i]] - BAD;
    if (colour >= 0) m->vertex[next[colour]++] = m->unsorted[i];
  }
}

/* Vertices of one colour are not neighbours, so threads move them together. target: see
 * raise_vertex. */
static void move_marked(cvtm_sphere_mesh *mesh, double target, const moves *m) {
  for (int sweep = 0; sweep < SWEEPS; ++sweep)
    for (int c = 0; c < COLOURS && m->first[c] < m->first[COLOURS]; ++c) {
#pragma omp parallel for schedule(dynamic, 16)
      for (int64_t i = m->first[c]; i < m->first[c + 1]; ++i)
        raise_vertex(mesh, m->vertex[i], target, sweep);
    }
}

static void set_triangle(cvtm_sphere_mesh *mesh, int32_t t, const int32_t corner[3],
                         const int32_t twin[3]) {
  for (int k = 0; k < 3; ++k) {
    const int32_t h = 3 * t + k;
    mesh->triangles[h] = corner[k];
    mesh->leaves[corner[k]] = h;
    mesh->twins[h] = twin[k];
    mesh->twins[twin[k]] = h;
  }
}

/* Removes a vertex with four to six neighbours, and fills the polygon of the neighbours with
 * triangles around the first of them. The last vertex and the last triangles get the numbers that
 * become free. */
static void remove_vertex(cvtm_sphere_mesh *mesh, int32_t v, unsigned char *state) {
  int32_t slot[6], ring[6], rim[6], h = mesh->leaves[v];
  const int n = cvtm_sphere_degree(mesh, v);
  for (int k = 0; k < n; ++k) {
    slot[k] = h / 3;
    ring[k] = cvtm_sphere_end(mesh, h);
    rim[k] = mesh->twins[cvtm_half_after(h)];
    h = cvtm_sphere_around(mesh, h);
    state[ring[k]] = LOOK;
  }
  for (int k = 0, last = n - 3; k <= last; ++k) /* later triangles set the twins of earlier ones */
    set_triangle(mesh, slot[k], (int32_t[3]){ring[0], ring[k + 1], ring[k + 2]},
                 (int32_t[3]){k == 0 ? rim[0] : 3 * slot[k - 1] + 2, rim[k + 1],
                              k == last ? rim[n - 1] : 3 * slot[k + 1]});
  for (int k = 0; k < 2; ++k) {
    const int32_t from = (int32_t)--mesh->triangle_count;
    const int32_t to = (slot[n - 2] > slot[n - 1]) == (k == 0) ? slot[n - 2] : slot[n - 1];
    if (to != from) set_triangle(mesh, to, mesh->triangles + 3 * from, mesh->twins + 3 * from);
  }
  const int32_t last = (int32_t)--mesh->count;
  if (v == last) return;
  cvtm_vector_store(mesh->points, v, cvtm_vector_load(mesh->points, last));
  state[v] = state[last];
  h = mesh->leaves[v] = mesh->leaves[last];
  do {
    mesh->triangles[h] = v;
    h = cvtm_sphere_around(mesh, h);
  } while (h != mesh->leaves[v]);
}

/* Returns a vertex that keeps v bad wherever it moves: v itself if it has four neighbours, because
 * its best angles are right angles; if v has eight, with best angles of 45 degrees, the neighbour
 * that has the fewest neighbours. -1: none. */
static int32_t find_superfluous(const cvtm_sphere_mesh *mesh, int64_t fixed, int32_t v) {
  const int degree = cvtm_sphere_degree(mesh, v);
  if (degree == 4) return v;
  int32_t h = mesh->leaves[v], found = -1, fewest = 7;
  for (int k = 0; degree > 7 && k < degree; ++k, h = cvtm_sphere_around(mesh, h)) {
    const int32_t beside = cvtm_sphere_end(mesh, h), own = cvtm_sphere_degree(mesh, beside);
    if (beside < fixed || own >= fewest) continue;
    found = beside;
    fewest = own;
  }
  return found;
}

/* Flips edges around the vertices to be looked at. */
static void flip_around(cvtm_sphere_mesh *mesh, unsigned char *state, cvtm_sphere_stack *stack) {
  for (int64_t v = 0; v < mesh->count; ++v) {
    if (state[v] != LOOK) continue;
    const int32_t first = mesh->leaves[v];
    int32_t h = first;
    do {
      cvtm_sphere_push(stack, h);
      cvtm_sphere_push(stack, (int32_t)cvtm_half_after(h));
      h = cvtm_sphere_around(mesh, h);
    } while (h != first);
  }
  cvtm_sphere_flip(mesh, stack, state);
}

cvtm_status cvtm_sphere_raise(cvtm_sphere_mesh *mesh, int64_t fixed, double least,
                              cvtm_error *error) {
  const size_t n = (size_t)mesh->count;
  cvtm_scratch memory = {0};
  moves m = {.vertex = cvtm_scratch_take(&memory, n, sizeof *m.vertex),
             .unsorted = cvtm_scratch_take(&memory, n, sizeof *m.unsorted),
             .state = cvtm_scratch_take(&memory, n, 1)};
  cvtm_sphere_stack stack = {NULL, 0, 0, 0};
  if (memory.failed) {
    cvtm_scratch_free(&memory);
    return cvtm_no_memory(error, "the angles");
  }
  memset(m.state, LOOK, n);
  for (int round = 0; round < ROUNDS && !stack.out_of_memory; ++round) {
    const int rings = round / 2 % 4; /* triangles that are still bad get more room */
    if (mark_bad(mesh, least, rings, m.state) == 0) break;
    for (int64_t v = fixed; rings > 1 && v < mesh->count && mesh->count > 12;) {
      const int32_t spare = m.state[v] == BAD ? find_superfluous(mesh, fixed, (int32_t)v) : -1;
      if (spare >= 0)
        remove_vertex(mesh, spare, m.state);
      else
        ++v;
    }
    colour_marked(mesh, fixed, &m);
    move_marked(mesh, rings > 0 ? HUGE_VAL : least, &m);
    for (int64_t i = 0; i < m.first[COLOURS]; ++i) {
      const int32_t first = mesh->leaves[m.vertex[i]];
      int32_t h = first;
      m.state[m.vertex[i]] = LOOK;
      do {
        m.state[cvtm_sphere_end(mesh, h)] = LOOK;
        h = cvtm_sphere_around(mesh, h);
      } while (h != first);
    }
    flip_around(mesh, m.state, &stack);
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
    /* divides `wanted` of the edges, chosen at equal steps of their numbers */
    const int64_t before = edge[h] * wanted / edges;
    if (a > b || (edge[h] + 1) * wanted / edges == before) continue;
    const cvtm_vector p = cvtm_vector_load(mesh->points, a), q = cvtm_vector_load(mesh->points, b);
    cvtm_vector_store(points, n + before, cvtm_vector_unit(cvtm_vector_add(p, 1, q)));
  }
  free(edge);
  *fine = points;
  return CVTM_OK;
}
