/* Bounded gradation against sums over all pairs of pixels and around walls; regions of polygons
 * against areas; seeds, first curves and the smoothing of shades. */
#include "testing.h"

#include <unistd.h>

#include "density/condition.h"
#include "density/region.h"
#include "density/segmentation.h"

enum { WIDTH = 37, HEIGHT = 29, PIXELS = WIDTH * HEIGHT };

static double apart(int p, int q) {
  return hypot(p % WIDTH - q % WIDTH, (double)(p / WIDTH) - (double)(q / WIDTH));
}

/* First-order upwind differences approximate fronts by straight lines. The result exceeds the exact
 * distance by O(h log h) around a point, and falls below it by at most 1 - 1/sqrt(2) pixels where
 * two fronts meet. */
TEST(sizes_are_bounded) {
  double density[PIXELS], graded[PIXELS];
  const double slope = 0.3;
  uint32_t seed = 3;
  for (int p = 0; p < PIXELS; ++p) {
    seed = seed * 1664525U + 1013904223U;
    density[p] = seed >> 24 > 250 ? 1.0 : 1e-4 * (1 + 1e-9 * (seed >> 16));
  }
  density[5] = 0;
  memcpy(graded, density, sizeof density);
  cvtm_grade_size(WIDTH, HEIGHT, NULL, slope, graded);
  for (int p = 0; p < PIXELS; ++p) {
    double exact = (double)INFINITY, far = 0;
    for (int q = 0; q < PIXELS; ++q) {
      const double size = density[q] > 0 ? pow(density[q], -0.25) : (double)INFINITY;
      if (size + slope * apart(p, q) < exact) {
        exact = size + slope * apart(p, q);
        far = apart(p, q);
      }
    }
    const double size = pow(graded[p], -0.25);
    assert_true(graded[p] >= density[p]);
    assert_true(size >= exact - slope * 0.293);
    assert_true(size <= exact + slope * 0.35 * (1 + log(1 + far)));
  }
  /* Once is enough. */
  double again[PIXELS];
  memcpy(again, graded, sizeof graded);
  cvtm_grade_size(WIDTH, HEIGHT, NULL, slope, again);
  for (int p = 0; p < PIXELS; ++p) assert_true(fabs(again[p] - graded[p]) <= 1e-12 * graded[p]);
}

/* A wall with a gap at its lower end: sizes behind it come around. */
TEST(walls_hold) {
  double value[PIXELS];
  uint8_t mask[PIXELS];
  for (int p = 0; p < PIXELS; ++p) {
    value[p] = (double)INFINITY;
    mask[p] = p % WIDTH != 18 || p / WIDTH == HEIGHT - 1;
  }
  value[0] = 0;
  cvtm_eikonal(WIDTH, HEIGHT, mask, NULL, 1, value);
  const double gap = hypot(18, HEIGHT - 1), around = gap + hypot(18, HEIGHT - 1);
  assert_true(value[36] >= around - 1 && value[36] <= around + 3);
  assert_true(value[17] == 17);
  assert_true(isinf(value[18]));
  /* Closed, nothing gets through. */
  mask[(HEIGHT - 1) * WIDTH + 18] = 0;
  for (int p = 1; p < PIXELS; ++p) value[p] = (double)INFINITY;
  cvtm_eikonal(WIDTH, HEIGHT, mask, NULL, 1, value);
  for (int p = 0; p < PIXELS; ++p) assert_int_equal(isinf(value[p]) != 0, p % WIDTH >= 18);
  /* And a density behind it is what it was. */
  double density[PIXELS];
  for (int p = 0; p < PIXELS; ++p) density[p] = !mask[p] ? 0 : p % WIDTH < 18 ? 1 : 1e-8;
  cvtm_grade_size(WIDTH, HEIGHT, mask, 0.1, density);
  for (int p = 0; p < PIXELS; ++p) {
    const double before = !mask[p] ? 0 : p % WIDTH < 18 ? 1 : 1e-8;
    assert_true(fabs(density[p] - before) <= 1e-14 * before);
  }
}

