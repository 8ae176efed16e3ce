/* A mutator below the checksums of PNG: the data of a chunk, or the filtered rows after inflation,
 * change; lengths, checksums and compression are made anew. */
#pragma once

#include "fuzz.h"

#include <zlib.h>

enum { FUZZ_PNG_ROOM = 1 << 16 };

static inline uint32_t fuzz_big(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void fuzz_put_big(uint8_t *p, uint32_t v) {
  for (int k = 0; k < 4; ++k) p[k] = (uint8_t)(v >> (24 - 8 * k));
}

/* The start of a random chunk, 0: there is none that is whole. */
static inline size_t fuzz_png_chunk(const uint8_t *data, size_t size, const char *type,
                                    uint32_t *state) {
  size_t found = 0;
  uint32_t seen = 0;
  for (size_t at = 8; at + 12 <= size;) {
    const size_t length = fuzz_big(data + at);
    if (length > size - at - 12) break;
    const int fits = type == NULL || memcmp(data + at + 4, type, 4) == 0;
    if (fits && fuzz_random(state) % ++seen == 0) found = at;
    at += 12 + length;
  }
  return found;
}

/* Mutates `length` bytes of room for FUZZ_PNG_ROOM, through zlib if `packed`; 0: they are not. */
static inline size_t fuzz_mutate_bytes(uint8_t *bytes, size_t length, int packed) {
  if (!packed) return LLVMFuzzerMutate(bytes, length, length + 64);
  static uint8_t rows[FUZZ_PNG_ROOM / 2];
  uLongf unpacked = sizeof rows - 64, again = FUZZ_PNG_ROOM;
  if (uncompress(rows, &unpacked, bytes, (uLong)length) != Z_OK) return 0;
  const size_t made = LLVMFuzzerMutate(rows, unpacked, unpacked + 64);
  return compress(bytes, &again, rows, (uLong)made) == Z_OK ? again : 0;
}

/* 0: this is no PNG file, or there was no room. */
static inline size_t fuzz_mutate_png(uint8_t *data, size_t size, size_t most, uint32_t *state) {
  if (size < 20 || memcmp(data, "\x89PNG\r\n\x1a\n", 8) != 0) return 0;
  const int packed = fuzz_random(state) % 3 == 0;
  const size_t at = fuzz_png_chunk(data, size, packed ? "IDAT" : NULL, state);
  const size_t length = at > 0 ? fuzz_big(data + at) : 0;
  if (at == 0 || length > FUZZ_PNG_ROOM / 4) return 0;
  static uint8_t chunk[FUZZ_PNG_ROOM + 12];
  memcpy(chunk, data + at, 8 + length);
  const size_t made = fuzz_mutate_bytes(chunk + 8, length, packed);
  if (packed && made == 0) return 0;
  fuzz_put_big(chunk, (uint32_t)made);
  fuzz_put_big(chunk + 8 + made, (uint32_t)crc32(0, chunk + 4, (uInt)(made + 4)));
  return fuzz_replace(data, size, most, at, 12 + length, chunk, 12 + made);
}
