#include "base/csv.h"

#include <string.h>

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
