/* Obstacle problems on Dirichlet grids: known values, cycle counts, every method. */
#include "grid_problems.h"
#include "test_devices.h"

static cvtm_device *device;

static void assert_near(const char *what, double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance)) {
    fail_msg("%s: %.17g, not %.17g (within %g)", what, found, expected, tolerance);
  }
}

static void check_solved(const grid_case *g) {
  if (g->result.stop != CVTM_LCP_CONVERGED) {
    fail_msg("%s on %lld x %lld: stopped by %s after %lld, residual %g",
             cvtm_lcp_method_name(g->options.method), (long long)g->width, (long long)g->height,
             cvtm_lcp_stop_name(g->result.stop), (long long)g->result.iterations,
             g->result.natural_residual);
  }
  /* Two ways to round one residual: they differ by rounding errors of A x. */
  double size = 0;
  for (int64_t k = 0; k < g->width * g->height; ++k) size = fmax(size, fabs(g->x[k]));
  const double rounding = 1e-15 * 8 * size * sqrt((double)(g->width * g->height));
  assert_near("natural residual", grid_natural_residual(g, g->x), g->result.natural_residual,
              1e-3 * g->result.natural_residual + rounding);
  int64_t active = 0;
  for (int64_t k = 0; k < g->width * g->height; ++k) {
    if (g->lower) {
      if (!(g->x[k] >= g->lower[k])) fail_msg("x[%lld] is below its bound", (long long)k);
      active += g->x[k] <= g->lower[k];
    }
  }
  assert_int_equal(g->result.active_lower, active);
  assert_near("energy", g->result.energy, grid_energy(g), 1e-11 * fabs(g->result.energy));
}

static void solve_and_check(grid_case *g) {
  grid_case_solve(device, g);
  check_solved(g);
}

typedef struct known {
  obstacle kind;
  int64_t m, active, cycles; /* cycles: the most that tnnmg may take */
  double energy;             /* or the maximum error of the hemisphere */
  double sum;                /* h^2 sum x; 0: not known */
} known;

/* The energies were computed by an exact active-set method; its sum x'Ax rounds at 1e-12. */
static const known answers[] = {
    {MEMBRANE, 255, 5985, 7, -0.016671165377016, 0},
    {MEMBRANE, 1023, 94345, 7, -0.016671874567090, -0.0288658877589683},
    {TORSION, 255, 19304, 9, -0.418478722239221, 0},
    {TORSION, 1023, 309356, 9, -0.418493884739345, -0.146045779139804},
    {HEMISPHERE, 63, 421, 8, 5.991417e-4, 0},
    {HEMISPHERE, 255, 6377, 8, 9.339532e-5, 0},
};

TEST(test_known_answers) {
  for (size_t a = 0; a < sizeof answers / sizeof *answers; ++a) {
    const known *k = &answers[a];
    grid_case g = obstacle_make(k->kind, k->m);
    solve_and_check(&g);
    assert_int_equal(g.result.active_lower, k->active);
    if (g.result.iterations > k->cycles) {
      fail_msg("case %zu: %lld cycles, not at most %lld", a, (long long)g.result.iterations,
               (long long)k->cycles);
    }
    if (k->kind == HEMISPHERE) {
      assert_near("hemisphere", hemisphere_error(g.x, k->m), k->energy, 5e-7 * k->energy);
    } else {
      const double h = 1.0 / (double)(k->m + 1);
      assert_near("energy", g.result.energy, k->energy, 1e-12);
      long double sum = 0;
      for (int64_t n = 0; n < k->m * k->m; ++n) sum += g.x[n];
      /* The natural residual bounds the error of x to about 1e-8 of it. */
      if (k->sum != 0) assert_near("sum", (double)sum * h * h, k->sum, 1e-10);
    }
    grid_case_free(&g);
  }
}

