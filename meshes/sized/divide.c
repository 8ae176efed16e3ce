#include "base/host.h"
#include "base/portable.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 };             /* largest number of rounds of division for narrow parts */
static const double samples = 2; /* samples of the size per wanted length along an edge */
static const double short_edge =
    0.7; /* edges shorter than this fraction of the wanted length reduce the sizes around them */
static const double fine = 0.93;      /* a size below this fraction of another counts as smaller */
static const double most_parts = 1e8; /* largest number on the boundary */
static const double acute =
    40 * CVTM_PI / 180; /* at larger corners equal parts do not limit the angles of triangles */

/* ---- Sizes ---- */

double cvtm_sizer_given(const cvtm_sizer *z, int32_t region, double x, double y) {
  const cvtm_sized_options *o = z->options;
  if (o->size == NULL) return z->scale * o->length / z->step;
  const double size =
      o->size(o->size_context, region, z->corner[0] + z->step * x, z->corner[1] - z->step * y);
  return z->scale * size / z->step;
}

cvtm_status cvtm_sizer_refuse(const cvtm_sizer *z, double size, double x, double y) {
  const double down = z->corner[1] - z->step * y;
  const char *const reason = isnan(size) ? "not a number"
                             : size <= 0 ? "not positive"
                                         : "too small for the outline";
  return cvtm_fail(z->error, CVTM_ERROR_INPUT, "a size of %g near (%g, %g) is %s",
                   isnan(size) ? (double)NAN : size * z->step, z->corner[0] + z->step * x,
                   z->options->y_up ? -down : down, reason);
}

/* The wanted size on an edge without sources: the smallest of its own and of both sides. */
static double wanted_on(const cvtm_sizer *z, int64_t e, double x, double y) {
  const int32_t left = z->given->left[e], right = z->given->right[e];
  double size = z->options->edge_size != NULL ? z->options->edge_size[e] / z->step : INFINITY;
  for (int k = 0; k < 2; ++k) {
    const int32_t region = k == 0 ? left : right;
    if (region <= 0 || (k == 1 && right == left)) continue;
    const double here = cvtm_sizer_given(z, region, x, y);
    if (!(here >= size)) size = here; /* also if it is NaN */
  }
  return size;
}

static double size_on(const cvtm_sizer *z, int64_t e, double x, double y) {
  return cvtm_size_tree_find(&z->tree, z->options->growth, x, y, wanted_on(z, e, x, y), NULL);
}

cvtm_status cvtm_sizer_add_source(cvtm_sizer *z, double x, double y, double size) {
  return cvtm_size_tree_add(&z->tree, x, y, size) ? CVTM_OK : cvtm_no_memory(z->error, "the sizes");
}

/* ---- One edge ---- */

/* The ends of an edge in the order of their coordinates, so that two edges with the same ends are
 * divided in the same way. Of twins the first decides. */
typedef struct edge_ends {
  int32_t lower, upper;
  double x, y, dx, dy, length; /* on the grid; from the lower to the upper end */
} edge_ends;

/* The twin of an edge if it precedes the edge, else -1. */
static int64_t twin_before(const cvtm_sizer *z, int64_t e) {
  return z->given->twin != NULL && z->given->twin[e] < e ? z->given->twin[e] : -1;
}

static edge_ends ends_of(const cvtm_sizer *z, int64_t e) {
  const cvtm_boundary *given = z->given;
  const int64_t first = twin_before(z, e) < 0 ? e : twin_before(z, e);
  const double *from = given->points + 2 * (int64_t)given->edges[2 * first],
               *to = given->points + 2 * (int64_t)given->edges[2 * first + 1];
  int is_turned = from[0] > to[0] || (from[0] == to[0] && from[1] > to[1]);
  if (first != e) is_turned ^= cvtm_twin_is_turned(given, e);
  const int32_t a = given->edges[2 * e + is_turned], b = given->edges[2 * e + !is_turned];
  const double *p = given->points + 2 * (int64_t)a, *q = given->points + 2 * (int64_t)b;
  edge_ends ends = {.lower = a, .upper = b, .x = z->place[a].x, .y = z->place[a].y};
  ends.dx = z->place[b].x - ends.x;
  ends.dy = z->place[b].y - ends.y;
  ends.length = hypot(q[0] - p[0], q[1] - p[1]) / z->step;
  return ends;
}

