/* Whole runs, from a density to a tessellation: the time to a ratio, to the end, and what an
 * iteration takes; uniform density, the default effort. */
#include "base/clock.h"
#include "bench/harness.h"
#include "cvt/cvt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run_row {
  int side;
  int64_t sites;
  double ratio, tolerance;
} run_row;

static const run_row rows[] = {
    {512, 5000, 1.009, 1e-7},   {1024, 10000, 1.0085, 1e-7}, {2048, 60000, 1.009, 1e-7},
    {2048, 60000, 1.009, 1e-9}, {8192, 1000000, 1.01, 1e-7},
};

typedef struct stopwatch {
  int64_t sites;
  double bound, ratio;
  double start, fine, reached; /* when: began, came to the full set, met the ratio (0: never) */
} stopwatch;

static int note_times(void *context, const cvtm_cvt_record *record) {
  stopwatch *w = context;
  if (record->sites != w->sites) return 0;
  if (w->fine == 0) w->fine = cvtm_clock();
  if (w->reached == 0 && record->energy <= w->ratio * w->bound) w->reached = cvtm_clock();
  return 0;
}

static void print_solve_row(const run_row *row, const stopwatch *w, double created, double ended,
                            const cvtm_cvt_result *result) {
  printf("| %d^2 | %lld | %.4f | %.0e | %.1f | %.1f |", row->side, (long long)row->sites,
         row->ratio, row->tolerance, 1e3 * created, 1e3 * (w->fine - w->start));
  if (w->reached > 0)
    printf(" %.1f |", 1e3 * (w->reached - w->start));
  else
    printf(" - |");
  printf(" %.1f | %lld + %lld | %lld | %.3f | %.5f | %s |\n", 1e3 * (ended - w->start),
         (long long)result->coarse_iterations, (long long)result->iterations,
         (long long)result->evaluations,
         1e3 * (ended - w->fine) / (double)(result->iterations ? result->iterations : 1),
         result->objective / w->bound, cvtm_stop_name(result->stop));
  fflush(stdout);
}

/* Twice, of which the second is printed: the first also loads what the device runs. */
static cvtm_status measure_solve(cvtm_device *device, const run_row *row, const float *density,
                                 double *sites) {
  const cvtm_domain domain = {row->side, row->side, 0};
  stopwatch w = {.sites = row->sites,
                 .bound = cvtm_cvt_energy_bound(domain, density, row->sites),
                 .ratio = row->ratio};
  cvtm_status status = CVTM_OK;
  for (int turn = 0; status == CVTM_OK && turn < 2; ++turn) {
    cvtm_cvt *cvt = NULL;
    cvtm_cvt_options options;
    cvtm_cvt_result result;
    cvtm_cvt_defaults(&options);
    options.tolerance = row->tolerance;
    options.max_iterations = 2000;
    options.monitor = note_times;
    options.monitor_context = &w;
    const double before = cvtm_clock();
    status = cvtm_cvt_create(device, domain, density, row->sites, &cvt);
    w.start = cvtm_clock();
    w.fine = w.reached = 0;
    if (status == CVTM_OK) status = cvtm_cvt_solve(cvt, &options, 0, sites, row->sites, &result);
    if (status == CVTM_OK && turn == 1)
      print_solve_row(row, &w, w.start - before, cvtm_clock(), &result);
    cvtm_cvt_destroy(cvt);
  }
  return status;
}

static cvtm_status measure_row(cvtm_device *device, const run_row *row) {
  const size_t pixels = (size_t)row->side * (size_t)row->side;
  float *density = malloc(pixels * sizeof *density);
  double *sites = malloc(2 * (size_t)row->sites * sizeof *sites);
  cvtm_status status = density && sites ? CVTM_OK : CVTM_ERROR_MEMORY;
  for (size_t p = 0; density && p < pixels; ++p) density[p] = 1;
  if (status == CVTM_OK) status = measure_solve(device, row, density, sites);
  free(density);
  free(sites);
  return status;
}

int main(int argc, char **argv) {
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int64_t most = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU ? 10000 : 1000000;
  printf("Device: %s (%s); milliseconds\n\n", cvtm_device_name(device),
         cvtm_device_description(device));
  printf(
      "| image | sites | ratio sought | tolerance | plan | coarse levels | to the ratio | to the "
      "end | iterations, coarse + fine | evaluations | an iteration | ratio | stop "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    if (rows[k].sites > most) continue;
    if (measure_row(device, &rows[k])) {
      fprintf(stderr, "bench_solve: %s\n", cvtm_device_error(device)->message);
      cvtm_device_destroy(device);
      return 1;
    }
  }
  cvtm_device_destroy(device);
  return 0;
}
