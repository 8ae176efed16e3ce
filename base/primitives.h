/* Parallel primitives on arrays in device memory. Everything is enqueued on the device's stream,
 * allocates nothing, and can be captured in a cvtm_loop. Each primitive takes a workspace of device
 * memory, at least as large as its *_workspace query says for that count and aligned as
 * cvtm_device_allocate does; its contents are lost. The sizes never shrink when count grows, and
 * one workspace may serve several calls in a row. Results have the same bits for any number of
 * threads and on every device. */
#ifndef CVTMESH_BASE_PRIMITIVES_H
#define CVTMESH_BASE_PRIMITIVES_H

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stable sort of count pairs by the lowest `bits` (1 .. 64) bits of the keys, ascending. The
 * result is in keys and values; keys_alt and values_alt (count each) are
 * overwritten. No two of the four arrays overlap. */
cvtm_status cvtm_sort_workspace(cvtm_device *device, int64_t count, size_t *bytes);
cvtm_status cvtm_sort_pairs(cvtm_device *device, uint64_t *keys, int32_t *values,
                            uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits,
                            void *workspace, size_t bytes);

/* sums[i] = counts[0] + ... + counts[i - 1] for i = 0 .. count: count + 1 entries, the
 * total in the last. counts and sums do not overlap. */
cvtm_status cvtm_scan_workspace(cvtm_device *device, int64_t count, size_t *bytes);
cvtm_status cvtm_scan_64(cvtm_device *device, const int32_t *counts, int64_t count, int64_t *sums,
                         void *workspace, size_t bytes);

typedef enum cvtm_reduction {
  /* Each comment is the identity of the reduction, which is the result for count = 0. A NaN among
     the values gives NaN. */
  CVTM_REDUCE_SUM,     /* 0 */
  CVTM_REDUCE_MIN,     /* +infinity */
  CVTM_REDUCE_MAX,     /* -infinity */
  CVTM_REDUCE_MAX_ABS, /* 0 */
} cvtm_reduction;

/* *result (device memory) = the reduction of x, or the dot product of x and y. The
 * order of additions is fixed: blocks of 4096 elements; in each, lane k of 256
 * takes elements k, k + 256, ... in order, starting from the identity,
 * and the lanes are halved (k with k + 128, then k + 64, ...); the results of the
 * blocks are an array that is reduced in the same way, until one is left. */
cvtm_status cvtm_reduce_workspace(cvtm_device *device, int64_t count, size_t *bytes);
cvtm_status cvtm_reduce(cvtm_device *device, cvtm_reduction reduction, const double *x,
                        int64_t count, double *result, void *workspace, size_t bytes);
cvtm_status cvtm_dot(cvtm_device *device, const double *x, const double *y, int64_t count,
                     double *result, void *workspace, size_t bytes);

/* x[i] = value. */
cvtm_status cvtm_vector_fill(cvtm_device *device, double *x, double value, int64_t count);
/* y[i] += a * x[i], with the product rounded. */
cvtm_status cvtm_vector_axpy(cvtm_device *device, double a, const double *x, double *y,
                             int64_t count);

#ifdef __cplusplus
}
#endif
#endif
