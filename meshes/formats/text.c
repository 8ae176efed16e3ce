#include "meshes/formats/text.h"

#include "base/numeric_locale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { MOST_POWER = 32 }; /* a significand of 53 bits times 5^32 takes less than 128 bits */

static wide power_of_five(int power) {
  /* Two factors of at most 5^16. */
  static const uint64_t powers[] = {1,           5,           25,        125,        625,
                                    3125,        15625,       78125,     390625,     1953125,
                                    9765625,     48828125,    244140625, 1220703125, 6103515625,
                                    30517578125, 152587890625};
  return power <= 16 ? (wide)powers[power] : (wide)powers[16] * powers[power - 16];
}

static uint64_t power_of_ten(int power) { return (uint64_t)power_of_five(power) << power; }

/* A positive double as significand * 2^exponent. */
typedef struct binary {
  uint64_t significand;
  int exponent;
} binary;

static binary split(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int exponent = (int)(bits >> 52 & 2047);
  const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
  if (exponent == 0) return (binary){fraction, -1074};
  return (binary){fraction | (uint64_t)1 << 52, exponent - 1075};
}

/* value * 10^power = product / 2^shift, exactly. */
typedef struct scaled {
  wide product;
  int shift; /* 0 .. 127 */
} scaled;

/* Returns 0 if that does not fit. */
static int scale(binary b, int power, scaled *s) {
  if (power < 0 || power > MOST_POWER) return 0;
  s->product = (wide)b.significand * power_of_five(power);
  s->shift = -(b.exponent + power);
  if (s->shift > 127) return 0;
  if (s->shift >= 0) return 1;
  if (s->shift < -63 || s->product >> (127 + s->shift) != 0) return 0;
  s->product <<= -s->shift;
  s->shift = 0;
  return 1;
}

/* Rounded to the nearest integer, ties to even. */
static wide round_scaled(scaled s) {
  const wide quotient = s.product >> s.shift;
  if (s.shift == 0) return quotient;
  const wide rest = s.product - (quotient << s.shift), half = (wide)1 << (s.shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0));
}

/* True if digits / 10^power reads back as this double. Also 0 at powers of two, below which doubles
 * are denser and this test does not decide. */
static int reads_back(binary b, scaled s, int power, wide digits) {
  const wide back = digits << s.shift;
  const wide error = back > s.product ? back - s.product : s.product - back;
  if (error == 0) return 1;
  if (b.significand <= (uint64_t)1 << 52) return 0;
  /* Half a unit in the last place, in the same units. */
  return 2 * error < power_of_five(power) << (s.shift + b.exponent + power);
}

/* The power for which value * 10^power has `digits` digits before the point; -1 if none is found.
 */
static int find_power(binary b, double value, int digits, scaled *s) {
  int exponent;
  (void)frexp(value, &exponent);
  int power = digits - 1 - (int)floor((exponent - 1) * 0.30102999566398120);
  const wide low = power_of_ten(digits - 1), high = 10 * low;
  for (int tries = 0; tries < 3; ++tries) {
    if (!scale(b, power, s)) return -1;
    const wide quotient = s->product >> s->shift;
    if (quotient >= low && quotient < high) return power;
    power += quotient < low ? 1 : -1;
  }
  return -1;
}

/* digits / 10^decimals without trailing zeros; digits are below 10^19. */
static char *put_decimal(char *to, uint64_t digits, int decimals) {
  while (decimals > 0 && digits % 10 == 0) {
    digits /= 10;
    --decimals;
  }
  const uint64_t unit = power_of_ten(decimals < 19 ? decimals : 19);
  to = cvtm_text_integer(to, (int64_t)(digits / unit));
  if (decimals == 0) return to;
  *to = '.';
  uint64_t fraction = digits % unit;
  for (int k = decimals; k > 0; --k, fraction /= 10) to[k] = (char)('0' + fraction % 10);
  return to + decimals + 1;
}

static char *print_number(char *to, double value) {
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  int length = snprintf(to, CVTM_TEXT_NUMBER, "%.15g", value);
  if (strtod(to, NULL) != value) length = snprintf(to, CVTM_TEXT_NUMBER, "%.17g", value);
  cvtm_numeric_locale_leave(locale);
  return to + length;
}

