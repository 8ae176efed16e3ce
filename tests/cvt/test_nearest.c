/* Distances to nearest points against direct ones: random points, a cluster far from the others,
 * points that share a place, a torus. */

#include "testing.h"

#include "base/random.h"
#include "cvt/nearest.h"

static double around(double d, double side, int periodic) {
  d = fabs(d);
  return periodic ? fmin(d, side - d) : d;
}

static void check(cvtm_domain domain, const double *points, int64_t count) {
  cvtm_nearest_distances found;
  double sum = 0, least = INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    double nearest = INFINITY;
    for (int64_t j = 0; j < count; ++j) {
      const double dx = around(points[2 * i] - points[2 * j], domain.width, domain.periodic);
      const double dy =
          around(points[2 * i + 1] - points[2 * j + 1], domain.height, domain.periodic);
      if (j != i) nearest = fmin(nearest, hypot(dx, dy));
    }
    sum += nearest;
    least = fmin(least, nearest);
  }
  assert_ok(cvtm_nearest_distances_measure(domain, points, count, 2, &found, NULL));
  assert_int_equal(found.points, count);
  assert_true(fabs(found.least - least) <= 1e-12 * least);
  assert_true(fabs(found.mean - sum / (double)count) <= 1e-12 * sum);
}

TEST(test_distances) {
  enum { COUNT = 300 };
  double points[2 * COUNT];
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {40, 25, periodic};
    for (int64_t i = 0; i < COUNT; ++i) {
      const double size = i < COUNT - 1 ? (i % 2 ? 1 : 1e-3) : 1;
      cvtm_random_uniform2(3, 0, (uint64_t)i, points + 2 * i);
      points[2 * i] *= size * domain.width;
      points[2 * i + 1] *= size * domain.height;
    }
    check(domain, points, COUNT);
    check(domain, points, 2);
    check(domain, points + 2 * (COUNT - 2), 2);
    points[2] = points[0];
    points[3] = points[1];
    check(domain, points, COUNT);
  }
}

TEST(test_few_points) {
  const double point[2] = {1, 2};
  cvtm_nearest_distances found;
  assert_ok(cvtm_nearest_distances_measure((cvtm_domain){4, 4, 0}, point, 1, 1, &found, NULL));
  assert_true(isnan(found.least) && isnan(found.mean));
}

TEST_MAIN()
