/* Vertices on a contour, spaced by a size field. */
#include "base/grow.h"
#include "base/host_memory.h"
#include "meshes/domain/stretch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_boundary_free(cvtm_boundary *boundary) {
  free(boundary->points);
  free(boundary->corner);
  free(boundary->edges);
  free(boundary->left);
  free(boundary->right);
  free(boundary->deviation);
  free(boundary->along);
  free(boundary->home);
  free(boundary->pairs);
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
  int64_t vertex_capacity, edge_capacity, pair_capacity;
  int64_t *first_edge; /* of each arc */
  cvtm_error *error;
} sampler;

/* -1: see no_vertex. */
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
  return cvtm_fail(s->error, CVTM_ERROR_INPUT, "a boundary of more than %ld vertices",
                   (long)INT32_MAX);
}

static cvtm_status add_edge(sampler *s, int32_t from, int32_t to, int32_t left, int32_t right,
                            double deviation) {
  cvtm_boundary *b = &s->made;
  const cvtm_growing arrays[] = {{&b->edges, 2 * sizeof *b->edges},
                                 {&b->left, sizeof *b->left},
                                 {&b->right, sizeof *b->right},
                                 {&b->deviation, sizeof *b->deviation}};
  if (!cvtm_grow_all(arrays, 4, &s->edge_capacity, b->edge_count + 1))
    return cvtm_no_memory(s->error, "the boundary");
  const int64_t e = b->edge_count++;
  b->edges[2 * e] = from;
  b->edges[2 * e + 1] = to;
  b->left[e] = left;
  b->right[e] = right;
  b->deviation[e] = deviation;
  return CVTM_OK;
}

/* Vertices and edges between the vertices `first` and `last` (the same, and free to move, on a
 * closed curve without a corner). */
static cvtm_status emit_piece(sampler *s, int64_t parts, int closed, int32_t first, int32_t last,
                              int32_t left, int32_t right) {
  cvtm_status status = CVTM_OK;
  int32_t from = first;
  if (closed)
    cvtm_stretch_place_cut(&s->stretch, 0, parts, closed, s->made.points + 2 * (int64_t)first);
  for (int64_t i = 1; i <= parts && status == CVTM_OK; ++i) {
    double place[2];
    cvtm_stretch_place_cut(&s->stretch, i, parts, closed, place);
    const int32_t to =
        i == parts ? last : add_vertex(s, place, s->stretch.track.way[s->stretch.cuts[i]], 0);
    if (to < 0) return no_vertex(s);
    const double *a = s->made.points + 2 * (int64_t)from, *b = s->made.points + 2 * (int64_t)to;
    status = add_edge(s, from, to, left, right, cvtm_stretch_deviation(&s->stretch, i - 1, a, b));
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
  if (ends == NULL) return cvtm_no_memory(s->error, "the boundary");
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
      vertex = add_vertex(s, place, 0, c->corner[c->start[ends[k].slot / 2]]);
    }
    if (vertex < 0) status = no_vertex(s);
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
    status = cvtm_stretch_lay(&s->stretch, c->points + 2 * begin, end - begin + 1);
    if (status != CVTM_OK) break;
    const double total = s->stretch.track.measure[s->stretch.track.count - 1];
    int64_t parts =
        total < (double)s->stretch.track.count ? (int64_t)rint(total) : s->stretch.track.count - 1;
    if (parts < least) parts = least;
    if (parts > s->stretch.track.count - 1) parts = s->stretch.track.count - 1;
    status = cvtm_stretch_choose_cuts(&s->stretch, parts);
    if (status != CVTM_OK) break;
    const int32_t to = end == last ? ends[1] : add_vertex(s, c->points + 2 * end, 0, 1);
    if (to < 0) return no_vertex(s);
    const int closed = loop && corners == 0 && !c->corner[first];
    status = emit_piece(s, parts, closed, from, to, c->left[arc], c->right[arc]);
    from = to;
  }
  return status;
}

/* The vertices of the arc's twin, moved to this side of the image. */
static cvtm_status copy_twin(sampler *s, const cvtm_contour *c, int64_t arc, const int32_t *ends) {
  cvtm_boundary *b = &s->made;
  const int64_t twin = c->twin[arc], first = s->first_edge[twin];
  const double *p = c->points + 2 * c->start[arc], *q = c->points + 2 * c->start[twin];
  const int across = p[0] != q[0] ? 0 : 1;
  int32_t from = ends[0];
  cvtm_status status = CVTM_OK;
  for (int64_t e = first; e < s->first_edge[twin + 1] && status == CVTM_OK; ++e) {
    const int32_t pattern = b->edges[2 * e + 1];
    const int last = e + 1 == s->first_edge[twin + 1];
    double place[2];
    memcpy(place, b->points + 2 * (int64_t)pattern, sizeof place);
    place[across] = p[across];
    const int32_t to = last ? ends[1] : add_vertex(s, place, b->along[pattern], 0);
    if (to < 0) return no_vertex(s);
    if (!last) {
      if (!cvtm_grow(&b->pairs, 2 * sizeof *b->pairs, &s->pair_capacity, b->pair_count + 1))
        return cvtm_no_memory(s->error, "the boundary");
      b->pairs[2 * b->pair_count] = pattern;
      b->pairs[2 * b->pair_count++ + 1] = to;
    }
    status = add_edge(s, from, to, c->left[arc], c->right[arc], b->deviation[e]);
    from = to;
  }
  return status;
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
  cvtm_stretch_free(&s.stretch);
  if (status != CVTM_OK) {
    cvtm_boundary_free(&s.made);
    return status;
  }
  *boundary = s.made;
  return CVTM_OK;
}
