/* Cells of equal mass against power cells cut and integrated in another way, against closed forms,
 * and against what a solution must be: symmetric where its data are, cheaper with every step, the
 * same on every run. */
#include "cvt/equal_mass.h"
#include "tests/cvt/reference_cells.h"
#include "tests/test_devices.h"

static void scatter(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = d.width * uniform();
    sites[2 * i + 1] = d.height * uniform();
  }
}

/* From 1 to 100, in waves. */
static void paint_graded(cvtm_domain d, float *rho) {
  for (int y = 0; y < d.height; ++y)
    for (int x = 0; x < d.width; ++x)
      rho[y * d.width + x] = (float)pow(100, 0.5 + 0.5 * sin(0.37 * x) * cos(0.21 * y));
}

/* A band without density between two parts of different mass. */
static void paint_islands(cvtm_domain d, float *rho) {
  for (int y = 0; y < d.height; ++y)
    for (int x = 0; x < d.width; ++x)
      rho[y * d.width + x] = 3 * x < d.width ? 1.0F : 3 * x < 2 * d.width ? 0.0F : 2.5F;
}

static double sum_of(cvtm_domain d, const float *rho) {
  double sum = 0;
  for (int p = 0; p < d.width * d.height; ++p) sum += (double)rho[p];
  return sum;
}

/* A device and a plan. */
typedef struct bench {
  cvtm_device *device;
  cvtm_cvt *cvt;
} bench;

static bench open_bench(cvtm_domain d, const float *rho, int n, int threads) {
  bench b = {test_device_open_threads(threads), NULL};
  assert_device_ok(b.device, cvtm_cvt_create(b.device, d, rho, n, &b.cvt));
  return b;
}

static void close_bench(bench *b) {
  cvtm_cvt_destroy(b->cvt);
  cvtm_device_destroy(b->device);
}

/* Balances the sites; masses and cost then agree with those of the reference's cells for the
 * weights that were returned: 1e-9 of a cell's mass leaves room for the rounding of corners where
 * densities are 100:1. */
static void check_weights(cvtm_domain d, const float *rho, const double *sites, int n) {
  bench b = open_bench(d, rho, n, 0);
  double *weights = doubles(n), *mass = doubles(n);
  const cvtm_cvt_moments moments = {mass, NULL, NULL};
  const double target = sum_of(d, rho) / n;
  cvtm_equal_mass_result result;
  assert_device_ok(b.device,
                   cvtm_equal_mass_weights(b.cvt, sites, n, 1e-10, weights, &moments, &result));
  assert_true(result.converged && result.deviation <= 1e-10);
  assert_true(fabs(result.target - target) <= 1e-12 * target);
  real cost = 0;
  double mean = 0;
  for (int i = 0; i < n; ++i) {
    real sums[6];
    reference_sums(d, rho, sites, weights, n, i, sums);
    cost += sums[3];
    mean += weights[i] / n;
    if (!(fabsl(sums[0] - target) <= 1e-9L * target && fabs(mass[i] - target) <= 1e-9 * target))
      fail_msg("site %d of %d: mass %.17Lg, said %.17g, wanted %.17g", i, n, sums[0], mass[i],
               target);
  }
  assert_true(fabs(mean) <= 1e-12 * d.width * d.width);
  assert_true(fabsl(cost - (real)result.descent.objective) <= 1e-10L * cost);
  close_bench(&b);
  free_all(weights, mass);
}

TEST(test_masses_of_given_sites) {
  static float rho[48 * 40];
  double sites[2 * 60];
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain d = {48, 40, periodic};
    state = 5;
    paint_graded(d, rho);
    for (int n = 1; n <= 60; n = 4 * n - 1) {
      scatter(d, sites, n);
      check_weights(d, rho, sites, n);
    }
    paint_islands(d, rho);
    scatter(d, sites, 30);
    check_weights(d, rho, sites, 30);
  }
}

/* All mass in one pixel, which the cells of sites everywhere must share. */
TEST(test_one_pixel) {
  const cvtm_domain d = {16, 16, 0};
  float rho[256] = {0};
  double sites[2 * 20];
  rho[5 * 16 + 9] = 2;
  state = 11;
  scatter(d, sites, 20);
  check_weights(d, rho, sites, 20);
}

/* A site with many neighbours on a circle around it, more than a cell has room for at first. */
TEST(test_hub) {
  const cvtm_domain d = {32, 32, 0};
  static float rho[1024];
  double sites[2 * 91] = {16, 16};
  for (int p = 0; p < 1024; ++p) rho[p] = 1;
  for (int i = 1; i <= 90; ++i) {
    sites[2 * i] = 16 + 3.5 * cos(i * 0.0698131700797732);
    sites[2 * i + 1] = 16 + 3.5 * sin(i * 0.0698131700797732);
  }
  check_weights(d, rho, sites, 91);
}

