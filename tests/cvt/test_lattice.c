/* Lattices as starts for an even density. */
#include "cvt/cvt.h"
#include "cvt/lattice.h"
#include "tests/test_devices.h"

static double energy_ratio(cvtm_device *device, cvtm_domain domain, const double *sites,
                           int64_t count) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *density = allocated(pixels, sizeof *density);
  for (int64_t p = 0; p < pixels; ++p) density[p] = 0.25F;
  double energy = 0;
  NEW_CVT(cvt, device, domain, density, count);
  evaluate_cvt(device, cvt, sites, count, &energy, NULL);
  const double ratio = energy / cvtm_cvt_energy_bound(domain, density, count);
  cvtm_cvt_destroy(cvt);
  free(density);
  return ratio;
}

static int before(const void *left, const void *right) {
  const double *a = left, *b = right;
  if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
  return (a[1] > b[1]) - (a[1] < b[1]);
}

static void assert_distinct_inside(cvtm_domain domain, double *sites, int64_t count) {
  qsort(sites, (size_t)count, 2 * sizeof *sites, before);
  for (int64_t i = 0; i < count; ++i) {
    assert_true(sites[2 * i] > 0 && sites[2 * i] < domain.width);
    assert_true(sites[2 * i + 1] > 0 && sites[2 * i + 1] < domain.height);
    assert_true(i == 0 || before(sites + 2 * i - 2, sites + 2 * i) < 0);
  }
}

TEST(the_ratio_of_known_lattices) {
  const double square = 1 / 6.0 / (5 / (18 * sqrt(3.0)));
  assert_true(fabs(cvtm_lattice_ratio(2, 0, 1, sqrt(3.0)) - 1) < 1e-14);
  assert_true(fabs(cvtm_lattice_ratio(0, 3, 3, 0) - square) < 1e-14);
  /* Another basis of the same lattice. */
  assert_true(fabs(cvtm_lattice_ratio(7, 1, 36, 5) - cvtm_lattice_ratio(1, 0, 0, -1)) < 1e-12);
  assert_true(fabs(cvtm_lattice_ratio(2, 0, 1, 2) - cvtm_lattice_ratio(2, 0, 7, -2)) < 1e-12);
}

/* The energy of a lattice on a torus is that of its formula. */
TEST_ON_DEVICE(the_ratio_is_that_of_the_evaluated_energy) {
  static const cvtm_domain domains[] = {{96, 96, 1}, {60, 160, 1}};
  static const int64_t counts[] = {211, 400, 997, 1000, 3001};
  for (int d = 0; d < 2; ++d) {
    for (int c = 0; c < 5; ++c) {
      cvtm_lattice lattice[CVTM_LATTICE_MAX];
      assert_int_equal(cvtm_lattice_find(domains[d], counts[c], lattice), 1);
      double *sites = doubles(2 * counts[c]);
      cvtm_lattice_place(domains[d], lattice, counts[c], sites);
      assert_true(fabs(energy_ratio(device, domains[d], sites, counts[c]) - lattice[0].ratio) <
                  1e-9);
      assert_true(lattice[0].ratio < 1.004);
      free(sites);
    }
  }
}

TEST(lattices_have_the_count_asked_for) {
  static const cvtm_domain domains[] = {{1, 1, 0},    {96, 64, 0}, {5, 1000, 0}, {1, 1, 1},
                                        {1000, 7, 1}, {96, 96, 1}, {64, 96, 1}};
  double sites[2 * 2100];
  for (size_t d = 0; d < sizeof domains / sizeof *domains; ++d) {
    for (int64_t count = 1; count < 2100; count += 1 + count / 50) {
      cvtm_lattice lattice[CVTM_LATTICE_MAX];
      const int found = cvtm_lattice_find(domains[d], count, lattice);
      assert_true(found <= CVTM_LATTICE_MAX && (found > 0 || domains[d].periodic));
      for (int k = 0; k < found; ++k) {
        sites[2 * count] = -7;
        cvtm_lattice_place(domains[d], &lattice[k], count, sites);
        assert_true(sites[2 * count] == -7);
        assert_distinct_inside(domains[d], sites, count);
      }
    }
  }
}

static cvtm_cvt_result solve(cvtm_device *device, cvtm_domain domain, const float *density,
                             int64_t count, const cvtm_cvt_options *options, double *sites) {
  cvtm_cvt_result result;
  NEW_CVT(cvt, device, domain, density, count);
  assert_device_ok(device, cvtm_cvt_solve(cvt, options, 0, sites, count, &result));
  cvtm_cvt_destroy(cvt);
  return result;
}

enum { SIDE = 128, COUNT = 1500 };

/* What is left above 1 is the border's: 0.195 / sqrt(count) in a square. Sampled sites end at 1.007
 * in the square and at 1.005 on the torus. */
TEST_ON_DEVICE(an_even_density_starts_from_a_lattice) {
  float density[SIDE * SIDE];
  double sites[2 * COUNT];
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 3;
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {SIDE, SIDE, periodic};
    DEFAULT_OPTIONS(cvtm_cvt, options);
    const cvtm_cvt_result result = solve(device, domain, density, COUNT, &options, sites);
    assert_true(result.lattices > 0 && result.levels == 0);
    const double ratio = energy_ratio(device, domain, sites, COUNT);
    assert_true(ratio < (periodic ? 1.001 : 1.0055) && ratio >= 1);
    options.start = CVTM_CVT_START_STRATIFIED;
    assert_int_equal(solve(device, domain, density, COUNT, &options, sites).lattices, 0);
    cvtm_cvt_defaults(&options);
    options.effort = CVTM_CVT_EFFORT_LOW;
    assert_int_equal(solve(device, domain, density, COUNT, &options, sites).lattices, 0);
  }
  const cvtm_domain domain = {SIDE, SIDE, 0};
  DEFAULT_OPTIONS(cvtm_cvt, options);
  density[SIDE * SIDE - 1] = 2;
  assert_int_equal(solve(device, domain, density, COUNT, &options, sites).lattices, 0);
}

static int stop_now(void *context, const cvtm_cvt_record *record) {
  (void)record;
  ++*(int *)context;
  return 1;
}

TEST_ON_DEVICE(a_request_ends_the_trials) {
  float density[SIDE * SIDE];
  double sites[2 * COUNT];
  int calls = 0;
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 3;
  DEFAULT_OPTIONS(cvtm_cvt, options);
  options.monitor = stop_now;
  options.monitor_context = &calls;
  const cvtm_cvt_result result =
      solve(device, (cvtm_domain){SIDE, SIDE, 0}, density, COUNT, &options, sites);
  assert_int_equal(result.stop, CVTM_STOP_REQUEST);
  assert_int_equal(result.lattices, 1);
  assert_true(calls <= 2);
  assert_true(energy_ratio(device, (cvtm_domain){SIDE, SIDE, 0}, sites, COUNT) < 1.05);
}

TEST_DEVICE_MAIN()