typedef struct sampled {
  double *t, *sum; /* fractions of the edge's length, and the integral of 1 / size up to each */
  int64_t count, capacity;
  int is_even; /* nonzero: the size is constant */
} sampled;

static cvtm_status take_sample(cvtm_sizer *z, sampled *s, double t, double sum) {
  const cvtm_growing arrays[] = {{&s->t, sizeof *s->t}, {&s->sum, sizeof *s->sum}};
  if (!cvtm_grow_all(arrays, 2, &s->capacity, s->count + 1))
    return cvtm_no_memory(z->error, "the boundary");
  s->t[s->count] = t;
  s->sum[s->count++] = sum;
  return CVTM_OK;
}

/* The size at a fraction t of an edge: the smaller of the sizes on the edge and on its copy. */
static double size_along(const cvtm_sizer *z, int64_t e, const edge_ends *ends, double t) {
  const double size = size_on(z, e, ends->x + t * ends->dx, ends->y + t * ends->dy);
  const int32_t twin = z->given->twin != NULL ? z->given->twin[e] : -1;
  if (twin < 0) return size;
  const edge_ends other = ends_of(z, twin);
  return fmin(size, size_on(z, twin, other.x + t * other.dx, other.y + t * other.dy));
}

static cvtm_status sample_edge(cvtm_sizer *z, int64_t e, const edge_ends *ends, sampled *s) {
  const double length = ends->length;
  double least = INFINITY, largest = 0, t = 0, sum = 0;
  double size = size_along(z, e, ends, 0);
  s->count = 0;
  cvtm_status status = take_sample(z, s, 0, 0);
  while (t < 1 && status == CVTM_OK) {
    if (!(size > 0) || length / size > most_parts)
      return cvtm_sizer_refuse(z, size, ends->x + t * ends->dx, ends->y + t * ends->dy);
    const double way = fmin(size, length) / samples;
    const double next = t + way / length < 1 - 1e-9 ? t + way / length : 1;
    const double middle = size_along(z, e, ends, 0.5 * (t + next));
    if (!(middle > 0)) return cvtm_sizer_refuse(z, middle, ends->x, ends->y);
    sum += (next - t) * length / middle;
    least = fmin(least, middle);
    largest = fmax(largest, middle);
    t = next;
    size = middle;
    status = take_sample(z, s, t, sum);
  }
  if (status != CVTM_OK) return status;
  s->is_even = largest - least <= 1e-9 * largest;
  if (s->is_even) s->sum[s->count - 1] = length / largest;
  return CVTM_OK;
}

/* The number of parts with which their length is closest to the wanted length, by ratio. */
static int64_t parts_for(double wanted) {
  const double n = fmax(floor(wanted), 1);
  return (int64_t)(wanted > sqrt(n * (n + 1)) * (1 + 1e-9) ? n + 1 : n);
}

static double share_of(const sampled *s, int64_t k, int64_t parts, int64_t *at) {
  if (s->is_even) return (double)k / (double)parts;
  const double sum = s->sum[s->count - 1] * (double)k / (double)parts;
  while (*at + 1 < s->count && s->sum[*at + 1] < sum) ++*at;
  const double a = s->sum[*at], b = s->sum[*at + 1];
  return s->t[*at] + (s->t[*at + 1] - s->t[*at]) * (sum - a) / (b - a);
}

/* ---- The boundary ---- */

