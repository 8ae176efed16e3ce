/* Energies, gradients, minimisation and sampling of tessellations. */
#include "base/device_kernels.h"
#include "cvt/cvt.h"
#include "tests/test_devices.h"
#include "tests/splitmix64.h"

static uint64_t state = 1;
static double uniform(void) { return congruential_unit(&state); }

static float *make_density(cvtm_domain d, int graded) {
  float *rho = allocated(d.width * d.height, sizeof *rho);
  for (int p = 0; p < d.width * d.height; ++p) {
    const double x = (double)(p % d.width) / d.width;
    rho[p] = graded ? (float)pow(10, -graded * x) : 1;
  }
  return rho;
}

static cvtm_cvt *make_plan(cvtm_device *device, cvtm_domain d, const float *rho, int64_t n) {
  NEW_CVT(cvt, device, d, rho, n);
  return cvt;
}

static double *make_sites(cvtm_domain d, const float *rho, int64_t n, uint64_t seed) {
  double *sites = doubles(2 * n);
  assert_ok(cvtm_cvt_sample(d, rho, n, seed, CVTM_CVT_START_RANDOM, sites, NULL));
  return sites;
}

static double energy_of(cvtm_device *device, cvtm_cvt *cvt, const double *sites, int64_t n) {
  double value = -1;
  evaluate_cvt(device, cvt, sites, n, &value, NULL);
  return value;
}

/* --- densities ------------------------------------------------------------------ */

static const cvtm_device_table *own_table;

/* The copy breaks off in the middle. */
static cvtm_status half_copy(cvtm_device *device, void *to, const void *from, size_t bytes) {
  (void)own_table->copy_in(device, to, from, bytes / 2);
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_DEVICE, "the copy failed");
}

/* After any failure the plan works with the old density: energies and whole runs have its bits. */
TEST_ON_DEVICE(test_failed_set_density) {
  enum { N = 300 };
  const cvtm_domain d = {60, 60, 0};
  float *flat = make_density(d, 0), *graded = make_density(d, 4);
  double *sites = make_sites(d, flat, N, 5), *expected = doubles(2 * N);
  cvtm_cvt *cvt = make_plan(device, d, flat, N);
  DEFAULT_OPTIONS(cvtm_cvt, how);
  how.max_iterations = 5;
  cvtm_cvt_result result;
  const double energy = energy_of(device, cvt, sites, N);
  assert_device_ok(device, cvtm_cvt_solve(cvt, &how, 0, expected, N, &result));
  own_table = device->table;
  for (int k = 0; k < 3; ++k) {
    cvtm_device_table faulty = *own_table;
    if (k == 0) faulty.allocate_large = no_memory;
    if (k == 1) faulty.copy_in = half_copy;
    if (k == 2) graded[7] = -1;
    device->table = &faulty;
    const cvtm_status status = cvtm_cvt_set_density(cvt, graded);
    device->table = own_table;
    assert_int_not_equal(status, CVTM_OK);
    assert_true(energy_of(device, cvt, sites, N) == energy);
    double *again = doubles(2 * N);
    assert_device_ok(device, cvtm_cvt_solve(cvt, &how, 0, again, N, &result));
    assert_memory_equal(again, expected, 2 * N * sizeof *again);
    free(again);
  }
  graded[7] = 1;
  assert_device_ok(device, cvtm_cvt_set_density(cvt, graded));
  assert_true(energy_of(device, cvt, sites, N) != energy);
  cvtm_cvt_destroy(cvt);
  free_all(expected, sites, graded, flat);
}

/* --- energies ------------------------------------------------------------------- */

/* 2 m (x - c) against a central difference of the energy, site by site. */
static void check_gradient(cvtm_device *device, cvtm_domain d, int graded) {
  enum { N = 40 };
  float *rho = make_density(d, graded);
  double *sites = make_sites(d, rho, N, 5);
  cvtm_cvt *cvt = make_plan(device, d, rho, N);
  double mass[N], centroid[2 * N], value;
  const cvtm_cvt_moments moments = {mass, centroid, NULL};
  evaluate_cvt(device, cvt, sites, N, &value, &moments);
  double largest = 0;
  for (int k = 0; k < 2 * N; ++k)
    largest = fmax(largest, fabs(2 * mass[k / 2] * (sites[k] - centroid[k])));
  for (int k = 0; k < 2 * N; ++k) {
    const double g = 2 * mass[k / 2] * (sites[k] - centroid[k]), x = sites[k], h = 1e-4;
    sites[k] = x + h;
    const double above = energy_of(device, cvt, sites, N);
    sites[k] = x - h;
    const double below = energy_of(device, cvt, sites, N);
    sites[k] = x;
    assert_true(fabs((above - below) / (2 * h) - g) <= 1e-6 * largest);
  }
  cvtm_cvt_destroy(cvt);
  free_all(sites, rho);
}

