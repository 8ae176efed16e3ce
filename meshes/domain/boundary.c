/* Vertices on a contour: sampling by a size field, sliding along the contour, and moving until the
 * regions have given areas. */
#include "base/host.h"
#include "base/geometry.h"
#include "base/portable.h"
#include "meshes/contour.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/domain/contour_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Stretches: parts of a contour between corners, cut at vertices ---- */

static const double largest_shift = 0.5; /* largest distance of a vertex from the curve, pixels */

/* Points along a stretch, at most half a pixel apart. length, measure: the arc length and the
 * integral of 1 / spacing from the begin of the stretch to each point. */
typedef struct cvtm_track {
  double *points, *length, *measure;
  int64_t count, capacity;
} cvtm_track;

typedef struct cvtm_stretch {
  cvtm_spacing spacing; /* NULL: the integral is not needed */
  const void *context;
  int keep_on_curve;
  cvtm_track track;
  int64_t *cuts; /* indices of points of the track: part i is between cuts i and i + 1 */
  int64_t cut_capacity;
  cvtm_error *error;
} cvtm_stretch;

static cvtm_status stretch_add_point(cvtm_stretch *s, double x, double y, double measure) {
  cvtm_track *t = &s->track;
  const cvtm_growing arrays[] = {{&t->points, 2 * sizeof *t->points},
                                 {&t->length, sizeof *t->length},
                                 {&t->measure, sizeof *t->measure}};
  if (!cvtm_grow_all(arrays, 3, &t->capacity, t->count + 1))
    return cvtm_no_memory(s->error, "the boundary");
  const double *last = t->points + 2 * (t->count - 1);
  t->length[t->count] =
      t->count > 0 ? t->length[t->count - 1] + hypot(x - last[0], y - last[1]) : 0;
  t->points[2 * t->count] = x;
  t->points[2 * t->count + 1] = y;
  t->measure[t->count++] = measure;
  return CVTM_OK;
}

/* Builds the track along a polyline of `count` points. Fails, as do the next two functions, only
 * with CVTM_ERROR_MEMORY. */
static cvtm_status stretch_lay(cvtm_stretch *s, const double *p, int64_t count) {
  s->track.count = 0;
  cvtm_status status = stretch_add_point(s, p[0], p[1], 0);
  double measure = 0;
  for (int64_t k = 0; k + 1 < count; ++k) {
    const double *a = p + 2 * k, *b = a + 2;
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    const int64_t parts = (int64_t)ceil(2 * length) + (length == 0);
    for (int64_t i = 1; i <= parts && status == CVTM_OK; ++i) {
      const double to = (double)i / (double)parts, half = ((double)i - 0.5) / (double)parts;
      if (s->spacing != NULL)
        measure += length / (double)parts /
                   s->spacing(s->context, a[0] + half * (b[0] - a[0]), a[1] + half * (b[1] - a[1]));
      status = stretch_add_point(s, i == parts ? b[0] : a[0] + to * (b[0] - a[0]),
                                 i == parts ? b[1] : a[1] + to * (b[1] - a[1]), measure);
    }
  }
  return status;
}

/* Cuts the track into parts with equal integrals; there are parts + 1 distinct cuts. */
static cvtm_status stretch_choose_cuts(cvtm_stretch *s, int64_t parts) {
  if (!cvtm_grow(&s->cuts, sizeof *s->cuts, &s->cut_capacity, parts + 1))
    return cvtm_no_memory(s->error, "the boundary");
  const cvtm_track *t = &s->track;
  const double total = t->measure[t->count - 1];
  int64_t k = 0;
  s->cuts[0] = 0;
  for (int64_t i = 1; i < parts; ++i) {
    const double wanted = total * (double)i / (double)parts;
    while (k + 1 < t->count && t->measure[k + 1] < wanted) ++k;
    /* the nearer point, but after the previous cut, and with points left for all following cuts */
    int64_t best = wanted - t->measure[k] < t->measure[k + 1] - wanted ? k : k + 1;
    if (best <= s->cuts[i - 1]) best = s->cuts[i - 1] + 1;
    if (best > t->count - 1 - (parts - i)) best = t->count - 1 - (parts - i);
    s->cuts[i] = best;
  }
  s->cuts[parts] = t->count - 1;
  return CVTM_OK;
}

static void track_free(cvtm_track *t) {
  free(t->points);
  free(t->length);
  free(t->measure);
}

static void stretch_free(cvtm_stretch *s) {
  track_free(&s->track);
  free(s->cuts);
}

/* The area between the chord from cut i to cut i + 1 and the curve, on the left of the chord as
 * seen with y up. */
