/* Inside lcp only: the kernels of sliced ELLPACK matrices and of colourings, and functions that
 * read the rows of such matrices on both devices. */
#pragma once

#include "base/phases.h"
#include "base/portable.h"
#include "lcp/sparse.h"

CVTM_C_BEGIN

/* Permutations in device memory. Row k of the sliced matrix is row row[k] of the CSR matrix; column
 * c of the CSR matrix becomes column place[c]. NULL: the identity. */
typedef struct cvtm_sell_order {
  const int32_t *row, *place;
} cvtm_sell_order;

cvtm_status cvtm_sell_create_ordered(cvtm_device *device, const cvtm_csr *matrix,
                                     const cvtm_sell_order *order, cvtm_sell *sell);

/* A list of phases (base/phases.h). All arrays are in device memory, including those of the
 * cvtm_csr. */
#define CVTM_SELL_PHASES(X)                                                                    \
  /* Sets sizes[s] to the number of stored entries of slice s, padding included. */            \
  X(slice_sizes,                                                                               \
    (cvtm_device * device, const cvtm_csr *csr, const cvtm_sell_order *order, int64_t uniform, \
     int32_t *sizes),                                                                          \
    device, cvtm_sell_slices(csr->rows), cvtm_sell_size_slice, CVTM_HOST_STRUCT(csr),          \
    CVTM_HOST_STRUCT(order), uniform, sizes)                                                   \
  X(fill_sell,                                                                                 \
    (cvtm_device * device, const cvtm_csr *csr, const cvtm_sell_order *order,                  \
     const cvtm_sell *sell),                                                                   \
    device, cvtm_sell_slices(csr->rows) * CVTM_SLICE_ROWS, cvtm_sell_fill_row,                 \
    CVTM_HOST_STRUCT(csr), CVTM_HOST_STRUCT(order), CVTM_HOST_STRUCT(sell))                    \
  /* Fills in sell->run. */                                                                    \
  X(find_runs, (cvtm_device * device, const cvtm_sell *sell), device,                          \
    sell->entries / CVTM_SLICE_ROWS, cvtm_sell_find_run, CVTM_HOST_STRUCT(sell))

typedef struct cvtm_sell_table {
  /* Runs a round of colouring, from the colours `from` (-1: none yet) to `to`. Sets *left (device
   * memory, 0 before) to 1 if a row has no colour yet. The pattern of graph is symmetric. */
  cvtm_status (*colour)(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                        int32_t *to, int32_t *left);
  CVTM_SELL_PHASES(CVTM_PHASE_FIELD)
} cvtm_sell_table;

extern const cvtm_sell_table cvtm_sell_table_cpu, cvtm_sell_table_cuda;

CVTM_C_END

CVTM_HD int64_t cvtm_sell_slices(int64_t rows) {
  return rows / CVTM_SLICE_ROWS + (rows % CVTM_SLICE_ROWS != 0);
}

/* cvtm_sell_first: the index of entry 0 of a row; cvtm_sell_end: the end of its slice. Consecutive
 * entries of a row are CVTM_SLICE_ROWS apart. */
CVTM_HD int64_t cvtm_sell_first(const cvtm_sell *sell, int64_t row) {
  const int64_t slice = row / CVTM_SLICE_ROWS;
  const int64_t start = sell->uniform > 0 ? slice * sell->uniform : sell->slice_start[slice];
  return start + row % CVTM_SLICE_ROWS;
}
CVTM_HD int64_t cvtm_sell_end(const cvtm_sell *sell, int64_t row) {
  const int64_t next = row / CVTM_SLICE_ROWS + 1;
  return sell->uniform > 0 ? next * sell->uniform : sell->slice_start[next];
}

CVTM_HD int32_t cvtm_sell_padding(const cvtm_sell *sell, int64_t row) {
  return row < sell->columns ? (int32_t)row : 0;
}

/* The number of entries that are loaded before the first is used; several on a GPU, so that their
 * loads overlap. */
#ifdef __CUDA_ARCH__
#define CVTM_SELL_BATCH 5
#define CVTM_UNROLLED _Pragma("unroll")
#else
#define CVTM_SELL_BATCH 1
#define CVTM_UNROLLED
#endif
enum { CVTM_SELL_STEP = CVTM_SELL_BATCH * CVTM_SLICE_ROWS };

