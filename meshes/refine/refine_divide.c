/* Parts of segments, their division, and segments on opposite sides of a periodic image, which are
 * divided together. */
#include "base/host_memory.h"
#include "meshes/refine/refine_state.h"

#include <math.h>
#include <stdlib.h>

/* ---- Twins ---- */

/* A segment on a side of the image, in grid steps along it. */
typedef struct side_segment {
  int axis; /* of the coordinate that is constant along the side */
  int32_t low, high, segment;
  int is_far;
} side_segment;

/* For qsort: equal segments of opposite sides are neighbours. */
static int compare_sides(const void *left, const void *right) {
  const side_segment *a = left, *b = right;
  if (a->axis != b->axis) return a->axis - b->axis;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return a->is_far - b->is_far;
}

static int32_t along(cvtm_grid_point p, int axis) { return axis == 0 ? p.y : p.x; }

static int64_t list_sides(const cvtm_refiner *r, const double *points, side_segment *list) {
  const double *sides = r->options->paired_sides;
  int64_t count = 0;
  for (int64_t s = 0; s < r->segment_count; ++s) {
    const int32_t *ends = r->ends + 2 * s;
    const double *p = points + 2 * (int64_t)ends[0], *q = points + 2 * (int64_t)ends[1];
    for (int axis = 0; axis < 2; ++axis) {
      const double low = sides[axis], high = sides[axis + 2];
      if (p[axis] != q[axis] || (p[axis] != low && p[axis] != high)) continue;
      const int32_t from = along(r->m.grid[ends[0]], axis), to = along(r->m.grid[ends[1]], axis);
      list[count++] = (side_segment){axis, from < to ? from : to, from < to ? to : from, (int32_t)s,
                                     p[axis] == high};
    }
  }
  return count;
}

cvtm_status cvtm_refine_pair_segments(cvtm_refiner *r, const double *points) {
  const size_t n = (size_t)r->segment_count;
  r->twin = malloc((n + 1) * sizeof *r->twin);
  side_segment *list = malloc((n + 1) * sizeof *list);
  if (r->twin == NULL || list == NULL) {
    free(list);
    return cvtm_no_memory(r->error, "the refinement");
  }
  for (size_t s = 0; s < n; ++s) r->twin[s] = CVTM_TWIN_NONE;
  const double *sides = r->options->paired_sides;
  const int64_t count = sides[2] > sides[0] ? list_sides(r, points, list) : 0;
  qsort(list, (size_t)count, sizeof *list, compare_sides);
  for (int64_t k = 0; k + 1 < count; ++k) {
    const side_segment *a = &list[k], *b = &list[k + 1];
    if (a->axis != b->axis || a->low != b->low || a->high != b->high || a->is_far == b->is_far)
      continue;
    r->twin[a->segment] = b->segment;
    r->twin[b->segment] = a->segment;
    ++r->figures->paired[a->axis];
  }
  for (int64_t k = 0; k < count; ++k) {
    int32_t *twin = &r->twin[list[k].segment];
    if (*twin >= 0 || r->figures->paired[list[k].axis] == 0) continue;
    *twin = CVTM_TWIN_MISSING;
    ++r->figures->unpaired;
  }
  free(list);
  return CVTM_OK;
}

/* The coordinate that is the same on a segment that has a twin. */
static int axis_of(const cvtm_refiner *r, int32_t segment) {
  const int32_t *ends = r->ends + 2 * (int64_t)segment;
  return r->m.grid[ends[0]].x == r->m.grid[ends[1]].x ? 0 : 1;
}

/* The copy of a vertex of a segment, on the segment's twin. */
static int32_t copy_of(const cvtm_refiner *r, int32_t segment, int32_t v) {
  const int32_t *ends = r->ends + 2 * (int64_t)r->twin[segment];
  const int axis = axis_of(r, segment);
  if (r->vertex[v].kind == CVTM_VERTEX_ON_SEGMENT) return r->vertex[v].copy;
  return ends[along(r->m.grid[ends[0]], axis) != along(r->m.grid[v], axis)];
}

