/* From values to a density: the formulas, and every value that is refused. */
#include "testing.h"

#include <omp.h>
#include <unistd.h>

#include "base/npy.h"
#include "density/take.h"

/* A density made in the picture's memory has the same bits, or is refused in the same words. */
static void take_alike(const cvtm_image *image, const cvtm_density_options *options,
                       const float *expected, const char *message) {
  const size_t bytes = (size_t)image->width * (size_t)image->height * sizeof *image->value;
  cvtm_image copy = *image;
  float *density = NULL;
  cvtm_error error = {CVTM_OK, ""};
  if (image->value == NULL || bytes == 0) return;
  assert_non_null(copy.value = malloc(bytes));
  copy.storage = NULL;
  memcpy(copy.value, image->value, bytes);
  const cvtm_status status = cvtm_density_take(&copy, options, "a.png", &density, &error);
  assert_int_equal(status == CVTM_OK, expected != NULL);
  assert_int_equal(copy.value == NULL, expected != NULL);
  if (expected != NULL)
    assert_memory_equal(density, expected, bytes);
  else
    assert_string_equal(error.message, message);
  free_all(copy.value, density);
}

static float *convert_ok(const cvtm_image *image, const cvtm_density_options *options) {
  float *density = NULL;
  cvtm_error error = {CVTM_OK, ""};
  if (cvtm_density_from_image(image, options, "a.png", &density, &error) != CVTM_OK)
    fail_msg("%s", error.message);
  take_alike(image, options, density, NULL);
  return density;
}

static void convert_fails(const cvtm_image *image, const cvtm_density_options *options,
                          cvtm_status expected, const char *part) {
  float marker = 0, *density = &marker;
  cvtm_error error = {CVTM_OK, ""};
  assert_int_equal(cvtm_density_from_image(image, options, "a.png", &density, &error), expected);
  if (strstr(error.message, part) == NULL) fail_msg("'%s' lacks '%s'", error.message, part);
  if (expected == CVTM_ERROR_INPUT) assert_memory_equal(error.message, "a.png: ", 7);
  assert_null(density);
  take_alike(image, options, NULL, error.message);
}

static void check(const cvtm_image *image, const cvtm_density_options *options,
                  const double *expected) {
  float *density = convert_ok(image, options);
  for (int i = 0; i < image->width * image->height; ++i) {
    double tolerance = 1e-6 * fmax(1, fabs(expected[i]));
    if (!(fabs((double)density[i] - expected[i]) <= tolerance))
      fail_msg("%d: %.9g, expected %.9g", i, (double)density[i], expected[i]);
  }
  free(density);
}

/* 0.5 is the middle grey of sRGB, 0.2140 in linear light. */
TEST(levels_of_pictures) {
  float value[4] = {0, 0.05087609f, 0.21404114f, 1}; /* sRGB 0, 0.25, 0.5, 1 */
  cvtm_image image = {.width = 2, .height = 2, .is_data = 0, .value = value};
  DEFAULT_OPTIONS(cvtm_density, options);
  options.from = CVTM_DENSITY_FROM_DENSITY;
  options.black = 0.25;
  options.white = 0.75;
  check(&image, &options, (double[]){1, 1, 1 - 0.21404114, 0});
  options.black = 0;
  options.white = 1;
  options.contrast = 2;
  check(&image, &options, (double[]){1, 1, 1 - 0.21404114, 0});
  options.contrast = 0.5; /* 0.25, 0.375, 0.5, 0.75 */
  check(&image, &options, (double[]){1 - 0.05087609, 0.88398385, 1 - 0.21404114, 1 - 0.52252155});
  float *tone = NULL;
  assert_ok(cvtm_tone_from_image(&image, &options, "a.png", &tone, NULL));
  assert_true(fabs((double)tone[3] - (1 - 0.52252)) < 1e-4);
  free(tone);
  options.black = 0.8;
  options.white = 0.7;
  convert_fails(&image, &options, CVTM_ERROR_ARGUMENT, "white must be above black");
  cvtm_density_defaults(&options);
  options.white = 1e-9;
  value[0] = 0.5f;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "--levels");
  image.is_data = 1;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "data has no black");
  assert_ok(cvtm_tone_from_image(&image, &options, "a.png", &tone, NULL));
  assert_null(tone);
}