TEST_ON_DEVICE(test_gradient) {
  check_gradient(device, (cvtm_domain){31, 27, 0}, 0);
  check_gradient(device, (cvtm_domain){31, 27, 0}, 4);
  check_gradient(device, (cvtm_domain){31, 27, 1}, 0);
  check_gradient(device, (cvtm_domain){31, 27, 1}, 3);
}

/* The pixel energy against a search of every site for every pixel. */
static void check_pixels(cvtm_device *device, cvtm_domain d, int n) {
  float *rho = make_density(d, 2);
  double *sites = make_sites(d, rho, n, 9);
  cvtm_cvt *cvt = make_plan(device, d, rho, n);
  double *mass = doubles(n), *second = doubles(n);
  double *centroid = doubles(2 * n), value = -1;
  double *expected = calloc(4 * (size_t)n, sizeof *expected), total = 0;
  const cvtm_cvt_moments moments = {mass, centroid, second};
  assert_device_ok(device, cvtm_cvt_evaluate(cvt, sites, n, CVTM_CVT_PIXEL, CVTM_VORONOI_EXACT,
                                             &value, &moments));
  for (int p = 0; p < d.width * d.height; ++p) {
    double best = INFINITY, bx = 0, by = 0;
    int site = 0;
    for (int i = 0; i < n; ++i) {
      double x = p % d.width + 0.5 - sites[2 * i], y = p / d.width + 0.5 - sites[2 * i + 1];
      if (d.periodic) {
        x = remainder(x, d.width);
        y = remainder(y, d.height);
      }
      if (x * x + y * y < best) {
        best = x * x + y * y;
        site = i;
        bx = x;
        by = y;
      }
    }
    expected[4 * site] += rho[p];
    expected[4 * site + 1] += rho[p] * bx;
    expected[4 * site + 2] += rho[p] * by;
    expected[4 * site + 3] += rho[p] * best;
    total += rho[p] * best;
  }
  for (int i = 0; i < n; ++i) {
    const double *e = expected + 4 * i;
    assert_true(fabs(mass[i] - e[0]) <= 1e-12 * e[0]);
    assert_true(fabs(second[i] - e[3]) <= 1e-12 * e[3]);
    for (int k = 0; k < 2; ++k) {
      const double c = e[0] > 0 ? e[1 + k] / e[0] : 0;
      assert_true(fabs(centroid[2 * i + k] - sites[2 * i + k] - c) <= 1e-11);
    }
  }
  assert_true(fabs(value - total) <= 1e-12 * total);
  cvtm_cvt_destroy(cvt);
  free_all(mass, second, centroid, expected, sites, rho);
}

TEST_ON_DEVICE(test_pixel_energy) {
  check_pixels(device, (cvtm_domain){61, 40, 0}, 50);
  check_pixels(device, (cvtm_domain){61, 40, 1}, 50);
  check_pixels(device, (cvtm_domain){9, 7, 0}, 120);
  check_pixels(device, (cvtm_domain){1, 1, 0}, 3);
}

/* Squares have 5 / 36 sqrt 3 * 1.2 = 1.0392 times the energy of hexagons. */
TEST_ON_DEVICE(test_bound) {
  const cvtm_domain d = {40, 40, 0};
  float *rho = make_density(d, 0);
  double sites[200];
  for (int i = 0; i < 100; ++i) {
    sites[2 * i] = 4 * (i % 10) + 2;
    sites[2 * i + 1] = 4 * (i / 10) + 2;
  }
  cvtm_cvt *cvt = make_plan(device, d, rho, 100);
  const double energy = energy_of(device, cvt, sites, 100);
  assert_true(fabs(energy - 1600 * 16 / 6.0) <= 1e-9);
  assert_true(fabs(energy / cvtm_cvt_energy_bound(d, rho, 100) - 1.03923048454) <= 1e-10);
  cvtm_cvt_destroy(cvt);
  free(rho);
}

