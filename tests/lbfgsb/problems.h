/* A problem of objectives.h set up on a device, and one call that solves it. */
#pragma once

#include "lbfgsb/lbfgsb.h"
#include "objectives.h"
#include "test_devices.h"
#include "splitmix64.h"

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
  double *diagonal, *linear;         /* may be NULL */
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
  free_all(made->x, made->lower, made->upper, made->scale, made->diagonal, made->linear);
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
  return copied_in(device, values, count, sizeof(double));
}

/* A fixture on its device: a solver with bounds and scale set, and what the objective needs. */
typedef struct opened {
  problem on_device;
  cvtm_lbfgsb *solver;
  cvtm_objective objective;
  void *context;
  double *x;
  const double *sent[5];
} opened;

/* To be closed by fixture_close; `open` must stay where it is. */
static inline void fixture_open(fixture *made, opened *open) {
  cvtm_device *device = made->device;
  const int64_t n = made->p.n;
  made->p.diagonal = made->diagonal;
  made->p.linear = made->linear;
  const double *const sent[5] = {
      fixture_send(device, made->diagonal, n), fixture_send(device, made->linear, n),
      fixture_send(device, made->lower, n), fixture_send(device, made->upper, n),
      fixture_send(device, made->scale, n)};
  memcpy(open->sent, sent, sizeof sent);
  open->on_device = made->p;
  open->on_device.diagonal = sent[0];
  open->on_device.linear = sent[1];
  open->context = made;
  open->objective = fixture_evaluate_cpu;
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) {
    open->objective = problem_evaluate_cuda;
    open->context = &open->on_device;
  }
#endif
  open->x = (double *)(uintptr_t)fixture_send(device, made->x, n);
  open->solver = NULL;
  assert_device_ok(device, cvtm_lbfgsb_create(device, n, &made->options, &open->solver));
  assert_device_ok(device, cvtm_lbfgsb_set_bounds(open->solver, sent[2], sent[3]));
  assert_device_ok(device, cvtm_lbfgsb_set_scaling(open->solver, sent[4]));
}

/* x of the device comes back into the fixture. */
static inline void fixture_close(fixture *made, opened *open) {
  cvtm_device *device = made->device;
  cvtm_lbfgsb_destroy(open->solver);
  assert_device_ok(
      device, cvtm_device_copy_out(device, made->x, open->x, (size_t)made->p.n * sizeof *made->x));
  cvtm_device_free(device, open->x);
  for (int i = 0; i < 5; ++i) cvtm_device_free(device, (void *)(uintptr_t)open->sent[i]);
}

/* Solves from x into x; returns the status of minimize. */
static inline cvtm_status fixture_minimize(fixture *made) {
  opened open;
  fixture_open(made, &open);
  const cvtm_status status =
      cvtm_lbfgsb_minimize(open.solver, open.x, open.objective, open.context, &made->result);
  fixture_close(made, &open);
  return status;
}

static inline void fixture_ends_by(fixture *made, cvtm_stop expected) {
  assert_device_ok(made->device, fixture_minimize(made));
  assert_int_equal(made->result.stop, expected);
}

/* Solves an opened fixture, anew or from where the last run ended. */
static inline void opened_minimize(opened *open, fixture *made) {
  assert_device_ok(made->device, cvtm_lbfgsb_minimize(open->solver, open->x, open->objective,
                                                      open->context, &made->result));
}

static inline void opened_resume(opened *open, fixture *made) {
  assert_device_ok(made->device, cvtm_lbfgsb_resume(open->solver, open->x, open->objective,
                                                    open->context, &made->result));
}

typedef enum bounds_mix { FREE, BELOW, ABOVE, BOTH, MIXED, FIXED_SOME } bounds_mix;

/* Bounds of that mix around 0, and a start that often lies outside. */
static inline void fixture_random_box(fixture *made, bounds_mix mix, uint64_t *seed) {
  for (int64_t i = 0; i < made->p.n; ++i) {
    made->x[i] = 8.0 * (random_unit(seed) - 0.5);
    const double low = -random_unit(seed), high = 0.5 * random_unit(seed);
    const int kind = mix == MIXED ? (int)(4.0 * random_unit(seed)) : (int)mix;
    if (kind == BELOW || kind == BOTH || mix == FIXED_SOME) made->lower[i] = low;
    if (kind == ABOVE || kind == BOTH || mix == FIXED_SOME) made->upper[i] = high;
    if (mix == FIXED_SOME && i % 3 == 0) made->lower[i] = made->upper[i] = high;
  }
}

/* A convex quadratic whose diagonal spans two decades. */
static inline fixture fixture_random_quadratic(cvtm_device *device, int64_t n, bounds_mix mix,
                                               uint64_t seed) {
  fixture made = fixture_make(device, PROBLEM_QUADRATIC, n);
  made.diagonal = fixture_doubles(n, 1.0);
  made.linear = fixture_doubles(n, 0.0);
  made.p.coupling = 5.0;
  for (int64_t i = 0; i < n; ++i) {
    made.diagonal[i] = pow(10.0, 2.0 * random_unit(&seed));
    made.linear[i] = 40.0 * (random_unit(&seed) - 0.5);
  }
  fixture_random_box(&made, mix, &seed);
  return made;
}

/* The Karush-Kuhn-Tucker conditions, computed here from x alone: inside the box, and each
 * variable is down to a bound or has no slope downwards, and so upwards. */
static inline void fixture_check_conditions(const fixture *made, double tolerance) {
  for (int64_t i = 0; i < made->p.n; ++i) {
    double g;
    (void)problem_row(&made->p, made->x, i, &g);
    const double x = made->x[i];
    if (!(x >= made->lower[i] && x <= made->upper[i])) fail_msg("x[%lld] outside", (long long)i);
    if (g > tolerance && x > made->lower[i] + tolerance) {
      fail_msg("x[%lld] = %g could fall: %g", (long long)i, x, g);
    }
    if (g < -tolerance && x < made->upper[i] - tolerance) {
      fail_msg("x[%lld] = %g could rise: %g", (long long)i, x, g);
    }
  }
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