static double area_beside(const cvtm_stretch *s, int64_t i) {
  const int64_t first = s->cuts[i], last = s->cuts[i + 1];
  return -cvtm_ring_area(s->track.points + 2 * first, last - first + 1);
}

static double chord(const cvtm_stretch *s, int64_t i) {
  const double *a = s->track.points + 2 * s->cuts[i], *b = s->track.points + 2 * s->cuts[i + 1];
  return hypot(b[0] - a[0], b[1] - a[1]);
}

/* Position of cut i, moved perpendicularly to the curve so that the edges bound the same area as
 * the contour. If one end of an edge is fixed, the other end moves twice as far. */
static void stretch_place_cut(const cvtm_stretch *s, int64_t i, int64_t parts, int closed,
                              double place[2]) {
  const double *points = s->track.points;
  const int64_t before = i > 0 ? i - 1 : parts - 1;
  memcpy(place, points + 2 * s->cuts[i], 2 * sizeof *place);
  if (s->keep_on_curve || (!closed && (i == 0 || i == parts))) return;
  const double *a = points + 2 * s->cuts[before];
  const double *b = points + 2 * s->cuts[i + 1 <= parts ? i + 1 : 1];
  const int64_t after = i < parts ? i : 0;
  const double weight_before = !closed && before == 0 ? 2 : 1;
  const double weight_after = !closed && after == parts - 1 ? 2 : 1;
  const double span = hypot(b[0] - a[0], b[1] - a[1]);
  if (!(span > 0)) return;
  double shift = (weight_before * area_beside(s, before) + weight_after * area_beside(s, after)) /
                 (chord(s, before) + chord(s, after));
  const double most = fmin(largest_shift, 0.2 * fmin(chord(s, before), chord(s, after)));
  shift = fmin(fmax(shift, -most), most);
  /* With y down, the left of (dx, dy) is (dy, -dx). */
  place[0] += shift * (b[1] - a[1]) / span;
  place[1] -= shift * (b[0] - a[0]) / span;
}

/* The coordinates of a point relative to an edge: along the edge, from a (0) to b (1), and the
 * distance from the edge in edge lengths. */
static void measure_from_edge(const double *a, const double *b, const double *p, double *share,
                              double *height) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], square = ux * ux + uy * uy;
  *share = ((p[0] - a[0]) * ux + (p[1] - a[1]) * uy) / square;
  *height = ((p[0] - a[0]) * uy - (p[1] - a[1]) * ux) / square;
}

/* The largest distance of the curve, across the edge, from the parabola through the ends of the
 * edge and the curve's point at the middle. HUGE_VAL if the curve turns back along the edge. */
static double bent_deviation(const cvtm_stretch *s, int64_t i, const double *a, const double *b) {
  const int64_t first = s->cuts[i], last = s->cuts[i + 1];
  double middle = HUGE_VAL, largest = 0, before = 0, before_height = 0;
  for (int64_t k = first; k <= last; ++k) {
    double share, height;
    measure_from_edge(a, b, s->track.points + 2 * k, &share, &height);
    if (k > first && share < before) return HUGE_VAL;
    if (k > first && before <= 0.5 && share > 0.5)
      middle = before_height + (0.5 - before) / (share - before) * (height - before_height);
    before = share;
    before_height = height;
  }
  for (int64_t k = first; k <= last && middle < HUGE_VAL; ++k) {
    double share, height;
    measure_from_edge(a, b, s->track.points + 2 * k, &share, &height);
    largest = fmax(largest, fabs(height - 4 * share * (1 - share) * middle));
  }
  return middle < HUGE_VAL ? largest * hypot(b[0] - a[0], b[1] - a[1]) : HUGE_VAL;
}

/* The largest distance of part i of the curve from the edge a b or, with keep_on_curve, from the
 * parabola through the ends of the edge and a point of the curve between them. */
static double stretch_deviation(const cvtm_stretch *s, int64_t i, const double *a,
                                const double *b) {
  const double bent = s->keep_on_curve ? bent_deviation(s, i, a, b) : HUGE_VAL;
  if (bent < HUGE_VAL) return bent;
  const double *from = s->track.points + 2 * s->cuts[i], *to = s->track.points + 2 * s->cuts[i + 1];
  /* The ends of the edge may be off the curve. */
  double largest = fmax(hypot(a[0] - from[0], a[1] - from[1]), hypot(b[0] - to[0], b[1] - to[1]));
  for (int64_t k = s->cuts[i]; k <= s->cuts[i + 1]; ++k) {
    const double *q = s->track.points + 2 * k;
    largest = fmax(largest, cvtm_segment_distance(a, b, q[0], q[1]));
  }
  return largest;
}

/* ---- Sampling: vertices on a contour, spaced by a size field ---- */

