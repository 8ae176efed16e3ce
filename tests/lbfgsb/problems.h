/* A problem of objectives.h set up on a device, and one call that solves it. */
#ifndef CVTMESH_TESTS_LBFGSB_PROBLEMS_H
#define CVTMESH_TESTS_LBFGSB_PROBLEMS_H

#include <math.h>
#include <string.h>

#include "lbfgsb/lbfgsb.h"
#include "objectives.h"
#include "test_devices.h"

#ifndef CVTMESH_HAVE_CUDA
#define CVTMESH_HAVE_CUDA 0
#endif

#define assert_near(a, b, tolerance)                                \
  do {                                                              \
    const double near_a_ = (a), near_b_ = (b);                      \
    if (!(fabs(near_a_ - near_b_) <= (tolerance))) {                \
      fail_msg("%s = %.15g, %s = %.15g", #a, near_a_, #b, near_b_); \
    }                                                               \
  } while (0)

/* Host copies of everything; outside: evaluations that saw an x outside the box (CPU). */
typedef struct fixture {
  cvtm_device *device;
  problem p;
  double *x, *lower, *upper, *scale; /* scale may be NULL */
  double *diagonal, *linear, *edges; /* may be NULL */
  int64_t outside;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_result result;
} fixture;

static inline double *fixture_doubles(int64_t count, double value) {
  double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
  if (!values) abort();
  for (int64_t i = 0; i < count; ++i) values[i] = value;
  return values;
}

static inline fixture fixture_make(cvtm_device *device, problem_kind kind, int64_t n) {
  fixture made;
  memset(&made, 0, sizeof made);
  made.device = device;
  made.p.kind = kind;
  made.p.n = n;
  made.x = fixture_doubles(n, 0.0);
  made.lower = fixture_doubles(n, -INFINITY);
  made.upper = fixture_doubles(n, INFINITY);
  cvtm_lbfgsb_defaults(&made.options);
  return made;
}

static inline void fixture_free(fixture *made) {
  free(made->x);
  free(made->lower);
  free(made->upper);
  free(made->scale);
  free(made->diagonal);
  free(made->linear);
  free(made->edges);
}

static inline cvtm_status fixture_evaluate_cpu(void *context, const double *x, double *f, double *g,
                                               void *stream) {
  fixture *made = context;
  double value = 0.0, largest = 0.0;
  (void)stream;
  for (int64_t i = 0; i < made->p.n; ++i) {
    value += problem_row(&made->p, x, i, g + i);
    if (fabs(x[i]) > largest) largest = fabs(x[i]);
    if (!(x[i] >= made->lower[i] && x[i] <= made->upper[i])) made->outside++;
  }
  f[0] = value;
  f[1] = largest;
  return CVTM_OK;
}

static inline const double *fixture_send(cvtm_device *device, const double *values, int64_t count) {
  void *memory = NULL;
  if (!values) return NULL;
  assert_device_ok(device, cvtm_device_allocate(device, count, sizeof(double), &memory));
  assert_device_ok(device,
                   cvtm_device_copy_in(device, memory, values, (size_t)count * sizeof(double)));
  return memory;
}

/* Solves from x into x; returns the status of minimize. */
static inline cvtm_status fixture_minimize(fixture *made) {
  cvtm_device *device = made->device;
  const int64_t n = made->p.n;
  problem on_device = made->p;
  void *context = made;
  cvtm_objective objective = fixture_evaluate_cpu;
  made->p.diagonal = made->diagonal;
  made->p.linear = made->linear;
  made->p.edges = made->edges;
  const double *diagonal = fixture_send(device, made->diagonal, n);
  const double *linear = fixture_send(device, made->linear, n);
  const int64_t edges_count = 2 * (int64_t)(made->p.nx + made->p.ny) + 8;
  const double *edges = fixture_send(device, made->edges, edges_count);
  const double *lower = fixture_send(device, made->lower, n);
  const double *upper = fixture_send(device, made->upper, n);
  const double *scale = fixture_send(device, made->scale, n);
  double *x = (double *)(uintptr_t)fixture_send(device, made->x, n);
  on_device.diagonal = diagonal;
  on_device.linear = linear;
  on_device.edges = edges;
  (void)on_device; /* only CUDA wants it */
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) {
    objective = problem_evaluate_cuda;
    context = &on_device;
  }
#endif
  cvtm_lbfgsb *solver = NULL;
  assert_device_ok(device, cvtm_lbfgsb_create(device, n, &made->options, &solver));
  assert_device_ok(device, cvtm_lbfgsb_set_bounds(solver, lower, upper));
  assert_device_ok(device, cvtm_lbfgsb_set_scaling(solver, scale));
  const cvtm_status status = cvtm_lbfgsb_minimize(solver, x, objective, context, &made->result);
  cvtm_lbfgsb_destroy(solver);
  assert_device_ok(device, cvtm_device_copy_out(device, made->x, x, (size_t)n * sizeof *x));
  const double *const sent[] = {diagonal, linear, edges, lower, upper, scale, x};
  for (size_t i = 0; i < sizeof sent / sizeof *sent; ++i) {
    if (sent[i]) cvtm_device_free(device, (void *)(uintptr_t)sent[i]);
  }
  return status;
}