typedef struct cvtm_sell_batch {
  int32_t column[CVTM_SELL_BATCH];
  double value[CVTM_SELL_BATCH];
} cvtm_sell_batch;

/* Reads a batch of a row's entries, beginning at index `at`, padded beyond the end of the row. */
CVTM_HD cvtm_sell_batch cvtm_sell_read(const cvtm_sell *sell, int64_t row, int64_t at,
                                       int64_t end) {
  cvtm_sell_batch batch;
  CVTM_UNROLLED
  for (int j = 0; j < CVTM_SELL_BATCH; ++j) {
    const int64_t k = at + j * CVTM_SLICE_ROWS;
    batch.column[j] = cvtm_sell_padding(sell, row);
    batch.value[j] = 0;
    if (k >= end) continue;
    const int32_t run = sell->run != NULL ? sell->run[k / CVTM_SLICE_ROWS] : -1;
    batch.column[j] = run >= 0 ? run + (int32_t)(row % CVTM_SLICE_ROWS) : sell->column[k];
    batch.value[j] = sell->value[k];
  }
  return batch;
}

CVTM_HD double cvtm_sell_row_times(const cvtm_sell *sell, int64_t row, const double *x) {
  const int64_t end = cvtm_sell_end(sell, row);
  double sum = 0;
  for (int64_t k = cvtm_sell_first(sell, row); k < end; k += CVTM_SELL_STEP) {
    const cvtm_sell_batch batch = cvtm_sell_read(sell, row, k, end);
    double at[CVTM_SELL_BATCH];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) at[j] = x[batch.column[j]];
    CVTM_UNROLLED
    for (int j = 0; j < CVTM_SELL_BATCH; ++j) sum += batch.value[j] * at[j];
  }
  return sum;
}

/* Sets the number of entries of a slice: 32 times the length of its longest row. uniform: as in
 * cvtm_sell. */
CVTM_HD void cvtm_sell_size_slice(const cvtm_csr *csr, const cvtm_sell_order *order,
                                  int64_t uniform, int32_t *sizes, int64_t slice) {
  const int64_t start = slice * CVTM_SLICE_ROWS;
  const int64_t end = start + CVTM_SLICE_ROWS < csr->rows ? start + CVTM_SLICE_ROWS : csr->rows;
  int64_t longest = 0;
  for (int64_t row = start; row < end && uniform == 0; ++row) {
    const int64_t from = order->row != NULL ? order->row[row] : row;
    const int64_t length = csr->row_start[from + 1] - csr->row_start[from];
    if (length > longest) longest = length;
  }
  sizes[slice] = (int32_t)(uniform > 0 ? uniform : longest * CVTM_SLICE_ROWS);
}

/* Longer rows are sorted by heapsort, others by insertion, since most are almost sorted. */
enum { CVTM_LONG_ROW = 256 };

/* Inserts an entry among the sorted entries first .. at - stride. Entry `at` is free. */
CVTM_HD void cvtm_insert_entry(int32_t *column, double *value, int64_t stride, int64_t first,
                               int64_t at, int32_t new_column, double new_value) {
  for (; at > first && column[at - stride] > new_column; at -= stride) {
    column[at] = column[at - stride];
    value[at] = value[at - stride];
  }
  column[at] = new_column;
  value[at] = new_value;
}

/* Restores the heap below `place`. Entries of the heap are `stride` apart. */
CVTM_HD void cvtm_sift_down(int32_t *column, double *value, int64_t stride, int64_t place,
                            int64_t count) {
  const int32_t c = column[place * stride];
  const double v = value[place * stride];
  for (int64_t child = 2 * place + 1; child < count; child = 2 * place + 1) {
    if (child + 1 < count && column[(child + 1) * stride] > column[child * stride]) ++child;
    if (column[child * stride] <= c) break;
    column[place * stride] = column[child * stride];
    value[place * stride] = value[child * stride];
    place = child;
  }
  column[place * stride] = c;
  value[place * stride] = v;
}

