/* A mutator of TIFF directories: an entry's tag, type, count or value becomes one that means
 * something, such as an offset within the file. */
#pragma once

#include "fuzz.h"

typedef struct fuzz_tiff {
  uint8_t *data;
  int big;
} fuzz_tiff;

static inline uint32_t fuzz_tiff_get(const fuzz_tiff *t, size_t at, int bytes) {
  uint32_t value = 0;
  for (int k = 0; k < bytes; ++k)
    value |= (uint32_t)t->data[at + (size_t)k] << 8 * (t->big ? bytes - 1 - k : k);
  return value;
}

static inline void fuzz_tiff_put(const fuzz_tiff *t, size_t at, int bytes, uint32_t value) {
  for (int k = 0; k < bytes; ++k)
    t->data[at + (size_t)k] = (uint8_t)(value >> 8 * (t->big ? bytes - 1 - k : k));
}

static inline uint32_t fuzz_tiff_number(uint32_t size, uint32_t *state) {
  static const uint32_t edges[] = {0,  1,   2,     3,     4,          8,         16,
                                   32, 255, 65535, 65536, 0x7fffffff, 0xffffffff};
  return fuzz_random(state) % 2 ? fuzz_random(state) % (size + 1)
                                : edges[fuzz_random(state) % (sizeof edges / sizeof edges[0])];
}

/* 0: this is no TIFF file, or its directory lies outside it. */
static inline size_t fuzz_mutate_tiff(uint8_t *data, size_t size, uint32_t *state) {
  static const uint32_t tags[] = {254, 256, 257, 258, 259, 262, 266, 273, 274, 277, 278,
                                  279, 284, 317, 320, 322, 323, 324, 325, 338, 339, 530};
  const int little = size >= 14 && memcmp(data, "II*\0", 4) == 0;
  if (!little && !(size >= 14 && memcmp(data, "MM\0*", 4) == 0)) return 0;
  const fuzz_tiff t = {data, !little};
  const uint32_t directory = fuzz_tiff_get(&t, 4, 4);
  if (directory > size - 14) return 0;
  const uint32_t entries = fuzz_tiff_get(&t, directory, 2);
  const size_t room = (size - directory - 2) / 12;
  if (entries == 0 || room == 0) return 0;
  const size_t at =
      directory + 2 + 12 * (size_t)(fuzz_random(state) % (entries < room ? entries : room));
  switch (fuzz_random(state) % 4) {
    case 0:
      fuzz_tiff_put(&t, at, 2, tags[fuzz_random(state) % (sizeof tags / sizeof tags[0])]);
      break;
    case 1:
      fuzz_tiff_put(&t, at + 2, 2, fuzz_random(state) % 18);
      break;
    case 2:
      fuzz_tiff_put(&t, at + 4, 4, fuzz_tiff_number((uint32_t)size, state));
      break;
    default:
      if (fuzz_tiff_get(&t, at + 2, 2) == 3)
        fuzz_tiff_put(&t, at + 8, 2, fuzz_tiff_number((uint32_t)size, state));
      else
        fuzz_tiff_put(&t, at + 8, 4, fuzz_tiff_number((uint32_t)size, state));
  }
  return size;
}
