/* Vertices on a contour, spaced by a size field. */
#include "meshes/contour.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double largest_shift = 0.5; /* of a vertex off the curve, pixels */

void cvtm_boundary_free(cvtm_boundary *boundary) {
  free(boundary->points);
  free(boundary->corner);
  free(boundary->edges);
  free(boundary->left);
  free(boundary->right);
  free(boundary->deviation);
  *boundary = (cvtm_boundary){0};
}

static cvtm_status no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the boundary");
}

/* Points along a stretch of an arc, at most half a pixel apart, with the integral of
 * 1 / spacing up to each. */
typedef struct track {
  double *points, *measure;
  int64_t count, capacity;
} track;

typedef struct sampler {
  cvtm_spacing spacing;
  const void *context;
  track track;
  int64_t *cuts; /* of the track: where the vertices are */
  int64_t cut_capacity;
  cvtm_boundary made;
  int64_t vertex_capacity, edge_capacity;
  cvtm_error *error;
} sampler;

static cvtm_status add_track_point(sampler *s, double x, double y, double measure) {
  track *t = &s->track;
  if (t->count == t->capacity) {
    const int64_t larger = t->capacity == 0 ? 1024 : 2 * t->capacity;
    double *points = realloc(t->points, (size_t)larger * 2 * sizeof *points);
    if (points != NULL) t->points = points;
    double *measures = realloc(t->measure, (size_t)larger * sizeof *measures);
    if (measures != NULL) t->measure = measures;
    if (points == NULL || measures == NULL) return no_memory(s->error);
    t->capacity = larger;
  }
  t->points[2 * t->count] = x;
  t->points[2 * t->count + 1] = y;
  t->measure[t->count++] = measure;
  return CVTM_OK;
}

static cvtm_status lay_track(sampler *s, const double *p, int64_t count) {
  s->track.count = 0;
  cvtm_status status = add_track_point(s, p[0], p[1], 0);
  double measure = 0;
  for (int64_t k = 0; k + 1 < count; ++k) {
    const double *a = p + 2 * k, *b = a + 2;
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    const int64_t parts = (int64_t)ceil(2 * length) + (length == 0);
    for (int64_t i = 1; i <= parts && status == CVTM_OK; ++i) {
      const double to = (double)i / (double)parts, half = ((double)i - 0.5) / (double)parts;
      const double h =
          s->spacing(s->context, a[0] + half * (b[0] - a[0]), a[1] + half * (b[1] - a[1]));
      measure += length / (double)parts / h;
      status = add_track_point(s, i == parts ? b[0] : a[0] + to * (b[0] - a[0]),
                               i == parts ? b[1] : a[1] + to * (b[1] - a[1]), measure);
    }
  }
  return status;
}

/* The track's points that divide its measure evenly; parts + 1 of them, all different. */
static cvtm_status choose_cuts(sampler *s, int64_t parts) {
  if (parts + 1 > s->cut_capacity) {
    int64_t *moved = realloc(s->cuts, (size_t)(parts + 1) * sizeof *moved);
    if (moved == NULL) return no_memory(s->error);
    s->cuts = moved;
    s->cut_capacity = parts + 1;
  }
  const track *t = &s->track;
  const double total = t->measure[t->count - 1];
  int64_t k = 0;
  s->cuts[0] = 0;
  for (int64_t i = 1; i < parts; ++i) {
    const double wanted = total * (double)i / (double)parts;
    while (k + 1 < t->count && t->measure[k + 1] < wanted) ++k;
    /* The nearer of both, apart from the last cut and with room for those to come. */
    int64_t best = wanted - t->measure[k] < t->measure[k + 1] - wanted ? k : k + 1;
    if (best <= s->cuts[i - 1]) best = s->cuts[i - 1] + 1;
    if (best > t->count - 1 - (parts - i)) best = t->count - 1 - (parts - i);
    s->cuts[i] = best;
  }
  s->cuts[parts] = t->count - 1;
  return CVTM_OK;
}

/* ---- Vertices ---- */

static int32_t add_vertex(sampler *s, const double *place, int corner) {
  cvtm_boundary *b = &s->made;
  if (b->vertex_count == s->vertex_capacity) {
    const int64_t larger = s->vertex_capacity == 0 ? 256 : 2 * s->vertex_capacity;
    double *points = realloc(b->points, (size_t)larger * 2 * sizeof *points);
    if (points != NULL) b->points = points;
    uint8_t *corners = realloc(b->corner, (size_t)larger);
    if (corners != NULL) b->corner = corners;
    if (points == NULL || corners == NULL) return -1;
    s->vertex_capacity = larger;
  }
  memcpy(b->points + 2 * b->vertex_count, place, 2 * sizeof *place);
  b->corner[b->vertex_count] = (uint8_t)corner;
  return (int32_t)b->vertex_count++;
}

