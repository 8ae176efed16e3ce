/* Sliced ELLPACK matrices, and colourings of the rows of a matrix. */
#include "lcp/sparse/sell_kernels.h"

#include "base/primitives.h"
#include "base/select.h"
#include "lcp/colouring.h"
#include "lcp/sparse/csr.h"

#include <stdlib.h>
#include <string.h>

/* A CSR matrix in device memory, and the sizes of slices. */
typedef struct conversion {
  cvtm_csr csr;
  int64_t entries;
  int is_borrowed; /* the arrays belong to the caller */
  int32_t *counts;
} conversion;

static cvtm_arrays csr_arrays(conversion *work) {
  return (cvtm_arrays){{CVTM_ARRAY(work->csr.row_start, work->csr.rows + 1),
                        CVTM_ARRAY(work->csr.column, work->entries),
                        CVTM_ARRAY(work->csr.value, work->entries)}};
}

static void conversion_close(cvtm_device *device, conversion *work) {
  if (!work->is_borrowed) cvtm_device_free_arrays(device, csr_arrays(work));
  cvtm_device_free(device, work->counts);
}

static cvtm_status copy_csr_in(cvtm_device *device, const cvtm_csr *matrix, conversion *work) {
  work->is_borrowed = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
  if (work->is_borrowed) {
    work->csr = *matrix;
    return CVTM_OK;
  }
  const void *const from[] = {matrix->row_start, matrix->column, matrix->value};
  CVTM_TRY(cvtm_device_allocate_arrays(device, csr_arrays(work)));
  const cvtm_arrays to = csr_arrays(work);
  for (int k = 0; k < 3; ++k)
    CVTM_TRY(cvtm_device_copy_in(device, *to.array[k].memory, from[k],
                                 (size_t)to.array[k].count * to.array[k].size));
  return CVTM_OK;
}

static cvtm_status conversion_open(cvtm_device *device, const cvtm_csr *matrix, conversion *work) {
  *work = (conversion){.csr = {.rows = matrix->rows, .columns = matrix->columns},
                       .entries = matrix->row_start[matrix->rows]};
  CVTM_TRY(cvtm_device_allocate(device, matrix->rows + 1, CVTM_TYPED(work->counts)));
  return copy_csr_in(device, matrix, work);
}

static cvtm_status fill_sell(cvtm_device *device, const cvtm_sell_order *order, conversion *work,
                             cvtm_sell *sell) {
  const int64_t slices = cvtm_sell_slices(sell->rows);
  const cvtm_sell_table *table = CVTM_TABLE(device, cvtm_sell_table);
  CVTM_TRY(cvtm_device_allocate(device, slices + 1, CVTM_TYPED(sell->slice_start)));
  CVTM_TRY(table->slice_sizes(device, &work->csr, order, sell->uniform, work->counts));
  CVTM_TRY(cvtm_scan_64(device, work->counts, slices, sell->slice_start));
  CVTM_TRY(cvtm_device_copy_out(device, &sell->entries, sell->slice_start + slices,
                                sizeof sell->entries));
  CVTM_TRY(
      cvtm_device_allocate_arrays(device, (cvtm_arrays){{CVTM_ARRAY(sell->column, sell->entries),
                                                         CVTM_ARRAY(sell->value, sell->entries)}}));
  CVTM_TRY(table->fill_sell(device, &work->csr, order, sell));
  return cvtm_device_synchronize(device);
}

/* Sets *uniform to the number of entries of every slice, if equal slices add at most 1/32 of
 * padding, else to 0. Fails if a row is so long that its slice would have more than INT32_MAX
 * entries. */
static cvtm_status choose_slice_size(cvtm_device *device, const cvtm_csr *matrix,
                                     int64_t *uniform) {
  int64_t longest = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static) \
    reduction(max                                                                  \
              : longest)
  for (int64_t row = 0; row < matrix->rows; ++row) {
    const int64_t length = matrix->row_start[row + 1] - matrix->row_start[row];
    longest = length > longest ? length : longest;
  }
  if (longest > INT32_MAX / CVTM_SLICE_ROWS)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_INPUT,
                     "a row of %lld entries is too long for a sliced matrix", (long long)longest);
  const int64_t entries = matrix->row_start[matrix->rows];
  *uniform = longest * matrix->rows <= entries + entries / 32 ? longest * CVTM_SLICE_ROWS : 0;
  return CVTM_OK;
}

