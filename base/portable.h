/* Macros and functions for headers that compile as C11 and as CUDA C++. */
#pragma once

#ifdef __CUDACC__
#define CVTM_HD static __host__ __device__ inline
#else
#define CVTM_HD static inline
#endif

/* a * b + c, rounded once or twice, which depends on the device: only for sums on which no decision
 * depends. */
#ifdef __CUDA_ARCH__
#define CVTM_FMA(a, b, c) __fma_rn(a, b, c)
#define CVTM_FMAF(a, b, c) __fmaf_rn(a, b, c)
#else
#define CVTM_FMA(a, b, c) ((a) * (b) + (c))
#define CVTM_FMAF(a, b, c) ((a) * (b) + (c))
#endif

#include <stdint.h>

#define CVTM_PI 3.14159265358979323846

/* The number of zero bits above the highest set bit; 64 for 0. */
CVTM_HD int cvtm_leading_zeros(uint64_t bits) {
#ifdef __CUDA_ARCH__
  return __clzll((long long)bits);
#else
  return bits == 0 ? 64 : __builtin_clzll(bits);
#endif
}

/* Defines a binary search in sorted arrays. */
#define CVTM_DEFINE_LOWER_BOUND(name, type)                                     \
  CVTM_HD int64_t name(const type *keys, int64_t low, int64_t high, type key) { \
    while (low < high) {                                                        \
      const int64_t middle = low + (high - low) / 2;                            \
      if (keys[middle] < key)                                                   \
        low = middle + 1;                                                       \
      else                                                                      \
        high = middle;                                                          \
    }                                                                           \
    return low;                                                                 \
  }

/* The index of the first of keys[low .. high - 1] that is not below `key`; high if there is
 * none. */
CVTM_DEFINE_LOWER_BOUND(cvtm_lower_bound_32, int32_t)
CVTM_DEFINE_LOWER_BOUND(cvtm_lower_bound_64, uint64_t)
