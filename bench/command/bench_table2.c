/* cvtmesh bench table2, figure6, figure7 and figure8: CVTs with the optimiser on the CPU, which
 * exchanges sites and gradients with the device, and with everything on the device. */
#include "bench/command/bench.h"
#include "bench/command/cvt_legs.h"
#include "bench/command/cvt_start.h"

#include <math.h>
#include <string.h>

enum { FIGURE7_SIDE = 2048, FIGURE7_SITES = 20000 };

/* Milliseconds an iteration of the paper's two programs, I/O within the CPU's; energies less. */
typedef struct paper_row {
  int side;
  int64_t sites;
  double evaluation;
  int cpu_iterations;
  double cpu_optimizer, io;
  int gpu_iterations;
  double gpu_optimizer, difference;
} paper_row;

static const paper_row paper[] = {
    {512, 200, 2.39, 53, 0.65, 0.38, 59, 1.09, -4.79e-5},
    {512, 500, 2.38, 56, 1.02, 0.38, 56, 1.13, 0},
    {1024, 1000, 8.70, 74, 1.81, 0.51, 74, 1.16, 0},
    {1024, 2000, 8.76, 61, 3.37, 0.74, 61, 1.24, 0},
    {1024, 4000, 8.85, 48, 6.21, 1.12, 48, 1.33, 0},
    {2048, 4000, 41.38, 106, 6.51, 1.18, 106, 1.40, 0},
    {2048, 6000, 41.84, 89, 11.2, 1.53, 71, 1.53, 3.79e-7},
    {2048, 8000, 41.87, 76, 12.61, 1.92, 72, 1.60, -3.38e-8},
    {2048, 10000, 41.92, 69, 15.48, 2.27, 69, 1.71, 0},
    {2048, 20000, 42.43, 45, 30.09, 4.05, 55, 2.19, -2.31e-8},
    {2048, 40000, 43.96, 34, 74.18, 9.19, 34, 3.18, 0},
    {2048, 60000, 44.97, 28, 112.07, 12.81, 28, 4.06, 0},
};

enum { ROWS = sizeof paper / sizeof paper[0] };

/* The optimiser on the CPU, on the device, and there with the exact energy. */
typedef struct ways {
  cli_leg cpu, device, exact;
  double bound;
} ways;

static cvtm_status compare_ways(cvtm_device *device, const cli_options *options, int side,
                                int64_t sites, ways *w) {
  const cvtm_voronoi_method voronoi = (cvtm_voronoi_method)options->voronoi;
  cli_legs *legs = NULL;
  cvtm_status status = cli_legs_open(device, options, side, sites, &legs);
  if (status == CVTM_OK) status = cli_legs_on_device(legs, CVTM_CVT_PIXEL, voronoi, &w->device);
  if (status == CVTM_OK) status = cli_legs_on_device(legs, CVTM_CVT_EXACT, voronoi, &w->exact);
  if (status == CVTM_OK) status = cli_legs_on_cpu(legs, CVTM_CVT_PIXEL, voronoi, &w->cpu);
  if (status == CVTM_OK) w->bound = cli_legs_bound(legs);
  cli_legs_close(legs);
  return status;
}

static int skipped(const cli_options *options, int64_t sites) {
  return options->size_limit > 0 && sites > options->size_limit;
}

static double milliseconds(const cli_leg *leg, double seconds) {
  return 1e3 * seconds / (double)(leg->ran > 0 ? leg->ran : 1);
}

static double optimizer_of(const cli_leg *leg) {
  return milliseconds(leg, leg->optimizer + leg->io);
}

static double total_of(const cli_leg *leg) {
  return milliseconds(leg, leg->evaluation + leg->io + leg->optimizer);
}

static double evaluation_of(const cli_leg *leg) {
  return 1e3 * leg->evaluation / (double)(leg->evaluations > 0 ? leg->evaluations : 1);
}

static double evaluations_of(const cli_leg *leg) {
  return (double)leg->evaluations / (double)(leg->ran > 0 ? leg->ran : 1);
}

static double final_energy(const cli_leg *leg) { return leg->energy[leg->iterations]; }

static const char *mark_of_leg(const cli_leg *leg) { return leg->at_limit ? "+" : ""; }

static void print_limits(void) {
  printf(
      "+: stopped at the limit of iterations or time; the other runs went on until the energy\n"
      "did not fall, as the paper's.\n");
}

/* --- Table 2 --------------------------------------------------------------------------- */