static cvtm_grid_point copy_place(const cvtm_refiner *r, int32_t twin, cvtm_grid_point p) {
  const cvtm_grid_point there = r->m.grid[r->ends[2 * (int64_t)twin]];
  return axis_of(r, twin) == 0 ? (cvtm_grid_point){there.x, p.y} : (cvtm_grid_point){p.x, there.y};
}

void cvtm_refine_share_corners(cvtm_refiner *r) {
  for (int pass = 0; pass < 2; ++pass) { /* a corner of the image has three copies */
    for (int32_t k = 0; k < 2 * r->segment_count; ++k) {
      if (r->twin[k / 2] < 0) continue;
      const int32_t v = r->ends[k], copy = copy_of(r, k / 2, v);
      const double scale = fmin(r->vertex[v].scale, r->vertex[copy].scale);
      r->is_acute[v] = r->is_acute[copy] = r->is_acute[v] | r->is_acute[copy];
      r->vertex[v].scale = r->vertex[copy].scale = scale;
    }
  }
}

/* ---- Parts ---- */

/* A half-edge from one vertex to another; -1 if there is none. */
static int64_t find_half(const cvtm_half_edges *m, int32_t from, int32_t to) {
  if (m->at[from] < 0) return -1;
  const int64_t first = cvtm_first_of_fan(m, m->at[from]);
  for (int64_t h = first; h >= 0;) {
    if (cvtm_end_of(m, h) == to) return h;
    if (cvtm_apex_of(m, h) == to) return cvtm_half_before(h);
    h = cvtm_turn_left(m, h);
    if (h == first) break;
  }
  return -1;
}

static int joins(const cvtm_half_edges *m, int64_t h, int32_t from, int32_t to) {
  return h >= 0 && m->segment[h] >= 0 &&
         ((m->corner[h] == from && cvtm_end_of(m, h) == to) ||
          (m->corner[h] == to && cvtm_end_of(m, h) == from));
}

int64_t cvtm_refine_find_part(const cvtm_half_edges *m, const cvtm_bad_part *part) {
  if (joins(m, part->half, part->from, part->to)) return part->half;
  int64_t h = find_half(m, part->from, part->to);
  if (h < 0) h = find_half(m, part->to, part->from);
  return joins(m, h, part->from, part->to) ? h : -1;
}

/* The number in the middle third of an interval that is a multiple of the largest power of two.
 * Segments that meet at a small angle are divided at such distances from their common end, so that
 * their vertices come in pairs. */
static double shell_distance(double low, double high) {
  const double third = (high - low) / 3;
  double unit = 1;
  while (2 * unit <= high) unit *= 2;
  for (; unit > 1; unit /= 2) {
    const double distance = unit * ceil((low + third) / unit);
    if (distance <= high - third) return distance;
  }
  return 0.5 * (low + high);
}

static int is_acute(const cvtm_refiner *r, int32_t v) {
  return v < r->given_count && r->is_acute[v];
}

/* Where to divide a part of a segment, by the parameters s and e of its ends: near the middle, and
 * in shells around an end of the segment where its angle is small, the nearer one of two. */
static double find_middle(const cvtm_refiner *r, int32_t segment, double s, double e) {
  const int32_t *ends = r->ends + 2 * (int64_t)segment;
  const double length = sqrt(cvtm_length2(r->m.grid[ends[0]], r->m.grid[ends[1]]));
  const double low = fmin(s, e), high = fmax(s, e), middle = 0.5 * (s + e);
  const int first = is_acute(r, ends[0]), last = is_acute(r, ends[1]);
  if (!first && !last) return middle;
  if (first && last && low + high == 1) return middle;
  if (first && (!last || low + high < 1))
    return shell_distance(low * length, high * length) / length;
  return 1 - shell_distance((1 - high) * length, (1 - low) * length) / length;
}