/* Two sites on a line: with t = (x_1 + x_2) / 2 + (w_1 - w_2) / (2 (x_2 - x_1)) the border of the
 * cells, mass to the left of t is half of all. The density rises by columns. */
TEST(test_two_sites) {
  enum { W = 40, H = 8 };
  const cvtm_domain d = {W, H, 0};
  float rho[W * H];
  const double sites[4] = {7.25, 3.5, 12.5, 3.5};
  double weights[2], column = 0, left = 0, half = 0;
  for (int p = 0; p < W * H; ++p) rho[p] = (float)(1 + p % W);
  half = sum_of(d, rho) / (2 * H);
  while (left + (1 + column) <= half) left += 1 + column++;
  const double t = column + (half - left) / (1 + column);
  bench b = open_bench(d, rho, 2, 0);
  assert_device_ok(b.device, cvtm_equal_mass_weights(b.cvt, sites, 2, 1e-12, weights, NULL, NULL));
  const double expected = (t - 0.5 * (7.25 + 12.5)) * 2 * (12.5 - 7.25);
  assert_true(fabs(weights[0] - weights[1] - expected) <= 1e-10 * expected);
  assert_true(fabs(weights[0] + weights[1]) <= 1e-10 * expected);
  close_bench(&b);
}

/* The cells of a square lattice are equal as they are. */
TEST(test_lattice) {
  const cvtm_domain d = {24, 24, 0};
  static float rho[576];
  double sites[2 * 64], weights[64];
  cvtm_equal_mass_result result;
  for (int p = 0; p < 576; ++p) rho[p] = 0.5F;
  for (int i = 0; i < 64; ++i) {
    sites[2 * i] = 1.5 + 3 * (i % 8);
    sites[2 * i + 1] = 1.5 + 3 * (i / 8);
  }
  bench b = open_bench(d, rho, 64, 0);
  assert_device_ok(b.device,
                   cvtm_equal_mass_weights(b.cvt, sites, 64, 1e-12, weights, NULL, &result));
  for (int i = 0; i < 64; ++i) assert_true(fabs(weights[i]) <= 1e-12);
  assert_true(fabs(result.descent.objective - 64 * 0.5 * 9 * 9 / 6) <= 1e-10);
  close_bench(&b);
}

/* --- sites that move -------------------------------------------------------------------- */

typedef struct trace {
  double last;
  int count, risen;
} trace;

static int follow(void *context, const cvtm_cvt_record *record) {
  trace *t = context;
  if (record->sites == 0) return 0;
  /* The masses are balanced to 1e-6, which leaves the cost uncertain by 1e-10 for these sizes. */
  if (t->count++ > 0 && record->energy > t->last * (1 + 1e-9)) t->risen = 1;
  t->last = record->energy;
  return 0;
}

static void solve(cvtm_domain d, const float *rho, int n, int fixed, cvtm_cvt_method method,
                  int threads, double *sites, double *weights, cvtm_equal_mass_result *result) {
  bench b = open_bench(d, rho, n, threads);
  DEFAULT_OPTIONS(cvtm_cvt, options);
  trace t = {0, 0, 0};
  options.method = method;
  options.fixed = fixed;
  options.max_iterations = 80;
  options.monitor = follow;
  options.monitor_context = &t;
  assert_device_ok(b.device, cvtm_equal_mass_solve(b.cvt, &options, 1e-9, fixed, sites, weights, n,
                                                   NULL, result));
  assert_true(t.count > 0 && !t.risen);
  assert_true(result->converged && result->deviation <= 1e-9);
  close_bench(&b);
}

TEST(test_solution) {
  static float rho[64 * 48];
  double sites[2 * 100], weights[100];
  cvtm_equal_mass_result result;
  for (int periodic = 0; periodic < 2; ++periodic) {
    for (int method = 0; method < 2; ++method) {
      const cvtm_domain d = {64, 48, periodic};
      paint_graded(d, rho);
      solve(d, rho, 100, 0, method ? CVTM_CVT_LBFGSB : CVTM_CVT_LLOYD, 0, sites, weights, &result);
      check_weights(d, rho, sites, 100);
      /* 15 % above the bound for hexagons is what few cells on a steep density leave. */
      const double bound = cvtm_equal_mass_bound(d, rho, 100);
      assert_true(result.descent.objective < 1.15 * bound);
      assert_true(result.descent.gradient_norm < 0.5);
      assert_int_equal(result.descent.empty_cells, 0);
    }
  }
}