static void print_table2_row(const paper_row *row, const ways *w) {
  const cli_leg *cpu = &w->cpu, *device = &w->device;
  printf("| %lld in %d^2 | %.3f (%.2f) | %lld%s (%d) | %.2f (%.2f) | %.2f (%.2f) |",
         (long long)row->sites, row->side, evaluation_of(device), row->evaluation,
         (long long)cpu->iterations, mark_of_leg(cpu), row->cpu_iterations, optimizer_of(cpu),
         row->cpu_optimizer, milliseconds(cpu, cpu->io), row->io);
  printf(" %lld%s (%d) | %.3f (%.2f) | %.1f (%.2f) | %.1e (%.2e) |", (long long)device->iterations,
         mark_of_leg(device), row->gpu_iterations, optimizer_of(device), row->gpu_optimizer,
         optimizer_of(cpu) / optimizer_of(device), row->cpu_optimizer / row->gpu_optimizer,
         (final_energy(device) - final_energy(cpu)) / final_energy(cpu), row->difference);
  printf(" %.2f, %.2f | %.2f (%.2f) | %.3f (%.2f) | %.3f |\n", evaluations_of(cpu),
         evaluations_of(device), total_of(cpu), row->evaluation + row->cpu_optimizer,
         total_of(device), row->evaluation + row->gpu_optimizer, total_of(&w->exact));
  fflush(stdout);
}

static const char *voronoi_name(const cli_options *options) {
  static const char *const names[] = {
#define NAME_OF(code, name) [(code)] = (name),
      CVTM_VORONOI_LIST(NAME_OF)
#undef NAME_OF
  };
  return names[options->voronoi];
}

cvtm_status cli_bench_table2(cvtm_device *device, const cli_options *options) {
  printf(
      "| sites | evaluation | CPU: itr | L-BFGS-B | of it I/O | device: itr | L-BFGS-B | spd/itr | "
      "energy difference | evaluations / itr | CPU: whole iteration | device: whole iteration | "
      "exact energy |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int k = 0; k < ROWS; ++k) {
    ways w;
    if (skipped(options, paper[k].sites)) continue;
    const cvtm_status status = compare_ways(device, options, paper[k].side, paper[k].sites, &w);
    if (status != CVTM_OK) return status;
    print_table2_row(&paper[k], &w);
  }
  printf(
      "\nMilliseconds: of an evaluation (value and gradient of the pixel energy, diagrams by "
      "%s),\nof the optimiser in an iteration, and of a whole iteration; in brackets the paper's. "
      "CPU:\nevaluated on the device, optimised on the CPU. spd/itr compares the optimisers. "
      "Differences\nare relative, the paper's F_GPU - F_CPU. Exact energy: a whole iteration on "
      "the device with\nintegrals over polygonal cells. Evaluations / itr: CPU, device. "
      "Variables are scaled alike.\n",
      voronoi_name(options));
  cli_cvt_start_print(options);
  print_limits();
  return CVTM_OK;
}

/* --- Figures 6 and 8 -------------------------------------------------------------------- */

/* Curves over the sites: ours on the CPU and on the device, the paper's, ours of the exact energy.
 */
enum { CURVES = 5 };
typedef struct figure {
  double sites[ROWS], time[CURVES][ROWS];
  int count;
} figure;

static void add_figure_point(figure *f, const paper_row *row, const ways *w, int whole) {
  const int k = f->count++;
  const double evaluation = whole ? row->evaluation : 0;
  f->sites[k] = (double)row->sites;
  f->time[0][k] = whole ? total_of(&w->cpu) : optimizer_of(&w->cpu);
  f->time[1][k] = whole ? total_of(&w->device) : optimizer_of(&w->device);
  f->time[2][k] = evaluation + row->cpu_optimizer;
  f->time[3][k] = evaluation + row->gpu_optimizer;
  f->time[4][k] = total_of(&w->exact);
}

static void print_point(const figure *f, const paper_row *row, int whole) {
  const int k = f->count - 1;
  printf("| %lld in %d^2 | %.3f (%.2f) | %.3f (%.2f) | %.1f (%.1f) |", (long long)row->sites,
         row->side, f->time[0][k], f->time[2][k], f->time[1][k], f->time[3][k],
         f->time[0][k] / f->time[1][k], f->time[2][k] / f->time[3][k]);
  if (whole) printf(" %.3f |", f->time[4][k]);
  printf("\n");
  fflush(stdout);
}

