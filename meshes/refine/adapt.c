#include "meshes/refine/adapt.h"

#include "base/grow.h"
#include "base/host_memory.h"
#include "meshes/refine/adapt_state.h"

#include <stdlib.h>

/* An edge whose length is out of bounds, as it was found. */
typedef struct long_edge {
  double length;
  int64_t half;
  int32_t from, to;
} long_edge;

/* For qsort: the longest first. */
static int compare_lengths(const void *left, const void *right) {
  const long_edge *a = left, *b = right;
  if (a->length != b->length) return a->length > b->length ? -1 : 1;
  return (a->half > b->half) - (a->half < b->half);
}

/* The edges longer than a bound, the longest first; below: shorter, the shortest first. */
static cvtm_status list_uneven_edges(const cvtm_adapter *a, double bound, int below,
                                     long_edge **list, int64_t *count) {
  const cvtm_half_edges *m = &a->m;
  int64_t capacity = 0;
  *list = NULL;
  *count = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h] < 0 || m->twin[h] >= h) continue;
    const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
    const double length =
        below ? cvtm_adapt_length(a, from, to) : cvtm_adapt_length_along(a, from, to);
    if (below ? length >= bound : length <= bound) continue;
    if (!cvtm_grow(list, sizeof **list, &capacity, *count + 1))
      return cvtm_no_memory(a->error, "the mesh");
    (*list)[(*count)++] = (long_edge){below ? -length : length, h, from, to};
  }
  if (*count > 0) qsort(*list, (size_t)*count, sizeof **list, compare_lengths);
  return CVTM_OK;
}

static int is_there(const cvtm_half_edges *m, const long_edge *e) {
  return m->corner[e->half] == e->from && cvtm_end_of(m, e->half) == e->to;
}

/* ---- Diagonals ---- */

/* Exchanges diagonals where that makes the worse of two triangles better, until none does,
 * beginning at the half-edges that changed. It ends: the list of qualities, in ascending order,
 * grows. */
static void exchange_diagonals(cvtm_adapter *a) {
  cvtm_half_edges *m = &a->m;
  while (m->depth > 0 && !m->out_of_memory) {
    const int64_t h = m->stack[--m->depth], g = m->corner[h] < 0 ? -1 : m->twin[h];
    if (g < 0 || m->segment[h] >= 0) continue;
    const int32_t u = m->corner[h], v = m->corner[g], c = cvtm_apex_of(m, h),
                  d = cvtm_apex_of(m, g);
    if (cvtm_orient_of(m, d, c, u) <= 0 || cvtm_orient_of(m, c, d, v) <= 0) continue;
    const double before = fmin(cvtm_adapt_quality(a, u, v, c), cvtm_adapt_quality(a, v, u, d));
    const double after = fmin(cvtm_adapt_quality(a, d, c, u), cvtm_adapt_quality(a, c, d, v));
    if (after <= 1.0001 * before) continue;
    cvtm_half_edges_flip(m, h);
    ++a->figures->flipped;
  }
}

static cvtm_status keep(cvtm_adapter *a) {
  exchange_diagonals(a);
  if (a->m.out_of_memory) return cvtm_no_memory(a->error, "the mesh");
  cvtm_half_edges_commit(&a->m);
  return CVTM_OK;
}

/* ---- Division ---- */

/* Where the lengths to both ends are equal, if the length per step changes linearly. */
static double find_middle(double from, double to) {
  if (fabs(to - from) <= 1e-3 * fmax(from, to)) return 0.5;
  const double t = (sqrt(0.5 * (from * from + to * to)) - from) / (to - from);
  return fmin(fmax(t, 0.25), 0.75);
}