TEST(test_fixed_sites) {
  const cvtm_domain d = {40, 40, 0};
  static float rho[1600];
  double sites[2 * 40] = {0, 0, 40, 13.5, 20, 20}, weights[40];
  cvtm_equal_mass_result result;
  paint_islands(d, rho); /* the third lies where there is no density */
  solve(d, rho, 40, 3, CVTM_CVT_LBFGSB, 0, sites, weights, &result);
  const double expected[6] = {0, 0, 40, 13.5, 20, 20};
  assert_memory_equal(sites, expected, sizeof expected);
  check_weights(d, rho, sites, 40);
}

/* Given sites in pairs and a heap, far closer to each other than to anything else. */
TEST(test_crowded_start) {
  enum { PAIRS = 10, HEAP = 8, N = 2 * PAIRS + HEAP };
  const cvtm_domain d = {40, 30, 0};
  float rho[40 * 30];
  double sites[2 * N], weights[N];
  for (int p = 0; p < 40 * 30; ++p) rho[p] = 1;
  state = 23;
  scatter(d, sites, PAIRS);
  for (int i = PAIRS; i < N; ++i) {
    const double *beside = sites + 2 * (i < 2 * PAIRS ? i - PAIRS : 0);
    for (int k = 0; k < 2; ++k) sites[2 * i + k] = beside[k] + 1e-9 * (uniform() - 0.5);
  }
  bench b = open_bench(d, rho, N, 0);
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_equal_mass_result result;
  options.max_iterations = 30;
  assert_device_ok(
      b.device, cvtm_equal_mass_solve(b.cvt, &options, 1e-8, N, sites, weights, N, NULL, &result));
  assert_true(result.converged && result.deviation <= 1e-8);
  close_bench(&b);
}

TEST(test_one_site) {
  const cvtm_domain d = {10, 6, 0};
  float rho[60];
  double sites[2], weight = 1;
  cvtm_equal_mass_result result;
  for (int p = 0; p < 60; ++p) rho[p] = 1;
  solve(d, rho, 1, 0, CVTM_CVT_LLOYD, 0, sites, &weight, &result);
  assert_true(fabs(sites[0] - 5) < 1e-12 && fabs(sites[1] - 3) < 1e-12 && weight == 0);
  assert_true(fabs(result.descent.objective - 60 * (100 + 36) / 12.0) < 1e-9);
}

TEST(test_same_bits) {
  const cvtm_domain d = {64, 48, 0};
  static float rho[64 * 48];
  double sites[2][2 * 120], weights[2][120];
  cvtm_equal_mass_result result;
  paint_graded(d, rho);
  for (int k = 0; k < 2; ++k)
    solve(d, rho, 120, 0, CVTM_CVT_LBFGSB, 1 + k, sites[k], weights[k], &result);
  assert_memory_equal(sites[0], sites[1], sizeof sites[0]);
  assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
}

/* --- the dual --------------------------------------------------------------------------- */

/* With equal weights it is the Delaunay triangulation. */
TEST(test_dual_of_equal_weights) {
  enum { N = 200 };
  const cvtm_domain d = {50, 50, 0};
  double sites[2 * N], weights[N] = {0};
  cvtm_mesh dual, delaunay;
  cvtm_cells cells;
  state = 3;
  scatter(d, sites, N);
  assert_ok(cvtm_power_diagram(d, sites, weights, N, 2, &cells, &dual, NULL));
  assert_ok(cvtm_delaunay(sites, N, &delaunay, NULL));
  assert_int_equal(dual.triangle_count, delaunay.triangle_count);
  assert_memory_equal(dual.triangles, delaunay.triangles,
                      3 * (size_t)dual.triangle_count * sizeof *dual.triangles);
  double twice = 0;
  for (int i = 0; i < N; ++i) {
    for (int64_t k = cells.start[i]; k < cells.start[i + 1]; ++k) {
      const int64_t next = k + 1 < cells.start[i + 1] ? k + 1 : cells.start[i];
      const double *p = cells.corners + 2 * k, *q = cells.corners + 2 * next;
      twice += q[0] * p[1] - p[0] * q[1];
    }
  }
  assert_true(fabs(twice - 2 * 50 * 50) < 1e-9);
  cvtm_cells_free(&cells);
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, &dual, &delaunay);
}

/* A lattice, whose corners four cells share: two triangles to a square, none twice. Then the
 * middle site so light that its cell vanishes: it has no triangle, the others fill its place. */