TEST(polygons_become_regions) {
  /* A square with a square hole, partly outside the picture. */
  double points[16] = {-10, 2, 20, 2, 20, 22, -10, 22, 4.5, 6.5, 4.5, 12.5, 10.5, 12.5, 10.5, 6.5};
  int64_t start[3] = {0, 4, 8};
  const cvtm_polygons polygons = {2, start, points, 0};
  uint8_t inside[PIXELS];
  assert_ok(cvtm_region_of_polygons(&polygons, WIDTH, HEIGHT, inside, NULL));
  for (int p = 0; p < PIXELS; ++p) {
    const double x = p % WIDTH + 0.5, y = (double)(p / WIDTH) + 0.5;
    const int hole = x > 4.5 && x < 10.5 && y > 6.5 && y < 12.5;
    const int edge = x == 4.5 || x == 10.5 || y == 6.5 || y == 12.5;
    if (!edge) assert_int_equal(inside[p], x < 20 && y > 2 && y < 22 && !hole);
  }
}

/* A wall between the centres of pixels is one pixel wide, without gaps. */
TEST(thin_polygons_leave_no_gap) {
  static double flat[8] = {2, 5.6, 12, 5.6, 12, 5.9, 2, 5.9};
  static double steep[8] = {3.6, -1, 6.1, HEIGHT + 1, 6.2, HEIGHT + 1, 3.7, -1};
  int64_t start[2] = {0, 4};
  uint8_t inside[PIXELS];
  cvtm_polygons polygons = {1, start, flat, 0};
  assert_ok(cvtm_region_of_polygons(&polygons, WIDTH, HEIGHT, inside, NULL));
  for (int p = 0; p < PIXELS; ++p)
    assert_int_equal(inside[p], p / WIDTH == 5 && p % WIDTH >= 2 && p % WIDTH < 12);
  polygons.points = steep;
  assert_ok(cvtm_region_of_polygons(&polygons, WIDTH, HEIGHT, inside, NULL));
  int last = -1;
  for (int j = 0; j < HEIGHT; ++j) {
    int first = 0;
    while (first < WIDTH && !inside[j * WIDTH + first]) ++first;
    assert_true(first >= 3 && first <= 6 && first >= last);
    last = first;
  }
}

TEST(seeds_are_checked) {
  cvtm_seeds seeds;
  cvtm_error error = {CVTM_OK, ""};
  assert_ok(cvtm_seeds_create(WIDTH, HEIGHT, &seeds, &error));
  assert_ok(cvtm_seeds_add_disc(&seeds, 10, 10, 3, CVTM_SEED_INSIDE, &error));
  assert_int_equal(cvtm_seeds_count(&seeds, CVTM_SEED_INSIDE), 32);
  /* The pixel of the centre at least; discs may leave the image. */
  assert_ok(cvtm_seeds_add_disc(&seeds, 30.2, 20.2, 0, CVTM_SEED_OUTSIDE, &error));
  assert_int_equal(seeds.mark[20 * WIDTH + 30], CVTM_SEED_OUTSIDE);
  assert_ok(cvtm_seeds_add_disc(&seeds, 36, 0, 2, CVTM_SEED_OUTSIDE, &error));
  assert_int_equal(cvtm_seeds_add_disc(&seeds, 12, 10, 2, CVTM_SEED_OUTSIDE, &error),
                   CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "contradict"));
  assert_int_equal(cvtm_seeds_add_disc(&seeds, 37, 5, 100, CVTM_SEED_INSIDE, &error),
                   CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "outside the image"));
  double lower[PIXELS], upper[PIXELS];
  cvtm_seeds_bounds(&seeds, 0.05, lower, upper);
  assert_true(upper[10 * WIDTH + 10] == -0.05 && isinf(lower[10 * WIDTH + 10]));
  assert_true(lower[20 * WIDTH + 30] == 0.05 && isinf(upper[20 * WIDTH + 30]));
  cvtm_seeds_free(&seeds);
}

