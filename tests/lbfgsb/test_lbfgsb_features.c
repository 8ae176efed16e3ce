/* Tests of reverse communication, saved, restored and resumed runs, batches, the exact Cauchy
 * point, and data on the host; and comparisons of both devices. */
#include "base/device_kernels.h"
#include "problems.h"
#include "test_devices.h"

static cvtm_device *device;

static void assert_same_bits(const double *a, const double *b, int64_t n) {
  assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static cvtm_status evaluate_at(opened *open, const cvtm_lbfgsb_evaluation *at) {
  return open->objective(open->context, at->x, at->f, at->g, cvtm_device_stream(device));
}

/* At most `most` evaluations (0: until it stops). */
static void advance(opened *open, const cvtm_lbfgsb_evaluation *at, int most) {
  int running = 1;
  for (int k = 0; running && (most == 0 || k < most); ++k) {
    assert_device_ok(device, evaluate_at(open, at));
    assert_device_ok(device, cvtm_lbfgsb_advance(open->solver, &running));
  }
}

static fixture make_torsion(int64_t iterations) {
  fixture made = fixture_torsion(device, 23, 31);
  made.options.max_iterations = iterations;
  return made;
}

TEST(test_reverse_communication) {
  fixture made = make_torsion(40), reverse = make_torsion(40);
  opened open;
  cvtm_lbfgsb_evaluation at;
  assert_device_ok(device, fixture_minimize(&made));
  fixture_open(&reverse, &open);
  assert_int_equal(cvtm_lbfgsb_finish(open.solver, open.x, NULL), CVTM_ERROR_ARGUMENT);
  assert_device_ok(device, cvtm_lbfgsb_start(open.solver, open.x, &at));
  advance(&open, &at, 0);
  assert_device_ok(device, cvtm_lbfgsb_finish(open.solver, open.x, &reverse.result));
  fixture_close(&reverse, &open);
  assert_same_bits(made.x, reverse.x, made.p.n);
  assert_int_equal(made.result.evaluations, reverse.result.evaluations);
  assert_int_equal(reverse.result.stop, CVTM_STOP_ITERATIONS);
  assert_int_equal(reverse.outside, 0);
  CALL_EACH(fixture_free, fixture, &made, &reverse);
}

/* A run saved in the middle of a line search and continued in another solver ends with the same
 * bits as one that was not interrupted. */
TEST(test_save) {
  fixture made = make_torsion(40), saved = make_torsion(40), restored = make_torsion(40);
  opened first, second;
  cvtm_lbfgsb_evaluation at;
  assert_device_ok(device, fixture_minimize(&made));

  fixture_open(&saved, &first);
  assert_device_ok(device, cvtm_lbfgsb_start(first.solver, first.x, &at));
  advance(&first, &at, 17);
  const size_t size = cvtm_lbfgsb_save_bytes(first.solver);
  char *bytes = malloc(size);
  assert_device_ok(device, cvtm_lbfgsb_save(first.solver, bytes));
  fixture_close(&saved, &first);

  fixture_open(&restored, &second);
  assert_int_equal(cvtm_lbfgsb_restore(second.solver, bytes, size - 1, &at), CVTM_ERROR_INPUT);
  assert_int_equal(cvtm_lbfgsb_restore(second.solver, bytes, 3, &at), CVTM_ERROR_INPUT);
  assert_device_ok(device, cvtm_lbfgsb_restore(second.solver, bytes, size, &at));
  advance(&second, &at, 0);
  assert_device_ok(device, cvtm_lbfgsb_finish(second.solver, second.x, &restored.result));
  bytes[0] ^= 1;
  assert_int_equal(cvtm_lbfgsb_restore(second.solver, bytes, size, &at), CVTM_ERROR_INPUT);
  fixture_close(&restored, &second);
  assert_same_bits(made.x, restored.x, made.p.n);
  assert_int_equal(made.result.evaluations, restored.result.evaluations);
  free(bytes);
  CALL_EACH(fixture_free, fixture, &made, &saved, &restored);
}

TEST(test_save_of_another_shape) {
  fixture made = make_torsion(5), other = fixture_torsion(device, 23, 32);
  opened open, unlike;
  fixture_open(&made, &open);
  fixture_open(&other, &unlike);
  const size_t size = cvtm_lbfgsb_save_bytes(open.solver);
  char *bytes = malloc(size);
  assert_int_equal(cvtm_lbfgsb_save(open.solver, bytes), CVTM_ERROR_ARGUMENT); /* no run yet */
  opened_minimize(&open, &made);
  assert_device_ok(device, cvtm_lbfgsb_save(open.solver, bytes));
  assert_int_equal(cvtm_lbfgsb_restore(unlike.solver, bytes, size, NULL), CVTM_ERROR_INPUT);
  assert_int_equal(
      cvtm_lbfgsb_resume(unlike.solver, unlike.x, unlike.objective, unlike.context, NULL),
      CVTM_ERROR_ARGUMENT);
  free(bytes);
  fixture_close(&made, &open);
  fixture_close(&other, &unlike);
  CALL_EACH(fixture_free, fixture, &made, &other);
}

/* 13 and then 27 iterations give the bits of 40, as a graph and round by round. */
TEST(test_resume) {
  for (int by_host = 0; by_host <= 1; ++by_host) {
    fixture made = make_torsion(40), parts = make_torsion(13);
    opened open;
    made.options.host_rounds = parts.options.host_rounds = by_host;
    assert_device_ok(device, fixture_minimize(&made));
    fixture_open(&parts, &open);
    opened_minimize(&open, &parts);
    assert_int_equal(parts.result.iterations, 13);
    opened_resume(&open, &parts);
    assert_int_equal(parts.result.iterations, 13); /* the limit is still that */
    parts.options.max_iterations = 40;
    assert_device_ok(device, cvtm_lbfgsb_set_options(open.solver, &parts.options));
    opened_resume(&open, &parts);
    fixture_close(&parts, &open);
    assert_int_equal(parts.result.iterations, 40);
    assert_int_equal(parts.result.evaluations, made.result.evaluations);
    assert_same_bits(made.x, parts.x, made.p.n);
    CALL_EACH(fixture_free, fixture, &made, &parts);
  }
}

/* The exact Cauchy point leads to the minimum with every mix of bounds. */
TEST(test_exact_cauchy) {
  const int64_t sizes[] = {1, 5, 64, 1000};
  for (int s = 0; s < 4; ++s) {
    for (int mix = FREE; mix <= FIXED_SOME; ++mix) {
      fixture made =
          fixture_random_quadratic(device, sizes[s], (bounds_mix)mix, (uint64_t)(7 * s + mix));
      made.options.cauchy = CVTM_LBFGSB_CAUCHY_EXACT;
      made.options.gradient_tolerance = 2e-8;
      made.options.max_iterations = 5000;
      fixture_ends_by(&made, CVTM_STOP_GRADIENT);
      fixture_check_conditions(&made, 1e-7);
      assert_int_equal(made.outside, 0);
      fixture_free(&made);
    }
  }
}

/* More breakpoints at the same t than one block sorts: equal bounds, equal slopes. */
TEST(test_exact_cauchy_ties) {
  enum { N = 12000 };
  fixture made = fixture_make(device, PROBLEM_QUADRATIC, N);
  made.diagonal = fixture_doubles(N, 1.0);
  made.linear = fixture_doubles(N, 1.0);
  for (int64_t i = 0; i < N; ++i) {
    made.diagonal[i] = i % 3 == 0 ? 30.0 : 1.0;
    made.upper[i] = i % 3 == 0 ? 5.0 : 0.5 + 1e-9 * (double)(i % 4);
    made.x[i] = -1.0;
  }
  made.options.cauchy = CVTM_LBFGSB_CAUCHY_EXACT;
  made.options.gradient_tolerance = 1e-9;
  made.options.max_iterations = 100;
  fixture_ends_by(&made, CVTM_STOP_GRADIENT);
  for (int64_t i = 0; i < N; ++i) {
    assert_near(made.x[i], i % 3 == 0 ? 1.0 / 30.0 : made.upper[i], 1e-9);
  }
  fixture_free(&made);
}

TEST(test_exact_cauchy_torsion) {
  fixture made = fixture_torsion(device, 50, 50);
  made.options.cauchy = CVTM_LBFGSB_CAUCHY_EXACT;
  made.options.gradient_tolerance = 1e-8;
  fixture_ends_by(&made, CVTM_STOP_GRADIENT);
  assert_near(made.result.f, -0.418087632020, 1e-11);
  fixture_free(&made);
}

/* A batch of quadratics without coupling, evaluated on the host by reverse communication. */
typedef struct batch_problem {
  int64_t problems, n;
  const double *diagonal, *linear;
} batch_problem;

static void evaluate_batch(const batch_problem *p, const double *x, double *f, double *g) {
  for (int64_t b = 0; b < p->problems; ++b) {
    double sum = 0.0;
    for (int64_t i = b * p->n; i < (b + 1) * p->n; ++i) {
      g[i] = p->diagonal[i] * x[i] - p->linear[i];
      sum += 0.5 * p->diagonal[i] * x[i] * x[i] - p->linear[i] * x[i];
    }
    f[2 * b] = sum;
    f[2 * b + 1] = 0.0;
  }
}

/* Each problem of a batch reaches its own minimum; the problems stop at different times. */
TEST(test_batch) {
  enum { PROBLEMS = 9, N = 70, ALL = PROBLEMS * N };
  double diagonal[ALL], linear[ALL], lower[ALL], upper[ALL], x[ALL], f[2 * PROBLEMS], g[ALL];
  cvtm_lbfgsb_result results[PROBLEMS];
  uint64_t seed = 5;
  for (int64_t i = 0; i < ALL; ++i) {
    diagonal[i] = pow(10.0, (double)(i / N) * 0.25 * random_unit(&seed));
    linear[i] = 10.0 * (random_unit(&seed) - 0.5);
    lower[i] = i % 2 ? -0.5 : -INFINITY;
    upper[i] = i % 3 ? 0.75 : INFINITY;
    x[i] = 0.25;
  }
  const batch_problem all = {PROBLEMS, N, diagonal, linear};
  DEFAULT_OPTIONS(cvtm_lbfgsb, options);
  options.gradient_tolerance = 1e-8;
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_evaluation at;
  assert_device_ok(device, cvtm_lbfgsb_create_batch(device, PROBLEMS, N, &options, &solver));
  const double *low = fixture_send(device, lower, ALL), *high = fixture_send(device, upper, ALL);
  double *on_device = (double *)(uintptr_t)fixture_send(device, x, ALL);
  assert_device_ok(device, cvtm_lbfgsb_set_bounds(solver, low, high));
  assert_device_ok(device, cvtm_lbfgsb_start(solver, on_device, &at));
  int running = 1;
  while (running) {
    double trial[ALL];
    assert_device_ok(device, cvtm_device_copy_out(device, trial, at.x, sizeof trial));
    for (int i = 0; i < ALL; ++i) assert_true(trial[i] >= lower[i] && trial[i] <= upper[i]);
    evaluate_batch(&all, trial, f, g);
    assert_device_ok(device, cvtm_device_copy_in(device, at.f, f, sizeof f));
    assert_device_ok(device, cvtm_device_copy_in(device, at.g, g, sizeof g));
    assert_device_ok(device, cvtm_lbfgsb_advance(solver, &running));
  }
  assert_device_ok(device, cvtm_lbfgsb_finish(solver, on_device, results));
  assert_device_ok(device, cvtm_device_copy_out(device, x, on_device, sizeof x));
  assert_true(results[0].iterations < results[PROBLEMS - 1].iterations);
  for (int64_t i = 0; i < ALL; ++i) {
    assert_int_equal(results[i / N].stop, CVTM_STOP_GRADIENT);
    const double best = fmin(fmax(linear[i] / diagonal[i], lower[i]), upper[i]);
    assert_near(x[i], best, 2e-8); /* curvatures are 1 or more */
  }
  cvtm_lbfgsb_destroy(solver);
  device_free_all(device, (void *)(uintptr_t)low, (void *)(uintptr_t)high, on_device);
}

/* Solves `problems` quadratics of `n` variables, and does not wait for each third round; results
 * and x are those of the first. Returns the sum over all rounds of the number of problems that ran.
 */
static int64_t solve_batch(const batch_problem *all, const double *lower, const double *upper,
                           double *x, cvtm_lbfgsb_result *results) {
  enum { MOST = 400 };
  const int64_t count = all->problems * all->n;
  double trial[MOST], f[MOST], g[MOST];
  DEFAULT_OPTIONS(cvtm_lbfgsb, options);
  options.gradient_tolerance = 1e-6; /* above sqrt(rounding of f times curvature) = 3e-7 */
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_evaluation at;
  int64_t ran = 0;
  assert_true(count <= MOST);
  assert_device_ok(device,
                   cvtm_lbfgsb_create_batch(device, all->problems, all->n, &options, &solver));
  const double *low = fixture_send(device, lower, count),
               *high = fixture_send(device, upper, count);
  double *on_device = (double *)(uintptr_t)fixture_send(device, x, count);
  assert_device_ok(device, cvtm_lbfgsb_set_bounds(solver, low, high));
  assert_device_ok(device, cvtm_lbfgsb_start(solver, on_device, &at));
  const size_t bytes = (size_t)count * sizeof(double);
  for (int running = 1, round = 0; running; ++round) {
    int64_t stride = 0;
    const int *first = cvtm_lbfgsb_running(solver, &stride);
    assert_device_ok(device, cvtm_device_copy_out(device, trial, at.x, bytes));
    evaluate_batch(all, trial, f, g);
    for (int64_t p = 0; p < all->problems; ++p) {
      int runs = 0;
      assert_device_ok(device,
                       cvtm_device_copy_out(device, &runs, first + p * stride, sizeof runs));
      ran += runs;
      if (!runs) f[2 * p] = g[p * all->n] = NAN; /* not used */
    }
    const size_t values = 2 * (size_t)all->problems * sizeof(double);
    assert_device_ok(device, cvtm_device_copy_in(device, at.f, f, values));
    assert_device_ok(device, cvtm_device_copy_in(device, at.g, g, bytes));
    assert_device_ok(device, cvtm_lbfgsb_advance(solver, round % 3 == 0 ? &running : NULL));
    if (round % 3 == 1) assert_device_ok(device, cvtm_lbfgsb_poll(solver, &running));
  }
  assert_device_ok(device, cvtm_lbfgsb_finish(solver, on_device, results));
  assert_device_ok(device, cvtm_device_copy_out(device, x, on_device, bytes));
  cvtm_lbfgsb_destroy(solver);
  device_free_all(device, (void *)(uintptr_t)low, (void *)(uintptr_t)high, on_device);
  return ran;
}

/* A problem has the same bits beside problems with other bounds, or none, as beside a copy. */
static void check_mixed_bounds(int n) {
  enum { PROBLEMS = 6, MOST = 40, ALL = PROBLEMS * MOST };
  double diagonal[ALL], linear[ALL], lower[ALL], upper[ALL], x[ALL];
  cvtm_lbfgsb_result results[PROBLEMS];
  int64_t evaluations = 0;
  uint64_t seed = 8;
  for (int64_t i = 0; i < PROBLEMS * n; ++i) {
    const int64_t p = i / n; /* 0, 3: no bounds; 1, 4: all bounds; 2, 5: some */
    diagonal[i] = pow(10.0, 3.0 * random_unit(&seed));
    linear[i] = 10.0 * (random_unit(&seed) - 0.5);
    lower[i] = p % 3 == 1 || (p % 3 == 2 && i % 2) ? -0.05 : -INFINITY;
    upper[i] = p % 3 == 1 ? 0.07 : INFINITY;
    x[i] = random_unit(&seed);
  }
  double together[ALL];
  memcpy(together, x, sizeof x);
  const batch_problem all = {PROBLEMS, n, diagonal, linear};
  const int64_t ran = solve_batch(&all, lower, upper, together, results);
  for (int p = 0; p < PROBLEMS; ++p) {
    double two[5][2 * MOST];
    const double *from[] = {diagonal, linear, lower, upper, x};
    cvtm_lbfgsb_result pair[2];
    for (int k = 0; k < 10; ++k)
      memcpy(two[k / 2] + k % 2 * n, from[k / 2] + (ptrdiff_t)p * n, (size_t)n * sizeof(double));
    const batch_problem copies = {2, n, two[0], two[1]};
    solve_batch(&copies, two[2], two[3], two[4], pair);
    assert_memory_equal(two[4], together + (ptrdiff_t)p * n, (size_t)n * sizeof(double));
    assert_memory_equal(two[4], two[4] + n, (size_t)n * sizeof(double));
    assert_int_equal(pair[0].stop, CVTM_STOP_GRADIENT);
    assert_int_equal(pair[0].evaluations, results[p].evaluations);
    evaluations += pair[0].evaluations;
  }
  assert_int_equal(ran, evaluations);
}

TEST(test_batch_of_mixed_bounds) { check_mixed_bounds(40); }
TEST(test_batch_of_few_variables) { check_mixed_bounds(6); }

static double host_quadratic(void *context, const double *x, double *g) {
  const fixture *made = context;
  double value = 0.0;
  for (int64_t i = 0; i < made->p.n; ++i) value += problem_row(&made->p, x, i, g + i);
  return value;
}

static double undefined_objective(void *context, const double *x, double *g) {
  (void)context;
  g[0] = x[0];
  return (double)NAN;
}

/* x is not moved into the box either. */
TEST(test_host_failure_leaves_x) {
  const double lower = 0, upper = 1;
  double x = 2;
  assert_int_equal(cvtm_lbfgsb_minimize_host(device, 1, &lower, &upper, &x, undefined_objective,
                                             NULL, NULL, NULL),
                   CVTM_ERROR_EVALUATION);
  assert_true(x == 2);
}

TEST(test_host) {
  fixture made = fixture_random_quadratic(device, 300, MIXED, 3);
  made.p.diagonal = made.diagonal;
  made.p.linear = made.linear;
  made.options.gradient_tolerance = 2e-8;
  assert_device_ok(
      device, cvtm_lbfgsb_minimize_host(device, 300, made.lower, made.upper, made.x, host_quadratic,
                                        &made, &made.options, &made.result));
  assert_int_equal(made.result.stop, CVTM_STOP_GRADIENT);
  fixture_check_conditions(&made, 1e-7);
  made.lower[11] = made.upper[11] + 1.0;
  assert_int_equal(cvtm_lbfgsb_minimize_host(device, 300, made.lower, made.upper, made.x,
                                             host_quadratic, &made, &made.options, &made.result),
                   CVTM_ERROR_ARGUMENT);
  assert_non_null(strstr(cvtm_device_error(device)->message, "variable 11"));
  fixture_free(&made);
}

/* More iterations than the mailbox holds, with a monitor that is slow at first. */
typedef struct counter {
  int64_t next;
  int ordered;
} counter;

static int count(void *context, const cvtm_lbfgsb_progress *progress) {
  counter *kept = context;
  kept->ordered &= progress->iteration == kept->next;
  kept->next++;
  if (kept->next == 3) {
    double x = 1.0;
    for (int64_t i = 0; i < 20000000; ++i) x = x * 0.5 + 1.0;
    kept->ordered &= x > 1.0;
  }
  return 0;
}

TEST(test_no_record_is_lost) {
  fixture made = fixture_make(device, PROBLEM_ROSENBROCK, 1500);
  counter kept = {0, 1};
  for (int64_t i = 0; i < 1500; ++i) made.x[i] = i % 2 ? 1.0 : -1.2;
  made.options.max_iterations = 2600;
  made.options.monitor = count;
  made.options.monitor_context = &kept;
  assert_device_ok(device, fixture_minimize(&made));
  assert_true(made.result.iterations > 1500);
  assert_int_equal(kept.next, made.result.iterations + 1);
  assert_true(kept.ordered);
  fixture_free(&made);
}

enum { COMPARED = 10 };

typedef struct path {
  cvtm_lbfgsb_progress steps[COMPARED + 1];
} path;

static int keep_path(void *context, const cvtm_lbfgsb_progress *progress) {
  path *kept = context;
  if (progress->iteration <= COMPARED) kept->steps[progress->iteration] = *progress;
  return 0;
}

static fixture make_compared(cvtm_device *on, int which) {
  if (which == 0) return fixture_torsion(on, 40, 50);
  if (which == 1) return fixture_bearing(on, 30, 40, 0.1, 10.0);
  return fixture_random_quadratic(on, 5000, MIXED, 1);
}

/* Sums differ in their order only, so ten iterations differ by little more than rounding, and
 * the minimum not at all. */
TEST(test_devices_agree) {
  cvtm_device *cpu = test_cpu_open(1);
  for (int which = 0; which < 3; ++which) {
    for (int exact = 0; exact <= 1; ++exact) {
      fixture made[2] = {make_compared(cpu, which), make_compared(device, which)};
      path paths[2];
      for (int d = 0; d < 2; ++d) {
        made[d].options.cauchy = exact ? CVTM_LBFGSB_CAUCHY_EXACT : CVTM_LBFGSB_CAUCHY_APPROXIMATE;
        made[d].options.gradient_tolerance = 1e-9;
        made[d].options.max_iterations = 3000;
        made[d].options.monitor = keep_path;
        made[d].options.monitor_context = &paths[d];
        fixture_ends_by(&made[d], CVTM_STOP_GRADIENT);
      }
      for (int k = 0; k <= COMPARED; ++k) {
        const cvtm_lbfgsb_progress *a = &paths[0].steps[k], *b = &paths[1].steps[k];
        assert_int_equal(a->evaluations, b->evaluations);
        assert_int_equal(a->active, b->active);
        assert_near(a->f, b->f, 1e-10 * fabs(a->f));
        assert_near(a->step, b->step, 1e-8 * a->step);
        assert_near(a->projected_gradient, b->projected_gradient, 1e-7 * a->projected_gradient);
      }
      assert_near(made[0].result.f, made[1].result.f, 1e-10 * fabs(made[0].result.f));
      CALL_EACH(fixture_free, fixture, &made[0], &made[1]);
    }
  }
  cvtm_device_destroy(cpu);
}

static cvtm_status trial; /* what loop_try returns */
static int trials;

static cvtm_status fake_trial(cvtm_device *on, cvtm_loop_body body, void *context) {
  (void)body, (void)context;
  ++trials;
  return trial == CVTM_OK ? CVTM_OK : cvtm_fail(cvtm_device_error(on), trial, "the trial failed");
}

/* The host runs the loop if it cannot be captured; a trial capture that fails for another reason
 * ends the run. The CPU device is made to look like a CUDA device, so that a capture is tried. */
TEST(test_failed_trial) {
  static const cvtm_status outcomes[] = {CVTM_ERROR_UNSUPPORTED, CVTM_ERROR_MEMORY,
                                         CVTM_ERROR_DEVICE};
  cvtm_device *cpu = test_cpu_open(1);
  const cvtm_device_table *own = cpu->table;
  cvtm_device_table fake = *own;
  fake.loop_try = fake_trial;
  for (size_t k = 0; k < sizeof outcomes / sizeof outcomes[0]; ++k) {
    fixture made = fixture_torsion(cpu, 9, 9);
    opened open;
    fixture_open(&made, &open);
    trial = outcomes[k];
    trials = 0;
    cpu->table = &fake;
    cpu->kind = CVTM_DEVICE_CUDA;
    const cvtm_status status =
        cvtm_lbfgsb_minimize(open.solver, open.x, open.objective, open.context, &made.result);
    cpu->table = own;
    cpu->kind = CVTM_DEVICE_CPU;
    assert_int_equal(trials, 1);
    assert_int_equal(status, trial == CVTM_ERROR_UNSUPPORTED ? CVTM_OK : trial);
    if (status == CVTM_OK)
      assert_int_equal(made.result.captured, 0);
    else
      assert_string_equal(cvtm_device_error(cpu)->message, "the trial failed");
    fixture_close(&made, &open);
    fixture_free(&made);
  }
  cvtm_device_destroy(cpu);
}

TEST_DEVICE_MAIN_AS(device, 0)