/* Most cycles from a cold and from a nested start, m = 255. */
TEST(test_starts) {
  static const int64_t most[2][3] = {{72, 70, 50}, {7, 9, 8}};
  for (int kind = MEMBRANE; kind <= HEMISPHERE; ++kind) {
    for (int nested = 0; nested < 2; ++nested) {
      grid_case g = obstacle_make((obstacle)kind, 255);
      g.options.nested = nested;
      solve_and_check(&g);
      if (g.result.iterations > most[nested][kind]) {
        fail_msg("problem %d, nested %d: %lld cycles, not at most %lld", kind, nested,
                 (long long)g.result.iterations, (long long)most[nested][kind]);
      }
      grid_case_free(&g);
    }
  }
}

TEST(test_psor) {
  grid_case g = obstacle_make(MEMBRANE, 63);
  g.options.method = CVTM_LCP_PSOR;
  g.options.max_iterations = 20000;
  solve_and_check(&g);
  const int64_t plain = g.result.iterations;
  g.options.omega = 1.8;
  solve_and_check(&g);
  assert_true(g.result.iterations < plain / 2); /* what overrelaxation is for */
  g.options.max_iterations = 10;
  grid_case_solve(device, &g);
  assert_int_equal(g.result.stop, CVTM_LCP_ITERATIONS);
  assert_int_equal(g.result.iterations, 10);
  grid_case_free(&g);
}

TEST(test_linear) {
  grid_case g = obstacle_make(MEMBRANE, 127);
  free(g.lower);
  g.lower = NULL;
  solve_and_check(&g);
  assert_int_equal(g.result.active_lower + g.result.active_upper, 0);
  assert_true(g.result.iterations <= 12);
  grid_case_free(&g);
}

TEST(test_any_size) {
  static const int64_t sizes[][2] = {{1, 1},   {1, 2},   {2, 1},     {2, 2},    {3, 3},   {4, 4},
                                     {1, 40},  {57, 1},  {2, 33},    {5, 300},  {64, 64}, {100, 37},
                                     {96, 97}, {37, 10}, {1000, 37}, {30, 1000}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    grid_case g = grid_case_make(sizes[s][0], sizes[s][1]);
    const int64_t count = g.width * g.height;
    const double h = 1.0 / (double)((g.width < g.height ? g.width : g.height) + 1);
    g.lower = grid_doubles(count, -0.05);
    for (int64_t k = 0; k < count; ++k) g.b[k] = -h * h;
    solve_and_check(&g);
    if (g.result.iterations > 12) {
      fail_msg("%lld x %lld: %lld cycles", (long long)g.width, (long long)g.height,
               (long long)g.result.iterations);
    }
    grid_case_free(&g);
  }
}

/* A membrane whose links across are `aspect` times those down, give or take a fifth. */
static grid_case stretched_make(int64_t width, int64_t height, double aspect) {
  grid_case g = grid_case_make(width, height);
  const int64_t across = (width + 1) * height, down = width * (height + 1);
  const double w = (double)(width + 1), h = (double)(height + 1);
  g.horizontal = grid_doubles(across, aspect);
  g.vertical = grid_doubles(down, 1);
  for (int64_t k = 0; k < across; ++k)
    g.horizontal[k] *= 1 + 0.2 * sin(0.1 * (double)(k % (width + 1)));
  for (int64_t k = 0; k < down; ++k) g.vertical[k] *= 1 + 0.2 * cos(0.07 * (double)(k / width));
  g.lower = grid_doubles(width * height, -0.05);
  for (int64_t k = 0; k < width * height; ++k) g.b[k] = -(aspect / (w * w) + 1 / (h * h));
  return g;
}

/* Where links along one side are far stronger, coarse grids wait with the other one. */
TEST(test_stretched) {
  static const struct {
    int64_t width, height;
    double aspect;
  } grids[] = {{300, 37, 1e3}, {37, 300, 1e-3}, {64, 64, 1e4}, {65, 33, 1e-2},
               {127, 130, 10}, {2, 200, 50},    {200, 3, 1e5}, {1, 40, 100}};
  for (size_t k = 0; k < sizeof grids / sizeof *grids; ++k) {
    grid_case g = stretched_make(grids[k].width, grids[k].height, grids[k].aspect);
    solve_and_check(&g);
    if (g.result.iterations > 11) { /* 9 are needed */
      fail_msg("%lld x %lld: %lld cycles", (long long)g.width, (long long)g.height,
               (long long)g.result.iterations);
    }
    grid_case_free(&g);
  }
}