/* rho^(1/2), the density of sites, times the area of a dot is the tone. */
TEST(densities_for_dots_of_two_sizes) {
  float value[4] = {0, 0.25f, 0.5f, 1};
  cvtm_image image = {.width = 2, .height = 2, .is_data = 0, .value = value};
  DEFAULT_OPTIONS(cvtm_density, options);
  options.dot_ratio = 0.5;
  float *density = convert_ok(&image, &options);
  for (int k = 0; k < 4; ++k) {
    const double tone = 1 - (double)value[k], size = 0.5 + 0.5 * tone;
    assert_true(fabs(sqrt((double)density[k]) * size * size - tone) < 1e-6);
  }
  free(density);
  options.dot_ratio = 0;
  convert_fails(&image, &options, CVTM_ERROR_ARGUMENT, "ratio");
}

TEST(pictures) {
  float value[4] = {0, 0.25f, 0.5f, 1};
  cvtm_image image = {.width = 2, .height = 2, .is_data = 0, .value = value};
  DEFAULT_OPTIONS(cvtm_density, options);
  check(&image, &options, (double[]){1, 0.5625, 0.25, 0});
  options.from = CVTM_DENSITY_FROM_TONE;
  check(&image, &options, (double[]){1, 0.5625, 0.25, 0});
  options.from = CVTM_DENSITY_FROM_DENSITY;
  check(&image, &options, (double[]){1, 0.75, 0.5, 0});
  options.invert = 1;
  check(&image, &options, (double[]){0, 0.25, 0.5, 1});
  options.gamma = 2;
  check(&image, &options, (double[]){0, 0.0625, 0.25, 1});
  options.from = CVTM_DENSITY_FROM_TONE;
  check(&image, &options, (double[]){0, 0.00390625, 0.0625, 1});
  options.floor = 0.05;
  check(&image, &options, (double[]){0.05, 0.05, 0.0625, 1});
  options = (cvtm_density_options){
      .gamma = 0.5, .from = CVTM_DENSITY_FROM_DENSITY, .white = 1, .contrast = 1, .dot_ratio = 1};
  check(&image, &options, (double[]){1, sqrt(0.75), sqrt(0.5), 0});
}

TEST(sizes) {
  float value[3] = {1, 2, 0.5f};
  cvtm_image image = {.width = 3, .height = 1, .is_data = 1, .value = value};
  cvtm_density_options options = {
      .gamma = 1, .from = CVTM_DENSITY_FROM_SIZE, .white = 1, .contrast = 1, .dot_ratio = 1};
  check(&image, &options, (double[]){1, 0.0625, 16});
  value[2] = 0;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "pixel (2, 0)");
  value[2] = 1e-12f; /* its power -4 overflows */
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "pixel (2, 0)");
  image.is_data = 0; /* a white pixel has tone 0 */
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "pixel (0, 0)");
}

TEST(data) {
  float value[4] = {3, 0, 100, 1};
  cvtm_image image = {.width = 4, .height = 1, .is_data = 1, .value = value};
  DEFAULT_OPTIONS(cvtm_density, options);
  check(&image, &options, (double[]){3, 0, 100, 1});
  options.from = CVTM_DENSITY_FROM_TONE;
  check(&image, &options, (double[]){9, 0, 10000, 1});
  options.from = CVTM_DENSITY_FROM_AUTO;
  options.invert = 1;
  check(&image, &options, (double[]){97, 100, 0, 99});
}

TEST(bad_values) {
  const float bad[] = {NAN, INFINITY, -INFINITY, -1};
  DEFAULT_OPTIONS(cvtm_density, options);
  for (int i = 0; i < 4; ++i) {
    float value[6] = {1, 1, 1, 1, 1, 1};
    cvtm_image image = {.width = 3, .height = 2, .is_data = 1, .value = value};
    value[5] = bad[i];
    convert_fails(&image, &options, CVTM_ERROR_INPUT, "pixel (2, 1)");
    if (i == 3) convert_fails(&image, &options, CVTM_ERROR_INPUT, "the value -1 ");
    options.floor = 1; /* does not excuse them */
    convert_fails(&image, &options, CVTM_ERROR_INPUT, "pixel (2, 1)");
    options.floor = 0;
  }
  float value[2] = {1, 3e38f};
  cvtm_image image = {.width = 2, .height = 1, .is_data = 1, .value = value};
  options.from = CVTM_DENSITY_FROM_TONE;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "pixel (1, 0)");
}

