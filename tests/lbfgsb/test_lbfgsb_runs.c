/* Tests of stops, the monitor, refused arguments, values that are not finite, scaling and
 * reproducibility. */
#include "problems.h"
#include "test_devices.h"

static cvtm_device *device;

static fixture make_quadratic(int64_t n) {
  fixture made = fixture_make(device, PROBLEM_QUADRATIC, n);
  made.diagonal = fixture_doubles(n, 1.0);
  made.linear = fixture_doubles(n, 1.0);
  made.p.coupling = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    made.diagonal[i] = 1.0 + (double)(i * 37 % 101);
    made.linear[i] = (double)(i * 53 % 89) - 40.0;
    made.lower[i] = i % 2 ? -0.5 : -INFINITY;
    made.upper[i] = i % 3 ? 0.75 : INFINITY;
    made.x[i] = 0.25;
  }
  return made;
}

TEST(test_nothing) {
  fixture made = fixture_make(device, PROBLEM_QUADRATIC, 0);
  fixture_ends_by(&made, CVTM_STOP_GRADIENT);
  assert_int_equal(made.result.iterations, 0);
  fixture_free(&made);
}

TEST(test_shorter_steps) {
  const int64_t sizes[] = {1, 40};
  for (int s = 0; s < 2; ++s) {
    fixture made = fixture_make(device, PROBLEM_BARRIER, sizes[s]);
    for (int64_t i = 0; i < sizes[s]; ++i) made.x[i] = 0.5;
    made.options.gradient_tolerance = 1e-8;
    fixture_ends_by(&made, CVTM_STOP_GRADIENT);
    for (int64_t i = 0; i < sizes[s]; ++i) assert_near(made.x[i], 0.1, 1e-8);
    fixture_free(&made);
  }
}

TEST(test_not_finite) {
  fixture made = fixture_make(device, PROBLEM_POISON, 5);
  for (int64_t i = 0; i < 5; ++i) made.x[i] = 1.0;
  fixture_ends_by(&made, CVTM_STOP_NOT_FINITE);
  assert_int_equal(made.result.evaluations, 21);
  for (int64_t i = 0; i < 5; ++i) assert_near(made.x[i], 1.0, 0.0);
  made.x[3] = 0.0;
  assert_int_equal(fixture_minimize(&made), CVTM_ERROR_EVALUATION);
  fixture_free(&made);
}

/* The status of a failed evaluation reaches the caller, and x is still a point of the box. */
static cvtm_status fail_at_once(void *context, const double *x, double *f, double *g,
                                void *stream) {
  (void)context;
  (void)x;
  (void)f;
  (void)g;
  (void)stream;
  return CVTM_ERROR_IO;
}

TEST(test_failing_evaluation) {
  fixture made = make_quadratic(20);
  opened open;
  fixture_open(&made, &open);
  assert_int_equal(cvtm_lbfgsb_minimize(open.solver, open.x, fail_at_once, NULL, NULL),
                   CVTM_ERROR_IO);
  opened_minimize(&open, &made);
  fixture_close(&made, &open);
  for (int64_t i = 0; i < 20; ++i) assert_true(made.x[i] >= made.lower[i]);
  fixture_free(&made);
}

/* The same bits with a graph, without, and with an evaluation that cannot be captured. */
TEST(test_rounds) {
  double first[500];
  for (int way = 0; way < 3; ++way) {
    fixture made = make_quadratic(500);
    made.options.max_iterations = 30;
    made.options.host_rounds = way == 1;
    made.options.time_evaluations = way == 0;
    made.p.waits = way == 2;
    assert_device_ok(device, fixture_minimize(&made));
    assert_int_equal(made.result.captured, test_device_captures(device) && way == 0);
    if (way == 0) {
      assert_true(made.result.evaluation_seconds > 0.0);
      memcpy(first, made.x, sizeof first);
    }
    assert_memory_equal(first, made.x, sizeof first);
    fixture_free(&made);
  }
}

typedef struct watched {
  int64_t seen, stop_at;
  double f, last_f, step, measure;
} watched;

static int watch(void *context, const cvtm_lbfgsb_progress *progress) {
  watched *kept = context;
  if (progress->iteration != kept->seen) kept->seen = -1000;
  if (kept->seen > 0 && progress->f > kept->last_f) kept->seen = -1000;
  kept->seen++;
  kept->last_f = progress->f;
  kept->step = progress->step;
  kept->measure = progress->measure;
  return kept->stop_at > 0 && progress->iteration >= kept->stop_at;
}

