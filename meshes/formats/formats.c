#define _XOPEN_SOURCE 700

#include "base/text.h"
#include "base/host.h"
#include "meshes/formats/formats.h"

#include <expat.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- source ---- */

cvtm_source cvtm_source_open(const char *name, const unsigned char *bytes, size_t size,
                             cvtm_error *error) {
  const size_t mark = cvtm_csv_byte_order_mark(bytes, size);
  return (cvtm_source){
      .name = name, .data = bytes + mark, .size = size - mark, .line = 1, .error = error};
}

cvtm_status cvtm_source_fail(cvtm_source *source, const char *format, ...) {
  char reason[256];
  va_list arguments;
  if (source->status != CVTM_OK) return source->status;
  va_start(arguments, format);
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  vsnprintf(reason, sizeof reason, format, arguments);
  cvtm_numeric_locale_leave(locale);
  va_end(arguments);
  source->status = source->binary || source->offsets
                       ? cvtm_fail(source->error, CVTM_ERROR_INPUT, "%s: byte %zu: %s",
                                   source->name, source->at, reason)
                       : cvtm_fail(source->error, CVTM_ERROR_INPUT, "%s: line %" PRId64 ": %s",
                                   source->name, source->line, reason);
  return source->status;
}

cvtm_status cvtm_source_no_memory(cvtm_source *source) {
  if (source->status == CVTM_OK)
    source->status = cvtm_fail(source->error, CVTM_ERROR_MEMORY, "%s: out of memory", source->name);
  return source->status;
}

static int is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }

int cvtm_source_line_token(cvtm_source *s, cvtm_token *token) {
  while (s->at < s->size && is_blank(s->data[s->at])) ++s->at;
  if (s->comment != 0 && s->at < s->size && s->data[s->at] == (unsigned char)s->comment) {
    while (s->at < s->size && s->data[s->at] != '\n') ++s->at;
  }
  size_t start = s->at;
  while (s->at < s->size && s->data[s->at] != '\n' && !is_blank(s->data[s->at]) &&
         (s->comment == 0 || s->data[s->at] != (unsigned char)s->comment)) {
    ++s->at;
  }
  token->text = (const char *)s->data + start;
  token->length = s->at - start;
  return token->length > 0 && s->status == CVTM_OK;
}

void cvtm_source_end_line(cvtm_source *s) {
  while (s->at < s->size && s->data[s->at] != '\n') ++s->at;
  if (s->at < s->size) {
    ++s->at;
    ++s->line;
  }
}

int cvtm_source_token(cvtm_source *s, cvtm_token *token) {
  while (!cvtm_source_line_token(s, token)) {
    if (s->at >= s->size || s->status != CVTM_OK) return 0;
    cvtm_source_end_line(s);
  }
  return 1;
}

int cvtm_token_is(cvtm_token token, const char *word) {
  return token.length == strlen(word) && memcmp(token.text, word, token.length) == 0;
}

/* Nonzero for nan, inf or infinity in any case, without a sign. */
static int is_nan_or_inf(const char *text) {
  static const char *const words[] = {"nan", "inf", "infinity"};
  for (size_t w = 0; w < sizeof words / sizeof words[0]; ++w) {
    size_t k = 0;
    while (words[w][k] != 0 && (text[k] | 32) == words[w][k]) ++k;
    if (words[w][k] == 0 && text[k] == 0) return 1;
  }
  return 0;
}

int cvtm_token_number(cvtm_token token, double *value) {
  char text[128];
  if (token.length >= sizeof text || token.length == 0) return 0;
  memcpy(text, token.text, token.length);
  text[token.length] = 0;
  if (strlen(text) != token.length) return 0;
  const char *unsigned_text = text + (text[0] == '+' || text[0] == '-');
  /* strtod also accepts hexadecimal numbers and leading blanks. */
  if (unsigned_text[strspn(unsigned_text, "0123456789+-.eE")] != 0 && !is_nan_or_inf(unsigned_text))
    return 0;
  char *end;
  *value = cvtm_strtod(text, &end);
  return *end == 0 && end != text;
}

cvtm_status cvtm_source_expect(cvtm_source *s, const char *word) {
  cvtm_token token;
  if (cvtm_source_token(s, &token) && cvtm_token_is(token, word)) return CVTM_OK;
  return cvtm_source_fail(s, "expected '%s'", word);
}

