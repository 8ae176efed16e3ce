/* Cells of equal mass. Of sites relaxed in a plain CVT of the squared density: one power diagram
 * with its integrals and couplings, and a step of conjugate gradients in its Newton systems. Of
 * the whole run, from a density to balanced masses at the default tolerances: time, and what it
 * consists of. Usage: bench_equal_mass [--device NAME] [--side PIXELS]; --side takes the images of
 * that size alone. */
#include "base/clock.h"
#include "base/primitives.h"
#include "bench/harness.h"
#include "cvt/descent.h"
#include "power/equal_mass.h"
#include "power/balance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct size_row {
  int side;
  int64_t sites;
} size_row;

static const size_row rows[] = {
    {256, 1000}, {512, 10000}, {2048, 60000}, {4096, 250000}, {8192, 1000000}};
enum { ROWS = sizeof rows / sizeof rows[0], SMALL_ROWS = 1 };

/* Milliseconds of a diagram of the plan's sites, and of a step of conjugate gradients. */
static cvtm_status measure_phases(cvtm_cvt *cvt, int64_t count, double *diagram, double *step) {
  enum { ROUNDS = 20, STEPS = 50 };
  cvtm_power *p = NULL;
  int32_t iterations = 1;
  cvtm_status status = cvtm_power_create(cvt, count, &p);
  if (!status) status = cvtm_site_tree_build(cvt->tree, cvt->sites, count);
  double start = 0;
  for (int k = -1; k < ROUNDS && !status; ++k) {
    if (k == 0) status = cvtm_device_synchronize(cvt->device);
    if (k == 0) start = cvtm_clock();
    if (!status) status = cvtm_power_enqueue(p, p->weight);
  }
  if (!status) status = cvtm_device_synchronize(cvt->device);
  *diagram = 1e3 * (cvtm_clock() - start) / ROUNDS;
  if (!status) status = cvtm_power_solve(p, 0, 1, &iterations); /* builds the hierarchy */
  start = cvtm_clock();
  if (!status) status = cvtm_power_solve(p, 0, STEPS, &iterations);
  if (!status) status = cvtm_device_synchronize(cvt->device);
  *step = 1e3 * (cvtm_clock() - start) / fmax(iterations, 1);
  cvtm_power_destroy(p);
  return status;
}

static cvtm_status print_equal_mass_row(cvtm_cvt *cvt, const float *density, const size_row *row,
                                        int graded, double *sites, double *weights) {
  const cvtm_domain domain = {row->side, row->side, 0};
  const double bound = cvtm_equal_mass_bound(domain, density, row->sites);
  double diagram = 0, step = 0;
  cvtm_cvt_options options;
  cvtm_equal_mass_result r = {0};
  cvtm_cvt_defaults(&options);
  cvtm_status status =
      cvtm_equal_mass_solve(cvt, &options, 1e-6, 0, sites, weights, row->sites, NULL, &r);
  if (!status) status = measure_phases(cvt, row->sites, &diagram, &step);
  printf(
      "| %d^2 | %lld | %s | %.3f | %.4f | %lld | %lld | %lld | %lld | %.5f | %.0e | %.2f | %.2f "
      "| %.2f | %.2f |\n",
      row->side, (long long)row->sites, graded ? "100:1" : "uniform", diagram, step,
      (long long)r.descent.iterations, (long long)r.diagrams, (long long)r.newton_steps,
      (long long)r.solver_iterations, r.descent.objective / bound, r.deviation, r.seconds_start,
      r.seconds_diagrams, r.seconds_solver, r.descent.seconds);
  fflush(stdout);
  return status;
}

static cvtm_status run_row(cvtm_device *device, const size_row *row, int graded) {
  const cvtm_domain domain = {row->side, row->side, 0};
  float *density = malloc((size_t)row->side * (size_t)row->side * sizeof *density);
  double *sites = malloc(2 * (size_t)row->sites * sizeof *sites);
  double *weights = malloc((size_t)row->sites * sizeof *weights);
  cvtm_cvt *cvt = NULL;
  cvtm_status status = density && sites && weights ? CVTM_OK : CVTM_ERROR_MEMORY;
  if (!status) bench_density(row->side, graded, density);
  if (!status) status = cvtm_cvt_create(device, domain, density, row->sites, &cvt);
  if (!status) status = print_equal_mass_row(cvt, density, row, graded, sites, weights);
  cvtm_cvt_destroy(cvt);
  free(density);
  free(sites);
  free(weights);
  return status;
}

int main(int argc, char **argv) {
  const int side = (int)bench_integer(argc, argv, "--side");
  cvtm_device *device = bench_device(argc, argv, "cpu");
  cvtm_status status = CVTM_OK;
  printf(
      "%s (%s)\n\n| image | sites | density | diagram, ms | CG step, ms | iterations | diagrams | "
      "Newton steps | CG steps | energy ratio | deviation | start, s | diagrams, s | systems, s "
      "| total, s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      cvtm_device_name(device), cvtm_device_description(device));
  const int some = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU && side == 0;
  for (int k = 0; k < (some ? SMALL_ROWS : ROWS) && !status; ++k)
    for (int graded = 0; graded < 2 && !status; ++graded)
      if (side == 0 || rows[k].side == side) status = run_row(device, &rows[k], graded);
  if (status) fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  cvtm_device_destroy(device);
  return status != CVTM_OK;
}
