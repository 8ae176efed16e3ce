/* The time of an iteration of L-BFGS-B without its evaluations, on elastic-plastic torsion (c = 5,
 * the distance to the boundary as bound), as a table with a row for each size.
 *
 *   bench_lbfgsb [--device NAME] [--threads N] [--history M] [--iterations K] [--cauchy exact]
 *                [--host-rounds 1] [--unbounded 1] [--sides A,B,..]
 *
 * The same, the variables divided among the ranks of mpirun. The problem is 32 strips of torsion
 * that know nothing of each other, so that only the optimiser communicates; a strip has
 * 2048 x 8 J variables. --whole 1: by the solver that has all variables, on one rank.
 *
 *   mpirun -n K bench_lbfgsb --strips J [--device cpu|cuda] [--history M] [--iterations K]
 *                            [--whole 1]
 *
 * On CUDA the product A'B of two panels of eight columns beside cuBLAS (Fei, Rong, Wang & Wang
 * 2014, Figure 3):
 *
 *   bench_lbfgsb --panels 1 [--device cuda] */
#include "base/cuda_libraries.h"
#include "base/random.h"
#include "tests/bench/panel.h"
#include "lbfgsb/problems/minpack2.h"
#include "tests/bench/ranks.h"
#include "lbfgsb/lbfgsb_ranks.h"

enum { RUNS = 3 };

static cvtm_lbfgsb_options read_options(int argc, char **argv, int64_t iterations) {
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  const int64_t history = bench_integer(argc, argv, "--history");
  const int64_t given = bench_integer(argc, argv, "--iterations");
  if (history > 0) options.history = (int)history;
  if (strcmp(bench_text(argc, argv, "--cauchy", ""), "exact") == 0)
    options.cauchy = CVTM_LBFGSB_CAUCHY_EXACT;
  if (bench_integer(argc, argv, "--host-rounds")) options.host_rounds = 16;
  options.max_iterations = given > 0 ? given : iterations;
  options.time_evaluations = 1;
  return options;
}

/* --- one device ----------------------------------------------------------------------------- */

/* side x side variables. */
static void measure_iterations(cvtm_device *device, const cvtm_lbfgsb_options *options,
                               int unbounded, int64_t side) {
  cvtm_minpack2_options size;
  cvtm_minpack2_defaults(CVTM_MINPACK2_EPT, &size);
  size.nx = size.ny = side;
  cvtm_minpack2 *problem = NULL;
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_result result;
  bench_check(device, cvtm_minpack2_create(device, CVTM_MINPACK2_EPT, &size, &problem));
  const int64_t n = cvtm_minpack2_variables(problem);
  double *x = bench_doubles(device, n), *lower = bench_doubles(device, n),
         *upper = bench_doubles(device, n);
  bench_check(device, cvtm_lbfgsb_create(device, n, options, &solver));
  if (!unbounded) {
    bench_check(device, cvtm_minpack2_bounds(problem, lower, upper));
    bench_check(device, cvtm_lbfgsb_set_bounds(solver, lower, upper));
  }
  cvtm_device_free(device, lower);
  cvtm_device_free(device, upper);
  double best = INFINITY;
  for (int run = 0; run < RUNS; ++run) {
    bench_check(device, cvtm_minpack2_start(problem, x));
    bench_check(device, cvtm_lbfgsb_minimize(solver, x, cvtm_minpack2_evaluate, problem, &result));
    best = fmin(best, (result.seconds - result.evaluation_seconds) / (double)result.iterations);
  }
  /* What an iteration must read and write at least: W, x, g, d and the bounds in the two passes. */
  const double bytes = (double)n * (32.0 * options->history + (unbounded ? 64 : 96));
  const double per = (double)result.iterations;
  printf("%10lld %6lld %6lld %-11s %17.12f %10.4f %10.4f %12.4f %9.1f %8.1f%s\n", (long long)n,
         (long long)result.iterations, (long long)result.evaluations, cvtm_stop_name(result.stop),
         result.f, 1e3 * result.seconds / per, 1e3 * result.evaluation_seconds / per, 1e3 * best,
         1e-6 * bytes, 100.0 * bytes / best / 4.3e12, result.captured ? "" : "  (no graph)");
  fflush(stdout);
  cvtm_lbfgsb_destroy(solver);
  cvtm_minpack2_destroy(problem);
  cvtm_device_free(device, x);
}

