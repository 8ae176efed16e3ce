/* Metrics, and triangle meshes with edges of length 1 in a metric. */
#include "base/host.h"
#include "meshes/delaunay/grid.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/delaunay/half_edges.h"
#include "meshes/elements/twins.h"
#include "meshes/refine/adapt.h"

#include <stdlib.h>

/* ---- Metrics ---- */

void cvtm_metric_field_free(cvtm_metric_field *field) {
  free(field->log);
  *field = (cvtm_metric_field){0};
}

static int64_t count_cells(const cvtm_metric_field *f) { return (int64_t)f->width * f->height; }

static cvtm_metric logarithm(cvtm_metric m, double least, double ratio) {
  cvtm_metric_axes a = cvtm_metric_axes_of(m);
  const double floor = fmax(least, fmax(a.value[0], least) / (ratio * ratio));
  for (int k = 0; k < 2; ++k) a.value[k] = log(fmax(a.value[k], floor));
  return cvtm_metric_of_axes(a);
}

static cvtm_metric exponential(cvtm_metric m) {
  cvtm_metric_axes a = cvtm_metric_axes_of(m);
  for (int k = 0; k < 2; ++k) a.value[k] = exp(a.value[k]);
  return cvtm_metric_of_axes(a);
}

/* The metric det (|H|)^(-1/6) |H|, with the smaller eigenvalue raised to keep the ratio. */
static cvtm_metric optimal(cvtm_metric hessian, double ratio) {
  cvtm_metric_axes a = cvtm_metric_axes_of(hessian);
  for (int k = 0; k < 2; ++k) a.value[k] = fabs(a.value[k]);
  const double most = fmax(a.value[0], a.value[1]), floor = most / (ratio * ratio);
  if (!(most > 0)) return (cvtm_metric){0, 0, 0};
  for (int k = 0; k < 2; ++k) a.value[k] = fmax(a.value[k], floor);
  const double factor = pow(a.value[0] * a.value[1], -1.0 / 6);
  for (int k = 0; k < 2; ++k) a.value[k] *= factor;
  return cvtm_metric_of_axes(a);
}

cvtm_status cvtm_metric_of_hessians(cvtm_metric_field *f, double ratio, cvtm_error *error) {
  const double longest = 32; /* times the mean length */
  const int64_t cells = count_cells(f);
  double sum = 0;
  for (int64_t k = 0; k < cells; ++k) {
    f->log[k] = optimal(f->log[k], ratio);
    sum += sqrt(fmax(cvtm_metric_determinant(f->log[k]), 0));
  }
  const double mean = sum / (double)cells;
  if (!(mean > 0 && isfinite(mean)))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the field is linear, so its second derivatives determine no sizes");
  for (int64_t k = 0; k < cells; ++k)
    f->log[k] = logarithm(f->log[k], mean / (longest * longest), ratio);
  return CVTM_OK;
}

cvtm_status cvtm_metric_of_given(cvtm_metric_field *f, double ratio, cvtm_error *error) {
  for (int64_t k = 0; k < count_cells(f); ++k) {
    const cvtm_metric m = f->log[k];
    if (!(m.xx > 0 && cvtm_metric_determinant(m) > 0 && isfinite(m.xx + m.yy)))
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "the metric (%g, %g, %g) in row %lld, column %lld is not positive definite",
                       m.xx, m.xy, m.yy, (long long)(k / f->width), (long long)(k % f->width));
    f->log[k] = logarithm(m, 0, ratio);
  }
  return CVTM_OK;
}

