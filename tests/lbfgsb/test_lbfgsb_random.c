/* Random quadratics and chained Rosenbrock functions with every mix of bounds, 1 to a million
 * variables and 1 to 20 pairs: each point found satisfies the Karush-Kuhn-Tucker conditions to
 * 1e-8 of the gradient's size at the start. With --print it writes the smaller problems and its
 * solutions as lines of JSON instead, for test_lbfgsb_scipy.py. */
#include "problems.h"
#include "test_devices.h"

static cvtm_device *device;

enum { MIXES = FIXED_SOME + 1, PRINTED = 300 };

typedef struct random_case {
  problem_kind kind;
  int64_t n;
  bounds_mix mix;
  int history, exact;
} random_case;

static fixture make_case(const random_case *c, uint64_t seed) {
  fixture made;
  if (c->kind == PROBLEM_QUADRATIC) {
    made = fixture_random_quadratic(device, c->n, c->mix, seed);
  } else {
    made = fixture_make(device, PROBLEM_ROSENBROCK, c->n);
    fixture_random_box(&made, c->mix, &seed);
    for (int64_t i = 0; i < c->n; ++i) made.x[i] *= 0.25; /* -1 .. 1 */
  }
  made.options.history = c->history;
  made.options.cauchy = c->exact ? CVTM_LBFGSB_CAUCHY_EXACT : CVTM_LBFGSB_CAUCHY_APPROXIMATE;
  made.options.max_iterations = 50000;
  return made;
}

/* The largest slope at the start, moved into the box; at least 1. */
static double scale_of(fixture *made) {
  double largest = 1.0;
  double *x = fixture_doubles(made->p.n, 0.0);
  made->p.diagonal = made->diagonal;
  made->p.linear = made->linear;
  for (int64_t i = 0; i < made->p.n; ++i) {
    x[i] = fmin(fmax(made->x[i], made->lower[i]), made->upper[i]);
  }
  for (int64_t i = 0; i < made->p.n; ++i) {
    double g;
    (void)problem_row(&made->p, x, i, &g);
    largest = fmax(largest, fabs(g));
  }
  free(x);
  return largest;
}

static void solve(fixture *made) {
  const double tolerance = 1e-8 * scale_of(made);
  made->options.gradient_tolerance = 0.5 * tolerance;
  assert_device_ok(device, fixture_minimize(made));
  if (made->result.stop != CVTM_STOP_GRADIENT) {
    fail_msg("%lld variables, m = %d: %s after %lld iterations, projected gradient %g",
             (long long)made->p.n, made->options.history, cvtm_stop_name(made->result.stop),
             (long long)made->result.iterations, made->result.projected_gradient);
  }
  fixture_check_conditions(made, tolerance);
  assert_int_equal(made->outside, 0);
}

static void test_kind(problem_kind kind, int64_t largest) {
  const int64_t sizes[] = {1, 2, 3, 10, 31, 32, 33, 100, 1000};
  int number = 0;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    for (int mix = 0; mix < MIXES && sizes[s] <= largest; ++mix) {
      const random_case c = {kind, sizes[s], (bounds_mix)mix, 1 + number % 20, number % 3 == 0};
      fixture made = make_case(&c, (uint64_t)(1000 + number));
      solve(&made);
      fixture_free(&made);
      number += 3;
    }
  }
}

TEST(test_quadratics) { test_kind(PROBLEM_QUADRATIC, 1000); }

TEST(test_rosenbrock) { test_kind(PROBLEM_ROSENBROCK, 100); }

TEST(test_large) {
  const random_case c = {PROBLEM_QUADRATIC, 100003, MIXED, 5, 0};
  fixture made = make_case(&c, 4);
  solve(&made);
  fixture_free(&made);
}

/* A million variables without coupling: each ends at its own minimum, moved into its bounds. */
TEST(test_separable_million) {
  const int64_t n = 1000003;
  uint64_t seed = 11;
  fixture made = fixture_make(device, PROBLEM_QUADRATIC, n);
  made.diagonal = fixture_doubles(n, 1.0);
  made.linear = fixture_doubles(n, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    made.diagonal[i] = 1.0 + random_unit(&seed);
    made.linear[i] = 4.0 * (random_unit(&seed) - 0.5);
  }
  fixture_random_box(&made, MIXED, &seed);
  made.options.gradient_tolerance = 1e-8;
  fixture_ends_by(&made, CVTM_STOP_GRADIENT);
  for (int64_t i = 0; i < n; ++i) {
    /* The projected gradient, and with it the distance, is at most the tolerance. */
    const double minimum = made.linear[i] / made.diagonal[i];
    assert_near(made.x[i], fmin(fmax(minimum, made.lower[i]), made.upper[i]), 1.1e-8);
  }
  assert_int_equal(made.outside, 0);
  fixture_free(&made);
}

static void print_list(const char *name, const double *values, int64_t n) {
  printf("\"%s\": [", name);
  for (int64_t i = 0; i < n; ++i) {
    const double v = values[i];
    const char *comma = i + 1 < n ? ", " : "";
    if (isinf(v)) {
      printf("%sInfinity%s", v < 0 ? "-" : "", comma);
    } else {
      printf("%.17g%s", v, comma);
    }
  }
  printf("], ");
}

static void print_case(const random_case *c, uint64_t seed) {
  fixture made = make_case(c, seed);
  printf("{\"kind\": \"%s\", \"history\": %d, \"exact\": %d, \"coupling\": %g, ",
         c->kind == PROBLEM_QUADRATIC ? "quadratic" : "rosenbrock", c->history, c->exact,
         made.p.coupling);
  if (made.diagonal) print_list("diagonal", made.diagonal, c->n);
  if (made.linear) print_list("linear", made.linear, c->n);
  print_list("lower", made.lower, c->n);
  print_list("upper", made.upper, c->n);
  print_list("start", made.x, c->n);
  made.options.gradient_tolerance = 1e-9 * scale_of(&made);
  if (fixture_minimize(&made) != CVTM_OK) exit(EXIT_FAILURE);
  print_list("x", made.x, c->n);
  printf("\"f\": %.17g, \"iterations\": %lld, \"stop\": \"%s\"}\n", made.result.f,
         (long long)made.result.iterations, cvtm_stop_name(made.result.stop));
  fixture_free(&made);
}

static void print_cases(void) {
  const int64_t sizes[] = {1, 2, 5, 40, PRINTED};
  int number = 0;
  for (int kind = 0; kind < 2; ++kind) {
    for (int s = 0; s < 5; ++s) {
      for (int mix = 0; mix < MIXES; ++mix) {
        const random_case c = {kind == 0 ? PROBLEM_QUADRATIC : PROBLEM_ROSENBROCK, sizes[s],
                               (bounds_mix)mix, 1 + number % 20, number % 2};
        if (kind == 1 && sizes[s] > 40) continue;
        print_case(&c, (uint64_t)(500 + number));
        number += 7;
      }
    }
  }
}

int main(int argc, char **argv) {
  device = test_device_open();
  if (argc > 1 && strcmp(argv[1], "--print") == 0) {
    print_cases();
    cvtm_device_destroy(device);
    return 0;
  }
  const int failed = cmocka_run_group_tests(testing_tests, NULL, NULL);
  cvtm_device_destroy(device);
  return failed;
}
