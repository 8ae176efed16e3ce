/* cvtmesh bench rgcsr: what the position of the diagonal in the rows of RgCSR costs. */
#include "base/clock.h"
#include "bench/command/bench.h"
#include "bench/problems/rgcsr.h"
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIDE = 1024, WIDTH = CVTM_RGCSR_WIDTH, SLICE = CVTM_RGCSR_SLICE };

typedef enum order { ON_GRID, AT_RANDOM, IN_MIDDLE, AT_FRONT, ORDERS } order;

static const char *const order_names[ORDERS] = {"as on the grid", "random", "always the third",
                                                "always the first"};

/* The matrix on the host. */
typedef struct host_matrix {
  int64_t side, rows, entries;
  int32_t *column;
  double *value, *vector;
} host_matrix;

static uint64_t next_number(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

/* The entries of a row by ascending columns, those outside the grid as zeros at the end; returns
 * the place of the diagonal. */
static int list_entries(const host_matrix *h, int64_t row, int32_t *column, double *value) {
  const int64_t i = row % h->side, j = row / h->side;
  const int inside[WIDTH] = {j > 0, i > 0, 1, i + 1 < h->side, j + 1 < h->side};
  const int64_t steps[WIDTH] = {-h->side, -1, 0, 1, h->side};
  int count = 0, diagonal = 0;
  for (int k = 0; k < WIDTH; ++k) {
    if (!inside[k]) continue;
    if (steps[k] == 0) diagonal = count;
    column[count] = (int32_t)(row + steps[k]);
    value[count++] = steps[k] == 0 ? 4.1 : -1;
  }
  for (; count < WIDTH; ++count) {
    column[count] = (int32_t)((row + 1) % h->rows);
    value[count] = 0;
  }
  return diagonal;
}

static void fill_matrix(host_matrix *h, order how) {
  uint64_t seed = 1;
  for (int64_t row = 0; row < h->rows; ++row) {
    int32_t column[WIDTH];
    double value[WIDTH];
    const int from = list_entries(h, row, column, value);
    const int places[ORDERS] = {from, (int)(next_number(&seed) % WIDTH), 2, 0};
    const int to = places[how];
    const int32_t kept_column = column[to];
    const double kept_value = value[to];
    column[to] = column[from];
    value[to] = value[from];
    column[from] = kept_column;
    value[from] = kept_value;
    for (int k = 0; k < WIDTH; ++k) {
      const int64_t at = row / SLICE * (SLICE * WIDTH) + SLICE * k + row % SLICE;
      h->column[at] = column[k];
      h->value[at] = value[k];
    }
  }
}

static cvtm_status send_matrix(cvtm_device *device, const host_matrix *h, const cvtm_rgcsr *m) {
  cvtm_status status =
      cvtm_device_copy_in(device, m->column, h->column, (size_t)h->entries * sizeof *h->column);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, m->value, h->value, (size_t)h->entries * sizeof *h->value);
  return status;
}

/* b = 1, lower = -1, x = 0. */
static cvtm_status reset(cvtm_device *device, const host_matrix *h, const cvtm_rgcsr *m) {
  double *const vectors[3] = {m->b, m->lower, m->x};
  const double values[3] = {1, -1, 0};
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    for (int64_t i = 0; i < h->rows; ++i) h->vector[i] = values[k];
    status = cvtm_device_copy_in(device, vectors[k], h->vector, (size_t)h->rows * sizeof(double));
  }
  return status;
}

/* Microseconds of a sweep: the least of five measurements of about 1/50 second. */
static cvtm_status time_sweeps(cvtm_device *device, const cvtm_rgcsr *m, cvtm_rgcsr_kind kind,
                               double *each) {
  int64_t sweeps = 4;
  cvtm_status status = CVTM_OK;
  *each = HUGE_VAL;
  for (int round = 0; round < 5 && status == CVTM_OK;) {
    const double start = cvtm_clock();
    for (int64_t k = 0; k < sweeps && status == CVTM_OK; ++k)
      status = cvtm_rgcsr_sweep(device, m, kind);
    if (status == CVTM_OK) status = cvtm_device_synchronize(device);
    const double seconds = cvtm_clock() - start;
    if (seconds < 0.02 && round == 0) {
      sweeps *= 2;
      continue;
    }
    *each = fmin(*each, 1e6 * seconds / (double)sweeps);
    ++round;
  }
  return status;
}

