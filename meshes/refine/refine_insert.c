/* Insertion of vertices: on segments that are encroached on, and in bad triangles. */
#include "base/host.h"
#include "meshes/refine/refine_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_TRIES = 64
}; /* largest number of attempts to split a triangle; each may divide segments */

static cvtm_status refine_check_memory(cvtm_refiner *r) {
  return r->m.out_of_memory ? cvtm_no_memory(r->error, "the refinement") : CVTM_OK;
}

/* ---- The heap of bad triangles ---- */

static int comes_first(const cvtm_bad_triangle *a, const cvtm_bad_triangle *b) {
  if (a->priority != b->priority) return a->priority > b->priority;
  return a->number < b->number;
}

static cvtm_status push_triangle(cvtm_refiner *r, cvtm_bad_triangle item) {
  if (!cvtm_grow(&r->heap, sizeof *r->heap, &r->heap_capacity, r->heap_count + 1))
    return cvtm_no_memory(r->error, "the refinement");
  int64_t k = r->heap_count++;
  item.number = r->numbers++;
  for (; k > 0 && comes_first(&item, &r->heap[(k - 1) / 2]); k = (k - 1) / 2)
    r->heap[k] = r->heap[(k - 1) / 2];
  r->heap[k] = item;
  return CVTM_OK;
}

static cvtm_bad_triangle pop_triangle(cvtm_refiner *r) {
  const cvtm_bad_triangle first = r->heap[0], last = r->heap[--r->heap_count];
  int64_t k = 0;
  for (;;) {
    int64_t child = 2 * k + 1;
    if (child >= r->heap_count) break;
    if (child + 1 < r->heap_count && comes_first(&r->heap[child + 1], &r->heap[child])) ++child;
    if (!comes_first(&r->heap[child], &last)) break;
    r->heap[k] = r->heap[child];
    k = child;
  }
  r->heap[k] = last;
  return first;
}

/* ---- Bad parts and triangles ---- */

/* Nonzero if p is in the lens of a part of a segment: from p the part is seen at an angle of at
 * least 180 degrees minus twice the bound. */
static int is_too_near(const cvtm_refiner *r, cvtm_grid_point p, cvtm_grid_point from,
                       cvtm_grid_point to) {
  const double dot = cvtm_dot_at(p, from, to);
  return dot < 0 && dot * dot >= r->lens * r->lens * cvtm_length2(p, from) * cvtm_length2(p, to);
}

static cvtm_status push_part(cvtm_refiner *r, int32_t from, int32_t to, int64_t half,
                             double scale) {
  if (!cvtm_grow(&r->parts, sizeof *r->parts, &r->part_capacity, r->part_count + 1))
    return cvtm_no_memory(r->error, "the refinement");
  r->parts[r->part_count++] = (cvtm_bad_part){half, from, to, scale};
  return CVTM_OK;
}

static cvtm_status check_triangle(cvtm_refiner *r, int64_t t) {
  const cvtm_half_edges *m = &r->m;
  for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
    if (m->segment[h] < 0) continue;
    const int32_t from = m->corner[h], to = cvtm_end_of(m, h), apex = cvtm_apex_of(m, h);
    if (!is_too_near(r, m->grid[apex], m->grid[from], m->grid[to])) continue;
    CVTM_TRY(push_part(r, from, to, h, r->vertex[apex].scale));
  }
  const double cotangent = cvtm_triangle_cotangent(r, t), excess = cvtm_triangle_excess(r, t);
  const int is_sharp = cotangent > r->cotangent;
  if (!is_sharp && excess <= 1) return CVTM_OK;
  cvtm_bad_triangle item = {.priority = is_sharp ? cotangent : -1 / excess, .triangle = t};
  for (int k = 0; k < 3; ++k) item.corner[k] = m->corner[3 * t + k];
  return push_triangle(r, item);
}

/* Queues each changed triangle that is bad, and commits the changes. */
static cvtm_status refine_keep_changes(cvtm_refiner *r) {
  cvtm_status status = cvtm_list_changed(r, 0);
  cvtm_half_edges_commit(&r->m);
  for (int64_t k = 0; k < r->changed_count && status == CVTM_OK; ++k)
    status = check_triangle(r, r->changed[k]);
  return status;
}

