/* The time of an iteration of L-BFGS-B without its evaluations, on elastic-plastic torsion (c = 5,
 * the distance to the boundary as bound), as a table with a row for each size.
 *
 *   bench_lbfgsb [--device cpu|cuda] [--threads N] [--history M] [--iterations K] [--cauchy exact]
 *                [--host-rounds] [--unbounded] [--sides A,B,..]
 */
#include "bench/harness.h"
#include "bench/problems/minpack2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
  const char *device;
  const char *sides; /* of the grids, separated by commas */
  int threads, unbounded;
  cvtm_lbfgsb_options options;
} arguments;

static const char *value_of(int argc, char **argv, int *i) {
  if (*i + 1 >= argc) {
    fprintf(stderr, "%s needs a value\n", argv[*i]);
    exit(2);
  }
  return argv[++*i];
}

static arguments read_arguments(int argc, char **argv) {
  arguments read = {.device = "cpu"};
  cvtm_lbfgsb_defaults(&read.options);
  read.options.max_iterations = 0;
  read.options.time_evaluations = 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--device") == 0) {
      read.device = value_of(argc, argv, &i);
    } else if (strcmp(argv[i], "--threads") == 0) {
      read.threads = atoi(value_of(argc, argv, &i));
    } else if (strcmp(argv[i], "--history") == 0) {
      read.options.history = atoi(value_of(argc, argv, &i));
    } else if (strcmp(argv[i], "--iterations") == 0) {
      read.options.max_iterations = atoi(value_of(argc, argv, &i));
    } else if (strcmp(argv[i], "--sides") == 0) {
      read.sides = value_of(argc, argv, &i);
    } else if (strcmp(argv[i], "--cauchy") == 0) {
      const char *kind = value_of(argc, argv, &i);
      read.options.cauchy =
          strcmp(kind, "exact") == 0 ? CVTM_LBFGSB_CAUCHY_EXACT : CVTM_LBFGSB_CAUCHY_APPROXIMATE;
    } else if (strcmp(argv[i], "--host-rounds") == 0) {
      read.options.host_rounds = 16;
    } else if (strcmp(argv[i], "--unbounded") == 0) {
      read.unbounded = 1;
    } else {
      fprintf(stderr, "unknown option %s\n", argv[i]);
      exit(2);
    }
  }
  const int on_cpu = strcmp(read.device, "cpu") == 0;
  if (!read.sides) read.sides = on_cpu ? "100,346,1000" : "100,346,1000,2000,8000";
  if (read.options.max_iterations == 0) read.options.max_iterations = on_cpu ? 40 : 250;
  return read;
}

/* The least memory traffic of an iteration with m pairs, in bytes: W, x, g, d and the bounds as the
 * two passes read and write them. */
static double floor_bytes(int64_t n, const arguments *given) {
  const double vectors = given->unbounded ? 64.0 : 96.0;
  return (double)n * (4.0 * given->options.history * 8.0 + vectors);
}

static void measure_iterations(cvtm_device *device, const arguments *given, int side) {
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
  bench_check(device, cvtm_lbfgsb_create(device, n, &given->options, &solver));
  if (!given->unbounded) {
    bench_check(device, cvtm_minpack2_bounds(problem, lower, upper));
    bench_check(device, cvtm_lbfgsb_set_bounds(solver, lower, upper));
  }
  cvtm_device_free(device, lower);
  cvtm_device_free(device, upper);
  double best = 0.0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    bench_check(device, cvtm_minpack2_start(problem, x));
    bench_check(device, cvtm_lbfgsb_minimize(solver, x, cvtm_minpack2_evaluate, problem, &result));
    const double each = (result.seconds - result.evaluation_seconds) / (double)result.iterations;
    if (repeat == 0 || each < best) best = each;
  }
  const double bytes = floor_bytes(n, given), per = (double)result.iterations;
  printf("%10lld %6lld %6lld %-11s %17.12f %10.4f %10.4f %12.4f %9.1f %8.1f%s\n", (long long)n,
         (long long)result.iterations, (long long)result.evaluations, cvtm_stop_name(result.stop),
         result.f, 1e3 * result.seconds / per, 1e3 * result.evaluation_seconds / per, 1e3 * best,
         1e-6 * bytes, 100.0 * bytes / best / 4.3e12, result.captured ? "" : "  (no graph)");
  fflush(stdout);
  cvtm_lbfgsb_destroy(solver);
  cvtm_minpack2_destroy(problem);
  cvtm_device_free(device, x);
}

int main(int argc, char **argv) {
  const arguments given = read_arguments(argc, argv);
  cvtm_error error = {CVTM_OK, ""};
  cvtm_device *device = NULL;
  if (cvtm_device_create(given.device, given.threads, &device, &error) != CVTM_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("%s (%s), m = %d%s%s; milliseconds per iteration, best of 3 runs for the optimiser\n",
         cvtm_device_name(device), cvtm_device_description(device), given.options.history,
         given.options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT ? ", exact Cauchy point" : "",
         given.unbounded ? ", no bounds" : "");
  printf("%10s %6s %6s %-11s %17s %10s %10s %12s %9s %8s\n", "n", "iter", "eval", "stop", "f",
         "all", "evaluation", "optimiser", "MB floor", "% 4.3TB/s");
  const char *at = given.sides;
  while (*at) {
    char *end = NULL;
    const long side = strtol(at, &end, 10);
    if (end == at || side < 1 || side > 30000) {
      fprintf(stderr, "sides are numbers, separated by commas: '%s'\n", at);
      return 2;
    }
    measure_iterations(device, &given, (int)side);
    at = *end == ',' ? end + 1 : end;
  }
  cvtm_device_destroy(device);
  return 0;
}
