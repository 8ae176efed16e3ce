/* Grading and bias of a density with edges and noise (lambda = 16, to 1e-8 times the largest
 * density), and segmentation steps, beside the times that Klement, Oberhuber & Sevcovic give for
 * theirs. Everything is in device memory before the clock starts. Options: --device NAME,
 * --threads N, --size M (of grading and bias; negative: neither), --image SIZE, --steps N,
 * --step-tolerance T (of segmentation). */
#include "tests/bench/harness.h"
#include "density/condition.h"
#include "density/segmentation.h"

static double *host_plane(int m) {
  double *made = malloc((size_t)m * (size_t)m * sizeof *made);
  if (made == NULL) exit(1);
  return made;
}

static double noise(uint32_t *seed) {
  *seed = *seed * 1664525U + 1013904223U;
  return (double)(*seed >> 8) * 0x1p-24;
}

static void measure_smoothing(cvtm_device *device, int m) {
  double *host = host_plane(m);
  double *rho = bench_doubles(device, (int64_t)m * m), *u = bench_doubles(device, (int64_t)m * m);
  uint32_t seed = 1;
  for (int64_t k = 0; k < (int64_t)m * m; ++k) {
    const double x = (double)(k % m) / m - 0.5, y = (double)(k / m) / m - 0.5;
    host[k] = (hypot(x, y) < 0.3 ? 0.9 : 0.1) + 0.05 * noise(&seed);
  }
  bench_check(device, cvtm_device_copy_in(device, rho, host, (size_t)m * (size_t)m * sizeof *host));
  const double tolerance = 1e-8 * 0.95;
  cvtm_grade *grade = NULL;
  cvtm_lcp_result graded;
  double best = INFINITY;
  bench_check(device, cvtm_grade_create(device, m, m, NULL, 16, tolerance, &grade));
  for (int k = 0; k < 3; ++k) {
    const double start = cvtm_clock();
    bench_check(device, cvtm_grade_solve(grade, rho, NULL, u, &graded));
    best = fmin(best, cvtm_clock() - start);
  }
  cvtm_grade_destroy(grade);
  printf("  grade  %4d^2  %9.3f ms  %3lld cycles            residual %.1e (%s)\n", m, 1e3 * best,
         (long long)graded.iterations, graded.natural_residual, cvtm_lcp_stop_name(graded.stop));
  const double ps[3] = {0.5, 0.1, 0.01};
  for (int which = 0; which < 3; ++which) {
    const cvtm_bias_options options = {.p = ps[which], .lambda = 16, .tolerance = tolerance};
    cvtm_bias *bias = NULL;
    cvtm_hlcp_result biased;
    best = INFINITY;
    bench_check(device, cvtm_bias_create(device, m, m, NULL, &options, &bias));
    for (int k = 0; k < 3; ++k) {
      const double start = cvtm_clock();
      bench_check(device, cvtm_bias_solve(bias, rho, u, &biased));
      bench_check(device, cvtm_device_synchronize(device));
      best = fmin(best, cvtm_clock() - start);
    }
    cvtm_bias_destroy(bias);
    printf("  bias   %4d^2  %9.3f ms  %3lld cycles, %2lld steps  residual %.1e (%s), p = %g\n", m,
           1e3 * best, (long long)biased.linear_iterations, (long long)biased.iterations,
           biased.residual, cvtm_lcp_stop_name(biased.stop), ps[which]);
  }
  cvtm_device_free(device, rho);
  cvtm_device_free(device, u);
  free(host);
}

/* A disc with a gap in a noisy image, smoothed as the program does by default; the curve starts
 * around it. */
static void measure_segmentation(cvtm_device *device, int m, int steps, double tolerance,
                                 const char *published) {
  double *image = host_plane(m), *upper = host_plane(m), *u = host_plane(m);
  uint32_t seed = 1;
  for (int64_t k = 0; k < (int64_t)m * m; ++k) {
    const double x = ((double)(k % m) + 0.5) / m - 0.5, y = ((double)(k / m) + 0.5) / m - 0.5;
    const int gap = fabs(atan2(y, x)) < 0.35 && hypot(x, y) > 0.22;
    image[k] = (hypot(x, y) < 0.3 && !gap) + 0.02 * noise(&seed);
    upper[k] = hypot(x - 0.26, y) < 0.03 ? -0.05 : (double)INFINITY;
    u[k] = hypot(x, y) - 0.4;
  }
  cvtm_error error;
  if (cvtm_shades_blur(m, m, 1, image, &error) != CVTM_OK) exit(1);
  cvtm_segment_options options;
  cvtm_segment_defaults(&options);
  options.max_steps = steps;
  options.tolerance = 0;
  if (tolerance > 0) options.step_tolerance = tolerance;
  cvtm_segment *segment = NULL;
  cvtm_segment_result result;
  bench_check(device, cvtm_segment_create(device, m, m, &options, &segment));
  bench_check(device, cvtm_segment_solve(segment, image, NULL, upper, u, &result));
  cvtm_segment_destroy(segment);
  printf("  %4d^2  %3lld steps %8.3f s  %8.3f ms a step, %.1f cycles; published: %s\n", m,
         (long long)result.steps, result.seconds, 1e3 * result.seconds / (double)result.steps,
         (double)result.cycles / (double)result.steps, published);
  free(image);
  free(upper);
  free(u);
}

int main(int argc, char **argv) {
  const int size = (int)bench_integer(argc, argv, "--size");
  const int image = (int)bench_integer(argc, argv, "--image");
  const double tolerance = strtod(bench_text(argc, argv, "--step-tolerance", "0"), NULL);
  int steps = (int)bench_integer(argc, argv, "--steps");
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int gpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  printf("Device: %s (%s)\n", cvtm_device_name(device), cvtm_device_description(device));
  if (size >= 0) measure_smoothing(device, size > 0 ? size : 1024);
  if (gpu && size == 0) measure_smoothing(device, 4096);
  /* Tables I and II of the paper: GTX 480; one core of a Core 2 Duo; 12 of an Opteron. */
  static const struct {
    int side;
    const char *published;
  } rows[] = {{256, "2.6 s on a GTX 480, 25.3 s on one core, 6.4 s on 12"},
              {512, "25 s on a GTX 480, 368 s on one core, 61 s on 12"},
              {1024, "267 s on a GTX 480, 5431 s on one core, 935 s on 12"}};
  const int count = gpu || steps > 0 ? 3 : 2;
  if (steps == 0) steps = gpu || image > 0 ? 200 : 20;
  printf("segmentation, %d steps (the paper's number is not stated)\n", steps);
  for (int k = 0; k < (image > 0 ? 1 : count); ++k)
    measure_segmentation(device, image > 0 ? image : rows[k].side, steps, tolerance,
                         image > 0 ? "-" : rows[k].published);
  cvtm_device_destroy(device);
  return 0;
}
