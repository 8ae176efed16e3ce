/* Random numbers of tests, the same everywhere: splitmix64. */
#pragma once

#include <stdint.h>

#define SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t random_bits(uint64_t *state) {
  uint64_t z = (*state += SPLITMIX64_STEP);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* In [0, 1). */
static inline double random_unit(uint64_t *state) {
  return (double)(random_bits(state) >> 11) * 0x1p-53;
}

static inline int random_below(uint64_t *state, int n) {
  return (int)(random_bits(state) % (uint64_t)n);
}

/* Of a linear congruential generator (Knuth's MMIX), in [0, 1). */
static inline double congruential_unit(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) * 0x1p-53;
}
