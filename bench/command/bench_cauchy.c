/* cvtmesh bench table1 and table3: compares the approximate Cauchy point t^c = min(t*, t^1) with
 * the exact one t*, at the iterates of the method with the exact one. */
#include "base/clock.h"
#include "base/primitives.h"
#include "bench/command/bench.h"
#include "bench/command/cvt_start.h"
#include "cli/cli.h"
#include "cvt/cvt.h"
#include "bench/problems/minpack2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 9, MOST_COLUMNS = 12, DEFAULT_ITERATIONS = 2500 };

static const char *const class_names[CLASSES] = {
    "0", "0-5 %", "5-10 %", "10-15 %", "15-20 %", "20-25 %", "25-30 %", "30-35 %", "35 % and more"};

/* One column of a table. */
typedef struct shares {
  int64_t of_class[CLASSES], compared;
  int64_t iterations;
  double exact, approximate; /* final values */
} shares;

/* A minimisation whose evaluations are compared on the host. */
typedef struct study {
  cvtm_device *device; /* of the optimiser */
  cvtm_objective evaluate;
  void *context;
  int64_t n;
  void *x;                     /* start; in device memory */
  const double *lower, *upper; /* device memory; NULL: none */
  double *host_lower, *host_upper, *host_x, *host_g;
  double host_f;
  double first_breakpoint; /* t^1 of the point the iteration starts from; NaN: not known */
  double last_f;
  shares *out; /* NULL: nothing is compared */
  int64_t iterations, max_iterations;
  double deadline;
  int over;
} study;

/* The smallest positive t at which x - t g meets a bound. */
static double find_first_breakpoint(const study *s) {
  double first = HUGE_VAL;
  for (int64_t i = 0; i < s->n && s->lower != NULL; ++i) {
    const double g = s->host_g[i], bound = g < 0 ? s->host_upper[i] : s->host_lower[i];
    const double t = g != 0 ? (s->host_x[i] - bound) / g : HUGE_VAL;
    if (t > 0 && t < first) first = t;
  }
  return first;
}

static void compare_cauchy_points(study *s, double exact) {
  if (s->out == NULL || !(exact > 0) || isnan(s->first_breakpoint)) return;
  const double apart = (exact - fmin(exact, s->first_breakpoint)) / exact;
  int class = apart > 0 ? 1 + (int)(apart * 20) : 0;
  if (class >= CLASSES) class = CLASSES - 1;
  s->out->of_class[class]++;
  s->out->compared++;
}

/* A monitor: the last evaluation is the accepted one, unless the line search returned to an earlier
 * one. */
static int note_cauchy_point(void *context, const cvtm_lbfgsb_progress *progress) {
  study *s = context;
  if (progress->iteration > 0) {
    compare_cauchy_points(s, progress->cauchy);
    s->over = s->over || progress->f >= s->last_f;
  }
  s->iterations = progress->iteration;
  s->over = s->over || cvtm_clock() > s->deadline;
  s->last_f = progress->f;
  s->first_breakpoint = progress->f == s->host_f ? find_first_breakpoint(s) : NAN;
  return s->over;
}