/* --- minimisation ---------------------------------------------------------------- */

typedef struct history {
  int64_t records, stop_at;
  double energy[2000], gradient[2000];
  int in_order;
} history;

static int remember(void *context, const cvtm_cvt_record *record) {
  history *h = context;
  if (record->iteration != h->records || h->records >= 2000) h->in_order = 0;
  if (h->records < 2000) {
    h->energy[h->records] = record->energy;
    h->gradient[h->records] = record->gradient_norm;
  }
  ++h->records;
  return h->stop_at > 0 && record->iteration >= h->stop_at;
}

static void watch(cvtm_cvt_options *options, history *h) {
  memset(h, 0, sizeof *h);
  h->in_order = 1;
  options->monitor = remember;
  options->monitor_context = h;
}

static void check_lloyd(cvtm_device *device, cvtm_domain d, int graded, int64_t fixed) {
  enum { N = 64, STEPS = 60 };
  float *rho = make_density(d, graded);
  double *sites = make_sites(d, rho, N, 2), before[2 * N];
  memcpy(before, sites, sizeof before);
  cvtm_cvt *cvt = make_plan(device, d, rho, N);
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  history h;
  options.method = CVTM_CVT_LLOYD;
  options.max_iterations = STEPS;
  options.tolerance = 0;
  options.fixed = fixed;
  watch(&options, &h);
  const double start = energy_of(device, cvt, sites, N);
  assert_device_ok(device, cvtm_cvt_optimize(cvt, &options, sites, N, &result));
  assert_true(h.in_order);
  assert_int_equal(h.records, STEPS + 1);
  assert_int_equal(result.iterations, STEPS);
  assert_int_equal(result.stop, CVTM_STOP_ITERATIONS);
  assert_true(h.energy[0] == start || d.periodic);
  for (int k = 1; k <= STEPS; ++k) assert_true(h.energy[k] <= h.energy[k - 1] * (1 + 1e-14));
  assert_true(h.energy[STEPS] < 0.8 * start || fixed > 0);
  /* Wrapping a torus rounds the sites a little. */
  assert_true(fabs(energy_of(device, cvt, sites, N) - result.objective) <=
              1e-12 * result.objective);
  assert_memory_equal(before, sites, 2 * (size_t)fixed * sizeof(double));
  cvtm_cvt_destroy(cvt);
  free_all(sites, rho);
}

TEST_ON_DEVICE(test_lloyd) {
  check_lloyd(device, (cvtm_domain){60, 50, 0}, 0, 0);
  check_lloyd(device, (cvtm_domain){60, 50, 0}, 4, 10);
  check_lloyd(device, (cvtm_domain){60, 50, 1}, 0, 0);
  check_lloyd(device, (cvtm_domain){60, 50, 1}, 2, 5);
}

static double optimized_ratio(cvtm_device *device, cvtm_domain d, int graded, int64_t n,
                              cvtm_cvt_options *options, cvtm_cvt_result *result) {
  float *rho = make_density(d, graded);
  double *sites = make_sites(d, rho, n, 4), *before = doubles(2 * n);
  memcpy(before, sites, 2 * (size_t)n * sizeof *before);
  cvtm_cvt *cvt = make_plan(device, d, rho, n);
  assert_device_ok(device, cvtm_cvt_optimize(cvt, options, sites, n, result));
  const double energy = energy_of(device, cvt, sites, n);
  if (options->energy == CVTM_CVT_EXACT)
    assert_true(fabs(energy - result->objective) <= 1e-12 * energy);
  for (int64_t i = 0; i < n; ++i) {
    assert_true(sites[2 * i] >= 0 && sites[2 * i] <= d.width);
    assert_true(sites[2 * i + 1] >= 0 && sites[2 * i + 1] <= d.height);
    if (i < options->fixed) assert_memory_equal(sites + 2 * i, before + 2 * i, 16);
  }
  const double ratio = energy / cvtm_cvt_energy_bound(d, rho, n);
  assert_true(cvtm_cvt_plan_bound(cvt, n) == cvtm_cvt_energy_bound(d, rho, n));
  cvtm_cvt_destroy(cvt);
  free_all(before, sites, rho);
  return ratio;
}

