#include "base/host.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double deepest = 1.3; /* greatest width of a channel of one row of triangles, in
                                      lengths of its edges */
static const double aligned = 0.7; /* least cosine of the angle between the two sides */
static const double nearest = 0.6; /* least distance of vertices on an edge, in the same */

typedef struct alternation {
  cvtm_sizer *z;
  int64_t *first; /* per given edge, and after the last: its first place */
  int32_t *mate;  /* per given edge: the edge opposite to most of its parts; -1: none; -2: the edge
                      has been placed by its mate */
  int32_t *votes; /* per given edge: parts that face the mate, less those that face others */
  uint8_t *leads; /* per given edge: it keeps its vertices */
  cvtm_sized_place *places;
  int64_t count, capacity;
} alternation;

/* Finds the mates by majority votes of the parts. */
static void find_mates(alternation *a) {
  const cvtm_sizer *z = a->z;
  const cvtm_half_edges *m = &z->m;
  for (int64_t e = 0; e < z->given->edge_count; ++e) a->mate[e] = -1;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int64_t k = (int64_t)cvtm_apex_of(m, h) - z->given->vertex_count;
    if (m->segment[h] < 0 || k < 0) continue;
    const int32_t e = z->part_edge[m->segment[h]], other = z->places[k].edge;
    if (!z->is_narrow[e] || !z->is_narrow[other] || e == other) continue;
    if (a->votes[e] == 0) a->mate[e] = other;
    a->votes[e] += a->mate[e] == other ? 1 : -1;
  }
}

static void point_of(const cvtm_sizer *z, int64_t v, double point[2]) {
  point[0] = z->parts.points[2 * v];
  point[1] = -z->parts.points[2 * v + 1];
}

/* The vertex `k` of an edge: 0, the lower end; then the added vertices; the upper end. */
static int64_t vertex_of(const alternation *a, int32_t e, int64_t k) {
  const cvtm_sizer *z = a->z;
  const int32_t *ends = z->given->edges + 2 * (int64_t)e;
  const int64_t added = a->first[e + 1] - a->first[e], n = z->given->vertex_count;
  if (k > 0 && k <= added) return n + a->first[e] + k - 1;
  double way[2], p[2], q[2];
  cvtm_sizer_way(z, e, way);
  point_of(z, ends[0], p);
  point_of(z, ends[1], q);
  const int is_turned = way[0] * (q[0] - p[0]) + way[1] * (q[1] - p[1]) < 0;
  return ends[(k > 0) != is_turned];
}

static int take_place(alternation *a, int32_t edge, double t) {
  if (!cvtm_grow(&a->places, sizeof *a->places, &a->capacity, a->count + 1)) return 0;
  a->places[a->count++] = (cvtm_sized_place){edge, t};
  return 1;
}

/* For qsort. */
static int compare_places(const void *left, const void *right) {
  const cvtm_sized_place *a = left, *b = right;
  return (a->t > b->t) - (a->t < b->t);
}

/* The places of an edge: opposite to the middles of its mate's parts, where one row of triangles is
 * between the two; elsewhere those that it had. */
static int place_opposite(alternation *a, int32_t e) {
  const cvtm_sizer *z = a->z;
  const int32_t mate = a->mate[e];
  const int64_t begin = a->count, parts = a->first[mate + 1] - a->first[mate] + 1;
  const int64_t low = vertex_of(a, e, 0), high = vertex_of(a, e, a->first[e + 1] - a->first[e] + 1);
  double from[2], to[2], p[2], q[2];
  point_of(z, low, from);
  point_of(z, high, to);
  const double dx = to[0] - from[0], dy = to[1] - from[1], length = hypot(dx, dy);
  for (int64_t k = 0; k < parts; ++k) {
    const int64_t v = vertex_of(a, mate, k), w = vertex_of(a, mate, k + 1);
    point_of(z, v, p);
    point_of(z, w, q);
    const double x = 0.5 * (p[0] + q[0]) - from[0], y = 0.5 * (p[1] + q[1]) - from[1];
    const double along = (x * dx + y * dy) / length, part = hypot(q[0] - p[0], q[1] - p[1]);
    const double ahead = fabs((q[0] - p[0]) * dx + (q[1] - p[1]) * dy) / length;
    if (ahead < aligned * part || v == low || v == high || w == low || w == high ||
        along < nearest * part || along > length - nearest * part ||
        fabs(x * dy - y * dx) > deepest * part * length)
      continue;
    if (!take_place(a, e, along / length)) return 0;
  }
  const int64_t made = a->count;
  int64_t near = begin;
  if (made > begin)
    qsort(a->places + begin, (size_t)(made - begin), sizeof *a->places, compare_places);
  for (int64_t k = a->first[e]; k < a->first[e + 1]; ++k) {
    const double along = z->places[k].t * length;
    while (near < made && a->places[near].t * length < along) ++near;
    const double after = near < made ? a->places[near].t * length - along : INFINITY;
    const double before = near > begin ? along - a->places[near - 1].t * length : INFINITY;
    const double last = k > a->first[e] ? z->places[k - 1].t * length : 0;
    const double next = k + 1 < a->first[e + 1] ? z->places[k + 1].t * length : length;
    if (fmin(before, after) < nearest * fmin(along - last, next - along)) continue;
    if (!take_place(a, e, z->places[k].t)) return 0;
  }
  if (a->count > begin)
    qsort(a->places + begin, (size_t)(a->count - begin), sizeof *a->places, compare_places);
  return 1;
}

/* An edge follows its mate, unless another one follows it or the mate follows one. */
static int place_all(alternation *a) {
  const cvtm_sizer *z = a->z;
  int64_t from = 0;
  for (int32_t e = 0; e < z->given->edge_count; ++e) {
    const int64_t to = a->first[e + 1], mate = a->mate[e];
    const int follows = mate >= 0 && a->votes[e] > 0 && !a->leads[e] && to > from &&
                        a->first[mate + 1] > a->first[mate] && a->mate[mate] >= -1;
    if (follows) {
      a->leads[mate] = 1;
      if (!place_opposite(a, e)) return 0;
      a->mate[e] = -2;
    } else {
      for (int64_t k = from; k < to; ++k)
        if (!take_place(a, e, z->places[k].t)) return 0;
    }
    from = to;
  }
  return 1;
}

cvtm_status cvtm_sizer_alternate(cvtm_sizer *z, int64_t *first) {
  const size_t edges = (size_t)z->given->edge_count;
  alternation a = {.z = z,
                   .first = first,
                   .mate = malloc((edges + 1) * sizeof *a.mate),
                   .votes = calloc(edges + 1, sizeof *a.votes),
                   .leads = calloc(edges + 1, 1)};
  int is_good = a.mate && a.votes && a.leads;
  if (is_good) find_mates(&a);
  is_good = is_good && place_all(&a);
  if (is_good) {
    int64_t at = 0;
    for (size_t e = 0; e < edges; ++e) {
      first[e] = at;
      while (at < a.count && a.places[at].edge == (int32_t)e) ++at;
    }
    first[edges] = z->added = a.count;
    free(z->places);
    z->places = a.places;
    a.places = NULL;
  }
  free(a.mate);
  free(a.votes);
  free(a.leads);
  free(a.places);
  return is_good ? CVTM_OK : cvtm_no_memory(z->error, "the boundary");
}