cvtm_status cvtm_sell_create_ordered(cvtm_device *device, const cvtm_csr *matrix,
                                     const cvtm_sell_order *order, cvtm_sell *sell) {
  memset(sell, 0, sizeof *sell);
  CVTM_TRY(choose_slice_size(device, matrix, &sell->uniform));
  sell->rows = matrix->rows;
  sell->columns = matrix->columns;
  conversion work;
  cvtm_status status = conversion_open(device, matrix, &work);
  if (status == CVTM_OK) status = fill_sell(device, order, &work, sell);
  conversion_close(device, &work);
  if (status != CVTM_OK) cvtm_sell_free(device, sell);
  return status;
}

cvtm_status cvtm_sell_create(cvtm_device *device, const cvtm_csr *matrix, cvtm_sell *sell) {
  const cvtm_sell_order identity = {NULL, NULL};
  return cvtm_sell_create_ordered(device, matrix, &identity, sell);
}

void cvtm_sell_free(cvtm_device *device, cvtm_sell *sell) {
  cvtm_device_free(device, sell->slice_start);
  cvtm_device_free(device, sell->column);
  cvtm_device_free(device, sell->value);
  cvtm_device_free(device, sell->run);
  memset(sell, 0, sizeof *sell);
}

cvtm_status cvtm_sell_find_runs(cvtm_device *device, cvtm_sell *sell) {
  CVTM_TRY(cvtm_device_allocate(device, sell->entries / CVTM_SLICE_ROWS, CVTM_TYPED(sell->run)));
  return CVTM_TABLE(device, cvtm_sell_table)->find_runs(device, sell);
}

/* ------ colourings ------ */

static cvtm_status allocate_colours(int64_t rows, cvtm_colouring *colouring, cvtm_error *error) {
  colouring->rows = rows;
  colouring->count = 0;
  colouring->colour = malloc(((size_t)rows + 1) * sizeof *colouring->colour);
  if (colouring->colour != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the colours of %lld rows",
                   (long long)rows);
}

void cvtm_colouring_free(cvtm_colouring *colouring) {
  free(colouring->colour);
  memset(colouring, 0, sizeof *colouring);
}

/* Colours rows in rounds. A round colours at least the heaviest of the rows without colours. */
static cvtm_status run_colouring_rounds(cvtm_device *device, const cvtm_sell *graph,
                                        int32_t *colours[2], int32_t *left,
                                        cvtm_colouring *colouring) {
  const size_t bytes = (size_t)graph->rows * sizeof(int32_t);
  cvtm_status status = cvtm_device_fill(device, colours[0], 0xff, bytes);
  int from = 0;
  for (int32_t any = graph->rows > 0; any && status == CVTM_OK; from = 1 - from) {
    status = cvtm_device_fill(device, left, 0, sizeof *left);
    if (status != CVTM_OK) break;
    status = CVTM_TABLE(device, cvtm_sell_table)
                 ->colour(device, graph, colours[from], colours[1 - from], left);
    if (status == CVTM_OK) status = cvtm_device_copy_out(device, &any, left, sizeof any);
  }
  if (status != CVTM_OK) return status;
  CVTM_TRY(allocate_colours(graph->rows, colouring, cvtm_device_error(device)));
  return cvtm_device_copy_out(device, colouring->colour, colours[from], bytes);
}

