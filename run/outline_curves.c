#include "run/outline_parts.h"

#include "base/geometry.h"
#include "base/host.h"
#include "base/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Smooth vertices ---- */

/* Per vertex the two edges that continue each other, in whatever directions; -1: chains end there.
 */
typedef int64_t joint[2];

static int begins_at(const cvtm_boundary *b, int64_t e, int64_t v) { return b->edges[2 * e] == v; }

static int32_t far_end(const cvtm_boundary *b, int64_t e, int64_t v) {
  return b->edges[2 * e + begins_at(b, e, v)];
}

/* Nonzero if the edges have the same regions on the same sides of a way through v. */
static int continue_each_other(const cvtm_boundary *b, int64_t v, int64_t e, int64_t f) {
  const int is_turned = begins_at(b, e, v) == begins_at(b, f, v);
  return b->left[e] == (is_turned ? b->right : b->left)[f] &&
         b->right[e] == (is_turned ? b->left : b->right)[f];
}

static cvtm_status find_joints(const cvtm_boundary *b, joint **joints, cvtm_error *error) {
  const size_t n = (size_t)b->vertex_count;
  uint8_t *degree = calloc(n + 1, 1);
  joint *j = *joints = malloc((n + 1) * sizeof *j);
  if (!degree || !j) {
    free(degree);
    return cvtm_no_memory(error, "the curves");
  }
  for (int64_t e = 0; e < 2 * b->edge_count; ++e) {
    const int32_t v = b->edges[e];
    if (degree[v] < 2) j[v][degree[v]] = e / 2;
    if (degree[v] < 3) ++degree[v];
  }
  for (size_t v = 0; v < n; ++v)
    if (degree[v] != 2 || !continue_each_other(b, (int64_t)v, j[v][0], j[v][1]))
      j[v][0] = j[v][1] = -1;
  free(degree);
  return CVTM_OK;
}

static double turn_at(const cvtm_boundary *b, const joint j, int64_t v) {
  const double *p = b->points + 2 * (int64_t)far_end(b, j[0], v), *q = b->points + 2 * v,
               *r = b->points + 2 * (int64_t)far_end(b, j[1], v);
  const double ux = q[0] - p[0], uy = q[1] - p[1], vx = r[0] - q[0], vy = r[1] - q[1];
  return fabs(atan2(ux * vy - uy * vx, ux * vx + uy * vy));
}

/* The group of an edge; 0: none. */
static int32_t marker_of(const cvtm_marks *marks, int32_t mark) {
  const int32_t marker = mark >= 0 ? marks->mark[mark].marker : 0;
  return marker == 1 ? 0 : marker;
}

cvtm_status run_outline_find_smooth(const cvtm_boundary *b, double *points, int64_t count,
                                    double tolerance, const cvtm_marks *marks, double slack,
                                    int32_t *mark, uint8_t *is_smooth, cvtm_error *error) {
  joint *j;
  const cvtm_status status = find_joints(b, &j, error);
  for (int64_t e = 0, last = 0; e < b->edge_count; ++e) {
    const double *p = b->points + 2 * (int64_t)b->edges[2 * e],
                 *q = b->points + 2 * (int64_t)b->edges[2 * e + 1];
    mark[e] = (int32_t)cvtm_mark_find(marks, last, p, q, slack);
    if (mark[e] >= 0) last = mark[e];
  }
  if (count > 0) qsort(points, (size_t)count, 2 * sizeof *points, cvtm_compare_points);
  for (int64_t v = 0; v < b->vertex_count && status == CVTM_OK; ++v) {
    is_smooth[v] = 0;
    if (j[v][0] < 0 || marker_of(marks, mark[j[v][0]]) != marker_of(marks, mark[j[v][1]])) continue;
    is_smooth[v] = tolerance >= 0
                       ? turn_at(b, j[v], v) < CVTM_PI / 6
                       : count > 0 && bsearch(b->points + 2 * v, points, (size_t)count,
                                              2 * sizeof *points, cvtm_compare_points) != NULL;
  }
  free(j);
  return status;
}

/* ---- Chains ---- */

/* The vertices of a chain. */
typedef struct chain {
  int64_t count, capacity;
  int32_t *vertex;
  int64_t *edge; /* the edge after each vertex except the last */
  double *parts; /* the integral of 1 / size up to each vertex */
} chain;

typedef struct divider {
  const cvtm_boundary *b;
  const uint8_t *is_smooth;
  double tolerance;
  run_edge_size size;
  const void *context;
  joint *joints;
  uint8_t *is_done; /* per edge */
  chain chain;
  cvtm_boundary *made;
  int64_t *source;
  int32_t *number; /* per old vertex */
  int64_t vertex_capacity, edge_capacity;
  cvtm_error *error;
} divider;

