/* Tessellations of a uniform density and of one of 100:1, as tables:
 * evaluation  milliseconds of an evaluation of energy and gradient at relaxed sites, in a loop on
 *             the device; the bytes that must be read and written at least (the density once, sites
 *             and gradient), and what share of the time they take at the given bandwidth
 * optimizer   milliseconds of an evaluation and of the optimiser in an iteration
 * solve       whole runs from a plan to the end, by default effort; milliseconds
 * equal-mass  a power diagram with integrals and couplings, a step of conjugate gradients in its
 *             Newton systems; whole runs at default tolerances, in seconds
 * Usage: bench_cvt [--device NAME] [--what TABLE] [--side PIXELS] [--bandwidth GB/s]; --side takes
 * the images of that size alone. */
#include "tests/bench/harness.h"
#include "cvt/evaluate_kernels.h"
#include "cvt/equal_mass/balance.h"
#include "cvt/equal_mass.h"

typedef struct size_row {
  int side;
  int64_t sites;
} size_row;

static const size_row rows[] = {{256, 1000},     {512, 5000},     {512, 10000},   {1024, 4000},
                                {1024, 10000},   {2048, 60000},   {4096, 250000}, {8192, 671088},
                                {8192, 1000000}, {16384, 2684354}};
enum { ROWS = sizeof rows / sizeof rows[0], SMALL_ROWS = 5, LLOYD_STEPS = 20 };

/* A row of a table. */
typedef struct job {
  cvtm_device *device;
  cvtm_domain domain;
  int64_t count;
  float *density;         /* these three in host memory */
  double *sites, *weight; /* 2 * count, count */
  cvtm_cvt *cvt;
  double bandwidth, planned; /* GB/s; milliseconds of cvtm_cvt_create */
  double *gradient, *left;   /* device memory; left: of bench_loop */
} job;

/* --- evaluation ------------------------------------------------------------------------------- */

static cvtm_status evaluate_once(void *context) {
  const job *j = context;
  cvtm_status status = cvtm_site_tree_sort(j->cvt->tree, j->cvt->sites, j->count);
  if (!status) status = j->cvt->table->cell_moments(j->cvt, j->count);
  if (!status) status = j->cvt->table->finish(j->cvt, j->count, 0, j->cvt->value, j->gradient);
  return status ? status : bench_end_round(j->device, j->left);
}

static void measure_evaluation(job *j) {
  const int rounds = cvtm_device_get_kind(j->device) == CVTM_DEVICE_CPU ? 2 : 20;
  const double bytes = 4.0 * j->domain.width * j->domain.height + 32 * (double)j->count;
  const double floor = 1e-6 * bytes / j->bandwidth;
  double milliseconds = 0;
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.method = CVTM_CVT_LLOYD;
  options.max_iterations = LLOYD_STEPS;
  options.tolerance = 0;
  bench_check(j->device, cvtm_cvt_optimize(j->cvt, &options, j->sites, j->count, NULL));
  bench_check(j->device, cvtm_device_copy_in(j->device, j->cvt->sites, j->sites,
                                             2 * (size_t)j->count * sizeof *j->sites));
  j->gradient = bench_doubles(j->device, 2 * j->count);
  j->left = bench_doubles(j->device, 2);
  bench_check(j->device, bench_loop(j->device, evaluate_once, j, j->left, rounds, &milliseconds));
  printf(" %.4f | %.0f | %.0f %% |\n", milliseconds, 1e-6 * bytes, 100 * floor / milliseconds);
  cvtm_device_free(j->device, j->gradient);
  cvtm_device_free(j->device, j->left);
}

/* --- optimiser -------------------------------------------------------------------------------- */

/* The first run relaxes the sites and warms the device, the second is measured. */
static void measure_optimizer(job *j) {
  const double bound = cvtm_cvt_energy_bound(j->domain, j->density, j->count);
  for (int k = 0; k < 2; ++k) {
    cvtm_cvt_options options;
    cvtm_cvt_result result;
    double value = 0;
    cvtm_cvt_defaults(&options);
    options.energy = k == 0 ? CVTM_CVT_EXACT : CVTM_CVT_PIXEL;
    options.tolerance = 0;
    options.max_iterations = 50;
    bench_check(j->device, cvtm_cvt_optimize(j->cvt, &options, j->sites, j->count, &result));
    options.max_iterations = 100;
    options.lloyd_steps = 0;
    bench_check(j->device, cvtm_cvt_optimize(j->cvt, &options, j->sites, j->count, &result));
    bench_check(j->device, cvtm_cvt_evaluate(j->cvt, j->sites, j->count, CVTM_CVT_EXACT,
                                             CVTM_VORONOI_EXACT, &value, NULL));
    printf(" %.3f | %.3f | %.4f |", 1e3 * result.seconds_evaluation / (double)result.evaluations,
           1e3 * result.seconds_optimizer / fmax((double)result.iterations, 1), value / bound);
  }
  printf("\n");
}

/* --- whole runs ------------------------------------------------------------------------------- */

/* Twice, of which the second is printed: the first also loads what the device runs. */
static void measure_solve(job *j) {
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  double start = 0;
  cvtm_cvt_defaults(&options);
  for (int turn = 0; turn < 2; ++turn) {
    start = cvtm_clock();
    bench_check(j->device, cvtm_cvt_solve(j->cvt, &options, 0, j->sites, j->count, &result));
  }
  printf(" %.1f | %.1f | %lld + %lld | %lld | %.5f | %s |\n", j->planned,
         1e3 * (cvtm_clock() - start), (long long)result.coarse_iterations,
         (long long)result.iterations, (long long)result.evaluations,
         result.objective / cvtm_cvt_energy_bound(j->domain, j->density, j->count),
         cvtm_stop_name(result.stop));
}