double cvtm_source_value(cvtm_source *s, cvtm_scalar type) {
  const size_t size = cvtm_scalar_size(type);
  double value = 0;
  cvtm_token token;
  if (s->binary ? s->size - s->at < size : !cvtm_source_token(s, &token)) {
    cvtm_source_fail(s, "the file ends too early");
  } else if (s->binary && s->status == CVTM_OK) {
    value = cvtm_scalar_unpack(type, s->big, s->data + s->at);
    s->at += size;
  } else if (!s->binary && !cvtm_token_number(token, &value)) {
    cvtm_source_fail(s, "expected a number");
  }
  return s->status == CVTM_OK ? value : 0;
}

int64_t cvtm_source_integer(cvtm_source *s, cvtm_scalar type, int64_t low, int64_t high,
                            const char *what) {
  const double v = cvtm_source_value(s, type);
  if (!(v >= (double)low && v <= (double)high && fabs(v) < 0x1p62) || v != (double)(int64_t)v)
    cvtm_source_fail(s, "%s out of range", what);
  return s->status == CVTM_OK ? (int64_t)v : 0;
}

/* Unpacks values. The usual types have their own loops, in which the type is a constant. */
static void unpack_values(cvtm_scalar type, int big, const unsigned char *bytes, int64_t count,
                          double *to) {
  const size_t size = cvtm_scalar_size(type);
  if (type == CVTM_F64) {
    for (int64_t i = 0; i < count; ++i) to[i] = cvtm_scalar_unpack(CVTM_F64, big, bytes + 8 * i);
  } else if (type == CVTM_I32) {
    for (int64_t i = 0; i < count; ++i) to[i] = cvtm_scalar_unpack(CVTM_I32, big, bytes + 4 * i);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = cvtm_scalar_unpack(type, big, bytes + size * (size_t)i);
  }
}

double *cvtm_source_values(cvtm_source *s, cvtm_scalar type, int64_t count) {
  size_t rest = s->size - s->at;
  /* in text a value takes at least a digit and a blank, the last one only a digit */
  size_t most = s->binary ? rest / cvtm_scalar_size(type) : (rest + 1) / 2;
  if (count < 0 || (uint64_t)count > most)
    cvtm_source_fail(s, "%" PRId64 " values are promised, but the file is too short for them",
                     count);
  if (s->status != CVTM_OK) return NULL;
  double *v = malloc(((size_t)count + 1) * sizeof *v);
  if (v == NULL) {
    cvtm_source_no_memory(s);
  } else if (s->binary) {
    unpack_values(type, s->big, s->data + s->at, count, v);
    s->at += cvtm_scalar_size(type) * (size_t)count;
  } else {
    for (int64_t i = 0; i < count && s->status == CVTM_OK; ++i) v[i] = cvtm_source_value(s, type);
  }
  if (s->status == CVTM_OK) return v;
  free(v);
  return NULL;
}

/* ---- numbers in text ---- */

void cvtm_put_number(FILE *file, double value) {
  char text[CVTM_TEXT_NUMBER];
  fwrite(text, 1, (size_t)(cvtm_text_number(text, value) - text), file);
}

char *cvtm_text_point(char *to, char separator, const double *p) {
  to = cvtm_text_number(to, p[0]);
  *to++ = separator;
  return cvtm_text_number(to, p[1]);
}

char *cvtm_text_corners(char *to, const int32_t *v, int first) {
  for (int k = 0; k < 3; ++k) {
    if (k > 0) *to++ = ' ';
    to = cvtm_text_integer(to, (int64_t)v[k] + first);
  }
  *to++ = '\n';
  return to;
}

int cvtm_triangle_nodes(const cvtm_file_mesh *mesh, int64_t triangle, int32_t node[6]) {
  memcpy(node, mesh->triangles + 3 * triangle, 3 * sizeof *node);
  if (mesh->triangle_middle == NULL) return 3;
  memcpy(node + 3, mesh->triangle_middle + 3 * triangle, 3 * sizeof *node);
  return 6;
}