static void measure_sides(cvtm_device *device, int argc, char **argv) {
  const int on_cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  const int unbounded = bench_integer(argc, argv, "--unbounded") != 0;
  const cvtm_lbfgsb_options options = read_options(argc, argv, on_cpu ? 40 : 250);
  printf("%s (%s), m = %d%s%s; milliseconds per iteration, best of %d runs for the optimiser\n",
         cvtm_device_name(device), cvtm_device_description(device), options.history,
         options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT ? ", exact Cauchy point" : "",
         unbounded ? ", no bounds" : "", (int)RUNS);
  printf("%10s %6s %6s %-11s %17s %10s %10s %12s %9s %8s\n", "n", "iter", "eval", "stop", "f",
         "all", "evaluation", "optimiser", "MB floor", "% 4.3TB/s");
  const char *at =
      bench_text(argc, argv, "--sides", on_cpu ? "100,346,1000" : "100,346,1000,2000,8000");
  while (*at) {
    char *end = NULL;
    const long side = strtol(at, &end, 10);
    if (end == at || side < 1 || side > 30000) {
      fprintf(stderr, "sides are numbers, separated by commas: '%s'\n", at);
      exit(2);
    }
    measure_iterations(device, &options, unbounded, side);
    at = *end == ',' ? end + 1 : end;
  }
}

/* --- ranks --------------------------------------------------------------------------------- */

enum { STRIPS = 32, SIDE = 2048, BLOCKS_OF_STRIP = 8 };

/* The strips of this rank. */
typedef struct job {
  bench_ranks r;
  cvtm_device *device; /* of r */
  cvtm_minpack2 *strip;
  int64_t first, count, size; /* size: variables of a strip, a whole number of blocks */
  double *all_f;              /* --whole: f of the blocks, in device memory */
} job;

/* The value of a strip is that of its first block. */
static cvtm_status evaluate_strips(void *context, const double *x, double *f, double *g,
                                   void *stream) {
  const job *own = context;
  cvtm_status status =
      cvtm_device_fill(own->device, f, 0, 2 * BLOCKS_OF_STRIP * (size_t)own->count * sizeof *f);
  for (int64_t s = 0; s < own->count && status == CVTM_OK; ++s)
    status = cvtm_minpack2_evaluate(own->strip, x + s * own->size, f + 2 * BLOCKS_OF_STRIP * s,
                                    g + s * own->size, stream);
  return status;
}

static cvtm_status evaluate_whole(void *context, const double *x, double *f, double *g,
                                  void *stream) {
  const job *own = context;
  const cvtm_status status = evaluate_strips(context, x, own->all_f, g, stream);
  if (status != CVTM_OK) return status;
  return cvtm_reduce(own->device, CVTM_REDUCE_SUM, own->all_f, 2 * BLOCKS_OF_STRIP * own->count, f);
}

static void start_strips(const job *own, double *x) {
  for (int64_t s = 0; s < own->count; ++s)
    bench_check(own->device, cvtm_minpack2_start(own->strip, x + s * own->size));
}

static cvtm_lbfgsb *make_solver(const job *own, const cvtm_lbfgsb_options *options, int whole) {
  const int64_t n = own->count * own->size;
  const cvtm_lbfgsb_share share = {own->first * own->size, n, STRIPS * own->size};
  double *lower = bench_doubles(own->device, n), *upper = bench_doubles(own->device, n);
  cvtm_lbfgsb *solver = NULL;
  for (int64_t s = 0; s < own->count; ++s)
    bench_check(own->device,
                cvtm_minpack2_bounds(own->strip, lower + s * own->size, upper + s * own->size));
  bench_check(own->device, whole
                               ? cvtm_lbfgsb_create(own->device, n, options, &solver)
                               : cvtm_lbfgsb_create_divided(own->device, &share, options, &solver));
  bench_check(own->device, cvtm_lbfgsb_set_bounds(solver, lower, upper));
  cvtm_device_free(own->device, lower);
  cvtm_device_free(own->device, upper);
  return solver;
}