/* Least squares: milliseconds a site. */
static double slope_of(const figure *f, int curve) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int k = 0; k < f->count; ++k) {
    n += 1;
    x += f->sites[k];
    y += f->time[curve][k];
    xx += f->sites[k] * f->sites[k];
    xy += f->sites[k] * f->time[curve][k];
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

static cvtm_status draw_times(const char *path, const figure *f, const char *title, int whole,
                              cvtm_error *error) {
  static const char *const names[CURVES] = {"optimiser on the CPU", "all on the device",
                                            "paper: CPU", "paper: GTX 580", "device, exact energy"};
  cvtm_chart_curve curves[CURVES];
  for (int c = 0; c < CURVES; ++c)
    curves[c] = (cvtm_chart_curve){.name = names[c],
                                   .x = f->sites,
                                   .y = f->time[c],
                                   .count = f->count,
                                   .dashed = c == 2 || c == 3,
                                   .marked = 1};
  const cvtm_chart chart = {
      title, {"sites", 1}, {"milliseconds an iteration", 1}, curves, whole ? CURVES : CURVES - 1};
  return cvtm_chart_write_svg(path, &chart, error);
}

/* whole: of whole iterations, else of the optimiser alone. */
static cvtm_status show_times(cvtm_device *device, const cli_options *options, const char *title,
                              int whole) {
  figure f = {.count = 0};
  printf("| sites | optimiser on the CPU | on the device | faster by |%s\n|---|---|---|---|%s\n",
         whole ? " exact energy, on the device |" : "", whole ? "---|" : "");
  for (int k = 0; k < ROWS; ++k) {
    ways w;
    if (skipped(options, paper[k].sites)) continue;
    const cvtm_status status = compare_ways(device, options, paper[k].side, paper[k].sites, &w);
    if (status != CVTM_OK) return status;
    add_figure_point(&f, &paper[k], &w, whole);
    print_point(&f, &paper[k], whole);
  }
  printf("\nMilliseconds of %s, pixel energy, diagrams by %s; in brackets the paper's.\n",
         whole ? "a whole iteration" : "L-BFGS-B in an iteration", voronoi_name(options));
  cli_cvt_start_print(options);
  if (f.count > 1)
    printf("Slopes in ms a site: %.2e and %.2e; of the paper's points %.2e and %.2e.\n",
           slope_of(&f, 0), slope_of(&f, 1), slope_of(&f, 2), slope_of(&f, 3));
  return options->figure != NULL
             ? draw_times(options->figure, &f, title, whole, cvtm_device_error(device))
             : CVTM_OK;
}

cvtm_status cli_bench_figure6(cvtm_device *device, const cli_options *options) {
  return show_times(device, options, "Fei et al., Figure 6: L-BFGS-B in an iteration of CVTs", 0);
}

cvtm_status cli_bench_figure8(cvtm_device *device, const cli_options *options) {
  return show_times(device, options, "Fei et al., Figure 8: iterations of CVTs", 1);
}

/* --- Figure 7 -------------------------------------------------------------------------- */

/* A smaller figure has as many pixels for each site. */
static int side_for(int64_t sites) {
  return (int)ceil(FIGURE7_SIDE * sqrt((double)sites / FIGURE7_SITES));
}

static double energy_at(const cli_leg *leg, int64_t iteration) {
  return leg->energy[iteration < leg->iterations ? iteration : leg->iterations];
}

static cvtm_status draw_energies(const char *path, const ways *w, cvtm_error *error) {
  enum { LEGS = 2 };
  static const char *const names[LEGS] = {"optimiser on the CPU", "all on the device"};
  const cli_leg *const legs[LEGS] = {&w->cpu, &w->device};
  double iteration[CLI_LEG_ITERATIONS + 1], energy[LEGS][CLI_LEG_ITERATIONS + 1];
  cvtm_chart_curve curves[LEGS];
  for (int k = 0; k <= CLI_LEG_ITERATIONS; ++k) iteration[k] = k;
  for (int c = 0; c < LEGS; ++c) {
    for (int64_t k = 0; k <= legs[c]->iterations; ++k) energy[c][k] = legs[c]->energy[k] / w->bound;
    curves[c] = (cvtm_chart_curve){.name = names[c],
                                   .x = iteration,
                                   .y = energy[c],
                                   .count = legs[c]->iterations + 1,
                                   .dashed = c == 1};
  }
  const cvtm_chart chart = {"Fei et al., Figure 7: energy of a CVT",
                            {"iteration", 0},
                            {"pixel energy / bound of hexagons", 0},
                            curves,
                            LEGS};
  return cvtm_chart_write_svg(path, &chart, error);
}

cvtm_status cli_bench_figure7(cvtm_device *device, const cli_options *options) {
  ways w;
  const int64_t limit = options->size_limit, most = FIGURE7_SITES;
  const int64_t sites = limit > 0 && limit < most ? limit : most;
  const int side = side_for(sites);
  const cvtm_status status = compare_ways(device, options, side, sites, &w);
  if (status != CVTM_OK) return status;
  const int64_t a = w.cpu.iterations, b = w.device.iterations, last = a > b ? a : b;
  printf("| iteration | optimiser on the CPU | on the device | difference |\n|---|---|---|---|\n");
  for (int64_t k = 0; k <= last; k += k < 10 ? 1 : k < 50 ? 5 : 25) {
    const double cpu = energy_at(&w.cpu, k), own = energy_at(&w.device, k);
    printf("| %lld | %.8g | %.8g | %.1e |\n", (long long)k, cpu, own, (own - cpu) / cpu);
  }
  printf(
      "\nPixel energy of %lld sites in %d^2, diagrams by %s; the\n"
      "last value of a run that ended stays. It ends after %lld%s iterations on the CPU and %lld%s "
      "on\nthe device, at %.10g and %.10g. The paper shows the two curves without figures.\n",
      (long long)sites, side, voronoi_name(options), (long long)a, mark_of_leg(&w.cpu),
      (long long)b, mark_of_leg(&w.device), final_energy(&w.cpu), final_energy(&w.device));
  cli_cvt_start_print(options);
  print_limits();
  if (options->figure == NULL) return CVTM_OK;
  return draw_energies(options->figure, &w, cvtm_device_error(device));
}
