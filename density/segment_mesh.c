#include "density/segment_mesh.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double step_tolerance = 1e-8; /* the fall of the natural residual */

typedef struct level_set {
  cvtm_device *device;
  const cvtm_mesh *mesh;
  const cvtm_segment_options *options;
  double unit, whole; /* whole: the area of all triangles */
  cvtm_csr a;
  double *memory;          /* of the next five */
  double *side;            /* triangles x 6: the edges opposite the corners */
  double *area, *detector; /* triangles; g */
  double *share, *right;   /* vertices; a third of the triangles' areas */
  double *on_device;       /* of the next four, each `vertices` numbers */
  double *on_right, *on_lower, *on_upper, *on_u;
} level_set;

/* --- elements ------------------------------------------------------------------------------- */

/* |grad f|^2 of the linear f with these values at the corners. */
static double square_of_gradient(const level_set *s, int64_t t, const double *f) {
  const int32_t *corner = s->mesh->triangles + 3 * t;
  const double *side = s->side + 6 * t, twice = 2 * s->area[t];
  double x = 0, y = 0;
  for (int k = 0; k < 3; ++k) {
    x += f[corner[k]] * side[2 * k];
    y += f[corner[k]] * side[2 * k + 1];
  }
  return (x * x + y * y) / (twice * twice);
}

static cvtm_status measure_triangles(level_set *s, const double *image) {
  const cvtm_mesh *mesh = s->mesh;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *corner = mesh->triangles + 3 * t;
    double *side = s->side + 6 * t;
    for (int k = 0; k < 3; ++k) {
      const double *from = mesh->points + 2 * (int64_t)corner[(k + 1) % 3];
      const double *to = mesh->points + 2 * (int64_t)corner[(k + 2) % 3];
      side[2 * k] = (to[0] - from[0]) / s->unit;
      side[2 * k + 1] = (to[1] - from[1]) / s->unit;
    }
    s->area[t] = fabs(side[0] * side[3] - side[1] * side[2]) / 2;
    if (!(s->area[t] > 0))
      return cvtm_fail(cvtm_device_error(s->device), CVTM_ERROR_INPUT, "triangle %lld has no area",
                       (long long)t + 1);
    s->detector[t] = 1 / (1 + s->options->k * square_of_gradient(s, t, image));
    s->whole += s->area[t];
    for (int k = 0; k < 3; ++k) s->share[corner[k]] += s->area[t] / 3;
  }
  return CVTM_OK;
}

/* --- the matrix ----------------------------------------------------------------------------- */

/* Sorts `count` columns and drops those that are there twice; returns how many are left. */
static int64_t sort_columns(int32_t *column, int64_t count) {
  int64_t kept = 0;
  for (int64_t k = 1; k < count; ++k) {
    const int32_t own = column[k];
    int64_t place = k;
    for (; place > 0 && column[place - 1] > own; --place) column[place] = column[place - 1];
    column[place] = own;
  }
  for (int64_t k = 0; k < count; ++k)
    if (k == 0 || column[k] != column[kept - 1]) column[kept++] = column[k];
  return kept;
}

/* A row for each vertex, with the vertices that share a triangle with it. */
static cvtm_status make_pattern(level_set *s) {
  const cvtm_mesh *mesh = s->mesh;
  const int64_t n = mesh->vertex_count, corners = 3 * mesh->triangle_count;
  cvtm_error *error = cvtm_device_error(s->device);
  const cvtm_status status = cvtm_csr_create(n, n, n + 2 * corners, &s->a, error);
  if (status != CVTM_OK) return status;
  int64_t *start = s->a.row_start, *end = calloc((size_t)n + 1, sizeof *end);
  if (end == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t h = 0; h < corners; ++h) end[mesh->triangles[h]] += 2;
  int64_t next = 0;
  for (int64_t v = 0; v < n; ++v) {
    const int64_t room = end[v] + 1;
    start[v] = next;
    s->a.column[next] = (int32_t)v;
    end[v] = next + 1;
    next += room;
  }
  for (int64_t h = 0; h < corners; ++h) {
    const int32_t *corner = mesh->triangles + h / 3 * 3, own = mesh->triangles[h];
    s->a.column[end[own]++] = corner[(h + 1) % 3];
    s->a.column[end[own]++] = corner[(h + 2) % 3];
  }
  next = 0;
  for (int64_t v = 0; v < n; ++v) {
    int32_t *row = s->a.column + start[v];
    const int64_t kept = sort_columns(row, end[v] - start[v]);
    memmove(s->a.column + next, row, (size_t)kept * sizeof *row);
    start[v] = next;
    next += kept;
  }
  start[n] = next;
  free(end);
  return CVTM_OK;
}

