/* cvtmesh bench hlcp: Tables 1, 2 and 3 and the data of Figure 2 of Mezzadri 2020. */
#include "bench/command/bench.h"
#include "bench/command/hlcp_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPLITS = 10 };

/* Seconds on a GeForce GTX 1050 Ti and sweeps for l = 1, 2, 4, ...; 0: not printed there. */
typedef struct paper_row {
  int size;
  cvtm_hlcp_method method;
  double seconds[MOST_SPLITS];
  int sweeps[MOST_SPLITS];
} paper_row;

/* Tables 2 and 3, example 3. */
static const paper_row published[] = {
    {256,
     CVTM_HLCP_MMJ,
     {5.17, 2.32, 1.17, 0.61, 0.32, 0.18, 0.13, 0.06, 0.04},
     {54, 54, 54, 54, 54, 54, 54, 54, 54}},
    {256,
     CVTM_HLCP_MMGS,
     {2.60, 1.16, 0.59, 0.30, 0.16, 0.09, 0.05, 0.03, 0.02},
     {27, 27, 27, 27, 27, 27, 28, 29, 31}},
    {256,
     CVTM_HLCP_MMSOR,
     {2.31, 1.03, 0.52, 0.27, 0.14, 0.08, 0.05, 0.03, 0.02},
     {24, 24, 24, 24, 24, 25, 25, 27, 29}},
    {512,
     CVTM_HLCP_MMJ,
     {21.7, 9.69, 4.88, 2.51, 1.33, 0.77, 0.54, 0.23, 0.17, 0.09},
     {56, 56, 56, 56, 56, 56, 56, 56, 56, 56}},
    {512,
     CVTM_HLCP_MMGS,
     {10.5, 4.67, 2.36, 1.25, 0.67, 0.38, 0.22, 0.12, 0.07, 0.05},
     {27, 27, 27, 28, 28, 28, 28, 29, 30, 32}},
    {512,
     CVTM_HLCP_MMSOR,
     {9.68, 4.33, 2.18, 1.12, 0.60, 0.34, 0.20, 0.11, 0.07, 0.05},
     {25, 25, 25, 25, 25, 25, 26, 26, 28, 30}},
    {1024,
     CVTM_HLCP_MMJ,
     {89.8, 40.1, 20.2, 10.4, 5.74, 3.32, 1.78, 1.15, 0.63, 0.37},
     {58, 58, 58, 58, 58, 58, 58, 58, 58, 58}},
    {1024,
     CVTM_HLCP_MMGS,
     {43.4, 19.3, 9.74, 5.03, 2.77, 1.66, 0.89, 0.46, 0.26, 0.20},
     {28, 28, 28, 28, 28, 29, 29, 29, 30, 31}},
    {1024,
     CVTM_HLCP_MMSOR,
     {40.2, 18.0, 9.04, 4.67, 2.56, 1.49, 0.80, 0.41, 0.24, 0.19},
     {26, 26, 26, 26, 26, 26, 26, 26, 27, 29}},
    {2048,
     CVTM_HLCP_MMGS,
     {172.4, 80.1, 40.2, 23.0, 12.0, 6.78, 3.45, 1.83, 1.26},
     {29, 29, 29, 29, 29, 29, 29, 30, 30}},
};

enum { TABLE_1_SWEEPS = 76 };

static int skipped(const cli_options *options, int size) {
  return options->size_limit > 0 && size > options->size_limit;
}

static cvtm_status print_table_1(cvtm_device *device, const cli_options *options, int *agreed,
                                 int *compared) {
  if (skipped(options, 1024)) return CVTM_OK;
  cli_hlcp_runs b;
  cvtm_hlcp_result result;
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  double shapes[CLI_HLCP_SHAPES];
  cvtm_status status = cli_hlcp_runs_open(device, 1, 1024, &b);
  if (status != CVTM_OK) return status;
  if (is_cuda) status = cli_hlcp_shapes(&b, shapes, &result);
  if (status == CVTM_OK)
    status = cli_hlcp_runs_solve(&b, CVTM_HLCP_MMGS, CLI_HLCP_SHAPE_THREADS, 0, &result);
  cli_hlcp_runs_close(&b);
  if (status != CVTM_OK) return status;
  printf(
      "Table 1: example 1, h = 1024, MMGS, l = 512\n\n"
      "| | sweeps | residual | seconds | paper |\n|---|---|---|---|---|\n");
  for (int k = 0; k < CLI_HLCP_SHAPES; ++k) {
    printf("| grid %d x %d | %d | 9.56e-07 |", 1 << k, CLI_HLCP_SHAPE_THREADS >> k, TABLE_1_SWEEPS);
    if (is_cuda)
      printf(" %.4f | %.2f |\n", shapes[k], cli_hlcp_table_1[k]);
    else
      printf(" | %.2f |\n", cli_hlcp_table_1[k]);
  }
  *compared += 1;
  *agreed += result.iterations == TABLE_1_SWEEPS;
  printf("| this program's way | %lld | %.4e | %.4f | |\n\n", (long long)result.iterations,
         result.residual, result.seconds);
  return status;
}