static void free_parts(cvtm_sizer *z) {
  cvtm_boundary_free(&z->parts);
  free(z->places);
  free(z->part_edge);
  z->places = NULL;
  z->part_edge = NULL;
  z->added = 0;
}

/* The distance from an acute corner within which there are no vertices, since triangles closer to
 * it are not better: the angle of the corner bounds theirs. */
static double tip_of(const cvtm_sizer *z, int64_t e, int32_t corner) {
  if (!z->is_acute[corner] || z->given->twin != NULL) return 0;
  const cvtm_grid_point c = z->place[corner];
  return 0.45 * fmin(wanted_on(z, e, c.x, c.y), z->least[corner]);
}

/* first[e]: the first of the points that divide edge e; the points of all edges are one list. */
typedef struct division {
  int64_t *first;
  int64_t capacity;
} division;

/* Divides an edge as its twin is divided. */
static cvtm_status copy_places(cvtm_sizer *z, division *d, int64_t twin, int32_t e) {
  const int64_t count = d->first[twin + 1] - d->first[twin];
  if (!cvtm_grow(&z->places, sizeof *z->places, &d->capacity, z->added + count))
    return cvtm_no_memory(z->error, "the boundary");
  for (int64_t k = 0; k < count; ++k)
    z->places[z->added++] = (cvtm_sized_place){e, z->places[d->first[twin] + k].t};
  return CVTM_OK;
}

static cvtm_status place_on_edges(cvtm_sizer *z, division *d) {
  sampled s = {0};
  cvtm_status status = CVTM_OK;
  z->added = 0;
  for (int64_t e = 0; e < z->given->edge_count && status == CVTM_OK; ++e) {
    const edge_ends ends = ends_of(z, e);
    int64_t at = 0;
    d->first[e] = z->added;
    if (!(ends.length > 0)) continue;
    if (twin_before(z, e) >= 0) {
      status = copy_places(z, d, twin_before(z, e), (int32_t)e);
      continue;
    }
    status = sample_edge(z, e, &ends, &s);
    const int64_t parts = status == CVTM_OK ? parts_for(s.sum[s.count - 1]) : 1;
    if (!cvtm_grow(&z->places, sizeof *z->places, &d->capacity, z->added + parts))
      status = cvtm_no_memory(z->error, "the boundary");
    const double first = tip_of(z, e, ends.lower) / ends.length;
    const double last = 1 - tip_of(z, e, ends.upper) / ends.length;
    for (int64_t k = 1; k < parts && status == CVTM_OK; ++k) {
      const double t = share_of(&s, k, parts, &at);
      if (t >= first && t <= last) z->places[z->added++] = (cvtm_sized_place){(int32_t)e, t};
    }
    if (status == CVTM_OK && z->given->vertex_count + z->added > (int64_t)1 << 30)
      status = cvtm_fail(z->error, CVTM_ERROR_INPUT, "the sizes need more than 2^30 vertices");
  }
  d->first[z->given->edge_count] = z->added;
  free(s.t);
  free(s.sum);
  return status;
}

/* The distance from an end of an edge to the next vertex on the edge. */
static double first_part(const cvtm_sizer *z, const division *d, int64_t e, int32_t v) {
  const edge_ends ends = ends_of(z, e);
  const int64_t from = d->first[e], to = d->first[e + 1];
  if (from == to) return ends.length;
  return ends.length * (ends.lower == v ? z->places[from].t : 1 - z->places[to - 1].t);
}