/* The metric at a point; logarithms are interpolated linearly (Arsigny et al. 2006). */
static cvtm_metric cvtm_metric_at(const cvtm_metric_field *f, double x, double y) {
  const double u = fmin(fmax((x - f->left) / f->step - 0.5, 0), f->width - 1);
  const double v = fmin(fmax((y - f->upper) / f->step - 0.5, 0), f->height - 1);
  const int64_t i = (int64_t)u, j = (int64_t)v;
  const int64_t right = i + 1 < f->width, below = j + 1 < f->height ? f->width : 0;
  const double s = u - (double)i, t = v - (double)j;
  const cvtm_metric *at = f->log + j * f->width + i;
  const double w[4] = {(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t};
  const cvtm_metric *const near[4] = {at, at + right, at + below, at + below + right};
  cvtm_metric sum = {0, 0, 0};
  for (int k = 0; k < 4; ++k) {
    sum.xx += w[k] * near[k]->xx;
    sum.xy += w[k] * near[k]->xy;
    sum.yy += w[k] * near[k]->yy;
  }
  return exponential(sum);
}

/* The mean of sqrt (det M), the density of triangles, over the field. */
static double metric_mean_density(const cvtm_metric_field *f) {
  double sum = 0;
  for (int64_t k = 0; k < count_cells(f); ++k) sum += exp(0.5 * (f->log[k].xx + f->log[k].yy));
  return sum / (double)count_cells(f);
}

/* ---- State ---- */

/* Values of `on` other than segments. */
enum { ADAPT_INSIDE = -1, ADAPT_CORNER = -2 };

typedef struct adapter {
  cvtm_half_edges m;
  cvtm_grid_frame frame;
  const cvtm_metric_field *field;
  double scale;               /* the metric of the field times this is used */
  cvtm_metric *metric;        /* per vertex, scaled, per grid step squared */
  int32_t *on;                /* per vertex: the segment along which it may move, or ADAPT_... */
  int64_t capacity;           /* of metric and on */
  int64_t live;               /* number of remaining vertices */
  double longest, shortest;   /* longer edges are divided, shorter ones collapsed */
  const cvtm_boundary *given; /* its edges are the segments */
  int (*stop)(const void *context);
  const void *stop_context;
  int64_t polls;
  int stopped;
  cvtm_adapt_figures *figures;
  cvtm_error *error;
} adapter;

static int adapt_is_over(adapter *a) {
  enum { STEPS = 64 }; /* between two calls of stop */
  if (a->stopped || a->stop == NULL || a->polls++ % STEPS != 0) return a->stopped;
  return a->stopped = a->stop(a->stop_context) != 0;
}

/* ---- Lengths and shapes ---- */

static cvtm_metric metric_at(const adapter *a, cvtm_grid_point p) {
  const double step = a->frame.step, factor = a->scale * step * step;
  const cvtm_metric m = cvtm_metric_at(a->field, a->frame.x + p.x * step, a->frame.y - p.y * step);
  return (cvtm_metric){factor * m.xx, -factor * m.xy, factor * m.yy}; /* y is up here */
}

/* The length of an edge: the mean of its lengths in the metrics at both ends. */
static double adapt_length(const adapter *a, int32_t u, int32_t v) {
  const cvtm_grid_point p = a->m.grid[u], q = a->m.grid[v];
  const double x = (double)q.x - p.x, y = (double)q.y - p.y;
  return 0.5 * (sqrt(cvtm_metric_square(a->metric[u], x, y)) +
                sqrt(cvtm_metric_square(a->metric[v], x, y)));
}

/* adapt_length with the metrics also at points between the ends, if the edge crosses many cells of
 * the field. */
static double adapt_length_along(const adapter *a, int32_t u, int32_t v) {
  enum { MOST = 16, CELLS = 4 }; /* largest number of pieces; length of a piece in cells */
  const cvtm_grid_point p = a->m.grid[u], q = a->m.grid[v];
  const double x = (double)q.x - p.x, y = (double)q.y - p.y;
  const int pieces = (int)fmin(hypot(x, y) * a->frame.step / (CELLS * a->field->step), MOST);
  double sum = adapt_length(a, u, v);
  for (int k = 1; k < pieces; ++k) {
    const double t = (double)k / pieces;
    const cvtm_grid_point place = {(int32_t)(p.x + t * x), (int32_t)(p.y + t * y)};
    sum += sqrt(cvtm_metric_square(metric_at(a, place), x, y));
  }
  return sum / fmax(pieces, 1);
}

/* The quality of a triangle with metrics at its corners: 1 if it is equilateral in the mean metric,
 * <= 0 if it is not positively oriented. */
static double adapt_shape(const cvtm_grid_point p[3], const cvtm_metric *const metric[3]) {
  const double twice = (double)cvtm_orient(p[0], p[1], p[2]);
  if (twice <= 0) return -1;
  cvtm_metric sum = {0, 0, 0};
  double squares = 0;
  for (int k = 0; k < 3; ++k) {
    sum.xx += metric[k]->xx;
    sum.xy += metric[k]->xy;
    sum.yy += metric[k]->yy;
  }
  for (int k = 0; k < 3; ++k) {
    const cvtm_grid_point q = p[(k + 1) % 3];
    squares += cvtm_metric_square(sum, (double)q.x - p[k].x, (double)q.y - p[k].y);
  }
  return 2 * sqrt(3) * twice * sqrt(fmax(cvtm_metric_determinant(sum), 0)) / squares;
}

static double adapt_quality(const adapter *a, int32_t u, int32_t v, int32_t w) {
  const cvtm_grid_point p[3] = {a->m.grid[u], a->m.grid[v], a->m.grid[w]};
  const cvtm_metric *const metric[3] = {&a->metric[u], &a->metric[v], &a->metric[w]};
  return adapt_shape(p, metric);
}

/* The grid point closest to the point of a segment that is closest to (x, y), in grid steps. */
static cvtm_grid_point adapt_place_on(const adapter *a, int32_t segment, double x, double y) {
  const int32_t *ends = a->given->edges + 2 * (int64_t)segment;
  const cvtm_grid_point p = a->m.grid[ends[0]], q = a->m.grid[ends[1]];
  const double ux = (double)q.x - p.x, uy = (double)q.y - p.y;
  const double s = ((x - p.x) * ux + (y - p.y) * uy) / (ux * ux + uy * uy);
  return (cvtm_grid_point){(int32_t)llround(p.x + s * ux), (int32_t)llround(p.y + s * uy)};
}

/* ---- Beginning and end ---- */

/* Sets the data of a new vertex. */
static cvtm_status adapt_describe(adapter *a, int32_t v, int32_t segment) {
  const cvtm_growing arrays[] = {{&a->metric, sizeof *a->metric}, {&a->on, sizeof *a->on}};
  if (!cvtm_grow_all(arrays, 2, &a->capacity, v + 1)) return cvtm_no_memory(a->error, "the mesh");
  a->metric[v] = metric_at(a, a->m.grid[v]);
  a->on[v] = segment;
  ++a->live;
  return CVTM_OK;
}

static double area_of(const cvtm_half_edges *m) {
  double twice = 0;
  for (int64_t t = 0; t < m->triangle_count; ++t)
    twice +=
        (double)cvtm_orient_of(m, m->corner[3 * t], m->corner[3 * t + 1], m->corner[3 * t + 2]);
  return 0.5 * twice;
}

/* Triangulates the boundary. The caller calls adapt_end, also on failure. */
static cvtm_status adapt_begin(adapter *a, const cvtm_boundary *boundary, int64_t wanted) {
  CVTM_TRY(cvtm_constrained_half_edges(boundary->points, boundary->vertex_count, boundary, &a->m,
                                       &a->frame, a->error));
  /* An equilateral triangle with sides 1 has the area sqrt (3) / 4, and there are about twice as
   * many triangles as vertices. */
  const double area = area_of(&a->m) * a->frame.step * a->frame.step;
  a->scale = 0.5 * sqrt(3) * (double)wanted / (metric_mean_density(a->field) * area);
  for (int32_t v = 0; v < boundary->vertex_count; ++v) {
    CVTM_TRY(adapt_describe(a, v, ADAPT_CORNER));
    a->live -= a->m.at[v] < 0;
  }
  return CVTM_OK;
}

static void adapt_end(adapter *a) {
  cvtm_half_edges_free(&a->m);
  free(a->metric);
  free(a->on);
}

/* ---- Moves ---- */

enum { MOST_NEIGHBOURS = 64 };

/* The vertices around v; an open fan has one more vertex than triangles. */
typedef struct ring {
  int32_t vertex[MOST_NEIGHBOURS + 1];
  int count, triangles;
  int on_segment[MOST_NEIGHBOURS +
                 1]; /* nonzero: the edge to it is part of the segment on which v lies */
} ring;

static int find_ring(const adapter *a, int32_t v, ring *r) {
  const cvtm_half_edges *m = &a->m;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  const int32_t on = a->on[v];
  *r = (ring){.count = 0};
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    if (r->count == MOST_NEIGHBOURS) return 0;
    r->on_segment[r->count] = on >= 0 && m->segment[h] == on;
    r->vertex[r->count++] = cvtm_end_of(m, h);
    ++r->triangles;
    if (cvtm_turn_left(m, h) < 0) {
      r->on_segment[r->count] = on >= 0 && m->segment[cvtm_half_before(h)] == on;
      r->vertex[r->count++] = cvtm_apex_of(m, h);
    }
  }
  return 1;
}

