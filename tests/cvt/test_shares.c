/* The division of cells among ranks: whole, in order, and by the measured times. */
#include <math.h>

#include "base/ranks.h"
#include "cvt/shares.h"
#include "tests/test_devices.h"

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
      const cvtm_ranks ranks = {r, SIZE, gather_nothing, NULL};
      cvtm_shares shares = {0};
      int64_t first, end;
      cvtm_device_set_ranks(device, &ranks);
      assert_device_ok(device, cvtm_shares_create(device, count, &shares));
      cvtm_shares_own(&shares, &ranks, count, &first, &end);
      assert_int_equal(first, next);
      assert_true(end >= first);
      assert_true(first % CVTM_SHARES_BLOCK == 0 || first == count);
      next = end;
      cvtm_shares_free(&shares);
    }
    assert_int_equal(next, count);
  }
  cvtm_device_destroy(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds_follow_the_times),
      cmocka_unit_test(test_repeated),
      cmocka_unit_test(test_times_without_meaning),
      cmocka_unit_test(test_every_place_has_one_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