TEST(zero_everywhere) {
  float white[2] = {1, 1}, black[2] = {0, 0};
  DEFAULT_OPTIONS(cvtm_density, options);
  cvtm_image image = {.width = 2, .height = 1, .is_data = 0, .value = white};
  convert_fails(&image, &options, CVTM_ERROR_INPUT,
                "no pixel is dark, so the density is zero everywhere; try --invert");
  options.floor = 0.5; /* a floor makes it even instead */
  check(&image, &options, (double[]){0.5, 0.5});
  options.floor = 0;
  image.value = black;
  check(&image, &options, (double[]){1, 1});
  options.invert = 1;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "without --invert");
  image.is_data = 1;
  options.invert = 0;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "every value is zero");
  image.value = white;
  options.invert = 1;
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "without --invert");
  float pale[2] = {0.9f, 0.95f};
  image = (cvtm_image){.width = 2, .height = 1, .value = pale};
  options = (cvtm_density_options){
      .gamma = 100, .from = CVTM_DENSITY_FROM_TONE, .white = 1, .contrast = 1, .dot_ratio = 1};
  convert_fails(&image, &options, CVTM_ERROR_INPUT, "--gamma");
}

/* An array of doubles, read as an image and converted, large enough that threads share the work. */
TEST(large_arrays) {
  enum { WIDTH = 2003, HEIGHT = 1100, COUNT = WIDTH * HEIGHT };
  const int64_t shape[2] = {HEIGHT, WIDTH};
  const int threads[] = {1, 2, 5}, before = omp_get_max_threads();
  char path[] = "/tmp/cvtmesh-test-XXXXXX";
  close(mkstemp(path));
  double *value = doubles(COUNT);
  float *narrow = allocated(COUNT, sizeof *narrow);
  for (int k = 0; k < COUNT; ++k) {
    value[k] = (double)(k * 7919LL % COUNT) / 1024.0;
    narrow[k] = (float)value[k];
  }
  cvtm_density_options options;
  for (int t = 0; t < 3; ++t) {
    omp_set_num_threads(threads[t]);
    for (int item = 4; item <= 8; item += 4) {
      cvtm_image image;
      float *density;
      cvtm_error error = {CVTM_OK, ""};
      const void *data = item == 4 ? (const void *)narrow : (const void *)value;
      assert_ok(cvtm_npy_write(path, 'f', item, 2, shape, data, NULL));
      assert_ok(cvtm_image_read(path, &image, &error));
      assert_true(image.width == WIDTH && image.height == HEIGHT && image.is_data);
      assert_memory_equal(image.value, narrow, COUNT * sizeof *narrow);
      cvtm_density_defaults(&options);
      assert_ok(cvtm_density_from_image(&image, &options, "f", &density, &error));
      assert_memory_equal(density, narrow, COUNT * sizeof *narrow);
      free(density);
      options.invert = 1; /* the largest value stands near the end */
      assert_ok(cvtm_density_from_image(&image, &options, "f", &density, &error));
      for (int k = 0; k < COUNT; ++k)
        assert_true(density[k] == (float)((COUNT - 1) / 1024.0 - (double)narrow[k]));
      free(density);
      /* Of several bad values the first is named. */
      image.value[COUNT - 1] = NAN;
      image.value[2 * WIDTH * (HEIGHT / 3) + 5] = -2;
      image.value[2 * WIDTH * (HEIGHT / 3) + 6] = INFINITY;
      convert_fails(&image, &options, CVTM_ERROR_INPUT, "the value -2 at pixel (5, 732)");
      cvtm_image_free(&image);
    }
    cvtm_error error = {CVTM_OK, ""};
    cvtm_image image;
    const double kept = value[WIDTH * 900 + 7];
    value[WIDTH * 900 + 7] = value[WIDTH * 1000] = 1e300;
    assert_ok(cvtm_npy_write(path, 'f', 8, 2, shape, value, NULL));
    assert_int_equal(cvtm_image_read(path, &image, &error), CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, "at pixel (7, 900) is too large for single precision"));
    value[WIDTH * 900 + 7] = kept;
    value[WIDTH * 1000] = (double)(WIDTH * 1000LL * 7919 % COUNT) / 1024.0;
  }
  omp_set_num_threads(before);
  remove(path);
  free_all(value, narrow);
}

TEST(bad_options) {
  float value[1] = {0};
  cvtm_image image = {.width = 1, .height = 1, .is_data = 0, .value = value};
  const double bad[] = {0, -1, NAN, INFINITY};
  for (int i = 0; i < 4; ++i) {
    DEFAULT_OPTIONS(cvtm_density, options);
    options.gamma = bad[i];
    convert_fails(&image, &options, CVTM_ERROR_ARGUMENT, "gamma");
    cvtm_density_defaults(&options);
    options.floor = bad[i];
    if (i > 0) convert_fails(&image, &options, CVTM_ERROR_ARGUMENT, "floor");
  }
}

TEST_MAIN()
