/* Gaussian blue noise: milliseconds of one evaluation of the energy and its gradient, and seconds
 * of a whole run of 150 iterations, from random points, by an even density and one of 100:1.
 * Usage: bench_noise [--device NAME] [--points N]; --points takes that number alone. */
#include "tests/bench/harness.h"
#include "cvt/cvt.h"
#include "cvt/noise/blue_noise.h"
#include "cvt/gaussian.h"

enum { SIDE = 1024 };

typedef struct evaluation {
  cvtm_device *device;
  cvtm_blue_noise *noise;
  double *x, *f, *g, *left;
} evaluation;

static cvtm_status evaluate_noise(void *context) {
  evaluation *e = context;
  const cvtm_status status = cvtm_blue_noise_evaluate(e->noise, e->x, e->f, e->g, NULL);
  return status == CVTM_OK ? bench_end_round(e->device, e->left) : status;
}

static double time_evaluation(cvtm_device *device, cvtm_domain domain, const float *density,
                              const double *points, int64_t count) {
  const int rounds = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA ? 50 : 2;
  evaluation e = {.device = device};
  double milliseconds = 0;
  e.x = bench_doubles(device, 2 * count);
  e.f = bench_doubles(device, 2);
  e.g = bench_doubles(device, 2 * count);
  e.left = bench_doubles(device, 2);
  bench_check(device, cvtm_device_copy_in(device, e.x, points, 2 * (size_t)count * sizeof *points));
  bench_check(device, cvtm_blue_noise_create(device, domain, density, 0.9, count, &e.noise));
  bench_check(device, bench_loop(device, evaluate_noise, &e, e.left, rounds, &milliseconds));
  cvtm_blue_noise_destroy(e.noise);
  cvtm_device_free(device, e.x);
  cvtm_device_free(device, e.f);
  cvtm_device_free(device, e.g);
  cvtm_device_free(device, e.left);
  return milliseconds;
}

static void print_noise_row(cvtm_device *device, int64_t count, int graded) {
  const cvtm_domain domain = {SIDE, SIDE, 1};
  float *density = malloc((size_t)SIDE * SIDE * sizeof *density);
  double *points = malloc(2 * (size_t)count * sizeof *points);
  cvtm_gaussian_options options;
  cvtm_lbfgsb_result result;
  if (density == NULL || points == NULL) exit(1);
  cvtm_gaussian_defaults(&options);
  bench_density(SIDE, graded, density);
  bench_check(device, cvtm_cvt_sample(domain, density, count, 1, CVTM_CVT_START_RANDOM, points,
                                      cvtm_device_error(device)));
  const double start = cvtm_clock();
  bench_check(device,
              cvtm_gaussian_noise(device, domain, density, &options, points, count, &result));
  const double seconds = cvtm_clock() - start;
  printf("| %lld | %s | %.3f | %lld | %.3f | %.3f |\n", (long long)count,
         graded ? "100:1" : "uniform", time_evaluation(device, domain, density, points, count),
         (long long)result.evaluations, result.seconds, seconds);
  fflush(stdout);
  free(density);
  free(points);
}

int main(int argc, char **argv) {
  static const int64_t counts[] = {4096, 20000, 100000, 1000000};
  const int64_t only = bench_integer(argc, argv, "--points");
  cvtm_device *device = bench_device(argc, argv, "cpu");
  const int rows = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA ? 4 : 2;
  printf(
      "%s (%s)\n\n| points | density | evaluation, ms | evaluations | descent, s | whole, s |\n"
      "|---|---|---|---|---|---|\n",
      cvtm_device_name(device), cvtm_device_description(device));
  for (int k = 0; k < (only > 0 ? 1 : rows); ++k)
    for (int graded = 0; graded < 2; ++graded)
      print_noise_row(device, only > 0 ? only : counts[k], graded);
  cvtm_device_destroy(device);
  return 0;
}