static cvtm_status divide_edge(cvtm_adapter *a, int64_t h) {
  cvtm_half_edges *m = &a->m;
  const int32_t u = m->corner[h], v = cvtm_end_of(m, h), segment = m->segment[h];
  const cvtm_grid_point p = m->grid[u], q = m->grid[v];
  const double x = (double)q.x - p.x, y = (double)q.y - p.y;
  const double t = find_middle(sqrt(cvtm_metric_square(a->metric[u], x, y)),
                               sqrt(cvtm_metric_square(a->metric[v], x, y)));
  const cvtm_grid_point place =
      segment >= 0
          ? cvtm_adapt_place_on(a, segment, p.x + t * x, p.y + t * y)
          : (cvtm_grid_point){(int32_t)llround(p.x + t * x), (int32_t)llround(p.y + t * y)};
  const int32_t made = cvtm_half_edges_insert_on(m, h, place);
  if (made < 0 && !m->out_of_memory) {
    cvtm_half_edges_undo(m, 0);
    return CVTM_OK;
  }
  const cvtm_status status = made < 0 ? CVTM_OK : cvtm_adapt_describe(a, made, segment);
  ++a->figures->divided;
  return status == CVTM_OK ? keep(a) : status;
}

/* The longest first, until there are `most` vertices. */
static cvtm_status divide_long_edges(cvtm_adapter *a, double bound, int64_t most) {
  long_edge *list;
  int64_t count;
  cvtm_status status = list_uneven_edges(a, bound, 0, &list, &count);
  for (int64_t k = 0; k < count && a->live < most && status == CVTM_OK && !cvtm_adapt_is_over(a);
       ++k)
    if (is_there(&a->m, &list[k])) status = divide_edge(a, list[k].half);
  free(list);
  return status;
}

/* ---- Removal ---- */

/* Whether the triangles that changed have no edge that is too long and no bad shape. */
static int is_good_change(const cvtm_adapter *a) {
  const cvtm_half_edges *m = &a->m;
  for (int64_t k = 0; k < m->change_count; ++k) {
    if (m->changes[k].kind != CVTM_CHANGED_CORNER) continue;
    const int64_t h = m->changes[k].index, t = h - h % 3;
    if (m->corner[t] < 0) continue;
    if (cvtm_adapt_length(a, m->corner[h], cvtm_end_of(m, h)) > a->longest) return 0;
    if (cvtm_adapt_quality(a, m->corner[t], m->corner[t + 1], m->corner[t + 2]) < 0.2) return 0;
  }
  return 1;
}

/* A vertex on a segment vanishes only with a piece of that segment. */
static int may_vanish(const cvtm_adapter *a, int32_t v, int32_t segment) {
  return a->on[v] == CVTM_ADAPT_INSIDE || (a->on[v] >= 0 && a->on[v] == segment);
}

static cvtm_status remove_end(cvtm_adapter *a, int32_t v, int *done) {
  cvtm_half_edges *m = &a->m;
  *done = cvtm_half_edges_remove(m, v);
  if (*done) {
    const int64_t flipped = a->figures->flipped;
    exchange_diagonals(a);
    *done = !m->out_of_memory && is_good_change(a);
    if (!*done) a->figures->flipped = flipped;
  }
  if (m->out_of_memory) return cvtm_no_memory(a->error, "the mesh");
  if (*done) {
    cvtm_half_edges_commit(m);
    ++a->figures->removed;
    --a->live;
  } else {
    cvtm_half_edges_undo(m, 0);
  }
  return CVTM_OK;
}

/* The shortest first, while there are more than `least` vertices. */
static cvtm_status remove_short_edges(cvtm_adapter *a, double bound, int64_t least) {
  long_edge *list;
  int64_t count;
  cvtm_status status = list_uneven_edges(a, bound, 1, &list, &count);
  for (int64_t k = 0; k < count && a->live > least && status == CVTM_OK && !cvtm_adapt_is_over(a);
       ++k) {
    int done = 0;
    for (int end = 0; end < 2 && !done && status == CVTM_OK; ++end) {
      if (!is_there(&a->m, &list[k])) break;
      const int32_t v = end == 0 ? list[k].from : list[k].to;
      if (may_vanish(a, v, a->m.segment[list[k].half])) status = remove_end(a, v, &done);
    }
  }
  free(list);
  return status;
}

/* ---- The whole ---- */