CVTM_HD void cvtm_sort_long_row(int32_t *column, double *value, int64_t stride, int64_t count) {
  for (int64_t k = count / 2; k > 0; --k) cvtm_sift_down(column, value, stride, k - 1, count);
  for (int64_t k = count - 1; k > 0; --k) {
    const int32_t c = column[0];
    const double v = value[0];
    column[0] = column[k * stride];
    value[0] = value[k * stride];
    column[k * stride] = c;
    value[k * stride] = v;
    cvtm_sift_down(column, value, stride, 0, k);
  }
}

/* Fills a row by ascending columns. Rows after the last row, which complete its slice, consist of
 * padding. */
CVTM_HD void cvtm_sell_fill_row(const cvtm_csr *csr, const cvtm_sell_order *order,
                                const cvtm_sell *sell, int64_t row) {
  const int64_t first = cvtm_sell_first(sell, row), end = cvtm_sell_end(sell, row);
  const int64_t source = row >= csr->rows || order->row == NULL ? row : order->row[row];
  int64_t from = row < csr->rows ? csr->row_start[source] : 0;
  const int64_t from_end = row < csr->rows ? csr->row_start[source + 1] : 0;
  const int64_t count = from_end - from;
  const int is_long = count > CVTM_LONG_ROW;
  int64_t at = first;
  for (; from < from_end; at += CVTM_SLICE_ROWS, ++from) {
    const int32_t column =
        order->place != NULL ? order->place[csr->column[from]] : csr->column[from];
    cvtm_insert_entry(sell->column, sell->value, CVTM_SLICE_ROWS, is_long ? at : first, at, column,
                      csr->value[from]);
  }
  if (is_long)
    cvtm_sort_long_row(sell->column + first, sell->value + first, CVTM_SLICE_ROWS, count);
  for (; at < end; at += CVTM_SLICE_ROWS) {
    sell->column[at] = cvtm_sell_padding(sell, row);
    sell->value[at] = 0;
  }
}

/* Sets cvtm_sell.run for a group. A group is one entry of the 32 rows of a slice. */
CVTM_HD void cvtm_sell_find_run(const cvtm_sell *sell, int64_t group) {
  const int32_t *column = sell->column + group * CVTM_SLICE_ROWS;
  int32_t run = column[0];
  for (int32_t j = 1; run >= 0 && j < CVTM_SLICE_ROWS; ++j)
    if (column[j] != column[0] + j) run = -1;
  sell->run[group] = run;
}

/* --- one round of the parallel colouring --- */

/* A fixed bijection of 32-bit numbers, so that any two rows have different weights. */
CVTM_HD uint32_t cvtm_colouring_weight(int64_t row) {
  uint32_t h = (uint32_t)row;
  h ^= h >> 16;
  h *= UINT32_C(0x7feb352d);
  h ^= h >> 15;
  h *= UINT32_C(0x846ca68b);
  h ^= h >> 16;
  return h;
}

/* The smallest colour that no neighbour has. */
CVTM_HD int32_t cvtm_smallest_colour(const cvtm_sell *graph, int64_t row, const int32_t *colour) {
  const int64_t first = cvtm_sell_first(graph, row), end = cvtm_sell_end(graph, row);
  for (int32_t base = 0;; base += 64) {
    uint64_t taken = 0;
    for (int64_t k = first; k < end; k += CVTM_SLICE_ROWS) {
      const int32_t column = graph->column[k];
      const int32_t other = column == row ? -1 : colour[column] - base;
      if (other >= 0 && other < 64) taken |= UINT64_C(1) << other;
    }
    for (int32_t bit = 0; bit < 64; ++bit)
      if ((taken >> bit & 1) == 0) return base + bit;
  }
}

/* Colours a row once all heavier neighbours have colours. Returns the colour, or -1. */
CVTM_HD int32_t cvtm_colour_row(const cvtm_sell *graph, int64_t row, const int32_t *colour) {
  if (colour[row] >= 0) return colour[row];
  const uint32_t weight = cvtm_colouring_weight(row);
  const int64_t end = cvtm_sell_end(graph, row);
  for (int64_t k = cvtm_sell_first(graph, row); k < end; k += CVTM_SLICE_ROWS) {
    const int32_t column = graph->column[k];
    if (column != row && colour[column] < 0 && cvtm_colouring_weight(column) > weight) return -1;
  }
  return cvtm_smallest_colour(graph, row, colour);
}