void cvtm_boundary_free(cvtm_boundary *boundary) {
  free(boundary->points);
  free(boundary->corner);
  free(boundary->edges);
  free(boundary->left);
  free(boundary->right);
  free(boundary->deviation);
  free(boundary->along);
  free(boundary->home);
  free(boundary->twin);
  free(boundary->period);
  *boundary = (cvtm_boundary){0};
}

double cvtm_boundary_deviation(const cvtm_boundary *boundary) {
  double largest = 0;
  for (int64_t e = 0; e < boundary->edge_count; ++e)
    largest = fmax(largest, boundary->deviation[e]);
  return largest;
}

typedef struct sampler {
  cvtm_stretch stretch;
  cvtm_boundary made;
  int64_t vertex_capacity, edge_capacity;
  int64_t *first_edge; /* per arc */
  cvtm_error *error;
} sampler;

/* Returns -1 on failure. */
static int32_t add_vertex(sampler *s, const double *place, double along, int corner) {
  cvtm_boundary *b = &s->made;
  if (b->vertex_count == INT32_MAX) return -1;
  const cvtm_growing arrays[] = {{&b->points, 2 * sizeof *b->points},
                                 {&b->corner, sizeof *b->corner},
                                 {&b->along, sizeof *b->along},
                                 {&b->home, sizeof *b->home}};
  if (!cvtm_grow_all(arrays, 4, &s->vertex_capacity, b->vertex_count + 1)) return -1;
  memcpy(b->points + 2 * b->vertex_count, place, 2 * sizeof *place);
  b->corner[b->vertex_count] = (uint8_t)corner;
  b->along[b->vertex_count] = b->home[b->vertex_count] = along;
  return (int32_t)b->vertex_count++;
}

static cvtm_status no_vertex(const sampler *s) {
  if (s->made.vertex_count < INT32_MAX) return cvtm_no_memory(s->error, "the boundary");
  return cvtm_fail(s->error, CVTM_ERROR_INPUT, "the boundary needs more than %ld vertices",
                   (long)INT32_MAX);
}

static cvtm_status add_edge(sampler *s, int32_t from, int32_t to, int32_t left, int32_t right,
                            double deviation) {
  cvtm_boundary *b = &s->made;
  const cvtm_growing arrays[] = {
      {&b->edges, 2 * sizeof *b->edges}, {&b->left, sizeof *b->left},
      {&b->right, sizeof *b->right},     {&b->deviation, sizeof *b->deviation},
      {&b->twin, sizeof *b->twin},       {&b->period, sizeof *b->period}};
  if (!cvtm_grow_all(arrays, 6, &s->edge_capacity, b->edge_count + 1))
    return cvtm_no_memory(s->error, "the boundary");
  const int64_t e = b->edge_count++;
  b->edges[2 * e] = from;
  b->edges[2 * e + 1] = to;
  b->left[e] = left;
  b->right[e] = right;
  b->deviation[e] = deviation;
  b->twin[e] = -1;
  b->period[e] = 0;
  return CVTM_OK;
}

/* Adds the vertices and edges between the vertices `first` and `last`. On a closed curve without a
 * corner `first` equals `last`, and this vertex may move. */
static cvtm_status emit_piece(sampler *s, int64_t parts, int closed, int32_t first, int32_t last,
                              int32_t left, int32_t right) {
  int32_t from = first;
  if (closed) stretch_place_cut(&s->stretch, 0, parts, closed, s->made.points + 2 * (int64_t)first);
  for (int64_t i = 1; i <= parts; ++i) {
    double place[2];
    stretch_place_cut(&s->stretch, i, parts, closed, place);
    const int32_t to =
        i == parts ? last : add_vertex(s, place, s->stretch.track.length[s->stretch.cuts[i]], 0);
    if (to < 0) return no_vertex(s);
    const double *a = s->made.points + 2 * (int64_t)from, *b = s->made.points + 2 * (int64_t)to;
    CVTM_TRY(add_edge(s, from, to, left, right, stretch_deviation(&s->stretch, i - 1, a, b)));
    from = to;
  }
  return CVTM_OK;
}

/* ---- Arcs ---- */

/* Adds the vertices at the ends of arcs; arcs that end in the same point share a vertex. The first
 * end of an arc has the number 2 * arc, the last 2 * arc + 1. */
