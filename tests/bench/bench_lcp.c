/* Obstacle problems on grids: milliseconds per V(1,1) cycle, and per solve from a cold start to
 * 1e-8 of its natural residual.
 *
 *     bench_lcp [--device NAME] [--threads N] [--size M]
 *
 * With --hlcp yes modulus-based multisplitting sweeps on example 3 of Mezzadri 2020 to
 * ||A z - B w - q|| < 1e-6: milliseconds of all sweeps together and the bandwidth by the bytes that
 * a sweep must move. On the CPU also those of a sequential Gauss-Seidel modulus iteration.
 *
 *     bench_lcp --hlcp yes [--device NAME] [--threads N] [--size H] [--splits L]
 *               [--block-threads NB]
 *
 * L may be given as rows per block with a minus sign. NB: on CUDA one thread solves each splitting,
 * in blocks of so many. */
#include "tests/bench/harness.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"

enum { REPEATS = 3 };

/* --- problems -------------------------------------------------------------------------------- */

/* The elastic-plastic torsion problem on m x m nodes, with a free boundary along the diagonals:
 * right side and lower bound in device memory. The operator is the five-point one, 4 and -1. */
static void make_torsion(cvtm_device *device, int64_t m, double **b, double **lower) {
  const double h = 1.0 / (double)(m + 1);
  double *host = malloc((size_t)(m * m) * sizeof *host);
  if (!host) exit(1);
  for (int64_t k = 0; k < m * m; ++k) host[k] = -5 * h * h;
  *b = bench_copied(device, host, m * m);
  for (int64_t k = 0; k < m * m; ++k) {
    const double x = (double)(k % m + 1) * h, y = (double)(k / m + 1) * h;
    host[k] = -fmin(fmin(x, 1 - x), fmin(y, 1 - y));
  }
  *lower = bench_copied(device, host, m * m);
  free(host);
}

/* A five-point matrix on size x size nodes, by its entries below, left, at the node, right, above;
 * 0: none. */
static cvtm_csr five_points(cvtm_device *device, int64_t size, const double entries[5]) {
  const int64_t n = size * size, shifts[5] = {-size, -1, 0, 1, size};
  cvtm_csr made;
  bench_check(device, cvtm_csr_create(n, n, 5 * n, &made, cvtm_device_error(device)));
  for (int64_t row = 0, place = 0; row < n; ++row) {
    for (int k = 0; k < 5; ++k) {
      const int64_t column = row + shifts[k], x = row % size;
      if (column < 0 || column >= n || (k == 1 && x == 0) || (k == 3 && x == size - 1)) continue;
      if (entries[k] == 0) continue;
      made.column[place] = (int32_t)column;
      made.value[place++] = entries[k];
    }
    made.row_start[row + 1] = place;
  }
  return made;
}

/* A z - B w = q; q in host memory. */
typedef struct hlcp_example {
  cvtm_csr a, b;
  double *q;
} hlcp_example;

static const double omega = 0.5;

/* Example 3 of Mezzadri 2020, nu = 4, with the solution z = (0, 1, 0, 1, ...), w = (1, 0, 1, 0,
 * ...). */
static hlcp_example make_hlcp(cvtm_device *device, int64_t size) {
  static const double a[5] = {-1.5, -1.5, 4, -0.5, -0.5}, b[5] = {0, -1.5, 8, -0.5, 0};
  hlcp_example p = {five_points(device, size, a), five_points(device, size, b),
                    calloc((size_t)(size * size), sizeof *p.q)};
  if (!p.q) exit(1);
  for (int64_t row = 0; row < size * size; ++row) {
    for (int64_t k = p.a.row_start[row]; k < p.a.row_start[row + 1]; ++k)
      if (p.a.column[k] % 2) p.q[row] += p.a.value[k];
    for (int64_t k = p.b.row_start[row]; k < p.b.row_start[row + 1]; ++k)
      if (p.b.column[k] % 2 == 0) p.q[row] -= p.b.value[k];
  }
  return p;
}

static void free_hlcp(hlcp_example *p) {
  cvtm_csr_free(&p->a);
  cvtm_csr_free(&p->b);
  free(p->q);
}

/* --- grids ------------------------------------------------------------------------------------ */

typedef struct torsion {
  cvtm_device *device;
  int64_t m;
  double *b, *lower, *x; /* device memory */
} torsion;

static double solve_grid(const torsion *t, const cvtm_lcp_grid *grid,
                         const cvtm_lcp_options *options, cvtm_lcp_result *result) {
  cvtm_lcp *lcp = NULL;
  bench_check(t->device, cvtm_lcp_create_grid(t->device, t->m, t->m, options, &lcp));
  bench_check(t->device, cvtm_lcp_set_grid(lcp, grid));
  double best = INFINITY;
  for (int run = 0; run < REPEATS; ++run) { /* the first one warms the device */
    bench_check(t->device, cvtm_device_synchronize(t->device));
    const double start = cvtm_clock();
    bench_check(t->device, cvtm_lcp_solve(lcp, t->b, t->lower, NULL, t->x, 0, result));
    bench_check(t->device, cvtm_device_synchronize(t->device));
    best = fmin(best, cvtm_clock() - start);
  }
  cvtm_lcp_destroy(lcp);
  return best;
}