TEST_ON_DEVICE(test_optimum) {
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  history h;
  watch(&options, &h);
  const double ratio =
      optimized_ratio(device, (cvtm_domain){256, 256, 0}, 0, 128, &options, &result);
  assert_true(ratio <= 1.03 && ratio >= 1);
  assert_true(h.in_order);
  assert_int_equal(h.records, result.iterations + 1);
  assert_true(h.energy[h.records - 1] == result.objective);
  assert_int_equal(result.empty_cells, 0);
  assert_true(result.evaluations > result.iterations);
  assert_true(result.seconds >= result.seconds_evaluation && result.seconds_optimizer >= 0);

  cvtm_cvt_defaults(&options);
  assert_true(optimized_ratio(device, (cvtm_domain){128, 128, 1}, 0, 128, &options, &result) <=
              1.03);
  assert_true(optimized_ratio(device, (cvtm_domain){128, 128, 0}, 2, 400, &options, &result) <=
              1.06);
  options.fixed = 20;
  optimized_ratio(device, (cvtm_domain){128, 128, 0}, 2, 100, &options, &result);
  optimized_ratio(device, (cvtm_domain){128, 128, 1}, 0, 100, &options, &result);
  options.fixed = 0;
  options.energy = CVTM_CVT_PIXEL;
  assert_true(optimized_ratio(device, (cvtm_domain){128, 128, 0}, 0, 60, &options, &result) <= 1.2);
}

TEST_ON_DEVICE(test_stops) {
  const cvtm_domain d = {64, 64, 0};
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  history h;
  for (int method = 0; method < 2; ++method) {
    cvtm_cvt_defaults(&options);
    options.method = method ? CVTM_CVT_LBFGSB : CVTM_CVT_LLOYD;
    options.max_iterations = 12;
    optimized_ratio(device, d, 0, 50, &options, &result);
    assert_int_equal(result.stop, CVTM_STOP_ITERATIONS);
    assert_int_equal(result.iterations, 12);

    options.max_iterations = 3; /* fewer than the first steps of Lloyd's method */
    optimized_ratio(device, d, 0, 50, &options, &result);
    assert_int_equal(result.stop, CVTM_STOP_ITERATIONS);
    assert_int_equal(result.iterations, 3);

    options.max_iterations = 0;
    options.tolerance = 0;
    options.gradient_tolerance = 0.05;
    watch(&options, &h);
    optimized_ratio(device, d, 0, 50, &options, &result);
    assert_int_equal(result.stop, CVTM_STOP_GRADIENT);

    options.gradient_tolerance = 0;
    options.tolerance = 1e-4;
    watch(&options, &h);
    optimized_ratio(device, d, 0, 50, &options, &result);
    assert_int_equal(result.stop, CVTM_STOP_DECREASE);

    options.tolerance = 0;
    options.max_seconds = 0.005; /* much less than the run would take */
    options.monitor = NULL;
    options.max_iterations = 100000;
    optimized_ratio(device, d, 0, 500, &options, &result);
    assert_true(result.stop == CVTM_STOP_TIME || result.stop == CVTM_STOP_LINE_SEARCH);

    options.max_seconds = 0;
    for (int at = 2; at <= 9; at += 7) {
      watch(&options, &h);
      h.stop_at = at;
      optimized_ratio(device, d, 0, 50, &options, &result);
      assert_int_equal(result.stop, CVTM_STOP_REQUEST);
    }
  }
}