TEST(test_monitor) {
  fixture made = fixture_torsion(device, 30, 30);
  watched kept = {0};
  made.options.monitor = watch;
  made.options.monitor_context = &kept;
  made.options.max_iterations = 60;
  fixture_ends_by(&made, CVTM_STOP_ITERATIONS);
  assert_int_equal(kept.seen, 61); /* each iteration once, in order, never going up */
  assert_true(kept.last_f == made.result.f);
  assert_true(kept.step > 0.0);
  double largest = 0.0;
  for (int64_t i = 0; i < made.p.n; ++i) largest = fmax(largest, fabs(made.x[i]));
  assert_true(kept.measure == largest); /* f[1] of the accepted evaluation */
  fixture_free(&made);
}

/* A GPU goes on until the host has seen an iteration: the problem is large enough for the request
 * to come before its end. */
TEST(test_request) {
  fixture whole = fixture_torsion(device, 150, 150);
  assert_device_ok(device, fixture_minimize(&whole));
  fixture made = fixture_torsion(device, 150, 150);
  watched kept = {.stop_at = 5};
  made.options.monitor = watch;
  made.options.monitor_context = &kept;
  fixture_ends_by(&made, CVTM_STOP_REQUEST);
  const int is_cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  const int64_t most = is_cpu ? 60 : whole.result.iterations;
  assert_true(made.result.iterations >= 5 && made.result.iterations < most);
  assert_int_equal(kept.seen, made.result.iterations + 1);
  CALL_EACH(fixture_free, fixture, &made, &whole);
}

TEST(test_limits) {
  fixture made = fixture_torsion(device, 30, 30);
  made.options.max_evaluations = 17;
  fixture_ends_by(&made, CVTM_STOP_EVALUATIONS);
  assert_int_equal(made.result.evaluations, 17);
  made.options.max_evaluations = 0;
  made.options.max_seconds = 1e-9;
  fixture_ends_by(&made, CVTM_STOP_TIME);
  made.options.max_seconds = 0.0;
  made.options.decrease_tolerance = 1e-4;
  fixture_ends_by(&made, CVTM_STOP_DECREASE);
  assert_true(made.result.iterations >= 10);
  fixture_free(&made);
}

/* Without a tolerance the run ends where f does; with one of the gradient, however small, it goes
 * on while the gradient decreases. */
TEST(test_end_of_decrease) {
  fixture made = fixture_torsion(device, 40, 40);
  assert_device_ok(device, fixture_minimize(&made));
  const cvtm_lbfgsb_result soon = made.result;
  fixture_free(&made);
  made = fixture_torsion(device, 40, 40);
  made.options.gradient_tolerance = 1e-30;
  assert_device_ok(device, fixture_minimize(&made));
  assert_int_equal(soon.stop, CVTM_STOP_DECREASE);
  assert_int_equal(made.result.stop, CVTM_STOP_DECREASE);
  assert_true(soon.iterations + 10 < made.result.iterations);
  assert_near(soon.f, made.result.f, 1e-13 * fabs(soon.f));
  assert_true(made.result.projected_gradient < 0.1 * soon.projected_gradient);
  fixture_free(&made);
}

TEST(test_refusals) {
  DEFAULT_OPTIONS(cvtm_lbfgsb, options);
  cvtm_lbfgsb *solver = NULL;
  options.history = CVTM_LBFGSB_MAX_HISTORY + 1;
  assert_int_equal(cvtm_lbfgsb_create(device, 10, &options, &solver), CVTM_ERROR_ARGUMENT);
  options.history = 0;
  assert_int_equal(cvtm_lbfgsb_create(device, 10, &options, &solver), CVTM_ERROR_ARGUMENT);
  options.history = 8;
  options.search_curvature = 1e-4;
  assert_int_equal(cvtm_lbfgsb_create(device, 10, &options, &solver), CVTM_ERROR_ARGUMENT);
  cvtm_lbfgsb_defaults(&options);
  assert_int_equal(cvtm_lbfgsb_create(device, -1, &options, &solver), CVTM_ERROR_ARGUMENT);
  assert_null(solver);
  assert_device_ok(device, cvtm_lbfgsb_create(device, 10, &options, &solver));

  double low[10] = {0}, high[10];
  for (int i = 0; i < 10; ++i) high[i] = 1.0;
  low[7] = 2.0;
  const double *lower = fixture_send(device, low, 10), *upper = fixture_send(device, high, 10);
  assert_int_equal(cvtm_lbfgsb_set_bounds(solver, lower, upper), CVTM_ERROR_ARGUMENT);
  assert_non_null(strstr(cvtm_device_error(device)->message, "variable 7"));
  low[7] = 0.0;
  high[3] = NAN;
  assert_device_ok(device, cvtm_device_copy_in(device, (void *)(uintptr_t)lower, low, sizeof low));
  assert_device_ok(device,
                   cvtm_device_copy_in(device, (void *)(uintptr_t)upper, high, sizeof high));
  assert_int_equal(cvtm_lbfgsb_set_bounds(solver, lower, upper), CVTM_ERROR_ARGUMENT);
  assert_non_null(strstr(cvtm_device_error(device)->message, "variable 3"));
  assert_device_ok(device, cvtm_lbfgsb_set_bounds(solver, lower, NULL));
  const double bad_scales[] = {0.0, -1.0, NAN, HUGE_VAL};
  for (int k = 0; k < 4; ++k) {
    double scale[10] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    scale[k + 5] = bad_scales[k];
    char name[32];
    (void)snprintf(name, sizeof name, "variable %d is", k + 5);
    assert_device_ok(device,
                     cvtm_device_copy_in(device, (void *)(uintptr_t)upper, scale, sizeof scale));
    assert_int_equal(cvtm_lbfgsb_set_scaling(solver, upper), CVTM_ERROR_ARGUMENT);
    assert_non_null(strstr(cvtm_device_error(device)->message, name));
  }
  options.history = 9;
  assert_int_equal(cvtm_lbfgsb_set_options(solver, &options), CVTM_ERROR_ARGUMENT);
  cvtm_lbfgsb_destroy(solver);
  device_free_all(device, (void *)(uintptr_t)lower, (void *)(uintptr_t)upper);
}