/* In a picture of a bright disc the region grown from its middle is the disc. */
TEST(regions_grow_up_to_edges) {
  double shades[PIXELS], u[PIXELS];
  uint8_t inside[PIXELS], kept[PIXELS];
  cvtm_error error = {CVTM_OK, ""};
  for (int p = 0; p < PIXELS; ++p) shades[p] = apart(p, 14 * WIDTH + 15) < 8 ? 1 : 0;
  cvtm_seeds seeds;
  assert_ok(cvtm_seeds_create(WIDTH, HEIGHT, &seeds, &error));
  assert_ok(cvtm_seeds_add_disc(&seeds, 14, 15, 1, CVTM_SEED_INSIDE, &error));
  assert_ok(cvtm_seeds_grow(&seeds, shades, 10, inside, &error));
  for (int p = 0; p < PIXELS; ++p) {
    const double r = apart(p, 14 * WIDTH + 15);
    if (r < 7 || r > 9) assert_int_equal(inside[p], r < 8);
  }
  assert_ok(cvtm_level_set_of_region(WIDTH, HEIGHT, inside, u, &error));
  for (int p = 0; p < PIXELS; ++p) assert_int_equal(u[p] < 0, inside[p]);
  assert_true(fabs(u[14 * WIDTH + 15] * WIDTH + 8) < 1.5);
  /* A second part without a seed is left out. */
  u[3] = u[4] = -1;
  assert_ok(cvtm_seeds_select(&seeds, u, kept, &error));
  assert_memory_equal(kept, inside, sizeof kept);
  memset(inside, 1, sizeof inside);
  assert_int_equal(cvtm_level_set_of_region(WIDTH, HEIGHT, inside, u, &error), CVTM_ERROR_INPUT);
  memset(inside, 0, sizeof inside);
  assert_int_equal(cvtm_level_set_of_region(WIDTH, HEIGHT, inside, u, &error), CVTM_ERROR_INPUT);
  cvtm_seeds_free(&seeds);
}

/* Mirroring keeps the sum; a point becomes a Gaussian. */
TEST(shades_are_smoothed) {
  double shades[PIXELS] = {0};
  shades[14 * WIDTH + 18] = 1;
  shades[WIDTH - 1] = 1;
  assert_ok(cvtm_shades_blur(WIDTH, HEIGHT, 1.5, shades, NULL));
  double sum = 0;
  for (int p = 0; p < PIXELS; ++p) sum += shades[p];
  assert_true(fabs(sum - 2) < 1e-12);
  const double ratio = shades[14 * WIDTH + 20] / shades[14 * WIDTH + 18];
  assert_true(fabs(ratio - exp(-0.5 * 4 / 2.25)) < 1e-12);
  /* Kernels wider than the picture. */
  assert_ok(cvtm_shades_blur(WIDTH, HEIGHT, 300, shades, NULL));
  double tiny[2] = {0, 1};
  assert_ok(cvtm_shades_blur(2, 1, 5, tiny, NULL));
  for (int p = 0; p < 2; ++p) assert_true(tiny[p] >= 0 && tiny[p] <= 1);
}

/* The least distance between centres of pixels on either side, less half a pixel: what rows and
 * columns give exactly, and upwind differences from above. */
TEST(signed_distances) {
  uint8_t inside[PIXELS];
  double distance[PIXELS];
  for (int p = 0; p < PIXELS; ++p) inside[p] = p % WIDTH < 12;
  cvtm_signed_distance(WIDTH, HEIGHT, inside, distance);
  for (int p = 0; p < PIXELS; ++p) assert_true(fabs(distance[p] - (p % WIDTH - 11.5)) < 1e-12);
  const double radius = 9;
  const int centre = 14 * WIDTH + 18;
  for (int p = 0; p < PIXELS; ++p) inside[p] = apart(p, centre) < radius;
  cvtm_signed_distance(WIDTH, HEIGHT, inside, distance);
  for (int p = 0; p < PIXELS; ++p) {
    assert_int_equal(distance[p] < 0, inside[p]);
    assert_true(fabs(distance[p] - (apart(p, centre) - radius)) < 1.5);
  }
  memset(inside, 1, sizeof inside);
  cvtm_signed_distance(WIDTH, HEIGHT, inside, distance);
  for (int p = 0; p < PIXELS; ++p) assert_true(isinf(distance[p]));
}

static void write_text(char *path, const char *text) {
  const int handle = mkstemps(path, 4);
  assert_true(handle >= 0);
  assert_int_equal(write(handle, text, strlen(text)), (ssize_t)strlen(text));
  close(handle);
}