static cvtm_status extend(divider *d, int32_t v, int64_t edge) {
  chain *c = &d->chain;
  const cvtm_growing arrays[] = {
      {&c->vertex, sizeof *c->vertex}, {&c->edge, sizeof *c->edge}, {&c->parts, sizeof *c->parts}};
  if (!cvtm_grow_all(arrays, 3, &c->capacity, c->count + 1))
    return cvtm_no_memory(d->error, "the curves");
  const int64_t k = c->count++;
  c->vertex[k] = v;
  c->edge[k] = edge;
  c->parts[k] = 0;
  if (k == 0) return CVTM_OK;
  const double *p = d->b->points + 2 * (int64_t)c->vertex[k - 1],
               *q = d->b->points + 2 * (int64_t)v;
  const double way = hypot(q[0] - p[0], q[1] - p[1]);
  const double size = d->size(d->context, c->edge[k - 1], 0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]));
  c->parts[k] = c->parts[k - 1] + (size > 0 ? way / size : 0);
  return CVTM_OK;
}

/* Follows a chain along smooth vertices from vertex `start` on, with edge e as its first. */
static cvtm_status follow(divider *d, int64_t e, int32_t start) {
  int32_t v = start;
  d->chain.count = 0;
  cvtm_status status = extend(d, start, e);
  while (status == CVTM_OK) {
    d->is_done[e] = 1;
    v = far_end(d->b, e, v);
    const int64_t *j = d->joints[v];
    const int64_t next = d->is_smooth[v] && v != start ? j[j[0] == e] : -1;
    status = extend(d, v, next);
    if (next < 0) break;
    e = next;
  }
  return status;
}

/* The position of the end of part k of n on the chain; *at: the edge there, by its index. */
static void place_of(const divider *d, int64_t k, int64_t n, int64_t *at, double place[2]) {
  const chain *c = &d->chain;
  const double sum = c->parts[c->count - 1] * (double)k / (double)n;
  while (*at + 2 < c->count && c->parts[*at + 1] < sum) ++*at;
  const double a = c->parts[*at], b = c->parts[*at + 1];
  const double t = b > a ? fmin(fmax((sum - a) / (b - a), 0), 1) : 0;
  const double *p = d->b->points + 2 * (int64_t)c->vertex[*at],
               *q = d->b->points + 2 * (int64_t)c->vertex[*at + 1];
  place[0] = p[0] + t * (q[0] - p[0]);
  place[1] = p[1] + t * (q[1] - p[1]);
}

static double distance_from(const double *a, const double *b, const double *p) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = p[0] - a[0], vy = p[1] - a[1];
  const double length2 = ux * ux + uy * uy, t = length2 > 0 ? (ux * vx + uy * vy) / length2 : 0;
  const double s = fmin(fmax(t, 0), 1);
  return hypot(vx - s * ux, vy - s * uy);
}

/* Nonzero if n parts are close enough to the chain. */
static int fits(const divider *d, int64_t n) {
  const chain *c = &d->chain;
  int64_t at = 0;
  double from[2], to[2];
  place_of(d, 0, n, &at, from);
  for (int64_t k = 1, next = 1; k <= n; ++k) {
    place_of(d, k, n, &at, to);
    const double length = hypot(to[0] - from[0], to[1] - from[1]);
    const double most = d->tolerance >= 0 ? d->tolerance : 0.1 * length;
    for (; next <= at; ++next)
      if (distance_from(from, to, d->b->points + 2 * (int64_t)c->vertex[next]) > most) return 0;
    memcpy(from, to, sizeof from);
  }
  return 1;
}

static cvtm_status add_vertex(divider *d, const double *place, int32_t *v) {
  cvtm_boundary *made = d->made;
  const cvtm_growing arrays[] = {{&made->points, 2 * sizeof *made->points},
                                 {&made->corner, sizeof *made->corner}};
  if (!cvtm_grow_all(arrays, 2, &d->vertex_capacity, made->vertex_count + 1))
    return cvtm_no_memory(d->error, "the curves");
  memcpy(made->points + 2 * made->vertex_count, place, 2 * sizeof *place);
  made->corner[made->vertex_count] = 1;
  *v = (int32_t)made->vertex_count++;
  return CVTM_OK;
}

static cvtm_status take_vertex(divider *d, int32_t old, int32_t *v) {
  cvtm_status status = CVTM_OK;
  if (d->number[old] < 0) status = add_vertex(d, d->b->points + 2 * (int64_t)old, &d->number[old]);
  *v = d->number[old];
  return status;
}

/* Adds a part of the edge after vertex `at` of the chain. */
static cvtm_status add_edge(divider *d, int64_t at, int32_t from, int32_t to) {
  cvtm_boundary *made = d->made;
  const int64_t e = d->chain.edge[at];
  const int is_along = begins_at(d->b, e, d->chain.vertex[at]);
  const cvtm_growing arrays[] = {{&made->edges, 2 * sizeof *made->edges},
                                 {&made->left, sizeof *made->left},
                                 {&made->right, sizeof *made->right},
                                 {&d->source, sizeof *d->source}};
  const int64_t k = made->edge_count;
  if (!cvtm_grow_all(arrays, 4, &d->edge_capacity, k + 1))
    return cvtm_no_memory(d->error, "the curves");
  made->edges[2 * k] = from;
  made->edges[2 * k + 1] = to;
  made->left[k] = (is_along ? d->b->left : d->b->right)[e];
  made->right[k] = (is_along ? d->b->right : d->b->left)[e];
  d->source[k] = e;
  ++made->edge_count;
  return CVTM_OK;
}