static double *entry(const level_set *s, int32_t row, int32_t column) {
  int64_t k = s->a.row_start[row];
  while (s->a.column[k] != column) ++k;
  return s->a.value + k;
}

/* The LCP of the step from u; returns the integral of g Q. */
static double assemble(level_set *s, const double *u) {
  const cvtm_segment_options *o = s->options;
  const int64_t n = s->mesh->vertex_count;
  double energy = 0;
  memset(s->a.value, 0, (size_t)s->a.row_start[n] * sizeof *s->a.value);
  for (int64_t t = 0; t < s->mesh->triangle_count; ++t) {
    const int32_t *corner = s->mesh->triangles + 3 * t;
    const double *side = s->side + 6 * t;
    const double q = sqrt(o->epsilon * o->epsilon + square_of_gradient(s, t, u));
    const double weight = o->tau * s->detector[t] / (4 * s->area[t] * q);
    energy += s->area[t] * s->detector[t] * q;
    for (int i = 0; i < 3; ++i) {
      *entry(s, corner[i], corner[i]) += s->area[t] / (3 * q);
      for (int j = 0; j < 3; ++j)
        *entry(s, corner[i], corner[j]) +=
            weight * (side[2 * i] * side[2 * j] + side[2 * i + 1] * side[2 * j + 1]);
    }
  }
  for (int64_t v = 0; v < n; ++v) {
    double sum = 0; /* K has row sums 0, so this is the entry of M */
    if (s->share[v] == 0) *entry(s, (int32_t)v, (int32_t)v) = 1; /* in no triangle */
    for (int64_t k = s->a.row_start[v]; k < s->a.row_start[v + 1]; ++k) sum += s->a.value[k];
    s->right[v] = sum * u[v];
  }
  return energy;
}

/* --- steps ---------------------------------------------------------------------------------- */

static cvtm_status solve_step(level_set *s, double *u, cvtm_lcp_result *result) {
  const size_t bytes = (size_t)s->mesh->vertex_count * sizeof *u;
  cvtm_lcp_options options;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_defaults(&options);
  options.tolerance = step_tolerance;
  cvtm_status status = cvtm_lcp_create(s->device, &s->a, 0, 0, &options, &lcp);
  if (status == CVTM_OK) status = cvtm_device_copy_in(s->device, s->on_right, s->right, bytes);
  if (status == CVTM_OK)
    status = cvtm_lcp_solve(lcp, s->on_right, s->on_lower, s->on_upper, s->on_u, 1, result);
  if (status == CVTM_OK) status = cvtm_device_copy_out(s->device, u, s->on_u, bytes);
  cvtm_lcp_destroy(lcp);
  return status;
}

static double inside_share(const level_set *s, const double *u) {
  double sum = 0;
  for (int64_t v = 0; v < s->mesh->vertex_count; ++v) sum += u[v] < 0 ? s->share[v] : 0;
  return sum / s->whole;
}