/* Milliseconds of a diagram of the plan's sites, and of a step of conjugate gradients. */
static void measure_phases(const job *j, double *diagram, double *step) {
  enum { ROUNDS = 20, STEPS = 50 };
  cvtm_power *p = NULL;
  int32_t iterations = 1;
  double start = 0;
  bench_check(j->device, cvtm_power_create(j->cvt, j->count, &p));
  bench_check(j->device, cvtm_site_tree_build(j->cvt->tree, j->cvt->sites, j->count));
  for (int k = -1; k < ROUNDS; ++k) {
    if (k == 0) bench_check(j->device, cvtm_device_synchronize(j->device));
    if (k == 0) start = cvtm_clock();
    bench_check(j->device, cvtm_power_enqueue(p, p->weight));
  }
  bench_check(j->device, cvtm_device_synchronize(j->device));
  *diagram = 1e3 * (cvtm_clock() - start) / ROUNDS;
  bench_check(j->device, cvtm_power_solve(p, 0, 1, &iterations)); /* builds the hierarchy */
  start = cvtm_clock();
  bench_check(j->device, cvtm_power_solve(p, 0, STEPS, &iterations));
  bench_check(j->device, cvtm_device_synchronize(j->device));
  *step = 1e3 * (cvtm_clock() - start) / fmax(iterations, 1);
  cvtm_power_destroy(p);
}

static void measure_equal_mass(job *j) {
  double diagram, step;
  cvtm_cvt_options options;
  cvtm_equal_mass_result r = {0};
  cvtm_cvt_defaults(&options);
  bench_check(j->device, cvtm_equal_mass_solve(j->cvt, &options, 1e-6, 0, j->sites, j->weight,
                                               j->count, NULL, &r));
  measure_phases(j, &diagram, &step);
  printf(" %.3f | %.4f | %lld | %lld | %lld | %lld | %.5f | %.0e | %.2f | %.2f | %.2f | %.2f |\n",
         diagram, step, (long long)r.descent.iterations, (long long)r.diagrams,
         (long long)r.newton_steps, (long long)r.solver_iterations,
         r.descent.objective / cvtm_equal_mass_bound(j->domain, j->density, j->count), r.deviation,
         r.seconds_start, r.seconds_diagrams, r.seconds_solver, r.descent.seconds);
}

/* --- all -------------------------------------------------------------------------------------- */

static const struct table {
  const char *name;
  void (*measure)(job *j);
  const char *columns;
} tables[] = {
    {"evaluation", measure_evaluation, " ms | MB | floor / ms |"},
    {"optimizer", measure_optimizer,
     " exact evaluation | optimiser | ratio | pixel evaluation | optimiser | ratio |"},
    {"solve", measure_solve,
     " plan | run | iterations, coarse + fine | evaluations | ratio | stop |"},
    {"equal-mass", measure_equal_mass,
     " diagram, ms | CG step, ms | iterations | diagrams | Newton steps | CG steps | energy ratio "
     "| deviation | start, s | diagrams, s | systems, s | total, s |"}};
enum { TABLES = sizeof tables / sizeof tables[0] };

static void measure_row(const struct table *t, cvtm_device *device, const size_row *row, int graded,
                        double bandwidth) {
  job j = {.device = device,
           .domain = {row->side, row->side, 0},
           .count = row->sites,
           .bandwidth = bandwidth};
  j.density = malloc((size_t)row->side * (size_t)row->side * sizeof *j.density);
  j.sites = malloc(2 * (size_t)row->sites * sizeof *j.sites);
  j.weight = malloc((size_t)row->sites * sizeof *j.weight);
  if (!j.density || !j.sites || !j.weight) exit(1);
  bench_density(row->side, graded, j.density);
  bench_check(device, cvtm_cvt_sample(j.domain, j.density, row->sites, 1, CVTM_CVT_START_STRATIFIED,
                                      j.sites, cvtm_device_error(device)));
  const double start = cvtm_clock();
  bench_check(device, cvtm_cvt_create(device, j.domain, j.density, row->sites, &j.cvt));
  j.planned = 1e3 * (cvtm_clock() - start);
  printf("| %d^2 | %lld | %s |", row->side, (long long)row->sites, graded ? "100:1" : "uniform");
  t->measure(&j);
  fflush(stdout);
  cvtm_cvt_destroy(j.cvt);
  free(j.density);
  free(j.sites);
  free(j.weight);
}

int main(int argc, char **argv) {
  const char *what = bench_text(argc, argv, "--what", NULL);
  const int side = (int)bench_integer(argc, argv, "--side");
  double bandwidth = strtod(bench_text(argc, argv, "--bandwidth", "0"), NULL);
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int cpu = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  if (!(bandwidth > 0)) bandwidth = cpu ? 20 : 4300;
  printf("Device: %s (%s); milliseconds; floors at %.0f GB/s\n", cvtm_device_name(device),
         cvtm_device_description(device), bandwidth);
  for (int t = 0; t < TABLES; ++t) {
    if (what && strcmp(what, tables[t].name) != 0) continue;
    printf("\n%s\n\n| image | sites | density |%s\n|---|---|---|", tables[t].name,
           tables[t].columns);
    for (const char *c = strchr(tables[t].columns, '|'); c; c = strchr(c + 1, '|')) printf("---|");
    printf("\n");
    for (int k = 0; k < (cpu && side == 0 ? SMALL_ROWS : ROWS); ++k)
      for (int graded = 0; graded < 2 && (side == 0 || side == rows[k].side); ++graded)
        measure_row(&tables[t], device, &rows[k], graded, bandwidth);
  }
  cvtm_device_destroy(device);
  return 0;
}
