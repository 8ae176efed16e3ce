/* Random convex quadratics with every mix of bounds: the point found satisfies the
 * Karush-Kuhn-Tucker conditions, computed here from x alone. */
#include "problems.h"
#include "test_devices.h"

static cvtm_device *device;

static void solve(fixture made) {
  made.options.gradient_tolerance = 2e-8; /* the gradient at the start is of order 100 */
  made.options.max_iterations = 20000;
  assert_device_ok(device, fixture_minimize(&made));
  if (made.result.stop != CVTM_STOP_GRADIENT) {
    fail_msg("%lld variables, m = %d: %s after %lld iterations, projected gradient %g, f = %.15g",
             (long long)made.p.n, made.options.history, cvtm_stop_name(made.result.stop),
             (long long)made.result.iterations, made.result.projected_gradient, made.result.f);
  }
  fixture_check_conditions(&made, 1e-7);
  assert_int_equal(made.outside, 0);
  fixture_free(&made);
}

TEST(test_bounds) {
  const int64_t sizes[] = {1, 2, 7, 31, 32, 33, 127, 500, 5000};
  for (int s = 0; s < 9; ++s) {
    for (int mix = FREE; mix <= FIXED_SOME; ++mix) {
      solve(fixture_random_quadratic(device, sizes[s], (bounds_mix)mix, (uint64_t)(100 * s + mix)));
    }
  }
}

TEST(test_history_lengths) {
  for (int m = 1; m <= CVTM_LBFGSB_MAX_HISTORY; m += m < 20 ? 1 : 36) {
    fixture bounded = fixture_random_quadratic(device, 300, MIXED, (uint64_t)m),
            unbounded = fixture_random_quadratic(device, 300, FREE, (uint64_t)m);
    bounded.options.history = unbounded.options.history = m;
    solve(bounded);
    solve(unbounded);
  }
}

/* Bounds that never matter, and none at all, take different code but the same steps. */
TEST(test_far_bounds_like_none) {
  fixture with = fixture_random_quadratic(device, 400, FREE, 9),
          without = fixture_random_quadratic(device, 400, FREE, 9);
  for (int64_t i = 0; i < 400; ++i) {
    with.x[i] = without.x[i] = 0.001 * with.x[i];
    if (i > 0) with.upper[i] = 1e12; /* one upper bound is missing: not boxed */
  }
  with.options.max_iterations = without.options.max_iterations = 12;
  assert_device_ok(device, fixture_minimize(&with));
  assert_device_ok(device, fixture_minimize(&without));
  assert_int_equal(with.result.evaluations, without.result.evaluations);
  for (int64_t i = 0; i < 400; ++i) assert_near(with.x[i], without.x[i], 1e-9);
  CALL_EACH(fixture_free, fixture, &with, &without);
}

/* A start outside the box is moved onto it, and that is said. */
TEST(test_infeasible_start) {
  fixture made = fixture_random_quadratic(device, 50, BOTH, 3);
  int64_t outside = 0;
  for (int64_t i = 0; i < 50; ++i) {
    made.x[i] = i % 2 ? 100.0 : 0.5 * (made.lower[i] + made.upper[i]);
    outside += i % 2;
  }
  assert_device_ok(device, fixture_minimize(&made));
  assert_int_equal(made.result.start_projected, outside);
  assert_int_equal(made.outside, 0);
  fixture_free(&made);
}

TEST_DEVICE_MAIN_AS(device, 0)