static cvtm_grid_point middle_of_part(const cvtm_refiner *r, int64_t h) {
  const cvtm_half_edges *m = &r->m;
  const int32_t segment = m->segment[h], from = m->corner[h], to = cvtm_end_of(m, h);
  const double s = cvtm_segment_parameter(r, segment, m->grid[from]);
  const double e = cvtm_segment_parameter(r, segment, m->grid[to]);
  const double middle = find_middle(r, segment, s, e);
  const int is_plain = middle == 0.5 * (s + e);
  return cvtm_segment_place(r, segment, middle, (is_plain ? 1e-2 : 1e-4) * fabs(e - s));
}

int cvtm_refine_may_divide(const cvtm_refiner *r, int64_t h, double scale) {
  const cvtm_half_edges *m = &r->m;
  const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
  if (r->twin[m->segment[h]] == CVTM_TWIN_MISSING) return 0;
  const double length2 = cvtm_length2(m->grid[from], m->grid[to]);
  const double least =
      2 * cvtm_least_share * fmin(scale, fmin(r->vertex[from].scale, r->vertex[to].scale));
  return length2 >= cvtm_fewest_steps * cvtm_fewest_steps && length2 >= least * least;
}

/* Removes vertices that refinement put inside the circle over a part (Chew 1993). */
static cvtm_status clear_circle(cvtm_refiner *r, int32_t from, int32_t to) {
  cvtm_half_edges *m = &r->m;
  for (int side = 0; side < 2; ++side) {
    for (;;) {
      const int64_t h = find_half(m, side == 0 ? from : to, side == 0 ? to : from);
      if (h < 0 || m->corner[h] != (side == 0 ? from : to)) break;
      const int32_t apex = cvtm_apex_of(m, h);
      if (r->vertex[apex].kind != CVTM_VERTEX_FREE ||
          cvtm_dot_at(m->grid[apex], m->grid[from], m->grid[to]) >= 0)
        break;
      const int64_t mark = m->change_count;
      if (!cvtm_half_edges_remove(m, apex)) {
        cvtm_half_edges_undo(m, mark);
        break;
      }
      cvtm_half_edges_restore(m);
      ++r->figures->removed;
    }
  }
  return cvtm_refine_check_memory(r);
}

/* Makes room for a vertex on a part. Near small angles the circle over the part may be full. */
static cvtm_status prepare_part(cvtm_refiner *r, const cvtm_bad_part *part) {
  if (is_acute(r, part->from) || is_acute(r, part->to)) return CVTM_OK;
  return clear_circle(r, part->from, part->to);
}

/* Puts a vertex on a part. *v: the vertex; -1 if there is no place for it. */
static cvtm_status put_on_part(cvtm_refiner *r, const cvtm_bad_part *part, cvtm_grid_point place,
                               cvtm_refine_vertex made, int32_t *v) {
  const int64_t h = cvtm_refine_find_part(&r->m, part);
  *v = h < 0 ? -1 : cvtm_half_edges_insert_on(&r->m, h, place);
  if (*v < 0) return cvtm_refine_check_memory(r);
  return cvtm_refine_describe(r, *v, made);
}

/* The same on the copy of the part; both vertices vanish if there is no place for this one. */
static cvtm_status put_on_copy(cvtm_refiner *r, const cvtm_bad_part *copy, int64_t mark,
                               cvtm_refine_vertex made, int32_t v) {
  int32_t other;
  const int32_t twin = r->twin[made.segment];
  const cvtm_grid_point place = copy_place(r, twin, r->m.grid[v]);
  made.segment = twin;
  made.copy = v;
  const cvtm_status status = put_on_part(r, copy, place, made, &other);
  if (status == CVTM_OK && other < 0) cvtm_half_edges_undo(&r->m, mark);
  if (status == CVTM_OK && other >= 0) r->vertex[v].copy = other;
  return status;
}

