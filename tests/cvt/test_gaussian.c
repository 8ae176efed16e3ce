/* Gaussian blue noise: sums of kernels against direct ones, the energy and its gradient on every
 * device, the density that points follow, and their spectrum. */
#include <complex.h>

#include "base/portable.h"
#include "base/random.h"
#include "cvt/noise/blue_noise.h"
#include "cvt/gaussian.h"
#include "cvt/noise/target.h"
#include "tests/test_devices.h"

static double *random_points(cvtm_domain domain, int64_t count) {
  double *points = doubles(2 * count);
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

/* Compares a sum with direct ones: its value, and the derivatives with differences. */
static void check_sum(cvtm_domain domain, const cvtm_kernel_source *source, int count,
                      const cvtm_kernel_source *place, const cvtm_kernel_sum *sum) {
  const double x = place->x, y = place->y, a = place->width, step = 1e-5;
  double differences[3];
  for (int k = 0; k < 3; ++k) {
    const double h[3] = {k == 0 ? step : 0, k == 1 ? step : 0, k == 2 ? step : 0};
    differences[k] = (direct_sum(domain, source, count, x + h[0], y + h[1], a * exp(h[2])) -
                      direct_sum(domain, source, count, x - h[0], y - h[1], a * exp(-h[2]))) /
                     (2 * step);
  }
  /* Each of some 400 kernels that are left out has at most 1e-7. */
  assert_true(fabs(sum->value - direct_sum(domain, source, count, x, y, a)) < 1e-5);
  assert_true(fabs(sum->by_x - differences[0]) < 1e-4 * (1 + fabs(differences[0])));
  assert_true(fabs(sum->by_y - differences[1]) < 1e-4 * (1 + fabs(differences[1])));
  assert_true(fabs(sum->by_log_width - differences[2]) < 1e-4 * (1 + fabs(differences[2])));
}

TEST_ON_DEVICE(test_sums_of_kernels) {
  enum { COUNT = 400, PLACES = 58 };
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {20, 14, periodic};
    double *points = random_points(domain, COUNT);
    cvtm_kernel_source source[COUNT], place[PLACES];
    cvtm_kernel_sum sum[PLACES];
    cvtm_kernels *kernels = NULL;
    for (int i = 0; i < COUNT; ++i) {
      const double width = ldexp(0.1, i % 5);
      source[i] = (cvtm_kernel_source){points[2 * i], points[2 * i + 1], width,
                                       width * width * (1 + i % 2), 1 + i % 3};
    }
    for (int i = 0; i < PLACES; ++i)
      place[i] = (cvtm_kernel_source){.x = points[14 * i] * 0.99,
                                      .y = points[14 * i + 1] * 0.98,
                                      .width = ldexp(0.15, 7 * i % 4)};
    void *sources = copied_in(device, source, COUNT, sizeof *source);
    void *places = copied_in(device, place, PLACES, sizeof *place);
    void *sums = device_array(device, PLACES, sizeof *sum);
    assert_device_ok(device, cvtm_kernels_create(device, domain, COUNT, &kernels));
    assert_device_ok(device, cvtm_kernels_set(kernels, sources, COUNT));
    assert_device_ok(device, cvtm_kernels_sum(kernels, places, PLACES, sums));
    assert_copy_out(device, sum, sums, sizeof sum);
    for (int i = 0; i < PLACES; ++i) check_sum(domain, source, COUNT, &place[i], &sum[i]);
    cvtm_kernels_destroy(kernels);
    device_free_all(device, sources, places, sums);
    free(points);
  }
}

static cvtm_target make_target(cvtm_device *device, cvtm_domain domain, const float *density,
                               double width, int64_t count) {
  cvtm_target target;
  double *masses = NULL;
  assert_ok(cvtm_target_create(domain, density, count, width, 2, &target, &masses, NULL));
  assert_device_ok(device, cvtm_target_add_potential(device, masses, &target));
  free(masses);
  return target;
}

/* Of an even density the width is constant, and the potential in a torus 2 pi times twice its
 * square over the spacing's. The derivatives are those of the interpolants. */
TEST_ON_DEVICE(test_target) {
  enum { SIDE = 40, COUNT = 200 };
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 1};
  const double width = 0.6, spacing = SIDE / sqrt(COUNT), step = 1e-6;
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 3;
  cvtm_target target = make_target(device, domain, density, width, COUNT);
  cvtm_target_value v = cvtm_target_at(&target, 3.3, 39.9);
  assert_true(fabs(v.log_width - log(width * spacing)) < 1e-9);
  assert_true(fabs(v.potential - 4 * CVTM_PI * width * width) < 1e-3);
  cvtm_target_free(&target);

  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = p % SIDE < 15 ? 4 : 0.1F;
  target = make_target(device, domain, density, width, COUNT);
  for (double x = 0.7; x < SIDE; x += 2.9) {
    v = cvtm_target_at(&target, x, 9.1);
    const cvtm_target_value a = cvtm_target_at(&target, x - step, 9.1);
    const cvtm_target_value b = cvtm_target_at(&target, x + step, 9.1);
    assert_true(fabs((b.log_width - a.log_width) / (2 * step) - v.width_by[0]) < 1e-6);
    assert_true(fabs((b.potential - a.potential) / (2 * step) - v.potential_by[0]) < 1e-5);
  }
  cvtm_target_free(&target);
}