static cvtm_status add_end_vertices(sampler *s, const cvtm_contour *c, int32_t *vertex_of) {
  cvtm_placed *ends = malloc((2 * (size_t)c->arc_count + 1) * sizeof *ends);
  if (ends == NULL) return cvtm_no_memory(s->error, "the boundary");
  for (int64_t slot = 0; slot < 2 * c->arc_count; ++slot) {
    const int64_t k = slot % 2 == 0 ? c->start[slot / 2] : c->start[slot / 2 + 1] - 1;
    ends[slot] = (cvtm_placed){c->points[2 * k], c->points[2 * k + 1], slot};
  }
  qsort(ends, 2 * (size_t)c->arc_count, sizeof *ends, cvtm_compare_placed);
  cvtm_status status = CVTM_OK;
  for (int64_t k = 0; k < 2 * c->arc_count && status == CVTM_OK; ++k) {
    int32_t vertex = k > 0 ? vertex_of[ends[k - 1].index] : -1;
    if (k == 0 || ends[k - 1].x != ends[k].x || ends[k - 1].y != ends[k].y) {
      const double place[2] = {ends[k].x, ends[k].y};
      vertex = add_vertex(s, place, 0, c->corner[c->start[ends[k].index / 2]]);
    }
    if (vertex < 0) status = no_vertex(s);
    vertex_of[ends[k].index] = vertex;
  }
  free(ends);
  return status;
}

static cvtm_status sample_arc(sampler *s, const cvtm_contour *c, int64_t arc, const int32_t *ends) {
  const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
  const int loop = ends[0] == ends[1];
  int64_t corners = 0; /* inside the arc */
  for (int64_t k = first + 1; k < last; ++k) corners += c->corner[k];
  /* A closed curve needs at least three edges; a piece has a share of these. */
  const int64_t least = !loop ? 1 : corners == 0 ? 3 : corners == 1 ? 2 : 1;
  int32_t from = ends[0];
  cvtm_status status = CVTM_OK;
  for (int64_t begin = first, end; begin < last && status == CVTM_OK; begin = end) {
    end = begin + 1;
    while (end < last && !c->corner[end]) ++end;
    status = stretch_lay(&s->stretch, c->points + 2 * begin, end - begin + 1);
    if (status != CVTM_OK) break;
    const double total = s->stretch.track.measure[s->stretch.track.count - 1];
    int64_t parts =
        total < (double)s->stretch.track.count ? (int64_t)rint(total) : s->stretch.track.count - 1;
    if (parts < least) parts = least;
    if (parts > s->stretch.track.count - 1) parts = s->stretch.track.count - 1;
    status = stretch_choose_cuts(&s->stretch, parts);
    if (status != CVTM_OK) break;
    const int32_t to = end == last ? ends[1] : add_vertex(s, c->points + 2 * end, 0, 1);
    if (to < 0) return no_vertex(s);
    const int closed = loop && corners == 0 && !c->corner[first];
    status = emit_piece(s, parts, closed, from, to, c->left[arc], c->right[arc]);
    from = to;
  }
  return status;
}

/* Copies the vertices of the arc's twin to the side on which the arc lies. */
static cvtm_status copy_twin(sampler *s, const cvtm_contour *c, int64_t arc, const int32_t *ends) {
  cvtm_boundary *b = &s->made;
  const int64_t twin = c->twin[arc], first = s->first_edge[twin];
  const double *p = c->points + 2 * c->start[arc], *q = c->points + 2 * c->start[twin];
  const int across = p[0] != q[0] ? 0 : 1;
  /* the left side is the original, and in files, where y is up, the lower one */
  const int is_original = across == 0 ? q[0] < p[0] : q[1] > p[1];
  int32_t from = ends[0];
  for (int64_t e = first; e < s->first_edge[twin + 1]; ++e) {
    const int32_t pattern = b->edges[2 * e + 1];
    double place[2];
    memcpy(place, b->points + 2 * (int64_t)pattern, sizeof place);
    place[across] = p[across];
    const int is_last = e + 1 == s->first_edge[twin + 1];
    const int32_t to = is_last ? ends[1] : add_vertex(s, place, b->along[pattern], 0);
    if (to < 0) return no_vertex(s);
    const int64_t copy = b->edge_count;
    CVTM_TRY(add_edge(s, from, to, c->left[arc], c->right[arc], b->deviation[e]));
    b->twin[e] = (int32_t)copy;
    b->twin[copy] = (int32_t)e;
    b->period[e] = is_original ? across : ~across;
    b->period[copy] = ~b->period[e];
    from = to;
  }
  return CVTM_OK;
}

