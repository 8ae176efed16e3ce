/* Discrete Voronoi diagrams of relaxed sites, 100 pixels per cell: milliseconds from positions to
 * labels by every method. Usage: bench_voronoi [--device NAME] [--side N] [--method NAME] */
#include "tests/bench/harness.h"
#include "cvt/cvt.h"
#include "jfa/jfa.h"

enum { PIXELS_PER_CELL = 100, LLOYD_STEPS = 20 };

static const char *const method_names[] = {
#define METHOD_NAME(code, name) [code] = (name),
    CVTM_VORONOI_LIST(METHOD_NAME)
#undef METHOD_NAME
};
enum { METHODS = sizeof method_names / sizeof method_names[0] };

/* Sites of one size, and what their diagrams need. */
typedef struct job {
  cvtm_device *device;
  cvtm_domain domain;
  int64_t count;
  cvtm_voronoi *voronoi;
  double *sites;
  int32_t *labels;
} job;

/* Milliseconds of one diagram, the best of three times `rounds` in a row. */
static double measure_diagram(const job *j, cvtm_voronoi_method method, int rounds) {
  double best = INFINITY;
  for (int k = 0; k < 4; ++k) { /* the first to warm up */
    const double start = cvtm_clock();
    for (int round = 0; round < rounds; ++round)
      bench_check(j->device,
                  cvtm_voronoi_compute(j->voronoi, j->sites, j->count, method, j->labels));
    bench_check(j->device, cvtm_device_synchronize(j->device));
    if (k > 0) best = fmin(best, 1e3 * (cvtm_clock() - start) / rounds);
  }
  return best;
}

static void relax_sites(const job *j, double *sites) {
  float *density = malloc((size_t)j->domain.width * (size_t)j->domain.height * sizeof *density);
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.method = CVTM_CVT_LLOYD;
  options.max_iterations = LLOYD_STEPS;
  options.tolerance = 0;
  if (!density) exit(1);
  bench_density(j->domain.width, 0, density);
  bench_check(j->device, cvtm_cvt_sample(j->domain, density, j->count, 1, CVTM_CVT_START_STRATIFIED,
                                         sites, cvtm_device_error(j->device)));
  bench_check(j->device, cvtm_cvt_create(j->device, j->domain, density, j->count, &cvt));
  bench_check(j->device, cvtm_cvt_optimize(cvt, &options, sites, j->count, NULL));
  cvtm_cvt_destroy(cvt);
  free(density);
}

static void run_side(cvtm_device *device, int side, const char *only) {
  job j = {.device = device, .domain = {side, side, 0}};
  j.count = (int64_t)side * side / PIXELS_PER_CELL;
  const int rounds = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU ? 1 : 10;
  double *sites = malloc(2 * (size_t)j.count * sizeof *sites);
  if (!sites) exit(1);
  relax_sites(&j, sites);
  j.sites = bench_copied(device, sites, 2 * j.count);
  bench_check(device, cvtm_device_allocate(device, (int64_t)side * side, CVTM_TYPED(j.labels)));
  bench_check(device, cvtm_voronoi_create(device, j.domain, j.count, &j.voronoi));
  printf("| %d^2 | %lld |", side, (long long)j.count);
  for (int k = 0; k < METHODS; ++k)
    if (!only || strcmp(only, method_names[k]) == 0)
      printf(" %.3f |", measure_diagram(&j, (cvtm_voronoi_method)k, rounds));
  printf("\n");
  fflush(stdout);
  cvtm_voronoi_destroy(j.voronoi);
  cvtm_device_free(device, j.sites);
  cvtm_device_free(device, j.labels);
  free(sites);
}

int main(int argc, char **argv) {
  const char *only = bench_text(argc, argv, "--method", NULL);
  const int one_side = (int)bench_integer(argc, argv, "--side");
  static const int sides[] = {1024, 2048, 4096, 8192, 16384};
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  printf("Device: %s (%s); milliseconds\n\n| image | sites |", cvtm_device_name(device),
         cvtm_device_description(device));
  for (int k = 0; k < METHODS; ++k)
    if (!only || strcmp(only, method_names[k]) == 0) printf(" %s |", method_names[k]);
  printf("\n");
  for (size_t k = 0; k < (one_side || cpu ? 1 : sizeof sides / sizeof *sides); ++k)
    run_side(device, one_side ? one_side : sides[k], only);
  cvtm_device_destroy(device);
  return 0;
}
