/* Histories beyond 20 pairs: panels.c gives the iterates of the passes of short histories up to
 * rounding, the iterates of one history are the same bits for any number of threads, and longer
 * histories solve what shorter ones do. */
#include "problems.h"
#include "test_devices.h"

static cvtm_device *device;

/* Runs `iterations` iterations; with `panels` by panels.c whatever the history. */
static void run(fixture *made, int iterations, int panels) {
  made->options.max_iterations = iterations;
  if (panels) assert_int_equal(setenv("CVTMESH_PLAIN", "panels", 1), 0);
  assert_device_ok(device, fixture_minimize(made));
  assert_int_equal(unsetenv("CVTMESH_PLAIN"), 0);
  assert_int_equal(made->result.stop, CVTM_STOP_ITERATIONS);
}

/* Both ways from the same start. The sums of n terms are in other orders, which differ by up to
 * n 2^-53 (1.3e-13 for 1200 variables), and each iteration multiplies the difference of the
 * iterates by up to 1.2 while the line searches and the choice of breakpoints are the same: for the
 * bearing to 2e-10 after 40 iterations. The tolerances are some ten times the largest difference
 * measured on a CPU and on an H200: torsion 1.8e-14; bearing 1e-12 after 15 iterations, 7.5e-11
 * after 40; random quadratics 7.7e-12. */
static void compare(fixture by_passes, fixture by_panels, int iterations, double tolerance) {
  double largest = 0.0;
  run(&by_passes, iterations, 0);
  run(&by_panels, iterations, 1);
  assert_int_equal(by_passes.result.evaluations, by_panels.result.evaluations);
  assert_int_equal(by_passes.result.active, by_panels.result.active);
  assert_near(by_passes.result.f, by_panels.result.f, tolerance * fabs(by_passes.result.f));
  for (int64_t i = 0; i < by_passes.p.n; ++i) largest = fmax(largest, fabs(by_passes.x[i]));
  for (int64_t i = 0; i < by_passes.p.n; ++i)
    assert_near(by_passes.x[i], by_panels.x[i], tolerance * largest);
  CALL_EACH(fixture_free, fixture, &by_passes, &by_panels);
}

static fixture with_options(fixture made, int history, cvtm_lbfgsb_cauchy cauchy) {
  made.options.history = history;
  made.options.cauchy = cauchy;
  return made;
}

TEST(test_same_iterates) {
  for (int exact = 0; exact <= 1; ++exact) {
    const cvtm_lbfgsb_cauchy cauchy =
        exact ? CVTM_LBFGSB_CAUCHY_EXACT : CVTM_LBFGSB_CAUCHY_APPROXIMATE;
    /* Symmetric variables share a breakpoint up to rounding; whether it is that of one row or of
     * several changes the approximate Cauchy point, so its iterates part some time. */
    const int iterations = exact ? 40 : 15;
    const double bearing_tolerance = exact ? 1e-9 : 1e-11;
    for (int m = 5; m <= 20; m += 15) {
      compare(with_options(fixture_torsion(device, 60, 50), m, cauchy),
              with_options(fixture_torsion(device, 60, 50), m, cauchy), iterations, 1e-12);
      compare(with_options(fixture_bearing(device, 40, 30, 0.1, 10.0), m, cauchy),
              with_options(fixture_bearing(device, 40, 30, 0.1, 10.0), m, cauchy), iterations,
              bearing_tolerance);
      for (int mix = FREE; mix <= FIXED_SOME; ++mix) {
        const uint64_t seed = (uint64_t)(10 * m + mix);
        compare(
            with_options(fixture_random_quadratic(device, 500, (bounds_mix)mix, seed), m, cauchy),
            with_options(fixture_random_quadratic(device, 500, (bounds_mix)mix, seed), m, cauchy),
            24, 1e-10);
      }
    }
  }
}

TEST(test_scaled) {
  fixture made[2];
  for (int way = 0; way < 2; ++way) {
    made[way] = fixture_random_quadratic(device, 777, MIXED, 3);
    made[way].options.history = 20;
    made[way].scale = fixture_doubles(777, 1.0);
    for (int64_t i = 0; i < 777; ++i) made[way].scale[i] = 0.5 + 0.25 * (double)(i % 5);
  }
  compare(made[0], made[1], 30, 1e-12);
}

/* The first iterates with room for 128 pairs are those with room for 20. */
TEST(test_long_history_begins_as_short) {
  fixture with_20 = fixture_torsion(device, 50, 50), with_128 = fixture_torsion(device, 50, 50);
  with_20.options.history = 20;
  with_128.options.history = CVTM_LBFGSB_MAX_HISTORY;
  compare(with_20, with_128, 19, 1e-13);
}

TEST(test_minima) {
  const int histories[] = {21, CVTM_LBFGSB_MAX_HISTORY};
  for (int k = 0; k < 2; ++k) {
    fixture made = fixture_torsion(device, 50, 50);
    made.options.history = histories[k];
    made.options.gradient_tolerance = 1e-6;
    fixture_ends_by(&made, CVTM_STOP_GRADIENT);
    assert_near(made.result.f, -0.418087632020, 1e-9 * 0.42);
    assert_int_equal(made.outside, 0);
    fixture_free(&made);
  }
}

/* As many pairs as variables: a quadratic is minimised in few more iterations than variables. */
TEST(test_full_history) {
  fixture made = fixture_random_quadratic(device, 100, FREE, 8);
  made.options.history = CVTM_LBFGSB_MAX_HISTORY;
  made.options.gradient_tolerance = 1e-6;
  made.options.max_iterations = 150;
  fixture_ends_by(&made, CVTM_STOP_GRADIENT);
  assert_int_equal(made.result.restarts, 0);
  fixture_check_conditions(&made, 1e-5);
  fixture_free(&made);
}

/* On the CPU for 1 and 3 threads, on CUDA for two runs. */
TEST(test_same_bits) {
  const int on_cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  fixture made[2];
  for (int k = 0; k < 2; ++k) {
    cvtm_device *own = NULL;
    if (on_cpu) assert_ok(cvtm_device_create("cpu", 1 + 2 * k, &own, NULL));
    made[k] = fixture_torsion(on_cpu ? own : device, 120, 110);
    made[k].options.history = 40;
    made[k].options.max_iterations = 45;
    assert_device_ok(made[k].device, fixture_minimize(&made[k]));
    cvtm_device_destroy(own);
  }
  assert_memory_equal(made[0].x, made[1].x, (size_t)made[0].p.n * sizeof(double));
  CALL_EACH(fixture_free, fixture, &made[0], &made[1]);
}

TEST(test_batch) {
  DEFAULT_OPTIONS(cvtm_lbfgsb, options);
  cvtm_lbfgsb *solver = NULL;
  options.history = 30;
  assert_device_ok(device, cvtm_lbfgsb_create_batch(device, 3, 10, &options, &solver));
  cvtm_lbfgsb_destroy(solver);
}

/* test_same_bits has more; the others would only wait */
TEST_DEVICE_MAIN_AS(device, 1)