static void measure_divided(job *own, const cvtm_lbfgsb_options *options, int whole,
                            const char *transport) {
  double *x = bench_doubles(own->device, own->count * own->size), best = 0;
  cvtm_lbfgsb *solver = make_solver(own, options, whole);
  cvtm_lbfgsb_result found;
  for (int k = 0; k < RUNS; ++k) {
    start_strips(own, x);
    bench_ranks_meet(&own->r);
    bench_check(own->device, cvtm_lbfgsb_minimize(
                                 solver, x, whole ? evaluate_whole : evaluate_strips, own, &found));
    const double each = (found.seconds - found.evaluation_seconds) / (double)found.iterations;
    if (k == 0 || each < best) best = each;
  }
  const int64_t n = own->count * own->size;
  int64_t bits = bench_ranks_bits(&own->r, x, own->first * own->size, n);
  bench_check(own->device, cvtm_ranks_sum(own->device, &bits, 1));
  if (own->r.ranks.rank == 0)
    printf("%5d %-8s %10lld %6lld %6lld %7lld %22a %18llx %10.4f %10.4f %10.4f\n",
           own->r.ranks.size, transport, (long long)(STRIPS * own->size),
           (long long)found.iterations, (long long)found.evaluations, (long long)found.active,
           found.f, (unsigned long long)bits, 1e3 * found.seconds / (double)found.iterations,
           1e3 * found.evaluation_seconds / (double)found.iterations, 1e3 * best);
  cvtm_lbfgsb_destroy(solver);
  cvtm_device_free(own->device, x);
}

static void make_job(job *own, int64_t scale) {
  cvtm_device *device = own->device;
  cvtm_minpack2_options size;
  cvtm_minpack2_defaults(CVTM_MINPACK2_EPT, &size);
  size.nx = SIDE;
  size.ny = BLOCKS_OF_STRIP * scale; /* a block is 2048 * scale variables */
  own->size = size.nx * size.ny;
  own->first = (int64_t)STRIPS * own->r.ranks.rank / own->r.ranks.size;
  own->count = (int64_t)STRIPS * (own->r.ranks.rank + 1) / own->r.ranks.size - own->first;
  const int64_t values = 2 * BLOCKS_OF_STRIP * own->count;
  bench_check(device, cvtm_minpack2_create(device, CVTM_MINPACK2_EPT, &size, &own->strip));
  own->all_f = bench_doubles(device, values);
  bench_check(device, cvtm_reduce_reserve(device, values));
}

static void measure_strips(int argc, char **argv) {
  const int whole = bench_integer(argc, argv, "--whole") != 0;
  const cvtm_lbfgsb_options options = read_options(argc, argv, 100);
  job own = {.count = 0};
  bench_ranks_open(argc, argv, &own.r);
  own.device = own.r.device;
  make_job(&own, bench_integer(argc, argv, "--strips"));
  if (own.r.ranks.rank == 0)
    printf(
        "%s (%s), m = %d; milliseconds an iteration: all, evaluation, optimiser (best of %d)\n"
        "%5s %-8s %10s %6s %6s %7s %22s %18s %10s %10s %10s\n",
        cvtm_device_name(own.device), cvtm_device_description(own.device), options.history,
        (int)RUNS, "ranks", "by", "n", "iter", "eval", "active", "f", "bits of x", "all",
        "evaluation", "optimiser");
  measure_divided(&own, &options, whole, whole ? "whole" : own.r.ranks.nccl ? "NCCL" : "host");
  cvtm_minpack2_destroy(own.strip);
  cvtm_device_free(own.device, own.all_f);
  bench_ranks_close(&own.r);
}

/* --- panels --------------------------------------------------------------------------------- */

#ifdef CVTMESH_HAVE_CUDA_PANELS
enum { COLUMNS = CVTM_PANEL_COLUMNS, ENTRIES = COLUMNS * COLUMNS };

typedef struct panels {
  cvtm_device *device;
  int64_t rows;
  double *a, *b, *product, *workspace;
  cvtm_cublas *rival; /* NULL: our own product */
} panels;