/* A solver created for more variables, and used with them, gives the same bits as one created for
 * the smaller number. */
TEST(test_size) {
  fixture own = fixture_torsion(device, 30, 20), borrowed = fixture_torsion(device, 30, 20);
  cvtm_lbfgsb *larger = NULL;
  own.options.max_iterations = borrowed.options.max_iterations = 60;
  assert_device_ok(device, fixture_minimize(&own));
  opened open;
  fixture_open(&borrowed, &open);
  fixture large = fixture_torsion(device, 70, 70);
  opened first;
  large.options.max_iterations = 20;
  fixture_open(&large, &first);
  opened_minimize(&first, &large);
  larger = first.solver;
  assert_int_equal(cvtm_lbfgsb_set_size(larger, large.p.n + 1), CVTM_ERROR_ARGUMENT);
  assert_int_equal(cvtm_lbfgsb_set_size(larger, -1), CVTM_ERROR_ARGUMENT);
  assert_device_ok(device, cvtm_lbfgsb_set_options(larger, &borrowed.options));
  assert_device_ok(device, cvtm_lbfgsb_set_size(larger, borrowed.p.n));
  assert_device_ok(device, cvtm_lbfgsb_set_bounds(larger, open.sent[2], open.sent[3]));
  assert_device_ok(device, cvtm_lbfgsb_set_scaling(larger, open.sent[4]));
  assert_device_ok(
      device, cvtm_lbfgsb_minimize(larger, open.x, open.objective, open.context, &borrowed.result));
  fixture_close(&borrowed, &open);
  fixture_close(&large, &first);
  assert_int_equal(borrowed.result.iterations, own.result.iterations);
  assert_memory_equal(borrowed.x, own.x, (size_t)own.p.n * sizeof *own.x);
  CALL_EACH(fixture_free, fixture, &own, &borrowed, &large);
}

/* With powers of two nothing is rounded: scaling by s and the problem rewritten for
 * y = x / s give the same bits. */
TEST(test_scaling) {
  enum { N = 200 };
  fixture scaled = make_quadratic(N), rewritten = make_quadratic(N);
  scaled.scale = fixture_doubles(N, 1.0);
  for (int64_t i = 0; i < N; ++i) {
    const double s = ldexp(1.0, (int)(i % 7) - 3);
    scaled.scale[i] = s;
    rewritten.diagonal[i] *= s * s;
    rewritten.linear[i] *= s;
    rewritten.lower[i] /= s;
    rewritten.upper[i] /= s;
    rewritten.x[i] /= s;
  }
  scaled.options.max_iterations = rewritten.options.max_iterations = 25;
  assert_device_ok(device, fixture_minimize(&scaled));
  assert_device_ok(device, fixture_minimize(&rewritten));
  assert_int_equal(scaled.result.iterations, 25);
  assert_true(scaled.result.projected_gradient == rewritten.result.projected_gradient);
  for (int64_t i = 0; i < N; ++i) assert_true(scaled.x[i] == scaled.scale[i] * rewritten.x[i]);
  CALL_EACH(fixture_free, fixture, &scaled, &rewritten);
}

TEST(test_same_bits) {
  enum { N = 30000 };
  double *first = NULL;
  for (int threads = 1; threads <= 3; ++threads) {
    cvtm_device *own = test_device_open_threads(threads);
    fixture made = make_quadratic(N);
    made.device = own;
    made.p.coupling = 2.0;
    made.options.max_iterations = 30;
    assert_device_ok(own, fixture_minimize(&made));
    if (!first) {
      first = fixture_doubles(N, 0.0);
      memcpy(first, made.x, N * sizeof *first);
    }
    assert_memory_equal(first, made.x, N * sizeof *first);
    fixture_free(&made);
    cvtm_device_destroy(own);
  }
  free(first);
}

TEST_DEVICE_MAIN_AS(device, 0)
