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

enum { METHODS = 3, EXAMPLES = 3, SIDES = 3, MOST_SPLITS = 10 };

static const int figure_2_sides[SIDES] = {256, 512, 1024};
static const cvtm_hlcp_method figure_2_methods[METHODS] = {CVTM_HLCP_MMJ, CVTM_HLCP_MMGS,
                                                           CVTM_HLCP_MMSOR};
/* Table 2, example 3: the only ones of the figure that are printed as numbers. */
static const double efficiency_paper[SIDES][METHODS][MOST_SPLITS] = {
    {{1.00, 1.11, 1.10, 1.06, 1.00, 0.89, 0.62, 0.65, 0.51, NAN},
     {1.00, 1.12, 1.11, 1.07, 1.01, 0.90, 0.77, 0.61, 0.45, NAN},
     {1.00, 1.12, 1.11, 1.07, 1.01, 0.86, 0.78, 0.53, 0.33, NAN}},
    {{1.00, 1.12, 1.11, 1.08, 1.02, 0.88, 0.63, 0.73, 0.50, 0.49},
     {1.00, 1.12, 1.11, 1.04, 0.98, 0.85, 0.76, 0.69, 0.57, 0.41},
     {1.00, 1.12, 1.11, 1.08, 1.02, 0.88, 0.76, 0.69, 0.56, 0.41}},
    {{1.00, 1.12, 1.11, 1.08, 0.98, 0.85, 0.79, 0.61, 0.56, 0.47},
     {1.00, 1.12, 1.11, 1.08, 0.98, 0.82, 0.76, 0.74, 0.65, 0.43},
     {1.00, 1.12, 1.11, 1.08, 0.98, 0.85, 0.79, 0.77, 0.67, 0.42}}};
static const double one_thread_paper[SIDES][METHODS] = {
    {5.17, 2.60, 2.31}, {21.7, 10.5, 9.68}, {89.8, 43.4, 40.2}};

typedef struct curve {
  char name[48];
  double splits[MOST_SPLITS], efficiency[MOST_SPLITS];
  int count;
} curve;

/* The curves of one size. */
typedef struct figure {
  int size, side; /* of figure_2_sides; the side of the grid, which may be less */
  curve curves[METHODS][EXAMPLES];
} figure;

/* One run with l processors: threads of a CUDA device, each of which solves a splitting, or cores.
 */
static cvtm_status solve_by(cvtm_device *device, cvtm_hlcp_method method, int example, int side,
                            int splits, cvtm_hlcp_result *result) {
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  cvtm_device *own = NULL;
  cvtm_status status =
      is_cuda ? CVTM_OK : cvtm_device_create("cpu", splits, &own, cvtm_device_error(device));
  cli_hlcp_runs runs;
  if (status == CVTM_OK) status = cli_hlcp_runs_open(is_cuda ? device : own, example, side, &runs);
  if (status == CVTM_OK) {
    status = cli_hlcp_runs_solve(&runs, method, splits, splits < 32 ? splits : 32, result);
    cli_hlcp_runs_close(&runs);
  }
  if (status != CVTM_OK && own != NULL)
    cvtm_fail(cvtm_device_error(device), status, "%s", cvtm_device_error(own)->message);
  cvtm_device_destroy(own);
  return status;
}

static cvtm_status measure_curve(cvtm_device *device, figure *f, int method, int example,
                                 int most) {
  curve *c = &f->curves[method][example - 1];
  const char *name = cvtm_hlcp_method_name(figure_2_methods[method]);
  const double *paper = efficiency_paper[f->size][method];
  const int is_published = example == 3 && f->side == figure_2_sides[f->size];
  double first = 0;
  snprintf(c->name, sizeof c->name, "%s, example %d, h = %d", name, example, f->side);
  for (int k = 0; k < MOST_SPLITS && 1 << k <= most; ++k) {
    cvtm_hlcp_result result;
    const cvtm_status status =
        solve_by(device, figure_2_methods[method], example, f->side, 1 << k, &result);
    if (status != CVTM_OK) return status;
    if (k == 0) first = result.seconds;
    c->splits[k] = 1 << k;
    c->efficiency[k] = first / ((1 << k) * result.seconds);
    c->count = k + 1;
    printf("| %s | %d | %d | %d | %lld | %.4f | %.2f |", name, example, f->side, 1 << k,
           (long long)result.iterations, result.seconds, c->efficiency[k]);
    if (is_published && isfinite(paper[k]))
      printf(" %.2f |\n", paper[k]);
    else
      printf(" |\n");
    fflush(stdout);
  }
  return CVTM_OK;
}

