/* Lanes of a warp that share the work on one cell. On the CPU a cell has one lane. Compiles as C11
 * and inside CUDA kernels; there all lanes of a warp make each call together. */
#pragma once

#include "base/portable.h"

#include <stdint.h>

enum { CVTM_WARP = 32 };

/* Lane `lane` of the `count` lanes of a cell, which are every (32 / count)-th lane of the warp. */
typedef struct cvtm_lanes {
  int32_t lane, count;
} cvtm_lanes;

/* Makes the writes of all lanes to shared memory visible to all lanes. */
CVTM_HD void cvtm_lanes_sync(void) {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

/* The index of the lowest set bit; bits is not 0. */
CVTM_HD int32_t cvtm_lowest_bit(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __ffs((int)bits) - 1;
#else
  return __builtin_ctz(bits);
#endif
}

/* True if `yes` is set in any lane of the warp. */
CVTM_HD int cvtm_lanes_any(int yes) {
#ifdef __CUDA_ARCH__
  return __any_sync(0xFFFFFFFFu, yes);
#else
  return yes;
#endif
}

/* One bit for each lane of the cell with `yes` set. */
CVTM_HD uint32_t cvtm_lanes_vote(cvtm_lanes lanes, int yes) {
#ifdef __CUDA_ARCH__
  const int apart = CVTM_WARP / lanes.count, number = (int)(threadIdx.x % CVTM_WARP);
  uint32_t group = 1; /* the bits of the cell that has lane 0 */
  for (int k = apart; k < CVTM_WARP; k *= 2) group |= group << k;
  return __ballot_sync(0xFFFFFFFFu, yes) & (group << number % apart);
#else
  (void)lanes;
  return yes != 0;
#endif
}

/* Numbers the lanes of the cell that have `yes` set, in their order, beginning with *count. Returns
 * the number of this lane, and adds the number of lanes with `yes` set to *count. */
CVTM_HD int32_t cvtm_lanes_number(cvtm_lanes lanes, int yes, int32_t *count) {
  const uint32_t votes = cvtm_lanes_vote(lanes, yes);
  const int32_t before = *count;
#ifdef __CUDA_ARCH__
  *count = before + __popc(votes);
  return before + __popc(votes & ((1u << threadIdx.x % CVTM_WARP) - 1));
#else
  *count = before + (int32_t)votes;
  return before;
#endif
}

/* The maximum over all lanes of the warp. */
CVTM_HD int32_t cvtm_lanes_most(int32_t number) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xFFFFFFFFu, number);
#elif defined __CUDA_ARCH__
  for (int apart = 1; apart < CVTM_WARP; apart *= 2)
    number = max(number, __shfl_xor_sync(0xFFFFFFFFu, number, apart));
#endif
  return number;
}

/* The maximum over the cell's lanes. */
CVTM_HD double cvtm_lanes_largest(cvtm_lanes lanes, double value) {
#ifdef __CUDA_ARCH__
  for (int apart = CVTM_WARP / lanes.count; apart < CVTM_WARP; apart *= 2)
    value = fmax(value, __shfl_xor_sync(0xFFFFFFFFu, value, apart));
#else
  (void)lanes;
#endif
  return value;
}