static cvtm_status look(study *s, const cvtm_lbfgsb_evaluation *at) {
  const size_t bytes = (size_t)s->n * sizeof(double);
  cvtm_status status = cvtm_device_copy_out(s->device, s->host_x, at->x, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_out(s->device, s->host_g, at->g, bytes);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(s->device, &s->host_f, at->f, sizeof s->host_f);
  return status;
}

/* Minimises until f stops decreasing, as in the paper, or until a limit is reached. */
static cvtm_status minimize_problem(study *s, cvtm_lbfgsb_cauchy cauchy, double *f) {
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.cauchy = cauchy;
  options.max_iterations = s->max_iterations;
  options.monitor = note_cauchy_point;
  options.monitor_context = s;
  s->over = 0;
  s->iterations = 0;
  s->first_breakpoint = NAN;
  cvtm_lbfgsb *solver = NULL;
  cvtm_lbfgsb_evaluation at;
  int running = 1;
  cvtm_status status = cvtm_lbfgsb_create(s->device, s->n, &options, &solver);
  if (status == CVTM_OK && s->lower != NULL)
    status = cvtm_lbfgsb_set_bounds(solver, s->lower, s->upper);
  if (status == CVTM_OK) status = cvtm_lbfgsb_start(solver, s->x, &at);
  while (status == CVTM_OK && running && !s->over) {
    status = s->evaluate(s->context, at.x, at.f, at.g, cvtm_device_stream(s->device));
    if (status == CVTM_OK) status = look(s, &at);
    if (status == CVTM_OK) status = cvtm_lbfgsb_advance(solver, &running);
  }
  *f = s->last_f;
  cvtm_lbfgsb_destroy(solver);
  return status;
}

static cvtm_status allocate_host(study *s) {
  const size_t bytes = (size_t)s->n * sizeof(double);
  double **const arrays[] = {&s->host_lower, &s->host_upper, &s->host_x, &s->host_g};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k) {
    *arrays[k] = malloc(bytes);
    if (*arrays[k] == NULL)
      return cvtm_fail(cvtm_device_error(s->device), CVTM_ERROR_MEMORY, "out of memory");
  }
  if (s->lower == NULL) return CVTM_OK;
  cvtm_status status = cvtm_device_copy_out(s->device, s->host_lower, s->lower, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_out(s->device, s->host_upper, s->upper, bytes);
  return status;
}

/* Minimises with the exact and with the approximate Cauchy point, from the same start. */
static cvtm_status compare_ways(study *s, const cli_options *options, shares *out) {
  memset(out, 0, sizeof *out);
  s->max_iterations =
      cli_option_given(options, "iterations") ? options->iterations : DEFAULT_ITERATIONS;
  cvtm_status status = allocate_host(s);
  for (int way = 0; way < 2 && status == CVTM_OK; ++way) {
    s->deadline = options->time_limit > 0 ? cvtm_clock() + options->time_limit : HUGE_VAL;
    s->out = way == 0 ? out : NULL;
    status = way == 0 ? minimize_problem(s, CVTM_LBFGSB_CAUCHY_EXACT, &out->exact)
                      : minimize_problem(s, CVTM_LBFGSB_CAUCHY_APPROXIMATE, &out->approximate);
    if (way == 0) out->iterations = s->iterations;
  }
  free(s->host_lower);
  free(s->host_upper);
  free(s->host_x);
  free(s->host_g);
  return status;
}

/* Prints our values and, in brackets, the paper's; skipped columns are left out. */
static void print_table(const char *const *titles, const shares *columns, int count,
                        const double (*paper)[CLASSES]) {
  printf("| t* above t^c by |");
  for (int c = 0; c < count; ++c) printf(" %s |", titles[c]);
  printf("\n|---|");
  for (int c = 0; c < count; ++c) printf("---|");
  for (int row = 0; row < CLASSES; ++row) {
    printf("\n| %s |", class_names[row]);
    for (int c = 0; c < count; ++c) {
      const double all = (double)columns[c].compared;
      if (all > 0)
        printf(" %.2f (%.2f) |", 100 * (double)columns[c].of_class[row] / all, paper[c][row]);
      else
        printf(" - (%.2f) |", paper[c][row]);
    }
  }
  printf("\n| iterations |");
  for (int c = 0; c < count; ++c) printf(" %lld |", (long long)columns[c].iterations);
  printf("\n| f, exact |");
  for (int c = 0; c < count; ++c) printf(" %.10g |", columns[c].exact);
  printf("\n| f, approximate, less |");
  for (int c = 0; c < count; ++c)
    printf(" %.1e %% |",
           100 * (columns[c].approximate - columns[c].exact) / fabs(columns[c].exact));
  printf(
      "\n\nPer cent of the iterations; in brackets the paper's, whose last class begins at 40 "
      "%%.\n");
}

/* --- Table 1 ---------------------------------------------------------------------------------- */

static const double table1_paper[CVTM_MINPACK2_COUNT][CLASSES] = {
    {85.23, 12.19, 1.41, 0.35, 0.00, 0.35, 0.12, 0.00, 0.35},
    {55.14, 35.26, 3.40, 1.00, 0.70, 0.60, 0.30, 0.50, 3.10},
    {100.00},
    {86.41, 8.99, 1.10, 0.80, 0.30, 0.40, 0.20, 0.00, 1.80},
    {100.00},
    {100.00},
    {100.00},
    {98.70, 1.30},
};

static int has_natural_bounds(cvtm_minpack2_kind kind) {
  return kind == CVTM_MINPACK2_EPT || kind == CVTM_MINPACK2_PJB;
}

/* The problem's bounds where it has some, else [-1, 1]; lj: none. */
static cvtm_status make_bounds(study *s, cvtm_minpack2_kind kind, void **lower, void **upper) {
  if (kind == CVTM_MINPACK2_LJ) return CVTM_OK;
  cvtm_status status = cvtm_device_allocate(s->device, s->n, sizeof(double), lower);
  if (status == CVTM_OK) status = cvtm_device_allocate(s->device, s->n, sizeof(double), upper);
  if (status == CVTM_OK && has_natural_bounds(kind)) {
    status = cvtm_minpack2_bounds(s->context, *lower, *upper);
  } else {
    if (status == CVTM_OK) status = cvtm_vector_fill(s->device, *lower, -1, s->n);
    if (status == CVTM_OK) status = cvtm_vector_fill(s->device, *upper, 1, s->n);
  }
  s->lower = *lower;
  s->upper = *upper;
  return status;
}

static cvtm_status study_problem(cvtm_device *device, const cli_options *options,
                                 cvtm_minpack2_kind kind, shares *out) {
  study s = {.device = device, .evaluate = cvtm_minpack2_evaluate};
  cvtm_minpack2_options sizes;
  cvtm_minpack2 *problem = NULL;
  void *lower = NULL, *upper = NULL;
  cvtm_minpack2_defaults(kind, &sizes);
  if (options->size_limit > 0) cvtm_minpack2_shrink(kind, options->size_limit, &sizes);
  cvtm_status status = cvtm_minpack2_create(device, kind, &sizes, &problem);
  if (status != CVTM_OK) return status;
  s.context = problem;
  s.n = cvtm_minpack2_variables(problem);
  status = make_bounds(&s, kind, &lower, &upper);
  if (status == CVTM_OK) status = cvtm_device_allocate(device, s.n, sizeof(double), &s.x);
  if (status == CVTM_OK) status = cvtm_minpack2_start(problem, s.x);
  if (status == CVTM_OK) status = compare_ways(&s, options, out);
  void *const owned[] = {lower, upper, s.x};
  for (size_t k = 0; k < sizeof owned / sizeof owned[0]; ++k)
    if (owned[k] != NULL) cvtm_device_free(device, owned[k]);
  cvtm_minpack2_destroy(problem);
  return status;
}

cvtm_status cli_bench_table1(cvtm_device *device, const cli_options *options) {
  const char *titles[CVTM_MINPACK2_COUNT];
  shares columns[CVTM_MINPACK2_COUNT];
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT; ++kind) {
    titles[kind] = cvtm_minpack2_name((cvtm_minpack2_kind)kind);
    const cvtm_status status =
        study_problem(device, options, (cvtm_minpack2_kind)kind, &columns[kind]);
    if (status != CVTM_OK) return status;
  }
  print_table(titles, columns, CVTM_MINPACK2_COUNT, table1_paper);
  printf(
      "Bounds: those of the problem for ept and pjb, none for lj, whose start does not fit into\n"
      "[-1, 1], and [-1, 1] for the others.\n");
  return CVTM_OK;
}