cvtm_status cvtm_boundary_sample(const cvtm_contour *contour, cvtm_spacing spacing,
                                 const void *context, cvtm_boundary *boundary, cvtm_error *error) {
  const size_t arcs = (size_t)contour->arc_count;
  sampler s = {.stretch = {.spacing = spacing,
                           .context = context,
                           .keep_on_curve = contour->keep_on_curve,
                           .error = error},
               .first_edge = malloc((arcs + 1) * sizeof *s.first_edge),
               .error = error};
  int32_t *vertex_of = malloc((2 * arcs + 1) * sizeof *vertex_of);
  cvtm_status status = vertex_of != NULL && s.first_edge != NULL
                           ? add_end_vertices(&s, contour, vertex_of)
                           : cvtm_no_memory(error, "the boundary");
  for (int64_t arc = 0; arc < contour->arc_count && status == CVTM_OK; ++arc) {
    const int is_copy = contour->twin != NULL && contour->twin[arc] >= 0;
    s.first_edge[arc] = s.made.edge_count;
    status = is_copy ? copy_twin(&s, contour, arc, vertex_of + 2 * arc)
                     : sample_arc(&s, contour, arc, vertex_of + 2 * arc);
    s.first_edge[arc + 1] = s.made.edge_count;
  }
  free(vertex_of);
  free(s.first_edge);
  stretch_free(&s.stretch);
  if (status != CVTM_OK) {
    cvtm_boundary_free(&s.made);
    return status;
  }
  *boundary = s.made;
  return CVTM_OK;
}

/* ---- Sliding ---- */

typedef struct slider {
  cvtm_stretch stretch;
  cvtm_boundary *made;
  const double *target;
  double share;
  uint8_t *held;    /* per vertex: nonzero if the vertex must not move */
  double *wanted;   /* wanted arc lengths of the vertices of a piece */
  cvtm_track spare; /* scratch memory, exchanged with the track of the stretch */
} slider;

/* The last point of the track at an arc length of at most `length`. */
static int64_t point_before(const cvtm_track *t, double length) {
  int64_t low = 0, high = t->count - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (t->length[middle] <= length)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* The arc length, from `low` to `high`, of the point of the track nearest to a given point. */
static double nearest_length(const cvtm_track *t, double low, double high, const double *point) {
  double best = low, least = INFINITY;
  for (int64_t k = point_before(t, low); k + 1 < t->count && t->length[k] <= high; ++k) {
    const double length = t->length[k + 1] - t->length[k];
    if (!(length > 0)) continue;
    const double *a = t->points + 2 * k, *b = a + 2;
    const double ux = (b[0] - a[0]) / length, uy = (b[1] - a[1]) / length;
    const double along = (point[0] - a[0]) * ux + (point[1] - a[1]) * uy;
    const double from = fmax(low - t->length[k], 0), to = fmin(high - t->length[k], length);
    const double clamped = fmin(fmax(along, from), to);
    const double off = hypot(a[0] + clamped * ux - point[0], a[1] + clamped * uy - point[1]);
    if (off >= least) continue;
    least = off;
    best = t->length[k] + clamped;
  }
  return best;
}

/* Sets `wanted` for the vertices between the two ends of a piece. */
static void find_wanted(slider *s, int64_t first, int64_t parts) {
  const double reach = 1.0 / 3;
  const cvtm_boundary *b = s->made;
  const cvtm_track *t = &s->stretch.track;
  double before = 0;
  for (int64_t i = 1; i < parts; ++i) {
    const int32_t v = b->edges[2 * (first + i)], next = b->edges[2 * (first + i) + 1];
    const double home = b->home[v], after = i + 1 < parts ? b->home[next] : t->length[t->count - 1];
    const double low = home - reach * (home - before), high = home + reach * (after - home);
    const double nearest = nearest_length(t, low, high, s->target + 2 * (int64_t)v);
    const double wanted = b->along[v] + s->share * (nearest - b->along[v]);
    s->wanted[i] = s->held[v] ? b->along[v] : fmin(fmax(wanted, low), high);
    before = home;
  }
}

/* Rebuilds the track with a point at every wanted arc length, and cuts it there. */
static cvtm_status cut_at_wanted(slider *s, int64_t parts) {
  cvtm_stretch *to = &s->stretch;
  const cvtm_track sampled = to->track;
  to->track = s->spare;
  s->spare = sampled;
  to->track.count = 0;
  if (!cvtm_grow(&to->cuts, sizeof *to->cuts, &to->cut_capacity, parts + 1))
    return cvtm_no_memory(to->error, "the boundary");
  int64_t next = 1;
  for (int64_t k = 0; k < sampled.count; ++k) {
    for (; k > 0 && next < parts && s->wanted[next] < sampled.length[k]; ++next) {
      const double *a = sampled.points + 2 * (k - 1), *b = a + 2;
      const double t =
          (s->wanted[next] - sampled.length[k - 1]) / (sampled.length[k] - sampled.length[k - 1]);
      to->cuts[next] = to->track.count;
      CVTM_TRY(stretch_add_point(to, a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), 0));
    }
    CVTM_TRY(stretch_add_point(to, sampled.points[2 * k], sampled.points[2 * k + 1], 0));
  }
  to->cuts[0] = 0;
  to->cuts[parts] = to->track.count - 1;
  return CVTM_OK;
}

