/* Parallel primitives on arrays in device memory. All of them are enqueued on the device's stream.
 * Sorts, scans and reductions use a workspace of the device, which they enlarge if it is too small
 * (CVTM_ERROR_MEMORY). A *_reserve function makes the workspace large enough for calls of this or a
 * smaller count. It is called before the body of a cvtm_loop is captured, which must not allocate,
 * and before communication, where a rank that fails alone would leave the others waiting.
 * Results have the same bits for any number of threads and on every device. */
#pragma once

#include "base/device.h"

CVTM_C_BEGIN

/* Sorts `count` pairs, stably, by the lowest `bits` (1 .. 64) bits of the keys, ascending.
 * keys_alt, values_alt: `count` elements each, which are overwritten. No two arrays overlap. */
cvtm_status cvtm_sort_reserve(cvtm_device *device, int64_t count);
cvtm_status cvtm_sort_pairs(cvtm_device *device, uint64_t *keys, int32_t *values,
                            uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits);

/* sums[i] = counts[0] + ... + counts[i - 1] for i = 0 .. count, so sums has count + 1 entries.
 * counts and sums do not overlap. */
cvtm_status cvtm_scan_reserve(cvtm_device *device, int64_t count);
cvtm_status cvtm_scan_64(cvtm_device *device, const int32_t *counts, int64_t count, int64_t *sums);

typedef enum cvtm_reduction {
  /* The comments give the result for count = 0. A NaN among the values gives NaN. */
  CVTM_REDUCE_SUM,     /* 0 */
  CVTM_REDUCE_MIN,     /* +infinity */
  CVTM_REDUCE_MAX,     /* -infinity */
  CVTM_REDUCE_MAX_ABS, /* 0 */
} cvtm_reduction;

/* *result (device memory) = the reduction of x, or the dot product of x and y. The order of the
 * operations is fixed. In each block of 4096 elements, lane k of 256 takes elements k, k + 256, ...
 * in this order; then lane k is joined with lane k + 128, then k + 64, and so on. The results of
 * the blocks are an array that is reduced in the same way, until one result is left. */
cvtm_status cvtm_reduce_reserve(cvtm_device *device, int64_t count);
cvtm_status cvtm_reduce(cvtm_device *device, cvtm_reduction reduction, const double *x,
                        int64_t count, double *result);
cvtm_status cvtm_dot(cvtm_device *device, const double *x, const double *y, int64_t count,
                     double *result);

/* x[i] = value. */
cvtm_status cvtm_vector_fill(cvtm_device *device, double *x, double value, int64_t count);
/* y[i] += a * x[i], with the product rounded. */
cvtm_status cvtm_vector_axpy(cvtm_device *device, double a, const double *x, double *y,
                             int64_t count);

CVTM_C_END
