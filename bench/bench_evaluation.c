/* One evaluation of the CVT energy and gradient, from the positions of relaxed sites, as the
 * optimiser's loop on the device runs it; and the labels of the same sites. Beside the
 * times: the bytes that must be read and written at least (the density or the labels once,
 * the sites, the gradient), and what share of their time at the given bandwidth the
 * measured one is; and the exact evaluation without the hull construction. Usage:
 * bench_evaluation [--device NAME] [--all] [--side PIXELS] [--bandwidth GB/s]; --side takes the
 * images of that size alone. */
#include "bench/harness.h"
#include "cvt/evaluate_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct size_row {
  int side;
  int64_t sites;
} size_row;

static const size_row rows[] = {
    {1024, 4000}, {1024, 10000}, {2048, 20000}, {2048, 60000}, {8192, 671088}, {16384, 2684354},
};
enum { ROWS = sizeof rows / sizeof rows[0], SMALL_ROWS = 2, LLOYD_STEPS = 20 };

/* A loop of evaluations or of diagrams. */
typedef struct job {
  cvtm_device *device;
  cvtm_cvt *cvt;
  int64_t count;
  double *gradient;
  cvtm_voronoi *voronoi; /* not NULL: labels instead */
  cvtm_voronoi_method method;
  int32_t *labels;
  double *left; /* of bench_loop */
} job;

static cvtm_status run_once(void *context) {
  const job *j = context;
  cvtm_status status = CVTM_OK;
  if (j->voronoi) {
    status = cvtm_voronoi_compute(j->voronoi, j->cvt->sites, j->count, j->method, j->labels);
  } else {
    status = cvtm_site_tree_sort(j->cvt->tree, j->cvt->sites, j->count);
    if (!status) status = j->cvt->table->cell_moments(j->cvt, j->count);
    if (!status) status = j->cvt->table->finish(j->cvt, j->count, 0, j->cvt->value, j->gradient);
  }
  return status ? status : bench_end_round(j->device, j->left);
}

static cvtm_status measure_job(job *j, int rounds, double *milliseconds) {
  return bench_loop(j->device, run_once, j, j->left, rounds, milliseconds);
}

static cvtm_status relax_by_lloyd(cvtm_cvt *cvt, double *sites, int64_t count) {
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.method = CVTM_CVT_LLOYD;
  options.max_iterations = LLOYD_STEPS;
  options.tolerance = 0;
  return cvtm_cvt_optimize(cvt, &options, sites, count, NULL);
}

static cvtm_status print_evaluation_row(job *j, const size_row *row, int graded, double bandwidth) {
  const double pixels = (double)row->side * row->side;
  const int rounds = cvtm_device_get_kind(j->device) == CVTM_DEVICE_CPU ? 2 : 20;
  const double bytes = 4 * pixels + 32 * (double)row->sites;
  double exact = 0, clipped = 0, labels = 0, jfa = 0;
  cvtm_status status = measure_job(j, rounds, &exact);
  j->cvt->tree_clipping = 1;
  if (!status) status = measure_job(j, 2, &clipped);
  j->cvt->tree_clipping = 0;
  if (!status) status = cvtm_voronoi_create(j->device, j->cvt->domain, row->sites, &j->voronoi);
  j->method = CVTM_VORONOI_EXACT;
  if (!status) status = measure_job(j, rounds, &labels);
  j->method = CVTM_VORONOI_JFA;
  if (!status) status = measure_job(j, 2, &jfa);
  cvtm_voronoi_destroy(j->voronoi);
  j->voronoi = NULL;
  const double floor = 1e-6 * bytes / bandwidth;
  printf("| %d^2 | %lld | %s | %.4f | %.4f | %.0f | %.0f %% | %.3f | %.3f |\n", row->side,
         (long long)row->sites, graded ? "100:1" : "uniform", exact, clipped, 1e-6 * bytes,
         100 * floor / exact, labels, jfa);
  fflush(stdout);
  return status;
}

static cvtm_status run_row(cvtm_device *device, const size_row *row, int graded, double bandwidth) {
  const cvtm_domain domain = {row->side, row->side, 0};
  const int64_t pixels = (int64_t)row->side * row->side;
  float *density = malloc((size_t)pixels * sizeof *density);
  double *sites = malloc(2 * (size_t)row->sites * sizeof *sites);
  job j = {.device = device, .count = row->sites};
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = density && sites ? CVTM_OK : CVTM_ERROR_MEMORY;
  if (!status) {
    bench_density(row->side, graded, density);
    status =
        cvtm_cvt_sample(domain, density, row->sites, 1, CVTM_CVT_START_STRATIFIED, sites, &error);
  }
  if (!status) status = cvtm_cvt_create(device, domain, density, row->sites, &j.cvt);
  if (!status) status = relax_by_lloyd(j.cvt, sites, row->sites);
  if (!status) status = cvtm_device_allocate(device, 2 * row->sites, CVTM_TYPED(j.gradient));
  if (!status) status = cvtm_device_allocate(device, pixels, CVTM_TYPED(j.labels));
  if (!status) status = cvtm_device_allocate(device, 2, CVTM_TYPED(j.left));
  if (!status)
    status =
        cvtm_device_copy_in(device, j.cvt->sites, sites, 2 * (size_t)row->sites * sizeof *sites);
  if (!status) status = print_evaluation_row(&j, row, graded, bandwidth);
  cvtm_device_free(device, j.gradient);
  cvtm_device_free(device, j.labels);
  cvtm_device_free(device, j.left);
  cvtm_cvt_destroy(j.cvt);
  free(density);
  free(sites);
  return status;
}

int main(int argc, char **argv) {
  const int side = (int)bench_integer(argc, argv, "--side");
  double bandwidth = strtod(bench_text(argc, argv, "--bandwidth", "0"), NULL);
  int all = 0;
  for (int k = 1; k < argc; ++k)
    if (strcmp(argv[k], "--all") == 0) all = 1;
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  if (!(bandwidth > 0)) bandwidth = cpu ? 20 : 4300;
  printf("Device: %s (%s); milliseconds; floors at %.0f GB/s\n\n", cvtm_device_name(device),
         cvtm_device_description(device), bandwidth);
  printf(
      "| image | sites | density | exact | by tree clipping alone | MB | floor / exact "
      "| exact labels | jfa labels |\n|---|---|---|---|---|---|---|---|---|\n");
  cvtm_status status = CVTM_OK;
  const int count = all || side > 0 ? ROWS : cpu ? SMALL_ROWS : ROWS - 1;
  for (int k = 0; k < count && !status; ++k)
    for (int graded = 0; graded < 2 && !status && (side <= 0 || side == rows[k].side); ++graded)
      status = run_row(device, &rows[k], graded, bandwidth);
  if (status) fprintf(stderr, "bench_evaluation: %s\n", cvtm_device_error(device)->message);
  cvtm_device_destroy(device);
  return status ? 1 : 0;
}