TEST(test_dual_of_lattice) {
  const cvtm_domain d = {30, 30, 0};
  double sites[2 * 25], weights[25] = {0};
  for (int i = 0; i < 25; ++i) {
    sites[2 * i] = 3 + 6 * (i % 5);
    sites[2 * i + 1] = 3 + 6 * (i / 5);
  }
  for (int hidden = 0; hidden < 2; ++hidden) {
    cvtm_mesh mesh;
    cvtm_cells cells;
    weights[12] = hidden ? -100 : 0;
    assert_ok(cvtm_power_diagram(d, sites, weights, 25, 1, &cells, &mesh, NULL));
    assert_int_equal(mesh.triangle_count, hidden ? 30 : 32);
    assert_int_equal(mesh.coincident_count, hidden);
    assert_int_equal(cells.start[13] - cells.start[12] == 0, hidden);
    double area = 0;
    for (int64_t t = 0; t < mesh.triangle_count; ++t) {
      const double *p = sites + 2 * mesh.triangles[3 * t],
                   *q = sites + 2 * mesh.triangles[3 * t + 1];
      const double *r = sites + 2 * mesh.triangles[3 * t + 2];
      const double twice = (r[0] - p[0]) * (q[1] - p[1]) - (q[0] - p[0]) * (r[1] - p[1]);
      assert_true(twice > 0);
      area += twice / 2;
    }
    assert_true(fabs(area - 24 * 24) < 1e-9);
    cvtm_cells_free(&cells);
    cvtm_mesh_free(&mesh);
  }
}

/* --- what is refused
 * ------------------------------------------------------------------------------ */

TEST(test_bad_input) {
  const cvtm_domain d = {8, 8, 0};
  float rho[64];
  double sites[6] = {1, 1, 5, 5, 1, 1}, weights[3];
  for (int p = 0; p < 64; ++p) rho[p] = 1;
  bench b = open_bench(d, rho, 3, 0);
  assert_int_equal(cvtm_equal_mass_weights(b.cvt, sites, 3, 1e-6, weights, NULL, NULL),
                   CVTM_ERROR_INPUT);
  assert_device_ok(b.device, cvtm_equal_mass_weights(b.cvt, sites, 2, 1e-6, weights, NULL, NULL));
  assert_refused(cvtm_equal_mass_weights(b.cvt, sites, 0, 1e-6, weights, NULL, NULL));
  assert_refused(cvtm_equal_mass_weights(b.cvt, sites, 4, 1e-6, weights, NULL, NULL));
  assert_refused(cvtm_equal_mass_weights(b.cvt, sites, 2, 0, weights, NULL, NULL));
  assert_refused(cvtm_equal_mass_weights(b.cvt, sites, 2, NAN, weights, NULL, NULL));
  sites[2] = NAN;
  assert_refused(cvtm_equal_mass_weights(b.cvt, sites, 2, 1e-6, weights, NULL, NULL));
  DEFAULT_OPTIONS(cvtm_cvt, options);
  options.energy = CVTM_CVT_PIXEL;
  assert_refused(cvtm_equal_mass_solve(b.cvt, &options, 1e-6, 0, sites, weights, 3, NULL, NULL));
  cvtm_mesh mesh;
  cvtm_cells cells;
  cvtm_error error = {CVTM_OK, ""};
  assert_refused(cvtm_power_diagram(d, sites, weights, 2, 1, &cells, &mesh, &error));
  assert_refused(cvtm_power_diagram(d, sites, weights, 0, 1, &cells, &mesh, &error));
  close_bench(&b);
}

/* The number of sites follows the density itself, not its root, and none is where there is none. */
TEST(test_samples) {
  enum { COUNT = 700 };
  const cvtm_domain d = {60, 20, 0};
  float rho[60 * 20];
  paint_islands(d, rho);
  double sites[2 * COUNT];
  static const cvtm_cvt_start starts[] = {CVTM_CVT_START_RANDOM, CVTM_CVT_START_STRATIFIED};
  for (int s = 0; s < 2; ++s) {
    assert_ok(cvtm_equal_mass_sample(d, rho, COUNT, 5, starts[s], sites, NULL));
    int left = 0;
    for (int i = 0; i < COUNT; ++i) {
      const double x = sites[2 * i];
      assert_true((x >= 0 && x <= 20) || (x >= 40 && x <= 60));
      left += x <= 20;
    }
    /* 200 of 700; at random with a standard deviation of 12, or one for each side. */
    assert_true(abs(left - 200) <= (starts[s] == CVTM_CVT_START_RANDOM ? 48 : 1));
  }
}

TEST_MAIN()