/* The description of a new vertex between the ends of a part. */
static cvtm_refine_vertex describe_middle(const cvtm_refiner *r, const cvtm_bad_part *part,
                                          int32_t segment) {
  const cvtm_grid_point *grid = r->m.grid;
  const double length = sqrt(cvtm_length2(grid[part->from], grid[part->to]));
  const double given = fmin(r->vertex[part->from].scale, r->vertex[part->to].scale);
  const int for_angle = part->scale > 0;
  return (cvtm_refine_vertex){for_angle ? fmin(part->scale, given) : fmin(given, 0.5 * length),
                              segment, -1, CVTM_VERTEX_ON_SEGMENT,
                              (uint8_t)(for_angle ? CVTM_CAUSE_ANGLE : CVTM_CAUSE_AREA)};
}

cvtm_status cvtm_refine_divide(cvtm_refiner *r, const cvtm_bad_part *part) {
  cvtm_half_edges *m = &r->m;
  int64_t h = cvtm_refine_find_part(m, part);
  if (h < 0 || !cvtm_refine_may_divide(r, h, part->scale)) return CVTM_OK;
  if (part->scale > 0 && m->vertex_count >= r->most) return CVTM_OK;
  const int32_t segment = m->segment[h], from = m->corner[h], to = cvtm_end_of(m, h);
  const cvtm_bad_part here = {part->half, from, to, part->scale};
  const int has_twin = r->twin[segment] >= 0;
  const cvtm_bad_part copy = {-1, has_twin ? copy_of(r, segment, from) : -1,
                              has_twin ? copy_of(r, segment, to) : -1, part->scale};
  const int64_t removed = r->figures->removed;
  cvtm_status status = prepare_part(r, &here);
  if (status == CVTM_OK && has_twin) status = prepare_part(r, &copy);
  if (status != CVTM_OK) return status;
  h = cvtm_refine_find_part(m, &here);
  if (h < 0) return cvtm_refine_keep_changes(r);
  const int64_t mark = m->change_count;
  const cvtm_refine_vertex made = describe_middle(r, &here, segment);
  int32_t v;
  status = put_on_part(r, &here, middle_of_part(r, h), made, &v);
  if (status == CVTM_OK && v >= 0 && has_twin) status = put_on_copy(r, &copy, mark, made, v);
  if (status != CVTM_OK) return status;
  if (m->change_count == mark) { /* what the circle held is back, or it would come and go forever */
    cvtm_half_edges_undo(m, 0);
    r->figures->removed = removed;
    return CVTM_OK;
  }
  cvtm_half_edges_restore(m);
  return cvtm_refine_keep_changes(r);
}

/* ---- Where the boundary touches itself ---- */

cvtm_status cvtm_refine_find_touches(cvtm_refiner *r) {
  const cvtm_half_edges *m = &r->m;
  uint8_t *leaving = calloc((size_t)m->vertex_count + 1, 1);
  r->touches = calloc((size_t)r->given_count + 1, 1);
  if (leaving == NULL || r->touches == NULL) {
    free(leaving);
    return cvtm_no_memory(r->error, "the refinement");
  }
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int32_t v = m->corner[h];
    if (m->twin[h] >= 0 || v >= r->given_count) continue;
    r->touch_count += leaving[v] == 1;
    r->touches[v] = leaving[v] > 0;
    leaving[v] = leaving[v] > 0 ? 2 : 1;
  }
  free(leaving);
  return CVTM_OK;
}

cvtm_status cvtm_refine_divide_between_touches(cvtm_refiner *r) {
  const cvtm_half_edges *m = &r->m;
  int64_t before = -1;
  while (r->touch_count > 0 && m->vertex_count != before) { /* divisions change half-edges */
    before = m->vertex_count;
    for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
      if (m->corner[h] < 0 || m->segment[h] < 0) continue;
      const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
      if (from >= r->given_count || to >= r->given_count || !r->touches[from] || !r->touches[to])
        continue;
      const cvtm_bad_part part = {h, from, to, fmin(r->vertex[from].scale, r->vertex[to].scale)};
      const cvtm_status status = cvtm_refine_divide(r, &part);
      if (status != CVTM_OK) return status;
    }
  }
  return CVTM_OK;
}
