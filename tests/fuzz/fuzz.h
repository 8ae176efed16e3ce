/* What the fuzz targets share. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Of the engine: changes data in place, returns the new size. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
/* Optional, of a target. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static inline uint32_t fuzz_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static inline uint32_t fuzz_seed(unsigned seed) { return seed * 2654435761u | 1u; }

/* Replaces `old` bytes at `at` by `count` others; 0: no room. */
static inline size_t fuzz_replace(uint8_t *data, size_t size, size_t most, size_t at, size_t old,
                                  const uint8_t *bytes, size_t count) {
  if (at + old > size || size - old + count > most) return 0;
  memmove(data + at + count, data + at + old, size - at - old);
  memcpy(data + at, bytes, count);
  return size - old + count;
}