/* C = A'B. Matrices of cuBLAS are column-major, so B'A is computed to get the same 64 numbers. */
static cvtm_status multiply_panels(const panels *p) {
  if (p->rival == NULL)
    return cvtm_panel_product(p->device, p->rows, p->a, p->b, p->product, p->workspace);
  const int rows = (int)p->rows;
  return cvtm_cublas_multiply(p->rival, COLUMNS, COLUMNS, rows, p->b, rows, p->a, rows, 0.0,
                              p->product, COLUMNS);
}

/* The seconds of one product: after a warm-up it is repeated for 1/20 second. */
static double time_product(const panels *p, double *values) {
  int64_t repeats = 1;
  double seconds = 0;
  bench_check(p->device, multiply_panels(p));
  bench_check(p->device, cvtm_device_synchronize(p->device));
  for (; seconds < 0.05; repeats *= 4) {
    const double start = cvtm_clock();
    for (int64_t k = 0; k < repeats; ++k) bench_check(p->device, multiply_panels(p));
    bench_check(p->device, cvtm_device_synchronize(p->device));
    seconds = cvtm_clock() - start;
  }
  bench_check(p->device,
              cvtm_device_copy_out(p->device, values, p->product, ENTRIES * sizeof *values));
  return seconds / (double)(repeats / 4);
}

static double *make_panel(cvtm_device *device, int64_t count, uint64_t stream) {
  double *values = malloc((size_t)count * sizeof *values);
  if (!values) exit(1);
  for (int64_t k = 0; k < count; ++k) values[k] = cvtm_random_uniform(1, stream, (uint64_t)k);
  double *panel = bench_copied(device, values, count);
  free(values);
  return panel;
}

static void measure_panels(cvtm_device *device) {
  static const int64_t sizes[] = {10,    100,    1000,   5000,    10000,
                                  50000, 100000, 500000, 1000000, 5000000};
  cvtm_cublas *library = NULL;
  const int rival = cvtm_cublas_open(device, &library) == CVTM_OK;
  printf(
      "| M | ours, us | GFLOP/s | cuBLAS, us | GFLOP/s | largest relative difference |\n"
      "|---|---|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
    panels p = {.device = device, .rows = sizes[k]};
    double ours[ENTRIES], theirs[ENTRIES], largest = 0;
    const double work = 2e-9 * ENTRIES * (double)p.rows;
    p.a = make_panel(device, COLUMNS * p.rows, 1);
    p.b = make_panel(device, COLUMNS * p.rows, 2);
    p.product = bench_doubles(device, ENTRIES);
    p.workspace = bench_doubles(device, cvtm_panel_workspace(p.rows));
    double seconds = time_product(&p, ours);
    printf("| %lld | %.2f | %.1f |", (long long)p.rows, 1e6 * seconds, work / seconds);
    p.rival = library;
    if (rival) {
      seconds = time_product(&p, theirs);
      for (int e = 0; e < ENTRIES; ++e) largest = fmax(largest, fabs(ours[e] / theirs[e] - 1));
      printf(" %.2f | %.1f | %.1e |\n", 1e6 * seconds, work / seconds, largest);
    } else {
      printf(" - | - | - |\n");
    }
    fflush(stdout);
    cvtm_device_free(device, p.a);
    cvtm_device_free(device, p.b);
    cvtm_device_free(device, p.product);
    cvtm_device_free(device, p.workspace);
  }
  cvtm_cublas_close(library);
}
#else
static void measure_panels(cvtm_device *device) {
  printf("%s: panels are compared on CUDA devices\n", cvtm_device_name(device));
}
#endif

int main(int argc, char **argv) {
  if (bench_integer(argc, argv, "--strips") > 0) {
    measure_strips(argc, argv);
    return 0;
  }
  const int panels_alone = bench_integer(argc, argv, "--panels") != 0;
  cvtm_device *device = bench_device(argc, argv, panels_alone ? "cuda" : "cpu");
  if (panels_alone)
    measure_panels(device);
  else
    measure_sides(device, argc, argv);
  cvtm_device_destroy(device);
  return 0;
}