char *cvtm_text_number(char *to, double value) {
  const double size = fabs(value);
  /* Where %g writes no exponent. */
  if (!(size >= 1e-4 && size < 1e14)) {
    if (size == 0) return cvtm_text_word(to, signbit(value) ? "-0" : "0");
    return print_number(to, value);
  }
  const binary b = split(size);
  scaled s;
  int power = find_power(b, size, 15, &s);
  if (power < 0) return print_number(to, value);
  wide digits = round_scaled(s);
  if (!reads_back(b, s, power, digits)) {
    if (b.significand == (uint64_t)1 << 52) return print_number(to, value);
    power += 2;
    if (!scale(b, power, &s)) return print_number(to, value);
    digits = round_scaled(s);
  }
  if (value < 0) *to++ = '-';
  return put_decimal(to, (uint64_t)digits, power);
}

static char *print_fixed(char *to, double value, int decimals) {
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  int length = snprintf(to, CVTM_TEXT_FIXED, "%.*f", decimals, value);
  cvtm_numeric_locale_leave(locale);
  while (decimals > 0 && to[length - 1] == '0') --length;
  if (to[length - 1] == '.') --length;
  if (length == 2 && memcmp(to, "-0", 2) == 0) return cvtm_text_word(to, "0");
  return to + length;
}

char *cvtm_text_fixed(char *to, double value, int decimals) {
  const double size = fabs(value);
  scaled s;
  if (!(size < 1e17) || decimals < 1) return print_fixed(to, value, decimals);
  const double least = 1e-20;
  if (size < least) return cvtm_text_word(to, "0");
  if (!scale(split(size), decimals, &s)) return print_fixed(to, value, decimals);
  const wide digits = round_scaled(s);
  if (digits >> 62 != 0) return print_fixed(to, value, decimals);
  if (value < 0 && digits > 0) *to++ = '-';
  return put_decimal(to, (uint64_t)digits, decimals);
}

char *cvtm_text_integer(char *to, int64_t value) {
  char digits[CVTM_TEXT_INTEGER];
  int length = 0;
  uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    digits[length++] = (char)('0' + size % 10);
    size /= 10;
  } while (size > 0);
  if (value < 0) *to++ = '-';
  while (length > 0) *to++ = digits[--length];
  return to;
}

char *cvtm_text_word(char *to, const char *word) {
  const size_t length = strlen(word);
  memcpy(to, word, length);
  return to + length;
}

/* ---- files ---- */

enum { BLOCKS = 16, BLOCK_BYTES = 1 << 20 };

static void write_each(FILE *file, int64_t count, cvtm_item_writer writer, const void *context) {
  char text[CVTM_MOST_ITEM_BYTES];
  for (int64_t i = 0; i < count; ++i)
    fwrite(text, 1, (size_t)(writer(text, context, i) - text), file);
}

void cvtm_write_items(FILE *file, int64_t count, size_t most, cvtm_item_writer writer,
                      const void *context) {
  const int64_t per_block = BLOCK_BYTES / (int64_t)most;
  const int64_t blocks = (count + per_block - 1) / per_block;
  const int at_once = (int)(blocks < BLOCKS ? blocks : BLOCKS);
  char *text = malloc((size_t)at_once * BLOCK_BYTES + 1);
  if (text == NULL) {
    write_each(file, count, writer, context);
    return;
  }
  for (int64_t first = 0; first < blocks; first += at_once) {
    size_t length[BLOCKS] = {0};
#pragma omp parallel for schedule(dynamic) if (at_once > 1)
    for (int b = 0; b < at_once; ++b) {
      const int64_t start = (first + b) * per_block;
      char *const begin = text + (ptrdiff_t)b * BLOCK_BYTES;
      char *to = begin;
      for (int64_t i = start; i < start + per_block && i < count; ++i) to = writer(to, context, i);
      length[b] = (size_t)(to - begin);
    }
    for (int b = 0; b < at_once; ++b) fwrite(text + (ptrdiff_t)b * BLOCK_BYTES, 1, length[b], file);
  }
  free(text);
}