int cvtm_edge_nodes(const cvtm_file_mesh *mesh, int64_t edge, int32_t node[3]) {
  memcpy(node, mesh->regions->edges + 2 * edge, 2 * sizeof *node);
  if (mesh->edge_middle == NULL) return 2;
  node[2] = mesh->edge_middle[edge];
  return 3;
}

/* ---- Numbers as text ---- */

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

/* Computes value * 10^power; returns 0 if the product overflows. */
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

/* Rounds to the nearest integer, ties to even. */
static wide round_scaled(scaled s) {
  const wide quotient = s.product >> s.shift;
  if (s.shift == 0) return quotient;
  const wide rest = s.product - (quotient << s.shift), half = (wide)1 << (s.shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1) != 0));
}

/* Nonzero if digits / 10^power is read back as this double. Also 0 for powers of two, for which
 * this test is invalid because doubles below them are denser. */
static int reads_back(binary b, scaled s, int power, wide digits) {
  const wide back = digits << s.shift;
  const wide error = back > s.product ? back - s.product : s.product - back;
  if (error == 0) return 1;
  if (b.significand <= (uint64_t)1 << 52) return 0;
  /* compares with half a unit in the last place, scaled in the same way */
  return 2 * error < power_of_five(power) << (s.shift + b.exponent + power);
}

enum { DIGITS = 15 }; /* significant digits, if these give back the same bits */

/* Finds the power with which value * 10^power has DIGITS digits before the point; -1: none. */
static int find_power(binary b, double value, scaled *s) {
  int exponent;
  (void)frexp(value, &exponent);
  int power = DIGITS - 1 - (int)floor((exponent - 1) * 0.30102999566398120);
  const wide low = power_of_ten(DIGITS - 1), high = 10 * low;
  for (int tries = 0; tries < 3; ++tries) {
    if (!scale(b, power, s)) return -1;
    const wide quotient = s->product >> s->shift;
    if (quotient >= low && quotient < high) return power;
    power += quotient < low ? 1 : -1;
  }
  return -1;
}

/* Writes digits / 10^decimals without trailing zeros; digits < 10^19. */
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
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  int length = snprintf(to, CVTM_TEXT_NUMBER, "%.15g", value);
  if (strtod(to, NULL) != value) length = snprintf(to, CVTM_TEXT_NUMBER, "%.17g", value);
  cvtm_numeric_locale_leave(locale);
  return to + length;
}

char *cvtm_text_number(char *to, double value) {
  const double size = fabs(value);
  /* outside the range in which %g writes no exponent */
  if (!(size >= 1e-4 && size < 1e14)) {
    if (size == 0) return cvtm_text_word(to, signbit(value) ? "-0" : "0");
    return print_number(to, value);
  }
  const binary b = split(size);
  scaled s;
  int power = find_power(b, size, &s);
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
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
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
  char *text = malloc(2 * (size_t)at_once * BLOCK_BYTES + 1);
  if (text == NULL) {
    write_each(file, count, writer, context);
    return;
  }
  size_t length[2][BLOCKS] = {{0}};
  for (int64_t first = 0; first < blocks + at_once; first += at_once) {
    const int half = (int)(first / at_once % 2);
    char *const now = text + (ptrdiff_t)half * at_once * BLOCK_BYTES, *const last =
                                                                          text + (ptrdiff_t)!half *
                                                                                     at_once *
                                                                                     BLOCK_BYTES;
#pragma omp parallel for schedule(dynamic) if (at_once > 1)
    for (int b = -1; b < at_once; ++b) {
      for (int k = 0; b < 0 && k < at_once; ++k) /* one thread writes the last blocks */
        fwrite(last + (ptrdiff_t)k * BLOCK_BYTES, 1, length[!half][k], file);
      if (b < 0) continue;
      const int64_t start = (first + b) * per_block;
      char *const begin = now + (ptrdiff_t)b * BLOCK_BYTES;
      char *to = begin;
      for (int64_t i = start; i < start + per_block && i < count; ++i) to = writer(to, context, i);
      length[half][b] = (size_t)(to - begin);
    }
  }
  free(text);
}

/* ---- XML ---- */

typedef struct parse {
  XML_Parser parser;
  cvtm_source *source;
  const cvtm_xml_handlers *handlers;
  void *context;
  size_t first; /* begin of the document in the source; first_line: the line of `first`, from 0 */
  int64_t first_line;
  int depth, done;
} parse;

