/* Modulus-based multisplitting sweeps on example 3 of Mezzadri 2020 to ||A z - B w - q|| < 1e-6:
 * milliseconds of all sweeps together and the bandwidth by the bytes that a sweep must move.
 * On the CPU also those of a sequential Gauss-Seidel modulus iteration.
 *
 *     bench_hlcp [--device NAME] [--threads N] [--size H] [--splits L]
 *
 * L may be given as rows per block with a minus sign. */
#include "base/clock.h"
#include "bench/harness.h"
#include "bench/problems/complementarity.h"
#include "lcp/hlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3 };

/* --- the sequential iteration -------------------------------------------------------------- */

typedef struct sequential {
  const cvtm_hlcp_problem *p;
  double omega;
  double *x, *before;
} sequential;

static void sequential_sweep(sequential *s) {
  const cvtm_csr *a = &s->p->a, *b = &s->p->b;
  memcpy(s->before, s->x, (size_t)a->rows * sizeof *s->x);
  for (int64_t i = 0; i < a->rows; ++i) {
    double sum = 2 * s->p->q[i], diagonal = 0;
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
      const int64_t j = a->column[k];
      if (j == i) diagonal += a->value[k];
      if (j != i) sum -= a->value[k] * (j < i ? s->x[j] : s->before[j]);
      sum -= a->value[k] * fabs(s->before[j]);
    }
    for (int64_t k = b->row_start[i]; k < b->row_start[i + 1]; ++k) {
      const int64_t j = b->column[k];
      const double value = b->value[k] * s->omega;
      if (j == i) diagonal += value;
      if (j != i) sum -= value * (j < i ? s->x[j] : s->before[j]);
      sum += value * fabs(s->before[j]);
    }
    s->x[i] = sum / diagonal;
  }
}

static double sequential_residual(const sequential *s) {
  const cvtm_csr *a = &s->p->a, *b = &s->p->b;
  double squares = 0;
  for (int64_t i = 0; i < a->rows; ++i) {
    double sum = -s->p->q[i];
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
      const double x = s->x[a->column[k]];
      sum += a->value[k] * (fabs(x) + x) / 2;
    }
    for (int64_t k = b->row_start[i]; k < b->row_start[i + 1]; ++k) {
      const double x = s->x[b->column[k]];
      sum -= b->value[k] * s->omega * (fabs(x) - x) / 2;
    }
    squares += sum * sum;
  }
  return sqrt(squares);
}

static double sequential_seconds(const cvtm_hlcp_problem *p, int *sweeps) {
  const size_t bytes = (size_t)p->a.rows * sizeof(double);
  sequential s = {p, cvtm_hlcp_example_omega(3), malloc(bytes), malloc(bytes)};
  *sweeps = 0;
  double seconds = 0;
  if (s.x != NULL && s.before != NULL) {
    for (int64_t i = 0; i < p->a.rows; ++i) s.x[i] = 2;
    const double start = cvtm_clock();
    do {
      sequential_sweep(&s);
      ++*sweeps;
    } while (sequential_residual(&s) >= 1e-6);
    seconds = cvtm_clock() - start;
  }
  free(s.x);
  free(s.before);
  return seconds;
}

/* --- the library ---------------------------------------------------------------------- */

/* What a sweep must read and write: both matrices, the lower part of A + B Omega, and the
 * vectors x, q and the change (twice). */
static double sweep_bytes(const cvtm_hlcp_problem *p, int has_lower) {
  const int64_t n = p->a.rows;
  int64_t entries = p->a.row_start[n] + p->b.row_start[n];
  for (int64_t i = 0; i < n && has_lower; ++i) {
    for (int64_t k = p->a.row_start[i]; p->a.column[k] < i; ++k) ++entries;
  }
  return 12.0 * (double)entries + 8.0 * 6 * (double)n;
}