static cvtm_status step_level_set(level_set *s, double *u, cvtm_segment_progress *progress) {
  const int64_t n = s->mesh->vertex_count;
  cvtm_lcp_result result;
  double *before = malloc((size_t)n * sizeof *before), sum = 0;
  if (before == NULL)
    return cvtm_fail(cvtm_device_error(s->device), CVTM_ERROR_MEMORY, "out of memory");
  memcpy(before, u, (size_t)n * sizeof *u);
  const cvtm_status status = solve_step(s, u, &result);
  for (int64_t v = 0; v < n; ++v) sum += s->share[v] * (u[v] - before[v]) * (u[v] - before[v]);
  free(before);
  if (status != CVTM_OK) return status;
  ++progress->step;
  progress->change = sqrt(sum / s->whole);
  progress->cycles = result.iterations;
  progress->stalled = result.stop != CVTM_LCP_CONVERGED && result.stop != CVTM_LCP_ROUNDING;
  progress->area = inside_share(s, u);
  progress->energy = assemble(s, u) / s->whole;
  return CVTM_OK;
}

static int monitor_stops(const level_set *s, const cvtm_segment_progress *progress) {
  const cvtm_segment_options *o = s->options;
  return o->monitor != NULL && o->monitor(o->monitor_context, progress);
}

static cvtm_status run_steps(level_set *s, double *u, cvtm_segment_result *result) {
  cvtm_segment_progress now = {.area = inside_share(s, u), .energy = assemble(s, u) / s->whole};
  cvtm_status status = CVTM_OK;
  result->stop = monitor_stops(s, &now) ? CVTM_SEGMENT_INTERRUPTED : CVTM_SEGMENT_STEPS;
  while (result->stop == CVTM_SEGMENT_STEPS && now.step < s->options->max_steps) {
    status = step_level_set(s, u, &now);
    if (status != CVTM_OK) return status;
    result->cycles += now.cycles;
    if (monitor_stops(s, &now)) result->stop = CVTM_SEGMENT_INTERRUPTED;
    if (now.change < s->options->tolerance) result->stop = CVTM_SEGMENT_CONVERGED;
    if (now.stalled) result->stop = CVTM_SEGMENT_STEP_FAILED;
  }
  result->steps = now.step;
  result->change = now.change;
  result->area = now.area;
  result->energy = now.energy;
  return CVTM_OK;
}

static cvtm_status allocate_level_set(level_set *s) {
  const int64_t n = s->mesh->vertex_count, triangles = s->mesh->triangle_count;
  s->memory = calloc((size_t)(8 * triangles + 2 * n), sizeof *s->memory);
  if (s->memory == NULL)
    return cvtm_fail(cvtm_device_error(s->device), CVTM_ERROR_MEMORY, "out of memory");
  s->side = s->memory;
  s->area = s->side + 6 * triangles;
  s->detector = s->area + triangles;
  s->share = s->detector + triangles;
  s->right = s->share + n;
  const cvtm_status status = cvtm_device_allocate(s->device, 4 * n, CVTM_TYPED(s->on_device));
  if (status != CVTM_OK) return status;
  s->on_right = s->on_device;
  s->on_lower = s->on_right + n;
  s->on_upper = s->on_lower + n;
  s->on_u = s->on_upper + n;
  return CVTM_OK;
}

cvtm_status cvtm_segment_on_mesh(cvtm_device *device, const cvtm_mesh *mesh, double unit,
                                 const cvtm_segment_options *options, const double *image,
                                 const double *lower, const double *upper, double *u,
                                 cvtm_segment_result *result) {
  const double start = cvtm_clock();
  const size_t bytes = (size_t)mesh->vertex_count * sizeof *u;
  level_set s = {.device = device, .mesh = mesh, .options = options, .unit = unit};
  *result = (cvtm_segment_result){0};
  for (int64_t v = 0; v < mesh->vertex_count; ++v) u[v] = fmin(fmax(u[v], lower[v]), upper[v]);
  cvtm_status status = allocate_level_set(&s);
  if (status == CVTM_OK) status = measure_triangles(&s, image);
  if (status == CVTM_OK) status = make_pattern(&s);
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, s.on_lower, lower, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, s.on_upper, upper, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, s.on_u, u, bytes);
  if (status == CVTM_OK) status = run_steps(&s, u, result);
  result->seconds = cvtm_clock() - start;
  cvtm_csr_free(&s.a);
  cvtm_device_free(device, s.on_device);
  free(s.memory);
  return status;
}
