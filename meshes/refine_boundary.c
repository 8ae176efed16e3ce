/* Smallest angles beside the boundary. The sites inside have room for the least energy; those
 * beside the boundary, whose vertices stay, have less, and triangles there are the worst ones. */
#include "base/portable.h"
#include "meshes/refine_state.h"

#include <math.h>
#include <stdlib.h>

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
static cvtm_smallest_angles measure(const cvtm_refiner *r, const uint8_t *near, int beside,
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
    figures->before = measure(r, near, 1, angle);
  }
  for (int k = 0; k < 4 && status == CVTM_OK; ++k) {
    if (bounds[k] <= r->options->min_angle) continue;
    r->cotangent = 1 / tan(bounds[k] * CVTM_PI / 180);
    status = cvtm_refine_repair_near(r, near, &figures->moved);
  }
  r->cotangent = given;
  if (status == CVTM_OK) {
    mark_near(r, near);
    figures->after = measure(r, near, 1, angle);
    figures->inside = measure(r, near, 0, angle);
    figures->least_kept = least_kept(r);
  }
  free(near);
  free(angle);
  return status;
}
