/* Smallest angles beside the boundary. The sites inside have room for the least energy; those
 * beside the boundary, whose vertices stay, have less, and triangles there are the worst ones. */
#include "base/portable.h"
#include "meshes/refine/refine_state.h"

#include <math.h>
#include <stdlib.h>

/* Refinement puts vertices on edges within one grid step (cvtm_refine), and rounding adds to that.
 */
static const double steps_off_edge = 1.5;

static int is_on_boundary(const cvtm_refiner *r, int32_t v) {
  return r->vertex[v].kind == CVTM_VERTEX_GIVEN || r->vertex[v].kind == CVTM_VERTEX_ON_SEGMENT;
}

/* near[v]: 2 on the boundary, 1 beside it, else 0. */
static void mark_near(const cvtm_refiner *r, uint8_t *near) {
  const cvtm_half_edges *m = &r->m;
  for (int32_t v = 0; v < m->vertex_count; ++v) near[v] = is_on_boundary(r, v) ? 2 : 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h - h % 3] < 0) continue;
    const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
    if (near[from] == 2 && near[to] == 0) near[to] = 1;
    if (near[to] == 2 && near[from] == 0) near[from] = 1;
  }
}

/* ---- Straight edges of the boundary ---- */

/* The other end of a segment. */
static int32_t end_beyond(const cvtm_refiner *r, int32_t segment, int32_t v) {
  const int32_t *ends = r->ends + 2 * (int64_t)segment;
  return ends[ends[0] == v];
}

/* The distance of p from the line through a and b, grid steps. */
static double distance_from_line(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point p) {
  return fabs((double)cvtm_orient(a, b, p)) / sqrt(cvtm_length2(a, b));
}

/* Nonzero if a vertex only divides a straight edge that has no copy on an opposite side. */
static int divides_edge(const cvtm_refiner *r, const uint8_t *corner, int32_t v) {
  const int32_t *met = r->met + r->meeting[v];
  if (corner[v] || r->meeting[v + 1] - r->meeting[v] != 2) return 0;
  if (r->twin[met[0]] != CVTM_TWIN_NONE || r->twin[met[1]] != CVTM_TWIN_NONE) return 0;
  const cvtm_grid_point at = r->m.grid[v], a = r->m.grid[end_beyond(r, met[0], v)],
                        b = r->m.grid[end_beyond(r, met[1], v)];
  return cvtm_dot_at(at, a, b) < 0 && distance_from_line(a, b, at) <= steps_off_edge;
}

/* The vertices from v on along a segment up to the next one that does more than divide an edge:
 * the segments into list, and the last vertex. Returns how many segments there are; 0 for a ring.
 */
static int64_t follow_line(const cvtm_refiner *r, const uint8_t *divides, int32_t v,
                           int32_t segment, int32_t *list, int32_t *last) {
  const int32_t first = v;
  int64_t count = 0;
  for (;;) {
    list[count++] = segment;
    v = end_beyond(r, segment, v);
    if (v == first) return 0;
    if (!divides[v]) break;
    const int32_t *met = r->met + r->meeting[v];
    segment = met[met[0] == segment];
  }
  *last = v;
  return count;
}

/* Makes one segment, the first of the list, of `count` segments from `first` to `last`, if all
 * vertices between them are on the line. joined: what becomes of each segment. */
static void join_segments(cvtm_refiner *r, int32_t first, int32_t last, const int32_t *list,
                          int64_t count, int32_t *joined) {
  const cvtm_grid_point a = r->m.grid[first], b = r->m.grid[last];
  int32_t v = first;
  for (int64_t k = 0; k + 1 < count; ++k) {
    v = end_beyond(r, list[k], v);
    if (distance_from_line(a, b, r->m.grid[v]) > steps_off_edge) return;
  }
  v = first;
  for (int64_t k = 0; k + 1 < count; ++k) {
    v = end_beyond(r, list[k], v);
    joined[list[k + 1]] = list[0];
    r->vertex[v].kind = CVTM_VERTEX_ON_SEGMENT;
    r->vertex[v].segment = list[0];
  }
  int32_t *ends = r->ends + 2 * (int64_t)list[0];
  ends[ends[0] == first] = last;
}

/* The segments of half-edges and given vertices. */
static void rename_segments(cvtm_refiner *r, const int32_t *joined) {
  for (int64_t v = 0; v < r->given_count; ++v)
    for (int64_t k = r->meeting[v]; k < r->meeting[v + 1]; ++k) r->met[k] = joined[r->met[k]];
  for (int64_t h = 0; h < 3 * r->m.triangle_count; ++h)
    if (r->m.segment[h] >= 0) r->m.segment[h] = joined[r->m.segment[h]];
}