/* Gives first parts of edges equal lengths at acute corners, and stretches the others. */
static cvtm_status even_out_corners(cvtm_sizer *z, const division *d) {
  const cvtm_boundary *b = z->given;
  double *first = malloc(((size_t)b->vertex_count + 1) * sizeof *first);
  if (first == NULL) return cvtm_no_memory(z->error, "the boundary");
  for (int64_t v = 0; v < b->vertex_count; ++v) first[v] = INFINITY;
  for (int64_t k = 0; k < 2 * b->edge_count; ++k) {
    const int32_t v = b->edges[k];
    if (z->is_acute[v]) first[v] = fmin(first[v], first_part(z, d, k / 2, v));
  }
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const edge_ends ends = ends_of(z, e);
    const int64_t from = d->first[e], to = d->first[e + 1];
    if (from == to) continue;
    double low = z->places[from].t, high = z->places[to - 1].t;
    const double new_low = z->is_acute[ends.lower] ? first[ends.lower] / ends.length : low;
    const double new_high = z->is_acute[ends.upper] ? 1 - first[ends.upper] / ends.length : high;
    if ((new_low == low && new_high == high) || new_low > new_high) continue;
    if (to - from == 1) { /* one vertex cannot serve two corners */
      z->places[from].t = new_low != low ? new_low : new_high;
      continue;
    }
    const double ratio = (new_high - new_low) / (high - low);
    for (int64_t k = from; k < to; ++k) z->places[k].t = new_low + ratio * (z->places[k].t - low);
  }
  free(first);
  return CVTM_OK;
}

void cvtm_sizer_place(const cvtm_sizer *z, int64_t v, double place[2]) {
  const double *points = z->given->points;
  const int64_t n = z->given->vertex_count;
  if (v < n) {
    memcpy(place, points + 2 * v, 2 * sizeof *place);
    return;
  }
  const cvtm_sized_place *on = &z->places[v - n];
  cvtm_sizer_point_on(z, on->edge, on->t, place);
}

void cvtm_sizer_point_on(const cvtm_sizer *z, int32_t edge, double t, double point[2]) {
  const edge_ends ends = ends_of(z, edge);
  const double *p = z->given->points + 2 * (int64_t)ends.lower,
               *q = z->given->points + 2 * (int64_t)ends.upper;
  for (int k = 0; k < 2; ++k) point[k] = fma(t, q[k] - p[k], p[k]);
}

double cvtm_sizer_fraction(const cvtm_sizer *z, int32_t edge, double x, double y) {
  const edge_ends ends = ends_of(z, edge);
  const double square = ends.dx * ends.dx + ends.dy * ends.dy;
  return ((x - ends.x) * ends.dx + (y - ends.y) * ends.dy) / square;
}

cvtm_grid_point cvtm_sizer_round(const cvtm_sizer *z, const double place[2]) {
  return (cvtm_grid_point){(int32_t)(rint(place[0] / z->step) - z->corner[0] / z->step),
                           (int32_t)(z->corner[1] / z->step - rint(place[1] / z->step))};
}

void cvtm_sizer_way(const cvtm_sizer *z, int32_t edge, double way[2]) {
  const edge_ends ends = ends_of(z, edge);
  way[0] = ends.dx;
  way[1] = ends.dy;
}

static cvtm_status allocate_parts(cvtm_sizer *z) {
  const size_t vertices = (size_t)(z->given->vertex_count + z->added) + 1;
  const size_t edges = (size_t)(z->given->edge_count + z->added) + 1;
  cvtm_boundary *b = &z->parts;
  *b = (cvtm_boundary){.points = malloc(2 * vertices * sizeof *b->points),
                       .edges = malloc(2 * edges * sizeof *b->edges),
                       .left = malloc(edges * sizeof *b->left),
                       .right = malloc(edges * sizeof *b->right)};
  z->part_edge = malloc(edges * sizeof *z->part_edge);
  if (b->points && b->edges && b->left && b->right && z->part_edge) return CVTM_OK;
  return cvtm_no_memory(z->error, "the boundary");
}

static void put_part(cvtm_sizer *z, int64_t e, int32_t from, int32_t to, int is_turned) {
  cvtm_boundary *b = &z->parts;
  const int64_t k = b->edge_count++;
  b->edges[2 * k] = is_turned ? to : from;
  b->edges[2 * k + 1] = is_turned ? from : to;
  b->left[k] = z->given->left[e];
  b->right[k] = z->given->right[e];
  z->part_edge[k] = (int32_t)e;
}

