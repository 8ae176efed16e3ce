/* cvtmesh bench figure3: the product of two panels, beside cuBLAS. cuBLAS is loaded at run time, so
 * that the program does not depend on it. */
#include "base/clock.h"
#include "base/cublas.h"
#include "bench/command/bench.h"
#include "cli/cli.h"
#include "bench/problems/panel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = CVTM_PANEL_COLUMNS, ENTRIES = COLUMNS * COLUMNS };

typedef struct panels {
  cvtm_device *device;
  int64_t rows;
  void *a, *b, *product, *workspace;
  cvtm_cublas *rival; /* NULL: our own product */
} panels;

/* C = A'B. Matrices of cuBLAS are column-major, so B'A is computed to get the same 64 numbers. */
static cvtm_status multiply_panels(const panels *p) {
  if (p->rival == NULL)
    return cvtm_panel_product(p->device, p->rows, p->a, p->b, p->product, p->workspace);
  const int rows = (int)p->rows;
  return cvtm_cublas_multiply(p->rival, COLUMNS, COLUMNS, rows, p->b, rows, p->a, rows, 0.0,
                              p->product, COLUMNS);
}

/* Measures the seconds of one product: after a warm-up it is repeated for 1/20 second. */
static cvtm_status time_product(const panels *p, double *seconds, double *values) {
  int64_t repeats = 1;
  cvtm_status status = multiply_panels(p);
  if (status == CVTM_OK) status = cvtm_device_synchronize(p->device);
  for (*seconds = 0; status == CVTM_OK && *seconds < 0.05; repeats *= 4) {
    const double start = cvtm_clock();
    for (int64_t k = 0; k < repeats && status == CVTM_OK; ++k) status = multiply_panels(p);
    if (status == CVTM_OK) status = cvtm_device_synchronize(p->device);
    *seconds = cvtm_clock() - start;
  }
  *seconds /= (double)(repeats / 4);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(p->device, values, p->product, ENTRIES * sizeof *values);
  return status;
}

static cvtm_status fill_panel(cvtm_device *device, void *panel, int64_t count, uint64_t seed) {
  double *values = malloc((size_t)count * sizeof *values);
  if (values == NULL)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t k = 0; k < count; ++k) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    values[k] = (double)(seed >> 11) * 0x1p-53;
  }
  const cvtm_status status =
      cvtm_device_copy_in(device, panel, values, (size_t)count * sizeof *values);
  free(values);
  return status;
}

static cvtm_status make_panels(panels *p) {
  const int64_t count = COLUMNS * p->rows;
  cvtm_status status = cvtm_device_allocate(p->device, count, sizeof(double), &p->a);
  if (status == CVTM_OK) status = cvtm_device_allocate(p->device, count, sizeof(double), &p->b);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(p->device, ENTRIES, sizeof(double), &p->product);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(p->device, cvtm_panel_workspace(p->device, p->rows),
                                  sizeof(double), &p->workspace);
  if (status == CVTM_OK) status = fill_panel(p->device, p->a, count, 1);
  if (status == CVTM_OK) status = fill_panel(p->device, p->b, count, 2);
  return status;
}

static void free_panels(panels *p) {
  void *const owned[] = {p->a, p->b, p->product, p->workspace};
  for (size_t k = 0; k < sizeof owned / sizeof owned[0]; ++k)
    if (owned[k] != NULL) cvtm_device_free(p->device, owned[k]);
}

static double largest_difference(const double *ours, const double *theirs) {
  double largest = 0;
  for (int e = 0; e < ENTRIES; ++e) largest = fmax(largest, fabs(ours[e] / theirs[e] - 1));
  return largest;
}

/* Throughput over M. */
enum { MOST_SIZES = 18 };
typedef struct speeds {
  double rows[MOST_SIZES], ours[MOST_SIZES], theirs[MOST_SIZES];
  int count;
} speeds;

static cvtm_status draw_speeds(const char *path, const speeds *s, int rival, cvtm_error *error) {
  const cvtm_chart_curve curves[] = {
      {.name = "this program", .x = s->rows, .y = s->ours, .count = s->count, .marked = 1},
      {.name = "cuBLAS", .x = s->rows, .y = s->theirs, .count = s->count, .marked = 1}};
  const cvtm_chart chart = {"Fei et al., Figure 3: products of an 8 x M and an M x 8 matrix",
                            {"M", 1},
                            {"GFLOP/s", 1},
                            curves,
                            rival ? 2 : 1};
  return cvtm_chart_write_svg(path, &chart, error);
}

static cvtm_status print_panel_row(cvtm_device *device, int64_t rows, cvtm_cublas *rival,
                                   speeds *s) {
  panels p = {.device = device, .rows = rows};
  double ours = 0, theirs = 0, values[ENTRIES], others[ENTRIES];
  cvtm_status status = make_panels(&p);
  if (status == CVTM_OK) status = time_product(&p, &ours, values);
  p.rival = rival;
  if (status == CVTM_OK && rival != NULL) status = time_product(&p, &theirs, others);
  free_panels(&p);
  if (status != CVTM_OK) return status;
  const double work = 2.0 * ENTRIES * (double)rows, bytes = 16.0 * COLUMNS * (double)rows;
  s->rows[s->count] = (double)rows;
  s->ours[s->count] = 1e-9 * work / ours;
  s->theirs[s->count++] = 1e-9 * work / theirs;
  printf("| %lld | %.2f | %.3f | %.1f |", (long long)rows, 1e6 * ours, 1e-9 * work / ours,
         1e-9 * bytes / ours);
  if (rival != NULL)
    printf(" %.2f | %.3f | %.2f | %.1e |\n", 1e6 * theirs, 1e-9 * work / theirs, theirs / ours,
           largest_difference(values, others));
  else
    printf(" - | - | - | - |\n");
  fflush(stdout);
  return CVTM_OK;
}

cvtm_status cli_bench_figure3(cvtm_device *device, const cli_options *options) {
  static const int64_t sizes[MOST_SIZES] = {10,     20,     50,     100,     200,     500,
                                            1000,   2000,   5000,   10000,   20000,   50000,
                                            100000, 200000, 500000, 1000000, 2000000, 5000000};
  cvtm_cublas *library = NULL;
  speeds measured = {.count = 0};
  const int rival = cvtm_cublas_open(device, &library) == CVTM_OK;
  printf(
      "| M | ours, us | GFLOP/s | GB/s | cuBLAS, us | GFLOP/s | ours is faster by | largest "
      "relative "
      "difference |\n|---|---|---|---|---|---|---|---|\n");
  cvtm_status status = CVTM_OK;
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0] && status == CVTM_OK; ++k) {
    if (options->size_limit > 0 && sizes[k] > options->size_limit) break;
    status = print_panel_row(device, sizes[k], library, &measured);
  }
  cvtm_cublas_close(library);
  printf(
      "\nThe paper (GTX 580) draws this as a curve without figures: cuBLAS ahead at M = 10, its "
      "own\n"
      "product several times faster from M = 20 on and 16 times beyond M = 5,000.\n");
  if (!rival) printf("cuBLAS is compared on CUDA devices, where its library is found.\n");
  if (status == CVTM_OK && options->figure != NULL)
    status = draw_speeds(options->figure, &measured, rival, cvtm_device_error(device));
  return status;
}