/* Sets the data of a new vertex. CVTM_ERROR_INPUT if this is one vertex too many. */
static cvtm_status refine_describe(cvtm_refiner *r, int32_t v, cvtm_refine_vertex made) {
  const int64_t most = cvtm_most_points(r->options);
  if (r->m.vertex_count > most)
    return cvtm_fail(r->error, CVTM_ERROR_INPUT,
                     "the bounds on angles and areas need more points than the limit of %lld",
                     (long long)most);
  if (!cvtm_grow(&r->vertex, sizeof *r->vertex, &r->vertex_capacity, (int64_t)v + 1))
    return cvtm_no_memory(r->error, "the refinement");
  r->vertex[v] = made;
  return CVTM_OK;
}

/* ---- Twins: segments on periodic sides ---- */

cvtm_status cvtm_refine_pair_segments(cvtm_refiner *r, const cvtm_boundary *boundary,
                                      const int32_t *edge_of) {
  enum { NONE = -1, SEVERAL = -2 };
  const int64_t n = r->segment_count;
  const int64_t edges = edge_of != NULL && boundary->twin != NULL ? boundary->edge_count : 0;
  int32_t *segment = malloc(((size_t)edges + 1) * sizeof *segment); /* of each edge */
  r->twin = malloc(((size_t)n + 1) * sizeof *r->twin);
  if (r->twin == NULL || segment == NULL) {
    free(segment);
    return cvtm_no_memory(r->error, "the refinement");
  }
  for (int64_t e = 0; e < edges; ++e) segment[e] = NONE;
  for (int64_t s = 0; s < n && edges > 0; ++s) {
    int32_t *of = &segment[edge_of[s]];
    *of = *of == NONE ? (int32_t)s : SEVERAL;
  }
  for (int64_t s = 0; s < n; ++s) {
    const int32_t e = edges > 0 ? edge_of[s] : -1, twin = e >= 0 ? boundary->twin[e] : -1;
    r->twin[s] = twin >= 0 && segment[e] >= 0 && segment[twin] >= 0 ? segment[twin] : -1;
  }
  free(segment);
  return CVTM_OK;
}

/* The copy, on the twin of a segment, of a vertex of the segment. */
static int32_t copy_of(const cvtm_refiner *r, int32_t segment, int32_t v) {
  if (r->vertex[v].kind == CVTM_VERTEX_ON_SEGMENT) return r->vertex[v].copy;
  return r->ends[2 * (int64_t)r->twin[segment] + (r->ends[2 * (int64_t)segment] == v)];
}

/* The place on a segment at the same fraction of its length as a vertex of its twin. */
static cvtm_grid_point copy_place(const cvtm_refiner *r, int32_t segment, int32_t v) {
  const double rounding = 1e-12;
  const double s = cvtm_segment_parameter(r, r->twin[segment], r->m.grid[v]);
  return cvtm_segment_place(r, segment, 1 - s, rounding);
}

void cvtm_refine_share_corners(cvtm_refiner *r) {
  for (int pass = 0; pass < 2; ++pass) { /* a corner has several copies */
    for (int32_t k = 0; k < 2 * r->segment_count; ++k) {
      if (r->twin[k / 2] < 0) continue;
      const int32_t v = r->ends[k], copy = copy_of(r, k / 2, v);
      const double scale = fmin(r->vertex[v].scale, r->vertex[copy].scale);
      r->is_acute[v] = r->is_acute[copy] = r->is_acute[v] | r->is_acute[copy];
      r->vertex[v].scale = r->vertex[copy].scale = scale;
    }
  }
}

/* ---- Parts of segments ---- */

static int joins(const cvtm_half_edges *m, int64_t h, int32_t from, int32_t to) {
  return h >= 0 && m->segment[h] >= 0 &&
         ((m->corner[h] == from && cvtm_end_of(m, h) == to) ||
          (m->corner[h] == to && cvtm_end_of(m, h) == from));
}