/* Makes the points and edges of the divided boundary. */
static cvtm_status make_parts(cvtm_sizer *z, const division *d) {
  const cvtm_status status = allocate_parts(z);
  if (status != CVTM_OK) return status;
  const int64_t n = z->given->vertex_count;
  for (int64_t v = 0; v < n; ++v) {
    z->parts.points[2 * v] = z->place[v].x;
    z->parts.points[2 * v + 1] = -z->place[v].y;
  }
  for (int64_t e = 0; e < z->given->edge_count; ++e) {
    const edge_ends ends = ends_of(z, e);
    const int is_turned = ends.lower != z->given->edges[2 * e];
    int32_t last = ends.lower;
    for (int64_t k = d->first[e]; k < d->first[e + 1]; ++k) {
      double place[2];
      cvtm_sizer_place(z, n + k, place);
      const cvtm_grid_point at = cvtm_sizer_round(z, place);
      z->parts.points[2 * (n + k)] = at.x;
      z->parts.points[2 * (n + k) + 1] = -at.y;
      put_part(z, e, last, (int32_t)(n + k), is_turned);
      last = (int32_t)(n + k);
    }
    if (ends.length > 0) put_part(z, e, last, ends.upper, is_turned);
  }
  z->parts.vertex_count = n + z->added;
  return CVTM_OK;
}

/* ---- The triangulation of the divided boundary ---- */

/* Makes the triangulation m of the divided boundary. Its vertices are those of the boundary, with
 * the same numbers. */
static cvtm_status triangulate_parts(cvtm_sizer *z) {
  cvtm_grid_frame frame;
  cvtm_half_edges_free(&z->m);
  return cvtm_constrained_half_edges(z->parts.points, z->parts.vertex_count, &z->parts, &z->m,
                                     &frame, z->error);
}

/* ---- All steps ---- */

static cvtm_status describe_corners(cvtm_sizer *z) {
  const cvtm_boundary *b = z->given;
  const size_t n = (size_t)b->vertex_count, edges = (size_t)b->edge_count;
  int64_t *meeting = calloc(n + 2, sizeof *meeting);
  int32_t *met = malloc((2 * edges + 1) * sizeof *met);
  z->least = malloc((n + 1) * sizeof *z->least);
  z->is_acute = calloc(n + 1, 1);
  z->is_narrow = calloc(edges + 1, 1);
  cvtm_status status = meeting && met && z->least && z->is_acute && z->is_narrow
                           ? CVTM_OK
                           : cvtm_no_memory(z->error, "the boundary");
  if (status == CVTM_OK) {
    for (size_t v = 0; v < n; ++v) z->least[v] = INFINITY;
    for (size_t k = 0; k < 2 * edges; ++k) {
      const int32_t v = b->edges[k];
      z->least[v] = fmin(z->least[v], ends_of(z, (int64_t)k / 2).length);
      ++meeting[v + 2];
    }
    for (size_t v = 0; v < n; ++v) meeting[v + 2] += meeting[v + 1];
    for (size_t k = 0; k < 2 * edges; ++k) met[meeting[b->edges[k] + 1]++] = b->edges[k ^ 1];
    for (size_t v = 0; v < n; ++v) {
      double smallest = CVTM_PI;
      for (int64_t i = meeting[v]; i < meeting[v + 1]; ++i)
        for (int64_t k = meeting[v]; k < i; ++k)
          smallest =
              fmin(smallest, cvtm_sized_angle(z->place[v], z->place[met[i]], z->place[met[k]]));
      z->is_acute[v] = smallest < acute;
    }
  }
  free(meeting);
  free(met);
  return status;
}