static double worst_around(const adapter *a, const ring *r, cvtm_grid_point place,
                           const cvtm_metric *metric) {
  double worst = 1;
  for (int k = 0; k < r->triangles; ++k) {
    const int32_t u = r->vertex[k], v = r->vertex[k + 1 < r->count ? k + 1 : 0];
    const cvtm_grid_point p[3] = {place, a->m.grid[u], a->m.grid[v]};
    const cvtm_metric *const metrics[3] = {metric, &a->metric[u], &a->metric[v]};
    worst = fmin(worst, adapt_shape(p, metrics));
  }
  return worst;
}

/* Finds the goal of v: the mean of the points at distance 1 from each neighbour (on a segment: each
 * neighbour on it) in the direction of v. Returns 0 if v has no goal. */
static int find_goal(const adapter *a, int32_t v, const ring *r, double goal[2]) {
  const cvtm_grid_point at = a->m.grid[v];
  const int on = a->on[v] >= 0;
  int count = 0;
  goal[0] = goal[1] = 0;
  for (int k = 0; k < r->count; ++k) {
    if (on && !r->on_segment[k]) continue;
    const cvtm_grid_point p = a->m.grid[r->vertex[k]];
    const double length = adapt_length(a, v, r->vertex[k]);
    goal[0] += p.x + ((double)at.x - p.x) / length;
    goal[1] += p.y + ((double)at.y - p.y) / length;
    ++count;
  }
  goal[0] /= count;
  goal[1] /= count;
  return count >= 2;
}