/* Slides the vertices of a piece of `parts` edges from `first` on. p: its points on the contour. */
static cvtm_status slide_piece(slider *s, const double *p, int64_t count, int64_t first,
                               int64_t parts) {
  cvtm_boundary *b = s->made;
  const int32_t begin = b->edges[2 * first], end = b->edges[2 * (first + parts) - 1];
  const int closed = begin == end && !b->corner[begin];
  CVTM_TRY(stretch_lay(&s->stretch, p, count));
  find_wanted(s, first, parts);
  CVTM_TRY(cut_at_wanted(s, parts));
  for (int64_t i = closed ? 0 : 1; i < parts; ++i) {
    const int32_t v = b->edges[2 * (first + i)];
    stretch_place_cut(&s->stretch, i, parts, closed, b->points + 2 * (int64_t)v);
    b->along[v] = i > 0 ? s->wanted[i] : 0;
  }
  for (int64_t i = 0; i < parts; ++i) {
    const int32_t *edge = b->edges + 2 * (first + i);
    b->deviation[first + i] = stretch_deviation(&s->stretch, i, b->points + 2 * (int64_t)edge[0],
                                                b->points + 2 * (int64_t)edge[1]);
  }
  return CVTM_OK;
}

static cvtm_status slide_all(slider *s, const cvtm_contour *c) {
  const cvtm_boundary *b = s->made;
  int64_t first = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t last = c->start[arc + 1] - 1;
    for (int64_t begin = c->start[arc], end; begin < last; begin = end) {
      end = begin + 1;
      while (end < last && !c->corner[end]) ++end;
      int64_t parts = 1;
      for (int32_t to = b->edges[2 * first + 1]; !b->corner[to] && to != b->edges[2 * first];)
        to = b->edges[2 * (first + parts++) + 1];
      CVTM_TRY(slide_piece(s, c->points + 2 * begin, end - begin + 1, first, parts));
      first += parts;
    }
  }
  return CVTM_OK;
}

/* Holds the ends of edges that cross others or deviate too far. *found: the number of such edges;
 * *held: the number of vertices newly held. */
static cvtm_status hold_bad_edges(slider *s, const double *deviation, int64_t *found,
                                  int64_t *held) {
  const cvtm_boundary *b = s->made;
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  if (crossed == NULL) return cvtm_no_memory(s->stretch.error, "the boundary");
  const cvtm_status status = cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count,
                                               crossed, found, s->stretch.error);
  *held = 0;
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    const int bent = b->deviation[e] > fmax(deviation[e], largest_shift);
    if (!bent && !crossed[e]) continue;
    *found += bent && !crossed[e];
    for (int end = 0; end < 2; ++end) {
      uint8_t *stays = &s->held[b->edges[2 * e + end]];
      *held += !*stays;
      *stays = 1;
    }
  }
  free(crossed);
  for (int64_t e = 0; e < b->edge_count; ++e) {
    if (b->twin[e] < 0) continue;
    uint8_t *first = &s->held[b->edges[2 * e + 1]],
            *second = &s->held[b->edges[2 * (int64_t)b->twin[e] + 1]];
    *held += *first != *second;
    *first = *second = *first | *second;
  }
  return status;
}

/* Replaces the targets of vertices and their copies on opposite sides of a periodic image by their
 * mean; the coordinate perpendicular to the side does not matter. Twins are edges of the same
 * direction here, and ends of arcs do not move. */
static void average_targets(const cvtm_boundary *b, double *target) {
  for (int64_t e = 0; e < b->edge_count; ++e) {
    if (b->twin[e] < e) continue;
    const int64_t u = b->edges[2 * e + 1], v = b->edges[2 * (int64_t)b->twin[e] + 1];
    const double *p = b->points + 2 * u, *q = b->points + 2 * v;
    const int across = p[0] != q[0] ? 0 : 1;
    target[2 * u + !across] = target[2 * v + !across] =
        0.5 * (target[2 * u + !across] + target[2 * v + !across]);
    target[2 * u + across] = p[across];
    target[2 * v + across] = q[across];
  }
}

typedef struct boundary_state {
  double *points, *along, *deviation;
} boundary_state;

static void copy_state(const cvtm_boundary *b, const boundary_state *from,
                       const boundary_state *to) {
  const size_t vertices = (size_t)b->vertex_count * sizeof(double);
  memcpy(to->points, from->points, 2 * vertices);
  memcpy(to->along, from->along, vertices);
  memcpy(to->deviation, from->deviation, (size_t)b->edge_count * sizeof(double));
}

