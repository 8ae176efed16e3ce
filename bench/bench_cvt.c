/* CVT iterations at the image and site counts of Fei, Rong, Wang & Wang 2014, Table 2:
 * milliseconds per evaluation and per iteration of the optimiser alone. */
#include "bench/harness.h"
#include "cvt/cvt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct size_row {
  int side;
  int64_t sites;
  double paper_evaluation, paper_optimizer; /* ms on a GTX 580 */
} size_row;

static const size_row rows[] = {
    {512, 200, 2.39, 1.09},     {512, 500, 2.38, 1.13},     {1024, 1000, 8.70, 1.16},
    {1024, 2000, 8.76, 1.24},   {1024, 4000, 8.85, 1.33},   {2048, 4000, 41.38, 1.40},
    {2048, 6000, 41.84, 1.53},  {2048, 8000, 41.87, 1.60},  {2048, 10000, 41.92, 1.71},
    {2048, 20000, 42.43, 2.19}, {2048, 40000, 43.96, 3.18}, {2048, 60000, 44.97, 4.06},
};

typedef struct timing {
  double evaluation, optimizer, ratio; /* ms, ms, energy over the bound */
} timing;

static cvtm_status measure_energies(cvtm_device *device, const size_row *row,
                                    cvtm_cvt_energy energy, timing *out) {
  const cvtm_domain domain = {row->side, row->side, 0};
  const size_t pixels = (size_t)row->side * (size_t)row->side;
  float *density = malloc(pixels * sizeof *density);
  double *sites = malloc(2 * (size_t)row->sites * sizeof *sites);
  cvtm_cvt *cvt = NULL;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = density && sites ? CVTM_OK : CVTM_ERROR_MEMORY;
  if (!status) {
    for (size_t k = 0; k < pixels; k++) density[k] = 1.0F;
    status = cvtm_cvt_sample(domain, density, row->sites, 1, CVTM_CVT_START_RANDOM, sites, &error);
  }
  if (!status) status = cvtm_cvt_create(device, domain, density, row->sites, &cvt);

  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.energy = energy;
  options.tolerance = 0.0;
  cvtm_cvt_result result;
  /* The first run relaxes the sites and warms the device, the second is measured. */
  for (int run = 0; run < 2 && !status; run++) {
    options.max_iterations = run ? 100 : 50;
    options.lloyd_steps = run ? 0 : 5;
    status = cvtm_cvt_optimize(cvt, &options, sites, row->sites, &result);
  }
  double value = 0.0;
  if (!status) {
    status =
        cvtm_cvt_evaluate(cvt, sites, row->sites, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &value, NULL);
  }
  if (!status) {
    out->evaluation = 1e3 * result.seconds_evaluation / (double)result.evaluations;
    out->optimizer =
        1e3 * result.seconds_optimizer / (double)(result.iterations ? result.iterations : 1);
    out->ratio = value / cvtm_cvt_energy_bound(domain, density, row->sites);
  }
  cvtm_cvt_destroy(cvt);
  free(density);
  free(sites);
  return status;
}

int main(int argc, char **argv) {
  cvtm_device *device = bench_device(argc, argv, "auto");
  printf(
      "Device: %s (%s); milliseconds per evaluation, milliseconds of the optimiser per "
      "iteration\n\n",
      cvtm_device_name(device), cvtm_device_description(device));
  printf(
      "| image | sites | paper evaluation | paper optimiser | exact evaluation | optimiser | ratio "
      "| pixel evaluation | optimiser | ratio |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
    timing exact, pixel;
    if (measure_energies(device, &rows[k], CVTM_CVT_EXACT, &exact) ||
        measure_energies(device, &rows[k], CVTM_CVT_PIXEL, &pixel)) {
      fprintf(stderr, "bench_cvt: %s\n", cvtm_device_error(device)->message);
      cvtm_device_destroy(device);
      return 1;
    }
    printf("| %d^2 | %lld | %.2f | %.2f | %.3f | %.3f | %.4f | %.3f | %.3f | %.4f |\n",
           rows[k].side, (long long)rows[k].sites, rows[k].paper_evaluation,
           rows[k].paper_optimizer, exact.evaluation, exact.optimizer, exact.ratio,
           pixel.evaluation, pixel.optimizer, pixel.ratio);
    fflush(stdout);
  }
  cvtm_device_destroy(device);
  return 0;
}
