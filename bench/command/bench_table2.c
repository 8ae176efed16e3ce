/* cvtmesh bench table2, figure7 and figure8: CVTs with the optimiser on the CPU, which exchanges
 * sites and gradients with the device, and with everything on the device. */
#include "base/clock.h"
#include "bench/command/bench.h"
#include "cli/cli.h"
#include "cvt/cvt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITERATIONS = 1000, FIGURE7_SIDE = 2048, FIGURE7_SITES = 20000 };

/* Milliseconds an iteration of the paper's two programs, I/O within the CPU's. */
typedef struct paper_row {
  int side;
  int64_t sites;
  double evaluation;
  int cpu_iterations;
  double cpu_optimizer, io;
  int gpu_iterations;
  double gpu_optimizer;
} paper_row;

static const paper_row paper[] = {
    {512, 200, 2.39, 53, 0.65, 0.38, 59, 1.09},
    {512, 500, 2.38, 56, 1.02, 0.38, 56, 1.13},
    {1024, 1000, 8.70, 74, 1.81, 0.51, 74, 1.16},
    {1024, 2000, 8.76, 61, 3.37, 0.74, 61, 1.24},
    {1024, 4000, 8.85, 48, 6.21, 1.12, 48, 1.33},
    {2048, 4000, 41.38, 106, 6.51, 1.18, 106, 1.40},
    {2048, 6000, 41.84, 89, 11.2, 1.53, 71, 1.53},
    {2048, 8000, 41.87, 76, 12.61, 1.92, 72, 1.60},
    {2048, 10000, 41.92, 69, 15.48, 2.27, 69, 1.71},
    {2048, 20000, 42.43, 45, 30.09, 4.05, 55, 2.19},
    {2048, 40000, 43.96, 34, 74.18, 9.19, 34, 3.18},
    {2048, 60000, 44.97, 28, 112.07, 12.81, 28, 4.06},
};

enum { ROWS = sizeof paper / sizeof paper[0] };

/* One run; times are seconds of all iterations. */
typedef struct pace {
  int64_t iterations, evaluations;
  double evaluation, io, optimizer;
  double energy[MOST_ITERATIONS + 1];
} pace;

/* A start and a plan, evaluated on the plan's device. */
typedef struct study {
  cvtm_device *device, *cpu;
  const cli_options *options;
  cvtm_cvt *cvt;
  int side;
  int64_t sites;
  double *start, *work; /* 2 * sites, 12 * sites */
} study;

static double limit_of(const study *s) {
  return s->options->time_limit > 0 ? cvtm_clock() + s->options->time_limit : HUGE_VAL;
}

static int64_t iterations_of(const study *s) {
  const int64_t wanted = cli_option_given(s->options, "iterations") ? s->options->iterations : 0;
  return wanted > 0 && wanted < MOST_ITERATIONS ? wanted : MOST_ITERATIONS;
}

/* --- the optimiser on the CPU --------------------------------------------------------- */

/* Value and gradient of the pixel energy on the host, and the seconds that took. */
static cvtm_status evaluate(const study *s, const cvtm_lbfgsb_evaluation *at, pace *p) {
  double *mass = s->work + 6 * s->sites, *centroid = mass + s->sites;
  const cvtm_cvt_moments moments = {mass, centroid, NULL};
  const double before = cvtm_clock();
  const cvtm_status status = cvtm_cvt_evaluate(s->cvt, at->x, s->sites, CVTM_CVT_PIXEL,
                                               CVTM_VORONOI_EXACT, at->f, &moments);
  for (int64_t i = 0; i < 2 * s->sites && status == CVTM_OK; ++i)
    at->g[i] = 2 * mass[i / 2] * (at->x[i] - centroid[i]);
  p->evaluation += cvtm_clock() - before;
  ++p->evaluations;
  return status;
}

typedef struct watcher {
  pace *out;
  double deadline;
} watcher;

static void record(pace *p, int64_t iteration, double energy) {
  if (iteration > MOST_ITERATIONS) return;
  p->energy[iteration] = energy;
  p->iterations = iteration;
}