cvtm_status cvtm_boundary_slide(const cvtm_contour *contour, const double *target, double share,
                                cvtm_boundary *boundary, cvtm_error *error) {
  const size_t n = (size_t)boundary->vertex_count, edges = (size_t)boundary->edge_count;
  const boundary_state now = {boundary->points, boundary->along, boundary->deviation};
  cvtm_scratch memory = {0};
  const boundary_state old = {cvtm_scratch_take(&memory, n, 2 * sizeof(double)),
                              cvtm_scratch_take(&memory, n, sizeof(double)),
                              cvtm_scratch_take(&memory, edges, sizeof(double))};
  double *shared = cvtm_scratch_take(&memory, n, 2 * sizeof *shared);
  slider s = {.stretch = {.keep_on_curve = contour->keep_on_curve, .error = error},
              .made = boundary,
              .target = shared,
              .share = share,
              .held = cvtm_scratch_zeros(&memory, n, 1),
              .wanted = cvtm_scratch_take(&memory, edges, sizeof(double))};
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the boundary") : CVTM_OK;
  if (status == CVTM_OK) {
    memcpy(shared, target, 2 * n * sizeof *shared);
    average_targets(boundary, shared);
    copy_state(boundary, &now, &old);
  }
  for (int64_t found = 1, held = 1; status == CVTM_OK && found > 0;) {
    status = slide_all(&s, contour);
    if (status == CVTM_OK) status = cvtm_boundary_fit(contour, 0, boundary, error);
    if (status == CVTM_OK) status = hold_bad_edges(&s, old.deviation, &found, &held);
    if (status != CVTM_OK || found > 0) copy_state(boundary, &old, &now);
    if (held == 0) break;
  }
  stretch_free(&s.stretch);
  track_free(&s.spare);
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- Areas of the regions ---- */

enum {
  PASSES = 3, /* in each pass a vertex may move by largest_share */
  ROUNDS = 8  /* attempts to remove crossings */
};

/* A vertex may move by this share of its shortest edge, a corner by half as much. */
static const double largest_share = 0.2;

static int is_on_side(const cvtm_contour *c, const double *p) {
  return p[0] == 0 || p[1] == 0 || p[0] == c->size[0] || p[1] == c->size[1];
}

/* Replaces `reach`, on input the length of each vertex's shortest edge, by the distance that the
 * vertex may move. */
static void find_reach(const cvtm_contour *c, const cvtm_boundary *b, int move_corners,
                       double *reach) {
  for (int64_t v = 0; v < b->vertex_count; ++v) reach[v] = INFINITY;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const int64_t u = b->edges[2 * e], v = b->edges[2 * e + 1];
    const double *p = b->points + 2 * u, *q = b->points + 2 * v;
    const double length = hypot(q[0] - p[0], q[1] - p[1]);
    reach[u] = fmin(reach[u], length);
    reach[v] = fmin(reach[v], length);
  }
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    const double share = b->corner[v] ? 0.5 * move_corners * largest_share : largest_share;
    reach[v] = is_on_side(c, b->points + 2 * v) ? 0 : fmin(share * reach[v], largest_shift);
  }
}

/* Holds the vertices of edges that cross. *held: the number of those that could move before. */
static cvtm_status hold_crossed(const cvtm_boundary *b, double *reach, int64_t *held,
                                cvtm_error *error) {
  int64_t found;
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  if (crossed == NULL) return cvtm_no_memory(error, "the boundary");
  const cvtm_status status = cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count,
                                               crossed, &found, error);
  *held = 0;
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    if (!crossed[e]) continue;
    for (int end = 0; end < 2; ++end) {
      double *own = &reach[b->edges[2 * e + end]];
      *held += *own > 0;
      *own = 0;
    }
  }
  free(crossed);
  return status;
}

enum { MOST_EDGES = 8 }; /* edges of a vertex: four arcs between pixels, two sides of the image */

/* The edges at a vertex, given by their other ends. */
typedef struct fan {
  int64_t end[MOST_EDGES];
  int count;
} fan;

/* Sorts the ends by their directions from v, beginning with the first end. */
static void sort_fan(const double *points, int64_t v, fan *f) {
  double turn[MOST_EDGES];
  for (int k = 0; k < f->count; ++k) {
    const double *p = points + 2 * f->end[k], *at = points + 2 * v;
    const double angle = atan2(p[1] - at[1], p[0] - at[0]);
    turn[k] = k == 0 ? angle : angle < turn[0] ? angle + 2 * CVTM_PI : angle;
    const int64_t end = f->end[k];
    const double own = turn[k];
    int i = k;
    for (; i > 1 && turn[i - 1] > own; --i) {
      turn[i] = turn[i - 1];
      f->end[i] = f->end[i - 1];
    }
    turn[i] = own;
    f->end[i] = end;
  }
}