static cvtm_grid_point place_towards(const adapter *a, int32_t v, const double goal[2],
                                     double share) {
  const cvtm_grid_point at = a->m.grid[v];
  const double x = at.x + share * (goal[0] - at.x), y = at.y + share * (goal[1] - at.y);
  if (a->on[v] >= 0) return adapt_place_on(a, a->on[v], x, y);
  return (cvtm_grid_point){(int32_t)llround(x), (int32_t)llround(y)};
}

static void move_vertex(adapter *a, int32_t v) {
  ring r;
  double goal[2];
  if (!find_ring(a, v, &r) || !find_goal(a, v, &r, goal)) return;
  const double before = worst_around(a, &r, a->m.grid[v], &a->metric[v]);
  for (double share = 0.8; share > 0.1; share *= 0.5) {
    const cvtm_grid_point place = place_towards(a, v, goal, share);
    const cvtm_metric metric = metric_at(a, place);
    if (worst_around(a, &r, place, &metric) < fmin(before, 0.9)) continue;
    if (!cvtm_half_edges_move(&a->m, v, place)) continue;
    a->metric[v] = metric;
    ++a->figures->moved;
    return;
  }
}

/* Moves each vertex once towards its goal, unless the worst triangle around it would become worse.
 * Flips no edges. */
