/* Binary search in sorted arrays, on both devices. */
#ifndef CVTMESH_BASE_SEARCH_H
#define CVTMESH_BASE_SEARCH_H

#include "base/portable.h"

#include <stdint.h>

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

/* The first of keys[low .. high - 1] that is not below `key`; high if there is none. */
CVTM_DEFINE_LOWER_BOUND(cvtm_lower_bound_32, int32_t)
CVTM_DEFINE_LOWER_BOUND(cvtm_lower_bound_64, uint64_t)

#endif