/* --- Table 3 ---------------------------------------------------------------------------------- */

typedef struct cvt_row {
  int side;
  int64_t sites;
} cvt_row;

static const cvt_row table3_rows[MOST_COLUMNS] = {
    {512, 200},   {512, 500},   {1024, 1000},  {1024, 2000},  {1024, 4000},  {2048, 4000},
    {2048, 6000}, {2048, 8000}, {2048, 10000}, {2048, 20000}, {2048, 40000}, {2048, 60000}};

static const double table3_paper[MOST_COLUMNS][CLASSES] = {
    {100.00},
    {98.39, 0, 0, 0, 0, 1.61},
    {100.00},
    {100.00},
    {98.41, 0, 0, 0, 0, 0, 0, 0, 1.59},
    {99.07, 0, 0, 0, 0, 0, 0, 0, 0.93},
    {99.14, 0, 0, 0, 0, 0, 0, 0.86},
    {98.72, 0, 1.28},
    {98.61, 0, 0, 0, 1.39},
    {96.43, 0, 1.79, 0, 0, 0, 0, 0, 1.79},
    {97.37, 0, 2.63},
    {97.06, 0, 0, 0, 0, 0, 0, 0, 2.94},
};

/* The pixel energy of a CVT, evaluated on its device for an optimiser on the CPU. */
typedef struct cvt_energy {
  cvtm_device *device;
  cvtm_cvt *cvt;
  int64_t sites;
  cvtm_voronoi_method voronoi;
  double *mass, *centroid;
} cvt_energy;

