#include "base/checksum.h"

#include <string.h>

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

uint64_t cvtm_checksum(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  uint64_t sum = (uint64_t)count, place = 0;
  for (size_t left = count; left > 0;) {
    uint64_t word = 0;
    const size_t size = left < sizeof word ? left : sizeof word;
    memcpy(&word, at, size);
    place += UINT64_C(0x9E3779B97F4A7C15);
    sum += mix(mix(place) ^ word);
    at += size;
    left -= size;
  }
  return sum;
}