static cvtm_status add_edge(sampler *s, int32_t from, int32_t to, int32_t left, int32_t right,
                            double deviation) {
  cvtm_boundary *b = &s->made;
  if (b->edge_count == s->edge_capacity) {
    const int64_t larger = s->edge_capacity == 0 ? 256 : 2 * s->edge_capacity;
    int32_t *edges = realloc(b->edges, (size_t)larger * 2 * sizeof *edges);
    if (edges != NULL) b->edges = edges;
    int32_t *lefts = realloc(b->left, (size_t)larger * sizeof *lefts);
    if (lefts != NULL) b->left = lefts;
    int32_t *rights = realloc(b->right, (size_t)larger * sizeof *rights);
    if (rights != NULL) b->right = rights;
    double *deviations = realloc(b->deviation, (size_t)larger * sizeof *deviations);
    if (deviations != NULL) b->deviation = deviations;
    if (!edges || !lefts || !rights || !deviations) return no_memory(s->error);
    s->edge_capacity = larger;
  }
  const int64_t e = b->edge_count++;
  b->edges[2 * e] = from;
  b->edges[2 * e + 1] = to;
  b->left[e] = left;
  b->right[e] = right;
  b->deviation[e] = deviation;
  return CVTM_OK;
}

/* Area between the chord of cuts i, i + 1 and its stretch of the curve, to the chord's left as
 * seen with y up. */
static double area_beside(const sampler *s, int64_t i) {
  const int64_t first = s->cuts[i], last = s->cuts[i + 1];
  return -cvtm_ring_area(s->track.points + 2 * first, last - first + 1);
}

static double chord(const sampler *s, int64_t i) {
  const double *a = s->track.points + 2 * s->cuts[i], *b = s->track.points + 2 * s->cuts[i + 1];
  return hypot(b[0] - a[0], b[1] - a[1]);
}

/* The place of cut i, moved across the curve so that the edges bound the contour's area. An end
 * that stays leaves its share to the other. */
static void place_cut(const sampler *s, int64_t i, int64_t parts, int closed, double place[2]) {
  const double *points = s->track.points;
  const int64_t before = i > 0 ? i - 1 : parts - 1;
  memcpy(place, points + 2 * s->cuts[i], 2 * sizeof *place);
  if (!closed && (i == 0 || i == parts)) return;
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
  /* The left of (dx, dy), y down, is (dy, -dx). */
  place[0] += shift * (b[1] - a[1]) / span;
  place[1] -= shift * (b[0] - a[0]) / span;
}

static double distance_to_chord(const double *a, const double *b, const double *p) {
  const double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
  const double along = length2 > 0 ? ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length2 : 0;
  const double t = fmin(fmax(along, 0), 1);
  return hypot(a[0] + t * dx - p[0], a[1] + t * dy - p[1]);
}

/* Of the curve from the edge; the edge's ends are at most so far from the curve, too. */
static double edge_deviation(const sampler *s, int64_t i, const double *a, const double *b) {
  const double *from = s->track.points + 2 * s->cuts[i], *to = s->track.points + 2 * s->cuts[i + 1];
  double largest = fmax(hypot(a[0] - from[0], a[1] - from[1]), hypot(b[0] - to[0], b[1] - to[1]));
  for (int64_t k = s->cuts[i]; k <= s->cuts[i + 1]; ++k) {
    largest = fmax(largest, distance_to_chord(a, b, s->track.points + 2 * k));
  }
  return largest;
}

/* Vertices and edges between the vertices `first` and `last` (the same, and free to move, on a
 * closed curve without a corner). */
static cvtm_status emit_piece(sampler *s, int64_t parts, int closed, int32_t first, int32_t last,
                              int32_t left, int32_t right) {
  cvtm_status status = CVTM_OK;
  int32_t from = first;
  if (closed) place_cut(s, 0, parts, closed, s->made.points + 2 * (int64_t)first);
  for (int64_t i = 1; i <= parts && status == CVTM_OK; ++i) {
    double place[2];
    place_cut(s, i, parts, closed, place);
    const int32_t to = i == parts ? last : add_vertex(s, place, 0);
    if (to < 0) return no_memory(s->error);
    const double *a = s->made.points + 2 * (int64_t)from, *b = s->made.points + 2 * (int64_t)to;
    status = add_edge(s, from, to, left, right, edge_deviation(s, i - 1, a, b));
    from = to;
  }
  return status;
}