/* More sites than pixels, one site, all sites in one place, all fixed, empty parts. */
TEST_ON_DEVICE(test_hard_cases) {
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  options.max_iterations = 40;
  optimized_ratio(device, (cvtm_domain){1, 1, 0}, 0, 1, &options, &result);
  optimized_ratio(device, (cvtm_domain){1, 1, 0}, 0, 30, &options, &result);
  optimized_ratio(device, (cvtm_domain){1, 1, 1}, 0, 30, &options, &result);
  optimized_ratio(device, (cvtm_domain){40, 1, 0}, 3, 90, &options, &result);
  optimized_ratio(device, (cvtm_domain){40, 30, 0}, 0, 1, &options, &result);
  options.fixed = 30;
  optimized_ratio(device, (cvtm_domain){40, 30, 0}, 0, 30, &options, &result);
  options.fixed = 0;

  const cvtm_domain d = {32, 32, 0};
  float rho[32 * 32] = {0};
  double sites[2 * 20];
  rho[5] = rho[900] = 1;
  cvtm_cvt *cvt = make_plan(device, d, rho, 20);
  for (int i = 0; i < 40; ++i) sites[i] = 7;
  assert_device_ok(device, cvtm_cvt_optimize(cvt, &options, sites, 20, &result));
  assert_int_equal(result.empty_cells, 18); /* two pixels feed two sites */
  for (int i = 0; i < 40; ++i) sites[i] = 32 * uniform();
  sites[0] = -5; /* moved inside */
  sites[1] = 1e6;
  assert_device_ok(device, cvtm_cvt_optimize(cvt, &options, sites, 20, &result));
  for (int i = 0; i < 40; ++i) assert_true(sites[i] >= 0 && sites[i] <= 32);
  sites[7] = NAN;
  assert_refused(cvtm_cvt_optimize(cvt, &options, sites, 20, &result));
  sites[7] = 1;
  assert_refused(cvtm_cvt_optimize(cvt, &options, sites, 21, &result));
  options.fixed = 21;
  assert_refused(cvtm_cvt_optimize(cvt, &options, sites, 20, &result));
  cvtm_cvt_destroy(cvt);

  rho[5] = -1;
  assert_refused(cvtm_cvt_create(device, d, rho, 20, &cvt));
  rho[5] = NAN;
  assert_refused(cvtm_cvt_create(device, d, rho, 20, &cvt));
  rho[5] = rho[900] = 0;
  assert_refused(cvtm_cvt_create(device, d, rho, 20, &cvt));
}

TEST(test_threads) {
  enum { N = 300 };
  for (int energy = 0; energy < 2; ++energy) {
    double first[2 * N];
    for (int threads = 1; threads <= 4; ++threads) {
      const cvtm_domain d = {96, 80, 0};
      cvtm_device *device = test_device_open_threads(threads);
      float *rho = make_density(d, 3);
      double *sites = make_sites(d, rho, N, 6);
      cvtm_cvt *cvt = make_plan(device, d, rho, N);
      DEFAULT_OPTIONS(cvtm_cvt, options);
      options.energy = energy ? CVTM_CVT_PIXEL : CVTM_CVT_EXACT;
      options.max_iterations = 40;
      assert_device_ok(device, cvtm_cvt_optimize(cvt, &options, sites, N, NULL));
      if (threads == 1) memcpy(first, sites, sizeof first);
      assert_memory_equal(first, sites, sizeof first);
      cvtm_cvt_destroy(cvt);
      cvtm_device_destroy(device);
      free_all(sites, rho);
    }
  }
}

/* --- sampling -------------------------------------------------------------------- */

/* Share of the samples in the left half against sqrt(rho)'s, and none where rho is 0. */
static void check_sample(cvtm_cvt_start start, double deviations) {
  enum { N = 40000 };
  const cvtm_domain d = {100, 37, 0};
  float rho[3700];
  for (int p = 0; p < 3700; ++p)
    rho[p] = p / 100 < 10 ? 0 : p % 100 < 50 ? 9.0f : 1.0f; /* 3 to 1 */
  static double sites[2 * N], again[2 * N];
  assert_ok(cvtm_cvt_sample(d, rho, N, 8, start, sites, NULL));
  assert_ok(cvtm_cvt_sample(d, rho, N, 8, start, again, NULL));
  assert_memory_equal(sites, again, sizeof sites);
  int left = 0, below = 0;
  for (int i = 0; i < N; ++i) {
    const double x = sites[2 * i], y = sites[2 * i + 1];
    assert_true(x > 0 && x < 100 && y >= 10 && y < 37);
    left += x < 50;
    below += x - floor(x) < 0.5;
  }
  assert_true(fabs(left - 0.75 * N) <= deviations * sqrt(N * 0.75 * 0.25));
  assert_true(fabs(below - 0.5 * N) <= 5 * sqrt(N * 0.25));
  assert_ok(cvtm_cvt_sample(d, rho, N, 9, start, again, NULL));
  assert_memory_not_equal(sites, again, sizeof sites);
}

