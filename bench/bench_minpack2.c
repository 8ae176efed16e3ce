/* The time of an evaluation of each MINPACK-2 problem, beside that of a device copy of x to g.
 *   bench_minpack2 [--device NAME] */
#include "base/clock.h"
#include "bench/harness.h"
#include "bench/problems/minpack2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPEATS = 20 };

/* The arrays of a problem, in device memory. */
typedef struct arrays {
  double *x, *g, *f;
} arrays;

/* Seconds of an evaluation, or of a copy if problem is NULL. */
static cvtm_status measure_evaluation(cvtm_device *device, cvtm_minpack2 *problem, const arrays *a,
                                      int64_t n, double *seconds) {
  cvtm_status status = CVTM_OK;
  double start = 0.0;
  for (int k = -1; k < REPEATS && status == CVTM_OK; ++k) {
    if (k == 0) {
      status = cvtm_device_synchronize(device);
      start = cvtm_clock();
    }
    if (status != CVTM_OK) break;
    status = problem ? cvtm_minpack2_evaluate(problem, a->x, a->f, a->g, cvtm_device_stream(device))
                     : cvtm_device_copy(device, a->g, a->x, (size_t)n * sizeof(double));
  }
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  *seconds = (cvtm_clock() - start) / REPEATS;
  return status;
}

static cvtm_status print_minpack2_row(cvtm_device *device, cvtm_minpack2_kind kind, int64_t size) {
  cvtm_minpack2_options options;
  cvtm_minpack2_defaults(kind, &options);
  options.nx = options.ny = (int64_t)sqrt((double)size / (kind == CVTM_MINPACK2_GL2 ? 4.0 : 1.0));
  options.variables = size;
  options.atoms = size / 2;
  cvtm_minpack2 *problem = NULL;
  double seconds = 0.0, copy = 0.0;
  cvtm_status status = cvtm_minpack2_create(device, kind, &options, &problem);
  if (status != CVTM_OK) return status;
  const int64_t n = cvtm_minpack2_variables(problem);
  const arrays a = {bench_doubles(device, n), bench_doubles(device, n), bench_doubles(device, 2)};
  status = cvtm_minpack2_start(problem, a.x);
  if (status == CVTM_OK) status = measure_evaluation(device, NULL, &a, n, &copy);
  if (status == CVTM_OK) status = measure_evaluation(device, problem, &a, n, &seconds);
  if (status == CVTM_OK) {
    printf("| %s | %lld | %.4f | %.1f | %.2f |\n", cvtm_minpack2_name(kind), (long long)n,
           1e3 * seconds, 16e-9 * (double)n / seconds, copy / seconds);
    fflush(stdout);
  }
  cvtm_device_free(device, a.x);
  cvtm_device_free(device, a.g);
  cvtm_device_free(device, a.f);
  cvtm_minpack2_destroy(problem);
  return status;
}

int main(int argc, char **argv) {
  const int64_t sizes[] = {10000, 1000000, 4000000, 64000000};
  cvtm_device *device = bench_device(argc, argv, "auto");
  cvtm_status status = CVTM_OK;
  const int cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  printf(
      "Device: %s (%s)\n\n| problem | n | ms | GB/s (16 n bytes) | of a copy "
      "|\n|---|---|---|---|---|\n",
      cvtm_device_name(device), cvtm_device_description(device));
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT && status == CVTM_OK; ++kind) {
    const int atoms = kind == (int)CVTM_MINPACK2_LJ; /* all pairs */
    const int64_t most = atoms ? (cuda ? 40000 : 2000) : (cuda ? 64000000 : 1000000);
    for (int k = 0; k < 4 && sizes[k] <= most && status == CVTM_OK; ++k)
      status = print_minpack2_row(device, (cvtm_minpack2_kind)kind, sizes[k]);
    if (atoms && status == CVTM_OK)
      status = print_minpack2_row(device, (cvtm_minpack2_kind)kind, most);
  }
  if (status != CVTM_OK)
    fprintf(stderr, "bench_minpack2: %s\n", cvtm_device_error(device)->message);
  cvtm_device_destroy(device);
  return status == CVTM_OK ? 0 : 1;
}