/* The first links decide on the layout, also where coefficients without links came before. */
TEST(test_first_links_after_constants) {
  const double aspects[] = {1e3, 1e-3};
  for (int k = 0; k < 2; ++k) {
    for (int method = CVTM_LCP_PSOR; method <= CVTM_LCP_TNNMG; ++method) {
      grid_case alone = stretched_make(61, 90, aspects[k]),
                after = stretched_make(61, 90, aspects[k]);
      grid_case before = grid_case_make(61, 90);
      before.constant = 1;
      alone.options.method = after.options.method = before.options.method = (cvtm_lcp_method)method;
      if (method == CVTM_LCP_PSOR)
        alone.options.max_iterations = before.options.max_iterations = 50;
      grid_case_solve(device, &alone);
      grid_run run = grid_run_open(device, &before), links = grid_run_open(device, &after);
      grid_run_solve(device, &run, &before, 0);
      assert_device_ok(device, cvtm_lcp_set_grid(run.lcp, &links.grid));
      assert_device_ok(device, cvtm_lcp_solve(run.lcp, links.b, links.lower, links.upper, links.x,
                                              0, &after.result));
      assert_device_ok(device,
                       cvtm_device_copy_out(device, after.x, links.x, 61 * 90 * sizeof(double)));
      assert_int_equal(after.result.iterations, alone.result.iterations);
      assert_memory_equal(after.x, alone.x, 61 * 90 * sizeof(double));
      /* And back: the layout stays, the answer is that of the first time. */
      assert_device_ok(device, cvtm_lcp_set_grid(run.lcp, &run.grid));
      grid_run_solve(device, &run, &before, 0);
      if (method != CVTM_LCP_PSOR) check_solved(&before);
      grid_run_close(device, &run);
      grid_run_close(device, &links);
      CALL_EACH(grid_case_free, grid_case, &alone, &after, &before);
    }
  }
}

static int collect(void *context, const cvtm_lcp_progress *progress) {
  double *seen = context;
  if ((int64_t)seen[0] != progress->iteration) fail_msg("iterations out of order");
  seen[0] += 1;
  seen[1] = progress->natural_residual;
  return seen[0] >= seen[2];
}

TEST(test_monitor) {
  double seen[3] = {0, 0, 1e9};
  grid_case g = obstacle_make(TORSION, 63);
  g.options.monitor = collect;
  g.options.monitor_context = seen;
  g.options.nested = 0;
  solve_and_check(&g);
  assert_int_equal((int64_t)seen[0], g.result.iterations + 1);
  assert_true(seen[1] == g.result.natural_residual);
  seen[0] = 0;
  seen[2] = 3;
  grid_case_solve(device, &g);
  assert_int_equal(g.result.stop, CVTM_LCP_INTERRUPTED);
  assert_true(g.result.iterations < 10);
  grid_case_free(&g);
}

TEST(test_reruns_and_threads) {
  grid_case first = obstacle_make(TORSION, 130), again = obstacle_make(TORSION, 130);
  grid_case_solve(device, &first);
  cvtm_device *one = test_device_open_threads(1);
  grid_case_solve(one, &again);
  cvtm_device_destroy(one);
  assert_memory_equal(first.x, again.x, (size_t)(130 * 130) * sizeof(double));
  assert_true(first.result.natural_residual == again.result.natural_residual);
  CALL_EACH(grid_case_free, grid_case, &first, &again);
}

/* Whatever device this runs on follows the CPU's iterates to rounding: cycles that amplify
 * nothing, so a difference stays near machine precision. */
