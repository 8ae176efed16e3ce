/* The level set against reference values that an independent solver computed for the same
 * discretisation, its bounds, and the images that it refuses. */
#include "density/segmentation.h"
#include "test_devices.h"

enum { M = 128, PIXELS = M * M };

typedef struct scene {
  double image[PIXELS], lower[PIXELS], upper[PIXELS], u[PIXELS];
} scene;

/* A disc without a sector; a seed inside it on the right, one outside below. */
static scene *make_scene(void) {
  scene *s = malloc(sizeof *s);
  assert_non_null(s);
  for (int p = 0; p < PIXELS; ++p) {
    const double x = (p % M + 0.5) / M, y = ((double)(p / M) + 0.5) / M;
    const double r = hypot(x - 0.5, y - 0.5), angle = atan2(y - 0.5, x - 0.5);
    s->image[p] = r < 0.3 && !(fabs(angle) < 0.35 && r > 0.22);
    s->upper[p] = hypot(x - 0.76, y - 0.5) < 0.03 ? -0.05 : (double)INFINITY;
    s->lower[p] = hypot(x - 0.5, y - 0.86) < 0.03 ? 0.05 : -(double)INFINITY;
    s->u[p] = r - 0.4;
  }
  return s;
}

typedef struct watched {
  int64_t calls;
  double energy;
  int increases, stop_at;
} watched;

static int watch(void *context, const cvtm_segment_progress *progress) {
  watched *w = context;
  assert_int_equal(progress->step, w->calls);
  if (w->calls > 0 && progress->energy > w->energy * (1 + 1e-12)) ++w->increases;
  w->energy = progress->energy;
  return ++w->calls > w->stop_at;
}

static void run(cvtm_device *device, scene *s, int both, int64_t steps, watched *w,
                cvtm_segment_result *result) {
  DEFAULT_OPTIONS(cvtm_segment, options);
  options.max_steps = steps;
  options.tolerance = 0;
  options.step_tolerance = 1e-13;
  options.monitor = watch;
  options.monitor_context = w;
  cvtm_segment *segment = NULL;
  assert_device_ok(device, cvtm_segment_create(device, M, M, &options, &segment));
  assert_device_ok(device, cvtm_segment_solve(segment, s->image, both ? s->lower : NULL, s->upper,
                                              s->u, result));
  cvtm_segment_destroy(segment);
}

/* The figures have 13 digits; the LCPs are solved to 1e-13 of their start, so that ten steps
 * leave less than 1e-11. */
TEST_ON_DEVICE(equals_the_reference) {
  static const double means[2] = {-2.089558408250e-2, -1.935152052560e-2};
  static const double areas[2] = {0.29833984, 0.29791260};
  for (int both = 0; both < 2; ++both) {
    scene *s = make_scene();
    watched w = {0, 0, 0, 1000};
    cvtm_segment_result result;
    run(device, s, both, 10, &w, &result);
    double sum = 0;
    for (int p = 0; p < PIXELS; ++p) {
      sum += s->u[p];
      assert_true(s->u[p] <= s->upper[p] && (!both || s->u[p] >= s->lower[p]));
    }
    assert_true(fabs(sum / PIXELS - means[both]) < 1e-11);
    assert_true(fabs(result.area - areas[both]) < 1e-8);
    assert_int_equal(result.stop, CVTM_SEGMENT_STEPS);
    assert_int_equal(result.steps, 10);
    assert_int_equal(w.calls, 11);
    /* From its start the curve only shortens. */
    assert_int_equal(w.increases, 0);
    assert_true(result.energy == w.energy);
    free(s);
  }
}

TEST_ON_DEVICE(stops) {
  scene *s = make_scene();
  watched w = {0, 0, 0, 3};
  cvtm_segment_result result;
  run(device, s, 0, 10, &w, &result);
  assert_int_equal(result.stop, CVTM_SEGMENT_INTERRUPTED);
  assert_int_equal(result.steps, 3);
  DEFAULT_OPTIONS(cvtm_segment, options);
  options.tolerance = 1;
  cvtm_segment *segment = NULL;
  assert_device_ok(device, cvtm_segment_create(device, M, M, &options, &segment));
  assert_device_ok(device, cvtm_segment_solve(segment, s->image, NULL, s->upper, s->u, &result));
  assert_int_equal(result.stop, CVTM_SEGMENT_CONVERGED);
  assert_int_equal(result.steps, 1);
  cvtm_segment_destroy(segment);
  free(s);
}

TEST_ON_DEVICE(thin_images) {
  for (int tall = 0; tall < 2; ++tall) {
    for (int n = 1; n < 6; ++n) {
      double image[8] = {0, 1, 0, 1, 1}, u[8] = {-1, 1, -1, 1, -1};
      DEFAULT_OPTIONS(cvtm_segment, options);
      options.max_steps = 3;
      cvtm_segment *segment = NULL;
      cvtm_segment_result result;
      assert_device_ok(device,
                       cvtm_segment_create(device, tall ? 1 : n, tall ? n : 1, &options, &segment));
      assert_device_ok(device, cvtm_segment_solve(segment, image, NULL, NULL, u, &result));
      for (int p = 0; p < n; ++p) assert_true(u[p] >= -1 && u[p] <= 1);
      cvtm_segment_destroy(segment);
    }
  }
}

TEST_ON_DEVICE(refusals) {
  DEFAULT_OPTIONS(cvtm_segment, options);
  cvtm_segment *segment = NULL;
  options.tau = 0;
  assert_refused(cvtm_segment_create(device, 4, 4, &options, &segment));
  assert_null(segment);
  cvtm_segment_defaults(&options);
  assert_device_ok(device, cvtm_segment_create(device, 2, 2, &options, &segment));
  double image[4] = {0}, u[4] = {2, 0, 0, 0}, lower[4] = {0, 0, 0.05, 0},
         upper[4] = {1, 1, -0.05, 1};
  cvtm_segment_result result;
  assert_int_equal(cvtm_segment_solve(segment, image, lower, upper, u, &result), CVTM_ERROR_INPUT);
  assert_non_null(strstr(cvtm_device_error(device)->message, "(0, 1)"));
  assert_true(u[0] == 2); /* not clipped */
  u[3] = (double)NAN;
  assert_int_equal(cvtm_segment_solve(segment, image, NULL, NULL, u, &result), CVTM_ERROR_INPUT);
  cvtm_segment_destroy(segment);
}

TEST_DEVICE_MAIN()