cvtm_status cvtm_colouring_create(cvtm_device *device, const cvtm_csr *matrix,
                                  cvtm_colouring *colouring) {
  memset(colouring, 0, sizeof *colouring);
  cvtm_csr pattern = {0, 0, NULL, NULL, NULL};
  cvtm_sell graph;
  memset(&graph, 0, sizeof graph);
  int32_t *colours[2] = {NULL, NULL}, *left = NULL;
  const cvtm_arrays arrays = {{CVTM_ARRAY(colours[0], matrix->rows),
                               CVTM_ARRAY(colours[1], matrix->rows), CVTM_ARRAY(left, 1)}};
  cvtm_status status = cvtm_csr_symmetric_pattern(matrix, cvtm_device_threads(device), &pattern,
                                                  cvtm_device_error(device));
  if (status == CVTM_OK) status = cvtm_sell_create(device, &pattern, &graph);
  if (status == CVTM_OK) status = cvtm_device_allocate_arrays(device, arrays);
  if (status == CVTM_OK) status = run_colouring_rounds(device, &graph, colours, left, colouring);
  cvtm_csr_free(&pattern);
  cvtm_sell_free(device, &graph);
  cvtm_device_free_arrays(device, arrays);
  if (status != CVTM_OK) {
    cvtm_colouring_free(colouring);
    return status;
  }
  for (int64_t row = 0; row < colouring->rows; ++row)
    if (colouring->colour[row] >= colouring->count) colouring->count = colouring->colour[row] + 1;
  return CVTM_OK;
}

cvtm_status cvtm_colouring_create_grid(int64_t width, int64_t height, int32_t colours, int threads,
                                       cvtm_colouring *colouring, cvtm_error *error) {
  memset(colouring, 0, sizeof *colouring);
  if (colours != 2 && colours != 4) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%ld colours for a grid; 2 or 4 are possible",
                     (long)colours);
  }
  CVTM_TRY(allocate_colours(width * height, colouring, error));
  colouring->count = colours;
  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t colour = colours == 2 ? (i + j) % 2 : i % 2 + 2 * (j % 2);
      colouring->colour[j * width + i] = (int32_t)colour;
    }
  }
  return CVTM_OK;
}

static cvtm_status check_row(const cvtm_csr *matrix, const cvtm_colouring *colouring, int64_t row,
                             cvtm_error *error) {
  const int32_t colour = colouring->colour[row];
  if (colour < 0 || colour >= colouring->count)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "row %lld: colour %ld is not within 0 .. %ld",
                     (long long)row + 1, (long)colour, (long)colouring->count - 1);
  for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; ++k) {
    const int32_t column = matrix->column[k];
    if (column != row && column < colouring->rows && colouring->colour[column] == colour)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "row %lld has the colour of row %lld beside it",
                       (long long)row + 1, (long long)column + 1);
  }
  return CVTM_OK;
}

cvtm_status cvtm_colouring_check(const cvtm_csr *matrix, const cvtm_colouring *colouring,
                                 int threads, cvtm_error *error) {
  if (colouring->rows != matrix->rows)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the colouring has %lld rows, but the matrix has %lld",
                     (long long)colouring->rows, (long long)matrix->rows);
  int64_t first = matrix->rows;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : first)
  for (int64_t row = 0; row < matrix->rows; ++row)
    if (row < first && check_row(matrix, colouring, row, NULL) != CVTM_OK) first = row;
  (void)threads;
  return first < matrix->rows ? check_row(matrix, colouring, first, error) : CVTM_OK;
}

void cvtm_colouring_sort(const cvtm_colouring *colouring, int32_t *order, int64_t *start) {
  memset(start, 0, ((size_t)colouring->count + 1) * sizeof *start);
  for (int64_t row = 0; row < colouring->rows; ++row) ++start[colouring->colour[row] + 1];
  for (int32_t colour = 0; colour < colouring->count; ++colour) start[colour + 1] += start[colour];
  for (int64_t row = 0; row < colouring->rows; ++row)
    order[start[colouring->colour[row]]++] = (int32_t)row;
  for (int32_t colour = colouring->count; colour > 0; --colour) start[colour] = start[colour - 1];
  start[0] = 0;
}

static cvtm_status colour_cpu(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                              int32_t *to, int32_t *left) {
  int32_t any = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static) \
    reduction(|                                                                    \
              : any)
  for (int64_t row = 0; row < graph->rows; ++row) {
    to[row] = cvtm_colour_row(graph, row, from);
    any |= to[row] < 0;
  }
  *left |= any;
  return CVTM_OK;
}

CVTM_SELL_PHASES(CVTM_PHASE_CPU)

const cvtm_sell_table cvtm_sell_table_cpu = {.colour = colour_cpu,
                                             CVTM_SELL_PHASES(CVTM_PHASE_CPU_NAME)};