static cvtm_status adapt_smooth(adapter *a) {
  for (int32_t v = 0; v < a->m.vertex_count && !adapt_is_over(a); ++v) {
    if (a->m.at[v] < 0 || a->on[v] == ADAPT_CORNER) continue;
    move_vertex(a, v);
    a->m.depth = 0;
    cvtm_half_edges_commit(&a->m);
  }
  return a->m.out_of_memory ? cvtm_no_memory(a->error, "the mesh") : CVTM_OK;
}

/* ---- The result ---- */

static void measure(const adapter *a, cvtm_adapt_figures *f) {
  const cvtm_half_edges *m = &a->m;
  int64_t edges = 0, good = 0, triangles = 0;
  f->shortest = f->least_quality = INFINITY;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h] < 0) continue;
    if (h % 3 == 0) {
      const double quality = adapt_quality(a, m->corner[h], m->corner[h + 1], m->corner[h + 2]);
      f->least_quality = fmin(f->least_quality, quality);
      f->mean_quality += quality;
      ++triangles;
    }
    if (m->twin[h] >= h) continue;
    const double length = adapt_length(a, m->corner[h], cvtm_end_of(m, h));
    f->shortest = fmin(f->shortest, length);
    f->longest = fmax(f->longest, length);
    good += length >= a->shortest && length <= a->longest;
    ++edges;
  }
  f->good_edges = (double)good / (double)edges;
  f->mean_quality /= (double)triangles;
}

/* Extracts the mesh and the figures. */
static cvtm_status adapt_extract(const adapter *a, cvtm_mesh *mesh, cvtm_regions *regions) {
  const cvtm_half_edges *m = &a->m;
  int32_t *number = malloc(((size_t)m->vertex_count + 1) * sizeof *number);
  int64_t count = 0;
  if (number == NULL) return cvtm_no_memory(a->error, "the mesh");
  for (int64_t v = 0; v < m->vertex_count; ++v)
    if (m->at[v] >= 0) number[v] = (int32_t)count++;
  const cvtm_status status = cvtm_half_edges_extract(m, number, count, mesh, regions, a->error);
  for (int64_t v = 0; v < m->vertex_count && status == CVTM_OK; ++v)
    if (m->at[v] >= 0)
      cvtm_grid_place(&a->frame, m->grid[v], mesh->points + 2 * (int64_t)number[v]);
  if (status == CVTM_OK) measure(a, a->figures);
  free(number);
  return status;
}

/* ---- Edges whose length is out of bounds ---- */

/* An edge whose length is out of bounds. */
typedef struct long_edge {
  double length;
  int64_t half;
  int32_t from, to;
} long_edge;

/* For qsort; the longest first. */
static int compare_lengths(const void *left, const void *right) {
  const long_edge *a = left, *b = right;
  if (a->length != b->length) return a->length > b->length ? -1 : 1;
  return (a->half > b->half) - (a->half < b->half);
}

/* Lists the edges longer than a bound, the longest first; with `below`, the edges shorter than the
 * bound, the shortest first. */
static cvtm_status list_uneven_edges(const adapter *a, double bound, int below, long_edge **list,
                                     int64_t *count) {
  const cvtm_half_edges *m = &a->m;
  int64_t capacity = 0;
  *list = NULL;
  *count = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h] < 0 || m->twin[h] >= h) continue;
    const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
    const double length = below ? adapt_length(a, from, to) : adapt_length_along(a, from, to);
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

/* ---- Flips ---- */

/* Flips edges, beginning at the half-edges that changed, until no flip improves the worse of its
 * two triangles. This ends, because each flip increases the list of qualities, sorted in ascending
 * order, lexicographically. */
static void exchange_diagonals(adapter *a) {
  cvtm_half_edges *m = &a->m;
  while (m->depth > 0 && !m->out_of_memory) {
    const int64_t h = m->stack[--m->depth], g = m->corner[h] < 0 ? -1 : m->twin[h];
    if (g < 0 || m->segment[h] >= 0) continue;
    const int32_t u = m->corner[h], v = m->corner[g], c = cvtm_apex_of(m, h),
                  d = cvtm_apex_of(m, g);
    if (cvtm_orient_of(m, d, c, u) <= 0 || cvtm_orient_of(m, c, d, v) <= 0) continue;
    const double before = fmin(adapt_quality(a, u, v, c), adapt_quality(a, v, u, d));
    const double after = fmin(adapt_quality(a, d, c, u), adapt_quality(a, c, d, v));
    if (after <= 1.0001 * before) continue;
    cvtm_half_edges_flip(m, h);
    ++a->figures->flipped;
  }
}

