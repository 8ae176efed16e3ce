/* Fourier sums against direct ones; spectra and pair correlations of sets that are known: the
 * hexagonal lattice, independent points, jittered points. */

#include "testing.h"

#include "base/portable.h"
#include "base/random.h"
#include "noise/fourier.h"
#include "noise/spectrum.h"

static double *random_points(int64_t count, double width, double height) {
  double *points = malloc(2 * (size_t)count * sizeof *points);
  for (int64_t i = 0; i < count; ++i) {
    cvtm_random_uniform2(5, 0, (uint64_t)i, points + 2 * i);
    points[2 * i] *= width;
    points[2 * i + 1] *= height;
  }
  return points;
}

static cvtm_complex direct_sum(const double *places, const double *weight, int64_t count, int64_t k,
                               int64_t l) {
  cvtm_complex sum = {0, 0};
  for (int64_t i = 0; i < count; ++i) {
    const double turn = (double)k * places[2 * i] + (double)l * places[2 * i + 1];
    sum.re += weight[i] * cos(2 * CVTM_PI * turn);
    sum.im -= weight[i] * sin(2 * CVTM_PI * turn);
  }
  return sum;
}

TEST(test_fourier) {
  enum { COUNT = 300, MODES = CVTM_FOURIER_MODES };
  const int64_t stride[2] = {3, 2}, first[2] = {-700, 5};
  double *places = random_points(COUNT, 1, 1);
  double weight[COUNT];
  places[0] = 0;
  places[3] = 1;
  for (int i = 0; i < COUNT; ++i) weight[i] = 1 + i % 3;
  cvtm_complex *sums = malloc((size_t)MODES * MODES * sizeof *sums);
  cvtm_fourier *fourier = NULL;
  assert_int_equal(cvtm_fourier_create(places, weight, COUNT, stride, 2, &fourier, NULL), CVTM_OK);
  cvtm_fourier_transform(fourier, first, sums);
  for (int b = 0; b < MODES; b += 73) {
    for (int a = b % 5; a < MODES; a += 37) {
      const cvtm_complex sum =
          direct_sum(places, weight, COUNT, first[0] + a * stride[0], first[1] + b * stride[1]);
      const cvtm_complex found = sums[b * MODES + a];
      assert_true(hypot(found.re - sum.re, found.im - sum.im) < 1e-8);
    }
  }
  cvtm_fourier_destroy(fourier);
  free(sums);
  free(places);
}

static cvtm_spectrum spectrum_of(cvtm_domain domain, const double *points, int64_t count,
                                 int threads) {
  cvtm_spectrum s;
  assert_int_equal(cvtm_spectrum_compute(domain, points, count, threads, &s, NULL), CVTM_OK);
  return s;
}

/* A lattice of rows, 26 x 30 points in 520 x 520: all power lies in peaks. Its triangles are flat
 * by a thousandth: 15 sqrt 3 is nearly 26. */
TEST(test_hexagonal_lattice) {
  enum { COLUMNS = 26, ROWS = 30, COUNT = COLUMNS * ROWS };
  double points[2 * COUNT];
  for (int i = 0; i < COUNT; ++i) {
    points[2 * i] = (i % COLUMNS + 0.5 * (i / COLUMNS % 2)) * 20.0;
    points[2 * i + 1] = (i / COLUMNS) * (520.0 / ROWS);
  }
  cvtm_spectrum s = spectrum_of((cvtm_domain){520, 520, 1}, points, COUNT, 2);
  assert_true(fabs(s.least_distance - 1) < 1e-3 && fabs(s.mean_distance - 1) < 1e-3);
  assert_true(fabs(s.effective_nyquist - sqrt(2 / sqrt(3.0))) < 2 * s.step);
  assert_true(s.low_power < 1e-12);
  /* Six points of power COUNT in the first ring of peaks. */
  assert_true(s.peak_power > 10);
  cvtm_spectrum_free(&s);
}

TEST(test_independent_points) {
  enum { COUNT = 20000 };
  double *points = random_points(COUNT, 300, 200);
  for (int periodic = 0; periodic < 2; ++periodic) {
    cvtm_spectrum s = spectrum_of((cvtm_domain){300, 200, periodic}, points, COUNT, 2);
    /* 5 standard deviations: there are about 7,800 frequencies up to 1/2, 37,000 pairs in a gap
     * at distance 3, and 1,250 squares. Hann's window correlates neighbouring frequencies: some
     * four of them count as one. */
    assert_true(fabs(s.low_power - 1) < (periodic ? 5 : 10) / sqrt(7800));
    assert_true(fabs(s.correlation[75] - 1) < 5 / sqrt(7500));
    assert_true(fabs(s.dispersion - 1) < 5 * sqrt(2.0 / 1250));
    assert_true(fabs(s.mean_anisotropy) < 0.3);
    assert_true(s.oscillation < 0.3 && s.effective_nyquist < 0.05);
    cvtm_spectrum_free(&s);
  }
  free(points);
}

