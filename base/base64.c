#include "base/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *cvtm_base64_encode(char *to, const unsigned char *bytes, size_t size) {
  for (size_t k = 0; k < size; k += 3) {
    const size_t left = size - k;
    const uint32_t second = left > 1 ? bytes[k + 1] : 0, third = left > 2 ? bytes[k + 2] : 0;
    const uint32_t bits = (uint32_t)bytes[k] << 16 | second << 8 | third;
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
    *to++ = left > 2 ? digits[bits & 63] : '=';
  }
  return to;
}

void cvtm_base64_write(FILE *stream, const unsigned char *bytes, size_t size) {
  enum { BYTES = 3 * 256 };
  char text[BYTES / 3 * 4];
  for (size_t k = 0; k < size; k += BYTES) {
    const char *end = cvtm_base64_encode(text, bytes + k, size - k < BYTES ? size - k : BYTES);
    fwrite(text, 1, (size_t)(end - text), stream);
  }
}