/* The half-edge of a part; -1 if the part has been divided or is not found. */
static int64_t refine_find_part(const cvtm_half_edges *m, const cvtm_bad_part *part) {
  if (joins(m, part->half, part->from, part->to)) return part->half;
  int64_t h = cvtm_half_edges_find(m, part->from, part->to);
  if (h < 0) h = cvtm_half_edges_find(m, part->to, part->from);
  return joins(m, h, part->from, part->to) ? h : -1;
}

/* The number in the middle third of an interval that is a multiple of the largest possible power of
 * two. Segments that meet at a small angle are divided at such distances from their common end, so
 * that their vertices have equal distances from this end. */
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

/* The parameter at which to divide the part of a segment between s and e: the middle, unless an end
 * of the segment has a small angle. Then the point is at the shell_distance from that end or, if
 * both ends have small angles, from the closer one. */
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

/* Nonzero if a part is long enough to be divided. scale: the scale of the vertex that encroaches on
 * the part; 0 for a triangle above its area. */
static int refine_may_divide(const cvtm_refiner *r, int64_t h, double scale) {
  const cvtm_half_edges *m = &r->m;
  const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
  if (r->keeps_segments > 1) return 0;
  if (r->keeps_segments > 0 && r->borders_outside[m->segment[h]]) return 0;
  const double length2 = cvtm_length2(m->grid[from], m->grid[to]);
  const double least =
      2 * cvtm_least_share * fmin(scale, fmin(r->vertex[from].scale, r->vertex[to].scale));
  return length2 >= cvtm_fewest_steps * cvtm_fewest_steps && length2 >= least * least;
}

