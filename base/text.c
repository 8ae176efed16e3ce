#include "base/text.h"

#include "base/random.h"

#include <locale.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- CSV tables of numbers -------------------------------------------------------------------- */

static const char byte_order_mark[] = "\xef\xbb\xbf";

size_t cvtm_csv_byte_order_mark(const void *data, size_t size) {
  const size_t length = sizeof byte_order_mark - 1;
  return size >= length && memcmp(data, byte_order_mark, length) == 0 ? length : 0;
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

cvtm_csv_line cvtm_csv_take_line(const void *data, size_t size, size_t *at) {
  const char *text = (const char *)data + *at;
  const size_t left = size - *at;
  const char *newline = memchr(text, '\n', left);
  cvtm_csv_line line = {.at = text, .end = newline != NULL ? newline : text + left};
  *at += (size_t)(line.end - text) + (newline != NULL);
  const char *comment = memchr(text, '#', (size_t)(line.end - text));
  line.has_comment = comment != NULL;
  if (comment != NULL) line.end = comment;
  line.separator = memchr(text, ';', (size_t)(line.end - text)) != NULL ? ';' : ',';
  while (line.at < line.end && is_blank(*line.at)) ++line.at;
  while (line.end > line.at && is_blank(line.end[-1])) --line.end;
  return line;
}

int cvtm_csv_next_field(cvtm_csv_line *line, cvtm_csv_field *field) {
  const char *at = line->at;
  if (at >= line->end) return 0;
  field->text = at;
  while (at < line->end && *at != line->separator && !is_blank(*at)) ++at;
  field->length = (size_t)(at - field->text);
  while (at < line->end && is_blank(*at)) ++at;
  if (at < line->end && *at == line->separator) ++at;
  while (at < line->end && is_blank(*at)) ++at;
  line->at = at;
  return 1;
}

/* --- lines `name = value` --------------------------------------------------------------------- */

char *cvtm_trim(char *text) {
  text += strspn(text, " \t\r");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) --length;
  text[length] = '\0';
  return text;
}

int cvtm_pairs_take(cvtm_pairs *pairs) {
  while (pairs->next != NULL) {
    char *line = pairs->next;
    pairs->next = strchr(line, '\n');
    if (pairs->next != NULL) *pairs->next++ = '\0';
    ++pairs->line;
    line = cvtm_trim(line);
    if (*line == '\0' || *line == '#') continue;
    char *equals = strchr(line, '=');
    if (equals != NULL) *equals = '\0';
    pairs->name = cvtm_trim(line);
    pairs->value = equals != NULL ? cvtm_trim(equals + 1) : NULL;
    return 1;
  }
  return 0;
}

cvtm_status cvtm_pairs_fail(const cvtm_pairs *pairs, const char *reason) {
  return cvtm_fail(pairs->error, CVTM_ERROR_INPUT, "%s: line %d: %s", pairs->file, pairs->line,
                   reason);
}

/* --- Base64 (RFC 4648) ------------------------------------------------------------------------ */

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

/* --- numbers in any locale -------------------------------------------------------------------- */

/* The C locale, which is never freed; the C library has it and allocates nothing. */
static locale_t c_locale(void) {
  static _Atomic(locale_t) made;
  locale_t known = atomic_load_explicit(&made, memory_order_acquire);
  if (known == (locale_t)0) {
    known = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    atomic_store_explicit(&made, known, memory_order_release);
  }
  return known;
}

cvtm_numeric_locale cvtm_numeric_locale_enter(void) {
  const locale_t c = c_locale();
  return c != (locale_t)0 ? (void *)uselocale(c) : NULL;
}

void cvtm_numeric_locale_leave(cvtm_numeric_locale previous) {
  if (previous != NULL) uselocale((locale_t)previous);
}

double cvtm_strtod(const char *text, char **end) {
  const locale_t c = c_locale();
  return c != (locale_t)0 ? strtod_l(text, end, c) : strtod(text, end);
}

/* --- checksums -------------------------------------------------------------------------------- */

uint64_t cvtm_checksum(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  uint64_t sum = (uint64_t)count, place = 0;
  for (size_t left = count; left > 0;) {
    uint64_t word = 0;
    const size_t size = left < sizeof word ? left : sizeof word;
    memcpy(&word, at, size);
    place += UINT64_C(0x9E3779B97F4A7C15);
    sum += cvtm_mix_bits(cvtm_mix_bits(place) ^ word);
    at += size;
    left -= size;
  }
  return sum;
}