static cvtm_status measure_size(cvtm_device *device, figure *f, int most) {
  for (int method = 0; method < METHODS; ++method)
    for (int example = 1; example <= EXAMPLES; ++example) {
      const cvtm_status status = measure_curve(device, f, method, example, most);
      if (status != CVTM_OK) return status;
    }
  return CVTM_OK;
}

static cvtm_status draw_efficiency(const char *path, const figure *f, cvtm_error *error) {
  char names[METHODS][48];
  double splits[MOST_SPLITS];
  cvtm_chart_curve drawn[METHODS * (EXAMPLES + 1)];
  int count = 0;
  for (int k = 0; k < MOST_SPLITS; ++k) splits[k] = 1 << k;
  for (int method = 0; method < METHODS; ++method) {
    for (int example = 0; example < EXAMPLES; ++example) {
      const curve *c = &f->curves[method][example];
      drawn[count++] = (cvtm_chart_curve){
          .name = c->name, .x = c->splits, .y = c->efficiency, .count = c->count, .marked = 1};
    }
    snprintf(names[method], sizeof names[method], "paper: %s, h = %d",
             cvtm_hlcp_method_name(figure_2_methods[method]), figure_2_sides[f->size]);
    drawn[count++] = (cvtm_chart_curve){.name = names[method],
                                        .x = splits,
                                        .y = efficiency_paper[f->size][method],
                                        .count = MOST_SPLITS,
                                        .dashed = 1};
  }
  const cvtm_chart chart = {"Mezzadri 2020, Figure 2: parallel efficiency (paper: example 3)",
                            {"l, processors and splittings", 1},
                            {"T(1) / (l T(l))", 0},
                            drawn,
                            count};
  return cvtm_chart_write_svg(path, &chart, error);
}

static void print_legend(int is_cuda, int sizes) {
  printf(
      "\nl processors: %s. Efficiency: T(1) / (l T(l)). T(1) of the\npaper, example 3, mmj, mmgs, "
      "mmsor:",
      is_cuda ? "threads, each of which solves a splitting, in blocks of at most 32"
              : "cores of the CPU");
  for (int size = 0; size < sizes; ++size)
    printf(" %.2f, %.2f, %.2f s for h = %d%s", one_thread_paper[size][0], one_thread_paper[size][1],
           one_thread_paper[size][2], figure_2_sides[size], size + 1 < sizes ? ";" : ".\n");
  if (sizes < SIDES) printf("--size-limit 1024 adds the other sizes.\n");
}

cvtm_status cli_bench_hlcp_figure2(cvtm_device *device, const cli_options *options) {
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  const int64_t limit = options->size_limit > 0 ? options->size_limit : figure_2_sides[0];
  const int most = is_cuda ? 1 << (MOST_SPLITS - 1) : cvtm_device_threads(device);
  figure f = {0}; /* the largest size is drawn */
  int sizes = 0;
  printf(
      "| method | example | h | l | sweeps | seconds | efficiency | paper "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (; sizes < SIDES && (sizes == 0 || figure_2_sides[sizes] <= limit); ++sizes) {
    f.size = sizes;
    f.side = limit < figure_2_sides[sizes] ? (int)limit : figure_2_sides[sizes];
    const cvtm_status status = measure_size(device, &f, most);
    if (status != CVTM_OK) return status;
  }
  print_legend(is_cuda, sizes);
  return options->figure != NULL ? draw_efficiency(options->figure, &f, cvtm_device_error(device))
                                 : CVTM_OK;
}