TEST(regions_are_read) {
  cvtm_error error = {CVTM_OK, ""};
  char path[] = "/tmp/cvtmesh-region-XXXXXX.csv", picture[] = "/tmp/cvtmesh-region-XXXXXX.pgm";
  write_text(path, "2,1\n6,1\n6,4\n2,4\n\n3,2\n3,3\n4,3\n4,2\n");
  cvtm_polygons polygons = {0};
  assert_ok(cvtm_polygons_read(path, &polygons, &error));
  assert_int_equal(polygons.ring_count, 2);
  assert_int_equal(polygons.start[2], 8);
  assert_true(cvtm_ring_area(polygons.points, 4) == 12);
  assert_true(cvtm_ring_area(polygons.points + 8, 4) ==
              -1); /* a hole, whatever its direction was */
  cvtm_polygons_free(&polygons);

  cvtm_region region = {0};
  assert_ok(cvtm_region_read(path, 8, 5, &region, &error));
  int count = 0;
  for (int p = 0; p < 40; ++p) {
    count += region.inside[p];
    assert_int_equal(region.inside[p], cvtm_region_contains(&region, p % 8 + 0.5, p / 8 + 0.5));
  }
  assert_int_equal(count, 11);
  assert_true(cvtm_region_contains(&region, 5.9, 1.1));
  assert_false(cvtm_region_contains(&region, 3.5, 2.5));
  cvtm_region_free(&region);
  assert_null(region.inside);
  unlink(path);

  write_text(picture, "P2\n3 1\n255\n0 255 187\n"); /* 187 is below half of 255 in linear light */
  assert_ok(cvtm_region_read(picture, 3, 1, &region, &error));
  assert_memory_equal(region.inside, ((uint8_t[]){0, 1, 1}), 3); /* sRGB values count */
  assert_true(cvtm_region_contains(&region, 1.5, 0.5));
  assert_false(cvtm_region_contains(&region, 0.5, 0.5));
  cvtm_region_free(&region);
  assert_int_equal(cvtm_region_read(picture, 4, 1, &region, &error), CVTM_ERROR_INPUT);
  assert_null(region.inside);
  unlink(picture);
  assert_int_not_equal(cvtm_region_read(path, 8, 5, &region, &error), CVTM_OK);
  assert_non_null(strstr(error.message, path));
  assert_int_not_equal(cvtm_polygons_read(path, &polygons, &error), CVTM_OK);
  assert_null(polygons.points);

  float value[4] = {0}, alpha[4] = {0, 1, 0.4F, 0.6F};
  cvtm_image image = {.width = 2, .height = 2, .value = value, .alpha = alpha};
  assert_ok(cvtm_region_of_alpha(&image, "a.png", &region, &error));
  assert_memory_equal(region.inside, ((uint8_t[]){0, 1, 0, 1}), 4);
  cvtm_region_free(&region);
  image.alpha = NULL;
  assert_int_equal(cvtm_region_of_alpha(&image, "a.png", &region, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "a.png"));
}

/* Nothing wanted changes nothing; grading and sizes do what their functions do, one after the
 * other, and outside the mask it stays empty. */
TEST(conditions_are_applied_in_turn) {
  cvtm_device *device = NULL;
  assert_ok(cvtm_device_create("cpu", 1, &device, NULL));
  uint8_t mask[PIXELS];
  double given[PIXELS], made[PIXELS], expected[PIXELS];
  for (int p = 0; p < PIXELS; ++p) {
    mask[p] = p % WIDTH != 20;
    given[p] = mask[p] ? 1 + 50 * (p == 7 * WIDTH + 8) : 0;
  }
  DEFAULT_OPTIONS(cvtm_condition, options);
  cvtm_condition_result result;
  assert_false(cvtm_condition_wanted(&options));
  memcpy(made, given, sizeof made);
  assert_ok(cvtm_density_condition(device, WIDTH, HEIGHT, mask, &options, made, &result));
  assert_memory_equal(made, given, sizeof made);

  options.grade = 4;
  assert_true(cvtm_condition_wanted(&options));
  assert_ok(cvtm_density_condition(device, WIDTH, HEIGHT, mask, &options, made, &result));
  assert_true(result.converged);
  for (int p = 0; p < PIXELS; ++p) assert_true(made[p] >= given[p] && (mask[p] || made[p] == 0));
  assert_true(made[7 * WIDTH + 9] > 10);              /* beside the peak */
  assert_true(fabs(made[7 * WIDTH + 30] - 1) < 1e-6); /* behind the wall */

  memcpy(expected, made, sizeof expected);
  cvtm_grade_size(WIDTH, HEIGHT, mask, 0.05, expected);
  options.grade_size = 0.05;
  memcpy(made, given, sizeof made);
  assert_ok(cvtm_density_condition(device, WIDTH, HEIGHT, mask, &options, made, &result));
  assert_memory_equal(made, expected, sizeof made);
  cvtm_device_destroy(device);
}

TEST_MAIN()