/* The energy and its gradient (2 * count) of points. */
static double evaluate(cvtm_device *device, cvtm_domain domain, const float *density,
                       const double *points, int64_t count, double *gradient) {
  cvtm_blue_noise *noise = NULL;
  double f[2];
  void *x = copied_in(device, points, 2 * count, sizeof *points);
  void *value = device_array(device, 2, sizeof *f), *g;
  g = device_array(device, 2 * count, sizeof *gradient);
  assert_device_ok(device, cvtm_blue_noise_create(device, domain, density, 0.9, count, &noise));
  assert_device_ok(device, cvtm_blue_noise_evaluate(noise, x, value, g, NULL));
  assert_copy_out(device, f, value, sizeof *f);
  assert_copy_out(device, gradient, g, 2 * (size_t)count * sizeof *gradient);
  cvtm_blue_noise_destroy(noise);
  device_free_all(device, x, value, g);
  return f[0];
}

/* A square of density among hardly any, so that widths differ by a factor of 30 and more. */
static void fill_square(cvtm_domain domain, float *density) {
  for (int p = 0; p < domain.width * domain.height; ++p) {
    const int x = p % domain.width, y = p / domain.width;
    density[p] = 3 * x > domain.width && 2 * x < domain.width && y < 9 ? 1 : 1e-4F;
  }
}

/* The devices leave out the same kernels and add the others in the same order, and exp() alone is
 * rounded otherwise: by a unit in the last place of the widths. A sum of a thousand kernels then
 * differs by some 1e-13 of its largest terms. Domains: a picture, a torus, a torus that is smaller
 * than the reach of a kernel, and a line of pixels. */
TEST_ON_DEVICE(test_energy_is_the_same_on_the_cpu) {
  static const struct {
    cvtm_domain domain;
    int64_t count;
  } cases[] = {{{64, 40, 0}, 1500}, {{40, 64, 1}, 1500}, {{7, 5, 1}, 6}, {{1, 4096, 0}, 2}};
  cvtm_device *cpu = test_cpu_open(2);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    const cvtm_domain domain = cases[k].domain;
    const int64_t count = cases[k].count;
    float *density = allocated(domain.width * domain.height, sizeof *density);
    double *points = random_points(domain, count);
    double *here = doubles(2 * count), *there = doubles(2 * count);
    fill_square(domain, density);
    for (int64_t i = 0; i < count / 2; ++i) { /* half of the points where the density is */
      points[2 * i] = domain.width / 3.0 + points[2 * i] / 6;
      points[2 * i + 1] *= fmin(9.0 / domain.height, 1);
    }
    const double f = evaluate(device, domain, density, points, count, here);
    const double expected = evaluate(cpu, domain, density, points, count, there);
    double largest = 0, error = 0;
    for (int64_t i = 0; i < 2 * count; ++i) {
      largest = fmax(largest, fabs(there[i]));
      error = fmax(error, fabs(here[i] - there[i]));
    }
    assert_true(isfinite(f) && largest > 0);
    assert_true(fabs(f - expected) <= 1e-11 * (fabs(expected) + (double)count));
    assert_true(error <= 1e-11 * largest);
    free_all(density, points, here, there);
  }
  cvtm_device_destroy(cpu);
}

static cvtm_lbfgsb_result make_noise(cvtm_device *device, cvtm_domain domain, const float *density,
                                     int64_t fixed, int64_t iterations, double *points,
                                     int64_t count) {
  DEFAULT_OPTIONS(cvtm_gaussian, options);
  cvtm_lbfgsb_result result;
  options.fixed = fixed;
  if (iterations > 0) options.max_iterations = iterations;
  assert_device_ok(device,
                   cvtm_gaussian_noise(device, domain, density, &options, points, count, &result));
  return result;
}

/* All of a run stays on the device, unless the host is asked to drive its rounds. */
TEST_ON_DEVICE(test_loop_is_captured) {
  enum { SIDE = 20, COUNT = 100 };
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 1};
  double *points = random_points(domain, COUNT);
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 1;
  const cvtm_lbfgsb_result result = make_noise(device, domain, density, 0, 5, points, COUNT);
  assert_int_equal(result.iterations, 5);
  assert_int_equal(result.captured, test_device_captures(device));
  free(points);
}

enum { SIDE_OF_SET = 50, COUNT_OF_SET = 2500, RINGS = 100, MODES = 2 * SIDE_OF_SET };

/* Sums of powers and of their squares in rings of frequencies, up to 2 per spacing, which is 1, of
 * points with the weights of Hann's window where the domain is no torus. */