static void end_parse(parse *p) {
  p->done = 1;
  XML_StopParser(p->parser, XML_FALSE);
}

static void find_line(parse *p) {
  p->source->line = p->first_line + (int64_t)XML_GetCurrentLineNumber(p->parser);
}

static void XMLCALL on_start(void *data, const char *name, const char **attributes) {
  parse *p = data;
  int stop = 0;
  if (p->done) return;
  find_line(p);
  p->source->at = p->first + (size_t)XML_GetCurrentByteIndex(p->parser) +
                  (size_t)XML_GetCurrentByteCount(p->parser);
  ++p->depth;
  p->handlers->start(p->context, name, attributes, &stop);
  if (stop || !cvtm_source_is_good(p->source)) end_parse(p);
}

static void XMLCALL on_end(void *data, const char *name) {
  parse *p = data;
  if (p->done) return;
  find_line(p);
  --p->depth;
  p->handlers->end(p->context, name);
  if (p->depth == 0 || !cvtm_source_is_good(p->source)) end_parse(p);
}

/* Refuses nested entities, which can expand a small document to a huge one. */
static void XMLCALL on_entity(void *data, const char *name, int is_parameter, const char *value,
                              int length, const char *base, const char *system,
                              const char *public_id, const char *notation) {
  enum { LONGEST = 1024 };
  parse *p = data;
  (void)name, (void)is_parameter, (void)base, (void)system, (void)public_id, (void)notation;
  if (p->done || value == NULL) return;
  if (length <= LONGEST && memchr(value, '&', (size_t)length) == NULL) return;
  find_line(p);
  cvtm_source_fail(p->source, "a long entity, or one that refers to another, is not supported");
  end_parse(p);
}

/* Reads any 8-bit encoding as Latin-1, since names, numbers and base64 are ASCII. */
static int XMLCALL on_encoding(void *data, const char *name, XML_Encoding *encoding) {
  (void)data, (void)name;
  for (int k = 0; k < 256; ++k) encoding->map[k] = k;
  encoding->data = NULL;
  encoding->convert = NULL;
  encoding->release = NULL;
  return XML_STATUS_OK;
}

static void fail_malformed(parse *p) {
  const enum XML_Error error = XML_GetErrorCode(p->parser);
  if (error == XML_ERROR_NO_MEMORY) cvtm_source_no_memory(p->source);
  find_line(p);
  cvtm_source_fail(p->source, "malformed XML: %s", XML_ErrorString(error));
}

static void parse_all(parse *p) {
  const cvtm_source *s = p->source;
  const size_t most = (size_t)1 << 30; /* because expat's lengths are int */
  int is_last = 0;
  for (size_t at = p->first; !p->done && !is_last && cvtm_source_is_good(s);) {
    const size_t left = s->size - at, taken = left < most ? left : most;
    is_last = taken == left;
    const enum XML_Status parsed =
        XML_Parse(p->parser, (const char *)s->data + at, (int)taken, is_last);
    at += taken;
    if (!p->done && parsed == XML_STATUS_ERROR) fail_malformed(p);
  }
}

void cvtm_xml_parse(cvtm_source *source, const cvtm_xml_handlers *handlers, void *context) {
  parse p = {.source = source, .handlers = handlers, .context = context, .first = source->at};
  /* skip blanks before the XML declaration, which expat would refuse */
  while (p.first < source->size && strchr(" \t\r\n", source->data[p.first]) != NULL &&
         source->data[p.first] != 0)
    p.first_line += source->data[p.first++] == '\n';
  p.parser = XML_ParserCreate(NULL);
  if (p.parser == NULL) {
    cvtm_source_no_memory(source);
    return;
  }
  XML_SetUserData(p.parser, &p);
  XML_SetElementHandler(p.parser, on_start, on_end);
  XML_SetEntityDeclHandler(p.parser, on_entity);
  XML_SetUnknownEncodingHandler(p.parser, on_encoding, NULL);
  parse_all(&p);
  XML_ParserFree(p.parser);
}

const char *cvtm_xml_attribute(const char **attributes, const char *name) {
  for (; attributes[0] != NULL; attributes += 2)
    if (strcmp(attributes[0], name) == 0) return attributes[1];
  return NULL;
}
