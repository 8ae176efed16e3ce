/* cvtmesh bench hlcp-figure1 and hlcp-figure2: Mezzadri 2020, Figure 1 (shapes of CUDA grids) and
 * Figure 2 (parallel efficiency). */
#include "bench/command/bench.h"
#include "bench/command/hlcp_runs.h"

#include <math.h>

/* --- Figure 1 --------------------------------------------------------------------------------- */

enum { FIGURE_1_SIDE = 1024 };

static cvtm_status draw_shapes(const char *path, const double *threads, const double *seconds,
                               int measured, cvtm_error *error) {
  const cvtm_chart_curve curves[] = {
      {.name = "paper: GTX 1050 Ti",
       .x = threads,
       .y = cli_hlcp_table_1,
       .count = CLI_HLCP_SHAPES,
       .dashed = 1,
       .marked = 1},
      {.name = "this device", .x = threads, .y = seconds, .count = CLI_HLCP_SHAPES, .marked = 1}};
  const cvtm_chart chart = {"Mezzadri 2020, Figure 1: 512 threads in blocks",
                            {"threads of a block", 1},
                            {"seconds", 1},
                            curves,
                            measured ? 2 : 1};
  return cvtm_chart_write_svg(path, &chart, error);
}

cvtm_status cli_bench_hlcp_figure1(cvtm_device *device, const cli_options *options) {
  const int64_t limit = options->size_limit;
  const int side = limit > 0 && limit < FIGURE_1_SIDE ? (int)limit : FIGURE_1_SIDE;
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  double threads[CLI_HLCP_SHAPES], seconds[CLI_HLCP_SHAPES] = {0};
  cli_hlcp_runs runs;
  cvtm_hlcp_result result = {0};
  cvtm_status status = CVTM_OK;
  if (is_cuda) {
    status = cli_hlcp_runs_open(device, 1, side, &runs);
    if (status != CVTM_OK) return status;
    status = cli_hlcp_shapes(&runs, seconds, &result);
    cli_hlcp_runs_close(&runs);
  }
  if (status != CVTM_OK) return status;
  printf("| ng | nb | paper, s |%s\n|---|---|---|%s\n", is_cuda ? " this, s |" : "",
         is_cuda ? "---|" : "");
  for (int k = 0; k < CLI_HLCP_SHAPES; ++k) {
    threads[k] = CLI_HLCP_SHAPE_THREADS >> k;
    printf("| %d | %d | %.2f |", 1 << k, CLI_HLCP_SHAPE_THREADS >> k, cli_hlcp_table_1[k]);
    if (is_cuda) printf(" %.4f |", seconds[k]);
    printf("\n");
  }
  printf(
      "\nExample 1, h = %d, MMGS, l = 512. Each of 512 threads solves one splitting, as in the\n"
      "paper; residuals and sums are computed by as many threads as there are.\n",
      side);
  if (is_cuda)
    printf("%lld sweeps, residual %.4e.\n", (long long)result.iterations, result.residual);
  else
    printf("Shapes are of CUDA devices.\n");
  return options->figure != NULL
             ? draw_shapes(options->figure, threads, seconds, is_cuda, cvtm_device_error(device))
             : CVTM_OK;
}

/* --- Figure 2 --------------------------------------------------------------------------------- */

enum { EXAMPLES = 3, SIDES = 3, MOST_SPLITS = 10, MOST_CURVES = EXAMPLES * SIDES + 3 };

static const int figure_2_sides[SIDES] = {256, 512, 1024};
/* Table 2, example 3, MMGS: the only ones of the figure that are printed as numbers. */
static const double efficiency_paper[SIDES][MOST_SPLITS] = {
    {1.00, 1.12, 1.11, 1.07, 1.01, 0.90, 0.77, 0.61, 0.45, NAN},
    {1.00, 1.12, 1.11, 1.04, 0.98, 0.85, 0.76, 0.69, 0.57, 0.41},
    {1.00, 1.12, 1.11, 1.08, 0.98, 0.82, 0.76, 0.74, 0.65, 0.43}};
static const double one_thread_paper[SIDES] = {2.60, 10.5, 43.4};

typedef struct curve {
  char name[48];
  double splits[MOST_SPLITS], efficiency[MOST_SPLITS];
  int count;
} curve;

/* One run with l processors: threads of a CUDA device, each of which solves a splitting, or cores.
 */
