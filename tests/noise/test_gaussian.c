/* Gaussian blue noise: sums of kernels against direct ones, the energy's gradient, the density that
 * points follow, and their spectrum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/portable.h"
#include "base/random.h"
#include "noise/gaussian.h"
#include "noise/kernels.h"
#include "noise/spectrum.h"
#include "noise/target.h"

static double *random_points(cvtm_domain domain, int64_t count) {
  double *points = malloc(2 * (size_t)count * sizeof *points);
  for (int64_t i = 0; i < count; ++i) {
    cvtm_random_uniform2(11, 0, (uint64_t)i, points + 2 * i);
    points[2 * i] *= domain.width;
    points[2 * i + 1] *= domain.height;
  }
  return points;
}

/* Over the images up to 3 turns away. */
static double direct_sum(cvtm_domain domain, const cvtm_kernel_source *source, int count, double x,
                         double y, double width) {
  const int turns = domain.periodic ? 3 : 0;
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < (2 * turns + 1) * (2 * turns + 1); ++k) {
      const double dx = x - source[i].x + domain.width * (k % (2 * turns + 1) - turns);
      const double dy = y - source[i].y + domain.height * (k / (2 * turns + 1) - turns);
      const double square = width * width + source[i].variance;
      sum += source[i].mass * 2 * width * source[i].width / square *
             exp(-0.5 * (dx * dx + dy * dy) / square);
    }
  }
  return sum;
}

static void test_sums_of_kernels(void **state) {
  enum { COUNT = 400 };
  (void)state;
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {20, 14, periodic};
    double *points = random_points(domain, COUNT);
    cvtm_kernel_source source[COUNT];
    cvtm_kernels *kernels = NULL;
    for (int i = 0; i < COUNT; ++i) {
      const double width = ldexp(0.1, i % 5);
      source[i] = (cvtm_kernel_source){points[2 * i], points[2 * i + 1], width,
                                       width * width * (1 + i % 2), 1 + i % 3};
    }
    assert_int_equal(cvtm_kernels_create(domain, COUNT, &kernels, NULL), CVTM_OK);
    cvtm_kernels_set(kernels, source, COUNT);
    for (int i = 0; i < COUNT; i += 7) {
      const double x = points[2 * i] * 0.99, y = points[2 * i + 1] * 0.98, a = ldexp(0.15, i % 4);
      const double step = 1e-5;
      const cvtm_kernel_sum sum = cvtm_kernels_at(kernels, x, y, a);
      double differences[3];
      for (int k = 0; k < 3; ++k) {
        const double h[3] = {k == 0 ? step : 0, k == 1 ? step : 0, k == 2 ? step : 0};
        differences[k] = (direct_sum(domain, source, COUNT, x + h[0], y + h[1], a * exp(h[2])) -
                          direct_sum(domain, source, COUNT, x - h[0], y - h[1], a * exp(-h[2]))) /
                         (2 * step);
      }
      /* Each of some 400 kernels that are left out has at most 1e-7. */
      assert_true(fabs(sum.value - direct_sum(domain, source, COUNT, x, y, a)) < 1e-5);
      assert_true(fabs(sum.by_x - differences[0]) < 1e-4 * (1 + fabs(differences[0])));
      assert_true(fabs(sum.by_y - differences[1]) < 1e-4 * (1 + fabs(differences[1])));
      assert_true(fabs(sum.by_log_width - differences[2]) < 1e-4 * (1 + fabs(differences[2])));
    }
    cvtm_kernels_destroy(kernels);
    free(points);
  }
}

/* Of an even density the width is constant, and the potential in a torus 2 pi times twice its
 * square over the spacing's. The derivatives are those of the interpolants. */
static void test_target(void **state) {
  enum { SIDE = 40, COUNT = 200 };
  (void)state;
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 1};
  const double width = 0.6, spacing = SIDE / sqrt(COUNT), step = 1e-6;
  cvtm_target target;
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 3;
  assert_int_equal(cvtm_target_create(domain, density, COUNT, width, 1, 2, &target, NULL), CVTM_OK);
  cvtm_target_value v = cvtm_target_at(&target, 3.3, 39.9);
  assert_true(fabs(v.log_width - log(width * spacing)) < 1e-9);
  assert_true(fabs(v.potential - 4 * CVTM_PI * width * width) < 1e-3);
  cvtm_target_free(&target);

  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = p % SIDE < 15 ? 4 : 0.1F;
  assert_int_equal(cvtm_target_create(domain, density, COUNT, width, 1, 2, &target, NULL), CVTM_OK);
  for (double x = 0.7; x < SIDE; x += 2.9) {
    v = cvtm_target_at(&target, x, 9.1);
    const cvtm_target_value a = cvtm_target_at(&target, x - step, 9.1);
    const cvtm_target_value b = cvtm_target_at(&target, x + step, 9.1);
    assert_true(fabs((b.log_width - a.log_width) / (2 * step) - v.width_by[0]) < 1e-6);
    assert_true(fabs((b.potential - a.potential) / (2 * step) - v.potential_by[0]) < 1e-5);
  }
  cvtm_target_free(&target);
}

