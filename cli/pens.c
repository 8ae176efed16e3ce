#include "cli/pens.h"

#include "base/file.h"
#include "base/srgb.h"
#include "cli/options.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_pens_cmyk(cli_pens *pens) {
  static const char *const names[] = {"cyan", "magenta", "yellow", "black"};
  memset(pens, 0, sizeof *pens);
  cvtm_inks_cmyk(&pens->inks);
  for (int k = 0; k < pens->inks.count; ++k) {
    snprintf(pens->pen[k].name, CVTM_PEN_NAME, "%s", names[k]);
    for (int c = 0; c < 3; ++c)
      pens->pen[k].colour[c] =
          (unsigned char)lround(255 * cvtm_linear_to_srgb(pens->inks.colour[k][c]));
  }
}

/* --- the file of --pens --- */

/* Where the reader is, for messages. */
typedef struct pens_reader {
  cli_pens *pens;
  const char *name;
  int line;
  cvtm_error *error;
} pens_reader;

static cvtm_status fail_at_line(const pens_reader *r, const char *what) {
  return cvtm_fail(r->error, CVTM_ERROR_INPUT, "%s, line %d: %s", r->name, r->line, what);
}

static char *trim_line(char *text) {
  text += strspn(text, " \t");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) --length;
  text[length] = '\0';
  return text;
}

/* The length of the UTF-8 sequence at `text`, 0 if it is none or a control character. */
static size_t character_length(const unsigned char *text) {
  const unsigned char first = text[0];
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                                       : 4;
  if (first < 0x20 || first == 0x7f || first > 0xf4) return 0;
  for (size_t k = 1; k < length; ++k)
    if ((text[k] & 0xc0) != 0x80) return 0;
  if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
      (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f))
    return 0;
  return length;
}

static int is_printable(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  while (*at != '\0') {
    const size_t length = character_length(at);
    if (length == 0) return 0;
    at += length;
  }
  return 1;
}

static cvtm_status set_colour(pens_reader *r, int k, const char *text) {
  for (int c = 0; c < 3; ++c) {
    const char pair[3] = {text[2 * c + 1], text[2 * c + 2], '\0'};
    const int byte = (int)strtol(pair, NULL, 16);
    r->pens->pen[k].colour[c] = (unsigned char)byte;
    r->pens->inks.colour[k][c] = cvtm_srgb_to_linear(byte / 255.0);
  }
  if (r->pens->pen[k].colour[0] + r->pens->pen[k].colour[1] + r->pens->pen[k].colour[2] == 3 * 255)
    return fail_at_line(r, "a white ink does not show on white paper");
  return CVTM_OK;
}

/* The number of hexadecimal digits at the start. */
static size_t count_digits(const char *text) {
  size_t count = 0;
  while (isxdigit((unsigned char)text[count])) ++count;
  return count;
}

static cvtm_status set_size(pens_reader *r, int k, const char *text) {
  double size[2];
  int unit, is_pair = cli_lengths_parse(text, 2, size, &unit);
  if (!is_pair && cli_lengths_parse(text, 1, size, &unit)) size[1] = size[0], is_pair = 1;
  if (!is_pair || !(size[0] > 0 && size[0] <= size[1]) || strlen(text) >= CLI_PEN_SIZE)
    return fail_at_line(r, "the size of dots is a diameter or MIN,MAX, as of --dot-size");
  snprintf(r->pens->size[k], CLI_PEN_SIZE, "%s", text);
  return CVTM_OK;
}

static cvtm_status read_pen(pens_reader *r, char *name, char *value) {
  const int k = r->pens->inks.count;
  if (k == CVTM_INKS_MAX) return fail_at_line(r, "more pens than 16");
  if (*name == '\0' || strlen(name) >= CVTM_PEN_NAME || !is_printable(name))
    return fail_at_line(r, "the name of a pen is text of 1 to 63 bytes in UTF-8");
  for (int j = 0; j < k; ++j)
    if (strcmp(r->pens->pen[j].name, name) == 0)
      return fail_at_line(r, "a pen of this name stands above");
  if (value[0] != '#' || count_digits(value + 1) != 6 || strchr(" \t", value[7]) == NULL)
    return fail_at_line(r, "a colour has the form #rrggbb");
  snprintf(r->pens->pen[k].name, CVTM_PEN_NAME, "%s", name);
  cvtm_status status = set_colour(r, k, value);
  const char *size = trim_line(value + 7);
  if (status == CVTM_OK && *size != '\0') status = set_size(r, k, size);
  r->pens->inks.count = k + 1;
  return status;
}

static cvtm_status read_pen_line(pens_reader *r, char *line) {
  line = trim_line(line);
  if (*line == '\0' || *line == '#') return CVTM_OK;
  char *equals = strchr(line, '=');
  if (equals == NULL) return fail_at_line(r, "this is not of the form name = #rrggbb");
  *equals = '\0';
  return read_pen(r, trim_line(line), trim_line(equals + 1));
}

cvtm_status cli_pens_parse(const char *text, size_t size, const char *name, cli_pens *pens,
                           cvtm_error *error) {
  pens_reader r = {pens, name, 0, error};
  memset(pens, 0, sizeof *pens);
  char *copy = malloc(size + 1);
  if (copy == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  memcpy(copy, text, size);
  copy[size] = '\0';
  cvtm_status status = CVTM_OK;
  if (strlen(copy) != size) status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: not text", name);
  for (char *line = copy; status == CVTM_OK && line != NULL;) {
    char *end = strchr(line, '\n');
    if (end != NULL) *end = '\0';
    ++r.line;
    status = read_pen_line(&r, line);
    line = end != NULL ? end + 1 : NULL;
  }
  free(copy);
  if (status == CVTM_OK && pens->inks.count == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pens", name);
  return status;
}

cvtm_status cli_pens_read(const char *path, cli_pens *pens, cvtm_error *error) {
  enum { LIMIT = 1 << 20 };
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_text_read(path, LIMIT, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  status = cli_pens_parse((const char *)bytes, size, name, pens, error);
  free(bytes);
  return status;
}

/* --- the inks of --palette --- */

cvtm_status cli_pens_choose(const float *rgb, int64_t pixels, int count, cli_pens *pens,
                            cvtm_error *error) {
  memset(pens, 0, sizeof *pens);
  const cvtm_status status = cvtm_inks_choose(rgb, pixels, count, &pens->inks, error);
  if (status != CVTM_OK) return status;
  for (int k = 0; k < pens->inks.count; ++k) {
    cvtm_pen *pen = &pens->pen[k];
    for (int c = 0; c < 3; ++c) {
      pen->colour[c] = (unsigned char)lround(255 * cvtm_linear_to_srgb(pens->inks.colour[k][c]));
      pens->inks.colour[k][c] = cvtm_srgb_to_linear(pen->colour[c] / 255.0);
    }
    snprintf(pen->name, CVTM_PEN_NAME, "#%02x%02x%02x", pen->colour[0], pen->colour[1],
             pen->colour[2]);
  }
  return CVTM_OK;
}