static void check_agreement(cvtm_device *cpu, int64_t m, int method) {
  grid_case here = obstacle_make(TORSION, m), there = obstacle_make(TORSION, m);
  here.options.method = there.options.method = (cvtm_lcp_method)method;
  here.options.max_iterations = there.options.max_iterations = 3;
  grid_case_solve(device, &here);
  grid_case_solve(cpu, &there);
  for (int64_t k = 0; k < m * m; ++k) {
    if (!(fabs(here.x[k] - there.x[k]) <= 1e-14)) {
      fail_msg("method %d, m = %lld: x[%lld] = %.17g and %.17g", method, (long long)m, (long long)k,
               here.x[k], there.x[k]);
    }
  }
  CALL_EACH(grid_case_free, grid_case, &here, &there);
}

TEST(test_devices_agree) {
  cvtm_device *cpu = test_cpu_open(1);
  for (int method = CVTM_LCP_PSOR; method <= CVTM_LCP_TNNMG; ++method) {
    check_agreement(cpu, 140, method);
    check_agreement(cpu, 203, method); /* rows that begin at odd places */
  }
  cvtm_device_destroy(cpu);
}

/* The plain kernels, which CUDA's specialised ones replace: all of them, then those of one name. */
TEST(test_plain_kernels_agree) {
  static const char *const names[] = {"grid", "march", "tiles", "tail", "bilinear", "pdl"};
  cvtm_device *cpu = test_cpu_open(1);
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    assert_int_equal(setenv("CVTMESH_PLAIN", names[k], 1), 0);
    for (int method = CVTM_LCP_PSOR; method <= CVTM_LCP_TNNMG; ++method) {
      check_agreement(cpu, k % 2 ? 140 : 203, method);
    }
    grid_case g = obstacle_make(TORSION, 255);
    solve_and_check(&g);
    assert_int_equal(g.result.active_lower, 19304);
    grid_case_free(&g);
  }
  assert_int_equal(unsetenv("CVTMESH_PLAIN"), 0);
  cvtm_device_destroy(cpu);
}

TEST(test_warm_start) {
  grid_case g = obstacle_make(TORSION, 255);
  grid_run run = grid_run_open(device, &g);
  grid_run_solve(device, &run, &g, 0);
  grid_run_solve(device, &run, &g, 1);
  check_solved(&g);
  assert_int_equal(g.result.iterations, 0);
  grid_run_close(device, &run);
  grid_case_free(&g);
}

TEST(test_refusals) {
  grid_case g = obstacle_make(MEMBRANE, 20);
  g.upper = grid_doubles(400, 1);
  g.upper[123] = -0.06;
  grid_run run = grid_run_open(device, &g);
  assert_int_not_equal(cvtm_lcp_solve(run.lcp, run.b, run.lower, run.upper, run.x, 0, &g.result),
                       CVTM_OK);
  assert_non_null(strstr(cvtm_device_error(device)->message, "12"));
  grid_run_close(device, &run);
  g.upper[123] = 1;
  g.b[77] = NAN;
  run = grid_run_open(device, &g);
  assert_int_not_equal(cvtm_lcp_solve(run.lcp, run.b, run.lower, run.upper, run.x, 0, &g.result),
                       CVTM_OK);
  cvtm_lcp_grid wrong = run.grid;
  wrong.width = 21;
  assert_int_equal(cvtm_lcp_set_grid(run.lcp, &wrong), CVTM_ERROR_ARGUMENT);
  wrong = run.grid;
  wrong.constant = NAN;
  assert_int_equal(cvtm_lcp_set_grid(run.lcp, &wrong), CVTM_ERROR_ARGUMENT);
  grid_run_close(device, &run);
  cvtm_lcp *none = NULL;
  assert_int_not_equal(cvtm_lcp_create_grid(device, 0, 5, &g.options, &none), CVTM_OK);
  g.options.method = CVTM_LCP_PDAS;
  assert_int_not_equal(cvtm_lcp_create_grid(device, 5, 5, &g.options, &none), CVTM_OK);
  assert_null(none);
  grid_case_free(&g);
}

TEST_DEVICE_MAIN_AS(device, 0)