static cvtm_status evaluate_cvt(void *context, const double *x, double *f, double *g,
                                void *stream) {
  const cvt_energy *e = context;
  const cvtm_cvt_moments moments = {.mass = e->mass, .centroid = e->centroid};
  (void)stream;
  const cvtm_status status =
      cvtm_cvt_evaluate(e->cvt, x, e->sites, CVTM_CVT_PIXEL, e->voronoi, f, &moments);
  for (int64_t i = 0; i < 2 * e->sites && status == CVTM_OK; ++i)
    g[i] = 2 * e->mass[i / 2] * (x[i] - e->centroid[i]);
  return status;
}

static cvtm_status make_energy(cvt_energy *e, const cli_options *options, int side, double *start) {
  e->mass = malloc((size_t)e->sites * sizeof *e->mass);
  e->centroid = malloc(2 * (size_t)e->sites * sizeof *e->centroid);
  if (e->mass == NULL || e->centroid == NULL)
    return cvtm_fail(cvtm_device_error(e->device), CVTM_ERROR_MEMORY, "out of memory");
  return cli_cvt_start(e->device, options, side, e->sites, start, NULL, &e->cvt);
}

/* cpu: where the optimiser runs, so that device memory is host memory. */
static cvtm_status study_cvt(cvtm_device *device, cvtm_device *cpu, const cli_options *options,
                             const cvt_row *row, shares *out) {
  cvt_energy e = {
      .device = device, .sites = row->sites, .voronoi = (cvtm_voronoi_method)options->voronoi};
  study s = {.device = cpu, .evaluate = evaluate_cvt, .context = &e, .n = 2 * row->sites};
  const size_t bytes = (size_t)s.n * sizeof(double);
  double *start = malloc(bytes), *lower = malloc(bytes), *upper = malloc(bytes);
  cvtm_status status = CVTM_OK;
  if (start == NULL || lower == NULL || upper == NULL)
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) status = make_energy(&e, options, row->side, start);
  if (status == CVTM_OK) {
    for (int64_t i = 0; i < s.n; ++i) {
      lower[i] = 0;
      upper[i] = row->side;
    }
    s.x = start;
    s.lower = lower;
    s.upper = upper;
    status = compare_ways(&s, options, out);
  }
  cvtm_cvt_destroy(e.cvt);
  free(e.mass);
  free(e.centroid);
  free(start);
  free(lower);
  free(upper);
  return status;
}

cvtm_status cli_bench_table3(cvtm_device *device, const cli_options *options) {
  char text[MOST_COLUMNS][32];
  const char *titles[MOST_COLUMNS];
  shares columns[MOST_COLUMNS];
  cvtm_device *cpu = NULL;
  int count = 0;
  cvtm_status status =
      cvtm_device_create("cpu", (int)options->threads, &cpu, cvtm_device_error(device));
  for (int k = 0; k < MOST_COLUMNS && status == CVTM_OK; ++k) {
    if (options->size_limit > 0 && table3_rows[k].sites > options->size_limit) break;
    snprintf(text[k], sizeof text[k], "%lld in %d^2", (long long)table3_rows[k].sites,
             table3_rows[k].side);
    titles[count++] = text[k];
    status = study_cvt(device, cpu, options, &table3_rows[k], &columns[k]);
  }
  if (status == CVTM_OK) {
    print_table(titles, columns, count, table3_paper);
    printf("Sites and pixels; the pixel energy of the paper.\n");
    cli_cvt_start_print(options);
  }
  cvtm_device_destroy(cpu);
  return status;
}
