/* Inside lcp only: one round of the parallel colouring. */
#ifndef CVTMESH_LCP_SPARSE_COLOURING_KERNELS_H
#define CVTMESH_LCP_SPARSE_COLOURING_KERNELS_H

#include "lcp/sparse/sell_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_colouring_table {
  /* One round from the colours `from` (-1: none yet) to `to`; *left (device memory, 0 before)
   * becomes 1 if a row has none yet. The pattern of graph is symmetric. */
  cvtm_status (*round)(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                       int32_t *to, int32_t *left);
} cvtm_colouring_table;

extern const cvtm_colouring_table cvtm_colouring_table_cpu, cvtm_colouring_table_cuda;

#ifdef __cplusplus
}
#endif

/* A fixed bijection of 32-bit numbers, so that no two rows weigh the same. */
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

/* A row takes its colour once every heavier neighbour has one. Returns its colour or -1. */
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

#endif