/* Removes inserted vertices inside the diametral circle of a part (Chew 1993). */
static cvtm_status clear_circle(cvtm_refiner *r, int32_t from, int32_t to) {
  cvtm_half_edges *m = &r->m;
  for (int side = 0; side < 2; ++side) {
    for (;;) {
      const int64_t h = cvtm_half_edges_find(m, side == 0 ? from : to, side == 0 ? to : from);
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
  return refine_check_memory(r);
}

/* clear_circle before a vertex is inserted on a part, except at small angles. */
static cvtm_status prepare_part(cvtm_refiner *r, const cvtm_bad_part *part) {
  if (is_acute(r, part->from) || is_acute(r, part->to)) return CVTM_OK;
  return clear_circle(r, part->from, part->to);
}

/* Inserts a vertex on a part. *v: the vertex; -1 if it cannot be inserted. */
static cvtm_status put_on_part(cvtm_refiner *r, const cvtm_bad_part *part, cvtm_grid_point place,
                               cvtm_refine_vertex made, int32_t *v) {
  const int64_t h = refine_find_part(&r->m, part);
  *v = h < 0 ? -1 : cvtm_half_edges_insert_on(&r->m, h, place);
  if (*v < 0) return refine_check_memory(r);
  return refine_describe(r, *v, made);
}

/* Inserts the copy of vertex v on the copy of the part; if this fails, also removes v. */
static cvtm_status put_on_copy(cvtm_refiner *r, const cvtm_bad_part *copy, int64_t mark,
                               cvtm_refine_vertex made, int32_t v) {
  int32_t other;
  const int32_t twin = r->twin[made.segment];
  const cvtm_grid_point place = copy_place(r, twin, v);
  made.segment = twin;
  made.copy = v;
  CVTM_TRY(put_on_part(r, copy, place, made, &other));
  if (other < 0) cvtm_half_edges_undo(&r->m, mark);
  if (other >= 0) r->vertex[v].copy = other;
  return CVTM_OK;
}

/* The data of a new vertex between the ends of a part. */
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

/* Inserts a vertex on a part, and on its copy if the segment has a twin. */
static cvtm_status refine_divide(cvtm_refiner *r, const cvtm_bad_part *part) {
  cvtm_half_edges *m = &r->m;
  int64_t h = refine_find_part(m, part);
  if (h < 0 || !refine_may_divide(r, h, part->scale)) return CVTM_OK;
  if (part->scale > 0 && m->vertex_count >= r->most) return CVTM_OK;
  const int32_t segment = m->segment[h], from = m->corner[h], to = cvtm_end_of(m, h);
  const cvtm_bad_part here = {part->half, from, to, part->scale};
  const int has_twin = r->twin[segment] >= 0;
  const cvtm_bad_part copy = {-1, has_twin ? copy_of(r, segment, from) : -1,
                              has_twin ? copy_of(r, segment, to) : -1, part->scale};
  const int64_t removed = r->figures->removed;
  CVTM_TRY(prepare_part(r, &here));
  if (has_twin) CVTM_TRY(prepare_part(r, &copy));
  h = refine_find_part(m, &here);
  if (h < 0) return refine_keep_changes(r);
  const int64_t mark = m->change_count;
  const cvtm_refine_vertex made = describe_middle(r, &here, segment);
  int32_t v;
  CVTM_TRY(put_on_part(r, &here, middle_of_part(r, h), made, &v));
  if (v >= 0 && has_twin) CVTM_TRY(put_on_copy(r, &copy, mark, made, v));
  if (m->change_count == mark) { /* restore the vertices in the circle, or they would be removed and
                                    inserted forever */
    cvtm_half_edges_undo(m, 0);
    r->figures->removed = removed;
    return CVTM_OK;
  }
  cvtm_half_edges_restore(m);
  return refine_keep_changes(r);
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
    if (m->twin[h] >= 0 || v < 0 || v >= r->given_count) continue;
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
  while (r->touch_count > 0 &&
         m->vertex_count != before) { /* half-edges change when parts are divided */
    before = m->vertex_count;
    for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
      if (m->corner[h] < 0 || m->segment[h] < 0) continue;
      const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
      if (from >= r->given_count || to >= r->given_count || !r->touches[from] || !r->touches[to])
        continue;
      const cvtm_bad_part part = {h, from, to, fmin(r->vertex[from].scale, r->vertex[to].scale)};
      CVTM_TRY(refine_divide(r, &part));
    }
  }
  return CVTM_OK;
}

/* ---- The point of a new vertex ---- */

/* Finds the circumcentre or the off-centre: a point closer to the shortest side, from which this
 * side is seen at the angle of the bound (Uengoer 2004). */
static void find_centre(const cvtm_refiner *r, int64_t t, int for_angle, double place[2]) {
  const cvtm_half_edges *m = &r->m;
  const int64_t side = cvtm_shortest_side(r, t);
  const cvtm_grid_point a = m->grid[m->corner[side]], b = m->grid[cvtm_end_of(m, side)],
                        c = m->grid[cvtm_apex_of(m, side)];
  const double bx = (double)b.x - a.x, by = (double)b.y - a.y;
  const double cx = (double)c.x - a.x, cy = (double)c.y - a.y;
  const double twice = 2 * (double)cvtm_orient(a, b, c);
  const double b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  double x = (b2 * cy - c2 * by) / twice, y = (c2 * bx - b2 * cx) / twice;
  const double ox = 0.5 * bx - r->off_centre * by, oy = 0.5 * by + r->off_centre * bx;
  if (for_angle && ox * ox + oy * oy < x * x + y * y) {
    x = ox;
    y = oy;
  }
  place[0] = a.x + x;
  place[1] = a.y + y;
}

/* Limits a coordinate to half the grid's width beyond the grid, so that orientations fit into 64
 * bits. */
static int32_t round_near_grid(double x) {
  const double width = (double)(1 << CVTM_GRID_BITS);
  return (int32_t)llround(fmin(fmax(x, -0.5 * width), 1.5 * width));
}

typedef struct location {
  int64_t triangle; /* the triangle that contains the point; -1: not found */
  int64_t half; /* half-edge of the triangle: either the point is on it, or it is part of a segment
                   before the point; -1: none */
  int blocked;
} location;

/* Walks on a straight line from the centroid of triangle t to a point. */
static location walk_to(const cvtm_refiner *r, int64_t t, cvtm_grid_point to) {
  const cvtm_half_edges *m = &r->m;
  double fx = 0, fy = 0;
  for (int k = 0; k < 3; ++k) {
    fx += m->grid[m->corner[3 * t + k]].x / 3.0;
    fy += m->grid[m->corner[3 * t + k]].y / 3.0;
  }
  int64_t came = -1;
  for (int64_t steps = 0; steps < m->triangle_count; ++steps) {
    int64_t out = -1, on = -1;
    for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
      const cvtm_grid_point a = m->grid[m->corner[h]], b = m->grid[cvtm_end_of(m, h)];
      const int64_t side = cvtm_orient(a, b, to);
      if (side == 0) on = h;
      if (side >= 0 || h == came) continue;
      const double dx = to.x - fx, dy = to.y - fy;
      const double of_a = dx * (a.y - fy) - dy * (a.x - fx);
      const double of_b = dx * (b.y - fy) - dy * (b.x - fx);
      if (out < 0 || (of_a <= 0 && of_b >= 0)) out = h;
    }
    if (out < 0) return (location){t, on, on >= 0 && m->segment[on] >= 0};
    if (m->segment[out] >= 0) return (location){t, out, 1};
    came = m->twin[out];
    t = came / 3;
  }
  return (location){-1, -1, 0};
}