/* Per cycle: the difference between two lengths. */
static double cycle_seconds(const torsion *t, const cvtm_lcp_grid *grid) {
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  cvtm_lcp_defaults(&options);
  options.nested = 0;
  options.tolerance = 0;
  double seconds[2];
  for (int longer = 0; longer < 2; ++longer) {
    options.max_iterations = longer ? 12 : 4;
    seconds[longer] = solve_grid(t, grid, &options, &result);
  }
  return (seconds[1] - seconds[0]) / 8;
}

static void measure_grid(cvtm_device *device, int64_t m) {
  torsion t = {.device = device, .m = m};
  const cvtm_lcp_grid grid = {.width = m, .height = m, .constant = 1};
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  make_torsion(device, m, &t.b, &t.lower);
  t.x = bench_doubles(device, m * m);
  printf("%lld x %lld\n", (long long)m, (long long)m);
  const double cycle = cycle_seconds(&t, &grid);
  printf("  V(1,1) cycle           %9.3f ms, %.2f ns per unknown\n", 1e3 * cycle,
         1e9 * cycle / (double)(m * m));
  cvtm_lcp_defaults(&options);
  const double seconds = solve_grid(&t, &grid, &options, &result);
  printf("  torsion from nothing   %9.3f ms, %lld cycles, residual %.2e (%s)\n", 1e3 * seconds,
         (long long)result.iterations, result.natural_residual, cvtm_lcp_stop_name(result.stop));
  cvtm_device_free(device, t.b);
  cvtm_device_free(device, t.lower);
  cvtm_device_free(device, t.x);
}

static void measure_grids(cvtm_device *device, int64_t size) {
  static const int64_t usual[2][5] = {{1023, 1024}, {1024, 1023, 4096, 4095, 16384}};
  const int gpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  for (int k = 0; k < (size > 0 ? 1 : 5) && usual[gpu][k] > 0; ++k)
    measure_grid(device, size > 0 ? size : usual[gpu][k]);
}

/* --- multisplitting ------------------------------------------------------------------------- */

typedef struct sequential {
  const hlcp_example *p;
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

static double sequential_seconds(const hlcp_example *p, int *sweeps) {
  const size_t bytes = (size_t)p->a.rows * sizeof(double);
  sequential s = {p, omega, malloc(bytes), malloc(bytes)};
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

/* What a sweep must read and write: both matrices, the lower part of A + B Omega, and the
 * vectors x, q and the change (twice). */
static double sweep_bytes(const hlcp_example *p, int has_lower) {
  const int64_t n = p->a.rows;
  int64_t entries = p->a.row_start[n] + p->b.row_start[n];
  for (int64_t i = 0; i < n && has_lower; ++i) {
    for (int64_t k = p->a.row_start[i]; p->a.column[k] < i; ++k) ++entries;
  }
  return 12.0 * (double)entries + 8.0 * 6 * (double)n;
}

static int64_t block_threads;

static void measure_method(cvtm_device *device, const hlcp_example *p, int64_t size,
                           cvtm_hlcp_method method, int64_t splits, double sequential_time) {
  cvtm_hlcp_options options;
  cvtm_hlcp_defaults(&options);
  options.method = method;
  options.scaling = CVTM_HLCP_OMEGA_NUMBER;
  options.omega = omega;
  options.splits = splits;
  options.block_threads = block_threads;
  cvtm_hlcp *hlcp = NULL;
  cvtm_hlcp_result result;
  const int64_t n = p->a.rows;
  double *q = bench_copied(device, p->q, n), *z = bench_doubles(device, n),
         *w = bench_doubles(device, n);
  double best = HUGE_VAL;
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

static void measure_splittings(cvtm_device *device, int64_t size, int64_t splits) {
  hlcp_example p = make_hlcp(device, size);
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
  free_hlcp(&p);
}

static void measure_multisplitting(cvtm_device *device, int64_t size, int64_t splits) {
  const int is_cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  static const int64_t sizes[] = {256, 1024, 2048};
  printf("| h | method | l | sweeps | residual | ms | us per sweep | GB/s | setup s |%s\n",
         is_cpu ? " sequential / this |" : "");
  printf("|---|---|---|---|---|---|---|---|---|%s\n", is_cpu ? "---|" : "");
  for (int k = 0; k < (size > 0 ? 1 : is_cpu ? 2 : 3); ++k)
    measure_splittings(device, size > 0 ? size : sizes[k], splits);
}

int main(int argc, char **argv) {
  const int64_t size = bench_integer(argc, argv, "--size");
  cvtm_device *device = bench_device(argc, argv, "auto");
  setvbuf(stdout, NULL, _IOLBF, 0); /* a run that is ended early has printed its figures */
  printf("Device: %s (%s)\n", cvtm_device_name(device), cvtm_device_description(device));
  block_threads = bench_integer(argc, argv, "--block-threads");
  if (strcmp(bench_text(argc, argv, "--hlcp", "no"), "yes") == 0)
    measure_multisplitting(device, size, bench_integer(argc, argv, "--splits"));
  else
    measure_grids(device, size);
  cvtm_device_destroy(device);
  return 0;
}
