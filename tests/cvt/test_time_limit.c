/* Time limits, on a clock that jumps beyond the limit after so many looks at it. */
#include "base/clock.h"
#include "base/geometry.h"
#include "cvt/cvt.h"
#include "cvt/equal_mass.h"
#include "tests/test_devices.h"

enum { SIDE = 64, AREA = SIDE * SIDE, COUNT = 1100 };

/* Replaces cvtm_clock of the library. The first `looks_in_time` calls return 0; each later call
 * returns a second more than the one before, after a jump beyond any limit if there were such
 * calls.
 */
static int64_t looks, looks_in_time;

double cvtm_clock(void) {
  ++looks;
  return looks <= looks_in_time ? 0 : (looks_in_time > 0 ? 1e6 : 0) + (double)looks;
}

/* A disc of even density on ground of none. */
static void fill_disc(float *density, float ground) {
  for (int p = 0; p < AREA; ++p) {
    const double x = p % SIDE - 28.0, y = p / SIDE - 36.0;
    density[p] = x * x + y * y < 300 ? 1.0F : ground;
  }
}

static void assert_distinct_inside(const double *sites, int64_t count) {
  cvtm_placed *order = calloc((size_t)count, sizeof *order);
  for (int64_t i = 0; i < count; ++i) {
    assert_true(sites[2 * i] >= 0 && sites[2 * i] <= SIDE);
    assert_true(sites[2 * i + 1] >= 0 && sites[2 * i + 1] <= SIDE);
    order[i] = (cvtm_placed){sites[2 * i], sites[2 * i + 1], i};
  }
  qsort(order, (size_t)count, sizeof *order, cvtm_compare_placed);
  for (int64_t k = 1; k < count; ++k)
    assert_false(order[k].x == order[k - 1].x && order[k].y == order[k - 1].y);
  free(order);
}

static void set_options(cvtm_cvt_effort effort, cvtm_cvt_options *options) {
  cvtm_cvt_defaults(options);
  options->effort = effort;
  options->tolerance = 0;
  options->max_iterations = 0;
  options->max_seconds = 60;
}

static cvtm_cvt_result solve(cvtm_domain domain, const float *density,
                             const cvtm_cvt_options *options) {
  cvtm_device *device = test_device_open();
  cvtm_cvt_result result;
  double *sites = calloc(2 * (size_t)COUNT, sizeof *sites), energy = 0;
  for (int64_t i = 0; i < 2 * COUNT; ++i) sites[i] = NAN;
  NEW_CVT(cvt, device, domain, density, COUNT);
  looks = 0;
  assert_device_ok(device, cvtm_cvt_solve(cvt, options, 0, sites, COUNT, &result));
  /* A CUDA device iterates between two looks of the host, and may end before the limit. */
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CPU || result.stop != CVTM_STOP_DECREASE)
    assert_int_equal(result.stop, CVTM_STOP_TIME);
  assert_distinct_inside(sites, COUNT);
  evaluate_cvt(device, cvt, sites, COUNT, &energy, NULL);
  assert_true(fabs(energy - result.objective) <= 1e-12 * energy);
  free(sites);
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  return result;
}

static void solve_until_all_looks(int periodic, cvtm_cvt_effort effort, float ground) {
  const cvtm_domain domain = {SIDE, SIDE, periodic};
  float density[AREA];
  cvtm_cvt_options options;
  fill_disc(density, ground);
  set_options(effort, &options);
  for (looks_in_time = 1; looks_in_time < 60; looks_in_time += 1 + looks_in_time / 4)
    (void)solve(domain, density, &options);
}

TEST(a_limit_that_passes_anywhere_leaves_distinct_sites) {
  solve_until_all_looks(0, CVTM_CVT_EFFORT_LOW, 0.01F);
  solve_until_all_looks(0, CVTM_CVT_EFFORT_NORMAL, 0.01F);
  solve_until_all_looks(1, CVTM_CVT_EFFORT_NORMAL, 0);
  solve_until_all_looks(0, CVTM_CVT_EFFORT_HIGH, 0);
}

/* However long the coarse levels could go on. */
TEST(the_full_set_gets_half_of_the_time) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  float density[AREA];
  cvtm_cvt_options options;
  fill_disc(density, 0.01F);
  looks_in_time = 0;
  for (int effort = CVTM_CVT_EFFORT_NORMAL; effort <= CVTM_CVT_EFFORT_HIGH; ++effort) {
    set_options((cvtm_cvt_effort)effort, &options);
    const cvtm_cvt_result result = solve(domain, density, &options);
    assert_true(result.levels > 0);
    assert_true(result.coarse_iterations > 0);
    assert_true(result.iterations > 0);
  }
}

/* The weights are found for whatever sites there are. */
TEST(cells_have_equal_masses_after_any_limit) {
  enum { FEW = 150 };
  const cvtm_domain domain = {SIDE, SIDE, 0};
  float density[AREA];
  double sites[2 * FEW], weights[FEW];
  cvtm_cvt_options options;
  fill_disc(density, 0.1F);
  set_options(CVTM_CVT_EFFORT_NORMAL, &options);
  for (int64_t k = 1; k < 200; k *= 3) {
    cvtm_device *device = test_device_open();
    cvtm_equal_mass_result result;
    NEW_CVT(cvt, device, domain, density, FEW);
    looks = 0;
    looks_in_time = k;
    assert_device_ok(
        device, cvtm_equal_mass_solve(cvt, &options, 1e-9, 0, sites, weights, FEW, NULL, &result));
    assert_int_equal(result.descent.stop, CVTM_STOP_TIME);
    assert_true(result.converged);
    assert_distinct_inside(sites, FEW);
    cvtm_cvt_destroy(cvt);
    cvtm_device_destroy(device);
  }
}

TEST_MAIN()