/* Finds where to insert a vertex for triangle t, and the triangle there (by a walk). */
static location locate_centre(const cvtm_refiner *r, int64_t t, int for_angle,
                              cvtm_grid_point *place) {
  double centre[2];
  find_centre(r, t, for_angle, centre);
  *place = (cvtm_grid_point){round_near_grid(centre[0]), round_near_grid(centre[1])};
  return walk_to(r, t, *place);
}

static double shortest_link(const cvtm_refiner *r, int32_t v) {
  const cvtm_half_edges *m = &r->m;
  double shortest = INFINITY;
  const int64_t first = m->at[v];
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first))
    shortest = fmin(shortest, cvtm_length2(m->grid[v], m->grid[cvtm_end_of(m, h)]));
  return sqrt(shortest);
}

/* Queues the parts that the new vertex v encroaches on; *found: the number of these parts. */
static cvtm_status queue_encroached_parts(cvtm_refiner *r, int32_t v, double scale,
                                          int64_t *found) {
  const cvtm_half_edges *m = &r->m;
  const int64_t first = m->at[v];
  *found = 0;
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    const int64_t link = cvtm_half_after(h);
    const int32_t from = m->corner[link], to = cvtm_end_of(m, link);
    if (m->segment[link] >= 0 && is_too_near(r, m->grid[v], m->grid[from], m->grid[to])) {
      ++*found;
      CVTM_TRY(push_part(r, from, to, -1, scale));
    }
  }
  return CVTM_OK;
}

/* Of the parts queued after the first `before`, keeps only those that may be divided. */
static int keep_divisible(cvtm_refiner *r, int64_t before) {
  int64_t kept = before;
  for (int64_t k = before; k < r->part_count; ++k) {
    const int64_t h = refine_find_part(&r->m, &r->parts[k]);
    if (h >= 0 && refine_may_divide(r, h, r->parts[k].scale)) r->parts[kept++] = r->parts[k];
  }
  r->part_count = kept;
  return kept > before;
}

/* Inserts a vertex at a point in the triangle found. *again: nonzero if parts of segments were
 * queued instead; the triangle is tested again after their division. */
static cvtm_status insert_vertex(cvtm_refiner *r, location at, cvtm_grid_point place,
                                 cvtm_refine_vertex made, int *again) {
  cvtm_half_edges *m = &r->m;
  const int32_t v = at.half >= 0 ? cvtm_half_edges_insert_on(m, at.half, place)
                                 : cvtm_half_edges_insert_inside(m, at.triangle, place);
  if (v < 0) {
    cvtm_half_edges_undo(m, 0);
    return refine_check_memory(r);
  }
  CVTM_TRY(refine_describe(r, v, made));
  cvtm_half_edges_restore(m);
  const int64_t before = r->part_count;
  int64_t found = 0;
  CVTM_TRY(refine_check_memory(r));
  const double scale = made.cause == CVTM_CAUSE_AREA ? 0 : made.scale;
  CVTM_TRY(queue_encroached_parts(r, v, scale, &found));
  if (found > 0 && (keep_divisible(r, before) || r->keeps_segments == 0)) {
    cvtm_half_edges_undo(m, 0);
    *again = r->part_count > before;
    return CVTM_OK;
  }
  if (made.cause == CVTM_CAUSE_AREA)
    r->vertex[v].scale = fmin(r->vertex[v].scale, shortest_link(r, v));
  return refine_keep_changes(r);
}

