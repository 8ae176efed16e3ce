/* Discrete Voronoi diagrams of relaxed sites, 100 pixels per cell: milliseconds from positions to
 * labels by every method, by a warm start from the labels themselves, and of the check that
 * corrects it. Usage: bench_voronoi [--device NAME] [--side N] [--method NAME] */
#include "base/clock.h"
#include "bench/harness.h"
#include "cvt/cvt.h"
#include "jfa/jfa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS_PER_CELL = 100, LLOYD_STEPS = 20, WARM = CVTM_VORONOI_EXACT + 1, CHECK, KINDS };

static const char *const kind_names[KINDS] = {
#define METHOD_NAME(code, name) name,
    CVTM_VORONOI_LIST(METHOD_NAME)
#undef METHOD_NAME
        "warm",
    "check"};

/* Sites of one size, and what their diagrams need. */
typedef struct job {
  cvtm_device *device;
  cvtm_domain domain;
  int64_t count;
  cvtm_voronoi *voronoi;
  double *sites;
  int32_t *labels;
} job;

static cvtm_status run_once(const job *j, int kind) {
  int64_t wrong = 0;
  if (kind == WARM) return cvtm_voronoi_update(j->voronoi, j->sites, j->count, 0, j->labels);
  if (kind == CHECK) return cvtm_voronoi_correct(j->voronoi, j->labels, &wrong);
  return cvtm_voronoi_compute(j->voronoi, j->sites, j->count, (cvtm_voronoi_method)kind, j->labels);
}

/* Milliseconds of one diagram, the best of three times `rounds` in a row. */
static cvtm_status measure_diagram(const job *j, int kind, int rounds, double *best) {
  cvtm_status status = CVTM_OK;
  *best = INFINITY;
  for (int k = 0; k < 4 && !status; ++k) { /* the first to warm up */
    const double start = cvtm_clock();
    for (int round = 0; round < rounds && !status; ++round) status = run_once(j, kind);
    if (!status) status = cvtm_device_synchronize(j->device);
    if (k > 0) *best = fmin(*best, 1e3 * (cvtm_clock() - start) / rounds);
  }
  return status;
}

static cvtm_status relaxed_sites(cvtm_device *device, cvtm_domain domain, int64_t count,
                                 double *sites) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *density = malloc((size_t)pixels * sizeof *density);
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.method = CVTM_CVT_LLOYD;
  options.max_iterations = LLOYD_STEPS;
  options.tolerance = 0;
  cvtm_status status = density ? CVTM_OK : CVTM_ERROR_MEMORY;
  for (int64_t p = 0; p < pixels && !status; ++p) density[p] = 1;
  if (!status)
    status = cvtm_cvt_sample(domain, density, count, 1, CVTM_CVT_START_STRATIFIED, sites,
                             cvtm_device_error(device));
  if (!status) status = cvtm_cvt_create(device, domain, density, count, &cvt);
  if (!status) status = cvtm_cvt_optimize(cvt, &options, sites, count, NULL);
  cvtm_cvt_destroy(cvt);
  free(density);
  return status;
}

static cvtm_status run_side(cvtm_device *device, int side, const char *only) {
  job j = {.device = device, .domain = {side, side, 0}};
  j.count = (int64_t)side * side / PIXELS_PER_CELL;
  const size_t bytes = 2 * (size_t)j.count * sizeof(double);
  const int rounds = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU ? 1 : 10;
  double *sites = malloc(bytes);
  cvtm_status status = sites ? CVTM_OK : CVTM_ERROR_MEMORY;
  if (!status) status = relaxed_sites(device, j.domain, j.count, sites);
  if (!status) status = cvtm_device_allocate(device, 2 * j.count, CVTM_TYPED(j.sites));
  if (!status) status = cvtm_device_allocate(device, (int64_t)side * side, CVTM_TYPED(j.labels));
  if (!status) status = cvtm_voronoi_create(device, j.domain, j.count, &j.voronoi);
  if (!status) status = cvtm_device_copy_in(device, j.sites, sites, bytes);
  if (!status) printf("| %d^2 | %lld |", side, (long long)j.count);
  for (int kind = 0; kind < KINDS && !status; ++kind) {
    double milliseconds = 0;
    if (only && strcmp(only, kind_names[kind]) != 0) continue;
    status = measure_diagram(&j, kind, rounds, &milliseconds);
    printf(" %.3f |", milliseconds);
  }
  printf("\n");
  fflush(stdout);
  cvtm_voronoi_destroy(j.voronoi);
  cvtm_device_free(device, j.sites);
  cvtm_device_free(device, j.labels);
  free(sites);
  return status;
}

int main(int argc, char **argv) {
  const char *only = bench_text(argc, argv, "--method", NULL);
  const int one_side = (int)bench_integer(argc, argv, "--side");
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  printf("Device: %s (%s); milliseconds\n\n| image | sites |", cvtm_device_name(device),
         cvtm_device_description(device));
  for (int kind = 0; kind < KINDS; ++kind)
    if (!only || !strcmp(only, kind_names[kind])) printf(" %s |", kind_names[kind]);
  printf("\n");
  static const int sides[] = {1024, 2048, 4096, 8192, 16384};
  cvtm_status status = CVTM_OK;
  for (size_t k = 0; k < (one_side ? 1 : cpu ? 1 : sizeof sides / sizeof *sides) && !status; ++k)
    status = run_side(device, one_side ? one_side : sides[k], only);
  if (status) fprintf(stderr, "bench_voronoi: %s\n", cvtm_device_error(device)->message);
  cvtm_device_destroy(device);
  return status ? 1 : 0;
}