TEST(test_sample) {
  check_sample(CVTM_CVT_START_RANDOM, 5);
  check_sample(CVTM_CVT_START_STRATIFIED, 0.5);
  double one[2];
  const float rho = 0.25f;
  for (int start = 0; start < 2; ++start) {
    const cvtm_domain d = {1, 1, 0};
    const cvtm_cvt_start s = start ? CVTM_CVT_START_STRATIFIED : CVTM_CVT_START_RANDOM;
    assert_ok(cvtm_cvt_sample(d, &rho, 1, 3, s, one, NULL));
    assert_true(one[0] > 0 && one[0] < 1 && one[1] > 0 && one[1] < 1);
  }
  const float zero = 0;
  cvtm_error error;
  assert_refused(
      cvtm_cvt_sample((cvtm_domain){1, 1, 0}, &zero, 1, 3, CVTM_CVT_START_RANDOM, one, &error));
}

/* A borrowed density, on the host alone or on the device too, gives the sites of a copied one. */
TEST_ON_DEVICE(test_borrowed_density) {
  enum { N = 300 };
  const cvtm_domain d = {70, 60, 0};
  const size_t pixels = (size_t)(d.width * d.height);
  float *rho = make_density(d, 2);
  double sites[3][2 * N];
  cvtm_cvt *plan[3] = {make_plan(device, d, rho, N), NULL, NULL};
  DEFAULT_OPTIONS(cvtm_cvt, options);
  options.max_iterations = 20;
  void *on_device = device_array(device, (int64_t)pixels, 4);
  assert_copy_in(device, on_device, rho, 4 * pixels);
  assert_device_ok(device, cvtm_cvt_create_borrowed(device, d, rho, NULL, N, &plan[1]));
  assert_device_ok(device, cvtm_cvt_create_borrowed(device, d, rho, on_device, N, &plan[2]));
  for (int k = 0; k < 3; ++k)
    assert_device_ok(device, cvtm_cvt_solve(plan[k], &options, 0, sites[k], N, NULL));
  assert_memory_equal(sites[1], sites[0], sizeof sites[0]);
  assert_memory_equal(sites[2], sites[0], sizeof sites[0]);
  assert_refused(cvtm_cvt_view_density(plan[2], on_device));
  rho[17] = -1;
  cvtm_cvt *none = NULL;
  assert_refused(cvtm_cvt_create_borrowed(device, d, rho, on_device, N, &none));
  assert_null(none);
  for (int k = 0; k < 3; ++k) cvtm_cvt_destroy(plan[k]);
  cvtm_device_free(device, on_device);
  free(rho);
}

/* Arrays in the device's memory give the bits of arrays on the host. */
TEST_ON_DEVICE(test_on_device) {
  enum { N = 700 };
  const cvtm_domain d = {120, 90, 0};
  float *rho = make_density(d, 2);
  double *sites = make_sites(d, rho, N, 5), values[4 * N + 1], value, mass[N], second[N];
  const cvtm_cvt_moments wanted = {mass, NULL, second};
  void *on_density = NULL, *on_sites = NULL, *on_values = NULL;
  const size_t pixels = (size_t)(d.width * d.height);
  on_density = device_array(device, (int64_t)pixels, 4);
  on_sites = device_array(device, 2 * N, sizeof(double));
  on_values = device_array(device, 4 * N + 1, sizeof(double));
  cvtm_cvt *own = make_plan(device, d, rho, N), *view = NULL;
  assert_device_ok(device, cvtm_cvt_create_view(device, d, on_density, N, &view));
  for (int k = 0; k < 2; ++k) { /* of the second density one pixel differs */
    rho[17] += (float)k;
    assert_device_ok(device, cvtm_cvt_set_density(own, rho));
    evaluate_cvt(device, own, sites, N, &value, &wanted);
    assert_copy_in(device, on_density, rho, 4 * pixels);
    assert_device_ok(device, cvtm_cvt_view_density(view, on_density));
    assert_copy_in(device, on_sites, sites, 2 * N * sizeof(double));
    assert_device_ok(
        device, cvtm_cvt_evaluate_on_device(view, on_sites, N, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT,
                                            (double *)on_values + 4 * N, on_values));
    assert_copy_out(device, values, on_values, sizeof values);
    assert_true(values[4 * N] == value);
    for (int i = 0; i < N; ++i)
      assert_true(values[4 * i] == mass[i] && values[4 * i + 3] == second[i]);
  }
  sites[9] = NAN;
  assert_copy_in(device, on_sites, sites, 2 * N * sizeof(double));
  for (int energy = CVTM_CVT_EXACT; energy <= CVTM_CVT_PIXEL; ++energy) {
    assert_device_ok(device, cvtm_cvt_evaluate_on_device(view, on_sites, N, (cvtm_cvt_energy)energy,
                                                         CVTM_VORONOI_EXACT, on_values, NULL));
    assert_copy_out(device, &value, on_values, sizeof value);
    assert_true(isnan(value));
  }
  DEFAULT_OPTIONS(cvtm_cvt, options);
  assert_refused(cvtm_cvt_optimize(view, &options, sites, 4, NULL));
  assert_refused(cvtm_cvt_view_density(own, on_density));
  cvtm_cvt_destroy(own);
  cvtm_cvt_destroy(view);
  device_free_all(device, on_density, on_sites, on_values);
  free_all(sites, rho);
}