/* Nonzero if the cyclic order of the edges at v has changed. */
static int is_turned(const double *before, const double *after, int64_t v, const fan *f) {
  fan then = *f, now = *f;
  sort_fan(before, v, &then);
  sort_fan(after, v, &now);
  return memcmp(then.end, now.end, (size_t)f->count * sizeof *f->end) != 0;
}

/* A thin region between two junctions may be inverted although no edges cross. Holds such junctions
 * and their neighbours; adds to *held the number of these vertices that could move before. */
static cvtm_status hold_turned(const cvtm_boundary *b, const double *before, double *reach,
                               int64_t *held, cvtm_error *error) {
  fan *fans = calloc((size_t)b->vertex_count + 1, sizeof *fans);
  if (fans == NULL) return cvtm_no_memory(error, "the boundary");
  for (int64_t k = 0; k < 2 * b->edge_count; ++k) {
    fan *f = &fans[b->edges[k]];
    if (f->count < MOST_EDGES) f->end[f->count++] = b->edges[k ^ 1];
  }
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    const fan *f = &fans[v];
    if (f->count < 3 || !is_turned(before, b->points, v, f)) continue;
    *held += reach[v] > 0;
    reach[v] = 0;
    for (int k = 0; k < f->count; ++k) {
      *held += reach[f->end[k]] > 0;
      reach[f->end[k]] = 0;
    }
  }
  free(fans);
  return CVTM_OK;
}

/* Increases the deviation of edges by the distances that their ends have moved, an upper bound. */
static void widen_deviations(cvtm_boundary *b, const double *before) {
  for (int64_t e = 0; e < b->edge_count; ++e) {
    double most = 0;
    for (int end = 0; end < 2; ++end) {
      const int64_t v = b->edges[2 * e + end];
      most = fmax(
          most, hypot(b->points[2 * v] - before[2 * v], b->points[2 * v + 1] - before[2 * v + 1]));
    }
    b->deviation[e] += most;
  }
}

/* reach: per vertex; the others per coordinate. */
typedef struct fit_memory {
  double *reach, *start, *low, *high;
} fit_memory;

/* Moves vertices within their reach without new crossings. *worst: largest relative error of an
 * area. */
static cvtm_status fit_within_reach(const cvtm_contour *contour, int move_corners, cvtm_boundary *b,
                                    const fit_memory *m, double *worst, cvtm_error *error) {
  const size_t numbers = 2 * (size_t)b->vertex_count;
  int64_t held = 1;
  cvtm_status status = CVTM_OK;
  memcpy(m->start, b->points, numbers * sizeof *m->start);
  find_reach(contour, b, move_corners, m->reach);
  for (int round = 0; round < ROUNDS && held > 0 && status == CVTM_OK; ++round) {
    memcpy(b->points, m->start, numbers * sizeof *m->start);
    for (size_t k = 0; k < numbers; ++k) {
      m->low[k] = m->start[k] - m->reach[k / 2];
      m->high[k] = m->start[k] + m->reach[k / 2];
    }
    const cvtm_area_map map = {b->points, b->vertex_count, m->low,   m->high,
                               b->edges,  b->left,         b->right, b->edge_count};
    status = cvtm_fit_areas(&map, contour->region, contour->region_area, contour->region_count,
                            worst, error);
    if (status == CVTM_OK) status = hold_crossed(b, m->reach, &held, error);
    if (status == CVTM_OK) status = hold_turned(b, m->start, m->reach, &held, error);
  }
  if (held > 0 || status != CVTM_OK) memcpy(b->points, m->start, numbers * sizeof *m->start);
  if (status == CVTM_OK) widen_deviations(b, m->start);
  return status;
}

cvtm_status cvtm_boundary_fit(const cvtm_contour *contour, int move_corners,
                              cvtm_boundary *boundary, cvtm_error *error) {
  const double good_enough = 1e-6;
  const size_t n = (size_t)boundary->vertex_count;
  if (contour->region_count == 0) return CVTM_OK;
  double *memory = malloc((7 * n + 1) * sizeof *memory);
  if (memory == NULL) return cvtm_no_memory(error, "the boundary");
  const fit_memory parts = {memory, memory + n, memory + 3 * n, memory + 5 * n};
  double worst = INFINITY;
  cvtm_status status = CVTM_OK;
  for (int pass = 0; pass < PASSES && worst > good_enough && status == CVTM_OK; ++pass)
    status = fit_within_reach(contour, move_corners, boundary, &parts, &worst, error);
  free(memory);
  return status;
}