/* True until f stops decreasing, as in the paper, or a limit is reached. */
static int goes_on(const watcher *w) {
  const int64_t k = w->out->iterations;
  return (k == 0 || w->out->energy[k] < w->out->energy[k - 1]) && cvtm_clock() < w->deadline;
}

static int watch_optimizer(void *context, const cvtm_lbfgsb_progress *progress) {
  const watcher *w = context;
  record(w->out, progress->iteration, progress->f);
  return !goes_on(w);
}

static int watch_device(void *context, const cvtm_cvt_record *r) {
  const watcher *w = context;
  record(w->out, r->iteration, r->energy);
  return !goes_on(w);
}

/* Scales the variables as on the device, by the masses of the first cells. */
static cvtm_status set_scaling(const study *s, cvtm_lbfgsb *solver) {
  double *scale = s->work + 6 * s->sites, *mass = scale + 2 * s->sites;
  const cvtm_cvt_moments moments = {mass, NULL, NULL};
  const cvtm_status status = cvtm_cvt_evaluate(s->cvt, s->start, s->sites, CVTM_CVT_PIXEL,
                                               CVTM_VORONOI_EXACT, NULL, &moments);
  const double mean = (double)s->side * s->side / (double)s->sites;
  for (int64_t i = 0; i < s->sites; ++i)
    scale[2 * i] = scale[2 * i + 1] = 1 / sqrt(2 * (mass[i] > 0 ? mass[i] : mean));
  return status == CVTM_OK ? cvtm_lbfgsb_set_scaling(solver, scale) : status;
}