/* After a descent on a torus the plan has the sites that the caller gets, wrapped. */
TEST_ON_DEVICE(test_sites_stay_in_plan) {
  enum { N = 300 };
  const cvtm_domain d = {60, 40, 1};
  float *rho = make_density(d, 0);
  cvtm_cvt *cvt = make_plan(device, d, rho, N);
  double *sites = make_sites(d, rho, N, 7);
  double again, once, mass[2][N], centroid[2][2 * N];
  for (int i = 0; i < N; ++i) sites[2 * i] -= 600;
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  options.max_iterations = 20;
  assert_device_ok(device, cvtm_cvt_optimize(cvt, &options, sites, N, &result));
  for (int i = 0; i < N; ++i) assert_true(sites[2 * i] >= 0 && sites[2 * i] < 60);
  cvtm_cvt_moments moments = {mass[0], centroid[0], NULL};
  assert_device_ok(device, cvtm_cvt_evaluate_again(cvt, sites, N, CVTM_CVT_EXACT,
                                                   CVTM_VORONOI_EXACT, &again, &moments));
  moments = (cvtm_cvt_moments){mass[1], centroid[1], NULL};
  evaluate_cvt(device, cvt, sites, N, &once, &moments);
  assert_true(again == once);
  assert_memory_equal(mass[0], mass[1], sizeof mass[0]);
  assert_memory_equal(centroid[0], centroid[1], sizeof centroid[0]);
  int64_t empty = 0;
  for (int i = 0; i < N; ++i) empty += !(mass[0][i] > 0);
  assert_int_equal(result.empty_cells, empty);
  double *resident = cvtm_cvt_take_sites(cvt);
  cvtm_cvt_destroy(cvt);
  double *taken = copied_out(device, resident, 2 * N, sizeof *taken);
  assert_memory_equal(taken, sites, 2 * N * sizeof *sites);
  cvtm_device_free(device, resident);
  free_all(sites, rho, taken);
}

/* Poisson sites have about 1.985 times the energy of hexagons; strata do much better. */
TEST_ON_DEVICE(test_sample_energy) {
  enum { N = 4000 };
  const cvtm_domain d = {200, 200, 1};
  float *rho = make_density(d, 0);
  cvtm_cvt *cvt = make_plan(device, d, rho, N);
  double *sites = make_sites(d, rho, N, 1);
  const double bound = cvtm_cvt_energy_bound(d, rho, N);
  const double random = energy_of(device, cvt, sites, N) / bound;
  assert_true(random > 1.88 && random < 2.09);
  assert_ok(cvtm_cvt_sample(d, rho, N, 1, CVTM_CVT_START_STRATIFIED, sites, NULL));
  assert_true(energy_of(device, cvt, sites, N) / bound < 1.6);
  cvtm_cvt_destroy(cvt);
  free_all(sites, rho);
}

TEST_DEVICE_MAIN()