static cvtm_status keep(adapter *a) {
  exchange_diagonals(a);
  if (a->m.out_of_memory) return cvtm_no_memory(a->error, "the mesh");
  cvtm_half_edges_commit(&a->m);
  return CVTM_OK;
}

/* ---- Division ---- */

/* The parameter of the point at equal lengths from both ends, if the length per step is linear. */
static double find_middle(double from, double to) {
  if (fabs(to - from) <= 1e-3 * fmax(from, to)) return 0.5;
  const double t = (sqrt(0.5 * (from * from + to * to)) - from) / (to - from);
  return fmin(fmax(t, 0.25), 0.75);
}

static cvtm_status divide_edge(adapter *a, int64_t h) {
  cvtm_half_edges *m = &a->m;
  const int32_t u = m->corner[h], v = cvtm_end_of(m, h), segment = m->segment[h];
  const cvtm_grid_point p = m->grid[u], q = m->grid[v];
  const double x = (double)q.x - p.x, y = (double)q.y - p.y;
  const double t = find_middle(sqrt(cvtm_metric_square(a->metric[u], x, y)),
                               sqrt(cvtm_metric_square(a->metric[v], x, y)));
  const cvtm_grid_point place = segment >= 0 ? adapt_place_on(a, segment, p.x + t * x, p.y + t * y)
                                             : (cvtm_grid_point){(int32_t)llround(p.x + t * x),
                                                                 (int32_t)llround(p.y + t * y)};
  const int32_t made = cvtm_half_edges_insert_on(m, h, place);
  if (made < 0 && !m->out_of_memory) {
    cvtm_half_edges_undo(m, 0);
    return CVTM_OK;
  }
  const cvtm_status status = made < 0 ? CVTM_OK : adapt_describe(a, made, segment);
  ++a->figures->divided;
  return status == CVTM_OK ? keep(a) : status;
}

/* Divides edges longer than the bound, the longest first, until there are `most` vertices. */
static cvtm_status divide_long_edges(adapter *a, double bound, int64_t most) {
  long_edge *list;
  int64_t count;
  cvtm_status status = list_uneven_edges(a, bound, 0, &list, &count);
  for (int64_t k = 0; k < count && a->live < most && status == CVTM_OK && !adapt_is_over(a); ++k)
    if (is_there(&a->m, &list[k])) status = divide_edge(a, list[k].half);
  free(list);
  return status;
}

/* ---- Removal ---- */

/* Nonzero if no changed triangle has a long edge or a bad shape. */
static int is_good_change(const adapter *a) {
  const cvtm_half_edges *m = &a->m;
  for (int64_t k = 0; k < m->change_count; ++k) {
    if (m->changes[k].kind != CVTM_CHANGED_CORNER) continue;
    const int64_t h = m->changes[k].index, t = h - h % 3;
    if (m->corner[t] < 0) continue;
    if (adapt_length(a, m->corner[h], cvtm_end_of(m, h)) > a->longest) return 0;
    if (adapt_quality(a, m->corner[t], m->corner[t + 1], m->corner[t + 2]) < 0.2) return 0;
  }
  return 1;
}

/* A vertex on a segment may be removed only by collapsing a part of that segment. */
static int may_vanish(const adapter *a, int32_t v, int32_t segment) {
  return a->on[v] == ADAPT_INSIDE || (a->on[v] >= 0 && a->on[v] == segment);
}