static void measure_method(cvtm_device *device, const cvtm_hlcp_problem *p, int64_t size,
                           cvtm_hlcp_method method, int64_t splits, double sequential_time) {
  cvtm_hlcp_options options;
  cvtm_hlcp_defaults(&options);
  options.method = method;
  options.scaling = CVTM_HLCP_OMEGA_NUMBER;
  options.omega = cvtm_hlcp_example_omega(3);
  options.splits = splits;
  cvtm_hlcp *hlcp = NULL;
  cvtm_hlcp_result result;
  const int64_t n = p->a.rows;
  double *q = bench_doubles(device, n), *z = bench_doubles(device, n),
         *w = bench_doubles(device, n);
  double best = HUGE_VAL;
  bench_check(device, cvtm_device_copy_in(device, q, p->q, (size_t)n * sizeof *q));
  bench_check(device, cvtm_hlcp_create(device, &p->a, &p->b, &options, &hlcp));
  for (int k = 0; k < REPEATS; ++k) {
    bench_check(device, cvtm_hlcp_solve(hlcp, q, NULL, 0, z, w, &result));
    best = fmin(best, result.seconds);
  }
  const double sweep = best / (double)result.iterations;
  printf("| %lld | %s | %lld | %lld | %.4e | %.3f | %.1f | %.0f | %.2f |", (long long)size,
         cvtm_hlcp_method_name(method), (long long)result.splits, (long long)result.iterations,
         result.residual, 1e3 * best, 1e6 * sweep,
         1e-9 * sweep_bytes(p, method != CVTM_HLCP_MMJ) / sweep, result.setup_seconds);
  if (sequential_time > 0) printf(" %.2f |", sequential_time / best);
  printf("\n");
  fflush(stdout);
  cvtm_hlcp_destroy(hlcp);
  cvtm_device_free(device, q);
  cvtm_device_free(device, z);
  cvtm_device_free(device, w);
}

static void measure_size(cvtm_device *device, int64_t size, int64_t splits) {
  cvtm_hlcp_problem p;
  bench_check(device, cvtm_hlcp_example(3, size, &p, cvtm_device_error(device)));
  const int64_t n = p.a.rows;
  const int is_cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  double sequential_time = 0;
  if (is_cpu) {
    int sweeps = 0;
    sequential_time = sequential_seconds(&p, &sweeps);
    printf("| %lld | sequential | 1 | %d | | %.3f | %.1f | | | 1 |\n", (long long)size, sweeps,
           1e3 * sequential_time, 1e6 * sequential_time / sweeps);
  }
  const int64_t tried[] = {0, 64, 512, 4096, n / 32, n / 16, n / 8, n / 4, n / 2, n};
  if (splits == 0) measure_method(device, &p, size, CVTM_HLCP_MMJ, 0, sequential_time);
  const int64_t chosen = splits < 0 ? n / -splits : splits;
  measure_method(device, &p, size, CVTM_HLCP_MMGS, chosen, sequential_time);
  for (size_t k = 0; k < sizeof tried / sizeof *tried; ++k) {
    if (chosen != 0 && k > 0) break;
    const int64_t l = chosen > 0 ? chosen : tried[k];
    if (l > n || (k > 0 && is_cpu && k % 3 != 1)) continue;
    measure_method(device, &p, size, CVTM_HLCP_MMSOR, l, sequential_time);
  }
  cvtm_hlcp_problem_free(&p);
}

int main(int argc, char **argv) {
  const int64_t only = bench_integer(argc, argv, "--size");
  const int64_t splits = bench_integer(argc, argv, "--splits");
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int is_cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  printf("Device: %s (%s), example 3, all sweeps together\n\n", cvtm_device_name(device),
         cvtm_device_description(device));
  printf("| h | method | l | sweeps | residual | ms | us per sweep | GB/s | setup s |%s\n",
         is_cpu ? " sequential / this |" : "");
  printf("|---|---|---|---|---|---|---|---|---|%s\n", is_cpu ? "---|" : "");
  const int64_t sizes[] = {256, 1024, 2048};
  if (only > 0) measure_size(device, only, splits);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes && only == 0; ++k) {
    if (is_cpu && sizes[k] > 1024) break;
    measure_size(device, sizes[k], splits);
  }
  cvtm_device_destroy(device);
  return 0;
}