static cvtm_status run_rounds(const study *s, cvtm_lbfgsb *solver, pace *p) {
  const int64_t n = 2 * s->sites;
  double *lower = s->work, *upper = s->work + n, *x = s->work + 2 * n;
  for (int64_t k = 0; k < n; ++k) {
    lower[k] = 0;
    upper[k] = s->side;
    x[k] = s->start[k];
  }
  cvtm_lbfgsb_evaluation at;
  int running = 1;
  cvtm_status status = cvtm_lbfgsb_set_bounds(solver, lower, upper);
  if (status == CVTM_OK) status = set_scaling(s, solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_start(solver, x, &at);
  while (status == CVTM_OK && running) {
    status = evaluate(s, &at, p);
    if (status == CVTM_OK) status = cvtm_lbfgsb_advance(solver, &running);
  }
  return status;
}

/* alone: seconds of an evaluation without the transfer of data. */
static cvtm_status run_on_cpu(const study *s, double alone, pace *p) {
  watcher w = {p, limit_of(s)};
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb *solver = NULL;
  memset(p, 0, sizeof *p);
  cvtm_lbfgsb_defaults(&options);
  options.max_iterations = iterations_of(s);
  options.monitor = watch_optimizer;
  options.monitor_context = &w;
  cvtm_status status = cvtm_lbfgsb_create(s->cpu, 2 * s->sites, &options, &solver);
  const double before = cvtm_clock();
  if (status == CVTM_OK) status = run_rounds(s, solver, p);
  p->optimizer = cvtm_clock() - before - p->evaluation;
  const double evaluations = alone * (double)p->evaluations;
  p->io = fmax(p->evaluation - evaluations, 0);
  p->evaluation -= p->io;
  cvtm_lbfgsb_destroy(solver);
  return status;
}

/* --- everything on the device --------------------------------------------------------- */

static cvtm_status run_on_device(const study *s, cvtm_cvt_energy energy, pace *p) {
  watcher w = {p, limit_of(s)};
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  memset(p, 0, sizeof *p);
  cvtm_cvt_defaults(&options);
  options.energy = energy;
  options.tolerance = 0;
  options.lloyd_steps = 0;
  options.max_iterations = iterations_of(s);
  options.monitor = watch_device;
  options.monitor_context = &w;
  memcpy(s->work, s->start, 2 * (size_t)s->sites * sizeof *s->work);
  const cvtm_status status = cvtm_cvt_optimize(s->cvt, &options, s->work, s->sites, &result);
  if (status != CVTM_OK) return status;
  p->evaluations = result.evaluations;
  p->evaluation = result.seconds_evaluation;
  p->optimizer = result.seconds_optimizer;
  return CVTM_OK;
}

/* --- rows ------------------------------------------------------------------------------ */

static cvtm_status prepare(study *s) {
  const cvtm_domain domain = {s->side, s->side, 0};
  const size_t pixels = (size_t)s->side * (size_t)s->side;
  cvtm_error *error = cvtm_device_error(s->device);
  float *density = malloc(pixels * sizeof *density);
  s->start = malloc(2 * (size_t)s->sites * sizeof *s->start);
  s->work = malloc(12 * (size_t)s->sites * sizeof *s->work);
  cvtm_status status = CVTM_OK;
  if (density == NULL || s->start == NULL || s->work == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (size_t k = 0; k < pixels && status == CVTM_OK; ++k) density[k] = 1;
  if (status == CVTM_OK)
    status = cvtm_cvt_sample(domain, density, s->sites, 1, CVTM_CVT_START_RANDOM, s->start, error);
  if (status == CVTM_OK) status = cvtm_cvt_create(s->device, domain, density, s->sites, &s->cvt);
  free(density);
  return status;
}

static void release(study *s) {
  cvtm_cvt_destroy(s->cvt);
  free(s->start);
  free(s->work);
}

typedef struct ways {
  pace cpu, pixel,
      exact; /* optimiser on the CPU; on the device with the pixel and with the exact energy */
} ways;

/* The first run on the device also loads the kernels, so the time of an evaluation is taken from
 * the second. */
static cvtm_status compare(cvtm_device *device, const cli_options *options, int side, int64_t sites,
                           ways *out) {
  study s = {.device = device, .options = options, .side = side, .sites = sites};
  cvtm_status status =
      cvtm_device_create("cpu", (int)options->threads, &s.cpu, cvtm_device_error(device));
  if (status == CVTM_OK) status = prepare(&s);
  const int warm = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  for (int turn = 0; turn <= warm && status == CVTM_OK; ++turn)
    status = run_on_device(&s, CVTM_CVT_PIXEL, &out->pixel);
  if (status == CVTM_OK) status = run_on_device(&s, CVTM_CVT_EXACT, &out->exact);
  if (status == CVTM_OK)
    status = run_on_cpu(&s, out->pixel.evaluation / (double)out->pixel.evaluations, &out->cpu);
  release(&s);
  cvtm_device_destroy(s.cpu);
  return status;
}

static double per_iteration(const pace *p, double seconds) {
  return 1e3 * seconds / (double)(p->iterations > 0 ? p->iterations : 1);
}

static double per_evaluation(const pace *p) {
  return 1e3 * p->evaluation / (double)(p->evaluations > 0 ? p->evaluations : 1);
}

static double total_of(const pace *p) {
  return per_iteration(p, p->evaluation + p->io + p->optimizer);
}

/* The optimiser's share of an iteration on the device is too small to be told by subtracting
 * evaluations, so whole iterations are compared. */
static void print_table2_row(const paper_row *row, const ways *w) {
  const double cpu = row->evaluation + row->cpu_optimizer;
  const double gpu = row->evaluation + row->gpu_optimizer;
  const double first = w->pixel.energy[w->pixel.iterations],
               second = w->cpu.energy[w->cpu.iterations];
  printf(
      "| %lld in %d^2 | %.3f (%.2f) | %lld (%d) | %.2f (%.2f) | %.3f (%.2f) | %.2f (%.2f) | "
      "%lld (%d) | %.3f (%.2f) | %.1f (%.1f) | %.1e | %.3f |\n",
      (long long)row->sites, row->side, per_evaluation(&w->pixel), row->evaluation,
      (long long)w->cpu.iterations, row->cpu_iterations,
      per_iteration(&w->cpu, w->cpu.optimizer + w->cpu.io), row->cpu_optimizer,
      per_iteration(&w->cpu, w->cpu.io), row->io, total_of(&w->cpu), cpu,
      (long long)w->pixel.iterations, row->gpu_iterations, total_of(&w->pixel), gpu,
      total_of(&w->cpu) / total_of(&w->pixel), cpu / gpu, (first - second) / second,
      total_of(&w->exact));
}

cvtm_status cli_bench_table2(cvtm_device *device, const cli_options *options) {
  printf(
      "| sites | evaluation | CPU: itr | L-BFGS-B | of it I/O | iteration | device: itr | "
      "iteration | faster by | energy difference | exact energy: iteration |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int k = 0; k < ROWS; ++k) {
    ways w;
    if (options->size_limit > 0 && paper[k].sites > options->size_limit) continue;
    const cvtm_status status = compare(device, options, paper[k].side, paper[k].sites, &w);
    if (status != CVTM_OK) return status;
    print_table2_row(&paper[k], &w);
    fflush(stdout);
  }
  printf(
      "\nMilliseconds: of an evaluation (value and gradient of the pixel energy), of the\n"
      "optimiser in an iteration, and of a whole iteration; in brackets the paper's. CPU: "
      "evaluated\n"
      "on the device, optimised on the CPU; I/O is what such an evaluation takes longer than one\n"
      "on its own.\n"
      "Uniform density, random start, until the energy does not fall. The difference is\n"
      "relative: runs of different length end in different minima.\n");
  return CVTM_OK;
}

cvtm_status cli_bench_figure8(cvtm_device *device, const cli_options *options) {
  printf(
      "| sites | optimiser on the CPU | on the device | faster by | exact energy, on the device "
      "|\n|---|---|---|---|---|\n");
  for (int k = 0; k < ROWS; ++k) {
    const paper_row *row = &paper[k];
    ways w;
    if (options->size_limit > 0 && row->sites > options->size_limit) continue;
    const cvtm_status status = compare(device, options, row->side, row->sites, &w);
    if (status != CVTM_OK) return status;
    const double cpu = row->evaluation + row->cpu_optimizer;
    const double gpu = row->evaluation + row->gpu_optimizer;
    printf("| %lld in %d^2 | %.3f (%.2f) | %.3f (%.2f) | %.1f (%.1f) | %.3f |\n",
           (long long)row->sites, row->side, total_of(&w.cpu), cpu, total_of(&w.pixel), gpu,
           total_of(&w.cpu) / total_of(&w.pixel), cpu / gpu, total_of(&w.exact));
    fflush(stdout);
  }
  printf(
      "\nMilliseconds of a whole iteration, pixel energy; in brackets the paper's, read from\n"
      "its Table 2.\n");
  return CVTM_OK;
}

/* --- Figure 7 -------------------------------------------------------------------------- */

static double energy_at(const pace *p, int64_t iteration) {
  return p->energy[iteration < p->iterations ? iteration : p->iterations];
}

cvtm_status cli_bench_figure7(cvtm_device *device, const cli_options *options) {
  ways w;
  const int64_t limit = options->size_limit, most = FIGURE7_SITES;
  const int64_t sites = limit > 0 && limit < most ? limit : most;
  const cvtm_status status = compare(device, options, FIGURE7_SIDE, sites, &w);
  if (status != CVTM_OK) return status;
  const int64_t last =
      w.cpu.iterations > w.pixel.iterations ? w.cpu.iterations : w.pixel.iterations;
  printf("| iteration | optimiser on the CPU | on the device | difference |\n|---|---|---|---|\n");
  for (int64_t k = 0; k <= last; k += k < 10 ? 1 : k < 50 ? 5 : 25) {
    const double cpu = energy_at(&w.cpu, k), own = energy_at(&w.pixel, k);
    printf("| %lld | %.8g | %.8g | %.1e |\n", (long long)k, cpu, own, (own - cpu) / cpu);
  }
  printf(
      "\nPixel energy of %lld sites in %d^2, uniform density, random start; the last value of a "
      "run\nthat ended stays. It ends after %lld iterations on the CPU and %lld on the device, "
      "at\n%.10g and %.10g. The paper shows the two curves without figures.\n",
      (long long)sites, FIGURE7_SIDE, (long long)w.cpu.iterations, (long long)w.pixel.iterations,
      w.cpu.energy[w.cpu.iterations], w.pixel.energy[w.pixel.iterations]);
  return CVTM_OK;
}