/* min(i, nx + 1 - i) hx and the like: the distance to the boundary of the unit square. */
static inline fixture fixture_torsion(cvtm_device *device, int nx, int ny) {
  fixture made = fixture_make(device, PROBLEM_TORSION, (int64_t)nx * ny);
  made.p.nx = nx;
  made.p.ny = ny;
  made.p.c = 5.0;
  for (int j = 1; j <= ny; ++j) {
    for (int i = 1; i <= nx; ++i) {
      const double across = fmin(i, nx + 1 - i) / (nx + 1), up = fmin(j, ny + 1 - j) / (ny + 1);
      const int64_t k = (i - 1) + (int64_t)nx * (j - 1);
      made.upper[k] = made.x[k] = fmin(across, up);
      made.lower[k] = -made.upper[k];
    }
  }
  return made;
}

static inline fixture fixture_bearing(cvtm_device *device, int nx, int ny, double e, double b) {
  fixture made = fixture_make(device, PROBLEM_BEARING, (int64_t)nx * ny);
  made.p.nx = nx;
  made.p.ny = ny;
  made.p.e = e;
  made.p.b = b;
  for (int64_t k = 0; k < made.p.n; ++k) {
    const double angle = 2.0 * 3.14159265358979323846 * (double)(k % nx + 1) / (nx + 1);
    made.x[k] = fmax(sin(angle), 0.0);
    made.lower[k] = 0.0;
  }
  return made;
}

/* Enneper's surface over (x, y). */
static inline double fixture_enneper(double x, double y) {
  double u = x, v = -y;
  for (int step = 0; step < 5; ++step) {
    const double f = u + u * v * v - u * u * u / 3.0 - x;
    const double g = -v - u * u * v + v * v * v / 3.0 - y;
    if (sqrt(f * f + g * g) <= 1e-10) break;
    const double a = 1.0 + v * v - u * u, b = 2.0 * u * v, c = -2.0 * u * v;
    const double d = -1.0 - u * u + v * v, determinant = a * d - b * c;
    u -= (d * f - b * g) / determinant;
    v -= (a * g - c * f) / determinant;
  }
  return u * u - v * v;
}

static inline fixture fixture_surface(cvtm_device *device, int nx, int ny) {
  fixture made = fixture_make(device, PROBLEM_SURFACE, (int64_t)nx * ny);
  made.p.nx = nx;
  made.p.ny = ny;
  made.edges = fixture_doubles(2 * (int64_t)(nx + ny) + 8, 0.0);
  double *bottom = made.edges, *top = bottom + nx + 2, *left = top + nx + 2, *right = left + ny + 2;
  for (int i = 0; i <= nx + 1; ++i) {
    bottom[i] = fixture_enneper(-0.5 + (double)i / (nx + 1), -0.5);
    top[i] = fixture_enneper(-0.5 + (double)i / (nx + 1), 0.5);
  }
  for (int j = 0; j <= ny + 1; ++j) {
    left[j] = fixture_enneper(-0.5, -0.5 + (double)j / (ny + 1));
    right[j] = fixture_enneper(0.5, -0.5 + (double)j / (ny + 1));
  }
  for (int j = 1; j <= ny; ++j) {
    for (int i = 1; i <= nx; ++i) {
      const double alpha = (double)j / (ny + 1), beta = (double)i / (nx + 1);
      made.x[(i - 1) + (int64_t)nx * (j - 1)] = 0.5 * (alpha * top[i] + (1.0 - alpha) * bottom[i] +
                                                       beta * right[j] + (1.0 - beta) * left[j]);
    }
  }
  return made;
}

#endif
