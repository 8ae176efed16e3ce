/* Obstacle problems on grids: milliseconds per V(1,1) cycle, and per solve from a cold start to
 * 1e-8 of its natural residual; grading of a density; steps with new coefficients. A copy in the
 * same run gives the floor. Options:
 *   --device NAME
 *   --size M         instead of the device's usual sizes
 *   --reference yes  CUDA: each size also by the reference kernels alone (CVTMESH_PLAIN=grid)
 */
#include "base/clock.h"
#include "bench/harness.h"
#include "lcp/lcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
  cvtm_device *device;
  int64_t m;
  double *b, *lower, *x, *diagonal, *horizontal, *vertical; /* device memory */
} bench;

static void copy_in(const bench *t, double *to, const double *from, int64_t count) {
  bench_check(t->device, cvtm_device_copy_in(t->device, to, from, (size_t)count * sizeof *to));
}

/* The elastic-plastic torsion problem: a free boundary along the diagonals. */
static void set_torsion(const bench *t, double *host) {
  const int64_t m = t->m;
  const double h = 1.0 / (double)(m + 1);
  for (int64_t k = 0; k < m * m; ++k) host[k] = -5 * h * h;
  copy_in(t, t->b, host, m * m);
  for (int64_t k = 0; k < m * m; ++k) {
    const double x = (double)(k % m + 1) * h, y = (double)(k / m + 1) * h;
    host[k] = -fmin(fmin(x, 1 - x), fmin(y, 1 - y));
  }
  copy_in(t, t->lower, host, m * m);
}

/* A density with edges and noise, to be graded with lambda = 16. */
static void set_grading(const bench *t, double *host) {
  const int64_t m = t->m;
  uint32_t seed = 1;
  for (int64_t k = 0; k < m * m; ++k) {
    const double x = (double)(k % m) / (double)m - 0.5, y = (double)(k / m) / (double)m - 0.5;
    seed = seed * 1664525U + 1013904223U;
    host[k] = (hypot(x, y) < 0.3 ? 0.9 : 0.1) + 0.05 * (double)(seed >> 8) * 0x1p-24;
  }
  copy_in(t, t->b, host, m * m);
  copy_in(t, t->lower, host, m * m);
}

/* Links that vary over three orders of magnitude, a diagonal as in a short time step. */
static void set_varying(const bench *t, double *host) {
  const int64_t m = t->m;
  for (int64_t k = 0; k < (m + 1) * m; ++k) {
    const double x = (double)(k % m) / (double)m, y = (double)(k / m) / (double)m;
    host[k] = 5e-3 / (1 + 1000 * pow(sin(20 * x) * cos(30 * y), 8));
  }
  copy_in(t, t->horizontal, host, (m + 1) * m);
  copy_in(t, t->vertical, host, (m + 1) * m);
  for (int64_t k = 0; k < m * m; ++k) host[k] = 1.0 / (double)(m * m);
  copy_in(t, t->diagonal, host, m * m);
}

static double solve_grid(const bench *t, const cvtm_lcp_grid *grid, const cvtm_lcp_options *options,
                         int warm, int set_again, cvtm_lcp_result *result) {
  cvtm_lcp *lcp = NULL;
  bench_check(t->device, cvtm_lcp_create_grid(t->device, t->m, t->m, options, &lcp));
  bench_check(t->device, cvtm_lcp_set_grid(lcp, grid));
  double best = INFINITY;
  for (int run = 0; run < 3; ++run) { /* the first one warms the device */
    bench_check(t->device, cvtm_device_synchronize(t->device));
    const double start = cvtm_clock();
    if (set_again) bench_check(t->device, cvtm_lcp_set_grid(lcp, grid));
    bench_check(t->device, cvtm_lcp_solve(lcp, t->b, t->lower, NULL, t->x, warm, result));
    bench_check(t->device, cvtm_device_synchronize(t->device));
    best = fmin(best, cvtm_clock() - start);
  }
  cvtm_lcp_destroy(lcp);
  return best;
}

/* Per cycle: the difference between two lengths. */
static double cycle_seconds(const bench *t, const cvtm_lcp_grid *grid) {
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  cvtm_lcp_defaults(&options);
  options.nested = 0;
  options.tolerance = 0;
  double seconds[2];
  for (int longer = 0; longer < 2; ++longer) {
    options.max_iterations = longer ? 12 : 4;
    seconds[longer] = solve_grid(t, grid, &options, 0, 0, &result);
  }
  return (seconds[1] - seconds[0]) / 8;
}

/* Each of the CPU's threads copies its part. */
static void copy(const bench *t, double *to, const double *from, size_t bytes) {
  if (cvtm_device_get_kind(t->device) == CVTM_DEVICE_CUDA) {
    bench_check(t->device, cvtm_device_copy(t->device, to, from, bytes));
    bench_check(t->device, cvtm_device_synchronize(t->device));
    return;
  }
  const int threads = cvtm_device_threads(t->device);
  const int64_t count = (int64_t)(bytes / sizeof *to);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < threads; ++part) {
    const int64_t first = count * part / threads, end = count * (part + 1) / threads;
    memcpy(to + first, from + first, (size_t)(end - first) * sizeof *to);
  }
}