/* Prints a line of Table 2, Table 3 or Figure 2; the columns of the paper are blank where it gives
 * no value. */
static cvtm_status print_line(cli_hlcp_runs *b, int size, cvtm_hlcp_method method,
                              const paper_row *paper, int k, double *first, int *agreed,
                              int *compared) {
  const int64_t splits = INT64_C(1) << k;
  cvtm_hlcp_result result;
  const cvtm_status status = cli_hlcp_runs_solve(b, method, splits, 0, &result);
  if (status != CVTM_OK) return status;
  if (k == 0) *first = result.seconds;
  const double efficiency = *first / ((double)splits * result.seconds);
  printf("| %d | %s | %lld |", size, cvtm_hlcp_method_name(method), (long long)splits);
  if (paper != NULL && paper->sweeps[k] > 0) {
    const double theirs = paper->seconds[k];
    *compared += 1;
    *agreed += paper->sweeps[k] == result.iterations;
    printf(" %d | %.2f | %.2f |", paper->sweeps[k], theirs,
           paper->seconds[0] / ((double)splits * theirs));
  } else {
    printf(" | | |");
  }
  printf(" %lld | %.4e | %.5f | %.2f |\n", (long long)result.iterations, result.residual,
         result.seconds, efficiency);
  fflush(stdout);
  return status;
}

/* Prints the line of the l that is chosen for the device; the paper has none. */
static cvtm_status print_chosen(cli_hlcp_runs *b, int size, cvtm_hlcp_method method) {
  cvtm_hlcp_result result;
  const cvtm_status status = cli_hlcp_runs_solve(b, method, 0, 0, &result);
  if (status != CVTM_OK) return status;
  printf("| %d | %s | %lld (chosen) | | | | %lld | %.4e | %.5f | |\n", size,
         cvtm_hlcp_method_name(method), (long long)result.splits, (long long)result.iterations,
         result.residual, result.seconds);
  return status;
}

static cvtm_status print_rows(cli_hlcp_runs *b, int size, cvtm_hlcp_method method,
                              const paper_row *paper, int *agreed, int *compared) {
  double first = 0;
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < MOST_SPLITS && status == CVTM_OK; ++k) {
    if (size == 2048 && k + 1 == MOST_SPLITS) break; /* Table 3 ends at 256 */
    status = print_line(b, size, method, paper, k, &first, agreed, compared);
  }
  return status == CVTM_OK ? print_chosen(b, size, method) : status;
}

static const paper_row *find_published(int example, int size, cvtm_hlcp_method method) {
  for (size_t k = 0; k < sizeof published / sizeof *published && example == 3; ++k)
    if (published[k].size == size && published[k].method == method) return &published[k];
  return NULL;
}

static cvtm_status print_example(cvtm_device *device, const cli_options *options, int example,
                                 int *agreed, int *compared) {
  static const int sizes[] = {256, 512, 1024, 2048};
  static const cvtm_hlcp_method methods[] = {CVTM_HLCP_MMJ, CVTM_HLCP_MMGS, CVTM_HLCP_MMSOR};
  printf("%s: example %d\n\n", example == 3 ? "Tables 2 and 3, Figure 2" : "Figure 2", example);
  printf(
      "| h | method | l | paper: sweeps | seconds | efficiency | this: sweeps | residual | "
      "seconds | efficiency |\n|---|---|---|---|---|---|---|---|---|---|\n");
  cvtm_status status = CVTM_OK;
  for (int s = 0; s < 4 && status == CVTM_OK; ++s) {
    if (skipped(options, sizes[s]) || (sizes[s] == 2048 && example != 3)) continue;
    cli_hlcp_runs b;
    status = cli_hlcp_runs_open(device, example, sizes[s], &b);
    if (status != CVTM_OK) return status;
    for (int m = 0; m < 3 && status == CVTM_OK; ++m) {
      if (sizes[s] == 2048 && methods[m] != CVTM_HLCP_MMGS) continue;
      status = print_rows(&b, sizes[s], methods[m], find_published(example, sizes[s], methods[m]),
                          agreed, compared);
    }
    cli_hlcp_runs_close(&b);
  }
  printf("\n");
  return status;
}

cvtm_status cli_bench_hlcp(cvtm_device *device, const cli_options *options) {
  int agreed = 0, compared = 0;
  cvtm_status status = print_table_1(device, options, &agreed, &compared);
  for (int example = 3; example >= 1 && status == CVTM_OK; --example)
    status = print_example(device, options, example, &agreed, &compared);
  if (status == CVTM_OK) printf("%d of %d published counts agree\n", agreed, compared);
  return status;
}