/* One point in each unit square: P(f) = 1 - sinc(f_x)^2 sinc(f_y)^2. */
TEST(test_jittered_points) {
  enum { SIDE = 128, COUNT = SIDE * SIDE };
  double *points = random_points(COUNT, 1, 1);
  for (int i = 0; i < COUNT; ++i) {
    points[2 * i] += i % SIDE;
    points[2 * i + 1] += i / SIDE;
  }
  cvtm_spectrum s = spectrum_of((cvtm_domain){SIDE, SIDE, 1}, points, COUNT, 2);
  for (int64_t k = 10; k < s.rings && (double)k * s.step < 2; k += 7) {
    const double f = ((double)k + 0.5) * s.step;
    double sum = 0;
    for (int t = 0; t < 64; ++t) {
      const double a = CVTM_PI * f * cos(t * CVTM_PI / 32), b = CVTM_PI * f * sin(t * CVTM_PI / 32);
      const double u = a == 0 ? 1 : sin(a) / a, v = b == 0 ? 1 : sin(b) / b;
      sum += 1 - u * u * v * v;
    }
    const double expected = sum / 64, number = CVTM_PI * f * SIDE;
    assert_true(fabs(s.power[k] / expected - 1) < 5 / sqrt(number));
  }
  cvtm_spectrum_free(&s);
  free(points);
}

TEST(test_threads) {
  enum { COUNT = 3000 };
  double *points = random_points(COUNT, 70, 50);
  for (int periodic = 0; periodic < 2; ++periodic) {
    cvtm_spectrum one = spectrum_of((cvtm_domain){70, 50, periodic}, points, COUNT, 1);
    cvtm_spectrum three = spectrum_of((cvtm_domain){70, 50, periodic}, points, COUNT, 3);
    assert_memory_equal(one.power, three.power, (size_t)one.rings * sizeof *one.power);
    assert_memory_equal(one.correlation, three.correlation, (size_t)one.gaps * sizeof(double));
    cvtm_spectrum_free(&one);
    cvtm_spectrum_free(&three);
  }
  free(points);
}

/* Points of a density that grows 9 times, by rejection: their normalised differences are those of
 * independent points. */
TEST(test_graded_density) {
  enum { SIDE = 64, COUNT = 4000 };
  static float density[SIDE * SIDE];
  static double points[2 * COUNT];
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {SIDE, SIDE, periodic};
    cvtm_spectrum s, again;
    for (int p = 0; p < SIDE * SIDE; ++p)
      density[p] = (float)(5 + 4 * cos(2 * CVTM_PI * (p % SIDE + 0.5) / SIDE));
    for (int i = 0, k = 0; i < COUNT; ++k) {
      double draw[2], keep[2];
      cvtm_random_uniform2(9, 0, (uint64_t)k, draw);
      cvtm_random_uniform2(9, 1, (uint64_t)k, keep);
      points[2 * i] = draw[0] * SIDE;
      points[2 * i + 1] = draw[1] * SIDE;
      i += 9 * keep[0] < (double)density[(int)points[2 * i]];
    }
    assert_int_equal(cvtm_spectrum_compute_graded(domain, density, points, COUNT, 1, &s, NULL),
                     CVTM_OK);
    assert_int_equal(cvtm_spectrum_compute_graded(domain, density, points, COUNT, 3, &again, NULL),
                     CVTM_OK);
    assert_memory_equal(s.power, again.power, (size_t)s.rings * sizeof *s.power);
    /* A ring of 6 and more frequencies scatters with less than a tenth of 1. */
    for (int64_t k = 1; k < s.rings; ++k) assert_true(fabs(s.power[k] - 1) < 0.25);
    for (int64_t k = 50; k < s.gaps; ++k) assert_true(fabs(s.correlation[k] - 1) < 0.15);
    assert_true(fabs(s.low_power - 1) < 0.1 && fabs(s.mean_distance - 0.4653) < 0.02);
    cvtm_spectrum_free(&s);
    cvtm_spectrum_free(&again);
  }
}

/* A hexagon around its centre, then the same with one corner missing and the others spread. */
TEST(test_bond_order) {
  double points[14] = {0};
  int32_t triangles[18];
  double order = 0;
  for (int corners = 6; corners >= 5; --corners) {
    for (int k = 0; k < corners; ++k) {
      points[2 * k + 2] = cos(2 * CVTM_PI * k / corners);
      points[2 * k + 3] = sin(2 * CVTM_PI * k / corners);
      triangles[3 * k] = 0;
      triangles[3 * k + 1] = k + 1;
      triangles[3 * k + 2] = (k + 1) % corners + 1;
    }
    assert_int_equal(cvtm_bond_order(points, corners + 1, triangles, corners, &order, NULL),
                     CVTM_OK);
    assert_true(fabs(order - (corners == 6)) < 1e-12);
  }
}

TEST(test_refusals) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_spectrum s;
  const double point[4] = {1, 1, 2, 2};
  const cvtm_domain domain = {4, 4, 0};
  assert_int_equal(cvtm_spectrum_compute(domain, point, 1, 1, &s, &error), CVTM_ERROR_ARGUMENT);
  assert_int_equal(cvtm_spectrum_compute(domain, point, 1 << 23, 1, &s, &error),
                   CVTM_ERROR_ARGUMENT);
  assert_int_equal(cvtm_spectrum_compute(domain, point, 2, 1, &s, &error), CVTM_OK);
  assert_true(fabs(s.least_distance - sqrt(2 / (16 / sqrt(3.0)))) < 1e-12);
  cvtm_spectrum_free(&s);
}

TEST_MAIN()