/* Seconds for a byte: 256 MiB each way, more than any cache holds. */
static double copy_seconds(const bench *t) {
  const size_t bytes = (size_t)1 << 28;
  double *from = bench_doubles(t->device, (int64_t)(bytes / sizeof(double)));
  double *to = bench_doubles(t->device, (int64_t)(bytes / sizeof(double)));
  bench_check(t->device, cvtm_device_fill(t->device, from, 0, bytes));
  double best = INFINITY;
  for (int run = 0; run < 4; ++run) {
    const double start = cvtm_clock();
    copy(t, to, from, bytes);
    best = fmin(best, cvtm_clock() - start);
  }
  cvtm_device_free(t->device, from);
  cvtm_device_free(t->device, to);
  return best / (2 * (double)bytes);
}

/* Grading with and without a nested start, and cycles with varying links. */
static void measure_coefficients(bench *t, double *host) {
  const int64_t m = t->m;
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  cvtm_lcp_defaults(&options);
  cvtm_lcp_grid grid = {.width = m, .height = m};
  t->diagonal = bench_doubles(t->device, m * m);
  set_grading(t, host);
  grid.neumann = 1;
  grid.constant = 16;
  grid.mass = 1;
  for (int nested = 0; nested < 2; ++nested) {
    options.nested = nested;
    const double seconds = solve_grid(t, &grid, &options, 0, 0, &result);
    printf("  grading, %s start %9.3f ms, %lld cycles, residual %.2e (%s)\n",
           nested ? "nested" : "cold  ", 1e3 * seconds, (long long)result.iterations,
           result.natural_residual, cvtm_lcp_stop_name(result.stop));
  }
  t->horizontal = bench_doubles(t->device, (m + 1) * m);
  t->vertical = bench_doubles(t->device, (m + 1) * m);
  set_varying(t, host);
  grid.diagonal = t->diagonal;
  grid.horizontal = t->horizontal;
  grid.vertical = t->vertical;
  printf("  tnnmg, varying links   %9.3f ms per cycle\n", 1e3 * cycle_seconds(t, &grid));
  options.max_iterations = 1;
  const double seconds = solve_grid(t, &grid, &options, 1, 1, &result);
  printf("  new coefficients and 1 cycle %9.3f ms\n", 1e3 * seconds);
  cvtm_device_free(t->device, t->diagonal);
  cvtm_device_free(t->device, t->horizontal);
  cvtm_device_free(t->device, t->vertical);
}

static void measure_grid(cvtm_device *device, int64_t m) {
  bench t = {device, m, NULL, NULL, NULL, NULL, NULL, NULL};
  const double count = (double)m * (double)m;
  double *host = malloc((size_t)((m + 1) * m) * sizeof *host);
  if (!host) exit(1);
  t.b = bench_doubles(device, m * m);
  t.lower = bench_doubles(device, m * m);
  t.x = bench_doubles(device, m * m);
  const double copy = copy_seconds(&t);
  printf("%lld x %lld: a copy moves %.0f GB/s\n", (long long)m, (long long)m, 1e-9 / copy);
  cvtm_lcp_grid grid = {.width = m, .height = m, .constant = 1};
  set_torsion(&t, host);
  const double cycle = cycle_seconds(&t, &grid);
  printf("  V(1,1) cycle %9.3f ms  %6.2f ns per unknown, %5.0f bytes at the copy's speed\n",
         1e3 * cycle, 1e9 * cycle / count, cycle / count / copy);
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  cvtm_lcp_defaults(&options);
  const double seconds = solve_grid(&t, &grid, &options, 0, 0, &result);
  printf("  torsion from nothing   %9.3f ms, %lld cycles, residual %.2e (%s)\n", 1e3 * seconds,
         (long long)result.iterations, result.natural_residual, cvtm_lcp_stop_name(result.stop));
  if (m <= 4096) measure_coefficients(&t, host);
  cvtm_device_free(device, t.b);
  cvtm_device_free(device, t.lower);
  cvtm_device_free(device, t.x);
  free(host);
}

int main(int argc, char **argv) {
  int64_t sizes[5] = {bench_integer(argc, argv, "--size")};
  const int reference = !strcmp(bench_text(argc, argv, "--reference", "no"), "yes");
  cvtm_device *device = bench_device(argc, argv, "auto");
  setvbuf(stdout, NULL, _IOLBF, 0); /* a run that is ended early has printed its figures */
  const int gpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  printf("Device: %s (%s)\n", cvtm_device_name(device), cvtm_device_description(device));
  if (sizes[0] == 0) {
    const int64_t usual[2][5] = {{1023, 1024}, {1024, 1023, 4096, 4095, 16384}};
    memcpy(sizes, usual[gpu], sizeof sizes);
  }
  for (int k = 0; k < 5 && sizes[k] > 0; ++k) {
    for (int is_reference = 0; is_reference <= (gpu && reference); ++is_reference) {
      if (is_reference) setenv("CVTMESH_PLAIN", "grid", 1);
      if (is_reference) printf("reference kernels, ");
      measure_grid(device, sizes[k]);
      unsetenv("CVTMESH_PLAIN");
    }
  }
  cvtm_device_destroy(device);
  return 0;
}
