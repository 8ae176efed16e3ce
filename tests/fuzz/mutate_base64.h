/* A mutator of base64 in a text: the bytes that it stands for change. */
#pragma once

#include "fuzz.h"

enum { FUZZ_BASE64_MOST = 3072 };

static const char fuzz_base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static inline int fuzz_base64_value(uint8_t c) {
  const char *found = c != 0 ? strchr(fuzz_base64_digits, c) : NULL;
  return found != NULL ? (int)(found - fuzz_base64_digits) : -1;
}

/* The start and length, a multiple of 4, of a random run of 8 digits or more. */
static inline size_t fuzz_find_base64(const uint8_t *data, size_t size, size_t *start,
                                      uint32_t *state) {
  size_t found = 0;
  uint32_t seen = 0;
  for (size_t at = 0; at < size;) {
    size_t end = at;
    while (end < size && fuzz_base64_value(data[end]) >= 0) ++end;
    while (end < size && data[end] == '=') ++end;
    const size_t length = end - at;
    const int after = at > 0 && strchr(">_\n =", data[at - 1]) != NULL;
    if (after && length >= 8 && length % 4 == 0 && fuzz_random(state) % ++seen == 0) {
      *start = at;
      found = length;
    }
    at = end > at ? end : at + 1;
  }
  return found;
}

static inline size_t fuzz_decode_base64(const uint8_t *text, size_t length, uint8_t *bytes) {
  size_t count = 0;
  for (size_t k = 0; k + 4 <= length; k += 4) {
    uint32_t group = 0;
    int digits = 0;
    for (size_t j = 0; j < 4; ++j) {
      const int value = fuzz_base64_value(text[k + j]);
      group = group << 6 | (uint32_t)(value < 0 ? 0 : value);
      digits += value >= 0;
    }
    for (int j = 0; j < digits - 1; ++j) bytes[count++] = (uint8_t)(group >> (16 - 8 * j));
  }
  return count;
}

static inline size_t fuzz_encode_base64(const uint8_t *bytes, size_t count, uint8_t *text) {
  size_t length = 0;
  for (size_t k = 0; k < count; k += 3) {
    const size_t left = count - k;
    const uint32_t group = (uint32_t)bytes[k] << 16 | (left > 1 ? (uint32_t)bytes[k + 1] << 8 : 0) |
                           (left > 2 ? bytes[k + 2] : 0);
    for (size_t j = 0; j < 4; ++j) {
      text[length++] =
          j <= left ? (uint8_t)fuzz_base64_digits[group >> (18 - 6 * j) & 63] : (uint8_t)'=';
    }
  }
  return length;
}

/* 0: there is no base64, or there was no room. */
static inline size_t fuzz_mutate_base64(uint8_t *data, size_t size, size_t most, uint32_t *state) {
  size_t start = 0;
  const size_t length = fuzz_find_base64(data, size, &start, state);
  if (length == 0 || length > FUZZ_BASE64_MOST) return 0;
  uint8_t bytes[FUZZ_BASE64_MOST], text[2 * FUZZ_BASE64_MOST];
  const size_t count = fuzz_decode_base64(data + start, length, bytes);
  const size_t made =
      LLVMFuzzerMutate(bytes, count, count + 32 < sizeof bytes ? count + 32 : count);
  return fuzz_replace(data, size, most, start, length, text, fuzz_encode_base64(bytes, made, text));
}
