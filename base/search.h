/* Binary search in sorted arrays, on both devices. */
#ifndef CVTMESH_BASE_SEARCH_H
#define CVTMESH_BASE_SEARCH_H

#include "base/portable.h"

#include <stdint.h>

/* The first of keys[low .. high - 1] that is not below `key`; high if there is none. */
CVTM_HD int64_t cvtm_lower_bound_64(const uint64_t *keys, int64_t low, int64_t high, uint64_t key) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The same for 32-bit integers. */
CVTM_HD int64_t cvtm_lower_bound_32(const int32_t *keys, int64_t low, int64_t high, int32_t key) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

#endif
