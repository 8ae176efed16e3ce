/* The division of cells among ranks: whole, in order, and by the measured times; and evaluations by
 * ranks that are threads of this program, each with a device handle of its own. */
#include <math.h>

#include "base/random.h"
#include "cvt/shares.h"
#include "tests/thread_ranks.h"

enum { SIZE = 4 };

static void test_bounds_follow_the_times(void **unused) {
  (void)unused;
  double bound[SIZE + 1] = {0, 0.25, 0.5, 0.75, 1}, old[SIZE];
  const double seconds[SIZE] = {4, 2, 1, 1};
  cvtm_shares_balance(bound, seconds, SIZE, old);
  const double wanted[SIZE + 1] = {0, 0.125, 0.25, 0.5, 1};
  for (int r = 0; r <= SIZE; ++r) assert_true(fabs(bound[r] - wanted[r]) < 1e-15);
}

/* Cells whose cost rises with their place: repeated, the parts come to cost the same. */
static void test_repeated(void **unused) {
  (void)unused;
  double bound[SIZE + 1] = {0, 0.25, 0.5, 0.75, 1}, old[SIZE], seconds[SIZE];
  for (int k = 0; k < 30; ++k) {
    for (int r = 0; r < SIZE; ++r) seconds[r] = pow(bound[r + 1], 3) - pow(bound[r], 3);
    cvtm_shares_balance(bound, seconds, SIZE, old);
  }
  for (int r = 0; r < SIZE; ++r) assert_true(fabs(seconds[r] - 0.25) < 1e-3);
}

static void test_times_without_meaning(void **unused) {
  (void)unused;
  const double bad[4][SIZE] = {{0, 0, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {INFINITY, 1, 1, 1}};
  for (int k = 0; k < 4; ++k) {
    double bound[SIZE + 1] = {0, 0.25, 0.5, 0.75, 1}, old[SIZE];
    cvtm_shares_balance(bound, bad[k], SIZE, old);
    assert_true(bound[0] == 0 && bound[SIZE] == 1);
    for (int r = 0; r < SIZE; ++r) assert_true(bound[r] <= bound[r + 1]);
  }
}

static int gather_nothing(double *all, const int64_t *counts) {
  (void)all;
  (void)counts;
  return 0;
}

static void test_every_place_has_one_rank(void **unused) {
  (void)unused;
  cvtm_device *device = NULL;
  assert_int_equal(cvtm_device_create("cpu", 1, &device, NULL), CVTM_OK);
  for (int64_t count = 1; count < 1000; count = 3 * count + 1) {
    int64_t next = 0;
    for (int r = 0; r < SIZE; ++r) {
      const cvtm_ranks ranks = {r, SIZE, gather_nothing, NULL, NULL};
      cvtm_shares shares = {0};
      int64_t first, end;
      cvtm_device_set_ranks(device, &ranks);
      assert_device_ok(device, cvtm_shares_create(device, count, &shares));
      cvtm_shares_own(&shares, &ranks, count, &first, &end);
      assert_int_equal(first, next);
      assert_true(end >= first);
      assert_true(first % CVTM_SHARES_BLOCK == 0 || first == count);
      next = end;
      cvtm_shares_free(device, &shares);
    }
    assert_int_equal(next, count);
  }
  cvtm_device_destroy(device);
}

/* --- ranks that are threads --------------------------------------------------------------------
 */

enum { SIDE = 128, EVALUATIONS = 3, MOST_SITES = 120000 };

typedef struct job {
  int64_t count;
  cvtm_cvt_energy energy;
  const double *sites;
  double *value, *moments; /* EVALUATIONS; 4 * count */
} job;

static float density[SIDE * SIDE];

static void evaluate(cvtm_device *device, const job *j) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  const cvtm_cvt_moments moments = {j->moments, j->moments + j->count, j->moments + 3 * j->count};
  cvtm_cvt *cvt = NULL;
  assert_device_ok(device, cvtm_cvt_create(device, domain, density, j->count, &cvt));
  for (int k = 0; k < EVALUATIONS; ++k)
    assert_device_ok(device, cvtm_cvt_evaluate(cvt, j->sites, j->count, j->energy,
                                               CVTM_VORONOI_EXACT, j->value + k, &moments));
  cvtm_cvt_destroy(cvt);
}

static void evaluate_as_rank(cvtm_device *device, int rank, void *context) {
  const job *jobs = context;
  evaluate(device, &jobs[rank]);
}

/* Half of the sites are spread over the domain, and half are crowded, so that cells are deferred.
 */
static double *make_sites(int64_t count) {
  double *sites = malloc(2 * (size_t)count * sizeof *sites);
  assert_non_null(sites);
  for (int64_t k = 0; k < 2 * count; ++k) {
    const double u = cvtm_random_uniform(7, 0, (uint64_t)k);
    sites[k] = k < count ? SIDE * u : 20 + 1e-3 * u;
  }
  return sites;
}

static void compare_ranks(int64_t count, cvtm_cvt_energy energy) {
  double *sites = make_sites(count), value[MOST_RANKS + 1][EVALUATIONS];
  double *moments[MOST_RANKS + 1];
  const size_t bytes = 4 * (size_t)count * sizeof *sites;
  for (int r = 0; r <= MOST_RANKS; ++r) assert_non_null(moments[r] = calloc(1, bytes));
  cvtm_device *device = test_device_open_threads(1);
  evaluate(device, &(job){count, energy, sites, value[MOST_RANKS], moments[MOST_RANKS]});
  cvtm_device_destroy(device);
  for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
    job jobs[MOST_RANKS];
    for (int r = 0; r < ranks; ++r) jobs[r] = (job){count, energy, sites, value[r], moments[r]};
    run_ranks(ranks, evaluate_as_rank, jobs);
    for (int r = 0; r < ranks; ++r) {
      assert_memory_equal(value[r], value[MOST_RANKS], sizeof value[r]);
      assert_memory_equal(moments[r], moments[MOST_RANKS], bytes);
    }
  }
  for (int r = 0; r <= MOST_RANKS; ++r) free(moments[r]);
  free(sites);
}

static void test_ranks_have_the_bits_of_one_process(void **unused) {
  (void)unused;
  for (int p = 0; p < SIDE * SIDE; ++p)
    density[p] = 0.1F + (float)cvtm_random_uniform(3, 0, (uint64_t)p);
  const int64_t counts[] = {5, 700, 3000, 12000, 20000, MOST_SITES};
  const size_t sizes =
      strcmp(test_device_name(), "cpu") == 0 ? 2 : sizeof counts / sizeof counts[0];
  for (size_t k = 0; k < sizes; ++k) {
    compare_ranks(counts[k], CVTM_CVT_EXACT);
    compare_ranks(counts[k], CVTM_CVT_PIXEL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds_follow_the_times),
      cmocka_unit_test(test_repeated),
      cmocka_unit_test(test_times_without_meaning),
      cmocka_unit_test(test_every_place_has_one_rank),
      cmocka_unit_test(test_ranks_have_the_bits_of_one_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
