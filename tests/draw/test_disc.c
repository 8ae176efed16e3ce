/* Discs in polygons against sums over fine grids, the coverage of pixels by discs, and the likeness
 * of pictures. */
#include "testing.h"

#include "draw/disc.h"

#include "base/portable.h"
#include "draw/likeness.h"

static const double hexagon[12] = {3, 0, 1, 2, -2, 2.5, -3, 0, -1.5, -2, 2, -2};
static const double centre[2] = {0.2, 0.1};

static int is_inside(double x, double y) {
  for (int k = 0; k < 6; ++k) {
    const double *a = hexagon + 2 * k, *b = hexagon + 2 * ((k + 1) % 6);
    if ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) < 0) return 0;
  }
  return 1;
}

static double area_by_points(double radius) {
  const double step = 0.01;
  int64_t hits = 0;
  for (double y = -4; y < 4; y += step)
    for (double x = -4; x < 4; x += step)
      hits += is_inside(x, y) && hypot(x - centre[0], y - centre[1]) < radius;
  return (double)hits * step * step;
}

TEST(area_of_a_disc_in_a_polygon) {
  const double step = 1e-5;
  for (double radius = 0.5; radius < 4; radius += 0.5) {
    double arc, unused;
    const double area = cvtm_disc_polygon_area(hexagon, 6, centre, radius, &arc);
    const double less = cvtm_disc_polygon_area(hexagon, 6, centre, radius - step, &unused);
    const double more = cvtm_disc_polygon_area(hexagon, 6, centre, radius + step, &unused);
    assert_true(fabs(area - area_by_points(radius)) < 0.02);
    assert_true(fabs((more - less) / (2 * step) - radius * arc) < 1e-3);
  }
}

TEST(radius_for_an_area) {
  double arc;
  const double whole = cvtm_disc_polygon_area(hexagon, 6, centre, 10, &arc);
  for (int k = 1; k < 50; ++k) {
    const double area = whole * k / 50;
    const double radius = cvtm_disc_radius_for(hexagon, 6, centre, area);
    assert_true(fabs(cvtm_disc_polygon_area(hexagon, 6, centre, radius, &arc) - area) <
                1e-9 * whole);
  }
  const double farthest = hypot(2.2, 2.4);
  assert_true(fabs(cvtm_disc_radius_for(hexagon, 6, centre, 2 * whole) - farthest) < 1e-12);
  assert_true(cvtm_disc_radius_for(hexagon, 6, centre, 0) == 0);
  assert_true(cvtm_disc_radius_for(hexagon, 0, centre, 1) == 0);
}

/* The whole area that is covered, from a grid of this side. */
static double covered_area(cvtm_domain domain, int side, const double *centres, const double *radii,
                           int64_t count) {
  const cvtm_disc_grid grid = cvtm_disc_grid_make(domain, side);
  float *coverage = allocated(grid.width * grid.height, sizeof *coverage);
  assert_ok(cvtm_disc_coverage(&grid, centres, radii, count, coverage, NULL));
  double area = 0;
  for (int j = 0; j < grid.height; ++j) {
    for (int i = 0; i < grid.width; ++i) {
      const float c = coverage[j * grid.width + i];
      assert_true(c >= 0 && c <= 1);
      area +=
          (double)c * fmin(side, domain.width - i * side) * fmin(side, domain.height - j * side);
    }
  }
  free(coverage);
  return area;
}

TEST(coverage_of_discs) {
  const cvtm_domain domain = {50, 40, 0};
  const double apart[8] = {10, 10, 30.3, 12.7, 14.2, 29.9, 40, 30}, sizes[4] = {4, 5.5, 0.7, 3};
  const double all = CVTM_PI * (16 + 5.5 * 5.5 + 0.49 + 9);
  /* Two discs of radius 5 whose centres are 5 apart, and a third inside one of them. */
  const double close[6] = {20, 20, 25, 20, 19, 20}, radii[3] = {5, 5, 2};
  const double lens = 2 * 25 * acos(0.5) - 2.5 * sqrt(75);
  /* Quarter, half and whole discs at a border; the last is outside. */
  const double rim[8] = {0, 0, 50, 20, 25, 37, 70, 20}, rims[4] = {3, 3, 3, 3};
  for (int side = 1; side <= 7; side += 3) {
    assert_true(fabs(covered_area(domain, side, apart, sizes, 4) / all - 1) < 2e-3);
    assert_true(fabs(covered_area(domain, side, close, radii, 3) / (50 * CVTM_PI - lens) - 1) <
                2e-3);
    assert_true(fabs(covered_area(domain, side, rim, rims, 4) / (9 * CVTM_PI * 1.75) - 1) < 3e-3);
  }
}

/* A disc that is larger than the picture covers all of it. */
TEST(coverage_of_large_discs) {
  enum { DISCS = 200 };
  double centres[2 * DISCS], radii[DISCS];
  const cvtm_domain domain = {31, 17, 0};
  for (int k = 0; k < DISCS; ++k) {
    centres[2 * k] = (7 * k) % 31;
    centres[2 * k + 1] = (5 * k) % 17;
    radii[k] = 1 + k;
  }
  assert_true(fabs(covered_area(domain, 2, centres, radii, DISCS) - 31 * 17) < 1e-3);
  for (int k = 0; k < DISCS; ++k) radii[k] = 0;
  assert_true(covered_area(domain, 2, centres, radii, DISCS) == 0);
}

TEST(likeness_of_pictures) {
  enum { W = 60, H = 40 };
  static float picture[W * H], drawing[W * H];
  cvtm_likeness l;
  for (int j = 0; j < H; ++j) {
    for (int i = 0; i < W; ++i) {
      picture[j * W + i] = (float)(0.5 + 0.3 * sin(0.1 * i) * cos(0.2 * j));
      drawing[j * W + i] = (float)(0.4 + 0.5 * ((double)picture[j * W + i] - 0.5));
    }
  }
  assert_ok(cvtm_likeness_measure(picture, picture, W, H, 2, &l, NULL));
  assert_true(fabs(l.contrast - 1) < 1e-6 && fabs(l.correlation - 1) < 1e-6);
  assert_true(fabs(l.ssim - 1) < 1e-4);
  assert_ok(cvtm_likeness_measure(drawing, picture, W, H, 2, &l, NULL));
  assert_true(fabs(l.contrast - 0.5) < 1e-4 && fabs(l.correlation - 1) < 1e-4);
  assert_true(l.ssim > 0.5 && l.ssim < 0.9);
  /* A blur that is wider than the picture. */
  assert_ok(cvtm_likeness_measure(drawing, picture, W, H, 50, &l, NULL));
  assert_true(fabs(l.contrast - 0.5) < 0.05);
  for (int p = 0; p < W * H; ++p) picture[p] = 0.25F;
  assert_ok(cvtm_likeness_measure(drawing, picture, W, H, 2, &l, NULL));
  assert_true(!(l.correlation > 0.5));
}

TEST_MAIN()
