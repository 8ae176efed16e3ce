/* A mutator that keeps an NPY header readable: its text changes as a whole or by grammar, its
 * length field follows, and the data become as long as the shape says. */
#pragma once

#include "fuzz.h"

#include <stdio.h>

static inline int fuzz_is_npy(const uint8_t *data, size_t size) {
  return size >= 10 && memcmp(data, "\x93NUMPY", 6) == 0 &&
         10 + ((size_t)data[8] | (size_t)data[9] << 8) <= size;
}

static inline size_t fuzz_write_npy(uint8_t *data, size_t most, const char *text, size_t length,
                                    size_t body) {
  if (10 + length + body > most) return 0;
  memcpy(data, "\x93NUMPY\1\0", 8);
  data[8] = (uint8_t)length;
  data[9] = (uint8_t)(length >> 8);
  memcpy(data + 10, text, length);
  return 10 + length + body;
}

/* Any supported type, up to four small dimensions. */
static inline size_t fuzz_new_npy_header(char *text, size_t capacity, uint32_t *state,
                                         size_t *body) {
  static const char *const types[] = {"<f2", "<f4", "<f8", ">f4", ">f8", "|b1", "|i1", "|u1",
                                      "<i2", ">i4", "<i8", ">u2", "<u4", "=u8", "<f1", "<c8"};
  const char *type = types[fuzz_random(state) % 16];
  *body = (size_t)(type[2] - '0');
  int used = snprintf(text, capacity, "{'descr': '%s', 'fortran_order': %s, 'shape': (", type,
                      fuzz_random(state) % 2 ? "True" : "False");
  const int dimensions = (int)(fuzz_random(state) % 5);
  for (int k = 0; k < dimensions; ++k) {
    const unsigned side = fuzz_random(state) % 8;
    used += snprintf(text + used, capacity - (size_t)used, "%u,", side);
    *body *= side;
  }
  used += snprintf(text + used, capacity - (size_t)used, ")}\n");
  return (size_t)used;
}

/* 0: this is no NPY file, or there was no room. */
static inline size_t fuzz_mutate_npy(uint8_t *data, size_t size, size_t most, uint32_t *state) {
  if (!fuzz_is_npy(data, size)) return 0;
  const size_t length = (size_t)data[8] | (size_t)data[9] << 8;
  char text[1024];
  if (fuzz_random(state) % 2) {
    size_t body;
    const size_t made = fuzz_new_npy_header(text, sizeof text, state, &body);
    const size_t had = size - 10 - length;
    uint8_t first[512] = {0};
    memcpy(first, data + 10 + length, had < sizeof first ? had : sizeof first);
    const size_t now = fuzz_write_npy(data, most, text, made, body);
    if (now == 0) return 0;
    for (size_t k = 0; k < body; ++k) data[10 + made + k] = first[k % sizeof first];
    return now;
  }
  if (length > sizeof text / 2) return 0;
  memcpy(text, data + 10, length);
  const size_t made = LLVMFuzzerMutate((uint8_t *)text, length, sizeof text);
  const size_t now = fuzz_replace(data, size, most, 10, length, (const uint8_t *)text, made);
  if (now == 0) return 0;
  data[8] = (uint8_t)made;
  data[9] = (uint8_t)(made >> 8);
  return now;
}