static cvtm_lbfgsb_result make_noise(cvtm_domain domain, const float *density, int64_t fixed,
                                     int64_t iterations, int threads, double *points,
                                     int64_t count) {
  cvtm_gaussian_options options;
  cvtm_lbfgsb_result result;
  cvtm_gaussian_defaults(&options);
  options.fixed = fixed;
  options.threads = threads;
  if (iterations > 0) options.max_iterations = iterations;
  assert_int_equal(cvtm_gaussian_noise(domain, density, &options, points, count, &result, NULL),
                   CVTM_OK);
  return result;
}

/* The figures of the published spectra of Gaussian blue noise: hardly any power at low frequencies,
 * a first peak below 4, and no direction. */
static void test_spectrum(void **state) {
  enum { SIDE = 50, COUNT = 2500 };
  (void)state;
  static float density[SIDE * SIDE];
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 1;
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {SIDE, SIDE, periodic};
    double *points = random_points(domain, COUNT);
    cvtm_spectrum s;
    make_noise(domain, density, 0, 0, 2, points, COUNT);
    assert_int_equal(cvtm_spectrum_compute(domain, points, COUNT, 2, &s, NULL), CVTM_OK);
    assert_true(s.low_power < 2e-5);
    assert_true(s.effective_nyquist > 0.82 && s.effective_nyquist < 0.95);
    assert_true(s.oscillation < 3 && s.peak_power < 4);
    assert_true(fabs(s.mean_anisotropy) < 0.5);
    assert_true(s.mean_distance > 0.75);
    cvtm_spectrum_free(&s);
    free(points);
  }
}

/* A step from 1 to 8: numbers of points in columns away from the edge of the density. */
static void test_density(void **state) {
  enum { SIDE = 96, COUNT = 3000 };
  (void)state;
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 0};
  double *points = random_points(domain, COUNT);
  double total = 0;
  int found[4] = {0, 0, 0, 0};
  for (int p = 0; p < SIDE * SIDE; ++p) total += density[p] = p % SIDE < SIDE / 2 ? 1 : 8;
  const cvtm_lbfgsb_result start = make_noise(domain, density, 0, 1, 2, points, COUNT);
  const cvtm_lbfgsb_result end = make_noise(domain, density, 0, 0, 2, points, COUNT);
  assert_true(end.f < start.f);
  for (int i = 0; i < COUNT; ++i) {
    assert_true(points[2 * i] >= 0 && points[2 * i] <= SIDE);
    assert_true(points[2 * i + 1] >= 0 && points[2 * i + 1] <= SIDE);
    ++found[(int)fmin(points[2 * i] / (SIDE / 4.0), 3)];
  }
  /* Some 67 points stand along the edge of the density, which is blurred by less than a third of
   * their spacing. */
  for (int k = 0; k < 4; ++k) {
    const double expected = COUNT / total * SIDE * SIDE / 4 * (k < 2 ? 1 : 8);
    assert_true(fabs(found[k] - expected) < 67 / 3.0);
  }
  free(points);
}

static void test_threads_and_fixed_points(void **state) {
  enum { SIDE = 30, COUNT = 500, FIXED = 3 };
  (void)state;
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 1};
  double *one = random_points(domain, COUNT), *three = random_points(domain, COUNT);
  double kept[2 * FIXED];
  memcpy(kept, one, sizeof kept);
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = (float)(1 + p % SIDE);
  make_noise(domain, density, FIXED, 30, 1, one, COUNT);
  make_noise(domain, density, FIXED, 30, 3, three, COUNT);
  assert_memory_equal(one, three, 2 * COUNT * sizeof *one);
  assert_memory_equal(one, kept, sizeof kept);
  free(one);
  free(three);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_of_kernels),
      cmocka_unit_test(test_target),
      cmocka_unit_test(test_spectrum),
      cmocka_unit_test(test_density),
      cmocka_unit_test(test_threads_and_fixed_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