/* Writes the chain as n parts, or unchanged if it has at most n edges. */
static cvtm_status write_parts(divider *d, int64_t n) {
  const chain *c = &d->chain;
  const int is_kept = n >= c->count - 1;
  const int64_t parts = is_kept ? c->count - 1 : n;
  int64_t at = 0;
  int32_t last, v = -1;
  cvtm_status status = take_vertex(d, c->vertex[0], &last);
  for (int64_t k = 1; k <= parts && status == CVTM_OK; ++k) {
    const int64_t begin = is_kept ? k - 1 : at;
    if (is_kept || k == parts) {
      status = take_vertex(d, c->vertex[is_kept ? k : c->count - 1], &v);
    } else {
      double place[2];
      place_of(d, k, parts, &at, place);
      status = add_vertex(d, place, &v);
    }
    if (status == CVTM_OK) status = add_edge(d, begin, last, v);
    last = v;
  }
  return status;
}

static cvtm_status divide_chain(divider *d, int64_t e, int32_t start) {
  cvtm_status status = follow(d, e, start);
  if (status != CVTM_OK) return status;
  const chain *c = &d->chain;
  const int is_closed = c->vertex[0] == c->vertex[c->count - 1];
  const double wanted = c->parts[c->count - 1];
  int64_t n = wanted < (double)c->count ? (int64_t)fmax(rint(wanted), is_closed ? 4 : 1) : c->count;
  while (n < c->count - 1 && !fits(d, n)) n += 1 + n / 8;
  return write_parts(d, n);
}

static cvtm_status divide_all(divider *d) {
  const cvtm_boundary *b = d->b;
  cvtm_status status = CVTM_OK;
  int32_t v;
  for (int64_t k = 0; k < b->vertex_count; ++k) d->number[k] = -1;
  for (int32_t k = 0; k < b->vertex_count && status == CVTM_OK; ++k)
    if (!d->is_smooth[k]) status = take_vertex(d, k, &v);
  for (int end = 0; end < 3; ++end) /* last: closed chains without a corner */
    for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
      const int32_t start = b->edges[2 * e + end % 2];
      if (!d->is_done[e] && (end == 2 || !d->is_smooth[start])) status = divide_chain(d, e, start);
    }
  return status;
}

cvtm_status run_outline_divide_curves(const cvtm_boundary *boundary, const uint8_t *is_smooth,
                                      double tolerance, run_edge_size size, const void *context,
                                      cvtm_boundary *made, int64_t **source, cvtm_error *error) {
  divider d = {.b = boundary,
               .is_smooth = is_smooth,
               .tolerance = tolerance,
               .size = size,
               .context = context,
               .is_done = calloc((size_t)boundary->edge_count + 1, 1),
               .number = malloc(((size_t)boundary->vertex_count + 1) * sizeof *d.number),
               .made = made,
               .error = error};
  *made = (cvtm_boundary){0};
  cvtm_status status = find_joints(boundary, &d.joints, error);
  if (!d.is_done || !d.number) status = cvtm_no_memory(error, "the curves");
  if (status == CVTM_OK) status = divide_all(&d);
  free(d.joints);
  free(d.is_done);
  free(d.number);
  free(d.chain.vertex);
  free(d.chain.edge);
  free(d.chain.parts);
  if (status == CVTM_OK) {
    *source = d.source;
  } else {
    free(d.source);
    cvtm_boundary_free(made);
  }
  return status;
}

cvtm_status run_outline_carry_over(const cvtm_marks *given, const cvtm_boundary *divided,
                                   const int64_t *source, run_sizes *sizes, double **size,
                                   cvtm_error *error) {
  const size_t edges = (size_t)divided->edge_count;
  cvtm_marks *made = &sizes->marks;
  free(made->mark);
  *made = (cvtm_marks){.mark = malloc(((size_t)given->count + edges + 1) * sizeof *made->mark)};
  *size = sizes->edge_size != NULL ? malloc((edges + 1) * sizeof **size) : NULL;
  if (made->mark == NULL || (*size == NULL && sizes->edge_size != NULL))
    return cvtm_no_memory(error, "the curves");
  for (int64_t k = 0; k < given->count; ++k)
    if (run_mark_is_point(&given->mark[k])) made->mark[made->count++] = given->mark[k];
  for (int64_t e = 0; e < divided->edge_count; ++e) {
    const int32_t mark = sizes->mark[source[e]];
    if (*size != NULL) (*size)[e] = sizes->edge_size[source[e]];
    if (mark < 0) continue;
    cvtm_mark *m = &made->mark[made->count++];
    *m = given->mark[mark];
    memcpy(m->from, divided->points + 2 * (int64_t)divided->edges[2 * e], sizeof m->from);
    memcpy(m->to, divided->points + 2 * (int64_t)divided->edges[2 * e + 1], sizeof m->to);
  }
  return CVTM_OK;
}
