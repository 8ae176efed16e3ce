#include "base/base64.h"

void cvtm_base64_write(FILE *stream, const unsigned char *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t k = 0; k < size; k += 3) {
    const unsigned a = bytes[k], b = k + 1 < size ? bytes[k + 1] : 0u;
    const unsigned c = k + 2 < size ? bytes[k + 2] : 0u, word = a << 16 | b << 8 | c;
    fputc(digits[word >> 18], stream);
    fputc(digits[word >> 12 & 63], stream);
    fputc(k + 1 < size ? digits[word >> 6 & 63] : '=', stream);
    fputc(k + 2 < size ? digits[word & 63] : '=', stream);
  }
}