/* ---- Arcs ---- */

/* Ends of arcs, by place: arcs that meet share a vertex. */
typedef struct arc_end {
  double x, y;
  int64_t slot; /* 2 * arc + (0: first, 1: last) */
} arc_end;

static int compare_ends(const void *first, const void *second) {
  const arc_end *a = first, *b = second;
  const int order = (a->x > b->x) - (a->x < b->x);
  return order != 0 ? order : (a->y > b->y) - (a->y < b->y);
}

static cvtm_status add_end_vertices(sampler *s, const cvtm_contour *c, int32_t *vertex_of) {
  arc_end *ends = malloc((2 * (size_t)c->arc_count + 1) * sizeof *ends);
  if (ends == NULL) return no_memory(s->error);
  for (int64_t slot = 0; slot < 2 * c->arc_count; ++slot) {
    const int64_t k = slot % 2 == 0 ? c->start[slot / 2] : c->start[slot / 2 + 1] - 1;
    ends[slot] = (arc_end){c->points[2 * k], c->points[2 * k + 1], slot};
  }
  qsort(ends, 2 * (size_t)c->arc_count, sizeof *ends, compare_ends);
  cvtm_status status = CVTM_OK;
  for (int64_t k = 0; k < 2 * c->arc_count && status == CVTM_OK; ++k) {
    int32_t vertex = k > 0 ? vertex_of[ends[k - 1].slot] : -1;
    if (k == 0 || compare_ends(&ends[k - 1], &ends[k]) != 0) {
      const double place[2] = {ends[k].x, ends[k].y};
      vertex = add_vertex(s, place, c->corner[c->start[ends[k].slot / 2]]);
    }
    if (vertex < 0) status = no_memory(s->error);
    vertex_of[ends[k].slot] = vertex;
  }
  free(ends);
  return status;
}

static cvtm_status sample_arc(sampler *s, const cvtm_contour *c, int64_t arc, const int32_t *ends) {
  const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
  const int loop = ends[0] == ends[1];
  int64_t corners = 0; /* inside the arc */
  for (int64_t k = first + 1; k < last; ++k) corners += c->corner[k];
  /* A closed curve takes three edges, shared by its pieces. */
  const int64_t least = !loop ? 1 : corners == 0 ? 3 : corners == 1 ? 2 : 1;
  int32_t from = ends[0];
  cvtm_status status = CVTM_OK;
  for (int64_t begin = first, end; begin < last && status == CVTM_OK; begin = end) {
    end = begin + 1;
    while (end < last && !c->corner[end]) ++end;
    status = lay_track(s, c->points + 2 * begin, end - begin + 1);
    if (status != CVTM_OK) break;
    const double total = s->track.measure[s->track.count - 1];
    int64_t parts = total < (double)s->track.count ? (int64_t)rint(total) : s->track.count - 1;
    if (parts < least) parts = least;
    if (parts > s->track.count - 1) parts = s->track.count - 1;
    status = choose_cuts(s, parts);
    if (status != CVTM_OK) break;
    const int32_t to = end == last ? ends[1] : add_vertex(s, c->points + 2 * end, 1);
    if (to < 0) return no_memory(s->error);
    const int closed = loop && corners == 0 && !c->corner[first];
    status = emit_piece(s, parts, closed, from, to, c->left[arc], c->right[arc]);
    from = to;
  }
  return status;
}

cvtm_status cvtm_boundary_sample(const cvtm_contour *contour, cvtm_spacing spacing,
                                 const void *context, cvtm_boundary *boundary, cvtm_error *error) {
  sampler s = {.spacing = spacing, .context = context, .error = error};
  int32_t *vertex_of = malloc((2 * (size_t)contour->arc_count + 1) * sizeof *vertex_of);
  cvtm_status status =
      vertex_of != NULL ? add_end_vertices(&s, contour, vertex_of) : no_memory(error);
  for (int64_t arc = 0; arc < contour->arc_count && status == CVTM_OK; ++arc) {
    status = sample_arc(&s, contour, arc, vertex_of + 2 * arc);
  }
  free(vertex_of);
  free(s.track.points);
  free(s.track.measure);
  free(s.cuts);
  if (status != CVTM_OK) {
    cvtm_boundary_free(&s.made);
    return status;
  }
  *boundary = s.made;
  return CVTM_OK;
}