static cvtm_status remove_end(adapter *a, int32_t v, int *done) {
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

/* Collapses edges shorter than the bound, the shortest first, down to `least` vertices. */
static cvtm_status remove_short_edges(adapter *a, double bound, int64_t least) {
  long_edge *list;
  int64_t count;
  cvtm_status status = list_uneven_edges(a, bound, 1, &list, &count);
  for (int64_t k = 0; k < count && a->live > least && status == CVTM_OK && !adapt_is_over(a); ++k) {
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

/* ---- All steps ---- */

static cvtm_status exchange_all(adapter *a) {
  cvtm_half_edges_push_all(&a->m);
  return keep(a);
}

static cvtm_status smooth(adapter *a) {
  cvtm_status status = exchange_all(a);
  for (int pass = 0; pass < 2 && status == CVTM_OK; ++pass) {
    status = adapt_smooth(a);
    if (status == CVTM_OK) status = exchange_all(a);
  }
  ++a->figures->rounds;
  return status;
}

/* Divides, removes, flips and moves until little changes, or there are far too many vertices. */
static cvtm_status adapt_to_scale(adapter *a, int rounds, int64_t most) {
  for (int round = 0; round < rounds && !adapt_is_over(a); ++round) {
    const int64_t before = a->figures->divided + a->figures->removed;
    CVTM_TRY(divide_long_edges(a, a->longest, most));
    CVTM_TRY(remove_short_edges(a, a->shortest, 0));
    CVTM_TRY(smooth(a));
    if (100 * (a->figures->divided + a->figures->removed - before) <= a->live) break;
  }
  return CVTM_OK;
}

static void multiply_metrics(adapter *a, double factor) {
  a->scale *= factor;
  for (int64_t v = 0; v < a->m.vertex_count; ++v) {
    a->metric[v].xx *= factor;
    a->metric[v].xy *= factor;
    a->metric[v].yy *= factor;
  }
}

/* Finds the scale of the metric that gives the wanted number of vertices. Then divides or collapses
 * edges of length close to 1 until the number is exact, as far as corners of the boundary allow. */
static cvtm_status adapt_to_number(adapter *a, int64_t wanted) {
  enum { TRIALS = 6, FIRST_ROUNDS = 40, ROUNDS = 4, LAST_ROUNDS = 5 };
  const int64_t most = 2 * wanted + 100;
  CVTM_TRY(adapt_to_scale(a, FIRST_ROUNDS, most));
  for (int trial = 0; trial < TRIALS && !adapt_is_over(a); ++trial) {
    const double ratio = (double)wanted / (double)a->live;
    if (fabs(ratio - 1) < 0.05) break;
    multiply_metrics(a, fmin(fmax(ratio, 0.5), 2));
    CVTM_TRY(adapt_to_scale(a, ROUNDS, most));
  }
  const double longest = a->longest;
  a->longest = 2; /* because collapsing makes some edges longer */
  for (int round = 0; round < LAST_ROUNDS && a->live != wanted && !adapt_is_over(a); ++round) {
    CVTM_TRY(a->live < wanted ? divide_long_edges(a, 0.9, wanted)
                              : remove_short_edges(a, 1.1, wanted));
    CVTM_TRY(smooth(a));
  }
  a->longest = longest;
  return CVTM_OK;
}

cvtm_status cvtm_adapt(const cvtm_boundary *boundary, const cvtm_metric_field *field,
                       int64_t wanted, int (*stop)(const void *context), const void *context,
                       cvtm_mesh *mesh, cvtm_regions *regions, cvtm_adapt_figures *figures,
                       cvtm_error *error) {
  *figures = (cvtm_adapt_figures){0};
  adapter a = {.field = field,
               .given = boundary,
               .longest = sqrt(2),
               .shortest = sqrt(0.5),
               .stop = stop,
               .stop_context = context,
               .figures = figures,
               .error = error};
  cvtm_status status = adapt_begin(&a, boundary, wanted);
  if (status == CVTM_OK) status = exchange_all(&a);
  if (status == CVTM_OK) status = adapt_to_number(&a, wanted);
  if (status == CVTM_OK) status = adapt_extract(&a, mesh, regions);
  adapt_end(&a);
  return status;
}