static void sum_powers(int periodic, const double *points, double *sum, double *square,
                       double *number) {
  static double complex total[2 * MODES + 1][MODES + 1], along_y[MODES + 1];
  double weights = 0, squares = 0;
  memset(total, 0, sizeof total);
  for (int i = 0; i < COUNT_OF_SET; ++i) {
    const double x = points[2 * i] / SIDE_OF_SET, y = points[2 * i + 1] / SIDE_OF_SET;
    const double window = pow(sin(CVTM_PI * x) * sin(CVTM_PI * y), 2), w = periodic ? 1 : window;
    for (int l = 0; l <= MODES; ++l) along_y[l] = w * cexp(-2 * CVTM_PI * I * (l * y));
    for (int k = -MODES; k <= MODES; ++k) {
      const double complex along_x = cexp(-2 * CVTM_PI * I * (k * x));
      for (int l = 0; l <= MODES; ++l) total[k + MODES][l] += along_x * along_y[l];
    }
    weights += w;
    squares += w * w;
  }
  for (int k = -MODES; k <= MODES; ++k)
    for (int l = 0; l <= MODES; ++l) {
      static const double transform[3] = {0.5, -0.25, 0};
      const int ring = (int)(hypot(k, l) / SIDE_OF_SET * RINGS / 2);
      if (ring >= RINGS || (l == 0 && k <= 0)) continue;
      double complex z = total[k + MODES][l];
      if (!periodic)
        z -= 4 * weights * transform[abs(k) < 2 ? abs(k) : 2] * transform[l < 2 ? l : 2];
      const double power = creal(z * conj(z)) / squares;
      sum[ring] += power;
      square[ring] += power * power;
      ++number[ring];
    }
}

/* The figures of the published spectra of Gaussian blue noise: hardly any power at low frequencies,
 * a mean of 0.1 between the frequencies 0.82 and 0.95, a first peak below 4, and no direction. */
TEST_ON_DEVICE(test_spectrum) {
  static float density[SIDE_OF_SET * SIDE_OF_SET];
  for (int p = 0; p < SIDE_OF_SET * SIDE_OF_SET; ++p) density[p] = 1;
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {SIDE_OF_SET, SIDE_OF_SET, periodic};
    double *points = random_points(domain, COUNT_OF_SET);
    double sum[RINGS] = {0}, square[RINGS] = {0}, number[RINGS] = {0};
    double power = 0, count = 0, decibels = 0;
    make_noise(device, domain, density, 0, 0, points, COUNT_OF_SET);
    sum_powers(periodic, points, sum, square, number);
    for (int ring = 0; ring < RINGS; ++ring) {
      power += sum[ring];
      count += number[ring];
      if (ring == 24) assert_true(power < 2e-5 * count); /* up to 0.5 */
      if (ring == 40) assert_true(power < 0.1 * count);  /* 0.82 */
      if (ring == 47) assert_true(power >= 0.1 * count); /* 0.96 */
      if (number[ring] < 2) continue;
      const double mean = sum[ring] / number[ring];
      const double variance = (square[ring] - number[ring] * mean * mean) / (number[ring] - 1);
      assert_true(mean < 4);
      if (ring >= 25) decibels += 10 * log10(variance / (mean * mean)) / (RINGS - 25);
    }
    assert_true(fabs(decibels) < 0.5);
    free(points);
  }
}

/* A step from 1 to 8: numbers of points in columns away from the edge of the density. */
TEST_ON_DEVICE(test_density) {
  enum { SIDE = 96, COUNT = 3000 };
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 0};
  double *points = random_points(domain, COUNT);
  double total = 0;
  int found[4] = {0, 0, 0, 0};
  for (int p = 0; p < SIDE * SIDE; ++p) total += density[p] = p % SIDE < SIDE / 2 ? 1 : 8;
  const cvtm_lbfgsb_result start = make_noise(device, domain, density, 0, 1, points, COUNT);
  const cvtm_lbfgsb_result end = make_noise(device, domain, density, 0, 0, points, COUNT);
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

TEST(test_same_bits_and_fixed_points) {
  enum { SIDE = 30, COUNT = 500, FIXED = 3 };
  static float density[SIDE * SIDE];
  const cvtm_domain domain = {SIDE, SIDE, 1};
  double *one = random_points(domain, COUNT), *three = random_points(domain, COUNT);
  double kept[2 * FIXED];
  memcpy(kept, one, sizeof kept);
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = (float)(1 + p % SIDE);
  for (int threads = 1; threads <= 3; threads += 2) {
    cvtm_device *device = test_device_open_threads(threads);
    make_noise(device, domain, density, FIXED, 30, threads == 1 ? one : three, COUNT);
    cvtm_device_destroy(device);
  }
  assert_memory_equal(one, three, 2 * COUNT * sizeof *one);
  assert_memory_equal(one, kept, sizeof kept);
  free_all(one, three);
}

TEST_DEVICE_MAIN()