/* Adds sources at short edges, so that edges around them are short, too. */
static cvtm_status add_short_edges(cvtm_sizer *z) {
  cvtm_status status = CVTM_OK;
  for (int64_t e = 0; e < z->given->edge_count && status == CVTM_OK; ++e) {
    const edge_ends ends = ends_of(z, e);
    const double x = ends.x + 0.5 * ends.dx, y = ends.y + 0.5 * ends.dy;
    const double wanted = wanted_on(z, e, x, y);
    if (!(ends.length > 0) || ends.length > short_edge * wanted) continue;
    status = cvtm_sizer_add_source(z, x, y, ends.length);
  }
  return status;
}

/* The larger of the sizes that are given in the regions on both sides of an edge. */
static double larger_given(const cvtm_sizer *z, int64_t e, double x, double y) {
  const int32_t left = z->given->left[e], right = z->given->right[e];
  const double left_size = left > 0 ? cvtm_sizer_given(z, left, x, y) : 0;
  return right > 0 && right != left ? fmax(left_size, cvtm_sizer_given(z, right, x, y)) : left_size;
}

/* Adds sources along an edge, from which sizes grow, wherever the size wanted on the edge is
 * smaller than in a region beside it. Either the edge has a size of its own, or the region on its
 * other side has a smaller size. */
static cvtm_status add_fine_edge(cvtm_sizer *z, int64_t e) {
  const edge_ends ends = ends_of(z, e);
  cvtm_status status = CVTM_OK;
  for (double t = 0; ends.length > 0 && status == CVTM_OK;) {
    const double x = ends.x + t * ends.dx, y = ends.y + t * ends.dy, size = wanted_on(z, e, x, y);
    if (!(size > 0) || ends.length / size > most_parts) return cvtm_sizer_refuse(z, size, x, y);
    if (size < fine * larger_given(z, e, x, y)) status = cvtm_sizer_add_source(z, x, y, size);
    if (t == 1) break;
    t = fmin(t + 0.5 * size / ends.length, 1);
  }
  return status;
}

static cvtm_status add_fine_edges(cvtm_sizer *z) {
  cvtm_status status = CVTM_OK;
  for (int64_t e = 0; e < z->given->edge_count && status == CVTM_OK; ++e) {
    const int32_t left = z->given->left[e], right = z->given->right[e];
    const int is_sized = z->options->edge_size != NULL && !isinf(z->options->edge_size[e]);
    if (is_sized || (left > 0 && right > 0 && left != right)) status = add_fine_edge(z, e);
  }
  return status;
}

/* The larger of the sizes on both sides of a part. */
static double larger_on(const cvtm_sizer *z, int64_t part, double x, double y) {
  const int32_t left = z->parts.left[part], right = z->parts.right[part];
  const double left_size = left > 0 ? cvtm_sizer_at(z, left, x, y) : 0;
  return right > 0 && right != left ? fmax(left_size, cvtm_sizer_at(z, right, x, y)) : left_size;
}

/* Adds sources at parts that are shorter than wanted, because their number is rounded or the region
 * on the other side is finer. */
static cvtm_status add_parts(cvtm_sizer *z) {
  cvtm_status status = CVTM_OK;
  for (int64_t k = 0; k < z->parts.edge_count && status == CVTM_OK; ++k) {
    const double *p = z->parts.points + 2 * (int64_t)z->parts.edges[2 * k],
                 *q = z->parts.points + 2 * (int64_t)z->parts.edges[2 * k + 1];
    const double x = 0.5 * (p[0] + q[0]), y = -0.5 * (p[1] + q[1]);
    const double length = hypot(p[0] - q[0], p[1] - q[1]);
    if (length < fine * larger_on(z, k, x, y)) status = cvtm_sizer_add_source(z, x, y, length);
  }
  return status;
}

typedef struct part_ratio {
  double ratio, length;
} part_ratio;