static cvtm_grid_point middle_of_triangle(const cvtm_half_edges *m, int64_t t) {
  int64_t x = 0, y = 0;
  for (int k = 0; k < 3; ++k) {
    x += m->grid[m->corner[3 * t + k]].x;
    y += m->grid[m->corner[3 * t + k]].y;
  }
  return (cvtm_grid_point){(int32_t)(x / 3), (int32_t)(y / 3)};
}

/* Inserts a vertex at the centre of a triangle, or queues parts of segments to divide first. */
static cvtm_status split_at_centre(cvtm_refiner *r, const cvtm_bad_triangle *bad, double scale,
                                   int for_angle) {
  const cvtm_half_edges *m = &r->m;
  cvtm_grid_point place;
  const location at = locate_centre(r, bad->triangle, for_angle, &place);
  const cvtm_refine_vertex made = {scale, -1, -1, CVTM_VERTEX_FREE,
                                   (uint8_t)(for_angle ? CVTM_CAUSE_ANGLE : CVTM_CAUSE_AREA)};
  int again = 0;
  cvtm_status status = CVTM_OK;
  const int is_kept = r->keeps_segments > 0 && at.half >= 0 && m->segment[at.half] >= 0;
  if (at.blocked || is_kept) {
    const int64_t before = r->part_count;
    status =
        push_part(r, m->corner[at.half], cvtm_end_of(m, at.half), at.half, for_angle ? scale : 0);
    if (status == CVTM_OK) again = keep_divisible(r, before);
    if (status == CVTM_OK && !again && r->keeps_segments > 0 &&
        cvtm_triangle_excess(r, bad->triangle) > 1)
      status = insert_vertex(r, (location){.triangle = bad->triangle, .half = -1},
                             middle_of_triangle(m, bad->triangle), made, &again);
  } else if (at.triangle >= 0) {
    status = insert_vertex(r, at, place, made, &again);
  }
  if (status != CVTM_OK || !again || bad->tries == MOST_TRIES) return status;
  cvtm_bad_triangle next = *bad;
  ++next.tries;
  return push_triangle(r, next);
}

static cvtm_status split_triangle(cvtm_refiner *r, const cvtm_bad_triangle *bad) {
  const cvtm_half_edges *m = &r->m;
  const int64_t t = bad->triangle;
  for (int k = 0; k < 3; ++k)
    if (m->corner[3 * t + k] != bad->corner[k]) return CVTM_OK;
  const int64_t side = cvtm_shortest_side(r, t);
  const int32_t from = m->corner[side], to = cvtm_end_of(m, side);
  const double length2 = cvtm_length2(m->grid[from], m->grid[to]);
  const double scale = fmin(r->vertex[from].scale, r->vertex[to].scale);
  const double least = cvtm_least_share * scale;
  if (length2 < cvtm_fewest_steps * cvtm_fewest_steps) return CVTM_OK;
  double of_corner;
  const int for_angle =
      bad->priority > 0 && length2 >= least * least && cvtm_small_corner_of(r, t, &of_corner) < 0;
  if (!for_angle && cvtm_triangle_excess(r, t) <= 1) return CVTM_OK;
  if (for_angle && r->relocates) {
    int done;
    const cvtm_status status = cvtm_refine_relocate(r, t, &done);
    if (status != CVTM_OK || done) return status;
  }
  if (for_angle && m->vertex_count >= r->most) return CVTM_OK;
  return split_at_centre(r, bad, scale, for_angle);
}

/* Nonzero if as many vertices have been added as the caller allows. */
static int is_full(const cvtm_refiner *r) {
  return r->most_added > 0 &&
         r->m.vertex_count - r->given_count - r->figures->removed >= r->most_added;
}