static cvtm_status exchange_all(cvtm_adapter *a) {
  cvtm_half_edges *m = &a->m;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h] < 0 || m->twin[h] < h) continue;
    if (!cvtm_grow(&m->stack, sizeof *m->stack, &m->stack_capacity, m->depth + 1))
      return cvtm_no_memory(a->error, "the mesh");
    m->stack[m->depth++] = h;
  }
  return keep(a);
}

static cvtm_status smooth(cvtm_adapter *a) {
  cvtm_status status = exchange_all(a);
  for (int pass = 0; pass < 2 && status == CVTM_OK; ++pass) {
    status = cvtm_adapt_smooth(a);
    if (status == CVTM_OK) status = exchange_all(a);
  }
  ++a->figures->rounds;
  return status;
}

/* Rounds until hardly anything changes, or there are far too many vertices. */
static cvtm_status adapt_to_scale(cvtm_adapter *a, int rounds, int64_t most) {
  cvtm_status status = CVTM_OK;
  for (int round = 0; round < rounds && status == CVTM_OK && !cvtm_adapt_is_over(a); ++round) {
    const int64_t before = a->figures->divided + a->figures->removed;
    status = divide_long_edges(a, a->longest, most);
    if (status == CVTM_OK) status = remove_short_edges(a, a->shortest, 0);
    if (status == CVTM_OK) status = smooth(a);
    if (100 * (a->figures->divided + a->figures->removed - before) <= a->live) break;
  }
  return status;
}

static void multiply_metrics(cvtm_adapter *a, double factor) {
  a->scale *= factor;
  for (int64_t v = 0; v < a->m.vertex_count; ++v) {
    a->metric[v].xx *= factor;
    a->metric[v].xy *= factor;
    a->metric[v].yy *= factor;
  }
}

/* The scale follows from the number of vertices that it leads to. In the end edges of nearly the
 * length 1 are divided or removed until the number is what is wanted, as far as the corners of the
 * boundary leave that. */
static cvtm_status adapt_to_number(cvtm_adapter *a, int64_t wanted) {
  enum { TRIALS = 6, FIRST_ROUNDS = 40, ROUNDS = 4, LAST_ROUNDS = 5 };
  const int64_t most = 2 * wanted + 100;
  cvtm_status status = adapt_to_scale(a, FIRST_ROUNDS, most);
  for (int trial = 0; trial < TRIALS && status == CVTM_OK && !cvtm_adapt_is_over(a); ++trial) {
    const double ratio = (double)wanted / (double)a->live;
    if (fabs(ratio - 1) < 0.05) break;
    multiply_metrics(a, fmin(fmax(ratio, 0.5), 2));
    status = adapt_to_scale(a, ROUNDS, most);
  }
  const double longest = a->longest;
  a->longest = 2; /* for single edges that removal makes longer */
  for (int round = 0;
       round < LAST_ROUNDS && a->live != wanted && status == CVTM_OK && !cvtm_adapt_is_over(a);
       ++round) {
    status =
        a->live < wanted ? divide_long_edges(a, 0.9, wanted) : remove_short_edges(a, 1.1, wanted);
    if (status == CVTM_OK) status = smooth(a);
  }
  a->longest = longest;
  return status;
}

cvtm_status cvtm_adapt(const cvtm_boundary *boundary, const cvtm_metric_field *field,
                       int64_t wanted, int (*stop)(const void *context), const void *context,
                       cvtm_mesh *mesh, cvtm_regions *regions, cvtm_adapt_figures *figures,
                       cvtm_error *error) {
  *figures = (cvtm_adapt_figures){0};
  cvtm_adapter a = {.field = field,
                    .longest = sqrt(2),
                    .shortest = sqrt(0.5),
                    .stop = stop,
                    .stop_context = context,
                    .figures = figures,
                    .error = error};
  cvtm_status status = cvtm_adapt_begin(&a, boundary, wanted);
  if (status == CVTM_OK) status = exchange_all(&a);
  if (status == CVTM_OK) status = adapt_to_number(&a, wanted);
  if (status == CVTM_OK) status = cvtm_adapt_extract(&a, mesh, regions);
  cvtm_adapt_end(&a);
  return status;
}