cvtm_status cvtm_refine_join_segments(cvtm_refiner *r, const uint8_t *corner) {
  const size_t n = (size_t)r->segment_count + 1;
  int32_t *joined = malloc(2 * n * sizeof *joined), *list = joined + n;
  uint8_t *divides = malloc((size_t)r->given_count + 1);
  if (joined == NULL || divides == NULL) {
    free(joined);
    free(divides);
    return cvtm_fail(r->error, CVTM_ERROR_MEMORY, "no memory for the refinement");
  }
  for (int32_t s = 0; s < r->segment_count; ++s) joined[s] = s;
  for (int32_t v = 0; v < r->given_count; ++v) divides[v] = (uint8_t)divides_edge(r, corner, v);
  for (int32_t v = 0; v < r->given_count; ++v) {
    for (int64_t k = r->meeting[v]; k < r->meeting[v + 1] && !divides[v]; ++k) {
      int32_t last = v;
      if (joined[r->met[k]] != r->met[k]) continue; /* found from the other end */
      const int64_t count = follow_line(r, divides, v, r->met[k], list, &last);
      if (count > 1 && v != last) join_segments(r, v, last, list, count, joined);
    }
  }
  rename_segments(r, joined);
  free(joined);
  free(divides);
  return CVTM_OK;
}

/* ---- Angles ---- */

static double degrees(double cotangent) { return atan2(1, cotangent) * 180 / CVTM_PI; }

static int compare_angles(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static cvtm_smallest_angles sum_up(double *angle, int64_t count) {
  if (count == 0) return (cvtm_smallest_angles){0};
  qsort(angle, (size_t)count, sizeof *angle, compare_angles);
  return (cvtm_smallest_angles){count, angle[0], angle[count / 20], angle[count / 2]};
}

/* The angles of triangles near the boundary, or of the others. angle: room for all triangles. */
static cvtm_smallest_angles measure_angles(const cvtm_refiner *r, const uint8_t *near, int beside,
                                           double *angle) {
  int64_t count = 0;
  for (int64_t t = 0; t < r->m.triangle_count; ++t) {
    const int32_t *corner = r->m.corner + 3 * t;
    if (corner[0] < 0) continue;
    const int is_near = near[corner[0]] || near[corner[1]] || near[corner[2]];
    if (is_near == beside) angle[count++] = degrees(cvtm_triangle_cotangent(r, t));
  }
  return sum_up(angle, count);
}

/* The smallest angle that is not below the bound. */
static double least_kept(const cvtm_refiner *r) {
  double largest = -INFINITY;
  for (int64_t t = 0; t < r->m.triangle_count; ++t) {
    if (r->m.corner[3 * t] < 0) continue;
    const double cotangent = cvtm_triangle_cotangent(r, t);
    if (cotangent <= r->cotangent) largest = fmax(largest, cotangent);
  }
  return isfinite(largest) ? degrees(largest) : 0;
}

cvtm_status cvtm_refine_raise_at_boundary(cvtm_refiner *r, cvtm_boundary_angles *figures) {
  static const double bounds[] = {36, 40, 44, 48}; /* degrees; 60 is the most */
  const double given = r->cotangent;
  uint8_t *near = malloc((size_t)r->m.vertex_count + 1);
  double *angle = malloc(((size_t)r->m.triangle_count + 1) * sizeof *angle);
  cvtm_status status = CVTM_OK;
  if (near == NULL || angle == NULL)
    status = cvtm_fail(r->error, CVTM_ERROR_MEMORY, "no memory for the refinement");
  *figures = (cvtm_boundary_angles){0};
  if (status == CVTM_OK) {
    mark_near(r, near);
    figures->before = measure_angles(r, near, 1, angle);
  }
  for (int k = 0; k < 4 && status == CVTM_OK; ++k) {
    if (bounds[k] <= r->options->min_angle) continue;
    r->cotangent = 1 / tan(bounds[k] * CVTM_PI / 180);
    status = cvtm_refine_repair_near(r, near, &figures->moved);
  }
  r->cotangent = given;
  if (status == CVTM_OK) {
    mark_near(r, near);
    figures->after = measure_angles(r, near, 1, angle);
    figures->inside = measure_angles(r, near, 0, angle);
    figures->least_kept = least_kept(r);
  }
  free(near);
  free(angle);
  return status;
}
