/* What the timing programs share: their arguments, the device, and a graded density. */
#pragma once

#include "base/clock.h"
#include "base/device.h"
#include "base/primitives.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The word behind `option`; `fallback` if the option is not given. */
static inline const char *bench_text(int argc, char **argv, const char *option,
                                     const char *fallback) {
  for (int k = 1; k + 1 < argc; ++k)
    if (strcmp(argv[k], option) == 0) return argv[k + 1];
  return fallback;
}

/* The integer behind `option`; 0 if the option is not given. */
static inline int64_t bench_integer(int argc, char **argv, const char *option) {
  return strtoll(bench_text(argc, argv, option, "0"), NULL, 10);
}

/* The device of --device (`fallback` if that is not given) with --threads threads. Without such a
 * device the program ends with exit code 5. */
static inline cvtm_device *bench_device(int argc, char **argv, const char *fallback) {
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  const char *name = bench_text(argc, argv, "--device", fallback);
  const int threads = (int)bench_integer(argc, argv, "--threads");
  if (cvtm_device_create(name, threads, &device, &error) == CVTM_OK) return device;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.message);
  exit(5);
}

/* Ends the program with the device's message and exit code 1 if `status` is an error. */
static inline void bench_check(cvtm_device *device, cvtm_status status) {
  if (status == CVTM_OK) return;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, cvtm_device_error(device)->message);
  exit(1);
}

/* Every round of a loop ends so. left: 2 doubles in device memory, the rounds to go and the
 * number 1.
 */
static inline cvtm_status bench_end_round(cvtm_device *device, double *left) {
  return cvtm_vector_axpy(device, -1, left + 1, left, 1);
}

/* *milliseconds of one round, the best of three loops on the device. */
static inline cvtm_status bench_loop(cvtm_device *device, cvtm_status (*round)(void *context),
                                     void *context, double *left, int rounds,
                                     double *milliseconds) {
  cvtm_loop *loop = NULL;
  /* The upper half of a small whole number is 0 only when it is 0. */
  const int *flag = (const int *)left + 1;
  const double start_values[2] = {rounds, 1};
  cvtm_status status = cvtm_loop_create(device, round, context, flag, &loop);
  *milliseconds = INFINITY;
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    status = cvtm_device_copy_in(device, left, start_values, sizeof start_values);
    const double start = cvtm_clock();
    if (status == CVTM_OK) status = cvtm_loop_run(loop);
    if (status == CVTM_OK) status = cvtm_device_synchronize(device);
    *milliseconds = fmin(*milliseconds, 1e3 * (cvtm_clock() - start) / rounds);
  }
  cvtm_loop_destroy(loop);
  return status;
}

/* count doubles in device memory; without memory the program ends with exit code 1. */
static inline double *bench_doubles(cvtm_device *device, int64_t count) {
  void *memory = NULL;
  bench_check(device, cvtm_device_allocate(device, count, sizeof(double), &memory));
  return memory;
}

/* The same, filled from host memory. */
static inline double *bench_copied(cvtm_device *device, const double *from, int64_t count) {
  double *to = bench_doubles(device, count);
  bench_check(device, cvtm_device_copy_in(device, to, from, (size_t)count * sizeof *to));
  return to;
}

/* side * side values: 1 everywhere, or waves between 1 and 100. */
static inline void bench_density(int side, int graded, float *density) {
  _Pragma("omp parallel for schedule(static)") for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const double wave = sin(9.0 * x / side) * cos(6.0 * y / side);
      density[(int64_t)y * side + x] = graded ? (float)pow(100, 0.5 + 0.5 * wave) : 1.0F;
    }
  }
}
