/* Known minima: a bearing, chained Rosenbrock, functions that are straight far away. Those of the
 * other problems of MINPACK-2: test_minpack2.c. */
#include "problems.h"
#include "test_devices.h"

static cvtm_device *device;

/* Thousands of iterations to the last digits; the printed ones come earlier. */
TEST(test_bearing_nearly_touching) {
  fixture made = fixture_bearing(device, 50, 50, 0.99, 10.0);
  made.options.gradient_tolerance = 1e-4;
  made.options.max_iterations = 20000;
  fixture_ends_by(&made, CVTM_STOP_GRADIENT);
  assert_near(made.result.f, -60.1509, 1e-4);
  fixture_free(&made);
}

TEST(test_rosenbrock) {
  const int64_t sizes[] = {2, 3, 31, 32, 33, 1000};
  for (int s = 0; s < 6; ++s) {
    fixture made = fixture_make(device, PROBLEM_ROSENBROCK, sizes[s]);
    for (int64_t i = 0; i < sizes[s]; ++i) {
      made.x[i] = 0.5;
      made.lower[i] = -0.5; /* keeps away from a local minimum near x_0 = -1 */
    }
    made.options.gradient_tolerance = 1e-9;
    fixture_ends_by(&made, CVTM_STOP_GRADIENT);
    for (int64_t i = 0; i < sizes[s]; ++i) assert_near(made.x[i], 1.0, 1e-6);
    fixture_free(&made);
  }
}

/* A bound that keeps x_0 below 1/2 decides all the others. */
TEST(test_rosenbrock_bounded) {
  fixture made = fixture_make(device, PROBLEM_ROSENBROCK, 2);
  made.x[0] = -1.2;
  made.x[1] = 1.0;
  made.upper[0] = 0.5;
  made.options.gradient_tolerance = 1e-9;
  assert_device_ok(device, fixture_minimize(&made));
  assert_near(made.x[0], 0.5, 0.0);
  assert_near(made.x[1], 0.25, 1e-8);
  assert_int_equal(made.result.active, 1);
  fixture_free(&made);
}

/* Huber's function is straight beyond 1 from its minimum: no pair has curvature, so the history
 * stays empty, and steps must grow all the same. */
static double huber(void *context, const double *x, double *g) {
  const double *target = context;
  double f = 0.0;
  for (int i = 0; i < 2; ++i) {
    const double r = x[i] - *target;
    f += fabs(r) < 1.0 ? 0.5 * r * r : fabs(r) - 0.5;
    g[i] = fabs(r) < 1.0 ? r : r > 0.0 ? 1.0 : -1.0;
  }
  return f;
}

TEST(test_no_curvature) {
  double target = 1e4;
  const double lower[] = {-1.0, -1.0}, upper[] = {1e9, 1e9};
  for (int bounds = 0; bounds < 3; ++bounds) {
    for (int history = 8; history <= 40; history += 32) { /* 40: panels */
      double x[] = {0.0, 0.0};
      DEFAULT_OPTIONS(cvtm_lbfgsb, options);
      cvtm_lbfgsb_result result;
      options.history = history;
      options.gradient_tolerance = 1e-8;
      assert_device_ok(device, cvtm_lbfgsb_minimize_host(device, 2, bounds > 0 ? lower : NULL,
                                                         bounds > 1 ? upper : NULL, x, huber,
                                                         &target, &options, &result));
      assert_int_equal(result.stop, CVTM_STOP_GRADIENT);
      assert_in_range(result.evaluations, 1, 30); /* SciPy: 26 */
      for (int i = 0; i < 2; ++i) assert_near(x[i], target, 1e-7);
    }
  }
}

/* Huber's regression with a scale s > 0: y = b + X c; x = (c, b, s). The loss is that of
 * scikit-learn's HuberRegressor, without a penalty. */
enum { SAMPLES = 50, FEATURES = 3 };
typedef struct regression {
  double x[SAMPLES][FEATURES], y[SAMPLES];
} regression;

static double robust_loss(void *context, const double *x, double *g) {
  const regression *data = context;
  const double epsilon = 1.35, s = x[FEATURES + 1];
  double f = SAMPLES * s;
  for (int j = 0; j <= FEATURES; ++j) g[j] = 0.0;
  g[FEATURES + 1] = SAMPLES;
  for (int i = 0; i < SAMPLES; ++i) {
    double r = data->y[i] - x[FEATURES];
    for (int j = 0; j < FEATURES; ++j) r -= data->x[i][j] * x[j];
    const int outlier = fabs(r) > epsilon * s;
    const double slope = outlier ? (r > 0.0 ? 2.0 : -2.0) * epsilon : 2.0 * r / s;
    f += outlier ? 2.0 * epsilon * fabs(r) - s * epsilon * epsilon : r * r / s;
    g[FEATURES + 1] -= outlier ? epsilon * epsilon : r * r / (s * s);
    g[FEATURES] -= slope;
    for (int j = 0; j < FEATURES; ++j) g[j] -= data->x[i][j] * slope;
  }
  return f;
}

/* Values of the size of house prices, four outliers, a start far away. The loss is homogeneous: the
 * minimiser scales with y, and so does the minimum. */
TEST(test_robust_regression) {
  const double effect[FEATURES] = {1.0, -0.5, 0.3}, prices[] = {1e3, 3e5, 1e7};
  const double lower[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, 1e-14};
  double least = 0.0;
  for (int k = 0; k < 3; ++k) {
    regression data;
    uint64_t seed = 7;
    double x[] = {0.0, 0.0, 0.0, 0.0, 1.0};
    DEFAULT_OPTIONS(cvtm_lbfgsb, options);
    cvtm_lbfgsb_result result;
    for (int i = 0; i < SAMPLES; ++i) {
      double relative = 1.0 + 0.1 * (random_unit(&seed) - 0.5);
      for (int j = 0; j < FEATURES; ++j) {
        data.x[i][j] = 3.0 * (random_unit(&seed) - 0.5);
        relative += 0.2 * effect[j] * data.x[i][j];
      }
      data.y[i] = prices[k] * relative * (i < 4 ? 3.0 : 1.0);
    }
    options.gradient_tolerance = 1e-5;
    assert_device_ok(device, cvtm_lbfgsb_minimize_host(device, FEATURES + 2, lower, NULL, x,
                                                       robust_loss, &data, &options, &result));
    assert_int_equal(result.stop, CVTM_STOP_GRADIENT);
    assert_in_range(result.evaluations, 1, 100);
    if (k == 0) least = result.f / prices[k];
    assert_near(result.f / prices[k], least, 1e-9 * least);
  }
}

TEST_DEVICE_MAIN_AS(device, 0)