static cvtm_status solve_by(cvtm_device *device, int example, int side, int splits,
                            cvtm_hlcp_result *result) {
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  cvtm_device *own = NULL;
  cvtm_status status =
      is_cuda ? CVTM_OK : cvtm_device_create("cpu", splits, &own, cvtm_device_error(device));
  cli_hlcp_runs runs;
  if (status == CVTM_OK) status = cli_hlcp_runs_open(is_cuda ? device : own, example, side, &runs);
  if (status == CVTM_OK) {
    status = cli_hlcp_runs_solve(&runs, CVTM_HLCP_MMGS, splits, splits < 32 ? splits : 32, result);
    cli_hlcp_runs_close(&runs);
  }
  if (status != CVTM_OK && own != NULL)
    cvtm_fail(cvtm_device_error(device), status, "%s", cvtm_device_error(own)->message);
  cvtm_device_destroy(own);
  return status;
}

static cvtm_status measure_curve(cvtm_device *device, int example, int size, int side, int most,
                                 curve *c) {
  double first = 0;
  snprintf(c->name, sizeof c->name, "example %d, h = %d", example, side);
  c->count = 0;
  for (int k = 0; k < MOST_SPLITS && 1 << k <= most; ++k) {
    cvtm_hlcp_result result;
    const cvtm_status status = solve_by(device, example, side, 1 << k, &result);
    if (status != CVTM_OK) return status;
    if (k == 0) first = result.seconds;
    c->splits[k] = 1 << k;
    c->efficiency[k] = first / ((1 << k) * result.seconds);
    c->count = k + 1;
    printf("| %d | %d | %d | %lld | %.4f | %.2f |", example, side, 1 << k,
           (long long)result.iterations, result.seconds, c->efficiency[k]);
    if (example == 3 && side == figure_2_sides[size] && isfinite(efficiency_paper[size][k]))
      printf(" %.2f |\n", efficiency_paper[size][k]);
    else
      printf(" |\n");
    fflush(stdout);
  }
  return CVTM_OK;
}

static cvtm_status draw_efficiency(const char *path, const curve *curves, int count, int sizes,
                                   cvtm_error *error) {
  static const char *const names[SIDES] = {"paper: example 3, h = 256", "paper: h = 512",
                                           "paper: h = 1024"};
  double splits[MOST_SPLITS];
  cvtm_chart_curve drawn[MOST_CURVES];
  for (int k = 0; k < MOST_SPLITS; ++k) splits[k] = 1 << k;
  for (int k = 0; k < count; ++k)
    drawn[k] = (cvtm_chart_curve){.name = curves[k].name,
                                  .x = curves[k].splits,
                                  .y = curves[k].efficiency,
                                  .count = curves[k].count,
                                  .marked = 1};
  for (int k = 0; k < sizes; ++k)
    drawn[count + k] = (cvtm_chart_curve){
        .name = names[k], .x = splits, .y = efficiency_paper[k], .count = MOST_SPLITS, .dashed = 1};
  const cvtm_chart chart = {"Mezzadri 2020, Figure 2: parallel efficiency of MMGS",
                            {"l, processors and splittings", 1},
                            {"T(1) / (l T(l))", 0},
                            drawn,
                            count + sizes};
  return cvtm_chart_write_svg(path, &chart, error);
}

cvtm_status cli_bench_hlcp_figure2(cvtm_device *device, const cli_options *options) {
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  const int64_t limit = options->size_limit > 0 ? options->size_limit : figure_2_sides[0];
  const int most = is_cuda ? 1 << (MOST_SPLITS - 1) : cvtm_device_threads(device);
  curve curves[EXAMPLES * SIDES];
  int count = 0, sizes = 0;
  printf(
      "| example | h | l | sweeps | seconds | efficiency | paper "
      "|\n|---|---|---|---|---|---|---|\n");
  for (int size = 0; size < SIDES && (size == 0 || figure_2_sides[size] <= limit); ++size) {
    const int side = limit < figure_2_sides[size] ? (int)limit : figure_2_sides[size];
    for (int example = 1; example <= EXAMPLES; ++example) {
      const cvtm_status status = measure_curve(device, example, size, side, most, &curves[count]);
      if (status != CVTM_OK) return status;
      ++count;
    }
    ++sizes;
  }
  printf("\nMMGS. l processors: %s. Efficiency: T(1) / (l T(l)). T(1) of the\npaper, example 3:",
         is_cuda ? "threads, each of which solves a splitting, in blocks of at most 32"
                 : "cores of the CPU");
  for (int size = 0; size < sizes; ++size)
    printf(" %.2f s for h = %d%s", one_thread_paper[size], figure_2_sides[size],
           size + 1 < sizes ? "," : ".\n");
  if (sizes < SIDES) printf("--size-limit 1024 adds the other sizes.\n");
  return options->figure != NULL
             ? draw_efficiency(options->figure, curves, count, sizes, cvtm_device_error(device))
             : CVTM_OK;
}