cvtm_status cvtm_refine_insert(cvtm_refiner *r) {
  r->heap_count = r->part_count = 0;
  for (int64_t t = 0; t < r->m.triangle_count; ++t)
    if (r->m.corner[3 * t] >= 0) CVTM_TRY(check_triangle(r, t));
  while ((r->part_count > 0 || r->heap_count > 0) && !cvtm_refine_is_over(r) && !is_full(r)) {
    if (r->part_count > 0) {
      const cvtm_bad_part part = r->parts[--r->part_count];
      CVTM_TRY(refine_divide(r, &part));
    } else {
      const cvtm_bad_triangle bad = pop_triangle(r);
      CVTM_TRY(split_triangle(r, &bad));
    }
  }
  return CVTM_OK;
}

/* ---- Vertices for a wanted number ---- */

/* Nonzero if all triangles that changed are good. */
static cvtm_status changes_are_good(cvtm_refiner *r, int *good) {
  const cvtm_status status = cvtm_list_changed(r, 0);
  *good = status == CVTM_OK;
  for (int64_t k = 0; k < r->changed_count && *good; ++k)
    *good = !(cvtm_triangle_cotangent(r, r->changed[k]) > r->cotangent);
  return status;
}

/* Inserts the circumcentre of a triangle if it lies inside and no triangle becomes bad. *put:
 * nonzero if the vertex was inserted. */
static cvtm_status put_centre(cvtm_refiner *r, int64_t t, int *put) {
  cvtm_half_edges *m = &r->m;
  const int64_t side = cvtm_shortest_side(r, t), before = r->part_count;
  const double scale =
      fmin(r->vertex[m->corner[side]].scale, r->vertex[cvtm_end_of(m, side)].scale);
  cvtm_grid_point place;
  const location at = locate_centre(r, t, 0, &place);
  if (at.blocked || at.triangle < 0 || at.half >= 0) return CVTM_OK;
  const int32_t v = cvtm_half_edges_insert_inside(m, at.triangle, place);
  int64_t near = 0;
  cvtm_status status = refine_check_memory(r);
  if (v >= 0 && status == CVTM_OK)
    status = refine_describe(
        r, v, (cvtm_refine_vertex){scale, -1, -1, CVTM_VERTEX_FREE, (uint8_t)CVTM_CAUSE_AREA});
  if (v >= 0 && status == CVTM_OK) {
    cvtm_half_edges_restore(m);
    status = refine_check_memory(r);
  }
  if (v >= 0 && status == CVTM_OK) status = queue_encroached_parts(r, v, 0, &near);
  r->part_count = before;
  if (v >= 0 && status == CVTM_OK && near == 0) status = changes_are_good(r, put);
  cvtm_half_edges_end(m, *put);
  return status;
}

cvtm_status cvtm_refine_fill(cvtm_refiner *r, int64_t wanted) {
  int64_t missing = wanted;
  for (int64_t v = 0; v < r->m.vertex_count; ++v) missing -= r->m.at[v] >= 0;
  r->heap_count = 0;
  for (int64_t t = 0; t < r->m.triangle_count && missing > 0; ++t) {
    const int32_t *corner = r->m.corner + 3 * t;
    if (corner[0] < 0) continue;
    const double area = (double)cvtm_orient_of(&r->m, corner[0], corner[1], corner[2]);
    CVTM_TRY(push_triangle(
        r, (cvtm_bad_triangle){
               .priority = area, .triangle = t, .corner = {corner[0], corner[1], corner[2]}}));
  }
  while (r->heap_count > 0 && missing > 0 && !cvtm_refine_is_over(r)) {
    const cvtm_bad_triangle largest = pop_triangle(r);
    const int32_t *corner = r->m.corner + 3 * largest.triangle;
    if (memcmp(corner, largest.corner, sizeof largest.corner) != 0) continue;
    int put = 0;
    CVTM_TRY(put_centre(r, largest.triangle, &put));
    missing -= put;
  }
  return CVTM_OK;
}