/* If nearly all parts of the boundary are longer (or shorter) than wanted by one ratio, scales the
 * sizes inside by this ratio, too. Then one lattice can extend from one side to the other. */
static cvtm_status match_parts(cvtm_sizer *z) {
  const double same = 0.02, most = 0.95; /* tolerance relative to the median ratio; least fraction
                                            of the boundary's length */
  const int64_t n = z->parts.edge_count;
  part_ratio *list = malloc(((size_t)n + 1) * sizeof *list);
  double sum = 0, half = 0, alike = 0;
  if (list == NULL) return cvtm_no_memory(z->error, "the boundary");
  for (int64_t k = 0; k < n; ++k) {
    const double *p = z->parts.points + 2 * (int64_t)z->parts.edges[2 * k],
                 *q = z->parts.points + 2 * (int64_t)z->parts.edges[2 * k + 1];
    const double length = hypot(p[0] - q[0], p[1] - q[1]);
    const double size = size_on(z, z->part_edge[k], 0.5 * (p[0] + q[0]), -0.5 * (p[1] + q[1]));
    list[k] = (part_ratio){length / size, length};
    sum += length;
  }
  qsort(list, (size_t)n, sizeof *list, cvtm_compare_doubles);
  int64_t median = 0;
  while (median + 1 < n && half + list[median].length < 0.5 * sum) half += list[median++].length;
  for (int64_t k = 0; k < n; ++k)
    if (fabs(list[k].ratio - list[median].ratio) < same * list[median].ratio)
      alike += list[k].length;
  if (n > 0 && alike > most * sum) z->scale = list[median].ratio;
  free(list);
  return CVTM_OK;
}

static cvtm_status divide_once(cvtm_sizer *z, division *d) {
  free_parts(z);
  d->capacity = 0;
  cvtm_status status = place_on_edges(z, d);
  if (status == CVTM_OK && z->given->twin == NULL) status = even_out_corners(z, d);
  if (status == CVTM_OK) status = make_parts(z, d);
  return status == CVTM_OK ? triangulate_parts(z) : status;
}

/* Lets vertices on the two sides of narrow places alternate. */
static cvtm_status alternate(cvtm_sizer *z, division *d) {
  cvtm_status status = cvtm_sizer_alternate(z, d->first);
  if (status != CVTM_OK) return status;
  cvtm_boundary_free(&z->parts);
  free(z->part_edge);
  z->part_edge = NULL;
  status = make_parts(z, d);
  return status == CVTM_OK ? triangulate_parts(z) : status;
}

static cvtm_status build_tree(cvtm_sizer *z) {
  return cvtm_size_tree_build(&z->tree) ? CVTM_OK : cvtm_no_memory(z->error, "the sizes");
}

cvtm_status cvtm_sizer_divide(cvtm_sizer *z) {
  division d = {malloc(((size_t)z->given->edge_count + 1) * sizeof *d.first), 0};
  int64_t found = 1;
  cvtm_status status = d.first ? CVTM_OK : cvtm_no_memory(z->error, "the boundary");
  if (status == CVTM_OK) status = describe_corners(z);
  if (status == CVTM_OK) status = add_short_edges(z);
  if (status == CVTM_OK) status = add_fine_edges(z);
  for (int round = 0; round < ROUNDS && found > 0 && status == CVTM_OK; ++round) {
    status = build_tree(z);
    if (status == CVTM_OK) status = divide_once(z, &d);
    found = 0;
    if (status == CVTM_OK && round + 1 < ROUNDS) status = cvtm_sizer_find_gaps(z, &found);
    z->figures->narrowed += found;
  }
  if (status == CVTM_OK && z->figures->narrowed > 0 && z->given->twin == NULL)
    status = alternate(z, &d);
  free(d.first);
  if (status == CVTM_OK) status = match_parts(z);
  if (status == CVTM_OK) status = add_parts(z);
  return status == CVTM_OK ? build_tree(z) : status;
}
