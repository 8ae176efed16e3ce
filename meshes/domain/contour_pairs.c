/* Polygons in a periodic image: edges along its sides become separate arcs, and two arcs on
 * opposite sides that are the same but for one coordinate become twins. */
#include "meshes/domain/contour_steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An arc along a side, in increasing coordinates. */
typedef struct side_edge {
  int axis; /* the coordinate that is the same on all the side */
  int is_far;
  double low, high;
  int64_t arc;
} side_edge;

typedef struct splitter {
  const cvtm_contour *rings;
  const double *size; /* of the image */
  cvtm_contour made;
  int64_t points;
  side_edge *edges;
  int64_t edge_count;
} splitter;

/* The axis across the side that a and b are on, or -1. */
static int side_axis(const splitter *s, const double *a, const double *b) {
  for (int axis = 0; axis < 2; ++axis)
    if (a[axis] == b[axis] && (a[axis] == 0 || a[axis] == s->size[axis])) return axis;
  return -1;
}

static void begin_arc(splitter *s, int32_t left, int32_t right) {
  cvtm_contour *m = &s->made;
  m->left[m->arc_count] = left;
  m->right[m->arc_count] = right;
  m->twin[m->arc_count++] = -1;
}

static void add_arc_point(splitter *s, const double *place, int corner) {
  memcpy(s->made.points + 2 * s->points, place, 2 * sizeof *place);
  s->made.corner[s->points++] = (uint8_t)corner;
  s->made.start[s->made.arc_count] = s->points;
}

static void add_side_edge(splitter *s, int axis, const double *a, const double *b, int32_t left,
                          int32_t right) {
  const int turned = a[!axis] > b[!axis];
  const double *low = turned ? b : a, *high = turned ? a : b;
  s->edges[s->edge_count++] =
      (side_edge){axis, a[axis] != 0, low[!axis], high[!axis], s->made.arc_count};
  begin_arc(s, turned ? right : left, turned ? left : right);
  add_arc_point(s, low, 1);
  add_arc_point(s, high, 1);
}

/* Splits one arc, a closed one from an edge along a side if it has one. */
static void split_ring(splitter *s, int64_t ring) {
  const cvtm_contour *c = s->rings;
  const int64_t n = c->start[ring + 1] - c->start[ring] - 1;
  const double *p = c->points + 2 * c->start[ring];
  const uint8_t *corner = c->corner + c->start[ring];
  int64_t first = 0;
  while (first < n && side_axis(s, p + 2 * first, p + 2 * first + 2) < 0) ++first;
  const int whole = first == n;
  if (!cvtm_contour_is_closed(c, ring)) first = 0;
  int in_arc = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = whole ? k : (first + k) % n;
    const double *a = p + 2 * i, *b = a + 2;
    const int axis = side_axis(s, a, b);
    if (axis >= 0) {
      if (in_arc) s->made.corner[s->points - 1] = 1;
      add_side_edge(s, axis, a, b, c->left[ring], c->right[ring]);
    } else {
      if (!in_arc) begin_arc(s, c->left[ring], c->right[ring]);
      if (!in_arc) add_arc_point(s, a, !whole || corner[0]);
      add_arc_point(s, b, corner[i + 1]);
    }
    in_arc = axis < 0;
  }
  if (in_arc && !whole) s->made.corner[s->points - 1] = 1;
}

static int compare_edges(const void *left, const void *right) {
  const side_edge *a = left, *b = right;
  if (a->axis != b->axis) return a->axis - b->axis;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return a->is_far - b->is_far;
}

/* Fails if edges of two sides have copies, and others have none. */
static cvtm_status join_twins(splitter *s, cvtm_error *error) {
  int64_t paired[2] = {0, 0}, count[2] = {0, 0};
  qsort(s->edges, (size_t)s->edge_count, sizeof *s->edges, compare_edges);
  for (int64_t k = 0; k < s->edge_count; ++k) {
    const side_edge *a = &s->edges[k], *b = a + 1;
    ++count[a->axis];
    if (k + 1 == s->edge_count || a->axis != b->axis || a->low != b->low || a->high != b->high ||
        a->is_far == b->is_far)
      continue;
    const int64_t later = a->arc > b->arc ? a->arc : b->arc;
    s->made.twin[later] = a->arc + b->arc - later;
    paired[a->axis] += 2;
  }
  if (paired[0] + paired[1] == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "--periodic: no edges on opposite sides of the image are alike");
  const int64_t alone =
      (paired[0] > 0 ? count[0] - paired[0] : 0) + (paired[1] > 0 ? count[1] - paired[1] : 0);
  if (alone == 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "--periodic: %" PRId64
                   " %s on sides of the image without a copy on the "
                   "opposite side",
                   alone, alone == 1 ? "edge" : "edges");
}

static cvtm_status allocate_splitter(splitter *s, cvtm_error *error) {
  const int64_t edges = s->rings->start[s->rings->arc_count];
  const cvtm_status status = cvtm_contour_allocate(edges, 2 * edges, &s->made, error);
  if (status != CVTM_OK) return status;
  s->made.twin = malloc(((size_t)edges + 1) * sizeof *s->made.twin);
  s->edges = malloc(((size_t)edges + 1) * sizeof *s->edges);
  return s->made.twin != NULL && s->edges != NULL ? CVTM_OK : cvtm_contour_no_memory(error);
}

cvtm_status cvtm_contour_pair_rings(cvtm_contour *contour, int width, int height,
                                    cvtm_error *error) {
  const double size[2] = {width, height};
  splitter s = {.rings = contour, .size = size};
  cvtm_status status = allocate_splitter(&s, error);
  for (int64_t ring = 0; ring < contour->arc_count && status == CVTM_OK; ++ring)
    split_ring(&s, ring);
  if (status == CVTM_OK) status = join_twins(&s, error);
  free(s.edges);
  if (status != CVTM_OK) {
    cvtm_contour_free(&s.made);
    return status;
  }
  s.made.dropped = contour->dropped;
  cvtm_contour_free(contour);
  *contour = s.made;
  return CVTM_OK;
}
