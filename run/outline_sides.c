#include "run/outline_parts.h"

#include <math.h>
#include <stdlib.h>

/* A corner on a side (position `from`), or an edge on a side from its lower end to its upper. */
typedef struct on_side {
  double from, to; /* along the side */
  int64_t index;
  int is_far; /* nonzero: on the right or lower side */
} on_side;

/* For qsort: by position; at equal positions the left or upper side first. */
static int compare_on_sides(const void *left, const void *right) {
  const on_side *a = left, *b = right;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  if (a->to != b->to) return a->to < b->to ? -1 : 1;
  if (a->is_far != b->is_far) return a->is_far - b->is_far;
  return (a->index > b->index) - (a->index < b->index);
}

void run_outline_box(const double *points, int64_t count, double sides[4]) {
  for (int k = 0; k < 4; ++k) sides[k] = points[k % 2];
  for (int64_t i = 0; i < 2 * count; ++i) {
    sides[i % 2] = fmin(sides[i % 2], points[i]);
    sides[2 + i % 2] = fmax(sides[2 + i % 2], points[i]);
  }
}

/* Moves corners close to a side across the axis onto it, and aligns them along the sides. */
static void align_across(cvtm_boundary *b, const double sides[4], int axis, double slack,
                         on_side *list) {
  int64_t count = 0;
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    double *p = b->points + 2 * v;
    const int is_far = sides[2 + axis] - p[axis] <= slack;
    if (!is_far && p[axis] - sides[axis] > slack) continue;
    p[axis] = sides[is_far ? 2 + axis : axis];
    list[count++] = (on_side){p[1 - axis], 0, v, is_far};
  }
  qsort(list, (size_t)count, sizeof *list, compare_on_sides);
  double last = -INFINITY;
  for (int64_t k = 0; k < count; ++k) {
    double *along = b->points + 2 * list[k].index + 1 - axis;
    if (*along - last <= slack) *along = last;
    last = *along;
  }
}

cvtm_status run_outline_align(cvtm_boundary *b, cvtm_error *error) {
  double sides[4];
  on_side *list = malloc(((size_t)b->vertex_count + 1) * sizeof *list);
  if (list == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the sides");
  run_outline_box(b->points, b->vertex_count, sides);
  const double slack = 1e-9 * fmax(sides[2] - sides[0], sides[3] - sides[1]);
  for (int axis = 0; axis < 2; ++axis) align_across(b, sides, axis, slack, list);
  free(list);
  return CVTM_OK;
}

static void find_twins(const cvtm_boundary *b, const double sides[4], int axis, on_side *list,
                       int32_t *twin) {
  int64_t count = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const double *p = b->points + 2 * (int64_t)b->edges[2 * e],
                 *q = b->points + 2 * (int64_t)b->edges[2 * e + 1];
    if (p[axis] != q[axis] || (p[axis] != sides[axis] && p[axis] != sides[2 + axis])) continue;
    const double from = p[1 - axis], to = q[1 - axis];
    list[count++] = (on_side){fmin(from, to), fmax(from, to), e, p[axis] != sides[axis]};
  }
  qsort(list, (size_t)count, sizeof *list, compare_on_sides);
  for (int64_t k = 1; k < count; ++k) {
    const on_side *a = &list[k - 1], *c = &list[k];
    if (a->from != c->from || a->to != c->to || a->is_far == c->is_far) continue;
    twin[a->index] = (int32_t)c->index;
    twin[c->index] = (int32_t)a->index;
  }
}

cvtm_status run_outline_twins(const cvtm_boundary *b, const double sides[4], int32_t **twin,
                              cvtm_error *error) {
  on_side *list = malloc(((size_t)b->edge_count + 1) * sizeof *list);
  int32_t *made = malloc(((size_t)b->edge_count + 1) * sizeof *made);
  for (int64_t e = 0; e < b->edge_count && made != NULL; ++e) made[e] = -1;
  for (int axis = 0; axis < 2 && list && made; ++axis) find_twins(b, sides, axis, list, made);
  if (list == NULL) free(made);
  const int is_good = list != NULL && made != NULL;
  free(list);
  if (!is_good) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the sides");
  *twin = made;
  return CVTM_OK;
}

/* Gives a vertex the coordinate that two corners have in common, unless it is farther away. */
static void align_between(const double *p, const double *q, double step, double *place) {
  for (int axis = 0; axis < 2; ++axis)
    if (p[axis] == q[axis] && fabs(place[axis] - p[axis]) <= step) place[axis] = p[axis];
}

cvtm_status run_outline_straighten(const cvtm_regions *r, const int32_t *origin, cvtm_mesh *mesh,
                                   cvtm_error *error) {
  double *points = mesh->points, sides[4];
  int32_t *link = malloc((2 * (size_t)mesh->vertex_count + 1) * sizeof *link);
  if (link == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the sides");
  run_outline_box(points, mesh->vertex_count, sides);
  const double step = ldexp(fmax(sides[2] - sides[0], sides[3] - sides[1]), -29);
  for (int64_t k = 0; k < 2 * mesh->vertex_count; ++k) link[k] = -1;
  for (int64_t k = 0; k < 2 * r->edge_count; ++k) {
    int32_t *of = link + 2 * (int64_t)r->edges[k];
    of[of[0] >= 0] = r->edges[k ^ 1];
  }
  for (int64_t k = 0; k < 2 * r->edge_count; ++k) {
    const int32_t corner = r->edges[k];
    int32_t last = corner, end = r->edges[k ^ 1];
    if (origin[corner] < 0) continue;
    while (end >= 0 && origin[end] < 0) { /* to the other end of the edge of the outline */
      const int32_t *of = link + 2 * (int64_t)end, next = of[of[0] == last];
      last = end;
      end = next;
    }
    if (corner > end) continue; /* each edge once */
    last = corner;
    for (int32_t v = r->edges[k ^ 1]; v != end;) {
      const int32_t *of = link + 2 * (int64_t)v, next = of[of[0] == last];
      align_between(points + 2 * (int64_t)corner, points + 2 * (int64_t)end, step,
                    points + 2 * (int64_t)v);
      last = v;
      v = next;
    }
  }
  free(link);
  return CVTM_OK;
}