/* x after two sweeps from zero, on the host. */
static cvtm_status sweep_twice(cvtm_device *device, const host_matrix *h, const cvtm_rgcsr *m,
                               cvtm_rgcsr_kind kind) {
  cvtm_status status = reset(device, h, m);
  for (int k = 0; k < 2 && status == CVTM_OK; ++k) status = cvtm_rgcsr_sweep(device, m, kind);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(device, h->vector, m->x, (size_t)h->rows * sizeof(double));
}

static cvtm_status print_rows(cvtm_device *device, host_matrix *h, const cvtm_rgcsr *m) {
  double reference = 0, last = NAN;
  cvtm_status status = CVTM_OK;
  for (int how = 0; how < (int)ORDERS && status == CVTM_OK; ++how) {
    fill_matrix(h, (order)how);
    status = send_matrix(device, h, m);
    printf("| %s |", order_names[how]);
    for (int kind = 0; kind < (int)CVTM_RGCSR_KINDS && status == CVTM_OK; ++kind) {
      double each = 0;
      if (kind == (int)CVTM_RGCSR_FIRST && how != (int)AT_FRONT) {
        printf(" - |");
        continue;
      }
      status = sweep_twice(device, h, m, (cvtm_rgcsr_kind)kind);
      if (status == CVTM_OK) last = h->vector[h->rows / 2];
      if (status == CVTM_OK) status = time_sweeps(device, m, (cvtm_rgcsr_kind)kind, &each);
      if (reference == 0) reference = each;
      printf(" %.2f (%+.1f %%) |", each, 100 * (each / reference - 1));
    }
    printf(" %.15g |\n", last);
    fflush(stdout);
  }
  return status;
}

cvtm_status cli_bench_rgcsr(cvtm_device *device, const cli_options *options) {
  const int64_t wanted = options->size_limit > 0 ? options->size_limit : DEFAULT_SIDE;
  host_matrix h = {.side = wanted < 4 ? 4 : wanted / 2 * 2};
  cvtm_rgcsr m = {.side = h.side};
  h.rows = h.side * h.side;
  if (h.side > 32768)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT, "a side of %lld nodes",
                     (long long)h.side);
  h.entries = (h.rows + SLICE - 1) / SLICE * SLICE * WIDTH;
  h.column = calloc((size_t)h.entries, sizeof *h.column);
  h.value = calloc((size_t)h.entries, sizeof *h.value);
  h.vector = calloc((size_t)h.rows, sizeof *h.vector);
  const cvtm_array arrays[] = {CVTM_ARRAY(m.column, h.entries), CVTM_ARRAY(m.value, h.entries),
                               CVTM_ARRAY(m.b, h.rows), CVTM_ARRAY(m.lower, h.rows),
                               CVTM_ARRAY(m.x, h.rows)};
  const size_t count = sizeof arrays / sizeof arrays[0];
  cvtm_status status = cvtm_device_allocate_all(device, arrays, count);
  if (status == CVTM_OK && (h.column == NULL || h.value == NULL || h.vector == NULL))
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  printf(
      "%lld x %lld nodes; microseconds of a red-black sweep, in brackets beside the first.\n\n"
      "| diagonal | by a branch | by a selection | known | x after two sweeps |\n"
      "|---|---|---|---|---|\n",
      (long long)h.side, (long long)h.side);
  if (status == CVTM_OK) status = print_rows(device, &h, &m);
  cvtm_device_free_all(device, arrays, count);
  free(h.column);
  free(h.value);
  free(h.vector);
  return status;
}
